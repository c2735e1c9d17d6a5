/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Logits, and buffers besides states and activations: gathered parameters, reduction buckets, optimizer temporaries. */
#include "model/memory/parts.h"

/* Bytes per logit depend on how the loss is written: what is upcast, what is freed, what is computed in place. */
double
logits_memory(struct sheet *sh, const struct memory_job *job)
{
	if (!(job->model->vocab.value > 0) || !job->model->head) {
		LET(sh, logits_byte, 0);
		return logits_byte;
	}
	TAKE(sh, loss_byte, job->loss->logit_byte);
	TAKE(sh, tanh_byte, job_is_capped(job) && job->loss->logit_byte.value > 0 ? job_elem_byte(job) : 0);
	double logit_byte;
	if (job->n_mtp > 0) {
		CALL(sh, waiting_byte, prediction_logit_byte(sh, job));
		SET(sh, logit_byte, loss_byte + tanh_byte + waiting_byte);
	} else
		SET(sh, logit_byte, loss_byte + tanh_byte);
	TAKE(sh, vocabulary, job->model->vocab);
	TAKE(sh, tp, job->layout.tp);
	CALL(sh, n_tokens, memory_tokens(sh, job));
	LET(sh, logits_byte_per_token, logit_byte * vocabulary / tp);
	LET(sh, logits_byte, n_tokens * logits_byte_per_token);
	return logits_byte;
}

/* The output that is being sent, the next input, and the gradients of both.  PyTorch's pipelines keep the output of
 * every micro-batch in flight (fwd_cache of torch/distributed/pipelining/stage.py); Megatron's give it up. */
double
stage_exchange(struct sheet *sh, const struct memory_job *job, int stage)
{
	if (job->layout.pp < 2) {
		LET(sh, exchange_byte, 0);
		return exchange_byte;
	}
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, norm_shards, job_norm_shards(job));
	CALL(sh, n_tokens, memory_tokens(sh, job));
	LET(sh, tensor_byte_per_token, elem_byte * hidden / norm_shards);
	double n_outputs;
	if (layout_is_fsdp(job->stack) && !job_is_last(job, stage))
		SET_CALL(sh, n_outputs, memory_in_flight(sh, job, stage));
	else
		SET(sh, n_outputs, 1);
	LET(sh, exchange_byte, (n_outputs + 3) * n_tokens * tensor_byte_per_token);
	return exchange_byte;
}

/* Sequence parallelism gathers the head's input. */
double
loss_gather(struct sheet *sh, const struct memory_job *job)
{
	if (!job->layout.sp || job->layout.tp < 2) {
		LET(sh, gathered_byte, 0);
		return gathered_byte;
	}
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, hidden, job->model->hidden);
	CALL(sh, n_tokens, memory_tokens(sh, job));
	LET(sh, input_byte_per_token, elem_byte * hidden);
	LET(sh, gathered_byte, n_tokens * input_byte_per_token);
	return gathered_byte;
}

/* --- parameters that full sharding has gathered ---------------------------------------------------------- */

/* The largest layer as a rank gathers it. */
static double
layer_rank_params(struct sheet *sh, const struct memory_job *job, int i)
{
	const struct block *block = &job->model->blocks[i];
	TAKE(sh, tp, job->layout.tp);
	TAKE(sh, ep, job->layout.ep);
	TAKE(sh, etp, job->layout.etp);
	CALL(sh, dense_param, layer_params(sh, job->model, block, IN_LAYER & ~IN_EXPERT, COUNT_ALL));
	CALL(sh, routed_param, layer_params(sh, job->model, block, IN_EXPERT, COUNT_ALL));
	LET(sh, rank_param, dense_param / tp + routed_param / (ep * etp));
	return rank_param;
}

/* The LM head if it is untied, else the table that it shares. */
static double
head_rank_params(struct sheet *sh, const struct memory_job *job)
{
	TAKE(sh, tp, job->layout.tp);
	TAKE(sh, vocabulary, datum_or(job->model->vocab, 0));
	TAKE(sh, hidden, job->model->hidden);
	LET(sh, head_param, vocabulary * hidden / tp);
	return head_param;
}

static double
map_params(struct sheet *sh, const struct layer_op *op)
{
	sheet_title(sh, op->title);
	TAKE(sh, output_width, op->runs == RUNS_PRODUCT ? width_local(op->n, 1) : 0);
	TAKE(sh, input_width, width_local(op->k, 1));
	LET(sh, map_param, output_width * input_width);
	return map_param;
}

