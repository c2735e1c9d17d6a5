/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sweep as a plot: a panel for each unit, a curve for each row and for each value of the outer sweeps. */
#include "report/plot.h"

#include "report/formats.h"
#include "ridge/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 64, MAX_PANELS = 6, MAX_CURVES = 16 };

/* --- the axis -------------------------------------------------------------------------------------------- */

static const struct asked *
asked_at(const struct point *p, const char *path)
{
	for (size_t i = 0; i < p->n_asked; i++)
		if (strcmp(p->asked[i].path, path) == 0)
			return &p->asked[i];
	return NULL;
}

struct swept_axis {
	double *x; /* of each point */
	bool words;
	size_t n_words;
	const char **list;
};

static double
place_of_word(struct arena *a, struct swept_axis *axis, const char *word)
{
	for (size_t i = 0; i < axis->n_words; i++)
		if (strcmp(axis->list[i], word) == 0)
			return (double)i;
	axis->list = arena_grow(a, axis->list, axis->n_words, axis->n_words + 1, sizeof *axis->list);
	axis->list[axis->n_words] = word;
	return (double)axis->n_words++;
}

/* Numbers where all values are, else words in their order. */
static struct swept_axis
axis_of(const struct report *r)
{
	const size_t last = r->swept.n - 1;
	struct swept_axis axis = {.x = ARENA_ARRAY(r->arena, double, r->n_points)};

	for (size_t i = 0; i < r->n_points; i++) {
		const struct asked *asked = asked_at(&r->points[i], r->swept.list[last]);
		char *end;
		axis.x[i] = asked ? asked->value : NAN;
		if (isnan(axis.x[i])) { /* a path of a file: gpu.memory.bandwidth */
			axis.x[i] = strtod(r->points[i].swept.list[last], &end);
			axis.words = axis.words || *end || end == r->points[i].swept.list[last];
		}
	}
	for (size_t i = 0; i < r->n_points && axis.words; i++)
		axis.x[i] = place_of_word(r->arena, &axis, r->points[i].swept.list[last]);
	return axis;
}

/* Values that grow by factors are read on a logarithmic axis. */
static bool
spans(const double *x, size_t n, double factor)
{
	double low = INFINITY, high = -INFINITY;

	for (size_t i = 0; i < n; i++)
		if (!isnan(x[i])) {
			low = fmin(low, x[i]);
			high = fmax(high, x[i]);
		}
	return low > 0 && high / low >= factor;
}

static bool
powers_of_two(const double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isnan(x[i]) && (x[i] < 1 || exp2(round(log2(x[i]))) != x[i]))
			return false;
	return true;
}

/* --- rows ------------------------------------------------------------------------------------------------ */

struct seen_row {
	const char *path, *name, *label;
	double scale; /* a fraction is drawn in percent */
	const char *unit;
};

static bool
in_table(const struct sheet *sh, const struct row *row)
{
	for (; row->parent >= 0; row = sheet_row(sh, row->parent))
		if (sheet_row(sh, row->parent)->item >= 0)
			return true;
	return false;
}

static const char *
unit_of(struct arena *a, const char *name)
{
	char unit[140];

	if (name_is_fraction(name))
		return "%";
	dim_name(dim_of_name(name), unit, sizeof unit);
	return strcmp(unit, "pure number") == 0 ? "" : arena_text(a, unit);
}

static size_t
rows_of(const struct report *r, struct seen_row *rows, char *why, size_t size)
{
	size_t n = 0;

	for (size_t p = 0; p < r->n_points; p++) {
		const struct sheet *sh = r->points[p].sheet;
		if (!sh)
			continue;
		const int only = r->row && *r->row ? report_row(r, sh, why, size) : -1;
		if (r->row && *r->row && only < 0)
			return 0;
		for (int i = 0; i < sheet_size(sh) && n < MAX_ROWS; i++) {
			const struct row *row = sheet_row(sh, i);
			char path[200];
			bool known = false;
			if (only >= 0 ? i != only : !row->label || row->kind == ROW_WORD || in_table(sh, row))
				continue;
			if (row->kind == ROW_WORD || sheet_path(sh, i, path, sizeof path) >= sizeof path)
				continue;
			for (size_t k = 0; k < n && !known; k++)
				known = strcmp(rows[k].path, path) == 0;
			if (known)
				continue;
			rows[n++] = (struct seen_row){arena_text(r->arena, path), row->name,
			    row->label ? row->label : row->name, name_is_fraction(row->name) ? 100 : 1,
			    unit_of(r->arena, row->name)};
		}
	}
	return n;
}

static double
value_at(const struct sheet *sh, const struct seen_row *row)
{
	const int i = sh ? sheet_find(sh, row->path) : -1;

	return i >= 0 ? row->scale * sheet_row(sh, i)->value : NAN;
}

/* --- curves ---------------------------------------------------------------------------------------------- */

static bool
same_curve(const struct report *r, const struct point *a, const struct point *b)
{
	for (size_t k = 0; k + 1 < r->swept.n; k++)
		if (strcmp(a->swept.list[k], b->swept.list[k]) != 0)
			return false;
	return true;
}

/* Points of the outer sweeps lie one behind the other: how many of the last one each has. */
static size_t
points_of_curve(const struct report *r)
{
	size_t n = 1;

	while (n < r->n_points && same_curve(r, &r->points[0], &r->points[n]))
		n++;
	return n;
}

