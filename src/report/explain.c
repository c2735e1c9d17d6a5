/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The derivation of the answers as a tree: each row with the text that computed it, its value, and below it the rows
 * that the text names.  A row stands once; where it is needed again, its value alone is repeated.
 */
#include "base/base.h"
#include "base/sheet.h"
#include "report/report.h"

#include <string.h>

struct explainer {
	FILE *to;
	const struct report *report;
	const struct sheet *sh;
	bool *done;
	const struct row *around; /* a call whose result is printed next: the interval is the call's */
};

static void explain_row(struct explainer *e, int i, int depth, const char *as);

/* The name of a row in formulas, and the public id if it is an answer. */
static void
print_name(struct explainer *e, const struct row *row, const char *name)
{
	fputs(text_visible(e->report->arena, name), e->to);
	if (row->label && strcmp(row->name, row->id) == 0)
		fprintf(e->to, " (%s)", text_visible(e->report->arena, row->label));
	else if (row->label)
		fprintf(e->to, " (%s, %s)", row->id, text_visible(e->report->arena, row->label));
	fputs(" = ", e->to);
}

static void
print_interval(struct explainer *e, const struct row *row)
{
	char low[80], high[80];

	if (row)
		fprintf(e->to, "  [%s .. %s in %g of 100 cases: %s]",
		    value_write_digits(row->name, row->low, 4, low, sizeof low),
		    value_write_digits(row->name, row->high, 4, high, sizeof high), 100 * INTERVAL_LEVEL, row->why);
}

static void
print_value(struct explainer *e, const struct row *row)
{
	char people[80], si[40];

	value_write_digits(row->name, row->value, 4, people, sizeof people);
	fputs(people, e->to);
	const struct dim d = dim_of_name(row->name);
	if (dim_equal(d, (struct dim){{[AXIS_BYTE] = 1}}) && fabs(row->value) >= 1048576.0)
		fprintf(e->to, " (%s)", bytes_write_si(row->value, si, sizeof si));
	print_interval(e, row->why ? row : e->around);
	e->around = NULL;
}

static void
print_source(struct explainer *e, const struct source *s)
{
	if (!s->file)
		return;
	fprintf(e->to, "      %s", text_visible(e->report->arena, s->file));
	if (s->line)
		fprintf(e->to, ":%d:%d", s->line, s->column);
	if (s->cite)
		fprintf(e->to, "  [%s]", text_visible(e->report->arena, s->cite));
	if (s->unconfirmed)
		fputs("  unconfirmed", e->to);
}

/* The row that a CALL returned: the last one computed directly inside. */
static int
result_of(const struct sheet *sh, int call)
{
	for (int i = sheet_size(sh) - 1; i > call; i--) {
		const struct row *row = sheet_row(sh, i);
		if (row->parent == call && row->kind != ROW_SCOPE && row->kind != ROW_WORD)
			return i;
	}
	return -1;
}

/* --- what a callee was given ----------------------------------------------------------------------------- */

/* Argument number `k` of the last `n` in a call's text; structs come first.  False when there are fewer. */
static bool
argument(const char *text, int k, int n, char *buf, size_t size)
{
	const char *open = strchr(text, '('), *start = NULL;
	int depth = 0, commas = 0, wanted;

	if (!open)
		return false;
	for (const char *p = open + 1; *p && depth >= 0; p++) {
		depth += (*p == '(') - (*p == ')');
		commas += *p == ',' && depth == 0;
	}
	wanted = commas - n + 1 + k; /* argument 0 is the sheet */
	if (wanted < 1)
		return false;
	depth = 0;
	for (const char *p = open + 1; *p; p++) {
		const bool ends = depth == 0 && (*p == ',' || *p == ')');
		if (ends && wanted-- == 0 && start) {
			snprintf(buf, size, "%.*s", (int)(p - start), start);
			return true;
		}
		if (ends)
			start = p + 1 + (p[1] == ' ');
		depth += (*p == '(') - (*p == ')');
	}
	return false;
}

static int
count_given(const struct sheet *sh, int call, int upto)
{
	int n = 0;

	for (int i = call + 1; i < upto; i++)
		n += sheet_row(sh, i)->parent == call && sheet_row(sh, i)->kind == ROW_GIVEN;
	return n;
}

struct names {
	const struct sheet *sh;
	int at;
};

static bool
find_name(const void *context, const char *name, struct formula_value *out)
{
	const struct names *n = context;
	const int i = sheet_resolve(n->sh, n->at, name);

	if (i < 0)
		return false;
	*out = (struct formula_value){sheet_row(n->sh, i)->value, dim_of_name(name), false, false};
	return true;
}

/* A parameter's origin: the argument of the call when it can be told, else the row of the same name outside. */
static bool
given_origin(struct explainer *e, int i, char *text, size_t size, int *call)
{
	const struct row *row = sheet_row(e->sh, i);

	*call = row->parent;
	if (row->parent < 0)
		return false;
	const struct row *parent = sheet_row(e->sh, row->parent);
	if (parent->kind == ROW_CALL &&
	    argument(parent->text, count_given(e->sh, row->parent, i),
	        count_given(e->sh, row->parent, sheet_size(e->sh)), text, size)) {
		struct names names = {e->sh, row->parent};
		struct formula_value v;
		struct formula_fault fault;
		if (formula_evaluate(text, (struct formula_names){find_name, &names}, &v, &fault) &&
		    v.value == row->value)
			return true;
	}
	const int outer = sheet_resolve(e->sh, row->parent, row->name);
	if (outer < 0 || sheet_row(e->sh, outer)->value != row->value)
		return false;
	snprintf(text, size, "%s", row->name);
	return true;
}

