/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Prefill and decode pools of `ridge plan serve --pools`: each side has its own GPU and layout.
 *
 * The two sides meet in the request rate and in the link that carries the caches, so each is sized by itself: replicas
 * that prefill by TTFT, waiting as a queue with one server and service times that are all alike (M/D/1; its tail after
 * Kingman's heavy-traffic limit), replicas that decode by TPOT.  Pairs are made of the cheapest of each side.
 */
#include "ask/plan/plan.h"

#include "ask/serve/serve.h"
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

/* Replicas that prefill, others that decode, and the link between them. */
struct pools {
	const struct plan_candidate *prefill, *decode;
	const struct link *link;
	double n_prefill, n_decode;
	double ttft_s, tpot_s, transfer_s, link_frac;
	double cost; /* USD per second; GPUs where no price is known */
	bool priced;
};

enum { SIDE_MOST = 6, HALVINGS = 24 };
static const double link_most_frac = 0.5; /* of a link: caches come in bursts */

/* One setup as a pool of one side. */
struct side {
	const struct plan_candidate *c;
	double rate_per_s; /* of a replica */
	double time_s;     /* TTFT without the transfer; TPOT */
	double price;      /* of what carries a request per second: USD, or GPUs */
};

static const struct plan_setup *
setup_of(const struct plan_candidate *c)
{
	return c->about;
}

static double
price_of(const struct plan_candidate *c, double rate_per_s)
{
	return c->n_replica_gpus * (isnan(c->gpu_usd_per_s) ? 1 : c->gpu_usd_per_s) / rate_per_s;
}

/* --- replicas that prefill ------------------------------------------------------------------------------- */

/* TTFT over its limits, at this share of a replica's rate. */
static double
first_excess(const struct plan_load *l, double alone_s, double service_s, double busy)
{
	double most = 0;

	for (size_t i = 0; i < l->n_objectives; i++) {
		const struct plan_objective *o = &l->objectives[i];
		const double late = 1 - plan_share(o->statistic), scale_s = service_s / (2 * (1 - busy));
		const double wait_s = o->statistic == PLAN_MEAN ? busy * scale_s : fmax(0, scale_s * log(busy / late));
		if (o->measure == PLAN_TTFT)
			most = fmax(most, (alone_s + wait_s) / o->limit_s);
	}
	return most;
}

static bool
size_prefill(const struct plan_load *l, const struct plan_candidate *c, double transfer_s, struct side *out)
{
	const struct serve_load load = plan_serve_load(l);
	const double full = serve_prefill_rate(NULL, c->setup, &load),
	             alone_s = serve_first(NULL, c->setup, &load, 1) + serve_front(NULL, c->setup) +
	    serve_handover(NULL, c->setup) + transfer_s;
	double low = 0.01, high = l->utilisation_frac;

	if (!(full > 0) || first_excess(l, alone_s, 1 / full, low) > 1)
		return false;
	if (first_excess(l, alone_s, 1 / full, high) <= 1)
		low = high;
	for (int i = 0; i < HALVINGS && low < high; i++) {
		const double middle = (low + high) / 2;
		*(first_excess(l, alone_s, 1 / full, middle) <= 1 ? &low : &high) = middle;
	}
	*out = (struct side){c, low * full, alone_s + low / (full * 2 * (1 - low)), price_of(c, low * full)};
	return true;
}

/* --- replicas that decode -------------------------------------------------------------------------------- */

static double
token_limit(const struct plan_load *l)
{
	double limit_s = INFINITY;

	for (size_t i = 0; i < l->n_objectives; i++)
		if (l->objectives[i].measure == PLAN_TPOT)
			limit_s = fmin(limit_s, l->objectives[i].limit_s);
	return limit_s;
}

static bool
size_decode(const struct plan_load *l, const struct plan_candidate *c, struct side *out)
{
	const struct serve_load load = plan_serve_load(l);
	const double limit_s = token_limit(l);
	double low = 1, high = l->utilisation_frac * serve_running(NULL, c->setup, &load);

	if (!(high >= 1) || serve_token_time(NULL, &load, serve_decode(NULL, c->setup, &load, 1)) > limit_s)
		return false;
	if (serve_token_time(NULL, &load, serve_decode(NULL, c->setup, &load, high)) <= limit_s)
		low = high;
	for (int i = 0; i < HALVINGS && low < high; i++) {
		const double middle = (low + high) / 2,
		             token_s = serve_token_time(NULL, &load, serve_decode(NULL, c->setup, &load, middle));
		*(token_s <= limit_s ? &low : &high) = middle;
	}
	const double step_s = serve_decode(NULL, c->setup, &load, low),
	             rate_per_s = serve_decode_rate(NULL, &load, low, step_s);
	*out = (struct side){c, rate_per_s, serve_token_time(NULL, &load, step_s), price_of(c, rate_per_s)};
	return true;
}

/* --- pairs ----------------------------------------------------------------------------------------------- */

static int
by_price(const void *x, const void *y)
{
	const struct side *a = x, *b = y;

	return a->price != b->price ? (a->price < b->price ? -1 : 1) : (a->c > b->c) - (a->c < b->c);
}

/* Caches go from one to the other: the same engine, and the same type of cache. */
static bool
may_meet(const struct plan_candidate *a, const struct plan_candidate *b)
{
	return strcmp(setup_of(a)->engine->id, setup_of(b)->engine->id) == 0 &&
	    setup_of(a)->formats.kv == setup_of(b)->formats.kv && a->setup->layout.pp == b->setup->layout.pp;
}

static double
replicas(const struct plan_load *l, const struct side *s)
{
	return fmax(1, ceil(l->rate_request_per_s * (1 + l->growth_frac) / s->rate_per_s - 1e-9)) + l->n_spare;
}

/* Of whole instances, which pools of one GPU share. */
static double
pools_cost(const struct side *prefill, double n_prefill, const struct side *decode, double n_decode)
{
	const struct plan_candidate *x = prefill->c, *y = decode->c;
	const struct plan_fleet both = {.n_parts = 2, .parts = {{x, n_prefill}, {y, n_decode}}};

	if (isnan(x->gpu_usd_per_s) || isnan(y->gpu_usd_per_s))
		return n_prefill * x->n_replica_gpus + n_decode * y->n_replica_gpus;
	return plan_serve_rented(&both, 0) * x->gpu_usd_per_s + plan_serve_rented(&both, 1) * y->gpu_usd_per_s;
}

static bool
has_gpus(const struct pools *p)
{
	const struct plan_candidate *x = p->prefill, *y = p->decode;
	const double x_gpus = p->n_prefill * x->n_replica_gpus, y_gpus = p->n_decode * y->n_replica_gpus;
	const bool same = x->n_most_gpus == y->n_most_gpus;

	return (!x->n_most_gpus || x_gpus + (same ? y_gpus : 0) <= *x->n_most_gpus) &&
	    (!y->n_most_gpus || y_gpus + (same ? x_gpus : 0) <= *y->n_most_gpus);
}

static bool
set_pair(const struct plan_served *p, const struct link *link, const struct side *prefill, const struct side *decode,
    struct pools *out)
{
	const struct plan_load *l = &p->load;
	const struct serve_load load = plan_serve_load(l);
	const double n_decode = replicas(l, decode);
	const double transfer_s =
	    serve_transfer(NULL, prefill->c->setup, &load, link->byte_per_s.value, datum_or(link->latency_s, 0));
	/* more replicas share the caches where a link is slow */
	const double n_prefill =
	    fmax(replicas(l, prefill), ceil(transfer_s * l->rate_request_per_s / link_most_frac - 1e-9));
	const double answer_s = prefill->time_s + (l->osl_token - 1) * decode->time_s;

	*out = (struct pools){.prefill = prefill->c,
	    .decode = decode->c,
	    .link = link,
	    .n_prefill = n_prefill,
	    .n_decode = n_decode,
	    .ttft_s = prefill->time_s,
	    .tpot_s = decode->time_s,
	    .transfer_s = transfer_s,
	    .link_frac = transfer_s * l->rate_request_per_s / n_prefill,
	    .cost = pools_cost(prefill, n_prefill, decode, n_decode),
	    .priced = !isnan(prefill->c->gpu_usd_per_s) && !isnan(decode->c->gpu_usd_per_s)};
	if (!has_gpus(out))
		return false;
	for (size_t i = 0; i < l->n_objectives; i++)
		if (l->objectives[i].measure == PLAN_E2E && answer_s > l->objectives[i].limit_s)
			return false;
	return true;
}

static double
pair_gpus(const struct pools *p)
{
	return p->n_prefill * p->prefill->n_replica_gpus + p->n_decode * p->decode->n_replica_gpus;
}

static int
by_cost(const void *x, const void *y)
{
	const struct pools *a = x, *b = y;

	if (a->priced != b->priced)
		return a->priced ? -1 : 1;
	if (a->cost != b->cost)
		return a->cost < b->cost ? -1 : 1;
	const double a_gpus = pair_gpus(a), b_gpus = pair_gpus(b);
	if (a_gpus != b_gpus)
		return a_gpus < b_gpus ? -1 : 1;
	return a->ttft_s != b->ttft_s ? (a->ttft_s < b->ttft_s ? -1 : 1) : 0;
}

/* The cheapest sides of every group of GPU, engine and type. */
static size_t
cheapest(struct side *list, size_t n)
{
	size_t kept = 0;

	qsort(list, n, sizeof *list, by_price);
	for (size_t i = 0; i < n; i++) {
		int alike = 0;
		for (size_t k = 0; k < kept; k++)
			alike += setup_of(list[k].c)->group == setup_of(list[i].c)->group;
		if (alike < SIDE_MOST)
			list[kept++] = list[i];
	}
	return kept;
}

/* The cheapest pairs of pools whose caches the link carries. */
static struct pools *
cheapest_pools(struct run *r, const struct plan_served *p, const struct link *link, size_t *n)
{
	const struct capacity_search *s = &p->search;
	const struct serve_load load = plan_serve_load(&p->load);
	struct side *prefill = ARENA_ARRAY(r->arena, struct side, s->n + 1),
	            *decode = ARENA_ARRAY(r->arena, struct side, s->n + 1);
	size_t n_prefill = 0, n_decode = 0;

	*n = 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct plan_candidate *c = &s->list[i];
		if (c->bound == PLAN_DOES_NOT_FIT)
			continue;
		const double transfer_s =
		    serve_transfer(NULL, c->setup, &load, link->byte_per_s.value, datum_or(link->latency_s, 0));
		n_prefill += size_prefill(&p->load, c, transfer_s, &prefill[n_prefill]);
		n_decode += size_decode(&p->load, c, &decode[n_decode]);
	}
	n_prefill = cheapest(prefill, n_prefill);
	n_decode = cheapest(decode, n_decode);
	struct pools *list = ARENA_ARRAY(r->arena, struct pools, n_prefill * n_decode + 1);
	size_t n_pairs = 0;
	for (size_t i = 0; i < n_prefill; i++)
		for (size_t k = 0; k < n_decode; k++)
			if (may_meet(prefill[i].c, decode[k].c))
				n_pairs += set_pair(p, link, &prefill[i], &decode[k], &list[n_pairs]);
	qsort(list, n_pairs, sizeof *list, by_cost);
	/* the best of each pair of groups */
	for (size_t i = 0; i < n_pairs && *n < (size_t)p->in->top.value; i++) {
		bool known = false;
		for (size_t k = 0; k < *n; k++)
			known = known ||
			    (setup_of(list[k].prefill)->group == setup_of(list[i].prefill)->group &&
			        setup_of(list[k].decode)->group == setup_of(list[i].decode)->group);
		if (!known || p->in->plan.every_layout)
			list[(*n)++] = list[i];
	}
	return list;
}

