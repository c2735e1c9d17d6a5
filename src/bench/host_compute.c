/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GEMMs of the host, through the CBLAS that was found when this was built, else through a blocked loop of our
 * own.  Row-major C = A B^T, as a linear layer does it: activations m x k, weights n x k.  The weights rotate through
 * copies that are together larger than the cache.
 */
#include "host.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- multiply-add in registers ------------------------------------------------------------------------------- */

/*
 * Peak arithmetic of the host: independent chains x = a x + b in registers, as many as hide the latency of an
 * operation. From x0, n steps lead to x* + a^n (x0 - x*) with x* = b / (1 - a); a depends on n, so that leaving out
 * steps shows.
 */

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
timed_fma(void *context, long n)
{
	struct job *const job = context;

	job->n_steps = n * STEPS;
	return team_run(job->team, work, job);
}

static enum bench_status
measure_fma(struct bench *b, const struct variant *variant, int n_threads, double budget_s)
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
	(void)timed_fma(&job, 1);
	status = BENCH_OK;
	if (bench_right(b, job.error, variant->tolerance, "fma: %s, %d threads", variant->dtype, n_threads)) {
		job.a = 1 - 0x1p-20; /* never there while it is timed_fma */
		job.b = 0x1p-19;
		status = bench_take(timed_fma, &job, budget_s, BENCH_HOST_SAMPLE_S, &row.time);
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
		enum bench_status status = measure_fma(b, v, 1, bench_share(b, n_points--));
		if (status == BENCH_OK && b->n_threads > 1)
			status = measure_fma(b, v, b->n_threads, bench_share(b, n_points--));
		if (status != BENCH_OK)
			return status;
	}
	return BENCH_OK;
}

/* --- GEMMs ----------------------------------------------------------------------------------------- */

#ifdef BENCH_CBLAS
#include <cblas.h>
#else
#endif

static const struct shape {
	int m, n, k;
	bool quick;
} shapes[] = {
    {1, 1024, 1024, false},
    {1, 2048, 2048, true},
    {4, 2048, 2048, false},
    {16, 1024, 4096, false},
    {16, 2048, 2048, true},
    {64, 1024, 1024, false},
    {64, 2048, 2048, true},
    {64, 4096, 1024, false},
    {128, 2048, 1024, false},
    {256, 256, 256, true},
    {256, 1024, 1024, true},
    {512, 512, 512, true},
    {512, 2048, 2048, false},
    {1024, 1024, 1024, true},
    {2048, 1024, 2048, false},
};

struct product {
	int m, n, k, copies, turn;
	bool single;
	void *a, *w, *c; /* w has `copies` of the weights, one after the other */
	struct team *team;
};

static size_t
element(const struct product *p)
{
	return p->single ? sizeof(float) : sizeof(double);
}

/* The i-th element of the operands; the weights differ between copies. */
static double
value(const struct product *p, const void *array, size_t i)
{
	return p->single ? (double)((const float *)array)[i] : ((const double *)array)[i];
}

static void
fill(const struct product *p, void *array, size_t n, uint64_t seed)
{
	for (size_t i = 0; i < n; i++)
		if (p->single)
			((float *)array)[i] = (float)bench_random(seed, i);
		else
			((double *)array)[i] = bench_random(seed, i);
}

static const char *
weights_of(const struct product *p, int copy)
{
	return (const char *)p->w + (size_t)copy * (size_t)p->n * (size_t)p->k * element(p);
}

static void
multiply(struct product *p)
{
	const void *const w = weights_of(p, p->turn);

#ifdef BENCH_CBLAS
	if (p->single)
		cblas_sgemm(
		    CblasRowMajor, CblasNoTrans, CblasTrans, p->m, p->n, p->k, 1, p->a, p->k, w, p->k, 0, p->c, p->n);
	else
		cblas_dgemm(
		    CblasRowMajor, CblasNoTrans, CblasTrans, p->m, p->n, p->k, 1, p->a, p->k, w, p->k, 0, p->c, p->n);
#else
	if (p->single)
		blocked_sgemm(p->team, p->m, p->n, p->k, p->a, w, p->c);
	else
		blocked_dgemm(p->team, p->m, p->n, p->k, p->a, w, p->c);
#endif
	p->turn = (p->turn + 1) % p->copies;
}

static double
timed(void *context, long n)
{
	struct product *const p = context;
	const double start_s = bench_now();

	for (long i = 0; i < n; i++)
		multiply(p);
	return bench_now() - start_s;
}

