/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers as lines and tables, for text, CSV and Markdown. */
#ifndef RIDGE_REPORT_PARTS_H
#define RIDGE_REPORT_PARTS_H

#include "report/report.h"

struct grid {
	size_t n_columns, n_lines;
	const char **heads;  /* labels for people */
	const char **names;  /* row names for machines */
	const char ***cells; /* [line][column]; NULL: absent */
	bool *numeric;       /* column holds numbers */
};

struct answer_line {
	const char *label, *name, *text;
	int grid; /* index of the table that stands here, or -1 */
};

struct answers {
	size_t n_lines;
	struct answer_line *lines; /* in order of computation */
	size_t n_grids;
	struct grid *grids;
};

/* Behind figures that no source confirms. */
#define UNCONFIRMED_MARK "*"

enum number_form { FORM_PEOPLE, FORM_BASE };

/* The labelled rows of one sheet. */
struct answers answers_of(struct arena *a, const struct sheet *sh, enum number_form form);
/* One line per point: swept inputs, then every answer that stands alone; or the lines of one table of each point.
 * Points are added one by one and need not stay. */
struct points_grid;
struct points_grid *points_grid_new(const struct report *head, enum number_form form, const char *table);
/* What is wrong with a table that no point had so far, in two lines as report_print has it; NULL: nothing. */
const char *points_grid_missing(const struct points_grid *g);
void points_grid_add(struct points_grid *g, const struct answer_point *p);
const struct grid *points_grid(const struct points_grid *g);
/* One line per item of a table with the single answers repeated, or one line of single answers. */
struct grid grid_of_answers(const struct report *r, enum number_form form);
/* The table that r->row names, every column that it has.  False when there is none: `why` as report_print has it. */
bool grid_of_table(const struct report *r, enum number_form form, struct grid *out, char *why, size_t size);

/* The first `keep` columns of a grid and those of the others for which `pick` is true. */
struct grid grid_columns(struct arena *a, const struct grid *g, size_t keep, const bool *pick);
/* Whether a column says the same in every line. */
bool grid_is_constant(const struct grid *g, size_t column);
/* Width that a column needs, its head included. */
size_t grid_column_width(const struct grid *g, size_t column);

/* Columns that a terminal needs for a text: UTF-8 continuation bytes take none. */
size_t text_columns(const char *text);

/* One function per format, as report_print calls them. */

bool report_text(FILE *to, const struct report *r, char *why, size_t size);
bool report_json(FILE *to, const struct report *r, char *why, size_t size);
bool report_explain(FILE *to, const struct report *r, char *why, size_t size);
bool report_get(FILE *to, const struct report *r, char *why, size_t size);

/* The pieces of a sweep. */
void json_begin_points(FILE *to, const struct report *r);
void json_point(FILE *to, const struct report *r, const struct answer_point *p, size_t n_before);
/* `sources` as json_sources wrote them. */
void json_end_points(FILE *to, const struct report *r, const char *sources);
void json_sources(FILE *to, const struct sheet *sh);
/* The answers, inputs and rows that --get names, with this text between their values; `-` for what a point lacks. */
struct getter;
struct getter *getter_new(struct arena *a, const char *names, const char *between);
void getter_print(struct getter *g, FILE *to, const struct answer_point *p);
/* What is wrong with a name that no point had so far, in two lines as report_print has it; NULL: all were found. */
const char *getter_missing(const struct getter *g);
/* `whys`: what intervals rest on; unconfirmed: a figure of the table is. */
struct text_notes {
	struct texts whys;
	bool unconfirmed;
};
void text_points(FILE *to, const struct report *r, const struct grid *g, const struct text_notes *notes);
void text_note(struct arena *a, struct text_notes *notes, const struct sheet *sh);

/* The curves of a sweep. */
struct curves;
struct curves *curves_new(const struct report *head);
void curves_add(struct curves *c, const struct answer_point *p);
const struct plot *curves_plot(const struct curves *c, char *why, size_t size);

/* Index of the row that r->row names, or -1 with `why` filled (as report_print does). */
int report_row(const struct report *r, const struct sheet *sh, char *why, size_t size);

#endif
