/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Check vectors of the memory model, run with the constants printed beside them: they test equations, not the database.
 */
#include "base/base.h"
#include "model/memory/memory.h"
#include "search/plan/plan.h"
#include "unit/hybrids.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define GIB 1073741824.0

static struct datum
number(double value)
{
	return (struct datum){value, {NULL, 0, 0, NULL, false}};
}

/* --- models ---------------------------------------------------------------------------------------------- */

struct test_shape {
	double layers, hidden, heads, kv_heads, head_dim, width, vocab;
	bool qk_norm, tied;
	double experts, top_k, expert_width, shared_width, dense_layers;
	double q_lora, kv_lora, nope, rope, v_dim;
};

static const struct test_shape llama2_7b = {32, 4096, 32, 32, 128, 11008, 32000, .qk_norm = false};
static const struct test_shape llama3_8b = {32, 4096, 32, 8, 128, 14336, 128256, .qk_norm = false};
static const struct test_shape llama3_70b = {80, 8192, 64, 8, 128, 28672, 128256, .qk_norm = false};
static const struct test_shape llama32_3b = {28, 3072, 24, 8, 128, 8192, 128256, .tied = true};
static const struct test_shape qwen3_30b = {
    48, 2048, 32, 4, 128, 0, 151936, .qk_norm = true, .experts = 128, .top_k = 8, .expert_width = 768};
static const struct test_shape qwen3_235b = {
    94, 4096, 64, 4, 128, 0, 151936, .qk_norm = true, .experts = 128, .top_k = 8, .expert_width = 1536};
static const struct test_shape mixtral = {
    32, 4096, 32, 8, 128, 0, 32000, .experts = 8, .top_k = 2, .expert_width = 14336};
static const struct test_shape deepseek_v3 = {61, 7168, 128, 128, 192, 18432, 129280, .experts = 256, .top_k = 8,
    .expert_width = 2048, .shared_width = 2048, .dense_layers = 3, .q_lora = 1536, .kv_lora = 512, .nope = 128,
    .rope = 64, .v_dim = 128};
static const struct test_shape kimi_k2 = {61, 7168, 64, 64, 192, 18432, 163840, .experts = 384, .top_k = 8,
    .expert_width = 2048, .shared_width = 2048, .dense_layers = 1, .q_lora = 1536, .kv_lora = 512, .nope = 128,
    .rope = 64, .v_dim = 128};

struct model {
	struct workload workload;
	struct block blocks[2];
};

static struct attention
attention_of(const struct test_shape *s)
{
	struct attention a = {.kind = s->kv_lora > 0 ? ATTENTION_MLA : ATTENTION_HEADS, .qk_norm = s->qk_norm};

	a.n_heads = number(s->heads);
	a.n_kv_heads = number(s->kv_heads);
	a.head_dim = number(s->head_dim);
	a.window = a.chunk = datum_absent();
	if (a.kind == ATTENTION_MLA) {
		a.q_lora = number(s->q_lora);
		a.kv_lora = number(s->kv_lora);
		a.nope = number(s->nope);
		a.rope = number(s->rope);
		a.v_dim = number(s->v_dim);
	} else
		a.q_lora = a.kv_lora = a.nope = a.rope = a.v_dim = datum_absent();
	return a;
}

static void
make_model(struct model *m, const struct test_shape *s)
{
	struct workload *w = &m->workload;
	struct block dense = {.attention = attention_of(s)}, experts = {.attention = attention_of(s)};
	int n = 0;

	dense.count = number(s->experts > 0 ? s->dense_layers : s->layers);
	dense.mlp = (struct mlp){.given = true, .gated = true, .width = number(s->width)};
	dense.moe.n_experts = dense.moe.n_shared = dense.moe.shared_width = datum_absent();
	experts.count = number(s->layers - s->dense_layers);
	experts.mlp.width = datum_absent();
	experts.moe.given = true;
	experts.moe.n_experts = number(s->experts);
	experts.moe.top_k = number(s->top_k);
	experts.moe.width = number(s->expert_width);
	experts.moe.n_shared = number(s->shared_width > 0);
	experts.moe.shared_width = number(s->shared_width);
	*m = (struct model){.workload = {.kind = MODEL_DECODER, .norm = NORM_RMS, .head = true, .final_norm = true}};
	w->tied_embeddings = s->tied;
	w->n_layers = number(s->layers);
	w->hidden = number(s->hidden);
	w->vocab = number(s->vocab);
	w->norms_per_layer = number(2);
	w->n_positions = w->n_token_types = w->context = w->n_classes = datum_absent();
	if (dense.count.value > 0)
		m->blocks[n++] = dense;
	if (s->experts > 0)
		m->blocks[n++] = experts;
	w->blocks = m->blocks;
	w->n_blocks = n;
}

/* --- frameworks ------------------------------------------------------------------------------------------ */

static const struct loss losses[] = {
    {"10", {10, {0}}}, {"6", {6, {0}}}, {"14", {14, {0}}}, {"8", {8, {0}}}, {"2", {2, {0}}}};

static struct stack
plain_stack(void)
{
	struct stack s = {.use = STACK_TRAIN, .flash = true};
	struct datum *const absent[] = {&s.gradient_byte, &s.adapter_byte, &s.eager_policy_byte, &s.step_byte,
	    &s.subgroup_byte, &s.subgroup_param, &s.bucket_byte, &s.bucket_param, &s.live_byte, &s.n_quantised_buffers,
	    &s.workspace_byte, &s.expert_workspace_byte, &s.utilization, &s.block_token, &s.batch_token,
	    &s.sampler_rows, &s.sampler_byte, &s.decoder_rows, &s.decoder_byte, &s.n_kv_copies, &s.max_zero};

	for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
		*absent[i] = datum_absent();
	s.safety = number(1.15);
	return s;
}

