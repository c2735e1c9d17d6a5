/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Kernels of training: the attention core, and kernels from those that were measured.
 *
 * Fused kernels (Dao et al., NeurIPS 2022) work on tiles of 128 x 128 scores that
 * never leave the chip; their backward pass computes the scores again: 2.5 times the arithmetic.  Without a fused
 * kernel the scores are written and read.
 */
#include "model/train/parts.h"
#include "model/train/train.h"

#include "model/kernel/kernel.h"

#include <math.h>

/*
 * What older kernels reach of the rate that a kernel tuned for the GPU has, fitted to 442 published training steps
 * (llm-foundry's tables of 2023, torchtitan's benchmarks): FlashAttention 1 in Triton, FlashAttention 2 since Hopper.
 */
static const double FLASH1_AMPERE = 0.8, FLASH1_HOPPER = 0.34, FLASH2_HOPPER = 0.67;
/*
 * What the kernels of a ring reach on Hopper of the rate of one kernel over the whole sequence, unless a CUDA graph
 * runs them: fitted to published steps of five groups (Llama 3 8B and 70B in NeMo, 70B in AutoModel, LoRA of 70B in
 * MLPerf 4.1 on H100 and H200), of which three come 5 to 7 points closer and the two that pretrain 70B 3 to 4 points
 * farther off.  Without it the error with a model left out is 0.1 points larger.
 */
static const double RING_HOPPER = 0.75;
/* The backward kernel reaches 80 % of the forward rate (Dao, arXiv:2307.08691, section 4.1). */
static const double BACKWARD_RATE = 0.8;
/* Heads narrower than 128 leave part of a tile idle: fitted to 442 published steps, whose mean error is 6.07 % with it,
 * 6.36 % without, and 6.2 % at 0.7 and 0.9. */
static const double NARROW_RATE = 0.8;
/* Batched products of small matrices reach 80 % of what large ones do: a prior, 1 leaves the error of published steps.
 */
static const double BATCHED_RATE = 0.8;

enum { HOPPER = 2, BLACKWELL = 3 };

static enum attention_form
form_of(const struct train_job *job, const struct block *block)
{
	/* no fused kernel of Hopper's time has learned sinks */
	if (block->attention.sinks && job->machine.generation < BLACKWELL)
		return ATTENTION_UNFUSED;
	return job->attention;
}

static double
older_rate(enum attention_form form, int generation)
{
	switch (form) {
	case ATTENTION_FLASH1:
		return generation >= HOPPER ? FLASH1_HOPPER : FLASH1_AMPERE;
	case ATTENTION_FLASH2:
		return generation >= HOPPER ? FLASH2_HOPPER : 1;
	default:
		return 1;
	}
}

/* Rate of the attention kernel over that of one that is tuned for the GPU. */
static double
rate_of(const struct train_job *job, const struct block *block)
{
	const enum attention_form form = form_of(job, block);
	const bool rings = job->layout.cp > 1 && job->context == CONTEXT_RING && !job->stack->graphs;
	const bool tuned = form != ATTENTION_FLASH1 && form != ATTENTION_FLASH2;

	if (rings && tuned && job->machine.generation == HOPPER)
		return RING_HOPPER;
	return older_rate(form, job->machine.generation);
}

/* Keys that a token sees, of those that it would see without a window. */
static double
window_share(struct sheet *sh, const struct train_job *job, const struct attention *a)
{
	const double window = fmax(datum_or(a->window, 0), datum_or(a->chunk, 0));

	if (!(window > 0)) {
		LET(sh, seen_frac, 1);
		return seen_frac;
	}
	TAKE(sh, window_length, window);
	TAKE(sh, seq_length, job->seq_length);
	LET(sh, window_frac, fmin(1, window_length / seq_length));
	/* a chunk begins anew where a window slides */
	EITHER(sh, seen_frac, a->chunk.value > 0, window_frac, window_frac * (2 - window_frac));
	return seen_frac;
}