static const char *
curve_title(const struct report *r, const struct seen_row *row, const struct point *p, bool several)
{
	const char *title = several || r->swept.n == 1 ? row->label : "";

	for (size_t k = 0; k + 1 < r->swept.n; k++)
		title =
		    arena_printf(r->arena, "%s%s%s %s", title, *title ? ", " : "", r->swept.list[k], p->swept.list[k]);
	return title;
}

/* An input that is shown again. */
static bool
repeats(const struct report *r, const struct seen_row *row, const struct swept_axis *axis)
{
	for (size_t p = 0; p < r->n_points; p++)
		if (r->points[p].sheet && value_at(r->points[p].sheet, row) != axis->x[p])
			return false;
	return !(r->row && *r->row);
}

/* What never changes says nothing on a plot, unless it was asked for. */
static bool
changes(const struct report *r, const struct seen_row *row)
{
	double first = NAN;

	for (size_t p = 0; p < r->n_points; p++) {
		const double value = value_at(r->points[p].sheet, row);
		if (isnan(first))
			first = value;
		else if (!isnan(value) && value != first)
			return true;
	}
	return r->row && *r->row && !isnan(first);
}

/* Returns how many there was no room for. */
static size_t
add_curves(const struct report *r, const struct seen_row *row, const struct swept_axis *axis, size_t per_curve,
    bool several, struct plot_panel *panel)
{
	double *values = ARENA_ARRAY(r->arena, double, r->n_points);

	for (size_t i = 0; i < r->n_points; i++)
		values[i] = value_at(r->points[i].sheet, row);
	size_t n_left_out = 0;
	for (size_t i = 0; i < r->n_points; i += per_curve) {
		const size_t rest = r->n_points - i;
		if (panel->n_series == MAX_CURVES) {
			n_left_out++;
			continue;
		}
		panel->series[panel->n_series++] =
		    (struct plot_series){.title = curve_title(r, row, &r->points[i], several),
		        .line = !axis->words,
		        .marks = true,
		        .n = rest < per_curve ? rest : per_curve,
		        .x = axis->x + i,
		        .y = values + i};
	}
	return n_left_out;
}

/* A logarithmic axis shows nothing of what is 0 or less. */
static bool
spans_panel(const struct plot_panel *panel, double factor)
{
	double low = INFINITY, high = -INFINITY;

	for (size_t k = 0; k < panel->n_series; k++)
		for (size_t i = 0; i < panel->series[k].n; i++) {
			const double y = panel->series[k].y[i];
			low = isnan(y) ? low : fmin(low, y);
			high = isnan(y) ? high : fmax(high, y);
		}
	return low > 0 && high / low >= factor;
}

/* All rows of the unit of row i; they are done then. */
static void
add_panel(const struct report *r, struct seen_row *rows, size_t n, size_t i, const struct swept_axis *axis,
    struct plot_panel *out)
{
	const char *unit = rows[i].unit;
	size_t n_rows = 0, n_left_out = 0;

	for (size_t k = i; k < n; k++)
		n_rows += rows[k].unit && strcmp(rows[k].unit, unit) == 0 && changes(r, &rows[k]);
	out->y_title = n_rows > 1 ? unit
	    : *unit               ? arena_printf(r->arena, "%s [%s]", rows[i].label, unit)
	                          : rows[i].label;
	out->series = ARENA_ARRAY(r->arena, struct plot_series, MAX_CURVES);
	for (size_t k = i; k < n; k++)
		if (rows[k].unit && strcmp(rows[k].unit, unit) == 0) {
			if (changes(r, &rows[k]))
				n_left_out += add_curves(r, &rows[k], axis, points_of_curve(r), n_rows > 1, out);
			rows[k].unit = NULL;
		}
	if (n_left_out)
		out->y_title = arena_printf(r->arena, "%s (%zu more curves left out)", out->y_title, n_left_out);
	out->y_log = spans_panel(out, 1000);
}

const struct plot *
plot_of_points(const struct report *r, char *why, size_t size)
{
	struct seen_row *rows = ARENA_ARRAY(r->arena, struct seen_row, MAX_ROWS);
	struct plot *plot = ARENA_NEW(r->arena, struct plot);

	snprintf(why, size, "no number changes over the sweep");
	const size_t n = rows_of(r, rows, why, size);
	const struct swept_axis axis = axis_of(r);
	const char *unit = unit_of(r->arena, r->swept.list[r->swept.n - 1]);
	plot->title = r->title ? r->title : arena_printf(r->arena, "ridge %s", r->command);
	plot->x_title = *unit ? arena_printf(r->arena, "%s [%s]", r->swept.list[r->swept.n - 1], unit)
	                      : r->swept.list[r->swept.n - 1];
	plot->x_log = !axis.words && spans(axis.x, r->n_points, 10);
	plot->x_powers = plot->x_log && powers_of_two(axis.x, r->n_points);
	plot->n_words = axis.n_words;
	plot->words = axis.list;
	plot->panels = ARENA_ARRAY(r->arena, struct plot_panel, MAX_PANELS);
	for (size_t i = 0; i < n; i++)
		if (repeats(r, &rows[i], &axis))
			rows[i].unit = NULL;
	for (size_t i = 0; i < n && plot->n_panels < MAX_PANELS; i++)
		if (rows[i].unit && changes(r, &rows[i]))
			add_panel(r, rows, n, i, &axis, &plot->panels[plot->n_panels++]);
	return plot->n_panels ? plot : NULL;
}
