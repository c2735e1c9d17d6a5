/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps that take prompts in while sequences decode.  Private to flow.c and chain.c. */
#ifndef RIDGE_MODEL_SERVE_CHAIN_H
#define RIDGE_MODEL_SERVE_CHAIN_H

#include "model/serve/parts.h"
#include "model/serve/serve.h"

enum { POINTS = 3, MOST_STATES = 256, MOST_KNOTS = 14 };

/* Prompts beside n_decoding sequences, in pieces of 1 / n_pieces prompts: engines that cut prompts fill steps. */
struct chain {
	const struct serve_setup *setup;
	const struct serve_load *load;
	double n[POINTS], part[POINTS]; /* sequences that decode: three points with their mean and variance */
	double n_fit;                   /* prompts of a step, at most */
	int n_pieces;
	double most; /* pieces of a step */
	int n_knots;
	double knot[MOST_KNOTS], knot_s[MOST_KNOTS];

	double rate_per_s,
	    random_frac; /* random_frac: arrivals in proportion to time; the others come with a step's end */
	int n_states;
	double share[MOST_STATES]; /* of steps that begin with n pieces */
	double step_s[MOST_STATES], n_arriving[MOST_STATES], n_ending[MOST_STATES];

	double mean_s, prompt_frac, n_together;
	double wait_s, own_s, n_own; /* of a prompt: until its last step begins, that step, prompts in it */
	double decode_s;             /* mean step of an answer that decodes */
};

/* One (or none, n_self) and n others with this variance: by the nodes of Gauss and Hermite, or, few of them, none and
 * one more. */
void chain_points(struct chain *c, double n_self, double n, double variance);
/* Times of steps by the prompts that they take, beside the sequences of chain_points. */
void chain_knots(struct chain *c);
/* The mean of a step's time over the number that decodes, seconds. */
double chain_time(const struct chain *c, double n_prompts);
/* How long steps last and prompts wait at this rate of requests; random_frac of them come whenever they like, the
 * others when a step has ended.  False when prompts come faster than they get through. */
bool chain_solve(struct chain *c, double rate_per_s, double random_frac);

#endif