/* Sampled elements against sums in long double: the norm of the differences over that of the sums. */
static double
wrong_by(struct product *p, uint64_t seed)
{
	const size_t n_elements = (size_t)p->m * (size_t)p->n;
	double difference = 0, norm = 0;

	memset(p->c, 0xff, n_elements * element(p)); /* not numbers */
	const char *const w = weights_of(p, p->turn);
	multiply(p);
	for (size_t s = 0; s < 64; s++) {
		const size_t at = (size_t)((bench_random(seed, s) + 1) / 2 * (double)n_elements);
		const size_t row = at / (size_t)p->n, column = at % (size_t)p->n, depth = (size_t)p->k;
		long double sum = 0;
		for (size_t i = 0; i < depth; i++)
			sum +=
			    (long double)value(p, p->a, row * depth + i) * (long double)value(p, w, column * depth + i);
		difference += pow(value(p, p->c, at) - (double)sum, 2);
		norm += pow((double)sum, 2);
	}
	for (size_t i = 0; i < n_elements; i++) /* all written */
		if (isnan(value(p, p->c, i)))
			return NAN;
	return sqrt(difference / norm);
}

static const char *
library(void)
{
#if defined(BENCH_CBLAS) && defined(OPENBLAS_VERSION)
	static char text[128];

	snprintf(text, sizeof text, "OpenBLAS, %.100s", openblas_get_config());
	return text;
#elif defined(BENCH_CBLAS)
	return BENCH_CBLAS;
#else
	return "blocked loop";
#endif
}

static enum bench_status
measure(struct bench *b, struct product *p, double budget_s)
{
	struct bench_row row = bench_row_new("gemm", NULL, p->single ? "fp32" : "fp64");
	char note[64];

	row.m = p->m;
	row.n = p->n;
	row.k = p->k;
	row.threads = b->n_threads;
#ifdef BENCH_CBLAS
	row.backend = BENCH_CBLAS;
#endif
	row.library = library();
	snprintf(note, sizeof note, "n_copies %d", p->copies);
	row.note = note;
	bench_progress(b, "%s %d x %d x %d", row.dtype, p->m, p->n, p->k);
	/* the error of a sum of k products of random signs grows with the root of k */
	const double tolerance = (p->single ? 6e-8 : 1.2e-16) * (4 + sqrt((double)p->k));
	if (!bench_right(b, wrong_by(p, b->seed + 3), tolerance, "gemm: %s %d x %d x %d", row.dtype, p->m, p->n, p->k))
		return BENCH_OK;
	const enum bench_status status = bench_take(timed, p, budget_s, BENCH_HOST_SAMPLE_S, &row.time);
	if (status == BENCH_OK)
		bench_print(b, &row);
	return status;
}

/* So many copies of the weights that none is in the cache when its turn comes again. */
static int
copies_for(double weights_byte)
{
	return (int)ceil(2 * host_last_cache_byte() / weights_byte) + 1;
}

static enum bench_status
measure_shape(struct bench *b, const struct shape *s, bool single, struct team *team, double budget_s)
{
	struct product p = {.m = s->m, .n = s->n, .k = s->k, .single = single, .team = team};
	const size_t a = (size_t)s->m * (size_t)s->k, w = (size_t)s->n * (size_t)s->k, c = (size_t)s->m * (size_t)s->n;
	enum bench_status status = BENCH_FAILED;

	p.copies = copies_for((double)(w * element(&p)));
	p.a = host_memory_new(a * element(&p));
	p.w = host_memory_new((size_t)p.copies * w * element(&p));
	p.c = host_memory_new(c * element(&p));
	if (p.a && p.w && p.c) {
		fill(&p, p.a, a, b->seed + 1);
		fill(&p, p.w, (size_t)p.copies * w, b->seed + 2);
		status = measure(b, &p, budget_s);
	} else
		bench_say(b, "no memory for %d x %d x %d", s->m, s->n, s->k);
	host_memory_free(p.a, a * element(&p));
	host_memory_free(p.w, (size_t)p.copies * w * element(&p));
	host_memory_free(p.c, c * element(&p));
	return status;
}

enum bench_status
host_gemm(struct bench *b)
{
	struct team *team = NULL;
	enum bench_status status = BENCH_OK;
	double n_points = 0;

	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		n_points += shapes[i].quick || !b->quick ? 2 : 0;
#ifdef BENCH_CBLAS
#ifdef OPENBLAS_VERSION
	openblas_set_num_threads(b->n_threads);
#endif
#else
	team = team_new(b->n_threads);
	if (!team)
		return BENCH_FAILED;
#endif
	for (int single = 0; single < 2; single++)
		for (size_t i = 0; status == BENCH_OK && i < sizeof shapes / sizeof *shapes; i++)
			if (shapes[i].quick || !b->quick)
				status = measure_shape(b, &shapes[i], single != 0, team, bench_share(b, n_points--));
	team_free(team);
	return status;
}
