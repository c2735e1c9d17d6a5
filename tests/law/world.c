/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inputs for the models.  Numbers are drawn by name and seed, so that they are the same in every run; models,
 * calibrations and stacks are those of the database, in turn.
 */
#include "law/law.h"
#include "law/serving.h"
#include "law/training.h"

#include "db/db.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --- numbers --------------------------------------------------------------------------------------------- */

/* FNV-1a over the name, then splitmix64: any seed and name give independent bits. */
static double
uniform(unsigned seed, const char *name)
{
	uint64_t x = UINT64_C(14695981039346656037);

	for (; *name; name++)
		x = (x ^ (unsigned char)*name) * UINT64_C(1099511628211);
	x += (seed + UINT64_C(1)) * UINT64_C(0x9E3779B97F4A7C15);
	x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
	x ^= x >> 31;
	return (double)(x >> 11) / 9007199254740992.0;
}

struct range {
	double low, high;
	bool whole;
};

/* What a name's suffix says; the exponents of ten that such numbers have. */
static struct range
range_of_unit(const char *name)
{
	static const struct {
		struct dim dim;
		struct range range;
	} units[] = {
	    {{{[AXIS_BYTE] = 1}}, {1, 1e12, false}},
	    {{{[AXIS_S] = 1}}, {1e-7, 1e4, false}},
	    {{{[AXIS_BYTE] = 1, [AXIS_S] = -1}}, {1e8, 1e13, false}},
	    {{{[AXIS_FLOP] = 1}}, {1, 1e22, false}},
	    {{{[AXIS_FLOP] = 1, [AXIS_S] = -1}}, {1e11, 1e16, false}},
	    {{{[AXIS_FLOP] = 1, [AXIS_BYTE] = -1}}, {1e-2, 1e4, false}},
	    {{{[AXIS_TOKEN] = 1}}, {1, 1e6, true}},
	    {{{[AXIS_PARAM] = 1}}, {1e3, 1e12, true}},
	    {{{[AXIS_BYTE] = 1, [AXIS_PARAM] = -1}}, {0.5, 16, false}},
	    {{{[AXIS_BYTE] = 1, [AXIS_TOKEN] = -1}}, {1, 1e7, false}},
	    {{{[AXIS_USD] = 1}}, {0.01, 1e6, false}},
	    {{{[AXIS_USD] = 1, [AXIS_S] = -1}}, {1e-5, 0.1, false}},
	    {{{[AXIS_S] = -1}}, {1e8, 3e9, false}},
	    {{{[AXIS_WATT] = 1}}, {10, 1e5, false}},
	};
	const struct dim d = dim_of_name(name);

	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (dim_equal(d, units[i].dim))
			return units[i].range;
	if (strncmp(name, "n_", 2) == 0)
		return (struct range){1, 1024, true};
	return dim_is_pure(d) ? (struct range){1, 64, true} : (struct range){1e-3, 1e6, false};
}

/* Numbers whose suffix says too little. */
static const struct {
	const char *name;
	struct range range;
} ranges[] = {
    {"bits", {2, 32, true}},
    {"coherency", {1e-7, 1e-2, false}},
    {"compression", {1, 1000, false}},
    {"contention", {1e-4, 0.3, false}},
    {"elem_byte", {0.5, 8, false}},
    {"extent", {1, 1e5, true}},
    {"head_dim", {32, 256, true}},
    {"kv_elem_byte", {0.5, 4, false}},
    {"n_experts", {2, 256, true}},
    {"n_layers", {1, 128, true}},
    {"n_nodes", {1, 64, true}},
    {"port_byte", {32, 128, true}},
    {"seq_length", {1, 1e6, true}},
    {"speedup", {0.5, 1000, false}},
};

static struct range
range_of(const char *name)
{
	for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
		if (strcmp(name, ranges[i].name) == 0)
			return ranges[i].range;
	return range_of_unit(name);
}

