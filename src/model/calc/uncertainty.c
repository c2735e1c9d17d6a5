/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prediction intervals from residuals, transfers and extrapolation. */
#include "model/calc/calc.h"

#include <string.h>

/* The 90 % quantile of a standard normal variable. */
#define NORMAL_Q90 1.2815515655446004

double
error_reach(struct sheet *sh, double value, double from, double to)
{
	GIVEN(sh, value, from, to);
	LET(sh, under, log(from / fmax(value, 1e-300)));
	LET(sh, over, log(fmax(value, 1e-300) / to));
	LET(sh, reach, fmax(0, fmax(under, over)));
	return reach;
}

/* With a single class its quantiles are used as they are; with several, their squares add like variances. */
static double
square_of_share(struct sheet *sh, double share_frac, double quantile)
{
	GIVEN(sh, share_frac, quantile);
	LET(sh, part, share_frac * fmax(0, quantile));
	LET(sh, part_squared, part * part);
	return part_squared;
}

/* Variances that are not of one class: composition, transfer, reach. */
static double
common_variance(struct sheet *sh, const struct error_terms *e)
{
	FROM(sh, e, stack_sigma, transfer_sigma, reach, reach_sigma);
	LET(sh, outside_sigma, reach_sigma * reach);
	LET(sh, common_variance,
	    stack_sigma * stack_sigma + transfer_sigma * transfer_sigma + outside_sigma * outside_sigma);
	return common_variance;
}

static double
half_width(struct sheet *sh, const struct error_terms *e, double classes_squared)
{
	GIVEN(sh, classes_squared);
	TAKE(sh, widening, e->widening);
	TAKE(sh, normal_q90, NORMAL_Q90);
	CALL(sh, others, common_variance(sh, e));
	LET(sh, half_width, widening * sqrt(classes_squared + normal_q90 * normal_q90 * others));
	return half_width;
}

double
error_below(struct sheet *sh, const struct error_terms *e)
{
	SUM(sh, classes_squared, i, e->n, square_of_share(sh, e->classes[i].share_frac, 0 - e->classes[i].q10));
	CALL(sh, below, half_width(sh, e, classes_squared));
	return below;
}

double
error_above(struct sheet *sh, const struct error_terms *e)
{
	SUM(sh, classes_squared, i, e->n, square_of_share(sh, e->classes[i].share_frac, e->classes[i].q90));
	CALL(sh, above, half_width(sh, e, classes_squared));
	return above;
}

/* Split conformal prediction: Angelopoulos and Bates, arXiv:2107.07511, section 1. */
double
conformal_rank(struct sheet *sh, double n_cases)
{
	GIVEN(sh, n_cases);
	TAKE(sh, level, INTERVAL_LEVEL);
	LET(sh, rank_frac, fmin(1, ceil((n_cases + 1) * level) / n_cases));
	return rank_frac;
}

struct error_class
error_class_of(double share_frac, const struct residual *r, double sigma)
{
	/* the mean of |x| of a normal error is sqrt(2 / pi) of its standard deviation */
	const double known = r ? datum_or(r->mape_frac, NAN) * 1.2533141373155003 : NAN;
	const double mean = r ? datum_or(r->mean, 0) : 0;
	const double sd = r ? datum_or(r->sd, isnan(known) ? sigma : known) : sigma;

	return (struct error_class){.share_frac = share_frac,
	    .q10 = r && datum_given(r->q10) ? r->q10.value : mean - NORMAL_Q90 * sd,
	    .q90 = r && datum_given(r->q90) ? r->q90.value : mean + NORMAL_Q90 * sd};
}

const struct residual *
residual_of(const struct calibration *c, const char *name)
{
	for (int i = 0; c && i < c->n_residuals; i++)
		if (strcmp(c->residuals[i].name, name) == 0)
			return &c->residuals[i];
	return NULL;
}

struct interval
interval_of(double value, const struct error_terms *e, const char *why)
{
	return (struct interval){value * exp(-error_below(NULL, e)), value * exp(error_above(NULL, e)), why};
}
