/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the files of the serving model. */
#ifndef RIDGE_MODEL_SERVE_PARTS_H
#define RIDGE_MODEL_SERVE_PARTS_H

#include "model/serve/serve.h"

/* GPUs that share a layer's attention, and those that each attend for their own sequences. */
static inline double
serve_shards(const struct serve_setup *s)
{
	return s->layout.attention_dp ? 1 : s->layout.tp;
}

static inline double
serve_groups(const struct serve_setup *s)
{
	return s->layout.attention_dp ? s->layout.tp : 1;
}

/* Products in 16 bits, whatever the rest runs in. */
static inline struct serve_format
serve_wide(const struct serve_setup *s)
{
	return (struct serve_format){
	    .type = DTYPE_BF16, .a_byte = 2, .w_byte = 2, .limit_flop_per_s = s->precision.wide_limit_flop_per_s};
}

/* One product in a given format: weights are never in the cache. */
double serve_product(
    struct sheet *sh, const struct serve_setup *s, const struct serve_format *f, double m, double n, double k);

/* Factor on the fixed parts of kernels in this engine, on this architecture. */
double serve_base_factor(const struct serve_setup *s);

/* Share of the ranks that a token is sent to: those of its experts, where these are spread over more ranks than a node
 * has (DeepEP, TensorRT-LLM's wide expert parallelism); all of them up to there. */
double serve_reached_ranks(struct sheet *sh, const struct serve_setup *s, const struct block *b);

/* The recurrence of a layer over n_each new tokens of each sequence, one token where it decodes; 0 where nothing mixes
 * tokens. */
double serve_layer_scan(
    struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_sequences, double n_each);
/* The kernels around it that go over every new token: short convolution, norm and gate of the output. */
double serve_recurrent_small(struct sheet *sh, const struct serve_setup *s, const struct block *b, double m);

/* The two halves of serve_layer_products. */
double serve_attention_products(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_new);
double serve_feed_products(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_new);

/* --- steps that take prompts in while sequences decode: flow.c and chain.c --------------------------------- */

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
	double none[MOST_STATES]; /* probability that nothing arrives */

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
