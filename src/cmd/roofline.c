/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge roofline: roofline position of a kernel, a layer or a model. */
#include "ask/roofline/roofline.h"
#include "base/base.h"
#include "model/kernel/kernel.h"

#include <string.h>

#define THIS struct roofline_in
static const struct option roofline_options[] = {ROOFLINE_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct op_in
static const struct option op_rows[] = {OP_OPTIONS(OPTION_ROW)};
#undef THIS

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
	r->title = "shared encoder versus one per task";
	TAKE(sh, encoder_flop, in->encoder);
	TAKE(sh, n_cameras, in->cameras);
	TAKE(sh, n_tasks, in->tasks);
	TAKE(sh, head_flop, in->head);
	CALL(sh, separate_flop, encoder_separate(sh, encoder_flop, n_cameras, n_tasks));
	CALL(sh, shared_flop, encoder_shared(sh, encoder_flop, n_cameras, n_tasks, head_flop));
	CALL(sh, saved_frac, encoder_saving(sh, shared_flop, separate_flop));
	SHOW(sh, separate_flop, separate_flop);
	SHOW(sh, shared_flop, shared_flop);
	SHOW(sh, saved_frac, saved_frac);
	return ANSWERED;
}

/* --- the query ------------------------------------------------------------------------------------------ */

/* Inputs that belong to another question are refused rather than ignored. */
static bool
check_strangers(struct run *r, const struct roofline_in *in, bool is_operator, bool is_list)
{
	const bool point = datum_given(in->flops) || datum_given(in->bytes);

	if (point && datum_given(in->intensity))
		return roof_refuse(r, "--intensity excludes --flops with --bytes", "leave --intensity out");
	if ((point || datum_given(in->intensity)) && in->op.text)
		return roof_refuse(r, "an operator or model excludes --flops and --bytes",
		    "keep either the operand or --flops and --bytes");
	if (!is_operator && (op_given(&in->dims) || in->shape.n))
		return roof_refuse(r, "dimensions need an operator", "ridge roofline gemm 4096 4096 4096 --gpu h100");
	if (datum_given(in->time) && !point && !is_operator && !is_list)
		return roof_refuse(r, "--time needs an operator, a model, or --flops and --bytes",
		    "add --flops and --bytes, an operator or a model");
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

/* Operators by the names of the functions that frameworks have for them. */
static enum op_kind
kind_of(const char *name)
{
	static const struct {
		const char *name;
		enum op_kind kind;
	} functions[] = {{"matmul", OP_gemm}, {"layernorm", OP_norm}, {"rmsnorm", OP_norm}, {"gelu", OP_elementwise},
	    {"silu", OP_elementwise}, {"relu", OP_elementwise}};

	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (strcmp(functions[i].name, name) == 0)
			return functions[i].kind;
	return op_kind_find(name);
}

/* Attention takes its dimensions by the names that layers and models have for them, too. */
static void
name_dimensions(struct run *r, const struct roofline_in *in, enum op_kind kind, struct op_in *dims)
{
	const struct {
		struct datum *dim;
		const struct datum *named;
	} pairs[] = {{&dims->b, &in->batch}, {&dims->h, &in->heads}, {&dims->kv, &in->kv_heads}, {&dims->s, &in->seq}};
	const bool has_kv = kind == OP_attention || kind == OP_scores || kind == OP_values;

	if (!has_kv && kind != OP_attention_latent && kind != OP_index_scores)
		return;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		if (!datum_given(*pairs[i].named) || datum_given(*pairs[i].dim) || (i == 2 && !has_kv))
			continue;
		*pairs[i].dim = *pairs[i].named;
		run_reads(r, pairs[i].named, NULL);
	}
}

static enum answer
operator_answer(struct roof *q, const struct roofline_in *in, enum op_kind kind)
{
	struct op_in dims = in->dims;

	if (kind == OP_norm)
		run_reads(q->run, &in->unfused, NULL);
	if (!run_op_shape(q->run, kind, &in->shape, &dims))
		return REFUSED;
	name_dimensions(q->run, in, kind, &dims);
	return roof_operator(q, in, kind == OP_norm && in->unfused ? OP_norm_unfused : kind, &dims);
}

