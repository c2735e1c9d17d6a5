/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Largest batch and sequence that fit, and the fewest GPUs. */
#include "search/plan/plan.h"

#include <stdio.h>

static bool
fits(const struct memory_job *job)
{
	return memory_verdict(job, memory_peak(NULL, job, NULL)) == FITS;
}

double
fit_gpus(const struct layout *l)
{
	return l->dp * l->tp * l->pp * l->cp;
}

/* Text of a layout: degrees above 1, and everything that differs from the defaults. */
void
fit_layout_text(const struct memory_job *job, char *buf, size_t size)
{
	const struct layout *l = &job->layout;
	const bool trains = job->use == STACK_TRAIN;
	const double replicas = l->dp * l->cp;
	const int usual_zero = trains ? layout_usual_zero(job->stack, job->lora_rank.value > 0, replicas) : 0;
	const bool usual_sp = trains && layout_usual_sp(job->stack, l->tp);
	const double usual_vp = trains ? layout_usual_chunks(job->stack, job->model, l->pp) : 1;
	const struct {
		bool told;
		const char *name;
		double degree; /* NaN: a word alone */
	} parts[] = {
	    {l->dp > 1, "dp", l->dp},
	    {l->tp > 1, "tp", l->tp},
	    {l->pp > 1, "pp", l->pp},
	    {l->vp > 1 || usual_vp > 1, "vp", l->vp},
	    {l->cp > 1, "cp", l->cp},
	    {l->ep > 1, "ep", l->ep},
	    {trains && l->etp != layout_usual_etp(job->model, l), "etp", l->etp},
	    {l->zero > 0 || usual_zero > 0, "zero", l->zero},
	    {l->zero > 0 && layout_shard_ranks(l) < replicas, "shard", l->shard},
	    {l->sp, "sp", NAN},
	    {l->adp && l->tp > 1, "adp", NAN},
	    {usual_sp && !l->sp, "no_sp", NAN},
	    /* the word that more than the smallest node's GPUs need to be accepted again */
	    {l->tp > 8, "across", NAN},
	};
	size_t n = 0;

	snprintf(buf, size, trains ? "dp=1" : "tp=1");
	for (size_t i = 0; i < sizeof parts / sizeof *parts && n < size; i++) {
		if (!parts[i].told)
			continue;
		n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? "," : "", parts[i].name);
		if (!isnan(parts[i].degree) && n < size)
			n += (size_t)snprintf(buf + n, size - n, "=%g", parts[i].degree);
	}
}

/* --- the largest ----------------------------------------------------------------------------------------- */

/* Largest k in 1 .. most that holds, or 0.  The condition is monotonic in k. */
static double
largest(bool (*holds)(const void *context, double k), const void *context, long most)
{
	long low = 0, high = 1;

	while (high <= most && holds(context, (double)high)) {
		low = high;
		high *= 2;
	}
	while (high - low > 1) {
		const long middle = low + (high - low) / 2;
		*(holds(context, (double)middle) ? &low : &high) = middle;
	}
	return (double)low;
}

static bool
batch_fits(const void *context, double k)
{
	struct memory_job job = *(const struct memory_job *)context;

	job.batch.value = k;
	return fits(&job);
}

double
fit_largest_batch(const struct memory_job *job)
{
	return largest(batch_fits, job, 1 << 20);
}

/* Sequences are tried in multiples of 128 tokens per context-parallel rank. */
static double
sequence_step(const struct memory_job *job)
{
	return 128 * job->layout.cp;
}

static bool
sequence_fits(const void *context, double k)
{
	struct memory_job job = *(const struct memory_job *)context;

	job.seq.value = k * sequence_step(&job);
	return fits(&job);
}

double
fit_longest_sequence(const struct memory_job *job)
{
	return sequence_step(job) * largest(sequence_fits, job, 1 << 18);
}

/* --- the fewest GPUs ------------------------------------------------------------------------------------- */

bool
fit_divides_heads(const struct workload *w, double tp)
{
	for (int i = 0; i < w->n_blocks; i++) {
		const struct datum heads = block_heads(&w->blocks[i]), groups = block_groups(&w->blocks[i]);
		if (datum_given(heads) &&
		    (fmod(heads.value, tp) != 0 || !layout_deals_heads(&w->blocks[i].attention, tp)))
			return false;
		if (datum_given(groups) && fmod(groups.value, tp) != 0)
			return false;
	}
	return true;
}

double
fit_experts(const struct workload *w)
{
	double n = 0;

	for (int i = 0; i < w->n_blocks; i++)
		if (w->blocks[i].moe.given)
			n = fmax(n, w->blocks[i].moe.n_experts.value);
	return n;
}

/* Experts spread over as many ranks as there are: the largest power of two that divides both. */
static double
widest_experts(const struct memory_job *job, const struct layout *l)
{
	const double experts = fit_experts(job->model), ranks = l->dp * l->cp * l->tp / l->etp;
	double ep = 1;

	if (!job->stack->expert)
		return 1;
	while (fmod(experts, 2 * ep) == 0 && fmod(ranks, 2 * ep) == 0 && 2 * ep <= experts)
		ep *= 2;
	return ep;
}

