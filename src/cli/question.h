/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One question: inputs bound, the command run on a sheet, the answer kept for a report. */
#ifndef RIDGE_QUESTION_H
#define RIDGE_QUESTION_H

#include "cli/inputs.h"
#include "data/database.h"
#include "report/report.h"

struct question {
	struct arena *arena;
	struct diag *diag;
	struct database *database;
	const struct command *command;
	struct words files; /* operands as typed */
	bool draws;         /* a plot of the answer is wanted */
};

struct answered {
	enum answer status;
	struct sheet *sheet; /* the caller frees it */
	const char *title, *document;
	const struct plot *plot;
	struct words assumed, warnings;
};

/* Ask once with these inputs. */
struct answered question_ask(const struct question *q, const struct node *inputs);

/* The inputs as a report lists them. */
struct asked *question_inputs(const struct question *q, const struct node *inputs, size_t *n);

/* --solve: the inputs with the solved value in place, or NULL with an error.  *holds is false when no value does. */
const struct node *question_solve(
    const struct question *q, const struct node *inputs, const char *solve, const char *until, const char **note);

#endif
