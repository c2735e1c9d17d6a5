/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests that are all there from the start, under in-flight batching (Yu et al., OSDI 2022): in the steady state as
 * many begin as end, and every step carries a share of a prompt; a finite run moves in waves.  Static batches.
 */
#include "model/serve_parts.h"

#include "ridge/serve_load.h"

/* A step with n_prompts whole prompts, what is cached of them left out, and n_running sequences. */
static double
mixed_step(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_prompts,
    double n_running, double context)
{
	const struct serve_batch batch = {
	    .n_prefill = n_prompts,
	    .chunk_token = load->isl * (1 - load->cached_frac),
	    .prefix_token = load->isl * load->cached_frac,
	    .n_decode = n_running,
	    .context_token = context,
	    .n_rows = n_prompts + n_running,
	};

	CALL(sh, step_s, serve_iteration(sh, s, &batch, NULL));
	return step_s;
}

/* Tokens that one step may carry.  Prompts that are never cut must fit. */
static double
token_limit(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load)
{
	TAKE(sh, step_limit, s->engine->max_tokens);
	TAKE(sh, n_groups, serve_groups(s));
	double limit;
	if (!s->engine->chunked && load->isl > 4096) {
		TAKE(sh, isl, load->isl);
		TAKE(sh, max_sequences, s->engine->max_sequences);
		SET(sh, limit, n_groups * fmax(step_limit, isl + max_sequences));
	} else
		SET(sh, limit, n_groups * step_limit);
	return limit;
}

/* More prompts than one step carries: several steps per token.  Returns their time together. */
static double
full_steps(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_starting,
    double n_stage, double context)
{
	GIVEN(sh, n_starting);
	GIVEN(sh, n_stage);
	TAKE(sh, isl, load->isl * (1 - load->cached_frac));
	CALL(sh, limit, token_limit(sh, s, load));
	if (s->engine->chunked) {
		LET(sh, n_steps, fmax(1, n_starting * isl / (limit - n_stage)));
		LET(sh, n_prompts, n_starting / n_steps);
		CALL(sh, step_s, mixed_step(sh, s, load, n_prompts, n_stage, context));
		LET(sh, all_s, n_steps * step_s);
		return all_s;
	}
	LET(sh, n_most, fmax(1, floor((limit - n_stage) / isl)));
	LET(sh, n_prompts, fmin(n_starting, n_most));
	LET(sh, n_steps, n_starting / n_prompts);
	CALL(sh, step_s, mixed_step(sh, s, load, n_prompts, n_stage, context));
	LET(sh, all_s, n_steps * step_s);
	return all_s;
}

double
serve_steady(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_running)
{
	GIVEN(sh, n_running);
	TAKE(sh, isl, load->isl);
	TAKE(sh, osl, load->osl);
	TAKE(sh, pp, s->layout.pp);
	LET(sh, n_stage, n_running / pp);
	LET(sh, n_starting, n_stage / osl);
	LET(sh, context, isl + (osl + 1) / 2);
	double steady_s;
	if (!s->engine->chunked && n_starting < 1) {
		CALL(sh, prompt_step_s, mixed_step(sh, s, load, 1, n_stage, context));
		CALL(sh, decode_step_s, mixed_step(sh, s, load, 0, n_stage, context));
		SET(sh, steady_s, n_starting * prompt_step_s + (1 - n_starting) * decode_step_s);
	} else
		SET_CALL(sh, steady_s, full_steps(sh, s, load, n_starting, n_stage, context));
	return steady_s;
}

double
serve_token_rate(struct sheet *sh, double n_running, double step_s)
{
	GIVEN(sh, n_running);
	GIVEN(sh, step_s);
	LET(sh, rate_token_per_s, n_running / step_s);
	return rate_token_per_s;
}

double
serve_request_rate(struct sheet *sh, double n_running, double step_s, double osl)
{
	GIVEN(sh, n_running);
	GIVEN(sh, step_s);
	GIVEN(sh, osl);
	LET(sh, rate_request_per_s, n_running / step_s / osl);
	return rate_request_per_s;
}

/* Decoding of a wave, n_stage sequences per stage. */
static double
wave_decode(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_wave)
{
	double decode_s;

	GIVEN(sh, n_wave);
	if (!(n_wave > 0)) {
		SET(sh, decode_s, 0);
		return decode_s;
	}
	TAKE(sh, isl, load->isl);
	TAKE(sh, osl, load->osl);
	TAKE(sh, pp, s->layout.pp);
	LET(sh, context, isl + (osl + 1) / 2);
	LET(sh, n_stage, n_wave / pp);
	CALL(sh, step_s, mixed_step(sh, s, load, 0, n_stage, context));
	SET(sh, decode_s, (osl - 1) * step_s);
	return decode_s;
}

