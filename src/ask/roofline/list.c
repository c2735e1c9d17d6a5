/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Roofline of a layer or a model, operator by operator. */
#include "ask/roofline/roofline.h"

#include "ask/bind/bind.h"
#include "model/layer/layer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- op in --------------------------------------------------------------------------------------------------- */

#define THIS struct op_in
static const struct option op_options[] = {OP_OPTIONS(OPTION_ROW)};
#undef THIS
const struct option_group op_group = OPTION_GROUP(op_options, 0);

enum { N_OPTIONS = sizeof op_options / sizeof *op_options };

/* `--flops` is the work of a bare point; FLOPs per element are --per-element. */
static const char *
path_of(const char *dim)
{
	return strcmp(dim, "flops") == 0 ? "per_element" : dim;
}

static struct datum
given(const struct op_in *in, const char *dim)
{
	for (size_t i = 0; i < N_OPTIONS; i++)
		if (strcmp(op_options[i].path, path_of(dim)) == 0)
			return *(const struct datum *)(const void *)((const char *)in + op_options[i].offset);
	return datum_absent();
}

static struct datum *
place_of(struct op_in *in, const char *dim)
{
	for (size_t i = 0; i < N_OPTIONS; i++)
		if (strcmp(op_options[i].path, path_of(dim)) == 0)
			return (struct datum *)(void *)((char *)in + op_options[i].offset);
	return NULL;
}

static bool
has_dimension(enum op_kind kind, const char *path)
{
	for (int i = 0; op_dim_name(kind, i); i++)
		if (strcmp(path_of(op_dim_name(kind, i)), path) == 0)
			return true;
	return false;
}

/* The option of a dimension as people type it: attention takes --heads for its h. */
static const char *
option_of(enum op_kind kind, const char *dim)
{
	static const char *const longer[][2] = {
	    {"b", "batch"}, {"h", "heads"}, {"s", "seq"}, {"c", "context"}, {"d", "head_dim"}, {"kv", "kv_heads"}};
	const bool attends = kind == OP_attention || kind == OP_scores || kind == OP_values;

	for (size_t i = 0; attends && i < sizeof longer / sizeof *longer; i++)
		if (strcmp(longer[i][0], dim) == 0)
			return longer[i][1];
	return path_of(dim);
}

static void
dimensions_of(enum op_kind kind, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	for (int i = 0; op_dim_name(kind, i) && n < size; i++) {
		const char *otherwise = op_dim_default(kind, i);
		n += (size_t)snprintf(buf + n, size - n, "%s%s--%s%s", i ? " " : "", otherwise ? "[" : "",
		    option_of(kind, op_dim_name(kind, i)), otherwise ? "]" : "");
	}
	for (char *p = buf; *p; p++)
		if (*p == '_')
			*p = '-';
}

static bool
check_strangers(struct run *r, enum op_kind kind, const struct op_in *in)
{
	bool ok = true;

	for (size_t i = 0; i < N_OPTIONS; i++) {
		const struct datum d = *(const struct datum *)(const void *)((const char *)in + op_options[i].offset);
		if (!datum_given(d) || has_dimension(kind, op_options[i].path))
			continue;
		char list[200];
		dimensions_of(kind, list, sizeof list);
		diag_error(r->diag, d.from, "%s has no dimension '%s'", op_kind_name(kind), op_options[i].path);
		diag_hint(r->diag, "use %s", list);
		ok = false;
	}
	return ok;
}

bool
op_given(const struct op_in *in)
{
	for (size_t i = 0; i < N_OPTIONS; i++)
		if (datum_given(*(const struct datum *)(const void *)((const char *)in + op_options[i].offset)))
			return true;
	return false;
}

/* Shapes that cannot be. */
static bool
check_shape(struct run *r, const struct op_in *in, const struct op *op)
{
	static const struct {
		int kind;
		const char *small, *large;
		bool divides; /* else it is at most as large */
	} rules[] = {
	    {OP_attention, "kv", "h", true},
	    {OP_attention, "seen", "c", false},
	    {OP_attention_latent, "seen", "c", false},
	    {OP_index_scores, "seen", "c", false},
	    {OP_conv2d, "r", "h", false},
	    {OP_conv2d, "s", "w", false},
	    {OP_conv2d, "groups", "c", true},
	    {OP_conv2d, "groups", "k", true},
	    {OP_pool, "r", "h", false},
	    {OP_pool, "s", "w", false},
	    {OP_ssm_scan, "g", "h", true},
	    {OP_ssm_step, "g", "h", true},
	    {OP_delta_scan, "g", "h", true},
	    {OP_delta_step, "g", "h", true},
	};

	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
		double small = NAN, large = NAN;
		for (int k = 0; rules[i].kind == op->kind && op_dim_name((enum op_kind)op->kind, k); k++) {
			const char *name = op_dim_name((enum op_kind)op->kind, k);
			small = strcmp(name, rules[i].small) == 0 ? op->dim[k] : small;
			large = strcmp(name, rules[i].large) == 0 ? op->dim[k] : large;
		}
		if (isnan(small) || (rules[i].divides ? fmod(large, small) == 0 : small <= large))
			continue;
		diag_error(r->diag, given(in, rules[i].small).from,
		    rules[i].divides ? "%s: --%s %g does not divide --%s %g" : "%s: --%s %g is more than --%s %g",
		    op->name, rules[i].small, small, rules[i].large, large);
		diag_hint(r->diag, "change one of them");
		return false;
	}
	return true;
}

