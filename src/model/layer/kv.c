/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is kept of a sequence, as folds over the states of its layers (describe.c).  A layer that looks back over a
 * window or within a chunk never needs more tokens than that (Beltagy et al., arXiv:2004.05150), recurrent states are
 * of one size: a sequence has a part that grows and one that does not.
 */
#include "model/layer/parts.h"

/* Tokens a layer looks back at most; absent for full attention. */
struct datum
kv_reach(const struct attention *a)
{
	const bool window = a->window.value > 0, chunk = a->chunk.value > 0;

	if (window && chunk)
		return a->window.value < a->chunk.value ? a->window : a->chunk;
	return window ? a->window : chunk ? a->chunk : datum_absent();
}

/* --- one row of a state ---------------------------------------------------------------------------------- */

/* Rows of mixed types: compressed tokens, 8-bit keys of indexers, and latents of sparse attention in an 8-bit cache. */
static bool
is_packed(const struct layer_state *s, double kv_elem_byte)
{
	return s->packed || (s->n_8 > 0 && kv_elem_byte >= 1 && kv_elem_byte < 2);
}

static double
elem_byte_of(const struct workload *w, enum state_type type, double kv_elem_byte)
{
	switch (type) {
	case STATE_CACHE:
		return kv_elem_byte;
	case STATE_HALF:
		return 2;
	case STATE_FLOAT:
		return 4;
	default:
		return state_elem_byte(w);
	}
}

static double
row_byte(struct sheet *sh, const struct workload *w, const struct layer_state *s, double kv_elem_byte, double tp)
{
	GIVEN(sh, kv_elem_byte, tp);
	if (is_packed(s, kv_elem_byte)) {
		FROM(sh, s, n_8, n_16, scale_byte);
		TAKE(sh, narrow_byte, 1.0);
		TAKE(sh, wide_byte, 2.0);
		LET(sh, packed_byte, n_8 * narrow_byte + n_16 * wide_byte + scale_byte);
		return packed_byte;
	}
	TAKE(sh, n_units, s->width.units);
	TAKE(sh, unit_size, s->width.size);
	TAKE(sh, n_rows, s->rows);
	TAKE(sh, elem_byte, elem_byte_of(w, s->type, kv_elem_byte));
	/* every GPU keeps at least one head */
	EITHER(sh, n_local, s->width.whole, n_units, fmax(1, n_units / tp));
	LET(sh, kept_byte, n_local * unit_size * n_rows * elem_byte);
	return kept_byte;
}

/* --- which states ---------------------------------------------------------------------------------------- */

/* Tokens of the encoder whose keys and values the layers keep; absent: as many as the decoder has. */
static bool
source_given(const struct workload *w)
{
	return w->source_token.value > 0;
}

typedef bool chosen_fn(const struct workload *w, const struct layer_state *s);

static bool
grows(const struct workload *w, const struct layer_state *s)
{
	return s->span == SPAN_TOKENS || (s->span == SPAN_SOURCE && !source_given(w));
}

static bool
stays(const struct workload *w, const struct layer_state *s)
{
	return !grows(w, s);
}

static bool
any(const struct workload *w, const struct layer_state *s)
{
	(void)w;
	(void)s;
	return true;
}

/* Rows of the layer's own tokens, however few are held. */
static bool
has_tokens(const struct workload *w, const struct layer_state *s)
{
	(void)w;
	return s->span == SPAN_TOKENS || s->span == SPAN_WINDOW || s->span == SPAN_CHUNK;
}

/* Matrices of recurrences and the tokens of their convolutions; compressors are part of attention. */
static bool
recurs(const struct workload *w, const struct layer_state *s)
{
	(void)w;
	return s->span == SPAN_SEQUENCE && s->type != STATE_FLOAT;
}

/* The states of a block that are chosen; `own` holds them where the block was not described before. */
static int
choose(const struct workload *w, const struct block *b, chosen_fn *chosen, struct layer *own,
    const struct layer_state *out[LAYER_STATES])
{
	const struct layer *l = layer_of(w, b, own);
	int n = 0;

	for (int i = 0; i < l->n_states; i++)
		if (chosen(w, &l->state[i]))
			out[n++] = &l->state[i];
	return n;
}

/* --- bytes of a token ------------------------------------------------------------------------------------ */

