/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fleets of `ridge plan serve --gpu h100:8,h200:4`: replicas that differ in GPU or layout, where the number of a GPU is
 * given.  All replicas of a fleet have the same engine and types, so that answers do not depend on who gives them.
 */
#include "ask/plan/plan.h"

#include "ask/serve/serve.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 8 };
static const double retreat_frac = 0.05; /* of a replica's load, where the simulation misses an SLO */

static const struct plan_setup *
setup_of(const struct plan_candidate *c)
{
	return c->about;
}

/* --- GPUs at hand ---------------------------------------------------------------------------------------- */

/* No GPU is named twice, by any of its names.  False with errors. */
static bool
are_different(struct run *r, const struct words *names)
{
	const struct gpu **list = ARENA_ARRAY(r->arena, const struct gpu *, names->n + 1);

	for (size_t i = 0; i < names->n; i++) {
		list[i] = run_gpu(r, names->list[i]);
		if (!list[i])
			return false;
		for (size_t k = 0; k < i; k++)
			if (strcmp(list[i]->id, list[k]->id) == 0)
				return run_refuse(r, names->list[i].from,
				    arena_printf(r->arena, "%s is named twice, with a number of GPUs", list[i]->id),
				    "add the numbers");
	}
	return true;
}

bool
plan_serve_stock(struct run *r, const struct words *gpus, struct words *names, const double ***most)
{
	struct word *list = ARENA_ARRAY(r->arena, struct word, gpus->n + 1);
	const double **numbers = ARENA_ARRAY(r->arena, const double *, gpus->n + 1);
	size_t n_limited = 0;

	for (size_t i = 0; i < gpus->n; i++) {
		const struct word w = gpus->list[i];
		const char *colon = strchr(w.text, ':');
		list[i] = w;
		if (!colon)
			continue;
		double *kept = ARENA_NEW(r->arena, double);
		struct quantity_fault fault;
		if (!quantity_read(colon + 1, Q_COUNT, kept, &fault) || !(*kept >= 1) || floor(*kept) != *kept)
			return run_refuse(r, w.from, arena_printf(r->arena, "'%s' has no number of GPUs", w.text),
			    "write for example h100:8, or h100 for any number");
		list[i].text = arena_copy(r->arena, w.text, (size_t)(colon - w.text));
		numbers[i] = kept;
		n_limited++;
	}
	*names = (struct words){.n = gpus->n, .list = list};
	*most = numbers;
	return n_limited == 0 || are_different(r, names);
}

bool
plan_serve_limited(const struct plan_served *p)
{
	for (size_t i = 0; i < p->about.gpus->n; i++)
		if (p->about.most_gpus[i])
			return true;
	return false;
}

/* --- what a fleet comes to ------------------------------------------------------------------------------- */

/* Paid alike, so that one instance may hold replicas of both. */
static bool
are_paid_alike(const struct plan_candidate *x, const struct plan_candidate *y)
{
	return setup_of(x)->gpu == setup_of(y)->gpu && x->n_unit_gpus == y->n_unit_gpus &&
	    x->gpu_usd_per_s == y->gpu_usd_per_s;
}

double
plan_serve_rented(const struct plan_fleet *f, int first)
{
	const struct plan_candidate *c = f->parts[first].c;
	double n_gpus = 0;
	int n_parts = 0;

	for (int i = 0; i < f->n_parts; i++) {
		const bool alike = i == first || are_paid_alike(f->parts[i].c, c);
		if (alike && i < first)
			return 0;
		n_parts += alike;
		n_gpus += alike ? f->parts[i].n_replicas * f->parts[i].c->n_replica_gpus : 0;
	}
	return n_parts == 1 ? cost_rented(NULL, f->parts[first].n_replicas, c->n_replica_gpus, c->n_unit_gpus)
	                    : cost_rented(NULL, n_gpus, 1, c->n_unit_gpus);
}

/* The load of today over all replicas, each at the same share of what it takes. */
static void
spread(struct run *r, const struct plan_served *p, struct plan_mix *m)
{
	const double today = plan_demand(&p->load) / (1 + p->load.growth_frac);
	double all = 0, rate = 0;

	for (int i = 0; i < m->fleet.n_parts; i++)
		all += m->fleet.parts[i].n_replicas * m->fleet.parts[i].c->most.load;
	for (int i = 0; i < m->fleet.n_parts; i++) {
		const struct plan_fleet_part *part = &m->fleet.parts[i];
		struct plan_mix_part *out = &m->parts[i];
		struct interval of[2];
		plan_fleet_point(&p->load, part, fmin(1, today / all), &out->usual);
		plan_serve_bands(r, part->c, &out->usual, of);
		out->ttft = of[0];
		out->tpot = of[1];
		out->n_paid_gpus = plan_serve_rented(&m->fleet, i);
		rate += part->n_replicas * out->usual.rate_request_per_s;
	}
	for (int i = 0; i < m->fleet.n_parts; i++)
		m->parts[i].share_frac = m->fleet.parts[i].n_replicas * m->parts[i].usual.rate_request_per_s / rate;
}

/* What rows are ranked by; of latencies the cost, and GPUs where that is not known. */
static double
value_of(const struct plan_mix *m, enum plan_rank rank)
{
	const double value = rank == PLAN_RANK_POWER ? plan_mix_watt(NULL, m)
	    : rank == PLAN_RANK_GPUS                 ? plan_mix_gpus(NULL, m)
	                                             : plan_mix_usd(NULL, m);

	return isnan(value) ? plan_mix_gpus(NULL, m) : value;
}

