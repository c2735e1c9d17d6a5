/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Read collected results of collectives, transfers and copies: CSV with a column `kind` (measured, ci_baseline; limits
 * and inputs of other models are left out), sizes in bytes, times in microseconds, bandwidths in 1e9 bytes per second.
 */
#include "import/parts.h"

#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

enum { MAX_CELLS = 64 };

struct published {
	int cell[N_FIELDS]; /* -1: no such column */
	char *cells[MAX_CELLS];
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
		p.n = measurement_cells(&text, ',', p.cells, MAX_CELLS, &n_lines);
		p.line += n_lines;
	}
	for (int f = 0; f < N_FIELDS; f++) {
		p.cell[f] = -1;
		for (int c = 0; c < p.n && c < MAX_CELLS; c++)
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
		p.n = measurement_cells(&text, ',', p.cells, MAX_CELLS, &n_lines);
		if (p.n == 0)
			continue;
		if (p.n > MAX_CELLS)
			measurement_skip(r, p.line, "more cells than columns");
		else if (strcmp(text_of(&p, KIND), "measured") != 0 && strcmp(text_of(&p, KIND), "ci_baseline") != 0)
			measurement_skip(r, p.line, "of kind '%.30s', not measured", text_of(&p, KIND));
		else
			add_row(r, &p);
	}
	return true;
}
