/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Simulate what a capacity plan says: replicas, or a pool that prefills and one that decodes, at the planned load and
 * without their spares.
 */
#include "search/plan/plan.h"

#include "base/base.h"
#include "search/simulate/simulate.h"

enum { REPLICAS_MOST = 4, POOLS_MOST = 64 };

static struct sim_lengths
lengths(double mean_token, double cv)
{
	return (struct sim_lengths){cv > 0 ? SIM_LOG_NORMAL : SIM_CONSTANT, mean_token, cv, NULL, 0};
}

/* The highest requested percentile, at least that of `ridge serve --simulate`: means settle late near a full load. */
static double
highest_share(const struct plan_load *l)
{
	double share = 0.99;

	for (size_t i = 0; i < l->n_objectives; i++)
		share = fmax(share, plan_share(l->objectives[i].statistic));
	return share;
}

/* What requests met, and whether that is within all objectives. */
static bool
met(const struct sim_result *r, const struct plan_load *l, double n_replicas, struct plan_point *out)
{
	const struct sim_spread *spreads[] = {[PLAN_TTFT] = &r->ttft, [PLAN_TPOT] = &r->tpot, [PLAN_E2E] = &r->e2e};
	enum plan_measure missed;

	*out = (struct plan_point){
	    .n_running = r->mean_running / n_replicas, .rate_request_per_s = r->request_per_s / n_replicas};
	for (int i = 0; i < N_PLAN_MEASURES; i++) {
		double *const latency_s = out->latency_s[i];
		latency_s[PLAN_MEAN] = spreads[i]->mean;
		latency_s[PLAN_P50] = spreads[i]->p50;
		latency_s[PLAN_P90] = spreads[i]->p90;
		latency_s[PLAN_P95] = spreads[i]->p95;
		latency_s[PLAN_P99] = spreads[i]->p99;
	}
	if (l->osl_token == 1)
		for (int i = 0; i < N_PLAN_STATISTICS; i++)
			out->latency_s[PLAN_TPOT][i] = 0;
	return plan_excess(l, out, &missed) <= 1;
}

/* Whether all objectives are met at this load, requests per second or users, with about n_at_once requests under way;
 * whole_s: how long one takes under full load. */
static bool
holds(struct sim_config *config, const struct plan_load *l, double load, double n_at_once, double whole_s,
    uint64_t seed, struct plan_point *out)
{
	const bool users = isnan(l->rate_request_per_s);
	const char *fault;

	config->traffic = (struct sim_traffic){.gap_cv = 1,
	    .n_requests = (size_t)simulate_enough(highest_share(l), fmax(n_at_once, users ? load : 0), SIMULATE_WARMUP),
	    .isl = lengths(l->isl_token, l->isl_cv),
	    .osl = lengths(l->osl_token, l->osl_cv),
	    .cached_frac = l->cached_frac,
	    .seed = seed};
	if (users) {
		config->traffic.n_clients = (size_t)fmax(1, round(load));
		config->traffic.think_s = l->think_s;
		config->traffic.think_cv = 1;
		config->traffic.ramp_s = l->think_s + whole_s;
	} else
		config->traffic.rate_request_per_s = load;
	config->routing = SIM_SHORTEST_QUEUE;
	config->objectives = (struct sim_objectives){NAN, NAN, NAN};
	config->warmup_frac = SIMULATE_WARMUP;
	struct simulation *s = simulate(config, &fault);
	if (!s)
		return false;
	const struct sim_result *r = simulation_result(s);
	const bool growing = !users && simulation_backlog(r) > 0.1, all = met(r, l, (double)config->n_replicas, out);
	simulation_free(s);
	return all && !growing;
}

/* A few of the replicas that must do without the spares, at their part of the load. */
bool
plan_rehearse(const struct plan_candidate *c, const struct plan_load *l, uint64_t seed, struct plan_point *out)
{
	const struct serve_load usual = plan_serve_load(l);
	const double n_replicas = floor(fmin(c->n_needed, REPLICAS_MOST));
	struct sim_config config = {.engine = simulate_setup(c->setup, &usual), .n_replicas = (size_t)n_replicas};

	return holds(&config, l, plan_demand(l) * n_replicas / c->n_needed, n_replicas * c->most.n_running,
	    c->most.latency_s[PLAN_E2E][PLAN_MEAN], seed, out);
}

bool
plan_holds(const struct plan_candidate *c, const struct plan_load *l, double replica_load, uint64_t seed,
    struct plan_point *out)
{
	struct plan_candidate one = *c;

	one.n_needed = fmax(1, plan_demand(l) / replica_load);
	return plan_rehearse(&one, l, seed, out);
}

/* All replicas of small pools; of large ones a part, with as much of the load as those that prefill have. */
bool
plan_pools_hold(const struct plan_pools *p, const struct plan_load *l, uint64_t seed, struct plan_point *out)
{
	const struct serve_load usual = plan_serve_load(l);
	const double few = fmin(1, POOLS_MOST / (p->n_prefill + p->n_decode)),
	             n_prefill = fmax(1, floor(few * p->n_prefill)), share = n_prefill / p->n_prefill,
	             n_decode = fmax(1, round(share * p->n_decode));
	struct sim_config config = {.engine = simulate_setup(p->prefill, &usual),
	    .n_replicas = (size_t)n_prefill,
	    .decode = simulate_setup(p->decode, &usual),
	    .n_decode_replicas = (size_t)n_decode,
	    .send = simulate_transfer(p->prefill, p->link_byte_per_s, p->link_latency_s),
	    .take = simulate_transfer(p->decode, p->link_byte_per_s, p->link_latency_s)};

	config.engine.front_s += serve_handover(NULL, p->prefill);
	return holds(&config, l, share * plan_demand(l), n_decode * p->n_running, 0, seed, out);
}
