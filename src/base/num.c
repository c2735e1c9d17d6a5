/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numerics: least squares, quantiles, distributions, roots, minimization.  The only file that includes GSL. */
#include "base/base.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_fit.h>
#include <gsl/gsl_integration.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_multifit.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <gsl/gsl_multimin.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_roots.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>

#include <assert.h>
#include <math.h>
#include <string.h>

enum { STEPS_MAX = 200 };

/* --- nonlinear least squares ----------------------------------------------------------------------------- */

static int
curve_residuals(const gsl_vector *param, void *data, gsl_vector *out)
{
	const struct num_curve *c = data;
	double gradient[NUM_PARAMS_MAX];

	for (size_t i = 0; i < c->n_points; i++)
		gsl_vector_set(out, i, c->value(c->x[i], param->data, gradient) - c->y[i]);
	return GSL_SUCCESS;
}

static int
curve_jacobian(const gsl_vector *param, void *data, gsl_matrix *out)
{
	const struct num_curve *c = data;
	double gradient[NUM_PARAMS_MAX];

	for (size_t i = 0; i < c->n_points; i++) {
		c->value(c->x[i], param->data, gradient);
		for (size_t j = 0; j < c->n_params; j++)
			gsl_matrix_set(out, i, j, gradient[j]);
	}
	return GSL_SUCCESS;
}

/* Read the answer off the solver.  A singular Jacobian means that the points leave a parameter open. */
static bool
fit_read(const struct num_curve *c, gsl_multifit_nlinear_workspace *work, gsl_matrix *covariance, struct num_fit *out)
{
	const gsl_vector *param = gsl_multifit_nlinear_position(work);
	const gsl_vector *residual = gsl_multifit_nlinear_residual(work);
	double chi2 = 0;

	if (gsl_multifit_nlinear_covar(gsl_multifit_nlinear_jac(work), 0, covariance) != GSL_SUCCESS)
		return false;
	gsl_blas_ddot(residual, residual, &chi2);
	out->n_free = c->n_points - c->n_params;
	const double variance = out->n_free ? chi2 / (double)out->n_free : 0;
	out->residual_sd = sqrt(variance);
	for (size_t i = 0; i < c->n_params; i++) {
		out->param[i] = gsl_vector_get(param, i);
		for (size_t j = 0; j < c->n_params; j++)
			out->covariance[i][j] = variance * gsl_matrix_get(covariance, i, j);
		if (!isfinite(out->param[i]) || !isfinite(out->covariance[i][i]))
			return false;
	}
	return true;
}

bool
num_fit(const struct num_curve *c, const double *start, struct num_fit *out)
{
	*out = (struct num_fit){.n_free = 0};
	assert(c->n_params <= NUM_PARAMS_MAX);
	if (c->n_points < c->n_params)
		return false;

	gsl_error_handler_t *const handler = gsl_set_error_handler_off();
	gsl_multifit_nlinear_parameters how = gsl_multifit_nlinear_default_parameters();
	how.scale = gsl_multifit_nlinear_scale_marquardt;
	struct num_curve curve = *c;
	gsl_multifit_nlinear_fdf fdf = {
	    .f = curve_residuals, .df = curve_jacobian, .n = c->n_points, .p = c->n_params, .params = &curve};
	gsl_multifit_nlinear_workspace *const work =
	    gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &how, c->n_points, c->n_params);
	gsl_matrix *const covariance = gsl_matrix_alloc(c->n_params, c->n_params);
	const gsl_vector_const_view from = gsl_vector_const_view_array(start, c->n_params);
	const gsl_vector_const_view weight = gsl_vector_const_view_array(c->weight, c->n_points);
	bool ok = false;
	int why = 0;

	if (!work || !covariance)
		goto out;
	if (gsl_multifit_nlinear_winit(&from.vector, &weight.vector, &fdf, work) != GSL_SUCCESS)
		goto out;
	/* a start that is already the answer makes no progress: that is no failure, whatever the driver calls it */
	const int status = gsl_multifit_nlinear_driver(STEPS_MAX, 1e-12, 1e-14, 0, NULL, NULL, &why, work);
	ok = (status == GSL_SUCCESS || status == GSL_ENOPROG || why == GSL_ENOPROG) &&
	    fit_read(c, work, covariance, out);