/* Some seeds stand at the edges: one of everything, no overlap, full overlap. */
double
draw(unsigned seed, const char *name)
{
	const double u = uniform(seed, name);

	if (name_is_fraction(name))
		return seed % 8 == 0 ? 0 : seed % 8 == 1 ? 1 : u;
	const struct range r = range_of(name);
	if (r.whole && seed % 8 == 0)
		return r.low;
	const double x = r.low * pow(r.high / r.low, u);
	return r.whole ? floor(x) : x;
}

unsigned
draw_choice(unsigned seed, const char *name, unsigned n)
{
	return (unsigned)(uniform(seed, name) * n);
}

static bool
draw_bool(unsigned seed, const char *name)
{
	return draw_choice(seed, name, 2) != 0;
}

/* 1, 2, 4, ... up to 2^(n-1) */
static double
draw_power(unsigned seed, const char *name, unsigned n)
{
	return (double)(1u << draw_choice(seed, name, n));
}

static struct datum
datum_of(double value)
{
	return (struct datum){value, {"generated", 0, 0, NULL, false}};
}

static struct datum
draw_datum(unsigned seed, const char *name)
{
	return datum_of(draw(seed, name));
}

/* Given or absent. */
static struct datum
draw_maybe(unsigned seed, const char *name)
{
	return uniform(seed + 7777, name) < 0.5 ? datum_absent() : draw_datum(seed, name);
}

/* --- entries of the database ----------------------------------------------------------------------------- */

enum { LIST_MAX = 512 };

struct list {
	size_t n;
	const void *items[LIST_MAX];
};

struct worlds {
	struct list any, layers, lists, attends, decoder, trained, vision, stated, kernel, ramp, network, custom,
	    trains, serves;
	struct servings *servings;
	struct trainings *trainings;
};

static void
add(struct list *l, const void *item)
{
	if (l->n < LIST_MAX)
		l->items[l->n++] = item;
}

static const void *
pick(const struct list *l, unsigned seed)
{
	if (l->n == 0)
		abort();
	return l->items[seed % l->n];
}

/* Every layer attends, to tokens as they are, and feeds forward. */
static bool
is_trained(const struct workload *w)
{
	for (int i = 0; i < w->n_blocks; i++) {
		const struct block *b = &w->blocks[i];
		if (b->mixer != MIXER_ATTENTION || b->attention.kind == ATTENTION_CSA ||
		    !(b->mlp.given || b->moe.given))
			return false;
	}
	return true;
}

static void
add_models(struct worlds *all, struct database *db)
{
	size_t n;
	const char **ids = database_list(db, ENTRY_MODEL, &n), *said;

	for (size_t i = 0; i < n; i++) {
		const struct workload *w = database_model(db, ids[i], NULL, (struct source){0}, &said);
		if (!w)
			continue;
		add(&all->any, w);
		if (w->n_blocks)
			add(&all->layers, w);
		if (w->kind == MODEL_OPERATORS)
			add(&all->lists, w);
		if (workload_attends(w))
			add(&all->attends, w);
		if (w->kind == MODEL_DECODER && is_trained(w))
			add(&all->trained, w);
		if (w->kind == MODEL_DECODER)
			add(&all->decoder, w);
		if (w->kind == MODEL_VISION)
			add(&all->vision, w);
		if (datum_given(w->stated_params))
			add(&all->stated, w);
	}
}

/* A fabric's steps, and what all fabrics share of a sum. */
static const struct network_calibration *
whole_network(struct arena *a, struct database *db, const struct network_calibration *own)
{
	struct network_calibration *out = ARENA_NEW(a, struct network_calibration);

	*out = database_calibration(db, "network", NULL)->network[COLLECTIVE_ALL_REDUCE];
	out->hop_s = own->hop_s;
	return out;
}

static void
add_calibrations(struct worlds *all, struct database *db)
{
	size_t n;
	const char **ids = database_list(db, ENTRY_CALIBRATION, &n);

	for (size_t i = 0; i < n; i++) {
		const struct calibration *c = database_calibration(db, ids[i], NULL);
		if (!c)
			continue;
		if (c->has_gemm)
			add(&all->kernel, c);
		for (int k = 0; k < N_COLLECTIVES; k++) {
			if (c->has_collective[k])
				add(&all->ramp, &c->collective[k]);
			if (c->has_network[k])
				add(&all->network, whole_network(database_arena(db), db, &c->network[k]));
		}
		for (int k = 0; k < c->n_custom; k++)
			add(&all->custom, &c->custom[k]);
	}
}

