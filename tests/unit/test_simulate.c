/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scheduler against steps worked out by hand, and what holds for every simulation. */
#include "search/simulate/simulate.h"

#include <check.h>
#include <math.h>
#include <string.h>

/* 10 ms, 10 us for each token of the batch, 0.1 us for each token that is read from the cache. */
static double
toy_step(const void *context, const struct sim_batch *b)
{
	(void)context;
	return 10e-3 + 10e-6 * (b->prefill_token + b->n_decode) + 0.1e-6 * b->n_decode * b->context_token;
}

static const struct sim_arrival four[] = {{0, 300, 40, 0}, {0, 200, 60, 0}, {0.05, 500, 20, 0}, {0.30, 100, 10, 0}};
static const struct sim_objectives none = {NAN, NAN, NAN};

static struct sim_config
toy(size_t n_blocks, size_t max_step_token)
{
	return (struct sim_config){.traffic = {.trace = four, .n_requests = 4},
	    .engine = {.cost = {.step = toy_step},
	        .n_blocks = n_blocks,
	        .block_token = 16,
	        .max_sequences = 8,
	        .max_step_token = max_step_token},
	    .n_replicas = 1,
	    .objectives = none};
}

/* Requests of 200 and 100 tokens on average, drawn; Poisson. */
static struct sim_config
drawn(size_t n, double rate_request_per_s)
{
	struct sim_config c = toy(400, 1024);

	c.traffic = (struct sim_traffic){.n_requests = n,
	    .rate_request_per_s = rate_request_per_s,
	    .gap_cv = 1,
	    .isl = {.kind = SIM_LOG_NORMAL, .mean_token = 200, .cv = 0.8},
	    .osl = {.kind = SIM_LOG_NORMAL, .mean_token = 100, .cv = 0.8},
	    .seed = 7};
	c.engine.max_sequences = 32;
	return c;
}

static struct simulation *
run(const struct sim_config *c)
{
	const char *fault;
	struct simulation *s = simulate(c, &fault);

	ck_assert_msg(s, "%s", fault ? fault : "");
	return s;
}

/* Worked out step by step by two programs that share no code. */
START_TEST(worked_steps)
{
	static const struct {
		size_t n_blocks, max_step_token;
		bool evict, chunked, prefill_first;
		double first_ms[4], last_ms[4];
		int n_preempted[4];
		size_t n_steps;
		double end_s;
	} cases[] = {
	    {100, 1024, false, false, false, {15.0, 15.0, 70.353, 314.276}, {415.2295, 615.9285, 262.899, 405.1517},
	        {0}, 60, .6159285},
	    {100, 256, false, true, false, {25.0, 25.0, 80.353, 314.2002}, {425.2295, 625.9285, 272.899, 405.0741}, {0},
	        61, .6259285},
	    {40, 1024, true, false, false, {15.0, 15.0, 624.585, 624.585}, {407.886, 608.585, 815.9285, 715.314}, {0},
	        80, .8159285},
	    {36, 1024, true, false, false, {15.0, 15.0, 665.9114, 868.0704}, {407.751, 650.9114, 857.0704, 958.2549},
	        {0, 1, 0, 0}, 94, .9582549},
	    {100, 1024, false, false, true, {15.0, 15.0, 70.282, 314.1246}, {435.2295, 635.9285, 262.8242, 404.9967},
	        {0}, 62, .6359285},
	};

	for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
		const size_t k = i / 2;
		struct sim_config c = toy(cases[k].n_blocks, cases[k].max_step_token);
		c.every_step = i % 2;
		c.engine.evict = cases[k].evict;
		c.engine.chunked = cases[k].chunked;
		c.engine.prefill_first = cases[k].prefill_first;
		struct simulation *s = run(&c);
		const struct sim_result *r = simulation_result(s);
		for (int j = 0; j < 4; j++) {
			ck_assert_double_eq_tol(1e3 * r->requests[j].first_s, cases[k].first_ms[j], 5e-8);
			ck_assert_double_eq_tol(1e3 * r->requests[j].last_s, cases[k].last_ms[j], 5e-8);
			ck_assert_int_eq(r->requests[j].n_preempted, cases[k].n_preempted[j]);
		}
		ck_assert_uint_eq(r->n_steps, cases[k].n_steps);
		ck_assert_double_eq_tol(r->end_s, cases[k].end_s, 1e-10);
		simulation_free(s);
	}
}
END_TEST

