/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The largest and the smallest that fits, what would fit, and what has no rule. */
#include "model/memory/memory.h"
#include "search/plan/plan.h"

#include <check.h>
#include <math.h>

#include "memory_scene.h"

/* --- searches -------------------------------------------------------------------------------------------- */

/* The shortcut over stages gives what all stages give. */
START_TEST(peak_is_over_all_stages)
{
	static const struct test_shape *const shapes[] = {&llama3_8b, &llama3_70b, &deepseek_v3, &kimi_k2};
	const struct stack core = megatron_core(), other = megatron_2022();

	for (int i = 0; i < 4; i++)
		for (int pp = 1; pp <= 16; pp++)
			for (int vp = 1; vp <= 2; vp++)
				for (int s = 0; s < 2; s++) {
					struct memory_use use;
					struct model m;
					double largest = 0;
					make_model(&m, shapes[i]);
					struct memory_job job = job_of(&m, s ? &other : &core, 1, 4096);
					job.layout.pp = pp;
					job.layout.vp = pp > 1 ? vp : 1;
					for (int stage = 0; stage < pp; stage++)
						largest = fmax(largest, memory_stage_peak(&job, stage, &use));
					ck_assert_double_eq(memory_peak(NULL, &job, NULL), largest);
				}
}
END_TEST

/* Jobs of one family, in any order: remembered sums are those that are worked out. */
START_TEST(memo_changes_nothing)
{
	static const struct test_shape *const shapes[] = {&llama3_70b, &deepseek_v3, &qwen3_30b};
	static const enum recompute again[] = {
	    RECOMPUTE_NONE, RECOMPUTE_MODULES, RECOMPUTE_EVERY, RECOMPUTE_BLOCK, RECOMPUTE_FULL};
	const struct stack core = megatron_core(), other = megatron_2022();

	for (int i = 0; i < 6; i++) {
		struct memory_memo memo = {0};
		struct model m;
		make_model(&m, shapes[i / 2]);
		struct memory_job job = job_of(&m, i % 2 ? &other : &core, 1, 4096);
		job.layout.tp = job.layout.cp = 2;
		job.layout.pp = 4;
		job.layout.sp = true;
		job.layout.zero = 1;
		for (int n = 0; n < 2000; n++) {
			job.batch = number(1 + n % 5);
			job.layout.vp = 1 + n % 7;
			job.recompute = again[n % 5];
			job.recompute_n = 1 + n % 3;
			job.modules = (unsigned)n % (1U << N_MODULES);
			job.memo = NULL;
			const double bare = memory_peak(NULL, &job, NULL);
			job.memo = &memo;
			ck_assert_double_eq(memory_peak(NULL, &job, NULL), bare);
		}
	}
}
END_TEST

static struct memory_job
searched(const struct model *m, const struct stack *stack)
{
	struct memory_job job = job_of(m, stack, 1, 4096);

	job.layout.dp = job.layout.shard = 8;
	job.card_byte = number(79.2 * GIB);
	return job;
}

static struct stack
searchable(void)
{
	struct stack s = megatron_core();

	s.tensor = s.sequence = s.pipeline = s.context = s.expert = true;
	s.max_zero = number(1);
	return s;
}

static enum verdict
verdict_of(const struct memory_job *job)
{
	return memory_verdict(job, memory_peak(NULL, job, NULL));
}

START_TEST(largest_of_each)
{
	const struct stack stack = searchable();
	struct model m;

	make_model(&m, &llama3_8b);
	struct memory_job job = searched(&m, &stack);
	job.layout.tp = 4;
	job.layout.sp = true;
	job.layout.zero = 1;
	const double batch = fit_largest_batch(&job), seq = fit_longest_sequence(&job);
	ck_assert_double_ge(batch, 1);
	job.batch = number(batch);
	ck_assert_int_eq(verdict_of(&job), FITS);
	job.batch = number(batch + 1);
	ck_assert_int_ne(verdict_of(&job), FITS);
	job.batch = number(1);
	job.seq = number(seq);
	ck_assert_int_eq(verdict_of(&job), FITS);
	job.seq = number(seq + 128);
	ck_assert_int_ne(verdict_of(&job), FITS);
	job.card_byte = number(1e9);
	ck_assert_double_eq(fit_largest_batch(&job), 0);
	ck_assert_double_eq(fit_longest_sequence(&job), 0);
}
END_TEST

