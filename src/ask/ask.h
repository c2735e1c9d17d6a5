/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of commands that need only one file each: measured values of any unit, prices, hardware, scaling, models,
 * causes. */
#ifndef RIDGE_ASK_ASK_H
#define RIDGE_ASK_ASK_H

#include "cli/cli.h"
#include "db/db.h"
#include "model/calc/calc.h"
#include "model/measured/measured.h"
#include "search/plan/plan.h"

/* --- measurements of any unit -------------------------------------------------------------------------------- */

/* Measurements that may be times, sizes, rates or plain numbers: read alike, calculated with as numbers in base units,
 * and shown in their unit again. */

enum measure {
	MEASURE_ANY = -1, /* the first one says */
	MEASURE_NUMBER,
	MEASURE_TIME,
	MEASURE_SIZE,
	MEASURE_RATE,
};

/* `12ms`, `8.5GB`, `1200`.  The first text sets the kind, all others must be of it. */
bool measure_read(struct run *r, struct source at, const char *text, enum measure *kind, double *value);
/* A fraction (0.15 or 15%) that lies between low and high. */
bool measure_fraction(struct run *r, const char *name, struct datum d, double low, double high);

/* Numbers of a list, or of a file that its only word names: one number per line, a CSV or YAML column. */
struct measures {
	size_t n;
	double *value;
	enum measure kind;
};
bool measures_read(struct run *r, const char *name, const struct words *list, struct word column, struct measures *out);

/* Points `STEP:VALUE` of a list, or two columns of a file, in the order of their steps. */
struct points {
	size_t n;
	double *step, *value;
	enum measure kind; /* of the values; steps are numbers */
};
bool points_read(struct run *r, const struct words *list, struct word x, struct word y, struct points *out);

/* The row that says in which unit numbers are; once, before any MEASURED row. */
void measure_unit(struct sheet *sh, enum measure kind);

