/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory without a description of layers: operator lists, and models known only by their size.
 *
 * Arithmetic on bare numbers: bytes per parameter, ZeRO's divisions,
 * rules of thumb for activations, the price of checkpointing, the algebra of batches.
 */
#include "model/memory/memory.h"

#include "model/layer/layer.h"

/* --- activations ----------------------------------------------------------------------------------------- */

static double
numbers_tokens(struct sheet *sh, const struct memory_numbers *in)
{
	TAKE(sh, n_sequences, in->batch);
	TAKE(sh, seq_token, in->seq);
	LET(sh, n_tokens, n_sequences * seq_token);
	return n_tokens;
}

/* Layers' worth of tensors that a policy keeps, one tensor of the hidden size being a unit.  Full: each layer's input
 * and one layer in work.  Every n-th: those layers keep their input alone.  Segments of sqrt(L) layers: 2 sqrt(L)
 * layers at most (Chen et al., arXiv:1604.06174, section 4). */
static double
kept_units(struct sheet *sh, enum recompute policy, double every, double n_layers, double n_units)
{
	GIVEN(sh, n_layers, n_units);
	double n_kept_units;
	if (policy == RECOMPUTE_FULL)
		SET(sh, n_kept_units, n_layers + n_units);
	else if (policy == RECOMPUTE_EVERY) {
		GIVEN(sh, every);
		SET(sh, n_kept_units, n_layers / every + (n_layers - n_layers / every) * n_units);
	} else if (policy == RECOMPUTE_UNIFORM)
		SET(sh, n_kept_units, 2 * sqrt(n_layers) * n_units);
	else
		SET(sh, n_kept_units, n_layers * n_units);
	return n_kept_units;
}

double
checkpoint_saving(struct sheet *sh, enum recompute policy, double every, double n_layers, double n_units)
{
	GIVEN(sh, n_layers, n_units);
	CALL(sh, n_kept_units, kept_units(sh, policy, every, n_layers, n_units));
	LET(sh, saving, n_layers * n_units / n_kept_units);
	return saving;
}

double
checkpoint_cost(struct sheet *sh, enum recompute policy, double every)
{
	TAKE(sh, n_forward, 1.0);
	TAKE(sh, n_backward, 2.0);
	double recomputed_frac;
	if (policy == RECOMPUTE_NONE)
		SET(sh, recomputed_frac, 0);
	else if (policy == RECOMPUTE_EVERY) {
		GIVEN(sh, every);
		SET(sh, recomputed_frac, 1 / every);
	} else
		SET(sh, recomputed_frac, 1);
	LET(sh, extra_compute_frac, recomputed_frac * n_forward / (n_forward + n_backward));
	return extra_compute_frac;
}

double
simple12_activations(struct sheet *sh, const struct memory_numbers *in)
{
	CALL(sh, n_tokens, numbers_tokens(sh, in));
	FROM(sh, in, hidden, n_layers, elem_byte);
	TAKE(sh, n_units, 12.0);
	CALL(sh, n_kept_units, kept_units(sh, in->recompute, in->recompute_n, n_layers, n_units));
	LET(sh, unit_byte_per_token, hidden * elem_byte);
	LET(sh, activations_byte, n_tokens * n_kept_units * unit_byte_per_token);
	return activations_byte;
}

/* Korthikanti et al., arXiv:2205.05198, equation 1: 34 h + 5 a s bytes per token and layer in 16 bits, dropout masks of
 * one byte included.  A flash kernel keeps no scores. */
double
gpt_activations(struct sheet *sh, const struct memory_numbers *in)
{
	CALL(sh, n_tokens, numbers_tokens(sh, in));
	FROM(sh, in, hidden, n_layers);
	TAKE(sh, n_heads, datum_or(in->n_heads, 0));
	TAKE(sh, seq_length, in->seq);
	TAKE(sh, elem_byte, in->elem_byte);
	TAKE(sh, mask_byte, 1.0);
	TAKE(sh, n_scores, in->flash ? 0 : 1.0);
	LET(sh, linear_byte_per_token, (16 * elem_byte + 2 * mask_byte) * hidden);
	LET(sh, score_byte_per_token, n_scores * (2 * elem_byte + mask_byte) * n_heads * seq_length);
	LET(sh, layer_byte_per_token, linear_byte_per_token + score_byte_per_token);
	CALL(sh, saving,
	    checkpoint_saving(
	        sh, in->recompute, in->recompute_n, n_layers, layer_byte_per_token / (hidden * elem_byte)));
	LET(sh, activations_byte, n_tokens * n_layers * layer_byte_per_token / saving);
	return activations_byte;
}

