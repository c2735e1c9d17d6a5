/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Several nodes: g ranks in each of m nodes, every rank with its share of the node's NICs. */
#include "model/collective/collective.h"

double
allreduce_hierarchical(struct sheet *sh, const struct collective_ask *ask)
{
	FROM(sh, ask, n_ranks, n_nodes, size_byte, link_byte_per_s, nic_byte_per_s, hop_s, node_hop_s);
	LET(sh, n_local, n_ranks / n_nodes);
	LET(sh, latency_s, 2 * (n_local - 1) * hop_s + 2 * (n_nodes - 1) * node_hop_s);
	/* reduce-scatter, and all-gather of the sums */
	LET(sh, inside_s, 2 * ((n_local - 1) / n_local * size_byte / link_byte_per_s));
	LET(sh, across_s, 2 * (n_nodes - 1) / n_nodes * (size_byte / n_local) / nic_byte_per_s);
	EITHER(sh, hierarchical_s, ask->algorithm == ALGORITHM_HIERARCHICAL_OVERLAP,
	    latency_s + fmax(inside_s, across_s), latency_s + inside_s + across_s);
	return hierarchical_s;
}

double
collective_rails(struct sheet *sh, enum collective c, double n_ranks, double n_nodes, double size_byte,
    double nic_byte_per_s, double hop_s, double node_hop_s)
{
	GIVEN(sh, n_ranks, n_nodes, size_byte, nic_byte_per_s, hop_s, node_hop_s);
	CALL(sh, volume_byte, bus_volume(sh, c, n_ranks, size_byte));
	LET(sh, n_local, n_ranks / n_nodes);
	/* an all-reduce goes round twice */
	EITHER(sh, n_rounds, c == COLLECTIVE_ALL_REDUCE, 2, 1);
	LET(sh, latency_s, n_rounds * ((n_ranks - n_nodes) * hop_s + (n_nodes - 1) * node_hop_s));
	LET(sh, node_nic_byte_per_s, n_local * nic_byte_per_s);
	LET(sh, rails_s, latency_s + volume_byte / node_nic_byte_per_s);
	return rails_s;
}

/* Sends to peers in the node and to peers outside go over different links at the same time; bus bandwidth on m nodes
 * tends to m/(m-1) of a GPU's NIC share (NVIDIA/nccl-tests issue 130). */
double
alltoall_direct(struct sheet *sh, double n_ranks, double n_nodes, double size_byte, double link_byte_per_s,
    double nic_byte_per_s, double base_s)
{
	GIVEN(sh, n_ranks, n_nodes, size_byte, link_byte_per_s, base_s);
	LET(sh, n_local, n_ranks / n_nodes);
	LET(sh, inside_s, (n_local - 1) / n_ranks * size_byte / link_byte_per_s);
	double across_s;
	if (n_nodes > 1) {
		GIVEN(sh, nic_byte_per_s);
		SET(sh, across_s, (n_nodes - 1) / n_nodes * size_byte / nic_byte_per_s);
	} else
		SET(sh, across_s, 0);
	LET(sh, direct_s, fmin(1, n_ranks - 1) * base_s + fmax(inside_s, across_s));
	return direct_s;
}
