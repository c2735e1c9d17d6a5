/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests that arrive at random (Poisson) below saturation: by Little's law as many run as arrive during one answer,
 * and a step lasts as long as that many make it.  A request first waits for the step that runs, on average half of its
 * mean square over its mean (the inspection paradox), then for its own, shared with the others that came meanwhile.
 */
#include "model/serve_parts.h"

#include "ridge/serve_load.h"

enum { N_ROUNDS = 200 };

double
serve_online_running(const struct serve_setup *s, const struct serve_load *load, double rate_request_per_s)
{
	struct serve_load endless = *load;

	endless.n_requests = datum_absent();
	const double most = serve_running(NULL, s, &endless);
	const double arriving = rate_request_per_s * load->osl;
	double running = 1;

	if (!(most >= 1))
		return NAN;
	for (int i = 0; i < N_ROUNDS; i++) {
		const double before = running;
		running = (running + fmin(most, arriving * serve_steady(NULL, s, &endless, running))) / 2;
		if (fabs(running - before) <= 1e-9 * running)
			break;
	}
	/* at the cap: more arrive than leave */
	return arriving * serve_steady(NULL, s, &endless, most) >= most && running > 0.999 * most ? NAN : running;
}

static double
prompt_step(
    struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_prompts, double n_running)
{
	const struct serve_batch batch = {
	    .n_prefill = n_prompts,
	    .chunk_token = load->isl * (1 - load->cached_frac),
	    .prefix_token = load->isl * load->cached_frac,
	    .n_decode = n_running,
	    .context_token = load->isl + (load->osl + 1) / 2,
	    .n_rows = n_prompts + n_running,
	};

	CALL(sh, step_s, serve_iteration(sh, s, &batch, NULL));
	return step_s;
}

double
serve_online_first(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load,
    double rate_request_per_s, double n_running)
{
	GIVEN(sh, n_running);
	TAKE(sh, arrival_hertz, rate_request_per_s);
	TAKE(sh, osl, load->osl);
	LET(sh, prompt_share_frac, fmin(1, n_running / osl));
	LET(sh, n_starting, fmax(1, prompt_share_frac));
	CALL(sh, decode_step_s, prompt_step(sh, s, load, 0, n_running));
	CALL(sh, prompt_step_s, prompt_step(sh, s, load, n_starting, n_running));
	LET(sh, mean_s, prompt_share_frac * prompt_step_s + (1 - prompt_share_frac) * decode_step_s);
	LET(sh, long_s,
	    (prompt_share_frac * prompt_step_s * prompt_step_s +
	        (1 - prompt_share_frac) * decode_step_s * decode_step_s) /
	        mean_s);
	LET(sh, n_company, 1 + arrival_hertz * long_s);
	CALL(sh, own_s, prompt_step(sh, s, load, n_company, n_running));
	LET(sh, first_s, long_s / 2 + own_s);
	return first_s;
}

double
serve_closed_first(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_clients,
    double n_running, double step_s)
{
	GIVEN(sh, n_clients);
	GIVEN(sh, n_running);
	GIVEN(sh, step_s);
	TAKE(sh, osl, load->osl);
	CALL(sh, own_s, prompt_step(sh, s, load, 1, n_running - 1));
	/* a place becomes free as often as an answer ends */
	LET(sh, wait_s, (n_clients - n_running) * (osl * step_s / n_running));
	LET(sh, first_s, own_s + wait_s);
	return first_s;
}

double
serve_answer_time(struct sheet *sh, double first_s, double step_s, double osl)
{
	GIVEN(sh, first_s);
	GIVEN(sh, step_s);
	GIVEN(sh, osl);
	LET(sh, answer_s, first_s + (osl - 1) * step_s);
	return answer_s;
}

double
serve_verify(struct sheet *sh, const struct serve_setup *s, double n_running, double context, double n_drafts)
{
	GIVEN(sh, n_running);
	GIVEN(sh, n_drafts);
	TAKE(sh, gpu_factor, s->engine->gpu_factor);
	LET(sh, n_new, n_running * (n_drafts + 1));
	CALL(sh, linear_s, serve_linear(sh, s, n_new, NULL));
	CALL(sh, caches_s, serve_cached_attention(sh, s, n_running, context));
	CALL(sh, head_s, serve_head(sh, s, n_new));
	CALL(sh, host_s, serve_host(sh, s, 0, n_running));
	LET(sh, verify_s, gpu_factor * (linear_s + caches_s + head_s) + host_s);
	return verify_s;
}

double
serve_draft_gain(struct sheet *sh, double n_accepted, double n_drafts, double draft_s, double verify_s, double step_s)
{
	GIVEN(sh, n_accepted);
	GIVEN(sh, n_drafts);
	GIVEN(sh, draft_s);
	GIVEN(sh, verify_s);
	GIVEN(sh, step_s);
	/* the verifying pass yields one token more than it accepts */
	LET(sh, draft_gain, (n_accepted + 1) * step_s / (verify_s + n_drafts * draft_s));
	return draft_gain;
}

/* --- disaggregated pools --------------------------------------------------------------------------------- */

double
serve_prefill_rate(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load)
{
	TAKE(sh, isl, load->isl * (1 - load->cached_frac));
	TAKE(sh, step_limit, s->engine->max_tokens);
	TAKE(sh, n_groups, serve_groups(s));
	LET(sh, n_together, fmax(1, floor(n_groups * step_limit / isl)));
	CALL(sh, step_s, prompt_step(sh, s, load, n_together, 0));
	LET(sh, rate_request_per_s, n_together / step_s);
	return rate_request_per_s;
}

double
serve_transfer(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double link_byte_per_s,
    double link_latency_s)
{
	GIVEN(sh, link_byte_per_s);
	GIVEN(sh, link_latency_s);
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
	GIVEN(sh, prefill_request_per_s);
	GIVEN(sh, decode_request_per_s);
	LET(sh, pool_ratio, decode_request_per_s / prefill_request_per_s);
	return pool_ratio;
}
