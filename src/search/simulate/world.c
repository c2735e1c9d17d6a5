/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulation clock of interacting replicas: arrivals, routing, KV transfers between pools, ends of steps. */
#include "search/simulate/parts.h"

#include "base/base.h"
#include "search/simulate/simulate.h"

#include <math.h>

/* --- arrivals ------------------------------------------------------------------------------------------------ */

static const double token_most = 1 << 24; /* of one request */

static const char *
lengths_fault(const struct sim_lengths *l)
{
	if (l->kind == SIM_EMPIRICAL) {
		if (l->n_values == 0)
			return "an empirical distribution needs values";
		for (size_t i = 0; i < l->n_values; i++)
			if (l->values[i] < 1 || l->values[i] > token_most)
				return "lengths must be between 1 and 16777216 tokens";
		return NULL;
	}
	if (!(l->mean_token >= 1 && l->mean_token <= token_most))
		return "lengths must be between 1 and 16777216 tokens";
	if (l->kind == SIM_LOG_NORMAL && !(l->cv >= 0 && l->cv <= 100))
		return "the coefficient of variation of lengths must be between 0 and 100";
	return NULL;
}

static const char *
trace_fault(const struct sim_traffic *t)
{
	for (size_t i = 0; i < t->n_requests; i++) {
		const struct sim_arrival *a = &t->trace[i];

		if (!isfinite(a->arrival_s) || (i && a->arrival_s < a[-1].arrival_s))
			return "the trace is not in order of arrival";
		if (a->isl_token < 1 || a->osl_token < 1 || a->isl_token > token_most || a->osl_token > token_most)
			return "lengths must be between 1 and 16777216 tokens";
	}
	return NULL;
}

const char *
traffic_fault(const struct sim_traffic *t)
{
	const char *fault;

	if (t->n_requests < 1 || t->n_requests > 1u << 30)
		return "the number of requests must be between 1 and 1073741824";
	if (!(t->think_s >= 0 && isfinite(t->think_s)) || !(t->ramp_s >= 0 && isfinite(t->ramp_s)))
		return "the think time must not be negative";
	if (!(t->think_cv >= 0 && t->think_cv <= 100))
		return "the coefficient of variation of think times must be between 0 and 100";
	if (t->trace)
		return trace_fault(t);
	if (t->n_clients == 0 && !(t->rate_request_per_s > 0))
		return "the request rate must be greater than 0";
	if (t->n_clients == 0 && !(t->gap_cv >= 0 && t->gap_cv <= 100))
		return "the coefficient of variation of interarrival times must be between 0 and 100";
	if (!(t->cached_frac >= 0 && t->cached_frac <= 1))
		return "the share of cached tokens must be between 0 and 1";
	if ((fault = lengths_fault(&t->isl)) || (fault = lengths_fault(&t->osl)))
		return fault;
	if (t->paired &&
	    (t->isl.kind != SIM_EMPIRICAL || t->osl.kind != SIM_EMPIRICAL || t->isl.n_values != t->osl.n_values))
		return "paired lengths need equal counts of ISL and OSL";
	return NULL;
}

/* Gamma gaps by inversion; a shape of 1 is the exponential, whose inverse is a logarithm. */
static double
traffic_gap(double u, double mean_s, double cv)
{
	if (cv == 0 || mean_s == 0)
		return mean_s;
	return cv == 1 ? -log1p(-u) * mean_s : num_gamma_quantile(u, mean_s, cv);
}

static double
draw_gap(const struct sim_traffic *t, uint64_t *stream)
{
	const double mean_s = 1 / t->rate_request_per_s;

	return t->gap_cv == 0 ? mean_s : traffic_gap(random_uniform(stream), mean_s, t->gap_cv);
}

/* Clients have their own random numbers, so their behavior does not depend on the number of replicas. */
static double
client_uniform(const struct sim_traffic *t, uint64_t what, uint64_t i)
{
	uint64_t stream = t->seed * 0x9e3779b97f4a7c15u + what;

	stream = random_next(&stream) + i * 0xd1342543de82ef95u;
	return random_uniform(&stream);
}

/* Spread the first requests of clients at random, one in each of as many equal intervals, so that none queues for all
 * others. */
