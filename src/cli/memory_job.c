/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From options to a job for the memory model: what was left open is decided and listed, what has no rule is refused. */
#include "base/text.h"
#include "cli/inputs.h"
#include "cli/memory_in.h"
#include "cli/memory_words.h"
#include "cli/shape.h"
#include "data/stack.h"

#include <stdlib.h>
#include <string.h>

static struct datum
by_default(double value)
{
	return (struct datum){value, {inputs_default, 0, 0, NULL, false}};
}

static bool
refuse(struct run *r, struct source at, const char *what, const char *hint)
{
	diag_error(r->diag, at, "%s", what);
	diag_hint(r->diag, "%s", hint);
	return false;
}

/* --- the model and its layout ------------------------------------------------------------------------------------------- */

static bool
bind_model(struct run *r, const struct memory_question *q, struct memory_job *job)
{
	job->model = run_model(r, q->memory->model);
	if (!job->model)
		return false;
	if (job->model->kind != MODEL_OPERATORS)
		return run_layout(r, q->layout, q->memory->gpus, job->model, &job->layout);
	diag_error(r->diag, q->memory->model.from, "%s is a list of operators: memory is counted for transformers", job->model->id);
	if (datum_given(job->model->stated_params))
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
		job->n_microbatches.value = accumulation_steps(NULL, in->global_batch.value, job->layout.dp, job->batch.value);
	}
	const double part = !given && steps ? job->batch.value : job->n_microbatches.value;
	if (part == floor(part) && part >= 1 && (!steps || part * in->microbatches.value > 0) &&
	    (!given || !steps || part == in->microbatches.value))
		return true;
	diag_error(r->diag, in->global_batch.from, "a global batch of %g is not dp %g x %g micro-batches of %g", in->global_batch.value,
	    job->layout.dp, job->n_microbatches.value, job->batch.value);
	diag_hint(r->diag, "leave --batch or --microbatches out, or make the product the global batch");
	return false;
}

static struct datum
usual_sequence(const struct workload *w)
{
	return by_default(datum_given(w->context) ? fmin(4096, w->context.value) : 4096);
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
	diag_hint(r->diag, "the nearest that can be: %g tokens", job->layout.cp * fmax(1, floor(job->seq.value / job->layout.cp + 0.5)));
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
		diag_error(r->diag, q->layout->vp.from, "pp x vp = %d chunks are more than the model's %g layers", n_stages,
		    job->model->n_layers.value);
		diag_hint(r->diag, "the nearest that has one each is vp=%g", fmax(1, floor(job->model->n_layers.value / job->layout.pp)));
		return false;
	}
	if (!memory_stages(r, list, &job->stage_layers, &job->n_stage_layers))
		return false;
	for (int i = 0; i < job->n_stage_layers; i++)
		total += job->stage_layers[i];
	if (job->n_stage_layers == n_stages && total == (int)job->model->n_layers.value)
		return true;
	diag_error(r->diag, list->list[0].from, "--stage-layers has %d stages with %d layers, not %d with %g", job->n_stage_layers, total,
	    n_stages, job->model->n_layers.value);
	diag_hint(r->diag, "leave it out for an even split");
	return false;
}

/* --- the stack ----------------------------------------------------------------------------------------------------------- */

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
	diag_error(r->diag, name.from, "%s is for %s", job->stack->id, job->use == STACK_TRAIN ? "serving" : "training");
	diag_hint(r->diag, job->use == STACK_TRAIN ? "say --infer, or --stack %s" : "leave --infer out, or say --stack %s",
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
	} forms[] = {{l->tp > 1, s->tensor, "tensor parallelism", train ? "megatron-core or torchtitan" : "vllm", q->layout->tp},
	    {l->pp > 1, s->pipeline, "pipeline parallelism", train ? "megatron-core or torchtitan" : "vllm", q->layout->pp},
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
	if (train && l->zero > (int)datum_or(s->max_zero, 0)) {
		diag_error(r->diag, q->layout->zero.from, "the stack %s has no rule for ZeRO stage %d, only up to %g", s->id, l->zero,
		    datum_or(s->max_zero, 0));
		diag_hint(r->diag, l->tp * l->pp > 1 ? "use --stack torchtitan" : "use --stack torchtitan or hf-deepspeed");
		return false;
	}
	return true;
}

