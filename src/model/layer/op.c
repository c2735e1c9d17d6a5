/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators by the table op.def: kinds, FLOPs and bytes, parameters. */
#include "model/layer/layer.h"

#include <assert.h>
#include <string.h>

/* --- kinds, dimensions with defaults, and formulas as text ----------------------------------------------- */

struct dimension {
	const char *name, *otherwise;
};

#define DIM(x) {#x, NULL},
#define DIM_OR(x, otherwise) {#x, #otherwise},
#define CONSTANT(x, number)
#define OP(kind, title, dims, flop, bytes) static const struct dimension kind##_dims[] = {dims{NULL, NULL}};
#include "model/layer/op.def"
#undef OP
#undef DIM
#undef DIM_OR
#undef CONSTANT

#define OP(kind, title, dims, flop, bytes) {#kind, title, kind##_dims, #flop, #bytes},
static const struct {
	const char *name, *title;
	const struct dimension *dims;
	const char *flop, *bytes;
} kinds[N_OP_KINDS] = {
#include "model/layer/op.def"
};
#undef OP

const char *
op_kind_name(enum op_kind kind)
{
	return kinds[kind].name;
}

const char *
op_kind_title(enum op_kind kind)
{
	return kinds[kind].title;
}

enum op_kind
op_kind_find(const char *name)
{
	for (int k = 0; k < N_OP_KINDS; k++)
		if (strcmp(kinds[k].name, name) == 0)
			return (enum op_kind)k;
	return OP_NONE;
}

const char *
op_flop_text(enum op_kind kind)
{
	return kinds[kind].flop;
}

const char *
op_byte_text(enum op_kind kind)
{
	return kinds[kind].bytes;
}

const char *
op_dim_name(enum op_kind kind, int i)
{
	return kinds[kind].dims[i].name;
}

const char *
op_dim_default(enum op_kind kind, int i)
{
	return kinds[kind].dims[i].otherwise;
}

/* A default is an earlier dimension or a whole number of one digit. */
static double
default_value(const struct op *op, int i)
{
	const struct dimension *dims = kinds[op->kind].dims;
	const char *otherwise = dims[i].otherwise;

	for (int j = 0; j < i; j++)
		if (strcmp(dims[j].name, otherwise) == 0)
			return op->dim[j];
	assert(otherwise[0] >= '0' && otherwise[0] <= '9' && !otherwise[1]);
	return otherwise[0] - '0';
}

int
op_fill(struct op *op)
{
	const struct dimension *dims = kinds[op->kind].dims;

	for (int i = 0; dims[i].name; i++) {
		if (!isnan(op->dim[i]))
			continue;
		if (!dims[i].otherwise)
			return i;
		op->dim[i] = default_value(op, i);
	}
	return -1;
}

/* --- FLOPs and bytes, one function per line of op.def ---------------------------------------------------- */

#define DIM(x)                                                                                                         \
	const double x = *at++;                                                                                        \
	GIVEN(sh, x);
#define DIM_OR(x, otherwise) DIM(x)
#define CONSTANT(x, number) TAKE(sh, x, (double)(number));
#define OP(kind, title, dims, flop, bytes)                                                                             \
	static struct cost kind##_cost(struct sheet *sh, const struct op *op)                                          \
	{                                                                                                              \
		const double *at = op->dim, elem_byte = op->elem_byte;                                                 \
		dims GIVEN(sh, elem_byte);                                                                             \
		LET(sh, work_flop, flop);                                                                              \
		LET(sh, traffic_byte, bytes);                                                                          \
		return (struct cost){work_flop, traffic_byte};                                                         \
	}
#include "model/layer/op.def"
#undef DIM
#undef DIM_OR
#undef CONSTANT
#undef OP

#define OP(kind, title, dims, flop, bytes) kind##_cost,
static struct cost (*const costs[N_OP_KINDS])(struct sheet *, const struct op *) = {
#include "model/layer/op.def"
};
#undef OP

struct cost
op_cost(struct sheet *sh, const struct op *op)
{
	return costs[op->kind](sh, op);
}

double
op_total_flop(struct sheet *sh, const struct op *op)
{
	const double work_flop = op_cost(sh, op).work_flop;

	TAKE(sh, n_times, op->count);
	LET(sh, total_flop, n_times * work_flop);
	return total_flop;
}

double
op_total_byte(struct sheet *sh, const struct op *op)
{
	const double traffic_byte = op_cost(sh, op).traffic_byte;

	TAKE(sh, n_times, op->count);
	LET(sh, total_byte, n_times * traffic_byte);
	return total_byte;
}

/* --- parameters: matrices, convolution kernels, tables --------------------------------------------------- */

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
