/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output formats of a sheet: one file and one row of the table in report.c each.  They know nothing about GPUs. */
#ifndef RIDGE_REPORT_REPORT_H
#define RIDGE_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/base.h"
#include "base/sheet.h"

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

#endif
