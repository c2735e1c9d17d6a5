/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Serving: weights, the cache of keys and values, the activations of a prefill step, and what the engine keeps for
 * itself. */
#include "model/memory_parts.h"
#include "ridge/kv.h"

/* The widest layer while a prompt is read: three tensors of the MLP's width and three of the hidden width. */
static double
block_prefill(struct sheet *sh, const struct memory_job *job, int i)
{
	const struct block *block = &job->model->blocks[i];
	const struct moe *moe = &block->moe;
	TAKE(sh, elem_byte, 2.0);
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, tp, job->layout.tp);
	double active_width;
	if (moe->given) {
		TAKE(sh, n_chosen, moe->top_k);
		TAKE(sh, expert_width, moe->width);
		TAKE(sh, all_shared_width, datum_or(moe->n_shared, 0) * datum_or(moe->shared_width, 0));
		SET(sh, active_width, n_chosen * expert_width + all_shared_width);
	} else {
		const struct datum none = {0, {NULL, 0, 0, NULL, false}};
		TAKE(sh, mlp_width, block->mlp.given ? block->mlp.width : none);
		SET(sh, active_width, mlp_width);
	}
	LET(sh, prefill_byte_per_token, 3 * elem_byte * (active_width / tp + hidden));
	return prefill_byte_per_token;
}

/* Tokens of one step: the whole batch of prompts, or as many as the engine takes at once. */
static double
prefill_tokens(struct sheet *sh, const struct memory_job *job)
{
	TAKE(sh, n_sequences, job->batch);
	TAKE(sh, seq_token, job->seq);
	LET(sh, prompt_token, n_sequences * seq_token);
	double step_token;
	if (datum_given(job->batch_token)) {
		TAKE(sh, batch_token, job->batch_token);
		SET(sh, step_token, batch_token);
	} else
		SET(sh, step_token, prompt_token);
	return step_token;
}

/* Some engines profile their sampler on a full batch of vocabulary rows. */
static double
serving_activations(struct sheet *sh, const struct memory_job *job)
{
	CALL(sh, step_token, prefill_tokens(sh, job));
	MOST(sh, prefill_byte_per_token, i, job->model->n_blocks, block_prefill(sh, job, i));
	LET(sh, prefill_byte, step_token * prefill_byte_per_token);
	double sampler_byte;
	if (datum_given(job->stack->sampler_rows)) {
		TAKE(sh, n_rows, job->stack->sampler_rows);
		TAKE(sh, entry_byte, job->stack->sampler_byte);
		TAKE(sh, vocabulary, datum_or(job->model->vocab, 0));
		SET(sh, sampler_byte, n_rows * vocabulary * entry_byte);
	} else
		SET(sh, sampler_byte, 0);
	LET(sh, activations_byte, fmax(prefill_byte, sampler_byte));
	return activations_byte;
}

static double
serving_weights(struct sheet *sh, const struct memory_job *job, int stage)
{
	CALL(sh, linear_param, memory_linear_params(sh, job, stage));
	CALL(sh, expert_param, memory_expert_params(sh, job, stage));
	CALL(sh, other_param, memory_other_params(sh, job, stage));
	const struct rank_params params = {linear_param, expert_param, other_param, 0, 0};
	CALL(sh, weights_byte, weights_memory(sh, job, &params));
	return weights_byte;
}

/* Layers of the stage over all layers. */
static double
stage_share(const struct memory_job *job, int stage)
{
	double n = 0;

	for (int i = 0; i < job->model->n_blocks; i++)
		n += memory_stage_layers(job, stage, i);
	return n / job->model->n_layers.value;
}

static double
serving_cache(struct sheet *sh, const struct memory_job *job, int stage)
{
	TAKE(sh, n_sequences, job->batch);
	TAKE(sh, stage_frac, stage_share(job, stage));
	TAKE(sh, n_copies, datum_or(job->stack->n_kv_copies, 1));
	CALL(sh, sequence_byte,
	    kv_sequence(sh, job->model, job->seq.value, job->block_token.value, job->kv_elem_byte, job->layout.tp));
	LET(sh, cache_byte, n_sequences * n_copies * stage_frac * sequence_byte);
	return cache_byte;
}

double
serving_memory(struct sheet *sh, const struct memory_job *job, int stage, struct memory_use *use)
{
	CALL(sh, weights_byte, serving_weights(sh, job, stage));
	CALL(sh, kv_byte, serving_cache(sh, job, stage));
	CALL(sh, activations_byte, serving_activations(sh, job));
	CALL(sh, workspace_byte, quantised_workspace(sh, job));
	TAKE(sh, context_byte, job->context_byte);
	LET(sh, need_byte, weights_byte + kv_byte + activations_byte + workspace_byte + context_byte);
	SHOW(sh, weights_byte, "weights");
	SHOW(sh, kv_byte, "keys and values");
	SHOW(sh, activations_byte, "prefill activations");
	if (workspace_byte > 0)
		SHOW(sh, workspace_byte, "dequantised maps");
	SHOW(sh, context_byte, "engine and context");
	*use = (struct memory_use){.weights = weights_byte,
	    .kv = kv_byte,
	    .activations = activations_byte,
	    .buffers = workspace_byte,
	    .context = context_byte,
	    .total = need_byte,
	    .stage = stage,
	    .moment = MOMENT_SERVING};
	return need_byte;
}

/* A share of the card less weights, activations and the engine (vLLM); for weights and cache alone (SGLang); or a share
 * of what weights and activations leave (TensorRT-LLM).  Without a pool the cache may take all that can be had. */
double
memory_kv_pool(struct sheet *sh, const struct memory_job *job)
{
	struct memory_use use;
	memory_peak(NULL, job, &use);
	TAKE(sh, weights_byte, use.weights);
	TAKE(sh, activations_byte, use.activations);
	TAKE(sh, context_byte, use.context + use.buffers);
	CALL(sh, limit_byte, memory_limit(sh, job));
	double pool_byte;
	if (job->stack->pool == POOL_STATIC)
		SET(sh, pool_byte, fmax(0, limit_byte - weights_byte - context_byte));
	else if (job->stack->pool == POOL_FREE) {
		TAKE(sh, card_byte, job->card_byte);
		TAKE(sh, utilization_frac, job->utilization);
		SET(sh, pool_byte,
		    fmax(0, utilization_frac * (card_byte - weights_byte - activations_byte - context_byte)));
	} else
		SET(sh, pool_byte, fmax(0, limit_byte - weights_byte - activations_byte - context_byte));
	return pool_byte;
}

/* Whole blocks of tokens, in sequences of the length that was asked for. */
double
memory_pool_tokens(struct sheet *sh, const struct memory_job *job, double pool_byte)
{
	GIVEN(sh, pool_byte);
	TAKE(sh, stage_frac, stage_share(job, 0));
	TAKE(sh, block_token, job->block_token);
	LET(sh, model_byte, pool_byte / stage_frac);
	CALL(sh, capacity_token,
	    kv_capacity_token(sh, job->model, model_byte, job->seq.value, job->kv_elem_byte, job->layout.tp));
	LET(sh, pool_token, floor(capacity_token / block_token) * block_token);
	return pool_token;
}
