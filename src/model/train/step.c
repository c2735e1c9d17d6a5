/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Training step: layers, CPU time, pipeline, data parallelism, optimizer, stragglers; and the run that it makes. */
#include "model/train/parts.h"

#include "model/layer/layer.h"

/* Host time of a dense layer, forward and backward, in an eager framework: launches, and quantization's in 8 bits.  A
 * prior: no published run is bound by it. */
static const double HOST_LAYER_S = 0.9e-3, HOST_LAYER_QUANTISED_S = 1.5e-3;
static const double HOST_ADAPTERS = 1.6, HOST_RECOMPUTE = 4.0 / 3.0;
/* Posting of sends, stream waits and merges of one ring-attention step and pass. */
static const double HOST_RING_S = 150e-6;
/* Growth of the step per doubling of the GPUs beyond eight, from 37 published scaling series. */
static const double STRAGGLING = 0.003;

static const char *const share_names[N_TRAIN_SHARES] = {
#define TRAIN_SHARE(id, text, title) text,
#include "model/train/train.def"
#undef TRAIN_SHARE
};
static const char *const share_titles[N_TRAIN_SHARES] = {
#define TRAIN_SHARE(id, text, title) title,
#include "model/train/train.def"
#undef TRAIN_SHARE
};

const char *
train_share_name(enum train_share s)
{
	return share_names[s];
}

const char *
train_share_title(enum train_share s)
{
	return share_titles[s];
}

/* --- the layers ------------------------------------------------------------------------------------------ */

static void
add_terms(struct train_terms *sum, const struct train_terms *t, double share)
{
	sum->forward_s += share * t->forward_s;
	sum->backward_s += share * t->backward_s;
	sum->recompute_s += share * t->recompute_s;
	sum->offload_s += share * t->offload_s;
	sum->linear_s += share * t->linear_s;
	sum->attention_s += share * t->attention_s;
	sum->scan_s += share * t->scan_s;
	sum->elementwise_s += share * t->elementwise_s;
	sum->quantise_s += share * t->quantise_s;
	sum->expert_s += share * t->expert_s;
	sum->attention_forward_s += share * t->attention_forward_s;
	sum->attention_backward_s += share * t->attention_backward_s;
	sum->tp_s += share * t->tp_s;
	sum->cp_s += share * t->cp_s;
	sum->ep_s += share * t->ep_s;
	sum->device_s += share * t->device_s;
	sum->floor_s += share * t->floor_s;
	sum->sync_s += share * t->sync_s;
	sum->layer_s += share * t->layer_s;
}

double
train_again_frac(const struct train_job *job)
{
	switch (job->recompute) {
	case RECOMPUTE_FULL:
	case RECOMPUTE_UNIFORM:
		return 1;
	case RECOMPUTE_EVERY:
	case RECOMPUTE_BLOCK:
		return 1 / recompute_interval(NULL, job->recompute, job->recompute_n, job->model, &job->layout);
	default:
		return 0;
	}
}

/* Host time with layers that are computed again over that without. */
static double
host_factor(double again_frac)
{
	return 1 + (HOST_RECOMPUTE - 1) * again_frac;
}

/* Host time of ring attention in a layer: three passes over the parts of the keys. */
static double
ring_host(struct sheet *sh, const struct train_job *job)
{
	const bool ring = job->layout.cp > 1 && job->context == CONTEXT_RING && !job->stack->graphs;

	TAKE(sh, ring_step_s, ring ? HOST_RING_S : 0);
	TAKE(sh, cp, job->layout.cp);
	LET(sh, ring_host_s, 3 * cp * ring_step_s);
	return ring_host_s;
}

static double
layer_host(const struct train_job *job)
{
	return train_quantises(job) ? HOST_LAYER_QUANTISED_S : HOST_LAYER_S;
}

