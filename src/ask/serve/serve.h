/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inputs of `ridge serve`, and its parts. */
#ifndef RIDGE_ASK_SERVE_SERVE_H
#define RIDGE_ASK_SERVE_SERVE_H

#include "ask/bind/bind.h"
#include "ask/launch/launch.h"
#include "cli/cli.h"
#include "model/serve/serve.h"
#include "search/plan/plan.h"
#include "search/simulate/simulate.h"

/* How long a tail is: P99 over P50, and whether enough was measured to know it. */

struct tail_in {
#define TAIL_OPTIONS(X)                                                                                                \
	X(0, p50, "p50", "p50", TIME, "TIME", "", NULL, "measured P50 latency")                                        \
	X(0, p99, "p99", "p99", TIME, "TIME", "", NULL, "measured P99 latency")                                        \
	X(0, tail_limit, "tail-limit", "tail_limit", NUMBER, "RATIO", "", NULL,                                        \
	    "maximum P99/P50 ratio, such as 1.2 for driving, 2 for interactive use; exit status 1 above it")           \
	X(0, runs, "runs", "runs", COUNT, "N", "", NULL, "number of measurements behind the percentile")
	TAIL_OPTIONS(OPTION_MEMBER)
};

/* Whether a percentile or what it is held against was asked for. */
bool tail_given(const struct tail_in *in);
/* Rows of the measured tail, in this scope. */
enum answer tail_show(struct run *r, const struct tail_in *in);
/* The verdict on a ratio. */
enum answer tail_verdict(struct run *r, const struct tail_in *in, double tail_ratio);

/* `ridge serve --simulate`: from options and a bound setup to a simulation and its answer. */

struct simulate_in {
#define SIMULATE_OPTIONS(X)                                                                                            \
	X(0, simulate, "simulate", "simulate", FLAG, "", "", NULL,                                                     \
	    "simulate requests step by step: percentiles, queues, preemption")                                         \
	X(0, seed, "seed", "seed", COUNT, "N", "", "1", "simulation: random seed")                                     \
	X(0, gap_cv, "gap-cv", "gap_cv", NUMBER, "N", "", "1",                                                         \
	    "simulation: coefficient of variation of interarrival times; 1 is Poisson, above 1 bursty")                \
	X(0, isl_cv, "isl-cv", "isl_cv", NUMBER, "N", "", "0",                                                         \
	    "simulation: coefficient of variation of ISL (log-normal)")                                                \
	X(0, osl_cv, "osl-cv", "osl_cv", NUMBER, "N", "", "0",                                                         \
	    "simulation: coefficient of variation of OSL (log-normal)")                                                \
	X(0, lengths, "lengths", "lengths", WORD, "FILE", "file", NULL,                                                \
	    "simulation: draw ISL and OSL pairs from a trace, instead of --isl and --osl")                             \
	X(0, trace, "trace", "trace", WORD, "FILE", "file", NULL,                                                      \
	    "simulation: replay a trace (CSV or JSON Lines of arrival, input, output), instead of --rate")             \
	X(0, trace_speed, "trace-speed", "trace_speed", NUMBER, "N", "", "1",                                          \
	    "simulation: replay speed of the trace, 2 is twice as fast")                                               \
	X(0, prefix_block, "prefix-block", "prefix_block", COUNT, "N", "", NULL,                                       \
	    "simulation: prefix cache block size in tokens, for traces with block hashes")                             \
	X(0, think, "think", "think", TIME, "TIME", "", "0s",                                                          \
	    "mean think time of a client between answer and next request, with --concurrency")                         \
	X(0, think_cv, "think-cv", "think_cv", NUMBER, "N", "", "1",                                                   \
	    "simulation: coefficient of variation of think time; 1 is exponential, 0 constant")                        \
	X(0, replicas, "replicas", "replicas", COUNT, "N", "", "1", "simulation: replicas behind the load balancer")   \
	X(0, routing, "routing", "routing", CHOICE, "HOW", "round-robin|least-loaded|shortest-queue", "round-robin",   \
	    "simulation: load balancing: next replica, fewest tokens, or fewest requests")                             \
	X(0, decode_replicas, "decode-replicas", "decode_replicas", COUNT, "N", "", "0",                               \
	    "simulation: decode replicas of a disaggregated setup")                                                    \
	X(0, admission, "admission", "admission", CHOICE, "HOW", "reserve|evict", NULL,                                \
	    "simulation: reserve KV cache for the whole answer, or preempt when the cache is full (default: the "      \
	    "engine's)")                                                                                               \
	X(0, prefill, "prefill", "prefill", CHOICE, "HOW", "whole|chunked|first", NULL,                                \
	    "simulation: prefill scheduling: whole prompts, chunked, or prefill first (default: the engine's)")        \
	X(0, max_sequences, "max-sequences", "max_sequences", COUNT, "N", "", NULL,                                    \
	    "simulation: maximum running sequences (default: the engine's)")                                           \
	X(0, max_step_tokens, "max-step-tokens", "max_step_tokens", COUNT, "N", "", NULL,                              \
	    "simulation: maximum tokens per step (default: the engine's)")                                             \
	X(0, warmup, "warmup", "warmup", FRACTION, "FRACTION", "", NULL,                                               \
	    "simulation: warm-up requests left out of the statistics (default: 20 %; a trace: none; 0: a benchmark)")  \
	X(0, rates, "rates", "rates", WORDS, "N,...", "", NULL, "simulation: request rates to sweep, one line each")   \
	X(0, timeline, "timeline", "timeline", WORD, "FILE", "output", NULL,                                           \
	    "simulation: write queue, batch and KV cache over time as CSV")                                            \
	X(0, timeline_rows, "timeline-rows", "timeline_rows", COUNT, "N", "", "1000",                                  \
	    "simulation: maximum timeline rows per replica")                                                           \
	X(0, dump, "dump", "dump", WORD, "FILE", "output", NULL, "simulation: write every request as CSV")
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
	const struct words *slo;
	struct sim_transfer send, take; /* of a cache between two pools */
};