static struct stack
megatron_core(void)
{
	struct stack s = plain_stack();

	s.rules = RULES_MEGATRON_CORE;
	s.scheme = STATES_MIXED;
	s.gradient_byte = number(4);
	s.gradients = HELD_ALWAYS;
	s.fused_activation = true;
	s.workspace_byte = number(64 * 1048576.0);
	s.expert_workspace_byte = number(192 * 1048576.0);
	return s;
}

static struct memory_job
job_of(const struct model *m, const struct stack *stack, double batch, double seq)
{
	struct memory_job job = {.use = stack->use,
	    .model = &m->workload,
	    .stack = stack,
	    .scheme = stack->scheme,
	    .flash = true,
	    .dtype = DTYPE_BF16,
	    .weight_copies = 2,
	    .recompute_n = 1,
	    .loss = &losses[0]};

	job.layout = (struct layout){.dp = 1, .tp = 1, .pp = 1, .vp = 1, .cp = 1, .ep = 1, .etp = 1, .shard = 1};
	job.batch = number(batch);
	job.seq = number(seq);
	job.n_microbatches = job.gradient_byte = job.headroom_frac = datum_absent();
	job.imbalance = number(1);
	job.lora_rank = number(0);
	job.context_byte = number(0);
	job.card_byte = number(80e9);
	return job;
}

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
 * Layers of one part.  A scan of Nano: norm 2 x 2 x 2688 + 4, input projection 2 x 10304, output of the scan and input
 * of the output projection 2 x 4096 each, 8 scales.  Experts of Super: norm 2 x 2 x 4096 + 4, router 512 x 14, 22
 * copies of 1024 with their weights and two widths of 2688, two of the shared 5376, input of the map out of the latent
 * 1024.
 */
