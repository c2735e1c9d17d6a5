/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The interval around a time that fitted parameters gave. */
#ifndef RIDGE_INTERVAL_H
#define RIDGE_INTERVAL_H

#include "cli/command.h"
#include "ridge/uncertainty.h"

/* What a predicted time rests on. */
struct error_source {
	const struct calibration *fit; /* NULL: nothing was fitted, and there is no interval */
	const char *kind;              /* a file of hwdb/uncertainty: `gemm` */
	const char *residual;          /* of the calibration: `gemm_bf16`; NULL: the file's own */
	const char *regime;            /* `decode`, where residuals differ; NULL: all */
	bool transferred;              /* the fit is of another machine, and does not say so itself */
	bool one_engine;       /* the fit is of several engines, or of one way to run, and another one is meant */
	double transfer_sigma; /* what that adds; 0: as the file says */
	int n;
	struct {
		const char *dim;
		double value;
	} at[UNCERTAINTY_RANGES];
};

/* What is known of this kind of answer; an empty one when there is no file.  Read once for each run. */
const struct uncertainty *run_uncertainty(struct run *r, const char *kind);
/* The terms of the error, for answers that put several together; false when there is nothing to go by.  *why says
 * `calibrated`, `transferred from ...` and `extrapolated: m above 32768`; `why` NULL: nobody asks. */
bool run_errors(struct run *r, const struct error_source *s, struct error_terms *out, const char **why);
/* The same with what run_uncertainty said, for many. */
bool run_errors_with(struct run *r, const struct error_source *s, const struct uncertainty *u, struct error_terms *out,
    const char **why);
/* The interval of an answer that rests on no calibration, such as memory; false when its kind has no file. */
bool run_answer_interval(struct run *r, const char *kind, double value, struct interval *out);
/* The interval of one time; false when there is none. */
bool run_interval(struct run *r, const struct error_source *s, double value, struct interval *out);

#endif
