/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Serving arithmetic without an engine model. */
#include "model/calc/calc.h"

#include "base/base.h"

/* --- SLO consistency, roofline floors, static batching --------------------------------------------------- */

double
service_gain(struct sheet *sh, double base_request_per_s, double rate_request_per_s)
{
	GIVEN(sh, base_request_per_s, rate_request_per_s);
	LET(sh, gain, rate_request_per_s / base_request_per_s);
	return gain;
}

double
service_rate_change(struct sheet *sh, double base_request_per_s, double rate_request_per_s)
{
	GIVEN(sh, base_request_per_s, rate_request_per_s);
	LET(sh, change_frac, rate_request_per_s / base_request_per_s - 1);
	return change_frac;
}

double
service_time_change(struct sheet *sh, double base_s, double time_s)
{
	GIVEN(sh, base_s, time_s);
	LET(sh, change_frac, time_s / base_s - 1);
	return change_frac;
}

/* --- objectives ------------------------------------------------------------------------------------------ */

/* The first token comes with the prompt; 1e-9 keeps a whole answer whole. */
double
answer_fitting(struct sheet *sh, double deadline_s, double ttft_s, double itl_s)
{
	GIVEN(sh, deadline_s, ttft_s, itl_s);
	LET(sh, n_more, floor((deadline_s - ttft_s) / itl_s + 1e-9));
	LET(sh, fitting_token, fmax(0, n_more + 1));
	return fitting_token;
}

double
answer_time(struct sheet *sh, double ttft_s, double itl_s, double osl_token)
{
	GIVEN(sh, ttft_s, itl_s, osl_token);
	TAKE(sh, first_token, 1);
	LET(sh, n_more, (osl_token - first_token) / first_token);
	LET(sh, answer_s, ttft_s + n_more * itl_s);
	return answer_s;
}

double
answer_itl(struct sheet *sh, double deadline_s, double ttft_s, double osl_token)
{
	GIVEN(sh, deadline_s, ttft_s, osl_token);
	TAKE(sh, first_token, 1);
	LET(sh, n_more, (osl_token - first_token) / first_token);
	LET(sh, needed_itl_s, (deadline_s - ttft_s) / n_more);
	return needed_itl_s;
}

/* --- floors: Williams, Waterman and Patterson, CACM 52(4), 2009 ------------------------------------------ */

double
prompt_flop(struct sheet *sh, double isl_token, double work_flop_per_token)
{
	GIVEN(sh, isl_token, work_flop_per_token);
	LET(sh, prompt_work_flop, isl_token * work_flop_per_token);
	return prompt_work_flop;
}

double
prompt_floor(struct sheet *sh, double prompt_work_flop, double peak_flop_per_s, double mfu_frac)
{
	GIVEN(sh, prompt_work_flop, peak_flop_per_s, mfu_frac);
	LET(sh, prompt_s, prompt_work_flop / (peak_flop_per_s * mfu_frac));
	return prompt_s;
}

double
decode_read(struct sheet *sh, double weight_byte, double cache_byte)
{
	GIVEN(sh, weight_byte, cache_byte);
	LET(sh, read_byte, weight_byte + cache_byte);
	return read_byte;
}

double
decode_work(struct sheet *sh, double n_sequences, double work_flop_per_token)
{
	GIVEN(sh, n_sequences, work_flop_per_token);
	TAKE(sh, new_token, 1);
	LET(sh, step_flop, n_sequences * new_token * work_flop_per_token);
	return step_flop;
}

double
decode_floor(struct sheet *sh, double read_byte, double step_flop, double mem_byte_per_s, double peak_flop_per_s)
{
	GIVEN(sh, read_byte, step_flop, mem_byte_per_s, peak_flop_per_s);
	LET(sh, memory_s, read_byte / mem_byte_per_s);
	LET(sh, compute_s, step_flop / peak_flop_per_s);
	LET(sh, step_s, fmax(memory_s, compute_s));
	return step_s;
}

double
decode_rate(struct sheet *sh, double n_sequences, double step_s)
{
	GIVEN(sh, n_sequences, step_s);
	LET(sh, rate_token_per_s, n_sequences / step_s);
	return rate_token_per_s;
}

double
gpu_share(struct sheet *sh, double all_flop, double n_gpus)
{
	GIVEN(sh, all_flop, n_gpus);
	LET(sh, gpu_flop, all_flop / n_gpus);
	return gpu_flop;
}

/* --- static batches -------------------------------------------------------------------------------------- */

