/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "search/simulate/simulate.h"

#include <math.h>

/* Prompts of a part of the batch: at least one whole one. */
static double
part_of(const struct serve_setup *s, double n_prompts)
{
	return fmax(n_prompts / s->layout.pp, fmin(n_prompts, 1));
}

static double
step_cost(const void *context, const struct sim_batch *b)
{
	const struct serve_setup *s = context;
	const double n_prompts = part_of(s, b->n_prefill);
	double gpu_s = 0;

	if (b->n_prefill > 0)
		gpu_s += serve_prompt_attention(NULL, s, n_prompts, b->prefill_token / b->n_prefill, b->prefix_token);
	/* in the middle of the step, caches are half a token longer */
	if (b->n_decode > 0)
		gpu_s += serve_cached_attention(NULL, s, b->n_decode / s->layout.pp, b->context_token + 0.5);
	return s->engine->gpu_factor.value * gpu_s + serve_host(NULL, s, n_prompts, b->n_rows / s->layout.pp);
}

static double
linear_cost(const void *context, double n_tokens)
{
	const struct serve_setup *s = context;

	return s->engine->gpu_factor.value * serve_linear(NULL, s, n_tokens / s->layout.pp, NULL);
}

static double
head_cost(const void *context, double n_rows)
{
	const struct serve_setup *s = context;

	return s->engine->gpu_factor.value * serve_head(NULL, s, n_rows / s->layout.pp);
}

struct sim_engine
simulate_setup(const struct serve_setup *s, const struct serve_load *load)
{
	const struct engine *e = s->engine;
	const double groups = s->layout.attention_dp ? s->layout.tp : 1;

	return (struct sim_engine){
	    .cost = {.context = s, .step = step_cost, .linear = linear_cost, .head = head_cost},
	    .n_blocks = (size_t)(serve_pool(NULL, s, load) / e->memory.block_token.value),
	    .block_token = (size_t)e->memory.block_token.value,
	    .max_sequences = (size_t)(e->max_sequences.value * groups * s->layout.pp),
	    .max_step_token = (size_t)serve_token_limit(NULL, s, load),
	    .evict = e->evicts,
	    .chunked = e->chunked,
	    .prefill_first = e->prefill_first,
	    .n_parts = (size_t)s->layout.pp,
	    .n_drafts = load->n_drafts,
	    .n_accepted = load->n_accepted,
	    .draft_s = load->n_drafts * load->draft_s,
	};
}

double
simulate_enough(double share, double n_at_once, double warmup_frac)
{
	const double tail = isnan(share) ? 0 : SIMULATE_BEYOND / (1 - share),
	             counted = fmax(SIMULATE_LEAST, fmax(tail, 20 * n_at_once));

	return ceil(fmin(SIMULATE_MOST, counted / (1 - warmup_frac)));
}
