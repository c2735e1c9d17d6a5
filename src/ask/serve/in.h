/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `ridge serve` is asked, and the files that answer it. */
#ifndef RIDGE_SERVE_IN_H
#define RIDGE_SERVE_IN_H

#include "ask/bind/bind.h"
#include "ask/bind/shape.h"
#include "ask/serve/simulate.h"
#include "ask/serve/tail.h"
#include "search/plan/serve_answer.h"

#define SERVE_TYPES "fp32|fp16|bf16|fp8|fp8-block|mxfp8|int8|fp4|nvfp4|mxfp4|int4"
#define SERVE_OPTIONS(X)                                                                                               \
	X('m', model, "model", "model", WORD, "MODEL", "model", NULL, "model, from the database or a file")            \
	X(0, params, "params", "params", COUNT, "N", "", NULL, "parameters of a model that has no name")               \
	X(0, bits, "bits", "bits", NUMBER, "N", "", NULL,                                                              \
	    "bits per weight with its scales: of --params, or of packed formats such as Q4_K_M (4.85)")                \
	X('g', gpu, "gpu", "gpu", WORD, "NAME", "gpu", NULL, "the GPU, for floors of bandwidth and arithmetic")        \
	X(0, gpu_mem, "gpu-mem", "gpu_mem", SIZE, "SIZE", "", NULL, "memory of the GPU, instead of what it has")       \
	X(0, dtype, "dtype", "dtype", CHOICE, "TYPE", SERVE_TYPES, "bf16", "type of weights, cache and products")      \
	X(0, weights_dtype, "weights-dtype", "weights_dtype", CHOICE, "TYPE", SERVE_TYPES, NULL,                       \
	    "type of the weights (default: as published, or --dtype); embedding and head stay in 16 bits")             \
	X(0, kv_dtype, "kv-dtype", "kv_dtype", CHOICE, "TYPE", SERVE_TYPES, NULL,                                      \
	    "type of the cache (default: as published, or the engine's rule)")                                         \
	X('b', batch, "batch", "batch", COUNT, "N", "", NULL,                                                          \
	    "sequences that go together from the first token to the last (floors: 1)")                                 \
	X(0, context, "context", "context", COUNT, "N", "", NULL,                                                      \
	    "tokens that each has in the cache (default: prompt and half the answer)")                                 \
	X(0, isl, "isl", "isl", COUNT, "N", "", NULL, "tokens of a prompt")                                            \
	X(0, osl, "osl", "osl", COUNT, "N", "", NULL, "tokens of an answer")                                           \
	X(0, mfu, "mfu", "mfu", FRACTION, "FRACTION", "", "0.5", "share of the peak that prompts reach")               \
	X(0, ttft, "ttft", "ttft", TIME, "TIME", "", NULL, "objective: most to the first token")                       \
	X(0, itl, "itl", "itl", TIME, "TIME", "", NULL, "objective: most between two tokens")                          \
	X(0, deadline, "deadline", "deadline", TIME, "TIME", "", NULL,                                                 \
	    "objective: most that P99 of a whole request may take")                                                    \
	X(0, points, "points", "points", WORDS, "NAME:RATE[:P99],...", "", NULL,                                       \
	    "measured: a batch or setting, its requests per second, its 99th percentile")                              \
	X(0, base_rate, "base-rate", "base_rate", NUMBER, "N", "", NULL,                                               \
	    "requests per second to compare with (default: the first point)")                                          \
	X(0, base_p99, "base-p99", "base_p99", TIME, "TIME", "", NULL, "99th percentile to compare with")              \
	X(0, static_batch, "static", "static", FLAG, "", "", NULL,                                                     \
	    "a static batch: all wait for the longest of --batch answers")                                             \
	X(0, longest, "longest", "longest", COUNT, "N", "", NULL,                                                      \
	    "static: tokens of the longest answer; --osl is the mean")                                                 \
	X('s', system, "system", "system", WORD, "NAME", "system", NULL, "the system, instead of --gpu")               \
	X(0, engine, "engine", "engine", WORD, "NAME", "engine", NULL,                                                 \
	    "the serving engine (default: trtllm; vllm on AMD)")                                                       \
	X(0, headroom, "headroom", "headroom", FRACTION, "FRACTION", "", NULL,                                         \
	    "part of the memory kept free beside weights and cache (default: the engine's rule)")                      \
	X(0, rate, "rate", "rate", NUMBER, "N", "", NULL, "requests per second that arrive at random, at one replica") \
	X(0, concurrency, "concurrency", "concurrency", COUNT, "N", "", NULL,                                          \
	    "clients, each with a new request as soon as the last is answered")                                        \
	X(0, requests, "requests", "requests", COUNT, "N", "", NULL, "requests of a finite run")                       \
	X(0, cached, "cached", "cached", FRACTION, "FRACTION", "", NULL,                                               \
	    "share of every prompt whose cache is there already (prefix caching)")                                     \
	X(0, attention_dp, "attention-dp", "attention_dp", FLAG, "", "", NULL,                                         \
	    "each of the tp GPUs attends for sequences of its own; experts stay spread")                               \
	X(0, row_split, "row-split", "row_split", FLAG, "", "", NULL,                                                  \
	    "pp GPUs share every matrix by rows instead of layers (llama.cpp)")                                        \
	X(0, head_bits, "head-bits", "head_bits", NUMBER, "N", "", NULL,                                               \
	    "bits per weight of the output map, where a format stores it otherwise")                                   \
	X(0, drafts, "drafts", "drafts", COUNT, "N", "", NULL, "speculative decoding: tokens drafted per step")        \
	X(0, accepted, "accepted", "accepted", NUMBER, "N", "", NULL,                                                  \
	    "... of them accepted on average; the verifying pass adds one more")                                       \
	X(0, draft_time, "draft-time", "draft_time", TIME, "TIME", "", "0s", "... one drafted token takes")            \
	X(0, kv_link, "kv-link", "kv_link", WORD, "NAME", "link", NULL,                                                \
	    "pools of their own for prompts and for answers; caches move over this link")