static double
token_byte(struct sheet *sh, const struct workload *w, const struct layer_state *s, double kv_elem_byte, double tp)
{
	sheet_title(sh, s->title);
	CALL(sh, row_byte_per_token, row_byte(sh, w, s, kv_elem_byte, tp));
	TAKE(sh, ratio, s->ratio);
	LET(sh, state_byte_per_token, row_byte_per_token / ratio);
	return state_byte_per_token;
}

static double
tokens_bytes(struct sheet *sh, const struct workload *w, const struct block *b, chosen_fn *chosen, double kv_elem_byte,
    double tp)
{
	struct layer own;
	const struct layer_state *states[LAYER_STATES];
	const int n = choose(w, b, chosen, &own, states);

	SUM(sh, layer_byte_per_token, i, n, token_byte(sh, w, states[i], kv_elem_byte, tp));
	return layer_byte_per_token;
}

double
kv_layer(struct sheet *sh, const struct workload *w, const struct block *b, double kv_elem_byte, double tp)
{
	return tokens_bytes(sh, w, b, has_tokens, kv_elem_byte, tp);
}

double
kv_block_slope(struct sheet *sh, const struct workload *w, const struct block *b, double kv_elem_byte, double tp)
{
	GIVEN(sh, kv_elem_byte, tp);
	TAKE(sh, n_layers, b->count);
	CALL(sh, layer_byte_per_token, tokens_bytes(sh, w, b, grows, kv_elem_byte, tp));
	LET(sh, grows_byte_per_token, n_layers * layer_byte_per_token);
	return grows_byte_per_token;
}

double
kv_slope(struct sheet *sh, const struct workload *w, double kv_elem_byte, double tp)
{
	GIVEN(sh, kv_elem_byte, tp);
	SUM(sh, slope_byte_per_token, i, w->n_blocks, kv_block_slope(sh, w, &w->blocks[i], kv_elem_byte, tp));
	return slope_byte_per_token;
}

/* --- bytes of a sequence --------------------------------------------------------------------------------- */

/* Tokens of a state that are held; seq_token infinite: of a sequence without end. */
static double
held_tokens(struct sheet *sh, const struct workload *w, const struct layer_state *s, const struct kv_admission *at)
{
	double held_token;

	if (s->span == SPAN_SOURCE && source_given(w)) {
		TAKE(sh, source_token, w->source_token);
		SET(sh, held_token, source_token);
		return held_token;
	}
	if (isinf(at->seq_token)) {
		TAKE(sh, reach_token, s->reach);
		SET(sh, held_token, reach_token);
		return held_token;
	}
	TAKE(sh, seq_token, at->seq_token);
	if (!datum_given(s->reach)) {
		SET(sh, held_token, seq_token);
		return held_token;
	}
	TAKE(sh, reach_token, s->reach);
	/* an engine that takes step_token tokens at a time holds those and what the first of them sees: vLLM v1,
	 * SlidingWindowSpec and ChunkedLocalAttentionSpec */
	TAKE(sh, step_token, s->span == SPAN_RING ? 0 : at->step_token);
	TAKE(sh, seen_token, step_token > 0 && s->span == SPAN_WINDOW ? 1.0 : 0);
	SET(sh, held_token, fmin(seq_token, reach_token - seen_token + step_token));
	return held_token;
}

static double
state_bytes(struct sheet *sh, const struct workload *w, const struct layer_state *s, const struct kv_admission *at,
    double kv_elem_byte, double tp)
{
	sheet_title(sh, s->title);
	if (s->span == SPAN_SEQUENCE) {
		CALL(sh, state_byte, row_byte(sh, w, s, kv_elem_byte, tp));
		return state_byte;
	}
	CALL(sh, row_byte_per_token, row_byte(sh, w, s, kv_elem_byte, tp));
	TAKE(sh, block_token, at->block_token);
	TAKE(sh, n_spare_blocks, at->step_token > 0 && s->span == SPAN_WINDOW ? 1.0 : 0);
	TAKE(sh, ratio, s->ratio);
	CALL(sh, held_token, held_tokens(sh, w, s, at));
	LET(sh, stored_token, (ceil(held_token / block_token) + n_spare_blocks) * block_token);
	LET(sh, state_byte, floor(stored_token / ratio) * row_byte_per_token);
	return state_byte;
}

