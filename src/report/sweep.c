/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Print a sweep point by point in each format; formats that need all points first keep them as cells. */
#include "report/parts.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

enum sweep_format { SWEEP_TEXT, SWEEP_JSON, SWEEP_CSV, SWEEP_MD, SWEEP_GET };

static const char *const names[] = {"text", "json", "csv", "md", "get"};

struct points_report {
	enum sweep_format format;
	const struct report *head;
	size_t n_points;
	struct points_grid *grid;
	struct text_notes notes;
	struct curves *curves;
	struct getter *getter;
	const char *sources; /* of the first answered point */
};

struct points_report *
points_report_new(const char *format, const struct report *head, bool plot)
{
	struct points_report *p = ARENA_NEW(head->arena, struct points_report);

	p->head = head;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i], format) == 0)
			p->format = (enum sweep_format)i;
	if (p->format == SWEEP_TEXT || p->format == SWEEP_MD)
		p->grid = points_grid_new(head, FORM_PEOPLE, NULL);
	if (p->format == SWEEP_CSV)
		p->grid = points_grid_new(head, FORM_BASE, head->row);
	if (p->format == SWEEP_GET)
		p->getter = getter_new(head->arena, head->row, "\t");
	p->curves = plot ? curves_new(head) : NULL;
	return p;
}

void
points_report_begin(struct points_report *p, FILE *to)
{
	if (p->format == SWEEP_JSON)
		json_begin_points(to, p->head);
}

/* What is wrong with a name that no point had so far, or NULL. */
static const char *
missing(const struct points_report *p)
{
	return p->format == SWEEP_GET ? getter_missing(p->getter)
	    : p->format == SWEEP_CSV  ? points_grid_missing(p->grid)
	                              : NULL;
}

bool
points_report_found(const struct points_report *p)
{
	return !missing(p);
}

static void
keep_sources(struct points_report *p, const struct sheet *sh)
{
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);

	if (!to)
		abort();
	json_sources(to, sh);
	fclose(to);
	p->sources = arena_copy(p->head->arena, text, n);
	free(text);
}

void
points_report_add(struct points_report *p, FILE *to, const struct answer_point *point)
{
	switch (p->format) {
	case SWEEP_JSON:
		json_point(to, p->head, point, p->n_points);
		if (point->sheet && !p->sources)
			keep_sources(p, point->sheet);
		break;
	case SWEEP_GET:
		getter_print(p->getter, to, point);
		break;
	case SWEEP_TEXT:
		if (point->sheet)
			text_note(p->head->arena, &p->notes, point->sheet);
		points_grid_add(p->grid, point);
		break;
	case SWEEP_MD:
	case SWEEP_CSV:
		points_grid_add(p->grid, point);
		break;
	}
	if (p->curves)
		curves_add(p->curves, point);
	p->n_points++;
}

bool
points_report_end(struct points_report *p, FILE *to, char *why, size_t size)
{
	if (missing(p)) {
		snprintf(why, size, "%s", missing(p));
		return false;
	}
	switch (p->format) {
	case SWEEP_JSON:
		json_end_points(to, p->head, p->sources ? p->sources : ",\n\t\"sources\":\t[]");
		break;
	case SWEEP_GET:
		break;
	case SWEEP_TEXT:
		text_points(to, p->head, points_grid(p->grid), &p->notes);
		break;
	case SWEEP_MD:
		md_points(to, p->head, points_grid(p->grid));
		break;
	case SWEEP_CSV:
		csv_grid(to, points_grid(p->grid));
		break;
	}
	return true;
}

const struct plot *
points_report_plot(const struct points_report *p, char *why, size_t size)
{
	return curves_plot(p->curves, why, size);
}
