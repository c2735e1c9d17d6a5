/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cache of hot rows: one of the questions of `ridge data`. */
#ifndef RIDGE_CACHED_H
#define RIDGE_CACHED_H

#include "cli/command.h"

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
	X(0, table, "table", "table", SIZE, "SIZE", "", NULL, "size of the table")                                     \
	X(0, lookup, "lookup", "lookup", TIME, "TIME", "", NULL, "of all lookups of a step, without a cache")          \
	X(0, hit_time, "hit-time", "hit_time", TIME, "TIME", "", NULL, "of all lookups of a step, if all of them hit") \
	X(0, rest, "rest", "rest", TIME, "TIME", "", NULL, "everything else in a step")

struct cached_in {
	CACHED_OPTIONS(OPTION_MEMBER)
};

bool cached_asked(const struct cached_in *in);
enum answer cached_answer(struct run *r, const struct cached_in *in);

#endif
