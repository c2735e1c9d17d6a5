/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GEMMs of a layer on one rank, and its routed experts. */
#include "model/train/parts.h"

#include "model/layer/layer.h"

/* --- what all parts ask ---------------------------------------------------------------------------------- */

enum dtype
train_wide_type(const struct train_job *job)
{
	return dtype_byte(job->dtype) > 2 ? job->dtype : DTYPE_BF16;
}

bool
train_quantises(const struct train_job *job)
{
	return dtype_byte(job->dtype) < 2;
}

double
train_elem_byte(const struct train_job *job)
{
	return fmax(2, dtype_byte(job->dtype));
}

struct datum
train_memory(const struct train_job *job)
{
	return job->machine.kernels->gemm[DTYPE_BF16].mem_byte_per_s;
}

bool
train_routes(const struct block *block)
{
	return block->moe.given;
}

const struct block *
train_routed(const struct workload *w)
{
	for (int i = 0; i < w->n_blocks; i++)
		if (train_routes(&w->blocks[i]))
			return &w->blocks[i];
	return NULL;
}

/* Layers of the model that have experts, as a fraction. */
static double
train_expert_share(const struct workload *w)
{
	double n = 0;

	for (int i = 0; i < w->n_blocks; i++)
		if (train_routes(&w->blocks[i]))
			n += w->blocks[i].count.value;
	return n / w->n_layers.value;
}

bool
train_has_experts(const struct workload *w)
{
	return train_expert_share(w) > 0;
}

double
train_sigma(const struct train_job *job)
{
	const struct stack_time *s = job->stack;

	return train_has_experts(job->model) && datum_given(s->moe_sigma) ? s->moe_sigma.value : s->sigma.value;
}

double
train_local_experts(const struct train_job *job, const struct block *block)
{
	return block->moe.n_experts.value / job->layout.ep;
}

/* --- the list -------------------------------------------------------------------------------------------- */

int
train_linears(const struct train_job *job, const struct block *block, struct train_linear out[TRAIN_MOST_LINEARS])
{
	const unsigned parts = IN_LAYER & ~(IN_EXPERT | IN_ROUTER);
	const double tp = job->layout.tp;
	struct layer own;
	const struct layer *l = layer_of(job->model, block, &own);
	int n = 0;

	for (const struct layer_op *op = l->op; op < l->op + l->n_ops; op++) {
		if (op->runs != RUNS_PRODUCT || !(op->part & parts))
			continue;
		if (op->joined)
			out[n - 1].n += width_local(op->n, tp);
		else
			out[n++] = (struct train_linear){width_local(op->n, tp), width_local(op->k, tp),
			    op->part == IN_MIXER, op->from_latent, op->part == IN_SHARED,
			    op->part == IN_LATENT && job->layout.sp ? 1 / tp : 1};
	}
	return n;
}

struct train_core
train_core(const struct train_job *job, const struct block *block)
{
	struct layer own;
	const struct layer_op *core = layer_attention(layer_of(job->model, block, &own));

	return core ? (struct train_core){core->n, core->k} : (struct train_core){0};
}

/* --- time ------------------------------------------------------------------------------------------------ */

/*
 * Measured alone, a large product runs at a lower clock than a small one, the power limit (derate of gemm_time).  In a
 * step the clock follows the mean power of all kernels, whatever the size of one product: those that arithmetic limits
 * run at the clock of a product of this size, those that memory limits at the full one.  Fitted to 481 published steps,
 * flat from 1.3 to 1.8e12.  With their source left out they are 8.13 and 6.23 % off (mean, median) instead of 8.42 and
 * 6.50 with the clock of each product's own size, with their model left out 7.37 and 5.22 instead of 7.46 and 5.06,
 * with their GPU left out 7.77 and 5.59 instead of 7.84 and 5.78.
 */
static const double SUSTAINED_FLOP = 1.5e12;

/* Sums that leave in fp32 can be limited by memory although the calibrated kernel, which writes 16 bits, is not. */
static bool
memory_bound(const struct gemm_shape *g, const struct gemm_calibration *p)
{
	const double byte = g->m * g->k * g->a_byte + g->k * g->n * g->w_byte + g->m * g->n * g->o_byte;

	return 2 * g->m * g->n * g->k / p->peak_flop_per_s.value <= byte / p->mem_byte_per_s.value;
}

/* Whether the calibrated kernel has the clock of its size. */
static bool
derates(const struct gemm_shape *g, const struct calibration *c)
{
	const double byte = 2 * (g->m * g->k + g->k * g->n + g->m * g->n), flop = 2 * g->m * g->n * g->k;

	return flop > 1e12 && flop / c->ref_peak_flop_per_s.value > byte / c->ref_mem_byte_per_s.value;
}

