/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the layers of Megatron-Core with Transformer Engine need in the backward pass on top of what was saved, read off
 * the operators (August 2026).  Widths are those of one tensor-parallel rank; norms and the residual stream are divided
 * too when sequence parallelism is on.
 */
#include "model/memory/parts.h"

/* --- on top of the saved set in the first backward layer ------------------------------------------------- */

/* After the second map's backward its input is freed and the gradient takes its place; then SwiGLU's backward adds both
 * halves before the saved ones go.  With sequence parallelism the output's gradient is gathered. */
static double
mlp_transient(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, mlp_width, block->mlp.width);
	TAKE(sh, tp, job->layout.tp);
	TAKE(sh, norm_shards, job_norm_shards(job));
	TAKE(sh, n_up_maps, block->mlp.gated ? 2.0 : 1.0);
	TAKE(sh, gathered, job->layout.sp && job->layout.tp > 1);
	LET(sh, width_byte_per_token, elem_byte * mlp_width / tp);
	LET(sh, gathered_byte_per_token, gathered * elem_byte * hidden);
	LET(sh, transient_byte_per_token,
	    fmax(n_up_maps * width_byte_per_token, width_byte_per_token + gathered_byte_per_token) +
	        2 * elem_byte * hidden / norm_shards);
	return transient_byte_per_token;
}

/* Two copies of the routed tokens around the exchange, or the gradient of the experts' activation. */
static double
experts_transient(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, stream_dim, block->moe.latent.value > 0 ? block->moe.latent : job->model->hidden);
	TAKE(sh, expert_width, block->moe.width);
	TAKE(sh, etp, job->layout.etp);
	TAKE(sh, norm_shards, job_norm_shards(job));
	TAKE(sh, n_up_maps, block->moe.plain ? 1.0 : 2.0);
	CALL(sh, n_copies, routed_copies(sh, job, block));
	LET(sh, routed_width, fmax(2 * stream_dim, n_up_maps * expert_width / etp));
	LET(sh, transient_byte_per_token, elem_byte * n_copies * routed_width + 2 * elem_byte * hidden / norm_shards);
	return transient_byte_per_token;
}

/* Gradients of queries, keys and values, the output's gradient, an fp32 sum for the queries', and the residual's two.
 */
static double
attention_transient(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	struct layer own;
	const struct layer_op *core = layer_attention(layer_of(job->model, block, &own));
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, float_byte, 4.0);
	TAKE(sh, hidden, job->model->hidden);
	FROM_STRUCT(sh, job->layout, tp, cp);
	TAKE(sh, norm_shards, job_norm_shards(job));
	TAKE(sh, n_heads, core->n.units);
	TAKE(sh, n_kv_heads, core->k.units);
	TAKE(sh, qk_dim, core->n.size);
	TAKE(sh, v_dim, core->k.size);
	LET(sh, query_width, n_heads * qk_dim / tp);
	LET(sh, output_width, n_heads * v_dim / tp);
	LET(sh, kv_width, fmax(1, n_kv_heads / tp) * (qk_dim + v_dim));
	LET(sh, qkv_byte_per_token, elem_byte * (query_width + kv_width));
	LET(sh, backward_byte_per_token,
	    qkv_byte_per_token + elem_byte * output_width + float_byte * query_width +
	        2 * elem_byte * hidden / norm_shards);
	double transient_byte_per_token;
	if (job->layout.cp < 2)
		SET(sh, transient_byte_per_token, backward_byte_per_token);
	else if (job->context == CONTEXT_HEADS)
		SET(sh, transient_byte_per_token, fmax(backward_byte_per_token, qkv_byte_per_token));
	else if (job->context == CONTEXT_GATHER)
		/* keys and values of all ranks, and their gradients before they are summed */
		SET(sh, transient_byte_per_token, backward_byte_per_token + 2 * (cp - 1) * elem_byte * kv_width);
	else
		/* forward ring: each step holds its keys and values and a partial output, beside the fp32 sum */
		SET(sh, transient_byte_per_token,
		    fmax(backward_byte_per_token,
		        cp * elem_byte * (kv_width + output_width) + float_byte * output_width));
	return transient_byte_per_token;
}

/* Gradients of the scan's output and of the input projection's outputs; the convolution's output and the scores again;
 * states and their gradients as they are passed on, in fp32 and as products read them; the residual's two. */
static double
scan_transient(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	const struct scan_widths w = mamba_widths(&block->mamba, job->seq.value, job->layout.tp);

	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, float_byte, 4.0);
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, norm_shards, job_norm_shards(job));
	FROM_STRUCT(sh, w, inner, maps, projected, states, scores);
	LET(sh, transient_byte_per_token,
	    elem_byte * (projected + 2 * inner + maps + 2 * states) + float_byte * (2 * states + scores) +
	        2 * elem_byte * hidden / norm_shards);
	return transient_byte_per_token;
}

/* Gradients of the rule's output and of the gate; new keys and values, and states, once more; gradients of queries,
 * keys, new keys, values and states; the residual's two. */
