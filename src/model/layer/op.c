/* SPDX-License-Identifier: GPL-3.0-or-later */
/* FLOPs and bytes of operators, one function per line of op.def. */
#include "model/layer/layer.h"

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