double
train_product(struct sheet *sh, const struct gemm_shape *shape, const struct calibration *c, enum dtype t)
{
	CALL(sh, kernel_s, gemm_time(sh, shape, c, t));
	TAKE(sh, derate_per_decade, c->gemm[t].derate);
	TAKE(sh, n_own_decades, derates(shape, c) ? log10(2 * shape->m * shape->n * shape->k / 1e12) : 0);
	TAKE(sh, n_decades, memory_bound(shape, &c->gemm[t]) ? 0 : log10(SUSTAINED_FLOP / 1e12));
	LET(sh, steady_s, kernel_s * (1 + derate_per_decade * n_decades) / (1 + derate_per_decade * n_own_decades));
	return steady_s;
}

double
train_gemm(
    struct sheet *sh, const struct train_job *job, double m, double n, double k, enum dtype t, double output_elem_byte)
{
	const enum dtype rate = dtype_fits(t);
	struct gemm_shape shape = gemm_shape_of(m, n, k, rate);

	shape.o_byte = fmax(output_elem_byte, dtype_byte(rate));
	shape.quantise = false;
	shape.whole_waves = job->stack->whole_waves;
	if (!sh && job->gemm)
		return job->gemm(job->memo, &shape, rate) / job->machine.power_frac;
	CALL(sh, kernel_s, train_product(sh, &shape, job->machine.kernels, rate));
	/* a power limit lowers the clock; the voltage goes down with it, so the rate falls more slowly than the power
	 */
	TAKE(sh, power_rate_frac, job->machine.power_frac);
	LET(sh, product_s, kernel_s / power_rate_frac);
	return product_s;
}

/*
 * Per-tensor fp8 on Hopper: products of the backward pass promote their sums to fp32 every few steps, those of the
 * forward pass do not (Transformer Engine's use_split_accumulator, torchao's use_fast_accum).  Fitted to 112 published
 * fp8 steps on Hopper of 9 frameworks: without it the error with one model left out is 0.2 points larger.
 */
static const double SPLIT_ACCUMULATOR = 1.15;
enum { HOPPER = 2 };

double
train_backward_gemm(
    struct sheet *sh, const struct train_job *job, double m, double n, double k, enum dtype t, double output_elem_byte)
{
	const bool splits = t == DTYPE_FP8 && job->machine.generation == HOPPER;

	CALL(sh, product_s, train_gemm(sh, job, m, n, k, t, output_elem_byte));
	TAKE(sh, accumulator_factor, splits ? SPLIT_ACCUMULATOR : 1);
	LET(sh, backward_s, product_s * accumulator_factor);
	return backward_s;
}

double
train_rows(struct sheet *sh, const struct train_job *job)
{
	FROM(sh, job, n_sequences, seq_length);
	TAKE(sh, cp, job->layout.cp);
	LET(sh, n_rows, n_sequences * seq_length / cp);
	return n_rows;
}

double
train_microbatches(struct sheet *sh, const struct train_job *job)
{
	FROM(sh, job, n_global_sequences, n_sequences);
	TAKE(sh, dp, job->layout.dp);
	LET(sh, n_microbatches, fmax(1, n_global_sequences / (n_sequences * dp)));
	return n_microbatches;
}

/* --- the head -------------------------------------------------------------------------------------------- */

/* Traffic of softmax and loss per logit: 16-bit logits, their copy in fp32 twice, the gradient.  Eager frameworks fit
 * no other value: 24 bytes are 0.1 points worse with one model left out. */
static const double LOGIT_BYTE = 14;

/*
 * Three products with the vocabulary's table and the traffic of the loss over the logits.  An encoder that is trained
 * on masked tokens computes the head for those alone (Devlin et al., NAACL 2019: 15 %, padded to 16).
 */
