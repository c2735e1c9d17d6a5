/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collectives: the forms of the papers, what must hold of any of them, and published measurements. */
#include "model/collective/collective.h"

#include "base/sheet.h"
#include "db/db.h"
#include "search/fit/fit.h"

#include <check.h>
#include <string.h>

Suite *collective_suite(void);

static const double GB = 1e9, MiB = 1048576.0, GiB = 1073741824.0;

static struct collective_ask
ask(enum collective c, enum algorithm a, double n_ranks, double n_nodes, double size_byte)
{
	return (struct collective_ask){.collective = c,
	    .algorithm = a,
	    .n_ranks = n_ranks,
	    .n_nodes = n_nodes,
	    .size_byte = size_byte,
	    .link_byte_per_s = 300 * GB,
	    .nic_byte_per_s = 25 * GB,
	    .hop_s = 2e-6,
	    .node_hop_s = 10e-6,
	    .base_s = 5e-6,
	    .chunk_byte = 512 * 1024.0};
}

/* Every pair that is possible, on 8 ranks of one node or of four. */
static bool
each_pair(int i, struct collective_ask *out)
{
	const enum collective c = (enum collective)(i % N_COLLECTIVES);
	const enum algorithm a = (enum algorithm)(i / N_COLLECTIVES % N_ALGORITHMS);
	const double n_nodes = i / N_COLLECTIVES / N_ALGORITHMS ? 4 : 1;

	*out = ask(c, a, 8, n_nodes, 64 * MiB);
	return a != ALGORITHM_CUSTOM && algorithm_does(a, c) && algorithm_spans(a, n_nodes);
}

enum { N_PAIRS = 2 * N_COLLECTIVES * N_ALGORITHMS };

/* --- volumes --------------------------------------------------------------------------------------------- */

