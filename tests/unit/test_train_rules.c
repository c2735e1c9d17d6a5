/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What must hold of any training step. */
#include "train_scene.h"

#include "model/train/parts.h"
#include "search/plan/plan.h"

#include <check.h>

START_TEST(bubble_of_equal_stages)
{
	struct scene s;
	struct train_job *job = scene_of(&s, &LLAMA_70B, ON_H100, TUNED, 64);

	s.w.vocab = number(0);
	stages(job, 8, 1);
	struct train_terms t = terms_of(job);
	NEAR(t.bubble_s / (t.n_microbatches * t.stage_s), 7 / t.n_microbatches);
	stages(job, 8, 5);
	t = terms_of(job);
	NEAR(t.bubble_s / (t.n_microbatches * t.stage_s), 7 / (5 * t.n_microbatches));
	stages(job, 1, 1);
	ck_assert_double_eq(terms_of(job).bubble_s, 0);
}
END_TEST

/* 61 layers on 4 stages, the first three dense: a stage in the middle has 16 layers, all with experts. */
START_TEST(slowest_stage_has_its_own_layers)
{
	struct scene s;
	struct train_job *job = scene_of(&s, &DEEPSEEK, ON_B200, EXPERTS_GRAPHS, 64);
	struct train_terms dense, routed;

	job->layout.ep = 8;
	stages(job, 4, 1);
	const struct train_terms t = terms_of(job);
	train_layer(NULL, job, &s.w.blocks[0], &dense);
	train_layer(NULL, job, &s.w.blocks[1], &routed);
	ck_assert_double_gt(fabs(dense.device_s / routed.device_s - 1), 0.05);
	ck_assert_double_eq(t.n_stage_layers, 16);
	NEAR(t.stage_s, 16 * routed.device_s + t.p2p_s);
	static const int split[] = {20, 14, 14, 13};
	job->stage_layers = split;
	job->n_stage_layers = 4;
	NEAR(terms_of(job).stage_s, 3 * dense.device_s + 17 * routed.device_s + t.p2p_s);
}
END_TEST

/* A ring adds up partial results at every step, whatever its messages take; a CUDA graph posts them faster. */
START_TEST(ring_adds_up)
{
	struct scene s, g;
	struct train_job *eager = scene_of(&s, &LLAMA_8B, ON_B200, TUNED, 8);
	struct train_job *graphs = scene_of(&g, &LLAMA_8B, ON_B200, TUNED_GRAPHS, 8);
	struct train_terms one, two;

	eager->layout.cp = graphs->layout.cp = 4;
	eager->seq_length = graphs->seq_length = 8192;
	train_layer(NULL, eager, &s.w.blocks[0], &one);
	train_layer(NULL, graphs, &g.w.blocks[0], &two);
	NEAR(one.cp_s - two.cp_s, 3 * 3 * 30e-6);
	/* rows of the attention kernel start once for each part of the keys */
	const double parts_s = one.attention_forward_s;
	eager->context = CONTEXT_HEADS;
	train_layer(NULL, eager, &s.w.blocks[0], &one);
	const double starts_s =
	    eager->stack->sigma.value * 8192 / 4 * 32 / 128 * s.c.context.block_s.value / s.c.ref_n_sms.value;
	NEAR(parts_s - one.attention_forward_s, 0.75 * 3 * starts_s);
	eager->context = CONTEXT_RING;
	train_layer(NULL, eager, &s.w.blocks[0], &one);
	eager->n_sequences *= 2;
	train_layer(NULL, eager, &s.w.blocks[0], &two);
	ck_assert_double_ge(
	    two.cp_s - one.cp_s, (8 + 3 * 16) * 2048 * 4096 / s.c.gemm[DTYPE_BF16].mem_byte_per_s.value * 0.95);
}
END_TEST

/* On Hopper the kernels of a ring are slower than one over the whole sequence, unless a graph runs them or they are
 * old. */
