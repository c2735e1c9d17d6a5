/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which algorithm and protocol NCCL would choose: the model and the constants of NVIDIA/nccl src/graph/tuning.cc
 * (2.30.7, commit 5067397).  NCCL takes the pair of smallest modeled time.  The constants serve that choice and
 * nothing else: their authors do not claim that they predict times, and against measurements they are 20 to 40 % off.
 */
#include "model/collective/collective.h"

#include <string.h>

/* NCCL's algorithms; PAT and the Chain form of CollNet carry out what our table calls a ring and collnet. */
enum scheme { SCHEME_RING, SCHEME_TREE, SCHEME_COLLNET, SCHEME_NVLS, SCHEME_NVLS_TREE, SCHEME_PAT, N_SCHEMES };

static const struct {
	const char *name;
	enum algorithm algorithm;
} schemes[N_SCHEMES] = {
    [SCHEME_RING] = {"Ring", ALGORITHM_RING},
    [SCHEME_TREE] = {"Tree", ALGORITHM_DOUBLE_TREE},
    [SCHEME_COLLNET] = {"CollNetDirect", ALGORITHM_COLLNET},
    [SCHEME_NVLS] = {"NVLS", ALGORITHM_NVLS},
    [SCHEME_NVLS_TREE] = {"NVLSTree", ALGORITHM_NVLS_TREE},
    [SCHEME_PAT] = {"PAT", ALGORITHM_RAILS},
};

/* Seconds: once, per step over NVLink, over PCIe, over the network; LL, LL128, Simple.  Negative: not available. */
static const struct {
	double base[N_PROTOCOLS], nvlink[N_PROTOCOLS], pcie[N_PROTOCOLS], network[N_PROTOCOLS];
} latencies[N_SCHEMES] = {
    [SCHEME_RING] = {{6.6e-6, 14e-6, 8.4e-6}, {0.6e-6, 1.9e-6, 3.4e-6}, {1.0e-6, 2.5e-6, 5.7e-6},
        {2.7e-6, 4e-6, 14e-6}},
    [SCHEME_TREE] = {{6.8e-6, 14e-6, 8.4e-6}, {0.6e-6, 1.25e-6, 4e-6}, {1.0e-6, 1.9e-6, 4e-6}, {5e-6, 8.5e-6, 14e-6}},
    [SCHEME_COLLNET] = {{-1, -1, 0}, {0, 0, 3.7e-6}, {0, 0, 3.7e-6}, {0, 0, 31e-6}},
    [SCHEME_NVLS] = {{-1, -1, 0}, {0, 0, 25e-6}, {0, 0, 0}, {0, 0, 18e-6}},
    [SCHEME_NVLS_TREE] = {{-1, -1, 0}, {0, 0, 25e-6}, {0, 0, 0}, {0, 0, 20.9e-6}},
    [SCHEME_PAT] = {{-1, -1, 8e-6}, {0, 0, 4e-6}, {0, 0, 4e-6}, {0, 0, 14e-6}},
};

/* GB/s.  By generation: Volta, Ampere, Hopper, Blackwell; then one node, two, more. */
static const double ll_most[4][3] = {{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}};
static const double ring_ll128_channel[4] = {20, 20, 36.7, 40};
static const double tree_ll128_channel[4][3] = {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}};
static const double tree_channel[4][3] = {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}};
static const double nvls_tree_channel[4][3] = {{0, 0, 0}, {0, 0, 0}, {0, 57.7, 45.5}, {0, 96, 80}};
/* The source does not give NVLS's channels: 8, at rates that meet the measured 476 and 829 GB/s of 8 GPUs. */
static const double nvls_channel[4] = {0, 0, 40, 80}, nvls_share[4] = {0, 0, 0.85, 0.74};
enum { NVLS_CHANNELS = 8, MOST_CHANNELS = 24 };

int
nccl_generation(const char *architecture)
{
	static const struct {
		const char *name;
		int generation;
	} table[] = {{"volta", 0}, {"turing", 0}, {"ampere", 1}, {"ada", 1}, {"hopper", 2}, {"blackwell", 3},
	    {"blackwell-ultra", 3}};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (strcmp(table[i].name, architecture) == 0)
			return table[i].generation;
	return -1;
}

