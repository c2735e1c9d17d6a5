/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Prefill and decode pools of `ridge plan serve --pools`: each side has its own GPU and layout.
 *
 * The two sides meet in the request rate and in the link that carries the caches, so each is sized by itself: replicas
 * that prefill by TTFT, waiting as a queue with one server whose service times vary as the inputs do (M/G/1; its tail
 * after Kingman's heavy-traffic limit), replicas that decode by TPOT, of as many sequences as a Poisson number of that
 * mean reaches.  Pairs are made of the sides that cost least for the load in whole replicas.
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

enum { SIDE_MOST = 6, HALVINGS = 24, STEPS_MOST = 128 };
static const double link_most_frac = 0.5; /* of a link: caches come in bursts */

/* One setup as a pool of one side. */
struct side {
	const struct plan_candidate *c;
	double rate_per_s; /* of a replica, at its limits */
	double alone_s,
	    service_s;     /* of a request: TTFT without waiting and transfer, and what it keeps a replica busy */
	double transfer_s; /* of a request's caches, over a link for each GPU of a replica */
	double cost;       /* of the replicas that the load takes: USD per second, or GPUs */
};

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
replicas(const struct plan_load *l, const struct side *s)
{
	return fmax(1, ceil(planned_rate(l) / s->rate_per_s - 1e-9)) + l->n_spare;
}

static double
cost_of(const struct plan_load *l, const struct side *s)
{
	const struct plan_candidate *c = s->c;

	return replicas(l, s) * c->n_replica_gpus * (isnan(c->gpu_usd_per_s) ? 1 : c->gpu_usd_per_s);
}

/* --- replicas that prefill ------------------------------------------------------------------------------- */

/* TTFT at this share of a replica's rate. */
static double
first_s(const struct plan_load *l, const struct side *s, double busy, enum plan_statistic statistic)
{
	const double share = plan_share(statistic), varies = l->isl_cv * l->isl_cv, sigma = sqrt(log1p(varies));
	const double scale_s = s->service_s * (1 + varies) / (2 * (1 - busy));

	if (statistic == PLAN_MEAN)
		return s->alone_s + busy * scale_s;
	return s->alone_s * exp(sigma * (num_normal_quantile(share) - sigma / 2)) +
	    fmax(0, scale_s * log(busy / (1 - share)));
}

/* TTFT over its limits. */
static double
first_excess(const struct plan_load *l, const struct side *s, double busy, double transfer_s)
{
	double most = 0;

	for (size_t i = 0; i < l->n_objectives; i++) {
		const struct plan_objective *o = &l->objectives[i];
		if (o->measure == PLAN_TTFT)
			most = fmax(most, (first_s(l, s, busy, o->statistic) + transfer_s) / o->limit_s);
	}
	return most;
}

static bool
size_prefill(const struct plan_load *l, const struct plan_candidate *c, double transfer_s, struct side *out)
{
	const struct serve_load load = plan_serve_load(l);
	const double full = serve_prefill_rate(NULL, c->setup, &load);
	double low = 0.01, high = l->utilisation_frac;

	*out = (struct side){.c = c,
	    .alone_s =
	        serve_first(NULL, c->setup, &load, 1) + serve_front(NULL, c->setup) + serve_handover(NULL, c->setup),
	    .service_s = 1 / full,
	    .transfer_s = transfer_s};
	if (!(full > 0) || first_excess(l, out, low, transfer_s) > 1)
		return false;
	if (first_excess(l, out, high, transfer_s) <= 1)
		low = high;
	for (int i = 0; i < HALVINGS && low < high; i++) {
		const double middle = (low + high) / 2;
		*(first_excess(l, out, middle, transfer_s) <= 1 ? &low : &high) = middle;
	}
	out->rate_per_s = low * full;
	out->cost = cost_of(l, out);
	return true;
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

static bool
size_decode(const struct plan_load *l, const struct plan_candidate *c, double transfer_s, struct side *out)
{
	double low = 1, high = most_running(l, c);

	if (!(high >= 1) || token_excess(l, c, low) > 1)
		return false;
	if (token_excess(l, c, high) <= 1)
		low = high;
	for (int i = 0; i < HALVINGS && low < high; i++) {
		const double middle = (low + high) / 2;
		*(token_excess(l, c, middle) <= 1 ? &low : &high) = middle;
	}
	*out = (struct side){.c = c, .rate_per_s = replica_rate(l, c, low), .transfer_s = transfer_s};
	out->cost = cost_of(l, out);
	return true;
}

/* Sequences that run at this rate of requests. */
static double
running(const struct plan_load *l, const struct plan_candidate *c, double rate_per_s)
{
	double low = 1, high = fmax(1, most_running(l, c));

	if (replica_rate(l, c, low) >= rate_per_s)
		return low;
	for (int i = 0; i < HALVINGS && low < high; i++) {
		const double middle = (low + high) / 2;
		*(replica_rate(l, c, middle) < rate_per_s ? &low : &high) = middle;
	}
	return high;
}

/* --- pairs ----------------------------------------------------------------------------------------------- */

static int
by_side_cost(const void *x, const void *y)
{
	const struct side *a = x, *b = y;

	if (a->cost != b->cost)
		return a->cost < b->cost ? -1 : 1;
	if (a->rate_per_s != b->rate_per_s)
		return a->rate_per_s > b->rate_per_s ? -1 : 1;
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

/* Sequences of each replica that decodes, and the share of its time that one that prefills works, at this rate. */
struct pace {
	double busy, n_running;
};

static struct pace
pace_of(const struct plan_load *l, const struct side *prefill, const struct side *decode, const struct pools *p,
    double rate_per_s)
{
	return (struct pace){fmin(0.99, rate_per_s * prefill->service_s / fmax(1, p->n_prefill - l->n_spare)),
	    running(l, decode->c, rate_per_s / fmax(1, p->n_decode - l->n_spare))};
}

/* How far the worst of all is over its limit. */
static double
pair_excess(const struct plan_load *l, const struct side *prefill, const struct side *decode, const struct pools *p)
{
	const struct pace at = pace_of(l, prefill, decode, p, planned_rate(l));
	double most = fmax(first_excess(l, prefill, at.busy, p->transfer_s), token_excess(l, decode->c, at.n_running));

	for (size_t i = 0; i < l->n_objectives; i++) {
		const struct plan_objective *o = &l->objectives[i];
		if (o->measure == PLAN_E2E)
			most = fmax(most,
			    (first_s(l, prefill, at.busy, o->statistic) + p->transfer_s +
			        (l->osl_token - 1) * token_s(l, decode->c, at.n_running, o->statistic)) /
			        o->limit_s);
	}
	return most;
}

/* More replicas of the side that they help more, until the pair meets its limits.  False: that is too many. */
static bool
grow(const struct plan_load *l, const struct side *prefill, const struct side *decode, struct pools *p)
{
	double over = pair_excess(l, prefill, decode, p);

	for (int step = 0; over > 1 && step < STEPS_MOST; step++) {
		struct pools first = *p, second = *p;
		first.n_prefill += fmax(1, floor(p->n_prefill / 16));
		second.n_decode += fmax(1, floor(p->n_decode / 16));
		const double a = pair_excess(l, prefill, decode, &first), b = pair_excess(l, prefill, decode, &second);
		if (fmin(a, b) > 0.9999 * over)
			return false;
		*p = a < b ? first : second;
		over = fmin(a, b);
	}
	return over <= 1;
}

static bool
set_pair(const struct plan_served *p, const struct link *link, const struct side *prefill, const struct side *decode,
    struct pools *out)
{
	const struct plan_load *l = &p->load;
	const double sent = planned_rate(l) / link_most_frac;

	/* more replicas share the caches where a link is slow, on either side */
	*out = (struct pools){.prefill = prefill->c,
	    .decode = decode->c,
	    .link = link,
	    .n_prefill = fmax(replicas(l, prefill), ceil(prefill->transfer_s * sent - 1e-9) + l->n_spare),
	    .n_decode = fmax(replicas(l, decode), ceil(decode->transfer_s * sent - 1e-9) + l->n_spare),
	    .transfer_s = fmax(prefill->transfer_s, decode->transfer_s),
	    .priced = !isnan(prefill->c->gpu_usd_per_s) && !isnan(decode->c->gpu_usd_per_s)};
	if (!grow(l, prefill, decode, out))
		return false;
	const struct pace now = pace_of(l, prefill, decode, out, l->rate_request_per_s);
	out->ttft_s = first_s(l, prefill, now.busy, PLAN_MEAN) + out->transfer_s;
	out->tpot_s = token_s(l, decode->c, now.n_running, PLAN_MEAN);
	out->link_frac =
	    l->rate_request_per_s * fmax(prefill->transfer_s / out->n_prefill, decode->transfer_s / out->n_decode);
	out->cost = pools_cost(prefill, out->n_prefill, decode, out->n_decode);
	return has_gpus(out);
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

/* The cheapest pairs of pools whose caches the link carries. */
static struct pools *
cheapest_pools(struct run *r, const struct plan_served *p, const struct link *link, size_t *n)
{
	const struct serve_load load = plan_serve_load(&p->load);
	struct side *prefill = ARENA_ARRAY(r->arena, struct side, p->n_plain + 1),
	            *decode = ARENA_ARRAY(r->arena, struct side, p->n_plain + 1);
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
