/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checkpoint sizes: one dtype for all weights, or the published dtype of each part. */
#include "model/layer/parts.h"

/* Integers have a 16-bit scale per group, and a zero point of their own width unless they are symmetric; the scales of
 * the other types are in their bytes. */
static double
integer_scales(const struct quantisation *q, enum dtype t)
{
	const double group = q->group.value > 0 ? q->group.value : 128;

	if (t != DTYPE_INT4 && t != DTYPE_INT8)
		return 0;
	return (2 + (q->symmetric ? 0 : dtype_byte(t))) / group;
}

double
stored_byte(enum dtype t)
{
	const struct quantisation usual = {0};

	return t == DTYPE_INT4 ? dtype_byte(t) + integer_scales(&usual, t) : dtype_byte(t);
}

double
part_stored_byte(const struct quantisation *q, enum model_part part)
{
	const enum dtype t = part == PART_EXPERTS ? q->experts : q->weights;

	if (!q->given || !(q->quantised & 1u << part))
		return 2;
	return dtype_byte(t) + integer_scales(q, t);
}

/* Biases of experts stay in 16 bits; those of other maps do not count. */
static double
block_stored(struct sheet *sh, const struct workload *w, const struct block *b)
{
	const struct quantisation *q = &w->quantisation;

	TAKE(sh, n_layers, b->count);
	TAKE(sh, mixer_byte_per_param, part_stored_byte(q, PART_MIXER));
	TAKE(sh, mlp_byte_per_param, part_stored_byte(q, PART_MLP));
	TAKE(sh, expert_byte_per_param, part_stored_byte(q, PART_EXPERTS));
	TAKE(sh, shared_byte_per_param, part_stored_byte(q, PART_SHARED));
	TAKE(sh, plain_byte_per_param, 2.0);
	CALL(sh, mixer_param, layer_params(sh, w, b, IN_MIXER | IN_CROSS, COUNT_ALL));
	CALL(sh, mlp_param, layer_params(sh, w, b, IN_MLP, COUNT_ALL));
	CALL(sh, expert_param, layer_params(sh, w, b, IN_EXPERTS, COUNT_ALL));
	CALL(sh, shared_param, layer_params(sh, w, b, IN_SHARED | IN_LATENT, COUNT_ALL));
	CALL(sh, plain_param, layer_params(sh, w, b, IN_EXPERT_BIASES | IN_ROUTER | IN_NORMS, COUNT_ALL));
	LET(sh, mixer_byte, mixer_param * mixer_byte_per_param);
	LET(sh, mlp_byte, mlp_param * mlp_byte_per_param);
	LET(sh, expert_byte, expert_param * expert_byte_per_param);
	LET(sh, shared_byte, shared_param * shared_byte_per_param);
	LET(sh, plain_byte, plain_param * plain_byte_per_param);
	LET(sh, stored_byte, n_layers * (mixer_byte + mlp_byte + expert_byte + shared_byte + plain_byte));
	return stored_byte;
}

/* Tables, head, last norms and everything that is not quantized have 16 bits. */
double
published_bytes(struct sheet *sh, const struct workload *w)
{
	TAKE(sh, plain_byte_per_param, 2.0);
	CALL(sh, embedding_param, embedding_params(sh, w));
	CALL(sh, final_param, final_params(sh, w));
	CALL(sh, head_param, head_params(sh, w));
	SUM(sh, layers_byte, i, w->n_blocks, block_stored(sh, w, &w->blocks[i]));
	SUM(sh, encoder_byte, j, w->n_encoder_blocks, block_stored(sh, w, &w->encoder_blocks[j]));
	LET(sh, outside_byte, (embedding_param + final_param + head_param) * plain_byte_per_param);
	LET(sh, published_byte, layers_byte + encoder_byte + outside_byte);
	return published_byte;
}

double
checkpoint_bytes(struct sheet *sh, double n_params, double stored_byte_per_param)
{
	GIVEN(sh, n_params, stored_byte_per_param);
	LET(sh, checkpoint_byte, n_params * stored_byte_per_param);
	return checkpoint_byte;
}
