/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory that is given back all at once.  Out of memory ends the program here, so nobody else handles it. */
#ifndef RIDGE_ARENA_H
#define RIDGE_ARENA_H

#include <stddef.h>

struct arena;

struct arena *arena_new(void);
void arena_free(struct arena *a);
/* Give back everything that was taken, keep the arena. */
void arena_clear(struct arena *a);
/* Bytes that it took from the system. */
size_t arena_size(const struct arena *a);
/* Zeroed, aligned for any type. */
void *arena_take(struct arena *a, size_t size);
char *arena_copy(struct arena *a, const char *text, size_t length);
char *arena_text(struct arena *a, const char *text);
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* An array of n elements becomes one of `more`; the old one stays until the end. */
void *arena_grow(struct arena *a, const void *array, size_t n, size_t more, size_t element);

#define ARENA_NEW(a, type) ((type *)arena_take((a), sizeof(type)))
#define ARENA_ARRAY(a, type, n) ((type *)arena_take((a), sizeof(type) * (size_t)(n)))

#endif
