/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Exposed communication of a training step.  Collectives are those of model/collective over the groups of a layout, and
 * experts' dispatchers.
 */
#include "model/train/parts.h"

/* Of a dispatcher across domains: what it takes without bytes, and what it reaches of NVLink.  Priors. */
static const double DISPATCH_BASE_S = 40e-6, DISPATCH_LINK = 0.9;

/* GPUs of a group that one domain holds: how many ranks of a group whose neighbors are `stride` apart. */
static double
train_local(struct sheet *sh, const struct train_job *job, double n_ranks, double stride)
{
	GIVEN(sh, n_ranks);
	TAKE(sh, n_domain, job->machine.n_domain);
	TAKE(sh, rank_stride, stride);
	EITHER(
	    sh, n_local, job->n_gpus <= job->machine.n_domain, n_ranks, fmax(1, fmin(n_ranks, n_domain / rank_stride)));
	return n_local;
}

double
train_collective(struct sheet *sh, const struct train_machine *m, enum collective c, double n_ranks, double n_local,
    double size_byte)
{
	GIVEN(sh, n_ranks, n_local, size_byte);
	const struct collective_ground ground = {m->kernels, m->network, m->sharp, m->mesh, m->nic_byte_per_s};
	struct collective_plan inside;
	const struct collective_plan plan =
	    collective_plan_fitted(&ground, c, n_ranks, ceil(n_ranks / n_local), &inside);

	double collective_s;
	if (n_ranks <= 1)
		SET(sh, collective_s, 0);
	else
		SET_CALL(sh, collective_s, collective_time(sh, &plan, size_byte));
	return collective_s;
}

/*
 * Rows to their experts in other domains by a dispatcher that knows domains (DeepSeek-AI, DeepEP): no collective of
 * NCCL, it sends a row once to each domain that has one of its experts, NVLink and NICs at the same time.  Of n
 * domains, k experts chosen at random lie in n (1 - (1 - 1/n)^k).
 */
double
train_dispatch(struct sheet *sh, const struct train_job *job, const struct block *block, double size_byte)
{
	GIVEN(sh, size_byte);
	TAKE(sh, ep, job->layout.ep);
	TAKE(sh, n_domain, job->machine.n_domain);
	TAKE(sh, top_k, block->moe.top_k);
	TAKE(sh, link_byte_per_s, job->machine.kernels->collective[COLLECTIVE_ALL_TO_ALL].bus_byte_per_s);
	TAKE(sh, link_frac, DISPATCH_LINK);
	TAKE(sh, nic_byte_per_s, job->machine.nic_byte_per_s);
	TAKE(sh, nic_frac, job->machine.network[COLLECTIVE_ALL_TO_ALL].nic_frac);
	TAKE(sh, dispatch_base_s, DISPATCH_BASE_S);
	LET(sh, n_local, fmin(ep, n_domain));
	LET(sh, n_domains, ep / n_local);
	LET(sh, unique_frac, n_domains * (1 - pow(1 - 1 / n_domains, top_k)) / top_k);
	LET(sh, link_s, size_byte * (n_local - 1) / n_local / (link_frac * link_byte_per_s));
	LET(sh, nic_s, size_byte * unique_frac * (n_domains - 1) / n_domains / (nic_byte_per_s * nic_frac));
	LET(sh, dispatch_s, dispatch_base_s + fmax(link_s, nic_s));
	return dispatch_s;
}

/* --- neighbors ------------------------------------------------------------------------------------------------ */

