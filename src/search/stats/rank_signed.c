/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Wilcoxon, Biometrics Bulletin 1(6), 1945: pairs are ranked by the size of their difference, and the ranks of those
 * that went up are added.  If nothing changed, each rank is as likely to be up as down.  Counted exactly without ties
 * up to EXACT pairs; otherwise normal with the variance corrected for ties (Lehmann, Nonparametrics, 1975,
 * section 3.2).
 */
#include "search/stats/stats.h"

#include "base/base.h"

#include <math.h>
#include <stdlib.h>

enum { EXACT = 40 };

static int
by_size(const void *a, const void *b)
{
	const double x = fabs(*(const double *)a), y = fabs(*(const double *)b);

	return (x > y) - (x < y);
}

/* Sets of ranks 1..n by their sum; how many have the sum w or more, of 2^n. */
static double
exact_p(size_t n, double w)
{
	double ways[EXACT * (EXACT + 1) / 2 + 1] = {1}, p = 0;
	const size_t most = n * (n + 1) / 2;

	for (size_t rank = 1; rank <= n; rank++)
		for (size_t sum = most + 1; sum-- > rank;)
			ways[sum] += ways[sum - rank];
	for (size_t sum = most + 1; sum-- > 0 && (double)sum >= w;)
		p += ways[sum];
	return p / pow(2, (double)n);
}

double
rank_signed(const double *change, size_t n_all, double *least_p)
{
	struct arena *arena = arena_new();
	double *x = ARENA_ARRAY(arena, double, n_all + 1), w = 0, ties = 0, p;
	size_t n = 0;

	for (size_t i = 0; i < n_all; i++)
		if (change[i] != 0) /* says nothing about the direction */
			x[n++] = change[i];
	qsort(x, n, sizeof *x, by_size);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && fabs(x[k]) == fabs(x[i]);)
			k++;
		const double t = (double)(k - i), rank = (double)(i + 1 + k) / 2;
		ties += t * t * t - t;
		for (size_t j = i; j < k; j++)
			w += x[j] > 0 ? rank : 0;
	}
	const double m = (double)n, variance = m * (m + 1) * (2 * m + 1) / 24 - ties / 48;
	if (n == 0)
		p = 1;
	else if (ties == 0 && n <= EXACT)
		p = exact_p(n, w);
	else
		p = num_normal_above((w - m * (m + 1) / 4 - 0.5) / sqrt(variance));
	arena_free(arena);
	*least_p = pow(0.5, m);
	return p;
}
