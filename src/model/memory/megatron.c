/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the layers of Megatron-Core with Transformer Engine save for the backward pass, and what they need on top while
 * it runs.  Each line is a tensor that the autograd graph keeps, read off the operators (August 2026).  Widths are
 * those of one tensor-parallel rank; norms and the residual stream are divided too when sequence parallelism is on.
 */
#include "model/memory/parts.h"

/* Queries and keys are kept after the rotary embedding, which keeps only its angles; values are copied out of the fused
 * buffer, which is then freed.  Context parallelism keeps a second copy of the output: the tensor before the
 * all-to-all, or the second cast of the ring's fp32 sum. */
double
megatron_heads_saved(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	const struct attention *a = &block->attention;
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, input_byte, job_input_byte(job));
	TAKE(sh, float_byte, 4.0);
	TAKE(sh, hidden, job->model->hidden);
	FROM(sh, a, n_heads, n_kv_heads, head_dim);
	TAKE(sh, v_dim, value_dim(a));
	TAKE(sh, tp, job->layout.tp);
	TAKE(sh, norm_shards, job_norm_shards(job));
	TAKE(sh, n_copies, job->layout.cp > 1 ? 2.0 : 1.0);
	TAKE(sh, output_copy_byte, job_is_quantised(job) ? job_input_byte(job) : 0);
	TAKE(sh, lse_elem_byte, job->flash ? 4.0 : 0);
	LET(sh, n_local_heads, n_heads / tp);
	LET(sh, n_local_kv_heads, fmax(1, n_kv_heads / tp));
	LET(sh, residual_byte_per_token, elem_byte * hidden / norm_shards);
	LET(sh, norm_byte_per_token, (float_byte + input_byte * hidden) / norm_shards);
	LET(sh, query_byte_per_token, elem_byte * n_local_heads * head_dim);
	LET(sh, key_byte_per_token, elem_byte * n_local_kv_heads * head_dim);
	LET(sh, value_byte_per_token, elem_byte * n_local_kv_heads * v_dim);
	LET(sh, output_byte_per_token, (n_copies * elem_byte + output_copy_byte) * n_local_heads * v_dim);
	LET(sh, log_sum_exp_byte_per_token, lse_elem_byte * n_local_heads);
	double qk_norm_byte_per_token;
	if (a->qk_norm)
		SET(sh, qk_norm_byte_per_token,
		    query_byte_per_token + key_byte_per_token + float_byte * (n_local_heads + n_local_kv_heads));
	else
		SET(sh, qk_norm_byte_per_token, 0);
	LET(sh, attention_byte_per_token,
	    residual_byte_per_token + norm_byte_per_token + qk_norm_byte_per_token + query_byte_per_token +
	        key_byte_per_token + value_byte_per_token + output_byte_per_token + log_sum_exp_byte_per_token);
	return attention_byte_per_token;
}

/* The first map's output stays for the activation's gradient; the second map's input is the activation's output. */
double
megatron_mlp_saved(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, input_byte, job_input_byte(job));
	TAKE(sh, float_byte, 4.0);
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, mlp_width, block->mlp.width);
	TAKE(sh, tp, job->layout.tp);
	TAKE(sh, norm_shards, job_norm_shards(job));
	TAKE(sh, n_up_maps, block->mlp.gated ? 2.0 : 1.0);
	TAKE(sh, n_gate_outputs, block->mlp.gated && !job->stack->fused_activation ? 1.0 : 0);
	LET(sh, residual_byte_per_token, elem_byte * hidden / norm_shards);
	LET(sh, norm_byte_per_token, (float_byte + input_byte * hidden) / norm_shards);
	LET(sh, up_byte_per_token, (n_up_maps + n_gate_outputs) * elem_byte * mlp_width / tp);
	LET(sh, activation_byte_per_token, input_byte * mlp_width / tp);
	LET(sh, mlp_byte_per_token,
	    residual_byte_per_token + norm_byte_per_token + up_byte_per_token + activation_byte_per_token);
	return mlp_byte_per_token;
}

/* --- recompute by module --------------------------------------------------------------------------------- */

