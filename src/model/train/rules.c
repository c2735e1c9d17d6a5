/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Training jobs from the bound inputs: what is refused, and what makes a prediction less sure. */
#include "model/train/parts.h"
#include "model/train/train.h"

static const char *const refusals[N_TRAIN_REFUSALS] = {
    [TRAIN_ANSWERED] = "",
#define TRAIN_REFUSAL(id, text) [TRAIN_REFUSES_##id] = text,
#include "model/train/train.def"
#undef TRAIN_REFUSAL
};
static const char *const assumptions[N_TRAIN_ASSUMPTIONS] = {
#define TRAIN_ASSUMPTION(id, text) text,
#include "model/train/train.def"
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
		if (b->mixer == MIXER_KDA)
			return "some layers have Kimi delta attention";
		if (b->attention.kind == ATTENTION_CSA || b->attention.indexer.dim.value > 0)
			return "it uses sparse attention";
		if (b->cross)
			return "some layers have cross attention";
	}
	return NULL;
}

/* --- the job ---------------------------------------------------------------------------------------------- */

enum { VOLTA = 0, BLACKWELL = 3 };

/* As told, or as the recipes of the framework have it where GPU and model let them. */
static bool
usual_dedup(const struct train_ask *ask)
{
	const enum dispatcher d = ask->stack->time.dispatcher;
	const bool runs = d == DISPATCH_DEDUP || (d == DISPATCH_DEDUP_HOPPER && ask->machine.generation < BLACKWELL);

	if (ask->dispatcher != DISPATCH_OPEN)
		return ask->dispatcher == DISPATCH_DEDUP;
	return runs && workload_may_dedup(ask->model);
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
	    .tokens_first = ask->stack->rules == RULES_MEGATRON_CORE,
	    .dtype = ask->dtype,
	    .compiled = ask->compiled,
	    .pure = ask->pure,
	    .n_stage_layers = ask->n_stage_layers,
	    .stage_layers = ask->stage_layers,
	    .recompute = ask->recompute,
	    .recompute_n = ask->recompute_n > 0 ? ask->recompute_n : 1,
	    .modules = ask->modules,
	    .away_row_byte = ask->away_row_byte,
	    .offload = ask->offload,
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

/* The optimizer reads and writes parameters and moments, and reads the gradient; beside masters it writes a 16-bit
 * copy. */
static double
optimizer_traffic(const struct memory_job *job)
{
	const double param_byte = job->scheme == STATES_PURE ? 2 : 4, copy_byte = job->scheme == STATES_MIXED ? 2 : 0;

	return 2 * param_byte + param_byte + copy_byte +
	    2 * optimizer_moments(job->optimizer) * memory_moment_byte(job);
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
	ask->away_row_byte = memory_mean_away(NULL, job);
	ask->offload = job->offload;
	ask->compiled = job->compiled;
	ask->pure = job->scheme == STATES_PURE;
	ask->optimizer_byte = optimizer_traffic(job);
	ask->dropout = job->dropout;
	ask->adapters = job->lora_rank.value > 0;
	ask->n_mtp = derived(job->n_mtp);
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
	/* gathers that nothing hides were never measured across nodes */
	if (!job->stack->dp_overlap && l->zero == 3 && job->n_gpus > job->machine.n_domain)
		return TRAIN_REFUSES_GATHER;
	for (int i = 0; i < w->n_blocks; i++) {
		const struct block *b = &w->blocks[i];
		if (fmod(datum_or(block_heads(b), 0), l->tp) != 0)
			return TRAIN_REFUSES_HEADS;
		if (fmod(datum_or(block_groups(b), 0), l->tp) != 0)
			return b->mixer == MIXER_MAMBA ? TRAIN_REFUSES_SCAN_GROUPS : TRAIN_REFUSES_DELTA_HEADS;
		if (datum_given(block_groups(b)) && l->cp > 1)
			return b->mixer == MIXER_MAMBA ? TRAIN_REFUSES_SCAN_CONTEXT : TRAIN_REFUSES_DELTA_CONTEXT;
		if (train_routes(b) &&
		    (fmod(b->moe.n_experts.value, l->ep) != 0 || fmod(job->n_gpus / l->pp, l->ep * l->etp) != 0))
			return TRAIN_REFUSES_EXPERT_LAYOUT;
	}
	if ((job->away_row_byte > 0 || job->offload) && !(job->machine.host_byte_per_s > 0))
		return TRAIN_REFUSES_HOST_LINK;
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

bool
train_may_pack(const struct stack *stack, struct datum packed_length, double n_sequences)
{
	return stack->rules != RULES_MEGATRON_CORE || !(datum_or(packed_length, 0) > 0) || n_sequences <= 1;
}

/* --- evidence ------------------------------------------------------------------------------------------------- */

static bool
shards_experts(const struct train_job *job)
{
	return job->layout.zero > 1 && job->stack->whole_experts && workload_has_experts(job->model);
}

/* A mixture's chunks may leave the loss the place of two layers. */
static bool
splits_unevenly(const struct train_job *job)
{
	const int n = (int)(job->layout.pp * job->layout.vp), layers = (int)job->model->n_layers.value;

	if (n <= 1 || layers % n == 0)
		return false;
	const int most = (int)layout_most_chunks(job->model) + workload_has_experts(job->model);
	for (int items = layers + 1; items <= most; items++)
		if (items % n == 0)
			return false;
	return true;
}

static bool
shards_gradients(const struct train_job *job)
{
	return job->layout.zero == 2 && job->stack->no_zero_2;
}

static bool
fills_bubbles(const struct train_job *job)
{
	return job->zero_bubble && job->layout.pp > 1;
}

bool
train_is_untried(const struct train_job *job)
{
	return fills_bubbles(job) || shards_gradients(job) || shards_experts(job) || splits_unevenly(job);
}

const char *
train_unproven(const struct train_job *job)
{
	if (fills_bubbles(job))
		return "no published run has a zero-bubble schedule";
	if (shards_experts(job))
		return "no published run with experts shards gradients or weights";
	if (shards_gradients(job))
		return "no published run shards gradients and keeps parameters";
	if (splits_unevenly(job))
		return "no published run has chunks of so unequal layers";
	if (job->away_row_byte > 0 && job->recompute != RECOMPUTE_OFFLOAD)
		return "no published run offloads parts of layers";
	return NULL;
}

/* --- warnings ------------------------------------------------------------------------------------------------- */

/* Conditions on a job, each with its effect on published steps. */

static const struct {
	double factor, low, high;
	bool told;
	const char *text;
} warnings[N_TRAIN_WARNINGS] = {
#define TRAIN_WARNING(id, factor, low, high, told, text) [TRAIN_WARNS_##id] = {factor, low, high, told, text},
#include "model/train/train.def"
#undef TRAIN_WARNING
};

const char *
train_warning_text(enum train_warning w)
{
	return warnings[w].text;
}

bool
train_warning_told(enum train_warning w)
{
	return warnings[w].told;
}

/* What row-wise scaling costs: published steps of eager kernels. */
static const double ROWWISE_COST = 1.4;

static bool
exposed_much(const struct train_job *job, const struct train_terms *t)
{
	double share[N_TRAIN_SHARES];

	train_shares(job, t, share);
	return share[TRAIN_TP] + share[TRAIN_CP] + share[TRAIN_EP] + share[TRAIN_PP] + share[TRAIN_DP] >
	    0.25 * t->step_s;
}

static bool
has_mixer(const struct workload *w, enum mixer_kind kind)
{
	for (int i = 0; i < w->n_blocks; i++)
		if (w->blocks[i].mixer == kind)
			return true;
	return false;
}

/* Everything that is looked at, in one row each. */
static unsigned
warned(const struct train_doubts *d, const struct train_job *job, const struct train_terms *t)
{
	const struct layout *l = &job->layout;
	const struct stack_time *s = job->stack;
	const struct block *routed = train_routed(job->model);
	const bool moe = routed != NULL;
	const double local = moe ? train_local_experts(job, routed) : 0;
	const double waits = t->sync_s + fmax(0, t->floor_s - t->device_s);
	const double work_s = job->model->n_layers.value / l->pp * (t->forward_s + t->backward_s);
	const bool many_nodes = job->n_gpus > job->machine.n_domain;
	const bool scans = has_mixer(job->model, MIXER_MAMBA), fitted = datum_given(s->hybrid_sync_s);
	const struct {
		enum train_warning which;
		bool holds;
	} rows[] = {
	    {TRAIN_WARNS_LOCAL_EXPERTS,
	        moe && local >= 16 && job->machine.n_domain <= 8 && s->moe_sync_s.value > 0 && !train_waits_alike(job)},
	    {TRAIN_WARNS_HOST, moe && waits >= 0.25 * t->layer_s},
	    {TRAIN_WARNS_ULTRA_EXPERTS, moe && d->ultra},
	    {TRAIN_WARNS_DISPATCHER, moe && l->ep > job->machine.n_domain && d->dispatcher_open},
	    {TRAIN_WARNS_RELEASE, moe && s->release.value < 202601},
	    {TRAIN_WARNS_RELEASE_OPEN, moe && !datum_given(s->release)},
	    {TRAIN_WARNS_ROWWISE, d->rowwise},
	    {TRAIN_WARNS_LONG,
	        s->elementwise.value > 1 && l->cp > 1 && job->context == CONTEXT_RING &&
	            (job->seq_length >= 65536 || l->cp >= 4)},
	    {TRAIN_WARNS_POWER, d->capped || job->machine.power_frac < 1},
	    {TRAIN_WARNS_FP4, dtype_fits(job->dtype) == DTYPE_NVFP4},
	    {TRAIN_WARNS_BUBBLE, t->bubble_s > 0.15 * t->step_s},
	    {TRAIN_WARNS_ALLOCATOR,
	        l->zero == 3 && t->n_rows <= 8192 && job->model->hidden.value >= 7168 && !many_nodes},
	    {TRAIN_WARNS_TRANSFERRED, d->transferred || job->machine.generation == VOLTA},
	    {TRAIN_WARNS_LINK, d->unmeasured && job->n_gpus > 1},
	    {TRAIN_WARNS_OLD_CLUSTER, job->machine.generation == VOLTA && d->n_nodes > 1},
	    {TRAIN_WARNS_GATHERS, l->zero == 3 && l->pp <= 1 && 2 * t->gather_s + t->scatter_s > work_s},
	    {TRAIN_WARNS_TINY, (t->layer_s < 2e-3 && !s->graphs) || t->step_s < (d->n_nodes > 1 ? 0.1 : 0.05)},
	    {TRAIN_WARNS_MICRO_BATCH, l->pp > 1 && (d->micro_batch_open || t->n_microbatches < 2 * l->pp)},
	    {TRAIN_WARNS_EXPOSED, exposed_much(job, t)},
	    {TRAIN_WARNS_PADDING,
	        s->skips_padding && job->model->kind == MODEL_ENCODER && job->seq_length > 384 &&
	            !(job->packed_length > 0)},
	    {TRAIN_WARNS_VOLTA_ENCODER,
	        job->machine.generation == VOLTA && job->model->kind == MODEL_ENCODER && job->dtype != DTYPE_FP32},
	    {TRAIN_WARNS_PRECISION, d->precision_open || d->evaluation},
	    {TRAIN_WARNS_STACK, !s->listed},
	    {TRAIN_WARNS_SCAN, scans && fitted},
	    {TRAIN_WARNS_SCAN_STACK, scans && !fitted},
	    {TRAIN_WARNS_SHARDED_EXPERTS, moe && l->zero == 3 && d->may_shard},
	    {TRAIN_WARNS_DELTA, has_mixer(job->model, MIXER_DELTA)},
	    {TRAIN_WARNS_WAITS, t->n_microbatches < l->pp},
	    {TRAIN_WARNS_HOST_ADAM, job->offload & OFFLOAD_OPTIMIZER && !job->adapters},
	};
	unsigned bits = 0;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].holds)
			bits |= 1U << rows[i].which;
	return bits;
}

