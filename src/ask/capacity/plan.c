/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Enumerate GPUs, engines, dtypes and layouts, and find the cheapest setups that meet the SLOs. */
#include "ask/capacity/capacity.h"

#include "ask/bind/bind.h"
#include "base/base.h"
#include "cli/cli.h"
#include "model/serve/serve.h"
#include "search/plan/plan.h"

#include <string.h>

enum { CANDIDATES_MOST = 4096, CONFIRMED_MOST = 4, SETTLED_MOST = 8 };
static const double think_default_s = 30;

bool
capacity_plan_asked(const struct capacity_plan_in *in)
{
	return in->engine.n > 0 || in->slo.n > 0 || datum_given(in->ttft) || datum_given(in->tpot) ||
	    datum_given(in->e2e) || in->dtypes.n > 0 || datum_given(in->day_tokens) || datum_given(in->think) ||
	    in->growth.value > 0 || in->speculate.n > 0 || datum_given(in->pue) || datum_given(in->host_power) ||
	    in->spare.value > 0 || in->every_layout;
}

/* --- the load -------------------------------------------------------------------------------------------- */

static bool
check(struct run *r, const struct capacity_plan_in *in, const struct capacity_plan_case *c)
{
	const int loads = datum_given(c->rate) + datum_given(c->users) + datum_given(in->day_tokens);
	const struct datum shares[] = {in->isl_cv, in->osl_cv, in->growth};

	if (!c->model.text)
		return run_refuse(
		    r, c->model.from, "no model given", "SLO plans need a named model: 'ridge model list'");
	if (c->gpus->n == 0)
		return run_refuse(r, c->model.from, "no GPU given", "add for example --gpu a100,h100,h200");
	if (loads != 1)
		return run_refuse(r, c->rate.from,
		    loads ? "--rate, --users and --day-tokens exclude each other" : "no load given",
		    "give one of --rate 5 (requests per second), --users 200, --day-tokens 1e9");
	if (!datum_given(c->isl) || !datum_given(c->osl))
		return run_refuse(
		    r, c->isl.from, "input and output length are missing", "add for example --isl 1000 --osl 200");
	if (datum_given(in->think) && !datum_given(c->users))
		return run_refuse(r, in->think.from, "--think needs --users", "leave --think out");
	if (in->cached.value >= 1)
		return run_refuse(r, in->cached.from, "--cached must be below 1: the last prompt token is never cached",
		    "write for example --cached 0.9");
	for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
		if (!(shares[i].value >= 0 && shares[i].value <= 100))
			return run_refuse(r, shares[i].from, "must be between 0 and 100", "write 0.5 or 50%");
	if (in->pue.value < 1)
		return run_refuse(r, in->pue.from, "--pue must be at least 1", "write for example --pue 1.2");
	run_reads(r, &in->pue, &in->host_power, NULL);
	if (!bind_prices_asked(r, c->price.price, c->gpus))
		return false;
	return run_positive(r, "rate", c->rate) & run_whole(r, "users", c->users, 1) & run_whole(r, "isl", c->isl, 1) &
	    run_whole(r, "osl", c->osl, 1) & run_positive(r, "day-tokens", in->day_tokens) &
	    run_fraction(r, "cached", in->cached) & run_positive(r, "target-load", c->utilisation) &
	    run_whole(r, "spare", in->spare, 0) & run_whole(r, "gpus", in->gpus, 1) & run_whole(r, "seed", in->seed, 0);
}

static bool
read_objective(struct run *r, struct word w, struct plan_objective *out)
{
	static const enum plan_measure measures[] = {
	    [SLO_TTFT] = PLAN_TTFT, [SLO_TPOT] = PLAN_TPOT, [SLO_ITL] = PLAN_TPOT, [SLO_E2E] = PLAN_E2E};
	struct slo slo;

	if (!bind_slo(r, w, &slo))
		return false;
	/* their means are the same; of a percentile only the simulation knows the gaps one by one */
	if (slo.measure == SLO_ITL && slo.statistic != PLAN_MEAN)
		return run_refuse(r, w.from, "no percentile of the inter-token latency without simulation",
		    "write tpot.p99:TIME, or check a layout with 'ridge serve --simulate --slo itl.p99:TIME'");
	*out = (struct plan_objective){measures[slo.measure], slo.statistic, slo.limit_s.value};
	return true;
}