static bool
recomputes(const struct memory_job *job, enum module m)
{
	return job->recompute == RECOMPUTE_MODULES && (job->modules & 1u << m);
}

/* The attention kernel and, in latent attention, what its up-projections feed it. */
static double
attention_removed(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	const struct attention *a = &block->attention;
	const bool latent = a->kind == ATTENTION_MLA;
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, input_byte, job_input_byte(job));
	TAKE(sh, lse_elem_byte, job->flash ? 4.0 : 0);
	TAKE(sh, n_heads, a->n_heads);
	TAKE(sh, tp, job->layout.tp);
	TAKE(sh, norm_shards, job_norm_shards(job));
	double core_byte_per_token, up_byte_per_token, norm_byte_per_token;
	if (recomputes(job, MODULE_CORE_ATTN)) {
		CALL(sh, scores_byte_per_token, attention_scores_saved(sh, job, block));
		SET(sh, core_byte_per_token, lse_elem_byte * n_heads / tp + scores_byte_per_token);
	} else
		SET(sh, core_byte_per_token, 0);
	if (latent && recomputes(job, MODULE_MLA_UP_PROJ)) {
		TAKE(sh, latent_width, datum_or(a->q_lora, 0) + a->kv_lora.value);
		TAKE(sh, qk_dim, a->nope.value + a->rope.value);
		TAKE(sh, v_dim, a->v_dim);
		SET(sh, up_byte_per_token,
		    elem_byte * n_heads * (2 * qk_dim + v_dim) / tp + input_byte * latent_width / norm_shards);
	} else
		SET(sh, up_byte_per_token, 0);
	if (latent && recomputes(job, MODULE_LAYERNORM)) {
		TAKE(sh, hidden, job->model->hidden);
		SET(sh, norm_byte_per_token, input_byte * hidden / norm_shards);
	} else
		SET(sh, norm_byte_per_token, 0);
	LET(sh, removed_byte_per_token, core_byte_per_token + up_byte_per_token + norm_byte_per_token);
	return removed_byte_per_token;
}

/* A fused norm and linear keeps its norm output inside the MLP; only `mlp` gives it back. */
static double
dense_removed(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	if (!recomputes(job, MODULE_MLP)) {
		LET(sh, removed_byte_per_token, 0);
		return removed_byte_per_token;
	}
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, float_byte, 4.0);
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, norm_shards, job_norm_shards(job));
	CALL(sh, mlp_byte_per_token, megatron_mlp_saved(sh, job, block));
	LET(sh, removed_byte_per_token, mlp_byte_per_token - (elem_byte * hidden + float_byte) / norm_shards);
	return removed_byte_per_token;
}

/* The whole mixture leaves the residual stream and the norm; else the parts are taken one by one. */
static double
experts_removed(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	const struct moe *moe = &block->moe;
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, input_byte, job_input_byte(job));
	TAKE(sh, float_byte, 4.0);
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, norm_shards, job_norm_shards(job));
	FROM_STRUCT(sh, job->layout, tp, etp);
	TAKE(sh, expert_width, moe->width);
	TAKE(sh, n_up_maps, moe->plain ? 1.0 : 2.0);
	TAKE(sh, all_shared_width, datum_or(moe->n_shared, 0) * datum_or(moe->shared_width, 0));
	LET(sh, norm_output_byte_per_token, elem_byte * hidden / norm_shards);
	double removed_byte_per_token;
	if (recomputes(job, MODULE_MOE)) {
		CALL(sh, experts_byte_per_token, experts_saved(sh, job, block));
		SET(sh, removed_byte_per_token,
		    experts_byte_per_token - 2 * norm_output_byte_per_token - float_byte / norm_shards);
		return removed_byte_per_token;
	}
	CALL(sh, n_copies, routed_copies(sh, job, block));
	TAKE(sh, without_activation, recomputes(job, MODULE_MOE_ACT));
	TAKE(sh, without_norm, recomputes(job, MODULE_LAYERNORM));
	TAKE(sh, without_shared, recomputes(job, MODULE_SHARED_EXPERTS));
	LET(sh, activation_byte_per_token, input_byte * n_copies * expert_width / etp);
	LET(sh, shared_byte_per_token, (n_up_maps * elem_byte + input_byte) * all_shared_width / tp);
	SET(sh, removed_byte_per_token,
	    without_activation * activation_byte_per_token + without_norm * norm_output_byte_per_token +
	        without_shared * shared_byte_per_token);
	return removed_byte_per_token;
}

