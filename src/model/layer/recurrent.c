/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recurrences that stand where attention would: maps in, a short convolution, the recurrence in chunks or token by
 * token, a gated norm, a map out.  Of a sequence they keep one matrix per head, in fp32 unless the model or the engine
 * says otherwise, and the last tokens of the convolution in the 16 bits of the activations.
 */
#include "model/layer/parts.h"

/* `bias` 1: beside the taps each channel has one.  The last tokens of a short convolution are kept. */
static void
add_convolution(struct layer *l, const char *title, struct width channels, double taps, double bias)
{
	struct layer_op *op = row_add(l, IN_MIXER, RUNS_CONVOLUTION, title, channels, whole(figure(taps + bias)));

	op->joined = op[-1].runs == RUNS_CONVOLUTION;
	op->product = "short convolution";
	op->inputs = taps;
	state_add(l, title, SPAN_SEQUENCE, STATE_HALF, channels)->rows = taps - 1;
}

/* The output is normalized with gains of one head's width or of all, gated and mapped. */
static void
add_output(struct layer *l, const struct workload *w, struct width inner, struct width gains)
{
	row_vector(l, IN_MIXER, "output gains", gains);
	row_add(l, IN_MIXER, RUNS_NORM, "output norm", inner, whole(figure(0)));
	row_add(l, IN_MIXER, RUNS_GATE, "output gate", inner, inner)->inputs = 2;
	row_map(l, IN_MIXER, "output", "output projection", whole(w->hidden), inner);
}

static void
add_input(struct layer *l, const struct workload *w, const char *title, struct width n)
{
	row_map(l, IN_MIXER, title, "input projection", n, whole(w->hidden));
}

/* Mamba-2: one input map for gate, values, the state's input and output maps and the steps; a convolution with a bias
 * over all but the gate; decay, skip and step bias of each head.  Dao and Gu, arXiv:2405.21060, section 7. */
static void
describe_mamba(struct layer *l, const struct workload *w)
{
	const struct mamba *m = &l->block->mamba;
	const struct width inner = wide(m->n_heads, m->head_dim.value), maps = wide(m->n_groups, 2 * m->state.value);

	add_input(l, w, "gate", inner);
	add_input(l, w, "values", inner);
	add_input(l, w, "maps into and out of the state", maps);
	add_input(l, w, "steps", columns(m->n_heads));
	row_vector(l, IN_MIXER, "decays, skips and step biases", wide(m->n_heads, 3));
	add_convolution(l, "taps of values", inner, m->conv.value, 1);
	add_convolution(l, "taps of the maps", maps, m->conv.value, 1);
	state_add(l, "states", SPAN_SEQUENCE, STATE_MATRIX, wide(m->n_heads, m->head_dim.value * m->state.value));
	row_add(l, IN_MIXER, RUNS_RECURRENCE, "recurrence", inner, inner);
	add_output(l, w, inner, inner);
}

/* Gated delta net: queries, keys, values and gate; two numbers per value head and token; a convolution; decay and step
 * bias of each head.  Yang, Kautz and Hatamizadeh, ICLR 2025. */
static void
describe_delta(struct layer *l, const struct workload *w)
{
	const struct delta *d = &l->block->delta;
	const struct width keys = wide(d->n_key_heads, 2 * d->key_dim.value),
	                   values = wide(d->n_value_heads, d->value_dim.value);

	add_input(l, w, "queries and keys", keys);
	add_input(l, w, "values", values);
	add_input(l, w, "gate", values);
	add_input(l, w, "decays and steps", wide(d->n_value_heads, 2));
	row_vector(l, IN_MIXER, "decays and step biases", wide(d->n_value_heads, 2));
	add_convolution(l, "taps of queries and keys", keys, d->conv.value, 0);
	add_convolution(l, "taps of values", values, d->conv.value, 0);
	state_add(
	    l, "states", SPAN_SEQUENCE, STATE_MATRIX, wide(d->n_value_heads, d->value_dim.value * d->key_dim.value));
	row_add(l, IN_MIXER, RUNS_RECURRENCE, "recurrence", values, values);
	add_output(l, w, values, whole(d->value_dim));
}

