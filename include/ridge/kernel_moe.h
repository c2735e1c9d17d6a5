/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time of the experts of one mixture-of-experts layer on one GPU whose parameters were fitted to measurements. */
#ifndef RIDGE_KERNEL_MOE_H
#define RIDGE_KERNEL_MOE_H

#include "ridge/hw.h"

/*
 * n_tokens tokens of all the ep ranks together, each to top_k of n_experts experts of expert_width; tp GPUs share an
 * expert's width.  Bytes per element of activations and weights.  Factors that are 0 have no effect.
 */
struct moe_shape {
	double n_tokens, hidden, expert_width, top_k, n_experts, tp, ep;
	double a_byte, w_byte;
	bool gated;    /* up and gate projection in one product */
	bool expected; /* each token picks at random: some experts get none; else as few are idle as possible */

	/* Rows of this rank's experts against the mean of the ranks: skewed routing. */
	double load_frac;
	double time_frac;             /* factor on the two products */
	double weight_byte_per_clock; /* most that one SM unpacks per clock of weights in another type */
	double hit_frac;              /* share of the weights that L2 holds */
	bool repeated;                /* a benchmark, which finds what fits of the weights in L2 */
};

/* True when the calibration has parameters for experts in this type. */
bool moe_calibrated(const struct calibration *c, enum dtype t);
/* Routing, permutation, the two grouped products, the activation between them and the weighted sum. */
double moe_time(
    struct sheet *sh, const struct moe_shape *shape, const struct moe_calibration *p, const struct calibration *c);
/* One grouped product: n_groups products of (n_rows x n_depth) and (n_depth x n_columns), all in one launch. */
double grouped_gemm_time(struct sheet *sh, const struct moe_shape *shape, const struct moe_calibration *p,
    const struct calibration *c, double n_groups, double n_rows, double n_columns, double n_depth);

#endif
