/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The operator table, and workloads expanded into it. */
#include "ask/roofline/roofline.h"
#include "base/base.h"
#include "db/db.h"
#include "model/layer/layer.h"
#include "model/memory/memory.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* --- the table ------------------------------------------------------------------------------------------- */

struct expected {
	enum op_kind kind;
	double dim[10], elem_byte, flop, byte;
};

static const struct expected table[] = {
    /* worked examples 003: 4096^3 in bf16 is 137 GFLOP over 96 MiB, 1365.3 FLOP/B */
    {OP_gemm, {4096, 4096, 4096}, 2, 137438953472.0, 100663296.0},
    {OP_gemm, {3, 5, 7}, 4, 210, (21 + 35 + 15) * 4},
    {OP_gemv, {8192, 8192}, 2, 134217728.0, (67108864.0 + 16384) * 2},
    {OP_bmm, {2, 3, 5, 7}, 2, 420, 2 * 71 * 2},
    {OP_grouped, {4, 3, 5, 7}, 2, 210, (21 + 4 * 35 + 15) * 2},
    /* ResNet's stem, He et al. 2016: 118 MMAC for one image */
    {OP_conv2d, {1, 3, 224, 224, 64, 7, 7, 2, 1}, 2, 2.0 * 118013952, (150528 + 9408 + 802816) * 2.0},
    /* depthwise: every channel has its own kernel */
    {OP_conv2d, {1, 32, 112, 112, 32, 3, 3, 1, 32}, 2, 2.0 * 3612672, (401408 + 288 + 401408) * 2.0},
    /* worked examples 003: 4 N FLOP, 12 N bytes */
    {OP_norm_unfused, {1, 4096}, 2, 4.0 * 4096, 12.0 * 4096},
    {OP_norm, {1, 4096}, 2, 4.0 * 4096, 4.0 * 4096},
    {OP_softmax, {10, 100}, 2, 5000, 4000},
    {OP_elementwise, {1000, 2, 1, 3}, 2, 3000, 6000},
    {OP_scores, {4, 32, 2048, 2048, 128, 32}, 2, 2.0 * 4 * 2048 * 2048 * 4096,
        (2.0 * 4 * 2048 * 4096 + 4.0 * 32 * 2048 * 2048) * 2},
    {OP_values, {4, 32, 2048, 2048, 128, 8}, 2, 2.0 * 4 * 2048 * 2048 * 4096,
        (4.0 * 2048 * 4096 + 4.0 * 2048 * 1024 + 4.0 * 32 * 2048 * 2048) * 2},
    /* Dao, arXiv:2307.08691: 4 s^2 d h forward, half of it when causal */
    {OP_attention, {1, 16, 4096, 4096, 128, 16, 128, 4096}, 2, 4.0 * 4096 * 4096 * 128 * 16, 4.0 * 16 * 4096 * 128 * 2},
    {OP_attention, {1, 16, 4096, 4096, 128, 2, 128, 2048}, 2, 2.0 * 4096 * 4096 * 128 * 16,
        2.0 * (16 + 2) * 4096 * 128 * 2},
    {OP_attention_latent, {2, 128, 1, 1000, 512, 64, 1000}, 2, 2.0 * 2 * 128 * 1000 * (1024 + 64),
        2.0 * (128 * 1088 + 1000 * 576) * 2},
    {OP_embedding, {100, 64, 1000}, 2, 0, 100 * 8 + 200 * 64 * 2},
    {OP_embedding, {100, 64, 10}, 2, 0, 100 * 8 + 110 * 64 * 2},
    /* 2 sequences, 3 heads of 8 against 10 keys of one byte a value; only sums of 10 scores are written */
    {OP_index_scores, {2, 3, 5, 10, 8, 10, 1}, 2, 2.0 * 2 * 3 * 5 * 10 * 8, 2 * (120 + 80 + 50 * 4)},
    /* 7 tokens in chunks of 4: 2 x 4 x (2 x 16 + 6 x 8) + 4 x 6 x 8 x 16 a token */
    {OP_ssm_scan, {1, 7, 6, 8, 16, 2, 4, 4}, 2, 7 * (8 * (32 + 48) + 3072), 7 * (96 + 64 + 6) * 2 + 768 * 4},
    {OP_ssm_step, {3, 6, 8, 16, 2, 4}, 2, 5 * 3 * 768, 3 * (96 + 64 + 6) * 2 + 2 * 3 * 768 * 4},
    /* 12 tokens in chunks of 6: 2 x 6 x (3 x 8 + 2 x 16) + 36 / 3 + 6 x 8 x 16 a token and head */
    {OP_delta_scan, {1, 12, 4, 8, 16, 2, 6, 4, 1}, 2, 12 * 4 * (672 + 12 + 768), 12 * (32 + 128 + 8) * 2 + 4 * 128 * 4},
    {OP_delta_step, {3, 4, 8, 16, 2, 2, 1}, 2, 7 * 3 * 512, 3 * (32 + 128 + 8) * 2 + 2 * 3 * 512 * 2},
    /* a decay for each of the 8 channels of a key */
    {OP_delta_step, {3, 4, 8, 16, 2, 2, 8}, 2, 7 * 3 * 512, 3 * (32 + 128 + 36) * 2 + 2 * 3 * 512 * 2},
    {OP_embedding_bag, {10, 3, 64, 1000}, 2, 10 * 2 * 64, 30 * 8 + 40 * 64 * 2},
    {OP_embedding_bag, {1000, 3, 64, 5}, 2, 1000 * 2 * 64, 3000 * 8 + 1005 * 64 * 2},
    {OP_pool, {1, 64, 112, 112, 3, 3, 2}, 2, 64.0 * 56 * 56 * 9, 64.0 * (112 * 112 + 56 * 56) * 2},
};

