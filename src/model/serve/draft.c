/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Speculative decoding (Leviathan, Kalman and Matias, ICML 2023): the cost of drafting, in addition to the verification
 * step. Prediction layers of the model (MTP), a trained layer beside it (EAGLE) or a small model run as many times as
 * tokens are drafted, one after the other in the same graph, so that the host waits for the step alone.  The first pass
 * also takes in what the last step verified, and prompts.
 */
#include "model/serve/parts.h"

#include "model/memory/memory.h"
#include "model/serve/serve.h"

/* All layers of the draft for n_new tokens, and the logits of n_rows of them. */
static double
draft_pass(struct sheet *sh, const struct serve_draft *d, double n_new, double n_running, double context)
{
	const struct serve_setup *s = d->setup;
	struct serve_terms terms = {0};

	GIVEN(sh, n_new, n_running, context);
	CALL(sh, linear_s, serve_linear(sh, s, n_new, &terms));
	CALL(sh, caches_s, serve_cached_attention(sh, s, n_running, context));
	CALL(sh, head_s, serve_head(sh, s, n_running));
	double joined_s;
	/* hidden state and embedding come in side by side, and are brought to one width */
	if (d->joined && n_new > 0) {
		FROM(sh, s->model, hidden);
		TAKE(sh, n_groups, serve_groups(s));
		TAKE(sh, n_shards, serve_shards(s));
		SET_CALL(sh, joined_s,
		    serve_product(sh, s, &s->precision.mlp, fmax(1, n_new / n_groups), hidden / n_shards, 2 * hidden));
	} else
		SET(sh, joined_s, 0);
	LET(sh, pass_s, linear_s + caches_s + head_s + joined_s);
	return pass_s;
}

double
serve_draft_time(struct sheet *sh, const struct serve_draft *d, const struct serve_batch *batch)
{
	TAKE(sh, n_prompts, batch->n_prefill);
	TAKE(sh, chunk, batch->chunk_token);
	TAKE(sh, n_running, batch->n_decode);
	TAKE(sh, context, batch->context_token);
	TAKE(sh, n_drafts, batch->n_drafts);
	TAKE(sh, gpu_factor, d->setup->engine->gpu_factor);
	LET(sh, n_verified, n_prompts * chunk + n_running * (1 + n_drafts));
	CALL(sh, first_s, draft_pass(sh, d, n_verified, n_running, context));
	CALL(sh, prompts_s, serve_prompt_attention(sh, d->setup, n_prompts, chunk, batch->prefix_token));
	double more_s;
	if (n_running > 0 && n_drafts > 1) {
		CALL(sh, pass_s, draft_pass(sh, d, n_running, n_running, context));
		SET(sh, more_s, (n_drafts - 1) * pass_s);
	} else
		SET(sh, more_s, 0);
	LET(sh, drafts_s, gpu_factor * (first_s + prompts_s + more_s));
	return drafts_s;
}

/* On one GPU; embedding and head are the target's own, where it shares them. */
double
serve_draft_weights(struct sheet *sh, const struct serve_draft *d)
{
	struct serve_setup own = *d->setup;

	if (d->shares_head)
		own.precision.head.w_byte = 0;
	CALL(sh, draft_weight_byte, serve_weights(sh, &own));
	return draft_weight_byte;
}
