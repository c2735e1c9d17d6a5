/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Choices that several commands share, one function each: model, kernels, network, memory, dtypes, load, layout,
 * batch.
 */
#ifndef RIDGE_ASK_BIND_BIND_H
#define RIDGE_ASK_BIND_BIND_H

#include "cli/cli.h"
#include "model/calc/calc.h"
#include "model/measured/measured.h"
#include "model/memory/memory.h"
#include "model/serve/serve.h"
#include "search/fit/fit.h"
#include "search/plan/plan.h"

/* A model by name, or by the dimensions that determine its KV cache. */

struct shape_in {
#define SHAPE_OPTIONS(X)                                                                                               \
	X(0, layers, "layers", "layers", COUNT, "N", "", NULL, "attention layers, when no model is given")             \
	X(0, heads, "heads", "heads", COUNT, "N", "", NULL,                                                            \
	    "query heads, when no model is given (default: --kv-heads)")                                               \
	X(0, kv_heads, "kv-heads", "kv_heads", COUNT, "N", "", NULL, "KV heads, when no model is given")               \
	X(0, head_dim, "head-dim", "head_dim", COUNT, "N", "", NULL, "head dimension, when no model is given")
	SHAPE_OPTIONS(OPTION_MEMBER)
};

bool shape_given(const struct shape_in *in);
/* The model with this name, or one made of the shape; it keeps a cache.  NULL with errors. */
const struct workload *run_shape(struct run *r, struct word model, const struct shape_in *in);
/* Whether the launch file of --from is about a model of these dimensions, with or without what --set changes of the one
 * that is filed; false with an error. */
bool run_claims_hold(struct run *r, const struct workload *w, const struct workload *filed);
/* A whole number from `least` on; an absent one is all right. */
bool run_whole(struct run *r, const char *option, struct datum d, double least);

/* The interval around a time that fitted parameters gave. */

/* Basis of a predicted time. */
struct error_source {
	const struct calibration *fit; /* NULL: no calibration, and no interval */
	const char *kind;              /* a file of hwdb/uncertainty: `gemm` */
	const char *residual;          /* of the calibration: `gemm_bf16`; NULL: the file's own */
	const char *regime;            /* `decode`, where residuals differ; NULL: all */
	bool transferred;              /* the fit is of another machine, and does not say so itself */
	bool one_engine;       /* the fit is of several engines, or of one way to run, and another one is meant */
	double transfer_sigma; /* what that adds; 0: as the file says */
	int n;
	struct {
		const char *dim;
		double value;
	} at[UNCERTAINTY_RANGES];
};

/* What is known of this kind of answer; an empty one when there is no file.  Read once for each run. */
const struct uncertainty *run_uncertainty(struct run *r, const char *kind);
/* The terms of the error, for answers that put several together; false when there is nothing to go by.  *why says
 * `calibrated`, `transferred from ...` and `extrapolated: m above 32768`; `why` NULL: not needed. */
bool run_errors(struct run *r, const struct error_source *s, struct error_terms *out, const char **why);
/* The same with what run_uncertainty said, for many. */
bool run_errors_with(struct run *r, const struct error_source *s, const struct uncertainty *u, struct error_terms *out,
    const char **why);
/* The interval of an answer that rests on no calibration, such as memory; false when its kind has no file. */
bool run_answer_interval(struct run *r, const char *kind, bool listed, double value, struct interval *out);
/* The interval of one time; false when there is none. */
bool run_interval(struct run *r, const struct error_source *s, double value, struct interval *out);

/*
 * Bindings: one function per choice (kernels, memory, layout, price ...), so that commands agree on it.  Commands call
 * these and do not read the inputs themselves.
 */

struct memory_in;

/* --- kernels and networks: rates of the GPU in hand ------------------------------------------------------- */

