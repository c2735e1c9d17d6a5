/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The search runs in the unit cube: each parameter's bounds become 0 and 1, on a logarithmic scale where they lie far
 * apart, and the cube is folded at its faces, so that Nelder and Mead's simplex needs no constraint.  All starts are
 * tried on a sample of the rows; the best goes on with all of them, simplex and linear steps in turn, until neither
 * finds anything better.
 */
#include "search/fit/parts.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

enum { SAMPLE_ROWS = 400, STARTS_MAX = 9, RESTARTS_MAX = 4 };

static const double no_answer = 10; /* |ln(predicted / measured)| of a row that a trial has no answer for */

/* --- the unit cube --------------------------------------------------------------------------------------- */

static bool
logarithmic(const struct fit_param *p)
{
	return p->low > 0 && p->high / p->low > 3;
}

double
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

void
fit_place(const struct search *s, const double *z, double *param)
{
	memcpy(param, s->value, (size_t)s->problem->n_params * sizeof *param);
	for (int i = 0; i < s->n_free; i++)
		param[s->free[i]] = from_cube(&s->problem->params[s->free[i]], z[i]);
}

/* --- the objective --------------------------------------------------------------------------------------- */

double
fit_weight(const struct fit_problem *p, int row)
{
	return p->weight ? p->weight[row] : 1;
}

double
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

double
fit_objective(const double *z, const void *context)
{
	const struct search *s = context;
	double param[FIT_PARAMS_MAX];

	fit_place(s, z, param);
	return mean_abs_log(s, param);
}

/* --- the search ------------------------------------------------------------------------------------------ */

/* The simplex grows towards the middle of the cube. */
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

/* --- what the rows do not tell --------------------------------------------------------------------------- */

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
