/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Throughput is measured with a relative error, so relative residuals are minimised.  n / rate is linear in 1/single,
 * contention/single and coherency/single (Gunther, Guerrilla Capacity Planning, 2007, section 5.5): a linear fit of
 * that gives the start, Levenberg-Marquardt the answer.  Intervals are the usual ones of least squares: covariance s^2
 * (J'J)^-1, Student's t with the points that are left over.
 */
#include "search/stats/stats.h"

#include "base/base.h"

#include <assert.h>

enum { POINTS_MAX = 256, SINGLE = 0, CONTENTION = 1, COHERENCY = 2 };

static double
law(double n, const double *p, double coherency, double *gradient)
{
	const double others = n - 1, pairs = n * (n - 1);
	const double slowdown = 1 + p[CONTENTION] * others + coherency * pairs;
	const double rate = p[SINGLE] * n / slowdown;

	gradient[SINGLE] = n / slowdown;
	gradient[CONTENTION] = -rate * others / slowdown;
	return rate;
}

static double
amdahl(double n, const double *p, double *gradient)
{
	return law(n, p, 0, gradient);
}

static double
usl(double n, const double *p, double *gradient)
{
	const double rate = law(n, p, p[COHERENCY], gradient);

	gradient[COHERENCY] = -rate * rate * (n - 1) / p[SINGLE];
	return rate;
}

static bool
start_values(const struct fit_point *points, size_t n, size_t n_params, double *start)
{
	double design[POINTS_MAX * 3], y[POINTS_MAX], weight[POINTS_MAX];

	for (size_t i = 0; i < n; i++) {
		const double ranks = points[i].n_ranks;
		const double row[3] = {1, ranks - 1, ranks * (ranks - 1)};

		for (size_t j = 0; j < n_params; j++)
			design[i * n_params + j] = row[j];
		y[i] = ranks / points[i].rate;
		weight[i] = 1 / (y[i] * y[i]);
	}
	if (!num_linear(n, n_params, design, y, weight, start) || !(start[SINGLE] > 0))
		return false;
	start[SINGLE] = 1 / start[SINGLE];
	for (size_t j = 1; j < n_params; j++)
		start[j] *= start[SINGLE];
	return true;
}

/* Rates are fitted in units of the first one, so that jobs per second and bytes per day converge alike. */
static struct fit
fit(const struct fit_point *points, size_t n, size_t n_params)
{
	double x[POINTS_MAX], y[POINTS_MAX], weight[POINTS_MAX], start[NUM_PARAMS_MAX];
	struct fit_point scaled[POINTS_MAX];
	struct fit out = {.n_params = n_params};
	struct num_fit found;

	assert(n <= POINTS_MAX);
	if (n < n_params)
		return out;
	const double unit[3] = {points[0].rate, 1, 1};
	for (size_t i = 0; i < n; i++) {
		scaled[i] = (struct fit_point){points[i].n_ranks, points[i].rate / unit[SINGLE]};
		x[i] = scaled[i].n_ranks;
		y[i] = scaled[i].rate;
		weight[i] = 1 / (y[i] * y[i]);
	}
	const struct num_curve curve = {n, n_params, x, y, weight, n_params == 3 ? usl : amdahl};
	if (!start_values(scaled, n, n_params, start) || !num_fit(&curve, start, &found))
		return out;
	out.given = true;
	out.n_free = found.n_free;
	out.single = found.param[SINGLE] * unit[SINGLE];
	out.contention = found.param[CONTENTION];
	out.coherency = n_params == 3 ? found.param[COHERENCY] : 0;
	for (size_t i = 0; i < n_params; i++)
		for (size_t j = 0; j < n_params; j++)
			out.covariance[i][j] = found.covariance[i][j] * unit[i] * unit[j];
	out.scatter_frac = found.residual_sd;
	return out;
}

struct fit
fit_amdahl(const struct fit_point *points, size_t n)
{
	return fit(points, n, 2);
}

struct fit
fit_usl(const struct fit_point *points, size_t n)
{
	return fit(points, n, 3);
}

static struct scale_estimate
estimate(const struct fit *f, double value, double variance)
{
	struct scale_estimate e = {value, sqrt(fmax(0, variance)), 0, 0};

	if (f->n_free) {
		e.t_80 = num_student(0.80, (double)f->n_free);
		e.t_95 = num_student(0.95, (double)f->n_free);
	}
	return e;
}

struct scale_estimate
fit_contention(const struct fit *f)
{
	return estimate(f, f->contention, f->covariance[CONTENTION][CONTENTION]);
}

struct scale_estimate
fit_coherency(const struct fit *f)
{
	return estimate(f, f->coherency, f->covariance[COHERENCY][COHERENCY]);
}

struct scale_estimate
fit_rate(const struct fit *f, double n_ranks)
{
	const double p[3] = {f->single, f->contention, f->coherency};
	double gradient[3] = {0, 0, 0}, variance = 0;
	const double rate = usl(n_ranks, p, gradient);

	assert(f->n_params <= 3);
	for (size_t i = 0; i < f->n_params; i++)
		for (size_t j = 0; j < f->n_params; j++)
			variance += gradient[i] * f->covariance[i][j] * gradient[j];
	return estimate(f, rate, variance + rate * rate * f->scatter_frac * f->scatter_frac);
}

struct fit
fit_choose(const struct fit *amdahl_fit, const struct fit *usl_fit)
{
	const struct scale_estimate k = fit_coherency(usl_fit);
	const bool pays = usl_fit->given && usl_fit->n_free && k.value - k.t_80 * k.error > 0;
	struct fit chosen = pays ? *usl_fit : *amdahl_fit;

	chosen.contention = fmax(0, chosen.contention);
	chosen.coherency = fmax(0, chosen.coherency);
	return chosen;
}
