/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parameter counts, exact: what the published weights hold, read off the architecture.
 * Every linear map counts inputs x outputs, every bias and every norm vector its width.
 */
#include "ridge/params.h"

#include <assert.h>

/* Queries, keys, values and the output map.  GQA: Ainslie et al., EMNLP 2023; QK-norm has one gain of a head's width
 * each. */
static double
heads_params(struct sheet *sh, const struct workload *w, const struct attention *a)
{
	TAKE(sh, hidden, w->hidden);
	TAKE(sh, n_heads, a->n_heads);
	TAKE(sh, n_kv_heads, a->n_kv_heads);
	TAKE(sh, head_dim, a->head_dim);
	/* values as wide as keys unless the file says otherwise */
	const struct datum value_dim = a->v_dim.value > 0 ? a->v_dim : a->head_dim;
	TAKE(sh, v_dim, value_dim);
	LET(sh, query_width, n_heads * head_dim);
	LET(sh, kv_width, n_kv_heads * (head_dim + v_dim));
	LET(sh, output_width, n_heads * v_dim);
	LET(sh, weight_param, hidden * (query_width + kv_width + output_width));
	double bias_param, qk_norm_param, sink_param;
	if (a->bias == BIAS_ALL)
		SET(sh, bias_param, query_width + kv_width + hidden);
	else if (a->bias == BIAS_QKV)
		SET(sh, bias_param, query_width + kv_width);
	else
		SET(sh, bias_param, 0);
	if (a->qk_norm)
		SET(sh, qk_norm_param, 2 * head_dim);
	else
		SET(sh, qk_norm_param, 0);
	if (a->sinks)
		SET(sh, sink_param, n_heads);
	else
		SET(sh, sink_param, 0);
	LET(sh, attention_param, weight_param + bias_param + qk_norm_param + sink_param);
	return attention_param;
}

/* Multi-head latent attention: down- and up-projections with a norm between.  DeepSeek-AI, arXiv:2405.04434,
 * section 2.1. */
static double
latent_params(struct sheet *sh, const struct workload *w, const struct attention *a)
{
	TAKE(sh, hidden, w->hidden);
	TAKE(sh, n_heads, a->n_heads);
	TAKE(sh, kv_lora, a->kv_lora);
	TAKE(sh, nope, a->nope);
	TAKE(sh, rope, a->rope);
	TAKE(sh, v_dim, a->v_dim);
	LET(sh, query_width, n_heads * (nope + rope));
	double query_param;
	if (a->q_lora.value > 0) {
		TAKE(sh, q_lora, a->q_lora);
		SET(sh, query_param, hidden * q_lora + q_lora + q_lora * query_width);
	} else
		SET(sh, query_param, hidden * query_width);
	LET(sh, down_param, hidden * (kv_lora + rope) + kv_lora);
	LET(sh, up_param, kv_lora * n_heads * (nope + v_dim));
	LET(sh, output_param, n_heads * v_dim * hidden);
	LET(sh, attention_param, query_param + down_param + up_param + output_param);
	return attention_param;
}

double
attention_params(struct sheet *sh, const struct workload *w, const struct block *block)
{
	if (block->attention.kind == ATTENTION_MLA)
		return latent_params(sh, w, &block->attention);
	return heads_params(sh, w, &block->attention);
}

double
mlp_params(struct sheet *sh, const struct workload *w, const struct block *block)
{
	if (!block->mlp.given) {
		LET(sh, mlp_param, 0);
		return mlp_param;
	}
	TAKE(sh, hidden, w->hidden);
	TAKE(sh, width, block->mlp.width);
	TAKE(sh, n_up_maps, block->mlp.gated ? 2.0 : 1.0);
	double bias_param;
	if (block->mlp.bias)
		SET(sh, bias_param, n_up_maps * width + hidden);
	else
		SET(sh, bias_param, 0);
	LET(sh, mlp_param, (n_up_maps + 1) * hidden * width + bias_param);
	return mlp_param;
}

