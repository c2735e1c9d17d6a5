/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From options to a question of train_rules.h. */
#include "cli/inputs.h"
#include "cli/memory_words.h"
#include "cli/shape.h"
#include "cli/train_in.h"
#include "data/stack.h"

#include <string.h>

static bool
refuse(struct run *r, struct source at, const char *what, const char *hint)
{
	diag_error(r->diag, at, "%s", what);
	diag_hint(r->diag, "%s", hint);
	return false;
}

/* --- the stack ------------------------------------------------------------------------------------------- */

/* True when the space-separated list has this id. */
static bool
lists(const char *list, const char *id)
{
	const size_t n = strlen(id);

	for (const char *p = list; p && (p = strstr(p, id)); p += n)
		if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
			return true;
	return false;
}

const struct stack *
run_train_stack(struct run *r, struct word name, const struct workload *model)
{
	const struct node *overlay = inputs_overlay(r->arena, r->command, r->inputs, "stack");
	const char *said;
	const struct stack *s = database_stack(r->database, r->arena, r->diag, name.text, overlay, name.from, &said);

	if (s && said)
		run_assume(r, "%s", said);
	if (!s || !s->time.except || !s->time.instead || !model->id || !lists(s->time.except, model->id))
		return s;
	run_assume(r, "stack %s: the recipes of %s are still those", s->time.instead, model->id);
	return database_stack(r->database, r->arena, r->diag, s->time.instead, overlay, name.from, &said);
}

/* What people train such a job with. */
static const char *
usual_stack(const struct train_question *q)
{
	const struct layout_in *l = q->memory.layout;

	if (l->fsdp || (datum_given(l->zero) && l->zero.value == 3))
		return "torchtitan";
	return datum_given(l->zero) && l->zero.value == 2 ? "hf-deepspeed" : "megatron-core";
}

static bool
bind_stack(struct run *r, const struct train_question *q, struct train_bound *out)
{
	struct word name = q->memory.memory->stack;

	if (!name.text) {
		name = (struct word){usual_stack(q), {inputs_default, 0, 0, NULL, false}};
		run_assume(r, "stack %s", name.text);
	}
	out->stack = run_train_stack(r, name, out->ask.model);
	if (!out->stack)
		return false;
	if (out->stack->use == STACK_TRAIN && out->stack->time.given)
		return true;
	diag_error(r->diag, name.from, "it is not known what a training step costs in %s", out->stack->id);
	diag_hint(r->diag, "use --stack megatron-core or torchtitan, or add 'time' to its file");
	return false;
}

/* --- where ----------------------------------------------------------------------------------------------- */

static bool
bind_system(struct run *r, const struct train_question *q, struct train_bound *out)
{
	const struct memory_in *in = q->memory.memory;
	struct word name;

	if (!run_gpu_name(r, in->gpu, in->system, &name))
		return false;
	if (!name.text)
		return refuse(r, (struct source){0}, "on which GPUs?", "add --system dgx-h100, or --gpu h100");
	out->gpu = run_gpu(r, name);
	if (!out->gpu)
		return false;
	if (in->system.text) {
		out->system = run_system(r, in->system);
		return out->system != NULL;
	}
	out->system = run_usual_system(r, out->gpu);
	if (out->system)
		run_assume(r, "system %s", out->system->id);
	return true;
}

