/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ridge capacity` with SLOs: setups of serving engines that meet them, by cost. */
#ifndef RIDGE_ASK_CAPACITY_CAPACITY_H
#define RIDGE_ASK_CAPACITY_CAPACITY_H

#include "ask/bind/bind.h"

struct capacity_plan_in {
#define CAPACITY_PLAN_OPTIONS(X)                                                                                       \
	X(0, engine, "engine", "engine", WORDS, "NAME,...", "engine", NULL,                                            \
	    "SLO plan: serving engines to try, instead of roofline floors (default: trtllm)")                          \
	X(0, slo, "slo", "slo", WORDS, "WHAT:TIME,...", "", NULL,                                                      \
	    "SLOs on ttft, tpot or e2e, mean or percentile: ttft=p99:500ms,tpot=40ms")                                 \
	X(0, ttft, "ttft", "ttft", TIME, "TIME", "", NULL, "SLO: mean TTFT; p95:TIME of a percentile")                 \
	X(0, tpot, "tpot", "tpot", TIME, "TIME", "", NULL, "SLO: mean TPOT; p95:TIME of a percentile")                 \
	X(0, e2e, "e2e", "e2e", TIME, "TIME", "", NULL, "SLO: mean end-to-end latency; p95:TIME of a percentile")      \
	X(0, dtypes, "dtypes", "dtypes", WORDS, "TYPE,...", "", NULL,                                                  \
	    "SLO plan: weight dtypes to try (default: --dtype)")                                                       \
	X(0, think, "think", "think", TIME, "TIME", "", NULL,                                                          \
	    "SLO plan: mean think time of a user between answer and next request (default 30 s)")                      \
	X(0, day_tokens, "day-tokens", "day_tokens", COUNT, "N", "", NULL,                                             \
	    "SLO plan: output tokens per day, instead of --rate")                                                      \
	X(0, isl_cv, "isl-cv", "isl_cv", NUMBER, "N", "", "0",                                                         \
	    "SLO plan: coefficient of variation of ISL (log-normal)")                                                  \
	X(0, osl_cv, "osl-cv", "osl_cv", NUMBER, "N", "", "0",                                                         \
	    "SLO plan: coefficient of variation of OSL (log-normal)")                                                  \
	X(0, cached, "cached", "cached", FRACTION, "FRACTION", "", "0",                                                \
	    "SLO plan: prefix cache hit rate, share of each prompt")                                                   \
	X(0, speculate, "speculate", "speculate", WORDS, "METHOD=N,accept=F", "", NULL,                                \
	    "SLO plan: speculative decoding, as in ridge serve: mtp=3,accept=0.8")                                     \
	X(0, growth, "growth", "growth", FRACTION, "FRACTION", "", "0",                                                \
	    "SLO plan: load headroom above the given load")                                                            \
	X(0, spare, "spare", "spare", COUNT, "N", "", "0", "SLO plan: spare replicas (1 for N+1)")                     \
	X(0, host_power, "host-power", "host_power", POWER, "WATT", "", NULL,                                          \
	    "SLO plan: power of the host for each GPU, for the site's power")                                          \
	X(0, pue, "pue", "pue", NUMBER, "FACTOR", "", NULL,                                                            \
	    "SLO plan: power usage effectiveness of the facility, for the site's power")                               \
	X(0, gpus, "gpus", "gpus", COUNT, "N", "", "8", "SLO plan: maximum GPUs per replica")                          \
	X(0, every_layout, "every-layout", "every_layout", FLAG, "", "", NULL,                                         \
	    "SLO plan: list every layout, not only the best per GPU, engine and dtype")                                \
	X(0, unconfirmed, "unconfirmed", "unconfirmed", FLAG, "", "", NULL,                                            \
	    "SLO plan: skip the simulation that confirms the best setup")                                              \
	X(0, seed, "seed", "seed", COUNT, "N", "", "1", "SLO plan: random seed of the simulations")
	CAPACITY_PLAN_OPTIONS(OPTION_MEMBER)
};

/* What the command's other options say. */
struct capacity_plan_case {
	struct word model;
	const struct words *gpus;
	const double *const *most_gpus; /* that there are of each, or NULL; NULL: any number of all */
	struct datum rate, users, isl, osl, utilisation, headroom;
	struct price_in price;
	struct word dtype, weights_dtype, kv_dtype;
	const struct layout_in *layout;
	const struct serve_layout *exact; /* the only one; NULL: all that `layout` allows */
};

/* Inputs of `ridge capacity`. */
#define CAPACITY_OPTIONS(X)                                                                                            \
	X('m', model, "model", "model", WORD, "MODEL", "model", NULL, "model: name in the database, or file")          \
	X(0, params, "params", "params", COUNT, "N", "", NULL, "parameter count, when no model is given")              \
	X(0, bits, "bits", "bits", NUMBER, "N", "", NULL, "bits per parameter, with --params")                         \
	X('g', gpu, "gpu", "gpu", WORDS, "NAME,...", "gpu", NULL, "candidate GPUs, one line each")                     \
	X(0, gpu_mem, "gpu-mem", "gpu_mem", SIZE, "SIZE", "", NULL, "GPU memory, when no GPU is given")                \
	X('u', users, "users", "users", COUNT, "N", "", NULL, "concurrent users")                                      \
	X('t', context, "context", "context", COUNT, "N", "", NULL, "tokens in the KV cache per user, ISL + OSL")      \
	X('r', rate, "rate", "rate", NUMBER, "N", "", NULL, "request rate, requests per second, instead of --users")   \
	X(0, isl, "isl", "isl", COUNT, "N", "", NULL, "input sequence length (ISL), with --rate")                      \
	X(0, osl, "osl", "osl", COUNT, "N", "", NULL, "output sequence length (OSL), with --rate")                     \
	X(0, throughput, "throughput", "throughput", NUMBER, "N", "", NULL,                                            \
	    "measured output throughput of one replica, tokens per second (default: roofline floor)")                  \
	X(0, target_load, "target-load", "target_load", FRACTION, "FRACTION", "", "0.75",                              \
	    "target utilization of a replica's rate")                                                                  \
	X(0, itl, "itl", "itl", TIME, "TIME", "", NULL, "SLO: maximum inter-token latency (ITL) per user")             \
	X(0, dtype, "dtype", "dtype", CHOICE, "TYPE", DTYPE_CHOICE(W), "bf16", "dtype of weights and GEMMs")           \
	X(0, weights_dtype, "weights-dtype", "weights_dtype", CHOICE, "TYPE", DTYPE_CHOICE(W), NULL,                   \
	    "weight dtype (default: as published, or --dtype); embedding and LM head stay in 16 bits")                 \
	X(0, kv_dtype, "kv-dtype", "kv_dtype", CHOICE, "TYPE", DTYPE_CHOICE(W), NULL,                                  \
	    "KV cache dtype (default: as published, or the engine's default)")                                         \
	X(0, kv_rule, "kv-rule", "kv_rule", CHOICE, "RULE", "exact|doc", NULL,                                         \
	    "KV cache size: exact, from the model's shape; doc, 0.5 MB per token per 7e9 parameters")                  \
	X(0, block, "block", "block", COUNT, "N", "", NULL, "KV cache block size in tokens (default: the engine's)")   \
	X(0, paging_overhead, "paging-overhead", "paging_overhead", FRACTION, "FRACTION", "", NULL,                    \
	    "fragmentation overhead instead of blocks (default with --kv-rule doc: 0.3)")                              \
	X(0, headroom, "headroom", "headroom", FRACTION, "FRACTION", "", NULL,                                         \
	    "share of GPU memory left free after weights and KV cache (default: the engine's rule; with --params "     \
	    "0.2)")                                                                                                    \
	X('w', weights, "weights", "weights", CHOICE, "HOW", "replicated|shared", "replicated",                        \
	    "weights replicated per replica, or one copy shared over all GPUs")                                        \
	X(0, price, "price", "price", WORDS, "USD/h,...", "", NULL,                                                    \
	    "price per GPU, for all (2.5) or by name (h100=2.5,h200=3.2); default: whole instances of the database")   \
	X(0, provider, "provider", "provider", WORD, "TEXT", "", NULL,                                                 \
	    "provider: part of the price's name or source, such as aws, lambda, spot")

struct capacity_in {
	CAPACITY_OPTIONS(OPTION_MEMBER)
	struct shape_in shape;
	struct layout_in layout;
	struct capacity_plan_in plan;
};

/* GPUs by what memory holds and the roofline allows, for --users or --rate. */
enum answer capacity_floors(struct run *r, const struct capacity_in *in);

/* True if this form is selected; an option of it alone is an error. */
bool capacity_plan_asked(const struct capacity_plan_in *in);
enum answer capacity_plan(struct run *r, const struct capacity_plan_in *in, const struct capacity_plan_case *c);

/* --- the search, for `ridge plan serve` too --------------------------------------------------------------- */

/* One setup that is looked at. */
struct plan_setup {
	const struct gpu *gpu;
	const struct engine *engine;
	enum dtype type;
	struct formats formats;
	const struct calibration *fitted; /* the consensus, for what the intervals say */
	const char *layout;
	struct rental rental;
	double n_linked;           /* GPUs of a replica */
	int group;                 /* GPU, engine and type */
	const double *n_most_gpus; /* that there are of the GPU; NULL: any number, rented in whole instances */
};

struct capacity_search {
	struct run *run;
	const struct capacity_plan_in *in;
	const struct capacity_plan_case *c;
	const struct workload *model;
	struct speculation speculation;
	struct plan_candidate *list; /* `about` is a struct plan_setup */
	size_t n;
	int n_groups;
	const char *fault; /* why the last setup could not be put together */
};

/* The load and the SLOs.  False with errors. */
bool capacity_load(
    struct run *r, const struct capacity_plan_in *in, const struct capacity_plan_case *c, struct plan_load *l);
/* All GPUs, engines, dtypes and layouts, not sized yet; run, in and c are set.  False with errors, also for none. */
bool capacity_candidates(struct capacity_search *s);
/* The load with the drafts of --speculate. */
void capacity_drafts(const struct capacity_search *s, struct plan_load *load);

/* What requests met when it was simulated: the planned load, without the spares. */
void capacity_tell_proof(struct run *r, const struct plan_point *p, double n_added);
/* Say where the price of a row comes from, or warn that there is none. */
void capacity_tell_price(const struct capacity_search *s, const struct plan_candidate *c);
/* What `ridge serve` warns of for the first row, a setup that meets the SLOs, at this load. */
void capacity_warn_first(struct run *r, const struct plan_candidate *first, const struct plan_load *load);
void capacity_plan_show(
    struct run *r, const struct capacity_plan_in *in, const struct plan_candidate *c, const struct plan_load *l);

/* --- floors: floors.c and show.c ------------------------------------------------------------------------------ */

enum { WAYS_MAX = 22, NODE = 8, TP_MOST = 1024 };
struct plan {
	const struct workload *w; /* NULL: --params alone */
	bool load, shared, linear;
	struct layout layout; /* tp 0: choose */
	bool named;           /* a model whose weights are known part by part */
	bool adp;             /* asked for, or tried where every GPU would keep a whole copy of the cache */
	double weight_byte;   /* of numbers */
};

struct candidate {
	const struct gpu *gpu; /* NULL: --gpu-mem */
	struct formats formats;
	struct memory_job job; /* one user on one replica, but for its layout */
	struct capacity_case c;
};

/* One layout of a replica, and the instances it is rented in. */
struct way {
	struct layout layout;
	struct rental rental;
};

/* Whether tp divides the heads of every layer; a NULL model has none. */
bool capacity_divides(const struct workload *w, double tp);
/* The rows of one candidate; false when it does not fit. */
bool floors_show(struct run *r, const struct price_in *price, const struct plan *p, const struct candidate *who);

#endif
