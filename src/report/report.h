/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Views of a sheet.  Every output format is one file and one row of the table in report.c; none of them knows what a
 * GPU is. */
#ifndef RIDGE_REPORT_H
#define RIDGE_REPORT_H

#include "base/arena.h"
#include "base/diag.h"
#include "ridge/sheet.h"

#include <stdio.h>

/* An input as asked: a number in base units, or a word. */
struct asked {
	const char *path, *text;
	double value; /* NaN for words */
};

struct texts {
	size_t n;
	const char **list;
};

/* One answered question; a sweep has one per point. */
struct point {
	const struct sheet *sheet; /* NULL when the point was refused */
	struct texts swept;        /* values of the swept inputs, as typed */
	size_t n_asked;
	struct asked *asked;
};

struct report {
	struct arena *arena;
	const char *command, *version, *title;
	struct texts swept;        /* names of the swept inputs */
	const struct point *point; /* the answer; of a sweep NULL */
	struct texts assumed, warnings;
	bool colour, quiet;
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
/* The line of a question that was refused: every message with its place and hint. */
void report_json_errors(FILE *to, const char *version, const char *command, const struct diag *d);

/* --- many points ----------------------------------------------------------------------------------------- */

/*
 * A sweep, point by point: sheets go when they have been added, and of a point only the cells that will be printed are
 * kept.  JSON goes out at once.
 */
struct points_report;

/* Formats are `text`, `json`, `csv`, `md` and `get`; `plot`: curves are wanted too.  `head` must stay. */
struct points_report *points_report_new(const char *format, const struct report *head, bool plot);
/* What comes before the first point. */
void points_report_begin(struct points_report *p, FILE *to);
void points_report_add(struct points_report *p, FILE *to, const struct point *point);
/* Whether a row that head->row names has been found, or none was asked for. */
bool points_report_found(const struct points_report *p);
/* What comes behind the last point, with what head says now of assumptions and warnings.  False as report_print. */
bool points_report_end(struct points_report *p, FILE *to, char *why, size_t size);

struct plot;
/* The rows that people see, over the input that is swept; of several sweeps the last one is the axis, and the others
 * tell the curves apart.  Only head->row, where it is given.  NULL when there is nothing to draw: `why` says so. */
const struct plot *points_report_plot(const struct points_report *p, char *why, size_t size);

#endif