/* Tiles on the SMs. */
static double
fused_core(struct sheet *sh, const struct train_job *job, const struct block *block)
{
	const struct train_core core = train_core(job, block);
	const bool causal = job->model->kind == MODEL_DECODER;

	FROM(sh, job, n_sequences, seq_length);
	TAKE(sh, packed_length, job->packed_length > 0 ? job->packed_length : job->seq_length);
	TAKE(sh, n_heads, core.n.units);
	TAKE(sh, key_dim, core.n.size);
	TAKE(sh, value_dim, core.k.size);
	FROM_STRUCT(sh, job->layout, tp, cp);
	TAKE(sh, n_sms, job->machine.kernels->ref_n_sms);
	TAKE(sh, tuned_flop_per_s, job->machine.kernels->context.flop_per_s);
	TAKE(sh, block_s, job->machine.kernels->context.block_s);
	TAKE(sh, kernel_frac, rate_of(job, block));
	TAKE(sh, narrow_frac, core.n.size < 128 ? NARROW_RATE : 1);
	TAKE(sh, power_rate_frac, job->machine.power_frac);
	CALL(sh, seen_frac, window_share(sh, job, &block->attention));
	LET(sh, n_blocks, ceil(packed_length / 128));
	EITHER(sh, n_tiles, causal, n_blocks * (n_blocks + 1) / 2 * seen_frac, n_blocks * n_blocks);
	LET(sh, n_head_sequences, seq_length / packed_length * n_sequences * n_heads / tp / cp);
	/* a ring meets its keys in parts: the first with all queries, the others half with all and half with half of
	 * them */
	TAKE(sh, n_passes, job->context == CONTEXT_RING ? 1 + 0.75 * (job->layout.cp - 1) : 1);
	LET(sh, tile_flop, 2 * 128 * 128 * (key_dim + value_dim));
	LET(sh, arithmetic_s, n_tiles * tile_flop / (tuned_flop_per_s * kernel_frac * narrow_frac * power_rate_frac));
	LET(sh, core_s, n_head_sequences * (arithmetic_s + n_passes * n_blocks * block_s / n_sms));
	return core_s;
}

/* Queries, keys, values and output, and what else stands around the core: once through memory. */
static double
around_core(struct sheet *sh, const struct train_job *job, const struct block *block)
{
	const struct train_core core = train_core(job, block);

	CALL(sh, n_rows, train_rows(sh, job));
	TAKE(sh, elem_byte, train_elem_byte(job));
	TAKE(sh, n_heads, core.n.units);
	TAKE(sh, n_kv_heads, core.k.units);
	TAKE(sh, key_dim, core.n.size);
	TAKE(sh, tp, job->layout.tp);
	TAKE(sh, mem_byte_per_s, train_memory(job));
	LET(sh, operand_s, 2 * elem_byte * n_rows * (2 * n_heads + 2 * n_kv_heads) * key_dim / tp / mem_byte_per_s);
	return operand_s;
}

/* Batched products of heads whose width is no multiple of eight 16-bit elements are not aligned for the tensor cores:
 * they run at the rate of fp32 (NVIDIA, "Matrix Multiplication Background User's Guide", tensor core requirements). */
static enum dtype
batched_type(const struct train_job *job, const struct train_core *core)
{
	const bool whole = fmod(core->n.size, 8) == 0 || !gemm_calibrated(job->machine.kernels, DTYPE_FP32);

	return whole ? train_wide_type(job) : DTYPE_FP32;
}

/* Scores and their product with the values as batched products: arithmetic or scores in memory. */
static double
score_products(struct sheet *sh, const struct train_job *job, const struct block *block)
{
	const struct train_core core = train_core(job, block);

	CALL(sh, n_rows, train_rows(sh, job));
	TAKE(sh, n_sequences, job->n_sequences);
	TAKE(sh, seq_length, job->packed_length > 0 ? job->packed_length : job->seq_length);
	TAKE(sh, n_heads, core.n.units);
	TAKE(sh, key_dim, core.n.size);
	TAKE(sh, tp, job->layout.tp);
	TAKE(sh, elem_byte, train_elem_byte(job));
	TAKE(sh, peak_flop_per_s, job->machine.kernels->gemm[batched_type(job, &core)].peak_flop_per_s);
	TAKE(sh, batched_frac, BATCHED_RATE);
	TAKE(sh, mem_byte_per_s, train_memory(job));
	LET(sh, n_scores, n_rows * (n_heads / tp) * seq_length);
	LET(sh, product_flop, 2 * n_scores * key_dim);
	LET(sh, traffic_byte, elem_byte * n_scores + 2 * elem_byte * n_rows * n_heads * key_dim / tp);
	LET(sh, products_s, 2 * fmax(product_flop / (batched_frac * peak_flop_per_s), traffic_byte / mem_byte_per_s));
	return products_s;
}

