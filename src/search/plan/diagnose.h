/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which causes a run's figures speak for, and what to do first. */
#ifndef RIDGE_DIAGNOSE_H
#define RIDGE_DIAGNOSE_H

#include "ridge/diagnosis.h"

struct finding {
	const struct diagnosis *cause;
	int n_for, n_against; /* signs that hold; signs that are known and do not */
	const char *stake;    /* formula of the share of the time that it costs, or NULL */
	double stake_frac;    /* NaN when no formula can be worked out */
};

/* Findings, most urgent first: what ends a run, what spoils it, then by the time at stake, then by the signs.  `out`
 * has room for n.  Causes that cost nothing by these figures are left out. */
size_t diagnose_rank(
    const struct diagnosis *const *all, size_t n, const struct figures *f, enum use use, struct finding *out);

#endif
