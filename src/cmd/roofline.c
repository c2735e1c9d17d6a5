/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge roofline: compute- or memory-bound, how far from the roof, and what more bandwidth or arithmetic would buy. */
#include "ridge/roofline.h"
#include "base/text.h"
#include "cli/op_in.h"
#include "cli/shape.h"
#include "ridge/expand.h"
#include "ridge/kernel_gemm.h"

#include <string.h>

#define ROOF_TYPES "fp64|fp32|tf32|fp16|bf16|fp8|fp8-block|mxfp8|int8|fp6|fp4|mxfp4|nvfp4|int4"
#define ROOFLINE_OPTIONS(X)                                                                                            \
	X(0, op, NULL, "op", WORD, "WHAT", "model", NULL, "an operator, layer, sharing, or a model")                   \
	X('g', gpu, "gpu", "gpu", WORDS, "NAME,...", "gpu", NULL, "one GPU, or several to compare")                    \
	X(0, dtype, "dtype", "dtype", CHOICE, "TYPE", ROOF_TYPES, NULL, "type of the operands (default bf16)")         \
	X(0, flops, "flops", "flops", WORK, "WORK", "", NULL, "arithmetic of a kernel: 1.2TFLOP")                      \
	X(0, bytes, "bytes", "bytes", SIZE, "SIZE", "", NULL, "bytes it moves to and from memory")                     \
	X(0, time, "time", "time", TIME, "TIME", "", NULL, "how long it was measured to take")                         \
	X(0, intensity, "intensity", "intensity", DENSITY, "DENSITY", "", NULL, "FLOP for each byte: 2FLOP/B")         \
	X('b', batch, "batch", "batch", COUNT, "N", "", "1", "sequences, or images")                                   \
	X('s', seq, "seq", "seq", COUNT, "N", "", NULL,                                                                \
	    "tokens of a sequence (default 2048, or what the model holds)")                                            \
	X(0, cached, "cached", "cached", COUNT, "N", "", "0", "prefill: tokens before them that are in the cache")     \
	X(0, phase, "phase", "phase", CHOICE, "PHASE", "prefill|decode|train", "prefill",                              \
	    "all tokens at once, the next one after --seq, or the forward pass of training")                           \
	X(0, unfused, "unfused", "unfused", FLAG, "", "", NULL, "attention scores and fp32 norms go to memory")        \
	X(0, hidden, "hidden", "hidden", COUNT, "N", "", NULL, "layer: width of the residual stream")                  \
	X(0, heads, "heads", "heads", COUNT, "N", "", NULL, "layer: query heads (default: one, as wide as the layer)") \
	X(0, kv_heads, "kv-heads", "kv_heads", COUNT, "N", "", NULL, "layer: key and value heads (default: --heads)")  \
	X(0, mlp_width, "mlp-width", "mlp_width", COUNT, "N", "", NULL, "layer: inner width (default 4 x --hidden)")   \
	X(0, gated, "gated", "gated", FLAG, "", "", NULL, "layer: the MLP has a gate")                                 \
	X(0, encoder, "encoder", "encoder", WORK, "WORK", "", NULL, "sharing: one encoder on one image")               \
	X(0, cameras, "cameras", "cameras", COUNT, "N", "", NULL, "sharing: images of a frame")                        \
	X(0, tasks, "tasks", "tasks", COUNT, "N", "", NULL, "sharing: tasks that need the features")                   \
	X(0, head, "head", "head", WORK, "WORK", "", NULL, "sharing: what one task adds behind the encoder")

struct roofline_in {
	ROOFLINE_OPTIONS(OPTION_MEMBER)
	struct op_in dims;
	struct layout_in layout;
};

