/* SPDX-License-Identifier: Apache-2.0 */
/* Describe the host; measure thread wake-up and memory latency. */
#define _GNU_SOURCE

#include "host.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

const char *
bench_cpu_name(void)
{
	static char name[128];
	static struct utsname machine;
	FILE *file = fopen("/proc/cpuinfo", "r");
	char line[256];

	while (file && !*name && fgets(line, sizeof line, file)) {
		char *const colon = strchr(line, ':');
		if (colon && (strncmp(line, "model name", 10) == 0 || strncmp(line, "cpu model", 9) == 0)) {
			colon[strcspn(colon, "\n")] = '\0';
			snprintf(name, sizeof name, "%s", colon + 1 + strspn(colon + 1, " "));
		}
	}
	if (file)
		fclose(file);
	if (!*name && uname(&machine) == 0)
		snprintf(name, sizeof name, "%.60s host", machine.machine);
	return name;
}

int
bench_cpu_count(void)
{
#ifdef __linux__
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
		return CPU_COUNT(&set);
#endif
	const long n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 ? (int)n : 1;
}

/* Read the first line of a small system file; empty if there is none. */
static void
system_line(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "r");

	if (!file || !fgets(line, (int)size, file))
		*line = '\0';
	if (file)
		fclose(file);
}

/* As the kernel tells it of the first CPU: what sysconf says of virtual machines is often the sum over a host. */
double
bench_cache_byte(int level)
{
	char path[96], line[32];

	for (int i = 0; i < 8; i++) {
		snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
		system_line(path, line, sizeof line);
		if (atoi(line) != level)
			continue;
		snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/type", i);
		system_line(path, line, sizeof line);
		if (strncmp(line, "Instruction", 11) == 0)
			continue;
		snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
		system_line(path, line, sizeof line);
		char *unit;
		const double size = strtod(line, &unit);
		return size * (*unit == 'K' ? 1024.0 : *unit == 'M' ? 1048576.0 : 1.0);
	}
	return 0;
}

double
bench_memory_byte(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	char line[128];
	double kib = 0;

	/* free pages alone leave out the page cache, which the kernel gives up when asked */
	while (file && kib == 0 && fgets(line, sizeof line, file))
		if (strncmp(line, "MemAvailable:", 13) == 0)
			kib = strtod(line + 13, NULL);
	if (file)
		fclose(file);
	if (kib > 0)
		return 1024 * kib;
#ifdef _SC_AVPHYS_PAGES
	return (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
#else
	return 4e9;
#endif
}

double
host_last_cache_byte(void)
{
	for (int level = 3; level > 0; level--)
		if (bench_cache_byte(level) > 0)
			return bench_cache_byte(level);
	return 32.0 * 1024 * 1024;
}

/* --- waking a thread ----------------------------------------------------------------------------------------- */

/* Measure thread wake-up: two threads wake each other in turn, and half a round trip is one wake-up. */

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
timed_wake(void *context, long n)
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
	(void)timed_wake(&pair, 100);
	if (bench_right(b, fabs((double)pair.turn - 200), 0, "launch: turns of two threads"))
		status = bench_take(timed_wake, &pair, b->budget_s, BENCH_HOST_SAMPLE_S, &row.time);
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

/* --- memory latency ------------------------------------------------------------------------------------------ */

/*
 * Latency of one dependent load: a chain through the lines of a footprint in an order that no prefetcher follows, one
 * cycle over all lines.
 */

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
timed_chain(void *context, long n)
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
		status = bench_take(timed_chain, &chain, bench_share(b, n_sizes--), BENCH_HOST_SAMPLE_S, &row.time);
		row.time.median_s /= STEPS;
		row.time.min_s /= STEPS;
		row.time.max_s /= STEPS;
		if (status == BENCH_OK)
			bench_print(b, &row);
	}
	host_memory_free(chain.start, (size_t)most_byte);
	return status;
}

/* --- subjects ------------------------------------------------------------------------------------------------ */

const struct bench_subject bench_host_subjects[] = {
    {"memory", "read, write, copy, scale and triad over footprints from 16 KiB, one thread and all", BENCH_HOST, 10,
        host_memory},
    {"latency", "a dependent load over footprints from 16 KiB", BENCH_HOST, 3, host_latency},
    {"fma", "multiply-add in registers, fp64 and fp32, one thread and all", BENCH_HOST, 2, host_fma},
    {"gemm", "GEMMs of layers, fp64 and fp32", BENCH_HOST, 6, host_gemm},
    {"launch", "one thread wakes another", BENCH_HOST, 0.5, host_launch},
};

const size_t n_bench_host_subjects = sizeof bench_host_subjects / sizeof *bench_host_subjects;
