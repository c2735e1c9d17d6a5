/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Searches over the models: what fits, changes that make it fit, replica plans, the closed form of serving. */
#ifndef RIDGE_SEARCH_PLAN_PLAN_H
#define RIDGE_SEARCH_PLAN_PLAN_H

#include "base/base.h"
#include "model/measured/measured.h"
#include "model/memory/memory.h"
#include "model/serve/serve.h"
#include "model/train/train.h"
#include "search/simulate/simulate.h"

/* A change to a job, as options, and its result. */
struct memory_fix {
	char change[384];
	struct memory_job job;
	double need_byte, n_gpus;
	enum verdict verdict;
};

/* GPUs of a layout. */
double fit_gpus(const struct layout *l);
/* `tp=8,dp=4,zero=1,sp`: as --layout takes it, with all that its framework would do otherwise where it is left out. */
void fit_layout_text(const struct memory_job *job, char *buf, size_t size);
/* `optimizer,core_attn`: all that the job offloads as --offload takes it. */
void fit_offload_text(const struct memory_job *job, char *buf, size_t size);

/* The largest micro-batch, and the longest sequence in steps of the layout, that fit; 0 when none does. */
double fit_largest_batch(const struct memory_job *job);
double fit_longest_sequence(const struct memory_job *job);
/* The fewest GPUs that the same job fits on, with the layout; false when no layout up to 16384 GPUs does.  Tensor
 * parallelism stays within n_node GPUs. */
bool fit_fewest_gpus(const struct memory_job *job, double n_node, struct memory_fix *out);
/* Changes that make it fit, nearest first, single ones before pairs; those that fit on the same GPUs come before those
 * that need more.  Returns how many. */
int fit_fixes(const struct memory_job *job, double n_node, struct memory_fix *out, int most);

/* The same for bare numbers under a limit. */
double numbers_largest_batch(const struct memory_numbers *in, double limit_byte);
double numbers_fewest_gpus(const struct memory_numbers *in, double limit_byte);

/* Shared by the searches over memory jobs. */

/* True when tp divides the heads of every block, and its KV heads can be dealt to the ranks. */
bool fit_divides_heads(const struct workload *w, double tp);
/* Routed experts of a layer, 0 when there are none. */
double fit_experts(const struct workload *w);

/* After a change of layout or batch: micro-batches and loss as the commands have them.  False when no whole numbers of
 * micro-batches do. */
bool fit_settle(struct memory_job *job);
/* False for experts that tensor parallelism would feed twice: no Megatron trains them without sequence parallelism. */
bool fit_may_train(const struct memory_job *job);

/*
 * Replicas of each setup that meet SLOs under a load, and the bottleneck.
 *
 * A search over the request rate of one replica finds the highest one within the SLOs.  Concurrent users are a rate
 * that depends on their latency (Little's law).
 */

enum plan_measure { PLAN_TTFT, PLAN_TPOT, PLAN_E2E, N_PLAN_MEASURES };
/* ID, name in --slo, quantile: statistics of a latency that an SLO can limit. */
#define PLAN_STATISTICS(X)                                                                                             \
	X(MEAN, "mean", NAN)                                                                                           \
	X(P50, "p50", 0.5)                                                                                             \
	X(P90, "p90", 0.9)                                                                                             \
	X(P95, "p95", 0.95)                                                                                            \
	X(P99, "p99", 0.99)
enum plan_statistic {
#define STATISTIC(id, name, share) PLAN_##id,
	PLAN_STATISTICS(STATISTIC)
#undef STATISTIC
	    N_PLAN_STATISTICS,
};

struct plan_objective {
	enum plan_measure measure;
	enum plan_statistic statistic;
	double limit_s;
};

/* Request rate, or users with think time. */
struct plan_load {
	double rate_request_per_s; /* NaN: users */
	double n_users, think_s;
	double isl_token, osl_token, isl_cv, osl_cv;
	double cached_frac;
	double n_drafts, n_accepted, draft_s; /* as in struct serve_load */
	double growth_frac;                   /* planned for on top */
	double utilisation_frac;              /* of a replica's saturation, at most */
	double n_spare;                       /* replicas that may fail */
	const struct plan_objective *objectives;
	size_t n_objectives;
};

