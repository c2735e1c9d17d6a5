/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a layer keeps for its backward pass: tensors read off its rows, each with a class of enum keep.  Megatron-Core
 * with Transformer Engine is read off its operators (August 2026), and so is what latent attention (DeepSeek-AI,
 * arXiv:2405.04434, section 2.1) and experts keep everywhere.  Other frameworks keep the list of Korthikanti et al.,
 * arXiv:2205.05198, section 4.1 (34 h + 5 a s bytes per token for a GPT layer in 16 bits), widened to gated MLPs,
 * grouped queries, flash attention, frozen and adapted maps.  Widths are those of one tensor-parallel rank; norms and
 * the residual stream are divided too when sequence parallelism is on.
 */
#include "model/memory/parts.h"

#include <assert.h>

/* --- classes --------------------------------------------------------------------------------------------- */

/* How the backward pass keeps a tensor: the cases of kept_byte. */
enum keep {
	KEEP_PLAIN,
	KEEP_OPERAND,
	KEEP_NORMS,
	KEEP_FLOAT,
	KEEP_OUTPUT,
	KEEP_LOG_SUM_EXP,
	KEEP_SCORES,
	KEEP_MASK,
	KEEP_ROUTER,
	KEEP_INDEX,
	KEEP_DISPATCHED,
	KEEP_COPY,
	KEEP_ADAPTER,
	KEEP_ADAPTER_INPUT,
	KEEP_EAGER,
};

/* What the expressions of the classes name. */
struct traits {
	double elem_byte, input_byte, float_byte, n_norm_copies, n_outputs, copy_byte, lse_byte, n_scores, mask_byte,
	    router_byte, index_byte, late_byte, adapter_byte, cast_byte, dropout_byte, eager_byte;
};

static bool
eager_norm(const struct memory_job *job)
{
	return job->compiled ? job->stack->eager_norm_compiled : job->stack->eager_norm;
}

/* Of an element of an adapter's input, cast to the adapter's type; 0: it reads the input itself. */
static double
cast_byte(const struct memory_job *job)
{
	return job->stack->adapter_byte.value > 2 && !job->stack->fused_casts ? 4 : 0;
}

/* A product keeps its input for the weight's gradient: the weight's own or its adapter's.  Some libraries keep it for
 * frozen quantized weights too; where they keep it in fp32, that copy replaces all others.  An adapter behind dropout
 * keeps what dropout left of it, and one of a wider type its cast: both are counted with the adapter, and nothing else
 * needs the input. */
static bool
reads_input(const struct memory_job *job)
{
	return !job->adapter_dropout && !(cast_byte(job) > 0);
}

static bool
keeps_input(const struct memory_job *job, bool adapted)
{
	if (!job_is_lora(job))
		return true;
	if (job->quant != QUANT_NONE && job->stack->keeps_fp32_inputs)
		return false;
	return adapted || (job->quant != QUANT_NONE && job->stack->keeps_quantised_inputs);
}

/* Context parallelism keeps a second copy of attention's output: the tensor before the all-to-all, or the second cast
 * of the ring's fp32 sum.  `own`: attention's tensors are read off its operators. */
static struct traits
traits_of(const struct memory_job *job, bool own)
{
	const struct stack *s = job->stack;
	const bool eager = eager_norm(job), trained = !job_is_lora(job) || job_adapts(job, TARGET_OUTPUTS);

	return (struct traits){.elem_byte = job_elem_byte(job),
	    .input_byte = job_input_byte(job),
	    .float_byte = 4,
	    .n_norm_copies = eager ? 2 + trained : 1,
	    .n_outputs = own && job->layout.cp > 1 ? 2 : 1,
	    .copy_byte = job_is_quantised(job) && keeps_input(job, job_adapts(job, TARGET_O)) ? job_input_byte(job) : 0,
	    .lse_byte = job->flash ? 4 : 0,
	    .n_scores = job_is_capped(job) ? 3 : 2,
	    .mask_byte = job->dropout,
	    .router_byte = 14,
	    .index_byte = s->permute_fusion ? 4 : 0,
	    .late_byte = s->late_probabilities ? job_elem_byte(job) : 0,
	    .adapter_byte = s->adapter_byte.value,
	    .cast_byte = cast_byte(job),
	    .dropout_byte = job->adapter_dropout ? 3 : 0,
	    .eager_byte = job->compiled ? 0 : datum_or(s->eager_policy_byte, 0)};
}

