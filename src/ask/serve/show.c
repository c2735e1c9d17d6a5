/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Show the answer of `ridge serve` with an engine. */
#include "ask/serve/serve.h"
#include "cli/cli.h"
#include "model/serve/serve.h"

#include <string.h>

#define BAND(sh, name, errors, quantity)                                                                               \
	do {                                                                                                           \
		const struct serve_error *error_ = &(errors)->of[quantity];                                            \
		const struct interval band_ = interval_of((name), &error_->terms, error_->why);                        \
		BETWEEN(sh, name, band_.low, band_.high, band_.why);                                                   \
	} while (0)

/* --- rows ------------------------------------------------------------------------------------------------ */

void
serve_show_room(struct run *r, const struct serve_question *q)
{
	struct sheet *sh = r->sheet;

	CALL(sh, weight_byte, serve_weights(sh, q->setup));
	SHOW(sh, weight_byte, weight_byte);
	if (q->regime == SERVE_ENCODE)
		return;
	CALL(sh, pool_token, serve_pool(sh, q->setup, &q->load));
	SHOW(sh, pool_token, kv_capacity_token);
}

static double
show_answer_time(
    struct run *r, const struct serve_question *q, const struct serve_errors *s, double first_s, double step_s)
{
	struct sheet *sh = r->sheet;

	CALL(sh, answer_s, serve_answer_time(sh, first_s, step_s, q->load.osl));
	SHOW(sh, answer_s, e2e_s);
	const struct serve_error e = serve_error_of_answer(s, first_s / answer_s);
	const struct interval band = interval_of(answer_s, &e.terms, e.why);
	BETWEEN(sh, answer_s, band.low, band.high, band.why);
	return answer_s;
}

static void
show_saturation(struct run *r, const struct serve_question *q, const struct serve_errors *s)
{
	struct sheet *sh = r->sheet;
	struct serve_load endless = q->load;

	endless.n_requests = endless.n_concurrent = datum_absent();
	SCOPE (sh, "saturation") {
		CALL(sh, n_running, serve_running(sh, q->setup, &endless));
		CALL(sh, n_starting, serve_starting(sh, q->setup, &endless, n_running));
		CALL(sh, step_s, serve_steady(sh, q->setup, &endless, n_starting));
		CALL(sh, saturation_request_per_s, serve_request_rate(sh, n_starting, step_s));
		SHOW(sh, saturation_request_per_s, max_request_per_s);
		BAND(sh, saturation_request_per_s, s, SERVE_THROUGHPUT);
	}
}

static void
show_rate(struct run *r, const struct serve_question *q, const struct serve_errors *s, double rate_request_per_s)
{
	struct sheet *sh = r->sheet;

	CALL(sh, rate_token_per_s, serve_token_rate(sh, rate_request_per_s, q->load.osl));
	SHOW(sh, rate_token_per_s, output_token_per_s);
	BAND(sh, rate_token_per_s, s, SERVE_THROUGHPUT);
}

static void
show_offline(struct run *r, const struct serve_question *q, const struct serve_errors *s)
{
	struct sheet *sh = r->sheet;

	CALL(sh, n_running, serve_running(sh, q->setup, &q->load));
	SHOW(sh, n_running, n_running);
	CALL(sh, n_starting, serve_starting(sh, q->setup, &q->load, n_running));
	CALL(sh, steady_s, serve_steady(sh, q->setup, &q->load, n_starting));
	CALL(sh, step_s, serve_token_time(sh, &q->load, steady_s));
	SHOW(sh, step_s, tpot_s);
	BAND(sh, step_s, s, SERVE_THROUGHPUT);
	if (datum_given(q->load.n_requests)) {
		TAKE(sh, n_asked, q->load.n_requests.value);
		CALL(sh, run_s, serve_waves(sh, q->setup, &q->load, n_running));
		SHOW(sh, run_s, makespan_s);
		BAND(sh, run_s, s, SERVE_THROUGHPUT);
		CALL(sh, rate_token_per_s, serve_run_rate(sh, n_asked, q->load.osl, run_s));
		SHOW(sh, rate_token_per_s, output_token_per_s);
		BAND(sh, rate_token_per_s, s, SERVE_THROUGHPUT);
	} else {
		CALL(sh, rate_request_per_s, serve_request_rate(sh, n_starting, steady_s));
		show_rate(r, q, s, rate_request_per_s);
	}
	show_saturation(r, q, s);
}

