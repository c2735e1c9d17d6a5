/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products of the host, through the CBLAS that was found when this was built, else through a blocked loop of our
 * own.  Row-major C = A B^T, as a linear layer does it: activations m x k, weights n x k.  The weights rotate through
 * copies that are together larger than the cache.
 */
#include "host.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef BENCH_CBLAS
#include <cblas.h>
#else
#include "blocked.h"
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
	const enum bench_status status = bench_take(timed, p, budget_s, &row.time);
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