enum { N_EXPECTED = sizeof table / sizeof *table };

static struct op
op_of(const struct expected *e)
{
	struct op op = {.kind = e->kind, .name = "x", .count = 1, .elem_byte = e->elem_byte};

	memcpy(op.dim, e->dim, sizeof op.dim);
	return op;
}

START_TEST(test_costs)
{
	const struct op op = op_of(&table[_i]);
	const struct cost c = op_cost(NULL, &op);

	ck_assert_msg(c.work_flop == table[_i].flop, "%s: %.0f FLOP, expected %.0f", op_kind_name(table[_i].kind),
	    c.work_flop, table[_i].flop);
	ck_assert_msg(c.traffic_byte == table[_i].byte, "%s: %.0f B, expected %.0f", op_kind_name(table[_i].kind),
	    c.traffic_byte, table[_i].byte);
}
END_TEST

/* Every kind stands in the table above. */
START_TEST(test_all_covered)
{
	for (int k = 0; k < N_OP_KINDS; k++) {
		bool found = false;
		for (int i = 0; i < N_EXPECTED; i++)
			found = found || (int)table[i].kind == k;
		ck_assert_msg(found, "%s has no expected values", op_kind_name((enum op_kind)k));
		ck_assert_int_eq((int)op_kind_find(op_kind_name((enum op_kind)k)), k);
	}
	ck_assert_int_eq(op_kind_find("gem"), OP_NONE);
}
END_TEST

static bool
find_dimension(const void *context, const char *name, struct formula_value *out)
{
	const struct op *op = context;

	*out = (struct formula_value){.dim = dim_of_name(name)};
	for (int i = 0; op_dim_name((enum op_kind)op->kind, i); i++)
		if (strcmp(op_dim_name((enum op_kind)op->kind, i), name) == 0) {
			out->value = op->dim[i];
			return true;
		}
	if (strcmp(name, "elem_byte") == 0)
		out->value = op->elem_byte;
	else if (strcmp(name, "fp32_byte") == 0)
		out->value = 4;
	else if (strcmp(name, "index_byte") == 0)
		out->value = 8;
	else
		return false;
	return true;
}

/* The text is the code: evaluating it gives the same number, in FLOP and in bytes. */
START_TEST(test_texts)
{
	const struct op op = op_of(&table[_i]);
	const struct cost c = op_cost(NULL, &op);
	const struct formula_names names = {find_dimension, &op};
	struct formula_value v;
	struct formula_fault fault;

	ck_assert_msg(formula_evaluate(op_flop_text(table[_i].kind), names, &v, &fault), "%s", fault.what);
	ck_assert_double_eq(v.value, c.work_flop);
	ck_assert(formula_assignable(v, dim_of_name("work_flop")));
	ck_assert_msg(formula_evaluate(op_byte_text(table[_i].kind), names, &v, &fault), "%s", fault.what);
	ck_assert_double_eq(v.value, c.traffic_byte);
	ck_assert(formula_assignable(v, dim_of_name("traffic_byte")));
}
END_TEST

