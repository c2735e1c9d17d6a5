/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernels of training out of those that were measured, and lists of operators. */
#include "model/train/train.h"
#include "train_scene.h"

#include <check.h>

START_TEST(rate_of_a_prefill_kernel)
{
	struct scene s;
	struct datum rate = number(0), block = number(0);

	scene_of(&s, &LLAMA_8B, ON_H100, TUNED, 8);
	/* the traffic around the tiles is counted by the model of training: leave none in the kernel */
	s.c.context.base_s = number(0);
	s.c.context.mem_byte_per_s = number(4.0 / 5 * s.c.gemm[DTYPE_BF16].mem_byte_per_s.value);
	train_attention_rate(&s.c, &rate, &block);
	ck_assert_double_eq_tol(rate.value / s.c.context.flop_per_s.value, 1, 0.05);
	ck_assert_double_ge(block.value, 0);
}
END_TEST

START_TEST(narrow_types_take_the_rate_and_keep_the_tiles)
{
	struct scene s;

	scene_of(&s, &LLAMA_8B, ON_H100, TUNED, 8);
	struct gemm_calibration fluid = s.c.gemm[DTYPE_FP8];
	const double peak = fluid.peak_flop_per_s.value;
	train_narrow_kernels(&s.c, DTYPE_FP8, &fluid);
	ck_assert_double_eq_tol(s.c.gemm[DTYPE_FP8].peak_flop_per_s.value / peak, 1, 1e-9);
	/* a fit with another base of its own: the same large product */
	fluid.tile_s = number(0);
	fluid.base_s = number(0);
	train_narrow_kernels(&s.c, DTYPE_FP8, &fluid);
	ck_assert_double_gt(s.c.gemm[DTYPE_FP8].peak_flop_per_s.value, peak);
	ck_assert_double_eq(s.c.gemm[DTYPE_FP8].tile_s.value, s.c.gemm[DTYPE_BF16].tile_s.value);
}
END_TEST

START_TEST(wide_types_follow_the_datasheet)
{
	struct scene s;

	scene_of(&s, &LLAMA_8B, ON_A100, TUNED, 8);
	train_wide_kernels(&s.c, DTYPE_TF32, number(156e12));
	NEAR(s.c.gemm[DTYPE_TF32].peak_flop_per_s.value, 0.5 * s.c.gemm[DTYPE_BF16].peak_flop_per_s.value);
	NEAR(s.c.gemm[DTYPE_TF32].feed_byte_per_s.value, 4 * s.c.gemm[DTYPE_BF16].feed_byte_per_s.value);
	train_wide_kernels(&s.c, DTYPE_FP32, datum_absent());
	ck_assert(!gemm_calibrated(&s.c, DTYPE_FP32));
}
END_TEST

START_TEST(lists_of_operators)
{
	struct scene s;
	struct op ops[] = {{.kind = OP_conv2d, .count = 3, .dim = {1, 64, 56, 56, 64, 3, 3, 1, 1}, .per_batch = {1}},
	    {.kind = OP_elementwise, .count = 3, .dim = {64 * 56 * 56, 1, 1, 1}, .per_batch = {64 * 56 * 56}},
	    {.kind = OP_embedding_bag, .count = 1, .dim = {1, 20, 128, 1e6}, .per_batch = {1}}};
	const struct workload w = {.kind = MODEL_OPERATORS, .n_ops = 3, .ops = ops};
	struct train_list_terms one, more;

	scene_of(&s, &LLAMA_8B, ON_H100, TUNED, 8);
	struct train_list_job job = {.model = &w,
	    .machine = s.job.machine,
	    .n_gpus = 1,
	    .n_samples = 64,
	    .dtype = DTYPE_BF16,
	    .tables_spread = true};
	train_list_step(NULL, &job, &one);
	ck_assert_double_eq(one.exchange_s + one.reduce_s, 0);
	job.n_samples = 128;
	train_list_step(NULL, &job, &more);
	ck_assert_double_gt(more.products_s, 1.8 * one.products_s);
	ck_assert_double_lt(more.products_s, 2 * one.products_s);
	ck_assert_double_gt(more.other_s, 1.5 * one.other_s);
	job.n_gpus = 8;
	train_list_step(NULL, &job, &one);
	ck_assert_double_gt(one.exchange_s, 0);
	ck_assert_double_gt(one.reduce_s, 0);
	NEAR(one.step_s, one.products_s + one.other_s + one.tables_s + one.exchange_s + one.reduce_s + one.optimizer_s);
}
END_TEST

Suite *train_kernels_suite(void);

Suite *
train_kernels_suite(void)
{
	Suite *s = suite_create("train_kernels");
	TCase *t = tcase_create("kernels");
	tcase_add_test(t, rate_of_a_prefill_kernel);
	tcase_add_test(t, narrow_types_take_the_rate_and_keep_the_tiles);
	tcase_add_test(t, wide_types_follow_the_datasheet);
	tcase_add_test(t, lists_of_operators);
	suite_add_tcase(s, t);
	return s;
}
