/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Training steps of mixtures of experts and of hybrids. */
#include "train_scene.h"

#include <check.h>

/* Bytes of gradients of this many parameters, summed over the nodes by one GPU of each. */
static double
train_over_nodes(const struct train_job *job, double n_params)
{
	return train_collective(NULL, &job->machine, COLLECTIVE_ALL_REDUCE, job->n_gpus / job->machine.n_domain, 1,
	    n_params * job->stack->reduce_byte.value);
}

/* An all-to-all that overlaps costs what it outlasts the kernels; one that does not, all of it. */
START_TEST(all_to_all_beside_compute)
{
	struct scene s;
	struct train_job *job = scene_of(&s, &QWEN3_30B, ON_H100, TUNED, 8);

	job->layout.ep = 8;
	const struct train_terms partly = terms_of(job);
	s.stack.expert_overlap = EXPERT_OVERLAP_NONE;
	const struct train_terms none = terms_of(job);
	NEAR(none.ep_s, 4 * partly.ep_s);
	s.stack.expert_overlap = EXPERT_OVERLAP_FULL;
	ck_assert_double_eq(terms_of(job).ep_s, 0);
	const double kernels_s = none.device_s - none.ep_s;
	s.c.collective[COLLECTIVE_ALL_TO_ALL].bus_byte_per_s.value /= 100;
	const double slow_s = terms_of(job).ep_s;
	s.stack.expert_overlap = EXPERT_OVERLAP_NONE;
	NEAR(slow_s, terms_of(job).ep_s - kernels_s);
}
END_TEST

/* Megatron-Core's `mlp` is the dense MLP alone. */
START_TEST(mlp_again_is_the_dense_one)
{
	struct scene s;
	struct train_job *job = scene_of(&s, &DEEPSEEK, ON_B200, EXPERTS_GRAPHS, 64);
	struct train_terms t;

	job->layout.ep = 8;
	job->recompute = RECOMPUTE_MODULES;
	job->modules = 1U << MODULE_MLP;
	train_layer(NULL, job, &s.w.blocks[1], &t);
	ck_assert_double_eq(t.recompute_s, 0);
	train_layer(NULL, job, &s.w.blocks[0], &t);
	ck_assert_double_gt(t.recompute_s, 0.3 * t.forward_s);
	ck_assert_double_lt(t.recompute_s, 0.8 * t.forward_s);
}
END_TEST

/* A hybrid shard gathers inside its copy and sums its parts over the copies; one copy is full sharding, and copies of
 * one GPU are plain replicas. */
START_TEST(hybrid_shards)
{
	struct scene s;
	struct train_job *job = scene_of(&s, &LLAMA_8B, ON_H100, TUNED, 64);

	for (job->layout.zero = 1; job->layout.zero <= 3; job->layout.zero += 2) {
		job->layout.shard = 0;
		const struct train_terms all = terms_of(job);
		job->layout.shard = 64;
		NEAR(terms_of(job).step_s, all.step_s);
		job->layout.shard = 8;
		const struct train_terms node = terms_of(job);
		ck_assert_double_lt(node.gather_s, all.gather_s);
		ck_assert_double_gt(node.optimizer_s, all.optimizer_s);
		/* each GPU sums its eighth over eight nodes, on its own rail and bucket by bucket */
		job->n_gpus = job->layout.dp = job->layout.shard = 8;
		const double inside = terms_of(job).scatter_s;
		job->n_gpus = job->layout.dp = 64;
		job->layout.shard = 8;
		const double across = train_over_nodes(job, 8.03e9 / 8);
		ck_assert_double_ge(node.scatter_s, 0.95 * (inside + across));
		ck_assert_double_le(node.scatter_s, 1.25 * (inside + across));
	}
	job->layout.zero = 0;
	const double replicated = terms_of(job).scatter_s;
	job->layout.zero = 1;
	job->layout.shard = 1;
	/* the same bytes, in buckets */
	ck_assert_double_ge(terms_of(job).scatter_s, replicated);
	ck_assert_double_le(terms_of(job).scatter_s, 1.6 * replicated);
}
END_TEST

START_TEST(experts_of_a_hybrid_shard)
{
	struct scene s;
	struct train_job *job = scene_of(&s, &QWEN3_30B, ON_H100, EXPERTS_2026, 64);

	job->layout.zero = 1;
	job->layout.ep = 8;
	job->layout.shard = 64;
	const double all = terms_of(job).step_s;
	job->layout.shard = 0;
	NEAR(terms_of(job).step_s, all);
	/* an expert has 64 / 8 replicas: in a shard of 8 GPUs one, and eight copies to sum over */
	job->layout.shard = 8;
	ck_assert_double_gt(terms_of(job).scatter_s, 0);
	ck_assert_double_eq(layout_expert_shard_ranks(&job->layout, 8), 1);
	ck_assert_double_eq(layout_expert_shard_ranks(&job->layout, 64), 8);
}
END_TEST

START_TEST(host_of_experts)
{
	struct scene s;
	struct train_job *job = scene_of(&s, &QWEN3_30B, ON_B200, EXPERTS_2026, 8);

	job->dtype = DTYPE_MXFP8;
	job->layout.ep = 8;
	const struct train_terms sixteen = terms_of(job);
	job->layout.ep = 4;
	const struct train_terms more = terms_of(job);
	NEAR(more.sync_s - sixteen.sync_s, 0.2e-3 * 16);
	s.stack.moe_sync_s = s.stack.moe_expert_s = number(0);
	s.stack.moe_floor_s = s.stack.moe_expert_floor_s = number(1e-12);
	const struct train_terms free = terms_of(job);
	NEAR(free.layer_s, free.device_s);
}
END_TEST

