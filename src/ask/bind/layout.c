/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bind the layout of a job: given degrees of parallelism, and the framework's defaults. */
#include "ask/bind/bind.h"

#include "ask/memory/memory.h"
#include "ask/train/train.h"
#include "cli/cli.h"
#include "db/db.h"
#include "db/tree.h"
#include "model/memory/memory.h"
#include "search/plan/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- degrees ------------------------------------------------------------------------------------------------- */

/* --layout: the degrees of parallelism, checked against the GPUs and the model.  What does not divide is refused with
 * the nearest that does. */

#define THIS struct layout_in
const struct option layout_rows[] = {LAYOUT_OPTIONS(OPTION_ROW)};
#undef THIS

static bool
whole(struct run *r, struct datum d, const char *name, double least, double *out)
{
	if (!datum_given(d))
		return true;
	if (d.value != floor(d.value) || d.value < least || d.value > 1e6) {
		diag_error(r->diag, d.from, "%s must be a whole number of at least %g", name, least);
		diag_hint(r->diag, "write for example --layout %s=%g", name, least + 1);
		return false;
	}
	*out = d.value;
	return true;
}

static double
nearest_divisor(double of, double wanted)
{
	double best = 1;

	for (double x = 1; x <= of; x++)
		if (fmod(of, x) == 0 && fabs(x - wanted) < fabs(best - wanted))
			best = x;
	return best;
}

/* Whether tp GPUs can be dealt the heads of every layer. */
static bool
deals_blocks(const struct workload *w, double tp)
{
	for (int i = 0; i < w->n_blocks; i++) {
		const struct datum heads = block_heads(&w->blocks[i]);
		if ((datum_given(heads) && fmod(heads.value, tp) != 0) ||
		    !layout_deals_heads(&w->blocks[i].attention, tp))
			return false;
	}
	return true;
}

/* The nearest number of GPUs among which all heads can be dealt. */
static double
nearest_tp(const struct workload *w, double wanted)
{
	for (double away = 0; away < wanted; away++) {
		if (deals_blocks(w, wanted - away))
			return wanted - away;
		if (deals_blocks(w, wanted + away))
			return wanted + away;
	}
	return 1;
}

static bool
does_not_divide(struct run *r, struct datum from, const char *name, double value, double of, const char *what)
{
	if (fmod(of, value) == 0)
		return false;
	diag_error(r->diag, from.from, "%s=%g does not divide the model's %g %s", name, value, of, what);
	return true;
}

static bool
is_serving(const struct run *r)
{
	static const char *const serving[] = {"serve", "plan serve", "capacity", "kv", "memory", "validate"};

	for (size_t i = 0; i < sizeof serving / sizeof *serving; i++)
		if (strcmp(r->command->name, serving[i]) == 0)
			return true;
	return false;
}

/* Servers that spread experts widely hold some of them twice, so that every rank has as many. */
static bool
holds_twice(struct run *r, const struct layout *l, const struct moe *moe)
{
	const double n = moe->n_experts.value, each = ceil(n / l->ep);

	if (!is_serving(r) || !l->adp || l->ep >= n || fmod(n, l->ep) == 0)
		return false;
	run_assume(r, "%g redundant experts: each of the %g ranks holds %g of %g", each * l->ep - n, l->ep, each, n);
	return true;
}

static bool
divides_model(struct run *r, const struct layout_in *in, const struct workload *w, const struct layout *l)
{
	bool ok = true;

	if (l->pp > w->n_layers.value) {
		diag_error(r->diag, in->pp.from, "pp=%g exceeds the model's %g layers", l->pp, w->n_layers.value);
		diag_hint(r->diag, "use at most pp=%g", w->n_layers.value);
		ok = false;
	}
	for (int i = 0; i < w->n_blocks; i++) {
		const struct block *b = &w->blocks[i];
		const struct datum heads = block_heads(b);
		const char *kind = b->mixer == MIXER_ATTENTION ? "attention heads" : "heads of recurrent layers";
		if (l->tp > 1 && !l->adp && datum_given(heads) &&
		    does_not_divide(r, in->tp, "tp", l->tp, heads.value, kind)) {
			diag_hint(r->diag, "nearest: tp=%g", nearest_tp(w, l->tp));
			ok = false;
		}
		if (ok && l->tp > 1 && !layout_deals_heads(&b->attention, l->tp)) {
			diag_error(r->diag, in->tp.from,
			    "the model's %g KV heads are neither a multiple nor a divisor of tp=%g",
			    b->attention.n_kv_heads.value, l->tp);
			diag_hint(r->diag, "use tp=%g", nearest_tp(w, l->tp));
			ok = false;
		}
		if (l->ep > 1 && b->moe.given && !holds_twice(r, l, &b->moe) &&
		    does_not_divide(r, in->ep, "ep", l->ep, b->moe.n_experts.value, "experts")) {
			diag_hint(r->diag, "nearest: ep=%g", nearest_divisor(b->moe.n_experts.value, l->ep));
			ok = false;
		}
		if (!ok)
			return false;
	}
	bool experts = false;
	for (int i = 0; i < w->n_blocks; i++)
		experts = experts || w->blocks[i].moe.given;
	if (l->ep > 1 && !experts) {
		diag_error(r->diag, in->ep.from, "ep=%g, but %s has no experts", l->ep, w->id);
		diag_hint(r->diag, "leave ep out");
		ok = false;
	}
	return ok;
}

