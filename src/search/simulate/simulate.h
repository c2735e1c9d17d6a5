/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RIDGE_SEARCH_SIMULATE_SIMULATE_H
#define RIDGE_SEARCH_SIMULATE_SIMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/serve/serve.h"

/*
 * Serving, iteration by iteration: requests arrive, wait, are prefilled, decode together and leave, on one or several
 * replicas of an engine with in-flight batching and a paged cache.  What a step costs is the caller's function; the
 * scheduler, the queues and the clock are here.  The same configuration and seed give the same answer, to the last bit
 * and on any number of cores.
 */

/* What one step computes. */
struct sim_batch {
	double n_prefill;     /* prompts, or chunks of prompts */
	double prefill_token; /* their tokens together */
	double prefix_token;  /* mean of what each of them has in the cache already */
	double n_decode;      /* sequences that get their next token */
	double context_token; /* mean of what each of these holds: prompt and the tokens that were made so far */
	double n_rows;        /* sequences that need logits: those that decode and the prompts that end here */
	double n_new_token;   /* that go through all layers, and those that get logits: drafts too */
	double n_logit;
};

/* Seconds of a step: the sum of the three, and no less than `least`, where it is given.  `linear` and `head` depend on
 * one whole number each, n_new_token and n_logit, and are asked once for each value; `step` is asked every time.  Any
 * of them may be NULL.  With several replicas they are called from several threads, so they must not write to the
 * context. */
struct sim_cost {
	const void *context;
	double (*step)(const void *context, const struct sim_batch *batch);
	double (*least)(const void *context, const struct sim_batch *batch);
	double (*linear)(const void *context, double n_tokens);
	double (*head)(const void *context, double n_rows);
};

/* One replica of an engine. */
struct sim_engine {
	struct sim_cost cost;
	double front_s;               /* from a client to the scheduler and back, once for each request */
	double cold_s;                /* of a replica's first step, besides what it costs */
	size_t poll_steps;            /* steps that decode between two looks at who waits; 0: 1 */
	size_t n_blocks, block_token; /* the cache */
	size_t max_sequences;         /* that run at once */
	size_t max_step_token;        /* tokens of a step */
	bool evict;                   /* reserve the prompt alone and preempt; else reserve prompt and answer */
	bool chunked;                 /* a long prompt is prefilled over several steps */
	bool prefill_first;           /* steps with prefill do not decode */
	size_t n_parts;               /* of a batch, that go through stages one after the other; 0: 1 */
	/* speculative decoding: drafted for each sequence in a step, tokens that the step makes of it, seconds more */
	double n_drafts, n_accepted, draft_s;
};

enum sim_routing { SIM_ROUND_ROBIN, SIM_LEAST_LOADED, SIM_SHORTEST_QUEUE };

enum sim_lengths_kind { SIM_CONSTANT, SIM_LOG_NORMAL, SIM_EMPIRICAL };

/* Tokens of prompts or of answers. */
struct sim_lengths {
	enum sim_lengths_kind kind;
	double mean_token, cv;  /* constant: the mean; log-normal: mean and coefficient of variation */
	const uint32_t *values; /* empirical: each is drawn equally often */
	size_t n_values;
};

/* A request of a trace. */
struct sim_arrival {
	double arrival_s;
	uint32_t isl_token, osl_token;
	uint32_t cached_token; /* of the prompt, that need no prefill */
};

struct sim_traffic {
	const struct sim_arrival *trace; /* n_requests of them, in order of arrival; NULL: they are drawn */
	size_t n_requests;
	double rate_request_per_s; /* infinite: all of them at the start */
	double gap_cv;             /* of the gaps, which are gamma: 1 is Poisson, 0 a metronome */
	size_t n_clients; /* above 0: a closed loop; each sends its next request when the last one is answered */
	double think_s;   /* and this much later, on average */
	double think_cv;  /* coefficient of variation of the pauses, which are gamma: 1 is exponential, 0 constant */
	double ramp_s;    /* clients begin at random moments within this time; 0: all at once */
	struct sim_lengths isl, osl;
	bool paired;        /* both empirical: prompt and answer are drawn together */
	double cached_frac; /* of a drawn prompt, that needs no prefill */
	uint64_t seed;
};

/* Limits that a request must keep; NaN: none. */
struct sim_objectives {
	double ttft_s, tpot_s, e2e_s;
};

/* How long a request's cache keeps the link of a replica. */
struct sim_transfer {
	double fixed_s, s_per_token;
};

