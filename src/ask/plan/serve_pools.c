/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Prefill and decode pools of `ridge plan serve --pools`: each side has its own GPU and layout.
 *
 * The two sides meet in the request rate and in the link that carries the caches, so each is sized by itself: replicas
 * that prefill by TTFT, as a queue whose servers they are and whose service times vary as the inputs do, replicas that
 * decode by TPOT, of as many sequences as a Poisson number of that mean reaches.  Pairs are made of the sides that cost
 * least for the load in whole replicas, and the cheapest are simulated.
 */
#include "ask/plan/plan.h"

#include "ask/serve/serve.h"
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

enum { SIDE_MOST = 6, HALVINGS = 24, STEPS_MOST = 128, CONFIRMED_MOST = 4, SETTLED_MOST = 8, ROUNDS = 8 };
static const double link_most_frac = 0.5; /* of a link: caches come in bursts */

static const struct plan_setup *
setup_of(const struct plan_candidate *c)
{
	return c->about;
}

static double
planned_rate(const struct plan_load *l)
{
	return l->rate_request_per_s * (1 + l->growth_frac);
}

static double
cost_of(const struct plan_load *l, const struct plan_side *s)
{
	const struct plan_candidate *c = s->c;

	return (s->n + l->n_spare) * c->n_replica_gpus * (isnan(c->gpu_usd_per_s) ? 1 : c->gpu_usd_per_s) *
	    plan_handicap(c);
}

/* --- queues ---------------------------------------------------------------------------------------------- */

/* A queue before n servers that are busy for this share of the time: the chance that a request waits, and how long one
 * that does, on average (M/G/n: Sakasegawa 1977, with the variation of service times after Kingman). */
struct queue {
	double chance, wait_s;
};

static struct queue
queue_of(const struct plan_load *l, double n, double busy, double service_s)
{
	const double share = fmin(0.99, busy);

	return (struct queue){
	    pow(share, sqrt(2 * (n + 1)) - 1), service_s * (1 + l->isl_cv * l->isl_cv) / (2 * n * (1 - share))};
}

/* --- replicas that prefill ------------------------------------------------------------------------------- */

/* TTFT without the transfer, with n replicas at this rate of requests. */
static double
first_s(
    const struct plan_load *l, const struct plan_side *s, double n, double rate_per_s, enum plan_statistic statistic)
{
	const double share = plan_share(statistic), sigma = sqrt(log1p(l->isl_cv * l->isl_cv));
	const struct queue q = queue_of(l, n, rate_per_s * s->service_s / n, s->service_s);

	if (statistic == PLAN_MEAN)
		return s->alone_s + q.chance * q.wait_s;
	return s->alone_s * exp(sigma * (num_normal_quantile(share) - sigma / 2)) +
	    fmax(0, q.wait_s * log(q.chance / (1 - share)));
}

/* TTFT over its limits, at the planned load. */
static double
first_excess(const struct plan_load *l, const struct plan_side *s, double n, double transfer_s)
{
	double most = 0;

	for (size_t i = 0; i < l->n_objectives; i++) {
		const struct plan_objective *o = &l->objectives[i];
		if (o->measure == PLAN_TTFT)
			most = fmax(most, (first_s(l, s, n, planned_rate(l), o->statistic) + transfer_s) / o->limit_s);
	}
	return most;
}

static bool
size_prefill(const struct plan_load *l, const struct plan_candidate *c, double transfer_s, struct plan_side *out)
{
	const struct serve_load load = plan_serve_load(l);
	const double full = serve_prefill_rate(NULL, c->setup, &load);

	*out = (struct plan_side){.c = c,
	    .alone_s =
	        serve_first(NULL, c->setup, &load, 1) + serve_front(NULL, c->setup) + serve_handover(NULL, c->setup),
	    .service_s = 1 / full,
	    .transfer_s = transfer_s};
	if (!(full > 0))
		return false;
	out->n = fmax(1, ceil(planned_rate(l) / (l->utilisation_frac * full) - 1e-9));
	for (int i = 0; i < STEPS_MOST && first_excess(l, out, out->n, transfer_s) > 1; i++)
		out->n += fmax(1, floor(out->n / 16));
	out->cost = cost_of(l, out);
	return first_excess(l, out, out->n, transfer_s) <= 1;
}

