/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Scores: predicted against measured values, by groups.  Shares and errors of a group are in percent.  The absolute
 * percentage error is |predicted - measured| / measured; the bias is the median of (predicted - measured) / measured,
 * above zero where predictions are too large.
 */
#ifndef RIDGE_SCORE_H
#define RIDGE_SCORE_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>

/* What cases are grouped by. */
#define SCORE_DIMENSIONS(X)                                                                                            \
	X(ALL, "all")                                                                                                  \
	X(SOURCE, "source")                                                                                            \
	X(GPU, "gpu")                                                                                                  \
	X(PRECISION, "precision")                                                                                      \
	X(FAMILY, "family")                                                                                            \
	X(CONFIDENCE, "confidence")                                                                                    \
	X(KIND, "kind")                                                                                                \
	X(DTYPE, "dtype")                                                                                              \
	X(BACKEND, "backend")                                                                                          \
	X(REGIME, "regime")                                                                                            \
	X(BIN, "m-bin")                                                                                                \
	X(CONSENSUS, "consensus")                                                                                      \
	X(TASK, "task")                                                                                                \
	X(CLASS, "class")                                                                                              \
	X(FRAMEWORK, "framework")

enum score_by {
#define X(id, text) SCORE_BY_##id,
	SCORE_DIMENSIONS(X)
#undef X
	    N_SCORE_BY,
};

const char *score_by_name(enum score_by by);
/* The dimension of this name, or N_SCORE_BY. */
enum score_by score_by_find(const char *name);

enum { SCORE_BASELINES = 2 };

/* What was measured says more than a number: an upper or lower bound of it. */
enum score_sense { SCORE_VALUE, SCORE_ABOVE, SCORE_BELOW };

struct score_case {
	const char *file;
	int line;                         /* of the file */
	const char *unit;                 /* a row's name, for the unit of its values: x_s */
	const char *name;                 /* for people */
	const char *detail;               /* how the prediction is made up, or NULL */
	const char *label[N_SCORE_BY];    /* NULL: not in this dimension; SCORE_BY_ALL is `all` unless left out */
	double predicted, measured;       /* in one unit; measured above 0 */
	double low, high;                 /* 80 % interval; NaN: none */
	double baseline[SCORE_BASELINES]; /* NaN: none */
	double safe;                      /* what was promised not to be exceeded; NaN: nothing */
	enum score_sense sense;           /* the true value is the measured one, above it, or below it */
	double weight;                    /* in SCORE_BY_CONSENSUS; 0 counts as 1 */
	const char *warning;              /* the prediction came with this; NULL: without */
	const char *skipped;              /* no prediction, and why */
};

struct score_group {
	enum score_by by;
	const char *name;
	int n, n_skipped, n_warned, n_intervals, n_safe, n_bounds;
	double mape, median_ape, bias, within10, within20, within30, coverage80;
	double conformal;   /* factor on the half-widths that makes 80 % fall inside, as for cases to come */
	double under10;     /* predicted less than 90 % of what was measured */
	double safe_covers; /* measured values at or below what was promised */
	double bounds_kept; /* of cases that are bounds: on the right side */
	double baseline_mape[SCORE_BASELINES], baseline_median[SCORE_BASELINES];
};

struct scores {
	size_t n_groups;
	struct score_group *groups; /* by dimension in the order above, names sorted; the first is all */
};

/* NaN where there is nothing to tell.  `dimensions` picks what to group by (N_SCORE_BY flags); all is always there. */
struct scores score_groups(struct arena *a, const struct score_case *cases, size_t n, const bool *dimensions);
/* (predicted - measured) / measured, in percent. */
double score_error(const struct score_case *c);
/* Indices of the cases with the largest absolute errors, the worst first; returns how many (at most `most`). */
size_t score_worst(const struct score_case *cases, size_t n, size_t most, size_t *worst);

#endif
