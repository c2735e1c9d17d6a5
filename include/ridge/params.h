/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameter counts, exact.  Shapes are those of workload.h; results are counts of parameters. */
#ifndef RIDGE_PARAMS_H
#define RIDGE_PARAMS_H

#include "ridge/workload.h"

/* One layer of a block, by part: what mixes its tokens (attention or what stands in its place), attention to an
 * encoder, and the feed-forward part. */
double mixer_params(struct sheet *sh, const struct workload *w, const struct block *block);
double attention_params(
    struct sheet *sh, const struct workload *w, const struct block *block); /* of one that attends */
double cross_params(struct sheet *sh, const struct workload *w, const struct block *block);
double mlp_params(struct sheet *sh, const struct workload *w, const struct block *block);
double expert_params(struct sheet *sh, const struct workload *w, const struct block *block); /* ONE routed expert */
double shared_expert_params(
    struct sheet *sh, const struct workload *w, const struct block *block); /* all shared ones */
double latent_map_params(
    struct sheet *sh, const struct workload *w, const struct block *block); /* into and out of the experts' latent */
double router_params(struct sheet *sh, const struct workload *w, const struct block *block);
/* MLP or experts; `active`: those that one token meets. */
double feed_forward_params(struct sheet *sh, const struct workload *w, const struct block *block, bool active);
double layer_norm_params(struct sheet *sh, const struct workload *w, const struct block *block); /* without QK-norm */
double layer_params(struct sheet *sh, const struct workload *w, const struct block *block);
double layer_active_params(struct sheet *sh, const struct workload *w, const struct block *block); /* used per token */

/* Outside the layers. */
double embedding_params(
    struct sheet *sh, const struct workload *w); /* tokens, positions, token types, patches, their norm */
double head_params(struct sheet *sh, const struct workload *w); /* 0 when tied or absent */

/* All layers of an encoder-decoder's encoder. */
double encoder_params(struct sheet *sh, const struct workload *w, bool active);

/* The whole model: total, and used for one token. */
double model_params(struct sheet *sh, const struct workload *w);
double model_active_params(struct sheet *sh, const struct workload *w);
/* Without the tables that tokens are looked up in; and without the head too. */
double body_params(struct sheet *sh, const struct workload *w);
double inner_params(struct sheet *sh, const struct workload *w);
/* A part as often as it stands, and its share of the whole. */
double part_params(struct sheet *sh, double n_layers, double one_param);
double part_share(struct sheet *sh, double part_param, double n_params);
/* The norm in front of the head and the pooler. */
double final_params(struct sheet *sh, const struct workload *w);
/* Bytes per parameter of a part as it was published, scales included; and of the whole, part by part. */
/* Bytes of a stored weight of this type, scales included (integers of 4 bits: in groups of 128). */
double stored_byte(enum dtype t);
double part_stored_byte(const struct quantisation *q, enum model_part part);
double published_bytes(struct sheet *sh, const struct workload *w);
/* Bytes of a checkpoint that stores every parameter alike. */
double checkpoint_bytes(struct sheet *sh, double n_params, double stored_byte_per_param);
/* How far the count is from what the file says was published (stated_params must be given). */
double params_error(struct sheet *sh, const struct workload *w);

#endif
