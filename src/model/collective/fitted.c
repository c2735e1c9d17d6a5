/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collectives with parameters fitted to measurements (hwdb/calibration). */
#include "model/collective/collective.h"

double
protocol_ramp(struct sheet *sh, double volume_byte, double ramp_s, double ramp_byte)
{
	GIVEN(sh, volume_byte, ramp_s, ramp_byte);
	LET(sh, protocol_s, ramp_s * pow(fmin(1, volume_byte / ramp_byte), 0.7));
	return protocol_s;
}

/* A switch gives every rank all its links; in a full mesh n ranks have n - 1 links each, and the others idle. */
static double
linked_share(struct sheet *sh, struct datum peers, double n_ranks)
{
	GIVEN(sh, n_ranks);
	TAKE(sh, n_peers, peers);
	LET(sh, linked_frac, fmin(1, (n_ranks - 1) / n_peers));
	return linked_frac;
}

double
reached_bandwidth(struct sheet *sh, const struct collective_calibration *fit, double n_ranks)
{
	GIVEN(sh, n_ranks);
	TAKE(sh, many_byte_per_s, fit->bus_byte_per_s);
	TAKE(sh, beta, fit->beta);
	double reached_byte_per_s;
	if (fit->n_peers.value > 0) {
		CALL(sh, linked_frac, linked_share(sh, fit->n_peers, n_ranks));
		SET(sh, reached_byte_per_s, many_byte_per_s * linked_frac);
	} else
		SET(sh, reached_byte_per_s, many_byte_per_s * (1 - beta / n_ranks));
	return reached_byte_per_s;
}

/* Each rank beyond the eight of the measurements: a prior. */
static const double FAR_RANK_S = 1e-6;

/*
 * Inside one node.  NCCL passes from LL through LL128 to Simple as messages grow, and half of the bandwidth is reached
 * only at several megabytes: the last term is that ramp, at its full cost from ramp_byte on.
 */
double
collective_ring_ramp(
    struct sheet *sh, enum collective c, const struct collective_calibration *fit, double n_ranks, double size_byte)
{
	GIVEN(sh, n_ranks, size_byte);
	FROM(sh, fit, base_s, per_rank_s);
	FROM(sh, fit, ramp_s, ramp_byte);
	CALL(sh, volume_byte, bus_volume(sh, c, n_ranks, size_byte));
	CALL(sh, reached_byte_per_s, reached_bandwidth(sh, fit, n_ranks));
	TAKE(sh, far_rank_s, FAR_RANK_S);
	LET(sh, latency_s, base_s + per_rank_s * (fmin(n_ranks, 8) - 2) + fmax(0, n_ranks - 8) * far_rank_s);
	CALL(sh, protocol_s, protocol_ramp(sh, volume_byte, ramp_s, ramp_byte));
	EITHER(sh, fitted_s, n_ranks > 1, latency_s + volume_byte / reached_byte_per_s + protocol_s, 0);
	return fitted_s;
}

bool
nvls_fitted(enum collective c, const struct collective_calibration *fit, double n_ranks)
{
	return c == COLLECTIVE_ALL_REDUCE && fit->nvls_byte_per_s.value > 0 && n_ranks >= fit->nvls_min_ranks.value;
}

/* Through the switches each rank sends what they add up, and gets its share of the sums for the multicast, whatever
 * the number of ranks; volumes as allreduce_nvls. */
double
allreduce_nvls_ramp(struct sheet *sh, const struct collective_calibration *fit, double n_ranks, double size_byte)
{
	GIVEN(sh, n_ranks, size_byte);
	TAKE(sh, switch_s, fit->nvls_base_s);
	TAKE(sh, switch_byte_per_s, fit->nvls_byte_per_s);
	TAKE(sh, ramp_s, fit->nvls_ramp_s);
	TAKE(sh, ramp_byte, fit->nvls_ramp_byte);
	TAKE(sh, mebi_byte, 1048576.0); /* the size that the ramp is given at */
	LET(sh, protocol_s, ramp_s * sqrt(fmin(size_byte, ramp_byte) / mebi_byte));
	EITHER(
	    sh, switched_s, n_ranks > 1, switch_s + size_byte * (1 + 1 / n_ranks) / switch_byte_per_s + protocol_s, 0);
	return switched_s;
}

