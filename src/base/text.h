/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small text work: folded names, suggestions. */
#ifndef RIDGE_TEXT_H
#define RIDGE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct arena;

/* Lower case, letters and digits only: what two spellings of one name share. */
void text_fold(const char *name, char *buf, size_t size);
bool text_same_folded(const char *a, const char *b);
/* Number of edits (insert, delete, replace, swap neighbours) between two names, ignoring case. */
int text_distance(const char *a, const char *b);
/* The candidate nearest to `word` if it is near enough to be meant, else NULL. */
const char *text_nearest(const char *word, const char *const *candidates, size_t n);
bool text_ends(const char *text, const char *end);
bool text_begins(const char *text, const char *begin);
/* Copies of the pieces of `text` between `separator`s, blanks around them removed; NULL-terminated. */
char **text_split(struct arena *a, const char *text, char separator, size_t *n);

/* Whether the text (NULL: none) contains the word, whatever its case. */
bool text_mentions(const char *text, const char *word);
/* Length of the UTF-8 sequence that begins at p, or 0 where none does. */
size_t text_sequence(const char *p);
/* The text as it may go to a terminal: control characters and broken bytes written as `\x1b`.  The text itself where it
 * has none. */
const char *text_visible(struct arena *a, const char *text);

#endif
