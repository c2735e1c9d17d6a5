/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Conditions under which serving predictions are unreliable, each from published runs with larger errors.  Without any
 * of them 98 % of 1264 published rows were within 20 %; with one of the warnings 78 % of 537.
 */
#include "search/plan/plan.h"

#include <string.h>

struct judged {
	const struct serve_question *q;
	const struct serve_metrics *m;
	const struct serve_setup *s;
	const struct block *experts; /* the first block with experts, or NULL */
	double isl, osl;
};

static bool
is_engine(const struct judged *j, const char *prefix)
{
	return strncmp(j->s->engine->id, prefix, strlen(prefix)) == 0;
}

static bool
is_architecture(const struct judged *j, const char *prefix)
{
	const char *a = j->q->gpu->architecture;

	return a && strncmp(a, prefix, strlen(prefix)) == 0;
}

static bool
has_hbm(const struct judged *j)
{
	return j->q->gpu->mem_type && strncmp(j->q->gpu->mem_type, "HBM", 3) == 0;
}

static bool
is_batched(const struct judged *j)
{
	return j->q->regime == SERVE_OFFLINE || j->q->regime == SERVE_CLOSED || j->q->regime == SERVE_ONLINE;
}

const double plan_unproven_frac = 0.10;

bool
serve_is_untried(const struct serve_setup *s, const struct gpu *gpu)
{
	const char *engine = s->engine->id;

	return s->layout.pp > 1 &&
	    (text_begins(engine, "vllm") || text_begins(engine, "sglang") ||
	        (text_begins(engine, "trtllm") && gpu->mem_type && text_begins(gpu->mem_type, "HBM")));
}

static const struct attention *
first_attention(const struct judged *j)
{
	return &j->s->model->blocks[0].attention;
}

static bool
refused_engine(const struct judged *j)
{
	return j->s->engine->refused != NULL;
}

static bool
warned_engine(const struct judged *j)
{
	return j->s->engine->warning != NULL;
}

static bool
starved(const struct judged *j)
{
	return is_batched(j) && j->m->weight_byte >= 0.8 * j->s->mem_byte.value;
}

static bool
hbm_over_pcie(const struct judged *j)
{
	return has_hbm(j) && !j->s->links.linked && (j->s->layout.tp == 2 || j->s->layout.tp == 8);
}

static bool
wide_experts_on_ampere(const struct judged *j)
{
	return j->experts && is_architecture(j, "ampere") && j->s->precision.experts.w_byte >= 2;
}

static bool
chunked_attention(const struct judged *j)
{
	return is_engine(j, "trtllm-0.2") && datum_given(first_attention(j)->chunk);
}

static bool
mxfp4_unpacked(const struct judged *j)
{
	const struct serve_format *f = &j->s->precision.experts;

	return j->experts && f->w_byte < 0.55 && f->w_byte > 0.5 && f->a_byte >= 2;
}

static bool
block_scales_on_hopper(const struct judged *j)
{
	return j->experts && j->s->precision.experts.type == DTYPE_FP8_BLOCK && j->s->layout.attention_dp &&
	    is_architecture(j, "hopper");
}

static bool
llama4_in_fp4(const struct judged *j)
{
	return j->experts && j->s->precision.experts.type == DTYPE_NVFP4 && j->experts->moe.top_k.value == 1 &&
	    is_architecture(j, "blackwell") && has_hbm(j);
}

static bool
short_pipeline(const struct judged *j)
{
	return j->s->layout.pp > 1 &&
	    ((is_batched(j) && j->isl + j->osl <= 256) || (j->q->regime == SERVE_STATIC && j->q->n_batch >= 128));
}

static bool
unseen_pipeline(const struct judged *j)
{
	return is_batched(j) && serve_is_untried(j->s, j->q->gpu);
}

static bool
old_on_many(const struct judged *j)
{
	return is_engine(j, "trtllm-0.14") && j->s->layout.tp == 8 && is_architecture(j, "hopper");
}

static double
judged_encoder_params(const struct judged *j)
{
	return j->m->weight_byte / j->s->precision.mlp.w_byte;
}

static bool
large_encoder(const struct judged *j)
{
	return j->q->regime == SERVE_ENCODE && judged_encoder_params(j) > 1e9;
}

static bool
unfused_on_many(const struct judged *j)
{
	return (j->q->regime == SERVE_PROMPT || j->q->regime == SERVE_STATIC) && is_engine(j, "llama.cpp") &&
	    (j->s->layout.pp > 1 || strcmp(j->q->gpu->id, "a40") == 0) && j->q->regime == SERVE_PROMPT;
}

static bool
many_heads_first(const struct judged *j)
{
	const struct attention *a = first_attention(j);

	return j->q->regime == SERVE_PROMPT && a->kind == ATTENTION_HEADS &&
	    a->n_heads.value > 16 * a->n_kv_heads.value;
}

