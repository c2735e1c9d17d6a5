/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inputs of `ridge plan train`, bound to searches over layouts. */
#ifndef RIDGE_ASK_PLAN_PLAN_H
#define RIDGE_ASK_PLAN_PLAN_H

#include "ask/capacity/capacity.h"
#include "ask/launch/launch.h"
#include "ask/train/train.h"
#include "search/layout/layout.h"

/* Degrees as ranges and alternatives: `tp=8,pp=4..16,cp=1/2`. */
struct plan_layout_in {
#define PLAN_LAYOUT_OPTIONS(X)                                                                                         \
	X(0, degrees[DEGREE_DP], NULL, "layout.dp", WORD, "N", "", NULL, "data parallel replicas: 8, 8..64, 8/16")     \
	X(0, degrees[DEGREE_TP], NULL, "layout.tp", WORD, "N", "", NULL, "tensor parallel degree")                     \
	X(0, degrees[DEGREE_PP], NULL, "layout.pp", WORD, "N", "", NULL, "pipeline stages")                            \
	X(0, degrees[DEGREE_VP], NULL, "layout.vp", WORD, "N", "", NULL,                                               \
	    "model chunks per stage (interleaved schedule)")                                                           \
	X(0, degrees[DEGREE_CP], NULL, "layout.cp", WORD, "N", "", NULL, "context parallel degree")                    \
	X(0, degrees[DEGREE_EP], NULL, "layout.ep", WORD, "N", "", NULL, "expert parallel degree")                     \
	X(0, degrees[DEGREE_ETP], NULL, "layout.etp", WORD, "N", "", NULL, "tensor parallel degree inside experts")    \
	X(0, degrees[DEGREE_ZERO], NULL, "layout.zero", WORD, "0..3", "", NULL, "ZeRO stage (default: the stack's)")   \
	X(0, shard, NULL, "layout.shard", COUNT, "N", "", NULL, "GPUs that share one sharded copy (hybrid shard)")     \
	X(0, sp, NULL, "layout.sp", FLAG, "", "", NULL, "sequence parallelism with tp, as rows have it anyway")        \
	X(0, fsdp, NULL, "layout.fsdp", FLAG, "", "", NULL, "the same as zero=3")                                      \
	X(0, across, NULL, "layout.across", FLAG, "", "", NULL, "tensor parallel groups may reach beyond one node")
	struct word degrees[N_DEGREES];
	struct datum shard;
	bool sp, fsdp, across;
};

/* Lists of what `ridge train` takes one of. */
struct plan_choice_in {
#define PLAN_CHOICE_OPTIONS(X)                                                                                         \
	X('n', gpus, "gpus", "gpus", WORDS, "N", "", NULL,                                                             \
	    "number of GPUs; several: 64,128 or 64..2048 (multiples of a node), 64..2048*2, 64..512+64")               \
	X('b', batch, "batch", "batch", WORDS, "N", "", NULL,                                                          \
	    "micro-batch sizes searched: 1,2,4 (default: auto, all divisors up to 16)")                                \
	X(0, stack, "stack", "stack", WORDS, "NAME", "stack", NULL, "training frameworks compared")                    \
	X(0, dtype, "dtype", "dtype", WORDS, "TYPE", DTYPE_CHOICE(T), "bf16", "GEMM dtypes compared")                  \
	X(0, grad_dtype, "grad-dtype", "grad_dtype", WORDS, "TYPE", DTYPE_CHOICE(S), NULL,                             \
	    "gradient dtypes compared (default: the stack's)")                                                         \
	X(0, moment_dtype, "moment-dtype", "moment_dtype", WORDS, "TYPE", DTYPE_CHOICE(S), NULL,                       \
	    "dtypes of Adam's moments compared (default: fp32)")                                                       \
	X(0, recompute, "recompute", "recompute", WORDS, "POLICY",                                                     \
	    "auto|none|selective|full|op|sqrt|every-2|uniform-2|block-1|offload-1|core_attn|mla_up_proj|moe_act|"      \
	    "layernorm|shared_experts|mlp|moe",                                                                        \
	    "auto",                                                                                                    \
	    "activation recomputation compared: auto (all that the stack has), or some of none, selective, full, "     \
	    "every-N, block-N, uniform-N, sqrt, op, offload-N and modules of a layer, as in ridge train")              \
	X(0, optimizer, "optimizer", "optimizer", WORDS, "NAME", "adam|adamw|adam8bit|lion|momentum|adagrad|sgd",      \
	    "adam", "optimizers compared")                                                                             \
	X(0, schedule, "schedule", "schedule", WORDS, "NAME", "1f1b|gpipe|zero-bubble", "1f1b",                        \
	    "pipeline schedules compared")                                                                             \
	X(0, dispatcher, "dispatcher", "dispatcher", WORDS, "HOW", "auto|plain|dedup", NULL,                           \
	    "MoE dispatchers compared (default: auto, the stack's)")
	PLAN_CHOICE_OPTIONS(OPTION_MEMBER)
};

