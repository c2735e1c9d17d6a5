/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attention of one layer and of all layers in a serving step.  KV caches always stream from memory. */
#include "model/serve/parts.h"

#include "model/kernel/kernel.h"

/* Tokens that a layer looks back; 0: all of them.  An engine without a rule for chunks reads everything. */
static double
reach_of(const struct serve_setup *s, const struct attention *a)
{
	if (datum_given(a->window))
		return a->window.value;
	return s->engine->core_attention == CORE_CHUNKED ? 0 : datum_or(a->chunk, 0);
}

/* One GPU's heads; how far back they look. */
static struct attention_shape
shape_of(const struct serve_setup *s, const struct block *b)
{
	const struct attention *a = &b->attention;
	const double shards = serve_shards(s), n_kv = datum_or(a->n_kv_heads, 1) / shards;

	return (struct attention_shape){
	    .n_heads = a->n_heads.value / shards,
	    .n_kv_heads = n_kv < 1 ? 1 : n_kv,
	    .head_dim = datum_or(a->head_dim, 0),
	    .elem_byte = 2,
	    .kv_elem_byte = s->precision.kv_byte,
	    .cold = true,
	    .window_token = reach_of(s, a),
	    .unmasked = s->model->kind == MODEL_ENCODER,
	};
}

double
serve_layer_prompt(
    struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_prompts, double chunk, double prefix)
{
	const struct engine_architecture *e = s->architecture;

	GIVEN(sh, n_prompts);
	TAKE(sh, n_groups, serve_groups(s));
	/* fewer prompts than ranks: some ranks wait for the others */
	LET(sh, n_each, n_prompts / n_groups);
	LET(sh, n_full, fmax(1, n_each));
	struct attention_shape shape = shape_of(s, b);
	shape.batch = n_full;
	shape.query_token = chunk;
	shape.context_token = prefix;
	shape.elem_byte = s->precision.fast_prompts ? 1 : 2;
	const enum attention_fit fit = attention_fit_of(&shape);
	if (s->precision.fast_prompts && !(fit < N_ATTENTION_FITS && s->kernels->attention_by[fit].has_context)) {
		/* not measured in 8 bits: the 16-bit kernel, times this speedup */
		shape.elem_byte = 2;
		shape.rate_frac = e ? datum_or(e->fp8_attention, 1) : 1;
	}
	double full_s;
	if (attention_is_latent(&b->attention))
		SET_CALL(sh, full_s, mla_context(sh, &shape, &s->kernels->mla_context, s->kernels));
	else
		SET_CALL(sh, full_s, attention_context(sh, &shape, context_calibrated(s->kernels, &shape), s->kernels));
	LET(sh, layer_s, full_s * (n_each / n_full));
	return layer_s;
}

double
serve_layer_cached(
    struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_running, double context)
{
	const struct engine_architecture *e = s->architecture;

	GIVEN(sh, n_running);
	TAKE(sh, n_groups, serve_groups(s));
	LET(sh, n_each, fmax(1, n_running / n_groups));
	struct attention_shape shape = shape_of(s, b);
	shape.batch = n_each;
	shape.context_token = context;
	shape.stream_frac = e && shape.n_heads > shape.n_kv_heads ? datum_or(e->kv_reuse_frac, 1) : 1;
	shape.n_core_elems_per_clock = s->core_attention ? s->engine->core_element.value : 0;
	double layer_s;
	if (attention_is_latent(&b->attention))
		SET_CALL(sh, layer_s, mla_generation(sh, &shape, &s->kernels->mla_generation, s->kernels));
	else
		SET_CALL(sh, layer_s,
		    attention_generation(sh, &shape, generation_calibrated(s->kernels, &shape), s->kernels));
	return layer_s;
}

/* --- all layers ------------------------------------------------------------------------------------------ */

static double
block_prompt(
    struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_prompts, double chunk, double prefix)
{
	if (b->mixer != MIXER_ATTENTION) {
		LET(sh, no_attention_s, 0);
		return no_attention_s;
	}
	TAKE(sh, n_layers, b->count);
	CALL(sh, layer_s, serve_layer_prompt(sh, s, b, n_prompts, chunk, prefix));
	LET(sh, block_s, n_layers * layer_s);
	return block_s;
}

static double
block_cached(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_running, double context)
{
	if (b->mixer != MIXER_ATTENTION) {
		LET(sh, no_attention_s, 0);
		return no_attention_s;
	}
	TAKE(sh, n_layers, b->count);
	CALL(sh, layer_s, serve_layer_cached(sh, s, b, n_running, context));
	LET(sh, block_s, n_layers * layer_s);
	return block_s;
}

double
serve_prompt_attention(struct sheet *sh, const struct serve_setup *s, double n_prompts, double chunk, double prefix)
{
	GIVEN(sh, n_prompts);
	if (!(n_prompts > 0) || !(chunk > 0)) {
		LET(sh, no_prompt_s, 0);
		return no_prompt_s;
	}
	SUM(sh, prompts_s, i, s->model->n_blocks, block_prompt(sh, s, &s->model->blocks[i], n_prompts, chunk, prefix));
	return prompts_s;
}

double
serve_cached_attention(struct sheet *sh, const struct serve_setup *s, double n_running, double context)
{
	GIVEN(sh, n_running);
	if (!(n_running > 0)) {
		LET(sh, no_running_s, 0);
		return no_running_s;
	}
	SUM(sh, running_s, i, s->model->n_blocks, block_cached(sh, s, &s->model->blocks[i], n_running, context));
	return running_s;
}
