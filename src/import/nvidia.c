/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * CSV of Nsight Compute: `--page raw` (a column for each metric, units in the second line) or `--page details` and
 * `--metrics` (a line for each metric).  A kernel becomes one row: its time, the bytes that reached the memory, and its
 * floating-point operations, counted as NVIDIA's roofline charts count them: an FMA is two operations, and matrix
 * instructions count what the metric of their operations says.
 */
#include "import/parts.h"

#include "base/base.h"
#include "db/tree.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CELLS = 512 };

/* Metrics of the details page are also found by title. */
static const struct {
	const char *name;
	enum { TIME, BYTES, FLOP, CLOCK } what;
	double n;
} metrics[] = {
    {"gpu__time_duration.sum", TIME, 1},
    {"gpu__time_duration.avg", TIME, 1},
    {"Duration", TIME, 1},
    {"dram__bytes.sum", BYTES, 1},
    {"dram__bytes_read.sum", BYTES, 1},
    {"dram__bytes_write.sum", BYTES, 1},
    {"smsp__cycles_elapsed.avg.per_second", CLOCK, 1},
    {"SM Frequency", CLOCK, 1},
    {"sm__sass_thread_inst_executed_op_fadd_pred_on.sum", FLOP, 1},
    {"sm__sass_thread_inst_executed_op_fmul_pred_on.sum", FLOP, 1},
    {"sm__sass_thread_inst_executed_op_ffma_pred_on.sum", FLOP, 2},
    {"sm__sass_thread_inst_executed_op_dadd_pred_on.sum", FLOP, 1},
    {"sm__sass_thread_inst_executed_op_dmul_pred_on.sum", FLOP, 1},
    {"sm__sass_thread_inst_executed_op_dfma_pred_on.sum", FLOP, 2},
    {"sm__sass_thread_inst_executed_op_hadd_pred_on.sum", FLOP, 1},
    {"sm__sass_thread_inst_executed_op_hmul_pred_on.sum", FLOP, 1},
    {"sm__sass_thread_inst_executed_op_hfma_pred_on.sum", FLOP, 2},
    {"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", FLOP, 1},
    {"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", FLOP, 1},
    {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", FLOP, 2},
    {"smsp__sass_thread_inst_executed_op_dadd_pred_on.sum", FLOP, 1},
    {"smsp__sass_thread_inst_executed_op_dmul_pred_on.sum", FLOP, 1},
    {"smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", FLOP, 2},
    {"smsp__sass_thread_inst_executed_op_hadd_pred_on.sum", FLOP, 1},
    {"smsp__sass_thread_inst_executed_op_hmul_pred_on.sum", FLOP, 1},
    {"smsp__sass_thread_inst_executed_op_hfma_pred_on.sum", FLOP, 2},
    {"sm__ops_path_tensor_src_fp16_dst_fp16.sum", FLOP, 1},
    {"sm__ops_path_tensor_src_fp16_dst_fp32.sum", FLOP, 1},
    {"sm__ops_path_tensor_src_bf16_dst_fp32.sum", FLOP, 1},
    {"sm__ops_path_tensor_src_tf32_dst_fp32.sum", FLOP, 1},
    {"sm__ops_path_tensor_src_fp64.sum", FLOP, 1},
    {"sm__ops_path_tensor_src_fp8.sum", FLOP, 1},
    {"sm__ops_path_tensor_src_int8.sum", FLOP, 1},
};

static const struct {
	const char *name;
	double scale;
} units[] = {{"nsecond", 1e-9}, {"usecond", 1e-6}, {"msecond", 1e-3}, {"second", 1}, {"ns", 1e-9}, {"us", 1e-6},
    {"ms", 1e-3}, {"s", 1}, {"byte", 1}, {"Kbyte", 1e3}, {"Mbyte", 1e6}, {"Gbyte", 1e9}, {"Tbyte", 1e12}, {"inst", 1},
    {"", 1}, {"Ghz", 1e9}, {"GHz", 1e9}, {"Mhz", 1e6}, {"MHz", 1e6}, {"hz", 1}, {"cycle/nsecond", 1e9},
    {"cycle/usecond", 1e6}, {"cycle/second", 1}, {"Kinst", 1e3}, {"Minst", 1e6}, {"Ginst", 1e9}};

struct ncu {
	struct measurement_reader *reader;
	int n, line;
	char *cells[MAX_CELLS], *heads[MAX_CELLS], *units[MAX_CELLS]; /* units of the raw page */
	struct measurement row;
	bool open;
	const char *id; /* of the kernel that is being read */
};

static int
column(const struct ncu *u, const char *name)
{
	for (int i = 0; i < u->n; i++)
		if (strcmp(u->heads[i], name) == 0)
			return i;
	return -1;
}

/* 1,234.5 */
static double
grouped_number(struct measurement_reader *r, const char *text)
{
	char *digits = arena_text(r->scratch, text), *to = digits;
	double value;

	for (const char *c = text; *c; c++)
		if (*c != ',')
			*to++ = *c;
	*to = '\0';
	return measurement_number(digits, &value) ? value : NAN;
}

static void
see(double *sum, double more)
{
	*sum = isnan(*sum) ? more : *sum + more;
}

static void
metric(struct ncu *u, const char *name, const char *unit, const char *text)
{
	double value = NAN;

	for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++) {
		if (strcmp(metrics[m].name, name) != 0)
			continue;
		for (size_t i = 0; i < sizeof units / sizeof *units; i++)
			if (strcmp(units[i].name, unit) == 0)
				value = units[i].scale * grouped_number(u->reader, text);
		if (isnan(value))
			return;
		value *= metrics[m].n;
		switch (metrics[m].what) {
		case TIME:
			u->row.time_s = value;
			break;
		case BYTES: /* the sum, or its two parts */
			if (strcmp(name, "dram__bytes.sum") == 0)
				u->row.size_byte = value;
			else
				see(&u->row.size_byte, value);
			break;
		case FLOP:
			see(&u->row.flop, value);
			break;
		case CLOCK:
			u->row.clock_hertz = value;
			break;
		}
		return;
	}
}