double
train_logits(struct sheet *sh, const struct train_job *job)
{
	const double tp = job->layout.tp, hidden = job->model->hidden.value;
	const double whole = train_rows(NULL, job), vocab = job->model->vocab.value / tp;
	const enum dtype wide = train_wide_type(job);

	if (!(job->model->vocab.value > 0)) {
		LET(sh, head_s, 0);
		return head_s;
	}
	CALL(sh, head_forward_s, train_gemm(sh, job, whole, vocab, hidden, wide, 2));
	CALL(sh, head_dgrad_s, train_gemm(sh, job, whole, hidden, vocab, wide, 2));
	double head_wgrad_s;
	if (job->adapters)
		SET(sh, head_wgrad_s, 0);
	else
		SET_CALL(sh, head_wgrad_s, train_gemm(sh, job, vocab, hidden, whole, wide, 4));
	CALL(sh, n_rows, train_rows(sh, job));
	TAKE(sh, tp_ranks, tp);
	TAKE(sh, vocabulary, job->model->vocab);
	TAKE(sh, logit_byte, LOGIT_BYTE);
	TAKE(sh, mem_byte_per_s, train_memory(job));
	LET(sh, loss_s, n_rows * (vocabulary / tp_ranks) * logit_byte / mem_byte_per_s);
	TAKE(sh, sigma, train_sigma(job));
	TAKE(sh, head_rows_frac, job->head_frac);
	LET(sh, head_s, sigma * head_rows_frac * (head_forward_s + head_dgrad_s + head_wgrad_s + loss_s));
	return head_s;
}

/* --- routed experts ------------------------------------------------------------------------------------------- */

/* Grouped products over rows that are evenly spread, and the traffic of permuting them. */

/* Traffic of permutation, activation and quantization over what fused kernels would move; fitted to published steps of
 * Megatron-Core's mixtures of experts. */
static const double ROUTING_TRAFFIC = 1.5;
/* The same kernels' backward pass. */
static const double ROUTING_BACKWARD = 1.3;
/* gpt-oss runs the bias, two clamps, the sigmoid and the multiplies as separate kernels. */
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

double
train_stream_width(const struct workload *w, const struct block *block)
{
	return block->moe.latent.value > 0 ? block->moe.latent.value : w->hidden.value;
}

double
train_experts(struct sheet *sh, const struct train_job *job, const struct block *block, bool backward)
{
	const double hidden = train_stream_width(job->model, block), up = up_width(job, block),
	             down = down_width(job, block);
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
	TAKE(sh, stream_dim, train_stream_width(job->model, block));
	TAKE(sh, expert_dim, down_width(job, block));
	TAKE(sh, up_dim, backward ? up_width(job, block) : train_stream_width(job->model, block));
	TAKE(sh, n_up_maps, block->moe.plain ? 1.0 : 2.0);
	TAKE(sh, traffic_factor, ROUTING_TRAFFIC);
	TAKE(sh, backward_factor, backward ? ROUTING_BACKWARD : 1);
	TAKE(sh, n_router_products, backward && !job->adapters ? 2.0 : 1.0);
	TAKE(sh, n_eager_passes, n_passes);
	TAKE(sh, quantised, train_quantises(job) ? 1.0 : 0.0);
	TAKE(sh, half_byte, 2.0);
	TAKE(sh, mem_byte_per_s, train_memory(job));
	LET(sh, permute_byte, half_byte * n_routed_rows * (4 * stream_dim + (n_up_maps + 3) * expert_dim));
	LET(sh, eager_byte, n_eager_passes * 2 * half_byte / 2 * n_routed_rows * expert_dim);
	EITHER(sh, cast_byte, backward, quantised * 2 * half_byte * n_routed_rows * (stream_dim + up_dim),
	    quantised * 2 * half_byte * n_routed_rows * (stream_dim + expert_dim));
	LET(sh, routing_s,
	    n_router_products * router_s +
	        (backward_factor * (traffic_factor * permute_byte + eager_byte) + traffic_factor * cast_byte) /
	            mem_byte_per_s);
	return routing_s;
}

/* The activation inside the experts once more: the output of the first map read, the input of the second written, and
 * quantized again. */
double
train_activation(struct sheet *sh, const struct train_job *job, const struct block *block)
{
	const double n_passes = job->stack->expert_eager && block->attention.sinks ? EAGER_PASSES : 0;

	CALL(sh, n_routed_rows, routed_rows(sh, job, block));
	TAKE(sh, up_dim, up_width(job, block));
	TAKE(sh, down_dim, down_width(job, block));
	TAKE(sh, traffic_factor, ROUTING_TRAFFIC);
	TAKE(sh, n_eager_passes, n_passes);
	TAKE(sh, quantised, train_quantises(job) ? 1.0 : 0.0);
	TAKE(sh, half_byte, 2.0);
	TAKE(sh, mem_byte_per_s, train_memory(job));
	LET(sh, passed_dim,
	    traffic_factor * (up_dim + down_dim + 2 * quantised * down_dim) + n_eager_passes * down_dim);
	LET(sh, activation_s, half_byte * n_routed_rows * passed_dim / mem_byte_per_s);
	return activation_s;
}
