/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A measurement against an earlier one: how much worse, and the limit that a threshold sets.  Above 0 is worse. */
#ifndef RIDGE_COMPARE_H
#define RIDGE_COMPARE_H

#include "ridge/sheet.h"

/* Where more is better (throughput): the share that was lost, and the least that is allowed. */
double compare_lost(struct sheet *sh, double baseline, double current);
double compare_least(struct sheet *sh, double baseline, double threshold_frac);
/* Where less is better (time, memory): the share that was added, and the most that is allowed. */
double compare_added(struct sheet *sh, double baseline, double current);
double compare_most(struct sheet *sh, double baseline, double threshold_frac);

/* A value as a share of the most that it may be. */
double compare_of_limit(struct sheet *sh, double current, double limit);

/* Mann and Whitney's U as the probability that a current measurement is worse than an earlier one (ties count half). */
double compare_worse_frac(struct sheet *sh, double n_worse_pairs, double n_baseline, double n_current);

#endif
