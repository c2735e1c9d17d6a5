/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time of one layer: GEMMs, attention, elementwise kernels, quantization, recomputation, communication. */
#include "model/train/parts.h"

/* --- products -------------------------------------------------------------------------------------------- */

enum pass { FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT };

/* The GEMMs of a layer; time, FLOP and memory are sums over this one list. */
struct products {
	double rows;
	int n;
	struct train_linear list[TRAIN_MOST_LINEARS];
};

static double
linear_pass(
    struct sheet *sh, const struct train_job *job, const struct train_linear *l, double all_rows, enum pass pass)
{
	const double rows = all_rows * l->rows_frac;

	switch (pass) {
	case FORWARD:
		return train_gemm(sh, job, rows, l->n, l->k, job->dtype, 2);
	case INPUT_GRADIENT:
		return train_backward_gemm(sh, job, rows, l->k, l->n, job->dtype, 2);
	default:
		/* weight gradients add up in fp32 */
		return train_backward_gemm(sh, job, l->n, l->k, rows, job->dtype, 4);
	}
}

static double
linears(struct sheet *sh, const struct train_job *job, const struct products *p, enum pass pass)
{
	SUM(sh, linears_s, i, p->n, linear_pass(sh, job, &p->list[i], p->rows, pass));
	return linears_s;
}

/* Some of the products, which some stacks compute again: the maps from latents, or those of a dense MLP. */
static double
some_linears(struct sheet *sh, const struct train_job *job, const struct products *p, bool up)
{
	struct products some = {.rows = p->rows};

	for (int i = 0; i < p->n; i++)
		if (up ? p->list[i].up : !p->list[i].attention)
			some.list[some.n++] = p->list[i];
	SUM(sh, some_s, i, some.n, linear_pass(sh, job, &some.list[i], some.rows, FORWARD));
	return some_s;
}

/* Low-rank adapters (Hu et al., arXiv:2106.09685) beside the attention's maps: small products, so traffic and launches.
 */
static double
adapter_time(struct sheet *sh, const struct train_job *job, const struct train_linear *l)
{
	if (!l->attention) {
		LET(sh, adapter_s, 0);
		return adapter_s;
	}
	CALL(sh, n_rows, train_rows(sh, job));
	TAKE(sh, map_n, l->n);
	TAKE(sh, map_k, l->k);
	TAKE(sh, half_byte, 2.0);
	TAKE(sh, base_s, job->machine.kernels->gemm[DTYPE_BF16].base_s);
	TAKE(sh, mem_byte_per_s, train_memory(job));
	LET(sh, adapter_s, half_byte * n_rows * (map_k + 4 * map_n) / mem_byte_per_s + 4 * base_s);
	return adapter_s;
}

static double
adapters(struct sheet *sh, const struct train_job *job, const struct products *p)
{
	if (!job->adapters) {
		LET(sh, adapters_s, 0);
		return adapters_s;
	}
	SUM(sh, adapters_s, i, p->n, adapter_time(sh, job, &p->list[i]));
	return adapters_s;
}

/* Frozen weights that are stored in few bits are written out in 16 before each product (Dettmers et al.,
 * arXiv:2305.14314). */
static double
dequantise(struct sheet *sh, const struct train_job *job, const struct products *p)
{
	double total = 0;

	if (!(job->base_byte > 0)) {
		LET(sh, dequantise_s, 0);
		return dequantise_s;
	}
	for (int i = 0; i < p->n; i++)
		total += p->list[i].n * p->list[i].k;
	TAKE(sh, n_weights, total);
	TAKE(sh, stored_byte, job->base_byte);
	TAKE(sh, wide_byte, 2.0);
	TAKE(sh, mem_byte_per_s, train_memory(job));
	LET(sh, dequantise_s, n_weights * (stored_byte + wide_byte) / mem_byte_per_s);
	return dequantise_s;
}

/* --- elementwise kernels and quantization --------------------------------------------------------------- */

struct datum
train_traffic_factor(const struct train_job *job)
{
	const struct stack_time *s = job->stack;

	if (job->compiled && datum_given(s->elementwise_compiled))
		return s->elementwise_compiled;
	return job->pure && datum_given(s->elementwise_pure) ? s->elementwise_pure : s->elementwise;
}

/*
 * Norms, a residual sum and dropout of each part on the hidden size, rotary embedding and biases on the heads, the
 * activation on the feed-forward width, in tensors read or written; `norms_only` leaves the feed-forward part out.
 */
