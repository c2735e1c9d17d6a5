/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Trees, in the network and in its switches.  A rank inside a binary tree serves two children with one port, so an edge
 * has half of the port: a single tree takes 2 S / (B/2) for reduce and broadcast, two complementary trees fill the
 * other half (Sanders, Speck and Traeff, Parallel Computing 35(12), 2009; NCCL charges them half of the ring's bus
 * bandwidth, the same).
 */
#include "model/collective/collective.h"

double
allreduce_tree(struct sheet *sh, const struct collective_ask *ask)
{
	FROM(sh, ask, n_ranks, n_nodes, size_byte, link_byte_per_s, nic_byte_per_s, hop_s, node_hop_s);
	/* across nodes the slower of the two carries the tree */
	EITHER(sh, port_byte_per_s, n_nodes > 1, fmin(link_byte_per_s, n_ranks / n_nodes * nic_byte_per_s),
	    link_byte_per_s);
	LET(sh, n_levels, ceil(log2(n_ranks)));
	LET(sh, edge_byte_per_s, port_byte_per_s / fmin(2, fmax(1, n_ranks - 1))); /* two ranks: one child */
	LET(sh, tree_s,
	    2 * n_levels * fmax(hop_s, node_hop_s) + fmin(1, n_ranks - 1) * (2 * size_byte / edge_byte_per_s));
	return tree_s;
}

/* Inside a node NCCL's trees are chains; across nodes they are binary. */
double
allreduce_double_tree(struct sheet *sh, const struct collective_ask *ask)
{
	FROM(sh, ask, n_ranks, n_nodes, size_byte, link_byte_per_s, nic_byte_per_s, hop_s, node_hop_s);
	EITHER(sh, port_byte_per_s, n_nodes > 1, fmin(link_byte_per_s, n_ranks / n_nodes * nic_byte_per_s),
	    link_byte_per_s);
	LET(sh, n_local, n_ranks / n_nodes);
	LET(sh, latency_s, 2 * ((n_local - 1) * hop_s + ceil(log2(n_nodes)) * node_hop_s));
	LET(sh, edge_byte_per_s, port_byte_per_s / 2);
	LET(sh, both_trees_byte_per_s, 2 * edge_byte_per_s);
	LET(sh, tree_s, latency_s + fmin(1, n_ranks - 1) * (2 * size_byte / both_trees_byte_per_s));
	return tree_s;
}

/* The switch reads every rank's part reduced and multicasts the sum: S reads and S/n writes per rank instead of
 * 2 (n-1)/n S both ways.  Klenk et al., ISCA 2020 (in-network reduction of shared-memory multi-GPU systems). */
double
allreduce_nvls(struct sheet *sh, const struct collective_ask *ask)
{
	FROM(sh, ask, n_ranks, size_byte, link_byte_per_s, hop_s);
	LET(sh, volume_byte, size_byte * (1 + 1 / n_ranks));
	LET(sh, nvls_s, fmin(1, n_ranks - 1) * (hop_s + volume_byte / link_byte_per_s));
	return nvls_s;
}

/* A node sends 2 (m-1)/m of the data over its NICs: S for two nodes, 2 S for many, whichever tree carries it. */
double
allreduce_nvls_tree(struct sheet *sh, const struct collective_ask *ask)
{
	FROM(sh, ask, n_ranks, n_nodes, size_byte, link_byte_per_s, nic_byte_per_s, hop_s, node_hop_s);
	LET(sh, n_local, n_ranks / n_nodes);
	LET(sh, latency_s, fmin(1, n_ranks - 1) * hop_s + 2 * ceil(log2(n_nodes)) * node_hop_s);
	LET(sh, inside_s, fmin(1, n_local - 1) * size_byte * (1 + 1 / n_local) / link_byte_per_s);
	LET(sh, across_byte, 2 * (n_nodes - 1) / n_nodes * size_byte);
	LET(sh, across_s, across_byte / (n_local * nic_byte_per_s));
	LET(sh, nvls_tree_s, latency_s + fmax(inside_s, across_s));
	return nvls_tree_s;
}

/* One trip up to the reducing switch, one down, both at once.  Graham et al., COMHPC 2016 (SHARP). */
double
allreduce_collnet(struct sheet *sh, const struct collective_ask *ask)
{
	FROM(sh, ask, n_ranks, n_nodes, size_byte, nic_byte_per_s, node_hop_s);
	LET(sh, n_local, n_ranks / n_nodes);
	LET(sh, collnet_s, fmin(1, n_nodes - 1) * (node_hop_s + size_byte / (n_local * nic_byte_per_s)));
	return collnet_s;
}
