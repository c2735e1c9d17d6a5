/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How well the steps of two layouts can be told apart. */
#include "search/layout/layout.h"

#include <math.h>

/* Standard deviations of ln(measured / predicted) by class, as ask/train/show.c has them for a single step. */
static const double sigmas[N_PAIR_CLASSES] = {0.06, 0.10, 0.15, 0.15, 0.40};
/* GEMMs of 8 bits and less. */
static const double NARROW_GEMM = 0.08;
/* Error of a layout's prediction besides its classes: an assumption, not a fit.  111 published pairs of one source,
 * release, model, GPU and batch differ by 4.6 % (rms) in ln(measured / predicted), the classes included. */
static const double OWN = 0.03;
static const double QUANTILE_80 = 1.2816;

struct layout_shares
layout_shares_of(const struct train_job *job, const struct train_terms *t)
{
	struct layout_shares s = {.step_s = t->step_s};
	double share[N_TRAIN_SHARES];

	train_shares(job, t, share);
	s.frac[PAIR_GEMM] =
	    (share[TRAIN_LINEAR] + share[TRAIN_EXPERTS] + share[TRAIN_LOGITS] + share[TRAIN_RECOMPUTE]) / t->step_s;
	s.frac[PAIR_ATTENTION] = share[TRAIN_ATTENTION] / t->step_s;
	s.frac[PAIR_COMM] =
	    (share[TRAIN_TP] + share[TRAIN_CP] + share[TRAIN_EP] + share[TRAIN_PP] + share[TRAIN_DP]) / t->step_s;
	s.frac[PAIR_ELEMENTWISE] =
	    (share[TRAIN_ELEMENTWISE] + share[TRAIN_QUANTISE] + share[TRAIN_OPTIMIZER]) / t->step_s;
	s.frac[PAIR_HOST] = share[TRAIN_HOST] / t->step_s;
	return s;
}

double
layout_difference(const struct layout_shares *a, const struct layout_shares *b, bool narrow)
{
	double variance = 2 * OWN * OWN;

	for (int i = 0; i < N_PAIR_CLASSES; i++) {
		const double sigma = i == PAIR_GEMM && narrow ? NARROW_GEMM : sigmas[i];
		const double d = (a->frac[i] - b->frac[i]) * sigma;
		variance += d * d;
	}
	return QUANTILE_80 * sqrt(variance);
}
