/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests that are all there from the start, under in-flight batching (Yu et al., OSDI 2022): in the steady state as
 * many begin as end, some in this step and none in the next; a finite run moves in waves.  Static batches.
 */
#include "model/serve/parts.h"

#include "model/serve/serve.h"

/* A part of the batch that goes through the stages: n_prompts prompts, what is cached of them left out, and n_running
 * sequences. */
static double
part_step(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_prompts,
    double n_running, double context)
{
	const struct serve_batch batch = {
	    .n_prefill = n_prompts,
	    .chunk_token = load->isl * (1 - load->cached_frac),
	    .prefix_token = load->isl * load->cached_frac,
	    .n_decode = n_running,
	    .context_token = context,
	    .n_rows = n_prompts + n_running,
	    .n_drafts = load->n_drafts,
	};

	CALL(sh, step_s, serve_iteration(sh, s, &batch, NULL));
	if (s->draft && load->n_drafts > 0) {
		CALL(sh, drafts_s, serve_draft_time(sh, s->draft, &batch));
		LET(sh, speculated_step_s, step_s + drafts_s);
		return speculated_step_s;
	}
	if (!(load->draft_s > 0) || !(n_running > 0))
		return step_s;
	FROM(sh, load, n_drafts, draft_s);
	LET(sh, drafted_step_s, step_s + n_drafts * draft_s);
	return drafted_step_s;
}

/* The parts of the batch follow one another through the stages and are as slow as the slowest of them: whoever goes
 * with a prompt. */
double
serve_mixed_step(
    struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_prompts, double n_running)
{
	GIVEN(sh, n_prompts, n_running);
	TAKE(sh, isl, load->isl);
	/* long answers are met more often than they are asked for */
	TAKE(sh, osl, load->osl * (1 + load->osl_cv * load->osl_cv));
	TAKE(sh, pp, s->layout.pp);
	LET(sh, context, isl + (osl + 1) / 2);
	LET(sh, n_part_prompts, fmax(n_prompts / pp, fmin(n_prompts, 1)));
	EITHER(sh, n_part_running, s->engine->prefill_first && n_prompts > 0, 0, n_running / pp);
	CALL(sh, step_s, part_step(sh, s, load, n_part_prompts, n_part_running, context));
	return step_s;
}

/* Tokens that one step may carry.  Prompts that are never cut must fit. */
double
serve_token_limit(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load)
{
	TAKE(sh, step_limit, s->engine->max_tokens);
	TAKE(sh, n_groups, serve_groups(s));
	TAKE(sh, pp, s->layout.pp);
	double limit;
	if (!s->engine->chunked && load->isl > 4096) {
		TAKE(sh, isl, load->isl);
		TAKE(sh, max_sequences, s->engine->max_sequences);
		SET(sh, limit, n_groups * pp * fmax(step_limit, isl + max_sequences));
	} else
		SET(sh, limit, n_groups * pp * step_limit);
	return limit;
}

/* Tokens that a step yields of each sequence: one, and the drafts that are accepted. */
static double
step_tokens(struct sheet *sh, const struct serve_load *load)
{
	TAKE(sh, n_accepted, load->n_accepted);
	LET(sh, n_step_tokens, 1 + n_accepted);
	return n_step_tokens;
}

/* Steps of an answer after the one that ends its prompt. */
double
serve_decode_steps(struct sheet *sh, const struct serve_load *load)
{
	TAKE(sh, osl, load->osl);
	CALL(sh, n_step_tokens, step_tokens(sh, load));
	LET(sh, n_decode_steps, (osl - 1) / n_step_tokens);
	return n_decode_steps;
}

