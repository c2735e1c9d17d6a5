/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What plans are ordered by; a step from its shared layer is train_step's, bit by bit. */
#include "train_scene.h"

#include "ask/train/train.h"
#include "search/layout/layout.h"

#include <check.h>
#include <string.h>

static const double SHARED[][2] = {{1, 1}, {2, 1}, {4, 2}, {8, 8}, {16, 4}};

static void
compare(const struct train_job *job, const struct train_part *part, int *n)
{
	struct train_terms whole, pieces;

	if (train_impossible(job) != TRAIN_ANSWERED)
		return;
	train_step(NULL, job, &whole);
	train_assemble(job, part, &pieces);
	ck_assert_mem_eq(&whole, &pieces, sizeof whole);
	++*n;
}

/* One layer for every pipeline, replica count and stage of ZeRO. */
static void
compare_pipelines(struct train_job job, int *n)
{
	struct train_part part;

	train_part(&job, &part);
	for (size_t i = 0; i < sizeof SHARED / sizeof *SHARED; i++)
		for (int zero = 0; zero < 4; zero++) {
			job.layout.pp = SHARED[i][0];
			job.layout.vp = SHARED[i][1];
			job.layout.zero = zero;
			job.layout.dp = job.n_gpus / (job.layout.tp * job.layout.cp * job.layout.pp);
			job.layout.shard = job.layout.dp * job.layout.cp;
			compare(&job, &part, n);
		}
}

START_TEST(pieces_are_the_step)
{
	const struct test_shape *const shapes[] = {&LLAMA_70B, &QWEN3_30B, &GPT3};
	int n = 0;

	for (size_t m = 0; m < sizeof shapes / sizeof *shapes; m++)
		for (int tp = 1; tp <= 8; tp *= 2)
			for (int b = 1; b <= 4; b *= 2) {
				struct scene s;
				struct train_job *job = scene_of(&s, shapes[m], ON_H100, TUNED, 512);
				job->layout.tp = job->layout.etp = tp;
				job->layout.sp = tp > 1;
				job->n_sequences = b;
				compare_pipelines(*job, &n);
			}
	ck_assert_int_gt(n, 200);
}
END_TEST

START_TEST(pairs_are_symmetric)
{
	const struct layout_shares a = {1, {0.6, 0.2, 0.1, 0.05, 0.05}, NULL},
	                           b = {2, {0.4, 0.2, 0.3, 0.05, 0.05}, NULL};
	struct layout_shares unproven = a;

	ck_assert_double_eq(layout_difference(&a, &b, false), layout_difference(&b, &a, false));
	ck_assert_double_gt(layout_difference(&a, &b, false), layout_difference(&a, &a, false));
	ck_assert_double_gt(layout_difference(&a, &b, true), layout_difference(&a, &b, false));
	/* the error of what no published run has is common to two layouts that have it */
	unproven.unproven = "no published run has it";
	ck_assert_double_eq(layout_difference(&unproven, &unproven, false), layout_difference(&a, &a, false));
	ck_assert_double_eq_tol(
	    layout_difference(&a, &unproven, false), 1.2816 * sqrt(2 * 0.03 * 0.03 + 0.1 * 0.1), 1e-12);
	ck_assert_double_eq(layout_difference(&a, &unproven, false), layout_difference(&unproven, &a, false));
}
END_TEST

/* Each thing that no published run has, alone; and what published runs do have. */
START_TEST(what_nobody_has_run)
{
	struct scene s;
	struct train_job *job = scene_of(&s, &LLAMA_70B, ON_H100, TUNED, 512);
	struct stack_time whole = *job->stack;

	whole.whole_experts = true;
	job->stack = &whole;
	ck_assert_ptr_null(train_unproven(job));
	job->layout.zero = 3;
	ck_assert_ptr_null(train_unproven(job));
	job->away_row_byte = 1;
	ck_assert_ptr_nonnull(strstr(train_unproven(job), "parts of layers"));
	ck_assert(!train_is_untried(job));
	job->recompute = RECOMPUTE_OFFLOAD;
	ck_assert_ptr_null(train_unproven(job));
	job->zero_bubble = true; /* of a pipeline, which there is none of yet */
	ck_assert(!train_is_untried(job));
	job->layout.pp = 2;
	ck_assert_ptr_nonnull(strstr(train_unproven(job), "zero-bubble"));
	ck_assert(train_is_untried(job));
	job->zero_bubble = false;
	whole.no_zero_2 = true;
	ck_assert_ptr_null(train_unproven(job));
	job->layout.zero = 2;
	ck_assert_ptr_nonnull(strstr(train_unproven(job), "keeps parameters"));
	ck_assert(train_is_untried(job));
	whole.no_zero_2 = false;

	job = scene_of(&s, &QWEN3_30B, ON_H100, TUNED, 512);
	job->layout.zero = 2;
	ck_assert_ptr_null(train_unproven(job)); /* a framework that shards them in published runs */
	job->stack = &whole;
	ck_assert_ptr_nonnull(strstr(train_unproven(job), "with experts"));
	ck_assert(train_is_untried(job));
	job->layout.zero = 1;
	ck_assert_ptr_null(train_unproven(job));
}
END_TEST

START_TEST(rows_count_what_may_go_wrong)
{
	const struct layout_row sure = {.step_s = 10, .chance_frac = 1}, risky = {.step_s = 9, .chance_frac = 0.75},
	                        untried = {.step_s = 10, .chance_frac = 1, .untried = true};

	ck_assert_double_eq(layout_expected_s(&sure), 10);
	ck_assert_double_eq_tol(layout_expected_s(&risky), 12, 1e-12);
	ck_assert_double_eq_tol(layout_expected_s(&untried), 11, 1e-12);
}
END_TEST

Suite *plan_layout_suite(void);

Suite *
plan_layout_suite(void)
{
	Suite *s = suite_create("plan_layout");
	TCase *c = tcase_create("plan_layout");

	tcase_add_test(c, pieces_are_the_step);
	tcase_add_test(c, pairs_are_symmetric);
	tcase_add_test(c, what_nobody_has_run);
	tcase_add_test(c, rows_count_what_may_go_wrong);
	suite_add_tcase(s, c);
	return s;
}
