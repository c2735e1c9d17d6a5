/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The cache of keys and values.  Every layer keeps one key and one value per token and key/value head (Vaswani et al.,
 * NeurIPS 2017; fewer heads: Shazeer, arXiv:1911.02150, and Ainslie et al., EMNLP 2023), or one compressed latent and
 * one rotary key for all heads together (DeepSeek-AI, arXiv:2405.04434, section 2.1).  A layer that looks back over a
 * window or within a chunk never needs more tokens than that (Beltagy et al., arXiv:2004.05150), so a sequence has a
 * part that grows and one that does not.  Recurrent states and compressed tokens are in state_recurrent.c and
 * state_sparse.c.
 */
#include "model/layer/parts.h"

/* Tensor parallelism divides the heads, but every GPU keeps at least one. */
static double
heads_layer(struct sheet *sh, const struct attention *a, double kv_elem_byte, double tp)
{
	GIVEN(sh, kv_elem_byte, tp);
	/* values as wide as keys unless the file says otherwise */
	const struct datum value_width = a->v_dim.value > 0 ? a->v_dim : a->head_dim;
	FROM(sh, a, n_kv_heads, head_dim);
	TAKE(sh, v_dim, value_width);
	LET(sh, n_local_kv_heads, fmax(1, n_kv_heads / tp));
	LET(sh, layer_byte_per_token, n_local_kv_heads * (head_dim + v_dim) * kv_elem_byte);
	return layer_byte_per_token;
}

/* The latent belongs to all heads: every GPU of a tensor-parallel group keeps the whole of it.  An 8-bit cache of
 * sparse attention has rows of its own. */
static double
latent_layer(struct sheet *sh, const struct attention *a, double kv_elem_byte)
{
	GIVEN(sh, kv_elem_byte);
	if (a->indexer.dim.value > 0 && kv_elem_byte >= 1 && kv_elem_byte < 2)
		return packed_latent(sh, a);
	FROM(sh, a, kv_lora, rope);
	LET(sh, layer_byte_per_token, (kv_lora + rope) * kv_elem_byte);
	return layer_byte_per_token;
}

double
kv_layer(struct sheet *sh, const struct attention *a, double kv_elem_byte, double tp)
{
	if (a->kind == ATTENTION_CSA)
		return compressed_slope(sh, a);
	if (!(a->indexer.dim.value > 0))
		return a->kind == ATTENTION_MLA ? latent_layer(sh, a, kv_elem_byte)
		                                : heads_layer(sh, a, kv_elem_byte, tp);
	double kept_byte_per_token;
	if (a->kind == ATTENTION_MLA)
		SET_CALL(sh, kept_byte_per_token, latent_layer(sh, a, kv_elem_byte));
	else
		SET_CALL(sh, kept_byte_per_token, heads_layer(sh, a, kv_elem_byte, tp));
	CALL(sh, key_byte_per_token, indexer_key(sh, a, kv_elem_byte));
	LET(sh, layer_byte_per_token, kept_byte_per_token + key_byte_per_token);
	return layer_byte_per_token;
}

/* How far a layer looks back at most; absent for full attention. */
struct datum
kv_reach(const struct attention *a)
{
	const bool window = a->window.value > 0, chunk = a->chunk.value > 0;

	if (window && chunk)
		return a->window.value < a->chunk.value ? a->window : a->chunk;
	return window ? a->window : chunk ? a->chunk : datum_absent();
}

/* Tokens of the encoder whose keys and values the layers keep; absent: as many as the decoder has. */
static bool
source_given(const struct workload *w)
{
	return w->source_token.value > 0;
}

/* Whether a layer keeps more with every token. */
static bool
grows(const struct block *b)
{
	return b->mixer == MIXER_ATTENTION &&
	    (b->attention.kind == ATTENTION_CSA || !datum_given(kv_reach(&b->attention)));
}

