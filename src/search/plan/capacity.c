/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Number of replicas for a load, and the choice among setups. */
#include "search/plan/plan.h"

#include "model/calc/calc.h"
#include "search/simulate/simulate.h"

#include <math.h>
#include <stdlib.h>

enum { POINT_ROUNDS = 24, RETREATS = 20 };
static const double close_enough = 0.0025; /* of a rate, in logarithms */
static const double least_part = 1e-4;     /* of a replica's rate: as good as alone */
static const double idle_frac = 0.05;      /* chosen: below this part of its rate a replica is bought in vain */

const char *
plan_bound_text(enum plan_bound b)
{
	switch (b) {
	case PLAN_BY_TTFT:
		return "TTFT";
	case PLAN_BY_TPOT:
		return "TPOT";
	case PLAN_BY_E2E:
		return "end-to-end latency";
	case PLAN_BY_CACHE:
		return "KV cache";
	case PLAN_BY_SEQUENCES:
		return "max running sequences";
	case PLAN_BY_THROUGHPUT:
		return "throughput";
	case PLAN_BY_NOTHING:
		return "none";
	case PLAN_DOES_NOT_FIT:
		return "does not fit";
	case PLAN_MISSES:
		return "too slow at batch 1";
	case PLAN_SHORT:
		return "GPUs at hand";
	case PLAN_SIMULATED_OUT:
		return "misses SLO in simulation";
	}
	return "";
}

/* The worst latency over its limit; what that is. */
double
plan_excess(const struct plan_load *load, const struct plan_point *p, enum plan_measure *worst)
{
	double most = 0;

	for (size_t i = 0; i < load->n_objectives; i++) {
		const struct plan_objective *o = &load->objectives[i];
		const double over = p->latency_s[o->measure][o->statistic] / o->limit_s;
		if (!(over <= most)) {
			most = over;
			*worst = o->measure;
		}
	}
	return most;
}

static bool
plan_meets(const struct plan_load *load, const struct plan_point *p, enum plan_measure *missed)
{
	return plan_excess(load, p, missed) <= 1;
}

/* --- the most that a replica takes ----------------------------------------------------------------------- */

/* The rate with every place taken, and what keeps it from being more. */
static double
most_rate(const struct serve_setup *s, const struct plan_load *l, enum plan_bound *bound)
{
	const struct serve_load load = plan_serve_load(l);
	const double n = serve_running(NULL, s, &load),
	             allowed =
	                 s->engine->max_sequences.value * s->layout.pp * (s->layout.attention_dp ? s->layout.tp : 1);

	*bound = PLAN_DOES_NOT_FIT;
	if (!(n >= 1))
		return 0;
	const double starting = serve_starting(NULL, s, &load, n), wanted = n / (1 + serve_decode_steps(NULL, &load));
	*bound = starting < 0.999 * wanted ? PLAN_BY_THROUGHPUT : n < allowed ? PLAN_BY_CACHE : PLAN_BY_SEQUENCES;
	return serve_request_rate(NULL, starting, serve_steady(NULL, s, &load, starting));
}

static enum plan_bound
bound_of(enum plan_measure missed)
{
	return missed == PLAN_TTFT ? PLAN_BY_TTFT : missed == PLAN_TPOT ? PLAN_BY_TPOT : PLAN_BY_E2E;
}

/* A rate, and how far its worst latency is over its limit: logarithms, in which latencies are nearly straight. */
struct tried {
	double log_rate, log_excess;
};

/* The next rate to try: where a straight line meets the limit. */
static double
between(struct tried low, struct tried high)
{
	const double part = -low.log_excess / (high.log_excess - low.log_excess);

	return low.log_rate + (high.log_rate - low.log_rate) * (isfinite(part) ? fmin(fmax(part, 0.02), 0.98) : 0.5);
}

/* Between a rate at which the objectives are met and one at which they are not: false position after Illinois, where an
 * end that stays counts half as far from the limit. */
static void
search(const struct serve_setup *s, const struct plan_load *l, struct tried low, struct tried high,
    struct serve_flow *out, enum plan_bound *bound)
{
	enum plan_measure missed = PLAN_TTFT;
	struct plan_point p;
	struct serve_flow f;
	int side = 0;