/* --- the table ------------------------------------------------------------------------------------------- */

static void
show_pair(struct run *r, const struct pools *pair)
{
	struct sheet *sh = r->sheet;

	TELL(sh, prefill_pool, plan_serve_part_text(r, pair->n_prefill, pair->prefill));
	TELL(sh, decode_pool, plan_serve_part_text(r, pair->n_decode, pair->decode));
	TELL(sh, engine, setup_of(pair->decode)->engine->id);
	TELL(sh, dtype, dtype_name(setup_of(pair->decode)->type));
	TAKE(sh, n_prefill_gpus, pair->n_prefill * pair->prefill->n_replica_gpus);
	TAKE(sh, n_decode_gpus, pair->n_decode * pair->decode->n_replica_gpus);
	LET(sh, n_gpus, n_prefill_gpus + n_decode_gpus);
	SHOW(sh, n_gpus, n_gpus);
	if (pair->priced) {
		CALL(sh, month_usd, capacity_month_usd(sh, 1, pair->cost));
		SHOW(sh, month_usd, month_usd);
	}
	TAKE(sh, ttft_s, pair->ttft_s);
	SHOW(sh, ttft_s, ttft_s);
	TAKE(sh, tpot_s, pair->tpot_s);
	SHOW(sh, tpot_s, tpot_s);
	TAKE(sh, transfer_s, pair->transfer_s);
	SHOW(sh, transfer_s, transfer_s);
	TAKE(sh, link_busy_frac, pair->link_frac);
	SHOW(sh, link_busy_frac, link_busy_frac);
}

