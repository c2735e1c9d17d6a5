/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/base.h"

#include <check.h>
#include <math.h>

static double
parabola(double x, const void *context)
{
	return x * x - *(const double *)context;
}

static double
jump(double x, const void *context)
{
	return x < *(const double *)context ? -1 : 1;
}

static double
line(double x, const void *context)
{
	(void)context;
	return x;
}

START_TEST(roots)
{
	const double two = 2, three = 3;
	double x;

	ck_assert(num_root(parabola, &two, 0, 2, &x));
	ck_assert_double_eq_tol(x, sqrt(2), 1e-13);
	ck_assert(num_bisect(parabola, &two, 0, 2, &x));
	ck_assert_double_eq_tol(x, sqrt(2), 1e-13);
	ck_assert(num_bisect(jump, &three, 0, 10, &x));
	ck_assert_double_eq_tol(x, 3, 1e-12);
	ck_assert(num_root(line, NULL, -1, 2, &x));
	ck_assert_double_eq_tol(x, 0, 1e-14);
	ck_assert(!num_root(parabola, &two, 2, 3, &x));
	ck_assert(!num_bisect(parabola, &two, 2, 3, &x));
}
END_TEST

/* Student's t, two-sided: the usual tables. */
START_TEST(quantiles)
{
	ck_assert_double_eq_tol(num_student(0.80, 1), 3.0777, 1e-4);
	ck_assert_double_eq_tol(num_student(0.95, 4), 2.7764, 1e-4);
	ck_assert_double_eq_tol(num_student(0.80, 10), 1.3722, 1e-4);
	ck_assert_double_eq_tol(num_student(0.95, 1e6), 1.96, 1e-3);
}
END_TEST

START_TEST(linear)
{
	const double design[] = {1, 0, 1, 1, 1, 2, 1, 3}, y[] = {1, 3, 5, 7}, weight[] = {1, 2, 3, 4};
	const double twice[] = {1, 2, 1, 2, 1, 2, 1, 2};
	double p[2];

	ck_assert(num_linear(4, 2, design, y, weight, p));
	ck_assert_double_eq_tol(p[0], 1, 1e-12);
	ck_assert_double_eq_tol(p[1], 2, 1e-12);
	/* columns that are multiples of each other determine nothing */
	ck_assert(!num_linear(4, 2, twice, y, weight, p));
	ck_assert(!num_linear(1, 2, design, y, weight, p));
}
END_TEST

static double
decay(double x, const double *p, double *gradient)
{
	const double e = exp(-p[1] * x);

	gradient[0] = e;
	gradient[1] = -p[0] * x * e;
	return p[0] * e;
}

START_TEST(nonlinear)
{
	const double x[] = {0, 1, 2, 3, 4}, weight[] = {1, 1, 1, 1, 1}, start[] = {1, 1};
	double y[5];
	struct num_fit f;

	for (int i = 0; i < 5; i++)
		y[i] = 3 * exp(-0.5 * x[i]);
	const struct num_curve c = {5, 2, x, y, weight, decay};
	ck_assert(num_fit(&c, start, &f));
	ck_assert_double_eq_tol(f.param[0], 3, 1e-9);
	ck_assert_double_eq_tol(f.param[1], 0.5, 1e-9);
	ck_assert_uint_eq(f.n_free, 3);
	const struct num_curve few = {1, 2, x, y, weight, decay};
	ck_assert(!num_fit(&few, start, &f));
}
END_TEST

/* A straight line through noise: s^2 (X'X)^-1 by hand.  x = -1, 0, 1 and residuals 1, -2, 1 give s^2 = 6 with one
 * degree of freedom, variances 6/3 and 6/2. */
static double
straight(double x, const double *p, double *gradient)
{
	gradient[0] = 1;
	gradient[1] = x;
	return p[0] + p[1] * x;
}

START_TEST(covariance)
{
	const double x[] = {-1, 0, 1}, y[] = {11, 8, 11}, weight[] = {1, 1, 1}, start[] = {0, 1};
	const struct num_curve c = {3, 2, x, y, weight, straight};
	struct num_fit f;

	ck_assert(num_fit(&c, start, &f));
	ck_assert_double_eq_tol(f.param[0], 10, 1e-9);
	ck_assert_double_eq_tol(f.param[1], 0, 1e-9);
	ck_assert_double_eq_tol(f.covariance[0][0], 2, 1e-9);
	ck_assert_double_eq_tol(f.covariance[1][1], 3, 1e-9);
	ck_assert_double_eq_tol(f.covariance[0][1], 0, 1e-9);
	ck_assert_double_eq_tol(f.residual_sd, sqrt(6), 1e-9);
}
END_TEST

static double
bell(double x, const void *context)
{
	(void)context;
	return num_normal_density(x);
}

static double
square_root(double x, const void *context)
{
	(void)context;
	return sqrt(x);
}

/* Tables of the normal and the Poisson distribution. */
START_TEST(distributions_and_integrals)
{
	ck_assert_double_eq_tol(num_normal_density(0), 0.39894228040143267794, 1e-15);
	ck_assert_double_eq_tol(num_normal_quantile(0.975), 1.95996398454005423552, 1e-9);
	ck_assert_double_eq_tol(num_poisson_above(2, 0), 1 - exp(-2), 1e-12);
	ck_assert_double_eq_tol(num_poisson_above(4, 9), 0.00813224279, 1e-10);
	ck_assert_double_eq_tol(num_integral(bell, NULL, -1, 1, 1e-9), 0.68268949213708589717, 1e-9);
	ck_assert_double_eq_tol(num_integral(square_root, NULL, 0, 4, 1e-9), 16 / 3.0, 1e-6);
	ck_assert_double_eq(num_integral(bell, NULL, 2, 2, 1e-9), 0);
}
END_TEST

Suite *num_suite(void);

Suite *
num_suite(void)
{
	Suite *s = suite_create("num");
	TCase *c = tcase_create("num");

	tcase_add_test(c, roots);
	tcase_add_test(c, distributions_and_integrals);
	tcase_add_test(c, quantiles);
	tcase_add_test(c, linear);
	tcase_add_test(c, nonlinear);
	tcase_add_test(c, covariance);
	suite_add_tcase(s, c);
	return s;
}
