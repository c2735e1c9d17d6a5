/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fitting the parameters of a kernel model to measured times: bounded, robust, from several starts, deterministic.
 * The objective is the weighted mean of |ln(predicted / measured)|, which an outlier cannot pull.
 */
#ifndef RIDGE_FIT_DRIVER_H
#define RIDGE_FIT_DRIVER_H

#include <stdbool.h>

enum { FIT_PARAMS_MAX = 16 };

struct fit_param {
	const char *name;
	double start, low, high; /* low > 0 and high / low > 3: searched on a logarithmic scale */
	bool fixed;              /* kept at start */
};

struct fit_problem {
	int n_params, n_rows;
	struct fit_param params[FIT_PARAMS_MAX];
	/* Seconds that the model gives for a row; NaN: the model has no answer. */
	double (*predict)(const void *context, const double *params, int row);
	const void *context;
	const double *measured_s;
	const double *weight;      /* of each row, or NULL */
	const double *start[8];    /* more starting points, NULL-ended, may be empty */
	const unsigned char *keep; /* rows that are fitted (1) and kept out (0), or NULL: all */
	const int *group;          /* rows of one group err alike: resampled together; or NULL: each row alone */
};

struct fit_value {
	double value, low, high; /* 80 % by bootstrap; low = high = NaN when not asked for */
	bool identified;         /* false: the data cannot tell; `value` is the start */
};

struct fit_result {
	struct fit_value param[FIT_PARAMS_MAX];
	double mean_abs_log; /* over the fitted rows */
	int n_fitted, n_evaluations;
};

/* n_bootstrap resamples for the intervals (0: none), refitted from the optimum.  False when there are fewer rows than
 * free parameters. */
bool fit_run(const struct fit_problem *problem, int n_bootstrap, struct fit_result *out);

#endif
