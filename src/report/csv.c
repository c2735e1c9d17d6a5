/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CSV (RFC 4180) in base units; missing cells are empty. */
#include "report/parts.h"

#include <string.h>

static void
print_field(FILE *to, const char *text)
{
	if (!text)
		return;
	if (!strpbrk(text, ",\"\n")) {
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
print_line(FILE *to, const char *const *fields, size_t n)
{
	for (size_t c = 0; c < n; c++) {
		if (c)
			fputc(',', to);
		print_field(to, fields[c]);
	}
	fputc('\n', to);
}

void
csv_grid(FILE *to, const struct grid *g)
{
	print_line(to, g->names, g->n_columns);
	for (size_t l = 0; l < g->n_lines; l++)
		print_line(to, g->cells[l], g->n_columns);
}

bool
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