bool
run_train_machine_of(struct run *r, const struct train_question *q, struct train_bound *out)
{
	const struct train_in *in = q->train;
	struct train_machine *m = &out->ask.machine;

	if (!bind_system(r, q, out) || !run_train_machine(r, out->gpu, out->system, m, &out->doubts.capped))
		return false;
	if (!m->kernels) {
		diag_error(r->diag, q->memory.memory->gpu.from, "nothing was measured on %s", out->gpu->id);
		diag_hint(r->diag, "'ridge hw list' says which GPUs have kernels; 'ridge roofline' needs none");
		return false;
	}
	if (!out->system)
		run_assume(r, "%g GPUs to a node, %g GB/s of network each", m->n_domain, m->nic_byte_per_s / 1e9);
	if (!run_whole(r, "--node-gpus", in->node_gpus, 1))
		return false;
	if (datum_given(in->node_gpus))
		m->n_domain = fmin(m->n_domain, in->node_gpus.value);
	if (datum_given(in->nic))
		m->nic_byte_per_s = in->nic.value;
	if (in->nic_reach.from.file != inputs_default)
		m->nic_frac = in->nic_reach.value;
	out->tdp_watt = out->gpu->tdp_watt;
	if (datum_given(in->power_limit) && in->power_limit.value < datum_or(out->gpu->tdp_watt, 0)) {
		m->power_frac *= sqrt(in->power_limit.value / out->gpu->tdp_watt.value);
		out->tdp_watt = in->power_limit;
	}
	if (m->kernels->transfer_note)
		run_assume(r, "kernels of %s %s", out->gpu->id, m->kernels->transfer_note);
	out->doubts.transferred = m->kernels->transferred_from != NULL;
	out->doubts.ultra = out->gpu->architecture && strcmp(out->gpu->architecture, "blackwell-ultra") == 0;
	return true;
}

/* --- the job --------------------------------------------------------------------------------------------- */

static bool
bind_words(struct run *r, const struct train_question *q, struct train_bound *out)
{
	const struct training_in *t = q->memory.training;
	struct train_ask *ask = &out->ask;
	struct datum ignored;

	ask->dtype = dtype_find(run_word(r, "dtype", q->memory.memory->dtype));
	if (out->gpu->lacks[dtype_peak(ask->dtype)])
		return run_peak(r, out->gpu, ask->dtype, q->memory.memory->dtype, &ignored);
	if (!memory_recompute(r, &t->recompute, &ask->recompute, &ask->recompute_n, &ask->modules))
		return false;
	ask->recompute_given = t->recompute.n > 0 && t->recompute.list[0].from.file != inputs_default;
	ask->attention = !t->attention.text                   ? N_ATTENTION_FORMS
	    : strcmp(t->attention.text, "unfused") == 0       ? ATTENTION_UNFUSED
	    : out->stack->time.attention == ATTENTION_UNFUSED ? ATTENTION_FLASH2
	                                                      : out->stack->time.attention;
	ask->dispatcher = !q->train->dispatcher.text          ? DISPATCH_BY_MODEL
	    : strcmp(q->train->dispatcher.text, "dedup") == 0 ? DISPATCH_DEDUP
	                                                      : DISPATCH_PLAIN;
	ask->compiled = t->compile;
	ask->adapters = datum_or(t->lora_rank, 0) > 0;
	ask->context = t->cp_comm.text && strcmp(t->cp_comm.text, "a2a") == 0 ? CONTEXT_HEADS : CONTEXT_RING;
	ask->imbalance = t->imbalance.value;
	if (t->quant.text)
		ask->base_byte = quant_bits(memory_quant(t->quant.text)) / 8;
	return true;
}