/* Host time of a layer without experts: what it costs when the device is faster. */
static double
dense_floor(struct sheet *sh, const struct train_job *job, const struct block *block)
{
	const struct stack_time *s = job->stack;

	TAKE(sh, dense_host_s, layer_host(job));
	TAKE(sh, host_frac, s->host_frac);
	TAKE(sh, adapter_factor, job->adapters ? HOST_ADAPTERS : 1);
	TAKE(sh, recompute_factor, host_factor(train_again_frac(job)));
	TAKE(sh, n_parts, block_parts(block));
	CALL(sh, ring_host_s, ring_host(sh, job));
	LET(sh, floor_s, n_parts / 2 * dense_host_s * host_frac * adapter_factor * recompute_factor + ring_host_s);
	return floor_s;
}

/* Share of the layers whose router and experts run forward a second time. */
static double
routes_again(const struct train_job *job)
{
	const bool experts = job->recompute == RECOMPUTE_MODULES && job->modules & 1U << MODULE_MOE;

	return experts ? 1 : train_again_frac(job);
}

/* Whether the device waits for no count of routed rows. */
static bool
captures_experts(const struct train_job *job)
{
	return stack_captures_experts(job->stack, job->recompute, job->modules, job->layout.zero);
}

/* Graphs leave the host the launches of the experts, taken to be half of a layer's.  Of 17 published steps of captured
 * layers none is bound by less than 5.2 ms a layer. */
static double
expert_floor(struct sheet *sh, const struct train_job *job, const struct block *block)
{
	const struct stack_time *s = job->stack;
	const bool scaled = train_quantises(job) && job->dtype != DTYPE_FP8 && !captures_experts(job);

	TAKE(sh, moe_host_s, captures_experts(job) ? layer_host(job) / 2 : datum_or(s->moe_floor_s, 0));
	TAKE(sh, per_expert_s, scaled ? datum_or(s->moe_expert_floor_s, 0) : 0);
	TAKE(sh, n_local_experts, train_local_experts(job, block));
	TAKE(sh, recompute_factor, host_factor(routes_again(job)));
	CALL(sh, ring_host_s, ring_host(sh, job));
	LET(sh, floor_s, (moe_host_s + per_expert_s * n_local_experts) * recompute_factor + ring_host_s);
	return floor_s;
}

/* Waits of the device in an expert layer: the counts of routed rows must reach the host before the experts' kernels can
 * be launched, and quantized experts are launched one by one.  The backward pass knows the counts; a forward pass that
 * is run again waits for them again. */
static double
expert_sync(struct sheet *sh, const struct train_job *job, const struct block *block)
{
	const struct stack_time *s = job->stack;
	const bool waits = !captures_experts(job);

	TAKE(sh, count_sync_s, waits ? datum_or(s->moe_sync_s, 0) : 0);
	TAKE(sh, per_expert_s, waits && train_quantises(job) ? datum_or(s->moe_expert_s, 0) : 0);
	TAKE(sh, n_local_experts, train_local_experts(job, block));
	TAKE(sh, n_forward_passes, 1 + routes_again(job));
	TAKE(sh, recompute_factor, host_factor(routes_again(job)));
	LET(sh, sync_s, n_forward_passes * count_sync_s + recompute_factor * per_expert_s * n_local_experts);
	return sync_s;
}

bool
train_waits_alike(const struct train_job *job)
{
	return datum_given(job->stack->hybrid_sync_s) && workload_alternates(job->model);
}

/* Where kinds of layers alternate, published steps have the same wait in every expert layer, whether a GPU has 8
 * experts or 64 and whatever the release: all of it is exposed beside the short layers around it.  A forward pass that
 * is run again waits again. */
static double
hybrid_time(struct sheet *sh, const struct train_job *job, double device_s, struct train_terms *t)
{
	TAKE(sh, pass_sync_s, job->stack->hybrid_sync_s);
	TAKE(sh, recompute_factor, host_factor(routes_again(job)));
	LET(sh, sync_s, pass_sync_s * recompute_factor);
	t->sync_s = sync_s;
	LET(sh, layer_s, device_s + sync_s);
	return layer_s;
}