/* Softmax over scores in memory, and dropout with its mask where there is dropout. */
static double
unfused_time(struct sheet *sh, const struct train_job *job, const struct block *block, bool backward)
{
	const struct attention *a = &block->attention;

	CALL(sh, products_s, score_products(sh, job, block));
	CALL(sh, n_rows, train_rows(sh, job));
	TAKE(sh, seq_length, job->packed_length > 0 ? job->packed_length : job->seq_length);
	TAKE(sh, n_heads, a->n_heads);
	TAKE(sh, tp, job->layout.tp);
	TAKE(sh, elem_byte, train_elem_byte(job));
	TAKE(sh, n_passes, backward ? 3.0 : 2.0);
	TAKE(sh, dropout_passes, job->dropout ? 2.0 : 0.0);
	TAKE(sh, mask_byte, job->dropout ? 1.0 : 0.0);
	TAKE(sh, mem_byte_per_s, train_memory(job));
	LET(sh, n_scores, n_rows * (n_heads / tp) * seq_length);
	LET(sh, softmax_s, n_scores * ((n_passes + dropout_passes) * elem_byte + mask_byte) / mem_byte_per_s);
	EITHER(sh, unfused_s, backward, 2 * products_s + softmax_s, products_s + softmax_s);
	return unfused_s;
}

double
train_attention_forward(struct sheet *sh, const struct train_job *job, const struct block *block)
{
	if (form_of(job, block) == ATTENTION_UNFUSED)
		return unfused_time(sh, job, block, false);
	CALL(sh, core_s, fused_core(sh, job, block));
	CALL(sh, operand_s, around_core(sh, job, block));
	LET(sh, attention_s, core_s + operand_s);
	return attention_s;
}

double
train_attention_backward(struct sheet *sh, const struct train_job *job, const struct block *block)
{
	if (form_of(job, block) == ATTENTION_UNFUSED)
		return unfused_time(sh, job, block, true);
	CALL(sh, core_s, fused_core(sh, job, block));
	CALL(sh, operand_s, around_core(sh, job, block));
	TAKE(sh, backward_rate_frac, BACKWARD_RATE);
	LET(sh, attention_s, 2.5 * core_s / backward_rate_frac + 2 * operand_s);
	return attention_s;
}

/* --- kernels from those that were measured -------------------------------------------------------------------- */

/* Engines' prefill kernels, and dtypes without a fit. */

/* What is left of a prefill kernel's time for one head of one sequence beside the traffic that the model of training
 * counts apart. */
static double
core_of_head(const struct calibration *c, double length)
{
	const double n_tokens = 16384, n_heads = 32, n_kv_heads = 8, head_dim = 128;
	const struct attention_shape shape = {.batch = n_tokens / length,
	    .n_heads = n_heads,
	    .n_kv_heads = n_kv_heads,
	    .head_dim = head_dim,
	    .query_token = length,
	    .elem_byte = 2,
	    .kv_elem_byte = 2};
	const double operand_s =
	    4 * n_tokens * (2 * n_heads + 2 * n_kv_heads) * head_dim / c->gemm[DTYPE_BF16].mem_byte_per_s.value;
	const double kernel_s = attention_context(NULL, &shape, &c->context, c);

	/* no kernel is mostly operands: a bound, 0.3 changes none of 442 published steps */
	return fmax(0.5 * kernel_s, kernel_s - operand_s) / (shape.batch * n_heads);
}

/*
 * Two lengths give two equations for the rate of the tiles and the time that each row of them takes besides: core =
 * tiles x work / rate + rows x block / SMs.
 */
