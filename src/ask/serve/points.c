/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ridge serve` without an engine model: measured sweeps, SLO consistency, static batching. */
#include "ask/serve/serve.h"

#include "base/base.h"
#include "cli/cli.h"
#include "model/calc/calc.h"
#include "model/layer/layer.h"
#include "model/memory/memory.h"

#include <stdlib.h>
#include <string.h>

static const char *
serve_time_text(struct run *r, double time_s)
{
	char buf[40];

	return arena_text(r->arena, value_write("x_s", time_s, buf, sizeof buf));
}

/* --- a measured sweep ------------------------------------------------------------------------------------ */

struct point_setting {
	const char *name;
	struct datum rate_request_per_s, p99_s;
};

static bool
read_point(struct run *r, struct word w, struct point_setting *out)
{
	size_t n;
	char **parts = text_split(r->arena, w.text, ':', &n);

	*out = (struct point_setting){parts[0], datum_absent(), datum_absent()};
	if (n < 2 || n > 3) {
		diag_error(r->diag, w.from, "'%s' is not of the form NAME:RATE[:P99]", w.text);
		diag_hint(r->diag, "write for example --points 1:85:750ms,2:140:850ms,4:210:950ms");
		return false;
	}
	return run_value(r, w.from, parts[1], Q_NUMBER, &out->rate_request_per_s) &&
	    (n < 3 || run_value(r, w.from, parts[2], Q_TIME, &out->p99_s));
}

/* A batch or setting: a number that is one, and not twice. */
static bool
check_name(struct run *r, struct word w, const struct point_setting *points, size_t i)
{
	char *end;
	const double number = strtod(points[i].name, &end);

	if (*points[i].name == '\0' || (*end == '\0' && !isfinite(number)))
		return run_refuse(r, w.from,
		    arena_printf(r->arena, "'%s' is not a batch size or setting", points[i].name),
		    "write for example --points 1:85:750ms,2:140:850ms");
	for (size_t k = 0; k < i; k++)
		if (strcmp(points[k].name, points[i].name) == 0)
			return run_refuse(r, w.from,
			    arena_printf(r->arena, "point '%s' is given twice", points[i].name),
			    "keep one, or use different names: 4a:210,4b:220");
	return true;
}

static bool
read_points(struct run *r, const struct serve_in *in, struct point_setting *points)
{
	for (size_t i = 0; i < in->points.n; i++) {
		if (!read_point(r, in->points.list[i], &points[i]) || !check_name(r, in->points.list[i], points, i))
			return false;
		if (datum_given(in->e2e) && !datum_given(points[i].p99_s))
			return run_refuse(r, in->points.list[i].from, "--e2e needs the P99 of every point",
			    "write NAME:RATE:P99, such as 4:210:950ms");
	}
	return run_positive(r, "base-rate", in->base_rate) & run_positive(r, "base-p99", in->base_p99) &
	    run_positive(r, "e2e", in->e2e);
}

static bool
in_time(const struct serve_in *in, const struct point_setting *p)
{
	return !datum_given(in->e2e) || p->p99_s.value <= in->e2e.value;
}

static void
show_point(struct run *r, const struct serve_in *in, const struct point_setting *p,
    const struct point_setting *previous, struct datum base)
{
	struct sheet *sh = r->sheet;

	TELL(sh, point, p->name);
	TAKE(sh, rate_request_per_s, p->rate_request_per_s);
	SHOW(sh, rate_request_per_s, request_per_s);
	if (datum_given(p->p99_s)) {
		TAKE(sh, p99_s, p->p99_s);
		SHOW(sh, p99_s, p99_s);
		if (datum_given(in->base_p99)) {
			TAKE(sh, base_s, in->base_p99);
			CALL(sh, p99_change_frac, service_time_change(sh, base_s, p99_s));
			SHOW(sh, p99_change_frac, p99_change_frac);
		}
	}
	TAKE(sh, base_request_per_s, base);
	CALL(sh, gain, service_gain(sh, base_request_per_s, rate_request_per_s));
	SHOW(sh, gain, relative);
	CALL(sh, change_frac, service_rate_change(sh, base_request_per_s, rate_request_per_s));
	TAKE(sh, previous_request_per_s, previous ? previous->rate_request_per_s : base);
	CALL(sh, step_gain, service_gain(sh, previous_request_per_s, rate_request_per_s));
	SHOW(sh, step_gain, relative_step);
	(void)change_frac;
	run_reads(r, &in->e2e, NULL);
	if (datum_given(in->e2e))
		TELL(sh, meets, in_time(in, p) ? "yes" : "no");
}

enum answer
serve_points(struct run *r, const struct serve_in *in)
{
	struct sheet *sh = r->sheet;
	struct point_setting *points = ARENA_ARRAY(r->arena, struct point_setting, in->points.n);
	const struct point_setting *best = NULL;

	if (!read_points(r, in, points))
		return REFUSED;
	r->title = datum_given(in->e2e)
	    ? arena_printf(r->arena, "Maximum throughput with P99 up to %s", serve_time_text(r, in->e2e.value))
	    : "Maximum throughput";
	const struct datum base = datum_given(in->base_rate) ? in->base_rate : points[0].rate_request_per_s;
	for (size_t i = 0; i < in->points.n; i++) {
		const struct point_setting *p = &points[i];
		if (in_time(in, p) && (!best || p->rate_request_per_s.value > best->rate_request_per_s.value))
			best = p;
		SCOPE_I (sh, "points", i)
			show_point(r, in, p, i ? p - 1 : NULL, base);
	}
	TELL(sh, pick, best ? best->name : "none meets the deadline");
	if (!best)
		return ANSWERED_NO;
	TAKE(sh, base_request_per_s, base);
	TAKE(sh, rate_request_per_s, best->rate_request_per_s);
	SHOW(sh, rate_request_per_s, request_per_s);
	CALL(sh, gain, service_gain(sh, base_request_per_s, rate_request_per_s));
	SHOW(sh, gain, relative);
	if (datum_given(in->e2e)) {
		TAKE(sh, deadline_s, in->e2e);
		TAKE(sh, p99_s, best->p99_s);
		CALL(sh, slack_s, latency_slack(sh, deadline_s, p99_s));
		SHOW(sh, slack_s, slack_s);
		if (best == &points[in->points.n - 1])
			run_warn(r, "the last point still meets the deadline: a larger one may be better");
	}
	return ANSWERED;
}

/* --- objectives that must fit each other ----------------------------------------------------------------- */

enum answer
serve_objectives(struct run *r, const struct serve_in *in)
{
	struct sheet *sh = r->sheet;

	if (!datum_given(in->ttft) || !datum_given(in->itl) || (!datum_given(in->e2e) && !datum_given(in->osl))) {
		run_refuse(r, in->ttft.from, "SLO consistency needs --ttft, --itl, and --e2e or --osl",
		    "write for example --ttft 500ms --itl 50ms --e2e 2s --osl 200");
		return REFUSED;
	}
	if (!(run_positive(r, "ttft", in->ttft) & run_positive(r, "itl", in->itl) & run_positive(r, "e2e", in->e2e) &
	        run_whole(r, "osl", in->osl, 1)))
		return REFUSED;
	r->title = "SLO consistency";
	TAKE(sh, ttft_s, in->ttft);
	TAKE(sh, itl_s, in->itl);
	if (datum_given(in->osl)) {
		TAKE(sh, osl_token, in->osl);
		CALL(sh, answer_s, answer_time(sh, ttft_s, itl_s, osl_token));
		SHOW(sh, answer_s, e2e_s);
	}
	if (!datum_given(in->e2e))
		return ANSWERED;
	TAKE(sh, deadline_s, in->e2e);
	CALL(sh, fitting_token, answer_fitting(sh, deadline_s, ttft_s, itl_s));
	SHOW(sh, fitting_token, max_osl_token);
	if (!datum_given(in->osl)) {
		run_warn(r, "an end-to-end SLO needs --osl");
		return ANSWERED;
	}
	const double osl_token = in->osl.value;
	if (osl_token > 1) {
		CALL(sh, needed_itl_s, answer_itl(sh, deadline_s, ttft_s, osl_token));
		SHOW(sh, needed_itl_s, needed_itl_s);
	}
	TELL(sh, verdict, osl_token <= fitting_token ? "yes: consistent" : "no: contradictory");
	return osl_token <= fitting_token ? ANSWERED : ANSWERED_NO;
}

/* --- static batches -------------------------------------------------------------------------------------- */

enum answer
serve_waiting(struct run *r, const struct serve_in *in)
{
	struct sheet *sh = r->sheet;

	if (!(run_whole(r, "batch", in->batch, 1) & run_whole(r, "osl", in->osl, 1) &
	        run_whole(r, "longest", in->longest, 1)))
		return REFUSED;
	if (datum_given(in->osl) != datum_given(in->longest) || in->osl.value > in->longest.value) {
		run_refuse(r, in->longest.from, "--static needs the mean and the longest OSL",
		    "add for example --osl 200 --longest 1000");
		return REFUSED;
	}
	r->title = "Static batching";
	run_reads(r, &in->static_batch, NULL);
	TAKE(sh, n_sequences, in->batch);
	CALL(sh, n_waiting, static_waiting(sh, n_sequences));
	SHOW(sh, n_waiting, n_stalled);
	if (!datum_given(in->osl))
		return ANSWERED;
	TAKE(sh, mean_token, in->osl);
	TAKE(sh, longest_token, in->longest);
	CALL(sh, idle_frac, static_idle(sh, mean_token, longest_token));
	SHOW(sh, idle_frac, slot_idle_frac);
	CALL(sh, gain, static_gain(sh, mean_token, longest_token));
	SHOW(sh, gain, batching_gain);
	return ANSWERED;
}

/* --- floors -------------------------------------------------------------------------------------------------- */

/* `ridge serve` without an engine: roofline floors of latency and throughput. */

/* --- floors ---------------------------------------------------------------------------------------------- */

struct floors {
	const struct workload *w; /* NULL: no cache is known */
	const struct gpu *gpu;
	struct datum peak;
	double tp, context;
	struct formats formats;
	bool named;
};

static bool
check_floors(struct run *r, const struct serve_in *in)
{
	if (!in->model.text && !datum_given(in->params))
		return run_refuse(r, (struct source){0}, "no model given", "give a model, or --params 7e9 --bits 16");
	if (in->model.text && (datum_given(in->params) || datum_given(in->bits)))
		return run_refuse(r, in->model.from, "a model and --params or --bits exclude each other",
		    "use --weights-dtype int4 for a named model");
	return run_whole(r, "params", in->params, 1) & run_whole(r, "batch", in->batch, 1) &
	    run_whole(r, "context", in->context, 1) & run_whole(r, "isl", in->isl, 1) &
	    run_whole(r, "osl", in->osl, 1) & run_positive(r, "bits", in->bits) & run_positive(r, "ttft", in->ttft) &
	    run_positive(r, "itl", in->itl) & run_positive(r, "e2e", in->e2e) & run_positive(r, "mfu", in->mfu) &
	    run_fraction(r, "mfu", in->mfu);
}

static bool
bind_floors(struct run *r, const struct serve_in *in, struct floors *f)
{
	struct layout layout;
	struct formats_in types = {in->dtype, in->weights_dtype, in->kv_dtype, in->bits, datum_absent()};

	*f = (struct floors){.named = in->model.text != NULL};
	if (!check_floors(r, in))
		return false;
	if (f->named || shape_given(&in->shape)) {
		f->w = run_shape(r, in->model, &in->shape);
		if (!f->w)
			return false;
	}
	if (!f->w) /* no cache is known */
		types.kv_dtype = (struct word){0};
	f->gpu = run_gpu(r, in->gpu);
	const struct engine *e = f->gpu ? bind_engine(r, in->engine, f->gpu) : NULL;
	if (!e || !bind_formats(r, &types, f->w, f->gpu, e, &f->formats))
		return false;
	const struct word asked = {dtype_name(f->formats.compute), {"--dtype", 0, 0, NULL, false}};
	if (!run_peak(r, f->gpu, f->formats.compute, asked, &f->peak))
		return false;
	const struct datum others[] = {in->layout.dp, in->layout.pp, in->layout.cp, in->layout.ep, in->layout.zero};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (others[i].value > 1)
			return run_refuse(r, others[i].from, "floors cover one tensor-parallel group", "use only tp");
	if (!run_layout(r, &in->layout, datum_absent(), f->w, &layout))
		return false;
	f->tp = layout.tp;
	run_reads(r, &in->layout.tp, &in->batch, &in->isl, &in->params, NULL);
	if (f->w)
		run_reads(r, &in->context, NULL);
	if (datum_given(in->isl) || !datum_given(in->context))
		run_reads(r, &in->osl, NULL);
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
		const double *part = f->formats.part_byte;
		if (f->formats.published)
			SET_CALL(sh, weight_byte, published_bytes(sh, f->w));
		else
			SET_CALL(sh, weight_byte, capacity_weights(sh, f->w, part[PART_MLP], part[PART_HEAD]));
		CALL(sh, active_param, model_active_params(sh, f->w));
		used_params = active_param;
	} else {
		TAKE(sh, n_params, in->params);
		TAKE(sh, n_bits, 8 * f->formats.part_byte[PART_MLP]);
		SET_CALL(sh, weight_byte, capacity_weights_bits(sh, n_params, n_bits));
		used_params = n_params;
	}
	SHOW(sh, weight_byte, total_weight_byte);
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
	SHOW(sh, prompt_work_flop, prefill_flop);
	TAKE(sh, tp, f->tp);
	CALL(sh, gpu_work_flop, gpu_share(sh, prompt_work_flop, tp));
	TAKE(sh, peak_flop_per_s, f->peak);
	TAKE(sh, mfu_frac, in->mfu);
	CALL(sh, prompt_s, prompt_floor(sh, gpu_work_flop, peak_flop_per_s, mfu_frac));
	SHOW(sh, prompt_s, ttft_s);
	return prompt_s;
}

static struct datum
batch_of(const struct serve_in *in)
{
	return datum_given(in->batch) ? in->batch : (struct datum){1, {inputs_default, 0, 0, "--batch", false}};
}

/* What a step reads of the cache of all sequences. */
static double
show_cache(struct run *r, const struct serve_in *in, const struct floors *f)
{
	struct sheet *sh = r->sheet;

	if (!f->w || !(f->context > 0)) {
		TAKE(sh, no_cache_byte, 0.0);
		run_assume(r, "no KV cache read");
		return no_cache_byte;
	}
	TAKE(sh, context_token, f->context);
	if (!datum_given(in->context))
		run_assume_value(r, "context", "%g", f->context);
	CALL(sh, sequence_byte, kv_sequence(sh, f->w, context_token, 1, dtype_byte(f->formats.kv), f->tp));
	TAKE(sh, n_cached_sequences, batch_of(in));
	CALL(sh, cache_byte, kv_batch(sh, n_cached_sequences, sequence_byte));
	SHOW(sh, cache_byte, kv_read_byte);
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
	SHOW(sh, read_byte, read_byte);
	run_reads(r, &in->gpu_mem, NULL);
	if (read_byte > bind_card(r, f->gpu, in->gpu_mem).value)
		run_warn(r, "weights and KV cache do not fit the GPU: see 'ridge memory' and 'ridge capacity'");
	TAKE(sh, n_sequences, batch_of(in));
	CALL(sh, all_step_flop, decode_work(sh, n_sequences, work_flop_per_token));
	CALL(sh, step_flop, gpu_share(sh, all_step_flop, tp));
	TAKE(sh, mem_byte_per_s, f->gpu->mem_byte_per_s);
	TAKE(sh, step_peak_flop_per_s, f->peak);
	CALL(sh, step_s, decode_floor(sh, read_byte, step_flop, mem_byte_per_s, step_peak_flop_per_s));
	SHOW(sh, step_s, tpot_s);
	CALL(sh, rate_token_per_s, decode_rate(sh, n_sequences, step_s));
	SHOW(sh, rate_token_per_s, output_token_per_s);
	const double memory_s = decode_floor(NULL, read_byte, 0, mem_byte_per_s, step_peak_flop_per_s);
	TELL(sh, bottleneck, memory_s < step_s ? "compute-bound" : "memory-bound");
	return step_s;
}

/* One objective against its floor; false when even the floor misses it. */
bool
serve_objective(struct run *r, const char *what, struct datum objective, double floor_s, const char **verdict)
{
	if (!datum_given(objective) || isnan(floor_s))
		return true;
	run_read_from(r, objective.from);
	const bool met = floor_s <= objective.value;
	*verdict = arena_printf(r->arena, "%s%s%s %s of %s", *verdict, **verdict ? ", " : "", met ? "meets" : "misses",
	    what, serve_time_text(r, objective.value));
	return met;
}

bool
serve_slos(struct run *r, const struct words *list, double time_s[N_SLO_MEASURES][N_PLAN_STATISTICS],
    const char **verdict, bool *met)
{
	for (size_t i = 0; i < list->n; i++) {
		struct slo slo;
		if (!bind_slo(r, list->list[i], &slo))
			return false;
		const double found_s = time_s[slo.measure][slo.statistic];
		if (isnan(found_s))
			return run_refuse(r, list->list[i].from,
			    arena_printf(r->arena, "this answer has no %s", slo.text),
			    slo.statistic == PLAN_MEAN ? "add --osl 200"
			        : slo.measure == SLO_ITL
			        ? "add --simulate, or limit tpot: its percentiles are over requests, not of tokens"
			        : "add --rate or --concurrency: percentiles are over requests that come and go");
		*met = serve_objective(r, slo.text, slo.limit_s, found_s, verdict) && *met;
	}
	return true;
}

enum answer
serve_floors(struct run *r, const struct serve_in *in)
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
		SHOW(sh, answer_s, e2e_s);
		whole_s = answer_s;
	}
	if (f.w && workload_has_experts(f.w))
		run_warn(r, "all experts read in every step: a small batch reads fewer and may be faster");
	run_warn(r, "roofline floors: queueing, launches, communication and scheduling come on top");
	const bool met = serve_objective(r, "--ttft", in->ttft, prompt_s, &verdict) &
	    serve_objective(r, "--itl", in->itl, step_s, &verdict) &
	    serve_objective(r, "--e2e", in->e2e, whole_s, &verdict);
	if (*verdict)
		TELL(sh, verdict, verdict);
	return met ? ANSWERED : ANSWERED_NO;
}