	for (int i = 0; i < POINT_ROUNDS && high.log_rate - low.log_rate > close_enough; i++) {
		const double at = between(low, high);
		const double over = plan_glance(s, l, exp(at), &f, &p) ? plan_excess(l, &p, &missed) : INFINITY;
		const bool met = over <= 1;
		if (met) {
			low = (struct tried){at, log(over)};
			*out = f;
		} else {
			high = (struct tried){at, log(over)};
			*bound = bound_of(missed);
		}
		if (met && side > 0)
			high.log_excess /= 2;
		if (!met && side < 0)
			low.log_excess /= 2;
		side = met ? 1 : -1;
	}
}

bool
plan_most(const struct serve_setup *s, const struct plan_load *l, struct plan_point *out, enum plan_bound *bound)
{
	double high = l->utilisation_frac * most_rate(s, l, bound), low = least_part * high;
	const double full = high;
	enum plan_measure missed = PLAN_TTFT;
	struct serve_flow f;

	if (*bound == PLAN_DOES_NOT_FIT)
		return false;
	bool taken = false;
	for (int i = 0; i < RETREATS && !(taken = plan_glance(s, l, high, &f, out)); i++)
		high *= 0.97;
	const double over = plan_excess(l, out, &missed);
	if (!(over <= 1)) {
		*bound = bound_of(missed);
		if (!plan_glance(s, l, low, &f, out) || !plan_meets(l, out, &missed)) {
			*bound = PLAN_MISSES;
			return false;
		}
		search(s, l, (struct tried){log(low), log(plan_excess(l, out, &missed))},
		    (struct tried){log(high), log(over)}, &f, bound);
	}
	if (taken)
		plan_point_of(s, l, &f, out);
	out->full_frac = out->rate_request_per_s / full;
	return true;
}

bool
plan_alone(const struct serve_setup *s, const struct plan_load *l, struct plan_point *out)
{
	enum plan_bound bound;
	const double most = most_rate(s, l, &bound);

	return bound != PLAN_DOES_NOT_FIT && plan_point(s, l, least_part * most, out);
}

/* --- replicas -------------------------------------------------------------------------------------------- */

static double
demand(const struct plan_load *l)
{
	return isnan(l->rate_request_per_s) ? l->n_users : l->rate_request_per_s;
}

double
plan_demand(const struct plan_load *l)
{
	return demand(l) * (1 + l->growth_frac);
}

static void
unsized(struct plan_candidate *c)
{
	c->n_needed = c->n_all = c->n_gpus = c->all_usd_per_s = c->all_watt = INFINITY;
}

static bool
is_short(const struct plan_candidate *c, const struct plan_load *l)
{
	return c->n_most_gpus && (c->n_needed + l->n_spare) * c->n_replica_gpus > *c->n_most_gpus;
}

static void
count(struct plan_candidate *c, const struct plan_load *l)
{
	c->n_all = c->n_needed + l->n_spare;
	const double load = demand(l) / c->n_all;
	const bool known = isnan(l->rate_request_per_s) ? plan_point_users(c->setup, l, load, &c->usual)
	                                                : plan_point(c->setup, l, load, &c->usual);
	if (!known)
		c->usual = c->most;
	c->n_gpus = c->n_all * c->n_replica_gpus;
	c->n_rented_gpus = cost_rented(NULL, c->n_all, c->n_replica_gpus, c->n_unit_gpus);
	c->all_usd_per_s = c->n_rented_gpus * c->gpu_usd_per_s;
	c->all_watt = c->n_gpus * c->gpu_watt;
	if (is_short(c, l)) {
		c->bound = PLAN_SHORT;
		unsized(c);
	}
}

void
plan_size(struct plan_candidate *c, const struct plan_load *l)
{
	unsized(c);
	c->confirmed = c->front = c->idle = false;
	c->n_added = 0;
	if (!plan_most(c->setup, l, &c->most, &c->bound))
		return;
	const double n = plan_demand(l) / c->most.load;
	c->n_needed = fmax(1, ceil(n - 1e-9));
	c->idle = c->n_needed > 1 && c->most.full_frac < idle_frac;
	if (n < 0.5)
		c->bound = PLAN_BY_NOTHING;
	count(c, l);
}

bool
plan_feasible(const struct plan_candidate *c)
{
	return isfinite(c->n_gpus) && c->bound != PLAN_SIMULATED_OUT;
}