/* Sequences of a step: said, or from micro-batches and replicas. */
static bool
bind_batch(struct run *r, const struct train_question *q, struct train_bound *out)
{
	const struct memory_in *in = q->memory.memory;
	struct train_ask *ask = &out->ask;
	const bool batch = in->batch.from.file != inputs_default;

	if (!(run_whole(r, "--batch", in->batch, 1) & run_whole(r, "--microbatches", in->microbatches, 1) &
	        run_whole(r, "--global-batch", in->global_batch, 1) & run_whole(r, "--seq", in->seq, 1) &
	        run_whole(r, "--gpus", in->gpus, 1)))
		return false;
	ask->n_sequences = batch ? in->batch : datum_absent();
	ask->n_global_sequences = in->global_batch;
	ask->seq_length = in->seq;
	if (!datum_given(in->seq)) {
		ask->seq_length.value = datum_given(ask->model->context) ? fmin(4096, ask->model->context.value) : 4096;
		if (ask->model->kind == MODEL_VISION)
			ask->seq_length.value = vision_tokens(NULL, ask->model);
		else
			run_assume(r, "seq %g", ask->seq_length.value);
	}
	ask->packed_length = q->train->packed;
	const double replicas = ask->dp.value;
	if (datum_given(in->global_batch)) {
		if (!batch && datum_given(in->microbatches)) {
			ask->n_sequences = in->microbatches;
			ask->n_sequences.value = in->global_batch.value / (replicas * in->microbatches.value);
		}
		return true;
	}
	const double m = datum_or(in->microbatches, ask->pp.value > 1 ? 4 * ask->pp.value : 1);
	if (!datum_given(in->microbatches))
		run_assume(r, "%g micro-batches of a step", m);
	ask->n_sequences = in->batch;
	ask->n_global_sequences.value = m * in->batch.value * replicas;
	return true;
}

static struct datum
derived(double value)
{
	return (struct datum){value, {NULL, 0, 0, NULL, false}};
}

static bool
bind_layout(struct run *r, const struct train_question *q, struct train_bound *out)
{
	const struct layout_in *in = q->memory.layout;
	struct train_ask *ask = &out->ask;
	struct layout l;

	if (!run_layout(r, in, q->memory.memory->gpus, ask->model, &l))
		return false;
	ask->n_gpus = derived(l.dp * l.tp * l.pp * l.cp);
	ask->dp = derived(l.dp);
	ask->tp = derived(l.tp);
	ask->pp = derived(l.pp);
	ask->vp = derived(l.vp);
	ask->cp = derived(l.cp);
	ask->ep = datum_given(in->ep) ? derived(l.ep) : datum_absent();
	ask->etp = in->etp;
	ask->zero = datum_given(in->zero) || in->fsdp ? derived(l.zero) : datum_absent();
	ask->sp = in->sp ? 1 : q->train->no_sp ? 0 : -1;
	return true;
}

/* Another framework's words for the optimizer's traffic: states are read and written, the gradient is read, and where
 * there are fp32 masters 16-bit parameters are written. */
static double
optimizer_traffic(const char *name)
{
	enum optimizer o;

	memory_optimizer(name, &o);
	return 8 + 4 + 2 + 2 * optimizer_moments(o) * optimizer_moment_byte(o, false);
}

bool
run_train_bind(struct run *r, const struct train_question *q, struct train_bound *out)
{
	struct train_ask *ask = &out->ask;

	*out = (struct train_bound){.ask = {.zero = datum_absent(), .n_mtp = q->train->mtp}};
	ask->model = run_model(r, q->memory.memory->model);
	if (!ask->model)
		return false;
	const char *why = train_lacks(ask->model);
	if (why) {
		diag_error(r->diag, q->memory.memory->model.from, "%s: %s", ask->model->id, why);
		diag_hint(r->diag, "models whose layers all attend have a time");
		return false;
	}
	if (!bind_stack(r, q, out) || !run_train_machine_of(r, q, out) || !bind_words(r, q, out) ||
	    !bind_layout(r, q, out) || !bind_batch(r, q, out))
		return false;
	ask->stack = out->stack;
	ask->zero_bubble = q->train->bubbles;
	ask->balanced_stages = q->train->balanced;
	ask->optimizer_byte = optimizer_traffic(run_word(r, "optimizer", q->memory.training->optimizer));
	if (!datum_given(ask->n_mtp) && datum_or(ask->model->n_mtp, 0) > 0)
		run_assume(r, "mtp %g", ask->model->n_mtp.value);
	out->doubts.n_nodes = ceil(ask->n_gpus.value / ask->machine.n_domain);
	return true;
}
