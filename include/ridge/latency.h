/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A deadline: stages one after the other and side by side, what is left of the budget, and how long the tail is. */
#ifndef RIDGE_LATENCY_H
#define RIDGE_LATENCY_H

#include "ridge/sheet.h"

/* The cases that a stage has times for. */
enum stage_time { STAGE_NOW, STAGE_CHANGED, STAGE_TAIL, N_STAGE_TIMES };

/* Legs follow one another; the branches of a leg run at the same time; the stages of a branch follow one another. */
struct stage {
	const char *name;
	struct datum time_s[N_STAGE_TIMES]; /* what is absent is as STAGE_NOW */
	int leg, branch;
};

/* Stages of a leg, and of a branch, stand together; both are numbered from 0. */
struct stages {
	int n, n_legs;
	const struct stage *list;
};

/* The longest way through. */
double latency_total(struct sheet *sh, const struct stages *p, enum stage_time which);
/* The most that a stage may take for its own way through to end in time. */
double latency_allowed(struct sheet *sh, const struct stages *p, enum stage_time which, int stage, double slack_s);
/* P99 of the way if the stages' delays have nothing to do with each other. */
double latency_tail_independent(struct sheet *sh, const struct stages *p);

/* A frame's time from its rate, and back. */
double latency_budget(struct sheet *sh, double frame_hertz);
double latency_rate(struct sheet *sh, double total_s);
double latency_slack(struct sheet *sh, double budget_s, double total_s);
double latency_over(struct sheet *sh, double slack_s);
double latency_share(struct sheet *sh, double stage_s, double total_s);
/* What a stage has to reach if all shrink alike. */
double latency_proportional(struct sheet *sh, double stage_s, double budget_s, double total_s);
double latency_saving(struct sheet *sh, double before_s, double after_s);

/* P99 over P50. */
double latency_tail(struct sheet *sh, double p50_s, double p99_s);
/* Runs that put n_beyond samples behind a percentile. */
double latency_runs(struct sheet *sh, double percentile_frac, double n_beyond);

/* Metres that a vehicle travels meanwhile. */
double latency_metres_per_hour(struct sheet *sh, double n_units_per_hour, double n_metres_per_unit);
double latency_travelled(struct sheet *sh, double n_metres_per_hour, double time_s);

/* --- nothing is recorded --------------------------------------------------------------------------------- */

/* Time of a stage in one case. */
struct datum stage_takes(const struct stage *s, enum stage_time which);
/* Whether the longest way leads through it. */
bool stage_is_critical(const struct stages *p, enum stage_time which, int stage);
/* Whether this stage alone can be made so fast that the budget is met. */
bool stage_suffices(const struct stages *p, enum stage_time which, int stage, double budget_s);

#endif
