/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge serve: time to the first token, time between tokens, throughput, and what objectives allow. */
#include "base/text.h"
#include "cli/shape.h"
#include "cli/tail.h"
#include "cli/values.h"
#include "ridge/capacity.h"
#include "ridge/expand.h"
#include "ridge/latency.h"
#include "ridge/params.h"
#include "ridge/service.h"

#include <string.h>

#define SERVE_TYPES "fp32|fp16|bf16|fp8|fp8-block|mxfp8|int8|fp4|nvfp4|mxfp4|int4"
#define SERVE_OPTIONS(X)                                                                                               \
	X('m', model, "model", "model", WORD, "MODEL", "model", NULL, "model, from the database or a file")            \
	X(0, params, "params", "params", COUNT, "N", "", NULL, "parameters of a model that has no name")               \
	X(0, bits, "bits", "bits", NUMBER, "N", "", NULL, "bits per parameter, with --params")                         \
	X('g', gpu, "gpu", "gpu", WORD, "NAME", "gpu", NULL, "the GPU, for floors of bandwidth and arithmetic")        \
	X(0, dtype, "dtype", "dtype", CHOICE, "TYPE", SERVE_TYPES, "bf16", "type of weights, cache and products")      \
	X(0, weights_dtype, "weights-dtype", "weights_dtype", CHOICE, "TYPE", SERVE_TYPES, NULL,                       \
	    "type of the weights (default: --dtype); embedding and head stay in 16 bits")                              \
	X(0, kv_dtype, "kv-dtype", "kv_dtype", CHOICE, "TYPE", SERVE_TYPES, NULL,                                      \
	    "type of the cache (default: --dtype)")                                                                    \
	X('b', batch, "batch", "batch", COUNT, "N", "", "1", "sequences that are decoded together")                    \
	X(0, context, "context", "context", COUNT, "N", "", NULL,                                                      \
	    "tokens that each has in the cache (default: prompt and half the answer)")                                 \
	X(0, isl, "isl", "isl", COUNT, "N", "", NULL, "tokens of a prompt")                                            \
	X(0, osl, "osl", "osl", COUNT, "N", "", NULL, "tokens of an answer")                                           \
	X(0, mfu, "mfu", "mfu", NUMBER, "FRACTION", "", "0.5", "share of the peak that prompts reach")                 \
	X(0, ttft, "ttft", "ttft", TIME, "TIME", "", NULL, "objective: most to the first token")                       \
	X(0, itl, "itl", "itl", TIME, "TIME", "", NULL, "objective: most between two tokens")                          \
	X(0, deadline, "deadline", "deadline", TIME, "TIME", "", NULL,                                                 \
	    "objective: most that P99 of a whole request may take")                                                    \
	X(0, points, "points", "points", WORDS, "NAME:RATE[:P99],...", "", NULL,                                       \
	    "measured: a batch or setting, its requests per second, its 99th percentile")                              \
	X(0, base_rate, "base-rate", "base_rate", NUMBER, "N", "", NULL,                                               \
	    "requests per second to compare with (default: the first point)")                                          \
	X(0, base_p99, "base-p99", "base_p99", TIME, "TIME", "", NULL, "99th percentile to compare with")              \
	X(0, static_batch, "static", "static", FLAG, "", "", NULL,                                                     \
	    "a static batch: all wait for the longest of --batch answers")                                             \
	X(0, longest, "longest", "longest", COUNT, "N", "", NULL,                                                      \
	    "static: tokens of the longest answer; --osl is the mean")

struct serve_in {
	SERVE_OPTIONS(OPTION_MEMBER)
	struct shape_in shape;
	struct layout_in layout;
	struct tail_in tail;
};

