/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Collectives: how long they take, how much they move, how far they hide.
 *
 * Sizes are of the full buffer, as nccl-tests prints them: what an all-reduce sums, what an all-gather returns, what a
 * reduce-scatter starts from.  Bandwidths are of one GPU and one direction.  A hop is the latency of one step.
 * With one rank every time is 0.
 */
#ifndef RIDGE_MODEL_COLLECTIVE_COLLECTIVE_H
#define RIDGE_MODEL_COLLECTIVE_COLLECTIVE_H

#include "model/hw/hw.h"

enum algorithm {
#define ALGORITHM(id, ...) ALGORITHM_##id,
#include "model/collective/algorithm.def"
#undef ALGORITHM
	N_ALGORITHMS,
	ALGORITHM_AUTO = -1,
};

enum protocol { PROTOCOL_LL, PROTOCOL_LL128, PROTOCOL_SIMPLE, N_PROTOCOLS };

const char *collective_name(enum collective c);
const char *algorithm_name(enum algorithm a);
/* The choices of an option: `auto|ring|tree`. */
extern const char algorithm_choices[];
/* False when the algorithm does not support the collective, or that number of nodes. */
bool algorithm_does(enum algorithm a, enum collective c);
bool algorithm_spans(enum algorithm a, double n_nodes);
/* Default algorithm: rings, and direct sends for all-to-all and send/receive. */
enum algorithm algorithm_usual(enum collective c);

/* --- volume and bandwidth, as nccl-tests counts them ----------------------------------------------------- */

/* Bytes that every rank must send: the size times 2 (n-1)/n, (n-1)/n or 1. */
double bus_volume(struct sheet *sh, enum collective c, double n_ranks, double size_byte);
double algorithm_bandwidth(struct sheet *sh, double size_byte, double comm_s);
double bus_bandwidth(struct sheet *sh, double volume_byte, double comm_s);

/* --- textbook forms -------------------------------------------------------------------------------------- */

double allreduce_ring(struct sheet *sh, double n_ranks, double size_byte, double link_byte_per_s, double hop_s);
/* All-gather and reduce-scatter. */
double gather_ring(struct sheet *sh, double n_ranks, double size_byte, double link_byte_per_s, double hop_s);
/* Broadcast and reduce, in chunks that follow one another along the ring. */
double broadcast_ring(
    struct sheet *sh, double n_ranks, double size_byte, double link_byte_per_s, double hop_s, double chunk_byte);
/* A flat ring over all ranks that leaves its nodes by all NICs: the NICs carry the whole bus volume. */
double collective_rails(struct sheet *sh, enum collective c, double n_ranks, double n_nodes, double size_byte,
    double nic_byte_per_s, double hop_s, double node_hop_s);
double alltoall_direct(struct sheet *sh, double n_ranks, double n_nodes, double size_byte, double link_byte_per_s,
    double nic_byte_per_s, double base_s);
double send_recv(struct sheet *sh, double n_ranks, double size_byte, double link_byte_per_s, double hop_s);

/* What the ranks of a collective have.  nic_byte_per_s is a GPU's share of its node's NICs. */
struct collective_ask {
	enum collective collective;
	enum algorithm algorithm;
	double n_ranks, n_nodes, size_byte;
	double link_byte_per_s, nic_byte_per_s;
	double hop_s, node_hop_s, base_s; /* one step inside, one across, and once */
	double chunk_byte;                /* of a pipelined broadcast */
};
/* The forms of algorithm.def: each knows which of its collectives and of its algorithms is asked for. */
double collective_ring(struct sheet *sh, const struct collective_ask *ask);
double allreduce_tree(struct sheet *sh, const struct collective_ask *ask);
double allreduce_double_tree(struct sheet *sh, const struct collective_ask *ask);
double allreduce_nvls(struct sheet *sh, const struct collective_ask *ask);
double allreduce_nvls_tree(struct sheet *sh, const struct collective_ask *ask);
double allreduce_collnet(struct sheet *sh, const struct collective_ask *ask);
/* Reduce-scatter inside, all-reduce across the rails, all-gather inside, at the same time where it is overlapped. */
double allreduce_hierarchical(struct sheet *sh, const struct collective_ask *ask);
double collective_direct(struct sheet *sh, const struct collective_ask *ask);
/* The textbook form of ask->algorithm, which can do ask->collective. */
double collective_textbook(struct sheet *sh, const struct collective_ask *ask);

