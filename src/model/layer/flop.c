/* SPDX-License-Identifier: GPL-3.0-or-later */
/* FLOPs of one token: GEMMs with parameters, and attention over other tokens. */
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
attention_flop(struct sheet *sh, const struct layer_op *op, const struct attention *a, double n_places, bool causal)
{
	GIVEN(sh, n_places);
	TAKE(sh, n_heads, op->n.units);
	TAKE(sh, key_width, op->n.size);
	TAKE(sh, value_width, op->k.size);
	CALL(sh, n_seen, attended_keys(sh, a, n_places, 0, causal && !op->source));
	LET(sh, core_flop_per_token, 2 * n_heads * (key_width + value_width) * n_seen);
	return core_flop_per_token;
}

/* Over rows that are keys and values at once. */
static double
latent_flop(struct sheet *sh, const struct layer_op *op, const struct attention *a, double n_places, bool causal)
{
	GIVEN(sh, n_places);
	TAKE(sh, n_heads, op->n.units);
	TAKE(sh, latent, op->n.size);
	TAKE(sh, rope, op->k.units);
	CALL(sh, n_seen, attended_keys(sh, a, n_places, 0, causal));
	LET(sh, core_flop_per_token, 2 * n_heads * (2 * latent + rope) * n_seen);
	return core_flop_per_token;
}

static double
scores_flop(struct sheet *sh, const struct layer_op *op, const struct attention *a, double n_places, bool causal)
{
	GIVEN(sh, n_places);
	TAKE(sh, n_index_heads, op->n.units);
	TAKE(sh, index_dim, op->n.size);
	CALL(sh, n_scored, scored_keys(sh, a, n_places, 0, causal));
	LET(sh, index_flop_per_token, 2 * n_index_heads * index_dim * n_scored);
	return index_flop_per_token;
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
core_flop(struct sheet *sh, const struct workload *w, const struct block *b, const struct layer_op *op,
    double seq_token, bool causal)
{
	sheet_title(sh, op->title);
	switch (op->runs) {
	case RUNS_ATTENTION:
		return attention_flop(sh, op, &b->attention, seq_token, causal);
	case RUNS_LATENT:
		return latent_flop(sh, op, &b->attention, seq_token, causal);
	case RUNS_SCORES:
		return scores_flop(sh, op, &b->attention, seq_token, causal);
	default:
		return recurrence_flop(sh, w, b, seq_token);
	}
}

static double
block_mixing_flop(struct sheet *sh, const struct workload *w, const struct block *b, double seq_token, bool causal)
{
	struct layer own;
	const struct layer_op *cores[LAYER_OPS];
	const int n = layer_cores(layer_of(w, b, &own), layer_form(b, false), cores);

	GIVEN(sh, seq_token);
	TAKE(sh, n_layers, b->count);
	SUM(sh, layer_flop_per_token, i, n, core_flop(sh, w, b, cores[i], seq_token, causal));
	LET(sh, block_flop_per_token, n_layers * layer_flop_per_token);
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
