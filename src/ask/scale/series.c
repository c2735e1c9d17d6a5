/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scaling series from a file of numbers, such as a sweep of ridge train prints. */
#include "ask/scale/scale.h"

#include "base/sheet.h"
#include "import/import.h"

/* Names that tables give to how many GPUs took part, and to what they did in a second; the first that is there counts.
 */
static const char *const counts[] = {
    "gpus", "system.gpus", "num_gpus", "n_gpus", "ranks", "n_ranks", "nproc", "inputs.gpus"};
static const char *const rates[] = {"rate", "throughput", "token_per_s", "sample_per_s", "request_per_s",
    "output_token_per_s", "rate_token_per_s", "rate_sample_per_s", "tokens_per_s", "samples_per_s", "images_per_s",
    "rate_request_per_s"};

static size_t
column_of(const struct table *t, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const size_t found = table_column(t, names[i]);
		if (found < t->n_columns)
			return found;
	}
	return t->n_columns;
}

static bool
read_cell(struct run *r, const struct cell *cell, const char *what, double *out)
{
	struct quantity_fault fault;

	if (!cell->text) {
		diag_error(r->diag, cell->at, "this line has no %s", what);
		diag_hint(r->diag, "leave the line out");
		return false;
	}
	if (quantity_read(cell->text, Q_NUMBER, out, &fault) && *out > 0)
		return true;
	diag_error(r->diag, cell->at, "'%s' is no %s", cell->text, what);
	diag_hint(r->diag, "write a number above 0");
	return false;
}

bool
scale_series(struct run *r, struct word file, struct scale_point *out, size_t *n)
{
	struct table t;

	if (!table_read_file(r->arena, r->diag, file.text, NULL, &t))
		return false;
	const size_t count = column_of(&t, counts, sizeof counts / sizeof *counts);
	const size_t rate = column_of(&t, rates, sizeof rates / sizeof *rates);
	if (!t.heads || count == t.n_columns || rate == t.n_columns) {
		diag_error(r->diag, file.from, "%s has no column of %s", file.text,
		    t.heads && count < t.n_columns ? "rates" : "numbers of GPUs");
		diag_hint(r->diag,
		    "use columns gpus and rate, or the output of 'ridge train ... --sweep system.gpus=8..64*2 --csv'");
		return false;
	}
	if (t.n_lines > POINTS_MAX) {
		diag_error(r->diag, file.from, "more than %d points", POINTS_MAX);
		diag_hint(r->diag, "give fewer lines");
		return false;
	}
	for (size_t i = 0; i < t.n_lines; i++) {
		const struct cell *gpus = table_cell(&t, i, count);
		out[i].from = gpus->at;
		if (!read_cell(r, gpus, "number of GPUs", &out[i].n_ranks) ||
		    !read_cell(r, table_cell(&t, i, rate), "rate", &out[i].value))
			return false;
		if (out[i].n_ranks != floor(out[i].n_ranks)) {
			diag_error(r->diag, gpus->at, "'%s' is not a whole number of GPUs", gpus->text);
			diag_hint(r->diag, "write for example 8");
			return false;
		}
	}
	*n = t.n_lines;
	return true;
}