double
serve_starting(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_running)
{
	GIVEN(sh, n_running);
	TAKE(sh, isl, load->isl * (1 - load->cached_frac));
	TAKE(sh, n_drafts, load->n_drafts);
	CALL(sh, limit, serve_token_limit(sh, s, load));
	CALL(sh, n_decode_steps, serve_decode_steps(sh, load));
	/* a step's tokens are shared by its prompts and by the decodes that this rate of prompts sustains */
	LET(sh, n_decode_tokens, n_decode_steps * (1 + n_drafts));
	LET(sh, fitting, limit / (isl + n_decode_tokens));
	double n_fitting;
	if (s->engine->chunked)
		SET(sh, n_fitting, fitting);
	else {
		/* whole prompts: in every step as many, or one more where enough of the others have ended */
		LET(sh, sustained, (limit - ceil(fitting) * isl) / (1 + n_decode_tokens));
		SET(sh, n_fitting, fmax(fmax(1, floor(fitting)), sustained));
	}
	LET(sh, n_starting, fmin(n_fitting, n_running / (1 + n_decode_steps)));
	return n_starting;
}

/* A prompt in several steps: all steps with prompts are full. */
static double
steady_cut(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_starting,
    double n_decoding, double n_fit)
{
	GIVEN(sh, n_starting, n_fit);
	CALL(sh, decode_step_s, serve_mixed_step(sh, s, load, 0, n_decoding));
	CALL(sh, full_step_s, serve_mixed_step(sh, s, load, n_fit, n_decoding));
	LET(sh, full_frac, fmin(1, n_starting / n_fit));
	LET(sh, steady_s, (1 - full_frac) * decode_step_s + full_frac * full_step_s);
	return steady_s;
}

/* Prompts that start together.  Where the cache is full, an answer that ends leaves room for more than one of them, and
 * what the others grow by uses the rest up before the next one ends.  The nearer the limit of sequences, the more often
 * places are what is missing. */
static double
starting_together(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_running)
{
	double n_together;

	if (!s->engine->evicts || n_running < serve_cached(NULL, s, load)) {
		SET(sh, n_together, 1);
		return n_together;
	}
	GIVEN(sh, n_running);
	FROM(sh, load, isl, osl);
	TAKE(sh, max_sequences, s->engine->max_sequences);
	TAKE(sh, n_groups, serve_groups(s));
	TAKE(sh, pp, s->layout.pp);
	LET(sh, free_frac, fmax(0, 1 - n_running / (max_sequences * n_groups * pp)));
	SET(sh, n_together, 1 + free_frac * osl / isl);
	return n_together;
}

/* The mean of a step's time over a Poisson number of starts.  Few of them: none, one, and straight from there on. */
static double
steady_few(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_starting,
    double n_decoding, double n_fit, double n_together)
{
	GIVEN(sh, n_starting, n_fit, n_together);
	LET(sh, n_starts, n_starting / n_together);
	CALL(sh, decode_step_s, serve_mixed_step(sh, s, load, 0, n_decoding));
	CALL(sh, group_step_s, serve_mixed_step(sh, s, load, n_together, n_decoding));
	LET(sh, n_several, fmin(n_fit, n_together * (1 + ceil(n_starts))));
	double more_s;
	if (n_several > n_together) {
		CALL(sh, several_step_s, serve_mixed_step(sh, s, load, n_several, n_decoding));
		SET(sh, more_s, (several_step_s - group_step_s) / (n_several / n_together - 1));
	} else
		SET(sh, more_s, group_step_s);
	LET(sh, without_frac, exp(-n_starts));
	LET(sh, steady_s,
	    without_frac * decode_step_s + (1 - without_frac) * group_step_s + (n_starts - 1 + without_frac) * more_s);
	return steady_s;
}

/* Many: three points with their mean and variance, by the nodes of Gauss and Hermite. */
static double
steady_many(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_starting,
    double n_decoding, double n_together)
{
	GIVEN(sh, n_starting, n_together);
	LET(sh, reach, sqrt(3 * n_starting * n_together));
	CALL(sh, few_step_s, serve_mixed_step(sh, s, load, n_starting - reach, n_decoding));
	CALL(sh, usual_step_s, serve_mixed_step(sh, s, load, n_starting, n_decoding));
	CALL(sh, many_step_s, serve_mixed_step(sh, s, load, n_starting + reach, n_decoding));
	LET(sh, steady_s, (few_step_s + 4 * usual_step_s + many_step_s) / 6);
	return steady_s;
}