START_TEST(ring_of_hopper)
{
	static const struct {
		enum gpu_id gpu;
		enum framework framework;
		double rate_frac;
	} cases[] = {{ON_H100, TUNED, 0.75}, {ON_H100, TUNED_GRAPHS, 1}, {ON_B200, TUNED, 1}, {ON_H100, FSDP2, 1}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct scene s;
		struct train_job *job = scene_of(&s, &LLAMA_8B, cases[i].gpu, cases[i].framework, 8);
		s.c.context.block_s = number(0); /* starts of rows, which a ring has more of */
		job->layout.cp = 2;
		job->context = CONTEXT_HEADS;
		const double whole_s = train_attention_backward(NULL, job, &s.w.blocks[0]);
		const double forward_s = train_attention_forward(NULL, job, &s.w.blocks[0]);
		job->context = CONTEXT_RING;
		/* the traffic of the operands is twice that of the forward pass, and the arithmetic 2.5 / 0.8 times */
		const double core_s = (whole_s - 2 * forward_s) / (2.5 / 0.8 - 2);
		ck_assert_double_eq_tol(train_attention_forward(NULL, job, &s.w.blocks[0]) - forward_s,
		    core_s / cases[i].rate_frac - core_s, 1e-6 * forward_s);
	}
}
END_TEST

/* Equal stages: the last one has the head beside them.  126 layers on 16 x 8 chunks: embedding and head count. */
START_TEST(ends_of_a_pipeline)
{
	struct scene s;
	struct train_job *job = scene_of(&s, &LLAMA_70B, ON_H100, TUNED, 64);

	stages(job, 8, 5);
	struct train_terms t = terms_of(job);
	NEAR(t.stage_s, 10 * t.layer_s + t.logits_s + t.p2p_s);
	job = scene_of(&s, &LLAMA_405B, ON_H100, TUNED, 512);
	job->layout.tp = 8;
	stages(job, 16, 8);
	ck_assert_int_eq(train_impossible(job), TRAIN_ANSWERED);
	t = terms_of(job);
	ck_assert_double_eq(t.n_stage_layers, 8);
	NEAR(t.stage_s, fmax(8 * t.layer_s, 7 * t.layer_s + t.logits_s) + t.p2p_s);
}
END_TEST

/* Libraries of 2022 and before fill whole waves; where a product does so anyway nothing changes. */
START_TEST(waves_of_old_libraries)
{
	struct scene s;
	struct train_job *job = scene_of(&s, &GPT3, ON_A100, MEGATRON_2021, 8);
	const double even_s = train_gemm(NULL, job, 128 * 108, 256, 12288, DTYPE_BF16, 2);
	const double odd_s = train_gemm(NULL, job, 2048, 4608, 12288, DTYPE_BF16, 2);
	const double small_s = train_gemm(NULL, job, 128, 128, 12288, DTYPE_BF16, 2);

	s.stack.whole_waves = true;
	ck_assert_double_lt(train_gemm(NULL, job, 128 * 108, 256, 12288, DTYPE_BF16, 2), 1.02 * even_s);
	ck_assert_double_gt(train_gemm(NULL, job, 2048, 4608, 12288, DTYPE_BF16, 2), odd_s);
	ck_assert_double_gt(train_gemm(NULL, job, 128, 128, 12288, DTYPE_BF16, 2), 2 * small_s);
}
END_TEST

/* Heads whose width is no multiple of 8 leave the tensor cores where no fused kernel pads them. */
START_TEST(misaligned_heads)
{
	static const struct test_shape odd = {64, 11600, 80, .vocab = 51200};
	static const struct test_shape even = {64, 11520, 80, .vocab = 51200};
	struct scene s;
	double time_s[2];

	for (int i = 0; i < 2; i++) {
		struct train_job *job = scene_of(&s, i ? &odd : &even, ON_A100, MEGATRON_2021, 8);
		train_wide_kernels(&s.c, DTYPE_FP32, number(19.5e12));
		time_s[i] = train_attention_forward(NULL, job, &s.w.blocks[0]);
	}
	ck_assert_double_gt(time_s[1], 2 * time_s[0]);
	scene_of(&s, &odd, ON_A100, TUNED, 8);
	train_wide_kernels(&s.c, DTYPE_FP32, number(19.5e12));
	ck_assert_double_lt(train_attention_forward(NULL, &s.job, &s.w.blocks[0]), time_s[0]);
}
END_TEST

