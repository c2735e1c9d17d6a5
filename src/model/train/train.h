/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RIDGE_MODEL_TRAIN_TRAIN_H
#define RIDGE_MODEL_TRAIN_TRAIN_H

#include "model/collective/collective.h"
#include "model/kernel/kernel.h"
#include "model/layer/layer.h"
#include "model/memory/memory.h"

/*
 * Time of one training step of a transformer: kernels of one layer, what of the communication stays exposed, the
 * pipeline, the optimizer.  Closed forms over kernels that were fitted to measurements; nothing is simulated.
 *
 * Times are of one rank of the slowest pipeline stage.  Conditions for refusals and warnings are in train.def.
 */

enum { TRAIN_MOST_LINEARS = 16, TRAIN_MOST_BLOCKS = 64 };

/* One GEMM of a layer on one rank: (rows x k) times (k x n). */
struct train_linear {
	double n, k;
	bool attention;   /* adapters sit here */
	bool up;          /* from a compressed width */
	bool shared;      /* of experts that every token visits */
	double rows_frac; /* of the rank's tokens: maps that are whole work on its part of the sequence */
};

/* Where it runs. */
struct train_machine {
	const struct calibration *kernels;
	int generation;                            /* 0 Volta, 1 Ampere, 2 Hopper, 3 Blackwell */
	double n_domain;                           /* GPUs that NVLink joins, at most those of a node */
	double host_byte_per_s;                    /* copies to the host's memory, one direction; 0: unknown */
	bool c2c;                                  /* that link is NVLink-C2C */
	double n_host_gpus, host_param_per_s;      /* GPUs that share CPUs; parameters that those update with Adam */
	double nic_byte_per_s;                     /* a GPU's share of its node's NICs, one direction, line rate */
	const struct network_calibration *network; /* by collective: what is reached of it */
	bool sharp, mesh;       /* NVSwitches that add up; a link from each GPU of a node to each other one */
	double pair_byte_per_s; /* all-reduce of a group smaller than a node without NVSwitch; 0: NVLink as fitted */
	double power_frac;      /* power limit over TDP; 1: none */
};

/* Whether NVLink joins more GPUs than the eight of a node: HybridEP serves racks, DeepEP nodes. */
static inline bool
train_is_rack(const struct train_machine *m)
{
	return m->n_domain > 8;
}

/* Time of one product, when the caller remembers shapes; see search/plan/train_cache.h. */
struct train_memo;
typedef double train_gemm_fn(struct train_memo *memo, const struct gemm_shape *shape, enum dtype t);

struct train_job {
	const struct workload *model;
	const struct stack_time *stack;
	struct train_machine machine;
	struct layout layout;
	int n_stage_layers; /* an explicit split: layers of each (virtual) stage; 0: even */
	const int *stage_layers;
	double n_gpus; /* dp tp pp cp */
	double n_global_sequences, n_sequences,
	    seq_length;               /* of a step, of one micro-batch of one rank, of a sequence */
	double packed_length;         /* mean length of what is packed into a sequence; 0: nothing */
	bool tokens_first;            /* tokens of several sequences lie side by side, as Megatron-Core holds them */
	enum dtype dtype;             /* of the layers' products; attention, router and logits stay at 16 bits */
	bool compiled, pure, dropout; /* pure: all states in 16 bits */
	enum attention_form attention;
	enum recompute recompute;
	double recompute_n;
	unsigned modules;     /* bits of enum module */
	double away_row_byte; /* activations of a token and layer that wait in the host's memory */
	unsigned offload;     /* bits of enum offload: states that do */
	bool adapters;        /* LoRA: the rest is frozen */
	double base_byte;     /* per frozen weight that is dequantised before each product; 0: none */
	double imbalance;     /* routed tokens of the busiest rank / mean */
	double head_frac;     /* rows of the head that are computed: masked positions of an encoder */
	double n_mtp;         /* extra prediction layers that are trained */
	bool dedup;           /* the dispatcher of experts sends a token once to a node */
	enum context_form context;
	bool zero_bubble;      /* weight gradients fill the pipeline's bubbles */
	bool balanced_stages;  /* the layout was chosen so that stages are equal */
	double optimizer_byte; /* traffic of the optimizer per parameter */
	train_gemm_fn *gemm;   /* NULL: worked out each time */
	struct train_memo *memo;
};