/* --- replicas that decode -------------------------------------------------------------------------------- */

/* TPOT of n running sequences; a percentile is that of the same percentile of a Poisson number of them. */
static double
token_s(const struct plan_load *l, const struct plan_candidate *c, double n, enum plan_statistic statistic)
{
	const struct serve_load load = plan_serve_load(l);
	const double above = statistic == PLAN_MEAN ? 0 : fmax(0, num_normal_quantile(plan_share(statistic))) * sqrt(n);

	return serve_token_time(NULL, &load, serve_decode(NULL, c->setup, &load, n + above));
}

static double
token_excess(const struct plan_load *l, const struct plan_candidate *c, double n)
{
	double most = 0;

	for (size_t i = 0; i < l->n_objectives; i++)
		if (l->objectives[i].measure == PLAN_TPOT)
			most = fmax(most, token_s(l, c, n, l->objectives[i].statistic) / l->objectives[i].limit_s);
	return most;
}

/* Requests per second of a replica with n running sequences. */
static double
replica_rate(const struct plan_load *l, const struct plan_candidate *c, double n)
{
	const struct serve_load load = plan_serve_load(l);

	return serve_decode_rate(NULL, &load, n, serve_decode(NULL, c->setup, &load, n));
}

static double
most_running(const struct plan_load *l, const struct plan_candidate *c)
{
	const struct serve_load load = plan_serve_load(l);

	return l->utilisation_frac * serve_running(NULL, c->setup, &load);
}

/* Numbers of sequences that are tried, from 1 to all: their rate does not always grow, where more of them take another
 * kernel or another graph. */
static double
next_running(double n, double most)
{
	return n >= most ? INFINITY : fmin(most, fmax(n + 1, floor(1.08 * n)));
}

static bool
size_decode(const struct plan_load *l, const struct plan_candidate *c, double transfer_s, struct plan_side *out)
{
	const double most = floor(most_running(l, c));
	double rate_per_s = 0;

	for (double n = 1; n <= most; n = next_running(n, most))
		if (token_excess(l, c, n) <= 1)
			rate_per_s = fmax(rate_per_s, replica_rate(l, c, n));
	if (!(rate_per_s > 0))
		return false;
	*out = (struct plan_side){
	    .c = c, .n = fmax(1, ceil(planned_rate(l) / rate_per_s - 1e-9)), .transfer_s = transfer_s};
	out->cost = cost_of(l, out);
	return true;
}

/* The fewest sequences that make this rate of requests. */
static double
running(const struct plan_load *l, const struct plan_candidate *c, double rate_per_s)
{
	const double most = fmax(1, floor(most_running(l, c)));
	double low = 1, high = 1;

	while (high < most && replica_rate(l, c, high) < rate_per_s) {
		low = high;
		high = next_running(high, most);
	}
	for (int i = 0; i < HALVINGS && high - low > 0.01; i++) {
		const double middle = (low + high) / 2;
		*(replica_rate(l, c, middle) < rate_per_s ? &low : &high) = middle;
	}
	return high;
}

/* --- pairs ----------------------------------------------------------------------------------------------- */

static int
by_side_cost(const void *x, const void *y)
{
	const struct plan_side *a = x, *b = y;

	if (a->cost != b->cost)
		return a->cost < b->cost ? -1 : 1;
	if (a->n != b->n)
		return a->n < b->n ? -1 : 1;
	return (a->c > b->c) - (a->c < b->c);
}

/* Caches go from one to the other: the same engine, and the same type of cache. */
static bool
may_meet(const struct plan_candidate *a, const struct plan_candidate *b)
{
	return strcmp(setup_of(a)->engine->id, setup_of(b)->engine->id) == 0 &&
	    setup_of(a)->formats.kv == setup_of(b)->formats.kv && a->setup->layout.pp == b->setup->layout.pp;
}

