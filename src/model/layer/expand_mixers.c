/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recurrences as operators: maps in, a short convolution, the recurrence in chunks or token by token, a gated norm, a
 * map out. */
#include "model/layer/parts.h"

static void
add_recurrence(struct list *l, const struct block *b)
{
	const struct op op = recurrence_op(l->w, b, l->x->batch, l->x->n_new, l->x->tp);

	list_add(l, (enum op_kind)op.kind, op.name, op.dim, (int)(sizeof op.dim / sizeof *op.dim));
}

/* A product and a sum for each tap; a single token finds the others in the state, and moves them on. */
static void
add_convolution(struct list *l, double width, double taps)
{
	const double moved = l->x->n_new > 1 ? 1 : taps;

	ADD(l, OP_elementwise, "short convolution", l->tokens * width, moved, moved, 2 * taps);
}

/* The output is normalised and gated. */
static void
add_gated_norm(struct list *l, double width)
{
	list_norm(l, "output norm", l->tokens, width, 1);
	list_gate(l, "output gate", l->tokens * width, true);
}

static void
add_mamba(struct list *l, const struct block *b)
{
	const struct mamba *m = &b->mamba;
	const double tp = l->x->tp, hidden = l->w->hidden.value, heads = m->n_heads.value / tp;
	const double inner = heads * m->head_dim.value;
	const double mixed = inner + 2 * share_of(m->n_groups.value, tp) * m->state.value;

	ADD(l, OP_gemm, "input projection", l->tokens, inner + mixed + heads, hidden);
	add_convolution(l, mixed, m->conv.value);
	add_recurrence(l, b);
	add_gated_norm(l, inner);
	ADD(l, OP_gemm, "output projection", l->tokens, hidden, inner);
}

static void
add_delta(struct list *l, const struct block *b)
{
	const struct delta *d = &b->delta;
	const double tp = l->x->tp, hidden = l->w->hidden.value, heads = d->n_value_heads.value / tp;
	const double keys = share_of(d->n_key_heads.value, tp) * d->key_dim.value, values = heads * d->value_dim.value;

	ADD(l, OP_gemm, "input projection", l->tokens, 2 * keys + 2 * values + 2 * heads, hidden);
	add_convolution(l, 2 * keys + values, d->conv.value);
	add_recurrence(l, b);
	add_gated_norm(l, values);
	ADD(l, OP_gemm, "output projection", l->tokens, hidden, values);
}

static void
add_kda(struct list *l, const struct block *b)
{
	const struct kda *k = &b->kda;
	const double hidden = l->w->hidden.value, heads = k->n_heads.value / l->x->tp, d = k->head_dim.value;
	const double inner = heads * d;

	ADD(l, OP_gemm, "input projection", l->tokens, 3 * inner + heads, hidden);
	add_convolution(l, 3 * inner, k->conv.value);
	ADD(l, OP_gemm, "decay compression", l->tokens, d, hidden);
	ADD(l, OP_gemm, "decay projection", l->tokens, inner, d);
	add_recurrence(l, b);
	if (k->full_gate)
		ADD(l, OP_gemm, "gate projection", l->tokens, inner, hidden);
	else {
		ADD(l, OP_gemm, "gate compression", l->tokens, d, hidden);
		ADD(l, OP_gemm, "gate projection", l->tokens, inner, d);
	}
	add_gated_norm(l, inner);
	ADD(l, OP_gemm, "output projection", l->tokens, hidden, inner);
}

void
expand_recurrence(struct list *l, const struct block *b)
{
	switch (b->mixer) {
	case MIXER_MAMBA:
		add_mamba(l, b);
		break;
	case MIXER_DELTA:
		add_delta(l, b);
		break;
	case MIXER_KDA:
		add_kda(l, b);
		break;
	case MIXER_ATTENTION:
	case MIXER_NONE:
		break;
	}
}
