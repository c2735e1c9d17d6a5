/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which framework or engine a job runs on. */
#include "ask/bind/bind.h"
#include "cli/cli.h"
#include "db/db.h"

#include <string.h>

const struct stack *
bind_stack(struct run *r, struct word name, const struct workload *model)
{
	const struct node *overlay = run_overlay(r, "stack");
	const char *said;
	const struct stack *s = database_stack(r->database, r->arena, r->diag, name.text, overlay, name.from, &said);

	run_read_from(r, name.from);
	if (s && said)
		run_assume_as(r, "stack", s->id, "%s", said);
	if (!s || !s->time.except || !s->time.instead || !model->id || !text_lists(s->time.except, model->id))
		return s;
	run_assume_as(
	    r, "stack", s->time.instead, "stack %s: the recipes of %s are still those", s->time.instead, model->id);
	return database_stack(r->database, r->arena, r->diag, s->time.instead, overlay, name.from, &said);
}

static bool
above(struct datum degree, double least)
{
	return datum_given(degree) && degree.value > least;
}

/* What people run such a job with, the first row that holds.  Frameworks that shard parameters or gradients and train
 * adapters know no model parallelism, but for torchtitan; Megatron-Core has everything but those. */
static const char *
usual_stack(const struct software_ask *ask)
{
	const struct layout_in *l = ask->layout;
	const bool zero3 = l->fsdp || above(l->zero, 2), zero2 = zero3 || above(l->zero, 1);
	const bool split = above(l->tp, 1) || above(l->pp, 1) || above(l->cp, 1) || above(l->ep, 1);
	const struct {
		bool holds;
		const char *stack;
	} rows[] = {
	    {ask->use == STACK_INFER, "vllm"},
	    {ask->adapters && !split && zero2, "torchtune"},
	    {ask->adapters && !split, "hf-peft"},
	    {zero3 || (zero2 && split), "torchtitan"},
	    {zero2, "hf-deepspeed"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].holds)
			return rows[i].stack;
	return "megatron-core";
}

const struct stack *
bind_software(struct run *r, const struct software_ask *ask)
{
	struct word name = ask->name;

	if (!name.text) {
		name = (struct word){usual_stack(ask), {inputs_default, 0, 0, NULL, false}};
		run_assume_value(r, "stack", "%s", name.text);
	}
	const struct stack *s = bind_stack(r, name, ask->model);
	if (!s || s->use == ask->use)
		return s;
	diag_error(r->diag, name.from, "%s is for %s", s->id, ask->use == STACK_TRAIN ? "serving" : "training");
	diag_hint(r->diag,
	    ask->use == STACK_TRAIN ? "say --infer, or --stack %s" : "leave --infer out, or say --stack %s",
	    usual_stack(ask));
	return NULL;
}
