/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the benchmarks decide by themselves, without a device: random numbers, the order of a chain, how long to sample.
 */
#include "bench/sample.c"

#include <check.h>

/* --- numbers --------------------------------------------------------------------------------------------- */

START_TEST(random_is_uniform_and_repeats)
{
	double sum = 0, squares = 0;
	const int n = 100000;

	for (int i = 0; i < n; i++) {
		const double x = bench_random(3, (uint64_t)i);
		ck_assert(x >= -1 && x < 1);
		ck_assert_double_eq(x, bench_random(3, (uint64_t)i));
		sum += x;
		squares += x * x;
	}
	/* mean 0 and variance 1/3, within four standard errors */
	ck_assert_double_le(fabs(sum / n), 4 * sqrt(1.0 / 3 / n));
	ck_assert_double_le(fabs(squares / n - 1.0 / 3), 4 * sqrt(4.0 / 45 / n));
	ck_assert_double_ne(bench_random(3, 1), bench_random(4, 1));
}
END_TEST

START_TEST(chain_visits_every_place_once)
{
	static const size_t sizes[] = {1, 2, 3, 31, 64, 1000, 4096};
	uint32_t next[4096];

	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
		for (uint64_t seed = 0; seed < 5; seed++) {
			const size_t n = sizes[s];
			uint32_t at = 0;
			size_t steps = 0;
			bench_cycle(next, n, seed);
			do {
				at = next[at];
				ck_assert_uint_lt(at, n);
				steps++;
			} while (at != 0 && steps <= n);
			ck_assert_uint_eq(steps, n);
		}
}
END_TEST

/* A chain of neighbours would be followed by a prefetcher. */
START_TEST(chain_is_in_no_order)
{
	uint32_t next[4096];
	int n_near = 0;

	bench_cycle(next, 4096, 1);
	for (uint32_t i = 0; i < 4096; i++)
		n_near += next[i] == i + 1 || next[i] + 1 == i;
	ck_assert_int_lt(n_near, 20);
}
END_TEST

START_TEST(wrong_results_are_counted)
{
	struct bench b = {.subject = "test"};

	ck_assert(bench_right(&b, 0, 0, "exact"));
	ck_assert(bench_right(&b, 1e-3, 1e-2, "near"));
	ck_assert_int_eq(b.n_wrong, 0);
	ck_assert(!bench_right(&b, 2e-2, 1e-2, "far"));
	ck_assert(!bench_right(&b, NAN, 1e-2, "not a number"));
	ck_assert_int_eq(b.n_wrong, 2);
}
END_TEST

/* --- samples --------------------------------------------------------------------------------------------- */

static bool interrupted;

bool
bench_stopped(void)
{
	return interrupted;
}

START_TEST(sample_keeps_outliers)
{
	double odd[] = {3, 1, 100}, even[] = {4, 1, 2, 3};
	const struct bench_sample a = bench_sample_of(odd, 3), b = bench_sample_of(even, 4);

	ck_assert_double_eq(a.median_s, 3);
	ck_assert_double_eq(a.min_s, 1);
	ck_assert_double_eq(a.max_s, 100);
	ck_assert_int_eq(a.n, 3);
	ck_assert_double_eq(b.median_s, 2.5);
}
END_TEST

/* A device that says how long it took: `each_s` a repetition, now and then longer. */
struct device {
	double each_s, spread;
	long calls, most;
};

static double
device_timer(void *context, long n)
{
	struct device *const d = context;

	d->calls++;
	d->most = n > d->most ? n : d->most;
	return d->each_s < 0 ? -1 : (double)n * d->each_s * (1 + d->spread * (double)(d->calls % 7));
}

START_TEST(steady_times_are_not_taken_for_long)
{
	struct device d = {.each_s = 1e-6};
	struct bench_sample sample;

	ck_assert_int_eq(bench_take(device_timer, &d, 10, BENCH_HOST_SAMPLE_S, &sample), BENCH_OK);
	ck_assert_double_eq_tol(sample.median_s, 1e-6, 1e-12);
	ck_assert_int_eq(sample.n, SAMPLES_STABLE);
	/* a sample is long enough for the clock */
	ck_assert_double_ge((double)d.most * 1e-6, BENCH_HOST_SAMPLE_S);
}
END_TEST

START_TEST(unsteady_times_are_taken_until_there_are_enough)
{
	struct device d = {.each_s = 1e-6, .spread = 0.1};
	struct bench_sample sample;

	ck_assert_int_eq(bench_take(device_timer, &d, 10, BENCH_HOST_SAMPLE_S, &sample), BENCH_OK);
	ck_assert_int_eq(sample.n, SAMPLES_MAX);
	ck_assert_double_lt(sample.min_s, sample.median_s);
	ck_assert_double_lt(sample.median_s, sample.max_s);
}
END_TEST

START_TEST(spent_time_ends_sampling)
{
	struct device d = {.each_s = 1, .spread = 0.1};
	struct bench_sample sample;

	ck_assert_int_eq(bench_take(device_timer, &d, 0, BENCH_HOST_SAMPLE_S, &sample), BENCH_OK);
	ck_assert_int_eq(sample.n, SAMPLES_MIN);
	ck_assert_int_eq(d.most, 1);
}
END_TEST

START_TEST(failures_and_interrupts_are_passed_on)
{
	struct device failing = {.each_s = -1}, d = {.each_s = 1e-6};
	struct bench_sample sample;

	ck_assert_int_eq(bench_take(device_timer, &failing, 1, BENCH_HOST_SAMPLE_S, &sample), BENCH_FAILED);
	interrupted = true;
	ck_assert_int_eq(bench_take(device_timer, &d, 1, BENCH_HOST_SAMPLE_S, &sample), BENCH_STOPPED);
	interrupted = false;
}
END_TEST

Suite *bench_suite(void);

Suite *
bench_suite(void)
{
	Suite *const suite = suite_create("bench");
	TCase *const numbers = tcase_create("numbers"), *const samples = tcase_create("samples");

	tcase_add_test(numbers, random_is_uniform_and_repeats);
	tcase_add_test(numbers, chain_visits_every_place_once);
	tcase_add_test(numbers, chain_is_in_no_order);
	tcase_add_test(numbers, wrong_results_are_counted);
	tcase_add_test(samples, sample_keeps_outliers);
	tcase_add_test(samples, steady_times_are_not_taken_for_long);
	tcase_add_test(samples, unsteady_times_are_taken_until_there_are_enough);
	tcase_add_test(samples, spent_time_ends_sampling);
	tcase_add_test(samples, failures_and_interrupts_are_passed_on);
	suite_add_tcase(suite, numbers);
	suite_add_tcase(suite, samples);
	return suite;
}