/* --- tensors --------------------------------------------------------------------------------------------- */

enum { BESIDE = 0, OF_MIXER = 1, OF_FEED = 2, EVERYWHERE = 3 };

/* `modules`: bits; computing one of them again gives it back.  `away`: bits; it is the input of one of these. */
struct kept {
	enum keep keep;
	int part;
	const char *title;
	double width;
	unsigned modules, away;
};

enum { MOST_KEPT = 64 };

struct list {
	const struct memory_job *job;
	const struct layer *layer;
	double tp, norm_shards;
	bool own[EVERYWHERE]; /* by part: its tensors are read off its operators */
	int part;             /* of what is added */
	int n;
	struct kept kept[MOST_KEPT];
	struct layer rows; /* where the block has none */
};

static void
add(struct list *l, enum keep keep, const char *title, double width, unsigned modules)
{
	assert(l->n < MOST_KEPT);
	l->kept[l->n++] = (struct kept){keep, l->part, title, width, modules, 0};
}

#define AGAIN(m) (1u << MODULE_##m)

/* Mark the tensor added last as the input of a module that can be offloaded. */
static void
may_wait(struct list *l, enum offload_module m)
{
	l->kept[l->n - 1].away = 1u << m;
}

/* Whether what the layer's first maps of these kinds read is kept for an adapter.  Lists of fused adapters were fitted
 * with the input. */
static bool
first_input_kept(const struct memory_job *job, bool feed)
{
	const bool adapted = feed ? job_adapts(job, TARGET_UP) || job_adapts(job, TARGET_GATE)
	                          : job_adapts(job, TARGET_Q) || job_adapts(job, TARGET_K) || job_adapts(job, TARGET_V);
	const bool fused = !feed && job->stack->fused_qkv_adapters;

	return keeps_input(job, adapted && (fused || reads_input(job)));
}

/* --- before attention and before the feed-forward part --------------------------------------------------- */

/* A norm that stands alone can be computed again: in front of latent attention and of experts.  The latter's output
 * stays in 16 bits: the router and the dispatcher read it.  Any other norm is part of the map behind it
 * (transformer_layer.py: attn_norm and mlp_norm of an identity offload nothing). */
static void
keep_entrance(struct list *l, bool feed)
{
	const struct block *block = l->layer->block;
	const double stream = l->job->model->hidden.value / l->norm_shards;
	const bool experts = feed && block->moe.given, latent = !feed && attention_is_latent(&block->attention);

	l->part = feed ? OF_FEED : OF_MIXER;
	if (l->own[l->part]) {
		add(l, KEEP_PLAIN, "input of the norm", stream, 0);
		if (experts || latent || !feed)
			may_wait(l, experts ? AWAY_MLP_NORM : latent ? AWAY_ATTN_NORM : AWAY_QKV_LINEAR);
		add(l, KEEP_FLOAT, "scale of the norm", 1 / l->norm_shards, 0);
		if (first_input_kept(l->job, feed)) {
			add(l, experts ? KEEP_PLAIN : KEEP_OPERAND, "normalized stream", stream,
			    experts || latent ? AGAIN(LAYERNORM)
			        : feed        ? AGAIN(MLP)
			                      : 0);
			if (!feed)
				may_wait(l, AWAY_QKV_LINEAR);
		}
	} else {
		add(l, KEEP_NORMS, "norms", layer_norms(l->layer)->copies.value / block_parts(block) * stream, 0);
		if (first_input_kept(l->job, feed))
			add(l, KEEP_OPERAND, "normalized stream", stream, 0);
	}
	l->part = BESIDE;
	if (l->job->dropout)
		add(l, KEEP_MASK, "dropout mask", stream, 0);
}

/* --- attention ------------------------------------------------------------------------------------------- */

/* What the attention kernel reads and writes is kept as it is, which is also what the output map reads. */
static bool
fp8_attention(const struct memory_job *job)
{
	return job_is_lora(job) && job->dtype == DTYPE_FP8 && job->stack->fp8_frozen;
}

