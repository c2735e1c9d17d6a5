/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How wrong a prediction may be.  Errors are natural logarithms of measured / predicted; an interval holds 80 % of the
 * cases.  Errors of one class of kernels are taken as fully correlated (the same kernel is wrong in the same way in
 * every layer), errors of different classes as independent.
 */
#ifndef RIDGE_UNCERTAINTY_H
#define RIDGE_UNCERTAINTY_H

#include "ridge/hw.h"

enum { ERROR_CLASSES_MAX = 24, UNCERTAINTY_RANGES = 8 };

/* A class of kernels in a sum: what share it has, and how its measurements lay around its predictions. */
struct error_class {
	double share_frac;
	double q10, q90; /* 10 % and 90 % quantiles */
};

struct error_terms {
	int n;
	struct error_class classes[ERROR_CLASSES_MAX];
	double stack_sigma;    /* of how the parts are put together, 0: they stand alone */
	double transfer_sigma; /* of parameters taken from another GPU, 0: its own */
	double reach;          /* error_reach of every dimension, added up */
	double reach_sigma;    /* error for each unit of that */
	double widening;       /* factor on the half-width: conformal correction, warnings */
};

/* What is known of a kind of answer beyond the residuals of a calibration. */
struct uncertainty {
	const char *id, *name, *source, *date, *notes;
	struct datum n_points;
	struct datum sigma;          /* where a calibration gives no residual of its own */
	struct datum q10, q90;       /* the same, where it is not normal */
	struct datum transfer_sigma; /* added where the parameters are another machine's; absent: 0 */
	struct datum engine_sigma;   /* added where they are the median of several engines', and one is meant */
	struct datum conformal;      /* factor that makes 80 % of the cases fall inside; absent: 1 */
	struct datum reach_sigma;    /* for each factor of e beyond the ranges; absent: 0 */
	int n_ranges;
	struct error_range {
		const char *dim; /* `m` */
		struct datum from, to;
	} ranges[UNCERTAINTY_RANGES]; /* that were measured */
};

/* The 80 % interval of a row, and how it is known. */
struct interval {
	double low, high;
	const char *why;
};

/* ln of how far a value lies outside of what was measured; 0 inside. */
double error_reach(struct sheet *sh, double value, double from, double to);
/* Half-widths in ln, downwards and upwards. */
double error_below(struct sheet *sh, const struct error_terms *e);
double error_above(struct sheet *sh, const struct error_terms *e);
/* The conformal factor: which quantile of |ln(measured / predicted)| / half-width holds 80 % of n cases with the
 * finite-sample correction; 1 when there are too few. */
double conformal_rank(struct sheet *sh, double n_cases);

/* A class of a sum from the residuals of a calibration (NULL, or without quantiles: a normal error of `sigma`). */
struct error_class error_class_of(double share_frac, const struct residual *r, double sigma);
/* The residual of this name, or NULL. */
const struct residual *residual_of(const struct calibration *c, const char *name);
/* value x exp(-below) .. value x exp(above). */
struct interval interval_of(double value, const struct error_terms *e, const char *why);

#endif
