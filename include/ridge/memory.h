/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What fills one GPU when a transformer is trained, fine-tuned or served: bytes by component, at the moment and on the
 * pipeline stage where they are most.  Closed forms, nothing is simulated.
 */
#ifndef RIDGE_MEMORY_H
#define RIDGE_MEMORY_H

#include "ridge/layout.h"
#include "ridge/stack.h"
#include "ridge/workload.h"

enum optimizer {
#define OPTIMIZER(id, text, n_moments, mixed_byte, pure_byte, title) OPTIMIZER_##id,
#include "ridge/optimizer.def"
#undef OPTIMIZER
	N_OPTIMIZERS,
};

enum quant {
	QUANT_NONE,
#define QUANT(id, text, bits, experts_only, bitsandbytes, title) QUANT_##id,
#include "ridge/quant.def"
#undef QUANT
	N_QUANTS,
};

enum module {
#define MODULE(id, text, title) MODULE_##id,
#include "ridge/recompute.def"
#undef MODULE
	N_MODULES,
};

enum target {
#define TARGET(id, text, title) TARGET_##id,
#include "ridge/recompute.def"
#undef TARGET
	N_TARGETS,
};

enum recompute {
	RECOMPUTE_NONE,
	RECOMPUTE_FULL,    /* one checkpoint per layer */
	RECOMPUTE_EVERY,   /* every n-th layer is checkpointed, the others keep everything */
	RECOMPUTE_UNIFORM, /* one checkpoint per n layers */
	RECOMPUTE_OP,      /* every other matrix product and attention are kept */
	RECOMPUTE_MODULES, /* parts of layers; core_attn alone is "selective" */
};

enum offload { OFFLOAD_OPTIMIZER = 1, OFFLOAD_PARAMS = 2, OFFLOAD_ACTIVATIONS = 4 };

/* The moments at which memory peaks: all activations and the logits; the first layer of the backward pass; the end of
 * the backward pass, when the embedding's gradient appears; the optimizer's step. */
enum moment { MOMENT_LOSS, MOMENT_BACKWARD, MOMENT_EMBEDDING, MOMENT_STEP, MOMENT_SERVING, N_MOMENTS };

enum verdict { FITS, RISKY, DOES_NOT_FIT };

struct memory_job {
	enum stack_use use;
	const struct workload *model;
	const struct stack *stack;
	struct layout layout;
	struct datum batch;          /* sequences of one micro-batch (training) or held at once (serving) */
	struct datum seq;            /* tokens of a sequence */
	struct datum n_microbatches; /* per step; absent: enough to fill the pipeline */
	struct batch_said said;      /* of batch and micro-batches: what a change of the layout must keep */
	bool no_sp;                  /* sequence parallelism is not wanted */
	bool gpipe;                  /* all forward passes before the first backward one */
	int n_stage_layers;          /* an explicit split: layers of each (virtual) stage; 0: even */
	const int *stage_layers;

	enum dtype dtype;          /* of the matrix products */
	double weight_copies;      /* quantised copies of each weight: with and without the transposed one */
	bool quantised_parameters; /* the parameters themselves are stored quantised */
	enum state_scheme scheme;
	enum optimizer optimizer;
	bool optimizer_in_backward; /* each gradient is used and freed at once */
	struct datum gradient_byte; /* per parameter, absent: the stack's */
	unsigned offload;

	enum recompute recompute;
	double recompute_n;
	unsigned modules; /* bits of enum module */
	bool flash, dropout, compiled, cp_all_to_all;
	struct datum imbalance; /* routed tokens of the busiest rank / mean */
	const struct loss *loss;
	bool loss_said; /* else that of the framework, which may follow the layout */

	struct datum lora_rank; /* 0: everything is trained */
	unsigned targets;       /* bits of enum target */
	bool adapter_dropout;
	enum quant quant, expert_quant; /* of frozen or served weights: maps of the layers, routed experts */

