/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replicas for objectives: the closed form against the simulator, and how answers must hang together. */
#include "model/serve/serve.h"
#include "search/plan/plan.h"
#include "search/simulate/simulate.h"

#include <check.h>
#include <math.h>
#include <time.h>

#include "serve_world.h"

static struct scene x;

static void
set_8b(void)
{
	x.engine = engine_base();
	x.engine.max_sequences = num(512);
	x.engine.max_tokens = num(8192);
	x.architecture = hopper();
	scene_set(&x, gpu_h100, &llama31_8b, bf16(), alone);
}

static void
set_70b(void)
{
	set_8b();
	scene_set(&x, gpu_h100, &llama31_70b, bf16(), TENSOR(4));
}

static struct plan_load
load_of(double rate_request_per_s, double cv)
{
	return (struct plan_load){.rate_request_per_s = rate_request_per_s,
	    .isl_token = 467,
	    .osl_token = 256,
	    .isl_cv = cv,
	    .osl_cv = cv,
	    .utilisation_frac = 0.8};
}

static void
check_near(const char *what, double n_running, double got, double want, double tolerance)
{
	ck_assert_msg(
	    fabs(got / want - 1) <= tolerance, "%s with %g running: %g, simulated %g", what, n_running, got, want);
}

static struct simulation *
simulated(const struct plan_load *l, double rate, size_t n_requests)
{
	const enum sim_lengths_kind kind = l->isl_cv > 0 ? SIM_LOG_NORMAL : SIM_CONSTANT;
	const struct serve_load usual = plan_serve_load(l);
	const char *fault;
	const struct sim_config c = {.traffic = {.n_requests = n_requests,
	                                 .rate_request_per_s = rate,
	                                 .gap_cv = 1,
	                                 .isl = {.kind = kind, .mean_token = l->isl_token, .cv = l->isl_cv},
	                                 .osl = {.kind = kind, .mean_token = l->osl_token, .cv = l->osl_cv},
	                                 .seed = 1},
	    .engine = simulate_setup(&x.setup, &usual),
	    .n_replicas = 1,
	    .warmup_frac = 0.2,
	    .objectives = {NAN, NAN, NAN}};
	struct simulation *s = simulate(&c, &fault);

	ck_assert_ptr_nonnull(s);
	return s;
}

/* The closed form says what the simulator finds, percentiles included. */
static void
check_points(double cv, double mean_tolerance, double tail_tolerance)
{
	static const double shares[] = {0.02, 0.1, 0.3, 0.6, 0.8};
	const struct plan_load l = load_of(1, cv);
	const struct serve_load usual = plan_serve_load(&l);
	const double starting = serve_starting(NULL, &x.setup, &usual, serve_running(NULL, &x.setup, &usual)),
	             most = serve_request_rate(NULL, starting, serve_steady(NULL, &x.setup, &usual, starting));

	for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
		struct plan_point p;

		ck_assert(plan_point(&x.setup, &l, shares[i] * most, &p));
		struct simulation *s = simulated(&l, p.rate_request_per_s, 20000);
		const struct sim_result *r = simulation_result(s);
		const double n = p.n_running;
		check_near("running", n, n, r->mean_running, 0.07);
		check_near("mean first token", n, p.latency_s[PLAN_TTFT][PLAN_MEAN], r->ttft.mean, mean_tolerance);
		check_near("P50 first token", n, p.latency_s[PLAN_TTFT][PLAN_P50], r->ttft.p50, mean_tolerance);
		check_near("P90 first token", n, p.latency_s[PLAN_TTFT][PLAN_P90], r->ttft.p90, tail_tolerance);
		check_near("P95 first token", n, p.latency_s[PLAN_TTFT][PLAN_P95], r->ttft.p95, tail_tolerance);
		check_near("P99 first token", n, p.latency_s[PLAN_TTFT][PLAN_P99], r->ttft.p99, tail_tolerance);
		check_near("mean per token", n, p.latency_s[PLAN_TPOT][PLAN_MEAN], r->tpot.mean, 0.06);
		check_near("P99 per token", n, p.latency_s[PLAN_TPOT][PLAN_P99], r->tpot.p99, 0.15);
		check_near("mean answer", n, p.latency_s[PLAN_E2E][PLAN_MEAN], r->e2e.mean, 0.05);
		check_near("P99 answer", n, p.latency_s[PLAN_E2E][PLAN_P99], r->e2e.p99, 0.16);
		simulation_free(s);
	}
}

