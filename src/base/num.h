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

/* The probability of a standard normal variable above z. */
double num_normal_above(double z);

/* A straight line, y = intercept + slope x, by least squares; all points weigh the same. */
struct num_line {
	double intercept, slope;
	double slope_error; /* standard error; 0 when no point is left over */
	double residual_sd;
	double explained; /* share of the variance, R^2; NaN when y does not vary */
	size_t n_free;    /* points beyond the two parameters */
};

/* False when there are not two different x. */
bool num_line(size_t n, const double *x, const double *y, struct num_line *out);

void num_sort(double *values, size_t n);
/* The value below which a share q of the sorted values lies (0.5: the median), linear between neighbours. */
double num_quantile(const double *sorted, size_t n, double q);

/* What two samples say together; it may reorder them. */
typedef double num_statistic(double *a, size_t n_a, double *b, size_t n_b);
/* A two-sided interval of `level` for a statistic, from n_resamples draws with replacement (Efron, Annals of Statistics
 * 7(1), 1979: the percentile bootstrap).  The same seed gives the same interval. */
void num_bootstrap(num_statistic *f, const double *a, size_t n_a, const double *b, size_t n_b, size_t n_resamples,
    unsigned long seed, double level, double *low, double *high);

/* A root of f between lo and hi, where f has different signs.  False when it has not. */
typedef double num_function(double x, const void *context);
bool num_root(num_function *f, const void *context, double lo, double hi, double *root);
/* The same by halving: slower, and at home with functions that jump. */
bool num_bisect(num_function *f, const void *context, double lo, double hi, double *root);

/* The generalised harmonic number: the sum of k^-s for k = 1 .. n, to rounding; n a whole number, s at least 0. */
double num_harmonic(double n, double s);

/* The standard normal distribution: density at x, and the x below which a share lies. */
double num_normal_density(double x);
double num_normal_quantile(double share);
/* The value below which a share of a gamma or log-normal variable lies, from its mean and its coefficient of variation
 * (standard deviation over mean; above 0). */
double num_gamma_quantile(double share, double mean, double cv);
double num_log_normal_quantile(double share, double mean, double cv);
/* How likely a Poisson variable of this mean is above n. */
double num_poisson_above(double mean, double n);

/* The integral of f from lo to hi, to this relative error; f is smooth between them. */
double num_integral(num_function *f, const void *context, double lo, double hi, double error);

/* The least of f over n variables by the simplex of Nelder and Mead (Computer Journal 7, 1965), which needs no
 * derivatives: from x, with a first simplex of `step`, until the simplex is smaller than `size` or f was asked n_max
 * times.  x becomes the best point; the value there is returned. */
typedef double num_objective(const double *x, const void *context);
double num_minimise(num_objective *f, const void *context, size_t n, double *x, const double *step, double size,
    int n_max, int *n_done);

/* Solve the symmetric positive definite system a x = b; a (n x n, row by row) is overwritten.  False when a is not
 * positive definite. */
bool num_solve(size_t n, double *a, const double *b, double *x);

#endif
