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
	LET(sh, prompt_byte, isl * kv_byte);
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
