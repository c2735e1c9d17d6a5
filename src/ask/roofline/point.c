/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GPUs, peaks and memory levels of a roofline; ridge points, and the roofline of one kernel. */
#include "ask/roofline/roofline.h"

#include "model/collective/collective.h"

#include <math.h>
#include <string.h>

/* --- GPUs, peaks and memory levels ------------------------------------------------------------------------------- */

bool
roof_refuse(struct run *r, const char *what, const char *hint)
{
	diag_error(r->diag, (struct source){0}, "%s", what);
	diag_hint(r->diag, "%s", hint);
	return false;
}

bool
roof_machines(struct roof *q, const struct words *names, struct word backend)
{
	if (names->n == 0)
		return roof_refuse(q->run, "no GPU given", "add --gpu; 'ridge hw list' shows all");
	q->machines = ARENA_ARRAY(q->run->arena, struct machine, names->n);
	for (size_t i = 0; i < names->n; i++) {
		struct machine *m = &q->machines[i];
		m->gpu = run_gpu(q->run, names->list[i]);
		if (!m->gpu)
			continue;
		if (!datum_given(m->gpu->mem_byte_per_s)) {
			diag_error(q->run->diag, names->list[i].from,
			    "the memory bandwidth of %s is not in the database", m->gpu->id);
			continue;
		}
		roof_fits(q, m, backend);
		q->n++;
	}
	return q->n == names->n;
}

static bool
all_have(const struct roof *q, enum peak p)
{
	for (size_t i = 0; i < q->n; i++)
		if (!datum_given(q->machines[i].gpu->peak_flop_per_s[p]))
			return false;
	return true;
}

/* Nobody asked for a type: bf16, or fp16 where a GPU lacks it. */
bool
roof_peaks(struct roof *q, struct word dtype)
{
	const bool older = !all_have(q, PEAK_BF16) && all_have(q, PEAK_FP16);
	const struct word asked = dtype.text ? dtype : (struct word){older ? "fp16" : "bf16", {0}};
	bool ok = true;

	run_read_from(q->run, dtype.from);
	q->dtype = dtype_find(asked.text);
	if (!dtype.text)
		run_assume_as(
		    q->run, "dtype", asked.text, older ? "dtype %s: no bf16 on this GPU" : "dtype %s", asked.text);
	for (size_t i = 0; i < q->n; i++)
		ok = run_peak(q->run, q->machines[i].gpu, q->dtype, asked, &q->machines[i].peak) && ok;
	for (size_t i = 0; i < q->n; i++)
		q->machines[i].kernel = (struct kernel_machine){
		    q->machines[i].kernels, q->dtype, q->machines[i].peak, q->machines[i].gpu->mem_byte_per_s};
	return ok;
}

/* --- levels of the memory -------------------------------------------------------------------------------- */

/* Show one memory level: its bandwidth, and the intensity above which kernels are compute-bound from it. */
static void
show_level(
    struct sheet *sh, int i, const char *level, struct datum byte_per_s, double peak_flop_per_s, struct datum memory)
{
	SCOPE_I (sh, "levels", i) {
		TELL(sh, level, level);
		TAKE(sh, level_byte_per_s, byte_per_s);
		SHOW(sh, level_byte_per_s, byte_per_s);
		if (i > 0 && datum_given(byte_per_s) && datum_given(memory)) {
			TAKE(sh, memory_byte_per_s, memory);
			CALL(sh, memory_ratio, link_ratio(sh, level_byte_per_s, memory_byte_per_s));
		}
		if (!isnan(peak_flop_per_s)) {
			CALL(sh, level_ridge_flop_per_byte, ridge_point(sh, peak_flop_per_s, level_byte_per_s));
			SHOW(sh, level_ridge_flop_per_byte, ridge_flop_per_byte);
		}
	}
}

static struct datum
computed(double value)
{
	return (struct datum){value, {"unit counts", 0, 0, NULL, false}};
}

/* A measured L2 plateau only: the L2 rate of a GEMM fit is not a bandwidth of L2. */
static struct datum
l2_rate(const struct calibration *c)
{
	for (int i = 0; c && i < c->memory.n_levels; i++)
		if (strcmp(c->memory.level[i].name, "l2") == 0)
			return c->memory.level[i].byte_per_s;
	return datum_absent();
}