START_TEST(closed_form_against_simulation)
{
	set_8b();
	check_points(0, 0.06, 0.1);
	check_points(0.8, 0.12, 0.2);
	set_70b();
	check_points(0, 0.06, 0.1);
	check_points(0.8, 0.12, 0.2);
}
END_TEST

/* Answers of a few tokens: many prompts begin with every step. */
START_TEST(short_answers)
{
	struct plan_load l = load_of(1, 0);
	struct plan_point p;

	set_8b();
	l.osl_token = 4;
	l.isl_token = 60;
	ck_assert(plan_point(&x.setup, &l, 250, &p));
	struct simulation *s = simulated(&l, 250, 40000);
	const struct sim_result *r = simulation_result(s);
	check_near("mean first token", p.n_running, p.latency_s[PLAN_TTFT][PLAN_MEAN], r->ttft.mean, 0.1);
	check_near("P99 first token", p.n_running, p.latency_s[PLAN_TTFT][PLAN_P99], r->ttft.p99, 0.15);
	check_near("mean per token", p.n_running, p.latency_s[PLAN_TPOT][PLAN_MEAN], r->tpot.mean, 0.1);
	simulation_free(s);
}
END_TEST

START_TEST(fleets)
{
	ck_assert_double_eq(serve_fleet_rate(NULL, 2.5, 4), 10);
	/* 20 a second and half as many again, 5 each: exactly 6 */
	ck_assert_double_eq(serve_fleet_needed(NULL, 20, 0.5, 5), 6);
	ck_assert_double_eq(serve_fleet_needed(NULL, 20.01, 0.5, 5), 7);
	ck_assert_double_eq(serve_fleet_needed(NULL, 0.1, 0, 5), 1);
	ck_assert_double_eq(serve_fleet_all(NULL, 6, 1, 2), 9);
	/* 100 users, 5 s for an answer, 15 s of thought: 5 a second */
	ck_assert_double_eq(serve_user_rate(NULL, 100, 5, 15), 5);
	ck_assert_double_eq(serve_day_rate(NULL, 86400e3, 200), 5);
	ck_assert_double_eq(serve_fleet_gpus(NULL, 9, 4), 36);
	ck_assert_double_eq(serve_fleet_power(NULL, 36, 700), 25200);
	ck_assert_double_eq(serve_request_usd(NULL, 36, 0.001, 18), 0.002);
	/* 20 ms for 50 tokens against 40 ms for 1000 */
	ck_assert_double_eq_tol(serve_token_weight(NULL, 0.02, 50, 0.04, 1000), 10, 1e-12);
}
END_TEST

START_TEST(limits_bind)
{
	struct plan_objective o[] = {{PLAN_TTFT, PLAN_P99, 0.06}, {PLAN_TPOT, PLAN_MEAN, 1}, {PLAN_E2E, PLAN_P90, 100}};
	struct plan_load l = load_of(100, 0);
	enum plan_bound bound;
	struct plan_point free_of, bound_by;

	set_8b();
	ck_assert(plan_most(&x.setup, &l, &free_of, &bound));
	ck_assert_int_eq(bound, PLAN_BY_SEQUENCES);
	l.objectives = o;
	l.n_objectives = 3;
	ck_assert(plan_most(&x.setup, &l, &bound_by, &bound));
	ck_assert_int_eq(bound, PLAN_BY_TTFT);
	ck_assert_double_lt(bound_by.rate_request_per_s, free_of.rate_request_per_s);
	/* the limit is nearly used up */
	ck_assert_double_le(bound_by.latency_s[PLAN_TTFT][PLAN_P99], 0.06);
	ck_assert_double_ge(bound_by.latency_s[PLAN_TTFT][PLAN_P99], 0.058);
	o[1].limit_s = 0.0095;
	ck_assert(plan_most(&x.setup, &l, &bound_by, &bound));
	ck_assert_int_eq(bound, PLAN_BY_TPOT);
	o[2].limit_s = 2.2;
	ck_assert(plan_most(&x.setup, &l, &bound_by, &bound));
	ck_assert_int_eq(bound, PLAN_BY_E2E);
	o[0].limit_s = 0.001;
	ck_assert(!plan_most(&x.setup, &l, &bound_by, &bound));
	ck_assert_int_eq(bound, PLAN_MISSES);
	x.setup.mem_byte.value = 10e9; /* the weights alone are more */
	ck_assert(!plan_most(&x.setup, &l, &bound_by, &bound));
	ck_assert_int_eq(bound, PLAN_DOES_NOT_FIT);
	x.setup.mem_byte.value = 30e9;
	l.n_objectives = 0;
	ck_assert(plan_most(&x.setup, &l, &bound_by, &bound));
	ck_assert_int_eq(bound, PLAN_BY_CACHE);
}
END_TEST

