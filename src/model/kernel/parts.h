/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the kernel models. */
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

struct tile {
	double tile_m, tile_n, n_splits;
};

/* A product that is cut into tiles, or n_groups like ones in the same waves. */
struct tiles {
	bool grouped;
	double n_groups, m, n, k, a_byte, w_byte;
	struct datum n_sms;
	double flop_per_s, traffic_s;       /* of all SMs; of the whole product */
	const struct gemm_calibration *fit; /* of a group: feed, steps, tiles and norm */
};

struct tile_times {
	double arithmetic_s, feed_s, extra_s;
};

/* The fastest one, by the same formula as the answer. */
struct tile tile_best(const struct tiles *w);
/* Waves of tiles; rows are recorded in the caller's scope. */
struct tile_times tile_times(struct sheet *sh, const struct tiles *w, const struct tile *t);
/* Three limits that meet smoothly. */
double blend_time(
    struct sheet *sh, const struct gemm_calibration *p, double arithmetic_s, double feed_s, double traffic_s);

#endif