double
train_send(struct sheet *sh, const struct train_job *job, double size_byte, double network_frac)
{
	double inside_s, outside_s;

	GIVEN(sh, size_byte, network_frac);
	if (network_frac < 1) {
		TAKE(sh, link_byte_per_s, job->machine.kernels->collective[COLLECTIVE_ALL_TO_ALL].bus_byte_per_s);
		SET(sh, inside_s, (1 - network_frac) * size_byte / link_byte_per_s);
	} else
		SET(sh, inside_s, 0);
	if (network_frac > 0) {
		TAKE(sh, nic_byte_per_s, job->machine.nic_byte_per_s);
		TAKE(sh, nic_frac, job->machine.network[COLLECTIVE_SEND_RECV].nic_frac);
		SET(sh, outside_s, network_frac * size_byte / (nic_byte_per_s * nic_frac));
	} else
		SET(sh, outside_s, 0);
	LET(sh, moved_s, inside_s + outside_s);
	return moved_s;
}

/* --- tensor, context and expert parallelism ------------------------------------------------------------------- */

/*
 * Shares of communication that is waited for although it overlaps, and what hidden communication still costs the
 * computation beside it (SMs, memory, power), on NVLink and on a network, which brings a tenth of that: fitted to 442
 * published training steps, flat around these values.
 * Products that overlap with their gathers and scatters pass chunks around a ring: what starts a chunk is waited for,
 * once for the first and once more for the others together, and of what moves a share.  A share of the whole instead
 * (0.5) makes layers of 4 and 8 ranks on Hopper 3 to 5 % slower than measured, and those of few rows on Blackwell
 * faster.
 */
static const double TENSOR_STARTS = 2, TENSOR_EXPOSED = 0.4, EXPERT_EXPOSED = 0.25;
static const double LINK_CONTENTION = 0.55, NETWORK_CONTENTION = 0.35;
/* Posting of one step of ring attention, by a host and from a CUDA graph (fitted to 21 published runs with cp from 2
 * to 32, and to 16 with cp from 2 to 8); its backward pass sends twice. */
static const double RING_STEP_S = 40e-6, RING_GRAPH_STEP_S = 10e-6;
/* Of a query element and step: results are added to an fp32 sum of the outputs and to the queries' gradients, and where
 * half of the queries take part they are copied.  The first step's are scaled to the sum and copied, read and written
 * (flash_attn_fwd_out_correction_init and dq of Transformer Engine's context_parallel.py). */
static const double RING_MERGE_BYTE = 16, RING_FIRST_BYTE = 8;
static const double PAIR_BASE_S = 20e-6;

double
train_hide(struct sheet *sh, double comm_s, double work_s, double near_frac)
{
	GIVEN(sh, comm_s, work_s, near_frac);
	TAKE(sh, network_frac, NETWORK_CONTENTION);
	TAKE(sh, link_frac, LINK_CONTENTION);
	LET(sh, contention_frac, network_frac + (link_frac - network_frac) * near_frac);
	LET(sh, hidden_s, fmax(0, comm_s - work_s) + contention_frac * fmin(comm_s, work_s));
	return hidden_s;
}

/* One gather and one scatter of a layer's input and output, or one all-reduce without sequence parallelism. */
static double
tensor_unit(struct sheet *sh, const struct train_job *job, double n_rows)
{
	const struct train_machine *m = &job->machine;
	const double tp = job->layout.tp, n_local = fmin(tp, m->n_domain);

	GIVEN(sh, n_rows);
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, elem_byte, train_elem_byte(job));
	LET(sh, size_byte, n_rows * hidden * elem_byte);
	double unit_s;
	if (m->pair_byte_per_s > 0 && tp < m->n_domain) {
		/* part of a node without NVSwitch: as its pairs happen to be linked */
		TAKE(sh, pair_byte_per_s, m->pair_byte_per_s);
		TAKE(sh, pair_base_s, PAIR_BASE_S);
		TAKE(sh, tp_ranks, tp);
		SET(sh, unit_s, pair_base_s + 2 * (tp_ranks - 1) / tp_ranks * size_byte / pair_byte_per_s);
	} else if (job->layout.sp) {
		CALL(sh, gather_s, train_collective(sh, m, COLLECTIVE_ALL_GATHER, tp, n_local, size_byte));
		CALL(sh, scatter_s, train_collective(sh, m, COLLECTIVE_REDUCE_SCATTER, tp, n_local, size_byte));
		SET(sh, unit_s, gather_s + scatter_s);
	} else {
		CALL(sh, reduce_s, train_collective(sh, m, COLLECTIVE_ALL_REDUCE, tp, n_local, size_byte));
		SET(sh, unit_s, reduce_s);
	}
	return unit_s;
}

