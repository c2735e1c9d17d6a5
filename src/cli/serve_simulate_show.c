/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A simulation's answer as rows. */
#include "cli/serve_simulate.h"

static void
show_spread(struct run *r, int i, const char *what, const struct sim_spread *s)
{
	struct sheet *sh = r->sheet;

	if (isnan(s->mean))
		return;
	SCOPE_I (sh, "spread", i) {
		TELL(sh, name, "of each", what);
		TAKE(sh, mean_s, s->mean);
		SHOW(sh, mean_s, "mean");
		TAKE(sh, p50_s, s->p50);
		SHOW(sh, p50_s, "P50");
		TAKE(sh, p90_s, s->p90);
		SHOW(sh, p90_s, "P90");
		TAKE(sh, p95_s, s->p95);
		SHOW(sh, p95_s, "P95");
		TAKE(sh, p99_s, s->p99);
		SHOW(sh, p99_s, "P99");
		TAKE(sh, most_s, s->most);
		SHOW(sh, most_s, "most");
	}
}

bool
simulate_has_objectives(const struct sim_objectives *o)
{
	return !isnan(o->ttft_s) || !isnan(o->tpot_s) || !isnan(o->e2e_s);
}

void
simulate_show(struct run *r, const struct sim_config *c, const struct sim_result *result)
{
	struct sheet *sh = r->sheet;

	show_spread(r, 0, "time to the first token", &result->ttft);
	show_spread(r, 1, "time per token of an answer", &result->tpot);
	show_spread(r, 2, "gap between two tokens", &result->itl);
	show_spread(r, 3, "whole answer", &result->e2e);
	TAKE(sh, answered_request_per_s, result->request_per_s);
	SHOW(sh, answered_request_per_s, "answered");
	TAKE(sh, output_token_per_s, result->output_token_per_s);
	SHOW(sh, output_token_per_s, "generated");
	TAKE(sh, all_token_per_s, result->total_token_per_s);
	SHOW(sh, all_token_per_s, "prompts and answers");
	if (simulate_has_objectives(&c->objectives)) {
		TAKE(sh, within_frac, result->within_frac);
		SHOW(sh, within_frac, "requests within the objectives");
		TAKE(sh, goodput_request_per_s, result->goodput_request_per_s);
		SHOW(sh, goodput_request_per_s, "goodput");
	}
	TAKE(sh, n_running, result->mean_running);
	SHOW(sh, n_running, "running, on average");
	TAKE(sh, n_running_most, (double)result->most_running);
	SHOW(sh, n_running_most, "running, at most, on one replica");
	TAKE(sh, n_waiting, result->mean_waiting);
	SHOW(sh, n_waiting, "waiting, on average");
	TAKE(sh, n_waiting_most, (double)result->most_waiting);
	SHOW(sh, n_waiting_most, "waiting, at most, on one replica");
	TAKE(sh, cache_frac, result->mean_cache_frac);
	SHOW(sh, cache_frac, "cache in use, on average");
	TAKE(sh, cache_most_frac, result->most_cache_frac);
	SHOW(sh, cache_most_frac, "cache in use, at most");
	TAKE(sh, n_preempted, (double)result->n_preempted);
	SHOW(sh, n_preempted, "preemptions");
	TAKE(sh, n_finished, (double)result->n_finished);
	SHOW(sh, n_finished, "requests answered");
	if (result->n_refused) {
		TAKE(sh, n_refused, (double)result->n_refused);
		SHOW(sh, n_refused, "refused, larger than the cache");
	}
	TAKE(sh, n_steps, (double)result->n_steps);
	SHOW(sh, n_steps, "steps");
	TAKE(sh, run_s, result->end_s - result->first_arrival_s);
	SHOW(sh, run_s, "simulated time");
}

/* One line of a series of rates; a saturated one has no latencies. */
void
simulate_show_rate(struct run *r, const struct sim_config *c, const struct sim_result *result, bool full)
{
	struct sheet *sh = r->sheet;

	TAKE(sh, rate_request_per_s, c->traffic.rate_request_per_s);
	SHOW(sh, rate_request_per_s, "rate");
	TELL(sh, verdict, "state", full ? "saturated" : "steady");
	TAKE(sh, output_token_per_s, result->output_token_per_s);
	SHOW(sh, output_token_per_s, "generated");
	TAKE(sh, ttft_mean_s, full ? (double)NAN : result->ttft.mean);
	SHOW(sh, ttft_mean_s, "TTFT mean");
	TAKE(sh, ttft_p99_s, full ? (double)NAN : result->ttft.p99);
	SHOW(sh, ttft_p99_s, "TTFT P99");
	TAKE(sh, itl_mean_s, full ? (double)NAN : result->itl.mean);
	SHOW(sh, itl_mean_s, "ITL mean");
	TAKE(sh, itl_p99_s, full ? (double)NAN : result->itl.p99);
	SHOW(sh, itl_p99_s, "ITL P99");
	TAKE(sh, e2e_p99_s, full ? (double)NAN : result->e2e.p99);
	SHOW(sh, e2e_p99_s, "answer P99");
	if (simulate_has_objectives(&c->objectives)) {
		TAKE(sh, within_frac, result->within_frac);
		SHOW(sh, within_frac, "within objectives");
	}
}
