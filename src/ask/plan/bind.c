/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convert the options of `ridge plan train` to a space of layouts. */
#include "ask/plan/plan.h"

#include <stdlib.h>
#include <string.h>

static bool
refuse(struct run *r, struct source at, const char *what, const char *hint)
{
	diag_error(r->diag, at, "%s", what);
	diag_hint(r->diag, "%s", hint);
	return false;
}

/* --- pins ------------------------------------------------------------------------------------------------ */

static bool
bad_pin(struct run *r, const char *name, struct word w)
{
	diag_error(r->diag, w.from, "'%s' is not a value of %s", w.text, name);
	diag_hint(r->diag, "write for example --layout %s=4, %s=2..8 or %s=1/2/8", name, name, name);
	return false;
}

/* `8`, `4..16`, `1/2/8..16`. */
static bool
bind_pin(struct run *r, const char *name, long least, struct word w, struct layout_pin *out)
{
	const char *s = w.text;

	for (out->n = 0; s; out->n++) {
		char *end;
		if (out->n == MOST_PIN_RANGES)
			return refuse(r, w.from, "too many alternatives", "use a range, such as 1..16");
		const long low = strtol(s, &end, 10);
		long high = low;
		if (end == s)
			return bad_pin(r, name, w);
		if (end[0] == '.' && end[1] == '.') {
			s = end + 2;
			high = strtol(s, &end, 10);
			if (end == s)
				return bad_pin(r, name, w);
		}
		if ((*end && *end != '/') || low < least || high > 1000000)
			return bad_pin(r, name, w);
		if (high < low) {
			diag_error(r->diag, w.from, "%s=%s is reversed", name, w.text);
			diag_hint(r->diag, "write %s=%ld..%ld", name, high, low);
			return false;
		}
		out->ranges[out->n].low = (double)low;
		out->ranges[out->n].high = (double)high;
		s = *end ? end + 1 : NULL;
	}
	return true;
}

static bool
bind_pins(struct run *r, const struct plan_in *in, struct layout_space *s)
{
	bool ok = true;

	for (int d = 0; d < N_DEGREES; d++) {
		const struct word w = in->layout.degrees[d];
		if (w.text)
			ok = bind_pin(r, layout_degree_name((enum layout_degree)d), d == DEGREE_ZERO ? 0 : 1, w,
			         &s->pins[d]) &&
			    ok;
		run_reads(r, &in->layout.degrees[d], NULL);
	}
	s->across = in->layout.across;
	s->shard = datum_or(in->layout.shard, 0);
	run_reads(r, &in->layout.across, &in->layout.shard, NULL);
	return ok && run_whole(r, "shard", in->layout.shard, 1);
}

/* --- the job --------------------------------------------------------------------------------------------- */

static bool
has_need(struct run *r, const struct plan_in *in)
{
	if (!in->memory.model.text)
		return refuse(r, (struct source){0}, "no model given",
		    "ridge plan train llama3-70b --system dgx-h100 --gpus 64 --global-batch 128");
	if (in->training.stage_layers.n > 0)
		return refuse(r, in->training.stage_layers.list[0].from, "plan splits layers evenly over stages",
		    "use 'ridge train --stage-layers' for a list");
	if (!datum_given(in->memory.gpus))
		return refuse(r, (struct source){0}, "no number of GPUs given", "add for example --gpus 64");
	if (!datum_given(in->memory.global_batch))
		return refuse(r, (struct source){0}, "no global batch given",
		    "add for example --global-batch 128: it is the same for every layout");
	return run_whole(r, "--gpus", in->memory.gpus, 1) &&
	    run_whole(r, "--global-batch", in->memory.global_batch, 1) &&
	    run_whole(r, "--batch", in->memory.batch, 1) && run_whole(r, "--top", in->top, 1) &&
	    run_whole(r, "--threads", in->threads, 1);
}

