/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recomputation: what each layer keeps, what comes back while it is computed again (Chen et al., arXiv:1604.06174), and
 * the activations of a stage. */
#include "model/memory/parts.h"

const char *
module_name(enum module m)
{
	static const char *const names[] = {
#define MODULE(id, text, title) text,
#include "model/memory/recompute.def"
#undef MODULE
	};
	return names[m];
}

const char *
target_name(enum target t)
{
	static const char *const names[] = {
#define TARGET(id, text, title) text,
#include "model/memory/recompute.def"
#undef TARGET
	};
	return names[t];
}

double
memory_tokens(struct sheet *sh, const struct memory_job *job)
{
	TAKE(sh, n_sequences, job->batch);
	TAKE(sh, seq_token, job->seq);
	TAKE(sh, cp, job->layout.cp);
	LET(sh, n_tokens, n_sequences * seq_token / cp);
	return n_tokens;
}

/* A layer's input; nothing when it is moved to the host. */
double
checkpoint_byte_per_token(struct sheet *sh, const struct memory_job *job)
{
	TAKE(sh, elem_byte, job->offload & OFFLOAD_ACTIVATIONS ? 0 : job_elem_byte(job));
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, norm_shards, job_norm_shards(job));
	LET(sh, checkpoint_byte_per_token, elem_byte * hidden / norm_shards);
	return checkpoint_byte_per_token;
}

double
memory_layer_kept(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	double kept_byte_per_token;
	if (job->recompute == RECOMPUTE_NONE) {
		SET_CALL(sh, kept_byte_per_token, memory_layer_saved(sh, job, block));
		return kept_byte_per_token;
	}
	if (job->recompute == RECOMPUTE_OP) {
		SET_CALL(sh, kept_byte_per_token, policy_kept(sh, job, block));
		return kept_byte_per_token;
	}
	if (job->recompute == RECOMPUTE_MODULES) {
		SET_CALL(sh, kept_byte_per_token, modules_kept(sh, job, block));
		return kept_byte_per_token;
	}
	CALL(sh, input_byte_per_token, checkpoint_byte_per_token(sh, job));
	TAKE(sh, n_group_layers, job->recompute_n);
	if (job->recompute == RECOMPUTE_EVERY) {
		CALL(sh, saved_byte_per_token, memory_layer_saved(sh, job, block));
		SET(sh, kept_byte_per_token,
		    input_byte_per_token / n_group_layers + (1 - 1 / n_group_layers) * saved_byte_per_token);
	} else
		SET(sh, kept_byte_per_token, input_byte_per_token / n_group_layers);
	return kept_byte_per_token;
}

/* What one layer's recomputation brings back, for as many layers as are computed again together. */
static double
block_returns(struct sheet *sh, const struct memory_job *job, int stage, int i)
{
	const struct block *block = &job->model->blocks[i];
	TAKE(sh, present, memory_stage_layers(job, stage, i) > 0);
	double layer_byte_per_token;
	if (job->recompute == RECOMPUTE_MODULES)
		SET_CALL(sh, layer_byte_per_token, modules_removed(sh, job, block));
	else if (job->recompute == RECOMPUTE_OP) {
		CALL(sh, saved_byte_per_token, memory_layer_saved(sh, job, block));
		CALL(sh, kept_byte_per_token, policy_kept(sh, job, block));
		SET(sh, layer_byte_per_token, fmax(0, saved_byte_per_token - kept_byte_per_token));
	} else
		SET_CALL(sh, layer_byte_per_token, memory_layer_saved(sh, job, block));
	TAKE(sh, n_together, job->recompute == RECOMPUTE_UNIFORM ? job->recompute_n : 1.0);
	LET(sh, returns_byte_per_token, present * n_together * layer_byte_per_token);
	return returns_byte_per_token;
}

double
recompute_returns(struct sheet *sh, const struct memory_job *job, int stage)
{
	if (job->recompute == RECOMPUTE_NONE) {
		LET(sh, returned_byte, 0);
		return returned_byte;
	}
	CALL(sh, n_tokens, memory_tokens(sh, job));
	MOST(sh, returns_byte_per_token, i, job->model->n_blocks, block_returns(sh, job, stage, i));
	LET(sh, returned_byte, n_tokens * returns_byte_per_token);
	return returned_byte;
}

static double
block_kept(struct sheet *sh, const struct memory_job *job, int stage, int i)
{
	TAKE(sh, n_layers, memory_stage_layers(job, stage, i));
	CALL(sh, kept_byte_per_token, memory_layer_kept(sh, job, &job->model->blocks[i]));
	LET(sh, block_byte_per_token, n_layers * kept_byte_per_token);
	return block_byte_per_token;
}

static double
stage_activations(struct sheet *sh, const struct memory_job *job, int stage)
{
	CALL(sh, n_tokens, memory_tokens(sh, job));
	SUM(sh, stage_byte_per_token, i, job->model->n_blocks, block_kept(sh, job, stage, i));
	LET(sh, microbatch_byte, n_tokens * stage_byte_per_token);
	return microbatch_byte;
}

/* Near the end of the step one layer's checkpoint is all that is left. */
static double
step_activations(struct sheet *sh, const struct memory_job *job)
{
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, norm_shards, job_norm_shards(job));
	CALL(sh, n_tokens, memory_tokens(sh, job));
	LET(sh, input_byte_per_token, elem_byte * hidden / norm_shards);
	LET(sh, activations_byte, n_tokens * input_byte_per_token);
	return activations_byte;
}

/* Megatron-Core: the layer that is computed again is counted at the loss too, so the peak does not hang on whether the
 * logits are gone when it comes back.  At the end of a backward pass one micro-batch less is in flight. */
double
activations_memory(struct sheet *sh, const struct memory_job *job, int stage, enum moment moment)
{
	double activations_byte;
	if (moment == MOMENT_STEP) {
		SET_CALL(sh, activations_byte, step_activations(sh, job));
		return activations_byte;
	}
	CALL(sh, n_in_flight, memory_in_flight(sh, job, stage));
	CALL(sh, microbatch_byte, stage_activations(sh, job, stage));
	if (moment == MOMENT_EMBEDDING)
		SET(sh, activations_byte, fmax(0, n_in_flight - 1) * microbatch_byte);
	else if (job_is_megatron(job)) {
		CALL(sh, returned_byte, recompute_returns(sh, job, stage));
		SET(sh, activations_byte, n_in_flight * microbatch_byte + returned_byte);
	} else
		SET(sh, activations_byte, n_in_flight * microbatch_byte);
	return activations_byte;
}
