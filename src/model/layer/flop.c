/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The arithmetic of one token: its products with parameters, and with the tokens that it attends to. */
#include "model/layer/layer.h"
#include "model/layer/parts.h"

/* A query at place p (from 0) sees p + 1 keys, at most the window (Beltagy et al., arXiv:2004.05150), or those of its
 * own chunk. */
double
seen_keys(struct sheet *sh, const struct attention *a, double n_new, double n_cached, bool causal)
{
	GIVEN(sh, n_new, n_cached);
	LET(sh, n_keys, n_cached + n_new);
	if (!causal) {
		LET(sh, n_seen, n_keys);
		return n_seen;
	}
	if (a->window.value > 0) {
		TAKE(sh, window, a->window);
		/* new queries whose past is still shorter than the window, and the rest */
		LET(sh, n_growing, fmax(0, fmin(n_keys, window) - n_cached));
		LET(sh, n_sum, n_growing * (n_cached + (n_growing + 1) / 2) + (n_new - n_growing) * window);
		LET(sh, n_seen, n_sum / n_new);
		return n_seen;
	}
	if (a->chunk.value > 0) {
		TAKE(sh, chunk, a->chunk);
		/* sum over places below N of their place in the chunk: whole chunks and a remainder */
		LET(sh, n_chunks, floor(n_keys / chunk));
		LET(sh, n_rest, n_keys - n_chunks * chunk);
		LET(sh, n_sum_all, n_chunks * chunk * (chunk + 1) / 2 + n_rest * (n_rest + 1) / 2);
		LET(sh, n_old_chunks, floor(n_cached / chunk));
		LET(sh, n_old_rest, n_cached - n_old_chunks * chunk);
		LET(sh, n_sum_old, n_old_chunks * chunk * (chunk + 1) / 2 + n_old_rest * (n_old_rest + 1) / 2);
		LET(sh, n_seen, (n_sum_all - n_sum_old) / n_new);
		return n_seen;
	}
	LET(sh, n_seen, n_cached + (n_new + 1) / 2);
	return n_seen;
}

/* An indexer lets top_k of the visible keys through: a window of that many has as many. */
double
chosen_keys(struct sheet *sh, const struct attention *a, double n_new, double n_cached, bool causal)
{
	if (!indexed(a))
		return seen_keys(sh, a, n_new, n_cached, causal);
	struct attention narrow = *a;
	narrow.window = a->indexer.top_k;
	GIVEN(sh, n_new, n_cached);
	TAKE(sh, n_allowed, a->indexer.top_k);
	CALL(sh, n_visible, seen_keys(sh, &narrow, n_new, n_cached, causal));
	LET(sh, n_seen, fmin(n_visible, n_allowed));
	return n_seen;
}

double
compressed_keys(struct sheet *sh, const struct attention *a, double n_new, double n_cached)
{
	const struct attention full = {.window = datum_absent(), .chunk = datum_absent()};

	GIVEN(sh, n_new, n_cached);
	TAKE(sh, ratio, a->ratio);
	CALL(sh, n_visible, seen_keys(sh, &full, n_new, n_cached, true));
	LET(sh, n_seen, n_visible / ratio);
	return n_seen;
}

/* Only tokens compressed 4 to 1 are so many that an indexer chooses among them. */
double
compressed_chosen(struct sheet *sh, const struct attention *a, double n_new, double n_cached)
{
	struct attention narrow = {.window = datum_absent(), .chunk = datum_absent()};

	GIVEN(sh, n_new, n_cached);
	TAKE(sh, ratio, a->ratio);
	if (a->ratio.value == 4) {
		narrow.window = a->indexer.top_k;
		narrow.window.value *= a->ratio.value;
	}
	CALL(sh, n_visible, seen_keys(sh, &narrow, n_new, n_cached, true));
	LET(sh, n_seen, n_visible / ratio);
	return n_seen;
}

