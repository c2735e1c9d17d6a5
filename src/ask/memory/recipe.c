/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bind what a job saves: precision, optimizer states, activations, adapters, engine. */
#include "ask/bind/bind.h"
#include "ask/memory/memory.h"
#include "base/base.h"
#include "cli/cli.h"

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

bool
memory_bind_precision(struct run *r, const struct memory_question *q, const struct gpu *gpu, struct memory_job *job)
{
	const struct word asked = q->memory->dtype;
	struct datum ignored;

	job->dtype = dtype_find(run_word(r, "dtype", asked));
	if (gpu && gpu_lacks(gpu, job->dtype))
		return run_peak(r, gpu, job->dtype, asked, &ignored);
	job->weight_copies = copies_of(gpu, job->dtype);
	memory_quantise(job, memory_quant(q->training->quant.text));
	run_reads(r, &q->training->quant, NULL);
	/* what travels in 8 bits is stored in 8 bits; a frozen weight is transposed when its product needs it
	 * (Megatron-Core, disable_parameter_transpose_cache) */
	const bool frozen = job->lora_rank.value > 0;
	job->quantised_parameters = q->training->fp8_params ||
	    (job->dtype == DTYPE_FP8 && (frozen ? job->stack->fp8_frozen : job->stack->time.gathers_fp8)) ||
	    (job->dtype == DTYPE_MXFP8 && !frozen && job->stack->mxfp8_parameters);
	if (job->quantised_parameters && frozen)
		job->weight_copies = 1;
	if (job->quantised_parameters && (dtype_byte(job->dtype) >= 2 || job->dtype == DTYPE_NVFP4))
		return memory_refuse(
		    r, asked.from, "--fp8-params needs --dtype fp8 or mxfp8", "leave --fp8-params out");
	if (job->quant != QUANT_NONE && !(job->lora_rank.value > 0))
		return memory_refuse(r, q->training->quant.from, "quantized weights cannot be trained",
		    "freeze them with --lora-rank 16");
	if (job->quant != QUANT_NONE && job->stack->lora && !job->stack->quantised_base)
		return memory_refuse(r, q->training->quant.from, "this stack does not support QLoRA",
		    "use --stack hf-peft, torchtune or litgpt");
	return true;
}

/* Moments narrower than fp32 need Megatron-Core's precision-aware optimizer, which is Adam. */
static bool
bind_moments(struct run *r, const struct memory_question *q, struct memory_job *job)
{
	const struct word asked = q->training->moment_dtype;

	if (!asked.text || strcmp(asked.text, "fp32") == 0 || job->lora_rank.value > 0)
		return true;
	if (job->stack->rules != RULES_MEGATRON_CORE)
		return memory_refuse(r, asked.from, "--moment-dtype needs Megatron-Core",
		    "add --stack megatron-core, or use --states pure or --optimizer adam8bit");
	if (job->optimizer != OPTIMIZER_ADAM)
		return memory_refuse(r, asked.from, "--moment-dtype needs --optimizer adam", "leave one of them out");
	if (job->scheme != STATES_MIXED)
		return memory_refuse(r, asked.from, "--moment-dtype needs --states mixed", "leave one of them out");
	job->precision_aware = true;
	job->moment_dtype = dtype_find(asked.text);
	if (!memory_optimizer_holds(job, &job->layout))
		return memory_refuse(r, asked.from, "--moment-dtype needs the distributed optimizer, not full sharding",
		    "use --layout zero=1");
	return true;
}

/* Megatron-Core's rules (transformer_config.py). */
static bool
check_offload_modules(struct run *r, struct source at, const struct memory_job *job)
{
	const unsigned experts = 1u << AWAY_EXPERT_FC1 | 1u << AWAY_MOE_ACT | 1u << AWAY_MLP_NORM;

	if (!job->offload_modules)
		return true;
	if (job->stack->rules != RULES_MEGATRON_CORE)
		return memory_refuse(r, at, "offloading by module needs Megatron-Core",
		    "use --stack megatron-core, or --recompute full --offload activations");
	if (job->offload_modules & experts && !workload_has_experts(job->model))
		return memory_refuse(r, at, "mlp_norm, expert_fc1 and moe_act need a mixture of experts",
		    "use for example qkv_linear,core_attn,attn_proj");
	if (job->offload_modules & 1u << AWAY_ATTN_NORM && !workload_has_latent(job->model))
		return memory_refuse(r, at,
		    "attn_norm needs latent attention: elsewhere the norm is part of the QKV map",
		    "use qkv_linear, which offloads the input of that norm too");
	return !(job->offload_modules & 1u << AWAY_ATTN_PROJ) || job->offload_modules & 1u << AWAY_CORE_ATTN ||
	    memory_refuse(r, at, "attn_proj is offloaded only with core_attn", "use --offload core_attn,attn_proj");
}

