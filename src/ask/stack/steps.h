/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps of an optimisation stack: what each applies to, and the factor that the whole run gains. */
#ifndef RIDGE_STEPS_H
#define RIDGE_STEPS_H

#include "cli/command.h"

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

#endif
