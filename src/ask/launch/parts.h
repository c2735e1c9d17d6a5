/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the files that write launchers. */
#ifndef RIDGE_ASK_LAUNCH_PARTS_H
#define RIDGE_ASK_LAUNCH_PARTS_H

#include "ask/launch/launch.h"

/* NULL: nothing to say.  A plain one is what every framework does by itself: no option where none has this value.  A
 * derived one follows from others, for frameworks that ask for it. */
struct fact {
	const char *text;
	bool plain, derived;
};

struct fact fact_count(struct run *r, double n, double plain);
struct fact fact_derived(struct run *r, double n, double plain);
struct fact fact_word(const char *text, bool plain);

/* The keys of a framework in the order of its rules. */
struct launch {
	struct run *r;
	const struct launcher *by;
	const struct fact *facts;
	const struct node *tree; /* of a file */
	const char *words;       /* of a command line */
	bool incomplete;
};

/* False with errors: no such launcher, or one of another use. */
bool launch_begin(struct run *r, struct word name, enum launch_use use, struct launch *out);
/* Say all facts by the rules; what none says is a warning. */
void launch_say(struct launch *l, const struct fact facts[N_LAUNCH_FACTS]);
/* Something that no map has a rule for. */
void launch_lacks(struct launch *l, const char *what);
/* The command line or file. */
const char *launch_text(const struct launch *l);
/* The document and the hidden answers. */
enum answer launch_end(struct launch *l, const char *text);
/* Whether one of the launcher's stacks is a beginning of this name. */
bool launch_is_of(const struct launch *l, const char *stack);

#endif