static void
add_stacks(struct worlds *all, struct arena *a, struct diag *d, struct database *db)
{
	size_t n;
	const char **ids = database_list(db, ENTRY_STACK, &n), *said;

	for (size_t i = 0; i < n; i++) {
		const struct stack *s = database_stack(db, a, d, ids[i], NULL, (struct source){0}, &said);
		if (s)
			add(s->use == STACK_TRAIN ? &all->trains : &all->serves, s);
	}
}

struct worlds *
worlds_new(struct arena *a, FILE *to)
{
	struct diag *d = diag_new(a);
	struct database *db = database_new(a, d, ".");
	struct worlds *all = ARENA_NEW(a, struct worlds);

	add_models(all, db);
	add_calibrations(all, db);
	add_stacks(all, a, d, db);
	all->servings = servings_new(a, d, db);
	all->trainings = trainings_new(a, d, db);
	diag_print(d, to, false);
	return all;
}

/* --- structs --------------------------------------------------------------------------------------------- */

static enum dtype
fitted_type(const struct calibration *c, unsigned seed)
{
	for (unsigned i = 0; i < N_DTYPES; i++) {
		const enum dtype t = (enum dtype)((seed + i) % N_DTYPES);
		if (gemm_calibrated(c, t))
			return t;
	}
	abort();
}

static struct gemm_shape
gemm_of(unsigned seed, enum dtype t)
{
	struct gemm_shape g = gemm_shape_of(
	    draw_power(seed, "gemm m", 15), 64 * draw_power(seed, "gemm n", 9), 64 * draw_power(seed, "gemm k", 9), t);

	g.n_copies = draw_bool(seed, "copies") ? 4 : 0;
	return g;
}

/* An algorithm that can carry this collective out on so many nodes. */
static struct collective_ask
ask_of(unsigned seed)
{
	struct collective_ask ask = {.collective = (enum collective)draw_choice(seed, "collective", N_COLLECTIVES),
	    .algorithm = ALGORITHM_RING,
	    .n_nodes = draw_power(seed, "nodes", 5),
	    .size_byte = draw(seed, "size_byte"),
	    .link_byte_per_s = draw(seed, "link_byte_per_s"),
	    .nic_byte_per_s = draw(seed, "nic_byte_per_s"),
	    .hop_s = draw(seed, "hop_s"),
	    .node_hop_s = draw(seed, "node_hop_s"),
	    .base_s = draw(seed, "base_s"),
	    .chunk_byte = draw(seed, "chunk_byte")};

	ask.n_ranks = ask.n_nodes * draw_power(seed, "local ranks", 4);
	const unsigned first = draw_choice(seed, "algorithm", N_ALGORITHMS);
	for (unsigned i = 0; i < N_ALGORITHMS; i++) {
		const enum algorithm a = (enum algorithm)((first + i) % N_ALGORITHMS);
		if (a != ALGORITHM_CUSTOM && algorithm_does(a, ask.collective) && algorithm_spans(a, ask.n_nodes)) {
			ask.algorithm = a;
			break;
		}
	}
	return ask;
}

static struct op
op_of(unsigned seed)
{
	struct op op = {.kind = (int)(seed % N_OP_KINDS),
	    .name = "operator",
	    .count = draw(seed, "n_times"),
	    .elem_byte = draw(seed, "elem_byte")};

	for (int i = 0; op_dim_name((enum op_kind)op.kind, i); i++)
		op.dim[i] = draw(seed, op_dim_name((enum op_kind)op.kind, i));
	return op;
}

