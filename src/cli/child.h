/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Other programs of ours, without a shell. */
#ifndef RIDGE_CLI_CHILD_H
#define RIDGE_CLI_CHILD_H

#include "base/arena.h"
#include "base/diag.h"

struct child_output {
	const char *text; /* all that it printed, from the arena */
	size_t n_lines;
	int status, signal; /* how it ended; signal 0: by itself */
};

/* Beside this program, in ../libexec/ridge, or in PATH; NULL when it is nowhere. */
const char *child_find(struct arena *a, const char *name);
/* Runs it and keeps its standard output; its standard error is ours.  Interrupts are passed on to it, so that it can
 * end well.  False: it could not be started, and diag says why. */
bool child_run(struct arena *a, struct diag *d, const char *path, const char *const *words, struct child_output *out);

#endif
