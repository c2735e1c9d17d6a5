/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Model states: weights, gradients and optimizer, bytes per parameter over the ranks that share them.  Mixed precision:
 * Micikevicius et al., ICLR 2018; ZeRO: Rajbhandari et al., SC 2020.
 */
#include "model/memory/parts.h"

const char *
optimizer_name(enum optimizer o)
{
	static const char *const names[] = {
#define OPTIMIZER(id, text, n_moments, mixed_byte, pure_byte, title) text,
	    OPTIMIZERS(OPTIMIZER)
#undef OPTIMIZER
	};
	return names[o];
}

double
optimizer_moments(enum optimizer o)
{
	static const double moments[] = {
#define OPTIMIZER(id, text, n_moments, mixed_byte, pure_byte, title) n_moments,
	    OPTIMIZERS(OPTIMIZER)
#undef OPTIMIZER
	};
	return moments[o];
}

double
optimizer_moment_byte(enum optimizer o, bool pure)
{
	static const double bytes[][2] = {
#define OPTIMIZER(id, text, n_moments, mixed_byte, pure_byte, title) {mixed_byte, pure_byte},
	    OPTIMIZERS(OPTIMIZER)
#undef OPTIMIZER
	};
	return bytes[o][pure];
}

struct quant_row {
	const char *name;
	double bits;
	bool experts_only, bitsandbytes;
};

static const struct quant_row *
quant_row(enum quant q)
{
	static const struct quant_row rows[] = {{"none", 16, false, false},
#define QUANT(id, text, bits, experts_only, bitsandbytes, title) {text, bits, experts_only, bitsandbytes},
	    QUANTS(QUANT)
#undef QUANT
	};
	return &rows[q];
}

const char *
quant_name(enum quant q)
{
	return quant_row(q)->name;
}

double
quant_bits(enum quant q)
{
	return quant_row(q)->bits;
}

void
memory_quantise(struct memory_job *job, enum quant q)
{
	bool experts = false;

	for (int i = 0; i < job->model->n_blocks; i++)
		experts = experts || job->model->blocks[i].moe.given;
	job->expert_quant = q;
	job->quant = experts && quant_row(q)->experts_only ? QUANT_NONE : q;
}

/* --- bytes per parameter --------------------------------------------------------------------------------- */

/* A frozen base and served weights are stored as they compute. */
static double
plain_byte(const struct memory_job *job)
{
	const bool trained = job->use == STACK_TRAIN && !job_is_lora(job);

	return trained && job->scheme == STATES_FP32 ? 4.0 : job_elem_byte(job);
}

/* Quantized training keeps copies of each map beside its 16-bit parameters, one for each direction that the hardware
 * cannot transpose, or only the copies when the parameters themselves are quantized (Transformer Engine). */
static double
linear_element(struct sheet *sh, const struct memory_job *job)
{
	TAKE(sh, stored_byte_per_param, job->quantised_parameters ? 0 : plain_byte(job));
	double element_byte_per_param;
	if (!job_is_quantised(job) || !job_is_megatron(job)) {
		SET(sh, element_byte_per_param, stored_byte_per_param);
		return element_byte_per_param;
	}
	TAKE(sh, n_copies, job->weight_copies);
	TAKE(sh, copy_byte_per_param, dtype_byte(job->dtype));
	SET(sh, element_byte_per_param, stored_byte_per_param + n_copies * copy_byte_per_param);
	return element_byte_per_param;
}

static double
gradient_element(struct sheet *sh, const struct memory_job *job)
{
	const struct datum given = datum_given(job->gradient_byte) ? job->gradient_byte : job->stack->gradient_byte;
	double gradient_byte_per_param;
	if (datum_given(given) && (job->scheme == STATES_MIXED || datum_given(job->gradient_byte))) {
		TAKE(sh, element_byte_per_param, given);
		SET(sh, gradient_byte_per_param, element_byte_per_param);
	} else {
		TAKE(sh, stored_byte_per_param, plain_byte(job));
		SET(sh, gradient_byte_per_param, stored_byte_per_param);
	}
	return gradient_byte_per_param;
}

double
memory_master_byte(const struct memory_job *job)
{
	const bool remainders = job->precision_aware && job->dtype == DTYPE_BF16;

	return job->scheme != STATES_MIXED || job_elem_byte(job) >= 4 ? 0 : remainders ? 2 : 4;
}

bool
memory_is_precision_aware(const struct memory_job *job)
{
	return job->precision_aware || (job->offload & OFFLOAD_OPTIMIZER && job_is_megatron(job));
}

bool
memory_optimizer_holds(const struct memory_job *job, const struct layout *l)
{
	if (job->optimizer_in_backward && (l->zero > 0 || l->pp > 1))
		return false;
	return !memory_is_precision_aware(job) || l->zero == 1 || (l->zero == 0 && l->dp * l->cp <= 1);
}

