/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From options to a job for the memory model: what was left open is decided and listed, what has no rule is refused. */
#include "base/text.h"
#include "cli/inputs.h"
#include "cli/memory_bind.h"
#include "cli/memory_words.h"
#include "cli/shape.h"
#include "data/stack.h"

#include <stdlib.h>
#include <string.h>

struct datum
memory_default(double value)
{
	return (struct datum){value, {inputs_default, 0, 0, NULL, false}};
}

bool
memory_refuse(struct run *r, struct source at, const char *what, const char *hint)
{
	diag_error(r->diag, at, "%s", what);
	diag_hint(r->diag, "%s", hint);
	return false;
}

/* --- the model and its layout ---------------------------------------------------------------------------- */

static bool
bind_model(struct run *r, const struct memory_question *q, struct memory_job *job)
{
	job->model = run_model(r, q->memory->model);
	if (!job->model)
		return false;
	const char *why = memory_lacks_rule(job);
	if (!why && !run_layout(r, q->layout, q->memory->gpus, job->model, &job->layout))
		return false;
	if (!why) {
		if (!datum_given(q->layout->etp))
			job->layout.etp = memory_usual_etp(job->model, &job->layout);
		if (job->layout.etp > 1 && !datum_given(q->layout->etp))
			run_assume(r, "experts split over tp (etp=%g)", job->layout.etp);
		return true;
	}
	diag_error(r->diag, q->memory->model.from, "%s: %s", job->model->id, why);
	if (job->use == STACK_INFER)
		diag_hint(r->diag, "leave --infer out to count its training");
	else if (job->model->kind != MODEL_ENCODER && job->model->kind != MODEL_VISION)
		diag_hint(r->diag, "--infer counts serving it");
	else if (datum_given(job->model->stated_params))
		diag_hint(r->diag, "count its states: ridge memory --params %g", job->model->stated_params.value);
	return false;
}

/* Global batch = micro-batch x micro-batches x replicas: any one follows from the others. */
static bool
bind_batch(struct run *r, const struct memory_in *in, struct memory_job *job)
{
	const bool given = in->batch.from.file != inputs_default;

	if (!(run_whole(r, "--batch", in->batch, 1) & run_whole(r, "--microbatches", in->microbatches, 1) &
	        run_whole(r, "--global-batch", in->global_batch, 1) & run_whole(r, "--seq", in->seq, 1)))
		return false;
	job->batch = in->batch;
	job->n_microbatches = in->microbatches;
	if (!datum_given(in->global_batch))
		return true;
	const bool steps = datum_given(in->microbatches);
	if (!given && steps) {
		job->batch = in->global_batch;
		job->batch.value = micro_batch(NULL, in->global_batch.value, job->layout.dp, in->microbatches.value);
	} else {
		job->n_microbatches = in->global_batch;
		job->n_microbatches.value =
		    accumulation_steps(NULL, in->global_batch.value, job->layout.dp, job->batch.value);
	}
	const double part = !given && steps ? job->batch.value : job->n_microbatches.value;
	if (part == floor(part) && part >= 1 && (!steps || part * in->microbatches.value > 0) &&
	    (!given || !steps || part == in->microbatches.value))
		return true;
	diag_error(r->diag, in->global_batch.from, "a global batch of %g is not dp %g x %g micro-batches of %g",
	    in->global_batch.value, job->layout.dp, job->n_microbatches.value, job->batch.value);
	diag_hint(r->diag, "leave --batch or --microbatches out, or make the product the global batch");
	return false;
}

static struct datum
usual_sequence(const struct workload *w)
{
	return memory_default(datum_given(w->context) ? fmin(4096, w->context.value) : 4096);
}

