/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convert the options of `ridge serve` to a setup of the serving model and a query on it. */
#include "ask/bind/bind.h"

#include "ask/serve/serve.h"
#include "cli/cli.h"

#include <string.h>

static bool
bind_types(struct run *r, const struct serve_in *in, struct serve_parts *p, struct formats *f)
{
	const struct formats_in asked = {in->dtype, in->weights_dtype, in->kv_dtype, in->bits, in->head_bits};
	const struct word named = {dtype_name(p->compute), {"--dtype", 0, 0, NULL, false}};
	struct datum peak;

	if (!bind_formats(r, &asked, p->model, p->gpu, p->engine, f))
		return false;
	serve_formats(p, f);
	return p->compute == DTYPE_MXFP4 || run_peak(r, p->gpu, p->compute, named, &peak);
}

static bool
read_layout(struct run *r, const struct serve_in *in, struct serve_binding *b, struct serve_layout *out)
{
	struct layout_in asked;

	if (!bind_replica(r, &in->layout, in->gpus, &asked) ||
	    !run_layout(r, &asked, datum_absent(), b->model, &b->layout))
		return false;
	const struct layout *l = &b->layout;
	bind_served_degrees(r, &in->layout);
	if (l->cp > 1)
		return run_refuse(r, in->layout.cp.from, "serving does not support cp", "leave cp out");
	if (l->ep > l->tp || fmod(l->tp, l->ep) != 0)
		return run_refuse(r, in->layout.ep.from,
		    "ep must divide tp: experts are spread over the tp GPUs of a replica",
		    "write for example --layout tp=8,ep=8");
	if (l->adp && l->tp == 1)
		run_warn(r, "attention data parallelism has no effect with tp=1");
	*out = (struct serve_layout){l->tp, l->pp, l->ep, l->adp && l->tp > 1};
	return true;
}

static bool
assemble(struct run *r, const struct serve_in *in, const struct serve_parts *p, struct serve_setup *out)
{
	struct calibration *kernels = ARENA_NEW(r->arena, struct calibration);
	const char *fault = serve_assemble(out, kernels, p);

	if (!fault)
		return true;
	return run_refuse(r, strstr(fault, "this GPU") ? in->gpu.from : in->model.from, fault,
	    "without --isl and with --context, roofline floors are printed");
}

static bool
read_drafts(struct run *r, const struct serve_in *in, const struct serve_parts *p, struct serve_binding *out)
{
	if (!bind_speculation(r, &in->speculate, p->model, &out->speculation))
		return false;
	if (in->speculate.n && datum_given(in->draft_tokens))
		return run_refuse(r, in->draft_tokens.from, "--speculate and --draft-tokens exclude each other",
		    "--speculate includes the cost of drafts; keep one");
	if (in->speculate.n && out->engine->kind != ENGINE_BATCHED)
		return run_refuse(r, out->speculation.from,
		    arena_printf(r->arena, "%s has no model of speculative decoding", out->engine->name),
		    "use trtllm, vllm or sglang, or give a measured --draft-time");
	if (in->speculate.n && workload_recurs(p->model))
		return run_refuse(r, out->speculation.from,
		    "speculative decoding of a model with recurrent layers is not modeled: states must be taken back",
		    "leave out --speculate, or give a measured --draft-time");
	return true;
}

/* A replica of this layout, with what drafts on it. */
static bool
bind_replica_of(struct run *r, const struct serve_in *in, const struct serve_parts *p, const struct serve_binding *b,
    struct serve_setup *out)
{
	if (!assemble(r, in, p, out))
		return false;
	const char *fault = bind_draft(r, &b->speculation, p, out);
	return !fault || run_refuse(r, b->speculation.from, fault, "use another draft, or --draft-tokens");
}

