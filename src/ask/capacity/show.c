/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of `ridge capacity`: a candidate GPU by memory and roofline floors, with its replica layouts; setups of a plan.
 */
#include "ask/capacity/capacity.h"

#include "ask/bind/bind.h"
#include "ask/serve/serve.h"
#include "base/base.h"
#include "cli/cli.h"
#include "model/calc/calc.h"
#include "model/layer/layer.h"
#include "model/memory/memory.h"
#include "model/serve/serve.h"
#include "search/plan/plan.h"

/* --- ways to lay a replica out ---------------------------------------------------------------------------- */

bool
capacity_divides(const struct workload *w, double tp)
{
	for (int i = 0; w && i < w->n_blocks; i++)
		if (fmod(datum_or(block_heads(&w->blocks[i]), tp), tp) != 0)
			return false;
	return true;
}

/* Experts are spread over all GPUs that attend apart, where they divide. */
static double
spread_of(const struct workload *w, double tp)
{
	double ep = 1;

	for (int i = 0; w && i < w->n_blocks; i++)
		if (w->blocks[i].moe.given) {
			if (fmod(w->blocks[i].moe.n_experts.value, tp) != 0)
				return 1;
			ep = tp;
		}
	return ep;
}

static struct layout
layout_of(const struct plan *p, double tp, bool adp)
{
	struct layout l = {.dp = 1, .tp = tp, .pp = 1, .vp = 1, .cp = 1, .ep = 1, .shard = 1, .adp = adp && tp > 1};

	l.ep = p->layout.ep > 1 ? p->layout.ep : l.adp ? spread_of(p->w, tp) : 1;
	l.etp = tp / l.ep;
	return l;
}

/* Powers of two that divide the heads: groups of at most `most` GPUs, each as one and attending apart. */
static int
floors_ways(const struct plan *p, double most, struct way *ways)
{
	int n = 0;

	for (double tp = p->layout.tp ? p->layout.tp : 1; tp <= fmax(most, p->layout.tp); tp *= 2) {
		if (!p->layout.tp && tp > 1 && !capacity_divides(p->w, tp))
			continue;
		if (!p->layout.adp || tp == 1)
			ways[n++] = (struct way){.layout = layout_of(p, tp, false)};
		if (p->adp && tp > 1)
			ways[n++] = (struct way){.layout = layout_of(p, tp, true)};
		if (p->layout.tp)
			break;
	}
	return n;
}

static struct memory_job
job_of(const struct candidate *who, const struct layout *l)
{
	struct memory_job job = who->job;

	job.layout = *l;
	return job;
}

/* As --layout takes it. */
static const char *
floors_layout(struct run *r, const struct candidate *who, const struct layout *l)
{
	const struct memory_job job = job_of(who, l);
	char buf[80];

	fit_layout_text(&job, buf, sizeof buf);
	return arena_printf(r->arena, "%s", buf);
}

/* What one GPU of the replica holds. */
static struct capacity_replica
floors_replica(struct sheet *sh, const struct plan *p, const struct candidate *who, const struct way *way)
{
	const struct memory_job job = job_of(who, &way->layout);
	const double tp = way->layout.tp;
	struct capacity_replica a = {.tp = tp,
	    .n_groups = way->layout.adp ? tp : 1,
	    .n_rented_gpus = way->rental.n_gpus,
	    .gpu_usd_per_s = way->rental.gpu_usd_per_s.value};

	if (p->named) {
		CALL(sh, gpu_weight_byte, memory_weights(sh, &job, 0));
		CALL(sh, space_byte, memory_kv_pool(sh, &job));
		a.weight_byte = gpu_weight_byte;
		a.space_byte = space_byte;
		return a;
	}
	/* bare numbers: what the headroom leaves */
	TAKE(sh, card_byte, who->c.mem_byte);
	TAKE(sh, headroom_frac, who->c.headroom);
	CALL(sh, gpu_weight_byte, capacity_share(sh, p->weight_byte, tp));
	CALL(sh, space_byte, kv_space(sh, card_byte, headroom_frac, gpu_weight_byte));
	a.weight_byte = gpu_weight_byte;
	a.space_byte = fmax(0, space_byte);
	return a;
}

/* Add prices to all layouts, without listing them under `assumed`. */
static bool
floors_price_ways(struct run *r, const struct price_in *price, const struct plan *p, const struct candidate *who,
    struct way *ways, int n, struct capacity_replica *all)
{
	struct run quiet = *r;

