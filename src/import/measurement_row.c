/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Check one measurement row: required columns, and times that no device can reach. */
#include "import/parts.h"

#include "base/base.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Resolve the GPU of a row. */
struct gpu_label {
	const char *label, *id; /* label is one of the reader's words; id NULL: not in the database */
	double most_flop_per_s;
};

enum { N_SKIPS = sizeof((struct measurements *)0)->skips / sizeof *((struct measurements *)0)->skips };

struct measurement
measurement_blank(enum measurement_kind kind, int line)
{
	struct measurement row = {.kind = kind, .line = line};

	row.dtype = row.kv_dtype = row.weight_dtype = DTYPE_NONE;
#define DIMENSION(member, text, title) row.member = NAN;
#define FIGURE(member, text, unit, title) row.member = NAN;
#include "model/hw/measurement.def"
#undef DIMENSION
#undef FIGURE
	return row;
}

/* --- words ----------------------------------------------------------------------------------------------- */

static size_t
hash(const char *text, size_t length)
{
	size_t h = 14695981039346656037u;

	for (size_t i = 0; i < length; i++)
		h = (h ^ (unsigned char)text[i]) * 1099511628211u;
	return h ^ h >> 29;
}

static char **
slot_of(char **words, size_t room, const char *text, size_t length)
{
	size_t at = hash(text, length) & (room - 1);

	while (words[at] && (strncmp(words[at], text, length) != 0 || words[at][length]))
		at = (at + 1) & (room - 1);
	return &words[at];
}

static void
more_room(struct measurement_reader *r)
{
	const size_t room = r->words_room ? 2 * r->words_room : 256;
	char **words = ARENA_ARRAY(r->arena, char *, room);

	for (size_t i = 0; i < r->words_room; i++)
		if (r->words[i])
			*slot_of(words, room, r->words[i], strlen(r->words[i])) = r->words[i];
	r->words = words;
	r->words_room = room;
}

const char *
measurement_word(struct measurement_reader *r, const char *text, size_t length)
{
	if (length == 0)
		return NULL;
	if (2 * r->n_words >= r->words_room)
		more_room(r);
	char **slot = slot_of(r->words, r->words_room, text, length);
	if (!*slot) {
		*slot = arena_copy(r->arena, text, length);
		r->n_words++;
	}
	return *slot;
}

/* --- what is left out ------------------------------------------------------------------------------------ */

static void
count_skip(struct measurements *m, const char *why, int line)
{
	m->n_skipped++;
	for (int i = 0; i < m->n_skips; i++)
		if (strcmp(m->skips[i].why, why) == 0) {
			m->skips[i].n++;
			return;
		}
	m->skips[m->n_skips].why = why;
	m->skips[m->n_skips].n = 1;
	m->skips[m->n_skips].first_line = line;
	m->n_skips++;
}

void
measurement_skip(struct measurement_reader *r, int line, const char *format, ...)
{
	char why[160];
	va_list list;

	va_start(list, format);
	vsnprintf(why, sizeof why, format, list);
	va_end(list);
	bool known = false;
	for (int i = 0; i < r->out->n_skips && !known; i++)
		known = strcmp(r->out->skips[i].why, why) == 0;
	/* the last place is for all reasons beyond */
	if (!known && r->out->n_skips >= N_SKIPS - 1)
		snprintf(why, sizeof why, "other reasons");
	count_skip(r->out, measurement_word(r, why, strlen(why)), line);
}

/* --- the GPU --------------------------------------------------------------------------------------------- */

/* No kernel is faster than this.  Peaks are nominal: a boosted clock and a rounded time allow for some more. */
static double
fastest(struct measurement_reader *r, const char *id)
{
	const struct gpu *gpu =
	    id && r->database ? database_gpu(r->database, id, NULL, (struct source){0}, &(const char *){NULL}) : NULL;
	double most = 0;

	for (int p = 0; gpu && p < N_PEAKS; p++)
		if (datum_given(gpu->peak_flop_per_s[p]))
			most = fmax(most, gpu->peak_flop_per_s[p].value);
	return most > 0 ? 1.5 * most : 1e17;
}

static struct gpu_label *
label_of(struct measurement_reader *r, const char *label, bool device)
{
	static const char *const makers[] = {"NVIDIA ", "GeForce ", "Tesla ", "AMD "};
	const char *id = NULL, *name = label;

	for (int i = 0; i < r->n_labels; i++)
		if (r->labels[i].label == label)
			return &r->labels[i];
	if (!r->database)
		id = device ? NULL : label;
	else
		database_try(r->database, ENTRY_GPU, name, &id);
	for (size_t i = 0; device && r->database && !id && i < sizeof makers / sizeof *makers; i++)
		if (text_begins(name, makers[i])) {
			name += strlen(makers[i]);
			database_try(r->database, ENTRY_GPU, name, &id);
		}
	if ((r->n_labels & (r->n_labels - 1)) == 0)
		r->labels = arena_grow(
		    r->arena, r->labels, (size_t)r->n_labels, 2 * (size_t)r->n_labels + 1, sizeof *r->labels);
	struct gpu_label *l = &r->labels[r->n_labels++];
	*l = (struct gpu_label){label, id ? measurement_word(r, id, strlen(id)) : NULL, fastest(r, id)};
	return l;
}

