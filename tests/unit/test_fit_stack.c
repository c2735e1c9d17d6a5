/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The factor of a framework, from steps that were made with one that is known. */
#include "train_scene.h"

#include <check.h>

#include "base/base.h"
#include "search/fit/fit.h"

enum { ROWS = 12 };

/* Of a framework that nobody listed: 0.18 altogether. */
static const struct fit_prior prior = {0.143, 0.100, 0.042};

struct lab {
	struct arena *arena;
	struct scene dense, experts;
	struct stack stack;
	struct fit_stack_row rows[ROWS];
};

static struct train_ask
ask_of(const struct scene *s, const struct stack *stack)
{
	struct layout sharded = s->job.layout;

	sharded.zero = 1;
	sharded.shard = sharded.dp;
	return (struct train_ask){.model = &s->w,
	    .stack = stack,
	    .machine = s->job.machine,
	    .n_gpus = s->job.n_gpus,
	    .layout = sharded,
	    .n_global_sequences = number(128),
	    .n_sequences = number(1),
	    .seq_length = number(4096),
	    .packed_length = datum_absent(),
	    .dtype = DTYPE_BF16,
	    .attention = N_ATTENTION_FORMS,
	    .dispatcher = DISPATCH_OPEN,
	    .imbalance = 1,
	    .optimizer_byte = 30,
	    .n_mtp = number(0)};
}

static double
step_with(const struct fit_stack_row *row, double sigma, double moe_sigma)
{
	struct stack stack = *row->ask.stack;
	struct train_ask ask = row->ask;
	struct train_answer a;

	stack.time.sigma = number(sigma);
	if (datum_given(stack.time.moe_sigma))
		stack.time.moe_sigma = number(moe_sigma);
	ask.stack = &stack;
	train_answer(&ask, &row->doubts, &a);
	ck_assert_int_eq(a.refusal, TRAIN_ANSWERED);
	return a.step_s;
}

/* n dense steps, then m of a mixture of experts, of frameworks with these factors; 2 % of noise. */
static void
measure(struct lab *l, int n, int m, double sigma, double moe_sigma)
{
	l->arena = arena_new();
	scene_of(&l->dense, &LLAMA_8B, ON_H100, TUNED, 64);
	scene_of(&l->experts, &QWEN3_30B, ON_H100, TUNED, 64);
	l->stack = (struct stack){
	    .id = "test", .use = STACK_TRAIN, .max_zero = number(1), .sequence = true, .time = l->dense.stack};
	if (m)
		l->stack.time.moe_sigma = number(1.3);
	for (int i = 0; i < n + m; i++) {
		struct fit_stack_row *row = &l->rows[i];

		row->ask = ask_of(i < n ? &l->dense : &l->experts, &l->stack);
		row->ask.n_global_sequences = number(64 * (1 + i % 4));
		row->ask.seq_length = number(i % 2 ? 4096 : 8192);
		if (i >= n)
			row->ask.layout.ep = 8;
		row->doubts = (struct train_doubts){.n_nodes = 8};
		row->model = row->gpu = NULL;
		row->measured_s = step_with(row, sigma, moe_sigma) * exp(0.02 * sin(12.9898 * (i + 1)));
	}
}

START_TEST(test_recovers)
{
	struct lab l;
	struct fit_stack fit;

	measure(&l, ROWS, 0, 1.5, 1.5);
	ck_assert(fit_stack(l.arena, ROWS, l.rows, &prior, &fit));
	ck_assert_int_eq(fit.dense.n, ROWS);
	ck_assert_int_eq(fit.experts.n, 0);
	ck_assert_double_eq_tol(fit.dense.value, 1.5, 0.03);
	ck_assert(fit.dense.low <= fit.dense.value && fit.dense.value <= fit.dense.high);
	ck_assert(fit.dense.high / fit.dense.low < 1.06);
	ck_assert(fit.dense.share_frac > 0.5 && fit.dense.share_frac <= 1);
	ck_assert(fit.before.mape > 0.15 && fit.after.mape < 0.02 && fit.unseen.mape < 0.025);
	/* as many rows as that need no listed spread */
	ck_assert(fit.spread > 0.01 && fit.spread < 0.025);
	ck_assert_double_eq(fit.spread, fit.seen_spread);
	arena_free(l.arena);
}
END_TEST

START_TEST(test_three_rows)
{
	struct lab l;
	struct fit_stack fit;
	const double believed = hypot(hypot(prior.within, prior.group), prior.stack);

	measure(&l, 3, 0, 0.9, 0.9);
	ck_assert(!fit_stack(l.arena, 2, l.rows, &prior, &fit));
	ck_assert(fit_stack(l.arena, 3, l.rows, &prior, &fit));
	/* two residuals beside five of what was believed; the factor goes most of the way */
	ck_assert(fit.dense.value > 0.9 && fit.dense.value < 1.1);
	ck_assert_double_lt(fit.after.mape, fit.before.mape);
	ck_assert_double_gt(fit.spread, hypot(0.143, 0.1) * sqrt(5.0 / 7));
	ck_assert_double_lt(fit.spread, believed);
	/* rows that contradict one another leave what was believed, and no more */
	l.rows[0].measured_s *= 3;
	ck_assert(fit_stack(l.arena, 3, l.rows, &prior, &fit));
	ck_assert_double_gt(fit.seen_spread, believed);
	ck_assert_double_eq_tol(fit.spread, believed, 1e-12);
	arena_free(l.arena);
}
END_TEST