/* The largest map of a layer. */
static double
block_map(struct sheet *sh, const struct memory_job *job, int i)
{
	struct layer own;
	const struct layer *l = layer_of(job->model, &job->model->blocks[i], &own);

	MOST(sh, map_param, k, l->n_ops, map_params(sh, &l->op[k]));
	return map_param;
}

static double
gathered_quantised(struct sheet *sh, const struct memory_job *job)
{
	TAKE(sh, quantised_byte_per_param, quant_bits(job->quant) / 8);
	TAKE(sh, elem_byte_per_param, 2.0);
	MOST(sh, map_param, i, job->model->n_blocks, block_map(sh, job, i));
	MOST(sh, layer_param, i, job->model->n_blocks, layer_rank_params(sh, job, i));
	CALL(sh, head_param, head_rank_params(sh, job));
	LET(sh, gathered_byte,
	    2 * layer_param * quantised_byte_per_param + elem_byte_per_param * (head_param + map_param));
	return gathered_byte;
}

static double
all_params(struct sheet *sh, const struct rank_params *params)
{
	const double linear_param = params->linear, expert_param = params->expert, other_param = params->other;
	GIVEN(sh, linear_param, expert_param, other_param);
	LET(sh, rank_param, linear_param + expert_param + other_param);
	return rank_param;
}

/* Parameters that other ranks have: no more of them can be gathered than that.  A rank alone copies its own all the
 * same (DeepSpeed stage 3 on one GPU, fine-tuning tables of QwenLM/Qwen). */
static double
absent_params(struct sheet *sh, const struct memory_job *job, const struct rank_params *params)
{
	CALL(sh, rank_param, all_params(sh, params));
	TAKE(sh, n_shards, job->layout.shard);
	TAKE(sh, n_others, job->layout.shard > 1 ? job->layout.shard - 1 : 1.0);
	LET(sh, absent_param, rank_param * n_others / n_shards);
	return absent_param;
}

/* ZeRO-3 and FSDP hold the layer in use and the next one, and the head at the loss; everything where nothing is given
 * back before the backward pass ends: a frozen base in some releases, and a pipeline between micro-batches.  DeepSpeed
 * has a budget. */
static double
gathered_params(struct sheet *sh, const struct memory_job *job, const struct rank_params *params, bool at_loss)
{
	double gathered_byte;
	if (job_zero(job) < 3) {
		SET(sh, gathered_byte, 0);
		return gathered_byte;
	}
	TAKE(sh, elem_byte_per_param, job_elem_byte(job));
	if (job->layout.pp > 1 || (job_is_lora(job) && job->stack->gathers_frozen_base)) {
		CALL(sh, rank_param, all_params(sh, params));
		SET(sh, gathered_byte, elem_byte_per_param * rank_param);
		return gathered_byte;
	}
	CALL(sh, absent_param, absent_params(sh, job, params));
	if (datum_given(job->stack->live_byte)) {
		TAKE(sh, budget_byte, job->stack->live_byte);
		SET(sh, gathered_byte, fmin(budget_byte, elem_byte_per_param * absent_param));
		return gathered_byte;
	}
	if (job->quant != QUANT_NONE) {
		SET_CALL(sh, gathered_byte, gathered_quantised(sh, job));
		return gathered_byte;
	}
	TAKE(sh, n_heads_held, at_loss ? 1.0 : 0);
	MOST(sh, layer_param, i, job->model->n_blocks, layer_rank_params(sh, job, i));
	CALL(sh, head_param, head_rank_params(sh, job));
	SET(sh, gathered_byte, elem_byte_per_param * fmin(absent_param, 2 * layer_param + n_heads_held * head_param));
	return gathered_byte;
}

/* Gradients of two layers before they are divided, one being filled while the other is sent, where nothing of that was
 * fitted (Megatron-Core, distributed/fsdp).  A sharded pipeline sums fp32 gradients of all its parameters first and has
 * flat copies of two layers. */
static double
gathered_gradients(struct sheet *sh, const struct memory_job *job, const struct rank_params *params)
{
	const bool whole = job->layout.pp > 1;

	if (job_zero(job) < 3 || (!whole && !job_is_megatron(job))) {
		LET(sh, gathered_byte, 0);
		return gathered_byte;
	}
	if (!whole) {
		TAKE(sh, gradient_byte_per_param,
		    datum_given(job->gradient_byte) ? job->gradient_byte : job->stack->gradient_byte);
		MOST(sh, unit_param, i, job->model->n_blocks, layer_rank_params(sh, job, i));
		LET(sh, unit_byte, 2 * gradient_byte_per_param * unit_param);
		return unit_byte;
	}
	TAKE(sh, float_byte_per_param, 4.0);
	CALL(sh, rank_param, all_params(sh, params));
	MOST(sh, layer_param, i, job->model->n_blocks, layer_rank_params(sh, job, i));
	LET(sh, gathered_byte, float_byte_per_param * (rank_param + 2 * layer_param));
	return gathered_byte;
}

