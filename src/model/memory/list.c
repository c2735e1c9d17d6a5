/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory of running an operator list: all weights at once, operands of one operator at a time. */
#include "model/memory/memory.h"

#include "model/layer/layer.h"

/* A table is looked up in: what is read of it is in the traffic already. */
static bool
is_table(const struct op *op)
{
	return op->kind == OP_embedding || op->kind == OP_embedding_bag;
}

/* Activation traffic of one operator for n samples: inputs and outputs, without its weights. */
static double
op_operands(struct sheet *sh, const struct op *one, double n_samples, double elem_byte)
{
	struct op op = *one;

	op.elem_byte = elem_byte;
	for (int d = 0; op_dim_name((enum op_kind)op.kind, d); d++)
		op.dim[d] += op.per_batch[d] * (n_samples - 1);
	const double traffic_byte = op_cost(sh, &op).traffic_byte;
	if (is_table(&op)) {
		LET(sh, operand_byte, traffic_byte);
		return operand_byte;
	}
	op.extra_params = 0;
	TAKE(sh, elem_byte_per_param, elem_byte);
	CALL(sh, matrix_param, op_params(sh, &op));
	LET(sh, operand_byte, traffic_byte - matrix_param * elem_byte_per_param);
	return operand_byte;
}

double
list_operands(struct sheet *sh, const struct workload *w, double n_samples, double elem_byte)
{
	GIVEN(sh, n_samples, elem_byte);
	MOST(sh, operands_byte, i, w->n_ops, op_operands(sh, &w->ops[i], n_samples, elem_byte));
	return operands_byte;
}

double
list_weights(struct sheet *sh, const struct workload *w, double elem_byte)
{
	TAKE(sh, elem_byte_per_param, elem_byte);
	CALL(sh, model_param, model_params(sh, w));
	LET(sh, weights_byte, model_param * elem_byte_per_param);
	return weights_byte;
}

double
list_total(struct sheet *sh, double weights_byte, double operands_byte)
{
	GIVEN(sh, weights_byte, operands_byte);
	LET(sh, total_byte, weights_byte + operands_byte);
	return total_byte;
}
