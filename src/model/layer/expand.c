/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A transformer as its list of operators, Vaswani et al., NeurIPS 2017, split over GPUs as in Megatron-LM (Shoeybi et
 * al., arXiv:1909.08053): columns of the first map and rows of the second, heads of attention, columns of the head.
 * Rotary embeddings, residual additions and biases are not listed: engines fuse them into their neighbors.
 */
#include "model/layer/parts.h"

#include <assert.h>

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

static void
list_add(struct list *l, enum op_kind kind, const char *name, const double *dims, int n_dims)
{
	struct op *op = &l->ops[l->n++];

	assert(l->n <= expand_room(l->w));
	*op = (struct op){.kind = kind, .name = name, .count = l->count, .elem_byte = l->x->elem_byte};
	for (int i = 0; op_dim_name(kind, i); i++)
		op->dim[i] = i < n_dims ? dims[i] : NAN;
	const int missing = op_fill(op);
	assert(missing < 0);
	(void)missing;
}

#define ADD(l, kind, name, ...)                                                                                        \
	list_add((l), (kind), (name), (const double[]){__VA_ARGS__},                                                   \
	    (int)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)))

/* `times` norms of rows of this width. */
static void
list_norm(struct list *l, const char *name, double rows, double width, double times)
{
	const double count = l->count;

	if (!(times > 0))
		return;
	l->count = count * times;
	ADD(l, l->x->unfused ? OP_norm_unfused : OP_norm, name, rows, width);
	l->count = count;
}

/* Tokens that a row works on. */
static double
row_tokens(const struct list *l, const struct layer_op *op)
{
	if (op->source)
		return l->x->batch * l->source;
	if (op->cached)
		return l->x->batch * (l->x->n_new + l->x->n_cached);
	return op->routed ? l->tokens * op->active.value : l->tokens;
}

/* Scores, softmax and weighted sum of heads. */
static void
add_attention(struct list *l, const struct layer_op *op, const struct attention *a)
{
	static const char *const own[] = {"attention scores", "softmax", "attention values"},
	                         *const cross[] = {"cross attention scores", "cross softmax", "cross attention values"};
	const struct shape *x = l->x;
	const char *const *names = op->source ? cross : own;
	const double heads = op->n.units.value / x->tp, kv = share_of(op->k.units.value, x->tp);
	const double keys = op->source ? l->source : read_keys(a, x->n_new, x->n_cached);
	const double seen = op->source ? keys : attended_keys(NULL, a, x->n_new, x->n_cached, l->causal);

	if (!x->unfused) {
		ADD(l, OP_attention, op->product, x->batch, heads, x->n_new, keys, op->n.size, kv, op->k.size, seen);
		return;
	}
	ADD(l, OP_scores, names[0], x->batch, heads, x->n_new, keys, op->n.size, kv);
	ADD(l, OP_softmax, names[1], x->batch * heads * x->n_new, keys);
	ADD(l, OP_values, names[2], x->batch, heads, x->n_new, keys, op->k.size, kv);
}

static void
add_latent(struct list *l, const struct layer_op *op, const struct attention *a)
{
	const struct shape *x = l->x;

	ADD(l, OP_attention_latent, op->product, x->batch, op->n.units.value / x->tp, x->n_new,
	    read_keys(a, x->n_new, x->n_cached), op->n.size, op->k.units.value,
	    attended_keys(NULL, a, x->n_new, x->n_cached, l->causal));
}

/* An indexer scores every token that a query may see. */
static void
add_scores(struct list *l, const struct layer_op *op, const struct attention *a)
{
	const struct shape *x = l->x;
	const double all = x->n_cached + x->n_new;

	ADD(l, OP_index_scores, op->product, x->batch, op->n.units.value, x->n_new,
	    a->kind == ATTENTION_CSA ? floor(all / a->ratio.value) : all, op->n.size,
	    scored_keys(NULL, a, x->n_new, x->n_cached, l->causal));
}

static void
add_recurrence(struct list *l, const struct block *b)
{
	const struct op op = recurrence_op(l->w, b, l->x->batch, l->x->n_new, l->x->tp);

	list_add(l, (enum op_kind)op.kind, op.name, op.dim, (int)(sizeof op.dim / sizeof *op.dim));
}

/* What attends, chooses or recurs. */
static void
add_core(struct list *l, const struct layer_op *op, const struct block *b)
{
	if (op->runs == RUNS_ATTENTION)
		add_attention(l, op, &b->attention);
	else if (op->runs == RUNS_LATENT)
		add_latent(l, op, &b->attention);
	else if (op->runs == RUNS_SCORES)
		add_scores(l, op, &b->attention);
	else
		add_recurrence(l, b);
}