/* Of states, Megatron-Core updates parameters on the host and keeps nothing else there (arguments.py: with the
 * precision-aware optimizer, and with parameters in FP8 only where their scales are delayed ones). */
static bool
check_offload(struct run *r, const struct memory_question *q, const struct memory_job *job)
{
	const struct words *list = &q->training->offload;

	if (list->n > 0 && !check_offload_modules(r, list->list[0].from, job))
		return false;
	if (!job->offload || job->stack->rules != RULES_MEGATRON_CORE)
		return true;
	if (job->offload != OFFLOAD_OPTIMIZER)
		return memory_refuse(r, list->list[0].from, "Megatron-Core offloads neither parameters nor checkpoints",
		    "use --offload optimizer, --recompute offload-N for activations, or --stack hf-deepspeed");
	if (job->quantised_parameters && !(job->lora_rank.value > 0))
		return memory_refuse(r, list->list[0].from, "parameters in FP8 exclude --offload optimizer",
		    "use --dtype bf16, or leave --offload out");
	return memory_optimizer_holds(job, &job->layout) ||
	    memory_refuse(r, list->list[0].from,
	        "--offload optimizer needs the distributed optimizer, not full sharding",
	        "use --layout zero=1, or --stack hf-deepspeed");
}

static bool
bind_states(struct run *r, const struct memory_question *q, struct memory_job *job)
{
	const struct training_in *in = q->training;

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
	if (!bind_moments(r, q, job) || !check_offload(r, q, job))
		return false;
	if (!job->optimizer_in_backward || (job->layout.zero == 0 && job->layout.pp == 1))
		return true;
	return memory_no_rule(r, q, (struct source){0},
	    "--optimizer-in-backward is not modeled with ZeRO or pipeline parallelism",
	    "leave --optimizer-in-backward out");
}

/* --- activations ----------------------------------------------------------------------------------------- */

static bool
is_on(struct word word, bool usual)
{
	return word.text ? strcmp(word.text, "on") == 0 : usual;
}

static bool
bind_loss(struct run *r, const struct training_in *in, struct memory_job *job)
{
	const struct stack *s = job->stack;
	const char *names[32];
	size_t n = 0;

	if (!in->loss.text) {
		job->loss = memory_usual_loss(job);
		if (s->n_losses > 1)
			run_assume_value(r, "loss", "%s", job->loss->name);
		return true;
	}
	for (int i = 0; i < s->n_losses; i++) {
		if (strcmp(s->losses[i].name, in->loss.text) == 0)
			job->loss = &s->losses[i];
		if (n < 32)
			names[n++] = s->losses[i].name;
	}
	job->loss_said = true;
	if (job->loss)
		return true;
	diag_error(r->diag, in->loss.from, "stack %s has no loss '%s'", s->id, in->loss.text);
	const char *near = text_nearest(in->loss.text, names, n);
	char list[200] = "";
	for (size_t i = 0; i < n && strlen(list) + strlen(names[i]) + 2 < sizeof list; i++)
		strcat(strcat(list, " "), names[i]);
	diag_hint(r->diag, near ? "did you mean '%s'?" : "use one of%s", near ? near : list);
	return false;
}

bool
memory_check_policy(struct run *r, const struct memory_question *q, const struct memory_job *job)
{
	const struct training_in *in = q->training;
	const struct source at = in->recompute.n ? in->recompute.list[0].from : (struct source){0};
	const bool megatron = job->stack->rules == RULES_MEGATRON_CORE;

	if (job->recompute == RECOMPUTE_MODULES && !megatron && job->modules != 1u << MODULE_CORE_ATTN)
		return memory_refuse(r, at, "recomputation by module needs Megatron-Core",
		    "use --stack megatron-core, or --recompute selective or full");
	if (job->recompute == RECOMPUTE_BLOCK && !megatron)
		return memory_refuse(r, at, "--recompute block-N needs Megatron-Core",
		    "use --stack megatron-core, or --recompute every-N");
	if (job->recompute == RECOMPUTE_OFFLOAD && !megatron)
		return memory_refuse(r, at, "--recompute offload-N needs Megatron-Core",
		    "use --stack megatron-core, or --recompute full --offload activations");
	if (job->recompute == RECOMPUTE_OFFLOAD && job->layout.pp > 1)
		return memory_refuse(
		    r, at, "--recompute offload-N excludes pipelines", "use --recompute block-N, or pp=1");
	if (job->recompute == RECOMPUTE_OFFLOAD && job->recompute_n >= job->model->n_layers.value)
		return memory_refuse(r, at,
		    arena_printf(r->arena, "offload-%g: the model has %g layers, of which one stays", job->recompute_n,
		        job->model->n_layers.value),
		    arena_printf(r->arena, "use at most offload-%g", job->model->n_layers.value - 1));
	if (job->recompute == RECOMPUTE_OP && strcmp(job->stack->id, "torchtitan") != 0 &&
	    !datum_given(job->stack->eager_policy_byte))
		return memory_refuse(
		    r, at, "--recompute op needs torchtitan", "use --stack torchtitan, or --recompute full");
	if (!memory_policy_offloads(job, job->recompute) && job->offload_modules)
		return memory_refuse(r, in->offload.list[0].from,
		    "modules are offloaded only beside recomputed modules",
		    "leave --recompute out, or name modules: --recompute moe_act");
	if (!memory_policy_offloads(job, job->recompute))
		return memory_refuse(r, in->offload.list[0].from, "only activation checkpoints can be offloaded",
		    "add --recompute full");
	const char *why = job->recompute == RECOMPUTE_OP ? memory_lacks_rule(job) : NULL;
	return memory_interval(r, &in->recompute, job->recompute_n, job->model->n_layers) &&
	    (!why || memory_no_rule(r, q, at, why, "use --recompute full"));
}

