/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Defaults of a training job, and jobs that are refused. */
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

static void
assume(struct train_answer *a, enum train_assumption what)
{
	a->assumed |= 1U << what;
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

/* What of a card people fill, by a rough count; and where the card is not known: one of 80 GB. */
static const double FILLED = 0.85, USUAL_ROOM_BYTE = 72e9;

/* --- defaults -------------------------------------------------------------------------------------------- */

double
train_layer_kept(const struct train_job *job, const struct block *block)
{
	const struct layout *l = &job->layout;
	const struct train_core core = train_core(job, block);
	const double kv = core.k.units.value, d = core.n.size, width = block->mlp.given ? block->mlp.width.value : 0;

	return 10 * job->model->hidden.value / (l->sp ? l->tp : 1) +
	    (2 * (2 * core.n.units.value + 2 * kv) * d + (block->mlp.gated ? 8 : 6) * width) / l->tp;
}

/* Activations of the fullest stage and 16 bytes of states for each parameter. */
static double
rough_memory(const struct train_job *job, double n_sequences)
{
	const struct workload *w = job->model;
	const struct layout *l = &job->layout;
	const double rows = n_sequences * job->seq_length / l->cp, flight = l->pp > 1 ? l->pp : 1;
	const double shard = layout_shard_ranks(l);
	double kept = 0;

	for (int i = 0; i < w->n_blocks; i++)
		kept += w->blocks[i].count.value / l->pp * train_layer_kept(job, &w->blocks[i]);
	const double states = (l->zero == 0          ? 16
	                              : l->zero == 3 ? 16 / shard
	                                             : 4 + 12 / shard) *
	    train_dense_params(NULL, job);
	return flight * rows * kept + states + 8 * rows * datum_or(w->vocab, 0) / l->tp;
}

static void
fill_sharding(const struct train_ask *ask, struct train_answer *a)
{
	struct layout *l = &a->job.layout;

	l->zero = datum_given(ask->zero) ? (int)ask->zero.value
	                                 : layout_usual_zero(ask->stack, a->job.adapters, l->dp * l->cp);
	if (!datum_given(ask->zero) && l->zero > 0)
		assume(a, l->zero == 3 ? TRAIN_ASSUMES_FULLY_SHARDED : TRAIN_ASSUMES_SHARDED);
	l->sp = ask->sp >= 0 ? ask->sp : layout_usual_sp(ask->stack, l->tp);
	if (ask->sp < 0 && l->sp)
		assume(a, TRAIN_ASSUMES_SEQUENCE_PARALLEL);
	l->shard = datum_or(ask->shard, l->dp * l->cp);
}

/* Whether m micro-batches keep a pipeline busy. */
static bool
fills(const struct train_job *job, double n_sequences)
{
	return job->n_global_sequences / (n_sequences * job->layout.dp) >= 2 * job->layout.pp;
}

/* Frameworks with a local batch cut it into micro-batches of one; others take the largest that fills the pipeline and
 * fits. */
static void
fill_pipeline(const struct train_ask *ask, struct train_answer *a)
{
	struct train_job *job = &a->job;
	const double m = job->n_global_sequences / (job->n_sequences * job->layout.dp);

	if (!(job->layout.pp > 1) || !(job->n_sequences > 1) || m >= job->layout.pp)
		return;
	if (ask->stack->time.local_batch) {
		job->n_sequences = 1;
		assume(a, TRAIN_ASSUMES_LOCAL_BATCH);
		return;
	}
	double b = 1;
	while (2 * b <= job->n_sequences && fills(job, 2 * b) &&
	    (!(ask->card_byte > 0) || rough_memory(job, 2 * b) <= FILLED * ask->card_byte))
		b *= 2;
	job->n_sequences = b;
	assume(a, TRAIN_ASSUMES_FEWER);
}

static bool
fill_batch(const struct train_ask *ask, struct train_answer *a)
{
	struct train_job *job = &a->job;

	job->n_global_sequences = ask->n_global_sequences.value;
	job->n_sequences = datum_or(ask->n_sequences, 1);
	if (!datum_given(ask->n_global_sequences)) {
		a->refusal = TRAIN_REFUSES_BATCH;
		return false;
	}
	if (ask->settled)
		return true;
	if (!datum_given(ask->n_sequences)) {
		const double most = job->n_global_sequences / job->layout.dp;
		if (job->seq_length < 2048 && most > 1) {
			job->n_sequences = fmin(most, floor(2048 / job->seq_length));
			assume(a, TRAIN_ASSUMES_SMALL_MICRO_BATCH);
		} else
			assume(a, TRAIN_ASSUMES_MICRO_BATCH);
	}
	/* long sequences: published rows name fewer sequences than replicas */
	while (job->seq_length >= 32768 && job->layout.dp * job->n_sequences > job->n_global_sequences &&
	    fmod(job->layout.dp, 2) == 0) {
		job->layout.dp /= 2;
		job->layout.cp *= 2;
		assume(a, TRAIN_ASSUMES_MORE_CONTEXT);
	}
	fill_pipeline(ask, a);
	return true;
}

static void
fill_recompute(const struct train_ask *ask, struct train_answer *a)
{
	struct train_job *job = &a->job;

	job->recompute = ask->recompute;
	job->recompute_n = ask->recompute_n > 0 ? ask->recompute_n : 1;
	job->modules = ask->modules;
	if (ask->recompute_given)
		return;
	job->recompute = RECOMPUTE_NONE;
	if (layout_is_fsdp(ask->stack) &&
	    rough_memory(job, job->n_sequences) > (ask->card_byte > 0 ? FILLED * ask->card_byte : USUAL_ROOM_BYTE)) {
		job->recompute = RECOMPUTE_FULL;
		assume(a, TRAIN_ASSUMES_FULL_RECOMPUTE);
	} else
		assume(a, TRAIN_ASSUMES_NO_RECOMPUTE);
}

/* As told, or as the recipes of the framework have it. */
static bool
usual_dedup(const struct train_ask *ask)
{
	const enum dispatcher d = ask->dispatcher;

	return (d == DISPATCH_OPEN ? ask->stack->time.dispatcher : d) == DISPATCH_DEDUP;
}

static bool
fill_layout(const struct train_ask *ask, struct train_answer *a)
{
	struct layout *l = &a->job.layout;
	const bool said = datum_given(ask->tp) || datum_given(ask->pp) || datum_given(ask->cp) ||
	    datum_given(ask->dp) || datum_given(ask->zero);

	*l = (struct layout){.tp = datum_or(ask->tp, 1),
	    .pp = datum_or(ask->pp, 1),
	    .vp = datum_or(ask->vp, layout_usual_chunks(ask->stack, ask->model, datum_or(ask->pp, 1))),
	    .cp = datum_or(ask->cp, 1),
	    .ep = datum_or(ask->ep, 1)};
	const double model = l->tp * l->pp * l->cp;
	if (!datum_given(ask->vp) && l->vp > 1)
		assume(a, TRAIN_ASSUMES_CHUNKS);
	if (!datum_given(ask->n_gpus) && !datum_given(ask->dp)) {
		a->refusal = TRAIN_REFUSES_GPUS;
		return false;
	}
	a->job.n_gpus = datum_or(ask->n_gpus, model * datum_or(ask->dp, 1));
	l->dp = a->job.n_gpus / model;
	if (fmod(a->job.n_gpus, model) != 0)
		a->refusal = TRAIN_REFUSES_LAYOUT;
	else if (!said && a->job.n_gpus > 8)
		a->refusal = TRAIN_REFUSES_PARALLEL;
	else if (train_has_experts(ask->model) && !datum_given(ask->ep) && a->job.n_gpus > 1)
		a->refusal = TRAIN_REFUSES_EXPERTS;
	if (a->refusal)
		return false;
	l->etp = datum_given(ask->etp) ? ask->etp.value : layout_usual_etp(ask->model, l);
	return true;
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
	    .seq_length = ask->seq_length.value,
	    .packed_length = datum_or(ask->packed_length, 0),
	    .dtype = ask->dtype,
	    .compiled = ask->compiled,
	    .n_stage_layers = ask->n_stage_layers,
	    .stage_layers = ask->stage_layers,
	    .dropout = ask->settled ? ask->dropout : ask->stack->dropout,
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
	else if (!datum_given(ask->seq_length))
		a->refusal = TRAIN_REFUSES_SEQUENCE;
	if (a->refusal || !fill_layout(ask, a))
		return;
	fill_sharding(ask, a);
	if (!fill_batch(ask, a))
		return;
	fill_recompute(ask, a);
	job->dedup = usual_dedup(ask);
	if (moe && job->layout.ep > job->machine.n_domain && ask->dispatcher == DISPATCH_OPEN)
		assume(a, job->dedup ? TRAIN_ASSUMES_DEDUP : TRAIN_ASSUMES_PLAIN);
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
	ask->settled = true;
	ask->n_gpus = derived(l->dp * l->tp * l->pp * l->cp);
	ask->dp = derived(l->dp);
	ask->tp = derived(l->tp);
	ask->pp = derived(l->pp);
	ask->vp = derived(l->vp);
	ask->cp = derived(l->cp);
	ask->ep = derived(l->ep);
	ask->etp = derived(l->etp);
	ask->zero = derived(l->zero);
	ask->shard = derived(l->shard);
	ask->sp = l->sp;
	ask->n_stage_layers = job->n_stage_layers;
	ask->stage_layers = job->stage_layers;
	ask->n_sequences = job->batch;
	ask->n_global_sequences = derived(job->batch.value * job->n_microbatches.value * l->dp);
	ask->seq_length = job->seq;
	ask->dtype = job->dtype;
	ask->recompute_given = true;
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
