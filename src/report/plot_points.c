/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plot a sweep: one panel per unit, one curve per answer and outer sweep value. */
#include "report/report.h"

#include "base/sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 256, MAX_PANELS = 6, MAX_CURVES = 16 };

/* --- what is kept of each point -------------------------------------------------------------------------- */

struct seen_row {
	const char *path, *label; /* label NULL: no point shows it to people so far */
	double scale;             /* a fraction is drawn in percent */
	const char *unit;
	double *values; /* NaN where a point lacks it */
};

struct curves {
	const struct report *head;
	struct seen_row *rows;
	size_t n_rows, n_points, room;
	const char *why; /* the row that was asked for is not there */
	double *x;       /* the last swept input; NaN: a path of a file, or a word */
	const char ***swept;
};

struct curves *
curves_new(const struct report *head)
{
	struct curves *c = ARENA_NEW(head->arena, struct curves);

	c->head = head;
	c->rows = ARENA_ARRAY(head->arena, struct seen_row, MAX_ROWS);
	return c;
}

static void
grow(struct curves *c)
{
	struct arena *a = c->head->arena;
	const size_t more = c->room ? 2 * c->room : 64;

	c->x = arena_grow(a, c->x, c->n_points, more, sizeof *c->x);
	c->swept = arena_grow(a, c->swept, c->n_points, more, sizeof *c->swept);
	for (size_t k = 0; k < c->n_rows; k++)
		c->rows[k].values = arena_grow(a, c->rows[k].values, c->n_points, more, sizeof(double));
	c->room = more;
}

/* A row that people see, or may see at another point: not in a table, and not inside a computation unless it is shown.
 */
