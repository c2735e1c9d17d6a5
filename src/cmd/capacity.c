/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ridge/capacity.h"
#include "base/text.h"
#include "cli/capacity_plan.h"
#include "cli/inputs.h"
#include "cli/price.h"
#include "cli/shape.h"
#include "ridge/params.h"

#include <string.h>

#define CAPACITY_TYPES "fp32|fp16|bf16|fp8|fp8-block|mxfp8|int8|fp4|nvfp4|mxfp4|int4"
#define CAPACITY_OPTIONS(X)                                                                                            \
	X('m', model, "model", "model", WORD, "MODEL", "model", NULL, "model, from the database or a file")            \
	X(0, params, "params", "params", COUNT, "N", "", NULL, "parameters of a model that has no name")               \
	X(0, bits, "bits", "bits", NUMBER, "N", "", NULL, "bits per parameter, with --params")                         \
	X('g', gpu, "gpu", "gpu", WORDS, "NAME,...", "gpu", NULL, "candidates, one line each")                         \
	X(0, gpu_mem, "gpu-mem", "gpu_mem", SIZE, "SIZE", "", NULL, "memory of a GPU that has no name")                \
	X('u', users, "users", "users", COUNT, "N", "", NULL, "users served at the same time")                         \
	X('t', tokens, "tokens", "tokens", COUNT, "N", "", NULL, "tokens that each user holds, prompt and answer")     \
	X('r', rate, "rate", "rate", NUMBER, "N", "", NULL, "requests per second, instead of --users")                 \
	X(0, isl, "isl", "isl", COUNT, "N", "", NULL, "tokens of a request's prompt, with --rate")                     \
	X(0, osl, "osl", "osl", COUNT, "N", "", NULL, "tokens of its answer")                                          \
	X(0, throughput, "throughput", "throughput", NUMBER, "N", "", NULL,                                            \
	    "measured tokens per second that one replica generates (default: the floor of bandwidth and arithmetic)")  \
	X(0, utilisation, "utilisation", "utilisation", NUMBER, "FRACTION", "", "0.75",                                \
	    "most of a replica's rate to plan with")                                                                   \
	X(0, itl, "itl", "itl", TIME, "TIME", "", NULL, "every user gets a token at least this often")                 \
	X(0, dtype, "dtype", "dtype", CHOICE, "TYPE", CAPACITY_TYPES, "bf16", "type of weights, cache and products")   \
	X(0, weights_dtype, "weights-dtype", "weights_dtype", CHOICE, "TYPE", CAPACITY_TYPES, NULL,                    \
	    "type of the weights (default: --dtype); embedding and head stay in 16 bits")                              \
	X(0, kv_dtype, "kv-dtype", "kv_dtype", CHOICE, "TYPE", CAPACITY_TYPES, NULL,                                   \
	    "type of the cache (default: --dtype)")                                                                    \
	X(0, kv_rule, "kv-rule", "kv_rule", CHOICE, "RULE", "exact|doc", NULL,                                         \
	    "exact: from the model's shape; doc: 0.5 MB per token for each 7e9 parameters")                            \
	X(0, block, "block", "block", COUNT, "N", "", NULL, "tokens of a cache block (default 16)")                    \
	X(0, paging_overhead, "paging-overhead", "paging_overhead", NUMBER, "FRACTION", "", NULL,                      \
	    "added to the cache instead of blocks (default with --kv-rule doc: 0.3)")                                  \
	X(0, headroom, "headroom", "headroom", NUMBER, "FRACTION", "", "0.2",                                          \
	    "part of the memory kept free for activations, workspace and fragmentation")                               \
	X('w', weights, "weights", "weights", CHOICE, "HOW", "replicated|shared", "replicated",                        \
	    "a copy in every replica, or one copy spread over all GPUs")                                               \
	X(0, price, "price", "price", PER_HOUR, "USD/h", "", NULL,                                                     \
	    "of one GPU (default: the database's, with its date)")

