/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The layouts of a training job that are expected to be fastest, of those that may fit.
 *
 * A family is one (tp, pp, cp, ep, etp, zero); its members differ in chunks per stage, micro-batch and recomputation.
 * The layer of a step is timed once for each (tp, cp, ep, etp, micro-batch, recomputation) and shared by all pipelines;
 * memory, the dearer half, is worked out only for members that can still enter the table.  Both are those of `ridge
 * train` and `ridge memory`.
 */
#ifndef RIDGE_SEARCH_LAYOUT_LAYOUT_H
#define RIDGE_SEARCH_LAYOUT_LAYOUT_H

#include "base/base.h"
#include "model/memory/memory.h"
#include "model/train/train.h"

#include <pthread.h>

/* ID, what, megatron, torchtitan: what a launcher refuses, and where its source says so (Megatron-LM 0.20, d98e8a64;
 * torchtitan 0.2.2, 73a0e697).  In the order in which the search applies them. */
#define LAYOUT_RULES(X)                                                                                                \
	X(TENSOR, "tp divides the attention heads, and KV heads are a multiple or a divisor of it",                    \
	    "megatron/core/transformer/transformer_config.py:1446", "arithmetic")                                      \
	X(WORLD, "tp x pp x cp divides the GPUs", "megatron/training/arguments.py:432",                                \
	    "torchtitan/distributed/parallel_dims.py")                                                                 \
	X(BATCH, "micro-batch x dp divides the global batch", "megatron/core/num_microbatches_calculator.py:382",      \
	    "arithmetic")                                                                                              \
	X(PACKED, "packed samples take micro-batches of one sequence", "megatron/bridge/training/config.py",           \
	    "ridge-train(1)")                                                                                          \
	X(STAGES, "pp x vp divides the layers, embedding and loss counted or not",                                     \
	    "megatron/training/arguments.py:945", "torchtitan/distributed/pipeline_parallel.py:218")                   \
	X(INTERLEAVED, "with vp, pp divides the micro-batches of a step",                                              \
	    "megatron/core/model_parallel_config.py:431", "torch/distributed/pipelining/schedules.py")                 \
	X(SEQUENCE, "2 cp divides the sequence length, and tp where sequences are parallel",                           \
	    "megatron/training/arguments.py:1336", "torchtitan/distributed/parallel_dims.py")                          \
	X(EXPERTS, "ep divides the experts", "megatron/training/arguments.py:1657", "arithmetic")                      \
	X(RACK, "experts that HybridEP serves are in one NVLink domain", "scripts/performance/perf_plugins.py",        \
	    "ridge-train(1)")                                                                                          \
	X(EXPERT_RANKS, "ep x etp divides the GPUs of a stage", "megatron/core/parallel_state.py:871",                 \
	    "torchtitan/distributed/parallel_dims.py")                                                                 \
	X(EXPERT_COPIES, "ep x etp divides shard x tp", "megatron/core/parallel_state.py",                             \
	    "torchtitan/distributed/parallel_dims.py")                                                                 \
	X(BACKWARD, "updates in the backward pass exclude ZeRO and pipelines", "ridge-memory(1)", "ridge-memory(1)")   \
	X(OPTIMIZER, "narrow moments and updates on the host need the distributed optimizer, not full sharding",       \
	    "megatron/core/optimizer/optimizer_config.py", "ridge-train(1)")                                           \
	X(STACK, "the time model has no answer for it", "ridge-train(1)", "ridge-train(1)")
enum layout_rule {
#define LAYOUT_RULE(id, what, megatron, torchtitan) LAYOUT_##id,
	LAYOUT_RULES(LAYOUT_RULE)
#undef LAYOUT_RULE
	    N_LAYOUT_RULES,
};
const char *layout_rule_text(enum layout_rule r);
/* Where the source of the framework says so. */
const char *layout_rule_place(enum layout_rule r, const struct stack *s);

enum layout_degree {
	DEGREE_TP,
	DEGREE_PP,
	DEGREE_VP,
	DEGREE_CP,
	DEGREE_EP,
	DEGREE_ETP,
	DEGREE_DP,
	DEGREE_ZERO,
	N_DEGREES,
};
const char *layout_degree_name(enum layout_degree d);

/* What a degree may be: ranges, single values among them; n is 0: anything that is legal. */
enum { MOST_PIN_RANGES = 16, MOST_POLICIES = 18, MOST_MICRO_BATCH = 16 };
struct layout_pin {
	int n;
	struct {
		double low, high;
	} ranges[MOST_PIN_RANGES];
};
bool layout_pin_allows(const struct layout_pin *p, double value);

/* What is looked for: the fastest that fit, those with the least memory, or all that no other one beats in both. */
enum layout_goal { GOAL_TIME, GOAL_MEMORY, GOAL_FRONT };

/* Who waits for a search.  `go` is called by any thread with the layouts that it has looked at; false ends the search
 * with what was found so far. */
struct layout_watch {
	bool (*go)(void *context, double n_done);
	void *context;
};

struct layout_policy {
	enum recompute recompute;
	double n;
	unsigned modules;
	const char *text;  /* as --recompute takes it; NULL where chunk_frac says how many layers */
	double chunk_frac; /* of BLOCK: share of a chunk's layers, for layouts that it leaves whole ones; 0: n layers */
	unsigned away;     /* modules whose inputs wait in the host's memory, bits of enum offload_module */
};

