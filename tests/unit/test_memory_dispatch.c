/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What dispatching experts' tokens holds: the dispatcher's buffers, and those of CUDA graphs. */
#include "model/memory/memory.h"
#include "unit/hybrids.h"

#include <check.h>

#include "memory_scene.h"

static double
peak(const struct memory_job *job)
{
	return memory_peak(NULL, job, NULL);
}

/* Room for the tokens of all ranks in 16 bits, with a probability in 32 for each of 256 experts. */
START_TEST(dispatcher_has_room_for_the_group)
{
	struct stack stack = megatron_core();
	struct model m;

	stack.hybrid_ep = true;
	make_model(&m, &deepseek_v3);
	struct memory_job job = job_of(&m, &stack, 2, 4096);
	job.layout.ep = 64;
	const double without = peak(&job);
	job.dedup = true;
	ck_assert_double_eq(peak(&job) - without, 64 * 8192 * (2 * 7168 + 4 * 256.0));
	job.layout.tp = 4;
	job.dedup = false;
	const double split = peak(&job);
	job.dedup = true;
	ck_assert_double_eq(peak(&job) - split, 64 * 2048 * (2 * 7168 + 4 * 256.0));
	/* on one rank nothing is dispatched */
	job.layout.ep = 1;
	const double alone = peak(&job);
	job.dedup = false;
	ck_assert_double_eq(peak(&job), alone);
}
END_TEST

/* Experts behind a map to fewer dimensions get those. */
START_TEST(latent_rows_are_narrow)
{
	struct arena *a = arena_new();
	struct stack stack = megatron_core();
	struct model m = {.workload = *hybrid(a, NEMOTRON_3_SUPER)};
	struct memory_job job = job_of(&m, &stack, 1, 4096);

	job.layout.ep = 64;
	job.dedup = true;
	/* DeepEP's are smaller, and not counted */
	const double without = peak(&job);
	stack.hybrid_ep = true;
	ck_assert_double_eq(peak(&job) - without, 64 * 4096 * (2 * 1024 + 4 * 512.0));
	arena_free(a);
}
END_TEST

/* Graphs take what the framework says, more with a pipeline, where they can capture a layer of experts. */
START_TEST(graphs_hold_buffers)
{
	struct stack plain = megatron_core(), captured = plain;
	struct model m, dense;

	captured.time.captures_experts = true;
	captured.graph_byte = number(3e9);
	captured.graph_pipeline_byte = number(10e9);
	make_model(&m, &qwen3_30b);
	make_model(&dense, &llama3_8b);
	const struct memory_job eager = job_of(&m, &plain, 1, 4096);
	for (int zero = 0; zero <= 3; zero++)
		for (int pp = 1; pp <= 4; pp += 3) {
			struct memory_job a = eager, b;
			a.layout.zero = zero;
			a.layout.pp = pp;
			b = a;
			b.stack = &captured;
			ck_assert_double_eq(peak(&b) - peak(&a), zero >= 2 ? 0 : pp > 1 ? 10e9 : 3e9);
			a.recompute = b.recompute = RECOMPUTE_MODULES;
			a.modules = b.modules = 1U << MODULE_MOE;
			ck_assert_double_eq(peak(&b), peak(&a));
		}
	const struct memory_job graphless = job_of(&dense, &plain, 1, 4096);
	struct memory_job with = graphless;
	with.stack = &captured;
	ck_assert_double_eq(peak(&with), peak(&graphless));
}
END_TEST

Suite *memory_dispatch_suite(void);

Suite *
memory_dispatch_suite(void)
{
	Suite *s = suite_create("memory_dispatch");
	TCase *t = tcase_create("memory_dispatch");

	tcase_add_test(t, dispatcher_has_room_for_the_group);
	tcase_add_test(t, latent_rows_are_narrow);
	tcase_add_test(t, graphs_hold_buffers);
	suite_add_tcase(s, t);
	return s;
}
