/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read measured values of any unit, from the command line or a file. */
#include "ask/ask.h"

#include "base/base.h"
#include "cli/cli.h"
#include "import/import.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_MAX = 1000000 };

static const struct {
	enum quantity quantity;
	const char *name, *row;
} kinds[] = {[MEASURE_NUMBER] = {Q_NUMBER, "numbers without a unit", "x"},
    [MEASURE_TIME] = {Q_TIME, "times", "x_s"},
    [MEASURE_SIZE] = {Q_SIZE, "sizes", "x_byte"},
    [MEASURE_RATE] = {Q_RATE, "rates", "x_byte_per_s"}};

enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* --- one value ------------------------------------------------------------------------------------------- */

bool
measure_read(struct run *r, struct source at, const char *text, enum measure *kind, double *value)
{
	struct quantity_fault fault, best = {"", ""};

	for (int k = 0; k < N_KINDS; k++) {
		if (!quantity_read(text, kinds[k].quantity, value, &fault)) {
			if (!best.what[0] || strstr(fault.what, "two ways"))
				best = fault;
			continue;
		}
		if (*kind != MEASURE_ANY && *kind != (enum measure)k) {
			diag_error(r->diag, at, "'%s' mixed with %s", text, kinds[*kind].name);
			diag_hint(r->diag, "give all values in the same unit");
			return false;
		}
		*kind = (enum measure)k;
		return bounds_check(r->diag, at, "measurement", kinds[k].quantity, *value);
	}
	diag_error(r->diag, at, "%s",
	    strstr(best.what, "two ways") ? best.what : arena_printf(r->arena, "'%s' is not a measurement", text));
	diag_hint(r->diag, "%s", strstr(best.what, "two ways") ? best.hint : "write 1200, 12ms, 8.5GB or 3.2GB/s");
	return false;
}

bool
measure_fraction(struct run *r, const char *name, struct datum d, double low, double high)
{
	if (!datum_given(d) || (d.value >= low && d.value <= high))
		return true;
	diag_error(r->diag, d.from, "%s must be between %g and %g", name, low, high);
	diag_hint(r->diag, "write 0.15 or 15%%");
	return false;
}

void
measure_unit(struct sheet *sh, enum measure kind)
{
	switch (kind) {
	case MEASURE_TIME: {
		TAKE(sh, unit_s, 1.0);
		break;
	}
	case MEASURE_SIZE: {
		TAKE(sh, unit_byte, 1.0);
		break;
	}
	case MEASURE_RATE: {
		TAKE(sh, unit_byte_per_s, 1.0);
		break;
	}
	case MEASURE_ANY:
	case MEASURE_NUMBER:
		break;
	}
}

/* --- files ----------------------------------------------------------------------------------------------- */

static bool
is_file(const char *text)
{
	static const char *const ends[] = {".csv", ".tsv", ".txt", ".log", ".yaml", ".yml", ".json"};

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (text_ends(text, ends[i]))
			return true;
	/* 3GB/s is none */
	return (strchr(text, '/') && !isdigit((unsigned char)*text)) || strcmp(text, "-") == 0;
}

/* The asked column, or the one at `otherwise`. */
static bool
find_column(struct run *r, const struct table *t, struct word name, size_t otherwise, size_t *out)
{
	*out = name.text ? table_column(t, name.text) : otherwise;
	if (*out < t->n_columns)
		return true;
	const struct source at = t->cells[0].at;
	if (!name.text) {
		diag_error(r->diag, at, "the file has %zu columns", t->n_columns);
		diag_hint(r->diag, "choose one; 'ridge %s --help' shows the option", r->command->name);
		return false;
	}
	diag_error(r->diag, name.from, "there is no column '%s'", name.text);
	const char *near = t->heads ? text_nearest(name.text, t->heads, t->n_columns) : NULL;
	if (near)
		diag_hint(r->diag, "did you mean '%s'?", near);
	else
		diag_hint(r->diag, "the first line of the file names the columns");
	return false;
}

/* The numbers of a column; empty cells are a fault. */
static bool
column(struct run *r, const struct table *t, size_t c, enum measure *kind, double *out)
{
	for (size_t i = 0; i < t->n_lines; i++) {
		const struct cell *at = table_cell(t, i, c);
		if (!at->text) {
			diag_error(r->diag, at->at, "number missing");
			diag_hint(r->diag, "leave the line out");
			return false;
		}
		if (!measure_read(r, at->at, at->text, kind, &out[i]))
			return false;
	}
	return true;
}

static bool
fits(struct run *r, struct source at, size_t n)
{
	if (n <= VALUES_MAX)
		return true;
	diag_error(r->diag, at, "more than a million values");
	diag_hint(r->diag, "give fewer");
	return false;
}

/* --- values ---------------------------------------------------------------------------------------------- */

