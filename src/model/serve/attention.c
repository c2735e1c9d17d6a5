/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What mixes tokens, of one layer and of all layers in a serving step.  KV caches always stream from memory. */
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

static bool
is_indexed(const struct attention *a)
{
	return a->indexer.dim.value > 0;
}

/* A token that decodes sees what its indexer lets through. */
static double
seen_of(const struct serve_setup *s, const struct attention *a)
{
	const double reach = reach_of(s, a), most = a->indexer.top_k.value;

	return is_indexed(a) && (!(reach > 0) || most < reach) ? most : reach;
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
	    .window_token = seen_of(s, a),
	    .unmasked = s->model->kind == MODEL_ENCODER,
	};
}

/* Kernels for latents take heads by 16.  Of other models a general one divides a cache among a few thread blocks, each
 * of which walks its part: that takes as long for one sequence as for many. */
static bool
walks_caches(const struct serve_setup *s, const struct attention *a)
{
	return datum_given(s->engine->walk_s) && fmod(a->n_heads.value, 16) != 0;
}

/* Launches around the scores: two inputs in 8 bits, the keys' norm, the rotation and what it puts back into queries and
 * keys (2), a Hadamard transform and 8 bits of both (4), their store, gates and their scale (2), then scores and choice
 * (sgl-project/sglang, nsa_indexer.py). */
static const double n_choice_kernels = 14;

/*
 * An indexer scores every key that a query may see, and selects (DeepSeek-AI, DeepSeek-V3.2, 2025, section 2.1).  It is
 * whole on every GPU.  Keys of 8 bits are multiplied in 8 bits where the GPU does so; scores leave in fp32 and are read
 * again by the selection, a kernel of its own.
 */
static double
choice_time(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_sequences, double n_queries,
    double n_cached)
{
	const struct attention *a = &b->attention;
	const struct gemm_calibration *narrow = &s->kernels->gemm[DTYPE_FP8], *wide = &s->kernels->gemm[DTYPE_BF16];
	const bool packed = a->kind != ATTENTION_HEADS;

	if (!is_indexed(a)) {
		LET(sh, no_choice_s, 0);
		return no_choice_s;
	}
	GIVEN(sh, n_sequences, n_queries, n_cached);
	TAKE(sh, ratio, a->kind == ATTENTION_CSA ? a->ratio.value : 1.0);
	CALL(sh, n_scored, scored_keys(sh, a, n_queries, n_cached, true));
	TAKE(sh, n_index_heads, a->indexer.n_heads);
	TAKE(sh, index_dim, a->indexer.dim);
	TAKE(sh, key_elem_byte, packed ? 1.0 : s->precision.kv_byte);
	TAKE(sh, scale_byte, packed ? 4 * ceil(index_dim / 128) : 0.0);
	TAKE(sh, reached_flop_per_s,
	    packed && narrow->peak_flop_per_s.value > 0 ? narrow->peak_flop_per_s : wide->peak_flop_per_s);
	TAKE(sh, mem_byte_per_s, wide->mem_byte_per_s);
	TAKE(sh, kernel_s, s->engine->elementwise_s);
	TAKE(sh, n_kernels, n_choice_kernels);
	TAKE(sh, score_byte, 8.0); /* fp32, written once and read once */
	LET(sh, n_scores, n_sequences * n_queries * n_scored);
	LET(sh, keys_byte, n_sequences * (n_cached + n_queries) / ratio * (index_dim * key_elem_byte + scale_byte));
	LET(sh, score_flop, 2 * n_scores * n_index_heads * index_dim);
	LET(sh, choice_s,
	    n_kernels * kernel_s +
	        fmax(score_flop / reached_flop_per_s, (keys_byte + score_byte * n_scores) / mem_byte_per_s));
	return choice_s;
}

/* Of a prompt, each query with the keys that it chose, by the kernel that decodes; short prompts are no slower than
 * with all their keys. */
static double
chosen_prompt(struct sheet *sh, const struct serve_setup *s, const struct block *b, const struct attention_shape *all,
    double all_s)
{
	struct attention_shape shape = *all;

	GIVEN(sh, all_s);
	TAKE(sh, n_allowed, b->attention.indexer.top_k);
	TAKE(sh, chunk, all->query_token);
	TAKE(sh, prefix, all->context_token);
	LET(sh, n_short, fmin(chunk, fmax(0, n_allowed - prefix)));
	LET(sh, n_seen, (n_short * (prefix + (n_short + 1) / 2) + (chunk - n_short) * n_allowed) / chunk);
	shape.batch = all->batch * chunk;
	shape.query_token = 1;
	shape.context_token = n_seen;
	CALL(sh, chosen_s, mla_generation(sh, &shape, &s->kernels->mla_generation, s->kernels));
	LET(sh, least_s, fmin(all_s, chosen_s));
	return least_s;
}

/* Elements of a row in the kernel for latents, 512 + 64. */
static const double LATENT_ROW = 576;

/*
 * Near tokens and compressed ones (DeepSeek-AI, DeepSeek-V4, 2026): one shared row stands for the keys and values of
 * all heads.  Nobody has published the kernel's times: as the one for latents takes for as many rows and their bytes,
 * every query with its own.
 */
