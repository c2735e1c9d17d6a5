/* SPDX-License-Identifier: Apache-2.0 */
/* What starting work costs on the host: one thread wakes another and is woken by it; half of that is one wake-up. */
#include "host.h"

#include <math.h>
#include <pthread.h>

struct pair {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	long turn; /* even: the measuring thread's */
	bool closing;
};

static void *
answer(void *context)
{
	struct pair *const p = context;

	pthread_mutex_lock(&p->lock);
	while (!p->closing) {
		if (p->turn % 2 == 1) {
			p->turn++;
			pthread_cond_broadcast(&p->changed);
		} else
			pthread_cond_wait(&p->changed, &p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static double
timed(void *context, long n)
{
	struct pair *const p = context;
	const double start_s = bench_now();

	pthread_mutex_lock(&p->lock);
	for (long i = 0; i < n; i++) {
		p->turn++;
		pthread_cond_broadcast(&p->changed);
		while (p->turn % 2 == 1)
			pthread_cond_wait(&p->changed, &p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	return (bench_now() - start_s) / 2;
}

enum bench_status
host_launch(struct bench *b)
{
	struct bench_row row = bench_row_new("launch", "thread", NULL);
	struct pair pair = {.turn = 0};
	pthread_t thread;

	bench_progress(b, "thread");
	pthread_mutex_init(&pair.lock, NULL);
	pthread_cond_init(&pair.changed, NULL);
	if (pthread_create(&thread, NULL, answer, &pair) != 0) {
		bench_say(b, "cannot start a thread");
		return BENCH_FAILED;
	}
	/* every turn was answered */
	enum bench_status status = BENCH_OK;
	(void)timed(&pair, 100);
	if (bench_right(b, fabs((double)pair.turn - 200), 0, "launch: turns of two threads"))
		status = bench_take(timed, &pair, b->budget_s, &row.time);
	pthread_mutex_lock(&pair.lock);
	pair.closing = true;
	pthread_cond_broadcast(&pair.changed);
	pthread_mutex_unlock(&pair.lock);
	pthread_join(thread, NULL);
	pthread_cond_destroy(&pair.changed);
	pthread_mutex_destroy(&pair.lock);
	row.threads = 2;
	if (status == BENCH_OK && row.time.n)
		bench_print(b, &row);
	return status;
}
