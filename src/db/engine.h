/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An engine file of the database as struct engine. */
#ifndef RIDGE_DATA_ENGINE_H
#define RIDGE_DATA_ENGINE_H

#include "db/database.h"
#include "db/schema.h"
#include "ridge/engine.h"

extern const struct schema engine_schema;

/* The file with everything that it `extends` beneath it, or NULL on faults. */
const struct node *engine_tree(struct database *db, struct arena *a, struct diag *d, const struct node *root);
/* Strings live in the binder's arena or in the tree.  False on faults. */
bool engine_bind(struct binder *b, const struct node *root, const char *id, struct engine *out);

/* By name, with `overlay` (or NULL) laid over the file; NULL on faults. */
struct engine *database_engine(struct database *db, struct arena *a, struct diag *d, const char *name,
    const struct node *overlay, struct source at, const char **announce);

#endif