/* Parameters with one scale per tensor can travel in 8 bits; those with block scales are cast after they arrive. */
START_TEST(parameters_travel_in_fp8)
{
	struct scene s;
	struct train_job *job = scene_of(&s, &LLAMA_70B, ON_B200, TUNED, 64);

	s.c.gemm[DTYPE_MXFP8] = s.c.gemm[DTYPE_FP8];
	job->layout.zero = 3;
	for (int mx = 0; mx < 2; mx++) {
		job->dtype = mx ? DTYPE_MXFP8 : DTYPE_FP8;
		s.stack.gathers_fp8 = false;
		const struct train_terms wide = terms_of(job);
		s.stack.gathers_fp8 = true;
		const struct train_terms narrow = terms_of(job);
		ck_assert_double_eq(narrow.scatter_s, wide.scatter_s);
		if (mx)
			ck_assert_double_eq(narrow.gather_s, wide.gather_s);
		else
			ck_assert_double_lt(narrow.gather_s, 0.6 * wide.gather_s);
	}
}
END_TEST

/* Sequence parallelism: where it overlaps, what starts chunks and a share of what moves; where nothing does, all of its
 * traffic, and one more gather for attention and for the MLP. */
START_TEST(inputs_are_gathered_again)
{
	struct scene s;
	struct train_job *job = scene_of(&s, &LLAMA_70B, ON_H100, TUNED, 8);

	job->layout.tp = 8;
	job->layout.dp = 1;
	job->layout.sp = true;
	const struct train_machine *m = &job->machine;
	const double size_byte = 4096 * 8192 * 2.0,
	             gather_s = train_collective(NULL, m, COLLECTIVE_ALL_GATHER, 8, 8, size_byte),
	             unit_s = gather_s + train_collective(NULL, m, COLLECTIVE_REDUCE_SCATTER, 8, 8, size_byte),
	             start_s = train_collective(NULL, m, COLLECTIVE_ALL_GATHER, 8, 8, 0) +
	    train_collective(NULL, m, COLLECTIVE_REDUCE_SCATTER, 8, 8, 0);
	NEAR(terms_of(job).tp_s, 4 * (2 * start_s + 0.4 * (unit_s - start_s)));
	s.stack.regathers = true;
	NEAR(terms_of(job).tp_s, 4 * (2 * start_s + 0.4 * (unit_s - start_s)));
	s.stack.tp_overlap = false;
	NEAR(terms_of(job).tp_s, 4 * unit_s + 2 * gather_s);
	/* of a message that is all start nothing can be hidden */
	s.stack.tp_overlap = true;
	job->seq_length = 1;
	ck_assert_double_gt(terms_of(job).tp_s, 4 * start_s);
}
END_TEST

/* Per-tensor fp8 on Hopper adds up in fp32 in the backward pass; wider types and Blackwell do so anyway. */
START_TEST(backward_products_of_hopper)
{
	static const struct {
		enum gpu_id gpu;
		enum dtype type;
		bool slower;
	} rows[] = {{ON_H100, DTYPE_FP8, true}, {ON_H100, DTYPE_BF16, false}, {ON_B200, DTYPE_FP8, false}};
	struct scene s;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct train_job *job = scene_of(&s, &LLAMA_8B, rows[i].gpu, TUNED, 8);
		const double forward_s = train_gemm(NULL, job, 4096, 4096, 4096, rows[i].type, 2);
		const double backward_s = train_backward_gemm(NULL, job, 4096, 4096, 4096, rows[i].type, 2);
		ck_assert_int_eq(backward_s > forward_s, rows[i].slower);
	}
}
END_TEST

