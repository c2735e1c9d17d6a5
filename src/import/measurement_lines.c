/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read tables of measurements: ridge's own columns, as CSV or JSON Lines, and published results. */
#include "import/import.h"
#include "import/parts.h"

#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MAX_CELLS = 256 };

char *
measurement_line(char **text)
{
	char *line = *text, *end;

	if (!*line)
		return NULL;
	end = strchr(line, '\n');
	*text = end ? end + 1 : line + strlen(line);
	if (end)
		*end = '\0';
	else
		end = *text;
	while (end > line && (end[-1] == '\r' || end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	return line;
}

/* --- cells ----------------------------------------------------------------------------------------------- */

/* A quoted value loses its quotes; `*p` moves behind the closing one. */
static char *
quoted(char **p, int *n_lines)
{
	char *to = *p, *from = *p + 1, *start = *p;

	for (; *from; from++) {
		if (*from == '\n')
			++*n_lines;
		if (*from == '"') {
			if (from[1] != '"')
				break;
			from++;
		}
		*to++ = *from;
	}
	*p = *from ? from + 1 : from;
	*to = '\0';
	return start;
}

int
measurement_cells(char **text, char separator, char **cells, int room, int *n_lines)
{
	char *p = *text;
	int n = 0;

	*n_lines = 1;
	for (bool more = true; more;) {
		while (*p == ' ')
			p++;
		char *start = p, *close = p;
		if (*p == '"') {
			start = quoted(&p, n_lines);
			close = NULL;
		}
		while (*p && *p != separator && *p != '\n')
			p++;
		char *end = p;
		while (close && end > start && (end[-1] == ' ' || end[-1] == '\r'))
			end--;
		more = *p == separator && separator;
		if (n < room)
			cells[n] = start;
		n++;
		if (*p)
			p++;
		if (close)
			*end = '\0';
	}
	*text = p;
	return n == 1 && (!cells[0][0] || cells[0][0] == '#') ? 0 : n;
}

/* --- CSV ------------------------------------------------------------------------------------------------- */

struct csv {
	char separator;
	int n;
	int column[MAX_CELLS]; /* of the file's columns; -1: not ours */
	bool has_kind;
	enum measurement_kind kind; /* of all rows of a file that does not say it in each */
};

/* Aliases of columns in published files. */
static const struct {
	const char *name, *column;
} synonyms[] = {{"phase", "operation"}, {"collective", "operation"}, {"gpu", "device"}};

static int
csv_column(const char *name, bool library_is_backend)
{
	for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
		if (strcasecmp(synonyms[i].name, name) == 0)
			name = synonyms[i].column;
	if (library_is_backend && strcasecmp(name, "library") == 0)
		name = "backend";
	return measurement_column(name);
}

static bool
has(const struct csv *c, const char *name)
{
	const int column = measurement_column(name);

	for (int i = 0; i < c->n; i++)
		if (c->column[i] == column)
			return true;
	return false;
}

/* Infer the kind of a file without a column `kind` from its columns. */
static bool
csv_kind(struct measurement_reader *r, struct csv *c)
{
	static const struct {
		const char *column;
		enum measurement_kind kind;
	} telling[] = {{"expert_ffn", MEASUREMENT_MOE}, {"experts", MEASUREMENT_MOE},
	    {"head_dim", MEASUREMENT_ATTENTION}, {"query_len", MEASUREMENT_ATTENTION}, {"k", MEASUREMENT_GEMM},
	    {"m", MEASUREMENT_GEMM}, {"ranks", MEASUREMENT_COLLECTIVE}};

	c->has_kind = has(c, "kind");
	if (c->has_kind)
		return true;
	for (size_t i = 0; i < sizeof telling / sizeof *telling; i++)
		if (has(c, telling[i].column)) {
			c->kind = telling[i].kind;
			return true;
		}
	return measurement_refuse(
	    r, 1, "add a column 'kind': copy, gemm, attention, ...", "no column names the kind of measurement");
}

/* A time in another unit must not be read as microseconds. */
static bool
csv_time(struct measurement_reader *r, const struct csv *c, char **heads)
{
	if (has(c, "time_us") || (has(c, "gb_per_s") && c->has_kind))
		return true;
	for (int i = 0; i < c->n && heads[i]; i++)
		if (strncasecmp(heads[i], "time", 4) == 0 || strncasecmp(heads[i], "latency", 7) == 0)
			return measurement_refuse(r, 1, "give the median time in microseconds in a column time_us",
			    "the column '%.40s' is not 'time_us'", heads[i]);
	return measurement_refuse(
	    r, 1, "give the median time in microseconds in time_us", "there is no column 'time_us'");
}

static bool
csv_head(struct measurement_reader *r, struct csv *c, char **heads, int n)
{
	bool backend = false, ok = true;

	if (n > MAX_CELLS)
		return measurement_refuse(r, 1, "split the file", "more than %d columns", MAX_CELLS);
	c->n = n;
	for (int i = 0; i < n; i++)
		backend = backend || strcasecmp(heads[i], "backend") == 0;
	for (int i = 0; i < n; i++) {
		c->column[i] = csv_column(heads[i], !backend);
		for (int j = 0; j < i; j++)
			if (c->column[i] >= 0 && c->column[j] == c->column[i])
				return measurement_refuse(
				    r, 1, "keep one", "two columns are '%s'", measurement_column_name(c->column[i]));
	}
	if (!csv_kind(r, c) || !csv_time(r, c, heads))
		return false;
	for (const size_t *member = measurement_needs(c->kind); *member && !c->has_kind; member++) {
		const char *name = measurement_column_name(measurement_column_of(*member));
		if (!has(c, name))
			ok = measurement_refuse(
			    r, 1, "ridge-measurement(5) lists the columns", "there is no column '%s'", name);
	}
	return ok;
}

static void
csv_row(
    struct measurement_reader *r, const struct csv *c, const struct measurement *blank, int line, char **cells, int n)
{
	struct measurement row = *blank;
	char why[120];
	bool has_kind = !c->has_kind;

	row.line = line;
	if (n > c->n) {
		measurement_skip(r, line, "more cells than columns");
		return;
	}
	for (int i = 0; i < n; i++) {
		if (c->column[i] < 0)
			continue;
		if (c->column[i] == 0 && cells[i][0])
			has_kind = true;
		if (!measurement_set(r, &row, c->column[i], cells[i], why, sizeof why)) {
			measurement_skip(r, line, "%s", why);
			return;
		}
	}
	if (!has_kind)
		measurement_skip(r, line, "no kind");
	else
		measurement_add(r, &row);
}

static char
separator_of(const char *line)
{
	const size_t n = strcspn(line, "\n");

	return memchr(line, ',', n) ? ',' : memchr(line, ';', n) ? ';' : memchr(line, '\t', n) ? '\t' : ',';
}

bool
measurement_read_csv(struct measurement_reader *r)
{
	struct csv c = {.kind = MEASUREMENT_GEMM};
	char *text = r->text, *cells[MAX_CELLS] = {NULL};
	int line = 1, n_lines = 1, n = 0;

	while (*text && n == 0) {
		c.separator = separator_of(text);
		n = measurement_cells(&text, c.separator, cells, MAX_CELLS, &n_lines);
		line += n_lines;
	}
	if (!csv_head(r, &c, cells, n))
		return false;
	const struct measurement blank = measurement_blank(c.kind, 0);
	while (*text) {
		n = measurement_cells(&text, c.separator, cells, MAX_CELLS, &n_lines);
		if (n > 0)
			csv_row(r, &c, &blank, line, cells, n);
		line += n_lines;
	}
	return true;
}

/* --- JSON Lines ------------------------------------------------------------------------------------------ */

static bool
json_row(struct measurement_reader *r, const struct node *root, struct measurement *row, char *why, size_t size)
{
	bool has_kind = false;
	const char *odd = NULL;

	if (root->kind != NODE_MAP) {
		snprintf(why, size, "not an object");
		return false;
	}
	for (size_t i = 0; i < root->n; i++) {
		const struct node *item = root->items[i];
		const int column = measurement_column(root->keys[i]->text);
		if (column < 0) {
			if (strncmp(root->keys[i]->text, "time", 4) == 0)
				odd = root->keys[i]->text;
			continue;
		}
		if (item->kind != NODE_SCALAR) {
			snprintf(why, size, "%s must be one value", measurement_column_name(column));
			return false;
		}
		if (!item->text)
			continue;
		has_kind = has_kind || column == 0;
		if (!measurement_set(r, row, column, item->text, why, size))
			return false;
	}
	if (!has_kind)
		snprintf(why, size, "no kind");
	else if (odd && !(row->time_s > 0))
		snprintf(why, size, "unknown key '%.40s': give the time in microseconds in time_us", odd);
	else
		return true;
	return false;
}

bool
measurement_read_json_lines(struct measurement_reader *r)
{
	char *text = r->text, *start;
	char why[120];

	for (int line = 1; (start = measurement_line(&text)); line++) {
		struct measurement row = measurement_blank(MEASUREMENT_GEMM, line);
		if (!*start || *start == '#')
			continue;
		arena_clear(r->scratch);
		struct diag *quiet = diag_new(r->scratch);
		const struct node *root = json_read(
		    r->scratch, quiet, (struct source){r->out->file, line, 0, NULL, false}, start, strlen(start));
		const struct node *kind = root ? tree_get(root, "kind") : NULL;
		if (kind && kind->kind == NODE_SCALAR && kind->text && strcmp(kind->text, "device") == 0)
			continue; /* how the GPU was set: for people */
		if (!root)
			measurement_skip(r, line, "not a JSON object");
		else if (!json_row(r, root, &row, why, sizeof why))
			measurement_skip(r, line, "%s", why);
		else
			measurement_add(r, &row);
	}
	return true;
}

/* --- published results ---------------------------------------------------------------------------------------- */

/*
 * Collected results of collectives, transfers and copies: CSV with a column `kind` (measured, ci_baseline; limits
 * and inputs of other models are left out), sizes in bytes, times in microseconds, bandwidths in 1e9 bytes per second.
 */

enum published_field {
	GPU_ID,
	CASE_ID,
	SOURCE,
	SOURCE_PATH,
	KIND,
	COLLECTIVE,
	GPU,
	RANKS,
	NODES,
	INTRA_LINK,
	INTER_LINK,
	LIBRARY,
	DTYPE,
	SIZE_BYTES,
	TIME_US,
	ALGBW,
	BUSBW,
	MODE,
	CONFIDENCE,
	NOTE,
	N_FIELDS
};

static const char *const names[N_FIELDS] = {"gpu_id", "case_id", "source", "source_path", "kind", "collective", "gpu",
    "ranks", "nodes", "intra_link", "inter_link", "library", "dtype", "size_bytes", "time_us", "algbw_GBs", "busbw_GBs",
    "mode", "confidence", "note"};

enum { PUBLISHED_CELLS = 64 };

struct published {
	int cell[N_FIELDS]; /* -1: no such column */
	char *cells[PUBLISHED_CELLS];
	int n, line;
};

static const char *
text_of(const struct published *p, enum published_field f)
{
	return p->cell[f] >= 0 && p->cell[f] < p->n ? p->cells[p->cell[f]] : "";
}

/* NaN where nothing stands; false when that is no number. */
static bool
number_of(const struct published *p, enum published_field f, double *value)
{
	*value = NAN;
	return !*text_of(p, f) || measurement_number(text_of(p, f), value);
}

/* Transfers and copies among the collectives.  A bandwidth of both directions at once is their sum where `both` says
 * so; the size is that of one direction. */
static const struct {
	const char *name;
	enum measurement_kind kind;
	const char *operation;
} transfers[] = {
    {"p2p_unidir", MEASUREMENT_P2P, "d2d"},
    {"p2p_bidir_put", MEASUREMENT_P2P, "d2d_bidir_each"},
    {"d2d_read_bidir", MEASUREMENT_P2P, "d2d_bidir"},
    {"h2d", MEASUREMENT_P2P, "h2d"},
    {"d2h", MEASUREMENT_P2P, "d2h"},
    {"d2d_local_copy", MEASUREMENT_COPY, "copy"},
};

/* Backend of a collective by the beginning of the library's name. */
static const struct {
	const char *begin, *backend;
} backends[] = {{"nccl-tests", "nccl"}, {"torch", "nccl"}, {"mscclpp", "mscclpp"}, {"DeepEP", "deepep"},
    {"nvbandwidth", "cuda"}, {"p2pBandwidthLatencyTest", "cuda"}, {"cuda-samples", "cuda"}};

static void
set_library(struct measurement_reader *r, struct measurement *row, const char *library)
{
	const char *nccl = strstr(library, "(NCCL ");

	row->library = measurement_word(r, library, strlen(library));
	for (size_t i = 0; i < sizeof backends / sizeof *backends && !row->backend; i++)
		if (text_begins(library, backends[i].begin))
			row->backend = backends[i].backend;
	if (nccl)
		row->version = measurement_word(r, nccl + 6, strcspn(nccl + 6, ",) "));
}

/* Bus bandwidth over algorithm bandwidth, by the definitions of nccl-tests (doc/PERFORMANCE.md). */
static double
bus_factor(const char *operation, double n)
{
	if (strcmp(operation, "all_reduce") == 0)
		return 2 * (n - 1) / n;
	if (strcmp(operation, "all_gather") == 0 || strcmp(operation, "reduce_scatter") == 0 ||
	    strcmp(operation, "all_to_all") == 0)
		return (n - 1) / n;
	return NAN;
}

/* The time where a bandwidth is all that is printed. */
static double
time_of(const struct published *p, const struct measurement *row)
{
	double time_us, algbw, busbw;

	if (!number_of(p, TIME_US, &time_us) || !number_of(p, ALGBW, &algbw) || !number_of(p, BUSBW, &busbw))
		return NAN;
	if (*text_of(p, TIME_US) || row->kind != MEASUREMENT_COLLECTIVE)
		return 1e-6 * time_us;
	if (algbw > 0)
		return row->size_byte / (1e9 * algbw);
	return busbw > 0 ? row->size_byte * bus_factor(row->operation, row->ranks) / (1e9 * busbw) : NAN;
}

static void
add_row(struct measurement_reader *r, const struct published *p)
{
	struct measurement row = measurement_blank(MEASUREMENT_COLLECTIVE, p->line);
	const char *operation = text_of(p, COLLECTIVE);
	double busbw = NAN;

#define WORD(member, field) row.member = measurement_word(r, text_of(p, field), strlen(text_of(p, field)))
	WORD(gpu, GPU_ID);
	WORD(device, GPU);
	WORD(id, CASE_ID);
	WORD(source, SOURCE);
	WORD(operation, COLLECTIVE);
	WORD(dtype_text, DTYPE);
	WORD(intra_link, INTRA_LINK);
	WORD(inter_link, INTER_LINK);
	WORD(mode, MODE);
	WORD(confidence, CONFIDENCE);
	WORD(note, NOTE);
#undef WORD
	set_library(r, &row, text_of(p, LIBRARY));
	for (size_t i = 0; i < sizeof transfers / sizeof *transfers; i++)
		if (strcmp(transfers[i].name, operation) == 0) {
			row.kind = transfers[i].kind;
			row.operation = transfers[i].operation;
		}
	if (!row.gpu) {
		measurement_skip(r, p->line, "no gpu_id");
		return;
	}
	if (!number_of(p, RANKS, &row.ranks) || !number_of(p, NODES, &row.nodes) || !number_of(p, BUSBW, &busbw) ||
	    !number_of(p, SIZE_BYTES, &row.size_byte)) {
		measurement_skip(r, p->line, "ranks, nodes, size_bytes and bandwidths must be plain numbers");
		return;
	}
	if (row.operation)
		row.time_s = time_of(p, &row);
	if (row.kind != MEASUREMENT_COLLECTIVE)
		row.byte_per_s = 1e9 * busbw;
	measurement_add(r, &row);
}

bool
import_published(struct measurement_reader *r)
{
	struct published p = {.line = 1};
	char *text = r->text;
	int n_lines;

	while (*text && p.n == 0) {
		p.n = measurement_cells(&text, ',', p.cells, PUBLISHED_CELLS, &n_lines);
		p.line += n_lines;
	}
	for (int f = 0; f < N_FIELDS; f++) {
		p.cell[f] = -1;
		for (int c = 0; c < p.n && c < PUBLISHED_CELLS; c++)
			if (strcmp(p.cells[c], names[f]) == 0)
				p.cell[f] = c;
		if (p.cell[f] < 0 && f != SOURCE_PATH && f != ALGBW && f != MODE && f != CONFIDENCE && f != NOTE &&
		    f != GPU)
			measurement_refuse(
			    r, 1, "add the column; it may be empty", "there is no column '%s'", names[f]);
	}
	if (diag_errors(r->diag))
		return false;
	for (; *text; p.line += n_lines) {
		p.n = measurement_cells(&text, ',', p.cells, PUBLISHED_CELLS, &n_lines);
		if (p.n == 0)
			continue;
		if (p.n > PUBLISHED_CELLS)
			measurement_skip(r, p.line, "more cells than columns");
		else if (strcmp(text_of(&p, KIND), "measured") != 0 && strcmp(text_of(&p, KIND), "ci_baseline") != 0)
			measurement_skip(r, p.line, "of kind '%.30s', not measured", text_of(&p, KIND));
		else
			add_row(r, &p);
	}
	return true;
}