static enum answer
measured_answer(struct roof *q, const struct roofline_in *in)
{
	if (q->n > 1 || in->op.text || datum_given(in->flops) || datum_given(in->intensity)) {
		roof_refuse(q->run, "--measurements takes only --gpu", "ridge roofline --measurements FILE --gpu h100");
		return REFUSED;
	}
	run_reads(q->run, &in->measurements, NULL);
	return roof_measurements(q, in->measurements);
}

static enum answer
roofline_answer(struct roof *q, const struct roofline_in *in)
{
	struct run *r = q->run;
	const char *op = in->op.text;
	const enum op_kind kind = op ? kind_of(op) : OP_NONE;

	run_reads(r, &in->op, NULL);
	if (op && kind == OP_NONE && means_operator(r, in->op))
		return REFUSED;
	if (!check_strangers(r, in, kind != OP_NONE, op && kind == OP_NONE))
		return REFUSED;
	if (op && strcmp(op, "sharing") == 0)
		return sharing_answer(r, in);
	struct word gpu;
	if (!run_gpu_name(r, in->gpu.n ? in->gpu.list[0] : (struct word){0}, in->system, &gpu))
		return REFUSED;
	if (!roof_machines(q, in->gpu.n || !gpu.text ? &in->gpu : &(struct words){1, &gpu}, in->backend))
		return REFUSED;
	if (in->measurements.text)
		return measured_answer(q, in);
	if (!op && datum_given(in->intensity))
		return roof_bare_intensity(q, in);
	if (!op && (datum_given(in->flops) || datum_given(in->bytes)))
		return roof_bare_point(q, in);
	if (!op)
		return roof_ridges(q, in);
	if (q->n)
		run_reads(r, &in->backend, NULL);
	if (kind != OP_NONE)
		return operator_answer(q, in, kind);
	if (strcmp(op, "layer") == 0)
		return roof_layer(q, in);
	const struct workload *w = run_model(r, in->op);
	return w ? roof_workload(q, in, w) : REFUSED;
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
    {"roofline gemm 4096 4096 4096 --gpu h100", "one GEMM: m, n, k", 0},
    {"roofline --gpu v100,a100,h100,b200", "ridge points of four GPU generations", 0},
    {"roofline layer --batch 4 --seq 2048 --hidden 4096 --heads 32 --unfused --gpu a100",
        "a layer with unfused attention, operator by operator", 0},
    {"roofline llama3-70b --phase decode --batch 32 --seq 4096 --layout tp=8 --gpu h100",
        "decode step, operator by operator", 0},
    {"roofline --flops 1.1TFLOP --bytes 2.5GB --time 4ms --gpu a100", "measured kernel against its roofline", 0},
    {"roofline gemm --set m=8192,k=8192 --n 1 --gpu a100,h100,h200", "gain from memory bandwidth for a GEMV", 0},
};

static const struct input_needs roofline_needs[] = {
    {"backend", "it needs an operator or a model"},
    {"cached", "it applies to --phase prefill of a model"},
    {"batch", "it applies to a model, a layer or attention; other operators have --m, --b or --n"},
    {"seq", "it applies to a model, a layer or attention"},
    {"phase", "it applies to language models"},
    {"unfused", "it applies to attention of a model or layer, and to norm"},
    {"hidden", "it applies to 'ridge roofline layer'"},
    {"heads", "it applies to 'ridge roofline layer' and attention"},
    {"kv_heads", "it applies to 'ridge roofline layer' and attention"},
    {"mlp_width", "it applies to 'ridge roofline layer'"},
    {"gated", "it applies to 'ridge roofline layer'"},
};

const struct command roofline_command = {
    .name = "roofline",
    .section = "Performance",
    .summary = "Roofline position of a kernel, a layer or a model",
    .operands = "op shape...",
    .usage = "[OPERATOR [N ...]|layer|sharing|MODEL|JOB]",
    COUNTED(groups, roofline_groups),
    COUNTED(examples, roofline_examples),
    COUNTED(needs, roofline_needs),
    .input_size = sizeof(struct roofline_in),
    .run = roofline_run,
};
