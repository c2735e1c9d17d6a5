/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RIDGE_MODEL_MEMORY_MEMORY_H
#define RIDGE_MODEL_MEMORY_MEMORY_H

#include "base/sheet.h"
#include "model/layer/layer.h"

#include <stdint.h>

/* What a training framework of some release costs in time: which kernels it runs, and what it overlaps. */

/* The attention kernel: scores in memory, FlashAttention 1 (Triton), 2, or what a vendor tuned for the GPU. */
enum attention_form { ATTENTION_UNFUSED, ATTENTION_FLASH1, ATTENTION_FLASH2, ATTENTION_TUNED, N_ATTENTION_FORMS };

/* Default dispatcher of expert-parallel tokens. */
enum dispatcher { DISPATCH_PLAIN, DISPATCH_DEDUP, DISPATCH_DEDUP_HOPPER, DISPATCH_OPEN };
/* Context parallelism: keys and values around a ring, gathered at once, or heads exchanged for tokens (Jacobs et al.,
 * arXiv:2309.14509). */
enum context_form { CONTEXT_RING, CONTEXT_GATHER, CONTEXT_HEADS };

/* How much of an all-to-all to the experts runs beside computation: as published runs have it, none, or all that the
 * layer's kernels last (Megatron-Core's overlap_moe_expert_parallel_comm). */
enum expert_overlap { EXPERT_OVERLAP_PARTIAL, EXPERT_OVERLAP_NONE, EXPERT_OVERLAP_FULL };

struct stack_time {
	bool given;
	bool listed;            /* constants were set on published runs of this framework */
	bool dense_runs;        /* ... without experts or adapters among them */
	struct datum sigma;     /* factor on the time of all layers' kernels */
	struct datum moe_sigma; /* the same for mixtures of experts; absent: sigma */
	enum attention_form attention;
	enum context_form context;
	bool whole_waves;         /* its GEMMs are those of 2022 and before: whole tiles, no split depth */
	bool tp_overlap;          /* tensor-parallel collectives overlap with products */
	bool regathers;           /* sequence parallelism gathers inputs again for the weight gradients */
	bool dp_overlap;          /* gradient and parameter communication overlaps with compute */
	bool reshards_pipeline;   /* full sharding gathers for every micro-batch in a pipeline too */
	struct datum reduce_byte; /* of a gradient in communication */
	bool gathers_fp8;         /* parameters of per-tensor fp8 products travel in 8 bits */
	/* traffic of elementwise kernels over that of fused ones; pure: eager, with all states in 16 bits */
	struct datum elementwise, elementwise_compiled, elementwise_pure;
	bool expert_eager;      /* activations of experts run as many separate kernels */
	bool graphs;            /* CUDA graphs */
	bool captures_experts;  /* router and dispatch are in CUDA graphs where Megatron-Core can capture a layer */
	bool whole_experts;     /* its published runs with experts shard the optimizer alone */
	bool no_zero_2;         /* ... shard the optimizer alone, or parameters too */
	struct datum host_frac; /* host floor of a dense layer over that of an eager framework */
	struct datum step_s;    /* of a step, outside layers: input, norms, reading the loss */
	struct datum host_param_per_s; /* parameters that the CPUs of a node update when the optimizer is offloaded */
	struct datum moe_floor_s,
	    moe_expert_floor_s;     /* host floor of an expert layer, and per quantized local expert */
	struct datum hybrid_sync_s; /* wait of the device in an expert layer where kinds of layers alternate */
	struct datum moe_sync_s, moe_expert_s; /* waits of the device: for routed counts, and per quantized expert */
	enum dispatcher dispatcher;
	enum expert_overlap expert_overlap;
	bool packs;                /* tuning packs short samples into whole sequences */
	bool stops_early;          /* full recomputation ends before a layer's last product and its scatter */
	bool skips_padding;        /* encoders leave out the padding of long sequences, by an unpublished amount */
	bool selects_operators;    /* `selective` recomputation is by operator, not of attention's core */
	bool local_batch;          /* with pipelines the batch that is named is the local one */
	struct datum chunk_layers; /* of a pipeline that is interleaved unless told otherwise; absent: it is not */
	struct datum release;      /* year and month, 202604; absent: unknown or not versioned */
	struct datum spread;       /* standard deviation of ln(measured / predicted) over runs of this framework */
	struct datum n_runs;
	struct datum left_out_frac,
	    n_models; /* typical error with a run's model left out of the fit, and of how many */
};