bool
run_op_shape(struct run *r, enum op_kind kind, const struct words *shape, struct op_in *in)
{
	char list[200];
	size_t n = 0;

	for (int i = 0; n < shape->n && op_dim_name(kind, i); i++) {
		struct datum *d = place_of(in, op_dim_name(kind, i)), value;
		const struct word w = shape->list[n];
		if (!d)
			continue;
		if (!run_value(r, w.from, w.text, Q_COUNT, &value))
			return false;
		n++;
		if (datum_given(*d)) {
			diag_error(r->diag, d->from, "dimension '%s' is given twice", path_of(op_dim_name(kind, i)));
			diag_hint(r->diag, "keep one");
			return false;
		}
		*d = value;
	}
	if (n == shape->n)
		return true;
	dimensions_of(kind, list, sizeof list);
	diag_error(r->diag, shape->list[n].from, "%s has %zu dimensions, not %zu", op_kind_name(kind), n, shape->n);
	diag_hint(r->diag, "they are %s", list);
	return false;
}

bool
run_op(struct run *r, enum op_kind kind, const struct op_in *in, double elem_byte, struct op *out)
{
	*out = (struct op){.kind = kind, .name = op_kind_name(kind), .count = 1, .elem_byte = elem_byte};
	if (!check_strangers(r, kind, in))
		return false;
	for (int i = 0; op_dim_name(kind, i); i++) {
		const struct datum d = given(in, op_dim_name(kind, i));
		run_read_from(r, d.from);
		out->dim[i] = d.value;
		/* operands may be none, everything else is at least one */
		if (datum_given(d) && !(d.value > 0) && strcmp(op_dim_name(kind, i), "reads") != 0 &&
		    strcmp(op_dim_name(kind, i), "writes") != 0 && strcmp(op_dim_name(kind, i), "flops") != 0) {
			diag_error(r->diag, d.from, "%s: '%s' must be greater than 0", op_kind_name(kind),
			    path_of(op_dim_name(kind, i)));
			diag_hint(r->diag, "write for example 64");
			return false;
		}
	}
	const int missing = op_fill(out);
	if (missing < 0)
		return check_shape(r, in, out);
	char list[200];
	dimensions_of(kind, list, sizeof list);
	const char *needed = option_of(kind, op_dim_name(kind, missing));
	diag_error(r->diag, (struct source){0}, "%s needs --%s", op_kind_name(kind),
	    strcmp(needed, "head_dim") == 0 ? "head-dim" : needed);
	diag_hint(r->diag, "give %s, or the values in this order", list);
	return false;
}

static struct datum
default_number(double value)
{
	return (struct datum){value, {"default", 0, 0, NULL, false}};
}

/* --- lists ----------------------------------------------------------------------------------------------- */

static void
show_lines(const struct roof *q, const struct machine *m, const struct op *ops, int n, double list_s)
{
	struct sheet *sh = q->run->sheet;

	for (int i = 0; i < n; i++)
		SCOPE_I (sh, "operators", i) {
			TELL(sh, operator, ops[i].name);
			const struct point p = roofline_line(sh, &ops[i], m->peak.value, m->gpu->mem_byte_per_s.value);
			CALL(sh, share_frac, roofline_share(sh, p.total_s, list_s));
			SHOW(sh, n_times, count);
			SHOW(sh, work_flop, work_flop);
			SHOW(sh, traffic_byte, traffic_byte);
			SHOW(sh, intensity_flop_per_byte, intensity_flop_per_byte);
			TELL(sh, bottleneck, roofline_bound(p.intensity_flop_per_byte, p.ridge_flop_per_byte));
			SHOW(sh, roof_s, roof_s);
			SHOW(sh, share_frac, share_frac);
			if (!kernel_inside_experts(&m->kernel, ops, n, i))
				roof_show_calibrated(q, m, &ops[i], p.roof_s, false);
		}
}

/* The list on one machine; seconds at its roofs. */
static double
show_on(const struct roof *q, const struct machine *m, const struct op *ops, int n, double list_flop)
{
	struct sheet *sh = q->run->sheet;

	TAKE(sh, peak_flop_per_s, m->peak);
	TAKE(sh, mem_byte_per_s, m->gpu->mem_byte_per_s);
	CALL(sh, ridge_flop_per_byte, ridge_point(sh, peak_flop_per_s, mem_byte_per_s));
	SUM(sh, list_s, i, n, roofline_op(sh, &ops[i], peak_flop_per_s, mem_byte_per_s));
	CALL(sh, list_peak_frac, roofline_rate_frac(sh, list_flop, list_s, peak_flop_per_s));
	SHOW(sh, ridge_flop_per_byte, ridge_flop_per_byte);
	SHOW(sh, list_s, list_roof_s);
	SHOW(sh, list_peak_frac, list_frac);
	roof_show_calibrated_list(q, m, ops, n, list_s);
	return list_s;
}

