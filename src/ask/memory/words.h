/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words of the options about memory as what the models take. */
#ifndef RIDGE_MEMORY_WORDS_H
#define RIDGE_MEMORY_WORDS_H

#include "cli/command.h"
#include "ridge/memory.h"

/* `none`, `full`, `every-2`, `uniform-4`, `op`, `selective` or a list of modules.  `sqrt` is uniform with n = 0, which
 * the caller fills in.  False with errors. */
bool memory_recompute(struct run *r, const struct words *list, enum recompute *policy, double *n, unsigned *modules);
/* Whether a model has so many layers between two checkpoints; false with an error. */
bool memory_interval(struct run *r, const struct words *list, double n, struct datum n_layers);
bool memory_offload(struct run *r, const struct words *list, unsigned *out);
bool memory_targets(struct run *r, const struct words *list, unsigned *out);
/* `3,4*14,2`: layers of each stage. */
bool memory_stages(struct run *r, const struct words *list, const int **layers, int *n);
/* The optimizer, state scheme or format with this name; the option's choices have been checked. */
void memory_optimizer(const char *name, enum optimizer *out);
enum state_scheme memory_scheme(const char *name);
enum quant memory_quant(const char *name);

#endif
