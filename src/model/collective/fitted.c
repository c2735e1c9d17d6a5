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
	TAKE(sh, many_byte_per_s, fit->bus_byte_per_s);
	FROM(sh, fit, beta, ramp_s, ramp_byte);
	CALL(sh, volume_byte, bus_volume(sh, c, n_ranks, size_byte));
	LET(sh, reached_byte_per_s, many_byte_per_s * (1 - beta / n_ranks));
	LET(sh, latency_s, base_s + per_rank_s * (n_ranks - 2));
	CALL(sh, protocol_s, protocol_ramp(sh, volume_byte, ramp_s, ramp_byte));
	LET(sh, fitted_s, fmin(1, n_ranks - 1) * (latency_s + volume_byte / reached_byte_per_s + protocol_s));
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
	LET(sh, switched_s,
	    fmin(1, n_ranks - 1) * (switch_s + size_byte * (1 + 1 / n_ranks) / switch_byte_per_s + protocol_s));
	return switched_s;
}

/* NCCL goes by what it takes to be the faster one. */
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
	LET(sh, one_shot_s, one_base_s + one_per_rank_s * (n_ranks - 2) + n_peers * size_byte / one_byte_per_s);
	LET(sh, two_shot_s,
	    two_base_s + two_per_rank_s * (n_ranks - 2) + 2 * n_peers / n_ranks * size_byte / two_byte_per_s);
	LET(sh, custom_s, fmin(1, n_peers) * fmin(one_shot_s, two_shot_s));
	return custom_s;
}

/* What the NICs of one node carry: a tree's 2 (m-1)/m of an all-reduce, the part of an all-to-all that leaves the node,
 * and for the others the bus volume of a flat ring. */
static double
node_volume(struct sheet *sh, enum collective c, double n_ranks, double n_nodes, double size_byte)
{
	GIVEN(sh, n_ranks, n_nodes, size_byte);
	double node_byte;
	if (c == COLLECTIVE_ALL_REDUCE)
		SET(sh, node_byte, 2 * (n_nodes - 1) / n_nodes * size_byte);
	else if (c == COLLECTIVE_ALL_TO_ALL)
		SET(sh, node_byte, n_ranks / n_nodes * ((n_nodes - 1) / n_nodes * size_byte));
	else if (c == COLLECTIVE_SEND_RECV)
		SET(sh, node_byte, n_ranks / n_nodes * size_byte);
	else
		SET_CALL(sh, node_byte, bus_volume(sh, c, n_ranks, size_byte));
	return node_byte;
}

/* Steps between nodes that come one after the other: levels of a tree, or nodes of a ring. */
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
		SET(sh, n_steps, n_nodes - 1);
	return n_steps;
}

double
collective_network(struct sheet *sh, enum collective c, const struct network_calibration *fit, double n_ranks,
    double n_nodes, double size_byte, double n_nics_per_gpu, double nic_byte_per_s, double node_hop_s)
{
	GIVEN(sh, n_ranks, n_nodes, size_byte, node_hop_s);
	FROM(sh, fit, base_s, ramp_s);
	TAKE(sh, n_fitted_nodes, fit->n_nodes);
	TAKE(sh, mebi_byte, 1048576.0); /* the size that the ramp is given at */
	double reached_byte_per_s;
	if (datum_given(fit->nic_byte_per_s)) {
		GIVEN(sh, n_nics_per_gpu);
		TAKE(sh, one_nic_byte_per_s, fit->nic_byte_per_s);
		SET(sh, reached_byte_per_s, n_ranks / n_nodes * n_nics_per_gpu * one_nic_byte_per_s);
	} else {
		GIVEN(sh, nic_byte_per_s);
		TAKE(sh, nic_frac, fit->nic_frac);
		SET(sh, reached_byte_per_s, n_ranks / n_nodes * nic_byte_per_s * nic_frac);
	}
	CALL(sh, node_byte, node_volume(sh, c, n_ranks, n_nodes, size_byte));
	CALL(sh, n_steps, node_steps(sh, c, n_nodes));
	CALL(sh, n_fitted_steps, node_steps(sh, c, n_fitted_nodes));
	LET(sh, latency_s, base_s + fmax(0, n_steps - n_fitted_steps) * node_hop_s);
	LET(sh, network_s, latency_s + ramp_s * sqrt(size_byte / mebi_byte) + node_byte / reached_byte_per_s);
	return network_s;
}
