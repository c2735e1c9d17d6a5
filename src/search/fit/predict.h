/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a calibration says of a measured row: the shape that was measured, in the model of its kind. */
#ifndef RIDGE_PREDICT_H
#define RIDGE_PREDICT_H

#include "ridge/measurement.h"

/* Seconds, or NaN with the reason in *why. */
double predict_row(const struct measurement *m, const struct calibration *c, const char **why);
/* What makes the prediction doubtful: a kernel that nobody measured, for which another one stands in; NULL: nothing. */
const char *predict_warning(const struct measurement *m, const struct calibration *c);
/* Whether errors of the fit are those of this row: false where another kernel's fit stands in, which errs as the file
 * of its kind in hwdb/uncertainty says. */
bool predict_is_fitted(const struct measurement *m, const struct calibration *c);
/* The name below `residual` in calibration files: `gemm_fp8_block`, `attention_context`. */
const char *predict_residual(const struct measurement *m, char *buf, size_t size);
/* How residuals of this kind are split: `decode`, `to_100us`; time_s is the predicted one. */
const char *predict_regime(const struct measurement *m, double time_s);
/* The roof of the row on this GPU, by datasheet peak and bandwidth; NaN where either is absent. */
double predict_roof(const struct measurement *m, const struct gpu *gpu);
/* 16-bit activations with smaller weights, such as w4a16: the type of the weights, else DTYPE_NONE. */
enum dtype predict_weight_only(const struct measurement *m);

#endif
