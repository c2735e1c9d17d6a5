/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RIDGE_MODEL_LAYER_PARTS_H
#define RIDGE_MODEL_LAYER_PARTS_H

#include "model/layer/layer.h"

/* --- describing a layer ---------------------------------------------------------------------------------- */

/* A number of no file. */
static inline struct datum
figure(double value)
{
	return (struct datum){value, {NULL, 0, 0, NULL, false}};
}

/* `n` of them; the place of one stays where n is 1. */
static inline struct datum
times(struct datum d, double n)
{
	return n == 1 ? d : figure(n * d.value);
}

static inline struct width
wide(struct datum units, double size)
{
	return (struct width){units, size, false};
}

static inline struct width
columns(struct datum n)
{
	return wide(n, 1);
}

static inline struct width
whole(struct datum n)
{
	return (struct width){n, 1, true};
}

struct layer_op *row_add(
    struct layer *l, enum layer_part part, enum op_runs runs, const char *title, struct width n, struct width k);
/* A map, in a product of this name. */
struct layer_op *row_map(
    struct layer *l, enum layer_part part, const char *title, const char *product, struct width n, struct width k);
/* What is stored and does not run by itself. */
struct layer_op *row_vector(struct layer *l, enum layer_part part, const char *title, struct width n);
struct layer_state *state_add(
    struct layer *l, const char *title, enum state_span span, enum state_type type, struct width width);

void describe_heads(struct layer *l, const struct workload *w, enum layer_part part);
void describe_latent(struct layer *l, const struct workload *w);
void describe_compressed(struct layer *l, const struct workload *w);

/* --- folds ----------------------------------------------------------------------------------------------- */

static inline double
state_elem_byte(const struct workload *w)
{
	return w->state_byte.value > 0 ? w->state_byte.value : 4;
}

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

/* Keys that a query attends to on average: those that it may see, those that its indexer lets through, or near and
 * compressed ones; those that an indexer scores; and those that must be read. */
double attended_keys(struct sheet *sh, const struct attention *a, double n_new, double n_cached, bool causal);
double scored_keys(struct sheet *sh, const struct attention *a, double n_new, double n_cached, bool causal);
double read_keys(const struct attention *a, double n_new, double n_cached);

/* What the files that count parameters share. */

/* RMSNorm has a gain, LayerNorm a gain and a bias.  Zhang and Sennrich, NeurIPS 2019; Ba et al., arXiv:1607.06450. */
static inline double
norm_vectors(const struct workload *w)
{
	return w->norm == NORM_LAYER ? 2.0 : 1.0;
}

/* Encoder and decoder each have their positions, norm of the embedding and last norm. */
static inline double
n_stacks(const struct workload *w)
{
	return w->kind == MODEL_ENCODER_DECODER ? 2.0 : 1.0;
}

/* Rows that attend, choose or recur. */
bool is_core(const struct layer_op *op);
/* Those of a layer in this form; returns how many. */
int layer_cores(const struct layer *l, enum form form, const struct layer_op *cores[LAYER_OPS]);
/* Decode reads the compressed cache, and so does sparse attention always. */
enum form layer_form(const struct block *b, bool decode);

#endif