/* --- precision --------------------------------------------------------------------------------------------------------------- */

/* Blackwell reads per-tensor fp8 operands in either order; Hopper needs a transposed copy of each weight. */
static double
copies_of(const struct gpu *gpu, enum dtype dtype)
{
	const double capability = gpu && gpu->compute_capability ? strtod(gpu->compute_capability, NULL) : 9;

	return dtype == DTYPE_FP8 && capability >= 10 ? 1 : 2;
}

static bool
bind_precision(struct run *r, const struct memory_question *q, const struct gpu *gpu, struct memory_job *job)
{
	const struct word asked = q->memory->dtype;
	struct datum ignored;

	job->dtype = dtype_find(run_word(r, "dtype", asked));
	if (gpu && gpu->lacks[dtype_peak(job->dtype)])
		return run_peak(r, gpu, job->dtype, asked, &ignored);
	job->weight_copies = copies_of(gpu, job->dtype);
	job->quant = memory_quant(q->training->quant.text);
	if (job->use == STACK_INFER) {
		if (job->quant == QUANT_NONE && dtype_byte(job->dtype) < 2)
			job->quant = job->dtype == DTYPE_NVFP4 ? QUANT_NVFP4 : QUANT_FP8;
		if (dtype_byte(job->dtype) < 2)
			job->dtype = DTYPE_BF16;
		return true;
	}
	job->quantised_parameters = q->training->fp8_params;
	if (job->quantised_parameters && (dtype_byte(job->dtype) >= 2 || job->dtype == DTYPE_NVFP4))
		return refuse(r, asked.from, "quantised parameters need --dtype fp8 or mxfp8", "leave --fp8-params out");
	if (job->quant != QUANT_NONE && !(job->lora_rank.value > 0))
		return refuse(r, q->training->quant.from, "quantised weights cannot be trained", "freeze them: --lora-rank 16");
	if (job->quant != QUANT_NONE && !job->stack->quantised_base)
		return refuse(r, q->training->quant.from, "this stack trains no adapters on a quantised base",
		    "use --stack hf-peft, torchtune or litgpt");
	return true;
}

static bool
bind_states(struct run *r, const struct training_in *in, struct memory_job *job)
{
	if (in->states.text)
		job->scheme = memory_scheme(in->states.text);
	else
		job->scheme = job->stack->scheme;
	if (in->grad_dtype.text) {
		job->gradient_byte = by_default(dtype_byte(dtype_find(in->grad_dtype.text)));
		job->gradient_byte.from = in->grad_dtype.from;
	}
	memory_optimizer(run_word(r, "optimizer", in->optimizer), &job->optimizer);
	job->optimizer_in_backward = in->optimizer_in_backward;
	if (!memory_offload(r, &in->offload, &job->offload))
		return false;
	if (job->offload & OFFLOAD_ACTIVATIONS && job->recompute != RECOMPUTE_FULL && job->recompute != RECOMPUTE_UNIFORM)
		return refuse(r, in->offload.list[0].from, "only checkpoints are moved to the host", "add --recompute full");
	if (job->optimizer_in_backward && (job->layout.zero > 0 || job->layout.pp > 1))
		return refuse(r, (struct source){0}, "an optimizer inside the backward pass has no rule with ZeRO or a pipeline",
		    "leave --optimizer-in-backward out");
	return true;
}

/* --- activations -------------------------------------------------------------------------------------------------------------- */

static bool
is_on(struct word word, bool usual)
{
	return word.text ? strcmp(word.text, "on") == 0 : usual;
}

static const char *
usual_loss(const struct stack *s, const struct memory_job *job)
{
	if (job->layout.tp > 1 && s->loss_parallel)
		return s->loss_parallel;
	return job->compiled && s->loss_compiled ? s->loss_compiled : s->loss;
}