static bool
bind_decode(struct run *r, const struct serve_in *in, const struct system *system, struct serve_parts p,
    struct serve_binding *out)
{
	out->decode = NULL;
	if (!in->decode_layout.n)
		return true;
	if (!in->kv_link.text)
		return run_refuse(r, in->decode_layout.list[0].from, "--decode-layout needs --kv-link",
		    "add the link for KV transfers: --kv-link roce-400");
	out->decode = ARENA_NEW(r->arena, struct serve_setup);
	if (!bind_decode_layout(r, &in->decode_layout, p.model, &p.layout))
		return false;
	bind_serve_network(r, system, &p);
	return bind_replica_of(r, in, &p, out, out->decode);
}

static bool
bind_setup(struct run *r, const struct serve_in *in, struct serve_binding *out)
{
	struct word name;
	struct serve_parts p = {0};

	if (!run_gpu_name(r, in->gpu, in->system, &name))
		return false;
	const struct system *system = in->system.text ? run_system(r, in->system) : NULL;
	out->gpu = p.gpu = run_gpu(r, name);
	out->model = p.model = run_model(r, in->model);
	out->engine = p.engine = p.gpu ? bind_engine(r, in->engine, p.gpu) : NULL;
	if (!p.gpu || !p.model || !p.engine || !bind_types(r, in, &p, &out->formats) ||
	    !read_layout(r, in, out, &p.layout))
		return false;
	run_reads(r, &in->gpu_mem, NULL);
	p.mem_byte = bind_card(r, p.gpu, in->gpu_mem);
	if (!serve_headroom(r, in->headroom, &p))
		return false;
	bind_serve_kernels(r, system, &p);
	bind_serve_network(r, system, &p);
	out->fitted = p.consensus;
	return read_drafts(r, in, &p, out) && bind_replica_of(r, in, &p, out, &out->setup) &&
	    bind_decode(r, in, system, p, out);
}

/* --- the question ---------------------------------------------------------------------------------------- */

static bool
check_numbers(struct run *r, const struct serve_in *in)
{
	return run_whole(r, "batch", in->batch, 1) & run_whole(r, "beams", in->beams, 2) &
	    run_positive(r, "ttft", in->ttft) & run_positive(r, "itl", in->itl) & run_positive(r, "e2e", in->e2e) &
	    run_positive(r, "bits", in->bits) & run_positive(r, "head-bits", in->head_bits);
}

static bool
check_together(struct run *r, const struct serve_in *in, const struct serve_binding *b)
{
	const bool comes = datum_given(in->rate) || datum_given(in->concurrency) || datum_given(in->requests);

	if (datum_given(in->batch) && (datum_given(in->concurrency) || datum_given(in->rate)))
		return run_refuse(r, in->batch.from, "--batch, --concurrency and --rate exclude each other",
		    "keep one, or none for the maximum throughput");
	if (b->engine->kind != ENGINE_BATCHED && comes)
		return run_refuse(r, in->engine.from,
		    arena_printf(r->arena, "%s has no in-flight batching", b->engine->name),
		    "add --batch, or use another --engine");
	if (in->row_split && b->engine->kind != ENGINE_LAYER_SPLIT)
		return run_refuse(
		    r, in->engine.from, "splitting matrices by rows needs llama.cpp", "add --engine llama.cpp");
	if (b->model->kind == MODEL_ENCODER && datum_given(in->osl))
		return run_refuse(r, in->osl.from, "an encoder has no output tokens", "leave --osl out");
	if (in->simulation.simulate)
		return true; /* lengths may come from a file */
	if (!datum_given(in->isl))
		return run_refuse(r, in->engine.from, "input length missing", "add for example --isl 1000 --osl 200");
	if (!datum_given(in->osl) && b->model->kind != MODEL_ENCODER && comes)
		return run_refuse(r, in->isl.from, "output length missing", "add for example --osl 200");
	return true;
}

