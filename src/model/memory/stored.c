/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Weights of one GPU as served, each part in its stored format. */
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

/* Experts are spread by ep and cut by etp, all else by tp; biases of experts stay in 16 bits. */
static double
expert_weights(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	const double n_shards = job->layout.ep * job->layout.etp;

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
