/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernels of a GPU at the figures of its entry, before anything is set; private to kernels.c and ask/train/kernels.c.
 */
#ifndef RIDGE_BIND_PARTS_H
#define RIDGE_BIND_PARTS_H

#include "ask/bind/bind.h"

/* One calibration file, NULL without. */
const struct calibration *filed_fit(struct run *r, const struct gpu *gpu, const char *backend);
/* As bind_kernels; made once and kept with the entry. */
const struct calibration *filed_kernels(
    struct run *r, const struct gpu *gpu, enum kernel_purpose purpose, const char *engine);
/* All engines' kernels, products of the engine whose prefill is the middle one. */
const struct calibration *middle_kernels(struct run *r, const struct gpu *gpu);
/* The consensus of the measured products, the middle one of the engines' attention kernels, the 8-bit products of the
 * engine that has the fastest. */
const struct calibration *train_kernels(struct run *r, const struct gpu *gpu);

#endif