/* An engine that looks at who waits every tenth step takes the second request then: one that came before the last look
 * waits no longer than others, and nobody waits while nobody decodes. */
START_TEST(looks_now_and_then)
{
	static const struct sim_arrival two[] = {{0, 10, 100, 0}, {0.055, 10, 5, 0}};
	static const struct {
		size_t poll_steps, alike;
		double first_s;
	} cases[] = {{0, 1, 0.0706}, {10, 1, 0.1204}, {10, 0, 0.1204}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sim_config c = toy(400, 1024);
		c.traffic.trace = two;
		c.traffic.n_requests = 2;
		c.engine.poll_steps = cases[i].poll_steps;
		c.every_step = cases[i].alike;
		struct simulation *s = run(&c);
		const struct sim_result *r = simulation_result(s);
		ck_assert_double_eq_tol(r->requests[0].first_s, 0.0101, 1e-9);
		ck_assert_double_eq_tol(r->requests[1].first_s, cases[i].first_s, 4e-4);
		simulation_free(s);
	}
}
END_TEST

/* A server that has just been started: its first step takes longer, and all wait for it. */
START_TEST(begins_cold)
{
	struct sim_config c = toy(400, 1024);

	c.engine.cold_s = 1;
	struct simulation *s = run(&c);
	const struct sim_result *r = simulation_result(s);
	ck_assert_double_eq_tol(r->requests[0].first_s, 1.015, 1e-9);
	ck_assert_double_ge(r->requests[2].first_s, 1.015);
	ck_assert_double_le(r->requests[2].first_s, 1.05);
	simulation_free(s);
}
END_TEST

/* --- what holds for every simulation --------------------------------------------------------------------- */

struct limits {
	double sequences, held_token, step_token;
};

/* The toy's cost, which fails when a batch holds more than the engine has. */
static double
limited_step(const void *context, const struct sim_batch *b)
{
	const struct limits *l = context;

	ck_assert(b->n_prefill > 0 || b->n_decode > 0);
	ck_assert_double_le(b->n_prefill + b->n_decode, l->sequences);
	ck_assert_double_le(b->prefill_token + b->n_decode, l->step_token);
	ck_assert_double_le(
	    b->n_decode * b->context_token + b->prefill_token + b->n_prefill * b->prefix_token, l->held_token);
	ck_assert_double_le(b->n_rows, b->n_prefill + b->n_decode);
	return toy_step(NULL, b);
}

/* 24 engines: every policy, chunked or not, one replica or several, open and closed. */
static struct sim_config
engine_number(unsigned i)
{
	struct sim_config c = drawn(1500, 6);

	c.engine.evict = i & 1;
	c.engine.chunked = i & 2;
	c.engine.prefill_first = i & 4;
	if (i & 8) {
		c.n_replicas = 3;
		c.routing = (enum sim_routing)(i % 3);
		c.traffic.rate_request_per_s = 18;
	}
	if (i & 16) {
		c.traffic.n_clients = 20;
		c.traffic.think_s = 0.1;
	}
	c.engine.n_blocks = i % 5 == 0 ? 60 : 200; /* some requests are larger than the small one */
	c.traffic.seed = i;
	return c;
}

START_TEST(everybody_is_served)
{
	for (unsigned i = 0; i < 32; i++) {
		struct sim_config c = engine_number(i);
		const struct limits l = {
		    (double)c.engine.max_sequences, (double)c.engine.n_blocks * 16, c.engine.chunked ? 1024 : 1e9};
		c.engine.cost = (struct sim_cost){.context = &l, .step = limited_step};
		struct simulation *s = run(&c);
		const struct sim_result *r = simulation_result(s);
		size_t n_refused = 0, n_preempted = 0;

		ck_assert_uint_eq(r->n_finished + r->n_refused, 1500);
		for (size_t k = 0; k < r->n_requests; k++) {
			const struct sim_request *q = &r->requests[k];
			const size_t blocks = (q->isl_token + q->osl_token + 15) / 16;
			n_preempted += q->n_preempted;
			if (blocks > c.engine.n_blocks) {
				n_refused++;
				ck_assert(isnan(q->first_s) && isnan(q->last_s));
				continue;
			}
			ck_assert_uint_eq(q->made_token, q->osl_token);
			ck_assert_double_gt(q->first_s, q->arrival_s);
			ck_assert_double_ge(q->last_s, q->first_s + 0.01 * (q->osl_token - 1) * (1 - 1e-9));
		}
		ck_assert_uint_eq(n_refused, r->n_refused);
		ck_assert_uint_eq(n_preempted, r->n_preempted);
		ck_assert(c.engine.evict || n_preempted == 0);
		ck_assert_double_le(r->most_cache_frac, 1);
		simulation_free(s);
	}
}
END_TEST

