/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Public names of the answers on a sheet: `ttft_s` for one that stands alone, `stages.2.peak_byte` for one in a table.
 */
#ifndef RIDGE_ANSWERS_H
#define RIDGE_ANSWERS_H

#include "base/arena.h"
#include "ridge/sheet.h"

/* One answer.  `table` is NULL for one that stands alone; a table inside the line of another one is called
 * `gpus.0.operators`. */
struct place {
	int row;
	const char *table;
	size_t line; /* from 0, without gaps */
};

struct places {
	size_t n;
	struct place *list;
};

/* The answers of a sheet in order of computation. */
struct places places_of(struct arena *a, const struct sheet *sh);

/* Its public name. */
const char *place_name(struct arena *a, const struct sheet *sh, const struct place *p);

/* Row of an answer by its public name.  A line of a table is a number or its first word (`breakdown.gemm.time_s`).
 * -1: there is none. */
int places_find(const struct places *all, const struct sheet *sh, const char *name);

/* The nearest scope around row i that is a line of a table, or -1. */
int answer_scope(const struct sheet *sh, int i);

#endif