/* Whether compiling the model changes its bytes or its time. */
static bool
compiling_acts(const struct memory_job *job)
{
	const struct stack *s = job->stack;

	return datum_given(s->time.elementwise_compiled) || s->eager_norm != s->eager_norm_compiled ||
	    datum_given(s->eager_policy_byte) || s->loss_compiled ||
	    (job->model->softcap && s->rules != RULES_MEGATRON_CORE);
}

const char *
memory_context_word(enum context_form c)
{
	static const char *const words[] = {
	    [CONTEXT_RING] = "ring", [CONTEXT_GATHER] = "gather", [CONTEXT_HEADS] = "a2a"};

	return words[c];
}

enum context_form
memory_context(const struct training_in *in, const struct stack *s)
{
	enum context_form c = CONTEXT_RING;

	if (!in->cp_comm.text)
		return s->time.context;
	while (c < CONTEXT_HEADS && strcmp(memory_context_word(c), in->cp_comm.text) != 0)
		c++;
	return c;
}

static bool
bind_activations(struct run *r, const struct memory_question *q, struct memory_job *job)
{
	const struct training_in *in = q->training;
	const struct stack *s = job->stack;
	const bool says_steps = job->said.n_microbatches > 0 || job->said.n_global_sequences > 0;

	if (!memory_recompute(r, &in->recompute, &job->recompute, &job->recompute_n, &job->modules))
		return false;
	if (job->recompute == RECOMPUTE_UNIFORM && job->recompute_n == 0)
		job->recompute_n = floor(sqrt(job->model->n_layers.value) + 0.5);
	job->flash = in->attention.text ? strcmp(in->attention.text, "flash") == 0 : s->flash;
	job->dropout = is_on(in->dropout, s->dropout);
	job->compiled = in->compile;
	job->imbalance = in->imbalance;
	run_reads(r, &in->recompute, &in->attention, &in->dropout, NULL);
	if (compiling_acts(job))
		run_reads(r, &in->compile, NULL);
	if (workload_has_experts(job->model))
		run_reads(r, &in->imbalance, NULL);
	if (job->layout.cp > 1)
		run_reads(r, &in->cp_comm, NULL);
	if (job->layout.pp > 1)
		run_reads(r, &in->schedule, NULL);
	job->context = memory_context(in, s);
	job->gpipe = job->layout.pp > 1 && strcmp(in->schedule.text, "gpipe") == 0;
	if (job->imbalance.value < 1)
		return memory_refuse(
		    r, in->imbalance.from, "--imbalance must be at least 1", "write for example --imbalance 1.2");
	if (job->gpipe && !says_steps)
		return memory_refuse(r, in->schedule.from, "GPipe needs the number of micro-batches",
		    "add for example --microbatches 8");
	if (job->gpipe && job->layout.vp > 1)
		return memory_refuse(
		    r, in->schedule.from, "GPipe does not support vp", "leave vp out, or use --schedule 1f1b");
	if (job->dropout && s->rules == RULES_MEGATRON_CORE &&
	    !memory_no_rule(
	        r, q, in->dropout.from, "dropout is not modeled for Megatron-Core", "use --stack megatron-lm"))
		return false;
	if (!job->flash && job->layout.cp > 1)
		return memory_refuse(r, in->attention.from, "context parallelism needs flash attention",
		    "leave --attention unfused out");
	return memory_check_policy(r, q, job) && bind_loss(r, in, job);
}

/* --- adapters -------------------------------------------------------------------------------------------- */