/* Gradients of a chunk travel beside the last micro-batches of the chunks before it. */
START_TEST(chunks_hide_gradients)
{
	struct scene s;
	struct train_job *job = scene_of(&s, &GPT3, ON_H100, TUNED, 4096);

	job->layout.zero = 1;
	job->layout.tp = 4;
	job->layout.sp = true;
	stages(job, 8, 1);
	const struct train_terms one = terms_of(job);
	stages(job, 8, 6);
	const struct train_terms six = terms_of(job);
	NEAR(six.gather_s + six.scatter_s, one.gather_s + one.scatter_s);
	ck_assert_double_lt(six.dp_s, one.dp_s);
	/* what is hidden still disturbs, less where a network brings it than from NVLink */
	ck_assert_double_gt(six.dp_s, 0.35 * (six.gather_s + six.scatter_s));
	const double comm_s = 0.4 * (six.gather_s + six.scatter_s);
	NEAR(train_hide(NULL, comm_s, 2 * comm_s, 0), 0.35 * comm_s);
	NEAR(train_hide(NULL, comm_s, 2 * comm_s, 0.5), 0.45 * comm_s);
	NEAR(train_hide(NULL, comm_s, 2 * comm_s, 1), 0.55 * comm_s);
}
END_TEST

START_TEST(interleaving_halves_the_bubble)
{
	struct scene s;
	struct train_job *job = scene_of(&s, &LLAMA_70B, ON_H100, TUNED, 64);

	stages(job, 4, 2);
	const struct train_terms two = terms_of(job);
	stages(job, 4, 4);
	const struct train_terms four = terms_of(job);
	/* but for three sends of each chunk */
	NEAR(two.bubble_s - 3 * two.p2p_s / 2, 2 * (four.bubble_s - 3 * four.p2p_s / 4));
	job->zero_bubble = true;
	NEAR(terms_of(job).bubble_s, four.bubble_s / 3);
}
END_TEST

/* Sends wait for nothing else where a stage has one chunk, or no more micro-batches than there are stages; with more,
 * part of them runs beside other chunks.  As many leave a domain as there are domains. */
START_TEST(sends_are_hidden_once_the_pipeline_is_full)
{
	struct scene s;
	struct train_job *job = scene_of(&s, &LLAMA_70B, ON_H100, TUNED, 64);

	stages(job, 4, 1);
	const double one_s = terms_of(job).p2p_s;
	stages(job, 4, 2);
	job->n_global_sequences = 4 * job->layout.dp;
	NEAR(terms_of(job).p2p_s, 2 * one_s);
	job->n_global_sequences = 1e6 * 4 * job->layout.dp;
	const double full_s = terms_of(job).p2p_s;
	ck_assert_double_gt(full_s, 0);
	ck_assert_double_lt(full_s, 0.5 * 2 * one_s);

	stages(job, 16, 1);
	const double half_s = terms_of(job).p2p_s;
	job->machine.n_domain = 64;
	const double inside_s = terms_of(job).p2p_s;
	job->machine.n_domain = 4;
	NEAR(terms_of(job).p2p_s - inside_s, 2 * (half_s - inside_s));
}
END_TEST

START_TEST(full_recompute_is_a_forward_pass)
{
	struct scene s;
	struct train_job *job = scene_of(&s, &LLAMA_8B, ON_H100, TUNED, 8);

	job->layout.tp = 8;
	job->layout.dp = 1;
	job->layout.sp = true;
	const struct train_terms none = terms_of(job);
	job->recompute = RECOMPUTE_FULL;
	const struct train_terms full = terms_of(job);
	NEAR(full.recompute_s, none.forward_s);
	NEAR(full.tp_s, 1.5 * none.tp_s);
	NEAR(full.layer_s - none.layer_s, none.forward_s + none.tp_s / 2);
	job->recompute = RECOMPUTE_EVERY;
	job->recompute_n = 4;
	NEAR(terms_of(job).recompute_s, none.forward_s / 4);
	NEAR(terms_of(job).tp_s, 1.125 * none.tp_s);
	const struct train_terms every = terms_of(job);
	job->recompute = RECOMPUTE_BLOCK;
	job->recompute_n = 8;
	NEAR(terms_of(job).step_s, every.step_s);
}
END_TEST