/*
 * Some experts are more popular than others: the probability of picking one is a beta variable whose first parameter is
 * 3, a standard deviation of 0.6 of the mean.  Chosen on published serving of 63 combinations of engine, model and GPU:
 * TPOT of mixtures of experts is 13.8 % off in the mean, 14.1 if all are alike; 1, 2 and 4 do as well within 0.1
 * points. Leaving it out costs 0.2 to 0.4 points of the median of all TPOT with source, model or GPU left out (measured
 * with 4).
 */
double
experts_idle(struct sheet *sh, double n_chosen, double n_experts, double n_rows)
{
	GIVEN(sh, n_chosen, n_experts, n_rows);
	LET(sh, b, 3 * (n_experts / n_chosen - 1));
	LET(sh, c, b + n_rows);
	LET(sh, idle_frac, b / c * (b + 1) / (c + 1) * (b + 2) / (c + 2));
	return idle_frac;
}

static double
visited_experts(const struct list *l, const struct layer_op *op)
{
	const double experts = op->copies.value;

	return experts * (1 - experts_idle(NULL, op->active.value, experts, l->tokens));
}

/* A map, or a kernel that goes over tensors of width n; n: of the row and those that run with it. */
static void
add_kernel(struct list *l, const struct layer_op *op, double n)
{
	const double m = row_tokens(l, op), k = width_local(op->k, l->x->tp), inputs = op->inputs;
	const double pieces = share_of(inputs, l->x->tp), moved = l->x->n_new > 1 ? 1 : inputs;

	switch (op->runs) {
	case RUNS_PRODUCT:
		ADD(l, OP_gemm, op->product, m, n, k);
		break;
	case RUNS_GROUPED:
		ADD(l, OP_grouped, op->product, visited_experts(l, op), m, n, k);
		break;
	case RUNS_BATCHED:
		ADD(l, OP_bmm, op->product, pieces, m, n, k / pieces);
		break;
	case RUNS_NORM:
		list_norm(l, op->product, m, n, op->copies.value);
		break;
	case RUNS_SOFTMAX:
		ADD(l, OP_softmax, op->product, m, n);
		break;
	case RUNS_GATE: /* what attention's output or an up-projection meets before the next product */
		ADD(l, OP_elementwise, op->product, m * n, inputs, 1, inputs);
		break;
	case RUNS_CONVOLUTION: /* a single token finds the others in the state, and moves them on */
		ADD(l, OP_elementwise, op->product, m * n, moved, moved, 2 * inputs);
		break;
	case RUNS_COMPRESSION:
		ADD(l, OP_elementwise, op->product, m * n, 2, 1 / inputs, 7);
		break;
	default:
		break;
	}
}

static bool
is_listed(const struct list *l, const struct layer_op *op, enum form form)
{
	return op->runs != RUNS_WITH && op->forms & form &&
	    (!op->source || op->runs == RUNS_ATTENTION || l->fresh_source);
}

static void
add_block(struct list *l, const struct block *b)
{
	struct layer own;
	const struct layer *rows = layer_of(l->w, b, &own);
	const enum form form = layer_form(b, l->x->phase == PHASE_DECODE);
	double n = 0;

	l->count = b->count.value;
	for (int i = 0; i < rows->n_ops; i++) {
		const struct layer_op *op = &rows->op[i];
		if (!is_listed(l, op, form))
			continue;
		if (is_core(op)) {
			add_core(l, op, b);
			continue;
		}
		n += width_local(op->n, l->x->tp);
		if (i + 1 < rows->n_ops && op[1].joined)
			continue;
		add_kernel(l, op, n);
		n = 0;
	}
	l->count = 1;
}

static void
add_entrance(struct list *l)
{
	const struct workload *w = l->w;
	const double hidden = w->hidden.value;

	if (w->kind == MODEL_VISION) {
		const double patch = w->patch_size.value;
		ADD(l, OP_gemm, "patch embedding", l->tokens, hidden, patch * patch * w->n_channels.value);
	} else if (w->vocab.value > 0)
		ADD(l, OP_embedding, "embedding", l->tokens, hidden, w->vocab.value);
	if (w->embedding_norm)
		list_norm(l, "embedding norm", l->tokens, hidden, 1);
}