enum kernel_purpose {
	KERNELS_ROOFLINE,     /* one kernel: products are those of all engines together, unless an engine is named */
	KERNELS_TRAIN,        /* a training library's; with an engine, that engine's */
	KERNELS_SERVE,        /* a serving engine's */
	KERNELS_SERVE_LATENT, /* ... of a model whose attention is over latents */
	KERNELS_COLLECTIVE,   /* NCCL inside one node; with an engine, what that engine's own file has */
};

/* What was fitted to the kernels of this GPU, by the rules of hwdb/transfers another GPU's for what nobody measured
 * (transferred_from says whose), at the figures of the GPU and of the links of `system` (or NULL: the GPU's own) as
 * they were set.  `engine` NULL: no one engine's.  NULL without an error when nothing is known. */
const struct calibration *bind_kernels(
    struct run *r, const struct gpu *gpu, const struct system *system, enum kernel_purpose purpose, const char *engine);

/* Kernels of the GPU and engine of a setup, and whether its GPUs are linked; a transfer is listed. */
void bind_serve_kernels(struct run *r, const struct system *system, struct serve_parts *p);
/* What joins the nodes of a replica that has more GPUs than one of them. */
void bind_serve_network(struct run *r, const struct system *system, struct serve_parts *p);

/* Collectives over the nodes of a system. */
struct network_fit {
	const struct calibration *fit; /* the file that it rests on */
	bool transferred;              /* of another collective, or of other fabrics */
	bool near;                     /* those have the same transport */
	struct network_calibration rates;
};
/* `fabric` NULL: not known which.  False when nothing is known of this collective over any network. */
bool bind_network(
    struct run *r, const struct gpu *gpu, const struct link *fabric, enum collective c, struct network_fit *out);
/* Of all collectives; those that nothing is known of are 0. */
const struct network_calibration *bind_networks(struct run *r, const struct gpu *gpu, const struct link *fabric);
/* GPUs that reach each other without a network, of the system or of any system with this GPU; 0: not known. */
double run_node_gpus(struct run *r);
/* The same as if nobody had measured this fabric. */
bool bind_network_unmeasured(
    struct run *r, const struct gpu *gpu, const struct link *fabric, enum collective c, struct network_fit *out);

/* --- typical errors ------------------------------------------------------------------------------------------ */

/* `7 % on 41 runs of 6 models`: errors of published runs (`train`, `memory`, `comm`) that rest on a stack or
 * calibration of this name, left out of the fit; or that there are none. */
const char *typical_error(struct run *r, const char *kind, const char *name, const char *of);
const char *typical_error_words(struct run *r, double left_out_frac, int n_runs, int n_of, const char *of);

/* --- card: usable memory of a GPU ------------------------------------------------------------------------- */

/* --gpu-mem, else what the driver reports, else 99 % of the label in GiB, listed as assumed. */
struct datum bind_card(struct run *r, const struct gpu *gpu, struct datum given);

/* --- formats: dtypes of weights, GEMMs and KV cache ------------------------------------------------------ */

struct formats_in {
	struct word dtype, weights_dtype, kv_dtype;
	struct datum bits, head_bits; /* of a weight; absent: what the types say */
};

struct formats {
	enum dtype compute, weights, kv; /* of GEMMs, of most weights as stored, of the KV cache */
	const struct quantisation
	    *published;                /* each part is stored as the checkpoint has it; NULL: as `weights` says */
	double weight_byte, head_byte; /* of a weight, of one of the head; 0: what the types say */
	double part_byte[N_PARTS];     /* of a stored weight, by part */
};

/* ... as parts of a setup of the serving model. */
void serve_formats(struct serve_parts *p, const struct formats *f);
/* What options say; else what the model was published in, listed as such; else bf16.  The cache: option, checkpoint, or
 * the engine's rule.  False with errors. */
bool bind_formats(struct run *r, const struct formats_in *in, const struct workload *w, const struct gpu *gpu,
    const struct engine *e, struct formats *out);

