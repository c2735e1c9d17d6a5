/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libridge: the questions of ridge(1) from a program, in three steps: open the database, ask, read the answers.
 *
 *	struct ridge *r = ridge_open(NULL);
 *	struct ridge_answer *a = ridge_ask(r, "kv", "{model: llama3-8b, seq: 8192, batch: 16}");
 *	double size_byte;
 *	if (ridge_number(a, "batch_byte", &size_byte))
 *		printf("%.1f GB\n", size_byte / 1e9);
 *	ridge_answer_free(a);
 *	ridge_close(r);
 *
 * Numbers are in SI base units (byte, second, FLOP, USD); the suffix of an id says which.  Ids, labels and meanings are
 * in ridge-glossary(7), the forms of inputs and answers in ridge-json(5).  An id keeps its meaning; models may change.
 * Nothing here prints, exits or needs the command line.  A handle and its answers belong to one thread at a time.
 */
#ifndef RIDGE_H
#define RIDGE_H

#include <stdbool.h>
#include <stddef.h>

/* The database that questions are asked of, read as far as they need it. */
struct ridge;
/* One question with its answers and messages. */
struct ridge_answer;

enum ridge_status {
	RIDGE_ANSWERED = 0, /* answered */
	RIDGE_NO = 1,       /* answered: no (it does not fit, or misses what was asked for) */
	RIDGE_REFUSED = 2,  /* not answered: the messages say why and what to ask instead */
};

enum ridge_severity { RIDGE_ERROR, RIDGE_WARNING, RIDGE_ASSUMPTION };

/* `hint`, `file` may be NULL; `line` and `column` count from 1, 0: unknown.  Texts live as long as the answer. */
struct ridge_message {
	enum ridge_severity severity;
	const char *text, *hint, *file;
	int line, column;
};

/* `1.2.3` */
const char *ridge_version(void);

/* Open the database.  `directory` is searched first and may be NULL; then $RIDGE_HWDB, the user's own, the one that
 * ridge came with.  Never NULL; faults of the directory are messages of each answer.  Close it with ridge_close. */
struct ridge *ridge_open(const char *directory);
/* Close the database.  Answers must be freed before; NULL is allowed. */
void ridge_close(struct ridge *r);

/* Ask one command.  `inputs` is a map in YAML or JSON with the keys of a job file: the names of options and operands
 * (`model`, `gpu`, `seq`), dotted paths (`layout.tp`), or `set` of figures.  Never NULL; free it with
 * ridge_answer_free. */
struct ridge_answer *ridge_ask(struct ridge *r, const char *command, const char *inputs);
void ridge_answer_free(struct ridge_answer *a);

enum ridge_status ridge_status(const struct ridge_answer *a);

/* One answer by id: `ttft_s`, the ends of its interval `ttft_s.low` and `ttft_s.high`, a cell by line or by the first
 * word of its line, `stages.2.peak_byte`, `breakdown.gemm.time_s`.  False when there is none, and *value stays. */
bool ridge_number(const struct ridge_answer *a, const char *id, double *value);
/* One answer that is a word, such as `verdict`; NULL when there is none.  It lives as long as the answer. */
const char *ridge_word(const struct ridge_answer *a, const char *id);

/* Id of answer i of this question, in the order of computation, NULL behind the last. */
const char *ridge_id(struct ridge_answer *a, size_t i);
/* What an id means, in any answer: a noun and a sentence; NULL where no such id exists. */
const char *ridge_label(const char *id);
const char *ridge_meaning(const char *id);

/* The whole answer as ridge-json(5) describes it, on one line; with `trace` every row that was computed.  It lives as
 * long as the answer. */
const char *ridge_json(struct ridge_answer *a, bool trace);

/* Message i: errors, then warnings, then assumptions.  False behind the last. */
bool ridge_message(const struct ridge_answer *a, size_t i, struct ridge_message *out);

#endif