	double part_byte[N_PARTS];         /* served: of a stored weight, by part; 0: what quant or dtype say */
	const struct datum *stated_weight; /* served: of the whole model, instead of its count; or NULL */
	double kv_elem_byte;
	struct datum block_token, batch_token, utilization;

	struct datum context_byte;             /* what the counter shows beyond live tensors */
	struct datum card_byte, headroom_frac; /* headroom absent: the rule of the safety factor */
};

/* Bytes on one GPU. */
struct memory_use {
	double weights, gradients, optimizer, activations, logits, buffers, kv, context, total;
	int stage;
	enum moment moment;
};

const char *optimizer_name(enum optimizer o);
const char *quant_name(enum quant q);
const char *module_name(enum module m);
const char *target_name(enum target t);
const char *moment_name(enum moment m);
const char *verdict_name(enum verdict v);
double quant_bits(enum quant q);
/* Moments that an optimizer keeps per parameter, and bytes of one beside fp32 masters or pure 16-bit parameters. */
double optimizer_moments(enum optimizer o);
double optimizer_moment_byte(enum optimizer o, bool pure);

/* --- the parts ------------------------------------------------------------------------------------------- */

/* Layers of block `block` on a pipeline stage, all its chunks together. */
double memory_stage_layers(const struct memory_job *job, int stage, int block);
/* Micro-batches whose activations a stage holds, in layers of the whole stage. */
double memory_in_flight(struct sheet *sh, const struct memory_job *job, int stage);
/* Parameters that a rank of this stage stores, before ZeRO: maps of the layers, routed experts, all else. */
double memory_linear_params(struct sheet *sh, const struct memory_job *job, int stage);
double memory_expert_params(struct sheet *sh, const struct memory_job *job, int stage);
double memory_other_params(struct sheet *sh, const struct memory_job *job, int stage);
/* Adapter parameters of the rank. */
double memory_adapter_params(struct sheet *sh, const struct memory_job *job, int stage);

/* Bytes per token that one layer saves for its backward pass: everything, and what the recompute policy keeps. */
double memory_layer_saved(struct sheet *sh, const struct memory_job *job, const struct block *block);
double memory_layer_kept(struct sheet *sh, const struct memory_job *job, const struct block *block);
/* Tokens of one micro-batch on one rank. */
double memory_tokens(struct sheet *sh, const struct memory_job *job);

/* Frozen or served weights in this format: everywhere, or in the experts where the format is theirs alone. */
void memory_quantise(struct memory_job *job, enum quant q);
/* The loss that the framework computes such a job with; NULL where its file names none. */
const struct loss *memory_usual_loss(const struct memory_job *job);
/* Why there is no rule for this job, or NULL. */
const char *memory_lacks_rule(const struct memory_job *job);

/* --- the answer ------------------------------------------------------------------------------------------ */

/* One GPU of a stage at a moment; `use` (or NULL) gets the components. */
double memory_at(struct sheet *sh, const struct memory_job *job, int stage, enum moment moment, struct memory_use *use);
/* Whether memory can peak there: the loss is on the last stage only. */
bool memory_has_moment(const struct memory_job *job, int stage, enum moment moment);
/* The largest over stages and moments.  The search records nothing; the winner is recorded. */
double memory_peak(struct sheet *sh, const struct memory_job *job, struct memory_use *use);
/* The largest moment of one stage, nothing recorded. */
double memory_stage_peak(const struct memory_job *job, int stage, struct memory_use *use);

/* Usable bytes of a card that is sold with so many GB, which are GiB. */
double memory_of_label(struct sheet *sh, double label_byte);
/* What the driver reports; else what follows from the label, marked unconfirmed. */
struct datum memory_of_gpu(const struct gpu *gpu);
/* 95 % of the measured peaks stay below this. */
double memory_safe(struct sheet *sh, double expected_byte, struct datum safety);
/* What is left of the card; negative when the answer is no. */
double memory_free(struct sheet *sh, double card_byte, double expected_byte);
/* The bytes that a peak may reach: a headroom of the card, or all but 1 % of it. */
double memory_limit(struct sheet *sh, const struct memory_job *job);
enum verdict memory_verdict(const struct memory_job *job, double expected_byte);