	for (int i = 0; i < n; i++) {
		if (!bind_price(&quiet, price, who->gpu, ways[i].layout.tp, &ways[i].rental))
			return false;
		all[i] = floors_replica(NULL, p, who, &ways[i]);
	}
	return true;
}

/* --- rows of one candidate -------------------------------------------------------------------------------- */

static void
show_money(struct run *r, const struct rental *rental, double n_paid, double fleet_token_per_s)
{
	struct sheet *sh = r->sheet;

	if (!datum_given(rental->gpu_usd_per_s))
		return;
	const double n_paid_gpus = n_paid;
	TAKE(sh, gpu_usd_per_s, rental->gpu_usd_per_s);
	CALL(sh, month_usd, capacity_month_usd(sh, n_paid_gpus, gpu_usd_per_s));
	SHOW(sh, month_usd, month_usd);
	if (!isnan(fleet_token_per_s)) {
		CALL(sh, million_usd, capacity_million_usd(sh, n_paid_gpus, gpu_usd_per_s, fleet_token_per_s));
		SHOW(sh, million_usd, million_usd);
	}
}

static void
warn_idle(struct run *r, const struct gpu *gpu, const struct rental *rental, double n_gpus, double n_rented_gpus)
{
	if (n_rented_gpus > n_gpus && rental->name)
		run_warn(r, "%s: %s has %g GPUs; %g of the %g paid GPUs stay idle", gpu->id, rental->name,
		    rental->n_gpus, n_rented_gpus - n_gpus, n_rented_gpus);
}

/* Whole instances are paid, with what stays idle in them. */
static double
show_rented(struct run *r, const struct candidate *who, const struct rental *rental, double n_replicas, double tp)
{
	struct sheet *sh = r->sheet;

	CALL(sh, n_rented_gpus, cost_rented(sh, n_replicas, tp, rental->n_gpus));
	SHOW(sh, n_rented_gpus, n_rented_gpus);
	if (who->gpu)
		warn_idle(r, who->gpu, rental, n_replicas * tp, n_rented_gpus);
	return n_rented_gpus;
}

static bool
show_pool(struct run *r, const struct price_in *price, const struct plan *p, const struct candidate *who)
{
	struct sheet *sh = r->sheet;
	struct rental rental;

	CALL(sh, n_gpus, capacity_pool(sh, &who->c, p->weight_byte));
	if (!bind_price(r, price, who->gpu, n_gpus, &rental))
		return false;
	SHOW(sh, n_gpus, n_gpus);
	TELL(sh, bottleneck, capacity_pool_binds(&who->c, p->weight_byte));
	double n_paid = n_gpus;
	if (rental.n_gpus > 1)
		n_paid = show_rented(r, who, &rental, 1, n_gpus);
	show_money(r, &rental, n_paid, NAN);
	return true;
}

static bool
show_misfit(struct run *r, const struct plan *p, const struct candidate *who, const struct way *last)
{
	struct sheet *sh = r->sheet;
	struct plan any = *p;
	struct way ways[WAYS_MAX] = {{.layout = {.dp = 1}}};
	struct capacity_replica all[WAYS_MAX];

	/* why not: the largest group that was tried */
	const struct capacity_replica most = floors_replica(sh, p, who, last);
	CALL(sh, n_most, capacity_replica_users(sh, &who->c, &most));
	(void)n_most;
	any.layout.tp = 0;
	const int n = floors_ways(&any, TP_MOST, ways);
	for (int i = 0; i < n; i++)
		all[i] = floors_replica(NULL, p, who, &ways[i]);
	const int fewest = capacity_fewest(&who->c, all, n);
	if (fewest < 0) {
		TELL(sh, verdict,
		    !datum_given(who->c.itl_s) ? "does not fit on any number of GPUs"
		                               : "misses --itl on any number of GPUs");
		return false;
	}
	TAKE(sh, n_fewest_gpus, all[fewest].tp);
	SHOW(sh, n_fewest_gpus, n_min_gpus);
	TELL(sh, verdict,
	    arena_printf(r->arena, "does not fit on %g GPU%s: needs --layout %s", last->layout.tp,
	        last->layout.tp == 1 ? "" : "s", floors_layout(r, who, &ways[fewest].layout)));
	return false;
}