/* Frameworks as plain structs: what a training stack or serving engine keeps in memory beside what the mathematics
 * needs. */

enum stack_use { STACK_TRAIN, STACK_INFER };

/* Which list of saved tensors holds: one read off the framework's own layers, or the general one with traits. */
enum stack_rules { RULES_OPERATORS, RULES_MEGATRON_CORE };

/* 16-bit parameters with an fp32 master; fp32 parameters cast for each product; 16-bit parameters and nothing else. */
enum state_scheme { STATES_MIXED, STATES_FP32, STATES_PURE };

/* When gradients of the previous step coexist with the loss. */
enum held { HELD_ALWAYS, HELD_ACCUMULATING };

/* What a published peak counts: live tensors, the allocator's pool, or everything on the device. */
enum counter { COUNTER_ALLOCATED, COUNTER_RESERVED, COUNTER_DEVICE, N_COUNTERS };

enum pool_kind {
	POOL_NONE,   /* the cache grows with the sequences */
	POOL_CARD,   /* a share of the card, less weights and activations */
	POOL_STATIC, /* a share of the card for weights and cache alone */
	POOL_FREE,   /* a share of what weights and activations leave */
};

/* An implementation of the loss: bytes held per logit when it is largest. */
struct loss {
	const char *name;
	struct datum logit_byte;
};

/* What published runs call it: all that is given must hold. */
struct stack_match {
	const char *says, *software, *precision; /* parts of source or software, and of software; the precision */
	struct datum from, before;               /* year and month, 202407 */
	const char *refused;                     /* why such runs say nothing of it */
	const char *counter;                     /* which of the counters their tables print; NULL: the widest */
	bool gib;                                /* what their tables call GB is GiB */
};

struct stack {
	const char *id, *name, *notes;
	enum stack_use use;
	enum stack_rules rules;
	struct datum safety;                   /* 95 % of measured peaks are below prediction x this */
	struct datum counter_byte[N_COUNTERS]; /* what a counter shows beyond live tensors */

	bool tensor, sequence, pipeline, context, expert; /* parallel forms it has */
	bool hybrid_ep;   /* HybridEP serves experts: it has buffers for a whole group, and does not leave a rack */
	bool zero_bubble; /* a schedule whose weight gradients fill the bubbles */
	struct datum max_zero;
	bool zero_on_request; /* ZeRO-3 only when asked for (Megatron-FSDP) */
	bool lora, quantised_base;

	enum state_scheme scheme;
	struct datum gradient_byte; /* per parameter; absent: as the parameters */
	enum held gradients;
	bool unties_head;          /* the LM head is untied where the model ties it to the table */
	struct datum adapter_byte; /* per adapter parameter, as stored */
	bool adapter_dropout;      /* adapters are trained with dropout unless told otherwise */
	bool fused_casts;          /* adapters cast their inputs inside their kernels and keep no copy */
	bool mxfp8_parameters;     /* of mxfp8 products: parameters are stored in mxfp8 alone, in both directions */
	bool fp8_frozen;           /* of fp8 products: frozen weights are stored in fp8 alone, attention is fp8 too */
	bool fused_qkv_adapters;   /* one adapter kernel for q, k and v: three copies whatever is adapted */
	bool casts_for_quantised;  /* k-bit training casts what is not quantized to fp32 */

