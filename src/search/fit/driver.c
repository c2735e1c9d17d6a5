/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The search runs in the unit cube: each parameter's bounds become 0 and 1, on a logarithmic scale where they lie far
 * apart, and the cube is folded at its faces, so that Nelder and Mead's simplex needs no constraint.  All starts are
 * tried on a sample of the rows; the best goes on with all of them, simplex and linear steps in turn, until neither
 * finds anything better.
 */
#include "search/fit/fit.h"

#include "base/base.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

struct search {
	const struct fit_problem *problem;
	double value[FIT_PARAMS_MAX]; /* of the fixed parameters */
	int n_free, free[FIT_PARAMS_MAX];
	int n_rows, *rows, stride;
	const double *log_measured; /* by row of the problem */
	int n_evaluations;
};

enum { SAMPLE_ROWS = 400, STARTS_MAX = 9, RESTARTS_MAX = 4 };

static const double no_answer = 10; /* |ln(predicted / measured)| of a row that a trial has no answer for */

/* --- the unit cube --------------------------------------------------------------------------------------- */

static bool
logarithmic(const struct fit_param *p)
{
	return p->low > 0 && p->high / p->low > 3;
}

static double
fit_fold(double z)
{
	const double u = fabs(fmod(z, 2));

	return u > 1 ? 2 - u : u;
}

static double
from_cube(const struct fit_param *p, double z)
{
	const double u = fit_fold(z);

	return logarithmic(p) ? p->low * pow(p->high / p->low, u) : p->low + (p->high - p->low) * u;
}

static double
into_cube(const struct fit_param *p, double value)
{
	const double inside = fmin(p->high, fmax(p->low, value));

	return logarithmic(p) ? log(inside / p->low) / log(p->high / p->low) : (inside - p->low) / (p->high - p->low);
}

static void
fit_place(const struct search *s, const double *z, double *param)
{
	memcpy(param, s->value, (size_t)s->problem->n_params * sizeof *param);
	for (int i = 0; i < s->n_free; i++)
		param[s->free[i]] = from_cube(&s->problem->params[s->free[i]], z[i]);
}

/* --- the objective --------------------------------------------------------------------------------------- */

static double
fit_weight(const struct fit_problem *p, int row)
{
	return p->weight ? p->weight[row] : 1;
}

static double
fit_log_error(const struct search *s, const double *param, int row)
{
	const double t = s->problem->predict(s->problem->context, param, row);

	return t > 0 && t < INFINITY ? log(t) - s->log_measured[row] : NAN;
}

static double
mean_abs_log(const struct search *s, const double *param)
{
	double sum = 0, total = 0;

	for (int i = 0; i < s->n_rows; i += s->stride) {
		const double e = fit_log_error(s, param, s->rows[i]), w = fit_weight(s->problem, s->rows[i]);

		sum += w * (isnan(e) ? no_answer : fabs(e));
		total += w;
	}
	return sum / total;
}

static double
fit_objective(const double *z, const void *context)
{
	const struct search *s = context;
	double param[FIT_PARAMS_MAX];

	fit_place(s, z, param);
	return mean_abs_log(s, param);
}

/* --- linear steps and resamples --------------------------------------------------------------------------------*/

/*
 * Near a point the model is linear in its parameters (derivatives of ln predicted, by differences).  Least absolute
 * deviations of that linear model, by iteratively reweighted least squares, give steps that a simplex would take long
 * to find, and refit a resample of the rows without asking the model again: the bootstrap (Efron, Annals of Statistics
 * 7(1), 1979) at the price of a few evaluations.
 */

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

static double
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
static void
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

/* --- the search ------------------------------------------------------------------------------------------ */

/* The initial simplex extends toward the center of the cube. */
static double
descend(struct search *s, double *z, double step, double size, int n_max)
{
	double steps[FIT_PARAMS_MAX];

	for (int i = 0; i < s->n_free; i++)
		steps[i] = fit_fold(z[i]) > 0.5 ? -step : step;
	const double least =
	    num_minimise(fit_objective, s, (size_t)s->n_free, z, steps, size, n_max, &s->n_evaluations);
	for (int i = 0; i < s->n_free; i++)
		z[i] = fit_fold(z[i]);
	return least;
}

