/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rings.  The alpha-beta form: every step costs the latency of a hop and the time of its bytes (Thakur, Rabenseifner
 * and Gropp, Int. J. High Performance Computing Applications 19(1), 2005).
 */
#include "model/collective/collective.h"

/* Bytes each rank sends over the size: NVIDIA/nccl-tests, doc/PERFORMANCE.md. */
double
bus_volume(struct sheet *sh, enum collective c, double n_ranks, double size_byte)
{
	GIVEN(sh, n_ranks, size_byte);
	double bus_factor = 0;
	switch (c) {
	case COLLECTIVE_ALL_REDUCE:
		SET(sh, bus_factor, 2 * (n_ranks - 1) / n_ranks);
		break;
	case COLLECTIVE_ALL_GATHER:
	case COLLECTIVE_REDUCE_SCATTER:
	case COLLECTIVE_ALL_TO_ALL:
		SET(sh, bus_factor, (n_ranks - 1) / n_ranks);
		break;
	case COLLECTIVE_BROADCAST:
	case COLLECTIVE_REDUCE:
	case COLLECTIVE_SEND_RECV:
		SET(sh, bus_factor, fmin(1, n_ranks - 1));
		break;
	case N_COLLECTIVES:
		break;
	}
	LET(sh, volume_byte, bus_factor * size_byte);
	return volume_byte;
}

double
algorithm_bandwidth(struct sheet *sh, double size_byte, double comm_s)
{
	GIVEN(sh, size_byte, comm_s);
	LET(sh, algorithm_byte_per_s, size_byte / comm_s);
	return algorithm_byte_per_s;
}

double
bus_bandwidth(struct sheet *sh, double volume_byte, double comm_s)
{
	GIVEN(sh, volume_byte, comm_s);
	LET(sh, bus_byte_per_s, volume_byte / comm_s);
	return bus_byte_per_s;
}

/* 2(n-1) steps of size/n: reduce-scatter, then all-gather.  Patarasuk and Yuan, J. Parallel Distrib. Comput. 69(2),
 * 2009. */
double
allreduce_ring(struct sheet *sh, double n_ranks, double size_byte, double link_byte_per_s, double hop_s)
{
	GIVEN(sh, n_ranks, size_byte, link_byte_per_s, hop_s);
	LET(sh, n_steps, 2 * (n_ranks - 1));
	LET(sh, chunk_byte, size_byte / n_ranks);
	LET(sh, ring_s, n_steps * (hop_s + chunk_byte / link_byte_per_s));
	return ring_s;
}

double
gather_ring(struct sheet *sh, double n_ranks, double size_byte, double link_byte_per_s, double hop_s)
{
	GIVEN(sh, n_ranks, size_byte, link_byte_per_s, hop_s);
	LET(sh, n_steps, n_ranks - 1);
	LET(sh, chunk_byte, size_byte / n_ranks);
	LET(sh, ring_s, n_steps * (hop_s + chunk_byte / link_byte_per_s));
	return ring_s;
}

/* A chain in which chunks follow one another: the last rank waits for n-2 others to pass the first chunk on, then
 * receives at link rate. */
double
broadcast_ring(
    struct sheet *sh, double n_ranks, double size_byte, double link_byte_per_s, double hop_s, double chunk_byte)
{
	GIVEN(sh, n_ranks, size_byte, link_byte_per_s, hop_s, chunk_byte);
	LET(sh, n_receivers, n_ranks - 1);
	LET(sh, chunk_s, hop_s + fmin(chunk_byte, size_byte) / link_byte_per_s);
	LET(sh, fill_s, fmax(0, n_receivers - 1) * chunk_s);
	LET(sh, ring_s, fmin(1, n_receivers) * (fill_s + hop_s + size_byte / link_byte_per_s));
	return ring_s;
}

double
send_recv(struct sheet *sh, double n_ranks, double size_byte, double link_byte_per_s, double hop_s)
{
	GIVEN(sh, n_ranks, size_byte, link_byte_per_s, hop_s);
	LET(sh, send_s, fmin(1, n_ranks - 1) * (hop_s + size_byte / link_byte_per_s));
	return send_s;
}

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

double
collective_ring(struct sheet *sh, const struct collective_ask *ask)
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

double
collective_direct(struct sheet *sh, const struct collective_ask *ask)
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
