/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * nvbandwidth: matrices of bandwidths in 1e9 bytes per second (latencies in nanoseconds), one row for each filled
 * place.  No sizes and no times are printed, so a row has its bandwidth alone.
 */
#include "import/parts.h"

#include "base/base.h"
#include "db/tree.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* By what the name of a test case begins with; the first that fits. */
static const struct {
	const char *begin, *operation;
	enum measurement_kind kind;
} cases[] = {
    {"host_to_device_bidirectional", "h2d_bidir", MEASUREMENT_P2P},
    {"device_to_host_bidirectional", "d2h_bidir", MEASUREMENT_P2P},
    {"host_to_device_memcpy", "h2d", MEASUREMENT_P2P},
    {"device_to_host_memcpy", "d2h", MEASUREMENT_P2P},
    {"device_to_device_bidirectional", "d2d_bidir", MEASUREMENT_P2P},
    {"device_to_device_memcpy_read", "d2d_read", MEASUREMENT_P2P},
    {"device_to_device_memcpy_write", "d2d_write", MEASUREMENT_P2P},
    {"device_local_copy", "copy", MEASUREMENT_COPY},
};

struct testcase {
	const char *name;
	bool latency;
	int line;
};

static void
add_place(struct measurement_reader *r, const struct measurement *common, const struct testcase *c, int row_index,
    int column, double value)
{
	struct measurement row = *common;
	char note[80];

	row.kind = c->latency ? MEASUREMENT_LATENCY : MEASUREMENT_P2P;
	row.operation = c->name;
	row.line = c->line;
	for (size_t i = 0; !c->latency && i < sizeof cases / sizeof *cases; i++)
		if (text_begins(c->name, cases[i].begin)) {
			row.operation = cases[i].operation;
			row.kind = cases[i].kind;
			break;
		}
	row.id = c->name;
	if (row.kind == MEASUREMENT_P2P && text_begins(row.operation, "d2d"))
		row.ranks = 2;
	if (c->latency)
		row.time_s = 1e-9 * value;
	else
		row.byte_per_s = 1e9 * value;
	snprintf(note, sizeof note, "row %d, column %d", row_index, column);
	row.note = measurement_word(r, note, strlen(note));
	measurement_add(r, &row);
}

/* --- text ------------------------------------------------------------------------------------------------ */

enum { MAX_COLUMNS = 1024 };

/* `0    276.07   N/A`: a row of the matrix. */
static bool
matrix_line(
    struct measurement_reader *r, char *line, const struct measurement *common, struct testcase *c, int n_columns)
{
	char *word = strtok(line, " \t");
	double index, value;
	int column = 0;

	if (!word || word[strspn(word, "0123456789")] || !measurement_number(word, &index) || index > 1e6)
		return false;
	while ((word = strtok(NULL, " \t"))) {
		if (column >= n_columns)
			return true;
		if (measurement_number(word, &value) && value > 0)
			add_place(r, common, c, (int)index, column, value);
		else if (strcmp(word, "N/A") != 0 && !(measurement_number(word, &value) && value == 0))
			measurement_skip(r, c->line, "no bandwidth: '%.30s'", word);
		column++;
	}
	return true;
}

/* How many columns; 0 when the line is not their head `0  1  2  3`. */
static int
matrix_head(char *line)
{
	int n = 0;
	double value;

	for (char *word = strtok(line, " \t"); word; word = strtok(NULL, " \t"), n++)
		if (!measurement_number(word, &value) || value != n)
			return 0;
	return n < MAX_COLUMNS ? n : 0;
}

/* `Device 0: NVIDIA H100 80GB HBM3 (00000000:1b:00)` */
static const char *
device_line(struct measurement_reader *r, const char *line)
{
	const char *colon = strchr(line, ':');

	if (!text_begins(line, "Device ") || !isdigit((unsigned char)line[7]) || !colon || colon[1] != ' ')
		return NULL;
	size_t n = strcspn(colon + 2, "(");
	while (n && colon[2 + n - 1] == ' ')
		n--;
	return measurement_word(r, colon + 2, n);
}

static void
heading(struct measurement_reader *r, const char *line, struct measurement *common, struct testcase *c)
{
	const char *device = device_line(r, line);

	if (text_begins(line, "Running ")) {
		const size_t n = strcspn(line + 8, " .\t");
		if (n)
			c->name = measurement_word(r, line + 8, n);
	}
	if (device && !common->device)
		common->device = device;
	if (text_begins(line, "Driver Version: "))
		common->driver = measurement_word(r, line + 16, strlen(line + 16));
	if (text_begins(line, "nvbandwidth Version: ")) {
		const char *version = arena_printf(r->scratch, "nvbandwidth %s", line + 21);
		common->library = measurement_word(r, version, strlen(version));
	}
	if (strstr(line, "(row)") || strstr(line, "(column)"))
		c->latency = strstr(line, "(ns)") != NULL;
}

