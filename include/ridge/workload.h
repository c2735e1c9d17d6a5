/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Workloads as plain structs.  A transformer is a list of blocks of like layers; anything else is a list of operators.
 * Symbols follow the field: hidden h, heads a, key/value heads k, head dimension d, feed-forward width f, vocabulary V.
 */
#ifndef RIDGE_WORKLOAD_H
#define RIDGE_WORKLOAD_H

#include "ridge/hw.h"

enum attention_kind { ATTENTION_HEADS, ATTENTION_MLA }; /* MHA, GQA and MQA differ only in n_kv_heads */
enum bias_kind { BIAS_NONE, BIAS_QKV, BIAS_ALL };
enum norm_kind { NORM_RMS, NORM_LAYER };
enum position_kind { POSITIONS_ROPE, POSITIONS_LEARNED, POSITIONS_ALIBI, POSITIONS_RELATIVE };
enum model_kind { MODEL_DECODER, MODEL_ENCODER, MODEL_VISION, MODEL_OPERATORS };

struct attention {
	enum attention_kind kind;
	const char *kind_name; /* as the file says: mha, gqa, mqa, mla */
	struct datum n_heads, n_kv_heads, head_dim;
	struct datum q_lora, kv_lora, nope, rope, v_dim; /* MLA; q_lora is absent where queries are not compressed */
	struct datum window, chunk;                      /* tokens; absent: full attention */
	enum bias_kind bias;
	bool qk_norm;
	bool sinks; /* one learned logit per head */
};

struct mlp {
	bool given, gated, bias;
	struct datum width;
};

struct moe {
	bool given, router_bias, expert_bias;
	struct datum n_experts, top_k, width, n_shared, shared_width; /* n_shared is 0 without shared experts */
};

/* `count` layers that are alike: attention, then an MLP or a mixture of experts. */
struct block {
	struct datum count;
	struct attention attention;
	struct mlp mlp;
	struct moe moe;
};

/* One operator.  Dimensions are those of its row in op.def, in that order; those of a file's list hold for batch 1 and grow
 * by per_batch with each sample more. */
struct op {
	int kind; /* enum op_kind */
	const char *name;
	double count;
	double dim[10], per_batch[10];
	double elem_byte;
	struct source from;
};

struct workload {
	const char *id, *name, *source, *activation, *notes;
	enum model_kind kind;
	struct datum n_layers, hidden, vocab, n_positions, n_token_types, context, norms_per_layer;
	struct datum patch_size, n_channels, image_size, n_classes;
	enum norm_kind norm;
	enum position_kind positions;
	bool tied_embeddings, head, final_norm, embedding_norm, pooler;
	struct datum stated_params;
	int n_blocks;
	struct block *blocks;
	int n_ops; /* kind MODEL_OPERATORS */
	struct op *ops;
};

/* How a model is spread over GPUs.  Every degree is at least 1. */
struct layout {
	double dp, tp, pp, vp, cp, ep, etp;
	int zero;          /* 0..3; FSDP is 3 */
	bool sp;           /* sequence parallel: norms and residuals divided by tp */
	double shard;      /* GPUs over which ZeRO/FSDP shards; dp*cp unless a hybrid shard says less */
};

#endif