static bool
bind_loss(struct run *r, const struct training_in *in, struct memory_job *job)
{
	const struct stack *s = job->stack;
	const char *wanted = in->loss.text ? in->loss.text : usual_loss(s, job);
	const char *names[32];
	size_t n = 0;

	for (int i = 0; i < s->n_losses; i++) {
		if (strcmp(s->losses[i].name, wanted) == 0)
			job->loss = &s->losses[i];
		if (n < 32)
			names[n++] = s->losses[i].name;
	}
	if (job->loss) {
		if (!in->loss.text && s->n_losses > 1)
			run_assume(r, "loss %s", wanted);
		return true;
	}
	diag_error(r->diag, in->loss.from, "the stack %s has no loss '%s'", s->id, wanted);
	const char *near = text_nearest(wanted, names, n);
	char list[200] = "";
	for (size_t i = 0; i < n && strlen(list) + strlen(names[i]) + 2 < sizeof list; i++)
		strcat(strcat(list, " "), names[i]);
	diag_hint(r->diag, near ? "did you mean '%s'?" : "it has%s", near ? near : list);
	return false;
}

static bool
check_policy(struct run *r, const struct training_in *in, const struct memory_job *job)
{
	const struct source at = in->recompute.n ? in->recompute.list[0].from : (struct source){0};
	const bool megatron = job->stack->rules == RULES_MEGATRON_CORE;

	if (job->recompute == RECOMPUTE_MODULES && !megatron && job->modules != 1u << MODULE_CORE_ATTN)
		return refuse(r, at, "only Megatron-Core computes single modules of a layer again",
		    "use --stack megatron-core, or --recompute selective or full");
	if (job->recompute == RECOMPUTE_OP && strcmp(job->stack->id, "torchtitan") != 0 && !datum_given(job->stack->eager_policy_byte))
		return refuse(r, at, "the per-operator policy is torchtitan's", "use --stack torchtitan, or --recompute full");
	for (int i = 0; job->recompute == RECOMPUTE_OP && i < job->model->n_blocks; i++)
		if (job->model->blocks[i].moe.given || job->model->blocks[i].attention.kind == ATTENTION_MLA)
			return refuse(r, at, "the per-operator policy has no rule for experts or latent attention", "use --recompute full");
	return true;
}

static bool
bind_activations(struct run *r, const struct training_in *in, struct memory_job *job)
{
	const struct stack *s = job->stack;

	if (!memory_recompute(r, &in->recompute, &job->recompute, &job->recompute_n, &job->modules))
		return false;
	if (job->recompute == RECOMPUTE_UNIFORM && job->recompute_n == 0)
		job->recompute_n = floor(sqrt(job->model->n_layers.value) + 0.5);
	job->flash = in->attention.text ? strcmp(in->attention.text, "flash") == 0 : s->flash;
	job->dropout = is_on(in->dropout, s->dropout);
	job->compiled = in->compile;
	job->imbalance = in->imbalance;
	job->cp_all_to_all = strcmp(in->cp_comm.text, "a2a") == 0;
	job->gpipe = strcmp(in->schedule.text, "gpipe") == 0;
	if (job->imbalance.value < 1)
		return refuse(r, in->imbalance.from, "the busiest rank has at least the mean", "--imbalance is 1 or more");
	if (job->gpipe && job->layout.pp > 1 && !datum_given(job->n_microbatches))
		return refuse(r, in->schedule.from, "GPipe keeps every micro-batch: how many are there?", "add --microbatches");
	if (job->gpipe && job->layout.vp > 1)
		return refuse(r, in->schedule.from, "GPipe has no chunks", "leave vp out, or use --schedule 1f1b");
	if (job->dropout && s->rules == RULES_MEGATRON_CORE)
		return refuse(r, in->dropout.from, "the tensors of Megatron-Core were listed without dropout", "use --stack megatron-lm");
	if (!job->flash && job->layout.cp > 1)
		return refuse(r, in->attention.from, "context parallelism needs a flash kernel", "leave --attention unfused out");
	return check_policy(r, in, job) && bind_loss(r, in, job);
}