const char *
protocol_name(enum protocol p)
{
	static const char *const names[N_PROTOCOLS] = {"LL", "LL128", "Simple"};

	return names[p];
}

/* LL stores 4 bytes of data with 4 of flag, LL128 120 of 128. */
double
protocol_share(enum protocol p)
{
	static const double shares[N_PROTOCOLS] = {0.5, 0.92, 1};

	return shares[p];
}

/* 8 GPUs show 480 GB/s of bus bandwidth on H100 and H200 and 840 on B200 (stas00/ml-engineering network/README.md),
 * which by S (1 + 1/n) / B is 308 of 450 and 540 of 900 GB/s. */
double
nvls_reach(int generation)
{
	return generation >= 3 ? 0.60 : 0.684;
}

/* At 8 GiB: from 5 GPUs on H200, from 6 on B200 (stas00/ml-engineering network/README.md). */
double
nvls_min_ranks(int generation)
{
	return generation >= 3 ? 6 : 5;
}

/* 1 KiB to 512 KiB on 8 H200 with NCCL_ALGO=NVLS: 29.9 to 31.2 us (Azure/AI-benchmarking-guide, ND_H200_v5). */
double
nvls_base(void)
{
	return 30.5e-6;
}

static enum scheme
scheme_of(enum algorithm a)
{
	static const enum scheme of[N_ALGORITHMS] = {
#define ALGORITHM(id, text, collectives, nodes, form, scheme, title) [ALGORITHM_##id] = SCHEME_##scheme,
#include "model/collective/algorithm.def"
#undef ALGORITHM
	};

	return a == ALGORITHM_AUTO ? SCHEME_RING : of[a];
}

double
nccl_base(enum algorithm a, enum protocol p)
{
	return fmax(0, latencies[scheme_of(a)].base[p]);
}

double
nccl_hop(enum algorithm a, enum protocol p, bool nvlink)
{
	return nvlink ? latencies[scheme_of(a)].nvlink[p] : latencies[scheme_of(a)].pcie[p];
}

double
nccl_node_hop(enum algorithm a, enum protocol p)
{
	return latencies[scheme_of(a)].network[p];
}

/* --- bandwidth ------------------------------------------------------------------------------------------- */

static double
n_steps(enum collective c, double n_ranks)
{
	return c == COLLECTIVE_ALL_REDUCE                                  ? 2 * (n_ranks - 1)
	    : c == COLLECTIVE_ALL_GATHER || c == COLLECTIVE_REDUCE_SCATTER ? n_ranks - 1
	                                                                   : n_ranks;
}

/* Bandwidth of one GPU's links and of its node's NICs in GB/s. */
struct rates {
	double inside, node, channels;
	int nodes; /* index of the tables */
};

static struct rates
rates_of(const struct nccl_ground *g)
{
	const double n_local = g->n_ranks / g->n_nodes;

	return (struct rates){
	    .inside = g->link_byte_per_s / 1e9,
	    .node = n_local * g->nic_byte_per_s / 1e9,
	    .channels = MOST_CHANNELS,
	    .nodes = g->n_nodes <= 1 ? 0
	        : g->n_nodes <= 2    ? 1
	                             : 2,
	};
}

/* On several nodes LL's ceiling goes by the host: the first row's when Intel's, the second's when AMD's. */
static double
ll_ceiling(const struct nccl_ground *g, const struct rates *r)
{
	const int row = g->n_nodes > 1 && g->generation < 2 ? g->amd_host : g->generation;

	return ll_most[row][r->nodes];
}

static double
ring_rate(const struct nccl_ground *g, const struct rates *r, enum protocol p)
{
	const double rate = g->n_nodes > 1 ? fmin(r->inside, r->node) : r->inside;

	if (p == PROTOCOL_LL)
		return fmin(ll_ceiling(g, r), 0.5 * rate);
	if (p == PROTOCOL_LL128)
		return fmin(0.92 * rate, r->channels * ring_ll128_channel[g->generation]);
	return rate;
}

