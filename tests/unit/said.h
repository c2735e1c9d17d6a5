/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a diag was told, for tests: all messages as text, as people would read them. */
#ifndef RIDGE_TESTS_SAID_H
#define RIDGE_TESTS_SAID_H

#include "base/base.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline const char *
said(struct arena *a, const struct diag *d)
{
	char *text = NULL;
	size_t n = 0;
	FILE *memory = open_memstream(&text, &n);

	ck_assert_ptr_nonnull(memory);
	diag_print(d, memory, false);
	fclose(memory);
	const char *copy = arena_copy(a, text, n);
	free(text);
	return copy;
}

/* The text has this piece in it. */
#define ck_assert_has(text, piece) ck_assert_msg(strstr((text), (piece)) != NULL, "'%s' is not in\n%s", (piece), (text))
#define ck_assert_lacks(text, piece)                                                                                   \
	ck_assert_msg(strstr((text), (piece)) == NULL, "'%s' should not be in\n%s", (piece), (text))

#endif
