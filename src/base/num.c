/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/num.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <gsl/gsl_roots.h>

#include <assert.h>
#include <math.h>

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
