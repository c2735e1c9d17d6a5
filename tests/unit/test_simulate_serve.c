/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simulator over the model of an engine's step, against a reference implementation of both. */
#include "model/serve/serve.h"
#include "search/simulate/simulate.h"

#include <check.h>
#include <math.h>

#include "serve_world.h"

static struct scene x;
static const struct sim_objectives none = {NAN, NAN, NAN};
static const struct serve_load usual = {.isl = 467, .osl = 256, .n_requests = {NAN, {0}}, .n_concurrent = {NAN, {0}}};

static struct sim_config
config_of(const struct sim_engine *e, size_t n_requests, double rate_request_per_s, uint64_t seed)
{
	return (struct sim_config){.traffic = {.n_requests = n_requests,
	                               .rate_request_per_s = rate_request_per_s,
	                               .gap_cv = 1,
	                               .isl = {.mean_token = 467},
	                               .osl = {.mean_token = 256},
	                               .seed = seed},
	    .engine = *e,
	    .n_replicas = 1,
	    .objectives = none};
}

static struct simulation *
run(const struct sim_config *c)
{
	const char *fault;
	struct simulation *s = simulate(c, &fault);

	ck_assert_msg(s, "%s", fault ? fault : "");
	return s;
}

/* 300 requests at the start, 467 and 256 tokens, 64 at once: two programs agree on every digit. */
START_TEST(same_as_the_reference)
{
	static const struct {
		size_t n_blocks;
		bool evict, chunked;
		double end_s;
		size_t n_steps, n_preempted;
	} cases[] = {
	    {7640, false, false, 15.655601, 1290, 0},
	    {312, true, true, 26.827143, 2577, 104},
	    {187, true, false, 40.727968, 4298, 128},
	};

	x.engine = engine_base();
	x.architecture = hopper();
	scene_set(&x, gpu_h100, &llama31_8b, bf16(), alone);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sim_engine e = simulate_setup(&x.setup, &usual);
		e.n_blocks = cases[i].n_blocks;
		e.block_token = 64;
		e.max_sequences = 64;
		e.max_step_token = 2048;
		e.evict = cases[i].evict;
		e.chunked = cases[i].chunked;
		struct sim_config c = config_of(&e, 300, INFINITY, 1);
		c.every_step = true;
		struct simulation *s = run(&c);
		const struct sim_result *r = simulation_result(s);
		ck_assert_uint_eq(r->n_steps, cases[i].n_steps);
		ck_assert_uint_eq(r->n_preempted, cases[i].n_preempted);
		ck_assert_double_eq_tol(r->end_s, cases[i].end_s, 5.1e-7);
		simulation_free(s);
		c.every_step = false;
		s = run(&c);
		ck_assert_double_eq_tol(simulation_result(s)->end_s, cases[i].end_s, 5e-4 * cases[i].end_s);
		simulation_free(s);
	}
}
END_TEST

/* Llama 3.1 70B in bf16 on four H100, 500 requests of 467 and 256 tokens.  The reference is the
 * mean of three seeds of another generator: near, but where nothing is drawn. */