START_TEST(clocks_go_forward)
{
	for (unsigned i = 0; i < 32; i++) {
		struct sim_config c = engine_number(i);
		c.timeline_rows = 100000;
		struct simulation *s = run(&c);
		const struct sim_result *r = simulation_result(s);

		ck_assert_uint_gt(r->n_moments, 100);
		for (size_t k = 1; k < r->n_moments; k++) {
			const struct sim_moment *m = &r->moments[k];
			if (m->replica == m[-1].replica)
				ck_assert_double_gt(m->time_s, m[-1].time_s);
			ck_assert(m->cache_frac >= 0 && m->cache_frac <= 1);
			ck_assert_uint_le(m->n_decode, m->n_running);
		}
		simulation_free(s);
	}
}
END_TEST

START_TEST(timeline_is_thinned)
{
	struct sim_config c = drawn(1500, 6);

	c.timeline_rows = 64;
	struct simulation *s = run(&c);
	const struct sim_result *r = simulation_result(s);
	ck_assert_uint_le(r->n_moments, 64);
	ck_assert_uint_ge(r->n_moments, 32);
	ck_assert_double_gt(r->moments[r->n_moments - 1].time_s, 0.9 * r->end_s);
	simulation_free(s);
}
END_TEST

/* The toy's cost is linear in the context, so a run of steps costs what its steps cost. */
START_TEST(fast_forward_is_exact)
{
	for (unsigned i = 0; i < 32; i++) {
		struct sim_config c = engine_number(i);
		struct simulation *fast = run(&c);
		c.every_step = true;
		struct simulation *slow = run(&c);
		const struct sim_result *a = simulation_result(fast), *b = simulation_result(slow);

		ck_assert_uint_eq(a->n_steps, b->n_steps);
		ck_assert_uint_eq(a->n_preempted, b->n_preempted);
		for (size_t k = 0; k < a->n_requests && !isnan(a->requests[k].last_s); k++) {
			ck_assert_double_eq_tol(a->requests[k].first_s, b->requests[k].first_s, 1e-8);
			ck_assert_double_eq_tol(a->requests[k].last_s, b->requests[k].last_s, 1e-8);
		}
		ck_assert_double_eq_tol(a->itl.mean, b->itl.mean, 1e-9);
		simulation_free(fast);
		simulation_free(slow);
	}
}
END_TEST

START_TEST(little)
{
	for (unsigned i = 0; i < 32; i++) {
		struct sim_config c = engine_number(i);
		c.engine.n_blocks = 400;
		struct simulation *s = run(&c);
		const struct sim_result *r = simulation_result(s);
		ck_assert_uint_eq(r->n_refused, 0);
		/* L = lambda W, over the whole of the time; Little, Operations Research 9(3), 1961 */
		ck_assert_double_eq_tol(
		    (r->mean_running + r->mean_waiting) / (r->request_per_s * r->e2e.mean), 1, 1e-9);
		simulation_free(s);
	}
}
END_TEST

static bool
same(const struct sim_config *a, const struct sim_config *b)
{
	struct simulation *one = run(a), *other = run(b);
	const struct sim_result *x = simulation_result(one), *y = simulation_result(other);
	const bool alike = x->n_requests == y->n_requests &&
	    memcmp(x->requests, y->requests, x->n_requests * sizeof *x->requests) == 0 &&
	    memcmp(&x->itl, &y->itl, sizeof x->itl) == 0 && x->n_steps == y->n_steps;

	simulation_free(one);
	simulation_free(other);
	return alike;
}

START_TEST(a_seed_says_it_all)
{
	for (unsigned i = 0; i < 32; i += 3) {
		struct sim_config c = engine_number(i), other = c;
		ck_assert(same(&c, &other));
		other.n_threads = 5;
		ck_assert(same(&c, &other));
		other.traffic.seed++;
		ck_assert(!same(&c, &other));
	}
}
END_TEST

