/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parameter counts, exact: what the published weights hold, read off the architecture.
 * Every linear map counts inputs x outputs, every bias and every norm vector its width.
 */
#include "model/layer/parts.h"

#include "model/layer/layer.h"

#include <assert.h>

double
layer_norm_params(struct sheet *sh, const struct workload *w, const struct block *block)
{
	TAKE(sh, hidden, w->hidden);
	TAKE(sh, n_norms, block->has_norms ? block->norms : w->norms_per_layer);
	TAKE(sh, n_vectors, norm_vectors(w));
	LET(sh, norm_param, n_norms * n_vectors * hidden);
	return norm_param;
}

static double
counted_layer(struct sheet *sh, const struct workload *w, const struct block *block, bool active)
{
	CALL(sh, mixer_param, mixer_params(sh, w, block));
	CALL(sh, cross_param, cross_params(sh, w, block));
	CALL(sh, feed_forward_param, feed_forward_params(sh, w, block, active));
	CALL(sh, norm_param, layer_norm_params(sh, w, block));
	LET(sh, layer_param, mixer_param + cross_param + feed_forward_param + norm_param);
	return layer_param;
}

double
layer_params(struct sheet *sh, const struct workload *w, const struct block *block)
{
	return counted_layer(sh, w, block, false);
}

double
layer_active_params(struct sheet *sh, const struct workload *w, const struct block *block)
{
	return counted_layer(sh, w, block, true);
}

/* The patch embedding is a convolution with a bias; one class token and its position.  Dosovitskiy et al., ICLR 2021.
 */
static double
patch_params(struct sheet *sh, const struct workload *w)
{
	FROM(sh, w, hidden, patch_size, n_channels, image_size);
	LET(sh, n_patches, floor(image_size / patch_size) * floor(image_size / patch_size));
	LET(sh, patch_param, patch_size * patch_size * n_channels * hidden + hidden);
	LET(sh, position_param, (n_patches + 1) * hidden);
	LET(sh, embedding_param, patch_param + hidden + position_param);
	return embedding_param;
}

/* One column of a table of buckets for each head.  Raffel et al., JMLR 21, 2020, section 2.1. */
static double
relative_params(struct sheet *sh, const struct workload *w)
{
	const struct block *block = workload_attention(w);

	TAKE(sh, n_buckets, w->relative_buckets.value > 0 ? w->relative_buckets.value : 0);
	TAKE(sh, n_heads, block ? block->attention.n_heads.value : 0);
	LET(sh, relative_param, n_buckets * n_heads);
	return relative_param;
}

double
embedding_params(struct sheet *sh, const struct workload *w)
{
	if (w->kind == MODEL_VISION)
		return patch_params(sh, w);
	TAKE(sh, hidden, w->hidden);
	TAKE(sh, vocabulary, w->vocab);
	TAKE(sh, n_position_rows, w->positions == POSITIONS_LEARNED ? datum_or(w->n_positions, 0) : 0);
	TAKE(sh, n_token_types, datum_or(w->n_token_types, 0));
	TAKE(sh, n_norm_vectors, w->embedding_norm ? norm_vectors(w) : 0);
	TAKE(sh, n_of_stacks, n_stacks(w));
	CALL(sh, relative_param, relative_params(sh, w));
	LET(sh, n_rows, vocabulary + n_token_types + n_of_stacks * (n_position_rows + n_norm_vectors));
	LET(sh, embedding_param, n_rows * hidden + n_of_stacks * relative_param);
	return embedding_param;
}

double
head_params(struct sheet *sh, const struct workload *w)
{
	if (w->kind == MODEL_VISION && w->n_classes.value > 0) {
		FROM(sh, w, hidden, n_classes);
		LET(sh, head_param, n_classes * hidden + n_classes);
		return head_param;
	}
	if (!w->head || !(w->vocab.value > 0)) {
		LET(sh, head_param, 0);
		return head_param;
	}
	TAKE(sh, hidden, w->hidden);
	TAKE(sh, vocabulary, w->vocab);
	TAKE(sh, n_maps, w->tied_embeddings ? 0.0 : 1.0);
	TAKE(sh, n_biases, w->head_bias ? 1.0 : 0.0);
	LET(sh, head_param, n_maps * vocabulary * hidden + n_biases * vocabulary);
	return head_param;
}

/* The last norm of each stack and BERT's pooler. */
double
final_params(struct sheet *sh, const struct workload *w)
{
	TAKE(sh, hidden, w->hidden);
	TAKE(sh, n_norm_vectors, w->final_norm ? norm_vectors(w) : 0);
	TAKE(sh, n_of_stacks, n_stacks(w));
	WHEN(sh, pooler_param, w->pooler, hidden * hidden + hidden);
	LET(sh, final_param, n_of_stacks * n_norm_vectors * hidden + pooler_param);
	return final_param;
}

