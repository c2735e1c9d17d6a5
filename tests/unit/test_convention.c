/* SPDX-License-Identifier: GPL-3.0-or-later */
/* FLOP of a trained token as publications count it, against what they print; and checkpoints as they were published. */
#include "unit/hybrids.h"

#include "base/base.h"
#include "model/layer/layer.h"

#include <math.h>

#define LLAMA(layers, hidden, heads, width, vocab)                                                                     \
	MODEL("llama",                                                                                                 \
	    "layers: " layers ", hidden: " hidden ", vocab: " vocab ", attention: {kind: gqa, heads: " heads           \
	    ", kv_heads: 8}, mlp: {kind: gated, width: " width "}")
#define GPT(layers, hidden, heads, width)                                                                              \
	MODEL("gpt",                                                                                                   \
	    "layers: " layers ", hidden: " hidden ", vocab: 51200, tied_embeddings: true, attention: {kind: "          \
	    "mha, heads: " heads ", bias: all}, mlp: {kind: plain, width: " width ", bias: true}, norm: "              \
	    "layer, positions: learned, position_count: 2048")
#define QWEN_MOE(layers, hidden, heads, width)                                                                         \
	MODEL("qwen",                                                                                                  \
	    "layers: " layers ", hidden: " hidden ", vocab: 151936, attention: {kind: gqa, heads: " heads              \
	    ", kv_heads: 4, head_dim: 128, qk_norm: true}, moe: {experts: 128, top_k: 8, width: " width "}")
#define LLAMA_8B LLAMA("32", "4096", "32", "14336", "128256")
#define LLAMA_70B LLAMA("80", "8192", "64", "28672", "128256")
#define LLAMA_405B LLAMA("126", "16384", "128", "53248", "128256")
#define GPT_22B GPT("48", "6144", "64", "24576")
#define GPT_175B GPT("96", "12288", "96", "49152")

/* GFLOP of a token, as printed or as printed rates divide to. */
static const struct {
	const char *yaml;
	enum convention convention;
	double seq, gflop, tolerance;
} printed[] = {
    /* NVIDIA-NeMo/Megatron-Bridge, performance summary: TFLOP/s over tokens/s */
    {LLAMA_8B, CONVENTION_MEGATRON_BRIDGE, 8192, 51.5, 0.002},
    {LLAMA_70B, CONVENTION_MEGATRON_BRIDGE, 8192, 449.2, 0.001},
    {LLAMA_405B, CONVENTION_MEGATRON_BRIDGE, 8192, 2524, 0.001},
    {DEEPSEEK_V3, CONVENTION_MEGATRON_BRIDGE, 4096, 249.7, 0.003},
    {KIMI_K2, CONVENTION_MEGATRON_BRIDGE, 4096, 204.5, 0.003},
    {QWEN_MOE("48", "2048", "32", "768"), CONVENTION_MEGATRON_BRIDGE, 4096, 23.0, 0.005},
    {QWEN_MOE("94", "4096", "64", "1536"), CONVENTION_MEGATRON_BRIDGE, 4096, 148, 0.005},
    /* NVIDIA/NeMo 24.07 */
    {LLAMA_8B, CONVENTION_NEMO, 8192, 57.9, 0.001},
    {LLAMA_70B, CONVENTION_NEMO, 8192, 481.6, 0.001},
    /* mosaicml/llm-foundry, 6 x 6.66 B + 12 x 32 x 4096 x 2048 for MPT-7B */
    {MODEL("mpt",
         "layers: 32, hidden: 4096, vocab: 50368, tied_embeddings: true, attention: {kind: mha, heads: 32}, mlp: "
         "{kind: plain, width: 16384}, norm: layer"),
        CONVENTION_LLM_FOUNDRY, 2048, 6 * 6.6496 + 3.2212, 0.001},
    /* SC 2021, equation 3, with h 12288, L 96, s 2048, V 51200 */
    {GPT_175B, CONVENTION_SC21, 2048, 96e-9 * 96 * 12288.0 * 12288 * (1 + 1 / 36.0 + 51200 / (16.0 * 96 * 12288)),
        1e-9},
    {GPT_175B, CONVENTION_KAPLAN, 2048, 6 * 174.0, 0.001},
    {GPT_175B, CONVENTION_BIGSCIENCE, 2048, 8 * 174.6, 0.001},
    {GPT_175B, CONVENTION_BIGSCIENCE_PLAIN, 2048, 6 * 174.6, 0.001},
};

START_TEST(test_printed)
{
	struct arena *a = arena_new();
	const struct workload *w = hybrid(a, printed[_i].yaml);
	const enum convention c = printed[_i].convention;

	ck_assert_ptr_null(convention_refusal(c, w));
	const double gflop = convention_flop(NULL, c, w, printed[_i].seq) / 1e9;
	ck_assert_msg(fabs(gflop / printed[_i].gflop - 1) < printed[_i].tolerance, "%s by %s: %.5g GFLOP, printed %.5g",
	    w->name, convention_name(c), gflop, printed[_i].gflop);
	arena_free(a);
}
END_TEST

/* Korthikanti et al., table 5: MFU and HFU of one run differ by what is computed again. */
START_TEST(test_hardware)
{
	struct arena *a = arena_new();
	static const struct {
		const char *yaml;
		double mfu, hfu;
	} runs[] = {{GPT_22B, 41.5, 43.7}, {GPT_175B, 51.4, 52.8}};

	for (size_t i = 0; i < 2; i++) {
		const struct workload *w = hybrid(a, runs[i].yaml);
		const double model = convention_flop(NULL, CONVENTION_SEQSEL, w, 2048);
		const double hardware = convention_flop(NULL, CONVENTION_SEQSEL_HARDWARE, w, 2048);
		ck_assert_double_eq_tol(convention_ratio(NULL, hardware, model), runs[i].hfu / runs[i].mfu, 0.003);
		/* the closed form is three forward passes with full attention, but for norms and biases */
		ck_assert_double_eq_tol(model / convention_flop(NULL, CONVENTION_RIDGE_FULL, w, 2048), 1, 1e-3);
	}
	arena_free(a);
}
END_TEST

