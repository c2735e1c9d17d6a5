/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Share independent pieces of work among threads. */
#include "base/base.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

struct crew {
	void (*job)(void *context, size_t i);
	void *context;
	size_t n;
	atomic_size_t next;
};

static void *
work(void *argument)
{
	struct crew *c = argument;

	for (size_t i; (i = atomic_fetch_add(&c->next, 1)) < c->n;)
		c->job(c->context, i);
	return NULL;
}

void
crew_run(void (*job)(void *context, size_t i), void *context, size_t n, size_t n_threads)
{
	enum { THREADS_MOST = 256 };
	struct crew crew = {.job = job, .context = context, .n = n};
	pthread_t threads[THREADS_MOST];
	size_t n_started = 0;

	if (n_threads == 0) {
		const long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
		n_threads = n_cores > 0 ? (size_t)n_cores : 1;
	}
	if (n_threads > n)
		n_threads = n;
	while (n_started + 1 < n_threads && n_started < THREADS_MOST &&
	    pthread_create(&threads[n_started], NULL, work, &crew) == 0)
		n_started++;
	work(&crew);
	for (size_t i = 0; i < n_started; i++)
		pthread_join(threads[i], NULL);
}