out:
	gsl_matrix_free(covariance);
	if (work)
		gsl_multifit_nlinear_free(work);
	gsl_set_error_handler(handler);
	return ok;
}

/* --- linear least squares -------------------------------------------------------------------------------- */

bool
num_linear(size_t n_points, size_t n_params, const double *design, const double *y, const double *weight, double *param)
{
	if (n_points < n_params)
		return false;
	gsl_error_handler_t *const handler = gsl_set_error_handler_off();
	gsl_multifit_linear_workspace *const work = gsl_multifit_linear_alloc(n_points, n_params);
	gsl_matrix *const covariance = gsl_matrix_alloc(n_params, n_params);
	const gsl_matrix_const_view x = gsl_matrix_const_view_array(design, n_points, n_params);
	const gsl_vector_const_view w = gsl_vector_const_view_array(weight, n_points);
	const gsl_vector_const_view right = gsl_vector_const_view_array(y, n_points);
	gsl_vector_view left = gsl_vector_view_array(param, n_params);
	double chi2;
	size_t rank = 0;
	bool ok = false;

	if (!work || !covariance)
		goto out;
	ok = gsl_multifit_wlinear_tsvd(&x.matrix, &w.vector, &right.vector, 1e-12, &left.vector, covariance, &chi2,
	         &rank, work) == GSL_SUCCESS &&
	    rank == n_params;
out:
	gsl_matrix_free(covariance);
	if (work)
		gsl_multifit_linear_free(work);
	gsl_set_error_handler(handler);
	return ok;
}

double
num_student(double level, double n_free)
{
	return gsl_cdf_tdist_Pinv(0.5 + level / 2, n_free);
}

double
num_normal_above(double z)
{
	return gsl_cdf_ugaussian_Q(z);
}

/* --- lines and samples ----------------------------------------------------------------------------------- */

bool
num_line(size_t n, const double *x, const double *y, struct num_line *out)
{
	double c00, c01, c11, residual;
	bool varies = false;

	*out = (struct num_line){.explained = NAN};
	for (size_t i = 1; i < n; i++)
		varies = varies || x[i] != x[0];
	if (!varies)
		return false;
	gsl_fit_linear(x, 1, y, 1, n, &out->intercept, &out->slope, &c00, &c01, &c11, &residual);
	const double total = gsl_stats_tss(y, 1, n);
	out->n_free = n - 2;
	if (out->n_free) { /* c11 divides by the points that are left over */
		out->residual_sd = sqrt(residual / (double)out->n_free);
		out->slope_error = sqrt(c11);
	}
	if (total > 0)
		out->explained = 1 - residual / total;
	return isfinite(out->slope) && isfinite(out->intercept);
}

void
num_sort(double *values, size_t n)
{
	gsl_sort(values, 1, n);
}

double
num_quantile(const double *sorted, size_t n, double q)
{
	return gsl_stats_quantile_from_sorted_data(sorted, 1, n, q);
}

void
num_bootstrap(num_statistic *f, const double *a, size_t n_a, const double *b, size_t n_b, size_t n_resamples,
    unsigned long seed, double level, double *low, double *high)
{
	gsl_rng *const dice = gsl_rng_alloc(gsl_rng_mt19937);
	struct arena *const arena = arena_new();
	double *const all = ARENA_ARRAY(arena, double, n_resamples);
	double *const one = ARENA_ARRAY(arena, double, n_a), *const other = ARENA_ARRAY(arena, double, n_b);

	*low = *high = NAN;
	if (!dice)
		goto out;
	gsl_rng_set(dice, seed);
	/* GSL takes the source as writable and does not write to it: give it copies */
	double *const from_a = memcpy(ARENA_ARRAY(arena, double, n_a), a, n_a * sizeof *a);
	double *const from_b = memcpy(ARENA_ARRAY(arena, double, n_b), b, n_b * sizeof *b);
	for (size_t i = 0; i < n_resamples; i++) {
		gsl_ran_sample(dice, one, n_a, from_a, n_a, sizeof *a);
		gsl_ran_sample(dice, other, n_b, from_b, n_b, sizeof *b);
		all[i] = f(one, n_a, other, n_b);
	}
	gsl_sort(all, 1, n_resamples);
	*low = gsl_stats_quantile_from_sorted_data(all, 1, n_resamples, 0.5 - level / 2);
	*high = gsl_stats_quantile_from_sorted_data(all, 1, n_resamples, 0.5 + level / 2);
out:
	arena_free(arena);
	if (dice)
		gsl_rng_free(dice);
}

