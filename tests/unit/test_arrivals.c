/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/base.h"
#include "search/simulate/simulate.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

enum { N = 50000 };

START_TEST(splitmix)
{
	/* the reference implementation of Vigna (2015), from seed 1234567 */
	static const uint64_t first[] = {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
	    4593380528125082431u, 16408922859458223821u};
	uint64_t state = 1234567;

	for (size_t i = 0; i < sizeof first / sizeof *first; i++)
		ck_assert_uint_eq(random_next(&state), first[i]);
	for (int i = 0; i < 10000; i++) {
		const double u = random_uniform(&state);
		ck_assert(u > 0 && u < 1);
	}
}
END_TEST

START_TEST(quantiles)
{
	/* a gamma of shape 1 is the exponential; a half of shape 1/2 and mean 1 is a chi-square of one degree */
	ck_assert_double_eq_tol(num_gamma_quantile(0.5, 2, 1), 2 * log(2), 1e-12);
	ck_assert_double_eq_tol(num_gamma_quantile(0.5, 1, sqrt(2)), 0.45493642311957275, 1e-10);
	ck_assert_double_eq_tol(num_log_normal_quantile(0.5, 1, 1), 1 / sqrt(2), 1e-12);
	/* one standard deviation of the logarithm above its median */
	ck_assert_double_eq_tol(
	    num_log_normal_quantile(0.8413447460685429, 100, 0.5), 100 * exp(sqrt(log(1.25)) - log(1.25) / 2), 1e-9);
}
END_TEST

struct moments {
	double mean, cv;
};

static struct moments
moments_of(const double *x, size_t n)
{
	double sum = 0, squares = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i];
	const double mean = sum / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (x[i] - mean) * (x[i] - mean);
	return (struct moments){mean, sqrt(squares / (double)n) / mean};
}

START_TEST(gaps_and_lengths)
{
	static const double cvs[] = {0, 0.5, 1, 3};
	struct sim_request *r = malloc(N * sizeof *r);
	double *x = malloc(N * sizeof *x);

	for (size_t k = 0; k < sizeof cvs / sizeof *cvs; k++) {
		const struct sim_traffic t = {.n_requests = N,
		    .rate_request_per_s = 4,
		    .gap_cv = cvs[k],
		    .isl = {.kind = SIM_LOG_NORMAL, .mean_token = 2000, .cv = 0.8},
		    .osl = {.kind = SIM_CONSTANT, .mean_token = 128},
		    .cached_frac = 0.25,
		    .seed = k};
		ck_assert_ptr_null(traffic_fault(&t));
		traffic_draw(&t, r);
		for (size_t i = 0; i < N; i++)
			x[i] = r[i].arrival_s - (i ? r[i - 1].arrival_s : 0);
		struct moments m = moments_of(x, N);
		ck_assert_double_eq_tol(m.mean, 0.25, 0.25 * 4 * fmax(cvs[k], 1e-9) / sqrt(N));
		ck_assert_double_eq_tol(m.cv, cvs[k], 0.03 * cvs[k] + 1e-7);
		for (size_t i = 0; i < N; i++) {
			x[i] = r[i].isl_token;
			ck_assert_uint_eq(r[i].osl_token, 128);
			ck_assert_uint_eq(r[i].cached_token, r[i].isl_token / 4);
		}
		m = moments_of(x, N);
		ck_assert_double_eq_tol(m.mean, 2000, 2000 * 4 * 0.8 / sqrt(N));
		ck_assert_double_eq_tol(m.cv, 0.8, 0.03);
	}
	free(r);
	free(x);
}
END_TEST

START_TEST(empirical)
{
	static const uint32_t isl[] = {10, 20, 30, 40}, osl[] = {1, 2, 3, 4};
	struct sim_traffic t = {.n_requests = 40000,
	    .rate_request_per_s = INFINITY,
	    .isl = {.kind = SIM_EMPIRICAL, .values = isl, .n_values = 4},
	    .osl = {.kind = SIM_EMPIRICAL, .values = osl, .n_values = 4},
	    .paired = true};
	struct sim_request *r = malloc(t.n_requests * sizeof *r);
	size_t counts[5] = {0}, n_apart = 0;

	ck_assert_ptr_null(traffic_fault(&t));
	traffic_draw(&t, r);
	for (size_t i = 0; i < t.n_requests; i++) {
		ck_assert_uint_eq(r[i].isl_token, 10 * r[i].osl_token);
		ck_assert_double_eq(r[i].arrival_s, 0);
		counts[r[i].osl_token]++;
	}
	for (int i = 1; i <= 4; i++)
		ck_assert_double_eq_tol((double)counts[i], 10000, 400);
	t.paired = false;
	traffic_draw(&t, r);
	for (size_t i = 0; i < t.n_requests; i++)
		n_apart += r[i].isl_token != 10 * r[i].osl_token;
	ck_assert_double_eq_tol((double)n_apart, 30000, 400);
	free(r);
}
END_TEST

START_TEST(a_prompt_is_never_all_cached)
{
	const struct sim_traffic t = {.n_requests = 1,
	    .rate_request_per_s = INFINITY,
	    .isl = {.mean_token = 100},
	    .osl = {.mean_token = 1},
	    .cached_frac = 1};
	struct sim_request r;

	traffic_draw(&t, &r);
	ck_assert_uint_eq(r.cached_token, 99);
}
END_TEST

START_TEST(traces_in_order)
{
	const struct sim_arrival trace[] = {{1, 10, 10, 0}, {0.5, 10, 10, 0}}, zero[] = {{1, 0, 10, 0}};
	struct sim_traffic t = {.trace = trace, .n_requests = 2};

	ck_assert_ptr_nonnull(traffic_fault(&t));
	t.n_requests = 1;
	ck_assert_ptr_null(traffic_fault(&t));
	t.trace = zero;
	ck_assert_ptr_nonnull(traffic_fault(&t));
}
END_TEST

Suite *arrivals_suite(void);

Suite *
arrivals_suite(void)
{
	Suite *s = suite_create("arrivals");
	TCase *t = tcase_create("arrivals");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, splitmix);
	tcase_add_test(t, quantiles);
	tcase_add_test(t, gaps_and_lengths);
	tcase_add_test(t, empirical);
	tcase_add_test(t, a_prompt_is_never_all_cached);
	tcase_add_test(t, traces_in_order);
	suite_add_tcase(s, t);
	return s;
}
