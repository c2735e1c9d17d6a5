/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the searches over memory jobs share. */
#ifndef RIDGE_MEMORY_SEARCH_H
#define RIDGE_MEMORY_SEARCH_H

#include "engine/memory_fit.h"

/* True when tp divides the heads of every block. */
bool fit_divides_heads(const struct workload *w, double tp);
/* Routed experts of a layer, 0 when there are none. */
double fit_experts(const struct workload *w);

#endif
