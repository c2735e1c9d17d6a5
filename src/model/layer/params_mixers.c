/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameters of recurrences that stand where attention would. */
#include "model/layer/parts.h"

/* Mamba-2: one input map for gate, values, the state's input and output maps and the steps; a short convolution with a
 * bias over all but the gate; decay, skip and step bias of each head; a gated norm; the output map.  Dao and Gu,
 * arXiv:2405.21060, section 7. */
double
mamba_params(struct sheet *sh, const struct workload *w, const struct mamba *m)
{
	TAKE(sh, hidden, w->hidden);
	FROM(sh, m, n_heads, head_dim, n_groups);
	TAKE(sh, state_width, m->state);
	TAKE(sh, n_taps, m->conv);
	LET(sh, inner_width, n_heads * head_dim);
	LET(sh, mixed_width, inner_width + 2 * n_groups * state_width);
	LET(sh, input_param, hidden * (inner_width + mixed_width + n_heads));
	LET(sh, convolution_param, mixed_width * (n_taps + 1));
	LET(sh, head_param, 3 * n_heads);
	LET(sh, output_param, inner_width + inner_width * hidden);
	LET(sh, mamba_param, input_param + convolution_param + head_param + output_param);
	return mamba_param;
}

/* Gated delta net: queries, keys, values and gate; two numbers per value head and token; a short convolution; decay and
 * step bias of each head; a norm of one head's width; the output map.  Yang, Kautz and Hatamizadeh, ICLR 2025. */
double
delta_params(struct sheet *sh, const struct workload *w, const struct delta *d)
{
	TAKE(sh, hidden, w->hidden);
	FROM(sh, d, n_key_heads, n_value_heads, key_dim, value_dim);
	TAKE(sh, n_taps, d->conv);
	LET(sh, key_width, n_key_heads * key_dim);
	LET(sh, value_width, n_value_heads * value_dim);
	LET(sh, input_param, hidden * (2 * key_width + 2 * value_width) + 2 * hidden * n_value_heads);
	LET(sh, convolution_param, (2 * key_width + value_width) * n_taps);
	LET(sh, head_param, 2 * n_value_heads + value_dim);
	LET(sh, output_param, value_width * hidden);
	LET(sh, delta_param, input_param + convolution_param + head_param + output_param);
	return delta_param;
}

/* Kimi delta attention: the decay is of each channel and comes through one head's width, as the output gate does unless
 * it has full rank.  Kimi Team, arXiv:2510.26692, section 4. */
double
kda_params(struct sheet *sh, const struct workload *w, const struct kda *k)
{
	TAKE(sh, hidden, w->hidden);
	FROM(sh, k, n_heads, head_dim);
	TAKE(sh, n_taps, k->conv);
	LET(sh, inner_width, n_heads * head_dim);
	LET(sh, map_param, 4 * hidden * inner_width);
	LET(sh, convolution_param, 3 * inner_width * n_taps);
	LET(sh, decay_param, hidden * head_dim + head_dim * inner_width + inner_width + n_heads);
	EITHER(sh, gate_param, k->full_gate, hidden * inner_width, hidden * head_dim + head_dim * inner_width);
	LET(sh, step_param, hidden * n_heads);
	LET(sh, kda_param, map_param + convolution_param + decay_param + gate_param + step_param + head_dim);
	return kda_param;
}

double
mixer_params(struct sheet *sh, const struct workload *w, const struct block *block)
{
	switch (block->mixer) {
	case MIXER_ATTENTION:
		return attention_params(sh, w, block);
	case MIXER_MAMBA:
		return mamba_params(sh, w, &block->mamba);
	case MIXER_DELTA:
		return delta_params(sh, w, &block->delta);
	case MIXER_KDA:
		return kda_params(sh, w, &block->kda);
	case MIXER_NONE:
		break;
	}
	LET(sh, mixer_param, 0);
	return mixer_param;
}
