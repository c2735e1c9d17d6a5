/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A command line of an example as the words that main() gets. */
#ifndef RIDGE_TESTS_SPLIT_H
#define RIDGE_TESTS_SPLIT_H

#include "base/base.h"

/* Words as a shell splits them. */
static inline int
split_line(struct arena *a, const char *line, char **words, int most)
{
	int n = 0;

	words[n++] = arena_text(a, "ridge");
	for (const char *p = line; *p && n < most;) {
		char word[500];
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
	return n;
}

#endif