double
plan_rank_value(const struct plan_candidate *c, enum plan_rank rank)
{
	if (isinf(c->n_gpus))
		return INFINITY;
	switch (rank) {
	case PLAN_RANK_COST:
		return c->all_usd_per_s;
	case PLAN_RANK_POWER:
		return c->all_watt;
	case PLAN_RANK_GPUS:
		return c->n_gpus;
	case PLAN_RANK_TTFT:
		return c->usual.latency_s[PLAN_TTFT][PLAN_MEAN];
	case PLAN_RANK_TPOT:
		return c->usual.latency_s[PLAN_TPOT][PLAN_MEAN];
	case N_PLAN_RANKS:
		break;
	}
	return NAN;
}

struct ranked {
	const struct plan_candidate *c;
	double value;
	bool known, vain; /* vain: of latencies, one that pays for idle replicas */
};

/* The best first; what is not known after what is, by GPUs; then the faster, then the order in which they came. */
static int
by_rank(const void *x, const void *y)
{
	const struct ranked *a = x, *b = y;

	if (isinf(a->value) != isinf(b->value))
		return isinf(a->value) ? 1 : -1;
	if (a->vain != b->vain)
		return a->vain ? 1 : -1;
	if (a->known != b->known)
		return a->known ? -1 : 1;
	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	const double a_s = a->c->usual.latency_s[PLAN_E2E][PLAN_MEAN], b_s = b->c->usual.latency_s[PLAN_E2E][PLAN_MEAN];
	if (isfinite(a->value) && a_s != b_s)
		return a_s < b_s ? -1 : 1;
	return (a->c > b->c) - (a->c < b->c);
}

/* No other candidate is both cheaper and faster; without a price they have a front of their own. */
static void
mark_front(struct arena *a, struct plan_candidate *list, size_t n)
{
	struct ranked *order = ARENA_ARRAY(a, struct ranked, n);
	double fastest_s[2] = {INFINITY, INFINITY};

	for (size_t i = 0; i < n; i++) {
		const double usd = plan_rank_value(&list[i], PLAN_RANK_COST);
		order[i] = (struct ranked){&list[i], isnan(usd) ? list[i].n_gpus : usd, !isnan(usd), false};
	}
	qsort(order, n, sizeof *order, by_rank);
	for (size_t i = 0; i < n; i++) {
		struct plan_candidate *c = &list[order[i].c - list];
		double *const fastest = &fastest_s[!order[i].known];
		const double e2e_s = c->usual.latency_s[PLAN_E2E][PLAN_MEAN];
		c->front = plan_feasible(c) && !c->idle && e2e_s < *fastest;
		if (c->front)
			*fastest = e2e_s;
	}
}

double
plan_handicap(const struct plan_candidate *c)
{
	return c->untried ? 1 + plan_unproven_frac : 1;
}

void
plan_sort(struct arena *a, struct plan_candidate *list, size_t n, enum plan_rank rank)
{
	const bool latency = rank == PLAN_RANK_TTFT || rank == PLAN_RANK_TPOT;
	struct ranked *order = ARENA_ARRAY(a, struct ranked, n);
	struct plan_candidate *sorted = ARENA_ARRAY(a, struct plan_candidate, n);

	mark_front(a, list, n);
	for (size_t i = 0; i < n; i++) {
		const double value = plan_rank_value(&list[i], rank);
		order[i] = (struct ranked){&list[i], (isnan(value) ? list[i].n_gpus : value) * plan_handicap(&list[i]),
		    !isnan(value), latency && list[i].idle};
	}
	qsort(order, n, sizeof *order, by_rank);
	for (size_t i = 0; i < n; i++)
		sorted[i] = *order[i].c;
	for (size_t i = 0; i < n; i++)
		list[i] = sorted[i];
}

void
plan_all(struct arena *a, struct plan_candidate *list, size_t n, const struct plan_load *l)
{
	for (size_t i = 0; i < n; i++)
		plan_size(&list[i], l);
	plan_sort(a, list, n, PLAN_RANK_COST);
}

/* --- simulation ------------------------------------------------------------------------------------------ */

enum { ROUNDS = 8 };

void
plan_confirm(struct plan_candidate *c, const struct plan_load *l, uint64_t seed)
{
	if (!isfinite(c->n_needed))
		return;
	for (int i = 0; i < ROUNDS; i++) {
		c->confirmed = plan_rehearse(c, l, seed, &c->proven);
		if (c->confirmed) {
			count(c, l);
			return;
		}
		const double more = ceil(0.05 * c->n_needed);
		c->n_needed += more;
		c->n_added += more;
		if (is_short(c, l))
			break;
	}
	c->bound = PLAN_SIMULATED_OUT;
	count(c, l);
}
