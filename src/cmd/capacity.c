/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge capacity: GPUs needed for users or a load, and their cost. */
#include "ask/capacity/capacity.h"
#include "ask/bind/bind.h"
#include "base/base.h"
#include "cli/cli.h"
#include "model/calc/calc.h"
#include "model/layer/layer.h"
#include "model/memory/memory.h"
#include "search/plan/plan.h"

#include <string.h>

#define CAPACITY_OPTIONS(X)                                                                                            \
	X('m', model, "model", "model", WORD, "MODEL", "model", NULL, "model: name in the database, or file")          \
	X(0, params, "params", "params", COUNT, "N", "", NULL, "parameter count, when no model is given")              \
	X(0, bits, "bits", "bits", NUMBER, "N", "", NULL, "bits per parameter, with --params")                         \
	X('g', gpu, "gpu", "gpu", WORDS, "NAME,...", "gpu", NULL, "candidate GPUs, one line each")                     \
	X(0, gpu_mem, "gpu-mem", "gpu_mem", SIZE, "SIZE", "", NULL, "GPU memory, when no GPU is given")                \
	X('u', users, "users", "users", COUNT, "N", "", NULL, "concurrent users")                                      \
	X('t', tokens, "context", "tokens", COUNT, "N", "", NULL, "tokens in the KV cache per user, ISL + OSL")        \
	X('r', rate, "rate", "rate", NUMBER, "N", "", NULL, "request rate, requests per second, instead of --users")   \
	X(0, isl, "isl", "isl", COUNT, "N", "", NULL, "input sequence length (ISL), with --rate")                      \
	X(0, osl, "osl", "osl", COUNT, "N", "", NULL, "output sequence length (OSL), with --rate")                     \
	X(0, throughput, "throughput", "throughput", NUMBER, "N", "", NULL,                                            \
	    "measured output throughput of one replica, tokens per second (default: roofline floor)")                  \
	X(0, utilisation, "target-load", "utilisation", FRACTION, "FRACTION", "", "0.75",                              \
	    "target utilization of a replica's rate")                                                                  \
	X(0, itl, "itl", "itl", TIME, "TIME", "", NULL, "SLO: maximum inter-token latency (ITL) per user")             \
	X(0, dtype, "dtype", "dtype", CHOICE, "TYPE", DTYPE_CHOICE(W), "bf16", "dtype of weights and GEMMs")           \
	X(0, weights_dtype, "weights-dtype", "weights_dtype", CHOICE, "TYPE", DTYPE_CHOICE(W), NULL,                   \
	    "weight dtype (default: as published, or --dtype); embedding and LM head stay in 16 bits")                 \
	X(0, kv_dtype, "kv-dtype", "kv_dtype", CHOICE, "TYPE", DTYPE_CHOICE(W), NULL,                                  \
	    "KV cache dtype (default: as published, or the engine's default)")                                         \
	X(0, kv_rule, "kv-rule", "kv_rule", CHOICE, "RULE", "exact|doc", NULL,                                         \
	    "KV cache size: exact, from the model's shape; doc, 0.5 MB per token per 7e9 parameters")                  \
	X(0, block, "block", "block", COUNT, "N", "", NULL, "KV cache block size in tokens (default: the engine's)")   \
	X(0, paging_overhead, "paging-overhead", "paging_overhead", FRACTION, "FRACTION", "", NULL,                    \
	    "fragmentation overhead instead of blocks (default with --kv-rule doc: 0.3)")                              \
	X(0, headroom, "headroom", "headroom", FRACTION, "FRACTION", "", NULL,                                         \
	    "share of GPU memory kept free besides weights and KV cache (default: the engine's rule; with --params "   \
	    "0.2)")                                                                                                    \
	X('w', weights, "weights", "weights", CHOICE, "HOW", "replicated|shared", "replicated",                        \
	    "weights replicated per replica, or one copy shared over all GPUs")                                        \
	X(0, price, "price", "price", WORDS, "USD/h,...", "", NULL,                                                    \
	    "price per GPU, for all (2.5) or by name (h100=2.5,h200=3.2); default: whole instances of the database")   \
	X(0, provider, "provider", "provider", WORD, "TEXT", "", NULL,                                                 \
	    "provider: part of the price's name or source, such as aws, lambda, spot")

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

