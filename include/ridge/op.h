/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators: what one computes and what it moves.  The table is op.def. */
#ifndef RIDGE_OP_H
#define RIDGE_OP_H

#include "ridge/workload.h"

enum op_kind {
#define OP(kind, title, dims, flop, bytes) OP_##kind,
#include "ridge/op.def"
#undef OP
	N_OP_KINDS,
	OP_NONE = -1,
};

const char *op_kind_name(enum op_kind kind);
const char *op_kind_title(enum op_kind kind);
enum op_kind op_kind_find(const char *name);
/* The formulas, as text. */
const char *op_flop_text(enum op_kind kind);
const char *op_byte_text(enum op_kind kind);

/* Dimension i of a kind, or NULL past the last. */
const char *op_dim_name(enum op_kind kind, int i);
/* What it is when it is left out: a number or the name of an earlier dimension; NULL: it must be given. */
const char *op_dim_default(enum op_kind kind, int i);
/* Give absent dimensions (NaN) their defaults; returns the index of the first that must be given and is not, or -1. */
int op_fill(struct op *op);

struct cost {
	double work_flop, traffic_byte;
};

/* Once: rows work_flop and traffic_byte, recorded in the caller's scope so that its formulas can name them. */
struct cost op_cost(struct sheet *sh, const struct op *op);
/* True for convolutions, matrix products and attention: what published counts of arithmetic have in them. */
bool op_multiplies(enum op_kind kind);
/* Parameters of its matrix or table, and those beside it, once; kinds without a matrix have only these. */
double op_params(struct sheet *sh, const struct op *op);
/* All of its copies. */
double op_total_params(struct sheet *sh, const struct op *op);
/* As often as it runs. */
double op_total_flop(struct sheet *sh, const struct op *op);
double op_total_byte(struct sheet *sh, const struct op *op);

#endif
