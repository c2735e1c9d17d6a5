/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parameter counts, exact: what the published weights hold, read off the rows of the layers and what is outside them.
 * Every linear map counts inputs x outputs, every bias and every norm vector its width.
 */
#include "model/layer/parts.h"

#include "model/layer/layer.h"

#include <assert.h>

/* --- layers ---------------------------------------------------------------------------------------------- */

/* Whether a row stores anything: maps, norms and vectors do, in the form that makes keys and values whole. */
static bool
is_stored(const struct layer_op *op)
{
	switch (op->runs) {
	case RUNS_WITH:
	case RUNS_PRODUCT:
	case RUNS_GROUPED:
	case RUNS_BATCHED:
	case RUNS_NORM:
	case RUNS_CONVOLUTION:
		return op->forms & FORM_EXPANDED && op->k.units.value > 0;
	default:
		return false;
	}
}

static struct datum
copies_of(const struct layer_op *op, enum counted counted)
{
	if (counted == COUNT_ONE && op->routed)
		return figure(1);
	return counted == COUNT_ACTIVE ? op->active : op->copies;
}

/* One row: inputs x outputs of a map, the width of a vector, `counted` times. */
static double
row_params(struct sheet *sh, const struct layer_op *op, enum counted counted)
{
	sheet_title(sh, op->title);
	TAKE(sh, n_units, op->n.units);
	TAKE(sh, n_size, op->n.size);
	TAKE(sh, k_units, op->k.units);
	TAKE(sh, k_size, op->k.size);
	TAKE(sh, n_copies, copies_of(op, counted));
	LET(sh, row_param, n_copies * (n_units * n_size) * (k_units * k_size));
	return row_param;
}

/* The rows of a block that belong to these parts and store something; returns how many. */
static int
stored_rows(const struct layer *l, unsigned parts, const struct layer_op *rows[LAYER_OPS])
{
	int n = 0;

	for (int i = 0; i < l->n_ops; i++)
		if (l->op[i].part & parts && is_stored(&l->op[i]))
			rows[n++] = &l->op[i];
	return n;
}

double
layer_params(
    struct sheet *sh, const struct workload *w, const struct block *block, unsigned parts, enum counted counted)
{
	struct layer own;
	const struct layer_op *rows[LAYER_OPS];
	const int n = stored_rows(layer_of(w, block, &own), parts, rows);

	SUM(sh, layer_param, i, n, row_params(sh, rows[i], counted));
	return layer_param;
}

static double
row_share(struct sheet *sh, const struct layer_op *op, double n_shards)
{
	sheet_title(sh, op->title);
	CALL(sh, row_param, row_params(sh, op, COUNT_ALL));
	TAKE(sh, n_parts, op->doubled ? 1 : n_shards);
	LET(sh, share_param, row_param / n_parts);
	return share_param;
}

double
shard_params(struct sheet *sh, const struct workload *w, const struct block *block, unsigned parts, double n_shards)
{
	struct layer own;
	const struct layer_op *rows[LAYER_OPS];
	const int n = stored_rows(layer_of(w, block, &own), parts, rows);

	SUM(sh, shard_param, i, n, row_share(sh, rows[i], n_shards));
	return shard_param;
}

/* --- outside the layers ---------------------------------------------------------------------------------- */

/* The patch embedding is a convolution with a bias; one class token and its position.  Dosovitskiy et al., ICLR 2021.
 */
static double
patch_params(struct sheet *sh, const struct workload *w)
{
	FROM(sh, w, hidden, patch_size, n_channels, image_size);
	LET(sh, n_patches, floor(image_size / patch_size) * floor(image_size / patch_size));
	LET(sh, patch_param, patch_size * patch_size * n_channels * hidden + hidden);
	LET(sh, position_param, (n_patches + 1) * hidden);
	LET(sh, embedding_param, patch_param + hidden + position_param);
	return embedding_param;
}

/* One column of a table of buckets for each head.  Raffel et al., JMLR 21, 2020, section 2.1. */
static double
relative_params(struct sheet *sh, const struct workload *w)
{
	const struct block *block = workload_attention(w);

	TAKE(sh, n_buckets, w->relative_buckets.value > 0 ? w->relative_buckets.value : 0);
	TAKE(sh, n_heads, block ? block->attention.n_heads.value : 0);
	LET(sh, relative_param, n_buckets * n_heads);
	return relative_param;
}

