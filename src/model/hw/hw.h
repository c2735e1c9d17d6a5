/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RIDGE_MODEL_HW_HW_H
#define RIDGE_MODEL_HW_HW_H

#include "base/sheet.h"

/* Hardware as plain structs, filled by the database and read by the models.  Base units; bandwidths in one direction.
 */

enum peak {
#define PEAK(id, text, substitute, title) PEAK_##id,
#include "model/hw/dtype.def"
#undef PEAK
	N_PEAKS,
	PEAK_NONE = -1,
};

enum dtype {
#define DTYPE(id, ...) DTYPE_##id,
#include "model/hw/dtype.def"
#undef DTYPE
	N_DTYPES,
	DTYPE_NONE = -1,
};

const char *peak_name(enum peak p);
enum peak peak_substitute(enum peak p);
const char *dtype_name(enum dtype t);
double dtype_byte(enum dtype t);
enum peak dtype_peak(enum dtype t);
/* The dtype or peak with this name, or DTYPE_NONE / PEAK_NONE. */
/* The name of the dtype that frameworks spell like this (bfloat16: bf16), else the word itself. */
const char *dtype_spelled(const char *name);
enum dtype dtype_find(const char *name);
/* The dtype whose kernel fits a training step uses for this one. */
enum dtype dtype_fits(enum dtype t);
/* Default KV cache dtype for these weights; narrow: in engines that quantize the cache along with the weights. */
enum dtype dtype_usual_kv(enum dtype weights, bool narrow);

/* The choices of an option, `fp16|bf16`, by the letters of dtype.def: DTYPE_CHOICE(W). */
extern const char dtype_choices_P[], dtype_choices_W[], dtype_choices_T[], dtype_choices_S[], dtype_choices_Q[],
    dtype_choices_A[];
#define DTYPE_CHOICE(letter) (dtype_choices_##letter + 1)
/* One of them. */
enum dtype dtype_chosen(const char *choices, int index);

struct price {
	struct datum usd_per_s;
	const char *on;      /* date, YYYY[-MM[-DD]] */
	const char *per;     /* `gpu` or `node` */
	struct datum n_gpus; /* of a GPU that is sold only with others: all of them; absent: one */
	const char *source;
	bool unconfirmed;
};

struct gpu {
	const char *id, *name, *vendor, *architecture, *compute_capability, *launch, *notes;
	struct datum n_sms;
	struct datum tensor_fma_per_sm, fp32_per_sm;   /* per SM and clock */
	struct datum step_m, step_n, step_k, step_fma; /* one matrix instruction step and its multiply-adds */
	struct datum clock_tensor_hertz, clock_max_hertz;
	const char *mem_type;
	struct datum mem_label_byte, mem_usable_byte, mem_byte_per_s;
	bool mem_inline_ecc; /* ECC is on and stored in the memory itself */
	struct datum l2_byte, llc_byte;
	struct datum shared_byte, shared_combined_byte; /* per SM */
	struct datum n_registers;                       /* 32-bit, per SM */
	struct datum register_byte_per_s;               /* all SMs */
	struct datum peak_flop_per_s[N_PEAKS];          /* dense */
	bool lacks[N_PEAKS];                            /* the hardware has no such rate */
	struct datum sparsity, sparsity_fp4;
	const char *link_kind, *link_bridge, *pcie, *c2c;
	struct datum n_host_gpus;              /* behind one c2c host; absent: 1 */
	struct datum host_mem_byte;            /* of the c2c host */
	struct datum n_links, link_byte_per_s; /* of one link, one direction */
	struct datum tdp_watt, msrp_usd;
	int n_prices;
	struct price *prices;
	const struct gpu *filed; /* the entry before --set; NULL: nothing was set */
};
/* Share of its bandwidth that GDDR reaches, where it is `share_frac` without inline ECC. */
double gpu_gddr_share(const struct gpu *gpu, double share_frac);
/* Whether the GPU has GDDR. */
bool gpu_has_gddr(const struct gpu *gpu);
/* Whether the hardware has no products of this type. */
bool gpu_lacks(const struct gpu *gpu, enum dtype t);