/* A file of one column needs no name for it. */
static bool
file_values(struct run *r, struct word file, struct word name, struct measures *out)
{
	struct table t;
	size_t c;

	if (!table_read_file(r->arena, r->diag, file.text, "values", &t))
		return false;
	const bool single = t.n_columns == 1;
	if (single)
		name = (struct word){0};
	run_read_from(r, name.from);
	if (!find_column(r, &t, name, single ? 0 : t.n_columns, &c) || !fits(r, file.from, t.n_lines))
		return false;
	out->n = t.n_lines;
	out->value = ARENA_ARRAY(r->arena, double, t.n_lines);
	return column(r, &t, c, &out->kind, out->value);
}

bool
measures_read(
    struct run *r, const char *name, const struct words *list, struct word name_of_column, struct measures *out)
{
	if (list->n == 0) {
		diag_error(r->diag, (struct source){0}, "no --%s", name);
		diag_hint(r->diag, "write --%s 1200, several values separated by commas, or a file of numbers", name);
		return false;
	}
	run_read_from(r, list->list[0].from);
	if (list->n == 1 && is_file(list->list[0].text))
		return file_values(r, list->list[0], name_of_column, out);
	out->n = list->n;
	out->value = ARENA_ARRAY(r->arena, double, list->n);
	for (size_t i = 0; i < list->n; i++)
		if (!measure_read(r, list->list[i].from, list->list[i].text, &out->kind, &out->value[i]))
			return false;
	return true;
}

/* --- points ---------------------------------------------------------------------------------------------- */

struct pair {
	double step, value;
};

static int
by_step(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	const int order = (x->step > y->step) - (x->step < y->step);

	return order ? order : (x->value > y->value) - (x->value < y->value);
}

static void
sort_points(struct run *r, struct points *p)
{
	struct pair *pairs = ARENA_ARRAY(r->arena, struct pair, p->n + 1);

	for (size_t i = 0; i < p->n; i++)
		pairs[i] = (struct pair){p->step[i], p->value[i]};
	qsort(pairs, p->n, sizeof *pairs, by_step);
	for (size_t i = 0; i < p->n; i++) {
		p->step[i] = pairs[i].step;
		p->value[i] = pairs[i].value;
	}
}

static bool
file_points(struct run *r, struct word file, struct word x, struct word y, struct points *out)
{
	enum measure steps = MEASURE_NUMBER;
	struct table t;
	size_t at_x, at_y;

	if (!table_read_file(r->arena, r->diag, file.text, "points", &t))
		return false;
	if (t.n_columns < 2) {
		diag_error(r->diag, t.cells[0].at, "a point needs two columns, step and value");
		diag_hint(r->diag, "write '1000, 9.2GB' on each line");
		return false;
	}
	if (!find_column(r, &t, x, 0, &at_x) || !find_column(r, &t, y, 1, &at_y) || !fits(r, file.from, t.n_lines))
		return false;
	out->n = t.n_lines;
	out->step = ARENA_ARRAY(r->arena, double, t.n_lines);
	out->value = ARENA_ARRAY(r->arena, double, t.n_lines);
	return column(r, &t, at_x, &steps, out->step) && column(r, &t, at_y, &out->kind, out->value);
}

static bool
read_point(struct run *r, struct word w, struct points *out)
{
	const char *colon = strchr(w.text, ':');
	enum measure steps = MEASURE_NUMBER;

	if (!colon) {
		diag_error(r->diag, w.from, "'%s' is not of the form STEP:VALUE", w.text);
		diag_hint(r->diag, "write for example 0:8.50GB,1000:9.20GB, or a file of two columns");
		return false;
	}
	const char *step = arena_copy(r->arena, w.text, (size_t)(colon - w.text));
	if (!measure_read(r, w.from, step, &steps, &out->step[out->n]) ||
	    !bounds_check(r->diag, w.from, "step", Q_NUMBER, out->step[out->n]) ||
	    !measure_read(r, w.from, colon + 1, &out->kind, &out->value[out->n]))
		return false;
	out->n++;
	return true;
}

bool
points_read(struct run *r, const struct words *list, struct word x, struct word y, struct points *out)
{
	*out = (struct points){.kind = MEASURE_ANY};
	run_read_from(r, list->list[0].from);
	out->step = ARENA_ARRAY(r->arena, double, list->n + 1);
	out->value = ARENA_ARRAY(r->arena, double, list->n + 1);
	if (list->n == 1 && is_file(list->list[0].text)) {
		run_read_from(r, x.from);
		run_read_from(r, y.from);
		if (!file_points(r, list->list[0], x, y, out))
			return false;
	} else
		for (size_t i = 0; i < list->n; i++)
			if (!read_point(r, list->list[i], out))
				return false;
	sort_points(r, out);
	return true;
}
