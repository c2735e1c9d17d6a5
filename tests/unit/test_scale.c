/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/calc/calc.h"

#include "search/stats/stats.h"

#include <check.h>
#include <stdint.h>

enum { N_POINTS = 10 };

static const double ranks[N_POINTS] = {1, 2, 4, 8, 12, 16, 24, 32, 48, 64};

static void
series(struct fit_point *points, double single, double contention, double coherency)
{
	for (int i = 0; i < N_POINTS; i++)
		points[i] = (struct fit_point){ranks[i], single * scale_usl(NULL, ranks[i], contention, coherency)};
}

/* --- measured points ------------------------------------------------------------------------------------- */

START_TEST(efficiency_is_not_its_inverse)
{
	/* MLPerf in worked examples 001: 18.79 min on 2560 GPUs, 10 min on 5120; the document prints 1.06 */
	const double speedup = scale_speedup_time(NULL, 18.79, 10);

	ck_assert_double_eq_tol(speedup, 1.879, 1e-12);
	ck_assert_double_eq_tol(scale_efficiency(NULL, 2560, 5120, speedup), 0.9395, 1e-12);
	ck_assert_double_eq_tol(scale_efficiency(NULL, 1, 8, scale_speedup_rate(NULL, 1000, 4000)), 0.5, 1e-12);
}
END_TEST

/* --- laws ------------------------------------------------------------------------------------------------ */

START_TEST(laws_and_their_limits)
{
	/* Amdahl 1967: 5 % serial on 20 processors, and never more than 20 times */
	ck_assert_double_eq_tol(scale_amdahl(NULL, 20, 0.05), 1 / (0.05 + 0.95 / 20), 1e-12);
	ck_assert_double_eq_tol(scale_amdahl(NULL, 1e12, 0.05), 20, 1e-6);
	ck_assert_double_eq_tol(scale_gustafson(NULL, 20, 0.05), 19.05, 1e-12);
	ck_assert_double_eq(scale_usl(NULL, 20, 0.05, 0), scale_amdahl(NULL, 20, 0.05));
	for (int i = 0; i < N_POINTS; i++) {
		ck_assert_double_eq(scale_amdahl(NULL, ranks[i], 0), ranks[i]);
		ck_assert_double_eq(scale_gustafson(NULL, ranks[i], 0), ranks[i]);
		ck_assert(scale_usl(NULL, ranks[i], 0.03, 0.001) <= scale_amdahl(NULL, ranks[i], 0.03));
		ck_assert(scale_amdahl(NULL, ranks[i], 0.03) <= scale_gustafson(NULL, ranks[i], 0.03));
	}
}
END_TEST

START_TEST(peak_and_stop)
{
	const double contention = 0.02, coherency = 0.0003;
	const double peak = scale_peak(NULL, contention, coherency);

	ck_assert(scale_usl(NULL, peak, contention, coherency) > scale_usl(NULL, peak - 1, contention, coherency));
	ck_assert(scale_usl(NULL, peak, contention, coherency) > scale_usl(NULL, peak + 1, contention, coherency));
	for (double least = 0.3; least < 0.95; least += 0.1) {
		const double n = scale_stop(NULL, contention, coherency, least);
		ck_assert(scale_usl(NULL, n, contention, coherency) / n >= least - 1e-12);
		ck_assert(scale_usl(NULL, n + 1, contention, coherency) / (n + 1) < least);
		const double m = scale_stop(NULL, contention, 0, least);
		ck_assert(scale_amdahl(NULL, m, contention) / m >= least - 1e-9);
		ck_assert(scale_amdahl(NULL, m + 1, contention) / (m + 1) < least);
	}
	ck_assert(isinf(scale_stop(NULL, 0, 0, 0.9)));
}
END_TEST

START_TEST(rule_of_thumb)
{
	/* worked examples 003: 85 % at 8, 70 % at 64, 50 % from 256 on */
	ck_assert_double_eq(scale_rule(NULL, 1), 1);
	ck_assert_double_eq_tol(scale_rule(NULL, 8), 0.85, 1e-12);
	ck_assert_double_eq_tol(scale_rule(NULL, 64), 0.70, 1e-12);
	ck_assert_double_eq_tol(scale_rule(NULL, 256), 0.50, 1e-12);
	ck_assert_double_eq_tol(scale_rule(NULL, 100000), 0.50, 1e-12);
	for (double n = 1; n < 600; n++)
		ck_assert(scale_rule(NULL, n + 1) <= scale_rule(NULL, n));
}
END_TEST

/* --- fits ------------------------------------------------------------------------------------------------ */

