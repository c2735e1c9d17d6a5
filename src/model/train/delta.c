/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gated delta nets in training, as Megatron-Core's gated_delta_net.py runs them (v0.16): a convolution over queries,
 * keys and values, norms of queries and keys, which are repeated for every value head, the rule in chunks and a gated
 * norm.  Yang, Kautz and Hatamizadeh, ICLR 2025, section 3.3.  Input and output projections are products of the layer,
 * see linear.c.  Not modeled: sequences of several packed samples, and context parallelism, which is refused.
 */
#include "model/train/parts.h"

#include "model/layer/layer.h"

/*
 * Bytes of each token beside the rule.  Forward: the convolution and a copy in front of it, copies and norms of queries
 * and keys, which are then repeated, copies of values and gate, decays and steps, norm, gate and a copy of the output.
 * Backward: the gradients of the same, joined to that of the input projection's outputs.
 */
static double
copies_byte(struct sheet *sh, const struct train_job *job, const struct block *block, bool backward)
{
	const struct delta_widths w = delta_widths(&block->delta, job->seq_length, job->layout.tp);

	FROM_STRUCT(sh, w, keys, repeated, values, heads, convolved, projected);
	TAKE(sh, repeats, w.repeated > w.keys);
	TAKE(sh, half_byte, 2.0);
	TAKE(sh, float_byte, 4.0);
	EITHER(sh, row_byte, backward,
	    half_byte * (7 * convolved + 6 * keys + 2 * repeats * (keys + repeated) + 10 * values + 2 * projected) +
	        float_byte * 8 * heads,
	    half_byte * (4 * convolved + 8 * keys + 2 * repeats * (keys + repeated) + 11 * values) +
	        float_byte * 8 * heads);
	return row_byte;
}

double
train_delta(struct sheet *sh, const struct train_job *job, const struct block *block, bool backward)
{
	const struct op op = recurrence_op(job->model, block, job->n_sequences, job->seq_length, job->layout.tp);
	const struct delta_shape shape = delta_shape_of(&op);

	CALL(sh, rule_s, delta_rule_time(sh, &shape, job->machine.kernels, backward));
	CALL(sh, n_rows, train_rows(sh, job));
	CALL(sh, row_byte, copies_byte(sh, job, block, backward));
	TAKE(sh, traffic_factor, train_traffic_factor(job));
	TAKE(sh, mem_byte_per_s, train_memory(job));
	LET(sh, delta_s, rule_s + traffic_factor * n_rows * row_byte / mem_byte_per_s);
	return delta_s;
}
