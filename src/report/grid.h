/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers as lines and tables: what text, CSV and Markdown have in common. */
#ifndef RIDGE_GRID_H
#define RIDGE_GRID_H

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
/* One line per point: swept inputs, then every answer.  Points are added one by one and need not stay. */
struct points_grid;
struct points_grid *points_grid_new(struct arena *a, const struct texts *swept, enum number_form form);
void points_grid_add(struct points_grid *g, const struct point *p);
const struct grid *points_grid(const struct points_grid *g);
/* One line per item of a table with the single answers repeated, or one line of single answers. */
struct grid grid_of_answers(const struct report *r, enum number_form form);

/* The first `keep` columns of a grid and those of the others for which `pick` is true. */
struct grid grid_columns(struct arena *a, const struct grid *g, size_t keep, const bool *pick);
/* Whether a column says the same in every line. */
bool grid_is_constant(const struct grid *g, size_t column);
/* Width that a column needs, its head included. */
size_t grid_column_width(const struct grid *g, size_t column);

/* Columns that a terminal needs for a text: UTF-8 continuation bytes take none. */
size_t text_columns(const char *text);

#endif
