/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Served weights of one GPU: each part in the format that it is stored in. */
#include "model/memory/parts.h"

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

/* Experts are spread by ep and cut by etp, all else by tp; biases of experts stay in 16 bits. */
static double
expert_weights(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	if (!block->moe.given) {
		LET(sh, expert_byte, 0);
		return expert_byte;
	}
	TAKE(sh, n_experts, block->moe.n_experts);
	FROM_STRUCT(sh, job->layout, ep, etp);
	TAKE(sh, stored_byte_per_param, part_byte(job, PART_EXPERTS));
	TAKE(sh, plain_byte_per_param, job_elem_byte(job));
	CALL(sh, expert_param, expert_params(sh, job->model, block));
	CALL(sh, bias_param, expert_bias_params(sh, job->model, block));
	LET(sh, one_byte, (expert_param - bias_param) * stored_byte_per_param + bias_param * plain_byte_per_param);
	LET(sh, expert_byte, n_experts * one_byte / (ep * etp));
	return expert_byte;
}

static double
mixer_weights(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	TAKE(sh, n_shards, job_shards(job));
	TAKE(sh, mixer_byte_per_param, part_byte(job, PART_MIXER));
	CALL(sh, mixer_param, mixer_params(sh, job->model, block));
	CALL(sh, cross_param, cross_params(sh, job->model, block));
	CALL(sh, duplicated_param, duplicated_params(sh, job->model, block));
	LET(sh, rank_param, (mixer_param + cross_param - duplicated_param) / n_shards + duplicated_param);
	LET(sh, mixer_byte, rank_param * mixer_byte_per_param);
	return mixer_byte;
}

static double
feed_weights(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	TAKE(sh, n_shards, job_shards(job));
	TAKE(sh, mlp_byte_per_param, part_byte(job, PART_MLP));
	TAKE(sh, shared_byte_per_param, part_byte(job, PART_SHARED));
	CALL(sh, mlp_param, mlp_params(sh, job->model, block));
	CALL(sh, shared_param, shared_expert_params(sh, job->model, block));
	CALL(sh, latent_param, latent_map_params(sh, job->model, block));
	LET(sh, feed_byte,
	    (mlp_param * mlp_byte_per_param + (shared_param + latent_param) * shared_byte_per_param) / n_shards);
	return feed_byte;
}

static double
layer_weights(struct sheet *sh, const struct memory_job *job, int stage, int i)
{
	const struct block *block = &job->model->blocks[i];

	TAKE(sh, n_layers, memory_stage_layers(job, stage, i));
	CALL(sh, mixer_byte, mixer_weights(sh, job, block));
	CALL(sh, feed_byte, feed_weights(sh, job, block));
	CALL(sh, expert_byte, expert_weights(sh, job, block));
	LET(sh, layer_byte, n_layers * (mixer_byte + feed_byte + expert_byte));
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
		CALL(sh, encoder_param, encoder_params(sh, job->model, false));
		SET(sh, encoder_byte, encoder_param * encoder_byte_per_param / n_shards);
	} else
		SET(sh, encoder_byte, 0);
	LET(sh, weights_byte, layers_byte + encoder_byte + other_byte);
	return weights_byte;
}