/* --- states ---------------------------------------------------------------------------------------------- */

/* ZeRO stage 1 divides the optimizer's states, 2 the gradients too, 3 the weights too (Rajbhandari et al., SC 2020). */
double
numbers_states(struct sheet *sh, const struct memory_numbers *in)
{
	TAKE(sh, n_params, in->n_params);
	TAKE(sh, weight_byte_per_param, in->weight_byte);
	TAKE(sh, gradient_byte_per_param, in->gradient_byte);
	TAKE(sh, master_byte_per_param, in->master_byte);
	TAKE(sh, moment_byte_per_param, in->moment_byte);
	TAKE(sh, n_moments, in->n_moments);
	TAKE(sh, n_weight_shards, in->zero >= 3 ? in->n_ranks : 1.0);
	TAKE(sh, n_gradient_shards, in->zero >= 2 ? in->n_ranks : 1.0);
	TAKE(sh, n_optimizer_shards, in->zero >= 1 ? in->n_ranks : 1.0);
	TAKE(sh, n_on_gpu, in->offload_optimizer ? 0 : 1.0);
	LET(sh, weights_byte, n_params * weight_byte_per_param / n_weight_shards);
	LET(sh, gradients_byte, n_params * gradient_byte_per_param / n_gradient_shards);
	LET(sh, master_byte, n_on_gpu * n_params * master_byte_per_param / n_optimizer_shards);
	LET(sh, moment_byte, n_on_gpu * n_params * moment_byte_per_param / n_optimizer_shards);
	LET(sh, optimizer_byte, master_byte + n_moments * moment_byte);
	LET(sh, states_byte, weights_byte + gradients_byte + optimizer_byte);
	SHOW(sh, weights_byte, weight_byte);
	if (gradients_byte > 0)
		SHOW(sh, gradients_byte, gradient_byte);
	if (master_byte > 0)
		SHOW(sh, master_byte, master_byte);
	if (moment_byte > 0)
		SHOW(sh, moment_byte, moment_byte);
	if (optimizer_byte > 0)
		SHOW(sh, optimizer_byte, optimizer_byte);
	SHOW(sh, states_byte, states_byte);
	return states_byte;
}

double
numbers_byte_per_param(struct sheet *sh, const struct memory_numbers *in)
{
	TAKE(sh, weight_byte_per_param, in->weight_byte);
	TAKE(sh, gradient_byte_per_param, in->gradient_byte);
	TAKE(sh, master_byte_per_param, in->master_byte);
	TAKE(sh, moment_byte_per_param, in->moment_byte);
	TAKE(sh, n_moments, in->n_moments);
	LET(sh, states_byte_per_param,
	    weight_byte_per_param + gradient_byte_per_param + master_byte_per_param +
	        n_moments * moment_byte_per_param);
	return states_byte_per_param;
}

/* Given activations stand for themselves; else they need layers, width and length. */
static double
numbers_activations(struct sheet *sh, const struct memory_numbers *in)
{
	double activations_byte;
	if (datum_given(in->activations_byte)) {
		TAKE(sh, given_byte, in->activations_byte);
		SET(sh, activations_byte, given_byte);
	} else if (!datum_given(in->hidden) || !datum_given(in->n_layers))
		SET(sh, activations_byte, 0);
	else if (in->units12)
		SET_CALL(sh, activations_byte, simple12_activations(sh, in));
	else
		SET_CALL(sh, activations_byte, gpt_activations(sh, in));
	return activations_byte;
}

double
numbers_total(struct sheet *sh, const struct memory_numbers *in)
{
	double states_byte;
	if (datum_given(in->n_params))
		SET_CALL(sh, states_byte, numbers_states(sh, in));
	else
		SET(sh, states_byte, 0);
	CALL(sh, activations_byte, numbers_activations(sh, in));
	TAKE(sh, context_byte, datum_or(in->context_byte, 0));
	LET(sh, need_byte, states_byte + activations_byte + context_byte);
	if (activations_byte > 0)
		SHOW(sh, activations_byte, activation_byte);
	return need_byte;
}

