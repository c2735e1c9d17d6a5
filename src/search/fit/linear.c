/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Near a point the model is linear in its parameters (derivatives of ln predicted, by differences).  Least absolute
 * deviations of that linear model, by iteratively reweighted least squares, give steps that a simplex would take long
 * to find, and refit a resample of the rows without asking the model again: the bootstrap (Efron, Annals of Statistics
 * 7(1), 1979) at the price of a few evaluations.
 */
#include "search/fit/parts.h"

#include "base/base.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { ROUNDS = 12, POLISH_MAX = 8 };

/* A small generator with a fixed seed: splitmix64 (Steele, Lea, Flood, OOPSLA 2014). */
static uint64_t
draw(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15U;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
	return x ^ (x >> 31);
}

struct linear {
	int n, n_free;
	double *slope; /* n x n_free: d ln predicted / d z */
	double *error; /* ln(predicted / measured) at the optimum */
	double *weight;
	int *group, n_groups;
};

/* Groups numbered from 0 in the order of their appearance. */
static void
number_groups(struct arena *a, const struct search *s, struct linear *l)
{
	int *names = ARENA_ARRAY(a, int, s->n_rows + 1);

	l->group = ARENA_ARRAY(a, int, s->n_rows + 1);
	l->n_groups = 0;
	for (int i = 0; i < l->n; i++) {
		int g = 0;

		if (!s->problem->group) {
			l->group[i] = l->n_groups++;
			continue;
		}
		while (g < l->n_groups && names[g] != s->problem->group[s->rows[i * s->stride]])
			g++;
		if (g == l->n_groups)
			names[l->n_groups++] = s->problem->group[s->rows[i * s->stride]];
		l->group[i] = g;
	}
}

static struct linear
linearise(struct arena *a, struct search *s, const double *z)
{
	enum { STEP_PARTS = 200 };
	struct linear l = {.n = (s->n_rows + s->stride - 1) / s->stride, .n_free = s->n_free};
	double param[FIT_PARAMS_MAX], trial[FIT_PARAMS_MAX];
	const size_t n_free = (size_t)s->n_free;

	l.slope = ARENA_ARRAY(a, double, (size_t)s->n_rows *n_free + 1);
	l.error = ARENA_ARRAY(a, double, s->n_rows + 1);
	l.weight = ARENA_ARRAY(a, double, s->n_rows + 1);
	number_groups(a, s, &l);
	fit_place(s, z, param);
	for (int i = 0; i < l.n; i++) {
		const int row = s->rows[i * s->stride];
		const double e = fit_log_error(s, param, row);

		l.error[i] = isnan(e) ? 0 : e;
		l.weight[i] = isnan(e) ? 0 : fit_weight(s->problem, row);
	}
	for (size_t j = 0; j < n_free; j++) {
		const double step = (z[j] > 0.5 ? -1.0 : 1.0) / STEP_PARTS;

		memcpy(trial, z, sizeof trial);
		trial[j] += step;
		fit_place(s, trial, param);
		for (int i = 0; i < l.n; i++) {
			const double e = fit_log_error(s, param, s->rows[i * s->stride]);

			l.slope[(size_t)i * n_free + j] = isnan(e) ? 0 : (e - l.error[i]) / step;
		}
		s->n_evaluations++;
	}
	s->n_evaluations++;
	return l;
}

/* The step from the optimum that a resample asks for.  Small errors count as errors of a thousandth; a little is added
 * to the diagonal, so that what the rows do not tell moves as far as the cube is wide and no further. */
