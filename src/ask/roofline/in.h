/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inputs of `ridge roofline`, and its answers. */
#ifndef RIDGE_ROOF_IN_H
#define RIDGE_ROOF_IN_H

#include "ask/roofline/op_in.h"
#include "ask/roofline/roof.h"

#define ROOF_TYPES "fp64|fp32|tf32|fp16|bf16|fp8|fp8-block|mxfp8|int8|fp6|fp4|mxfp4|nvfp4|int4"
#define ROOFLINE_OPTIONS(X)                                                                                            \
	X(0, op, NULL, "op", WORD, "WHAT", "model", NULL, "an operator, layer, sharing, or a model")                   \
	X('g', gpu, "gpu", "gpu", WORDS, "NAME,...", "gpu", NULL, "one GPU, or several to compare")                    \
	X(0, system, "system", "system", WORD, "NAME", "system", NULL, "system, for its GPU")                          \
	X(0, backend, "backend", "backend", CHOICE, "ENGINE", "trtllm|vllm|sglang", NULL,                              \
	    "whose kernels are estimated (default: the median of the three where they were measured together)")        \
	X(0, dtype, "dtype", "dtype", CHOICE, "TYPE", ROOF_TYPES, NULL,                                                \
	    "type of the operands (default bf16, or fp16 where there is none)")                                        \
	X(0, flops, "flops", "flops", WORK, "WORK", "", NULL, "arithmetic of a kernel: 1.2TFLOP")                      \
	X(0, bytes, "bytes", "bytes", SIZE, "SIZE", "", NULL, "bytes it moves to and from memory")                     \
	X(0, time, "time", "time", TIME, "TIME", "", NULL, "how long it was measured to take")                         \
	X(0, measurements, "measurements", "measurements", WORD, "FILE", "file", NULL,                                 \
	    "measured rows (ridge-measurement(5)) under the roof of --gpu")                                            \
	X(0, intensity, "intensity", "intensity", DENSITY, "DENSITY", "", NULL, "FLOP for each byte: 2FLOP/B")         \
	X('b', batch, "batch", "batch", COUNT, "N", "", "1", "sequences, or images")                                   \
	X('s', seq, "seq", "seq", COUNT, "N", "", NULL,                                                                \
	    "tokens of a sequence (default 2048, or what the model holds)")                                            \
	X(0, cached, "cached", "cached", COUNT, "N", "", "0", "prefill: tokens before them that are in the cache")     \
	X(0, phase, "phase", "phase", CHOICE, "PHASE", "prefill|decode|train", "prefill",                              \
	    "all tokens at once, the next one after --seq, or the forward pass of training")                           \
	X(0, unfused, "unfused", "unfused", FLAG, "", "", NULL,                                                        \
	    "attention scores go to memory, and norms in three passes of fp32")                                        \
	X(0, hidden, "hidden", "hidden", COUNT, "N", "", NULL, "layer: width of the residual stream")                  \
	X(0, heads, "heads", "heads", COUNT, "N", "", NULL, "layer: query heads (default: one, as wide as the layer)") \
	X(0, kv_heads, "kv-heads", "kv_heads", COUNT, "N", "", NULL, "layer: key and value heads (default: --heads)")  \
	X(0, mlp_width, "mlp-width", "mlp_width", COUNT, "N", "", NULL, "layer: inner width (default 4 x --hidden)")   \
	X(0, gated, "gated", "gated", FLAG, "", "", NULL, "layer: the MLP has a gate")                                 \
	X(0, encoder, "encoder", "encoder", WORK, "WORK", "", NULL, "sharing: one encoder on one image")               \
	X(0, cameras, "cameras", "cameras", COUNT, "N", "", NULL, "sharing: images of a frame")                        \
	X(0, tasks, "tasks", "tasks", COUNT, "N", "", NULL, "sharing: tasks that need the features")                   \
	X(0, head, "head", "head", WORK, "WORK", "", NULL, "sharing: what one task adds behind the encoder")

struct roofline_in {
	ROOFLINE_OPTIONS(OPTION_MEMBER)
	struct op_in dims;
	struct layout_in layout;
};

/* Ridge points of all types; a point from its FLOP and bytes, from its intensity, of an operator. */
enum answer roof_ridges(struct roof *q, const struct roofline_in *in);
enum answer roof_bare_point(struct roof *q, const struct roofline_in *in);
enum answer roof_bare_intensity(struct roof *q, const struct roofline_in *in);
enum answer roof_operator(struct roof *q, const struct roofline_in *in, enum op_kind kind);
/* Operators of a model, or of a layer that the options describe. */
enum answer roof_workload(struct roof *q, const struct roofline_in *in, const struct workload *w);
enum answer roof_layer(struct roof *q, const struct roofline_in *in);

#endif
