/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge launch: kernel launch overhead, and the gain from CUDA graphs and fusion. */
#include "ask/bind/bind.h"
#include "ask/roofline/roofline.h"
#include "cli/cli.h"
#include "model/calc/calc.h"
#include "model/layer/layer.h"

#include <stdlib.h>
#include <string.h>

#define LAUNCH_OPTIONS(X)                                                                                              \
	X('m', model, "model", "model", WORD, "MODEL", "model", NULL, "model whose operators are counted")             \
	X(0, launch, "launch", "launch", TIME, "TIME", "", NULL,                                                       \
	    "launch time per kernel (default: as measured for --gpu, else 5 us; up to 20 us from Python)")             \
	X(0, kernels, "kernels", "kernels", COUNT, "N", "", NULL, "kernels per step")                                  \
	X(0, layers, "layers", "layers", COUNT, "N", "", NULL, "number of layers, with --ops")                         \
	X(0, ops, "ops", "ops", COUNT, "N", "", NULL, "kernels per layer")                                             \
	X(0, gpu_time, "gpu-time", "gpu_time", TIME, "TIME", "", NULL,                                                 \
	    "GPU time per step (default with a model: its roofline time)")                                             \
	X(0, blocking, "blocking", "blocking", FLAG, "", "", NULL, "synchronize after every kernel")                   \
	X(0, graph, "graph", "graph", TIME, "TIME", "", NULL, "launch time per kernel inside a CUDA graph")            \
	X(0, graph_launch, "graph-launch", "graph_launch", TIME, "TIME", "", "0s", "launch time of the graph itself")  \
	X(0, fuse, "fuse", "fuse", WORD, "N:M", "", NULL, "fusion ratio: N kernels become M")                          \
	X('g', gpu, "gpu", "gpu", WORD, "NAME", "gpu", NULL, "GPU, for roofline time and memory bandwidth")            \
	X(0, phase, "phase", "phase", CHOICE, "PHASE", "prefill|decode|train", "decode", "phase of the model's step")  \
	X('b', batch, "batch", "batch", COUNT, "N", "", "1", "batch size: sequences or images of the model's step")    \
	X(0, seq, "seq", "seq", COUNT, "N", "", "2048", "sequence length of the model's step")                         \
	X(0, dtype, "dtype", "dtype", CHOICE, "TYPE", DTYPE_CHOICE(P), "bf16", "operand dtype")                        \
	X(0, chain, "chain", "chain", WORDS, "OP,...", "gemm|norm|norm_unfused|softmax|elementwise|elementwise:2",     \
	    NULL,                                                                                                      \
	    "operators to fuse, each reading the result of the previous one; elementwise:2 reads a second operand")    \
	X(0, rows, "rows", "rows", COUNT, "N", "", NULL, "chain: rows (tokens)")                                       \
	X(0, width, "width", "width", COUNT, "N", "", NULL, "chain: elements per row")                                 \
	X('k', k, "k", "k", COUNT, "N", "", NULL, "chain: k dimension of its GEMM (default: --width)")

struct launch_in {
	LAUNCH_OPTIONS(OPTION_MEMBER)
};

static bool
bind_op(struct run *r, const struct launch_in *in, struct word w, struct op *out)
{
	const char *colon = strchr(w.text, ':');
	const char *name = colon ? arena_copy(r->arena, w.text, (size_t)(colon - w.text)) : w.text;
	const enum op_kind kind = op_kind_find(name);
	const double rows = in->rows.value, width = in->width.value;
	struct datum reads = {1, w.from};

	if (kind == OP_NONE || !fusion_takes(kind)) {
		diag_error(r->diag, w.from,
		    kind == OP_NONE ? "'%s' is not an operator" : "'%s' cannot be fused in a chain", name);
		diag_hint(r->diag, "use gemm, norm, norm_unfused, softmax and elementwise");
		return false;
	}
	if (colon && (kind != OP_elementwise || !run_value(r, w.from, colon + 1, Q_COUNT, &reads)))
		return kind == OP_elementwise
		    ? false
		    : run_refuse(r, w.from, "only elementwise takes several operands", "elementwise:2");
	*out = (struct op){.kind = (int)kind,
	    .name = op_kind_name(kind),
	    .count = 1,
	    .elem_byte = dtype_byte(dtype_find(in->dtype.text))};
	for (int i = 0; op_dim_name(kind, i); i++)
		out->dim[i] = NAN;
	out->dim[0] = kind == OP_elementwise ? rows * width : rows;
	out->dim[1] = kind == OP_elementwise ? reads.value : width;
	if (kind == OP_gemm)
		run_reads(r, &in->k, NULL);
	if (kind == OP_gemm)
		out->dim[2] = datum_given(in->k) ? in->k.value : width;
	return op_fill(out) < 0;
}

