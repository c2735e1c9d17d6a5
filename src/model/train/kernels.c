/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Training kernels from those that were measured: engines' prefill kernels, and dtypes without a fit. */
#include "model/kernel/kernel.h"
#include "model/train/train.h"

#include <math.h>

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
