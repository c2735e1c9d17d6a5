/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/calc/calc.h"

#include <check.h>
#include <stdint.h>

static struct datum
datum(double value)
{
	return (struct datum){value, {"test", 0, 0, NULL, false}};
}

static const double hour = 3600;

START_TEST(rates)
{
	/* Llama Team, arXiv:2407.21783, table 5: 419 unexpected interruptions in 54 days on 16,384 GPUs */
	const struct reliability llama = {
	    .n_gpus = datum(16384), .period_s = datum(54 * 24 * hour), .n_failures = datum(419)};
	const double gpu = published_mtbf(NULL, &llama);

	ck_assert_double_eq_tol(gpu / hour, 50677, 1);
	ck_assert_double_eq_tol(job_mtbf(NULL, gpu, 16384) / hour, 3.0931, 1e-4);
	ck_assert_double_eq_tol(failures_per_day(NULL, job_mtbf(NULL, gpu, 16384)), 419 / 54.0, 1e-12);
}
END_TEST

START_TEST(young_is_least)
{
	/* worked examples 002, inputs ours: 64 GPUs of 50,000 h, 60 s */
	const double mtbf = job_mtbf(NULL, 50000 * hour, 64), interval = young_interval(NULL, 60, mtbf);

	ck_assert_double_eq_tol(interval / hour, 5.1031036308, 1e-9);
	ck_assert_double_eq_tol(interval_overhead(NULL, 60, interval, mtbf), 0.00653197264742, 1e-14);
	/* the least there is, and equal parts */
	for (double factor = 0.5; factor < 2; factor += 0.1)
		ck_assert(interval_overhead(NULL, 60, factor * interval, mtbf) >=
		    interval_overhead(NULL, 60, interval, mtbf) - 1e-15);
	/* a write that short reaches that overhead */
	ck_assert_double_eq_tol(write_for_overhead(NULL, 0.00653197264742, mtbf), 60, 1e-8);
}
END_TEST

/* Daly's interval is nearer to the best of his complete model than Young's. */
START_TEST(daly_is_better)
{
	static const double writes[] = {60, 600, 3600};

	for (int i = 0; i < 3; i++) {
		const struct failing f = {datum(6 * hour), datum(writes[i]), datum(writes[i]), datum(600)};
		double best = 0, most = 0;
		for (double t = 60; t < 12 * hour; t += 10)
			if (goodput(NULL, &f, t) > most) {
				most = goodput(NULL, &f, t);
				best = t;
			}
		const double daly = daly_interval(NULL, writes[i], 6 * hour),
		             young = young_interval(NULL, writes[i], 6 * hour);
		ck_assert(fabs(daly - best) < fabs(young - best));
		ck_assert_double_eq_tol(daly, best, 0.02 * best + 10);
	}
	/* Daly, Future Generation Computer Systems 22(3), 2006, figures 3 to 5: 117, 57 and 9.1 min */
	ck_assert_double_eq_tol(daly_interval(NULL, 300, 24 * hour) / 60, 117, 0.5);
	ck_assert_double_eq_tol(daly_interval(NULL, 300, 6 * hour) / 60, 57, 0.5);
	ck_assert_double_eq_tol(daly_interval(NULL, 300, hour / 4) / 60, 9.1, 0.05);
	ck_assert_double_eq(daly_interval(NULL, 13 * hour, 6 * hour), 6 * hour);
	ck_assert_double_eq_tol(daly_interval(NULL, 1, 1e6) / young_interval(NULL, 1, 1e6), 1, 1e-3);
}
END_TEST

START_TEST(goodput_and_its_parts)
{
	const struct failing rare = {datum(1e7), datum(60), datum(60), datum(300)};
	const double interval = young_interval(NULL, 60, 1e7);
	const double lost =
	    write_share(NULL, 60, interval) + lost_share(NULL, &rare, interval) + restart_share(NULL, 300, 1e7);

	/* when failures are rare the parts add up */
	ck_assert_double_eq_tol(1 - goodput(NULL, &rare, interval), lost, 0.01 * lost);
	/* writing beside the computing costs less, a write that takes long protects less */
	const struct failing beside = {datum(1e5), datum(5), datum(60), datum(300)};
	const struct failing whole = {datum(1e5), datum(60), datum(60), datum(300)};
	const struct failing slow = {datum(1e5), datum(5), datum(1200), datum(300)};
	ck_assert(goodput(NULL, &beside, 2000) > goodput(NULL, &whole, 2000));
	ck_assert(goodput(NULL, &slow, 2000) < goodput(NULL, &beside, 2000));
	/* 60 s of every 660; half of 660 s and the 55 s behind it, every 100,000 s */
	ck_assert_double_eq_tol(write_share(NULL, 60, 600), 60 / 660.0, 1e-15);
	ck_assert_double_eq_tol(lost_share(NULL, &whole, 600), 330e-5, 1e-12);
	ck_assert_double_eq_tol(lost_share(NULL, &beside, 595), (300 + 55) * 1e-5, 1e-12);
	ck_assert_double_eq_tol(run_wall(NULL, 90, 0.9), 100, 1e-12);
	ck_assert_double_eq_tol(run_failures(NULL, 100, 25), 4, 1e-12);
}
END_TEST

