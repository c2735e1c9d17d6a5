/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recognize the format of a measurement file and read it. */
#include "import/import.h"

#include "base/base.h"
#include "import/parts.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- measurement columns ------------------------------------------------------------------------------------- */

enum holds { HOLDS_KIND, HOLDS_COUNT, HOLDS_FIGURE, HOLDS_WORD };

static const struct column {
	const char *name;
	enum holds holds;
	size_t offset;
	double unit;
} columns[] = {
    {"kind", HOLDS_KIND, offsetof(struct measurement, kind), 1},
#define DIMENSION(member, text, title) {text, HOLDS_COUNT, offsetof(struct measurement, member), 1},
#define FIGURE(member, text, unit, title) {text, HOLDS_FIGURE, offsetof(struct measurement, member), unit},
#define LABEL(member, text, title) {text, HOLDS_WORD, offsetof(struct measurement, member), 1},
#include "model/hw/measurement.def"
#undef DIMENSION
#undef FIGURE
#undef LABEL
};

enum { N_COLUMNS = sizeof columns / sizeof *columns };

#define AT(member) offsetof(struct measurement, member)

/* Every kind has a time as well; a copy or transfer may have a bandwidth instead of size and time. */
static const size_t needs_of[N_MEASUREMENT_KINDS][8] = {
    [MEASUREMENT_GEMM] = {AT(m), AT(n), AT(k)},
    [MEASUREMENT_ATTENTION] = {AT(batch), AT(heads), AT(kv_heads), AT(head_dim), AT(query_len), AT(context_len)},
    [MEASUREMENT_MOE] = {AT(tokens), AT(hidden), AT(expert_ffn), AT(top_k), AT(experts)},
    [MEASUREMENT_COLLECTIVE] = {AT(ranks), AT(size_byte)},
    [MEASUREMENT_COPY] = {AT(size_byte)},
    [MEASUREMENT_P2P] = {AT(size_byte)},
};

int
measurement_column(const char *name)
{
	for (int i = 0; i < N_COLUMNS; i++)
		if (strcasecmp(columns[i].name, name) == 0)
			return i;
	return -1;
}

const char *
measurement_column_name(int column)
{
	return columns[column].name;
}

int
measurement_column_of(size_t offset)
{
	for (int i = 0; i < N_COLUMNS; i++)
		if (columns[i].offset == offset)
			return i;
	return -1;
}

const size_t *
measurement_needs(enum measurement_kind k)
{
	return needs_of[k];
}

double
measurement_value(const struct measurement *row, size_t member)
{
	double value;

	memcpy(&value, (const char *)row + member, sizeof value);
	return value;
}

/* Decimal only: strtod would also take hexadecimal numbers, infinities and NaN. */
bool
measurement_number(const char *text, double *value)
{
	char *end;

	if (!*text || text[strspn(text, "0123456789+-.eE")] != '\0')
		return false;
	*value = strtod(text, &end);
	return end != text && !*end && isfinite(*value);
}

bool
measurement_set(
    struct measurement_reader *r, struct measurement *row, int column, const char *text, char *why, size_t size)
{
	const struct column *c = &columns[column];
	double value;

	if (!*text)
		return true;
	if (c->holds == HOLDS_WORD) {
		const char *word = measurement_word(r, text, strlen(text));
		memcpy((char *)row + c->offset, &word, sizeof word);
		return true;
	}
	if (c->holds == HOLDS_KIND) {
		const int kind = measurement_kind_find(text);
		if (kind < 0) {
			snprintf(why, size, "'%.40s' is not a kind of measurement", text);
			return false;
		}
		row->kind = (enum measurement_kind)kind;
		return true;
	}
	if (!measurement_number(text, &value)) {
		snprintf(why, size, "%s must be a plain number", c->name);
		return false;
	}
	if (c->holds == HOLDS_COUNT && !(value >= 0)) {
		snprintf(why, size, "%s is negative", c->name);
		return false;
	}
	value *= c->unit;
	memcpy((char *)row + c->offset, &value, sizeof value);
	return true;
}

enum { MAX_BYTES = 512 << 20 };

