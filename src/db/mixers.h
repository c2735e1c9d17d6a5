/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What mixes the tokens of a layer: attention of three forms, or a recurrence. */
#ifndef RIDGE_MIXERS_H
#define RIDGE_MIXERS_H

#include "db/layers.h"

/* Fills out->mixer and the struct that belongs to it. */
bool mixer_finish(
    struct binder *b, const struct node *map, const struct block_file *f, struct datum hidden, struct block *out);

#endif