/* Whether an option of the simulation was given without --simulate: an error. */
bool simulate_check(struct run *r, const struct simulate_in *in);
/* What the simulator is given.  False with errors. */
bool simulate_bind(
    struct run *r, const struct simulate_in *in, const struct simulate_case *asked, struct sim_config *out);
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
void simulate_show(struct run *r, const struct sim_config *c, const struct sim_result *result);
void simulate_show_rate(struct run *r, const struct sim_config *c, const struct sim_result *result, bool full);

/* How far answers of the serving model lie from published runs: support.c. */

/* Published runs are alike in these. */
struct serve_cell {
	const char *engine, *architecture, *format, *family;
};

enum serve_quantity { SERVE_THROUGHPUT, SERVE_TPOT, SERVE_TTFT, SERVE_LATENCY, N_SERVE_QUANTITIES };

struct serve_error {
	struct error_terms terms;
	const char *why;
};

struct serve_errors {
	struct serve_error of[N_SERVE_QUANTITIES];
};

struct serve_cell serve_cell_of(const struct serve_question *q);
/* Of a regime of `ridge validate`: throughput, ttft, prompt, latency, tpot, itl, decode. */
enum serve_quantity serve_quantity_of(const char *regime);
/* What answers' intervals rest on: the published runs of this combination, or those of combinations left out of the
 * fit and whose kernels they are (`fitted`, or NULL). */
struct serve_errors serve_errors_of(struct run *r, const struct serve_question *q, const struct calibration *fitted);
/* Of an answer whose first token takes this share of it. */
struct serve_error serve_error_of_answer(const struct serve_errors *s, double first_frac);
/* How far published runs of the combination were off, by quantity; warns where there are none. */
const char *serve_support(struct run *r, const struct serve_question *q);

/* What an engine's file calls residuals of such runs: offline, online, static, batch1, ttft, prompt, encoder. */
const char *serve_error_kind(const struct serve_question *q);

/* Options of `ridge serve` and its entry points. */