static bool
refit(const struct linear *l, const int *times, double *step)
{
	const size_t n = (size_t)l->n_free;
	double matrix[FIT_PARAMS_MAX * FIT_PARAMS_MAX], right[FIT_PARAMS_MAX];

	memset(step, 0, n * sizeof *step);
	for (int round = 0; round < ROUNDS; round++) {
		memset(matrix, 0, sizeof matrix);
		memset(right, 0, sizeof right);
		double total = 0;
		for (int i = 0; i < l->n; i++) {
			const double *slope = &l->slope[(size_t)i * n];
			double e = l->error[i];

			if (!times[l->group[i]])
				continue;
			for (size_t j = 0; j < n; j++)
				e += slope[j] * step[j];
			const double w = l->weight[i] * times[l->group[i]] / fmax(fabs(e), 1e-3);
			total += w;
			for (size_t j = 0; j < n; j++) {
				right[j] -= w * slope[j] * l->error[i];
				for (size_t k = 0; k <= j; k++)
					matrix[j * n + k] += w * slope[j] * slope[k];
			}
		}
		for (size_t j = 0; j < n; j++) {
			matrix[j * n + j] += 1e-7 * total;
			for (size_t k = 0; k < j; k++)
				matrix[k * n + j] = matrix[j * n + k];
		}
		if (!num_solve(n, matrix, right, step))
			return false;
	}
	return true;
}

static const double halvings[] = {1, 0.5, 0.25, 0.1};

double
fit_polish(struct search *s, double *z, double least)
{
	struct arena *const a = arena_new();

	for (int round = 0; round < POLISH_MAX; round++) {
		const struct linear l = linearise(a, s, z);
		double step[FIT_PARAMS_MAX], trial[FIT_PARAMS_MAX], found = INFINITY;
		int *times = ARENA_ARRAY(a, int, l.n_groups + 1);

		for (int g = 0; g < l.n_groups; g++)
			times[g] = 1;
		if (!refit(&l, times, step))
			break;
		for (size_t i = 0; i < sizeof halvings / sizeof *halvings && !(found < least); i++) {
			for (int j = 0; j < s->n_free; j++)
				trial[j] = fmin(1, fmax(0, z[j] + halvings[i] * step[j]));
			found = fit_objective(trial, s);
			s->n_evaluations++;
		}
		if (!(found < least))
			break;
		const bool small = found > least * (1 - 1e-4);
		least = found;
		memcpy(z, trial, (size_t)s->n_free * sizeof *z);
		if (small)
			break;
	}
	arena_free(a);
	return least;
}

/* The optimum found need not be that of the linear model: resamples are compared with the refit of all rows. */
void
fit_bootstrap(struct search *s, const double *z, int n_draws, double *low, double *high)
{
	struct arena *const a = arena_new();
	const struct linear l = linearise(a, s, z);
	double *values = ARENA_ARRAY(a, double, (size_t)n_draws *(size_t)s->n_free + 1);
	double step[FIT_PARAMS_MAX], whole[FIT_PARAMS_MAX] = {0};
	int *times = ARENA_ARRAY(a, int, l.n_groups + 1), n = 0;
	uint64_t state = 1;

	for (int g = 0; g < l.n_groups; g++)
		times[g] = 1;
	if (!refit(&l, times, whole))
		n_draws = 0;

	for (int d = 0; d < n_draws; d++) {
		memset(times, 0, (size_t)l.n_groups * sizeof *times);
		for (int g = 0; g < l.n_groups; g++)
			times[draw(&state) % (uint64_t)l.n_groups]++;
		if (!refit(&l, times, step))
			continue;
		for (int j = 0; j < s->n_free; j++)
			values[j * n_draws + n] = fmin(1, fmax(0, z[j] + step[j] - whole[j]));
		n++;
	}
	for (int j = 0; j < s->n_free; j++) {
		low[j] = 0;
		high[j] = 1;
		if (n < 2)
			continue;
		num_sort(&values[j * n_draws], (size_t)n);
		low[j] = fmin(z[j], num_quantile(&values[j * n_draws], (size_t)n, 0.1));
		high[j] = fmax(z[j], num_quantile(&values[j * n_draws], (size_t)n, 0.9));
	}
	arena_free(a);
}