static void
show_speed(struct run *r, const struct plan *p, const struct candidate *who, const struct capacity_replica *a,
    double n_replicas, double *out)
{
	struct sheet *sh = r->sheet;
	const struct capacity_case *c = &who->c;

	if (p->load) {
		FROM(sh, c, rate_request_per_s, osl_token);
		CALL(sh, fleet_token_per_s, capacity_load_rate(sh, rate_request_per_s, osl_token));
		*out = fleet_token_per_s;
	} else if (datum_given(c->mem_byte_per_s) && c->n_users.value > 0) {
		TAKE(sh, n_users, c->n_users);
		CALL(sh, user_token_per_s, capacity_user_rate(sh, c, a, n_users, n_replicas));
		SHOW(sh, user_token_per_s, user_token_per_s);
		CALL(sh, fleet_token_per_s, capacity_fleet_rate(sh, n_users, user_token_per_s));
		*out = fleet_token_per_s;
	}
}

static bool
show_replicas(struct run *r, const struct price_in *price, const struct plan *p, const struct candidate *who)
{
	struct sheet *sh = r->sheet;
	struct way ways[WAYS_MAX] = {{.layout = {.dp = 1}}};
	struct capacity_replica all[WAYS_MAX];
	const int n = floors_ways(p, NODE, ways);
	double fleet_token_per_s = NAN;

	if (!floors_price_ways(r, price, p, who, ways, n, all))
		return false;
	const int best = capacity_best(&who->c, all, n);
	if (best < 0)
		return show_misfit(r, p, who, &ways[n - 1]);
	struct way *way = &ways[best];
	if (!bind_price(r, price, who->gpu, way->layout.tp, &way->rental))
		return false;
	const struct capacity_replica a = floors_replica(sh, p, who, way);
	CALL(sh, n_gpus, capacity_replicas(sh, &who->c, &a));
	CALL(sh, n_replicas, capacity_count(sh, n_gpus, a.tp));
	TAKE(sh, tp, a.tp);
	CALL(sh, n_most, capacity_replica_users(sh, &who->c, &a));
	SHOW(sh, n_gpus, n_gpus);
	SHOW(sh, n_replicas, n_replicas);
	SHOW(sh, tp, n_replica_gpus);
	SHOW(sh, n_most, n_replica_users);
	if (way->layout.adp)
		TELL(sh, layout, floors_layout(r, who, &way->layout));
	else
		TELL_HIDDEN(sh, layout, floors_layout(r, who, &way->layout));
	TELL(sh, bottleneck, capacity_binds(&who->c, &a));
	show_speed(r, p, who, &a, n_replicas, &fleet_token_per_s);
	double n_paid = n_gpus;
	if (way->rental.n_gpus > 1)
		n_paid = show_rented(r, who, &way->rental, n_replicas, tp);
	show_money(r, &way->rental, n_paid, fleet_token_per_s);
	return true;
}

bool
floors_show(struct run *r, const struct price_in *price, const struct plan *p, const struct candidate *who)
{
	struct sheet *sh = r->sheet;

	if (who->gpu)
		TELL(sh, gpu, who->gpu->id);
	TAKE(sh, mem_byte, who->c.mem_byte);
	SHOW(sh, mem_byte, gpu_mem_byte);
	return p->shared ? show_pool(r, price, p, who) : show_replicas(r, price, p, who);
}

/* --- setups of a plan ------------------------------------------------------------------------------------- */

/* Requests per second that the fleet answers today. */
static double
load_rate(struct sheet *sh, const struct plan_candidate *c, const struct plan_load *l)
{
	if (!isnan(l->rate_request_per_s)) {
		TAKE(sh, load_request_per_s, l->rate_request_per_s);
		return load_request_per_s;
	}
	CALL(sh, load_request_per_s,
	    serve_user_rate(sh, l->n_users, c->usual.latency_s[PLAN_E2E][PLAN_MEAN], l->think_s));
	return load_request_per_s;
}

/* The load in requests per second of replicas that are as full as they may be. */
static double
full_rate(struct sheet *sh, const struct plan_candidate *c, const struct plan_load *l)
{
	if (!isnan(l->rate_request_per_s)) {
		TAKE(sh, planned_request_per_s, l->rate_request_per_s);
		return planned_request_per_s;
	}
	CALL(sh, planned_request_per_s,
	    serve_user_rate(sh, l->n_users, c->most.latency_s[PLAN_E2E][PLAN_MEAN], l->think_s));
	return planned_request_per_s;
}