#define SERVE_OPTIONS(X)                                                                                               \
	X('m', model, "model", "model", WORD, "MODEL", "model", NULL, "model: name in the database, or file")          \
	X(0, params, "params", "params", COUNT, "N", "", NULL, "parameter count, when no model is given")              \
	X(0, bits, "bits", "bits", NUMBER, "N", "", NULL,                                                              \
	    "bits per weight with scales: for --params, or packed formats such as Q4_K_M (4.85)")                      \
	X('g', gpu, "gpu", "gpu", WORD, "NAME", "gpu", NULL, "GPU; alone, it gives roofline floors")                   \
	X(0, gpu_mem, "gpu-mem", "gpu_mem", SIZE, "SIZE", "", NULL, "GPU memory, instead of the database's figure")    \
	X(0, dtype, "dtype", "dtype", CHOICE, "TYPE", DTYPE_CHOICE(W), "bf16", "dtype of weights, KV cache and GEMMs") \
	X(0, weights_dtype, "weights-dtype", "weights_dtype", CHOICE, "TYPE", DTYPE_CHOICE(W), NULL,                   \
	    "weight dtype (default: as published, or --dtype); embedding and LM head stay in 16 bits")                 \
	X(0, kv_dtype, "kv-dtype", "kv_dtype", CHOICE, "TYPE", DTYPE_CHOICE(W), NULL,                                  \
	    "KV cache dtype (default: as published, or the engine's default)")                                         \
	X('b', batch, "batch", "batch", COUNT, "N", "", NULL, "static batch size (floors: 1)")                         \
	X(0, context, "context", "context", COUNT, "N", "", NULL,                                                      \
	    "mean tokens per sequence in the KV cache (default: ISL + OSL / 2)")                                       \
	X(0, isl, "isl", "isl", COUNT, "N", "", NULL, "input sequence length (ISL)")                                   \
	X(0, osl, "osl", "osl", COUNT, "N", "", NULL, "output sequence length (OSL)")                                  \
	X(0, mfu, "mfu", "mfu", FRACTION, "FRACTION", "", "0.5", "prefill MFU, for floors")                            \
	X(0, ttft, "ttft", "ttft", TIME, "TIME", "", NULL, "SLO: maximum TTFT")                                        \
	X(0, itl, "itl", "itl", TIME, "TIME", "", NULL, "SLO: maximum inter-token latency (ITL)")                      \
	X(0, e2e, "e2e", "e2e", TIME, "TIME", "", NULL, "SLO: maximum P99 end-to-end latency")                         \
	X(0, slo, "slo", "slo", WORDS, "WHAT:TIME,...", "", NULL,                                                      \
	    "SLOs on ttft, tpot, itl or e2e, mean or percentile: ttft=p99:500ms,tpot=40ms")                            \
	X(0, points, "points", "points", WORDS, "NAME:RATE[:P99],...", "", NULL,                                       \
	    "measured sweep: batch or setting, requests per second, P99 latency")                                      \
	X(0, base_rate, "base-rate", "base_rate", NUMBER, "N", "", NULL,                                               \
	    "baseline request rate (default: the first point)")                                                        \
	X(0, base_p99, "base-p99", "base_p99", TIME, "TIME", "", NULL, "baseline P99 latency")                         \
	X(0, static_batch, "static", "static", FLAG, "", "", NULL,                                                     \
	    "static batching: all --batch sequences wait for the longest answer")                                      \
	X(0, longest, "longest", "longest", COUNT, "N", "", NULL, "static batching: longest OSL; --osl is the mean")   \
	X('s', system, "system", "system", WORD, "NAME", "system", NULL, "system, instead of --gpu")                   \
	X('n', gpus, "gpus", "gpus", COUNT, "N", "", NULL,                                                             \
	    "GPUs of one replica: --layout with tp=N/pp (default: as many as --layout says)")                          \
	X(0, engine, "engine", "engine", WORD, "NAME", "engine", NULL,                                                 \
	    "serving engine (default: trtllm; vllm on AMD)")                                                           \
	X(0, headroom, "headroom", "headroom", FRACTION, "FRACTION", "", NULL,                                         \
	    "share of GPU memory left free after weights and KV cache (default: the engine's rule)")                   \
	X(0, rate, "rate", "rate", NUMBER, "N", "", NULL,                                                              \
	    "request rate at one replica, requests per second (Poisson arrivals)")                                     \
	X(0, concurrency, "concurrency", "concurrency", COUNT, "N", "", NULL,                                          \
	    "concurrent clients, each sending its next request when the last is answered")                             \
	X(0, requests, "requests", "requests", COUNT, "N", "", NULL, "number of requests of a run that ends")          \
	X(0, cold, "cold", "cold", FLAG, "", "", NULL,                                                                 \
	    "the run of --requests begins on a new server, whose first step takes longer (default: a warm one)")       \
	X(0, beams, "beams", "beams", COUNT, "N", "", NULL,                                                            \
	    "beam search: sequences that share a prompt of --isl tokens; rates count sequences")                       \
	X(0, cached, "cached", "cached", FRACTION, "FRACTION", "", NULL,                                               \
	    "prefix cache hit rate, as a share of each prompt")                                                        \
	X(0, row_split, "row-split", "row_split", FLAG, "", "", NULL,                                                  \
	    "split every matrix by rows over the pp GPUs instead of by layers (llama.cpp)")                            \
	X(0, head_bits, "head-bits", "head_bits", NUMBER, "N", "", NULL,                                               \
	    "bits per weight of the LM head, where the format stores it differently")                                  \
	X(0, draft_tokens, "draft-tokens", "draft_tokens", COUNT, "N", "", NULL,                                       \
	    "speculative decoding: draft tokens per step")                                                             \
	X(0, accepted, "accepted", "accepted", NUMBER, "N", "", NULL,                                                  \
	    "speculative decoding: mean accepted draft tokens per step; verification adds one")                        \
	X(0, draft_time, "draft-time", "draft_time", TIME, "TIME", "", "0s",                                           \
	    "speculative decoding: time per draft token")                                                              \
	X(0, speculate, "speculate", "speculate", WORDS, "METHOD=N,accept=F", "", NULL,                                \
	    "speculative decoding with its draft cost and memory: mtp=N, eagle=N, ngram=N or a model's name=N")        \
	X(0, kv_link, "kv-link", "kv_link", WORD, "NAME", "link", NULL,                                                \
	    "disaggregated prefill/decode; KV cache transfer over LINK")                                               \
	X(0, decode_layout, "decode-layout", "decode_layout", WORDS, "tp=N,ep=N,adp", "", NULL,                        \
	    "disaggregated: layout of a decode replica (default: --layout, which is then the prefill replica's)")