static enum answer
emit(struct run *r, const struct plan_served *p, const struct pools *list, size_t n)
{
	const struct plan_serve_in *in = p->in;
	const size_t i = (size_t)in->emit_rank.value - 1;

	run_reads(r, &in->launch.emit, &in->emit_rank, NULL);
	if (i >= n) {
		run_refuse(r, in->emit_rank.from, arena_printf(r->arena, "there are %zu pairs of pools", n),
		    "name one of them, or leave --pools out");
		return REFUSED;
	}
	const struct formats *f = &setup_of(list[i].decode)->formats;
	const struct launch_served s = {.setup = list[i].prefill->setup,
	    .decode = list[i].decode->setup,
	    .compute = f->compute,
	    .weights = f->weights,
	    .kv = f->kv,
	    .published = f->published != NULL,
	    .speculation = &p->search.speculation,
	    .n_replicas = list[i].n_prefill,
	    .n_decode = list[i].n_decode,
	    .most_token = p->load.isl_cv > 0 || p->load.osl_cv > 0 ? 0 : p->load.isl_token + p->load.osl_token};
	return launch_serve_show(r, in->launch.emit, &s, 1);
}

enum answer
plan_serve_show_pools(struct run *r, const struct plan_served *p)
{
	const struct plan_serve_in *in = p->in;
	struct word name = in->kv_link;
	size_t n;

	run_reads(r, &in->pools, &in->kv_link, NULL);
	if (isnan(p->load.rate_request_per_s)) {
		run_refuse(r, in->users.from, "pools are planned for a request rate", "write for example --rate 20");
		return REFUSED;
	}
	if (!name.text) {
		name.text = "ib-ndr";
		run_assume_value(r, "kv-link", "ib-ndr");
	}
	const struct link *link = run_link(r, name);
	if (!link)
		return REFUSED;
	const struct pools *list = cheapest_pools(r, p, link, &n);
	for (size_t i = 0; i < n; i++)
		SCOPE_I (r->sheet, "pools", i)
			show_pair(r, &list[i]);
	if (n == 0)
		run_warn(r, "no pair of pools meets the SLOs with %s between them", link->id);
	else
		run_warn(r, "pools are closed-form, not confirmed by simulation");
	if (in->launch.emit.text)
		return emit(r, p, list, n);
	return n > 0 ? ANSWERED : ANSWERED_NO;
}
