/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Collectives inside a replica.  With NVLink the engine's own all-reduce and NCCL's of large messages, after a wait for
 * the last rank; over PCIe a latency and the volume at a share of the slot's rate, both longer the more GPUs there are.
 */
#include "model/serve/parts.h"

#include "model/collective/collective.h"

#include <string.h>

enum { CUSTOM_MOST_RANKS = 8 };

/* Inside a step ranks come to a collective one after the other.  Where each is late by an exponentially distributed
 * time, the last of n is on average late by the mean times the n-th harmonic number (Renyi, On the theory of order
 * statistics, 1953). */
static double
rank_wait(struct sheet *sh, const struct serve_setup *s, double n_ranks)
{
	double wait_s;

	if (!(n_ranks > 1) || !datum_given(s->engine->link_wait_s)) {
		SET(sh, wait_s, 0);
		return wait_s;
	}
	GIVEN(sh, n_ranks);
	TAKE(sh, late_s, s->engine->link_wait_s);
	/* the harmonic number, to 1e-3 */
	LET(sh, n_waits, log(n_ranks) + 0.5772 + 1 / (2 * n_ranks) - 1 / (12 * n_ranks * n_ranks));
	SET(sh, wait_s, late_s * n_waits);
	return wait_s;
}

static double
allreduce_pcie(struct sheet *sh, const struct serve_setup *s, double n_ranks, double size_byte)
{
	const struct engine *e = s->engine;

	GIVEN(sh, n_ranks, size_byte);
	TAKE(sh, wait_factor, datum_or(e->pcie_wait, 1));
	TAKE(sh, base_s, e->pcie_s);
	TAKE(sh, per_rank_frac, e->pcie_rank_frac);
	TAKE(sh, reached_frac, e->pcie_frac);
	TAKE(sh, contention_frac, e->pcie_contention_frac);
	TAKE(sh, pcie_byte_per_s, s->links.pcie_byte_per_s);
	LET(sh, volume_byte, 2 * (n_ranks - 1) / n_ranks * size_byte);
	LET(sh, reduce_s,
	    wait_factor *
	        (base_s * (1 + per_rank_frac * (n_ranks - 2)) +
	            volume_byte / (reached_frac * pcie_byte_per_s) * (1 + contention_frac * (n_ranks - 2))));
	return reduce_s;
}

static double
gather_pcie(struct sheet *sh, const struct serve_setup *s, double n_ranks, double size_byte)
{
	const struct engine *e = s->engine;

	GIVEN(sh, n_ranks, size_byte);
	TAKE(sh, wait_factor, datum_or(e->pcie_wait, 1));
	TAKE(sh, base_s, e->pcie_s);
	TAKE(sh, per_rank_frac, e->pcie_rank_frac);
	TAKE(sh, reached_frac, e->pcie_gather_frac);
	TAKE(sh, pcie_byte_per_s, s->links.pcie_byte_per_s);
	LET(sh, volume_byte, (n_ranks - 1) / n_ranks * size_byte);
	LET(sh, gather_s,
	    wait_factor *
	        (base_s * (1 + per_rank_frac * (n_ranks - 2)) + volume_byte / (reached_frac * pcie_byte_per_s)));
	return gather_s;
}

static bool
has_custom(const struct serve_setup *s)
{
	return s->engine->reduce == REDUCE_BEST && s->kernels->n_custom > 0 && s->layout.tp <= CUSTOM_MOST_RANKS;
}

/* A replica of several nodes: as NCCL does it over a network. */
static double
across_nodes(struct sheet *sh, const struct serve_setup *s, enum collective c, double size_byte)
{
	const struct serve_network *n = &s->network;
	const struct collective_ground ground = {
	    .kernels = s->kernels, .network = n->fits, .nic_byte_per_s = n->nic_byte_per_s};
	struct collective_plan inside;
	const struct collective_plan plan =
	    collective_plan_fitted(&ground, c, s->layout.tp, ceil(s->layout.tp / n->n_near), &inside);

	CALL(sh, across_s, collective_time(sh, &plan, size_byte));
	return across_s;
}

double
serve_allreduce(struct sheet *sh, const struct serve_setup *s, double size_byte)
{
	const double n_ranks = s->layout.tp;
	double reduce_s;

	GIVEN(sh, size_byte);
	if (s->network.n_near > 0) {
		SET_CALL(sh, reduce_s, across_nodes(sh, s, COLLECTIVE_ALL_REDUCE, size_byte));
		return reduce_s;
	}
	if (!s->links.linked) {
		SET_CALL(sh, reduce_s, allreduce_pcie(sh, s, n_ranks, size_byte));
		return reduce_s;
	}
	const struct collective_calibration *fit = &s->kernels->collective[COLLECTIVE_ALL_REDUCE];
	CALL(sh, wait_s, rank_wait(sh, s, n_ranks));
	if (has_custom(s)) {
		CALL(sh, engine_s, allreduce_engine(sh, &s->kernels->custom[0], fit, n_ranks, size_byte));
		SET(sh, reduce_s, wait_s + engine_s);
	} else {
		CALL(sh, nccl_s, collective_ramp(sh, COLLECTIVE_ALL_REDUCE, fit, n_ranks, size_byte));
		SET(sh, reduce_s, wait_s + nccl_s);
	}
	return reduce_s;
}

