/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convert options to a job for the memory model: choose and report defaults, refuse what has no rule. */
#include "ask/bind/bind.h"
#include "ask/memory/memory.h"
#include "base/base.h"
#include "cli/cli.h"
#include "db/db.h"

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
	if (hint)
		diag_hint(r->diag, "%s", hint);
	return false;
}

bool
memory_no_rule(struct run *r, const struct memory_question *q, struct source at, const char *what, const char *hint)
{
	if (!q->no_rule)
		return memory_refuse(r, at, what, hint);
	if (!*q->no_rule)
		*q->no_rule = what;
	return true;
}

/* --- the model and its layout ---------------------------------------------------------------------------- */

static bool
bind_model(struct run *r, const struct memory_question *q, struct memory_job *job)
{
	job->model = run_model(r, q->memory->model);
	if (!job->model)
		return false;
	const char *why = memory_lacks_rule(job);
	if (!why)
		return true;
	const char *hint = NULL;
	if (job->use == STACK_INFER)
		hint = "leave --infer out for training memory";
	else if (job->model->kind != MODEL_ENCODER && job->model->kind != MODEL_VISION)
		hint = "use --infer for inference memory";
	else if (datum_given(job->model->stated_params))
		hint = arena_printf(
		    r->arena, "estimate its states with: ridge memory --params %g", job->model->stated_params.value);
	return memory_no_rule(r, q, q->memory->model.from, arena_printf(r->arena, "%s: %s", job->model->id, why), hint);
}

static bool
bind_parallel(struct run *r, const struct memory_question *q, struct memory_job *job)
{
	const struct software_ask software = {
	    job->use, q->memory->stack, q->layout, datum_or(q->training->lora_rank, 0) > 0};

	if (!job->stack)
		job->stack = bind_software(r, &software);
	if (!job->stack)
		return false;
	/* --gpus are those of a replica, unless its weights are copied or sharded over them */
	struct layout_in asked;
	const struct layout_in *in = q->layout;
	if (job->use == STACK_INFER && datum_given(q->memory->gpus) && !datum_given(in->dp) && !datum_given(in->zero) &&
	    !in->fsdp) {
		bind_served_degrees(r, in);
		if (!bind_replica(r, in, q->memory->gpus, &asked))
			return false;
		in = &asked;
	}
	const struct layout_ask layout = {
	    in, q->memory->gpus, job->model, job->stack, q->training->no_sp, software.adapters};
	job->no_sp = q->training->no_sp;
	if (!run_whole(r, "--gpus", q->memory->gpus, 1) || !bind_layout(r, &layout, &job->layout))
		return false;
	if (job->layout.tp > 1 && job->use == STACK_TRAIN)
		run_reads(r, &q->training->no_sp, NULL);
	return true;
}

/* What published peaks say of a sharding, and shardings that there is no rule for. */
static bool
check_sharding(struct run *r, const struct memory_question *q, const struct memory_job *job)
{
	const struct stack *s = job->stack;
	const struct layout *l = &job->layout;

	if (l->zero > (int)datum_or(s->max_zero, 0))
		return memory_no_rule(r, q, q->layout->zero.from,
		    arena_printf(r->arena, "stack %s does not support ZeRO stage %d, only up to %g", s->id, l->zero,
		        datum_or(s->max_zero, 0)),
		    l->tp * l->pp > 1 ? "use --stack torchtitan" : "use --stack torchtitan or hf-deepspeed");
	if (l->zero == 3 && l->pp > 1)
		run_warn(r,
		    "published peaks of FSDP with pipelines are 10 to 20 %% above this estimate, more with context "
		    "parallelism");
	if (l->zero == 3 && datum_given(s->live_byte) && job->lora_rank.value > 0)
		run_warn(
		    r, "published peaks of LoRA with DeepSpeed-sharded weights are up to 20 %% above this estimate");
	return true;
}

/* The most ranks up to those asked for that the recurrences of the model are dealt to. */
static double
most_ranks(const struct memory_job *job)
{
	struct memory_job fewer = *job;

	while (fewer.layout.tp > 1 && memory_lacks_rule(&fewer))
		fewer.layout.tp--;
	return fewer.layout.tp;
}

/* What has no rule on this layout, but has one on a single GPU. */
static bool
check_layers(struct run *r, const struct memory_question *q, const struct memory_job *job)
{
	const struct layout *l = &job->layout;
	const char *why = memory_lacks_rule(job);
	struct memory_job alone = *job;

	alone.layout.tp = alone.layout.cp = 1;
	if (!why || memory_lacks_rule(&alone) || (q->no_rule && *q->no_rule))
		return true;
	return memory_no_rule(r, q, l->cp > 1 ? q->layout->cp.from : q->layout->tp.from,
	    arena_printf(r->arena, "%s: %s", job->model->id, why),
	    l->cp > 1 ? "leave cp out" : arena_printf(r->arena, "use tp=%g", most_ranks(job)));
}