struct serve_in {
	SERVE_OPTIONS(OPTION_MEMBER)
	struct shape_in shape;
	struct layout_in layout;
	struct tail_in tail;
	struct simulate_in simulation;
	struct launch_serve_in launch;
	struct launch_from_in from;
};

/* One question each. */
enum answer serve_points(struct run *r, const struct serve_in *in);
enum answer serve_objectives(struct run *r, const struct serve_in *in);
enum answer serve_waiting(struct run *r, const struct serve_in *in);
enum answer serve_floors(struct run *r, const struct serve_in *in);
enum answer serve_engine(struct run *r, const struct serve_in *in);

/* True if the engine model applies: a named model and request lengths.  Otherwise the answer is roofline floors. */
bool serve_has_engine(const struct serve_in *in);

/* --- between the files ----------------------------------------------------------------------------------- */

/* What was bound: the structs that the setup points to lie in the arena. */
struct serve_binding {
	const struct workload *model;
	const struct gpu *gpu;
	const struct engine *engine;
	const struct calibration *fitted; /* the consensus, for what the intervals say */
	struct layout layout;
	struct formats formats;
	struct speculation speculation;
	struct serve_setup setup;
	struct serve_setup *decode; /* of a replica that only decodes, where it has another layout; or NULL */
};

/* Convert the inputs to a serving setup, its load and the query, or to a simulation.  The setup points into `out`,
 * which must not move.  False with errors. */
bool serve_bind(
    struct run *r, const struct serve_in *in, struct serve_binding *out, struct load *load, struct serve_question *q);
bool serve_simulation(struct run *r, const struct serve_in *in, const struct serve_binding *b, const struct load *load,
    struct sim_config *out);

/* Append to the verdict whether the SLOs of --slo are met; `time_s` is NaN where a statistic is unknown. */
bool serve_slos(struct run *r, const struct words *list, double time_s[N_SLO_MEASURES][N_PLAN_STATISTICS],
    const char **verdict, bool *met);
bool serve_objective(struct run *r, const char *what, struct datum objective, double time_s, const char **verdict);
/* Show the answer: memory, then everything else, then disaggregated pools with --kv-link. */
void serve_show_room(struct run *r, const struct serve_question *q);
void serve_show(
    struct run *r, const struct serve_binding *b, const struct serve_question *q, const struct serve_metrics *m);
bool serve_show_pools(
    struct run *r, const struct serve_in *in, const struct serve_binding *b, const struct serve_question *q);

#endif