struct sim_config {
	struct sim_traffic traffic;
	struct sim_engine engine;
	size_t n_replicas;
	enum sim_routing routing;
	/* A pool that decodes what the others prefilled; 0 replicas: none.  A request's cache keeps the link of the
	 * replica that sends it and that of the one that takes it, one request after the other on each. */
	struct sim_engine decode;
	size_t n_decode_replicas;
	struct sim_transfer send, take;
	struct sim_objectives objectives;
	/* The first requests, left out of all averages; what comes after the last arrival is then left out of rates and
	 * occupancy too.  0: the whole run counts, from its empty beginning to its empty end. */
	double warmup_frac;
	bool every_step;      /* no fast-forward through steps that only decode */
	size_t timeline_rows; /* at most, per replica; 0: none */
	size_t n_threads;     /* 0: as many as there are cores */
	/* Called now and then with the share of the requests that is done; NULL: never. */
	void (*progress)(void *context, double done_frac);
	void *progress_context;
};

struct sim_spread {
	double mean, p50, p90, p95, p99, most; /* NaN when nothing was measured */
};

struct sim_request {
	double arrival_s, first_s, last_s; /* NaN: refused */
	uint32_t isl_token, osl_token, cached_token;
	uint32_t made_token; /* of the answer, when it was preempted or ended */
	uint32_t next;       /* in a queue */
	uint16_t replica, n_preempted;
};

/* One moment of one replica, as a step begins. */
struct sim_moment {
	double time_s, step_s;
	uint32_t replica, n_running, n_waiting, n_decode, prefill_token;
	double cache_frac; /* of the blocks, in use */
};

struct sim_result {
	size_t n_finished, n_refused; /* refused: larger than the cache */
	size_t n_preempted, n_steps;
	double first_arrival_s, last_arrival_s, end_s;
	size_t n_counted;                                            /* requests after the warm-up */
	double request_per_s, output_token_per_s, total_token_per_s; /* while it counts */
	/* First token minus arrival; (last - first) / (tokens - 1); last minus arrival; each gap between two tokens of
	 * a request, in a histogram with classes of 0.1 %. */
	struct sim_spread ttft, tpot, e2e, itl;
	double within_frac;           /* of the requests that count: finished and within every objective */
	double goodput_request_per_s; /* those, per second */
	double mean_running, mean_waiting, mean_cache_frac, most_cache_frac;
	size_t most_running, most_waiting;
	/* Requests in the system when half of them had arrived, and when the last one did: growth is overload. */
	double n_open_half, n_open_last;
	size_t n_moments;
	const struct sim_moment *moments; /* by replica, then by time */
	size_t n_requests;
	const struct sim_request *requests; /* in order of arrival */
	size_t state_byte;                  /* memory that the simulation took */
};

struct simulation;

/* NULL and a text in *fault when the configuration makes no sense. */
struct simulation *simulate(const struct sim_config *config, const char **fault);
/* Several configurations, side by side on all cores; what is wrong with one leaves NULL there. */
void simulate_many(
    const struct sim_config *configs, size_t n, size_t n_threads, struct simulation **out, const char **faults);
const struct sim_result *simulation_result(const struct simulation *s);
void simulation_free(struct simulation *s);

/* Of the requests that came in the second half, the share that stayed in the system: above 0 the queue grows. */
double simulation_backlog(const struct sim_result *result);

/* When requests arrive and how long they are. */

/* What is wrong with the traffic, or NULL. */
const char *traffic_fault(const struct sim_traffic *t);

/* All requests, request by request in the order gap, prompt, answer, from one stream: what is drawn does not depend on
 * how many replicas serve it or on what they do.  In a closed loop the arrival is set when the client sends. */
void traffic_draw(const struct sim_traffic *t, struct sim_request *out);

/* The simulator over the model of a serving engine's step. */

/* One replica of this setup, with the engine's own limits; the load's usual prompt and its drafts.  The setup must
 * outlive it.  With pipeline stages, a step is the traversal of the slowest of pp parts of the batch, as all parts are
 * under way at once. */
struct sim_engine simulate_setup(const struct serve_setup *s, const struct serve_load *load);
/* Each GPU moves its own share of a request's cache over its own link. */
struct sim_transfer simulate_transfer(const struct serve_setup *s, double link_byte_per_s, double link_latency_s);

/* Simulations begin with an empty replica: this share of the requests is left out of what they say. */
#define SIMULATE_WARMUP 0.2
/* Requests beyond a percentile that its estimate rests on. */
enum { SIMULATE_BEYOND = 100 };
/* Requests to simulate, warm-up included: SIMULATE_BEYOND of them beyond a percentile (0.99; NaN: none is asked for),
 * 20 for each of n_at_once that are under way together, SIMULATE_MOST at most. */
enum { SIMULATE_LEAST = 2000, SIMULATE_MOST = 200000 };
double simulate_enough(double share, double n_at_once, double warmup_frac);

#endif