bool
import_nvbandwidth_text(struct measurement_reader *r)
{
	struct measurement common = measurement_blank(MEASUREMENT_P2P, 0);
	struct testcase c = {.name = "copy_of_unknown_kind"};
	char *text = r->text, *line;
	int n_columns = 0;

	common.backend = "cuda";
	common.library = "nvbandwidth";
	for (int i = 1; (line = measurement_line(&text)); i++) {
		line += strspn(line, " \t");
		c.line = i;
		const int n = n_columns ? 0 : matrix_head(arena_text(r->scratch, line));
		if (n) {
			n_columns = n;
			continue;
		}
		if (n_columns && matrix_line(r, arena_text(r->scratch, line), &common, &c, n_columns))
			continue;
		n_columns = 0;
		heading(r, line, &common, &c);
	}
	return true;
}

/* --- JSON ------------------------------------------------------------------------------------------------ */

static const char *
text_at(const struct node *n, const char *key)
{
	const struct node *found = n && n->kind == NODE_MAP ? tree_get(n, key) : NULL;

	return found && found->kind == NODE_SCALAR ? found->text : NULL;
}

static const char *
word_at(struct measurement_reader *r, const struct node *n, const char *key)
{
	const char *text = text_at(n, key);

	return text ? measurement_word(r, text, strlen(text)) : NULL;
}

static void
json_matrix(
    struct measurement_reader *r, const struct node *matrix, const struct measurement *common, const struct testcase *c)
{
	double value;

	for (size_t i = 0; i < matrix->n; i++) {
		const struct node *line = matrix->items[i];
		for (size_t j = 0; line->kind == NODE_LIST && j < line->n; j++) {
			const char *text = line->items[j]->kind == NODE_SCALAR ? line->items[j]->text : NULL;
			if (text && measurement_number(text, &value) && value > 0)
				add_place(r, common, c, (int)i, (int)j, value);
		}
	}
}

/* A list of `0: NVIDIA H100 80GB HBM3: 00000000:1b:00`, or of objects. */
static const char *
json_device(struct measurement_reader *r, const struct node *root)
{
	const struct node *list = tree_get(root, "GPU Device info");

	if (!list)
		list = tree_get(root, "GPU Device list");
	if (!list || list->kind != NODE_LIST || list->n == 0 || list->items[0]->kind != NODE_SCALAR)
		return NULL;
	const char *text = list->items[0]->text;
	if (!text)
		return NULL;
	const size_t digits = strspn(text, "0123456789");
	if (digits && text[digits] == ':')
		text += digits + 1 + strspn(text + digits + 1, " ");
	size_t n = strcspn(text, ":(");
	while (n && text[n - 1] == ' ')
		n--;
	return measurement_word(r, text, n);
}

bool
import_nvbandwidth_json(struct measurement_reader *r, const struct node *root)
{
	const struct node *list = root->kind == NODE_MAP ? tree_get(root, "testcases") : NULL;
	struct measurement common = measurement_blank(MEASUREMENT_P2P, 0);

	if (!list || list->kind != NODE_LIST)
		return measurement_refuse(r, 0, "nvbandwidth -j writes a list of them", "there is no list 'testcases'");
	common.backend = "cuda";
	common.driver = word_at(r, root, "Driver Version");
	common.host = word_at(r, root, "Hostname");
	common.device = json_device(r, root);
	const char *version = text_at(root, "version") ? text_at(root, "version") : text_at(root, "git_version");
	const char *library = version ? arena_printf(r->scratch, "nvbandwidth %s", version) : "nvbandwidth";
	common.library = measurement_word(r, library, strlen(library));
	for (size_t i = 0; i < list->n; i++) {
		const struct node *item = list->items[i];
		const char *name = word_at(r, item, "name"), *status = text_at(item, "status"),
		           *about = text_at(item, "bandwidth_description");
		const struct node *matrix = item->kind == NODE_MAP ? tree_get(item, "bandwidth_matrix") : NULL;
		const struct testcase c = {.name = name, .latency = about && strstr(about, "(ns)"), .line = (int)i + 1};
		if (!name)
			measurement_skip(r, c.line, "a test case without a name");
		else if (status && strcmp(status, "Passed") != 0)
			measurement_skip(r, c.line, "a test case is '%.30s'", status);
		else if (!matrix || matrix->kind != NODE_LIST)
			measurement_skip(r, c.line, "a test case without a matrix");
		else
			json_matrix(r, matrix, &common, &c);
	}
	return true;
}