/* How a time is worked out: by the textbook, or by what was fitted. */
enum collective_form { FORM_TEXTBOOK, FORM_RAMP, FORM_RING_RAMP, FORM_NVLS_RAMP, FORM_CUSTOM, FORM_NETWORK };
struct collective_plan {
	enum collective_form form;
	struct collective_ask ask; /* its size_byte is set by collective_time */
	const struct collective_calibration *ramp;
	const struct custom_calibration *custom;
	const struct network_calibration *network;
	struct datum launch_s; /* what a call of its own adds to what was fitted; 0: nothing */
	/* the same among the ranks of one node, which several nodes take no less than; NULL: one node, or one rank in
	 * each. `rings` go through all nodes, so that links inside carry the volume of all ranks */
	const struct collective_plan *inside;
	bool rings;
};
/* The plan's form, and over several nodes no less than what the links inside a node take. */
double collective_time(struct sheet *sh, const struct collective_plan *plan, double size_byte);

/* --- links ----------------------------------------------------------------------------------------------- */

/* What n ranks have of a mesh: one link to each of them, and the better pairs first. */
double mesh_bandwidth(
    struct sheet *sh, double n_ranks, double domain_byte_per_s, double pair_byte_per_s, double pair_max_byte_per_s);
/* A ring over groups of linked GPUs runs at the pace of its slowest hop. */
double ring_of_groups(struct sheet *sh, double n_groups, double link_byte_per_s, double host_byte_per_s);
/* All links of one GPU; both directions; as a count of Gbit/s. */
double link_total(struct sheet *sh, double n_links, double one_link_byte_per_s);
double link_both(struct sheet *sh, double byte_per_s);
/* What is reached of a line rate. */
double link_reached(struct sheet *sh, double line_byte_per_s, double reached_frac);
double link_share(struct sheet *sh, double bus_byte_per_s, double line_byte_per_s);
double link_gbit(struct sheet *sh, double byte_per_s);
double link_ratio(struct sheet *sh, double byte_per_s, double first_byte_per_s);
/* A GPU's share of its node's NICs. */
double nic_share(struct sheet *sh, double n_nics, double one_nic_byte_per_s, double n_gpus);

/* --- fitted ---------------------------------------------------------------------------------------------- */

/* One node, rings and direct sends: t = a0 + an (n-2) + V / (binf (1 - beta/n)) + c min(1, V/V0)^0.7. */
double collective_ring_ramp(
    struct sheet *sh, enum collective c, const struct collective_calibration *fit, double n_ranks, double size_byte);
/* Bus bandwidth of large messages on n ranks. */
double reached_bandwidth(struct sheet *sh, const struct collective_calibration *fit, double n_ranks);
/* What NCCL's protocols cost until they are at full rate: from LL through LL128 to Simple. */
double protocol_ramp(struct sheet *sh, double volume_byte, double ramp_s, double ramp_byte);
/* One node, by switches that add up (NVLink SHARP); for whether they can, ask nvls_fitted. */
double allreduce_nvls_ramp(
    struct sheet *sh, const struct collective_calibration *fit, double n_ranks, double size_byte);
bool nvls_fitted(enum collective c, const struct collective_calibration *fit, double n_ranks);
/* One node: the faster of the two. */
double collective_ramp(
    struct sheet *sh, enum collective c, const struct collective_calibration *fit, double n_ranks, double size_byte);
/* The faster of one-shot and two-shot. */
double allreduce_custom(struct sheet *sh, const struct custom_calibration *fit, double n_ranks, double size_byte);
/* An engine's own kernels up to the largest message they take, NCCL beyond; the faster where that size is not known,
 * and without a fit of NCCL (NULL) its own. */
double allreduce_engine(struct sheet *sh, const struct custom_calibration *own,
    const struct collective_calibration *nccl, double n_ranks, double size_byte);
/* Whether an engine's own kernels take messages of this size, or may. */
bool allreduce_is_own(const struct custom_calibration *own, double n_ranks, double size_byte);
/* Several nodes.  nic_byte_per_s is a GPU's share of the NICs at line rate; the fit says what of it is reached. */
double collective_network(struct sheet *sh, enum collective c, const struct network_calibration *fit, double n_ranks,
    double n_nodes, double size_byte, double nic_byte_per_s);

/* Which collective's fit serves: what was not measured alone goes at the pace of another ring, an all-gather, else a
 * sum. */
enum collective collective_measured(const struct calibration *fit, enum collective c);
/* NCCL's choice inside a node, or the ring or the switches that were asked for, where they were fitted apart. */
enum collective_form collective_ramp_form(
    enum collective c, const struct collective_calibration *fit, enum algorithm asked, bool sharp, double n_ranks);
