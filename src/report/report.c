/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The forms of an answer: one by one (text, CSV, Markdown), and point by point of a sweep. */
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

/* --- text: aligned lines and tables, then the assumptions -------------------------------------------------------- */

static const char *
color_of(const char *word)
{
	static const struct {
		const char *begin, *code;
	} colors[] = {{"does not", "\033[31m"}, {"infeasible", "\033[31m"}, {"misses", "\033[31m"}, {"no", "\033[31m"},
	    {"risky", "\033[33m"}, {"fits", "\033[32m"}, {"meets", "\033[32m"}, {"yes", "\033[32m"}};

	for (size_t i = 0; i < sizeof colors / sizeof *colors; i++)
		if (strncmp(word, colors[i].begin, strlen(colors[i].begin)) == 0 &&
		    (word[strlen(colors[i].begin)] == '\0' || word[strlen(colors[i].begin)] == ' '))
			return colors[i].code;
	return NULL;
}

static void
print_coloured(FILE *to, const struct report *r, const char *word)
{
	const char *code = r->color ? color_of(word) : NULL;

	fprintf(to, "%s%s%s", code ? code : "", word, code ? "\033[0m" : "");
}

static void
pad(FILE *to, size_t n)
{
	while (n-- > 0)
		fputc(' ', to);
}

static void
text_cell(FILE *to, const char *text, size_t width, bool right, bool last)
{
	const size_t n = text_columns(text);

	if (right)
		pad(to, width > n ? width - n : 0);
	fputs(text, to);
	if (!right && !last)
		pad(to, width > n ? width - n : 0);
	if (!last)
		fputs("  ", to);
}

/* Print tables with sentences line by line, one value below the other. */
static void
print_records(FILE *to, const struct grid *g)
{
	size_t width = 0;

	for (size_t c = 0; c < g->n_columns; c++)
		width = text_columns(g->heads[c]) > width ? text_columns(g->heads[c]) : width;
	for (size_t l = 0; l < g->n_lines; l++) {
		if (l > 0)
			fputc('\n', to);
		for (size_t c = 0; c < g->n_columns; c++) {
			if (!g->cells[l][c])
				continue;
			text_cell(to, g->heads[c], width, false, false);
			fputs(g->cells[l][c], to);
			fputc('\n', to);
		}
	}
}

static size_t
grid_width(const struct grid *g)
{
	size_t width = 0;

	for (size_t c = 0; c < g->n_columns; c++)
		width += grid_column_width(g, c) + 2;
	return width;
}

/* Whether a table is wider than the terminal because of its sentences. */
static bool
has_sentences(const struct grid *g, size_t room)
{
	enum { SENTENCE = 50 };
	size_t longest = 0;

	for (size_t c = 0; c < g->n_columns; c++)
		for (size_t l = 0; l < g->n_lines; l++) {
			const size_t wide = text_columns(g->cells[l][c] ? g->cells[l][c] : "-");
			longest = !g->numeric[c] && wide > longest ? wide : longest;
		}
	return grid_width(g) > room + 2 && longest > SENTENCE;
}

static void
print_grid(FILE *to, const struct grid *g, const char *indent)
{
	size_t widths[256] = {0};
	const size_t n = g->n_columns < 256 ? g->n_columns : 256;

	for (size_t c = 0; c < n; c++)
		widths[c] = grid_column_width(g, c);
	fputs(indent, to);
	for (size_t c = 0; c < n; c++)
		text_cell(to, g->heads[c], widths[c], g->numeric[c], c + 1 == n);
	fputc('\n', to);
	for (size_t l = 0; l < g->n_lines; l++) {
		fputs(indent, to);
		for (size_t c = 0; c < n; c++)
			text_cell(to, g->cells[l][c] ? g->cells[l][c] : "-", widths[c], g->numeric[c], c + 1 == n);
		fputc('\n', to);
	}
}

/* Print values that are the same at every point once, above the table. */
static struct grid
print_constants(FILE *to, struct arena *a, const struct grid *g, size_t keep)
{
	bool *differs = ARENA_ARRAY(a, bool, g->n_columns + 1);
	size_t width = 0;

	for (size_t c = keep; c < g->n_columns; c++) {
		differs[c] = !grid_is_constant(g, c);
		if (!differs[c] && text_columns(g->heads[c]) > width)
			width = text_columns(g->heads[c]);
	}
	for (size_t c = keep; c < g->n_columns; c++)
		if (!differs[c]) {
			text_cell(to, g->heads[c], width, false, false);
			fprintf(to, "%s\n", g->cells[0][c]);
		}
	if (width)
		fputc('\n', to);
	return grid_columns(a, g, keep, differs);
}

/* A sweep that is wider than the terminal: constants first, then tables side by side below each other, each beginning
 * with the swept inputs. */
