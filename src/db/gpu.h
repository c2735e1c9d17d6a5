/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A GPU file of the database as struct gpu. */
#ifndef RIDGE_DATA_GPU_H
#define RIDGE_DATA_GPU_H

#include "db/schema.h"
#include "ridge/hw.h"

extern const struct schema gpu_schema, price_schema;

/* Strings live in the binder's arena or in the tree.  False on faults. */
bool gpu_bind(struct binder *b, const struct node *root, const char *id, struct gpu *out);

#endif
