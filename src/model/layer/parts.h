/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RIDGE_MODEL_LAYER_PARTS_H
#define RIDGE_MODEL_LAYER_PARTS_H

#include "model/layer/layer.h"

/* A list of operators while it is being written. */

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

/* What the files that count parameters share. */

/* Values as wide as keys unless the file says otherwise. */
static inline struct datum
value_width(const struct attention *a)
{
	return a->v_dim.value > 0 ? a->v_dim : a->head_dim;
}

static inline bool
has_indexer(const struct attention *a)
{
	return a->indexer.dim.value > 0;
}

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

double mamba_params(struct sheet *sh, const struct workload *w, const struct mamba *m);
double delta_params(struct sheet *sh, const struct workload *w, const struct delta *d);
double kda_params(struct sheet *sh, const struct workload *w, const struct kda *k);

/* What a layer keeps of a sequence besides keys and values of heads; kv.c adds it all up.  Bytes on one of tp GPUs. */

static inline bool
block_recurs(const struct block *b)
{
	return b->mixer != MIXER_ATTENTION && b->mixer != MIXER_NONE;
}

static inline bool
block_compresses(const struct block *b)
{
	return b->mixer == MIXER_ATTENTION && b->attention.kind == ATTENTION_CSA;
}

/* The state of one recurrent layer, which does not grow. */
double recurrent_layer(struct sheet *sh, const struct workload *w, const struct block *b, double tp);

/* The key that an indexer keeps of each token, beside the cache. */
double indexer_key(struct sheet *sh, const struct attention *a, double kv_elem_byte);
/* Latent rows that sparse kernels read in 8 bits. */
double packed_latent(struct sheet *sh, const struct attention *a);

/* Compressed tokens: what each token adds, what does not grow, and a sequence in blocks. */
double compressed_slope(struct sheet *sh, const struct attention *a);
double compressed_constant(struct sheet *sh, const struct attention *a, double block_token);
double compressed_sequence(struct sheet *sh, const struct attention *a, double seq_token, double block_token);

#endif