/* NCCL chooses what its tuning model predicts to be faster. */
double
collective_ramp(
    struct sheet *sh, enum collective c, const struct collective_calibration *fit, double n_ranks, double size_byte)
{
	GIVEN(sh, n_ranks, size_byte);
	CALL(sh, ring_s, collective_ring_ramp(sh, c, fit, n_ranks, size_byte));
	double fitted_s;
	if (nvls_fitted(c, fit, n_ranks)) {
		CALL(sh, nvls_s, allreduce_nvls_ramp(sh, fit, n_ranks, size_byte));
		SET(sh, fitted_s, fmin(ring_s, nvls_s));
	} else
		SET(sh, fitted_s, ring_s);
	return fitted_s;
}

/* One-shot: every rank reads everybody's buffer and adds up alone.  Two-shot: reduce-scatter and all-gather.  The
 * kernels of the serving engines, without NCCL (TensorRT-LLM, vLLM, SGLang: custom all-reduce). */
double
allreduce_custom(struct sheet *sh, const struct custom_calibration *fit, double n_ranks, double size_byte)
{
	GIVEN(sh, n_ranks, size_byte);
	TAKE(sh, one_base_s, fit->one_s);
	FROM(sh, fit, one_per_rank_s, one_byte_per_s);
	TAKE(sh, two_base_s, fit->two_s);
	FROM(sh, fit, two_per_rank_s, two_byte_per_s);
	LET(sh, n_peers, n_ranks - 1);
	double linked_frac;
	if (fit->n_peers.value > 0 && n_ranks > 1)
		SET_CALL(sh, linked_frac, linked_share(sh, fit->n_peers, n_ranks));
	else
		SET(sh, linked_frac, 1);
	LET(sh, one_shot_s,
	    one_base_s + one_per_rank_s * (n_ranks - 2) + n_peers * size_byte / (linked_frac * one_byte_per_s));
	LET(sh, two_shot_s,
	    two_base_s + two_per_rank_s * (n_ranks - 2) +
	        2 * n_peers / n_ranks * size_byte / (linked_frac * two_byte_per_s));
	EITHER(sh, custom_s, n_ranks > 1, fmin(one_shot_s, two_shot_s), 0);
	return custom_s;
}

/* Where nobody says how large the messages may be: the largest that was measured. */
static const double OWN_MOST_BYTE = 33554432;

static struct datum
own_most(const struct custom_calibration *own, double n_ranks)
{
	return n_ranks > 2 ? own->most_byte : own->pair_most_byte;
}

bool
allreduce_is_own(const struct custom_calibration *own, double n_ranks, double size_byte)
{
	return size_byte <= datum_or(own_most(own, n_ranks), OWN_MOST_BYTE);
}

double
allreduce_engine(struct sheet *sh, const struct custom_calibration *own, const struct collective_calibration *nccl,
    double n_ranks, double size_byte)
{
	double engine_s;

	GIVEN(sh, n_ranks, size_byte);
	if (nccl && !allreduce_is_own(own, n_ranks, size_byte)) {
		SET_CALL(sh, engine_s, collective_ramp(sh, COLLECTIVE_ALL_REDUCE, nccl, n_ranks, size_byte));
		return engine_s;
	}
	CALL(sh, custom_s, allreduce_custom(sh, own, n_ranks, size_byte));
	if (nccl && !datum_given(own_most(own, n_ranks))) {
		CALL(sh, nccl_s, collective_ramp(sh, COLLECTIVE_ALL_REDUCE, nccl, n_ranks, size_byte));
		SET(sh, engine_s, fmin(custom_s, nccl_s));
	} else
		SET(sh, engine_s, custom_s);
	return engine_s;
}

/* What the NICs of one node carry: the part of an all-to-all that leaves the node, what is sent to another one, and
 * for the others the bus volume of rings. */
static double
node_volume(struct sheet *sh, enum collective c, double n_ranks, double n_nodes, double size_byte)
{
	GIVEN(sh, n_ranks, n_nodes, size_byte);
	double node_byte;
	if (c == COLLECTIVE_ALL_TO_ALL)
		SET(sh, node_byte, n_ranks / n_nodes * ((n_nodes - 1) / n_nodes * size_byte));
	else if (c == COLLECTIVE_SEND_RECV)
		SET(sh, node_byte, n_ranks / n_nodes * size_byte);
	else
		SET_CALL(sh, node_byte, bus_volume(sh, c, n_ranks, size_byte));
	return node_byte;
}

