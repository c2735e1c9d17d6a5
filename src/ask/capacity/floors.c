/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ridge capacity` without SLOs: GPU counts from memory and roofline floors. */
#include "ask/capacity/capacity.h"

#include "ask/bind/bind.h"
#include "base/base.h"
#include "cli/cli.h"
#include "model/calc/calc.h"
#include "model/layer/layer.h"
#include "model/memory/memory.h"
#include "search/plan/plan.h"

#include <string.h>

/* --- reading --------------------------------------------------------------------------------------------- */

static bool
check_load(struct run *r, const struct capacity_in *in)
{
	if (datum_given(in->rate) == datum_given(in->users))
		return run_refuse(r, in->rate.from,
		    datum_given(in->rate) ? "--users and --rate exclude each other"
		                          : "neither --users nor --rate given",
		    "add --users 200 --context 4096 (concurrent), or --rate 5 --isl 1000 --osl 200 (requests per "
		    "second)");
	if (datum_given(in->users) && !datum_given(in->context))
		return run_refuse(r, in->users.from, "--users needs --context, the tokens per user",
		    "add for example --context 4096");
	if (datum_given(in->rate) && (!datum_given(in->isl) || !datum_given(in->osl)))
		return run_refuse(
		    r, in->rate.from, "input and output length are missing", "add for example --isl 1000 --osl 200");
	if (datum_given(in->rate) && !strcmp(in->weights.text, "shared"))
		return run_refuse(r, in->weights.from,
		    "--rate needs --weights replicated: shared weights have no speed model",
		    "leave --weights shared out");
	if (datum_given(in->throughput) && (in->gpu.n > 1 || !datum_given(in->rate)))
		return run_refuse(
		    r, in->throughput.from, "--throughput needs one --gpu and --rate", "give one --gpu and a --rate");
	if (datum_given(in->block) && datum_given(in->paging_overhead))
		return run_refuse(r, in->block.from, "--block and --paging-overhead exclude each other",
		    "keep --block, which is exact");
	return run_whole(r, "users", in->users, 0) & run_whole(r, "context", in->context, 1) &
	    run_whole(r, "isl", in->isl, 1) & run_whole(r, "osl", in->osl, 1) & run_whole(r, "block", in->block, 1) &
	    run_whole(r, "params", in->params, 1);
}

static bool
check_ranges(struct run *r, const struct capacity_in *in)
{
	if (in->headroom.value >= 1)
		return run_refuse(r, in->headroom.from, "--headroom must be below 1", "write 0.2 or 20%");
	if (!(in->target_load.value > 0 && in->target_load.value <= 1))
		return run_refuse(
		    r, in->target_load.from, "the target utilization must be between 0 and 1", "write 0.75 or 75%");
	const struct datum positive[] = {in->rate, in->throughput, in->itl, in->bits, in->gpu_mem};
	for (size_t i = 0; i < sizeof positive / sizeof *positive; i++)
		if (positive[i].value <= 0)
			return run_refuse(
			    r, positive[i].from, "must be greater than 0", "leave it out, or give a positive value");
	return true;
}

static bool
check_gpu(struct run *r, const struct capacity_in *in)
{
	if (in->gpu.n == 0 && !datum_given(in->gpu_mem))
		return run_refuse(r, (struct source){0}, "no GPU given", "add --gpu a100,h100,h200, or --gpu-mem 80GB");
	if (in->gpu.n > 0 && datum_given(in->gpu_mem))
		return run_refuse(r, in->gpu_mem.from, "--gpu and --gpu-mem exclude each other",
		    "change a named GPU with --set gpu.memory.usable=72GB");
	if (in->gpu.n == 0 && (datum_given(in->itl) || (datum_given(in->rate) && !datum_given(in->throughput))))
		return run_refuse(
		    r, in->gpu_mem.from, "--gpu-mem gives no speed", "give --gpu, or a measured --throughput");
	return bind_prices_asked(r, &in->price, &in->gpu);
}

/* The linear rule only with --kv-rule doc; the exact rule needs the shape of the model. */
static bool
bind_model(struct run *r, const struct capacity_in *in, struct plan *p)
{
	const bool shape = shape_given(&in->shape);

	p->named = in->model.text != NULL;
	p->linear = in->kv_rule.text && strcmp(in->kv_rule.text, "doc") == 0;
	if (in->model.text && (datum_given(in->params) || datum_given(in->bits)))
		return run_refuse(r, in->model.from, "a model and --params or --bits exclude each other",
		    "use --weights-dtype int4 for a named model");
	if (in->model.text || shape) {
		p->w = run_shape(r, in->model, &in->shape);
		if (!p->w)
			return false;
	}
	if (in->model.text)
		return true;
	if (!datum_given(in->params))
		return run_refuse(r, (struct source){0}, "no model given",
		    "give its name ('ridge model list'), or --params 7e9 --bits 4");
	if (!shape && !p->linear)
		return run_refuse(r, in->params.from, "the KV cache size does not follow from --params",
		    "add --layers 32 --kv-heads 32 --head-dim 128, or use the rough rule --kv-rule doc");
	return true;
}

static bool
has_latent(const struct workload *w)
{
	const struct block *attending = w ? workload_attention(w) : NULL;

	return attending && attending->attention.kind != ATTENTION_HEADS;
}

static bool
read_layout(struct run *r, const struct capacity_in *in, struct plan *p)
{
	const struct datum others[] = {in->layout.pp, in->layout.vp, in->layout.cp, in->layout.etp, in->layout.zero};

	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (others[i].value > 1)
			return run_refuse(r, others[i].from, "a replica of this plan is one tensor-parallel group",
			    "use only tp, ep and adp");
	if (datum_given(in->layout.dp))
		return run_refuse(
		    r, in->layout.dp.from, "dp cannot be given: the number of replicas is the answer", "leave dp out");
	if (!run_layout(r, &in->layout, datum_absent(), p->w, &p->layout))
		return false;
	if (datum_given(in->layout.ep) && fmod(p->layout.tp, p->layout.ep) != 0)
		return run_refuse(r, in->layout.ep.from,
		    "ep must divide tp: experts are spread over the tp GPUs of a replica",
		    "write for example --layout tp=8,ep=8");
	bind_served_degrees(r, &in->layout);
	if (!datum_given(in->layout.tp))
		p->layout.tp = 0;
	p->adp = p->layout.adp || (has_latent(p->w) && !datum_given(in->layout.tp));
	if (p->shared && p->layout.tp)
		return run_refuse(r, in->layout.tp.from,
		    "--weights shared takes no tp: one copy is spread over all GPUs",
		    "leave tp out, or use --weights replicated");
	return true;
}

static bool
bind_plan(struct run *r, const struct capacity_in *in, struct plan *p)
{
	*p = (struct plan){.load = datum_given(in->rate)};
	run_reads(r, &in->users, &in->rate, &in->gpu_mem, &in->weights, &in->kv_rule, &in->params, &in->paging_overhead,
	    NULL);
	if (p->load)
		run_reads(r, &in->isl, &in->osl, &in->target_load, &in->throughput, NULL);
	else
		run_reads(r, &in->context, NULL);
	if (!check_load(r, in) || !check_ranges(r, in) || !check_gpu(r, in))
		return false;
	p->shared = strcmp(in->weights.text, "shared") == 0;
	return bind_model(r, in, p) && read_layout(r, in, p);
}

/* --- one candidate --------------------------------------------------------------------------------------- */

static const double usual_headroom_frac = 0.2;

static struct datum
user_tokens(const struct capacity_in *in)
{
	struct datum tokens = in->context;

	if (datum_given(in->rate))
		tokens = (struct datum){in->isl.value + in->osl.value, in->isl.from};
	return tokens;
}

static bool
bind_memory(
    struct run *r, const struct capacity_in *in, const struct plan *p, const struct engine *e, struct candidate *out)
{
	const struct room_in room = {in->headroom, datum_absent(), in->block, datum_absent()};
	const struct datum one = {1, {0}};

	out->job = (struct memory_job){.model = p->w,
	    .layout = {.dp = 1, .tp = 1, .pp = 1, .vp = 1, .cp = 1, .ep = 1, .etp = 1, .shard = 1},
	    .batch = one,
	    .seq = user_tokens(in)};
	return bind_room(r, &room, &e->memory, &out->formats, out->c.mem_byte, &out->job);
}

/* What nothing is known of keeps a part of the memory free. */
static void
bind_headroom(struct run *r, const struct capacity_in *in, const struct plan *p, struct capacity_case *c)
{
	c->headroom = in->headroom;
	if (datum_given(in->headroom) || (in->model.text && !p->shared))
		return;
	c->headroom = (struct datum){usual_headroom_frac, {0}};
	run_assume_value(r, "headroom", "%g%%", 100 * usual_headroom_frac);
}

/* How the cache of a user is counted. */
static void
bind_cache(struct run *r, const struct capacity_in *in, const struct plan *p, struct candidate *who)
{
	struct capacity_kv *kv = &who->c.kv;

	*kv =
	    (struct capacity_kv){.w = p->linear ? NULL : p->w, .kv_elem_byte = who->job.kv_elem_byte, .block_token = 1};
	if (p->linear)
		kv->linear_byte_per_token =
		    capacity_linear_kv(NULL, in->model.text ? model_params(NULL, p->w) : in->params.value);
	if (datum_given(in->paging_overhead))
		kv->overhead_frac = in->paging_overhead.value;
	else if (p->linear && !datum_given(in->block)) {
		kv->overhead_frac = 0.3;
		run_assume_value(r, "paging-overhead", "30%%");
	} else {
		kv->block_token = who->job.block_token.value;
		if (!datum_given(in->block))
			run_assume_value(r, "block", "%g", kv->block_token);
	}
}

static bool
bind_candidate(
    struct run *r, const struct capacity_in *in, const struct plan *p, struct word name, struct candidate *out)
{
	const struct formats_in types = {in->dtype, in->weights_dtype, in->kv_dtype, in->bits, datum_absent()};
	struct capacity_case *c = &out->c;

	*out = (struct candidate){.gpu = name.text ? run_gpu(r, name) : NULL};
	if (name.text && !out->gpu)
		return false;
	const struct engine *e = bind_engine(r, (struct word){0}, out->gpu);
	if (!e || !bind_formats(r, &types, p->w, out->gpu, e, &out->formats))
		return false;
	*c = (struct capacity_case){.mem_byte = bind_card(r, out->gpu, in->gpu_mem),
	    .mem_byte_per_s = out->gpu ? out->gpu->mem_byte_per_s : datum_absent(),
	    .peak_flop_per_s = datum_absent(),
	    .itl_s = in->itl,
	    .n_users = in->users,
	    .user_token = in->context,
	    .rate_request_per_s = in->rate,
	    .isl_token = in->isl,
	    .osl_token = in->osl,
	    .utilisation = in->target_load,
	    .measured_token_per_s = in->throughput};
	run_reads(r, &in->itl, NULL);
	c->work_flop_per_token =
	    capacity_work(NULL, in->model.text ? model_active_params(NULL, p->w) : in->params.value);
	bind_headroom(r, in, p, c);
	if (!bind_memory(r, in, p, e, out))
		return false;
	bind_cache(r, in, p, out);
	if (!out->gpu || !p->load || datum_given(in->throughput))
		return true;
	const struct word asked = {dtype_name(out->formats.compute), {"--dtype", 0, 0, NULL, false}};
	return run_peak(r, out->gpu, out->formats.compute, asked, &c->peak_flop_per_s);
}

/* --- what all candidates share --------------------------------------------------------------------------- */

static void
show_weights(struct run *r, const struct capacity_in *in, struct plan *p, const struct candidate *first)
{
	struct sheet *sh = r->sheet;
	double weight_byte;

	if (in->model.text)
		SET_CALL(sh, weight_byte, memory_weights(sh, &first->job, 0));
	else {
		TAKE(sh, n_params, in->params);
		TAKE(sh, bits, 8 * first->formats.part_byte[PART_MLP]);
		SET_CALL(sh, weight_byte, capacity_weights_bits(sh, n_params, bits));
	}
	SHOW(sh, weight_byte, weight_byte);
	p->weight_byte = weight_byte;
}

static void
warn_linear(struct run *r, const struct capacity_in *in, const struct plan *p, const struct capacity_kv *kv)
{
	struct sheet *sh = r->sheet;

	if (!p->w) {
		run_warn(r, "the linear KV rule ignores grouped-query attention: 15 times too high for Llama 3 70B");
		return;
	}
	TAKE(sh, linear_byte_per_token, kv->linear_byte_per_token);
	CALL(sh, linear_error, capacity_linear_error(sh, linear_byte_per_token, p->w, kv->kv_elem_byte));
	SHOW(sh, linear_error, rule_error);
	run_warn(r, "KV cache of the linear rule is %.3g times the exact one of %s", linear_error,
	    in->model.text ? p->w->name : "this shape");
}

/* The cache of one user, and how it is counted. */
static void
show_user(struct run *r, const struct capacity_in *in, const struct plan *p, const struct capacity_kv *kv)
{
	struct sheet *sh = r->sheet;

	if (p->linear) {
		TAKE(sh, n_rule_params, in->model.text ? model_params(NULL, p->w) : in->params.value);
		CALL(sh, rule_byte_per_token, capacity_linear_kv(sh, n_rule_params));
		SHOW(sh, rule_byte_per_token, rule_byte_per_token);
	}
	if (!p->load) {
		CALL(sh, user_byte, capacity_user(sh, kv, in->context.value, 1));
		SHOW(sh, user_byte, kv_sequence_byte);
	}
	if (p->linear)
		warn_linear(r, in, p, kv);
}

/* --- the answer ------------------------------------------------------------------------------------------ */

static void
set_title(struct run *r, const struct capacity_in *in, const struct plan *p)
{
	const char *model =
	    in->model.text ? p->w->name : arena_printf(r->arena, "%.4gB parameters", in->params.value / 1e9);

	if (p->load)
		r->title = arena_printf(r->arena, "GPUs for %g requests/s of %g tokens in, %g out: %s", in->rate.value,
		    in->isl.value, in->osl.value, model);
	else
		r->title = arena_printf(
		    r->arena, "GPUs for %g users with %g tokens each: %s", in->users.value, in->context.value, model);
}

enum answer
capacity_floors(struct run *r, const struct capacity_in *in)
{
	struct sheet *sh = r->sheet;
	const struct price_in price = {&in->price, in->provider};
	struct plan p;

	if (!bind_plan(r, in, &p))
		return REFUSED;
	set_title(r, in, &p);
	if (p.load) {
		if (!datum_given(in->throughput))
			run_warn(
			    r, "rates are roofline bounds: real engines need more GPUs; give a measured --throughput");
	} else
		run_assume(r, "all users hold all their tokens at once");
	const size_t n = in->gpu.n ? in->gpu.n : 1;
	struct candidate *list = ARENA_ARRAY(r->arena, struct candidate, n);
	size_t n_fit = 0;
	for (size_t i = 0; i < n; i++)
		if (!bind_candidate(r, in, &p, in->gpu.n ? in->gpu.list[i] : (struct word){0}, &list[i]))
			return REFUSED;
	show_weights(r, in, &p, &list[0]);
	show_user(r, in, &p, &list[0].c.kv);
	for (size_t i = 0; i < n && n > 1; i++)
		SCOPE_I (sh, "candidates", i) {
			n_fit += floors_show(r, &price, &p, &list[i]);
		}
	if (n == 1)
		n_fit = floors_show(r, &price, &p, &list[0]);
	if (diag_failed(r->diag))
		return REFUSED;
	return n_fit ? ANSWERED : ANSWERED_NO;
}