double
serve_steady(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_starting)
{
	GIVEN(sh, n_starting);
	TAKE(sh, isl, load->isl * (1 - load->cached_frac));
	TAKE(sh, n_drafts, load->n_drafts);
	CALL(sh, limit, serve_token_limit(sh, s, load));
	CALL(sh, n_decode_steps, serve_decode_steps(sh, load));
	LET(sh, n_decoding, n_starting * n_decode_steps);
	LET(sh, fit, fmax(limit - n_decoding * (1 + n_drafts), 1) / isl);
	CALL(sh, n_together, starting_together(sh, s, load, n_starting + n_decoding));
	double n_fit, steady_s;
	if (s->engine->chunked)
		SET(sh, n_fit, fit);
	else
		SET(sh, n_fit, fmax(1, floor(fit)));
	if (n_starting > 0.999999 * n_fit)
		SET_CALL(sh, steady_s, serve_mixed_step(sh, s, load, n_starting, n_decoding));
	else if (n_fit < 1)
		SET_CALL(sh, steady_s, steady_cut(sh, s, load, n_starting, n_decoding, n_fit));
	else if (n_starting > 3 * n_together)
		SET_CALL(sh, steady_s, steady_many(sh, s, load, n_starting, n_decoding, n_together));
	else
		SET_CALL(sh, steady_s, steady_few(sh, s, load, n_starting, n_decoding, n_fit, fmin(n_fit, n_together)));
	return steady_s;
}

double
serve_request_rate(struct sheet *sh, double n_starting, double step_s)
{
	GIVEN(sh, n_starting, step_s);
	LET(sh, rate_request_per_s, n_starting / step_s);
	return rate_request_per_s;
}

double
serve_token_rate(struct sheet *sh, double rate_request_per_s, double osl_token)
{
	GIVEN(sh, rate_request_per_s, osl_token);
	TAKE(sh, one_request, 1.0);
	LET(sh, rate_token_per_s, rate_request_per_s / one_request * osl_token);
	return rate_token_per_s;
}

/* Seconds of a token, from those of a step. */
double
serve_token_time(struct sheet *sh, const struct serve_load *load, double step_s)
{
	GIVEN(sh, step_s);
	CALL(sh, n_step_tokens, step_tokens(sh, load));
	LET(sh, token_s, step_s / n_step_tokens);
	return token_s;
}

/* --- a finite run ------------------------------------------------------------------------------------------ */

/* Requests that are all there from the start, all alike. */
struct finite {
	double n_asked, isl, n_decode_steps; /* isl: tokens that are not cached */
	double n_fed_tokens,
	    limit; /* tokens of one sequence in a step, its drafts among them; that one step may carry */
	double n_starting, n_places; /* prompts of a step; sequences that run at once */
};

/* Engines whose steps with prompts do not decode: all places are filled, then all decode together. */
static double
run_apart(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, const struct finite *f)
{
	const double n_asked = f->n_asked, n_places = f->n_places, n_decode_steps = f->n_decode_steps, isl = f->isl,
	             limit = f->limit;

	GIVEN(sh, n_asked, n_places, n_decode_steps, isl, limit);
	LET(sh, n_together, fmax(1, fmin(floor(limit / isl), n_places)));
	CALL(sh, prompts_s, serve_mixed_step(sh, s, load, n_together, 0));
	LET(sh, n_waves, floor(n_asked / n_places));
	LET(sh, n_left, n_asked - n_waves * n_places);
	CALL(sh, step_s, serve_mixed_step(sh, s, load, 0, n_places));
	double left_s;
	if (n_left > 0) {
		CALL(sh, left_step_s, serve_mixed_step(sh, s, load, 0, n_left));
		SET(sh, left_s, n_decode_steps * left_step_s);
	} else
		SET(sh, left_s, 0);
	LET(sh, run_s, n_asked / n_together * prompts_s + n_waves * (n_decode_steps * step_s) + left_s);
	return run_s;
}