static bool
bind_sequences(struct run *r, const struct memory_question *q, struct memory_job *job)
{
	const struct memory_in *in = q->memory;
	struct batch b;

	if (job->use == STACK_INFER) {
		run_reads(r, &in->batch, NULL);
		job->batch = in->batch;
		job->n_microbatches = datum_absent();
		return run_whole(r, "--batch", in->batch, 1) &&
		    bind_sequence(r, in->seq, job->model, job->layout.cp, &job->seq);
	}
	if (!bind_batch(r, in, job->model, job->stack, &job->layout, &b))
		return false;
	job->seq = b.seq_length;
	job->batch = b.n_sequences;
	job->n_microbatches = b.n_microbatches;
	job->said = b.said;
	return true;
}

static bool
bind_stages(struct run *r, const struct memory_question *q, struct memory_job *job)
{
	const struct words *list = &q->training->stage_layers;
	const int n_stages = (int)(job->layout.pp * job->layout.vp);
	int total = 0;

	if (list->n == 0)
		return true;
	if (n_stages > 1)
		run_reads(r, list, NULL);
	if (!memory_stages(r, list, &job->stage_layers, &job->n_stage_layers))
		return false;
	for (int i = 0; i < job->n_stage_layers; i++)
		total += job->stage_layers[i];
	if (job->n_stage_layers == n_stages && total == (int)job->model->n_layers.value)
		return true;
	diag_error(r->diag, list->list[0].from, "--stage-layers has %d stages with %d layers, not %d with %g",
	    job->n_stage_layers, total, n_stages, job->model->n_layers.value);
	diag_hint(r->diag, "leave --stage-layers out for an even split");
	return false;
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
	job->counts_device = counter == COUNTER_DEVICE;
	if (datum_given(job->context_byte)) {
		if (!in->counter.text)
			run_assume_value(r, "counter", "%s", names[counter]);
		return true;
	}
	diag_error(r->diag, in->counter.from, "counter '%s' is unknown for stack %s", names[counter], job->stack->id);
	for (int i = 0; i < N_COUNTERS; i++)
		if (datum_given(job->stack->counter_byte[i]))
			diag_hint(r->diag, "use --counter %s", names[i]);
	return false;
}

/* Options of training that would change what a server keeps. */
static bool
check_served(struct run *r, const struct memory_question *q)
{
	const struct training_in *t = q->training;

	if (datum_given(t->lora_rank))
		return memory_refuse(r, t->lora_rank.from, "served LoRA adapters are not modeled",
		    "leave --lora-rank out: merged adapters take no extra memory");
	if (t->offload.n > 0)
		return memory_refuse(r, t->offload.list[0].from, "--offload is not modeled for inference",
		    "leave --offload out, or use more GPUs");
	return true;
}

/* A framework that generates without an engine, or an engine with its cache. */
static bool
bind_server(struct run *r, const struct memory_question *q, const struct gpu *gpu, const struct engine **engine)
{
	const struct word stack = q->memory->stack, name = q->serving->engine.text ? q->serving->engine : stack;
	struct diag *ignored = diag_new(r->arena);
	struct database *quiet = database_reporting_to(r->database, ignored);
	const char *said;

	*engine = NULL;
	if (stack.text && q->serving->engine.text)
		return memory_refuse(r, stack.from, "--stack and --engine exclude each other", "give --engine");
	if (stack.text && database_stack(quiet, r->arena, ignored, stack.text, NULL, stack.from, &said))
		return true;
	*engine = bind_engine(r, name, gpu);
	return *engine != NULL;
}

static bool
bind_served(struct run *r, const struct memory_question *q, const struct gpu *gpu, struct memory_job *job)
{
	const struct engine *engine;

	if (!check_served(r, q) || !bind_server(r, q, gpu, &engine))
		return false;
	if (engine) {
		job->stack = &engine->memory;
		bind_served_degrees(r, q->layout);
	}
	return bind_parallel(r, q, job) && bind_sequences(r, q, job) && memory_bind_serving(r, q, gpu, engine, job) &&
	    bind_counter(r, q->memory, job);
}