/* Refuse an MFU above that of the GEMMs alone. */
static enum train_refusal
unbelievable(const struct train_terms *t)
{
	if (!(t->step_s > 0) || !(t->step_s < INFINITY))
		return TRAIN_REFUSES_UTILISATION;
	return TRAIN_ANSWERED;
}

/* Warnings, band and refusals that need the terms. */
static void
train_judge(const struct train_doubts *d, struct train_answer *a)
{
	a->refusal = unbelievable(&a->terms);
	a->warned = warned(d, &a->job, &a->terms);
	a->step_s = a->terms.step_s * (d->rowwise ? ROWWISE_COST : 1);
	for (int i = 0; i < N_TRAIN_WARNINGS; i++)
		if (a->warned & 1U << i) {
			a->band = fmax(a->band, warnings[i].factor);
			a->low = fmin(a->low, warnings[i].low);
			a->high = fmax(a->high, warnings[i].high);
		}
}

/* With a pipeline whose micro-batch was not named: the steps of all that would fill it. */
static void
other_micro_batches(struct train_answer *a, double most)
{
	struct train_job job = a->job;
	struct train_terms t;

	for (job.n_sequences = 1; job.n_sequences <= most; job.n_sequences *= 2) {
		if (job.n_sequences * job.layout.dp * 2 * job.layout.pp > job.n_global_sequences && job.n_sequences > 1)
			break;
		const double ratio = train_step(NULL, &job, &t) / a->terms.step_s;
		a->low = fmin(a->low, ratio);
		a->high = fmax(a->high, ratio);
	}
}

void
train_answer(const struct train_ask *ask, const struct train_doubts *doubts, struct train_answer *out)
{
	struct train_doubts d = *doubts;

	train_fill(ask, out);
	if (out->refusal)
		return;
	d.may_shard = ask->stack->zero_on_request;
	d.dispatcher_open |= ask->dispatcher == DISPATCH_OPEN && ask->stack->time.dispatcher == DISPATCH_PLAIN;
	train_step(NULL, &out->job, &out->terms);
	train_judge(&d, out);
	if (out->job.layout.pp > 1 && d.micro_batch_open)
		other_micro_batches(out, fmax(4, ask->n_sequences.value));
}
