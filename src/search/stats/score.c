/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Score predictions: errors, bias, coverage and baselines, by group. */
#include "search/stats/stats.h"

#include "base/base.h"
#include "model/measured/measured.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[N_SCORE_BY] = {
#define X(id, text) [SCORE_BY_##id] = text,
    SCORE_DIMENSIONS(X)
#undef X
};

const char *
score_by_name(enum score_by by)
{
	return names[by];
}

enum score_by
score_by_find(const char *name)
{
	int by = 0;

	while (by < N_SCORE_BY && strcmp(names[by], name) != 0)
		by++;
	return (enum score_by)by;
}

double
score_error(const struct score_case *c)
{
	return 100 * (c->predicted - c->measured) / c->measured;
}

static bool
is_scored(const struct score_case *c)
{
	return !c->skipped && c->sense == SCORE_VALUE;
}

/* --- which cases belong together ------------------------------------------------------------------------- */

/* The cases of one dimension in the order of their labels. */
struct labelled {
	const char *label;
	size_t at;
};

static int
by_label(const void *a, const void *b)
{
	const struct labelled *x = a, *y = b;
	const int order = x->label == y->label ? 0 : strcmp(x->label, y->label);

	return order ? order : (x->at > y->at) - (x->at < y->at);
}

/* Room for the numbers of the largest group. */
struct bench {
	double *error, *absolute, *baseline;
	const struct score_case **grouped;
};

/* --- one group ------------------------------------------------------------------------------------------- */

static double
percent(double part, double all)
{
	return all > 0 ? 100 * part / all : NAN;
}

static double
median(double *values, size_t n)
{
	if (n == 0)
		return NAN;
	num_sort(values, n);
	return num_quantile(values, n, 0.5);
}

static void
score_baseline(
    const struct score_case *cases, const struct labelled *in, size_t n, int k, struct bench *b, struct score_group *g)
{
	size_t found = 0;
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		const struct score_case *c = &cases[in[i].at];
		if (!is_scored(c) || isnan(c->baseline[k]))
			continue;
		b->baseline[found] = 100 * fabs(c->baseline[k] - c->measured) / c->measured;
		sum += b->baseline[found++];
	}
	g->baseline_mape[k] = found ? sum / (double)found : NAN;
	g->baseline_median[k] = median(b->baseline, found);
}

/* Bounds: a run that did not fit must be predicted above the limit, one that just fitted below it. */
static void
score_bounds(const struct score_case *cases, const struct labelled *in, size_t n, struct score_group *g)
{
	int kept = 0;

	for (size_t i = 0; i < n; i++) {
		const struct score_case *c = &cases[in[i].at];
		if (c->skipped || c->sense == SCORE_VALUE)
			continue;
		g->n_bounds++;
		kept += c->sense == SCORE_ABOVE ? c->predicted >= c->measured : c->predicted <= c->measured;
	}
	g->bounds_kept = percent(kept, g->n_bounds);
}

/* Distance of a measured value from the prediction, in half-widths of the interval. */
static double
scaled(const struct score_case *c)
{
	const double error = log(c->measured / c->predicted);
	const double width = error < 0 ? log(c->low / c->predicted) : log(c->high / c->predicted);

	return error == 0 ? 0 : width != 0 ? error / width : INFINITY;
}

/* Split conformal prediction: Angelopoulos and Bates, arXiv:2107.07511. */
static double
conformal_of(double *scaled_errors, size_t n)
{
	if (n == 0)
		return NAN;
	num_sort(scaled_errors, n);
	const size_t rank = (size_t)ceil(conformal_rank(NULL, (double)n) * (double)n);
	return scaled_errors[(rank < 1 ? 1 : rank > n ? n : rank) - 1];
}

/* --- coverage by group ----------------------------------------------------------------------------------- */

enum { GROUP_PARTS = 3 };

static int
by_group(const void *a, const void *b)
{
	const struct score_case *const *x = a, *const *y = b;
	int order = 0;

	for (int i = 0; i < GROUP_PARTS && !order; i++)
		order = strcmp((*x)->group[i] ? (*x)->group[i] : "", (*y)->group[i] ? (*y)->group[i] : "");
	return order;
}

/* A group counts by its share inside; cases that name no group are none. */
static void
score_coverage(const struct score_case **list, size_t n, struct score_group *g)
{
	double sum = 0;

	qsort(list, n, sizeof *list, by_group);
	for (size_t i = 0, k; i < n; i = k) {
		int inside = 0;
		for (k = i; k < n && by_group(&list[i], &list[k]) == 0; k++)
			inside += list[k]->low <= list[k]->measured && list[k]->measured <= list[k]->high;
		sum += (double)inside / (double)(k - i);
		g->n_groups++;
	}
	g->group_coverage80 = percent(sum, g->n_groups);
}

