/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameter counts, exact.  Shapes are those of workload.h; results are counts of parameters. */
#ifndef RIDGE_PARAMS_H
#define RIDGE_PARAMS_H

#include "ridge/workload.h"

/* One layer of a block, by part. */
double attention_params(struct sheet *sh, const struct workload *w, const struct block *block);
double mlp_params(struct sheet *sh, const struct workload *w, const struct block *block);
double expert_params(struct sheet *sh, const struct workload *w, const struct block *block); /* ONE routed expert */
double shared_expert_params(
    struct sheet *sh, const struct workload *w, const struct block *block); /* all shared ones */
double router_params(struct sheet *sh, const struct workload *w, const struct block *block);
double norm_params(struct sheet *sh, const struct workload *w); /* the norms of one layer, without QK-norm */
double layer_params(struct sheet *sh, const struct workload *w, const struct block *block);
double layer_active_params(struct sheet *sh, const struct workload *w, const struct block *block); /* used per token */

/* Outside the layers. */
double embedding_params(
    struct sheet *sh, const struct workload *w); /* tokens, positions, token types, patches, their norm */
double head_params(struct sheet *sh, const struct workload *w); /* 0 when tied or absent */

/* The whole model: total, and used for one token. */
double model_params(struct sheet *sh, const struct workload *w);
double model_active_params(struct sheet *sh, const struct workload *w);
/* A part as often as it stands, and its share of the whole. */
double part_params(struct sheet *sh, double n_layers, double one_param);
double part_share(struct sheet *sh, double part_param, double n_params);
/* The norm in front of the head and the pooler. */
double final_params(struct sheet *sh, const struct workload *w);
/* Bytes of a checkpoint that stores every parameter alike. */
double checkpoint_bytes(struct sheet *sh, double n_params, double stored_byte_per_param);
/* How far the count is from what the file says was published (stated_params must be given). */
double params_error(struct sheet *sh, const struct workload *w);

#endif