/* Whether a collective over nodes goes around rings that load the links inside too.  In a full mesh rings that leave
 * the node need fewer links inside: four nodes of eight MI325X reach 350 GB/s of bus bandwidth, one 319. */
bool network_rings(enum collective c, bool mesh, bool sharp);

/* What the ranks of a job have. */
struct collective_ground {
	const struct calibration *kernels;         /* inside a node */
	const struct network_calibration *network; /* by collective; NULL: one node */
	bool sharp, mesh;                          /* switches that add up; a link from each GPU to each other one */
	double nic_byte_per_s;                     /* of a rank */
};
/* As fitted, with ranks spread evenly over nodes; `inside` is room for what a node takes. */
struct collective_plan collective_plan_fitted(const struct collective_ground *g, enum collective c, double n_ranks,
    double n_nodes, struct collective_plan *inside);

/* --- what NCCL would choose ------------------------------------------------------------------------------ */

/* A step of NCCL's model, in seconds, and what the ranks have; 0 where there is none. */
struct nccl_ground {
	int generation;        /* 0 Volta, 1 Ampere, 2 Hopper, 3 Blackwell */
	bool nvlink, switched; /* GPUs joined by NVLink; through NVSwitch */
	bool sharp;            /* the NVSwitches reduce */
	bool network_sharp;    /* so do the network's switches */
	bool amd_host;
	double n_ranks, n_nodes;
	double link_byte_per_s, nic_byte_per_s; /* as NCCL rates them, per GPU */
};
struct nccl_choice {
	enum algorithm algorithm;
	enum protocol protocol;
	const char *name; /* NCCL's own name of the algorithm */
};
/* The generation of an architecture's name, or -1. */
int nccl_generation(const char *architecture);
const char *protocol_name(enum protocol p);
/* The algorithm and protocol of smallest modeled time; `only` restricts it to one algorithm unless ALGORITHM_AUTO. */
struct nccl_choice nccl_choose(const struct nccl_ground *g, enum collective c, double size_byte, enum algorithm only);
/* Latencies of NCCL's model: once, and per step inside a node and across nodes. */
double nccl_base(enum algorithm a, enum protocol p);
double nccl_hop(enum algorithm a, enum protocol p, bool nvlink);
double nccl_node_hop(enum algorithm a, enum protocol p);
/* Share of a GPU's line rate that NVLink SHARP's reads and writes reach, how many ranks NCCL uses it from, and what it
 * takes without bytes. */
double nvls_reach(int generation);
double nvls_min_ranks(int generation);
double nvls_base(void);
/* Share of the bandwidth that is data under this protocol, and what the protocol carries at most. */
double protocol_share(enum protocol p);
double nccl_protocol_most(const struct nccl_ground *g, enum algorithm a, enum protocol p);

/* --- what it means for a step ---------------------------------------------------------------------------- */

/* Communication that computation does not hide.  overlap_frac is the share that runs at the same time as computation;
 * never more than there is of it, and the last bucket has nothing left to hide behind. */
double exposed_time(struct sheet *sh, double comm_s, double compute_s, double overlap_frac, double last_bucket_s);
double step_time(struct sheet *sh, double compute_s, double exposed_s);
double step_share(struct sheet *sh, double exposed_s, double step_s);
double compute_share(struct sheet *sh, double exposed_s, double compute_s);
double step_efficiency(struct sheet *sh, double compute_s, double step_s);
/* The most that may stay exposed for compute / step to reach a target. */
double exposed_allowed(struct sheet *sh, double compute_s, double target_frac);
/* The overlap, or the bus bandwidth at the present overlap, that gets there. */
double overlap_needed(struct sheet *sh, double comm_s, double allowed_s);
double bandwidth_needed(struct sheet *sh, double volume_byte, double allowed_s, double overlap_frac);
/* How much less often, and how much smaller. */
double accumulation_share(struct sheet *sh, double n_accumulation);
double accumulated_compute(struct sheet *sh, double n_accumulation, double compute_s);
double bucket_count(struct sheet *sh, double size_byte, double bucket_byte);
double bucket_last(struct sheet *sh, double size_byte, double bucket_byte, double n_buckets);
double bucketed_time(struct sheet *sh, double n_buckets, double bucket_s, double last_bucket_s);
double gradient_size(struct sheet *sh, double n_params, double elem_byte_per_param);
/* PowerSGD: a matrix of rows x columns becomes two of the given rank. */
double powersgd_ratio(struct sheet *sh, double n_rows, double n_columns, double n_rank);
double compressed_size(struct sheet *sh, double size_byte, double compression);

#endif
