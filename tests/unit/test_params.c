/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameter counts against those of the published weights, from the architecture numbers of their configurations. */
#include "base/base.h"
#include "db/db.h"
#include "model/layer/layer.h"

#include <check.h>
#include <string.h>

struct model {
	const char *id;
	double total, active; /* NaN: not published */
	const char *yaml;
};

/* Totals are those of the published checkpoints (safetensors index, model card or paper); gpt-oss: model card 116.83 B
 * and 20.91 B; DeepSeek-V3 without the multi-token-prediction layer and the routing bias: 671 B, 37 B active
 * (arXiv:2412.19437); Mixtral 8x7B: 46.7 B, 12.9 B active (arXiv:2401.04088); Qwen3: 30.5 B and 3.3 B, 235 B and 22 B
 * (arXiv:2505.09388). */
static const struct model models[] = {
    {"llama2-7b", 6738415616.0, 6738415616.0,
        "{name: llama2-7b, source: test, layers: 32, hidden: 4096, attention: {kind: mha, heads: 32}, mlp: "
        "{kind: gated, width: 11008}, vocab: 32000}"},
    {"llama2-13b", 13015864320.0, 13015864320.0,
        "{name: llama2-13b, source: test, layers: 40, hidden: 5120, attention: {kind: mha, heads: 40}, mlp: "
        "{kind: gated, width: 13824}, vocab: 32000}"},
    {"llama2-70b", 68976648192.0, 68976648192.0,
        "{name: llama2-70b, source: test, layers: 80, hidden: 8192, attention: {kind: gqa, heads: 64, "
        "kv_heads: 8}, mlp: {kind: gated, width: 28672}, vocab: 32000}"},
    {"llama3-8b", 8030261248.0, 8030261248.0,
        "{name: llama3-8b, source: test, layers: 32, hidden: 4096, attention: {kind: gqa, heads: 32, "
        "kv_heads: 8}, mlp: {kind: gated, width: 14336}, vocab: 128256}"},
    {"llama3.1-70b", 70553706496.0, 70553706496.0,
        "{name: llama3.1-70b, source: test, layers: 80, hidden: 8192, attention: {kind: gqa, heads: 64, "
        "kv_heads: 8}, mlp: {kind: gated, width: 28672}, vocab: 128256}"},
    {"llama3.1-405b", 405853388800.0, 405853388800.0,
        "{name: llama3.1-405b, source: test, layers: 126, hidden: 16384, attention: {kind: gqa, heads: 128, "
        "kv_heads: 8}, mlp: {kind: gated, width: 53248}, vocab: 128256}"},
    {"llama3.2-1b", 1235814400.0, 1235814400.0,
        "{name: llama3.2-1b, source: test, layers: 16, hidden: 2048, attention: {kind: gqa, heads: 32, "
        "kv_heads: 8}, mlp: {kind: gated, width: 8192}, vocab: 128256, tied_embeddings: true}"},
    {"llama3.2-3b", 3212749824.0, 3212749824.0,
        "{name: llama3.2-3b, source: test, layers: 28, hidden: 3072, attention: {kind: gqa, heads: 24, "
        "kv_heads: 8}, mlp: {kind: gated, width: 8192}, vocab: 128256, tied_embeddings: true}"},
    {"mistral-7b", 7241732096.0, 7241732096.0,
        "{name: mistral-7b, source: test, layers: 32, hidden: 4096, attention: {kind: gqa, heads: 32, "
        "kv_heads: 8, window: 4096}, mlp: {kind: gated, width: 14336}, vocab: 32000}"},
    {"qwen-7b", 7721324544.0, 7721324544.0,
        "{name: qwen-7b, source: test, layers: 32, hidden: 4096, attention: {kind: mha, heads: 32, bias: "
        "qkv}, mlp: {kind: gated, width: 11008}, vocab: 151936}"},
    {"qwen2.5-3b", 3085938688.0, 3085938688.0,
        "{name: qwen2.5-3b, source: test, layers: 36, hidden: 2048, attention: {kind: gqa, heads: 16, "
        "kv_heads: 2, bias: qkv}, mlp: {kind: gated, width: 11008}, vocab: 151936, tied_embeddings: true}"},
    {"qwen3-8b", 8190735360.0, 8190735360.0,
        "{name: qwen3-8b, source: test, layers: 36, hidden: 4096, attention: {kind: gqa, heads: 32, kv_heads: "
        "8, head_dim: 128, qk_norm: true}, mlp: {kind: gated, width: 12288}, vocab: 151936}"},
    {"mixtral-8x7b", 46702792704.0, 12879925248.0,
        "{name: mixtral-8x7b, source: test, layers: 32, hidden: 4096, attention: {kind: gqa, heads: 32, "
        "kv_heads: 8}, moe: {experts: 8, top_k: 2, width: 14336}, vocab: 32000}"},
    {"mixtral-8x22b", 140620634112.0, 39152031744.0,
        "{name: mixtral-8x22b, source: test, layers: 56, hidden: 6144, attention: {kind: gqa, heads: 48, "
        "kv_heads: 8}, moe: {experts: 8, top_k: 2, width: 16384}, vocab: 32000}"},
    {"deepseek-v3", 671026404352.0, 37552282624.0,
        "{name: deepseek-v3, source: test, layers: 61, hidden: 7168, attention: {kind: mla, heads: 128, "
        "q_lora: 1536, kv_lora: 512, nope: 128, rope: 64, v_dim: 128}, mlp: {kind: gated, width: 18432}, moe: "
        "{experts: 256, top_k: 8, width: 2048, shared_experts: 1, dense_layers: 3}, vocab: 129280}"},
    {"kimi-k2", 1026408209408.0, 32861477888.0,
        "{name: kimi-k2, source: test, layers: 61, hidden: 7168, attention: {kind: mla, heads: 64, q_lora: "
        "1536, kv_lora: 512, nope: 128, rope: 64, v_dim: 128}, mlp: {kind: gated, width: 18432}, moe: "
        "{experts: 384, top_k: 8, width: 2048, shared_experts: 1, dense_layers: 1}, vocab: 163840}"},
    {"deepseek-v2-lite", 15706484224.0, 2661150208.0,
        "{name: deepseek-v2-lite, source: test, layers: 27, hidden: 2048, attention: {kind: mla, heads: 16, "
        "kv_lora: 512, nope: 128, rope: 64, v_dim: 128}, mlp: {kind: gated, width: 10944}, moe: {experts: 64, "
        "top_k: 6, width: 1408, shared_experts: 2, dense_layers: 1}, vocab: 102400}"},
    {"qwen3-30b-a3b", 30532122624.0, 3353032704.0,
        "{name: qwen3-30b-a3b, source: test, layers: 48, hidden: 2048, attention: {kind: gqa, heads: 32, "
        "kv_heads: 4, head_dim: 128, qk_norm: true}, moe: {experts: 128, top_k: 8, width: 768}, vocab: "
        "151936}"},
    {"qwen3-235b-a22b", 235093634560.0, 22190763520.0,
        "{name: qwen3-235b-a22b, source: test, layers: 94, hidden: 4096, attention: {kind: gqa, heads: 64, "
        "kv_heads: 4, head_dim: 128, qk_norm: true}, moe: {experts: 128, top_k: 8, width: 1536}, vocab: "
        "151936}"},
    {"gpt-oss-120b", 116829156672.0, NAN,
        "{name: gpt-oss-120b, source: test, layers: 36, hidden: 2880, attention: {kind: gqa, heads: 64, "
        "kv_heads: 8, head_dim: 64, bias: all, sinks: true}, moe: {experts: 128, top_k: 4, width: 2880, "
        "router_bias: true, expert_bias: true}, vocab: 201088}"},
    {"gpt-oss-20b", 20914757184.0, NAN,
        "{name: gpt-oss-20b, source: test, layers: 24, hidden: 2880, attention: {kind: gqa, heads: 64, "
        "kv_heads: 8, head_dim: 64, bias: all, sinks: true}, moe: {experts: 32, top_k: 4, width: 2880, "
        "router_bias: true, expert_bias: true}, vocab: 201088}"},
    {"llama4-scout", 107769861120.0, NAN,
        "{name: llama4-scout, source: test, layers: 48, hidden: 5120, blocks: [{count: 36, attention: {kind: "
        "gqa, heads: 40, kv_heads: 8, chunk: 8192}, moe: &m {experts: 16, top_k: 1, width: 8192, "
        "shared_experts: 1}}, {count: 12, attention: {kind: gqa, heads: 40, kv_heads: 8}, moe: *m }], vocab: "
        "202048}"},
    {"bert-large", 335141888.0, 335141888.0,
        "{name: bert-large, source: test, kind: encoder, layers: 24, hidden: 1024, attention: {kind: mha, "
        "heads: 16, bias: all}, mlp: {kind: plain, width: 4096, bias: true}, positions: learned, "
        "position_count: 512, norm: layer, final_norm: false, embedding_norm: true, vocab: 30522, "
        "token_types: 2, pooler: true, head: false}"},
    {"vit-h14", 632045800.0, 632045800.0,
        "{name: vit-h14, source: test, kind: vision, layers: 32, hidden: 1280, attention: {kind: mha, heads: "
        "16, bias: all}, mlp: {kind: plain, width: 5120, bias: true}, norm: layer, patch: {size: 14, "
        "channels: 3, image: 224, classes: 1000}}"},
    {"falcon-7b", 6921720704.0, 6921720704.0,
        "{name: falcon-7b, source: test, layers: 32, hidden: 4544, attention: {kind: mqa, heads: 71}, mlp: "
        "{kind: plain, width: 18176}, norm: layer, norms_per_layer: 1, vocab: 65024, tied_embeddings: true}"},
    {"gpt2", 124439808.0, 124439808.0,
        "{name: gpt2, source: test, layers: 12, hidden: 768, attention: {kind: mha, heads: 12, bias: all}, "
        "mlp: {kind: plain, width: 3072, bias: true}, positions: learned, position_count: 1024, norm: layer, "
        "vocab: 50257, tied_embeddings: true}"},
};