static bool
bind_chain(struct run *r, const struct launch_in *in, struct op *ops)
{
	if (!datum_given(in->rows) || !datum_given(in->width))
		return run_refuse(
		    r, in->chain.list[0].from, "--chain needs the tensor size", "add --rows 8192 --width 4096");
	if (!(run_whole(r, "rows", in->rows, 1) & run_whole(r, "width", in->width, 1) & run_whole(r, "k", in->k, 1)))
		return false;
	run_reads(r, &in->chain, &in->rows, &in->width, NULL);
	if (in->chain.n < 2)
		return run_refuse(r, in->chain.list[0].from, "a chain needs two operators or more",
		    "write for example --chain gemm,norm,elementwise");
	for (size_t i = 0; i < in->chain.n; i++) {
		if (!bind_op(r, in, in->chain.list[i], &ops[i]))
			return false;
		if (i && ops[i].kind == OP_gemm)
			return run_refuse(r, in->chain.list[i].from, "a gemm can only be the first operator of a chain",
			    "write for example --chain gemm,norm,elementwise");
	}
	return true;
}

static void
show_chain_time(struct run *r, const struct launch_in *in, const struct gpu *gpu, double apart_byte,
    double together_byte, double n_saved)
{
	struct sheet *sh = r->sheet;

	if (gpu) {
		TAKE(sh, mem_byte_per_s, gpu->mem_byte_per_s);
		CALL(sh, apart_s, fusion_time(sh, apart_byte, mem_byte_per_s));
		SHOW(sh, apart_s, unfused_s);
		CALL(sh, together_s, fusion_time(sh, together_byte, mem_byte_per_s));
		SHOW(sh, together_s, fused_s);
		CALL(sh, speedup, scale_speedup_time(sh, apart_s, together_s));
		SHOW(sh, speedup, speedup);
	}
	if (datum_given(in->launch)) {
		TAKE(sh, launch_s, in->launch);
		CALL(sh, saved_host_s, launch_host(sh, n_saved, launch_s));
		SHOW(sh, saved_host_s, saved_host_s);
	}
}

/* Show the traffic and time that fusing --chain saves. */
static enum answer
launch_chain(struct run *r, const struct launch_in *in)
{
	struct op *ops = ARENA_ARRAY(r->arena, struct op, in->chain.n);
	const struct chain c = {(int)in->chain.n, ops};
	const struct gpu *gpu = NULL;
	struct sheet *sh = r->sheet;

	if (!bind_chain(r, in, ops) || (in->gpu.text && !(gpu = run_gpu(r, in->gpu))))
		return REFUSED;
	run_word(r, "dtype", in->dtype);
	if (ops[0].kind == OP_gemm && !datum_given(in->k))
		run_assume_value(r, "k", "%g", in->width.value);
	r->title = "Operator fusion";
	for (int i = 0; i < c.n; i++)
		SCOPE_I (sh, "chain", i) {
			TELL(sh, operator, in->chain.list[i].text);
			CALL(sh, traffic_byte, op_total_byte(sh, &ops[i]));
			SHOW(sh, traffic_byte, traffic_byte);
			CALL(sh, own_byte, fusion_own(sh, &ops[i]));
			SHOW(sh, own_byte, own_byte);
		}
	TAKE(sh, n_kernels, c.n);
	SHOW(sh, n_kernels, n_kernels);
	TAKE(sh, n_fused, 1);
	CALL(sh, fewer, launch_fewer(sh, n_kernels, n_fused));
	SHOW(sh, fewer, fewer);
	CALL(sh, apart_byte, fusion_apart(sh, &c));
	SHOW(sh, apart_byte, unfused_byte);
	CALL(sh, together_byte, fusion_together(sh, &c));
	SHOW(sh, together_byte, fused_byte);
	CALL(sh, saved_byte, fusion_saved(sh, apart_byte, together_byte));
	SHOW(sh, saved_byte, saved_byte);
	CALL(sh, saved_frac, fusion_saved_frac(sh, apart_byte, together_byte));
	SHOW(sh, saved_frac, saved_frac);
	show_chain_time(r, in, gpu, apart_byte, together_byte, c.n - 1);
	if (ops[0].kind == OP_gemm)
		run_warn(r, "fusing a norm after a gemm needs whole rows on chip");
	return ANSWERED;
}