	bool eager_norm, eager_norm_compiled; /* a norm that also keeps an fp32 copy */
	bool expanded_kv;                     /* KV heads are repeated for every query head */
	bool fused_activation;                /* gate and up are all that the activation keeps */
	bool v_view;                          /* values stay a view of the fused QKV output */
	bool keeps_quantised_inputs;          /* products with quantized weights keep their inputs */
	bool keeps_fp32_inputs;               /* ... in fp32 */
	bool flash, dropout;                  /* what is usual */
	struct datum eager_policy_byte; /* beside the per-operator policy run eagerly, per hidden element and token */
	bool late_probabilities;        /* router weights are applied after the experts */
	bool permute_fusion;

	struct datum step_byte;                     /* per trainable parameter of the rank, temporary */
	struct datum subgroup_byte, subgroup_param; /* ... at most this many parameters at once */
	struct datum bucket_byte, bucket_param;     /* reduction buckets, bytes per parameter and most parameters */
	struct datum live_byte;                     /* gathered and prefetched parameters of ZeRO-3, at most */
	bool gathers_frozen_base;         /* FSDP keeps a frozen base gathered to the end of the backward pass */
	struct datum n_quantised_buffers; /* dequantised copies of the largest map */
	struct datum workspace_byte, expert_workspace_byte;
	struct datum graph_byte, graph_pipeline_byte; /* static buffers of CUDA graphs, without and with a pipeline */

	int n_losses;
	struct loss *losses;
	const char *loss, *loss_compiled, *loss_parallel; /* the usual one; when compiled; with tensor parallelism */

	enum pool_kind pool;
	struct datum utilization;                /* the share of the pool's kind */
	struct datum block_token, batch_token;   /* page size; most tokens of one prefill step */
	struct datum sampler_rows, sampler_byte; /* profiled sampler: sequences, bytes per vocabulary entry */
	struct datum decoder_rows, decoder_byte; /* decoder buffers: sequences, bytes per vocabulary entry */
	struct datum n_kv_copies;                /* of a cache that grows by concatenation */

	struct stack_time time; /* of a training step */

	int n_matches;
	struct stack_match *matches;
};

/* Layouts of training: what frameworks do where a layout leaves it open, and what none of them accepts. */

/* Whether the framework shards parameters fully unless told otherwise. */
bool layout_is_fsdp(const struct stack *s);
/* ZeRO stage where none is named: full sharding where that is the framework's way, else the optimizer's states over
 * the replicas where it can. */
int layout_usual_zero(const struct stack *s, bool adapters, double n_replicas);
/* Sequence parallelism goes with tensor parallelism in every framework that has it. */
bool layout_usual_sp(const struct stack *s, double tp);
/* Chunks of a pipeline stage: as published runs of the framework have them. */
double layout_usual_chunks(const struct stack *s, const struct workload *w, double pp);
/* Tensor parallelism inside experts: that of the layer, or none where experts are spread by ep. */
double layout_usual_etp(const struct workload *w, const struct layout *l);

/* GPUs over which ZeRO divides what it shards: the replicas, or fewer under hybrid sharding; and those that share the
 * experts' states, of which expert parallelism leaves fewer. */
double layout_shard_ranks(const struct layout *l);
double layout_expert_shard_ranks(const struct layout *l, double n_shards);

/* Whether each group of ranks that shares a copy has whole groups of experts (Megatron-Core, parallel_state.py:
 * expert_data_parallel_size; torchtitan, parallel_dims.py). */
bool layout_copies_experts(const struct layout *l);

/* Most pipeline chunks (pp x vp): a layer each; embedding, loss and every extra prediction layer may have one too. */
double layout_most_chunks(const struct workload *w);
/* Whether pp x vp chunks share the layers equally: alone, or counted with embedding, loss and extra prediction
 * layers (Megatron-LM, megatron/training/arguments.py, account_for_embedding_in_pipeline_split and the like), which
 * releases before Megatron-Core 0.11 do not have (its CHANGELOG: uneven virtual stages). */
bool layout_splits_evenly(const struct stack *s, const struct workload *w, double n_chunks);
/* Whether the framework takes a string with the layers of each chunk, which need not be as many
 * (--pipeline-model-parallel-layout). */
