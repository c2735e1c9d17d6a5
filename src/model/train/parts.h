/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to the training model. */
#ifndef RIDGE_MODEL_TRAIN_PARTS_H
#define RIDGE_MODEL_TRAIN_PARTS_H

#include <math.h>

#include "model/train/train.h"

/* The type of what is not quantized: attention, router, head. */
enum dtype train_wide_type(const struct train_job *job);
/* Bytes of an activation: quantized types keep activations at 16 bits. */
double train_elem_byte(const struct train_job *job);
bool train_quantises(const struct train_job *job);
/* Bandwidth of the memory as elementwise kernels reach it. */
struct datum train_memory(const struct train_job *job);
/* What attends in a layer: n is the heads of queries and their width, k those of keys and the width of values. */
struct train_core {
	struct width n, k;
};
struct train_core train_core(const struct train_job *job, const struct block *block);
/* Whether a block has routed experts, and any block has. */
bool train_routes(const struct block *block);
bool train_has_experts(const struct workload *w);
/* The first block with routed experts, or NULL. */
const struct block *train_routed(const struct workload *w);
double train_sigma(const struct train_job *job);
/* Share of the layers that are wholly computed again. */
double train_again_frac(const struct train_job *job);
/* Width of what the experts read and write: the residual stream, or their latent. */
double train_stream_width(const struct workload *w, const struct block *block);
/* Experts of a rank. */
double train_local_experts(const struct train_job *job, const struct block *block);

/* Exposed part of a communication that overlaps with compute and slows it down; near_frac: what its part inside an
 * NVLink domain would take by itself, of comm_s. */
double train_hide(struct sheet *sh, double comm_s, double work_s, double near_frac);

/* size_byte to a neighbor, of all sends network_frac over the network and the rest inside an NVLink domain. */
double train_send(struct sheet *sh, const struct train_job *job, double size_byte, double network_frac);
double train_tensor_parallel(struct sheet *sh, const struct train_job *job, const struct block *block);
double train_context_parallel(struct sheet *sh, const struct train_job *job, const struct block *block,
    double attention_forward_s, double attention_backward_s);
/* forward_s, backward_s: of the layer's kernels. */
double train_expert_parallel(
    struct sheet *sh, const struct train_job *job, const struct block *block, double forward_s, double backward_s);

/* Attention with a gate on its result. */
double train_gated_attention(struct sheet *sh, const struct train_job *job, const struct block *block, bool backward);
/* Traffic of the stack's elementwise kernels over the least that they could move. */
struct datum train_traffic_factor(const struct train_job *job);

/* Convolution, scan and gated norm of a state-space layer. */
double train_scan(struct sheet *sh, const struct train_job *job, const struct block *block, bool backward);

/* Convolution, rule and gated norm of a gated delta net. */
double train_delta(struct sheet *sh, const struct train_job *job, const struct block *block, bool backward);

double train_experts(struct sheet *sh, const struct train_job *job, const struct block *block, bool backward);
double train_routing(struct sheet *sh, const struct train_job *job, const struct block *block, bool backward);
/* The forward activation of routed experts, which is part of train_routing. */
double train_activation(struct sheet *sh, const struct train_job *job, const struct block *block);

/* One micro-batch on one stage, forward and backward: what data parallelism can hide behind. */
struct train_window {
	double forward_s, backward_s;
};
double train_data_parallel(
    struct sheet *sh, const struct train_job *job, const struct train_window *w, struct train_terms *out);
/* layers_s: all layers of the model; kind_s: one layer of each of its blocks. */
double train_pipeline(
    struct sheet *sh, const struct train_job *job, double layers_s, const double kind_s[], struct train_terms *t);

#endif