#define THIS struct launch_in
static const struct option launch_options[] = {LAUNCH_OPTIONS(OPTION_ROW)};
#undef THIS

#define SET_DATUM(sh, name, d) ((name) = sheet_take_datum((sh), #name, #d, (d)))

/* Number of kernels and GPU time of a step. */
struct step {
	double n_launches, device_s; /* device_s NaN: not known */
};

static bool
check(struct run *r, const struct launch_in *in)
{
	const bool counted = datum_given(in->kernels), per_layer = datum_given(in->ops);

	if (counted + per_layer > 1)
		return run_refuse(r, in->kernels.from, "--kernels and --ops exclude each other", "keep one of them");
	if (per_layer && !in->model.text && !datum_given(in->layers))
		return run_refuse(r, in->ops.from, "--ops needs the number of layers", "add --layers 32");
	if (datum_given(in->layers) && !per_layer)
		return run_refuse(r, in->layers.from, "--layers needs the kernels per layer", "add --ops 50");
	if (!counted && !per_layer && !in->model.text)
		return run_refuse(r, (struct source){0}, "number of kernels missing",
		    "give --layers 32 --ops 50, --kernels 1600, a model, or a chain to fuse: --chain "
		    "gemm,norm,elementwise");
	return run_positive(r, "launch", in->launch) & run_positive(r, "gpu-time", in->gpu_time) &
	    run_positive(r, "graph", in->graph) & run_whole(r, "kernels", in->kernels, 1) &
	    run_whole(r, "layers", in->layers, 1) & run_whole(r, "ops", in->ops, 1) &
	    run_whole(r, "batch", in->batch, 1) & run_whole(r, "seq", in->seq, 1);
}

/* --- the operators of a model ---------------------------------------------------------------------------- */

static bool
bind_roof(struct run *r, const struct launch_in *in, struct roof *q)
{
	const struct words names = {in->gpu.text ? 1 : 0, (struct word *)&in->gpu};

	*q = (struct roof){.run = r};
	run_word(r, "dtype", in->dtype);
	return roof_machines(q, &names, (struct word){0}) && roof_peaks(q, in->dtype);
}

/* Its list as launched, and the time at the roof. */
static bool
model_step(struct run *r, const struct launch_in *in, struct step *out)
{
	const struct workload *w = run_model(r, in->model);
	struct sheet *sh = r->sheet;

	if (!w)
		return false;
	const bool decode = strcmp(in->phase.text, "decode") == 0, train = strcmp(in->phase.text, "train") == 0;
	if (decode && w->kind != MODEL_DECODER)
		return run_refuse(r, in->phase.from, "--phase decode needs a decoder model", "use --phase prefill");
	run_word(r, "phase", in->phase);
	/* how many kernels there are does not depend on what they work on */
	const bool timed = !datum_given(in->gpu_time) && in->gpu.text;
	double n_sequences = in->batch.value, seq_token = in->seq.value;
	if (timed) {
		SET_DATUM(sh, n_sequences, in->batch);
		SET_DATUM(sh, seq_token, in->seq);
	}
	const struct shape shape = {.phase = decode ? PHASE_DECODE
	        : train                             ? PHASE_TRAIN
	                                            : PHASE_PREFILL,
	    .batch = n_sequences,
	    .n_new = decode               ? 1
	        : w->kind == MODEL_VISION ? vision_tokens(NULL, w)
	                                  : seq_token,
	    .n_cached = decode ? seq_token : 0,
	    .tp = 1,
	    .elem_byte = dtype_byte(dtype_find(in->dtype.text))};
	struct op *ops = ARENA_ARRAY(r->arena, struct op, (size_t)expand_room(w));
	const int n = expand(w, &shape, ops);
	if (datum_given(in->ops)) {
		TAKE(sh, n_layers, w->n_layers);
		TAKE(sh, n_kernels_per_layer, in->ops);
		CALL(sh, n_launches, launch_count(sh, n_layers, n_kernels_per_layer));
		out->n_launches = n_launches;
	} else {
		SUM(sh, n_launches, i, n, launch_times(sh, &ops[i]));
		out->n_launches = n_launches;
		run_warn(r,
		    "one kernel per operator: eager frameworks launch more (RoPE, residual adds, copies); give kernels "
		    "per layer with --ops");
	}
	out->device_s = NAN;
	if (!timed)
		return true;
	struct roof q;
	if (!bind_roof(r, in, &q))
		return false;
	TAKE(sh, peak_flop_per_s, q.machines[0].peak);
	TAKE(sh, mem_byte_per_s, q.machines[0].gpu->mem_byte_per_s);
	SUM(sh, device_s, i, n, roofline_op(sh, &ops[i], peak_flop_per_s, mem_byte_per_s));
	out->device_s = device_s;
	run_assume(r, "GPU time is the roofline time");
	return true;
}