/* One replica at one load. */
struct plan_point {
	double n_running, rate_request_per_s;
	double latency_s[N_PLAN_MEASURES][N_PLAN_STATISTICS];
	double load;      /* requests per second, or users */
	double full_frac; /* of the rate that it would take without objectives; set by plan_most */
};

enum plan_bound {
	PLAN_BY_TTFT,
	PLAN_BY_TPOT,
	PLAN_BY_E2E,
	PLAN_BY_CACHE,
	PLAN_BY_SEQUENCES,
	PLAN_BY_THROUGHPUT, /* more sequences would not make more tokens */
	PLAN_BY_NOTHING,    /* fewer than one replica would do */
	PLAN_DOES_NOT_FIT,  /* no request fits */
	PLAN_MISSES,        /* an objective is missed by a request that is alone */
	PLAN_SHORT,         /* more GPUs than there are */
	PLAN_SIMULATED_OUT, /* no number of replicas that was tried meets them in the simulation */
};

const char *plan_bound_text(enum plan_bound b);

/* A candidate setup and its result. */
struct plan_candidate {
	const struct serve_setup *setup;
	const void *about; /* the caller's */
	double n_replica_gpus;
	double n_unit_gpus;             /* GPUs per rental unit */
	double gpu_usd_per_s, gpu_watt; /* NaN: unknown */
	const double *n_most_gpus;      /* that there are of its GPU, one number for all its setups; NULL: any number */

	enum plan_bound bound;
	struct plan_point most;  /* that a replica takes */
	double n_needed, n_all;  /* replicas; with spares */
	struct plan_point usual; /* the load of today spread over all of them */
	double n_gpus, n_rented_gpus, all_usd_per_s, all_watt;
	bool untried; /* no published run of its engine has its pipeline stages: it counts as if it took a tenth more */
	bool idle;    /* SLOs leave a replica nearly idle, which makes it pointless */
	bool front;   /* on the Pareto front: no other candidate is both cheaper and faster */
	bool confirmed;
	double n_added;           /* replicas that the simulation asked for */
	struct plan_point proven; /* simulated: planned load, spares missing */
};

/* The share of the requests that a percentile stands for; NaN: the mean. */
double plan_share(enum plan_statistic s);
/* What all requests of the load are like. */
struct serve_load plan_serve_load(const struct plan_load *l);
/* The closed form at a rate or a concurrency; false when the replica cannot take it. */
bool plan_point(
    const struct serve_setup *s, const struct plan_load *load, double rate_request_per_s, struct plan_point *out);
bool plan_point_users(
    const struct serve_setup *s, const struct plan_load *load, double n_users, struct plan_point *out);
/* Of what requests meet. */
void plan_point_of(
    const struct serve_setup *s, const struct plan_load *load, const struct serve_flow *f, struct plan_point *out);
/* As plan_point, but of percentiles those of the objectives alone; what requests meet there. */
bool plan_glance(const struct serve_setup *s, const struct plan_load *load, double rate_request_per_s,
    struct serve_flow *f, struct plan_point *out);
/* Means and percentiles of what requests meet, as in a plan: of `load` on a replica where they meet `f`. */
void plan_latencies(const struct serve_setup *s, const struct serve_load *load, const struct serve_flow *f,
    double latency_s[N_PLAN_MEASURES][N_PLAN_STATISTICS]);
/* The most that one replica takes; false when it takes nothing: bound says why. */
bool plan_most(
    const struct serve_setup *s, const struct plan_load *load, struct plan_point *out, enum plan_bound *bound);
/* Replicas, cost and power of one candidate. */
void plan_size(struct plan_candidate *c, const struct plan_load *load);
/* What setups are ranked by. */
enum plan_rank { PLAN_RANK_COST, PLAN_RANK_POWER, PLAN_RANK_GPUS, PLAN_RANK_TTFT, PLAN_RANK_TPOT, N_PLAN_RANKS };
/* Of a sized candidate; NaN: no price or power is known, infinite: it does not meet the objectives. */
double plan_rank_value(const struct plan_candidate *c, enum plan_rank rank);
bool plan_feasible(const struct plan_candidate *c);
/* The factor by which a setup that no published run has must beat others to rank ahead of them; 1 for all else. */
double plan_handicap(const struct plan_candidate *c);
/* Sized candidates, the first the best (by GPUs where no price or power is known), the front of cost and latency
 * marked. */