/* NCCL takes rings or trees, whichever is faster: trees send 2 (m-1)/m of an all-reduce, at a smaller share of the
 * line.  Two nodes use trees; from about eight nodes on, rings are as fast. */
static double
node_time(struct sheet *sh, enum collective c, const struct network_calibration *fit, double n_ranks, double n_nodes,
    double size_byte, double line_byte_per_s)
{
	GIVEN(sh, n_ranks, n_nodes, size_byte, line_byte_per_s);
	TAKE(sh, nic_frac, fit->nic_frac);
	CALL(sh, node_byte, node_volume(sh, c, n_ranks, n_nodes, size_byte));
	double node_s;
	if (c == COLLECTIVE_ALL_REDUCE && fit->tree_frac.value > 0) {
		TAKE(sh, tree_frac, fit->tree_frac);
		LET(sh, tree_byte, 2 * (n_nodes - 1) / n_nodes * size_byte);
		SET(sh, node_s, fmin(node_byte / nic_frac, tree_byte / tree_frac) / line_byte_per_s);
	} else
		SET(sh, node_s, node_byte / (nic_frac * line_byte_per_s));
	return node_s;
}

/*
 * A pipeline cuts a message into chunks until the latency of the chunks equals the time of one, and so grows as the
 * root of latency and size (Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005); NCCL's buffers bound the number of
 * chunks, and from then on it is full.  Four sweeps on fabrics of 50 and 400 GB/s a node put that at 0.22 to 0.34 ms of
 * the line rate.  Ranks alone in their nodes hand nothing on inside: none is seen there.
 */
static double
pipeline_time(struct sheet *sh, double n_fill, double hop_s, double n_local, double size_byte, double line_byte_per_s)
{
	GIVEN(sh, n_fill, hop_s, n_local, size_byte, line_byte_per_s);
	TAKE(sh, full_s, 0.3e-3); /* fitted to the four sweeps named above */
	LET(sh, full_ramp_s, n_fill * sqrt(hop_s * full_s));
	LET(sh, pipeline_s,
	    fmin(1, fmax(0, n_local - 1)) * full_ramp_s * sqrt(fmin(1, size_byte / (full_s * line_byte_per_s))));
	return pipeline_s;
}

/* Steps between nodes that come one after the other: levels of a tree up and down, or, as a ring comes back to the node
 * that it began in, its edges between nodes. */
static double
node_steps(struct sheet *sh, enum collective c, double n_nodes)
{
	GIVEN(sh, n_nodes);
	double n_steps;
	if (c == COLLECTIVE_ALL_REDUCE)
		SET(sh, n_steps, 2 * ceil(log2(n_nodes)));
	else if (c == COLLECTIVE_ALL_TO_ALL || c == COLLECTIVE_SEND_RECV)
		SET(sh, n_steps, 1);
	else
		SET(sh, n_steps, n_nodes);
	return n_steps;
}

/* The same inside nodes: the chain that a tree has in each, up and down; the other edges of a ring. */
static double
local_steps(struct sheet *sh, enum collective c, double n_ranks, double n_nodes)
{
	GIVEN(sh, n_ranks, n_nodes);
	double n_local_steps;
	if (c == COLLECTIVE_ALL_REDUCE)
		SET(sh, n_local_steps, 2 * (n_ranks / n_nodes - 1));
	else if (c == COLLECTIVE_ALL_TO_ALL || c == COLLECTIVE_SEND_RECV)
		SET(sh, n_local_steps, 0);
	else
		SET(sh, n_local_steps, n_ranks - n_nodes);
	return n_local_steps;
}

static enum algorithm
network_algorithm(enum collective c)
{
	return c == COLLECTIVE_ALL_REDUCE ? ALGORITHM_DOUBLE_TREE : ALGORITHM_RING;
}

/* A fabric's steps are those of LL.  Simple waits for a flush at each, by the difference that NCCL's tuner has. */
static double
step_fence(enum collective c, bool simple)
{
	const enum algorithm a = network_algorithm(c);

	return simple ? nccl_node_hop(a, PROTOCOL_SIMPLE) - nccl_node_hop(a, PROTOCOL_LL) : 0;
}