static double
traffic_start(const struct sim_traffic *t, size_t i)
{
	if (t->ramp_s == 0)
		return 0;
	return t->ramp_s * ((double)i + client_uniform(t, 1, i)) / (double)t->n_clients;
}

static double
traffic_pause(const struct sim_traffic *t, uint32_t id)
{
	return traffic_gap(client_uniform(t, 2, id), t->think_s, t->think_cv);
}

static uint32_t
at_share(const struct sim_lengths *l, double u)
{
	return l->values[(size_t)(u * (double)l->n_values)];
}

static uint32_t
draw_length(const struct sim_lengths *l, uint64_t *stream)
{
	if (l->kind == SIM_EMPIRICAL)
		return at_share(l, random_uniform(stream));
	double token = l->mean_token;
	if (l->kind == SIM_LOG_NORMAL && l->cv > 0)
		token = num_log_normal_quantile(random_uniform(stream), l->mean_token, l->cv);
	return (uint32_t)fmin(fmax(round(token), 1), token_most);
}

static void
draw_one(const struct sim_traffic *t, uint64_t *stream, struct sim_request *r)
{
	if (t->paired) {
		const double u = random_uniform(stream);
		r->isl_token = at_share(&t->isl, u);
		r->osl_token = at_share(&t->osl, u);
	} else {
		r->isl_token = draw_length(&t->isl, stream);
		r->osl_token = draw_length(&t->osl, stream);
	}
	r->cached_token = (uint32_t)(t->cached_frac * r->isl_token);
}

void
traffic_draw(const struct sim_traffic *t, struct sim_request *out)
{
	const bool gaps = !t->trace && t->n_clients == 0 && isfinite(t->rate_request_per_s);
	uint64_t stream = t->seed;
	double now_s = 0;

	for (size_t i = 0; i < t->n_requests; i++) {
		struct sim_request *r = &out[i];

		*r = (struct sim_request){.first_s = NAN, .last_s = NAN};
		if (t->trace) {
			r->isl_token = t->trace[i].isl_token;
			r->osl_token = t->trace[i].osl_token;
			r->cached_token = t->trace[i].cached_token;
			now_s = t->trace[i].arrival_s;
		} else {
			if (gaps)
				now_s += draw_gap(t, &stream);
			draw_one(t, &stream, r);
		}
		r->arrival_s = now_s;
		if (r->cached_token >= r->isl_token) /* the last token of a prompt is always computed */
			r->cached_token = r->isl_token - 1;
	}
}

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
	return routing == SIM_LEAST_LOADED ? replica_load(p) : (double)(p->n_slots + p->n_waiting + p->n_moving);
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

/* Measurement begins and ends with an arrival; sample the replicas then. */
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
	heap_push(w, (struct delivery){now_s + w->config->engine.front_s, w->next, NULL});
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

/* The cache moves when the links of both replicas are free, as fast as the slower of them. */
void
world_prefilled(struct world *w, struct replica *p, uint32_t id, double now_s)
{
	const struct sim_transfer *send = &w->config->send, *take = &w->config->take;
	const uint32_t n_token = w->requests[id].isl_token;
	struct replica *const to = route(w, true);
	const double begin_s = fmax(now_s, fmax(p->link_s, to->link_s));

	p->link_s = begin_s + send->fixed_s + send->s_per_token * n_token;
	to->link_s = begin_s + take->fixed_s + take->s_per_token * n_token;
	p->n_moving++;
	to->n_moving++;
	to->coming_token += n_token;
	heap_push(w, (struct delivery){fmax(p->link_s, to->link_s), id, to});
}

static void
deliver(struct world *w, const struct delivery *d)
{
	struct sim_request *r = &w->requests[d->id];

	if (!d->to) {
		arrive(w, d->id, d->time_s);
		return;
	}
	struct replica *const from = &w->replicas[r->replica];
	watch_pass(from, d->time_s);
	from->free_blocks += replica_blocks(from, r->isl_token);
	from->n_moving--;
	d->to->n_moving--;
	d->to->coming_token -= r->isl_token;
	replica_receive(d->to, d->id, d->time_s);
}

/* --- the clock ------------------------------------------------------------------------------------------- */

static double
next_arrival(const struct world *w)
{
	return !is_closed(w) && w->next < w->n_requests ? w->requests[w->next].arrival_s + w->config->engine.front_s
	                                                : INFINITY;
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