/* Kimi delta attention: the decay is of each channel and comes through one head's width, as the output gate does unless
 * it has full rank.  Kimi Team, arXiv:2510.26692, section 4. */
static void
describe_kda(struct layer *l, const struct workload *w)
{
	const struct kda *k = &l->block->kda;
	const struct width hidden = whole(w->hidden), low = whole(k->head_dim),
	                   inner = wide(k->n_heads, k->head_dim.value), three = wide(k->n_heads, 3 * k->head_dim.value);

	add_input(l, w, "queries, keys and values", three);
	add_input(l, w, "steps", columns(k->n_heads));
	add_convolution(l, "taps", three, k->conv.value, 0);
	row_map(l, IN_MIXER, "decay compression", "decay compression", low, hidden);
	row_map(l, IN_MIXER, "decay", "decay projection", inner, low);
	row_vector(l, IN_MIXER, "decay biases", inner);
	row_vector(l, IN_MIXER, "decays", columns(k->n_heads));
	state_add(l, "states", SPAN_SEQUENCE, STATE_MATRIX, wide(k->n_heads, k->head_dim.value * k->head_dim.value));
	row_add(l, IN_MIXER, RUNS_RECURRENCE, "recurrence", inner, inner);
	if (!k->full_gate)
		row_map(l, IN_MIXER, "gate compression", "gate compression", low, hidden);
	row_map(l, IN_MIXER, "gate", "gate projection", inner, k->full_gate ? hidden : low);
	add_output(l, w, inner, low);
}

void
describe_recurrence(struct layer *l, const struct workload *w)
{
	switch (l->block->mixer) {
	case MIXER_MAMBA:
		describe_mamba(l, w);
		break;
	case MIXER_DELTA:
		describe_delta(l, w);
		break;
	case MIXER_KDA:
		describe_kda(l, w);
		break;
	case MIXER_ATTENTION:
	case MIXER_NONE:
		break;
	}
}

/* --- the operator ---------------------------------------------------------------------------------------- */

static struct op
mamba_op(const struct workload *w, const struct mamba *m, double batch, double n_new, double tp)
{
	const double h = m->n_heads.value / tp, p = m->head_dim.value, n = m->state.value;
	const double g = share_of(m->n_groups.value, tp), byte = state_elem_byte(w);

	if (n_new > 1)
		return (struct op){.kind = OP_ssm_scan,
		    .name = "state-space scan",
		    .dim = {batch, n_new, h, p, n, g, m->chunk.value, byte}};
	return (struct op){.kind = OP_ssm_step, .name = "state-space step", .dim = {batch, h, p, n, g, byte}};
}

static struct op
delta_op(const struct workload *w, const struct block *b, double batch, double n_new, double tp)
{
	const bool kimi = b->mixer == MIXER_KDA;
	const double h = (kimi ? b->kda.n_heads.value : b->delta.n_value_heads.value) / tp;
	const double d = kimi ? b->kda.head_dim.value : b->delta.key_dim.value;
	const double dv = kimi ? d : b->delta.value_dim.value;
	const double g = kimi ? h : share_of(b->delta.n_key_heads.value, tp);
	const double chunk = kimi ? b->kda.chunk.value : b->delta.chunk.value, byte = state_elem_byte(w);

	if (n_new > 1)
		return (struct op){
		    .kind = OP_delta_scan, .name = "delta rule", .dim = {batch, n_new, h, d, dv, g, chunk, byte}};
	return (struct op){.kind = OP_delta_step, .name = "delta rule", .dim = {batch, h, d, dv, g, byte}};
}

struct op
recurrence_op(const struct workload *w, const struct block *b, double batch, double n_new, double tp)
{
	struct op op =
	    b->mixer == MIXER_MAMBA ? mamba_op(w, &b->mamba, batch, n_new, tp) : delta_op(w, b, batch, n_new, tp);

	op.count = 1;
	op.elem_byte = 2;
	return op;
}