/* Show memory levels; figures without a source or calibration are left out. */
void
roof_show_levels(const struct roof *q, const struct machine *m, double peak_flop_per_s)
{
	struct sheet *sh = q->run->sheet;
	const struct gpu *gpu = m->gpu;
	const double port_byte = shared_port_byte(gpu->architecture);
	struct datum shared = datum_absent(), registers = datum_absent();

	if (datum_given(gpu->n_sms) && datum_given(gpu->clock_max_hertz)) {
		TAKE(sh, n_sms, gpu->n_sms);
		TAKE(sh, clock_hertz, gpu->clock_max_hertz);
		if (!isnan(port_byte)) {
			CALL(sh, shared_byte_per_s, shared_memory_rate(sh, n_sms, port_byte, clock_hertz));
			shared = computed(shared_byte_per_s);
		}
		if (datum_given(gpu->fp32_per_sm)) {
			TAKE(sh, fp32_per_sm, gpu->fp32_per_sm);
			CALL(sh, register_byte_per_s, register_rate(sh, n_sms, fp32_per_sm, clock_hertz));
			registers = computed(register_byte_per_s);
		}
	}
	show_level(
	    sh, 0, gpu->mem_type ? gpu->mem_type : "memory", gpu->mem_byte_per_s, peak_flop_per_s, gpu->mem_byte_per_s);
	if (datum_given(l2_rate(m->kernels)))
		show_level(sh, 1, "L2, as measured", l2_rate(m->kernels), peak_flop_per_s, gpu->mem_byte_per_s);
	if (datum_given(shared))
		show_level(sh, 2, "shared memory", shared, peak_flop_per_s, gpu->mem_byte_per_s);
	if (datum_given(registers))
		show_level(sh, 3, "registers, fp32 units", registers, peak_flop_per_s, gpu->mem_byte_per_s);
}

/* Show peaks computed from unit counts and clock next to the listed ones. */
void
roof_show_units(const struct roof *q, const struct gpu *gpu)
{
	struct sheet *sh = q->run->sheet;
	const struct datum clock =
	    datum_given(gpu->clock_tensor_hertz) ? gpu->clock_tensor_hertz : gpu->clock_max_hertz;

	if (!datum_given(gpu->n_sms) || !datum_given(clock))
		return;
	if (datum_given(gpu->tensor_fma_per_sm)) {
		CALL(sh, fp16_unit_flop_per_s,
		    unit_peak(sh, gpu->n_sms.value, gpu->tensor_fma_per_sm.value, clock.value));
		SHOW(sh, fp16_unit_flop_per_s, unit_fp16_flop_per_s);
	}
	if (datum_given(gpu->fp32_per_sm) && datum_given(gpu->clock_max_hertz)) {
		CALL(sh, fp32_unit_flop_per_s,
		    unit_peak(sh, gpu->n_sms.value, gpu->fp32_per_sm.value, gpu->clock_max_hertz.value));
		SHOW(sh, fp32_unit_flop_per_s, unit_fp32_flop_per_s);
	}
}

/* --- a measured time ------------------------------------------------------------------------------------- */

/* Faster than the machine: the work, the bytes or the time is wrong. */
enum answer
roof_show_measured(const struct roof *q, const struct machine *m, struct datum measured, double work_flop,
    double traffic_byte, double roof_s)
{
	struct sheet *sh = q->run->sheet;

	if (!datum_given(measured))
		return ANSWERED;
	TAKE(sh, measured_s, measured);
	CALL(sh, of_roof_frac, roofline_measured_frac(sh, roof_s, measured_s));
	CALL(sh, attained_frac, roofline_rate_frac(sh, work_flop, measured_s, m->peak.value));
	CALL(sh, moved_frac, roofline_traffic_frac(sh, traffic_byte, measured_s, m->gpu->mem_byte_per_s.value));
	SHOW(sh, measured_s, measured_s);
	SHOW(sh, attained_frac, measured_frac);
	SHOW(sh, moved_frac, measured_mem_frac);
	SHOW(sh, of_roof_frac, measured_roof_frac);
	const char *verdict = attained_frac > 1 ? "infeasible: above the compute peak"
	    : moved_frac > 1                    ? "infeasible: above the memory bandwidth"
	                                        : "feasible";
	TELL(sh, verdict, verdict);
	if (attained_frac <= 1 && moved_frac > 1)
		run_warn(q->run, "do not count bytes served by a cache as memory traffic");
	return attained_frac > 1 || moved_frac > 1 ? ANSWERED_NO : ANSWERED;
}

