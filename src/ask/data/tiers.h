/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Storage tiers of `ridge data`: entries of the database, several units of one, or bare rates. */
#ifndef RIDGE_TIERS_H
#define RIDGE_TIERS_H

#include "cli/command.h"

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

#endif