static bool
bind_sequence(struct run *r, const struct memory_in *in, struct memory_job *job)
{
	const struct workload *w = job->model;

	job->seq = datum_given(in->seq) ? in->seq : usual_sequence(w);
	if (datum_given(w->context) && job->seq.value > w->context.value)
		run_warn(r, "%g tokens are more than the model's context of %g", job->seq.value, w->context.value);
	if (fmod(job->seq.value, job->layout.cp) == 0)
		return true;
	diag_error(r->diag, job->seq.from, "%g tokens cannot be divided over cp=%g", job->seq.value, job->layout.cp);
	diag_hint(r->diag, "the nearest that can be: %g tokens",
	    job->layout.cp * fmax(1, floor(job->seq.value / job->layout.cp + 0.5)));
	return false;
}

static bool
bind_stages(struct run *r, const struct memory_question *q, struct memory_job *job)
{
	const struct words *list = &q->training->stage_layers;
	const int n_stages = (int)(job->layout.pp * job->layout.vp);
	int total = 0;

	if (list->n == 0) {
		if (n_stages <= (int)job->model->n_layers.value)
			return true;
		diag_error(r->diag, q->layout->vp.from, "pp x vp = %d chunks are more than the model's %g layers",
		    n_stages, job->model->n_layers.value);
		diag_hint(r->diag, "the nearest that has one each is vp=%g",
		    fmax(1, floor(job->model->n_layers.value / job->layout.pp)));
		return false;
	}
	if (!memory_stages(r, list, &job->stage_layers, &job->n_stage_layers))
		return false;
	for (int i = 0; i < job->n_stage_layers; i++)
		total += job->stage_layers[i];
	if (job->n_stage_layers == n_stages && total == (int)job->model->n_layers.value)
		return true;
	diag_error(r->diag, list->list[0].from, "--stage-layers has %d stages with %d layers, not %d with %g",
	    job->n_stage_layers, total, n_stages, job->model->n_layers.value);
	diag_hint(r->diag, "leave it out for an even split");
	return false;
}

/* --- the stack ------------------------------------------------------------------------------------------- */

/* What people run such a job with. */
static const char *
usual_stack(const struct memory_job *job)
{
	if (job->use == STACK_INFER)
		return "vllm";
	if (job->lora_rank.value > 0)
		return job->layout.zero > 0 ? "torchtune" : "hf-peft";
	if (job->layout.zero == 3)
		return "torchtitan";
	return job->layout.zero == 2 ? "hf-deepspeed" : "megatron-core";
}

static bool
bind_stack(struct run *r, const struct memory_in *in, struct memory_job *job)
{
	struct word name = in->stack;
	const char *said;

	if (!name.text) {
		name = (struct word){usual_stack(job), {inputs_default, 0, 0, NULL, false}};
		run_assume(r, "stack %s", name.text);
	}
	job->stack = database_stack(r->database, r->arena, r->diag, name.text,
	    inputs_overlay(r->arena, r->command, r->inputs, "stack"), name.from, &said);
	if (!job->stack)
		return false;
	if (said)
		run_assume(r, "%s", said);
	if (job->stack->use == job->use)
		return true;
	diag_error(
	    r->diag, name.from, "%s is for %s", job->stack->id, job->use == STACK_TRAIN ? "serving" : "training");
	diag_hint(r->diag,
	    job->use == STACK_TRAIN ? "say --infer, or --stack %s" : "leave --infer out, or say --stack %s",
	    usual_stack(job));
	return false;
}

