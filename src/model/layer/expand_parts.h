/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A list of operators while it is being written. */
#ifndef RIDGE_EXPAND_PARTS_H
#define RIDGE_EXPAND_PARTS_H

#include "ridge/expand.h"

struct list {
	const struct workload *w;
	const struct shape *x;
	struct op *ops;
	int n;
	double count;  /* of what is being added: layers that are alike */
	double tokens; /* new tokens of the whole batch */
	bool causal;
	double source;     /* tokens of the encoder that each sequence attends to */
	bool fresh_source; /* their keys and values are made now */
};

void list_add(struct list *l, enum op_kind kind, const char *name, const double *dims, int n_dims);
#define ADD(l, kind, name, ...)                                                                                        \
	list_add((l), (kind), (name), (const double[]){__VA_ARGS__},                                                   \
	    (int)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)))
/* `times` norms of rows of this width. */
void list_norm(struct list *l, const char *name, double rows, double width, double times);
/* What attention's output or an up-projection meets before the next product: a gate, or a function alone. */
void list_gate(struct list *l, const char *name, double elements, bool gated);

void expand_attention(struct list *l, const struct attention *a);
void expand_cross(struct list *l, const struct attention *a);
void expand_recurrence(struct list *l, const struct block *b);
void expand_feed_forward(struct list *l, const struct block *b);

/* The same with one GPU's share where heads are divided; groups that do not divide are kept by every GPU. */
static inline double
share_of(double n, double tp)
{
	return n / tp < 1 ? 1 : n / tp;
}

static inline double
value_dim_of(const struct attention *a)
{
	return a->v_dim.value > 0 ? a->v_dim.value : a->head_dim.value;
}

static inline bool
indexed(const struct attention *a)
{
	return a->indexer.dim.value > 0;
}

/* Keys that a query attends to on average: those that it may see, or those that its indexer lets through. */
double chosen_keys(struct sheet *sh, const struct attention *a, double n_new, double n_cached, bool causal);
/* Compressed tokens that a query may see on average, and those that it attends to. */
double compressed_keys(struct sheet *sh, const struct attention *a, double n_new, double n_cached);
double compressed_chosen(struct sheet *sh, const struct attention *a, double n_new, double n_cached);

/* A recurrence over n_new tokens of each of batch sequences, on one of tp GPUs. */
struct op recurrence_op(const struct workload *w, const struct block *b, double batch, double n_new, double tp);

#endif
