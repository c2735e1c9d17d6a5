/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a serving engine does with a load, in closed form: how many sequences its cache holds, how fast they go when all
 * are there from the start, and how long requests wait when they arrive at random.  Lengths are all alike here; their
 * spread, preemption and percentiles need a simulation.
 */
#ifndef RIDGE_SERVE_LOAD_H
#define RIDGE_SERVE_LOAD_H

#include "ridge/memory.h"
#include "ridge/serve.h"

struct serve_load {
	double isl, osl;           /* tokens of a prompt and of an answer */
	double cached_frac;        /* of each prompt: its keys and values are there already */
	struct datum n_requests;   /* of a finite run; absent: requests never end */
	struct datum n_concurrent; /* at most this many at once */
	/* speculative decoding: drafted for each sequence in a step, accepted of them, seconds of one; 0: none */
	double n_drafts, n_accepted, draft_s;
	double isl_cv, osl_cv; /* coefficients of variation of the lengths; 0: all alike */
};

/* --- room ------------------------------------------------------------------------------------------------ */

/* The replica as the memory model knows it, with one sequence of the load. */
struct memory_job serve_memory(const struct serve_setup *s, const struct serve_load *load);
/* Weights on one GPU; keys and values of one token on it; and tokens that the replica's caches hold. */
double serve_weights(struct sheet *sh, const struct serve_setup *s);
double serve_kv_byte(struct sheet *sh, const struct serve_setup *s);
double serve_pool(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load);
/* Sequences of this load that run at once; below 1: not even one fits. */
double serve_running(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load);

/* Bytes that one GPU lacks to hold the weights, the engine's reserve and one request. */
double serve_missing(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load);
/* A part of a step, as a share of it. */
double serve_share(struct sheet *sh, double term_s, double step_s);

/* --- steps ----------------------------------------------------------------------------------------------- */

/* A step of the whole replica with n_prompts prompts and n_running sequences that decode; with drafts, those too. */
double serve_mixed_step(
    struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_prompts, double n_running);
/* Tokens of a step, at most. */
double serve_token_limit(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load);
/* Steps of an answer after the one that ends its prompt; a token's time, from a step's. */
double serve_decode_steps(struct sheet *sh, const struct serve_load *load);
double serve_token_time(struct sheet *sh, const struct serve_load *load, double step_s);

/* --- everything is there from the start ------------------------------------------------------------------ */

/* Prompts that begin with each step while n_running sequences have a place and as many start as end; fewer where steps
 * do not take that many. */
double serve_starting(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_running);
/* The mean step then; requests and tokens per second. */
double serve_steady(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_starting);
double serve_request_rate(struct sheet *sh, double n_starting, double step_s);
double serve_token_rate(struct sheet *sh, double rate_request_per_s, double osl_token);
/* Seconds of a finite run of equal requests: they move in waves. */
double serve_waves(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_running);
double serve_run_rate(struct sheet *sh, double n_requests, double osl, double run_s);
/* A static batch: all prompts in one step, then all tokens together; seconds to the first tokens, and per token. */
double serve_first(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_batch);
double serve_decode(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_batch);
double serve_static(struct sheet *sh, double first_s, double decode_s, double osl);
/* A batch through an encoder: with pipeline stages in so many parts, where the batch is large enough; and its seconds.
 */
double serve_encode_parts(struct sheet *sh, const struct serve_setup *s, double n_batch);
double serve_encode(struct sheet *sh, const struct serve_setup *s, double isl, double n_batch);

/* --- requests that come and go --------------------------------------------------------------------------- */

/* What a request meets, on average. */
struct serve_flow {
	double rate_request_per_s, n_places; /* places: sequences that cache and engine allow at once */
	double n_running;                    /* places that are taken */
	double n_decoding;                   /* sequences that decode in a step, as one of them meets it */
	double n_few, n_many;                /* ... for so much of the time, as their number varies */
	double few_frac, many_frac;
	double prompt_frac, n_together; /* of its steps, those with prompts; prompts in one of them */
	double idle_frac;               /* requests that find nobody */
	double n_beside, n_own;         /* the others: sequences that decode and prompts in their own last step */
	double wait_s, place_s;         /* until that step begins; for a place before that */
};

/* Requests that arrive at random at this rate, or of n_clients clients that think for an exponential time between an
 * answer and the next request.  A search, nothing is recorded.  False: more come than leave; no request fits. */
bool serve_flow_open(
    const struct serve_setup *s, const struct serve_load *load, double rate_request_per_s, struct serve_flow *out);
bool serve_flow_closed(const struct serve_setup *s, const struct serve_load *load, double n_clients, double think_s,
    struct serve_flow *out);
/* Seconds to the first token, and of each of the others. */
double serve_flow_first(
    struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, const struct serve_flow *f);
double serve_flow_step(
    struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, const struct serve_flow *f);
double serve_answer_time(struct sheet *sh, double first_s, double step_s, double osl);

/* --- beyond ---------------------------------------------------------------------------------------------- */

/* Tokens per second with drafts over those without. */
double serve_draft_gain(struct sheet *sh, double plain_s, double token_s);
/* Disaggregated pools: prompts per second of a prefill replica, moving one prompt's cache over a link, and prefill
 * replicas per decode replica so that neither waits. */
double serve_prefill_rate(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load);
double serve_decode_rate(struct sheet *sh, const struct serve_load *load, double n_running, double step_s);
double serve_transfer(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load,
    double link_byte_per_s, double link_latency_s);
double serve_pool_ratio(struct sheet *sh, double prefill_request_per_s, double decode_request_per_s);

#endif