/* Copies of 25 kB of each token and layer: behind the layers over a fast link, all the rest of them over a slow one;
 * they always read and write the GPU's memory. */
START_TEST(offload_hides_behind_the_layers)
{
	struct scene s;
	struct train_job *job = scene_of(&s, &LLAMA_8B, ON_H100, TUNED, 8);
	const struct train_terms none = terms_of(job);
	const double moved_byte = 4096 * 2.5e4;
	const double copies_s = 2 * moved_byte / s.c.gemm[DTYPE_BF16].mem_byte_per_s.value;
	double share[N_TRAIN_SHARES];

	job->away_row_byte = 2.5e4;
	ck_assert_int_eq(train_impossible(job), TRAIN_REFUSES_HOST_LINK);
	job->machine.host_byte_per_s = 1e15;
	ck_assert_int_eq(train_impossible(job), TRAIN_ANSWERED);
	struct train_terms t = terms_of(job);
	NEAR(t.offload_s, copies_s);
	train_shares(job, &t, share);
	ck_assert_double_eq(share[TRAIN_RECOMPUTE], 0);
	NEAR(share[TRAIN_OFFLOAD], t.n_microbatches * 32 * copies_s);
	job->machine.host_byte_per_s = 1e9;
	t = terms_of(job);
	NEAR(t.offload_s, copies_s + 2 * moved_byte / 1e9 - none.forward_s - none.backward_s);
	job->recompute = RECOMPUTE_FULL; /* more to hide behind */
	const double before_s = t.offload_s;
	t = terms_of(job);
	NEAR(t.offload_s, before_s - t.recompute_s);
}
END_TEST

START_TEST(one_gpu_talks_to_nobody)
{
	struct scene s;
	const struct train_job *job = scene_of(&s, &LLAMA_8B, ON_H100, TUNED, 1);
	const struct train_terms t = terms_of(job);

	ck_assert_double_eq(t.tp_s + t.cp_s + t.ep_s + t.dp_s + t.p2p_s + t.bubble_s, 0);
	NEAR(t.step_s, 64 * (32 * t.layer_s + t.logits_s) + t.optimizer_s);
}
END_TEST

START_TEST(adapters_have_no_weight_gradients)
{
	struct scene s;
	struct train_job *job = scene_of(&s, &LLAMA_8B, ON_H100, TUNED, 8);

	job->layout.zero = 1;
	const struct train_terms all = terms_of(job);
	job->adapters = true;
	const struct train_terms few = terms_of(job);
	ck_assert_double_eq(few.dp_s, 0);
	ck_assert_double_eq(few.optimizer_s, s.stack.step_s.value);
	ck_assert_double_lt(few.backward_s, all.backward_s);
	ck_assert_double_gt(few.forward_s, all.forward_s);
}
END_TEST

START_TEST(infinite_links_leave_latency)
{
	struct scene s;
	struct train_job *job = scene_of(&s, &LLAMA_8B, ON_H100, TUNED, 64);

	job->layout.zero = 1;
	const double slow = terms_of(job).dp_s;
	job->machine.nic_byte_per_s = 1e30;
	for (int c = 0; c < N_COLLECTIVES; c++)
		s.c.collective[c].bus_byte_per_s = number(1e30);
	ck_assert_double_lt(terms_of(job).dp_s, slow / 3);
}
END_TEST