enum domain_kind {
	DOMAIN_NONE,
	DOMAIN_PCIE,
	DOMAIN_HYBRID_CUBE_MESH,
	DOMAIN_NVLINK_MESH,
	DOMAIN_NVSWITCH,
	DOMAIN_XGMI_MESH
};

struct link {
	const char *id, *name, *kind, *generation, *scope, *raw, *used_by, *notes;
	struct datum byte_per_s;      /* one unit of `scope`, one direction */
	struct datum both_byte_per_s; /* both directions */
	struct datum n_units, n_lanes, n_nics;
	struct datum latency_s;
	struct datum ring_ll_s, ring_ll128_s, ring_simple_s, tree_ll_s, tree_ll128_s,
	    tree_simple_s; /* NCCL's hardware hops */
	struct datum p2p_byte_per_s, allreduce_bus_byte_per_s, h2d_byte_per_s, nccl_byte_per_s, efficiency_frac;
	struct datum read_byte_per_s, write_byte_per_s;
	bool in_switch_reduction, simple_protocol;
	const struct link *filed; /* as of a GPU */
};

struct system {
	const char *id, *name, *notes;
	const struct gpu *gpu;
	struct datum n_gpus; /* per node */
	enum domain_kind domain;
	struct datum n_domain_gpus, domain_byte_per_s; /* per GPU and direction */
	struct datum pair_byte_per_s, pair_max_byte_per_s, n_unlinked_peers;
	bool sharp;
	const struct link *fabric; /* NULL when the system has no network */
	struct datum n_nics, nic_byte_per_s, n_rails;
	const char *host_cpu, *host_storage;
	struct datum n_host_cores, host_mem_byte;
	struct datum power_watt, purchase_usd;
	struct datum accept_byte_per_s, accept_byte; /* acceptance threshold for all-reduce busbw, at this size */
	int n_prices;
	struct price *prices;
	const struct system *filed; /* as of a GPU, also where only the GPU's figures were set */
};

/* Held-out errors of the fitted parameters. */
struct residual {
	const char *name; /* `gemm_bf16`, `all_reduce` */
	struct datum n_points, mape_frac, bias_frac;
	struct datum q10, q90; /* quantiles of ln(measured / predicted) */
	struct datum mean, sd; /* of the same; absent in files that give only the quantiles */
	int n_regimes;
	struct residual_regime {
		const char *name; /* `decode` */
		struct datum mape_frac;
		struct datum n_points, bias_frac, q10, q90; /* absent in files that give only the mean error */
	} regimes[8];
};

/* --- calibrations: absolute rates and times, members by calibration.def ---------------------------------- */

#define FIGURE_MEMBER(key, member, ...) struct datum member;

/* GEMM tile model; quantise_ are the kernels of dynamic fp8 and fp4 activations. */
struct gemm_calibration {
#define GEMM FIGURE_MEMBER
#include "model/hw/calibration.def"
#undef GEMM
};

/*
 * One collective inside a node: t = a0 + aN (n-2) + V / (Binf (1 - beta/n)) + c min(1, V/V0)^0.7.  With
 * nvls_min_ranks or more, an all-reduce may use in-switch reduction: t = base + S (1 + 1/n) / B + c sqrt(min(S, S0)),
 * with S in MiB in the last term.  nvls_byte_per_s is absent or 0 if it cannot.
 */
struct collective_calibration {
#define NCCL FIGURE_MEMBER
#include "model/hw/calibration.def"
#undef NCCL
};

/* Collectives over the NICs of several nodes: t = steps x hop + fill sqrt(hop) + volume / (nic_frac x the node's NICs);
 * of an all-reduce the faster of a ring's volume at nic_frac and a tree's at tree_frac.  A fabric has its hop; the rest
 * is that of all fabrics (hwdb/calibration/network.yaml). */
struct network_calibration {
#define NETWORK FIGURE_MEMBER
#include "model/hw/calibration.def"
#undef NETWORK
	struct datum simple; /* 1: NCCL has no protocol but Simple here; a figure, as all members are */
};

/* One- and two-shot all-reduce of the serving engines, CUDA graph, up to the messages that they leave to NCCL. */
struct custom_calibration {
#define CUSTOM FIGURE_MEMBER
#include "model/hw/calibration.def"
#undef CUSTOM
	const char *backend;
};