START_TEST(test_fill)
{
	struct op op = {.kind = OP_attention, .dim = {1, 32, 10, 20, 128, NAN, NAN, NAN}};

	ck_assert_int_eq(op_fill(&op), -1);
	ck_assert_double_eq(op.dim[5], 32);
	ck_assert_double_eq(op.dim[6], 128);
	ck_assert_double_eq(op.dim[7], 20);
	op = (struct op){.kind = OP_elementwise, .dim = {5, NAN, NAN, NAN}};
	ck_assert_int_eq(op_fill(&op), -1);
	ck_assert_double_eq(op.dim[3], 1);
	op = (struct op){.kind = OP_gemm, .dim = {5, NAN, 3}};
	ck_assert_int_eq(op_fill(&op), 1);
}
END_TEST

START_TEST(test_totals)
{
	const struct op op = {.kind = OP_gemm, .count = 3, .dim = {3, 5, 7}, .elem_byte = 4};

	ck_assert_double_eq(op_total_flop(NULL, &op), 630);
	ck_assert_double_eq(op_total_byte(NULL, &op), 3 * 71 * 4);
}
END_TEST

/* Every dimension of every kind can be given on the command line. */
START_TEST(test_options)
{
	for (int k = 0; k < N_OP_KINDS; k++)
		for (int i = 0; op_dim_name((enum op_kind)k, i); i++) {
			const char *name = op_dim_name((enum op_kind)k, i);
			const char *path = strcmp(name, "flops") == 0 ? "per_element" : name;
			bool found = false;
			for (size_t o = 0; o < op_group.n; o++)
				found = found || strcmp(op_group.options[o].path, path) == 0;
			ck_assert_msg(found, "%s: no option for '%s'", op_kind_name((enum op_kind)k), name);
		}
}
END_TEST

/* What an operator stores: its matrix, kernels or table, and what its line says besides, as often as it stands. */
START_TEST(test_stored)
{
	static const struct {
		struct op op;
		double params;
	} stored[] = {
	    {{.kind = OP_gemm, .count = 3, .dim = {7, 5, 11}, .extra_params = 5}, 3 * 60},
	    {{.kind = OP_conv2d, .count = 1, .dim = {2, 32, 8, 8, 64, 3, 3, 1, 1}}, 64 * 32 * 9},
	    {{.kind = OP_conv2d, .count = 2, .dim = {2, 32, 8, 8, 32, 3, 3, 1, 32}, .extra_params = 64},
	        2 * (32 * 9 + 64)},
	    {{.kind = OP_embedding, .count = 1, .dim = {100, 16, 1000}}, 16000},
	    {{.kind = OP_embedding_bag, .count = 2, .dim = {10, 3, 16, 1000}}, 32000},
	    {{.kind = OP_elementwise, .count = 4, .dim = {100, 1, 1, 1}, .extra_params = 20}, 80},
	    /* both operands are activations */
	    {{.kind = OP_bmm, .count = 1, .dim = {2, 3, 5, 7}}, 0},
	    {{.kind = OP_attention, .count = 1, .dim = {1, 2, 3, 4, 5, 2, 5, 4}}, 0},
	};
	struct sheet *sh = sheet_new();

	for (size_t i = 0; i < sizeof stored / sizeof *stored; i++) {
		ck_assert_double_eq(op_total_params(NULL, &stored[i].op), stored[i].params);
		ck_assert_double_eq(op_total_params(sh, &stored[i].op), stored[i].params);
		sheet_clear(sh);
	}
	sheet_free(sh);
}
END_TEST

/* --- expansion ------------------------------------------------------------------------------------------- */

static const char llama3_8b[] =
    "{name: n, source: s, layers: 32, hidden: 4096, vocab: 128256, attention: {kind: gqa, heads: 32, "
    "kv_heads: 8}, mlp: {kind: gated, width: 14336}}";
static const char mixtral[] =
    "{name: n, source: s, layers: 32, hidden: 4096, vocab: 32000, attention: {kind: gqa, heads: 32, "
    "kv_heads: 8}, moe: {experts: 8, top_k: 2, width: 14336}}";
static const char deepseek[] =
    "{name: n, source: s, layers: 61, hidden: 7168, vocab: 129280, attention: {kind: mla, heads: 128, q_lora: 1536, "
    "kv_lora: 512, nope: 128, rope: 64, v_dim: 128}, mlp: {kind: gated, width: 18432}, moe: {experts: 256, top_k: 8, "
    "width: 2048, shared_experts: 1, dense_layers: 3}}";