static const struct {
	double single, contention, coherency;
} truths[] = {
    {1000, 0.05, 0.0004}, {1000, 0.01, 0.00002}, {3.5, 0.2, 0.003}, {7e6, 0.001, 0.0001}, {1e-5, 0.03, 0.0001}};

START_TEST(fit_recovers_known_parameters)
{
	struct fit_point points[N_POINTS];

	series(points, truths[_i].single, truths[_i].contention, truths[_i].coherency);
	const struct fit f = fit_usl(points, N_POINTS);
	ck_assert(f.given);
	ck_assert_uint_eq(f.n_free, N_POINTS - 3);
	ck_assert_double_eq_tol(f.single / truths[_i].single, 1, 1e-8);
	ck_assert_double_eq_tol(f.contention, truths[_i].contention, 1e-9);
	ck_assert_double_eq_tol(f.coherency, truths[_i].coherency, 1e-10);
	ck_assert(f.scatter_frac < 1e-8);
	series(points, truths[_i].single, truths[_i].contention, 0);
	const struct fit a = fit_amdahl(points, N_POINTS);
	ck_assert(a.given);
	ck_assert_double_eq_tol(a.contention, truths[_i].contention, 1e-9);
	ck_assert_double_eq(a.coherency, 0);
}
END_TEST

START_TEST(fit_needs_points)
{
	const struct fit_point same[] = {{2, 10}, {2, 11}, {2, 12}};
	const struct fit_point two[] = {{1, 1000}, {8, 4000}};
	const struct fit_point four[] = {{1, 1000}, {2, 1800}, {4, 3200}, {8, 4000}};

	ck_assert(!fit_amdahl(same, 3).given);
	ck_assert(!fit_amdahl(two, 1).given);
	ck_assert(!fit_usl(two, 2).given);
	const struct fit exact = fit_amdahl(two, 2);
	ck_assert(exact.given);
	ck_assert_uint_eq(exact.n_free, 0);
	ck_assert_double_eq_tol(fit_rate(&exact, 8).value, 4000, 1e-6);
	ck_assert_double_eq(fit_contention(&exact).t_80, 0);
	/* 1 degree of freedom: t is 3.078 at 80 % and 12.706 at 95 % (Student 1908) */
	const struct fit usl = fit_usl(four, 4);
	ck_assert_double_eq_tol(fit_contention(&usl).t_80, 3.0777, 1e-4);
	ck_assert_double_eq_tol(fit_contention(&usl).t_95, 12.7062, 1e-4);
}
END_TEST