START_TEST(over_the_rate)
{
	static const struct {
		double rate, ttft_ms, p99_ms, itl_ms, token_per_s;
	} rows[] = {
	    {2, 61, 102, 19.5, 508},
	    {4, 66, 125, 21.7, 996},
	    {8, 79, 169, 27.7, 1913},
	    {16, 149, 344, 57.2, 3323},
	    {32, 979, 1821, 81.6, 4253},
	    {INFINITY, 8389, 16288, 82.0, 4301},
	};
	enum { SEEDS = 30 };

	x.engine = engine_base();
	x.architecture = hopper();
	scene_set(&x, gpu_h100, &llama31_70b, bf16(), TENSOR(4));
	struct sim_engine e = simulate_setup(&x.setup, &usual);
	e.max_sequences = 512;
	e.max_step_token = 8192;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		double ttft_s = 0, p99_s = 0, itl_s = 0, token_per_s = 0;
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			const struct sim_config c = config_of(&e, 500, rows[i].rate, seed);
			struct simulation *s = run(&c);
			const struct sim_result *r = simulation_result(s);
			ttft_s += r->ttft.mean / SEEDS;
			p99_s += r->ttft.p99 / SEEDS;
			itl_s += r->itl.mean / SEEDS;
			token_per_s += r->output_token_per_s / SEEDS;
			simulation_free(s);
		}
		const char *const what[] = {"ttft", "p99", "itl", "tok/s"};
		const double got[] = {1e3 * ttft_s, 1e3 * p99_s, 1e3 * itl_s, token_per_s},
		             want[] = {rows[i].ttft_ms, rows[i].p99_ms, rows[i].itl_ms, rows[i].token_per_s},
		             tolerance[] = {0.03, 0.08, 0.03, 0.03};
		for (int k = 0; k < 4; k++)
			ck_assert_msg(fabs(got[k] / want[k] - 1) <= (isfinite(rows[i].rate) ? tolerance[k] : 1e-3),
			    "rate %g, %s: %g, not %g", rows[i].rate, what[k], got[k], want[k]);
	}
}
END_TEST

/* The closed form of a finite run is near the steps one by one: a few places and many, all at once and in waves, steps
 * that prompts fill, prompts that are longer than a step. */
START_TEST(closed_form_agrees)
{
	static const struct {
		double n_sequences, n_tokens, isl, osl, n_requests;
		bool chunked;
		double tolerance;
	} runs[] = {
	    {16, 8192, 1000, 250, 1000, false, 0.01},
	    {64, 8192, 1000, 250, 1000, false, 0.01},
	    {256, 8192, 1000, 250, 1000, false, 0.01},
	    {256, 8192, 128, 512, 256, true, 0.01},
	    {256, 8192, 128, 512, 600, true, 0.01},
	    {256, 2048, 2048, 128, 1000, true, 0.015},
	    {256, 1024, 2000, 500, 700, true, 0.03},
	    {256, 4096, 1000, 200, 1000, false, 0.015},
	    {512, 1024, 100, 400, 3000, true, 0.01},
	    {512, 1600, 1000, 400, 2000, false, 0.03},
	};

	x.engine = engine_base();
	x.architecture = hopper();
	for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
		x.engine.max_sequences = num(runs[i].n_sequences);
		x.engine.max_tokens = num(runs[i].n_tokens);
		x.engine.chunked = runs[i].chunked;
		scene_set(&x, gpu_h100, &llama31_8b, bf16(), alone);
		struct serve_load load = usual;
		load.isl = runs[i].isl;
		load.osl = runs[i].osl;
		load.n_requests = num(runs[i].n_requests);
		const double run_s = serve_waves(NULL, &x.setup, &load, serve_running(NULL, &x.setup, &load));
		const struct sim_engine e = simulate_setup(&x.setup, &load);
		struct sim_config c = config_of(&e, (size_t)runs[i].n_requests, INFINITY, 1);
		c.traffic.isl.mean_token = runs[i].isl;
		c.traffic.osl.mean_token = runs[i].osl;
		struct simulation *s = run(&c);
		ck_assert_msg(fabs(run_s / simulation_result(s)->end_s - 1) <= runs[i].tolerance,
		    "run %zu: %g s, %g one by one", i, run_s, simulation_result(s)->end_s);
		simulation_free(s);
	}
}
END_TEST

Suite *simulate_serve_suite(void);

Suite *
simulate_serve_suite(void)
{
	Suite *s = suite_create("simulate_serve");
	TCase *t = tcase_create("simulate_serve");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, same_as_the_reference);
	tcase_add_test(t, over_the_rate);
	tcase_add_test(t, closed_form_agrees);
	suite_add_tcase(s, t);
	return s;
}
