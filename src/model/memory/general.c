/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a layer saves for its backward pass in frameworks that are described by traits.  The list is that of Korthikanti
 * et al., arXiv:2205.05198, section 4.1 (34 h + 5 a s bytes per token for a GPT layer in 16 bits), widened to gated
 * MLPs, grouped queries, flash attention, frozen and adapted maps.
 */
#include "model/memory/parts.h"

/* --- which inputs a product keeps ------------------------------------------------------------------------ */

/* A product keeps its input for the weight's gradient: the weight's own or its adapter's.  Some libraries keep it for
 * frozen quantized weights too; where they keep it in fp32, that copy replaces all others.  An adapter behind dropout
 * keeps what dropout left of it, which is counted with the adapter. */
static bool
keeps_input(const struct memory_job *job, bool adapted)
{
	if (!job_is_lora(job))
		return true;
	if (job->quant != QUANT_NONE && job->stack->keeps_fp32_inputs)
		return false;
	return adapted || (job->quant != QUANT_NONE && job->stack->keeps_quantised_inputs);
}

static bool
eager_norm(const struct memory_job *job)
{
	return job->compiled ? job->stack->eager_norm_compiled : job->stack->eager_norm;
}

/* A compiled or fused norm keeps its input; an eager one an fp32 copy too, and the normalized value when its gain is
 * trained. */
static double
norms_saved(struct sheet *sh, const struct memory_job *job)
{
	const bool eager = eager_norm(job);
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, norm_shards, job_norm_shards(job));
	TAKE(sh, n_norms, job->model->norms_per_layer);
	TAKE(sh, n_copies, eager ? 2.0 : 1.0);
	TAKE(sh, n_trained, eager && (!job_is_lora(job) || job_adapts(job, TARGET_OUTPUTS)) ? 1.0 : 0);
	LET(sh, norms_byte_per_token, n_norms * (n_copies + n_trained) * elem_byte * hidden / norm_shards);
	return norms_byte_per_token;
}

/* The scores and their softmax (and its dropout) of an attention that is not one kernel; the tanh that bounds scores,
 * where there is one. */
double
attention_scores_saved(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	const bool capped = job_is_capped(job);

	if (job->flash && !capped) {
		LET(sh, scores_byte_per_token, 0);
		return scores_byte_per_token;
	}
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, mask_byte, job->dropout ? 1.0 : 0);
	TAKE(sh, n_copies, capped ? 3.0 : 2.0);
	TAKE(sh, n_heads, block->attention.n_heads);
	TAKE(sh, seq_length, job->seq);
	TAKE(sh, tp, job->layout.tp);
	LET(sh, scores_byte_per_token, (n_copies * elem_byte + mask_byte) * n_heads * seq_length / tp);
	return scores_byte_per_token;
}

/* --- attention ------------------------------------------------------------------------------------------- */

/* Queries, keys and values; repeated for every query head, or a view of the fused product's whole output beside them.
 */
static double
qkv_saved(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	const struct attention *a = &block->attention;
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, n_heads, a->n_heads);
	TAKE(sh, n_kv_heads, job->stack->expanded_kv ? a->n_heads : a->n_kv_heads);
	TAKE(sh, n_fused_heads, a->n_kv_heads);
	TAKE(sh, head_dim, a->head_dim);
	TAKE(sh, v_dim, value_dim(a));
	TAKE(sh, tp, job->layout.tp);
	TAKE(sh, n_views, job->stack->v_view);
	LET(sh, qkv_width, n_heads * head_dim / tp + fmax(1, n_kv_heads / tp) * (head_dim + v_dim));
	LET(sh, view_width, n_views * (n_heads * head_dim + n_fused_heads * v_dim) / tp);
	LET(sh, qkv_byte_per_token, elem_byte * (qkv_width + view_width));
	return qkv_byte_per_token;
}

/* The attention's output is the output map's input; a quantized map keeps a quantized copy. */
double
general_heads_saved(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	const struct attention *a = &block->attention;
	const bool adapted = job_adapts(job, TARGET_Q) || job_adapts(job, TARGET_K) || job_adapts(job, TARGET_V);
	const bool fused = job->stack->fused_qkv_adapters; /* its list was fitted with the input */
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, input_byte, job_input_byte(job));
	TAKE(sh, output_copy_byte, job_is_quantised(job) ? job_input_byte(job) : 0);
	TAKE(sh, lse_elem_byte, job->flash ? 4.0 : 0);
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, n_heads, a->n_heads);
	TAKE(sh, v_dim, value_dim(a));
	TAKE(sh, tp, job->layout.tp);
	TAKE(sh, norm_shards, job_norm_shards(job));
	TAKE(sh, n_kept_inputs, keeps_input(job, adapted && (fused || !job->adapter_dropout)));
	LET(sh, input_byte_per_token, n_kept_inputs * input_byte * hidden / norm_shards);
	CALL(sh, qkv_byte_per_token, qkv_saved(sh, job, block));
	LET(sh, output_byte_per_token, (elem_byte + output_copy_byte) * n_heads * v_dim / tp);
	LET(sh, log_sum_exp_byte_per_token, lse_elem_byte * n_heads / tp);
	LET(sh, heads_byte_per_token,
	    input_byte_per_token + qkv_byte_per_token + output_byte_per_token + log_sum_exp_byte_per_token);
	return heads_byte_per_token;
}

