/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Markdown: one table of single answers, and one per list. */
#include "base/base.h"
#include "report/parts.h"

#include <string.h>

static void
print_field(FILE *to, const char *text)
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
print_grid(FILE *to, const struct grid *g)
{
	for (size_t c = 0; c < g->n_columns; c++)
		print_field(to, g->heads[c]);
	fputs("|\n", to);
	for (size_t c = 0; c < g->n_columns; c++)
		fputs(g->numeric[c] ? "|---:" : "|---", to);
	fputs("|\n", to);
	for (size_t l = 0; l < g->n_lines; l++) {
		for (size_t c = 0; c < g->n_columns; c++)
			print_field(to, g->cells[l][c] ? g->cells[l][c] : "-");
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
			print_grid(to, &answers->grids[line->grid]);
			fputs(i + 1 < answers->n_lines ? "\n" : "", to);
			head = false;
			continue;
		}
		if (!head)
			fputs("| what | value |\n|---|---:|\n", to);
		head = true;
		print_field(to, line->label);
		print_field(to, line->text ? line->text : "-");
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

void
md_points(FILE *to, const struct report *r, const struct grid *g)
{
	print_title(to, r);
	print_grid(to, g);
	print_assumed(to, r);
}

bool
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