static double
compressed_time(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_sequences,
    double n_queries, double n_cached)
{
	struct attention_shape shape = shape_of(s, b);
	struct layer own;
	const struct layer_state *near = &layer_of(s->model, b, &own)->state[0];

	GIVEN(sh, n_sequences, n_queries, n_cached);
	CALL(sh, n_seen, attended_keys(sh, &b->attention, n_queries, n_cached, true));
	shape.batch = n_sequences * n_queries;
	shape.query_token = 1;
	shape.context_token = n_seen;
	shape.window_token = 0;
	shape.kv_elem_byte = state_packed_byte(near) / LATENT_ROW;
	CALL(sh, rows_s, mla_generation(sh, &shape, &s->kernels->mla_generation, s->kernels));
	CALL(sh, choice_s, choice_time(sh, s, b, n_sequences, n_queries, n_cached));
	LET(sh, compressed_s, rows_s + choice_s);
	return compressed_s;
}

/* Attention of prompts in the bytes of this shape. */
static bool
is_measured(const struct serve_setup *s, const struct attention_shape *shape)
{
	const enum attention_fit fit = attention_fit_of(shape);

	return fit < N_ATTENTION_FITS && s->kernels->attention_by[fit].has_context;
}

double
serve_layer_prompt(
    struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_prompts, double chunk, double prefix)
{
	const struct engine_architecture *e = s->architecture;

	if (b->mixer != MIXER_ATTENTION)
		return serve_layer_scan(sh, s, b, n_prompts, chunk);
	GIVEN(sh, n_prompts);
	TAKE(sh, n_groups, serve_groups(s));
	/* fewer prompts than ranks: some ranks wait for the others */
	LET(sh, n_each, n_prompts / n_groups);
	LET(sh, n_full, fmax(1, n_each));
	struct attention_shape shape = shape_of(s, b);
	shape.batch = n_full;
	shape.query_token = chunk;
	shape.context_token = prefix;
	if (b->attention.kind == ATTENTION_CSA) {
		CALL(sh, compressed_s, compressed_time(sh, s, b, n_full, chunk, prefix));
		LET(sh, compressed_layer_s, compressed_s * (n_each / n_full));
		return compressed_layer_s;
	}
	shape.elem_byte = s->precision.fast_prompts ? 1 : 2;
	if (s->precision.fast_prompts && !is_measured(s, &shape)) {
		/* not measured in 8 bits: the 16-bit kernel, times this speedup */
		shape.elem_byte = 2;
		shape.rate_frac = e ? datum_or(e->fp8_attention, 1) : 1;
	}
	double full_s;
	if (attention_is_latent(&b->attention)) {
		shape.window_token = reach_of(s, &b->attention);
		shape.rate_frac = (e ? datum_or(e->latent_prompt, 1) : 1) * (shape.rate_frac > 0 ? shape.rate_frac : 1);
		CALL(sh, all_s, mla_context(sh, &shape, &s->kernels->mla_context, s->kernels));
		if (is_indexed(&b->attention))
			SET_CALL(sh, full_s, chosen_prompt(sh, s, b, &shape, all_s));
		else
			SET(sh, full_s, all_s);
	} else
		SET_CALL(sh, full_s, attention_context(sh, &shape, context_calibrated(s->kernels, &shape), s->kernels));
	CALL(sh, choice_s, choice_time(sh, s, b, n_full, chunk, prefix));
	LET(sh, layer_s, (full_s + choice_s) * (n_each / n_full));
	return layer_s;
}

double
serve_layer_cached(
    struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_running, double context)
{
	const struct engine_architecture *e = s->architecture;

	if (b->mixer != MIXER_ATTENTION)
		return serve_layer_scan(sh, s, b, n_running, 1);
	GIVEN(sh, n_running);
	TAKE(sh, n_groups, serve_groups(s));
	LET(sh, n_each, fmax(1, n_running / n_groups));
	if (b->attention.kind == ATTENTION_CSA)
		return compressed_time(sh, s, b, n_each, 1, context - 1);
	struct attention_shape shape = shape_of(s, b);
	shape.batch = n_each;
	shape.context_token = context;
	shape.stream_frac = e && shape.n_heads > shape.n_kv_heads ? datum_or(e->kv_reuse_frac, 1) : 1;
	/* the vector units read a shared prompt again for each beam, which the memory does once */
	const double core_element = datum_or(e ? e->core_element : datum_absent(), s->engine->core_element.value);
	shape.n_core_elems_per_clock =
	    s->core_attention || s->beam_token > 0 ? core_element * context / (context + s->beam_token) : 0;
	double attention_s;
	if (attention_is_latent(&b->attention) && walks_caches(s, &b->attention)) {
		FROM(sh, s->engine, walk_s);
		TAKE(sh, n_cached, context);
		CALL(sh, split_s, mla_generation(sh, &shape, &s->kernels->mla_generation, s->kernels));
		SET(sh, attention_s, fmax(split_s, n_cached * walk_s));
	} else if (attention_is_latent(&b->attention))
		SET_CALL(sh, attention_s, mla_generation(sh, &shape, &s->kernels->mla_generation, s->kernels));
	else
		SET_CALL(sh, attention_s,
		    attention_generation(sh, &shape, generation_calibrated(s->kernels, &shape), s->kernels));
	CALL(sh, choice_s, choice_time(sh, s, b, n_each, 1, context));
	LET(sh, layer_s, attention_s + choice_s);
	return layer_s;
}

/* --- all layers ------------------------------------------------------------------------------------------ */

static double
block_prompt(
    struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_prompts, double chunk, double prefix)
{
	TAKE(sh, n_layers, b->count);
	CALL(sh, layer_s, serve_layer_prompt(sh, s, b, n_prompts, chunk, prefix));
	LET(sh, block_s, n_layers * layer_s);
	return block_s;
}

static double
block_cached(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_running, double context)
{
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