static double
uniform(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9E3779B97F4A7C15);

	x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
	return ((double)((x ^ (x >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

/* Work is done segment by segment; a failure, in a segment or in a restart, costs the time until then and a restart. */
START_TEST(goodput_as_simulated)
{
	enum { SEGMENTS = 40000 };
	const double mtbf = 10000, stall = 100, restart = 500, interval = 2000;
	const struct failing f = {datum(mtbf), datum(stall), datum(stall), datum(restart)};
	uint64_t state = 17;
	double wall = 0, next = -mtbf * log(uniform(&state));

	for (int i = 0; i < SEGMENTS; i++) {
		double left = interval + stall;
		while (next < left) {
			wall += next;
			next = -mtbf * log(uniform(&state));
			left = restart + interval + stall;
		}
		wall += left;
		next -= left;
	}
	ck_assert_double_eq_tol(goodput(NULL, &f, interval), interval * SEGMENTS / wall, 0.005);
}
END_TEST

START_TEST(spare_nodes)
{
	/* Poisson of mean 4: 1 - P(n <= 9) = 0.00813, 1 - P(n <= 8) = 0.0214 (tables) */
	ck_assert_double_eq_tol(shortage(4, 9), 0.008132, 1e-6);
	ck_assert_double_eq_tol(shortage(4, 8), 0.021363, 1e-6);
	ck_assert_double_eq(spares_needed(4, 0.01), 9);
	ck_assert_double_eq(spares_needed(4, 0.05), 8);
	ck_assert_double_eq(spares_needed(1e-6, 0.01), 0);
	ck_assert_double_eq_tol(nodes_in_repair(NULL, 12 * hour, 48 * hour), 4, 1e-12);
	ck_assert_double_eq(node_count(NULL, 1025, 8), 129);
	ck_assert_double_eq_tol(spare_share(NULL, 9, 512), 9 / 512.0, 1e-15);
}
END_TEST

/* The least number that is enough, however many fail. */
START_TEST(spares_are_the_least)
{
	static const double means[] = {1e-6, 0.3, 1, 7, 300, 41234, 5e6}, risks[] = {0.5, 0.01, 1e-6};

	for (size_t i = 0; i < sizeof means / sizeof *means; i++)
		for (size_t k = 0; k < sizeof risks / sizeof *risks; k++) {
			const double n = spares_needed(means[i], risks[k]);
			ck_assert_double_le(shortage(means[i], n), risks[k]);
			ck_assert_msg(
			    n == 0 || shortage(means[i], n - 1) > risks[k], "%g of %g at %g", n, means[i], risks[k]);
		}
}
END_TEST

START_TEST(writing)
{
	ck_assert_double_eq_tol(checkpoint_write(NULL, 98e9, 2e9, 7), 7, 1e-12);
	ck_assert_double_eq_tol(bandwidth_for_write(NULL, 98e9, 49), 2e9, 1e-3);
	ck_assert_double_eq_tol(storage_busy(NULL, 60, 600), 0.1, 1e-15);
}
END_TEST

Suite *reliability_suite(void);

Suite *
reliability_suite(void)
{
	Suite *s = suite_create("reliability");
	TCase *t = tcase_create("reliability");

	tcase_add_test(t, rates);
	tcase_add_test(t, young_is_least);
	tcase_add_test(t, daly_is_better);
	tcase_add_test(t, goodput_and_its_parts);
	tcase_add_test(t, goodput_as_simulated);
	tcase_add_test(t, spare_nodes);
	tcase_add_test(t, spares_are_the_least);
	tcase_add_test(t, writing);
	suite_add_tcase(s, t);
	return s;
}