double
kv_block_slope(struct sheet *sh, const struct workload *w, const struct block *b, double kv_elem_byte, double tp)
{
	GIVEN(sh, kv_elem_byte, tp);
	TAKE(sh, n_layers, b->count);
	TAKE(sh, n_caches, grows(b) + (b->cross && !source_given(w)));
	double grows_byte_per_token;
	if (n_caches > 0) {
		CALL(sh, layer_byte_per_token, kv_layer(sh, &b->attention, kv_elem_byte, tp));
		SET(sh, grows_byte_per_token, n_layers * n_caches * layer_byte_per_token);
	} else
		SET(sh, grows_byte_per_token, 0);
	return grows_byte_per_token;
}

double
kv_slope(struct sheet *sh, const struct workload *w, double kv_elem_byte, double tp)
{
	GIVEN(sh, kv_elem_byte, tp);
	SUM(sh, slope_byte_per_token, i, w->n_blocks, kv_block_slope(sh, w, &w->blocks[i], kv_elem_byte, tp));
	return slope_byte_per_token;
}

/* The full window or chunk of one layer, and the encoder's tokens. */
static double
layer_constant(struct sheet *sh, const struct workload *w, const struct block *b, double block_token,
    double kv_elem_byte, double tp)
{
	GIVEN(sh, block_token, kv_elem_byte, tp);
	const struct datum reach = kv_reach(&b->attention);
	TAKE(sh, reach_token, datum_or(reach, 0));
	TAKE(sh, source_token, b->cross && source_given(w) ? w->source_token.value : 0);
	CALL(sh, layer_byte_per_token, kv_layer(sh, &b->attention, kv_elem_byte, tp));
	LET(sh, stored_token, (ceil(reach_token / block_token) + ceil(source_token / block_token)) * block_token);
	LET(sh, layer_byte, stored_token * layer_byte_per_token);
	return layer_byte;
}

double
kv_block_constant(struct sheet *sh, const struct workload *w, const struct block *b, double block_token,
    double kv_elem_byte, double tp)
{
	GIVEN(sh, block_token, kv_elem_byte, tp);
	TAKE(sh, n_layers, b->count);
	double layer_byte;
	if (block_compresses(b))
		SET_CALL(sh, layer_byte, compressed_constant(sh, &b->attention, block_token));
	else if (b->mixer == MIXER_ATTENTION)
		SET_CALL(sh, layer_byte, layer_constant(sh, w, b, block_token, kv_elem_byte, tp));
	else
		SET_CALL(sh, layer_byte, recurrent_layer(sh, w, b, tp));
	LET(sh, constant_byte, n_layers * layer_byte);
	return constant_byte;
}

double
kv_constant(struct sheet *sh, const struct workload *w, double block_token, double kv_elem_byte, double tp)
{
	GIVEN(sh, block_token, kv_elem_byte, tp);
	SUM(sh, constant_byte, i, w->n_blocks, kv_block_constant(sh, w, &w->blocks[i], block_token, kv_elem_byte, tp));
	return constant_byte;
}

/* The decoder's own keys and values, in blocks. */
static double
own_sequence(
    struct sheet *sh, const struct block *b, double seq_token, double block_token, double kv_elem_byte, double tp)
{
	GIVEN(sh, seq_token, block_token, kv_elem_byte, tp);
	TAKE(sh, n_layers, b->count);
	CALL(sh, layer_byte_per_token, kv_layer(sh, &b->attention, kv_elem_byte, tp));
	const struct datum reach = kv_reach(&b->attention);
	double held_token;
	if (datum_given(reach)) {
		TAKE(sh, reach_token, reach);
		SET(sh, held_token, fmin(seq_token, reach_token));
	} else
		SET(sh, held_token, seq_token);
	LET(sh, n_blocks, ceil(held_token / block_token));
	LET(sh, stored_token, n_blocks * block_token);
	LET(sh, block_kv_byte, n_layers * stored_token * layer_byte_per_token);
	return block_kv_byte;
}

