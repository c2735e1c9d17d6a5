/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameter counts of models whose layers differ, against the published checkpoints and totals. */
#include "unit/hybrids.h"

#include "base/base.h"
#include "model/layer/layer.h"

#include <math.h>

/* `total` is exact for the configuration, NaN where only a rounded one is known; `published` is the vendor's figure
 * (model cards and technical reports; text parts only, without MTP modules). */
static const struct {
	const char *id, *yaml;
	double total, published, tolerance;
} counted[] = {
    {"gpt-oss-120b", GPT_OSS_120B, 116829156672, 116.83e9, 0.002},
    {"gpt-oss-20b", GPT_OSS_20B, 20914757184, 20.91e9, 0.002},
    {"gemma-4-26b", GEMMA_4_26B, NAN, 25.233e9, 0.002},
    {"gemma-4-31b", GEMMA_4_31B, NAN, 30.697e9, 0.002},
    {"llama-4-scout", LLAMA_4_SCOUT, 107769861120, 107.77e9, 0.002},
    {"mimo-v2-flash", MIMO_V2_FLASH, 308778778368 + 39 * 64, 309e9,
        0.002}, /* and a sink per head of 39 window layers */
    {"deepseek-v3", DEEPSEEK_V3, 671026404352, 671e9, 0.002},
    {"kimi-k2", KIMI_K2, 1026408209408, 1.03e12, 0.004}, /* published to three digits */
    {"glm-5", GLM_5, 743911218432, 744e9, 0.002},
    {"deepseek-v4-flash", DEEPSEEK_V4_FLASH, NAN, 284.3e9, 0.002},
    {"deepseek-v4-pro", DEEPSEEK_V4_PRO, NAN, 1.6e12, 0.02}, /* published to two digits */
    /* the vendor's 56 B is a name: the weights of its own configuration are 56.32 B */
    {"nemotron-h-56b", NEMOTRON_H_56B, 56324350464, 56e9, 0.006},
    {"nemotron-3-nano", NEMOTRON_3_NANO, 31577940288, 31.6e9, 0.002},
    {"nemotron-3-super", NEMOTRON_3_SUPER, 120668707840, 120.6e9, 0.002},
    {"qwen3-next-80b", QWEN3_NEXT_80B, 79674391296, 79.67e9, 0.002},
    {"qwen3.5-397b", QWEN3_5_397B, NAN, 397e9, 0.002},
    {"kimi-linear-48b", KIMI_LINEAR_48B, NAN, 49.1e9, 0.002},
    {"kimi-k3", KIMI_K3, NAN, 2.78e12, 0.002},
    {"minimax-m2", MINIMAX_M2, NAN, 229e9, 0.002},
    /* google-t5, facebook: sums over the tensors of the checkpoints */
    {"t5-small", T5_SMALL, 60506624, 60e6, 0.01},
    {"t5-base", T5_BASE, 222903552, 220e6, 0.014},
    {"t5-large", T5_LARGE, 737668096, 770e6, 0.05}, /* the paper rounds to 770 million */
    {"t5-3b", T5_3B, 2851598336, 2.8e9, 0.02},
    {"t5-11b", T5_11B, 11307321344, 11e9, 0.03},
    {"bart-large", BART_LARGE, 406291456, 406e6, 0.002},
};

START_TEST(test_totals)
{
	struct arena *a = arena_new();
	const struct workload *w = hybrid(a, counted[_i].yaml);
	const double total = model_params(NULL, w);

	if (!isnan(counted[_i].total))
		ck_assert_msg(
		    total == counted[_i].total, "%s: %.0f, expected %.0f", counted[_i].id, total, counted[_i].total);
	ck_assert_msg(fabs(total / counted[_i].published - 1) < counted[_i].tolerance, "%s: %.6g, published %.6g",
	    counted[_i].id, total, counted[_i].published);
	arena_free(a);
}
END_TEST

