/* SPDX-License-Identifier: Apache-2.0 */
/* How long something takes: many samples, none thrown away. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { SAMPLES_MAX = 201, SAMPLES_STABLE = 11, SAMPLES_MIN = 3 };

/* A sample shorter than this is mostly clock and loop. */
static const double shortest_s = 200e-6;

double
bench_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
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

/* The middle half lies within one percent of the median. */
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
warm_up(bench_timer *timer, void *context, double budget_s, long *repeat)
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
bench_take(bench_timer *timer, void *context, double budget_s, struct bench_sample *out)
{
	double seconds[SAMPLES_MAX];
	long repeat;
	int n = 0;
	const double start_s = bench_now();
	const enum bench_status status = warm_up(timer, context, budget_s, &repeat);

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
