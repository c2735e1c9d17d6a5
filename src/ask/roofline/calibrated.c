/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Estimate operators and lists with calibrated kernels, with intervals. */
#include "ask/roofline/roofline.h"

#include "ask/bind/bind.h"
#include "import/import.h"
#include "model/kernel/kernel.h"
#include "model/layer/layer.h"
#include "search/fit/fit.h"
#include "search/stats/stats.h"

#include <math.h>
#include <string.h>

/* --- what was fitted ------------------------------------------------------------------------------------- */

void
roof_fits(const struct roof *q, struct machine *m, struct word backend)
{
	struct run *r = q->run;

	m->one_engine = backend.text;
	m->calibration = run_calibration(r, m->gpu->id, NULL);
	m->engine = backend.text ? run_calibration(r, m->gpu->id, backend.text) : NULL;
	m->kernels = bind_kernels(r, m->gpu, NULL, KERNELS_ROOFLINE, backend.text);
	if (backend.text && m->calibration && !m->engine)
		run_warn(r, "no %s calibration for %s; using other backends", backend.text, m->gpu->id);
	if (m->kernels && m->kernels->transferred_from &&
	    (gemm_calibrated(m->kernels, DTYPE_BF16) || gemm_calibrated(m->kernels, DTYPE_FP16)))
		run_assume(r, "kernels of %s %s", m->gpu->id, m->kernels->transfer_note);
}

/* Origin of a GEMM fit: the engine, the median, or another GPU. */
static const struct calibration *
product_fit(const struct machine *m, enum dtype t)
{
	if (gemm_calibrated(m->engine, t))
		return m->engine;
	return gemm_calibrated(m->calibration, t) ? m->calibration : m->kernels;
}

/* --- errors ---------------------------------------------------------------------------------------------- */

/* The row that a benchmark of this operator would write. */
static struct measurement
as_measured(const struct machine *m, enum kernel_kind kind, const struct op *op)
{
	const enum dtype t = m->kernel.dtype == DTYPE_FP16 ? DTYPE_BF16 : m->kernel.dtype; /* files say bf16 */
	struct measurement out = {.dtype = t, .kv_dtype = t, .weight_dtype = t, .window = NAN, .tp = NAN, .ep = NAN};

	if (kind == KERNEL_PRODUCT) {
		out.kind = MEASUREMENT_GEMM;
		out.m = op->kind == OP_gemv ? 1
		    : op->kind == OP_conv2d ? op->dim[0] * op->dim[2] * op->dim[3]
		                            : op->dim[0];
		out.n = op->kind == OP_gemv ? op->dim[0] : op->kind == OP_conv2d ? op->dim[4] : op->dim[1];
		out.k = op->kind == OP_gemv || op->kind == OP_conv2d ? op->dim[1] : op->dim[2];
	} else if (kind == KERNEL_EXPERTS)
		out.kind = MEASUREMENT_MOE;
	else {
		const struct attention_shape a = kernel_attention_shape(op);
		out.kind = MEASUREMENT_ATTENTION;
		out.operation = kind == KERNEL_CONTEXT ? "prefill" : "decode";
		out.batch = a.batch;
		out.heads = a.n_heads;
		out.kv_heads = a.n_kv_heads;
		out.head_dim = a.head_dim;
		out.query_len = a.query_token;
		out.context_len = a.context_token;
		out.window = a.window_token;
	}
	return out;
}

static void
attention_errors(const struct roof *q, const struct machine *m, enum kernel_kind kind, const struct op *op,
    double time_s, struct error_source *s)
{
	const struct measurement like = as_measured(m, kind, op);
	char name[64];

	s->kind = "attention";
	/* an encoder sees more tiles than those that were fitted */
	if (predict_is_fitted(&like, m->kernels) && !kernel_attention_shape(op).unmasked &&
	    !kernel_is_latent(&m->kernel, op)) {
		s->residual = arena_text(q->run->arena, predict_residual(&like, name, sizeof name));
		s->regime = predict_regime(&like, time_s);
	}
	s->transfer_sigma =
	    kind == KERNEL_CONTEXT ? m->kernels->transfer_sigma.context : m->kernels->transfer_sigma.generation;
	s->n = 3;
	s->at[0].dim = "batch", s->at[0].value = like.batch;
	s->at[1].dim = "context", s->at[1].value = fmax(1, like.context_len);
	s->at[2].dim = "query", s->at[2].value = like.query_len;
}

