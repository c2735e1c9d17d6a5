/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two samples of a measurement: is the later one worse, or is that noise? */
#ifndef RIDGE_RANK_H
#define RIDGE_RANK_H

#include <stdbool.h>
#include <stddef.h>

struct rank_test {
	double n_worse_pairs; /* pairs in which the current measurement is the worse one; ties count half */
	double p;             /* probability of as many or more if nothing had changed */
	double least_p;       /* the smallest that so few measurements can give */
	bool exact;           /* counted, not approximated */
};

/* Mann and Whitney's test, one-sided: is `current` worse than `baseline`? */
struct rank_test rank_test(
    const double *baseline, size_t n_baseline, const double *current, size_t n_current, bool more_is_better);

/* Wilcoxon's test of pairs, one-sided: the probability that changes lie as far above 0 if nothing had changed. */
double rank_signed(const double *change, size_t n, double *least_p);

double rank_median(const double *values, size_t n);

/* Interval of the change of the median, above 0: worse; percentile bootstrap. */
void rank_interval(const double *baseline, size_t n_baseline, const double *current, size_t n_current,
    bool more_is_better, unsigned long seed, double level, double *low, double *high);

#endif
