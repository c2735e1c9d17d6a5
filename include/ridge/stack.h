/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frameworks as plain structs: what a training stack or serving engine keeps in memory beside what the mathematics
 * needs. */
#ifndef RIDGE_STACK_H
#define RIDGE_STACK_H

#include "ridge/sheet.h"
#include "ridge/stack_time.h"

enum stack_use { STACK_TRAIN, STACK_INFER };

/* Which list of saved tensors holds: one read off the framework's own layers, or the general one with traits. */
enum stack_rules { RULES_OPERATORS, RULES_MEGATRON_CORE };

/* 16-bit parameters with an fp32 master; fp32 parameters cast for each product; 16-bit parameters and nothing else. */
enum state_scheme { STATES_MIXED, STATES_FP32, STATES_PURE };

/* When gradients of the step before lie beside the loss. */
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
};

struct stack {
	const char *id, *name, *notes;
	enum stack_use use;
	enum stack_rules rules;
	struct datum safety;                   /* 95 % of measured peaks are below prediction x this */
	struct datum counter_byte[N_COUNTERS]; /* what a counter shows beyond live tensors */

	bool tensor, sequence, pipeline, context, expert; /* parallel forms it has */
	bool zero_bubble;                                 /* a schedule whose weight gradients fill the bubbles */
	struct datum max_zero;
	bool lora, quantised_base;

	enum state_scheme scheme;
	struct datum gradient_byte; /* per parameter; absent: as the parameters */
	enum held gradients;
	bool unties_head;          /* the head is a matrix of its own where the model ties it to the table */
	struct datum adapter_byte; /* per adapter parameter, as stored */
	bool adapter_dropout;      /* adapters are trained with dropout unless told otherwise */
	bool fused_casts;          /* adapters cast their inputs inside their kernels and keep no copy */
	bool fused_qkv_adapters;   /* one adapter kernel for q, k and v: three copies whatever is adapted */
	bool casts_for_quantised;  /* k-bit training casts what is not quantised to fp32 */

	bool eager_norm, eager_norm_compiled; /* a norm that also keeps an fp32 copy */
	bool expanded_kv;                     /* key and value heads are repeated for every query head */
	bool fused_activation;                /* gate and up are all that the activation keeps */
	bool v_view;                          /* values stay a view of the fused QKV output */
	bool keeps_quantised_inputs;          /* products with quantised weights keep their inputs */
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

	int n_losses;
	struct loss *losses;
	const char *loss, *loss_compiled, *loss_parallel; /* the usual one; when compiled; with tensor parallelism */

	enum pool_kind pool;
	struct datum utilization;                /* the share of the pool's kind */
	struct datum block_token, batch_token;   /* page size; most tokens of one prefill step */
	struct datum sampler_rows, sampler_byte; /* profiled sampler: sequences, bytes per vocabulary entry */
	struct datum n_kv_copies;                /* of a cache that grows by concatenation */

	struct stack_time time; /* of a training step */

	int n_matches;
	struct stack_match *matches;
};

#endif
