/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scores of predictions whose rows were left out. */
#include "parts.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

/* Of an 80 % interval: Gneiting and Raftery, JASA 102 (2007), equation 43. */
static const double alpha = 0.2;

static double
percent_error(const struct refit *r, const double *log_predicted, int i)
{
	return 100 * (exp(log_predicted[i] - r->rows[i].log_measured) - 1);
}

double
refit_group_error(const struct refit *r, const double *log_predicted)
{
	double sum = 0;
	int n = 0;

	for (int i = 0; i < r->n; i++)
		if (!isnan(log_predicted[i])) {
			sum += fabs(percent_error(r, log_predicted, i));
			n++;
		}
	return sum / n;
}

static double
median(double *list, int n)
{
	if (n == 0)
		return NAN;
	num_sort(list, (size_t)n);
	return num_quantile(list, (size_t)n, 0.5);
}

/* The interval score of a row on the logarithm. */
static double
interval_score(double low, double high, double y)
{
	return high - low + 2 / alpha * fmax(0, low - y) + 2 / alpha * fmax(0, y - high);
}

/* Whether rows of the same stack or fabric stay when this one's set is left out. */
static bool
stays(const struct refit *r, enum leave by, int row)
{
	for (int i = 0; i < r->n; i++)
		if (r->rows[i].unit[by] != r->rows[row].unit[by] && strcmp(r->rows[i].stack, r->rows[row].stack) == 0)
			return true;
	return false;
}

void
refit_interval(
    const struct refit *r, const double *log_predicted, enum leave by, int row, double *log_low, double *log_high)
{
	const struct refit_row *of = &r->rows[row];
	const double move = log_predicted[row] - of->log_predicted;

	*log_low = of->log_low + move;
	*log_high = of->log_high + move;
	if (by == N_LEAVES || !(of->wide > 0) || stays(r, by, row))
		return;
	*log_low = log_predicted[row] - of->wide;
	*log_high = log_predicted[row] + of->wide;
}

struct refit_score
refit_score_of(const struct refit *r, const double *log_predicted, enum leave by)
{
	struct arena *room = arena_new();
	const int n_groups = r->n_units[LEAVE_GROUP];
	double *e = ARENA_ARRAY(room, double, r->n), *signed_e = ARENA_ARRAY(room, double, r->n);
	double *half = ARENA_ARRAY(room, double, r->n);
	int *size = ARENA_ARRAY(room, int, n_groups), *inside = ARENA_ARRAY(room, int, n_groups);
	struct refit_score s = {0};
	int wide = 0, in = 0;

	for (int i = 0; i < r->n; i++) {
		const struct refit_row *row = &r->rows[i];
		if (isnan(log_predicted[i]))
			continue;
		signed_e[s.n] = percent_error(r, log_predicted, i);
		e[s.n] = fabs(signed_e[s.n]);
		s.mean += e[s.n++];
		if (isnan(row->log_low))
			continue;
		double low, high;
		refit_interval(r, log_predicted, by, i, &low, &high);
		const bool holds = row->log_measured >= low && row->log_measured <= high;
		half[wide++] = (high - low) / 2;
		in += holds;
		size[row->unit[LEAVE_GROUP]]++;
		inside[row->unit[LEAVE_GROUP]] += holds;
		s.score += interval_score(low, high, row->log_measured);
	}
	for (int g = 0; g < n_groups; g++)
		if (size[g]) {
			s.n_groups++;
			s.inside_groups += (double)inside[g] / size[g];
		}
	s.mean /= s.n;
	s.median = median(e, s.n);
	s.bias = median(signed_e, s.n);
	s.inside_rows = 100.0 * in / wide;
	s.inside_groups *= 100.0 / s.n_groups;
	s.half_width = 100 * (exp(median(half, wide)) - 1);
	s.score *= 100.0 / wide;
	arena_free(room);
	return s;
}

/* --- components of variance ------------------------------------------------------------------------------ */

/* Residuals of a set around its mean, and the mean. */
struct set {
	int n;
	double sum, squares;
};

static void
put(struct set *s, double x)
{
	s->n++;
	s->sum += x;
	s->squares += x * x;
}

static double
mean_of(const struct set *s)
{
	return s->sum / s->n;
}

static double
around(const struct set *s)
{
	return fmax(0, s->squares - s->sum * s->sum / s->n);
}

/* By moments: what is inside groups; what group means vary by beyond that; what stacks vary by beyond both. */
struct refit_spread
refit_spread_of(const struct refit *r, const double *log_predicted)
{
	struct arena *room = arena_new();
	const int n_groups = r->n_units[LEAVE_GROUP];
	struct set *groups = ARENA_ARRAY(room, struct set, n_groups), *stacks = ARENA_ARRAY(room, struct set, r->n);
	const char **stack_of = ARENA_ARRAY(room, const char *, n_groups),
	           **names = ARENA_ARRAY(room, const char *, r->n);
	struct refit_spread s = {0};
	double within = 0, between = 0, inverse = 0;
	int free_within = 0, free_between = 0, n_stacks = 0;

	for (int i = 0; i < r->n; i++)
		if (!isnan(log_predicted[i])) {
			const double residual = r->rows[i].log_measured - log_predicted[i];
			put(&groups[r->rows[i].unit[LEAVE_GROUP]], fmin(fmax(residual, -0.5), 0.5));
			stack_of[r->rows[i].unit[LEAVE_GROUP]] = r->rows[i].stack;
		}
	for (int g = 0; g < n_groups; g++) {
		if (!groups[g].n)
			continue;
		int k = 0;
		within += around(&groups[g]);
		free_within += groups[g].n - 1;
		inverse += 1.0 / groups[g].n;
		s.n_groups++;
		while (k < n_stacks && strcmp(names[k], stack_of[g]) != 0)
			k++;
		if (k == n_stacks)
			names[n_stacks++] = stack_of[g];
		put(&stacks[k], mean_of(&groups[g]));
	}
	const double v_within = free_within ? within / free_within : 0;
	const double per_group = s.n_groups ? inverse / s.n_groups * v_within : 0;
	struct set means = {0};
	double inverse_stacks = 0;
	for (int k = 0; k < n_stacks; k++) {
		between += around(&stacks[k]);
		free_between += stacks[k].n - 1;
		put(&means, mean_of(&stacks[k]));
		inverse_stacks += 1.0 / stacks[k].n;
	}
	const double v_mean = free_between ? between / free_between : 0;
	s.n_stacks = n_stacks;
	s.within = sqrt(v_within);
	s.group = sqrt(fmax(0, v_mean - per_group));
	s.stack =
	    n_stacks > 1 ? sqrt(fmax(0, around(&means) / (n_stacks - 1) - inverse_stacks / n_stacks * v_mean)) : 0;
	arena_free(room);
	return s;
}