/* --- adapters --------------------------------------------------------------------------------------------------------------- */

static bool
bind_adapters(struct run *r, const struct training_in *in, struct memory_job *job)
{
	const struct source at = in->lora_rank.from;

	if (!(job->lora_rank.value > 0))
		return true;
	if (!job->stack->lora)
		return refuse(r, at, "this stack has no rule for adapters", "use --stack hf-peft, torchtune or litgpt");
	for (int i = 0; i < job->model->n_blocks; i++)
		if (job->model->blocks[i].moe.given || job->model->blocks[i].attention.kind == ATTENTION_MLA)
			return refuse(r, at, "adapters have no rule for experts or latent attention",
			    "count the full training of this model, or adapters of a dense one");
	job->adapter_dropout = is_on(in->lora_dropout, job->stack->adapter_dropout);
	return memory_targets(r, &in->lora_targets, &job->targets);
}

/* --- serving ----------------------------------------------------------------------------------------------------------------- */

static bool
bind_serving(struct run *r, const struct memory_question *q, struct memory_job *job)
{
	const struct serving_in *in = q->serving;
	const char *kv = in->kv_dtype.text;

	if (job->model->kind != MODEL_DECODER)
		return refuse(r, q->memory->model.from, "only decoders keep a cache from step to step", "leave --infer out");
	if (!(run_whole(r, "--block", in->block, 1) & run_whole(r, "--batch-tokens", in->batch_tokens, 1)))
		return false;
	job->kv_elem_byte = kv ? dtype_byte(dtype_find(kv)) : dtype_byte(job->dtype);
	job->block_token = datum_given(in->block) ? in->block : job->stack->block_token;
	job->batch_token = datum_given(in->batch_tokens) ? in->batch_tokens : job->stack->batch_token;
	job->utilization = datum_given(in->utilization) ? in->utilization : job->stack->utilization;
	if (datum_given(in->utilization) && (in->utilization.value > 1 || !(in->utilization.value > 0)))
		return refuse(r, in->utilization.from, "--utilization is a part of the card", "write 0.9 or 90%");
	if (datum_given(in->utilization) && job->stack->pool == POOL_NONE)
		return refuse(r, in->utilization.from, "this engine takes no share of the card", "use --headroom");
	return true;
}

/* --- what a peak is compared with ---------------------------------------------------------------------------------------------- */

static bool
bind_counter(struct run *r, const struct memory_in *in, struct memory_job *job)
{
	static const char *const names[N_COUNTERS] = {"allocated", "reserved", "device"};
	int counter = N_COUNTERS - 1;

	if (in->counter.text)
		while (strcmp(in->counter.text, names[counter]) != 0)
			counter--;
	else
		while (!datum_given(job->stack->counter_byte[counter]))
			counter--;
	job->context_byte = job->stack->counter_byte[counter];
	if (datum_given(job->context_byte)) {
		if (!in->counter.text)
			run_assume(r, "counter %s", names[counter]);
		return true;
	}
	diag_error(r->diag, in->counter.from, "it is not known what '%s' shows in the stack %s", names[counter], job->stack->id);
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
	    .recompute_n = 1, .lora_rank = q->training->lora_rank, .headroom_frac = in->headroom, .gradient_byte = datum_absent()};
	if (!run_whole(r, "--lora-rank", in->infer ? datum_absent() : job->lora_rank, 1))
		return false;
	if (job->use == STACK_INFER || !datum_given(job->lora_rank))
		job->lora_rank = by_default(0);
	if (!bind_model(r, q, job) || !bind_batch(r, in, job) || !bind_sequence(r, in, job) || !bind_stages(r, q, job) ||
	    !run_card(r, in, &job->card_byte, gpu) || !bind_stack(r, in, job) || !check_parallel(r, q, job) ||
	    !bind_precision(r, q, *gpu, job) || !bind_counter(r, in, job))
		return false;
	if (job->use == STACK_INFER)
		return bind_serving(r, q, job);
	return bind_activations(r, q->training, job) && bind_states(r, q->training, job) && bind_adapters(r, q->training, job);
}
