/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inputs of `ridge data`, and its storage tiers: database entries, several units of one, or plain rates. */
#ifndef RIDGE_ASK_DATA_DATA_H
#define RIDGE_ASK_DATA_DATA_H

#include "cli/cli.h"

struct tier {
	const char *name;
	struct datum n_units, read, write; /* of one unit; write is absent where nothing is known */
};

/* One tier of `[Nx]NAME` or `RATE`; false with errors. */
bool tier_read(struct run *r, struct word text, struct tier *out);
/* Rows of its rates in this scope, shown; returns what all units read. */
double tier_show(struct run *r, const struct tier *t);
/* The same for writing, not shown. */
double tier_write(struct run *r, const struct tier *t);

/* The cache of hot rows: one of the questions of `ridge data`. */

#define CACHED_OPTIONS(X)                                                                                              \
	X(0, items, "items", "items", COUNT, "N", "", NULL, "rows of the embedding table")                             \
	X(0, fraction, "fraction", "fraction", FRACTION, "FRACTION", "", NULL, "share of the rows held in the cache")  \
	X(0, cached, "cached", "cached", COUNT, "N", "", NULL, "rows held in the cache, instead of --fraction")        \
	X(0, zipf, "zipf", "zipf", NUMBER, "S", "", NULL,                                                              \
	    "Zipf exponent S: lookups of the row of rank k fall as k^-S")                                              \
	X(0, uniform, "uniform", "uniform", FLAG, "", "", NULL, "uniform lookups over all rows")                       \
	X(0, histogram, "histogram", "histogram", WORDS, "ROWS:LOOKUPS,...", "", NULL,                                 \
	    "measured share of rows and of lookups that hit them: 1%:40%,15%:85%")                                     \
	X(0, hit, "hit", "hit", FRACTION, "FRACTION", "", NULL,                                                        \
	    "hit rate; with --items, prints the Zipf exponent or the cached rows it implies")                          \
	X(0, table_size, "table-size", "table_size", SIZE, "SIZE", "", NULL, "size of the embedding table")            \
	X(0, lookup, "lookup", "lookup", TIME, "TIME", "", NULL, "lookup time of a step without a cache")              \
	X(0, hit_time, "hit-time", "hit_time", TIME, "TIME", "", NULL, "lookup time of a step when every lookup hits") \
	X(0, rest, "rest", "rest", TIME, "TIME", "", NULL, "rest of the step time")

struct cached_in {
	CACHED_OPTIONS(OPTION_MEMBER)
};

bool cached_asked(const struct cached_in *in);
enum answer cached_answer(struct run *r, const struct cached_in *in);

/* The inputs of `ridge data`, and the way of a sample from storage to the step. */

#define DATA_OPTIONS(X)                                                                                                \
	X(0, sample_time, "sample-time", "sample_time", TIME, "TIME", "", NULL,                                        \
	    "time of one worker per sample: read, decode, transform")                                                  \
	X(0, profile, "profile", "profile", TIME, "TIME", "", NULL,                                                    \
	    "profiler's total time over --calls, instead of --sample-time")                                            \
	X(0, calls, "calls", "calls", COUNT, "N", "", NULL, "samples in the profile")                                  \
	X('w', workers, "workers", "workers", COUNT, "N", "", NULL,                                                    \
	    "loader processes for all GPUs; 0 loads in the main process")                                              \
	X('b', batch, "batch", "batch", COUNT, "N", "", NULL, "samples per step, all GPUs")                            \
	X('s', step, "step", "step", TIME, "TIME", "", NULL, "compute time of a step")                                 \
	X(0, serial, "serial", "serial", FLAG, "", "", NULL, "no prefetch: loading and compute do not overlap")        \
	X(0, load, "load", "load", TIME, "TIME", "", NULL, "measured load time of a batch")                            \
	X(0, load_after, "load-after", "load_after", TIME, "TIME", "", NULL, "load time after a change")               \
	X(0, load_share, "load-share", "load_share", FRACTION, "FRACTION", "", NULL,                                   \
	    "load share of a step without overlap")                                                                    \
	X(0, iteration, "iteration", "iteration", TIME, "TIME", "", NULL, "whole step time, loading included")         \
	X(0, throughput, "throughput", "throughput", NUMBER, "RATE", "", NULL,                                         \
	    "measured throughput, samples per second")                                                                 \
	X(0, expected, "expected", "expected", NUMBER, "RATE", "", NULL,                                               \
	    "expected throughput without GPU stalls, samples per second")                                              \
	X('t', target, "target", "target", NUMBER, "RATE", "", NULL,                                                   \
	    "target throughput, samples per second; prints the workers needed; exit status 1 when missed")             \
	X(0, max_idle, "max-idle", "max_idle", FRACTION, "FRACTION", "", NULL,                                         \
	    "maximum GPU idle fraction; exit status 1 above it")                                                       \
	X(0, idle, "idle", "idle", FRACTION, "FRACTION", "", NULL, "measured GPU idle fraction")                       \
	X(0, idle_after, "idle-after", "idle_after", FRACTION, "FRACTION", "", NULL,                                   \
	    "GPU idle fraction after a change")                                                                        \
	X(0, storage, "storage", "storage", WORDS, "NAME|RATE,...", "link", NULL,                                      \
	    "storage tiers: database names, 4xNAME for four of them, or rates")                                        \
	X(0, sample_size, "sample-size", "sample_size", SIZE, "SIZE", "", NULL, "bytes read per sample")               \
	X(0, checkpoint, "checkpoint", "checkpoint", SIZE, "SIZE", "", NULL,                                           \
	    "size of a checkpoint written to the same storage")                                                        \
	X(0, every, "every", "every", TIME, "TIME", "", NULL, "checkpoint interval")                                   \
	X(0, gpus, "gpus", "gpus", COUNT, "N", "", NULL, "GPUs per node, for --rule")                                  \
	X(0, cores, "cores", "cores", COUNT, "N", "", NULL, "CPU cores per node")                                      \
	X(0, rule, "rule", "rule", CHOICE, "RULE", "gpus|gpus-cores", NULL,                                            \
	    "rule of thumb for workers: gpus is 2 per GPU; gpus-cores multiplies by cores per GPU")                    \
	X(0, cameras, "cameras", "cameras", COUNT, "N", "", NULL, "number of cameras")                                 \
	X(0, pixels, "pixels", "pixels", COUNT, "N", "", NULL, "pixels per frame: 2M")                                 \
	X(0, fps, "fps", "fps", NUMBER, "N", "", NULL, "frames per second of each camera")                             \
	X(0, pixel_size, "pixel-size", "pixel_size", SIZE, "SIZE", "", "3B", "bytes per pixel; 3B is 8-bit RGB")       \
	X(0, length, "length", "length", TIME, "TIME", "", NULL, "length of a recording")

struct data_in {
	DATA_OPTIONS(OPTION_MEMBER)
	struct cached_in cached;
};

enum { TIERS_MAX = 32 };

/* What is known about the way of a sample; rates are NaN where they are not. */
struct way {
	double cost_s_per_sample, loader_sample_per_s, step_sample_per_s;
	bool serial, measured; /* measured: what gets through, whatever the storage could do */
	size_t n_tiers;
	struct tier tiers[TIERS_MAX];
};

/* False with an error. */
bool data_bind(struct run *r, const struct data_in *in, struct way *w);
/* Storage, workers and the step: which of them limits, and how long computing waits. */
enum answer data_loader(struct run *r, const struct data_in *in);

#endif
