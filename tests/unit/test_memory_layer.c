/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a layer keeps for the way back, and how much of it a pipeline holds: check vectors of the equations. */
#include "base/base.h"
#include "model/memory/memory.h"
#include "model/memory/parts.h"
#include "unit/hybrids.h"

#include <check.h>

#include "memory_scene.h"

/* --- saved tensors of one layer -------------------------------------------------------------------------- */

/* Tensors counted by hand for the layers of Megatron-Core and Transformer Engine, bytes per local token. */
static const struct {
	const char *what;
	const struct test_shape *shape;
	int block;
	double tp, cp;
	enum dtype dtype;
	bool late;
	double expect;
} layers[] = {
    {"Llama-3-8B", &llama3_8b, 0, 1, 1, DTYPE_BF16, false, 139400},
    {"Llama-3-8B, 4 ranks", &llama3_8b, 0, 4, 1, DTYPE_BF16, false, 34850},
    {"Llama-3-8B, context parallel", &llama3_8b, 0, 1, 8, DTYPE_BF16, false, 147592},
    {"Llama-3-8B in fp8", &llama3_8b, 0, 1, 1, DTYPE_FP8, false, 120968},
    {"Llama-3-8B in mxfp8", &llama3_8b, 0, 1, 1, DTYPE_MXFP8, false, 121800},
    {"Llama-3-8B in nvfp4", &llama3_8b, 0, 1, 1, DTYPE_NVFP4, false, 109320},
    {"Llama-3-70B", &llama3_70b, 0, 1, 1, DTYPE_BF16, false, 274696},
    {"Llama-3-70B, 8 ranks", &llama3_70b, 0, 8, 1, DTYPE_BF16, false, 34337},
    {"Llama-3-70B in fp8, 8 ranks", &llama3_70b, 0, 8, 1, DTYPE_FP8, false, 29729},
    {"Qwen3-30B", &qwen3_30b, 0, 1, 1, DTYPE_BF16, false, 115768},
    {"Qwen3-30B, late probabilities", &qwen3_30b, 0, 1, 1, DTYPE_BF16, true, 148536},
    {"Qwen3-235B", &qwen3_235b, 0, 1, 1, DTYPE_BF16, false, 226616},
    {"Mixtral", &mixtral, 0, 1, 1, DTYPE_BF16, false, 241920},
    {"DeepSeek-V3, experts", &deepseek_v3, 1, 1, 1, DTYPE_BF16, false, 458928},
    {"DeepSeek-V3, experts, 2 ranks", &deepseek_v3, 1, 2, 1, DTYPE_BF16, false, 229464},
    {"DeepSeek-V3, dense", &deepseek_v3, 0, 1, 1, DTYPE_BF16, false, 340624},
    {"Kimi-K2, experts", &kimi_k2, 1, 1, 1, DTYPE_BF16, false, 378544},
};

START_TEST(megatron_layers)
{
	struct stack stack = megatron_core();
	struct model m;

	stack.late_probabilities = layers[_i].late;
	make_model(&m, layers[_i].shape);
	struct memory_job job = job_of(&m, &stack, 1, 4096);
	job.layout.tp = layers[_i].tp;
	job.layout.sp = layers[_i].tp > 1;
	job.layout.cp = layers[_i].cp;
	job.dtype = layers[_i].dtype;
	ck_assert_msg(memory_layer_saved(NULL, &job, &m.blocks[layers[_i].block]) == layers[_i].expect, "%s: %.17g",
	    layers[_i].what, memory_layer_saved(NULL, &job, &m.blocks[layers[_i].block]));
}
END_TEST

/*
 * Layers of one part.  A scan of Nano: norm 2 x 2 x 2688 + 4, input projection 2 x 10304, output of the scan, the same
 * gated and the input of the output projection 2 x 4096 each, 8 scales.  Experts of Super: norm 2 x 2 x 4096 + 4,
 * router 512 x 14, 22 copies of 1024 with their weights and two widths of 2688, two of the shared 5376, input of the
 * map out of the latent 1024.
 */
