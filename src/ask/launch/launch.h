/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inputs of `ridge launch`. */
#ifndef RIDGE_ASK_LAUNCH_LAUNCH_H
#define RIDGE_ASK_LAUNCH_LAUNCH_H

#include "cli/cli.h"

#define LAUNCH_OPTIONS(X)                                                                                              \
	X('m', model, "model", "model", WORD, "MODEL", "model", NULL, "model whose operators are launched")            \
	X(0, launch, "launch", "launch", TIME, "TIME", "", NULL,                                                       \
	    "of the host for one kernel (default: as measured with --gpu, else 5 us; up to 20 us from Python)")        \
	X(0, kernels, "kernels", "kernels", COUNT, "N", "", NULL, "kernels of a step")                                 \
	X(0, layers, "layers", "layers", COUNT, "N", "", NULL, "layers, with --ops")                                   \
	X(0, ops, "ops", "ops", COUNT, "N", "", NULL, "kernels of a layer")                                            \
	X(0, gpu_time, "gpu-time", "gpu_time", TIME, "TIME", "", NULL,                                                 \
	    "that the GPU computes in a step (default with a model: its roofline)")                                    \
	X(0, blocking, "blocking", "blocking", FLAG, "", "", NULL, "the host waits for every kernel")                  \
	X(0, graph, "graph", "graph", TIME, "TIME", "", NULL, "of the host for a kernel inside a CUDA graph")          \
	X(0, graph_launch, "graph-launch", "graph_launch", TIME, "TIME", "", "0s", "of the host for the graph itself") \
	X(0, fuse, "fuse", "fuse", WORD, "N:M", "", NULL, "every N kernels become M")                                  \
	X('g', gpu, "gpu", "gpu", WORD, "NAME", "gpu", NULL, "the GPU, for its roofline and its bandwidth")            \
	X(0, phase, "phase", "phase", CHOICE, "PHASE", "prefill|decode|train", "decode",                               \
	    "with a model: what a step is")                                                                            \
	X('b', batch, "batch", "batch", COUNT, "N", "", "1", "with a model: sequences, or images")                     \
	X(0, seq, "seq", "seq", COUNT, "N", "", "2048", "with a model: tokens of a sequence")                          \
	X(0, dtype, "dtype", "dtype", CHOICE, "TYPE", DTYPE_CHOICE(P), "bf16", "type of the operands")                 \
	X(0, chain, "chain", "chain", WORDS, "OP,...", "gemm|norm|norm_unfused|softmax|elementwise|elementwise:2",     \
	    NULL,                                                                                                      \
	    "operators to fuse, each reading what the one before it wrote; elementwise:2 reads another operand too")   \
	X(0, rows, "rows", "rows", COUNT, "N", "", NULL, "chain: rows, or tokens")                                     \
	X(0, width, "width", "width", COUNT, "N", "", NULL, "chain: elements of a row")                                \
	X('k', k, "k", "k", COUNT, "N", "", NULL, "chain: the dimension that its gemm sums over (default: --width)")

struct launch_in {
	LAUNCH_OPTIONS(OPTION_MEMBER)
};

/* What fusing the operators of --chain saves. */
enum answer launch_chain(struct run *r, const struct launch_in *in);

#endif
