/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Show link bandwidths, and choose between fitted parameters and the textbook formula. */
#include "ask/bind/bind.h"
#include "ask/collective/collective.h"

#include <string.h>

/* --- bandwidths ------------------------------------------------------------------------------------------ */

static double
bare_rate(struct sheet *sh, const struct interconnect *w)
{
	double inside_byte_per_s;

	if (datum_given(w->n_units)) {
		TAKE(sh, n_links, w->n_units);
		TAKE(sh, one_link_byte_per_s, w->rate);
		SET_CALL(sh, inside_byte_per_s, link_total(sh, n_links, one_link_byte_per_s));
	} else {
		TAKE(sh, given_byte_per_s, w->rate);
		SET(sh, inside_byte_per_s, given_byte_per_s);
	}
	if (w->n_groups > 1) {
		TAKE(sh, n_groups, (double)w->n_groups);
		TAKE(sh, host_byte_per_s, w->host_rate);
		CALL(sh, ring_byte_per_s, ring_of_groups(sh, n_groups, inside_byte_per_s, host_byte_per_s));
		return ring_byte_per_s;
	}
	return inside_byte_per_s;
}

static double
gpu_rate(struct sheet *sh, const struct interconnect *w)
{
	if (w->gpu->link_kind && strcmp(w->link->kind, "pcie") != 0 && datum_given(w->gpu->n_links)) {
		TAKE(sh, n_links, w->gpu->n_links);
		TAKE(sh, one_link_byte_per_s,
		    datum_given(w->gpu->link_byte_per_s) ? w->gpu->link_byte_per_s : w->link->byte_per_s);
		CALL(sh, gpu_byte_per_s, link_total(sh, n_links, one_link_byte_per_s));
		return gpu_byte_per_s;
	}
	TAKE(sh, slot_byte_per_s, w->link->byte_per_s);
	double gpu_byte_per_s;
	SET(sh, gpu_byte_per_s, slot_byte_per_s);
	return gpu_byte_per_s;
}

static double
system_rate(struct sheet *sh, const struct interconnect *w)
{
	const struct system *s = w->system;
	double domain_rate_byte_per_s;

	if (s->domain == DOMAIN_NONE) {
		SET(sh, domain_rate_byte_per_s, 0);
	} else if (datum_given(s->pair_byte_per_s)) {
		TAKE(sh, n_local, w->n_ranks.value / w->n_nodes);
		FROM(sh, s, domain_byte_per_s, pair_byte_per_s);
		TAKE(sh, pair_max_byte_per_s,
		    datum_given(s->pair_max_byte_per_s) ? s->pair_max_byte_per_s : s->pair_byte_per_s);
		SET_CALL(sh, domain_rate_byte_per_s,
		    mesh_bandwidth(sh, fmax(2, n_local), domain_byte_per_s, pair_byte_per_s, pair_max_byte_per_s));
	} else {
		TAKE(sh, domain_byte_per_s, s->domain_byte_per_s);
		SET(sh, domain_rate_byte_per_s, domain_byte_per_s);
	}
	return domain_rate_byte_per_s;
}

static double
interconnect_rate(struct sheet *sh, const struct interconnect *w)
{
	double rate_byte_per_s;

	if (w->bare)
		SET_CALL(sh, rate_byte_per_s, bare_rate(sh, w));
	else if (w->system)
		SET_CALL(sh, rate_byte_per_s, system_rate(sh, w));
	else
		SET_CALL(sh, rate_byte_per_s, gpu_rate(sh, w));
	return rate_byte_per_s;
}