static struct capacity_case
capacity_of(unsigned seed, const struct workload *decoder)
{
	const bool load = draw_bool(seed, "load");

	return (struct capacity_case){.kv = {.w = draw_bool(seed, "linear rule") ? NULL : decoder,
	                                  .kv_elem_byte = draw(seed, "kv_elem_byte"),
	                                  .linear_byte_per_token = draw(seed, "linear_byte_per_token"),
	                                  .block_token = draw_power(seed, "block", 8),
	                                  .overhead_frac = draw(seed, "overhead_frac")},
	    .mem_byte = datum_of(draw_power(seed, "memory", 4) * 40e9),
	    .headroom = draw_datum(seed, "headroom_frac"),
	    .mem_byte_per_s = draw_datum(seed, "mem_byte_per_s"),
	    .peak_flop_per_s = draw_datum(seed, "peak_flop_per_s"),
	    .work_flop_per_token = draw(seed, "work_flop_per_token"),
	    .itl_s = draw_maybe(seed, "itl_s"),
	    .n_users = draw_datum(seed, "n_users"),
	    .user_token = draw_datum(seed, "user_token"),
	    .rate_request_per_s = load ? draw_datum(seed, "rate_request_per_s") : datum_absent(),
	    .isl_token = load ? draw_datum(seed, "isl_token") : datum_absent(),
	    .osl_token = load ? draw_datum(seed, "osl_token") : datum_absent(),
	    .utilisation = draw_datum(seed, "utilisation_frac"),
	    .measured_token_per_s = draw_maybe(seed, "measured_token_per_s")};
}

static struct capacity_replica
replica_of(unsigned seed)
{
	const double tp = draw_power(seed, "tp", 4);

	return (struct capacity_replica){.tp = tp,
	    .n_groups = draw_bool(seed, "apart") ? tp : 1,
	    .weight_byte = draw(seed, "weight_byte"),
	    .space_byte = draw(seed, "space_byte"),
	    .n_rented_gpus = draw_power(seed, "rented", 4),
	    .gpu_usd_per_s = draw(seed, "gpu_usd_per_s")};
}

/* --- memory ---------------------------------------------------------------------------------------------- */

static struct layout
layout_of(unsigned seed, const struct workload *w)
{
	struct layout l = {.dp = draw_power(seed, "dp", 6),
	    .tp = draw_power(seed, "tp", 4),
	    .pp = draw_power(seed, "pp", 4),
	    .vp = draw_power(seed, "vp", 2),
	    .cp = draw_power(seed, "cp", 3),
	    .ep = draw_power(seed, "ep", 4),
	    .etp = draw_power(seed, "etp", 2),
	    .zero = (int)draw_choice(seed, "zero", 4),
	    .sp = draw_bool(seed, "sp")};

	while (l.pp * l.vp > w->n_layers.value) {
		l.pp = fmax(1, l.pp / 2);
		l.vp = 1;
	}
	l.shard = l.dp * l.cp;
	return l;
}

/* Layers of the stages by hand: all one, the rest in the first. */
static void
split_by_hand(struct arena *a, struct memory_job *job)
{
	const int n = (int)(job->layout.pp * job->layout.vp);
	int *list = ARENA_ARRAY(a, int, n);

	for (int i = 0; i < n; i++)
		list[i] = i ? 1 : (int)job->model->n_layers.value - (n - 1);
	job->n_stage_layers = n;
	job->stage_layers = list;
}

static bool
has_experts(const struct workload *w)
{
	for (int i = 0; i < w->n_blocks; i++)
		if (w->blocks[i].moe.given)
			return true;
	return false;
}

static void
policy_of(unsigned seed, struct memory_job *job)
{
	static const enum recompute policies[] = {RECOMPUTE_NONE, RECOMPUTE_FULL, RECOMPUTE_EVERY, RECOMPUTE_UNIFORM,
	    RECOMPUTE_MODULES, RECOMPUTE_BLOCK, RECOMPUTE_OFFLOAD, RECOMPUTE_OP};
	/* the per-operator policy is that of dense layers with heads of their own */
	const bool dense = !has_experts(job->model) && job->model->blocks[0].attention.kind == ATTENTION_HEADS;

	job->recompute = policies[draw_choice(seed, "policy", dense ? 8 : 7)];
	job->recompute_n = draw_power(seed, "recompute_n", 3);
	job->modules = draw_choice(seed, "modules", 1u << N_MODULES);
	job->flash = draw_bool(seed, "flash");
	job->dropout = draw_bool(seed, "dropout");
	job->compiled = draw_bool(seed, "compiled");
	job->context = draw_bool(seed, "cp all to all") ? CONTEXT_HEADS
	    : draw_bool(seed, "cp gather")              ? CONTEXT_GATHER
	                                                : CONTEXT_RING;
}

