/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Textbook forms of collective algorithms, over links that have a bandwidth and a latency for each step.
 */
#include "model/collective/collective.h"

#include <string.h>

/* --- names and choices ----------------------------------------------------------------------------------- */

/* Names of collectives, algorithms and protocols. */

static const struct {
	const char *name, *title;
} collectives[N_COLLECTIVES] = {
#define COLLECTIVE(id, text, key, title) [COLLECTIVE_##id] = {text, title},
#include "model/hw/calibration.def"
#undef COLLECTIVE
};

static const char letters[N_COLLECTIVES + 1] = {
    [COLLECTIVE_ALL_REDUCE] = 'R',
    [COLLECTIVE_ALL_GATHER] = 'G',
    [COLLECTIVE_REDUCE_SCATTER] = 'S',
    [COLLECTIVE_ALL_TO_ALL] = 'A',
    [COLLECTIVE_BROADCAST] = 'B',
    [COLLECTIVE_REDUCE] = 'r',
    [COLLECTIVE_SEND_RECV] = 'p',
};

static const struct {
	const char *name, *collectives;
	int nodes;
} algorithms[N_ALGORITHMS] = {
#define ALGORITHM(id, text, collectives, nodes, ...) [ALGORITHM_##id] = {text, collectives, nodes},
#include "model/collective/algorithm.def"
#undef ALGORITHM
};

const char algorithm_choices[] = "auto"
#define ALGORITHM(id, text, ...) "|" text
#include "model/collective/algorithm.def"
#undef ALGORITHM
    ;

const char *
collective_name(enum collective c)
{
	return collectives[c].name;
}

const char *
algorithm_name(enum algorithm a)
{
	return a == ALGORITHM_AUTO ? "auto" : algorithms[a].name;
}

bool
algorithm_does(enum algorithm a, enum collective c)
{
	return strchr(algorithms[a].collectives, letters[c]) != NULL;
}

bool
algorithm_spans(enum algorithm a, double n_nodes)
{
	return (algorithms[a].nodes & (n_nodes > 1 ? 2 : 1)) != 0;
}

enum algorithm
algorithm_usual(enum collective c)
{
	return c == COLLECTIVE_ALL_TO_ALL || c == COLLECTIVE_SEND_RECV ? ALGORITHM_DIRECT : ALGORITHM_RING;
}

/* --- links ----------------------------------------------------------------------------------------------- */

/* Bandwidths of links and NICs, per GPU and direction unless a name says otherwise. */

double
mesh_bandwidth(
    struct sheet *sh, double n_ranks, double domain_byte_per_s, double pair_byte_per_s, double pair_max_byte_per_s)
{
	GIVEN(sh, n_ranks, domain_byte_per_s, pair_byte_per_s, pair_max_byte_per_s);
	LET(sh, better_byte_per_s, pair_max_byte_per_s - pair_byte_per_s);
	LET(sh, links_byte_per_s, (n_ranks - 1) * pair_byte_per_s + better_byte_per_s);
	LET(sh, mesh_byte_per_s, fmin(domain_byte_per_s, links_byte_per_s));
	return mesh_byte_per_s;
}

double
ring_of_groups(struct sheet *sh, double n_groups, double link_byte_per_s, double host_byte_per_s)
{
	GIVEN(sh, n_groups, link_byte_per_s);
	double slowest_byte_per_s;
	if (n_groups > 1) {
		GIVEN(sh, host_byte_per_s);
		SET(sh, slowest_byte_per_s, fmin(link_byte_per_s, host_byte_per_s));
	} else
		SET(sh, slowest_byte_per_s, link_byte_per_s);
	return slowest_byte_per_s;
}

double
link_total(struct sheet *sh, double n_links, double one_link_byte_per_s)
{
	GIVEN(sh, n_links, one_link_byte_per_s);
	LET(sh, total_byte_per_s, n_links * one_link_byte_per_s);
	return total_byte_per_s;
}

double
link_both(struct sheet *sh, double byte_per_s)
{
	GIVEN(sh, byte_per_s);
	LET(sh, both_byte_per_s, 2 * byte_per_s);
	return both_byte_per_s;
}