/* A slow device hides the host but for the waits; a fast one waits for the host, and the waits are inside that. */
static double
hosted_time(
    struct sheet *sh, const struct train_job *job, const struct block *block, double device_s, struct train_terms *t)
{
	GIVEN(sh, device_s);
	double layer_s;
	if (!train_routes(block)) {
		CALL(sh, floor_s, dense_floor(sh, job, block));
		t->floor_s = floor_s;
		SET(sh, layer_s, fmax(device_s, floor_s));
		return layer_s;
	}
	if (train_waits_alike(job))
		return hybrid_time(sh, job, device_s, t);
	CALL(sh, floor_s, expert_floor(sh, job, block));
	CALL(sh, sync_s, expert_sync(sh, job, block));
	t->floor_s = floor_s;
	t->sync_s = sync_s;
	EITHER(sh, waits_s, floor_s > 0, sync_s * fmin(1, device_s / floor_s), 0);
	SET(sh, layer_s, fmax(device_s + waits_s, floor_s));
	return layer_s;
}

/* A layer of one kind; its terms are added to those of the mean layer. */
static double
kind_time(struct sheet *sh, const struct train_job *job, const struct block *block, struct train_terms *sum)
{
	struct train_terms terms;

	CALL(sh, device_s, train_layer(sh, job, block, &terms));
	CALL(sh, layer_s, hosted_time(sh, job, block, device_s, &terms));
	terms.layer_s = layer_s;
	add_terms(sum, &terms, block->count.value / job->model->n_layers.value);
	return layer_s;
}

/* All layers of a kind. */
static double
kind_layers(struct sheet *sh, const struct train_job *job, int i, struct train_terms *sum, double kind_s[])
{
	const struct block *block = &job->model->blocks[i];

	CALL(sh, layer_s, kind_time(sh, job, block, sum));
	kind_s[i] = layer_s;
	TAKE(sh, n_kind_layers, block->count);
	LET(sh, layers_s, n_kind_layers * layer_s);
	return layers_s;
}

/* --- the step -------------------------------------------------------------------------------------------- */

/* Parameters of which a rank has the states, with ZeRO from stage `from_zero` on. */
static double
own_params(struct sheet *sh, const struct train_job *job, const struct train_terms *t, int from_zero)
{
	const struct layout *l = &job->layout;
	const double shard = l->zero >= from_zero ? layout_shard_ranks(l) : 1;
	const double expert_shard = l->zero >= from_zero ? layout_expert_shard_ranks(l, shard) : 1;

	TAKE(sh, rank_param, t->rank_params);
	TAKE(sh, expert_param, t->expert_params);
	TAKE(sh, n_shards, shard);
	TAKE(sh, n_expert_shards, expert_shard);
	LET(sh, own_param, rank_param / n_shards + expert_param / n_expert_shards);
	return own_param;
}

/* Gradients go to the host, its CPUs update the parameters of all GPUs that share them, and the parameters come back.
 * Clipping waits for the last gradient, so that nothing hides the update (Ren et al., USENIX ATC 2021, section 4). */
static double
host_optimizer(struct sheet *sh, const struct train_job *job, double own_param)
{
	GIVEN(sh, own_param);
	TAKE(sh, n_sharing, fmin(job->machine.n_host_gpus, job->n_gpus));
	TAKE(sh, node_param_per_s, datum_or(job->stack->host_param_per_s, job->machine.host_param_per_s));
	TAKE(sh, host_byte_per_s, job->machine.host_byte_per_s);
	TAKE(sh, gradient_byte_per_param, job->stack->reduce_byte);
	TAKE(sh, copy_byte_per_param, 2.0);
	LET(sh, update_s, n_sharing * own_param / node_param_per_s);
	LET(sh, host_s, update_s + (gradient_byte_per_param + copy_byte_per_param) * own_param / host_byte_per_s);
	return host_s;
}