/* Forward, backward, and forward again where all is recomputed, but for the last scatter where that stops early.
 * Policies by operator keep what was scattered and gather again. */
static double
tensor_passes(const struct train_job *job)
{
	const double again = job->stack->stops_early ? 0.75 : 1;

	return 2 + (job->recompute == RECOMPUTE_OP && job->layout.sp ? 0.5 : again * train_again_frac(job));
}

/* Megatron-Core keeps a part of each input and gathers it again for the weight gradients (Korthikanti et al.,
 * arXiv:2205.05198, section 4.2.2), beside a product unless nothing overlaps. */
static double
gather_again(struct sheet *sh, const struct train_job *job)
{
	const struct stack_time *s = job->stack;
	const double tp = job->layout.tp, n_local = fmin(tp, job->machine.n_domain);

	if (!s->regathers || s->tp_overlap || !job->layout.sp || job->adapters) {
		LET(sh, again_s, 0);
		return again_s;
	}
	CALL(sh, n_rows, train_rows(sh, job));
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, elem_byte, train_elem_byte(job));
	LET(sh, size_byte, n_rows * hidden * elem_byte);
	CALL(sh, gather_s, train_collective(sh, &job->machine, COLLECTIVE_ALL_GATHER, tp, n_local, size_byte));
	LET(sh, again_s, gather_s);
	return again_s;
}

/* What of a gather and a scatter is waited for. */
static double
exposed_unit(struct sheet *sh, const struct train_job *job)
{
	CALL(sh, n_rows, train_rows(sh, job));
	CALL(sh, unit_s, tensor_unit(sh, job, n_rows));
	double exposed_s;
	if (!job->stack->tp_overlap || !job->layout.sp) {
		SET(sh, exposed_s, unit_s);
		return exposed_s;
	}
	CALL(sh, start_s, tensor_unit(sh, job, 0));
	TAKE(sh, n_starts, TENSOR_STARTS);
	TAKE(sh, exposed_frac, TENSOR_EXPOSED);
	SET(sh, exposed_s, fmin(unit_s, n_starts * start_s + exposed_frac * (unit_s - start_s)));
	return exposed_s;
}

/* Mixer and feed-forward part, forward and backward (Shoeybi et al., arXiv:1909.08053); experts that are whole have
 * none. */
double
train_tensor_parallel(struct sheet *sh, const struct train_job *job, const struct block *block)
{
	const bool whole = train_routes(block) && job->layout.etp <= 1;

	if (job->layout.tp <= 1) {
		LET(sh, tensor_s, 0);
		return tensor_s;
	}
	CALL(sh, exposed_s, exposed_unit(sh, job));
	CALL(sh, again_s, gather_again(sh, job));
	TAKE(sh, n_parts, block_parts(block) - whole);
	TAKE(sh, n_passes, tensor_passes(job));
	LET(sh, tensor_s, n_parts * (n_passes * exposed_s + again_s));
	return tensor_s;
}

/* All keys and values of the group on every rank, their gradients back; or all tokens of some heads on each rank, and
 * the output back, both ways. */