double
memory_moment_byte(const struct memory_job *job)
{
	const bool pure = job->scheme == STATES_PURE && job_elem_byte(job) < 4;

	return job->precision_aware ? dtype_byte(job->moment_dtype) : optimizer_moment_byte(job->optimizer, pure);
}

/* The master copy counts as optimizer state: it is sharded with it. */
static double
optimizer_element(struct sheet *sh, const struct memory_job *job)
{
	TAKE(sh, master_byte_per_param, memory_master_byte(job));
	TAKE(sh, n_moments, optimizer_moments(job->optimizer));
	TAKE(sh, moment_byte_per_param, memory_moment_byte(job));
	LET(sh, optimizer_byte_per_param, master_byte_per_param + n_moments * moment_byte_per_param);
	return optimizer_byte_per_param;
}

/* --- one state over its ranks ---------------------------------------------------------------------------- */

/* Experts are replicated over fewer ranks than the rest: those that expert parallelism leaves. */
static double
expert_replicas(struct sheet *sh, const struct memory_job *job)
{
	TAKE(sh, n_shards, job->layout.shard);
	FROM_STRUCT(sh, job->layout, tp, ep, etp);
	LET(sh, n_expert_shards, fmax(1, n_shards * tp / (ep * etp)));
	return n_expert_shards;
}

/* Divided from ZeRO stage `from_zero` on. */
static double
state(struct sheet *sh, const struct memory_job *job, int from_zero, double state_byte_per_param, double dense_param,
    double expert_param)
{
	GIVEN(sh, state_byte_per_param, dense_param, expert_param);
	double state_byte;
	if (job_zero(job) < from_zero) {
		SET(sh, state_byte, state_byte_per_param * (dense_param + expert_param));
		return state_byte;
	}
	TAKE(sh, n_shards, job->layout.shard);
	CALL(sh, n_expert_shards, expert_replicas(sh, job));
	SET(sh, state_byte, state_byte_per_param * (dense_param / n_shards + expert_param / n_expert_shards));
	return state_byte;
}

/* Parts trained in full along with adapters have copies, gradients and moments in the dtype of the base. */
static double
whole_state(
    struct sheet *sh, const struct memory_job *job, int from_zero, double n_copies, const struct rank_params *params)
{
	const double whole_param = params->whole;
	GIVEN(sh, n_copies, whole_param);
	TAKE(sh, elem_byte_per_param, job_elem_byte(job));
	LET(sh, copies_byte_per_param, n_copies * elem_byte_per_param);
	CALL(sh, whole_byte, state(sh, job, from_zero, copies_byte_per_param, whole_param, 0));
	return whole_byte;
}

/* --- weights --------------------------------------------------------------------------------------------- */

/* A frozen or served base: maps quantized, the rest 16-bit, or fp32 where a trainer casts it before k-bit training
 * (prepare_model_for_kbit_training of Hugging Face PEFT). */
static double
quantised_weights(struct sheet *sh, const struct memory_job *job, const struct rank_params *params)
{
	const bool cast = job_is_lora(job) && job->stack->casts_for_quantised && quant_row(job->quant)->bitsandbytes;
	const double linear_param = params->linear, expert_param = params->expert, other_param = params->other;
	GIVEN(sh, linear_param, expert_param, other_param);
	TAKE(sh, linear_byte_per_param, quant_bits(job->quant) / 8);
	TAKE(sh, expert_byte_per_param, quant_bits(job->expert_quant) / 8);
	TAKE(sh, whole_byte_per_param, cast ? 4.0 : 2.0);
	TAKE(sh, n_shards, job->use == STACK_TRAIN && job_zero(job) >= 3 ? job->layout.shard : 1.0);
	LET(sh, quantised_byte, linear_param * linear_byte_per_param + expert_param * expert_byte_per_param);
	LET(sh, base_byte, (quantised_byte + other_param * whole_byte_per_param) / n_shards);
	return base_byte;
}

static double
plain_weights(struct sheet *sh, const struct memory_job *job, const struct rank_params *params)
{
	const double linear_param = params->linear, expert_param = params->expert, other_param = params->other;
	GIVEN(sh, linear_param, expert_param, other_param);
	TAKE(sh, whole_byte_per_param, plain_byte(job));
	CALL(sh, element_byte_per_param, linear_element(sh, job));
	CALL(sh, maps_byte, state(sh, job, 3, element_byte_per_param, linear_param, expert_param));
	CALL(sh, rest_byte, state(sh, job, 3, whole_byte_per_param, other_param, 0));
	LET(sh, plain_byte, maps_byte + rest_byte);
	return plain_byte;
}

