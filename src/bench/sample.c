/* SPDX-License-Identifier: Apache-2.0 */
/* Time a piece of work: warm up, choose repetitions, take samples until the median is stable. */
#include "bench.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAMPLES_MAX = 201, SAMPLES_STABLE = 11, SAMPLES_MIN = 3 };

double
bench_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double
bench_patience_s(const struct bench *b)
{
	const char *const given = getenv("RIDGE_BENCH_PATIENCE_S"); /* for tests */

	return given ? atof(given) : 4 * b->budget_s + 60;
}

double
bench_share(const struct bench *b, double n_points_left)
{
	const double left_s = b->budget_s - (bench_now() - b->subject_started_s);

	/* a point without time is worth nothing */
	return fmax(left_s / fmax(n_points_left, 1), 0.01);
}

static int
by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct bench_sample
bench_sample_of(double *seconds, int n)
{
	qsort(seconds, (size_t)n, sizeof *seconds, by_value);
	return (struct bench_sample){.median_s = n % 2 ? seconds[n / 2] : (seconds[n / 2 - 1] + seconds[n / 2]) / 2,
	    .min_s = seconds[0],
	    .max_s = seconds[n - 1],
	    .n = n};
}

/* True if the middle half of the samples is within 1 % of the median. */
static bool
stable(const double *seconds, int n)
{
	double sorted[SAMPLES_MAX];

	if (n < SAMPLES_STABLE)
		return false;
	for (int i = 0; i < n; i++)
		sorted[i] = seconds[i];
	qsort(sorted, (size_t)n, sizeof *sorted, by_value);
	return sorted[3 * n / 4] - sorted[n / 4] < 0.01 * sorted[n / 2];
}

/* Repetitions of a sample: doubled, or as the last time suggests, until it is long enough. */
static enum bench_status
warm_up(bench_timer *timer, void *context, double budget_s, double shortest_s, long *repeat)
{
	const double start_s = bench_now();
	const double enough_s = fmin(fmax(shortest_s, budget_s / 100), 0.02);

	*repeat = 1;
	double took_s = timer(context, 1);
	for (;;) {
		if (!(took_s >= 0))
			return BENCH_FAILED;
		if (bench_stopped())
			return BENCH_STOPPED;
		took_s = timer(context, *repeat);
		if (took_s >= enough_s || bench_now() - start_s > budget_s / 3 || *repeat > 1000000000L)
			return took_s >= 0 ? BENCH_OK : BENCH_FAILED;
		const double more = took_s > 0 ? fmin(1.2 * enough_s / took_s, 16) : 16;
		*repeat = (long)ceil((double)*repeat * fmax(more, 2));
	}
}

enum bench_status
bench_take(bench_timer *timer, void *context, double budget_s, double shortest_s, struct bench_sample *out)
{
	double seconds[SAMPLES_MAX];
	long repeat;
	int n = 0;
	const double start_s = bench_now();
	const enum bench_status status = warm_up(timer, context, budget_s, shortest_s, &repeat);

	if (status != BENCH_OK)
		return status;
	while (n < SAMPLES_MAX) {
		const double took_s = timer(context, repeat);
		if (bench_stopped())
			return BENCH_STOPPED;
		if (!(took_s > 0))
			return BENCH_FAILED;
		seconds[n++] = took_s / (double)repeat;
		if (n >= SAMPLES_MIN && bench_now() - start_s > budget_s)
			break;
		if (stable(seconds, n))
			break;
	}
	*out = bench_sample_of(seconds, n);
	return BENCH_OK;
}

/* --- numbers and their errors -------------------------------------------------------------------------------- */

/* Operands that are no special case of anything, and the judgement of results. */

/* The finaliser of SplitMix64.  Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. */
double
bench_random(uint64_t seed, uint64_t index)
{
	uint64_t z = (seed + 1) * 0x9e3779b97f4a7c15u + index * 0xd1342543de82ef95u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	z ^= z >> 31;
	return (double)(z >> 11) / 4503599627370496.0 - 1;
}

/* Sattolo, "An algorithm to generate a random cyclic permutation", Information Processing Letters 22, 1986. */
void
bench_cycle(uint32_t *next, size_t n, uint64_t seed)
{
	for (size_t i = 0; i < n; i++)
		next[i] = (uint32_t)i;
	for (size_t i = n; i-- > 1;) {
		const size_t k = (size_t)((bench_random(seed, i) + 1) / 2 * (double)i);
		const uint32_t kept = next[i];
		next[i] = next[k];
		next[k] = kept;
	}
}

bool
bench_right(struct bench *b, double error, double tolerance, const char *format, ...)
{
	char point[200];
	va_list args;
	const char *spoil = getenv("RIDGE_BENCH_SPOIL"); /* the tests see by it that a wrong result is noticed */

	if (spoil && b->subject && strcmp(spoil, b->subject) == 0)
		error = NAN;
	if (error <= tolerance)
		return true;
	va_start(args, format);
	vsnprintf(point, sizeof point, format, args);
	va_end(args);
	b->n_wrong++;
	fprintf(stderr,
	    "ridge-bench: error: %s: wrong result: relative error %.3g, at most %.3g is right; its time is not "
	    "reported\n",
	    point, error, tolerance);
	return false;
}
