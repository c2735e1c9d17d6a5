/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random questions: command lines are drawn from templates, and laws are held against each: what must be so whatever
 * the numbers are, or how the answer must change when one input changes, or what another command must say of the same
 * thing.
 *
 * A law is a function over a command line.  It asks that line and others made of it, and reports what it finds with the
 * lines that show it.
 */
#ifndef RIDGE_TESTS_RANDOM_H
#define RIDGE_TESTS_RANDOM_H

#include "law/ask.h"

struct database;
struct trial;

struct random_law {
	const char *name;
	const char *commands; /* ` memory train `; NULL: all */
	unsigned one_of;      /* held against one of so many questions: it is dear, or the same for many */
	void (*hold)(struct trial *t, const char *line);
};

extern const struct random_law random_laws[];
extern const size_t n_random_laws;

/* Ask a line; the answer stays until the next question. */
const struct reply *trial_ask(struct trial *t, const char *line);
struct asker *trial_asker(struct trial *t);
struct arena *trial_arena(struct trial *t);
struct database *trial_database(struct trial *t);
/* The name of the law that is being held. */
const char *trial_law(const struct trial *t);
/* The law was put to the test: its antecedent held, and there were numbers to compare. */
void trial_count(struct trial *t);
/* The law is broken; `other` is a second line that shows it, or NULL. */
void trial_broken(struct trial *t, const char *line, const char *other, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The number called `id` in the answer to this line: one name for what commands call differently; NaN where it has
 * none. */
double trial_number(struct trial *t, const char *line, const char *id);

/* law --random [N [SEED [PART OF]]]: ask N lines; returns the number of faults. */
int random_questions(long n, unsigned seed, unsigned part, unsigned of);

#endif
