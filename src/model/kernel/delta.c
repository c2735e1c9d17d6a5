/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The delta rule over a sequence, in chunks: products of the keys of a chunk and their triangular inverse, new keys and
 * values, the state that goes from chunk to chunk, outputs.  Yang et al., NeurIPS 2024 (arXiv:2406.06484), section 3;
 * as flash-linear-attention 0.5 runs it (ops/gated_delta_rule/chunk.py), one Triton kernel for each.  Between them
 * everything goes through memory, which is what takes the time: an SM moves no more than so much of it, and the states
 * of one sequence are made one after the other.
 *
 * Constants: 187 forward and 16 backward times that QwenLM/FlashQLA@6e5d2ea1 (MIT, benchmark) and others publish of
 * these kernels on eight GPUs, 4 to 96 heads, 2048 to 32768 tokens.  Mean error 8 and 6 %, with all rows of a GPU left
 * out 11 and 13 %; without the chain of chunks 15 and 65 %.
 */
#include "base/base.h"
#include "model/kernel/kernel.h"

#include <math.h>

struct delta_shape
delta_shape_of(const struct op *op)
{
	const double *d = op->dim;

	return (struct delta_shape){d[0], d[1], d[2], d[3], d[4], d[6], d[8] > 1};
}

/* What the kernels of a pass have in common. */
struct pass {
	double sm_byte_per_s, step_s; /* most that an SM moves; one chunk behind another */
	double n_kernels;
	/* reads and writes of keys and values, of chunks' states and of their products, in 16 bits and in fp32; of
	 * those, what goes from chunk to chunk */
	double keys, values, states, scores, float_scores, floats;
	double chain_keys, chain_values, chain_states;
};

static const struct pass FORWARD = {22e9, 1.2e-6, 6, 7, 6, 2, 2, 2, 8, 2, 2, 1};
/* New keys, values and states once more; decays' and steps' gradients with the rest. */
static const struct pass BACKWARD = {16.5e9, 4e-6, 9, 20, 15, 4, 2, 0, 12, 5, 5, 2};

/* L2 serves the rest of the reads: fitted to cards whose memory limits these kernels. */
static const double FROM_MEMORY = 0.8;
/* A decay for each channel: products within a chunk are not plain ones.  Six times of flash-linear-attention on three
 * GPUs, 1.5 to 1.9 times those of a decay for each head. */
static const double BY_CHANNEL = 1.75;

static double
token_byte(struct sheet *sh, const struct delta_shape *s, const struct pass *p)
{
	FROM(sh, s, n_heads, key_dim, value_dim, chunk_length);
	FROM(sh, p, keys, values, states, scores, float_scores, floats);
	TAKE(sh, half_byte, 2.0);
	TAKE(sh, float_byte, 4.0);
	LET(sh, head_byte,
	    half_byte *
	            (keys * key_dim + values * value_dim + states * key_dim * value_dim / chunk_length +
	                scores * chunk_length) +
	        float_byte * (float_scores * chunk_length + floats));
	LET(sh, row_byte, n_heads * head_byte);
	return row_byte;
}

static double
chain_byte(struct sheet *sh, const struct delta_shape *s, const struct pass *p)
{
	FROM(sh, s, n_heads, key_dim, value_dim, chunk_length);
	FROM(sh, p, chain_keys, chain_values, chain_states);
	TAKE(sh, half_byte, 2.0);
	LET(sh, row_byte,
	    half_byte * n_heads *
	        (chain_keys * key_dim + chain_values * value_dim + chain_states * key_dim * value_dim / chunk_length));
	return row_byte;
}

double
delta_rule_time(struct sheet *sh, const struct delta_shape *s, const struct calibration *c, bool backward)
{
	const struct pass *p = backward ? &BACKWARD : &FORWARD;

	FROM(sh, s, n_sequences, seq_length, chunk_length);
	FROM(sh, p, sm_byte_per_s, step_s, n_kernels);
	TAKE(sh, n_sms, c->ref_n_sms);
	TAKE(sh, mem_byte_per_s, c->gemm[DTYPE_BF16].mem_byte_per_s);
	TAKE(sh, base_s, c->gemm[DTYPE_BF16].base_s);
	TAKE(sh, memory_frac, FROM_MEMORY);
	TAKE(sh, channel_factor, s->by_channel ? BY_CHANNEL : 1);
	CALL(sh, row_byte, token_byte(sh, s, p));
	CALL(sh, chain_row_byte, chain_byte(sh, s, p));
	LET(sh, moved_byte_per_s, fmin(n_sms * sm_byte_per_s, mem_byte_per_s / memory_frac));
	LET(sh, n_rows, n_sequences * seq_length);
	LET(sh, chain_s, fmax(n_rows * chain_row_byte / moved_byte_per_s, ceil(seq_length / chunk_length) * step_s));
	LET(sh, rule_s,
	    channel_factor * (n_rows * (row_byte - chain_row_byte) / moved_byte_per_s + chain_s) + n_kernels * base_s);
	return rule_s;
}