/* NVIDIA/nccl-tests, doc/PERFORMANCE.md. */
START_TEST(bus_factors)
{
	static const struct {
		enum collective c;
		double n_ranks, factor;
	} cases[] = {
	    {COLLECTIVE_ALL_REDUCE, 8, 1.75},
	    {COLLECTIVE_ALL_REDUCE, 2, 1},
	    {COLLECTIVE_ALL_GATHER, 8, 0.875},
	    {COLLECTIVE_REDUCE_SCATTER, 4, 0.75},
	    {COLLECTIVE_ALL_TO_ALL, 16, 0.9375},
	    {COLLECTIVE_BROADCAST, 8, 1},
	    {COLLECTIVE_REDUCE, 8, 1},
	    {COLLECTIVE_SEND_RECV, 2, 1},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_double_eq_tol(
		    bus_volume(NULL, cases[i].c, cases[i].n_ranks, 1e6), 1e6 * cases[i].factor, 1e-6);
}
END_TEST

/* --- textbook -------------------------------------------------------------------------------------------- */

/* Patarasuk and Yuan 2009: 2(n-1) steps; worked examples 003: 14 GB over 8 ranks at 50 GB/s is 0.49 s. */
START_TEST(ring)
{
	ck_assert_double_eq_tol(allreduce_ring(NULL, 8, 14 * GB, 50 * GB, 0), 0.49, 1e-12);
	ck_assert_double_eq_tol(allreduce_ring(NULL, 8, 14 * GB, 50 * GB, 5e-6), 0.49 + 14 * 5e-6, 1e-12);
	ck_assert_double_eq_tol(gather_ring(NULL, 8, 14 * GB, 50 * GB, 5e-6), 0.245 + 7 * 5e-6, 1e-12);
	/* a ring that reduces is a reduce-scatter and an all-gather */
	ck_assert_double_eq_tol(
	    allreduce_ring(NULL, 6, GB, 20 * GB, 1e-6), 2 * gather_ring(NULL, 6, GB, 20 * GB, 1e-6), 1e-15);
	/* the last of four ranks waits for two others to pass a chunk on */
	ck_assert_double_eq_tol(broadcast_ring(NULL, 4, 1e9, 1e9, 1e-3, 1e6), 2 * (1e-3 + 1e-3) + 1e-3 + 1, 1e-12);
	ck_assert_double_eq_tol(send_recv(NULL, 2, GB, 50 * GB, 1e-6), 0.02 + 1e-6, 1e-15);
}
END_TEST

/* An all-reduce by an algorithm. */
static double
sum_by(enum algorithm a, double n_ranks, double n_nodes, double size_byte, double link_byte_per_s,
    double nic_byte_per_s, double hop_s, double node_hop_s)
{
	const struct collective_ask ask = {.collective = COLLECTIVE_ALL_REDUCE,
	    .algorithm = a,
	    .n_ranks = n_ranks,
	    .n_nodes = n_nodes,
	    .size_byte = size_byte,
	    .link_byte_per_s = link_byte_per_s,
	    .nic_byte_per_s = nic_byte_per_s,
	    .hop_s = hop_s,
	    .node_hop_s = node_hop_s};

	return collective_textbook(NULL, &ask);
}

/* Sanders, Speck and Traeff 2009: two trees fill the bandwidth of which one uses half. */
START_TEST(trees)
{
	ck_assert_double_eq_tol(sum_by(ALGORITHM_TREE, 8, 1, GB, 100 * GB, 0, 1e-6, 0), 6e-6 + 0.04, 1e-12);
	ck_assert_double_eq_tol(sum_by(ALGORITHM_DOUBLE_TREE, 8, 1, GB, 100 * GB, 0, 1e-6, 0), 14e-6 + 0.02, 1e-12);
	ck_assert_double_eq_tol(
	    sum_by(ALGORITHM_DOUBLE_TREE, 32, 4, GB, 100 * GB, 100 * GB, 1e-6, 1e-5), 14e-6 + 4e-5 + 0.02, 1e-12);
	/* no all-reduce without help of the switches beats the ring's volume */
	ck_assert(sum_by(ALGORITHM_DOUBLE_TREE, 64, 8, GB, 100 * GB, 100 * GB, 0, 0) >=
	    allreduce_ring(NULL, 64, GB, 100 * GB, 0));
}
END_TEST

START_TEST(switches)
{
	/* NVLink SHARP on 8 ranks: S (1 + 1/8) / B; 308 GB/s give the measured 480 GB/s of bus bandwidth */
	const double nvls_s = sum_by(ALGORITHM_NVLS, 8, 1, GB, 308 * GB, 0, 0, 0);
	ck_assert_double_eq_tol(1.75 * GB / nvls_s, 479.1 * GB, 0.1 * GB);
	/* two nodes exchange S, many 2 S */
	ck_assert_double_eq_tol(sum_by(ALGORITHM_NVLS_TREE, 16, 2, GB, 1e15, 50 * GB, 0, 0), GB / (400 * GB), 1e-9);
	ck_assert_double_eq_tol(
	    sum_by(ALGORITHM_NVLS_TREE, 512, 64, GB, 1e15, 50 * GB, 0, 0), 63.0 / 32 * GB / (400 * GB), 1e-9);
	/* one trip up and one down at the same time */
	ck_assert_double_eq_tol(
	    sum_by(ALGORITHM_COLLNET, 32, 4, GB, 0, 50 * GB, 0, 3e-5), 3e-5 + GB / (400 * GB), 1e-12);
}
END_TEST

START_TEST(nodes)
{
	const double inside_s = 2 * 7.0 / 8 * GB / (300 * GB), across_s = 2 * 3.0 / 4 * GB / 8 / (25 * GB);

	ck_assert_double_eq_tol(
	    sum_by(ALGORITHM_HIERARCHICAL, 32, 4, GB, 300 * GB, 25 * GB, 0, 0), inside_s + across_s, 1e-12);
	ck_assert_double_eq_tol(sum_by(ALGORITHM_HIERARCHICAL_OVERLAP, 32, 4, GB, 300 * GB, 25 * GB, 0, 0),
	    fmax(inside_s, across_s), 1e-12);
	ck_assert_double_eq_tol(
	    sum_by(ALGORITHM_HIERARCHICAL, 32, 4, 0, 300 * GB, 25 * GB, 1e-6, 1e-5), 14e-6 + 6e-5, 1e-15);
	/* the node's NICs carry the bus volume */
	ck_assert_double_eq_tol(collective_rails(NULL, COLLECTIVE_ALL_REDUCE, 32, 4, GB, 25 * GB, 0, 0),
	    2 * 31.0 / 32 * GB / (200 * GB), 1e-12);
	ck_assert_double_eq_tol(collective_rails(NULL, COLLECTIVE_ALL_GATHER, 32, 4, GB, 25 * GB, 1e-6, 1e-5),
	    28e-6 + 3e-5 + 31.0 / 32 * GB / (200 * GB), 1e-12);
	/* NVIDIA/nccl-tests issue 130: bus bandwidth of an all-to-all tends to m/(m-1) of the NIC */
	const double direct_s = alltoall_direct(NULL, 1024, 2, GB, 1e15, 50 * GB, 0);
	ck_assert_double_eq_tol(bus_volume(NULL, COLLECTIVE_ALL_TO_ALL, 1024, GB) / direct_s, 100 * GB, 0.2 * GB);
	ck_assert_double_eq_tol(alltoall_direct(NULL, 8, 1, GB, 300 * GB, NAN, 1e-5), 1e-5 + 0.875 / 300, 1e-12);
}
END_TEST

START_TEST(one_rank_takes_no_time)
{
	struct collective_ask a;

	for (int i = 0; i < N_PAIRS; i++)
		if (each_pair(i, &a) && a.n_nodes == 1) {
			a.n_ranks = 1;
			ck_assert_msg(collective_textbook(NULL, &a) == 0, "%s by %s", collective_name(a.collective),
			    algorithm_name(a.algorithm));
		}
}
END_TEST

/* More bandwidth is never slower, more bytes and longer steps never faster. */
START_TEST(monotone)
{
	struct collective_ask a;
	int n = 0;

	for (int i = 0; i < N_PAIRS; i++) {
		if (!each_pair(i, &a))
			continue;
		const double base_s = collective_textbook(NULL, &a);
		struct collective_ask wider = a, larger = a, slower = a;
		wider.link_byte_per_s *= 2;
		wider.nic_byte_per_s *= 2;
		larger.size_byte *= 2;
		slower.hop_s *= 2;
		slower.node_hop_s *= 2;
		const char *name = algorithm_name(a.algorithm);
		ck_assert_msg(base_s > 0, "%s", name);
		ck_assert_msg(collective_textbook(NULL, &wider) < base_s, "bandwidth: %s", name);
		ck_assert_msg(collective_textbook(NULL, &larger) > base_s, "size: %s", name);
		ck_assert_msg(collective_textbook(NULL, &slower) > base_s, "latency: %s", name);
		n++;
	}
	ck_assert_int_gt(n, 20);
}
END_TEST

START_TEST(links)
{
	/* MI300X: a pair has one link of 64 GB/s, eight have seven each */
	ck_assert_double_eq(mesh_bandwidth(NULL, 2, 448 * GB, 64 * GB, 64 * GB), 64 * GB);
	ck_assert_double_eq(mesh_bandwidth(NULL, 8, 448 * GB, 64 * GB, 64 * GB), 448 * GB);
	/* DGX-1: the best pair has two links, four GPUs four each, eight all six */
	ck_assert_double_eq(mesh_bandwidth(NULL, 2, 150 * GB, 25 * GB, 50 * GB), 50 * GB);
	ck_assert_double_eq(mesh_bandwidth(NULL, 4, 150 * GB, 25 * GB, 50 * GB), 100 * GB);
	ck_assert_double_eq(mesh_bandwidth(NULL, 8, 150 * GB, 25 * GB, 50 * GB), 150 * GB);
	/* a ring is as fast as its slowest hop */
	ck_assert_double_eq(ring_of_groups(NULL, 1, 300 * GB, 12 * GB), 300 * GB);
	ck_assert_double_eq(ring_of_groups(NULL, 2, 300 * GB, 12 * GB), 12 * GB);
	ck_assert_double_eq(link_gbit(NULL, 12.5 * GB), 100);
	ck_assert_double_eq(nic_share(NULL, 4, 12.5 * GB, 8), 6.25 * GB);
}
END_TEST

/* --- NCCL's choice --------------------------------------------------------------------------------------- */

/* stas00/ml-engineering network/README.md: 8 H200 run rings with LL up to 1 MiB and NVLS with Simple from 2 MiB; NVLS
 * is taken from 5 H200 and from 6 B200 on. */
START_TEST(choice)
{
	static const struct {
		int generation;
		double link, n_ranks, size_byte;
		const char *name, *protocol;
	} cases[] = {
	    {2, 370.8e9, 8, 65536, "Ring", "LL"},
	    {2, 370.8e9, 8, 1048576, "Ring", "LL"},
	    {2, 370.8e9, 8, 4194304, "NVLS", "Simple"},
	    {2, 370.8e9, 8, 17179869184.0, "NVLS", "Simple"},
	    {2, 370.8e9, 5, 8589934592.0, "NVLS", "Simple"},
	    {2, 370.8e9, 4, 8589934592.0, "Ring", "Simple"},
	    {3, 721.8e9, 6, 8589934592.0, "NVLS", "Simple"},
	    {3, 721.8e9, 5, 8589934592.0, "Ring", "Simple"},
	    {1, 240e9, 8, 17179869184.0, "Ring", "Simple"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct nccl_ground g = {.generation = cases[i].generation,
		    .nvlink = true,
		    .switched = true,
		    .sharp = cases[i].generation >= 2,
		    .n_ranks = cases[i].n_ranks,
		    .n_nodes = 1,
		    .link_byte_per_s = cases[i].link};
		const struct nccl_choice c = nccl_choose(&g, COLLECTIVE_ALL_REDUCE, cases[i].size_byte, ALGORITHM_AUTO);
		ck_assert_msg(strcmp(c.name, cases[i].name) == 0, "case %zu: %s", i, c.name);
		ck_assert_msg(strcmp(protocol_name(c.protocol), cases[i].protocol) == 0, "case %zu: %s", i,
		    protocol_name(c.protocol));
	}
}
END_TEST

/* Two nodes with NVSwitch reduction take trees with NVLS for large messages; what is asked for is kept. */
START_TEST(choice_on_nodes)
{
	const struct nccl_ground g = {.generation = 2,
	    .nvlink = true,
	    .switched = true,
	    .sharp = true,
	    .n_ranks = 16,
	    .n_nodes = 2,
	    .link_byte_per_s = 370.8e9,
	    .nic_byte_per_s = 48e9};

	ck_assert_str_eq(nccl_choose(&g, COLLECTIVE_ALL_REDUCE, GiB, ALGORITHM_AUTO).name, "NVLSTree");
	ck_assert_str_eq(nccl_choose(&g, COLLECTIVE_ALL_REDUCE, 1024, ALGORITHM_AUTO).name, "Tree");
	ck_assert_str_eq(nccl_choose(&g, COLLECTIVE_ALL_GATHER, GiB, ALGORITHM_AUTO).name, "Ring");
	ck_assert_str_eq(nccl_choose(&g, COLLECTIVE_ALL_REDUCE, GiB, ALGORITHM_RAILS).name, "Ring");
	ck_assert_int_eq(nccl_choose(&g, COLLECTIVE_ALL_REDUCE, 1024, ALGORITHM_RING).protocol, PROTOCOL_LL);
}
END_TEST

/* --- fitted ---------------------------------------------------------------------------------------------- */

struct opened {
	struct arena *arena;
	struct diag *diag;
	struct database *database;
};

static struct opened
open_database(void)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);

	return (struct opened){a, d, database_new(a, d, NULL)};
}

