/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What rounding to a format costs on average, when weights are normally distributed. */
#ifndef RIDGE_ENGINE_ROUNDING_H
#define RIDGE_ENGINE_ROUNDING_H

#include "ridge/format.h"

struct rounding {
	double rms, mean;    /* error in units of the standard deviation */
	double clipped_frac; /* of the groups: their largest weight lies beyond the code */
};

/* Groups of `group` weights of a tensor of `tensor` weights (only SCALING_FP8 asks for it) share a scale, which follows
 * the largest of them.  The scale itself is exact where the format stores it as a number of 16 bits or more. */
struct rounding rounding_normal(const struct format *f, double group, double tensor);

/* The levels of a code of at most 8 bits, ascending, from 0 on where it is symmetric; returns their number. */
enum { ROUNDING_LEVELS = 256 };
int rounding_levels(const struct format *f, double *levels);

#endif
