/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a job computes and what it saves: precision, states, activations, adapters, the engine. */
#include "base/text.h"
#include "cli/inputs.h"
#include "cli/memory_bind.h"
#include "cli/memory_words.h"
#include "cli/shape.h"

#include <stdlib.h>
#include <string.h>

/* --- precision ------------------------------------------------------------------------------------------- */

/* Blackwell reads per-tensor fp8 operands in either order; Hopper needs a transposed copy of each weight. */
static double
copies_of(const struct gpu *gpu, enum dtype dtype)
{
	const double capability = gpu && gpu->compute_capability ? strtod(gpu->compute_capability, NULL) : 9;

	return dtype == DTYPE_FP8 && capability >= 10 ? 1 : 2;
}

/* The format of served weights with this type; 16 bits where there is none. */
static enum quant
stored_as(enum dtype dtype)
{
	switch (dtype) {
	case DTYPE_FP8:
	case DTYPE_FP8_BLOCK:
	case DTYPE_MXFP8:
		return QUANT_FP8;
	case DTYPE_MXFP4:
		return QUANT_MXFP4;
	case DTYPE_NVFP4:
		return QUANT_NVFP4;
	case DTYPE_INT4:
		return QUANT_INT4;
	case DTYPE_INT8:
		return QUANT_INT8;
	case DTYPE_FP64:
	case DTYPE_FP32:
	case DTYPE_TF32:
	case DTYPE_FP16:
	case DTYPE_BF16:
	case DTYPE_FP6:
	case DTYPE_FP4:
	case DTYPE_NONE:
	case N_DTYPES:
		break;
	}
	return QUANT_NONE;
}

/* As asked for by --quant or --dtype, else as the checkpoint was published; maps of which a part stays in 16 bits count
 * as if all of them did. */
static void
serve_weights(struct run *r, const struct memory_question *q, struct memory_job *job)
{
	const struct quantisation *published = &job->model->quantisation;
	const unsigned maps = 1u << PART_MIXER | 1u << PART_MLP | 1u << PART_SHARED;

	if (!q->training->quant.text && dtype_byte(job->dtype) < 2)
		memory_quantise(job, stored_as(job->dtype));
	else if (!q->training->quant.text && published->given && q->memory->dtype.from.file == inputs_default) {
		job->quant = (published->quantised & maps) == maps ? stored_as(published->weights) : QUANT_NONE;
		job->expert_quant =
		    published->quantised & 1u << PART_EXPERTS ? stored_as(published->experts) : QUANT_NONE;
		run_assume(r, "weights as published (maps %s, experts %s)", quant_name(job->quant),
		    quant_name(job->expert_quant));
	}
	if (dtype_byte(job->dtype) < 2)
		job->dtype = DTYPE_BF16;
}

bool
memory_bind_precision(struct run *r, const struct memory_question *q, const struct gpu *gpu, struct memory_job *job)
{
	const struct word asked = q->memory->dtype;
	struct datum ignored;

	job->dtype = dtype_find(run_word(r, "dtype", asked));
	if (gpu && gpu->lacks[dtype_peak(job->dtype)])
		return run_peak(r, gpu, job->dtype, asked, &ignored);
	job->weight_copies = copies_of(gpu, job->dtype);
	memory_quantise(job, memory_quant(q->training->quant.text));
	if (job->use == STACK_INFER) {
		serve_weights(r, q, job);
		return true;
	}
	job->quantised_parameters = q->training->fp8_params;
	if (job->quantised_parameters && (dtype_byte(job->dtype) >= 2 || job->dtype == DTYPE_NVFP4))
		return memory_refuse(
		    r, asked.from, "quantised parameters need --dtype fp8 or mxfp8", "leave --fp8-params out");
	if (job->quant != QUANT_NONE && !(job->lora_rank.value > 0))
		return memory_refuse(
		    r, q->training->quant.from, "quantised weights cannot be trained", "freeze them: --lora-rank 16");
	if (job->quant != QUANT_NONE && !job->stack->quantised_base)
		return memory_refuse(r, q->training->quant.from, "this stack trains no adapters on a quantised base",
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
		job->gradient_byte = memory_default(dtype_byte(dtype_find(in->grad_dtype.text)));
		job->gradient_byte.from = in->grad_dtype.from;
	}
	memory_optimizer(run_word(r, "optimizer", in->optimizer), &job->optimizer);
	job->optimizer_in_backward = in->optimizer_in_backward;
	if (!memory_offload(r, &in->offload, &job->offload))
		return false;
	if (job->offload & OFFLOAD_ACTIVATIONS && job->recompute != RECOMPUTE_FULL &&
	    job->recompute != RECOMPUTE_UNIFORM)
		return memory_refuse(
		    r, in->offload.list[0].from, "only checkpoints are moved to the host", "add --recompute full");
	if (job->optimizer_in_backward && (job->layout.zero > 0 || job->layout.pp > 1))
		return memory_refuse(r, (struct source){0},
		    "an optimizer inside the backward pass has no rule with ZeRO or a pipeline",
		    "leave --optimizer-in-backward out");
	return true;
}

