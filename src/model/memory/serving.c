/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inference memory: weights in their stored formats, KV cache, prefill activations, engine reserve. */
#include "model/memory/parts.h"

#include <math.h>

#include "model/layer/layer.h"

/* --- weights as stored ------------------------------------------------------------------------------------------ */

/* What was bound for this part; else what the format of the whole says. */
static double
part_byte(const struct memory_job *job, enum model_part part)
{
	const enum quant quant = part == PART_EXPERTS ? job->expert_quant : job->quant;

	if (job->part_byte[part] > 0)
		return job->part_byte[part];
	if (part == PART_EMBEDDING || part == PART_HEAD || part == PART_ROUTER || part == PART_NORMS)
		return job_elem_byte(job);
	return quant == QUANT_NONE ? job_elem_byte(job) : quant_bits(quant) / 8;
}

/* Rows of these parts on one of n_shards GPUs, stored in the format of `part`. */
static double
part_weights(struct sheet *sh, const struct memory_job *job, const struct block *block, unsigned parts,
    enum model_part part, double n_shards)
{
	TAKE(sh, stored_byte_per_param, part_byte(job, part));
	CALL(sh, shard_param, shard_params(sh, job->model, block, parts, n_shards));
	LET(sh, part_weight_byte, shard_param * stored_byte_per_param);
	return part_weight_byte;
}

/* Experts are spread by ep and cut by etp, all else by tp; biases of experts stay in 16 bits.  Where ep does not divide
 * them, some are held twice, so that every rank has as many. */
static double
expert_weights(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	const double n_experts = datum_or(block->moe.n_experts, 0), ep = job->layout.ep,
	             n_spread = n_experts > 0 ? n_experts / ceil(n_experts / ep) : ep,
	             n_shards = n_spread * job->layout.etp;

	TAKE(sh, plain_byte_per_param, job_elem_byte(job));
	CALL(sh, map_byte, part_weights(sh, job, block, IN_EXPERTS, PART_EXPERTS, n_shards));
	CALL(sh, bias_param, shard_params(sh, job->model, block, IN_EXPERT_BIASES, n_shards));
	LET(sh, expert_byte, map_byte + bias_param * plain_byte_per_param);
	return expert_byte;
}

static double
layer_weights(struct sheet *sh, const struct memory_job *job, int stage, int i)
{
	const struct block *block = &job->model->blocks[i];

	TAKE(sh, n_layers, memory_stage_layers(job, stage, i));
	CALL(sh, mixer_byte, part_weights(sh, job, block, IN_MIXER | IN_CROSS, PART_MIXER, job_shards(job)));
	CALL(sh, mlp_byte, part_weights(sh, job, block, IN_MLP, PART_MLP, job_shards(job)));
	CALL(sh, shared_byte, part_weights(sh, job, block, IN_SHARED | IN_LATENT, PART_SHARED, job_shards(job)));
	CALL(sh, expert_byte, expert_weights(sh, job, block));
	LET(sh, layer_byte, n_layers * (mixer_byte + mlp_byte + shared_byte + expert_byte));
	return layer_byte;
}

/* Norms and routers are whole on every rank; tables and head are divided over the vocabulary. */
static double
stated_share(struct sheet *sh, const struct memory_job *job)
{
	TAKE(sh, stated_weight_byte, *job->stated_weight);
	FROM_STRUCT(sh, job->layout, tp, pp);
	LET(sh, weights_byte, stated_weight_byte / (tp * pp));
	return weights_byte;
}

double
memory_weights(struct sheet *sh, const struct memory_job *job, int stage)
{
	if (job->stated_weight)
		return stated_share(sh, job);
	SUM(sh, layers_byte, i, job->model->n_blocks, layer_weights(sh, job, stage, i));
	TAKE(sh, table_byte_per_param, part_byte(job, PART_HEAD));
	CALL(sh, other_param, memory_other_params(sh, job, stage));
	LET(sh, other_byte, other_param * table_byte_per_param);
	double encoder_byte;
	if (job->model->n_encoder_blocks > 0 && stage == 0) {
		/* an encoder stands in front of the first stage */
		TAKE(sh, n_shards, job_shards(job));
		TAKE(sh, encoder_byte_per_param, part_byte(job, PART_MIXER));
		CALL(sh, encoder_param, encoder_params(sh, job->model, COUNT_ALL));
		SET(sh, encoder_byte, encoder_param * encoder_byte_per_param / n_shards);
	} else
		SET(sh, encoder_byte, 0);
	LET(sh, weights_byte, layers_byte + encoder_byte + other_byte);
	return weights_byte;
}

/* --- prefill, cache and reserve ------------------------------------------------------------------------------- */

/* The widest layer while a prompt is read: three tensors of the MLP's width and three of the hidden size. */
static double
block_prefill(struct sheet *sh, const struct memory_job *job, int i)
{
	const struct block *block = &job->model->blocks[i];
	const struct moe *moe = &block->moe;
	TAKE(sh, elem_byte, 2.0);
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, n_shards, job_shards(job));
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
	LET(sh, prefill_byte_per_token, 3 * elem_byte * (active_width / n_shards + hidden));
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