enum { N_MODELS = sizeof models / sizeof *models };

static const struct workload *
bind(struct arena *a, const struct model *m)
{
	struct diag *d = diag_new(a);
	const struct node *root = tree_read_text(a, d, m->id, m->yaml, strlen(m->yaml));
	struct binder b = {.arena = a, .diag = d};
	struct workload *w = ARENA_NEW(a, struct workload);

	if (!root || !workload_bind(&b, root, m->id, w)) {
		diag_print(d, stderr, false);
		ck_abort_msg("%s does not bind", m->id);
	}
	return w;
}

START_TEST(test_totals)
{
	struct arena *a = arena_new();
	const struct model *m = &models[_i];
	const struct workload *w = bind(a, m);

	ck_assert_msg(
	    model_params(NULL, w) == m->total, "%s: %.0f, expected %.0f", m->id, model_params(NULL, w), m->total);
	if (!isnan(m->active))
		ck_assert_msg(model_active_params(NULL, w) == m->active, "%s: active %.0f, expected %.0f", m->id,
		    model_active_params(NULL, w), m->active);
	arena_free(a);
}
END_TEST

/* The total is the sum of its parts, and active never exceeds it. */
START_TEST(test_parts)
{
	struct arena *a = arena_new();
	const struct workload *w = bind(a, &models[_i]);
	double sum = embedding_params(NULL, w) + final_params(NULL, w) + head_params(NULL, w);

	for (int i = 0; i < w->n_blocks; i++) {
		const struct block *b = &w->blocks[i];
		double layer = 0;
		for (unsigned part = 1; part & IN_LAYER; part <<= 1)
			layer += layer_params(NULL, w, b, part, COUNT_ALL);
		ck_assert_double_eq(layer, layer_params(NULL, w, b, IN_LAYER, COUNT_ALL));
		if (b->moe.given)
			ck_assert_double_eq(layer_params(NULL, w, b, IN_EXPERT, COUNT_ALL),
			    b->moe.n_experts.value * layer_params(NULL, w, b, IN_EXPERT, COUNT_ONE));
		sum += b->count.value * layer;
	}
	ck_assert_double_eq(sum, model_params(NULL, w));
	ck_assert_double_le(model_active_params(NULL, w), model_params(NULL, w));
	arena_free(a);
}
END_TEST

