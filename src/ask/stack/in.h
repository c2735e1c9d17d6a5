/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inputs of `ridge stack`, and the questions that have files of their own. */
#ifndef RIDGE_STACK_IN_H
#define RIDGE_STACK_IN_H

#include "cli/command.h"

#define STACK_TYPES "fp32|tf32|fp16|bf16|fp8|int8|fp4"
#define STACK_OPTIONS(X)                                                                                               \
	X('s', steps, "steps", "steps", WORDS, "NAME=FACTOR,...", "", NULL,                                            \
	    "what was or could be done: amp=1.7, flash=1.63@0.20 (of a fraction of the time), data=1.1..1.3, "         \
	    "'ddp:45ms->39ms/119ms', 'idle:0.15->0.02', 'bubble:0.35->0.12', 'apt=rate:1200->1800'")                   \
	X('b', base, "base", "base", TIME, "TIME", "", NULL, "of the run, or of one step, before any of them")         \
	X(0, after, "after", "after", TIME, "TIME", "", NULL,                                                          \
	    "of the run afterwards, as measured or claimed; without --base: what the run took before")                 \
	X(0, iteration, "iteration", "iteration", TIME, "TIME", "", NULL,                                              \
	    "of one iteration before any step, for parts written as /now (default: --base)")                           \
	X(0, cost, "cost", "cost", MONEY, "USD", "", NULL, "money for the run before any step")                        \
	X(0, price, "price", "price", PER_HOUR, "USD/h", "", NULL, "of one GPU, with --gpus: instead of --cost")       \
	X(0, effort, "effort", "effort", WORDS, "NAME=TIME,...", "", NULL,                                             \
	    "work on each step: what pays first is ranked by what is saved for it")                                    \
	X(0, deadline, "deadline", "deadline", TIME, "TIME", "", NULL,                                                 \
	    "time to reach; exit status 1 when it is missed")                                                          \
	X(0, target, "target", "target", NUMBER, "FACTOR", "", NULL, "speedup to reach; exit status 1 when missed")    \
	X(0, have, "have", "have", NUMBER, "FACTOR", "", NULL, "speedup so far, without --steps")                      \
	X(0, fraction, "fraction", "fraction", FRACTION, "FRACTION", "", NULL,                                         \
	    "Amdahl's law: part of the time that runs --local times faster; two of the three give the third")          \
	X(0, local, "local", "local", NUMBER, "FACTOR", "", NULL, "speedup of that part")                              \
	X(0, total, "total", "total", NUMBER, "FACTOR", "", NULL, "speedup of the whole")                              \
	X(0, breakdown, "breakdown", "breakdown", WORDS, "NAME=TIME,...", "", NULL,                                    \
	    "parts of a run: forward=450ms, eval=35% of --base, layer=4ms*32, or 'prep=2.8h->0.2h'")                   \
	X(0, check, "check", "check", WORD, "FILE", "file", NULL,                                                      \
	    "table of a document, CSV or YAML: step, factor, cumulative, time, cost; exit status 1 when it is wrong")  \
	X(0, table, NULL, "table", NODE, "TABLE", "", NULL, "the same inside a job file")                              \
	X(0, tolerance, "tolerance", "tolerance", FRACTION, "FRACTION", "", "0.02",                                    \
	    "how far --check lets a printed figure be off and calls it rounded")                                       \
	X(0, params, "params", "params", COUNT, "N", "", NULL,                                                         \
	    "parameters of the model: can the hardware be so fast?")                                                   \
	X('m', model, "model", "model", WORD, "MODEL", "model", NULL, "the same by the model's name")                  \
	X(0, tokens, "tokens", "tokens", COUNT, "N", "", NULL, "tokens of the run")                                    \
	X(0, gpus, "gpus", "gpus", COUNT, "N", "", NULL, "GPUs")                                                       \
	X('g', gpu, "gpu", "gpu", WORD, "NAME", "gpu", NULL, "which GPU")                                              \
	X(0, dtype, "dtype", "dtype", CHOICE, "TYPE", STACK_TYPES, "bf16", "type of the products, for the peak")

struct stack_in {
	STACK_OPTIONS(OPTION_MEMBER)
};

/* A run, its steps, and whether it can be so fast. */
enum answer stack_run(struct run *r, const struct stack_in *in);
/* Is this speedup what was asked for, but for rounding? */
bool stack_reaches(double speedup, double needed);
/* A document's table, line by line. */
enum answer stack_check(struct run *r, const struct stack_in *in);
/* Parts of a run, their shares, and what they become. */
enum answer stack_parts(struct run *r, const struct stack_in *in);

#endif
