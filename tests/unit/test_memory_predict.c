/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What multi-token prediction holds in training: a layer, a projection and norms of each module, one loss more. */
#include "model/memory/memory.h"
#include "model/memory/parts.h"
#include "unit/hybrids.h"

#include <check.h>

#include "memory_scene.h"

/* A module of DeepSeek-V3 is one layer more, a map from two streams to one, and three norms. */
START_TEST(module_is_a_layer)
{
	const struct stack stack = megatron_core();
	struct test_shape longer = deepseek_v3;
	struct model m, more;

	longer.layers++;
	make_model(&m, &deepseek_v3);
	make_model(&more, &longer);
	struct memory_job none = job_of(&m, &stack, 1, 4096), one = none, layer = job_of(&more, &stack, 1, 4096);
	none.layout.ep = one.layout.ep = layer.layout.ep = 8;
	one.n_mtp = 1;
	ck_assert_double_eq(
	    memory_linear_params(NULL, &one, 0), memory_linear_params(NULL, &layer, 0) + 2 * 7168.0 * 7168.0);
	ck_assert_double_eq(memory_expert_params(NULL, &one, 0), memory_expert_params(NULL, &layer, 0));
	ck_assert_double_eq(memory_other_params(NULL, &one, 0), memory_other_params(NULL, &layer, 0) + 3 * 7168.0);
	/* two of the same weights */
	m.workload.n_mtp_modules = number(1);
	one.n_mtp = 2;
	ck_assert_double_eq(memory_expert_params(NULL, &one, 0), memory_expert_params(NULL, &layer, 0));
	/* for inference they are not there */
	none.use = one.use = STACK_INFER;
	one.n_mtp = 0;
	ck_assert_double_eq(memory_linear_params(NULL, &one, 0), memory_linear_params(NULL, &none, 0));
}
END_TEST

/* The last stage has them, and a copy of the token table. */
START_TEST(modules_are_last)
{
	const struct stack stack = megatron_core();
	struct model m;

	make_model(&m, &deepseek_v3);
	struct memory_job none = job_of(&m, &stack, 1, 4096), one = none;
	none.layout.pp = one.layout.pp = 4;
	one.n_mtp = 1;
	for (int stage = 0; stage < 3; stage++) {
		ck_assert_double_eq(memory_linear_params(NULL, &one, stage), memory_linear_params(NULL, &none, stage));
		ck_assert_double_eq(memory_other_params(NULL, &one, stage), memory_other_params(NULL, &none, stage));
	}
	ck_assert_double_gt(memory_linear_params(NULL, &one, 3), memory_linear_params(NULL, &none, 3));
	ck_assert_double_gt(memory_other_params(NULL, &one, 3) - memory_other_params(NULL, &none, 3), 129280 * 7168.0);
}
END_TEST

/*
 * At the loss a layer of 458928 bytes a token is kept (see test_memory_layer.c), four streams before and behind what
 * joins them and the joined pair in 16 bits, and 4 bytes for each logit that waits; at the first backward layer
 * nothing.
 */
START_TEST(predictions_wait_for_the_loss)
{
	const struct stack stack = megatron_core();
	struct model m;
	struct memory_use with, without;

	make_model(&m, &deepseek_v3);
	struct memory_job job = job_of(&m, &stack, 2, 4096);
	for (int n = 1; n <= 2; n++) {
		job.n_mtp = 0;
		memory_at(NULL, &job, 0, MOMENT_LOSS, &without);
		job.n_mtp = n;
		memory_at(NULL, &job, 0, MOMENT_LOSS, &with);
		ck_assert_double_eq(with.activations - without.activations, n * 8192 * (458928 + 12 * 7168.0));
		ck_assert_double_eq(with.logits - without.logits, n * 8192 * 4 * 129280.0);
		ck_assert_double_gt(with.weights, without.weights);
	}
	job.n_mtp = 0;
	memory_at(NULL, &job, 0, MOMENT_BACKWARD, &without);
	job.n_mtp = 1;
	memory_at(NULL, &job, 0, MOMENT_BACKWARD, &with);
	ck_assert_double_eq(with.activations, without.activations);
	ck_assert_double_eq(with.logits, without.logits);
	/* a gradient in the place of the logits is all that waits */
	job.loss = &losses[4];
	memory_at(NULL, &job, 0, MOMENT_LOSS, &with);
	ck_assert_double_eq(with.logits, 2 * 8192 * 2 * 129280.0);
}
END_TEST

/* Where kinds take turns, the module has the last that mixes tokens and the last that feeds forward. */
START_TEST(module_of_a_hybrid)
{
	struct arena *a = arena_new();
	const struct stack stack = megatron_core();
	struct model m = {.workload = *hybrid(a, NEMOTRON_3_SUPER)};
	struct memory_job job = job_of(&m, &stack, 1, 4096);
	int mixer, feed;

	workload_last_layer(&m.workload, &mixer, &feed);
	ck_assert_int_eq(m.workload.blocks[mixer].mixer, MIXER_ATTENTION);
	ck_assert(m.workload.blocks[feed].moe.given);
	job.n_mtp = 2;
	ck_assert_double_eq(predicted_layers(&job, 0, mixer), 2);
	ck_assert_double_eq(predicted_layers(&job, 0, feed), 2);
	ck_assert_double_eq(predicted_layers(&job, 0, 0), 0);
	ck_assert_double_eq(prediction_activations(NULL, &job, 0),
	    2 * 4096 *
	        (memory_layer_saved(NULL, &job, &m.workload.blocks[mixer]) +
	            memory_layer_saved(NULL, &job, &m.workload.blocks[feed]) + 12 * 4096.0));
	arena_free(a);
}
END_TEST

Suite *memory_predict_suite(void);

Suite *
memory_predict_suite(void)
{
	Suite *s = suite_create("memory_predict");
	TCase *t = tcase_create("memory_predict");

	tcase_add_test(t, module_is_a_layer);
	tcase_add_test(t, modules_are_last);
	tcase_add_test(t, predictions_wait_for_the_loss);
	tcase_add_test(t, module_of_a_hybrid);
	suite_add_tcase(s, t);
	return s;
}