struct capacity_in {
	CAPACITY_OPTIONS(OPTION_MEMBER)
	struct shape_in shape;
	struct layout_in layout;
	struct capacity_plan_in plan;
};

#define THIS struct capacity_in
static const struct option capacity_options[] = {CAPACITY_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct shape_in
static const struct option shape_rows[] = {SHAPE_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct layout_in
static const struct option layout_rows[] = {LAYOUT_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct capacity_plan_in
static const struct option plan_rows[] = {CAPACITY_PLAN_OPTIONS(OPTION_ROW)};
#undef THIS

enum { DEGREES_MAX = 11, NODE = 8 };

struct plan {
	const struct workload *w; /* NULL: --params alone */
	enum dtype kv, weights, products;
	bool load, shared, linear, published; /* published: weights as the checkpoint has them */
	double tp;                            /* 0: choose */
	double weight_byte;
	struct capacity_case base;
};

/* --- reading --------------------------------------------------------------------------------------------- */

static bool
refuse(struct run *r, struct source at, const char *what, const char *hint)
{
	diag_error(r->diag, at, "%s", what);
	diag_hint(r->diag, "%s", hint);
	return false;
}

static bool
check_load(struct run *r, const struct capacity_in *in)
{
	if (datum_given(in->rate) == datum_given(in->users))
		return refuse(r, in->rate.from,
		    datum_given(in->rate) ? "--users and --rate exclude each other" : "how many users?",
		    "give --users 200 --tokens 4096 (held at once), or --rate 5 --isl 1000 --osl 200 (requests per "
		    "second)");
	if (datum_given(in->users) && !datum_given(in->tokens))
		return refuse(
		    r, in->users.from, "how many tokens does each user hold?", "add for example --tokens 4096");
	if (datum_given(in->rate) && (!datum_given(in->isl) || !datum_given(in->osl)))
		return refuse(
		    r, in->rate.from, "how long are prompt and answer?", "add for example --isl 1000 --osl 200");
	if (datum_given(in->rate) && !strcmp(in->weights.text, "shared"))
		return refuse(r, in->weights.from,
		    "--rate needs replicas: one copy spread over all GPUs has no known speed",
		    "leave --weights shared out");
	if (datum_given(in->throughput) && (in->gpu.n > 1 || !datum_given(in->rate)))
		return refuse(r, in->throughput.from, "a measured --throughput belongs to one GPU, layout and --rate",
		    "name one --gpu and a --rate");
	if (datum_given(in->block) && datum_given(in->paging_overhead))
		return refuse(
		    r, in->block.from, "--block and --paging-overhead exclude each other", "blocks are the exact way");
	return run_whole(r, "users", in->users, 0) & run_whole(r, "tokens", in->tokens, 1) &
	    run_whole(r, "isl", in->isl, 1) & run_whole(r, "osl", in->osl, 1) & run_whole(r, "block", in->block, 1) &
	    run_whole(r, "params", in->params, 1);
}

static bool
check_ranges(struct run *r, const struct capacity_in *in)
{
	if (in->headroom.value >= 1)
		return refuse(r, in->headroom.from, "no memory is left beside the headroom", "write 0.2 or 20%");
	if (!(in->utilisation.value > 0 && in->utilisation.value <= 1))
		return refuse(r, in->utilisation.from, "the utilisation lies between 0 and 1", "write 0.75 or 75%");
	const struct datum positive[] = {in->rate, in->throughput, in->itl, in->bits, in->gpu_mem};
	for (size_t i = 0; i < sizeof positive / sizeof *positive; i++)
		if (positive[i].value <= 0)
			return refuse(r, positive[i].from, "must be more than 0", "leave it out, or give a value");
	return true;
}

static bool
check_gpu(struct run *r, const struct capacity_in *in)
{
	if (in->gpu.n == 0 && !datum_given(in->gpu_mem))
		return refuse(r, (struct source){0}, "on which GPU?", "add --gpu a100,h100,h200, or --gpu-mem 80GB");
	if (in->gpu.n > 0 && datum_given(in->gpu_mem))
		return refuse(r, in->gpu_mem.from, "--gpu and --gpu-mem exclude each other",
		    "change a named GPU with --set gpu.memory.usable=72GB");
	if (in->gpu.n == 0 && (datum_given(in->itl) || (datum_given(in->rate) && !datum_given(in->throughput))))
		return refuse(r, in->gpu_mem.from, "memory alone has no speed",
		    "name the --gpu, or give a measured --throughput");
	return true;
}

/* The linear rule is used only when it is asked for by name; the exact one needs a shape. */
static bool
bind_model(struct run *r, const struct capacity_in *in, struct plan *p)
{
	const bool shape = shape_given(&in->shape);

	p->linear = in->kv_rule.text && strcmp(in->kv_rule.text, "doc") == 0;
	if (in->model.text && (datum_given(in->params) || datum_given(in->bits)))
		return refuse(r, in->model.from, "a model's name and --params or --bits exclude each other",
		    "use --weights-dtype int4 for a named model");
	if (in->model.text || shape) {
		p->w = run_shape(r, in->model, &in->shape);
		if (!p->w)
			return false;
	}
	if (in->model.text)
		return true;
	if (!datum_given(in->params))
		return refuse(r, (struct source){0}, "which model?",
		    "give its name ('ridge model list'), or --params 7e9 --bits 4");
	if (!shape && !p->linear)
		return refuse(r, in->params.from, "the size of the cache does not follow from the number of parameters",
		    "add --layers 32 --kv-heads 32 --head-dim 128, or accept the rough rule with --kv-rule doc");
	return true;
}

static bool
bind_layout(struct run *r, const struct capacity_in *in, struct plan *p)
{
	struct layout layout;
	const struct datum others[] = {
	    in->layout.pp, in->layout.vp, in->layout.cp, in->layout.ep, in->layout.etp, in->layout.zero};

	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (others[i].value > 1)
			return refuse(r, others[i].from, "a replica here is one tensor-parallel group", "use tp alone");
	if (datum_given(in->layout.dp))
		return refuse(r, in->layout.dp.from, "the number of replicas is the answer", "leave dp out");
	if (!run_layout(r, &in->layout, datum_absent(), p->w, &layout))
		return false;
	p->tp = datum_given(in->layout.tp) ? layout.tp : 0;
	if (p->shared && p->tp)
		return refuse(r, in->layout.tp.from,
		    "--weights shared spreads one copy over all GPUs: tp says nothing there",
		    "leave tp out, or use --weights replicated");
	return true;
}

static bool
bind_types(struct run *r, const struct capacity_in *in, struct plan *p)
{
	const char *weights = in->weights_dtype.text, *kv = in->kv_dtype.text;
	const bool counted = datum_given(in->bits);
	const struct quantisation none = {0}, *published = p->w ? &p->w->quantisation : &none;
	const bool silent = in->dtype.from.file == inputs_default;
	const bool kv_published = silent && !kv && published->has_kv;

	p->products = dtype_find(in->dtype.text);
	p->published = silent && !weights && published->given;
	if ((!kv && !kv_published) || (!weights && !counted && !p->published))
		run_word(r, "dtype", in->dtype);
	p->kv = kv_published ? published->kv : dtype_find(kv ? kv : in->dtype.text);
	p->weights = dtype_find(weights ? weights : in->dtype.text);
	if (kv_published)
		run_assume(r, "kv-dtype %s, as published", dtype_name(p->kv));
	if (p->published)
		run_assume(r, "weights %s, as published", dtype_name(published->weights));
	if (counted && weights)
		return refuse(r, in->bits.from, "--bits and --weights-dtype exclude each other", "give one of them");
	return true;
}

static bool
bind_plan(struct run *r, const struct capacity_in *in, struct plan *p)
{
	*p = (struct plan){.load = datum_given(in->rate)};
	if (!check_load(r, in) || !check_ranges(r, in) || !check_gpu(r, in))
		return false;
	p->shared = strcmp(in->weights.text, "shared") == 0;
	return bind_model(r, in, p) && bind_types(r, in, p) && bind_layout(r, in, p);
}

/* --- what all candidates share --------------------------------------------------------------------------- */

static void
show_weights(struct run *r, const struct capacity_in *in, struct plan *p)
{
	struct sheet *sh = r->sheet;
	double weight_byte;

	if (in->model.text) {
		const double elem_byte = dtype_byte(p->weights);
		if (p->published)
			SET_CALL(sh, weight_byte, published_bytes(sh, p->w));
		else
			SET_CALL(sh, weight_byte, capacity_weights(sh, p->w, elem_byte, elem_byte > 2 ? elem_byte : 2));
		CALL(sh, active_param, model_active_params(sh, p->w));
		CALL(sh, work_flop_per_token, capacity_work(sh, active_param));
		p->base.work_flop_per_token = work_flop_per_token;
	} else {
		TAKE(sh, n_params, in->params);
		TAKE(sh, bits, datum_given(in->bits) ? in->bits.value : 8 * dtype_byte(p->weights));
		SET_CALL(sh, weight_byte, capacity_weights_bits(sh, n_params, bits));
		CALL(sh, work_flop_per_token, capacity_work(sh, n_params));
		p->base.work_flop_per_token = work_flop_per_token;
	}
	SHOW(sh, weight_byte, "weights");
	p->weight_byte = weight_byte;
}

static void
warn_linear(struct run *r, const struct capacity_in *in, const struct plan *p)
{
	struct sheet *sh = r->sheet;

	if (!p->w) {
		run_warn(r, "the linear rule knows no heads: it is 15 times too high for Llama 3 70B");
		return;
	}
	TAKE(sh, linear_byte_per_token, p->base.kv.linear_byte_per_token);
	CALL(sh, linear_error, capacity_linear_error(sh, linear_byte_per_token, p->w, dtype_byte(p->kv)));
	SHOW(sh, linear_error, "linear rule over exact");
	run_warn(r, "the linear rule's cache is %.3g times the exact one of %s", linear_error,
	    in->model.text ? p->w->name : "this shape");
}

/* The cache of one user, and how it is counted. */
static void
show_user(struct run *r, const struct capacity_in *in, struct plan *p)
{
	struct sheet *sh = r->sheet;
	struct capacity_kv *kv = &p->base.kv;

	*kv = (struct capacity_kv){.w = p->linear ? NULL : p->w, .kv_elem_byte = dtype_byte(p->kv), .block_token = 1};
	if (p->linear) {
		double n_params;
		if (in->model.text) {
			CALL(sh, total_param, model_params(sh, p->w));
			n_params = total_param;
		} else
			n_params = in->params.value;
		CALL(sh, rule_byte_per_token, capacity_linear_kv(sh, n_params));
		SHOW(sh, rule_byte_per_token, "cache of a token, by the linear rule");
		kv->linear_byte_per_token = rule_byte_per_token;
	}
	if (datum_given(in->paging_overhead))
		kv->overhead_frac = in->paging_overhead.value;
	else if (p->linear && !datum_given(in->block)) {
		kv->overhead_frac = 0.3;
		run_assume(r, "paging-overhead 30 %%");
	} else {
		kv->block_token = datum_given(in->block) ? in->block.value : 16;
		if (!datum_given(in->block) && !p->linear)
			run_assume(r, "block 16");
	}
	if (!p->load) {
		CALL(sh, user_byte, capacity_user(sh, kv, in->tokens.value, 1));
		SHOW(sh, user_byte, "cache of one user");
	}
	if (p->linear)
		warn_linear(r, in, p);
}

/* --- one candidate --------------------------------------------------------------------------------------- */

struct candidate {
	const struct gpu *gpu; /* NULL: --gpu-mem */
	struct datum usd_per_s;
};

static bool
bind_candidate(struct run *r, const struct capacity_in *in, const struct plan *p, struct word name,
    struct candidate *out, struct capacity_case *c)
{
	*out = (struct candidate){.gpu = NULL};
	*c = p->base;
	c->headroom = in->headroom;
	c->mem_byte = in->gpu_mem;
	c->mem_byte_per_s = c->peak_flop_per_s = datum_absent();
	c->itl_s = in->itl;
	c->n_users = in->users;
	c->user_token = in->tokens;
	c->rate_request_per_s = in->rate;
	c->isl_token = in->isl;
	c->osl_token = in->osl;
	c->utilisation = in->utilisation;
	c->measured_token_per_s = in->throughput;
	if (!name.text) {
		out->usd_per_s = in->price;
		return true;
	}
	out->gpu = run_gpu(r, name);
	if (!out->gpu)
		return false;
	out->usd_per_s = run_gpu_price(r, in->price, out->gpu);
	c->mem_byte = datum_given(out->gpu->mem_usable_byte) ? out->gpu->mem_usable_byte : out->gpu->mem_label_byte;
	c->mem_byte_per_s = out->gpu->mem_byte_per_s;
	if (p->load && !datum_given(in->throughput)) {
		const struct word asked = {in->dtype.text, {"--dtype", 0, 0, NULL, false}};
		if (!run_peak(r, out->gpu, p->products, asked, &c->peak_flop_per_s))
			return false;
	}
	return true;
}

/* Powers of two that divide the heads: a tensor-parallel group of at most `most` GPUs. */
static int
degrees_of(const struct plan *p, double most, double *degrees)
{
	int n = 1;

	degrees[0] = p->tp ? p->tp : 1;
	for (double tp = 2; !p->tp && tp <= most && n < DEGREES_MAX; tp *= 2) {
		bool divides = true;
		for (int i = 0; p->w && i < p->w->n_blocks; i++)
			divides = divides && fmod(datum_or(block_heads(&p->w->blocks[i]), tp), tp) == 0;
		if (divides)
			degrees[n++] = tp;
	}
	return n;
}

static void
show_money(struct run *r, const struct candidate *who, double n_gpus, double fleet_token_per_s)
{
	struct sheet *sh = r->sheet;

	if (!datum_given(who->usd_per_s))
		return;
	TAKE(sh, gpu_usd_per_s, who->usd_per_s);
	CALL(sh, month_usd, capacity_month_usd(sh, n_gpus, gpu_usd_per_s));
	SHOW(sh, month_usd, "a month");
	if (!isnan(fleet_token_per_s)) {
		CALL(sh, million_usd, capacity_million_usd(sh, n_gpus, gpu_usd_per_s, fleet_token_per_s));
		SHOW(sh, million_usd, "1e6 tokens");
	}
}

static bool
show_pool(struct run *r, const struct plan *p, const struct candidate *who, const struct capacity_case *c)
{
	struct sheet *sh = r->sheet;
	const double weight_byte = p->weight_byte;

	CALL(sh, n_gpus, capacity_pool(sh, c, weight_byte));
	SHOW(sh, n_gpus, "GPUs");
	TELL(sh, binds, "binds", capacity_pool_binds(c, weight_byte));
	show_money(r, who, n_gpus, NAN);
	return true;
}

static bool
show_misfit(struct run *r, const struct plan *p, const struct capacity_case *c)
{
	struct sheet *sh = r->sheet;
	struct plan any = *p;
	double degrees[DEGREES_MAX];

	/* why not: the largest group that was tried */
	const int n_tried = degrees_of(p, NODE, degrees);
	const double weight_byte = p->weight_byte, most = degrees[n_tried - 1];
	CALL(sh, n_most, capacity_replica_users(sh, c, weight_byte, most));
	(void)n_most;
	any.tp = 0;
	const double fewest = capacity_fewest(c, p->weight_byte, degrees, degrees_of(&any, 1024, degrees));
	if (fewest) {
		TAKE(sh, n_fewest_gpus, fewest);
		SHOW(sh, n_fewest_gpus, "fewest that hold one user");
		TELL(sh, verdict, "verdict",
		    arena_printf(r->arena, "does not fit in %g: needs --layout tp=%g", p->tp ? p->tp : NODE, fewest));
	} else
		TELL(sh, verdict, "verdict",
		    !datum_given(c->itl_s) ? "does not fit in any number" : "misses --itl in any number");
	return false;
}

static bool
show_replicas(struct run *r, const struct plan *p, const struct candidate *who, const struct capacity_case *c)
{
	struct sheet *sh = r->sheet;
	const double weight_byte = p->weight_byte;
	double degrees[DEGREES_MAX], fleet_token_per_s = NAN;
	const double best = capacity_best(c, weight_byte, degrees, degrees_of(p, NODE, degrees));

	if (!best)
		return show_misfit(r, p, c);
	CALL(sh, n_gpus, capacity_replicas(sh, c, weight_byte, best));
	CALL(sh, n_replicas, capacity_count(sh, n_gpus, best));
	TAKE(sh, tp, best);
	CALL(sh, n_most, capacity_replica_users(sh, c, weight_byte, tp));
	SHOW(sh, n_gpus, "GPUs");
	SHOW(sh, n_replicas, "replicas");
	SHOW(sh, tp, "GPUs each");
	SHOW(sh, n_most, p->load ? "at once each" : "users each");
	TELL(sh, binds, "binds", capacity_binds(c, weight_byte, tp));
	if (p->load) {
		TAKE(sh, rate_request_per_s, c->rate_request_per_s);
		TAKE(sh, osl_token, c->osl_token);
		SET_CALL(sh, fleet_token_per_s, capacity_load_rate(sh, rate_request_per_s, osl_token));
	} else if (datum_given(c->mem_byte_per_s) && c->n_users.value > 0) {
		TAKE(sh, n_users, c->n_users);
		CALL(sh, user_token_per_s, capacity_user_rate(sh, c, weight_byte, n_users, n_replicas, tp));
		SHOW(sh, user_token_per_s, "each user, at best");
		SET_CALL(sh, fleet_token_per_s, capacity_fleet_rate(sh, n_users, user_token_per_s));
	}
	show_money(r, who, n_gpus, fleet_token_per_s);
	return true;
}

static bool
show_candidate(struct run *r, const struct plan *p, const struct candidate *who, const struct capacity_case *c)
{
	struct sheet *sh = r->sheet;

	if (who->gpu)
		TELL(sh, name, "GPU", who->gpu->id);
	TAKE(sh, mem_byte, c->mem_byte);
	SHOW(sh, mem_byte, "memory");
	return p->shared ? show_pool(r, p, who, c) : show_replicas(r, p, who, c);
}

/* --- the command ----------------------------------------------------------------------------------------- */

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
		    r->arena, "GPUs for %g users with %g tokens each: %s", in->users.value, in->tokens.value, model);
}

/* With objectives or an engine: the model of the engine instead of floors. */
static enum answer
plan_run(struct run *r, const struct capacity_in *in)
{
	const struct capacity_plan_case c = {
	    .model = in->model,
	    .gpus = &in->gpu,
	    .rate = in->rate,
	    .users = in->users,
	    .isl = in->isl,
	    .osl = in->osl,
	    .utilisation = in->utilisation,
	    .price = in->price,
	    .dtype = in->dtype,
	    .kv_dtype = in->kv_dtype,
	    .layout = &in->layout,
	};
	const struct datum floors[] = {
	    in->params, in->bits, in->gpu_mem, in->tokens, in->throughput, in->itl, in->block, in->paging_overhead};

	for (size_t i = 0; i < sizeof floors / sizeof *floors; i++)
		if (datum_given(floors[i])) {
			refuse(r, floors[i].from, "this belongs to the plan by memory and floors",
			    "leave it out, or leave --engine and --objectives out");
			return REFUSED;
		}
	return capacity_plan(r, &in->plan, &c);
}

static enum answer
capacity_run(struct run *r, const void *input)
{
	const struct capacity_in *in = input;
	struct sheet *sh = r->sheet;
	struct plan p;

	if (capacity_plan_asked(&in->plan))
		return plan_run(r, in);
	if (!bind_plan(r, in, &p))
		return REFUSED;
	set_title(r, in, &p);
	if (p.load) {
		if (!datum_given(in->throughput))
			run_warn(r,
			    "rates are floors of bandwidth and arithmetic: real engines need more GPUs; measure "
			    "--throughput");
	} else
		run_assume(r, "all users hold all tokens at once");
	const struct block *attending = p.w ? workload_attention(p.w) : NULL;
	if (attending && attending->attention.kind != ATTENTION_HEADS && !p.shared && p.tp != 1)
		run_warn(
		    r, "the latent belongs to all heads: every GPU of a replica keeps the whole cache of its users");
	show_weights(r, in, &p);
	show_user(r, in, &p);
	const size_t n = in->gpu.n ? in->gpu.n : 1;
	size_t n_fit = 0;
	for (size_t i = 0; i < n; i++) {
		struct candidate who;
		struct capacity_case c;
		if (!bind_candidate(r, in, &p, in->gpu.n ? in->gpu.list[i] : (struct word){0}, &who, &c))
			continue;
		if (n == 1) {
			n_fit += show_candidate(r, &p, &who, &c);
			break;
		}
		SCOPE_I (sh, "candidate", i) {
			n_fit += show_candidate(r, &p, &who, &c);
		}
	}
	return n_fit ? ANSWERED : ANSWERED_NO;
}

static const struct option_group capacity_groups[] = {
    OPTION_GROUP(capacity_options, 0),
    OPTION_GROUP(shape_rows, offsetof(struct capacity_in, shape)),
    OPTION_GROUP(layout_rows, offsetof(struct capacity_in, layout)),
    OPTION_GROUP(plan_rows, offsetof(struct capacity_in, plan)),
};

static const struct example capacity_examples[] = {
    {"capacity llama3-70b --gpu a100,h100,h200,b200 --users 200 --tokens 4Ki", "four candidates side by side", 0},
    {"capacity llama3-70b --gpu h100 --rate 5 --isl 1000 --osl 200 --weights-dtype fp8 --kv-dtype fp8",
        "replicas that keep up with a load, at best", 0},
    {"capacity llama3-70b --gpu h100 --users 200 --tokens 4Ki --layout tp=1", "one GPU does not hold the weights", 1},
    {"capacity llama3-70b --gpu h100,h200,b200 --rate 20 --isl 1000 --osl 200 --objectives ttft.p99:1s,tpot:50ms "
     "--spare 1",
        "setups that meet objectives, by cost, with one replica to spare", 0},
    {"capacity --params 7e9 --bits 4 --layers 32 --kv-heads 32 --head-dim 128 --users 1000 --tokens 1000 "
     "--gpu-mem 80GB",
        "a model known by its numbers", 0},
};

const struct command capacity_command = {
    .name = "capacity",
    .section = "How many, and how much?",
    .summary = "how many GPUs for these users or this load, and what they cost",
    .operands = "model",
    .usage = "[MODEL|JOB]",
    .groups = capacity_groups,
    .n_groups = sizeof capacity_groups / sizeof *capacity_groups,
    .examples = capacity_examples,
    .n_examples = sizeof capacity_examples / sizeof *capacity_examples,
    .input_size = sizeof(struct capacity_in),
    .run = capacity_run,
};