/* Prefill attention: tiles of 128 x 128 on the SMs, then the traffic around them.  Absent or 0 has no effect. */
struct context_calibration {
#define CONTEXT FIGURE_MEMBER
#include "model/hw/calibration.def"
#undef CONTEXT
};

/* Decode attention; flop_per_s only for MLA.  A KV cache up to `hold` times L2 is read from L2 at l2_byte_per_s, one of
 * hold + fade times L2 from memory; defaults are 4 times the memory bandwidth, 0.375 and 0.75. */
struct generation_calibration {
#define GENERATION FIGURE_MEMBER
#include "model/hw/calibration.def"
#undef GENERATION
};

/* Attention with other head dimensions and dtypes than 128 and 16 bits. */
enum attention_fit {
#define ATTENTION(id, ...) ATTENTION_FIT_##id,
#include "model/hw/calibration.def"
#undef ATTENTION
	N_ATTENTION_FITS,
};
struct attention_calibration {
	bool has_context, has_generation;
	struct context_calibration context;
	struct generation_calibration generation;
};

/* Grouped GEMMs of a mixture of experts with routing and permutation.  permute_byte_per_s applies per local
 * token-expert pair, route_byte_per_s per global one; absent if the fit found no such cost. */
struct moe_calibration {
#define MOE FIGURE_MEMBER
#include "model/hw/calibration.def"
#undef MOE
};

/* Bandwidth and latency by memory level, smallest first.  The size of the last one is not used. */
struct memory_level {
	const char *name; /* `l1`, `l2`, `hbm` */
	struct datum size_byte, byte_per_s, latency_s;
};

struct memory_calibration {
	int n_levels;
	struct memory_level level[6];
};

/* Launches of empty kernels: fixed time and time per kernel, in a stream or a CUDA graph; submit_s: CPU time of one. */
struct launch_calibration {
#define LAUNCH FIGURE_MEMBER
#include "model/hw/calibration.def"
#undef LAUNCH
};

enum collective {
#define COLLECTIVE(id, text, ...) COLLECTIVE_##id,
#include "model/hw/calibration.def"
#undef COLLECTIVE
	N_COLLECTIVES,
};

/* Error added by a transfer from another GPU, as the standard deviation of ln(measured / predicted); 0 without one. */
struct transfer_sigma {
	double gemm, context, generation, moe, collective;
};

/* The 80 % interval of a fitted figure, as factors of it; found by the figure's place in its file. */
struct fitted_range {
	struct source at;
	double low, high;
};

struct calibration {
	const char *id, *gpu, *fabric, *backend, *source, *date, *note; /* of a GPU or of a fabric */
	const char *host;                                               /* or of a host without a GPU */
	const char *kept;                                               /* parameters that the rows did not determine */
	bool own;           /* from a folder of the user's, not from a whole database */
	const char *fitted; /* sections that were fitted, as `gemm collective`; NULL: all that there are */
	struct datum n_points;
	/* the reference figures that the file's fractions refer to */
	struct datum ref_peak_flop_per_s, ref_mem_byte_per_s, ref_clock_hertz, ref_l2_byte, ref_n_sms;
	struct datum ref_peaks_flop_per_s[N_PEAKS]; /* by type; ref_peak_flop_per_s is that of 16 bits */
	bool has_gemm;
	struct gemm_calibration gemm[N_DTYPES];
	bool has_collective[N_COLLECTIVES];
	struct collective_calibration collective[N_COLLECTIVES];
	int n_custom;
	struct custom_calibration custom[4];
	/* several nodes: all-reduce by its tree volume, the others by their ring volume */
	bool has_network[N_COLLECTIVES];
	struct network_calibration network[N_COLLECTIVES];
	struct gemm_calibration weight_only[N_DTYPES]; /* 16-bit activations, weights of this type */
	bool has_context, has_generation, has_mla_context, has_mla_generation;
	struct context_calibration context, mla_context;
	struct generation_calibration generation, mla_generation;
	struct attention_calibration attention_by[N_ATTENTION_FITS];
	struct moe_calibration moe[N_DTYPES];             /* base_s is absent where there is none */
	struct moe_calibration moe_weight_only[N_DTYPES]; /* 16-bit activations, weights of this type */
	struct memory_calibration memory;                 /* no levels: not measured */
	bool has_launch;
	struct launch_calibration launch;
	struct datum call_s; /* time that a single PyTorch call adds to a collective replayed in a graph */
	struct datum fma_flop_per_s[N_PEAKS]; /* arithmetic without memory traffic, absent where it was not measured */
	int n_residuals;
	struct residual *residuals;
	int n_ranges;
	struct fitted_range *ranges;
	/* of a calibration that another GPU's fits were made into: NULL otherwise */
	const char *transferred_from;
	const char *transfer_note; /* `transferred from a100-sxm4-80gb, expected error 15-20 %` */
	struct transfer_sigma transfer_sigma;
};

