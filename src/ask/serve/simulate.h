/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ridge serve --simulate`: from options and a bound setup to a simulation and its answer. */
#ifndef RIDGE_SERVE_SIMULATE_H
#define RIDGE_SERVE_SIMULATE_H

#include "ask/bind/bind.h"
#include "cli/command.h"
#include "ridge/serve_load.h"
#include "ridge/simulate.h"

struct simulate_in {
#define SIMULATE_OPTIONS(X)                                                                                            \
	X(0, simulate, "simulate", "simulate", FLAG, "", "", NULL,                                                     \
	    "simulate requests step by step: percentiles, queues, preemption")                                         \
	X(0, seed, "seed", "seed", COUNT, "N", "", "1", "simulation: start of the random numbers")                     \
	X(0, gap_cv, "gap-cv", "gap_cv", NUMBER, "N", "", "1",                                                         \
	    "simulation: coefficient of variation of the gaps between arrivals: 1 is Poisson, more comes in bursts")   \
	X(0, isl_cv, "isl-cv", "isl_cv", NUMBER, "N", "", "0",                                                         \
	    "simulation: prompts vary, log-normal with this coefficient of variation")                                 \
	X(0, osl_cv, "osl-cv", "osl_cv", NUMBER, "N", "", "0", "simulation: the same for answers")                     \
	X(0, lengths, "lengths", "lengths", WORD, "FILE", "file", NULL,                                                \
	    "simulation: draw pairs of prompt and answer from a trace, instead of --isl and --osl")                    \
	X(0, trace, "trace", "trace", WORD, "FILE", "file", NULL,                                                      \
	    "simulation: replay a trace (CSV or JSON Lines of arrival, input, output), instead of --rate")             \
	X(0, trace_speed, "trace-speed", "trace_speed", NUMBER, "N", "", "1",                                          \
	    "simulation: replay the trace so many times faster")                                                       \
	X(0, prefix_block, "prefix-block", "prefix_block", COUNT, "N", "", NULL,                                       \
	    "simulation: prompts find hashed blocks of N tokens of the trace in the cache")                            \
	X(0, think, "think", "think", TIME, "TIME", "", "0s",                                                          \
	    "pause of a client between answer and next request, on average, with --concurrency")                       \
	X(0, think_cv, "think-cv", "think_cv", NUMBER, "N", "", "1",                                                   \
	    "simulation: coefficient of variation of the pauses: 1 is exponential, 0 constant")                        \
	X(0, replicas, "replicas", "replicas", COUNT, "N", "", "1", "simulation: replicas that share the load")        \
	X(0, routing, "routing", "routing", CHOICE, "HOW", "round-robin|least-loaded|shortest-queue", "round-robin",   \
	    "simulation: the replica of a request: the next one, the one with the fewest tokens, or the fewest "       \
	    "requests")                                                                                                \
	X(0, decode_replicas, "decode-replicas", "decode_replicas", COUNT, "N", "", "0",                               \
	    "simulation: replicas of a second pool that decodes what the others prefill")                              \
	X(0, admission, "admission", "admission", CHOICE, "HOW", "reserve|evict", NULL,                                \
	    "simulation: room for the whole answer, or preemption when the cache is full (default: the engine's)")     \
	X(0, prefill, "prefill", "prefill", CHOICE, "HOW", "whole|chunked|first", NULL,                                \
	    "simulation: prompts in one step, cut, or before everything else (default: the engine's)")                 \
	X(0, max_sequences, "max-sequences", "max_sequences", COUNT, "N", "", NULL,                                    \
	    "simulation: sequences that run at once (default: the engine's)")                                          \
	X(0, max_step_tokens, "max-step-tokens", "max_step_tokens", COUNT, "N", "", NULL,                              \
	    "simulation: tokens of a step (default: the engine's)")                                                    \
	X(0, warmup, "warmup", "warmup", FRACTION, "FRACTION", "", NULL,                                               \
	    "simulation: first requests that are left out (default: 20 %; a trace: none)")                             \
	X(0, rates, "rates", "rates", WORDS, "N,...", "", NULL, "simulation: a line for each of these rates")          \
	X(0, timeline, "timeline", "timeline", WORD, "FILE", "file", NULL,                                             \
	    "simulation: write queue, batch and cache over time as CSV")                                               \
	X(0, timeline_rows, "timeline-rows", "timeline_rows", COUNT, "N", "", "1000",                                  \
	    "simulation: lines of the timeline, at most, for each replica")                                            \
	X(0, dump, "dump", "dump", WORD, "FILE", "file", NULL, "simulation: write every request as CSV")
	SIMULATE_OPTIONS(OPTION_MEMBER)
};

/* What the rest of the command has bound. */
struct simulate_case {
	const struct serve_setup *setup;  /* of a replica */
	const struct serve_setup *decode; /* of a replica of the decode pool; NULL: the same */
	const struct load *load;          /* what is known of the requests, and who sends them */
	struct datum isl, osl;            /* absent with a trace or lengths */
	struct datum rate_request_per_s, n_concurrent, n_requests;
	struct sim_objectives objectives; /* NaN: none */
	double transfer_s, transfer_s_per_token;
};

/* Whether an option of the simulation was given without --simulate: an error. */
bool simulate_check(struct run *r, const struct simulate_in *in);
enum answer serve_simulate(struct run *r, const struct simulate_in *in, const struct simulate_case *asked);

/* --- between its own files ------------------------------------------------------------------------------- */

struct simulate_progress {
	double began_s;
	bool on, shown;
};

void simulate_progress(void *context, double done_frac);
void simulate_progress_end(struct simulate_progress *p);
struct simulate_progress simulate_progress_begin(void);
bool simulate_write_timeline(struct run *r, struct word file, const struct sim_result *result);
bool simulate_write_requests(struct run *r, struct word file, const struct sim_result *result);
bool simulate_has_objectives(const struct sim_objectives *o);
void simulate_show(struct run *r, const struct sim_config *c, const struct sim_result *result);
void simulate_show_rate(struct run *r, const struct sim_config *c, const struct sim_result *result, bool full);

#endif
