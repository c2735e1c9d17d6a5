/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Measurements: one row per kernel, copy, collective or launch, with its shape, time and how it was measured.  Seconds
 * and bytes; absent values are NaN or NULL.
 */
#ifndef RIDGE_MODEL_HW_MEASUREMENT_H
#define RIDGE_MODEL_HW_MEASUREMENT_H

#include "model/hw/hw.h"

enum measurement_kind {
#define MEASUREMENT(id, text, title) MEASUREMENT_##id,
#include "model/hw/measurement.def"
#undef MEASUREMENT
	N_MEASUREMENT_KINDS,
};

const char *measurement_kind_name(enum measurement_kind k);
int measurement_kind_find(const char *name); /* or -1 */

struct measurement {
	enum measurement_kind kind;
	int line;            /* of its file */
	const char *gpu;     /* id in the database; NULL for a host, or where the label has no entry */
	const char *device;  /* as the source prints it */
	const char *backend; /* library or engine of the kernel: cublaslt, vllm, nccl, custom-vllm */
	const char *version; /* of that */
	const char
	    *operation; /* prefill or decode; all_reduce; read, write, copy, scale, triad; h2d, d2h; empty, graph */
	const char *dtype_text; /* as written: fp8-static has no kernel that quantizes the activations */
	const char *kv_text;
	enum dtype dtype, kv_dtype; /* DTYPE_NONE where there is none */
	enum dtype weight_dtype;    /* of the weights where they are narrower (w4a16: dtype is bf16); else the dtype */
	bool static_scale;          /* fp8-static: scales are known beforehand */
	const char *routing;        /* of a mixture: balanced, power_law_1.2 */
#define DIMENSION(member, text, title) double member;
#include "model/hw/measurement.def"
#undef DIMENSION
	double time_s, min_s, max_s, n_runs; /* median, spread and repetitions */
	double byte_per_s; /* of a copy or p2p; their time may be absent where the source prints bandwidths alone */
	double clock_hertz, power_watt;      /* seen while it ran */
	const char *mode;                    /* of a collective: out-of-place, in-place */
	const char *intra_link, *inter_link; /* as the source prints them */
	const char *date, *driver, *library, *host, *note;
	const char *source, *id, *confidence; /* of a published figure */
};

struct measurements {
	const char *file;
	int n_rows;
	struct measurement *rows;
	int n_skipped; /* rows that are not used, each with a reason in `skips` */
	int n_skips;   /* distinct reasons */
	struct {
		const char *why;
		int n, first_line;
	} skips[32];
};

#endif