/* What a collective takes without bytes: NCCL's own latencies of its shortest protocol, and the fabric's steps. */
static double
latency_time(struct sheet *sh, enum collective c, bool simple, double step_s, double n_ranks, double n_nodes)
{
	const enum algorithm a = network_algorithm(c);
	const enum protocol p = simple ? PROTOCOL_SIMPLE : PROTOCOL_LL;

	GIVEN(sh, step_s, n_ranks, n_nodes);
	TAKE(sh, start_s, nccl_base(a, p));
	TAKE(sh, local_hop_s, nccl_hop(a, p, true));
	CALL(sh, n_steps, node_steps(sh, c, n_nodes));
	CALL(sh, n_local_steps, local_steps(sh, c, n_ranks, n_nodes));
	LET(sh, latency_s, start_s + n_local_steps * local_hop_s + n_steps * step_s);
	return latency_s;
}

double
collective_network(struct sheet *sh, enum collective c, const struct network_calibration *fit, double n_ranks,
    double n_nodes, double size_byte, double nic_byte_per_s)
{
	GIVEN(sh, n_ranks, n_nodes, size_byte, nic_byte_per_s);
	FROM(sh, fit, hop_s, n_fill);
	LET(sh, n_local, n_ranks / n_nodes);
	LET(sh, line_byte_per_s, n_local * nic_byte_per_s);
	CALL(sh, node_s, node_time(sh, c, fit, n_ranks, n_nodes, size_byte, line_byte_per_s));
	TAKE(sh, fence_s, step_fence(c, fit->simple.value > 0));
	LET(sh, step_s, hop_s + fence_s);
	CALL(sh, pipeline_s, pipeline_time(sh, n_fill, step_s, n_local, size_byte, line_byte_per_s));
	CALL(sh, latency_s, latency_time(sh, c, fit->simple.value > 0, step_s, n_ranks, n_nodes));
	LET(sh, network_s, latency_s + pipeline_s + node_s);
	return network_s;
}

/* --- which form, and its time ---------------------------------------------------------------------------- */

/* Time of a collective: fitted if measured, else by the textbook. */

static double
network_time(struct sheet *sh, const struct collective_plan *plan, double size_byte)
{
	GIVEN(sh, size_byte);
	FROM_STRUCT(sh, plan->ask, n_ranks, n_nodes);
	FROM_STRUCT(sh, plan->ask, nic_byte_per_s);
	CALL(sh, network_s,
	    collective_network(sh, plan->ask.collective, plan->network, n_ranks, n_nodes, size_byte, nic_byte_per_s));
	return network_s;
}

/* What was fitted under CUDA graphs inside a node. */
static double
ramp_time(struct sheet *sh, const struct collective_plan *plan, double size_byte)
{
	const enum collective c = plan->ask.collective;

	GIVEN(sh, size_byte);
	TAKE(sh, n_ranks, plan->ask.n_ranks);
	double ramp_s;
	if (plan->form == FORM_NVLS_RAMP)
		SET_CALL(sh, ramp_s, allreduce_nvls_ramp(sh, plan->ramp, n_ranks, size_byte));
	else if (plan->form == FORM_RING_RAMP)
		SET_CALL(sh, ramp_s, collective_ring_ramp(sh, c, plan->ramp, n_ranks, size_byte));
	else
		SET_CALL(sh, ramp_s, collective_ramp(sh, c, plan->ramp, n_ranks, size_byte));
	return ramp_s;
}

/* By the form alone. */
static double
form_time(struct sheet *sh, const struct collective_plan *plan, double size_byte)
{
	GIVEN(sh, size_byte);
	struct collective_ask ask = plan->ask;
	ask.size_byte = size_byte;
	double planned_s = 0;
	switch (plan->form) {
	case FORM_TEXTBOOK:
		SET_CALL(sh, planned_s, collective_textbook(sh, &ask));
		break;
	case FORM_RAMP:
	case FORM_RING_RAMP:
	case FORM_NVLS_RAMP:
		if (plan->launch_s.value > 0) {
			TAKE(sh, call_s, plan->launch_s);
			CALL(sh, replayed_s, ramp_time(sh, plan, size_byte));
			SET(sh, planned_s, replayed_s + call_s);
		} else
			SET_CALL(sh, planned_s, ramp_time(sh, plan, size_byte));
		break;
	case FORM_CUSTOM:
		SET_CALL(sh, planned_s, allreduce_engine(sh, plan->custom, plan->ramp, ask.n_ranks, size_byte));
		break;
	case FORM_NETWORK:
		if (plan->launch_s.value > 0) {
			TAKE(sh, call_s, plan->launch_s);
			CALL(sh, called_s, network_time(sh, plan, size_byte));
			SET(sh, planned_s, called_s + call_s);
		} else
			SET_CALL(sh, planned_s, network_time(sh, plan, size_byte));
		break;
	}
	return planned_s;
}

