/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models, frameworks and jobs for tests of memory, with the constants that the check vectors were printed beside. */
#ifndef RIDGE_TESTS_UNIT_MEMORY_SCENE_H
#define RIDGE_TESTS_UNIT_MEMORY_SCENE_H

#include "model/memory/memory.h"

#define GIB 1073741824.0

static inline struct datum
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

static inline struct attention
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

static inline void
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
	w->n_positions = w->n_token_types = w->context = w->n_classes = w->n_mtp_modules = datum_absent();
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

static inline struct stack
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

static inline struct stack
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

static inline struct stack
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

static inline struct memory_job
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

#define BIT(m) (1u << MODULE_##m)

/* Korthikanti et al., arXiv:2205.05198: 34 h + 5 a s for GPT-3 175B is 114 h, with tensor parallelism 10 h + 24 h / t +
 * 5 a s / t, with sequence parallelism all of it / t. */
static inline void
make_gpt(struct model *m, double layers_, double hidden, double heads)
{
	const struct test_shape gpt = {layers_, hidden, heads, heads, hidden / heads, 4 * hidden, 0, .qk_norm = false};

	make_model(m, &gpt);
	m->blocks[0].mlp.gated = false;
	m->workload.norm = NORM_LAYER;
	m->workload.final_norm = false;
	m->workload.norms_per_layer = number(2);
}

static inline struct stack
megatron_2022(void)
{
	struct stack s = plain_stack();

	s.scheme = STATES_MIXED;
	s.gradient_byte = number(4);
	s.gradients = HELD_ALWAYS;
	s.fused_activation = true;
	return s;
}

/* Each row of a table. */
#define LOOP(test, table) tcase_add_loop_test(c, test, 0, sizeof table / sizeof *table)

#endif
