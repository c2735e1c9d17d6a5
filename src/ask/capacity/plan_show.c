/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Show the setups of a capacity plan. */
#include "ask/capacity/capacity.h"
#include "ask/serve/serve.h"
#include "model/calc/calc.h"
#include "model/memory/memory.h"
#include "model/serve/serve.h"
#include "search/plan/plan.h"

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
show_rented(struct run *r, const struct plan_candidate *c, double n_gpus)
{
	const struct plan_setup *about = c->about;
	struct sheet *sh = r->sheet;

	if (!(c->n_unit_gpus > 1))
		return n_gpus;
	CALL(sh, n_rented_gpus, cost_rented(sh, n_gpus / c->n_replica_gpus, c->n_replica_gpus, c->n_unit_gpus));
	SHOW(sh, n_rented_gpus, n_rented_gpus);
	if (n_rented_gpus > n_gpus && about->rental.name)
		run_warn(r, "%s: %s has %g GPUs; %g of the %g paid GPUs stay idle", about->gpu->id, about->rental.name,
		    about->rental.n_gpus, n_rented_gpus - n_gpus, n_rented_gpus);
	return n_rented_gpus;
}

static void
show_money(struct run *r, const struct plan_candidate *c, const struct plan_load *l, double n_paid)
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

/* Simulated: the planned load, without the spares. */
static void
tell_proof(struct run *r, const struct plan_candidate *c)
{
	struct sheet *sh = r->sheet;

	TAKE(sh, proven_ttft_s, c->proven.latency_s[PLAN_TTFT][PLAN_MEAN]);
	TAKE(sh, proven_ttft_p90_s, c->proven.latency_s[PLAN_TTFT][PLAN_P90]);
	TAKE(sh, proven_ttft_p99_s, c->proven.latency_s[PLAN_TTFT][PLAN_P99]);
	TAKE(sh, proven_tpot_s, c->proven.latency_s[PLAN_TPOT][PLAN_MEAN]);
	TAKE(sh, proven_tpot_p99_s, c->proven.latency_s[PLAN_TPOT][PLAN_P99]);
	TAKE(sh, proven_answer_s, c->proven.latency_s[PLAN_E2E][PLAN_MEAN]);
	TAKE(sh, proven_answer_p99_s, c->proven.latency_s[PLAN_E2E][PLAN_P99]);
	TELL(sh, confirmed, c->n_added > 0 ? arena_printf(r->arena, "yes, with %g more", c->n_added) : "yes");
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
	show_money(r, c, l, show_rented(r, c, n_gpus));
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
		tell_proof(r, c);
}
