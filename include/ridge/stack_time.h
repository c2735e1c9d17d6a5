/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a training framework of some release costs in time: which kernels it runs, and what it overlaps. */
#ifndef RIDGE_STACK_TIME_H
#define RIDGE_STACK_TIME_H

#include "ridge/sheet.h"

/* The attention kernel: scores in memory, FlashAttention 1 (Triton), 2, or what a vendor tuned for the GPU. */
enum attention_form { ATTENTION_UNFUSED, ATTENTION_FLASH1, ATTENTION_FLASH2, ATTENTION_TUNED, N_ATTENTION_FORMS };

/* How expert-parallel tokens travel when nobody says. */
enum dispatcher { DISPATCH_PLAIN, DISPATCH_DEDUP, DISPATCH_BY_MODEL };

struct stack_time {
	bool given;
	bool listed;            /* constants were set on published runs of this framework */
	struct datum sigma;     /* factor on the time of all layers' kernels */
	struct datum moe_sigma; /* the same for mixtures of experts; absent: sigma */
	enum attention_form attention;
	bool tp_overlap;          /* tensor-parallel collectives overlap with products */
	bool dp_overlap;          /* gradients and parameters travel beside computation */
	bool legacy_zero;         /* ZeRO of 2020-21: one rail, parameter by parameter, nothing hidden */
	bool reshards_pipeline;   /* full sharding gathers for every micro-batch in a pipeline too */
	struct datum reduce_byte; /* of a gradient on the wire */
	struct datum elementwise, elementwise_compiled; /* traffic of element-wise kernels over that of fused ones */
	struct datum logit_byte, logit_byte_compiled;   /* traffic of the loss per logit */
	bool expert_eager;                              /* activations of experts run as many separate kernels */
	bool graphs;                                    /* CUDA graphs */
	struct datum host_frac; /* host floor of a dense layer over that of an eager framework */
	struct datum step_s;    /* of a step, outside layers: input, norms, reading the loss */
	struct datum moe_floor_s,
	    moe_expert_floor_s;                /* host floor of an expert layer, and per quantised local expert */
	struct datum moe_sync_s, moe_expert_s; /* waits of the device: for routed counts, and per quantised expert */
	enum dispatcher dispatcher;
	struct datum p2p_exposed;  /* share of traffic between stages that is waited for */
	bool full_p2p;             /* whole tensors between stages, not a slice per tensor-parallel rank */
	bool packs;                /* tuning packs short samples into whole sequences */
	bool stops_early;          /* full recomputation ends before a layer's last product and its scatter */
	bool skips_padding;        /* encoders leave out the padding of long sequences, by an amount that nobody says */
	bool selects_operators;    /* `selective` recomputation is by operator, not of attention's core */
	bool local_batch;          /* with pipelines the batch that is named is the local one */
	struct datum chunk_layers; /* of a pipeline that is interleaved unless told otherwise; absent: it is not */
	struct datum release;      /* year and month, 202604; absent: unknown or not versioned */
	const char *except, *instead; /* ids of models whose recipes are those of another stack, and its id */
	struct datum spread;          /* standard deviation of ln(measured / predicted) over runs of this framework */
	struct datum n_runs;
};

#endif