/* Queries and keys are kept after the rotary embedding, which keeps only its angles; values are copied out of the fused
 * buffer, which is then freed, or stay a view of its whole.  Of latent attention the up-projections' outputs are freed:
 * concatenation makes new queries and keys, with the rotary part expanded to every head. */
static void
keep_attention(struct list *l, const struct layer_op *op)
{
	const struct memory_job *job = l->job;
	const struct attention *a = &l->layer->block->attention;
	const double heads = op->n.units.value / l->tp;
	const struct width kv = {job->stack->expanded_kv ? op->n.units : op->k.units, 1, false};
	const double queries = width_local(op->n, l->tp), n_keys = width_local(kv, l->tp);
	const double keys = n_keys * op->n.size, values = n_keys * op->k.size;
	const unsigned again = attention_is_latent(a) ? AGAIN(MLA_UP_PROJ) : 0;
	const enum keep keep = fp8_attention(job) ? KEEP_OPERAND : KEEP_PLAIN;

	l->part = OF_MIXER;
	if (a->qk_norm && job_is_megatron(job)) {
		add(l, KEEP_PLAIN, "queries and keys before their norms", queries + keys, 0);
		add(l, KEEP_FLOAT, "scales of their norms", heads + n_keys, 0);
	}
	add(l, keep, "queries", queries, again);
	may_wait(l, AWAY_CORE_ATTN);
	add(l, keep, "keys", keys, again);
	may_wait(l, AWAY_CORE_ATTN);
	add(l, keep, "values", values, again);
	may_wait(l, AWAY_CORE_ATTN);
	if (job->stack->v_view && !l->own[OF_MIXER])
		add(l, KEEP_PLAIN, "fused queries and values", queries + width_local(op->k, l->tp), 0);
	add(l, fp8_attention(job) ? KEEP_OPERAND : KEEP_OUTPUT, "output of attention", heads * op->k.size, 0);
	may_wait(l, AWAY_ATTN_PROJ);
	if (a->gate)
		add(l, KEEP_PLAIN, "output gate", heads * op->k.size, 0);
	if (a->gate && !job_is_quantised(job)) /* quantized, what the output map reads is a copy anyway */
		add(l, KEEP_PLAIN, "gated output", heads * op->k.size, 0);
	add(l, KEEP_LOG_SUM_EXP, "log-sum-exp", heads, AGAIN(CORE_ATTN));
	if (!job->flash || job_is_capped(job))
		add(l, KEEP_SCORES, "scores", heads * job->seq.value, AGAIN(CORE_ATTN));
}

/* The down-projections of latent attention are on every tensor-parallel rank; their tensors are divided only as the
 * sequence is. */
static void
keep_latent_norm(struct list *l, const struct layer_op *op)
{
	l->part = OF_MIXER;
	add(l, KEEP_OPERAND, op->title, width_local(op->n, 1) / l->norm_shards, AGAIN(MLA_UP_PROJ));
	add(l, KEEP_FLOAT, "scale of the norm", 1 / l->norm_shards, 0);
}

/* Of a state-space layer the fused function keeps the input projection's outputs, from which it computes convolution
 * and states again, and the scan's output before the gate; the norm, which Megatron-Core's mamba_mixer.py calls apart,
 * its input and the scale of each group; the output projection its input (mamba_ssm, MambaSplitConv1dScanCombinedFn and
 * layernorm_gated.py). */
static void
keep_scan(struct list *l)
{
	const struct mamba *m = &l->layer->block->mamba;
	const struct scan_widths w = mamba_widths(m, l->job->seq.value, l->tp);

	l->part = OF_MIXER;
	add(l, KEEP_PLAIN, "gate, values, maps and steps", w.projected, 0);
	add(l, KEEP_PLAIN, "output of the scan", w.inner, 0);
	add(l, KEEP_PLAIN, "gated output", w.inner, 0);
	add(l, KEEP_FLOAT, "scales of the gated norm", w.maps / (2 * m->state.value), 0);
	add(l, KEEP_OPERAND, "input of the output projection", w.inner, 0);
}

/* Of a gated delta net its steps keep what they read or made: the convolution a copy of its input, the norms of queries
 * and keys their results, the rule what it reads, decays and the inverse of each chunk's products, the gated norm its
 * input, its result and the gate; the output projection its input (Megatron-Core v0.16, gated_delta_net.py;
 * flash-linear-attention, ops/gated_delta_rule/chunk.py). */
