/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data parallelism: gradient reduction, parameter gathering, and the exposed part of both. */
#include "model/train/parts.h"

/* Parts that overlap one another: at least 40 million parameters, and a million per rank (Megatron-Core's buckets). */
static const double BUCKET_PARAMS = 40e6, BUCKET_RANK_PARAMS = 1e6;

/* --- parameters of a rank -------------------------------------------------------------------------------- */

static double
train_layer_params(const struct train_job *job, const struct block *block)
{
	struct train_linear list[TRAIN_MOST_LINEARS];
	const int n = train_linears(job, block, list);
	double total = block->moe.given ? block->moe.n_experts.value * job->model->hidden.value : 0;

	for (int i = 0; i < n; i++)
		total += list[i].n * list[i].k;
	return total;
}

static double
block_params(struct sheet *sh, const struct train_job *job, const struct block *block)
{
	TAKE(sh, n_block_layers, block->count);
	TAKE(sh, layer_param, train_layer_params(job, block));
	TAKE(sh, pp, job->layout.pp);
	LET(sh, block_param, n_block_layers * layer_param / pp);
	return block_param;
}

/* Stages share the layers; the fullest has one of the vocabulary's tables.  Without stages there are both
 * where they are not tied; traffic with experts was fitted with one. */
double
train_dense_params(struct sheet *sh, const struct train_job *job)
{
	const struct workload *w = job->model;
	const bool both = job->layout.pp <= 1 && !w->tied_embeddings && !train_has_experts(w);

	SUM(sh, layers_param, i, w->n_blocks, block_params(sh, job, &w->blocks[i]));
	TAKE(sh, vocabulary, datum_or(w->vocab, 0));
	TAKE(sh, hidden, w->hidden);
	TAKE(sh, tp, job->layout.tp);
	TAKE(sh, n_tables, both ? 2.0 : 1.0);
	LET(sh, dense_param, layers_param + n_tables * vocabulary * hidden / tp);
	return dense_param;
}

static double
block_experts(struct sheet *sh, const struct train_job *job, const struct block *block)
{
	const double n_shards = job->layout.ep * job->layout.etp;

	TAKE(sh, n_block_layers, block->count);
	TAKE(sh, pp, job->layout.pp);
	CALL(sh, layer_param, shard_params(sh, job->model, block, IN_EXPERTS, n_shards));
	LET(sh, experts_param, n_block_layers * layer_param / pp);
	return experts_param;
}

double
train_expert_params(struct sheet *sh, const struct train_job *job)
{
	SUM(sh, expert_param, i, job->model->n_blocks, block_experts(sh, job, &job->model->blocks[i]));
	return expert_param;
}

/* --- collectives ----------------------------------------------------------------------------------------- */

/* A group that holds the same parameters: n_ranks that are `stride` apart. */
struct group {
	double n_ranks, stride, params;
	double n_copies; /* groups that are alike: more than one under hybrid sharding */
};

static double
group_time(struct sheet *sh, const struct train_job *job, const struct group *g, enum collective c, double n_parts,
    double byte)
{
	if (!(g->params > 0) || g->n_ranks <= 1) {
		LET(sh, group_s, 0);
		return group_s;
	}
	CALL(sh, n_local, train_local(sh, job, g->n_ranks, g->stride));
	TAKE(sh, group_param, g->params);
	TAKE(sh, n_pieces, n_parts);
	TAKE(sh, wire_byte_per_param, byte);
	LET(sh, piece_byte, group_param / n_pieces * wire_byte_per_param);
	CALL(sh, piece_s, train_collective(sh, &job->machine, c, g->n_ranks, n_local, piece_byte));
	LET(sh, group_s, n_pieces * piece_s);
	return group_s;
}

/* Bytes of a parameter in communication: 2, or 1 for GEMMs with one scale per tensor. */
static double
gather_byte(const struct train_job *job)
{
	return job->stack->gathers_fp8 && job->dtype == DTYPE_FP8 ? 1 : 2;
}

/* Gradients summed over a group, a part left on each rank.  Groups of a hybrid shard are alike: what each rank has is
 * summed over them too (Zhao et al., VLDB 2023, section 3.2.2). */
static double
scatter_time(struct sheet *sh, const struct train_job *job, const struct group *g, double n_parts, double byte)
{
	const struct group alike = {g->n_copies, g->stride * g->n_ranks, g->params / g->n_ranks, 1};

	CALL(sh, within_s, group_time(sh, job, g, COLLECTIVE_REDUCE_SCATTER, n_parts, byte));
	CALL(sh, across_s, group_time(sh, job, &alike, COLLECTIVE_ALL_REDUCE, n_parts, byte));
	LET(sh, summed_s, within_s + across_s);
	return summed_s;
}

static double
bucket_count_of(const struct group *g)
{
	return fmax(1, ceil(g->params / fmax(BUCKET_PARAMS, BUCKET_RANK_PARAMS * g->n_ranks)));
}

/* Gradients summed on all ranks. */
static double
replicated(struct sheet *sh, const struct train_job *job, const struct group *dense, const struct group *experts,
    const struct train_window *w, struct train_terms *out)
{
	TAKE(sh, reduce_byte, job->stack->reduce_byte);
	CALL(sh, dense_s, group_time(sh, job, dense, COLLECTIVE_ALL_REDUCE, 1, reduce_byte));
	CALL(sh, experts_s, group_time(sh, job, experts, COLLECTIVE_ALL_REDUCE, 1, reduce_byte));
	LET(sh, reduce_s, dense_s + experts_s);
	out->scatter_s = reduce_s;
	double exposed_s;
	if (job->stack->dp_overlap)
		SET_CALL(sh, exposed_s, train_hide(sh, reduce_s, w->backward_s));
	else
		SET(sh, exposed_s, reduce_s);
	return exposed_s;
}

