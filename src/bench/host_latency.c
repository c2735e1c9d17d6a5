/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Latency of one dependent load: a chain through the lines of a footprint in an order that no prefetcher follows, one
 * cycle over all lines.
 */
#include "host.h"

#include <math.h>
#include <stdlib.h>

enum { LINE_BYTE = 64, STEPS = 1024 };

struct chain {
	void **at;
	void **start;
	size_t n_lines;
};

static void **
line_of(const struct chain *c, size_t i)
{
	return c->start + i * (LINE_BYTE / sizeof(void *));
}

/* Each line points at the next of the cycle. */
static bool
lay(struct chain *c, uint64_t seed)
{
	uint32_t *const order = malloc(c->n_lines * sizeof *order);

	if (!order)
		return false;
	bench_cycle(order, c->n_lines, seed);
	for (size_t i = 0; i < c->n_lines; i++)
		*line_of(c, i) = line_of(c, order[i]);
	free(order);
	c->at = c->start;
	return true;
}

/* Every line once, and back. */
static double
wrong_by(const struct chain *c)
{
	void **at = c->start;
	size_t n = 0;

	do {
		at = *at;
		n++;
	} while (at != c->start && n <= c->n_lines);
	return fabs((double)n - (double)c->n_lines);
}

static double
timed(void *context, long n)
{
	struct chain *const c = context;
	void **at = c->at;
	const double start_s = bench_now();

	for (long i = 0; i < n; i++)
		for (int k = 0; k < STEPS; k++) {
			at = *at;
			__asm__ volatile("" : "+r"(at)); /* a load that depends on the last */
		}
	const double end_s = bench_now();
	c->at = at;
	return end_s - start_s;
}

enum bench_status
host_latency(struct bench *b)
{
	const double least_byte = 16.0 * 1024, step = b->quick ? 4 : 2;
	const double wanted_byte = 4 * host_last_cache_byte();
	const double most_byte = fmax(fmin(wanted_byte, bench_memory_byte() / 8), 1048576);
	double n_sizes = floor(log(most_byte / least_byte) / log(step)) + 1;
	struct chain chain = {.start = host_memory_new((size_t)most_byte)};
	enum bench_status status = BENCH_OK;

	if (!chain.start) {
		bench_say(b, "no memory for %.0f MiB", most_byte / 1048576);
		return BENCH_FAILED;
	}
	for (double size_byte = least_byte; status == BENCH_OK && size_byte <= most_byte; size_byte *= step) {
		struct bench_row row = bench_row_new("latency", "load", NULL);
		row.size_byte = size_byte;
		row.threads = 1;
		chain.n_lines = (size_t)size_byte / LINE_BYTE;
		bench_progress(b, "%.0f KiB", size_byte / 1024);
		if (!lay(&chain, b->seed)) {
			status = BENCH_FAILED;
			break;
		}
		if (!bench_right(b, wrong_by(&chain), 0, "latency: chain over %.0f bytes", size_byte))
			continue;
		status = bench_take(timed, &chain, bench_share(b, n_sizes--), &row.time);
		row.time.median_s /= STEPS;
		row.time.min_s /= STEPS;
		row.time.max_s /= STEPS;
		if (status == BENCH_OK)
			bench_print(b, &row);
	}
	host_memory_free(chain.start, (size_t)most_byte);
	return status;
}