static double
sync_of(const struct train_job *job)
{
	return terms_of(job).sync_s;
}

/* A captured dispatch waits for no count; layers that are computed again, experts that are, layers that wait in the
 * host's memory and those that are gathered cannot be captured. */
START_TEST(dispatch_is_captured)
{
	struct scene s;
	struct train_job *job = scene_of(&s, &QWEN3_30B, ON_B200, EXPERTS_2026, 8);

	job->dtype = DTYPE_MXFP8;
	job->layout.ep = 8;
	job->layout.zero = 1;
	s.stack.moe_floor_s = number(1); /* host-bound: all waits are seen */
	const double waits = sync_of(job);
	ck_assert_double_gt(waits, 0);
	s.stack.captures_experts = true;
	ck_assert_double_eq(sync_of(job), 0);
	/* and the host launches half of a layer, whatever an eager one takes */
	NEAR(terms_of(job).floor_s, 0.5 * 1.5e-3);
	job->recompute = RECOMPUTE_MODULES;
	job->modules = 1U << MODULE_CORE_ATTN;
	ck_assert_double_eq(sync_of(job), 0);
	job->modules |= 1U << MODULE_MOE;
	ck_assert_double_gt(sync_of(job), waits);
	job->recompute = RECOMPUTE_FULL;
	ck_assert_double_gt(sync_of(job), waits);
	job->recompute = RECOMPUTE_OFFLOAD;
	NEAR(sync_of(job), waits);
	job->recompute = RECOMPUTE_NONE;
	job->layout.zero = 3;
	NEAR(sync_of(job), waits);
}
END_TEST

/* A forward pass that is run again is launched again and waits for its counts again; a ring is launched in any layer.
 */
START_TEST(host_of_experts_run_again)
{
	struct scene s;
	struct train_job *job = scene_of(&s, &QWEN3_30B, ON_B200, EXPERTS_2026, 8);

	job->dtype = DTYPE_MXFP8;
	job->layout.ep = 8;
	s.stack.moe_floor_s = number(1); /* host-bound: all waits are seen */
	const struct train_terms once = terms_of(job);
	job->recompute = RECOMPUTE_FULL;
	const struct train_terms again = terms_of(job);
	NEAR(again.floor_s, 4.0 / 3 * once.floor_s);
	NEAR(again.sync_s - once.sync_s, s.stack.moe_sync_s.value + 16 * s.stack.moe_expert_s.value / 3);
	job->recompute = RECOMPUTE_NONE;
	job->layout.cp = 2, job->layout.dp = 4;
	NEAR(terms_of(job).floor_s - once.floor_s, 3 * 2 * 150e-6);
}
END_TEST

/* The experts' activation is less than all of them, and a dense layer has none. */
START_TEST(activation_again)
{
	struct scene s;
	struct train_job *job = scene_of(&s, &DEEPSEEK, ON_B200, EXPERTS_2026, 64);
	struct train_terms none, activation, all;

	job->layout.ep = 8;
	train_layer(NULL, job, &s.w.blocks[1], &none);
	job->recompute = RECOMPUTE_MODULES;
	job->modules = 1U << MODULE_MOE_ACT;
	train_layer(NULL, job, &s.w.blocks[1], &activation);
	job->modules = 1U << MODULE_MOE;
	train_layer(NULL, job, &s.w.blocks[1], &all);
	ck_assert_double_eq(none.recompute_s, 0);
	/* of each routed row twice 2048 elements are read and 2048 written, in 16 bits */
	ck_assert_double_ge(
	    activation.recompute_s, 8.0 * 4096 * 3 * 2048 * 2 / s.c.gemm[DTYPE_BF16].mem_byte_per_s.value);
	ck_assert_double_lt(activation.recompute_s, 0.5 * all.recompute_s);
	job->modules = 1U << MODULE_MOE_ACT;
	train_layer(NULL, job, &s.w.blocks[0], &none);
	ck_assert_double_eq(none.recompute_s, 0);
}
END_TEST

START_TEST(dispatchers_agree_for_one_expert)
{
	struct scene s;
	struct train_job *job = scene_of(&s, &QWEN3_30B, ON_H100, EXPERTS_2026, 64);

	job->layout.ep = 64;
	s.blocks[0].moe.top_k = number(1);
	const double plain = train_collective(NULL, &job->machine, COLLECTIVE_ALL_TO_ALL, 64, 8, 1e9);
	ck_assert_double_eq_tol(train_dispatch(NULL, job, &s.blocks[0], 1e9), plain, 0.01 * plain);
	s.blocks[0].moe.top_k = number(8);
	ck_assert_double_lt(train_dispatch(NULL, job, &s.blocks[0], 1e9), 0.7 * plain);
}
END_TEST

Suite *train_experts_suite(void);

Suite *
train_experts_suite(void)
{
	Suite *s = suite_create("train_experts");
	TCase *t = tcase_create("steps");

	tcase_add_test(t, mlp_again_is_the_dense_one);
	tcase_add_test(t, all_to_all_beside_compute);
	tcase_add_test(t, hybrid_shards);
	tcase_add_test(t, experts_of_a_hybrid_shard);
	tcase_add_test(t, host_of_experts);
	tcase_add_test(t, dispatch_is_captured);
	tcase_add_test(t, host_of_experts_run_again);
	tcase_add_test(t, activation_again);
	tcase_add_test(t, dispatchers_agree_for_one_expert);
	suite_add_tcase(s, t);
	return s;
}