void plan_sort(struct arena *a, struct plan_candidate *list, size_t n, enum plan_rank rank);
/* The worst latency of a point over its limit, and of which objective it is; 0 without objectives. */
double plan_excess(const struct plan_load *load, const struct plan_point *p, enum plan_measure *worst);
/* The latency of a request that is alone; false when not even one fits. */
bool plan_alone(const struct serve_setup *s, const struct plan_load *load, struct plan_point *out);
/* All candidates, sized and sorted. */
void plan_all(struct arena *a, struct plan_candidate *list, size_t n, const struct plan_load *load);
/* Simulate a candidate at the planned load without its spares, and add replicas until it meets the objectives. */
void plan_confirm(struct plan_candidate *c, const struct plan_load *load, uint64_t seed);

/* Whether a sized candidate meets the objectives in a simulation at the planned load, without its spares; what requests
 * meet there.  False without a simulation, too. */
bool plan_rehearse(const struct plan_candidate *c, const struct plan_load *load, uint64_t seed, struct plan_point *out);
/* The same of replicas that each have this part of the planned load. */
bool plan_holds(const struct plan_candidate *c, const struct plan_load *load, double replica_load, uint64_t seed,
    struct plan_point *out);

/* Replicas that prefill and others that decode, without spares. */
struct plan_pools {
	const struct serve_setup *prefill, *decode;
	double n_prefill, n_decode, n_running; /* n_running: sequences of a replica that decodes */
	double link_byte_per_s, link_latency_s;
};
/* The same of two pools, at a rate of requests. */
bool plan_pools_hold(const struct plan_pools *p, const struct plan_load *load, uint64_t seed, struct plan_point *out);

/* Fleets of several setups: replicas that differ in GPU or layout, behind one load balancer. */

struct plan_fleet_part {
	const struct plan_candidate *c;
	double n_replicas;
};

enum { FLEET_MOST_PARTS = 16 };

struct plan_fleet {
	int n_parts;
	struct plan_fleet_part parts[FLEET_MOST_PARTS]; /* in the order in which they were taken */
	double load; /* that it takes within the objectives, without its spares: requests per second, or users */
};

/* Price of one request per second, or of one user, on a setup: watts or GPUs where the rank is one of these, else USD
 * per second; GPUs where that is not known. */
double plan_fleet_price(const struct plan_candidate *c, enum plan_rank rank);
/* Fill the load with the cheapest setups, as far as there are GPUs of each, the rest with what carries it cheapest;
 * with the spares of the load.  Candidates are sized, by plan_fleet_price, and each takes a load.  False when all GPUs
 * together do not carry it: the fleet has them all. */
bool plan_fleet_fill(const struct plan_candidate *const *list, size_t n, const struct plan_load *load,
    enum plan_rank rank, struct plan_fleet *out);
/* A part's replicas at this share of what they take. */
void plan_fleet_point(
    const struct plan_load *load, const struct plan_fleet_part *part, double share, struct plan_point *out);
/* Requests per second, or users, planned for. */
double plan_demand(const struct plan_load *load);

/* A serving query in closed form, without a sheet: capacity, speed, and reliability of the prediction. */

enum serve_regime {
	SERVE_OFFLINE, /* all requests queued at the start; n_requests of the load, or unlimited */
	SERVE_CLOSED,  /* closed loop: n_concurrent clients with think time */
	SERVE_ONLINE,  /* Poisson arrivals */
	SERVE_STATIC,  /* one static batch */
	SERVE_PROMPT,  /* prefill only: TTFT of a batch */
	SERVE_ENCODE,  /* one pass of an encoder over a batch */
};

struct serve_question {
	const struct serve_setup *setup;
	const struct gpu *gpu;
	enum serve_regime regime;
	struct serve_load load;
	double n_batch;            /* static batches, prompts, encoders */
	double rate_request_per_s; /* online */
	double think_s;            /* closed: between an answer and the client's next request, on average */
	bool row_split;            /* GPUs share every matrix by rows, as llama.cpp did in 2023 */
};

