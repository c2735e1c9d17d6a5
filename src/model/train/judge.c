/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predictions with larger errors: conditions on a job, each with its effect on published steps. */
#include "model/train/train.h"

#include "model/train/parts.h"

static const struct {
	double factor, low, high;
	bool told;
	const char *text;
} warnings[N_TRAIN_WARNINGS] = {
#define TRAIN_WARNING(id, factor, low, high, told, text) [TRAIN_WARNS_##id] = {factor, low, high, told, text},
#include "model/train/train_rules.def"
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

enum { VOLTA = 0, BLACKWELL = 3 };

static bool
exposed_much(const struct train_job *job, const struct train_terms *t)
{
	double share[N_TRAIN_SHARES];

	train_shares(job, t, share);
	return share[TRAIN_TP] + share[TRAIN_CP] + share[TRAIN_EP] + share[TRAIN_PP] + share[TRAIN_DP] >
	    0.25 * t->step_s;
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
	const struct {
		enum train_warning which;
		bool holds;
	} rows[] = {
	    {TRAIN_WARNS_LOCAL_EXPERTS, moe && local >= 16 && job->machine.n_domain <= 8 && s->moe_sync_s.value > 0},
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
	    {TRAIN_WARNS_OLD_CLUSTER, job->machine.generation == VOLTA && d->n_nodes > 1},
	    {TRAIN_WARNS_GATHERS, l->zero == 3 && l->pp <= 1 && 2 * t->gather_s + t->scatter_s > work_s},
	    {TRAIN_WARNS_TINY, (t->layer_s < 2e-3 && !s->graphs) || t->step_s < 0.05},
	    {TRAIN_WARNS_MICRO_BATCH, l->pp > 1 && (d->micro_batch_open || t->n_microbatches < 2 * l->pp)},
	    {TRAIN_WARNS_EXPOSED, exposed_much(job, t)},
	    {TRAIN_WARNS_PADDING,
	        s->skips_padding && job->model->kind == MODEL_ENCODER && job->seq_length > 384 &&
	            !(job->packed_length > 0)},
	    {TRAIN_WARNS_VOLTA_ENCODER,
	        job->machine.generation == VOLTA && job->model->kind == MODEL_ENCODER && job->dtype != DTYPE_FP32},
	    {TRAIN_WARNS_PRECISION, d->precision_open || d->evaluation},
	    {TRAIN_WARNS_STACK, !s->listed},
	    {TRAIN_WARNS_WAITS, t->n_microbatches < l->pp},
	};
	unsigned bits = 0;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].holds)
			bits |= 1U << rows[i].which;
	return bits;
}

/* Refuse an MFU above that of the GEMMs alone, and exposed gathers that were never measured. */
static enum train_refusal
unbelievable(const struct train_job *job, const struct train_terms *t)
{
	if (!job->stack->dp_overlap && job->layout.zero == 3 && job->n_gpus > job->machine.n_domain)
		return TRAIN_REFUSES_GATHER;
	if (!(t->step_s > 0) || !(t->step_s < INFINITY))
		return TRAIN_REFUSES_UTILISATION;
	return TRAIN_ANSWERED;
}

void
train_judge(const struct train_doubts *d, struct train_answer *a)
{
	a->refusal = unbelievable(&a->job, &a->terms);
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
	d.dispatcher_open |= ask->dispatcher == DISPATCH_OPEN && ask->stack->time.dispatcher != DISPATCH_DEDUP;
	train_step(NULL, &out->job, &out->terms);
	train_judge(&d, out);
	if (out->job.layout.pp > 1 && d.micro_batch_open)
		other_micro_batches(out, fmax(4, ask->n_sequences.value));
}