void
interconnect_rates(struct run *r, struct interconnect *w)
{
	struct sheet *sh = r->sheet;

	CALL(sh, link_byte_per_s, interconnect_rate(sh, w));
	if (link_byte_per_s > 0)
		SHOW(sh, link_byte_per_s, link_byte_per_s);
	w->link_byte_per_s = link_byte_per_s;
	w->nic_byte_per_s = w->nic_rate.value;
	if (w->system && w->n_nodes > 1) {
		TAKE(sh, n_nics, w->system->n_nics);
		TAKE(sh, one_nic_byte_per_s, w->system->nic_byte_per_s);
		TAKE(sh, n_node_gpus, w->system->n_gpus);
		CALL(sh, nic_byte_per_s, nic_share(sh, n_nics, one_nic_byte_per_s, n_node_gpus));
		SHOW(sh, nic_byte_per_s, nic_byte_per_s);
		w->nic_byte_per_s = nic_byte_per_s;
	} else if (w->n_nodes > 1) {
		TAKE(sh, nic_byte_per_s, w->nic_rate);
		SHOW(sh, nic_byte_per_s, nic_byte_per_s);
	}
}

/* --- what NCCL would choose ------------------------------------------------------------------------------ */

static bool
over_pcie(const struct interconnect *w)
{
	return w->link && strcmp(w->link->kind, "pcie") == 0;
}

static bool
over_mesh(const struct interconnect *w)
{
	return w->link && strcmp(w->link->kind, "xgmi") == 0;
}

static struct nccl_ground
ground_of(const struct interconnect *w)
{
	const int generation = w->gpu ? nccl_generation(w->gpu->architecture) : -1;
	const bool sharp = w->system ? w->system->sharp : generation >= 2 && !over_pcie(w);

	return (struct nccl_ground){
	    .generation = generation < 0 ? 1 : generation, /* RCCL was made from NCCL */
	    .nvlink = !over_pcie(w),
	    .switched = !w->system || w->system->domain == DOMAIN_NVSWITCH,
	    .sharp = sharp,
	    .network_sharp = w->system && w->system->fabric && w->system->fabric->in_switch_reduction,
	    .amd_host = w->system && w->system->host_cpu &&
	        (strstr(w->system->host_cpu, "AMD") || strstr(w->system->host_cpu, "EPYC")),
	    .n_ranks = w->n_ranks.value,
	    .n_nodes = w->n_nodes,
	    .link_byte_per_s = link_reached(NULL, w->link_byte_per_s, run_link_counted(NULL, w->link)),
	    .nic_byte_per_s = w->n_nodes > 1 ? w->nic_byte_per_s * 0.96 : 0, /* NCCL: 12 GB/s per 100 Gbit/s */
	};
}

/* A rail ring is what NCCL calls a ring on several nodes, and two nodes sum over trees. */
static bool
is_choice(const struct nccl_choice *choice, enum algorithm a, double n_nodes)
{
	return a == ALGORITHM_AUTO || a == choice->algorithm ||
	    ((a == ALGORITHM_TREE || a == ALGORITHM_DOUBLE_TREE) && n_nodes == 2) ||
	    (a == ALGORITHM_TREE && choice->algorithm == ALGORITHM_DOUBLE_TREE) ||
	    (a == ALGORITHM_RAILS && choice->algorithm == ALGORITHM_RING);
}

/* --- plans ----------------------------------------------------------------------------------------------- */

static bool
can_do(struct run *r, const struct interconnect *w, enum collective c)
{
	const enum algorithm a = w->algorithm;

	if (a == ALGORITHM_AUTO || (algorithm_does(a, c) && algorithm_spans(a, w->n_nodes)))
		return true;
	diag_error(r->diag, (struct source){0}, "--algo %s does not support %s", algorithm_name(a),
	    algorithm_does(a, c) ? w->n_nodes > 1 ? "several nodes" : "one node" : collective_name(c));
	char list[200] = "";
	for (int i = 0; i < N_ALGORITHMS; i++)
		if (algorithm_does((enum algorithm)i, c) && algorithm_spans((enum algorithm)i, w->n_nodes))
			strcat(strcat(list, *list ? ", " : ""), algorithm_name((enum algorithm)i));
	diag_hint(r->diag, "use %s", list);
	return false;
}

