/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameters of attention: heads, a latent for all heads, or compressed tokens; and of the indexers that choose for
 * them. */
#include "model/layer/parts.h"

/* An indexer has its own queries, one key with a norm, and a weight per head.  DeepSeek-AI, DeepSeek-V3.2, 2025,
 * section 2.1: queries start from the compressed ones of latent attention; elsewhere from the residual stream, without
 * the norm. */
static double
indexer_params(struct sheet *sh, const struct workload *w, const struct attention *a)
{
	if (!has_indexer(a)) {
		LET(sh, indexer_param, 0);
		return indexer_param;
	}
	TAKE(sh, hidden, w->hidden);
	TAKE(sh, n_index_heads, a->indexer.n_heads);
	TAKE(sh, index_dim, a->indexer.dim);
	if (a->kind == ATTENTION_HEADS) {
		LET(sh, indexer_param, hidden * n_index_heads * index_dim + hidden * index_dim);
		return indexer_param;
	}
	TAKE(sh, q_lora, a->q_lora);
	LET(sh, query_param, q_lora * n_index_heads * index_dim);
	LET(sh, key_param, hidden * index_dim + 2 * index_dim);
	LET(sh, indexer_param, query_param + key_param + hidden * n_index_heads);
	return indexer_param;
}

/* Queries, whole or through a compressed width with a norm; a gate doubles their projection (Qwen3-Next). */
static double
query_params(struct sheet *sh, const struct workload *w, const struct attention *a, double query_width)
{
	GIVEN(sh, query_width);
	TAKE(sh, hidden, w->hidden);
	TAKE(sh, n_query_maps, a->gate ? 2.0 : 1.0);
	double query_param;
	if (a->q_lora.value > 0) {
		TAKE(sh, q_lora, a->q_lora);
		SET(sh, query_param, hidden * q_lora + q_lora + n_query_maps * q_lora * query_width);
	} else
		SET(sh, query_param, n_query_maps * hidden * query_width);
	return query_param;
}

static double
bias_params(struct sheet *sh, const struct workload *w, const struct attention *a, double query_width, double kv_width)
{
	GIVEN(sh, query_width, kv_width);
	TAKE(sh, hidden, w->hidden);
	TAKE(sh, n_query_maps, a->gate ? 2.0 : 1.0);
	double bias_param;
	if (a->bias == BIAS_ALL)
		SET(sh, bias_param, n_query_maps * query_width + kv_width + hidden);
	else if (a->bias == BIAS_QKV)
		SET(sh, bias_param, n_query_maps * query_width + kv_width);
	else if (a->bias == BIAS_OUT)
		SET(sh, bias_param, hidden);
	else
		SET(sh, bias_param, 0);
	return bias_param;
}

/* Gains of queries and keys: of one head's width (Qwen3), or of all heads together (OLMo 2, MiniMax-M2). */
static double
qk_norm_params(struct sheet *sh, const struct attention *a)
{
	double qk_norm_param;

	TAKE(sh, head_dim, a->head_dim);
	if (a->qk_norm && a->qk_norm_full) {
		FROM(sh, a, n_heads, n_kv_heads);
		SET(sh, qk_norm_param, (n_heads + n_kv_heads) * head_dim);
	} else if (a->qk_norm)
		SET(sh, qk_norm_param, 2 * head_dim);
	else
		SET(sh, qk_norm_param, 0);
	return qk_norm_param;
}

/* Queries, keys, values and the output map.  GQA: Ainslie et al., EMNLP 2023. */
static double
heads_params(struct sheet *sh, const struct workload *w, const struct attention *a)
{
	TAKE(sh, hidden, w->hidden);
	FROM(sh, a, n_heads, n_kv_heads, head_dim);
	TAKE(sh, v_dim, value_width(a));
	LET(sh, query_width, n_heads * head_dim);
	EITHER(sh, kv_width, a->k_is_v, n_kv_heads * head_dim, n_kv_heads * (head_dim + v_dim));
	LET(sh, output_width, n_heads * v_dim);
	CALL(sh, query_param, query_params(sh, w, a, query_width));
	CALL(sh, bias_param, bias_params(sh, w, a, query_width, kv_width));
	CALL(sh, qk_norm_param, qk_norm_params(sh, a));
	CALL(sh, indexer_param, indexer_params(sh, w, a));
	WHEN(sh, sink_param, a->sinks, n_heads);
	LET(sh, map_param, query_param + hidden * (kv_width + output_width));
	LET(sh, attention_param, map_param + bias_param + qk_norm_param + sink_param + indexer_param);
	return attention_param;
}

