/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/calc/calc.h"

#include "base/base.h"

#include <check.h>
#include <math.h>

/* --- harmonic numbers ------------------------------------------------------------------------------------ */

static const double exponents[] = {0, 0.3, 0.5, 0.952, 0.999999, 1, 1.0000001, 1.061, 1.3, 2, 3.7, 12};

/* Term by term, smallest first, with Kahan's correction. */
static double
added(double n, double s)
{
	double sum = 0, carry = 0;

	for (double k = n; k >= 1; k--) {
		const double y = pow(k, -s) - carry, t = sum + y;
		carry = (t - sum) - y;
		sum = t;
	}
	return sum;
}

START_TEST(harmonic_is_the_sum)
{
	static const double sizes[] = {0, 1, 2, 19, 20, 21, 22, 1000, 200000};
	const double s = exponents[_i];

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		const double sum = added(sizes[i], s);
		ck_assert_double_eq_tol(num_harmonic(sizes[i], s), sum, 1e-14 * sum + 1e-300);
	}
}
END_TEST

START_TEST(harmonic_of_very_many)
{
	const double euler = 0.57721566490153286061, n = 4e9;

	/* H(n, 1) = ln n + gamma + 1/2n; H(n, 0) = n; H(n, 2) = pi^2/6 - 1/n + 1/2n^2 */
	ck_assert_double_eq_tol(num_harmonic(n, 1), log(n) + euler + 0.5 / n, 1e-13);
	ck_assert_double_eq_tol(num_harmonic(n, 0), n, 1e-4);
	ck_assert_double_eq_tol(num_harmonic(n, 2), acos(-1) * acos(-1) / 6 - 1 / n, 1e-14);
	/* one more row adds its own term */
	for (size_t i = 0; i < sizeof exponents / sizeof *exponents; i++) {
		const double step = num_harmonic(40e6 + 1000, exponents[i]) - num_harmonic(40e6, exponents[i]);
		const double terms = 1000 * pow(40e6 + 500.5, -exponents[i]);
		ck_assert_double_eq_tol(step, terms, 1e-6 * terms + 1e-13 * num_harmonic(40e6, exponents[i]));
	}
}
END_TEST

/* --- hits ------------------------------------------------------------------------------------------------ */

START_TEST(zipf_hits)
{
	/* worked examples 001: the hottest 15 % of 40 million and of 10 thousand rows */
	ck_assert_double_eq_tol(cache_zipf(NULL, 40e6, 6e6, 0.952), 0.850002, 1e-6);
	ck_assert_double_eq_tol(cache_zipf(NULL, 40e6, 6e6, 1), 0.895, 5e-4);
	ck_assert_double_eq_tol(cache_zipf(NULL, 10e3, 1500, 1), 0.806, 5e-4);
	ck_assert_double_eq_tol(cache_zipf_of(40e6, 6e6, 0.85), 0.952, 5e-4);
	ck_assert_double_eq_tol(cache_zipf_of(10e3, 1500, 0.85), 1.061, 5e-4);
	/* no skew: as uniform; everything held: all hit; nothing held: none */
	ck_assert_double_eq_tol(cache_zipf(NULL, 1000, 200, 0), cache_uniform(NULL, 1000, 200), 1e-12);
	ck_assert_double_eq(cache_zipf(NULL, 40e6, 40e6, 1.1), 1);
	ck_assert_double_eq(cache_zipf(NULL, 40e6, 0, 1.1), 0);
	for (double s = 0; s < 3; s += 0.1) {
		ck_assert(cache_zipf(NULL, 1e6, 1000, s + 0.1) > cache_zipf(NULL, 1e6, 1000, s));
		ck_assert(cache_zipf(NULL, 1e6, 1001, s) > cache_zipf(NULL, 1e6, 1000, s));
	}
}
END_TEST

START_TEST(solving_undoes_asking)
{
	for (double s = 0.2; s < 1.8; s += 0.35) {
		const double hit = cache_zipf(NULL, 4e9, 1e6, s);
		ck_assert_double_eq_tol(cache_zipf_of(4e9, 1e6, hit), s, 1e-9);
		const double n = cache_hot_of(1e7, s, 0.6);
		ck_assert(cache_zipf(NULL, 1e7, n, s) >= 0.6);
		ck_assert(cache_zipf(NULL, 1e7, n - 1, s) < 0.6);
	}
	/* less often than the share of the rows that are held, or always: no law of this kind */
	ck_assert(isnan(cache_zipf_of(1000, 200, 0.1)));
	ck_assert(isnan(cache_zipf_of(1000, 200, 1)));
}
END_TEST

START_TEST(measured_hits)
{
	const double items[] = {0.01, 0.15, 1}, lookups[] = {0.4, 0.85, 1};
	const struct cache_curve curve = {3, items, lookups};
	static const struct {
		double held, hit;
	} cases[] = {{0, 0}, {0.005, 0.2}, {0.01, 0.4}, {0.08, 0.625}, {0.15, 0.85}, {0.575, 0.925}, {1, 1}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_double_eq_tol(cache_measured(NULL, &curve, cases[i].held), cases[i].hit, 1e-12);
}
END_TEST

START_TEST(time_of_lookups)
{
	/* worked examples 001: 180 ms of lookups, 85 % hits, 27 + 13 ms */
	const double misses_s = cache_miss_time(NULL, 0.180, 0.85), hits_s = cache_hit_time(NULL, 0.0153, 0.85);

	ck_assert_double_eq_tol(misses_s, 0.027, 1e-12);
	ck_assert_double_eq_tol(hits_s, 0.013005, 1e-12);
	ck_assert_double_eq_tol(cache_step(NULL, cache_lookup(NULL, misses_s, hits_s), 0.120), 0.160005, 1e-12);
	ck_assert_double_eq_tol(cache_size(NULL, 120e9, cache_share(NULL, 40e6, cache_hot(NULL, 40e6, 0.15))), 18e9, 1);
}
END_TEST

Suite *cache_suite(void);

Suite *
cache_suite(void)
{
	Suite *s = suite_create("cache");
	TCase *c = tcase_create("cache");

	tcase_add_loop_test(c, harmonic_is_the_sum, 0, sizeof exponents / sizeof *exponents);
	tcase_add_test(c, harmonic_of_very_many);
	tcase_add_test(c, zipf_hits);
	tcase_add_test(c, solving_undoes_asking);
	tcase_add_test(c, measured_hits);
	tcase_add_test(c, time_of_lookups);
	suite_add_tcase(s, c);
	return s;
}
