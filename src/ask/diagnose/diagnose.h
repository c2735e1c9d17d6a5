/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inputs of `ridge diagnose` and its parts. */
#ifndef RIDGE_ASK_DIAGNOSE_DIAGNOSE_H
#define RIDGE_ASK_DIAGNOSE_DIAGNOSE_H

#include "cli/cli.h"
#include "db/db.h"
#include "search/plan/plan.h"

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

enum part {
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

#endif