double
embedding_params(struct sheet *sh, const struct workload *w)
{
	if (w->kind == MODEL_VISION)
		return patch_params(sh, w);
	TAKE(sh, hidden, w->hidden);
	TAKE(sh, vocabulary, w->vocab);
	TAKE(sh, n_position_rows, w->positions == POSITIONS_LEARNED ? datum_or(w->n_positions, 0) : 0);
	TAKE(sh, n_token_types, datum_or(w->n_token_types, 0));
	TAKE(sh, n_norm_vectors, w->embedding_norm ? norm_vectors(w) : 0);
	TAKE(sh, n_of_stacks, n_stacks(w));
	CALL(sh, relative_param, relative_params(sh, w));
	LET(sh, n_rows, vocabulary + n_token_types + n_of_stacks * (n_position_rows + n_norm_vectors));
	LET(sh, embedding_param, n_rows * hidden + n_of_stacks * relative_param);
	return embedding_param;
}

double
head_params(struct sheet *sh, const struct workload *w)
{
	if (w->kind == MODEL_VISION && w->n_classes.value > 0) {
		FROM(sh, w, hidden, n_classes);
		LET(sh, head_param, n_classes * hidden + n_classes);
		return head_param;
	}
	if (!w->head || !(w->vocab.value > 0)) {
		LET(sh, head_param, 0);
		return head_param;
	}
	TAKE(sh, hidden, w->hidden);
	TAKE(sh, vocabulary, w->vocab);
	TAKE(sh, n_maps, w->tied_embeddings ? 0.0 : 1.0);
	TAKE(sh, n_biases, w->head_bias ? 1.0 : 0.0);
	LET(sh, head_param, n_maps * vocabulary * hidden + n_biases * vocabulary);
	return head_param;
}

/* The last norm of each stack and BERT's pooler. */
double
final_params(struct sheet *sh, const struct workload *w)
{
	TAKE(sh, hidden, w->hidden);
	TAKE(sh, n_norm_vectors, w->final_norm ? norm_vectors(w) : 0);
	TAKE(sh, n_of_stacks, n_stacks(w));
	WHEN(sh, pooler_param, w->pooler, hidden * hidden + hidden);
	LET(sh, final_param, n_of_stacks * n_norm_vectors * hidden + pooler_param);
	return final_param;
}

/* --- the whole ------------------------------------------------------------------------------------------- */

static double
block_params(struct sheet *sh, const struct workload *w, const struct block *block, enum counted counted)
{
	TAKE(sh, n_layers, block->count);
	CALL(sh, layer_param, layer_params(sh, w, block, IN_LAYER, counted));
	LET(sh, block_param, n_layers * layer_param);
	return block_param;
}

double
encoder_params(struct sheet *sh, const struct workload *w, enum counted counted)
{
	SUM(sh, encoder_param, i, w->n_encoder_blocks, block_params(sh, w, &w->encoder_blocks[i], counted));
	return encoder_param;
}

/* A list of operators stores what its products, convolutions and tables do, and what its lines say besides. */
static double
list_params(struct sheet *sh, const struct workload *w)
{
	SUM(sh, listed_param, i, w->n_ops, op_total_params(sh, &w->ops[i]));
	LET(sh, model_param, listed_param);
	return model_param;
}

static double
counted_params(struct sheet *sh, const struct workload *w, enum counted counted)
{
	if (w->kind == MODEL_OPERATORS)
		return list_params(sh, w);
	assert(w->n_blocks > 0);
	CALL(sh, embedding_param, embedding_params(sh, w));
	SUM(sh, layers_param, i, w->n_blocks, block_params(sh, w, &w->blocks[i], counted));
	CALL(sh, encoder_param, encoder_params(sh, w, counted));
	CALL(sh, final_param, final_params(sh, w));
	CALL(sh, head_param, head_params(sh, w));
	LET(sh, model_param, embedding_param + layers_param + encoder_param + final_param + head_param);
	return model_param;
}

