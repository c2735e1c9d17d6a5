/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recurrent states: one matrix per head, and the last tokens of the short convolution in front of it.  The state is
 * kept in fp32 unless the model or the engine says otherwise, the convolution's tokens in the 16 bits of the
 * activations.
 */
#include "model/layer/parts.h"

static double
state_elem_byte(const struct workload *w)
{
	return w->state_byte.value > 0 ? w->state_byte.value : 4;
}

/* Mamba-2: a matrix of head_dim x state per head (Dao and Gu, arXiv:2405.21060).  Groups that tensor parallelism does
 * not divide are kept by every GPU. */
static double
mamba_layer(struct sheet *sh, const struct workload *w, const struct mamba *m, double tp)
{
	GIVEN(sh, tp);
	FROM(sh, m, n_heads, head_dim, n_groups);
	TAKE(sh, state_width, m->state);
	TAKE(sh, n_taps, m->conv);
	TAKE(sh, tap_byte, 2.0);
	TAKE(sh, state_byte, state_elem_byte(w));
	EITHER(sh, n_local_groups, fmod(m->n_groups.value, tp) == 0, n_groups / tp, 1);
	LET(sh, inner_width, n_heads * head_dim / tp);
	LET(sh, convolution_byte, (inner_width + 2 * n_local_groups * state_width) * (n_taps - 1) * tap_byte);
	LET(sh, matrix_byte, inner_width * state_width * state_byte);
	LET(sh, layer_byte, convolution_byte + matrix_byte);
	return layer_byte;
}

/* Gated delta net: a matrix of key_dim x value_dim per value head (Yang, Kautz and Hatamizadeh, ICLR 2025). */
static double
delta_layer(struct sheet *sh, const struct workload *w, const struct delta *d, double tp)
{
	GIVEN(sh, tp);
	FROM(sh, d, n_key_heads, n_value_heads, key_dim, value_dim);
	TAKE(sh, n_taps, d->conv);
	TAKE(sh, tap_byte, 2.0);
	TAKE(sh, state_byte, state_elem_byte(w));
	LET(sh, key_width, fmax(1, n_key_heads / tp) * key_dim);
	LET(sh, value_width, n_value_heads / tp * value_dim);
	LET(sh, convolution_byte, (2 * key_width + value_width) * (n_taps - 1) * tap_byte);
	LET(sh, matrix_byte, value_width * key_dim * state_byte);
	LET(sh, layer_byte, convolution_byte + matrix_byte);
	return layer_byte;
}

/* Kimi delta attention: a square matrix per head, and a convolution each for queries, keys and values (Kimi Team,
 * arXiv:2510.26692). */
static double
kda_layer(struct sheet *sh, const struct workload *w, const struct kda *k, double tp)
{
	GIVEN(sh, tp);
	FROM(sh, k, n_heads, head_dim);
	TAKE(sh, n_taps, k->conv);
	TAKE(sh, tap_byte, 2.0);
	TAKE(sh, state_byte, state_elem_byte(w));
	LET(sh, inner_width, n_heads / tp * head_dim);
	LET(sh, convolution_byte, 3 * inner_width * (n_taps - 1) * tap_byte);
	LET(sh, matrix_byte, inner_width * head_dim * state_byte);
	LET(sh, layer_byte, convolution_byte + matrix_byte);
	return layer_byte;
}

double
recurrent_layer(struct sheet *sh, const struct workload *w, const struct block *b, double tp)
{
	switch (b->mixer) {
	case MIXER_MAMBA:
		return mamba_layer(sh, w, &b->mamba, tp);
	case MIXER_DELTA:
		return delta_layer(sh, w, &b->delta, tp);
	case MIXER_KDA:
		return kda_layer(sh, w, &b->kda, tp);
	case MIXER_ATTENTION:
	case MIXER_NONE:
		break;
	}
	LET(sh, layer_byte, 0);
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
