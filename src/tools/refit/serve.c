/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Serving runs: what each combination of engine, GPU, format and model was missed by when its runs were left out of the
 * fit, and how wide intervals must be for that.  Refitted are the constants of engines that say "fitted", but for the
 * memory pools and those of kernels without a guess: by the tangent at the database's constants.  What was left out is
 * then predicted by the model itself, since constants without rows go far.
 */
#include "parts.h"

#include "ask/serve/serve.h"
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_POOLED = 3 }; /* source, model, GPU: a run of tomorrow has a new one of these */
static const double nudge = 0.1, worst = 0.7 /* a residual counts as this at most */, shrink = 3, alpha = 0.2;
static const char *const quantities[N_SERVE_QUANTITIES] = {"THROUGHPUT", "TPOT", "TTFT", "LATENCY"};
static const char *const titles[N_SERVE_QUANTITIES] = {"throughput", "TPOT", "TTFT", "latency"};

/* One quantity of a group in a cell: what its rows are off by counts once. */
struct entry {
	enum serve_quantity quantity;
	int unit[N_UNITS], n;
	const char *const *cell;
	double square[N_UNITS]; /* mean, as left out, beyond what is not known of the constants */
	double doubt[N_UNITS];  /* mean, of what the constants are not known by others */
};

struct judge {
	struct refit *r;
	enum serve_quantity *quantity;
	int *entry_of;
	struct entry *entries;
	int n_entries;
	double *residual[N_UNITS], *in_sample; /* measured - predicted */
	double *doubt[N_UNITS];                /* variance of that for constants without rows */
	double *there;                         /* closed forms at the database's constants */
	double *tau;                           /* how far constants may stray */
	double *best, *start; /* the constants that all rows give, and what fits start from: see correct() */
	double factor[N_UNITS][N_SERVE_QUANTITIES];
};

/* --- the tangent ----------------------------------------------------------------------------------------- */

/* How many of the files, from the first, have rows of the constant's engines: the rest need not be read again. */
static size_t
files_of(struct refit *r, const struct refit_param *p)
{
	size_t n = 0;

	for (int i = 0; i < r->n; i++)
		for (size_t k = n; k < r->n_files; k++)
			if (strcmp(r->rows[i].file, r->files[k]) == 0 && refit_inherits(r, r->rows[i].stack, p->entry))
				n = k + 1;
	return n;
}

static void
lay_tangent(struct refit *r, double *there)
{
	const int n = r->n, m = r->n_params;
	double *x = ARENA_ARRAY(r->arena, double, m);
	double *moved = ARENA_ARRAY(r->arena, double, n);
	const size_t n_files = r->n_files;

	r->jacobian = ARENA_ARRAY(r->arena, double, (size_t)n *(size_t)m);
	r->at = ARENA_ARRAY(r->arena, double, m);
	r->log_at = ARENA_ARRAY(r->arena, double, n);
	for (int i = 0; i < n; i++)
		r->log_at[i] = r->rows[i].log_predicted;
	for (int p = 0; p < m; p++)
		x[p] = r->at[p] = r->params[p].start;
	refit_predict(r, there);
	for (int p = 0; p < m; p++) {
		const double step = x[p] + nudge > r->params[p].most ? -nudge : nudge;
		r->n_files = n_files;
		r->n_files = files_of(r, &r->params[p]);
		if (!r->n_files)
			continue;
		x[p] += step;
		refit_set(r, x);
		r->only = &r->params[p];
		refit_predict(r, moved);
		r->only = NULL;
		x[p] -= step;
		for (int i = 0; i < n; i++) {
			const double slope = (moved[i] - there[i]) / step;
			/* a run that now keeps up, or no longer: no slope */
			r->jacobian[i * m + p] = isfinite(slope) && fabs(slope) < 3 ? slope : 0;
			r->params[p].moves = r->params[p].moves || r->jacobian[i * m + p] != 0;
		}
		fprintf(stderr, "\r%d of %d constants\033[K", p + 1, m);
	}
	fputs("\r\033[K", stderr);
	r->n_files = n_files;
	refit_set(r, r->at);
}

/* --- fits ------------------------------------------------------------------------------------------------ */

static double *
strays(struct refit *r)
{
	double *tau = ARENA_ARRAY(r->arena, double, r->n_params);

	for (int p = 0; p < r->n_params; p++)
		tau[p] = r->params[p].tau;
	return tau;
}