/* A name, vendors' rounded active parameters, and how far off they may be. */
static const struct {
	const char *yaml;
	double active, tolerance;
} activated[] = {
    {GPT_OSS_120B, 5.7e9, 0.01},      /* model card: 5.13 B, without embedding and head */
    {NEMOTRON_3_NANO, 3.6e9, 0.02},   /* model card: 3.6 B with embeddings */
    {NEMOTRON_3_SUPER, 12.7e9, 0.03}, /* model card: 12.7 B with embeddings */
    {DEEPSEEK_V4_FLASH, 13e9, 0.08},  /* report: 13 B */
    {DEEPSEEK_V4_PRO, 49e9, 0.05},    /* report: 49 B */
    {QWEN3_5_397B, 17e9, 0.06},       /* name: A17B */
    {GLM_5, 40e9, 0.06},              /* report: 40 B */
};

START_TEST(test_active)
{
	struct arena *a = arena_new();
	const struct workload *w = hybrid(a, activated[_i].yaml);
	const double n = model_active_params(NULL, w);

	ck_assert_msg(fabs(n / activated[_i].active - 1) < activated[_i].tolerance, "%s: active %.6g, expected %.6g",
	    w->name, n, activated[_i].active);
	arena_free(a);
}
END_TEST

static double
stack_params(const struct workload *w, const struct block *blocks, int n, bool only_active)
{
	double sum = 0;

	for (int i = 0; i < n; i++) {
		const struct block *b = &blocks[i];
		const double outside = layer_params(NULL, w, b, IN_LAYER & ~IN_EXPERT, COUNT_ALL);
		const double expert = layer_params(NULL, w, b, IN_EXPERT, COUNT_ONE);
		const double experts = b->moe.given ? (only_active ? b->moe.top_k : b->moe.n_experts).value : 0;
		ck_assert_double_eq(
		    outside, layer_params(NULL, w, b, IN_LAYER & ~IN_EXPERT, only_active ? COUNT_ACTIVE : COUNT_ONE));
		sum += b->count.value * (outside + experts * expert);
	}
	return sum;
}

/* The total is the sum of its parts, active or not; a sheet changes nothing. */
START_TEST(test_parts)
{
	struct arena *a = arena_new();
	const struct workload *w = hybrid(a, counted[_i].yaml);
	const double outside = embedding_params(NULL, w) + final_params(NULL, w) + head_params(NULL, w);
	struct sheet *sh = sheet_new();

	for (int active = 0; active < 2; active++) {
		const double encoder = stack_params(w, w->encoder_blocks, w->n_encoder_blocks, active);
		const double total = active ? model_active_params(NULL, w) : model_params(NULL, w);
		ck_assert_double_eq(encoder_params(NULL, w, active ? COUNT_ACTIVE : COUNT_ALL), encoder);
		ck_assert_double_eq(outside + encoder + stack_params(w, w->blocks, w->n_blocks, active), total);
		ck_assert_double_eq(active ? model_active_params(sh, w) : model_params(sh, w), total);
		sheet_clear(sh);
	}
	ck_assert_double_eq(body_params(NULL, w), model_params(NULL, w) - embedding_params(NULL, w));
	ck_assert_double_eq(inner_params(NULL, w), body_params(NULL, w) - head_params(NULL, w));
	sheet_free(sh);
	arena_free(a);
}
END_TEST

Suite *params_hybrid_suite(void);

Suite *
params_hybrid_suite(void)
{
	Suite *s = suite_create("params_hybrid");
	TCase *t = tcase_create("params_hybrid");

	tcase_add_loop_test(t, test_totals, 0, sizeof counted / sizeof *counted);
	tcase_add_loop_test(t, test_parts, 0, sizeof counted / sizeof *counted);
	tcase_add_loop_test(t, test_active, 0, sizeof activated / sizeof *activated);
	suite_add_tcase(s, t);
	return s;
}
