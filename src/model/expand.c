/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A transformer as its list of operators, Vaswani et al., NeurIPS 2017, split over GPUs as in Megatron-LM (Shoeybi et
 * al., arXiv:1909.08053): columns of the first map and rows of the second, heads of attention, columns of the head.
 * Rotary embeddings, residual additions and biases are not listed: engines fuse them into their neighbours.
 */
#include "ridge/expand.h"

#include "ridge/params.h"

#include <assert.h>

struct list {
	const struct workload *w;
	const struct shape *x;
	struct op *ops;
	int n;
	double count;  /* of what is being added: layers that are alike */
	double tokens; /* new tokens of the whole batch */
};

static void
add(struct list *l, enum op_kind kind, const char *name, const double *dims, int n_dims)
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
	add((l), (kind), (name), (const double[]){__VA_ARGS__},                                                        \
	    (int)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)))

static void
add_norm(struct list *l, const char *name, double rows, double width, double times)
{
	const double count = l->count;

	l->count = count * times;
	ADD(l, l->x->unfused ? OP_norm : OP_norm_fused, name, rows, width);
	l->count = count;
}

static bool
is_causal(const struct workload *w)
{
	return w->kind == MODEL_DECODER;
}

/* Keys that must be read: those that any new query can see. */
static double
reachable_keys(const struct attention *a, const struct shape *x)
{
	double n = x->n_cached + x->n_new;

	if (a->window.value > 0)
		n = fmin(n, a->window.value + x->n_new - 1);
	if (a->chunk.value > 0)
		n = fmin(n, a->chunk.value + x->n_new - 1);
	return n;
}

/* Scores, softmax and weighted sum of heads; d is the width of queries and keys, dv of values. */
static void
add_core(struct list *l, const struct attention *a, double heads, double kv_heads, double d, double dv)
{
	const struct shape *x = l->x;
	const double keys = reachable_keys(a, x);
	const double seen = seen_keys(NULL, a, x->n_new, x->n_cached, is_causal(l->w));

	if (!x->unfused) {
		ADD(l, OP_attention, "attention", x->batch, heads, x->n_new, keys, d, kv_heads, dv, seen);
		return;
	}
	ADD(l, OP_scores, "attention scores", x->batch, heads, x->n_new, keys, d, kv_heads);
	ADD(l, OP_softmax, "softmax", x->batch * heads * x->n_new, keys);
	ADD(l, OP_values, "attention values", x->batch, heads, x->n_new, keys, dv, kv_heads);
}

static void
add_heads(struct list *l, const struct attention *a)
{
	const double tp = l->x->tp, hidden = l->w->hidden.value, d = a->head_dim.value;
	const double dv = a->v_dim.value > 0 ? a->v_dim.value : d;
	const double heads = a->n_heads.value / tp, kv_heads = fmax(1, a->n_kv_heads.value / tp);

	ADD(l, OP_gemm, "qkv projection", l->tokens, heads * d + kv_heads * (d + dv), hidden);
	add_core(l, a, heads, kv_heads, d, dv);
	ADD(l, OP_gemm, "output projection", l->tokens, hidden, heads * dv);
}

/* Decode reads the compressed cache and folds the up-projections into queries and outputs; elsewhere keys and values
 * are made whole.  DeepSeek-AI, arXiv:2405.04434, section 2.1.2 and appendix B. */
static void
add_latent(struct list *l, const struct attention *a)
{
	const struct shape *x = l->x;
	const double hidden = l->w->hidden.value, heads = a->n_heads.value / x->tp, latent = a->kv_lora.value;
	const double nope = a->nope.value, rope = a->rope.value, v_dim = a->v_dim.value, query = heads * (nope + rope);

	if (a->q_lora.value > 0) {
		ADD(l, OP_gemm, "query compression", l->tokens, a->q_lora.value, hidden);
		add_norm(l, "query norm", l->tokens, a->q_lora.value, 1);
		ADD(l, OP_gemm, "query projection", l->tokens, query, a->q_lora.value);
	} else
		ADD(l, OP_gemm, "query projection", l->tokens, query, hidden);
	ADD(l, OP_gemm, "key and value compression", l->tokens, latent + rope, hidden);
	add_norm(l, "latent norm", l->tokens, latent, 1);
	if (x->phase == PHASE_DECODE) {
		const double keys = reachable_keys(a, x);
		ADD(l, OP_bmm, "queries into the latent", heads, l->tokens, latent, nope);
		ADD(l, OP_attention_latent, "attention", x->batch, heads, x->n_new, keys, latent, rope);
		ADD(l, OP_bmm, "latent into values", heads, l->tokens, v_dim, latent);
	} else {
		/* tokens that were cached are compressed: they must be expanded too */
		const double tokens = x->batch * (x->n_new + x->n_cached);
		ADD(l, OP_gemm, "key and value expansion", tokens, heads * (nope + v_dim), latent);
		add_core(l, a, heads, heads, nope + rope, v_dim);
	}
	ADD(l, OP_gemm, "output projection", l->tokens, hidden, heads * v_dim);
}