/* The model's logarithms at x, of the rows that are marked (NULL: all); NaN where a run no longer keeps up. */
static void
predict_at(struct judge *j, const double *x, const bool *rows, double *log_predicted)
{
	struct refit *r = j->r;

	refit_set(r, x);
	r->only_rows = rows;
	refit_predict(r, log_predicted);
	r->only_rows = NULL;
	for (int i = 0; i < r->n; i++)
		log_predicted[i] += r->log_at[i] - j->there[i];
}

/* Move what a fit starts from towards where it meets the model at x: a tangent that is followed far misses it. */
static void
correct(struct judge *j, const double *x, const bool *rows, double *start)
{
	static const double share = 0.7; /* of the distance: with all of it, some constants swing */
	struct refit *r = j->r;
	struct arena *room = arena_new();
	double *there = ARENA_ARRAY(room, double, r->n);

	predict_at(j, x, rows, there);
	for (int i = 0; i < r->n; i++)
		if (isfinite(there[i]))
			start[i] += share * (there[i] - (start[i] + refit_log_at(r, i, x) - r->log_at[i]));
	arena_free(room);
}

/* The constants that all rows give. */
static void
find_best(struct judge *j)
{
	enum { ROUNDS = 4 };
	struct refit *r = j->r;
	const size_t n = sizeof(double) * (size_t)r->n, m = sizeof(double) * (size_t)r->n_params;

	j->best = ARENA_ARRAY(r->arena, double, r->n_params);
	j->start = ARENA_ARRAY(r->arena, double, r->n);
	memcpy(j->best, r->at, m);
	memcpy(j->start, r->log_at, n);
	for (int round = 0; round < ROUNDS; round++) {
		refit_solve(r, j->start, j->tau, LEAVE_GROUP, -1, j->best);
		correct(j, j->best, NULL, j->start);
	}
	refit_solve(r, j->start, j->tau, LEAVE_GROUP, -1, j->best);
}

/* Marks rows outside of the unit whose predictions at x are far from those at the best constants of all rows. */
static bool
mark_far(const struct judge *j, enum leave by, int unit, const double *x, bool *rows)
{
	static const double far = 0.1;
	const struct refit *r = j->r;
	bool any = false;

	for (int i = 0; i < r->n; i++) {
		rows[i] =
		    r->rows[i].unit[by] != unit && fabs(refit_log_at(r, i, x) - refit_log_at(r, i, j->best)) > far;
		any = any || rows[i];
	}
	return any;
}

/* The constants that rows of other units give. */
static void
fit_without(struct judge *j, enum leave by, int unit, double *x)
{
	enum { ROUNDS = 2 };
	struct refit *r = j->r;
	struct arena *room = arena_new();
	double *start = ARENA_ARRAY(room, double, r->n);
	bool *rows = ARENA_ARRAY(room, bool, r->n);

	memcpy(x, j->best, sizeof(double) * (size_t)r->n_params);
	memcpy(start, j->start, sizeof(double) * (size_t)r->n);
	refit_solve(r, start, j->tau, by, unit, x);
	for (int round = 0; round < ROUNDS && mark_far(j, by, unit, x, rows); round++) {
		correct(j, x, rows, start);
		refit_solve(r, start, j->tau, by, unit, x);
	}
	refit_doubt(r, start, j->tau, by, unit, x, j->doubt[by]);
	arena_free(room);
}

/* Residuals of all rows by the constants that rows of other units give; by the tangent where a run no longer keeps up.
 */
static void
leave_out(struct judge *j, enum leave by)
{
	struct refit *r = j->r;
	double *x = ARENA_ARRAY(r->arena, double, r->n_params), *there = ARENA_ARRAY(r->arena, double, r->n);
	bool *rows = ARENA_ARRAY(r->arena, bool, r->n);

	j->residual[by] = ARENA_ARRAY(r->arena, double, r->n);
	j->doubt[by] = ARENA_ARRAY(r->arena, double, r->n);
	for (int unit = 0; unit < r->n_units[by]; unit++) {
		fit_without(j, by, unit, x);
		for (int i = 0; i < r->n; i++)
			rows[i] = r->rows[i].unit[by] == unit;
		predict_at(j, x, rows, there);
		for (int i = 0; i < r->n; i++)
			if (rows[i])
				j->residual[by][i] = r->rows[i].log_measured -
				    (isfinite(there[i]) ? there[i]
				                        : j->start[i] + refit_log_at(r, i, x) - r->log_at[i]);
		fprintf(stderr, "\r%s %d of %d\033[K", leave_name(by), unit + 1, r->n_units[by]);
	}
	fputs("\r\033[K", stderr);
	refit_set(r, r->at);
}