struct serve_in {
	SERVE_OPTIONS(OPTION_MEMBER)
	struct shape_in shape;
	struct layout_in layout;
	struct tail_in tail;
	struct simulate_in simulation;
};

/* One question each. */
enum answer serve_points(struct run *r, const struct serve_in *in);
enum answer serve_objectives(struct run *r, const struct serve_in *in);
enum answer serve_waiting(struct run *r, const struct serve_in *in);
enum answer serve_floors(struct run *r, const struct serve_in *in);
enum answer serve_engine(struct run *r, const struct serve_in *in);

/* Whether an engine can be asked: a model by name and what it is to do.  Otherwise bandwidth and arithmetic give
 * floors. */
bool serve_has_engine(const struct serve_in *in);

/* --- between the files ----------------------------------------------------------------------------------- */

/* What was bound: the structs that the setup points to lie in the arena. */
struct serve_binding {
	const struct workload *model;
	const struct gpu *gpu;
	const struct engine *engine;
	const struct calibration *fitted; /* the consensus, for what the intervals say */
	struct layout layout;
	struct serve_setup setup;
};

/* False with errors. */
bool serve_bind(struct run *r, const struct serve_in *in, struct serve_binding *out);
/* What is asked of it: requests and who sends them (false with errors), and the question's regime. */
bool serve_load(struct run *r, const struct serve_in *in, const struct serve_binding *b, struct load *out);
void serve_ask(struct run *r, const struct serve_in *in, const struct serve_binding *b, const struct load *load,
    struct serve_question *out);
/* A time as people read it; how an objective is met, added to a verdict. */
const char *serve_time_text(struct run *r, double time_s);
bool serve_objective(struct run *r, const char *what, struct datum objective, double time_s, const char **verdict);
/* Rows of the answer: what the memory holds, then all the rest, then pools of their own where they were asked for. */
void serve_show_room(struct run *r, const struct serve_question *q);
void serve_show(
    struct run *r, const struct serve_binding *b, const struct serve_question *q, const struct serve_metrics *m);
bool serve_show_pools(struct run *r, const struct serve_in *in, const struct serve_question *q);

#endif