/* SLOs from --slo and from --ttft, --tpot and --e2e. */
static bool
read_objectives(struct run *r, const struct capacity_plan_in *in, struct plan_load *l)
{
	const struct datum means[] = {[PLAN_TTFT] = in->ttft, [PLAN_TPOT] = in->tpot, [PLAN_E2E] = in->e2e};
	struct plan_objective *list = ARENA_ARRAY(r->arena, struct plan_objective, in->slo.n + N_PLAN_MEASURES);
	size_t n = 0;

	for (; n < in->slo.n; n++)
		if (!read_objective(r, in->slo.list[n], &list[n]))
			return false;
	for (int i = 0; i < N_PLAN_MEASURES; i++)
		if (datum_given(means[i]))
			list[n++] = (struct plan_objective){(enum plan_measure)i, PLAN_MEAN, means[i].value};
	run_reads(r, &in->slo, &in->ttft, &in->tpot, &in->e2e, NULL);
	l->objectives = list;
	l->n_objectives = n;
	return run_positive(r, "ttft", in->ttft) & run_positive(r, "tpot", in->tpot) & run_positive(r, "e2e", in->e2e);
}

bool
capacity_load(struct run *r, const struct capacity_plan_in *in, const struct capacity_plan_case *c, struct plan_load *l)
{
	const struct datum read[] = {c->rate, c->users, c->isl, c->osl, c->utilisation};

	if (!check(r, in, c))
		return false;
	for (size_t i = 0; i < sizeof read / sizeof *read; i++)
		run_read_from(r, read[i].from);
	bind_served_degrees(r, c->layout);
	run_reads(r, &in->think, &in->day_tokens, &in->isl_cv, &in->osl_cv, &in->cached, &in->growth, &in->spare,
	    &in->gpus, &in->every_layout, NULL);
	*l = (struct plan_load){.rate_request_per_s = c->rate.value,
	    .n_users = c->users.value,
	    .think_s = datum_or(in->think, think_default_s),
	    .isl_token = c->isl.value,
	    .osl_token = c->osl.value,
	    .isl_cv = in->isl_cv.value,
	    .osl_cv = in->osl_cv.value,
	    .cached_frac = in->cached.value,
	    .growth_frac = in->growth.value,
	    .utilisation_frac = c->utilisation.value,
	    .n_spare = in->spare.value};
	if (!read_objectives(r, in, l))
		return false;
	if (datum_given(c->users) && !datum_given(in->think))
		run_assume_value(r, "think", "%g s", think_default_s);
	if (datum_given(in->day_tokens)) {
		CALL(r->sheet, load_request_per_s, serve_day_rate(r->sheet, in->day_tokens.value, l->osl_token));
		SHOW(r->sheet, load_request_per_s, load_request_per_s);
		l->rate_request_per_s = load_request_per_s;
	}
	return true;
}

/* --- candidates ------------------------------------------------------------------------------------------ */

/* As --layout takes it. */
static const char *
layout_text(struct arena *a, const struct serve_setup *setup)
{
	const struct serve_load none = {.isl = 1, .n_requests = datum_absent(), .n_concurrent = datum_absent()};
	const struct memory_job job = serve_memory(setup, &none);
	char buf[80];

	fit_layout_text(&job, buf, sizeof buf);
	return arena_printf(a, "%s", buf);
}

/* What a layout is rented in: said of those that are shown. */
static bool
quiet_price(const struct capacity_search *s, struct plan_setup *about)
{
	struct run quiet = *s->run;

	return bind_price(&quiet, &s->c->price, about->gpu, about->n_linked, &about->rental);
}

/* One layout; what cannot be put together is left out, and remembered. */
static void
add_layout(struct capacity_search *s, struct serve_parts *p, struct plan_setup about, struct serve_layout layout)
{
	struct arena *a = s->run->arena;
	struct serve_setup *setup = ARENA_NEW(a, struct serve_setup);
	struct calibration *kernels = ARENA_NEW(a, struct calibration);
	struct plan_setup *kept = ARENA_NEW(a, struct plan_setup);

	p->layout = layout;
	const char *fault = serve_assemble(setup, kernels, p);
	fault = fault ? fault : bind_draft(s->run, &s->speculation, p, setup);
	if (fault) {
		s->fault = fault;
		return;
	}
	if (s->n == CANDIDATES_MOST)
		return;
	*kept = about;
	kept->n_linked = layout.tp * layout.pp;
	kept->layout = layout_text(a, setup);
	if (!quiet_price(s, kept))
		return;
	s->list[s->n++] = (struct plan_candidate){.setup = setup,
	    .about = kept,
	    .n_replica_gpus = kept->n_linked,
	    .n_unit_gpus = about.n_most_gpus ? 1 : kept->rental.n_gpus,
	    .n_most_gpus = about.n_most_gpus,
	    .gpu_usd_per_s = kept->rental.gpu_usd_per_s.value,
	    .gpu_watt = about.gpu->tdp_watt.value,
	    .untried = serve_is_untried(setup, about.gpu)};
}

