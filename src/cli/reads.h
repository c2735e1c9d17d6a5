/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which of the inputs that were given an answer has read.  One that was given and not read is refused: it would look as
 * if it had been taken into account.
 *
 * Numbers that a sheet TAKEs are read by that; words by run_word, run_gpu and the like; everything else where
 * run_reads (command.h) says so.
 */
#ifndef RIDGE_READS_H
#define RIDGE_READS_H

#include "cli/inputs.h"

struct given_input {
	const char *path;
	const struct option *option; /* NULL: figures laid over an entry of the database, `gpu.memory.bandwidth` */
	const struct node *node;
	size_t offset;        /* of the member in the command's struct */
	bool read, elsewhere; /* elsewhere: it stands in a job that was written for another command */
};

struct reads {
	const void *in; /* the command's struct */
	size_t n;
	struct given_input *list;
};

/* The inputs that were given, none of them read yet.  `job`: one that was written for another command, or NULL. */
struct reads *reads_new(
    struct arena *a, const struct command *c, const struct node *tree, const struct node *job, const void *in);
/* What stands at this place was read. */
void reads_from(struct reads *r, struct source from);
void reads_path(struct reads *r, const char *path);
/* The numbers that a sheet took. */
void reads_sheet(struct reads *r, const struct sheet *sh);

/* Inputs that no answer so far has read: one answer, the points of a sweep, the probes of a search. */
struct unread {
	bool begun;
	size_t n;
	struct unread_input {
		const char *path, *option;
		struct source at;
	} * list;
};

/* One more answer; what it has read is taken off the list. */
void unread_note(struct arena *a, struct unread *u, const struct reads *r);
/* An error for each; true when there are none. */
bool unread_report(struct diag *d, const struct command *c, const struct unread *u);

#endif