/* --- groups ---------------------------------------------------------------------------------------------- */

/* How alike two combinations are: 0 the quantity alone, 1 the engine, 2 the architecture, 3 all. */
static int
likeness(const char *const *a, const char *const *b)
{
	if (strcmp(a[0], b[0]) != 0)
		return 0;
	if (strcmp(a[1], b[1]) != 0)
		return 1;
	return strcmp(a[2], b[2]) == 0 && strcmp(a[3], b[3]) == 0 ? 3 : 2;
}

static void
find_entries(struct judge *j)
{
	struct refit *r = j->r;

	j->quantity = arena_take(r->arena, (size_t)r->n * sizeof *j->quantity);
	j->entry_of = ARENA_ARRAY(r->arena, int, r->n);
	j->entries = ARENA_ARRAY(r->arena, struct entry, r->n);
	for (int i = 0; i < r->n; i++) {
		const struct refit_row *row = &r->rows[i];
		int k = 0;
		j->quantity[i] = serve_quantity_of(row->what);
		while (k < j->n_entries &&
		    (j->entries[k].quantity != j->quantity[i] ||
		        j->entries[k].unit[LEAVE_GROUP] != row->unit[LEAVE_GROUP] ||
		        j->entries[k].unit[LEAVE_CELL] != row->unit[LEAVE_CELL]))
			k++;
		j->entry_of[i] = k;
		if (k == j->n_entries) {
			struct entry *e = &j->entries[j->n_entries++];
			e->quantity = j->quantity[i];
			e->cell = row->of->cell;
			memcpy(e->unit, row->unit, sizeof e->unit);
		}
		j->entries[k].n++;
	}
}

/* As left out in the ways that are pooled. */
static double
pooled_square(const struct entry *e)
{
	double sum = 0;

	for (int l = 0; l < N_POOLED; l++)
		sum += e->square[l] / N_POOLED;
	return sum;
}

static void
fill_squares(struct judge *j)
{
	for (int l = 0; l < N_UNITS; l++)
		for (int i = 0; i < j->r->n; i++) {
			struct entry *e = &j->entries[j->entry_of[i]];
			const double x = fmin(fabs(j->residual[l][i]), worst);
			e->square[l] += fmax(0, x * x - j->doubt[l][i]) / e->n;
			e->doubt[l] += j->doubt[l][i] / e->n;
		}
}

/* --- widths ---------------------------------------------------------------------------------------------- */

/* Standard deviation of residuals of a cell, drawn towards that of all cells of its GPU, its engine, everything;
 * without the entries of one unit (-1: with all).  Runs of combinations that were left out tell of other combinations
 * of the engine, runs of engines that were left out of all engines. */
static double
deviation(const struct judge *j, const char *const *cell, enum serve_quantity quantity, enum leave by, int unit)
{
	const bool own = by == LEAVE_CELL || by == LEAVE_ENGINE; /* else all four ways of leaving out are pooled */
	const int levels = by == LEAVE_ENGINE ? 1 : by == LEAVE_CELL ? 2 : 4;
	double sum[4] = {0}, n[4] = {0}, v;

	for (int k = 0; k < j->n_entries; k++) {
		const struct entry *e = &j->entries[k];
		if (e->quantity != quantity || (unit >= 0 && e->unit[by] == unit))
			continue;
		const double square = own ? e->square[by] : pooled_square(e);
		for (int level = likeness(cell, e->cell); level >= 0; level--) {
			sum[level] += square;
			n[level]++;
		}
	}
	v = n[0] ? sum[0] / n[0] : 0.09;
	for (int level = 1; level < levels; level++)
		v = (shrink * v + sum[level]) / (shrink + n[level]);
	return sqrt(v);
}

/* The same of one row, with what is not known of its constants. */
static double
row_deviation(const struct judge *j, int i, enum leave by)
{
	const struct refit_row *row = &j->r->rows[i];
	const double d = deviation(j, row->of->cell, j->quantity[i], by, row->unit[by]);

	return sqrt(d * d + j->doubt[by][i]);
}