static enum serve_regime
regime_of(const struct serve_in *in, const struct serve_binding *b)
{
	if (b->model->kind == MODEL_ENCODER)
		return SERVE_ENCODE;
	if (!datum_given(in->osl))
		return SERVE_PROMPT;
	if (datum_given(in->rate))
		return SERVE_ONLINE;
	if (datum_given(in->concurrency))
		return SERVE_CLOSED;
	/* engines that hold one batch at a time */
	if (datum_given(in->batch) || b->engine->kind != ENGINE_BATCHED)
		return SERVE_STATIC;
	return SERVE_OFFLINE;
}

/* Whether clients begin together, and everything counts: as in a benchmark. */
static bool
runs_whole(const struct serve_in *in)
{
	const struct simulate_in *s = &in->simulation;

	return s->simulate ? datum_given(s->warmup) && s->warmup.value == 0 && !s->trace.text
	                   : datum_given(in->requests) && datum_given(in->concurrency);
}

static bool
serve_load(struct run *r, const struct serve_in *in, const struct serve_binding *b, struct load *out)
{
	const struct simulate_in *s = &in->simulation;
	const struct load_in load = {.isl = in->isl,
	    .osl = in->osl,
	    .cached = in->cached,
	    .isl_cv = s->simulate ? s->isl_cv : datum_absent(),
	    .osl_cv = s->simulate ? s->osl_cv : datum_absent(),
	    .rate = in->rate,
	    .clients = in->concurrency,
	    .think = s->think,
	    .think_cv = s->think_cv,
	    .requests = in->requests,
	    .draft_tokens = in->draft_tokens,
	    .accepted = in->accepted,
	    .draft_time = in->draft_time,
	    .clients_option = "--concurrency"};

	if (s->simulate || !datum_given(in->rate))
		run_reads(r, &in->requests, NULL);
	if (!check_numbers(r, in) || !check_together(r, in, b) || !bind_load(r, &load, out))
		return false;
	bind_drafted(&b->speculation, &out->each);
	out->each.cold = in->cold;
	if (in->cold && runs_whole(in) && serve_cold(&b->setup, &out->each) > 0)
		run_reads(r, &in->cold, NULL);
	return true;
}

/* Beams of a request hold its prompt once, and each attends to all of it. */
static bool
bind_beams(struct run *r, const struct serve_in *in, struct serve_binding *b, struct load *load)
{
	const double n = in->beams.value, isl = load->each.isl;

	run_reads(r, &in->beams, NULL);
	if (!datum_given(in->beams))
		return true;
	if (!datum_given(b->engine->core_element))
		return run_refuse(r, in->beams.from,
		    arena_printf(r->arena, "beam search of %s is not modeled", b->engine->name),
		    "leave out --beams, or use --engine trtllm-0.14 or trtllm-0.17");
	if (in->simulation.simulate || in->speculate.n || datum_given(in->draft_tokens))
		return run_refuse(r, in->beams.from, "beam search is modeled in closed form, without drafts",
		    "leave out --simulate, --speculate and --draft-tokens");
	load->each.isl = isl / n;
	b->setup.beam_token = isl - isl / n;
	run_assume(r, "rates and running requests count sequences, %g of a request", n);
	return true;
}

static void
serve_ask(struct run *r, const struct serve_in *in, const struct serve_binding *b, const struct load *load,
    struct serve_question *out)
{
	*out = (struct serve_question){
	    .setup = &b->setup,
	    .gpu = b->gpu,
	    .regime = regime_of(in, b),
	    .load = load->each,
	    .n_batch = datum_or(in->batch, 1),
	    .rate_request_per_s = load->rate_request_per_s,
	    .think_s = load->think_s,
	    .row_split = in->row_split,
	};
	run_reads(r,
	    out->regime == SERVE_STATIC || out->regime == SERVE_PROMPT || out->regime == SERVE_ENCODE ? &in->batch
	                                                                                              : NULL,
	    NULL);
	if (in->row_split)
		run_reads(r, &in->row_split, NULL);
	if (!datum_given(in->batch) &&
	    (out->regime == SERVE_STATIC || out->regime == SERVE_PROMPT || out->regime == SERVE_ENCODE))
		run_assume_value(r, "batch", "1");
}

