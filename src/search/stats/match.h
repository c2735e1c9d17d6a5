/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two sets of measured rows, those of one shape beside each other. */
#ifndef RIDGE_MATCH_H
#define RIDGE_MATCH_H

#include "base/arena.h"
#include "ridge/measurement.h"

/* Rows of one shape on both sides.  What is compared is a time, or where a source prints bandwidths alone the time of
 * one byte: less is better. */
struct matched {
	const struct measurement *row; /* the first of the current side */
	double baseline_s, current_s;  /* medians of the rows of that shape */
	double ratio;                  /* current over baseline */
	bool apart;                    /* the runs of the two sides do not overlap, or are not known */
	bool rate;                     /* times of one byte */
	int group;
};

/* Rows of one kind, operation and type. */
struct match_group {
	const char *name; /* `attention decode bf16` */
	int n;
	double *ratio;
};

struct match {
	int n;
	struct matched *pairs; /* by group */
	int n_groups;
	struct match_group *groups;
	int n_baseline_alone, n_current_alone; /* shapes that only one side has */
};

/* GPU and backend tell rows apart only where a side has several of them, so that two machines or two backends can be
 * compared. */
void match_rows(
    struct arena *a, const struct measurements *baseline, const struct measurements *current, struct match *out);

/* What a row is about: `gemm bf16 m=16 n=4096 k=8192`. */
const char *match_row_name(struct arena *a, const struct measurement *row);

#endif