static double
elementwise(struct sheet *sh, const struct train_job *job, const struct block *block, bool backward, bool norms_only)
{
	struct layer own;
	const struct layer_op *norms = layer_norms(layer_of(job->model, block, &own));
	const struct train_core core = train_core(job, block);
	const bool gated = block->mlp.gated;
	const double width = block->mlp.given ? block->mlp.width.value : 0;

	CALL(sh, n_rows, train_rows(sh, job));
	TAKE(sh, traffic_factor, train_traffic_factor(job));
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, n_norms, norms->copies);
	TAKE(sh, n_heads, core.n.units);
	TAKE(sh, n_kv_heads, core.k.units);
	TAKE(sh, head_dim, core.n.size);
	TAKE(sh, ffn_width, norms_only ? 0 : width);
	TAKE(sh, ffn_passes, backward ? (gated ? 10.0 : 6.0) : (gated ? 6.0 : 4.0));
	TAKE(sh, n_parts, block_parts(block));
	TAKE(sh, n_part_kernels, backward ? 7.0 : 5.0);
	TAKE(sh, tp, job->layout.tp);
	TAKE(sh, norm_ranks, job->layout.sp ? job->layout.tp : 1);
	TAKE(sh, elem_byte, train_elem_byte(job));
	TAKE(sh, base_s, job->machine.kernels->gemm[DTYPE_BF16].base_s);
	TAKE(sh, mem_byte_per_s, train_memory(job));
	LET(sh, n_passes,
	    (2 * n_norms + 3 * n_parts) * hidden / norm_ranks + 2 * (n_heads + n_kv_heads) * head_dim / tp +
	        ffn_passes / 2 * ffn_width / tp);
	LET(sh, elementwise_s,
	    traffic_factor * n_passes * elem_byte * n_rows / mem_byte_per_s + n_parts * n_part_kernels * base_s);
	return elementwise_s;
}

/* A quantized product reads its activations in 16 bits and writes them twice in 8: by rows and by columns.
 * Shared experts take what was quantized for the routed ones. */
static double
quantise(struct sheet *sh, const struct train_job *job, const struct products *p, bool backward)
{
	double width = 0;

	if (!train_quantises(job)) {
		LET(sh, quantise_s, 0);
		return quantise_s;
	}
	for (int i = 0; i < p->n; i++)
		if (!p->list[i].shared)
			width += (backward ? p->list[i].n : p->list[i].k) * p->list[i].rows_frac;
	CALL(sh, n_rows, train_rows(sh, job));
	TAKE(sh, all_widths, width);
	TAKE(sh, pass_byte, 4.0);
	TAKE(sh, mem_byte_per_s, train_memory(job));
	LET(sh, quantise_s, pass_byte * n_rows * all_widths / mem_byte_per_s);
	return quantise_s;
}

/* --- what is computed again ------------------------------------------------------------------------------ */

/* Of a layer, before the factor of the stack. */
struct kernels {
	const struct products *products;
	double forward_s, backward_s, linear_s, attention_s, elementwise_s, experts_s, routing_s;
};

/* A dense MLP: products and activation.  Megatron-Core's `mlp` is none of a mixture's experts, shared ones included. */
static double
again_mlp(struct sheet *sh, const struct train_job *job, const struct block *block, const struct kernels *k)
{
	if (!(job->modules & 1U << MODULE_MLP) || train_routes(block)) {
		LET(sh, mlp_s, 0);
		return mlp_s;
	}
	CALL(sh, products_s, some_linears(sh, job, k->products, false));
	CALL(sh, norms_s, elementwise(sh, job, block, false, true));
	TAKE(sh, elementwise_forward_s, k->elementwise_s);
	LET(sh, mlp_s, products_s + elementwise_forward_s - norms_s);
	return mlp_s;
}

/* What a mixture of experts does again: all of it, its activation, or nothing. */
static double
again_experts(struct sheet *sh, const struct train_job *job, const struct block *block, const struct kernels *k)
{
	const unsigned m = job->modules;
	double experts_s;

	if (m & 1U << MODULE_MOE) {
		TAKE(sh, products_s, k->experts_s);
		TAKE(sh, routing_s, k->routing_s);
		SET(sh, experts_s, products_s + routing_s);
	} else if (m & 1U << MODULE_MOE_ACT && train_routes(block)) {
		CALL(sh, activation_s, train_activation(sh, job, block));
		SET(sh, experts_s, activation_s);
	} else
		SET(sh, experts_s, 0);
	return experts_s;
}

static double
recompute_modules(struct sheet *sh, const struct train_job *job, const struct block *block, const struct kernels *k)
{
	const bool unfused = job->attention == ATTENTION_UNFUSED;
	const unsigned m = job->modules;

	TAKE(sh, sigma, train_sigma(job));
	/* a fused kernel keeps no scores: there is nothing that computing it again would save, and stacks do not */
	TAKE(sh, again_attention_s, (m & 1U << MODULE_CORE_ATTN) && unfused ? k->attention_s : 0);
	CALL(sh, again_mlp_s, again_mlp(sh, job, block, k));
	CALL(sh, again_experts_s, again_experts(sh, job, block, k));
	double again_up_s;
	if (m & 1U << MODULE_MLA_UP_PROJ && block->attention.kv_lora.value > 0) {
		CALL(sh, up_maps_s, some_linears(sh, job, k->products, true));
		CALL(sh, norms_s, elementwise(sh, job, block, false, true));
		SET(sh, again_up_s, up_maps_s + norms_s);
	} else
		SET(sh, again_up_s, 0);
	LET(sh, recompute_s, sigma * (again_attention_s + again_mlp_s + again_experts_s + again_up_s));
	return recompute_s;
}

