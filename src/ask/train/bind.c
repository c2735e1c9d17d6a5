/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convert the options of `ridge train` to a training job. */
#include "ask/bind/bind.h"
#include "ask/train/train.h"
#include "cli/cli.h"

#include <string.h>

/* --- where ----------------------------------------------------------------------------------------------- */

static bool
bind_system(struct run *r, const struct train_question *q, struct train_bound *out)
{
	const struct memory_in *in = q->memory.memory;
	struct word name;

	if (!run_gpu_name(r, in->gpu, in->system, &name))
		return false;
	if (!name.text)
		return run_refuse(r, (struct source){0}, "no GPU given", "add --system dgx-h100, or --gpu h100");
	out->gpu = run_gpu(r, name);
	if (!out->gpu)
		return false;
	if (in->system.text) {
		out->system = run_system(r, in->system);
		return out->system != NULL;
	}
	out->system = run_usual_system(r, out->gpu);
	if (out->system)
		run_assume_value(r, "system", "%s", out->system->id);
	return true;
}

/* Fewer GPUs of a node than it has. */
static bool
bind_node(struct run *r, const struct train_in *in, struct train_machine *m)
{
	if (!run_whole(r, "--node-gpus", in->node_gpus, 1))
		return false;
	if (!datum_given(in->node_gpus))
		return true;
	if (in->node_gpus.value > m->n_domain) {
		diag_error(r->diag, in->node_gpus.from, "--node-gpus %g: a node has %g GPUs", in->node_gpus.value,
		    m->n_domain);
		diag_hint(r->diag, "use at most %g, or another --system", m->n_domain);
		return false;
	}
	run_reads(r, &in->node_gpus, NULL);
	m->n_domain = in->node_gpus.value;
	return true;
}

/* Every collective at the share of the line rate that was given; trees, which reach less of it, at no more. */
static const struct network_calibration *
reached(struct run *r, const struct network_calibration *network, struct datum frac)
{
	struct network_calibration *all = ARENA_ARRAY(r->arena, struct network_calibration, N_COLLECTIVES);

	for (int i = 0; i < N_COLLECTIVES; i++) {
		all[i] = network[i];
		all[i].nic_frac = frac;
		if (all[i].tree_frac.value > frac.value)
			all[i].tree_frac = frac;
	}
	return all;
}

static bool
bind_train_network(struct run *r, const struct train_in *in, struct train_machine *m)
{
	if (!run_positive(r, "--nic-bandwidth", in->nic) || !run_positive(r, "--nic-efficiency", in->nic_reach) ||
	    !run_fraction(r, "--nic-efficiency", in->nic_reach))
		return false;
	if (datum_given(in->nic))
		m->nic_byte_per_s = in->nic.value;
	if (datum_given(in->nic_reach))
		m->network = reached(r, m->network, in->nic_reach);
	return true;
}

/* Idle GPUs draw about a tenth of their limit (60 to 75 W of 700 W as nvidia-smi shows it on H100 SXM5): no limit goes
 * below that, and none above it acts. */
static bool
bind_power(struct run *r, const struct train_in *in, struct train_bound *out)
{
	static const double IDLE = 0.1;
	const struct datum tdp = out->gpu->tdp_watt, limit = in->power_limit;

	out->tdp_watt = tdp;
	if (!datum_given(limit))
		return true;
	if (!datum_given(tdp))
		return run_refuse(r, limit.from, "--power-limit: the power of this GPU is unknown", "leave it out");
	if (limit.value < IDLE * tdp.value || limit.value > tdp.value) {
		diag_error(r->diag, limit.from, "--power-limit %g W is not between %g W (idle) and %g W (TDP)",
		    limit.value, IDLE * tdp.value, tdp.value);
		diag_hint(r->diag, "leave it out for the TDP");
		return false;
	}
	run_reads(r, &in->power_limit, NULL);
	out->ask.machine.power_frac *= sqrt(limit.value / tdp.value);
	out->tdp_watt = limit;
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
		diag_error(r->diag, q->memory.memory->gpu.from, "no calibration of %s", out->gpu->id);
		diag_hint(r->diag, "use a calibrated GPU ('ridge hw list'), or 'ridge roofline', which needs none");
		return false;
	}
	if (!out->system)
		run_assume(r, "%g GPUs per node, %g GB/s of network per GPU", m->n_domain, m->nic_byte_per_s / 1e9);
	if (!bind_node(r, in, m) || !bind_train_network(r, in, m) || !bind_power(r, in, out))
		return false;
	if (m->kernels->transfer_note)
		run_assume(r, "kernels of %s %s", out->gpu->id, m->kernels->transfer_note);
	out->doubts.transferred = m->kernels->transferred_from != NULL;
	out->doubts.unmeasured = !run_train_links_measured(r, out->gpu);
	out->doubts.ultra = out->gpu->architecture && strcmp(out->gpu->architecture, "blackwell-ultra") == 0;
	return true;
}

/* --- the job --------------------------------------------------------------------------------------------- */