static struct collective_ask
ask_of(const struct interconnect *w, enum collective c, enum algorithm a)
{
	return (struct collective_ask){
	    .collective = c,
	    .algorithm = a,
	    .n_ranks = w->n_ranks.value,
	    .n_nodes = w->n_nodes,
	    /* a node of one GPU has no links inside, and needs none */
	    .link_byte_per_s = w->link_byte_per_s > 0 ? w->link_byte_per_s
	        : w->n_nodes > 1                      ? w->nic_byte_per_s
	                                              : INFINITY,
	    .nic_byte_per_s = w->nic_byte_per_s,
	    .chunk_byte = 512 * 1024.0, /* NCCL's chunk of the Simple protocol */
	};
}

static enum algorithm
usual(const struct interconnect *w, enum collective c)
{
	const enum algorithm a = algorithm_usual(c);

	return a == ALGORITHM_RING && w->n_nodes > 1 ? ALGORITHM_RAILS : a;
}

/* A bare rate: the formula and nothing else. */
static void
plan_bare(struct run *r, const struct interconnect *w, enum collective c, struct collective_plan *plan,
    struct interconnect_words *words)
{
	const enum algorithm a = w->algorithm == ALGORITHM_AUTO ? usual(w, c) : w->algorithm;

	plan->form = FORM_TEXTBOOK;
	plan->ask = ask_of(w, c, a);
	plan->ask.hop_s = plan->ask.node_hop_s = datum_or(w->latency, 0);
	if (!datum_given(w->latency))
		plan->ask.chunk_byte = 0; /* no latency: nothing to fill the pipeline with */
	words->algorithm = algorithm_name(a);
	words->model = datum_given(w->latency) ? "textbook formula" : "textbook formula without latency";
	run_read_from(r, w->latency.from);
}

/* Record the rates of a plan made from link facts, in a separate scope. */
static void
reached_rates(struct sheet *sh, const char *scope, const struct interconnect *w, const struct nccl_ground *g,
    enum protocol p, struct collective_ask *plan)
{
	const bool nvls = plan->algorithm == ALGORITHM_NVLS || plan->algorithm == ALGORITHM_NVLS_TREE;
	const bool shown = strcmp(scope, "interconnect") == 0; /* buckets go the same way */
	const double n_local = w->n_ranks.value / w->n_nodes;

	SCOPE (sh, scope) {
		TAKE(sh, protocol_frac, nvls ? 1 : protocol_share(p));
		TAKE(sh, most_byte_per_s, nccl_protocol_most(g, plan->algorithm, p));
		if (w->link && isfinite(plan->link_byte_per_s)) {
			TAKE(sh, line_byte_per_s, plan->link_byte_per_s);
			double counted_frac;
			if (nvls) {
				TAKE(sh, nvls_frac, nvls_reach(g->generation));
				SET(sh, counted_frac, nvls_frac);
			} else
				SET_CALL(sh, counted_frac, run_link_counted(sh, w->link));
			CALL(sh, counted_byte_per_s, link_reached(sh, line_byte_per_s, counted_frac));
			CALL(sh, packed_byte_per_s, link_reached(sh, counted_byte_per_s, protocol_frac));
			LET(sh, data_byte_per_s, fmin(packed_byte_per_s, most_byte_per_s));
			if (w->n_nodes <= 1 && shown)
				SHOW(sh, data_byte_per_s, data_byte_per_s);
			plan->link_byte_per_s = data_byte_per_s;
		}
		if (w->n_nodes > 1 && w->system) {
			TAKE(sh, nic_line_byte_per_s, plan->nic_byte_per_s);
			CALL(sh, nic_counted_frac, run_link_counted(sh, w->system->fabric));
			CALL(sh, nic_counted_byte_per_s, link_reached(sh, nic_line_byte_per_s, nic_counted_frac));
			CALL(sh, nic_packed_byte_per_s, link_reached(sh, nic_counted_byte_per_s, protocol_frac));
			TAKE(sh, n_node_ranks, n_local);
			LET(sh, nic_data_byte_per_s, fmin(nic_packed_byte_per_s, most_byte_per_s / n_node_ranks));
			if (shown)
				SHOW(sh, nic_data_byte_per_s, nic_data_byte_per_s);
			plan->nic_byte_per_s = nic_data_byte_per_s;
		}
	}
}