START_TEST(tighter_needs_more)
{
	struct plan_objective o = {PLAN_TTFT, PLAN_P90, 1};
	struct plan_load l = load_of(200, 0);
	double previous = 0;

	set_8b();
	l.objectives = &o;
	l.n_objectives = 1;
	for (o.limit_s = 0.2; o.limit_s > 0.025; o.limit_s /= 1.2) {
		struct plan_candidate c = {
		    .setup = &x.setup, .n_replica_gpus = 1, .n_unit_gpus = 1, .gpu_usd_per_s = NAN, .gpu_watt = NAN};
		plan_size(&c, &l);
		ck_assert_double_ge(c.n_needed, previous);
		previous = c.n_needed;
	}
	ck_assert_double_gt(previous, 10);
}
END_TEST

START_TEST(replicas_follow_the_load)
{
	struct plan_candidate c = {
	    .setup = &x.setup, .n_replica_gpus = 4, .n_unit_gpus = 1, .gpu_usd_per_s = 2 / 3600.0, .gpu_watt = 700};
	struct plan_load l = load_of(1000, 0);

	set_70b();
	plan_size(&c, &l);
	const double n = c.n_needed;
	ck_assert_double_eq(n, ceil(1000 / c.most.rate_request_per_s));
	ck_assert_double_eq(c.n_gpus, 4 * n);
	ck_assert_double_eq_tol(c.all_usd_per_s, 8 * n / 3600, 1e-12);
	ck_assert_double_eq(c.all_watt, 2800 * n);
	ck_assert_double_eq_tol(c.usual.rate_request_per_s, 1000 / n, 1e-3 * 1000 / n);
	l.growth_frac = 0.5;
	l.n_spare = 2;
	plan_size(&c, &l);
	ck_assert_double_eq(c.n_needed, ceil(1500 / c.most.rate_request_per_s));
	ck_assert_double_eq(c.n_all, c.n_needed + 2);
	/* today they have it easier */
	ck_assert_double_eq_tol(c.usual.rate_request_per_s, 1000 / c.n_all, 1);
	ck_assert_double_lt(c.usual.latency_s[PLAN_TPOT][PLAN_MEAN], c.most.latency_s[PLAN_TPOT][PLAN_MEAN]);
}
END_TEST

/* Users who think and the rate that they make are one load: N = X (R + Z). */
START_TEST(users_make_a_rate)
{
	struct plan_candidate c = {.setup = &x.setup,
	                          .n_replica_gpus = 1,
	                          .n_unit_gpus = 1,
	                          .gpu_usd_per_s = NAN,
	                          .gpu_watt = NAN},
	                      d = c;
	struct plan_load users = load_of(NAN, 0), rate = load_of(0, 0);

	set_8b();
	users.n_users = 20000;
	users.think_s = 10;
	plan_size(&c, &users);
	ck_assert_double_eq_tol(c.usual.load * c.n_all, 20000, 20);
	rate.rate_request_per_s = 20000 / (10 + c.most.latency_s[PLAN_E2E][PLAN_MEAN]);
	plan_size(&d, &rate);
	ck_assert_double_eq_tol(c.n_needed, d.n_needed, 1);
}
END_TEST

