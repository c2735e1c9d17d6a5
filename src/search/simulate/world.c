/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The clock of replicas that see each other: arrivals, routing, deliveries between pools, ends of steps. */
#include "search/simulate/parts.h"
#include "search/simulate/simulate.h"

#include <math.h>

enum { REPORT_EVERY = 4096 };

/* --- deliveries: a heap by time, then by request ---------------------------------------------------------- */

static bool
before(const struct delivery *a, const struct delivery *b)
{
	return a->time_s < b->time_s || (a->time_s == b->time_s && a->id < b->id);
}

static void
heap_push(struct world *w, struct delivery d)
{
	if (w->n_heap == w->heap_room) {
		w->heap_room = w->heap_room ? 2 * w->heap_room : 64;
		w->heap = arena_grow(w->arena, w->heap, w->n_heap, w->heap_room, sizeof *w->heap);
	}
	size_t i = w->n_heap++;
	for (; i && before(&d, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
		w->heap[i] = w->heap[(i - 1) / 2];
	w->heap[i] = d;
}

static struct delivery
heap_pop(struct world *w)
{
	const struct delivery top = w->heap[0], last = w->heap[--w->n_heap];
	size_t i = 0;

	for (size_t child; (child = 2 * i + 1) < w->n_heap; i = child) {
		child += child + 1 < w->n_heap && before(&w->heap[child + 1], &w->heap[child]);
		if (!before(&w->heap[child], &last))
			break;
		w->heap[i] = w->heap[child];
	}
	w->heap[i] = last;
	return top;
}

/* --- routing --------------------------------------------------------------------------------------------- */

static double
rank_of(const struct replica *p, enum sim_routing routing)
{
	return routing == SIM_LEAST_LOADED ? replica_load(p) : (double)(p->n_slots + p->n_waiting);
}

/* The replica of a pool for the next request; among equals the first. */
static struct replica *
route(struct world *w, bool decode)
{
	struct replica *const from = w->replicas + (decode ? w->n_front : 0);
	const size_t n = decode ? w->n_replicas - w->n_front : w->n_front;
	const enum sim_routing routing = w->config->routing;
	struct replica *best = from;

	if (routing == SIM_ROUND_ROBIN && n > 0)
		return &from[w->n_dealt[decode]++ % n];
	for (struct replica *p = from + 1; p < from + n; p++)
		if (rank_of(p, routing) < rank_of(best, routing))
			best = p;
	return best;
}

/* --- requests come and go -------------------------------------------------------------------------------- */

static bool
is_closed(const struct world *w)
{
	return w->config->traffic.n_clients > 0;
}

/* What counts begins and ends with an arrival: replicas are looked at then. */
static void
mark(struct world *w, size_t k, double now_s)
{
	w->mark_s[k] = now_s;
	for (size_t i = 0; i < w->n_replicas; i++) {
		watch_pass(&w->replicas[i], now_s);
		watch_mark(&w->replicas[i].watch, k);
	}
}

static void
count_open(struct world *w, double now_s)
{
	if (w->n_arrived == w->n_warm)
		mark(w, 0, now_s);
	w->n_arrived++;
	if (w->n_arrived == w->n_own && !is_closed(w))
		mark(w, 1, now_s);
	if (w->n_arrived == w->n_half)
		w->n_open_half = (double)w->n_open;
	w->n_open_last = (double)w->n_open;
}

/* In a closed loop the client sends again. */
static void
send_next(struct world *w, double now_s)
{
	if (!is_closed(w) || w->next >= w->n_requests)
		return;
	w->requests[w->next].arrival_s = now_s;
	heap_push(w, (struct delivery){now_s, w->next, false});
	w->next += w->stride;
}

static void
arrive(struct world *w, uint32_t id, double now_s)
{
	const struct sim_request *r = &w->requests[id];
	const bool moves = w->n_replicas > w->n_front;

	if (!replica_holds(&w->replicas[0], r) || (moves && !replica_holds(&w->replicas[w->n_front], r))) {
		w->n_refused++;
		atomic_fetch_add_explicit(w->n_done, 1, memory_order_relaxed);
		count_open(w, now_s);
		send_next(w, now_s);
		return;
	}
	replica_receive(route(w, false), id, now_s);
	w->n_open++;
	count_open(w, now_s);
}

static void
report(struct world *w)
{
	const struct sim_config *c = w->config;
	const size_t n_done = atomic_fetch_add_explicit(w->n_done, 1, memory_order_relaxed) + 1;

	if (!w->reports || !c->progress || ++w->n_unreported < REPORT_EVERY)
		return;
	w->n_unreported = 0;
	c->progress(c->progress_context, (double)n_done / (double)c->traffic.n_requests);
}

void
world_answered(struct world *w, uint32_t id, double now_s)
{
	w->n_open--;
	report(w);
	if (!is_closed(w))
		return;
	/* from the first client on that has nothing more to send, the loop is not closed */
	if (w->next >= w->n_requests && isnan(w->mark_s[1]))
		mark(w, 1, now_s);
	send_next(w, now_s + traffic_pause(&w->config->traffic, id));
}

/* The cache moves when the link of its replica is free. */
void
world_prefilled(struct world *w, struct replica *p, uint32_t id, double now_s)
{
	const struct sim_config *c = w->config;

	p->link_s = fmax(p->link_s, now_s) + c->transfer_s + c->transfer_s_per_token * w->requests[id].isl_token;
	heap_push(w, (struct delivery){p->link_s, id, true});
}

static void
deliver(struct world *w, const struct delivery *d)
{
	const struct sim_request *r = &w->requests[d->id];

	if (!d->moved) {
		arrive(w, d->id, d->time_s);
		return;
	}
	struct replica *const from = &w->replicas[r->replica];
	watch_pass(from, d->time_s);
	from->free_blocks += replica_blocks(from, r->isl_token);
	replica_receive(route(w, true), d->id, d->time_s);
}

/* --- the clock ------------------------------------------------------------------------------------------- */

static double
next_arrival(const struct world *w)
{
	return !is_closed(w) && w->next < w->n_requests ? w->requests[w->next].arrival_s : INFINITY;
}

static double
next_event(const struct world *w)
{
	double next_s = next_arrival(w);

	if (w->n_heap && w->heap[0].time_s < next_s)
		next_s = w->heap[0].time_s;
	for (size_t i = 0; i < w->n_replicas; i++)
		if (w->replicas[i].busy && w->replicas[i].end_s < next_s)
			next_s = w->replicas[i].end_s;
	return next_s;
}

static void
run_until(struct world *w, double now_s)
{
	for (size_t i = 0; i < w->n_replicas; i++)
		if (w->replicas[i].busy && w->replicas[i].end_s <= now_s)
			replica_finish(&w->replicas[i]);
	for (; next_arrival(w) <= now_s; w->next += w->stride)
		arrive(w, w->next, now_s);
	while (w->n_heap && w->heap[0].time_s <= now_s) {
		const struct delivery d = heap_pop(w);
		deliver(w, &d);
	}
	for (size_t i = 0; i < w->n_replicas; i++)
		if (!w->replicas[i].busy)
			replica_begin(&w->replicas[i], now_s);
}

static void
first_requests(struct world *w)
{
	const struct sim_traffic *t = &w->config->traffic;
	/* clients without a request do nothing */
	const size_t n = t->n_clients < t->n_requests ? t->n_clients : t->n_requests;

	w->next = w->first;
	if (!is_closed(w))
		return;
	/* they are dealt to replicas as requests are */
	for (size_t i = w->first; i < n; i += w->stride)
		send_next(w, traffic_start(t, i));
}

void
world_run(struct world *w)
{
	first_requests(w);
	for (double now_s; isfinite(now_s = next_event(w));)
		run_until(w, now_s);
}
