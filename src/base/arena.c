/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arenas: allocate many small objects, free them all at once. */
#include "base/base.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Chunks grow: a sheet of a few rows is small, and a sweep keeps thousands of them.  AHEAD: what is mapped of an array
 * that grew, beyond what it had. */
enum { FIRST_CHUNK = 8 * 1024, CHUNK = 64 * 1024, AHEAD = 1024 * 1024 };

struct chunk {
	struct chunk *next;
	size_t used, size;
	alignas(max_align_t) unsigned char data[];
};

struct arena {
	struct chunk *chunks;
};

/* Nothing more can be allocated: what the program was asked is read from the system, a word at most. */
static void
out_of_memory(void)
{
	char words[512] = "";
	const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	const ssize_t n = file >= 0 ? read(file, words, sizeof words - 1) : 0;
	const char *command = n > 0 && strlen(words) + 1 < (size_t)n ? words + strlen(words) + 1 : "";
	const bool plain = command[strspn(command, "abcdefghijklmnopqrstuvwxyz")] == '\0';

	if (file >= 0)
		close(file);
	fprintf(stderr, "ridge%s%s: error: out of memory\n", plain && *command ? " " : "", plain ? command : "");
	fputs("  hint: ask for less at once: fewer points, requests or rows; or lift the limit (ulimit -v)\n", stderr);
	exit(3);
}

static void *
checked(void *p)
{
	if (!p)
		out_of_memory();
	return p;
}

struct arena *
arena_new(void)
{
	return checked(calloc(1, sizeof(struct arena)));
}

static void
chunks_free(struct chunk *c)
{
	while (c) {
		struct chunk *next = c->next;
		free(c);
		c = next;
	}
}

void
arena_free(struct arena *a)
{
	if (!a)
		return;
	chunks_free(a->chunks);
	free(a);
}

void
arena_clear(struct arena *a)
{
	if (!a->chunks)
		return;
	chunks_free(a->chunks->next);
	a->chunks->next = NULL;
	a->chunks->used = 0;
}

size_t
arena_size(const struct arena *a)
{
	size_t n = 0;

	for (const struct chunk *c = a->chunks; c; c = c->next)
		n += sizeof *c + c->size;
	return n;
}

/* Map new pages at once: one by one, as they are touched, takes longer than what is done in them.  A hint: nothing
 * depends on it. */
static void
map_at_once(void *p, size_t size)
{
#ifdef MADV_POPULATE_WRITE
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (page - (uintptr_t)p % page) % page;

	if (size >= CHUNK && size > before + page)
		madvise((unsigned char *)p + before, (size - before) / page * page, MADV_POPULATE_WRITE);
#else
	(void)p;
	(void)size;
#endif
}

/* Large ones have a chunk of their own, which the system hands out zeroed. */
void *
arena_take(struct arena *a, size_t size)
{
	const size_t align = alignof(max_align_t);

	if (size > SIZE_MAX / 2)
		out_of_memory();
	size = (size + align - 1) / align * align;
	bool zeroed = false;
	if (!a->chunks || a->chunks->size - a->chunks->used < size) {
		const size_t twice = a->chunks ? 2 * a->chunks->size : FIRST_CHUNK,
		             usual = twice < CHUNK ? twice : CHUNK;
		zeroed = size > usual;
		struct chunk *c = checked(zeroed ? calloc(1, sizeof *c + size) : malloc(sizeof *c + usual));

		c->next = a->chunks;
		c->used = 0;
		c->size = zeroed ? size : usual;
		a->chunks = c;
		if (!zeroed)
			map_at_once(c, sizeof *c + usual);
	}
	void *p = a->chunks->data + a->chunks->used;
	a->chunks->used += size;
	return zeroed ? p : memset(p, 0, size);
}

char *
arena_copy(struct arena *a, const char *text, size_t length)
{
	char *p = arena_take(a, length + 1);

	memcpy(p, text, length);
	return p;
}

char *
arena_text(struct arena *a, const char *text)
{
	return arena_copy(a, text, strlen(text));
}

char *
arena_printf(struct arena *a, const char *format, ...)
{
	va_list list, again;

	va_start(list, format);
	va_copy(again, list);
	const int length = vsnprintf(NULL, 0, format, list);
	va_end(list);
	char *p = arena_take(a, (size_t)length + 1);
	vsnprintf(p, (size_t)length + 1, format, again);
	va_end(again);
	return p;
}

void *
arena_grow(struct arena *a, const void *array, size_t n, size_t more, size_t element)
{
	if (element && more > SIZE_MAX / 2 / element)
		out_of_memory();
	void *p = arena_take(a, more * element);

	const size_t ahead = n * element + AHEAD, whole = more * element;

	map_at_once(p, ahead < whole ? ahead : whole);
	if (n)
		memcpy(p, array, n * element);
	return p;
}

/* --- threads: share independent pieces of work among them ------------------------------------------------ */

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
	enum { THREADS_MOST = 255 }; /* and the caller */
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
