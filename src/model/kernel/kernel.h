/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Roofline, and time of one kernel on a calibrated GPU. */
#ifndef RIDGE_MODEL_KERNEL_KERNEL_H
#define RIDGE_MODEL_KERNEL_KERNEL_H

#include "model/hw/hw.h"
#include "model/layer/layer.h"

/* (m x k) times (k x n).  Bytes per element of activations, weights and output.
 * n_copies: how many copies of the weights a benchmark visits in turn; 0: weights are never in the cache, as in a
 * model.  The members after the blank line have no effect where they are 0. */
struct gemm_shape {
	double m, n, k;
	double a_byte, w_byte, o_byte;
	double n_copies;
	bool quantise;    /* activations are quantized on the way in */
	bool whole_waves; /* libraries of 2022 and before: whole tiles in whole waves, the depth is not split */

	bool packed;                  /* kernels for a few rows unpack weights of another type as they stream */
	double weight_byte_per_clock; /* most that one SM unpacks per clock of weights in another type */
	double rate_frac;             /* factor on the arithmetic, where a kernel reaches less than the fitted one */
	double limit_flop_per_s;      /* most arithmetic that the power allows */
	double power_frac;            /* share of its speed that a card runs at below its usual power limit */
	bool launched;                /* measured one launch at a time, where the calibration says that it was */
};

/* The shape of a product of dtype t in a model. */
struct gemm_shape gemm_shape_of(double m, double n, double k, enum dtype t);
/* True when the calibration has parameters for this dtype. */
bool gemm_calibrated(const struct calibration *c, enum dtype t);
double gemm_time(struct sheet *sh, const struct gemm_shape *shape, const struct calibration *c, enum dtype t);

/* Time of the attention core on a GPU whose parameters were fitted to measurements: projections are products. */

/*
 * One launch for `batch` sequences.  Over a prompt, query_token new tokens of each sequence see context_token cached
 * ones and themselves, causally; in generation one new token sees context_token.  Members below the blank line are 0
 * where nothing is known of them, and then have no effect.
 */
struct attention_shape {
	double batch, n_heads, n_kv_heads, head_dim;
	double query_token, context_token;
	double elem_byte, kv_elem_byte;
	bool cold; /* the cache streams from memory, as between the layers of a model; a benchmark repeats the same one
	            */

	double window_token; /* a sliding window */
	bool unmasked;       /* an encoder: every token sees every other */
	double rate_frac;    /* factor on the arithmetic: 8-bit products, a power limit, an older kernel */
	double stream_frac;  /* factor on the rate at which the cache is read */
	/* Generation by a kernel that converts every element of the cache once per query head, on the vector units: how
	 * many one SM does per clock. */
	double n_core_elems_per_clock;
};

/* The one of calibration.def that a shape is of, or N_ATTENTION_FITS. */
enum attention_fit attention_fit_of(const struct attention_shape *shape);
const char *attention_fit_name(enum attention_fit a);
/* The fit for a shape's head width and types, or the calibration's own; NULL: none. */
const struct context_calibration *context_calibrated(const struct calibration *c, const struct attention_shape *shape);
const struct generation_calibration *generation_calibrated(
    const struct calibration *c, const struct attention_shape *shape);

/* `c` gives the SMs, the L2 cache and the clock; `p` the fit of one engine's kernels. */
double attention_context(struct sheet *sh, const struct attention_shape *shape, const struct context_calibration *p,
    const struct calibration *c);
double attention_generation(struct sheet *sh, const struct attention_shape *shape,
    const struct generation_calibration *p, const struct calibration *c);
/* Multi-head latent attention of DeepSeek's sizes (128 + 64 wide heads over a cache of 512 + 64): n_kv_heads and
 * head_dim are not looked at. */
double mla_context(struct sheet *sh, const struct attention_shape *shape, const struct context_calibration *p,
    const struct calibration *c);
double mla_generation(struct sheet *sh, const struct attention_shape *shape, const struct generation_calibration *p,
    const struct calibration *c);

/* Elementwise kernels: norms, activations, residuals, casts. */

/* Factors of 0 take typical values. */
struct elementwise_shape {
	double traffic_byte; /* read and written, by all launches together */
	double n_launches;
	double launch_s; /* shortest time of one launch */
	bool cold;       /* nothing is left in L2 by the kernel before */