static const struct {
	const char *what, *yaml;
	int block;
	double tp;
	enum dtype dtype;
	double expect;
} hybrid_layers[] = {
    {"scan", NEMOTRON_3_NANO, 0, 1, DTYPE_BF16, 10756 + 20608 + 3 * 8192 + 32},
    {"scan, 4 ranks", NEMOTRON_3_NANO, 0, 4, DTYPE_BF16, (10756 + 20608 + 3 * 8192 + 32) / 4.0},
    {"scan in fp8", NEMOTRON_3_NANO, 0, 1, DTYPE_FP8, 10756 - 2688 + 20608 + 2 * 8192 + 4096 + 32},
    {"attention", NEMOTRON_3_NANO, 1, 1, DTYPE_BF16, 10756 + 2 * (2 * 4096 + 2 * 256) + 4 * 32},
    {"experts in a latent", NEMOTRON_3_SUPER, 2, 1, DTYPE_BF16,
        16388 + 512 * 14 + 22 * (2048 + 4 + 2 * 5376) + 2 * 10752 + 2048},
    {"experts in a latent, fp8", NEMOTRON_3_SUPER, 2, 1, DTYPE_FP8,
        16388 + 512 * 14 + 22 * (1024 + 4 + 5376 + 2688) + 10752 + 5376 + 2 * 4096 + 1024},
};

START_TEST(megatron_hybrid_layers)
{
	struct arena *a = arena_new();
	const struct stack stack = megatron_core();
	struct model m = {.workload = *hybrid(a, hybrid_layers[_i].yaml)};
	struct memory_job job = job_of(&m, &stack, 1, 4096);

	job.layout.tp = hybrid_layers[_i].tp;
	job.layout.sp = hybrid_layers[_i].tp > 1;
	job.dtype = hybrid_layers[_i].dtype;
	const double saved = memory_layer_saved(NULL, &job, &m.workload.blocks[hybrid_layers[_i].block]);
	ck_assert_msg(saved == hybrid_layers[_i].expect, "%s: %.17g", hybrid_layers[_i].what, saved);
	ck_assert_ptr_null(memory_lacks_rule(&job));
	arena_free(a);
}
END_TEST

/*
 * Layers of Qwen3-Next, without the experts that both kinds have.  A delta net: 8192 channels of the convolution, 2048
 * normalized queries and as many keys with their scales, both for 32 heads of 128, values, three decays, a step and 64
 * products of each head, the output and its scale, normalized, gate, input of the output projection.  Attention:
 * queries and keys with scales before their norms, 4096, 512 and 512 behind them, its output, the gate, both
 * multiplied, a log-sum-exp of 16 heads.
 */
START_TEST(megatron_delta_layers)
{
	struct arena *a = arena_new();
	const struct stack stack = megatron_core();
	struct model m = {.workload = *hybrid(a, QWEN3_NEXT_80B)};
	struct memory_job job = job_of(&m, &stack, 1, 4096);
	const double delta = 2 * 8192 + 2 * 2 * 2048 + 4 * 32 + 2 * 2 * 4096 + 2 * 4096 + 32 * (4 * 3 + 2 + 2 * 64) +
	    2 * 4096 + 4 * 32 + 2 * 2 * 4096 + 2 * 4096;
	const double attention = 2 * (4096 + 512) + 4 * (16 + 2) + 2 * (4096 + 512 + 512) + 2 * 3 * 4096 + 4 * 16;

	ck_assert_ptr_null(memory_lacks_rule(&job));
	for (int tp = 1; tp <= 2; tp++) {
		job.layout.tp = tp;
		job.layout.sp = tp > 1;
		ck_assert_double_eq(memory_layer_saved(NULL, &job, &m.workload.blocks[0]) -
		        memory_layer_saved(NULL, &job, &m.workload.blocks[1]),
		    (delta - attention) / tp);
	}
	job.layout.cp = 2;
	ck_assert_ptr_nonnull(memory_lacks_rule(&job));
	arena_free(a);
}
END_TEST

/* The same layer of DeepSeek-V3 with modules of it computed again. */
static const struct {
	double pp, vp, n, again_frac;
} chunks[] = {{1, 1, 8, 0.25}, {2, 1, 4, 0.25}, {2, 4, 1, 0.25}, {2, 4, 4, 1}, {2, 4, 5, 1}, {3, 1, 1, 1 / 11.0}};