static bool
wanted(struct datum asked, double degree)
{
	return !datum_given(asked) || asked.value == degree;
}

/* Why the layouts asked for are none of those that are searched; NULL: they may be. */
static const char *
layout_fault(const struct capacity_search *s)
{
	const struct layout_in *asked = s->c->layout;
	const double tp = datum_or(asked->tp, 1), pp = datum_or(asked->pp, 1), most = s->in->gpus.value;
	struct arena *a = s->run->arena;

	if (tp * pp > most)
		return arena_printf(a, "tp x pp = %g exceeds the %g GPUs of a replica: raise --gpus", tp * pp, most);
	if (exp2(round(log2(tp))) != tp || exp2(round(log2(pp))) != pp)
		return arena_printf(a, "%s is no power of two, and others are not searched",
		    exp2(round(log2(tp))) != tp ? arena_printf(a, "tp=%g", tp) : arena_printf(a, "pp=%g", pp));
	if (!capacity_divides(s->model, tp))
		return arena_printf(a, "tp=%g does not divide the model's heads", tp);
	if (asked->adp && !(workload_has_experts(s->model) && !(tp == 1 && datum_given(asked->tp))))
		return "attention data parallelism (adp) is searched with experts and tp alone: leave adp out";
	return NULL;
}

static void
add_layouts(struct capacity_search *s, struct serve_parts *p, const struct plan_setup *about)
{
	const struct layout_in *asked = s->c->layout;
	const double most = s->in->gpus.value;
	const bool experts = workload_has_experts(s->model);

	s->fault = layout_fault(s);
	if (s->fault)
		return;
	for (double tp = 1; tp <= most; tp *= 2)
		for (double pp = 1; tp * pp <= most; pp *= 2) {
			if (!wanted(asked->tp, tp) || !wanted(asked->pp, pp) || !capacity_divides(s->model, tp) ||
			    pp > s->model->n_layers.value)
				continue;
			for (int way = 0; way < (experts && tp > 1 ? 3 : 1); way++) {
				const double ep = way ? tp : 1;
				if (wanted(asked->ep, ep) && (!asked->adp || way == 2))
					add_layout(s, p, *about, (struct serve_layout){tp, pp, ep, way == 2});
			}
		}
}

/* GPU number i, engine and type: all layouts. */
static bool
add_type(struct capacity_search *s, size_t i, const struct gpu *gpu, const struct engine *e, struct word type)
{
	struct run *r = s->run;
	struct formats f;
	struct serve_parts p = {
	    .model = s->model, .gpu = gpu, .mem_byte = bind_card(r, gpu, datum_absent()), .engine = e};
	struct plan_setup about = {.gpu = gpu,
	    .engine = e,
	    .group = s->n_groups++,
	    .n_most_gpus = s->c->most_gpus ? s->c->most_gpus[i] : NULL};
	const size_t before = s->n;

	const struct formats_in asked = {type, s->c->weights_dtype, s->c->kv_dtype, datum_absent(), datum_absent()};
	enum dtype named;

	if (!run_dtype(r, "dtypes", type, &named) || !bind_formats(r, &asked, s->model, gpu, e, &f))
		return false;
	serve_formats(&p, &f);
	if (!serve_headroom(r, s->c->headroom, &p))
		return false;
	about.type = p.weights;
	about.formats = f;
	bind_serve_kernels(r, NULL, &p);
	about.fitted = p.consensus;
	if (s->c->exact)
		add_layout(s, &p, about, *s->c->exact);
	else
		add_layouts(s, &p, &about);
	if (s->n == before && s->c->exact)
		return run_refuse(r, s->c->layout->tp.from, s->fault ? s->fault : "this layout cannot be evaluated",
		    "--from has to be a layout that the engine can serve");
	if (s->n == before)
		run_warn(r, "%s, %s, %s: %s", gpu->id, e->id, dtype_name(about.type),
		    s->fault ? s->fault : "no layout divides the model");
	return true;
}