#define THIS struct roofline_in
static const struct option roofline_options[] = {ROOFLINE_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct op_in
static const struct option op_rows[] = {OP_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct layout_in
static const struct option layout_rows[] = {LAYOUT_OPTIONS(OPTION_ROW)};
#undef THIS

/* The machines that are asked about. */
struct machine {
	const struct gpu *gpu;
	const struct calibration *calibration;
	struct datum peak;
};

struct question {
	struct run *run;
	const struct roofline_in *in;
	enum dtype dtype;
	size_t n;
	struct machine *machines;
};

static struct datum
default_number(double value)
{
	return (struct datum){value, {"default", 0, 0, NULL, false}};
}

static bool
refuse(struct run *r, const char *what, const char *hint)
{
	diag_error(r->diag, (struct source){0}, "%s", what);
	diag_hint(r->diag, "%s", hint);
	return false;
}

/* --- machines --- */

static bool
find_machines(struct question *q)
{
	const struct words *names = &q->in->gpu;

	if (names->n == 0)
		return refuse(q->run, "which GPU?", "give --gpu; 'ridge hw list' shows them");
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
		m->calibration = run_calibration(q->run, m->gpu->id, NULL);
		q->n++;
	}
	return q->n == names->n;
}

static bool
find_peaks(struct question *q)
{
	static const struct word bf16 = {"bf16", {NULL, 0, 0, NULL, false}};
	const struct word asked = q->in->dtype.text ? q->in->dtype : bf16;
	bool ok = true;

	q->dtype = dtype_find(asked.text);
	if (!q->in->dtype.text)
		run_assume(q->run, "dtype bf16");
	for (size_t i = 0; i < q->n; i++)
		ok = run_peak(q->run, q->machines[i].gpu, q->dtype, asked, &q->machines[i].peak) && ok;
	return ok;
}

/* --- ridge points --- */

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
wanted(const struct question *q, enum peak p)
{
	if (q->in->dtype.text && dtype_peak(q->dtype) != p)
		return false;
	for (size_t i = 0; i < q->n; i++)
		if (datum_given(q->machines[i].gpu->peak_flop_per_s[p]))
			return true;
	return false;
}

static void
show_ridges(const struct question *q, const struct gpu *gpu)
{
	struct sheet *sh = q->run->sheet;

	TELL(sh, gpu, "GPU", gpu->id);
	TAKE(sh, mem_byte_per_s, gpu->mem_byte_per_s);
	SHOW(sh, mem_byte_per_s, "memory");
#define X(id, text)                                                                                                    \
	if (wanted(q, PEAK_##id)) {                                                                                    \
		TAKE(sh, text##_flop_per_s, gpu->peak_flop_per_s[PEAK_##id]);                                          \
		CALL(sh, text##_ridge_flop_per_byte, ridge_point(sh, text##_flop_per_s, mem_byte_per_s));              \
		SHOW(sh, text##_ridge_flop_per_byte, #text " ridge");                                                  \
	}
	RIDGES(X)
#undef X
}

/* --- levels of the memory --- */

/* One level as a line: what it delivers and the intensity that it takes to be compute-bound from there. */
static void
show_level(struct sheet *sh, int i, const char *level, struct datum byte_per_s, double peak_flop_per_s)
{
	SCOPE_I (sh, "level", i) {
		TELL(sh, name, "from", level);
		TAKE(sh, level_byte_per_s, byte_per_s);
		SHOW(sh, level_byte_per_s, "delivers");
		if (!isnan(peak_flop_per_s)) {
			CALL(sh, level_ridge_flop_per_byte, ridge_point(sh, peak_flop_per_s, level_byte_per_s));
			SHOW(sh, level_ridge_flop_per_byte, "compute-bound above");
		}
	}
}

static struct datum
computed(double value)
{
	return (struct datum){value, {"unit counts", 0, 0, NULL, false}};
}

/* What no public source or calibration gives is absent. */
static void
show_levels(const struct question *q, const struct machine *m, double peak_flop_per_s)
{
	struct sheet *sh = q->run->sheet;
	const struct gpu *gpu = m->gpu;
	const double port_byte = shared_port_byte(gpu->architecture);
	const bool l2 = m->calibration && m->calibration->has_gemm;
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
	show_level(sh, 0, gpu->mem_type ? gpu->mem_type : "memory", gpu->mem_byte_per_s, peak_flop_per_s);
	show_level(sh, 1, l2 ? "L2, as the GEMM fit has it" : "L2, not calibrated",
	    l2 ? m->calibration->gemm[DTYPE_BF16].l2_byte_per_s : datum_absent(), peak_flop_per_s);
	if (datum_given(shared))
		show_level(sh, 2, "shared memory", shared, peak_flop_per_s);
	if (datum_given(registers))
		show_level(sh, 3, "registers, fp32 units", registers, peak_flop_per_s);
}

/* Peaks that follow from unit counts and the clock, to stand beside the listed ones. */
static void
show_units(const struct question *q, const struct gpu *gpu)
{
	struct sheet *sh = q->run->sheet;
	const struct datum clock =
	    datum_given(gpu->clock_tensor_hertz) ? gpu->clock_tensor_hertz : gpu->clock_max_hertz;

	if (!datum_given(gpu->n_sms) || !datum_given(clock))
		return;
	if (datum_given(gpu->tensor_fma_per_sm)) {
		CALL(sh, fp16_unit_flop_per_s,
		    unit_peak(sh, gpu->n_sms.value, gpu->tensor_fma_per_sm.value, clock.value));
		SHOW(sh, fp16_unit_flop_per_s, "fp16 peak from unit counts");
	}
	if (datum_given(gpu->fp32_per_sm) && datum_given(gpu->clock_max_hertz)) {
		CALL(sh, fp32_unit_flop_per_s,
		    unit_peak(sh, gpu->n_sms.value, gpu->fp32_per_sm.value, gpu->clock_max_hertz.value));
		SHOW(sh, fp32_unit_flop_per_s, "fp32 peak from unit counts");
	}
}

static enum answer
ridge_table(struct question *q)
{
	struct sheet *sh = q->run->sheet;

	if (q->in->dtype.text && !find_peaks(q))
		return REFUSED;
	q->run->title = "ridge points: FLOP per byte above which the arithmetic is the limit";
	for (size_t i = 0; i < q->n; i++)
		SCOPE_I (sh, "gpu", i)
			show_ridges(q, q->machines[i].gpu);
	if (q->n == 1) {
		show_units(q, q->machines[0].gpu);
		show_levels(q, &q->machines[0], q->in->dtype.text ? q->machines[0].peak.value : NAN);
	}
	return ANSWERED;
}

/* --- a measured time --- */

/* Faster than the machine: the work, the bytes or the time is wrong. */
static enum answer
show_measured(const struct question *q, double work_flop, double traffic_byte, double roof_s, const struct machine *m)
{
	struct sheet *sh = q->run->sheet;

	if (!datum_given(q->in->time))
		return ANSWERED;
	TAKE(sh, measured_s, q->in->time);
	CALL(sh, of_roof_frac, roofline_measured_frac(sh, roof_s, measured_s));
	CALL(sh, attained_frac, roofline_rate_frac(sh, work_flop, measured_s, m->peak.value));
	CALL(sh, moved_frac, roofline_traffic_frac(sh, traffic_byte, measured_s, m->gpu->mem_byte_per_s.value));
	SHOW(sh, measured_s, "measured");
	SHOW(sh, attained_frac, "measured, share of the peak");
	SHOW(sh, moved_frac, "measured, share of the bandwidth");
	SHOW(sh, of_roof_frac, "measured, share of the roof");
	const char *verdict = attained_frac > 1 ? "infeasible: more arithmetic per second than the peak"
	    : moved_frac > 1                    ? "infeasible: more bytes per second than the memory delivers"
	                                        : "feasible";
	TELL(sh, verdict, "verdict", verdict);
	if (attained_frac <= 1 && moved_frac > 1)
		run_warn(q->run, "bytes that come from a cache do not count as memory traffic");
	return of_roof_frac > 1 ? ANSWERED_NO : ANSWERED;
}

/* --- one point --- */

static void
show_place(struct sheet *sh, const struct point *p)
{
	SHOW(sh, ridge_flop_per_byte, "ridge point");
	TELL(sh, bound, "bound", roofline_bound(p->intensity_flop_per_byte, p->ridge_flop_per_byte));
	SHOW(sh, attainable_flop_per_s, "attainable");
	SHOW(sh, of_peak_frac, "share of the peak");
}

static void
show_gains(struct sheet *sh, const struct point *p)
{
	CALL(sh, bandwidth_gain, roofline_bandwidth_gain(sh, p->compute_s, p->memory_s));
	CALL(sh, arithmetic_gain, roofline_arithmetic_gain(sh, p->compute_s, p->memory_s));
	if (bandwidth_gain > 1 && !isinf(bandwidth_gain))
		SHOW(sh, bandwidth_gain, "times faster at most with more bandwidth");
	if (arithmetic_gain > 1)
		SHOW(sh, arithmetic_gain, "times faster at most with more arithmetic");
}

static const struct residual *
residual_of(const struct calibration *c, const char *name)
{
	for (int i = 0; i < c->n_residuals; i++)
		if (strcmp(c->residuals[i].name, name) == 0)
			return &c->residuals[i];
	return NULL;
}

/* What fitted parameters say of a matrix product, beside its roof. */
static bool
show_calibrated(const struct question *q, const struct machine *m, const struct op *op, double roof_s, bool alone)
{
	struct sheet *sh = q->run->sheet;

	if (op->kind != OP_gemm || !gemm_calibrated(m->calibration, q->dtype))
		return false;
	const struct gemm_shape shape = gemm_shape_of(op->dim[0], op->dim[1], op->dim[2], q->dtype);
	CALL(sh, calibrated_s, gemm_time(sh, &shape, m->calibration, q->dtype));
	if (!alone) {
		SHOW(sh, calibrated_s, "calibrated");
		return true;
	}
	const struct residual *e =
	    residual_of(m->calibration, arena_printf(q->run->arena, "gemm_%s", dtype_name(q->dtype)));
	CALL(sh, calibrated_roof_frac, roofline_measured_frac(sh, roof_s, calibrated_s));
	SHOW(sh, calibrated_s,
	    e ? arena_printf(q->run->arena, "calibrated estimate (mean error %.1f %%)", 100 * e->mape_frac.value)
	      : "calibrated estimate");
	SHOW(sh, calibrated_roof_frac, "which is of the roof");
	return true;
}

/* Matrix units read 16 bytes at a time along n and k. */
static void
show_alignment(const struct question *q, const struct op *op)
{
	struct sheet *sh = q->run->sheet;
	const double elem_byte = op->elem_byte;

	if (op->kind != OP_gemm)
		return;
	CALL(sh, n_left_over, alignment_left_over(sh, op->dim[1], elem_byte));
	CALL(sh, k_left_over, alignment_left_over(sh, op->dim[2], elem_byte));
	const char *which = n_left_over > 0 ? (k_left_over > 0 ? "n and k" : "n") : k_left_over > 0 ? "k" : NULL;
	TELL(sh, alignment, "alignment",
	    which ? arena_printf(q->run->arena, "no: %s is no multiple of 16 bytes, matrix units pad it", which)
	          : "n and k are multiples of 16 bytes");
}

/* Several machines: a line each.  The scope above holds work_flop and traffic_byte. */
static enum answer
compare_point(const struct question *q, double work_flop, double traffic_byte, const struct op *op)
{
	struct sheet *sh = q->run->sheet;

	for (size_t i = 0; i < q->n; i++)
		SCOPE_I (sh, "gpu", i) {
			const struct machine *m = &q->machines[i];
			TELL(sh, gpu, "GPU", m->gpu->id);
			TAKE(sh, peak_flop_per_s, m->peak);
			TAKE(sh, mem_byte_per_s, m->gpu->mem_byte_per_s);
			const struct point p =
			    roofline_point(sh, work_flop, traffic_byte, peak_flop_per_s, mem_byte_per_s);
			show_place(sh, &p);
			SHOW(sh, roof_s, "time at the roof");
			if (op)
				show_calibrated(q, m, op, p.roof_s, false);
		}
	return ANSWERED;
}

static enum answer
one_point(const struct question *q, double work_flop, double traffic_byte, const struct op *op)
{
	struct sheet *sh = q->run->sheet;
	const struct machine *m = &q->machines[0];

	SHOW(sh, work_flop, "arithmetic");
	SHOW(sh, traffic_byte, "memory traffic");
	if (q->n > 1) {
		if (datum_given(q->in->time)) {
			refuse(q->run, "a measured time is of one GPU", "give one name to --gpu");
			return REFUSED;
		}
		return compare_point(q, work_flop, traffic_byte, op);
	}
	TAKE(sh, peak_flop_per_s, m->peak);
	TAKE(sh, mem_byte_per_s, m->gpu->mem_byte_per_s);
	const struct point p = roofline_point(sh, work_flop, traffic_byte, peak_flop_per_s, mem_byte_per_s);
	SHOW(sh, intensity_flop_per_byte, "intensity");
	show_place(sh, &p);
	SHOW(sh, roof_s, "time at the roof");
	show_gains(sh, &p);
	if (op) {
		show_alignment(q, op);
		show_calibrated(q, m, op, p.roof_s, true);
	}
	const enum answer answer = show_measured(q, work_flop, traffic_byte, p.roof_s, m);
	show_levels(q, m, peak_flop_per_s);
	return answer;
}

static enum answer
bare_point(struct question *q)
{
	const struct roofline_in *in = q->in;
	struct sheet *sh = q->run->sheet;

	if (!datum_given(in->flops) || !datum_given(in->bytes) || !(in->bytes.value > 0)) {
		refuse(q->run, "a point needs both --flops and --bytes, and bytes above 0",
		    "for FLOP per byte alone: --intensity");
		return REFUSED;
	}
	if (!find_peaks(q))
		return REFUSED;
	q->run->title = arena_printf(q->run->arena, "a kernel in %s%s%s", dtype_name(q->dtype), q->n == 1 ? " on " : "",
	    q->n == 1 ? q->machines[0].gpu->name : "");
	TAKE(sh, work_flop, in->flops);
	TAKE(sh, traffic_byte, in->bytes);
	return one_point(q, work_flop, traffic_byte, NULL);
}

static void
intensity_line(const struct question *q, const struct machine *m, double intensity_flop_per_byte)
{
	struct sheet *sh = q->run->sheet;

	TAKE(sh, peak_flop_per_s, m->peak);
	TAKE(sh, mem_byte_per_s, m->gpu->mem_byte_per_s);
	const struct point p = roofline_place(sh, intensity_flop_per_byte, peak_flop_per_s, mem_byte_per_s);
	show_place(sh, &p);
}

static enum answer
bare_intensity(struct question *q)
{
	struct sheet *sh = q->run->sheet;

	if (!find_peaks(q))
		return REFUSED;
	TAKE(sh, intensity_flop_per_byte, q->in->intensity);
	SHOW(sh, intensity_flop_per_byte, "intensity");
	if (q->n == 1) {
		q->run->title = arena_printf(q->run->arena, "%s on %s", dtype_name(q->dtype), q->machines[0].gpu->name);
		intensity_line(q, &q->machines[0], intensity_flop_per_byte);
		return ANSWERED;
	}
	for (size_t i = 0; i < q->n; i++)
		SCOPE_I (sh, "gpu", i) {
			TELL(sh, gpu, "GPU", q->machines[i].gpu->id);
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

static enum answer
one_operator(struct question *q, enum op_kind kind)
{
	struct op op;

	if (!find_peaks(q) || !run_op(q->run, kind, &q->in->dims, dtype_byte(q->dtype), &op))
		return REFUSED;
	q->run->title = arena_printf(q->run->arena, "%s in %s%s%s", dimensions_text(q->run->arena, &op),
	    dtype_name(q->dtype), q->n == 1 ? " on " : "", q->n == 1 ? q->machines[0].gpu->name : "");
	const struct cost c = op_cost(q->run->sheet, &op);
	return one_point(q, c.work_flop, c.traffic_byte, &op);
}

/* --- lists --- */

static void
show_lines(const struct question *q, const struct machine *m, const struct op *ops, int n, double list_s)
{
	struct sheet *sh = q->run->sheet;

	for (int i = 0; i < n; i++)
		SCOPE_I (sh, "op", i) {
			TELL(sh, name, "operator", ops[i].name);
			const struct point p = roofline_line(sh, &ops[i], m->peak.value, m->gpu->mem_byte_per_s.value);
			CALL(sh, share_frac, roofline_share(sh, p.total_s, list_s));
			SHOW(sh, n_times, "times");
			SHOW(sh, work_flop, "arithmetic");
			SHOW(sh, traffic_byte, "traffic");
			SHOW(sh, intensity_flop_per_byte, "intensity");
			TELL(sh, bound, "bound", roofline_bound(p.intensity_flop_per_byte, p.ridge_flop_per_byte));
			SHOW(sh, roof_s, "at the roof");
			SHOW(sh, share_frac, "share");
			show_calibrated(q, m, &ops[i], p.roof_s, false);
		}
}

static void
compare_list(const struct question *q, const struct op *ops, int n, double list_flop)
{
	struct sheet *sh = q->run->sheet;

	for (size_t i = 0; i < q->n; i++)
		SCOPE_I (sh, "gpu", i) {
			const struct machine *m = &q->machines[i];
			TELL(sh, gpu, "GPU", m->gpu->id);
			TAKE(sh, peak_flop_per_s, m->peak);
			TAKE(sh, mem_byte_per_s, m->gpu->mem_byte_per_s);
			CALL(sh, ridge_flop_per_byte, ridge_point(sh, peak_flop_per_s, mem_byte_per_s));
			SUM(sh, list_s, j, n, roofline_op(sh, &ops[j], peak_flop_per_s, mem_byte_per_s));
			CALL(sh, list_peak_frac, roofline_rate_frac(sh, list_flop, list_s, peak_flop_per_s));
			SHOW(sh, ridge_flop_per_byte, "ridge point");
			SHOW(sh, list_s, "time at the roof");
			SHOW(sh, list_peak_frac, "share of the peak");
		}
}

static enum answer
list_answer(const struct question *q, const struct op *ops, int n)
{
	struct sheet *sh = q->run->sheet;
	const struct machine *m = &q->machines[0];

	SUM(sh, list_flop, i, n, op_total_flop(sh, &ops[i]));
	SUM(sh, list_byte, i, n, op_total_byte(sh, &ops[i]));
	SHOW(sh, list_flop, "arithmetic");
	SHOW(sh, list_byte, "memory traffic");
	if (q->n > 1) {
		compare_list(q, ops, n, list_flop);
		return ANSWERED;
	}
	TAKE(sh, peak_flop_per_s, m->peak);
	TAKE(sh, mem_byte_per_s, m->gpu->mem_byte_per_s);
	CALL(sh, ridge_flop_per_byte, ridge_point(sh, peak_flop_per_s, mem_byte_per_s));
	SUM(sh, list_s, i, n, roofline_op(sh, &ops[i], peak_flop_per_s, mem_byte_per_s));
	CALL(sh, list_peak_frac, roofline_rate_frac(sh, list_flop, list_s, peak_flop_per_s));
	SHOW(sh, ridge_flop_per_byte, "ridge point");
	SHOW(sh, list_s, "time at the roof, one after the other");
	SHOW(sh, list_peak_frac, "share of the peak");
	const enum answer answer = show_measured(q, list_flop, list_byte, list_s, m);
	show_lines(q, m, ops, n, list_s);
	return answer;
}

static enum phase
phase_of(const char *text)
{
	return strcmp(text, "decode") == 0 ? PHASE_DECODE : strcmp(text, "train") == 0 ? PHASE_TRAIN : PHASE_PREFILL;
}

/* Tokens of a sequence: as asked, else what the model can hold of 2048. */
static double
tokens_of(const struct question *q, const struct workload *w)
{
	const double held = datum_or(w->context, INFINITY);

	if (w->kind == MODEL_VISION)
		return vision_tokens(q->run->sheet, w);
	if (datum_given(q->in->seq)) {
		if (q->in->seq.value > held)
			run_warn(q->run, "%g tokens are more than the model's context of %g", q->in->seq.value, held);
		return q->in->seq.value;
	}
	if (w->kind != MODEL_OPERATORS)
		run_assume(q->run, "seq %g", fmin(2048, held));
	return fmin(2048, held);
}

static bool
check_shape(const struct question *q, const struct workload *w, enum phase phase, const struct layout *layout)
{
	const struct datum degrees[] = {q->in->layout.pp, q->in->layout.cp, q->in->layout.ep, q->in->layout.etp};
	struct run *r = q->run;

	if (phase == PHASE_DECODE && w->kind != MODEL_DECODER)
		return refuse(r, "only a decoder makes tokens one after the other", "leave --phase out");
	if (phase != PHASE_PREFILL && q->in->cached.value > 0)
		return refuse(r, "--cached belongs to --phase prefill", "decode: --seq is what the cache holds");
	for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++)
		if (datum_given(degrees[i]) && degrees[i].value > 1)
			return refuse(
			    r, "the list is that of one GPU of a tensor-parallel group", "give layout.tp alone");
	if (w->kind == MODEL_OPERATORS && layout->tp > 1)
		return refuse(r, "a list of operators cannot be split", "leave --layout out");
	return true;
}

static enum answer
workload_answer(struct question *q, const struct workload *w)
{
	const struct roofline_in *in = q->in;
	struct layout layout;
	const bool whole = run_whole(q->run, "--batch", in->batch, 1) & run_whole(q->run, "--seq", in->seq, 1) &
	    run_whole(q->run, "--cached", in->cached, 0);

	if (!find_peaks(q) || !whole || !run_layout(q->run, &in->layout, datum_absent(), w, &layout))
		return REFUSED;
	const enum phase phase = phase_of(in->phase.text);
	if (!check_shape(q, w, phase, &layout))
		return REFUSED;
	struct sheet *sh = q->run->sheet;
	TAKE(sh, n_sequences, in->batch);
	TAKE(sh, seq_token, tokens_of(q, w));
	TAKE(sh, tp, layout.tp);
	const struct shape shape = {.phase = phase,
	    .batch = n_sequences,
	    .n_new = phase == PHASE_DECODE ? 1 : seq_token,
	    .n_cached = phase == PHASE_DECODE ? seq_token : in->cached.value,
	    .tp = tp,
	    .elem_byte = dtype_byte(q->dtype),
	    .unfused = in->unfused};
	struct op *ops = ARENA_ARRAY(q->run->arena, struct op, expand_room(w));
	const int n = expand(w, &shape, ops);
	if (w->kind == MODEL_DECODER)
		run_word(q->run, "phase", in->phase);
	q->run->title = arena_printf(q->run->arena, "%s in %s%s%s%s", w->name, dtype_name(q->dtype),
	    tp > 1 ? arena_printf(q->run->arena, ", one of %g GPUs", tp) : "", q->n == 1 ? " on " : "",
	    q->n == 1 ? q->machines[0].gpu->name : "");
	return list_answer(q, ops, n);
}

/* A bare transformer layer: without heads it has one as wide as itself, as simple accounts do. */
static enum answer
layer_answer(struct question *q)
{
	const struct roofline_in *in = q->in;
	struct run *r = q->run;

	if (!datum_given(in->hidden) || !datum_given(in->seq)) {
		refuse(r, "a layer needs --hidden and --seq",
		    "ridge roofline layer --batch 4 --seq 2048 --hidden 4096 --heads 32 --gpu a100");
		return REFUSED;
	}
	if (!(run_whole(r, "--hidden", in->hidden, 1) & run_whole(r, "--heads", in->heads, 1) &
	        run_whole(r, "--kv-heads", in->kv_heads, 1) & run_whole(r, "--mlp-width", in->mlp_width, 1)))
		return REFUSED;
	const struct datum one = default_number(1), absent = datum_absent();
	const struct datum heads = datum_given(in->heads) ? in->heads : one;
	const struct datum kv_heads = datum_given(in->kv_heads) ? in->kv_heads : heads;
	if (fmod(in->hidden.value, heads.value) != 0 || fmod(heads.value, kv_heads.value) != 0) {
		diag_error(r->diag, heads.from, "hidden %g, heads %g and kv_heads %g do not divide", in->hidden.value,
		    heads.value, kv_heads.value);
		return REFUSED;
	}
	if (!datum_given(in->heads))
		run_assume(r, "heads ignored: one as wide as the layer");
	if (!datum_given(in->mlp_width))
		run_assume(r, "mlp-width %g", 4 * in->hidden.value);
	struct block block = {.count = one,
	    .attention = {.kind_name = "gqa",
	        .n_heads = heads,
	        .n_kv_heads = kv_heads,
	        .head_dim = default_number(in->hidden.value / heads.value),
	        .v_dim = absent,
	        .window = absent,
	        .chunk = absent},
	    .mlp = {.given = true,
	        .gated = in->gated,
	        .width = datum_given(in->mlp_width) ? in->mlp_width : default_number(4 * in->hidden.value)}};
	const struct workload layer = {.id = "layer",
	    .name = "one transformer layer",
	    .kind = MODEL_DECODER,
	    .n_layers = one,
	    .hidden = in->hidden,
	    .vocab = absent,
	    .context = absent,
	    .norms_per_layer = default_number(2),
	    .n_blocks = 1,
	    .blocks = &block};
	return workload_answer(q, &layer);
}

static enum answer
sharing_answer(struct run *r, const struct roofline_in *in)
{
	struct sheet *sh = r->sheet;

	if (!datum_given(in->encoder) || !datum_given(in->cameras) || !datum_given(in->tasks) ||
	    !datum_given(in->head)) {
		refuse(r, "sharing needs --encoder, --cameras, --tasks and --head",
		    "ridge roofline sharing --encoder 8.5GFLOP --cameras 6 --tasks 3 --head 1.5GFLOP");
		return REFUSED;
	}
	r->title = "one encoder for all tasks, against one for each";
	TAKE(sh, encoder_flop, in->encoder);
	TAKE(sh, n_cameras, in->cameras);
	TAKE(sh, n_tasks, in->tasks);
	TAKE(sh, head_flop, in->head);
	CALL(sh, saved_frac, encoder_sharing(sh, encoder_flop, n_cameras, n_tasks, head_flop));
	SHOW(sh, saved_frac, "arithmetic saved");
	return ANSWERED;
}

/* --- what is asked --- */

/* Inputs that belong to another question are refused rather than ignored. */
static bool
check_strangers(struct run *r, const struct roofline_in *in, bool is_operator, bool is_list)
{
	const bool point = datum_given(in->flops) || datum_given(in->bytes);

	if (point && datum_given(in->intensity))
		return refuse(
		    r, "--intensity and --flops with --bytes exclude each other", "bytes and FLOP give the intensity");
	if ((point || datum_given(in->intensity)) && in->op.text)
		return refuse(
		    r, "an operator or model has its own FLOP and bytes", "leave the operand or --flops, --bytes out");
	if (!is_operator && op_given(&in->dims))
		return refuse(
		    r, "dimensions without an operator", "ridge roofline gemm --m 4096 --n 4096 --k 4096 --gpu h100");
	if (datum_given(in->time) && !point && !is_operator && !is_list)
		return refuse(r, "a measured time of what?", "give --flops and --bytes, an operator or a model");
	return true;
}

/* A word that is nearly an operator is not looked up as a model. */
static bool
means_operator(struct run *r, struct word op)
{
	const char *names[N_OP_KINDS + 2] = {"layer", "sharing"};

	for (int i = 0; i < N_OP_KINDS; i++)
		names[i + 2] = op_kind_name((enum op_kind)i);
	const char *near = strpbrk(op.text, "0123456789/") ? NULL : text_nearest(op.text, names, N_OP_KINDS + 2);
	if (!near || strcmp(near, op.text) == 0)
		return false;
	diag_error(r->diag, op.from, "'%s' is neither an operator nor a model", op.text);
	diag_hint(r->diag, "did you mean '%s'?", near);
	return true;
}

static enum answer
roofline_run(struct run *r, const void *input)
{
	const struct roofline_in *in = input;
	struct question q = {.run = r, .in = in};
	const char *op = in->op.text;
	const enum op_kind kind = op ? op_kind_find(op) : OP_NONE;

	if (op && kind == OP_NONE && means_operator(r, in->op))
		return REFUSED;
	if (!check_strangers(r, in, kind != OP_NONE, op && kind == OP_NONE))
		return REFUSED;
	if (op && strcmp(op, "sharing") == 0)
		return sharing_answer(r, in);
	if (!find_machines(&q))
		return REFUSED;
	if (!op && datum_given(in->intensity))
		return bare_intensity(&q);
	if (!op && (datum_given(in->flops) || datum_given(in->bytes)))
		return bare_point(&q);
	if (!op)
		return ridge_table(&q);
	if (kind != OP_NONE)
		return one_operator(&q, kind);
	if (strcmp(op, "layer") == 0)
		return layer_answer(&q);
	const struct workload *w = run_model(r, in->op);
	return w ? workload_answer(&q, w) : REFUSED;
}

static const struct option_group roofline_groups[] = {
    OPTION_GROUP(roofline_options, 0),
    OPTION_GROUP(op_rows, offsetof(struct roofline_in, dims)),
    OPTION_GROUP(layout_rows, offsetof(struct roofline_in, layout)),
};

static const struct example roofline_examples[] = {
    {"roofline gemm --m 4096 --n 4096 --k 4096 --gpu h100", "one matrix product", 0},
    {"roofline --gpu v100,a100,h100,b200", "ridge points of four generations", 0},
    {"roofline layer --batch 4 --seq 2048 --hidden 4096 --heads 32 --unfused --gpu a100",
        "a layer with its scores in memory: which operators are memory-bound?", 0},
    {"roofline llama3-70b --phase decode --batch 32 --seq 4096 --layout tp=8 --gpu h100",
        "one step of decoding, operator by operator", 0},
    {"roofline --flops 1.1TFLOP --bytes 2.5GB --time 4ms --gpu a100", "a measured kernel against its roof", 0},
    {"roofline gemm --set m=8192,k=8192 --n 1 --gpu a100,h100,h200", "what more bandwidth buys a matrix times a vector",
        0},
};

const struct command roofline_command = {
    .name = "roofline",
    .section = "How fast can it be?",
    .summary = "compute- or memory-bound, how far from the roof, what would more bandwidth or FLOPs buy",
    .operands = "op",
    .usage = "[OPERATOR|layer|sharing|MODEL|JOB]",
    .groups = roofline_groups,
    .n_groups = sizeof roofline_groups / sizeof *roofline_groups,
    .examples = roofline_examples,
    .n_examples = sizeof roofline_examples / sizeof *roofline_examples,
    .input_size = sizeof(struct roofline_in),
    .run = roofline_run,
};
