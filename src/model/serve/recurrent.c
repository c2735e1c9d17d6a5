/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Layers with a recurrent state in a serving step: the kernels between their maps.  A prompt goes through a scan in
 * chunks, GEMMs on the tensor cores (Dao and Gu, arXiv:2405.21060, section 6), or the delta rule (kernel/delta.c); a
 * sequence that decodes reads its state and writes it back.
 */
#include "model/serve/parts.h"

#include "model/kernel/kernel.h"
#include "model/layer/layer.h"

/* Kernels of a scan: decays, products within chunks, states of chunks, passing them on, outputs (mamba_ssm 2.2,
 * ops/triton/ssd_combined.py). */
static const double scan_kernels = 6;

static double
kernels_time(struct sheet *sh, const struct serve_setup *s, const struct op *op, bool scans)
{
	const struct gemm_calibration *wide = &s->kernels->gemm[DTYPE_BF16];

	if (op->kind == OP_delta_scan) {
		const struct delta_shape shape = delta_shape_of(op);
		return delta_rule_time(sh, &shape, s->kernels, false);
	}
	CALL(sh, work_flop, op_total_flop(sh, op));
	CALL(sh, traffic_byte, op_total_byte(sh, op));
	TAKE(sh, kernel_s, s->engine->elementwise_s);
	TAKE(sh, base_factor, serve_base_factor(s));
	TAKE(sh, n_kernels, scans ? scan_kernels : 1.0);
	TAKE(sh, rate_frac, scans ? scan_reached_frac : 1.0);
	TAKE(sh, peak_flop_per_s, wide->peak_flop_per_s);
	TAKE(sh, mem_byte_per_s, wide->mem_byte_per_s);
	LET(sh, kernels_s,
	    n_kernels * base_factor * kernel_s +
	        fmax(work_flop / peak_flop_per_s, traffic_byte / mem_byte_per_s) / rate_frac);
	return kernels_s;
}

double
serve_layer_scan(
    struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_sequences, double n_each)
{
	const bool scans = n_each > 1;

	if (b->mixer == MIXER_NONE) {
		LET(sh, nothing_s, 0);
		return nothing_s;
	}
	GIVEN(sh, n_sequences);
	TAKE(sh, n_groups, serve_groups(s));
	LET(sh, n_local, n_sequences / n_groups);
	LET(sh, n_full, fmax(1, n_local));
	const struct op op = recurrence_op(s->model, b, n_full, n_each, serve_shards(s));
	CALL(sh, scan_s, kernels_time(sh, s, &op, scans));
	double layer_s;
	if (scans) /* fewer prompts than ranks: some ranks wait for the others */
		SET(sh, layer_s, scan_s * n_local / n_full);
	else
		SET(sh, layer_s, scan_s);
	return layer_s;
}

/* Tensors that a row's kernel reads and writes: a convolution its input and output; a gate, with the norm of the same
 * kernel, two and its output. */
static double
passes_of(const struct layer_op *op)
{
	if (op->part != IN_MIXER)
		return 0;
	return op->runs == RUNS_GATE ? 3 : op->runs == RUNS_CONVOLUTION ? 2 : 0;
}

static double
row_time(struct sheet *sh, const struct serve_setup *s, const struct layer_op *op, double m)
{
	double row_s;

	if (!(passes_of(op) > 0)) {
		SET(sh, row_s, 0);
		return row_s;
	}
	GIVEN(sh, m);
	TAKE(sh, n_passes, passes_of(op));
	TAKE(sh, width, width_local(op->n, serve_shards(s)));
	TAKE(sh, elem_byte, 2.0);
	LET(sh, moved_byte, n_passes * m * width * elem_byte);
	SET_CALL(sh, row_s, serve_elementwise(sh, s, moved_byte));
	return row_s;
}

double
serve_recurrent_small(struct sheet *sh, const struct serve_setup *s, const struct block *b, double m)
{
	struct layer own;
	const struct layer *l = layer_of(s->model, b, &own);

	if (b->mixer == MIXER_ATTENTION || b->mixer == MIXER_NONE) {
		LET(sh, no_kernels_s, 0);
		return no_kernels_s;
	}
	GIVEN(sh, m);
	SUM(sh, kernels_s, i, l->n_ops, row_time(sh, s, &l->op[i], m));
	return kernels_s;
}
