/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Model files: defaults, and every fault with its message. */
#include "base/base.h"
#include "db/db.h"
#include "model/layer/layer.h"

#include <check.h>
#include <string.h>

#define DECODER(more) "{name: n, source: s, layers: 4, hidden: 64, vocab: 100, " more "}"
#define LIST(more) "{name: n, source: s, symbols: {size: 8}, operators: [" more "]}"

static bool
bind(struct arena *a, struct diag *d, const char *yaml, struct workload *w)
{
	const struct node *root = tree_read_text(a, d, "test.yaml", yaml, strlen(yaml));
	struct binder b = {.arena = a, .diag = d};

	return root && workload_bind(&b, root, "test", w);
}

START_TEST(test_defaults)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);
	struct workload w;

	ck_assert(bind(a, d, DECODER("attention: {kind: mha, heads: 4}, mlp: {kind: plain, width: 96}"), &w));
	ck_assert_int_eq(w.kind, MODEL_DECODER);
	ck_assert_int_eq(w.n_blocks, 1);
	ck_assert_double_eq(w.blocks[0].count.value, 4);
	ck_assert_double_eq(w.blocks[0].attention.n_kv_heads.value, 4);
	ck_assert_double_eq(w.blocks[0].attention.head_dim.value, 16);
	ck_assert_double_eq(w.norms_per_layer.value, 2);
	ck_assert(w.final_norm && w.head && !w.tied_embeddings);
	ck_assert(isnan(w.context.value) && isnan(w.blocks[0].attention.window.value));
	ck_assert(!w.blocks[0].mlp.gated && w.blocks[0].mlp.given && !w.blocks[0].moe.given);
	ck_assert_str_eq(w.blocks[0].attention.kind_name, "mha");
	arena_free(a);
}
END_TEST

START_TEST(test_dense_layers)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);
	struct workload w;

	ck_assert(bind(a, d,
	    DECODER("attention: {kind: mqa, heads: 4}, mlp: {kind: gated, width: 96}, moe: {experts: 8, top_k: 2, "
	            "width: 32, "
	            "dense_layers: 1}"),
	    &w));
	ck_assert_int_eq(w.n_blocks, 2);
	ck_assert_double_eq(w.blocks[0].count.value, 1);
	ck_assert_double_eq(w.blocks[1].count.value, 3);
	ck_assert(w.blocks[0].mlp.given && !w.blocks[0].moe.given);
	ck_assert(!w.blocks[1].mlp.given && w.blocks[1].moe.given);
	ck_assert_double_eq(w.blocks[1].moe.n_shared.value, 0);
	ck_assert_double_eq(w.blocks[1].attention.n_kv_heads.value, 1);
	arena_free(a);
}
END_TEST