/* Inside two nodes the search gives trees up to twice the NICs. */
static double
tree_rate(const struct nccl_ground *g, const struct rates *r, enum protocol p)
{
	const double rate = g->n_nodes > 2 ? fmin(r->inside, r->node)
	    : g->n_nodes > 1               ? fmin(r->inside, 2 * r->node)
	                                   : r->inside;
	const double most = fmin(0.92 * rate, r->channels * tree_channel[g->generation][r->nodes]);

	if (p == PROTOCOL_LL)
		return fmin(most / 3.8, ll_ceiling(g, r));
	if (p == PROTOCOL_LL128)
		return fmin(most * (g->n_nodes > 1 ? 120.0 / 128 : 7.0 / 9),
		    r->channels * tree_ll128_channel[g->generation][r->nodes]);
	return most;
}

static double
nvls_rate(const struct nccl_ground *g, const struct rates *r, enum scheme s, enum collective c)
{
	const double n_local = g->n_ranks / g->n_nodes;
	const double channel =
	    nvls_channel[g->generation] * nvls_share[g->generation] * (NVLS_CHANNELS - 1.0) / NVLS_CHANNELS;
	const double twice = c == COLLECTIVE_ALL_REDUCE ? 2 : (n_local - 1) / n_local;
	double rate = NVLS_CHANNELS * channel * twice;

	if (s == SCHEME_NVLS_TREE) {
		rate = fmin(rate, r->node * (g->n_nodes <= 2 ? 2 : 1));
		rate = fmin(rate, r->channels * nvls_tree_channel[g->generation][r->nodes]);
	}
	return rate;
}

static double
collnet_rate(const struct nccl_ground *g, const struct rates *r)
{
	return fmin(r->inside, 2 * r->node) * (g->generation >= 2 ? 0.85 : 1);
}

/* Trees lose speed between some ten kilobytes and some megabytes: a bell over log2(bytes / 64), fitted to the deepest
 * points of NCCL's table of corrections. */
static double
tree_correction(enum protocol p, double size_byte)
{
	static const double depth[N_PROTOCOLS] = {0.6, 0.4, 0.5};
	const double x = (log2(fmax(64, size_byte) / 64) - 12.5) / 5;

	return 1 - depth[p] * exp(-x * x);
}

/* Bytes per second of the whole buffer, in GB/s; 0 where NCCL would not try. */
static double
scheme_rate(const struct nccl_ground *g, enum scheme s, enum protocol p, enum collective c, double size_byte)
{
	const struct rates r = rates_of(g);
	const double ring_ratio = g->n_ranks / n_steps(c, g->n_ranks);

	switch (s) {
	case SCHEME_RING:
		return ring_rate(g, &r, p) * ring_ratio;
	case SCHEME_TREE:
		return tree_rate(g, &r, p) * 0.5 * tree_correction(p, size_byte);
	case SCHEME_COLLNET:
		return collnet_rate(g, &r) * 0.5;
	case SCHEME_NVLS:
		return nvls_rate(g, &r, s, c) * ring_ratio;
	case SCHEME_NVLS_TREE:
		return nvls_rate(g, &r, s, c) * 0.5;
	case SCHEME_PAT:
		return 0.75 * fmin(r.inside, r.node) * ring_ratio;
	case N_SCHEMES:
		break;
	}
	return 0;
}

/* --- latency --------------------------------------------------------------------------------------------- */

static double
ring_latency(const struct nccl_ground *g, enum protocol p, enum collective c, double inside_s, double across_s)
{
	const double n_across = g->n_nodes <= 1 ? 0
	    : c == COLLECTIVE_ALL_REDUCE        ? 2 * (g->n_nodes - 1)
	                                        : g->n_nodes - 1;
	const double host_s = g->n_nodes > 1 ? (g->amd_host ? 2e-6 : 1e-6) * (p == PROTOCOL_SIMPLE ? 3 : 1) : 0;

	return (n_steps(c, g->n_ranks) - n_across) * fmax(inside_s, host_s) + n_across * across_s;
}

