/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inputs of `ridge launch`. */
#ifndef RIDGE_ASK_LAUNCH_LAUNCH_H
#define RIDGE_ASK_LAUNCH_LAUNCH_H

#include "cli/cli.h"

#define LAUNCH_TYPES "fp64|fp32|fp16|bf16|fp8|int8"
#define LAUNCH_OPTIONS(X)                                                                                              \
	X('m', model, "model", "model", WORD, "MODEL", "model", NULL, "model whose operators are counted")             \
	X(0, launch, "launch", "launch", TIME, "TIME", "", NULL,                                                       \
	    "launch time per kernel (default: as measured for --gpu, else 5 us; up to 20 us from Python)")             \
	X(0, kernels, "kernels", "kernels", COUNT, "N", "", NULL, "kernels per step")                                  \
	X(0, layers, "layers", "layers", COUNT, "N", "", NULL, "number of layers, with --ops")                         \
	X(0, ops, "ops", "ops", COUNT, "N", "", NULL, "kernels per layer")                                             \
	X(0, gpu_time, "gpu-time", "gpu_time", TIME, "TIME", "", NULL,                                                 \
	    "GPU time per step (default with a model: its roofline time)")                                             \
	X(0, blocking, "blocking", "blocking", FLAG, "", "", NULL, "synchronize after every kernel")                   \
	X(0, graph, "graph", "graph", TIME, "TIME", "", NULL, "launch time per kernel inside a CUDA graph")            \
	X(0, graph_launch, "graph-launch", "graph_launch", TIME, "TIME", "", "0s", "launch time of the graph itself")  \
	X(0, fuse, "fuse", "fuse", WORD, "N:M", "", NULL, "fusion ratio: N kernels become M")                          \
	X('g', gpu, "gpu", "gpu", WORD, "NAME", "gpu", NULL, "GPU, for roofline time and memory bandwidth")            \
	X(0, phase, "phase", "phase", CHOICE, "PHASE", "prefill|decode|train", "decode", "phase of the model's step")  \
	X('b', batch, "batch", "batch", COUNT, "N", "", "1", "batch size: sequences or images of the model's step")    \
	X(0, seq, "seq", "seq", COUNT, "N", "", "2048", "sequence length of the model's step")                         \
	X(0, dtype, "dtype", "dtype", CHOICE, "TYPE", LAUNCH_TYPES, "bf16", "operand dtype")                           \
	X(0, chain, "chain", "chain", WORDS, "OP,...", "gemm|norm|norm_unfused|softmax|elementwise|elementwise:2",     \
	    NULL,                                                                                                      \
	    "operators to fuse, each reading the result of the previous one; elementwise:2 reads a second operand")    \
	X(0, rows, "rows", "rows", COUNT, "N", "", NULL, "chain: rows (tokens)")                                       \
	X(0, width, "width", "width", COUNT, "N", "", NULL, "chain: elements per row")                                 \
	X('k', k, "k", "k", COUNT, "N", "", NULL, "chain: k dimension of its GEMM (default: --width)")

struct launch_in {
	LAUNCH_OPTIONS(OPTION_MEMBER)
};

/* What fusing the operators of --chain saves. */
enum answer launch_chain(struct run *r, const struct launch_in *in);

#endif