double
modules_removed(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	CALL(sh, attention_byte_per_token, attention_removed(sh, job, block));
	double feed_forward_byte_per_token;
	if (block->moe.given)
		SET_CALL(sh, feed_forward_byte_per_token, experts_removed(sh, job, block));
	else
		SET_CALL(sh, feed_forward_byte_per_token, dense_removed(sh, job, block));
	LET(sh, removed_byte_per_token, attention_byte_per_token + feed_forward_byte_per_token);
	return removed_byte_per_token;
}

/* --- on top of the saved set in the first backward layer ------------------------------------------------- */

/* After the second map's backward its input is freed and the gradient takes its place; then SwiGLU's backward adds both
 * halves before the saved ones go.  With sequence parallelism the output's gradient is gathered. */
static double
mlp_transient(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, mlp_width, block->mlp.width);
	TAKE(sh, tp, job->layout.tp);
	TAKE(sh, norm_shards, job_norm_shards(job));
	TAKE(sh, n_up_maps, block->mlp.gated ? 2.0 : 1.0);
	TAKE(sh, gathered, job->layout.sp && job->layout.tp > 1);
	LET(sh, width_byte_per_token, elem_byte * mlp_width / tp);
	LET(sh, gathered_byte_per_token, gathered * elem_byte * hidden);
	LET(sh, transient_byte_per_token,
	    fmax(n_up_maps * width_byte_per_token, width_byte_per_token + gathered_byte_per_token) +
	        2 * elem_byte * hidden / norm_shards);
	return transient_byte_per_token;
}

/* Two copies of the routed tokens around the exchange, or the gradient of the experts' activation. */
static double
experts_transient(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, expert_width, block->moe.width);
	TAKE(sh, etp, job->layout.etp);
	TAKE(sh, norm_shards, job_norm_shards(job));
	TAKE(sh, n_up_maps, block->moe.plain ? 1.0 : 2.0);
	CALL(sh, n_copies, routed_copies(sh, job, block));
	LET(sh, routed_width, fmax(2 * hidden, n_up_maps * expert_width / etp));
	LET(sh, transient_byte_per_token, elem_byte * n_copies * routed_width + 2 * elem_byte * hidden / norm_shards);
	return transient_byte_per_token;
}

/* Gradients of queries, keys and values, the output's gradient, an fp32 sum for the queries', and the residual's two.
 */
static double
attention_transient(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	const struct attention *a = &block->attention;
	const bool latent = a->kind == ATTENTION_MLA;
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, float_byte, 4.0);
	TAKE(sh, hidden, job->model->hidden);
	FROM_STRUCT(sh, job->layout, tp, cp);
	TAKE(sh, norm_shards, job_norm_shards(job));
	TAKE(sh, n_heads, a->n_heads);
	TAKE(sh, n_kv_heads, latent ? a->n_heads : a->n_kv_heads);
	TAKE(sh, qk_dim, latent ? a->nope.value + a->rope.value : a->head_dim.value);
	TAKE(sh, v_dim, value_dim(a));
	LET(sh, query_width, n_heads * qk_dim / tp);
	LET(sh, output_width, n_heads * v_dim / tp);
	LET(sh, kv_width, fmax(1, n_kv_heads / tp) * (qk_dim + v_dim));
	LET(sh, qkv_byte_per_token, elem_byte * (query_width + kv_width));
	LET(sh, backward_byte_per_token,
	    qkv_byte_per_token + elem_byte * output_width + float_byte * query_width +
	        2 * elem_byte * hidden / norm_shards);
	double transient_byte_per_token;
	if (job->layout.cp < 2)
		SET(sh, transient_byte_per_token, backward_byte_per_token);
	else if (job->cp_all_to_all)
		SET(sh, transient_byte_per_token, fmax(backward_byte_per_token, qkv_byte_per_token));
	else
		/* forward ring: each step holds its keys and values and a partial output, beside the fp32 sum */
		SET(sh, transient_byte_per_token,
		    fmax(backward_byte_per_token,
		        cp * elem_byte * (kv_width + output_width) + float_byte * output_width));
	return transient_byte_per_token;
}