/* States of the optimizer pass through memory once; the rest is what a step costs outside layers. */
static double
optimizer_time(struct sheet *sh, const struct train_job *job, const struct train_terms *t)
{
	double states_s;

	if (job->adapters)
		SET(sh, states_s, 0);
	else {
		CALL(sh, own_param, own_params(sh, job, t, 1));
		if (job->offload & OFFLOAD_OPTIMIZER)
			SET_CALL(sh, states_s, host_optimizer(sh, job, own_param));
		else {
			TAKE(sh, state_byte_per_param, job->optimizer_byte);
			TAKE(sh, mem_byte_per_s, train_memory(job));
			SET(sh, states_s, state_byte_per_param * own_param / mem_byte_per_s);
		}
	}
	TAKE(sh, step_overhead_s, job->stack->step_s);
	LET(sh, optimizer_s, states_s + step_overhead_s);
	return optimizer_s;
}

/* Offloaded weights come from the host in each pass of a micro-batch, beside its computation. */
static double
weights_wait(
    struct sheet *sh, const struct train_job *job, const struct train_terms *t, const struct train_window *window)
{
	double weights_s;

	if (!(job->offload & OFFLOAD_PARAMS)) {
		SET(sh, weights_s, 0);
		return weights_s;
	}
	CALL(sh, own_param, own_params(sh, job, t, 3));
	FROM(sh, window, forward_s, backward_s);
	FROM(sh, t, n_microbatches);
	TAKE(sh, host_byte_per_s, job->machine.host_byte_per_s);
	TAKE(sh, weight_byte_per_param, 2.0);
	LET(sh, pass_s, weight_byte_per_param * own_param / host_byte_per_s);
	SET(sh, weights_s, n_microbatches * (fmax(0, pass_s - forward_s) + fmax(0, pass_s - backward_s)));
	return weights_s;
}

/*
 * Forward and backward of one micro-batch on one stage; a host that holds layers up holds both up alike.  Interleaved
 * stages work through pp micro-batches of a chunk before the next (Narayanan et al., SC 2021, section 2.2): gradients
 * of one chunk travel beside the others' last micro-batches, parameters beside their first ones.
 */
static struct train_window
window_of(struct sheet *sh, const struct train_job *job, const struct train_terms *t)
{

	TAKE(sh, n_layers, job->model->n_layers);
	FROM(sh, t, layer_s, device_s);
	TAKE(sh, layer_forward_s, t->forward_s);
	TAKE(sh, tp_forward_s, t->tp_s / (2 + train_again_frac(job)));
	TAKE(sh, head_s, t->logits_s);
	TAKE(sh, pp, job->layout.pp);
	TAKE(sh, whole_head, job->layout.pp > 1 ? 0.0 : 1.0);
	TAKE(sh, n_beside, job->layout.vp > 1 ? fmin(job->layout.pp, t->n_microbatches) : 1);
	LET(sh, forward_frac, (layer_forward_s + tp_forward_s) / device_s);
	LET(sh, micro_forward_s, (n_layers * layer_s * forward_frac + head_s / 3) / pp);
	LET(sh, micro_backward_s, (n_layers * layer_s + whole_head * head_s) / pp - micro_forward_s);
	LET(sh, window_forward_s, n_beside * micro_forward_s);
	LET(sh, window_backward_s, n_beside * micro_backward_s);
	return (struct train_window){window_forward_s, window_backward_s};
}

static double
last_layer(const struct workload *w, const double kind_s[])
{
	int mixer, feed;

	workload_last_layer(w, &mixer, &feed);
	return mixer == feed ? kind_s[mixer] : kind_s[mixer] + kind_s[feed];
}

/* The head, and with multi-token prediction (DeepSeek-AI, arXiv:2412.19437, section 2.2) a whole layer and a head
 * more. */
static double
head_time(struct sheet *sh, const struct train_job *job, const double kind_s[])
{
	CALL(sh, logits_s, train_logits(sh, job));
	double head_s;
	if (job->n_mtp > 0) {
		TAKE(sh, n_mtp_layers, job->n_mtp);
		TAKE(sh, last_layer_s, last_layer(job->model, kind_s));
		SET(sh, head_s, logits_s + n_mtp_layers * (logits_s + last_layer_s));
	} else
		SET(sh, head_s, logits_s);
	return head_s;
}