/* Link facts: what NCCL counts on of the line rate, and the latencies of its model. */
static void
plan_facts(struct run *r, const struct interconnect *w, const char *scope, enum collective c,
    const struct nccl_ground *g, const struct nccl_choice *choice, struct collective_plan *plan,
    struct interconnect_words *words)
{
	const enum algorithm asked = w->algorithm == ALGORITHM_AUTO ? choice->algorithm : w->algorithm;
	const enum algorithm a = asked == ALGORITHM_RING && w->n_nodes > 1 ? ALGORITHM_RAILS : asked;
	const enum protocol p = choice->protocol;

	plan->form = FORM_TEXTBOOK;
	plan->ask = ask_of(w, c, a);
	reached_rates(r->sheet, scope, w, g, p, &plan->ask);
	plan->ask.base_s = nccl_base(a, p);
	plan->ask.hop_s = nccl_hop(a, p, g->nvlink);
	plan->ask.node_hop_s = w->n_nodes > 1 ? nccl_node_hop(a, p) : 0;
	words->algorithm = algorithm_name(a);
	words->protocol = a == ALGORITHM_DIRECT ? NULL : protocol_name(p);
	words->basis = "formula";
	words->model = "link data and NCCL's latencies, not measured";
	run_warn(r, "%s: %s; expect 25 %% error for large messages, a factor of two for small ones", words->model,
	    w->algorithm == ALGORITHM_AUTO ? "not fitted here" : "the fits cover NCCL's own choice");
}

static const char *
error_words(struct run *r, const struct calibration *c, const char *name, const char *what)
{
	const struct residual *e = residual_of(c, name);

	return e ? arena_printf(r->arena, "%s, mean error %.0f %%", what, 100 * e->mape_frac.value) : what;
}

static const char *const keys[N_COLLECTIVES] = {
#define COLLECTIVE(id, text, key, title) [COLLECTIVE_##id] = key,
#include "model/hw/calibration.def"
#undef COLLECTIVE
};

/* Ring and switches were fitted apart, so that either can be asked for. */
static bool
fits_order(const struct interconnect *w, enum collective c)
{
	return (w->algorithm == ALGORITHM_RING || w->algorithm == ALGORITHM_NVLS) && w->n_nodes <= 1 && w->fit &&
	    w->fit->has_collective[c] && ground_of(w).sharp && nvls_fitted(c, &w->fit->collective[c], w->n_ranks.value);
}

/* Fitted inside one node. */
static bool
plan_ramp(struct run *r, const struct interconnect *w, enum collective c, double size_byte,
    struct collective_plan *plan, struct interconnect_words *words)
{
	const enum collective as = collective_measured(w->fit, c);

	if (!w->fit->has_collective[as])
		return false;
	plan->ramp = &w->fit->collective[as];
	plan->form = collective_ramp_form(c, plan->ramp, w->algorithm, ground_of(w).sharp, w->n_ranks.value);
	plan->launch_s = w->launch_s;
	run_read_from(r, w->launch.from);
	words->basis = w->fit->id;
	words->model = error_words(
	    r, w->fit, keys[as], over_mesh(w) ? "fitted to RCCL on 2 to 8 GPUs" : "fitted to NCCL on 2 to 8 GPUs");
	if (w->launch_s.value > 0)
		words->model =
		    arena_printf(r->arena, "%s; plus %.0f us per call", words->model, w->launch_s.value * 1e6);
	words->error = (struct error_source){.fit = w->fit,
	    .kind = "collective",
	    .residual = keys[as],
	    .transferred = w->gpu && w->fit->gpu && strcmp(w->fit->gpu, w->gpu->id) != 0,
	    .transfer_sigma = w->fit->transfer_sigma.collective,
	    .n = 2,
	    .at = {{"ranks", w->n_ranks.value}, {"size", size_byte}}};
	if (as != c)
		run_warn(r, "no measurements of %s: assumed to reach the bus bandwidth of %s", collective_name(c),
		    collective_name(as));
	if (w->n_ranks.value > 8)
		run_warn(r, "the fit covers 2 to 8 GPUs: %g is an extrapolation", w->n_ranks.value);
	/* published runs up to 16 GiB are met within 5 % */
	if (size_byte > 32 * 536870912.0)
		run_warn(r, "the fit covers up to 16 GiB: %g GiB is an extrapolation", size_byte / 1073741824);
	return true;
}

