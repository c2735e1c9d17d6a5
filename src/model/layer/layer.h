/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RIDGE_MODEL_LAYER_LAYER_H
#define RIDGE_MODEL_LAYER_LAYER_H

#include "model/hw/hw.h"

/*
 * Workloads as plain structs.  A transformer is a list of blocks of like layers; anything else is a list of operators.
 * Symbols follow the field: hidden h, heads a, KV heads k, head dimension d, feed-forward width f, vocabulary V.
 */

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

/* Indexer: selects the tokens that attention reads, with a few narrow heads and one cached key. */
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

/* Whether one compressed row of each token stands for the keys and values of all heads. */
static inline bool
attention_is_latent(const struct attention *a)
{
	return a->kv_lora.value > 0;
}

/* Mamba-2. */
struct mamba {
	struct datum n_heads, head_dim, n_groups, state, conv, chunk; /* chunk: tokens that the scan takes at once */
};

/* Elements of each token around a state-space scan on one rank: values, maps into and out of the state, heads, the
 * input projection's outputs; the states and the scores of a chunk, spread over its tokens. */
struct scan_widths {
	double inner, maps, heads, projected, states, scores;
};
struct scan_widths mamba_widths(const struct mamba *m, double seq_length, double tp);

/* Gated delta net. */
struct delta {
	struct datum n_key_heads, n_value_heads, key_dim, value_dim, conv, chunk;
};

/* Elements of each token around a delta rule on one rank: queries or keys, the same repeated for every value head,
 * values, value heads, channels of the convolution, the input projection's outputs; the states and the scores of a
 * chunk, spread over its tokens. */
struct delta_widths {
	double keys, repeated, values, heads, convolved, projected, states, scores;
};
struct delta_widths delta_widths(const struct delta *d, double seq_length, double tp);

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
	struct datum latent;   /* experts work on a latent of this width; absent or 0: on the residual stream */
	struct datum n_groups; /* a router chooses groups of experts before experts; absent: one group */
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
	const struct layer
	    *layer; /* its rows, described once when the model is read; NULL: they are described when asked */
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
	struct datum n_encoder_layers, relative_buckets;
	struct datum n_mtp, n_mtp_modules; /* prediction layers that are trained, and how many share no weights */
	struct datum source_token;         /* of the encoder; absent: as many as the decoder has */
	struct datum state_byte;           /* of one element of a recurrent state; absent: 4 */
	struct quantisation quantisation;
	bool has_vision; /* a vision part exists that is not counted */
	bool parallel;   /* attention and MLP read the same tokens and are added up together */
};

/* The heads that tensor parallelism divides; absent in a block that mixes no tokens. */
struct datum block_heads(const struct block *block);
/* Of a recurrence: what is shared by several heads of a tensor-parallel rank, so that tp divides it. */
struct datum block_groups(const struct block *block);
/* Whether any layer keeps a recurrent state, and whether any attends. */
bool workload_recurs(const struct workload *w);
bool workload_attends(const struct workload *w);
/* Whether any layer routes tokens to experts. */
bool workload_has_experts(const struct workload *w);
/* Parts of a layer: 2 where a mixer of tokens and a feed-forward part follow each other, 1 where either is missing. */
static inline double
block_parts(const struct block *block)
{
	return (block->mixer != MIXER_NONE) + (block->mlp.given || block->moe.given);
}
/* Whether some layer has a mixer or a feed-forward part alone: kinds take turns all along such a model, in an order
 * that its blocks, which count layers of a kind, do not give. */
bool workload_alternates(const struct workload *w);
/* Blocks of the last layer: the last that mixes tokens and the last that feeds forward where kinds take turns. */
void workload_last_layer(const struct workload *w, int *mixer, int *feed);
/* Whether some layer attends over latents. */
bool workload_has_latent(const struct workload *w);
/* ... over compressed tokens and a window (DeepSeek-V4). */
bool workload_compresses(const struct workload *w);
/* The first block that attends, or NULL. */
const struct block *workload_attention(const struct workload *w);

/*
 * The rows of a layer: its maps and vectors, the kernels around them, and what it keeps of a sequence.  They are
 * described once for each block, in the widths of the whole model; parameters, FLOP, caches and lists of operators are
 * folds over them, with degrees, phase and types as arguments.
 */

/* `units` things of `size` elements: heads and their width, columns of one.  Tensor parallelism deals out the units;
 * those that are fewer than the GPUs, and whole widths, are kept by every GPU. */
struct width {
	struct datum units;
	double size;
	bool whole;
};