static const char gpt2[] =
    "{name: n, source: s, layers: 12, hidden: 768, vocab: 50257, tied_embeddings: true, attention: "
    "{kind: mha, heads: 12}, mlp: {kind: plain, width: 3072}}";
static const char windows[] = "{name: n, source: s, layers: 4, hidden: 256, vocab: 1000, blocks: [{count: 3, "
                              "attention: {kind: mha, heads: 4, window: "
                              "100}, mlp: {kind: gated, width: 512}}, {count: 1, attention: {kind: mha, heads: 4, "
                              "chunk: 64}, mlp: {kind: gated, width: "
                              "512}}]}";
static const char bert[] = "{name: n, source: s, kind: encoder, layers: 2, hidden: 64, vocab: 100, head: false, "
                           "attention: {kind: mha, heads: 4}, "
                           "mlp: {kind: plain, width: 128}}";

static const char *const texts[] = {llama3_8b, mixtral, deepseek, gpt2, windows, bert};
enum { N_TEXTS = sizeof texts / sizeof *texts };

static const struct workload *
bind(struct arena *a, const char *yaml)
{
	struct diag *d = diag_new(a);
	const struct node *root = tree_read_text(a, d, "test", yaml, strlen(yaml));
	struct binder b = {.arena = a, .diag = d};
	struct workload *w = ARENA_NEW(a, struct workload);

	if (!root || !workload_bind(&b, root, "test", w)) {
		diag_print(d, stderr, false);
		ck_abort_msg("does not bind");
	}
	return w;
}

/* Run, not trained: weights once, and the operator with the most to read and write; tables are not read whole. */
START_TEST(test_lists)
{
	struct arena *a = arena_new();
	const struct workload *w = bind(a,
	    "{name: n, source: s, operators: [{op: gemm, m: batch, n: 64, k: 128, params: 64}, {op: conv2d, n: batch, "
	    "c: 8, h: 16, w: "
	    "16, k: 8, r: 3, s: 3}, {op: embedding_bag, bags: batch, hot: 2, width: 4, vocab: 100000}]}");

	ck_assert_double_eq(model_params(NULL, w), 8256 + 576 + 400000);
	ck_assert_double_eq(list_weights(NULL, w, 2), 2 * 408832.0);
	/* 16 x 16 pixels of 8 channels, read and written */
	ck_assert_double_eq(list_operands(NULL, w, 1, 2), 8192);
	ck_assert_double_eq(list_operands(NULL, w, 10, 4), 163840);
	ck_assert_double_eq(list_total(NULL, 3, 4), 7);
	arena_free(a);
}
END_TEST

static struct op *
list(struct arena *a, const struct workload *w, struct shape x, int *n)
{
	struct op *ops = ARENA_ARRAY(a, struct op, expand_room(w));

	*n = expand(w, &x, ops);
	return ops;
}

/* FLOP of matrix products: elementwise work, norms and softmax have no parameters and no part in 2 N + attention. */
static double
product_flop(const struct op *ops, int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		switch ((enum op_kind)ops[i].kind) {
		case OP_elementwise:
		case OP_norm:
		case OP_norm_unfused:
		case OP_softmax:
			break;
		default:
			sum += op_total_flop(NULL, &ops[i]);
		}
	return sum;
}

/* The list and the formula 2 N + attention count the same work, but for norms and biases, which N holds. */
START_TEST(test_two_ways)
{
	struct arena *a = arena_new();
	const struct workload *w = bind(a, texts[_i]);
	const struct shape x = {.phase = PHASE_TRAIN, .batch = 3, .n_new = 512, .tp = 1, .elem_byte = 2};
	int n;
	const struct op *ops = list(a, w, x, &n);
	const double by_list = product_flop(ops, n) / (3 * 512);
	const double by_formula = forward_flop(NULL, w, 512, w->kind == MODEL_DECODER);

	ck_assert_msg(fabs(by_list / by_formula - 1) < 2e-3, "%d: %g against %g", _i, by_list, by_formula);
	ck_assert_double_eq(backward_flop(NULL, w, 512, true), 2 * forward_flop(NULL, w, 512, true));
	arena_free(a);
}
END_TEST

/* 2 x 12 h^2 L (1 + s / 6 h + V / 12 h L) forward, full attention: Narayanan et al., SC 2021, equation 3 without
 * recompute. */