/* Sequences run in waves.  Those of the first start over fill_steps steps, and end in the same order; whoever ends
 * makes room for the next. */
static double
run_waves(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, const struct finite *f,
    double n_together)
{
	const double n_asked = f->n_asked, n_places = f->n_places, n_decode_steps = f->n_decode_steps;

	GIVEN(sh, n_asked, n_places, n_decode_steps, n_together);
	LET(sh, n_waves, floor(n_asked / n_places));
	LET(sh, n_left, n_asked - n_waves * n_places);
	LET(sh, fill_steps, n_places / n_together);
	LET(sh, full_steps, 1 + n_decode_steps - fill_steps);
	CALL(sh, fill_step_s, serve_mixed_step(sh, s, load, n_together, n_places / 2));
	CALL(sh, full_step_s, serve_mixed_step(sh, s, load, 0, n_places));
	CALL(sh, next_step_s, serve_mixed_step(sh, s, load, n_together, n_places));
	LET(sh, waves_s,
	    fill_steps * fill_step_s + full_steps * full_step_s +
	        (n_waves - 1) * (fill_steps * next_step_s + full_steps * full_step_s));
	if (!(n_left > 0)) {
		CALL(sh, last_step_s, serve_mixed_step(sh, s, load, 0, n_places / 2));
		LET(sh, run_s, waves_s + fill_steps * last_step_s);
		return run_s;
	}
	LET(sh, left_fill_steps, n_left / n_together);
	CALL(sh, emptying_step_s, serve_mixed_step(sh, s, load, 0, (n_places + n_left) / 2));
	CALL(sh, left_step_s, serve_mixed_step(sh, s, load, 0, n_left));
	CALL(sh, last_step_s, serve_mixed_step(sh, s, load, 0, n_left / 2));
	LET(sh, run_s,
	    waves_s + left_fill_steps * next_step_s + (fill_steps - left_fill_steps) * emptying_step_s +
	        full_steps * left_step_s + left_fill_steps * last_step_s);
	return run_s;
}

/* Prompts fill every step, so that places stay empty: as many decode as start over an answer's steps. */
static double
run_filled(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, const struct finite *f)
{
	const double n_asked = f->n_asked, n_decode_steps = f->n_decode_steps, n_starting = f->n_starting, isl = f->isl,
	             limit = f->limit, n_fed_tokens = f->n_fed_tokens;

	GIVEN(sh, n_asked, n_decode_steps, n_starting, isl, limit, n_fed_tokens);
	LET(sh, n_decoding, fmin(n_asked, n_starting * n_decode_steps));
	CALL(sh, full_step_s, serve_mixed_step(sh, s, load, n_starting, n_decoding));
	CALL(sh, last_step_s, serve_mixed_step(sh, s, load, 0, n_decoding / 2));
	LET(sh, last_s, n_decode_steps * last_step_s);
	if (s->engine->chunked) {
		LET(sh, full_steps,
		    fmax(0,
		        n_asked * (isl + n_decode_steps * n_fed_tokens) -
		            n_decoding * n_decode_steps * n_fed_tokens / 2) /
		        limit);
		LET(sh, run_s, full_steps * full_step_s + last_s);
		return run_s;
	}
	if (!(n_decoding > 0)) {
		LET(sh, run_s, n_asked / n_starting * full_step_s);
		return run_s;
	}
	/* the first find more room */
	LET(sh, room_steps, isl / n_fed_tokens * log(limit / fmax(1, limit - n_decoding * n_fed_tokens)));
	LET(sh, fill_steps, fmin(n_decoding / n_starting, fmax(room_steps, n_decoding / fmax(1, floor(limit / isl)))));
	CALL(sh, fill_step_s, serve_mixed_step(sh, s, load, n_decoding / fill_steps, n_decoding / 2));
	LET(sh, run_s, fill_steps * fill_step_s + (n_asked - n_decoding) / n_starting * full_step_s + last_s);
	return run_s;
}

