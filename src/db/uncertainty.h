/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An uncertainty file of the database: how wrong a kind of answer may be, beyond the residuals of a calibration. */
#ifndef RIDGE_DATA_UNCERTAINTY_H
#define RIDGE_DATA_UNCERTAINTY_H

#include "db/database.h"
#include "db/schema.h"
#include "ridge/uncertainty.h"

/* Strings live in the binder's arena or in the tree.  False on faults. */
bool uncertainty_bind(struct binder *b, const struct node *root, const char *id, struct uncertainty *out);

/* Of a kind of answer (`gemm`, `train`); NULL when there is no such file, which is no error, or on faults. */
const struct uncertainty *database_uncertainty(struct database *db, struct arena *a, struct diag *d, const char *name);

#endif