static struct memory_job
job_of(struct arena *a, unsigned seed, const struct workload *w, const struct stack *stack)
{
	static const enum dtype types[] = {DTYPE_BF16, DTYPE_FP16, DTYPE_FP32, DTYPE_FP8, DTYPE_MXFP8, DTYPE_NVFP4};
	static const struct loss loss = {"generated", {6, {"generated", 0, 0, NULL, false}}};

	struct memory_job job = {.use = stack->use,
	    .model = w,
	    .stack = stack,
	    .layout = layout_of(seed, w),
	    .batch = datum_of(draw_power(seed, "batch", 5)),
	    .seq = datum_of(128 * draw_power(seed, "seq", 11)),
	    .n_microbatches = draw_maybe(seed, "n_microbatches"),
	    .gpipe = draw_bool(seed, "gpipe"),
	    .dtype = types[draw_choice(seed, "dtype", 6)],
	    .weight_copies = draw_power(seed, "copies of weights", 2),
	    .quantised_parameters = draw_bool(seed, "quantised parameters"),
	    .scheme = (enum state_scheme)draw_choice(seed, "scheme", 3),
	    .optimizer = (enum optimizer)draw_choice(seed, "optimizer", N_OPTIMIZERS),
	    .optimizer_in_backward = draw_bool(seed, "optimizer in backward"),
	    .gradient_byte = draw_bool(seed, "gradient type") ? datum_of(4) : datum_absent(),
	    .offload = draw_choice(seed, "offload", 8),
	    .offload_modules = draw_choice(seed, "offload modules", 2) * (seed % (1u << N_OFFLOAD_MODULES)),
	    .imbalance = datum_of(1 + draw(seed, "imbalance_frac")),
	    .loss = stack->n_losses ? &stack->losses[seed % (unsigned)stack->n_losses] : &loss,
	    .lora_rank = datum_absent(),
	    .adapter_dropout = draw_bool(seed, "adapter dropout"),
	    .kv_elem_byte = draw_power(seed, "cache type", 2),
	    .block_token = datum_of(draw_power(seed, "block", 8)),
	    .batch_token = draw_maybe(seed, "batch_token"),
	    .utilization = datum_of(0.9),
	    .context_byte = draw_datum(seed, "context_byte"),
	    .card_byte = datum_of(40e9 * draw_power(seed, "card", 3)),
	    .headroom_frac = draw_maybe(seed, "headroom_frac"),
	    .host_byte = draw_maybe(seed, "host_byte"),
	    .n_host_gpus = draw_power(seed, "GPUs of a host", 7)};

	policy_of(seed, &job);
	if (seed % 5 == 0)
		split_by_hand(a, &job);
	return job;
}

/* Adapters on maps of layers that have them. */
static struct memory_job
adapt_of(struct arena *a, unsigned seed, const struct workload *w, const struct stack *stack)
{
	struct memory_job job = job_of(a, seed, w, stack);

	job.lora_rank = datum_of(draw_power(seed, "lora_rank", 8));
	job.targets = 1 + draw_choice(seed, "targets", (1u << N_TARGETS) - 1);
	job.quant = (enum quant)draw_choice(seed, "quant", N_QUANTS);
	return job;
}

/* One of the moments at which this stage can be fullest. */
static enum moment
moment_of(unsigned seed, const struct memory_job *job, int stage)
{
	for (unsigned i = 0; i < N_MOMENTS; i++) {
		const enum moment m = (enum moment)((seed + i) % N_MOMENTS);
		if (memory_has_moment(job, stage, m))
			return m;
	}
	abort();
}