static const struct engine *
batched_engine(struct run *r, struct word name, const struct gpu *gpu)
{
	const struct engine *e = bind_engine(r, name, gpu);

	if (e && e->kind != ENGINE_BATCHED) {
		run_refuse(r, name.from, arena_printf(r->arena, "%s has no in-flight batching", e->id),
		    "use an engine with in-flight batching: trtllm, vllm, sglang");
		return NULL;
	}
	return e;
}

static bool
add_gpu(struct capacity_search *s, size_t i, const struct words *engines, const struct words *types)
{
	const struct gpu *gpu = run_gpu(s->run, s->c->gpus->list[i]);

	if (!gpu)
		return false;
	for (size_t k = 0; k < engines->n; k++) {
		const struct engine *e = batched_engine(s->run, engines->list[k], gpu);
		if (!e)
			return false;
		for (size_t m = 0; m < types->n; m++)
			if (!add_type(s, i, gpu, e, types->list[m]))
				return false;
	}
	return true;
}

bool
capacity_candidates(struct capacity_search *s)
{
	struct word engine = {NULL, {0}}, type = s->c->dtype;
	const struct words usual_engine = {.n = 1, .list = &engine}, usual_type = {.n = 1, .list = &type};
	const struct words *engines = s->in->engine.n ? &s->in->engine : &usual_engine,
	                   *types = s->in->dtypes.n ? &s->in->dtypes : &usual_type;

	s->list = ARENA_ARRAY(s->run->arena, struct plan_candidate, CANDIDATES_MOST);
	if (!(s->model = run_model(s->run, s->c->model)))
		return false;
	if (s->model->kind == MODEL_ENCODER)
		return run_refuse(s->run, s->c->model.from, "an encoder has no output tokens",
		    "'ridge serve' has the throughput of one replica: leave --osl out there");
	const double context_token = s->c->isl.value + s->c->osl.value;
	if (datum_given(s->model->context) && context_token > s->model->context.value)
		run_warn(s->run, "ISL + OSL of %g tokens exceeds the model's context length %g", context_token,
		    s->model->context.value);
	if (!bind_speculation(s->run, &s->in->speculate, s->model, &s->speculation))
		return false;
	for (size_t i = 0; i < s->c->gpus->n; i++)
		if (!add_gpu(s, i, engines, types))
			return false;
	if (s->n == 0)
		return run_refuse(s->run, s->c->gpus->list[0].from,
		    arena_printf(s->run->arena, "none of these setups can be evaluated: %s",
		        s->fault ? s->fault : "no layout divides the model"),
		    "'ridge capacity' without --engine and --slo prints roofline floors");
	return true;
}

void
capacity_drafts(const struct capacity_search *s, struct plan_load *load)
{
	struct serve_load drafted = plan_serve_load(load);

	bind_drafted(&s->speculation, &drafted);
	load->n_drafts = drafted.n_drafts;
	load->n_accepted = drafted.n_accepted;
}

/* --- the answer ------------------------------------------------------------------------------------------ */

/* The cheapest, and what is faster for more money, step by step; what the simulation says may change the order. */
static void
confirm(struct capacity_search *s, const struct plan_load *l)
{
	int n = 0;

	run_reads(s->run, &s->in->seed, NULL);
	for (size_t i = 0; i < s->n && n < CONFIRMED_MOST; i++) {
		if (!s->list[i].front)
			continue;
		plan_confirm(&s->list[i], l, (uint64_t)s->in->seed.value);
		n++;
	}
	plan_sort(s->run->arena, s->list, s->n, PLAN_RANK_COST);
	/* where the simulation moved those, the first row is none that was only computed */
	for (n = 0; n < SETTLED_MOST && plan_feasible(&s->list[0]) && !s->list[0].confirmed; n++) {
		plan_confirm(&s->list[0], l, (uint64_t)s->in->seed.value);
		plan_sort(s->run->arena, s->list, s->n, PLAN_RANK_COST);
	}
}

/* How far a setup got. */
static int
rank_of(const struct plan_candidate *c)
{
	if (plan_feasible(c))
		return 3;
	return c->bound == PLAN_SIMULATED_OUT ? 2 : c->bound == PLAN_MISSES;
}