/* --- activations ----------------------------------------------------------------------------------------- */

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
		return memory_refuse(r, at, "only Megatron-Core computes single modules of a layer again",
		    "use --stack megatron-core, or --recompute selective or full");
	if (job->recompute == RECOMPUTE_OP && strcmp(job->stack->id, "torchtitan") != 0 &&
	    !datum_given(job->stack->eager_policy_byte))
		return memory_refuse(
		    r, at, "the per-operator policy is torchtitan's", "use --stack torchtitan, or --recompute full");
	const char *why = memory_lacks_rule(job);
	return why ? memory_refuse(r, at, why, "use --recompute full") : true;
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
		return memory_refuse(
		    r, in->imbalance.from, "the busiest rank has at least the mean", "--imbalance is 1 or more");
	if (job->gpipe && job->layout.pp > 1 && !datum_given(job->n_microbatches))
		return memory_refuse(
		    r, in->schedule.from, "GPipe keeps every micro-batch: how many are there?", "add --microbatches");
	if (job->gpipe && job->layout.vp > 1)
		return memory_refuse(
		    r, in->schedule.from, "GPipe has no chunks", "leave vp out, or use --schedule 1f1b");
	if (job->dropout && s->rules == RULES_MEGATRON_CORE)
		return memory_refuse(r, in->dropout.from, "the tensors of Megatron-Core were listed without dropout",
		    "use --stack megatron-lm");
	if (!job->flash && job->layout.cp > 1)
		return memory_refuse(
		    r, in->attention.from, "context parallelism needs a flash kernel", "leave --attention unfused out");
	return check_policy(r, in, job) && bind_loss(r, in, job);
}

/* --- adapters -------------------------------------------------------------------------------------------- */

static bool
bind_adapters(struct run *r, const struct training_in *in, struct memory_job *job)
{
	const struct source at = in->lora_rank.from;

	if (!(job->lora_rank.value > 0))
		return true;
	if (!job->stack->lora)
		return memory_refuse(
		    r, at, "this stack has no rule for adapters", "use --stack hf-peft, torchtune or litgpt");
	const char *why = memory_lacks_rule(job);
	if (why)
		return memory_refuse(r, at, why, "count the full training of this model, or adapters of a dense one");
	job->adapter_dropout = is_on(in->lora_dropout, job->stack->adapter_dropout);
	return memory_targets(r, &in->lora_targets, &job->targets);
}

bool
memory_bind_training(struct run *r, const struct training_in *in, struct memory_job *job)
{
	return bind_adapters(r, in, job) && bind_activations(r, in, job) && bind_states(r, in, job);
}

/* --- serving --------------------------------------------------------------------------------------------- */

bool
memory_bind_serving(struct run *r, const struct memory_question *q, struct memory_job *job)
{
	const struct serving_in *in = q->serving;
	const char *kv = in->kv_dtype.text;

	if (!(run_whole(r, "--block", in->block, 1) & run_whole(r, "--batch-tokens", in->batch_tokens, 1)))
		return false;
	job->kv_elem_byte = kv ? dtype_byte(dtype_find(kv)) : dtype_byte(job->dtype);
	job->block_token = datum_given(in->block) ? in->block : job->stack->block_token;
	job->batch_token = datum_given(in->batch_tokens) ? in->batch_tokens : job->stack->batch_token;
	job->utilization = datum_given(in->utilization) ? in->utilization : job->stack->utilization;
	if (datum_given(in->utilization) && (in->utilization.value > 1 || !(in->utilization.value > 0)))
		return memory_refuse(
		    r, in->utilization.from, "--utilization is a part of the card", "write 0.9 or 90%");
	if (datum_given(in->utilization) && job->stack->pool == POOL_NONE)
		return memory_refuse(
		    r, in->utilization.from, "this engine takes no share of the card", "use --headroom");
	return true;
}
