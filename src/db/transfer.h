/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Transfers of fitted kernels between GPUs: hwdb/transfers. */
#ifndef RIDGE_DATA_TRANSFER_H
#define RIDGE_DATA_TRANSFER_H

#include "db/binders.h"
#include "db/database.h"
#include "ridge/transfer.h"

bool transfer_bind(struct binder *b, const struct node *root, const char *id, struct transfer *out);
/* The rule for this GPU, or NULL. */
const struct transfer *database_transfer(struct database *db, struct arena *a, struct diag *d, const struct gpu *gpu);

#endif