static bool
bind_adapter_rank(struct run *r, const struct memory_question *q, struct memory_job *job)
{
	const struct datum rank = q->training->lora_rank;

	job->lora_rank = memory_default(0);
	if (job->use == STACK_INFER || !datum_given(rank))
		return true;
	run_reads(r, &q->training->lora_rank, NULL);
	job->lora_rank = rank;
	if (!run_whole(r, "--lora-rank", rank, 1))
		return false;
	if (rank.value <= job->model->hidden.value)
		return true;
	diag_error(
	    r->diag, rank.from, "LoRA rank %g exceeds the model's width %g", rank.value, job->model->hidden.value);
	diag_hint(r->diag, "typical ranks are 8 to 256");
	return false;
}

/* --infer and --use train contradict each other. */
bool
memory_says_use(struct run *r, const struct memory_in *in)
{
	if (!in->infer || in->use.from.file == inputs_default || strcmp(in->use.text, "infer") == 0)
		return true;
	return memory_refuse(r, in->use.from, "--use train and --infer exclude each other", "keep one");
}

/* The memory of a system that was named, or of the host on the GPU's module; nobody's guess stands for it. */
static void
bind_host(struct run *r, const struct memory_in *in, const struct gpu *gpu, struct memory_job *job)
{
	const struct system *s = in->system.text ? run_system(r, in->system) : NULL;

	job->host_byte = s ? s->host_mem_byte : gpu ? gpu->host_mem_byte : datum_absent();
	job->n_host_gpus = s ? datum_or(s->n_gpus, 1) : gpu ? datum_or(gpu->n_host_gpus, 1) : 1;
}

bool
run_memory_job(struct run *r, const struct memory_question *q, struct memory_job *job, const struct gpu **gpu)
{
	const struct memory_in *in = q->memory;

	run_reads(r, &in->infer, &in->use, NULL);
	if (!memory_says_use(r, in))
		return false;
	*job = (struct memory_job){.use = in->infer || strcmp(in->use.text, "infer") == 0 ? STACK_INFER : STACK_TRAIN,
	    .recompute_n = 1,
	    .headroom_frac = in->headroom,
	    .gradient_byte = datum_absent()};
	if (!bind_model(r, q, job) || !bind_adapter_rank(r, q, job) || !run_card(r, in, &job->card_byte, gpu))
		return false;
	bind_host(r, in, *gpu, job);
	if (job->use == STACK_INFER)
		return bind_served(r, q, *gpu, job);
	if (!bind_parallel(r, q, job) || !bind_sequences(r, q, job) || !memory_bind_precision(r, q, *gpu, job) ||
	    !bind_counter(r, in, job))
		return false;
	return bind_stages(r, q, job) && check_sharding(r, q, job) && check_layers(r, q, job) &&
	    memory_bind_training(r, q, job);
}

bool
memory_listed(const struct memory_job *job)
{
	return job->use == STACK_INFER || job->stack->n_matches > 0;
}

const char *
memory_kind(const struct memory_job *job)
{
	return job->use == STACK_INFER ? "memory-infer" : "memory-train";
}

void
memory_show_host(struct run *r, const struct memory_job *job)
{
	struct sheet *sh = r->sheet;

	if (!memory_uses_host(job))
		return;
	CALL(sh, node_away_byte, memory_host_node(sh, job));
	if (!datum_given(job->host_byte)) {
		CALL(sh, away_byte, memory_host(sh, job));
		SHOW(sh, away_byte, away_byte);
		return;
	}
	TAKE(sh, host_byte, job->host_byte);
	SHOW(sh, node_away_byte, node_away_byte);
	SHOW(sh, host_byte, host_mem_byte);
	if (memory_host_is_full(job))
		run_warn(
		    r, "the memory of a host is too small for what its GPUs offload: use more GPUs, or offload less");
}

void
memory_show_fixes(struct run *r, const struct memory_job *job, double n_node, int most, bool verdicts)
{
	struct sheet *sh = r->sheet;
	struct memory_fix *fixes = ARENA_ARRAY(r->arena, struct memory_fix, (size_t)most);
	const int n = fit_fixes(job, n_node, fixes, most);

	for (int i = 0; i < n; i++)
		SCOPE_I (sh, "fixes", i) {
			TELL(sh, change, fixes[i].change);
			TAKE(sh, n_fixed_gpus, fixes[i].n_gpus);
			TAKE(sh, fixed_byte, fixes[i].need_byte);
			SHOW(sh, n_fixed_gpus, n_gpus);
			SHOW(sh, fixed_byte, peak_byte);
			if (verdicts)
				TELL(sh, verdict, verdict_name(fixes[i].verdict));
		}
}