/* How a row runs. */
enum op_runs {
	RUNS_WITH,        /* not by itself: a bias, a gain, a sink */
	RUNS_PRODUCT,     /* (n ; k), in one product with its neighbors of the same name */
	RUNS_GROUPED,     /* the same for the experts that a batch visits */
	RUNS_BATCHED,     /* k in `inputs` pieces, each with a map to n of its own */
	RUNS_NORM,        /* k vectors of width n, `copies` times */
	RUNS_GATE,        /* element by element over n: a function of `inputs` tensors */
	RUNS_SOFTMAX,     /* over n */
	RUNS_CONVOLUTION, /* over n channels, `inputs` taps; k: numbers that are stored of each */
	RUNS_COMPRESSION, /* `inputs` tokens of width n become one */
	RUNS_ATTENTION,   /* n: heads and the width of keys; k: key heads and the width of values */
	RUNS_LATENT,      /* n: heads and the latent that is key and value; k: the rotated rest of the key */
	RUNS_SCORES,      /* an indexer's: n: its heads */
	RUNS_RECURRENCE,
};

/* Where a row belongs: bits. */
enum layer_part {
	IN_MIXER = 1,
	IN_CROSS = 2,
	IN_MLP = 4,
	IN_EXPERTS = 8,
	IN_EXPERT_BIASES = 16,
	IN_SHARED = 32,
	IN_LATENT = 64, /* maps into and out of the experts' latent */
	IN_ROUTER = 128,
	IN_NORMS = 256,
	IN_LAYER = 511,
	IN_EXPERT = IN_EXPERTS | IN_EXPERT_BIASES,
};

/* Keys and values of latent attention are made whole, or the maps that would make them go into queries and results. */
enum form { FORM_EXPANDED = 1, FORM_ABSORBED = 2 };

/* Which of the maps that adapters are put on. */
enum map { MAP_OTHER, MAP_Q, MAP_K, MAP_V, MAP_O, MAP_GATE, MAP_UP, MAP_DOWN };

struct layer_op {
	const char *title;   /* in derivations */
	const char *product; /* in lists */
	enum op_runs runs;
	enum layer_part part;
	enum map map;
	unsigned forms;
	bool joined;      /* with the row before it in one product */
	bool source;      /* on the tokens of the encoder, not on those of the layer */
	bool routed;      /* on each token once for each expert that it visits */
	bool cached;      /* on the tokens that are cached too */
	bool doubled;     /* whole on every GPU of a tensor-parallel group */
	bool from_latent; /* reads a compressed width, not the residual stream */
	bool chooses;     /* of an indexer */
	struct width n, k;
	struct datum copies, active; /* matrices of this shape, and those that one token meets */
	double inputs;
};

/* How much of a sequence a state holds. */
enum state_span {
	SPAN_TOKENS,   /* all of it */
	SPAN_WINDOW,   /* the last `reach` tokens */
	SPAN_CHUNK,    /* at most a chunk of `reach` tokens */
	SPAN_RING,     /* `reach` tokens, in a buffer that engines set aside at once */
	SPAN_SOURCE,   /* the encoder's tokens */
	SPAN_SEQUENCE, /* the same whatever its length */
};

/* Bytes of one element. */
enum state_type { STATE_CACHE, STATE_HALF, STATE_FLOAT, STATE_MATRIX };

/* What a layer keeps of a sequence from step to step. */
struct layer_state {
	const char *title;
	enum state_span span;
	enum state_type type;
	bool packed;                  /* rows of mixed types, given below, in every cache; else only in one of 8 bits */
	double n_8, n_16, scale_byte; /* of a packed row; none: there is no such form */
	struct width width;           /* of a row, or of the whole */
	double rows;                  /* of the whole that are alike; taps, overlapping stretches */
	struct datum reach;
	double ratio; /* 1, or tokens that are compressed to one row */
};

/* Bytes of a packed row. */
static inline double
state_packed_byte(const struct layer_state *s)
{
	return s->n_8 + 2 * s->n_16 + s->scale_byte;
}

enum { LAYER_OPS = 44, LAYER_STATES = 6 };

struct layer {
	const struct block *block;
	int n_ops, n_states;
	struct layer_op op[LAYER_OPS];
	struct layer_state state[LAYER_STATES];
};

void layer_describe(const struct workload *w, const struct block *b, struct layer *out);
/* The rows of a block, as they were bound or described into `own`. */
const struct layer *layer_of(const struct workload *w, const struct block *b, struct layer *own);
/* What attends, with keys and values made whole; NULL where nothing does. */
const struct layer_op *layer_attention(const struct layer *l);

/* Its norms on the residual stream: the first row. */
static inline const struct layer_op *
layer_norms(const struct layer *l)
{
	return &l->op[0];
}