	double mem_frac; /* share of memory bandwidth; default 0.85 */
	double l2_ratio; /* L2 bandwidth over memory bandwidth; default 3 */
};

double elementwise_time(struct sheet *sh, const struct elementwise_shape *shape, const struct calibration *c);
/* Quantize n_rows x n_columns 16-bit activations to elem_byte per element before a GEMM, with the cost found by the fit
 * of GEMMs in that dtype. */
double quantise_time(
    struct sheet *sh, const struct gemm_calibration *p, double n_rows, double n_columns, double elem_byte);

/* Measured memory levels and kernel launches. */

/* Bytes per second of a loop over footprint_byte: between two plateaus the share that a level holds comes from it. */
double memory_rate(struct sheet *sh, const struct memory_calibration *m, double footprint_byte);
/* Seconds of one dependent load somewhere in footprint_byte. */
double memory_latency(struct sheet *sh, const struct memory_calibration *m, double footprint_byte);
/* The share of a footprint that a cache does not serve: none up to hold_frac of its size, all from hold_frac +
 * fade_frac on.  fade_frac 0 or absent: nothing was fitted. */
double level_miss(struct sheet *sh, double footprint_byte, double level_byte, double hold_frac, double fade_frac);
/* Seconds that n_kernels empty kernels take, one after the other; `graph`: replayed as one graph. */
double launch_time(struct sheet *sh, const struct launch_calibration *l, double n_kernels, bool graph);

/* The delta rule over sequences, on heads that each have their own keys; by_channel: a decay for each channel of the
 * keys (Kimi delta attention), not for each head. */
struct delta_shape {
	double n_sequences, seq_length, n_heads, key_dim, value_dim, chunk_length;
	bool by_channel;
};

/* Of OP_delta_scan. */
struct delta_shape delta_shape_of(const struct op *op);
/* All kernels of a pass; the forward pass is what a prompt goes through, too. */
double delta_rule_time(struct sheet *sh, const struct delta_shape *shape, const struct calibration *c, bool backward);

/* Time of the experts of one MoE layer on a calibrated GPU. */

/*
 * n_tokens tokens of all the ep ranks together, each to top_k of n_experts experts of expert_width; tp GPUs share an
 * expert's width.  Bytes per element of activations and weights.  Factors that are 0 have no effect.
 */
struct moe_shape {
	double n_tokens, hidden, expert_width, top_k, n_experts, tp, ep;
	double a_byte, w_byte;
	bool gated;        /* up and gate projection in one product */
	bool expected;     /* each token picks at random: some experts get none; else as few are idle as possible */
	bool popular;      /* ... and more often one of the popular experts: as models are served */
	bool slowest_rank; /* of the ranks, the one with the most experts that get any row; else their mean */

	/* Rows of this rank's experts against the mean of the ranks: skewed routing. */
	double load_frac;
	double spread_frac; /* rows of the experts of a rank, evenly this share less and more than their mean */
	double token_frac;  /* of all tokens, those that this rank sees, moves and sums */
	double time_frac;   /* factor on the two products */
	double weight_byte_per_clock; /* most that one SM unpacks per clock of weights in another type */
	double hit_frac;              /* share of the weights that L2 holds */
	bool repeated;                /* a benchmark, which finds what fits of the weights in L2 */
	double power; /* loads of experts follow a power law of this exponent; this is the busiest rank */
};

/* True when the calibration has parameters for experts in this type. */
bool moe_calibrated(const struct calibration *c, enum dtype t);
/* Routing, permutation, the two grouped products, the activation between them and the weighted sum. */
double moe_time(
    struct sheet *sh, const struct moe_shape *shape, const struct moe_calibration *p, const struct calibration *c);
/* One grouped product: n_groups products of (n_rows x n_depth) and (n_depth x n_columns), all in one launch. */
double grouped_gemm_time(struct sheet *sh, const struct moe_shape *shape, const struct moe_calibration *p,
    const struct calibration *c, double n_groups, double n_rows, double n_columns, double n_depth);

/* Time of an operator on a calibrated GPU, by the kernel that runs it. */