static struct memory_numbers
numbers_of(unsigned seed)
{
	return (struct memory_numbers){.n_params = draw_maybe(seed, "n_params"),
	    .weight_byte = draw_datum(seed, "weight_byte_per_param"),
	    .gradient_byte = draw_datum(seed, "gradient_byte_per_param"),
	    .master_byte = draw_datum(seed, "master_byte_per_param"),
	    .moment_byte = draw_datum(seed, "moment_byte_per_param"),
	    .n_moments = draw_choice(seed, "n_moments", 3),
	    .batch = draw_datum(seed, "n_sequences"),
	    .seq = draw_datum(seed, "seq_token"),
	    .hidden = draw_datum(seed, "hidden"),
	    .n_layers = draw_datum(seed, "n_layers"),
	    .n_heads = draw_maybe(seed, "n_heads"),
	    .head_dim = draw_datum(seed, "head_dim"),
	    .elem_byte = draw(seed, "elem_byte"),
	    .flash = draw_bool(seed, "flash"),
	    .activations_byte = draw_maybe(seed, "activations_byte"),
	    .n_ranks = draw(seed, "n_ranks"),
	    .zero = (int)draw_choice(seed, "zero", 4),
	    .offload_optimizer = draw_bool(seed, "offload"),
	    .recompute = (enum recompute)draw_choice(seed, "policy", 4),
	    .recompute_n = draw_power(seed, "recompute_n", 3),
	    .units12 = draw_bool(seed, "units12"),
	    .context_byte = draw_maybe(seed, "context_byte")};
}

/* --- a world --------------------------------------------------------------------------------------------- */

#define MAKE(a, type, value) make((a), sizeof(type), &(const type[]){value})

static const void *
make(struct arena *a, size_t size, const void *value)
{
	return memcpy(arena_take(a, size), value, size);
}

static void
make_kernels(struct worlds *all, struct arena *a, unsigned seed, struct world *x)
{
	x->kernel = pick(&all->kernel, seed);
	x->gemm_type = fitted_type(x->kernel, seed);
	x->gemm = MAKE(a, struct gemm_shape, gemm_of(seed, x->gemm_type));
	x->op = MAKE(a, struct op, op_of(seed));
}

/* Each by itself where a ramp has no switches. */
static const enum collective_form forms[] = {FORM_TEXTBOOK, FORM_RAMP, FORM_CUSTOM, FORM_NETWORK};

static void
make_collectives(struct worlds *all, struct arena *a, unsigned seed, struct world *x)
{
	x->any_collective = (enum collective)(seed % N_COLLECTIVES);
	x->ramp = pick(&all->ramp, seed);
	x->network = pick(&all->network, seed);
	x->custom = pick(&all->custom, seed);
	x->ask = MAKE(a, struct collective_ask, ask_of(seed));
	struct collective_plan plan = {
	    .form = forms[seed % 4], .ask = *x->ask, .ramp = x->ramp, .network = x->network, .custom = x->custom};
	x->plan = MAKE(a, struct collective_plan, plan);
}

static void
make_memory(struct worlds *all, struct arena *a, unsigned seed, struct world *x)
{
	const struct stack *trains = pick(&all->trains, seed / 3), *serves = pick(&all->serves, seed / 3);

	x->train = MAKE(a, struct memory_job, job_of(a, seed, x->trained, trains));
	x->adapt = MAKE(a, struct memory_job, adapt_of(a, seed, x->trained, trains));
	x->serve = MAKE(a, struct memory_job, job_of(a, seed, x->decoder, serves));
	x->train_stage = (int)draw_choice(seed, "stage", (unsigned)x->train->layout.pp);
	x->adapt_stage = (int)draw_choice(seed, "stage of adapters", (unsigned)x->adapt->layout.pp);
	x->train_moment = moment_of(seed, x->train, x->train_stage);
	x->adapt_moment = moment_of(seed, x->adapt, x->adapt_stage);
	x->numbers = MAKE(a, struct memory_numbers, numbers_of(seed));
}