/* Of two that do not fit the larger says more, of two that are too slow the faster; of others the first. */
static bool
stands_for(const struct plan_candidate *a, size_t a_place, const struct plan_candidate *b, size_t b_place)
{
	if (rank_of(a) != rank_of(b))
		return rank_of(a) > rank_of(b);
	if (rank_of(a) == 0 && a->n_replica_gpus != b->n_replica_gpus)
		return a->n_replica_gpus > b->n_replica_gpus;
	const double a_s = a->most.latency_s[PLAN_E2E][PLAN_MEAN], b_s = b->most.latency_s[PLAN_E2E][PLAN_MEAN];
	if (rank_of(a) == 1 && a_s != b_s)
		return a_s < b_s;
	return a_place < b_place;
}

/* The front, and of each group the cheapest that meets the objectives, or else one that shows why none does. */
static bool
is_shown(const struct capacity_search *s, size_t i)
{
	const struct plan_candidate *c = &s->list[i];
	const int group = ((const struct plan_setup *)c->about)->group;

	if (s->in->every_layout || c->front)
		return true;
	for (size_t k = 0; k < s->n; k++)
		if (k != i && ((const struct plan_setup *)s->list[k].about)->group == group &&
		    stands_for(&s->list[k], k, c, i))
			return false;
	return true;
}

void
capacity_warn_first(struct run *r, const struct plan_candidate *first, const struct plan_load *load)
{
	const struct serve_question q = {.setup = first->setup,
	    .gpu = ((const struct plan_setup *)first->about)->gpu,
	    .regime = SERVE_ONLINE,
	    .load = plan_serve_load(load),
	    .rate_request_per_s = first->usual.rate_request_per_s};
	struct serve_metrics m;

	serve_answer(&q, &m);
	const struct serve_judgement j = serve_judge(&q, &m);
	for (int i = 0; i < j.n; i++)
		run_warn(r, "first row: %s", j.reasons[i]);
}

static void
warn(struct run *r, const struct capacity_search *s, const struct plan_load *load)
{
	bool fits = false;

	for (size_t i = 0; i < s->n; i++)
		fits = fits || s->list[i].bound != PLAN_DOES_NOT_FIT;
	if (!fits)
		run_warn(r,
		    "no replica of up to %g GPUs holds the model and one request: raise --gpus, or use a "
		    "smaller dtype",
		    s->in->gpus.value);
	if (plan_feasible(&s->list[0]))
		capacity_warn_first(r, &s->list[0], load);
	if (datum_given(s->c->users) && s->n_groups > 1)
		run_warn(r, "closed load: users of faster GPUs send more requests, which may need more replicas");
	if (s->in->unconfirmed)
		run_warn(r, "closed form, not confirmed by simulation");
	else if (plan_feasible(&s->list[0]))
		run_warn(r,
		    "up to %d setups on the cost-latency front simulated at the planned load, without spare replicas; "
		    "the others are closed-form",
		    CONFIRMED_MOST);
}

void
capacity_tell_price(const struct capacity_search *s, const struct plan_candidate *c)
{
	const struct plan_setup *about = c->about;
	struct rental rental;

	if (isfinite(c->n_gpus) || c->bound == PLAN_SHORT)
		bind_price(s->run, &s->c->price, about->gpu, about->n_linked, &rental);
}

enum answer
capacity_plan(struct run *r, const struct capacity_plan_in *in, const struct capacity_plan_case *c)
{
	struct capacity_search s = {.run = r, .in = in, .c = c};
	struct plan_load load;

	if (!capacity_load(r, in, c, &load) || !capacity_candidates(&s))
		return REFUSED;
	capacity_drafts(&s, &load);
	r->title = datum_given(c->users)
	    ? arena_printf(r->arena, "GPUs for %g users of %s", load.n_users, s.model->name)
	    : arena_printf(r->arena, "GPUs for %.4g requests/s of %g tokens in, %g out: %s", load.rate_request_per_s,
	          load.isl_token, load.osl_token, s.model->name);
	plan_all(r->arena, s.list, s.n, &load);
	run_reads(r, &in->unconfirmed, NULL);
	if (!in->unconfirmed)
		confirm(&s, &load);
	for (size_t i = 0; i < s.n; i++)
		if (is_shown(&s, i))
			SCOPE_I (r->sheet, "candidates", i) {
				capacity_tell_price(&s, &s.list[i]);
				capacity_plan_show(r, in, &s.list[i], &load);
			}
	warn(r, &s, &load);
	return plan_feasible(&s.list[0]) ? ANSWERED : ANSWERED_NO;
}