static double
exchanged_context(struct sheet *sh, const struct train_job *job, const struct block *block, double part_byte)
{
	const struct layout *l = &job->layout;
	const struct train_machine *m = &job->machine;
	const double n_local = fmax(1, fmin(l->cp, m->n_domain / l->tp));

	GIVEN(sh, part_byte);
	double exchanged_s;
	if (job->context == CONTEXT_GATHER) {
		TAKE(sh, cp, l->cp);
		LET(sh, whole_byte, part_byte * cp);
		CALL(sh, gather_s, train_collective(sh, m, COLLECTIVE_ALL_GATHER, l->cp, n_local, whole_byte));
		CALL(sh, scatter_s, train_collective(sh, m, COLLECTIVE_REDUCE_SCATTER, l->cp, n_local, whole_byte));
		SET(sh, exchanged_s, 2 * gather_s + scatter_s);
		return exchanged_s;
	}
	CALL(sh, n_rows, train_rows(sh, job));
	TAKE(sh, tp, l->tp);
	TAKE(sh, n_heads, block->attention.n_heads);
	TAKE(sh, head_dim, train_core(job, block).n.size);
	TAKE(sh, elem_byte, train_elem_byte(job));
	LET(sh, heads_byte, n_rows * (n_heads / tp) * head_dim * elem_byte);
	CALL(sh, there_s, train_collective(sh, m, COLLECTIVE_ALL_TO_ALL, l->cp, n_local, heads_byte + part_byte));
	CALL(sh, back_s, train_collective(sh, m, COLLECTIVE_ALL_TO_ALL, l->cp, n_local, heads_byte));
	SET(sh, exchanged_s, 2 * (there_s + back_s));
	return exchanged_s;
}

/* Keys and values of one rank to its neighbor (Liu et al., arXiv:2310.01889), or of all ranks to all. */
double
train_context_parallel(struct sheet *sh, const struct train_job *job, const struct block *block,
    double attention_forward_s, double attention_backward_s)
{
	const struct layout *l = &job->layout;
	struct layer own;
	const struct layer_state *cache = &layer_of(job->model, block, &own)->state[0];
	const bool inside = l->tp * l->cp <= job->machine.n_domain;
	const double kv = width_local(cache->width, l->tp) / 2;

	if (l->cp <= 1 || block->mixer != MIXER_ATTENTION) {
		LET(sh, context_s, 0);
		return context_s;
	}
	GIVEN(sh, attention_forward_s, attention_backward_s);
	CALL(sh, n_rows, train_rows(sh, job));
	TAKE(sh, cp, l->cp);
	TAKE(sh, kv_width, kv);
	TAKE(sh, elem_byte, train_elem_byte(job));
	LET(sh, part_byte, 2 * n_rows * kv_width * elem_byte);
	double context_s;
	if (job->context != CONTEXT_RING) {
		SET_CALL(sh, context_s, exchanged_context(sh, job, block, part_byte));
		return context_s;
	}
	TAKE(sh, ring_step_s, job->stack->graphs ? RING_GRAPH_STEP_S : RING_STEP_S);
	TAKE(sh, base_s, PAIR_BASE_S);
	TAKE(sh, query_width, width_local(train_core(job, block).n, l->tp));
	TAKE(sh, merge_byte, RING_MERGE_BYTE);
	TAKE(sh, mem_byte_per_s, train_memory(job));
	TAKE(sh, first_byte, RING_FIRST_BYTE);
	LET(sh, merge_s, n_rows * query_width * (first_byte + (cp - 1) * merge_byte) / mem_byte_per_s);
	TAKE(sh, network_frac, inside ? 0 : 1);
	CALL(sh, moved_s, train_send(sh, job, part_byte, network_frac));
	LET(sh, send_s, base_s + moved_s);
	LET(sh, forward_wait_s, fmax(0, send_s - attention_forward_s / cp));
	LET(sh, backward_wait_s, fmax(0, 2 * send_s - attention_backward_s / cp));
	SET(sh, context_s, (cp - 1) * (3 * ring_step_s + forward_wait_s + backward_wait_s) + merge_s);
	return context_s;
}

