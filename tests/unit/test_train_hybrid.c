/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Training steps of models whose layers have one part each: state-space scans, latent experts, layers that attend. */
#include "train_scene.h"
#include "unit/hybrids.h"

#include "base/base.h"
#include "model/layer/layer.h"
#include "model/train/parts.h"

#include <check.h>

enum { SCAN, ATTENDS, ROUTES }; /* blocks of the models below */

static struct train_job *
hybrid_scene(struct scene *s, struct arena *a, const char *yaml, double n_gpus)
{
	struct train_job *job = scene_of(s, &LLAMA_8B, ON_H100, TUNED, n_gpus);

	job->model = hybrid(a, yaml);
	s->stack.hybrid_sync_s = number(5e-3);
	s->stack.moe_sigma = datum_absent();
	return job;
}

/* 64 heads of 64, 8 groups, a state of 128 and chunks of 128: 2 x 128 x (8 x 128 + 4096) + 4 x 4096 x 128 a token,
 * which is what `ridge model` counts; gradients are two of each product, and one more is computed again. */
START_TEST(scan_multiplies)
{
	struct arena *a = arena_new();
	struct scene s;
	struct train_job *job = hybrid_scene(&s, a, NEMOTRON_3_NANO, 1);
	const struct block *block = &job->model->blocks[SCAN];
	const double flop = 4096 * (2 * 128 * (1024 + 4096) + 4 * 4096 * 128.0);
	const struct op op = recurrence_op(job->model, block, 1, 4096, 1);
	const double reached = 0.3 * s.c.gemm[DTYPE_BF16].peak_flop_per_s.value;

	ck_assert_double_eq(op_cost(NULL, &op).work_flop, flop);
	s.c.gemm[DTYPE_BF16].mem_byte_per_s.value = INFINITY;
	NEAR(train_scan(NULL, job, block, false), flop / reached);
	NEAR(train_scan(NULL, job, block, true), 3 * flop / reached);
	arena_free(a);
}
END_TEST

/* Passes counted by hand, elements in 16 bits and in fp32: values 4096, maps 2048, states 4096, scores 1024, heads 64.
 */
START_TEST(scan_moves)
{
	struct arena *a = arena_new();
	struct scene s;
	struct train_job *job = hybrid_scene(&s, a, NEMOTRON_3_NANO, 8);
	const struct block *block = &job->model->blocks[SCAN];
	const double reached = 0.3 * s.c.gemm[DTYPE_BF16].mem_byte_per_s.value;

	s.c.gemm[DTYPE_BF16].peak_flop_per_s.value = INFINITY;
	NEAR(train_scan(NULL, job, block, false), 4096 * 140928 / reached);
	NEAR(train_scan(NULL, job, block, true), 4096 * 400000 / reached);
	job->layout.tp = 8;
	NEAR(train_scan(NULL, job, block, false), 4096 * 140928 / 8 / reached);
	arena_free(a);
}
END_TEST

/* Tokens of two sequences side by side are copied into sequences and back: 10304 outputs of the projection and 4096
 * gated values, read and written in 16 bits, and the gradient of the former. */
START_TEST(scan_wants_whole_sequences)
{
	struct arena *a = arena_new();
	struct scene s;
	struct train_job *job = hybrid_scene(&s, a, NEMOTRON_3_NANO, 8);
	const struct block *block = &job->model->blocks[SCAN];
	const double reached = 0.3 * s.c.gemm[DTYPE_BF16].mem_byte_per_s.value;

	s.c.gemm[DTYPE_BF16].peak_flop_per_s.value = INFINITY;
	for (int first = 0; first < 2; first++) {
		job->tokens_first = first;
		job->n_sequences = 1;
		NEAR(train_scan(NULL, job, block, false), 4096 * 140928 / reached);
		job->n_sequences = 2;
		NEAR(train_scan(NULL, job, block, false), 8192.0 * (140928 + first * 4 * 14400) / reached);
		NEAR(train_scan(NULL, job, block, true), 8192.0 * (400000 + first * 4 * 10304) / reached);
	}
	arena_free(a);
}
END_TEST

/* Experts of a hybrid that are run again wait again. */
START_TEST(hybrid_waits_again)
{
	struct arena *a = arena_new();
	struct scene s;
	struct train_job *job = hybrid_scene(&s, a, NEMOTRON_3_SUPER, 8);

	job->layout.ep = 8;
	const double once = terms_of(job).sync_s;
	job->recompute = RECOMPUTE_FULL;
	NEAR(terms_of(job).sync_s, 4.0 / 3 * once);
	ck_assert_double_gt(once, 0);
	arena_free(a);
}
END_TEST