START_TEST(simulation_confirms)
{
	const struct plan_objective o[] = {{PLAN_TTFT, PLAN_P90, 0.2}, {PLAN_TPOT, PLAN_MEAN, 0.04}};
	struct plan_candidate c = {
	    .setup = &x.setup, .n_replica_gpus = 4, .n_unit_gpus = 1, .gpu_usd_per_s = NAN, .gpu_watt = NAN};
	struct plan_load l = load_of(300, 0.8);

	set_70b();
	l.objectives = o;
	l.n_objectives = 2;
	plan_size(&c, &l);
	plan_confirm(&c, &l, 1);
	ck_assert(c.confirmed);
	ck_assert_double_le(c.n_added, 0.15 * c.n_needed);
	ck_assert_double_le(c.proven.latency_s[PLAN_TTFT][PLAN_P90], 0.2);
	/* the closed form was near */
	ck_assert_double_eq_tol(
	    c.proven.latency_s[PLAN_TPOT][PLAN_MEAN] / c.most.latency_s[PLAN_TPOT][PLAN_MEAN], 1, 0.15);
	/* users, too */
	l.rate_request_per_s = NAN;
	l.n_users = 3000;
	l.think_s = 5;
	plan_size(&c, &l);
	plan_confirm(&c, &l, 1);
	ck_assert(c.confirmed);
}
END_TEST

START_TEST(front_is_not_beaten)
{
	struct plan_candidate list[8];
	struct serve_setup setups[8];
	struct engine engines[8];
	struct arena *a = arena_new();
	const struct plan_load l = load_of(100, 0);
	int n_front = 0;

	set_8b();
	for (int i = 0; i < 8; i++) {
		engines[i] = x.engine;
		engines[i].max_sequences = num(16 << (i % 4));
		setups[i] = x.setup;
		setups[i].engine = &engines[i];
		list[i] = (struct plan_candidate){.setup = &setups[i],
		    .n_replica_gpus = 1 + i % 3,
		    .n_unit_gpus = 1,
		    .gpu_usd_per_s = i == 6 ? (double)NAN : 1 + i % 2,
		    .gpu_watt = NAN};
	}
	setups[7].mem_byte.value = 1e9;
	plan_all(a, list, 8, &l);
	for (int i = 0; i < 8; i++) {
		const double cost = list[i].all_usd_per_s, e2e_s = list[i].usual.latency_s[PLAN_E2E][PLAN_MEAN];
		n_front += list[i].front && !isnan(cost);
		for (int k = 0; k < 8 && !isnan(cost); k++)
			if (list[i].front && !isnan(list[k].all_usd_per_s))
				ck_assert(!(list[k].all_usd_per_s <= cost &&
				    list[k].usual.latency_s[PLAN_E2E][PLAN_MEAN] < e2e_s));
		if (i && i < 6)
			ck_assert_double_ge(cost, list[i - 1].all_usd_per_s);
	}
	ck_assert_int_ge(n_front, 1);
	ck_assert(isnan(list[6].all_usd_per_s));
	ck_assert_int_eq(list[7].bound, PLAN_DOES_NOT_FIT);
	ck_assert(!list[7].front);
	arena_free(a);
}
END_TEST

START_TEST(quick_enough_for_all_layouts)
{
	const struct plan_objective o[] = {{PLAN_TTFT, PLAN_P99, 0.3}, {PLAN_E2E, PLAN_P90, 20}};
	struct plan_load l = load_of(100, 0.8);
	const clock_t start = clock();

	set_8b();
	l.objectives = o;
	l.n_objectives = 2;
	for (int i = 0; i < 100; i++) {
		struct plan_candidate c = {
		    .setup = &x.setup, .n_replica_gpus = 1, .n_unit_gpus = 1, .gpu_usd_per_s = NAN, .gpu_watt = NAN};
		plan_size(&c, &l);
	}
	/* 5 ms each where nothing is optimised and everything is checked, a tenth of that otherwise */
	ck_assert_double_le((double)(clock() - start) / CLOCKS_PER_SEC, 10);
}
END_TEST

Suite *plan_capacity_suite(void);

Suite *
plan_capacity_suite(void)
{
	Suite *s = suite_create("plan_capacity");
	TCase *t = tcase_create("plan_capacity");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, closed_form_against_simulation);
	tcase_add_test(t, short_answers);
	tcase_add_test(t, fleets);
	tcase_add_test(t, limits_bind);
	tcase_add_test(t, tighter_needs_more);
	tcase_add_test(t, replicas_follow_the_load);
	tcase_add_test(t, users_make_a_rate);
	tcase_add_test(t, simulation_confirms);
	tcase_add_test(t, front_is_not_beaten);
	tcase_add_test(t, quick_enough_for_all_layouts);
	suite_add_tcase(s, t);
	return s;
}