bool layout_splits_freely(const struct stack *s);
/* The most chunks of a stage with an equal split; 1 where there is none above. */
double layout_finest_chunks(const struct stack *s, const struct workload *w, double pp);
/* Whether the rules of torchtitan hold for layouts. */
bool layout_is_titan(const struct stack *s);
/* Tokens that a trained sequence is a multiple of.  Context parallelism gives each rank two parts, which balances a
 * causal mask (Megatron-LM, megatron/training/arguments.py:1336), and sequence parallelism divides what a rank has
 * among those of a tensor-parallel group; torchtitan asks for both at once (distributed/parallel_dims.py,
 * seq_len_divisor).  Patches of an image come in odd numbers: they are padded. */
double layout_sequence_unit(const struct stack *s, const struct workload *w, const struct layout *l);
/* Whether query groups can be dealt to tp ranks: a multiple or a divisor of them. */
bool layout_deals_heads(const struct attention *a, double tp);

/* What was said of the sequences of a training step; 0: nothing. */
struct batch_said {
	double n_sequences;        /* of a micro-batch on one replica */
	double n_microbatches;     /* of a step on one replica */
	double n_global_sequences; /* of a step on all replicas */
};

/* The whole numbers that follow: global batch = micro-batch x micro-batches x replicas.  False when there are none. */
bool batch_settle(const struct batch_said *said, double seq_length, const struct layout *l, struct batch_said *out);

/*
 * What fills one GPU when a transformer is trained, fine-tuned or served: bytes by component, at the moment and on the
 * pipeline stage where they are most.  Closed forms, nothing is simulated.
 */

/* X(id, text, moments per parameter, bytes of one beside fp32 parameters or masters, bytes of one beside pure 16-bit
 * parameters, title).  Adam: Kingma and Ba, ICLR 2015.  8-bit states carry one fp32 scale per 2048: Dettmers et al.,
 * arXiv:2110.02861.  Lion: Chen et al., arXiv:2302.06675. */
#define OPTIMIZERS(X)                                                                                                  \
	X(ADAM, "adam", 2, 4, 2, "Adam and AdamW: two moments")                                                        \
	X(ADAM8BIT, "adam8bit", 2, 1.001953125, 1.001953125, "Adam with both moments in 8 bits")                       \
	X(LION, "lion", 1, 4, 2, "Lion: one moment")                                                                   \
	X(MOMENTUM, "momentum", 1, 4, 2, "SGD with momentum")                                                          \
	X(ADAGRAD, "adagrad", 1, 4, 2, "Adagrad: one accumulator")                                                     \
	X(SGD, "sgd", 0, 0, 0, "plain SGD: no state")
enum optimizer {
#define OPTIMIZER(id, text, n_moments, mixed_byte, pure_byte, title) OPTIMIZER_##id,
	OPTIMIZERS(OPTIMIZER)
#undef OPTIMIZER
	    N_OPTIMIZERS,
};

/* X(id, text, bits per weight with its scales, experts only, bitsandbytes, title): frozen or served weights.
 * nf4: one fp32 scale per 64, with double quantization an 8-bit one and an fp32 one per 64 x 256 (Dettmers et al.,
 * arXiv:2305.14314).  GPTQ and AWQ: a 16-bit scale and a zero of the weights' width per 128.  mxfp4: one 8-bit scale
 * per 32 (OCP MX 1.0); models that ship in it quantize only their experts (gpt-oss model card).  nvfp4: one 8-bit scale
 * per 16. */
#define QUANTS(X)                                                                                                      \
	X(NF4, "nf4", 4.5, false, true, "4-bit normal float")                                                          \
	X(NF4_DQ, "nf4-dq", 4.126953125, false, true, "4-bit normal float, scales quantized too")                      \
	X(INT4, "int4", 4.15625, false, false, "GPTQ or AWQ, groups of 128")                                           \
	X(INT8, "int8", 8.1875, false, false, "8-bit integers, groups of 128")                                         \
	X(FP8, "fp8", 8.001953125, false, false, "8-bit floating point, blocks of 128 x 128")                          \
	X(MXFP4, "mxfp4", 4.25, true, false, "4-bit floating point, groups of 32")                                     \
	X(NVFP4, "nvfp4", 4.5, false, false, "4-bit floating point, groups of 16")
