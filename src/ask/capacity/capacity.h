/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ridge capacity` with SLOs: setups of serving engines that meet them, by cost. */
#ifndef RIDGE_ASK_CAPACITY_CAPACITY_H
#define RIDGE_ASK_CAPACITY_CAPACITY_H

#include "ask/bind/bind.h"

struct capacity_plan_in {
#define CAPACITY_PLAN_OPTIONS(X)                                                                                       \
	X(0, engine, "engine", "engine", WORDS, "NAME,...", "engine", NULL,                                            \
	    "SLO plan: serving engines to try, instead of roofline floors (default: trtllm)")                          \
	X(0, objectives, "slo", "objectives", WORDS, "WHAT:TIME,...", "", NULL,                                        \
	    "SLOs on ttft, tpot or answer, mean or percentile: ttft.p99:500ms,tpot:40ms,answer.p95:10s")               \
	X(0, dtypes, "dtypes", "dtypes", WORDS, "TYPE,...", "", NULL,                                                  \
	    "SLO plan: weight dtypes to try (default: --dtype)")                                                       \
	X(0, think, "think", "think", TIME, "TIME", "", NULL,                                                          \
	    "SLO plan: mean think time of a user between answer and next request (default 30 s)")                      \
	X(0, day_tokens, "day-tokens", "day_tokens", COUNT, "N", "", NULL,                                             \
	    "SLO plan: output tokens per day, instead of --rate")                                                      \
	X(0, isl_cv, "isl-cv", "isl_cv", NUMBER, "N", "", "0",                                                         \
	    "SLO plan: coefficient of variation of ISL (log-normal)")                                                  \
	X(0, osl_cv, "osl-cv", "osl_cv", NUMBER, "N", "", "0",                                                         \
	    "SLO plan: coefficient of variation of OSL (log-normal)")                                                  \
	X(0, cached, "cached", "cached", FRACTION, "FRACTION", "", "0",                                                \
	    "SLO plan: prefix cache hit rate, share of each prompt")                                                   \
	X(0, growth, "growth", "growth", FRACTION, "FRACTION", "", "0",                                                \
	    "SLO plan: load headroom above the given load")                                                            \
	X(0, spare, "spare", "spare", COUNT, "N", "", "0", "SLO plan: spare replicas (1 for N+1)")                     \
	X(0, replica_gpus, "gpus", "replica_gpus", COUNT, "N", "", "8", "SLO plan: maximum GPUs per replica")          \
	X(0, every_layout, "every-layout", "every_layout", FLAG, "", "", NULL,                                         \
	    "SLO plan: list every layout, not only the best per GPU, engine and dtype")                                \
	X(0, unconfirmed, "unconfirmed", "unconfirmed", FLAG, "", "", NULL,                                            \
	    "SLO plan: skip the simulation that confirms the best setup")                                              \
	X(0, seed, "seed", "seed", COUNT, "N", "", "1", "SLO plan: random seed of the simulations")
	CAPACITY_PLAN_OPTIONS(OPTION_MEMBER)
};

/* What the command's other options say. */
struct capacity_plan_case {
	struct word model;
	const struct words *gpus;
	struct datum rate, users, isl, osl, utilisation, headroom;
	struct price_in price;
	struct word dtype, weights_dtype, kv_dtype;
	const struct layout_in *layout;
};

/* Whether this form is asked for; an option of it alone is an error. */
bool capacity_plan_asked(const struct capacity_plan_in *in);
enum answer capacity_plan(struct run *r, const struct capacity_plan_in *in, const struct capacity_plan_case *c);

/* --- between its own files ------------------------------------------------------------------------------- */

struct plan_candidate;
struct plan_load;
struct engine;

/* One setup that is looked at. */
struct plan_setup {
	const struct gpu *gpu;
	const struct engine *engine;
	enum dtype type;
	const char *layout;
	struct rental rental;
	double n_linked; /* GPUs of a replica */
	int group;       /* GPU, engine and type */
};

void capacity_plan_show(struct run *r, const struct plan_candidate *c, const struct plan_load *l);

#endif