static bool
few_latent(const struct judged *j)
{
	return attention_is_latent(first_attention(j)) && j->m->n_running <= 8 && j->q->regime != SERVE_PROMPT;
}

/* What the engine sets aside follows from a trial step as long as the longest request that is allowed: 70 billion
 * parameters with contexts of 4096 and 8192 are 5 to 30 % off, Llama 3.1 with 131072 by up to 200 %. */
static bool
unknown_reserve(const struct judged *j)
{
	return (is_engine(j, "vllm-0.6") || is_engine(j, "vllm-2023")) && is_batched(j) &&
	    datum_or(j->s->model->context, 0) > 32768 && j->m->weight_byte >= 0.6 * j->s->mem_byte.value;
}

static bool
many_nodes(const struct judged *j)
{
	return j->s->layout.tp > 8;
}

static bool
windowed(const struct judged *j)
{
	const struct workload *w = j->s->model;

	for (int i = 0; i < w->n_blocks; i++)
		if (datum_given(w->blocks[i].attention.window) && w->blocks[i].attention.kind != ATTENTION_CSA &&
		    is_batched(j))
			return true;
	return false;
}

static bool
chooses_keys(const struct judged *j)
{
	const struct workload *w = j->s->model;

	for (int i = 0; i < w->n_blocks; i++)
		if (w->blocks[i].attention.indexer.dim.value > 0)
			return true;
	return false;
}

static const struct {
	enum serve_trust trust;
	bool (*holds)(const struct judged *j);
	const char *reason; /* NULL: the engine's own words */
} predicates[] = {
    {SERVE_REFUSED, refused_engine, NULL},
    {SERVE_REFUSED, unknown_reserve,
        "weights fill 60 % of memory and contexts are long: this release gave the KV cache a half to a third of the "
        "free memory"},
    {SERVE_WARNED, warned_engine, NULL},
    {SERVE_WARNED, starved, "weights fill 80 % of memory: the number of running sequences depends on small reserves"},
    {SERVE_WARNED, hbm_over_pcie, "tp 2 or 8 over PCIe: hosts differ by up to 1.8 times"},
    {SERVE_WARNED, wide_experts_on_ampere, "16-bit experts on Ampere: grouped kernels of 2024 differ widely"},
    {SERVE_WARNED, chunked_attention, "chunked attention ran on an unfinished kernel in this release"},
    {SERVE_WARNED, mxfp4_unpacked,
        "mxfp4 experts with 16-bit activations: one of the two kernels is slow at large batch"},
    {SERVE_WARNED, block_scales_on_hopper, "block-scaled experts with data-parallel attention: releases differ"},
    {SERVE_WARNED, llama4_in_fp4, "one expert per token in nvfp4: releases differ by up to 2 times"},
    {SERVE_WARNED, short_pipeline, "pipeline stages with short requests or large batches: bubbles are not modeled"},
    {SERVE_WARNED, unseen_pipeline, "no published run of this engine on such GPUs has pipeline stages"},
    {SERVE_WARNED, old_on_many, "more than 1000 running sequences on 8 GPUs: slower in this release"},
    {SERVE_WARNED, large_encoder, "encoder of more than 1e9 parameters: published runs do not give input lengths"},
    {SERVE_WARNED, unfused_on_many, "prefill over several GPUs, or on A40: published rates scatter"},
    {SERVE_WARNED, many_heads_first, "more than 16 query heads per KV head: prefill was up to 20 % off"},
    {SERVE_WARNED, few_latent, "MLA at small batch: gaps between small kernels cost another 20 to 40 %"},
    {SERVE_WARNED, many_nodes, "tp above 8: collectives were fitted to 8 GPUs, and few published runs have more"},
    {SERVE_WARNED, windowed, "sliding-window layers counted with a full KV cache"},
    {SERVE_WARNED, chooses_keys, "an indexer chooses keys: no published run was compared with such a model"},
};

struct serve_judgement
serve_judge(const struct serve_question *q, const struct serve_metrics *m)
{
	struct judged j = {q, m, q->setup, NULL, q->load.isl, q->load.osl};
	struct serve_judgement out = {SERVE_TRUSTED, 0, {NULL}};

	for (int i = 0; i < q->setup->model->n_blocks && !j.experts; i++)
		if (q->setup->model->blocks[i].moe.given)
			j.experts = &q->setup->model->blocks[i];
	for (size_t i = 0; i < sizeof predicates / sizeof *predicates; i++) {
		if (!predicates[i].holds(&j) || out.n == SERVE_MOST_REASONS)
			continue;
		out.trust = predicates[i].trust > out.trust ? predicates[i].trust : out.trust;
		out.reasons[out.n++] = predicates[i].reason ? predicates[i].reason
		    : predicates[i].trust == SERVE_REFUSED  ? q->setup->engine->refused
		                                            : q->setup->engine->warning;
	}
	return out;
}