struct plan_in {
#define PLAN_OPTIONS(X)                                                                                                \
	X(0, verb, NULL, "verb", WORD, "WHAT", "train", NULL, "what is planned: train")                                \
	X(0, rank, "rank", "rank", CHOICE, "BY", "time|cost|energy|memory|gpus", NULL,                                 \
	    "order of the rows (default: time; with --deadline or --budget: cost)")                                    \
	X(0, deadline, "deadline", "deadline", TIME, "TIME", "", NULL,                                                 \
	    "longest training time; searches the number of GPUs unless --gpus is given")                               \
	X(0, budget, "budget", "budget", MONEY, "USD", "", NULL,                                                       \
	    "most money for the run; searches the number of GPUs unless --gpus is given")                              \
	X(0, sure, "sure", "sure", FLAG, "", "", NULL,                                                                 \
	    "the upper end of the interval must meet --deadline and --budget, not the prediction alone")               \
	X(0, pareto, "pareto", "pareto", CHOICE, "FRONT", "time:gpus|time:memory|cost:time|energy:time", NULL,         \
	    "list what nothing beats in both, instead of a rank")                                                      \
	X(0, from, "from", "from", WORD, "LAYOUT|FILE", "file", NULL,                                                  \
	    "layout that runs today (tp=8,pp=4), or its launch file (run.sh, TOML, JSON): the changes that help most") \
	X(0, groups, "groups", "groups", FLAG, "", "", NULL, "list one row for each group that can be told apart")     \
	X(0, emit_rank, "emit-rank", "emit_rank", COUNT, "N", "", NULL, "row that --emit prints (default: 1)")         \
	X(0, top, "top", "top", COUNT, "K", "", "10", "layouts listed")                                                \
	X(0, all, "all", "all", FLAG, "", "", NULL, "list every family of layouts that fits")                          \
	X(0, threads, "threads", "threads", COUNT, "N", "", NULL, "threads of the search (default: all cores)")
	PLAN_OPTIONS(OPTION_MEMBER)
	struct memory_in memory;
	struct plan_layout_in layout;
	struct plan_choice_in choice;
	struct training_in training;
	struct train_in train;
	struct launch_in launch;
};

/* One framework with one set of types, dispatcher and schedule: what a search keeps. */
struct plan_variant {
	struct plan_in in; /* as bound: one GPU, one micro-batch, one of each list */
	struct layout_in layout;
	struct train_question question;
	struct train_bound train;
	struct layout_space space;
	const char *options; /* that tell it from others: `--dtype fp8`; empty: there are no others */
};

enum plan_front { FRONT_NONE, FRONT_TIME_GPUS, FRONT_TIME_MEMORY, FRONT_COST_TIME, FRONT_ENERGY_TIME };

enum layout_rank { RANK_TIME, RANK_COST, RANK_ENERGY, RANK_MEMORY, RANK_GPUS };

struct plan_question {
	size_t n_variants, n_counts;
	double n_node_gpus; /* the steps of a search over numbers of GPUs */
	struct plan_variant *variants;
	double *counts; /* of GPUs, ascending */
	bool by_scale;  /* one row for each count, not for each family */
	enum layout_rank rank;
	enum plan_front front;
};

/* The words of --recompute from number i on that are one policy: modules next to each other are. */
size_t plan_policy_words(const struct words *said, size_t i);
/* What the options come to; false with errors. */
bool plan_bind(struct run *r, const struct plan_in *in, struct plan_question *out);
/* Combination number k of the lists, at the degrees pinned; false with errors. */
bool plan_bind_variant(
    struct run *r, const struct plan_in *in, const struct layout_space *pinned, size_t k, struct plan_variant *v);
/* Numbers of GPUs, ascending; `node` is the step of a range without one. */
bool plan_bind_counts(struct run *r, const struct words *said, double node, struct plan_question *out);

/* --- the search ------------------------------------------------------------------------------------------- */

/* A layout, its training and memory jobs, and the figures it is compared by. */
struct plan_row {
	const struct plan_variant *variant;
	struct layout_space space; /* the variant's at this number of GPUs */
	struct train_bound train;  /* the same */
	struct layout_row row;
	struct memory_job memory;
	struct train_answer answer;
	struct layout_shares shares;
	char group;
	size_t n_group;   /* rows of its group; 0: not counted */
	double low, high; /* of its step, as factors */
	/* of a run with --tokens; NaN: not asked, or no price or power is known */
	double run_s, gpu_s, usd, joule;
};

