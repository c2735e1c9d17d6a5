/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Saved tensors of latent attention (DeepSeek-AI, arXiv:2405.04434, section 2.1) and of a dropless mixture of experts
 * with all-to-all dispatch and grouped products: the same list in every framework.
 */
#include "model/memory/parts.h"

/* The up-projections' outputs are freed: concatenation makes new queries and keys, with the rotary part expanded to
 * every head.  The down-projections are on every tensor-parallel rank; their tensors are divided only as the sequence
 * is. */
double
latent_attention_saved(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	const struct attention *a = &block->attention;
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, input_byte, job_input_byte(job));
	TAKE(sh, float_byte, 4.0);
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, n_heads, a->n_heads);
	TAKE(sh, q_lora, datum_or(a->q_lora, 0));
	FROM(sh, a, kv_lora, nope, rope, v_dim);
	TAKE(sh, tp, job->layout.tp);
	TAKE(sh, norm_shards, job_norm_shards(job));
	TAKE(sh, n_copies, job->layout.cp > 1 ? 2.0 : 1.0);
	TAKE(sh, lse_elem_byte, job->flash ? 4.0 : 0);
	TAKE(sh, output_copy_byte, job_is_quantised(job) ? job_input_byte(job) : 0);
	LET(sh, norm_byte_per_token, ((elem_byte + input_byte) * hidden + float_byte) / norm_shards);
	LET(sh, query_down_byte_per_token, (elem_byte + input_byte) * q_lora / norm_shards);
	LET(sh, kv_down_byte_per_token, (elem_byte * (kv_lora + rope) + input_byte * kv_lora) / norm_shards);
	TAKE(sh, n_latent_norms, a->q_lora.value > 0 ? 2.0 : 1.0);
	LET(sh, latent_norm_byte_per_token, n_latent_norms * float_byte / norm_shards);
	LET(sh, heads_byte_per_token, elem_byte * n_heads * (2 * (nope + rope) + v_dim) / tp);
	LET(sh, output_byte_per_token,
	    ((n_copies * elem_byte + output_copy_byte) * v_dim + lse_elem_byte) * n_heads / tp);
	LET(sh, latent_byte_per_token,
	    norm_byte_per_token + query_down_byte_per_token + kv_down_byte_per_token + latent_norm_byte_per_token +
	        heads_byte_per_token + output_byte_per_token);
	return latent_byte_per_token;
}

/* Copies of each local token that this rank's experts hold: top k of them, more on the busiest rank, gathered over the
 * tensor parallel group inside the experts. */
double
routed_copies(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	TAKE(sh, n_chosen, block->moe.top_k);
	TAKE(sh, imbalance, job->imbalance);
	TAKE(sh, etp, job->layout.etp);
	TAKE(sh, norm_shards, job_norm_shards(job));
	LET(sh, n_copies, n_chosen * imbalance * etp / norm_shards);
	return n_copies;
}

/* Scores, probabilities and the auxiliary loss's scores in fp32, the routing map, indices: about 14 bytes per expert.
 */
static double
router_saved(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	TAKE(sh, router_byte, 14.0);
	TAKE(sh, index_byte, job->stack->permute_fusion ? 4.0 : 0);
	TAKE(sh, n_experts, block->moe.n_experts);
	TAKE(sh, norm_shards, job_norm_shards(job));
	LET(sh, router_byte_per_token, (router_byte * n_experts + index_byte * (2 * n_experts + 1)) / norm_shards);
	return router_byte_per_token;
}

/* The dispatched tokens, the first map's output, the activation's output and the permuted probabilities.  The copy
 * before the exchange and the experts' output are not kept, unless the probabilities are applied to the latter. */
static double
routed_saved(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, input_byte, job_input_byte(job));
	TAKE(sh, float_byte, 4.0);
	TAKE(sh, late_byte, job->stack->late_probabilities ? job_elem_byte(job) : 0);
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, expert_width, block->moe.width);
	TAKE(sh, etp, job->layout.etp);
	CALL(sh, n_copies, routed_copies(sh, job, block));
	LET(sh, dispatched_byte_per_token, n_copies * (input_byte + late_byte) * hidden);
	TAKE(sh, n_up_maps, block->moe.plain ? 1.0 : 2.0);
	LET(sh, inner_byte_per_token, n_copies * (n_up_maps * elem_byte + input_byte) * expert_width / etp);
	LET(sh, routed_byte_per_token, dispatched_byte_per_token + inner_byte_per_token + n_copies * float_byte);
	return routed_byte_per_token;
}

static double
shared_saved(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	TAKE(sh, n_shared_experts, datum_or(block->moe.n_shared, 0));
	double shared_byte_per_token;
	if (!(n_shared_experts > 0)) {
		SET(sh, shared_byte_per_token, 0);
		return shared_byte_per_token;
	}
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, input_byte, job_input_byte(job));
	TAKE(sh, input_copy_byte, job_is_quantised(job) ? job_input_byte(job) : 0);
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, shared_width, block->moe.shared_width);
	TAKE(sh, n_up_maps, block->moe.plain ? 1.0 : 2.0);
	TAKE(sh, tp, job->layout.tp);
	TAKE(sh, norm_shards, job_norm_shards(job));
	SET(sh, shared_byte_per_token,
	    n_shared_experts * (n_up_maps * elem_byte + input_byte) * shared_width / tp +
	        input_copy_byte * hidden / norm_shards);
	return shared_byte_per_token;
}

/* The norm's output stays in 16 bits: the router and the dispatcher read it. */
double
experts_saved(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, float_byte, 4.0);
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, norm_shards, job_norm_shards(job));
	LET(sh, norm_byte_per_token, (2 * elem_byte * hidden + float_byte) / norm_shards);
	CALL(sh, router_byte_per_token, router_saved(sh, job, block));
	CALL(sh, routed_byte_per_token, routed_saved(sh, job, block));
	CALL(sh, shared_byte_per_token, shared_saved(sh, job, block));
	LET(sh, experts_byte_per_token,
	    norm_byte_per_token + router_byte_per_token + routed_byte_per_token + shared_byte_per_token);
	return experts_byte_per_token;
}