/* --- roots ----------------------------------------------------------------------------------------------- */

struct bridge {
	num_function *f;
	const void *context;
};

static double
bridge_call(double x, void *data)
{
	const struct bridge *b = data;

	return b->f(x, b->context);
}

static bool
root_between(const gsl_root_fsolver_type *how, struct bridge bridge, double lo, double hi, double *root)
{
	gsl_error_handler_t *const handler = gsl_set_error_handler_off();
	gsl_root_fsolver *const solver = gsl_root_fsolver_alloc(how);
	gsl_function f = {bridge_call, &bridge};
	const double near_zero = 1e-15 * fmax(fabs(lo), fabs(hi)); /* where relative error means nothing */
	bool ok = false;

	if (!solver || gsl_root_fsolver_set(solver, &f, lo, hi) != GSL_SUCCESS)
		goto out;
	for (int i = 0; i < STEPS_MAX && !ok; i++) {
		if (gsl_root_fsolver_iterate(solver) != GSL_SUCCESS)
			goto out;
		lo = gsl_root_fsolver_x_lower(solver);
		hi = gsl_root_fsolver_x_upper(solver);
		ok = gsl_root_test_interval(lo, hi, near_zero, 1e-14) == GSL_SUCCESS;
	}
	*root = gsl_root_fsolver_root(solver);
out:
	if (solver)
		gsl_root_fsolver_free(solver);
	gsl_set_error_handler(handler);
	return ok;
}

bool
num_root(num_function *f, const void *context, double lo, double hi, double *root)
{
	return root_between(gsl_root_fsolver_brent, (struct bridge){f, context}, lo, hi, root);
}

bool
num_bisect(num_function *f, const void *context, double lo, double hi, double *root)
{
	return root_between(gsl_root_fsolver_bisection, (struct bridge){f, context}, lo, hi, root);
}

/* --- sums of powers -------------------------------------------------------------------------------------- */

enum { HEAD = 20 }; /* terms that are added one by one */

static double
add_powers(double n, double s)
{
	double sum = 0;

	for (double k = n; k >= 1; k--)
		sum += pow(k, -s);
	return sum;
}

/* The sum of k^-s from HEAD to n: Euler (1736) and Maclaurin (1742); the first term left out is below rounding. */
static double
euler_maclaurin(double n, double s)
{
	/* Bernoulli numbers B2, B4 ... over (2j)! */
	static const double weights[] = {1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160,
	    -691.0 / 1307674368000, 1.0 / 74724249600};
	const double m = HEAD, length = log(n / m), rest = 1 - s;
	double sum = rest == 0 ? length : pow(m, rest) * expm1(rest * length) / rest;
	double rising = s; /* s (s+1) ... (s+2j-2) */

	sum += (pow(m, -s) + pow(n, -s)) / 2;
	for (size_t j = 0; j < sizeof weights / sizeof *weights; j++) {
		const double power = s + 1 + 2 * (double)j;
		sum += weights[j] * rising * (pow(m, -power) - pow(n, -power));
		rising *= power * (power + 1);
	}
	return sum;
}

/* GSL's zeta functions are the infinite sums, s > 1; this holds for every s and loses no digits near 1. */
double
num_harmonic(double n, double s)
{
	return n <= HEAD ? add_powers(n, s) : add_powers(HEAD - 1, s) + euler_maclaurin(n, s);
}

/* --- distributions and integrals ------------------------------------------------------------------------- */

double
num_normal_density(double x)
{
	return gsl_ran_ugaussian_pdf(x);
}

double
num_normal_quantile(double share)
{
	return gsl_cdf_ugaussian_Pinv(share);
}

double
num_gamma_quantile(double share, double mean, double cv)
{
	gsl_error_handler_t *const handler = gsl_set_error_handler_off();
	const double shape = 1 / (cv * cv), scale = mean * cv * cv, x = gsl_cdf_gamma_Pinv(share, shape, scale);

	gsl_set_error_handler(handler);
	/* GSL's iteration gives up far below the scale, where the first term of the series, (x / scale)^shape /
	 * Gamma(shape + 1), is exact to 1e-9 */
	return isnan(x) ? scale * pow(share * tgamma(shape + 1), 1 / shape) : x;
}

