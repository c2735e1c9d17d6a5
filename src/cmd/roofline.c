/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge roofline: compute- or memory-bound, how far from the roof, and what more bandwidth or arithmetic would buy. */
#include "ridge/roofline.h"
#include "base/text.h"
#include "cli/op_in.h"
#include "cli/roof.h"
#include "cli/roof_measured.h"
#include "cli/roof_plot.h"
#include "cli/shape.h"
#include "ridge/expand.h"
#include "ridge/kernel_gemm.h"

#include <string.h>

#define ROOF_TYPES "fp64|fp32|tf32|fp16|bf16|fp8|fp8-block|mxfp8|int8|fp6|fp4|mxfp4|nvfp4|int4"
#define ROOFLINE_OPTIONS(X)                                                                                            \
	X(0, op, NULL, "op", WORD, "WHAT", "model", NULL, "an operator, layer, sharing, or a model")                   \
	X('g', gpu, "gpu", "gpu", WORDS, "NAME,...", "gpu", NULL, "one GPU, or several to compare")                    \
	X(0, system, "system", "system", WORD, "NAME", "system", NULL, "system, for its GPU")                          \
	X(0, dtype, "dtype", "dtype", CHOICE, "TYPE", ROOF_TYPES, NULL,                                                \
	    "type of the operands (default bf16, or fp16 where there is none)")                                        \
	X(0, flops, "flops", "flops", WORK, "WORK", "", NULL, "arithmetic of a kernel: 1.2TFLOP")                      \
	X(0, bytes, "bytes", "bytes", SIZE, "SIZE", "", NULL, "bytes it moves to and from memory")                     \
	X(0, time, "time", "time", TIME, "TIME", "", NULL, "how long it was measured to take")                         \
	X(0, measurements, "measurements", "measurements", WORD, "FILE", "file", NULL,                                 \
	    "measured rows (ridge-measurement(5)) under the roof of --gpu")                                            \
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

static struct datum
default_number(double value)
{
	return (struct datum){value, {"default", 0, 0, NULL, false}};
}

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

	TELL(sh, gpu, "GPU", gpu->id);
	TAKE(sh, mem_byte_per_s, gpu->mem_byte_per_s);
	SHOW(sh, mem_byte_per_s, "memory");
