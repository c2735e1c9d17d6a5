/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/measured/measured.h"

#include "search/stats/stats.h"

#include <check.h>
#include <math.h>

START_TEST(changes)
{
	/* worked examples 000: 1200 -> 120 is 90 % worse; the limit at 20 % of 1000 is 800 */
	ck_assert_double_eq_tol(compare_lost(NULL, 1200, 120), 0.9, 1e-12);
	ck_assert_double_eq_tol(compare_least(NULL, 1000, 0.2), 800, 1e-9);
	ck_assert_double_eq_tol(compare_added(NULL, 800, 920), 0.15, 1e-12);
	ck_assert_double_eq_tol(compare_most(NULL, 800, 0.2), 960, 1e-9);
	ck_assert_double_eq_tol(compare_of_limit(NULL, 4572, 7200), 0.635, 1e-12);
	ck_assert_double_eq_tol(compare_worse_frac(NULL, 24, 5, 5), 0.96, 1e-12);
}
END_TEST

/* Mann and Whitney 1947, table I: P(U <= u) of n and m; here U counts the other way. */
static const struct {
	int n, m, u;
	double p;
} table[] = {{3, 3, 0, 0.050}, {3, 3, 1, 0.100}, {3, 3, 2, 0.200}, {3, 3, 4, 0.500}, {4, 4, 0, 0.014}, {4, 4, 1, 0.029},
    {4, 4, 3, 0.100}, {4, 4, 5, 0.243}, {5, 5, 1, 0.008}, {5, 5, 4, 0.048}, {5, 5, 9, 0.274}, {5, 3, 2, 0.071},
    {5, 3, 4, 0.196}, {6, 6, 5, 0.021}, {6, 6, 10, 0.120}, {7, 7, 8, 0.019}, {8, 8, 13, 0.025}};

/* Samples with exactly this many pairs in which the current one is the lower: less is worse. */
static void
samples(int n, int m, int worse, double *baseline, double *current)
{
	/* the currents start above all and come down, one pair at a time */
	for (int i = 0; i < n; i++)
		baseline[i] = 100 + 10 * i;
	for (int j = 0; j < m; j++) {
		const int below = worse >= n ? n : worse;
		worse -= below;
		current[j] = 100 + 10 * (n - below) - 5 - 0.01 * j;
	}
}

START_TEST(exact_probabilities)
{
	double baseline[20], current[20];
	const int n = table[_i].n, m = table[_i].m;

	samples(n, m, n * m - table[_i].u, baseline, current);
	const struct rank_test t = rank_test(baseline, (size_t)n, current, (size_t)m, true);
	ck_assert(t.exact);
	ck_assert_double_eq(t.n_worse_pairs, n * m - table[_i].u);
	ck_assert_double_eq_tol(t.p, table[_i].p, 5.1e-4);
}
END_TEST

START_TEST(limits_of_the_test)
{
	enum { N = 30 };
	double a[N], b[N], c[N], far[N];

	for (int i = 0; i < N; i++) {
		a[i] = 100 + i;
		b[i] = 100.5 + (i * 7) % N;
		c[i] = a[i];
		far[i] = 50 + i;
	}
	/* all worse: one way among all */
	const struct rank_test all = rank_test(a, 5, far, 5, true);
	ck_assert_double_eq_tol(all.p, 1.0 / 252, 1e-12);
	ck_assert_double_eq_tol(all.least_p, 1.0 / 252, 1e-12);
	ck_assert_double_eq_tol(rank_test(a, 5, far, 5, false).p, 1, 1e-12);
	/* exact and approximate agree for samples that are not small */
	const struct rank_test exact = rank_test(a, N, b, N, true);
	ck_assert(exact.exact);
	a[1] = a[0];
	const struct rank_test near = rank_test(a, N, b, N, true);
	ck_assert(!near.exact);
	ck_assert_double_eq_tol(near.p, exact.p, 0.02);
	/* nothing changed at all */
	const struct rank_test same = rank_test(c, N, c, N, true);
	ck_assert_double_eq_tol(same.n_worse_pairs, N * N / 2.0, 1e-9);
	ck_assert(same.p > 0.5 && same.p < 0.51);
	const double equal[] = {5, 5, 5};
	ck_assert_double_eq(rank_test(equal, 3, equal, 3, true).p, 1);
}
END_TEST

START_TEST(medians_and_their_change)
{
	static const double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2};
	static const double before[] = {210, 205, 212, 208, 207}, after[] = {204, 199, 206, 203, 201};
	double low, high, again_low, again_high, other_low, other_high;

	ck_assert_double_eq(rank_median(odd, 3), 2);
	ck_assert_double_eq(rank_median(even, 4), 2.5);
	rank_interval(before, 5, after, 5, true, 1, 0.95, &low, &high);
	rank_interval(before, 5, after, 5, true, 1, 0.95, &again_low, &again_high);
	rank_interval(before, 5, after, 5, true, 2, 0.95, &other_low, &other_high);
	ck_assert(low == again_low && high == again_high);
	ck_assert_double_eq_tol(other_low, low, 0.005);
	ck_assert_double_eq_tol(other_high, high, 0.005);
	const double change = compare_lost(NULL, rank_median(before, 5), rank_median(after, 5));
	ck_assert(low < change && change < high);
	/* less is better: the same numbers are an improvement */
	rank_interval(before, 5, after, 5, false, 1, 0.95, &low, &high);
	ck_assert(low < 0 && low < high);
}
END_TEST

Suite *compare_suite(void);

Suite *
compare_suite(void)
{
	Suite *s = suite_create("compare");
	TCase *c = tcase_create("compare");

	tcase_add_test(c, changes);
	tcase_add_loop_test(c, exact_probabilities, 0, sizeof table / sizeof *table);
	tcase_add_test(c, limits_of_the_test);
	tcase_add_test(c, medians_and_their_change);
	suite_add_tcase(s, c);
	return s;
}