/* ... of a cell for a model that it has no run of: its constants are known by the others. */
static double
cell_deviation(const struct judge *j, const char *const *cell, enum serve_quantity quantity)
{
	const double d = deviation(j, cell, quantity, LEAVE_SOURCE, -1);
	double doubt = 0;
	int n = 0;

	for (int k = 0; k < j->n_entries; k++) {
		const struct entry *e = &j->entries[k];
		if (e->quantity == quantity && likeness(cell, e->cell) == 3) {
			doubt += e->doubt[LEAVE_MODEL];
			n++;
		}
	}
	return sqrt(d * d + doubt / n);
}

/* ... and of an engine on what nobody measured it on, or of an engine that nobody measured (NULL). */
static double
unseen_deviation(const struct judge *j, const char *const *cell, enum serve_quantity quantity)
{
	const enum leave by = cell ? LEAVE_CELL : LEAVE_ENGINE;
	const double d = deviation(j, cell ? cell : j->entries[0].cell, quantity, by, -1);
	double doubt = 0;
	int n = 0;

	for (int k = 0; k < j->n_entries; k++) {
		const struct entry *e = &j->entries[k];
		if (e->quantity == quantity && (!cell || likeness(cell, e->cell) >= 1)) {
			doubt += e->doubt[by];
			n++;
		}
	}
	return sqrt(d * d + doubt / n);
}

struct weighed {
	double value, weight;
};

