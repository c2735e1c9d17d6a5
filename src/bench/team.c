/* SPDX-License-Identifier: Apache-2.0 */
/* A team of threads that start each piece of work together: early ones spin until the last is ready. */
#define _GNU_SOURCE

#include "host.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct member {
	struct team *team;
	int rank;
	double start_s, end_s;
	pthread_t thread;
};

struct team {
	int n;
	pthread_mutex_t lock;
	pthread_cond_t go, done;
	unsigned long round;
	int n_working;
	bool closing;
	atomic_int n_arrived;
	void (*work)(void *, int, int);
	void *context;
	struct member *members;
};

/* The rank-th CPU that this process may use. */
static void
pin(int rank)
{
#ifdef __linux__
	cpu_set_t all, one;

	if (sched_getaffinity(0, sizeof all, &all) != 0)
		return;
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && rank-- == 0) {
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			(void)pthread_setaffinity_np(pthread_self(), sizeof one, &one);
			return;
		}
#else
	(void)rank;
#endif
}

static void
meet(struct team *team)
{
	atomic_fetch_add(&team->n_arrived, 1);
	for (int i = 0; atomic_load(&team->n_arrived) < team->n; i++)
		if (i > 10000)
			sched_yield();
}

static void *
serve(void *context)
{
	struct member *const self = context;
	struct team *const team = self->team;
	unsigned long round = 0;

	pin(self->rank);
	pthread_mutex_lock(&team->lock);
	for (;;) {
		while (team->round == round && !team->closing)
			pthread_cond_wait(&team->go, &team->lock);
		if (team->closing)
			break;
		round = team->round;
		pthread_mutex_unlock(&team->lock);
		meet(team);
		self->start_s = bench_now();
		team->work(team->context, self->rank, team->n);
		self->end_s = bench_now();
		pthread_mutex_lock(&team->lock);
		if (--team->n_working == 0)
			pthread_cond_signal(&team->done);
	}
	pthread_mutex_unlock(&team->lock);
	return NULL;
}

struct team *
team_new(int n_threads)
{
	struct team *const team = calloc(1, sizeof *team);

	if (!team)
		return NULL;
	team->members = calloc((size_t)n_threads, sizeof *team->members);
	pthread_mutex_init(&team->lock, NULL);
	pthread_cond_init(&team->go, NULL);
	pthread_cond_init(&team->done, NULL);
	for (; team->members && team->n < n_threads; team->n++) {
		struct member *const member = &team->members[team->n];
		member->team = team;
		member->rank = team->n;
		if (pthread_create(&member->thread, NULL, serve, member) != 0)
			break;
	}
	if (team->n == n_threads)
		return team;
	team_free(team);
	return NULL;
}

void
team_free(struct team *team)
{
	if (!team)
		return;
	pthread_mutex_lock(&team->lock);
	team->closing = true;
	pthread_cond_broadcast(&team->go);
	pthread_mutex_unlock(&team->lock);
	for (int i = 0; i < team->n; i++)
		pthread_join(team->members[i].thread, NULL);
	pthread_mutex_destroy(&team->lock);
	pthread_cond_destroy(&team->go);
	pthread_cond_destroy(&team->done);
	free(team->members);
	free(team);
}

int
team_size(const struct team *team)
{
	return team->n;
}

double
team_run(struct team *team, void (*work)(void *context, int rank, int n_threads), void *context)
{
	pthread_mutex_lock(&team->lock);
	team->work = work;
	team->context = context;
	team->n_working = team->n;
	atomic_store(&team->n_arrived, 0);
	team->round++;
	pthread_cond_broadcast(&team->go);
	while (team->n_working > 0)
		pthread_cond_wait(&team->done, &team->lock);
	pthread_mutex_unlock(&team->lock);
	double start_s = team->members[0].start_s, end_s = team->members[0].end_s;
	for (int i = 1; i < team->n; i++) {
		start_s = team->members[i].start_s < start_s ? team->members[i].start_s : start_s;
		end_s = team->members[i].end_s > end_s ? team->members[i].end_s : end_s;
	}
	return end_s - start_s;
}