static const struct {
	unsigned modules;
	double expect;
} policies[] = {
    {BIT(CORE_ATTN), 458416},
    {BIT(MLA_UP_PROJ), 323760},
    {BIT(MLA_UP_PROJ) | BIT(MOE_ACT) | BIT(LAYERNORM), 262320},
    {BIT(MLA_UP_PROJ) | BIT(MOE), 94864},
    {BIT(SHARED_EXPERTS), 458928 - 6 * 2048},
};

START_TEST(megatron_modules)
{
	const struct stack stack = megatron_core();
	struct model m;

	make_model(&m, &deepseek_v3);
	struct memory_job job = job_of(&m, &stack, 1, 4096);
	job.recompute = RECOMPUTE_MODULES;
	job.modules = policies[_i].modules;
	ck_assert_double_eq(memory_layer_kept(NULL, &job, &m.blocks[1]), policies[_i].expect);
}
END_TEST

START_TEST(full_recompute_keeps_the_input)
{
	const struct stack stack = megatron_core();
	struct model m;

	make_model(&m, &llama3_8b);
	struct memory_job job = job_of(&m, &stack, 1, 8192);
	job.recompute = RECOMPUTE_FULL;
	ck_assert_double_eq(memory_layer_kept(NULL, &job, m.blocks), 2 * 4096);
	job.recompute = RECOMPUTE_UNIFORM;
	job.recompute_n = 4;
	ck_assert_double_eq(memory_layer_kept(NULL, &job, m.blocks), 2 * 4096 / 4.0);
	job.recompute = RECOMPUTE_EVERY;
	job.recompute_n = 2;
	ck_assert_double_eq(memory_layer_kept(NULL, &job, m.blocks), (2 * 4096 + 139400) / 2.0);
	job.offload = OFFLOAD_ACTIVATIONS;
	job.recompute = RECOMPUTE_FULL;
	ck_assert_double_eq(memory_layer_kept(NULL, &job, m.blocks), 0);
}
END_TEST

/* Of 32 layers on 2 stages of 4 chunks, the first of each chunk is one of four. */
START_TEST(block_counts_layers_of_a_chunk)
{
	const struct stack stack = megatron_core();
	struct model m;

	make_model(&m, &llama3_8b);
	struct memory_job job = job_of(&m, &stack, 1, 8192);
	job.recompute = RECOMPUTE_BLOCK;
	job.layout.pp = chunks[_i].pp;
	job.layout.vp = chunks[_i].vp;
	job.recompute_n = chunks[_i].n;
	ck_assert_double_eq_tol(memory_layer_kept(NULL, &job, m.blocks),
	    chunks[_i].again_frac * 2 * 4096 + (1 - chunks[_i].again_frac) * 139400, 1e-6);
}
END_TEST

/* Of 32 layers 8 wait in the host's memory; 31 leave no room for the one that is fetched beside the one in use. */
START_TEST(offloaded_layers_keep_nothing)
{
	const struct stack stack = megatron_core();
	struct model m;

	make_model(&m, &llama3_8b);
	struct memory_job job = job_of(&m, &stack, 1, 8192);
	ck_assert_double_eq(memory_mean_saved(NULL, &job), 139400);
	job.recompute = RECOMPUTE_OFFLOAD;
	job.recompute_n = 8;
	ck_assert_double_eq_tol(memory_layer_kept(NULL, &job, m.blocks), 0.75 * 139400, 1e-6);
	ck_assert_double_eq(recompute_returns(NULL, &job, 0), 0);
	job.recompute_n = 31;
	ck_assert_double_eq_tol(memory_layer_kept(NULL, &job, m.blocks), 139400 / 32.0, 1e-6);
	ck_assert_double_eq(recompute_returns(NULL, &job, 0), 8192.0 * 139400);
}
END_TEST

/* Queries, keys and values of 8192 tokens wait, those of one layer are in use and of one on their way; what is computed
 * again is not there to wait. */