/* Fabrics differ by far more in the latency of a step than in what they reach of the line. */
static double
transfer_sigma(struct run *r, const struct network_fit *net, const struct collective_plan *plan, double size_byte)
{
	const struct uncertainty *u = run_uncertainty(r, "network");
	struct network_calibration bytes = *plan->network;
	struct collective_plan alone = *plan;

	bytes.hop_s.value = 0;
	alone.network = &bytes;
	const double share = 1 - collective_time(NULL, &alone, size_byte) / collective_time(NULL, plan, size_byte);
	return hypot(
	    share * datum_or(net->near ? u->hop_sigma : u->transport_sigma, 0), datum_or(u->transfer_sigma, 0));
}

static bool
plan_network(struct run *r, const struct interconnect *w, enum collective c, double size_byte,
    struct collective_plan *plan, struct interconnect_words *words)
{
	struct network_fit *net = ARENA_NEW(r->arena, struct network_fit);

	if (!(w->unmeasured ? bind_network_unmeasured : bind_network)(r, w->gpu, w->system->fabric, c, net))
		return false;
	plan->form = FORM_NETWORK;
	plan->network = &net->rates;
	plan->launch_s = w->launch_s;
	run_read_from(r, w->launch.from);
	words->error = (struct error_source){.fit = net->fit,
	    .kind = "network",
	    .residual = arena_printf(r->arena, "network_%s", keys[c]),
	    .transferred = net->transferred,
	    .n = 2,
	    .at = {{"nodes", w->n_nodes}, {"size", size_byte}}};
	if (!net->transferred) {
		words->basis = net->fit->fabric;
		words->model =
		    arena_printf(r->arena, "fitted to %s over %s", over_mesh(w) ? "RCCL" : "NCCL", net->fit->fabric);
		return true;
	}
	words->error.transfer_sigma = transfer_sigma(r, net, plan, size_byte);
	words->basis = "other networks";
	words->model = "efficiency and latencies of other networks";
	run_warn(r, "no measurements of %s over %s: using those of other networks; expect 20 %% error or more",
	    collective_name(c), w->system->fabric->id);
	return true;
}

/* Messages that the engine leaves to NCCL have NCCL's time, words and error. */
static void
plan_custom(struct run *r, const struct interconnect *w, double size_byte, struct collective_plan *plan,
    struct interconnect_words *words)
{
	const struct custom_calibration *own = &w->engine->custom[0];
	const bool has_nccl = w->fit && w->fit->has_collective[COLLECTIVE_ALL_REDUCE] && !over_pcie(w);
	struct interconnect nccl = *w;

	nccl.algorithm = ALGORITHM_AUTO;
	if (has_nccl && !allreduce_is_own(own, w->n_ranks.value, size_byte) &&
	    plan_ramp(r, &nccl, COLLECTIVE_ALL_REDUCE, size_byte, plan, words)) {
		words->algorithm = arena_printf(r->arena, "NCCL, as %s leaves this size to it", w->engine->backend);
		return;
	}
	plan->form = FORM_CUSTOM;
	plan->custom = own;
	if (has_nccl)
		plan->ramp = &w->fit->collective[COLLECTIVE_ALL_REDUCE];
	words->algorithm = arena_printf(r->arena, "%s custom all-reduce", w->engine->backend);
	words->basis = w->engine->id;
	words->model = error_words(r, w->engine, "custom_all_reduce", "fitted under CUDA graphs");
	words->error = (struct error_source){.fit = w->engine,
	    .kind = "collective",
	    .residual = "custom_all_reduce",
	    .n = 2,
	    .at = {{"ranks", w->n_ranks.value}, {"size", size_byte}}};
}