/* Layers and head of a micro-batch: what neither the pipeline nor the replicas change. */
static double
layers_and_head(struct sheet *sh, const struct train_job *job, struct train_terms *t, double kind_s[])
{
	SUM(sh, layers_s, i, job->model->n_blocks, kind_layers(sh, job, i, t, kind_s));
	CALL(sh, head_s, head_time(sh, job, kind_s));
	t->logits_s = head_s;
	return layers_s;
}

/* The step from its layers. */
static double
assemble(struct sheet *sh, const struct train_job *job, double layers_s, const double kind_s[], struct train_terms *t)
{
	CALL(sh, rank_param, train_dense_params(sh, job));
	CALL(sh, expert_param, train_expert_params(sh, job));
	t->rank_params = rank_param;
	t->expert_params = expert_param;
	CALL(sh, pipeline_s, train_pipeline(sh, job, layers_s, kind_s, t));
	struct train_window window = {0, 0};
	SCOPE (sh, "window")
		window = window_of(sh, job, t);
	CALL(sh, data_parallel_s, train_data_parallel(sh, job, &window, t));
	t->dp_s = data_parallel_s;
	CALL(sh, optimizer_s, optimizer_time(sh, job, t));
	t->optimizer_s = optimizer_s;
	CALL(sh, weights_s, weights_wait(sh, job, t, &window));
	t->weights_s = weights_s;
	TAKE(sh, n_gpus, job->n_gpus);
	TAKE(sh, straggling, STRAGGLING);
	LET(sh, straggler, 1 + straggling * log2(fmax(1, n_gpus / 8)));
	t->straggler = straggler;
	LET(sh, step_s, (pipeline_s + data_parallel_s + optimizer_s + weights_s) * straggler);
	return t->step_s = step_s;
}

double
train_step(struct sheet *sh, const struct train_job *job, struct train_terms *out)
{
	struct train_terms t = {0};
	double kind_s[TRAIN_MOST_BLOCKS];

	CALL(sh, n_rows, train_rows(sh, job));
	CALL(sh, n_microbatches, train_microbatches(sh, job));
	t.n_rows = n_rows;
	t.n_microbatches = n_microbatches;
	const double layers_s = layers_and_head(sh, job, &t, kind_s);
	const double step_s = assemble(sh, job, layers_s, kind_s, &t);
	if (out)
		*out = t;
	return step_s;
}

void
train_part(const struct train_job *job, struct train_part *out)
{
	*out = (struct train_part){.terms = {.n_rows = train_rows(NULL, job)}};
	out->layers_s = layers_and_head(NULL, job, &out->terms, out->kind_s);
}

double
train_assemble(const struct train_job *job, const struct train_part *part, struct train_terms *out)
{
	*out = part->terms;
	out->n_microbatches = train_microbatches(NULL, job);
	return assemble(NULL, job, part->layers_s, part->kind_s, out);
}

/* The mean stage does the layers; what the fullest stage does beyond that counts as bubble. */
void
train_shares(const struct train_job *job, const struct train_terms *t, double share[N_TRAIN_SHARES])
{
	const double n = t->n_microbatches * job->model->n_layers.value / job->layout.pp;
	double sum = 0;

	share[TRAIN_LINEAR] = n * t->linear_s;
	share[TRAIN_ATTENTION] = n * t->attention_s;
	share[TRAIN_SCAN] = n * t->scan_s;
	share[TRAIN_EXPERTS] = n * t->expert_s;
	share[TRAIN_ELEMENTWISE] = n * t->elementwise_s;
	share[TRAIN_QUANTISE] = n * t->quantise_s;
	share[TRAIN_LOGITS] = t->n_microbatches * t->logits_s / job->layout.pp;
	share[TRAIN_RECOMPUTE] = n * t->recompute_s;
	share[TRAIN_OFFLOAD] = n * t->offload_s;
	share[TRAIN_TP] = n * t->tp_s;
	share[TRAIN_CP] = n * t->cp_s;
	share[TRAIN_EP] = n * t->ep_s;
	share[TRAIN_HOST] = n * (t->layer_s - t->device_s);
	share[TRAIN_PP] = t->n_microbatches * t->p2p_s;
	share[TRAIN_BUBBLE] = 0;
	for (int i = 0; i <= TRAIN_PP; i++)
		sum += share[i];
	share[TRAIN_BUBBLE] = t->pipeline_s - sum - share[TRAIN_HOST];
	/* what is left of rounding */
	if (fabs(share[TRAIN_BUBBLE]) < 1e-9 * t->pipeline_s)
		share[TRAIN_BUBBLE] = 0;
	share[TRAIN_DP] = t->dp_s;
	share[TRAIN_OPTIMIZER] = t->optimizer_s;
	share[TRAIN_OFFLOAD] += t->weights_s;
	share[TRAIN_STRAGGLERS] = t->step_s - (t->pipeline_s + t->dp_s + t->optimizer_s + t->weights_s);
}