struct feed_forward {
	const char *up, *activation, *down;
	double width;
	bool gated;
};

/* The gate's product with the values, or the activation alone. */
static void
add_activation(struct list *l, const char *name, double elements, bool gated)
{
	ADD(l, OP_elementwise, name, elements, gated ? 2 : 1, 1, gated ? 2 : 1);
}

static void
add_mlp(struct list *l, const struct feed_forward *f)
{
	const double hidden = l->w->hidden.value, width = f->width / l->x->tp;

	ADD(l, OP_gemm, f->up, l->tokens, f->gated ? 2 * width : width, hidden);
	add_activation(l, f->activation, l->tokens * width, f->gated);
	ADD(l, OP_gemm, f->down, l->tokens, hidden, width);
}

/* Tokens choose experts evenly and independently: E (1 - (1 - K/E)^T) of E experts are visited. */
static void
add_experts(struct list *l, const struct moe *moe)
{
	const double hidden = l->w->hidden.value, width = moe->width.value / l->x->tp, experts = moe->n_experts.value;
	const double routed = l->tokens * moe->top_k.value;
	const double visited = experts * (1 - pow(1 - moe->top_k.value / experts, l->tokens));

	ADD(l, OP_gemm, "router", l->tokens, experts, hidden);
	ADD(l, OP_softmax, "router softmax", l->tokens, experts);
	ADD(l, OP_grouped, "experts up", visited, routed, 2 * width, hidden);
	add_activation(l, "experts activation", routed * width, true);
	ADD(l, OP_grouped, "experts down", visited, routed, hidden, width);
	if (moe->n_shared.value > 0)
		add_mlp(l,
		    &(struct feed_forward){"shared experts up", "shared experts activation", "shared experts down",
		        moe->n_shared.value * moe->shared_width.value, true});
}

static void
add_block(struct list *l, const struct block *b)
{
	l->count = b->count.value;
	add_norm(l, "norms", l->tokens, l->w->hidden.value, l->w->norms_per_layer.value);
	if (b->attention.kind == ATTENTION_MLA)
		add_latent(l, &b->attention);
	else
		add_heads(l, &b->attention);
	if (b->moe.given)
		add_experts(l, &b->moe);
	else if (b->mlp.given)
		add_mlp(l,
		    &(struct feed_forward){b->mlp.gated ? "mlp gate and up" : "mlp up", "activation", "mlp down",
		        b->mlp.width.value, b->mlp.gated});
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
		add_norm(l, "embedding norm", l->tokens, hidden, 1);
}

static void
add_exit(struct list *l)
{
	const struct workload *w = l->w;
	const double hidden = w->hidden.value, rows = l->x->phase == PHASE_TRAIN ? l->tokens : l->x->batch;

	if (w->final_norm)
		add_norm(l, "final norm", rows, hidden, 1);
	if (w->kind == MODEL_VISION && w->n_classes.value > 0)
		ADD(l, OP_gemm, "head", l->x->batch, w->n_classes.value, hidden);
	else if (w->kind != MODEL_VISION && w->head && w->vocab.value > 0)
		ADD(l, OP_gemm, "head", w->kind == MODEL_ENCODER ? l->tokens : rows, w->vocab.value / l->x->tp, hidden);
}