enum quant {
	QUANT_NONE,
#define QUANT(id, text, bits, experts_only, bitsandbytes, title) QUANT_##id,
	QUANTS(QUANT)
#undef QUANT
	    N_QUANTS,
};

/* X(id, text, title): parts of a layer that can be computed again in the backward pass instead of being saved; the
 * names are those of Megatron-Core's --recompute-modules. */
#define MODULES(X)                                                                                                     \
	X(CORE_ATTN, "core_attn", "the attention kernel")                                                              \
	X(MLA_UP_PROJ, "mla_up_proj", "latent attention's up-projections, norms and rotary embedding")                 \
	X(MOE_ACT, "moe_act", "the activation inside the experts")                                                     \
	X(LAYERNORM, "layernorm", "norms that stand alone")                                                            \
	X(SHARED_EXPERTS, "shared_experts", "the shared experts")                                                      \
	X(MLP, "mlp", "a dense MLP with its norm")                                                                     \
	X(MOE, "moe", "the whole mixture of experts")
enum module {
#define MODULE(id, text, title) MODULE_##id,
	MODULES(MODULE)
#undef MODULE
	    N_MODULES,
};

/* X(id, text, title): the maps of a layer that an adapter can be put on, and what is trained beside them; learned
 * prompts and scales: Zhang et al., arXiv:2303.16199, and Gao et al., arXiv:2304.15010. */
#define TARGETS(X)                                                                                                     \
	X(Q, "q", "queries")                                                                                           \
	X(K, "k", "keys")                                                                                              \
	X(V, "v", "values")                                                                                            \
	X(O, "o", "attention output")                                                                                  \
	X(GATE, "gate", "gate of the MLP")                                                                             \
	X(UP, "up", "up map of the MLP")                                                                               \
	X(DOWN, "down", "down map of the MLP")                                                                         \
	X(EMBED, "embed", "token table and head, trained in full along with the adapters")                             \
	X(PROMPT, "prompt", "learned prompts of as many tokens as the rank, in every layer")                           \
	X(OUTPUTS, "outputs", "a scale and a shift of every map's output, and the norms' gains")
enum target {
#define TARGET(id, text, title) TARGET_##id,
	TARGETS(TARGET)
#undef TARGET
	    N_TARGETS,
};

/* X(id, text, title): modules of a layer whose inputs can be offloaded, by the names of Megatron-Core. */
#define OFFLOAD_MODULES(X)                                                                                             \
	X(ATTN_NORM, "attn_norm", "the norm before attention")                                                         \
	X(QKV_LINEAR, "qkv_linear", "the maps to queries, keys and values")                                            \
	X(CORE_ATTN, "core_attn", "the attention kernel")                                                              \
	X(ATTN_PROJ, "attn_proj", "attention's output map")                                                            \
	X(MLP_NORM, "mlp_norm", "the norm before the feed-forward part")                                               \
	X(EXPERT_FC1, "expert_fc1", "the experts' first maps")                                                         \
	X(MOE_ACT, "moe_act", "the activation inside the experts")
enum offload_module {
#define OFFLOAD_MODULE(id, text, title) AWAY_##id,
	OFFLOAD_MODULES(OFFLOAD_MODULE)
#undef OFFLOAD_MODULE
	    N_OFFLOAD_MODULES,
};
/* All that attention offloads where its norm is part of a map, as bits. */
enum { AWAY_OF_ATTENTION = 1u << AWAY_QKV_LINEAR | 1u << AWAY_CORE_ATTN | 1u << AWAY_ATTN_PROJ };