double
static_waiting(struct sheet *sh, double n_sequences)
{
	GIVEN(sh, n_sequences);
	LET(sh, n_waiting, n_sequences - 1);
	return n_waiting;
}

double
static_idle(struct sheet *sh, double mean_token, double longest_token)
{
	GIVEN(sh, mean_token, longest_token);
	LET(sh, idle_frac, 1 - mean_token / longest_token);
	return idle_frac;
}

/* Yu et al. (Orca), OSDI 2022: iteration-level scheduling keeps every place busy. */
double
static_gain(struct sheet *sh, double mean_token, double longest_token)
{
	GIVEN(sh, mean_token, longest_token);
	LET(sh, gain, longest_token / mean_token);
	return gain;
}

/* --- speculative decoding -------------------------------------------------------------------------------- */

/*
 * Speculative decoding after Leviathan, Kalman and Matias, ICML 2023 (arXiv:2211.17192), and Chen et al.,
 * arXiv:2302.01318.  Acceptances are taken to be independent and equally likely at every place.
 */

/* Equation 1 of Leviathan et al.: a geometric series, cut after the token that the verifying pass adds. */
double
draft_tokens(struct sheet *sh, double accept_frac, double n_drafts)
{
	GIVEN(sh, accept_frac, n_drafts);
	EITHER(sh, step_token, accept_frac < 1, (1 - pow(accept_frac, n_drafts + 1)) / (1 - accept_frac), n_drafts + 1);
	return step_token;
}

double
draft_tokens_accepted(struct sheet *sh, double n_accepted)
{
	GIVEN(sh, n_accepted);
	LET(sh, step_token, n_accepted + 1);
	return step_token;
}

double
draft_step(struct sheet *sh, const struct draft_cost *c, double n_drafts)
{
	GIVEN(sh, n_drafts);
	TAKE(sh, draft_s, c->draft_s);
	const struct datum verify = datum_given(c->verify_s) ? c->verify_s : c->target_s;
	TAKE(sh, verify_s, verify);
	TAKE(sh, overhead_s, datum_or(c->overhead_s, 0));
	LET(sh, step_s, n_drafts * draft_s + verify_s + overhead_s);
	return step_s;
}

/* Theorem 3.8 of Leviathan et al. */
double
draft_speedup(struct sheet *sh, const struct draft_cost *c, double accept_frac, double n_drafts)
{
	GIVEN(sh, accept_frac, n_drafts);
	TAKE(sh, target_s, c->target_s);
	CALL(sh, step_token, draft_tokens(sh, accept_frac, n_drafts));
	CALL(sh, step_s, draft_step(sh, c, n_drafts));
	LET(sh, speculative_token_per_s, step_token / step_s);
	LET(sh, plain_token_per_s, 1 / target_s);
	LET(sh, speedup, speculative_token_per_s / plain_token_per_s);
	return speedup;
}

double
draft_limit(struct sheet *sh, const struct draft_cost *c, double n_drafts)
{
	GIVEN(sh, n_drafts);
	TAKE(sh, all_frac, 1);
	CALL(sh, speedup, draft_speedup(sh, c, all_frac, n_drafts));
	return speedup;
}

/* --- searches -------------------------------------------------------------------------------------------- */

double
draft_best(const struct draft_cost *c, double accept_frac, double n_most)
{
	double best = 0, most = 1;

	for (double n = 1; n <= n_most; n++) {
		const double speedup = draft_speedup(NULL, c, accept_frac, n);
		if (speedup > most) {
			most = speedup;
			best = n;
		}
	}
	return best;
}

struct wanted {
	const struct draft_cost *cost; /* NULL: tokens alone */
	double n_drafts, value;
};

static double
excess(double accept_frac, const void *context)
{
	const struct wanted *w = context;

	return (w->cost ? draft_speedup(NULL, w->cost, accept_frac, w->n_drafts)
	                : draft_tokens(NULL, accept_frac, w->n_drafts)) -
	    w->value;
}

/* Both grow with the acceptance. */
static double
acceptance_for(const struct wanted *w)
{
	double root;

	if (excess(0, w) > 0 || excess(1, w) < 0)
		return NAN;
	return num_root(excess, w, 0, 1, &root) ? root : NAN;
}

double
draft_break_even(const struct draft_cost *c, double n_drafts)
{
	const struct wanted w = {c, n_drafts, 1};

	return acceptance_for(&w);
}

double
draft_acceptance(double tokens_per_step, double n_drafts)
{
	const struct wanted w = {NULL, n_drafts, tokens_per_step};

	return acceptance_for(&w);
}