/* The attention's gradients come after the saved tensors of the MLP behind it have been freed. */
static double
block_transient(struct sheet *sh, const struct memory_job *job, int stage, int i)
{
	const struct block *block = &job->model->blocks[i];
	TAKE(sh, present, memory_stage_layers(job, stage, i) > 0);
	double feed_forward_byte_per_token;
	if (block->moe.given)
		SET_CALL(sh, feed_forward_byte_per_token, experts_transient(sh, job, block));
	else
		SET_CALL(sh, feed_forward_byte_per_token, mlp_transient(sh, job, block));
	CALL(sh, attention_byte_per_token, attention_transient(sh, job, block));
	CALL(sh, freed_byte_per_token, feed_forward_saved(sh, job, block));
	LET(sh, transient_byte_per_token,
	    present * fmax(feed_forward_byte_per_token, attention_byte_per_token - freed_byte_per_token));
	return transient_byte_per_token;
}

static double
first_backward_layer(struct sheet *sh, const struct memory_job *job, int stage)
{
	CALL(sh, n_tokens, memory_tokens(sh, job));
	MOST(sh, transient_byte_per_token, i, job->model->n_blocks, block_transient(sh, job, stage, i));
	LET(sh, transient_byte, n_tokens * transient_byte_per_token);
	return transient_byte;
}

/* --- buffers --------------------------------------------------------------------------------------------- */

/* Workspaces that live in the allocator: cuBLAS of Transformer Engine and of PyTorch, more of them for grouped
 * products. */
static double
workspaces(struct sheet *sh, const struct memory_job *job)
{
	bool experts = false;
	for (int i = 0; i < job->model->n_blocks; i++)
		experts = experts || job->model->blocks[i].moe.given;
	TAKE(sh, product_byte, datum_or(job->stack->workspace_byte, 0));
	TAKE(sh, grouped_byte, experts ? datum_or(job->stack->expert_workspace_byte, 0) : 0);
	LET(sh, workspace_byte, fmax(product_byte, grouped_byte));
	return workspace_byte;
}

/* The last norm's input and output, and the gathered input of the head. */
static double
head_tensors(struct sheet *sh, const struct memory_job *job)
{
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, norm_shards, job_norm_shards(job));
	CALL(sh, n_tokens, memory_tokens(sh, job));
	CALL(sh, gathered_byte, loss_gather(sh, job));
	LET(sh, norm_byte_per_token, 2 * elem_byte * hidden / norm_shards);
	LET(sh, head_byte, n_tokens * norm_byte_per_token + gathered_byte);
	return head_byte;
}

/* The table's gradient is dense and 16-bit before it is added to the main one. */
static double
embedding_gradient(struct sheet *sh, const struct memory_job *job)
{
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, vocabulary, datum_or(job->model->vocab, 0));
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, tp, job->layout.tp);
	LET(sh, gradient_byte, elem_byte * vocabulary * hidden / tp);
	return gradient_byte;
}

double
megatron_buffers(struct sheet *sh, const struct memory_job *job, int stage, enum moment moment)
{
	CALL(sh, workspace_byte, workspaces(sh, job));
	CALL(sh, exchange_byte, stage_exchange(sh, job));
	double moment_byte;
	if (moment == MOMENT_LOSS)
		SET_CALL(sh, moment_byte, head_tensors(sh, job));
	else if (moment == MOMENT_EMBEDDING)
		SET_CALL(sh, moment_byte, embedding_gradient(sh, job));
	else
		SET_CALL(sh, moment_byte, first_backward_layer(sh, job, stage));
	LET(sh, buffers_byte, workspace_byte + exchange_byte + moment_byte);
	return buffers_byte;
}