void
roof_show_place(struct sheet *sh, const struct point *p)
{
	SHOW(sh, ridge_flop_per_byte, ridge_flop_per_byte);
	TELL(sh, bottleneck, roofline_bound(p->intensity_flop_per_byte, p->ridge_flop_per_byte));
	SHOW(sh, attainable_flop_per_s, attainable_flop_per_s);
	SHOW(sh, of_peak_frac, peak_frac);
}

void
roof_show_gains(struct sheet *sh, const struct point *p)
{
	CALL(sh, bandwidth_gain, roofline_bandwidth_gain(sh, p->compute_s, p->memory_s));
	CALL(sh, arithmetic_gain, roofline_arithmetic_gain(sh, p->compute_s, p->memory_s));
	if (bandwidth_gain > 1 && !isinf(bandwidth_gain))
		SHOW(sh, bandwidth_gain, memory_gain);
	if (arithmetic_gain > 1)
		SHOW(sh, arithmetic_gain, compute_gain);
}

/* Matrix units read 16 bytes at a time along n and k; NULL: both are whole multiples of that. */
static const char *
misaligned(struct sheet *sh, const struct op *op)
{
	const double elem_byte = floor(4 * op->elem_byte) / 4; /* without the scales of blocks */

	CALL(sh, n_left_over, alignment_left_over(sh, op->dim[1], elem_byte));
	CALL(sh, k_left_over, alignment_left_over(sh, op->dim[2], elem_byte));
	return n_left_over > 0 ? (k_left_over > 0 ? "n and k" : "n") : k_left_over > 0 ? "k" : NULL;
}

void
roof_show_alignment(const struct roof *q, const struct machine *m, const struct op *op)
{
	struct run *r = q->run;

	if (op->kind != OP_gemm)
		return;
	const char *which = misaligned(r->sheet, op);
	TELL(r->sheet, alignment, which ? arena_printf(r->arena, "no: %s", which) : "yes");
	if (which && kernel_of(&m->kernel, op) == KERNEL_PRODUCT)
		run_warn(r, "calibrated for aligned GEMMs: pad %s, or the GEMM takes longer", which);
}

/* Gates of one column are products too, of no time to speak of. */
static bool
matters(const struct machine *m, const struct op *op, double list_s)
{
	return roofline_op(NULL, op, m->peak.value, m->gpu->mem_byte_per_s.value) > 0.01 * list_s;
}

void
roof_warn_alignment(const struct roof *q, const struct machine *m, const struct op *ops, int n, double list_s)
{
	const char *names = NULL;

	for (int i = 0; i < n; i++)
		if (ops[i].kind == OP_gemm && kernel_of(&m->kernel, &ops[i]) == KERNEL_PRODUCT &&
		    misaligned(NULL, &ops[i]) && matters(m, &ops[i], list_s) && (!names || !strstr(names, ops[i].name)))
			names = names ? arena_printf(q->run->arena, "%s, %s", names, ops[i].name) : ops[i].name;
	if (names)
		run_warn(q->run, "calibrated for GEMMs with n and k multiples of 16 bytes, unlike: %s", names);
}

/* --- ridge points ------------------------------------------------------------------------------------------------ */

/* --- ridge points ---------------------------------------------------------------------------------------- */

/* One column per type that any of the GPUs has. */
#define RIDGES(X)                                                                                                      \
	X(FP64, fp64)                                                                                                  \
	X(FP32, fp32)                                                                                                  \
	X(TF32, tf32)                                                                                                  \
	X(FP16, fp16)                                                                                                  \
	X(BF16, bf16)                                                                                                  \
	X(FP8, fp8)                                                                                                    \
	X(INT8, int8)                                                                                                  \
	X(FP4, fp4)

