/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model by name, or as the few numbers that a cache of keys and values depends on. */
#ifndef RIDGE_SHAPE_H
#define RIDGE_SHAPE_H

#include "cli/command.h"

struct shape_in {
#define SHAPE_OPTIONS(X)                                                                                               \
	X(0, layers, "layers", "layers", COUNT, "N", "", NULL, "attention layers of a model that has no name")         \
	X(0, heads, "heads", "heads", COUNT, "N", "", NULL,                                                            \
	    "query heads of such a model (default: as many as key/value heads)")                                       \
	X(0, kv_heads, "kv-heads", "kv_heads", COUNT, "N", "", NULL, "key/value heads of such a model")                \
	X(0, head_dim, "head-dim", "head_dim", COUNT, "N", "", NULL, "width of a head of such a model")
	SHAPE_OPTIONS(OPTION_MEMBER)
};

bool shape_given(const struct shape_in *in);
/* The model with this name, or one made of the shape; it keeps a cache.  NULL with errors. */
const struct workload *run_shape(struct run *r, struct word model, const struct shape_in *in);
/* A whole number from `least` on; an absent one is all right. */
bool run_whole(struct run *r, const char *option, struct datum d, double least);

#endif