/* Rows to their experts, or back from them. */
static double
expert_send(struct sheet *sh, const struct train_job *job, const struct block *block)
{
	const struct layout *l = &job->layout;
	const double n_domain = job->machine.n_domain;

	CALL(sh, n_rows, train_rows(sh, job));
	TAKE(sh, stream_dim, train_stream_width(job->model, block));
	TAKE(sh, top_k, block->moe.top_k);
	TAKE(sh, tp, l->tp);
	TAKE(sh, half_byte, 2.0);
	LET(sh, size_byte, half_byte * stream_dim * (n_rows * top_k / tp));
	double send_s;
	if (l->ep <= n_domain || !job->dedup)
		SET_CALL(sh, send_s,
		    train_collective(
		        sh, &job->machine, COLLECTIVE_ALL_TO_ALL, l->ep, fmin(l->ep, n_domain), size_byte));
	else
		SET_CALL(sh, send_s, train_dispatch(sh, job, block, size_byte));
	return send_s;
}

/* Two sends in each pass, and what of them the kernels of the layer do not cover. */
double
train_expert_parallel(
    struct sheet *sh, const struct train_job *job, const struct block *block, double forward_s, double backward_s)
{
	const struct layout *l = &job->layout;
	const enum expert_overlap overlap = job->stack->expert_overlap;
	const bool partly = overlap == EXPERT_OVERLAP_PARTIAL && (l->ep <= job->machine.n_domain || job->dedup);

	double expert_s;
	if (l->ep <= 1 || !train_routes(block)) {
		SET(sh, expert_s, 0);
		return expert_s;
	}
	CALL(sh, send_s, expert_send(sh, job, block));
	if (overlap == EXPERT_OVERLAP_FULL) {
		GIVEN(sh, forward_s, backward_s);
		SET(sh, expert_s, fmax(0, 2 * send_s - forward_s) + fmax(0, 2 * send_s - backward_s));
		return expert_s;
	}
	TAKE(sh, exposed_frac, partly ? EXPERT_EXPOSED : 1);
	SET(sh, expert_s, 4 * exposed_frac * send_s);
	return expert_s;
}

/* --- data parallelism ----------------------------------------------------------------------------------------- */

/* Gradient reduction, parameter gathering, and the exposed part of both. */

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

/* Time that a group's part inside an NVLink domain would take by itself, of what the group takes: 1 where it has no
 * other part. */
static double
near_share(struct sheet *sh, const struct train_job *job, const struct group *g, enum collective c, double n_parts,
    double byte, double whole_s)
{
	double near_frac;

	GIVEN(sh, whole_s);
	CALL(sh, n_local, train_local(sh, job, g->n_ranks, g->stride));
	if (n_local >= g->n_ranks || !(whole_s > 0)) {
		SET(sh, near_frac, 1);
		return near_frac;
	}
	const struct group near = {n_local, g->stride, g->params, 1};
	CALL(sh, near_s, group_time(sh, job, &near, c, n_parts, byte));
	SET(sh, near_frac, fmin(1, near_s / whole_s));
	return near_frac;
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
	if (job->stack->dp_overlap) {
		CALL(sh, near_frac, near_share(sh, job, dense, COLLECTIVE_ALL_REDUCE, 1, reduce_byte, dense_s));
		SET_CALL(sh, exposed_s, train_hide(sh, reduce_s, w->backward_s, near_frac));
	} else
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
		CALL(sh, near_frac,
		    near_share(sh, job, dense, COLLECTIVE_ALL_GATHER, n_buckets, gather_byte(job), dense_gather_s));
		CALL(sh, backward_s, train_hide(sh, scatter_s, w->backward_s, near_frac));
		CALL(sh, forward_s, train_hide(sh, gather_s, w->forward_s, near_frac));
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
	CALL(
	    sh, near_frac, near_share(sh, job, dense, COLLECTIVE_ALL_GATHER, layers, gather_byte(job), dense_gather_s));
	CALL(sh, forward_s, train_hide(sh, gather_s, w->forward_s, near_frac));
	CALL(sh, backward_s, train_hide(sh, gather_s + scatter_s, w->backward_s, near_frac));
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