START_TEST(shares_add_up)
{
	static const struct test_shape *const shapes[] = {&LLAMA_405B, &QWEN3_30B, &DEEPSEEK, &GPT_OSS};
	struct scene s;
	double share[N_TRAIN_SHARES], sum = 0;
	struct train_job *job = scene_of(&s, shapes[_i], ON_B200, EXPERTS_2026, 256);

	job->layout.zero = 1;
	job->layout.ep = _i > 0 ? 8 : 1;
	job->dtype = DTYPE_FP8;
	stages(job, 4, 1);
	const struct train_terms t = terms_of(job);
	train_shares(job, &t, share);
	for (int i = 0; i < N_TRAIN_SHARES; i++) {
		ck_assert_msg(share[i] >= -1e-12, "%s is %g", train_share_name((enum train_share)i), share[i]);
		sum += share[i];
	}
	NEAR(sum, t.step_s);
}
END_TEST

START_TEST(recorded_is_computed)
{
	struct scene s;
	struct sheet *sh = sheet_new();
	struct train_job *job = scene_of(&s, &DEEPSEEK, ON_B200, EXPERTS_2026, 64);

	job->layout.zero = 1;
	job->layout.ep = 8;
	job->dtype = DTYPE_FP8;
	stages(job, 4, 1);
	ck_assert(train_step(sh, job, NULL) == train_step(NULL, job, NULL));
	sheet_free(sh);
}
END_TEST

START_TEST(remembered_is_computed)
{
	struct scene s;
	struct arena *a = arena_new();
	struct train_job *job = scene_of(&s, &DEEPSEEK, ON_B200, EXPERTS_2026, 64);

	job->layout.zero = 1;
	job->layout.ep = 8;
	const double plain = train_step(NULL, job, NULL);
	train_memo_use(train_memo_new(a, &s.c), job);
	ck_assert(train_step(NULL, job, NULL) == plain);
	ck_assert(train_step(NULL, job, NULL) == plain);
	arena_free(a);
}
END_TEST

START_TEST(more_of_anything_is_not_slower)
{
	struct scene s;
	struct train_job *job = scene_of(&s, &LLAMA_70B, ON_H100, TUNED, 64);

	job->layout.zero = 1;
	job->layout.tp = 8;
	job->layout.sp = true;
	stages(job, 2, 1);
	for (int g = 0; g <= GAIN_NETWORK; g++)
		ck_assert_double_ge(train_gain(job, (enum train_gain)g), 1 - 1e-12);
	ck_assert_double_gt(train_gain(job, GAIN_ARITHMETIC), 1.03);
	ck_assert_double_lt(train_gain(job, GAIN_ARITHMETIC), 1.1);
}
END_TEST

Suite *train_rules_suite(void);

Suite *
train_rules_suite(void)
{
	Suite *s = suite_create("train_rules");
	TCase *t = tcase_create("steps");

	tcase_add_test(t, bubble_of_equal_stages);
	tcase_add_test(t, slowest_stage_has_its_own_layers);
	tcase_add_test(t, ring_adds_up);
	tcase_add_test(t, ring_of_hopper);
	tcase_add_test(t, ends_of_a_pipeline);
	tcase_add_test(t, waves_of_old_libraries);
	tcase_add_test(t, misaligned_heads);
	tcase_add_test(t, parameters_travel_in_fp8);
	tcase_add_test(t, inputs_are_gathered_again);
	tcase_add_test(t, backward_products_of_hopper);
	tcase_add_test(t, chunks_hide_gradients);
	tcase_add_test(t, interleaving_halves_the_bubble);
	tcase_add_test(t, sends_are_hidden_once_the_pipeline_is_full);
	tcase_add_test(t, full_recompute_is_a_forward_pass);
	tcase_add_test(t, offload_hides_behind_the_layers);
	tcase_add_test(t, one_gpu_talks_to_nobody);
	tcase_add_test(t, adapters_have_no_weight_gradients);
	tcase_add_test(t, infinite_links_leave_latency);
	tcase_add_loop_test(t, shares_add_up, 0, 4);
	tcase_add_test(t, recorded_is_computed);
	tcase_add_test(t, remembered_is_computed);
	tcase_add_test(t, more_of_anything_is_not_slower);
	suite_add_tcase(s, t);
	return s;
}