/* Each convention has a name, a formula and a source, and gives the same with a sheet. */
START_TEST(test_all)
{
	struct arena *a = arena_new();
	const struct workload *gpt = hybrid(a, GPT_22B), *mamba = hybrid(a, NEMOTRON_H_56B);
	struct sheet *sh = sheet_new();

	for (enum convention c = 0; c < N_CONVENTIONS; c++) {
		ck_assert_int_eq(convention_find(convention_name(c)), c);
		ck_assert_ptr_null(convention_refusal(c, gpt));
		ck_assert_double_eq(convention_flop(sh, c, gpt, 2048), convention_flop(NULL, c, gpt, 2048));
		ck_assert(
		    strlen(convention_title(c)) && strlen(convention_source(c)) && strlen(convention_attention(c)));
	}
	ck_assert_int_eq(convention_find("megascale"), CONVENTION_NONE);
	ck_assert_ptr_null(convention_refusal(CONVENTION_RIDGE_CAUSAL, mamba));
	ck_assert_ptr_nonnull(convention_refusal(CONVENTION_NEMO, mamba));
	ck_assert_ptr_nonnull(convention_refusal(CONVENTION_SC21, hybrid(a, LLAMA_8B)));
	sheet_free(sh);
	arena_free(a);
}
END_TEST

#define STORED(name, more, storage)                                                                                    \
	MODEL(name,                                                                                                    \
	    "layers: 1, hidden: 64, vocab: 100, attention: {kind: mha, heads: 4}, " more ", quantisation: " storage)
#define DENSE "mlp: {kind: plain, width: 128}"
#define EXPERTS "moe: {experts: 4, top_k: 1, width: 32, shared_experts: 1}"

/* Attention 16384, MLP 16384, norms 128 and 64, embedding and head 6400 each; experts 4 x 6144, shared 6144, router
 * 256. */
static const struct {
	const char *yaml;
	double byte;
} stored[] = {
    {STORED("fp8", DENSE, "{weights: fp8}"), 32768 + 2 * 12992},
    {STORED("fp8-block", DENSE, "{weights: fp8-block}"), 32768 * (1 + 1.0 / 4096) + 2 * 12992},
    {STORED("int4", DENSE, "{weights: int4}"), 32768 * 4.15625 / 8 + 2 * 12992},
    {STORED("int4", DENSE, "{weights: int4, group: 32, symmetric: true}"), 32768 * 4.5 / 8 + 2 * 12992},
    {STORED("int8", DENSE, "{weights: int8}"), 32768 * 8.1875 / 8 + 2 * 12992},
    {STORED("nvfp4", DENSE, "{weights: nvfp4, keep: [attention, lm_head]}"), 16384 * 4.5 / 8 + 2 * (16384 + 12992)},
    {STORED("mxfp4", EXPERTS, "{weights: mxfp4, only: experts}"), 24576 * 4.25 / 8 + 2 * (16384 + 6144 + 256 + 12992)},
    {STORED("mixed", EXPERTS, "{weights: fp8, experts: mxfp4}"), 24576 * 4.25 / 8 + 16384 + 6144 + 2 * (256 + 12992)},
    {STORED("keep", EXPERTS, "{weights: fp8, keep: [shared_experts]}"), 24576 + 16384 + 2 * (6144 + 256 + 12992)},
};

START_TEST(test_stored)
{
	struct arena *a = arena_new();
	const struct workload *w = hybrid(a, stored[_i].yaml);

	ck_assert_msg(fabs(published_bytes(NULL, w) - stored[_i].byte) < 1e-6, "%d: %.17g, expected %.17g", _i,
	    published_bytes(NULL, w), stored[_i].byte);
	arena_free(a);
}
END_TEST

/* gpt-oss: experts in MXFP4, all else in 16 bits; the checkpoints are published as 60.8 and 12.8 GiB. */
START_TEST(test_gpt_oss)
{
	struct arena *a = arena_new();
	struct workload large = *hybrid(a, GPT_OSS_120B), small = *hybrid(a, GPT_OSS_20B);
	const struct quantisation q = {.given = true,
	    .weights = DTYPE_MXFP4,
	    .experts = DTYPE_MXFP4,
	    .quantised = 1u << PART_EXPERTS,
	    .group = datum_absent()};

	ck_assert_double_eq(published_bytes(NULL, &large), 2 * model_params(NULL, &large));
	large.quantisation = small.quantisation = q;
	ck_assert_double_eq_tol(published_bytes(NULL, &large) / 1073741824.0, 60.77, 0.01);
	ck_assert_double_eq_tol(published_bytes(NULL, &small) / 1073741824.0, 12.82, 0.01);
	arena_free(a);
}
END_TEST

Suite *convention_suite(void);

Suite *
convention_suite(void)
{
	Suite *s = suite_create("convention");
	TCase *t = tcase_create("convention");

	tcase_add_loop_test(t, test_printed, 0, sizeof printed / sizeof *printed);
	tcase_add_test(t, test_hardware);
	tcase_add_test(t, test_all);
	tcase_add_loop_test(t, test_stored, 0, sizeof stored / sizeof *stored);
	tcase_add_test(t, test_gpt_oss);
	suite_add_tcase(s, t);
	return s;
}