/* A quantile of the first tokens of a finite run. */
static double
show_quantile(
    struct run *r, const struct serve_question *q, const struct serve_metrics *m, double steady_s, double share)
{
	return serve_run_quantile(r->sheet, &m->burst, q->load.n_requests.value, steady_s, share);
}

/* A finite run: its opening burst, where all clients begin at once, what comes after it, and both together. */
static double
show_run(struct run *r, const struct serve_question *q, const struct serve_metrics *m, const struct serve_errors *s,
    double steady_s)
{
	struct sheet *sh = r->sheet;
	struct serve_burst burst;

	GIVEN(sh, steady_s);
	TAKE(sh, n_together, m->burst.n);
	SHOW(sh, n_together, burst_requests);
	TAKE(sh, cold_s, serve_cold(q->setup, &q->load));
	serve_burst(sh, q->setup, &q->load, n_together, cold_s, &burst);
	CALL(sh, burst_first_s, serve_burst_first(sh, &burst));
	SHOW(sh, burst_first_s, burst_ttft_s);
	BAND(sh, burst_first_s, s, SERVE_TTFT);
	SHOW(sh, steady_s, steady_ttft_s);
	BAND(sh, steady_s, s, SERVE_TTFT);
	CALL(sh, p50_s, show_quantile(r, q, m, steady_s, 0.5));
	SHOW(sh, p50_s, ttft_p50_s);
	BAND(sh, p50_s, s, SERVE_TTFT);
	CALL(sh, p99_s, show_quantile(r, q, m, steady_s, 0.99));
	SHOW(sh, p99_s, ttft_p99_s);
	BAND(sh, p99_s, s, SERVE_TTFT);
	CALL(sh, run_first_s, serve_run_first(sh, &burst, q->load.n_requests.value, steady_s));
	return run_first_s;
}

/* Show what requests experience under random arrivals; return their E2E latency. */
static double
show_flow(struct run *r, const struct serve_question *q, const struct serve_metrics *m, const struct serve_errors *s)
{
	struct sheet *sh = r->sheet;

	TAKE(sh, n_running, m->flow.n_running);
	SHOW(sh, n_running, n_running);
	CALL(sh, steady_s, serve_flow_first(sh, q->setup, &q->load, &m->flow));
	double first_s;
	if (m->burst.n > 0)
		SET_CALL(sh, first_s, show_run(r, q, m, s, steady_s));
	else
		SET(sh, first_s, steady_s);
	SHOW(sh, first_s, ttft_s);
	BAND(sh, first_s, s, SERVE_TTFT);
	CALL(sh, step_s, serve_flow_step(sh, q->setup, &q->load, &m->flow));
	SHOW(sh, step_s, tpot_s);
	BAND(sh, step_s, s, SERVE_TPOT);
	return show_answer_time(r, q, s, first_s, step_s);
}

/* Clients whose prompts together take most of a cycle may stay in step for ever, as well as spread over it. */
static void
show_in_step(struct run *r, const struct serve_question *q, const struct serve_metrics *m, const struct serve_errors *s)
{
	struct sheet *sh = r->sheet;
	struct serve_burst all;

	if (!serve_in_step(q, m))
		return;
	TAKE(sh, n_in_step, fmin(q->load.n_concurrent.value, m->flow.n_places));
	TAKE(sh, warm_s, 0.0);
	serve_burst(sh, q->setup, &q->load, n_in_step, warm_s, &all);
	CALL(sh, in_step_s, serve_burst_first(sh, &all));
	SHOW(sh, in_step_s, step_ttft_s);
	BAND(sh, in_step_s, s, SERVE_TTFT);
}