/* Bus bandwidths in GB/s that nothing was fitted to: stas00/ml-engineering network/README.md@744d01e (A100, H200,
 * B200), GitHub NVIDIA/nccl (H100), LLMCompass (four A100). */
START_TEST(measured)
{
	static const struct {
		const char *gpu;
		enum collective c;
		double n_ranks, size_byte, bus, tolerance;
	} cases[] = {
	    {"a100-sxm4-80gb", COLLECTIVE_ALL_REDUCE, 8, 17179869184.0, 234.9, 0.10},
	    {"a100-sxm4-80gb", COLLECTIVE_ALL_REDUCE, 4, 1073741824.0, 223.1, 0.10},
	    {"h100-sxm5-80gb", COLLECTIVE_ALL_REDUCE, 8, 17179869184.0, 479.9, 0.15},
	    {"h200-sxm5-141gb", COLLECTIVE_ALL_REDUCE, 8, 17179869184.0, 480.0, 0.15},
	    {"h200-sxm5-141gb", COLLECTIVE_ALL_REDUCE, 4, 8589934592.0, 363.3, 0.10},
	    {"h200-sxm5-141gb", COLLECTIVE_ALL_REDUCE, 5, 8589934592.0, 414.2, 0.10},
	    {"h200-sxm5-141gb", COLLECTIVE_ALL_REDUCE, 6, 8589934592.0, 435.6, 0.10},
	    {"h200-sxm5-141gb", COLLECTIVE_ALL_REDUCE, 7, 8589934592.0, 460.0, 0.15},
	    {"h200-sxm5-141gb", COLLECTIVE_ALL_REDUCE, 8, 8589934592.0, 473.1, 0.15},
	    {"h200-sxm5-141gb", COLLECTIVE_ALL_GATHER, 8, 17179869184.0, 361.4, 0.10},
	    {"h200-sxm5-141gb", COLLECTIVE_REDUCE_SCATTER, 8, 17179869184.0, 362.9, 0.10},
	    /* the fit ends at 512 MiB, where its source has 704 GB/s */
	    {"b200-sxm", COLLECTIVE_ALL_REDUCE, 8, 8589934592.0, 838, 0.17},
	    {"rtx-pro-6000-bse", COLLECTIVE_ALL_REDUCE, 8, 1073741824.0, 24.7, 0.10},
	};
	struct opened o = open_database();

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct calibration *fit = database_calibration(o.database, cases[i].gpu, NULL);
		ck_assert_msg(fit && fit->has_collective[cases[i].c], "no fit of %s", cases[i].gpu);
		const double time_s = collective_ramp(
		    NULL, cases[i].c, &fit->collective[cases[i].c], cases[i].n_ranks, cases[i].size_byte);
		const double bus = bus_volume(NULL, cases[i].c, cases[i].n_ranks, cases[i].size_byte) / time_s / GB;
		ck_assert_msg(fabs(bus / cases[i].bus - 1) < cases[i].tolerance, "case %zu: %g, measured %g", i, bus,
		    cases[i].bus);
	}
	arena_free(o.arena);
}
END_TEST