/* From every start on a sample of the rows, then from the best on all of them. */
static double
seek(struct search *s, const double (*starts)[FIT_PARAMS_MAX], int n_starts, double *best)
{
	const int n = s->n_free;
	double least = INFINITY;

	s->stride = (s->n_rows + SAMPLE_ROWS - 1) / SAMPLE_ROWS;
	for (int i = 0; i < n_starts; i++) {
		double z[FIT_PARAMS_MAX];

		memcpy(z, starts[i], sizeof z);
		const double found = fit_polish(s, z, descend(s, z, 0.1, 1e-3, 40 * n));
		if (found < least) {
			least = found;
			memcpy(best, z, sizeof z);
		}
	}
	s->stride = 1;
	least = fit_polish(s, best, fit_objective(best, s));
	for (int i = 0; i < RESTARTS_MAX; i++) {
		const double found = fit_polish(s, best, descend(s, best, i % 2 ? 0.03 : 0.08, 1e-4, 60 * n));
		const bool done = found > least * (1 - 3e-4);

		least = fmin(found, least);
		if (done)
			break;
	}
	return least;
}

static void
choose_free(struct search *s, const bool *fixed)
{
	s->n_free = 0;
	for (int i = 0; i < s->problem->n_params; i++)
		if (!fixed[i])
			s->free[s->n_free++] = i;
}

/* --- parameters that the rows do not determine ----------------------------------------------------------- */

/* The worst that moving one parameter through its bounds does to the objective. */
static double
worst(struct search *s, const double *z, int j)
{
	double trial[FIT_PARAMS_MAX], most = 0;

	for (int i = 0; i <= 4; i++) {
		memcpy(trial, z, sizeof trial);
		trial[j] = i / 4.0;
		most = fmax(most, fit_objective(trial, s));
		s->n_evaluations++;
	}
	return most;
}

/* Where the objective hardly rises, the linear model sees no slope and no interval: it reaches as far as that. */
static void
widen(struct search *s, const double *z, double least, double *low, double *high)
{
	enum { PARTS = 40 };

	for (int j = 0; j < s->n_free; j++)
		for (int side = -1; side <= 1; side += 2) {
			double trial[FIT_PARAMS_MAX];

			memcpy(trial, z, sizeof trial);
			for (int i = 1; i <= PARTS; i++) {
				trial[j] = z[j] + side * (double)i / PARTS;
				if (trial[j] < 0 || trial[j] > 1)
					break;
				s->n_evaluations++;
				if (fit_objective(trial, s) > least * 1.001 + 1e-9)
					break;
				low[j] = fmin(low[j], trial[j]);
				high[j] = fmax(high[j], trial[j]);
			}
		}
}

/* A parameter is open when its interval spans most of its bounds or nothing moves with it, and its start does as well
 * as what was found. */
static bool
is_open(struct search *s, const double *z, int j, double least, const double *low, const double *high)
{
	const bool flat = worst(s, z, j) < least * 1.01 + 1e-9;
	double trial[FIT_PARAMS_MAX];

	if (!flat && !(low && high[j] - low[j] > 0.6))
		return false;
	memcpy(trial, z, sizeof trial);
	trial[j] = into_cube(&s->problem->params[s->free[j]], s->problem->params[s->free[j]].start);
	s->n_evaluations++;
	return flat || fit_objective(trial, s) < least * 1.02 + 1e-9;
}

/* --- all of it ------------------------------------------------------------------------------------------- */

