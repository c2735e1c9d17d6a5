/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/measured/measured.h"

#include "base/base.h"
#include "search/stats/stats.h"

#include <check.h>
#include <stdlib.h>

/* NIST Statistical Reference Datasets, linear regression, `Norris`: 36 points and certified results. */
static const double norris[][2] = {{0.1, 0.2}, {338.8, 337.4}, {118.1, 118.2}, {888.0, 884.6}, {9.2, 10.1},
    {228.1, 226.5}, {668.5, 666.3}, {998.5, 996.3}, {449.1, 448.6}, {778.9, 777.0}, {559.2, 558.2}, {0.3, 0.4},
    {0.1, 0.6}, {778.1, 775.5}, {668.8, 666.9}, {339.3, 338.0}, {448.9, 447.5}, {10.8, 11.6}, {557.7, 556.0},
    {228.3, 228.1}, {998.0, 995.8}, {888.8, 887.6}, {119.6, 120.2}, {0.3, 0.3}, {0.6, 0.3}, {557.6, 556.8},
    {339.3, 339.1}, {888.0, 887.2}, {998.5, 999.0}, {778.9, 779.0}, {10.2, 11.1}, {117.6, 118.3}, {228.9, 229.2},
    {668.4, 669.1}, {449.2, 448.9}, {0.2, 0.5}};

enum { N_NORRIS = sizeof norris / sizeof *norris, MANY = 4000 };

START_TEST(certified_regression)
{
	double x[N_NORRIS], y[N_NORRIS];
	struct num_line l;

	for (int i = 0; i < N_NORRIS; i++) {
		y[i] = norris[i][0];
		x[i] = norris[i][1];
	}
	ck_assert(num_line(N_NORRIS, x, y, &l));
	ck_assert_double_eq_tol(l.intercept, -0.262323073774029, 1e-12);
	ck_assert_double_eq_tol(l.slope, 1.00211681802045, 1e-13);
	ck_assert_double_eq_tol(l.slope_error, 0.429796848199937e-3, 1e-15);
	ck_assert_double_eq_tol(l.residual_sd, 0.884796396144373, 1e-12);
	ck_assert_double_eq_tol(l.explained, 0.999993745883712, 1e-13);
	ck_assert_uint_eq(l.n_free, N_NORRIS - 2);
	const double same[] = {3, 3, 3};
	ck_assert(!num_line(3, same, y, &l));
	ck_assert(!num_line(1, x, y, &l));
}
END_TEST

START_TEST(the_printed_log)
{
	/* worked examples 000: GB allocated over steps; 0.81 MB per step by least squares, R^2 0.9993, 0.8 by the ends
	 */
	static const double step[] = {0, 100, 500, 1000, 5000}, gb[] = {8.50, 8.52, 8.80, 9.20, 12.50};
	struct trend t;

	ck_assert(trend_fit(step, gb, 5, &t));
	ck_assert_int_eq(t.kind, TREND_LEAK);
	ck_assert_double_eq_tol(t.all.slope.value, 0.8107e-3, 1e-7);
	ck_assert_double_eq_tol(t.explained_frac, 0.9993, 5e-5);
	ck_assert(trend_low(&t.all) < t.all.slope.value && trend_high(&t.all) > t.all.slope.value);
	ck_assert_double_eq_tol(trend_end_slope(NULL, 0, 5000, 8.5, 12.5), 0.8e-3, 1e-12);
	ck_assert_double_eq(trend_reached(NULL, t.all.start, t.all.slope.value, 16), 9333);
	ck_assert_double_eq(trend_reached(NULL, 8.5, 0.8e-3, 16), 9375);
	ck_assert_double_eq_tol(trend_growth(NULL, 0.8e-3, 50000), 40, 1e-9);
	ck_assert_double_eq_tol(trend_value(NULL, 8.5, 0.8e-3, 10000), 16.5, 1e-9);
	ck_assert_double_eq_tol(trend_start(NULL, 12.5, 0.8e-3, 5000), 8.5, 1e-9);
}
END_TEST

START_TEST(one_wild_point_does_not_lead_astray)
{
	static const double step[] = {0, 1, 2, 3, 4, 5, 6}, value[] = {0, 1, 2, 3, 4, 5, 100};
	struct trend t;

	ck_assert(trend_fit(step, value, 7, &t));
	ck_assert(t.all.slope.value > 10);
	ck_assert_double_eq_tol(t.sen, 1, 1e-12);
	ck_assert(t.sen_low <= 1 && t.sen_high >= 1);
}
END_TEST

/* Sen's interval covers the true slope about as often as it says. */
static double
noise(unsigned *state)
{
	double sum = 0;

	for (int i = 0; i < 12; i++) {
		*state = *state * 1664525u + 1013904223u;
		sum += (*state >> 8) / 16777216.0;
	}
	return sum - 6;
}

