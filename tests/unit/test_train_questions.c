/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What becomes of questions of training with gaps. */
#include "train_scene.h"

#include <check.h>

static struct train_ask
ask_of(const struct scene *s, struct stack *stack)
{
	*stack =
	    (struct stack){.id = "test", .use = STACK_TRAIN, .max_zero = number(1), .sequence = true, .time = s->stack};
	return (struct train_ask){.model = &s->w,
	    .stack = stack,
	    .machine = s->job.machine,
	    .n_gpus = s->job.n_gpus,
	    .layout = s->job.layout,
	    .n_global_sequences = number(128),
	    .n_sequences = number(1),
	    .seq_length = number(4096),
	    .packed_length = datum_absent(),
	    .dtype = DTYPE_BF16,
	    .attention = N_ATTENTION_FORMS,
	    .dispatcher = DISPATCH_OPEN,
	    .n_mtp = number(0)};
}

static struct train_answer
answer_to(const struct train_ask *ask)
{
	const struct train_doubts none = {.n_nodes = 8};
	struct train_answer a;

	train_answer(ask, &none, &a);
	return a;
}

START_TEST(refusals)
{
	struct scene s;
	struct stack stack;

	scene_of(&s, &LLAMA_70B, ON_H100, TUNED, 64);
	struct train_ask ask = ask_of(&s, &stack);
	ask.layout.tp = 3;
	ck_assert_int_eq(answer_to(&ask).refusal, TRAIN_REFUSES_LAYOUT);
	ask.layout.tp = ask.layout.dp = 8;
	ck_assert_int_eq(answer_to(&ask).refusal, TRAIN_ANSWERED);
	ask.n_global_sequences = number(4);
	ck_assert_int_eq(answer_to(&ask).refusal, TRAIN_REFUSES_SMALL_BATCH);
	ask.n_global_sequences = number(128);
	ask.dtype = DTYPE_NVFP4;
	ck_assert_int_eq(answer_to(&ask).refusal, TRAIN_REFUSES_KERNELS);
	scene_of(&s, &QWEN3_30B, ON_H100, TUNED, 64);
	ask = ask_of(&s, &stack);
	ask.layout.ep = 7;
	ck_assert_int_eq(answer_to(&ask).refusal, TRAIN_REFUSES_EXPERT_LAYOUT);
	ask.layout.ep = 8;
	ck_assert_int_eq(answer_to(&ask).refusal, TRAIN_ANSWERED);
}
END_TEST

/* Latent attention or not: the dispatcher is the framework's unless somebody names one. */
START_TEST(dispatcher_of_the_framework)
{
	struct scene s;
	struct stack stack;

	scene_of(&s, &DEEPSEEK, ON_H100, TUNED, 64);
	struct train_ask ask = ask_of(&s, &stack);
	ask.dispatcher = DISPATCH_OPEN;
	ask.layout.ep = 32;
	ask.layout.tp = 1;
	ck_assert(!answer_to(&ask).job.dedup);
	stack.time.dispatcher = DISPATCH_DEDUP;
	ck_assert(answer_to(&ask).job.dedup);
	ask.dispatcher = DISPATCH_PLAIN;
	ck_assert(!answer_to(&ask).job.dedup);
	stack.time.dispatcher = DISPATCH_DEDUP_HOPPER;
	ask.dispatcher = DISPATCH_OPEN;
	ck_assert(answer_to(&ask).job.dedup);
	ask.machine.generation = 3;
	ck_assert(!answer_to(&ask).job.dedup);
}
END_TEST

/* DeepEP moves rows of a multiple of 256 elements between nodes: 2880 is none. */
START_TEST(dispatcher_of_the_width)
{
	struct scene s;
	struct stack stack;

	scene_of(&s, &GPT_OSS, ON_H100, TUNED, 64);
	struct train_ask ask = ask_of(&s, &stack);
	ask.layout.ep = 32;
	ask.layout.tp = 1;
	stack.time.dispatcher = DISPATCH_DEDUP;
	ck_assert(!answer_to(&ask).job.dedup);
	ask.dispatcher = DISPATCH_DEDUP;
	ck_assert(answer_to(&ask).job.dedup);
}
END_TEST

START_TEST(doubts_widen)
{
	struct scene s;
	struct stack stack;
	struct train_doubts doubts = {.n_nodes = 8};
	struct train_answer a;

	scene_of(&s, &QWEN3_30B, ON_B200, EXPERTS_2025, 64);
	struct train_ask ask = ask_of(&s, &stack);
	ask.layout.ep = ask.layout.tp = 8, ask.layout.dp = 8;
	s.stack.release = number(202511);
	stack.time.release = number(202511);
	stack.time.listed = true;
	a = answer_to(&ask);
	ck_assert(a.warned & 1U << TRAIN_WARNS_RELEASE);
	ck_assert_double_ge(a.band, 1.5);
	const double plain = a.step_s;
	doubts.rowwise = true;
	train_answer(&ask, &doubts, &a);
	ck_assert_double_eq(a.step_s, 1.4 * plain);
	ck_assert_double_ge(a.band, 2);
}
END_TEST

Suite *train_questions_suite(void);

Suite *
train_questions_suite(void)
{
	Suite *s = suite_create("train_questions");
	TCase *t = tcase_create("questions");

	tcase_add_test(t, refusals);
	tcase_add_test(t, dispatcher_of_the_framework);
	tcase_add_test(t, dispatcher_of_the_width);
	tcase_add_test(t, doubts_widen);
	suite_add_tcase(s, t);
	return s;
}