double
multiplied_params(struct sheet *sh, const struct workload *w)
{
	CALL(sh, active_param, model_active_params(sh, w));
	CALL(sh, embedding_param, embedding_params(sh, w));
	TAKE(sh, hidden, w->hidden);
	double shared_head_param, pooler_param;
	if (w->kind != MODEL_VISION && w->head && w->tied_embeddings) {
		TAKE(sh, vocabulary, w->vocab);
		SET(sh, shared_head_param, vocabulary * hidden);
	} else
		SET(sh, shared_head_param, 0);
	if (w->pooler) /* one token of a sequence meets it */
		SET(sh, pooler_param, hidden * hidden + hidden);
	else
		SET(sh, pooler_param, 0);
	LET(sh, multiplied_param, active_param - embedding_param - pooler_param + shared_head_param);
	return multiplied_param;
}

/* --- tokens that attend to each other: 2 FLOP for each query and key, of every head and each element of its width ---
 */

static double
index_flop(struct sheet *sh, const struct attention *a, double n_keys)
{
	GIVEN(sh, n_keys);
	TAKE(sh, n_index_heads, datum_or(a->indexer.n_heads, 0));
	TAKE(sh, index_dim, datum_or(a->indexer.dim, 0));
	LET(sh, index_flop_per_token, 2 * n_index_heads * index_dim * n_keys);
	return index_flop_per_token;
}

static double
heads_flop(struct sheet *sh, const struct attention *a, double n_places, bool causal)
{
	GIVEN(sh, n_places);
	TAKE(sh, n_heads, a->n_heads);
	double key_width, value_width;
	if (a->kind == ATTENTION_MLA && indexed(a)) {
		/* sparse latent attention is defined over the latent itself: DeepSeek-V3.2, section 2.1 */
		FROM(sh, a, kv_lora, rope);
		SET(sh, key_width, kv_lora + rope);
		SET(sh, value_width, kv_lora);
	} else if (a->kind == ATTENTION_MLA) {
		FROM(sh, a, nope, rope, v_dim);
		SET(sh, key_width, nope + rope);
		SET(sh, value_width, v_dim);
	} else {
		TAKE(sh, head_dim, a->head_dim);
		TAKE(sh, v_dim, value_dim_of(a));
		SET(sh, key_width, head_dim);
		SET(sh, value_width, v_dim);
	}
	CALL(sh, n_seen, chosen_keys(sh, a, n_places, 0, causal));
	CALL(sh, n_visible, seen_keys(sh, a, n_places, 0, causal));
	CALL(sh, index_flop_per_token, index_flop(sh, a, n_visible));
	LET(sh, mixing_flop_per_token, 2 * n_heads * (key_width + value_width) * n_seen + index_flop_per_token);
	return mixing_flop_per_token;
}

/* The window, and compressed tokens beyond it; keys are values too. */
static double
compressed_flop(struct sheet *sh, const struct attention *a, double n_places)
{
	GIVEN(sh, n_places);
	FROM(sh, a, n_heads, head_dim);
	CALL(sh, n_near, seen_keys(sh, a, n_places, 0, true));
	double n_far, index_flop_per_token;
	if (a->ratio.value > 0)
		SET_CALL(sh, n_far, compressed_chosen(sh, a, n_places, 0));
	else
		SET(sh, n_far, 0);
	if (a->ratio.value == 4) {
		CALL(sh, n_scored, compressed_keys(sh, a, n_places, 0));
		SET_CALL(sh, index_flop_per_token, index_flop(sh, a, n_scored));
	} else
		SET(sh, index_flop_per_token, 0);
	LET(sh, mixing_flop_per_token, 4 * n_heads * head_dim * (n_near + n_far) + index_flop_per_token);
	return mixing_flop_per_token;
}