static bool
bind_adapters(struct run *r, const struct memory_question *q, struct memory_job *job)
{
	const struct training_in *in = q->training;
	const struct source at = in->lora_rank.from;

	if (!memory_targets(r, &in->lora_targets, &job->targets))
		return false;
	if (!(job->lora_rank.value > 0)) {
		job->targets = 0;
		return true;
	}
	if (!job->stack->lora &&
	    !memory_no_rule(r, q, at, "this stack does not support LoRA", "use --stack hf-peft, torchtune or litgpt"))
		return false;
	const char *why = memory_lacks_rule(job);
	if (why && !memory_no_rule(r, q, at, why, "use full training, or a dense model"))
		return false;
	run_reads(r, &in->lora_targets, NULL);
	job->adapter_dropout = is_on(in->lora_dropout, job->stack->adapter_dropout);
	return true;
}

/* What bytes alone depend on. */
void
memory_reads(struct run *r, const struct memory_question *q, const struct memory_job *job)
{
	const struct memory_in *in = q->memory;
	const struct training_in *t = q->training;

	run_reads(r, &in->counter, NULL);
	if (datum_given(job->card_byte))
		run_reads(r, &in->gpu_mem, &in->headroom, NULL);
	if (job->use == STACK_INFER)
		return;
	run_reads(r, &t->fp8_params, &t->offload, &t->loss, NULL);
	if (!(job->lora_rank.value > 0))
		run_reads(r, &t->states, &t->grad_dtype, &t->moment_dtype, &t->optimizer_in_backward, NULL);
	else {
		run_reads(r, &t->lora_dropout, NULL);
		if (datum_or(job->stack->adapter_byte, 4) < 4)
			run_reads(r, &t->states, NULL);
	}
}

/* No more prediction layers than the model has. */
static bool
bind_prediction(struct run *r, const struct memory_question *q, struct memory_job *job)
{
	const struct datum asked = q->training->mtp;
	const double most = datum_or(job->model->n_mtp, 0);

	if (!run_whole(r, "--mtp", asked, 0))
		return false;
	if (datum_or(asked, 0) > most) {
		diag_error(r->diag, asked.from, "--mtp %g: %s has %g multi-token prediction %s", asked.value,
		    job->model->id, most, most == 1 ? "layer" : "layers");
		diag_hint(r->diag, "use at most %g", most);
		return false;
	}
	job->n_mtp = datum_or(asked, most);
	if (most > 0 || datum_or(asked, 1) == 0)
		run_reads(r, &q->training->mtp, NULL);
	if (!datum_given(asked) && most > 0)
		run_assume_value(r, "mtp", "%g", most);
	return true;
}

bool
memory_bind_training(struct run *r, const struct memory_question *q, struct memory_job *job)
{
	job->dedup = job->stack->time.dispatcher == DISPATCH_DEDUP && workload_may_dedup(job->model);
	return bind_prediction(r, q, job) &&
	    memory_offload(r, &q->training->offload, &job->offload, &job->offload_modules) &&
	    bind_adapters(r, q, job) && bind_activations(r, q, job) && bind_states(r, q, job);
}

/* --- serving --------------------------------------------------------------------------------------------- */

/* The type that --quant names, or a number of bits. */
static void
read_quant(struct word quant, struct formats_in *asked)
{
	const enum quant q = memory_quant(quant.text);

	if (q == QUANT_NONE)
		return;
	/* integers have scales in groups, as quantizers write them */
	const enum dtype t = dtype_find(quant.text);
	if (t != DTYPE_NONE && t != DTYPE_INT8 && t != DTYPE_INT4)
		asked->weights_dtype = quant;
	else
		asked->bits = (struct datum){quant_bits(q), quant.from};
}

bool
memory_bind_serving(struct run *r, const struct memory_question *q, const struct gpu *gpu, const struct engine *engine,
    struct memory_job *job)
{
	const struct serving_in *in = q->serving;
	const struct room_in room = {q->memory->headroom, in->utilization, in->block, in->batch_tokens};
	struct formats_in asked = {q->memory->dtype, in->weights_dtype, in->kv_dtype, datum_absent(), datum_absent()};
	struct formats f;
	struct datum ignored;

	if (!(run_whole(r, "--block", in->block, 1) & run_whole(r, "--batch-tokens", in->batch_tokens, 1)))
		return false;
	run_reads(r, &q->training->quant, &in->batch_tokens, &in->engine, NULL);
	if (q->training->quant.text && in->weights_dtype.text)
		return memory_refuse(r, in->weights_dtype.from, "--quant and --weights-dtype exclude each other",
		    "keep --weights-dtype");
	read_quant(q->training->quant, &asked);
	memory_quantise(job, memory_quant(q->training->quant.text)); /* for its workspace */
	if (!bind_formats(r, &asked, job->model, gpu, engine, &f))
		return false;
	if (gpu && gpu_lacks(gpu, f.compute))
		return run_peak(r, gpu, f.compute, q->memory->dtype, &ignored);
	job->weight_copies = copies_of(gpu, f.compute);
	return bind_room(r, &room, job->stack, &f, job->card_byte, job);
}