/* --- temporaries ----------------------------------------------------------------------------------------- */

/* Libraries of quantized products hold dequantised copies of the largest map. */
double
quantised_workspace(struct sheet *sh, const struct memory_job *job)
{
	const double copies = datum_or(job->stack->n_quantised_buffers, 0);
	if (job->quant == QUANT_NONE || !(copies > 0)) {
		LET(sh, workspace_byte, 0);
		return workspace_byte;
	}
	TAKE(sh, n_buffers, copies);
	TAKE(sh, elem_byte_per_param, 2.0);
	MOST(sh, map_param, i, job->model->n_blocks, block_map(sh, job, i));
	TAKE(sh, tp, job->layout.tp);
	LET(sh, workspace_byte, n_buffers * elem_byte_per_param * map_param / tp);
	return workspace_byte;
}

static double
trainable_params(struct sheet *sh, const struct memory_job *job, const struct rank_params *params)
{
	double trainable_param;
	if (job_is_lora(job)) {
		const double adapter_param = params->adapter, whole_param = params->whole;
		GIVEN(sh, adapter_param, whole_param);
		SET(sh, trainable_param, adapter_param + whole_param);
	} else
		SET_CALL(sh, trainable_param, all_params(sh, params));
	return trainable_param;
}

static double
reduction_buckets(struct sheet *sh, const struct memory_job *job, const struct rank_params *params)
{
	if (!datum_given(job->stack->bucket_byte) || job_zero(job) < 1) {
		LET(sh, buckets_byte, 0);
		return buckets_byte;
	}
	TAKE(sh, bucket_byte_per_param, job->stack->bucket_byte);
	TAKE(sh, bucket_param, job->stack->bucket_param);
	CALL(sh, trainable_param, trainable_params(sh, job, params));
	LET(sh, buckets_byte, bucket_byte_per_param * fmin(bucket_param, trainable_param));
	return buckets_byte;
}

/* An optimizer that treats all tensors at once needs a temporary of each; one that goes by groups, of a group. */
static double
step_temporaries(struct sheet *sh, const struct memory_job *job, const struct rank_params *params)
{
	const struct stack *stack = job->stack;
	const bool grouped = datum_given(stack->subgroup_byte);
	if ((!datum_given(stack->step_byte) && !grouped) || job->offload & OFFLOAD_OPTIMIZER) {
		LET(sh, temporary_byte, 0);
		return temporary_byte;
	}
	TAKE(sh, temporary_byte_per_param, grouped ? stack->subgroup_byte : stack->step_byte);
	TAKE(sh, n_shards, job_zero(job) >= 1 ? job->layout.shard : 1.0);
	CALL(sh, trainable_param, trainable_params(sh, job, params));
	LET(sh, own_param, trainable_param / n_shards);
	double group_param;
	if (grouped) {
		TAKE(sh, most_param, stack->subgroup_param);
		SET(sh, group_param, fmin(most_param, own_param));
	} else
		SET(sh, group_param, own_param);
	LET(sh, temporary_byte, temporary_byte_per_param * group_param);
	return temporary_byte;
}

/* Width of the tensor that stands for the gradients of a layer without experts: the MLP's, or what the mixer's first
 * maps make. */
static double
gradient_width(const struct memory_job *job, const struct block *block)
{
	struct layer own;
	const struct layer_op *core = layer_attention(layer_of(job->model, block, &own));

	if (block->mlp.given)
		return block->mlp.width.value;
	if (block->mixer == MIXER_MAMBA)
		return mamba_widths(&block->mamba, job->seq.value, 1).projected;
	if (block->mixer == MIXER_DELTA)
		return delta_widths(&block->delta, job->seq.value, 1).projected;
	return core ? core->n.units.value * core->n.size : 0;
}

/* Gradients of the first backward layer: fitted, a share of a whole layer where layers are computed again, one tensor
 * of the MLP's width otherwise; experts hold two copies of the routed tokens around the exchange. */
