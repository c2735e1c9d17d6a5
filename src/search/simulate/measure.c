/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statistics of a simulation. */
#include "search/simulate/parts.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

/* --- costs ----------------------------------------------------------------------------------------------- */

enum { TABLE_MOST = 1 << 20 };

static double
table_value(struct cost_cache *c, struct cost_table *t, double (*f)(const void *, double), double key)
{
	if (!f)
		return 0;
	if (!(key >= 0 && key < TABLE_MOST))
		return f(c->cost->context, key);
	const size_t i = (size_t)key;
	if (i >= t->n) {
		size_t room = t->n ? t->n : 256;
		while (room <= i)
			room *= 2;
		t->values = arena_grow(c->arena, t->values, t->n, room, sizeof *t->values);
		for (; t->n < room; t->n++)
			t->values[t->n] = NAN;
	}
	if (isnan(t->values[i]))
		t->values[i] = f(c->cost->context, key);
	return t->values[i];
}

double
cost_of(struct cost_cache *c, const struct sim_batch *b)
{
	const double step_s = c->cost->step ? c->cost->step(c->cost->context, b) : 0;

	const double sum_s = step_s + table_value(c, &c->linear, c->cost->linear, b->n_new_token) +
	    table_value(c, &c->head, c->cost->head, b->n_logit);

	return c->cost->least ? fmax(sum_s, c->cost->least(c->cost->context, b)) : sum_s;
}

/* --- gaps between tokens --------------------------------------------------------------------------------- */

enum { SHIFT = 42, CLASSES = 33 * 1024 }; /* 1024 classes to an octave, from 2^-20 s */

static const double least_s = 0x1p-20;

static uint64_t
bits_of(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof bits);
	return bits >> SHIFT;
}

void
gaps_init(struct gaps *g, struct arena *a)
{
	*g = (struct gaps){.counts = ARENA_ARRAY(a, uint64_t, CLASSES)};
}

void
gaps_add(struct gaps *g, double gap_s, uint64_t n)
{
	uint64_t i = gap_s > least_s ? bits_of(gap_s) - bits_of(least_s) : 0;

	if (i >= CLASSES)
		i = CLASSES - 1;
	g->counts[i] += n;
	g->n += n;
	g->sum_s += gap_s * (double)n;
	if (n && gap_s > g->most_s)
		g->most_s = gap_s;
}

static void
gaps_merge(struct gaps *g, const struct gaps *other)
{
	for (size_t i = 0; i < CLASSES; i++)
		g->counts[i] += other->counts[i];
	g->n += other->n;
	g->sum_s += other->sum_s;
	g->most_s = fmax(g->most_s, other->most_s);
}

static double
class_start(uint64_t i)
{
	const uint64_t bits = (i + bits_of(least_s)) << SHIFT;
	double x;

	memcpy(&x, &bits, sizeof x);
	return x;
}

/* Quantile q of a histogram, linear within its class. */
static double
gaps_quantile(const struct gaps *g, double q)
{
	const double position = q * (double)(g->n - 1);
	double below = 0;

	for (uint64_t i = 0; i < CLASSES; i++) {
		const double n = (double)g->counts[i];
		if (n && position < below + n) {
			const double start_s = class_start(i);
			return fmin(start_s + (class_start(i + 1) - start_s) * (position - below + 0.5) / n, g->most_s);
		}
		below += n;
	}
	return g->most_s;
}

static const struct sim_spread nothing = {NAN, NAN, NAN, NAN, NAN, NAN};

static struct sim_spread
gaps_spread(const struct gaps *g)
{
	if (g->n == 0)
		return nothing;
	return (struct sim_spread){g->sum_s / (double)g->n, gaps_quantile(g, 0.5), gaps_quantile(g, 0.9),
	    gaps_quantile(g, 0.95), gaps_quantile(g, 0.99), g->most_s};
}

/* --- a replica over time --------------------------------------------------------------------------------- */

void
watch_init(struct watch *w, struct arena *a, size_t rows)
{
	*w = (struct watch){.n_most = rows, .stride = 1, .arena = a};
}

void
watch_mark(struct watch *w, size_t k)
{
	w->marked[k][0] = w->running_area;
	w->marked[k][1] = w->waiting_area;
	w->marked[k][2] = w->blocks_area;
}

/* Room grows with what comes, up to what was asked for. */
static void
make_room(struct watch *w)
{
	size_t room = w->room ? 2 * w->room : 256;

	if (room > w->n_most)
		room = w->n_most;
	w->moments = arena_grow(w->arena, w->moments, w->n_moments, room, sizeof *w->moments);
	w->room = room;
}

