/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that wait for work.  They start it together: who wakes first waits, without sleeping, for the last. */
#define _GNU_SOURCE
#include "host.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
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
