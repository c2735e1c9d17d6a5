/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libridge: ridge(1) as a C library.  Open the database, ask, read the answer:
 *
 *	struct ridge *r = ridge_open(NULL);
 *	struct ridge_answer *a = ridge_ask(r, "kv", "{model: llama3-8b, seq: 8192, batch: 16}");
 *	double size_byte;
 *	if (ridge_number(a, "batch_byte", &size_byte))
 *		printf("%.1f GB\n", size_byte / 1e9);
 *	ridge_answer_free(a);
 *	ridge_close(r);
 *
 * Numbers are in base units (bytes, seconds, FLOPs, US dollars), given by the suffix of the id.  Ids are listed in
 * ridge-glossary(7) and keep their meaning; inputs are described in ridge-workload(5), JSON answers in ridge-json(5).
 * No function prints or exits.  Use a handle and its answers from one thread at a time.
 */
#ifndef RIDGE_H
#define RIDGE_H

#include <stdbool.h>
#include <stddef.h>

/* An open database; files are read when first needed. */
struct ridge;
/* The answer to one query, with its messages. */
struct ridge_answer;

enum ridge_status {
	RIDGE_ANSWERED = 0, /* answered */
	RIDGE_NO = 1,       /* answered: no (does not fit, misses a target) */
	RIDGE_REFUSED = 2,  /* wrong request: the messages say why, and what to ask instead */
};

enum ridge_severity { RIDGE_ERROR, RIDGE_WARNING, RIDGE_ASSUMPTION };

/* `hint` and `file` may be NULL; `line` and `column` count from 1, 0 if unknown.  Valid until the answer is freed. */
struct ridge_message {
	enum ridge_severity severity;
	const char *text, *hint, *file;
	int line, column;
};

/* Version of the library, such as `1.2.3`. */
const char *ridge_version(void);

/* Open the database.  `directory`, unless NULL, is searched before $RIDGE_HWDB, the user's database and the installed
 * one.  Never returns NULL: an unreadable directory is an error in every answer.  Close with ridge_close. */
struct ridge *ridge_open(const char *directory);
/* Close the database, after freeing its answers.  NULL is allowed. */
void ridge_close(struct ridge *r);

/* Run one command.  `inputs` is a YAML or JSON map with the keys of a job file: options and operands by name (`model`,
 * `gpu`, `seq`), dotted paths (`layout.tp`), and `set`.  Never returns NULL; free with ridge_answer_free. */
struct ridge_answer *ridge_ask(struct ridge *r, const char *command, const char *inputs);
void ridge_answer_free(struct ridge_answer *a);

enum ridge_status ridge_status(const struct ridge_answer *a);

/* Get a number by id (`ttft_s`), the end of an interval (`ttft_s.low`, `ttft_s.high`), or a table cell by line number
 * or first word (`stages.2.peak_byte`, `breakdown.gemm.time_s`).  Returns false and leaves *value alone if there is
 * none. */
bool ridge_number(const struct ridge_answer *a, const char *id, double *value);
/* Get an answer that is a word, such as `verdict`, or NULL.  Valid until the answer is freed. */
const char *ridge_word(const struct ridge_answer *a, const char *id);

/* Id of answer i, from 0, in the order of computation; NULL after the last. */
const char *ridge_id(struct ridge_answer *a, size_t i);
/* Label and meaning of an id; NULL if it does not exist. */
const char *ridge_label(const char *id);
const char *ridge_meaning(const char *id);

/* The answer as JSON on one line, see ridge-json(5); with `trace` including every computed row.  Valid until the answer
 * is freed. */
const char *ridge_json(struct ridge_answer *a, bool trace);

/* Get message i, from 0: errors, then warnings, then assumptions.  False after the last. */
bool ridge_message(const struct ridge_answer *a, size_t i, struct ridge_message *out);

#endif