static bool
wanted(const struct roof *q, const struct roofline_in *in, enum peak p)
{
	if (in->dtype.text && dtype_peak(q->dtype) != p)
		return false;
	for (size_t i = 0; i < q->n; i++)
		if (datum_given(q->machines[i].gpu->peak_flop_per_s[p]))
			return true;
	return false;
}

static void
show_ridges(const struct roof *q, const struct roofline_in *in, const struct gpu *gpu)
{
	struct sheet *sh = q->run->sheet;

	TELL(sh, gpu, gpu->id);
	TAKE(sh, mem_byte_per_s, gpu->mem_byte_per_s);
	SHOW(sh, mem_byte_per_s, mem_byte_per_s);
#define X(id, text)                                                                                                    \
	if (wanted(q, in, PEAK_##id)) {                                                                                \
		TAKE(sh, text##_flop_per_s, gpu->peak_flop_per_s[PEAK_##id]);                                          \
		CALL(sh, text##_ridge_flop_per_byte, ridge_point(sh, text##_flop_per_s, mem_byte_per_s));              \
		SHOW(sh, text##_ridge_flop_per_byte, text##_ridge_flop_per_byte);                                      \
	}
	RIDGES(X)
#undef X
}

enum answer
roof_ridges(struct roof *q, const struct roofline_in *in)
{
	struct sheet *sh = q->run->sheet;

	if (in->dtype.text && !roof_peaks(q, in->dtype))
		return REFUSED;
	q->run->title = "ridge points: intensity above which compute is the limit";
	for (size_t i = 0; i < q->n; i++)
		SCOPE_I (sh, "gpus", i)
			show_ridges(q, in, q->machines[i].gpu);
	if (q->n == 1) {
		roof_show_units(q, q->machines[0].gpu);
		roof_show_levels(q, &q->machines[0], in->dtype.text ? q->machines[0].peak.value : NAN);
	}
	return ANSWERED;
}

/* --- one point ------------------------------------------------------------------------------------------- */

/* Several machines: a line each.  The scope above holds work_flop and traffic_byte. */
static enum answer
compare_point(const struct roof *q, double work_flop, double traffic_byte, const struct op *op)
{
	struct sheet *sh = q->run->sheet;

	for (size_t i = 0; i < q->n; i++)
		SCOPE_I (sh, "gpus", i) {
			const struct machine *m = &q->machines[i];
			TELL(sh, gpu, m->gpu->id);
			TAKE(sh, peak_flop_per_s, m->peak);
			TAKE(sh, mem_byte_per_s, m->gpu->mem_byte_per_s);
			const struct point p =
			    roofline_point(sh, work_flop, traffic_byte, peak_flop_per_s, mem_byte_per_s);
			roof_show_place(sh, &p);
			SHOW(sh, roof_s, roof_s);
			if (op)
				roof_show_calibrated(q, m, op, p.roof_s, false);
		}
	return ANSWERED;
}

static enum answer
one_point(
    const struct roof *q, const struct roofline_in *in, double work_flop, double traffic_byte, const struct op *op)
{
	struct sheet *sh = q->run->sheet;
	const struct machine *m = &q->machines[0];

	SHOW(sh, work_flop, work_flop);
	SHOW(sh, traffic_byte, traffic_byte);
	if (q->n > 1) {
		if (datum_given(in->time)) {
			roof_refuse(q->run, "--time needs a single GPU", "give one --gpu");
			return REFUSED;
		}
		return compare_point(q, work_flop, traffic_byte, op);
	}
	TAKE(sh, peak_flop_per_s, m->peak);
	TAKE(sh, mem_byte_per_s, m->gpu->mem_byte_per_s);
	const struct point p = roofline_point(sh, work_flop, traffic_byte, peak_flop_per_s, mem_byte_per_s);
	SHOW(sh, intensity_flop_per_byte, intensity_flop_per_byte);
	roof_show_place(sh, &p);
	SHOW(sh, roof_s, roof_s);
	roof_show_gains(sh, &p);
	if (op) {
		roof_show_alignment(q, m, op);
		roof_show_calibrated(q, m, op, p.roof_s, true);
	}
	const enum answer answer = roof_show_measured(q, m, in->time, work_flop, traffic_byte, p.roof_s);
	roof_show_levels(q, m, peak_flop_per_s);
	return answer;
}

enum answer
roof_bare_point(struct roof *q, const struct roofline_in *in)
{
	struct sheet *sh = q->run->sheet;

	if (!datum_given(in->flops) || !datum_given(in->bytes) || !(in->bytes.value > 0)) {
		roof_refuse(q->run, "a kernel needs both --flops and --bytes, and bytes above 0",
		    "for FLOP per byte alone, use --intensity");
		return REFUSED;
	}
	if (!roof_peaks(q, in->dtype))
		return REFUSED;
	q->run->title = arena_printf(q->run->arena, "a kernel in %s%s%s", dtype_name(q->dtype), q->n == 1 ? " on " : "",
	    q->n == 1 ? q->machines[0].gpu->name : "");
	TAKE(sh, work_flop, in->flops);
	TAKE(sh, traffic_byte, in->bytes);
	return one_point(q, in, work_flop, traffic_byte, NULL);
}

static void
intensity_line(const struct roof *q, const struct machine *m, double intensity_flop_per_byte)
{
	struct sheet *sh = q->run->sheet;

	TAKE(sh, peak_flop_per_s, m->peak);
	TAKE(sh, mem_byte_per_s, m->gpu->mem_byte_per_s);
	const struct point p = roofline_place(sh, intensity_flop_per_byte, peak_flop_per_s, mem_byte_per_s);
	roof_show_place(sh, &p);
}

enum answer
roof_bare_intensity(struct roof *q, const struct roofline_in *in)
{
	struct sheet *sh = q->run->sheet;

	if (!roof_peaks(q, in->dtype))
		return REFUSED;
	TAKE(sh, intensity_flop_per_byte, in->intensity);
	SHOW(sh, intensity_flop_per_byte, intensity_flop_per_byte);
	if (q->n == 1) {
		q->run->title = arena_printf(q->run->arena, "%s on %s", dtype_name(q->dtype), q->machines[0].gpu->name);
		intensity_line(q, &q->machines[0], intensity_flop_per_byte);
		return ANSWERED;
	}
	for (size_t i = 0; i < q->n; i++)
		SCOPE_I (sh, "gpus", i) {
			TELL(sh, gpu, q->machines[i].gpu->id);
			intensity_line(q, &q->machines[i], intensity_flop_per_byte);
		}
	return ANSWERED;
}

static const char *
dimensions_text(struct arena *a, const struct op *op)
{
	const char *text = op->name;

	for (int i = 0; op_dim_name((enum op_kind)op->kind, i); i++)
		text = arena_printf(
		    a, "%s%s%s %g", text, i ? ", " : " ", op_dim_name((enum op_kind)op->kind, i), op->dim[i]);
	return text;
}

enum answer
roof_operator(struct roof *q, const struct roofline_in *in, enum op_kind kind, const struct op_in *dims)
{
	struct op op;

	if (!roof_peaks(q, in->dtype) || !run_op(q->run, kind, dims, dtype_byte(q->dtype), &op))
		return REFUSED;
	q->run->title = arena_printf(q->run->arena, "%s in %s%s%s", dimensions_text(q->run->arena, &op),
	    dtype_name(q->dtype), q->n == 1 ? " on " : "", q->n == 1 ? q->machines[0].gpu->name : "");
	const struct cost c = op_cost(q->run->sheet, &op);
	return one_point(q, in, c.work_flop, c.traffic_byte, &op);
}

/* --- plot ---------------------------------------------------------------------------------------------------- */

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

/* The row of this name in the scope of row i. */
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

/* Points of the drawing: roofline, estimated and measured, from the times in the scope of an intensity. */
static const struct {
	const char *row, *name;
} timed[] = {{"roof_s", "roofline"}, {"calibrated_s", "calibrated"}, {"measured_s", "measured"}};

enum { N_TIMED = sizeof timed / sizeof *timed, N_MARKS_MOST = 500 };

static bool
near(double x, double y)
{
	return fabs(x - y) < 0.25 * y; /* as seen on a logarithmic axis */
}

/* Put names of coinciding points next to each other. */
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

/* A bare intensity has its attainable performance, and no times. */
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

/* Table of ridge points for GPUs without a dtype; bf16, or its substitute. */
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
