/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ask/roofline/roofline.h"

#include "import/import.h"
#include "model/layer/layer.h"
#include "search/stats/stats.h"

#include <math.h>
#include <string.h>

enum { GROUPS_MOST = 40, DRAWN_MOST = 4000 };

/* Rows of one kind and type. */
struct group {
	const char *name;
	enum measurement_kind kind;
	enum dtype dtype;
	int n;
	double *roof_frac;        /* of each row: the roof over what was measured */
	double *intensity, *rate; /* FLOP per byte and per second; a copy has its bytes per second alone */
	double best_flop_per_s, best_byte_per_s;
};

struct groups {
	struct run *run;
	const struct gpu *gpu;
	int n, room; /* rows of the file */
	struct group list[GROUPS_MOST];
	int n_elsewhere, n_other; /* of another GPU; of kinds that have no place under a roof */
};

/* --- one row --------------------------------------------------------------------------------------------- */

/* What is counted: a product's operands and result once each; what a profiler saw; a copy's own bytes. */
static bool
work_of(const struct measurement *row, struct cost *out)
{
	if (row->kind == MEASUREMENT_GEMM && row->weight_dtype == row->dtype) {
		const struct op op = {
		    .kind = OP_gemm, .dim = {row->m, row->n, row->k}, .elem_byte = dtype_byte(row->dtype)};
		*out = op_cost(NULL, &op);
		return true;
	}
	if (row->kind == MEASUREMENT_KERNEL && row->flop > 0 && row->size_byte > 0) {
		*out = (struct cost){.work_flop = row->flop, .traffic_byte = row->size_byte};
		return true;
	}
	return false;
}

static double
peak_of(const struct gpu *gpu, enum dtype t)
{
	static const enum peak order[] = {PEAK_BF16, PEAK_FP16, PEAK_FP32};

	if (t != DTYPE_NONE)
		return datum_or(gpu->peak_flop_per_s[dtype_peak(t)], NAN);
	for (size_t i = 0; i < sizeof order / sizeof *order; i++)
		if (datum_given(gpu->peak_flop_per_s[order[i]]))
			return gpu->peak_flop_per_s[order[i]].value;
	return NAN;
}

static struct group *
group_of(struct groups *g, const struct measurement *row)
{
	const char *name = row->kind == MEASUREMENT_COPY
	    ? arena_printf(g->run->arena, "copy %s", row->operation)
	    : arena_printf(g->run->arena, "%s%s%s", measurement_kind_name(row->kind), row->dtype_text ? " " : "",
	          row->dtype_text ? row->dtype_text : "");

	for (int i = 0; i < g->n; i++)
		if (strcmp(g->list[i].name, name) == 0)
			return &g->list[i];
	if (g->n == GROUPS_MOST)
		return NULL;
	g->list[g->n] = (struct group){.name = name,
	    .kind = row->kind,
	    .dtype = row->kind == MEASUREMENT_COPY ? DTYPE_NONE : row->dtype,
	    .roof_frac = ARENA_ARRAY(g->run->arena, double, g->room),
	    .intensity = ARENA_ARRAY(g->run->arena, double, g->room),
	    .rate = ARENA_ARRAY(g->run->arena, double, g->room)};
	return &g->list[g->n++];
}

static void
add_copy(struct groups *g, const struct measurement *row)
{
	struct group *to = group_of(g, row);

	if (!to)
		return;
	const double byte_per_s = row->byte_per_s;
	to->roof_frac[to->n] = roofline_traffic_frac(NULL, byte_per_s, 1, g->gpu->mem_byte_per_s.value);
	to->intensity[to->n] = to->rate[to->n] = NAN;
	to->best_byte_per_s = fmax(to->best_byte_per_s, byte_per_s);
	to->n++;
}

static void
add_row(struct groups *g, const struct measurement *row)
{
	struct cost c = {0, 0};

	if (row->gpu && strcmp(row->gpu, g->gpu->id) != 0) {
		g->n_elsewhere++;
		return;
	}
	if (row->kind == MEASUREMENT_COPY && row->byte_per_s > 0) {
		add_copy(g, row);
		return;
	}
	struct group *to = work_of(row, &c) ? group_of(g, row) : NULL;
	const double peak = peak_of(g->gpu, row->dtype);
	if (!to || isnan(peak)) {
		g->n_other++;
		return;
	}
	const struct point p = roofline_point(NULL, c.work_flop, c.traffic_byte, peak, g->gpu->mem_byte_per_s.value);
	to->roof_frac[to->n] = roofline_measured_frac(NULL, p.roof_s, row->time_s);
	to->intensity[to->n] = p.intensity_flop_per_byte;
	to->rate[to->n] = roofline_rate_frac(NULL, c.work_flop, row->time_s, 1);
	to->best_flop_per_s = fmax(to->best_flop_per_s, to->rate[to->n]);
	to->n++;
}

/* --- the answer ------------------------------------------------------------------------------------------ */