/* One expert is a gated MLP of its own width, as in Mixtral, DeepSeek, Qwen and Llama 4. */
double
expert_params(struct sheet *sh, const struct workload *w, const struct block *block)
{
	if (!block->moe.given) {
		LET(sh, expert_param, 0);
		return expert_param;
	}
	TAKE(sh, hidden, w->hidden);
	TAKE(sh, expert_width, block->moe.width);
	double bias_param;
	if (block->moe.expert_bias)
		SET(sh, bias_param, 2 * expert_width + hidden);
	else
		SET(sh, bias_param, 0);
	LET(sh, expert_param, 3 * hidden * expert_width + bias_param);
	return expert_param;
}

double
shared_expert_params(struct sheet *sh, const struct workload *w, const struct block *block)
{
	if (!block->moe.given || !(block->moe.n_shared.value > 0)) {
		LET(sh, shared_param, 0);
		return shared_param;
	}
	TAKE(sh, hidden, w->hidden);
	TAKE(sh, n_shared_experts, block->moe.n_shared);
	TAKE(sh, shared_width, block->moe.shared_width);
	LET(sh, shared_param, n_shared_experts * 3 * hidden * shared_width);
	return shared_param;
}

double
router_params(struct sheet *sh, const struct workload *w, const struct block *block)
{
	if (!block->moe.given) {
		LET(sh, router_param, 0);
		return router_param;
	}
	TAKE(sh, hidden, w->hidden);
	TAKE(sh, n_experts, block->moe.n_experts);
	double bias_param;
	if (block->moe.router_bias)
		SET(sh, bias_param, n_experts);
	else
		SET(sh, bias_param, 0);
	LET(sh, router_param, hidden * n_experts + bias_param);
	return router_param;
}

/* RMSNorm has a gain, LayerNorm a gain and a bias.  Zhang and Sennrich, NeurIPS 2019; Ba et al., arXiv:1607.06450. */
static double
norm_vectors(const struct workload *w)
{
	return w->norm == NORM_LAYER ? 2.0 : 1.0;
}

double
norm_params(struct sheet *sh, const struct workload *w)
{
	TAKE(sh, hidden, w->hidden);
	TAKE(sh, n_norms, w->norms_per_layer);
	TAKE(sh, n_vectors, norm_vectors(w));
	LET(sh, norm_param, n_norms * n_vectors * hidden);
	return norm_param;
}

double
layer_params(struct sheet *sh, const struct workload *w, const struct block *block)
{
	CALL(sh, attention_param, attention_params(sh, w, block));
	CALL(sh, norm_param, norm_params(sh, w));
	double feed_forward_param;
	if (block->moe.given) {
		TAKE(sh, n_experts, block->moe.n_experts);
		CALL(sh, expert_param, expert_params(sh, w, block));
		CALL(sh, shared_param, shared_expert_params(sh, w, block));
		CALL(sh, router_param, router_params(sh, w, block));
		SET(sh, feed_forward_param, n_experts * expert_param + shared_param + router_param);
	} else
		SET_CALL(sh, feed_forward_param, mlp_params(sh, w, block));
	LET(sh, layer_param, attention_param + feed_forward_param + norm_param);
	return layer_param;
}

double
layer_active_params(struct sheet *sh, const struct workload *w, const struct block *block)
{
	CALL(sh, attention_param, attention_params(sh, w, block));
	CALL(sh, norm_param, norm_params(sh, w));
	double feed_forward_param;
	if (block->moe.given) {
		TAKE(sh, n_chosen, block->moe.top_k);
		CALL(sh, expert_param, expert_params(sh, w, block));
		CALL(sh, shared_param, shared_expert_params(sh, w, block));
		CALL(sh, router_param, router_params(sh, w, block));
		SET(sh, feed_forward_param, n_chosen * expert_param + shared_param + router_param);
	} else
		SET_CALL(sh, feed_forward_param, mlp_params(sh, w, block));
	LET(sh, layer_active_param, attention_param + feed_forward_param + norm_param);
	return layer_active_param;
}

/* The patch embedding is a convolution with a bias; one class token and its position.  Dosovitskiy et al., ICLR 2021.
 */