enum recompute {
	RECOMPUTE_NONE,
	RECOMPUTE_FULL,    /* one checkpoint per layer */
	RECOMPUTE_EVERY,   /* every n-th layer is checkpointed, the others keep everything */
	RECOMPUTE_BLOCK,   /* the first n layers of every chunk of a stage are (Megatron-Core's method `block`) */
	RECOMPUTE_UNIFORM, /* one checkpoint per n layers */
	RECOMPUTE_OFFLOAD, /* nothing: what the first n layers keep waits in the host's memory (cpu_offloading) */
	RECOMPUTE_OP,      /* every other GEMM and attention are kept */
	RECOMPUTE_MODULES, /* parts of layers; core_attn alone is "selective" */
};

enum offload { OFFLOAD_OPTIMIZER = 1, OFFLOAD_PARAMS = 2, OFFLOAD_ACTIVATIONS = 4 };
enum { N_OFFLOADS = 3 };

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
	double n_mtp; /* prediction layers that are trained */
	bool dedup;   /* the dispatcher of experts sends a token once to a domain */

	enum dtype dtype;          /* of the GEMMs */
	double weight_copies;      /* quantized copies of each weight: with and without the transposed one */
	bool quantised_parameters; /* the parameters themselves are stored quantized */
	enum state_scheme scheme;
	enum optimizer optimizer;
	bool optimizer_in_backward; /* each gradient is used and freed at once */
	struct datum gradient_byte; /* per parameter, absent: the stack's */
	bool precision_aware;       /* Adam keeps its moments in moment_dtype */
	enum dtype moment_dtype;
	unsigned offload;

	enum recompute recompute;
	double recompute_n;
	unsigned modules;         /* bits of enum module */
	unsigned offload_modules; /* bits of enum offload_module */
	bool flash, dropout, compiled;
	enum context_form context;
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
	bool counts_device;                    /* ... everything on the device */
	struct datum card_byte, headroom_frac; /* headroom absent: the rule of the safety factor */
	struct datum host_byte;                /* memory of a node; absent: unknown */
	double n_host_gpus;                    /* that share it */

	struct memory_memo *memo; /* NULL: every stage is worked out each time */
};

/* Sums over the layers of a pipeline stage: they follow from the model, its layout, what is computed again and what is
 * offloaded. */
enum stage_sum {
	STAGE_LINEAR,
	STAGE_EXPERT,
	STAGE_OTHER,
	STAGE_KEPT,
	STAGE_RETURNED,
	STAGE_TRANSIENT,
	STAGE_DUMMIES,
	N_STAGE_SUMS,
};

/* Those of earlier jobs, for searches: jobs that differ in chunks of a stage, micro-batches and policies alone.
 * Starts as zeros. */
