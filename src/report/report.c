/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The forms of an answer: one by one (CSV, Markdown), and point by point of a sweep. */
#include "report/report.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

/* --- CSV (RFC 4180) in base units; missing cells are empty ----------------------------------------------- */

void
report_csv_field(FILE *to, const char *text)
{
	if (!text)
		return;
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, to);
		return;
	}
	fputc('"', to);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', to);
		fputc(*text, to);
	}
	fputc('"', to);
}

static void
print_csv_line(FILE *to, const char *const *fields, size_t n)
{
	for (size_t c = 0; c < n; c++) {
		if (c)
			fputc(',', to);
		report_csv_field(to, fields[c]);
	}
	fputc('\n', to);
}

static void
csv_grid(FILE *to, const struct grid *g)
{
	print_csv_line(to, g->names, g->n_columns);
	for (size_t l = 0; l < g->n_lines; l++)
		print_csv_line(to, g->cells[l], g->n_columns);
}

static bool
report_csv(FILE *to, const struct report *r, char *why, size_t size)
{
	struct grid g;

	if (!r->row)
		g = grid_of_answers(r, FORM_BASE);
	else if (!grid_of_table(r, FORM_BASE, &g, why, size))
		return false;
	csv_grid(to, &g);
	return true;
}

/* --- Markdown: one table of single answers, and one per list --------------------------------------------- */

static void
print_cell(FILE *to, const char *text)
{
	fputs("| ", to);
	for (; text && *text; text++) {
		if (*text == '|')
			fputc('\\', to);
		fputc(*text, to);
	}
	fputc(' ', to);
}

static void
print_md_grid(FILE *to, const struct grid *g)
{
	for (size_t c = 0; c < g->n_columns; c++)
		print_cell(to, g->heads[c]);
	fputs("|\n", to);
	for (size_t c = 0; c < g->n_columns; c++)
		fputs(g->numeric[c] ? "|---:" : "|---", to);
	fputs("|\n", to);
	for (size_t l = 0; l < g->n_lines; l++) {
		for (size_t c = 0; c < g->n_columns; c++)
			print_cell(to, g->cells[l][c] ? g->cells[l][c] : "-");
		fputs("|\n", to);
	}
}

static void
print_answers(FILE *to, const struct answers *answers)
{
	bool head = false;

	for (size_t i = 0; i < answers->n_lines; i++) {
		const struct answer_line *line = &answers->lines[i];
		if (line->grid >= 0) {
			fputs(i ? "\n" : "", to);
			print_md_grid(to, &answers->grids[line->grid]);
			fputs(i + 1 < answers->n_lines ? "\n" : "", to);
			head = false;
			continue;
		}
		if (!head)
			fputs("| what | value |\n|---|---:|\n", to);
		head = true;
		print_cell(to, line->label);
		print_cell(to, line->text ? line->text : "-");
		fputs("|\n", to);
	}
}

static void
print_assumed(FILE *to, const struct report *r)
{
	if (!r->assumed.n || r->quiet)
		return;
	fputs("\nassumed: ", to);
	for (size_t i = 0; i < r->assumed.n; i++)
		fprintf(to, "%s%s", i ? ", " : "", text_visible(r->arena, r->assumed.list[i].text));
	fputc('\n', to);
}

static void
print_title(FILE *to, const struct report *r)
{
	if (r->title)
		fprintf(to, "**%s**\n\n", text_visible(r->arena, r->title));
}

static void
md_points(FILE *to, const struct report *r, const struct grid *g)
{
	print_title(to, r);
	print_md_grid(to, g);
	print_assumed(to, r);
}

static bool
report_md(FILE *to, const struct report *r, char *why, size_t size)
{
	const struct answers answers = answers_of(r->arena, r->point->sheet, FORM_PEOPLE);

	(void)why;
	(void)size;
	print_title(to, r);
	print_answers(to, &answers);
	print_assumed(to, r);
	return true;
}

/* --- sweeps: formats that need all points first keep them as cells --------------------------------------- */

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

/* --- the form that is asked for -------------------------------------------------------------------------- */

static const struct {
	const char *name;
	bool (*print)(FILE *to, const struct report *r, char *why, size_t size);
} formats[] = {
    {"text", report_text},
    {"json", report_json},
    {"csv", report_csv},
    {"md", report_md},
    {"explain", report_explain},
    {"get", report_get},
};

bool
report_print(FILE *to, const char *format, const struct report *r, char *why, size_t size)
{
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (strcmp(formats[i].name, format) == 0)
			return formats[i].print(to, r, why, size);
	return false;
}