static struct datum
of(double value)
{
	return (struct datum){value, {NULL, 0, 0, NULL, false}};
}

/* What eight and five H200 were seen to do at 8 GiB, and the ring that small messages and few ranks stay with. */
START_TEST(switched_sums)
{
	const struct collective_calibration fit = {.base_s = of(6e-6),
	    .per_rank_s = of(1.7e-6),
	    .bus_byte_per_s = of(377e9),
	    .beta = of(0.29),
	    .ramp_s = of(28e-6),
	    .ramp_byte = of(21e6),
	    .nvls_base_s = of(30.5e-6),
	    .nvls_byte_per_s = of(307.8e9),
	    .nvls_ramp_s = of(7.5e-6),
	    .nvls_ramp_byte = of(32e6),
	    .nvls_min_ranks = of(5)};
	static const struct {
		double n_ranks, bus; /* GB/s, stas00/ml-engineering network/README.md */
	} seen[] = {{4, 363.3}, {5, 414.2}, {6, 435.6}, {7, 460.0}, {8, 473.1}};
	const double size_byte = 8589934592.0;
	struct collective_calibration none = fit;

	for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
		const double n = seen[i].n_ranks,
		             time_s = collective_ramp(NULL, COLLECTIVE_ALL_REDUCE, &fit, n, size_byte);
		const double bus = bus_volume(NULL, COLLECTIVE_ALL_REDUCE, n, size_byte) / time_s / GB;
		ck_assert_double_eq_tol(bus / seen[i].bus, 1, 0.05);
		ck_assert(nvls_fitted(COLLECTIVE_ALL_REDUCE, &fit, n) == (n >= 5));
	}
	/* the faster of the two, and 8 (1 + 1/8) of 307.8 GB/s in the end */
	ck_assert_double_eq(collective_ramp(NULL, COLLECTIVE_ALL_REDUCE, &fit, 8, 65536),
	    collective_ring_ramp(NULL, COLLECTIVE_ALL_REDUCE, &fit, 8, 65536));
	ck_assert_double_eq(collective_ramp(NULL, COLLECTIVE_ALL_REDUCE, &fit, 8, size_byte),
	    allreduce_nvls_ramp(NULL, &fit, 8, size_byte));
	ck_assert_double_eq_tol(allreduce_nvls_ramp(NULL, &fit, 8, size_byte),
	    30.5e-6 + 7.5e-6 * sqrt(32e6 / 1048576) + size_byte * 1.125 / 307.8e9, 1e-12);
	ck_assert_double_eq(allreduce_nvls_ramp(NULL, &fit, 1, size_byte), 0);
	/* other collectives, and fits without switches, have the ring alone */
	ck_assert_double_eq(collective_ramp(NULL, COLLECTIVE_ALL_GATHER, &fit, 8, size_byte),
	    collective_ring_ramp(NULL, COLLECTIVE_ALL_GATHER, &fit, 8, size_byte));
	none.nvls_byte_per_s = datum_absent();
	ck_assert_double_eq(collective_ramp(NULL, COLLECTIVE_ALL_REDUCE, &none, 8, size_byte),
	    collective_ring_ramp(NULL, COLLECTIVE_ALL_REDUCE, &none, 8, size_byte));
}
END_TEST