/* --- the run -------------------------------------------------------------------------------------------------- */

/* Throughput, MFU, length and energy of a run. */

double
train_step_tokens(struct sheet *sh, double n_global_sequences, double seq_length)
{
	GIVEN(sh, n_global_sequences, seq_length);
	LET(sh, step_token, n_global_sequences * seq_length);
	return step_token;
}

double
train_token_rate(struct sheet *sh, double step_token, double step_s)
{
	GIVEN(sh, step_token, step_s);
	LET(sh, rate_token_per_s, step_token / step_s);
	return rate_token_per_s;
}

double
train_gpu_rate(struct sheet *sh, double rate_token_per_s, double n_gpus)
{
	GIVEN(sh, rate_token_per_s, n_gpus);
	LET(sh, gpu_token_per_s, rate_token_per_s / n_gpus);
	return gpu_token_per_s;
}

double
train_utilisation(struct sheet *sh, double work_flop_per_token, double gpu_token_per_s, double peak_flop_per_s)
{
	GIVEN(sh, work_flop_per_token, gpu_token_per_s, peak_flop_per_s);
	LET(sh, gpu_flop_per_s, work_flop_per_token * gpu_token_per_s);
	LET(sh, utilisation_frac, gpu_flop_per_s / peak_flop_per_s);
	return utilisation_frac;
}

/* Forward FLOP that are done again for each token, over those of a forward pass. */
static double
again_share(const struct train_job *job)
{
	return job->recompute == RECOMPUTE_OP ? 0.5 : train_again_frac(job);
}

double
train_hardware_flop(struct sheet *sh, const struct train_job *job, double model_flop_per_token)
{
	const bool scores = job->recompute == RECOMPUTE_MODULES && job->modules & 1U << MODULE_CORE_ATTN &&
	    job->attention == ATTENTION_UNFUSED;

	GIVEN(sh, model_flop_per_token);
	CALL(sh, forward_flop_per_token,
	    forward_flop(sh, job->model, job->seq_length, job->model->kind == MODEL_DECODER));
	TAKE(sh, again_frac, again_share(job));
	double attention_flop_per_token;
	if (scores) {
		CALL(sh, product_param, multiplied_params(sh, job->model));
		TAKE(sh, flop_per_token_per_param, 2.0);
		SET(sh, attention_flop_per_token, forward_flop_per_token - flop_per_token_per_param * product_param);
	} else
		SET(sh, attention_flop_per_token, 0);
	LET(sh, hardware_flop_per_token,
	    model_flop_per_token + again_frac * forward_flop_per_token + attention_flop_per_token);
	return hardware_flop_per_token;
}

double
train_steps_needed(struct sheet *sh, double budget_token, double step_token)
{
	GIVEN(sh, budget_token, step_token);
	LET(sh, n_steps, ceil(budget_token / step_token));
	return n_steps;
}

double
train_run_time(struct sheet *sh, double n_steps, double step_s)
{
	GIVEN(sh, n_steps, step_s);
	LET(sh, run_s, n_steps * step_s);
	return run_s;
}

double
train_energy(struct sheet *sh, double n_gpus, double gpu_watt, double run_s)
{
	GIVEN(sh, n_gpus, gpu_watt, run_s);
	LET(sh, energy_joule, n_gpus * gpu_watt * run_s);
	return energy_joule;
}
