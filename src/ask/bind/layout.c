/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The layout of a job: degrees that were said, and what the framework does where none was. */
#include "ask/bind/bind.h"
#include "ask/memory/memory.h"
#include "ask/train/train.h"
#include "db/db.h"
#include "db/tree.h"
#include "search/plan/plan.h"

#include <string.h>

static bool
refuse(struct run *r, struct source at, const char *what, const char *hint)
{
	diag_error(r->diag, at, "%s", what);
	diag_hint(r->diag, "%s", hint);
	return false;
}

/* --- what is left open ----------------------------------------------------------------------------------- */

/* One word for all that nobody said, as --layout takes it: `layout zero=1,sp`. */
static void
assume(struct run *r, const struct layout_ask *ask, const struct layout *l)
{
	const struct layout_in *in = ask->in;
	const bool experts = workload_has_experts(ask->model), trains = ask->stack->use == STACK_TRAIN;
	const struct {
		bool open;
		const char *name;
		double degree; /* NaN: a word alone */
	} parts[] = {
	    {trains && !datum_given(in->vp) && l->vp > 1, "vp", l->vp},
	    {experts && !datum_given(in->ep) && l->dp * l->cp * l->tp > 1, "ep", l->ep},
	    {experts && !datum_given(in->etp) && l->etp > 1, "etp", l->etp},
	    {trains && !datum_given(in->zero) && !in->fsdp && l->zero > 0, "zero", l->zero},
	    {trains && !in->sp && l->sp, "sp", NAN},
	};
	const char *text = NULL;

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (!parts[i].open)
			continue;
		text = arena_printf(r->arena, "%s%s%s", text ? text : "", text ? "," : "", parts[i].name);
		if (!isnan(parts[i].degree))
			text = arena_printf(r->arena, "%s=%g", text, parts[i].degree);
	}
	if (text)
		run_assume_value(r, "layout", "%s", text);
}

static void
fill(const struct layout_ask *ask, struct layout *l)
{
	const struct layout_in *in = ask->in;

	if (!datum_given(in->etp))
		l->etp = layout_usual_etp(ask->model, l);
	if (ask->stack->use == STACK_INFER)
		return;
	if (!datum_given(in->vp))
		l->vp = layout_usual_chunks(ask->stack, ask->model, l->pp);
	if (!datum_given(in->zero) && !in->fsdp)
		l->zero = layout_usual_zero(ask->stack, ask->adapters, l->dp * l->cp);
	if (!in->sp && !ask->no_sp)
		l->sp = layout_usual_sp(ask->stack, l->tp);
}

/* --- what no framework takes ----------------------------------------------------------------------------- */

/* What a layout asks for and the framework has not. */
static bool
check_forms(struct run *r, const struct layout_ask *ask, const struct layout *l)
{
	const struct stack *s = ask->stack;
	const struct layout_in *in = ask->in;
	const bool train = s->use == STACK_TRAIN;
	const char *const general = train ? "megatron-core or torchtitan" : "vllm";
	const struct {
		bool wanted, has;
		const char *name, *instead;
		struct datum given;
	} forms[] = {{l->tp > 1, s->tensor, "tensor parallelism", general, in->tp},
	    {l->pp > 1, s->pipeline, "pipeline parallelism", general, in->pp},
	    {l->cp > 1, s->context, "context parallelism", train ? general : NULL, in->cp},
	    {l->ep > 1, s->expert, "expert parallelism", train ? "megatron-core" : "vllm", in->ep},
	    {l->sp && l->tp > 1, s->sequence, "sequence parallelism", train ? general : NULL, in->tp}};

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (forms[i].wanted && !forms[i].has) {
			diag_error(r->diag, forms[i].given.from, "the stack %s has no %s", s->id, forms[i].name);
			if (forms[i].instead)
				diag_hint(r->diag, "use --stack %s", forms[i].instead);
			else
				diag_hint(r->diag, "engines divide models by tp, pp and ep");
			return false;
		}
	return true;
}

static bool
check_pipeline(struct run *r, const struct layout_ask *ask, const struct layout *l)
{
	const double most = layout_most_chunks(ask->model);

	if (l->vp > 1 && l->pp < 2)
		return refuse(r, ask->in->vp.from, "without pipeline stages (pp) there are no chunks (vp) of them",
		    "leave vp out, or say pp=2");
	if (l->pp * l->vp <= most)
		return true;
	diag_error(r->diag, ask->in->vp.from,
	    "pp x vp = %g chunks are more than the model's %g layers, embedding and loss among them", l->pp * l->vp,
	    most);
	diag_hint(r->diag, "the most that it can be divided into is vp=%g", fmax(1, floor(most / l->pp)));
	return false;
}

/* Without sequence parallelism every rank of a tensor-parallel group would dispatch the same tokens; Megatron-Core
 * refuses to train so (megatron/core/transformer/moe/moe_layer.py). */
static bool
check_experts(struct run *r, const struct layout_ask *ask, const struct layout *l)
{
	const struct stack *s = ask->stack;

	if (s->rules != RULES_MEGATRON_CORE || !s->sequence || l->tp < 2 || l->sp || !workload_has_experts(ask->model))
		return true;
	return refuse(r, ask->in->tp.from,
	    "Megatron trains experts with tensor parallelism only beside sequence parallelism",
	    "add sp, as in --layout tp=2,sp, and leave --no-sp out");
}

static bool
check_sharding(struct run *r, const struct layout_ask *ask, const struct layout *l)
{
	if (!datum_given(ask->in->shard) || l->zero > 0)
		return true;
	return refuse(r, ask->in->shard.from, "a hybrid shard divides nothing without ZeRO", "add zero=1, 2 or 3");
}

/* `sp: false` of a job file says what --no-sp says. */
static bool
says_no_sp(const struct run *r, const struct layout_in *in)
{
	return tree_at(r->inputs, "layout.sp") && !in->sp;
}

bool
bind_layout(struct run *r, const struct layout_ask *given, struct layout *out)
{
	struct layout_ask all = *given;
	const struct layout_ask *ask = &all;

	all.no_sp = all.no_sp || says_no_sp(r, all.in);
	if (!run_layout(r, ask->in, ask->n_gpus, ask->model, out))
		return false;
	if (ask->no_sp && ask->in->sp)
		return refuse(r, (struct source){0}, "sp and --no-sp exclude each other", "keep one");
	fill(ask, out);
	if (!check_forms(r, ask, out))
		return false;
	if (ask->stack->use == STACK_TRAIN &&
	    !(check_pipeline(r, ask, out) && check_experts(r, ask, out) && check_sharding(r, ask, out)))
		return false;
	run_read_from(r, ask->n_gpus.from);
	if (ask->stack->use == STACK_TRAIN)
		run_reads(r, &ask->in->vp, &ask->in->zero, &ask->in->fsdp, &ask->in->shard, &ask->in->sp, NULL);
	assume(r, ask, out);
	return true;
}

/* --- nodes ----------------------------------------------------------------------------------------------- */

double
bind_node_gpus(struct run *r, const struct memory_in *in)
{
	struct run quiet = *r;

	quiet.diag = diag_new(r->arena);
	quiet.database = database_reporting_to(r->database, quiet.diag);
	quiet.assumed = (struct assumptions){0};
	return run_domain_gpus(in->system.text ? run_system(&quiet, in->system) : NULL);
}