enum { WAYS_MAX = 22, NODE = 8, TP_MOST = 1024 };
static const double usual_headroom_frac = 0.2;

struct plan {
	const struct workload *w; /* NULL: --params alone */
	bool load, shared, linear;
	struct layout layout; /* tp 0: choose */
	bool named;           /* a model whose weights are known part by part */
	bool adp;             /* asked for, or tried where every GPU would keep a whole copy of the cache */
	double weight_byte;   /* of numbers */
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
		    datum_given(in->rate) ? "--users and --rate exclude each other"
		                          : "neither --users nor --rate given",
		    "add --users 200 --context 4096 (concurrent), or --rate 5 --isl 1000 --osl 200 (requests per "
		    "second)");
	if (datum_given(in->users) && !datum_given(in->tokens))
		return refuse(r, in->users.from, "--users needs --context, the tokens per user",
		    "add for example --context 4096");
	if (datum_given(in->rate) && (!datum_given(in->isl) || !datum_given(in->osl)))
		return refuse(
		    r, in->rate.from, "input and output length are missing", "add for example --isl 1000 --osl 200");
	if (datum_given(in->rate) && !strcmp(in->weights.text, "shared"))
		return refuse(r, in->weights.from,
		    "--rate needs --weights replicated: shared weights have no speed model",
		    "leave --weights shared out");
	if (datum_given(in->throughput) && (in->gpu.n > 1 || !datum_given(in->rate)))
		return refuse(
		    r, in->throughput.from, "--throughput needs one --gpu and --rate", "give one --gpu and a --rate");
	if (datum_given(in->block) && datum_given(in->paging_overhead))
		return refuse(r, in->block.from, "--block and --paging-overhead exclude each other",
		    "keep --block, which is exact");
	return run_whole(r, "users", in->users, 0) & run_whole(r, "tokens", in->tokens, 1) &
	    run_whole(r, "isl", in->isl, 1) & run_whole(r, "osl", in->osl, 1) & run_whole(r, "block", in->block, 1) &
	    run_whole(r, "params", in->params, 1);
}

static bool
check_ranges(struct run *r, const struct capacity_in *in)
{
	if (in->headroom.value >= 1)
		return refuse(r, in->headroom.from, "--headroom must be below 1", "write 0.2 or 20%");
	if (!(in->utilisation.value > 0 && in->utilisation.value <= 1))
		return refuse(
		    r, in->utilisation.from, "the target utilization must be between 0 and 1", "write 0.75 or 75%");
	const struct datum positive[] = {in->rate, in->throughput, in->itl, in->bits, in->gpu_mem};
	for (size_t i = 0; i < sizeof positive / sizeof *positive; i++)
		if (positive[i].value <= 0)
			return refuse(
			    r, positive[i].from, "must be greater than 0", "leave it out, or give a positive value");
	return true;
}

static bool
check_gpu(struct run *r, const struct capacity_in *in)
{
	if (in->gpu.n == 0 && !datum_given(in->gpu_mem))
		return refuse(r, (struct source){0}, "no GPU given", "add --gpu a100,h100,h200, or --gpu-mem 80GB");
	if (in->gpu.n > 0 && datum_given(in->gpu_mem))
		return refuse(r, in->gpu_mem.from, "--gpu and --gpu-mem exclude each other",
		    "change a named GPU with --set gpu.memory.usable=72GB");
	if (in->gpu.n == 0 && (datum_given(in->itl) || (datum_given(in->rate) && !datum_given(in->throughput))))
		return refuse(
		    r, in->gpu_mem.from, "--gpu-mem gives no speed", "give --gpu, or a measured --throughput");
	return true;
}

