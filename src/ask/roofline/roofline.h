/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inputs of `ridge roofline`, and its parts. */
#ifndef RIDGE_ASK_ROOFLINE_ROOFLINE_H
#define RIDGE_ASK_ROOFLINE_ROOFLINE_H

#include "cli/cli.h"
#include "model/kernel/kernel.h"
#include "model/layer/layer.h"
#include "report/report.h"

/* An operator's dimensions as options. */

struct op_in {
#define OP_OPTIONS(X)                                                                                                  \
	X(0, m, "m", "m", COUNT, "N", "", NULL, "gemm, gemv: m, rows of the first matrix")                             \
	X(0, n, "n", "n", COUNT, "N", "", NULL, "gemm: n, columns of the second matrix; conv2d, pool: images")         \
	X(0, k, "k", "k", COUNT, "N", "", NULL, "gemm, gemv: k, reduction dimension; conv2d: output channels")         \
	X(0, b, "b", "b", COUNT, "N", "", NULL, "bmm: number of GEMMs; attention: sequences")                          \
	X(0, e, "e", "e", COUNT, "N", "", NULL, "grouped: number of GEMMs (experts) in the group")                     \
	X(0, c, "c", "c", COUNT, "N", "", NULL,                                                                        \
	    "conv2d, pool: input channels; attention: keys per sequence (context)")                                    \
	X(0, h, "h", "h", COUNT, "N", "", NULL, "conv2d, pool: input height; attention: query heads")                  \
	X(0, w, "w", "w", COUNT, "N", "", NULL, "conv2d, pool: input width")                                           \
	X(0, r, "r", "r", COUNT, "N", "", NULL, "conv2d, pool: kernel height")                                         \
	X(0, s, "s", "s", COUNT, "N", "", NULL, "conv2d, pool: kernel width; attention: queries per sequence")         \
	X(0, stride, "stride", "stride", COUNT, "N", "", NULL, "conv2d, pool: stride in both directions (default 1)")  \
	X(0, groups, "groups", "groups", COUNT, "N", "", NULL, "conv2d: channel groups (default 1)")                   \
	X(0, rows, "rows", "rows", COUNT, "N", "", NULL, "norm, softmax, embedding: rows")                             \
	X(0, width, "width", "width", COUNT, "N", "", NULL, "norm, softmax, embeddings: elements per row")             \
	X(0, vocab, "vocab", "vocab", COUNT, "N", "", NULL, "embedding, embedding_bag: rows of the table")             \
	X(0, elements, "elements", "elements", COUNT, "N", "", NULL, "elementwise: output elements")                   \
	X(0, reads, "reads", "reads", NUMBER, "N", "", NULL, "elementwise: operands read per element (default 1)")     \
	X(0, writes, "writes", "writes", NUMBER, "N", "", NULL,                                                        \
	    "elementwise: outputs written per element (default 1)")                                                    \
	X(0, per_element, "per-element", "per_element", NUMBER, "N", "", NULL,                                         \
	    "elementwise: FLOP per element (default 1)")                                                               \
	X(0, d, "d", "d", COUNT, "N", "", NULL, "attention: head dimension")                                           \
	X(0, kv, "kv", "kv", COUNT, "N", "", NULL, "attention: KV heads (default: --h)")                               \
	X(0, dv, "dv", "dv", COUNT, "N", "", NULL, "attention: value head dimension (default: --d)")                   \
	X(0, seen, "seen", "seen", NUMBER, "N", "", NULL, "attention: mean keys per query (default: --c)")             \
	X(0, latent, "latent", "latent", COUNT, "N", "", NULL, "attention_latent: latent dimension (kv_lora_rank)")    \
	X(0, rope, "rope", "rope", COUNT, "N", "", NULL, "attention_latent: RoPE head dimension")                      \
	X(0, p, "p", "p", COUNT, "N", "", NULL, "ssm_scan, ssm_step: head dimension")                                  \
	X(0, g, "g", "g", COUNT, "N", "", NULL, "ssm_scan, ssm_step: groups; delta_scan, delta_step: key heads")       \
	X(0, chunk, "chunk", "chunk", COUNT, "N", "", NULL, "ssm_scan, delta_scan: chunk size in tokens")              \
	X(0, decays, "decays", "decays", COUNT, "N", "", NULL, "delta_scan, delta_step: decays of a head (default 1)") \
	X(0, state_byte, "state-byte", "state_byte", NUMBER, "N", "", NULL,                                            \
	    "recurrent operators: bytes per state element (default 4)")                                                \
	X(0, key_byte, "key-byte", "key_byte", NUMBER, "N", "", NULL,                                                  \
	    "index_scores: bytes per key element (default 1)")                                                         \
	X(0, bags, "bags", "bags", COUNT, "N", "", NULL, "embedding_bag: number of bags")                              \
	X(0, hot, "hot", "hot", COUNT, "N", "", NULL, "embedding_bag: rows per bag")
	OP_OPTIONS(OPTION_MEMBER)
};
extern const struct option_group op_group; /* offset 0: copy it and set .offset */

