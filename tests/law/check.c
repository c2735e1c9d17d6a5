/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The laws of a sheet, row by row.
 *
 *	A formula names only rows recorded before it, in its own scope or one around it; its dimensions agree;
 *evaluating its text again gives the recorded value bit for bit. A sum is the sum of its items in order, a maximum
 *their fmax; a call has the value of the last row inside it, which is what --explain shows in its place; an argument
 *that can be read has the unit of the parameter it is given to. Paths are unique.
 */
#include "law/law.h"
#include "report/report.h"

#include "base/base.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct checker {
	const struct sheet *sh;
	struct faults *faults;
	int at; /* row under the law */
};

bool
same_bits(double a, double b)
{
	return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static void
add_fault(struct faults *f, const char *subject, const char *format, va_list args)
{
	char text[1000];

	f->n++;
	for (size_t i = 0; i < f->n_list; i++)
		if (strcmp(f->list[i].subject, subject) == 0 && strcmp(f->list[i].format, format) == 0)
			return;
	vsnprintf(text, sizeof text, format, args);
	f->list = arena_grow(f->arena, f->list, f->n_list, f->n_list + 1, sizeof *f->list);
	f->list[f->n_list++] = (struct fault){arena_text(f->arena, subject), format, arena_text(f->arena, text)};
	if (f->to)
		fprintf(f->to, "%s\n    %s\n    in %s\n", subject, text, f->where);
}

void
fault_report(struct faults *f, const char *subject, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_fault(f, subject, format, args);
	va_end(args);
}

/* One row's fault.  Its formula says where it is, in all sheets; other rows are named by their path. */
static void __attribute__((format(printf, 2, 3))) broken(struct checker *c, const char *format, ...)
{
	char subject[600];
	const struct row *row = sheet_row(c->sh, c->at);
	va_list args;

	if (row->name && row->text && row->kind != ROW_WORD)
		snprintf(subject, sizeof subject, "%s = %s", row->name, row->text);
	else
		sheet_path(c->sh, c->at, subject, sizeof subject);
	va_start(args, format);
	add_fault(c->faults, subject, format, args);
	va_end(args);
}

/* --- formulas -------------------------------------------------------------------------------------------- */

static bool
find(const void *context, const char *name, struct formula_value *out)
{
	const struct checker *c = context;
	const int i = sheet_resolve(c->sh, c->at, name);

	if (i < 0)
		return false;
	*out = (struct formula_value){.value = sheet_row(c->sh, i)->value, .dim = dim_of_name(name)};
	return true;
}

/* What C reads but the law does not allow; the formula reader would refuse it too, less clearly. */
static const char *
forbidden(const char *text)
{
	static const char *const types[] = {
	    "(double)", "(float)", "(int)", "(long)", "(unsigned)", "(size_t)", "(bool)"};

	if (strstr(text, "->"))
		return "reaches into a struct: TAKE the number first";
	if (strchr(text, '?'))
		return "has a condition: SET it in each branch";
	if (strpbrk(text, "[]&|!<>={};"))
		return "is more than arithmetic";
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (strstr(text, types[i]))
			return "has a cast";
	return NULL;
}

static void
check_formula(struct checker *c, const struct row *row)
{
	struct formula_value v;
	struct formula_fault fault;
	char is[80], must[80];

	if (!row->text) {
		broken(c, "a formula without a text");
		return;
	}
	c->faults->n_formulas++;
	if (forbidden(row->text)) {
		broken(c, "the formula %s", forbidden(row->text));
		return;
	}
	if (!formula_evaluate(row->text, (struct formula_names){find, c}, &v, &fault)) {
		broken(c, "column %d: %s", fault.column, fault.what);
		return;
	}
	if (!formula_assignable(v, dim_of_name(row->name))) {
		dim_name(v.dim, is, sizeof is);
		dim_name(dim_of_name(row->name), must, sizeof must);
		broken(c, "the formula gives %s, but the name says %s", is, must);
	}
	if (!same_bits(v.value, row->value))
		broken(c, "the text gives %.17g, but %.17g was recorded", v.value, row->value);
}

/* --- calls ----------------------------------------------------------------------------------------------- */

/* The first row after all that is inside a scope: a row is in the scope of the one before it, or of one around that
 * (check_places). */
static int
end_of(const struct sheet *sh, int scope)
{
	int i = scope + 1;

	while (i < sheet_size(sh) && sheet_row(sh, i)->parent >= scope)
		i++;
	return i;
}

/* The last row with a value directly inside, or -1. */
static int
result_of(const struct sheet *sh, int scope)
{
	for (int i = end_of(sh, scope) - 1; i > scope; i--)
		if (sheet_row(sh, i)->parent == scope && sheet_row(sh, i)->kind != ROW_SCOPE &&
		    sheet_row(sh, i)->kind != ROW_WORD && sheet_row(sh, i)->kind != ROW_ITEM)
			return i;
	return -1;
}

static void
check_result(struct checker *c, const struct row *row)
{
	const int result = result_of(c->sh, c->at);
	char is[80], must[80];

	if (result < 0) {
		broken(c, "nothing was recorded inside: is the sheet passed on?");
		return;
	}
	const struct row *last = sheet_row(c->sh, result);
	const struct formula_value v = {.value = last->value, .dim = dim_of_name(last->name)};
	if (!same_bits(last->value, row->value))
		broken(c, "is %.17g, but its last row, %s, is %.17g", row->value, last->name, last->value);
	if (!formula_assignable(v, dim_of_name(row->name))) {
		dim_name(v.dim, is, sizeof is);
		dim_name(dim_of_name(row->name), must, sizeof must);
		broken(c, "the callee's %s is %s, but the name says %s", last->name, is, must);
	}
}

/* Copy the next argument of a call, and step over its comma; false when there is none. */
static bool
next_argument(const char **at, char *buf, size_t size)
{
	int depth = 0;
	size_t n = 0;
	const char *p = *at;

	while (*p == ' ')
		p++;
	if (!*p || *p == ')')
		return false;
	for (; *p && !(depth == 0 && (*p == ',' || *p == ')')); p++) {
		depth += (*p == '(') - (*p == ')');
		if (n + 1 < size)
			buf[n++] = *p;
	}
	buf[n] = '\0';
	*at = *p == ',' ? p + 1 : p;
	return true;
}

static void
check_argument(struct checker *c, const char *argument, const struct row *given)
{
	struct formula_value v;
	struct formula_fault fault;
	char is[80], must[80];

	if (forbidden(argument) || !formula_evaluate(argument, (struct formula_names){find, c}, &v, &fault))
		return;
	/* a name that means something else in C than in the sheet tells nothing */
	if (v.literal || !same_bits(v.value, given->value) || formula_assignable(v, dim_of_name(given->name)))
		return;
	dim_name(v.dim, is, sizeof is);
	dim_name(dim_of_name(given->name), must, sizeof must);
	broken(c, "the argument %s is %s, but the parameter %s is %s", argument, is, given->name, must);
}

/* Arguments and the parameters that the callee recorded, when there are as many of them: all arguments are numbers
 * then. */
static void
check_arguments(struct checker *c, const struct row *row)
{
	char argument[300];
	int n_arguments = -1, n_given = 0;
	const char *start = strchr(row->text, '('), *at = start ? start + 1 : "";
	const int end = end_of(c->sh, c->at);

	while (next_argument(&at, argument, sizeof argument))
		n_arguments++;
	for (int i = c->at + 1; i < end; i++)
		n_given += sheet_row(c->sh, i)->parent == c->at && sheet_row(c->sh, i)->kind == ROW_GIVEN;
	if (n_arguments != n_given || n_given == 0)
		return;
	at = start + 1;
	next_argument(&at, argument, sizeof argument); /* the sheet */
	for (int i = c->at + 1; i < end; i++)
		if (sheet_row(c->sh, i)->parent == c->at && sheet_row(c->sh, i)->kind == ROW_GIVEN &&
		    next_argument(&at, argument, sizeof argument))
			check_argument(c, argument, sheet_row(c->sh, i));
}

/* --- sums and maxima ------------------------------------------------------------------------------------- */

static void
check_items(struct checker *c, const struct row *row)
{
	double all = row->kind == ROW_SUM ? 0 : -INFINITY;
	const int end = end_of(c->sh, c->at);
	int n = 0;

	for (int i = c->at + 1; i < end; i++) {
		const struct row *item = sheet_row(c->sh, i);
		if (item->parent != c->at)
			continue;
		if (item->kind != ROW_ITEM || item->item != n)
			broken(c, "item %d is missing", n);
		all = row->kind == ROW_SUM ? all + item->value : fmax(all, item->value);
		n++;
	}
	if (row->kind == ROW_MOST && n == 0)
		broken(c, "the largest of nothing");
	if (!same_bits(all, row->value))
		broken(c, "is %.17g, but its items make %.17g", row->value, all);
}

/* --- names ----------------------------------------------------------------------------------------------- */

struct path {
	const char *text;
	int row;
};

static int
by_text(const void *a, const void *b)
{
	const struct path *x = a, *y = b;
	const int order = strcmp(x->text, y->text);

	return order ? order : x->row - y->row;
}

static void
check_places(struct checker *c)
{
	for (int i = 0; i < sheet_size(c->sh); i++) {
		const int parent = sheet_row(c->sh, i)->parent;
		int around = i - 1;

		while (around >= 0 && around != parent)
			around = sheet_row(c->sh, around)->parent;
		if (around != parent) {
			c->at = i;
			broken(c, "stands apart from its scope");
		}
	}
}

static void
check_paths(struct checker *c)
{
	const int n = sheet_size(c->sh);
	struct arena *a = arena_new();
	struct path *paths = ARENA_ARRAY(a, struct path, n + 1);
	char buf[600];

	for (int i = 0; i < n; i++) {
		sheet_path(c->sh, i, buf, sizeof buf);
		paths[i] = (struct path){arena_text(a, buf), i};
	}
	qsort(paths, (size_t)n, sizeof *paths, by_text);
	for (int i = 1; i < n; i++)
		if (strcmp(paths[i].text, paths[i - 1].text) == 0) {
			c->at = paths[i].row;
			broken(c, "the name stands twice in its scope");
		}
	arena_free(a);
}

/* An answer has one name and one unit: of a list of answers, or of a line of a table, none has the id of another one.
 */
static void
check_answers(struct checker *c)
{
	struct arena *a = arena_new();
	const struct places all = places_of(a, c->sh);
	struct path *names = ARENA_ARRAY(a, struct path, (int)all.n + 1);

	for (size_t i = 0; i < all.n; i++) {
		const struct place *p = &all.list[i];
		const struct row *row = sheet_row(c->sh, p->row);
		names[i] = (struct path){place_name(a, c->sh, p), p->row};
		c->at = p->row;
		const struct dim own = dim_of_name(row->name), said = dim_of_name(row->id);
		if (row->kind != ROW_WORD && !dim_equal(own, said) && !text_begins(row->id, "n_") &&
		    !text_begins(row->name, "n_"))
			broken(c, "its answer '%s' has another unit", row->id);
	}
	qsort(names, all.n, sizeof *names, by_text);
	for (size_t i = 1; i < all.n; i++)
		if (strcmp(names[i].text, names[i - 1].text) == 0) {
			c->at = names[i].row;
			broken(c, "the answer '%s' is given twice", names[i].text);
		}
	arena_free(a);
}

/* A word that looks like a unit but is none: a name that ends in it would pass for a pure number. */
static bool
is_false_unit(const char *word, size_t length)
{
	static const char *const wrong[] = {"ms", "us", "ns", "sec", "secs", "seconds", "min", "hours", "bytes", "kb",
	    "mb", "gb", "tb", "kib", "mib", "gib", "bit", "flops", "gflop", "tflop", "hz", "mhz", "ghz", "percent",
	    "pct", "tokens", "params", "watts", "dollars", "dollar", "eur"};

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		if (strlen(wrong[i]) == length && strncmp(wrong[i], word, length) == 0)
			return true;
	return false;
}

static void
check_suffix(struct checker *c, const char *name)
{
	const char *last = strrchr(name, '_'), *per = strstr(name, "_per_");

	if (!last || text_begins(name, "n_") || !is_false_unit(last + 1, strlen(last + 1)))
		return;
	/* gib_per_gb is a ratio of two of them, and pure indeed */
	if (!per || per + strlen("_per") != last || !is_false_unit(name, (size_t)(per - name)))
		broken(c, "'%s' is not a unit suffix", last);
}

/* --- intervals ------------------------------------------------------------------------------------------- */

static void
check_interval(struct checker *c, const struct row *row)
{
	if (!(row->low <= row->value && row->value <= row->high))
		broken(c, "%.17g lies outside its interval, %.17g .. %.17g", row->value, row->low, row->high);
	if (!*row->why)
		broken(c, "an interval that does not say how it is known");
}

/* --- all ------------------------------------------------------------------------------------------------- */

static void
check_row(struct checker *c)
{
	const struct row *row = sheet_row(c->sh, c->at);

	if (!row->name || !*row->name)
		broken(c, "a row without a name");
	if (row->open)
		broken(c, "the scope was never left");
	if (row->why)
		check_interval(c, row);
	switch (row->kind) {
	case ROW_LET:
		check_formula(c, row);
		break;
	case ROW_CALL:
		check_arguments(c, row);
		check_result(c, row);
		break;
	case ROW_ITEM:
		check_result(c, row);
		break;
	case ROW_SUM:
	case ROW_MOST:
		check_items(c, row);
		break;
	case ROW_WORD:
		if (!row->text)
			broken(c, "a word that is missing");
		return;
	case ROW_SCOPE:
		return;
	case ROW_GIVEN:
	case ROW_DATUM:
	case ROW_INPUT:
		break;
	}
	if (row->name)
		check_suffix(c, row->name);
}

int
law_check(const struct sheet *sh, struct faults *f)
{
	const int before = f->n;
	struct checker c = {sh, f, 0};

	f->n_rows += sheet_size(sh);
	for (c.at = 0; c.at < sheet_size(sh); c.at++)
		check_row(&c);
	check_places(&c);
	check_paths(&c);
	check_answers(&c);
	return f->n - before;
}