struct plan_found {
	size_t n;
	struct plan_row *rows;       /* by rank, best first */
	struct layout_result merged; /* counters, and what comes near, of all searches; its rows are unused */
	struct plan_row risky, near, least;
	size_t n_points; /* of a front: what else was compared */
	struct layout_row *points;
	bool interrupted, too_many;
	double n_planned; /* layouts that there are, as far as they were counted */
	const char *widest;
};

/* All variants at all counts. */
void plan_search(struct run *r, const struct plan_in *in, const struct plan_question *b, struct plan_found *out);
/* A row with everything that follows from it. */
void plan_fill(struct run *r, const struct plan_in *in, const struct plan_variant *v, double n_gpus,
    const struct layout_row *row, struct plan_row *out);
/* The space of a variant at a number of GPUs. */
struct layout_space plan_space(const struct plan_variant *v, double n_gpus);
/* Its figure of this rank; smaller is better. */
double plan_value(const struct plan_row *row, enum layout_rank rank);

/* --- the answer ------------------------------------------------------------------------------------------- */

enum answer plan_show(struct run *r, const struct plan_in *in, const struct plan_question *b);
/* `dp=8,tp=4`, and all options with which train says the same. */
const char *plan_layout_text(struct run *r, const struct memory_job *job);
/* `--recompute none --offload core_attn`: the policy of a row. */
const char *plan_policy_text(struct arena *a, const struct layout_space *s, const struct layout_row *row);
/* One row of the table; `best` is the one it is compared to, or NULL. */
/* `known_for`: what a row of several numbers of GPUs is listed for, or NULL. */
void plan_show_row(struct run *r, const struct plan_in *in, const struct plan_question *b, const struct plan_row *s,
    const struct plan_row *best, const char *known_for);
/* Row i of the table of layouts that are not in the plan. */
void plan_show_near(struct run *r, int i, const struct plan_row *row, const char *note);
/* Where nothing was found: the rule that refuses most, what needs the least memory, pins in the way. */
enum answer plan_show_nothing(
    struct run *r, const struct plan_in *in, const struct plan_question *b, const struct plan_found *found);
/* One row for each number of GPUs: fewest, cheapest, fastest. */
enum answer plan_show_scales(
    struct run *r, const struct plan_in *in, const struct plan_question *b, struct plan_found *found);

/* Front, curve over GPUs, or step time over memory; NULL: nothing to draw. */
const struct plot *plan_plot(struct run *r, const struct plan_question *b, const struct plan_row *rows, size_t n,
    const struct plan_found *found);

/* --- what runs today --------------------------------------------------------------------------------------- */

/* A layout as settings of the inputs of train: `layout.tp` 8, `layout.pp` 4.  False with errors. */
bool plan_from_layout(struct run *r, struct word from, struct settings *out);
/* What runs today: its own variant, whose space has every micro-batch and policy. */
struct plan_today {
	struct plan_variant *variant;
	double n_gpus;
	struct plan_row row;
};
/* What the plan was asked with the settings in place of its pins; false with errors. */
bool plan_bind_today(struct run *r, const struct plan_in *plan, const struct plan_question *b,
    const struct settings *said, struct plan_today *out);
/* Single changes of what the settings say runs today, and the best two. */
enum answer plan_show_changes(
    struct run *r, const struct plan_in *in, const struct plan_question *b, const struct settings *today);

/* --- `ridge plan serve`: setups of serving engines that meet SLOs under a load, ranked ----------------------- */

struct plan_serve_in {
#define PLAN_SERVE_OPTIONS(X)                                                                                          \
	X('m', model, "model", "model", WORD, "MODEL", "model", NULL, "model: name in the database, or file")          \
	X('g', gpu, "gpu", "gpu", WORDS, "NAME[:N],...", "gpu", NULL,                                                  \
	    "GPUs to try; NAME:N uses at most N of them: h100:8,h200:4")                                               \
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
	struct words gpus; /* without their numbers */
	struct capacity_plan_case about;
	struct capacity_search search;
	struct plan_load load;
	enum plan_rank rank;
	struct word dtype;
	/* sized with the limits of the engine, or those given: what pools are made of */
	size_t n_plain;
	const struct plan_candidate *plain;
	struct plan_candidate *today; /* of --from, sized; or NULL */
	/* of a front: the two measures, and all that was compared */
	int x, y;
	size_t n_points;
	struct plan_served_row *points;
};