/* --- MLP ------------------------------------------------------------------------------------------------- */

/* SwiGLU: gate, up and the activated gate; a fused kernel keeps gate and up.  GELU: its input.  The down map's input
 * comes on top. */
double
general_mlp_saved(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	const bool up = job_adapts(job, TARGET_UP) || job_adapts(job, TARGET_GATE), down = job_adapts(job, TARGET_DOWN);
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, input_byte, job_input_byte(job));
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, mlp_width, block->mlp.width);
	TAKE(sh, tp, job->layout.tp);
	TAKE(sh, norm_shards, job_norm_shards(job));
	TAKE(sh, n_inner, !block->mlp.gated ? 1.0 : job->stack->fused_activation ? 2.0 : 3.0);
	TAKE(sh, n_up_inputs, keeps_input(job, up && !job->adapter_dropout));
	TAKE(sh, n_down_inputs, keeps_input(job, down && !job->adapter_dropout));
	LET(sh, input_byte_per_token, n_up_inputs * input_byte * hidden / norm_shards);
	LET(sh, inner_byte_per_token, (n_inner * elem_byte + n_down_inputs * input_byte) * mlp_width / tp);
	LET(sh, mlp_byte_per_token, input_byte_per_token + inner_byte_per_token);
	return mlp_byte_per_token;
}

/* --- adapters -------------------------------------------------------------------------------------------- */

/* One adapted map: the low-rank product, its input cast to the adapter's type, and with dropout the input's masked
 * copies. */
static double
adapter_saved(struct sheet *sh, const struct memory_job *job, double n_maps, double input_width)
{
	GIVEN(sh, n_maps, input_width);
	TAKE(sh, adapter_byte, job->stack->adapter_byte);
	TAKE(sh, cast_byte, job->stack->adapter_byte.value > 2 && !job->stack->fused_casts ? 4.0 : 0);
	TAKE(sh, dropout_byte, job->adapter_dropout ? 3.0 : 0);
	TAKE(sh, lora_rank, job->lora_rank);
	LET(sh, adapter_byte_per_token, n_maps * (adapter_byte * lora_rank + (cast_byte + dropout_byte) * input_width));
	return adapter_byte_per_token;
}

/* Beside the low-rank ones: the attention's result over a learned prompt, which is gated, and outputs that are scaled.
 */
double
adapters_saved(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	const struct attention *a = &block->attention;
	const double n_qkv = job_adapts(job, TARGET_Q) + job_adapts(job, TARGET_K) + job_adapts(job, TARGET_V);
	const double n_up = job_adapts(job, TARGET_UP) + (block->mlp.gated && job_adapts(job, TARGET_GATE));
	const bool fused = job->stack->fused_qkv_adapters && n_qkv > 0;

	if (!job_is_lora(job)) {
		LET(sh, adapters_byte_per_token, 0);
		return adapters_byte_per_token;
	}
	TAKE(sh, tp, job->layout.tp);
	CALL(sh, hidden_byte_per_token, adapter_saved(sh, job, (fused ? 3.0 : n_qkv) + n_up, job->model->hidden.value));
	CALL(sh, output_byte_per_token,
	    adapter_saved(sh, job, job_adapts(job, TARGET_O), a->n_heads.value * value_dim(a).value));
	CALL(sh, down_byte_per_token,
	    adapter_saved(sh, job, job_adapts(job, TARGET_DOWN), datum_or(block->mlp.width, 0)));
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, prompt_width, job_adapts(job, TARGET_PROMPT) ? a->n_heads.value * value_dim(a).value : 0);
	TAKE(sh, n_scaled, job_adapts(job, TARGET_OUTPUTS));
	CALL(sh, width, scaled_width(sh, job, block));
	LET(sh, low_rank_byte_per_token, hidden_byte_per_token + (output_byte_per_token + down_byte_per_token) / tp);
	LET(sh, adapters_byte_per_token, low_rank_byte_per_token + elem_byte * (prompt_width + n_scaled * width) / tp);
	return adapters_byte_per_token;
}