/* One GPU's share of a width; units that are fewer than the GPUs are kept by every one. */
static inline double
width_local(struct width w, double n_gpus)
{
	const double dealt = w.units.value / n_gpus;

	return (w.whole ? w.units.value : dealt < 1 ? 1 : dealt) * w.size;
}

/* How a model is spread over GPUs.  Every degree is at least 1. */
struct layout {
	double dp, tp, pp, vp, cp, ep, etp;
	int zero;     /* 0..3; FSDP is 3 */
	bool sp;      /* sequence parallel: norms and residuals divided by tp */
	double shard; /* GPUs over which ZeRO/FSDP shards; dp*cp unless a hybrid shard says less */
	bool adp;     /* serving: attention data parallelism over the tp GPUs, with replicated attention weights */
};

/* Operators: what one computes and what it moves.  The table is op.def. */

enum op_kind {
#define OP(kind, title, dims, flop, bytes) OP_##kind,
#include "model/layer/op.def"
#undef OP
	N_OP_KINDS,
	OP_NONE = -1,
};

const char *op_kind_name(enum op_kind kind);
const char *op_kind_title(enum op_kind kind);
enum op_kind op_kind_find(const char *name);
/* The formulas, as text. */
const char *op_flop_text(enum op_kind kind);
const char *op_byte_text(enum op_kind kind);

/* Dimension i of a kind, or NULL past the last. */
const char *op_dim_name(enum op_kind kind, int i);
/* What it is when it is left out: a number or the name of an earlier dimension; NULL: it must be given. */
const char *op_dim_default(enum op_kind kind, int i);
/* Give absent dimensions (NaN) their defaults; returns the index of the first that must be given and is not, or -1. */
int op_fill(struct op *op);

struct cost {
	double work_flop, traffic_byte;
};

/* Once: rows work_flop and traffic_byte, recorded in the caller's scope so that its formulas can name them. */
struct cost op_cost(struct sheet *sh, const struct op *op);
/* True for convolutions, GEMMs and attention: what published counts of arithmetic have in them. */
bool op_multiplies(enum op_kind kind);
/* Parameters of its matrix or table, and those beside it, once; kinds without a matrix have only these. */
double op_params(struct sheet *sh, const struct op *op);
/* All of its copies. */
double op_total_params(struct sheet *sh, const struct op *op);
/* As often as it runs. */
double op_total_flop(struct sheet *sh, const struct op *op);
double op_total_byte(struct sheet *sh, const struct op *op);

/* Keys that a query attends to on average: those that it may see, those that its indexer lets through, or near and
 * compressed ones; and those that an indexer scores. */
double attended_keys(struct sheet *sh, const struct attention *a, double n_new, double n_cached, bool causal);
double scored_keys(struct sheet *sh, const struct attention *a, double n_new, double n_cached, bool causal);
/* The recurrence of a layer that has one, over n_new tokens of each of batch sequences, on one of tp GPUs. */
struct op recurrence_op(const struct workload *w, const struct block *b, double batch, double n_new, double tp);
/*
 * What kernels of a scan reach of the memory's bandwidth or of the arithmetic peak: Triton kernels over short tiles.
 * Fitted together with the stack's hybrid_sync to 37 published training steps of two models on five GPUs, 7 groups of
 * one framework: 4.5 % (mean), 6 % with their GPU left out, 7 % with their model left out.  The two trade off: 0.25
 * with 4.5 ms to 0.5 with 6 ms are within a point.  Two steps of another framework, without such waits, ask for a
 * faster scan.
 */
static const double scan_reached_frac = 0.3;

/* A workload as one list of operators, and the arithmetic of one token. */

enum phase {
	PHASE_PREFILL, /* all new tokens at once; the head sees the last one of each sequence */
	PHASE_DECODE,  /* one new token a sequence */
	PHASE_TRAIN,   /* the forward pass of training: the head sees every token */
};

/* The work of a model, on one of tp GPUs. */
struct shape {
	enum phase phase;
	double batch;    /* sequences, or images */
	double n_new;    /* new tokens of each sequence */
	double n_cached; /* tokens whose keys and values are there already */
	double tp;
	double elem_byte;
	bool unfused; /* scores and fp32 norms go to memory, as in eager frameworks */
};

enum { EXPAND_PER_BLOCK = LAYER_OPS + 4, EXPAND_OUTSIDE = 12 };

/* How many operators expand() may write. */
int expand_room(const struct workload *w);
/* Write the list, a line for the layers of a block that are alike, and return its length. */
int expand(const struct workload *w, const struct shape *x, struct op *ops);

