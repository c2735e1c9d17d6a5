/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * State-space layers (Mamba-2) in training: convolution, scan in chunks and gated norm, as the fused function of
 * mamba_ssm runs them (mamba_split_conv1d_scan_combined, ops/triton/ssd_combined.py), which Megatron-Core calls.  Dao
 * and Gu, arXiv:2405.21060, section 6: scores and outputs inside a chunk, the state of each chunk, the states passed
 * on, what they add to the output.  Each step is a kernel that goes through memory; the backward pass computes all but
 * the norm again.  Input and output projections are products of the layer, see linear.c.  Not modeled: sequences of
 * several packed samples, and context parallelism, which is refused.
 */
#include "model/train/parts.h"

#include "model/layer/layer.h"

/* Megatron-Core holds tokens of several sequences side by side, the scan wants each sequence whole: copies of the input
 * projection's outputs and of the gated result on the way in and out, and of the gradient of the former
 * (mamba_mixer.py, rearrange(...).contiguous(), which copies nothing of one sequence). */
static double
transpose_byte(struct sheet *sh, const struct train_job *job, struct scan_widths w, bool backward)
{
	FROM_STRUCT(sh, w, projected, inner);
	TAKE(sh, pass_byte, 2 * 2.0);
	TAKE(sh, copies, job->tokens_first && job->n_sequences > 1);
	EITHER(sh, copied_byte, backward, copies * pass_byte * projected, copies * pass_byte * (projected + inner));
	return copied_byte;
}

/*
 * Bytes of each token.  Forward: convolution, cumulated steps, states of the chunks, states passed on, scores, outputs,
 * gated norm.  Backward: all of these again but outputs and norm, then the gradients of norm, states, passing, inputs,
 * both maps, scores and their two products, decays, convolution.  States and scores are in fp32 until they enter a
 * product, so are the steps and the maps' gradients before they are summed over heads.
 */
static double
scan_byte(struct sheet *sh, const struct train_job *job, const struct block *block, bool backward)
{
	const struct scan_widths w = mamba_widths(&block->mamba, job->seq_length, job->layout.tp);

	FROM_STRUCT(sh, w, inner, maps, heads, states, scores);
	TAKE(sh, half_byte, 2.0);
	TAKE(sh, float_byte, 4.0);
	CALL(sh, copied_byte, transpose_byte(sh, job, w, backward));
	EITHER(sh, row_byte, backward,
	    copied_byte + half_byte * (21 * inner + 10.5 * maps + 5 * states + heads) +
	        float_byte * (2 * maps + 6 * states + 6 * scores + 18 * heads),
	    copied_byte + half_byte * (8 * inner + 4 * maps + 2 * states + heads) +
	        float_byte * (2 * states + 2 * scores + 6 * heads));
	return row_byte;
}

/* Products of a pass over the tokens of a rank.  Backward: two of each, and scores, states and decays again. */
static double
scan_flop(struct sheet *sh, const struct train_job *job, const struct block *block, bool backward)
{
	const struct op op = recurrence_op(job->model, block, job->n_sequences, job->seq_length, job->layout.tp);

	CALL(sh, forward_flop, op_total_flop(sh, &op));
	TAKE(sh, n_passes, backward ? 3.0 : 1.0);
	LET(sh, products_flop, n_passes * forward_flop);
	return products_flop;
}

double
train_scan(struct sheet *sh, const struct train_job *job, const struct block *block, bool backward)
{
	CALL(sh, n_rows, train_rows(sh, job));
	CALL(sh, row_byte, scan_byte(sh, job, block, backward));
	CALL(sh, products_flop, scan_flop(sh, job, block, backward));
	TAKE(sh, peak_flop_per_s, job->machine.kernels->gemm[train_wide_type(job)].peak_flop_per_s);
	TAKE(sh, mem_byte_per_s, train_memory(job));
	TAKE(sh, scan_rate_frac, scan_reached_frac);
	LET(sh, scan_s, fmax(n_rows * row_byte / mem_byte_per_s, products_flop / peak_flop_per_s) / scan_rate_frac);
	return scan_s;
}