/* What a step is made of.  Of one layer and micro-batch unless said otherwise. */
struct train_terms {
	double n_microbatches, n_rows; /* tokens of a rank and micro-batch */
	double forward_s, backward_s, recompute_s, offload_s;
	double linear_s, attention_s, scan_s, elementwise_s, quantise_s, expert_s; /* of forward and backward */
	double attention_forward_s, attention_backward_s;
	double tp_s, cp_s, ep_s; /* exposed */
	double device_s;         /* all of the above */
	double floor_s, sync_s;  /* what the host needs, and waits that the device sees */
	double layer_s;
	double logits_s, p2p_s; /* of a micro-batch */
	double stage_s;         /* of the fullest stage and a micro-batch */
	double n_stage_layers;
	double bubble_s, pipeline_s; /* of a step */
	double dp_s, optimizer_s;    /* of a step */
	double weights_s;            /* of a step: offloaded weights that nothing hides */
	double rank_params, expert_params;
	double straggler;
	double step_s;
	double gather_s, scatter_s; /* of the data-parallel groups, before anything is hidden */
};

/* Shares of a step that add up to it. */
enum train_share {
#define TRAIN_SHARE(id, text, title) TRAIN_##id,
#include "model/train/train.def"
#undef TRAIN_SHARE
	N_TRAIN_SHARES,
};
const char *train_share_name(enum train_share s);
const char *train_share_title(enum train_share s);

/* What the job has and no published run of its framework, as a sentence; NULL: nothing. */
const char *train_unproven(const struct train_job *job);
/* Whether it is a schedule or a sharding; recipes of the framework do offload parts of layers. */
bool train_is_untried(const struct train_job *job);

/* --- the parts ------------------------------------------------------------------------------------------- */

/* Products of one layer on one rank, without routed experts; returns how many. */
int train_linears(const struct train_job *job, const struct block *block, struct train_linear out[TRAIN_MOST_LINEARS]);
/* Tokens of one micro-batch on one rank; micro-batches of a step. */
double train_rows(struct sheet *sh, const struct train_job *job);
double train_microbatches(struct sheet *sh, const struct train_job *job);
/* One product of a layer; what `gemm` of a job must return.  The next: power limit included. */
double train_product(struct sheet *sh, const struct gemm_shape *shape, const struct calibration *c, enum dtype t);
double train_gemm(
    struct sheet *sh, const struct train_job *job, double m, double n, double k, enum dtype t, double output_elem_byte);
/* One of the backward pass: gradients of inputs or of weights. */
double train_backward_gemm(
    struct sheet *sh, const struct train_job *job, double m, double n, double k, enum dtype t, double output_elem_byte);
/* The attention core of a layer, forward and backward. */
double train_attention_forward(struct sheet *sh, const struct train_job *job, const struct block *block);
double train_attention_backward(struct sheet *sh, const struct train_job *job, const struct block *block);
/* A collective of n_ranks, n_local of them in one NVLink domain. */
double train_collective(struct sheet *sh, const struct train_machine *m, enum collective c, double n_ranks,
    double n_local, double size_byte);
/* Tokens to their experts over domains, by a dispatcher that sends each once to a domain. */
double train_dispatch(struct sheet *sh, const struct train_job *job, const struct block *block, double size_byte);
/* One layer of this block; `out` (or NULL) gets the terms of a layer. */
double train_layer(struct sheet *sh, const struct train_job *job, const struct block *block, struct train_terms *out);
/* The head and its loss, forward and backward. */
double train_logits(struct sheet *sh, const struct train_job *job);
/* Parameters of a rank: all but routed experts, routed experts; and those that full sharding gathers layer by layer. */
double train_dense_params(struct sheet *sh, const struct train_job *job);
double train_expert_params(struct sheet *sh, const struct train_job *job);