static void
keep_delta(struct list *l)
{
	const struct delta *d = &l->layer->block->delta;
	const struct delta_widths w = delta_widths(d, l->job->seq.value, l->tp);

	l->part = OF_MIXER;
	add(l, KEEP_PLAIN, "input of the convolution", w.convolved, 0);
	add(l, KEEP_PLAIN, "normalized queries and keys", 2 * w.keys, 0);
	add(l, KEEP_FLOAT, "scales of their norms", 2 * w.keys / d->key_dim.value, 0);
	if (w.repeated > w.keys)
		add(l, KEEP_PLAIN, "queries and keys of each value head", 2 * w.repeated, 0);
	add(l, KEEP_PLAIN, "values", w.values, 0);
	add(l, KEEP_FLOAT, "decays", 3 * w.heads, 0);
	add(l, KEEP_PLAIN, "steps", w.heads, 0);
	add(l, KEEP_PLAIN, "inverses of the chunks", w.scores, 0);
	add(l, KEEP_PLAIN, "output of the rule", w.values, 0);
	add(l, KEEP_FLOAT, "scales of the gated norm", w.heads, 0);
	add(l, KEEP_PLAIN, "normalized output and gate", 2 * w.values, 0);
	add(l, KEEP_OPERAND, "input of the output projection", w.values, 0);
}

static void
keep_recurrence(struct list *l)
{
	if (l->layer->block->mixer == MIXER_DELTA)
		keep_delta(l);
	else
		keep_scan(l);
}

/* --- feed-forward parts ---------------------------------------------------------------------------------- */

double
routed_copies(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	TAKE(sh, n_chosen, block->moe.top_k);
	TAKE(sh, imbalance, job->imbalance);
	TAKE(sh, etp, job->layout.etp);
	TAKE(sh, norm_shards, job_norm_shards(job));
	LET(sh, n_copies, n_chosen * imbalance * etp / norm_shards);
	return n_copies;
}

/* The copy before the exchange and the experts' output are not kept, unless the probabilities are applied to it. */
static void
keep_dispatch(struct list *l)
{
	const struct moe *moe = &l->layer->block->moe;
	const double n_copies = routed_copies(NULL, l->job, l->layer->block), hidden = l->job->model->hidden.value;
	const double stream = moe->latent.value > 0 ? moe->latent.value : hidden;

	l->part = OF_FEED;
	add(l, KEEP_DISPATCHED, "dispatched tokens", n_copies * stream, AGAIN(MOE));
	may_wait(l, AWAY_EXPERT_FC1);
	add(l, KEEP_FLOAT, "probabilities", n_copies, AGAIN(MOE));
	if (moe->n_shared.value > 0)
		add(l, KEEP_COPY, "input of the shared experts", hidden / l->norm_shards, AGAIN(MOE));
}

static void
keep_router(struct list *l, const struct layer_op *op)
{
	l->part = OF_FEED;
	add(l, KEEP_ROUTER, "router", op->n.units.value / l->norm_shards, AGAIN(MOE));
	add(l, KEEP_INDEX, "permutation", 1 / l->norm_shards, AGAIN(MOE));
}

/* Maps into and out of the experts' latent are on every tensor-parallel rank, for its part of the sequence.  The first
 * reads the normalized stream, of which it keeps its own quantized copy. */
static void
keep_latent_map(struct list *l, const struct layer_op *op)
{
	const bool into = op->n.units.value == l->layer->block->moe.latent.value;

	l->part = OF_FEED;
	add(l, into ? KEEP_COPY : KEEP_OPERAND, op->title, width_local(op->k, 1) / l->norm_shards, AGAIN(MOE));
}

/* The first maps' outputs stay for the activation's gradient: SwiGLU's gate, up and, where the activation is not one
 * kernel, the activated gate.  The down map's input is the activation's output. */