/* Of whole instances, which pools of one GPU share. */
static double
pools_cost(const struct plan_pair *p)
{
	const struct plan_candidate *x = p->prefill->c, *y = p->decode->c;
	const struct plan_fleet both = {.n_parts = 2, .parts = {{x, p->n_prefill}, {y, p->n_decode}}};

	if (!p->priced)
		return p->n_prefill * x->n_replica_gpus + p->n_decode * y->n_replica_gpus;
	return plan_serve_rented(&both, 0) * x->gpu_usd_per_s + plan_serve_rented(&both, 1) * y->gpu_usd_per_s;
}

static bool
has_gpus(const struct plan_pair *p)
{
	const struct plan_candidate *x = p->prefill->c, *y = p->decode->c;
	const double x_gpus = p->n_prefill * x->n_replica_gpus, y_gpus = p->n_decode * y->n_replica_gpus;
	const bool same = x->n_most_gpus == y->n_most_gpus;

	return (!x->n_most_gpus || x_gpus + (same ? y_gpus : 0) <= *x->n_most_gpus) &&
	    (!y->n_most_gpus || y_gpus + (same ? x_gpus : 0) <= *y->n_most_gpus);
}

/* At a rate of requests: the share of its time that a replica that prefills works, sequences of one that decodes, and
 * how long a cache waits for both links, moves, and waits for
 * the step that goes on. */
struct pace {
	double n_running, moved_s;
};

static double
link_wait(const struct plan_load *l, const struct plan_side *s, double n, double rate_per_s)
{
	const struct queue q = queue_of(l, n, rate_per_s * s->transfer_s / n, s->transfer_s);

	return q.chance * q.wait_s;
}

static struct pace
pace_of(const struct plan_load *l, const struct plan_pair *p, double rate_per_s)
{
	const double n_decode = p->n_decode - l->n_spare;
	const struct plan_candidate *c = p->decode->c;
	const struct serve_load load = plan_serve_load(l);
	const double n = running(l, c, rate_per_s / n_decode), step_s = serve_decode(NULL, c->setup, &load, n),
	             goes_on = fmin(1, rate_per_s / n_decode / replica_rate(l, c, 1));

	return (struct pace){n,
	    p->transfer_s + link_wait(l, p->prefill, p->n_prefill - l->n_spare, rate_per_s) +
	        link_wait(l, p->decode, n_decode, rate_per_s) + goes_on * step_s / 2};
}

/* How far the worst of all is over its limit. */
static double
pair_excess(const struct plan_load *l, const struct plan_pair *p)
{
	const struct pace at = pace_of(l, p, planned_rate(l));
	double most = fmax(first_excess(l, p->prefill, p->n_prefill - l->n_spare, at.moved_s),
	    token_excess(l, p->decode->c, at.n_running));

	for (size_t i = 0; i < l->n_objectives; i++) {
		const struct plan_objective *o = &l->objectives[i];
		if (o->measure == PLAN_E2E)
			most = fmax(most,
			    (first_s(l, p->prefill, p->n_prefill - l->n_spare, planned_rate(l), o->statistic) +
			        at.moved_s +
			        (l->osl_token - 1) * token_s(l, p->decode->c, at.n_running, o->statistic)) /
			        o->limit_s);
	}
	return most;
}

/* More replicas of the side that they help more, until the pair meets its limits.  False: that is too many. */
static bool
grow(const struct plan_load *l, struct plan_pair *p)
{
	double over = pair_excess(l, p);

	for (int step = 0; over > 1 && step < STEPS_MOST; step++) {
		struct plan_pair first = *p, second = *p;
		first.n_prefill += fmax(1, floor(p->n_prefill / 16));
		second.n_decode += fmax(1, floor(p->n_decode / 16));
		const double a = pair_excess(l, &first), b = pair_excess(l, &second);
		if (fmin(a, b) > 0.9999 * over)
			return false;
		*p = a < b ? first : second;
		over = fmin(a, b);
	}
	return over <= 1;
}