/* What the list needs and the model does not say, or NULL. */
const char *expand_missing(const struct workload *w);

/* Share of n_experts that none of n_rows tokens picks, n_chosen experts each. */
double experts_idle(struct sheet *sh, double n_chosen, double n_experts, double n_rows);
/* Tokens of one image: its patches and the class token. */
double vision_tokens(struct sheet *sh, const struct workload *w);

/* Keys that a query sees on average in a layer of this kind; `causal` false: every query sees them all. */
double seen_keys(struct sheet *sh, const struct attention *a, double n_new, double n_cached, bool causal);

/* FLOP of one token in a sequence of n_tokens, forward: 2 for each parameter that it multiplies, and its share of
 * attention. Causal attention counts the keys that a token may see, full attention counts them all, as many
 * publications do. Windows, chunks and indexers count with `causal`; recurrences and compressed tokens always as their
 * kernels compute them.  Of an encoder-decoder it is one token of the source and one of the target. */
double forward_flop(struct sheet *sh, const struct workload *w, double seq_token, bool causal);
/* The same with a product for the tables that tokens are looked up in, as some accounts have it. */
double embedded_flop(struct sheet *sh, const struct workload *w, double seq_token, bool causal);
/* Backward: twice the forward pass. */
double backward_flop(struct sheet *sh, const struct workload *w, double seq_token, bool causal);
/* Parameters that a token is multiplied with: all active ones but the tables it is looked up in. */
double multiplied_params(struct sheet *sh, const struct workload *w);

/* Parameter counts, exact.  Shapes are those of workload.h; results are counts of parameters. */

/* Of experts: all of them, those that one token meets, or one. */
enum counted { COUNT_ALL, COUNT_ACTIVE, COUNT_ONE };

/* One layer of a block: its rows of these parts (bits of enum layer_part). */
double layer_params(
    struct sheet *sh, const struct workload *w, const struct block *block, unsigned parts, enum counted counted);
/* One GPU's share of them, of n_shards; what is doubled is whole on every one. */
double shard_params(
    struct sheet *sh, const struct workload *w, const struct block *block, unsigned parts, double n_shards);

/* Outside the layers. */
double embedding_params(
    struct sheet *sh, const struct workload *w); /* tokens, positions, token types, patches, their norm */
double head_params(struct sheet *sh, const struct workload *w); /* 0 when tied or absent */

/* All layers of an encoder-decoder's encoder. */
double encoder_params(struct sheet *sh, const struct workload *w, enum counted counted);

/* The whole model: total, and used for one token. */
double model_params(struct sheet *sh, const struct workload *w);
double model_active_params(struct sheet *sh, const struct workload *w);
/* Without the tables that tokens are looked up in; and without the head too. */
double body_params(struct sheet *sh, const struct workload *w);
double inner_params(struct sheet *sh, const struct workload *w);
/* A part as often as it stands, and its share of the whole. */
double part_params(struct sheet *sh, double n_layers, double one_param);
double part_share(struct sheet *sh, double part_param, double n_params);
/* The norm in front of the head and the pooler. */
double final_params(struct sheet *sh, const struct workload *w);
/* Bytes per parameter of a part as it was published, scales included; and of the whole, part by part. */
/* Bytes of a stored weight of this type, scales included (integers of 4 bits: in groups of 128). */
double stored_byte(enum dtype t);
double part_stored_byte(const struct quantisation *q, enum model_part part);
double published_bytes(struct sheet *sh, const struct workload *w);
/* Bytes of a checkpoint that stores every parameter alike. */
double checkpoint_bytes(struct sheet *sh, double n_params, double stored_byte_per_param);
/* How far the count is from what the file says was published (stated_params must be given). */
double params_error(struct sheet *sh, const struct workload *w);

/*
 * What a model keeps of a sequence from step to step: keys and values, latents, keys of indexers, compressed tokens,
 * recurrent states.  Bytes on one GPU; a sum over layers, never layers x one layer.
 */

/* Bytes that one more token costs beyond every window, on one of tp GPUs. */
double kv_slope(struct sheet *sh, const struct workload *w, double kv_elem_byte, double tp);
/* Bytes of one sequence of seq_token tokens held in blocks of block_token tokens (1: no paging). */
double kv_sequence(
    struct sheet *sh, const struct workload *w, double seq_token, double block_token, double kv_elem_byte, double tp);

/* The same for the layers of one block, and what does not grow in them. */
double kv_block_slope(
    struct sheet *sh, const struct workload *w, const struct block *b, double kv_elem_byte, double tp);
