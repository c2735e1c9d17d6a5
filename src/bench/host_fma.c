/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Peak arithmetic of the host: independent chains x = a x + b in registers, as many as hide the latency of an
 * operation. From x0, n steps lead to x* + a^n (x0 - x*) with x* = b / (1 - a); a depends on n, so that leaving out
 * steps shows.
 */
#include "host.h"

#include <math.h>
#include <string.h>

typedef void chains(long n, double a, double b, double *end);

/* Starting points differ between lanes and chains, or the compiler would make one of all. */
#define START(lane) (1.0 + 0.25 * (double)(lane))

#define CHAINS(name, machine, type, width, count)                                                                      \
	__attribute__((noinline)) machine static void name(long n, double a_d, double b_d, double *end)                \
	{                                                                                                              \
		typedef type vector __attribute__((vector_size(width)));                                               \
		enum { LANES = (width) / sizeof(type) };                                                               \
		const vector a = (vector){0} + (type)a_d, b = (vector){0} + (type)b_d;                                 \
		vector x[count];                                                                                       \
		for (int c = 0; c < (count); c++)                                                                      \
			for (int l = 0; l < (int)LANES; l++)                                                           \
				x[c][l] = (type)START(c * (int)LANES + l);                                             \
		for (long i = 0; i < n; i++) {                                                                         \
			_Pragma("GCC unroll 16") for (int c = 0; c < (count); c++) x[c] = x[c] * a + b;                \
		}                                                                                                      \
		for (int c = 0; c < (count); c++)                                                                      \
			for (int l = 0; l < (int)LANES; l++)                                                           \
				end[c * (int)LANES + l] = (double)x[c][l];                                             \
	}

#define NO_MACHINE
#if defined(__x86_64__)
#define WIDE __attribute__((target("avx512f")))
#define MIDDLE __attribute__((target("avx2,fma")))
CHAINS(fp64_wide, WIDE, double, 64, 12)
CHAINS(fp32_wide, WIDE, float, 64, 12)
CHAINS(fp64_middle, MIDDLE, double, 32, 12)
CHAINS(fp32_middle, MIDDLE, float, 32, 12)
#endif
CHAINS(fp64_plain, NO_MACHINE, double, 16, 12)
CHAINS(fp32_plain, NO_MACHINE, float, 16, 12)

static const struct variant {
	const char *dtype, *machine;
	chains *run;
	int n_values; /* chains times lanes */
	double tolerance;
} variants[] = {
#if defined(__x86_64__)
    {"fp64", "avx512f", fp64_wide, 12 * 8, 1e-10},
    {"fp64", "avx2", fp64_middle, 12 * 4, 1e-10},
#endif
    {"fp64", "", fp64_plain, 12 * 2, 1e-10},
#if defined(__x86_64__)
    {"fp32", "avx512f", fp32_wide, 12 * 16, 1e-3},
    {"fp32", "avx2", fp32_middle, 12 * 8, 1e-3},
#endif
    {"fp32", "", fp32_plain, 12 * 4, 1e-3},
};

static bool
has(const char *machine)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	if (machine[0] == 'a' && machine[3] == '5')
		return __builtin_cpu_supports("avx512f") != 0;
	if (machine[0] == 'a')
		return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
#endif
	return machine[0] == '\0';
}

struct job {
	const struct variant *variant;
	struct team *team;
	long n_steps;
	double a, b;
	double error; /* of the first thread */
};

enum { STEPS = 4096 };

static void
work(void *context, int rank, int n_threads)
{
	struct job *const job = context;
	double end[12 * 16];

	(void)n_threads;
	job->variant->run(job->n_steps, job->a, job->b, end);
	if (rank != 0)
		return;
	/* in the precision that the chain sees a and b in */
	const bool single = job->variant->dtype[2] == '3';
	const double a = single ? (double)(float)job->a : job->a, b = single ? (double)(float)job->b : job->b;
	const double rest = b / (1 - a);
	double worst = 0;
	for (int i = 0; i < job->variant->n_values; i++) {
		const double right = rest + pow(a, (double)job->n_steps) * (START(i) - rest);
		const double error = fabs(end[i] - right) / fabs(right);
		if (!(error <= worst))
			worst = error;
	}
	job->error = worst;
}

static double
timed(void *context, long n)
{
	struct job *const job = context;

	job->n_steps = n * STEPS;
	return team_run(job->team, work, job);
}

static enum bench_status
measure(struct bench *b, const struct variant *variant, int n_threads, double budget_s)
{
	struct bench_row row = bench_row_new("fma", NULL, variant->dtype);
	/* 1 - a is a power of two; two thirds of the way to the fixed point */
	struct job job = {.variant = variant, .team = team_new(n_threads), .a = 1 - 0x1p-12, .b = 0x1p-11};
	enum bench_status status = BENCH_FAILED;

	if (!job.team) {
		bench_say(b, "cannot start %d threads", n_threads);
		return status;
	}
	bench_progress(b, "%s, %d threads", variant->dtype, n_threads);
	row.threads = n_threads;
	row.flop = 2.0 * variant->n_values * STEPS * n_threads;
	row.note = *variant->machine ? variant->machine : NULL;
	(void)timed(&job, 1);
	status = BENCH_OK;
	if (bench_right(b, job.error, variant->tolerance, "fma: %s, %d threads", variant->dtype, n_threads)) {
		job.a = 1 - 0x1p-20; /* never there while it is timed */
		job.b = 0x1p-19;
		status = bench_take(timed, &job, budget_s, &row.time);
	}
	if (status == BENCH_OK && row.time.n)
		bench_print(b, &row);
	team_free(job.team);
	return status;
}

enum bench_status
host_fma(struct bench *b)
{
	const char *last = "";
	double n_points = b->n_threads > 1 ? 4 : 2;

	for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
		const struct variant *const v = &variants[i];
		if (strcmp(v->dtype, last) == 0 || !has(v->machine)) /* the widest that the machine has */
			continue;
		last = v->dtype;
		enum bench_status status = measure(b, v, 1, bench_share(b, n_points--));
		if (status == BENCH_OK && b->n_threads > 1)
			status = measure(b, v, b->n_threads, bench_share(b, n_points--));
		if (status != BENCH_OK)
			return status;
	}
	return BENCH_OK;
}