static double
patch_params(struct sheet *sh, const struct workload *w)
{
	TAKE(sh, hidden, w->hidden);
	TAKE(sh, patch_size, w->patch_size);
	TAKE(sh, n_channels, w->n_channels);
	TAKE(sh, image_size, w->image_size);
	LET(sh, n_patches, floor(image_size / patch_size) * floor(image_size / patch_size));
	LET(sh, patch_param, patch_size * patch_size * n_channels * hidden + hidden);
	LET(sh, position_param, (n_patches + 1) * hidden);
	LET(sh, embedding_param, patch_param + hidden + position_param);
	return embedding_param;
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
	LET(sh, n_rows, vocabulary + n_position_rows + n_token_types + n_norm_vectors);
	LET(sh, embedding_param, n_rows * hidden);
	return embedding_param;
}

double
head_params(struct sheet *sh, const struct workload *w)
{
	if (w->kind == MODEL_VISION && w->n_classes.value > 0) {
		TAKE(sh, hidden, w->hidden);
		TAKE(sh, n_classes, w->n_classes);
		LET(sh, head_param, n_classes * hidden + n_classes);
		return head_param;
	}
	if (!w->head || w->tied_embeddings || !(w->vocab.value > 0)) {
		LET(sh, head_param, 0);
		return head_param;
	}
	TAKE(sh, hidden, w->hidden);
	TAKE(sh, vocabulary, w->vocab);
	LET(sh, head_param, vocabulary * hidden);
	return head_param;
}

/* The norm before the head and BERT's pooler. */
double
final_params(struct sheet *sh, const struct workload *w)
{
	TAKE(sh, hidden, w->hidden);
	TAKE(sh, n_norm_vectors, w->final_norm ? norm_vectors(w) : 0);
	double pooler_param;
	if (w->pooler)
		SET(sh, pooler_param, hidden * hidden + hidden);
	else
		SET(sh, pooler_param, 0);
	LET(sh, final_param, n_norm_vectors * hidden + pooler_param);
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

/* A list of operators has no architecture to count: its file says how many parameters it has. */
static double
stated_params(struct sheet *sh, const struct workload *w)
{
	TAKE(sh, stated_param, w->stated_params);
	LET(sh, model_param, stated_param);
	return model_param;
}

double
model_params(struct sheet *sh, const struct workload *w)
{
	if (w->kind == MODEL_OPERATORS)
		return stated_params(sh, w);
	assert(w->n_blocks > 0);
	CALL(sh, embedding_param, embedding_params(sh, w));
	SUM(sh, layers_param, i, w->n_blocks, block_params(sh, w, &w->blocks[i]));
	CALL(sh, final_param, final_params(sh, w));
	CALL(sh, head_param, head_params(sh, w));
	LET(sh, model_param, embedding_param + layers_param + final_param + head_param);
	return model_param;
}

/* As vendors count: everything but the routed experts that a token does not visit; the whole embedding table included.
 */
double
model_active_params(struct sheet *sh, const struct workload *w)
{
	if (w->kind == MODEL_OPERATORS)
		return stated_params(sh, w);
	assert(w->n_blocks > 0);
	CALL(sh, embedding_param, embedding_params(sh, w));
	SUM(sh, layers_active_param, i, w->n_blocks, block_active_params(sh, w, &w->blocks[i]));
	CALL(sh, final_param, final_params(sh, w));
	CALL(sh, head_param, head_params(sh, w));
	LET(sh, model_active_param, embedding_param + layers_active_param + final_param + head_param);
	return model_active_param;
}

double
part_params(struct sheet *sh, double n_layers, double one_param)
{
	GIVEN(sh, n_layers);
	GIVEN(sh, one_param);
	LET(sh, part_param, n_layers * one_param);
	return part_param;
}

double
part_share(struct sheet *sh, double part_param, double n_params)
{
	GIVEN(sh, part_param);
	GIVEN(sh, n_params);
	LET(sh, share_frac, part_param / n_params);
	return share_frac;
}

double
checkpoint_bytes(struct sheet *sh, double n_params, double stored_byte_per_param)
{
	GIVEN(sh, n_params);
	GIVEN(sh, stored_byte_per_param);
	LET(sh, checkpoint_byte, n_params * stored_byte_per_param);
	return checkpoint_byte;
}

double
params_error(struct sheet *sh, const struct workload *w)
{
	TAKE(sh, stated_param, w->stated_params);
	CALL(sh, model_param, model_params(sh, w));
	LET(sh, error_frac, fmax(model_param - stated_param, stated_param - model_param) / stated_param);
	return error_frac;
}
