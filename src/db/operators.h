/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `operators:` of a model file: any workload as an explicit list. */
#ifndef RIDGE_OPERATORS_H
#define RIDGE_OPERATORS_H

#include "db/schema.h"
#include "ridge/workload.h"

bool operators_bind(struct binder *b, const struct node *root, struct workload *out);

#endif
