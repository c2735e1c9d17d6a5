/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines through a series, and what the series does. */
#ifndef RIDGE_TREND_FIT_H
#define RIDGE_TREND_FIT_H

#include "ridge/scale.h"

enum trend_kind {
	TREND_UNKNOWN,  /* two points: no word on noise */
	TREND_STABLE,   /* no growth that the scatter does not explain */
	TREND_LEAK,     /* grows */
	TREND_SAWTOOTH, /* grows and falls back to where it was */
	TREND_CLIMBING, /* a sawtooth whose floor rises */
	TREND_LEVELS,   /* grew, and does not any more */
	TREND_SHRINKS,
};

/* A line: estimate of its slope, and its value at step 0. */
struct trend_line {
	bool given;
	struct scale_estimate slope;
	double start;
};

struct trend {
	enum trend_kind kind;
	struct trend_line all;         /* least squares */
	double explained_frac;         /* R^2; NaN when nothing varies */
	double sen, sen_low, sen_high; /* Theil-Sen: median of the slopes of all pairs; 95 %, NaN where there is none */
	size_t n_teeth;                /* falls of at least a quarter of the range */
	struct trend_line floor;       /* through the lows of a sawtooth */
	struct trend_line crest;       /* through its tops */
	struct trend_line late;        /* through the second half */
};

/* Steps ascend; n is at least 2, and there are two different steps. */
bool trend_fit(const double *step, const double *value, size_t n, struct trend *out);
/* Ends of the 95 % interval of a line's slope. */
double trend_low(const struct trend_line *l);
double trend_high(const struct trend_line *l);
const char *trend_word(enum trend_kind kind);

#endif
