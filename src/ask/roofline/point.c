/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ridge points, and one kernel under the roof. */
#include "ask/roofline/roofline.h"

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
roof_operator(struct roof *q, const struct roofline_in *in, enum op_kind kind)
{
	struct op op;

	if (!roof_peaks(q, in->dtype) || !run_op(q->run, kind, &in->dims, dtype_byte(q->dtype), &op))
		return REFUSED;
	q->run->title = arena_printf(q->run->arena, "%s in %s%s%s", dimensions_text(q->run->arena, &op),
	    dtype_name(q->dtype), q->n == 1 ? " on " : "", q->n == 1 ? q->machines[0].gpu->name : "");
	const struct cost c = op_cost(q->run->sheet, &op);
	return one_point(q, in, c.work_flop, c.traffic_byte, &op);
}