double
model_params(struct sheet *sh, const struct workload *w)
{
	return counted_params(sh, w, COUNT_ALL);
}

/* As vendors count: everything but the routed experts that a token does not visit; the whole embedding table included.
 */
double
model_active_params(struct sheet *sh, const struct workload *w)
{
	return counted_params(sh, w, COUNT_ACTIVE);
}

/* A count without the tables that tokens are looked up in; Kaplan et al., arXiv:2001.08361, leave them out. */
double
body_params(struct sheet *sh, const struct workload *w)
{
	CALL(sh, model_param, model_params(sh, w));
	CALL(sh, embedding_param, embedding_params(sh, w));
	LET(sh, body_param, model_param - embedding_param);
	return body_param;
}

/* And without the head, as the cards of the Qwen models count "non-embedding". */
double
inner_params(struct sheet *sh, const struct workload *w)
{
	CALL(sh, body_param, body_params(sh, w));
	CALL(sh, head_param, head_params(sh, w));
	LET(sh, inner_param, body_param - head_param);
	return inner_param;
}

double
part_params(struct sheet *sh, double n_layers, double one_param)
{
	GIVEN(sh, n_layers, one_param);
	LET(sh, part_param, n_layers * one_param);
	return part_param;
}

double
part_share(struct sheet *sh, double part_param, double n_params)
{
	GIVEN(sh, part_param, n_params);
	LET(sh, share_frac, part_param / n_params);
	return share_frac;
}

double
params_error(struct sheet *sh, const struct workload *w)
{
	TAKE(sh, stated_param, w->stated_params);
	CALL(sh, model_param, model_params(sh, w));
	LET(sh, error_frac, fmax(model_param - stated_param, stated_param - model_param) / stated_param);
	return error_frac;
}

/* --- checkpoints: one dtype for all weights, or the published dtype of each part ------------------------- */

/* Integers have a 16-bit scale per group, and a zero point of their own width unless they are symmetric; the scales of
 * the other types are in their bytes. */
static double
integer_scales(const struct quantisation *q, enum dtype t)
{
	const double group = q->group.value > 0 ? q->group.value : 128;

	if (t != DTYPE_INT4 && t != DTYPE_INT8)
		return 0;
	return (2 + (q->symmetric ? 0 : dtype_byte(t))) / group;
}

double
stored_byte(enum dtype t)
{
	const struct quantisation usual = {0};

	return t == DTYPE_INT4 ? dtype_byte(t) + integer_scales(&usual, t) : dtype_byte(t);
}

double
part_stored_byte(const struct quantisation *q, enum model_part part)
{
	const enum dtype t = part == PART_EXPERTS ? q->experts : q->weights;

	if (!q->given || !(q->quantised & 1u << part))
		return 2;
	return dtype_byte(t) + integer_scales(q, t);
}

/* Biases of experts stay in 16 bits; those of other maps do not count. */
static double
block_stored(struct sheet *sh, const struct workload *w, const struct block *b)
{
	const struct quantisation *q = &w->quantisation;

	TAKE(sh, n_layers, b->count);
	TAKE(sh, mixer_byte_per_param, part_stored_byte(q, PART_MIXER));
	TAKE(sh, mlp_byte_per_param, part_stored_byte(q, PART_MLP));
	TAKE(sh, expert_byte_per_param, part_stored_byte(q, PART_EXPERTS));
	TAKE(sh, shared_byte_per_param, part_stored_byte(q, PART_SHARED));
	TAKE(sh, plain_byte_per_param, 2.0);
	CALL(sh, mixer_param, layer_params(sh, w, b, IN_MIXER | IN_CROSS, COUNT_ALL));
	CALL(sh, mlp_param, layer_params(sh, w, b, IN_MLP, COUNT_ALL));
	CALL(sh, expert_param, layer_params(sh, w, b, IN_EXPERTS, COUNT_ALL));
	CALL(sh, shared_param, layer_params(sh, w, b, IN_SHARED | IN_LATENT, COUNT_ALL));
	CALL(sh, plain_param, layer_params(sh, w, b, IN_EXPERT_BIASES | IN_ROUTER | IN_NORMS, COUNT_ALL));
	LET(sh, mixer_byte, mixer_param * mixer_byte_per_param);
	LET(sh, mlp_byte, mlp_param * mlp_byte_per_param);
	LET(sh, expert_byte, expert_param * expert_byte_per_param);
	LET(sh, shared_byte, shared_param * shared_byte_per_param);
	LET(sh, plain_byte, plain_param * plain_byte_per_param);
	LET(sh, stored_byte, n_layers * (mixer_byte + mlp_byte + expert_byte + shared_byte + plain_byte));
	return stored_byte;
}

