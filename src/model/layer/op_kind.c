/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The operator table: kinds, dimensions with defaults, and formulas as text. */
#include "model/layer/layer.h"

#include <assert.h>
#include <string.h>

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