static void
add_exit(struct list *l)
{
	const struct workload *w = l->w;
	const double hidden = w->hidden.value, rows = l->x->phase == PHASE_TRAIN ? l->tokens : l->x->batch;

	if (w->final_norm)
		list_norm(l, "final norm", rows, hidden, 1);
	if (w->kind == MODEL_VISION && w->n_classes.value > 0)
		ADD(l, OP_gemm, "head", l->x->batch, w->n_classes.value, hidden);
	else if (w->kind != MODEL_VISION && w->head && w->vocab.value > 0)
		ADD(l, OP_gemm, "head", w->kind == MODEL_ENCODER ? l->tokens : rows, w->vocab.value / l->x->tp, hidden);
}

/* The encoder reads the whole source once. */
static void
add_encoder(struct list *l)
{
	const struct shape *x = l->x;
	const struct shape source = {.phase = x->phase,
	    .batch = x->batch,
	    .n_new = l->source,
	    .tp = x->tp,
	    .elem_byte = x->elem_byte,
	    .unfused = x->unfused};
	const double tokens = l->tokens;

	l->x = &source;
	l->tokens = x->batch * l->source;
	l->causal = false;
	add_entrance(l);
	for (int i = 0; i < l->w->n_encoder_blocks; i++)
		add_block(l, &l->w->encoder_blocks[i]);
	if (l->w->final_norm)
		list_norm(l, "encoder norm", l->tokens, l->w->hidden.value, 1);
	l->x = x;
	l->tokens = tokens;
	l->causal = true;
}

int
expand_room(const struct workload *w)
{
	if (w->kind == MODEL_OPERATORS)
		return w->n_ops;
	return (w->n_blocks + w->n_encoder_blocks) * EXPAND_PER_BLOCK + EXPAND_OUTSIDE;
}

/* A list from a file holds for one sample; its dimensions grow with the batch as the file says. */
static int
copy_list(const struct workload *w, const struct shape *x, struct op *ops)
{
	for (int i = 0; i < w->n_ops; i++) {
		ops[i] = w->ops[i];
		ops[i].elem_byte = x->elem_byte;
		for (int d = 0; op_dim_name((enum op_kind)ops[i].kind, d); d++)
			ops[i].dim[d] += ops[i].per_batch[d] * (x->batch - 1);
	}
	return w->n_ops;
}

/* Prefill of an encoder-decoder reads the source and makes the first token; decode finds the source's keys and values.
 */
static int
expand_pair(const struct workload *w, const struct shape *x, struct op *ops)
{
	const double known = w->source_token.value, asked = x->n_new + (x->phase == PHASE_DECODE ? x->n_cached : 0);
	struct shape target = *x;
	struct list l = {.w = w,
	    .x = &target,
	    .ops = ops,
	    .count = 1,
	    .causal = true,
	    .source = known > 0 ? known : asked,
	    .fresh_source = x->phase != PHASE_DECODE};

	if (x->phase == PHASE_PREFILL)
		target.n_new = 1;
	l.tokens = target.batch * target.n_new;
	if (l.fresh_source)
		add_encoder(&l);
	add_entrance(&l);
	for (int i = 0; i < w->n_blocks; i++)
		add_block(&l, &w->blocks[i]);
	add_exit(&l);
	return l.n;
}

int
expand(const struct workload *w, const struct shape *x, struct op *ops)
{
	struct list l = {
	    .w = w, .x = x, .ops = ops, .count = 1, .tokens = x->batch * x->n_new, .causal = w->kind == MODEL_DECODER};

	if (w->kind == MODEL_OPERATORS)
		return copy_list(w, x, ops);
	if (w->kind == MODEL_ENCODER_DECODER)
		return expand_pair(w, x, ops);
	add_entrance(&l);
	for (int i = 0; i < w->n_blocks; i++)
		add_block(&l, &w->blocks[i]);
	add_exit(&l);
	return l.n;
}

/* Dosovitskiy et al., ICLR 2021. */
double
vision_tokens(struct sheet *sh, const struct workload *w)
{
	FROM(sh, w, image_size, patch_size);
	LET(sh, image_token, floor(image_size / patch_size) * floor(image_size / patch_size) + 1);
	return image_token;
}

static bool
block_chooses(const struct block *b)
{
	return b->mixer == MIXER_ATTENTION && indexed(&b->attention) &&
	    (b->attention.kind != ATTENTION_CSA || b->attention.ratio.value == 4);
}

const char *
expand_missing(const struct workload *w)
{
	for (int i = 0; i < w->n_blocks; i++)
		if (block_chooses(&w->blocks[i]) && !(w->blocks[i].attention.indexer.top_k.value > 0))
			return "indexer.top_k";
	return NULL;
}
