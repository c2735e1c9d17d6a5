/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One binder per kind of file: a YAML tree becomes a struct.  Strings live in the binder's arena or in the tree. */
#ifndef RIDGE_BINDERS_H
#define RIDGE_BINDERS_H

#include "db/schema.h"
#include "ridge/hw.h"
#include "ridge/workload.h"

bool link_bind(struct binder *b, const struct node *root, const char *id, struct link *out);
bool system_bind(struct binder *b, const struct node *root, const char *id, struct system *out, const char **gpu_id,
    const char **fabric_id);
bool calibration_bind(struct binder *b, const struct node *root, const char *id, struct calibration *out);
bool workload_bind(struct binder *b, const struct node *root, const char *id, struct workload *out);

#endif