static void
show_closed(struct run *r, const struct serve_question *q, const struct serve_metrics *m, const struct serve_errors *s)
{
	struct sheet *sh = r->sheet;
	const double answer = show_flow(r, q, m, s);

	show_in_step(r, q, m, s);

	CALL(sh, rate_request_per_s, serve_user_rate(sh, q->load.n_concurrent.value, answer, q->think_s));
	SHOW(sh, rate_request_per_s, request_per_s);
	BAND(sh, rate_request_per_s, s, SERVE_THROUGHPUT);
	show_rate(r, q, s, rate_request_per_s);
	show_saturation(r, q, s);
}

static void
show_online(struct run *r, const struct serve_question *q, const struct serve_metrics *m, const struct serve_errors *s)
{
	struct sheet *sh = r->sheet;

	show_saturation(r, q, s);
	if (m->saturated)
		return;
	show_flow(r, q, m, s);
	TAKE(sh, rate_request_per_s, q->rate_request_per_s);
	show_rate(r, q, s, rate_request_per_s);
}

static double
show_first(struct run *r, const struct serve_question *q, const struct serve_errors *s)
{
	struct sheet *sh = r->sheet;
	double first_s;

	if (q->setup->engine->unfused.n_kernels.value > 0) {
		const struct unfused_gpu gpu = serve_unfused_gpu(q->setup, q->gpu);
		SET_CALL(sh, first_s, unfused_prompt(sh, q->setup, &gpu, q->load.isl));
	} else
		SET_CALL(sh, first_s, serve_first(sh, q->setup, &q->load, q->n_batch));
	SHOW(sh, first_s, ttft_s);
	BAND(sh, first_s, s, SERVE_TTFT);
	return first_s;
}

static void
show_static(struct run *r, const struct serve_question *q, const struct serve_errors *s)
{
	struct sheet *sh = r->sheet;
	double step_s;

	const double first = show_first(r, q, s);
	CALL(sh, decode_step_s, serve_decode(sh, q->setup, &q->load, q->n_batch));
	CALL(sh, decode_s, serve_token_time(sh, &q->load, decode_step_s));
	if (q->row_split) {
		TAKE(sh, n_gpus, q->setup->layout.pp);
		SET_CALL(sh, step_s, row_split_step(sh, q->setup, n_gpus, decode_s));
	} else
		SET(sh, step_s, decode_s);
	SHOW(sh, step_s, tpot_s);
	BAND(sh, step_s, s, SERVE_TPOT);
	CALL(sh, answer_s, serve_static(sh, first, step_s, q->load.osl));
	SHOW(sh, answer_s, batch_s);
	BAND(sh, answer_s, s, SERVE_LATENCY);
	TAKE(sh, n_batch, q->n_batch);
	CALL(sh, rate_token_per_s, serve_run_rate(sh, n_batch, q->load.osl, answer_s));
	SHOW(sh, rate_token_per_s, output_token_per_s);
	BAND(sh, rate_token_per_s, s, SERVE_LATENCY);
}

static void
show_prompt(struct run *r, const struct serve_question *q, const struct serve_errors *s)
{
	struct sheet *sh = r->sheet;
	const double first_s = show_first(r, q, s);

	TAKE(sh, n_batch, q->n_batch);
	CALL(sh, prompt_token_per_s, serve_run_rate(sh, n_batch, q->load.isl, first_s));
	SHOW(sh, prompt_token_per_s, input_token_per_s);
	BAND(sh, prompt_token_per_s, s, SERVE_TTFT);
}