/* The linear rule is used only when it is asked for by name; the exact one needs a shape. */
static bool
bind_model(struct run *r, const struct capacity_in *in, struct plan *p)
{
	const bool shape = shape_given(&in->shape);

	p->named = in->model.text != NULL;
	p->linear = in->kv_rule.text && strcmp(in->kv_rule.text, "doc") == 0;
	if (in->model.text && (datum_given(in->params) || datum_given(in->bits)))
		return refuse(r, in->model.from, "a model and --params or --bits exclude each other",
		    "use --weights-dtype int4 for a named model");
	if (in->model.text || shape) {
		p->w = run_shape(r, in->model, &in->shape);
		if (!p->w)
			return false;
	}
	if (in->model.text)
		return true;
	if (!datum_given(in->params))
		return refuse(r, (struct source){0}, "no model given",
		    "give its name ('ridge model list'), or --params 7e9 --bits 4");
	if (!shape && !p->linear)
		return refuse(r, in->params.from, "the KV cache size does not follow from --params",
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
			return refuse(r, others[i].from, "a replica of this plan is one tensor-parallel group",
			    "use only tp, ep and adp");
	if (datum_given(in->layout.dp))
		return refuse(
		    r, in->layout.dp.from, "dp cannot be given: the number of replicas is the answer", "leave dp out");
	if (!run_layout(r, &in->layout, datum_absent(), p->w, &p->layout))
		return false;
	if (datum_given(in->layout.ep) && fmod(p->layout.tp, p->layout.ep) != 0)
		return refuse(r, in->layout.ep.from,
		    "ep must divide tp: experts are spread over the tp GPUs of a replica",
		    "write for example --layout tp=8,ep=8");
	bind_served_degrees(r, &in->layout);
	if (!datum_given(in->layout.tp))
		p->layout.tp = 0;
	p->adp = p->layout.adp || (has_latent(p->w) && !datum_given(in->layout.tp));
	if (p->shared && p->layout.tp)
		return refuse(r, in->layout.tp.from, "--weights shared takes no tp: one copy is spread over all GPUs",
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
		run_reads(r, &in->isl, &in->osl, &in->utilisation, &in->throughput, NULL);
	else
		run_reads(r, &in->tokens, NULL);
	if (!check_load(r, in) || !check_ranges(r, in) || !check_gpu(r, in))
		return false;
	p->shared = strcmp(in->weights.text, "shared") == 0;
	return bind_model(r, in, p) && read_layout(r, in, p);
}

/* --- one candidate --------------------------------------------------------------------------------------- */

struct candidate {
	const struct gpu *gpu; /* NULL: --gpu-mem */
	struct formats formats;
	struct memory_job job; /* one user on one replica, but for its layout */
	struct capacity_case c;
};

/* A way to lay a replica out, and what it is rented in. */
struct way {
	struct layout layout;
	struct rental rental;
};

static struct datum
user_tokens(const struct capacity_in *in)
{
	struct datum tokens = in->tokens;

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
	    .user_token = in->tokens,
	    .rate_request_per_s = in->rate,
	    .isl_token = in->isl,
	    .osl_token = in->osl,
	    .utilisation = in->utilisation,
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
		CALL(sh, user_byte, capacity_user(sh, kv, in->tokens.value, 1));
		SHOW(sh, user_byte, kv_sequence_byte);
	}
	if (p->linear)
		warn_linear(r, in, p, kv);
}

/* --- ways to lay a replica out ---------------------------------------------------------------------------- */

static bool
divides(const struct workload *w, double tp)
{
	for (int i = 0; w && i < w->n_blocks; i++)
		if (fmod(datum_or(block_heads(&w->blocks[i]), tp), tp) != 0)
			return false;
	return true;
}

/* Experts are spread over all GPUs that attend apart, where they divide. */
static double
spread_of(const struct workload *w, double tp)
{
	double ep = 1;

	for (int i = 0; w && i < w->n_blocks; i++)
		if (w->blocks[i].moe.given) {
			if (fmod(w->blocks[i].moe.n_experts.value, tp) != 0)
				return 1;
			ep = tp;
		}
	return ep;
}

static struct layout
layout_of(const struct plan *p, double tp, bool adp)
{
	struct layout l = {.dp = 1, .tp = tp, .pp = 1, .vp = 1, .cp = 1, .ep = 1, .shard = 1, .adp = adp && tp > 1};

	l.ep = p->layout.ep > 1 ? p->layout.ep : l.adp ? spread_of(p->w, tp) : 1;
	l.etp = tp / l.ep;
	return l;
}

/* Powers of two that divide the heads: groups of at most `most` GPUs, each as one and attending apart. */
static int
ways_of(const struct plan *p, double most, struct way *ways)
{
	int n = 0;

	for (double tp = p->layout.tp ? p->layout.tp : 1; tp <= fmax(most, p->layout.tp); tp *= 2) {
		if (!p->layout.tp && tp > 1 && !divides(p->w, tp))
			continue;
		if (!p->layout.adp || tp == 1)
			ways[n++] = (struct way){.layout = layout_of(p, tp, false)};
		if (p->adp && tp > 1)
			ways[n++] = (struct way){.layout = layout_of(p, tp, true)};
		if (p->layout.tp)
			break;
	}
	return n;
}

static struct memory_job
job_of(const struct candidate *who, const struct layout *l)
{
	struct memory_job job = who->job;

	job.layout = *l;
	return job;
}

/* As --layout takes it. */
static const char *
layout_text(struct run *r, const struct candidate *who, const struct layout *l)
{
	const struct memory_job job = job_of(who, l);
	char buf[80];

	fit_layout_text(&job, buf, sizeof buf);
	return arena_printf(r->arena, "%s", buf);
}

/* What one GPU of the replica holds. */
static struct capacity_replica
replica_of(struct sheet *sh, const struct plan *p, const struct candidate *who, const struct way *way)
{
	const struct memory_job job = job_of(who, &way->layout);
	const double tp = way->layout.tp;
	struct capacity_replica a = {.tp = tp,
	    .n_groups = way->layout.adp ? tp : 1,
	    .n_rented_gpus = way->rental.n_gpus,
	    .gpu_usd_per_s = way->rental.gpu_usd_per_s.value};

	if (p->named) {
		CALL(sh, gpu_weight_byte, memory_weights(sh, &job, 0));
		CALL(sh, space_byte, memory_kv_pool(sh, &job));
		a.weight_byte = gpu_weight_byte;
		a.space_byte = space_byte;
		return a;
	}
	/* bare numbers: what the headroom leaves */
	TAKE(sh, card_byte, who->c.mem_byte);
	TAKE(sh, headroom_frac, who->c.headroom);
	CALL(sh, gpu_weight_byte, capacity_share(sh, p->weight_byte, tp));
	CALL(sh, space_byte, kv_space(sh, card_byte, headroom_frac, gpu_weight_byte));
	a.weight_byte = gpu_weight_byte;
	a.space_byte = fmax(0, space_byte);
	return a;
}

static struct price_in
price_of(const struct capacity_in *in)
{
	return (struct price_in){&in->price, in->provider};
}

/* Every way with its price, which nobody is told. */
static bool
price_ways(struct run *r, const struct capacity_in *in, const struct plan *p, const struct candidate *who,
    struct way *ways, int n, struct capacity_replica *all)
{
	const struct price_in price = price_of(in);
	struct run quiet = *r;

	for (int i = 0; i < n; i++) {
		if (!bind_price(&quiet, &price, who->gpu, ways[i].layout.tp, &ways[i].rental))
			return false;
		all[i] = replica_of(NULL, p, who, &ways[i]);
	}
	return true;
}

/* --- rows of one candidate -------------------------------------------------------------------------------- */

static void
show_money(struct run *r, const struct rental *rental, double n_paid, double fleet_token_per_s)
{
	struct sheet *sh = r->sheet;

	if (!datum_given(rental->gpu_usd_per_s))
		return;
	const double n_paid_gpus = n_paid;
	TAKE(sh, gpu_usd_per_s, rental->gpu_usd_per_s);
	CALL(sh, month_usd, capacity_month_usd(sh, n_paid_gpus, gpu_usd_per_s));
	SHOW(sh, month_usd, month_usd);
	if (!isnan(fleet_token_per_s)) {
		CALL(sh, million_usd, capacity_million_usd(sh, n_paid_gpus, gpu_usd_per_s, fleet_token_per_s));
		SHOW(sh, million_usd, million_usd);
	}
}

/* Whole instances are paid, with what stays idle in them. */
static double
show_rented(struct run *r, const struct candidate *who, const struct rental *rental, double n_replicas, double tp)
{
	struct sheet *sh = r->sheet;

	CALL(sh, n_rented_gpus, cost_rented(sh, n_replicas, tp, rental->n_gpus));
	SHOW(sh, n_rented_gpus, n_rented_gpus);
	if (n_rented_gpus > n_replicas * tp && rental->name && who->gpu)
		run_warn(r, "%s: %s has %g GPUs; %g of the %g paid GPUs stay idle", who->gpu->id, rental->name,
		    rental->n_gpus, n_rented_gpus - n_replicas * tp, n_rented_gpus);
	return n_rented_gpus;
}

static bool
show_pool(struct run *r, const struct capacity_in *in, const struct plan *p, const struct candidate *who)
{
	struct sheet *sh = r->sheet;
	const struct price_in price = price_of(in);
	struct rental rental;

	CALL(sh, n_gpus, capacity_pool(sh, &who->c, p->weight_byte));
	if (!bind_price(r, &price, who->gpu, n_gpus, &rental))
		return false;
	SHOW(sh, n_gpus, n_gpus);
	TELL(sh, bottleneck, capacity_pool_binds(&who->c, p->weight_byte));
	double n_paid = n_gpus;
	if (rental.n_gpus > 1)
		n_paid = show_rented(r, who, &rental, 1, n_gpus);
	show_money(r, &rental, n_paid, NAN);
	return true;
}

static bool
show_misfit(struct run *r, const struct plan *p, const struct candidate *who, const struct way *last)
{
	struct sheet *sh = r->sheet;
	struct plan any = *p;
	struct way ways[WAYS_MAX] = {{.layout = {.dp = 1}}};
	struct capacity_replica all[WAYS_MAX];

	/* why not: the largest group that was tried */
	const struct capacity_replica most = replica_of(sh, p, who, last);
	CALL(sh, n_most, capacity_replica_users(sh, &who->c, &most));
	(void)n_most;
	any.layout.tp = 0;
	const int n = ways_of(&any, TP_MOST, ways);
	for (int i = 0; i < n; i++)
		all[i] = replica_of(NULL, p, who, &ways[i]);
	const int fewest = capacity_fewest(&who->c, all, n);
	if (fewest < 0) {
		TELL(sh, verdict,
		    !datum_given(who->c.itl_s) ? "does not fit on any number of GPUs"
		                               : "misses --itl on any number of GPUs");
		return false;
	}
	TAKE(sh, n_fewest_gpus, all[fewest].tp);
	SHOW(sh, n_fewest_gpus, n_min_gpus);
	TELL(sh, verdict,
	    arena_printf(r->arena, "does not fit on %g GPUs: needs --layout %s", last->layout.tp,
	        layout_text(r, who, &ways[fewest].layout)));
	return false;
}

static void
show_speed(struct run *r, const struct plan *p, const struct candidate *who, const struct capacity_replica *a,
    double n_replicas, double *out)
{
	struct sheet *sh = r->sheet;
	const struct capacity_case *c = &who->c;

	if (p->load) {
		FROM(sh, c, rate_request_per_s, osl_token);
		CALL(sh, fleet_token_per_s, capacity_load_rate(sh, rate_request_per_s, osl_token));
		*out = fleet_token_per_s;
	} else if (datum_given(c->mem_byte_per_s) && c->n_users.value > 0) {
		TAKE(sh, n_users, c->n_users);
		CALL(sh, user_token_per_s, capacity_user_rate(sh, c, a, n_users, n_replicas));
		SHOW(sh, user_token_per_s, user_token_per_s);
		CALL(sh, fleet_token_per_s, capacity_fleet_rate(sh, n_users, user_token_per_s));
		*out = fleet_token_per_s;
	}
}

static bool
show_replicas(struct run *r, const struct capacity_in *in, const struct plan *p, const struct candidate *who)
{
	struct sheet *sh = r->sheet;
	const struct price_in price = price_of(in);
	struct way ways[WAYS_MAX] = {{.layout = {.dp = 1}}};
	struct capacity_replica all[WAYS_MAX];
	const int n = ways_of(p, NODE, ways);
	double fleet_token_per_s = NAN;

	if (!price_ways(r, in, p, who, ways, n, all))
		return false;
	const int best = capacity_best(&who->c, all, n);
	if (best < 0)
		return show_misfit(r, p, who, &ways[n - 1]);
	struct way *way = &ways[best];
	if (!bind_price(r, &price, who->gpu, way->layout.tp, &way->rental))
		return false;
	const struct capacity_replica a = replica_of(sh, p, who, way);
	CALL(sh, n_gpus, capacity_replicas(sh, &who->c, &a));
	CALL(sh, n_replicas, capacity_count(sh, n_gpus, a.tp));
	TAKE(sh, tp, a.tp);
	CALL(sh, n_most, capacity_replica_users(sh, &who->c, &a));
	SHOW(sh, n_gpus, n_gpus);
	SHOW(sh, n_replicas, n_replicas);
	SHOW(sh, tp, n_replica_gpus);
	SHOW(sh, n_most, n_replica_users);
	if (way->layout.adp)
		TELL(sh, layout, layout_text(r, who, &way->layout));
	else
		TELL_HIDDEN(sh, layout, layout_text(r, who, &way->layout));
	TELL(sh, bottleneck, capacity_binds(&who->c, &a));
	show_speed(r, p, who, &a, n_replicas, &fleet_token_per_s);
	double n_paid = n_gpus;
	if (way->rental.n_gpus > 1)
		n_paid = show_rented(r, who, &way->rental, n_replicas, tp);
	show_money(r, &way->rental, n_paid, fleet_token_per_s);
	return true;
}

static bool
show_candidate(struct run *r, const struct capacity_in *in, const struct plan *p, const struct candidate *who)
{
	struct sheet *sh = r->sheet;

	if (who->gpu)
		TELL(sh, gpu, who->gpu->id);
	TAKE(sh, mem_byte, who->c.mem_byte);
	SHOW(sh, mem_byte, gpu_mem_byte);
	return p->shared ? show_pool(r, in, p, who) : show_replicas(r, in, p, who);
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
	    .price = {&in->price, in->provider},
	    .headroom = in->headroom,
	    .dtype = in->dtype,
	    .weights_dtype = in->weights_dtype,
	    .kv_dtype = in->kv_dtype,
	    .layout = &in->layout,
	};
	const struct datum floors[] = {
	    in->params, in->bits, in->gpu_mem, in->tokens, in->throughput, in->itl, in->block, in->paging_overhead};

	for (size_t i = 0; i < sizeof floors / sizeof *floors; i++)
		if (datum_given(floors[i])) {
			refuse(r, floors[i].from, "it applies to the plan by memory and roofline floors",
			    "leave it out, or leave out --engine and --slo");
			return REFUSED;
		}
	if (strcmp(in->weights.text, "shared") == 0 || in->kv_rule.text) {
		refuse(r, in->kv_rule.text ? in->kv_rule.from : in->weights.from,
		    "it applies to the plan by memory and roofline floors",
		    "leave it out, or leave out --engine and --slo");
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
			n_fit += show_candidate(r, in, &p, &list[i]);
		}
	if (n == 1)
		n_fit = show_candidate(r, in, &p, &list[0]);
	if (diag_failed(r->diag))
		return REFUSED;
	return n_fit ? ANSWERED : ANSWERED_NO;
}