static bool
fits_gpus(struct run *r, const struct layout_in *in, struct datum n_gpus, struct layout *l)
{
	const double copy = l->tp * l->pp * l->cp;

	if (!datum_given(n_gpus))
		return true;
	if (!datum_given(in->dp)) {
		if (fmod(n_gpus.value, copy) != 0) {
			diag_error(r->diag, n_gpus.from, "%g GPUs are not a multiple of tp x pp x cp = %g",
			    n_gpus.value, copy);
			diag_hint(r->diag, "nearest: %g GPUs", fmax(copy, copy * floor(n_gpus.value / copy + 0.5)));
			return false;
		}
		l->dp = n_gpus.value / copy;
	} else if (copy * l->dp != n_gpus.value) {
		diag_error(r->diag, n_gpus.from, "the layout needs %g GPUs (dp %g x tp %g x pp %g x cp %g), not %g",
		    copy * l->dp, l->dp, l->tp, l->pp, l->cp, n_gpus.value);
		if (fmod(n_gpus.value, copy) == 0)
			diag_hint(r->diag, "write dp=%g, or leave dp out", n_gpus.value / copy);
		else
			diag_hint(r->diag, "leave the number of GPUs out, or use %g", copy * l->dp);
		return false;
	}
	return true;
}

/* --- nodes ----------------------------------------------------------------------------------------------- */

static const char *
asked_name(const struct run *r, const char *path)
{
	const struct node *n = tree_at(r->inputs, path);

	if (n && n->kind == NODE_MAP)
		n = tree_get(n, "name");
	return n && n->kind == NODE_SCALAR ? n->text : NULL;
}

/* The most GPUs of this kind that any system joins without a network; 0 when no system is known. */
static double
largest_domain(struct database *db, const char *name)
{
	const char *said;
	const struct gpu *gpu = database_gpu(db, name, NULL, (struct source){0}, &said);
	size_t n;
	const char **ids = database_list(db, ENTRY_SYSTEM, &n);
	double most = 0;

	for (size_t i = 0; gpu && i < n; i++) {
		const char *id;
		const struct node *of = tree_get(database_try(db, ENTRY_SYSTEM, ids[i], &id), "gpu");
		if (!of || of->kind != NODE_SCALAR || !of->text || strcmp(of->text, gpu->id) != 0)
			continue;
		const struct system *s = database_system(db, ids[i], NULL, NULL, (struct source){0}, &said);
		if (s && datum_given(s->n_domain_gpus) && s->n_domain_gpus.value > most)
			most = s->n_domain_gpus.value;
	}
	return most;
}

double
run_node_gpus(struct run *r)
{
	struct database *quiet = database_reporting_to(r->database, diag_new(r->arena));
	const char *system = asked_name(r, "system"), *gpu = asked_name(r, "gpu"), *said;

	if (system) {
		const struct system *s = database_system(quiet, system, NULL, NULL, (struct source){0}, &said);
		return s ? datum_or(s->n_domain_gpus, 0) : 0;
	}
	return gpu && !strchr(gpu, ',') ? largest_domain(quiet, gpu) : 0;
}

/* Tensor parallelism over a network is a mistake more often than a plan: it must be said. */
static bool
stays_in_node(struct run *r, const struct layout_in *in, const struct layout *l)
{
	enum { SMALLEST_NODE = 8 }; /* do not open every system for a layout that fits each */

	if (in->across || l->tp <= SMALLEST_NODE)
		return true;
	const double node = run_node_gpus(r);
	if (node == 0 || l->tp <= node)
		return true;
	diag_error(r->diag, in->tp.from, "tp=%g exceeds the %g GPUs of one NVLink domain", l->tp, node);
	diag_hint(r->diag, "write tp=%g, or tp=%g,across to cross the network", nearest_divisor(node, l->tp), l->tp);
	return false;
}

/* Attention data parallelism (adp): each GPU of a tensor-parallel group attends to its own sequences. */
static bool
may_attend_apart(struct run *r, const struct layout_in *in)
{
	if (!in->adp || is_serving(r))
		return true;
	diag_error(r->diag, (struct source){0}, "attention data parallelism (adp) applies to serving");
	diag_hint(r->diag, "leave adp out");
	return false;
}

bool
run_layout(
    struct run *r, const struct layout_in *in, struct datum n_gpus, const struct workload *model, struct layout *l)
{
	double zero = in->fsdp ? 3 : 0;
	bool ok = true;