static bool
plan_form(struct run *r, const struct interconnect *w, const char *scope, enum collective c, double size_byte,
    struct collective_plan *plan, struct interconnect_words *words)
{
	*plan = (struct collective_plan){0};
	*words = (struct interconnect_words){0};
	if (!can_do(r, w, c))
		return false;
	if (w->bare) {
		plan_bare(r, w, c, plan, words);
		return true;
	}
	const struct nccl_ground ground = ground_of(w);
	const bool direct = algorithm_usual(c) == ALGORITHM_DIRECT;
	const struct nccl_choice choice = direct ? (struct nccl_choice){ALGORITHM_DIRECT, PROTOCOL_SIMPLE, "direct"}
	                                         : nccl_choose(&ground, c, size_byte, w->algorithm);
	plan->ask = ask_of(w, c, choice.algorithm);
	if (w->engine) {
		plan_custom(r, w, size_byte, plan, words);
		return true;
	}
	const struct nccl_choice free_choice = direct ? choice : nccl_choose(&ground, c, size_byte, ALGORITHM_AUTO);
	words->algorithm = choice.algorithm == ALGORITHM_DIRECT ? "direct" : choice.name;
	words->protocol = direct ? NULL : protocol_name(choice.protocol);
	if ((is_choice(&free_choice, w->algorithm, w->n_nodes) || fits_order(w, c)) &&
	    (w->n_nodes > 1  ? plan_network(r, w, c, size_byte, plan, words)
	            : w->fit ? plan_ramp(r, w, c, size_byte, plan, words)
	                     : false))
		return true;
	plan_facts(r, w, scope, c, &ground, &choice, plan, words);
	return true;
}

/* The same among the ranks of one node, by what NCCL would choose there.  Where that takes longer than the network it
 * is the answer, and its words and warnings are the answer's. */
static void
plan_inside(struct run *r, const struct interconnect *w, const char *scope, enum collective c, double size_byte,
    struct collective_plan *plan, struct interconnect_words *words)
{
	struct run quiet = *r;
	struct interconnect one = *w;
	struct collective_plan *inside = ARENA_NEW(r->arena, struct collective_plan);
	struct interconnect_words other;

	quiet.warnings = (struct words){0};
	one.n_ranks.value = w->n_ranks.value / w->n_nodes;
	one.n_nodes = 1;
	if (w->algorithm != ALGORITHM_AUTO && !algorithm_spans(w->algorithm, 1))
		one.algorithm = ALGORITHM_AUTO;
	if (!plan_form(&quiet, &one, arena_printf(r->arena, "%s_inside", scope), c, size_byte, inside, &other))
		return;
	const double across_s = collective_time(NULL, plan, size_byte);
	plan->inside = inside;
	plan->rings = network_rings(c, over_mesh(w), ground_of(&one).sharp);
	if (collective_time(NULL, plan, size_byte) <= across_s)
		return;
	words->model = arena_printf(r->arena, "as inside one node: %s", other.model);
	words->error = other.error;
	words->basis = other.basis;
	for (size_t i = 0; i < quiet.warnings.n; i++)
		run_warn(r, "%s", quiet.warnings.list[i].text);
}

bool
interconnect_plan(struct run *r, const struct interconnect *w, const char *scope, enum collective c, double size_byte,
    struct collective_plan *plan, struct interconnect_words *words)
{
	if (!plan_form(r, w, scope, c, size_byte, plan, words))
		return false;
	if (w->n_nodes > 1 && w->n_ranks.value > w->n_nodes && w->link_byte_per_s > 0)
		plan_inside(r, w, scope, c, size_byte, plan, words);
	return true;
}