START_TEST(side_by_side)
{
	struct sim_config c[6];
	struct simulation *together[6];
	const char *faults[6];

	for (unsigned i = 0; i < 6; i++)
		c[i] = engine_number(5 * i);
	c[4].n_replicas = 0;
	simulate_many(c, 6, 3, together, faults);
	for (unsigned i = 0; i < 6; i++) {
		ck_assert_int_eq(together[i] == NULL, i == 4);
		if (i == 4) {
			ck_assert_ptr_nonnull(faults[i]);
			continue;
		}
		struct simulation *alone = run(&c[i]);
		const struct sim_result *x = simulation_result(alone), *y = simulation_result(together[i]);
		ck_assert_mem_eq(x->requests, y->requests, x->n_requests * sizeof *x->requests);
		simulation_free(alone);
		simulation_free(together[i]);
	}
}
END_TEST

START_TEST(closed_loop)
{
	struct sim_config c = drawn(4000, 0);

	c.traffic.n_clients = 8;
	struct simulation *s = run(&c);
	const struct sim_result *r = simulation_result(s);
	/* eight are always there, but for the end */
	ck_assert_double_eq_tol(r->mean_running + r->mean_waiting, 8, 0.05);
	ck_assert_uint_le(r->most_running, 8);
	/* each next one is sent in the moment in which one is answered */
	for (size_t i = 8; i < 200; i++) {
		size_t n_answered = 0;
		for (size_t k = 0; k < i; k++)
			n_answered += r->requests[k].last_s == r->requests[i].arrival_s;
		ck_assert_uint_ge(n_answered, 1);
	}
	ck_assert_double_eq(simulation_backlog(r), 0);
	simulation_free(s);

	c.traffic.think_s = 1; /* cycles are longer by the pause: N / (R + Z) */
	s = run(&c);
	r = simulation_result(s);
	ck_assert_double_eq_tol(r->request_per_s, 8 / (r->e2e.mean + 1), 0.01 * r->request_per_s);
	simulation_free(s);
}
END_TEST

/* --- queues whose answers are known ---------------------------------------------------------------------- */

static double
constant_step(const void *context, const struct sim_batch *b)
{
	(void)context;
	(void)b;
	return 0.01;
}

/* One at a time, one step each: a queue with constant service of 10 ms. */
static struct sim_config
queue(double load, double gap_cv, size_t n_servers, enum sim_routing routing)
{
	struct sim_config c = toy(100, 1000);

	c.engine.cost.step = constant_step;
	c.engine.max_sequences = 1;
	c.traffic = (struct sim_traffic){.n_requests = 200000,
	    .rate_request_per_s = load * 100 * (double)n_servers,
	    .gap_cv = gap_cv,
	    .isl = {.mean_token = 100},
	    .osl = {.mean_token = 1},
	    .seed = 3};
	c.n_replicas = n_servers;
	c.routing = routing;
	return c;
}

static double
waiting(double load, double gap_cv, size_t n_servers, enum sim_routing routing)
{
	const struct sim_config c = queue(load, gap_cv, n_servers, routing);
	struct simulation *s = run(&c);
	const double wait_s = simulation_result(s)->ttft.mean - 0.01;

	ck_assert_double_eq(simulation_result(s)->ttft.mean, simulation_result(s)->e2e.mean);
	simulation_free(s);
	return wait_s;
}

START_TEST(known_queues)
{
	/* M/D/1: rho s / (2 (1 - rho)); Pollaczek 1930, Khinchin 1932 */
	for (double load = 0.3; load < 0.9; load += 0.25)
		ck_assert_double_eq_tol(
		    waiting(load, 1, 1, SIM_ROUND_ROBIN), load * 0.01 / (2 * (1 - load)), 0.02 * 0.01 / (1 - load));
	/* a metronome never waits */
	ck_assert_double_eq_tol(waiting(0.8, 0, 1, SIM_ROUND_ROBIN), 0, 1e-9);
	/* bursts: above the approximation of heavy traffic, below the bound of Kingman (1962), ca^2 s / (2 rho (1 -
	 * rho)) */
	const double bursts_s = waiting(0.7, 2, 1, SIM_ROUND_ROBIN);
	ck_assert_double_gt(bursts_s, 0.7 * 4 * 0.01 / (2 * 0.3));
	ck_assert_double_lt(bursts_s, 4 * 0.01 / (2 * 0.7 * 0.3));
	/* every fourth of Poisson arrivals: Erlang gaps, which vary half as much */
	ck_assert_double_lt(waiting(0.8, 1, 4, SIM_ROUND_ROBIN), 0.5 * waiting(0.8, 1, 1, SIM_ROUND_ROBIN));
}
END_TEST