static void
show_encoder(struct run *r, const struct serve_question *q, const struct serve_errors *s)
{
	struct sheet *sh = r->sheet;

	CALL(sh, batch_s, serve_encode(sh, q->setup, q->load.isl, q->n_batch));
	SHOW(sh, batch_s, batch_s);
	BAND(sh, batch_s, s, SERVE_LATENCY);
	TAKE(sh, n_batch, q->n_batch);
	CALL(sh, prompt_token_per_s, serve_run_rate(sh, n_batch, q->load.isl, batch_s));
	SHOW(sh, prompt_token_per_s, input_token_per_s);
	BAND(sh, prompt_token_per_s, s, SERVE_LATENCY);
}

/* --- one step, term by term ------------------------------------------------------------------------------ */

static void
show_terms(struct run *r, const struct serve_question *q, const struct serve_metrics *m)
{
	struct sheet *sh = r->sheet;
	const struct engine *e = q->setup->engine;
	const double gpu = e->gpu_factor.value;
	const struct {
		const char *part, *title;
		double s;
	} terms[] = {{"gemm", "GEMMs", gpu * m->terms.gemm}, {"moe", "MoE experts", gpu * m->terms.moe},
	    {"prefill_attention", "prefill attention", gpu * m->terms.prompt_attention},
	    {"attention", "decode attention", gpu * m->terms.cached_attention},
	    {"elementwise", "elementwise kernels", gpu * m->terms.elementwise},
	    {"comm", "communication", gpu * e->comm_factor.value * m->terms.comm},
	    {"pp", "pipeline transfers", gpu * m->terms.pipeline},
	    {"lm_head", "LM head + sampling", gpu * m->terms.head}, {"host", "host", m->terms.host}};
	int n = 0;

	if (e->unfused.n_kernels.value > 0 && q->regime == SERVE_PROMPT)
		return; /* its prompts are not made of these */
	CALL(sh, one_step_s, serve_iteration(sh, q->setup, &m->batch, NULL));
	for (size_t i = 0; i < sizeof terms / sizeof *terms; i++)
		if (terms[i].s > 0)
			SCOPE_I (sh, "breakdown", n++) {
				TELL_HIDDEN(sh, part, terms[i].part);
				TELL(sh, title, terms[i].title);
				TAKE(sh, term_s, terms[i].s);
				SHOW(sh, term_s, time_s);
				CALL(sh, share_frac, serve_share(sh, term_s, one_step_s));
				SHOW(sh, share_frac, share_frac);
			}
}

static void
show_gains(struct run *r, const struct serve_question *q, const struct serve_metrics *m)
{
	struct sheet *sh = r->sheet;
	const struct serve_gains g = serve_elasticity(q, m);
	const struct {
		const char *name;
		double gain;
	} gains[] = {
	    {"memory bandwidth", g.mem_bandwidth}, {"arithmetic", g.arithmetic}, {"links", g.links}, {"host", g.host}};

	if (q->setup->engine->unfused.n_kernels.value > 0 && q->regime == SERVE_PROMPT)
		return;
	TELL(sh, bottleneck, serve_bound(q, m, &g));
	for (int i = 0; i < 4; i++)
		SCOPE_I (sh, "sensitivity", i) {
			TELL(sh, change, gains[i].name);
			TAKE(sh, gain_frac, gains[i].gain);
			SHOW(sh, gain_frac, gain_frac);
		}
}

/* --- beyond ---------------------------------------------------------------------------------------------- */