/* --- sharing --------------------------------------------------------------------------------------------- */

double
zero_pool(struct sheet *sh, double n_gpus, double card_byte)
{
	GIVEN(sh, n_gpus, card_byte);
	LET(sh, pool_byte, n_gpus * card_byte);
	return pool_byte;
}

double
pool_params(struct sheet *sh, double pool_byte, double byte_per_param)
{
	GIVEN(sh, pool_byte, byte_per_param);
	LET(sh, n_params, pool_byte / byte_per_param);
	return n_params;
}

double
micro_batch(struct sheet *sh, double n_global_sequences, double n_replicas, double n_accumulation_steps)
{
	GIVEN(sh, n_global_sequences, n_replicas, n_accumulation_steps);
	LET(sh, n_micro_sequences, n_global_sequences / (n_replicas * n_accumulation_steps));
	return n_micro_sequences;
}

double
accumulation_steps(struct sheet *sh, double n_global_sequences, double n_replicas, double n_sequences)
{
	GIVEN(sh, n_global_sequences, n_replicas, n_sequences);
	LET(sh, n_accumulation_steps, n_global_sequences / (n_replicas * n_sequences));
	return n_accumulation_steps;
}

/* --- attention ------------------------------------------------------------------------------------------- */

double
attention_matrix(struct sheet *sh, double seq_length, double elem_byte)
{
	GIVEN(sh, seq_length, elem_byte);
	LET(sh, matrix_byte, seq_length * seq_length * elem_byte);
	return matrix_byte;
}

/* A tiled kernel writes the head's output alone. */
double
attention_tiled(struct sheet *sh, double seq_length, double head_dim, double elem_byte)
{
	GIVEN(sh, seq_length, head_dim, elem_byte);
	LET(sh, tiled_byte, seq_length * head_dim * elem_byte);
	return tiled_byte;
}

double
memory_saving(struct sheet *sh, double before_byte, double after_byte)
{
	GIVEN(sh, before_byte, after_byte);
	LET(sh, saved_frac, 1 - after_byte / before_byte);
	return saved_frac;
}

/* --- operator lists ------------------------------------------------------------------------------------------- */

/* All weights at once, operands of one operator at a time. */

/* A table is looked up in: what is read of it is in the traffic already. */
static bool
is_table(const struct op *op)
{
	return op->kind == OP_embedding || op->kind == OP_embedding_bag;
}

/* Activation traffic of one operator for n samples: inputs and outputs, without its weights. */
static double
op_operands(struct sheet *sh, const struct op *one, double n_samples, double elem_byte)
{
	struct op op = *one;

	op.elem_byte = elem_byte;
	for (int d = 0; op_dim_name((enum op_kind)op.kind, d); d++)
		op.dim[d] += op.per_batch[d] * (n_samples - 1);
	const double traffic_byte = op_cost(sh, &op).traffic_byte;
	if (is_table(&op)) {
		LET(sh, operand_byte, traffic_byte);
		return operand_byte;
	}
	op.extra_params = 0;
	TAKE(sh, elem_byte_per_param, elem_byte);
	CALL(sh, matrix_param, op_params(sh, &op));
	LET(sh, operand_byte, traffic_byte - matrix_param * elem_byte_per_param);
	return operand_byte;
}

double
list_operands(struct sheet *sh, const struct workload *w, double n_samples, double elem_byte)
{
	GIVEN(sh, n_samples, elem_byte);
	MOST(sh, operands_byte, i, w->n_ops, op_operands(sh, &w->ops[i], n_samples, elem_byte));
	return operands_byte;
}

double
list_weights(struct sheet *sh, const struct workload *w, double elem_byte)
{
	TAKE(sh, elem_byte_per_param, elem_byte);
	CALL(sh, model_param, model_params(sh, w));
	LET(sh, weights_byte, model_param * elem_byte_per_param);
	return weights_byte;
}

double
list_total(struct sheet *sh, double weights_byte, double operands_byte)
{
	GIVEN(sh, weights_byte, operands_byte);
	LET(sh, total_byte, weights_byte + operands_byte);
	return total_byte;
}