START_TEST(test_narayanan)
{
	struct arena *a = arena_new();
	const struct workload *w = bind(a,
	    "{name: n, source: s, layers: 96, hidden: 12288, vocab: 51200, tied_embeddings: true, norms_per_layer: 0, "
	    "final_norm: false, attention: {kind: mha, heads: 96}, mlp: {kind: plain, width: 49152}}");
	const double h = 12288, l = 96, s = 2048, v = 51200;

	ck_assert_double_eq_tol(
	    forward_flop(NULL, w, s, false) / (24 * l * h * h * (1 + s / (6 * h) + v / (12 * l * h))), 1, 1e-12);
	/* a causal token sees (s + 1) / 2 keys on average */
	ck_assert_double_eq_tol(
	    forward_flop(NULL, w, s, false) - forward_flop(NULL, w, s, true), 4 * l * h * (s - (s + 1) / 2), 1);
	arena_free(a);
}
END_TEST

/* Tensor parallelism divides the matrices: what tp GPUs do together is what one does, but for what each repeats. */
START_TEST(test_tensor_parallel)
{
	struct arena *a = arena_new();
	const struct workload *w = bind(a, llama3_8b);
	struct shape x = {.phase = PHASE_PREFILL, .batch = 2, .n_new = 256, .tp = 1, .elem_byte = 2};
	int n, n_split;
	const struct op *ops = list(a, w, x, &n);
	x.tp = 8;
	const struct op *split = list(a, w, x, &n_split);

	ck_assert_int_eq(n, n_split);
	ck_assert_double_eq(product_flop(ops, n), 8 * product_flop(split, n));
	for (int i = 0; i < n; i++)
		ck_assert_double_le(op_total_byte(NULL, &split[i]), op_total_byte(NULL, &ops[i]));
	arena_free(a);
}
END_TEST

/* Decode reads every weight once: the traffic is above the parameters' bytes (the embedding is only looked up). */
START_TEST(test_decode_reads_weights)
{
	struct arena *a = arena_new();
	const struct workload *w = bind(a, llama3_8b);
	const struct shape x = {.phase = PHASE_DECODE, .batch = 1, .n_new = 1, .n_cached = 0, .tp = 1, .elem_byte = 2};
	int n;
	const struct op *ops = list(a, w, x, &n);
	double byte = 0;

	for (int i = 0; i < n; i++)
		byte += op_total_byte(NULL, &ops[i]);
	const double weights = 2 * (model_params(NULL, w) - embedding_params(NULL, w));
	ck_assert_double_ge(byte, weights * 0.999);
	ck_assert_double_le(byte, weights * 1.01);
	arena_free(a);
}
END_TEST

START_TEST(test_unfused)
{
	struct arena *a = arena_new();
	const struct workload *w = bind(a, llama3_8b);
	struct shape x = {.phase = PHASE_PREFILL, .batch = 1, .n_new = 2048, .tp = 1, .elem_byte = 2};
	int n_fused, n_unfused;
	const struct op *fused = list(a, w, x, &n_fused);
	x.unfused = true;
	const struct op *unfused = list(a, w, x, &n_unfused);
	double fused_byte = 0, unfused_byte = 0;

	for (int i = 0; i < n_fused; i++)
		fused_byte += op_total_byte(NULL, &fused[i]);
	for (int i = 0; i < n_unfused; i++)
		unfused_byte += op_total_byte(NULL, &unfused[i]);
	ck_assert_int_eq(n_unfused, n_fused + 2);
	ck_assert_double_gt(unfused_byte, fused_byte);
	arena_free(a);
}
END_TEST

/* The closed form against counting place by place. */
START_TEST(test_seen)
{
	const struct datum none = datum_absent();
	const double spans[] = {0, 1, 7, 64, 100};
	const double cached[] = {0, 1, 63, 64, 130}, fresh[] = {1, 2, 50, 64, 200};

	for (size_t kind = 0; kind < 2; kind++)
		for (size_t w = 0; w < 5; w++)
			for (size_t c = 0; c < 5; c++)
				for (size_t f = 0; f < 5; f++) {
					const struct datum span = spans[w] > 0 ? (struct datum){spans[w], {0}} : none;
					const struct attention a = {
					    .window = kind ? none : span, .chunk = kind ? span : none};
					double sum = 0;
					for (double p = cached[c]; p < cached[c] + fresh[f]; p++)
						sum += spans[w] > 0
						    ? (kind ? fmod(p, spans[w]) + 1 : fmin(p + 1, spans[w]))
						    : p + 1;
					ck_assert_double_eq_tol(
					    seen_keys(NULL, &a, fresh[f], cached[c], true), sum / fresh[f], 1e-9);
					ck_assert_double_eq(
					    seen_keys(NULL, &a, fresh[f], cached[c], false), cached[c] + fresh[f]);
				}
}
END_TEST

