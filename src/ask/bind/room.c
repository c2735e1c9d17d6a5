/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The room that a serving engine leaves to its cache: of the card its share, less weights, the activations of its
 * largest step and its context, in blocks.  A headroom that is asked for takes the place of the engine's own rule. */
#include "ask/bind/bind.h"

#include "cli/cli.h"

static bool
check(struct run *r, const struct room_in *in, const struct stack *engine)
{
	const struct datum share = in->utilization;

	if (in->headroom.value >= 1)
		return run_refuse(r, in->headroom.from, "--headroom must be below 1", "write 0.2 or 20%");
	if (!datum_given(share))
		return true;
	if (share.value > 1 || !(share.value > 0))
		return run_refuse(r, share.from, "--utilization must be above 0 and at most 1", "write 0.9 or 90%");
	if (engine->pool == POOL_NONE)
		return run_refuse(r, share.from, "this engine has no memory utilization setting", "use --headroom");
	if (datum_given(in->headroom))
		return run_refuse(r, share.from, "--headroom and --utilization exclude each other", "keep one");
	return true;
}

bool
serve_headroom(struct run *r, struct datum headroom, struct serve_parts *p)
{
	const struct room_in in = {headroom, datum_absent(), datum_absent(), datum_absent()};

	if (!check(r, &in, &p->engine->memory))
		return false;
	run_read_from(r, headroom.from);
	p->card_frac = datum_given(headroom) ? 1 - headroom.value : 0;
	return true;
}

static struct datum
given_or(struct datum given, struct datum usual)
{
	return datum_given(given) ? given : usual;
}

bool
bind_room(struct run *r, const struct room_in *in, const struct stack *engine, const struct formats *f,
    struct datum card, struct memory_job *job)
{
	if (!check(r, in, engine))
		return false;
	run_read_from(r, in->block.from);
	if (datum_given(card)) {
		run_read_from(r, in->headroom.from);
		run_read_from(r, in->utilization.from);
		run_read_from(r, in->step_token.from);
	}
	job->use = STACK_INFER;
	job->stack = engine;
	job->dtype = dtype_byte(f->compute) > 2 ? f->compute : DTYPE_BF16;
	for (int p = 0; p < N_PARTS; p++)
		job->part_byte[p] = f->part_byte[p];
	job->kv_elem_byte = dtype_byte(f->kv);
	job->block_token = given_or(in->block, engine->block_token);
	job->batch_token = given_or(in->step_token, engine->batch_token);
	job->utilization = given_or(in->utilization, engine->utilization);
	job->context_byte = engine->counter_byte[COUNTER_DEVICE];
	job->card_byte = card;
	job->headroom_frac = in->headroom;
	return true;
}

void
bind_served_degrees(struct run *r, const struct layout_in *in)
{
	run_reads(r, &in->tp, &in->pp, &in->ep, &in->adp, &in->attention_dp, NULL);
	if (in->tp.value > 8)
		run_reads(r, &in->across, NULL);
}