static int
by_value(const void *a, const void *b)
{
	const struct weighed *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

/* The factor on deviations that holds 80 % of groups, each weighing the same: split conformal prediction (Angelopoulos
 * and Bates, arXiv:2107.07511) without its correction for few groups, since every group is left out in several ways. */
static double
factor_of(const struct judge *j, enum serve_quantity quantity, enum leave first, enum leave last)
{
	const struct refit *r = j->r;
	struct weighed *list = ARENA_ARRAY(r->arena, struct weighed, 3 * r->n);
	double all = 0, sum = 0;
	int n = 0;

	for (int l = (int)first; l <= (int)last; l++)
		for (int i = 0; i < r->n; i++) {
			if (j->quantity[i] != quantity)
				continue;
			const double d = row_deviation(j, i, (enum leave)l);
			list[n] = (struct weighed){fabs(j->residual[l][i]) / d, 1.0 / j->entries[j->entry_of[i]].n};
			all += list[n++].weight;
		}
	qsort(list, (size_t)n, sizeof *list, by_value);
	for (int i = 0; i < n; i++) {
		sum += list[i].weight;
		if (sum >= (1 - alpha) * all)
			return list[i].value;
	}
	return n ? list[n - 1].value : 1;
}

static void
find_factors(struct judge *j)
{
	for (int q = 0; q < N_SERVE_QUANTITIES; q++) {
		const double pooled = factor_of(j, (enum serve_quantity)q, LEAVE_SOURCE, LEAVE_GPU);
		for (int l = 0; l < N_UNITS; l++)
			j->factor[l][q] = l < (int)LEAVE_CELL
			    ? pooled
			    : factor_of(j, (enum serve_quantity)q, (enum leave)l, (enum leave)l);
	}
}

/* --- the table ------------------------------------------------------------------------------------------- */

struct tally {
	int n, inside, groups;
	double mean, median, inside_groups, half, score;
};

/* Rows of one quantity and, unless these are NULL, one engine and architecture; every group weighs the same.  `widths`:
 * by the widths of what the others give, times this. */
static struct tally
count(const struct judge *j, enum serve_quantity quantity, enum leave by, const double *residual, double widths,
    const char *engine, const char *architecture)
{
	const struct refit *r = j->r;
	struct arena *room = arena_new();
	double *error = ARENA_ARRAY(room, double, j->n_entries), *inside = ARENA_ARRAY(room, double, j->n_entries);
	double *half = ARENA_ARRAY(room, double, r->n);
	int *n = ARENA_ARRAY(room, int, j->n_entries);
	struct tally t = {0};

	for (int i = 0; i < r->n; i++) {
		const char *const *cell = r->rows[i].of->cell;
		if (j->quantity[i] != quantity || (engine && strcmp(cell[0], engine) != 0) ||
		    (architecture && strcmp(cell[1], architecture) != 0))
			continue;
		const double h = widths * j->factor[by][quantity] *
		    (residual == j->in_sample ? cell_deviation(j, cell, quantity) : row_deviation(j, i, by));
		const double out = fabs(residual[i]) - h;
		const int k = j->entry_of[i];
		half[t.n++] = h;
		t.inside += out <= 0;
		t.score += 2 * h + 2 / alpha * fmax(0, out);
		/* (predicted - measured) / measured */
		error[k] += fabs(exp(-residual[i]) - 1);
		inside[k] += out <= 0;
		n[k]++;
	}
	for (int k = 0; k < j->n_entries; k++)
		if (n[k]) {
			error[t.groups] = error[k] / n[k];
			t.mean += error[t.groups];
			t.inside_groups += inside[k] / n[k];
			t.groups++;
		}
	if (t.n) {
		t.mean *= 100.0 / t.groups;
		t.inside_groups *= 100.0 / t.groups;
		t.score *= 100.0 / t.n;
		num_sort(error, (size_t)t.groups);
		num_sort(half, (size_t)t.n);
		t.median = 100 * num_quantile(error, (size_t)t.groups, 0.5);
		t.half = 100 * (exp(num_quantile(half, (size_t)t.n, 0.5)) - 1);
	}
	arena_free(room);
	return t;
}

static void
print_score(const struct judge *j, enum serve_quantity q, enum leave by, const double *residual, const char *how)
{
	const struct tally t = count(j, q, by, residual, 1, NULL, NULL);
	const struct tally h = count(j, q, by, residual, 0.5, NULL, NULL);

	printf("CROSS(\"serving, %s\", \"%s\", %d, %d, %.2f, %.2f, %.0f, %.0f, %.1f, %.1f)\n", titles[q], how, t.n,
	    t.groups, t.mean, t.median, 100.0 * t.inside / t.n, t.inside_groups, t.half, t.score);
	if (residual != j->in_sample)
		printf("/* half as wide: %.0f %% of rows, %.0f %% of groups inside */\n", 100.0 * h.inside / t.n,
		    h.inside_groups);
}

/* Whether an earlier row has the same cell (engine and architecture alone) and quantity. */
static bool
seen(const struct judge *j, int i, int least)
{
	for (int k = 0; k < i; k++)
		if (j->quantity[k] == j->quantity[i] &&
		    likeness(j->r->rows[k].of->cell, j->r->rows[i].of->cell) >= least)
			return true;
	return false;
}

static void
print_cell(const struct judge *j, int first)
{
	const struct refit *r = j->r;
	const char *const *cell = r->rows[first].of->cell;
	double *error = ARENA_ARRAY(r->arena, double, r->n);
	bool *known = ARENA_ARRAY(r->arena, bool, r->n_units[LEAVE_MODEL]);
	const enum serve_quantity q = j->quantity[first];
	int n = 0, models = 0;

	for (int i = first; i < r->n; i++) {
		if (j->quantity[i] != q || r->rows[i].unit[LEAVE_CELL] != r->rows[first].unit[LEAVE_CELL])
			continue;
		error[n++] = fabs(exp(-j->residual[LEAVE_MODEL][i]) - 1);
		models += !known[r->rows[i].unit[LEAVE_MODEL]];
		known[r->rows[i].unit[LEAVE_MODEL]] = true;
	}
	num_sort(error, (size_t)n);
	printf("SUPPORT(\"%s\", \"%s\", \"%s\", \"%s\", %s, %d, %d, %.3f, %.3f)\n", cell[0], cell[1], cell[2], cell[3],
	    quantities[q], n, models, num_quantile(error, (size_t)n, 0.5),
	    j->factor[LEAVE_SOURCE][q] * cell_deviation(j, cell, q));
}

static void
print_unseen(const struct judge *j, int first)
{
	const char *const *cell = j->r->rows[first].of->cell;
	const enum serve_quantity q = j->quantity[first];

	printf("UNSEEN(\"%s\", %s, %.3f)\n", cell[0], quantities[q],
	    j->factor[LEAVE_CELL][q] * unseen_deviation(j, cell, q));
}

static void
print_machine(const struct judge *j, int first)
{
	const char *const *cell = j->r->rows[first].of->cell;
	const enum serve_quantity q = j->quantity[first];
	const struct tally t = count(j, q, LEAVE_MODEL, j->residual[LEAVE_MODEL], 1, cell[0], cell[1]);

	printf("MACHINE(\"%s\", \"%s\", \"%s\", %d, %d, %.1f, %.1f, %.0f, %.0f)\n", cell[0], cell[1], titles[q], t.n,
	    t.groups, t.mean, t.median, 100.0 * t.inside / t.n, t.inside_groups);
}

static void
print_constants(const struct judge *j)
{
	const struct refit *r = j->r;

	for (int p = 0; p < r->n_params; p++)
		if (r->params[p].moves)
			printf("/* %-24s %-34s %8.4g -> %8.4g%s */\n", r->params[p].entry, r->params[p].path,
			    exp(r->params[p].start), exp(j->best[p]), r->params[p].unit);
}

static void
print_all(const struct judge *j)
{
	const struct refit *r = j->r;

	puts(
	    "/* SPDX-License-Identifier: GPL-3.0-or-later */\n/* Written by `make support`; see HACKING.md, Refit. */");
	for (int q = 0; q < N_SERVE_QUANTITIES; q++) {
		if (!count(j, (enum serve_quantity)q, LEAVE_SOURCE, j->in_sample, 1, NULL, NULL).n)
			continue;
		print_score(j, (enum serve_quantity)q, LEAVE_SOURCE, j->in_sample, "in sample");
		for (int l = 0; l < N_UNITS; l++)
			print_score(j, (enum serve_quantity)q, (enum leave)l, j->residual[l],
			    arena_printf(r->arena, "%s left out", leave_name((enum leave)l)));
		printf("UNSEEN(\"\", %s, %.3f)\n", quantities[q],
		    j->factor[LEAVE_ENGINE][q] * unseen_deviation(j, NULL, (enum serve_quantity)q));
	}
	for (int i = 0; i < r->n; i++)
		if (!seen(j, i, 3))
			print_cell(j, i);
	for (int i = 0; i < r->n; i++)
		if (!seen(j, i, 1))
			print_unseen(j, i);
	for (int i = 0; i < r->n; i++)
		if (!seen(j, i, 2))
			print_machine(j, i);
	print_constants(j);
}

/* A line for each row: file, line, what it was missed by in % in sample and as left out in each way, whose it is. */
static void
print_rows(const struct judge *j)
{
	const struct refit *r = j->r;

	for (int i = 0; i < r->n; i++) {
		const struct refit_row *row = &r->rows[i];
		printf("/* %s:%d %s: %+.1f", row->file, row->line, titles[j->quantity[i]],
		    100 * (exp(-j->in_sample[i]) - 1));
		for (int l = 0; l < N_UNITS; l++)
			printf(" %s %+.1f", leave_name((enum leave)l), 100 * (exp(-j->residual[l][i]) - 1));
		printf(": %s: %s */\n", row->label[LEAVE_CELL], row->label[LEAVE_GROUP]);
	}
}

bool
refit_serve(const char *rows, bool each)
{
	static const char *const names[] = {"serve", "serve2"};
	struct arena *a = arena_new();
	struct refit r = {.arena = a, .diag = diag_new(a), .domain = DOMAIN_SERVE};
	const char *files[2];
	struct judge j = {.r = &r};

	r.db = database_new(a, r.diag, NULL);
	for (int i = 0; i < 2; i++) {
		files[r.n_files] = arena_printf(a, "%s/%s.csv", rows, names[i]);
		r.n_files += access(files[r.n_files], R_OK) == 0;
	}
	r.files = files;
	if (!r.n_files || !refit_read_rows(&r)) {
		fprintf(stderr, "refit: no serving runs in %s\n", rows);
		arena_free(a);
		return false;
	}
	refit_find_params(&r);
	r.draft = true;
	j.there = ARENA_ARRAY(a, double, r.n);
	lay_tangent(&r, j.there);
	j.in_sample = ARENA_ARRAY(a, double, r.n);
	for (int i = 0; i < r.n; i++)
		j.in_sample[i] = r.rows[i].log_measured - r.log_at[i];
	j.tau = strays(&r);
	find_best(&j);
	for (int l = 0; l < N_UNITS; l++)
		leave_out(&j, (enum leave)l);
	find_entries(&j);
	fill_squares(&j);
	find_factors(&j);
	print_all(&j);
	if (each)
		print_rows(&j);
	arena_free(a);
	return true;
}