enum { MEMORY_MEMO_SIZE = 256 };
struct memory_memo {
	struct memory_memo_entry {
		uint64_t key; /* the stage, vp, and the policy where a sum follows from it; 0: empty */
		double recompute_n, sums[N_STAGE_SUMS]; /* NaN: not worked out yet */
	} entries[MEMORY_MEMO_SIZE];
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
const char *offload_name(int bit); /* of enum offload */
const char *offload_module_name(enum offload_module m);
const char *target_name(enum target t);
const char *moment_name(enum moment m);
const char *verdict_name(enum verdict v);
double quant_bits(enum quant q);
/* Moments that an optimizer keeps per parameter, and bytes of one beside fp32 masters or pure 16-bit parameters. */
double optimizer_moments(enum optimizer o);
double optimizer_moment_byte(enum optimizer o, bool pure);
/* Bytes per parameter of a job's master copy and of each moment.  Where a precision-aware optimizer keeps bf16
 * parameters, the master is the 16 bits that they lack of fp32 (store_param_remainders of Transformer Engine's
 * FusedAdam); quantized training keeps it whole (Megatron-Core, optimizer_config.py). */
double memory_master_byte(const struct memory_job *job);
/* Whether Adam is Megatron-Core's precision-aware one: for narrow moments, and for updates on the host. */
bool memory_is_precision_aware(const struct memory_job *job);
/* Whether a layout lets the optimizer be so: updates in the backward pass shard nothing, and have no stages; a
 * precision-aware one sits behind the distributed optimizer, and not behind Megatron-FSDP (Megatron-Core,
 * optimizer_config.py; Megatron-Bridge, scripts/performance/utils/overrides.py). */
bool memory_optimizer_holds(const struct memory_job *job, const struct layout *l);
double memory_moment_byte(const struct memory_job *job);
/* Whether a recompute policy goes with the activations that the job offloads: checkpoints need full recomputation,
 * modules none or that of modules. */
bool memory_policy_offloads(const struct memory_job *job, enum recompute policy);

/* --- the parts ------------------------------------------------------------------------------------------- */

/* Layers of chunk `chunk` of a pipeline, of pp x vp in the order of the layers. */
int memory_chunk_layers(const struct memory_job *job, int chunk);
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

/* Layers of the fullest chunk of a stage. */
double recompute_chunk_layers(const struct workload *w, const struct layout *l);
/* Layers for each one that is computed again, where some are and others keep everything: EVERY and BLOCK with n. */
double recompute_interval(
    struct sheet *sh, enum recompute policy, double n, const struct workload *w, const struct layout *l);
/* Whether a dispatcher that knows domains takes rows of the experts' width. */
bool workload_may_dedup(const struct workload *w);
/*
 * Whether router and dispatch of experts replay a CUDA graph.  Megatron-Core captures layer by layer no layer that is
 * computed again as a whole, none whose experts are, none that waits in the host's memory
 * (megatron/core/transformer/transformer_config.py), and none whose parameters Megatron-FSDP gathers
 * (NVIDIA/Megatron-LM#4232 and #5646).
 */
bool stack_captures_experts(const struct stack_time *s, enum recompute policy, unsigned modules, int zero);

/* Bytes per token that one layer saves for its backward pass: everything, and what the recompute policy keeps. */
double memory_layer_saved(struct sheet *sh, const struct memory_job *job, const struct block *block);
/* The same of the mean layer, and what of it is offloaded: layers, modules or checkpoints. */
double memory_mean_saved(struct sheet *sh, const struct memory_job *job);
double memory_mean_away(struct sheet *sh, const struct memory_job *job);
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

/* Usable bytes of a card by its label; the GB on the label are GiB. */
double memory_of_label(struct sheet *sh, double label_byte);
/* What the driver reports; else what follows from the label, marked unconfirmed. */
struct datum memory_of_gpu(const struct gpu *gpu);
/* 95 % of the measured peaks stay below this. */
double memory_safe(struct sheet *sh, double expected_byte, struct datum safety);
/* What is left of the card; negative when the answer is no. */
double memory_free(struct sheet *sh, double card_byte, double expected_byte);
/* The bytes that a peak may reach: a headroom of the card, or all but 1 % of it. */
double memory_limit(struct sheet *sh, const struct memory_job *job);
/* Whether training offloads anything. */
bool memory_uses_host(const struct memory_job *job);
/* What one GPU of the first stage leaves in the host's memory, and the GPUs of a node, bytes: a floor, because
 * frameworks keep gradients and staging buffers beside it. */
double memory_host(struct sheet *sh, const struct memory_job *job);
double memory_host_node(struct sheet *sh, const struct memory_job *job);
/* Whether a node is known to have less. */
bool memory_host_is_full(const struct memory_job *job);
/* DOES_NOT_FIT: the GPU's memory is too small, or its host's. */
enum verdict memory_verdict(const struct memory_job *job, double expected_byte);
/* The chance that what is expected to peak there stays within the limit: 1 with a headroom of its own. */
double memory_chance(const struct memory_job *job, double expected_byte);

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

/* Activations of every layer: 12 tensors of the hidden size per token. */
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

/* How many GPUs hold these users, or keep up with this load. */

/* How a user's cache is counted: exactly, from the model's shape, or by the linear rule of the worked examples. */
struct capacity_kv {
	const struct workload *w; /* NULL: the linear rule */
	double kv_elem_byte;
	double linear_byte_per_token; /* of the linear rule */
	double block_token;           /* 1: no blocks */
	double overhead_frac;         /* added on top instead of blocks */
};

/* Absent data (datum_absent) switch a question off. */
struct capacity_case {
	struct capacity_kv kv;
	struct datum mem_byte, headroom; /* the headroom a fraction */
	struct datum mem_byte_per_s;     /* absent: no speed is worked out */
	struct datum peak_flop_per_s;    /* of prompts, with a load */
	double work_flop_per_token;
	struct datum itl_s; /* every user gets a token at least this often */
	/* either users that hold user_token tokens each ... */
	struct datum n_users, user_token;
	/* ... or a load: requests per second, isl_token in and osl_token out */
	struct datum rate_request_per_s, isl_token, osl_token, utilisation;
	struct datum measured_token_per_s; /* generated by one replica; absent: the floor of bandwidth and arithmetic */
};

/* Weights: matrices in one type, what quantizers leave alone (embedding and head) in another. */
double capacity_weights(
    struct sheet *sh, const struct workload *w, double elem_byte_per_param, double rest_byte_per_param);
double capacity_weights_bits(struct sheet *sh, double n_params, double bits);

/* What one of tp GPUs holds of them. */
double capacity_share(struct sheet *sh, double weight_byte, double tp);

/* Arithmetic of one token, from the parameters that it meets. */
double capacity_work(struct sheet *sh, double n_params);

/* 0.5 MB per token for each 7e9 parameters.  Wrong for every model that shares KV heads. */
double capacity_linear_kv(struct sheet *sh, double n_params);
/* How far that rule is off for this model. */
double capacity_linear_error(
    struct sheet *sh, double linear_byte_per_token, const struct workload *w, double kv_elem_byte);

/* Cache of one user on one of tp GPUs. */
double capacity_user(struct sheet *sh, const struct capacity_kv *kv, double user_token, double tp);

/* One copy of the weights, spread with the cache over all GPUs: returns the GPUs. */
double capacity_pool(struct sheet *sh, const struct capacity_case *c, double weight_byte);
/* One way to lay a replica out: its GPUs, how many of them have users of their own (attention data parallel; else 1),
 * and of one GPU the weights and the space that they leave to caches. */
struct capacity_replica {
	double tp, n_groups, weight_byte, space_byte;
	double n_rented_gpus, gpu_usd_per_s; /* GPUs per rental unit; price NaN: none */
};

/* Replicas, each with its own copy: returns the GPUs, infinite when one replica does not fit. */
double capacity_replicas(struct sheet *sh, const struct capacity_case *c, const struct capacity_replica *a);
/* Users that one replica holds; less than 1: it does not fit. */
double capacity_replica_users(struct sheet *sh, const struct capacity_case *c, const struct capacity_replica *a);

/* Replicas of tp GPUs among n_gpus. */
double capacity_count(struct sheet *sh, double n_gpus, double tp);

/* What the answer hangs on: `weights`, `KV cache`, `latency`, `bandwidth`, `compute`, `measured rate`. */
const char *capacity_binds(const struct capacity_case *c, const struct capacity_replica *a);
const char *capacity_pool_binds(const struct capacity_case *c, double weight_byte);

/* Among n replicas the one that costs least (where all have a price), then that needs the fewest GPUs, the first of
 * equals; and the first that holds anybody.  -1 when none does. */
int capacity_best(const struct capacity_case *c, const struct capacity_replica *all, int n);
int capacity_fewest(const struct capacity_case *c, const struct capacity_replica *all, int n);

/* Tokens per second of every user while all of them generate: reading weights and caches once per token, at best. */
double capacity_user_rate(struct sheet *sh, const struct capacity_case *c, const struct capacity_replica *a,
    double n_users, double n_replicas);
double capacity_fleet_rate(struct sheet *sh, double n_users, double user_token_per_s);
double capacity_load_rate(struct sheet *sh, double rate_request_per_s, double osl_token);

/* Money: GPUs for a month of 730 hours, and a million generated tokens. */
double capacity_month_usd(struct sheet *sh, double n_gpus, double gpu_usd_per_s);
double capacity_million_usd(struct sheet *sh, double n_gpus, double gpu_usd_per_s, double fleet_token_per_s);

#endif