static int
usable_rows(struct arena *a, struct search *s)
{
	const struct fit_problem *p = s->problem;
	double *logs = ARENA_ARRAY(a, double, p->n_rows + 1), param[FIT_PARAMS_MAX];

	for (int i = 0; i < p->n_params; i++)
		param[i] = p->params[i].start;
	s->rows = ARENA_ARRAY(a, int, p->n_rows + 1);
	s->log_measured = logs;
	for (int i = 0; i < p->n_rows; i++) {
		logs[i] = log(p->measured_s[i]);
		if ((!p->keep || p->keep[i]) && fit_weight(p, i) > 0 && isfinite(logs[i]) &&
		    !isnan(fit_log_error(s, param, i)))
			s->rows[s->n_rows++] = i;
	}
	return s->n_rows;
}

/* Starting points in the cube of the free parameters. */
static int
starts_of(const struct search *s, double (*out)[FIT_PARAMS_MAX])
{
	const struct fit_problem *p = s->problem;
	int n = 1;

	for (int j = 0; j < s->n_free; j++)
		out[0][j] = into_cube(&p->params[s->free[j]], p->params[s->free[j]].start);
	for (size_t i = 0; i < sizeof p->start / sizeof *p->start && p->start[i]; i++, n++)
		for (int j = 0; j < s->n_free; j++)
			out[n][j] = into_cube(&p->params[s->free[j]], p->start[i][s->free[j]]);
	return n;
}

/* Search; keep what is open at its start; search again until nothing more is. */
static double
settle(struct search *s, bool *fixed, int n_bootstrap, double *z, double *low, double *high)
{
	double starts[STARTS_MAX][FIT_PARAMS_MAX] = {{0}};
	int n_starts = starts_of(s, starts);

	for (;;) {
		const double least = seek(s, (const double(*)[FIT_PARAMS_MAX])starts, n_starts, z);
		bool any = false;

		if (n_bootstrap) {
			fit_bootstrap(s, z, n_bootstrap, low, high);
			widen(s, z, least, low, high);
		}
		for (int j = 0; j < s->n_free && !any; j++)
			if (is_open(s, z, j, least, n_bootstrap ? low : NULL, high)) {
				const int which = s->free[j];

				fixed[which] = any = true;
				/* go on from here with one less */
				memcpy(starts[0], z, sizeof starts[0]);
				memmove(
				    &starts[0][j], &starts[0][j + 1], (size_t)(s->n_free - j - 1) * sizeof **starts);
				n_starts = 1;
			}
		if (!any || s->n_free == 1)
			return least;
		choose_free(s, fixed);
	}
}

bool
fit_run(const struct fit_problem *problem, int n_bootstrap, struct fit_result *out)
{
	struct arena *const a = arena_new();
	struct search s = {.problem = problem, .stride = 1};
	double z[FIT_PARAMS_MAX] = {0}, low[FIT_PARAMS_MAX] = {0}, high[FIT_PARAMS_MAX] = {0};
	bool fixed[FIT_PARAMS_MAX] = {false};
	bool ok = false;

	memset(out, 0, sizeof *out);
	for (int i = 0; i < problem->n_params; i++) {
		fixed[i] = problem->params[i].fixed;
		s.value[i] = problem->params[i].start;
		out->param[i] = (struct fit_value){s.value[i], NAN, NAN, false};
	}
	choose_free(&s, fixed);
	out->n_fitted = usable_rows(a, &s);
	if (out->n_fitted == 0 || out->n_fitted < s.n_free)
		goto out;
	ok = true;
	if (!s.n_free) {
		out->mean_abs_log = mean_abs_log(&s, s.value);
		goto out;
	}
	out->mean_abs_log = settle(&s, fixed, n_bootstrap, z, low, high);
	for (int j = 0; j < s.n_free; j++) {
		const struct fit_param *p = &problem->params[s.free[j]];

		if (fixed[s.free[j]])
			continue; /* the last one, open as well */
		out->param[s.free[j]] = (struct fit_value){from_cube(p, z[j]), n_bootstrap ? from_cube(p, low[j]) : NAN,
		    n_bootstrap ? from_cube(p, high[j]) : NAN, true};
	}
	out->n_evaluations = s.n_evaluations;
out:
	arena_free(a);
	return ok;
}