static void
show_group(struct sheet *sh, const struct group *group)
{
	double best = 0;

	for (int i = 0; i < group->n; i++)
		best = fmax(best, group->roof_frac[i]);
	TELL(sh, group, group->name);
	TAKE(sh, n_points, (double)group->n);
	SHOW(sh, n_points, n_points);
	TAKE(sh, median_roof_frac, rank_median(group->roof_frac, (size_t)group->n));
	SHOW(sh, median_roof_frac, median_roof_frac);
	TAKE(sh, best_roof_frac, best);
	SHOW(sh, best_roof_frac, best_roof_frac);
	TAKE(sh, best_flop_per_s, group->best_flop_per_s > 0 ? group->best_flop_per_s : NAN);
	SHOW(sh, best_flop_per_s, best_flop_per_s);
	TAKE(sh, best_byte_per_s, group->best_byte_per_s > 0 ? group->best_byte_per_s : NAN);
	SHOW(sh, best_byte_per_s, best_byte_per_s);
}

/* Some thousand points draw the same cloud as all of them. */
static struct roof_marks
marks_of(struct arena *a, const struct group *group)
{
	const int step = 1 + (group->n - 1) / DRAWN_MOST;
	struct roof_marks m = {.name = group->name,
	    .intensity_flop_per_byte = ARENA_ARRAY(a, double, group->n),
	    .flop_per_s = ARENA_ARRAY(a, double, group->n)};

	for (int i = 0; i < group->n; i += step) {
		m.intensity_flop_per_byte[m.n] = group->intensity[i];
		m.flop_per_s[m.n++] = group->rate[i];
	}
	return m;
}

/* The roof of each type, and the roof that copies reached in place of the datasheet's bandwidth. */
static const struct plot *
plot_of(const struct groups *g)
{
	struct arena *a = g->run->arena;
	struct roof_line lines[2 * GROUPS_MOST + 1];
	struct roof_marks marks[GROUPS_MOST];
	size_t n_lines = 0, n_marks = 0;
	double copy_byte_per_s = 0, most = 0;

	for (int i = 0; i < g->n; i++) {
		const struct group *group = &g->list[i];
		if (group->kind == MEASUREMENT_COPY) {
			copy_byte_per_s = fmax(copy_byte_per_s, group->best_byte_per_s);
			continue;
		}
		const double peak = peak_of(g->gpu, group->dtype);
		bool drawn = false;
		for (size_t k = 0; k < n_lines && !drawn; k++)
			drawn = lines[k].peak_flop_per_s == peak;
		if (!drawn)
			lines[n_lines++] = (struct roof_line){
			    group->dtype == DTYPE_NONE ? g->gpu->id : peak_name(dtype_peak(group->dtype)), peak,
			    g->gpu->mem_byte_per_s.value};
		most = fmax(most, peak);
		marks[n_marks++] = marks_of(a, group);
	}
	if (most == 0)
		most = peak_of(g->gpu, DTYPE_NONE);
	if (n_lines == 0)
		lines[n_lines++] = (struct roof_line){g->gpu->id, most, g->gpu->mem_byte_per_s.value};
	if (copy_byte_per_s > 0)
		lines[n_lines++] = (struct roof_line){"with copy bandwidth", most, copy_byte_per_s};
	return isnan(most) ? NULL : roof_plot(a, g->run->title, lines, n_lines, marks, n_marks);
}

enum answer
roof_measurements(struct roof *q, struct word file)
{
	struct run *r = q->run;
	struct groups *g = ARENA_NEW(r->arena, struct groups);
	struct measurements m;

	g->run = r;
	g->gpu = q->machines[0].gpu;
	if (!measurements_read(r->arena, r->diag, file.text, r->database, &m))
		return REFUSED;
	g->room = m.n_rows;
	for (int i = 0; i < m.n_skips; i++)
		run_warn(r, "%s: %s", m.file, measurements_skip_text(r->arena, &m, i));
	for (int i = 0; i < m.n_rows; i++)
		add_row(g, &m.rows[i]);
	if (g->n == 0) {
		diag_error(
		    r->diag, file.from, "no row of %s can be compared with the roofline of %s", m.file, g->gpu->id);
		diag_hint(r->diag, "give rows of GEMMs, copies or profiled kernels on this GPU");
		return REFUSED;
	}
	if (g->n_elsewhere)
		run_warn(r, "%d rows are from other GPUs", g->n_elsewhere);
	if (g->n_other)
		run_warn(r, "%d rows skipped: no GEMM, copy or profiled kernel", g->n_other);
	r->title = arena_printf(r->arena, "measured on %s, against its roofline", g->gpu->name);
	for (int i = 0; i < g->n; i++)
		SCOPE_I (r->sheet, "measured", i)
			show_group(r->sheet, &g->list[i]);
	if (r->draws)
		r->plot = plot_of(g);
	return ANSWERED;
}
