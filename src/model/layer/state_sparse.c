/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sparse attention: the keys of indexers, and tokens compressed to one of several.  All heads share these, so every GPU
 * of a tensor-parallel group keeps the whole of them.
 */
#include "model/layer/parts.h"

/* DeepSeek-AI, DeepSeek-V3.2, 2025: 8-bit keys with one fp32 scale per 128 values.  Indexers of other attention cache a
 * key of the cache's own type. */
double
indexer_key(struct sheet *sh, const struct attention *a, double kv_elem_byte)
{
	GIVEN(sh, kv_elem_byte);
	if (!(a->indexer.dim.value > 0)) {
		LET(sh, key_byte_per_token, 0);
		return key_byte_per_token;
	}
	TAKE(sh, index_dim, a->indexer.dim);
	if (a->kind == ATTENTION_HEADS) {
		LET(sh, key_byte_per_token, index_dim * kv_elem_byte);
		return key_byte_per_token;
	}
	TAKE(sh, narrow_byte, 1.0);
	TAKE(sh, scale_byte, 4.0);
	LET(sh, key_byte_per_token, index_dim * narrow_byte + ceil(index_dim / 128) * scale_byte);
	return key_byte_per_token;
}

/* An 8-bit latent with one fp32 scale per 128 values beside a 16-bit rotary part: the row of FlashMLA's sparse kernels.
 */
double
packed_latent(struct sheet *sh, const struct attention *a)
{
	FROM(sh, a, kv_lora, rope);
	TAKE(sh, narrow_byte, 1.0);
	TAKE(sh, scale_byte, 4.0);
	TAKE(sh, rope_byte, 2.0);
	LET(sh, latent_byte_per_token, kv_lora * narrow_byte + kv_lora / 128 * scale_byte + rope * rope_byte);
	return latent_byte_per_token;
}

/* --- compressed sparse attention (DeepSeek-V4 technical report, 2026, and its reference implementation) --- */

/* A row is packed whatever the type of the cache: 8 bits, a 16-bit rotary part, 8 bytes of scales. */
static double
compressed_row(struct sheet *sh, const struct attention *a)
{
	FROM(sh, a, head_dim, rope);
	TAKE(sh, narrow_byte, 1.0);
	TAKE(sh, rope_byte, 2.0);
	TAKE(sh, scales_byte, 8.0);
	LET(sh, row_byte_per_token, (head_dim - rope) * narrow_byte + rope * rope_byte + scales_byte);
	return row_byte_per_token;
}

/* What one compressed token takes: its row, and the indexer's key where tokens are compressed 4 to 1. */
static double
compressed_token(struct sheet *sh, const struct attention *a)
{
	CALL(sh, row_byte_per_token, compressed_row(sh, a));
	double key_byte_per_token;
	if (a->ratio.value == 4)
		SET_CALL(sh, key_byte_per_token, indexer_key(sh, a, 1));
	else
		SET(sh, key_byte_per_token, 0);
	LET(sh, compressed_byte_per_token, row_byte_per_token + key_byte_per_token);
	return compressed_byte_per_token;
}

double
compressed_slope(struct sheet *sh, const struct attention *a)
{
	if (!(a->ratio.value > 0)) {
		LET(sh, layer_byte_per_token, 0);
		return layer_byte_per_token;
	}
	TAKE(sh, ratio, a->ratio);
	CALL(sh, compressed_byte_per_token, compressed_token(sh, a));
	LET(sh, layer_byte_per_token, compressed_byte_per_token / ratio);
	return layer_byte_per_token;
}

/* What a compressor of this width holds until a token is complete: values and weights in fp32, of two overlapping
 * stretches where the ratio is 4. */
static double
compressor_state(struct sheet *sh, const struct attention *a, double width)
{
	GIVEN(sh, width);
	TAKE(sh, ratio, a->ratio);
	TAKE(sh, n_overlapping, a->ratio.value == 4 ? 2.0 : 1.0);
	TAKE(sh, float_byte, 4.0);
	LET(sh, compressor_byte, 2 * n_overlapping * width * float_byte * n_overlapping * ratio);
	return compressor_byte;
}

static double
compressor_states(struct sheet *sh, const struct attention *a)
{
	double token_byte, key_byte;

	if (a->ratio.value > 0)
		SET_CALL(sh, token_byte, compressor_state(sh, a, a->head_dim.value));
	else
		SET(sh, token_byte, 0);
	if (a->ratio.value == 4)
		SET_CALL(sh, key_byte, compressor_state(sh, a, a->indexer.dim.value));
	else
		SET(sh, key_byte, 0);
	LET(sh, compressors_byte, token_byte + key_byte);
	return compressors_byte;
}

double
compressed_constant(struct sheet *sh, const struct attention *a, double block_token)
{
	GIVEN(sh, block_token);
	TAKE(sh, window_token, a->window);
	CALL(sh, row_byte_per_token, compressed_row(sh, a));
	CALL(sh, compressors_byte, compressor_states(sh, a));
	LET(sh, stored_token, ceil(window_token / block_token) * block_token);
	LET(sh, layer_byte, stored_token * row_byte_per_token + compressors_byte);
	return layer_byte;
}

double
compressed_sequence(struct sheet *sh, const struct attention *a, double seq_token, double block_token)
{
	GIVEN(sh, seq_token, block_token);
	TAKE(sh, window_token, a->window);
	CALL(sh, row_byte_per_token, compressed_row(sh, a));
	CALL(sh, compressors_byte, compressor_states(sh, a));
	LET(sh, near_token, ceil(fmin(seq_token, window_token) / block_token) * block_token);
	LET(sh, near_byte, near_token * row_byte_per_token + compressors_byte);
	if (!(a->ratio.value > 0)) {
		LET(sh, layer_byte, near_byte);
		return layer_byte;
	}
	TAKE(sh, ratio, a->ratio);
	CALL(sh, compressed_byte_per_token, compressed_token(sh, a));
	LET(sh, stored_token, ceil(seq_token / block_token) * block_token);
	LET(sh, far_token, floor(stored_token / ratio));
	LET(sh, layer_byte, near_byte + far_token * compressed_byte_per_token);
	return layer_byte;
}
