/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attention as operators: heads, a latent for all of them, compressed tokens, and the tokens of an encoder. */
#include "model/layer/parts.h"

/* Keys that must be read: those that any new query can see. */
static double
reachable_keys(const struct attention *a, const struct shape *x)
{
	double n = x->n_cached + x->n_new;

	if (a->window.value > 0)
		n = fmin(n, a->window.value + x->n_new - 1);
	if (a->chunk.value > 0)
		n = fmin(n, a->chunk.value + x->n_new - 1);
	if (indexed(a) && x->n_new == 1)
		n = fmin(n, a->indexer.top_k.value);
	return n;
}

/* Scores, softmax and weighted sum of heads; d is the width of queries and keys, dv of values. */
static void
add_core(struct list *l, const struct attention *a, double heads, double kv_heads, double d, double dv)
{
	const struct shape *x = l->x;
	const double keys = reachable_keys(a, x);
	const double seen = chosen_keys(NULL, a, x->n_new, x->n_cached, l->causal);

	if (!x->unfused) {
		ADD(l, OP_attention, "attention", x->batch, heads, x->n_new, keys, d, kv_heads, dv, seen);
		return;
	}
	ADD(l, OP_scores, "attention scores", x->batch, heads, x->n_new, keys, d, kv_heads);
	ADD(l, OP_softmax, "softmax", x->batch * heads * x->n_new, keys);
	ADD(l, OP_values, "attention values", x->batch, heads, x->n_new, keys, dv, kv_heads);
}

/* An indexer scores every token that a query may see; its queries come from the compressed ones where there are such.
 */
static void
add_indexer(struct list *l, const struct attention *a)
{
	const struct shape *x = l->x;
	const double hidden = l->w->hidden.value, heads = a->indexer.n_heads.value, d = a->indexer.dim.value;
	const double width = a->q_lora.value > 0 ? a->q_lora.value : hidden;
	const double seen = seen_keys(NULL, a, x->n_new, x->n_cached, l->causal);

	ADD(l, OP_gemm, "index queries", l->tokens, heads * d, width);
	ADD(l, OP_gemm, "index key and weights", l->tokens, d + heads, hidden);
	ADD(l, OP_index_scores, "index scores", x->batch, heads, x->n_new, x->n_cached + x->n_new, d, seen);
}

/* Queries through a compressed width. */
static void
add_compressed_query(struct list *l, const struct attention *a, double width)
{
	ADD(l, OP_gemm, "query compression", l->tokens, a->q_lora.value, l->w->hidden.value);
	list_norm(l, "query norm", l->tokens, a->q_lora.value, 1);
	ADD(l, OP_gemm, "query projection", l->tokens, width, a->q_lora.value);
}

static void
add_heads(struct list *l, const struct attention *a)
{
	const double tp = l->x->tp, hidden = l->w->hidden.value, d = a->head_dim.value, dv = value_dim_of(a);
	const double heads = a->n_heads.value / tp, kv_heads = fmax(1, a->n_kv_heads.value / tp);
	const double query = heads * d * (a->gate ? 2 : 1), kv = kv_heads * (a->k_is_v ? d : d + dv);

	if (a->q_lora.value > 0) {
		add_compressed_query(l, a, query);
		ADD(l, OP_gemm, "key and value projection", l->tokens, kv, hidden);
	} else
		ADD(l, OP_gemm, "qkv projection", l->tokens, query + kv, hidden);
	if (indexed(a))
		add_indexer(l, a);
	add_core(l, a, heads, kv_heads, d, dv);
	if (a->gate)
		list_gate(l, "attention gate", l->tokens * heads * dv, true);
	ADD(l, OP_gemm, "output projection", l->tokens, hidden, heads * dv);
}

/* Over the compressed cache: the up-projections go into queries and outputs.  DeepSeek-AI, arXiv:2405.04434, section
 * 2.1.2 and appendix B. */
static void
add_absorbed(struct list *l, const struct attention *a, double heads)
{
	const struct shape *x = l->x;
	const double keys = reachable_keys(a, x), latent = a->kv_lora.value;
	const double seen = indexed(a) ? chosen_keys(NULL, a, x->n_new, x->n_cached, l->causal) : keys;

	ADD(l, OP_bmm, "queries into the latent", heads, l->tokens, latent, a->nope.value);
	ADD(l, OP_attention_latent, "attention", x->batch, heads, x->n_new, keys, latent, a->rope.value, seen);
	ADD(l, OP_bmm, "latent into values", heads, l->tokens, a->v_dim.value, latent);
}

