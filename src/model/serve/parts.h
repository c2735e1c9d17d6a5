/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the files of the serving model. */
#ifndef RIDGE_MODEL_SERVE_PARTS_H
#define RIDGE_MODEL_SERVE_PARTS_H

#include "model/serve/serve.h"

/* GPUs that share a layer's attention, and those that each attend for their own sequences. */
static inline double
serve_shards(const struct serve_setup *s)
{
	return s->layout.attention_dp ? 1 : s->layout.tp;
}

static inline double
serve_groups(const struct serve_setup *s)
{
	return s->layout.attention_dp ? s->layout.tp : 1;
}

/* Products in 16 bits, whatever the rest runs in. */
static inline struct serve_format
serve_wide(const struct serve_setup *s)
{
	return (struct serve_format){
	    .type = DTYPE_BF16, .a_byte = 2, .w_byte = 2, .limit_flop_per_s = s->precision.wide_limit_flop_per_s};
}

/* One product in a given format: weights are never in the cache. */
double serve_product(
    struct sheet *sh, const struct serve_setup *s, const struct serve_format *f, double m, double n, double k);

/* Factor on the fixed parts of kernels in this engine, on this architecture. */
double serve_base_factor(const struct serve_setup *s);

/* The two halves of serve_layer_products. */
double serve_attention_products(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_new);
double serve_feed_products(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_new);

#endif