/* --- room: memory left for the cache of a serving engine --------------------------------------------------- */

struct room_in {
	struct datum headroom, utilization, block, step_token; /* absent: what the engine does */
};

/* The headroom (absent: none) of a setup of the serving model.  False with errors. */
bool serve_headroom(struct run *r, struct datum headroom, struct serve_parts *p);
/* Fills all of a serving job but its model, layout, batch and sequence.  False with errors. */
bool bind_room(struct run *r, const struct room_in *in, const struct stack *engine, const struct formats *f,
    struct datum card, struct memory_job *job);

/* --- load: requests, clients and think times --------------------------------------------------------------- */

/* A limit of a mean or a percentile: `tpot:40ms`, `ttft.p95:2s`, `ttft=p95:2s`. */
enum slo_measure { SLO_TTFT, SLO_TPOT, SLO_E2E, SLO_ITL, N_SLO_MEASURES };
struct slo {
	enum slo_measure measure;
	enum plan_statistic statistic;
	struct datum limit_s;
	const char *text; /* `ttft.p95` */
};
/* One item of --slo; false with an error. */
bool bind_slo(struct run *r, struct word w, struct slo *out);
/* The row of a percentile. */
void bind_show_percentile(struct sheet *sh, enum plan_measure m, enum plan_statistic s, double time_s);

/* What a command's options say; absent: nothing, or it has no such option. */
struct load_in {
	struct datum isl, osl, cached, isl_cv, osl_cv;
	struct datum rate, clients; /* one of them, or neither */
	struct datum think, think_cv;
	struct datum requests, draft_tokens, accepted, draft_time;
	double usual_think_s; /* default think time of clients */
	const char *clients_option;
};

/* Requests at a rate, from clients, or (both NaN) all queued at the start. */
struct load {
	struct serve_load each;
	double rate_request_per_s, n_clients;
	double think_s, think_cv;
};

/* `--speculate mtp=3,accept=0.8`: how tokens are drafted. */
enum draft_method { DRAFT_NONE, DRAFT_LOOKUP, DRAFT_MTP, DRAFT_EAGLE, DRAFT_MODEL };
struct speculation {
	enum draft_method method;
	double n_drafts, accept_frac;
	struct source from;
	const struct workload *model; /* that drafts, or NULL */
};
/* Without words: DRAFT_NONE.  False with errors. */
bool bind_speculation(struct run *r, const struct words *words, const struct workload *target, struct speculation *out);
/* Its tokens of a step, in a load. */
void bind_drafted(const struct speculation *in, struct serve_load *load);
/* Add the draft model to a setup made from these parts; NULL or a fault. */
const char *bind_draft(
    struct run *r, const struct speculation *in, const struct serve_parts *target, struct serve_setup *s);

/* The link of --kv-link, which needs a bandwidth.  NULL with errors. */
const struct link *bind_kv_link(struct run *r, struct word name);
/* False with errors. */
bool bind_load(struct run *r, const struct load_in *in, struct load *out);

/* --- price: what a replica costs to rent ------------------------------------------------------------------- */

/* `--price 2.5` or `--price h100=2.5,h200=3.2` in USD per hour of a GPU, and a part of the name or source of what is
 * rented (`--provider lambda`). */
struct price_in {
	const struct words *price;
	struct word provider;
};

/* The unit in which GPUs are rented: one GPU, or an instance of several. */
struct rental {
	double n_gpus;
	struct datum gpu_usd_per_s; /* absent: not known */
	const char *name;           /* of the instance; NULL: a price by the GPU */
};

/* Price of a replica with n linked GPUs.  --price is per GPU; the database prices whole instances: the smallest that
 * holds the replica is rented, and listed with its date.  False with errors. */