void
train_attention_rate(const struct calibration *c, struct datum *flop_per_s, struct datum *block_s)
{
	const double lengths[] = {2048, 8192}, work_flop = 2.0 * 128 * 128 * 256;
	double rows[2], flop[2], core[2];

	for (int i = 0; i < 2; i++) {
		rows[i] = lengths[i] / 128;
		flop[i] = rows[i] * (rows[i] + 1) / 2 * work_flop;
		core[i] = core_of_head(c, lengths[i]);
	}
	double rate = (flop[1] / rows[1] - flop[0] / rows[0]) / (core[1] / rows[1] - core[0] / rows[0]);
	double row_s = core[1] / rows[1] - flop[1] / rows[1] / rate;
	if (!(row_s > 0) || !(rate > 0)) {
		row_s = 0;
		rate = flop[1] / core[1];
	}
	flop_per_s->value = rate;
	block_s->value = row_s * c->ref_n_sms.value;
}

/* Types of 32 bits: the same tiles at another peak, their operands twice as wide and fed at four times the rate, as
 * published steps in these types have it. */
void
train_wide_kernels(struct calibration *c, enum dtype t, struct datum peak_flop_per_s)
{
	struct gemm_calibration *wide = &c->gemm[t];
	const struct gemm_calibration *half = &c->gemm[DTYPE_BF16];

	if (wide->peak_flop_per_s.value > 0 || !datum_given(peak_flop_per_s))
		return;
	*wide = *half;
	wide->peak_flop_per_s.value =
	    peak_flop_per_s.value * half->peak_flop_per_s.value / c->ref_peak_flop_per_s.value;
	wide->feed_byte_per_s.value = 4 * half->feed_byte_per_s.value;
}

static double
product_time(const struct calibration *c, enum dtype t)
{
	/* large, and below the size at which power matters */
	struct gemm_shape shape = gemm_shape_of(8192, 8192, 7168, t);

	shape.quantise = false;
	return gemm_time(NULL, &shape, c, t);
}

/* Products of few bits: the tiles, feeds and power of the 16-bit ones, at the rate with which a large product takes the
 * time that was measured.  Fits of few bits alone know only a range of shapes. */
void
train_narrow_kernels(struct calibration *c, enum dtype t, const struct gemm_calibration *measured)
{
	const struct datum peak = measured->peak_flop_per_s;
	double slow = 0.1 * peak.value, fast = 10 * peak.value;

	c->gemm[t] = *measured;
	const double want_s = product_time(c, t);
	struct datum *rate = &c->gemm[t].peak_flop_per_s;
	c->gemm[t] = c->gemm[DTYPE_BF16];
	for (int i = 0; i < 40; i++) {
		rate->value = sqrt(slow * fast);
		if (product_time(c, t) > want_s)
			slow = rate->value;
		else
			fast = rate->value;
	}
	rate->from = peak.from;
}

/* --- attention with a gate -------------------------------------------------------------------------------- */

/* A gate on attention's result (Qwen3-Next): copied out of the joint projection, its sigmoid times the result; backward
 * the gradients of both, and the gate's joined to the projection's. */
static double
result_gate(struct sheet *sh, const struct train_job *job, const struct block *block, bool backward)
{
	const struct train_core core = train_core(job, block);

	CALL(sh, n_rows, train_rows(sh, job));
	TAKE(sh, traffic_factor, train_traffic_factor(job));
	TAKE(sh, n_heads, core.n.units);
	TAKE(sh, value_dim, core.k.size);
	TAKE(sh, tp, job->layout.tp);
	TAKE(sh, n_passes, backward ? 7.0 : 5.0);
	TAKE(sh, elem_byte, train_elem_byte(job));
	TAKE(sh, mem_byte_per_s, train_memory(job));
	LET(sh, gate_s, traffic_factor * n_passes * n_heads * value_dim / tp * elem_byte * n_rows / mem_byte_per_s);
	return gate_s;
}

double
train_gated_attention(struct sheet *sh, const struct train_job *job, const struct block *block, bool backward)
{
	CALL(sh, kernel_s, (backward ? train_attention_backward : train_attention_forward)(sh, job, block));
	CALL(sh, gate_s, result_gate(sh, job, block, backward));
	LET(sh, attention_s, kernel_s + gate_s);
	return attention_s;
}
