/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernels that do little arithmetic: norms, activations, residuals, casts. */
#ifndef RIDGE_KERNEL_ELEMENTWISE_H
#define RIDGE_KERNEL_ELEMENTWISE_H

#include "ridge/hw.h"

/* Factors that are 0 take what was found on most GPUs. */
struct elementwise_shape {
	double traffic_byte; /* read and written, by all launches together */
	double n_launches;
	double launch_s; /* shortest time of one launch */
	bool cold;       /* nothing is left in L2 by the kernel before */

	double mem_frac; /* share of the memory bandwidth that they reach: 0.85 */
	double l2_ratio; /* L2's rate over the memory's: 3 */
};

double elementwise_time(struct sheet *sh, const struct elementwise_shape *shape, const struct calibration *c);
/* Scaling and casting n_rows x n_columns of 16 bits to elem_byte per element, ahead of a product: the kernels that
 * the fit of the product in that type found. */
double quantise_time(
    struct sheet *sh, const struct gemm_calibration *p, double n_rows, double n_columns, double elem_byte);

#endif
