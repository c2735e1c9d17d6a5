/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --sweep: lists of values, and the outer product of several. */
#ifndef RIDGE_POINTS_H
#define RIDGE_POINTS_H

#include "cli/arguments.h"

struct axis_values {
	const char *path;
	struct source at;
	size_t n;
	const char **values;
};

enum { MAX_SWEEPS = 6, MAX_POINTS = 100000 };

/* `a,b,c`, `a..b*k` or `a..b+k` -> values as typed.  False with an error. */
bool sweep_values(
    struct arena *a, struct diag *d, const struct command *c, const struct setting *s, struct axis_values *out);

#endif