/* Serving: stored weights of one GPU of a stage. */
double memory_weights(struct sheet *sh, const struct memory_job *job, int stage);
/* Serving: space that the engine gives the cache, and the tokens and sequences that it holds. */
double memory_kv_pool(struct sheet *sh, const struct memory_job *job);
double memory_pool_tokens(struct sheet *sh, const struct memory_job *job, double pool_byte);
double memory_pool_sequences(struct sheet *sh, const struct memory_job *job, double pool_byte);
/* What one sequence lacks of room on a GPU; 0 when it fits. */
double memory_missing(struct sheet *sh, const struct memory_job *job);

/* --- a list of operators, run and not trained ------------------------------------------------------------ */

/* Weights; inputs and outputs of the operator that has the most; both. */
double list_weights(struct sheet *sh, const struct workload *w, double elem_byte);
double list_operands(struct sheet *sh, const struct workload *w, double n_samples, double elem_byte);
double list_total(struct sheet *sh, double weights_byte, double operands_byte);

/* --- arithmetic on bare numbers: a model known only by its size ------------------------------------------ */

struct memory_numbers {
	struct datum n_params, weight_byte, gradient_byte, master_byte, moment_byte; /* bytes per parameter */
	double n_moments;
	struct datum batch, seq, hidden, n_layers, n_heads, head_dim;
	double elem_byte; /* of an activation */
	bool flash;
	struct datum activations_byte; /* given, or absent */
	double n_ranks;
	int zero;
	bool offload_optimizer;
	enum recompute recompute;
	double recompute_n;
	bool units12; /* 12 units per layer and token; else the tensor list of a GPT layer */
	struct datum context_byte;
};

/* Activations of every layer: 12 tensors of the hidden width per token. */
double simple12_activations(struct sheet *sh, const struct memory_numbers *in);
/* The same for a GPT layer with dropout: 34 h + 5 a s bytes per token in 16 bits. */
double gpt_activations(struct sheet *sh, const struct memory_numbers *in);
/* How many times less memory the activations of n_layers layers of n_units units take under a policy. */
double checkpoint_saving(struct sheet *sh, enum recompute policy, double every, double n_layers, double n_units);
/* Extra compute of a policy, as a fraction of a step: a backward pass costs two forward passes. */
double checkpoint_cost(struct sheet *sh, enum recompute policy, double every);
/* ZeRO: weights, gradients and optimizer states of one rank (Rajbhandari et al., SC 2020). */
double numbers_states(struct sheet *sh, const struct memory_numbers *in);
/* Weights, gradients and optimizer together, bytes per parameter. */
double numbers_byte_per_param(struct sheet *sh, const struct memory_numbers *in);
double numbers_total(struct sheet *sh, const struct memory_numbers *in);
/* Memory of many cards under full sharding, how many times one card, and the largest model that it holds. */
double zero_pool(struct sheet *sh, double n_gpus, double card_byte);
double pool_params(struct sheet *sh, double pool_byte, double byte_per_param);
/* Sequences per GPU, and gradient accumulation steps, that make up a global batch. */
double micro_batch(struct sheet *sh, double n_global_sequences, double n_replicas, double n_accumulation_steps);
double accumulation_steps(struct sheet *sh, double n_global_sequences, double n_replicas, double n_sequences);
/* The score matrix of one head, and what a tiled kernel keeps instead (Dao et al., NeurIPS 2022). */
double attention_matrix(struct sheet *sh, double seq_length, double elem_byte);
double attention_tiled(struct sheet *sh, double seq_length, double head_dim, double elem_byte);
/* The fraction saved by going from one size to another. */
double memory_saving(struct sheet *sh, double before_byte, double after_byte);

#endif
