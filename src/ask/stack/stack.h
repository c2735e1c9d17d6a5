/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inputs of `ridge stack`, shared by its parts. */
#ifndef RIDGE_ASK_STACK_STACK_H
#define RIDGE_ASK_STACK_STACK_H

#include "cli/cli.h"

#define STACK_OPTIONS(X)                                                                                               \
	X('s', steps, "steps", "steps", WORDS, "NAME=FACTOR,...", "", NULL,                                            \
	    "optimizations with their speedup: amp=1.7, flash=1.63@0.20 (on a fraction of the time), data=1.1..1.3, "  \
	    "'ddp:45ms->39ms/119ms', 'idle:0.15->0.02', 'bubble:0.35->0.12', 'apt=rate:1200->1800'")                   \
	X('b', base, "base", "base", TIME, "TIME", "", NULL,                                                           \
	    "time of the run or of one step before the optimizations")                                                 \
	X(0, after, "after", "after", TIME, "TIME", "", NULL,                                                          \
	    "time of the run after them, measured or claimed; without --base, gives the time before")                  \
	X(0, iteration, "iteration", "iteration", TIME, "TIME", "", NULL,                                              \
	    "time of one iteration before the optimizations, for parts written as /NOW (default: --base)")             \
	X(0, cost, "cost", "cost", MONEY, "USD", "", NULL, "cost of the run before the optimizations")                 \
	X(0, price, "price", "price", PER_HOUR, "USD/h", "", NULL, "price of one GPU, with --gpus, instead of --cost") \
	X(0, effort, "effort", "effort", WORDS, "NAME=TIME,...", "", NULL,                                             \
	    "engineering time per optimization; ranks them by saving per effort")                                      \
	X(0, deadline, "deadline", "deadline", TIME, "TIME", "", NULL, "target time; exit status 1 when missed")       \
	X(0, target, "target", "target", NUMBER, "FACTOR", "", NULL, "target speedup; exit status 1 when missed")      \
	X(0, have, "have", "have", NUMBER, "FACTOR", "", NULL, "speedup reached so far, without --steps")              \
	X(0, fraction, "fraction", "fraction", FRACTION, "FRACTION", "", NULL,                                         \
	    "Amdahl's law: share of the time sped up by --local; two of --fraction, --local, --total give the third")  \
	X(0, local, "local", "local", NUMBER, "FACTOR", "", NULL, "Amdahl's law: speedup of that share")               \
	X(0, total, "total", "total", NUMBER, "FACTOR", "", NULL, "Amdahl's law: total speedup")                       \
	X(0, breakdown, "breakdown", "breakdown", WORDS, "NAME=TIME,...", "", NULL,                                    \
	    "parts of a run: forward=450ms, eval=35% of --base, layer=4ms*32, or 'prep=2.8h->0.2h'")                   \
	X(0, check, "check", "check", WORD, "FILE", "file", NULL,                                                      \
	    "check a table, CSV or YAML, of step, factor, cumulative, time, cost; exit status 1 when it is wrong")     \
	X(0, table, NULL, "table", NODE, "TABLE", "", NULL, "table to check, inside a job file")                       \
	X(0, tolerance, "tolerance", "tolerance", FRACTION, "FRACTION", "", "0.02",                                    \
	    "relative deviation that --check accepts as rounding")                                                     \
	X(0, params, "params", "params", COUNT, "N", "", NULL,                                                         \
	    "parameter count, to check the claim against the hardware's peak")                                         \
	X('m', model, "model", "model", WORD, "MODEL", "model", NULL, "model, instead of --params")                    \
	X(0, tokens, "tokens", "tokens", COUNT, "N", "", NULL, "training tokens of the run")                           \
	X(0, gpus, "gpus", "gpus", COUNT, "N", "", NULL, "GPUs")                                                       \
	X('g', gpu, "gpu", "gpu", WORD, "NAME", "gpu", NULL, "GPU, for its peak")                                      \
	X(0, dtype, "dtype", "dtype", CHOICE, "TYPE", DTYPE_CHOICE(P), "bf16", "GEMM dtype, for the peak")

struct stack_in {
	STACK_OPTIONS(OPTION_MEMBER)
};

/* A run, its steps, and whether it can be so fast. */
enum answer stack_run(struct run *r, const struct stack_in *in);
/* Is this speedup what was asked for, but for rounding? */
bool stack_reaches(double speedup, double needed);
/* A document's table, line by line. */
enum answer stack_check(struct run *r, const struct stack_in *in);

/* Steps of an optimization stack: what each applies to, and the factor that the whole run gains. */

enum step_scope {
	STEP_WHOLE,      /* amp=1.7: the whole run */
	STEP_SHARE,      /* flash=1.63@0.20: a fraction of the time */
	STEP_TIMES,      /* compile:450ms->250ms: a whole time */
	STEP_PART,       /* ddp:45ms->39ms/119ms: part of a time; /now: of the iteration as it is then */
	STEP_PART_SHARE, /* optimizer:8%->2%/1: a share of the old time */
	STEP_IDLE,       /* idle:0.15->0.02, bubble:0.35->0.12: time in which nothing is done */
	STEP_RATE,       /* apt=rate:1200->1800: more is faster */
	STEP_AMOUNT,     /* tokens:256->150: less is faster */
};

struct step {
	const char *name, *applies; /* `20 % of the time`, for people */
	struct source from;
	enum step_scope scope;
	bool ranged, now;
	double factor[2], share[2]; /* lowest and highest */
	double before, after, whole;
	double effort_s; /* NaN: not said */
};

/* One step as typed. */
bool step_read(struct run *r, struct word w, struct step *out);
/* A list of them; NULL with errors. */
struct step *steps_read(struct run *r, const struct words *list);
/* `name=2d,...`: work on each step. */
bool steps_effort(struct run *r, const struct words *list, struct step *steps, size_t n);

/* The factor for the whole run: its low (0) or high (1) end; iteration_s is what an iteration takes at that point. */
double step_factor(struct sheet *sh, const struct step *s, int end, double iteration_s);

/* A run and the steps that make it faster: what the files of this question share. */

/* What goes along the steps: the low and the high end of the ranges. */
struct gain_stack {
	const struct stack_in *in;
	struct step *steps;
	size_t n;
	bool ranged;                                /* some step is known within a range only */
	double base_s, base_usd;                    /* NaN: not given */
	double iteration_s;                         /* before any step */
	double speedup[2];                          /* so far */
	double so_far[2], factor[2];                /* before the last step, and its factor */
	double n_params, n_tokens, peak_flop_per_s; /* n_params NaN: no question of feasibility */
	const char *infeasible_when;                /* the step that passes the peak */
	double over_frac;                           /* utilization there */
	size_t *rank;                               /* place of each step in the order that pays */
};

/* Note the first point at which more than the hardware's peak would be needed. */
void stack_note_peak(struct gain_stack *s, double mfu_frac, const char *when);

/* The table of the steps, and all of them together.  False with errors. */
bool stack_show_steps(struct run *r, struct gain_stack *s);

#endif