bool
serve_bind(
    struct run *r, const struct serve_in *in, struct serve_binding *out, struct load *load, struct serve_question *q)
{
	if (!bind_setup(r, in, out) || !serve_load(r, in, out, load) || !bind_beams(r, in, out, load))
		return false;
	serve_ask(r, in, out, load, q);
	return true;
}

/* --- engine -------------------------------------------------------------------------------------------------- */

/* `ridge serve` with an engine: what fits, how long tokens take, what limits, and whether to believe it. */

bool
serve_has_engine(const struct serve_in *in)
{
	return in->model.text && (datum_given(in->isl) || in->simulation.simulate) && !datum_given(in->context);
}

/* --- it does not fit ------------------------------------------------------------------------------------- */

/* The smallest replica that holds one request: tp up to a node, then stages. */
static const char *
nearest_layout(struct run *r, const struct serve_binding *b, const struct serve_question *q)
{
	struct serve_setup setup = *q->setup;
	struct serve_question try = *q;
	struct serve_metrics m;

	try.setup = &setup;
	for (double pp = 1; pp <= 16; pp *= 2)
		for (double tp = 1; tp <= 8; tp *= 2) {
			const struct attention *a = &b->model->blocks[0].attention;
			if (fmod(a->n_heads.value, tp) != 0 || pp > b->model->n_layers.value)
				continue;
			setup.layout = (struct serve_layout){tp, pp, q->setup->layout.ep > 1 ? tp : 1, false};
			try.load.n_concurrent = try.load.n_requests = datum_absent();
			if (setup.layout.tp * pp <= q->setup->layout.tp * q->setup->layout.pp)
				continue;
			serve_answer(&try, &m);
			if (m.fits)
				return pp > 1 ? arena_printf(r->arena, "tp=%g,pp=%g", tp, pp)
				              : arena_printf(r->arena, "tp=%g", tp);
		}
	return NULL;
}

static enum answer
does_not_fit(struct run *r, const struct serve_in *in, const struct serve_binding *b, const struct serve_question *q)
{
	struct sheet *sh = r->sheet;

	run_reads(r, &in->ttft, &in->itl, &in->e2e, &in->slo, &in->concurrency, &in->rate, &in->requests,
	    &in->simulation.think, &in->launch.emit, NULL);
	const char *layout = nearest_layout(r, b, q);

	if (in->launch.emit.text)
		run_warn(r, "not emitted: it does not fit");
	TAKE(sh, mem_byte, q->setup->mem_byte);
	SHOW(sh, mem_byte, gpu_mem_byte);
	CALL(sh, missing_byte, serve_missing(sh, q->setup, &q->load));
	SHOW(sh, missing_byte, missing_byte);
	const bool limited = datum_given(in->ttft) || datum_given(in->itl) || datum_given(in->e2e) || in->slo.n > 0;
	TELL(sh, verdict,
	    arena_printf(r->arena, "does not fit%s%s%s", layout ? "" : " on 128 of these GPUs",
	        limited ? " and misses its SLOs" : "",
	        layout ? arena_printf(r->arena, "; nearest layout that fits: %s", layout) : ""));
	return ANSWERED_NO;
}

/* --- the answer ------------------------------------------------------------------------------------------ */