START_TEST(offloaded_modules_wait)
{
	const struct stack stack = megatron_core();
	const double qkv_byte = 2 * (4096 + 2 * 1024);
	struct model m;

	make_model(&m, &llama3_8b);
	struct memory_job job = job_of(&m, &stack, 1, 8192);
	job.offload_modules = 1u << AWAY_CORE_ATTN;
	ck_assert_double_eq_tol(memory_layer_kept(NULL, &job, m.blocks), 139400 - qkv_byte, 1e-6);
	ck_assert_double_eq_tol(memory_mean_away(NULL, &job), qkv_byte, 1e-6);
	ck_assert_double_eq_tol(recompute_returns(NULL, &job, 0), 2 * 8192 * qkv_byte, 1e-3);
	job.offload_modules |= 1u << AWAY_ATTN_PROJ;
	ck_assert_double_eq_tol(memory_mean_away(NULL, &job), qkv_byte + 2 * 4096, 1e-6);
	/* a norm that is part of a map waits with the map's own input */
	job.offload_modules = 1u << AWAY_QKV_LINEAR;
	ck_assert_double_eq_tol(memory_mean_away(NULL, &job), 2 * 2 * 4096, 1e-6);
	job.offload_modules = 1u << AWAY_ATTN_NORM | 1u << AWAY_MLP_NORM;
	ck_assert_double_eq(memory_mean_away(NULL, &job), 0);
	job.offload_modules = 1u << AWAY_CORE_ATTN | 1u << AWAY_ATTN_PROJ;
	job.recompute = RECOMPUTE_MODULES;
	job.modules = 1u << MODULE_CORE_ATTN;
	const double again_byte = 139400 - memory_layer_kept(NULL, &job, m.blocks) - memory_mean_away(NULL, &job);
	job.offload_modules = 0;
	ck_assert_double_eq_tol(139400 - memory_layer_kept(NULL, &job, m.blocks), again_byte, 1e-6);
	ck_assert_double_eq(memory_mean_away(NULL, &job), 0);
}
END_TEST

START_TEST(gpt_layer)
{
	const struct stack stack = megatron_2022();
	struct model m;

	make_gpt(&m, 96, 12288, 96);
	struct memory_job job = job_of(&m, &stack, 1, 2048);
	job.flash = false;
	job.dropout = true;
	ck_assert_double_eq(memory_layer_saved(NULL, &job, m.blocks), 114 * 12288.0);
	job.layout.tp = 8;
	ck_assert_double_eq(memory_layer_saved(NULL, &job, m.blocks), (10 + 24 / 8.0 + 80 / 8.0) * 12288);
	job.layout.sp = true;
	ck_assert_double_eq(memory_layer_saved(NULL, &job, m.blocks), 114 * 12288 / 8.0);
}
END_TEST

/* Lists read off torchtitan (expanded keys and values) and torchtune (eager and compiled norms). */
START_TEST(general_layers)
{
	struct stack stack = plain_stack();
	struct model m;

	stack.expanded_kv = true;
	make_model(&m, &llama3_8b);
	struct memory_job job = job_of(&m, &stack, 2, 8192);
	ck_assert_double_eq(memory_layer_saved(NULL, &job, m.blocks), 180352);
	job.recompute = RECOMPUTE_OP;
	job.compiled = true;
	ck_assert_double_eq(memory_layer_kept(NULL, &job, m.blocks), 63616);
	job.compiled = false;
	stack.eager_policy_byte = number(2.6);
	ck_assert_double_eq_tol(memory_layer_kept(NULL, &job, m.blocks), 63616 + 2.6 * 4096, 1e-9);

	/* every other product: the down map of a plain MLP is the sixth and not kept; scores in memory have no
	 * log-sum-exp */
	job.compiled = true;
	m.blocks->mlp.gated = false;
	ck_assert_double_eq(memory_layer_kept(NULL, &job, m.blocks), 63616 - 2 * 4096);
	job.flash = false;
	ck_assert_double_eq(memory_layer_kept(NULL, &job, m.blocks), 63616 - 2 * 4096 - 4 * 32);
	m.blocks->attention.k_is_v = true; /* queries, keys, output, up, down: the first, third and fifth */
	ck_assert_double_eq(memory_layer_kept(NULL, &job, m.blocks), 2.0 * (4096 + 4096 + 4096 + 4096 + 4096));

	stack.expanded_kv = false;
	stack.eager_norm = true;
	make_model(&m, &llama32_3b);
	job = job_of(&m, &stack, 2, 4096);
	ck_assert_double_eq(memory_layer_saved(NULL, &job, m.blocks), 131168);
	job.compiled = true;
	ck_assert_double_eq(memory_layer_saved(NULL, &job, m.blocks), 106592);
}
END_TEST