static bool
stands_alone(const struct sheet *sh, const struct row *row)
{
	if (row->kind == ROW_WORD || row->kind == ROW_SCOPE || row->kind == ROW_ITEM)
		return false;
	for (int i = row->parent; i >= 0; i = sheet_row(sh, i)->parent)
		if (sheet_row(sh, i)->item >= 0 || (!row->label && sheet_row(sh, i)->kind != ROW_SCOPE))
			return false;
	return true;
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

/* The row of this path, looked for first where the last point had it. */
static struct seen_row *
seen_row(struct curves *c, const char *path, const char *name, size_t *next)
{
	struct arena *a = c->head->arena;

	for (size_t i = 0; i < c->n_rows; i++) {
		struct seen_row *seen = &c->rows[(*next + i) % c->n_rows];
		if (strcmp(seen->path, path) != 0)
			continue;
		*next = (size_t)(seen - c->rows) + 1;
		return seen;
	}
	if (c->n_rows == MAX_ROWS)
		return NULL;
	struct seen_row *seen = &c->rows[c->n_rows++];
	*seen = (struct seen_row){arena_text(a, path), NULL, name_is_fraction(name) ? 100 : 1, unit_of(a, name),
	    ARENA_ARRAY(a, double, c->room)};
	for (size_t i = 0; i < c->n_points; i++)
		seen->values[i] = NAN;
	return seen;
}

/* The row that was asked for: by its name, and once it was found by its path. */
static int
only_row(struct curves *c, const struct sheet *sh)
{
	char why[500];

	if (c->n_rows)
		return sheet_find(sh, c->rows[0].path);
	const int i = report_row(c->head, sh, why, sizeof why);
	if (i < 0)
		c->why = arena_text(c->head->arena, why);
	return i;
}

static void
note_rows(struct curves *c, const struct sheet *sh)
{
	const bool one = c->head->row && *c->head->row;
	const int only = one ? only_row(c, sh) : -1;
	size_t next = 0;
	char path[200];

	for (int i = 0; i < sheet_size(sh); i++) {
		const struct row *row = sheet_row(sh, i);
		if (one ? i != only || row->kind == ROW_WORD : !stands_alone(sh, row))
			continue;
		if (sheet_path(sh, i, path, sizeof path) >= sizeof path)
			continue;
		struct seen_row *seen = seen_row(c, path, row->name, &next);
		if (!seen)
			continue;
		seen->values[c->n_points] = seen->scale * row->value;
		if (!seen->label && (row->label || one))
			seen->label = arena_text(c->head->arena, row->label ? row->label : row->name);
	}
}

static double
asked_at(const struct answer_point *p, const char *path)
{
	for (size_t i = 0; i < p->n_asked; i++)
		if (strcmp(p->asked[i].path, path) == 0)
			return p->asked[i].value;
	return NAN;
}

void
curves_add(struct curves *c, const struct answer_point *p)
{
	const size_t n = c->head->swept.n;

	if (c->n_points == c->room)
		grow(c);
	c->x[c->n_points] = asked_at(p, c->head->swept.list[n - 1]);
	c->swept[c->n_points] = ARENA_ARRAY(c->head->arena, const char *, n);
	for (size_t k = 0; k < n; k++)
		c->swept[c->n_points][k] = p->swept.list[k];
	for (size_t k = 0; k < c->n_rows; k++)
		c->rows[k].values[c->n_points] = NAN;
	if (p->sheet)
		note_rows(c, p->sheet);
	c->n_points++;
}

/* --- the axis -------------------------------------------------------------------------------------------- */

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
axis_of(const struct curves *c)
{
	const size_t last = c->head->swept.n - 1;
	struct swept_axis axis = {.x = ARENA_ARRAY(c->head->arena, double, c->n_points)};

	for (size_t i = 0; i < c->n_points; i++) {
		char *end;
		axis.x[i] = c->x[i];
		if (isnan(axis.x[i])) { /* a path of a file: gpu.memory.bandwidth */
			axis.x[i] = strtod(c->swept[i][last], &end);
			axis.words = axis.words || *end || end == c->swept[i][last];
		}
	}
	for (size_t i = 0; i < c->n_points && axis.words; i++)
		axis.x[i] = place_of_word(c->head->arena, &axis, c->swept[i][last]);
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

/* --- curves ---------------------------------------------------------------------------------------------- */

/* Points of the innermost sweep per point of the outer ones. */
static size_t
points_of_curve(const struct curves *c)
{
	size_t n = 1;

	for (; n < c->n_points; n++)
		for (size_t k = 0; k + 1 < c->head->swept.n; k++)
			if (strcmp(c->swept[0][k], c->swept[n][k]) != 0)
				return n;
	return n;
}

static const char *
curve_title(const struct curves *c, const struct seen_row *row, size_t point, bool several)
{
	const struct texts *swept = &c->head->swept;
	const char *title = several || swept->n == 1 ? row->label : "";

	for (size_t k = 0; k + 1 < swept->n; k++)
		title = arena_printf(
		    c->head->arena, "%s%s%s %s", title, *title ? ", " : "", swept->list[k], c->swept[point][k]);
	return title;
}

/* An input that is shown again: wherever there is an answer, it is the axis. */
static bool
repeats(const struct curves *c, const struct seen_row *row, const struct swept_axis *axis)
{
	for (size_t p = 0; p < c->n_points; p++) {
		bool answered = false;
		for (size_t k = 0; k < c->n_rows && !answered; k++)
			answered = !isnan(c->rows[k].values[p]);
		if (answered && row->values[p] != axis->x[p])
			return false;
	}
	return !(c->head->row && *c->head->row);
}

/* Leave constants out of a plot unless they were asked for. */
static bool
changes(const struct curves *c, const struct seen_row *row)
{
	double first = NAN;

	for (size_t p = 0; p < c->n_points; p++) {
		if (isnan(first))
			first = row->values[p];
		else if (!isnan(row->values[p]) && row->values[p] != first)
			return true;
	}
	return c->head->row && *c->head->row && !isnan(first);
}

/* Returns how many there was no room for. */
static size_t
add_curves(const struct curves *c, const struct seen_row *row, const struct swept_axis *axis, size_t per_curve,
    bool several, struct plot_panel *panel)
{
	size_t n_left_out = 0;

	for (size_t i = 0; i < c->n_points; i += per_curve) {
		const size_t rest = c->n_points - i;
		if (panel->n_series == MAX_CURVES) {
			n_left_out++;
			continue;
		}
		panel->series[panel->n_series++] = (struct plot_series){.title = curve_title(c, row, i, several),
		    .line = !axis->words,
		    .marks = true,
		    .n = rest < per_curve ? rest : per_curve,
		    .x = axis->x + i,
		    .y = row->values + i};
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

/* All rows of the unit of row i that are not done; they are then. */
static void
add_panel(const struct curves *c, bool *done, size_t i, const struct swept_axis *axis, struct plot_panel *out)
{
	struct arena *a = c->head->arena;
	const char *unit = c->rows[i].unit;
	size_t n_rows = 0, n_left_out = 0;

	for (size_t k = i; k < c->n_rows; k++)
		n_rows += !done[k] && strcmp(c->rows[k].unit, unit) == 0 && changes(c, &c->rows[k]);
	out->y_title = n_rows > 1 ? unit
	    : *unit               ? arena_printf(a, "%s [%s]", c->rows[i].label, unit)
	                          : c->rows[i].label;
	out->series = ARENA_ARRAY(a, struct plot_series, MAX_CURVES);
	for (size_t k = i; k < c->n_rows; k++)
		if (!done[k] && strcmp(c->rows[k].unit, unit) == 0) {
			if (changes(c, &c->rows[k]))
				n_left_out += add_curves(c, &c->rows[k], axis, points_of_curve(c), n_rows > 1, out);
			done[k] = true;
		}
	if (n_left_out)
		out->y_title = arena_printf(a, "%s (%zu more curves not shown)", out->y_title, n_left_out);
	out->y_log = spans_panel(out, 1000);
}

const struct plot *
curves_plot(const struct curves *c, char *why, size_t size)
{
	const struct report *r = c->head;
	struct plot *plot = ARENA_NEW(r->arena, struct plot);
	bool *done = ARENA_ARRAY(r->arena, bool, MAX_ROWS);

	snprintf(why, size, "%s", c->n_rows || !c->why ? "no answer changes over the sweep" : c->why);
	const struct swept_axis axis = axis_of(c);
	const char *unit = unit_of(r->arena, r->swept.list[r->swept.n - 1]);
	plot->title = r->title ? r->title : arena_printf(r->arena, "ridge %s", r->command);
	plot->x_title = *unit ? arena_printf(r->arena, "%s [%s]", r->swept.list[r->swept.n - 1], unit)
	                      : r->swept.list[r->swept.n - 1];
	plot->x_log = !axis.words && spans(axis.x, c->n_points, 10);
	plot->x_powers = plot->x_log && powers_of_two(axis.x, c->n_points);
	plot->n_words = axis.n_words;
	plot->words = axis.list;
	plot->panels = ARENA_ARRAY(r->arena, struct plot_panel, MAX_PANELS);
	for (size_t i = 0; i < c->n_rows; i++)
		done[i] = !c->rows[i].label || repeats(c, &c->rows[i], &axis);
	for (size_t i = 0; i < c->n_rows && plot->n_panels < MAX_PANELS; i++)
		if (!done[i] && changes(c, &c->rows[i]))
			add_panel(c, done, i, &axis, &plot->panels[plot->n_panels++]);
	return plot->n_panels ? plot : NULL;
}
