/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameters of operators: matrices, convolution kernels, tables. */
#include "model/layer/layer.h"

#include <string.h>

static double
dimension(const struct op *op, const char *name)
{
	for (int i = 0; op_dim_name((enum op_kind)op->kind, i); i++)
		if (strcmp(op_dim_name((enum op_kind)op->kind, i), name) == 0)
			return op->dim[i];
	return NAN;
}

static double
matrix_params(struct sheet *sh, const struct op *op)
{
	TAKE(sh, n, dimension(op, "n"));
	TAKE(sh, k, dimension(op, "k"));
	LET(sh, matrix_param, n * k);
	return matrix_param;
}

static double
kernel_params(struct sheet *sh, const struct op *op)
{
	TAKE(sh, c, dimension(op, "c"));
	TAKE(sh, k, dimension(op, "k"));
	TAKE(sh, r, dimension(op, "r"));
	TAKE(sh, s, dimension(op, "s"));
	TAKE(sh, groups, dimension(op, "groups"));
	LET(sh, matrix_param, k * (c / groups) * r * s);
	return matrix_param;
}

static double
table_params(struct sheet *sh, const struct op *op)
{
	TAKE(sh, vocabulary, dimension(op, "vocab"));
	TAKE(sh, width, dimension(op, "width"));
	LET(sh, matrix_param, vocabulary * width);
	return matrix_param;
}

static double
own_params(struct sheet *sh, const struct op *op)
{
	switch (op->kind) {
	case OP_gemm:
		return matrix_params(sh, op);
	case OP_conv2d:
		return kernel_params(sh, op);
	case OP_embedding:
	case OP_embedding_bag:
		return table_params(sh, op);
	default: /* both operands are activations, or the operator has none */
		break;
	}
	LET(sh, matrix_param, 0);
	return matrix_param;
}

double
op_params(struct sheet *sh, const struct op *op)
{
	CALL(sh, matrix_param, own_params(sh, op));
	TAKE(sh, extra_param, op->extra_params);
	LET(sh, operator_param, matrix_param + extra_param);
	return operator_param;
}

double
op_total_params(struct sheet *sh, const struct op *op)
{
	TAKE(sh, n_copies, op->count);
	CALL(sh, operator_param, op_params(sh, op));
	LET(sh, total_param, n_copies * operator_param);
	return total_param;
}

bool
op_multiplies(enum op_kind kind)
{
	switch (kind) {
	case OP_gemm:
	case OP_gemv:
	case OP_bmm:
	case OP_grouped:
	case OP_conv2d:
	case OP_scores:
	case OP_values:
	case OP_attention:
	case OP_attention_latent:
	case OP_index_scores:
	case OP_ssm_scan:
	case OP_ssm_step:
	case OP_delta_scan:
	case OP_delta_step:
		return true;
	default:
		return false;
	}
}
