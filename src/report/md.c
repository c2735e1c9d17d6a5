/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Markdown: one table for the single answers, one for each list. */
#include "report/formats.h"

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

bool
report_md(FILE *to, const struct report *r, char *why, size_t size)
{
	(void)why;
	(void)size;
	if (r->title)
		fprintf(to, "**%s**\n\n", r->title);
	if (r->sweep) {
		const struct grid g = grid_of_points(r, FORM_PEOPLE);
		print_grid(to, &g);
	} else {
		const struct answers answers = answers_of(r->arena, r->points[0].sheet, FORM_PEOPLE);
		print_answers(to, &answers);
	}
	if (r->assumed.n && !r->quiet) {
		fputs("\nassumed: ", to);
		for (size_t i = 0; i < r->assumed.n; i++)
			fprintf(to, "%s%s", i ? ", " : "", r->assumed.list[i]);
		fputc('\n', to);
	}
	return true;
}
