/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One bare number (or word) per point, for shell arithmetic. */
#include "base/text.h"
#include "report/formats.h"
#include "ridge/units.h"

#include <string.h>

static void
say_near(const struct report *r, const struct sheet *sh, char *why, size_t size)
{
	const char *names[512];
	size_t n = 0;

	for (int i = 0; i < sheet_size(sh) && n < 512; i++)
		if (sheet_row(sh, i)->kind != ROW_SCOPE && sheet_row(sh, i)->kind != ROW_ITEM)
			names[n++] = sheet_row(sh, i)->name;
	const char *near = text_nearest(r->row, names, n);
	snprintf(why, size, "there is no row '%.80s'\n%s%s%s", r->row, near ? "did you mean '" : "", near ? near : "",
	    near ? "'?" : "--json shows all rows");
}

int
report_row(const struct report *r, const struct sheet *sh, char *why, size_t size)
{
	const int i = sheet_find(sh, r->row);
	const struct row *row = i >= 0 ? sheet_row(sh, i) : NULL;

	if (row && row->kind != ROW_SCOPE && !(row->kind == ROW_ITEM && isnan(row->value)))
		return i;
	if (row) {
		snprintf(why, size, "'%.80s' is a block of rows\n--json shows all rows", r->row);
		return -1;
	}
	if (i == -2) {
		char path[2][200];
		int found = 0;
		for (int k = 0; k < sheet_size(sh) && found < 2; k++) {
			sheet_path(sh, k, path[found], sizeof path[found]);
			const size_t n = strlen(path[found]), m = strlen(r->row);
			found += n > m && strcmp(path[found] + n - m, r->row) == 0 && path[found][n - m - 1] == '.';
		}
		snprintf(why, size, "several rows are called '%.80s'\nsay '%s' or '%s'", r->row, path[0], path[1]);
	} else
		say_near(r, sh, why, size);
	return -1;
}

bool
report_get(FILE *to, const struct report *r, char *why, size_t size)
{
	char buf[40];

	for (size_t p = 0; p < r->n_points; p++) {
		const struct sheet *sh = r->points[p].sheet;
		if (!sh) {
			fputs("-\n", to);
			continue;
		}
		const int i = report_row(r, sh, why, size);
		if (i < 0)
			return false;
		const struct row *row = sheet_row(sh, i);
		if (row->kind == ROW_WORD)
			fprintf(to, "%s\n", row->text);
		else
			fprintf(to, "%s\n", isnan(row->value) ? "-" : number_write(row->value, buf, sizeof buf));
	}
	return true;
}