	*l = (struct layout){.dp = 1, .tp = 1, .pp = 1, .vp = 1, .cp = 1, .ep = 1, .etp = 1, .sp = in->sp};
	l->adp = in->adp;
	const struct {
		struct datum from;
		const char *name;
		double least, *to;
	} degrees[] = {{in->dp, "dp", 1, &l->dp}, {in->tp, "tp", 1, &l->tp}, {in->pp, "pp", 1, &l->pp},
	    {in->vp, "vp", 1, &l->vp}, {in->cp, "cp", 1, &l->cp}, {in->ep, "ep", 1, &l->ep},
	    {in->etp, "etp", 1, &l->etp}, {in->zero, "zero", 0, &zero}, {in->shard, "shard", 1, &l->shard}};
	for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++)
		ok = whole(r, degrees[i].from, degrees[i].name, degrees[i].least, degrees[i].to) && ok;
	run_reads(r, &in->dp, &in->tp, &in->pp, &in->cp, &in->ep, &in->etp, &in->across, NULL);
	if (ok && zero > 3) {
		diag_error(r->diag, in->zero.from, "there is no ZeRO stage %g", zero);
		diag_hint(r->diag, "0 shards nothing, 1 optimizer states, 2 also gradients, 3 also parameters");
		ok = false;
	}
	if (ok && in->fsdp && datum_given(in->zero) && in->zero.value != 3) {
		diag_error(r->diag, in->zero.from, "fsdp and zero=%g exclude each other", in->zero.value);
		diag_hint(r->diag, "keep one; fsdp is zero=3");
		ok = false;
	}
	if (!ok)
		return false;
	l->zero = (int)zero;
	if (!may_attend_apart(r, in) || !fits_gpus(r, in, n_gpus, l) || (model && !divides_model(r, in, model, l)) ||
	    !stays_in_node(r, in, l))
		return false;
	if (l->sp && l->tp == 1)
		run_warn(r, "sequence parallelism has no effect with tp=1");
	if (l->adp && l->tp == 1)
		run_warn(r, "attention data parallelism has no effect with tp=1");
	const double most = l->dp * l->cp;
	if (datum_given(in->shard) && fmod(most, l->shard) != 0) {
		diag_error(r->diag, in->shard.from, "shard=%g does not divide dp x cp = %g", l->shard, most);
		diag_hint(r->diag, "nearest: shard=%g", nearest_divisor(most, l->shard));
		return false;
	}
	if (!datum_given(in->shard))
		l->shard = most;
	const double rank_experts = l->dp * l->cp * l->tp;
	if (l->ep * l->etp > rank_experts || fmod(rank_experts, l->ep * l->etp) != 0) {
		diag_error(r->diag, in->ep.from, "ep x etp = %g does not divide dp x cp x tp = %g", l->ep * l->etp,
		    rank_experts);
		diag_hint(r->diag, "nearest: ep=%g", nearest_divisor(rank_experts / l->etp, l->ep));
		return false;
	}
	return true;
}

/* --- what is left open ----------------------------------------------------------------------------------- */

/* List the assumed parts of a layout in the form of --layout: `layout zero=1,sp`. */
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
			diag_error(r->diag, forms[i].given.from, "stack %s has no %s", s->id, forms[i].name);
			if (forms[i].instead)
				diag_hint(r->diag, "use --stack %s", forms[i].instead);
			else
				diag_hint(r->diag, "engines support only tp, pp and ep");
			return false;
		}
	return true;
}

static bool
check_pipeline(struct run *r, const struct layout_ask *ask, const struct layout *l)
{
	const double most = layout_most_chunks(ask->model);

	if (l->vp > 1 && l->pp < 2)
		return run_refuse(r, ask->in->vp.from, "vp needs pipeline stages (pp)", "leave vp out, or add pp=2");
	if (l->pp * l->vp <= most)
		return true;
	diag_error(r->diag, ask->in->vp.from,
	    "pp x vp = %g chunks exceed the model's %g layers, with embedding and loss", l->pp * l->vp, most);
	diag_hint(r->diag, "use at most vp=%g", fmax(1, floor(most / l->pp)));
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
	return run_refuse(r, ask->in->tp.from,
	    "Megatron needs sequence parallelism for experts with tensor parallelism",
	    "add sp, as in --layout tp=2,sp, and leave --no-sp out");
}

static bool
check_sharding(struct run *r, const struct layout_ask *ask, const struct layout *l)
{
	if (!datum_given(ask->in->shard))
		return true;
	if (l->zero == 0)
		return run_refuse(r, ask->in->shard.from, "shard has no effect without ZeRO", "add zero=1, 2 or 3");
	if (!workload_has_experts(ask->model) || layout_copies_experts(l))
		return true;
	diag_error(r->diag, ask->in->shard.from, "ep x etp = %g does not divide shard x tp = %g", l->ep * l->etp,
	    l->shard * l->tp);
	diag_hint(r->diag, "a sharded copy holds all experts: raise shard, or lower ep");
	return false;
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
		return run_refuse(r, (struct source){0}, "sp and --no-sp exclude each other", "keep one");
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
