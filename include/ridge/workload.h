/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Workloads as plain structs.  A transformer is a list of blocks of like layers; anything else is a list of operators.
 * Symbols follow the field: hidden h, heads a, key/value heads k, head dimension d, feed-forward width f, vocabulary V.
 */
#ifndef RIDGE_WORKLOAD_H
#define RIDGE_WORKLOAD_H

#include "ridge/hw.h"

enum attention_kind {
	ATTENTION_HEADS, /* MHA, GQA and MQA differ only in n_kv_heads */
	ATTENTION_MLA,   /* a latent for all heads (DeepSeek-V2) */
	ATTENTION_CSA,   /* one shared head over compressed tokens and a window (DeepSeek-V4) */
};
enum mixer_kind { MIXER_ATTENTION, MIXER_MAMBA, MIXER_DELTA, MIXER_KDA, MIXER_NONE }; /* what mixes tokens in a layer */
enum bias_kind { BIAS_NONE, BIAS_QKV, BIAS_ALL, BIAS_OUT };
enum norm_kind { NORM_RMS, NORM_LAYER };
enum position_kind { POSITIONS_ROPE, POSITIONS_LEARNED, POSITIONS_ALIBI, POSITIONS_RELATIVE };
enum model_kind { MODEL_DECODER, MODEL_ENCODER, MODEL_VISION, MODEL_OPERATORS, MODEL_ENCODER_DECODER };

/* Chooses the tokens that attention reads: few narrow heads of its own, one cached key. */
struct indexer {
	struct datum n_heads, dim, top_k; /* dim absent or 0: there is none */
};

struct attention {
	enum attention_kind kind;
	const char *kind_name; /* as the file says: mha, gqa, mqa, mla, csa */
	struct datum n_heads, n_kv_heads, head_dim;
	struct datum q_lora, kv_lora, nope, rope, v_dim; /* MLA; q_lora is absent where queries are not compressed */
	struct datum window, chunk;                      /* tokens; absent: full attention */
	enum bias_kind bias;
	bool qk_norm;
	bool sinks;        /* one learned logit per head */
	bool qk_norm_full; /* with qk_norm: gains for the whole width of queries and keys, not for one head */
	bool gate;         /* the output is gated by one more projection of its width */
	bool k_is_v;       /* keys and values share a projection; the cache keeps both */
	struct indexer indexer;
	struct datum ratio, o_lora,
	    o_groups; /* CSA: tokens of a compressed one (0: window alone), grouped output map */
};

/* Mamba-2. */
struct mamba {
	struct datum n_heads, head_dim, n_groups, state, conv, chunk; /* chunk: tokens that the scan takes at once */
};

/* Gated delta net. */
struct delta {
	struct datum n_key_heads, n_value_heads, key_dim, value_dim, conv, chunk;
};

/* Kimi delta attention. */
struct kda {
	struct datum n_heads, head_dim, conv, chunk;
	bool full_gate; /* the output gate has full rank; else it goes through one head's width */
};

struct mlp {
	bool given, gated, bias;
	struct datum width;
};

struct moe {
	bool given, router_bias, expert_bias;
	struct datum n_experts, top_k, width, n_shared, shared_width; /* n_shared is 0 without shared experts */
	bool plain;                                                   /* experts of two maps, not gated */
	bool shared_gate;                                             /* one vector gates the shared experts */
	struct datum latent; /* experts work on a latent of this width; absent or 0: on the residual stream */
};

/* `count` layers that are alike: a mixer of tokens, then an MLP or a mixture of experts; each may be missing. */
struct block {
	struct datum count;
	struct attention attention;
	struct mlp mlp;
	struct moe moe;
	enum mixer_kind mixer;
	struct mamba mamba;
	struct delta delta;
	struct kda kda;
	bool has_norms; /* `norms` says how many; else norms_per_layer of the model */
	struct datum norms;
	bool cross; /* a second attention, over the encoder's tokens, of the same shape */
};

/* The parts of a checkpoint that can be stored in different types. */
enum model_part {
	PART_EMBEDDING,
	PART_HEAD,
	PART_MIXER,
	PART_MLP,
	PART_EXPERTS,
	PART_SHARED,
	PART_ROUTER,
	PART_NORMS,
	N_PARTS,
};

/* How the published checkpoint is stored. */
struct quantisation {
	bool given, symmetric; /* symmetric: integers without zero points */
	bool has_kv;
	enum dtype weights, experts, kv;
	struct datum group; /* integers: weights that share a scale */
	unsigned quantised; /* bits of enum model_part: the parts that are; the others have 16 bits */
};

/* One operator.  Dimensions are those of its row in op.def, in that order; those of a file's list hold for batch 1 and
 * grow by per_batch with each sample more. */
struct op {
	int kind; /* enum op_kind */
	const char *name;
	double count;
	double dim[10], per_batch[10];
	double elem_byte;
	double extra_params; /* once: biases and gains beside the matrix that the kind itself has */
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
	bool head_bias;
	bool softcap;         /* attention scores and logits are bounded by a tanh */
	int n_encoder_blocks; /* kind MODEL_ENCODER_DECODER: `blocks` are the decoder */
	struct block *encoder_blocks;
	struct datum n_encoder_layers, relative_buckets, n_mtp;
	struct datum source_token; /* of the encoder; absent: as many as the decoder has */
	struct datum state_byte;   /* of one element of a recurrent state; absent: 4 */
	struct quantisation quantisation;
	bool has_vision; /* a vision part exists that is not counted */
	bool parallel;   /* attention and MLP read the same tokens and are added up together */
};

/* The heads that tensor parallelism divides; absent in a block that mixes no tokens. */
struct datum block_heads(const struct block *block);
/* Whether any layer keeps a recurrent state, and whether any attends. */
bool workload_recurs(const struct workload *w);
bool workload_attends(const struct workload *w);
/* Whether any layer routes tokens to experts. */
bool workload_has_experts(const struct workload *w);
/* The first block that attends, or NULL. */
const struct block *workload_attention(const struct workload *w);

/* How a model is spread over GPUs.  Every degree is at least 1. */
struct layout {
	double dp, tp, pp, vp, cp, ep, etp;
	int zero;     /* 0..3; FSDP is 3 */
	bool sp;      /* sequence parallel: norms and residuals divided by tp */
	double shard; /* GPUs over which ZeRO/FSDP shards; dp*cp unless a hybrid shard says less */
	bool adp;     /* serving: each of the tp GPUs attends for sequences of its own, with whole attention weights */
};

#endif