START_TEST(test_sheet_changes_nothing)
{
	struct arena *a = arena_new();
	const struct workload *w = bind(a, &models[_i]);
	struct sheet *sh = sheet_new();

	ck_assert_double_eq(model_params(sh, w), model_params(NULL, w));
	ck_assert_double_eq(model_active_params(sh, w), model_active_params(NULL, w));
	sheet_free(sh);
	arena_free(a);
}
END_TEST

static double
one_layer(struct arena *a, const char *yaml)
{
	const struct model m = {"layer", NAN, NAN, yaml};
	const struct workload *w = bind(a, &m);

	return layer_params(NULL, w, &w->blocks[0], IN_LAYER, COUNT_ALL);
}

#define LAYER(more) "{name: n, source: s, layers: 1, hidden: 64, vocab: 10, " more "}"

/* Each switch adds what its meaning says. */
START_TEST(test_switches)
{
	struct arena *a = arena_new();
	const double plain =
	    one_layer(a, LAYER("attention: {kind: gqa, heads: 8, kv_heads: 2}, mlp: {kind: plain, width: 96}"));

	/* 2 x 64 x 64 + 2 x 64 x 16 + 2 x 64 x 96 + 2 norms of 64 */
	ck_assert_double_eq(plain, 8192 + 2048 + 12288 + 128);
	ck_assert_double_eq(
	    one_layer(
	        a, LAYER("attention: {kind: gqa, heads: 8, kv_heads: 2, bias: qkv}, mlp: {kind: plain, width: 96}")),
	    plain + 64 + 32);
	ck_assert_double_eq(
	    one_layer(
	        a, LAYER("attention: {kind: gqa, heads: 8, kv_heads: 2, bias: all}, mlp: {kind: plain, width: 96}")),
	    plain + 64 + 32 + 64);
	ck_assert_double_eq(
	    one_layer(a,
	        LAYER("attention: {kind: gqa, heads: 8, kv_heads: 2, qk_norm: true}, mlp: {kind: plain, width: 96}")),
	    plain + 16);
	ck_assert_double_eq(
	    one_layer(
	        a, LAYER("attention: {kind: gqa, heads: 8, kv_heads: 2, sinks: true}, mlp: {kind: plain, width: 96}")),
	    plain + 8);
	ck_assert_double_eq(
	    one_layer(
	        a, LAYER("attention: {kind: gqa, heads: 8, kv_heads: 2}, mlp: {kind: plain, width: 96, bias: true}")),
	    plain + 96 + 64);
	ck_assert_double_eq(
	    one_layer(a, LAYER("attention: {kind: gqa, heads: 8, kv_heads: 2}, mlp: {kind: gated, width: 96}")),
	    plain + 6144);
	ck_assert_double_eq(
	    one_layer(
	        a, LAYER("norm: layer, attention: {kind: gqa, heads: 8, kv_heads: 2}, mlp: {kind: plain, width: 96}")),
	    plain + 128);
	/* values half as wide: 64 x 2 x 4 fewer for them, 8 x 4 x 64 fewer for the output */
	ck_assert_double_eq(
	    one_layer(
	        a, LAYER("attention: {kind: gqa, heads: 8, kv_heads: 2, v_dim: 4}, mlp: {kind: plain, width: 96}")),
	    plain - 512 - 2048);
	arena_free(a);
}
END_TEST

