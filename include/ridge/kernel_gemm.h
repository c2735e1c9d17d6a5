/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time of one matrix product on a GPU whose parameters were fitted to measurements. */
#ifndef RIDGE_KERNEL_GEMM_H
#define RIDGE_KERNEL_GEMM_H

#include "ridge/hw.h"

/* (m x k) times (k x n).  Bytes per element of activations, weights and output.
 * n_copies: how many copies of the weights a benchmark visits in turn; 0: weights are never in the cache, as in a
 * model.  The members after the blank line have no effect where they are 0. */
struct gemm_shape {
	double m, n, k;
	double a_byte, w_byte, o_byte;
	double n_copies;
	bool quantise; /* activations are quantised on the way in */

	double weight_byte_per_clock; /* most that one SM unpacks per clock of weights in another type */
	double rate_frac;             /* factor on the arithmetic, where a kernel reaches less than the fitted one */
	double limit_flop_per_s;      /* most arithmetic that the power allows */
	double power_frac;            /* share of its speed that a card runs at below its usual power limit */
};

/* The shape of a product of dtype t in a model. */
struct gemm_shape gemm_shape_of(double m, double n, double k, enum dtype t);
/* True when the calibration has parameters for this dtype. */
bool gemm_calibrated(const struct calibration *c, enum dtype t);
double gemm_time(struct sheet *sh, const struct gemm_shape *shape, const struct calibration *c, enum dtype t);

#endif
