/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a GPU costs by the second. */
#ifndef RIDGE_PRICE_H
#define RIDGE_PRICE_H

#include "cli/command.h"

/* `given`, or the database's price of one GPU, which is listed under `assumed` with its date; absent if there is none.
 */
struct datum run_gpu_price(struct run *r, struct datum given, const struct gpu *gpu);

#endif
