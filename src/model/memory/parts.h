/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the files of the memory model. */
#ifndef RIDGE_MODEL_MEMORY_PARTS_H
#define RIDGE_MODEL_MEMORY_PARTS_H

#include "model/layer/layer.h"
#include "model/memory/memory.h"

/* Parameters of a rank by how they are stored. */
struct rank_params {
	double linear, expert, other, adapter, whole; /* whole: trained beside adapters */
};

static inline bool
job_is_megatron(const struct memory_job *job)
{
	return job->stack->rules == RULES_MEGATRON_CORE;
}

static inline bool
job_is_lora(const struct memory_job *job)
{
	return job->lora_rank.value > 0;
}

static inline bool
job_is_last(const struct memory_job *job, int stage)
{
	return stage == (int)job->layout.pp - 1;
}

static inline bool
job_adapts(const struct memory_job *job, enum target t)
{
	return job_is_lora(job) && (job->targets & 1u << t);
}

/* Over how many ranks attention, dense feed-forward parts and the token tables are divided. */
static inline double
job_shards(const struct memory_job *job)
{
	return job->layout.adp ? 1 : job->layout.tp;
}

/* Ranks of a replica that hold separate sequences. */
static inline double
job_groups(const struct memory_job *job)
{
	return job->layout.adp ? job->layout.tp : 1;
}

/* The stage of ZeRO as it acts: FSDP in a pipeline gives no parameters back between micro-batches and sums whole
 * gradients, whether it is told to shard parameters or not (torchtitan, fsdp_reshard_after_forward: default). */
static inline int
job_zero(const struct memory_job *job)
{
	const struct stack *s = job->stack;

	if (job->layout.zero != 2 || job->layout.pp < 2 || s->zero_on_request)
		return job->layout.zero;
	return datum_or(s->max_zero, 0) >= 3 && !datum_given(s->live_byte) ? 3 : 2;
}

/* Over how many ranks the norms and the residual stream are divided. */
static inline double
job_norm_shards(const struct memory_job *job)
{
	return job->layout.sp ? job->layout.tp : 1.0;
}

/* Scores and logits are bounded by a tanh whose results are saved: kernels that are fused or compiled save none. */
static inline bool
job_is_capped(const struct memory_job *job)
{
	return job->model->softcap && !job->compiled && !job_is_megatron(job);
}

/* Bytes of an activation that is not a quantized product's input. */
static inline double
job_elem_byte(const struct memory_job *job)
{
	return job->dtype == DTYPE_FP32 || job->dtype == DTYPE_TF32 ? 4.0 : 2.0;
}

static inline bool
job_is_quantised(const struct memory_job *job)
{
	return dtype_byte(job->dtype) < 2;
}

/* Bytes of a GEMM's input as it is saved, scales included. */
static inline double
job_input_byte(const struct memory_job *job)
{
	return job_is_quantised(job) ? dtype_byte(job->dtype) : job_elem_byte(job);
}

/* Multi-token prediction, on the last stage (see predict.c): copies of a block that it trains; parameters of its
 * projections and of its norms; activations at the loss; logits of its losses that wait for the backward pass. */
double predicted_layers(const struct memory_job *job, int stage, int block);
double prediction_linear(struct sheet *sh, const struct memory_job *job);
double prediction_other(struct sheet *sh, const struct memory_job *job);
double prediction_activations(struct sheet *sh, const struct memory_job *job, int stage);
double prediction_logit_byte(struct sheet *sh, const struct memory_job *job);
static inline bool
job_predicts(const struct memory_job *job, int stage)
{
	return job->n_mtp > 0 && job_is_last(job, stage);
}

/* Saved tensors of a layer, bytes per token: of its feed-forward part; what recomputing modules gives back and what it
 * leaves; what the policy by operator keeps. */
double feed_forward_saved(struct sheet *sh, const struct memory_job *job, const struct block *block);
double modules_removed(struct sheet *sh, const struct memory_job *job, const struct block *block);
double modules_kept(struct sheet *sh, const struct memory_job *job, const struct block *block);
/* What of it waits in the host's memory instead. */
double modules_away(struct sheet *sh, const struct memory_job *job, const struct block *block);
double policy_kept(struct sheet *sh, const struct memory_job *job, const struct block *block);
/* Parameters of its adapters on one rank. */
double layer_adapters(struct sheet *sh, const struct memory_job *job, const struct block *block);

/* A sum of a stage by `work`, or what it was before when nothing is recorded. */
typedef double stage_sum_fn(struct sheet *sh, const struct memory_job *job, int stage);
double memory_remembered(
    struct sheet *sh, const struct memory_job *job, int stage, enum stage_sum sum, stage_sum_fn *work);

/* One stage's share of each component. */
double weights_memory(struct sheet *sh, const struct memory_job *job, const struct rank_params *params);
double gradients_memory(struct sheet *sh, const struct memory_job *job, const struct rank_params *params);
double optimizer_memory(struct sheet *sh, const struct memory_job *job, const struct rank_params *params);
double activations_memory(struct sheet *sh, const struct memory_job *job, int stage, enum moment moment);
double logits_memory(struct sheet *sh, const struct memory_job *job);
double recompute_returns(struct sheet *sh, const struct memory_job *job, int stage);
double megatron_buffers(struct sheet *sh, const struct memory_job *job, int stage, enum moment moment);
double general_buffers(
    struct sheet *sh, const struct memory_job *job, int stage, enum moment moment, const struct rank_params *params);
double stage_exchange(struct sheet *sh, const struct memory_job *job, int stage);
double loss_gather(struct sheet *sh, const struct memory_job *job);
double quantised_workspace(struct sheet *sh, const struct memory_job *job);
double whole_params(struct sheet *sh, const struct memory_job *job, int stage);
/* Copies of each local token that this rank's experts hold: top k of them, more on the busiest rank, gathered over the
 * tensor parallel group inside the experts. */
double routed_copies(struct sheet *sh, const struct memory_job *job, const struct block *block);
double serving_memory(struct sheet *sh, const struct memory_job *job, int stage, struct memory_use *use);

#endif
