/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Heads, mixers and experts of a workload. */
#include "model/layer/layer.h"

struct datum
block_heads(const struct block *block)
{
	switch (block->mixer) {
	case MIXER_ATTENTION:
		return block->attention.n_heads;
	case MIXER_MAMBA:
		return block->mamba.n_heads;
	case MIXER_DELTA:
		return block->delta.n_value_heads;
	case MIXER_KDA:
		return block->kda.n_heads;
	case MIXER_NONE:
		break;
	}
	return datum_absent();
}

bool
workload_recurs(const struct workload *w)
{
	for (int i = 0; i < w->n_blocks; i++)
		if (w->blocks[i].mixer != MIXER_ATTENTION && w->blocks[i].mixer != MIXER_NONE)
			return true;
	return false;
}

bool
workload_has_latent(const struct workload *w)
{
	for (int i = 0; i < w->n_blocks; i++)
		if (attention_is_latent(&w->blocks[i].attention))
			return true;
	return false;
}

bool
workload_has_experts(const struct workload *w)
{
	for (int i = 0; i < w->n_blocks; i++)
		if (w->blocks[i].moe.given)
			return true;
	return false;
}

const struct block *
workload_attention(const struct workload *w)
{
	for (int i = 0; i < w->n_blocks; i++)
		if (w->blocks[i].mixer == MIXER_ATTENTION)
			return &w->blocks[i];
	return NULL;
}

bool
workload_attends(const struct workload *w)
{
	return workload_attention(w) != NULL;
}
