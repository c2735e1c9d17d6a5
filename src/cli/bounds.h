/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The least and the most that an input may be: of options, of job files, and of numbers inside lists.  Beyond them
 * nothing is meant, and products of a few of them would leave the range of a double.
 */
#ifndef RIDGE_BOUNDS_H
#define RIDGE_BOUNDS_H

#include "base/diag.h"
#include "ridge/units.h"

struct bounds {
	double least, most;
	bool above; /* more than `least` */
};

/* Those of an input, by its path; a path that no row names has those of its quantity. */
struct bounds bounds_of(const char *path, enum quantity q);
/* An error at this place when the value is outside; counts must be whole. */
bool bounds_check(struct diag *d, struct source at, const char *path, enum quantity q, double value);

#endif