void
watch_pass(struct replica *p, double now_s)
{
	struct watch *w = &p->watch;
	const double passed_s = now_s - w->since_s;
	const size_t blocks = p->engine->n_blocks - p->free_blocks;

	w->running_area += passed_s * (double)p->n_slots;
	w->waiting_area += passed_s * (double)p->n_waiting;
	w->blocks_area += passed_s * (double)blocks;
	w->since_s = now_s;
}

/* Rows are kept evenly: when there is no room, every second one goes, and from then on half as many come. */
static void
thin(struct watch *w)
{
	const size_t n = w->n_moments;

	w->n_moments = 0;
	for (size_t i = 0; i < n; i += 2)
		w->moments[w->n_moments++] = w->moments[i];
	w->stride *= 2;
}

void
watch_moment(struct replica *p)
{
	struct watch *w = &p->watch;
	const size_t blocks = p->engine->n_blocks - p->free_blocks;

	if (p->n_slots > w->most_running)
		w->most_running = p->n_slots;
	if (blocks > w->most_blocks)
		w->most_blocks = blocks;
	if (w->n_most == 0)
		return;
	if (w->n_begun % w->stride == 0) {
		if (w->n_moments == w->n_most)
			thin(w);
		else if (w->n_moments == w->room)
			make_room(w);
		if (w->n_begun % w->stride == 0)
			w->moments[w->n_moments++] = (struct sim_moment){p->start_s, p->step_s, p->number,
			    (uint32_t)p->n_slots, (uint32_t)p->n_waiting, (uint32_t)p->batch.n_decode,
			    (uint32_t)p->batch.prefill_token, (double)blocks / (double)p->engine->n_blocks};
	}
	w->n_begun++;
}

/* --- the answer ------------------------------------------------------------------------------------------ */

typedef double measure(const struct sim_request *r);

static double
ttft_of(const struct sim_request *r)
{
	return r->first_s - r->arrival_s;
}

static double
tpot_of(const struct sim_request *r)
{
	return r->osl_token > 1 ? (r->last_s - r->first_s) / (r->osl_token - 1) : NAN;
}

static double
e2e_of(const struct sim_request *r)
{
	return r->last_s - r->arrival_s;
}

/* From when to when requests are counted, as rates and occupancy. */
struct window {
	size_t from;
	double begin_s, end_s;
	bool steady; /* without its beginning and its end; else the whole run */
	bool closed;
};

/* Requests still running at the end of a closed loop finish on an emptying replica. */
static struct sim_spread
spread_of(const struct sim_request *r, const struct window *w, size_t n, measure *f, double *room)
{
	size_t n_values = 0;
	double sum = 0;

	for (size_t i = w->from; i < n; i++) {
		const double x = f(&r[i]);
		if (isnan(x) || (w->steady && w->closed && r[i].last_s > w->end_s))
			continue;
		room[n_values++] = x;
		sum += x;
	}
	if (n_values == 0)
		return nothing;
	num_sort(room, n_values);
	return (struct sim_spread){sum / (double)n_values, num_quantile(room, n_values, 0.5),
	    num_quantile(room, n_values, 0.9), num_quantile(room, n_values, 0.95), num_quantile(room, n_values, 0.99),
	    room[n_values - 1]};
}

static bool
within(const struct sim_objectives *o, const struct sim_request *r)
{
	return !isnan(r->last_s) && !(ttft_of(r) > o->ttft_s) && !(tpot_of(r) > o->tpot_s) && !(e2e_of(r) > o->e2e_s);
}

static void
count_requests(const struct sim_config *c, const struct window *w, struct sim_result *out)
{
	double output = 0, input = 0;
	size_t n_within = 0, n = 0, n_good = 0;

	for (size_t i = 0; i < out->n_requests; i++) {
		const struct sim_request *r = &out->requests[i];
		const bool good = within(&c->objectives, r);

		n_within += i >= w->from && good;
		out->n_finished += isnan(r->last_s) ? 0 : 1;
		if (isnan(r->last_s) || (w->steady && !(r->last_s > w->begin_s && r->last_s <= w->end_s)))
			continue;
		n++;
		n_good += good;
		output += r->osl_token;
		input += r->isl_token;
	}
	const double span_s = w->end_s - w->begin_s;
	out->n_counted = out->n_requests - w->from;
	out->within_frac = (double)n_within / (double)out->n_counted;
	if (n == 0)
		return;
	out->request_per_s = (double)n / span_s;
	out->output_token_per_s = output / span_s;
	out->total_token_per_s = (output + input) / span_s;
	out->goodput_request_per_s = (double)n_good / span_s;
}

