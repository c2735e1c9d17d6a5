/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models whose layers differ, as lists of operators: against the formula, against their parameters, by hand. */
#include "unit/hybrids.h"

#include "base/base.h"
#include "model/layer/layer.h"

#include <math.h>

static const char *const texts[] = {GPT_OSS_20B, GEMMA_4_26B, LLAMA_4_SCOUT, MIMO_V2_FLASH, DEEPSEEK_V3, DEEPSEEK_V3_2,
    GLM_5, DEEPSEEK_V4_FLASH, DEEPSEEK_V4_PRO, NEMOTRON_H_56B, NEMOTRON_3_NANO, NEMOTRON_3_SUPER, QWEN3_NEXT_80B,
    QWEN3_5_397B, KIMI_K3, KIMI_LINEAR_48B, MINIMAX_M2, T5_BASE, T5_11B, BART_LARGE};
enum { N_TEXTS = sizeof texts / sizeof *texts };

static struct op *
list(struct arena *a, const struct workload *w, const struct shape *x, int *n)
{
	struct op *ops = ARENA_ARRAY(a, struct op, expand_room(w));

	*n = expand(w, x, ops);
	ck_assert_int_le(*n, expand_room(w));
	return ops;
}

/* Element by element work, norms and softmax have no parameters and no part in 2 N + attention. */
static bool
is_product(const struct op *op)
{
	return op->kind != OP_elementwise && op->kind != OP_norm && op->kind != OP_norm_unfused &&
	    op->kind != OP_softmax;
}

static double
product_flop(const struct op *ops, int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		if (is_product(&ops[i]))
			sum += op_total_flop(NULL, &ops[i]);
	return sum;
}

/* The list and the formula 2 N + attention count the same work, but for norms, biases and taps of convolutions, which N
 * holds. */
START_TEST(two_ways)
{
	struct arena *a = arena_new();
	const struct workload *w = hybrid(a, texts[_i]);

	for (double s = 512; s <= 8192; s *= 4) {
		const struct shape x = {.phase = PHASE_TRAIN, .batch = 3, .n_new = s, .tp = 1, .elem_byte = 2};
		int n;
		const struct op *ops = list(a, w, &x, &n);
		const double by_list = product_flop(ops, n) / (3 * s), by_formula = forward_flop(NULL, w, s, true);
		ck_assert_msg(fabs(by_list / by_formula - 1) < 2e-3, "%s, %g tokens: %g against %g", w->name, s,
		    by_list, by_formula);
	}
	arena_free(a);
}
END_TEST

/* A sheet changes nothing; a backward pass is two forward ones; a product for the tables is 2 FLOP for each of their
 * parameters. */
START_TEST(formulas)
{
	struct arena *a = arena_new();
	const struct workload *w = hybrid(a, texts[_i]);
	struct sheet *sh = sheet_new();
	const double forward = forward_flop(NULL, w, 4096, true);

	ck_assert_double_eq(forward_flop(sh, w, 4096, true), forward);
	ck_assert_double_eq(backward_flop(NULL, w, 4096, true), 2 * forward);
	ck_assert_double_eq(embedded_flop(NULL, w, 4096, true), forward + 2 * embedding_params(NULL, w));
	ck_assert_double_le(forward, forward_flop(NULL, w, 4096, false));
	sheet_free(sh);
	arena_free(a);
}
END_TEST

/* Two GPUs of a group do together what one does, but for what each repeats. */
START_TEST(tensor_parallel)
{
	struct arena *a = arena_new();
	const struct workload *w = hybrid(a, texts[_i]);
	struct shape x = {.phase = PHASE_PREFILL, .batch = 2, .n_new = 256, .tp = 1, .elem_byte = 2};
	int n, n_split;
	const struct op *ops = list(a, w, &x, &n);
	x.tp = 2;
	const struct op *split = list(a, w, &x, &n_split);

	ck_assert_int_eq(n, n_split);
	ck_assert_double_ge(2 * product_flop(split, n), product_flop(ops, n) * (1 - 1e-12));
	ck_assert_double_le(2 * product_flop(split, n), product_flop(ops, n) * 1.35);
	for (int i = 0; i < n; i++)
		ck_assert_msg(op_total_byte(NULL, &split[i]) <= op_total_byte(NULL, &ops[i]) * (1 + 1e-12), "%s: %s",
		    w->name, ops[i].name);
	arena_free(a);
}
END_TEST

/* One token on an empty cache reads the weights that it meets once: every product's matrix and every table's row. */
START_TEST(decode_reads_weights)
{
	struct arena *a = arena_new();
	const struct workload *w = hybrid(a, texts[_i]);
	const struct shape x = {.phase = PHASE_DECODE, .batch = 1, .n_new = 1, .n_cached = 0, .tp = 1, .elem_byte = 2};
	int n;
	const struct op *ops = list(a, w, &x, &n);
	double byte = 0, weights = 2 * (multiplied_params(NULL, w) - encoder_params(NULL, w, COUNT_ACTIVE));

	for (int i = 0; i < n; i++)
		if (is_product(&ops[i]))
			byte += op_total_byte(NULL, &ops[i]);
	/* the encoder's keys and values are there already: two of the four maps of each cross attention rest */
	for (int i = 0; i < w->n_blocks; i++)
		if (w->blocks[i].cross)
			weights -= w->blocks[i].count.value * layer_params(NULL, w, &w->blocks[i], IN_CROSS, COUNT_ALL);
	ck_assert_msg(byte > 0.99 * weights, "%s: %g of %g bytes", w->name, byte, weights);
	ck_assert_msg(byte < 1.15 * weights, "%s: %g of %g bytes", w->name, byte, weights);
	arena_free(a);
}
END_TEST