/* Optimizer states, and maybe gradients, sharded: a scatter and a gather for every step (Rajbhandari et al., SC 2020).
 * The last bucket has nothing left to hide behind.  Experts' parameters are large: they count as one piece.
 * So does full sharding in a pipeline, which gathers a stage once. */
static double
sharded(struct sheet *sh, const struct train_job *job, const struct group *dense, const struct group *experts,
    const struct train_window *w, struct train_terms *out)
{
	const bool fsdp = job->layout.zero == 3;

	TAKE(sh, reduce_byte, job->stack->reduce_byte);
	TAKE(sh, n_buckets, fsdp ? 1 : bucket_count_of(dense));
	CALL(sh, dense_scatter_s, scatter_time(sh, job, dense, n_buckets, reduce_byte));
	CALL(sh, expert_scatter_s, scatter_time(sh, job, experts, 1, reduce_byte));
	CALL(sh, dense_gather_s, group_time(sh, job, dense, COLLECTIVE_ALL_GATHER, n_buckets, gather_byte(job)));
	CALL(sh, expert_gather_s, group_time(sh, job, experts, COLLECTIVE_ALL_GATHER, 1, gather_byte(job)));
	LET(sh, scatter_s, dense_scatter_s + expert_scatter_s);
	LET(sh, gather_s, dense_gather_s + expert_gather_s);
	out->scatter_s = scatter_s;
	out->gather_s = gather_s;
	double exposed_s;
	if (job->stack->dp_overlap) {
		CALL(sh, backward_s, train_hide(sh, scatter_s, w->backward_s));
		CALL(sh, forward_s, train_hide(sh, gather_s, w->forward_s));
		if (fsdp)
			SET(sh, exposed_s, backward_s + forward_s);
		else
			SET(sh, exposed_s, backward_s + forward_s + (scatter_s + gather_s) / n_buckets);
	} else
		SET(sh, exposed_s, scatter_s + gather_s);
	return exposed_s;
}

/* Parameters sharded too: gathered for every layer, forward and backward; the first gather and the last scatter are
 * waited for (Zhao et al., VLDB 2023). */
static double
fully_sharded(struct sheet *sh, const struct train_job *job, const struct group *dense, const struct group *experts,
    const struct train_window *w, double m, struct train_terms *out)
{
	const double layers = job->model->n_layers.value / job->layout.pp;

	TAKE(sh, reduce_byte, job->stack->reduce_byte);
	TAKE(sh, n_stage_layers, layers);
	CALL(sh, dense_gather_s, group_time(sh, job, dense, COLLECTIVE_ALL_GATHER, layers, gather_byte(job)));
	CALL(sh, expert_gather_s, group_time(sh, job, experts, COLLECTIVE_ALL_GATHER, layers, gather_byte(job)));
	LET(sh, gather_s, dense_gather_s + expert_gather_s);
	double scatter_s;
	if (job->adapters)
		SET(sh, scatter_s, 0);
	else {
		CALL(sh, dense_scatter_s, scatter_time(sh, job, dense, layers, reduce_byte));
		CALL(sh, expert_scatter_s, scatter_time(sh, job, experts, layers, reduce_byte));
		SET(sh, scatter_s, dense_scatter_s + expert_scatter_s);
	}
	out->scatter_s = scatter_s;
	out->gather_s = gather_s;
	TAKE(sh, n_microbatches, m);
	CALL(sh, forward_s, train_hide(sh, gather_s, w->forward_s));
	CALL(sh, backward_s, train_hide(sh, gather_s + scatter_s, w->backward_s));
	LET(sh, exposed_s, n_microbatches * (forward_s + backward_s) + (gather_s + scatter_s) / n_stage_layers);
	return exposed_s;
}

double
train_data_parallel(
    struct sheet *sh, const struct train_job *job, const struct train_window *w, struct train_terms *out)
{
	const struct layout *l = &job->layout;
	const double replicas = l->dp * l->cp, shard = l->zero > 0 ? layout_shard_ranks(l) : replicas;
	const double expert_replicas = fmax(1, job->n_gpus / (l->pp * l->ep * l->etp));
	const double expert_ranks = layout_expert_shard_ranks(l, shard);
	const double expert_stride = fmin(l->ep * l->etp, job->machine.n_domain);
	struct group dense = {shard, l->tp, out->rank_params, replicas / shard};
	const struct group experts = {expert_ranks, expert_stride, out->expert_params, expert_replicas / expert_ranks};
	const bool shards_once = l->zero == 3 && l->pp > 1 && !job->stack->reshards_pipeline;

	out->gather_s = out->scatter_s = 0;
	if (job->adapters && l->zero < 3) {
		LET(sh, data_s, 0);
		return data_s;
	}
	if (l->zero == 0)
		return replicated(sh, job, &dense, &experts, w, out);
	/* full sharding gathers the table that tokens are looked up in once, outside the layers */
	if (l->zero == 3 && !shards_once)
		dense.params -= job->model->vocab.value * job->model->hidden.value / l->tp;
	if (l->zero < 3 || shards_once)
		return sharded(sh, job, &dense, &experts, w, out);
	return fully_sharded(sh, job, &dense, &experts, w, out->n_microbatches, out);
}
