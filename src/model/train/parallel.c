/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exposed communication of tensor, context and expert parallelism. */
#include "model/train/parts.h"

/*
 * Shares of communication that is waited for although it overlaps, and what hidden communication still costs the
 * computation beside it (SMs, memory, power): fitted to 442 published training steps, flat around these values.
 */
static const double TENSOR_EXPOSED = 0.5, EXPERT_EXPOSED = 0.25, CONTENTION = 0.55;
/* Posting and merging of one step of ring attention; its backward pass sends twice. */
static const double RING_STEP_S = 40e-6;
static const double PAIR_BASE_S = 20e-6;

double
train_hide(struct sheet *sh, double comm_s, double work_s)
{
	GIVEN(sh, comm_s, work_s);
	TAKE(sh, contention_frac, CONTENTION);
	LET(sh, hidden_s, fmax(0, comm_s - work_s) + contention_frac * fmin(comm_s, work_s));
	return hidden_s;
}

/* One gather and one scatter of a layer's input and output, or one all-reduce without sequence parallelism. */
static double
tensor_unit(struct sheet *sh, const struct train_job *job)
{
	const struct train_machine *m = &job->machine;
	const double tp = job->layout.tp, n_local = fmin(tp, m->n_domain);

	CALL(sh, n_rows, train_rows(sh, job));
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
	const bool full = job->recompute == RECOMPUTE_FULL || job->recompute == RECOMPUTE_UNIFORM;

	if (full)
		return job->stack->stops_early ? 2.75 : 3;
	return job->recompute == RECOMPUTE_OP && job->layout.sp ? 2.5 : 2;
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

/* Attention and MLP, forward and backward (Shoeybi et al., arXiv:1909.08053); experts that are whole have none. */
double
train_tensor_parallel(struct sheet *sh, const struct train_job *job, const struct block *block)
{
	const bool whole = train_routes(block) && job->layout.etp <= 1;

	if (job->layout.tp <= 1) {
		LET(sh, tensor_s, 0);
		return tensor_s;
	}
	CALL(sh, unit_s, tensor_unit(sh, job));
	CALL(sh, again_s, gather_again(sh, job));
	TAKE(sh, n_parts, whole ? 1.0 : 2.0);
	TAKE(sh, n_passes, tensor_passes(job));
	TAKE(sh, exposed_frac, job->stack->tp_overlap && job->layout.sp ? TENSOR_EXPOSED : 1);
	LET(sh, tensor_s, n_parts * (n_passes * unit_s * exposed_frac + again_s));
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

	if (l->cp <= 1) {
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
	TAKE(sh, ring_step_s, RING_STEP_S);
	TAKE(sh, base_s, PAIR_BASE_S);
	double neighbour_byte_per_s;
	if (inside) {
		TAKE(sh, link_byte_per_s, job->machine.kernels->collective[COLLECTIVE_ALL_TO_ALL].bus_byte_per_s);
		SET(sh, neighbour_byte_per_s, link_byte_per_s);
	} else {
		TAKE(sh, nic_byte_per_s, job->machine.nic_byte_per_s);
		TAKE(sh, nic_frac, job->machine.network[COLLECTIVE_SEND_RECV].nic_frac);
		SET(sh, neighbour_byte_per_s, nic_byte_per_s * nic_frac);
	}
	LET(sh, send_s, base_s + part_byte / neighbour_byte_per_s);
	LET(sh, forward_wait_s, fmax(0, send_s - attention_forward_s / cp));
	LET(sh, backward_wait_s, fmax(0, 2 * send_s - attention_backward_s / cp));
	SET(sh, context_s, (cp - 1) * (3 * ring_step_s + forward_wait_s + backward_wait_s));
	return context_s;
}

/* Rows to their experts, or back from them. */
static double
expert_send(struct sheet *sh, const struct train_job *job, const struct block *block)
{
	const struct layout *l = &job->layout;
	const double n_domain = job->machine.n_domain;

	CALL(sh, n_rows, train_rows(sh, job));
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, top_k, block->moe.top_k);
	TAKE(sh, tp, l->tp);
	TAKE(sh, half_byte, 2.0);
	LET(sh, size_byte, half_byte * hidden * (n_rows * top_k / tp));
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