static double
flop_of(const struct op *ops, int n, const char *name)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		if (strcmp(ops[i].name, name) == 0)
			sum += op_total_flop(NULL, &ops[i]);
	return sum;
}

/* Nemotron-3-Nano's scan by hand: 23 layers, chunks of 128, 8 groups, 64 heads of 64, a state of 128. */
START_TEST(scan)
{
	struct arena *a = arena_new();
	const struct workload *w = hybrid(a, NEMOTRON_3_NANO);
	struct shape x = {.phase = PHASE_PREFILL, .batch = 2, .n_new = 1024, .tp = 1, .elem_byte = 2};
	int n;
	const struct op *ops = list(a, w, &x, &n);
	const double token = 2 * 128 * (8 * 128 + 64 * 64) + 4 * 64 * 64 * 128;

	ck_assert_double_eq(flop_of(ops, n, "state-space scan"), 23 * 2048 * token);
	x = (struct shape){.phase = PHASE_DECODE, .batch = 2, .n_new = 1, .n_cached = 1024, .tp = 1, .elem_byte = 2};
	ops = list(a, w, &x, &n);
	ck_assert_double_eq(flop_of(ops, n, "state-space step"), 23 * 2 * 5.0 * 64 * 64 * 128);
	arena_free(a);
}
END_TEST

/* DeepSeek-V3.2 reads 2048 tokens however long the past is, and scores them all. */
START_TEST(indexer)
{
	struct arena *a = arena_new();
	const struct workload *w = hybrid(a, DEEPSEEK_V3_2);
	const struct shape x = {
	    .phase = PHASE_DECODE, .batch = 1, .n_new = 1, .n_cached = 99999, .tp = 1, .elem_byte = 2};
	int n;
	const struct op *ops = list(a, w, &x, &n);

	ck_assert_double_eq(flop_of(ops, n, "attention"), 61 * 2.0 * 128 * 2048 * (2 * 512 + 64));
	ck_assert_double_eq(flop_of(ops, n, "index scores"), 61 * 2.0 * 64 * 128 * 100000);
	arena_free(a);
}
END_TEST

/* DeepSeek-V4-Flash at 131 072 tokens: 128 near ones, and 512 of 32 768 or all 1024 compressed ones. */
START_TEST(compressed)
{
	struct arena *a = arena_new();
	const struct workload *w = hybrid(a, DEEPSEEK_V4_FLASH);
	const struct shape x = {
	    .phase = PHASE_DECODE, .batch = 1, .n_new = 1, .n_cached = 131071, .tp = 1, .elem_byte = 2};
	int n;
	const struct op *ops = list(a, w, &x, &n);
	const double key = 4.0 * 64 * 512;

	ck_assert_double_eq(flop_of(ops, n, "attention"), key * (2 * 128 + 21 * (128 + 512) + 20 * (128 + 1024)));
	ck_assert_double_eq(flop_of(ops, n, "index scores"), 21 * 2.0 * 64 * 128 * 32768);
	arena_free(a);
}
END_TEST

/* What the arithmetic needs and a file does not say is named. */
START_TEST(missing)
{
	struct arena *a = arena_new();
	const struct workload *w = hybrid(a, DEEPSEEK_V3_OF("deepseek-v3.2", ", indexer: {heads: 64, dim: 128}"));

	ck_assert_ptr_nonnull(expand_missing(w));
	ck_assert_ptr_nonnull(strstr(expand_missing(w), "top_k"));
	ck_assert_ptr_null(expand_missing(hybrid(a, DEEPSEEK_V3_2)));
	ck_assert_ptr_null(expand_missing(hybrid(a, NEMOTRON_3_SUPER)));
	arena_free(a);
}
END_TEST

/* An encoder-decoder's prefill reads the source and makes one token; decode has no encoder. */
START_TEST(pairs)
{
	struct arena *a = arena_new();
	const struct workload *w = hybrid(a, BART_LARGE);
	struct shape x = {.phase = PHASE_PREFILL, .batch = 1, .n_new = 500, .tp = 1, .elem_byte = 2};
	int n;
	const struct op *ops = list(a, w, &x, &n);

	/* 12 encoder layers of 500 tokens, 12 decoder layers of one */
	ck_assert_double_eq(flop_of(ops, n, "mlp up"), 2.0 * 1024 * 4096 * 12 * 501);
	ck_assert_double_eq(flop_of(ops, n, "cross key and value projection"), 2.0 * 500 * 2048 * 1024 * 12);
	x = (struct shape){.phase = PHASE_DECODE, .batch = 1, .n_new = 1, .n_cached = 40, .tp = 1, .elem_byte = 2};
	ops = list(a, w, &x, &n);
	ck_assert_double_eq(flop_of(ops, n, "mlp up"), 2.0 * 1024 * 4096 * 12);
	ck_assert_double_eq(flop_of(ops, n, "cross key and value projection"), 0);
	arena_free(a);
}
END_TEST

Suite *expand_suite(void);

Suite *
expand_suite(void)
{
	Suite *s = suite_create("expand");
	TCase *t = tcase_create("expand");

	tcase_add_loop_test(t, two_ways, 0, N_TEXTS);
	tcase_add_loop_test(t, formulas, 0, N_TEXTS);
	tcase_add_loop_test(t, tensor_parallel, 0, N_TEXTS);
	tcase_add_loop_test(t, decode_reads_weights, 0, N_TEXTS);
	tcase_add_test(t, scan);
	tcase_add_test(t, indexer);
	tcase_add_test(t, compressed);
	tcase_add_test(t, missing);
	tcase_add_test(t, pairs);
	suite_add_tcase(s, t);
	return s;
}