enum kernel_kind {
	KERNEL_NONE,       /* no calibrated kernel */
	KERNEL_PRODUCT,    /* a GEMM */
	KERNEL_BATCHED,    /* batched GEMMs in one launch, tiled as one */
	KERNEL_EXPERTS,    /* half of the experts of a layer: up or down */
	KERNEL_CONTEXT,    /* prefill attention */
	KERNEL_GENERATION, /* decode attention */
	KERNEL_DELTA,
	KERNEL_STREAM, /* memory traffic with negligible compute */
	N_KERNEL_KINDS,
};

/* The GPU as operators see it. */
struct kernel_machine {
	const struct calibration *fit; /* NULL: nothing was fitted */
	enum dtype dtype;
	struct datum peak_flop_per_s, mem_byte_per_s; /* of the datasheet */
};

const char *kernel_kind_name(enum kernel_kind k);
/* The kernel that has a fit for this operator in this type. */
enum kernel_kind kernel_of(const struct kernel_machine *m, const struct op *op);
/* The attention that an operator asks for; only of those that kernel_of calls attention. */
struct attention_shape kernel_attention_shape(const struct op *op);
/* MLA with DeepSeek's dimensions, which has separate fits. */
bool kernel_is_latent(const struct kernel_machine *m, const struct op *op);
/* Whether what operator i does is measured with the experts beside it: their routing and their activation. */
bool kernel_inside_experts(const struct kernel_machine *m, const struct op *ops, int n, int i);

/* Time of one run; the roofline time without a kernel. */
double kernel_op_time(struct sheet *sh, const struct kernel_machine *m, const struct op *op);
/* Time of all its runs. */
double kernel_op_total(struct sheet *sh, const struct kernel_machine *m, const struct op *op);
/* The same of operator i of n; 0 where the experts beside it have its time. */
double kernel_list_time(struct sheet *sh, const struct kernel_machine *m, const struct op *ops, int n, int i);

/* The roofline: lower bound of the time for given FLOPs and bytes. */

/* Where a point lies under the roof.  The functions that return one of these record rows of the same names in the
 * caller's scope, which must hold work_flop, traffic_byte, peak_flop_per_s and mem_byte_per_s, so that the formulas
 * resolve. */
struct point {
	double intensity_flop_per_byte, ridge_flop_per_byte, attainable_flop_per_s, of_peak_frac;
	double compute_s, memory_s, roof_s;
	double total_s; /* of roofline_line: as often as the operator runs */
};

/* ridge, attainable and share of the peak, of an intensity that the scope holds; no times. */
struct point roofline_place(
    struct sheet *sh, double intensity_flop_per_byte, double peak_flop_per_s, double mem_byte_per_s);
/* All of it, from FLOP and bytes. */
struct point roofline_point(
    struct sheet *sh, double work_flop, double traffic_byte, double peak_flop_per_s, double mem_byte_per_s);
/* An operator's own rows, those above, n_times and total_s; the scope holds the peak and the bandwidth. */
struct point roofline_line(struct sheet *sh, const struct op *op, double peak_flop_per_s, double mem_byte_per_s);
/* `compute-bound` or `memory-bound`. */
const char *roofline_bound(double intensity_flop_per_byte, double ridge_flop_per_byte);

/* The same as models of their own. */
double ridge_point(struct sheet *sh, double peak_flop_per_s, double mem_byte_per_s);
/* Peak and ridge point against those of another machine. */
double peak_growth(struct sheet *sh, double peak_flop_per_s, double first_flop_per_s);
double ridge_growth(struct sheet *sh, double ridge_flop_per_byte, double first_flop_per_byte);
double roofline_s(
    struct sheet *sh, double work_flop, double traffic_byte, double peak_flop_per_s, double mem_byte_per_s);
/* One operator as often as it runs; its share of a list. */
double roofline_op(struct sheet *sh, const struct op *op, double peak_flop_per_s, double mem_byte_per_s);
double roofline_share(struct sheet *sh, double total_s, double list_s);

/* Roofline time over measured time; above 1, time, FLOPs or bytes are wrong. */
double roofline_measured_frac(struct sheet *sh, double roof_s, double measured_s);
double roofline_rate_frac(struct sheet *sh, double work_flop, double measured_s, double peak_flop_per_s);
double roofline_traffic_frac(struct sheet *sh, double traffic_byte, double measured_s, double mem_byte_per_s);