/* A call that nothing hides adds to a ramp, whatever its size. */
START_TEST(called)
{
	const struct collective_calibration fit = {.base_s = of(6e-6),
	    .per_rank_s = of(1e-6),
	    .bus_byte_per_s = of(400e9),
	    .beta = of(0.5),
	    .ramp_s = of(20e-6),
	    .ramp_byte = of(1e7)};
	struct collective_plan plan = {
	    .form = FORM_RAMP, .ask = {.collective = COLLECTIVE_ALL_GATHER, .n_ranks = 8, .n_nodes = 1}, .ramp = &fit};

	for (double size_byte = 1024; size_byte < 1e9; size_byte *= 32) {
		plan.launch_s = of(0);
		const double replayed_s = collective_time(NULL, &plan, size_byte);
		plan.launch_s = of(20e-6);
		ck_assert_double_eq_tol(collective_time(NULL, &plan, size_byte), replayed_s + 20e-6, 1e-15);
	}
}
END_TEST

/* What is not measured goes by the middle of those that are reached alike, else of all. */
START_TEST(middle_network)
{
	const struct network_known known[] = {{"a", "efa", 80e-6}, {"b", "roce", 20e-6}};
	bool near;

	ck_assert_double_eq_tol(network_middle(known, 2, NULL, "gcp", &near), 40e-6, 1e-12);
	ck_assert(!near);
	ck_assert_double_eq_tol(network_middle(known, 2, NULL, "infiniband", &near), 20e-6, 1e-12);
	ck_assert(near);
	/* its own place among itself: leaving one out gives the other */
	ck_assert_double_eq_tol(network_middle(known, 2, "b", "roce", &near), 80e-6, 1e-12);
	ck_assert(!near);
	ck_assert(isnan(network_middle(known, 1, "a", "efa", &near)));
}
END_TEST

/* Trees carry less than rings on two nodes, and no less on many; without a share of their own there are none.  The
 * pipeline is full from 0.3 ms of the line on, and ranks alone in their nodes have none.  Without bytes: NCCL's start,
 * the chain in a node up and down, and the steps between nodes. */
START_TEST(rings_and_trees)
{
	struct network_calibration fit = {
	    .hop_s = of(30e-6), .n_fill = of(2), .nic_frac = of(0.9), .tree_frac = of(0.75)};
	const double line = 400e9, large = 1e11, full = 2 * sqrt(30e-6 * 0.3e-3);
	const double start = 6.8e-6 + 14 * 0.6e-6, two = start + 2 * 30e-6, many = start + 10 * 30e-6;

#define NETWORK_S(n, m, size) collective_network(NULL, COLLECTIVE_ALL_REDUCE, &fit, n, m, size, 50e9)
	ck_assert_double_eq_tol(NETWORK_S(16, 2, large), two + full + large / 0.75 / line, 1e-9);
	ck_assert_double_eq_tol(NETWORK_S(256, 32, large), many + full + 2 * 255.0 / 256 * large / 0.9 / line, 1e-9);
	ck_assert_double_eq_tol(NETWORK_S(16, 2, 0.25 * 120e6), two + full / 2 + 30e6 / 0.75 / line, 1e-12);
	ck_assert_double_eq_tol(NETWORK_S(2, 2, 1e6), 66.8e-6 + 1e6 / 0.9 / 50e9, 1e-12);
	fit.tree_frac = datum_absent();
	ck_assert_double_eq_tol(NETWORK_S(16, 2, large), two + full + 2 * 15.0 / 16 * large / 0.9 / line, 1e-9);
#undef NETWORK_S
	/* a ring comes back to the node that it began in */
	ck_assert_double_eq_tol(collective_network(NULL, COLLECTIVE_ALL_GATHER, &fit, 16, 2, 0, 50e9),
	    6.6e-6 + 14 * 0.6e-6 + 2 * 30e-6, 1e-12);
}
END_TEST