/* Products that were timed before, shared by all searches with the same kernels; each thread takes one at a time. */
struct layout_memos;
struct layout_memos *layout_memos_new(struct arena *a, const struct calibration *kernels);
void layout_memos_free(struct layout_memos *m);

struct layout_space {
	struct train_ask ask;     /* layout, batch and recomputation are left open */
	struct memory_job memory; /* the same job */
	bool modeled;             /* there is a rule for its memory, and a card to compare it with */
	bool across;              /* tensor parallelism may leave the NVLink domain */
	bool shards;              /* full sharding is tried where the framework does it on request */
	bool exhaustive;          /* every family, not the n_rows best */
	bool least;               /* where nothing fits, the least memory is looked for */
	bool pipelines;           /* none without one: another space has those */
	bool ran;                 /* what is known of the layout ran: its chance to fit is 1 */
	enum layout_goal goal;
	double n_gpus, n_global_sequences;
	double shard; /* 0: all replicas */
	struct layout_pin pins[N_DEGREES];
	struct layout_pin batches; /* micro-batches */
	int n_policies;
	struct layout_policy policies[MOST_POLICIES];
	size_t n_rows, n_threads;         /* threads 0: one for each core */
	const struct layout_watch *watch; /* NULL: nobody waits */
	struct layout_memos *memos;       /* NULL: every product is timed anew */
};

/* The usual policies of the stack for this model, cheapest in time first. */
void layout_policies(struct layout_space *s);
/* The policy of a layout as --recompute takes it; layers of BLOCK that it comes to.  What else the job offloads with a
 * policy that offloads modules is part of the job, see fit_offload_text. */
const char *layout_policy_text(struct arena *a, const struct layout_space *s, const struct layout *l, int policy);
double layout_policy_n(const struct layout_space *s, const struct layout *l, int policy);
/* Whether it is a policy of its own there: some layers of a chunk and not all. */
bool layout_policy_holds(const struct layout_space *s, const struct layout *l, int policy);

struct layout_row {
	struct layout layout;
	double n_sequences; /* of a micro-batch */
	int policy;
	double step_s, peak_byte; /* peak_byte NaN: not modeled */
	enum verdict verdict;
	double chance_frac; /* that it fits; 1: not modeled */
	bool untried;       /* its schedule or sharding is that of no published run */
};
/* What rows are put in order by.  A layout that does not fit has no throughput, so the time of a step over the chance
 * that it does; and with a schedule or sharding of no published run, a standard deviation more. */
double layout_expected_s(const struct layout_row *row);

struct layout_result {
	size_t n_rows;
	struct layout_row *rows; /* one for each family, fastest first; of a front, all of it */
	size_t n_points;         /* of a front: all that were compared */
	struct layout_row *points;
	double n_searched;                /* legal layouts */
	double n_refused[N_LAYOUT_RULES]; /* families by the rule that refuses them */
	enum train_refusal why;           /* of those without a step time, the first */
	bool has_risky, has_near, has_least;
	struct layout_row risky; /* the fastest that may fit, where it is faster than the first row */
	struct layout_row near;  /* the fastest that does not fit, where it is faster than the first row */
	struct layout_row least; /* the least memory that was found, where nothing fits */
};

/* Legal layouts, and what has the most values. */
double layout_count(const struct layout_space *s, const char **widest);
/* Whether there is any, and what each rule refused. */
bool layout_legal(const struct layout_space *s, double n_refused[N_LAYOUT_RULES]);
void layout_search(struct arena *a, const struct layout_space *s, struct layout_result *out);
/* A row as the jobs that the commands have for it. */
void layout_memory_job(const struct layout_space *s, const struct layout_row *row, struct memory_job *out);
void layout_train_ask(const struct layout_space *s, const struct layout_row *row, struct train_ask *out);

/* --- between the files of this folder --------------------------------------------------------------------- */

enum { MOST_CHUNKS = 64, MOST_BATCHES = MOST_MICRO_BATCH };

/* One member of a family. */
struct member {
	double step_s, peak_byte; /* the peak of what stays on a front */
	short vp, n_sequences, policy;
	bool untried;
	enum verdict verdict;
};

struct layout_family {
	struct layout layout; /* vp 1 */
	int n_vp, n_batches;
	short vp[MOST_CHUNKS], batches[MOST_BATCHES];
	struct member *members; /* fastest first */
	size_t n_members;
	double least_s; /* of the fastest */
	bool fits, misses;
	struct layout_row best, fastest, near, least; /* fastest: of those that may fit */
};

/* Families with one layer: all pipelines of a (tp, cp, ep, etp, sharded or not). */
struct layout_block {
	size_t first, n;
};

struct search {
	const struct layout_space *space;
	struct train_job job; /* all but the layout, the batch and the policy */
	size_t n_families, n_blocks, room, room_blocks;
	struct layout_family *families;
	struct layout_family **order; /* fastest first */
	struct layout_block *blocks;
	struct arena *arena;
	struct layout_result *out;
	pthread_mutex_t lock;
	double *kept; /* expected steps of the n_rows best that may fit, sorted */
	size_t n_kept;
};

/* Lay the legal layouts into families and blocks, and count the refused ones by rule. */
void layout_enumerate(struct search *s);
/* Whether micro-batches of this many sequences go through vp chunks of a stage. */
bool layout_interleaves(const struct layout_space *space, const struct layout *l, int vp, double n_sequences);
/* Largest micro-batch that is looked at. */
int layout_most_batch(const struct layout_space *space);

#endif