/* Time in the system of answers that vary, one at a time on each of four replicas. */
static double
staying(enum sim_routing routing)
{
	struct sim_config c = queue(0.8 / 5, 1, 4, routing);

	c.traffic.n_requests = 100000;
	c.traffic.osl = (struct sim_lengths){.kind = SIM_LOG_NORMAL, .mean_token = 5, .cv = 1.5};
	c.traffic.isl = (struct sim_lengths){.kind = SIM_CONSTANT, .mean_token = 100};
	struct simulation *s = run(&c);
	const double stay_s = simulation_result(s)->e2e.mean;
	simulation_free(s);
	return stay_s;
}

START_TEST(routing_helps)
{
	const double dealt_s = staying(SIM_ROUND_ROBIN), shortest_s = staying(SIM_SHORTEST_QUEUE),
	             least_s = staying(SIM_LEAST_LOADED);

	ck_assert_double_lt(shortest_s, 0.8 * dealt_s);
	/* prompts are alike, so the load is nearly the queue */
	ck_assert_double_eq_tol(least_s, shortest_s, 0.1 * shortest_s);
}
END_TEST

START_TEST(backlog)
{
	struct sim_config c = queue(0.9, 1, 1, SIM_ROUND_ROBIN);
	struct simulation *s = run(&c);

	ck_assert_double_eq(simulation_backlog(simulation_result(s)), 0);
	simulation_free(s);
	/* at twice what it can do, half stay */
	c = queue(2, 1, 1, SIM_ROUND_ROBIN);
	s = run(&c);
	ck_assert_double_eq_tol(simulation_backlog(simulation_result(s)), 0.5, 0.01);
	simulation_free(s);
}
END_TEST

/* --- caches, pools, objectives --------------------------------------------------------------------------- */

START_TEST(cached_prompts)
{
	struct sim_config c = toy(100, 1024);
	struct sim_arrival trace[] = {{0, 300, 2, 0}, {1, 300, 2, 256}};

	c.traffic = (struct sim_traffic){.trace = trace, .n_requests = 2};
	struct simulation *s = run(&c);
	const struct sim_result *r = simulation_result(s);
	ck_assert_double_eq_tol(r->requests[0].first_s, 0.01 + 300e-5, 1e-12);
	ck_assert_double_eq_tol(r->requests[1].first_s - 1, 0.01 + 44e-5, 1e-12);
	simulation_free(s);
}
END_TEST

START_TEST(two_pools)
{
	struct sim_config c = toy(100, 1024);
	const struct sim_arrival trace[] = {{0, 300, 3, 0}, {0, 200, 3, 0}};

	c.traffic = (struct sim_traffic){.trace = trace, .n_requests = 2};
	c.engine.max_sequences = 1;
	c.decode = c.engine;
	c.decode.max_sequences = 8;
	c.n_decode_replicas = 1;
	c.send.fixed_s = 1e-3;
	c.send.s_per_token = 1e-5;
	struct simulation *s = run(&c);
	const struct sim_result *r = simulation_result(s);
	/* 13 ms of prompt, 4 ms on the link, then two tokens alone: 10.01 ms and 30 us for each 300 tokens of context
	 */
	ck_assert_double_eq_tol(r->requests[0].first_s, 0.017, 1e-12);
	const double second_s = 0.013 + 0.004 + 0.01001 + 301e-7;
	ck_assert_double_eq_tol(r->requests[0].last_s, second_s + 0.01001 + 302e-7, 1e-12);
	/* the second prompt ends at 25 ms and its cache has moved at 28 ms, a step too late for the next one: its first
	 * token waits for the one after */
	ck_assert_double_eq_tol(r->requests[1].first_s, r->requests[0].last_s, 1e-12);
	ck_assert_double_eq_tol(r->requests[1].last_s, r->requests[0].last_s + 2 * 0.01001 + 201e-7 + 202e-7, 1e-12);
	ck_assert_uint_eq(r->requests[0].replica, 1);
	ck_assert_uint_eq(r->n_preempted, 0);
	ck_assert_double_eq_tol(r->itl.most, 0.01001 + 302e-7, 1e-12);
	simulation_free(s);

	/* one place to decode: the second waits until the first is answered */
	const struct sim_arrival longer[] = {{0, 300, 30, 0}, {0, 200, 3, 0}};
	c.traffic.trace = longer;
	c.decode.max_sequences = 1;
	s = run(&c);
	r = simulation_result(s);
	ck_assert_double_eq_tol(r->requests[1].first_s, r->requests[0].last_s, 1e-12);
	simulation_free(s);
	c.decode.max_sequences = 8;
	c.traffic.trace = trace;

	/* one link: caches move one after the other */
	c.engine.max_sequences = 8;
	c.send.fixed_s = 1;
	s = run(&c);
	r = simulation_result(s);
	ck_assert_double_gt(r->requests[1].last_s, 2);
	simulation_free(s);

	/* two replicas send at once, and one takes: its link takes one cache after the other */
	c.n_replicas = 2;
	c.routing = SIM_SHORTEST_QUEUE;
	c.send = (struct sim_transfer){0, 0};
	c.take = (struct sim_transfer){1, 0};
	s = run(&c);
	r = simulation_result(s);
	ck_assert_double_gt(fmax(r->requests[0].first_s, r->requests[1].first_s), 2);
	simulation_free(s);
	/* two that take have a link each */
	c.n_decode_replicas = 2;
	s = run(&c);
	r = simulation_result(s);
	ck_assert_double_lt(fmax(r->requests[0].first_s, r->requests[1].first_s), 1.1);
	simulation_free(s);
}
END_TEST