static const struct {
	const char *what, *yaml;
	int block;
	double tp;
	enum dtype dtype;
	double expect;
} hybrid_layers[] = {
    {"scan", NEMOTRON_3_NANO, 0, 1, DTYPE_BF16, 10756 + 20608 + 2 * 8192 + 32},
    {"scan, 4 ranks", NEMOTRON_3_NANO, 0, 4, DTYPE_BF16, (10756 + 20608 + 2 * 8192 + 32) / 4.0},
    {"scan in fp8", NEMOTRON_3_NANO, 0, 1, DTYPE_FP8, 10756 - 2688 + 20608 + 8192 + 4096 + 32},
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

#define BIT(m) (1u << MODULE_##m)

/* The same layer of DeepSeek-V3 with modules of it computed again. */
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

/* Korthikanti et al., arXiv:2205.05198: 34 h + 5 a s for GPT-3 175B is 114 h, with tensor parallelism 10 h + 24 h / t +
 * 5 a s / t, with sequence parallelism all of it / t. */
static void
make_gpt(struct model *m, double layers_, double hidden, double heads)
{
	const struct test_shape gpt = {layers_, hidden, heads, heads, hidden / heads, 4 * hidden, 0, .qk_norm = false};

	make_model(m, &gpt);
	m->blocks[0].mlp.gated = false;
	m->workload.norm = NORM_LAYER;
	m->workload.final_norm = false;
	m->workload.norms_per_layer = number(2);
}

static struct stack
megatron_2022(void)
{
	struct stack s = plain_stack();

	s.scheme = STATES_MIXED;
	s.gradient_byte = number(4);
	s.gradients = HELD_ALWAYS;
	s.fused_activation = true;
	return s;
}

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

/* --- parameters of a rank -------------------------------------------------------------------------------- */

START_TEST(rank_parameters)
{
	const struct stack stack = megatron_core();
	struct model m;

	make_model(&m, &llama3_8b);
	struct memory_job job = job_of(&m, &stack, 1, 8192);
	ck_assert_double_eq(memory_linear_params(NULL, &job, 0) + memory_other_params(NULL, &job, 0), 8030261248.0);
	make_model(&m, &llama3_70b);
	job = job_of(&m, &stack, 1, 8192);
	job.layout.tp = 8;
	job.layout.pp = 4;
	ck_assert_double_eq(memory_linear_params(NULL, &job, 0) + memory_other_params(NULL, &job, 0), 2270756864.0);
	make_model(&m, &qwen3_30b);
	job = job_of(&m, &stack, 1, 4096);
	job.layout.ep = 8;
	ck_assert_double_eq(memory_linear_params(NULL, &job, 0) + memory_other_params(NULL, &job, 0), 1541093376.0);
	ck_assert_double_eq(memory_expert_params(NULL, &job, 0), 3623878656.0);
}
END_TEST

START_TEST(adapter_parameters)
{
	const struct stack stack = plain_stack();
	struct model m;

	make_model(&m, &llama2_7b);
	struct memory_job job = job_of(&m, &stack, 1, 2048);
	job.lora_rank = number(8);
	job.targets = 1u << TARGET_Q | 1u << TARGET_V;
	ck_assert_double_eq(memory_adapter_params(NULL, &job, 0), 4194304);
}
END_TEST

/* What is trained beside low-rank adapters: learned prompts, a scale and a shift of each output, token table and head.
 */
START_TEST(trained_beside)
{
	struct stack stack = plain_stack();
	struct memory_use with, without;
	struct model m;

	make_model(&m, &llama2_7b);
	stack.adapter_byte = number(2);
	stack.scheme = STATES_PURE;
	struct memory_job job = job_of(&m, &stack, 1, 2048);
	job.lora_rank = number(10);
	job.targets = 1u << TARGET_PROMPT;
	const double prompt_byte = memory_layer_saved(NULL, &job, &m.blocks[0]);
	ck_assert_double_eq(memory_adapter_params(NULL, &job, 0), 10.0 * 4096 * 32);
	job.targets |= 1u << TARGET_OUTPUTS;
	const double outputs = 5.0 * 4096 + 2 * 11008;
	ck_assert_double_eq(memory_adapter_params(NULL, &job, 0), 10.0 * 4096 * 32 + 2 * 32 * outputs);
	ck_assert_double_eq(memory_layer_saved(NULL, &job, &m.blocks[0]) - prompt_byte, 2 * outputs);
	job.targets = 1u << TARGET_Q;
	memory_stage_peak(&job, 0, &without);
	job.targets |= 1u << TARGET_EMBED;
	memory_stage_peak(&job, 0, &with);
	/* two matrices: copies of 2 bytes, two moments of 2 bytes */
	ck_assert_double_eq(with.weights - without.weights, 2 * 2 * 32000.0 * 4096);
	ck_assert_double_eq(with.optimizer - without.optimizer, 2 * 4 * 32000.0 * 4096);
}
END_TEST

/* A pipeline of PyTorch keeps what each micro-batch in flight sent on; the last stage sends nothing. */
START_TEST(sent_outputs)
{
	struct stack stack = plain_stack();
	struct memory_use kept, given_up;
	struct model m;

	make_model(&m, &llama2_7b);
	struct memory_job job = job_of(&m, &stack, 1, 2048);
	job.layout.pp = 4;
	job.n_microbatches = number(8);
	for (int stage = 0; stage < 4; stage++) {
		stack.time.listed = false;
		memory_at(NULL, &job, stage, MOMENT_BACKWARD, &given_up);
		stack.time.listed = true;
		stack.max_zero = number(3);
		memory_at(NULL, &job, stage, MOMENT_BACKWARD, &kept);
		ck_assert_double_eq(kept.buffers - given_up.buffers, (3 - stage) * 2 * 4096.0 * 2048);
	}
}
END_TEST

/* Behind dropout an adapter keeps what dropout left of its input, not the input; one of fp32 keeps its own cast. */
START_TEST(adapters_behind_dropout)
{
	struct stack stack = plain_stack();
	struct model m;

	make_model(&m, &llama2_7b);
	stack.adapter_byte = number(2);
	struct memory_job job = job_of(&m, &stack, 1, 2048);
	job.lora_rank = number(8);
	job.targets = 1u << TARGET_DOWN;
	const double plain_byte = memory_layer_saved(NULL, &job, &m.blocks[0]);
	job.adapter_dropout = true;
	/* 2 bytes of the input less; 2 of the copy and 1 of the mask more */
	ck_assert_double_eq(memory_layer_saved(NULL, &job, &m.blocks[0]) - plain_byte, 11008);
	job.adapter_dropout = false;
	stack.adapter_byte = number(4);
	ck_assert_double_eq(memory_layer_saved(NULL, &job, &m.blocks[0]) - plain_byte, 2 * 8 + (4 - 2) * 11008);
}
END_TEST

/* The tanh that bounds scores and logits saves its results, unless it is compiled into what follows. */
START_TEST(bounded_scores)
{
	const struct stack stack = plain_stack();
	struct memory_use plain, bounded;
	struct model m;

	make_model(&m, &llama2_7b);
	struct memory_job job = job_of(&m, &stack, 1, 2048);
	const double saved_byte = memory_layer_saved(NULL, &job, &m.blocks[0]);
	memory_at(NULL, &job, 0, MOMENT_LOSS, &plain);
	m.workload.softcap = true;
	/* scores, tanh and softmax in 16 bits */
	ck_assert_double_eq(memory_layer_saved(NULL, &job, &m.blocks[0]) - saved_byte, 3 * 2 * 32 * 2048.0);
	memory_at(NULL, &job, 0, MOMENT_LOSS, &bounded);
	ck_assert_double_eq(bounded.logits - plain.logits, 2 * 32000 * 2048.0);
	job.compiled = true;
	ck_assert_double_eq(memory_layer_saved(NULL, &job, &m.blocks[0]), saved_byte);
}
END_TEST

START_TEST(untied_head)
{
	struct stack stack = plain_stack();
	struct model m;

	make_model(&m, &llama2_7b);
	m.workload.tied_embeddings = true;
	struct memory_job job = job_of(&m, &stack, 1, 2048);
	const double tied_param = memory_other_params(NULL, &job, 0);
	stack.unties_head = true;
	ck_assert_double_eq(memory_other_params(NULL, &job, 0) - tied_param, 32000.0 * 4096);
}
END_TEST

/* --- whole budgets of Megatron-Core ---------------------------------------------------------------------- */

static const struct {
	const char *what;
	const struct test_shape *shape;
	double seq, dp, tp, pp, vp, cp, ep;
	enum recompute recompute;
	unsigned modules;
	int loss, stage;     /* stage -1: the largest */
	double states, peak; /* GiB, as computed by hand */
} budgets[] = {
    {"Llama-3-8B", &llama3_8b, 8192, 8, 1, 1, 1, 1, 1, RECOMPUTE_NONE, 0, 0, -1, 56.091, 100.503},
    {"Llama-3-8B, unfused loss", &llama3_8b, 8192, 8, 1, 1, 1, 1, 1, RECOMPUTE_NONE, 0, 1, -1, 56.091, 96.589},
    {"Llama-3-8B, 2 ranks", &llama3_8b, 8192, 4, 2, 1, 1, 1, 1, RECOMPUTE_NONE, 0, 0, -1, 33.656, 55.955},
    {"Llama-3-8B, full", &llama3_8b, 8192, 8, 1, 1, 1, 1, 1, RECOMPUTE_FULL, 0, 0, -1, 56.091, 69.533},
    {"Llama-3-70B", &llama3_70b, 8192, 2, 8, 4, 1, 1, 1, RECOMPUTE_NONE, 0, 0, -1, 25.378, 46.870},
    {"Llama-3-70B, interleaved", &llama3_70b, 8192, 2, 8, 4, 5, 1, 1, RECOMPUTE_NONE, 0, 0, -1, 25.378, 50.014},
    {"Qwen3-30B", &qwen3_30b, 4096, 8, 1, 1, 1, 1, 8, RECOMPUTE_NONE, 0, 0, -1, 71.514, 98.771},
    {"DeepSeek-V3", &deepseek_v3, 4096, 64, 1, 16, 1, 1, 64, RECOMPUTE_NONE, 0, 0, 1, 17.183, 124.045},
    {"DeepSeek-V3, up-projections again", &deepseek_v3, 4096, 64, 1, 16, 1, 1, 64, RECOMPUTE_MODULES, BIT(MLA_UP_PROJ),
        0, 1, 17.183, 93.623},
    {"DeepSeek-V3, more again", &deepseek_v3, 4096, 64, 1, 16, 1, 1, 64, RECOMPUTE_MODULES,
        BIT(MLA_UP_PROJ) | BIT(MOE_ACT) | BIT(LAYERNORM), 0, 1, 17.183, 79.795},
    {"DeepSeek-V3, full", &deepseek_v3, 4096, 64, 1, 16, 1, 1, 64, RECOMPUTE_FULL, 0, 0, 1, 17.183, 24.036},
    {"Llama-3-8B, long", &llama3_8b, 131072, 1, 1, 1, 1, 8, 1, RECOMPUTE_NONE, 0, 0, -1, 56.091, 148.446},
};

START_TEST(megatron_budgets)
{
	const struct stack stack = megatron_core();
	struct memory_use use;
	struct model m;

	make_model(&m, budgets[_i].shape);
	struct memory_job job = job_of(&m, &stack, 1, budgets[_i].seq);
	job.layout = (struct layout){.dp = budgets[_i].dp,
	    .tp = budgets[_i].tp,
	    .pp = budgets[_i].pp,
	    .vp = budgets[_i].vp,
	    .cp = budgets[_i].cp,
	    .ep = budgets[_i].ep,
	    .etp = 1,
	    .zero = 1,
	    .sp = budgets[_i].tp > 1};
	job.layout.shard = job.layout.dp * job.layout.cp;
	job.recompute = budgets[_i].recompute;
	job.modules = budgets[_i].modules;
	job.loss = &losses[budgets[_i].loss];
	if (budgets[_i].stage < 0)
		memory_peak(NULL, &job, &use);
	else
		memory_stage_peak(&job, budgets[_i].stage, &use);
	ck_assert_msg(fabs((use.weights + use.gradients + use.optimizer) / GIB - budgets[_i].states) < 0.00051,
	    "%s: states %.5f", budgets[_i].what, (use.weights + use.gradients + use.optimizer) / GIB);
	ck_assert_msg(
	    fabs(use.total / GIB - budgets[_i].peak) < 0.00051, "%s: peak %.5f", budgets[_i].what, use.total / GIB);
}
END_TEST

/* In the first backward layer on top of the saved set, bytes per token: the buffers of that moment without workspaces;
 * and numbers in a weight of every shape, by hand. */
static const struct {
	const struct test_shape *shape;
	double cp, per_token, n_shapes;
} transients[] = {
    {&llama3_8b, 1, 73728, 6144.0 * 4096 + 4096 * 4096 + 28672 * 4096 + 4096 * 14336},
    {&qwen3_30b, 1, 73728, 5120.0 * 2048 + 2048 * 4096 + 1536 * 2048 + 2048 * 768},
    /* the shared expert has the shape of a routed one */
    {&deepseek_v3, 1, 258048,
        7168.0 * (1536 + 576 + 2 * 18432 + 18432 + 2 * 2048 + 2048 + 128 * 128) + 1536 * 24576 + 512 * 32768},
};

START_TEST(megatron_transients)
{
	struct stack stack = megatron_core();
	struct memory_use use;
	struct model m;

	stack.workspace_byte = stack.expert_workspace_byte = number(0);
	make_model(&m, transients[_i].shape);
	struct memory_job job = job_of(&m, &stack, 1, 4096);
	job.layout.cp = transients[_i].cp;
	memory_at(NULL, &job, 0, MOMENT_BACKWARD, &use);
	ck_assert_double_eq(use.buffers, transients[_i].per_token * 4096 + 2 * transients[_i].n_shapes);
}
END_TEST

/* A ring of 8 on Llama-3-8B: the attention's forward needs 12 284 bytes beyond the MLP that was freed, less than the
 * MLP's own transient; with a thin MLP it is what remains. */
START_TEST(ring_transient)
{
	struct stack stack = megatron_core();
	struct memory_use use;
	struct model m;

	stack.workspace_byte = number(0);
	make_model(&m, &llama3_8b);
	m.blocks[0].mlp.width = number(128);
	struct memory_job job = job_of(&m, &stack, 1, 8 * 4096);
	job.layout.cp = 8;
	memory_at(NULL, &job, 0, MOMENT_BACKWARD, &use);
	const double freed = 2 * 4096 + 4 + 2 * 4096 + 6 * 128;
	const double dummies = 2 * (6144.0 * 4096 + 4096 * 4096 + 2 * 128 * 4096 + 4096 * 128);
	ck_assert_double_eq(use.buffers, (8 * (4 * 1024 + 2 * 4096) + 4 * 4096 - freed) * 4096 + dummies);
}
END_TEST

/* Transformer Engine keeps no input of a frozen weight that has no adapter, and no gradient of its shape; where
 * MLPerf's runs compute attention in fp8, its tensors are kept so. */
START_TEST(frozen_megatron)
{
	struct stack stack = megatron_core();
	struct memory_use use;
	struct model m;

	stack.adapter_byte = number(2);
	stack.workspace_byte = number(0);
	make_model(&m, &llama3_8b);
	struct memory_job job = job_of(&m, &stack, 1, 4096);
	job.lora_rank = number(8);
	job.targets = 1u << TARGET_Q | 1u << TARGET_V;
	const double inputs = 2 * 4096 + 2 * 14336, adapters = 2 * 2 * 8;
	ck_assert_double_eq(memory_layer_saved(NULL, &job, &m.blocks[0]), 139400 - inputs + adapters);
	memory_at(NULL, &job, 0, MOMENT_BACKWARD, &use);
	ck_assert_double_eq(use.buffers, transients[0].per_token * 4096);
	job.dtype = DTYPE_FP8;
	/* the output map has no adapter: its 8-bit input is not kept either */
	const double narrow = 120968 - (4096 + 14336) - 4096 + adapters;
	ck_assert_double_eq(memory_layer_saved(NULL, &job, &m.blocks[0]), narrow);
	stack.fp8_frozen = true;
	ck_assert_double_eq(memory_layer_saved(NULL, &job, &m.blocks[0]), narrow - (2 * 4096 + 2 * 1024));
}
END_TEST

/* Bytes of one weight under quantised training: 16-bit parameters and their copies, or the copies alone. */
static const struct {
	enum dtype dtype;
	double copies;
	bool primary;
	double expect;
} elements[] = {
    {DTYPE_BF16, 2, false, 2},
    {DTYPE_FP8, 2, false, 4},
    {DTYPE_FP8, 1, false, 3},
    {DTYPE_MXFP8, 2, false, 4.0625},
    {DTYPE_NVFP4, 2, false, 3.125},
    {DTYPE_FP8, 2, true, 2},
    {DTYPE_FP8, 1, true, 1},
    {DTYPE_MXFP8, 2, true, 2.0625},
    {DTYPE_FP32, 2, false, 4},
};

START_TEST(quantised_weights)
{
	const struct stack stack = megatron_core();
	struct memory_use use;
	struct model m;

	make_model(&m, &llama3_8b);
	m.workload.vocab = number(0);
	m.workload.norms_per_layer = number(0);
	m.workload.final_norm = false;
	struct memory_job job = job_of(&m, &stack, 1, 4096);
	job.dtype = elements[_i].dtype;
	job.weight_copies = elements[_i].copies;
	job.quantised_parameters = elements[_i].primary;
	memory_at(NULL, &job, 0, MOMENT_BACKWARD, &use);
	ck_assert_double_eq(use.weights, elements[_i].expect * 32 * (218112000.0 - 2 * 4096));
}
END_TEST

/* --- published budgets of other frameworks --------------------------------------------------------------- */

/* torchtitan, Llama-3-8B on 8 H100 (benchmarks/llama3_h100_202412_torchtitan.md): 77.0 GiB compiled, 82.4 eager
 * measured. */
static const struct {
	double dp, batch;
	enum recompute recompute;
	bool compiled;
	double expect;
} titan[] = {
    {8, 2, RECOMPUTE_OP, true, 75.71},
    {8, 2, RECOMPUTE_OP, false, 80.91},
    {128, 2, RECOMPUTE_OP, true, 61.69},
    {128, 2, RECOMPUTE_OP, false, 66.89},
    {8, 4, RECOMPUTE_FULL, true, 80.05},
};

START_TEST(torchtitan)
{
	struct stack stack = plain_stack();
	struct model m;

	stack.scheme = STATES_FP32;
	stack.gradients = HELD_ALWAYS;
	stack.expanded_kv = true;
	stack.eager_policy_byte = number(2.6);
	make_model(&m, &llama3_8b);
	struct memory_job job = job_of(&m, &stack, titan[_i].batch, 8192);
	job.layout.dp = job.layout.shard = titan[_i].dp;
	job.layout.zero = 3;
	job.recompute = titan[_i].recompute;
	job.compiled = titan[_i].compiled;
	job.loss = &losses[2];
	job.context_byte = number(0.5 * GIB);
	ck_assert_double_eq_tol(memory_peak(NULL, &job, NULL) / GIB, titan[_i].expect, 0.0051);
}
END_TEST

/* torchtune's ladder on Llama-3.2-3B, peak active: 60.0, 51.0, 42.9 and 24.9 GiB measured. */
static const struct {
	bool compiled;
	int loss;
	enum recompute recompute;
	double a, b, c;
} tune[] = {
    {false, 2, RECOMPUTE_NONE, 59.672, 46.098, 23.984},
    {true, 3, RECOMPUTE_NONE, 48.551, 40.848, 23.984},
    {true, 4, RECOMPUTE_NONE, 42.680, 40.848, 23.984},
    {true, 4, RECOMPUTE_FULL, 21.222, 20.322, 23.984},
};

START_TEST(torchtune)
{
	struct stack stack = plain_stack();
	struct model m;

	stack.scheme = STATES_PURE;
	stack.gradients = HELD_ACCUMULATING;
	stack.eager_norm = true;
	make_model(&m, &llama32_3b);
	struct memory_job job = job_of(&m, &stack, 2, 4096);
	job.compiled = tune[_i].compiled;
	job.loss = &losses[tune[_i].loss];
	job.recompute = tune[_i].recompute;
	ck_assert_double_eq_tol(memory_at(NULL, &job, 0, MOMENT_LOSS, NULL) / GIB, tune[_i].a, 0.00051);
	ck_assert_double_eq_tol(memory_at(NULL, &job, 0, MOMENT_BACKWARD, NULL) / GIB, tune[_i].b, 0.00051);
	ck_assert_double_eq_tol(memory_at(NULL, &job, 0, MOMENT_STEP, NULL) / GIB, tune[_i].c, 0.00051);
}
END_TEST

static struct stack
litgpt_2023(void)
{
	struct stack s = plain_stack();

	s.lora = s.quantised_base = true;
	s.scheme = STATES_PURE;
	s.gradients = HELD_ACCUMULATING;
	s.adapter_byte = number(2);
	s.fused_qkv_adapters = s.eager_norm = s.expanded_kv = s.v_view = s.keeps_quantised_inputs = true;
	s.n_quantised_buffers = number(3);
	return s;
}

/* LitGPT, Llama-2-7B, LoRA of rank 8 on queries and values, 1304 tokens: 14.14, 13.84 and 21.30 GB measured. */
static const struct {
	enum quant quant;
	double expect_gb, tolerance;
} lora[] = {{QUANT_NF4, 14.04, 0.006}, {QUANT_NF4_DQ, 13.73, 0.006}, {QUANT_NONE, 21.82, 0.006}};

START_TEST(litgpt)
{
	const struct stack stack = litgpt_2023();
	struct memory_use use;
	struct model m;

	make_model(&m, &llama2_7b);
	struct memory_job job = job_of(&m, &stack, 1, 1304);
	job.lora_rank = number(8);
	job.targets = 1u << TARGET_Q | 1u << TARGET_V;
	job.adapter_dropout = true;
	job.quant = lora[_i].quant;
	const struct loss six = {"6", number(6)};
	job.loss = &six;
	memory_peak(NULL, &job, &use);
	ck_assert_double_eq_tol(use.total / 1e9, lora[_i].expect_gb, lora[_i].tolerance);
	if (job.quant == QUANT_NF4)
		ck_assert_double_eq(memory_layer_saved(NULL, &job, m.blocks), 223408);
}
END_TEST

/* Korthikanti et al. 2022, figure 1: states at 18 bytes and activations without and with selective recomputation and
 * sequence parallelism, GiB. */
static const struct {
	double layers, hidden, heads, tp, pp, vp, batch;
	double states, none, selective;
} figure1[] = {
    {48, 6144, 64, 8, 1, 1, 4, 45.5625, 59.25, 9.5625},
    {96, 12288, 96, 8, 8, 3, 1, 45.5625, 66.84375, 12.3515625},
    {105, 20480, 128, 8, 35, 3, 1, 31.640625, 114.0234375, 23.076171875},
    {128, 25600, 160, 8, 64, 1, 1, 32.958984375, 131.25, 26.5625},
};

START_TEST(korthikanti)
{
	const struct stack stack = megatron_2022();
	struct memory_use use;
	struct model m;

	make_gpt(&m, figure1[_i].layers, figure1[_i].hidden, figure1[_i].heads);
	struct memory_job job = job_of(&m, &stack, figure1[_i].batch, 2048);
	job.flash = false;
	job.dropout = true;
	job.layout.tp = figure1[_i].tp;
	job.layout.pp = figure1[_i].pp;
	job.layout.vp = figure1[_i].vp;
	memory_at(NULL, &job, 0, MOMENT_BACKWARD, &use);
	ck_assert_double_eq(use.activations / GIB, figure1[_i].none);
	job.layout.sp = true;
	job.recompute = RECOMPUTE_MODULES;
	job.modules = BIT(CORE_ATTN);
	memory_at(NULL, &job, 0, MOMENT_BACKWARD, &use);
	ck_assert_double_eq(use.activations / GIB, figure1[_i].selective);
	/* the paper's 12 h^2 L leaves out norms */
	m.workload.norms_per_layer = number(0);
	memory_at(NULL, &job, 0, MOMENT_BACKWARD, &use);
	ck_assert_double_eq((use.weights + use.gradients + use.optimizer) / GIB, figure1[_i].states);
}
END_TEST

/* --- states ---------------------------------------------------------------------------------------------- */

static const struct {
	int zero;
	double weights, gradients, optimizer; /* bytes per parameter over 8 ranks */
} stages[] = {{0, 2, 2, 12}, {1, 2, 2, 1.5}, {2, 2, 0.25, 1.5}, {3, 0.25, 0.25, 1.5}};

START_TEST(zero_stages)
{
	struct stack stack = plain_stack();
	struct memory_use use;
	struct model m;

	stack.scheme = STATES_MIXED;
	make_model(&m, &llama3_8b);
	struct memory_job job = job_of(&m, &stack, 1, 4096);
	job.layout.dp = job.layout.shard = 8;
	job.layout.zero = stages[_i].zero;
	memory_at(NULL, &job, 0, MOMENT_STEP, &use);
	ck_assert_double_eq(use.weights, stages[_i].weights * 8030261248.0);
	ck_assert_double_eq(use.gradients, stages[_i].gradients * 8030261248.0);
	ck_assert_double_eq(use.optimizer, stages[_i].optimizer * 8030261248.0);
	job.offload = OFFLOAD_OPTIMIZER | OFFLOAD_PARAMS;
	memory_at(NULL, &job, 0, MOMENT_STEP, &use);
	ck_assert_double_eq(use.weights + use.optimizer, 0);
}
END_TEST

/* Master and moments, bytes per parameter. */
static const struct {
	enum state_scheme scheme;
	enum dtype dtype;
	enum optimizer optimizer;
	double expect;
} optimizers[] = {
    {STATES_MIXED, DTYPE_BF16, OPTIMIZER_ADAM, 12},
    {STATES_FP32, DTYPE_BF16, OPTIMIZER_ADAM, 8},
    {STATES_PURE, DTYPE_BF16, OPTIMIZER_ADAM, 4},
    {STATES_MIXED, DTYPE_FP32, OPTIMIZER_ADAM, 8},
    {STATES_MIXED, DTYPE_BF16, OPTIMIZER_ADAM8BIT, 4 + 2 + 8 / 2048.0},
    {STATES_MIXED, DTYPE_BF16, OPTIMIZER_SGD, 4},
    {STATES_MIXED, DTYPE_BF16, OPTIMIZER_MOMENTUM, 8},
    {STATES_PURE, DTYPE_BF16, OPTIMIZER_LION, 2},
};

START_TEST(optimizer_states)
{
	struct stack stack = plain_stack();
	struct memory_use use;
	struct model m;

	make_model(&m, &llama3_8b);
	struct memory_job job = job_of(&m, &stack, 1, 4096);
	job.scheme = optimizers[_i].scheme;
	job.dtype = optimizers[_i].dtype;
	job.optimizer = optimizers[_i].optimizer;
	memory_at(NULL, &job, 0, MOMENT_STEP, &use);
	ck_assert_double_eq(use.optimizer, optimizers[_i].expect * 8030261248.0);
}
END_TEST

/* --- serving --------------------------------------------------------------------------------------------- */

/* vLLM log, Llama-2-7B on an A100 80 GB: 117 616 tokens reported; 118 240 computed by hand. */
START_TEST(vllm_pool)
{
	struct stack stack = plain_stack();
	struct model m;

	stack.use = STACK_INFER;
	stack.pool = POOL_CARD;
	stack.sampler_rows = number(256);
	stack.sampler_byte = number(41);
	make_model(&m, &llama2_7b);
	struct memory_job job = job_of(&m, &stack, 1, 4096);
	job.kv_elem_byte = 2;
	job.block_token = number(16);
	job.batch_token = number(4096);
	job.utilization = number(0.9);
	job.context_byte = number(0.6 * GIB);
	job.card_byte = number(79.15 * GIB);
	const double pool = memory_kv_pool(NULL, &job);
	ck_assert_double_eq_tol(pool / GIB, 57.738, 0.00051);
	ck_assert_double_eq(memory_pool_tokens(NULL, &job, pool), 118240);
	/* 2048 sequences, a vocabulary of 32000 and 16 bytes an entry: 0.9766 GiB less */
	stack.decoder_rows = number(2048);
	stack.decoder_byte = number(16);
	ck_assert_double_eq_tol((pool - memory_kv_pool(NULL, &job)) / GIB, 2048 * 32000 * 16.0 / GIB, 1e-9);
}
END_TEST

/* gpt-oss-120b in its own MXFP4 experts: 60.77 GiB computed from the model card, 60.8 published. */
START_TEST(mxfp4_weights)
{
	static const struct test_shape gpt_oss = {
	    36, 2880, 64, 8, 64, 0, 201088, .experts = 128, .top_k = 4, .expert_width = 2880};
	struct stack stack = plain_stack();
	struct memory_use use;
	struct model m;

	stack.use = STACK_INFER;
	make_model(&m, &gpt_oss);
	struct memory_job job = job_of(&m, &stack, 1, 4096);
	job.kv_elem_byte = 2;
	job.block_token = number(1);
	job.batch_token = datum_absent();
	memory_quantise(&job, QUANT_MXFP4);
	memory_peak(NULL, &job, &use);
	ck_assert_double_eq_tol(use.weights / GIB, 60.77, 0.1);
}
END_TEST

/* --- bare numbers ---------------------------------------------------------------------------------------- */

START_TEST(checkpointing)
{
	ck_assert_double_eq_tol(checkpoint_cost(NULL, RECOMPUTE_FULL, 1), 1 / 3.0, 1e-12);
	ck_assert_double_eq_tol(checkpoint_cost(NULL, RECOMPUTE_EVERY, 2), 1 / 6.0, 1e-12);
	ck_assert_double_eq_tol(checkpoint_cost(NULL, RECOMPUTE_EVERY, 4), 1 / 12.0, 1e-12);
	ck_assert_double_eq(checkpoint_cost(NULL, RECOMPUTE_NONE, 1), 0);
	ck_assert_double_eq_tol(checkpoint_saving(NULL, RECOMPUTE_FULL, 1, 32, 12), 8.72727272727, 1e-9);
	ck_assert_double_eq_tol(checkpoint_saving(NULL, RECOMPUTE_EVERY, 2, 32, 12), 1.84615384615, 1e-9);
	ck_assert_double_eq_tol(checkpoint_saving(NULL, RECOMPUTE_UNIFORM, 1, 32, 12), 2.82842712475, 1e-9);
}
END_TEST

START_TEST(sharing)
{
	ck_assert_double_eq(zero_pool(NULL, 8, 80e9), 640e9);
	ck_assert_double_eq(pool_params(NULL, 640e9, 16), 40e9);
	ck_assert_double_eq(micro_batch(NULL, 64, 8, 4), 2);
	ck_assert_double_eq(accumulation_steps(NULL, 1024, 1, 64), 16);
	ck_assert_double_eq(attention_matrix(NULL, 8192, 2), 128 * 1048576.0);
	ck_assert_double_eq(attention_tiled(NULL, 8192, 64, 2), 1048576);
	ck_assert_double_eq(attention_tiled(NULL, 8192, 128, 2), 2097152);
	ck_assert_double_eq_tol(memory_saving(NULL, 144e9, 128e9), 0.111111111111, 1e-9);
}
END_TEST

/* --- the verdict ----------------------------------------------------------------------------------------- */

START_TEST(verdicts)
{
	const struct stack stack = plain_stack();
	struct memory_job job = {.use = STACK_TRAIN, .stack = &stack};

	job.card_byte = number(100);
	job.headroom_frac = datum_absent();
	ck_assert_int_eq(memory_verdict(&job, 99 / 1.15), FITS);
	ck_assert_int_eq(memory_verdict(&job, 99 / 1.15 + 0.1), RISKY);
	ck_assert_int_eq(memory_verdict(&job, 99), RISKY);
	ck_assert_int_eq(memory_verdict(&job, 99.1), DOES_NOT_FIT);
	job.headroom_frac = number(0.2);
	ck_assert_int_eq(memory_verdict(&job, 80), FITS);
	ck_assert_int_eq(memory_verdict(&job, 80.1), DOES_NOT_FIT);
}
END_TEST

START_TEST(chances)
{
	struct stack stack = plain_stack();
	struct memory_job job = {.use = STACK_TRAIN, .stack = &stack};

	stack.safety = number(1.2);
	job.card_byte = number(100);
	job.headroom_frac = datum_absent();
	/* half of the peaks are above the prediction, 5 % above the safety factor */
	ck_assert_double_eq_tol(memory_chance(&job, 99), 0.5, 1e-12);
	ck_assert_double_eq_tol(memory_chance(&job, 99 / 1.2), 0.95, 1e-9);
	ck_assert_double_eq_tol(memory_chance(&job, 99 / 1.1), 0.8051, 1e-4);
	ck_assert_double_gt(memory_chance(&job, 50), 0.999999);
	/* a margin of one's own is sure */
	job.headroom_frac = number(0.2);
	ck_assert_double_eq(memory_chance(&job, 80), 1);
	ck_assert_double_eq(memory_chance(&job, 80.1), 0);
}
END_TEST

/* --- the sheet changes nothing --------------------------------------------------------------------------- */

START_TEST(same_with_a_sheet)
{
	static const struct test_shape *const shapes[] = {&llama3_8b, &qwen3_30b, &deepseek_v3};
	const struct stack core = megatron_core(), other = litgpt_2023();
	struct sheet *sh = sheet_new();

	for (int i = 0; i < 3; i++)
		for (int s = 0; s < 2; s++) {
			struct model m;
			make_model(&m, shapes[i]);
			struct memory_job job = job_of(&m, s ? &other : &core, 1, 4096);
			job.layout.zero = s ? 3 : 1;
			job.layout.dp = job.layout.shard = 8;
			const double bare = memory_peak(NULL, &job, NULL);
			ck_assert(memory_peak(sh, &job, NULL) == bare);
			sheet_clear(sh);
		}
	sheet_free(sh);
}
END_TEST

/* More of anything that shards is never worse; more tokens never better. */
START_TEST(monotone)
{
	const struct stack stack = megatron_core();
	struct model m;
	double last = 0;

	make_model(&m, &llama3_70b);
	struct memory_job job = job_of(&m, &stack, 1, 4096);
	job.layout.zero = 1;
	for (double batch = 1; batch <= 16; batch *= 2) {
		job.batch = number(batch);
		const double need = memory_peak(NULL, &job, NULL);
		ck_assert_double_gt(need, last);
		last = need;
	}
	for (double dp = 1; dp <= 64; dp *= 2) {
		job.layout.dp = job.layout.shard = dp;
		const double need = memory_peak(NULL, &job, NULL);
		ck_assert_double_le(need, last);
		last = need;
	}
	for (double tp = 1; tp <= 8; tp *= 2) {
		job.layout.tp = tp;
		job.layout.sp = tp > 1;
		const double need = memory_peak(NULL, &job, NULL);
		ck_assert_double_le(need, last);
		last = need;
	}
}
END_TEST

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
	static const enum recompute again[] = {RECOMPUTE_NONE, RECOMPUTE_MODULES, RECOMPUTE_EVERY, RECOMPUTE_FULL};
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
			job.recompute = again[n % 4];
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
	m.blocks[0].mixer = MIXER_DELTA;
	ck_assert(memory_lacks_rule(&job));
	m.blocks[0].mixer = MIXER_MAMBA;
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

Suite *memory_suite(void);

#define LOOP(test, table) tcase_add_loop_test(c, test, 0, sizeof table / sizeof *table)

Suite *
memory_suite(void)
{
	Suite *s = suite_create("memory");
	TCase *c = tcase_create("memory");

	LOOP(megatron_layers, layers);
	LOOP(megatron_hybrid_layers, hybrid_layers);
	LOOP(megatron_modules, policies);
	tcase_add_test(c, full_recompute_keeps_the_input);
	tcase_add_test(c, gpt_layer);
	tcase_add_test(c, general_layers);
	tcase_add_test(c, in_flight);
	tcase_add_test(c, stage_layers);
	tcase_add_test(c, stated_stage_layers);
	tcase_add_test(c, rank_parameters);
	tcase_add_test(c, adapter_parameters);
	tcase_add_test(c, trained_beside);
	tcase_add_test(c, sent_outputs);
	tcase_add_test(c, adapters_behind_dropout);
	tcase_add_test(c, untied_head);
	tcase_add_test(c, bounded_scores);
	LOOP(megatron_budgets, budgets);
	LOOP(megatron_transients, transients);
	tcase_add_test(c, ring_transient);
	tcase_add_test(c, frozen_megatron);
	LOOP(quantised_weights, elements);
	LOOP(torchtitan, titan);
	LOOP(torchtune, tune);
	LOOP(litgpt, lora);
	LOOP(korthikanti, figure1);
	LOOP(zero_stages, stages);
	LOOP(optimizer_states, optimizers);
	tcase_add_test(c, vllm_pool);
	tcase_add_test(c, mxfp4_weights);
	tcase_add_test(c, checkpointing);
	tcase_add_test(c, sharing);
	tcase_add_test(c, verdicts);
	tcase_add_test(c, chances);
	tcase_add_test(c, same_with_a_sheet);
	tcase_add_test(c, monotone);
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