/* The operator of this kind with the dimensions that were given; faults name what is missing or does not belong. */
bool run_op(struct run *r, enum op_kind kind, const struct op_in *in, double elem_byte, struct op *out);
/* `gemm 4096 4096 8192`: dimensions in the order of op.def, added to those that options gave. */
bool run_op_shape(struct run *r, enum op_kind kind, const struct words *shape, struct op_in *in);
/* True when any dimension was given. */
bool op_given(const struct op_in *in);

/* GPUs of a roofline query, and the answers of a point under their rooflines. */

struct machine {
	const struct gpu *gpu;
	const struct calibration *calibration; /* fitted to this GPU, the median of the engines; NULL: none */
	const struct calibration *engine;      /* the same of --backend */
	const struct calibration *kernels;     /* all kernels, another GPU's where this one has none */
	bool one_engine;                       /* --backend was given */
	struct datum peak;
	struct kernel_machine kernel; /* of the type that was asked for */
};

struct roof {
	struct run *run;
	enum dtype dtype;
	size_t n;
	struct machine *machines;
};

/* An error without a place, and what to do; false. */
bool roof_refuse(struct run *r, const char *what, const char *hint);
/* GPUs by name, then their peaks for a type; faults are reported. */
bool roof_machines(struct roof *q, const struct words *names, struct word backend);
/* What was fitted for the kernels of a machine, or transferred to it. */
void roof_fits(const struct roof *q, struct machine *m, struct word backend);
bool roof_peaks(struct roof *q, struct word dtype);

/* Lines of a point that the sheet's scope holds. */
void roof_show_place(struct sheet *sh, const struct point *p);
void roof_show_gains(struct sheet *sh, const struct point *p);
/* Whether a product is aligned, with a warning where its calibration is of those that are; and the same of a list. */
void roof_show_alignment(const struct roof *q, const struct machine *m, const struct op *op);
void roof_warn_alignment(const struct roof *q, const struct machine *m, const struct op *ops, int n, double list_s);
/* What fitted parameters say of an operator; `alone` for a single point, else a cell of a table. */
void roof_show_calibrated(
    const struct roof *q, const struct machine *m, const struct op *op, double roof_s, bool alone);
/* The sum of a list, one after the other; what has no kernel stands at its roof and is named. */
void roof_show_calibrated_list(
    const struct roof *q, const struct machine *m, const struct op *ops, int n, double list_s);
/* A measured time, if given: infeasible when it is above the roof. */
enum answer roof_show_measured(const struct roof *q, const struct machine *m, struct datum measured, double work_flop,
    double traffic_byte, double roof_s);
/* Bandwidths from memory to registers; peaks from unit counts. */
void roof_show_levels(const struct roof *q, const struct machine *m, double peak_flop_per_s);
void roof_show_units(const struct roof *q, const struct gpu *gpu);

/* The inputs of `ridge roofline`, and its answers. */