static bool
resolve_gpu(struct measurement_reader *r, struct measurement *row, double *most_flop_per_s)
{
	const struct gpu_label *l = NULL;

	*most_flop_per_s = 1e17;
	if (!row->gpu && row->device && (l = label_of(r, row->device, true))->id)
		row->gpu = l->id;
	else if (!row->gpu && r->hints.gpu)
		row->gpu = measurement_word(r, r->hints.gpu, strlen(r->hints.gpu));
	if (!row->gpu)
		return true;
	l = label_of(r, row->gpu, false);
	if (!l->id) {
		measurement_skip(r, row->line, "the GPU '%.60s' is not in the database", row->gpu);
		return false;
	}
	row->gpu = l->id;
	*most_flop_per_s = l->most_flop_per_s;
	return true;
}

/* --- types ----------------------------------------------------------------------------------------------- */

/* Types of serving engines: narrow weights that meet wider activations. */
static const struct {
	const char *text;
	enum dtype dtype, weight;
	bool static_scale;
} mixed[] = {
    {"fp8-static", DTYPE_FP8, DTYPE_FP8, true},
    {"fp8-dynamic", DTYPE_FP8, DTYPE_FP8, false},
    {"fp8-block-static", DTYPE_FP8_BLOCK, DTYPE_FP8_BLOCK, true},
    {"nvfp4-static", DTYPE_NVFP4, DTYPE_NVFP4, true},
    {"int8-static", DTYPE_INT8, DTYPE_INT8, true},
    {"w4a16", DTYPE_BF16, DTYPE_INT4, false},
    {"w8a16", DTYPE_BF16, DTYPE_INT8, false},
    {"w4a16-mxfp4", DTYPE_BF16, DTYPE_MXFP4, false},
    {"w4a8_mxfp4_mxfp8", DTYPE_MXFP8, DTYPE_MXFP4, false},
    {"w4a8-mxfp4", DTYPE_FP8, DTYPE_MXFP4, true},
};

/* Libraries whose tables time the product alone: its activations came quantized. */
static bool
takes_quantised(const struct measurement *row)
{
	static const char *const libraries[] = {"aiter", "hipblaslt", "hipkittens"};

	for (size_t i = 0; row->backend && i < sizeof libraries / sizeof *libraries; i++)
		if (text_begins(row->backend, libraries[i]))
			return true;
	return false;
}

static bool
resolve_types(struct measurement_reader *r, struct measurement *row)
{
	const bool needed = row->kind == MEASUREMENT_GEMM || row->kind == MEASUREMENT_ATTENTION ||
	    row->kind == MEASUREMENT_MOE || row->kind == MEASUREMENT_FMA;

	row->dtype = row->dtype_text ? dtype_find(row->dtype_text) : DTYPE_NONE;
	row->weight_dtype = row->dtype;
	for (size_t i = 0; row->dtype_text && row->dtype == DTYPE_NONE && i < sizeof mixed / sizeof *mixed; i++)
		if (strcmp(mixed[i].text, row->dtype_text) == 0) {
			row->dtype = mixed[i].dtype;
			row->weight_dtype = mixed[i].weight;
			row->static_scale = mixed[i].static_scale;
		}
	if (row->dtype != DTYPE_NONE && dtype_byte(row->dtype) < 2 && takes_quantised(row))
		row->static_scale = true;
	if (row->kv_text)
		row->kv_dtype = dtype_find(row->kv_text);
	else if (row->kind == MEASUREMENT_ATTENTION)
		row->kv_dtype = row->dtype;
	if (needed && row->dtype_text && row->dtype == DTYPE_NONE)
		measurement_skip(r, row->line, "unknown dtype '%.40s'", row->dtype_text);
	else if (needed && !row->dtype_text)
		measurement_skip(r, row->line, "no dtype");
	else if (row->kv_text && row->kv_dtype == DTYPE_NONE)
		measurement_skip(r, row->line, "unknown dtype '%.40s'", row->kv_text);
	else
		return true;
	return false;
}

/* --- operations ------------------------------------------------------------------------------------------ */

static const char *const collectives[] = {
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce", "sendrecv", "gather", "scatter"};

/* alltoall, AllReduce and all-reduce are names of operations above. */
static bool
resolve_operation(struct measurement_reader *r, struct measurement *row)
{
	if (row->kind == MEASUREMENT_COLLECTIVE && row->operation)
		for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++)
			if (text_same_folded(row->operation, collectives[i]))
				row->operation = collectives[i];
	if (!row->operation &&
	    (row->kind == MEASUREMENT_COLLECTIVE || row->kind == MEASUREMENT_ATTENTION ||
	        row->kind == MEASUREMENT_COPY)) {
		measurement_skip(r, row->line, "no operation");
		return false;
	}
	if (row->kind == MEASUREMENT_ATTENTION && strcmp(row->operation, "prefill") != 0 &&
	    strcmp(row->operation, "decode") != 0) {
		measurement_skip(r, row->line, "attention must be prefill or decode, not '%.40s'", row->operation);
		return false;
	}
	return true;
}

