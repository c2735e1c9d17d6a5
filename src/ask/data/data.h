/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RIDGE_ASK_DATA_DATA_H
#define RIDGE_ASK_DATA_DATA_H

#include "cli/cli.h"

/* Storage tiers of `ridge data`: entries of the database, several units of one, or bare rates. */

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
	X(0, items, "items", "items", COUNT, "N", "", NULL, "rows of the table")                                       \
	X(0, fraction, "fraction", "fraction", FRACTION, "FRACTION", "", NULL,                                         \
	    "part of the rows that the cache holds")                                                                   \
	X(0, cached, "cached", "cached", COUNT, "N", "", NULL, "rows that it holds, instead of --fraction")            \
	X(0, zipf, "zipf", "zipf", NUMBER, "S", "", NULL,                                                              \
	    "exponent of Zipf's law: the row of rank k is asked for k^-S times as often as the first")                 \
	X(0, uniform, "uniform", "uniform", FLAG, "", "", NULL, "all rows are asked for alike")                        \
	X(0, histogram, "histogram", "histogram", WORDS, "ROWS:LOOKUPS,...", "", NULL,                                 \
	    "measured: the hottest part of the rows and the part of the lookups it gets: 1%:40%,15%:85%")              \
	X(0, hit, "hit", "hit", FRACTION, "FRACTION", "", NULL,                                                        \
	    "lookups that find their row; with --items the exponent or the rows that this takes")                      \
	X(0, table, "table-size", "table", SIZE, "SIZE", "", NULL, "size of the table")                                \
	X(0, lookup, "lookup", "lookup", TIME, "TIME", "", NULL, "of all lookups of a step, without a cache")          \
	X(0, hit_time, "hit-time", "hit_time", TIME, "TIME", "", NULL, "of all lookups of a step, if all of them hit") \
	X(0, rest, "rest", "rest", TIME, "TIME", "", NULL, "everything else in a step")

struct cached_in {
	CACHED_OPTIONS(OPTION_MEMBER)
};

bool cached_asked(const struct cached_in *in);
enum answer cached_answer(struct run *r, const struct cached_in *in);

/* The inputs of `ridge data`, and the way of a sample from storage to the step. */

#define DATA_OPTIONS(X)                                                                                                \
	X(0, sample_time, "sample-time", "sample_time", TIME, "TIME", "", NULL,                                        \
	    "to prepare one sample in one worker: read, decode, transform")                                            \
	X(0, profile, "profile", "profile", TIME, "TIME", "", NULL, "the same as a profiler's total, of --calls")      \
	X(0, calls, "calls", "calls", COUNT, "N", "", NULL, "samples that the profile saw")                            \
	X('w', workers, "workers", "workers", COUNT, "N", "", NULL,                                                    \
	    "loader processes of all GPUs; 0: samples are prepared between the steps")                                 \
	X('b', batch, "batch", "batch", COUNT, "N", "", NULL, "samples of a step, of all GPUs")                        \
	X('s', step, "step", "step", TIME, "TIME", "", NULL, "computing of a step, when it never waits")               \
	X(0, serial, "serial", "serial", FLAG, "", "", NULL, "nothing is loaded while a step computes")                \
	X(0, load, "load", "load", TIME, "TIME", "", NULL, "measured: time to load a batch")                           \
	X(0, load_after, "load-after", "load_after", TIME, "TIME", "", NULL, "what loading takes after a change")      \
	X(0, load_share, "load-share", "load_share", FRACTION, "FRACTION", "", NULL,                                   \
	    "loading's part of a step that loads and computes one after the other")                                    \
	X(0, iteration, "iteration", "iteration", TIME, "TIME", "", NULL, "such a step as a whole")                    \
	X(0, throughput, "throughput", "throughput", NUMBER, "RATE", "", NULL, "measured: samples per second")         \
	X(0, expected, "expected", "expected", NUMBER, "RATE", "", NULL, "samples per second without waiting")         \
	X('t', target, "target", "target", NUMBER, "RATE", "", NULL,                                                   \
	    "samples per second to reach: prints the workers it takes; exit status 1 when missed")                     \
	X(0, max_idle, "max-idle", "max_idle", FRACTION, "FRACTION", "", NULL,                                         \
	    "part of the time that computing may wait; exit status 1 above it")                                        \
	X(0, idle, "idle", "idle", FRACTION, "FRACTION", "", NULL, "measured: part of the time that computing waits")  \
	X(0, idle_after, "idle-after", "idle_after", FRACTION, "FRACTION", "", NULL, "the same after a change")        \
	X(0, storage, "storage", "storage", WORDS, "NAME|RATE,...", "link", NULL,                                      \
	    "tiers: names of the database, 4xNAME for four of them, or bare rates")                                    \
	X(0, sample_size, "sample-size", "sample_size", SIZE, "SIZE", "", NULL, "bytes read for a sample")             \
	X(0, checkpoint, "checkpoint", "checkpoint", SIZE, "SIZE", "", NULL, "of a checkpoint on the same storage")    \
	X(0, every, "every", "every", TIME, "TIME", "", NULL, "between two checkpoints")                               \
	X(0, gpus, "gpus", "gpus", COUNT, "N", "", NULL, "GPUs of the node, for --rule")                               \
	X(0, cores, "cores", "cores", COUNT, "N", "", NULL, "cores of the node")                                       \
	X(0, rule, "rule", "rule", CHOICE, "RULE", "gpus|gpus-cores", NULL,                                            \
	    "rule of thumb for workers: gpus, two for each GPU; gpus-cores, that times the cores of a GPU")            \
	X(0, cameras, "cameras", "cameras", COUNT, "N", "", NULL, "sensors that record")                               \
	X(0, pixels, "pixels", "pixels", COUNT, "N", "", NULL, "pixels of a frame: 2M")                                \
	X(0, fps, "fps", "fps", NUMBER, "N", "", NULL, "frames per second of each")                                    \
	X(0, pixel_size, "pixel-size", "pixel_size", SIZE, "SIZE", "", "3B", "of a pixel; 3B is 8-bit RGB")            \
	X(0, length, "length", "length", TIME, "TIME", "", NULL, "of a recording")

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