START_TEST(intervals_cover_the_slope)
{
	enum { RUNS = 400, N = 30 };
	double step[N], value[N];
	unsigned state = 7;
	int sen = 0, line = 0, leaks = 0;

	for (int k = 0; k < RUNS; k++) {
		struct trend t;
		for (int i = 0; i < N; i++) {
			step[i] = i;
			value[i] = 0.02 * i + noise(&state);
		}
		ck_assert(trend_fit(step, value, N, &t));
		sen += t.sen_low <= 0.02 && t.sen_high >= 0.02;
		line += trend_low(&t.all) <= 0.02 && trend_high(&t.all) >= 0.02;
		for (int i = 0; i < N; i++)
			value[i] = noise(&state);
		ck_assert(trend_fit(step, value, N, &t));
		leaks += t.kind == TREND_LEAK || t.kind == TREND_CLIMBING;
	}
	ck_assert_msg(sen > 0.92 * RUNS && sen < 0.99 * RUNS, "%d of %d", sen, RUNS);
	ck_assert_msg(line > 0.92 * RUNS && line < 0.98 * RUNS, "%d of %d", line, RUNS);
	/* pure noise is called a leak as seldom as the interval says */
	ck_assert_msg(leaks < 0.05 * RUNS, "%d of %d", leaks, RUNS);
}
END_TEST

START_TEST(long_series_by_halves)
{
	static double step[MANY], value[MANY];
	unsigned state = 3;
	struct trend t;

	for (int i = 0; i < MANY; i++) {
		step[i] = i;
		value[i] = 0.5 * i + noise(&state);
	}
	ck_assert(trend_fit(step, value, MANY, &t));
	ck_assert_double_eq_tol(t.sen, 0.5, 1e-3);
	ck_assert(isnan(t.sen_low));
	ck_assert_int_eq(t.kind, TREND_LEAK);
}
END_TEST

/* --- shapes ---------------------------------------------------------------------------------------------- */

/* Rises by 1 for `up` points, then falls at once to the floor, which rises by `climb` each time. */
static void
teeth(double *step, double *value, int n, int up, double climb)
{
	for (int i = 0; i < n; i++) {
		step[i] = 10.0 * i;
		value[i] = 100 + i % up + climb * (i / up);
	}
}

START_TEST(sawteeth)
{
	enum { N = 60 };
	double step[N], value[N];
	struct trend t;

	teeth(step, value, N, 6, 0);
	ck_assert(trend_fit(step, value, N, &t));
	ck_assert_int_eq(t.kind, TREND_SAWTOOTH);
	ck_assert_uint_eq(t.n_teeth, 9);
	ck_assert_double_eq_tol(t.floor.slope.value, 0, 1e-12);
	teeth(step, value, N, 6, 0.5);
	ck_assert(trend_fit(step, value, N, &t));
	ck_assert_int_eq(t.kind, TREND_CLIMBING);
	ck_assert_double_eq_tol(t.floor.slope.value, 0.5 / 60, 1e-9);
	ck_assert_double_eq_tol(t.crest.slope.value, 0.5 / 60, 1e-9);
	/* up and down alike is no sawtooth */
	for (int i = 0; i < N; i++)
		value[i] = i % 4 < 2 ? 1 : 2;
	ck_assert(trend_fit(step, value, N, &t));
	ck_assert_int_eq(t.kind, TREND_STABLE);
}
END_TEST

START_TEST(other_shapes)
{
	static const double step[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
	static const double plateau[] = {4, 6, 7.5, 8.4, 9, 9, 9, 9, 9, 9},
	                    falls[] = {9, 8, 7.1, 6, 5, 4.2, 3, 2, 1, 0};
	static const double flat[] = {5, 5, 5, 5, 5, 5, 5, 5, 5, 5}, same[] = {2, 2, 2};
	struct trend t;

	ck_assert(trend_fit(step, plateau, 10, &t));
	ck_assert_int_eq(t.kind, TREND_LEVELS);
	ck_assert(trend_fit(step, falls, 10, &t));
	ck_assert_int_eq(t.kind, TREND_SHRINKS);
	ck_assert(trend_fit(step, flat, 10, &t));
	ck_assert_int_eq(t.kind, TREND_STABLE);
	ck_assert_double_eq(t.all.slope.value, 0);
	ck_assert(trend_fit(step, falls, 2, &t));
	ck_assert_int_eq(t.kind, TREND_UNKNOWN);
	ck_assert(!trend_fit(same, falls, 3, &t));
	for (int k = TREND_UNKNOWN; k <= TREND_SHRINKS; k++)
		ck_assert(*trend_word((enum trend_kind)k));
}
END_TEST

Suite *trend_suite(void);

Suite *
trend_suite(void)
{
	Suite *s = suite_create("trend");
	TCase *c = tcase_create("trend");

	tcase_add_test(c, certified_regression);
	tcase_add_test(c, the_printed_log);
	tcase_add_test(c, one_wild_point_does_not_lead_astray);
	tcase_add_test(c, intervals_cover_the_slope);
	tcase_add_test(c, long_series_by_halves);
	tcase_add_test(c, sawteeth);
	tcase_add_test(c, other_shapes);
	suite_add_tcase(s, c);
	return s;
}