static void
keep_feed(struct list *l, const struct layer_op *op)
{
	const struct memory_job *job = l->job;
	const double n = op->routed ? routed_copies(NULL, job, l->layer->block) : 1;
	const double shards = op->routed ? job->layout.etp : l->tp;
	const unsigned again = op->part == IN_MLP ? AGAIN(MLP)
	    : op->part == IN_SHARED               ? AGAIN(MOE) | AGAIN(SHARED_EXPERTS)
	                                          : AGAIN(MOE);
	const bool adapted = job_adapts(job, TARGET_DOWN) && reads_input(job);

	l->part = OF_FEED;
	if (op->map != MAP_DOWN) {
		add(l, KEEP_PLAIN, op->title, n * width_local(op->n, shards), again);
		if (op->routed)
			may_wait(l, AWAY_MOE_ACT);
	}
	if (op->map == MAP_GATE && op->part == IN_MLP && !job->stack->fused_activation)
		add(l, KEEP_PLAIN, "activated gate", width_local(op->n, shards), again);
	if (op->map == MAP_DOWN && keeps_input(job, adapted))
		add(l, KEEP_OPERAND, "input of down", n * width_local(op->k, shards),
		    again | (op->routed ? AGAIN(MOE_ACT) : 0));
}

/* --- adapters -------------------------------------------------------------------------------------------- */

static bool
is_adapted(const struct memory_job *job, const struct layer_op *op)
{
	return op->map != MAP_OTHER && job_adapts(job, (enum target)(op->map - MAP_Q));
}

static void
keep_adapter(struct list *l, const char *title, double n, double input)
{
	add(l, KEEP_ADAPTER, title, n * l->job->lora_rank.value, 0);
	add(l, KEEP_ADAPTER_INPUT, title, n * input, 0);
}

/* Frozen quantized maps may keep their inputs in fp32, maps of one input once. */
static void
keep_adapted_map(struct list *l, const struct layer_op *op)
{
	const struct memory_job *job = l->job;
	const bool fused = job->stack->fused_qkv_adapters && op->map <= MAP_V;
	const double input = width_local(op->k, l->tp);

	if (is_adapted(job, op) && !fused)
		keep_adapter(l, op->title, 1, input);
	if (job->quant != QUANT_NONE && job->stack->keeps_fp32_inputs && !op->joined)
		add(l, KEEP_FLOAT, "input in fp32", width_local(op->k, 1), 0);
	if (job_adapts(job, TARGET_OUTPUTS))
		add(l, KEEP_PLAIN, "output before its scale", width_local(op->n, 1) / l->tp, 0);
}

/* Beside the low-rank ones: the attention's result over a learned prompt, which is gated.  One adapter kernel for
 * queries, keys and values keeps three copies whatever is adapted. */
static void
keep_adapters(struct list *l)
{
	const struct memory_job *job = l->job;
	const struct layer_op *core = layer_attention(l->layer);

	if (!job_is_lora(job))
		return;
	l->part = BESIDE;
	for (int i = 0; i < l->layer->n_ops; i++)
		if (l->layer->op[i].map != MAP_OTHER)
			keep_adapted_map(l, &l->layer->op[i]);
	if (job->stack->fused_qkv_adapters &&
	    (job_adapts(job, TARGET_Q) || job_adapts(job, TARGET_K) || job_adapts(job, TARGET_V)))
		keep_adapter(l, "fused queries, keys and values", 3, job->model->hidden.value);
	if (job_adapts(job, TARGET_PROMPT))
		add(l, KEEP_PLAIN, "attention over the prompt", core->n.units.value * core->k.size / l->tp, 0);
}

/* Inputs + outputs of an adapted map, which has two thin matrices of the rank (Hu et al., ICLR 2022), or a scale and a
 * shift of its outputs. */
static double
map_adapter(struct sheet *sh, const struct memory_job *job, const struct layer_op *op)
{
	sheet_title(sh, op->title);
	TAKE(sh, lora_rank, is_adapted(job, op) ? job->lora_rank.value : 0);
	TAKE(sh, n_scaled, job_adapts(job, TARGET_OUTPUTS) && op->map != MAP_OTHER ? 2.0 : 0);
	TAKE(sh, output_width, width_local(op->n, 1));
	TAKE(sh, input_width, width_local(op->k, 1));
	LET(sh, adapter_param, lora_rank * (input_width + output_width) + n_scaled * output_width);
	return adapter_param;
}