/* Multi-head latent attention: down- and up-projections with a norm between.  DeepSeek-AI, arXiv:2405.04434,
 * section 2.1.  A gate is a map of the output's width (Kimi K3). */
static double
latent_params(struct sheet *sh, const struct workload *w, const struct attention *a)
{
	TAKE(sh, hidden, w->hidden);
	FROM(sh, a, n_heads, kv_lora, nope, rope, v_dim);
	TAKE(sh, n_gates, a->gate ? 1.0 : 0.0);
	LET(sh, query_width, n_heads * (nope + rope));
	double query_param;
	if (a->q_lora.value > 0) {
		TAKE(sh, q_lora, a->q_lora);
		SET(sh, query_param, hidden * q_lora + q_lora + q_lora * query_width);
	} else
		SET(sh, query_param, hidden * query_width);
	LET(sh, down_param, hidden * (kv_lora + rope) + kv_lora);
	LET(sh, up_param, kv_lora * n_heads * (nope + v_dim));
	LET(sh, output_param, (1 + n_gates) * n_heads * v_dim * hidden);
	CALL(sh, indexer_param, indexer_params(sh, w, a));
	LET(sh, attention_param, query_param + down_param + up_param + output_param + indexer_param);
	return attention_param;
}

/* A compressor makes one token of `ratio`: two maps, a bias per place and a norm; of overlapping stretches, so twice as
 * wide, where the ratio is 4.  DeepSeek-AI, DeepSeek-V4 technical report, 2026, and its reference implementation. */
static double
compressor_params(struct sheet *sh, const struct workload *w, const struct attention *a, double width)
{
	GIVEN(sh, width);
	TAKE(sh, hidden, w->hidden);
	TAKE(sh, ratio, a->ratio);
	TAKE(sh, n_overlapping, a->ratio.value == 4 ? 2.0 : 1.0);
	LET(sh, compressor_param, 2 * hidden * n_overlapping * width + ratio * n_overlapping * width + width);
	return compressor_param;
}

/* The indexer of compressed tokens: queries and weights, and a compressor of its own for the keys. */
static double
compressed_indexer_params(struct sheet *sh, const struct workload *w, const struct attention *a)
{
	TAKE(sh, hidden, w->hidden);
	TAKE(sh, q_lora, a->q_lora);
	TAKE(sh, n_index_heads, a->indexer.n_heads);
	TAKE(sh, index_dim, a->indexer.dim);
	CALL(sh, compressor_param, compressor_params(sh, w, a, index_dim));
	LET(sh, indexer_param, q_lora * n_index_heads * index_dim + hidden * n_index_heads + compressor_param);
	return indexer_param;
}

/* Compressed sparse attention: one key that is the value too, an output map in groups, a sink per head. */
static double
compressed_params(struct sheet *sh, const struct workload *w, const struct attention *a)
{
	TAKE(sh, hidden, w->hidden);
	FROM(sh, a, n_heads, head_dim, q_lora, o_lora);
	TAKE(sh, n_groups, a->o_groups);
	LET(sh, query_param, hidden * q_lora + q_lora + q_lora * n_heads * head_dim);
	LET(sh, key_param, hidden * head_dim + head_dim);
	LET(sh, output_param, n_heads * head_dim * o_lora + n_groups * o_lora * hidden);
	double compressor_param, indexer_param;
	if (a->ratio.value > 0)
		SET_CALL(sh, compressor_param, compressor_params(sh, w, a, head_dim));
	else
		SET(sh, compressor_param, 0);
	if (a->ratio.value == 4)
		SET_CALL(sh, indexer_param, compressed_indexer_params(sh, w, a));
	else
		SET(sh, indexer_param, 0);
	LET(sh, attention_param, query_param + key_param + output_param + n_heads + compressor_param + indexer_param);
	return attention_param;
}

double
attention_params(struct sheet *sh, const struct workload *w, const struct block *block)
{
	const struct attention *a = &block->attention;

	switch (a->kind) {
	case ATTENTION_HEADS:
		return heads_params(sh, w, a);
	case ATTENTION_MLA:
		return latent_params(sh, w, a);
	case ATTENTION_CSA:
		return compressed_params(sh, w, a);
	}
	return NAN;
}

double
cross_params(struct sheet *sh, const struct workload *w, const struct block *block)
{
	if (!block->cross) {
		LET(sh, cross_param, 0);
		return cross_param;
	}
	CALL(sh, attention_param, attention_params(sh, w, block));
	LET(sh, cross_param, attention_param);
	return cross_param;
}