/* What the links inside a node take of a collective over several, at the rate that they reach among the node's ranks:
 * of a ring through all nodes the volume of all ranks, of sums that switches make the buffer itself. */
static double
inside_time(struct sheet *sh, const struct collective_plan *plan, double size_byte)
{
	const enum collective c = plan->ask.collective;

	GIVEN(sh, size_byte);
	double node_byte;
	if (plan->rings) {
		TAKE(sh, n_ranks, plan->ask.n_ranks);
		TAKE(sh, n_local, plan->inside->ask.n_ranks);
		CALL(sh, ring_byte, bus_volume(sh, c, n_ranks, size_byte));
		CALL(sh, local_byte, bus_volume(sh, c, n_local, size_byte));
		SET(sh, node_byte, size_byte * ring_byte / local_byte);
	} else
		SET(sh, node_byte, size_byte);
	CALL(sh, node_s, form_time(sh, plan->inside, node_byte));
	return node_s;
}

double
collective_time(struct sheet *sh, const struct collective_plan *plan, double size_byte)
{
	GIVEN(sh, size_byte);
	double collective_s;
	if (plan->inside) {
		CALL(sh, across_s, form_time(sh, plan, size_byte));
		CALL(sh, inside_s, inside_time(sh, plan, size_byte));
		SET(sh, collective_s, fmax(across_s, inside_s));
	} else
		SET_CALL(sh, collective_s, form_time(sh, plan, size_byte));
	return collective_s;
}

/* --- what was fitted ------------------------------------------------------------------------------------- */

enum collective
collective_measured(const struct calibration *fit, enum collective c)
{
	return fit->has_collective[c]                    ? c
	    : fit->has_collective[COLLECTIVE_ALL_GATHER] ? COLLECTIVE_ALL_GATHER
	                                                 : COLLECTIVE_ALL_REDUCE;
}

enum collective_form
collective_ramp_form(
    enum collective c, const struct collective_calibration *fit, enum algorithm asked, bool sharp, double n_ranks)
{
	if (!nvls_fitted(c, fit, n_ranks))
		return FORM_RAMP;
	if (asked == ALGORITHM_RING || !sharp)
		return FORM_RING_RAMP;
	return asked == ALGORITHM_NVLS ? FORM_NVLS_RAMP : FORM_RAMP;
}

bool
network_rings(enum collective c, bool mesh, bool sharp)
{
	return !mesh &&
	    (c == COLLECTIVE_ALL_GATHER || c == COLLECTIVE_REDUCE_SCATTER || (c == COLLECTIVE_ALL_REDUCE && !sharp));
}

static struct collective_plan
plan_in_node(const struct collective_ground *g, enum collective c, double n_ranks)
{
	const struct collective_calibration *ramp = &g->kernels->collective[collective_measured(g->kernels, c)];

	return (struct collective_plan){.form = collective_ramp_form(c, ramp, ALGORITHM_AUTO, g->sharp, n_ranks),
	    .ramp = ramp,
	    .ask = {.collective = c, .n_ranks = n_ranks, .n_nodes = 1}};
}

struct collective_plan
collective_plan_fitted(const struct collective_ground *g, enum collective c, double n_ranks, double n_nodes,
    struct collective_plan *inside)
{
	if (n_nodes <= 1)
		return plan_in_node(g, c, n_ranks);
	*inside = plan_in_node(g, c, n_ranks / n_nodes);
	return (struct collective_plan){.form = FORM_NETWORK,
	    .network = &g->network[c],
	    .ask = {.collective = c, .n_ranks = n_ranks, .n_nodes = n_nodes, .nic_byte_per_s = g->nic_byte_per_s},
	    .inside = n_ranks > n_nodes ? inside : NULL,
	    .rings = network_rings(c, g->mesh, g->sharp)};
}