static struct window
window_of(const struct sim_config *c, const struct world *worlds, size_t n_worlds, struct sim_result *out)
{
	struct window w = {.from = (size_t)(c->warmup_frac * (double)out->n_requests),
	    .end_s = INFINITY,
	    .closed = c->traffic.n_clients > 0};

	out->first_arrival_s = INFINITY;
	for (size_t i = 0; i < out->n_requests; i++) {
		const struct sim_request *r = &out->requests[i];

		out->first_arrival_s = fmin(out->first_arrival_s, r->arrival_s);
		out->last_arrival_s = fmax(out->last_arrival_s, r->arrival_s);
		out->end_s = isnan(r->last_s) ? out->end_s : fmax(out->end_s, r->last_s);
	}
	for (size_t i = 0; i < n_worlds; i++) {
		w.begin_s = fmax(w.begin_s, worlds[i].mark_s[0]);
		w.end_s = fmin(w.end_s, worlds[i].mark_s[1]);
	}
	w.steady = c->warmup_frac > 0 && isfinite(w.end_s) && w.end_s > w.begin_s;
	if (!w.steady) {
		w.begin_s = out->first_arrival_s;
		w.end_s = out->end_s;
	}
	return w;
}

/* The mean of an area over the time that counts in this replica's world. */
static double
mean_of(const struct world *world, const struct window *w, const struct watch *watch, int k, double area)
{
	if (w->steady && world->mark_s[1] > world->mark_s[0])
		return (watch->marked[1][k] - watch->marked[0][k]) / (world->mark_s[1] - world->mark_s[0]);
	const double span_s = w->steady ? 0 : w->end_s - w->begin_s;
	return span_s > 0 ? area / span_s : 0;
}

static void
count_replica(const struct world *world, const struct window *window, const struct replica *p, size_t n_replicas,
    struct sim_result *out)
{
	const struct watch *w = &p->watch;

	out->n_steps += p->n_steps;
	out->n_preempted += p->n_preempted;
	out->most_running = w->most_running > out->most_running ? w->most_running : out->most_running;
	out->most_waiting = w->most_waiting > out->most_waiting ? w->most_waiting : out->most_waiting;
	out->most_cache_frac = fmax(out->most_cache_frac, (double)w->most_blocks / (double)p->engine->n_blocks);
	out->mean_running += mean_of(world, window, w, 0, w->running_area);
	out->mean_waiting += mean_of(world, window, w, 1, w->waiting_area);
	out->mean_cache_frac +=
	    mean_of(world, window, w, 2, w->blocks_area) / (double)p->engine->n_blocks / (double)n_replicas;
}

static void
copy_moments(const struct replica *p, struct sim_moment *moments, struct sim_result *out)
{
	if (p->watch.n_moments)
		memcpy(moments + out->n_moments, p->watch.moments, p->watch.n_moments * sizeof *moments);
	out->n_moments += p->watch.n_moments;
}

void
simulation_summarise(
    const struct sim_config *c, struct world *worlds, size_t n, struct arena *a, struct sim_result *out)
{
	double *const room = ARENA_ARRAY(a, double, out->n_requests);
	const size_t n_replicas = c->n_replicas + c->n_decode_replicas;
	const struct window window = window_of(c, worlds, n, out);
	size_t n_moments = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < worlds[i].n_replicas; k++)
			n_moments += worlds[i].replicas[k].watch.n_moments;
	struct sim_moment *const moments = ARENA_ARRAY(a, struct sim_moment, n_moments);
	count_requests(c, &window, out);
	out->ttft = spread_of(out->requests, &window, out->n_requests, ttft_of, room);
	out->tpot = spread_of(out->requests, &window, out->n_requests, tpot_of, room);
	out->e2e = spread_of(out->requests, &window, out->n_requests, e2e_of, room);
	out->moments = moments;
	for (size_t i = 0; i < n; i++) {
		const struct world *w = &worlds[i];

		if (i)
			gaps_merge(&worlds[0].gaps, &w->gaps);
		out->n_refused += w->n_refused;
		out->n_open_half += w->n_open_half;
		out->n_open_last += w->n_open_last;
		for (size_t k = 0; k < w->n_replicas; k++) {
			count_replica(w, &window, &w->replicas[k], n_replicas, out);
			copy_moments(&w->replicas[k], moments, out);
		}
	}
	out->itl = gaps_spread(&worlds[0].gaps);
}

double
simulation_backlog(const struct sim_result *r)
{
	const double came = (double)r->n_requests / 2, stayed = r->n_open_last - r->n_open_half;

	/* by chance alone about a root of those that came may stay */
	return stayed > 3 * sqrt(came) ? stayed / came : 0;
}
