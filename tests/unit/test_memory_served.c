/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Serving, bare numbers and verdicts; a sheet changes nothing. */
#include "base/base.h"
#include "model/memory/memory.h"

#include <check.h>

#include "memory_scene.h"

/* --- serving --------------------------------------------------------------------------------------------- */

/* vLLM log, Llama-2-7B on an A100 80 GB: 117 616 tokens reported; 118 240 computed by hand. */
START_TEST(vllm_pool)
{
	struct stack stack = plain_stack();
	struct model m;

	stack.use = STACK_INFER;
	stack.pool = POOL_CARD;
	stack.sampler_rows = number(256);
	stack.sampler_byte = number(41);
	make_model(&m, &llama2_7b);
	struct memory_job job = job_of(&m, &stack, 1, 4096);
	job.kv_elem_byte = 2;
	job.block_token = number(16);
	job.batch_token = number(4096);
	job.utilization = number(0.9);
	job.context_byte = number(0.6 * GIB);
	job.card_byte = number(79.15 * GIB);
	const double pool = memory_kv_pool(NULL, &job);
	ck_assert_double_eq_tol(pool / GIB, 57.738, 0.00051);
	ck_assert_double_eq(memory_pool_tokens(NULL, &job, pool), 118240);
	/* 2048 sequences, a vocabulary of 32000 and 16 bytes an entry: 0.9766 GiB less */
	stack.decoder_rows = number(2048);
	stack.decoder_byte = number(16);
	ck_assert_double_eq_tol((pool - memory_kv_pool(NULL, &job)) / GIB, 2048 * 32000 * 16.0 / GIB, 1e-9);
}
END_TEST

/* gpt-oss-120b in its own MXFP4 experts: 60.77 GiB computed from the model card, 60.8 published. */
START_TEST(mxfp4_weights)
{
	static const struct test_shape gpt_oss = {
	    36, 2880, 64, 8, 64, 0, 201088, .experts = 128, .top_k = 4, .expert_width = 2880};
	struct stack stack = plain_stack();
	struct memory_use use;
	struct model m;

	stack.use = STACK_INFER;
	make_model(&m, &gpt_oss);
	struct memory_job job = job_of(&m, &stack, 1, 4096);
	job.kv_elem_byte = 2;
	job.block_token = number(1);
	job.batch_token = datum_absent();
	memory_quantise(&job, QUANT_MXFP4);
	memory_peak(NULL, &job, &use);
	ck_assert_double_eq_tol(use.weights / GIB, 60.77, 0.1);
}
END_TEST

/* --- bare numbers ---------------------------------------------------------------------------------------- */

START_TEST(checkpointing)
{
	ck_assert_double_eq_tol(checkpoint_cost(NULL, RECOMPUTE_FULL, 1), 1 / 3.0, 1e-12);
	ck_assert_double_eq_tol(checkpoint_cost(NULL, RECOMPUTE_EVERY, 2), 1 / 6.0, 1e-12);
	ck_assert_double_eq_tol(checkpoint_cost(NULL, RECOMPUTE_EVERY, 4), 1 / 12.0, 1e-12);
	ck_assert_double_eq(checkpoint_cost(NULL, RECOMPUTE_NONE, 1), 0);
	ck_assert_double_eq_tol(checkpoint_saving(NULL, RECOMPUTE_FULL, 1, 32, 12), 8.72727272727, 1e-9);
	ck_assert_double_eq_tol(checkpoint_saving(NULL, RECOMPUTE_EVERY, 2, 32, 12), 1.84615384615, 1e-9);
	ck_assert_double_eq_tol(checkpoint_saving(NULL, RECOMPUTE_UNIFORM, 1, 32, 12), 2.82842712475, 1e-9);
}
END_TEST

START_TEST(sharing)
{
	ck_assert_double_eq(zero_pool(NULL, 8, 80e9), 640e9);
	ck_assert_double_eq(pool_params(NULL, 640e9, 16), 40e9);
	ck_assert_double_eq(micro_batch(NULL, 64, 8, 4), 2);
	ck_assert_double_eq(accumulation_steps(NULL, 1024, 1, 64), 16);
	ck_assert_double_eq(attention_matrix(NULL, 8192, 2), 128 * 1048576.0);
	ck_assert_double_eq(attention_tiled(NULL, 8192, 64, 2), 1048576);
	ck_assert_double_eq(attention_tiled(NULL, 8192, 128, 2), 2097152);
	ck_assert_double_eq_tol(memory_saving(NULL, 144e9, 128e9), 0.111111111111, 1e-9);
}
END_TEST

/* --- the verdict ----------------------------------------------------------------------------------------- */

