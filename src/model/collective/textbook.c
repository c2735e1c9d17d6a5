/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/collective/collective.h"

/* A ring inside one node, by what it carries. */
static double
ring(struct sheet *sh, enum collective c, double n_ranks, double size_byte, double link_byte_per_s, double hop_s,
    double chunk_byte)
{
	GIVEN(sh, n_ranks, size_byte, link_byte_per_s, hop_s, chunk_byte);
	double carried_s;
	if (c == COLLECTIVE_ALL_REDUCE)
		SET_CALL(sh, carried_s, allreduce_ring(sh, n_ranks, size_byte, link_byte_per_s, hop_s));
	else if (c == COLLECTIVE_BROADCAST || c == COLLECTIVE_REDUCE)
		SET_CALL(sh, carried_s, broadcast_ring(sh, n_ranks, size_byte, link_byte_per_s, hop_s, chunk_byte));
	else
		SET_CALL(sh, carried_s, gather_ring(sh, n_ranks, size_byte, link_byte_per_s, hop_s));
	return carried_s;
}

static double
trees(struct sheet *sh, const struct collective_ask *ask)
{
	FROM(sh, ask, n_ranks, n_nodes, size_byte, link_byte_per_s, nic_byte_per_s, hop_s, node_hop_s);
	/* across nodes the slower of the two carries the tree */
	EITHER(sh, edge_byte_per_s, n_nodes > 1, fmin(link_byte_per_s, n_ranks / n_nodes * nic_byte_per_s),
	    link_byte_per_s);
	double tree_s;
	if (ask->algorithm == ALGORITHM_TREE)
		SET_CALL(sh, tree_s, allreduce_tree(sh, n_ranks, size_byte, edge_byte_per_s, fmax(hop_s, node_hop_s)));
	else if (ask->algorithm == ALGORITHM_DOUBLE_TREE)
		SET_CALL(sh, tree_s,
		    allreduce_double_tree(sh, n_ranks, n_nodes, size_byte, edge_byte_per_s, hop_s, node_hop_s));
	else if (ask->algorithm == ALGORITHM_NVLS)
		SET_CALL(sh, tree_s, allreduce_nvls(sh, n_ranks, size_byte, link_byte_per_s, hop_s));
	else if (ask->algorithm == ALGORITHM_COLLNET)
		SET_CALL(sh, tree_s, allreduce_collnet(sh, n_ranks, n_nodes, size_byte, nic_byte_per_s, node_hop_s));
	else
		SET_CALL(sh, tree_s,
		    allreduce_nvls_tree(
		        sh, n_ranks, n_nodes, size_byte, link_byte_per_s, nic_byte_per_s, hop_s, node_hop_s));
	return tree_s;
}

static double
rings(struct sheet *sh, const struct collective_ask *ask)
{
	FROM(sh, ask, n_ranks, n_nodes, size_byte, link_byte_per_s, hop_s);
	double ring_s;
	if (n_nodes > 1) {
		FROM(sh, ask, nic_byte_per_s, node_hop_s);
		/* the node's NICs together, or one GPU's links: the ring leaves no faster than it goes round inside */
		LET(sh, rail_byte_per_s, fmin(nic_byte_per_s, link_byte_per_s * n_nodes / n_ranks));
		SET_CALL(sh, ring_s,
		    collective_rails(
		        sh, ask->collective, n_ranks, n_nodes, size_byte, rail_byte_per_s, hop_s, node_hop_s));
	} else {
		TAKE(sh, chunk_byte, ask->chunk_byte);
		SET_CALL(sh, ring_s, ring(sh, ask->collective, n_ranks, size_byte, link_byte_per_s, hop_s, chunk_byte));
	}
	return ring_s;
}

static double
direct(struct sheet *sh, const struct collective_ask *ask)
{
	FROM(sh, ask, n_ranks, n_nodes, size_byte, link_byte_per_s, nic_byte_per_s, hop_s, node_hop_s);
	double direct_s;
	if (ask->collective == COLLECTIVE_ALL_TO_ALL)
		SET_CALL(sh, direct_s,
		    alltoall_direct(
		        sh, n_ranks, n_nodes, size_byte, link_byte_per_s, nic_byte_per_s, fmax(hop_s, node_hop_s)));
	else if (n_nodes > 1)
		SET_CALL(sh, direct_s, send_recv(sh, n_ranks, size_byte, nic_byte_per_s, node_hop_s));
	else
		SET_CALL(sh, direct_s, send_recv(sh, n_ranks, size_byte, link_byte_per_s, hop_s));
	return direct_s;
}

static double
hierarchical(struct sheet *sh, const struct collective_ask *ask)
{
	FROM(sh, ask, n_ranks, n_nodes, size_byte, link_byte_per_s, nic_byte_per_s, hop_s, node_hop_s);
	CALL(sh, hierarchical_s,
	    allreduce_hierarchical(sh, n_ranks, n_nodes, size_byte, link_byte_per_s, nic_byte_per_s, hop_s, node_hop_s,
	        ask->algorithm == ALGORITHM_HIERARCHICAL_OVERLAP));
	return hierarchical_s;
}

double
collective_textbook(struct sheet *sh, const struct collective_ask *ask)
{
	TAKE(sh, base_s, ask->base_s);
	TAKE(sh, n_all, ask->n_ranks);
	double moving_s = 0;
	switch (ask->algorithm) {
	case ALGORITHM_TREE:
	case ALGORITHM_DOUBLE_TREE:
	case ALGORITHM_NVLS:
	case ALGORITHM_NVLS_TREE:
	case ALGORITHM_COLLNET:
		SET_CALL(sh, moving_s, trees(sh, ask));
		break;
	case ALGORITHM_HIERARCHICAL:
	case ALGORITHM_HIERARCHICAL_OVERLAP:
		SET_CALL(sh, moving_s, hierarchical(sh, ask));
		break;
	case ALGORITHM_DIRECT:
		SET_CALL(sh, moving_s, direct(sh, ask));
		break;
	case ALGORITHM_RING:
	case ALGORITHM_RAILS:
		SET_CALL(sh, moving_s, rings(sh, ask));
		break;
	case ALGORITHM_CUSTOM:
	case ALGORITHM_AUTO:
	case N_ALGORITHMS:
		break; /* no textbook has them */
	}
	LET(sh, textbook_s, fmin(1, n_all - 1) * base_s + moving_s);
	return textbook_s;
}