static double
scheme_latency(const struct nccl_ground *g, enum scheme s, enum protocol p, enum collective c, double size_byte)
{
	const double n_local = g->n_ranks / g->n_nodes, levels = log2(g->n_nodes);
	const double inside_s = g->nvlink ? latencies[s].nvlink[p] : latencies[s].pcie[p];
	const double across_s = latencies[s].network[p];
	double base_s = latencies[s].base[p];

	switch (s) {
	case SCHEME_RING:
		base_s += ring_latency(g, p, c, inside_s, across_s);
		/* the plateau of large rings */
		if (p == PROTOCOL_SIMPLE && g->n_nodes > 1 && c == COLLECTIVE_ALL_REDUCE &&
		    size_byte / (MOST_CHANNELS * g->n_ranks) >= 64)
			base_s *= g->generation == 0 ? 1.9 : 1.4;
		return base_s;
	case SCHEME_TREE:
		return base_s + 2 * ((n_local - 1) * inside_s + levels * across_s);
	case SCHEME_COLLNET:
		return base_s + 2 * (n_local - 1) * inside_s + across_s;
	case SCHEME_NVLS:
		return base_s + inside_s;
	case SCHEME_NVLS_TREE:
		return base_s + inside_s + 2 * levels * across_s;
	case SCHEME_PAT:
		return base_s + levels * across_s / 3.5 + 2.8e-6 * g->n_ranks;
	case N_SCHEMES:
		break;
	}
	return base_s;
}

/* Maximum bandwidth of a protocol, whatever the links: stores of 8 bytes keep the SMs' copy loops busy. */
double
nccl_protocol_most(const struct nccl_ground *g, enum algorithm a, enum protocol p)
{
	const struct rates r = rates_of(g);

	if (scheme_of(a) != SCHEME_RING || p == PROTOCOL_SIMPLE)
		return INFINITY;
	return 1e9 * (p == PROTOCOL_LL ? ll_ceiling(g, &r) : r.channels * ring_ll128_channel[g->generation]);
}

/* --- the choice ------------------------------------------------------------------------------------------ */

static bool
available(const struct nccl_ground *g, enum scheme s, enum protocol p, enum collective c)
{
	const bool sum = c == COLLECTIVE_ALL_REDUCE;

	if (latencies[s].base[p] < 0 || (p == PROTOCOL_LL128 && !g->nvlink))
		return false;
	switch (s) {
	case SCHEME_RING:
		return true;
	case SCHEME_TREE:
		return sum;
	case SCHEME_COLLNET:
		return sum && g->network_sharp && g->n_nodes > 1;
	case SCHEME_NVLS:
		return sum && g->sharp && g->n_nodes <= 1 && g->generation >= 2 &&
		    g->n_ranks >= nvls_min_ranks(g->generation);
	case SCHEME_NVLS_TREE:
		return sum && g->sharp && g->n_nodes > 1 && g->generation >= 2;
	case SCHEME_PAT:
		return !sum && g->n_nodes > 1 && g->n_nodes >= g->n_ranks; /* one rank per node */
	case N_SCHEMES:
		break;
	}
	return false;
}

struct nccl_choice
nccl_choose(const struct nccl_ground *g, enum collective c, double size_byte, enum algorithm only)
{
	struct nccl_choice best = {algorithm_usual(c), PROTOCOL_SIMPLE, "Ring"};
	double best_s = INFINITY;

	for (int s = 0; s < N_SCHEMES; s++)
		for (int p = 0; p < N_PROTOCOLS; p++) {
			const enum scheme scheme = (enum scheme)s;
			const enum protocol protocol = (enum protocol)p;
			if (!available(g, scheme, protocol, c) || (only != ALGORITHM_AUTO && scheme_of(only) != scheme))
				continue;
			const double rate = scheme_rate(g, scheme, protocol, c, size_byte) * 1e9;
			const double time_s = scheme_latency(g, scheme, protocol, c, size_byte) + size_byte / rate;
			if (rate > 0 && time_s < best_s) {
				best = (struct nccl_choice){schemes[s].algorithm, protocol, schemes[s].name};
				best_s = time_s;
			}
		}
	return best;
}