/* --- candidates ------------------------------------------------------------------------------------------ */

/* Setups that have the same place in --engine and in --dtype. */
static int
n_places(const struct plan_served *p)
{
	return p->search.n_groups / (int)p->about.gpus->n;
}

struct priced {
	const struct plan_candidate *c;
	double price;
};

static int
by_price(const void *x, const void *y)
{
	const struct priced *a = x, *b = y;

	return a->price != b->price ? (a->price < b->price ? -1 : 1) : (a->c > b->c) - (a->c < b->c);
}

/* Those of a place that take a load within the objectives. */
static struct plan_candidate *
candidates(struct run *r, const struct plan_served *p, int place, size_t *n)
{
	const struct capacity_search *s = &p->search;
	struct plan_candidate *list = ARENA_ARRAY(r->arena, struct plan_candidate, s->n + 1);

	*n = 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct plan_candidate *c = &s->list[i];
		const bool takes = (plan_feasible(c) || c->bound == PLAN_SHORT) && !c->idle && c->most.load > 0;
		if (takes && setup_of(c)->group % n_places(p) == place)
			list[(*n)++] = *c;
	}
	return list;
}

/* By price, all GPUs where those do not carry the load. */
static void
fill(struct run *r, const struct plan_served *p, const struct plan_candidate *list, size_t n, struct plan_mix *out)
{
	struct priced *order = ARENA_ARRAY(r->arena, struct priced, n + 1);
	const struct plan_candidate **sorted = ARENA_ARRAY(r->arena, const struct plan_candidate *, n + 1);
	const enum plan_rank ranks[] = {p->rank, PLAN_RANK_GPUS};

	out->filled = false;
	for (int k = 0; k < 2 && !out->filled; k++) {
		for (size_t i = 0; i < n; i++)
			order[i] = (struct priced){&list[i], plan_fleet_price(&list[i], ranks[k])};
		qsort(order, n, sizeof *order, by_price);
		for (size_t i = 0; i < n; i++)
			sorted[i] = order[i].c;
		out->filled = plan_fleet_fill(sorted, n, &p->load, ranks[k], &out->fleet);
	}
}

/* Simulate the replicas of every part; of those that miss an SLO each is given less, and the fleet filled again. */
static void
confirm(struct run *r, const struct plan_served *p, struct plan_candidate *list, size_t n, struct plan_mix *out)
{
	for (int round = 0; round < ROUNDS && out->filled && !out->confirmed; round++) {
		const double share = plan_demand(&p->load) / out->fleet.load;
		bool all = true;
		for (int i = 0; i < out->fleet.n_parts; i++) {
			struct plan_candidate *c = &list[out->fleet.parts[i].c - list];
			if (plan_holds(c, &p->load, share * c->most.load, (uint64_t)p->in->plan.seed.value,
			        &out->parts[i].proven))
				continue;
			c->most.load *= 1 - retreat_frac;
			all = false;
		}
		out->confirmed = all;
		if (!all)
			fill(r, p, list, n, out);
	}
}

/* The best row of a place. */
static double
best_alone(const struct plan_served *p, int place)
{
	const bool latency = p->rank == PLAN_RANK_TTFT || p->rank == PLAN_RANK_TPOT;
	const enum plan_rank rank = latency ? PLAN_RANK_COST : p->rank;
	double least = INFINITY;

	for (size_t i = 0; i < p->search.n; i++) {
		const struct plan_candidate *c = &p->search.list[i];
		if (!plan_feasible(c) || setup_of(c)->group % n_places(p) != place)
			continue;
		const double value = plan_rank_value(c, rank);
		least = fmin(least,
		    isnan(value)                 ? c->n_gpus
		        : rank == PLAN_RANK_COST ? cost_month(NULL, value)
		                                 : value);
	}
	return least;
}

/* A fleet that is cheaper than all that is alike, or all GPUs where those do not carry the load. */
static bool
make(struct run *r, const struct plan_served *p, int place, struct plan_mix *out)
{
	size_t n;
	struct plan_candidate *list = candidates(r, p, place, &n);

	*out = (struct plan_mix){0};
	fill(r, p, list, n, out);
	if (!p->in->plan.unconfirmed && out->fleet.n_parts > 1)
		confirm(r, p, list, n, out);
	if (out->fleet.n_parts == 0)
		return false;
	spread(r, p, out);
	out->value = value_of(out, p->rank);
	return !out->filled || (out->fleet.n_parts > 1 && out->value < best_alone(p, place) * (1 - 1e-9));
}

static int
by_value(const void *x, const void *y)
{
	const struct plan_mix *a = x, *b = y;

	if (a->filled != b->filled)
		return a->filled ? -1 : 1;
	if (!a->filled && a->fleet.load != b->fleet.load)
		return a->fleet.load > b->fleet.load ? -1 : 1;
	return a->value != b->value ? (a->value < b->value ? -1 : 1) : 0;
}

struct plan_mix *
plan_serve_fleets(struct run *r, const struct plan_served *p, size_t *n)
{
	struct plan_mix *list = ARENA_ARRAY(r->arena, struct plan_mix, (size_t)n_places(p) + 1);

	*n = 0;
	for (int place = 0; place < n_places(p) && plan_serve_limited(p); place++)
		*n += make(r, p, place, &list[*n]);
	qsort(list, *n, sizeof *list, by_value);
	return list;
}