/* What the pair comes to at the given load.  False: there are not as many GPUs. */
static bool
set_figures(const struct plan_load *l, struct plan_pair *p)
{
	const struct pace now = pace_of(l, p, l->rate_request_per_s);

	p->ttft_s = first_s(l, p->prefill, p->n_prefill - l->n_spare, l->rate_request_per_s, PLAN_MEAN) + now.moved_s;
	p->tpot_s = token_s(l, p->decode->c, now.n_running, PLAN_MEAN);
	p->link_frac =
	    l->rate_request_per_s * fmax(p->prefill->transfer_s / p->n_prefill, p->decode->transfer_s / p->n_decode);
	p->cost = pools_cost(p);
	return has_gpus(p);
}

static bool
set_pair(const struct plan_served *p, const struct link *link, const struct plan_side *prefill,
    const struct plan_side *decode, struct plan_pair *out)
{
	const struct plan_load *l = &p->load;
	const double sent = planned_rate(l) / link_most_frac;

	/* more replicas share the caches where a link is slow, on either side */
	*out = (struct plan_pair){.prefill = prefill,
	    .decode = decode,
	    .link = link,
	    .n_prefill = fmax(prefill->n, ceil(prefill->transfer_s * sent - 1e-9)) + l->n_spare,
	    .n_decode = fmax(decode->n, ceil(decode->transfer_s * sent - 1e-9)) + l->n_spare,
	    .transfer_s = fmax(prefill->transfer_s, decode->transfer_s),
	    .priced = !isnan(prefill->c->gpu_usd_per_s) && !isnan(decode->c->gpu_usd_per_s)};
	return grow(l, out) && set_figures(l, out);
}

static double
pair_gpus(const struct plan_pair *p)
{
	return p->n_prefill * p->prefill->c->n_replica_gpus + p->n_decode * p->decode->c->n_replica_gpus;
}

static double
pair_handicap(const struct plan_pair *p)
{
	return fmax(plan_handicap(p->prefill->c), plan_handicap(p->decode->c));
}

static int
by_cost(const void *x, const void *y)
{
	const struct plan_pair *a = x, *b = y;

	if (isfinite(a->cost) != isfinite(b->cost))
		return isfinite(a->cost) ? -1 : 1;
	if (a->priced != b->priced)
		return a->priced ? -1 : 1;
	const double a_cost = a->cost * pair_handicap(a), b_cost = b->cost * pair_handicap(b);
	if (a_cost != b_cost)
		return a_cost < b_cost ? -1 : 1;
	const double a_gpus = pair_gpus(a), b_gpus = pair_gpus(b);
	if (a_gpus != b_gpus)
		return a_gpus < b_gpus ? -1 : 1;
	return a->ttft_s != b->ttft_s ? (a->ttft_s < b->ttft_s ? -1 : 1) : 0;
}

/* The cheapest sides of every group of GPU, engine and type. */
static size_t
cheapest(struct plan_side *list, size_t n)
{
	size_t kept = 0;

	qsort(list, n, sizeof *list, by_side_cost);
	for (size_t i = 0; i < n; i++) {
		int alike = 0;
		for (size_t k = 0; k < kept; k++)
			alike += setup_of(list[k].c)->group == setup_of(list[i].c)->group;
		if (alike < SIDE_MOST)
			list[kept++] = list[i];
	}
	return kept;
}

/* Whether no pair before it is of the same two groups of GPU, engine and type. */
static bool
is_best_alike(const struct plan_pair *list, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (setup_of(list[k].prefill->c)->group == setup_of(list[i].prefill->c)->group &&
		    setup_of(list[k].decode->c)->group == setup_of(list[i].decode->c)->group)
			return false;
	return true;
}

/* --- simulated ------------------------------------------------------------------------------------------- */

/* What was simulated is the load that was given, but for growth and spares. */
static void
take_proof(const struct plan_load *l, struct plan_pair *p)
{
	if (l->growth_frac > 0 || l->n_spare > 0)
		return;
	p->ttft_s = p->proven.latency_s[PLAN_TTFT][PLAN_MEAN];
	p->tpot_s = p->proven.latency_s[PLAN_TPOT][PLAN_MEAN];
}

/* Simulate a pair at the planned load without its spares.  Where it misses an SLO it gets more replicas: those that
 * decode for the TPOT, those that prefill for the TTFT, and the other side where that did not help. */