/* --- dimensions and figures ------------------------------------------------------------------------------ */

/* Many sources print bandwidths alone. */
static bool
rate_alone(const struct measurement *row)
{
	return (row->kind == MEASUREMENT_COPY || row->kind == MEASUREMENT_P2P) && row->byte_per_s > 0 &&
	    isnan(row->time_s);
}

/* Arrays that a copy reads and writes, counted as in McCalpin's STREAM. */
static double
copy_arrays(const struct measurement *row)
{
	static const struct {
		const char *operation;
		double n;
	} arrays[] = {{"read", 1}, {"write", 1}, {"copy", 2}, {"scale", 2}, {"triad", 3}, {"add", 3}};

	for (size_t i = 0; row->kind == MEASUREMENT_COPY && i < sizeof arrays / sizeof *arrays; i++)
		if (strcmp(arrays[i].operation, row->operation) == 0)
			return arrays[i].n;
	return row->kind == MEASUREMENT_P2P ? 1 : NAN;
}

static bool
check_dimension(struct measurement_reader *r, const struct measurement *row, size_t member)
{
	const double value = measurement_value(row, member);
	const bool may_be_zero = member == offsetof(struct measurement, context_len);
	const char *fault = isnan(value)            ? "is missing"
	    : value == 0 && !may_be_zero            ? "is 0"
	    : value > 1e18 || value != floor(value) ? "is not a whole number"
	                                            : NULL;

	if (fault)
		measurement_skip(r, row->line, "%s %s", measurement_column_name(measurement_column_of(member)), fault);
	return !fault;
}

static bool
check_dimensions(struct measurement_reader *r, struct measurement *row)
{
	if (row->kind == MEASUREMENT_ATTENTION && isnan(row->window))
		row->window = 0;
	if (row->kind == MEASUREMENT_MOE && isnan(row->tp))
		row->tp = 1;
	if (row->kind == MEASUREMENT_MOE && isnan(row->ep))
		row->ep = 1;
	for (const size_t *member = measurement_needs(row->kind); *member && !rate_alone(row); member++)
		if (!check_dimension(r, row, *member))
			return false;
	return true;
}

/* Operations of the products alone, which every kernel of the kind does. */
static double
least_flop(const struct measurement *row)
{
	if (row->kind == MEASUREMENT_GEMM)
		return 2 * row->m * row->n * row->k;
	return row->flop > 0 ? row->flop : 0;
}

static bool
check_time(struct measurement_reader *r, struct measurement *row, double most_flop_per_s)
{
	if (rate_alone(row))
		return true;
	if (isnan(row->time_s))
		measurement_skip(r, row->line, "no time_us");
	else if (row->time_s < 0)
		measurement_skip(r, row->line, "the time is negative");
	else if (row->time_s == 0)
		measurement_skip(r, row->line, "the time is 0");
	else if (row->time_s > 3600)
		measurement_skip(r, row->line, "the time exceeds an hour: give it in microseconds");
	else if (row->min_s > row->time_s * (1 + 1e-6) || row->max_s < row->time_s * (1 - 1e-6))
		measurement_skip(r, row->line, "the median is not between min_us and max_us");
	else if (least_flop(row) / row->time_s > most_flop_per_s ||
	    (row->kind == MEASUREMENT_COPY && row->size_byte / row->time_s > 2e14)) {
		r->n_too_fast++;
		measurement_skip(r, row->line, "faster than the device's peak: give the time in microseconds");
	} else
		return true;
	return false;
}

/* A row for each line, so that long files are not copied; lines of nothing do not count for much. */
static int
rows_at_most(const struct measurement_reader *r)
{
	const size_t most = r->n_lines < r->length / 16 ? r->n_lines : r->length / 16;

	return most < 64 ? 64 : most < 1000000 ? (int)most : 1000000;
}

void
measurement_add(struct measurement_reader *r, struct measurement *row)
{
	struct measurements *m = r->out;
	double most_flop_per_s;

	if (!resolve_gpu(r, row, &most_flop_per_s) || !resolve_types(r, row) || !resolve_operation(r, row) ||
	    !check_dimensions(r, row) || !check_time(r, row, most_flop_per_s))
		return;
	if (isnan(row->byte_per_s))
		row->byte_per_s = copy_arrays(row) * row->size_byte / row->time_s;
	if (m->n_rows == r->room) {
		const int more = r->room ? 2 * r->room : rows_at_most(r);
		m->rows = arena_grow(r->arena, m->rows, (size_t)m->n_rows, (size_t)more, sizeof *m->rows);
		r->room = more;
	}
	m->rows[m->n_rows++] = *row;
}
