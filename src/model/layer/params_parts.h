/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files that count parameters share. */
#ifndef RIDGE_PARAMS_PARTS_H
#define RIDGE_PARAMS_PARTS_H

#include "ridge/params.h"

/* Values as wide as keys unless the file says otherwise. */
static inline struct datum
value_width(const struct attention *a)
{
	return a->v_dim.value > 0 ? a->v_dim : a->head_dim;
}

static inline bool
has_indexer(const struct attention *a)
{
	return a->indexer.dim.value > 0;
}

/* RMSNorm has a gain, LayerNorm a gain and a bias.  Zhang and Sennrich, NeurIPS 2019; Ba et al., arXiv:1607.06450. */
static inline double
norm_vectors(const struct workload *w)
{
	return w->norm == NORM_LAYER ? 2.0 : 1.0;
}

/* Encoder and decoder each have their positions, norm of the embedding and last norm. */
static inline double
n_stacks(const struct workload *w)
{
	return w->kind == MODEL_ENCODER_DECODER ? 2.0 : 1.0;
}

double expert_bias_params(struct sheet *sh, const struct workload *w, const struct block *block); /* of one expert */
double mamba_params(struct sheet *sh, const struct workload *w, const struct mamba *m);
double delta_params(struct sheet *sh, const struct workload *w, const struct delta *d);
double kda_params(struct sheet *sh, const struct workload *w, const struct kda *k);

#endif
