/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Mann and Whitney, Annals of Mathematical Statistics 18(1), 1947.  Without ties and up to EXACT measurements each, the
 * distribution of U is counted by their recurrence; otherwise it is the normal one with the variance corrected for ties
 * (Lehmann, Nonparametrics, 1975, section 1.4) and half a step for continuity.
 */
#include "search/stats/stats.h"

#include "base/base.h"
#include "model/calc/calc.h"

#include <math.h>
#include <string.h>

enum { EXACT = 40, RESAMPLES = 10000, RESAMPLES_LEAST = 1000, WORK = 40000000 };

static double
worse_pairs(const double *a, size_t n_a, const double *b, size_t n_b, bool more_is_better)
{
	double u = 0;

	for (size_t i = 0; i < n_a; i++)
		for (size_t j = 0; j < n_b; j++) {
			const double by = more_is_better ? a[i] - b[j] : b[j] - a[i];
			u += by > 0 ? 1 : by == 0 ? 0.5 : 0;
		}
	return u;
}

/* Sum of t^3 - t over groups of t equal values. */
static double
tie_sum(const double *a, size_t n_a, const double *b, size_t n_b)
{
	const size_t n = n_a + n_b;
	struct arena *arena = arena_new();
	double *all = ARENA_ARRAY(arena, double, n), sum = 0;

	memcpy(all, a, n_a * sizeof *all);
	memcpy(all + n_a, b, n_b * sizeof *all);
	num_sort(all, n);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && all[k] == all[i];)
			k++;
		const double t = (double)(k - i);
		sum += t * t * t - t;
	}
	arena_free(arena);
	return sum;
}

/*
 * P(U = u) of n and m measurements: the largest of all belongs to the first sample with probability n / (n + m), and is
 * then above all m of the second.  Tables of u for one n, m = 0 .. M.
 */
static double
exact_p(size_t n, size_t m, double u)
{
	enum { MOST = EXACT * EXACT + 1 };
	struct arena *arena = arena_new();
	double *before = ARENA_ARRAY(arena, double, (EXACT + 1) * MOST), p = 0;
	double *now = ARENA_ARRAY(arena, double, (EXACT + 1) * MOST);

	for (size_t k = 0; k <= m; k++) /* none of the first sample: U is 0 */
		before[k * MOST] = 1;
	for (size_t i = 1; i <= n; i++) {
		for (size_t k = 0; k <= m; k++)
			for (size_t v = 0; v <= i * k; v++) {
				const double of = (double)(i + k);
				const double first = v >= k ? (double)i / of * before[k * MOST + v - k] : 0;
				const double second = k ? (double)k / of * now[(k - 1) * MOST + v] : 0;
				now[k * MOST + v] = first + second;
			}
		double *swap = before;
		before = now;
		now = swap;
		memset(now, 0, (size_t)(EXACT + 1) * MOST * sizeof *now);
	}
	for (size_t v = n * m + 1; v-- > 0 && (double)v >= u;)
		p += before[m * MOST + v];
	arena_free(arena);
	return fmin(p, 1);
}

static double
normal_p(double n, double m, double u, double ties)
{
	const double all = n + m;
	const double variance = n * m / 12 * (all + 1 - ties / (all * (all - 1)));

	if (!(variance > 0))
		return 1; /* all values are equal */
	return num_normal_above((u - n * m / 2 - 0.5) / sqrt(variance));
}

/* One way among all to choose which measurements are the current ones. */
static double
least(double n, double m)
{
	return exp(lgamma(n + 1) + lgamma(m + 1) - lgamma(n + m + 1));
}

struct rank_test
rank_test(const double *baseline, size_t n_baseline, const double *current, size_t n_current, bool more_is_better)
{
	const double ties = tie_sum(baseline, n_baseline, current, n_current);
	struct rank_test out = {.n_worse_pairs = worse_pairs(baseline, n_baseline, current, n_current, more_is_better),
	    .exact = ties == 0 && n_baseline <= EXACT && n_current <= EXACT};

	out.p = out.exact ? exact_p(n_baseline, n_current, out.n_worse_pairs)
	                  : normal_p((double)n_baseline, (double)n_current, out.n_worse_pairs, ties);
	out.least_p = least((double)n_baseline, (double)n_current);
	return out;
}

/* --- the median and its change --------------------------------------------------------------------------- */

double
rank_median(const double *values, size_t n)
{
	struct arena *arena = arena_new();
	double *copy = ARENA_ARRAY(arena, double, n);

	memcpy(copy, values, n * sizeof *copy);
	num_sort(copy, n);
	const double median = num_quantile(copy, n, 0.5);
	arena_free(arena);
	return median;
}

static double
median_in_place(double *values, size_t n)
{
	num_sort(values, n);
	return num_quantile(values, n, 0.5);
}

static double
lost(double *a, size_t n_a, double *b, size_t n_b)
{
	return compare_lost(NULL, median_in_place(a, n_a), median_in_place(b, n_b));
}

static double
added(double *a, size_t n_a, double *b, size_t n_b)
{
	return compare_added(NULL, median_in_place(a, n_a), median_in_place(b, n_b));
}

void
rank_interval(const double *baseline, size_t n_baseline, const double *current, size_t n_current, bool more_is_better,
    unsigned long seed, double level, double *low, double *high)
{
	const size_t room = WORK / (n_baseline + n_current);
	const size_t n = room > RESAMPLES ? RESAMPLES : room < RESAMPLES_LEAST ? RESAMPLES_LEAST : room;

	num_bootstrap(
	    more_is_better ? lost : added, baseline, n_baseline, current, n_current, n, seed, level, low, high);
}
