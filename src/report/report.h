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
	int status;
};

struct report {
	struct arena *arena;
	const char *command, *version, *title;
	bool sweep;
	struct texts swept; /* names of the swept inputs */
	size_t n_points;
	struct point *points;
	struct texts assumed, warnings;
	bool colour, quiet;
	int width;
	const char *row; /* --explain=ROW and --get ROW; NULL or "": all answers */
};

/* Print in the named format: `text`, `json`, `csv`, `md`, `explain`, `get`.  False when r->row names no row: `why`
 * gets what is wrong and, in its second line, what to do. */
bool report_print(FILE *to, const char *format, const struct report *r, char *why, size_t size);

/* One JSON object on one line, for JSON Lines. */
void report_json_line(FILE *to, const struct report *r);
/* The line of a question that was refused: every message with its place and hint. */
void report_json_errors(FILE *to, const char *version, const char *command, const struct diag *d);

#endif