/* Whether this section was fitted to the machine's own measurements; c may be NULL. */
bool calibration_own(const struct calibration *c, const char *section);

/* --- the parameters as data ------------------------------------------------------------------------------ */

enum param_form {
#define FORM(id, quantity, reference) FORM_##id,
#include "model/hw/calibration.def"
#undef FORM
	N_FORMS,
};
enum quantity form_quantity(enum param_form f); /* in files */
const char *form_reference(enum param_form f);  /* key of the figure that it is a share of, `peak` for any; or NULL */

#define ALWAYS INFINITY
struct param_row {
	const char *key;
	enum param_form form;
	double otherwise;          /* ALWAYS: it may not be absent; NaN: it may */
	double start, least, most; /* of fits; NaN: not fitted */
};
/* A family's rows stand in the order of its struct's members, which are all datums. */
struct family {
	int n;
	const struct param_row *rows;
};
extern const struct family family_gemm, family_context, family_generation, family_moe, family_collective, family_custom,
    family_launch;
/* The first row of this key in the families of kernels, or NULL. */
const struct param_row *param_find(const char *key);

/* Factor of each form; clocks are also divided by `clock`. */
struct param_units {
	double by[N_FORMS], clock;
};
/* All 1. */
struct param_units param_units(void);
/* Numbers of files into rates: forms that are absolute there stay. */
struct param_units param_units_of(double peak_flop_per_s, double mem_byte_per_s, double clock_hertz);
double param_scaled(const struct param_units *u, enum param_form f, double value);
double param_unscaled(const struct param_units *u, enum param_form f, double rate);
void family_scale(const struct family *f, const struct param_units *u, void *figures);

/* Kernels for GPUs without measurements: the donor, and the error of the transfer. */

struct transfer {
	const char *id, *name, *source, *notes;
	const char *from; /* the donor's id; NULL: all parameters are below */
	int n_to;
	const char **to;      /* ids of GPUs; none: of any NVIDIA GPU that no other transfer names */
	const char *expected; /* error of GEMMs, for people: `15-20 %` */
	struct {
		struct datum gemm, context, generation, moe, collective; /* mean errors that the transfer adds */
	} error;
	/* Parameters that replace the donor's, as in a file.  Shares are of the target's datasheet. */
	struct gemm_calibration gemm;
	struct context_calibration context;
	struct generation_calibration generation;
	struct datum collective_base_s;
	struct datum ring_frac; /* factor on the bandwidth of collectives beyond that of the links */
};

/* --- measurements ------------------------------------------------------------------------------------------ */

/*
 * One row per kernel, copy, collective or launch, with its shape, time and how it was measured.  Seconds and bytes;
 * absent values are NaN or NULL.
 */

enum measurement_kind {
#define MEASUREMENT(id, text, title) MEASUREMENT_##id,
#include "model/hw/measurement.def"
#undef MEASUREMENT
	N_MEASUREMENT_KINDS,
};

const char *measurement_kind_name(enum measurement_kind k);
int measurement_kind_find(const char *name); /* or -1 */

