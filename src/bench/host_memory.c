/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bandwidth of the host over footprints, so that the plateaus of its caches and of its memory show.  The five kernels
 * are those of STREAM with a read and a write before them (McCalpin, "Memory bandwidth and machine balance in current
 * high performance computers", IEEE TCCA newsletter, 1995).  A line that a store brings into the cache is not counted.
 */
#include "host.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { UNROLL = 32 };

static const double factor = 3;
static const double least_byte = 16.0 * 1024;

struct arrays {
	double *a, *b, *c;
	size_t n; /* elements of one array */
	long n_passes;
	double *sums; /* of each thread, a cache line apart */
};

#define SUM_STRIDE 16

typedef void kernel(const struct arrays *x, size_t from, size_t to, int rank);

/* Passes over the same slice are separate to the compiler. */
#define MEMORY_IS_SEEN() __asm__ volatile("" ::: "memory")

FOR_EACH_MACHINE static void
read_pass(const struct arrays *x, size_t from, size_t to, int rank)
{
	double sum[UNROLL] = {0};
	const double *const a = x->a;
	size_t i = from;

	for (; i + UNROLL <= to; i += UNROLL)
		for (size_t k = 0; k < UNROLL; k++)
			sum[k] += a[i + k];
	for (; i < to; i++)
		sum[0] += a[i];
	for (size_t k = 1; k < UNROLL; k++)
		sum[0] += sum[k];
	x->sums[rank * SUM_STRIDE] += sum[0];
}

FOR_EACH_MACHINE static void
write_pass(const struct arrays *x, size_t from, size_t to, int rank)
{
	double *const a = x->a;

	(void)rank;
	for (size_t i = from; i < to; i++)
		a[i] = factor;
}

FOR_EACH_MACHINE static void
copy_pass(const struct arrays *x, size_t from, size_t to, int rank)
{
	double *restrict const a = x->a;
	const double *restrict const b = x->b;

	(void)rank;
	for (size_t i = from; i < to; i++)
		a[i] = b[i];
}

FOR_EACH_MACHINE static void
scale_pass(const struct arrays *x, size_t from, size_t to, int rank)
{
	double *restrict const a = x->a;
	const double *restrict const b = x->b;

	(void)rank;
	for (size_t i = from; i < to; i++)
		a[i] = factor * b[i];
}

FOR_EACH_MACHINE static void
triad_pass(const struct arrays *x, size_t from, size_t to, int rank)
{
	double *restrict const a = x->a;
	const double *restrict const b = x->b, *restrict const c = x->c;

	(void)rank;
	for (size_t i = from; i < to; i++)
		a[i] = b[i] + factor * c[i];
}

/* Small whole numbers: every result is exact, whatever the order. */
static double
value_b(size_t i)
{
	return (double)(i % 61) + 1;
}

static double
value_c(size_t i)
{
	return (double)(i % 53) - 20;
}

static const struct operation {
	const char *name;
	kernel *pass;
	int n_arrays; /* that it touches */
} operations[] = {
    {"read", read_pass, 1},
    {"write", write_pass, 1},
    {"copy", copy_pass, 2},
    {"scale", scale_pass, 2},
    {"triad", triad_pass, 3},
};

struct job {
	struct arrays arrays;
	const struct operation *operation;
	struct team *team;
};

static size_t
slice(size_t n, int rank, int n_threads)
{
	/* whole cache lines, so that no two threads write one */
	return rank == n_threads ? n : n / (size_t)n_threads * (size_t)rank / 16 * 16;
}

static void
run_passes(void *context, int rank, int n_threads)
{
	const struct job *const job = context;
	const size_t from = slice(job->arrays.n, rank, n_threads), to = slice(job->arrays.n, rank + 1, n_threads);

	for (long i = 0; i < job->arrays.n_passes; i++) {
		job->operation->pass(&job->arrays, from, to, rank);
		MEMORY_IS_SEEN();
	}
}

/* First touch by the thread that uses a slice, which places it in local memory. */
static void
fill(void *context, int rank, int n_threads)
{
	const struct arrays *const x = &((const struct job *)context)->arrays;
	const size_t from = slice(x->n, rank, n_threads), to = slice(x->n, rank + 1, n_threads);

	for (size_t i = from; i < to; i++) {
		x->a[i] = value_b(i);
		x->b[i] = value_b(i);
		x->c[i] = value_c(i);
	}
}

static double
timed(void *context, long n)
{
	struct job *const job = context;

	job->arrays.n_passes = n;
	return team_run(job->team, run_passes, job);
}

/* The largest relative difference from what the operation has to leave behind, after one pass over cleared results. */
static double
wrong_by(struct job *job)
{
	const struct arrays *const x = &job->arrays;
	const char *const name = job->operation->name;
	double worst = 0, sum = 0, expected = 0;

	memset(x->sums, 0, sizeof *x->sums * SUM_STRIDE * (size_t)team_size(job->team));
	if (strcmp(name, "read") != 0)
		memset(x->a, 0xff, x->n * sizeof *x->a); /* not numbers */
	(void)timed(job, 1);
	if (strcmp(name, "read") == 0) {
		for (int t = 0; t < team_size(job->team); t++)
			sum += x->sums[t * SUM_STRIDE];
		for (size_t i = 0; i < x->n; i++)
			expected += value_b(i);
		return fabs(sum - expected) / expected;
	}
	for (size_t i = 0; i < x->n; i++) {
		const double right = strcmp(name, "write") == 0 ? factor
		    : strcmp(name, "copy") == 0                 ? value_b(i)
		    : strcmp(name, "scale") == 0                ? factor * value_b(i)
		                                                : value_b(i) + factor * value_c(i);
		const double error = fabs(x->a[i] - right) / (fabs(right) + 1);
		if (!(error <= worst))
			worst = error;
	}
	return worst;
}

static enum bench_status
measure(struct bench *b, struct job *job, double budget_s)
{
	struct bench_row row = bench_row_new("copy", job->operation->name, "fp64");

	row.size_byte = (double)(job->arrays.n * sizeof(double));
	row.threads = team_size(job->team);
	bench_progress(b, "%s of %.0f KiB, %d threads", job->operation->name, row.size_byte / 1024, (int)row.threads);
	if (!bench_right(b, wrong_by(job), 0, "memory: %s of %.0f bytes", job->operation->name, row.size_byte))
		return BENCH_OK;
	const enum bench_status status = bench_take(timed, job, budget_s, BENCH_HOST_SAMPLE_S, &row.time);
	if (status == BENCH_OK)
		bench_print(b, &row);
	return status;
}

/* `read` leaves `a` as it was filled; the others write it, so it comes first. */
static enum bench_status
measure_size(struct bench *b, struct job *job, double n_sizes_left)
{
	const size_t n_operations = sizeof operations / sizeof *operations;

	team_run(job->team, fill, job);
	for (size_t k = 0; k < n_operations; k++) {
		job->operation = &operations[k];
		const enum bench_status status =
		    measure(b, job, bench_share(b, n_sizes_left * (double)n_operations - (double)k));
		if (status != BENCH_OK)
			return status;
	}
	return BENCH_OK;
}

static enum bench_status
measure_threads(struct bench *b, int n_threads, double most_byte, double step, double n_sizes_after)
{
	double n_sizes = floor(log(most_byte / least_byte) / log(step)) + 1;
	const size_t room = (size_t)most_byte;
	double sums[SUM_STRIDE * 1024];
	struct job job = {.team = team_new(n_threads)};
	enum bench_status status = BENCH_FAILED;

	job.arrays.a = host_memory_new(room);
	job.arrays.b = host_memory_new(room);
	job.arrays.c = host_memory_new(room);
	job.arrays.sums = sums;
	if (!job.team || !job.arrays.a || !job.arrays.b || !job.arrays.c) {
		bench_say(b, "no memory for arrays of %.0f MiB, or no threads", most_byte / 1048576);
		goto out;
	}
	status = BENCH_OK;
	for (double size_byte = least_byte; status == BENCH_OK && size_byte <= most_byte; size_byte *= step) {
		job.arrays.n = (size_t)(size_byte / sizeof(double)) / 16 * 16;
		status = measure_size(b, &job, n_sizes_after + n_sizes--);
	}
out:
	team_free(job.team);
	host_memory_free(job.arrays.a, room);
	host_memory_free(job.arrays.b, room);
	host_memory_free(job.arrays.c, room);
	return status;
}

enum bench_status
host_memory(struct bench *b)
{
	const int n_threads = b->n_threads > 1024 ? 1024 : b->n_threads;
	const double room_byte = bench_memory_byte() / 8;
	const double wanted_byte = (b->quick ? 2 : 4) * host_last_cache_byte() * fmax(1, n_threads / 16.0);
	const double most_byte = fmax(fmin(wanted_byte, room_byte), 1048576);
	const double step = b->quick ? 4 : 2;
	const double n_sizes = floor(log(most_byte / least_byte) / log(step)) + 1;
	enum bench_status status = measure_threads(b, 1, most_byte, step, n_threads > 1 ? n_sizes : 0);

	if (status == BENCH_OK && n_threads > 1)
		status = measure_threads(b, n_threads, most_byte, step, 0);
	return status;
}