static struct score_group
score_one(const struct score_case *cases, const struct labelled *in, size_t n, enum score_by by, struct bench *b)
{
	struct score_group g = {.by = by, .name = in[0].label};
	double sum = 0, weights = 0;
	size_t found = 0, grouped = 0;
	int near10 = 0, near20 = 0, near30 = 0, covered = 0, under = 0, safe = 0;

	for (size_t i = 0; i < n; i++) {
		const struct score_case *c = &cases[in[i].at];
		g.n_skipped += c->skipped != NULL;
		if (!is_scored(c))
			continue;
		const double error = score_error(c), absolute = fabs(error);
		const double weight = by == SCORE_BY_CONSENSUS && c->weight > 0 ? c->weight : 1;
		b->error[found] = error;
		b->absolute[found++] = absolute;
		sum += weight * absolute;
		weights += weight;
		near10 += absolute <= 10;
		near20 += absolute <= 20;
		near30 += absolute <= 30;
		under += error < -10;
		g.n_warned += c->warning != NULL;
		if (!isnan(c->low)) {
			b->baseline[g.n_intervals++] = scaled(c);
			covered += c->low <= c->measured && c->measured <= c->high;
			if (c->group[0])
				b->grouped[grouped++] = c;
		}
		if (!isnan(c->safe)) {
			g.n_safe++;
			safe += c->measured <= c->safe;
		}
	}
	g.n = (int)found;
	g.mape = found ? sum / weights : NAN;
	g.median_ape = median(b->absolute, found);
	g.bias = median(b->error, found);
	g.within10 = percent(near10, g.n);
	g.within20 = percent(near20, g.n);
	g.within30 = percent(near30, g.n);
	g.under10 = percent(under, g.n);
	g.conformal = conformal_of(b->baseline, (size_t)g.n_intervals);
	g.coverage80 = percent(covered, g.n_intervals);
	score_coverage(b->grouped, grouped, &g);
	g.safe_covers = percent(safe, g.n_safe);
	for (int k = 0; k < SCORE_BASELINES; k++)
		score_baseline(cases, in, n, k, b, &g);
	score_bounds(cases, in, n, &g);
	return g;
}

static void
score_dimension(struct arena *a, const struct score_case *cases, size_t n, enum score_by by, struct labelled *in,
    struct bench *b, struct scores *out)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		if (cases[i].label[by])
			in[found++] = (struct labelled){cases[i].label[by], i};
	qsort(in, found, sizeof *in, by_label);
	for (size_t first = 0, end; first < found; first = end) {
		for (end = first + 1; end < found && strcmp(in[end].label, in[first].label) == 0;)
			end++;
		if ((out->n_groups & (out->n_groups - 1)) == 0) /* full at every power of two */
			out->groups =
			    arena_grow(a, out->groups, out->n_groups, 2 * out->n_groups + 1, sizeof *out->groups);
		out->groups[out->n_groups++] = score_one(cases, in + first, end - first, by, b);
	}
}

struct scores
score_groups(struct arena *a, const struct score_case *cases, size_t n, const bool *dimensions)
{
	struct scores out = {0};
	struct arena *scratch = arena_new();
	struct labelled *in = ARENA_ARRAY(scratch, struct labelled, n + 1);
	struct bench b = {ARENA_ARRAY(scratch, double, n + 1), ARENA_ARRAY(scratch, double, n + 1),
	    ARENA_ARRAY(scratch, double, n + 1), ARENA_ARRAY(scratch, const struct score_case *, n + 1)};

	for (int by = 0; by < N_SCORE_BY; by++)
		if (by == SCORE_BY_ALL || dimensions[by])
			score_dimension(a, cases, n, (enum score_by)by, in, &b, &out);
	arena_free(scratch);
	return out;
}

/* --- the worst ------------------------------------------------------------------------------------------- */

size_t
score_worst(const struct score_case *cases, size_t n, size_t most, size_t *worst)
{
	size_t kept = 0;

	for (size_t i = 0; i < n && most > 0; i++) {
		if (!is_scored(&cases[i]) || !cases[i].label[SCORE_BY_ALL])
			continue;
		const double error = fabs(score_error(&cases[i]));
		if (kept == most && error <= fabs(score_error(&cases[worst[kept - 1]])))
			continue;
		size_t at = kept < most ? kept++ : kept - 1;
		for (; at > 0 && fabs(score_error(&cases[worst[at - 1]])) < error; at--)
			worst[at] = worst[at - 1];
		worst[at] = i;
	}
	return kept;
}