double kv_block_constant(struct sheet *sh, const struct workload *w, const struct block *b, double block_token,
    double kv_elem_byte, double tp);
double kv_block_sequence(struct sheet *sh, const struct workload *w, const struct block *b, double seq_token,
    double block_token, double kv_elem_byte, double tp);

/* Bytes of one token in one layer of a block, on one of tp GPUs. */
double kv_layer(struct sheet *sh, const struct workload *w, const struct block *b, double kv_elem_byte, double tp);
/* How many tokens back a layer sees: its window or chunk, absent for full attention. */
struct datum kv_reach(const struct attention *a);
/* Bytes of one sequence that do not grow with it: full windows and chunks, recurrent states, compressors, and the
 * tokens of an encoder whose number is given. */
double kv_constant(struct sheet *sh, const struct workload *w, double block_token, double kv_elem_byte, double tp);

/* A sequence of at most seq_token tokens in an engine that takes step_token tokens at a time. */
struct kv_admission {
	double seq_token, step_token, block_token;
};

/* What the engine sets aside for it. */
double kv_admitted(
    struct sheet *sh, const struct workload *w, const struct kv_admission *at, double kv_elem_byte, double tp);

/* Recurrent states of one sequence, all layers; and of as many slots as an engine keeps, one for each running sequence.
 */
double state_sequence(struct sheet *sh, const struct workload *w, double tp);
double state_slots(struct sheet *sh, double n_slots, double state_byte);
/* Engines that put both in one pool have one page size: the largest state of a layer.  Tokens that an attention layer's
 * block then holds, in whole blocks of block_token; and what its last block wastes on average. */
double state_page(struct sheet *sh, const struct workload *w, double tp);
double state_block(struct sheet *sh, double page_byte, double layer_byte_per_token, double block_token);
double state_waste(struct sheet *sh, double page_token, double slope_byte_per_token);

/* A sequence that was given room for max_seq_token tokens and uses used_token of them. */
struct kv_page {
	double used_token, max_seq_token, block_token;
};

/* What pre-allocation wastes and what blocks of block_token tokens save.  Returns how many times more sequences fit. */
double kv_paging(
    struct sheet *sh, const struct workload *w, const struct kv_page *page, double kv_elem_byte, double tp);

/* How many times smaller the cache is than with a key and a value per query head. */
double kv_sharing(struct sheet *sh, const struct workload *w, const struct block *b);
/* Tokens whose keys and values a step would compute again without a cache. */
double kv_recomputed(struct sheet *sh, double seq_token);
double kv_batch(struct sheet *sh, double n_sequences, double sequence_byte);

/* Bytes left for the cache on one GPU after its share of the weights. */
double kv_space(struct sheet *sh, double mem_byte, double headroom_frac, double weight_byte);
/* Tokens that fit in the space, in sequences of seq_token tokens. */
double kv_capacity_token(
    struct sheet *sh, const struct workload *w, double space_byte, double seq_token, double kv_elem_byte, double tp);
/* Whole sequences of sequence_byte bytes that fit in the space. */
double kv_capacity_sequences(struct sheet *sh, double space_byte, double sequence_byte);

/* Conventions of publications for the FLOP of a trained token: a utilization means nothing without its convention. */

enum convention {
	CONVENTION_NONE = -1,
	CONVENTION_RIDGE_CAUSAL,
	CONVENTION_RIDGE_FULL,
	CONVENTION_PALM,
	CONVENTION_KAPLAN,
	CONVENTION_LLM_FOUNDRY,
	CONVENTION_MEGATRON_BRIDGE,
	CONVENTION_NEMO,
	CONVENTION_SC21,
	CONVENTION_SC21_MODEL,
	CONVENTION_BIGSCIENCE,
	CONVENTION_BIGSCIENCE_PLAIN,
	CONVENTION_SEQSEL,
	CONVENTION_SEQSEL_HARDWARE,
	N_CONVENTIONS
};

const char *convention_name(enum convention c);
const char *convention_title(enum convention c);
const char *convention_source(enum convention c);
/* Which keys of attention it counts. */
const char *convention_attention(enum convention c);
/* Hardware FLOP count what is computed again; model FLOP do not. */
bool convention_is_hardware(enum convention c);
enum convention convention_find(const char *name);
/* Why this model cannot be counted this way, or NULL. */
const char *convention_refusal(enum convention c, const struct workload *w);

/* FLOP of one token of a sequence of seq_token tokens, forward and backward. */
double convention_flop(struct sheet *sh, enum convention c, const struct workload *w, double seq_token);
/* How many times more than another count says. */
double convention_ratio(struct sheet *sh, double flop_per_token, double other_flop_per_token);

#endif
