/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The rows of a layer.  What attends is described in attention.c; here are recurrences and feed-forward parts, and all
 * of it put together.  The finest maps are rows: which of them run as one product is said by their names.
 */
#include "model/layer/parts.h"

#include <assert.h>
#include <string.h>

/* --- recurrences ----------------------------------------------------------------------------------------- */

/*
 * Recurrences that stand where attention would: maps in, a short convolution, the recurrence in chunks or token by
 * token, a gated norm, a map out.  Of a sequence they keep one matrix per head, in fp32 unless the model or the engine
 * says otherwise, and the last tokens of the convolution in the 16 bits of the activations.
 */

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

struct scan_widths
mamba_widths(const struct mamba *m, double seq_length, double tp)
{
	const double heads = m->n_heads.value / tp, groups = share_of(m->n_groups.value, tp), state = m->state.value;
	const double inner = heads * m->head_dim.value, maps = 2 * groups * state;
	const double chunk = fmin(m->chunk.value, seq_length);

	return (struct scan_widths){
	    inner, maps, heads, 2 * inner + maps + heads, inner * state / chunk, groups * chunk};
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

struct delta_widths
delta_widths(const struct delta *d, double seq_length, double tp)
{
	const double heads = d->n_value_heads.value / tp, values = heads * d->value_dim.value;
	const double keys = share_of(d->n_key_heads.value, tp) * d->key_dim.value, repeated = heads * d->key_dim.value;
	const double chunk = fmin(d->chunk.value, seq_length), convolved = 2 * keys + values;

	return (struct delta_widths){keys, repeated, values, heads, convolved, convolved + values + 2 * heads,
	    values * d->key_dim.value / chunk, heads * chunk};
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

static void
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
	const double decays = kimi ? d : 1;

	if (n_new > 1)
		return (struct op){.kind = OP_delta_scan,
		    .name = "delta rule",
		    .dim = {batch, n_new, h, d, dv, g, chunk, byte, decays}};
	return (struct op){.kind = OP_delta_step, .name = "delta rule", .dim = {batch, h, d, dv, g, byte, decays}};
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

/* --- feed-forward parts ---------------------------------------------------------------------------------- */

/* Feed-forward parts: one for all tokens (Shazeer, arXiv:2002.05202: gated), or experts with a router (Shazeer et al.,
 * ICLR 2017). */

struct names {
	const char *up, *activation, *down;
};

static void
add_pair(struct layer *l, enum layer_part part, const struct names *names, struct width width, struct width stream,
    bool gated)
{
	if (gated)
		row_map(l, part, "gate", names->up, width, stream)->map = MAP_GATE;
	row_map(l, part, "up", names->up, width, stream)->map = MAP_UP;
	row_add(l, part, RUNS_GATE, names->activation, width, stream)->inputs = gated ? 2 : 1;
	row_map(l, part, "down", names->down, stream, width)->map = MAP_DOWN;
}

static void
describe_mlp(struct layer *l, const struct workload *w)
{
	const struct mlp *mlp = &l->block->mlp;
	const struct names names = {mlp->gated ? "mlp gate and up" : "mlp up", "activation", "mlp down"};

	add_pair(l, IN_MLP, &names, columns(mlp->width), whole(w->hidden), mlp->gated);
	if (!mlp->bias)
		return;
	row_vector(l, IN_MLP, "inner bias", wide(mlp->width, mlp->gated ? 2 : 1));
	row_vector(l, IN_MLP, "output bias", whole(w->hidden));
}

/* One expert is an MLP of its own width: gated in Mixtral, DeepSeek, Qwen and Llama 4, squared ReLU in Nemotron 3. */
static void
add_experts(struct layer *l, struct width stream)
{
	static const struct names names = {"experts up", "experts activation", "experts down"};
	const struct moe *moe = &l->block->moe;
	const int first = l->n_ops;

	add_pair(l, IN_EXPERTS, &names, columns(moe->width), stream, !moe->plain);
	if (moe->expert_bias) {
		row_vector(l, IN_EXPERT_BIASES, "inner bias", wide(moe->width, moe->plain ? 1 : 2));
		row_vector(l, IN_EXPERT_BIASES, "output bias", stream);
	}
	for (int i = first; i < l->n_ops; i++) {
		struct layer_op *op = &l->op[i];
		op->runs = op->runs == RUNS_PRODUCT ? RUNS_GROUPED : op->runs;
		op->routed = true;
		op->copies = moe->n_experts;
		op->active = moe->top_k;
	}
}

/* Those that every token visits, as one MLP; one vector may gate them.  DeepSeek-AI, arXiv:2401.06066. */
static void
add_shared(struct layer *l, const struct workload *w)
{
	static const struct names names = {"shared experts up", "shared experts activation", "shared experts down"};
	const struct moe *moe = &l->block->moe;

	if (moe->n_shared.value > 0)
		add_pair(l, IN_SHARED, &names, columns(times(moe->shared_width, moe->n_shared.value)), whole(w->hidden),
		    !moe->plain);
	if (moe->shared_gate)
		row_map(l, IN_SHARED, "shared expert gate", "shared expert gate", whole(figure(1)), whole(w->hidden));
}

/* Experts read and write the residual stream, or a latent (NVIDIA, Nemotron 3, 2025). */
static void
describe_experts(struct layer *l, const struct workload *w)
{
	const struct moe *moe = &l->block->moe;
	const bool latent = moe->latent.value > 0;
	const struct width hidden = whole(w->hidden), experts = whole(moe->n_experts),
	                   stream = latent ? whole(moe->latent) : hidden;

	row_map(l, IN_ROUTER, "router", "router", experts, hidden);
	if (moe->router_bias)
		row_vector(l, IN_ROUTER, "router bias", experts);
	row_add(l, IN_ROUTER, RUNS_SOFTMAX, "router softmax", experts, hidden);
	if (latent)
		row_map(l, IN_LATENT, "into the experts' latent", "into the experts' latent", stream, hidden)->doubled =
		    true;
	add_experts(l, stream);
	if (latent)
		row_map(l, IN_LATENT, "out of the experts' latent", "out of the experts' latent", hidden, stream)
		    ->doubled = true;
	add_shared(l, w);
}

static void
describe_feed(struct layer *l, const struct workload *w)
{
	if (l->block->moe.given)
		describe_experts(l, w);
	else if (l->block->mlp.given)
		describe_mlp(l, w);
}

/* --- together -------------------------------------------------------------------------------------------- */

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