/* Where frameworks hardly differ beside what rows scatter by, three rows move the factor less than twelve. */
START_TEST(test_drawn)
{
	struct lab l;
	struct fit_stack few, many;
	const struct fit_prior alike = {0.143, 0.100, 0.01};

	measure(&l, ROWS, 0, 1.25, 1.25);
	ck_assert(fit_stack(l.arena, 3, l.rows, &alike, &few));
	ck_assert(fit_stack(l.arena, ROWS, l.rows, &alike, &many));
	ck_assert_double_lt(few.dense.value, many.dense.value - 0.01);
	ck_assert_double_lt(many.dense.value, 1.26);
	arena_free(l.arena);
}
END_TEST

START_TEST(test_wild_row)
{
	struct lab l;
	struct fit_stack fit;

	measure(&l, ROWS, 0, 1.5, 1.5);
	l.rows[4].measured_s *= 5;
	ck_assert(fit_stack(l.arena, ROWS, l.rows, &prior, &fit));
	ck_assert_double_eq_tol(fit.dense.value, 1.5, 0.05);
	arena_free(l.arena);
}
END_TEST

/* Two models that are 20 % apart: leaving rows out shows 2 %, leaving models out shows the 20. */
START_TEST(test_models_left_out)
{
	struct lab l;
	struct fit_stack fit;

	measure(&l, ROWS, 0, 1.2, 1.2);
	ck_assert(fit_stack(l.arena, ROWS, l.rows, &prior, &fit));
	ck_assert_int_eq(fit.left, FIT_LEFT_ROW);
	ck_assert(isnan(fit.between));
	for (int i = 0; i < ROWS; i++) {
		l.rows[i].gpu = i < ROWS / 2 ? "one" : "two";
		l.rows[i].measured_s *= i < ROWS / 2 ? 1 : 1.2;
	}
	ck_assert(fit_stack(l.arena, ROWS, l.rows, &prior, &fit));
	ck_assert_int_eq(fit.left, FIT_LEFT_GPU);
	ck_assert_int_eq(fit.n_left, 2);
	ck_assert_double_eq_tol(fit.unseen.median_ape, 0.18, 0.03);
	/* the noise of the halves differs by 3 % */
	ck_assert_double_eq_tol(fit.between, (log(1.2) - 0.027) / sqrt(2), 0.005);
	ck_assert_double_gt(fit.spread, fit.between);
	for (int i = 0; i < ROWS; i++)
		l.rows[i].model = i % 3 == 0 ? "dense" : i % 3 == 1 ? "wide" : "deep";
	ck_assert(fit_stack(l.arena, ROWS, l.rows, &prior, &fit));
	ck_assert_int_eq(fit.left, FIT_LEFT_MODEL);
	ck_assert_int_eq(fit.n_left, 3);
	arena_free(l.arena);
}
END_TEST

START_TEST(test_experts_apart)
{
	struct lab l;
	struct fit_stack fit;

	measure(&l, 5, 5, 1.2, 1.7);
	ck_assert(fit_stack(l.arena, 10, l.rows, &prior, &fit));
	ck_assert(fit.apart);
	ck_assert_double_eq_tol(fit.dense.value, 1.2, 0.04);
	ck_assert_double_eq_tol(fit.experts.value, 1.7, 0.06);
	/* too few of one kind: its factor stays */
	ck_assert(fit_stack(l.arena, 7, l.rows, &prior, &fit));
	ck_assert_int_eq(fit.experts.n, 0);
	ck_assert_double_eq(fit.experts.value, 1.3);
	arena_free(l.arena);
}
END_TEST

START_TEST(test_same_twice)
{
	struct lab l;
	struct fit_stack one, two;

	measure(&l, 7, 0, 1.5, 1.5);
	ck_assert(fit_stack(l.arena, 7, l.rows, &prior, &one) && fit_stack(l.arena, 7, l.rows, &prior, &two));
	ck_assert_double_eq(one.dense.low, two.dense.low);
	ck_assert_double_eq(one.dense.high, two.dense.high);
	ck_assert_double_eq(one.dense.value, two.dense.value);
	arena_free(l.arena);
}
END_TEST

/* Steps of a framework that hides no gradients, fitted with one that hides them. */
START_TEST(test_overlap)
{
	struct lab l;
	struct fit_stack fit;

	measure(&l, ROWS, 0, 1.2, 1.2);
	ck_assert(fit_stack(l.arena, ROWS, l.rows, &prior, &fit));
	ck_assert(isnan(fit.comm_slope));
	l.stack.time.dp_overlap = false;
	for (int i = 0; i < ROWS; i++) {
		l.rows[i].ask.machine.nic_byte_per_s = 10e9;
		l.rows[i].measured_s = step_with(&l.rows[i], 1.2, 1.2);
	}
	l.stack.time.dp_overlap = true;
	ck_assert(fit_stack(l.arena, ROWS, l.rows, &prior, &fit));
	ck_assert(fit.comm_slope > 0);
	arena_free(l.arena);
}
END_TEST

Suite *fit_stack_suite(void);

Suite *
fit_stack_suite(void)
{
	Suite *s = suite_create("fit_stack");
	TCase *t = tcase_create("fit_stack");

	tcase_add_test(t, test_recovers);
	tcase_add_test(t, test_three_rows);
	tcase_add_test(t, test_drawn);
	tcase_add_test(t, test_wild_row);
	tcase_add_test(t, test_models_left_out);
	tcase_add_test(t, test_experts_apart);
	tcase_add_test(t, test_overlap);
	tcase_add_test(t, test_same_twice);
	suite_add_tcase(s, t);
	return s;
}