/* Of a measured prefill kernel: the rate of its tiles and the time of a row of them besides. */
void train_attention_rate(const struct calibration *c, struct datum *flop_per_s, struct datum *block_s);
/* Those of a type of few bits, from a fit to products of this type. */
void train_narrow_kernels(struct calibration *c, enum dtype t, const struct gemm_calibration *measured);
/* Parameters for a type of 32 bits that has none, from those of 16 bits. */
void train_wide_kernels(struct calibration *c, enum dtype t, struct datum peak_flop_per_s);

/* --- the answer ------------------------------------------------------------------------------------------ */

/* Seconds of one step; `out` gets the terms. */
double train_step(struct sheet *sh, const struct train_job *job, struct train_terms *out);

/* The same in two pieces, for searches.  Layers and head depend on tp, sp, cp, ep, etp, dispatcher, micro-batch,
 * recomputation, type and whether parameters are sharded; not on pp, vp, dp nor the other stages of ZeRO. */
struct train_part {
	double layers_s, kind_s[TRAIN_MOST_BLOCKS];
	struct train_terms terms;
};
void train_part(const struct train_job *job, struct train_part *out);
double train_assemble(const struct train_job *job, const struct train_part *part, struct train_terms *out);

/* The step by share; they add up to t->step_s. */
void train_shares(const struct train_job *job, const struct train_terms *t, double share[N_TRAIN_SHARES]);

/* --- what follows from the time of a step ---------------------------------------------------------------- */

double train_step_tokens(struct sheet *sh, double n_global_sequences, double seq_length);
double train_token_rate(struct sheet *sh, double step_token, double step_s);
double train_gpu_rate(struct sheet *sh, double rate_token_per_s, double n_gpus);
/* Share of the arithmetic peak that FLOP by some convention reach. */
double train_utilisation(struct sheet *sh, double work_flop_per_token, double gpu_token_per_s, double peak_flop_per_s);
/* Model FLOP and those of recomputation. */
double train_hardware_flop(struct sheet *sh, const struct train_job *job, double model_flop_per_token);
double train_steps_needed(struct sheet *sh, double budget_token, double step_token);
double train_run_time(struct sheet *sh, double n_steps, double step_s);
double train_energy(struct sheet *sh, double n_gpus, double gpu_watt, double run_s);

/*
 * A training step of a list of operators: convolutional networks and recommenders.  An order of magnitude: each
 * operator by itself at what calibrated products and the memory reach, its backward pass twice the forward one,
 * gradients summed beside it.
 */

struct train_list_job {
	const struct workload *model; /* MODEL_OPERATORS */
	struct train_machine machine;
	double n_gpus, n_samples; /* samples of one GPU */
	enum dtype dtype;
	bool tables_spread; /* embedding tables are split over the GPUs; else each has all of them */
};

struct train_list_terms {
	double products_s, other_s, tables_s; /* forward and backward */
	double exchange_s, reduce_s;          /* all-to-all of table rows; gradients, exposed */
	double optimizer_s, step_s;
};

/* Why this list has no time, or NULL. */
double train_list_step(struct sheet *sh, const struct train_list_job *job, struct train_list_terms *out);
double train_sample_rate(struct sheet *sh, double n_global_samples, double step_s);

/*
 * From a question about training, which leaves much open, to a job for the model of train.h; what cannot be answered;
 * and which answers are less sure than others, and why.
 */