/* Nobody needs a layer's output again: PyTorch's checkpoints stop once the last kept tensor is there (since 2.1). */
static double
last_product(struct sheet *sh, const struct train_job *job, const struct block *block, const struct products *p)
{
	if (!job->stack->stops_early || train_routes(block) || p->n == 0) {
		LET(sh, last_s, 0);
		return last_s;
	}
	TAKE(sh, sigma, train_sigma(job));
	CALL(sh, product_s, linear_pass(sh, job, &p->list[p->n - 1], p->rows, FORWARD));
	LET(sh, last_s, sigma * product_s);
	return last_s;
}

/* What of a micro-batch is offloaded goes to the host while the forward pass runs and comes back in the backward pass,
 * both behind the layers (Transformer Engine, cpu_offload.py; Megatron-Core, fine_grained_activation_offload.py).  Of a
 * layer, what takes longer than it does; the copies take the memory's bandwidth from kernels. */
static double
offload_wait(struct sheet *sh, const struct train_job *job, const struct kernels *k, double recompute_s)
{
	double exposed_s;

	if (!(job->away_row_byte > 0)) {
		SET(sh, exposed_s, 0);
		return exposed_s;
	}
	GIVEN(sh, recompute_s);
	CALL(sh, n_rows, train_rows(sh, job));
	TAKE(sh, away_row_byte, job->away_row_byte);
	TAKE(sh, host_byte_per_s, job->machine.host_byte_per_s);
	TAKE(sh, mem_byte_per_s, train_memory(job));
	TAKE(sh, layer_forward_s, k->forward_s);
	TAKE(sh, layer_backward_s, k->backward_s);
	LET(sh, moved_byte, n_rows * away_row_byte);
	LET(sh, moved_s, moved_byte / host_byte_per_s);
	SET(sh, exposed_s,
	    fmax(0, moved_s - layer_forward_s) + fmax(0, moved_s - layer_backward_s - recompute_s) +
	        2 * moved_byte / mem_byte_per_s);
	return exposed_s;
}

static double
recompute(struct sheet *sh, const struct train_job *job, const struct block *block, const struct kernels *k)
{
	TAKE(sh, layer_forward_s, k->forward_s);
	double recompute_s;
	switch (job->recompute) {
	case RECOMPUTE_FULL:
	case RECOMPUTE_UNIFORM: {
		CALL(sh, last_product_s, last_product(sh, job, block, k->products));
		SET(sh, recompute_s, layer_forward_s - last_product_s);
		break;
	}
	case RECOMPUTE_EVERY:
	case RECOMPUTE_BLOCK: {
		CALL(sh, n_group_layers,
		    recompute_interval(sh, job->recompute, job->recompute_n, job->model, &job->layout));
		SET(sh, recompute_s, layer_forward_s / n_group_layers);
		break;
	}
	case RECOMPUTE_OP: {
		/* torchtitan's policy keeps every other product (apply_ac, selective by operator) */
		TAKE(sh, sigma, train_sigma(job));
		TAKE(sh, linear_forward_s, k->linear_s);
		TAKE(sh, elementwise_forward_s, k->elementwise_s);
		SET(sh, recompute_s, sigma * (0.5 * linear_forward_s + elementwise_forward_s));
		break;
	}
	case RECOMPUTE_MODULES:
		SET_CALL(sh, recompute_s, recompute_modules(sh, job, block, k));
		break;
	default:
		SET(sh, recompute_s, 0);
	}
	return recompute_s;
}

/* --- the layer ------------------------------------------------------------------------------------------- */

/* Tokens that meet each other: attention, the scan of a state-space layer or the rule of a delta net. */
static double
mixer_core(struct sheet *sh, const struct train_job *job, const struct block *block, bool backward)
{
	switch (block->mixer) {
	case MIXER_ATTENTION:
		if (block->attention.gate)
			return train_gated_attention(sh, job, block, backward);
		return (backward ? train_attention_backward : train_attention_forward)(sh, job, block);
	case MIXER_MAMBA:
		return train_scan(sh, job, block, backward);
	case MIXER_DELTA:
		return train_delta(sh, job, block, backward);
	default:
		break;
	}
	LET(sh, mixer_s, 0);
	return mixer_s;
}

