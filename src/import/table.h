/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files of numbers: CSV, or lines of numbers, or a list in YAML or JSON, as a table of texts with their places.
 *
 * Cells are kept apart by commas, semicolons, tabs or blanks, whichever stands in the first line; quotes are those of
 * RFC 4180; lines that begin with # and empty ones are left out.  A first line that begins with a letter names the
 * columns; a name may end in a unit, `time [ms]`, which numbers without one then have.
 */
#ifndef RIDGE_TABLE_H
#define RIDGE_TABLE_H

#include "db/tree.h"

struct cell {
	const char *text; /* NULL: nothing stands there */
	struct source at;
};

struct table {
	size_t n_columns, n_lines;
	const char **heads;       /* names of columns, without their units; NULL where there are none */
	const struct cell *cells; /* line by line */
	const struct node *root;  /* of YAML and JSON: what stands beside the list; else NULL */
};

/* Read a file, `-` is standard input.  In YAML and JSON the table is the file's list, or the list at `key`.  False with
 * errors. */
bool table_read_file(struct arena *a, struct diag *d, const char *path, const char *key, struct table *out);
/* The same of CSV text that came from `name`. */
bool table_read_text(
    struct arena *a, struct diag *d, const char *name, const char *text, size_t length, struct table *out);
/* A list of a tree: maps (columns by name) or scalars (one column). */
bool table_of_list(struct arena *a, struct diag *d, const struct node *list, struct table *out);

/* The column with this name, whatever its case and punctuation; n_columns when there is none. */
size_t table_column(const struct table *t, const char *name);
const struct cell *table_cell(const struct table *t, size_t line, size_t column);

#endif
