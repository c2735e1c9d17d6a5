/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text output: aligned lines and tables, then the assumptions. */
#include "base/base.h"
#include "report/report.h"

#include <string.h>

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
print_cell(FILE *to, const char *text, size_t width, bool right, bool last)
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
			print_cell(to, g->heads[c], width, false, false);
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
		print_cell(to, g->heads[c], widths[c], g->numeric[c], c + 1 == n);
	fputc('\n', to);
	for (size_t l = 0; l < g->n_lines; l++) {
		fputs(indent, to);
		for (size_t c = 0; c < n; c++)
			print_cell(to, g->cells[l][c] ? g->cells[l][c] : "-", widths[c], g->numeric[c], c + 1 == n);
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
			print_cell(to, g->heads[c], width, false, false);
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
		/* an interval that rests on more than a fit of its own: transferred, extrapolated */
		bool known = !row->why || strcmp(row->why, "calibrated") == 0;
		for (size_t k = 0; k < notes->whys.n && !known; k++)
			known = strcmp(notes->whys.list[k], row->why) == 0;
		if (!known && notes->whys.n < MOST)
			notes->whys.list[notes->whys.n++] = arena_text(a, row->why);
	}
}

static void
print_title(FILE *to, const struct report *r)
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
	print_title(to, r);
	print_wide(to, r, g);
	print_notes(to, r, notes);
}

static void
print_answers(FILE *to, const struct report *r, const struct answers *answers)
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
		print_cell(to, line->label, width, false, false);
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
	print_title(to, r);
	print_answers(to, r, &answers);
	print_notes(to, r, &notes);
	return true;
}
