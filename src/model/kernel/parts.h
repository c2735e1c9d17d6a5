/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the kernel models share. */
#ifndef RIDGE_MODEL_KERNEL_PARTS_H
#define RIDGE_MODEL_KERNEL_PARTS_H

#include "model/hw/hw.h"

/* An option of a shape that is not used is 0, and a factor of 1. */
static inline double
kernel_factor(double frac)
{
	return frac > 0 ? frac : 1;
}

/* Tiles of the GEMMs' models, searched many times over.  These are fmin, fmax and ceil of numbers above 0,
 * which compilers inline. */
static inline double
kernel_least(double a, double b)
{
	return a < b ? a : b;
}

static inline double
kernel_most(double a, double b)
{
	return a > b ? a : b;
}

static inline double
kernel_up(double x)
{
	const double whole = x < 9e15 ? (double)(long long)x : x;

	return whole < x ? whole + 1 : whole;
}

#endif
