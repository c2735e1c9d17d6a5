/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Serving engines: what is spent beside kernels, which kernels are chosen, how requests are admitted.  One struct per
 * family of versions that behave alike; its numbers were fitted to published runs and say how well they meet them.
 */
#ifndef RIDGE_ENGINE_H
#define RIDGE_ENGINE_H

#include "ridge/hw.h"
#include "ridge/stack.h"

/* What a family's kernels do on one architecture.  Absent: nothing special. */
struct engine_architecture {
	const char *architecture;   /* as the GPU's file says; `-gddr` is appended for cards without HBM */
	struct datum fp8_attention; /* prompts with 8-bit caches and products: times faster than in 16 bits */
	struct datum kv_reuse_frac; /* grouped decode kernels: share of the bandwidth that is reached */
	struct datum imbalance;     /* expert parallelism: a of 1 + a sqrt(2 ln(ep) ep / experts) */
	struct datum moe_time;      /* grouped products take this much longer than alone */
	bool imbalance_is_tokens;   /* uneven routing brings more tokens to a rank, not more time for its weights */
	struct datum moe_peak_frac; /* grouped products: share of the peak, relative to what 16-bit ones reach */
	struct datum
	    moe_feed_byte_per_s; /* operands fed to one SM; absent: as ungrouped products, with their latency */
	struct datum fp4_frac;   /* share of the 4-bit peak inside the engine; absent: that of the kernel alone */
	struct datum base_factor, host_factor; /* fixed parts of kernels, host time: old servers */
	struct datum watt_flop;                /* products under the power limit, FLOP per joule; absent: no limit */
	struct datum tf32_frac, fp32_frac;     /* share of these peaks */
};

/* When decode attention runs on the CUDA cores, once per query head. */
enum core_attention {
	CORE_NEVER,
	CORE_UNEVEN,  /* query heads per key head that are no power of two */
	CORE_CHUNKED, /* layers that attend inside chunks */
	CORE_INT4,    /* caches of 4 bits */
};

enum engine_reduce { REDUCE_BEST, REDUCE_NCCL };

enum engine_kind { ENGINE_BATCHED, ENGINE_STATIC, ENGINE_ENCODER, ENGINE_LAYER_SPLIT };

/* Prompts of an engine that runs every operator by itself: weights are unpacked before each product, the scores of
 * attention are written and read again. */
struct engine_unfused {
	struct datum peak_frac, mem_frac; /* shares of the peak (accumulating in 16 bits) and of the bandwidth */
	struct datum n_stream_passes, n_score_passes; /* how often fp32 activations and scores go through memory */
	struct datum launch_s, n_kernels, n_packed_kernels; /* of a layer, with 16-bit and with packed weights */
	struct datum queue, batch_token; /* launches that the queue takes before the CPU waits; tokens of a part */
};

enum { N_ENGINE_ARCHITECTURES = 10, N_ENGINE_RESIDUALS = 8 };

/* How far the family's predictions were from published runs. */
struct engine_residual {
	const char *kind; /* offline, online, batch1, static, ttft */
	struct datum n_points, mape_frac, median_frac;
};

/* What published runs call the family's software. */
struct engine_match {
	const char *software, *sched; /* parts of what they say; sched NULL: whatever */
	const char *from, *to;        /* versions, as `0.15`, both inside; NULL: no limit */
	const char *weights;          /* a part of the type of the weights; NULL: whatever */
	const char *date;             /* ... or runs without a version whose date begins so */
};

struct engine {
	const char *id, *name, *versions, *notes;
	const char *backend; /* whose kernels: trtllm, vllm, sglang */
	enum engine_kind kind;

	/* a step: factor x (kernels + communication factor x collectives) + host + per sequence + with prompts */
	struct datum host_s, prefill_s, sequence_s, first_s; /* first_s: of a lone first token, where prefill_s is 0 */
	struct datum gpu_factor, comm_factor;
	struct datum elementwise_s, elementwise_frac; /* fixed part of a small kernel; share of its bytes that move */
	struct datum sampling_s, sampling_link_s;
	struct datum gemm_base, attention_base;  /* factors of the kernels' fixed parts */
	struct datum quantise_s, quantise_frac;  /* activations quantised by kernels of their own; absent: fused */
	struct datum launch_s, n_layer_launches; /* eager engines: a layer is no faster than its launches */

	struct datum weight_only_frac;                 /* of the arithmetic that dequantising products reach */
	struct datum cap16_byte, cap8_byte, cap4_byte; /* weights streamed per SM and clock, at most */
	enum core_attention core_attention;
	struct datum core_element; /* ... elements of the cache per SM and clock */
	struct datum gddr_frac;    /* bandwidth of GDDR that is reached, at least */
	struct datum int8_frac;    /* arithmetic that 8-bit integer products reach of what they do alone */

	enum engine_reduce reduce;
	struct datum pcie_s, pcie_rank_frac, pcie_ramp_s, pcie_ramp_byte, pcie_frac, pcie_gather_frac;

	struct stack memory; /* what it keeps beside weights and cache, and the share of the card that it takes */
	bool narrow_kv;      /* caches in 8 bits beside weights in 8 or 4 bits where a checkpoint says nothing */
	struct datum max_sequences, max_tokens;
	bool chunked, evicts, prefill_first;

	struct engine_unfused unfused;
	struct datum row_sync_s; /* weights cut in rows over GPUs: per layer and GPU */
	bool row_split;          /* ... which is how it runs on several */

	struct engine_architecture architectures[N_ENGINE_ARCHITECTURES];
	int n_architectures;
	struct engine_residual *residuals;
	int n_residuals;
	struct engine_match *matches;
	int n_matches;
	const char *refused; /* why its answers cannot be trusted at all; NULL: they can */
	const char *warning; /* what holds for every answer of the family */
};

/* What the family does on this GPU, or NULL. */
const struct engine_architecture *engine_architecture(const struct engine *e, const struct gpu *gpu);

#endif
