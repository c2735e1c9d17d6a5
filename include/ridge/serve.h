/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long one step of a serving engine takes: prompts, parts of prompts and running sequences that go through the
 * model together.
 *
 * serve_iteration is the sum of four parts that do not depend on one another, so that who calls it very often can keep
 * a table of the first two: serve_linear by the number of tokens, serve_head by the rows of logits.
 */
#ifndef RIDGE_SERVE_H
#define RIDGE_SERVE_H

#include "ridge/engine.h"
#include "ridge/workload.h"

/* How the products of one part of the model run.  Members that are 0 have no effect. */
struct serve_format {
	enum dtype type;               /* names the kernels' parameters */
	double a_byte, w_byte, o_byte; /* of an activation, a weight and a result, scales included; o_byte 0: 2 */
	double cap_byte;               /* weights that one SM unpacks per clock, at most */
	double rate_frac;        /* of the arithmetic that kernels of this type reach: unpacking kernels, integers */
	double limit_flop_per_s; /* of the power supply */
};

struct serve_precision {
	struct serve_format attention, mlp, experts, head;
	double wide_limit_flop_per_s; /* of the power supply, for what runs in 16 bits anyway; 0: none */
	double kv_byte;
	bool fast_prompts; /* 8-bit products and caches: prompts may attend in 8 bits */
};

/* One replica: tp x pp GPUs.  Experts are spread over ep of the tp GPUs and cut into tp / ep slices.  With attention_dp
 * each of the tp GPUs attends for sequences of its own, with whole weights. */
struct serve_layout {
	double tp, pp, ep;
	bool attention_dp;
};

/* Links of one GPU.  Without NVLink, collectives go over PCIe. */
struct serve_wires {
	bool linked;
	struct datum link_byte_per_s, pcie_byte_per_s;
};

struct serve_setup {
	const struct workload *model;
	const struct engine *engine;
	const struct engine_architecture *architecture; /* or NULL */
	const struct calibration *kernels;              /* made by serve_kernels */
	struct serve_precision precision;
	struct serve_layout layout;
	struct serve_wires wires;
	struct datum mem_byte; /* of one GPU, usable */
	double card_frac;      /* of it, for weights and cache; 0: the engine's rule */
	bool core_attention;   /* decode attention runs once per query head */
};

/* What one step works on: n_prefill prompts or parts of chunk_token tokens that follow prefix_token cached ones, and
 * n_decode sequences that hold context_token tokens on average.  n_rows sequences get logits. */
struct serve_batch {
	double n_prefill, chunk_token, prefix_token;
	double n_decode, context_token;
	double n_rows;
	double n_drafts; /* verified with each sequence that decodes */
};

/* Seconds of one step by what spends them.  comm is without the engine's factor; total is the step. */
struct serve_terms {
	double gemm, prompt_attention, cached_attention, moe, elementwise, comm, pipeline, head, host, total;
};

/* What a setup is made from. */
struct serve_parts {
	const struct workload *model;
	const struct gpu *gpu;
	struct datum mem_byte; /* of one GPU, usable; 0: what the GPU has */
	double card_frac;      /* of it, for weights and cache; 0: the engine's rule */
	const struct engine *engine;
	const struct calibration *consensus, *own; /* the GPU's kernels; those of the engine's backend, or NULL */
	enum dtype compute, weights, kv;           /* of products, of stored weights, of the cache */
	const struct quantisation *published;      /* ... unless each part is in the format that it was published in */
	bool wide_attention;                       /* its products and weights stay in 16 bits */
	double weight_byte, head_byte;             /* of a weight, of one of the head; 0: what the types say */
	struct serve_layout layout;
	bool linked; /* the replica's GPUs have NVLink to one another */
};

/* Put a setup together.  Returns why that cannot be done, or NULL.  `kernels` must live as long as `out`. */
const char *serve_assemble(struct serve_setup *out, struct calibration *kernels, const struct serve_parts *in);
/* Bytes of a stored weight of this type with its scales, beside products of type `compute`. */
double serve_stored_byte(enum dtype weights, enum dtype compute);
/* The usual type of this engine's cache beside weights of this type. */
enum dtype serve_usual_kv(const struct engine *e, enum dtype weights);
/* The type of products of weights of this type on this GPU: their own, or 16 bits. */
enum dtype serve_products(const struct gpu *gpu, enum dtype weights);
/* Why no step of this model can be worked out, or NULL. */
const char *serve_lacks_model(const struct workload *w);

/* What the engine's kernels reach on this GPU: `consensus` and the backend's own parameters (or NULL), at the GPU's own
 * rates, with what the engine does differently.  False when there are none for this type. */
bool serve_kernels(struct calibration *out, const struct serve_setup *s, const struct gpu *gpu,
    const struct calibration *consensus, const struct calibration *own);
/* Rates of PCIe that engines reach, by the name of the GPU's slot (`pcie4-x16`); absent if unknown. */
struct datum serve_pcie(const char *slot);
/* Whether decode attention of this model and cache runs on the CUDA cores in this engine. */
bool serve_core_attention(const struct workload *w, const struct engine *e, double kv_byte);
/* The batch of n_decode sequences that hold context tokens, and n_prefill whole prompts of isl tokens. */
struct serve_batch serve_step(double n_prefill, double isl, double n_decode, double context);

/* --- the step -------------------------------------------------------------------------------------------- */

/* Products, experts, small kernels and collectives of all layers for n_new tokens. */
double serve_linear(struct sheet *sh, const struct serve_setup *s, double n_new, struct serve_terms *out);
/* Logits and sampling of n_rows sequences. */
double serve_head(struct sheet *sh, const struct serve_setup *s, double n_rows);
/* Attention of all layers over n_prompts stretches of new tokens behind cached ones. */
double serve_prompt_attention(
    struct sheet *sh, const struct serve_setup *s, double n_prompts, double chunk, double prefix);
/* Attention of all layers of one new token for each of n_running sequences over its cache. */
double serve_cached_attention(struct sheet *sh, const struct serve_setup *s, double n_running, double context);
/* What the step waits for outside the GPU. */
double serve_host(struct sheet *sh, const struct serve_setup *s, double n_prompts, double n_rows);
/* The whole step; `out` (or NULL) gets its terms. */
double serve_iteration(
    struct sheet *sh, const struct serve_setup *s, const struct serve_batch *batch, struct serve_terms *out);

/* --- its parts ------------------------------------------------------------------------------------------- */

/* Seconds of the products of one layer, of its experts, its small kernels, its collectives. */
double serve_layer_products(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_new);
double serve_layer_experts(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_new);
double serve_layer_small(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_new);
double serve_layer_comm(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_new);
double serve_layer_prompt(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_prompts,
    double chunk, double prefix);
double serve_layer_cached(
    struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_running, double context);
/* A small kernel that moves so many bytes. */
double serve_elementwise(struct sheet *sh, const struct serve_setup *s, double moved_byte);
/* Expected load of the busiest of ep ranks over the mean, with n_experts uneven experts. */
double serve_imbalance(struct sheet *sh, double unevenness, double ep, double n_experts);
/* All-reduce, and all-gather or reduce-scatter, of the full buffer over the replica's tp GPUs. */
double serve_allreduce(struct sheet *sh, const struct serve_setup *s, double size_byte);
double serve_gather(struct sheet *sh, const struct serve_setup *s, double size_byte);

#endif
