/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Published runs of some hundred requests that come at random or in a loop: they begin empty and end with whoever is
 * left, which a simulation of as many requests does too. */
#include "ask/validate/validate.h"

#include "search/simulate/simulate.h"

enum { SEEDS = 8, MOST_REQUESTS = 20000 };

bool
serve_row_simulates(const struct serve_question *q)
{
	return q->setup->engine->kind == ENGINE_BATCHED && q->load.n_requests.value >= 1 &&
	    q->load.n_requests.value <= MOST_REQUESTS;
}

static struct sim_lengths
lengths_of(double mean, double cv)
{
	return (struct sim_lengths){cv > 0 ? SIM_LOG_NORMAL : SIM_CONSTANT, mean, cv, NULL, 0};
}

static bool
simulate_seed(const struct serve_question *q, const struct serve_spread *spread, int seed, struct serve_run *out)
{
	struct sim_config c = {
	    .traffic = {.n_requests = (size_t)q->load.n_requests.value,
	        .rate_request_per_s = q->regime == SERVE_ONLINE ? q->rate_request_per_s : INFINITY,
	        .gap_cv = 1,
	        .n_clients = q->regime == SERVE_CLOSED ? (size_t)q->load.n_concurrent.value : 0,
	        .isl = lengths_of(q->load.isl, spread->isl_cv),
	        .osl = lengths_of(q->load.osl, spread->osl_cv),
	        .cached_frac = q->load.cached_frac,
	        .seed = (uint64_t)seed},
	    .engine = simulate_setup(q->setup, &q->load),
	    .n_replicas = 1,
	    .n_threads = 1,
	    .objectives = {NAN, NAN, NAN},
	};
	const char *fault;
	struct simulation *s = simulate(&c, &fault);

	if (!s)
		return false;
	const struct sim_result *r = simulation_result(s);
	*out = (struct serve_run){.first_mean_s = r->ttft.mean,
	    .first_p50_s = r->ttft.p50,
	    .step_mean_s = r->itl.mean,
	    .step_p50_s = r->itl.p50,
	    .answer_s = r->e2e.mean,
	    .output_token_per_s = r->output_token_per_s,
	    .total_token_per_s = r->total_token_per_s,
	    .request_per_s = r->request_per_s};
	const bool all = r->n_finished == c.traffic.n_requests;
	simulation_free(s);
	return all;
}

bool
serve_row_simulate(const struct serve_question *q, const struct serve_spread *spread, struct serve_run *out)
{
	const int n = q->load.n_requests.value > 2000 ? 1 : SEEDS;
	struct serve_run sum = {0}, one;

	for (int i = 1; i <= n; i++) {
		if (!simulate_seed(q, spread, i, &one))
			return false;
		sum.first_mean_s += one.first_mean_s / n;
		sum.first_p50_s += one.first_p50_s / n;
		sum.step_mean_s += one.step_mean_s / n;
		sum.step_p50_s += one.step_p50_s / n;
		sum.answer_s += one.answer_s / n;
		sum.output_token_per_s += one.output_token_per_s / n;
		sum.total_token_per_s += one.total_token_per_s / n;
		sum.request_per_s += one.request_per_s / n;
	}
	*out = sum;
	return true;
}