static void
product_errors(const struct roof *q, const struct machine *m, const struct op *op, struct error_source *s)
{
	const struct measurement like = as_measured(m, KERNEL_PRODUCT, op);
	char name[64];

	s->fit = product_fit(m, m->kernel.dtype);
	s->kind = "gemm";
	s->residual = arena_text(q->run->arena, predict_residual(&like, name, sizeof name));
	s->regime = predict_regime(&like, NAN);
	s->one_engine = m->one_engine && s->fit == m->calibration;
	s->transfer_sigma = m->kernels->transfer_sigma.gemm;
	s->n = 3;
	s->at[0].dim = "m", s->at[0].value = like.m;
	s->at[1].dim = "n", s->at[1].value = like.n;
	s->at[2].dim = "k", s->at[2].value = like.k;
}

static bool
errors_of(const struct roof *q, const struct machine *m, const struct op *op, double time_s, struct error_terms *out,
    const char **why)
{
	const enum kernel_kind kind = kernel_of(&m->kernel, op);
	struct error_source s = {.fit = m->kernels};
	char name[64];

	switch (kind) {
	case KERNEL_PRODUCT:
		product_errors(q, m, op, &s);
		break;
	case KERNEL_EXPERTS: {
		const struct measurement like = as_measured(m, kind, op);
		s.residual = arena_text(q->run->arena, predict_residual(&like, name, sizeof name));
	} /* fall through */
	case KERNEL_BATCHED:
		s.kind = "moe";
		s.transfer_sigma = m->kernels->transfer_sigma.moe;
		break;
	case KERNEL_CONTEXT:
	case KERNEL_GENERATION:
		attention_errors(q, m, kind, op, time_s, &s);
		break;
	case KERNEL_DELTA:
		s.kind = "delta";
		break;
	case KERNEL_STREAM:
		s.kind = "elementwise";
		break;
	default:
		return false;
	}
	return run_errors(q->run, &s, out, why);
}

/* --- one operator ---------------------------------------------------------------------------------------- */

/* A narrow product that the fit makes slower than the same in 16 bits. */
static void
warn_narrow(const struct roof *q, const struct machine *m, const struct op *op, double calibrated_s)
{
	const struct kernel_machine wide = {
	    m->kernels, DTYPE_BF16, m->gpu->peak_flop_per_s[PEAK_BF16], m->gpu->mem_byte_per_s};
	struct op half = *op;

	half.elem_byte = dtype_byte(DTYPE_BF16);
	if (op->elem_byte < half.elem_byte && kernel_of(&m->kernel, op) == KERNEL_PRODUCT &&
	    gemm_calibrated(m->kernels, DTYPE_BF16) && kernel_op_time(NULL, &wide, &half) < calibrated_s)
		run_warn(q->run, "on %s, this GEMM is measured slower in %s than in bf16",
		    m->kernels->transferred_from ? m->kernels->transferred_from : m->gpu->id,
		    dtype_name(m->kernel.dtype));
}

void
roof_show_calibrated(const struct roof *q, const struct machine *m, const struct op *op, double roof_s, bool alone)
{
	struct sheet *sh = q->run->sheet;
	struct error_terms e;
	const char *why;

	if (kernel_of(&m->kernel, op) == KERNEL_NONE) {
		if (alone)
			TELL(sh, kernel,
			    m->kernels ? "no calibration of this kernel and dtype" : "no calibration of this GPU");
		return;
	}
	CALL(sh, calibrated_s, kernel_op_time(sh, &m->kernel, op));
	SHOW(sh, calibrated_s, kernel_s);
	if (errors_of(q, m, op, calibrated_s, &e, &why)) {
		const struct interval i = interval_of(calibrated_s, &e, why);
		BETWEEN(sh, calibrated_s, i.low, i.high, i.why);
	}
	if (!alone)
		return;
	CALL(sh, calibrated_roof_frac, roofline_measured_frac(sh, roof_s, calibrated_s));
	SHOW(sh, calibrated_roof_frac, roof_frac);
	TELL_HIDDEN(sh, kernel, kernel_kind_name(kernel_of(&m->kernel, op)));
	warn_narrow(q, m, op, calibrated_s);
}

