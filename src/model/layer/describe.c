/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The rows of a layer.  What mixes its tokens is described in heads.c, latent.c, sparse.c and recurrent.c, its
 * feed-forward part in feed.c.  The finest maps are rows: which of them run as one product is said by their names.
 */
#include "model/layer/parts.h"

#include <assert.h>
#include <string.h>

struct layer_op *
row_add(struct layer *l, enum layer_part part, enum op_runs runs, const char *title, struct width n, struct width k)
{
	struct layer_op *op = &l->op[l->n_ops++];

	assert(l->n_ops <= LAYER_OPS);
	*op = (struct layer_op){.title = title,
	    .product = title,
	    .runs = runs,
	    .part = part,
	    .forms = FORM_EXPANDED | FORM_ABSORBED,
	    .n = n,
	    .k = k,
	    .copies = figure(1),
	    .active = figure(1)};
	return op;
}

/* Neighbors of one name are one product. */
static bool
joins(const struct layer *l, const struct layer_op *op)
{
	return op > l->op && op[-1].runs == op->runs && strcmp(op[-1].product, op->product) == 0;
}

struct layer_op *
row_map(struct layer *l, enum layer_part part, const char *title, const char *product, struct width n, struct width k)
{
	struct layer_op *op = row_add(l, part, RUNS_PRODUCT, title, n, k);

	op->product = product;
	op->joined = joins(l, op);
	return op;
}

struct layer_op *
row_vector(struct layer *l, enum layer_part part, const char *title, struct width n)
{
	return row_add(l, part, RUNS_WITH, title, n, columns(figure(1)));
}

struct layer_state *
state_add(struct layer *l, const char *title, enum state_span span, enum state_type type, struct width width)
{
	struct layer_state *s = &l->state[l->n_states++];

	assert(l->n_states <= LAYER_STATES);
	*s = (struct layer_state){
	    .title = title, .span = span, .type = type, .width = width, .rows = 1, .reach = datum_absent(), .ratio = 1};
	return s;
}

/* RMSNorm has a gain, LayerNorm a gain and a bias.  Zhang and Sennrich, NeurIPS 2019; Ba et al., arXiv:1607.06450. */
static void
describe_norms(struct layer *l, const struct workload *w)
{
	struct layer_op *op =
	    row_add(l, IN_NORMS, RUNS_NORM, "norms", whole(w->hidden), columns(figure(norm_vectors(w))));

	op->copies = op->active = l->block->has_norms ? l->block->norms : w->norms_per_layer;
}

static void
describe_mixer(struct layer *l, const struct workload *w)
{
	const struct block *b = l->block;

	if (b->mixer != MIXER_ATTENTION)
		describe_recurrence(l, w);
	else if (b->attention.kind == ATTENTION_HEADS)
		describe_heads(l, w, IN_MIXER);
	else if (b->attention.kind == ATTENTION_MLA)
		describe_latent(l, w);
	else
		describe_compressed(l, w);
	if (b->cross)
		describe_heads(l, w, IN_CROSS);
}

void
layer_describe(const struct workload *w, const struct block *b, struct layer *out)
{
	out->block = b;
	out->n_ops = out->n_states = 0;
	describe_norms(out, w);
	describe_mixer(out, w);
	describe_feed(out, w);
}

const struct layer *
layer_of(const struct workload *w, const struct block *b, struct layer *own)
{
	if (b->layer)
		return b->layer;
	layer_describe(w, b, own);
	return own;
}

enum form
layer_form(const struct block *b, bool decode)
{
	return decode || indexed(&b->attention) ? FORM_ABSORBED : FORM_EXPANDED;
}

bool
is_core(const struct layer_op *op)
{
	return op->runs == RUNS_ATTENTION || op->runs == RUNS_LATENT || op->runs == RUNS_SCORES ||
	    op->runs == RUNS_RECURRENCE;
}

int
layer_cores(const struct layer *l, enum form form, const struct layer_op *cores[LAYER_OPS])
{
	int n = 0;

	for (int i = 0; i < l->n_ops; i++)
		if (is_core(&l->op[i]) && l->op[i].forms & form)
			cores[n++] = &l->op[i];
	return n;
}

const struct layer_op *
layer_attention(const struct layer *l)
{
	for (int i = 0; i < l->n_ops; i++)
		if ((l->op[i].runs == RUNS_ATTENTION || l->op[i].runs == RUNS_LATENT) && l->op[i].forms & FORM_EXPANDED)
			return &l->op[i];
	return NULL;
}
