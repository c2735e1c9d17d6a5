/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A reliability file of the database: what was published about the interruptions of a run. */
#ifndef RIDGE_DATA_RELIABILITY_H
#define RIDGE_DATA_RELIABILITY_H

#include "db/database.h"
#include "db/schema.h"
#include "ridge/reliability.h"

/* Strings live in the binder's arena or in the tree.  False on faults. */
bool reliability_bind(struct binder *b, const struct node *root, const char *id, struct reliability *out);

/* By name; NULL on faults. */
const struct reliability *database_reliability(
    struct database *db, struct arena *a, struct diag *d, const char *name, struct source at, const char **announce);

#endif