static double
show_count(struct run *r, const struct plan_candidate *c, const struct plan_load *l)
{
	struct sheet *sh = r->sheet;
	double planned_request_per_s;

	SET_CALL(sh, planned_request_per_s, full_rate(sh, c, l));
	TAKE(sh, replica_request_per_s, c->most.rate_request_per_s);
	CALL(sh, n_needed, serve_fleet_needed(sh, planned_request_per_s, l->growth_frac, replica_request_per_s));
	TAKE(sh, n_added, c->n_added);
	CALL(sh, n_all, serve_fleet_all(sh, n_needed, n_added, l->n_spare));
	SHOW(sh, n_all, n_replicas);
	CALL(sh, n_gpus, serve_fleet_gpus(sh, n_all, c->n_replica_gpus));
	SHOW(sh, n_gpus, n_gpus);
	return n_gpus;
}

/* Show rented GPUs: whole instances are paid for, idle GPUs included. */
static double
show_plan_rented(struct run *r, const struct plan_candidate *c, double n_gpus)
{
	const struct plan_setup *about = c->about;
	struct sheet *sh = r->sheet;

	if (!(c->n_unit_gpus > 1))
		return n_gpus;
	CALL(sh, n_rented_gpus, cost_rented(sh, n_gpus / c->n_replica_gpus, c->n_replica_gpus, c->n_unit_gpus));
	SHOW(sh, n_rented_gpus, n_rented_gpus);
	warn_idle(r, about->gpu, &about->rental, n_gpus, n_rented_gpus);
	return n_rented_gpus;
}

static void
show_plan_money(struct run *r, const struct plan_candidate *c, const struct plan_load *l, double n_paid)
{
	const struct plan_setup *about = c->about;
	struct sheet *sh = r->sheet;

	if (!datum_given(about->rental.gpu_usd_per_s))
		return;
	const struct serve_batch decode = {.n_decode = c->usual.n_running,
	                             .context_token = l->isl_token + l->osl_token / 2,
	                             .n_rows = c->usual.n_running},
	                         prompt = {.n_prefill = 1,
	                             .chunk_token = l->isl_token * (1 - l->cached_frac),
	                             .prefix_token = l->isl_token * l->cached_frac,
	                             .n_rows = 1};

	const double n_paid_gpus = n_paid;
	TAKE(sh, gpu_usd_per_s, about->rental.gpu_usd_per_s);
	CALL(sh, month_usd, capacity_month_usd(sh, n_paid_gpus, gpu_usd_per_s));
	SHOW(sh, month_usd, month_usd);
	CALL(sh, rate_request_per_s, load_rate(sh, c, l));
	CALL(sh, bill_usd_per_request, serve_request_usd(sh, n_paid_gpus, gpu_usd_per_s, rate_request_per_s));
	CALL(sh, decode_step_s, serve_iteration(sh, c->setup, &decode, NULL));
	CALL(sh, prompt_step_s, serve_iteration(sh, c->setup, &prompt, NULL));
	TAKE(sh, n_running, c->usual.n_running);
	CALL(sh, output_weight, serve_token_weight(sh, decode_step_s, n_running, prompt_step_s, l->isl_token));
	CALL(sh, input_million_usd,
	    cost_input_split(sh, bill_usd_per_request, l->isl_token, l->osl_token, output_weight));
	SHOW(sh, input_million_usd, input_million_usd);
	CALL(sh, output_million_usd, cost_output_split(sh, input_million_usd, output_weight));
	SHOW(sh, output_million_usd, output_million_usd);
}

/* At the load of today, on all replicas. */
static bool
is_asked(const struct plan_load *l, enum plan_measure m, enum plan_statistic s)
{
	for (size_t i = 0; i < l->n_objectives; i++)
		if (l->objectives[i].measure == m && l->objectives[i].statistic == s)
			return true;
	return false;
}

/* Those that objectives limit; the first token's P99 always. */
static void
show_percentiles(struct sheet *sh, const struct plan_point *p, const struct plan_load *l, enum plan_measure m)
{
	for (int k = PLAN_P50; k < N_PLAN_STATISTICS; k++) {
		const enum plan_statistic s = (enum plan_statistic)k;
		if (is_asked(l, m, s) || (m == PLAN_TTFT && s == PLAN_P99))
			bind_show_percentile(sh, m, s, p->latency_s[m][s]);
	}
}