static double
block_params(struct sheet *sh, const struct workload *w, const struct block *block)
{
	TAKE(sh, n_layers, block->count);
	CALL(sh, layer_param, layer_params(sh, w, block));
	LET(sh, block_param, n_layers * layer_param);
	return block_param;
}

static double
block_active_params(struct sheet *sh, const struct workload *w, const struct block *block)
{
	TAKE(sh, n_layers, block->count);
	CALL(sh, layer_active_param, layer_active_params(sh, w, block));
	LET(sh, block_active_param, n_layers * layer_active_param);
	return block_active_param;
}

double
encoder_params(struct sheet *sh, const struct workload *w, bool active)
{
	if (w->n_encoder_blocks == 0) {
		LET(sh, encoder_param, 0);
		return encoder_param;
	}
	if (active) {
		SUM(sh, active_param, i, w->n_encoder_blocks, block_active_params(sh, w, &w->encoder_blocks[i]));
		LET(sh, encoder_param, active_param);
		return encoder_param;
	}
	SUM(sh, all_param, i, w->n_encoder_blocks, block_params(sh, w, &w->encoder_blocks[i]));
	LET(sh, encoder_param, all_param);
	return encoder_param;
}

/* A list of operators stores what its products, convolutions and tables do, and what its lines say besides. */
static double
list_params(struct sheet *sh, const struct workload *w)
{
	SUM(sh, listed_param, i, w->n_ops, op_total_params(sh, &w->ops[i]));
	LET(sh, model_param, listed_param);
	return model_param;
}

double
model_params(struct sheet *sh, const struct workload *w)
{
	if (w->kind == MODEL_OPERATORS)
		return list_params(sh, w);
	assert(w->n_blocks > 0);
	CALL(sh, embedding_param, embedding_params(sh, w));
	SUM(sh, layers_param, i, w->n_blocks, block_params(sh, w, &w->blocks[i]));
	CALL(sh, encoder_param, encoder_params(sh, w, false));
	CALL(sh, final_param, final_params(sh, w));
	CALL(sh, head_param, head_params(sh, w));
	LET(sh, model_param, embedding_param + layers_param + encoder_param + final_param + head_param);
	return model_param;
}

/* As vendors count: everything but the routed experts that a token does not visit; the whole embedding table included.
 */
double
model_active_params(struct sheet *sh, const struct workload *w)
{
	if (w->kind == MODEL_OPERATORS)
		return list_params(sh, w);
	assert(w->n_blocks > 0);
	CALL(sh, embedding_param, embedding_params(sh, w));
	SUM(sh, layers_active_param, i, w->n_blocks, block_active_params(sh, w, &w->blocks[i]));
	CALL(sh, encoder_param, encoder_params(sh, w, true));
	CALL(sh, final_param, final_params(sh, w));
	CALL(sh, head_param, head_params(sh, w));
	LET(sh, model_active_param, embedding_param + layers_active_param + encoder_param + final_param + head_param);
	return model_active_param;
}

/* A count without the tables that tokens are looked up in; Kaplan et al., arXiv:2001.08361, leave them out. */
double
body_params(struct sheet *sh, const struct workload *w)
{
	CALL(sh, model_param, model_params(sh, w));
	CALL(sh, embedding_param, embedding_params(sh, w));
	LET(sh, body_param, model_param - embedding_param);
	return body_param;
}

/* And without the head, as the cards of the Qwen models count "non-embedding". */
double
inner_params(struct sheet *sh, const struct workload *w)
{
	CALL(sh, body_param, body_params(sh, w));
	CALL(sh, head_param, head_params(sh, w));
	LET(sh, inner_param, body_param - head_param);
	return inner_param;
}

double
part_params(struct sheet *sh, double n_layers, double one_param)
{
	GIVEN(sh, n_layers, one_param);
	LET(sh, part_param, n_layers * one_param);
	return part_param;
}

double
part_share(struct sheet *sh, double part_param, double n_params)
{
	GIVEN(sh, part_param, n_params);
	LET(sh, share_frac, part_param / n_params);
	return share_frac;
}

double
params_error(struct sheet *sh, const struct workload *w)
{
	TAKE(sh, stated_param, w->stated_params);
	CALL(sh, model_param, model_params(sh, w));
	LET(sh, error_frac, fmax(model_param - stated_param, stated_param - model_param) / stated_param);
	return error_frac;
}