static void
compare_list(const struct roof *q, const struct op *ops, int n, double list_flop)
{
	struct sheet *sh = q->run->sheet;

	for (size_t i = 0; i < q->n; i++)
		SCOPE_I (sh, "gpus", i) {
			const struct machine *m = &q->machines[i];
			TELL(sh, gpu, m->gpu->id);
			show_on(q, m, ops, n, list_flop);
		}
}

static enum answer
list_answer(const struct roof *q, const struct roofline_in *in, const struct op *ops, int n)
{
	struct sheet *sh = q->run->sheet;
	const struct machine *m = &q->machines[0];

	SUM(sh, list_flop, i, n, op_total_flop(sh, &ops[i]));
	SUM(sh, list_byte, i, n, op_total_byte(sh, &ops[i]));
	SHOW(sh, list_flop, list_flop);
	SHOW(sh, list_byte, list_byte);
	if (q->n > 1) {
		compare_list(q, ops, n, list_flop);
		return ANSWERED;
	}
	const double list_s = show_on(q, m, ops, n, list_flop);
	roof_warn_alignment(q, m, ops, n, list_s);
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
			run_warn(
			    q->run, "sequence length %g exceeds the model's context length %g", in->seq.value, held);
		return in->seq.value;
	}
	if (w->kind != MODEL_OPERATORS)
		run_assume_value(q->run, "seq", "%g", fmin(2048, held));
	return fmin(2048, held);
}

static bool
check_list(const struct roof *q, const struct roofline_in *in, const struct workload *w, enum phase phase,
    const struct layout *layout)
{
	const struct datum degrees[] = {in->layout.pp, in->layout.cp, in->layout.ep, in->layout.etp};
	struct run *r = q->run;

	if (expand_missing(w))
		return roof_refuse(r,
		    arena_printf(r->arena, "the file of %s does not give %s", w->name, expand_missing(w)),
		    "add it to the file, or --set it");
	if (phase == PHASE_DECODE && w->kind != MODEL_DECODER && w->kind != MODEL_ENCODER_DECODER)
		return roof_refuse(r, "--phase decode needs a decoder model", "leave --phase out");
	if (phase != PHASE_PREFILL && in->cached.value > 0)
		return roof_refuse(
		    r, "--cached needs --phase prefill", "with --phase decode, --seq is the KV cache length");
	for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++)
		if (datum_given(degrees[i]) && degrees[i].value > 1)
			return roof_refuse(
			    r, "the operators are those of one tensor-parallel GPU", "use only layout.tp");
	if (w->kind == MODEL_OPERATORS && layout->tp > 1)
		return roof_refuse(r, "a list of operators cannot be split", "leave --layout out");
	return true;
}

enum answer
roof_workload(struct roof *q, const struct roofline_in *in, const struct workload *w)
{
	struct layout layout;
	const bool whole = run_whole(q->run, "--batch", in->batch, 1) & run_whole(q->run, "--seq", in->seq, 1) &
	    run_whole(q->run, "--cached", in->cached, 0);

	if (!roof_peaks(q, in->dtype) || !whole || !run_layout(q->run, &in->layout, datum_absent(), w, &layout))
		return REFUSED;
	if (w->kind != MODEL_OPERATORS && w->kind != MODEL_VISION)
		run_reads(q->run, &in->seq, &in->phase, &in->unfused, NULL);
	const enum phase phase = phase_of(in->phase.text);
	if (phase == PHASE_PREFILL && w->kind == MODEL_DECODER)
		run_reads(q->run, &in->cached, NULL);
	if (!check_list(q, in, w, phase, &layout))
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
enum answer
roof_layer(struct roof *q, const struct roofline_in *in)
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
	run_reads(r, &in->hidden, &in->heads, &in->kv_heads, &in->mlp_width, &in->gated, NULL);
	const struct datum heads = datum_given(in->heads) ? in->heads : one;
	const struct datum kv_heads = datum_given(in->kv_heads) ? in->kv_heads : heads;
	if (fmod(in->hidden.value, heads.value) != 0 || fmod(heads.value, kv_heads.value) != 0) {
		diag_error(r->diag, heads.from, "hidden %g, heads %g and kv_heads %g do not divide", in->hidden.value,
		    heads.value, kv_heads.value);
		diag_hint(r->diag, "heads must divide the hidden size, and KV heads the heads");
		return REFUSED;
	}
	if (!datum_given(in->heads))
		run_assume_as(r, "heads", "1", "heads ignored: one head of the hidden size");
	if (!datum_given(in->mlp_width))
		run_assume_value(r, "mlp-width", "%g", 4 * in->hidden.value);
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
	return roof_workload(q, in, &layer);
}