bool
measurement_refuse(struct measurement_reader *r, int line, const char *hint, const char *format, ...)
{
	char what[240];
	va_list list;

	va_start(list, format);
	vsnprintf(what, sizeof what, format, list);
	va_end(list);
	diag_error(r->diag, (struct source){r->out->file, line, line ? 1 : 0, NULL, false}, "%s", what);
	diag_hint(r->diag, "%s", hint);
	return false;
}

/* --- which kind of file ---------------------------------------------------------------------------------- */

static bool
line_has(const char *text, size_t length, const char *word)
{
	const size_t n = strlen(word);

	for (const char *p = text; length >= n && (p = memchr(p, *word, length - (size_t)(p - text) - n + 1)); p++) {
		if (memcmp(p, word, n) == 0)
			return true;
		if ((size_t)(p + 1 - text) + n > length)
			return false;
	}
	return false;
}

/* Length of the first line that says something; *start moves to it. */
static size_t
first_line(const char **start, const char *end)
{
	const char *p = *start;

	if (end - p >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
		p += 3;
	while (p < end && (isspace((unsigned char)*p) || *p == '#')) {
		if (*p == '#')
			while (p < end && *p != '\n')
				p++;
		else
			p++;
	}
	const char *stop = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
	*start = p;
	return (size_t)((stop ? stop : end) - p);
}

static bool
is_csv(const char *line, size_t n)
{
	static const char *const telling[] = {"time_us", "time", "m", "kind", "query_len", "size_bytes", "expert_ffn"};
	int found = 0;

	for (const char *p = line; p < line + n;) {
		size_t length = 0;
		while (p + length < line + n && !strchr(",;\t\r", p[length]))
			length++;
		for (size_t i = 0; i < sizeof telling / sizeof *telling; i++)
			found += strlen(telling[i]) == length && memcmp(telling[i], p, length) == 0;
		p += length + 1;
	}
	return found > 0 && (line_has(line, n, ",") || line_has(line, n, ";") || line_has(line, n, "\t"));
}

static bool
is_published(const char *line, size_t n)
{
	return line_has(line, n, "busbw_GBs") && line_has(line, n, "collective") && line_has(line, n, ",kind,");
}

/* Text formats by characteristic words; the first match counts. */
static const struct {
	const char *word;
	bool (*read)(struct measurement_reader *r);
} texts[] = {
    {"\"Metric Name\"", import_ncu},
    {"gpu__time_duration", import_ncu},
    {"CPU(row)", import_nvbandwidth_text},
    {"GPU(row)", import_nvbandwidth_text},
    {"GPU(column)", import_nvbandwidth_text},
    {"redop", import_nccl_text},
    {"algbw", import_nccl_text},
};

static bool (*text_reader(const char *text, size_t length))(struct measurement_reader *r)
{
	const size_t looked = length < 4 << 20 ? length : 4 << 20;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (line_has(text, looked, texts[i].word))
			return texts[i].read;
	return NULL;
}

/* Read one JSON document, or one object per line. */
static bool
read_json(struct measurement_reader *r)
{
	const char *start = r->text;
	const size_t first = first_line(&start, r->text + r->length);
	struct diag *quiet = diag_new(r->scratch);
	const struct source at = {r->out->file, 0, 0, NULL, false};
	const struct node *root = json_read(r->scratch, quiet, at, start, first);

	if (!root && r->length - (size_t)(start - r->text) <= 8 << 20)
		root = json_read(r->scratch, diag_new(r->scratch), at, start, r->length - (size_t)(start - r->text));
	if (root && tree_get(root, "nvbandwidth"))
		return import_nvbandwidth_json(r, tree_get(root, "nvbandwidth"));
	if (root && tree_get(root, "results") && !tree_get(root, "kind"))
		return import_nccl_json(r, root);
	return measurement_read_json_lines(r);
}

static bool
read_kind(struct measurement_reader *r)
{
	const char *start = r->text;
	const size_t n = first_line(&start, r->text + r->length);
	bool (*read)(struct measurement_reader *);

	if (n == 0)
		return measurement_refuse(r, 0, "see ridge-measurement(5) for the formats", "the file is empty");
	if (*start == '{')
		return read_json(r);
	if (is_published(start, n))
		return import_published(r);
	if (is_csv(start, n))
		return measurement_read_csv(r);
	read = text_reader(r->text, r->length);
	if (read)
		return read(r);
	return measurement_refuse(r, 0,
	    "JSON Lines or CSV of ridge-measurement(5), or what nccl-tests, nvbandwidth or Nsight Compute print",
	    "not a measurement file");
}

bool
measurements_are_in(const char *text, size_t length)
{
	const char *start = text;
	const size_t n = first_line(&start, text + length);

	if (n == 0)
		return false;
	if (*start ==
	    '{') /* rows of ours, of which the first may describe the device; or documents of two benchmarks */
		return (line_has(start, n, "\"kind\"") && line_has(text, length, "_us\"")) ||
		    line_has(text, length, "\"nvbandwidth\"") || line_has(text, length, "\"bus_bw\"");
	return is_published(start, n) || (is_csv(start, n) && line_has(start, n, "time_us")) ||
	    text_reader(text, length);
}

/* --- reading --------------------------------------------------------------------------------------------- */

/* Nothing usable is no answer: the reasons are the faults. */
static bool
any_row(struct measurement_reader *r)
{
	const struct measurements *m = r->out;

	if (m->n_rows > 0 && 2 * r->n_too_fast <= m->n_rows + r->n_too_fast)
		return true;
	if (r->n_too_fast > 0)
		return measurement_refuse(r, 0, "times are in microseconds: multiply milliseconds by 1000",
		    "%d of %d rows are faster than the device's peak", r->n_too_fast, m->n_rows + m->n_skipped);
	measurement_refuse(r, 0, "see ridge-measurement(5) for what a row needs", "no row can be used");
	for (int i = 0; i < m->n_skips && i < 8; i++)
		measurement_refuse(r, m->skips[i].first_line, "correct the row, or leave it out", "%s (%d %s)",
		    m->skips[i].why, m->skips[i].n, m->skips[i].n == 1 ? "row" : "rows");
	return false;
}

static bool
read_taken(struct arena *a, struct diag *d, const char *name, char *text, size_t length, struct database *db,
    const struct measurement_hints *hints, struct measurements *out)
{
	struct measurement_reader *r = ARENA_NEW(a, struct measurement_reader);

	*out = (struct measurements){.file = name};
	*r = (struct measurement_reader){
	    .arena = a, .diag = d, .database = db, .text = text, .length = length, .out = out};
	if (hints)
		r->hints = *hints;
	if (memchr(text, '\0', length))
		return measurement_refuse(r, 0, "decompress it first: zcat FILE | ridge ... -", "not a text file");
	if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		r->text += 3;
		r->length -= 3;
	}
	for (const char *p = r->text; (p = memchr(p, '\n', r->length - (size_t)(p - r->text))); p++)
		r->n_lines++;
	r->scratch = arena_new();
	const bool ok = read_kind(r) && any_row(r);
	arena_free(r->scratch);
	return ok;
}