static void
make_serving(struct worlds *all, struct arena *a, unsigned seed, struct world *x)
{
	const struct serve_load load = {.isl = 10 * draw(seed, "n_prompt"),
	    .osl = 10 * draw(seed, "n_answer"),
	    .cached_frac = draw_bool(seed, "prefix") ? 0.5 : 0,
	    .n_requests = datum_of(draw_power(seed, "requests", 10)),
	    .n_concurrent = draw_bool(seed, "clients") ? datum_of(draw_power(seed, "clients", 8)) : datum_absent()};

	x->serving = serving_make(all->servings, a, seed, x->decoder, NULL);
	x->unfused = serving_make(all->servings, a, seed, x->decoder, "llama.cpp");
	x->served = &x->serving->model->blocks[seed % (unsigned)x->serving->model->n_blocks];
	x->load = MAKE(a, struct serve_load, load);
	const struct serve_flow flow = {.n_places = 1 + draw(seed, "n_places"),
	    .n_running = draw(seed, "n_running"),
	    .n_decoding = 1 + draw(seed, "n_beside"),
	    .n_few = draw(seed, "n_beside"),
	    .n_many = 2 + 2 * draw(seed, "n_beside"),
	    .few_frac = draw_bool(seed, "varies") ? 0.2 : 0,
	    .many_frac = draw_bool(seed, "varies") ? 0.2 : 0,
	    .prompt_frac = fmin(0.99, draw(seed, "prompt_frac")),
	    .n_together = 1 + draw(seed, "n_together"),
	    .idle_frac = draw(seed, "idle_frac"),
	    .n_beside = draw(seed, "n_beside"),
	    .n_own = 1 + draw(seed, "n_together"),
	    .wait_s = draw(seed, "wait_s"),
	    .place_s = draw(seed, "place_s")};
	x->flow = MAKE(a, struct serve_flow, flow);
}

/* One of the conventions that fit a model. */
static enum convention
convention_of(unsigned seed, const struct workload *w)
{
	for (unsigned i = 0; i < N_CONVENTIONS; i++) {
		const enum convention c = (enum convention)((seed + i) % N_CONVENTIONS);
		if (!convention_refusal(c, w))
			return c;
	}
	abort();
}

void
world_make(struct worlds *all, struct arena *a, unsigned seed, struct world *x)
{
	*x = (struct world){.seed = seed,
	    .any = pick(&all->any, seed),
	    .layers = pick(&all->layers, seed),
	    .list = pick(&all->lists, seed),
	    .attends = pick(&all->attends, seed),
	    .decoder = pick(&all->decoder, seed),
	    .trained = pick(&all->trained, seed),
	    .vision = pick(&all->vision, seed),
	    .stated = pick(&all->stated, seed)};
	x->block = &x->layers->blocks[seed % (unsigned)x->layers->n_blocks];
	x->attending = workload_attention(x->attends);
	x->convention = convention_of(seed, x->decoder);
	make_kernels(all, a, seed, x);
	make_collectives(all, a, seed, x);
	make_memory(all, a, seed, x);
	make_serving(all, a, seed, x);
	x->step = training_make(all->trainings, a, seed);
	x->any_routed = training_routed(all->trainings, seed);
	x->step_block = &x->step->model->blocks[seed % (unsigned)x->step->model->n_blocks];
	const struct kv_page page = {
	    draw(seed, "used_token"), draw(seed, "max_seq_token"), draw_power(seed, "block", 8)};
	x->page = MAKE(a, struct kv_page, page);
	const struct kv_admission admission = {
	    draw(seed, "seq_token"), draw(seed, "step_token"), draw_power(seed, "block", 8)};
	x->admission = MAKE(a, struct kv_admission, admission);
	x->capacity = MAKE(a, struct capacity_case, capacity_of(seed, x->decoder));
	x->replica = MAKE(a, struct capacity_replica, replica_of(seed));
	const struct scale_estimate e = {draw(seed, "speedup"), draw(seed, "contention"), 1.4, 2.8};
	x->estimate = MAKE(a, struct scale_estimate, e);
}
