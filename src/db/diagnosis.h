/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A cause of trouble, from a file of hwdb/diagnoses. */
#ifndef RIDGE_DATA_DIAGNOSIS_H
#define RIDGE_DATA_DIAGNOSIS_H

#include "db/database.h"
#include "db/schema.h"
#include "ridge/diagnosis.h"

/* Strings live in the binder's arena or in the tree.  False on faults. */
bool diagnosis_bind(struct binder *b, const struct node *root, const char *id, struct diagnosis *out);

/* All of the database, sorted by id; NULL on faults. */
const struct diagnosis **database_diagnoses(struct database *db, struct arena *a, struct diag *d, size_t *n);

/* The command line of a cause: {figure|example} and {word|example} replaced.  `known` returns the text of a name, or
 * NULL for the example, which `missing` is told of. */
struct diagnosis_words {
	const char *(*known)(void *context, const char *name);
	void (*missing)(void *context, const char *name, const char *example);
	void *context;
};
/* NULL when the line cannot be read: *column says where. */
const char *diagnosis_command(struct arena *a, const char *line, const struct diagnosis_words *words, int *column);

#endif
