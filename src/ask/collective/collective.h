/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Interconnect of a collective: a bandwidth, a link, the GPUs of one node, or a system. */
#ifndef RIDGE_ASK_COLLECTIVE_COLLECTIVE_H
#define RIDGE_ASK_COLLECTIVE_COLLECTIVE_H

#include "ask/bind/bind.h"
#include "cli/cli.h"
#include "model/collective/collective.h"

#define INTERCONNECT_LAUNCHES "graph|stream|torch"
#define INTERCONNECT_OPTIONS(X)                                                                                        \
	X('n', gpus, "gpus", "gpus", COUNT, "N", "", NULL, "GPUs (ranks) in the collective")                           \
	X(0, nodes, "nodes", "nodes", COUNT, "N", "", NULL, "nodes, with GPUs spread evenly over them")                \
	X(0, bandwidth, "bandwidth", "bandwidth", RATE, "RATE", "", NULL,                                              \
	    "bandwidth of one GPU, one direction; uses the textbook formula")                                          \
	X(0, nic_bandwidth, "nic-bandwidth", "nic_bandwidth", RATE, "RATE", "", NULL,                                  \
	    "network bandwidth per GPU, one direction; with --bandwidth and --nodes")                                  \
	X(0, link, "link", "link", WORD, "LINK", "link", NULL,                                                         \
	    "link type at line rate: all such links of a GPU, or 4xLINK for four; a list for 'links'")                 \
	X('g', gpu, "gpu", "gpu", WORD, "NAME", "gpu", NULL, "GPU, for the links inside one node")                     \
	X(0, system, "system", "system", WORD, "NAME", "system", NULL, "system: node and network")                     \
	X(0, algorithm, "algo", "algo", CHOICE, "NAME", algorithm_choices, "auto", "algorithm; auto is NCCL's choice") \
	X(0, backend, "backend", "backend", CHOICE, "NAME", "trtllm|vllm|sglang", NULL,                                \
	    "engine whose custom all-reduce is used (--algo custom)")                                                  \
	X(0, launch, "launch", "launch", CHOICE, "HOW", INTERCONNECT_LAUNCHES, "graph",                                \
	    "launch mode: CUDA graph, back to back in a stream, or single PyTorch calls")                              \
	X(0, latency, "latency", "latency", TIME, "TIME", "", NULL, "latency of one step, with --bandwidth or --link") \
	X(0, groups, "nvlink-groups", "nvlink_groups", WORDS, "N,N", "", NULL,                                         \
	    "sizes of NVLink groups; the ring crosses the host between groups")                                        \
	X(0, host_link, "host-link", "host_link", WORD, "LINK", "link", NULL, "link between NVLink groups")            \
	X(0, host_bandwidth, "host-bandwidth", "host_bandwidth", RATE, "RATE", "", NULL,                               \
	    "bandwidth between NVLink groups, instead of --host-link")

struct interconnect_in {
	INTERCONNECT_OPTIONS(OPTION_MEMBER)
};

/* Options of the request, bound. */
struct interconnect {
	bool any;                 /* anything was named */
	bool bare;                /* a bandwidth or a link: textbook */
	enum algorithm algorithm; /* as asked, or ALGORITHM_AUTO */
	struct datum n_ranks;
	double n_nodes;
	struct datum rate, nic_rate, latency; /* bare: one unit, share of the network, one step */
	struct datum n_units;                 /* of the link that was named */
	const struct gpu *gpu;
	const struct system *system;
	const struct link *link; /* between GPUs; NULL for a bare bandwidth */
	size_t n_groups;         /* 1 without --nvlink-groups */
	struct datum host_rate;  /* between groups */
	const struct calibration *fit, *engine;
	struct word launch;    /* how calls are made, as asked */
	struct datum launch_s; /* of one call; 0 where the call is hidden behind the one before */
	bool unmeasured;       /* as if nobody had measured the network */
	/* filled by interconnect_rates */
	double link_byte_per_s, nic_byte_per_s;
};

/* What a plan is, for people. */
struct interconnect_words {
	const char *algorithm, *protocol, *model;
	const char
	    *basis; /* what the answer rests on: a calibration, `other networks`, `formula`; NULL: what was given */
	struct error_source error; /* fit NULL: a formula, without an interval */
};

bool interconnect_bind(struct run *r, const struct interconnect_in *in, struct interconnect *out);
/* Rows of the bandwidths, shown. */
void interconnect_rates(struct run *r, struct interconnect *w);
/* How to work out this collective at this size; false with errors.  Rows that this takes lie in `scope`. */
bool interconnect_plan(struct run *r, const struct interconnect *w, const char *scope, enum collective c,
    double size_byte, struct collective_plan *plan, struct interconnect_words *words);
/* One link of `[Nx]NAME`; *n is N, or the number that a GPU has, or 1. */
const struct link *interconnect_link(struct run *r, struct word text, struct datum *n);

#endif