bool bind_price(struct run *r, const struct price_in *in, const struct gpu *gpu, double n_linked, struct rental *out);
/* Whether --price, which may list other GPUs too, has one that is asked about.  False with errors. */
bool bind_prices_asked(struct run *r, const struct words *prices, const struct words *gpus);
/* The price that --price says of this GPU, else of all; absent: neither.  False with errors. */
bool bind_given_price(struct run *r, const struct words *words, const struct gpu *gpu, struct datum *out);

/* --- software: the stack or engine of a job ---------------------------------------------------------------- */

/* Inputs that determine the default framework or engine. */
struct software_ask {
	enum stack_use use;
	struct word name; /* --stack; no text: chosen by the rest */
	const struct layout_in *layout;
	bool adapters;
};

/* What people run such a job with. */
const char *bind_usual_stack(const struct software_ask *ask);
/* The framework or engine; a choice is listed under `assumed`.  NULL with errors. */
const struct stack *bind_software(struct run *r, const struct software_ask *ask);
/* The engine of this name, or the usual one on this GPU (NULL: any), which is listed.  NULL with errors. */
const struct engine *bind_engine(struct run *r, struct word name, const struct gpu *gpu);

/* A replica's layout as given, with tp from its number of GPUs where that is left open, which is listed.  False with
 * errors. */
bool bind_replica(struct run *r, const struct layout_in *in, struct datum n_gpus, struct layout_in *out);
/* Degrees of parallelism of a served replica, marked as read. */
void bind_served_degrees(struct run *r, const struct layout_in *in);
/* --decode-layout: the layout of the replicas that decode, where others prefill.  False with errors. */
bool bind_decode_layout(
    struct run *r, const struct words *said, const struct workload *model, struct serve_layout *out);

/* --- layout: degrees of parallelism and what goes with them ------------------------------------------------ */

struct layout_ask {
	const struct layout_in *in;
	struct datum n_gpus;
	const struct workload *model;
	const struct stack *stack;
	bool no_sp; /* --no-sp */
	bool adapters;
};

/* A layout: what was said, and what the framework or engine does where nothing was, which is listed under `assumed`.
 * What it lacks is refused.  False with errors. */
bool bind_layout(struct run *r, const struct layout_ask *ask, struct layout *out);
/* GPUs in the scale-up domain of the given system, or of a typical node. */
double bind_node_gpus(struct run *r, const struct memory_in *in);

/* --- batch: sequences, micro-batches, tokens --------------------------------------------------------------- */

struct batch {
	struct datum seq_length;
	struct datum n_sequences, n_microbatches, n_global_sequences; /* as in struct batch_said */
	struct batch_said said;
};

/* The batch of a training step.  Contradictions and fractions are refused with the nearest numbers that work. */
bool bind_batch(struct run *r, const struct memory_in *in, const struct workload *w, const struct stack *s,
    const struct layout *l, struct batch *out);
/* The same with the length of a sequence in `out`. */
bool bind_microbatches(struct run *r, const struct memory_in *in, const struct layout *l, struct batch *out);
/* Tokens of a sequence: those that were asked for, else what the model usually takes; a multiple of `unit`. */
bool bind_sequence(struct run *r, struct datum asked, const struct workload *w, double unit, struct datum *out);

/* Kernels of a GPU at the figures of its entry, before anything is set; private to kernels.c and ask/train/kernels.c.
 */

/* One calibration file, NULL without. */
const struct calibration *filed_fit(struct run *r, const struct gpu *gpu, const char *backend);
/* As bind_kernels; made once and kept with the entry. */
const struct calibration *filed_kernels(
    struct run *r, const struct gpu *gpu, enum kernel_purpose purpose, const char *engine);
/* All engines' kernels, products of the engine whose prefill is the middle one. */
const struct calibration *middle_kernels(struct run *r, const struct gpu *gpu);
/* The consensus of the measured products, the middle one of the engines' attention kernels, the 8-bit products of the
 * engine that has the fastest. */
const struct calibration *train_kernels(struct run *r, const struct gpu *gpu);

#endif