double
serve_waves(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_running)
{
	struct finite f = {.n_asked = load->n_requests.value,
	    .isl = load->isl * (1 - load->cached_frac),
	    .n_fed_tokens = 1 + load->n_drafts,
	    .n_places = n_running};

	GIVEN(sh, n_running);
	CALL(sh, limit, serve_token_limit(sh, s, load));
	CALL(sh, n_decode_steps, serve_decode_steps(sh, load));
	f.limit = limit;
	f.n_decode_steps = n_decode_steps;
	double run_s;
	if (s->engine->prefill_first) {
		SET_CALL(sh, run_s, run_apart(sh, s, load, &f));
		return run_s;
	}
	CALL(sh, n_starting, serve_starting(sh, s, load, n_running));
	f.n_starting = n_starting;
	f.n_places = fmin(n_running, n_starting * (1 + n_decode_steps));
	TAKE(sh, isl, f.isl);
	TAKE(sh, n_fed_tokens, f.n_fed_tokens);
	TAKE(sh, n_places, f.n_places);
	/* prompts beside all places in use */
	LET(sh, room, (limit - n_places * n_fed_tokens) / isl);
	double n_together;
	if (s->engine->chunked)
		SET(sh, n_together, fmin(n_places, room));
	else
		SET(sh, n_together, fmax(1, fmin(n_places, floor(room * (1 + 1e-9)))));
	if (n_places < n_together * (1 + n_decode_steps) * (1 - 1e-9))
		SET_CALL(sh, run_s, run_waves(sh, s, load, &f, n_together));
	else
		SET_CALL(sh, run_s, run_filled(sh, s, load, &f));
	return run_s;
}

double
serve_run_rate(struct sheet *sh, double n_requests, double osl, double run_s)
{
	TAKE(sh, n_asked, n_requests);
	GIVEN(sh, osl, run_s);
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
	CALL(sh, part_s, part_step(sh, s, load, n_part, 0, 0));
	LET(sh, first_s, part_s * ((pp + n_parts - 1) / pp) + alone_s);
	return first_s;
}

/* The mean over the contexts of an answer, by Simpson's rule. */
double
serve_decode(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_batch)
{
	GIVEN(sh, n_batch);
	FROM(sh, load, isl, osl);
	TAKE(sh, pp, s->layout.pp);
	LET(sh, n_part, n_batch / fmin(pp, n_batch));
	LET(sh, least_context, isl + 1);
	LET(sh, most_context, fmax(least_context, isl + osl - 1));
	LET(sh, middle_context, (least_context + most_context) / 2);
	CALL(sh, least_s, part_step(sh, s, load, 0, n_part, least_context));
	CALL(sh, middle_s, part_step(sh, s, load, 0, n_part, middle_context));
	CALL(sh, most_s, part_step(sh, s, load, 0, n_part, most_context));
	LET(sh, decode_s, (least_s + 4 * middle_s + most_s) / 6);
	return decode_s;
}

double
serve_static(struct sheet *sh, double first_s, double decode_s, double osl)
{
	GIVEN(sh, first_s, decode_s, osl);
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
	/* a prior: no published run of an encoder with pipeline stages was found to fit it to */
	TAKE(sh, n_least, 8);
	EITHER(sh, n_parts, n_batch >= n_least * pp, pp, 1);
	return n_parts;
}

double
serve_encode(struct sheet *sh, const struct serve_setup *s, double isl, double n_batch)
{
	GIVEN(sh, isl, n_batch);
	TAKE(sh, pp, s->layout.pp);
	CALL(sh, n_parts, serve_encode_parts(sh, s, n_batch));
	LET(sh, n_part, n_batch / n_parts);
	const struct serve_batch batch = {.n_prefill = n_part, .chunk_token = isl};
	CALL(sh, part_s, serve_iteration(sh, s, &batch, NULL));
	LET(sh, batch_s, part_s * ((pp + n_parts - 1) / pp));
	return batch_s;
}