double
num_log_normal_quantile(double share, double mean, double cv)
{
	const double variance = log1p(cv * cv);

	return gsl_cdf_lognormal_Pinv(share, log(mean) - variance / 2, sqrt(variance));
}

/* A Poisson variable is above n when a gamma variable of shape n + 1 is below the mean: GSL's own function takes n as
 * an unsigned int.  The gamma function does not converge far from a large shape; there the cube root of the variable is
 * normal (Wilson and Hilferty 1931), from this shape on to 1e-6 of the probability, and to 1e-4 of one of 1e-9. */
double
num_poisson_above(double mean, double n)
{
	const double shape = n + 1, large = 1e5;

	if (shape < large && mean < large)
		return gsl_cdf_gamma_P(mean, shape, 1);
	return gsl_cdf_ugaussian_P(3 * sqrt(shape) * (cbrt(mean / shape) - 1 + 1 / (9 * shape)));
}

double
num_integral(num_function *f, const void *context, double lo, double hi, double error)
{
	enum { INTERVALS = 100 };
	gsl_error_handler_t *const handler = gsl_set_error_handler_off();
	gsl_integration_workspace *const work = gsl_integration_workspace_alloc(INTERVALS);
	struct bridge bridge = {f, context};
	const gsl_function integrand = {bridge_call, &bridge};
	double value = NAN, estimate;

	/* an error estimate that rounding keeps above the bound is no failure: the value is the best there is */
	if (work)
		gsl_integration_qag(
		    &integrand, lo, hi, 0, error, INTERVALS, GSL_INTEG_GAUSS21, work, &value, &estimate);
	if (work)
		gsl_integration_workspace_free(work);
	gsl_set_error_handler(handler);
	return value;
}

/* --- least values ---------------------------------------------------------------------------------------- */

struct objective {
	num_objective *f;
	const void *context;
	int n_done;
};

static double
objective_call(const gsl_vector *x, void *data)
{
	struct objective *o = data;

	o->n_done++;
	return o->f(x->data, o->context);
}

double
num_minimise(
    num_objective *f, const void *context, size_t n, double *x, const double *step, double size, int n_max, int *n_done)
{
	gsl_error_handler_t *const handler = gsl_set_error_handler_off();
	gsl_multimin_fminimizer *const simplex = gsl_multimin_fminimizer_alloc(gsl_multimin_fminimizer_nmsimplex2, n);
	const gsl_vector_const_view from = gsl_vector_const_view_array(x, n);
	const gsl_vector_const_view steps = gsl_vector_const_view_array(step, n);
	struct objective o = {f, context, 0};
	gsl_multimin_function function = {objective_call, n, &o};
	double least = NAN;

	if (!simplex || gsl_multimin_fminimizer_set(simplex, &function, &from.vector, &steps.vector) != GSL_SUCCESS)
		goto out;
	while (o.n_done < n_max && gsl_multimin_fminimizer_iterate(simplex) == GSL_SUCCESS)
		if (gsl_multimin_fminimizer_size(simplex) < size)
			break;
	least = gsl_multimin_fminimizer_minimum(simplex);
	memcpy(x, gsl_multimin_fminimizer_x(simplex)->data, n * sizeof *x);
out:
	if (simplex)
		gsl_multimin_fminimizer_free(simplex);
	gsl_set_error_handler(handler);
	*n_done += o.n_done;
	return least;
}

bool
num_solve(size_t n, double *a, const double *b, double *x)
{
	gsl_error_handler_t *const handler = gsl_set_error_handler_off();
	gsl_matrix_view matrix = gsl_matrix_view_array(a, n, n);
	const gsl_vector_const_view right = gsl_vector_const_view_array(b, n);
	gsl_vector_view left = gsl_vector_view_array(x, n);
	const bool ok = gsl_linalg_cholesky_decomp1(&matrix.matrix) == GSL_SUCCESS &&
	    gsl_linalg_cholesky_solve(&matrix.matrix, &right.vector, &left.vector) == GSL_SUCCESS;

	gsl_set_error_handler(handler);
	return ok;
}
