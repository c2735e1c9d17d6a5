/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bounded robust fits: what is put in comes out, what the rows do not tell is said. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "search/fit/fit.h"

enum { ROWS = 240 };

struct lab {
	double x[ROWS], measured_s[ROWS];
};

/* base + x / rate, and a third parameter that does nothing */
static double
line(const void *context, const double *param, int row)
{
	const struct lab *lab = context;

	return param[0] + lab->x[row] / param[1] + 0 * param[2];
}

/* Times of base 5 us and rate 2e9 with a noise of some percent, and one row in twenty far off. */
static void
measure(struct lab *lab, double noise)
{
	for (int i = 0; i < ROWS; i++) {
		lab->x[i] = 100 * pow(1.08, i);
		const double wobble = noise * sin(12.9898 * i) * (i % 20 == 7 ? 20 : 1);
		lab->measured_s[i] = (5e-6 + lab->x[i] / 2e9) * exp(wobble);
	}
}

static struct fit_problem
problem_of(const struct lab *lab)
{
	return (struct fit_problem){.n_params = 3,
	    .n_rows = ROWS,
	    .params = {{"base", 1e-6, 1e-8, 1e-3, false}, {"rate", 1e8, 1e6, 1e12, false}, {"idle", 3, 1, 10, false}},
	    .predict = line,
	    .context = lab,
	    .measured_s = lab->measured_s};
}

START_TEST(test_recovers)
{
	struct lab lab;
	struct fit_result r;

	measure(&lab, 0.05);
	const struct fit_problem p = problem_of(&lab);
	ck_assert(fit_run(&p, 100, &r));
	ck_assert_int_eq(r.n_fitted, ROWS);
	ck_assert(r.param[0].identified && r.param[1].identified);
	ck_assert_double_eq_tol(r.param[0].value, 5e-6, 0.1e-6);
	ck_assert_double_eq_tol(r.param[1].value, 2e9, 0.04e9);
	/* an 80 % interval: short, and no further from the truth than its own length */
	for (int i = 0; i < 2; i++) {
		const double truth[] = {5e-6, 2e9}, length = r.param[i].high - r.param[i].low;
		ck_assert(length > 0 && length < 0.1 * truth[i]);
		ck_assert(r.param[i].low - length < truth[i] && truth[i] < r.param[i].high + length);
	}
}
END_TEST

START_TEST(test_exact)
{
	struct lab lab;
	struct fit_result r;

	measure(&lab, 0);
	const struct fit_problem p = problem_of(&lab);
	ck_assert(fit_run(&p, 0, &r));
	ck_assert_double_eq_tol(r.param[0].value, 5e-6, 5e-9);
	ck_assert_double_eq_tol(r.param[1].value, 2e9, 2e6);
	ck_assert(isnan(r.param[0].low) && isnan(r.param[0].high));
	ck_assert(r.mean_abs_log < 1e-3);
}
END_TEST

START_TEST(test_says_what_is_open)
{
	struct lab lab;
	struct fit_result r;

	measure(&lab, 0.05);
	const struct fit_problem p = problem_of(&lab);
	ck_assert(fit_run(&p, 50, &r));
	ck_assert(!r.param[2].identified);
	ck_assert_double_eq(r.param[2].value, 3);
	ck_assert(isnan(r.param[2].low));
}
END_TEST

START_TEST(test_same_every_time)
{
	struct lab lab;
	struct fit_result a, b;

	measure(&lab, 0.05);
	const struct fit_problem p = problem_of(&lab);
	ck_assert(fit_run(&p, 50, &a) && fit_run(&p, 50, &b));
	ck_assert_int_eq(a.n_evaluations, b.n_evaluations);
	for (int i = 0; i < 2; i++) {
		ck_assert_double_eq(a.param[i].value, b.param[i].value);
		ck_assert_double_eq(a.param[i].low, b.param[i].low);
	}
}
END_TEST

/* Only rows that are kept count, and what is fixed stays. */
START_TEST(test_kept_and_fixed)
{
	struct lab lab;
	struct fit_result r;
	unsigned char keep[ROWS];

	measure(&lab, 0);
	for (int i = 0; i < ROWS; i++) {
		keep[i] = i % 3 == 0;
		if (!keep[i])
			lab.measured_s[i] *= 3;
	}
	struct fit_problem p = problem_of(&lab);
	p.keep = keep;
	p.params[2].fixed = true;
	ck_assert(fit_run(&p, 0, &r));
	ck_assert_int_eq(r.n_fitted, ROWS / 3);
	ck_assert_double_eq_tol(r.param[1].value, 2e9, 2e6);
	ck_assert(!r.param[2].identified);

	memset(keep, 0, sizeof keep);
	ck_assert(!fit_run(&p, 0, &r));
	keep[0] = 1;
	ck_assert(!fit_run(&p, 0, &r));
}
END_TEST

Suite *fit_driver_suite(void);

Suite *
fit_driver_suite(void)
{
	Suite *s = suite_create("fit_driver");
	TCase *t = tcase_create("fit");

	tcase_add_test(t, test_recovers);
	tcase_add_test(t, test_exact);
	tcase_add_test(t, test_says_what_is_open);
	tcase_add_test(t, test_same_every_time);
	tcase_add_test(t, test_kept_and_fixed);
	suite_add_tcase(s, t);
	return s;
}