/* Where LL is not safe, every step has the latencies of Simple: AWS's plugin says so of p4d, and no other fabric does.
 */
START_TEST(simple_protocol)
{
	struct network_calibration fit = {.hop_s = of(30e-6), .n_fill = of(2), .nic_frac = of(0.9), .simple = of(1)};

	ck_assert_double_eq_tol(collective_network(NULL, COLLECTIVE_ALL_REDUCE, &fit, 16, 2, 0, 50e9),
	    8.4e-6 + 14 * 4e-6 + 2 * (30e-6 + 9e-6), 1e-12);
	ck_assert_double_eq_tol(collective_network(NULL, COLLECTIVE_ALL_GATHER, &fit, 16, 2, 0, 50e9),
	    8.4e-6 + 14 * 3.4e-6 + 2 * (30e-6 + 11.3e-6), 1e-12);
}
END_TEST

/* In a full mesh two ranks have one link; through a switch they have all. */
START_TEST(full_mesh)
{
	struct collective_calibration fit = {.bus_byte_per_s = of(350e9), .beta = of(0), .n_peers = of(7)};

	ck_assert_double_eq_tol(reached_bandwidth(NULL, &fit, 2), 50e9, 1e-3);
	ck_assert_double_eq_tol(reached_bandwidth(NULL, &fit, 8), 350e9, 1e-3);
	ck_assert_double_eq_tol(reached_bandwidth(NULL, &fit, 16), 350e9, 1e-3);
	fit.n_peers = datum_absent();
	ck_assert_double_eq_tol(reached_bandwidth(NULL, &fit, 2), 350e9, 1e-3);
}
END_TEST

/* Times in microseconds, same sources: the floor and the middle. */
START_TEST(measured_times)
{
	static const struct {
		const char *gpu;
		double n_ranks, size_byte, time_us;
	} cases[] = {
	    {"h100-sxm5-80gb", 8, 1024, 16.9},
	    {"h100-sxm5-80gb", 8, 67108864, 324.7},
	    {"a100-sxm4-80gb", 4, 256, 12.5},
	};
	struct opened o = open_database();

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct calibration *fit = database_calibration(o.database, cases[i].gpu, NULL);
		ck_assert_ptr_nonnull(fit);
		const double us = 1e6 *
		    collective_ramp(NULL, COLLECTIVE_ALL_REDUCE, &fit->collective[COLLECTIVE_ALL_REDUCE],
		        cases[i].n_ranks, cases[i].size_byte);
		ck_assert_msg(
		    fabs(us / cases[i].time_us - 1) < 0.15, "case %zu: %g us, measured %g", i, us, cases[i].time_us);
	}
	arena_free(o.arena);
}
END_TEST

/* Several nodes: aws-samples/awsome-distributed-training, GoogleCloudPlatform/cluster-toolkit, stas00/ml-engineering.
 * Large sums over efa-p5 are left out: the links inside its nodes bound them (collective_time). */
START_TEST(measured_on_nodes)
{
	static const struct {
		const char *fabric;
		enum collective c;
		double n_nodes, nic_gbyte, size_byte, bus; /* of a GPU */
	} cases[] = {
	    {"efa-p5", COLLECTIVE_ALL_REDUCE, 2, 50, 67108864, 209.2},
	    {"efa-p4d", COLLECTIVE_ALL_REDUCE, 2, 6.25, 2147483648.0, 78.3},
	    {"efa-p6-b200", COLLECTIVE_ALL_REDUCE, 4, 50, 17179869184.0, 381.8},
	    {"efa-p6-b200", COLLECTIVE_ALL_REDUCE, 4, 50, 67108864, 156.7},
	    {"gcp-rdma", COLLECTIVE_ALL_GATHER, 2, 50, 8589934592.0, 328.9},
	    {"gcp-tcpxo", COLLECTIVE_ALL_GATHER, 2, 25, 8589934592.0, 188.7},
	};
	struct opened o = open_database();

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct calibration *fit = database_calibration(o.database, cases[i].fabric, NULL);
		ck_assert_msg(fit && fit->has_network[cases[i].c], "no fit of %s", cases[i].fabric);
		struct network_calibration rates =
		    database_calibration(o.database, "network", NULL)->network[cases[i].c];
		rates.hop_s = fit->network[cases[i].c].hop_s;
		const double n_ranks = 8 * cases[i].n_nodes;
		const double time_s = collective_network(
		    NULL, cases[i].c, &rates, n_ranks, cases[i].n_nodes, cases[i].size_byte, cases[i].nic_gbyte * GB);
		const double bus = bus_volume(NULL, cases[i].c, n_ranks, cases[i].size_byte) / time_s / GB;
		/* times of 64 MiB scatter by 15 % from run to run */
		ck_assert_msg(fabs(bus / cases[i].bus - 1) < 0.15, "case %zu: %g, measured %g", i, bus, cases[i].bus);
	}
	arena_free(o.arena);
}
END_TEST