static void
print_wide(FILE *to, const struct report *r, const struct grid *all)
{
	const size_t keep = r->swept.n, room = (size_t)r->width + 2;

	if (grid_width(all) <= room) {
		print_grid(to, all, "");
		return;
	}
	const struct grid g = print_constants(to, r->arena, all, keep);
	size_t kept = 0;
	for (size_t c = 0; c < keep; c++)
		kept += grid_column_width(&g, c) + 2;
	for (size_t c = keep; c < g.n_columns;) {
		bool *pick = ARENA_ARRAY(r->arena, bool, g.n_columns + 1);
		size_t width = kept, first = c;
		while (c < g.n_columns && (c == first || width + grid_column_width(&g, c) + 2 <= room)) {
			width += grid_column_width(&g, c) + 2;
			pick[c++] = true;
		}
		const struct grid part = grid_columns(r->arena, &g, keep, pick);
		if (first > keep)
			fputc('\n', to);
		print_grid(to, &part, "");
	}
}

/* Folded at the width of the terminal, continuation lines indented. */
static void
print_list(FILE *to, const struct report *r, const char *head, const struct texts *list)
{
	size_t column = strlen(head) + 1;

	if (list->n == 0)
		return;
	fprintf(to, "%s:", head);
	for (size_t i = 0; i < list->n; i++) {
		const char *comma = i + 1 < list->n ? "," : "", *text = text_visible(r->arena, list->list[i]);
		const size_t n = 1 + text_columns(text) + strlen(comma);
		const bool fold = column + n > (size_t)r->width && i > 0;
		fprintf(to, "%s%s%s", fold ? "\n  " : " ", text, comma);
		column = fold ? n + 1 : column + n;
	}
	fputc('\n', to);
}

void
text_note(struct arena *a, struct text_notes *notes, const struct sheet *sh)
{
	enum { MOST = 16 };

	if (!notes->whys.list)
		notes->whys.list = ARENA_ARRAY(a, const char *, MOST);
	for (int i = 0; i < sheet_size(sh); i++) {
		const struct row *row = sheet_row(sh, i);
		if (!row->label)
			continue;
		notes->unconfirmed = notes->unconfirmed || row->from.unconfirmed;
		/* transferred or extrapolated kernels: less certain than their fit */
		bool known = !row->why || strcmp(row->why, "calibrated") == 0;
		for (size_t k = 0; k < notes->whys.n && !known; k++)
			known = strcmp(notes->whys.list[k], row->why) == 0;
		if (!known && notes->whys.n < MOST)
			notes->whys.list[notes->whys.n++] = arena_text(a, row->why);
	}
}

static void
text_title(FILE *to, const struct report *r)
{
	if (r->title)
		fprintf(to, "%s%s%s\n", r->color ? "\033[1m" : "", text_visible(r->arena, r->title),
		    r->color ? "\033[0m" : "");
}

static void
print_notes(FILE *to, const struct report *r, const struct text_notes *notes)
{
	if (r->quiet)
		return;
	const struct texts assumed = {r->assumed.n, ARENA_ARRAY(r->arena, const char *, r->assumed.n + 1)};
	for (size_t i = 0; i < r->assumed.n; i++)
		assumed.list[i] = r->assumed.list[i].text;
	print_list(to, r, "assumed", &assumed);
	print_list(to, r, "intervals", &notes->whys);
	if (notes->unconfirmed)
		fputs(UNCONFIRMED_MARK " not confirmed by a source\n", to);
}

void
text_points(FILE *to, const struct report *r, const struct grid *g, const struct text_notes *notes)
{
	text_title(to, r);
	print_wide(to, r, g);
	print_notes(to, r, notes);
}

static void
text_answers(FILE *to, const struct report *r, const struct answers *answers)
{
	size_t width = 0;

	for (size_t i = 0; i < answers->n_lines; i++)
		if (answers->lines[i].grid < 0 && text_columns(answers->lines[i].label) > width)
			width = text_columns(answers->lines[i].label);
	for (size_t i = 0; i < answers->n_lines; i++) {
		const struct answer_line *line = &answers->lines[i];
		if (line->grid >= 0) {
			if (i > 0)
				fputc('\n', to);
			const struct grid *g = &answers->grids[line->grid];
			if (has_sentences(g, (size_t)r->width))
				print_records(to, g);
			else
				print_grid(to, g, "");
			if (i + 1 < answers->n_lines && answers->lines[i + 1].grid < 0)
				fputc('\n', to);
			continue;
		}
		text_cell(to, line->label, width, false, false);
		print_coloured(to, r, line->text ? line->text : "-");
		fputc('\n', to);
	}
}

bool
report_text(FILE *to, const struct report *r, char *why, size_t size)
{
	const struct answers answers = answers_of(r->arena, r->point->sheet, FORM_PEOPLE);
	struct text_notes notes = {0};

	(void)why;
	(void)size;
	text_note(r->arena, &notes, r->point->sheet);
	text_title(to, r);
	text_answers(to, r, &answers);
	print_notes(to, r, &notes);
	return true;
}
