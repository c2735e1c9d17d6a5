/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Routed experts in training: grouped products over rows that are evenly spread, and the traffic of permuting them.
 */
#include "model/train/parts.h"

/* Traffic of permutation, activation and quantization over what fused kernels would move; fitted to published steps of
 * Megatron-Core's mixtures of experts. */
static const double ROUTING_TRAFFIC = 1.5;
/* The same kernels' backward pass. */
static const double ROUTING_BACKWARD = 1.3;
/* gpt-oss: bias, two clamps, sigmoid and products as kernels of their own. */
static const double EAGER_PASSES = 17;

/* Rows that one rank's experts work on: every token k times; ranks of a tensor-parallel group that do not split the
 * experts share the tokens. */
static double
routed_rows(struct sheet *sh, const struct train_job *job, const struct block *block)
{
	CALL(sh, n_rows, train_rows(sh, job));
	TAKE(sh, top_k, block->moe.top_k);
	FROM_STRUCT(sh, job->layout, tp, etp);
	TAKE(sh, imbalance, job->imbalance);
	LET(sh, n_routed_rows, n_rows * top_k * etp / tp * imbalance);
	return n_routed_rows;
}

/*
 * Experts' products over all local experts.  Tiles have 128 rows: groups that do not fill them are padded.  Never
 * faster than their weights can be read.
 */
static double
grouped(struct sheet *sh, const struct train_job *job, const struct block *block, double n, double k, bool backward)
{
	const double rows = routed_rows(NULL, job, block);
	const double group = rows / train_local_experts(job, block);

	CALL(sh, product_s, (backward ? train_backward_gemm : train_gemm)(sh, job, rows, n, k, job->dtype, 2));
	TAKE(sh, n_local_experts, train_local_experts(job, block));
	TAKE(sh, group_rows, group);
	TAKE(sh, map_n, n);
	TAKE(sh, map_k, k);
	TAKE(sh, weight_elem_byte, dtype_byte(dtype_fits(job->dtype)));
	TAKE(sh, mem_byte_per_s, train_memory(job));
	EITHER(sh, padding, group < 2048, ceil(group_rows / 128) * 128 / group_rows, 1);
	LET(sh, weights_s, n_local_experts * map_n * map_k * weight_elem_byte / mem_byte_per_s);
	LET(sh, grouped_s, fmax(product_s * padding, weights_s));
	return grouped_s;
}

static double
up_width(const struct train_job *job, const struct block *block)
{
	return (block->moe.plain ? 1 : 2) * block->moe.width.value / job->layout.etp;
}

static double
down_width(const struct train_job *job, const struct block *block)
{
	return block->moe.width.value / job->layout.etp;
}

static double
stream_width(const struct train_job *job, const struct block *block)
{
	return block->moe.latent.value > 0 ? block->moe.latent.value : job->model->hidden.value;
}

double
train_experts(struct sheet *sh, const struct train_job *job, const struct block *block, bool backward)
{
	const double hidden = stream_width(job, block), up = up_width(job, block), down = down_width(job, block);
	const double local = train_local_experts(job, block), group = routed_rows(NULL, job, block) / local;

	if (!backward) {
		CALL(sh, up_s, grouped(sh, job, block, up, hidden, false));
		CALL(sh, down_s, grouped(sh, job, block, hidden, down, false));
		LET(sh, experts_s, up_s + down_s);
		return experts_s;
	}
	CALL(sh, up_s, grouped(sh, job, block, hidden, up, true));
	CALL(sh, down_s, grouped(sh, job, block, down, hidden, true));
	double weights_s;
	if (job->adapters)
		SET(sh, weights_s, 0);
	else {
		CALL(sh, up_weight_s, train_backward_gemm(sh, job, up * local, hidden, group, job->dtype, 4));
		CALL(sh, down_weight_s, train_backward_gemm(sh, job, hidden * local, down, group, job->dtype, 4));
		SET(sh, weights_s, up_weight_s + down_weight_s);
	}
	LET(sh, experts_s, up_s + down_s + weights_s);
	return experts_s;
}

/* Router, permutation there and back, activation, quantization. */
double
train_routing(struct sheet *sh, const struct train_job *job, const struct block *block, bool backward)
{
	const double rows = train_rows(NULL, job);
	const double n_passes = job->stack->expert_eager && block->attention.sinks ? EAGER_PASSES : 0;

	CALL(sh, router_s,
	    train_gemm(sh, job, rows, block->moe.n_experts.value, job->model->hidden.value, train_wide_type(job), 2));
	CALL(sh, n_routed_rows, routed_rows(sh, job, block));
	TAKE(sh, stream_dim, stream_width(job, block));
	TAKE(sh, expert_dim, down_width(job, block));
	TAKE(sh, up_dim, backward ? up_width(job, block) : stream_width(job, block));
	TAKE(sh, traffic_factor, ROUTING_TRAFFIC);
	TAKE(sh, backward_factor, backward ? ROUTING_BACKWARD : 1);
	TAKE(sh, n_router_products, backward && !job->adapters ? 2.0 : 1.0);
	TAKE(sh, n_eager_passes, n_passes);
	TAKE(sh, quantised, train_quantises(job) ? 1.0 : 0.0);
	TAKE(sh, half_byte, 2.0);
	TAKE(sh, mem_byte_per_s, train_memory(job));
	LET(sh, permute_byte, half_byte * n_routed_rows * (4 * stream_dim + 5 * expert_dim));
	LET(sh, eager_byte, n_eager_passes * 2 * half_byte / 2 * n_routed_rows * expert_dim);
	EITHER(sh, cast_byte, backward, quantised * 2 * half_byte * n_routed_rows * (stream_dim + up_dim),
	    quantised * 2 * half_byte * n_routed_rows * (stream_dim + expert_dim));
	LET(sh, routing_s,
	    n_router_products * router_s +
	        (backward_factor * (traffic_factor * permute_byte + eager_byte) + traffic_factor * cast_byte) /
	            mem_byte_per_s);
	return routing_s;
}