/* Seconds, tokens and rates of one replica; NaN: does not apply. */
struct serve_metrics {
	bool fits, saturated;
	double weight_byte, pool_token; /* one GPU; the replica */
	double n_running;
	double first_s;  /* TTFT */
	double step_s;   /* TPOT */
	double answer_s; /* E2E latency */
	double output_token_per_s, prompt_token_per_s, request_per_s;
	double saturation_request_per_s;
	struct serve_flow flow;                          /* of requests that come and go */
	struct serve_burst burst;                        /* the beginning of a finite run of clients; n 0: none */
	double steady_first_s, first_p50_s, first_p99_s; /* TTFT after it, and percentiles over the run; NaN: no run */
	struct serve_batch batch;                        /* the step that most of the time is spent in */
	struct serve_terms terms;                        /* its parts */
};

void serve_answer(const struct serve_question *q, struct serve_metrics *out);
/* Whether the prompts of all clients together take more than half of the time from one request to the next. */
bool serve_in_step(const struct serve_question *q, const struct serve_metrics *m);
/* What prompts of an engine run on that runs every operator by itself. */
struct unfused_gpu serve_unfused_gpu(const struct serve_setup *s, const struct gpu *gpu);

/* --- reliability of a prediction ------------------------------------------------------------------------- */

enum serve_trust { SERVE_TRUSTED, SERVE_WARNED, SERVE_REFUSED };
enum { SERVE_MOST_REASONS = 12 };

struct serve_judgement {
	enum serve_trust trust; /* the worst of the reasons */
	int n;
	const char *reasons[SERVE_MOST_REASONS];
};

/* How far figures of what no published run has may be off beside all else, as a standard deviation, and how much better
 * it must be to come first: an assumption. */
extern const double plan_unproven_frac;

/* Whether no published run of this engine has pipeline stages on such GPUs.  llama.cpp and FasterTransformer have
 * published pipelines, TensorRT-LLM those of cards without NVLink. */
bool serve_is_untried(const struct serve_setup *s, const struct gpu *gpu);
struct serve_judgement serve_judge(const struct serve_question *q, const struct serve_metrics *m);

/* Throughput gain from 10 % more of each resource. */
struct serve_gains {
	double mem_bandwidth, arithmetic, links, host;
};
struct serve_gains serve_elasticity(const struct serve_question *q, const struct serve_metrics *now);
/* What limits: `memory bandwidth`, `compute`, `communication`, `host`, `KV capacity`. */
const char *serve_bound(const struct serve_question *q, const struct serve_metrics *m, const struct serve_gains *g);

/*
 * Times of GEMMs by shape: layouts that a search tries share most of theirs.  One cache belongs to one set of
 * kernel parameters and one thread.
 */

struct train_memo *train_memo_new(struct arena *a, const struct calibration *kernels);
/* For struct train_job, members `gemm` and `memo`. */
double train_memo_gemm(struct train_memo *memo, const struct gemm_shape *shape, enum dtype t);
/* The job's products from this cache. */
void train_memo_use(struct train_memo *memo, struct train_job *job);

/* A floor of the memory of one GPU: states and the activations that no policy drops. */
double train_memory_floor(const struct train_job *job);

/* Sensitivity: the step with one figure of the machine or the job changed. */

enum train_gain {
	GAIN_MEMORY,
	GAIN_ARITHMETIC,
	GAIN_LINK,
	GAIN_NETWORK,
	GAIN_MICRO_BATCH,
	GAIN_BATCH,
	GAIN_SEQUENCE,
	N_GAINS,
};
const char *train_gain_text(enum train_gain g);
/* Throughput over that of the unchanged job; NaN if the change does not apply. */
double train_gain(const struct train_job *job, enum train_gain g);

/* Pipeline schedules with a smaller bubble, for a job that waits for its pipeline. */

enum { MOST_SCHEDULES = 3 };

/* A change of the schedule, as the options that make it, with the step and the memory that it gives. */
struct train_schedule {
	char change[160];
	double step_s, need_byte; /* need_byte: NaN without a rule of memory */
	enum verdict verdict;
};

/* The finest interleaving that divides the layers equally; the finest that fits where that does not; weight gradients
 * in the bubbles where the framework has such a schedule.  Only what makes the step shorter; returns how many.
 * `memory`: the same job, `modeled` when there is a rule for it. */
int train_schedules(const struct train_job *job, const struct memory_job *memory, bool modeled,
    struct train_schedule out[MOST_SCHEDULES]);

#endif