/* splitmix64 and the sum of twelve uniforms: near enough to a normal deviate, and the same everywhere. */
static double
normal(uint64_t *state)
{
	double sum = 0;

	for (int i = 0; i < 12; i++) {
		uint64_t z = (*state += 0x9e3779b97f4a7c15u);
		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
		sum += (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
	}
	return sum - 6;
}

static bool
inside(const struct scale_estimate *e, double t, double truth)
{
	return fabs(e->value - truth) <= t * e->error;
}

START_TEST(intervals_cover)
{
	enum { RUNS = 400 };
	uint64_t state = 1;
	int contention_80 = 0, contention_95 = 0, coherency_80 = 0, rate_80 = 0;

	for (int run = 0; run < RUNS; run++) {
		struct fit_point points[N_POINTS];
		series(points, 1000, 0.04, 0.0003);
		for (int i = 0; i < N_POINTS; i++)
			points[i].rate *= 1 + 0.02 * normal(&state);
		const struct fit f = fit_usl(points, N_POINTS);
		ck_assert(f.given);
		const struct scale_estimate c = fit_contention(&f), k = fit_coherency(&f), r = fit_rate(&f, 96);
		const double seen = 1000 * scale_usl(NULL, 96, 0.04, 0.0003) * (1 + 0.02 * normal(&state));
		contention_80 += inside(&c, c.t_80, 0.04);
		contention_95 += inside(&c, c.t_95, 0.04);
		coherency_80 += inside(&k, k.t_80, 0.0003);
		rate_80 += inside(&r, r.t_80, seen);
	}
	/* three standard deviations of a binomial count of 400 are 6 % at 80 % and 3.3 % at 95 % */
	ck_assert_double_eq_tol(contention_80 / (double)RUNS, 0.80, 0.06);
	ck_assert_double_eq_tol(contention_95 / (double)RUNS, 0.95, 0.033);
	ck_assert_double_eq_tol(coherency_80 / (double)RUNS, 0.80, 0.06);
	ck_assert_double_eq_tol(rate_80 / (double)RUNS, 0.80, 0.06);
}
END_TEST

START_TEST(law_that_is_used)
{
	struct fit_point points[N_POINTS];
	struct fit a, u;

	series(points, 1000, 0.05, 0.0004);
	points[3].rate *= 1.01;
	a = fit_amdahl(points, N_POINTS);
	u = fit_usl(points, N_POINTS);
	ck_assert_uint_eq(fit_choose(&a, &u).n_params, 3);
	/* worked examples 000, case 4: four points do not tell a coherency cost from chance */
	const struct fit_point four[] = {{1, 1000}, {2, 1800}, {4, 3200}, {8, 4000}};
	a = fit_amdahl(four, 4);
	u = fit_usl(four, 4);
	ck_assert_uint_eq(fit_choose(&a, &u).n_params, 2);
	/* faster than linear: nothing below 0 is carried on */
	const struct fit_point fast[] = {{1, 100}, {2, 210}, {4, 450}};
	a = fit_amdahl(fast, 3);
	u = fit_usl(fast, 3);
	ck_assert(a.contention < 0);
	ck_assert_double_eq(fit_choose(&a, &u).contention, 0);
}
END_TEST

/* --- steps ----------------------------------------------------------------------------------------------- */

START_TEST(step_speedup)
{
	/* worked examples 000, case 4 after the fixes: 6.8 times on 8 GPUs */
	ck_assert_double_eq_tol(scale_step_speedup(NULL, 8, 0.85), 6.8, 1e-12);
}
END_TEST

/* --- pipelines ------------------------------------------------------------------------------------------- */

START_TEST(bubble_identities)
{
	for (double p = 1; p <= 16; p++)
		for (double m = 1; m <= 64; m *= 2)
			for (double v = 1; v <= 8; v *= 2) {
				const double bubble = pipeline_bubble(NULL, p, m, v);
				/* v chunks idle like v times the micro-batches; one stage never idles */
				ck_assert_double_eq_tol(bubble, pipeline_bubble(NULL, p, m * v, 1), 1e-15);
				ck_assert(p > 1 ? bubble > 0 && bubble < 1 : bubble == 0);
				/* idle over busy is (p - 1) / (m v): Narayanan et al., SC 2021, section 2.2 */
				ck_assert_double_eq_tol(bubble / (1 - bubble), (p - 1) / (m * v), 1e-12);
				if (p > 1) {
					ck_assert_double_eq(pipeline_microbatches(NULL, p, v, bubble), m);
					ck_assert_double_eq(pipeline_interleave(NULL, p, m, bubble), v);
				}
			}
	/* worked examples 001: 12 % at 8 stages */
	ck_assert_double_eq(pipeline_microbatches(NULL, 8, 1, 0.12), 52);
	ck_assert(pipeline_bubble(NULL, 8, 52, 1) <= 0.12 && pipeline_bubble(NULL, 8, 51, 1) > 0.12);
	ck_assert_double_eq(pipeline_interleave(NULL, 8, 8, 0.12), 7);
	ck_assert_double_eq_tol(pipeline_gain(NULL, 0.35, 0.12), 1.35384615385, 1e-10);
	ck_assert_double_eq(pipeline_fill(NULL, 32, 4), 8);
	ck_assert_double_eq(pipeline_fill(NULL, 33, 4), 9);
}
END_TEST

START_TEST(money)
{
	/* 8 GPUs at $3.60/h make $0.008 a second; a million samples at 4000/s take 250 s */
	ck_assert_double_eq_tol(scale_million_usd(NULL, 8, 3.6 / 3600, 4000), 2, 1e-12);
	ck_assert_double_eq_tol(scale_run_usd(NULL, 8, 3.5 / 3600, 720 * 3600), 20160, 1e-9);
	ck_assert_double_eq_tol(scale_time_of_rate(NULL, 0.25), 4, 1e-15);
}
END_TEST

Suite *scale_suite(void);

Suite *
scale_suite(void)
{
	Suite *s = suite_create("scale");
	TCase *c = tcase_create("scale");

	tcase_add_test(c, efficiency_is_not_its_inverse);
	tcase_add_test(c, laws_and_their_limits);
	tcase_add_test(c, peak_and_stop);
	tcase_add_test(c, rule_of_thumb);
	tcase_add_loop_test(c, fit_recovers_known_parameters, 0, sizeof truths / sizeof *truths);
	tcase_add_test(c, fit_needs_points);
	tcase_add_test(c, intervals_cover);
	tcase_add_test(c, law_that_is_used);
	tcase_add_test(c, step_speedup);
	tcase_add_test(c, bubble_identities);
	tcase_add_test(c, money);
	suite_add_tcase(s, c);
	return s;
}
