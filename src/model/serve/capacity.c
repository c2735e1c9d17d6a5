/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GPU memory of a replica: weights, then the paged KV cache (Kwon et al., SOSP 2023), then running sequences. */
#include "model/serve/parts.h"

#include "model/memory/memory.h"
#include "model/serve/serve.h"

/* The replica as the memory model knows it, with one sequence of the load. */
struct memory_job
serve_memory(const struct serve_setup *s, const struct serve_load *load)
{
	const struct serve_layout *l = &s->layout;
	const struct serve_precision *p = &s->precision;
	const struct datum one = {1, {0}};
	/* requests of a trace have no usual length: windows count as for one of middling length */
	const struct datum seq = {load->isl + load->osl > 0 ? load->isl + load->osl : 4096, {0}};

	return (struct memory_job){.use = STACK_INFER,
	    .model = s->model,
	    .stack = &s->engine->memory,
	    .layout = {.dp = 1,
	        .tp = l->tp,
	        .pp = l->pp,
	        .vp = 1,
	        .cp = 1,
	        .ep = l->ep,
	        .etp = l->tp / l->ep,
	        .shard = 1,
	        .adp = l->attention_dp},
	    .batch = one,
	    .seq = seq,
	    .dtype = DTYPE_BF16,
	    .part_byte = {[PART_EMBEDDING] = p->head.w_byte,
	        [PART_HEAD] = p->head.w_byte,
	        [PART_MIXER] = p->attention.w_byte,
	        [PART_MLP] = p->mlp.w_byte,
	        [PART_SHARED] = p->mlp.w_byte,
	        [PART_EXPERTS] = p->experts.w_byte},
	    .kv_elem_byte = p->kv_byte,
	    .block_token = s->engine->memory.block_token,
	    .batch_token = s->engine->memory.batch_token,
	    .utilization = s->engine->memory.utilization,
	    .context_byte = s->engine->memory.counter_byte[COUNTER_DEVICE],
	    .card_byte = s->mem_byte,
	    .headroom_frac = s->card_frac > 0 ? (struct datum){1 - s->card_frac, {0}} : datum_absent()};
}

double
serve_weights(struct sheet *sh, const struct serve_setup *s)
{
	const struct serve_load none = {.isl = 1, .n_requests = datum_absent(), .n_concurrent = datum_absent()};
	const struct memory_job job = serve_memory(s, &none);
	struct memory_use use;

	memory_peak(NULL, &job, &use);
	CALL(sh, weight_byte, memory_weights(sh, &job, use.stage));
	if (!s->draft)
		return weight_byte;
	CALL(sh, draft_byte, serve_draft_weights(sh, s->draft));
	LET(sh, all_weight_byte, weight_byte + draft_byte);
	return all_weight_byte;
}

static double
block_kv(struct sheet *sh, const struct serve_setup *s, const struct block *b)
{
	TAKE(sh, n_layers, b->count);
	TAKE(sh, one_token, 1.0);
	CALL(sh, layer_byte_per_token, kv_layer(sh, s->model, b, s->precision.kv_byte, serve_shards(s)));
	LET(sh, block_byte, n_layers * layer_byte_per_token * one_token);
	return block_byte;
}

double
serve_kv_byte(struct sheet *sh, const struct serve_setup *s)
{
	TAKE(sh, pp, s->layout.pp);
	SUM(sh, layers_byte, i, s->model->n_blocks, block_kv(sh, s, &s->model->blocks[i]));
	LET(sh, kv_byte, layers_byte / pp);
	return kv_byte;
}

double
serve_state_byte(struct sheet *sh, const struct serve_setup *s)
{
	TAKE(sh, pp, s->layout.pp);
	CALL(sh, layers_byte, state_sequence(sh, s->model, serve_shards(s)));
	LET(sh, state_byte, layers_byte / pp);
	return state_byte;
}

double
serve_pool(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load)
{
	const struct memory_job job = serve_memory(s, load);

	CALL(sh, pool_byte, memory_kv_pool(sh, &job));
	double target_byte;
	if (s->draft) { /* it keeps keys and values of the same tokens */
		CALL(sh, draft_byte, serve_draft_weights(sh, s->draft));
		CALL(sh, kv_byte, serve_kv_byte(sh, s));
		CALL(sh, draft_kv_byte, serve_kv_byte(sh, s->draft->setup));
		SET(sh, target_byte, fmax(0, pool_byte - draft_byte) * kv_byte / (kv_byte + draft_kv_byte));
	} else
		SET(sh, target_byte, pool_byte);
	CALL(sh, pool_token, memory_pool_tokens(sh, &job, target_byte));
	return pool_token;
}

double
serve_cached(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load)
{
	TAKE(sh, isl, load->isl);
	/* those that run are longer than those that are asked for */
	TAKE(sh, osl, load->osl * (1 + load->osl_cv * load->osl_cv));
	TAKE(sh, block, s->engine->memory.block_token);
	CALL(sh, pool_token, serve_pool(sh, s, load));
	TAKE(sh, one_token, 1.0);
	LET(sh, pool, pool_token / one_token);
	double held;
	if (s->engine->evicts)
		/* requests that run out of room are put back: on average half of the answer is there */
		SET(sh, held, ceil((isl + osl / 2) / block) * block);
	else
		SET(sh, held, ceil((isl + osl) / block) * block);
	LET(sh, n_cached, floor(pool / held));
	return n_cached;
}

double
serve_running(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load)
{
	TAKE(sh, max_sequences, s->engine->max_sequences);
	TAKE(sh, pp, s->layout.pp);
	TAKE(sh, n_groups, serve_groups(s));
	CALL(sh, n_cached, serve_cached(sh, s, load));
	LET(sh, fitting, fmin(n_cached, max_sequences * n_groups * pp));
	double asked;
	if (datum_given(load->n_requests)) {
		TAKE(sh, requests, load->n_requests.value);
		SET(sh, asked, fmin(fitting, requests));
	} else
		SET(sh, asked, fitting);
	double running;
	if (datum_given(load->n_concurrent)) {
		TAKE(sh, concurrent, load->n_concurrent.value);
		SET(sh, running, fmin(asked, concurrent));
	} else
		SET(sh, running, asked);
	return running;
}

double
serve_missing(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load)
{
	const struct memory_job job = serve_memory(s, load);

	CALL(sh, missing_byte, memory_missing(sh, &job));
	if (!s->draft)
		return missing_byte;
	CALL(sh, draft_byte, serve_draft_weights(sh, s->draft));
	LET(sh, all_missing_byte, missing_byte + draft_byte);
	return all_missing_byte;
}

double
serve_share(struct sheet *sh, double term_s, double step_s)
{
	GIVEN(sh, term_s, step_s);
	LET(sh, share_frac, term_s / step_s);
	return share_frac;
}