#define THIS struct serve_in
static const struct option serve_options[] = {SERVE_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct shape_in
static const struct option shape_rows[] = {SHAPE_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct layout_in
static const struct option layout_rows[] = {LAYOUT_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct tail_in
static const struct option tail_rows[] = {TAIL_OPTIONS(OPTION_ROW)};
#undef THIS

static const char *
time_text(struct run *r, double time_s)
{
	char buf[40];

	return arena_text(r->arena, value_write("x_s", time_s, buf, sizeof buf));
}

/* --- a measured sweep ------------------------------------------------------------------------------------ */

struct setting {
	const char *name;
	struct datum rate_request_per_s, p99_s;
};

static bool
read_point(struct run *r, struct word w, struct setting *out)
{
	size_t n;
	char **parts = text_split(r->arena, w.text, ':', &n);

	*out = (struct setting){parts[0], datum_absent(), datum_absent()};
	if (n < 2 || n > 3) {
		diag_error(r->diag, w.from, "'%s' is not of the form NAME:RATE[:P99]", w.text);
		diag_hint(r->diag, "write for example --points 1:85:750ms,2:140:850ms,4:210:950ms");
		return false;
	}
	return run_value(r, w.from, parts[1], Q_NUMBER, &out->rate_request_per_s) &&
	    (n < 3 || run_value(r, w.from, parts[2], Q_TIME, &out->p99_s));
}

static bool
read_points(struct run *r, const struct serve_in *in, struct setting *points)
{
	for (size_t i = 0; i < in->points.n; i++) {
		if (!read_point(r, in->points.list[i], &points[i]))
			return false;
		if (datum_given(in->deadline) && !datum_given(points[i].p99_s))
			return run_refuse(r, in->points.list[i].from,
			    "a deadline needs the 99th percentile of every point",
			    "write NAME:RATE:P99, such as 4:210:950ms");
	}
	return run_positive(r, "base-rate", in->base_rate) & run_positive(r, "base-p99", in->base_p99) &
	    run_positive(r, "deadline", in->deadline);
}

static bool
in_time(const struct serve_in *in, const struct setting *p)
{
	return !datum_given(in->deadline) || p->p99_s.value <= in->deadline.value;
}

static void
show_point(struct run *r, const struct serve_in *in, const struct setting *p, const struct setting *previous,
    struct datum base)
{
	struct sheet *sh = r->sheet;

	TELL(sh, name, "point", p->name);
	TAKE(sh, rate_request_per_s, p->rate_request_per_s);
	SHOW(sh, rate_request_per_s, "throughput");
	if (datum_given(p->p99_s)) {
		TAKE(sh, p99_s, p->p99_s);
		SHOW(sh, p99_s, "P99");
		if (datum_given(in->base_p99)) {
			TAKE(sh, base_s, in->base_p99);
			CALL(sh, p99_change_frac, service_time_change(sh, base_s, p99_s));
			SHOW(sh, p99_change_frac, "P99 changes");
		}
	}
	TAKE(sh, base_request_per_s, base);
	CALL(sh, gain, service_gain(sh, base_request_per_s, rate_request_per_s));
	SHOW(sh, gain, "over the base");
	CALL(sh, change_frac, service_rate_change(sh, base_request_per_s, rate_request_per_s));
	TAKE(sh, previous_request_per_s, previous ? previous->rate_request_per_s : base);
	CALL(sh, step_gain, service_gain(sh, previous_request_per_s, rate_request_per_s));
	SHOW(sh, step_gain, "over the one before");
	(void)change_frac;
	if (datum_given(in->deadline))
		TELL(sh, meets, "in time", in_time(in, p) ? "yes" : "no");
}

static enum answer
pick(struct run *r, const struct serve_in *in)
{
	struct sheet *sh = r->sheet;
	struct setting *points = ARENA_ARRAY(r->arena, struct setting, in->points.n);
	const struct setting *best = NULL;

	if (!read_points(r, in, points))
		return REFUSED;
	r->title = datum_given(in->deadline)
	    ? arena_printf(r->arena, "The most throughput with P99 up to %s", time_text(r, in->deadline.value))
	    : "The most throughput";
	const struct datum base = datum_given(in->base_rate) ? in->base_rate : points[0].rate_request_per_s;
	for (size_t i = 0; i < in->points.n; i++) {
		const struct setting *p = &points[i];
		if (in_time(in, p) && (!best || p->rate_request_per_s.value > best->rate_request_per_s.value))
			best = p;
		SCOPE_I (sh, "point", i)
			show_point(r, in, p, i ? p - 1 : NULL, base);
	}
	TELL(sh, pick, "take", best ? best->name : "none is in time");
	if (!best)
		return ANSWERED_NO;
	TAKE(sh, base_request_per_s, base);
	TAKE(sh, rate_request_per_s, best->rate_request_per_s);
	SHOW(sh, rate_request_per_s, "throughput");
	CALL(sh, gain, service_gain(sh, base_request_per_s, rate_request_per_s));
	SHOW(sh, gain, "over the base");
	if (datum_given(in->deadline)) {
		TAKE(sh, deadline_s, in->deadline);
		TAKE(sh, p99_s, best->p99_s);
		CALL(sh, slack_s, latency_slack(sh, deadline_s, p99_s));
		SHOW(sh, slack_s, "to spare");
		if (best == &points[in->points.n - 1])
			run_warn(r, "the last point is still in time: a larger one may be better");
	}
	return ANSWERED;
}

/* --- objectives that must fit each other ----------------------------------------------------------------- */

static enum answer
objectives(struct run *r, const struct serve_in *in)
{
	struct sheet *sh = r->sheet;

	if (!datum_given(in->ttft) || !datum_given(in->itl) || (!datum_given(in->deadline) && !datum_given(in->osl))) {
		run_refuse(r, in->ttft.from,
		    "objectives that must fit each other are --ttft, --itl, and --deadline or --osl",
		    "--ttft 500ms --itl 50ms --deadline 2s --osl 200");
		return REFUSED;
	}
	if (!(run_positive(r, "ttft", in->ttft) & run_positive(r, "itl", in->itl) &
	        run_positive(r, "deadline", in->deadline) & run_whole(r, "osl", in->osl, 1)))
		return REFUSED;
	r->title = "Objectives of a service";
	TAKE(sh, ttft_s, in->ttft);
	TAKE(sh, itl_s, in->itl);
	if (datum_given(in->osl)) {
		TAKE(sh, osl_token, in->osl);
		CALL(sh, answer_s, answer_time(sh, ttft_s, itl_s, osl_token));
		SHOW(sh, answer_s, arena_printf(r->arena, "an answer of %g tokens takes", osl_token));
	}
	if (!datum_given(in->deadline))
		return ANSWERED;
	TAKE(sh, deadline_s, in->deadline);
	CALL(sh, fitting_token, answer_fitting(sh, deadline_s, ttft_s, itl_s));
	SHOW(sh, fitting_token, "longest answer before the deadline");
	if (!datum_given(in->osl)) {
		run_warn(r, "a deadline for a whole answer means nothing without the answer's length");
		return ANSWERED;
	}
	const double osl_token = in->osl.value;
	if (osl_token > 1) {
		CALL(sh, needed_itl_s, answer_itl(sh, deadline_s, ttft_s, osl_token));
		SHOW(sh, needed_itl_s, "between tokens, that it would take");
	}
	TELL(sh, verdict, "verdict",
	    osl_token <= fitting_token ? "yes: they fit each other" : "no: they contradict each other");
	return osl_token <= fitting_token ? ANSWERED : ANSWERED_NO;
}

/* --- floors ---------------------------------------------------------------------------------------------- */

struct floors {
	const struct workload *w; /* NULL: no cache is known */
	const struct gpu *gpu;
	struct datum peak;
	double tp, context;
	enum dtype weights, kv;
	bool named;
};

static bool
check_floors(struct run *r, const struct serve_in *in)
{
	if (!in->model.text && !datum_given(in->params))
		return run_refuse(r, (struct source){0}, "which model?", "give its name, or --params 7e9 --bits 16");
	if (in->model.text && (datum_given(in->params) || datum_given(in->bits)))
		return run_refuse(r, in->model.from, "a model's name and --params or --bits exclude each other",
		    "use --weights-dtype int4 for a named model");
	if (datum_given(in->bits) && in->weights_dtype.text)
		return run_refuse(
		    r, in->bits.from, "--bits and --weights-dtype exclude each other", "give one of them");
	return run_whole(r, "params", in->params, 1) & run_whole(r, "batch", in->batch, 1) &
	    run_whole(r, "context", in->context, 1) & run_whole(r, "isl", in->isl, 1) &
	    run_whole(r, "osl", in->osl, 1) & run_positive(r, "bits", in->bits) & run_positive(r, "ttft", in->ttft) &
	    run_positive(r, "itl", in->itl) & run_positive(r, "deadline", in->deadline) &
	    run_positive(r, "mfu", in->mfu) & run_fraction(r, "mfu", in->mfu);
}

static bool
bind_floors(struct run *r, const struct serve_in *in, struct floors *f)
{
	struct layout layout;
	const struct word asked = {in->dtype.text, {"--dtype", 0, 0, NULL, false}};

	*f = (struct floors){.named = in->model.text != NULL};
	if (!check_floors(r, in))
		return false;
	if (f->named || shape_given(&in->shape)) {
		f->w = run_shape(r, in->model, &in->shape);
		if (!f->w)
			return false;
	}
	f->gpu = run_gpu(r, in->gpu);
	if (!f->gpu || !run_peak(r, f->gpu, dtype_find(in->dtype.text), asked, &f->peak))
		return false;
	const struct datum others[] = {in->layout.dp, in->layout.pp, in->layout.cp, in->layout.ep, in->layout.zero};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (others[i].value > 1)
			return run_refuse(
			    r, others[i].from, "these floors are those of one tensor-parallel group", "use tp alone");
	if (!run_layout(r, &in->layout, datum_absent(), f->w, &layout))
		return false;
	f->tp = layout.tp;
	run_word(r, "dtype", in->dtype);
	f->weights = dtype_find(in->weights_dtype.text ? in->weights_dtype.text : in->dtype.text);
	f->kv = dtype_find(in->kv_dtype.text ? in->kv_dtype.text : in->dtype.text);
	f->context =
	    datum_given(in->context) ? in->context.value : datum_or(in->isl, 0) + ceil(datum_or(in->osl, 0) / 2);
	return true;
}

/* Bytes of the weights, and FLOP of a generated token. */
static double
show_weights(struct run *r, const struct serve_in *in, const struct floors *f, double *work)
{
	struct sheet *sh = r->sheet;
	double weight_byte, used_params;

	if (f->named) {
		const double elem_byte = dtype_byte(f->weights);
		SET_CALL(sh, weight_byte, capacity_weights(sh, f->w, elem_byte, elem_byte > 2 ? elem_byte : 2));
		CALL(sh, active_param, model_active_params(sh, f->w));
		used_params = active_param;
	} else {
		TAKE(sh, n_params, in->params);
		TAKE(sh, n_bits, datum_given(in->bits) ? in->bits.value : 8 * dtype_byte(f->weights));
		SET_CALL(sh, weight_byte, capacity_weights_bits(sh, n_params, n_bits));
		used_params = n_params;
	}
	SHOW(sh, weight_byte, "weights");
	CALL(sh, work_flop_per_token, capacity_work(sh, used_params));
	*work = work_flop_per_token;
	return weight_byte;
}

/* Time to the first token: the prompt at a share of the peak. */
static double
show_prompt(struct run *r, const struct serve_in *in, const struct floors *f, double work_flop_per_token)
{
	struct sheet *sh = r->sheet;
	double prompt_flop_per_token = work_flop_per_token;

	TAKE(sh, isl_token, in->isl);
	if (f->named)
		SET_CALL(sh, prompt_flop_per_token, forward_flop(sh, f->w, isl_token, true));
	CALL(sh, prompt_work_flop, prompt_flop(sh, isl_token, prompt_flop_per_token));
	SHOW(sh, prompt_work_flop, "arithmetic of a prompt");
	TAKE(sh, tp, f->tp);
	CALL(sh, gpu_work_flop, gpu_share(sh, prompt_work_flop, tp));
	TAKE(sh, peak_flop_per_s, f->peak);
	TAKE(sh, mfu_frac, in->mfu);
	CALL(sh, prompt_s, prompt_floor(sh, gpu_work_flop, peak_flop_per_s, mfu_frac));
	SHOW(sh, prompt_s, "first token, alone");
	return prompt_s;
}

/* What a step reads of the cache of all sequences. */
static double
show_cache(struct run *r, const struct serve_in *in, const struct floors *f)
{
	struct sheet *sh = r->sheet;

	if (!f->w || !(f->context > 0)) {
		TAKE(sh, no_cache_byte, 0.0);
		run_assume(r, "no cache is read");
		return no_cache_byte;
	}
	TAKE(sh, context_token, f->context);
	if (!datum_given(in->context))
		run_assume(r, "context %g", f->context);
	CALL(sh, sequence_byte, kv_sequence(sh, f->w, context_token, 1, dtype_byte(f->kv), f->tp));
	TAKE(sh, n_cached_sequences, in->batch);
	CALL(sh, cache_byte, kv_batch(sh, n_cached_sequences, sequence_byte));
	SHOW(sh, cache_byte, "cache that a step reads");
	return cache_byte;
}

static double
show_step(
    struct run *r, const struct serve_in *in, const struct floors *f, double weight_byte, double work_flop_per_token)
{
	struct sheet *sh = r->sheet;
	const double tp = f->tp;

	CALL(sh, gpu_weight_byte, capacity_share(sh, weight_byte, tp));
	const double cached = show_cache(r, in, f);
	CALL(sh, read_byte, decode_read(sh, gpu_weight_byte, cached));
	SHOW(sh, read_byte, f->tp > 1 ? "read in a step, each GPU" : "read in a step");
	const struct datum mem =
	    datum_given(f->gpu->mem_usable_byte) ? f->gpu->mem_usable_byte : f->gpu->mem_label_byte;
	if (read_byte > mem.value)
		run_warn(r, "weights and cache do not fit the GPU: 'ridge memory' and 'ridge capacity' say what does");
	TAKE(sh, n_sequences, in->batch);
	CALL(sh, all_step_flop, decode_work(sh, n_sequences, work_flop_per_token));
	CALL(sh, step_flop, gpu_share(sh, all_step_flop, tp));
	TAKE(sh, mem_byte_per_s, f->gpu->mem_byte_per_s);
	TAKE(sh, step_peak_flop_per_s, f->peak);
	CALL(sh, step_s, decode_floor(sh, read_byte, step_flop, mem_byte_per_s, step_peak_flop_per_s));
	SHOW(sh, step_s, "between tokens, at best");
	CALL(sh, rate_token_per_s, decode_rate(sh, n_sequences, step_s));
	SHOW(sh, rate_token_per_s, "generated, at best");
	const double memory_s = decode_floor(NULL, read_byte, 0, mem_byte_per_s, step_peak_flop_per_s);
	TELL(sh, bound, "bound", memory_s < step_s ? "compute-bound" : "memory-bound");
	return step_s;
}

static bool
has_experts(const struct workload *w)
{
	for (int i = 0; i < w->n_blocks; i++)
		if (w->blocks[i].moe.given)
			return true;
	return false;
}

/* One objective against its floor; false when even the floor misses it. */
static bool
show_objective(struct run *r, const char *what, struct datum objective, double floor_s, const char **verdict)
{
	if (!datum_given(objective) || isnan(floor_s))
		return true;
	const bool met = floor_s <= objective.value;
	*verdict = arena_printf(r->arena, "%s%s%s %s of %s", *verdict, **verdict ? ", " : "", met ? "meets" : "misses",
	    what, time_text(r, objective.value));
	return met;
}

static enum answer
floors(struct run *r, const struct serve_in *in)
{
	struct sheet *sh = r->sheet;
	struct floors f;
	double work, prompt_s = NAN, whole_s = NAN;
	const char *verdict = "";

	if (!bind_floors(r, in, &f))
		return REFUSED;
	r->title = arena_printf(r->arena, "Floors of %s on %s%s", f.named ? f.w->name : "a model", f.gpu->name,
	    f.tp > 1 ? arena_printf(r->arena, " x %g", f.tp) : "");
	const double weight_byte = show_weights(r, in, &f, &work);
	if (datum_given(in->isl))
		prompt_s = show_prompt(r, in, &f, work);
	const double step_s = show_step(r, in, &f, weight_byte, work);
	if (datum_given(in->isl) && datum_given(in->osl)) {
		TAKE(sh, osl_token, in->osl);
		CALL(sh, answer_s, answer_time(sh, prompt_s, step_s, osl_token));
		SHOW(sh, answer_s, "a whole answer, at best");
		whole_s = answer_s;
	}
	if (f.w && has_experts(f.w))
		run_warn(
		    r, "all experts are read in every step: a small batch visits fewer, and may be faster than this");
	run_warn(r, "floors of bandwidth and arithmetic: queues, launches, communication and scheduling come on top");
	const bool met = show_objective(r, "--ttft", in->ttft, prompt_s, &verdict) &
	    show_objective(r, "--itl", in->itl, step_s, &verdict) &
	    show_objective(r, "--deadline", in->deadline, whole_s, &verdict);
	if (*verdict)
		TELL(sh, verdict, "even at best", verdict);
	return met ? ANSWERED : ANSWERED_NO;
}

/* --- static batches -------------------------------------------------------------------------------------- */

static enum answer
static_batch(struct run *r, const struct serve_in *in)
{
	struct sheet *sh = r->sheet;

	if (!(run_whole(r, "batch", in->batch, 1) & run_whole(r, "osl", in->osl, 1) &
	        run_whole(r, "longest", in->longest, 1)))
		return REFUSED;
	if (datum_given(in->osl) != datum_given(in->longest) || in->osl.value > in->longest.value) {
		run_refuse(r, in->longest.from, "what waits depends on the mean and the longest answer",
		    "give both: --osl 200 --longest 1000");
		return REFUSED;
	}
	r->title = "A static batch";
	TAKE(sh, n_sequences, in->batch);
	CALL(sh, n_waiting, static_waiting(sh, n_sequences));
	SHOW(sh, n_waiting, "answers that wait for the longest");
	if (!datum_given(in->osl))
		return ANSWERED;
	TAKE(sh, mean_token, in->osl);
	TAKE(sh, longest_token, in->longest);
	CALL(sh, idle_frac, static_idle(sh, mean_token, longest_token));
	SHOW(sh, idle_frac, "places in the batch that idle");
	CALL(sh, gain, static_gain(sh, mean_token, longest_token));
	SHOW(sh, gain, "most that continuous batching gains");
	return ANSWERED;
}

/* --- the command ----------------------------------------------------------------------------------------- */

static enum answer
tail(struct run *r, const struct serve_in *in)
{
	r->title = "A measured tail";
	return tail_show(r, &in->tail);
}

static enum answer
serve_run(struct run *r, const void *input)
{
	const struct serve_in *in = input;
	const bool placed = in->model.text || datum_given(in->params) || in->gpu.text;
	const struct {
		const char *name;
		bool asked;
		enum answer (*answer)(struct run *r, const struct serve_in *in);
	} questions[] = {
	    {"--points", in->points.n > 0, pick},
	    {"--p50", tail_given(&in->tail), tail},
	    {"--static", in->static_batch, static_batch},
	    {"--gpu", placed, floors},
	    {"--ttft", !placed && in->points.n == 0 && (datum_given(in->ttft) || datum_given(in->itl)), objectives},
	};
	size_t n = 0, asked = 0, before = 0;

	for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
		if (questions[i].asked) {
			before = asked;
			asked = i;
			n++;
		}
	if (n == 1 && !(placed && !in->gpu.text))
		return questions[asked].answer(r, in);
	if (n > 1) {
		diag_error(r->diag, (struct source){0}, "%s and %s are two questions", questions[before].name,
		    questions[asked].name);
		diag_hint(r->diag, "ask one at a time");
	} else if (placed)
		run_refuse(r, in->model.from, "on which GPU?", "add for example --gpu h100");
	else
		run_refuse(r, (struct source){0}, "nothing to serve",
		    "a model and a GPU (floors), --points (a measured sweep), --ttft --itl --deadline --osl "
		    "(objectives), "
		    "--p50 --p99 (a tail), or --static");
	return REFUSED;
}

static const struct option_group serve_groups[] = {
    OPTION_GROUP(serve_options, 0),
    OPTION_GROUP(shape_rows, offsetof(struct serve_in, shape)),
    OPTION_GROUP(layout_rows, offsetof(struct serve_in, layout)),
    OPTION_GROUP(tail_rows, offsetof(struct serve_in, tail)),
};

static const struct example serve_examples[] = {
    {"serve --points 1:85:750ms,2:140:850ms,4:210:950ms,8:280:1100ms,16:320:1400ms --deadline 1s --base-rate 50",
        "which batch of a measured sweep?", 0},
    {"serve --ttft 500ms --itl 50ms --deadline 2s --osl 200", "do these objectives fit each other?", 1},
    {"serve llama3-70b --gpu h100 --layout tp=8 --batch 32 --isl 4096 --osl 500 --ttft 500ms --itl 30ms",
        "what bandwidth and arithmetic allow at best", 0},
    {"serve --params 7e9 --bits 4 --gpu a100 --isl 4096", "a model known by its size", 0},
    {"serve --p50 10ms --p99 12ms --tail-limit 1.2 --runs 100", "is the tail short enough, and known?", 0},
    {"serve --static --batch 32 --osl 200 --longest 1000", "what a static batch wastes", 0},
};

const struct command serve_command = {
    .name = "serve",
    .section = "How fast can it be?",
    .summary = "time to the first token, between tokens, throughput, and what objectives allow",
    .operands = "model",
    .usage = "[MODEL|JOB]",
    .groups = serve_groups,
    .n_groups = sizeof serve_groups / sizeof *serve_groups,
    .examples = serve_examples,
    .n_examples = sizeof serve_examples / sizeof *serve_examples,
    .input_size = sizeof(struct serve_in),
    .run = serve_run,
};
