/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a training framework costs beside its kernels, from steps that somebody measured: one factor on the time of the
 * layers' kernels, and how far runs stray from it.  Everything else that a stack's file says (which attention kernel,
 * what overlaps, the host's time) cannot be told from times of whole steps and stays as it is.
 */
#ifndef RIDGE_FIT_STACK_H
#define RIDGE_FIT_STACK_H

#include "ridge/train_rules.h"
#include "search/fit/calibrate.h"

enum {
	FIT_STACK_ROWS = 3,        /* fewer say nothing */
	FIT_STACK_SPREAD_ROWS = 8, /* fewer say less of the spread than what is listed */
	FIT_STACK_COMM_ROWS = 12,  /* fewer say nothing of communication */
};

struct fit_stack_row {
	struct train_ask ask; /* its stack is the one that the fit begins with */
	struct train_doubts doubts;
	double measured_s;
};

/* A factor that was fitted. */
struct fit_sigma {
	int n;                   /* rows */
	double value, low, high; /* 80 % */
	double share_frac;       /* of the step's time that goes with it: mean of the rows */
};

struct fit_stack {
	struct fit_sigma dense, experts; /* n 0: not fitted.  A stack with one factor for both has it in `dense` */
	bool apart;                      /* the stack has one for mixtures of experts */
	double spread, seen_spread; /* standard deviation of ln(measured / predicted): to go by, and of these rows */
	struct fitted_errors before, after, unseen; /* with the stack as it was, as fitted, each row by the others */
	/* What a run that only communicated would stray by more, in logarithms, from this many rows or more; NaN where
	 * the rows do not tell it from nothing: above 0, less overlaps than the stack says, below it more. */
	double comm_slope;
	double *before_s, *after_s; /* predictions of the rows */
};

/* `listed`: the spread of runs of the stack that the fit begins with.  False when there are too few rows. */
bool fit_stack(struct arena *a, int n, const struct fit_stack_row *rows, double listed, struct fit_stack *out);

#endif