START_TEST(verdicts)
{
	const struct stack stack = plain_stack();
	struct memory_job job = {.use = STACK_TRAIN, .stack = &stack};

	job.card_byte = number(100);
	job.headroom_frac = datum_absent();
	ck_assert_int_eq(memory_verdict(&job, 99 / 1.15), FITS);
	ck_assert_int_eq(memory_verdict(&job, 99 / 1.15 + 0.1), RISKY);
	ck_assert_int_eq(memory_verdict(&job, 99), RISKY);
	ck_assert_int_eq(memory_verdict(&job, 99.1), DOES_NOT_FIT);
	/* contexts and libraries are in what a device shows */
	job.counts_device = true;
	ck_assert_int_eq(memory_verdict(&job, 99.1), RISKY);
	ck_assert_int_eq(memory_verdict(&job, 100.1), DOES_NOT_FIT);
	job.headroom_frac = number(0.2);
	ck_assert_int_eq(memory_verdict(&job, 80), FITS);
	ck_assert_int_eq(memory_verdict(&job, 80.1), DOES_NOT_FIT);
}
END_TEST

START_TEST(chances)
{
	struct stack stack = plain_stack();
	struct memory_job job = {.use = STACK_TRAIN, .stack = &stack};

	stack.safety = number(1.2);
	job.card_byte = number(100);
	job.headroom_frac = datum_absent();
	/* half of the peaks are above the prediction, 5 % above the safety factor */
	ck_assert_double_eq_tol(memory_chance(&job, 99), 0.5, 1e-12);
	ck_assert_double_eq_tol(memory_chance(&job, 99 / 1.2), 0.95, 1e-9);
	ck_assert_double_eq_tol(memory_chance(&job, 99 / 1.1), 0.8051, 1e-4);
	ck_assert_double_gt(memory_chance(&job, 50), 0.999999);
	/* a margin of one's own is sure */
	job.headroom_frac = number(0.2);
	ck_assert_double_eq(memory_chance(&job, 80), 1);
	ck_assert_double_eq(memory_chance(&job, 80.1), 0);
}
END_TEST

/* --- the sheet changes nothing --------------------------------------------------------------------------- */

START_TEST(same_with_a_sheet)
{
	static const struct test_shape *const shapes[] = {&llama3_8b, &qwen3_30b, &deepseek_v3};
	const struct stack core = megatron_core(), other = litgpt_2023();
	struct sheet *sh = sheet_new();

	for (int i = 0; i < 3; i++)
		for (int s = 0; s < 2; s++) {
			struct model m;
			make_model(&m, shapes[i]);
			struct memory_job job = job_of(&m, s ? &other : &core, 1, 4096);
			job.layout.zero = s ? 3 : 1;
			job.layout.dp = job.layout.shard = 8;
			const double bare = memory_peak(NULL, &job, NULL);
			ck_assert(memory_peak(sh, &job, NULL) == bare);
			sheet_clear(sh);
		}
	sheet_free(sh);
}
END_TEST

/* More of anything that shards is never worse; more tokens never better. */
START_TEST(monotone)
{
	const struct stack stack = megatron_core();
	struct model m;
	double last = 0;

	make_model(&m, &llama3_70b);
	struct memory_job job = job_of(&m, &stack, 1, 4096);
	job.layout.zero = 1;
	for (double batch = 1; batch <= 16; batch *= 2) {
		job.batch = number(batch);
		const double need = memory_peak(NULL, &job, NULL);
		ck_assert_double_gt(need, last);
		last = need;
	}
	for (double dp = 1; dp <= 64; dp *= 2) {
		job.layout.dp = job.layout.shard = dp;
		const double need = memory_peak(NULL, &job, NULL);
		ck_assert_double_le(need, last);
		last = need;
	}
	for (double tp = 1; tp <= 8; tp *= 2) {
		job.layout.tp = tp;
		job.layout.sp = tp > 1;
		const double need = memory_peak(NULL, &job, NULL);
		ck_assert_double_le(need, last);
		last = need;
	}
}
END_TEST

Suite *memory_served_suite(void);

Suite *
memory_served_suite(void)
{
	Suite *s = suite_create("memory_served");
	TCase *c = tcase_create("memory_served");

	tcase_add_test(c, vllm_pool);
	tcase_add_test(c, mxfp4_weights);
	tcase_add_test(c, checkpointing);
	tcase_add_test(c, sharing);
	tcase_add_test(c, verdicts);
	tcase_add_test(c, chances);
	tcase_add_test(c, same_with_a_sheet);
	tcase_add_test(c, monotone);
	suite_add_tcase(s, c);
	return s;
}
