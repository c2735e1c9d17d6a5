/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernels of a GPU that nobody measured: whose fits stand in for them, and how far those miss. */
#ifndef RIDGE_TRANSFER_H
#define RIDGE_TRANSFER_H

#include "ridge/hw.h"

struct transfer {
	const char *id, *name, *source, *notes;
	const char *from; /* the donor's id; NULL: the parameters below are all there is */
	int n_to;
	const char **to;      /* ids of GPUs; none: of any NVIDIA GPU that no other transfer names */
	const char *expected; /* error of matrix products, for people: `15-20 %` */
	struct {
		struct datum gemm, context, generation, moe, collective; /* mean errors that the transfer adds */
	} error;
	/* Parameters that replace the donor's.  Shares are of the target's datasheet. */
	struct datum eta_c, eta_m, base_s, feed, tile_s, k_step, wave, derate;
	struct datum eta_a, context_base_s, block_s, eta_x;
	struct datum decode_eta_m, decode_base_s, eta_q, split_s, item_s;
	struct datum collective_base_s;
	struct datum ring_frac; /* factor on the bandwidth of collectives beyond that of the links */
};

/* The donor's parameters without their dimensions, times the datasheet of the target.  `donor` may be NULL for a
 * transfer without one.  The result is absent in what the target's datasheet does not give. */
void transfer_calibration(const struct transfer *rule, const struct calibration *donor, const struct gpu *donor_gpu,
    const struct gpu *target, struct calibration *out);

#endif