static double
block_bytes(struct sheet *sh, const struct workload *w, const struct block *b, chosen_fn *chosen,
    const struct kv_admission *at, double kv_elem_byte, double tp)
{
	struct layer own;
	const struct layer_state *states[LAYER_STATES];
	const int n = choose(w, b, chosen, &own, states);

	TAKE(sh, n_layers, b->count);
	SUM(sh, layer_byte, i, n, state_bytes(sh, w, states[i], at, kv_elem_byte, tp));
	LET(sh, block_kv_byte, n_layers * layer_byte);
	return block_kv_byte;
}

double
kv_block_constant(struct sheet *sh, const struct workload *w, const struct block *b, double block_token,
    double kv_elem_byte, double tp)
{
	const struct kv_admission endless = {INFINITY, 0, block_token};

	return block_bytes(sh, w, b, stays, &endless, kv_elem_byte, tp);
}

double
kv_constant(struct sheet *sh, const struct workload *w, double block_token, double kv_elem_byte, double tp)
{
	GIVEN(sh, block_token, kv_elem_byte, tp);
	SUM(sh, constant_byte, i, w->n_blocks, kv_block_constant(sh, w, &w->blocks[i], block_token, kv_elem_byte, tp));
	return constant_byte;
}

double
kv_block_sequence(struct sheet *sh, const struct workload *w, const struct block *b, double seq_token,
    double block_token, double kv_elem_byte, double tp)
{
	const struct kv_admission at = {seq_token, 0, block_token};

	return block_bytes(sh, w, b, any, &at, kv_elem_byte, tp);
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

double
kv_admitted(struct sheet *sh, const struct workload *w, const struct kv_admission *at, double kv_elem_byte, double tp)
{
	GIVEN(sh, kv_elem_byte, tp);
	SUM(sh, admitted_byte, i, w->n_blocks, block_bytes(sh, w, &w->blocks[i], any, at, kv_elem_byte, tp));
	return admitted_byte;
}

/* --- recurrent states ------------------------------------------------------------------------------------ */

static double
recurrent_layer(struct sheet *sh, const struct workload *w, const struct block *b, double tp)
{
	const struct kv_admission none = {0, 0, 1};
	struct layer own;
	const struct layer_state *states[LAYER_STATES];
	const int n = choose(w, b, recurs, &own, states);

	SUM(sh, layer_byte, i, n, state_bytes(sh, w, states[i], &none, 0, tp));
	return layer_byte;
}

static double
block_recurrent(struct sheet *sh, const struct workload *w, const struct block *b, double tp)
{
	GIVEN(sh, tp);
	TAKE(sh, n_layers, b->count);
	CALL(sh, layer_byte, recurrent_layer(sh, w, b, tp));
	LET(sh, block_byte, n_layers * layer_byte);
	return block_byte;
}

double
state_sequence(struct sheet *sh, const struct workload *w, double tp)
{
	GIVEN(sh, tp);
	SUM(sh, state_byte, i, w->n_blocks, block_recurrent(sh, w, &w->blocks[i], tp));
	return state_byte;
}

double
state_slots(struct sheet *sh, double n_slots, double state_byte)
{
	GIVEN(sh, n_slots, state_byte);
	LET(sh, slots_byte, n_slots * state_byte);
	return slots_byte;
}

double
state_page(struct sheet *sh, const struct workload *w, double tp)
{
	GIVEN(sh, tp);
	MOST(sh, page_byte, i, w->n_blocks, recurrent_layer(sh, w, &w->blocks[i], tp));
	return page_byte;
}

double
state_block(struct sheet *sh, double page_byte, double layer_byte_per_token, double block_token)
{
	GIVEN(sh, page_byte, layer_byte_per_token, block_token);
	LET(sh, least_token, ceil(page_byte / layer_byte_per_token));
	LET(sh, page_token, ceil(least_token / block_token) * block_token);
	return page_token;
}

double
state_waste(struct sheet *sh, double page_token, double slope_byte_per_token)
{
	GIVEN(sh, page_token, slope_byte_per_token);
	LET(sh, last_block_byte, page_token / 2 * slope_byte_per_token);
	return last_block_byte;
}

/* --- room: paging, memory left by the weights, savings from shared heads --------------------------------- */

/*
 * Paging.  A cache that reserves every sequence's longest length keeps most of it empty; blocks handed out on demand
 * waste only the rest of the last one.  Kwon et al., SOSP 2023, sections 3 and 4.
 */
double
kv_paging(struct sheet *sh, const struct workload *w, const struct kv_page *page, double kv_elem_byte, double tp)
{
	GIVEN(sh, kv_elem_byte, tp);
	FROM(sh, page, used_token, max_seq_token, block_token);
	CALL(sh, preallocated_byte, kv_sequence(sh, w, max_seq_token, 1, kv_elem_byte, tp));
	CALL(sh, used_byte, kv_sequence(sh, w, used_token, 1, kv_elem_byte, tp));
	LET(sh, waste_frac, 1 - used_byte / preallocated_byte);
	CALL(sh, block_byte, kv_sequence(sh, w, block_token, block_token, kv_elem_byte, tp));
	LET(sh, n_blocks, ceil(used_token / block_token));
	CALL(sh, paged_byte, kv_sequence(sh, w, used_token, block_token, kv_elem_byte, tp));
	LET(sh, last_block_waste_frac, 1 - used_byte / paged_byte);
	LET(sh, paging_gain, preallocated_byte / paged_byte);
	SHOW(sh, preallocated_byte, prealloc_byte);
	SHOW(sh, used_byte, used_byte);
	SHOW(sh, waste_frac, prealloc_waste_frac);
	SHOW(sh, block_byte, block_byte);
	SHOW(sh, n_blocks, n_blocks);
	SHOW(sh, paged_byte, paged_byte);
	SHOW(sh, last_block_waste_frac, block_waste_frac);
	SHOW(sh, paging_gain, paging_gain);
	return paging_gain;
}

/* Memory left for the KV cache on one GPU, at least 0. */
double
kv_space(struct sheet *sh, double mem_byte, double headroom_frac, double weight_byte)
{
	GIVEN(sh, mem_byte, headroom_frac, weight_byte);
	LET(sh, usable_byte, mem_byte * (1 - headroom_frac));
	LET(sh, kv_space_byte, fmax(0, usable_byte - weight_byte));
	return kv_space_byte;
}

/* Tokens that the space holds when all sequences are seq_token long.  For full attention that length does not matter.
 */
double
kv_capacity_token(
    struct sheet *sh, const struct workload *w, double space_byte, double seq_token, double kv_elem_byte, double tp)
{
	GIVEN(sh, space_byte, seq_token);
	CALL(sh, dense_sequence_byte, kv_sequence(sh, w, seq_token, 1, kv_elem_byte, tp));
	LET(sh, mean_byte_per_token, dense_sequence_byte / seq_token);
	LET(sh, capacity_token, floor(space_byte / mean_byte_per_token));
	return capacity_token;
}

/* KV cache with a KV head per query head (MHA), over the actual one. */
double
kv_sharing(struct sheet *sh, const struct workload *w, const struct block *b)
{
	struct layer own;
	const struct layer *l = layer_of(w, b, &own);
	const struct layer_op *core = layer_attention(l);
	const struct layer_state *cache = &l->state[0];

	TAKE(sh, n_heads, core->n.units);
	TAKE(sh, key_width, core->n.size);
	TAKE(sh, value_width, core->runs == RUNS_LATENT ? core->n.size : core->k.size);
	TAKE(sh, n_cached, cache->width.units);
	TAKE(sh, cached_width, cache->width.size);
	LET(sh, sharing, n_heads * (key_width + value_width) / (n_cached * cached_width));
	return sharing;
}

/* Without a cache every new token computes the keys and values of all tokens before it again. */
double
kv_recomputed(struct sheet *sh, double seq_token)
{
	GIVEN(sh, seq_token);
	LET(sh, recomputed_token, seq_token - 1);
	return recomputed_token;
}

/* Sequences that are held at once. */
double
kv_batch(struct sheet *sh, double n_sequences, double sequence_byte)
{
	GIVEN(sh, n_sequences, sequence_byte);
	LET(sh, batch_byte, n_sequences * sequence_byte);
	return batch_byte;
}

double
kv_capacity_sequences(struct sheet *sh, double space_byte, double sequence_byte)
{
	GIVEN(sh, space_byte, sequence_byte);
	LET(sh, n_sequences, floor(space_byte / sequence_byte));
	return n_sequences;
}