/* Kernels of routed experts; zero in other layers. */
static double
expert_part(struct sheet *sh, const struct train_job *job, const struct block *block, bool backward, bool routing)
{
	if (!train_routes(block)) {
		LET(sh, routed_s, 0);
		return routed_s;
	}
	return routing ? train_routing(sh, job, block, backward) : train_experts(sh, job, block, backward);
}

double
train_layer(struct sheet *sh, const struct train_job *job, const struct block *block, struct train_terms *out)
{
	struct products products;
	products.rows = train_rows(NULL, job);
	products.n = train_linears(job, block, products.list);
	TAKE(sh, sigma, train_sigma(job));
	CALL(sh, linear_forward_s, linears(sh, job, &products, FORWARD));
	CALL(sh, linear_dgrad_s, linears(sh, job, &products, INPUT_GRADIENT));
	double linear_wgrad_s;
	if (job->adapters)
		SET(sh, linear_wgrad_s, 0);
	else
		SET_CALL(sh, linear_wgrad_s, linears(sh, job, &products, WEIGHT_GRADIENT));
	CALL(sh, adapters_s, adapters(sh, job, &products));
	CALL(sh, dequantise_s, dequantise(sh, job, &products));
	CALL(sh, mixer_forward_s, mixer_core(sh, job, block, false));
	CALL(sh, mixer_backward_s, mixer_core(sh, job, block, true));
	CALL(sh, elementwise_forward_s, elementwise(sh, job, block, false, false));
	CALL(sh, elementwise_backward_s, elementwise(sh, job, block, true, false));
	CALL(sh, quantise_forward_s, quantise(sh, job, &products, false));
	CALL(sh, quantise_backward_s, quantise(sh, job, &products, true));
	CALL(sh, experts_forward_s, expert_part(sh, job, block, false, false));
	CALL(sh, experts_backward_s, expert_part(sh, job, block, true, false));
	CALL(sh, routing_forward_s, expert_part(sh, job, block, false, true));
	CALL(sh, routing_backward_s, expert_part(sh, job, block, true, true));
	LET(sh, forward_kernels_s,
	    sigma *
	        (linear_forward_s + adapters_s + dequantise_s + mixer_forward_s + elementwise_forward_s +
	            quantise_forward_s + experts_forward_s + routing_forward_s));
	LET(sh, backward_kernels_s,
	    sigma *
	        (linear_dgrad_s + linear_wgrad_s + 2 * adapters_s + dequantise_s + mixer_backward_s +
	            elementwise_backward_s + quantise_backward_s + experts_backward_s + routing_backward_s));
	CALL(sh, ep_s, train_expert_parallel(sh, job, block, forward_kernels_s, backward_kernels_s));
	LET(sh, forward_s, forward_kernels_s + ep_s / 2);
	LET(sh, backward_s, backward_kernels_s + ep_s / 2);
	const bool attends = block->mixer == MIXER_ATTENTION;
	const struct kernels kernels = {&products, forward_s, backward_s, linear_forward_s,
	    attends ? mixer_forward_s : 0, elementwise_forward_s, experts_forward_s, routing_forward_s};
	CALL(sh, recompute_s, recompute(sh, job, block, &kernels));
	CALL(sh, offload_s, offload_wait(sh, job, &kernels, recompute_s));
	CALL(sh, tp_s, train_tensor_parallel(sh, job, block));
	CALL(sh, cp_s, train_context_parallel(sh, job, block, sigma * mixer_forward_s, sigma * mixer_backward_s));
	LET(sh, device_s, forward_s + backward_s + recompute_s + offload_s + tp_s + cp_s);
	if (out)
		*out = (struct train_terms){.forward_s = forward_s,
		    .backward_s = backward_s,
		    .recompute_s = recompute_s,
		    .offload_s = offload_s,
		    .linear_s = sigma *
		        (linear_forward_s + linear_dgrad_s + linear_wgrad_s + 3 * adapters_s + 2 * dequantise_s),
		    .attention_s = attends ? sigma * (mixer_forward_s + mixer_backward_s) : 0,
		    .scan_s = attends ? 0 : sigma * (mixer_forward_s + mixer_backward_s),
		    .elementwise_s = sigma * (elementwise_forward_s + elementwise_backward_s),
		    .quantise_s = sigma * (quantise_forward_s + quantise_backward_s),
		    .expert_s =
		        sigma * (experts_forward_s + experts_backward_s + routing_forward_s + routing_backward_s),
		    .attention_forward_s = attends ? sigma * mixer_forward_s : 0,
		    .attention_backward_s = attends ? sigma * mixer_backward_s : 0,
		    .tp_s = tp_s,
		    .cp_s = cp_s,
		    .ep_s = ep_s,
		    .device_s = device_s};
	return device_s;
}