/* 256 experts, 8 a token: one token visits 8, very many visit all; on the way the popular ones leave others idle. */
START_TEST(test_visited_experts)
{
	struct arena *a = arena_new();
	const struct workload *w = bind(a, deepseek);
	struct shape x = {.phase = PHASE_DECODE, .batch = 1, .n_new = 1, .n_cached = 100, .tp = 1, .elem_byte = 1};

	for (int i = 0; i < 2; i++) {
		int n;
		x.batch = i ? 10000 : 1;
		const struct op *ops = list(a, w, x, &n);
		for (int k = 0; k < n; k++)
			if (ops[k].kind == OP_grouped)
				ck_assert_double_eq_tol(ops[k].dim[0], i ? 256 : 8, 1e-3);
	}
	for (double n = 2; n <= 512; n *= 2) {
		const double idle = experts_idle(NULL, 8, 256, n);
		ck_assert(idle > pow(1 - 8.0 / 256, n) && idle < experts_idle(NULL, 8, 256, n - 1));
		ck_assert_double_eq(experts_idle(NULL, 8, 8, n), 0);
	}
	arena_free(a);
}
END_TEST

/* Lists from a file grow with the batch as they say. */
START_TEST(test_list_batch)
{
	struct arena *a = arena_new();
	const struct workload *w = bind(a,
	    "{name: n, source: s, symbols: {image: 32}, operators: [{op: conv2d, n: batch, c: 3, h: image, w: image, "
	    "k: 8, r: 3, s: 3}, "
	    "{op: elementwise, elements: batch * 8 * image * image, count: 2}, {op: gemm, m: batch, n: 10, k: 8 * "
	    "image * image}]}");
	int n;
	const struct op *one = list(a, w, (struct shape){.batch = 1, .tp = 1, .elem_byte = 2}, &n);
	const struct op *many = list(a, w, (struct shape){.batch = 16, .tp = 1, .elem_byte = 2}, &n);

	ck_assert_int_eq(n, 3);
	for (int i = 0; i < n; i++)
		ck_assert_double_eq(op_total_flop(NULL, &many[i]), 16 * op_total_flop(NULL, &one[i]));
	ck_assert_double_eq(op_total_flop(NULL, &one[1]), 2 * 8 * 32 * 32);
	/* the weights are read once, whatever the batch */
	ck_assert_double_eq(op_total_byte(NULL, &many[2]), 2.0 * (16 * 8192 + 81920 + 160));
	arena_free(a);
}
END_TEST

START_TEST(test_sheet_changes_nothing)
{
	struct arena *a = arena_new();
	const struct workload *w = bind(a, texts[_i]);
	struct sheet *sh = sheet_new();

	ck_assert_double_eq(forward_flop(sh, w, 300, true), forward_flop(NULL, w, 300, true));
	ck_assert_double_eq(forward_flop(sh, w, 300, false), forward_flop(NULL, w, 300, false));
	sheet_free(sh);
	arena_free(a);
}
END_TEST

Suite *op_suite(void);

Suite *
op_suite(void)
{
	Suite *s = suite_create("op");
	TCase *t = tcase_create("op");

	tcase_add_loop_test(t, test_costs, 0, N_EXPECTED);
	tcase_add_loop_test(t, test_texts, 0, N_EXPECTED);
	tcase_add_test(t, test_all_covered);
	tcase_add_test(t, test_fill);
	tcase_add_test(t, test_totals);
	tcase_add_test(t, test_options);
	tcase_add_test(t, test_stored);
	tcase_add_test(t, test_lists);
	tcase_add_loop_test(t, test_two_ways, 0, N_TEXTS);
	tcase_add_loop_test(t, test_sheet_changes_nothing, 0, N_TEXTS);
	tcase_add_test(t, test_narayanan);
	tcase_add_test(t, test_tensor_parallel);
	tcase_add_test(t, test_decode_reads_weights);
	tcase_add_test(t, test_unfused);
	tcase_add_test(t, test_seen);
	tcase_add_test(t, test_visited_experts);
	tcase_add_test(t, test_list_batch);
	suite_add_tcase(s, t);
	return s;
}