double
serve_waves(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_running)
{
	GIVEN(sh, n_running);
	TAKE(sh, n_asked, load->n_requests.value);
	TAKE(sh, isl, load->isl * (1 - load->cached_frac));
	TAKE(sh, pp, s->layout.pp);
	CALL(sh, limit, token_limit(sh, s, load));
	LET(sh, n_together, fmax(1, fmin(floor(limit / isl), n_running / pp)));
	CALL(sh, prompts_s, mixed_step(sh, s, load, n_together, 0, 0));
	LET(sh, prompt_s, prompts_s / n_together / pp);
	LET(sh, n_waves, floor(n_asked / n_running));
	LET(sh, n_left, n_asked - n_waves * n_running);
	CALL(sh, wave_s, wave_decode(sh, s, load, n_running));
	CALL(sh, left_s, wave_decode(sh, s, load, n_left));
	LET(sh, run_s, n_waves * (n_running * prompt_s + wave_s) + n_left * prompt_s + left_s);
	return run_s;
}

double
serve_run_rate(struct sheet *sh, double n_requests, double osl, double run_s)
{
	TAKE(sh, n_asked, n_requests);
	GIVEN(sh, osl);
	GIVEN(sh, run_s);
	LET(sh, rate_token_per_s, n_asked * osl / run_s);
	return rate_token_per_s;
}

/* --- static batches -------------------------------------------------------------------------------------- */

/* With pipeline stages the batch goes through in pp parts, which follow one another. */
double
serve_first(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_batch)
{
	GIVEN(sh, n_batch);
	TAKE(sh, pp, s->layout.pp);
	TAKE(sh, alone_s, datum_or(s->engine->first_s, 0));
	LET(sh, n_parts, fmin(pp, n_batch));
	LET(sh, n_part, n_batch / n_parts);
	CALL(sh, part_s, mixed_step(sh, s, load, n_part, 0, 0));
	LET(sh, first_s, part_s * ((pp + n_parts - 1) / pp) + alone_s);
	return first_s;
}

/* The mean over the contexts of an answer, by Simpson's rule. */
double
serve_decode(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_batch)
{
	GIVEN(sh, n_batch);
	TAKE(sh, isl, load->isl);
	TAKE(sh, osl, load->osl);
	TAKE(sh, pp, s->layout.pp);
	LET(sh, n_part, n_batch / fmin(pp, n_batch));
	LET(sh, least_context, isl + 1);
	LET(sh, most_context, fmax(least_context, isl + osl - 1));
	LET(sh, middle_context, (least_context + most_context) / 2);
	CALL(sh, least_s, mixed_step(sh, s, load, 0, n_part, least_context));
	CALL(sh, middle_s, mixed_step(sh, s, load, 0, n_part, middle_context));
	CALL(sh, most_s, mixed_step(sh, s, load, 0, n_part, most_context));
	LET(sh, decode_s, (least_s + 4 * middle_s + most_s) / 6);
	return decode_s;
}

double
serve_static(struct sheet *sh, double first_s, double decode_s, double osl)
{
	GIVEN(sh, first_s);
	GIVEN(sh, decode_s);
	GIVEN(sh, osl);
	LET(sh, static_s, first_s + (osl - 1) * decode_s);
	return static_s;
}

/* --- encoders -------------------------------------------------------------------------------------------- */

/* Parts of fewer sequences are slower than the whole batch, one stage after the other. */
double
serve_encode_parts(struct sheet *sh, const struct serve_setup *s, double n_batch)
{
	GIVEN(sh, n_batch);
	TAKE(sh, pp, s->layout.pp);
	TAKE(sh, n_least, 8);
	double n_parts;
	if (n_batch >= n_least * pp)
		SET(sh, n_parts, pp);
	else
		SET(sh, n_parts, 1);
	return n_parts;
}

double
serve_encode(struct sheet *sh, const struct serve_setup *s, double isl, double n_batch)
{
	GIVEN(sh, isl);
	GIVEN(sh, n_batch);
	TAKE(sh, pp, s->layout.pp);
	CALL(sh, n_parts, serve_encode_parts(sh, s, n_batch));
	LET(sh, n_part, n_batch / n_parts);
	const struct serve_batch batch = {.n_prefill = n_part, .chunk_token = isl};
	CALL(sh, part_s, serve_iteration(sh, s, &batch, NULL));
	LET(sh, batch_s, part_s * ((pp + n_parts - 1) / pp));
	return batch_s;
}
