/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time of the attention core on a GPU whose parameters were fitted to measurements: projections are products. */
#ifndef RIDGE_KERNEL_ATTENTION_H
#define RIDGE_KERNEL_ATTENTION_H

#include "ridge/hw.h"

/*
 * One launch for `batch` sequences.  Over a prompt, query_token new tokens of each sequence see context_token cached
 * ones and themselves, causally; in generation one new token sees context_token.  Members below the blank line are 0
 * where nothing is known of them, and then have no effect.
 */
struct attention_shape {
	double batch, n_heads, n_kv_heads, head_dim;
	double query_token, context_token;
	double elem_byte, kv_elem_byte;
	bool cold; /* the cache streams from memory, as between the layers of a model; a benchmark repeats the same one
	            */

	double window_token; /* a sliding window */
	bool unmasked;       /* an encoder: every token sees every other */
	double rate_frac;    /* factor on the arithmetic: 8-bit products, a power limit, an older kernel */
	double stream_frac;  /* factor on the rate at which the cache is read */
	/* Generation by a kernel that converts every element of the cache once per query head, on the vector units: how
	 * many one SM does per clock. */
	double n_core_elems_per_clock;
};

/* The one of attention.def that a shape is of, or N_ATTENTION_FITS. */
enum attention_fit attention_fit_of(const struct attention_shape *shape);
const char *attention_fit_name(enum attention_fit a);
/* The fit for a shape's head width and types, or the calibration's own; NULL: none. */
const struct context_calibration *context_calibrated(const struct calibration *c, const struct attention_shape *shape);
const struct generation_calibration *generation_calibrated(
    const struct calibration *c, const struct attention_shape *shape);

/* `c` gives the SMs, the L2 cache and the clock; `p` the fit of one engine's kernels. */
double attention_context(struct sheet *sh, const struct attention_shape *shape, const struct context_calibration *p,
    const struct calibration *c);
double attention_generation(struct sheet *sh, const struct attention_shape *shape,
    const struct generation_calibration *p, const struct calibration *c);
/* Multi-head latent attention of DeepSeek's sizes (128 + 64 wide heads over a cache of 512 + 64): n_kv_heads and
 * head_dim are not looked at. */
double mla_context(struct sheet *sh, const struct attention_shape *shape, const struct context_calibration *p,
    const struct calibration *c);
double mla_generation(struct sheet *sh, const struct attention_shape *shape, const struct generation_calibration *p,
    const struct calibration *c);

#endif