static bool
bind_step(struct run *r, const struct launch_in *in, struct step *out)
{
	struct sheet *sh = r->sheet;

	*out = (struct step){NAN, NAN};
	if (in->model.text && !datum_given(in->kernels)) {
		if (!model_step(r, in, out))
			return false;
	} else if (datum_given(in->kernels)) {
		TAKE(sh, n_launches, in->kernels);
		out->n_launches = n_launches;
	} else {
		TAKE(sh, n_layers, in->layers);
		TAKE(sh, n_kernels_per_layer, in->ops);
		CALL(sh, n_launches, launch_count(sh, n_layers, n_kernels_per_layer));
		out->n_launches = n_launches;
	}
	if (datum_given(in->gpu_time)) {
		TAKE(sh, device_s, in->gpu_time);
		out->device_s = device_s;
	}
	return true;
}

/* --- a way of launching ---------------------------------------------------------------------------------- */

/* Show CPU launch time against GPU time; return the step time, or the CPU time if that is all there is. */
static double
show_way(struct run *r, const struct launch_in *in, const struct step *s, double host_s)
{
	struct sheet *sh = r->sheet;
	const double device_s = s->device_s;
	double step_s = host_s;

	SHOW(sh, host_s, host_s);
	if (isnan(device_s))
		return step_s;
	if (in->blocking)
		SET_CALL(sh, step_s, launch_step_blocking(sh, host_s, device_s));
	else
		SET_CALL(sh, step_s, launch_step(sh, host_s, device_s));
	SHOW(sh, step_s, step_s);
	CALL(sh, exposed_s, launch_exposed(sh, step_s, device_s));
	SHOW(sh, exposed_s, gpu_idle_s);
	CALL(sh, idle_frac, launch_idle(sh, exposed_s, step_s));
	SHOW(sh, idle_frac, gpu_idle_frac);
	TELL(sh, bottleneck, host_s > device_s ? "host-bound" : "device-bound");
	return step_s;
}

static void
show_gain(struct run *r, double base_s, double time_s)
{
	struct sheet *sh = r->sheet;

	CALL(sh, speedup, scale_speedup_time(sh, base_s, time_s));
	SHOW(sh, speedup, speedup);
}

/* `3:1`. */
static bool
read_fusion(struct run *r, const struct launch_in *in, struct datum *before, struct datum *after)
{
	const char *colon = strchr(in->fuse.text, ':');

	if (!colon)
		return run_refuse(
		    r, in->fuse.from, "--fuse must be N:M", "write --fuse 3:1 for three kernels fused into one");
	const char *first = arena_copy(r->arena, in->fuse.text, (size_t)(colon - in->fuse.text));
	if (!run_value(r, in->fuse.from, first, Q_COUNT, before) ||
	    !run_value(r, in->fuse.from, colon + 1, Q_COUNT, after) ||
	    !bounds_check(r->diag, in->fuse.from, "fuse", Q_COUNT, before->value) ||
	    !bounds_check(r->diag, in->fuse.from, "fuse", Q_COUNT, after->value))
		return false;
	if (after->value > before->value)
		return run_refuse(r, in->fuse.from, "--fuse N:M needs N of at least M", "write for example --fuse 3:1");
	return true;
}

