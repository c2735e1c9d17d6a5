/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ridge capacity` with objectives: setups of serving engines that meet them, by cost. */
#ifndef RIDGE_ASK_CAPACITY_CAPACITY_H
#define RIDGE_ASK_CAPACITY_CAPACITY_H

#include "ask/bind/bind.h"

struct capacity_plan_in {
#define CAPACITY_PLAN_OPTIONS(X)                                                                                       \
	X(0, engine, "engine", "engine", WORDS, "NAME,...", "engine", NULL,                                            \
	    "objectives: plan with the model of these serving engines instead of floors (default: trtllm)")            \
	X(0, objectives, "slo", "objectives", WORDS, "WHAT:TIME,...", "", NULL,                                        \
	    "objectives: ttft, tpot or answer, or a percentile of it (ttft.p99:500ms,tpot:40ms,answer.p95:10s)")       \
	X(0, dtypes, "dtypes", "dtypes", WORDS, "TYPE,...", "", NULL, "objectives: types to try (default: --dtype)")   \
	X(0, think, "think", "think", TIME, "TIME", "", NULL,                                                          \
	    "objectives: pause of a user between an answer and the next request (default 30 s)")                       \
	X(0, day_tokens, "day-tokens", "day_tokens", COUNT, "N", "", NULL,                                             \
	    "objectives: tokens of answers in a day, instead of --rate")                                               \
	X(0, isl_cv, "isl-cv", "isl_cv", NUMBER, "N", "", "0",                                                         \
	    "objectives: prompts vary, log-normal with this coefficient of variation")                                 \
	X(0, osl_cv, "osl-cv", "osl_cv", NUMBER, "N", "", "0", "objectives: the same for answers")                     \
	X(0, cached, "cached", "cached", FRACTION, "FRACTION", "", "0",                                                \
	    "objectives: share of every prompt whose cache is there already")                                          \
	X(0, growth, "growth", "growth", FRACTION, "FRACTION", "", "0", "objectives: plan for so much more load")      \
	X(0, spare, "spare", "spare", COUNT, "N", "", "0", "objectives: replicas that may fail (N+1: 1)")              \
	X(0, replica_gpus, "gpus", "replica_gpus", COUNT, "N", "", "8", "objectives: GPUs of one replica, at most")    \
	X(0, every_layout, "every-layout", "every_layout", FLAG, "", "", NULL,                                         \
	    "objectives: a line for each layout, not for the best of each GPU, engine and type")                       \
	X(0, unconfirmed, "unconfirmed", "unconfirmed", FLAG, "", "", NULL, "objectives: do not simulate the best")    \
	X(0, seed, "seed", "seed", COUNT, "N", "", "1", "objectives: start of the simulations' random numbers")
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
