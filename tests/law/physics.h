/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Laws of physics over the whole database: questions asked of the same functions that the commands call. */
#ifndef RIDGE_TESTS_PHYSICS_H
#define RIDGE_TESTS_PHYSICS_H

#include "ask/bind/bind.h"
#include "law/law.h"

/* One database for all questions; a question has an arena of its own. */
struct lab {
	struct arena *arena, *question;
	struct diag *diag;
	struct database *database;
	struct faults *faults;
};

void lab_open(struct lab *w, struct faults *f);
void lab_close(struct lab *w);
/* A run of this command in which `path` was set to `text` (NULL: nothing was); the run before it ends. */
struct run lab_ask(struct lab *w, const struct command *c, const char *path, const char *text);

/* One more figure; an absent one is left as it is. */
void lab_set(struct run *r, const char *path, struct datum figure, const char *unit);

/* Collectives: of every system, none faster than its links or than one of its nodes. */
void link_laws(struct faults *f);
/* Kernels: of every GPU, at the figures of its entry and at others. */
void kernel_laws(struct faults *f);

#endif