bool
train_is_training(struct run *r, const struct memory_in *in)
{
	const struct source nowhere = {0};

	run_reads(r, &in->use, NULL);
	if (!in->infer && strcmp(in->use.text, "infer") != 0)
		return true;
	return run_refuse(r, in->infer ? nowhere : in->use.from, "--infer is not training",
	    "use 'ridge memory --infer' for memory, 'ridge serve' for time");
}

/* The job of `ridge memory` with the same words: both commands answer for one job. */
static bool
bind_memory(struct run *r, const struct train_question *q, struct train_bound *out)
{
	const struct memory_in *in = q->memory.memory;
	struct memory_question memory = q->memory;
	const struct gpu *gpu;

	if (!train_is_training(r, in))
		return false;
	memory.no_rule = &out->no_memory;
	if (!run_memory_job(r, &memory, &out->memory, &gpu))
		return false;
	if (out->memory.stack->time.given)
		return true;
	diag_error(r->diag, in->stack.from, "%s has no training time model", out->memory.stack->id);
	diag_hint(r->diag, "use --stack megatron-core or torchtitan, or add 'time' to its file");
	return false;
}

static bool
bind_packing(struct run *r, const struct train_question *q, struct train_ask *ask)
{
	ask->packed_length = q->train->packed;
	if (!run_whole(r, "--packed", ask->packed_length, 1))
		return false;
	if (!train_may_pack(ask->stack, ask->packed_length, datum_or(ask->n_sequences, 1))) {
		diag_error(r->diag, ask->n_sequences.from, "packed samples take micro-batches of one sequence in %s",
		    ask->stack->name);
		diag_hint(r->diag, "use --batch 1, and %g times the sequence length", ask->n_sequences.value);
		return false;
	}
	if (!(datum_or(ask->packed_length, 0) > ask->seq_length.value))
		return true;
	diag_error(r->diag, ask->packed_length.from, "samples of %g tokens exceed the sequence length %g",
	    ask->packed_length.value, ask->seq_length.value);
	diag_hint(r->diag, "use at most %g, or a longer --seq", ask->seq_length.value);
	return false;
}

bool
run_train_routes(const struct layout *l, const struct train_bound *b)
{
	/* inside a domain dispatchers differ in their buffers */
	return l->ep * l->etp > b->ask.machine.n_domain || (l->ep > 1 && b->stack->hybrid_ep && !b->no_memory);
}

/* What time alone depends on. */
static bool
bind_schedule(struct run *r, const struct train_question *q, struct train_bound *out)
{
	const struct training_in *t = q->memory.training;
	struct train_ask *ask = &out->ask;

	if (run_train_routes(&ask->layout, out))
		run_reads(r, &q->train->dispatcher, NULL);
	if (ask->layout.pp > 1)
		run_reads(r, &q->train->bubbles, &q->train->balanced, NULL);
	run_reads(r, &t->optimizer, &t->offload, &q->train->packed, NULL);
	if (!ask->adapters)
		run_reads(r, &t->states, &t->moment_dtype, NULL);
	ask->attention = !t->attention.text                   ? N_ATTENTION_FORMS
	    : strcmp(t->attention.text, "unfused") == 0       ? ATTENTION_UNFUSED
	    : out->stack->time.attention == ATTENTION_UNFUSED ? ATTENTION_FLASH2
	                                                      : out->stack->time.attention;
	ask->dispatcher = !q->train->dispatcher.text          ? DISPATCH_OPEN
	    : strcmp(q->train->dispatcher.text, "dedup") == 0 ? DISPATCH_DEDUP
	                                                      : DISPATCH_PLAIN;
	if (ask->dispatcher != DISPATCH_OPEN)
		out->memory.dedup = ask->dispatcher == DISPATCH_DEDUP;
	ask->context = memory_context(t, out->stack);
	ask->zero_bubble = q->train->bubbles || strcmp(q->memory.training->schedule.text, "zero-bubble") == 0;
	if (ask->zero_bubble && ask->layout.pp > 1 && !out->stack->zero_bubble)
		run_warn(r, "stack %s has no zero-bubble schedule", out->stack->id);
	ask->balanced_stages = q->train->balanced;
	return bind_packing(r, q, ask);
}

bool
run_train_bind(struct run *r, const struct train_question *q, struct train_bound *out)
{
	struct train_ask *ask = &out->ask;

	*out = (struct train_bound){.ask = {.n_mtp = datum_absent()}};
	const struct workload *w = run_model(r, q->memory.memory->model);
	if (!w)
		return false;
	const char *why = train_lacks(w);
	if (why) {
		diag_error(r->diag, q->memory.memory->model.from, "%s: %s", w->id, why);
		diag_hint(r->diag, "use a model whose layers attend or are Mamba-2");
		return false;
	}
	if (!bind_memory(r, q, out) || !run_train_machine_of(r, q, out))
		return false;
	out->stack = out->memory.stack;
	train_ask_memory(ask, &out->memory);
	if (!bind_schedule(r, q, out))
		return false;
	if (ask->n_gpus > ask->machine.n_domain)
		run_reads(r, &q->train->nic, &q->train->nic_reach, NULL);
	out->doubts.n_nodes = ceil(ask->n_gpus / ask->machine.n_domain);
	return true;
}
