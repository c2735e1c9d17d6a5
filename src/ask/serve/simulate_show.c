/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A simulation's answer as rows. */
#include "ask/serve/serve.h"

static void
show_spread(struct run *r, int i, const char *what, const struct sim_spread *s)
{
	struct sheet *sh = r->sheet;

	if (isnan(s->mean))
		return;
	SCOPE_I (sh, "latencies", i) {
		TELL(sh, metric, what);
		TAKE(sh, mean_s, s->mean);
		SHOW(sh, mean_s, mean_s);
		TAKE(sh, p50_s, s->p50);
		SHOW(sh, p50_s, p50_s);
		TAKE(sh, p90_s, s->p90);
		SHOW(sh, p90_s, p90_s);
		TAKE(sh, p95_s, s->p95);
		SHOW(sh, p95_s, p95_s);
		TAKE(sh, p99_s, s->p99);
		SHOW(sh, p99_s, p99_s);
		TAKE(sh, most_s, s->most);
		SHOW(sh, most_s, max_s);
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

	show_spread(r, 0, "TTFT", &result->ttft);
	show_spread(r, 1, "TPOT", &result->tpot);
	show_spread(r, 2, "ITL", &result->itl);
	show_spread(r, 3, "end-to-end latency", &result->e2e);
	TAKE(sh, answered_request_per_s, result->request_per_s);
	SHOW(sh, answered_request_per_s, request_per_s);
	TAKE(sh, output_token_per_s, result->output_token_per_s);
	SHOW(sh, output_token_per_s, output_token_per_s);
	TAKE(sh, all_token_per_s, result->total_token_per_s);
	SHOW(sh, all_token_per_s, total_token_per_s);
	if (simulate_has_objectives(&c->objectives)) {
		TAKE(sh, within_frac, result->within_frac);
		SHOW(sh, within_frac, slo_frac);
		TAKE(sh, goodput_request_per_s, result->goodput_request_per_s);
		SHOW(sh, goodput_request_per_s, goodput_request_per_s);
	}
	TAKE(sh, n_running, result->mean_running);
	SHOW(sh, n_running, n_running);
	TAKE(sh, n_running_most, (double)result->most_running);
	SHOW(sh, n_running_most, n_max_running);
	TAKE(sh, n_waiting, result->mean_waiting);
	SHOW(sh, n_waiting, n_waiting);
	TAKE(sh, n_waiting_most, (double)result->most_waiting);
	SHOW(sh, n_waiting_most, n_max_waiting);
	TAKE(sh, cache_frac, result->mean_cache_frac);
	SHOW(sh, cache_frac, kv_used_frac);
	TAKE(sh, cache_most_frac, result->most_cache_frac);
	SHOW(sh, cache_most_frac, kv_max_frac);
	TAKE(sh, n_preempted, (double)result->n_preempted);
	SHOW(sh, n_preempted, n_preempted);
	TAKE(sh, n_finished, (double)result->n_finished);
	SHOW(sh, n_finished, n_finished);
	if (result->n_refused) {
		TAKE(sh, n_refused, (double)result->n_refused);
		SHOW(sh, n_refused, n_rejected);
	}
	TAKE(sh, n_steps, (double)result->n_steps);
	SHOW(sh, n_steps, n_iterations);
	TAKE(sh, run_s, result->end_s - result->first_arrival_s);
	SHOW(sh, run_s, makespan_s);
}

/* One line of a series of rates; a saturated one has no latencies. */
void
simulate_show_rate(struct run *r, const struct sim_config *c, const struct sim_result *result, bool full)
{
	struct sheet *sh = r->sheet;

	TAKE(sh, rate_request_per_s, c->traffic.rate_request_per_s);
	SHOW(sh, rate_request_per_s, load_request_per_s);
	TELL(sh, state, full ? "saturated" : "steady");
	TAKE(sh, output_token_per_s, result->output_token_per_s);
	SHOW(sh, output_token_per_s, output_token_per_s);
	TAKE(sh, ttft_mean_s, full ? (double)NAN : result->ttft.mean);
	SHOW(sh, ttft_mean_s, ttft_s);
	TAKE(sh, ttft_p99_s, full ? (double)NAN : result->ttft.p99);
	SHOW(sh, ttft_p99_s, ttft_p99_s);
	TAKE(sh, itl_mean_s, full ? (double)NAN : result->itl.mean);
	SHOW(sh, itl_mean_s, itl_s);
	TAKE(sh, itl_p99_s, full ? (double)NAN : result->itl.p99);
	SHOW(sh, itl_p99_s, itl_p99_s);
	TAKE(sh, e2e_p99_s, full ? (double)NAN : result->e2e.p99);
	SHOW(sh, e2e_p99_s, e2e_p99_s);
	if (simulate_has_objectives(&c->objectives)) {
		TAKE(sh, within_frac, result->within_frac);
		SHOW(sh, within_frac, slo_frac);
	}
}