#define ROOFLINE_OPTIONS(X)                                                                                            \
	X(0, op, NULL, "op", WORD, "WHAT", "model", NULL, "operator, layer, sharing, or model")                        \
	X(0, shape, NULL, "shape", WORDS, "N", "", NULL, "dimensions of the operator in order: gemm M N K")            \
	X('g', gpu, "gpu", "gpu", WORDS, "NAME,...", "gpu", NULL, "GPU, or several to compare")                        \
	X(0, system, "system", "system", WORD, "NAME", "system", NULL, "system, to take its GPU")                      \
	X(0, backend, "backend", "backend", CHOICE, "ENGINE", "trtllm|vllm|sglang", NULL,                              \
	    "engine whose kernels are estimated (default: median of the three where all were measured)")               \
	X(0, dtype, "dtype", "dtype", CHOICE, "TYPE", DTYPE_CHOICE(P), NULL,                                           \
	    "operand dtype (default bf16, or fp16 where the GPU has no bf16)")                                         \
	X(0, flops, "flops", "flops", WORK, "WORK", "", NULL, "FLOPs of a kernel: 1.2TFLOP")                           \
	X(0, bytes, "bytes", "bytes", SIZE, "SIZE", "", NULL, "bytes moved to and from memory")                        \
	X(0, time, "time", "time", TIME, "TIME", "", NULL, "measured time")                                            \
	X(0, measurements, "measurements", "measurements", WORD, "FILE", "file", NULL,                                 \
	    "measured rows (ridge-measurement(5)) to compare with the roofline of --gpu")                              \
	X(0, intensity, "intensity", "intensity", DENSITY, "DENSITY", "", NULL, "arithmetic intensity: 2FLOP/B")       \
	X('b', batch, "batch", "batch", COUNT, "N", "", "1", "batch size: sequences or images")                        \
	X('s', seq, "seq", "seq", COUNT, "N", "", NULL,                                                                \
	    "sequence length in tokens (default 2048, or the model's context length)")                                 \
	X(0, cached, "cached", "cached", COUNT, "N", "", "0", "prefill: tokens already in the KV cache")               \
	X(0, phase, "phase", "phase", CHOICE, "PHASE", "prefill|decode|train", "prefill",                              \
	    "prefill, decode (the next token after --seq), or the forward pass of training")                           \
	X(0, unfused, "unfused", "unfused", FLAG, "", "", NULL,                                                        \
	    "unfused attention: scores written to memory, norms in three fp32 passes")                                 \
	X(0, hidden, "hidden", "hidden", COUNT, "N", "", NULL, "layer: hidden size")                                   \
	X(0, heads, "heads", "heads", COUNT, "N", "", NULL,                                                            \
	    "layer: query heads (default: one head of the hidden size)")                                               \
	X(0, kv_heads, "kv-heads", "kv_heads", COUNT, "N", "", NULL, "layer: KV heads (default: --heads)")             \
	X(0, mlp_width, "mlp-width", "mlp_width", COUNT, "N", "", NULL,                                                \
	    "layer: MLP intermediate size (default 4 x --hidden)")                                                     \
	X(0, gated, "gated", "gated", FLAG, "", "", NULL, "layer: gated MLP")                                          \
	X(0, encoder, "encoder", "encoder", WORK, "WORK", "", NULL, "sharing: FLOPs of one encoder on one image")      \
	X(0, cameras, "cameras", "cameras", COUNT, "N", "", NULL, "sharing: images per frame")                         \
	X(0, tasks, "tasks", "tasks", COUNT, "N", "", NULL, "sharing: tasks that share the encoder")                   \
	X(0, head, "head", "head", WORK, "WORK", "", NULL, "sharing: FLOPs of one task head")

struct roofline_in {
	ROOFLINE_OPTIONS(OPTION_MEMBER)
	struct op_in dims;
	struct layout_in layout;
};

/* Ridge points of all types; a point from its FLOP and bytes, from its intensity, of an operator. */
enum answer roof_ridges(struct roof *q, const struct roofline_in *in);
enum answer roof_bare_point(struct roof *q, const struct roofline_in *in);
enum answer roof_bare_intensity(struct roof *q, const struct roofline_in *in);
enum answer roof_operator(struct roof *q, const struct roofline_in *in, enum op_kind kind, const struct op_in *dims);
/* Operators of a model, or of a layer that the options describe. */
enum answer roof_workload(struct roof *q, const struct roofline_in *in, const struct workload *w);
enum answer roof_layer(struct roof *q, const struct roofline_in *in);

/* A file of measurements under the roof of its GPU. */

/* The machine is the one of `q`; sets the run's plot. */
enum answer roof_measurements(struct roof *q, struct word file);

/* The roofline as people draw it: attainable arithmetic over intensity, both logarithmic, and points below the roof. */

struct roof_line {
	const char *name;
	double peak_flop_per_s, mem_byte_per_s;
};

struct roof_marks {
	const char *name; /* of the series */
	size_t n;
	double *intensity_flop_per_byte, *flop_per_s;
	const char **names; /* NULL: none */
};

const struct plot *roof_plot(struct arena *a, const char *title, const struct roof_line *lines, size_t n_lines,
    const struct roof_marks *marks, size_t n_marks);
/* The plot of what the sheet holds: the roofs of the machines, and every point that was shown. */
const struct plot *roof_plot_sheet(const struct roof *q);

#endif