double
serve_gather(struct sheet *sh, const struct serve_setup *s, double size_byte)
{
	const double n_ranks = s->layout.tp;
	double gather_s;

	if (s->network.n_near > 0)
		SET_CALL(sh, gather_s, across_nodes(sh, s, COLLECTIVE_ALL_GATHER, size_byte));
	else if (s->links.linked) {
		CALL(sh, wait_s, rank_wait(sh, s, n_ranks));
		CALL(sh, alone_s,
		    collective_ramp(
		        sh, COLLECTIVE_ALL_GATHER, &s->kernels->collective[COLLECTIVE_ALL_GATHER], n_ranks, size_byte));
		SET(sh, gather_s, wait_s + alone_s);
	} else
		SET_CALL(sh, gather_s, gather_pcie(sh, s, n_ranks, size_byte));
	return gather_s;
}

double
serve_reached_ranks(struct sheet *sh, const struct serve_setup *s, const struct block *b)
{
	double reached_frac;

	if (s->layout.ep <= CUSTOM_MOST_RANKS) {
		SET(sh, reached_frac, 1);
		return reached_frac;
	}
	TAKE(sh, ep, s->layout.ep);
	TAKE(sh, top_k, b->moe.top_k);
	SET(sh, reached_frac, 1 - pow(1 - 1 / ep, top_k));
	return reached_frac;
}

/* Where experts are spread over more ranks than a node has, each rank writes to each other one at once, and none waits
 * for what a ring has to pass on: it starts as fast as among the ranks of a node. */
static double
send_time(struct sheet *sh, const struct serve_setup *s, double size_byte)
{
	double send_s;

	if (!s->links.linked || s->network.n_near > 0 || s->layout.ep <= CUSTOM_MOST_RANKS) {
		SET_CALL(sh, send_s, serve_gather(sh, s, size_byte));
		return send_s;
	}
	GIVEN(sh, size_byte);
	TAKE(sh, n_ranks, s->layout.tp);
	TAKE(sh, n_near, (double)CUSTOM_MOST_RANKS);
	LET(sh, sent_byte, size_byte * (1 - 1 / n_ranks));
	LET(sh, near_byte, sent_byte / (1 - 1 / n_near));
	SET_CALL(sh, send_s,
	    collective_ramp(
	        sh, COLLECTIVE_ALL_GATHER, &s->kernels->collective[COLLECTIVE_ALL_GATHER], n_near, near_byte));
	return send_s;
}

/* Data-parallel attention: every rank gets all tokens in front of the experts, and its own back, summed. */
static double
exchange_time(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_new)
{
	GIVEN(sh, n_new);
	CALL(sh, reached_frac, serve_reached_ranks(sh, s, b));
	TAKE(sh, hidden, datum_or(b->moe.latent, 0) > 0 ? b->moe.latent : s->model->hidden);
	TAKE(sh, a_elem_byte, s->precision.experts.a_byte);
	TAKE(sh, wide_byte, 2.0);
	LET(sh, out_byte, reached_frac * n_new * hidden * a_elem_byte);
	LET(sh, back_byte, reached_frac * n_new * hidden * wide_byte);
	CALL(sh, gather_s, send_time(sh, s, out_byte));
	CALL(sh, scatter_s, send_time(sh, s, back_byte));
	LET(sh, exchange_s, gather_s + scatter_s);
	return exchange_s;
}

/* Norms of queries and of keys over all heads: ranks that hold some of the heads each sum their squares. */
static double
norm_reductions(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_new)
{
	double norms_s;

	if (!b->attention.qk_norm_full) {
		SET(sh, norms_s, 0);
		return norms_s;
	}
	GIVEN(sh, n_new);
	TAKE(sh, square_byte, 4.0); /* sums are fp32 */
	LET(sh, squares_byte, n_new * square_byte);
	CALL(sh, squares_s, serve_allreduce(sh, s, squares_byte));
	SET(sh, norms_s, 2 * squares_s);
	return norms_s;
}

double
serve_layer_comm(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_new)
{
	double comm_s;

	if (s->layout.tp <= 1 || (s->layout.attention_dp && !b->moe.given)) {
		SET(sh, comm_s, 0);
		return comm_s;
	}
	GIVEN(sh, n_new);
	if (s->layout.attention_dp) {
		SET_CALL(sh, comm_s, exchange_time(sh, s, b, n_new));
		return comm_s;
	}
	TAKE(sh, hidden, s->model->hidden);
	TAKE(sh, wide_byte, 2.0);
	/* one behind what mixes tokens, one behind the feed-forward part */
	TAKE(sh, n_reductions, s->model->parallel ? 1.0 : block_parts(b));
	LET(sh, size_byte, n_new * hidden * wide_byte);
	CALL(sh, reduce_s, serve_allreduce(sh, s, size_byte));
	CALL(sh, norms_s, norm_reductions(sh, s, b, n_new));
	SET(sh, comm_s, n_reductions * reduce_s + norms_s);
	return comm_s;
}

/* Rates that engines reach: 12.5, 25 and 50 GB/s of PCIe 3, 4 and 5 with 16 lanes. */
struct datum
serve_pcie(const char *slot)
{
	static const struct {
		const char *slot;
		double byte_per_s;
	} slots[] = {{"pcie3", 12.5e9}, {"pcie4", 25e9}, {"pcie5", 50e9}, {"pcie6", 100e9}};
	struct datum rate = datum_absent();

	for (size_t i = 0; slot && i < sizeof slots / sizeof *slots; i++)
		if (strncmp(slot, slots[i].slot, strlen(slots[i].slot)) == 0)
			rate.value = slots[i].byte_per_s;
	return rate;
}