/* Show the answer without speculative decoding. */
static void
show_drafts(struct run *r, const struct serve_question *q, const struct serve_metrics *m)
{
	struct sheet *sh = r->sheet;
	struct serve_question plain = *q;
	struct serve_metrics without;

	if (!(q->load.n_drafts > 0) || isnan(m->step_s))
		return;
	struct serve_setup alone = *q->setup;

	alone.draft = NULL;
	plain.setup = &alone;
	plain.load.n_drafts = plain.load.n_accepted = plain.load.draft_s = 0;
	serve_answer(&plain, &without);
	if (!(without.step_s > 0))
		return;
	SCOPE (sh, "drafts") {
		CALL(sh, verify_s, serve_iteration(sh, q->setup, &m->batch, NULL));
		SHOW(sh, verify_s, verify_s);
		if (q->setup->draft) {
			CALL(sh, drafts_s, serve_draft_time(sh, q->setup->draft, &m->batch));
			SHOW(sh, drafts_s, draft_s);
			CALL(sh, draft_weight_byte, serve_draft_weights(sh, q->setup->draft));
			SHOW(sh, draft_weight_byte, draft_weight_byte);
		}
		TAKE(sh, n_step_tokens, 1 + q->load.n_accepted);
		SHOW(sh, n_step_tokens, verify_token);
		TAKE(sh, plain_s, without.step_s);
		SHOW(sh, plain_s, plain_tpot_s);
		TAKE(sh, token_s, m->step_s);
		CALL(sh, draft_gain, serve_draft_gain(sh, plain_s, token_s));
		SHOW(sh, draft_gain, draft_gain);
	}
}

/* Disaggregated prefill and decode pools. */
bool
serve_show_pools(
    struct run *r, const struct serve_in *in, const struct serve_binding *b, const struct serve_question *q)
{
	const struct serve_setup *decode = b->decode ? b->decode : q->setup;
	struct sheet *sh = r->sheet;
	struct serve_load endless = q->load;

	if (!in->kv_link.text)
		return true;
	const struct link *link = bind_kv_link(r, in->kv_link);
	if (!link)
		return false;
	if (!datum_given(in->osl) || q->regime == SERVE_PROMPT || q->regime == SERVE_ENCODE)
		return run_refuse(r, in->kv_link.from, "disaggregated serving needs the output length", "add --osl");
	endless.n_requests = endless.n_concurrent = datum_absent();
	SCOPE (sh, "pools") {
		TAKE(sh, link_byte_per_s, link->byte_per_s);
		TAKE(sh, link_latency_s, datum_or(link->latency_s, 0));
		CALL(sh, n_running, serve_running(sh, decode, &endless));
		CALL(sh, send_s, serve_transfer(sh, q->setup, &q->load, link_byte_per_s, link_latency_s));
		CALL(sh, take_s, serve_transfer(sh, decode, &q->load, link_byte_per_s, link_latency_s));
		LET(sh, transfer_s, fmax(send_s, take_s));
		SHOW(sh, transfer_s, transfer_s);
		CALL(sh, prefill_request_per_s, serve_prefill_rate(sh, q->setup, &q->load));
		SHOW(sh, prefill_request_per_s, prefill_request_per_s);
		CALL(sh, decode_s, serve_decode(sh, decode, &q->load, n_running));
		CALL(sh, decode_request_per_s, serve_decode_rate(sh, &q->load, n_running, decode_s));
		SHOW(sh, decode_request_per_s, decode_request_per_s);
		CALL(sh, pool_ratio, serve_pool_ratio(sh, prefill_request_per_s, decode_request_per_s));
		SHOW(sh, pool_ratio, pd_ratio);
	}
	return true;
}

void
serve_show(struct run *r, const struct serve_binding *b, const struct serve_question *q, const struct serve_metrics *m)
{
	const struct serve_judgement j = serve_judge(q, m);
	const struct serve_errors s = serve_errors_of(r, q, b->fitted);

	switch (q->regime) {
	case SERVE_OFFLINE:
		show_offline(r, q, &s);
		break;
	case SERVE_CLOSED:
		show_closed(r, q, m, &s);
		break;
	case SERVE_ONLINE:
		show_online(r, q, m, &s);
		break;
	case SERVE_STATIC:
		show_static(r, q, &s);
		break;
	case SERVE_PROMPT:
		show_prompt(r, q, &s);
		break;
	case SERVE_ENCODE:
		show_encoder(r, q, &s);
		break;
	}
	TELL(r->sheet, typical_error, serve_support(r, q));
	for (int i = 0; i < j.n; i++)
		run_warn(r, "%s", j.reasons[i]);
	if (m->saturated)
		return;
	show_drafts(r, q, m);
	show_terms(r, q, m);
	show_gains(r, q, m);
}