static void
show_latency(struct run *r, const struct plan_point *p, const struct plan_load *l)
{
	struct sheet *sh = r->sheet;

	TAKE(sh, ttft_s, p->latency_s[PLAN_TTFT][PLAN_MEAN]);
	SHOW(sh, ttft_s, ttft_s);
	show_percentiles(sh, p, l, PLAN_TTFT);
	TAKE(sh, tpot_s, p->latency_s[PLAN_TPOT][PLAN_MEAN]);
	SHOW(sh, tpot_s, tpot_s);
	show_percentiles(sh, p, l, PLAN_TPOT);
	TAKE(sh, answer_s, p->latency_s[PLAN_E2E][PLAN_MEAN]);
	SHOW(sh, answer_s, e2e_s);
	show_percentiles(sh, p, l, PLAN_E2E);
}

void
capacity_tell_proof(struct run *r, const struct plan_point *p, double n_added)
{
	struct sheet *sh = r->sheet;

	TAKE(sh, proven_ttft_s, p->latency_s[PLAN_TTFT][PLAN_MEAN]);
	TAKE(sh, proven_ttft_p90_s, p->latency_s[PLAN_TTFT][PLAN_P90]);
	TAKE(sh, proven_ttft_p99_s, p->latency_s[PLAN_TTFT][PLAN_P99]);
	TAKE(sh, proven_tpot_s, p->latency_s[PLAN_TPOT][PLAN_MEAN]);
	TAKE(sh, proven_tpot_p99_s, p->latency_s[PLAN_TPOT][PLAN_P99]);
	TAKE(sh, proven_answer_s, p->latency_s[PLAN_E2E][PLAN_MEAN]);
	TAKE(sh, proven_answer_p99_s, p->latency_s[PLAN_E2E][PLAN_P99]);
	TELL(sh, confirmed, n_added > 0 ? arena_printf(r->arena, "yes, with %g more", n_added) : "yes");
}

void
capacity_plan_show(
    struct run *r, const struct capacity_plan_in *in, const struct plan_candidate *c, const struct plan_load *l)
{
	const struct plan_setup *about = c->about;
	struct sheet *sh = r->sheet;

	TELL(sh, gpu, about->gpu->id);
	TELL(sh, engine, about->engine->id);
	TELL(sh, dtype, dtype_name(about->type));
	TELL(sh, layout, about->layout);
	const char *bound = plan_bound_text(c->bound);
	TELL(sh, bottleneck, c->idle ? arena_printf(r->arena, "%s: impractical", bound) : bound);
	if (c->idle)
		run_warn(r, "%s, %s: impractical: the SLOs allow each replica %.2g %% of its maximum load",
		    about->gpu->id, about->layout, 100 * c->most.full_frac);
	if (c->bound == PLAN_DOES_NOT_FIT) {
		CALL(sh, weight_byte, serve_weights(sh, c->setup));
		SHOW(sh, weight_byte, weight_byte);
		TAKE(sh, mem_byte, c->setup->mem_byte);
		SHOW(sh, mem_byte, gpu_mem_byte);
	}
	if (c->bound == PLAN_MISSES)
		show_latency(r, &c->most, l); /* of a request that is alone */
	if (!isfinite(c->n_gpus) || c->bound == PLAN_SIMULATED_OUT)
		return;
	const double n_gpus = show_count(r, c, l);
	show_plan_money(r, c, l, show_plan_rented(r, c, n_gpus));
	if (datum_given(about->gpu->tdp_watt)) {
		TAKE(sh, gpu_watt, about->gpu->tdp_watt);
		TAKE(sh, n_fleet_gpus, n_gpus);
		CALL(sh, all_watt, serve_fleet_power(sh, n_fleet_gpus, gpu_watt));
		SHOW(sh, all_watt, power_watt);
		if (datum_given(in->pue) || datum_given(in->host_power)) {
			CALL(sh, site_watt,
			    serve_site_power(
			        sh, all_watt, n_fleet_gpus, datum_or(in->host_power, 0), datum_or(in->pue, 1)));
			SHOW(sh, site_watt, site_watt);
		}
	}
	show_latency(r, &c->usual, l);
	const struct serve_question asked = {.setup = c->setup, .gpu = about->gpu, .regime = SERVE_ONLINE};
	TELL_HIDDEN(sh, typical_error, serve_support(r, &asked));
	if (c->front)
		TELL(sh, pareto, "*");
	if (c->confirmed)
		capacity_tell_proof(r, &c->proven, c->n_added);
}