/* A figure of a file as it stands there, with or without its interval. */
static double
written(const struct node *file, const char *path, enum quantity q)
{
	const struct node *n = tree_at(file, path);
	struct quantity_fault fault;
	double value;

	ck_assert_msg(n != NULL, "no %s", path);
	const char *text = n->kind == NODE_LIST ? n->items[0]->text : n->text;
	ck_assert_msg(quantity_read(text, q, &value, &fault), "%s: %s", path, text);
	return value;
}

/* Fractions are multiplied with the file's own references, once. */
START_TEST(absolute_rates)
{
	struct opened o = open_database();
	const struct calibration *h100 = database_calibration(o.database, "h100-sxm5-80gb", NULL);
	const struct calibration *engine = database_calibration(o.database, "h100-sxm5-80gb", "trtllm");
	const struct node *file = tree_read_file(o.arena, o.diag, "hwdb/calibration/h100-sxm5-80gb.yaml");
	const struct node *other = tree_read_file(o.arena, o.diag, "hwdb/calibration/h100-sxm5-80gb-trtllm.yaml");

	ck_assert(h100 && h100->has_gemm && engine && file && other);
	const struct gemm_calibration *bf16 = &h100->gemm[DTYPE_BF16];
	const double peak = written(file, "relative_to.peak_bf16", Q_PEAK),
	             mem = written(file, "relative_to.hbm", Q_RATE),
	             clock = written(file, "relative_to.clock", Q_CLOCK);
	ck_assert_double_eq_tol(bf16->peak_flop_per_s.value, written(file, "gemm.eta_c", Q_NUMBER) * peak, 1e6);
	ck_assert_double_eq_tol(bf16->mem_byte_per_s.value, written(file, "gemm.eta_m", Q_NUMBER) * mem, 1e6);
	ck_assert_double_eq_tol(bf16->l2_byte_per_s.value, written(file, "gemm.l2x", Q_NUMBER) * mem, 1e6);
	ck_assert_double_eq_tol(bf16->feed_byte_per_s.value, written(file, "gemm.bsm", Q_PER_CLOCK) * clock, 1);
	ck_assert_double_eq_tol(bf16->k_step_s.value, written(file, "gemm.tk64", Q_CLOCKS) / clock, 1e-15);
	ck_assert(isnan(bf16->quantise_s.value) && isnan(h100->gemm[DTYPE_NVFP4].base_s.value));
	ck_assert_double_eq_tol(engine->gemm[DTYPE_FP8].peak_flop_per_s.value,
	    written(other, "gemm_by_dtype.fp8.eta_c", Q_NUMBER) * written(other, "relative_to.peak_fp8", Q_PEAK), 1e6);
	ck_assert(engine->has_context && engine->has_generation && engine->has_mla_context && engine->n_custom == 1);
	ck_assert_double_eq_tol(
	    engine->context.flop_per_s.value, written(other, "attention.context.eta_a", Q_NUMBER) * peak, 1e6);
	ck_assert_double_eq_tol(engine->moe[DTYPE_BF16].base_s.value, written(other, "moe.bf16.t0", Q_TIME), 1e-12);
	ck_assert(isnan(engine->moe[DTYPE_FP16].base_s.value));
	ck_assert(datum_given(h100->residuals[0].mape_frac));
	ck_assert_int_eq(h100->residuals[0].n_regimes, 3);
	ck_assert_int_eq(diag_errors(o.diag), 0);
	arena_free(o.arena);
}
END_TEST

static const struct custom_calibration own_kernels = {.one_s = {2e-6, {0}},
    .one_per_rank_s = {1e-7, {0}},
    .one_byte_per_s = {200e9, {0}},
    .two_s = {8e-6, {0}},
    .two_per_rank_s = {1e-7, {0}},
    .two_byte_per_s = {300e9, {0}},
    .pair_most_byte = {NAN, {0}},
    .most_byte = {NAN, {0}},
    .n_peers = {NAN, {0}},
    .backend = "engine"};

START_TEST(custom)
{
	const struct custom_calibration *fit = &own_kernels;

	ck_assert_double_eq_tol(allreduce_custom(NULL, fit, 8, 0), 2.6e-6, 1e-15);
	ck_assert_double_eq_tol(allreduce_custom(NULL, fit, 8, 1e4), 2.6e-6 + 7 * 1e4 / 200e9, 1e-15);
	ck_assert_double_eq_tol(allreduce_custom(NULL, fit, 8, 1e7), 8.6e-6 + 1.75 * 1e7 / 300e9, 1e-15);
	ck_assert_double_eq(allreduce_custom(NULL, fit, 1, 1e7), 0);
}
END_TEST