int
expand_room(const struct workload *w)
{
	return w->kind == MODEL_OPERATORS ? w->n_ops : w->n_blocks * EXPAND_PER_BLOCK + EXPAND_OUTSIDE;
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

int
expand(const struct workload *w, const struct shape *x, struct op *ops)
{
	struct list l = {.w = w, .x = x, .ops = ops, .count = 1, .tokens = x->batch * x->n_new};

	if (w->kind == MODEL_OPERATORS)
		return copy_list(w, x, ops);
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
	TAKE(sh, image_size, w->image_size);
	TAKE(sh, patch_size, w->patch_size);
	LET(sh, image_token, floor(image_size / patch_size) * floor(image_size / patch_size) + 1);
	return image_token;
}

/* --- arithmetic of one token --- */

/* A query at place p (from 0) sees p + 1 keys, at most the window (Beltagy et al., arXiv:2004.05150), or those of its
 * own chunk. */
double
seen_keys(struct sheet *sh, const struct attention *a, double n_new, double n_cached, bool causal)
{
	GIVEN(sh, n_new);
	GIVEN(sh, n_cached);
	LET(sh, n_keys, n_cached + n_new);
	if (!causal) {
		LET(sh, n_seen, n_keys);
		return n_seen;
	}
	if (a->window.value > 0) {
		TAKE(sh, window, a->window);
		/* new queries whose past is still shorter than the window, and the rest */
		LET(sh, n_growing, fmax(0, fmin(n_keys, window) - n_cached));
		LET(sh, n_sum, n_growing * (n_cached + (n_growing + 1) / 2) + (n_new - n_growing) * window);
		LET(sh, n_seen, n_sum / n_new);
		return n_seen;
	}
	if (a->chunk.value > 0) {
		TAKE(sh, chunk, a->chunk);
		/* sum over places below N of their place in the chunk: whole chunks and a remainder */
		LET(sh, n_chunks, floor(n_keys / chunk));
		LET(sh, n_rest, n_keys - n_chunks * chunk);
		LET(sh, n_sum_all, n_chunks * chunk * (chunk + 1) / 2 + n_rest * (n_rest + 1) / 2);
		LET(sh, n_old_chunks, floor(n_cached / chunk));
		LET(sh, n_old_rest, n_cached - n_old_chunks * chunk);
		LET(sh, n_sum_old, n_old_chunks * chunk * (chunk + 1) / 2 + n_old_rest * (n_old_rest + 1) / 2);
		LET(sh, n_seen, (n_sum_all - n_sum_old) / n_new);
		return n_seen;
	}
	LET(sh, n_seen, n_cached + (n_new + 1) / 2);
	return n_seen;
}

double
multiplied_params(struct sheet *sh, const struct workload *w)
{
	CALL(sh, active_param, model_active_params(sh, w));
	CALL(sh, embedding_param, embedding_params(sh, w));
	TAKE(sh, hidden, w->hidden);
	double shared_head_param, pooler_param;
	if (w->kind != MODEL_VISION && w->head && w->tied_embeddings) {
		TAKE(sh, vocabulary, w->vocab);
		SET(sh, shared_head_param, vocabulary * hidden);
	} else
		SET(sh, shared_head_param, 0);
	if (w->pooler) /* one token of a sequence meets it */
		SET(sh, pooler_param, hidden * hidden + hidden);
	else
		SET(sh, pooler_param, 0);
	LET(sh, multiplied_param, active_param - embedding_param - pooler_param + shared_head_param);
	return multiplied_param;
}

/* Scores and weighted sum: 2 FLOP for each query and key, of every head and each element of its width. */
static double
block_attention_flop(struct sheet *sh, const struct block *b, double n_places, bool causal)
{
	const struct attention *a = &b->attention;

	GIVEN(sh, n_places);
	TAKE(sh, n_layers, b->count);
	TAKE(sh, n_heads, a->n_heads);
	double key_width, value_width;
	if (a->kind == ATTENTION_MLA) {
		TAKE(sh, nope, a->nope);
		TAKE(sh, rope, a->rope);
		TAKE(sh, v_dim, a->v_dim);
		SET(sh, key_width, nope + rope);
		SET(sh, value_width, v_dim);
	} else {
		const struct datum value_dim = a->v_dim.value > 0 ? a->v_dim : a->head_dim;
		TAKE(sh, head_dim, a->head_dim);
		TAKE(sh, v_dim, value_dim);
		SET(sh, key_width, head_dim);
		SET(sh, value_width, v_dim);
	}
	CALL(sh, n_seen, seen_keys(sh, a, n_places, 0, causal));
	LET(sh, attention_flop_per_token, n_layers * 2 * n_heads * (key_width + value_width) * n_seen);
	return attention_flop_per_token;
}

/* Chowdhery et al., arXiv:2204.02311, appendix B: 2 N + attention. */
double
forward_flop(struct sheet *sh, const struct workload *w, double seq_token, bool causal)
{
	GIVEN(sh, seq_token);
	CALL(sh, multiplied_param, multiplied_params(sh, w));
	TAKE(sh, flop_per_token_per_param, 2.0);
	LET(sh, dense_flop_per_token, flop_per_token_per_param * multiplied_param);
	SUM(sh, attention_flop_per_token, i, w->n_blocks, block_attention_flop(sh, &w->blocks[i], seq_token, causal));
	LET(sh, forward_flop_per_token, dense_flop_per_token + attention_flop_per_token);
	return forward_flop_per_token;
}

/* One product for the gradient of the input and one for that of the weights (or of the other operand). */
double
backward_flop(struct sheet *sh, const struct workload *w, double seq_token, bool causal)
{
	GIVEN(sh, seq_token);
	CALL(sh, forward_flop_per_token, forward_flop(sh, w, seq_token, causal));
	LET(sh, backward_flop_per_token, 2 * forward_flop_per_token);
	return backward_flop_per_token;
}
