/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Physics of database entries: what a schema cannot see.  Rates against unit counts x clock, dense against sparse, one
 * direction against both, types that an architecture does not have, magnitudes.  Faults go to the diag at the figure's
 * place.
 */
#ifndef RIDGE_LINT_H
#define RIDGE_LINT_H

#include "base/base.h"
#include "model/hw/hw.h"
#include "model/layer/layer.h"

/* `link` is the entry that the GPU's link names, or NULL. */
void lint_gpu(struct diag *d, const struct gpu *gpu, const struct link *link);
void lint_link(struct diag *d, const struct link *link);
void lint_system(struct diag *d, const struct system *system);
/* In workload.c. */
void lint_workload(struct diag *d, const struct workload *w, double counted_params);

#endif
