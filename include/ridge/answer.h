/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Public answers: a stable id, a label for people and a meaning for the glossary, each stated once, in answers.def. The
 * unit is the suffix of the id (units.h).  What is not in the table does not compile.
 */
#ifndef RIDGE_ANSWER_H
#define RIDGE_ANSWER_H

#include <stddef.h>

struct answer_entry {
	const char *id, *label, *meaning;
};

enum answer_id {
#define ANSWER(id, label, meaning) ID_##id,
#include "ridge/answers.def"
#undef ANSWER
	N_ANSWERS
};

extern const struct answer_entry answer_table[N_ANSWERS];

/* The answer of this id, or NULL. */
const struct answer_entry *answer_find(const char *id);

#endif