static double
delta_transient(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	const struct delta_widths w = delta_widths(&block->delta, job->seq.value, job->layout.tp);

	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, norm_shards, job_norm_shards(job));
	FROM_STRUCT(sh, w, repeated, values, states);
	LET(sh, transient_byte_per_token,
	    elem_byte * (4 * repeated + 5 * values + 2 * states) + 2 * elem_byte * hidden / norm_shards);
	return transient_byte_per_token;
}

static double
mixer_transient(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	if (block->mixer == MIXER_ATTENTION)
		return attention_transient(sh, job, block);
	if (block->mixer == MIXER_MAMBA)
		return scan_transient(sh, job, block);
	if (block->mixer == MIXER_DELTA)
		return delta_transient(sh, job, block);
	LET(sh, transient_byte_per_token, 0);
	return transient_byte_per_token;
}

/* The mixer's gradients come after the saved tensors of the MLP behind it have been freed. */
static double
block_transient(struct sheet *sh, const struct memory_job *job, int stage, int i)
{
	const struct block *block = &job->model->blocks[i];
	TAKE(sh, present, memory_stage_layers(job, stage, i) > 0);
	double feed_forward_byte_per_token;
	if (block->moe.given)
		SET_CALL(sh, feed_forward_byte_per_token, experts_transient(sh, job, block));
	else if (block->mlp.given)
		SET_CALL(sh, feed_forward_byte_per_token, mlp_transient(sh, job, block));
	else
		SET(sh, feed_forward_byte_per_token, 0);
	CALL(sh, mixer_byte_per_token, mixer_transient(sh, job, block));
	CALL(sh, freed_byte_per_token, feed_forward_saved(sh, job, block));
	LET(sh, transient_byte_per_token,
	    present * fmax(feed_forward_byte_per_token, mixer_byte_per_token - freed_byte_per_token));
	return transient_byte_per_token;
}

static double
stage_transient(struct sheet *sh, const struct memory_job *job, int stage)
{
	MOST(sh, transient_byte_per_token, i, job->model->n_blocks, block_transient(sh, job, stage, i));
	return transient_byte_per_token;
}

static double
first_backward_layer(struct sheet *sh, const struct memory_job *job, int stage)
{
	CALL(sh, n_tokens, memory_tokens(sh, job));
	const double transient_byte_per_token = memory_remembered(sh, job, stage, STAGE_TRANSIENT, stage_transient);
	LET(sh, transient_byte, n_tokens * transient_byte_per_token);
	return transient_byte;
}

/* --- buffers --------------------------------------------------------------------------------------------- */

static const struct block *
first_routed(const struct workload *w)
{
	for (int i = 0; i < w->n_blocks; i++)
		if (w->blocks[i].moe.given)
			return &w->blocks[i];
	return NULL;
}

/* Workspaces that live in the allocator: cuBLAS of Transformer Engine and of PyTorch, more of them for grouped
 * products. */
static double
workspaces(struct sheet *sh, const struct memory_job *job)
{
	const bool experts = first_routed(job->model) != NULL;
	TAKE(sh, product_byte, datum_or(job->stack->workspace_byte, 0));
	TAKE(sh, grouped_byte, experts ? datum_or(job->stack->expert_workspace_byte, 0) : 0);
	LET(sh, workspace_byte, fmax(product_byte, grouped_byte));
	return workspace_byte;
}

/* A weight whose gradient is added to the main one has a gradient of no content, so that autograd has something to hand
 * on: Transformer Engine keeps one for all weights of a shape, for the whole run (get_dummy_wgrad of
 * transformer_engine/pytorch/module/base.py). */
struct weight_shape {
	double n, k;
};

enum { MOST_SHAPES = 64 };

static int
add_shape(struct weight_shape *shapes, int n, struct weight_shape shape)
{
	for (int i = 0; i < n; i++)
		if (shapes[i].n == shape.n && shapes[i].k == shape.k)
			return n;
	if (n < MOST_SHAPES)
		shapes[n++] = shape;
	return n;
}

/* Maps that run as one product are one weight.  The router's is not Transformer Engine's. */
static int
layer_shapes(const struct memory_job *job, const struct layer *l, struct weight_shape *shapes, int n)
{
	for (int i = 0; i < l->n_ops;) {
		const struct layer_op *op = &l->op[i];
		const double shards = op->doubled ? 1 : op->routed ? job->layout.etp : job->layout.tp;
		struct weight_shape shape = {0, width_local(op->k, shards)};
		do
			shape.n += width_local(l->op[i++].n, shards);
		while (i < l->n_ops && l->op[i].joined);
		if ((op->runs == RUNS_PRODUCT || op->runs == RUNS_GROUPED) && op->part != IN_ROUTER &&
		    op->forms & FORM_EXPANDED)
			n = add_shape(shapes, n, shape);
	}
	return n;
}