static double
backward_gradients(struct sheet *sh, const struct memory_job *job, int i, int stage)
{
	const struct block *block = &job->model->blocks[i];
	TAKE(sh, present, memory_stage_layers(job, stage, i) > 0);
	TAKE(sh, elem_byte, job_elem_byte(job));
	double gradient_byte_per_token;
	if (block->moe.given) {
		TAKE(sh, stream_dim, block->moe.latent.value > 0 ? block->moe.latent : job->model->hidden);
		TAKE(sh, expert_width, block->moe.width);
		TAKE(sh, etp, job->layout.etp);
		CALL(sh, n_copies, routed_copies(sh, job, block));
		SET(sh, gradient_byte_per_token, 2 * elem_byte * n_copies * fmax(stream_dim, expert_width / etp));
	} else if (job->recompute == RECOMPUTE_NONE || job->recompute == RECOMPUTE_MODULES ||
	    job->recompute == RECOMPUTE_OFFLOAD) {
		TAKE(sh, tensor_width, gradient_width(job, block));
		TAKE(sh, tp, job->layout.tp);
		SET(sh, gradient_byte_per_token, elem_byte * tensor_width / tp);
	} else {
		/* a prior: at 0 the mean error of 200 published peaks is 0.06 points larger, at 0.6 0.08 smaller */
		TAKE(sh, gradient_frac, 0.3);
		CALL(sh, layer_byte_per_token, memory_layer_saved(sh, job, block));
		SET(sh, gradient_byte_per_token, gradient_frac * layer_byte_per_token);
	}
	LET(sh, present_byte_per_token, present * gradient_byte_per_token);
	return present_byte_per_token;
}

/* Context parallelism gathers the keys and values of the whole sequence for one layer, and makes their gradients. */
static double
gathered_keys(struct sheet *sh, const struct memory_job *job, int i, int stage)
{
	const struct block *block = &job->model->blocks[i];
	struct layer own;
	const struct layer_op *core = layer_attention(layer_of(job->model, block, &own));
	if (job->layout.cp < 2 || !core) {
		LET(sh, gathered_byte_per_token, 0);
		return gathered_byte_per_token;
	}
	TAKE(sh, present, memory_stage_layers(job, stage, i) > 0);
	TAKE(sh, elem_byte, job_elem_byte(job));
	FROM_STRUCT(sh, job->layout, cp, tp);
	TAKE(sh, n_kv_heads, job->stack->expanded_kv ? core->n.units : core->k.units);
	TAKE(sh, head_dim, core->n.size);
	TAKE(sh, v_dim, core->k.size);
	LET(sh, keys_byte_per_token, elem_byte * fmax(1, n_kv_heads / tp) * (head_dim + v_dim));
	LET(sh, gathered_byte_per_token, present * 2 * cp * keys_byte_per_token);
	return gathered_byte_per_token;
}

static double
first_backward(struct sheet *sh, const struct memory_job *job, int stage)
{
	CALL(sh, n_tokens, memory_tokens(sh, job));
	CALL(sh, returned_byte, recompute_returns(sh, job, stage));
	MOST(sh, gradient_byte_per_token, i, job->model->n_blocks, backward_gradients(sh, job, i, stage));
	MOST(sh, keys_byte_per_token, i, job->model->n_blocks, gathered_keys(sh, job, i, stage));
	LET(sh, transient_byte, returned_byte + n_tokens * (gradient_byte_per_token + keys_byte_per_token));
	return transient_byte;
}

double
general_buffers(
    struct sheet *sh, const struct memory_job *job, int stage, enum moment moment, const struct rank_params *params)
{
	CALL(sh, buckets_byte, reduction_buckets(sh, job, params));
	CALL(sh, summed_byte, gathered_gradients(sh, job, params));
	CALL(sh, gathered_byte, gathered_params(sh, job, params, moment != MOMENT_BACKWARD));
	LET(sh, standing_byte, buckets_byte + summed_byte);
	double buffers_byte;
	if (moment == MOMENT_STEP) {
		CALL(sh, temporary_byte, step_temporaries(sh, job, params));
		SET(sh, buffers_byte, standing_byte + gathered_byte / 2 + temporary_byte);
		return buffers_byte;
	}
	CALL(sh, workspace_byte, quantised_workspace(sh, job));
	CALL(sh, exchange_byte, stage_exchange(sh, job, stage));
	double moment_byte;
	if (moment == MOMENT_LOSS)
		SET_CALL(sh, moment_byte, loss_gather(sh, job));
	else
		SET_CALL(sh, moment_byte, first_backward(sh, job, stage));
	LET(sh, working_byte, workspace_byte + exchange_byte + moment_byte);
	SET(sh, buffers_byte, standing_byte + gathered_byte + working_byte);
	return buffers_byte;
}
