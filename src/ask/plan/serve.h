/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ridge plan serve`: setups of serving engines that meet SLOs under a load, ranked. */
#ifndef RIDGE_ASK_PLAN_SERVE_H
#define RIDGE_ASK_PLAN_SERVE_H

#include "ask/capacity/capacity.h"
#include "ask/launch/launch.h"

struct plan_serve_in {
#define PLAN_SERVE_OPTIONS(X)                                                                                          \
	X('m', model, "model", "model", WORD, "MODEL", "model", NULL, "model: name in the database, or file")          \
	X('g', gpu, "gpu", "gpu", WORDS, "NAME,...", "gpu", NULL, "GPUs to try")                                       \
	X('r', rate, "rate", "rate", NUMBER, "N", "", NULL, "request rate, requests per second")                       \
	X('u', users, "users", "users", COUNT, "N", "", NULL, "concurrent users, instead of --rate")                   \
	X(0, isl, "isl", "isl", COUNT, "N", "", NULL, "input sequence length (ISL)")                                   \
	X(0, osl, "osl", "osl", COUNT, "N", "", NULL, "output sequence length (OSL)")                                  \
	X(0, target_load, "target-load", "target_load", FRACTION, "FRACTION", "", "0.75",                              \
	    "target utilization of a replica's rate")                                                                  \
	X(0, weights_dtype, "weights-dtype", "weights_dtype", CHOICE, "TYPE", DTYPE_CHOICE(W), NULL,                   \
	    "weight dtype (default: as published, or --dtype)")                                                        \
	X(0, kv_dtype, "kv-dtype", "kv_dtype", CHOICE, "TYPE", DTYPE_CHOICE(W), NULL,                                  \
	    "KV cache dtype (default: as published, or the engine's default)")                                         \
	X(0, headroom, "headroom", "headroom", FRACTION, "FRACTION", "", NULL,                                         \
	    "share of GPU memory kept free besides weights and KV cache (default: the engine's rule)")                 \
	X(0, price, "price", "price", WORDS, "USD/h,...", "", NULL,                                                    \
	    "price per GPU, for all (2.5) or by name (h100=2.5,h200=3.2); default: whole instances of the database")   \
	X(0, provider, "provider", "provider", WORD, "TEXT", "", NULL,                                                 \
	    "provider: part of the price's name or source, such as aws, lambda, spot")                                 \
	X(0, max_sequences, "max-sequences", "max_sequences", WORDS, "N,...", "auto|default", "auto",                  \
	    "maximum running sequences to try: numbers, default (the engine's) or auto (more where they limit)")       \
	X(0, max_step_tokens, "max-step-tokens", "max_step_tokens", WORDS, "N,...", "auto|default", "auto",            \
	    "maximum tokens per step to try: numbers, default (the engine's) or auto (2,048 to 16,384)")               \
	X(0, rank, "rank", "rank", CHOICE, "WHAT", "cost|power|gpus|ttft|tpot", "cost", "what the rows are ranked by") \
	X(0, pareto, "pareto", "pareto", WORD, "A:B", "cost:tpot|cost:ttft|power:tpot|tokens-per-gpu:tokens-per-user", \
	    NULL,                                                                                                      \
	    "only setups that no other one beats in both: of cost, power, gpus, ttft, tpot, e2e; or "                  \
	    "tokens-per-gpu:tokens-per-user")                                                                          \
	X(0, pools, "pools", "pools", FLAG, "", "", NULL,                                                              \
	    "plan pools too: replicas that prefill and others that decode, each with its own GPU and layout")          \
	X(0, kv_link, "kv-link", "kv_link", WORD, "NAME", "link", NULL,                                                \
	    "link that carries KV caches between pools, one per GPU (default: ib-ndr)")                                \
	X(0, from, "from", "from", WORD, "LAYOUT|FILE", "file", NULL,                                                  \
	    "layout that serves today (tp=8), or its launch file (serve.sh): what each row saves")                     \
	X(0, top, "top", "top", COUNT, "K", "", "10", "rows listed")                                                   \
	X(0, emit_rank, "emit-rank", "emit_rank", COUNT, "N", "", "1", "row that --emit prints")
	PLAN_SERVE_OPTIONS(OPTION_MEMBER)
	struct layout_in layout;
	struct capacity_plan_in plan;
	struct launch_serve_in launch;
};

/* A row: a setup at the load, or at another operating point. */
struct plan_served_row {
	const struct plan_candidate *c;
	char group;
	double gpu_token_per_s, user_token_per_s; /* of an operating point; NaN: the load's */
};

/* What was searched. */
struct plan_served {
	const struct plan_serve_in *in;
	struct capacity_plan_case about;
	struct capacity_search search;
	struct plan_load load;
	enum plan_rank rank;
	struct word dtype;
	struct plan_candidate *today; /* of --from, sized; or NULL */
	/* of a front: the two measures, and all that was compared */
	int x, y;
	size_t n_points;
	struct plan_served_row *points;
};

/* Replicas that prefill, others that decode, and the link between them. */
struct plan_pools {
	const struct plan_candidate *prefill, *decode;
	const struct link *link;
	double n_prefill, n_decode;
	double ttft_s, tpot_s, transfer_s, link_frac;
	double cost; /* USD per second; GPUs where no price is known */
	bool priced;
};

/* The cheapest pairs of pools whose caches the link carries. */
struct plan_pools *plan_serve_pools(struct run *r, const struct plan_served *p, const struct link *link, size_t *n);

/* The case of the search by the inputs. */
void plan_serve_case(const struct plan_serve_in *in, struct plan_served *p);
/* The setup of --from, sized for the load and confirmed.  False with errors. */
bool plan_serve_today(
    struct run *r, const struct plan_serve_in *in, const struct plan_load *load, struct plan_candidate *out);

/* Candidates sized, tuned, ranked and confirmed.  False with errors. */
bool plan_serve_search(struct run *r, const struct plan_serve_in *in, struct plan_served *p);
/* The half-width, in logarithms, of what a setup is ranked by. */
double plan_serve_half(struct run *r, const struct plan_served *p, const struct plan_candidate *c);
/* A letter for all that the first of its group cannot be told from, down the table. */
void plan_serve_groups(struct run *r, const struct plan_served *p, struct plan_served_row *rows, size_t n);
/* The rows that are listed: the best of each GPU, engine and dtype, or the front. */
struct plan_served_row *plan_serve_rows(struct run *r, const struct plan_served *p, size_t *n);
/* False with an error: no such pair. */
bool plan_serve_front(struct run *r, struct plan_served *p, struct plan_served_row **rows, size_t *n);
/* The front before all setups, or what rows are ranked by over the TPOT. */
const struct plot *plan_serve_plot(
    struct run *r, const struct plan_served *asked, const struct plan_served_row *rows, size_t n);

enum answer plan_serve_show(struct run *r, const struct plan_served *p, const struct plan_served_row *rows, size_t n);

/* Show pairs of pools below the rows, and print one with --emit. */
enum answer plan_serve_show_pools(struct run *r, const struct plan_served *p);

#endif
