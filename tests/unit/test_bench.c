/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the benchmarks decide by themselves, without a device: random numbers, the order of a chain, how long to sample.
 */
#include "bench/plan.c"
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

/* On a GPU, events and the launch take 2-5 us. */
START_TEST(samples_of_a_gpu_are_longer)
{
	struct device d = {.each_s = 3e-6};
	struct bench_sample sample;

	ck_assert_int_eq(bench_take(device_timer, &d, 0.02, BENCH_GPU_SAMPLE_S, &sample), BENCH_OK);
	ck_assert_double_ge((double)d.most * 3e-6, 1e-3);
}
END_TEST

/* --- plans ----------------------------------------------------------------------------------------------- */

/* Weights of the subjects of a GPU. */
static const double weights[] = {8, 4, 5, 2, 3, 30, 2, 6, 10};
enum { N_WEIGHTS = sizeof weights / sizeof *weights };

/* Seconds of a run in which subject i takes `share` of its budget, and those in `absent` (bits) nothing. */
static double
run_s(bool quick, double share, unsigned absent)
{
	double left = 0, elapsed_s = 0;

	for (int i = 0; i < N_WEIGHTS; i++)
		left += weights[i];
	for (int i = 0; i < N_WEIGHTS; i++) {
		const double budget_s = plan_budget_s(plan_total_s(quick), elapsed_s, weights[i], left);
		ck_assert_double_gt(budget_s, 0);
		elapsed_s += absent >> i & 1 ? 0 : share * budget_s;
		left -= weights[i];
	}
	return elapsed_s;
}

/* `ridge bench && ridge calibrate` in three minutes, --quick in one: budgets add up to no more than the total, and what
 * is promised for it leaves room for checks and for the fit. */
START_TEST(budgets_add_up)
{
	for (int quick = 0; quick < 2; quick++) {
		const double total_s = plan_total_s(quick);
		ck_assert_double_le(total_s, quick ? 20 : 90);
		for (unsigned absent = 0; absent < 1u << N_WEIGHTS; absent++)
			ck_assert_double_le(run_s(quick, 1, absent), 1.05 * total_s); /* the last ones get a little */
		ck_assert_double_eq_tol(run_s(quick, 1, 0), total_s, 1e-9);
		/* one GPU: none between several */
		ck_assert_double_le(run_s(quick, 1, 3u << 7), (1 + 1e-12) * total_s);
		/* subjects that overrun by a fifth take from those that follow */
		ck_assert_double_le(run_s(quick, 1.2, 3u << 7), 1.2 * total_s);
		/* one alone needs no more than its part */
		ck_assert_double_le(plan_budget_s(total_s, 0, 2, 2), 0.4 * total_s);
	}
}
END_TEST

/* What a GPU of each generation has: others are emulated, or emptied by the compiler. */
START_TEST(mma_is_measured_where_it_exists)
{
	static const struct {
		int capability;
		const char *dtypes;
	} has[] = {{70, ""}, {75, "fp16 int8"}, {80, "fp16 bf16 tf32 int8 fp64"}, {86, "fp16 bf16 tf32 int8"},
	    {89, "fp16 bf16 tf32 int8 fp8"}, {90, "fp16 bf16 tf32 int8 fp64"}, {100, "fp16 bf16 tf32 int8 fp64"},
	    {103, "fp16 bf16 tf32 int8 fp64"}, {120, "fp16 bf16 tf32 int8 fp8"}};
	static const char *const dtypes[] = {"fp16", "bf16", "tf32", "int8", "fp64", "fp8"};

	for (size_t i = 0; i < sizeof has / sizeof *has; i++)
		for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++)
			ck_assert_msg(
			    plan_has_mma(has[i].capability, dtypes[t]) == (strstr(has[i].dtypes, dtypes[t]) != NULL),
			    "%s on %d", dtypes[t], has[i].capability);
}
END_TEST

START_TEST(sizes_fill_the_gpu_and_fit_it)
{
	/* H200: 132 SMs with four blocks of 256 threads that load 16 bytes, 60 MB of L2, 141 GB */
	ck_assert_uint_eq(plan_least_byte(132 * 4 * 256, 16), 4u << 20);
	ck_assert_uint_eq(plan_least_byte(1, 16), 1u << 20);
	ck_assert_uint_eq(plan_most_byte((size_t)4 << 30, 1 << 20, 2, 4, 141e9), (size_t)4 << 30);
	/* a 16 GB V100: three arrays of a quarter of what is free */
	ck_assert_uint_eq(plan_most_byte((size_t)4 << 30, 1 << 20, 2, 4, 15.5e9), (size_t)2 << 30);
	ck_assert_uint_eq(plan_most_byte(1 << 24, 4096, 4, 4, 0), 4096);
	/* of what was written before the walk, at most an eighth is in L2; B200 has 126 MB */
	ck_assert_uint_eq(plan_chain_byte(60e6, 141e9), (size_t)512 << 20);
	ck_assert_uint_eq(plan_chain_byte(126e6, 180e9), (size_t)1 << 30);
	ck_assert_uint_eq(plan_chain_byte(126e6, 1e9), (size_t)256 << 20);
}
END_TEST

START_TEST(short_sums_lose_more_in_deep_products)
{
	ck_assert_double_eq(plan_gemm_tolerance(6e-2, true, 1024), 6e-2);
	ck_assert_double_eq_tol(plan_gemm_tolerance(6e-2, true, 14336), 0.21, 1e-12);
	ck_assert_double_eq(plan_gemm_tolerance(1e-2, false, 14336), 1e-2);
}
END_TEST

Suite *bench_suite(void);

Suite *
bench_suite(void)
{
	Suite *const suite = suite_create("bench");
	TCase *const numbers = tcase_create("numbers"), *const samples = tcase_create("samples"),
	             *const plans = tcase_create("plans");

	tcase_add_test(numbers, random_is_uniform_and_repeats);
	tcase_add_test(numbers, chain_visits_every_place_once);
	tcase_add_test(numbers, chain_is_in_no_order);
	tcase_add_test(numbers, wrong_results_are_counted);
	tcase_add_test(samples, sample_keeps_outliers);
	tcase_add_test(samples, steady_times_are_not_taken_for_long);
	tcase_add_test(samples, unsteady_times_are_taken_until_there_are_enough);
	tcase_add_test(samples, spent_time_ends_sampling);
	tcase_add_test(samples, failures_and_interrupts_are_passed_on);
	tcase_add_test(samples, samples_of_a_gpu_are_longer);
	tcase_add_test(plans, budgets_add_up);
	tcase_add_test(plans, mma_is_measured_where_it_exists);
	tcase_add_test(plans, sizes_fill_the_gpu_and_fit_it);
	tcase_add_test(plans, short_sums_lose_more_in_deep_products);
	suite_add_tcase(suite, plans);
	suite_add_tcase(suite, numbers);
	suite_add_tcase(suite, samples);
	return suite;
}