/* Speedup limit with infinite memory bandwidth, or infinite compute. */
double roofline_bandwidth_gain(struct sheet *sh, double compute_s, double memory_s);
double roofline_arithmetic_gain(struct sheet *sh, double compute_s, double memory_s);

/* Peaks from unit counts. */
double unit_peak(struct sheet *sh, double n_sms, double fma_per_sm, double clock_hertz);
double shared_memory_rate(struct sheet *sh, double n_sms, double port_byte, double clock_hertz);
double register_rate(struct sheet *sh, double n_sms, double fma_per_sm, double clock_hertz);
/* Bytes that the shared memory of one SM of this architecture delivers per clock; NaN where it is not known. */
double shared_port_byte(const char *architecture);

/* What is left over when `extent` elements are cut into the 16-byte pieces that matrix units read. */
double alignment_left_over(struct sheet *sh, double extent, double elem_byte);

/* FLOP of a frame: an encoder for each camera and task, or one per camera and a head for each task; what that saves. */
double encoder_separate(struct sheet *sh, double encoder_flop, double n_cameras, double n_tasks);
double encoder_shared(struct sheet *sh, double encoder_flop, double n_cameras, double n_tasks, double head_flop);
double encoder_saving(struct sheet *sh, double shared_flop, double separate_flop);

/* --- between the files of this folder --------------------------------------------------------------------- */

/* An option of a shape that is not used is 0, and a factor of 1. */
static inline double
kernel_factor(double frac)
{
	return frac > 0 ? frac : 1;
}

/* Tiles of the GEMMs' models, searched many times over.  These are fmin, fmax and ceil of numbers above 0,
 * which compilers inline. */
static inline double
kernel_least(double a, double b)
{
	return a < b ? a : b;
}

static inline double
kernel_most(double a, double b)
{
	return a > b ? a : b;
}

static inline double
kernel_up(double x)
{
	const double whole = x < 9e15 ? (double)(long long)x : x;

	return whole < x ? whole + 1 : whole;
}

/* Mean of kernel_up over (1 - spread_frac) x .. (1 + spread_frac) x. */
static inline double
kernel_up_to(double u)
{
	const double whole = (double)(long long)u;

	return (whole + 1) * (u - whole / 2);
}

static inline double
kernel_up_about(double x, double spread_frac)
{
	const double half = spread_frac * x;

	return half > 0 ? (kernel_up_to(x + half) - kernel_up_to(x - half)) / (2 * half) : kernel_up(x);
}

struct tile {
	double tile_m, tile_n, n_splits;
};

/* A product that is cut into tiles, or n_groups like ones in the same waves. */
struct tiles {
	bool grouped;
	double n_groups, m, n, k, a_byte, w_byte;
	double spread_frac; /* rows of a group: evenly between m less and more this share of it */
	struct datum n_sms;
	double flop_per_s, traffic_s;       /* of all SMs; of the whole product */
	const struct gemm_calibration *fit; /* of a group: feed, steps, tiles and norm */
};

struct tile_times {
	double arithmetic_s, feed_s, extra_s;
};

/* The fastest one, by the same formula as the answer. */
struct tile tile_best(const struct tiles *w);
/* Waves of tiles; rows are recorded in the caller's scope. */
struct tile_times tile_times(struct sheet *sh, const struct tiles *w, const struct tile *t);
/* Three limits that meet smoothly. */
double blend_time(
    struct sheet *sh, const struct gemm_calibration *p, double arithmetic_s, double feed_s, double traffic_s);

/* --- rows of experts ------------------------------------------------------------------------------------------ */

/* Experts of this GPU that get any row, of n_local_pairs of a token and an expert. */
double moe_active_experts(struct sheet *sh, const struct moe_shape *s, double n_local_pairs);
/* Those of the rank that has most of them, which the others wait for. */
double moe_busiest_experts(struct sheet *sh, const struct moe_shape *s, double n_active);
/* Rows of this rank over the mean of all ranks. */
double moe_load(const struct moe_shape *s);
/* Rows of an expert: no more than there are tokens.  Many are whole, so that a few idle experts bring no tile more. */
double moe_expert_rows(struct sheet *sh, const struct moe_shape *s, double n_mean_pairs, double n_active);

#endif