/* Those of the encoder's tokens beside them. */
static double
pair_sequence(struct sheet *sh, const struct workload *w, const struct block *b, double seq_token, double block_token,
    double kv_elem_byte, double tp)
{
	struct block source = *b;

	GIVEN(sh, seq_token, block_token, kv_elem_byte, tp);
	source.attention.window = source.attention.chunk = datum_absent();
	TAKE(sh, source_token, source_given(w) ? w->source_token.value : seq_token);
	CALL(sh, own_byte, own_sequence(sh, b, seq_token, block_token, kv_elem_byte, tp));
	CALL(sh, source_byte, own_sequence(sh, &source, source_token, block_token, kv_elem_byte, tp));
	LET(sh, block_kv_byte, own_byte + source_byte);
	return block_kv_byte;
}

double
kv_block_sequence(struct sheet *sh, const struct workload *w, const struct block *b, double seq_token,
    double block_token, double kv_elem_byte, double tp)
{
	if (b->mixer == MIXER_ATTENTION && !block_compresses(b))
		return b->cross ? pair_sequence(sh, w, b, seq_token, block_token, kv_elem_byte, tp)
		                : own_sequence(sh, b, seq_token, block_token, kv_elem_byte, tp);
	TAKE(sh, n_layers, b->count);
	double layer_byte;
	if (block_compresses(b))
		SET_CALL(sh, layer_byte, compressed_sequence(sh, &b->attention, seq_token, block_token));
	else
		SET_CALL(sh, layer_byte, recurrent_layer(sh, w, b, tp));
	LET(sh, block_kv_byte, n_layers * layer_byte);
	return block_kv_byte;
}

double
kv_sequence(
    struct sheet *sh, const struct workload *w, double seq_token, double block_token, double kv_elem_byte, double tp)
{
	GIVEN(sh, seq_token, block_token, kv_elem_byte, tp);
	SUM(sh, sequence_byte, i, w->n_blocks,
	    kv_block_sequence(sh, w, &w->blocks[i], seq_token, block_token, kv_elem_byte, tp));
	return sequence_byte;
}

/* What an engine sets aside before it admits a sequence: a layer with a window must hold the tokens of one step and
 * those that the first of them sees.  vLLM v1, SlidingWindowSpec and ChunkedLocalAttentionSpec. */
static double
block_admission(struct sheet *sh, const struct workload *w, const struct block *b, const struct kv_admission *at,
    double kv_elem_byte, double tp)
{
	GIVEN(sh, kv_elem_byte, tp);
	FROM(sh, at, seq_token, step_token, block_token);
	TAKE(sh, window_token,
	    b->attention.window.value > 0 ? b->attention.window.value - 1 : datum_or(b->attention.chunk, 0));
	TAKE(sh, n_spare_blocks, b->attention.window.value > 0 ? 1.0 : 0.0);
	TAKE(sh, n_layers, b->count);
	CALL(sh, layer_byte_per_token, kv_layer(sh, &b->attention, kv_elem_byte, tp));
	LET(sh, held_token, fmin(window_token + step_token, seq_token));
	LET(sh, n_blocks, ceil(held_token / block_token) + n_spare_blocks);
	LET(sh, block_kv_byte, n_layers * n_blocks * block_token * layer_byte_per_token);
	(void)w;
	return block_kv_byte;
}

static double
block_admitted(struct sheet *sh, const struct workload *w, const struct block *b, const struct kv_admission *at,
    double kv_elem_byte, double tp)
{
	if (b->mixer == MIXER_ATTENTION && b->attention.kind != ATTENTION_CSA && datum_given(kv_reach(&b->attention)))
		return block_admission(sh, w, b, at, kv_elem_byte, tp);
	return kv_block_sequence(sh, w, b, at->seq_token, at->block_token, kv_elem_byte, tp);
}

double
kv_admitted(struct sheet *sh, const struct workload *w, const struct kv_admission *at, double kv_elem_byte, double tp)
{
	GIVEN(sh, kv_elem_byte, tp);
	SUM(sh, admitted_byte, i, w->n_blocks, block_admitted(sh, w, &w->blocks[i], at, kv_elem_byte, tp));
	return admitted_byte;
}
