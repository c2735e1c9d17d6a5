/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One setup of the plan as rows. */
#include "cli/capacity_plan.h"
#include "engine/plan_capacity.h"
#include "ridge/capacity.h"
#include "ridge/cost.h"
#include "ridge/serve_fleet.h"

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
	SHOW(sh, n_all, "replicas");
	CALL(sh, n_gpus, serve_fleet_gpus(sh, n_all, c->n_replica_gpus));
	SHOW(sh, n_gpus, "GPUs");
	return n_gpus;
}

static void
show_money(struct run *r, const struct plan_candidate *c, const struct plan_load *l, double n_gpus)
{
	const struct plan_setup *about = c->about;
	struct sheet *sh = r->sheet;

	if (!datum_given(about->gpu_usd_per_s))
		return;
	const struct serve_batch decode = {.n_decode = c->usual.n_running,
	                             .context_token = l->isl_token + l->osl_token / 2,
	                             .n_rows = c->usual.n_running},
	                         prompt = {.n_prefill = 1,
	                             .chunk_token = l->isl_token * (1 - l->cached_frac),
	                             .prefix_token = l->isl_token * l->cached_frac,
	                             .n_rows = 1};

	TAKE(sh, gpu_usd_per_s, about->gpu_usd_per_s);
	CALL(sh, month_usd, capacity_month_usd(sh, n_gpus, gpu_usd_per_s));
	SHOW(sh, month_usd, "a month");
	CALL(sh, rate_request_per_s, load_rate(sh, c, l));
	CALL(sh, bill_usd_per_request, serve_request_usd(sh, n_gpus, gpu_usd_per_s, rate_request_per_s));
	CALL(sh, decode_step_s, serve_iteration(sh, c->setup, &decode, NULL));
	CALL(sh, prompt_step_s, serve_iteration(sh, c->setup, &prompt, NULL));
	TAKE(sh, n_running, c->usual.n_running);
	CALL(sh, output_weight, serve_token_weight(sh, decode_step_s, n_running, prompt_step_s, l->isl_token));
	CALL(sh, input_million_usd,
	    cost_input_split(sh, bill_usd_per_request, l->isl_token, l->osl_token, output_weight));
	SHOW(sh, input_million_usd, "1e6 in");
	CALL(sh, output_million_usd, cost_output_split(sh, input_million_usd, output_weight));
	SHOW(sh, output_million_usd, "1e6 out");
}

/* At the load of today, on all replicas. */
static void
show_latency(struct run *r, const struct plan_point *p)
{
	struct sheet *sh = r->sheet;

	TAKE(sh, ttft_s, p->latency_s[PLAN_TTFT][PLAN_MEAN]);
	SHOW(sh, ttft_s, "TTFT");
	TAKE(sh, ttft_p50_s, p->latency_s[PLAN_TTFT][PLAN_P50]);
	TAKE(sh, ttft_p90_s, p->latency_s[PLAN_TTFT][PLAN_P90]);
	TAKE(sh, ttft_p99_s, p->latency_s[PLAN_TTFT][PLAN_P99]);
	SHOW(sh, ttft_p99_s, "P99");
	TAKE(sh, tpot_s, p->latency_s[PLAN_TPOT][PLAN_MEAN]);
	SHOW(sh, tpot_s, "per token");
	TAKE(sh, tpot_p90_s, p->latency_s[PLAN_TPOT][PLAN_P90]);
	TAKE(sh, tpot_p99_s, p->latency_s[PLAN_TPOT][PLAN_P99]);
	TAKE(sh, answer_s, p->latency_s[PLAN_E2E][PLAN_MEAN]);
	SHOW(sh, answer_s, "answer");
	TAKE(sh, answer_p90_s, p->latency_s[PLAN_E2E][PLAN_P90]);
	TAKE(sh, answer_p99_s, p->latency_s[PLAN_E2E][PLAN_P99]);
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
	TELL(sh, confirmed, "simulated",
	    c->n_added > 0 ? arena_printf(r->arena, "yes, with %g more", c->n_added) : "yes");
}

void
capacity_plan_show(struct run *r, const struct plan_candidate *c, const struct plan_load *l)
{
	const struct plan_setup *about = c->about;
	struct sheet *sh = r->sheet;

	TELL(sh, name, "GPU", about->gpu->id);
	TELL(sh, engine, "engine", about->engine->id);
	TELL(sh, type, "type", dtype_name(about->type));
	TELL(sh, layout, "replica", about->layout);
	TELL(sh, binds, "binds", plan_bound_text(c->bound));
	if (c->bound == PLAN_DOES_NOT_FIT) {
		CALL(sh, weight_byte, serve_weights(sh, c->setup));
		SHOW(sh, weight_byte, "weights on a GPU");
		TAKE(sh, mem_byte, c->setup->mem_byte);
		SHOW(sh, mem_byte, "its memory");
	}
	if (c->bound == PLAN_MISSES)
		show_latency(r, &c->most); /* of a request that is alone */
	if (!isfinite(c->n_gpus) || c->bound == PLAN_SIMULATED_OUT)
		return;
	const double n_gpus = show_count(r, c, l);
	show_money(r, c, l, n_gpus);
	if (datum_given(about->gpu->tdp_watt)) {
		TAKE(sh, gpu_watt, about->gpu->tdp_watt);
		TAKE(sh, n_fleet_gpus, n_gpus);
		CALL(sh, all_watt, serve_fleet_power(sh, n_fleet_gpus, gpu_watt));
		SHOW(sh, all_watt, "power");
	}
	show_latency(r, &c->usual);
	if (c->front)
		TELL(sh, front, "front", "*");
	if (c->confirmed)
		tell_proof(r, c);
}
