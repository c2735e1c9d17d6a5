/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a layer keeps of a sequence besides keys and values of heads; kv.c adds it all up.  Bytes on one of tp GPUs. */
#ifndef RIDGE_STATE_PARTS_H
#define RIDGE_STATE_PARTS_H

#include "ridge/kv.h"

static inline bool
block_recurs(const struct block *b)
{
	return b->mixer != MIXER_ATTENTION && b->mixer != MIXER_NONE;
}

static inline bool
block_compresses(const struct block *b)
{
	return b->mixer == MIXER_ATTENTION && b->attention.kind == ATTENTION_CSA;
}

/* The state of one recurrent layer, which does not grow. */
double recurrent_layer(struct sheet *sh, const struct workload *w, const struct block *b, double tp);

/* The key that an indexer keeps of each token, beside the cache. */
double indexer_key(struct sheet *sh, const struct attention *a, double kv_elem_byte);
/* Latent rows that sparse kernels read in 8 bits. */
double packed_latent(struct sheet *sh, const struct attention *a);

/* Compressed tokens: what each token adds, what does not grow, and a sequence in blocks. */
double compressed_slope(struct sheet *sh, const struct attention *a);
double compressed_constant(struct sheet *sh, const struct attention *a, double block_token);
double compressed_sequence(struct sheet *sh, const struct attention *a, double seq_token, double block_token);

#endif
