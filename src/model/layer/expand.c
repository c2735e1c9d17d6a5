/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A transformer as its list of operators, Vaswani et al., NeurIPS 2017, split over GPUs as in Megatron-LM (Shoeybi et
 * al., arXiv:1909.08053): columns of the first map and rows of the second, heads of attention, columns of the head.
 * Rotary embeddings, residual additions and biases are not listed: engines fuse them into their neighbours.
 */
#include "model/layer/parts.h"

#include <assert.h>

void
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

void
list_norm(struct list *l, const char *name, double rows, double width, double times)
{
	const double count = l->count;

	if (!(times > 0))
		return;
	l->count = count * times;
	ADD(l, l->x->unfused ? OP_norm_unfused : OP_norm, name, rows, width);
	l->count = count;
}

void
list_gate(struct list *l, const char *name, double elements, bool gated)
{
	ADD(l, OP_elementwise, name, elements, gated ? 2 : 1, 1, gated ? 2 : 1);
}

static void
add_block(struct list *l, const struct block *b)
{
	l->count = b->count.value;
	list_norm(
	    l, "norms", l->tokens, l->w->hidden.value, b->has_norms ? b->norms.value : l->w->norms_per_layer.value);
	if (b->mixer == MIXER_ATTENTION)
		expand_attention(l, &b->attention);
	else
		expand_recurrence(l, b);
	if (b->cross)
		expand_cross(l, &b->attention);
	expand_feed_forward(l, b);
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
			return "indexer.top_k: how many tokens its attention reads";
	return NULL;
}