/* One replica on one GPU with one micro-batch: all that does not depend on the layout. */
static void
set_question(const struct plan_in *in, struct plan_question *out)
{
	static const struct serving_in serving;
	static const struct numbers_in numbers;
	const struct datum none = datum_absent(), one = {1, {NULL, 0, 0, NULL, false}};

	out->memory = in->memory;
	out->memory.gpus = out->memory.global_batch = none;
	out->memory.batch = out->memory.microbatches = one;
	out->layout = (struct layout_in){.dp = none,
	    .tp = none,
	    .pp = none,
	    .vp = none,
	    .cp = none,
	    .ep = none,
	    .etp = none,
	    .zero = none,
	    .shard = none};
	out->question.memory =
	    (struct memory_question){&out->memory, &in->training, &serving, &numbers, &out->layout, NULL};
	out->question.train = &in->train;
}

static void
bind_policies(struct run *r, const struct plan_in *in, struct layout_space *s)
{
	const struct words *said = &in->training.recompute;

	run_reads(r, said, NULL);
	if (said->n == 0 || said->list[0].from.file == inputs_default) {
		layout_policies(s);
		return;
	}
	const char *text = said->list[0].text;
	for (size_t i = 1; i < said->n; i++)
		text = arena_printf(r->arena, "%s,%s", text, said->list[i].text);
	s->policies[0] = (struct layout_policy){s->memory.recompute, s->memory.recompute_n, s->memory.modules, text};
	s->n_policies = 1;
}

/* What other commands read by the layout that they have. */
static void
reads(struct run *r, const struct plan_in *in, const struct layout_space *s)
{
	const struct memory_in *m = &in->memory;
	const bool pipelines = s->memory.stack->pipeline && s->n_gpus > 1;

	run_reads(r, &in->verb, &in->top, &in->all, &in->threads, &m->model, &m->gpu, &m->system, &m->gpus,
	    &m->global_batch, &m->batch, &m->seq, &m->dtype, &m->stack, &m->infer, &m->use, NULL);
	if (s->memory.stack->tensor && s->n_gpus > 1)
		run_reads(r, &in->training.no_sp, NULL);
	if (s->modeled)
		run_reads(r, &m->gpu_mem, &m->headroom, NULL);
	if (!in->train.no_memory)
		run_reads(r, &m->counter, NULL);
	if (s->memory.stack->context && s->n_gpus > 1 && layout_pin_allows(&s->pins[DEGREE_CP], 2))
		run_reads(r, &in->training.cp_comm, NULL);
	if (pipelines)
		run_reads(r, &in->train.bubbles, &in->train.balanced, NULL);
	if (s->n_gpus > s->ask.machine.n_domain)
		run_reads(r, &in->train.nic, &in->train.nic_reach, NULL);
	if (s->n_gpus > s->ask.machine.n_domain && workload_has_experts(s->memory.model))
		run_reads(r, &in->train.dispatcher, NULL);
}

bool
plan_bind(struct run *r, const struct plan_in *in, struct plan_question *out)
{
	struct layout_space *s = &out->space;

	*out = (struct plan_question){0};
	if (!has_need(r, in) || !bind_pins(r, in, s))
		return false;
	set_question(in, out);
	if (!run_train_bind(r, &out->question, &out->train))
		return false;
	s->ask = out->train.ask;
	s->memory = out->train.memory;
	s->n_gpus = in->memory.gpus.value;
	s->n_global_sequences = in->memory.global_batch.value;
	s->n_sequences = in->memory.batch.from.file == inputs_default ? 0 : in->memory.batch.value;
	s->modeled = !out->train.no_memory && datum_given(s->memory.card_byte) && !in->train.no_memory;
	s->n_rows = (size_t)in->top.value;
	s->exhaustive = in->all;
	s->n_threads = datum_given(in->threads) ? (size_t)in->threads.value : 0;
	out->train.doubts.n_nodes = ceil(s->n_gpus / s->ask.machine.n_domain);
	bind_policies(r, in, s);
	reads(r, in, s);
	if (!in->train.no_memory)
		memory_reads(r, &out->question.memory, &s->memory);
	run_reads(r, &in->train.no_memory, NULL);
	return true;
}