/* --- memory ---------------------------------------------------------------------------------------------- */

static const size_t page_byte = 2u << 20;

static size_t
in_pages(size_t n_byte)
{
	return (n_byte + page_byte - 1) / page_byte * page_byte + page_byte;
}

void *
host_memory_new(size_t n_byte)
{
	void *const memory = mmap(NULL, in_pages(n_byte), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
#ifdef MADV_HUGEPAGE
	(void)madvise(memory, in_pages(n_byte), MADV_HUGEPAGE);
#endif
	return memory;
}

void
host_memory_free(void *memory, size_t n_byte)
{
	if (memory)
		munmap(memory, in_pages(n_byte));
}

/* --- GEMMs without a BLAS -------------------------------------------------------------------------- */

/*
 * C = A B^T in blocks: a panel of B is laid out so that its columns are contiguous and stays in the cache, and a strip
 * of rows of C is summed in registers.  After Goto and van de Geijn, "Anatomy of high-performance matrix
 * multiplication", ACM TOMS 34(3), 2008, without its assembler.
 */

enum { PANEL = 32, DEPTH = 256, ROWS = 4 };

struct product {
	int m, n, k;
	const void *a, *b;
	void *c;
};

static int
least(int a, int b)
{
	return a < b ? a : b;
}

/* GEMM for both dtypes; threads share the column panels of C. */
#define BLOCKED(type, name)                                                                                            \
	FOR_EACH_MACHINE static void name##_panel(const struct product *p, int j0, int l0, type packed[DEPTH][PANEL])  \
	{                                                                                                              \
		const type *const a = p->a;                                                                            \
		type *const c = p->c;                                                                                  \
		const int n = least(PANEL, p->n - j0), depth = least(DEPTH, p->k - l0);                                \
		for (int i0 = 0; i0 < p->m; i0 += ROWS) {                                                              \
			const int rows = least(ROWS, p->m - i0);                                                       \
			type sum[ROWS][PANEL] = {{0}};                                                                 \
			for (int l = 0; l < depth; l++)                                                                \
				for (int i = 0; i < ROWS; i++) {                                                       \
					const int row = i0 + least(i, rows - 1);                                       \
					const type x = a[(size_t)row * (size_t)p->k + (size_t)(l0 + l)];               \
					for (int j = 0; j < PANEL; j++)                                                \
						sum[i][j] += x * packed[l][j];                                         \
				}                                                                                      \
			for (int i = 0; i < rows; i++)                                                                 \
				for (int j = 0; j < n; j++) {                                                          \
					type *const to = &c[(size_t)(i0 + i) * (size_t)p->n + (size_t)(j0 + j)];       \
					*to = l0 == 0 ? sum[i][j] : *to + sum[i][j];                                   \
				}                                                                                      \
		}                                                                                                      \
	}                                                                                                              \
	static void name##_work(void *context, int rank, int n_threads)                                                \
	{                                                                                                              \
		const struct product *const p = context;                                                               \
		const type *const b = p->b;                                                                            \
		type packed[DEPTH][PANEL];                                                                             \
		for (int j0 = rank * PANEL; j0 < p->n; j0 += n_threads * PANEL)                                        \
			for (int l0 = 0; l0 < p->k; l0 += DEPTH) {                                                     \
				memset(packed, 0, sizeof packed);                                                      \
				for (int j = 0; j < least(PANEL, p->n - j0); j++)                                      \
					for (int l = 0; l < least(DEPTH, p->k - l0); l++)                              \
						packed[l][j] = b[(size_t)(j0 + j) * (size_t)p->k + (size_t)(l0 + l)];  \
				name##_panel(p, j0, l0, packed);                                                       \
			}                                                                                              \
	}                                                                                                              \
	void name(struct team *team, int m, int n, int k, const type *a, const type *b, type *c)                       \
	{                                                                                                              \
		struct product p = {m, n, k, a, b, c};                                                                 \
		team_run(team, name##_work, &p);                                                                       \
	}

BLOCKED(float, blocked_sgemm)
BLOCKED(double, blocked_dgemm)