/* Decode reads the compressed cache, and so does sparse attention always; elsewhere keys and values are made whole. */
static void
add_latent(struct list *l, const struct attention *a)
{
	const struct shape *x = l->x;
	const double hidden = l->w->hidden.value, heads = a->n_heads.value / x->tp, latent = a->kv_lora.value;
	const double nope = a->nope.value, rope = a->rope.value, v_dim = a->v_dim.value, query = heads * (nope + rope);

	if (a->q_lora.value > 0)
		add_compressed_query(l, a, query);
	else
		ADD(l, OP_gemm, "query projection", l->tokens, query, hidden);
	ADD(l, OP_gemm, "key and value compression", l->tokens, latent + rope, hidden);
	list_norm(l, "latent norm", l->tokens, latent, 1);
	if (indexed(a))
		add_indexer(l, a);
	if (x->phase == PHASE_DECODE || indexed(a))
		add_absorbed(l, a, heads);
	else {
		/* tokens that were cached are compressed: they must be expanded too */
		const double tokens = x->batch * (x->n_new + x->n_cached);
		ADD(l, OP_gemm, "key and value expansion", tokens, heads * (nope + v_dim), latent);
		add_core(l, a, heads, heads, nope + rope, v_dim);
	}
	if (a->gate) {
		ADD(l, OP_gemm, "gate projection", l->tokens, heads * v_dim, hidden);
		list_gate(l, "attention gate", l->tokens * heads * v_dim, true);
	}
	ADD(l, OP_gemm, "output projection", l->tokens, hidden, heads * v_dim);
}

/* A compressor weighs the tokens of a stretch by a softmax and adds them up; stretches overlap where the ratio is 4. */
static void
add_compressor(struct list *l, const char *map, const char *sum, const struct attention *a, double width)
{
	const double both = a->ratio.value == 4 ? 2 * width : width;

	ADD(l, OP_gemm, map, l->tokens, 2 * both, l->w->hidden.value);
	ADD(l, OP_elementwise, sum, l->tokens * both, 2, 1 / a->ratio.value, 7);
}

/* One shared row of head_dim for keys and values: near tokens as they are, far ones compressed, chosen by an indexer
 * where they are many.  DeepSeek-V4 technical report, 2026. */
static void
add_compressed(struct list *l, const struct attention *a)
{
	const struct shape *x = l->x;
	const double hidden = l->w->hidden.value, heads = a->n_heads.value / x->tp, d = a->head_dim.value;
	const double groups = share_of(a->o_groups.value, x->tp), ratio = a->ratio.value;
	double keys = reachable_keys(&(struct attention){.window = a->window}, x);
	double seen = seen_keys(NULL, a, x->n_new, x->n_cached, true);

	add_compressed_query(l, a, heads * d);
	ADD(l, OP_gemm, "key projection", l->tokens, d, hidden);
	list_norm(l, "key norm", l->tokens, d, 1);
	if (ratio > 0) {
		const double far = floor((x->n_cached + x->n_new) / ratio);
		const double chosen = compressed_chosen(NULL, a, x->n_new, x->n_cached);
		add_compressor(l, "compression", "compressed tokens", a, d);
		keys += x->n_new == 1 ? fmin(far, ceil(chosen)) : far;
		seen += chosen;
		if (ratio == 4) {
			ADD(l, OP_gemm, "index queries", l->tokens, a->indexer.n_heads.value * a->indexer.dim.value,
			    a->q_lora.value);
			ADD(l, OP_gemm, "index weights", l->tokens, a->indexer.n_heads.value, hidden);
			add_compressor(l, "index compression", "compressed index keys", a, a->indexer.dim.value);
			ADD(l, OP_index_scores, "index scores", x->batch, a->indexer.n_heads.value, x->n_new, far,
			    a->indexer.dim.value, compressed_keys(NULL, a, x->n_new, x->n_cached));
		}
	}
	ADD(l, OP_attention_latent, "attention", x->batch, heads, x->n_new, keys, d, 0, seen);
	ADD(l, OP_bmm, "output groups", groups, l->tokens, a->o_lora.value, heads * d / groups);
	ADD(l, OP_gemm, "output projection", l->tokens, hidden, groups * a->o_lora.value);
}

void
expand_attention(struct list *l, const struct attention *a)
{
	switch (a->kind) {
	case ATTENTION_HEADS:
		add_heads(l, a);
		break;
	case ATTENTION_MLA:
		add_latent(l, a);
		break;
	case ATTENTION_CSA:
		add_compressed(l, a);
		break;
	}
}

/* Queries of the decoder, keys and values of the encoder's tokens, which all can be seen. */
void
expand_cross(struct list *l, const struct attention *a)
{
	const struct shape *x = l->x;
	const double hidden = l->w->hidden.value, d = a->head_dim.value, dv = value_dim_of(a);
	const double heads = a->n_heads.value / x->tp, kv_heads = fmax(1, a->n_kv_heads.value / x->tp);

	ADD(l, OP_gemm, "cross query projection", l->tokens, heads * d, hidden);
	if (l->fresh_source)
		ADD(l, OP_gemm, "cross key and value projection", x->batch * l->source, kv_heads * (d + dv), hidden);
	if (x->unfused) {
		ADD(l, OP_scores, "cross attention scores", x->batch, heads, x->n_new, l->source, d, kv_heads);
		ADD(l, OP_softmax, "cross softmax", x->batch * heads * x->n_new, l->source);
		ADD(l, OP_values, "cross attention values", x->batch, heads, x->n_new, l->source, dv, kv_heads);
	} else
		ADD(l, OP_attention, "cross attention", x->batch, heads, x->n_new, l->source, d, kv_heads, dv,
		    l->source);
	ADD(l, OP_gemm, "cross output projection", l->tokens, hidden, heads * dv);
}