/* A job as commands bind it.  packed_length and n_mtp may be absent. */
struct train_ask {
	const struct workload *model;
	const struct stack *stack;
	struct train_machine machine;
	double n_gpus;
	struct layout layout;
	int n_stage_layers; /* layers of each (virtual) stage; 0: an even split */
	const int *stage_layers;
	struct datum n_global_sequences, n_sequences, seq_length, packed_length;
	enum dtype dtype;
	enum recompute recompute;
	double recompute_n, away_row_byte;
	unsigned modules, offload;
	bool compiled, pure, adapters, dropout;
	enum attention_form attention; /* N_ATTENTION_FORMS: the stack's */
	enum dispatcher dispatcher;    /* DISPATCH_OPEN: the stack's */
	double base_byte, optimizer_byte, imbalance;
	enum context_form context;
	bool zero_bubble, balanced_stages;
	struct datum n_mtp; /* absent: those of the model */
};

enum train_refusal {
	TRAIN_ANSWERED,
#define TRAIN_REFUSAL(id, text) TRAIN_REFUSES_##id,
#include "model/train/train.def"
#undef TRAIN_REFUSAL
	N_TRAIN_REFUSALS,
};

enum train_warning {
#define TRAIN_WARNING(id, factor, low, high, told, text) TRAIN_WARNS_##id,
#include "model/train/train.def"
#undef TRAIN_WARNING
	N_TRAIN_WARNINGS,
};

/* What the model chose and the user may want to know. */
enum train_assumption {
#define TRAIN_ASSUMPTION(id, text) TRAIN_ASSUMES_##id,
#include "model/train/train.def"
#undef TRAIN_ASSUMPTION
	N_TRAIN_ASSUMPTIONS,
};

/* Facts about a query that are not part of its job. */
struct train_doubts {
	bool rowwise;     /* 8-bit scales by row, in kernels of their own */
	bool transferred; /* kernels of another GPU */
	bool unmeasured;  /* collectives inside a node that follow from the link */
	bool ultra;       /* Blackwell Ultra: its experts and attention were hardly measured */
	bool capped;      /* a variant with less power or clock than the fitted one */
	bool may_shard;   /* full sharding is a choice of the framework, not its way */
	bool dispatcher_open, micro_batch_open, precision_open, evaluation;
	double n_nodes;
};

struct train_answer {
	struct train_job job;
	struct train_terms terms;
	enum train_refusal refusal;
	unsigned assumed, warned; /* bits */
	double band;              /* factor on the half-width of the interval */
	double low, high;         /* at least this wide, as factors on the step time; 1 and 1: no such bound */
	double step_s;            /* with what row-wise scaling costs */
};

const char *train_refusal_text(enum train_refusal r);
const char *train_warning_text(enum train_warning w);
/* Whether people are told, or the interval alone is wider. */
bool train_warning_told(enum train_warning w);
const char *train_assumption_text(enum train_assumption a);

/* All that the memory model's job has decided too; the machine and the schedule stay as they are. */
void train_ask_memory(struct train_ask *ask, const struct memory_job *job);
/* Build a->job, or set a->refusal. */
void train_fill(const struct train_ask *ask, struct train_answer *a);
/* Why no step of this job can be told, by arithmetic alone. */
/* Whether micro-batches may hold this many sequences of packed samples: Megatron-Core knows the samples by their ends,
 * in one sequence (megatron/core/transformer/attention.py; megatron/bridge/training/config.py). */
bool train_may_pack(const struct stack *stack, struct datum packed_length, double n_sequences);
enum train_refusal train_impossible(const struct train_job *job);
/* All of it: fill, predict, judge.  Nothing is recorded; with doubts that follow from the question added to `d`. */
void train_answer(const struct train_ask *ask, const struct train_doubts *d, struct train_answer *out);

/* Whether layers wait as steps of hybrids were fitted to do, whatever the experts of a GPU: stack_time.hybrid_sync_s.
 */
bool train_waits_alike(const struct train_job *job);
/* Why the layers of this model have no time here, or NULL. */
const char *train_lacks(const struct workload *w);

#endif