/* One kernel after the other, in the answer's own scope; returns the step. */
static double
show_eager(struct run *r, const struct launch_in *in, const struct step *s)
{
	struct sheet *sh = r->sheet;

	TAKE(sh, n_kernels, s->n_launches);
	SHOW(sh, n_kernels, n_kernels);
	TAKE(sh, launch_s, in->launch);
	CALL(sh, host_s, launch_host(sh, n_kernels, launch_s));
	return show_way(r, in, s, host_s);
}

static void
show_graph(struct run *r, const struct launch_in *in, const struct step *s, double base)
{
	struct sheet *sh = r->sheet;
	struct launch_in graph = *in;

	graph.blocking = false; /* the host launches the graph, not its kernels */
	TELL(sh, variant, "CUDA graph");
	TAKE(sh, n_kernels, s->n_launches);
	SHOW(sh, n_kernels, n_kernels);
	TAKE(sh, node_s, in->graph);
	TAKE(sh, graph_s, in->graph_launch);
	CALL(sh, host_s, launch_graph(sh, n_kernels, node_s, graph_s));
	show_gain(r, base, show_way(r, &graph, s, host_s));
}

static void
show_fused(struct run *r, const struct launch_in *in, const struct step *s, double base, const struct datum *fusion)
{
	struct sheet *sh = r->sheet;
	const double n_launches = s->n_launches;

	TELL(sh, variant, arena_printf(r->arena, "fused %s", in->fuse.text));
	TAKE(sh, n_before, fusion[0]);
	TAKE(sh, n_after, fusion[1]);
	CALL(sh, n_kernels, launch_fused(sh, n_launches, n_before, n_after));
	SHOW(sh, n_kernels, n_kernels);
	TAKE(sh, launch_s, in->launch);
	CALL(sh, host_s, launch_host(sh, n_kernels, launch_s));
	show_gain(r, base, show_way(r, in, s, host_s));
}

/* Warnings about the results. */
static void
show_limits(struct run *r, const struct launch_in *in, const struct step *s)
{
	struct sheet *sh = r->sheet;
	const double n_launches = s->n_launches, device_s = s->device_s;
	const double launch_s = in->launch.value;

	if (datum_given(in->ops)) {
		TAKE(sh, n_ops, in->ops);
		CALL(sh, layer_s, launch_host(sh, n_ops, launch_s));
		SHOW(sh, layer_s, layer_s);
	}
	if (datum_given(in->graph)) {
		TAKE(sh, node_s, in->graph);
		CALL(sh, launch_gain, scale_speedup_time(sh, launch_s, node_s));
		SHOW(sh, launch_gain, launch_gain);
	}
	if (isnan(device_s))
		return;
	CALL(sh, kernel_s, launch_kernel(sh, device_s, n_launches));
	SHOW(sh, kernel_s, mean_kernel_s);
	CALL(sh, n_hidden, launch_hidden(sh, device_s, launch_s));
	SHOW(sh, n_hidden, n_hidden);
	if (s->n_launches > n_hidden && !in->blocking)
		run_warn(r, "host-bound: use larger batches, CUDA graphs or fusion; a faster GPU gains nothing");
}

/* Defaults: as measured with this GPU, else typical values. */
static bool
add_measured(struct run *r, struct launch_in *in)
{
	struct run aside = *r; /* the GPU counts as read where something of it is taken */

	aside.reads = NULL;
	const struct gpu *gpu = in->gpu.text ? run_gpu(&aside, in->gpu) : NULL;
	const struct calibration *c = gpu ? run_calibration(r, gpu->id, NULL) : NULL;

	if (in->gpu.text && !gpu)
		return false;
	if (c && c->has_launch) {
		const struct launch_calibration *l = &c->launch;
		if (!datum_given(in->launch) || (!datum_given(in->graph) && datum_given(l->graph_kernel_s)))
			(void)run_gpu(r, in->gpu);
		if (!datum_given(in->launch))
			in->launch = datum_given(l->submit_s) ? l->submit_s : l->stream_kernel_s;
		if (!datum_given(in->graph) && datum_given(l->graph_kernel_s)) {
			in->graph = l->graph_kernel_s;
			if (!(in->graph_launch.value > 0) && datum_given(l->graph_base_s))
				in->graph_launch = l->graph_base_s;
		}
	}
	if (!datum_given(in->launch)) {
		if (in->gpu.text && run_gpu(r, in->gpu))
			run_warn(r, "no launch times measured on %s: typical values used", gpu->id);
		in->launch = (struct datum){5e-6, {"default", 0, 0, NULL, false}};
		run_assume_as(
		    r, "launch", "5us", "launch 5 us: published figures are 3 to 10 us, and up to 20 us from Python");
	}
	return true;
}