START_TEST(fewest_gpus)
{
	static const struct test_shape *const shapes[] = {&llama3_8b, &llama3_70b, &qwen3_30b, &deepseek_v3};
	const struct stack stack = searchable();
	struct memory_fix fewest;
	double last = 0;

	for (int i = 0; i < 4; i++) {
		struct model m;
		make_model(&m, shapes[i]);
		struct memory_job job = searched(&m, &stack);
		job.layout.zero = 1;
		ck_assert(fit_fewest_gpus(&job, 8, &fewest));
		ck_assert_int_eq(verdict_of(&fewest.job), FITS);
		ck_assert_double_eq(fit_gpus(&fewest.job.layout), fewest.n_gpus);
		ck_assert_double_le(fewest.job.layout.tp, 8);
		if (i != 2) {
			ck_assert_double_gt(fewest.n_gpus, last);
			last = fewest.n_gpus;
		}
	}
	struct model m;
	make_model(&m, &llama3_8b);
	struct memory_job job = searched(&m, &stack);
	job.card_byte = number(1e8);
	ck_assert(!fit_fewest_gpus(&job, 8, &fewest));
}
END_TEST

/* Every change that is named does make it fit, and those on fewer GPUs come first. */
START_TEST(fixes)
{
	static const struct test_shape *const shapes[] = {&llama3_8b, &llama3_70b, &qwen3_30b};
	const struct stack stack = searchable();
	struct memory_fix list[8];

	for (int i = 0; i < 3; i++) {
		struct model m;
		make_model(&m, shapes[i]);
		struct memory_job job = searched(&m, &stack);
		job.layout.tp = 2;
		ck_assert_int_ne(verdict_of(&job), FITS);
		const int n = fit_fixes(&job, 8, list, 8);
		ck_assert_int_gt(n, 0);
		for (int k = 0; k < n; k++) {
			ck_assert_int_eq(verdict_of(&list[k].job), FITS);
			ck_assert(list[k].change[0]);
			if (k > 0)
				ck_assert_double_ge(list[k].n_gpus, list[k - 1].n_gpus);
		}
	}
}
END_TEST

START_TEST(layout_text)
{
	const struct stack stack = searchable();
	struct model m;
	char text[80];

	make_model(&m, &llama3_8b);
	struct memory_job job = searched(&m, &stack);
	struct layout *l = &job.layout;
	*l = (struct layout){.dp = 4, .tp = 8, .pp = 1, .vp = 1, .cp = 2, .ep = 1, .etp = 1, .zero = 1, .sp = true};
	fit_layout_text(&job, text, sizeof text);
	ck_assert_str_eq(text, "dp=4,tp=8,cp=2,zero=1,sp");
	/* what its framework would do otherwise is said, so that the text means the same layout when it is read */
	l->sp = false;
	l->zero = 0;
	fit_layout_text(&job, text, sizeof text);
	ck_assert_str_eq(text, "dp=4,tp=8,cp=2,zero=0,no_sp");
	l->zero = 3;
	l->shard = 2;
	l->sp = true;
	fit_layout_text(&job, text, sizeof text);
	ck_assert_str_eq(text, "dp=4,tp=8,cp=2,zero=3,shard=2,sp");
	*l = (struct layout){.dp = 1, .tp = 1, .pp = 1, .vp = 1, .cp = 1, .ep = 1, .etp = 1};
	fit_layout_text(&job, text, sizeof text);
	ck_assert_str_eq(text, "dp=1");
}
END_TEST

/* What has no rule is refused, not counted by something near. */
START_TEST(rules)
{
	const struct stack stack = megatron_core();
	struct model m;

	make_model(&m, &llama3_8b);
	struct memory_job job = job_of(&m, &stack, 1, 4096);
	ck_assert(!memory_lacks_rule(&job));
	m.blocks[0].mixer = MIXER_KDA;
	ck_assert(memory_lacks_rule(&job));
	m.blocks[0].mixer = MIXER_DELTA;
	m.blocks[0].delta.n_key_heads = number(8);
	ck_assert(!memory_lacks_rule(&job));
	job.layout.tp = 16;
	ck_assert(memory_lacks_rule(&job));
	job.layout.tp = 1;
	m.blocks[0].mixer = MIXER_MAMBA;
	m.blocks[0].mamba.n_groups = number(8);
	ck_assert(!memory_lacks_rule(&job));
	job.layout.cp = 2;
	ck_assert(memory_lacks_rule(&job));
	job.use = STACK_INFER;
	ck_assert(!memory_lacks_rule(&job));
	m.workload.kind = MODEL_ENCODER;
	ck_assert(memory_lacks_rule(&job));
	make_model(&m, &mixtral);
	job = job_of(&m, &stack, 1, 4096);
	ck_assert(!memory_lacks_rule(&job));
	job.lora_rank = number(8);
	ck_assert(memory_lacks_rule(&job));
}
END_TEST

Suite *memory_search_suite(void);

Suite *
memory_search_suite(void)
{
	Suite *s = suite_create("memory_search");
	TCase *c = tcase_create("memory_search");

	tcase_add_test(c, peak_is_over_all_stages);
	tcase_add_test(c, memo_changes_nothing);
	tcase_add_test(c, largest_of_each);
	tcase_add_test(c, fewest_gpus);
	tcase_add_test(c, fixes);
	tcase_add_test(c, layout_text);
	tcase_add_test(c, rules);
	suite_add_tcase(s, c);
	return s;
}
