/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a serving engine does with a load, in closed form: how many sequences its cache holds, how fast they go when all
 * are there from the start, and how long requests wait when they arrive at random.  Lengths are all alike here; their
 * spread, preemption and percentiles need a simulation.
 */
#ifndef RIDGE_SERVE_LOAD_H
#define RIDGE_SERVE_LOAD_H

#include "ridge/serve.h"

struct serve_load {
	double isl, osl;           /* tokens of a prompt and of an answer */
	double cached_frac;        /* of each prompt: its keys and values are there already */
	struct datum n_requests;   /* of a finite run; absent: requests never end */
	struct datum n_concurrent; /* at most this many at once */
};

/* --- room ------------------------------------------------------------------------------------------------ */

/* Weights on one GPU; keys and values of one token on it; and tokens that the replica's caches hold. */
double serve_weights(struct sheet *sh, const struct serve_setup *s);
double serve_kv_byte(struct sheet *sh, const struct serve_setup *s);
double serve_pool(struct sheet *sh, const struct serve_setup *s);
/* Sequences of this load that run at once; below 1: not even one fits. */
double serve_running(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load);

/* Bytes that one GPU lacks to hold the weights, the engine's reserve and one request. */
double serve_missing(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load);
/* A part of a step, as a share of it. */
double serve_share(struct sheet *sh, double term_s, double step_s);

/* --- everything is there from the start ------------------------------------------------------------------ */

/* Average seconds between two tokens of a sequence while n_running run and as many start as end. */
double serve_steady(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_running);
/* Seconds of a finite run of equal requests: they move in waves. */
double serve_waves(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_running);
double serve_token_rate(struct sheet *sh, double n_running, double step_s);
double serve_request_rate(struct sheet *sh, double n_running, double step_s, double osl);
double serve_run_rate(struct sheet *sh, double n_requests, double osl, double run_s);
/* A static batch: all prompts in one step, then all tokens together; seconds to the first tokens, and per token. */
double serve_first(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_batch);
double serve_decode(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_batch);
double serve_static(struct sheet *sh, double first_s, double decode_s, double osl);
/* A batch through an encoder: with pipeline stages in so many parts, where the batch is large enough; and its seconds.
 */
double serve_encode_parts(struct sheet *sh, const struct serve_setup *s, double n_batch);
double serve_encode(struct sheet *sh, const struct serve_setup *s, double isl, double n_batch);

/* A closed loop of n_clients, each with its next request as soon as the last is answered: seconds to the first token in
 * a step that it shares, behind the clients that wait for a place. */
double serve_closed_first(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load,
    double n_clients, double n_running, double step_s);

/* --- arrivals at random ---------------------------------------------------------------------------------- */

/* Sequences that run on average when requests arrive at this rate; NaN when they would be more than fit: saturated.
 * A search, nothing is recorded. */
double serve_online_running(const struct serve_setup *s, const struct serve_load *load, double rate_request_per_s);
/* Seconds to the first token: what is left of the step that runs, and a step shared with whoever else arrived. */
double serve_online_first(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load,
    double rate_request_per_s, double n_running);
double serve_answer_time(struct sheet *sh, double first_s, double step_s, double osl);

/* --- beyond ---------------------------------------------------------------------------------------------- */

/* A step that verifies n_drafts drafted tokens of each sequence: more tokens, the same caches. */
double serve_verify(struct sheet *sh, const struct serve_setup *s, double n_running, double context, double n_drafts);
/* Tokens per second with drafts over those without. */
double serve_draft_gain(
    struct sheet *sh, double n_accepted, double n_drafts, double draft_s, double verify_s, double step_s);
/* Disaggregated pools: prompts per second of a prefill replica, moving one prompt's cache over a link, and prefill
 * replicas per decode replica so that neither waits. */
double serve_prefill_rate(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load);
double serve_transfer(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load,
    double link_byte_per_s, double link_latency_s);
double serve_pool_ratio(struct sheet *sh, double prefill_request_per_s, double decode_request_per_s);

#endif