static const struct {
	const char *yaml, *message;
} faults[] = {
    {DECODER("attention: {kind: gqa, heads: 4}, mlp: {kind: plain, width: 96}"), "gqa needs the key 'kv_heads'"},
    {DECODER("attention: {kind: gqa, heads: 6, kv_heads: 4, head_dim: 8}, mlp: {kind: plain, width: 96}"),
        "6 heads are not a multiple of 4 KV heads"},
    {DECODER("attention: {kind: mha, heads: 4, kv_heads: 2}, mlp: {kind: plain, width: 96}"),
        "mha needs kv_heads equal to heads"},
    {DECODER("attention: {kind: mha, heads: 7}, mlp: {kind: plain, width: 96}"), "7 heads do not divide hidden 64"},
    {DECODER("attention: {kind: mha, heads: 4.5}, mlp: {kind: plain, width: 96}"), "must be a whole number"},
    {DECODER("attention: {kind: mla, heads: 4, kv_lora: 8}, mlp: {kind: plain, width: 96}"),
        "mla needs the key 'nope'"},
    {DECODER("attention: {kind: mha, heads: 4, window: 8, chunk: 8}, mlp: {kind: plain, width: 96}"),
        "window and chunk exclude each other"},
    {DECODER("attention: {kind: mha, heads: 4}"), "layers need 'mlp' or 'moe'"},
    {DECODER("mlp: {kind: plain, width: 96}"), "needs the key 'attention'"},
    {DECODER("attention: {kind: mha, heads: 4}, moe: {experts: 4, top_k: 5, width: 8}"), "top_k 5 exceeds 4 experts"},
    {DECODER("attention: {kind: mha, heads: 4}, moe: {experts: 4, top_k: 1, width: 8}, mlp: {kind: plain, width: 96}"),
        "no layer uses 'mlp'"},
    {DECODER("attention: {kind: mha, heads: 4}, moe: {experts: 4, top_k: 1, width: 8, dense_layers: 1}"),
        "the dense layers need 'mlp'"},
    {DECODER("attention: {kind: mha, heads: 4}, mlp: {kind: plain, width: 96}, moe: {experts: 4, top_k: 1, width: 8, "
             "dense_layers: 4}"),
        "'dense_layers' must be less than 'layers'"},
    {DECODER("blocks: [{count: 3, attention: {kind: mha, heads: 4}, mlp: {kind: plain, width: 96}}]"),
        "the blocks add up to 3 layers, but 'layers' is 4"},
    {DECODER(
         "attention: {kind: mha, heads: 4}, blocks: [{count: 4, attention: {kind: mha, heads: 4}, mlp: {kind: plain, "
         "width: 96}}]"),
        "'attention' belongs in each of the 'blocks'"},
    {DECODER("attention: {kind: mha, heads: 4}, mlp: {kind: plain, width: 96}, positions: learned"),
        "needs the key 'position_count'"},
    {DECODER("attention: {kind: mha, heads: 4}, mlp: {kind: plain, width: 96}, activation: sillu"),
        "'sillu' is not one of silu|gelu"},
    {DECODER("attention: {kind: mha, heads: 4}, mlp: {kind: plain, width: 96}, hiden: 3"),
        "a model has no key 'hiden'"},
    {DECODER("attention: {kind: mha, heads: 4}, mlp: {kind: plain, width: 96GB}"), "96GB"},
    {"{name: n, source: s, kind: vision, layers: 1, hidden: 8, attention: {kind: mha, heads: 1}, mlp: {kind: plain, "
     "width: 8}}",
        "a vision model needs the key 'patch'"},
    {"{name: n, source: s, layers: 1, hidden: 8, attention: {kind: mha, heads: 1}, mlp: {kind: plain, width: 8}}",
        "a language model needs the key 'vocab'"},
    {DECODER("attention: {kind: mha, heads: 4}, mamba: {heads: 4, head_dim: 16, state: 8, conv: 4}, mlp: {kind: plain, "
             "width: 96}"),
        "'attention' and 'mamba' exclude each other in a layer"},
    {DECODER("mamba: {heads: 4, head_dim: 16, conv: 4}, mlp: {kind: plain, width: 96}"),
        "'mamba' needs the key 'state'"},
    {DECODER("mamba: {heads: 4, head_dim: 16, groups: 3, state: 8, conv: 4}, mlp: {kind: plain, width: 96}"),
        "3 groups do not divide 4 heads"},
    {DECODER("delta: {key_heads: 4, value_heads: 6, key_dim: 8, value_dim: 8, conv: 4}, mlp: {kind: plain, width: 96}"),
        "6 value heads are not a multiple of 4 key heads"},
    {DECODER("kda: {heads: 4, conv: 4}, mlp: {kind: plain, width: 96}"), "'kda' needs the key 'head_dim'"},
    {DECODER("attention: {kind: csa, heads: 4, head_dim: 16, rope: 4, q_lora: 8, window: 8, ratio: 8, o_lora: 8, "
             "o_groups: 2}, mlp: {kind: plain, width: 96}"),
        "compression ratio must be 0, 4 or 128"},
    {DECODER("attention: {kind: csa, heads: 4, head_dim: 16, rope: 4, q_lora: 8, window: 8, ratio: 4, o_lora: 8, "
             "o_groups: 2}, mlp: {kind: plain, width: 96}"),
        "layers of ratio 4 need an indexer"},
    {DECODER("attention: {kind: csa, heads: 4, head_dim: 16}, mlp: {kind: plain, width: 96}"),
        "csa needs the key 'window'"},
    {DECODER("attention: {kind: mha, heads: 4, kv_lora: 8}, mlp: {kind: plain, width: 96}"),
        "'kv_lora' does not apply to mha"},
    {DECODER("attention: {kind: mha, heads: 4, qk_norm: some}, mlp: {kind: plain, width: 96}"),
        "'some' is not one of false|true|full"},
    {DECODER("attention: {kind: mla, heads: 4, kv_lora: 8, nope: 8, rope: 8, v_dim: 8, indexer: {heads: 2, dim: 8}}, "
             "mlp: {kind: plain, width: 96}"),
        "needs compressed queries"},
    {DECODER("attention: {kind: mha, heads: 4, indexer: {heads: 2}}, mlp: {kind: plain, width: 96}"),
        "'indexer' needs the key 'dim'"},
    {DECODER("attention: {kind: mha, heads: 4}, moe: {experts: 4, top_k: 1, width: 8, shared_gate: true}"),
        "shared expert gate without shared experts"},
    {DECODER("attention: {kind: mha, heads: 4}, mlp: {kind: plain, width: 96}, cross_attention: true"),
        "only an encoder-decoder has this key"},
    {DECODER("kind: encoder-decoder, attention: {kind: mha, heads: 4}, mlp: {kind: plain, width: 96}"),
        "needs the key 'encoder'"},
    {DECODER("kind: encoder-decoder, attention: &a {kind: mha, heads: 4}, mlp: &m {kind: plain, width: 96}, encoder: "
             "{attention: *a , mlp: *m }"),
        "'encoder' needs the key 'layers'"},
    {DECODER("attention: {kind: mha, heads: 4}, mlp: {kind: plain, width: 96}, relative_buckets: 32"),
        "unused relative position buckets"},
    {DECODER("attention: {kind: mha, heads: 4}, mlp: {kind: plain, width: 96}, quantisation: {weights: fp8, keep: "
             "[lm_heat]}"),
        "'lm_heat' is not a part of a model"},
    {DECODER("attention: {kind: mha, heads: 4}, mlp: {kind: plain, width: 96}, quantisation: {weights: fp9}"),
        "'fp9' is not one of fp8|fp8-block|mxfp8|"},
    {DECODER("attention: {kind: mha, heads: 4}, mlp: {kind: plain, width: 96}, quantisation: {kv: fp8}"),
        "needs the key 'weights'"},
    {LIST(""), "at least one operator"},
    {LIST("{op: gem, m: 1, n: 1, k: 1}"), "'gem' is not an operator"},
    {LIST("{op: gemm, m: 1, n: 1}"), "gemm needs the key 'k'"},
    {LIST("{op: gemm, m: 1, n: 1, k: 1, rows: 2}"), "gemm has no key 'rows'"},
    {LIST("{op: gemm, m: batch * sise, n: 1, k: 1}"), "nothing is called 'sise'"},
    {LIST("{op: gemm, m: batch * batch, n: 1, k: 1}"), "is not linear in the batch"},
    {LIST("{op: gemm, m: 1 - size, n: 1, k: 1}"), "a dimension must be positive"},
    {LIST("{op: gemm, m: size / (batch - batch), n: 1, k: 1}"), "a dimension must be positive"},
    {"{name: n, source: s, layers: 3, operators: [{op: gemv, m: 1, k: 1}]}",
        "'layers' does not apply to a list of operators"},
    {"{name: n, source: s, symbols: {batch: 3}, operators: [{op: gemv, m: 1, k: 1}]}", "'batch' is always defined"},
};