/* Tables, head, last norms and everything that is not quantized have 16 bits. */
double
published_bytes(struct sheet *sh, const struct workload *w)
{
	TAKE(sh, plain_byte_per_param, 2.0);
	CALL(sh, embedding_param, embedding_params(sh, w));
	CALL(sh, final_param, final_params(sh, w));
	CALL(sh, head_param, head_params(sh, w));
	SUM(sh, layers_byte, i, w->n_blocks, block_stored(sh, w, &w->blocks[i]));
	SUM(sh, encoder_byte, j, w->n_encoder_blocks, block_stored(sh, w, &w->encoder_blocks[j]));
	LET(sh, outside_byte, (embedding_param + final_param + head_param) * plain_byte_per_param);
	LET(sh, published_byte, layers_byte + encoder_byte + outside_byte);
	return published_byte;
}

double
checkpoint_bytes(struct sheet *sh, double n_params, double stored_byte_per_param)
{
	GIVEN(sh, n_params, stored_byte_per_param);
	LET(sh, checkpoint_byte, n_params * stored_byte_per_param);
	return checkpoint_byte;
}

/* --- heads, mixers and experts of a workload ------------------------------------------------------------- */

struct datum
block_heads(const struct block *block)
{
	switch (block->mixer) {
	case MIXER_ATTENTION:
		return block->attention.n_heads;
	case MIXER_MAMBA:
		return block->mamba.n_heads;
	case MIXER_DELTA:
		return block->delta.n_value_heads;
	case MIXER_KDA:
		return block->kda.n_heads;
	case MIXER_NONE:
		break;
	}
	return datum_absent();
}

struct datum
block_groups(const struct block *block)
{
	return block->mixer == MIXER_MAMBA ? block->mamba.n_groups
	    : block->mixer == MIXER_DELTA  ? block->delta.n_key_heads
	                                   : datum_absent();
}

bool
workload_recurs(const struct workload *w)
{
	for (int i = 0; i < w->n_blocks; i++)
		if (w->blocks[i].mixer != MIXER_ATTENTION && w->blocks[i].mixer != MIXER_NONE)
			return true;
	return false;
}

bool
workload_alternates(const struct workload *w)
{
	for (int i = 0; i < w->n_blocks; i++)
		if (block_parts(&w->blocks[i]) < 2)
			return true;
	return false;
}

void
workload_last_layer(const struct workload *w, int *mixer, int *feed)
{
	*mixer = *feed = w->n_blocks - 1;
	if (!workload_alternates(w))
		return;
	while (*mixer > 0 && w->blocks[*mixer].mixer == MIXER_NONE)
		--*mixer;
	while (*feed > 0 && !w->blocks[*feed].mlp.given && !w->blocks[*feed].moe.given)
		--*feed;
}

bool
workload_has_latent(const struct workload *w)
{
	for (int i = 0; i < w->n_blocks; i++)
		if (attention_is_latent(&w->blocks[i].attention))
			return true;
	return false;
}

bool
workload_compresses(const struct workload *w)
{
	for (int i = 0; i < w->n_blocks; i++)
		if (w->blocks[i].attention.kind == ATTENTION_CSA)
			return true;
	return false;
}

bool
workload_has_experts(const struct workload *w)
{
	for (int i = 0; i < w->n_blocks; i++)
		if (w->blocks[i].moe.given)
			return true;
	return false;
}

const struct block *
workload_attention(const struct workload *w)
{
	for (int i = 0; i < w->n_blocks; i++)
		if (w->blocks[i].mixer == MIXER_ATTENTION)
			return &w->blocks[i];
	return NULL;
}

bool
workload_attends(const struct workload *w)
{
	return workload_attention(w) != NULL;
}
