/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Command lines asked in process, again and again: status, rows of every sheet, and what was printed. */
#ifndef RIDGE_TESTS_ASK_H
#define RIDGE_TESTS_ASK_H

#include "base/base.h"

#include <stdbool.h>
#include <stdio.h>

/* A row of a sheet that is not deep inside: `step_s`, `expected_byte.weights_byte`. */
struct told {
	const char *path, *label, *word; /* word NULL: a number */
	const char *id;                  /* public name; NULL: no answer */
	double value, low, high;
	const char *why; /* NULL: no interval */
};

struct told_sheet {
	struct told *rows;
	size_t n;
};

struct reply {
	const char *line;
	int status;
	const char *out, *err;
	struct told_sheet *sheets; /* one for each point of a sweep */
	size_t n_sheets;
};

struct asker;

/* Lines are asked of one database that stays open, as the lines of --jsonl are; `random_forms.c` holds some against a
 * cold answer.  From now on standard output and standard error are the program's; what a test has to say goes to `to`.
 */
struct asker *asker_new(struct arena *a, FILE **to);
/* Gives both back; `to` is still open. */
void asker_free(struct asker *s);
/* Lines that were asked, refused ones too. */
long asker_n_asked(const struct asker *s);
/* Answers are kept until asker_forget(); the same line is asked once.  Never NULL. */
const struct reply *asker_ask(struct asker *s, const char *line);
/* The same of a database of its own, and asked although it was asked before. */
const struct reply *asker_ask_cold(struct asker *s, const char *line);
void asker_forget(struct asker *s);
/* Memory that lives until asker_forget(). */
struct arena *asker_arena(struct asker *s);
/* A path that holds this text, until asker_forget(). */
const char *asker_file(struct asker *s, const char *text);

/* The row of the first sheet, NULL where there is none. */
const struct told *reply_row(const struct reply *x, const char *path);
const struct told *sheet_told(const struct told_sheet *sh, const char *path);
/* NaN where the line was refused or has no such row. */
double reply_number(const struct reply *x, const char *path);
/* NULL where there is none. */
const char *reply_word(const struct reply *x, const char *path);

/* What follows this word (`--seq`), or NULL. */
const char *line_value(struct arena *a, const char *line, const char *option);
bool line_has(struct arena *a, const char *line, const char *word);
/* The line with this value after the option, in its place or at the end; NULL: without both. */
const char *line_with(struct arena *a, const char *line, const char *option, const char *value);

#endif
