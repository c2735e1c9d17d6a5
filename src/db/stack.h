/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A stack file of the database as struct stack. */
#ifndef RIDGE_DATA_STACK_H
#define RIDGE_DATA_STACK_H

#include "db/database.h"
#include "db/schema.h"
#include "ridge/stack.h"

extern const struct schema stack_schema;

/* Strings live in the binder's arena or in the tree.  False on faults. */
bool stack_bind(struct binder *b, const struct node *root, const char *id, struct stack *out);

/* The file laid over those that its `extends` names; NULL on faults. */
const struct node *stack_extended(struct database *db, struct arena *a, struct diag *d, const struct node *root);
/* By name, with `overlay` (or NULL) laid over the file; NULL on faults. */
const struct stack *database_stack(struct database *db, struct arena *a, struct diag *d, const char *name,
    const struct node *overlay, struct source at, const char **announce);

#endif