/*
 * Beside the rule of Qwen3-Next, passes counted by hand: channels of the convolution 8192, keys 2048, for each value
 * head 4096, values 4096, the projection's outputs 12352, heads 32 in fp32.
 */
START_TEST(delta_copies)
{
	struct arena *a = arena_new();
	struct scene s;
	struct train_job *job = hybrid_scene(&s, a, QWEN3_NEXT_80B, 8);
	const struct block *block = &job->model->blocks[0];
	const double byte_per_s = s.c.gemm[DTYPE_BF16].mem_byte_per_s.value / s.stack.elementwise.value;
	const double forward = 2 * (4 * 8192 + 8 * 2048 + 2 * (2048 + 4096) + 11 * 4096) + 4 * 8 * 32;
	const double backward = 2 * (7 * 8192 + 6 * 2048 + 2 * (2048 + 4096) + 10 * 4096 + 2 * 12352) + 4 * 8 * 32;

	for (int tp = 1; tp <= 2; tp++) {
		const struct delta_shape rule = {1, 4096, 32.0 / tp, 128, 128, 64, false};
		job->layout.tp = tp;
		NEAR(train_delta(NULL, job, block, false),
		    delta_rule_time(NULL, &rule, &s.c, false) + 4096 * forward / tp / byte_per_s);
		NEAR(train_delta(NULL, job, block, true),
		    delta_rule_time(NULL, &rule, &s.c, true) + 4096 * backward / tp / byte_per_s);
	}
	arena_free(a);
}
END_TEST

/* A gate doubles the queries' map and goes over attention's 4096 results: five passes forward, seven backward. */
START_TEST(gate_of_attention)
{
	struct arena *a = arena_new();
	struct scene s;
	struct train_job *job = hybrid_scene(&s, a, QWEN3_NEXT_80B, 8);
	const struct block *gated = &job->model->blocks[1];
	struct block plain = *gated;
	struct train_terms with, without;
	const double byte_per_s = s.c.gemm[DTYPE_BF16].mem_byte_per_s.value / s.stack.elementwise.value;

	plain.attention.gate = false;
	plain.layer = NULL;
	train_layer(NULL, job, gated, &with);
	train_layer(NULL, job, &plain, &without);
	NEAR(with.attention_s - without.attention_s, train_sigma(job) * 4096 * 12 * 2 * 4096 / byte_per_s);
	ck_assert_double_gt(with.linear_s, without.linear_s);
	arena_free(a);
}
END_TEST

/* Gate, values, maps and steps come out of one product. */
START_TEST(maps_of_a_scan)
{
	struct arena *a = arena_new();
	struct scene s;
	struct train_linear list[TRAIN_MOST_LINEARS];
	struct train_job *job = hybrid_scene(&s, a, NEMOTRON_3_NANO, 8);

	job->layout.tp = 4;
	ck_assert_int_eq(train_linears(job, &job->model->blocks[SCAN], list), 2);
	ck_assert_double_eq(list[0].n, (4096 + 4096 + 2048 + 64) / 4);
	ck_assert_double_eq(list[0].k, 2688);
	ck_assert_double_eq(list[1].n, 2688);
	ck_assert_double_eq(list[1].k, 1024);
	arena_free(a);
}
END_TEST

/* Maps into the latent and out of it are whole on each rank, which has its part of the sequence. */
START_TEST(maps_of_a_latent)
{
	struct arena *a = arena_new();
	struct scene s;
	struct train_linear list[TRAIN_MOST_LINEARS];
	struct train_job *job = hybrid_scene(&s, a, NEMOTRON_3_SUPER, 8);
	const struct block *block = &job->model->blocks[ROUTES];

	job->layout.tp = 4;
	job->layout.sp = true;
	ck_assert_int_eq(train_linears(job, block, list), 4);
	ck_assert_double_eq(list[0].n, 1024);
	ck_assert_double_eq(list[0].k, 4096);
	ck_assert_double_eq(list[0].rows_frac, 0.25);
	ck_assert_double_eq(list[2].n, 5376 / 4);
	ck_assert_double_eq(list[2].rows_frac, 1);
	const double latent = 2.0 * 1024 * 4096, shared = 2.0 * 4096 * 5376, experts = 512 * 2.0 * 1024 * 2688;
	ck_assert_double_eq(shard_params(NULL, job->model, block, IN_LATENT | IN_SHARED | IN_EXPERTS, 4),
	    latent + (shared + experts) / 4);
	arena_free(a);
}
END_TEST

