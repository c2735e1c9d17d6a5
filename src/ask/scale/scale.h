/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inputs of `ridge scale`, and what it makes of measured points. */
#ifndef RIDGE_ASK_SCALE_SCALE_H
#define RIDGE_ASK_SCALE_SCALE_H

#include "cli/cli.h"

#define SCALE_OPTIONS(X)                                                                                               \
	X(0, points, "points", "points", WORDS, "N:RATE,...", "", NULL, "measured throughput (per second) of N GPUs")  \
	X(0, series, "series", "series", WORD, "FILE", "file", NULL,                                                   \
	    "points from a table with columns of GPUs and rates; - is standard input")                                 \
	X(0, times, "times", "times", WORDS, "TIME@N,...", "", NULL, "measured time of one job on N GPUs")             \
	X(0, warn_below, "warn-below", "warn_below", FRACTION, "FRACTION", "", NULL,                                   \
	    "least efficiency; exit status 1 below it")                                                                \
	X(0, ranks, "gpus", "ranks", WORDS, "N,...", "", NULL, "numbers of GPUs to predict")                           \
	X(0, price, "price", "price", PER_HOUR, "USD/h", "", NULL, "price of one GPU")                                 \
	X(0, compute, "compute", "compute", TIME, "TIME", "", NULL,                                                    \
	    "time of a step on one GPU, without communication")                                                        \
	X(0, gradient, "gradient", "gradient", SIZE, "SIZE", "", NULL, "bytes that a ring all-reduces every step")     \
	X(0, bandwidth, "bandwidth", "bandwidth", RATE, "RATE", "", NULL,                                              \
	    "of the slowest link of the ring, one direction")                                                          \
	X(0, latency, "latency", "latency", TIME, "TIME", "", "0s", "of one hop of the ring")                          \
	X(0, communication, "communication", "communication", TIME, "TIME", "", NULL,                                  \
	    "measured time of the all-reduce, instead of --gradient and --bandwidth")                                  \
	X(0, overlap, "overlap", "overlap", FRACTION, "FRACTION", "", "0",                                             \
	    "part of the communication hidden behind computing")                                                       \
	X(0, target, "target", "target", FRACTION, "FRACTION", "", NULL,                                               \
	    "efficiency to reach: prints the overlap it needs")                                                        \
	X(0, stages, "stages", "stages", COUNT, "N", "", NULL, "pipeline stages")                                      \
	X(0, microbatches, "microbatches", "microbatches", COUNT, "N", "", NULL, "micro-batches of a step")            \
	X(0, batch, "batch", "batch", COUNT, "N", "", NULL, "samples of a step and replica, with --micro-batch")       \
	X(0, micro_batch, "micro-batch", "micro_batch", COUNT, "N", "", NULL, "samples of a micro-batch")              \
	X(0, interleave, "interleave", "interleave", COUNT, "N", "", "1", "model chunks per stage")                    \
	X(0, bubble, "bubble", "bubble", FRACTION, "FRACTION", "", NULL, "measured bubble, instead of --stages")       \
	X(0, target_bubble, "target-bubble", "target_bubble", FRACTION, "FRACTION", "", NULL, "bubble to reach")       \
	X(0, serial, "serial", "serial", FRACTION, "FRACTION", "", NULL,                                               \
	    "serial part: Amdahl's and Gustafson's laws at --gpus")                                                    \
	X(0, coherency, "coherency", "coherency", NUMBER, "COST", "", NULL,                                            \
	    "cost of waiting for each other, with --serial")                                                           \
	X(0, law, "law", "law", CHOICE, "LAW", "doc", NULL,                                                            \
	    "rule of thumb at --gpus: doc, 85 % at 8, 70 % at 64, 50 % from 256")

struct scale_in {
	SCALE_OPTIONS(OPTION_MEMBER)
};

enum { POINTS_MAX = 256 };

/* What was measured on so many GPUs: a rate, or the time of a job. */
struct scale_point {
	double n_ranks, value;
	struct source from;
};

/* The points of a file, at most POINTS_MAX; false with an error. */
bool scale_series(struct run *r, struct word file, struct scale_point *out, size_t *n);

/* The GPUs of --gpus; false with an error. */
bool scale_ranks(struct run *r, const struct scale_in *in, double *ranks);
/* An error when nobody said for how many GPUs. */
bool scale_need_ranks(struct run *r, const struct scale_in *in);
/* A fraction as people read it. */
const char *scale_percent(struct run *r, double fraction);
/* Efficiency and laws of measured points. */
enum answer scale_measured(struct run *r, const struct scale_in *in);

#endif