/* What a layout asks for and the framework has not. */
static bool
check_parallel(struct run *r, const struct memory_question *q, const struct memory_job *job)
{
	const struct stack *s = job->stack;
	const struct layout *l = &job->layout;
	const bool train = job->use == STACK_TRAIN;
	const struct {
		bool wanted, has;
		const char *name, *instead;
		struct datum given;
	} forms[] = {
	    {l->tp > 1, s->tensor, "tensor parallelism", train ? "megatron-core or torchtitan" : "vllm", q->layout->tp},
	    {l->pp > 1, s->pipeline, "pipeline parallelism", train ? "megatron-core or torchtitan" : "vllm",
	        q->layout->pp},
	    {l->cp > 1, s->context, "context parallelism", "megatron-core or torchtitan", q->layout->cp},
	    {l->ep > 1, s->expert, "expert parallelism", train ? "megatron-core" : "vllm", q->layout->ep},
	    {l->sp && l->tp > 1, s->sequence, "sequence parallelism", "megatron-core or torchtitan", q->layout->tp}};

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (forms[i].wanted && !forms[i].has) {
			diag_error(r->diag, forms[i].given.from, "the stack %s has no %s", s->id, forms[i].name);
			if (train || strcmp(forms[i].instead, "megatron-core or torchtitan") != 0)
				diag_hint(r->diag, "use --stack %s", forms[i].instead);
			else
				diag_hint(r->diag, "engines divide models by tp, pp and ep");
			return false;
		}
	if (train && l->zero == 3 && l->pp > 1)
		run_warn(r,
		    "published peaks of fully sharded pipelines lie 10 to 20 %% above these rules, more with context "
		    "parallelism");
	if (train && l->zero == 3 && datum_given(s->live_byte) && job->lora_rank.value > 0)
		run_warn(r,
		    "published peaks of adapters on weights that DeepSpeed shards lie up to 20 %% above these rules");
	if (train && l->zero > (int)datum_or(s->max_zero, 0)) {
		diag_error(r->diag, q->layout->zero.from, "the stack %s has no rule for ZeRO stage %d, only up to %g",
		    s->id, l->zero, datum_or(s->max_zero, 0));
		diag_hint(
		    r->diag, l->tp * l->pp > 1 ? "use --stack torchtitan" : "use --stack torchtitan or hf-deepspeed");
		return false;
	}
	return true;
}

/* --- what a peak is compared with ------------------------------------------------------------------------ */

/* The one that was asked for, else the widest that is known: that is what must fit. */
static int
choose_counter(const struct memory_in *in, const struct stack *stack, const char *const *names)
{
	for (int i = N_COUNTERS - 1; i > 0; i--)
		if (in->counter.text ? strcmp(in->counter.text, names[i]) == 0 : datum_given(stack->counter_byte[i]))
			return i;
	return 0;
}

static bool
bind_counter(struct run *r, const struct memory_in *in, struct memory_job *job)
{
	static const char *const names[N_COUNTERS] = {"allocated", "reserved", "device"};
	const int counter = choose_counter(in, job->stack, names);

	job->context_byte = job->stack->counter_byte[counter];
	if (datum_given(job->context_byte)) {
		if (!in->counter.text)
			run_assume(r, "counter %s", names[counter]);
		return true;
	}
	diag_error(r->diag, in->counter.from, "it is not known what '%s' shows in the stack %s", names[counter],
	    job->stack->id);
	for (int i = 0; i < N_COUNTERS; i++)
		if (datum_given(job->stack->counter_byte[i]))
			diag_hint(r->diag, "--counter %s is known", names[i]);
	return false;
}

bool
run_memory_job(struct run *r, const struct memory_question *q, struct memory_job *job, const struct gpu **gpu)
{
	const struct memory_in *in = q->memory;

	*job = (struct memory_job){.use = in->infer || strcmp(in->use.text, "infer") == 0 ? STACK_INFER : STACK_TRAIN,
	    .recompute_n = 1,
	    .lora_rank = q->training->lora_rank,
	    .headroom_frac = in->headroom,
	    .gradient_byte = datum_absent()};
	if (!run_whole(r, "--lora-rank", in->infer ? datum_absent() : job->lora_rank, 1))
		return false;
	if (job->use == STACK_INFER || !datum_given(job->lora_rank))
		job->lora_rank = memory_default(0);
	if (!bind_model(r, q, job) || !bind_batch(r, in, job) || !bind_sequence(r, in, job) ||
	    !bind_stages(r, q, job) || !run_card(r, in, &job->card_byte, gpu) || !bind_stack(r, in, job) ||
	    !check_parallel(r, q, job) || !memory_bind_precision(r, q, *gpu, job) || !bind_counter(r, in, job))
		return false;
	if (job->use == STACK_INFER)
		return memory_bind_serving(r, q, job);
	return memory_bind_training(r, q->training, job);
}

const char *
memory_kind(const struct memory_job *job)
{
	return job->use == STACK_INFER ? "memory-infer" : "memory-train";
}
