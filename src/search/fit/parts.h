/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RIDGE_SEARCH_FIT_PARTS_H
#define RIDGE_SEARCH_FIT_PARTS_H

#include "db/tree.h"
#include "search/fit/fit.h"

/* The parts of a search; private to driver.c and linear.c. */

struct search {
	const struct fit_problem *problem;
	double value[FIT_PARAMS_MAX]; /* of the fixed parameters */
	int n_free, free[FIT_PARAMS_MAX];
	int n_rows, *rows, stride;
	const double *log_measured; /* by row of the problem */
	int n_evaluations;
};

/* The parameters at a point of the cube of those that are free. */
void fit_place(const struct search *s, const double *z, double *param);
/* ln(predicted / measured), NaN without an answer. */
double fit_log_error(const struct search *s, const double *param, int row);
double fit_weight(const struct fit_problem *p, int row);
/* The objective at a point of the cube, over the rows of the stride. */
double fit_objective(const double *z, const void *context);
/* A point of the cube for a point outside of it. */
double fit_fold(double z);

/* Steps that the linear model asks for, as long as they help; returns the objective. */
double fit_polish(struct search *s, double *z, double least);
/* 80 % of the values that resamples of the rows give, in the cube. */
void fit_bootstrap(struct search *s, const double *z, int n_draws, double *low, double *high);

/* Private to calibrate*.c. */

/* A file with its fractions referring to these figures in place of its own `relative_to`: the rates stay the same. */
const struct node *calibration_rebase(struct arena *a, const struct node *file, const struct node *relative_to);
/* The text of a file's tree. */
char *calibration_layout(struct arena *a, const struct node *root);

#endif