enum { N_FAULTS = sizeof faults / sizeof *faults };

START_TEST(test_faults)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);
	struct workload w;

	ck_assert_msg(!bind(a, d, faults[_i].yaml, &w), "accepted: %s", faults[_i].yaml);
	bool found = false;
	const char *hint, *text, *last = "nothing";
	struct source at;
	enum severity severity;
	for (int i = 0; (text = diag_message(d, i, &at, &hint, &severity)); i++) {
		found = found || strstr(text, faults[_i].message);
		last = text;
		ck_assert_ptr_nonnull(at.file);
		ck_assert_int_gt(at.line, 0);
	}
	ck_assert_msg(found, "'%s' not said of %s, but '%s'", faults[_i].message, faults[_i].yaml, last);
	arena_free(a);
}
END_TEST

/* One file with several faults: all are reported. */
START_TEST(test_all_at_once)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);
	struct workload w;

	ck_assert(!bind(a, d, LIST("{op: gemm, m: x, n: 1, k: 1}, {op: gemv, m: 1}, {op: nothing}"), &w));
	ck_assert_int_eq(diag_errors(d), 3);
	arena_free(a);
}
END_TEST

START_TEST(test_operators)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);
	struct workload w;

	ck_assert(bind(a, d,
	    LIST("{op: gemm, name: fc, m: 2 * batch, n: size, k: size * size, count: 3}, {op: elementwise, elements: "
	         "batch}"),
	    &w));
	ck_assert_int_eq(w.kind, MODEL_OPERATORS);
	ck_assert_int_eq(w.n_ops, 2);
	ck_assert_str_eq(w.ops[0].name, "fc");
	ck_assert_double_eq(w.ops[0].count, 3);
	ck_assert_double_eq(w.ops[0].dim[0], 2);
	ck_assert_double_eq(w.ops[0].per_batch[0], 2);
	ck_assert_double_eq(w.ops[0].dim[2], 64);
	ck_assert_double_eq(w.ops[0].per_batch[2], 0);
	ck_assert_str_eq(w.ops[1].name, "elementwise");
	ck_assert_double_eq(w.ops[1].dim[1], 1);
	arena_free(a);
}
END_TEST

Suite *workload_suite(void);

Suite *
workload_suite(void)
{
	Suite *s = suite_create("workload");
	TCase *t = tcase_create("workload");

	tcase_add_test(t, test_defaults);
	tcase_add_test(t, test_dense_layers);
	tcase_add_loop_test(t, test_faults, 0, N_FAULTS);
	tcase_add_test(t, test_all_at_once);
	tcase_add_test(t, test_operators);
	suite_add_tcase(s, t);
	return s;
}
