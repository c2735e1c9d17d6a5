/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Training jobs: from the bound inputs, and what is refused. */
#include "model/train/train.h"

#include "model/train/parts.h"

static const char *const refusals[N_TRAIN_REFUSALS] = {
    [TRAIN_ANSWERED] = "",
#define TRAIN_REFUSAL(id, text) [TRAIN_REFUSES_##id] = text,
#include "model/train/train_rules.def"
#undef TRAIN_REFUSAL
};
static const char *const assumptions[N_TRAIN_ASSUMPTIONS] = {
#define TRAIN_ASSUMPTION(id, text) text,
#include "model/train/train_rules.def"
#undef TRAIN_ASSUMPTION
};

const char *
train_refusal_text(enum train_refusal r)
{
	return refusals[r];
}

const char *
train_assumption_text(enum train_assumption a)
{
	return assumptions[a];
}

const char *
train_lacks(const struct workload *w)
{
	if (w->kind != MODEL_DECODER && w->kind != MODEL_ENCODER && w->kind != MODEL_VISION)
		return w->kind == MODEL_OPERATORS ? "it is a list of operators" : "it has an encoder and a decoder";
	for (int i = 0; i < w->n_blocks; i++) {
		const struct block *b = &w->blocks[i];
		if (b->mixer != MIXER_ATTENTION)
			return "some layers have no attention";
		if (b->attention.kind == ATTENTION_CSA || b->attention.indexer.dim.value > 0)
			return "it uses sparse attention";
		if (b->cross)
			return "some layers have cross attention";
	}
	return NULL;
}

/* --- the job ---------------------------------------------------------------------------------------------- */

/* As told, or as the recipes of the framework have it. */
static bool
usual_dedup(const struct train_ask *ask)
{
	const enum dispatcher d = ask->dispatcher;

	return (d == DISPATCH_OPEN ? ask->stack->time.dispatcher : d) == DISPATCH_DEDUP;
}

void
train_fill(const struct train_ask *ask, struct train_answer *a)
{
	struct train_job *job = &a->job;
	const struct stack_time *s = &ask->stack->time;
	const bool moe = train_has_experts(ask->model);

	*a = (struct train_answer){.band = 1, .low = 1, .high = 1};
	*job = (struct train_job){.model = ask->model,
	    .stack = s,
	    .machine = ask->machine,
	    .n_gpus = ask->n_gpus,
	    .layout = ask->layout,
	    .n_global_sequences = ask->n_global_sequences.value,
	    .n_sequences = ask->n_sequences.value,
	    .seq_length = ask->seq_length.value,
	    .packed_length = datum_or(ask->packed_length, 0),
	    .dtype = ask->dtype,
	    .compiled = ask->compiled,
	    .n_stage_layers = ask->n_stage_layers,
	    .stage_layers = ask->stage_layers,
	    .recompute = ask->recompute,
	    .recompute_n = ask->recompute_n > 0 ? ask->recompute_n : 1,
	    .modules = ask->modules,
	    .dropout = ask->dropout,
	    .attention = ask->attention == N_ATTENTION_FORMS ? s->attention : ask->attention,
	    .adapters = ask->adapters,
	    .base_byte = ask->base_byte,
	    .imbalance = ask->imbalance > 0 ? ask->imbalance : 1,
	    .head_frac = ask->model->kind == MODEL_ENCODER ? 0.16 : 1,
	    .n_mtp = datum_or(ask->n_mtp, datum_or(ask->model->n_mtp, 0)),
	    .context = ask->context,
	    .zero_bubble = ask->zero_bubble,
	    .balanced_stages = ask->balanced_stages,
	    .optimizer_byte = ask->optimizer_byte > 0 ? ask->optimizer_byte : 30};
	if (train_lacks(ask->model))
		a->refusal = TRAIN_REFUSES_LAYERS;
	else if (!s->given)
		a->refusal = TRAIN_REFUSES_STACK;
	if (a->refusal)
		return;
	job->dedup = usual_dedup(ask);
	if (moe && job->layout.ep > job->machine.n_domain && ask->dispatcher == DISPATCH_OPEN)
		a->assumed |= 1U << (job->dedup ? TRAIN_ASSUMES_DEDUP : TRAIN_ASSUMES_PLAIN);
	a->refusal = train_impossible(job);
}

/* --- a job of the memory model ---------------------------------------------------------------------------- */

static struct datum
derived(double value)
{
	return (struct datum){value, {NULL, 0, 0, NULL, false}};
}

void
train_ask_memory(struct train_ask *ask, const struct memory_job *job)
{
	const struct layout *l = &job->layout;

	ask->model = job->model;
	ask->stack = job->stack;
	ask->n_gpus = l->dp * l->tp * l->pp * l->cp;
	ask->layout = *l;
	ask->n_stage_layers = job->n_stage_layers;
	ask->stage_layers = job->stage_layers;
	ask->n_sequences = job->batch;
	ask->n_global_sequences = derived(job->batch.value * job->n_microbatches.value * l->dp);
	ask->seq_length = job->seq;
	ask->dtype = job->dtype;
	ask->recompute = job->recompute;
	ask->recompute_n = job->recompute_n;
	ask->modules = job->modules;
	ask->compiled = job->compiled;
	ask->dropout = job->dropout;
	ask->adapters = job->lora_rank.value > 0;
	ask->imbalance = job->imbalance.value;
	if (job->quant != QUANT_NONE)
		ask->base_byte = quant_bits(job->quant) / 8;
}

/* --- what arithmetic forbids ----------------------------------------------------------------------------- */

enum train_refusal
train_impossible(const struct train_job *job)
{
	const struct layout *l = &job->layout;
	const struct calibration *c = job->machine.kernels;
	const struct workload *w = job->model;
	const double replicas = job->n_gpus / (l->tp * l->pp * l->cp);

	if (replicas < 1 || replicas != floor(replicas))
		return TRAIN_REFUSES_LAYOUT;
	if (l->dp * job->n_sequences > job->n_global_sequences)
		return TRAIN_REFUSES_SMALL_BATCH;
	if (l->pp * l->vp > layout_most_chunks(w))
		return TRAIN_REFUSES_STAGES;
	for (int i = 0; i < w->n_blocks; i++) {
		if (fmod(w->blocks[i].attention.n_heads.value, l->tp) != 0)
			return TRAIN_REFUSES_HEADS;
		if (train_routes(&w->blocks[i]) &&
		    (fmod(w->blocks[i].moe.n_experts.value, l->ep) != 0 ||
		        fmod(job->n_gpus / l->pp, l->ep * l->etp) != 0))
			return TRAIN_REFUSES_EXPERT_LAYOUT;
	}
	if (l->cp > 1 && job->context == CONTEXT_RING && job->seq_length / l->cp < 128)
		return TRAIN_REFUSES_RING;
	if (!c || !gemm_calibrated(c, DTYPE_BF16) || !gemm_calibrated(c, dtype_fits(job->dtype)) || !c->has_context)
		return TRAIN_REFUSES_KERNELS;
	if (job->n_gpus > 1 && !c->has_collective[COLLECTIVE_ALL_GATHER])
		return TRAIN_REFUSES_COLLECTIVES;
	if (job->n_gpus > job->machine.n_domain && !(job->machine.nic_byte_per_s > 0))
		return TRAIN_REFUSES_NETWORK;
	return TRAIN_ANSWERED;
}