double
layer_adapters(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	struct layer own;
	const struct layer *l = layer_of(job->model, block, &own);

	SUM(sh, maps_param, i, l->n_ops, map_adapter(sh, job, &l->op[i]));
	TAKE(sh, n_prompts, job_adapts(job, TARGET_PROMPT) ? job->lora_rank.value : 0);
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, tp, job->layout.tp);
	LET(sh, adapter_param, (maps_param + n_prompts * hidden) / tp);
	return adapter_param;
}

/* --- the list -------------------------------------------------------------------------------------------- */

static void
keep_row(struct list *l, const struct layer_op *op)
{
	if (op->runs == RUNS_ATTENTION)
		keep_attention(l, op);
	else if (op->runs == RUNS_RECURRENCE)
		keep_recurrence(l);
	else if (op->part == IN_LATENT)
		keep_latent_map(l, op);
	else if (op->runs == RUNS_NORM && op->doubled)
		keep_latent_norm(l, op);
	else if (op->runs == RUNS_SOFTMAX)
		keep_router(l, op);
	else if (op->map >= MAP_GATE)
		keep_feed(l, op);
	else if (op->runs == RUNS_PRODUCT && op->doubled) {
		l->part = OF_MIXER;
		add(l, KEEP_PLAIN, op->title, width_local(op->n, 1) / l->norm_shards, 0);
	}
}

static void
keep_all(struct list *l)
{
	const struct block *block = l->layer->block;

	if (block->mixer != MIXER_NONE)
		keep_entrance(l, false);
	if (block->mlp.given || block->moe.given)
		keep_entrance(l, true);
	if (block->moe.given)
		keep_dispatch(l);
	for (int i = 0; i < l->layer->n_ops; i++)
		keep_row(l, &l->layer->op[i]);
	keep_adapters(l);
}

/* torchtitan's selective activation checkpointing by operator: the layer's input, the output of every other product,
 * the attention's output.  Run eagerly it keeps a little more, which was fitted. */
static void
keep_by_operator(struct list *l)
{
	const double stream = l->job->model->hidden.value / l->norm_shards;
	int n_products = 0;

	l->part = BESIDE;
	add(l, KEEP_PLAIN, "input of the layer", stream, 0);
	add(l, KEEP_EAGER, "run eagerly", stream, 0);
	for (int i = 0; i < l->layer->n_ops; i++) {
		const struct layer_op *op = &l->layer->op[i];
		const double shards = op->n.whole ? l->norm_shards : 1;
		if (op->runs == RUNS_ATTENTION) {
			add(l, KEEP_PLAIN, "output of attention", op->n.units.value * op->k.size / l->tp, 0);
			add(l, KEEP_LOG_SUM_EXP, "log-sum-exp", op->n.units.value / l->tp, 0);
		} else if (op->runs == RUNS_PRODUCT && n_products++ % 2 == 0)
			add(l, KEEP_PLAIN, op->title, width_local(op->n, l->tp) / shards, 0);
	}
}

/* --- folds ----------------------------------------------------------------------------------------------- */

/* Bytes for each token of a tensor of this width.  The expressions are code and derivation at once; WITH(x) names a
 * trait of the job. */