/* Up to the largest message of an engine its kernels reduce, NCCL beyond; where nobody knows that size, the faster. */
START_TEST(left_to_nccl)
{
	const struct collective_calibration nccl = {.base_s = of(1e-6),
	    .per_rank_s = of(0),
	    .bus_byte_per_s = of(400e9),
	    .beta = of(0),
	    .ramp_s = of(0),
	    .ramp_byte = of(1e6)};
	struct custom_calibration own = own_kernels;

	for (double n = 2; n <= 8; n *= 2)
		for (double size_byte = 1e3; size_byte < 1e9; size_byte *= 10) {
			const double custom_s = allreduce_custom(NULL, &own_kernels, n, size_byte),
			             nccl_s = collective_ramp(NULL, COLLECTIVE_ALL_REDUCE, &nccl, n, size_byte);
			own.pair_most_byte = own.most_byte = datum_absent();
			ck_assert_double_eq(allreduce_engine(NULL, &own, &nccl, n, size_byte),
			    size_byte > 33554432 ? nccl_s : fmin(custom_s, nccl_s));
			own.pair_most_byte = of(2e6);
			own.most_byte = of(2e5);
			ck_assert_double_eq(allreduce_engine(NULL, &own, &nccl, n, size_byte),
			    size_byte > (n > 2 ? 2e5 : 2e6) ? nccl_s : custom_s);
			ck_assert_double_eq(allreduce_engine(NULL, &own, NULL, n, size_byte), custom_s);
		}
}
END_TEST

/* --- steps ----------------------------------------------------------------------------------------------- */

START_TEST(steps)
{
	ck_assert_double_eq(exposed_time(NULL, 0.4, 1, 0, 0), 0.4);
	ck_assert_double_eq_tol(exposed_time(NULL, 0.4, 1, 0.25, 0), 0.3, 1e-15);
	ck_assert_double_eq_tol(exposed_time(NULL, 3, 1, 1, 0), 2, 1e-15);       /* no more is hidden than there is */
	ck_assert_double_eq_tol(exposed_time(NULL, 0.4, 1, 1, 0.1), 0.1, 1e-15); /* the last bucket */
	/* worked examples 000: 85 % of a step with 550 ms of computation */
	const double allowed_s = exposed_allowed(NULL, 0.55, 0.85);
	ck_assert_double_eq_tol(allowed_s, 0.0970588235, 1e-9);
	ck_assert_double_eq_tol(overlap_needed(NULL, 0.18, allowed_s), 0.460784314, 1e-9);
	ck_assert_double_eq(overlap_needed(NULL, 0.05, allowed_s), 0);
	ck_assert_double_eq_tol(bandwidth_needed(NULL, 7e9, 0.1, 0.5), 35e9, 1);
	ck_assert_double_eq_tol(step_efficiency(NULL, 0.55, step_time(NULL, 0.55, allowed_s)), 0.85, 1e-12);
}
END_TEST

/* Vogels, Karimireddy and Jaggi 2019; worked examples 000 and 001; Li et al. 2020. */
START_TEST(smaller_and_rarer)
{
	ck_assert_double_eq(powersgd_ratio(NULL, 4096, 4096, 32), 64);
	ck_assert_double_eq(powersgd_ratio(NULL, 12288, 12288, 4), 1536);
	ck_assert_double_eq(bucket_count(NULL, 632e6 * 4, 25 * MiB), 97);
	ck_assert_double_eq(bucket_count(NULL, 632e6 * 4, 100 * MiB), 25);
	ck_assert_double_eq_tol(bucket_last(NULL, 632e6 * 4, 25 * MiB, 97), 632e6 * 4 - 96 * 25 * MiB, 1e-6);
	ck_assert_double_eq(accumulation_share(NULL, 4), 0.25);
}
END_TEST

Suite *
collective_suite(void)
{
	Suite *s = suite_create("collective");
	TCase *t = tcase_create("collective");

	tcase_add_test(t, bus_factors);
	tcase_add_test(t, ring);
	tcase_add_test(t, trees);
	tcase_add_test(t, switches);
	tcase_add_test(t, nodes);
	tcase_add_test(t, one_rank_takes_no_time);
	tcase_add_test(t, monotone);
	tcase_add_test(t, links);
	tcase_add_test(t, choice);
	tcase_add_test(t, choice_on_nodes);
	tcase_add_test(t, measured);
	tcase_add_test(t, measured_times);
	tcase_add_test(t, switched_sums);
	tcase_add_test(t, called);
	tcase_add_test(t, middle_network);
	tcase_add_test(t, rings_and_trees);
	tcase_add_test(t, simple_protocol);
	tcase_add_test(t, full_mesh);
	tcase_add_test(t, measured_on_nodes);
	tcase_add_test(t, absolute_rates);
	tcase_add_test(t, custom);
	tcase_add_test(t, left_to_nccl);
	tcase_add_test(t, steps);
	tcase_add_test(t, smaller_and_rarer);
	suite_add_tcase(s, t);
	return s;
}