/* Candidates sized, tuned, ranked and confirmed.  False with errors. */
bool plan_serve_search(struct run *r, const struct plan_serve_in *in, struct plan_served *p);
/* The half-width, in logarithms, of what a setup is ranked by. */
double plan_serve_half(struct run *r, const struct plan_served *p, const struct plan_candidate *c);
/* A letter for all that the first of its group cannot be told from, down the table. */
void plan_serve_groups(struct run *r, const struct plan_served *p, struct plan_served_row *rows, size_t n);
/* The rows that are listed: the best of each GPU, engine and dtype, or the front. */
struct plan_served_row *plan_serve_rows(struct run *r, const struct plan_served *p, size_t *n);
/* Whether --pareto asks for operating points of one replica, which cover all loads... */
bool plan_serve_points_asked(const struct plan_serve_in *in);
/* ...so no input that shapes or ranks a load goes with them.  False with errors. */
bool plan_serve_points_free(struct run *r);
/* False with an error: no such pair. */
bool plan_serve_front(struct run *r, struct plan_served *p, struct plan_served_row **rows, size_t *n);
/* The front before all setups, or what rows are ranked by over the TPOT. */
const struct plot *plan_serve_plot(
    struct run *r, const struct plan_served *asked, const struct plan_served_row *rows, size_t n);

enum answer plan_serve_show(struct run *r, const struct plan_served *p, const struct plan_served_row *rows, size_t n);

/* GPUs and how many there are of each, NULL: any number.  False with errors. */
bool plan_serve_stock(struct run *r, const struct words *gpus, struct words *names, const double ***most);
/* `4 x h200-sxm5-141gb tp=1,max-step-tokens=2048`: limits of the scheduler that are not the engine's, as --from has
 * them. */
const char *plan_serve_part_text(struct run *r, double n_replicas, const struct plan_candidate *c);
/* GPUs that are paid for a part of a fleet, in whole instances, which parts of one GPU and price share; 0: paid for
 * with an earlier part. */
double plan_serve_rented(const struct plan_fleet *f, int first);
/* Whether the number of some GPU is given. */
bool plan_serve_limited(const struct plan_served *p);
/* Intervals of TTFT and TPOT at a load, from what the errors of the engine's published runs leave open. */
void plan_serve_bands(
    struct run *r, const struct plan_candidate *c, const struct plan_point *at, struct interval out[2]);
/* A part of a fleet at the load of today, and what it showed in a simulation. */
struct plan_mix_part {
	double n_paid_gpus; /* of its GPU, with those of later parts; 0: paid with an earlier one */
	double share_frac;  /* of the requests */
	struct plan_point usual, proven;
	struct interval ttft, tpot;
};

/* A fleet, and what it comes to. */
struct plan_mix {
	struct plan_fleet fleet;
	struct plan_mix_part parts[FLEET_MOST_PARTS];
	bool filled, confirmed; /* carries the load; in a simulation too */
	double value;           /* what rows are ranked by */
};

/* Fleets where the number of GPUs is given, the best first: of each engine and type the one that is cheaper than all
 * single setups, or all GPUs where those do not carry the load. */
struct plan_mix *plan_serve_fleets(struct run *r, const struct plan_served *p, size_t *n);
/* GPUs, USD a month and watts of a fleet, by its parts; NaN: not known. */
double plan_mix_gpus(struct sheet *sh, const struct plan_mix *m);
double plan_mix_usd(struct sheet *sh, const struct plan_mix *m);
double plan_mix_watt(struct sheet *sh, const struct plan_mix *m);
/* Show fleets of several setups where the number of GPUs is given; `alone`: no single setup carries the load, so print
 * one with --emit, and what all GPUs together take where that is too little. */
enum answer plan_serve_show_fleets(struct run *r, const struct plan_served *p, bool alone, size_t *n_shown);

/* One setup as a pool of one side. */
struct plan_side {
	const struct plan_candidate *c;
	double n; /* replicas that the planned load takes, without spares */
	double alone_s,
	    service_s;     /* of a request: TTFT without waiting and transfer, and what it keeps a replica busy */
	double transfer_s; /* of a request's caches, over a link for each GPU of a replica */
	double cost;       /* of the replicas, as ranked: USD per second, or GPUs */
};

/* Replicas that prefill, others that decode, and the link between them. */
struct plan_pair {
	const struct plan_side *prefill, *decode;
	const struct link *link;
	double n_prefill, n_decode;
	double ttft_s, tpot_s, transfer_s, link_frac;
	double cost; /* USD per second; GPUs where no price is known; infinite: the simulation misses an SLO */
	bool priced, confirmed;
	double n_added;           /* replicas that the simulation asked for */
	struct plan_point proven; /* simulated: the planned load, without spares */
};

/* The cheapest pairs of pools whose caches the link carries, simulated, the first the best. */
struct plan_pair *plan_serve_pairs(struct run *r, const struct plan_served *p, const struct link *link, size_t *n);
/* Show pairs of pools below the rows, and print one with --emit. */
enum answer plan_serve_show_pools(struct run *r, const struct plan_served *p);

#endif