/* The percentiles that --slo limits, by the closed form of `ridge capacity`: rows, and their times. */
static bool
show_percentiles(struct run *r, const struct words *list, const struct serve_question *q, const struct serve_metrics *m,
    double time_s[N_SLO_MEASURES][N_PLAN_STATISTICS])
{
	double latency_s[N_PLAN_MEASURES][N_PLAN_STATISTICS];
	bool known = false;

	for (size_t i = 0; i < list->n; i++) {
		struct slo slo;
		if (!bind_slo(r, list->list[i], &slo))
			return false;
		if (slo.statistic == PLAN_MEAN || slo.measure == SLO_ITL)
			continue;
		if (!known)
			plan_latencies(q->setup, &q->load, &m->flow, latency_s);
		known = true;
		/* measures of a plan are the first of those of an SLO */
		const enum plan_measure of = (enum plan_measure)slo.measure;
		time_s[slo.measure][slo.statistic] = latency_s[of][slo.statistic];
		bind_show_percentile(r->sheet, of, slo.statistic, latency_s[of][slo.statistic]);
	}
	return true;
}

/* Means; of requests that come faster than they are answered no wait is short enough. */
static void
times_of(const struct serve_metrics *m, double time_s[N_SLO_MEASURES][N_PLAN_STATISTICS])
{
	const double none_s = m->saturated ? INFINITY : NAN;

	for (int i = 0; i < N_SLO_MEASURES; i++)
		for (int k = 0; k < N_PLAN_STATISTICS; k++)
			time_s[i][k] = none_s;
	if (m->saturated)
		return;
	time_s[SLO_TTFT][PLAN_MEAN] = m->first_s;
	time_s[SLO_TPOT][PLAN_MEAN] = time_s[SLO_ITL][PLAN_MEAN] = m->step_s;
	time_s[SLO_E2E][PLAN_MEAN] = m->answer_s;
}

static enum answer
verdict_of(struct run *r, const struct serve_in *in, const struct serve_question *q, const struct serve_metrics *m)
{
	const char *verdict = m->saturated
	    ? arena_printf(r->arena, "saturated: above 90 %% of the max request rate, %.3g requests/s",
	          0.9 * m->saturation_request_per_s)
	    : "";
	double time_s[N_SLO_MEASURES][N_PLAN_STATISTICS];

	times_of(m, time_s);
	if (!m->saturated && (q->regime == SERVE_ONLINE || q->regime == SERVE_CLOSED) &&
	    !show_percentiles(r, &in->slo, q, m, time_s))
		return REFUSED;
	bool met = serve_objective(r, "--ttft", in->ttft, time_s[SLO_TTFT][PLAN_MEAN], &verdict) &
	    serve_objective(r, "--itl", in->itl, time_s[SLO_ITL][PLAN_MEAN], &verdict) &
	    serve_objective(r, "--e2e", in->e2e, time_s[SLO_E2E][PLAN_MEAN], &verdict);
	if (!serve_slos(r, &in->slo, time_s, &verdict, &met))
		return REFUSED;
	if (*verdict)
		TELL(r->sheet, verdict, verdict);
	return met && !m->saturated ? ANSWERED : ANSWERED_NO;
}

static const char *
title_of(struct run *r, const struct serve_binding *b)
{
	const double n = b->setup.layout.tp * b->setup.layout.pp;

	return arena_printf(r->arena, "%s on %s%s under %s", b->model->name, b->gpu->name,
	    n > 1 ? arena_printf(r->arena, " x %g", n) : "", b->engine->name);
}

static bool
simulate_case_of(struct run *r, const struct serve_in *in, const struct serve_binding *b, const struct load *load,
    struct simulate_case *out)
{
	*out = (struct simulate_case){
	    .setup = &b->setup,
	    .decode = b->decode,
	    .load = load,
	    .isl = in->isl,
	    .osl = in->osl,
	    .rate_request_per_s = in->rate,
	    .n_concurrent = in->concurrency,
	    .n_requests = in->requests,
	    .objectives = {datum_or(in->ttft, NAN), datum_or(in->itl, NAN), datum_or(in->e2e, NAN)},
	    .slo = &in->slo,
	};