START_TEST(test_stated)
{
	struct arena *a = arena_new();
	const struct model m = {"stated", NAN, NAN,
	    "{name: n, source: s, layers: 1, hidden: 64, vocab: 10, attention: {kind: mha, heads: 8}, mlp: {kind: "
	    "plain, width: 96}, "
	    "parameters: 30144}"};
	const struct workload *w = bind(a, &m);

	/* 16384 + 12288 + 128 + embedding and head 2 x 640 + final norm 64 = 30144 */
	ck_assert_double_eq(params_error(NULL, w), 0);
	struct workload off = *w;
	off.stated_params.value = 30144 / 1.01;
	ck_assert_double_eq_tol(params_error(NULL, &off), 0.01, 1e-12);
	ck_assert_double_eq(checkpoint_bytes(NULL, 7e9, 2), 14e9);
	arena_free(a);
}
END_TEST

Suite *params_suite(void);

Suite *
params_suite(void)
{
	Suite *s = suite_create("params");
	TCase *t = tcase_create("params");

	tcase_add_loop_test(t, test_totals, 0, N_MODELS);
	tcase_add_loop_test(t, test_parts, 0, N_MODELS);
	tcase_add_loop_test(t, test_sheet_changes_nothing, 0, N_MODELS);
	tcase_add_test(t, test_switches);
	tcase_add_test(t, test_stated);
	suite_add_tcase(s, t);
	return s;
}