/* A replica whose caches wait for its link is not idle: the next prompt goes to another. */
START_TEST(links_count_as_load)
{
	struct sim_config c = toy(1000, 1024);
	const struct sim_arrival trace[] = {{0, 300, 3, 0}, {1, 300, 3, 0}, {2, 300, 3, 0}};

	c.traffic = (struct sim_traffic){.trace = trace, .n_requests = 3};
	c.decode = c.engine;
	c.n_replicas = 3;
	c.n_decode_replicas = 3;
	c.routing = SIM_SHORTEST_QUEUE;
	c.send = (struct sim_transfer){5, 0};
	struct simulation *s = run(&c);
	const struct sim_result *r = simulation_result(s);
	for (size_t i = 0; i < 3; i++)
		ck_assert_double_lt(r->requests[i].first_s - trace[i].arrival_s, 5.1);
	simulation_free(s);
}
END_TEST

START_TEST(pools_serve_everybody)
{
	for (unsigned i = 0; i < 8; i++) {
		struct sim_config c = drawn(2000, 20);
		c.engine.n_blocks = 80; /* small: blocks on the way hold prompts up */
		c.engine.chunked = i & 1;
		c.engine.evict = c.decode.evict = i & 2;
		c.n_replicas = 2;
		c.decode = c.engine;
		c.decode.n_blocks = 120;
		c.n_decode_replicas = 3;
		c.send.fixed_s = 0.02;
		c.send.s_per_token = 1e-4;
		c.routing = (enum sim_routing)(i % 3);
		struct simulation *s = run(&c);
		const struct sim_result *r = simulation_result(s);
		ck_assert_uint_eq(r->n_finished + r->n_refused, 2000);
		ck_assert_uint_lt(r->n_refused, 200);
		simulation_free(s);
	}
}
END_TEST

START_TEST(objectives)
{
	struct sim_config c = toy(100, 1024);

	c.objectives = (struct sim_objectives){0.016, NAN, NAN};
	struct simulation *s = run(&c);
	/* first tokens after 15, 15, 20.353 and 14.276 ms */
	ck_assert_double_eq(simulation_result(s)->within_frac, 0.75);
	ck_assert_double_eq_tol(simulation_result(s)->goodput_request_per_s, 3 / .6159285, 1e-9);
	simulation_free(s);
	c.objectives = (struct sim_objectives){0.016, NAN, 0.5};
	s = run(&c);
	ck_assert_double_eq(simulation_result(s)->within_frac, 0.5);
	simulation_free(s);
	c.objectives = (struct sim_objectives){NAN, 1e-3, NAN};
	s = run(&c);
	ck_assert_double_eq(simulation_result(s)->within_frac, 0);
	simulation_free(s);
}
END_TEST