double
weights_memory(struct sheet *sh, const struct memory_job *job, const struct rank_params *params)
{
	double base_byte, adapter_byte;
	if (job->offload & OFFLOAD_PARAMS)
		SET(sh, base_byte, 0);
	else if (job->quant != QUANT_NONE || job->expert_quant != QUANT_NONE)
		SET_CALL(sh, base_byte, quantised_weights(sh, job, params));
	else
		SET_CALL(sh, base_byte, plain_weights(sh, job, params));
	if (job_is_lora(job) && job->use == STACK_TRAIN) {
		TAKE(sh, adapter_byte_per_param, job->stack->adapter_byte);
		const double adapter_param = params->adapter;
		GIVEN(sh, adapter_param);
		CALL(sh, low_rank_byte, state(sh, job, 3, adapter_byte_per_param, adapter_param, 0));
		CALL(sh, whole_byte, whole_state(sh, job, 3, 1, params));
		SET(sh, adapter_byte, low_rank_byte + whole_byte);
	} else
		SET(sh, adapter_byte, 0);
	LET(sh, weights_byte, base_byte + adapter_byte);
	return weights_byte;
}

/* --- gradients and optimizer ----------------------------------------------------------------------------- */

/* When each gradient is used as soon as it is there, one layer's are held at a time. */
static double
layer_gradients(struct sheet *sh, const struct memory_job *job, double gradient_byte_per_param)
{
	GIVEN(sh, gradient_byte_per_param);
	TAKE(sh, tp, job->layout.tp);
	MOST(sh, largest_param, i, job->model->n_blocks,
	    layer_params(sh, job->model, &job->model->blocks[i], IN_LAYER, COUNT_ALL));
	LET(sh, layer_gradient_byte, gradient_byte_per_param * largest_param / tp);
	return layer_gradient_byte;
}

double
gradients_memory(struct sheet *sh, const struct memory_job *job, const struct rank_params *params)
{
	double gradients_byte;
	if (job_is_lora(job)) {
		TAKE(sh, adapter_byte_per_param, job->stack->adapter_byte);
		const double adapter_param = params->adapter;
		GIVEN(sh, adapter_param);
		CALL(sh, low_rank_byte, state(sh, job, 2, adapter_byte_per_param, adapter_param, 0));
		CALL(sh, whole_byte, whole_state(sh, job, 2, 1, params));
		SET(sh, gradients_byte, low_rank_byte + whole_byte);
		return gradients_byte;
	}
	CALL(sh, gradient_byte_per_param, gradient_element(sh, job));
	if (job->optimizer_in_backward) {
		SET_CALL(sh, gradients_byte, layer_gradients(sh, job, gradient_byte_per_param));
		return gradients_byte;
	}
	const double linear_param = params->linear, other_param = params->other, expert_param = params->expert;
	GIVEN(sh, linear_param, other_param, expert_param);
	LET(sh, dense_param, linear_param + other_param);
	SET_CALL(sh, gradients_byte, state(sh, job, 2, gradient_byte_per_param, dense_param, expert_param));
	return gradients_byte;
}

/* Adapters' moments are kept in the adapters' own type; beside 16-bit adapters in mixed precision there are fp32
 * masters and moments. */
static double
adapter_optimizer(struct sheet *sh, const struct memory_job *job, const struct rank_params *params)
{
	TAKE(sh, adapter_byte_per_param, job->stack->adapter_byte);
	const double adapter_param = params->adapter;
	GIVEN(sh, adapter_param);
	TAKE(sh, n_moments, optimizer_moments(job->optimizer));
	double moments_byte_per_param;
	if (job->scheme == STATES_MIXED && adapter_byte_per_param < 4) {
		TAKE(sh, float_byte_per_param, 4.0);
		SET(sh, moments_byte_per_param, float_byte_per_param + n_moments * float_byte_per_param);
	} else
		SET(sh, moments_byte_per_param, n_moments * adapter_byte_per_param);
	CALL(sh, low_rank_byte, state(sh, job, 1, moments_byte_per_param, adapter_param, 0));
	CALL(sh, whole_byte, whole_state(sh, job, 1, n_moments, params));
	LET(sh, optimizer_byte, low_rank_byte + whole_byte);
	return optimizer_byte;
}

double
optimizer_memory(struct sheet *sh, const struct memory_job *job, const struct rank_params *params)
{
	double optimizer_byte;
	if (job->offload & OFFLOAD_OPTIMIZER) {
		SET(sh, optimizer_byte, 0);
		return optimizer_byte;
	}
	if (job_is_lora(job)) {
		SET_CALL(sh, optimizer_byte, adapter_optimizer(sh, job, params));
		return optimizer_byte;
	}
	CALL(sh, optimizer_byte_per_param, optimizer_element(sh, job));
	const double linear_param = params->linear, other_param = params->other, expert_param = params->expert;
	GIVEN(sh, linear_param, other_param, expert_param);
	LET(sh, dense_param, linear_param + other_param);
	SET_CALL(sh, optimizer_byte, state(sh, job, 1, optimizer_byte_per_param, dense_param, expert_param));
	return optimizer_byte;
}