/* Tokens travel to their experts in the latent's width: a quarter of the stream's. */
START_TEST(latent_travels)
{
	struct arena *a = arena_new();
	struct scene s;
	struct train_job *job = hybrid_scene(&s, a, NEMOTRON_3_SUPER, 8);
	struct block block = job->model->blocks[ROUTES];

	job->layout.ep = 8;
	s.stack.expert_overlap = EXPERT_OVERLAP_NONE;
	for (int wide = 0; wide < 2; wide++) {
		const double width = wide ? 4096 : 1024;
		const double send_s =
		    train_collective(NULL, &job->machine, COLLECTIVE_ALL_TO_ALL, 8, 8, 2 * width * 4096 * 22);
		NEAR(train_expert_parallel(NULL, job, &block, 0, 0), 4 * send_s);
		block.moe.latent = datum_absent();
	}
	arena_free(a);
}
END_TEST

/* A layer has its own part's communication and residual sum, half of those of a layer with two parts. */
START_TEST(parts_communicate)
{
	struct arena *a = arena_new();
	struct scene s, plain;
	struct train_job *job = hybrid_scene(&s, a, NEMOTRON_3_NANO, 8);
	struct train_job *whole = scene_of(&plain, &LLAMA_8B, ON_H100, TUNED, 8);
	struct workload w = *job->model;

	job->layout.tp = whole->layout.tp = 2;
	w.hidden = plain.w.hidden;
	job->model = &w;
	const double two_s = train_tensor_parallel(NULL, whole, plain.blocks);
	NEAR(2 * train_tensor_parallel(NULL, job, &w.blocks[SCAN]), two_s);
	NEAR(2 * train_tensor_parallel(NULL, job, &w.blocks[ATTENDS]), two_s);
	ck_assert_double_eq(train_tensor_parallel(NULL, job, &w.blocks[ROUTES]), 0);
	arena_free(a);
}
END_TEST

/* Kinds are on every stage in their shares, and none leads. */
START_TEST(kinds_take_turns)
{
	struct arena *a = arena_new();
	struct scene s;
	struct train_job *job = hybrid_scene(&s, a, NEMOTRON_3_NANO, 16);
	const struct memory_job memory = {.model = job->model, .layout = {.pp = 2, .vp = 1}};

	ck_assert_double_eq(memory_stage_layers(&memory, 0, SCAN), 11.5);
	ck_assert_double_eq(memory_stage_layers(&memory, 1, ATTENDS), 3);
	stages(job, 2, 1);
	const struct train_terms t = terms_of(job);
	NEAR(t.stage_s, 26 * t.layer_s + t.logits_s + t.p2p_s);
	arena_free(a);
}
END_TEST

/* Experts between other kinds of layers wait for the host as long as the framework says, whatever their number. */
START_TEST(experts_wait)
{
	struct arena *a = arena_new();
	struct scene s;
	struct train_job *job = hybrid_scene(&s, a, NEMOTRON_3_NANO, 16);
	struct train_terms t = terms_of(job);

	NEAR(t.layer_s - t.device_s, 5e-3 * 23 / 52);
	job->layout.ep = 8;
	t = terms_of(job);
	NEAR(t.layer_s - t.device_s, 5e-3 * 23 / 52);
	arena_free(a);
}
END_TEST

/* A prediction layer attends and has experts. */
START_TEST(prediction_is_a_whole_layer)
{
	struct arena *a = arena_new();
	struct scene s;
	struct train_job *job = hybrid_scene(&s, a, NEMOTRON_3_NANO, 16);
	const double without_s = terms_of(job).logits_s;
	struct train_part part;

	train_part(job, &part);
	job->n_mtp = 2;
	NEAR(terms_of(job).logits_s, 3 * without_s + 2 * (part.kind_s[ATTENDS] + part.kind_s[ROUTES]));
	arena_free(a);
}
END_TEST

