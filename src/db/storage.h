/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `quantisation:` of a model file: in what types the published checkpoint is stored. */
#ifndef RIDGE_STORAGE_H
#define RIDGE_STORAGE_H

#include "db/schema.h"
#include "ridge/workload.h"

struct storage_file {
	int weights, experts, kv, activations, only;
	struct datum group;
	bool symmetric;
};

extern const struct schema storage_schema;

/* `map` NULL: it is not quantised. */
bool storage_finish(struct binder *b, const struct node *map, const struct storage_file *f, struct quantisation *out);

#endif