static const struct option_group capacity_groups[] = {
    OPTION_GROUP(capacity_options, 0),
    OPTION_GROUP(shape_rows, offsetof(struct capacity_in, shape)),
    OPTION_GROUP(layout_rows, offsetof(struct capacity_in, layout)),
    OPTION_GROUP(plan_rows, offsetof(struct capacity_in, plan)),
};

static const struct example capacity_examples[] = {
    {"capacity llama3-70b --gpu a100,h100,h200,b200 --users 200 --context 4Ki", "four candidates side by side", 0},
    {"capacity llama3-70b --gpu h100 --rate 5 --isl 1000 --osl 200 --weights-dtype fp8 --kv-dtype fp8",
        "replicas for a request rate, roofline bound", 0},
    {"capacity llama3-70b --gpu h100 --users 200 --context 4Ki --layout tp=1", "weights that do not fit on one GPU", 1},
    {"capacity llama3-70b --gpu h100,h200,b200 --rate 20 --isl 1000 --osl 200 --slo ttft.p99:1s,tpot:50ms "
     "--spare 1",
        "cheapest setups that meet SLOs, with one spare replica", 0},
    {"capacity --params 7e9 --bits 4 --layers 32 --kv-heads 32 --head-dim 128 --users 1000 --context 1000 "
     "--gpu-mem 80GB",
        "a model given by its dimensions", 0},
};

const struct command capacity_command = {
    .name = "capacity",
    .section = "Capacity and cost",
    .summary = "GPUs needed for users or a load, and their cost",
    .operands = "model",
    .usage = "[MODEL|JOB]",
    .groups = capacity_groups,
    .n_groups = sizeof capacity_groups / sizeof *capacity_groups,
    .examples = capacity_examples,
    .n_examples = sizeof capacity_examples / sizeof *capacity_examples,
    .input_size = sizeof(struct capacity_in),
    .run = capacity_run,
};
