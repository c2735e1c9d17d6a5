/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output formats of a sheet: one file and one row of the table in report.c each.  They know nothing about GPUs. */
#ifndef RIDGE_REPORT_REPORT_H
#define RIDGE_REPORT_REPORT_H

#include "base/base.h"
#include "base/sheet.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* An input as asked: a number in base units, or a word. */
struct asked_input {
	const char *path, *text;
	double value; /* NaN for words */
};

struct texts {
	size_t n;
	const char **list;
};

/* An assumption: an input with the value it took, or a remark (path NULL). */
struct assumption {
	const char *text; /* for people */
	struct asked_input input;
};

struct assumptions {
	size_t n;
	struct assumption *list;
};

/* One answered query; a sweep has one per point. */
struct answer_point {
	const struct sheet *sheet; /* NULL when the point was refused */
	struct texts swept;        /* values of the swept inputs, as typed */
	size_t n_asked;
	struct asked_input *asked;
	struct assumptions assumed;
	const struct diag *faults; /* of a point that was refused, for JSON */
};

struct report {
	struct arena *arena;
	const char *command, *version, *title;
	struct texts swept;               /* names of the swept inputs */
	const struct answer_point *point; /* the answer; of a sweep NULL */
	struct assumptions assumed;       /* of a sweep, of all points */
	struct texts warnings;
	bool color, quiet;
	bool trace;    /* JSON has all rows too */
	bool one_line; /* several values of --get go on one line, between tabs */
	int width;
	const char *row; /* --explain=ROW and --get ROW,...; NULL or "": all answers */
};

/* Print in the named format: `text`, `json`, `csv`, `md`, `explain`, `get`.  False when r->row names no row: `why`
 * gets what is wrong and, in its second line, what to do. */
bool report_print(FILE *to, const char *format, const struct report *r, char *why, size_t size);

/* Index of the row of this name, or -1 with `why` filled: there is none, or several. */
int report_find(const struct sheet *sh, const char *name, char *why, size_t size);

/* One JSON object on one line, for JSON Lines. */
void report_json_line(FILE *to, const struct report *r);
/* The JSON line of a refused query: all errors with place and hint. */
void report_json_errors(FILE *to, const char *version, const char *command, const struct diag *d);

/* --- many points ----------------------------------------------------------------------------------------- */

/*
 * A sweep, point by point: sheets are not kept, only the cells that will be printed.  JSON is printed at once.
 */
struct points_report;

/* Formats are `text`, `json`, `csv`, `md` and `get`; `plot`: curves are wanted too.  `head` must stay. */
struct points_report *points_report_new(const char *format, const struct report *head, bool plot);
/* Print what comes before the first point. */
void points_report_begin(struct points_report *p, FILE *to);
void points_report_add(struct points_report *p, FILE *to, const struct answer_point *point);
/* Whether a row that head->row names has been found, or none was asked for. */
bool points_report_found(const struct points_report *p);
/* What comes behind the last point, with what head says now of assumptions and warnings.  False as report_print. */
bool points_report_end(struct points_report *p, FILE *to, char *why, size_t size);

struct plot;
/* The rows that people see, over the input that is swept; of several sweeps the last one is the axis, and the others
 * tell the curves apart.  Only head->row, where it is given.  NULL when there is nothing to draw: `why` says so. */
const struct plot *points_report_plot(const struct points_report *p, char *why, size_t size);

/* Public names of the answers on a sheet: `ttft_s` for one that stands alone, `stages.2.peak_byte` for one in a table.
 */

/* One answer.  `table` is NULL for one that stands alone; a table inside the line of another one is called
 * `gpus.0.operators`. */
struct place {
	int row;
	const char *table;
	size_t line; /* from 0, without gaps */
};

struct places {
	size_t n;
	struct place *list;
};

/* The answers of a sheet in order of computation. */
struct places places_of(struct arena *a, const struct sheet *sh);

/* Its public name. */
const char *place_name(struct arena *a, const struct sheet *sh, const struct place *p);

/* Row of an answer by its public name.  A line of a table is a number or its first word (`breakdown.gemm.time_s`).
 * -1: there is none. */
int places_find(const struct places *all, const struct sheet *sh, const char *name);

/* The nearest scope around row i that is a line of a table, or -1. */
int answer_scope(const struct sheet *sh, int i);

/*
 * A plot: points and lines over one axis, in stacked panels, as a gnuplot script or a picture drawn from it.
 *
 * Texts can be arbitrary: the script has them only in single quotes and data blocks, where gnuplot expands nothing.
 */

struct plot_series {
	const char *title;
	bool line, marks;
	size_t n;
	const double *x, *y;      /* NaN: a gap */
	const char *const *names; /* printed next to the points; NULL: none */
};

struct plot_panel {
	const char *y_title;
	bool y_log;
	size_t n_series;
	struct plot_series *series;
};

struct plot {
	const char *title, *x_title;
	bool x_log, x_powers; /* x_powers: ticks at powers of two */
	size_t n_words;       /* x is 0, 1, ... and these stand below */
	const char *const *words;
	size_t n_panels;
	struct plot_panel *panels;
};

/* What the name of a file asks for. */
enum plot_form { PLOT_UNKNOWN, PLOT_SCRIPT, PLOT_PNG, PLOT_SVG, PLOT_PDF };
enum plot_form plot_form_of(const char *path);

/* The script or the picture, as bytes of the arena; NULL with an error. */
const char *plot_draw(struct arena *a, struct diag *d, const struct plot *p, enum plot_form form, size_t *n);

/* A field of CSV, quoted where it must be; NULL: empty. */
void report_csv_field(FILE *to, const char *text);

/* --- between the files of this folder --------------------------------------------------------------------- */

/* Answers as lines and tables, for text, CSV and Markdown. */

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