START_TEST(what_stays_refused)
{
	struct arena *a = arena_new();
	struct scene s;
	struct train_job *job = hybrid_scene(&s, a, NEMOTRON_3_NANO, 16);

	ck_assert_ptr_null(train_lacks(job->model));
	ck_assert_ptr_nonnull(train_lacks(hybrid(a, KIMI_LINEAR_48B)));
	ck_assert_int_eq(train_impossible(job), TRAIN_ANSWERED);
	job->layout.dp = 1;
	job->layout.tp = 16;
	ck_assert_int_eq(train_impossible(job), TRAIN_REFUSES_SCAN_GROUPS);
	job->layout.tp = 8;
	job->layout.cp = 2;
	ck_assert_int_eq(train_impossible(job), TRAIN_REFUSES_SCAN_CONTEXT);
	job->model = hybrid(a, QWEN3_5_397B);
	ck_assert_ptr_null(train_lacks(job->model));
	job->layout.tp = 16;
	job->layout.cp = 1;
	ck_assert_int_eq(train_impossible(job), TRAIN_ANSWERED);
	job->layout.tp = 32; /* of 64 value heads, 32 heads that attend and 16 key heads */
	job->n_gpus = 32;
	ck_assert_int_eq(train_impossible(job), TRAIN_REFUSES_DELTA_HEADS);
	job->layout.tp = 8;
	job->layout.cp = 2;
	ck_assert_int_eq(train_impossible(job), TRAIN_REFUSES_DELTA_CONTEXT);
	arena_free(a);
}
END_TEST

/* Published TFLOP/s over tokens/s of Megatron-Bridge's steps: 22.28 GFLOP a token of Nano in 11 rows, 84.7 of Super in
 * 26, which trains two prediction layers. */
START_TEST(flop_of_a_hybrid)
{
	struct arena *a = arena_new();
	struct workload super = *hybrid(a, NEMOTRON_3_SUPER);

	ck_assert_double_eq_tol(
	    convention_flop(NULL, CONVENTION_MEGATRON_BRIDGE, hybrid(a, NEMOTRON_3_NANO), 8192) / 1e9, 22.278, 1e-3);
	super.n_mtp = number(2);
	ck_assert_double_eq_tol(convention_flop(NULL, CONVENTION_MEGATRON_BRIDGE, &super, 8192) / 1e9, 84.727, 1e-3);
	ck_assert_ptr_nonnull(convention_refusal(CONVENTION_NEMO, &super));
	ck_assert_ptr_nonnull(convention_refusal(CONVENTION_MEGATRON_BRIDGE, hybrid(a, QWEN3_NEXT_80B)));
	arena_free(a);
}
END_TEST

/* What is recorded is what is computed, and shares add up to the step. */
START_TEST(shares_of_a_hybrid)
{
	struct arena *a = arena_new();
	struct scene s;
	struct train_job *job = hybrid_scene(&s, a, NEMOTRON_3_SUPER, 16);
	const struct train_terms t = terms_of(job);
	double share[N_TRAIN_SHARES], sum = 0;

	train_shares(job, &t, share);
	for (int i = 0; i < N_TRAIN_SHARES; i++)
		sum += share[i];
	NEAR(sum, t.step_s);
	ck_assert_double_gt(share[TRAIN_SCAN], 0);
	ck_assert_double_gt(share[TRAIN_ATTENTION], 0);
	struct sheet *sh = sheet_new();
	ck_assert_double_eq(train_step(sh, job, NULL), t.step_s);
	sheet_free(sh);
	arena_free(a);
}
END_TEST

Suite *train_hybrid_suite(void);

Suite *
train_hybrid_suite(void)
{
	Suite *s = suite_create("train_hybrid");
	TCase *t = tcase_create("layers");

	tcase_add_test(t, scan_multiplies);
	tcase_add_test(t, scan_moves);
	tcase_add_test(t, scan_wants_whole_sequences);
	tcase_add_test(t, delta_copies);
	tcase_add_test(t, gate_of_attention);
	tcase_add_test(t, maps_of_a_scan);
	tcase_add_test(t, maps_of_a_latent);
	tcase_add_test(t, latent_travels);
	tcase_add_test(t, parts_communicate);
	suite_add_tcase(s, t);
	t = tcase_create("steps");
	tcase_add_test(t, kinds_take_turns);
	tcase_add_test(t, experts_wait);
	tcase_add_test(t, hybrid_waits_again);
	tcase_add_test(t, prediction_is_a_whole_layer);
	tcase_add_test(t, what_stays_refused);
	tcase_add_test(t, flop_of_a_hybrid);
	tcase_add_test(t, shares_of_a_hybrid);
	suite_add_tcase(s, t);
	return s;
}