double
link_reached(struct sheet *sh, double line_byte_per_s, double reached_frac)
{
	GIVEN(sh, line_byte_per_s, reached_frac);
	LET(sh, reached_byte_per_s, line_byte_per_s * reached_frac);
	return reached_byte_per_s;
}

double
link_share(struct sheet *sh, double bus_byte_per_s, double line_byte_per_s)
{
	GIVEN(sh, bus_byte_per_s, line_byte_per_s);
	LET(sh, of_line_frac, bus_byte_per_s / line_byte_per_s);
	return of_line_frac;
}

double
link_gbit(struct sheet *sh, double byte_per_s)
{
	GIVEN(sh, byte_per_s);
	TAKE(sh, gbit_byte_per_s, 125e6); /* 1 Gbit/s */
	LET(sh, n_gbit, byte_per_s / gbit_byte_per_s);
	return n_gbit;
}

double
link_ratio(struct sheet *sh, double byte_per_s, double first_byte_per_s)
{
	GIVEN(sh, byte_per_s, first_byte_per_s);
	LET(sh, ratio, byte_per_s / first_byte_per_s);
	return ratio;
}

double
nic_share(struct sheet *sh, double n_nics, double one_nic_byte_per_s, double n_gpus)
{
	GIVEN(sh, n_nics, one_nic_byte_per_s, n_gpus);
	LET(sh, share_byte_per_s, n_nics * one_nic_byte_per_s / n_gpus);
	return share_byte_per_s;
}

/* --- several nodes --------------------------------------------------------------------------------------- */

/* Several nodes: g ranks in each of m nodes, every rank with its share of the node's NICs. */

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
 * tends to m/(m-1) of a GPU's NIC share (NVIDIA/nccl-tests#130). */
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

/* --- rings and direct sends ------------------------------------------------------------------------------ */

/*
 * Rings.  The alpha-beta form: every step costs the latency of a hop and the time of its bytes (Thakur, Rabenseifner
 * and Gropp, Int. J. High Performance Computing Applications 19(1), 2005).
 */

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

/* --- trees ----------------------------------------------------------------------------------------------- */

/*
 * Trees, in the network and in its switches.  A rank inside a binary tree serves two children with one port, so an edge
 * has half of the port: a single tree takes 2 S / (B/2) for reduce and broadcast, two complementary trees fill the
 * other half (Sanders, Speck and Traeff, Parallel Computing 35(12), 2009; NCCL charges them half of the ring's bus
 * bandwidth, the same).
 */

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

/* --- the form that is asked for -------------------------------------------------------------------------- */

/* Textbook formulas of collective algorithms. */

/* No textbook has the kernels of serving engines. */
static double
collective_custom(struct sheet *sh, const struct collective_ask *ask)
{
	(void)ask;
	LET(sh, custom_s, 0);
	return custom_s;
}

double
collective_textbook(struct sheet *sh, const struct collective_ask *ask)
{
	FROM(sh, ask, base_s);
	TAKE(sh, n_all, ask->n_ranks);
	double moving_s = 0;
	switch (ask->algorithm) {
#define ALGORITHM(id, text, collectives, nodes, form, scheme, title)                                                   \
	case ALGORITHM_##id:                                                                                           \
		SET_CALL(sh, moving_s, form(sh, ask));                                                                 \
		break;
#include "model/collective/algorithm.def"
#undef ALGORITHM
	case ALGORITHM_AUTO:
	case N_ALGORITHMS:
		break;
	}
	LET(sh, textbook_s, fmin(1, n_all - 1) * base_s + moving_s);
	return textbook_s;
}

/* --- exposed communication of a training step, and the overlap or bandwidth that a target needs ------------------ */

double
exposed_time(struct sheet *sh, double comm_s, double compute_s, double overlap_frac, double last_bucket_s)
{
	GIVEN(sh, comm_s, compute_s, overlap_frac, last_bucket_s);
	LET(sh, hidden_s, fmin(overlap_frac * comm_s, compute_s));
	LET(sh, exposed_s, fmax(comm_s - hidden_s, last_bucket_s));
	return exposed_s;
}

double
step_time(struct sheet *sh, double compute_s, double exposed_s)
{
	GIVEN(sh, compute_s, exposed_s);
	LET(sh, step_s, compute_s + exposed_s);
	return step_s;
}

