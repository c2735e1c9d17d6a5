/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One question: inputs bound, the command run on a sheet, the answer kept for a report. */
#ifndef RIDGE_QUESTION_H
#define RIDGE_QUESTION_H

#include "cli/inputs.h"
#include "cli/outputs.h"
#include "cli/reads.h"
#include "db/database.h"
#include "report/report.h"

struct question {
	struct arena *arena;
	struct diag *diag;
	struct database *database;
	const struct command *command;
	struct words files; /* operands as typed */
	bool draws;         /* a plot of the answer is wanted */
	struct outputs *outputs;
	const struct foreign_job *foreign; /* the job that the inputs come from is of another command, or NULL */
};

struct foreign_job {
	const struct node *job;
	const char *command;
	struct words left; /* its inputs that this command has not */
};

struct answered {
	enum answer status;
	struct sheet *sheet; /* the caller frees it */
	const char *title, *document;
	const struct plot *plot;
	struct words assumed, warnings;
	const struct reads *reads; /* NULL: the command does not say what it reads */
};

/* The question with its own memory, faults and files: a point of a sweep, a line, a probe. */
struct question question_apart(const struct question *q, struct arena *a, struct diag *d, struct outputs *o);

/* Ask once with these inputs. */
struct answered question_ask(const struct question *q, const struct node *inputs);

/* Whether everything that was given was read by this answer; else it is refused, with errors. */
bool question_accepts(const struct question *q, const struct answered *a);

/* Words of many answers, each once: points that each warn of their own number would fill the screen. */
void question_merge(struct arena *a, struct words *into, const struct words *from);

/* The inputs as a report lists them. */
struct asked *question_inputs(const struct question *q, const struct node *inputs, size_t *n);

/* --solve: the inputs with the solved value in place. */
struct solution {
	const struct node *inputs; /* NULL: with an error */
	const char *note;          /* what was found, for people */
	bool none;                 /* no value holds: these are the inputs that come nearest */
	struct unread unread;      /* inputs that no value tried has read */
};
struct solution question_solve(
    const struct question *q, const struct node *inputs, const char *solve, const char *until);

#endif
