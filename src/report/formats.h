/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One function per format, as report_print calls them. */
#ifndef RIDGE_FORMATS_H
#define RIDGE_FORMATS_H

#include "report/grid.h"

bool report_text(FILE *to, const struct report *r, char *why, size_t size);
bool report_json(FILE *to, const struct report *r, char *why, size_t size);
bool report_csv(FILE *to, const struct report *r, char *why, size_t size);
bool report_md(FILE *to, const struct report *r, char *why, size_t size);
bool report_explain(FILE *to, const struct report *r, char *why, size_t size);
bool report_get(FILE *to, const struct report *r, char *why, size_t size);

/* The pieces of a sweep. */
void json_begin_points(FILE *to, const struct report *r);
void json_point(FILE *to, const struct report *r, const struct point *p, size_t n_before);
/* `sources` as json_sources wrote them. */
void json_end_points(FILE *to, const struct report *r, const char *sources);
void json_sources(FILE *to, const struct sheet *sh);
/* The rows that --get names, with this text between their values; `-` for what a sheet, or NULL, does not have. */
struct getter;
struct getter *getter_new(struct arena *a, const char *names, const char *between);
void getter_print(struct getter *g, FILE *to, const struct sheet *sh);
/* What is wrong with a name that no sheet had so far, in two lines as report_print has it; NULL: all were found. */
const char *getter_missing(const struct getter *g);
void csv_grid(FILE *to, const struct grid *g);
void md_points(FILE *to, const struct report *r, const struct grid *g);
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
void curves_add(struct curves *c, const struct point *p);
const struct plot *curves_plot(const struct curves *c, char *why, size_t size);

/* Index of the row that r->row names, or -1 with `why` filled (as report_print does). */
int report_row(const struct report *r, const struct sheet *sh, char *why, size_t size);

#endif
