/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests that come and go: seconds to the first token and per token, from what a request meets (flow.c), and
 * the rate of a closed loop (Little's law).  Separate pools for prompts and answers.
 */
#include "model/serve/parts.h"

#include "model/serve/serve.h"

/* A step with prompts, on average over the number that decodes. */
static double
varied_step(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, const struct serve_flow *f,
    double n_prompts)
{
	GIVEN(sh, n_prompts);
	TAKE(sh, n_decoding, f->n_decoding);
	CALL(sh, usual_s, serve_mixed_step(sh, s, load, n_prompts, n_decoding));
	if (!(f->few_frac + f->many_frac > 0))
		return usual_s;
	FROM(sh, f, n_few, n_many, few_frac, many_frac);
	CALL(sh, few_s, serve_mixed_step(sh, s, load, n_prompts, n_few));
	CALL(sh, many_s, serve_mixed_step(sh, s, load, n_prompts, n_many));
	LET(sh, varied_s, few_frac * few_s + many_frac * many_s + (1 - few_frac - many_frac) * usual_s);
	return varied_s;
}

/* Time per token: some steps have prompts, most have not. */
double
serve_flow_step(
    struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, const struct serve_flow *f)
{
	FROM(sh, f, n_together, prompt_frac);
	CALL(sh, decode_step_s, varied_step(sh, s, load, f, 0));
	CALL(sh, prompt_step_s, varied_step(sh, s, load, f, n_together));
	double mean_step_s;
	if (s->engine->prefill_first)
		/* steps with prompts yield no token of those that decode */
		SET(sh, mean_step_s, decode_step_s + prompt_frac / (1 - prompt_frac) * prompt_step_s);
	else
		SET(sh, mean_step_s, prompt_frac * prompt_step_s + (1 - prompt_frac) * decode_step_s);
	CALL(sh, token_s, serve_token_time(sh, load, mean_step_s));
	return token_s;
}

/* A prompt on an idle replica: in several steps, where one cannot take it. */
static double
alone(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load)
{
	TAKE(sh, isl, load->isl * (1 - load->cached_frac));
	CALL(sh, limit, serve_token_limit(sh, s, load));
	double alone_s;
	if (!s->engine->chunked || isl <= limit) {
		SET_CALL(sh, alone_s, serve_mixed_step(sh, s, load, 1, 0));
		return alone_s;
	}
	LET(sh, n_full, ceil(isl / limit) - 1);
	LET(sh, full_frac, limit / isl);
	LET(sh, rest_frac, 1 - n_full * full_frac);
	CALL(sh, full_s, serve_mixed_step(sh, s, load, full_frac, 0));
	CALL(sh, rest_s, serve_mixed_step(sh, s, load, rest_frac, 0));
	SET(sh, alone_s, n_full * full_s + rest_s);
	return alone_s;
}

static double
layers_of_experts(const struct workload *w)
{
	double n = 0;

	for (int i = 0; i < w->n_blocks; i++)
		n += w->blocks[i].moe.given ? w->blocks[i].count.value : 0;
	return n;
}

/* A prompt is launched kernel by kernel from the CPU, where decode steps replay a graph: published runs of one to four
 * clients show a time that goes with the layers of experts. */
double
serve_front(struct sheet *sh, const struct serve_setup *s)
{
	TAKE(sh, n_layers, layers_of_experts(s->model));
	TAKE(sh, layer_front_s, datum_or(s->engine->front_s, 0));
	LET(sh, front_s, n_layers * layer_front_s);
	return front_s;
}

double
serve_cold(const struct serve_setup *s, const struct serve_load *load)
{
	if (!load->cold)
		return 0;
	return datum_or(s->architecture ? s->architecture->cold_s : datum_absent(), datum_or(s->engine->cold_s, 0));
}

/* An engine that looks at who waits every few steps finds a prompt half as many late. */
static double
unseen(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_beside)
{
	double unseen_s;

	if (!(datum_or(s->engine->poll_steps, 1) > 1)) {
		SET(sh, unseen_s, 0);
		return unseen_s;
	}
	TAKE(sh, poll_steps, s->engine->poll_steps);
	CALL(sh, other_step_s, serve_mixed_step(sh, s, load, 0, n_beside));
	SET(sh, unseen_s, (poll_steps - 1) / 2 * other_step_s);
	return unseen_s;
}

/* TTFT: on an idle replica, or behind the step that runs and the prompts that wait, in a step shared with others. */
double
serve_flow_first(
    struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, const struct serve_flow *f)
{
	FROM(sh, f, idle_frac, wait_s, place_s, n_own, n_beside);
	CALL(sh, alone_s, alone(sh, s, load));
	CALL(sh, own_s, serve_mixed_step(sh, s, load, n_own, n_beside));
	CALL(sh, front_s, serve_front(sh, s));
	CALL(sh, unseen_s, unseen(sh, s, load, n_beside));
	LET(sh, first_s, front_s + place_s + idle_frac * alone_s + (1 - idle_frac) * (unseen_s + wait_s + own_s));
	return first_s;
}

double
serve_answer_time(struct sheet *sh, double first_s, double step_s, double osl)
{
	GIVEN(sh, first_s, step_s, osl);
	LET(sh, answer_s, first_s + (osl - 1) * step_s);
	return answer_s;
}

double
serve_draft_gain(struct sheet *sh, double plain_s, double token_s)
{
	GIVEN(sh, plain_s, token_s);
	LET(sh, draft_gain, plain_s / token_s);
	return draft_gain;
}

/* --- disaggregated pools --------------------------------------------------------------------------------- */

double
serve_prefill_rate(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load)
{
	TAKE(sh, isl, load->isl * (1 - load->cached_frac));
	CALL(sh, limit, serve_token_limit(sh, s, load));
	LET(sh, n_together, fmax(1, floor(limit / isl)));
	CALL(sh, step_s, serve_mixed_step(sh, s, load, n_together, 0));
	LET(sh, rate_request_per_s, n_together / step_s);
	return rate_request_per_s;
}

/* A replica that decodes n_running sequences and takes in no prompts. */
double
serve_decode_rate(struct sheet *sh, const struct serve_load *load, double n_running, double step_s)
{
	GIVEN(sh, n_running, step_s);
	CALL(sh, n_decode_steps, serve_decode_steps(sh, load));
	LET(sh, rate_request_per_s, n_running / (fmax(1, n_decode_steps) * step_s));
	return rate_request_per_s;
}

double
serve_handover(struct sheet *sh, const struct serve_setup *s)
{
	TAKE(sh, handover_s, datum_or(s->engine->handover_s, 0));
	return handover_s;
}

double
serve_transfer(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double link_byte_per_s,
    double link_latency_s)
{
	GIVEN(sh, link_byte_per_s, link_latency_s);
	TAKE(sh, isl, load->isl);
	TAKE(sh, pp, s->layout.pp);
	/* each GPU sends its own part over its own link */
	CALL(sh, kv_byte, serve_kv_byte(sh, s));
	CALL(sh, state_byte, serve_state_byte(sh, s));
	LET(sh, prompt_byte, isl * kv_byte + state_byte);
	LET(sh, transfer_s, link_latency_s + prompt_byte / link_byte_per_s);
	return transfer_s;
}

double
serve_pool_ratio(struct sheet *sh, double prefill_request_per_s, double decode_request_per_s)
{
	GIVEN(sh, prefill_request_per_s, decode_request_per_s);
	LET(sh, pool_ratio, decode_request_per_s / prefill_request_per_s);
	return pool_ratio;
}

/* --- requests that all begin at once ----------------------------------------------------------------------------- */

/*
 * A benchmark of n requests: its clients all begin at once at a server that has just been started.  Their first
 * prompts wait for one another; the other requests meet what they meet in a run without end.
 */

/* Steps that take as many prompts as fit; half of the answers are under way beside the middle one. */
void
serve_burst(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_together,
    double cold_s, struct serve_burst *out)
{
	GIVEN(sh, n_together, cold_s);
	TAKE(sh, isl, load->isl * (1 - load->cached_frac));
	CALL(sh, limit, serve_token_limit(sh, s, load));
	EITHER(sh, n_fit, s->engine->chunked, limit / isl, fmax(1, floor(limit / isl)));
	LET(sh, n_own, fmin(n_fit, n_together));
	EITHER(sh, n_beside, n_own < n_together && !s->engine->prefill_first, n_together / 2, 0);
	CALL(sh, prompt_step_s, serve_mixed_step(sh, s, load, n_own, n_beside));
	CALL(sh, front_s, serve_front(sh, s));
	LET(sh, soonest_s, front_s + cold_s + fmax(1, 1 / n_own) * prompt_step_s);
	LET(sh, last_s, front_s + cold_s + n_together / n_own * prompt_step_s);
	*out = (struct serve_burst){n_together, soonest_s, fmax(soonest_s, last_s)};
}

double
serve_burst_first(struct sheet *sh, const struct serve_burst *b)
{
	FROM(sh, b, soonest_s, last_s);
	LET(sh, burst_first_s, (soonest_s + last_s) / 2);
	return burst_first_s;
}

double
serve_run_first(struct sheet *sh, const struct serve_burst *b, double n_requests, double steady_s)
{
	GIVEN(sh, steady_s);
	TAKE(sh, n_asked, n_requests);
	TAKE(sh, n_burst, fmin(b->n, n_requests));
	CALL(sh, burst_first_s, serve_burst_first(sh, b));
	LET(sh, run_first_s, (n_burst * burst_first_s + (n_asked - n_burst) * steady_s) / n_asked);
	return run_first_s;
}

/* The burst's first tokens are spread evenly, all others take the same. */
double
serve_run_quantile(struct sheet *sh, const struct serve_burst *b, double n_requests, double steady_s, double share)
{
	GIVEN(sh, steady_s, share);
	TAKE(sh, n_asked, n_requests);
	FROM(sh, b, soonest_s, last_s);
	TAKE(sh, n_burst, fmin(b->n, n_requests));
	LET(sh, burst_frac, n_burst / n_asked);
	LET(sh, sooner_frac,
	    burst_frac * fmin(1, fmax(0, (steady_s - soonest_s) / fmax(last_s - soonest_s, 1e-9 * last_s))));
	double quantile_s;
	if (share < sooner_frac)
		SET(sh, quantile_s, soonest_s + share / burst_frac * (last_s - soonest_s));
	else if (share <= sooner_frac + 1 - burst_frac)
		SET(sh, quantile_s, steady_s);
	else
		SET(sh, quantile_s, soonest_s + (share - 1 + burst_frac) / burst_frac * (last_s - soonest_s));
	return quantile_s;
}

/* --- number of replicas, and cost of input and output tokens under mixed load ------------------------------------ */

double
serve_fleet_rate(struct sheet *sh, double replica_request_per_s, double n_replicas)
{
	GIVEN(sh, replica_request_per_s, n_replicas);
	LET(sh, fleet_request_per_s, n_replicas * replica_request_per_s);
	return fleet_request_per_s;
}

double
serve_fleet_needed(struct sheet *sh, double load_request_per_s, double growth_frac, double replica_request_per_s)
{
	GIVEN(sh, load_request_per_s, growth_frac, replica_request_per_s);
	TAKE(sh, slack_frac, 1e-9); /* a load that fills its replicas to the last request, but for rounding */
	LET(sh, n_loads, (1 + growth_frac) * load_request_per_s / replica_request_per_s);
	LET(sh, n_needed, fmax(1, ceil(n_loads - slack_frac)));
	return n_needed;
}

double
serve_fleet_all(struct sheet *sh, double n_needed, double n_added, double n_spare)
{
	GIVEN(sh, n_needed, n_added, n_spare);
	LET(sh, n_all, n_needed + n_added + n_spare);
	return n_all;
}

/* The interactive response time law: N = X (R + Z); Denning and Buzen, Computing Surveys 10(3), 1978. */
double
serve_user_rate(struct sheet *sh, double n_users, double answer_s, double think_s)
{
	GIVEN(sh, n_users, answer_s, think_s);
	TAKE(sh, user_request, 1.0);
	LET(sh, load_request_per_s, n_users * user_request / (answer_s + think_s));
	return load_request_per_s;
}

double
serve_day_rate(struct sheet *sh, double day_token, double osl_token)
{
	GIVEN(sh, day_token, osl_token);
	TAKE(sh, day_s, 86400.0);
	TAKE(sh, answer_request, 1.0);
	LET(sh, load_request_per_s, day_token / osl_token * answer_request / day_s);
	return load_request_per_s;
}

double
serve_fleet_gpus(struct sheet *sh, double n_all, double n_replica_gpus)
{
	GIVEN(sh, n_all, n_replica_gpus);
	LET(sh, n_gpus, n_all * n_replica_gpus);
	return n_gpus;
}

double
serve_fleet_power(struct sheet *sh, double n_gpus, double gpu_watt)
{
	GIVEN(sh, n_gpus, gpu_watt);
	LET(sh, all_watt, n_gpus * gpu_watt);
	return all_watt;
}

double
serve_site_power(struct sheet *sh, double gpus_watt, double n_gpus, double host_watt, double pue)
{
	GIVEN(sh, gpus_watt, n_gpus, host_watt, pue);
	LET(sh, site_watt, (gpus_watt + n_gpus * host_watt) * pue);
	return site_watt;
}

double
serve_request_usd(struct sheet *sh, double n_gpus, double gpu_usd_per_s, double load_request_per_s)
{
	GIVEN(sh, n_gpus, gpu_usd_per_s, load_request_per_s);
	LET(sh, bill_usd_per_request, n_gpus * gpu_usd_per_s / load_request_per_s);
	return bill_usd_per_request;
}

double
serve_token_weight(struct sheet *sh, double decode_step_s, double n_running, double prompt_step_s, double isl_token)
{
	GIVEN(sh, decode_step_s, n_running, prompt_step_s, isl_token);
	TAKE(sh, made_token, 1.0);
	LET(sh, output_s_per_token, decode_step_s / (n_running * made_token));
	LET(sh, input_s_per_token, prompt_step_s / isl_token);
	LET(sh, output_weight, output_s_per_token / input_s_per_token);
	return output_weight;
}