/* What a decoder keeps of each sequence that the engine was built for: logits, probabilities and what samples them. */
static double
decoder_buffers(struct sheet *sh, const struct memory_job *job)
{
	TAKE(sh, n_rows, datum_or(job->stack->decoder_rows, 0));
	TAKE(sh, entry_byte, datum_or(job->stack->decoder_byte, 0));
	TAKE(sh, vocabulary, datum_or(job->model->vocab, 0));
	LET(sh, decoder_byte, n_rows * vocabulary * entry_byte);
	return decoder_byte;
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
	if (!(datum_or(job->stack->decoder_byte, 0) > 0)) {
		LET(sh, activations_byte, fmax(prefill_byte, sampler_byte));
		return activations_byte;
	}
	CALL(sh, decoder_byte, decoder_buffers(sh, job));
	LET(sh, activations_byte, fmax(prefill_byte, sampler_byte) + decoder_byte);
	return activations_byte;
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

/* One sequence on one GPU. */
static double
rank_sequence(struct sheet *sh, const struct memory_job *job, int stage)
{
	TAKE(sh, stage_frac, stage_share(job, stage));
	TAKE(sh, n_copies, datum_or(job->stack->n_kv_copies, 1));
	CALL(sh, whole_byte,
	    kv_sequence(sh, job->model, job->seq.value, job->block_token.value, job->kv_elem_byte, job_shards(job)));
	LET(sh, sequence_byte, n_copies * stage_frac * whole_byte);
	return sequence_byte;
}

/* With attention data parallel every GPU has sequences of its own. */
static double
serving_cache(struct sheet *sh, const struct memory_job *job, int stage)
{
	TAKE(sh, n_sequences, job->batch);
	TAKE(sh, n_groups, job_groups(job));
	CALL(sh, sequence_byte, rank_sequence(sh, job, stage));
	LET(sh, cache_byte, ceil(n_sequences / n_groups) * sequence_byte);
	return cache_byte;
}

double
serving_memory(struct sheet *sh, const struct memory_job *job, int stage, struct memory_use *use)
{
	CALL(sh, weights_byte, memory_weights(sh, job, stage));
	CALL(sh, kv_byte, serving_cache(sh, job, stage));
	CALL(sh, activations_byte, serving_activations(sh, job));
	CALL(sh, workspace_byte, quantised_workspace(sh, job));
	TAKE(sh, context_byte, job->context_byte);
	LET(sh, need_byte, weights_byte + kv_byte + activations_byte + workspace_byte + context_byte);
	SHOW(sh, weights_byte, weight_byte);
	SHOW(sh, kv_byte, kv_byte);
	SHOW(sh, activations_byte, activation_byte);
	if (workspace_byte > 0)
		SHOW(sh, workspace_byte, workspace_byte);
	SHOW(sh, context_byte, context_byte);
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

/* --- room ------------------------------------------------------------------------------------------------ */

/* A share of the card less weights, activations and the engine (vLLM); for weights and cache alone (SGLang); or a share
 * of what weights and activations leave (TensorRT-LLM).  A headroom that was asked for stands for all that is neither
 * weights nor cache.  Without a pool the cache may take all that can be had.  Below 0: not even the rest fits. */
static double
serving_room(struct sheet *sh, const struct memory_job *job)
{
	struct memory_use use;
	memory_peak(NULL, job, &use);
	TAKE(sh, weights_byte, use.weights + use.buffers);
	TAKE(sh, activations_byte, use.activations);
	TAKE(sh, context_byte, use.context);
	CALL(sh, limit_byte, memory_limit(sh, job));
	double room_byte;
	if (datum_given(job->headroom_frac))
		SET(sh, room_byte, limit_byte - weights_byte);
	else if (job->stack->pool == POOL_STATIC)
		SET(sh, room_byte, limit_byte - weights_byte - context_byte);
	else if (job->stack->pool == POOL_FREE) {
		TAKE(sh, card_byte, job->card_byte);
		TAKE(sh, utilization_frac, job->utilization);
		SET(sh, room_byte, utilization_frac * (card_byte - weights_byte - activations_byte - context_byte));
	} else
		SET(sh, room_byte, limit_byte - weights_byte - activations_byte - context_byte);
	return room_byte;
}

double
memory_kv_pool(struct sheet *sh, const struct memory_job *job)
{
	CALL(sh, room_byte, serving_room(sh, job));
	LET(sh, pool_byte, fmax(0, room_byte));
	return pool_byte;
}

/* Whole blocks of tokens, in sequences of the length that was asked for, of all GPUs with sequences of their own. */
double
memory_pool_tokens(struct sheet *sh, const struct memory_job *job, double pool_byte)
{
	GIVEN(sh, pool_byte);
	TAKE(sh, stage_frac, stage_share(job, 0));
	TAKE(sh, block_token, job->block_token);
	TAKE(sh, n_groups, job_groups(job));
	LET(sh, model_byte, pool_byte / stage_frac);
	CALL(sh, capacity_token,
	    kv_capacity_token(sh, job->model, model_byte, job->seq.value, job->kv_elem_byte, job_shards(job)));
	LET(sh, pool_token, n_groups * floor(capacity_token / block_token) * block_token);
	return pool_token;
}

double
memory_pool_sequences(struct sheet *sh, const struct memory_job *job, double pool_byte)
{
	GIVEN(sh, pool_byte);
	TAKE(sh, n_groups, job_groups(job));
	CALL(sh, sequence_byte, rank_sequence(sh, job, 0));
	LET(sh, n_sequences, n_groups * floor(pool_byte / sequence_byte));
	return n_sequences;
}

double
memory_missing(struct sheet *sh, const struct memory_job *job)
{
	CALL(sh, room_byte, serving_room(sh, job));
	CALL(sh, sequence_byte, rank_sequence(sh, job, 0));
	TAKE(sh, share_frac,
	    job->stack->pool == POOL_FREE && !datum_given(job->headroom_frac) ? job->utilization.value : 1);
	LET(sh, missing_byte, fmax(0, (sequence_byte - room_byte) / share_frac));
	return missing_byte;
}