	run_reads(r, &in->ttft, &in->itl, &in->e2e, &in->simulation.simulate, NULL);
	if (!in->simulation.rates.n)
		run_reads(r, &in->slo, NULL);
	if (!in->kv_link.text)
		return true;
	const struct link *link = bind_kv_link(r, in->kv_link);
	if (!link)
		return false;
	out->send = simulate_transfer(&b->setup, link->byte_per_s.value, datum_or(link->latency_s, 0));
	out->take =
	    b->decode ? simulate_transfer(b->decode, link->byte_per_s.value, datum_or(link->latency_s, 0)) : out->send;
	return true;
}

bool
serve_simulation(struct run *r, const struct serve_in *in, const struct serve_binding *b, const struct load *load,
    struct sim_config *out)
{
	struct simulate_case c;

	return simulate_case_of(r, in, b, load, &c) && simulate_bind(r, &in->simulation, &c, out);
}

static enum answer
emit(struct run *r, const struct serve_in *in, const struct serve_binding *b, const struct serve_question *q)
{
	const struct launch_served s = {.setup = &b->setup,
	    .decode = in->kv_link.text && !b->decode ? &b->setup : b->decode,
	    .compute = b->formats.compute,
	    .weights = b->formats.weights,
	    .kv = b->formats.kv,
	    .published = b->formats.published != NULL,
	    .speculation = &b->speculation,
	    .n_replicas = 1,
	    .n_decode = 1,
	    .most_token = q->load.isl_cv > 0 || q->load.osl_cv > 0 ? 0 : q->load.isl + q->load.osl};

	run_reads(r, &in->launch.emit, NULL);
	return launch_serve_show(r, in->launch.emit, &s, 1);
}

enum answer
serve_engine(struct run *r, const struct serve_in *in)
{
	struct serve_binding *b = ARENA_NEW(r->arena, struct serve_binding);
	struct serve_question q;
	struct serve_metrics m;
	struct load load;

	run_reads(r, &in->from.from, NULL);
	if (!simulate_check(r, &in->simulation) || !serve_bind(r, in, b, &load, &q))
		return REFUSED;
	r->title = title_of(r, b);
	const double context_token = datum_or(in->isl, 0) + datum_or(in->osl, 0);
	if (datum_given(b->model->context) && context_token > b->model->context.value)
		run_warn(r, "ISL + OSL of %g tokens exceeds the model's context length %g", context_token,
		    b->model->context.value);
	if (in->simulation.simulate) {
		struct simulate_case c;
		return simulate_case_of(r, in, b, &load, &c) ? serve_simulate(r, &in->simulation, &c) : REFUSED;
	}
	serve_answer(&q, &m);
	serve_show_room(r, &q);
	if (!m.fits)
		return does_not_fit(r, in, b, &q);
	serve_show(r, b, &q, &m);
	if (!m.saturated && !serve_show_pools(r, in, b, &q))
		return REFUSED;
	const enum answer met = verdict_of(r, in, &q, &m);
	if (!in->launch.emit.text || met == REFUSED)
		return met;
	const enum answer said = emit(r, in, b, &q);
	return said > met ? said : met;
}

/* --- errors -------------------------------------------------------------------------------------------------- */

const char *
serve_error_kind(const struct serve_question *q)
{
	static const char *const kinds[] = {[SERVE_OFFLINE] = "offline",
	    [SERVE_CLOSED] = "online",
	    [SERVE_ONLINE] = "online",
	    [SERVE_STATIC] = "static",
	    [SERVE_PROMPT] = "ttft",
	    [SERVE_ENCODE] = "encoder"};

	if (q->regime == SERVE_STATIC && q->load.osl <= 1)
		return "ttft";
	if (q->regime == SERVE_STATIC && q->n_batch <= 1)
		return "batch1";
	if (q->regime == SERVE_PROMPT && q->setup->engine->unfused.n_kernels.value > 0)
		return "prompt";
	return kinds[q->regime];
}