#define X(id, text)                                                                                                    \
	if (wanted(q, in, PEAK_##id)) {                                                                                \
		TAKE(sh, text##_flop_per_s, gpu->peak_flop_per_s[PEAK_##id]);                                          \
		CALL(sh, text##_ridge_flop_per_byte, ridge_point(sh, text##_flop_per_s, mem_byte_per_s));              \
		SHOW(sh, text##_ridge_flop_per_byte, #text " ridge");                                                  \
	}
	RIDGES(X)
#undef X
}

static enum answer
ridge_table(struct roof *q, const struct roofline_in *in)
{
	struct sheet *sh = q->run->sheet;

	if (in->dtype.text && !roof_peaks(q, in->dtype))
		return REFUSED;
	q->run->title = "ridge points: FLOP per byte above which the arithmetic is the limit";
	for (size_t i = 0; i < q->n; i++)
		SCOPE_I (sh, "gpu", i)
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
		SCOPE_I (sh, "gpu", i) {
			const struct machine *m = &q->machines[i];
			TELL(sh, gpu, "GPU", m->gpu->id);
			TAKE(sh, peak_flop_per_s, m->peak);
			TAKE(sh, mem_byte_per_s, m->gpu->mem_byte_per_s);
			const struct point p =
			    roofline_point(sh, work_flop, traffic_byte, peak_flop_per_s, mem_byte_per_s);
			roof_show_place(sh, &p);
			SHOW(sh, roof_s, "at the roof");
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

	SHOW(sh, work_flop, "arithmetic");
	SHOW(sh, traffic_byte, "memory traffic");
	if (q->n > 1) {
		if (datum_given(in->time)) {
			roof_refuse(q->run, "a measured time is of one GPU", "give one name to --gpu");
			return REFUSED;
		}
		return compare_point(q, work_flop, traffic_byte, op);
	}
	TAKE(sh, peak_flop_per_s, m->peak);
	TAKE(sh, mem_byte_per_s, m->gpu->mem_byte_per_s);
	const struct point p = roofline_point(sh, work_flop, traffic_byte, peak_flop_per_s, mem_byte_per_s);
	SHOW(sh, intensity_flop_per_byte, "intensity");
	roof_show_place(sh, &p);
	SHOW(sh, roof_s, "at the roof");
	roof_show_gains(sh, &p);
	if (op) {
		roof_show_alignment(q, op);
		roof_show_calibrated(q, m, op, p.roof_s, true);
	}
	const enum answer answer = roof_show_measured(q, m, in->time, work_flop, traffic_byte, p.roof_s);
	roof_show_levels(q, m, peak_flop_per_s);
	return answer;
}

static enum answer
bare_point(struct roof *q, const struct roofline_in *in)
{
	struct sheet *sh = q->run->sheet;

	if (!datum_given(in->flops) || !datum_given(in->bytes) || !(in->bytes.value > 0)) {
		roof_refuse(q->run, "a point needs both --flops and --bytes, and bytes above 0",
		    "for FLOP per byte alone: --intensity");
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

static enum answer
bare_intensity(struct roof *q, const struct roofline_in *in)
{
	struct sheet *sh = q->run->sheet;

	if (!roof_peaks(q, in->dtype))
		return REFUSED;
	TAKE(sh, intensity_flop_per_byte, in->intensity);
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
one_operator(struct roof *q, const struct roofline_in *in, enum op_kind kind)
{
	struct op op;

	if (!roof_peaks(q, in->dtype) || !run_op(q->run, kind, &in->dims, dtype_byte(q->dtype), &op))
		return REFUSED;
	q->run->title = arena_printf(q->run->arena, "%s in %s%s%s", dimensions_text(q->run->arena, &op),
	    dtype_name(q->dtype), q->n == 1 ? " on " : "", q->n == 1 ? q->machines[0].gpu->name : "");
	const struct cost c = op_cost(q->run->sheet, &op);
	return one_point(q, in, c.work_flop, c.traffic_byte, &op);
}

/* --- lists ----------------------------------------------------------------------------------------------- */

static void
show_lines(const struct roof *q, const struct machine *m, const struct op *ops, int n, double list_s)
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
			roof_show_calibrated(q, m, &ops[i], p.roof_s, false);
		}
}

static void
compare_list(const struct roof *q, const struct op *ops, int n, double list_flop)
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
			SHOW(sh, list_s, "at the roof");
			SHOW(sh, list_peak_frac, "of the peak");
		}
}

static enum answer
list_answer(const struct roof *q, const struct roofline_in *in, const struct op *ops, int n)
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
	SHOW(sh, list_s, "at the roof, one after the other");
	SHOW(sh, list_peak_frac, "of the peak");
	const enum answer answer = roof_show_measured(q, m, in->time, list_flop, list_byte, list_s);
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
tokens_of(const struct roof *q, const struct roofline_in *in, const struct workload *w)
{
	const double held = datum_or(w->context, INFINITY);

	if (w->kind == MODEL_VISION)
		return vision_tokens(q->run->sheet, w);
	if (datum_given(in->seq)) {
		if (in->seq.value > held)
			run_warn(q->run, "%g tokens are more than the model's context of %g", in->seq.value, held);
		return in->seq.value;
	}
	if (w->kind != MODEL_OPERATORS)
		run_assume(q->run, "seq %g", fmin(2048, held));
	return fmin(2048, held);
}

static bool
check_shape(const struct roof *q, const struct roofline_in *in, const struct workload *w, enum phase phase,
    const struct layout *layout)
{
	const struct datum degrees[] = {in->layout.pp, in->layout.cp, in->layout.ep, in->layout.etp};
	struct run *r = q->run;

	if (expand_missing(w))
		return roof_refuse(r,
		    arena_printf(r->arena, "the file of %s does not say %s", w->name, expand_missing(w)),
		    "add it to the file, or --set it");
	if (phase == PHASE_DECODE && w->kind != MODEL_DECODER && w->kind != MODEL_ENCODER_DECODER)
		return roof_refuse(r, "only a decoder makes tokens one after the other", "leave --phase out");
	if (phase != PHASE_PREFILL && in->cached.value > 0)
		return roof_refuse(r, "--cached belongs to --phase prefill", "decode: --seq is what the cache holds");
	for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++)
		if (datum_given(degrees[i]) && degrees[i].value > 1)
			return roof_refuse(
			    r, "the list is that of one GPU of a tensor-parallel group", "give layout.tp alone");
	if (w->kind == MODEL_OPERATORS && layout->tp > 1)
		return roof_refuse(r, "a list of operators cannot be split", "leave --layout out");
	return true;
}

static enum answer
workload_answer(struct roof *q, const struct roofline_in *in, const struct workload *w)
{
	struct layout layout;
	const bool whole = run_whole(q->run, "--batch", in->batch, 1) & run_whole(q->run, "--seq", in->seq, 1) &
	    run_whole(q->run, "--cached", in->cached, 0);

	if (!roof_peaks(q, in->dtype) || !whole || !run_layout(q->run, &in->layout, datum_absent(), w, &layout))
		return REFUSED;
	const enum phase phase = phase_of(in->phase.text);
	if (!check_shape(q, in, w, phase, &layout))
		return REFUSED;
	struct sheet *sh = q->run->sheet;
	TAKE(sh, n_sequences, in->batch);
	TAKE(sh, seq_token, tokens_of(q, in, w));
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
	if (w->kind == MODEL_DECODER || w->kind == MODEL_ENCODER_DECODER)
		run_word(q->run, "phase", in->phase);
	q->run->title = arena_printf(q->run->arena, "%s in %s%s%s%s", w->name, dtype_name(q->dtype),
	    tp > 1 ? arena_printf(q->run->arena, ", one of %g GPUs", tp) : "", q->n == 1 ? " on " : "",
	    q->n == 1 ? q->machines[0].gpu->name : "");
	return list_answer(q, in, ops, n);
}

/* A bare transformer layer: without heads it has one as wide as itself, as simple accounts do. */
static enum answer
layer_answer(struct roof *q, const struct roofline_in *in)
{
	struct run *r = q->run;

	if (!datum_given(in->hidden) || !datum_given(in->seq)) {
		roof_refuse(r, "a layer needs --hidden and --seq",
		    "ridge roofline layer --batch 4 --seq 2048 --hidden 4096 --heads 32 --gpu a100");
		return REFUSED;
	}
	if (!(run_whole(r, "hidden", in->hidden, 1) & run_whole(r, "heads", in->heads, 1) &
	        run_whole(r, "kv-heads", in->kv_heads, 1) & run_whole(r, "mlp-width", in->mlp_width, 1)))
		return REFUSED;
	const struct datum one = default_number(1), absent = datum_absent();
	const struct datum heads = datum_given(in->heads) ? in->heads : one;
	const struct datum kv_heads = datum_given(in->kv_heads) ? in->kv_heads : heads;
	if (fmod(in->hidden.value, heads.value) != 0 || fmod(heads.value, kv_heads.value) != 0) {
		diag_error(r->diag, heads.from, "hidden %g, heads %g and kv_heads %g do not divide", in->hidden.value,
		    heads.value, kv_heads.value);
		diag_hint(r->diag, "heads divide the width, and kv-heads divide the heads");
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
	return workload_answer(q, in, &layer);
}

static enum answer
sharing_answer(struct run *r, const struct roofline_in *in)
{
	struct sheet *sh = r->sheet;

	if (!datum_given(in->encoder) || !datum_given(in->cameras) || !datum_given(in->tasks) ||
	    !datum_given(in->head)) {
		roof_refuse(r, "sharing needs --encoder, --cameras, --tasks and --head",
		    "ridge roofline sharing --encoder 8.5GFLOP --cameras 6 --tasks 3 --head 1.5GFLOP");
		return REFUSED;
	}
	r->title = "one encoder for all tasks, against one for each";
	TAKE(sh, encoder_flop, in->encoder);
	TAKE(sh, n_cameras, in->cameras);
	TAKE(sh, n_tasks, in->tasks);
	TAKE(sh, head_flop, in->head);
	CALL(sh, separate_flop, encoder_separate(sh, encoder_flop, n_cameras, n_tasks));
	CALL(sh, shared_flop, encoder_shared(sh, encoder_flop, n_cameras, n_tasks, head_flop));
	CALL(sh, saved_frac, encoder_saving(sh, shared_flop, separate_flop));
	SHOW(sh, separate_flop, "an encoder for each task");
	SHOW(sh, shared_flop, "one encoder and heads");
	SHOW(sh, saved_frac, "saved");
	return ANSWERED;
}

/* --- what is asked --------------------------------------------------------------------------------------- */

/* Inputs that belong to another question are refused rather than ignored. */
static bool
check_strangers(struct run *r, const struct roofline_in *in, bool is_operator, bool is_list)
{
	const bool point = datum_given(in->flops) || datum_given(in->bytes);

	if (point && datum_given(in->intensity))
		return roof_refuse(
		    r, "--intensity and --flops with --bytes exclude each other", "bytes and FLOP give the intensity");
	if ((point || datum_given(in->intensity)) && in->op.text)
		return roof_refuse(
		    r, "an operator or model has its own FLOP and bytes", "leave the operand or --flops, --bytes out");
	if (!is_operator && op_given(&in->dims))
		return roof_refuse(
		    r, "dimensions without an operator", "ridge roofline gemm --m 4096 --n 4096 --k 4096 --gpu h100");
	if (datum_given(in->time) && !point && !is_operator && !is_list)
		return roof_refuse(r, "a measured time of what?", "give --flops and --bytes, an operator or a model");
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
measured_answer(struct roof *q, const struct roofline_in *in)
{
	if (q->n > 1 || in->op.text || datum_given(in->flops) || datum_given(in->intensity)) {
		roof_refuse(q->run, "--measurements asks about the rows of its file, on one GPU",
		    "ridge roofline --measurements FILE --gpu h100");
		return REFUSED;
	}
	return roof_measurements(q, in->measurements);
}

static enum answer
roofline_answer(struct roof *q, const struct roofline_in *in)
{
	struct run *r = q->run;
	const char *op = in->op.text;
	const enum op_kind kind = op ? op_kind_find(op) : OP_NONE;

	if (op && kind == OP_NONE && means_operator(r, in->op))
		return REFUSED;
	if (!check_strangers(r, in, kind != OP_NONE, op && kind == OP_NONE))
		return REFUSED;
	if (op && strcmp(op, "sharing") == 0)
		return sharing_answer(r, in);
	struct word gpu;
	if (!run_gpu_name(r, in->gpu.n ? in->gpu.list[0] : (struct word){0}, in->system, &gpu))
		return REFUSED;
	if (!roof_machines(q, in->gpu.n || !gpu.text ? &in->gpu : &(struct words){1, &gpu}))
		return REFUSED;
	if (in->measurements.text)
		return measured_answer(q, in);
	if (!op && datum_given(in->intensity))
		return bare_intensity(q, in);
	if (!op && (datum_given(in->flops) || datum_given(in->bytes)))
		return bare_point(q, in);
	if (!op)
		return ridge_table(q, in);
	if (kind != OP_NONE)
		return one_operator(q, in, kind);
	if (strcmp(op, "layer") == 0)
		return layer_answer(q, in);
	const struct workload *w = run_model(r, in->op);
	return w ? workload_answer(q, in, w) : REFUSED;
}

static enum answer
roofline_run(struct run *r, const void *input)
{
	struct roof q = {.run = r};
	const enum answer answer = roofline_answer(&q, input);

	if (r->draws && answer != REFUSED && q.n && !r->plot)
		r->plot = roof_plot_sheet(&q);
	return answer;
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
