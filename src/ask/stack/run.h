/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run and the steps that make it faster: what the files of this question share. */
#ifndef RIDGE_STACK_RUN_H
#define RIDGE_STACK_RUN_H

#include "ask/stack/in.h"
#include "ask/stack/steps.h"

/* What goes along the steps: the low and the high end of the ranges. */
struct stack {
	const struct stack_in *in;
	struct step *steps;
	size_t n;
	bool ranged;                                /* some step is known within a range only */
	double base_s, base_usd;                    /* NaN: not given */
	double iteration_s;                         /* before any step */
	double speedup[2];                          /* so far */
	double so_far[2], factor[2];                /* before the last step, and its factor */
	double n_params, n_tokens, peak_flop_per_s; /* n_params NaN: no question of feasibility */
	const char *infeasible_when;                /* the step that passes the peak */
	double over_frac;                           /* utilisation there */
	size_t *rank;                               /* place of each step in the order that pays */
};

/* Note the first point at which more than the hardware's peak would be needed. */
void stack_note_peak(struct stack *s, double mfu_frac, const char *when);

/* The table of the steps, and all of them together.  False with errors. */
bool stack_show_steps(struct run *r, struct stack *s);

#endif
