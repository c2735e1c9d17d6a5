/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Laws of scaling laid through measured points. */
#ifndef RIDGE_FIT_H
#define RIDGE_FIT_H

#include "ridge/scale.h"

/* A measurement: throughput of n ranks, in any unit. */
struct fit_point {
	double n_ranks, rate;
};

/* rate(n) = single n / (1 + contention (n - 1) + coherency n (n - 1)); Amdahl's law has coherency 0. */
struct fit {
	bool given; /* there were enough points */
	size_t n_params, n_free;
	double single, contention, coherency;
	double covariance[3][3]; /* in that order; relative errors assumed equal */
	double scatter_frac;     /* relative standard deviation of the points around the curve */
};

/* Least squares of relative errors.  Amdahl's law needs two different n, the universal law three. */
struct fit fit_amdahl(const struct fit_point *points, size_t n);
struct fit fit_usl(const struct fit_point *points, size_t n);
/* Amdahl's law, unless the universal law's coherency is above 0 with 80 % confidence; contention and coherency below 0
 * (faster than linear) count as 0. */
struct fit fit_choose(const struct fit *amdahl, const struct fit *usl);

/* Estimates with the quantiles that intervals need; the quantiles are 0 when no point is left over. */
struct scale_estimate fit_contention(const struct fit *f);
struct scale_estimate fit_coherency(const struct fit *f);
/* The rate that a measurement at n_ranks would show. */
struct scale_estimate fit_rate(const struct fit *f, double n_ranks);

#endif