static void
end_kernel(struct ncu *u)
{
	if (u->open)
		measurement_add(u->reader, &u->row);
	u->open = false;
}

static void
begin_kernel(struct ncu *u)
{
	struct measurement_reader *r = u->reader;
	const int name = column(u, "Kernel Name"), host = column(u, "Host Name"),
	          device = column(u, "device__attribute_display_name");

	u->row = measurement_blank(MEASUREMENT_KERNEL, u->line);
	u->row.library = "ncu";
	if (name >= 0)
		u->row.operation = measurement_word(r, u->cells[name], strlen(u->cells[name]));
	if (host >= 0)
		u->row.host = measurement_word(r, u->cells[host], strlen(u->cells[host]));
	if (device >= 0)
		u->row.device = measurement_word(r, u->cells[device], strlen(u->cells[device]));
	u->open = true;
}

/* A line for each metric; lines with one ID are one kernel. */
static void
metric_line(struct ncu *u)
{
	const int id = column(u, "ID"), name = column(u, "Metric Name"), unit = column(u, "Metric Unit"),
	          value = column(u, "Metric Value");
	const char *word = id >= 0 ? measurement_word(u->reader, u->cells[id], strlen(u->cells[id])) : NULL;

	if (unit < 0 || value < 0) {
		measurement_skip(u->reader, u->line, "no metric's unit or value");
		return;
	}
	if (!u->open || word != u->id) {
		end_kernel(u);
		begin_kernel(u);
		u->id = word;
	}
	metric(u, u->cells[name], u->cells[unit], u->cells[value]);
}

static void
kernel_line(struct ncu *u)
{
	begin_kernel(u);
	for (int i = 0; i < u->n; i++)
		metric(u, u->heads[i], u->units[i] ? u->units[i] : "", u->cells[i]);
	end_kernel(u);
}

/* Skip program output before the table. */
static bool
find_head(struct ncu *u, char **text)
{
	while (**text) {
		int n_lines;
		const bool head = text_begins(*text, "\"ID\"") || text_begins(*text, "ID,");
		if (!head) {
			measurement_line(text);
			u->line++;
			continue;
		}
		u->n = measurement_cells(text, ',', u->heads, MAX_CELLS, &n_lines);
		u->line += n_lines;
		return u->n <= MAX_CELLS;
	}
	return false;
}

bool
import_ncu(struct measurement_reader *r)
{
	struct ncu *u = ARENA_NEW(r->arena, struct ncu);
	char *text = r->text;
	int n_lines = 1;

	u->reader = r;
	u->line = 1;
	if (!find_head(u, &text))
		return measurement_refuse(r, 0, "write it with: ncu --csv --page raw", "no line begins with \"ID\"");
	const bool by_metric = column(u, "Metric Name") >= 0;
	for (; *text; u->line += n_lines) {
		const int n = measurement_cells(&text, ',', u->cells, MAX_CELLS, &n_lines);
		if (n != u->n) {
			if (n > 1)
				measurement_skip(r, u->line, "number of cells differs from number of columns");
			continue;
		}
		if (by_metric)
			metric_line(u);
		else if (!*u->cells[0])
			memcpy(u->units, u->cells, sizeof u->units);
		else
			kernel_line(u);
	}
	end_kernel(u);
	return true;
}

/* --- nvbandwidth --------------------------------------------------------------------------------------------- */

/*
 * nvbandwidth: matrices of bandwidths in 1e9 bytes per second (latencies in nanoseconds), one row for each filled
 * place.  No sizes and no times are printed, so a row has its bandwidth alone.
 */

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

/* Number of columns, or 0 if the line is not a header `0  1  2  3`. */
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