double
step_share(struct sheet *sh, double exposed_s, double step_s)
{
	GIVEN(sh, exposed_s, step_s);
	LET(sh, share_of_step_frac, exposed_s / step_s);
	return share_of_step_frac;
}

double
compute_share(struct sheet *sh, double exposed_s, double compute_s)
{
	GIVEN(sh, exposed_s, compute_s);
	LET(sh, share_of_compute_frac, exposed_s / compute_s);
	return share_of_compute_frac;
}

double
step_efficiency(struct sheet *sh, double compute_s, double step_s)
{
	GIVEN(sh, compute_s, step_s);
	LET(sh, efficiency_frac, compute_s / step_s);
	return efficiency_frac;
}

/* compute / (compute + exposed) = target. */
double
exposed_allowed(struct sheet *sh, double compute_s, double target_frac)
{
	GIVEN(sh, compute_s, target_frac);
	LET(sh, allowed_s, compute_s / target_frac - compute_s);
	return allowed_s;
}

double
overlap_needed(struct sheet *sh, double comm_s, double allowed_s)
{
	GIVEN(sh, comm_s, allowed_s);
	LET(sh, needed_frac, fmax(0, 1 - allowed_s / comm_s));
	return needed_frac;
}

/* The bus bandwidth that nccl-tests would have to show at this size. */
double
bandwidth_needed(struct sheet *sh, double volume_byte, double allowed_s, double overlap_frac)
{
	GIVEN(sh, volume_byte, allowed_s, overlap_frac);
	LET(sh, may_take_s, allowed_s / (1 - overlap_frac));
	LET(sh, needed_byte_per_s, volume_byte / may_take_s);
	return needed_byte_per_s;
}

double
accumulation_share(struct sheet *sh, double n_accumulation)
{
	GIVEN(sh, n_accumulation);
	LET(sh, frequency_frac, 1 / n_accumulation);
	return frequency_frac;
}

double
accumulated_compute(struct sheet *sh, double n_accumulation, double compute_s)
{
	GIVEN(sh, n_accumulation, compute_s);
	LET(sh, all_compute_s, n_accumulation * compute_s);
	return all_compute_s;
}

/* Li et al., PyTorch Distributed, VLDB 13(12), 2020: gradients are reduced in buckets as the backward pass fills them.
 */
double
bucket_count(struct sheet *sh, double size_byte, double bucket_byte)
{
	GIVEN(sh, size_byte, bucket_byte);
	LET(sh, n_buckets, ceil(size_byte / bucket_byte));
	return n_buckets;
}

double
bucket_last(struct sheet *sh, double size_byte, double bucket_byte, double n_buckets)
{
	GIVEN(sh, size_byte, bucket_byte, n_buckets);
	LET(sh, last_byte, size_byte - (n_buckets - 1) * bucket_byte);
	return last_byte;
}

double
bucketed_time(struct sheet *sh, double n_buckets, double bucket_s, double last_bucket_s)
{
	GIVEN(sh, n_buckets, bucket_s, last_bucket_s);
	LET(sh, bucketed_s, (n_buckets - 1) * bucket_s + last_bucket_s);
	return bucketed_s;
}

double
gradient_size(struct sheet *sh, double n_params, double elem_byte_per_param)
{
	GIVEN(sh, n_params, elem_byte_per_param);
	LET(sh, gradient_byte, n_params * elem_byte_per_param);
	return gradient_byte;
}

/* Vogels, Karimireddy and Jaggi, NeurIPS 2019: M (n x m) is sent as P (n x r) and Q (m x r). */
double
powersgd_ratio(struct sheet *sh, double n_rows, double n_columns, double n_rank)
{
	GIVEN(sh, n_rows, n_columns, n_rank);
	LET(sh, n_dense, n_rows * n_columns);
	LET(sh, n_factors, n_rank * (n_rows + n_columns));
	LET(sh, compression, n_dense / n_factors);
	return compression;
}

double
compressed_size(struct sheet *sh, double size_byte, double compression)
{
	GIVEN(sh, size_byte, compression);
	LET(sh, compressed_byte, size_byte / compression);
	return compressed_byte;
}
