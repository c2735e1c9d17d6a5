/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A command line of an example as the words that main() gets, and examples that take long made shorter. */
#ifndef RIDGE_TESTS_SPLIT_H
#define RIDGE_TESTS_SPLIT_H

#include "base/base.h"

#include <string.h>

/* Words as a shell splits them, blanks and quotes, after the program's name, and NULL; `most` is the room.  Returns
 * their number. */
static inline int
split_line(struct arena *a, const char *line, char **words, int most)
{
	int n = 0;

	words[n++] = arena_text(a, "ridge");
	for (const char *p = line; *p && n < most - 1;) {
		char word[1000];
		size_t m = 0;
		while (*p == ' ')
			p++;
		if (!*p)
			break;
		for (char quote = '\0'; *p && (quote || *p != ' '); p++) {
			if (!quote && (*p == '\'' || *p == '"'))
				quote = *p;
			else if (quote == *p)
				quote = '\0';
			else if (m + 1 < sizeof word)
				word[m++] = *p;
		}
		words[n++] = arena_copy(a, word, m);
	}
	words[n] = NULL;
	return n;
}

/* Operands whose answer takes seconds, and shorter ones that take the same options.  tests/law/examples.sh runs each
 * example as it stands. */
static const struct {
	const char *of_example, *taken;
} shorter[] = {
    {"tests/fixtures/calibrate/h100.csv", "tests/fixtures/calibrate/copies.csv"},
    {"tests/corpus/train.csv", "tests/fixtures/train-rows.csv"},
    {"h100,h200,b200", "h100,b200"},
    {"h100,l40s", "l40s"},
    {"bf16,fp8", "fp8"},
};

static inline void
take_shorter(struct arena *a, char **words, int n)
{
	for (int i = 0; i < n; i++)
		for (size_t k = 0; k < sizeof shorter / sizeof *shorter; k++)
			if (strcmp(words[i], shorter[k].of_example) == 0)
				words[i] = arena_text(a, shorter[k].taken);
}

#endif
