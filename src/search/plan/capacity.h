/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How many replicas of which setup meet objectives under a load, and what stands in the way.
 *
 * A replica is looked at by the rate of requests that it gets; a search over the rate finds the most that it can take
 * within the objectives.  Users are a rate that depends on how long their answers take.
 */
#ifndef RIDGE_ENGINE_PLAN_CAPACITY_H
#define RIDGE_ENGINE_PLAN_CAPACITY_H

#include "base/arena.h"
#include "ridge/serve_load.h"
#include "ridge/simulate.h"

enum plan_measure { PLAN_TTFT, PLAN_TPOT, PLAN_E2E, N_PLAN_MEASURES };
enum plan_statistic {
#define STATISTIC(id, name, share) PLAN_##id,
#include "search/plan/statistic.def"
#undef STATISTIC
	N_PLAN_STATISTICS,
};

struct plan_objective {
	enum plan_measure measure;
	enum plan_statistic statistic;
	double limit_s;
};

/* Requests per second, or else users who think between an answer and their next request. */
struct plan_load {
	double rate_request_per_s; /* NaN: users */
	double n_users, think_s;
	double isl_token, osl_token, isl_cv, osl_cv;
	double cached_frac;
	double growth_frac;      /* planned for on top */
	double utilisation_frac; /* of a replica's saturation, at most */
	double n_spare;          /* replicas that may fail */
	const struct plan_objective *objectives;
	size_t n_objectives;
};

/* One replica at one load. */
struct plan_point {
	double n_running, rate_request_per_s;
	double latency_s[N_PLAN_MEASURES][N_PLAN_STATISTICS];
	double load;      /* requests per second, or users */
	double full_frac; /* of the rate that it would take without objectives; set by plan_most */
};

enum plan_bound {
	PLAN_BY_TTFT,
	PLAN_BY_TPOT,
	PLAN_BY_E2E,
	PLAN_BY_CACHE,
	PLAN_BY_SEQUENCES,
	PLAN_BY_THROUGHPUT, /* more sequences would not make more tokens */
	PLAN_BY_NOTHING,    /* fewer than one replica would do */
	PLAN_DOES_NOT_FIT,  /* no request fits */
	PLAN_MISSES,        /* an objective is missed by a request that is alone */
	PLAN_SIMULATED_OUT, /* no number of replicas that was tried meets them in the simulation */
};

const char *plan_bound_text(enum plan_bound b);

/* A setup to look at, and what came of it. */
struct plan_candidate {
	const struct serve_setup *setup;
	const void *about; /* the caller's */
	double n_replica_gpus;
	double n_unit_gpus;             /* GPUs are rented so many together */
	double gpu_usd_per_s, gpu_watt; /* NaN: unknown */

	enum plan_bound bound;
	struct plan_point most;  /* that a replica takes */
	double n_needed, n_all;  /* replicas; with spares */
	struct plan_point usual; /* the load of today spread over all of them */
	double n_gpus, n_rented_gpus, all_usd_per_s, all_watt;
	bool idle;  /* objectives leave a replica so little to do that nobody would buy it */
	bool front; /* nothing else that is bought is both cheaper and faster */
	bool confirmed;
	double n_added;           /* replicas that the simulation asked for */
	struct plan_point proven; /* simulated: planned load, spares missing */
};

/* The share of the requests that a percentile stands for; NaN: the mean. */
double plan_share(enum plan_statistic s);
/* What all requests of the load are like. */
struct serve_load plan_serve_load(const struct plan_load *l);
/* The closed form at this rate, or with so many users; false when the replica does not take them. */
bool plan_point(
    const struct serve_setup *s, const struct plan_load *load, double rate_request_per_s, struct plan_point *out);
bool plan_point_users(
    const struct serve_setup *s, const struct plan_load *load, double n_users, struct plan_point *out);
/* The most that one replica takes; false when it takes nothing: bound says why. */
bool plan_most(
    const struct serve_setup *s, const struct plan_load *load, struct plan_point *out, enum plan_bound *bound);
/* Replicas, money and power of one candidate. */
void plan_size(struct plan_candidate *c, const struct plan_load *load);
/* Sized candidates in order of cost (of GPUs where there is no price), the front marked. */
void plan_sort(struct arena *a, struct plan_candidate *list, size_t n);
/* All candidates, sized and sorted. */
void plan_all(struct arena *a, struct plan_candidate *list, size_t n, const struct plan_load *load);
/* Simulate a candidate at the planned load without its spares, and add replicas until it meets the objectives. */
void plan_confirm(struct plan_candidate *c, const struct plan_load *load, uint64_t seed);

bool plan_meets(const struct plan_load *load, const struct plan_point *p, enum plan_measure *missed);

#endif