/* --- pipelines ------------------------------------------------------------------------------------------- */

START_TEST(in_flight)
{
	static const double interleaved[] = {4.6, 4.2, 3.8, 3.4};
	const struct stack stack = megatron_core();
	struct model m;

	make_model(&m, &llama3_70b);
	struct memory_job job = job_of(&m, &stack, 1, 8192);
	ck_assert_double_eq(memory_in_flight(NULL, &job, 0), 1);
	job.layout.pp = 4;
	for (int stage = 0; stage < 4; stage++)
		ck_assert_double_eq(memory_in_flight(NULL, &job, stage), 4 - stage);
	job.n_microbatches = number(2);
	ck_assert_double_eq(memory_in_flight(NULL, &job, 0), 2);
	ck_assert_double_eq(memory_in_flight(NULL, &job, 3), 1);
	job.gpipe = true;
	job.n_microbatches = number(32);
	ck_assert_double_eq(memory_in_flight(NULL, &job, 3), 32);
	job.gpipe = false;
	job.layout.vp = 5;
	for (int stage = 0; stage < 4; stage++)
		ck_assert_double_eq_tol(memory_in_flight(NULL, &job, stage), interleaved[stage], 1e-12);
}
END_TEST

/* 61 layers over 16 stages are 3, fourteen times 4, and 2; the layers of every split add up. */
START_TEST(stage_layers)
{
	const struct stack stack = megatron_core();
	struct model m;

	make_model(&m, &deepseek_v3);
	struct memory_job job = job_of(&m, &stack, 1, 4096);
	job.layout.pp = 16;
	ck_assert_double_eq(memory_stage_layers(&job, 0, 0), 3);
	ck_assert_double_eq(memory_stage_layers(&job, 0, 1), 0);
	for (int stage = 1; stage < 15; stage++)
		ck_assert_double_eq(memory_stage_layers(&job, stage, 1), 4);
	ck_assert_double_eq(memory_stage_layers(&job, 15, 1), 2);
	for (int pp = 1; pp <= 61; pp++)
		for (int vp = 1; pp * vp <= 61; vp++) {
			double n = 0;
			job.layout.pp = pp;
			job.layout.vp = vp;
			for (int stage = 0; stage < pp; stage++)
				n += memory_stage_layers(&job, stage, 0) + memory_stage_layers(&job, stage, 1);
			ck_assert_double_eq(n, 61);
		}
}
END_TEST

START_TEST(stated_stage_layers)
{
	static const int split[] = {10, 20, 31};
	const struct stack stack = megatron_core();
	struct model m;

	make_model(&m, &deepseek_v3);
	struct memory_job job = job_of(&m, &stack, 1, 4096);
	job.layout.pp = 3;
	job.stage_layers = split;
	job.n_stage_layers = 3;
	ck_assert_double_eq(memory_stage_layers(&job, 0, 0), 3);
	ck_assert_double_eq(memory_stage_layers(&job, 0, 1), 7);
	ck_assert_double_eq(memory_stage_layers(&job, 2, 1), 31);
}
END_TEST

Suite *memory_layer_suite(void);

Suite *
memory_layer_suite(void)
{
	Suite *s = suite_create("memory_layer");
	TCase *c = tcase_create("memory_layer");

	LOOP(megatron_layers, layers);
	LOOP(megatron_hybrid_layers, hybrid_layers);
	LOOP(megatron_modules, policies);
	tcase_add_test(c, megatron_delta_layers);
	tcase_add_test(c, full_recompute_keeps_the_input);
	LOOP(block_counts_layers_of_a_chunk, chunks);
	tcase_add_test(c, offloaded_layers_keep_nothing);
	tcase_add_test(c, offloaded_modules_wait);
	tcase_add_test(c, gpt_layer);
	tcase_add_test(c, general_layers);
	tcase_add_test(c, in_flight);
	tcase_add_test(c, stage_layers);
	tcase_add_test(c, stated_stage_layers);
	suite_add_tcase(s, c);
	return s;
}