/* Frozen quantized maps whose inputs are kept in fp32: two of the hidden size, the output map's and the down map's. */
static double
fp32_inputs_saved(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	if (job->quant == QUANT_NONE || !job->stack->keeps_fp32_inputs) {
		LET(sh, inputs_byte_per_token, 0);
		return inputs_byte_per_token;
	}
	TAKE(sh, float_byte, 4.0);
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, output_width, block->attention.n_heads.value * value_dim(&block->attention).value);
	TAKE(sh, mlp_width, datum_or(block->mlp.width, 0));
	LET(sh, inputs_byte_per_token, float_byte * (2 * hidden + output_width + mlp_width));
	return inputs_byte_per_token;
}

/* --- a layer --------------------------------------------------------------------------------------------- */

double
attention_saved(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	CALL(sh, scores_byte_per_token, attention_scores_saved(sh, job, block));
	double heads_byte_per_token;
	if (block->attention.kind == ATTENTION_MLA)
		SET_CALL(sh, heads_byte_per_token, latent_attention_saved(sh, job, block));
	else if (job_is_megatron(job))
		SET_CALL(sh, heads_byte_per_token, megatron_heads_saved(sh, job, block));
	else
		SET_CALL(sh, heads_byte_per_token, general_heads_saved(sh, job, block));
	LET(sh, attention_byte_per_token, heads_byte_per_token + scores_byte_per_token);
	return attention_byte_per_token;
}

double
feed_forward_saved(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	double feed_forward_byte_per_token;
	if (block->moe.given)
		SET_CALL(sh, feed_forward_byte_per_token, experts_saved(sh, job, block));
	else if (job_is_megatron(job))
		SET_CALL(sh, feed_forward_byte_per_token, megatron_mlp_saved(sh, job, block));
	else
		SET_CALL(sh, feed_forward_byte_per_token, general_mlp_saved(sh, job, block));
	return feed_forward_byte_per_token;
}

/* The lists of latent attention and of experts hold their own norm; in the general list norms stand apart. */
static double
norms_beside(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	const bool latent = block->attention.kind == ATTENTION_MLA, experts = block->moe.given;
	if (job_is_megatron(job) || (latent && experts)) {
		LET(sh, norms_byte_per_token, 0);
		return norms_byte_per_token;
	}
	TAKE(sh, share_frac, latent || experts ? 0.5 : 1.0);
	CALL(sh, all_byte_per_token, norms_saved(sh, job));
	LET(sh, norms_byte_per_token, share_frac * all_byte_per_token);
	return norms_byte_per_token;
}

static double
dropout_masks(struct sheet *sh, const struct memory_job *job)
{
	TAKE(sh, mask_byte, job->dropout ? 1.0 : 0);
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, norm_shards, job_norm_shards(job));
	LET(sh, masks_byte_per_token, 2 * mask_byte * hidden / norm_shards);
	return masks_byte_per_token;
}

double
memory_layer_saved(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	CALL(sh, attention_byte_per_token, attention_saved(sh, job, block));
	CALL(sh, feed_forward_byte_per_token, feed_forward_saved(sh, job, block));
	CALL(sh, norms_byte_per_token, norms_beside(sh, job, block));
	CALL(sh, masks_byte_per_token, dropout_masks(sh, job));
	CALL(sh, adapters_byte_per_token, adapters_saved(sh, job, block));
	CALL(sh, inputs_byte_per_token, fp32_inputs_saved(sh, job, block));
	LET(sh, saved_byte_per_token,
	    attention_byte_per_token + feed_forward_byte_per_token + norms_byte_per_token + masks_byte_per_token +
	        adapters_byte_per_token + inputs_byte_per_token);
	return saved_byte_per_token;
}

/* --- the per-operator policy ----------------------------------------------------------------------------- */

/* torchtitan's selective activation checkpointing by operator: the layer's input, every other GEMM's output,
 * the attention's output.  Run eagerly it keeps a little more, which was fitted. */
double
general_policy_kept(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	const struct attention *a = &block->attention;
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, float_byte, 4.0);
	TAKE(sh, hidden, job->model->hidden);
	FROM(sh, a, n_heads, n_kv_heads, head_dim);
	TAKE(sh, mlp_width, block->mlp.width);
	TAKE(sh, tp, job->layout.tp);
	TAKE(sh, norm_shards, job_norm_shards(job));
	TAKE(sh, eager_byte, job->compiled ? 0 : datum_or(job->stack->eager_policy_byte, 0));
	LET(sh, eager_byte_per_token, eager_byte * hidden / norm_shards);
	LET(sh, hidden_byte_per_token, 2 * elem_byte * hidden / norm_shards);
	LET(sh, attention_byte_per_token,
	    (elem_byte * head_dim * (2 * n_heads + fmax(tp, n_kv_heads)) + float_byte * n_heads) / tp);
	LET(sh, kept_byte_per_token,
	    hidden_byte_per_token + attention_byte_per_token + elem_byte * mlp_width / tp + eager_byte_per_token);
	return kept_byte_per_token;
}