static double
shape_gradient(struct sheet *sh, const struct memory_job *job, const struct weight_shape *shape)
{
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, n, shape->n);
	TAKE(sh, k, shape->k);
	LET(sh, gradient_byte, elem_byte * n * k);
	return gradient_byte;
}

static double
stage_dummies(struct sheet *sh, const struct memory_job *job, int stage)
{
	struct weight_shape shapes[MOST_SHAPES];
	struct layer own;
	int n = 0;

	/* frozen weights have no gradient */
	for (int i = 0; i < job->model->n_blocks && !job_is_lora(job); i++)
		if (memory_stage_layers(job, stage, i) > 0)
			n = layer_shapes(job, layer_of(job->model, &job->model->blocks[i], &own), shapes, n);
	SUM(sh, dummies_byte, i, n, shape_gradient(sh, job, &shapes[i]));
	return dummies_byte;
}

static double
dummy_gradients(struct sheet *sh, const struct memory_job *job, int stage)
{
	return memory_remembered(sh, job, stage, STAGE_DUMMIES, stage_dummies);
}

/* The last norm's input and output, and the gathered input of the head. */
static double
head_tensors(struct sheet *sh, const struct memory_job *job)
{
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, norm_shards, job_norm_shards(job));
	CALL(sh, n_tokens, memory_tokens(sh, job));
	CALL(sh, gathered_byte, loss_gather(sh, job));
	LET(sh, norm_byte_per_token, 2 * elem_byte * hidden / norm_shards);
	LET(sh, head_byte, n_tokens * norm_byte_per_token + gathered_byte);
	return head_byte;
}

/* The table's gradient is dense and 16-bit before it is added to the main one. */
static double
embedding_gradient(struct sheet *sh, const struct memory_job *job)
{
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, vocabulary, datum_or(job->model->vocab, 0));
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, tp, job->layout.tp);
	LET(sh, gradient_byte, elem_byte * vocabulary * hidden / tp);
	return gradient_byte;
}

/* Of fp32, in which HybridEP sends them (allocate_dispatch_buffers of DeepEP's csrc/hybrid_ep: sizeof(float)). */
static const double PROBABILITY_BYTE = 4;

/* HybridEP holds room for every token of its group, with a probability for each expert, used by dispatch and combine in
 * turn (DeepEP, csrc/hybrid_ep: max_num_of_tokens_per_rank x ranks, use_shared_buffer). */
static double
dispatch_buffers(struct sheet *sh, const struct memory_job *job, const struct block *routed)
{
	double dispatch_byte;
	if (!job->dedup || !job->stack->hybrid_ep || job->layout.ep <= 1) {
		SET(sh, dispatch_byte, 0);
		return dispatch_byte;
	}
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, stream_dim, routed->moe.latent.value > 0 ? routed->moe.latent : job->model->hidden);
	TAKE(sh, n_experts, routed->moe.n_experts);
	TAKE(sh, probability_byte, PROBABILITY_BYTE);
	FROM_STRUCT(sh, job->layout, ep, tp);
	CALL(sh, n_tokens, memory_tokens(sh, job));
	LET(sh, row_byte_per_token, elem_byte * stream_dim + probability_byte * n_experts);
	SET(sh, dispatch_byte, ep * n_tokens / tp * row_byte_per_token);
	return dispatch_byte;
}

/* Of experts alone: their dispatcher's, and those of graphs, which read and write where they did when they were
 * captured. */
static double
routed_buffers(struct sheet *sh, const struct memory_job *job)
{
	const struct stack *s = job->stack;
	const struct block *routed = first_routed(job->model);
	const struct datum graphs = job->layout.pp > 1 ? s->graph_pipeline_byte : s->graph_byte;

	double routed_byte;
	if (!routed) {
		SET(sh, routed_byte, 0);
		return routed_byte;
	}
	CALL(sh, dispatch_byte, dispatch_buffers(sh, job, routed));
	TAKE(sh, captured, stack_captures_experts(&s->time, job->recompute, job->modules, job->layout.zero));
	TAKE(sh, graph_byte, datum_or(graphs, 0));
	SET(sh, routed_byte, dispatch_byte + captured * graph_byte);
	return routed_byte;
}

double
megatron_buffers(struct sheet *sh, const struct memory_job *job, int stage, enum moment moment)
{
	CALL(sh, workspace_byte, workspaces(sh, job));
	CALL(sh, dummy_byte, dummy_gradients(sh, job, stage));
	CALL(sh, exchange_byte, stage_exchange(sh, job, stage));
	CALL(sh, routed_byte, routed_buffers(sh, job));
	double moment_byte;
	if (moment == MOMENT_LOSS)
		SET_CALL(sh, moment_byte, head_tensors(sh, job));
	else if (moment == MOMENT_EMBEDDING)
		SET_CALL(sh, moment_byte, embedding_gradient(sh, job));
	else
		SET_CALL(sh, moment_byte, first_backward_layer(sh, job, stage));
	LET(sh, buffers_byte, workspace_byte + dummy_byte + exchange_byte + routed_byte + moment_byte);
	return buffers_byte;
}