static enum answer
launches(struct run *r, const struct launch_in *asked)
{
	struct launch_in whole = *asked;
	const struct launch_in *in = &whole;
	struct sheet *sh = r->sheet;
	struct datum fusion[2];
	struct step s;

	if (!add_measured(r, &whole) || !check(r, in) ||
	    (in->fuse.text && !read_fusion(r, in, &fusion[0], &fusion[1])) || !bind_step(r, in, &s))
		return REFUSED;
	r->title = "Kernel launches";
	if (!isnan(s.device_s)) {
		run_reads(r, &asked->blocking, NULL);
		TAKE(sh, gpu_s, s.device_s);
		SHOW(sh, gpu_s, device_s);
	}
	const double base = show_eager(r, in, &s);
	show_limits(r, in, &s);
	if (datum_given(in->graph))
		SCOPE_I (sh, "variants", 0)
			show_graph(r, in, &s, base);
	if (in->fuse.text)
		SCOPE_I (sh, "variants", 1)
			show_fused(r, in, &s, base, fusion);
	return ANSWERED;
}

/* --- the command ----------------------------------------------------------------------------------------- */

static enum answer
launch_run(struct run *r, const void *input)
{
	const struct launch_in *in = input;

	if (in->chain.n == 0)
		return launches(r, in);
	if (in->model.text || datum_given(in->kernels) || datum_given(in->ops)) {
		run_refuse(r, in->chain.list[0].from, "--chain cannot be combined with the kernels of a step",
		    "use one of them");
		return REFUSED;
	}
	return launch_chain(r, in);
}

static const struct option_group launch_groups[] = {OPTION_GROUP(launch_options, 0)};

static const struct example launch_examples[] = {
    {"launch --layers 32 --ops 50 --launch 5us", "CPU launch time of a step", 0},
    {"launch --layers 32 --ops 50 --launch 5us --gpu-time 6ms --graph 1us --graph-launch 10us --fuse 3:1",
        "host-bound: gain from a CUDA graph and from fusion", 0},
    {"launch llama3-8b --gpu h100 --batch 1 --launch 5us --ops 30 --graph 1us", "decode step", 0},
    {"launch --chain gemm,norm,elementwise --rows 8192 --width 4096 --gpu a100 --launch 5us",
        "traffic saved by fusing GEMM, norm and activation", 0},
    {"launch --layers 32 --ops 50 --gpu-time 12ms --sweep launch=2us,5us,10us,20us", "sweep over the launch time", 0},
};

static const struct input_needs launch_needs[] = {
    {"gpu", "it needs a model, or --launch left out"},
    {"batch", "it needs a model with --gpu, without --gpu-time"},
    {"seq", "it needs a model with --gpu, without --gpu-time"},
    {"dtype", "it needs a model or --chain, with --gpu"},
    {"phase", "it needs a model"},
    {"blocking", "it needs --gpu-time 6ms"},
    {"graph_launch", "it needs --graph 1us"},
    {"rows", "it needs --chain gemm,norm"},
    {"width", "it needs --chain gemm,norm"},
    {"k", "it needs --chain gemm,norm"},
};

const struct command launch_command = {
    .name = "launch",
    .section = "Performance",
    .summary = "Kernel launch overhead; gain from CUDA graphs and fusion",
    .operands = "model",
    .usage = "[MODEL|JOB]",
    COUNTED(groups, launch_groups),
    COUNTED(examples, launch_examples),
    COUNTED(needs, launch_needs),
    .input_size = sizeof(struct launch_in),
    .run = launch_run,
};
