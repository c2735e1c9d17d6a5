/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs that the saved-tensor rules cover; others are refused by name, never approximated. */
#include "model/memory/parts.h"

#include <string.h>

/* Serving needs weights and a cache; both are counted for every decoder, with its encoder where it has one. */
static const char *
serving_lacks(const struct memory_job *job)
{
	if (job->model->kind == MODEL_OPERATORS)
		return "lists of operators cannot be served";
	if (job->model->kind == MODEL_DECODER || job->model->kind == MODEL_ENCODER_DECODER)
		return NULL;
	return "only decoders have a KV cache";
}

/* Tensors that a layer saves were listed for softmax attention with its own queries, keys and values, for latent
 * attention, and for MLPs and experts behind them. */
static const char *
layer_lacks(const struct block *block)
{
	const struct attention *a = &block->attention;

	if (block->mixer == MIXER_NONE)
		return "layers without a mixer are not modeled in training";
	if (block->mixer != MIXER_ATTENTION)
		return "saved activations of recurrent layers are not modeled";
	if (a->kind == ATTENTION_CSA)
		return "saved activations of compressed sparse attention are not modeled";
	if (a->indexer.dim.value > 0)
		return "saved activations of sparse attention indexers are not modeled";
	if (a->gate)
		return "saved activations of gated attention are not modeled";
	if (a->kind == ATTENTION_HEADS && a->q_lora.value > 0)
		return "saved activations of compressed queries are not modeled";
	if (block->cross)
		return "cross attention is not modeled in training";
	if (!block->mlp.given && !block->moe.given)
		return "layers without an MLP are not modeled in training";
	return block->moe.latent.value > 0 ? "latent experts are not modeled in training" : NULL;
}

/* Adapters and the per-operator policy were listed for plain layers alone. */
static const char *
plain_layers_lack(const struct memory_job *job)
{
	for (int i = 0; i < job->model->n_blocks; i++) {
		const struct block *block = &job->model->blocks[i];
		if (!block->moe.given && block->attention.kind == ATTENTION_HEADS)
			continue;
		if (job_is_lora(job))
			return "LoRA on experts or latent attention is not modeled";
		if (job->recompute == RECOMPUTE_OP)
			return "--recompute op is not modeled for experts or latent attention";
	}
	return NULL;
}

const char *
memory_lacks_rule(const struct memory_job *job)
{
	if (job->use == STACK_INFER)
		return serving_lacks(job);
	if (job->model->kind == MODEL_OPERATORS)
		return "lists of operators have no layers; estimate their states with --params";
	if (job->model->kind == MODEL_ENCODER_DECODER)
		return "encoder-decoder models are not modeled in training";
	for (int i = 0; i < job->model->n_blocks; i++) {
		const char *why = layer_lacks(&job->model->blocks[i]);
		if (why)
			return why;
	}
	return plain_layers_lack(job);
}

const struct loss *
memory_usual_loss(const struct memory_job *job)
{
	const struct stack *s = job->stack;
	const char *usual = job->layout.tp > 1 && s->loss_parallel ? s->loss_parallel
	    : job->compiled && s->loss_compiled                    ? s->loss_compiled
	                                                           : s->loss;

	for (int i = 0; usual && i < s->n_losses; i++)
		if (strcmp(s->losses[i].name, usual) == 0)
			return &s->losses[i];
	return NULL;
}
