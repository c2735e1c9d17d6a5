/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the readers of measurement files share: rows are made, checked and added; what is left out is counted. */
#ifndef RIDGE_MEASUREMENT_PARTS_H
#define RIDGE_MEASUREMENT_PARTS_H

#include "import/measurement.h"

struct gpu_label;

struct measurement_reader {
	struct arena *arena;
	struct arena *scratch; /* of one line or document */
	struct diag *diag;
	struct database *database;
	struct measurement_hints hints;
	char *text; /* ends in NUL; may be cut into pieces */
	size_t length, n_lines;
	struct measurements *out;
	int room;
	char **words; /* every text once, by hash */
	size_t n_words, words_room;
	struct gpu_label *labels;
	int n_labels;
	int n_too_fast; /* rows that no device can have run */
};

/* A row with nothing in it. */
struct measurement measurement_blank(enum measurement_kind kind, int line);
/* One copy of each text.  An empty one is NULL. */
const char *measurement_word(struct measurement_reader *r, const char *text, size_t length);
/* Check a row and keep it, or count why not. */
void measurement_add(struct measurement_reader *r, struct measurement *row);
void measurement_skip(struct measurement_reader *r, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* GPU of a row by a device's name, `NVIDIA H100 80GB HBM3`; NULL where the database has none. */
const char *measurement_device_gpu(struct measurement_reader *r, const char *device);
/* A fault of the whole file. */
bool measurement_refuse(struct measurement_reader *r, int line, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* --- columns --------------------------------------------------------------------------------------------- */

/* The column with this name (case does not matter), or -1. */
int measurement_column(const char *name);
const char *measurement_column_name(int column);
/* The column that holds this dimension or figure. */
int measurement_column_of(size_t offset);
/* Put a text into a row.  False when it is not what the column holds: `why` says so. */
bool measurement_set(
    struct measurement_reader *r, struct measurement *row, int column, const char *text, char *why, size_t size);
int measurement_kind_find(const char *name); /* or -1 */
/* Members (of dimensions) without which a row of this kind says nothing; ended by 0. */
const size_t *measurement_needs(enum measurement_kind k);
double measurement_value(const struct measurement *row, size_t member);
/* A number and nothing else. */
bool measurement_number(const char *text, double *value);

/* --- lines of text --------------------------------------------------------------------------------------- */

/* Cut the next line off; NULL at the end.  Blanks at its end are removed. */
char *measurement_line(char **text);

/* --- kinds of files -------------------------------------------------------------------------------------- */

bool measurement_read_csv(struct measurement_reader *r);
bool measurement_read_json_lines(struct measurement_reader *r);
bool import_published(struct measurement_reader *r); /* collected figures of collectives and copies, CSV */
bool import_nccl_text(struct measurement_reader *r); /* tables of nccl-tests */
bool import_nvbandwidth_text(struct measurement_reader *r);
bool import_ncu(struct measurement_reader *r); /* CSV of Nsight Compute */
struct node;
bool import_nccl_json(struct measurement_reader *r, const struct node *root);
bool import_nvbandwidth_json(struct measurement_reader *r, const struct node *root);

/* Cells of the line at *text, cut in place; the text moves behind it.  Returns how many (at most `room` are stored), 0
 * for an empty line or a comment. */
int measurement_cells(char **text, char separator, char **cells, int room, int *n_lines);

#endif