START_TEST(spreads)
{
	struct sim_config c = toy(100, 1024);
	struct simulation *s = run(&c);
	const struct sim_result *r = simulation_result(s);

	/* 14.276, 15, 15, 20.353: straight lines between neighbours */
	ck_assert_double_eq_tol(1e3 * r->ttft.mean, 16.15725, 1e-9);
	ck_assert_double_eq_tol(1e3 * r->ttft.p50, 15, 1e-9);
	ck_assert_double_eq_tol(1e3 * r->ttft.p90, 15 + 0.7 * 5.353, 1e-9);
	ck_assert_double_eq_tol(1e3 * r->ttft.most, 20.353, 1e-9);
	ck_assert_double_eq_tol(1e3 * r->itl.most, 15.0502 + 0.0208 + 0.3e-9, 1);
	/* of 126 gaps, about 10.1 ms each; the histogram's classes are 0.1 % wide */
	ck_assert_double_eq_tol(1e3 * r->itl.p50, 10.07, 0.05);
	simulation_free(s);
	c.warmup_frac = 0.5;
	s = run(&c);
	ck_assert_double_eq_tol(1e3 * simulation_result(s)->ttft.mean, (20.353 + 14.276) / 2, 1e-9);
	simulation_free(s);
}
END_TEST

START_TEST(nonsense_is_refused)
{
	struct sim_config c[12];
	const char *fault;

	for (size_t i = 0; i < 12; i++)
		c[i] = drawn(10, 1);
	c[0].traffic.rate_request_per_s = 0;
	c[1].traffic.rate_request_per_s = NAN;
	c[2].traffic.isl.mean_token = 0;
	c[3].traffic.osl.mean_token = -1;
	c[4].traffic.n_requests = 0;
	c[5].engine.n_blocks = 0;
	c[6].engine.max_sequences = 0;
	c[7].engine.cost.step = NULL;
	c[8].traffic.gap_cv = -1;
	c[9].traffic.isl = (struct sim_lengths){.kind = SIM_EMPIRICAL};
	c[10].warmup_frac = 1;
	c[11].traffic.cached_frac = 2;
	for (size_t i = 0; i < 12; i++) {
		ck_assert_msg(simulate(&c[i], &fault) == NULL, "case %zu", i);
		ck_assert_ptr_nonnull(fault);
	}
}
END_TEST

static void
remember(void *context, double done_frac)
{
	double *last = context;

	ck_assert(done_frac >= *last && done_frac <= 1);
	*last = done_frac;
}

START_TEST(progress)
{
	struct sim_config c = queue(0.5, 1, 2, SIM_ROUND_ROBIN);
	double last = 0;

	c.progress = remember;
	c.progress_context = &last;
	struct simulation *s = run(&c);
	ck_assert_double_gt(last, 0.4);
	/* what it takes, beside tables that do not grow with the requests */
	ck_assert_double_le((double)simulation_result(s)->state_byte / 200000, 100);
	simulation_free(s);
}
END_TEST

Suite *simulate_suite(void);

Suite *
simulate_suite(void)
{
	Suite *s = suite_create("simulate");
	TCase *t = tcase_create("simulate");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, worked_steps);
	tcase_add_test(t, looks_now_and_then);
	tcase_add_test(t, begins_cold);
	tcase_add_test(t, timeline_is_thinned);
	tcase_add_test(t, fast_forward_is_exact);
	tcase_add_test(t, little);
	tcase_add_test(t, a_seed_says_it_all);
	tcase_add_test(t, side_by_side);
	tcase_add_test(t, closed_loop);
	tcase_add_test(t, routing_helps);
	tcase_add_test(t, backlog);
	tcase_add_test(t, cached_prompts);
	tcase_add_test(t, two_pools);
	tcase_add_test(t, links_count_as_load);
	tcase_add_test(t, pools_serve_everybody);
	tcase_add_test(t, objectives);
	tcase_add_test(t, spreads);
	tcase_add_test(t, nonsense_is_refused);
	tcase_add_test(t, progress);
	suite_add_tcase(s, t);
	TCase *slow = tcase_create("slow");
	tcase_set_tags(slow, "slow");
	tcase_set_timeout(slow, 120);
	tcase_add_test(slow, everybody_is_served);
	tcase_add_test(slow, clocks_go_forward);
	tcase_add_test(slow, known_queues);
	suite_add_tcase(s, slow);
	return s;
}