/* A function show_NAME(sh, kind, NAME) that shows the row NAME in its unit as the answer ID_s, ID_byte, ... */
#define MEASURED(name, id)                                                                                             \
	static void show_##name(struct sheet *sh, enum measure kind, double name)                                      \
	{                                                                                                              \
		const double unit_s = 1, unit_byte = 1, unit_byte_per_s = 1;                                           \
		switch (kind) {                                                                                        \
		case MEASURE_TIME: {                                                                                   \
			CALL(sh, name##_s, measured_time(sh, name, unit_s));                                           \
			SHOW(sh, name##_s, id##_s);                                                                    \
			break;                                                                                         \
		}                                                                                                      \
		case MEASURE_SIZE: {                                                                                   \
			CALL(sh, name##_byte, measured_size(sh, name, unit_byte));                                     \
			SHOW(sh, name##_byte, id##_byte);                                                              \
			break;                                                                                         \
		}                                                                                                      \
		case MEASURE_RATE: {                                                                                   \
			CALL(sh, name##_byte_per_s, measured_rate(sh, name, unit_byte_per_s));                         \
			SHOW(sh, name##_byte_per_s, id##_byte_per_s);                                                  \
			break;                                                                                         \
		}                                                                                                      \
		case MEASURE_ANY:                                                                                      \
		case MEASURE_NUMBER:                                                                                   \
			SHOW(sh, name, id);                                                                            \
		}                                                                                                      \
	}

/* --- hw ------------------------------------------------------------------------------------------------------ */

/* Rows of `ridge hw`. */

/* A figure or a word that the database has; nothing where it has none. */
void hw_figure(struct run *r, const struct answer_entry *answer, struct datum d);
void hw_word(struct run *r, const struct answer_entry *answer, const char *text);
#define HW_FIGURE(r, id, d) hw_figure((r), &answer_table[NUMBER_##id], (d))
#define HW_WORD(r, id, text) hw_word((r), &answer_table[WORD_##id], (text))

/* What the kernels of a GPU reach of its datasheet: its own fits, or transferred ones. */
void hw_show_calibration(struct run *r, const struct gpu *gpu);
/* A calibration of a host, of a network or of one engine. */
void hw_show_fit(struct run *r, const struct calibration *c);
/* `measured`, `from h100-sxm5-80gb`, or `-`. */
const char *hw_calibrated(struct run *r, const struct gpu *gpu);

/* The links of the database as a table, and the link that a bandwidth fits. */

/* Links named in `list` (all when it has no text) and those of a GPU: both units, both directions. */
enum answer links_show(struct run *r, struct word list, struct word gpu);
/* The slowest links that carry a volume in this time: between GPUs, and between nodes. */
void links_fitting(struct run *r, double volume_byte, double comm_s);

/* --- cost ---------------------------------------------------------------------------------------------------- */

/* Inputs of `ridge cost`, shared by its commands and calculations. */

#define COST_OPTIONS(X)                                                                                                \
	X(0, gpus, "gpus", "gpus", COUNT, "N", "", NULL, "GPUs paid for (default: those of --nodes)")                  \
	X(0, price, "price", "price", WORDS, "USD/h|GPU=USD/h,...", "", NULL,                                          \
	    "price of one GPU, or of several by name")                                                                 \
	X(0, node_price, "node-price", "node_price", PER_HOUR, "USD/h", "", NULL,                                      \
	    "price of one node, with --node-gpus")                                                                     \
	X(0, node_gpus, "node-gpus", "node_gpus", COUNT, "N", "", NULL, "GPUs per node (default: those of --system)")  \
	X('g', gpu, "gpu", "gpu", WORD, "NAME", "gpu", NULL, "GPU whose dated price in the database is used")          \
	X(0, system, "system", "system", WORD, "NAME", "system", NULL,                                                 \
	    "system whose node price is used; with --own also its purchase price and power")                           \
	X(0, nodes, "nodes", "nodes", COUNT, "N", "", "1", "number of nodes of --system")                              \
	X(0, provider, "provider", "provider", WORD, "TEXT", "", NULL,                                                 \
	    "provider: part of the price's source, such as aws or lambda")                                             \
	X('t', time, "time", "time", TIME, "TIME", "", NULL, "run length (default: a month of 730 hours)")             \
	X(0, bill, "bill", "bill", MONEY, "USD", "", NULL, "amount paid; prints the implied price")                    \
	X(0, budget, "budget", "budget", MONEY, "USD", "", NULL, "maximum cost; exit status 1 above it")               \
	X(0, load, "load", "load", NUMBER, "N", "", NULL, "mean request rate, requests per second")                    \
	X(0, capacity, "capacity", "capacity", WORD, "RATE@GPUS", "", NULL,                                            \
	    "measured capacity: 350@8 is 350 requests per second on 8 GPUs; sizes the fleet for --load")               \
	X(0, target_load, "target-load", "target_load", FRACTION, "FRACTION", "", "0.75",                              \
	    "target utilization of the fleet's capacity")                                                              \
	X(0, isl, "isl", "isl", COUNT, "N", "", NULL, "input sequence length (ISL) of a request")                      \
	X(0, osl, "osl", "osl", COUNT, "N", "", NULL, "output sequence length (OSL) of a request")                     \
	X(0, input_rate, "input-rate", "input_rate", NUMBER, "N", "", NULL,                                            \
	    "prefill throughput of the GPUs, tokens per second, measured alone")                                       \
	X(0, output_rate, "output-rate", "output_rate", NUMBER, "N", "", NULL,                                         \
	    "decode throughput of the GPUs, tokens per second, measured alone")                                        \
	X(0, output_weight, "output-weight", "output_weight", NUMBER, "FACTOR", "", NULL,                              \
	    "cost ratio of an output token to an input token")                                                         \
	X(0, before, "before", "before", MONEY, "USD", "", NULL, "cost before the change")                             \
	X(0, after, "after", "after", MONEY, "USD", "", NULL, "cost after the change")                                 \
	X(0, own, "own", "own", FLAG, "", "", NULL,                                                                    \
	    "compare owning with renting; needs --electricity, and --capital or --system")                             \
	X(0, capital, "capital", "capital", MONEY, "USD", "", NULL, "purchase price of all machines")                  \
	X(0, years, "years", "years", NUMBER, "N", "", "4", "years of use")                                            \
	X(0, residual, "residual", "residual", FRACTION, "FRACTION", "", "0",                                          \
	    "residual value, as a share of the capital")                                                               \
	X(0, power, "power", "power", POWER, "WATT", "", NULL, "mean power of all machines")                           \
	X(0, pue, "pue", "pue", NUMBER, "FACTOR", "", "1.56", "power usage effectiveness of the facility")             \
	X(0, electricity, "electricity", "electricity", PER_ENERGY, "USD/kWh", "", NULL, "electricity price")          \
	X(0, hosting, "hosting", "hosting", MONEY, "USD", "", "0usd", "monthly hosting cost: space, network, staff")   \
	X(0, duty, "duty", "duty", FRACTION, "FRACTION", "", "100%", "share of hours in which the GPUs are needed")

struct cost_in {
	COST_OPTIONS(OPTION_MEMBER)
};

struct fleet {
	const struct cost_in *in;
	const struct system *system;  /* NULL: not named */
	double n_gpus, gpu_usd_per_s; /* NaN: not known */
	double bill_usd, bill_s;      /* what is paid, and for how long */
	double request_usd;           /* of one request */
};

/* What one GPU costs: as stated, or the price of the database that was asked for; false with an error. */
bool cost_find_base(struct run *r, const struct cost_in *in, struct fleet *f);
/* Cost of buying the machines, compared with renting them. */
enum answer cost_own_or_rent(struct run *r, const struct cost_in *in, const struct fleet *f);

/* --- scale --------------------------------------------------------------------------------------------------- */

/* The inputs of `ridge scale`, and what it makes of measured points. */

#define SCALE_OPTIONS(X)                                                                                               \
	X(0, points, "points", "points", WORDS, "N:RATE,...", "", NULL, "measured throughput (per second) of N GPUs")  \
	X(0, series, "series", "series", WORD, "FILE", "file", NULL,                                                   \
	    "table with columns of GPU counts and rates; - is standard input")                                         \
	X(0, times, "times", "times", WORDS, "TIME@N,...", "", NULL, "measured time of one job on N GPUs")             \
	X(0, warn_below, "warn-below", "warn_below", FRACTION, "FRACTION", "", NULL,                                   \
	    "minimum scaling efficiency; exit status 1 below it")                                                      \
	X(0, gpus, "gpus", "gpus", WORDS, "N,...", "", NULL, "GPU counts to predict")                                  \
	X(0, price, "price", "price", PER_HOUR, "USD/h", "", NULL, "price of one GPU")                                 \
	X(0, compute, "compute", "compute", TIME, "TIME", "", NULL, "compute time of a step on one GPU")               \
	X(0, gradient, "gradient", "gradient", SIZE, "SIZE", "", NULL, "gradient bytes all-reduced per step (ring)")   \
	X(0, bandwidth, "bandwidth", "bandwidth", RATE, "RATE", "", NULL,                                              \
	    "bandwidth of the ring's slowest link, one direction")                                                     \
	X(0, latency, "latency", "latency", TIME, "TIME", "", "0s", "latency of one ring hop")                         \
	X(0, communication, "communication", "communication", TIME, "TIME", "", NULL,                                  \
	    "measured time of the all-reduce, instead of --gradient and --bandwidth")                                  \
	X(0, overlap, "overlap", "overlap", FRACTION, "FRACTION", "", "0",                                             \
	    "share of communication overlapped with compute")                                                          \
	X(0, target, "target", "target", FRACTION, "FRACTION", "", NULL,                                               \
	    "target efficiency; prints the overlap needed")                                                            \
	X(0, stages, "stages", "stages", COUNT, "N", "", NULL, "pipeline stages")                                      \
	X(0, microbatches, "microbatches", "microbatches", COUNT, "N", "", NULL, "micro-batches per step")             \
	X(0, batch, "batch", "batch", COUNT, "N", "", NULL, "samples per step and replica, with --micro-batch")        \
	X(0, micro_batch, "micro-batch", "micro_batch", COUNT, "N", "", NULL, "micro-batch size in samples")           \
	X(0, interleave, "interleave", "interleave", COUNT, "N", "", "1",                                              \
	    "model chunks per stage (interleaved schedule)")                                                           \
	X(0, bubble, "bubble", "bubble", FRACTION, "FRACTION", "", NULL,                                               \
	    "measured bubble fraction, instead of --stages")                                                           \
	X(0, target_bubble, "target-bubble", "target_bubble", FRACTION, "FRACTION", "", NULL,                          \
	    "target bubble fraction")                                                                                  \
	X(0, serial, "serial", "serial", FRACTION, "FRACTION", "", NULL,                                               \
	    "serial fraction, for Amdahl's and Gustafson's laws at --gpus")                                            \
	X(0, coherency, "coherency", "coherency", NUMBER, "COST", "", NULL,                                            \
	    "coherency coefficient of the USL, with --serial")                                                         \
	X(0, law, "law", "law", CHOICE, "LAW", "doc", NULL,                                                            \
	    "rule of thumb at --gpus: doc, 85 % at 8, 70 % at 64, 50 % from 256")

struct scale_in {
	SCALE_OPTIONS(OPTION_MEMBER)
};

enum { POINTS_MAX = 256 };

/* A measurement at a GPU count: a rate, or the time of a job. */
struct scale_point {
	double n_ranks, value;
	struct source from;
};

/* The GPUs of --gpus; false with an error. */
bool scale_ranks(struct run *r, const struct scale_in *in, double *ranks);
/* Refuse a query without a number of GPUs. */
bool scale_need_ranks(struct run *r, const struct scale_in *in);
/* A fraction as people read it. */
const char *scale_percent(struct run *r, double fraction);
/* Efficiency and laws of measured points. */
enum answer scale_measured(struct run *r, const struct scale_in *in);

/* --- `ridge diagnose` ---------------------------------------------------------------------------------------- */

#define DIAGNOSE_OPTIONS(X)                                                                                            \
	X(0, use, "use", "use", CHOICE, "USE", "train|serve", NULL,                                                    \
	    "kind of run; leaves out causes that do not apply")                                                        \
	X(0, gpu_util, "gpu-util", "gpu_util", FRACTION, "FRACTION", "", NULL, "GPU utilization (nvidia-smi)")         \
	X(0, sm_active, "sm-active", "sm_active", FRACTION, "FRACTION", "", NULL, "SM activity (DCGM sm_active)")      \
	X(0, occupancy, "occupancy", "occupancy", FRACTION, "FRACTION", "", NULL, "SM occupancy (DCGM sm_occupancy)")  \
	X(0, tensor_active, "tensor-active", "tensor_active", FRACTION, "FRACTION", "", NULL,                          \
	    "tensor core activity (DCGM tensor_active)")                                                               \
	X(0, mem_bandwidth, "mem-bandwidth", "mem_bandwidth", FRACTION, "FRACTION", "", NULL,                          \
	    "memory bandwidth utilization (DCGM dram_active)")                                                         \
	X(0, cpu_util, "cpu-util", "cpu_util", FRACTION, "FRACTION", "", NULL,                                         \
	    "utilization of the CPU cores that feed the GPU")                                                          \
	X(0, mfu, "mfu", "mfu", FRACTION, "FRACTION", "", NULL, "model FLOPs utilization")                             \
	X(0, clock, "clock", "clock", CLOCK, "CLOCK", "", NULL, "SM clock under load")                                 \
	X(0, max_clock, "max-clock", "max_clock", CLOCK, "CLOCK", "", NULL,                                            \
	    "maximum SM clock (default: that of --gpu)")                                                               \
	X(0, kernel_time, "kernel-time", "kernel_time", TIME, "TIME", "", NULL, "mean kernel duration")                \
	X(0, gaps, "gaps", "gaps", CHOICE, "SIZE", "large|small", NULL,                                                \
	    "idle gaps in a trace: large between batches, or small between kernels")                                   \
	X(0, slow, "slow", "slow", FLAG, "", "", NULL, "throughput is low, without a figure")                          \
	X('s', step, "step", "step", TIME, "TIME", "", NULL, "step time")                                              \
	X(0, parts, "parts", "parts", WORDS, "PART=TIME|SHARE,...", "", NULL,                                          \
	    "parts of the step time: load compute forward backward optimizer comm launch sync bubble checkpoint "      \
	    "other")                                                                                                   \
	X(0, predicted, "predicted", "predicted", WORDS, "PART=TIME,...", "", NULL,                                    \
	    "predicted times: load compute comm step")                                                                 \
	X(0, gpus, "gpus", "gpus", COUNT, "N", "", NULL, "number of GPUs")                                             \
	X(0, speedup, "speedup", "speedup", NUMBER, "X", "", NULL, "speedup over one GPU")                             \
	X(0, slowest_rank, "slowest-rank", "slowest_rank", NUMBER, "X", "", NULL,                                      \
	    "step time of the slowest rank over the mean")                                                             \
	X(0, p50, "p50", "p50", TIME, "TIME", "", NULL, "P50 latency")                                                 \
	X(0, p99, "p99", "p99", TIME, "TIME", "", NULL, "P99 latency")                                                 \
	X(0, oom, "oom", "oom", FLAG, "", "", NULL, "out-of-memory errors")                                            \
	X(0, peak, "peak", "peak", SIZE, "SIZE", "", NULL, "peak memory in use")                                       \
	X(0, memory, "memory", "memory", SIZE, "SIZE", "", NULL, "GPU memory (default: that of --gpu)")                \
	X(0, growth, "growth", "growth", SIZE, "SIZE", "", NULL, "growth of allocated memory per step")                \
	X(0, baseline, "baseline", "baseline", NUMBER, "RATE", "", NULL, "baseline throughput, any unit")              \
	X(0, current, "current", "current", NUMBER, "RATE", "", NULL, "current throughput, same unit")                 \
	X(0, nan, "nan", "nan", FLAG, "", "", NULL, "loss became NaN")                                                 \
	X(0, loss_spikes, "loss-spikes", "loss_spikes", FLAG, "", "", NULL, "loss spikes at regular steps")            \
	X(0, accuracy_drop, "accuracy-drop", "accuracy_drop", FRACTION, "FRACTION", "", NULL,                          \
	    "accuracy lost to quantization")                                                                           \
	X(0, cache_used, "cache-used", "cache_used", FRACTION, "FRACTION", "", NULL, "KV cache utilization")           \
	X(0, waiting, "waiting", "waiting", COUNT, "N", "", NULL, "queued requests")                                   \
	X(0, preempted, "preempted", "preempted", COUNT, "N", "", NULL, "preempted requests")                          \
	X('b', batch, "batch", "batch", COUNT, "N", "", NULL, "batch size")                                            \
	X('m', model, "model", "model", WORD, "MODEL", "model", NULL, "model, for the suggested commands")             \
	X('g', gpu, "gpu", "gpu", WORD, "NAME", "gpu", NULL,                                                           \
	    "GPU, for its memory and clock and the suggested commands")                                                \
	X(0, top, "top", "top", COUNT, "N", "", "5", "number of causes to print")                                      \
	X(0, list, "list", "list", FLAG, "", "", NULL, "list all known causes")                                        \
	X(0, figures, "figures", "figures", FLAG, "", "", NULL, "list the evidence for each cause")

struct diagnose_in {
	DIAGNOSE_OPTIONS(OPTION_MEMBER)
};

/* X(name, title, the GPU waits meanwhile) */
#define PARTS(X)                                                                                                       \
	X(load, "loading", true)                                                                                       \
	X(compute, "computing", false)                                                                                 \
	X(forward, "forward pass", false)                                                                              \
	X(backward, "backward pass", false)                                                                            \
	X(optimizer, "optimizer", false)                                                                               \
	X(comm, "exposed communication", true)                                                                         \
	X(launch, "launch overhead", true)                                                                             \
	X(sync, "host synchronization", true)                                                                          \
	X(bubble, "pipeline bubble", true)                                                                             \
	X(checkpoint, "checkpoint writes", true)                                                                       \
	X(other, "other", false)

enum step_part {
#define PART(name, title, waits) PART_##name,
	PARTS(PART)
#undef PART
	    N_STEP_PARTS,
};

struct part_value {
	struct datum time_s, share_frac; /* one of them, or none */
};

struct breakdown {
	struct part_value part[N_STEP_PARTS];
	size_t n, n_times;
};

/* What was said of the parts; false with an error. */
bool diagnose_read_parts(struct run *r, const struct diagnose_in *in, struct breakdown *b);
/* Rows of all parts; false when they are more than the step.  *busy_frac is how long the GPU computes. */
bool diagnose_show_parts(struct run *r, const struct breakdown *b, struct figures *f, double *busy_frac);
/* Forward and backward pass make up the compute of a step if that was not given. */
void diagnose_join_passes(struct run *r, const struct breakdown *b, struct figures *f);
/* A part's measured time against `PART=TIME`, its prediction. */
bool diagnose_show_predicted(struct run *r, struct word w, struct figures *f);
/* Which of the things that were given bear on what is shown. */
struct weighed {
	bool figure[N_FIGURES], model, gpu;
};

/* The causes that the figures speak for, ranked. */
void diagnose_show_causes(struct run *r, const struct diagnose_in *in, const struct figures *f,
    const struct diagnosis **all, size_t n, struct weighed *w);

/* --- `ridge model` --------------------------------------------------------------------------------------------- */

#define MODEL_CONVENTIONS                                                                                              \
	"all|ridge-causal|ridge-full|palm|kaplan|llm-foundry|megatron-bridge|nemo|sc21|sc21-model|bigscience|"         \
	"bigscience-no-recompute|seqsel|seqsel-hardware"
#define MODEL_OPTIONS(X)                                                                                               \
	X(0, verb, NULL, "verb", WORD, "VERB", "model", NULL, "list, show, compare or import; or a model to show")     \
	X(0, names, NULL, "names", WORDS, "NAME", "model", NULL, "models; for list, parts of their names")             \
	X('s', seq, "seq", "seq", COUNT, "N", "", NULL,                                                                \
	    "sequence length for attention FLOPs (default 4096, or the model's context length)")                       \
	X('b', batch, "batch", "batch", COUNT, "N", "", "1", "images or samples, for models without tokens")           \
	X(0, convention, "flops-convention", "flops_convention", WORD, "NAME", MODEL_CONVENTIONS, NULL,                \
	    "FLOPs per trained token by a published convention; all shows every one that fits the model")

struct model_in {
	MODEL_OPTIONS(OPTION_MEMBER)
};

/* True where tokens see only those before them, as in decoders. */
bool model_is_causal(const struct workload *w);

/* All of one model. */
enum answer model_show(struct run *r, const struct model_in *in, struct word name);

/* How a layer looks back, for people: `window of 128`, `Mamba-2`. */
const char *reach_text(struct arena *a, const struct block *b);

#endif
