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

/* --- the same GPU with other figures --------------------------------------------------------------------- */

/* The figures that the rates of kernels are shares of. */
struct kernel_reference {
	struct datum peak_flop_per_s[N_PEAKS], mem_byte_per_s, clock_hertz, l2_byte, n_sms;
};
/* Of a datasheet, with the clock of the tensor peaks, and those that a calibration file states. */
struct kernel_reference reference_of_gpu(const struct gpu *gpu);
struct kernel_reference reference_of_fit(const struct calibration *c);
/* True when kernels of `a` need nothing to be those of `b`. */
bool reference_same(const struct kernel_reference *a, const struct kernel_reference *b);
/* Rates go with the figure that they are a share of; fixed times stay.  Figures that either lacks change nothing. */
void rebase_kernels(struct calibration *c, const struct kernel_reference *from, const struct kernel_reference *to);
/* Collectives inside a node, over links of so many times the bandwidth. */
void rebase_links(struct calibration *c, double factor);

#endif
