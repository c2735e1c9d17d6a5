/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Published or own measurements against predictions.  A kind of file is one struct validate_kind in a file of its own,
 * src/ask/validate/KIND.c, and one row of the table in validate.c: it knows its files by their columns, and makes a
 * case of each row.
 */
#ifndef RIDGE_VALIDATE_H
#define RIDGE_VALIDATE_H

#include "ask/bind/interval.h"
#include "import/table.h"
#include "search/stats/score.h"

/* What was read and predicted so far. */
struct validation {
	struct run *run;
	const char *baseline[SCORE_BASELINES]; /* what stands beside the prediction: `roof`; NULL: nothing */
	const char *bound, *safe;              /* heads of their columns, where a kind has such cases */
	const char *file;                      /* being read */
	size_t n, room;
	struct score_case *cases;
	bool progress; /* somebody watches */
	double began_s;
};

/* A file in memory.  A CSV file's columns are its heads; n_heads is 0 for other files. */
struct validate_file {
	const char *name;
	char *text;
	size_t length;
	size_t n_heads;
	char **heads;
};

struct validate_kind {
	const char *name, *title;
	bool (*recognises)(const struct validate_file *f);
	/* Make cases of the rows.  False when the whole file is refused: diag has the error. */
	bool (*read)(struct validation *v, const struct validate_file *f);
};

/* --- for kinds ------------------------------------------------------------------------------------------- */

bool validate_has(const struct validate_file *f, const char *column);
/* An empty case of `all`, to be filled; the pointer holds until the next one. */
struct score_case *validation_add(struct validation *v, int line, const char *unit);
/* The row is left out.  Reasons are counted, so they name no numbers. */
struct score_case *validation_skip(struct validation *v, int line, const char *why);
/* How far it is; a file of many rows says so now and then. */
void validation_progress(const struct validation *v, size_t done, size_t all);

/* Rows of a CSV file by the names of its columns. */
struct validate_row {
	const struct validate_file *file;
	const struct table *table;
	size_t line;
};
/* Calls `each` for every row of a table; `each` makes one case, or skips it. */
bool validation_rows(struct validation *v, const struct validate_file *f,
    void (*each)(struct validation *v, const struct validate_row *row, void *context), void *context);
/* The cell's text, NULL where there is none. */
const char *row_text(const struct validate_row *row, const char *column);
/* The cell's number, NaN where there is none or it is no number. */
double row_number(const struct validate_row *row, const char *column);
int row_line(const struct validate_row *row);

/* Read the files, make the cases.  False with errors. */
bool validation_read(struct validation *v, const struct words *files);
/* One row per case as CSV.  False with errors. */
bool validation_write(const struct validation *v, struct word file);

extern const struct validate_kind validate_measurements, validate_comm, validate_memory, validate_train,
    validate_scaling, validate_serve, validate_specdec;

#endif
