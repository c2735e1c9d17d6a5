/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Heads (Vaswani et al., NeurIPS 2017) that share keys and values in groups (Shazeer, arXiv:1911.02150; Ainslie et al.,
 * EMNLP 2023), over their own tokens or over those of an encoder.
 */
#include "model/layer/parts.h"

/* Names of the products of self-attention and of attention to an encoder. */
struct names {
	const char *query, *key_value, *core, *output;
};

/* Queries, whole or through a compressed width with a norm (Step-3).  A gate doubles their projection (Qwen3-Next). */
static void
add_queries(struct layer *l, const struct workload *w, enum layer_part part, const struct names *names)
{
	const struct attention *a = &l->block->attention;
	const struct width query = wide(a->n_heads, a->head_dim.value);
	struct width from = whole(w->hidden);
	const char *product = names->query;

	if (a->q_lora.value > 0) {
		from = add_query_compression(l, w, part)->n;
		product = "query projection";
	}
	struct layer_op *op = row_map(l, part, "queries", product, query, from);
	op->map = MAP_Q;
	op->from_latent = a->q_lora.value > 0;
	if (a->gate)
		row_map(l, part, "gate", product, query, from)->from_latent = a->q_lora.value > 0;
}

static void
add_biases(struct layer *l, const struct workload *w, enum layer_part part)
{
	const struct attention *a = &l->block->attention;
	const bool inputs = a->bias == BIAS_QKV || a->bias == BIAS_ALL;

	if (inputs) {
		row_vector(l, part, "query bias", wide(a->n_heads, a->head_dim.value * (a->gate ? 2 : 1)));
		row_vector(l, part, "key bias", wide(a->n_kv_heads, a->head_dim.value));
		if (!a->k_is_v)
			row_vector(l, part, "value bias", wide(a->n_kv_heads, value_dim_of(a)));
	}
	if (a->bias == BIAS_OUT || a->bias == BIAS_ALL)
		row_vector(l, part, "output bias", whole(w->hidden));
}

/* Gains of queries and keys: of one head's width (Qwen3), or of all heads together (OLMo 2, MiniMax-M2); sinks. */
static void
add_vectors(struct layer *l, const struct workload *w, enum layer_part part)
{
	const struct attention *a = &l->block->attention;
	const struct datum one = figure(1);

	add_biases(l, w, part);
	if (a->qk_norm) {
		row_vector(l, part, "query gains", wide(a->qk_norm_full ? a->n_heads : one, a->head_dim.value));
		row_vector(l, part, "key gains", wide(a->qk_norm_full ? a->n_kv_heads : one, a->head_dim.value));
	}
	if (a->sinks)
		row_vector(l, part, "sinks", columns(a->n_heads));
}

static void
add_cache(struct layer *l, enum layer_part part)
{
	const struct attention *a = &l->block->attention;
	const struct width width = wide(a->n_kv_heads, a->head_dim.value + value_dim_of(a));

	if (part == IN_CROSS)
		state_add(l, "keys and values of the encoder", SPAN_SOURCE, STATE_CACHE, width);
	else
		state_reaches(state_add(l, "keys and values", SPAN_TOKENS, STATE_CACHE, width), a);
}

void
describe_heads(struct layer *l, const struct workload *w, enum layer_part part)
{
	static const struct names own = {"qkv projection", "qkv projection", "attention", "output projection"},
	                          others = {"cross query projection", "cross key and value projection",
	                              "cross attention", "cross output projection"};
	const struct attention *a = &l->block->attention;
	const struct names *names = part == IN_CROSS ? &others : &own;
	const char *product = a->q_lora.value > 0 && part != IN_CROSS ? "key and value projection" : names->key_value;
	const struct width hidden = whole(w->hidden), key = wide(a->n_kv_heads, a->head_dim.value),
	                   value = wide(a->n_kv_heads, value_dim_of(a)), output = wide(a->n_heads, value_dim_of(a));

	add_cache(l, part);
	add_queries(l, w, part, names);
	struct layer_op *op = row_map(l, part, "keys", product, key, hidden);
	op->map = MAP_K;
	op->source = part == IN_CROSS;
	if (!a->k_is_v) {
		op = row_map(l, part, "values", product, value, hidden);
		op->map = MAP_V;
		op->source = part == IN_CROSS;
	}
	add_vectors(l, w, part);
	if (indexed(a))
		describe_indexer(l, w, part);
	row_add(l, part, RUNS_ATTENTION, names->core, wide(a->n_heads, a->head_dim.value), value)->source =
	    part == IN_CROSS;
	if (a->gate)
		row_add(l, part, RUNS_GATE, "attention gate", output, hidden)->inputs = 2;
	row_map(l, part, "output", names->output, hidden, output)->map = MAP_O;
}