/* Keep following the framework's defaults where the layout did before. */
static void
set_layout(struct memory_job *job, double n, double tp, double pp)
{
	struct layout *l = &job->layout;
	const bool adapters = job->lora_rank.value > 0;
	const bool usual_zero = l->zero == layout_usual_zero(job->stack, adapters, l->dp * l->cp);

	if (pp != l->pp) {
		job->n_stage_layers = 0;
		l->vp = job->use == STACK_INFER || job->gpipe ? 1 : layout_usual_chunks(job->stack, job->model, pp);
	}
	l->sp = job->use == STACK_TRAIN && !job->no_sp && layout_usual_sp(job->stack, tp);
	l->tp = tp;
	l->pp = pp;
	l->dp = n / (tp * pp * l->cp);
	l->etp = 1;
	l->shard = l->dp * l->cp;
	if (job->use == STACK_TRAIN && usual_zero)
		l->zero = layout_usual_zero(job->stack, adapters, l->dp * l->cp);
	l->ep = fit_experts(job->model) > 0 ? widest_experts(job, l) : 1;
	l->etp = layout_usual_etp(job->model, l);
}

bool
fit_settle(struct memory_job *job)
{
	struct batch_said settled;

	if (job->use == STACK_INFER)
		return true;
	if (!batch_settle(&job->said, job->seq.value, &job->layout, &settled))
		return false;
	const struct loss *loss = job->loss_said ? NULL : memory_usual_loss(job);
	if (loss)
		job->loss = loss;
	job->batch.value = settled.n_sequences;
	job->n_microbatches.value = settled.n_microbatches;
	return true;
}

bool
fit_may_train(const struct memory_job *job)
{
	const bool alone = job->stack->rules == RULES_MEGATRON_CORE && job->stack->sequence && !job->layout.sp;

	if (!memory_optimizer_holds(job, &job->layout))
		return false;
	return job->use == STACK_INFER ||
	    (fmod(job->seq.value, layout_sequence_unit(job->stack, job->model, &job->layout)) == 0 &&
	        !(alone && job->layout.tp > 1 && fit_experts(job->model) > 0));
}

static bool
may_split(const struct memory_job *job, int tp, int pp)
{
	return (tp == 1 || job->stack->tensor) && fit_divides_heads(job->model, tp) &&
	    (pp == 1 || (job->stack->pipeline && layout_splits_evenly(job->stack, job->model, pp))) &&
	    pp <= (int)job->model->n_layers.value;
}

/* Among layouts of n GPUs the one with the fewest model-parallel ranks, tensor parallel before pipeline. */
static bool
fits_gpus(const struct memory_job *job, int n, int n_node, struct memory_fix *out)
{
	const int cp = (int)job->layout.cp, most = n_node * (int)job->model->n_layers.value;

	for (int ranks = job->use == STACK_INFER ? n : 1; ranks <= n && ranks <= most; ranks++)
		for (int tp = n_node; tp >= 1 && n % (ranks * cp) == 0; tp--) {
			struct memory_job trial = *job;
			const int pp = ranks / tp;
			if (ranks % tp != 0 || !may_split(job, tp, pp))
				continue;
			set_layout(&trial, n, tp, pp);
			if (!fit_settle(&trial) || !fit_may_train(&trial) || !fits(&trial))
				continue;
			out->job = trial;
			out->n_gpus = n;
			out->need_byte = memory_peak(NULL, &trial, NULL);
			out->verdict = FITS;
			fit_layout_text(&trial, out->change, sizeof out->change);
			return true;
		}
	return false;
}

/* Nothing divides the states further than over all GPUs. */
static double
states_of_one(const struct memory_job *job)
{
	struct memory_job whole = *job;
	struct memory_use use;

	set_layout(&whole, 1 * job->layout.cp, 1, 1);
	whole.n_stage_layers = 0;
	whole.layout.shard = 1;
	memory_at(NULL, &whole, 0, job->use == STACK_INFER ? MOMENT_SERVING : MOMENT_BACKWARD, &use);
	return use.weights + use.gradients + use.optimizer;
}

bool
fit_fewest_gpus(const struct memory_job *job, double n_node, struct memory_fix *out)
{
	const double states = states_of_one(job), limit = memory_limit(NULL, job);

	/* replicas are powers of two of GPUs */
	const bool doubles = job->use == STACK_INFER;

	for (int n = 1; n <= 16384; n = doubles ? 2 * n : n < 8 ? n + 1 : n < 64 ? n + 8 : 2 * n)
		if (states <= n * limit && fits_gpus(job, n, (int)n_node, out))
			return true;
	return false;
}

/* --- bare numbers ---------------------------------------------------------------------------------------- */

/* Bare numbers, and what they must stay below. */
struct bound {
	const struct memory_numbers *numbers;
	double limit_byte;
};

static bool
numbers_fit(const void *context, double batch)
{
	const struct bound *bound = context;
	struct memory_numbers trial = *bound->numbers;

	trial.batch.value = batch;
	return numbers_total(NULL, &trial) <= bound->limit_byte;
}

double
numbers_largest_batch(const struct memory_numbers *in, double limit_byte)
{
	return largest(numbers_fit, &(struct bound){in, limit_byte}, 1 << 20);
}

double
numbers_fewest_gpus(const struct memory_numbers *in, double limit_byte)
{
	struct memory_numbers trial = *in;

	for (int n = 1; n <= 65536; n = n < 1024 ? n + 1 : 2 * n) {
		trial.n_ranks = n;
		if (numbers_total(NULL, &trial) <= limit_byte)
			return n;
	}
	return 0;
}