/* --- a list ---------------------------------------------------------------------------------------------- */

struct sum {
	struct error_terms errors; /* a class for each kind of kernel */
	const char *why;
	const char *without; /* names of what stands at its roof */
};

static const char *
joined(struct run *r, const char *list, const char *word, const char *between)
{
	if (list && strstr(list, word))
		return list;
	return list ? arena_printf(r->arena, "%s%s%s", list, between, word) : word;
}

/* Each part of `transferred from ...; extrapolated: ...` once. */
static const char *
joined_why(struct run *r, const char *list, const char *why)
{
	const char *cut = strstr(why, "; ");

	if (!cut)
		return joined(r, list, why, "; ");
	return joined(r, joined(r, list, arena_copy(r->arena, why, (size_t)(cut - why)), "; "), cut + 2, "; ");
}

/* Errors of one kind of kernel are the same ones: they add.  Those of transfer and reach are taken so too. */
static void
add_errors(const struct roof *q, struct sum *s, enum kernel_kind kind, const struct error_terms *e, const char *why,
    double share_frac)
{
	struct error_class *c = &s->errors.classes[kind];

	c->share_frac = 1;
	c->q10 += share_frac * e->classes[0].q10;
	c->q90 += share_frac * e->classes[0].q90;
	s->errors.stack_sigma += share_frac * e->stack_sigma;
	s->errors.transfer_sigma += share_frac * e->transfer_sigma;
	s->errors.reach += share_frac * e->reach * e->reach_sigma;
	if (strcmp(why, "calibrated") != 0)
		s->why = joined_why(q->run, s->why, why);
}

static void
sum_errors(const struct roof *q, const struct machine *m, const struct op *ops, int n, double whole_s, struct sum *s)
{
	*s = (struct sum){.errors = {.n = N_KERNEL_KINDS, .reach_sigma = 1, .widening = 1}};
	for (int i = 0; i < n; i++) {
		const enum kernel_kind kind = kernel_of(&m->kernel, &ops[i]);
		const double once_s = kernel_op_time(NULL, &m->kernel, &ops[i]);
		struct error_terms e;
		const char *why;
		if (kernel_inside_experts(&m->kernel, ops, n, i))
			continue;
		if (kind == KERNEL_NONE)
			s->without = joined(q->run, s->without, ops[i].name, ", ");
		else if (errors_of(q, m, &ops[i], once_s, &e, &why))
			add_errors(q, s, kind, &e, why, roofline_share(NULL, ops[i].count * once_s, whole_s));
	}
}

void
roof_show_calibrated_list(const struct roof *q, const struct machine *m, const struct op *ops, int n, double list_s)
{
	struct sheet *sh = q->run->sheet;
	struct sum s;
	int n_fitted = 0;

	for (int i = 0; i < n; i++)
		n_fitted += kernel_of(&m->kernel, &ops[i]) != KERNEL_NONE;
	if (n_fitted == 0)
		return;
	SUM(sh, calibrated_list_s, i, n, kernel_list_time(sh, &m->kernel, ops, n, i));
	SHOW(sh, calibrated_list_s, list_kernel_s);
	sum_errors(q, m, ops, n, calibrated_list_s, &s);
	const struct interval i = interval_of(calibrated_list_s, &s.errors, s.why ? s.why : "calibrated");
	BETWEEN(sh, calibrated_list_s, i.low, i.high, i.why);
	CALL(sh, calibrated_roof_frac, roofline_measured_frac(sh, list_s, calibrated_list_s));
	SHOW(sh, calibrated_roof_frac, roof_frac);
	if (s.without)
		run_warn(q->run, "no calibration on %s for: %s; they count at roofline time in the calibrated sum",
		    m->gpu->id, s.without);
}

/* --- measured ------------------------------------------------------------------------------------------------ */

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

/* Bytes of a measured kernel: operands and result of a GEMM once, the profiler's count, or a copy's own. */
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
