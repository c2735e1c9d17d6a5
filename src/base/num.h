/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numerics: fits, quantiles and roots.  num.c is the only file that knows GSL.  Everything is deterministic. */
#ifndef RIDGE_NUM_H
#define RIDGE_NUM_H

#include <stdbool.h>
#include <stddef.h>

enum { NUM_PARAMS_MAX = 4 };

/* Points (x, y) and the curve to lay through them.  `value` returns the curve at x and fills the derivatives by each
 * parameter. */
struct num_curve {
	size_t n_points, n_params;
	const double *x, *y;
	const double *weight; /* of the squared residual of each point */
	double (*value)(double x, const double *param, double *gradient);
};

struct num_fit {
	double param[NUM_PARAMS_MAX];
	double covariance[NUM_PARAMS_MAX][NUM_PARAMS_MAX]; /* of the parameters; zero when no point is left over */
	double residual_sd;                                /* weighted; 0 when no point is left over */
	size_t n_free;                                     /* points beyond the number of parameters */
};

/* Nonlinear least squares (Levenberg-Marquardt) from `start`.  False when it does not converge or the points do not
 * determine the parameters. */
bool num_fit(const struct num_curve *c, const double *start, struct num_fit *out);

/* Linear least squares of y on `n_params` columns (row by row in `design`), weighted. */
bool num_linear(
    size_t n_points, size_t n_params, const double *design, const double *y, const double *weight, double *param);

/* Half-width of a two-sided interval of `level` (0.95) in standard errors, by Student's t with n_free degrees of
 * freedom. */
double num_student(double level, double n_free);

/* A root of f between lo and hi, where f has different signs.  False when it has not. */
typedef double num_function(double x, const void *context);
bool num_root(num_function *f, const void *context, double lo, double hi, double *root);
/* The same by halving: slower, and at home with functions that jump. */
bool num_bisect(num_function *f, const void *context, double lo, double hi, double *root);

#endif