struct measurement {
	enum measurement_kind kind;
	int line;            /* of its file */
	const char *gpu;     /* id in the database; NULL for a host, or where the label has no entry */
	const char *device;  /* as the source prints it */
	const char *backend; /* library or engine of the kernel: cublaslt, vllm, nccl, custom-vllm */
	const char *version; /* of that */
	const char
	    *operation; /* prefill or decode; all_reduce; read, write, copy, scale, triad; h2d, d2h; empty, graph */
	const char *dtype_text; /* as written: fp8-static has no kernel that quantizes the activations */
	const char *kv_text;
	enum dtype dtype, kv_dtype; /* DTYPE_NONE where there is none */
	enum dtype weight_dtype;    /* of the weights where they are narrower (w4a16: dtype is bf16); else the dtype */
	bool static_scale;          /* fp8-static: scales are known beforehand */
	const char *routing;        /* of a mixture: balanced, power_law_1.2 */
#define DIMENSION(member, text, title) double member;
#include "model/hw/measurement.def"
#undef DIMENSION
	double time_s, min_s, max_s, n_runs; /* median, spread and repetitions */
	double byte_per_s; /* of a copy or p2p; their time may be absent where the source prints bandwidths alone */
	double clock_hertz, power_watt;      /* seen while it ran */
	const char *mode;                    /* of a collective: out-of-place, in-place */
	const char *intra_link, *inter_link; /* as the source prints them */
	const char *date, *driver, *library, *host, *note;
	const char *source, *id, *confidence; /* of a published figure */
};

struct measurements {
	const char *file;
	int n_rows;
	struct measurement *rows;
	int n_skipped; /* rows that are not used, each with a reason in `skips` */
	int n_skips;   /* distinct reasons */
	struct {
		const char *why;
		int n, first_line;
	} skips[32];
};

/* --- formats of numbers ---------------------------------------------------------------------------------- */

/* Formats of numbers: what they cost, what they can hold, and how they round.  The table is in format.c. */

enum format_code { CODE_IEEE, CODE_E4M3, CODE_FINITE, CODE_INTEGER, CODE_NORMAL };
enum scaling { SCALING_NONE, SCALING_ABSMAX, SCALING_POWER, SCALING_FP8 };

struct format {
	const char *name, *title, *source;
	enum format_code code;
	enum scaling scaling;
	double exponent_bits, mantissa_bits, stored_bits;
	double scale_bits, group, zero_bits; /* group 0: a scale that is not counted */
	double outer_bits, outer_group;      /* second-level scale: bits, and scales per group */
};

enum { N_FORMATS = 25 };
extern const struct format number_formats[N_FORMATS];
/* The format of this name, or NULL. */
const struct format *format_find(const char *name);
bool format_is_float(const struct format *f);

/* --- what it costs --------------------------------------------------------------------------------------- */

double format_bits(struct sheet *sh, const struct format *f);
double format_scale_bytes(struct sheet *sh, const struct format *f, double n_params);
/* How many times smaller than a base. */
double format_ratio(struct sheet *sh, double base_bits_per_weight, double bits_per_weight);

/* --- what it can hold: a floating-point code, before scaling --------------------------------------------- */

double format_element_bits(struct sheet *sh, const struct format *f);
double format_largest(struct sheet *sh, const struct format *f);
double format_smallest_normal(struct sheet *sh, const struct format *f);
double format_smallest(struct sheet *sh, const struct format *f);
double format_digits(struct sheet *sh, const struct format *f);
/* From a number to the next. */
double format_spacing(struct sheet *sh, const struct format *f, double magnitude);
/* A number times a loss scale. */
double format_scaled(struct sheet *sh, double value, double factor);
/* An update in units of the spacing: below one half it is rounded away. */
double format_update(struct sheet *sh, double update, double spacing);

/* Integers: the largest one, and the step when the largest of a group is absmax. */
double integer_largest(struct sheet *sh, double n_bits);
double integer_step(struct sheet *sh, double absmax, double largest);
/* Rounding to a grid: mean, root of the mean square, and largest error. */
double rounding_mean(struct sheet *sh, double step);
double rounding_rms(struct sheet *sh, double step);
double rounding_worst(struct sheet *sh, double step);

/* --- how it rounds a normal distribution, in units of its standard deviation ----------------------------- */

double normal_mean_abs(struct sheet *sh);
double rounding_relative(struct sheet *sh, double mean_error, double mean_abs);
double rounding_snr(struct sheet *sh, double rms_error);
/* Bits that the best code of all would need for this error. */
double rounding_ideal_bits(struct sheet *sh, double rms_error);

#endif