/* --- one row --------------------------------------------------------------------------------------------- */

struct children {
	struct explainer *e;
	int at, depth;
	int seen[64]; /* rows that this formula has named already */
	int n_seen;
};

static void
explain_name(void *context, const char *name)
{
	struct children *c = context;
	const int i = sheet_resolve(c->e->sh, c->at, name);

	for (int k = 0; k < c->n_seen; k++)
		if (c->seen[k] == i)
			return;
	if (i < 0)
		return;
	if (c->n_seen < (int)(sizeof c->seen / sizeof *c->seen))
		c->seen[c->n_seen++] = i;
	explain_row(c->e, i, c->depth, NULL);
}

static void
explain_names(struct explainer *e, const char *text, int at, int depth)
{
	struct children c = {.e = e, .at = at, .depth = depth};

	formula_each_name(text, explain_name, &c);
}

static void
explain_given(struct explainer *e, int i, int depth)
{
	char text[400];
	int call;
	const struct row *row = sheet_row(e->sh, i);

	if (!given_origin(e, i, text, sizeof text, &call)) {
		print_value(e, row);
		fputs("      given\n", e->to);
		return;
	}
	const int same = strcmp(text, row->name) == 0 ? sheet_resolve(e->sh, call, text) : -1;
	if (same >= 0) { /* the same name outside: show that row in its place */
		explain_row(e, same, -depth - 1, row->name);
		return;
	}
	fprintf(e->to, "%s = ", text);
	print_value(e, row);
	fputc('\n', e->to);
	explain_names(e, text, call, depth + 1);
}

static void
explain_items(struct explainer *e, int group, int depth)
{
	char name[80];

	for (int i = group + 1; i < sheet_size(e->sh); i++) {
		const struct row *item = sheet_row(e->sh, i);
		if (item->parent != group || item->kind != ROW_ITEM)
			continue;
		snprintf(name, sizeof name, "%s.%d", item->name, item->item);
		for (int k = i + 1; k < sheet_size(e->sh); k++)
			if (sheet_row(e->sh, k)->parent == i && sheet_row(e->sh, k)->kind == ROW_WORD)
				snprintf(name, sizeof name, "%s", sheet_row(e->sh, k)->text);
		const int result = result_of(e->sh, i);
		if (result >= 0)
			explain_row(e, result, depth, name);
	}
}

/* A negative depth continues a line that was begun. */
static void
explain_row(struct explainer *e, int i, int depth, const char *as)
{
	const struct row *row = sheet_row(e->sh, i);
	const bool begun = depth < 0;

	if (begun)
		depth = -depth - 1;
	else {
		fprintf(e->to, "%*s", 2 * depth, "");
		print_name(e, row, as ? as : row->name);
	}
	if (row->kind == ROW_WORD) {
		fprintf(e->to, "%s\n", text_visible(e->report->arena, row->text));
		return;
	}
	if (e->done[i] &&
	    (row->kind == ROW_LET || row->kind == ROW_CALL || row->kind == ROW_SUM || row->kind == ROW_MOST)) {
		print_value(e, row);
		fputs("      (above)\n", e->to);
		return;
	}
	const bool repeated = e->done[i];
	e->done[i] = true;
	switch (row->kind) {
	case ROW_LET:
		if (row->text[strspn(row->text, "0123456789.")]) /* a bare number is its own formula */
			fprintf(e->to, "%s = ", row->text);
		print_value(e, row);
		fputc('\n', e->to);
		explain_names(e, row->text, i, depth + 1);
		break;
	case ROW_CALL: {
		const int result = result_of(e->sh, i);
		e->around = row->why ? row : e->around;
		if (result < 0) {
			print_value(e, row);
			fputc('\n', e->to);
		} else
			explain_row(e, result, -depth - 1, NULL);
		break;
	}
	case ROW_SUM:
	case ROW_MOST:
		fprintf(e->to, "%s of ", row->kind == ROW_SUM ? "sum" : "largest");
		fputs(row->text, e->to);
		fputs(" = ", e->to);
		print_value(e, row);
		fputc('\n', e->to);
		explain_items(e, i, depth + 1);
		break;
	case ROW_GIVEN:
		explain_given(e, i, depth);
		break;
	case ROW_DATUM:
	case ROW_INPUT:
		print_value(e, row);
		if (row->kind == ROW_DATUM && !repeated)
			print_source(e, &row->from);
		fputc('\n', e->to);
		break;
	case ROW_ITEM:
	case ROW_SCOPE:
	case ROW_WORD:
		fputc('\n', e->to);
		break;
	}
}

bool
report_explain(FILE *to, const struct report *r, char *why, size_t size)
{
	const struct sheet *sh = r->point->sheet;
	struct explainer e = {to, r, sh, ARENA_ARRAY(r->arena, bool, sheet_size(sh) + 1), NULL};

	if (r->row && *r->row) {
		const int i = report_row(r, sh, why, size);
		if (i < 0)
			return false;
		explain_row(&e, i, 0, NULL);
		return true;
	}
	char path[300];
	for (int i = 0; i < sheet_size(sh); i++) {
		if (!sheet_row(sh, i)->label || sheet_row(sh, i)->kind == ROW_WORD)
			continue;
		sheet_path(sh, i, path, sizeof path);
		explain_row(&e, i, 0, path);
	}
	return true;
}
