/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ask/roofline/roofline.h"

#include <math.h>
#include <string.h>

/* --- the plot -------------------------------------------------------------------------------------------- */

struct span {
	double low, high;
};

static void
widen(struct span *s, double x)
{
	if (!(x > 0) || isinf(x))
		return;
	s->low = fmin(s->low, x);
	s->high = fmax(s->high, x);
}

/* All ridge points and all marks, with a little room. */
static struct span
span_of(const struct roof_line *lines, size_t n_lines, const struct roof_marks *marks, size_t n_marks)
{
	struct span s = {1, 1};

	for (size_t i = 0; i < n_lines; i++)
		widen(&s, 4 * ridge_point(NULL, lines[i].peak_flop_per_s, lines[i].mem_byte_per_s));
	for (size_t k = 0; k < n_marks; k++)
		for (size_t i = 0; i < marks[k].n; i++) {
			widen(&s, marks[k].intensity_flop_per_byte[i] / 2);
			widen(&s, marks[k].intensity_flop_per_byte[i] * 2);
		}
	return s;
}

static struct plot_series
line_series(struct arena *a, const struct roof_line *l, struct span s)
{
	double *x = ARENA_ARRAY(a, double, 3), *y = ARENA_ARRAY(a, double, 3);

	x[0] = s.low;
	x[1] = ridge_point(NULL, l->peak_flop_per_s, l->mem_byte_per_s);
	x[2] = s.high;
	for (int i = 0; i < 3; i++)
		y[i] = roofline_place(NULL, x[i], l->peak_flop_per_s, l->mem_byte_per_s).attainable_flop_per_s;
	return (struct plot_series){.title = l->name, .line = true, .n = 3, .x = x, .y = y};
}

const struct plot *
roof_plot(struct arena *a, const char *title, const struct roof_line *lines, size_t n_lines,
    const struct roof_marks *marks, size_t n_marks)
{
	struct plot *p = ARENA_NEW(a, struct plot);
	struct plot_panel *panel = ARENA_NEW(a, struct plot_panel);
	const struct span s = span_of(lines, n_lines, marks, n_marks);

	*p = (struct plot){
	    .title = title, .x_title = "intensity [FLOP/B]", .x_log = true, .n_panels = 1, .panels = panel};
	panel->y_title = "FLOP/s";
	panel->y_log = true;
	panel->series = ARENA_ARRAY(a, struct plot_series, n_lines + n_marks + 1);
	for (size_t i = 0; i < n_lines; i++)
		panel->series[panel->n_series++] = line_series(a, &lines[i], s);
	for (size_t i = 0; i < n_marks; i++)
		panel->series[panel->n_series++] = (struct plot_series){.title = marks[i].name,
		    .marks = true,
		    .n = marks[i].n,
		    .x = marks[i].intensity_flop_per_byte,
		    .y = marks[i].flop_per_s,
		    .names = marks[i].names};
	return p;
}

/* --- what a sheet holds ---------------------------------------------------------------------------------- */

/* The row of this name beside row i. */
static const struct row *
beside(const struct sheet *sh, int i, const char *name)
{
	const int parent = sheet_row(sh, i)->parent;

	for (int k = 0; k < sheet_size(sh); k++)
		if (sheet_row(sh, k)->parent == parent && strcmp(sheet_row(sh, k)->name, name) == 0)
			return sheet_row(sh, k);
	return NULL;
}

static double
value_beside(const struct sheet *sh, int i, const char *name)
{
	const struct row *row = beside(sh, i, name);

	return row ? row->value : NAN;
}

/* Points at the roof, as calibrated and as measured: from the times that stand beside an intensity. */
static const struct {
	const char *row, *name;
} timed[] = {{"roof_s", "roofline"}, {"calibrated_s", "calibrated"}, {"measured_s", "measured"}};

enum { N_TIMED = sizeof timed / sizeof *timed, N_MARKS_MOST = 500 };

static bool
near(double x, double y)
{
	return fabs(x - y) < 0.25 * y; /* as seen on a logarithmic axis */
}

