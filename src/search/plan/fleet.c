/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fleets of several setups: the cheapest for a request first, as far as there are GPUs of it. */
#include "search/plan/plan.h"

#include "model/calc/calc.h"

#include <math.h>

enum { SPARE_ROUNDS = 16 };
static const double rounding = 1e-9; /* of a replica */

double
plan_fleet_price(const struct plan_candidate *c, enum plan_rank rank)
{
	const double price = rank == PLAN_RANK_POWER ? c->gpu_watt : rank == PLAN_RANK_GPUS ? 1 : c->gpu_usd_per_s;

	return c->n_replica_gpus * (isnan(price) ? 1 : price) / c->most.load;
}

/* --- what is left ---------------------------------------------------------------------------------------- */

/* Replicas that its GPUs still hold. */
static double
replicas_left(const struct plan_fleet *f, const struct plan_candidate *c)
{
	double n_left = c->n_most_gpus ? *c->n_most_gpus : INFINITY;

	for (int i = 0; i < f->n_parts; i++)
		if (c->n_most_gpus && f->parts[i].c->n_most_gpus == c->n_most_gpus)
			n_left -= f->parts[i].n_replicas * f->parts[i].c->n_replica_gpus;
	return floor(n_left / c->n_replica_gpus + rounding);
}

static bool
take(struct plan_fleet *f, const struct plan_candidate *c, double n)
{
	int i = 0;

	while (i < f->n_parts && f->parts[i].c != c)
		i++;
	if (i == FLEET_MOST_PARTS)
		return false;
	f->n_parts = i < f->n_parts ? f->n_parts : i + 1;
	f->parts[i].n_replicas = (f->parts[i].c ? f->parts[i].n_replicas : 0) + n;
	f->parts[i].c = c;
	return true;
}

static double
whole_load(const struct plan_fleet *f)
{
	double load = 0;

	for (int i = 0; i < f->n_parts; i++)
		load += f->parts[i].n_replicas * f->parts[i].c->most.load;
	return load;
}

/* --- filling --------------------------------------------------------------------------------------------- */

/* What n replicas cost, by whole instances. */
static double
price_of(const struct plan_candidate *c, double n, enum plan_rank rank)
{
	const bool rents = rank != PLAN_RANK_POWER && rank != PLAN_RANK_GPUS && !isnan(c->gpu_usd_per_s);

	return rents ? cost_rented(NULL, n, c->n_replica_gpus, c->n_unit_gpus) * c->gpu_usd_per_s
	             : n * c->most.load * plan_fleet_price(c, rank);
}

/* The setup that carries all of the rest by itself for least; NULL: none does. */
static const struct plan_candidate *
finisher(
    const struct plan_fleet *f, const struct plan_candidate *const *list, size_t n, double rest, enum plan_rank rank)
{
	const struct plan_candidate *best = NULL;
	double least = INFINITY;

	for (size_t i = 0; i < n; i++) {
		const double n_replicas = ceil(rest / list[i]->most.load - rounding),
		             price = price_of(list[i], n_replicas, rank);
		if (n_replicas <= replicas_left(f, list[i]) && price < least) {
			least = price;
			best = list[i];
		}
	}
	return best;
}

static double
whole_price(const struct plan_fleet *f, enum plan_rank rank)
{
	double price = 0;

	for (int i = 0; i < f->n_parts; i++)
		price += price_of(f->parts[i].c, f->parts[i].n_replicas, rank);
	return price;
}

/* Keep the cheaper of the best and what is taken with the rest on one setup. */
static void
consider(struct plan_fleet taken, const struct plan_candidate *const *list, size_t n, double rest, enum plan_rank rank,
    struct plan_fleet *best, double *least)
{
	if (rest > rounding) {
		const struct plan_candidate *last = finisher(&taken, list, n, rest, rank);
		if (!last || !take(&taken, last, ceil(rest / last->most.load - rounding)))
			return;
	}
	if (whole_price(&taken, rank) < *least) {
		*least = whole_price(&taken, rank);
		*best = taken;
	}
}

/* The cheapest first, each as far as it goes; at every step one setup may carry the rest instead.  The best of these.
 */
static bool
fill(const struct plan_candidate *const *list, size_t n, double load, enum plan_rank rank, struct plan_fleet *out)
{
	struct plan_fleet taken = {0};
	double least = INFINITY;

	for (size_t i = 0; i < n; i++) {
		const double rest = load - whole_load(&taken);
		consider(taken, list, n, rest, rank, out, &least);
		const double whole = fmin(replicas_left(&taken, list[i]), floor(rest / list[i]->most.load + rounding));
		if (whole >= 1 && !take(&taken, list[i], whole))
			break;
	}
	consider(taken, list, n, load - whole_load(&taken), rank, out, &least);
	if (isinf(least))
		*out = taken;
	return isfinite(least);
}

/* What the replicas that may fail take, the largest first. */
static double
spare_load(const struct plan_fleet *f, double n_spare)
{
	struct plan_fleet rest = *f;
	double load = 0;

	for (double n_left = n_spare; n_left > 0;) {
		int most = -1;
		for (int i = 0; i < rest.n_parts; i++)
			if (rest.parts[i].n_replicas > 0 &&
			    (most < 0 || rest.parts[i].c->most.load > rest.parts[most].c->most.load))
				most = i;
		if (most < 0)
			return load;
		const double n = fmin(n_left, rest.parts[most].n_replicas);
		load += n * rest.parts[most].c->most.load;
		rest.parts[most].n_replicas -= n;
		n_left -= n;
	}
	return load;
}

bool
plan_fleet_fill(const struct plan_candidate *const *list, size_t n, const struct plan_load *l, enum plan_rank rank,
    struct plan_fleet *out)
{
	const double load = plan_demand(l);
	double wanted = load;
	bool filled = false;

	for (int i = 0; i < SPARE_ROUNDS; i++) {
		filled = fill(list, n, wanted, rank, out);
		out->load = whole_load(out) - spare_load(out, l->n_spare);
		if (!filled || out->load >= load * (1 - rounding))
			return filled && out->load >= load * (1 - rounding);
		wanted += load - out->load;
	}
	return false;
}

/* --- at the load of today -------------------------------------------------------------------------------- */

void
plan_fleet_point(const struct plan_load *l, const struct plan_fleet_part *part, double share, struct plan_point *out)
{
	const struct plan_candidate *c = part->c;
	const double load = share * c->most.load;
	const bool known = isnan(l->rate_request_per_s) ? plan_point_users(c->setup, l, load, out)
	                                                : plan_point(c->setup, l, load, out);

	if (!known)
		*out = c->most;
}