static void
confirm_pair(const struct plan_load *l, uint64_t seed, struct plan_pair *p)
{
	double last_s = INFINITY;
	bool decodes = false;

	for (int i = 0; i < ROUNDS; i++) {
		const struct plan_pools pools = {p->prefill->c->setup, p->decode->c->setup, p->n_prefill - l->n_spare,
		    p->n_decode - l->n_spare, pace_of(l, p, planned_rate(l)).n_running, p->link->byte_per_s.value,
		    datum_or(p->link->latency_s, 0)};
		enum plan_measure worst = PLAN_TTFT;
		p->confirmed = plan_pools_hold(&pools, l, seed, &p->proven);
		if (p->confirmed) {
			take_proof(l, p);
			return;
		}
		plan_excess(l, &p->proven, &worst);
		const double ttft_s = p->proven.latency_s[PLAN_TTFT][PLAN_MEAN];
		decodes = worst == PLAN_TTFT ? decodes != (ttft_s > 0.95 * last_s) : true;
		last_s = ttft_s;
		double *const n = decodes ? &p->n_decode : &p->n_prefill;
		const double more = ceil(0.05 * *n);
		*n += more;
		p->n_added += more;
		if (!set_figures(l, p))
			break;
	}
	p->cost = INFINITY;
}

/* The first pairs of different groups, and then until the first row is one that was simulated. */
static void
confirm(const struct plan_served *p, struct plan_pair *list, size_t n)
{
	const uint64_t seed = (uint64_t)p->in->plan.seed.value;
	size_t n_simulated = 0;

	for (size_t i = 0; i < n && n_simulated < CONFIRMED_MOST; i++)
		if (is_best_alike(list, i)) {
			confirm_pair(&p->load, seed, &list[i]);
			n_simulated++;
		}
	qsort(list, n, sizeof *list, by_cost);
	for (int i = 0; i < SETTLED_MOST && n > 0 && isfinite(list[0].cost) && !list[0].confirmed; i++) {
		confirm_pair(&p->load, seed, &list[0]);
		qsort(list, n, sizeof *list, by_cost);
	}
}

struct plan_pair *
plan_serve_pairs(struct run *r, const struct plan_served *p, const struct link *link, size_t *n)
{
	const struct serve_load load = plan_serve_load(&p->load);
	struct plan_side *prefill = ARENA_ARRAY(r->arena, struct plan_side, p->n_plain + 1),
	                 *decode = ARENA_ARRAY(r->arena, struct plan_side, p->n_plain + 1);
	size_t n_prefill = 0, n_decode = 0;

	*n = 0;
	for (size_t i = 0; i < p->n_plain; i++) {
		const struct plan_candidate *c = &p->plain[i];
		if (c->bound == PLAN_DOES_NOT_FIT)
			continue;
		const double transfer_s =
		    serve_transfer(NULL, c->setup, &load, link->byte_per_s.value, datum_or(link->latency_s, 0));
		n_prefill += size_prefill(&p->load, c, transfer_s, &prefill[n_prefill]);
		n_decode += size_decode(&p->load, c, transfer_s, &decode[n_decode]);
	}
	n_prefill = cheapest(prefill, n_prefill);
	n_decode = cheapest(decode, n_decode);
	struct plan_pair *list = ARENA_ARRAY(r->arena, struct plan_pair, n_prefill * n_decode + 1);
	size_t n_pairs = 0;
	for (size_t i = 0; i < n_prefill; i++)
		for (size_t k = 0; k < n_decode; k++)
			if (may_meet(prefill[i].c, decode[k].c))
				n_pairs += set_pair(p, link, &prefill[i], &decode[k], &list[n_pairs]);
	qsort(list, n_pairs, sizeof *list, by_cost);
	if (!p->in->plan.unconfirmed && !p->in->pareto.text)
		confirm(p, list, n_pairs);
	struct plan_pair *rows = ARENA_ARRAY(r->arena, struct plan_pair, n_pairs + 1);
	for (size_t i = 0; i < n_pairs && *n < (size_t)p->in->top.value; i++)
		if (isfinite(list[i].cost) && (p->in->plan.every_layout || is_best_alike(list, i)))
			rows[(*n)++] = list[i];
	return rows;
}