/* Names at one place stand beside each other, not on top. */
static void
add_mark(struct arena *a, struct roof_marks *m, double intensity, double flop_per_s, const char *name)
{
	if (m->n == N_MARKS_MOST || !(intensity > 0) || !(flop_per_s > 0) || isinf(flop_per_s))
		return;
	for (size_t i = 0; m->names && name && i < m->n; i++)
		if (m->names[i] && near(intensity, m->intensity_flop_per_byte[i]) &&
		    near(flop_per_s, m->flop_per_s[i])) {
			m->names[i] = arena_printf(a, "%s, %s", m->names[i], name);
			name = NULL;
		}
	m->intensity_flop_per_byte[m->n] = intensity;
	m->flop_per_s[m->n] = flop_per_s;
	if (m->names)
		m->names[m->n] = name;
	m->n++;
}

/* An intensity alone has what is attainable beside it, and no times. */
static void
add_point(struct arena *a, const struct sheet *sh, int i, struct roof_marks *marks)
{
	const struct row *word = beside(sh, i, "name");
	const double intensity = sheet_row(sh, i)->value, work_flop = value_beside(sh, i, "work_flop");

	for (int t = 0; t < N_TIMED; t++) {
		const double time_s = value_beside(sh, i, timed[t].row);
		if (t == 0 && isnan(time_s))
			add_mark(a, &marks[t], intensity, value_beside(sh, i, "attainable_flop_per_s"), NULL);
		else
			add_mark(a, &marks[t], intensity, work_flop / time_s, word && t == 0 ? word->text : NULL);
	}
}

/* Machines whose peaks were not asked for: the table of ridge points; bf16, or what stands in for it. */
static double
peak_of(const struct machine *m)
{
	static const enum peak order[] = {PEAK_BF16, PEAK_FP16, PEAK_FP32, PEAK_FP64};

	if (m->peak.value > 0)
		return m->peak.value;
	for (size_t i = 0; i < sizeof order / sizeof *order; i++)
		if (datum_given(m->gpu->peak_flop_per_s[order[i]]))
			return m->gpu->peak_flop_per_s[order[i]].value;
	return NAN;
}

/* Of one machine without a type: every type that it has. */
static size_t
all_types(struct arena *a, const struct machine *m, struct roof_line *lines)
{
	size_t n = 0;

	for (int p = 0; p < N_PEAKS; p++)
		if (datum_given(m->gpu->peak_flop_per_s[p]) && !strstr(peak_name((enum peak)p), "_"))
			lines[n++] = (struct roof_line){arena_printf(a, "%s %s", m->gpu->id, peak_name((enum peak)p)),
			    m->gpu->peak_flop_per_s[p].value, m->gpu->mem_byte_per_s.value};
	return n;
}

const struct plot *
roof_plot_sheet(const struct roof *q)
{
	struct arena *a = q->run->arena;
	const struct sheet *sh = q->run->sheet;
	struct roof_line *lines = ARENA_ARRAY(a, struct roof_line, q->n + N_PEAKS);
	struct roof_marks marks[N_TIMED];
	size_t n_lines = 0, n_marks = 0;

	if (q->n == 1 && !(q->machines[0].peak.value > 0))
		n_lines = all_types(a, &q->machines[0], lines);
	for (size_t i = 0; i < q->n && (q->n > 1 || n_lines == 0); i++)
		if (!isnan(peak_of(&q->machines[i])))
			lines[n_lines++] = (struct roof_line){
			    q->machines[i].gpu->id, peak_of(&q->machines[i]), q->machines[i].gpu->mem_byte_per_s.value};
	for (int t = 0; t < N_TIMED; t++)
		marks[t] = (struct roof_marks){.name = timed[t].name,
		    .intensity_flop_per_byte = ARENA_ARRAY(a, double, N_MARKS_MOST),
		    .flop_per_s = ARENA_ARRAY(a, double, N_MARKS_MOST),
		    .names = t == 0 ? ARENA_ARRAY(a, const char *, N_MARKS_MOST) : NULL};
	for (int i = 0; i < sheet_size(sh); i++)
		if (strcmp(sheet_row(sh, i)->name, "intensity_flop_per_byte") == 0 &&
		    (sheet_row(sh, i)->label || beside(sh, i, "roof_s") || beside(sh, i, "attainable_flop_per_s")))
			add_point(a, sh, i, marks);
	for (int t = 0; t < N_TIMED; t++)
		if (marks[t].n)
			marks[n_marks++] = marks[t];
	return n_lines ? roof_plot(a, q->run->title ? q->run->title : "roofline", lines, n_lines, marks, n_marks)
	               : NULL;
}
