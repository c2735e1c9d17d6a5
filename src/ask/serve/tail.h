/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long a tail is: P99 over P50, and whether enough was measured to know it. */
#ifndef RIDGE_TAIL_H
#define RIDGE_TAIL_H

#include "cli/command.h"

struct tail_in {
#define TAIL_OPTIONS(X)                                                                                                \
	X(0, p50, "p50", "p50", TIME, "TIME", "", NULL, "measured median")                                             \
	X(0, p99, "p99", "p99", TIME, "TIME", "", NULL, "measured 99th percentile")                                    \
	X(0, tail_limit, "tail-limit", "tail_limit", NUMBER, "RATIO", "", NULL,                                        \
	    "most that P99 over P50 may be: 1.2 for driving, 2 for people; exit status 1 above it")                    \
	X(0, runs, "runs", "runs", COUNT, "N", "", NULL, "measurements that the percentile is of")
	TAIL_OPTIONS(OPTION_MEMBER)
};

/* Whether a percentile or what it is held against was asked for. */
bool tail_given(const struct tail_in *in);
/* Rows of the measured tail, in this scope. */
enum answer tail_show(struct run *r, const struct tail_in *in);
/* The verdict on a ratio. */
enum answer tail_verdict(struct run *r, const struct tail_in *in, double tail_ratio);

#endif