static double
kept_byte(struct sheet *sh, const struct kept *k, const struct traits *t)
{
	sheet_title(sh, k->title);
	TAKE(sh, width, k->width);
	switch (k->keep) {
#define WITH(name) TAKE(sh, name, t->name);
#define KEEP(id, names, bytes)                                                                                         \
	case KEEP_##id: {                                                                                              \
		names LET(sh, kept_byte_per_token, bytes);                                                             \
		return kept_byte_per_token;                                                                            \
	}
		KEEP(PLAIN, WITH(elem_byte), width * elem_byte)
		/* what a product reads, as it is quantized for it */
		KEEP(OPERAND, WITH(input_byte), width * input_byte)
		/* eager norms keep an fp32 copy too, and the normalized value when the gain is trained */
		KEEP(NORMS, WITH(n_norm_copies) WITH(elem_byte), width * n_norm_copies * elem_byte)
		/* one number a token in fp32: of a norm, or the weight of a routed copy */
		KEEP(FLOAT, WITH(float_byte), width * float_byte)
		KEEP(OUTPUT, WITH(n_outputs) WITH(elem_byte) WITH(copy_byte),
		    width * (n_outputs * elem_byte + copy_byte))
		KEEP(LOG_SUM_EXP, WITH(lse_byte), width * lse_byte)
		/* scores, their softmax and its dropout, and the tanh that bounds them */
		KEEP(SCORES, WITH(n_scores) WITH(elem_byte) WITH(mask_byte), width * (n_scores * elem_byte + mask_byte))
		KEEP(MASK, WITH(mask_byte), width * mask_byte)
		/* scores, probabilities and the auxiliary loss's scores in fp32, the routing map, indices */
		KEEP(ROUTER, WITH(router_byte) WITH(index_byte), width * (router_byte + 2 * index_byte))
		KEEP(INDEX, WITH(index_byte), width * index_byte)
		/* tokens that were sent to experts; their output too where probabilities are applied to it */
		KEEP(DISPATCHED, WITH(input_byte) WITH(late_byte), width * (input_byte + late_byte))
		KEEP(COPY, WITH(copy_byte), width * copy_byte)
		KEEP(ADAPTER, WITH(adapter_byte), width * adapter_byte)
		/* an adapter's input, cast to the adapter's type, and with dropout its masked copies */
		KEEP(ADAPTER_INPUT, WITH(cast_byte) WITH(dropout_byte), width * (cast_byte + dropout_byte))
		KEEP(EAGER, WITH(eager_byte), width * eager_byte)
#undef KEEP
#undef WITH
	}
	return 0;
}

static void
list_start(struct list *l, const struct memory_job *job, const struct block *block)
{
	const bool megatron = job_is_megatron(job);

	l->job = job;
	l->layer = layer_of(job->model, block, &l->rows);
	l->tp = job->layout.tp;
	l->norm_shards = job_norm_shards(job);
	l->own[OF_MIXER] = megatron || attention_is_latent(&block->attention);
	l->own[OF_FEED] = megatron || block->moe.given;
	l->n = 0;
}

/* Where a tensor is between the passes of a layer. */
enum whereabouts { STAYS, COMES_BACK, WAITS };

static enum whereabouts
where_is(const struct kept *k, unsigned modules, unsigned away)
{
	return k->modules & modules ? COMES_BACK : k->away & away ? WAITS : STAYS;
}

/* Of these parts what is there, with `modules` computed again and `away` offloaded. */
static double
list_sum(struct sheet *sh, struct list *l, int parts, unsigned modules, unsigned away, enum whereabouts where)
{
	const struct traits traits = traits_of(l->job, l->own[OF_MIXER]);
	const bool all = parts == EVERYWHERE && !modules && !away && where == STAYS;
	int n = all ? l->n : 0;

	for (int i = 0; !all && i < l->n; i++)
		if ((parts == EVERYWHERE || l->kept[i].part & parts) && where_is(&l->kept[i], modules, away) == where)
			l->kept[n++] = l->kept[i];
	SUM(sh, kept_byte_per_token, i, n, kept_byte(sh, &l->kept[i], &traits));
	return kept_byte_per_token;
}

static double
layer_sum(struct sheet *sh, const struct memory_job *job, const struct block *block, int parts, unsigned modules,
    unsigned away, enum whereabouts where)
{
	struct list l;

	list_start(&l, job, block);
	keep_all(&l);
	return list_sum(sh, &l, parts, modules, away, where);
}

double
memory_layer_saved(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	return layer_sum(sh, job, block, EVERYWHERE, 0, 0, STAYS);
}

double
feed_forward_saved(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	return layer_sum(sh, job, block, OF_FEED, 0, 0, STAYS);
}

double
modules_removed(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	return layer_sum(sh, job, block, EVERYWHERE, job->modules, 0, COMES_BACK);
}

double
modules_kept(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	return layer_sum(sh, job, block, EVERYWHERE, job->modules, job->offload_modules, STAYS);
}

double
modules_away(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	return layer_sum(sh, job, block, EVERYWHERE, job->modules, job->offload_modules, WAITS);
}

double
policy_kept(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	struct list l;

	list_start(&l, job, block);
	keep_by_operator(&l);
	return list_sum(sh, &l, EVERYWHERE, 0, 0, STAYS);
}