bool
measurements_read_text(struct arena *a, struct diag *d, const char *name, const char *text, size_t length,
    struct database *db, const struct measurement_hints *hints, struct measurements *out)
{
	return read_taken(a, d, name, arena_copy(a, text, length), length, db, hints, out);
}

bool
measurements_read_with(struct arena *a, struct diag *d, const char *path, struct database *db,
    const struct measurement_hints *hints, struct measurements *out)
{
	struct file_text file;
	const bool whole = file_whole(a, path, MAX_BYTES, &file);

	*out = (struct measurements){.file = file.name};
	if (whole)
		return read_taken(a, d, out->file, file.text, file.length, db, hints, out);
	diag_error(d, (struct source){0}, "cannot read '%s': %s", path, file.why ? file.why : "larger than 512 MiB");
	diag_hint(d, "give a measurement file, or - for standard input");
	return false;
}

bool
measurements_read(struct arena *a, struct diag *d, const char *path, struct database *db, struct measurements *out)
{
	return measurements_read_with(a, d, path, db, NULL, out);
}

const char *
measurements_skip_text(struct arena *a, const struct measurements *m, int i)
{
	return arena_printf(a, "%d %s left out: %s (%s line %d)", m->skips[i].n, m->skips[i].n == 1 ? "row" : "rows",
	    m->skips[i].why, m->skips[i].n == 1 ? "it is" : "the first is", m->skips[i].first_line);
}