/* A recurrence takes the sequence in chunks, as its kernels do. */
static double
recurrence_flop(struct sheet *sh, const struct workload *w, const struct block *b, double seq_token)
{
	const struct op op = recurrence_op(w, b, 1, seq_token, 1);

	GIVEN(sh, seq_token);
	const double work_flop = op_cost(sh, &op).work_flop;
	LET(sh, mixing_flop_per_token, work_flop / seq_token);
	return mixing_flop_per_token;
}

static double
mixing_flop(struct sheet *sh, const struct workload *w, const struct block *b, double seq_token, bool causal)
{
	if (b->mixer == MIXER_NONE) {
		LET(sh, mixing_flop_per_token, 0);
		return mixing_flop_per_token;
	}
	if (b->mixer != MIXER_ATTENTION)
		return recurrence_flop(sh, w, b, seq_token);
	if (b->attention.kind == ATTENTION_CSA)
		return compressed_flop(sh, &b->attention, seq_token);
	return heads_flop(sh, &b->attention, seq_token, causal);
}

static double
block_mixing_flop(struct sheet *sh, const struct workload *w, const struct block *b, double seq_token, bool causal)
{
	GIVEN(sh, seq_token);
	TAKE(sh, n_layers, b->count);
	CALL(sh, layer_flop_per_token, mixing_flop(sh, w, b, seq_token, causal));
	double cross_flop_per_token;
	if (b->cross)
		SET_CALL(sh, cross_flop_per_token, heads_flop(sh, &b->attention, seq_token, false));
	else
		SET(sh, cross_flop_per_token, 0);
	LET(sh, block_flop_per_token, n_layers * (layer_flop_per_token + cross_flop_per_token));
	return block_flop_per_token;
}

/* An encoder's tokens see each other all. */
static double
encoder_mixing_flop(struct sheet *sh, const struct workload *w, double seq_token)
{
	GIVEN(sh, seq_token);
	SUM(sh, encoder_flop_per_token, i, w->n_encoder_blocks,
	    block_mixing_flop(sh, w, &w->encoder_blocks[i], seq_token, false));
	return encoder_flop_per_token;
}

/* Chowdhery et al., arXiv:2204.02311, appendix B: 2 N + attention.  An encoder-decoder's token is one of each side. */
double
forward_flop(struct sheet *sh, const struct workload *w, double seq_token, bool causal)
{
	GIVEN(sh, seq_token);
	CALL(sh, multiplied_param, multiplied_params(sh, w));
	TAKE(sh, flop_per_token_per_param, 2.0);
	LET(sh, dense_flop_per_token, flop_per_token_per_param * multiplied_param);
	SUM(sh, attention_flop_per_token, i, w->n_blocks, block_mixing_flop(sh, w, &w->blocks[i], seq_token, causal));
	CALL(sh, encoder_flop_per_token, encoder_mixing_flop(sh, w, seq_token));
	LET(sh, forward_flop_per_token, dense_flop_per_token + attention_flop_per_token + encoder_flop_per_token);
	return forward_flop_per_token;
}

/* Some accounts multiply the embedding's table too, as if rows were found by a product. */
double
embedded_flop(struct sheet *sh, const struct workload *w, double seq_token, bool causal)
{
	GIVEN(sh, seq_token);
	CALL(sh, forward_flop_per_token, forward_flop(sh, w, seq_token, causal));
	CALL(sh, embedding_param, embedding_params(sh, w));
	TAKE(sh, flop_per_token_per_param, 2.0);
	LET(sh, embedded_flop_per_token, forward_flop_per_token + flop_per_token_per_param * embedding_param);
	return embedded_flop_per_token;
}

/* One product for the gradient of the input and one for that of the weights (or of the other operand). */
double
backward_flop(struct sheet *sh, const struct workload *w, double seq_token, bool causal)
{
	GIVEN(sh, seq_token);
	CALL(sh, forward_flop_per_token, forward_flop(sh, w, seq_token, causal));
	LET(sh, backward_flop_per_token, 2 * forward_flop_per_token);
	return backward_flop_per_token;
}
