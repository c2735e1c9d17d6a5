/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the searches over memory jobs share. */
#ifndef RIDGE_MEMORY_SEARCH_H
#define RIDGE_MEMORY_SEARCH_H

#include "search/plan/memory_fit.h"

/* True when tp divides the heads of every block, and its key and value heads can be dealt to the ranks. */
bool fit_divides_heads(const struct workload *w, double tp);
/* Routed experts of a layer, 0 when there are none. */
double fit_experts(const struct workload *w);

/* After a change of layout or batch: micro-batches and loss as the commands have them.  False when no whole numbers of
 * micro-batches do. */
bool fit_settle(struct memory_job *job);
/* False for experts that tensor parallelism would feed twice: no Megatron trains them without sequence parallelism. */
bool fit_may_train(const struct memory_job *job);

#endif
