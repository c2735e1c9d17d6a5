/* SPDX-License-Identifier: GPL-3.0-or-later */
/* FLOPs of one token: GEMMs with parameters, and attention over other tokens. */
#include "model/layer/parts.h"

#include <string.h>

/* A query at place p (from 0) sees p + 1 keys, at most the window (Beltagy et al., arXiv:2004.05150), or those of its
 * own chunk. */
double
seen_keys(struct sheet *sh, const struct attention *a, double n_new, double n_cached, bool causal)
{
	GIVEN(sh, n_new, n_cached);
	LET(sh, n_keys, n_cached + n_new);
	if (!causal) {
		LET(sh, n_seen, n_keys);
		return n_seen;
	}
	if (a->window.value > 0) {
		TAKE(sh, window, a->window);
		/* new queries whose past is still shorter than the window, and the rest */
		LET(sh, n_growing, fmax(0, fmin(n_keys, window) - n_cached));
		LET(sh, n_sum, n_growing * (n_cached + (n_growing + 1) / 2) + (n_new - n_growing) * window);
		LET(sh, n_seen, n_sum / n_new);
		return n_seen;
	}
	if (a->chunk.value > 0) {
		TAKE(sh, chunk, a->chunk);
		/* sum over places below N of their place in the chunk: whole chunks and a remainder */
		LET(sh, n_chunks, floor(n_keys / chunk));
		LET(sh, n_rest, n_keys - n_chunks * chunk);
		LET(sh, n_sum_all, n_chunks * chunk * (chunk + 1) / 2 + n_rest * (n_rest + 1) / 2);
		LET(sh, n_old_chunks, floor(n_cached / chunk));
		LET(sh, n_old_rest, n_cached - n_old_chunks * chunk);
		LET(sh, n_sum_old, n_old_chunks * chunk * (chunk + 1) / 2 + n_old_rest * (n_old_rest + 1) / 2);
		LET(sh, n_seen, (n_sum_all - n_sum_old) / n_new);
		return n_seen;
	}
	LET(sh, n_seen, n_cached + (n_new + 1) / 2);
	return n_seen;
}

double
multiplied_params(struct sheet *sh, const struct workload *w)
{
	CALL(sh, active_param, model_active_params(sh, w));
	CALL(sh, embedding_param, embedding_params(sh, w));
	TAKE(sh, hidden, w->hidden);
	double shared_head_param, pooler_param;
	if (w->kind != MODEL_VISION && w->head && w->tied_embeddings) {
		TAKE(sh, vocabulary, w->vocab);
		SET(sh, shared_head_param, vocabulary * hidden);
	} else
		SET(sh, shared_head_param, 0);
	if (w->pooler) /* one token of a sequence meets it */
		SET(sh, pooler_param, hidden * hidden + hidden);
	else
		SET(sh, pooler_param, 0);
	LET(sh, multiplied_param, active_param - embedding_param - pooler_param + shared_head_param);
	return multiplied_param;
}

/* --- tokens that attend to each other: 2 FLOP for each query and key, of every head and each element of its width ---
 */

static double
attention_flop(struct sheet *sh, const struct layer_op *op, const struct attention *a, double n_places, bool causal)
{
	GIVEN(sh, n_places);
	TAKE(sh, n_heads, op->n.units);
	TAKE(sh, key_width, op->n.size);
	TAKE(sh, value_width, op->k.size);
	CALL(sh, n_seen, attended_keys(sh, a, n_places, 0, causal && !op->source));
	LET(sh, core_flop_per_token, 2 * n_heads * (key_width + value_width) * n_seen);
	return core_flop_per_token;
}

/* Over rows that are keys and values at once. */
static double
latent_flop(struct sheet *sh, const struct layer_op *op, const struct attention *a, double n_places, bool causal)
{
	GIVEN(sh, n_places);
	TAKE(sh, n_heads, op->n.units);
	TAKE(sh, latent, op->n.size);
	TAKE(sh, rope, op->k.units);
	CALL(sh, n_seen, attended_keys(sh, a, n_places, 0, causal));
	LET(sh, core_flop_per_token, 2 * n_heads * (2 * latent + rope) * n_seen);
	return core_flop_per_token;
}

static double
scores_flop(struct sheet *sh, const struct layer_op *op, const struct attention *a, double n_places, bool causal)
{
	GIVEN(sh, n_places);
	TAKE(sh, n_index_heads, op->n.units);
	TAKE(sh, index_dim, op->n.size);
	CALL(sh, n_scored, scored_keys(sh, a, n_places, 0, causal));
	LET(sh, index_flop_per_token, 2 * n_index_heads * index_dim * n_scored);
	return index_flop_per_token;
}

/* A recurrence takes the sequence in chunks, as its kernels do. */
static double
recurrence_flop(struct sheet *sh, const struct workload *w, const struct block *b, double seq_token)
{
	const struct op op = recurrence_op(w, b, 1, seq_token, 1);

	GIVEN(sh, seq_token);
	const double work_flop = op_cost(sh, &op).work_flop;
	LET(sh, mixing_flop_per_token, work_flop / seq_token);
	return mixing_flop_per_token;
}

static double
core_flop(struct sheet *sh, const struct workload *w, const struct block *b, const struct layer_op *op,
    double seq_token, bool causal)
{
	sheet_title(sh, op->title);
	switch (op->runs) {
	case RUNS_ATTENTION:
		return attention_flop(sh, op, &b->attention, seq_token, causal);
	case RUNS_LATENT:
		return latent_flop(sh, op, &b->attention, seq_token, causal);
	case RUNS_SCORES:
		return scores_flop(sh, op, &b->attention, seq_token, causal);
	default:
		return recurrence_flop(sh, w, b, seq_token);
	}
}

static double
block_mixing_flop(struct sheet *sh, const struct workload *w, const struct block *b, double seq_token, bool causal)
{
	struct layer own;
	const struct layer_op *cores[LAYER_OPS];
	const int n = layer_cores(layer_of(w, b, &own), layer_form(b, false), cores);

	GIVEN(sh, seq_token);
	TAKE(sh, n_layers, b->count);
	SUM(sh, layer_flop_per_token, i, n, core_flop(sh, w, b, cores[i], seq_token, causal));
	LET(sh, block_flop_per_token, n_layers * layer_flop_per_token);
	return block_flop_per_token;
}

/* An encoder's tokens see each other all. */
static double
encoder_mixing_flop(struct sheet *sh, const struct workload *w, double seq_token)
{
	GIVEN(sh, seq_token);
	SUM(sh, encoder_flop_per_token, i, w->n_encoder_blocks,
	    block_mixing_flop(sh, w, &w->encoder_blocks[i], seq_token, false));
	return encoder_flop_per_token;
}

/* Chowdhery et al., arXiv:2204.02311, appendix B: 2 N + attention.  An encoder-decoder's token is one of each side. */
double
forward_flop(struct sheet *sh, const struct workload *w, double seq_token, bool causal)
{
	GIVEN(sh, seq_token);
	CALL(sh, multiplied_param, multiplied_params(sh, w));
	TAKE(sh, flop_per_token_per_param, 2.0);
	LET(sh, dense_flop_per_token, flop_per_token_per_param * multiplied_param);
	SUM(sh, attention_flop_per_token, i, w->n_blocks, block_mixing_flop(sh, w, &w->blocks[i], seq_token, causal));
	CALL(sh, encoder_flop_per_token, encoder_mixing_flop(sh, w, seq_token));
	LET(sh, forward_flop_per_token, dense_flop_per_token + attention_flop_per_token + encoder_flop_per_token);
	return forward_flop_per_token;
}

/* Some accounts multiply the embedding's table too, as if rows were found by a product. */
double
embedded_flop(struct sheet *sh, const struct workload *w, double seq_token, bool causal)
{
	GIVEN(sh, seq_token);
	CALL(sh, forward_flop_per_token, forward_flop(sh, w, seq_token, causal));
	CALL(sh, embedding_param, embedding_params(sh, w));
	TAKE(sh, flop_per_token_per_param, 2.0);
	LET(sh, embedded_flop_per_token, forward_flop_per_token + flop_per_token_per_param * embedding_param);
	return embedded_flop_per_token;
}

/* One product for the gradient of the input and one for that of the weights (or of the other operand). */
double
backward_flop(struct sheet *sh, const struct workload *w, double seq_token, bool causal)
{
	GIVEN(sh, seq_token);
	CALL(sh, forward_flop_per_token, forward_flop(sh, w, seq_token, causal));
	LET(sh, backward_flop_per_token, 2 * forward_flop_per_token);
	return backward_flop_per_token;
}

/* --- by published convention ----------------------------------------------------------------------------- */

/* How publications count the FLOP of one trained token, forward and backward.  `attention` says which keys count;
 * hardware FLOP have the recomputed forward passes in them. */
static const struct {
	const char *name, *attention;
	bool hardware;
	const char *title, *source;
} conventions[N_CONVENTIONS] = {
    [CONVENTION_RIDGE_CAUSAL] = {"ridge-causal", "visible keys", false,
        "three forward passes; windows and sparse attention as they are",
        "Chowdhery et al., arXiv:2204.02311, appendix B, with causal attention"},
    [CONVENTION_RIDGE_FULL] = {"ridge-full", "all keys", false, "three forward passes, every token attending to all",
        "Chowdhery et al., arXiv:2204.02311, appendix B"},
    [CONVENTION_PALM] = {"palm", "all keys", false, "6 N + 12 L a d s, N all parameters that a token meets",
        "Chowdhery et al., arXiv:2204.02311, appendix B"},
    [CONVENTION_KAPLAN] = {"kaplan", "none", false, "6 N, N without embedding and head; of experts those visited",
        "Kaplan et al., arXiv:2001.08361, section 2.1"},
    [CONVENTION_LLM_FOUNDRY] = {"llm-foundry", "all keys", false, "6 N + 12 L h s, N with the embedding",
        "mosaicml/llm-foundry, scripts/train/benchmarking/README.md"},
    [CONVENTION_MEGATRON_BRIDGE] = {"megatron-bridge", "half of all keys", false,
        "6 N + 6 L a d s, N the products of a token: no embedding, norms or routers; Mamba-2 layers by a formula",
        "NVIDIA-NeMo/Megatron-Bridge, training/utils/flop_utils.py, 25.09 and later"},
    [CONVENTION_NEMO] = {"nemo", "all keys", false, "6 N + 12 L a d s, N without the embedding",
        "NVIDIA/NeMo up to 24.07; Megatron-LM, examples/llama"},
    [CONVENTION_SC21] = {"sc21", "all keys", true, "96 L h^2 (1 + s/6h + V/16Lh): full recompute",
        "Narayanan et al., SC 2021, equation 3; also BigScience and MT-NLG"},
    [CONVENTION_SC21_MODEL] = {"sc21-model", "all keys", false,
        "72 L h^2 (1 + s/6h + V/12Lh): the same without recompute", "Narayanan et al., SC 2021, appendix"},
    [CONVENTION_BIGSCIENCE] = {"bigscience", "none", true, "8 N: full recompute, no attention, no head apart",
        "bigscience-workshop/bigscience, V100 tables"},
    [CONVENTION_BIGSCIENCE_PLAIN] = {"bigscience-no-recompute", "none", false, "6 N",
        "bigscience-workshop/bigscience, V100 tables"},
    [CONVENTION_SEQSEL] = {"seqsel", "all keys", false, "72 L h^2 (1 + s/6h + V/12Lh)",
        "Korthikanti et al., arXiv:2205.05198, appendix A: MFU"},
    [CONVENTION_SEQSEL_HARDWARE] = {"seqsel-hardware", "all keys", true,
        "72 L h^2 (1 + s/3h + V/12Lh): attention computed again",
        "Korthikanti et al., arXiv:2205.05198, appendix A: HFU under selective recompute"},
};

const char *
convention_name(enum convention c)
{
	return conventions[c].name;
}

const char *
convention_title(enum convention c)
{
	return conventions[c].title;
}

const char *
convention_source(enum convention c)
{
	return conventions[c].source;
}

const char *
convention_attention(enum convention c)
{
	return conventions[c].attention;
}

bool
convention_is_hardware(enum convention c)
{
	return conventions[c].hardware;
}

enum convention
convention_find(const char *name)
{
	for (int c = 0; c < N_CONVENTIONS; c++)
		if (strcmp(conventions[c].name, name) == 0)
			return (enum convention)c;
	return CONVENTION_NONE;
}

/* --- shapes that a closed form was written for ----------------------------------------------------------- */

static bool
all_attend(const struct workload *w)
{
	for (int i = 0; i < w->n_blocks; i++)
		if (w->blocks[i].mixer != MIXER_ATTENTION || w->blocks[i].attention.kind == ATTENTION_CSA)
			return false;
	return true;
}

/* Layers of one part each, of which some attend or recur as in Mamba-2. */
static bool
is_hybrid(const struct workload *w)
{
	for (int i = 0; i < w->n_blocks; i++) {
		const enum mixer_kind mixer = w->blocks[i].mixer;
		if (mixer == MIXER_DELTA || mixer == MIXER_KDA || w->blocks[i].attention.kind == ATTENTION_CSA)
			return false;
	}
	return workload_alternates(w);
}

/* The forms in L and h alone are those of GPT: as many key heads as heads, a plain MLP of width 4 h. */
static bool
is_gpt(const struct workload *w)
{
	for (int i = 0; i < w->n_blocks; i++) {
		const struct block *b = &w->blocks[i];
		const struct attention *a = &b->attention;
		if (a->kind != ATTENTION_HEADS || a->n_heads.value * a->head_dim.value != w->hidden.value ||
		    a->n_kv_heads.value != a->n_heads.value || b->moe.given || !b->mlp.given || b->mlp.gated ||
		    b->mlp.width.value != 4 * w->hidden.value)
			return false;
	}
	return true;
}

const char *
convention_refusal(enum convention c, const struct workload *w)
{
	if (w->kind != MODEL_DECODER && w->kind != MODEL_ENCODER && w->kind != MODEL_ENCODER_DECODER)
		return "the model has no tokens";
	switch (c) {
	case CONVENTION_RIDGE_CAUSAL:
	case CONVENTION_RIDGE_FULL:
		return expand_missing(w);
	case CONVENTION_KAPLAN:
		return NULL;
	case CONVENTION_BIGSCIENCE:
	case CONVENTION_BIGSCIENCE_PLAIN:
		return workload_has_experts(w) ? "the convention is for dense models: N would count all experts" : NULL;
	case CONVENTION_PALM:
	case CONVENTION_NEMO:
	case CONVENTION_LLM_FOUNDRY:
		if (w->kind == MODEL_ENCODER_DECODER || !all_attend(w))
			return "the formula needs attention in every layer";
		return NULL;
	case CONVENTION_MEGATRON_BRIDGE:
		if (w->kind == MODEL_ENCODER_DECODER || (!all_attend(w) && !is_hybrid(w)))
			return "the formula needs attention or Mamba-2 in every layer that mixes tokens";
		return NULL;
	case CONVENTION_SC21:
	case CONVENTION_SC21_MODEL:
	case CONVENTION_SEQSEL:
	case CONVENTION_SEQSEL_HARDWARE:
		if (w->kind == MODEL_ENCODER_DECODER || !all_attend(w) || !is_gpt(w))
			return "the formula is for GPT layers: MHA and an ungated MLP of 4 x hidden";
		return NULL;
	case CONVENTION_NONE:
	case N_CONVENTIONS:
		break;
	}
	return "unknown";
}

/* --- counts ---------------------------------------------------------------------------------------------- */

static double
ridge_flop(struct sheet *sh, const struct workload *w, double seq_token, bool causal)
{
	GIVEN(sh, seq_token);
	CALL(sh, forward_flop_per_token, forward_flop(sh, w, seq_token, causal));
	CALL(sh, backward_flop_per_token, backward_flop(sh, w, seq_token, causal));
	LET(sh, trained_flop_per_token, forward_flop_per_token + backward_flop_per_token);
	return trained_flop_per_token;
}

/* Heads times their mean width of keys and values, summed over layers: what attention multiplies for each pair of
 * tokens. */
static double
layer_width(struct sheet *sh, const struct workload *w, const struct block *b)
{
	struct layer own;
	const struct layer_op *core = layer_attention(layer_of(w, b, &own));

	if (!core) {
		LET(sh, attended_width, 0);
		return attended_width;
	}
	TAKE(sh, n_layers, b->count);
	TAKE(sh, n_heads, core->n.units);
	TAKE(sh, key_width, core->n.size);
	TAKE(sh, value_width, core->k.size);
	LET(sh, attended_width, n_layers * n_heads * (key_width + value_width) / 2);
	return attended_width;
}

/* multiple N, and multiple L a d s. */
static double
product_flop(struct sheet *sh, const struct workload *w, double n_params, double multiple, double attention_multiple,
    double seq_token)
{
	GIVEN(sh, n_params, attention_multiple);
	TAKE(sh, n_places, seq_token);
	TAKE(sh, flop_per_token_per_param, multiple);
	SUM(sh, attended_width, i, w->n_blocks, layer_width(sh, w, &w->blocks[i]));
	LET(sh, trained_flop_per_token,
	    flop_per_token_per_param * n_params + attention_multiple * attended_width * n_places);
	return trained_flop_per_token;
}

static double
without_embedding(struct sheet *sh, const struct workload *w)
{
	CALL(sh, active_param, model_active_params(sh, w));
	CALL(sh, embedding_param, embedding_params(sh, w));
	TAKE(sh, hidden, w->hidden);
	TAKE(sh, vocabulary, w->tied_embeddings && w->head ? w->vocab.value : 0);
	LET(sh, shared_head_param, vocabulary * hidden);
	LET(sh, product_param, active_param - embedding_param + shared_head_param);
	return product_param;
}

static double
block_uncounted(struct sheet *sh, const struct workload *w, const struct block *b)
{
	TAKE(sh, n_layers, b->count);
	CALL(sh, layer_param, layer_params(sh, w, b, IN_ROUTER | IN_NORMS, COUNT_ALL));
	LET(sh, uncounted_param, n_layers * layer_param);
	return uncounted_param;
}

/* A state-space layer of a hybrid is counted as twice the hidden size wide, its scan as 7 FLOP for each element of the
 * state. */
static double
bridge_scan_flop(struct sheet *sh, const struct workload *w, const struct block *b)
{
	if (b->mixer != MIXER_MAMBA) {
		LET(sh, scan_flop_per_token, 0);
		return scan_flop_per_token;
	}
	TAKE(sh, n_layers, b->count);
	TAKE(sh, hidden, w->hidden);
	FROM_STRUCT(sh, b->mamba, n_heads, n_groups, state);
	LET(sh, projected, 2 * 2 * hidden + 2 * n_groups * state + n_heads);
	LET(sh, products_flop_per_token, 2 * hidden * projected + 2 * 2 * hidden * hidden);
	LET(sh, scan_flop_per_token, 3 * n_layers * (products_flop_per_token + 7 * 2 * hidden * state));
	return scan_flop_per_token;
}

/* Products of a layer of this kind that a token meets, but those that are not counted. */
static double
bridge_layer_params(struct sheet *sh, const struct workload *w, const struct block *b)
{
	const unsigned parts = IN_LAYER & ~(IN_ROUTER | IN_NORMS | (b->mixer == MIXER_MAMBA ? IN_MIXER : 0));

	CALL(sh, layer_param, layer_params(sh, w, b, parts, COUNT_ACTIVE));
	LET(sh, product_param, layer_param);
	return product_param;
}

static double
bridge_block_params(struct sheet *sh, const struct workload *w, const struct block *b)
{
	TAKE(sh, n_layers, b->count);
	CALL(sh, layer_param, bridge_layer_params(sh, w, b));
	LET(sh, block_param, n_layers * layer_param);
	return block_param;
}

/* A prediction layer is one that attends and one that feeds forward, with a head. */
static double
hybrid_flop(struct sheet *sh, const struct workload *w, double seq_token)
{
	const struct block *attends = workload_attention(w), *feeds = w->blocks;

	while (feeds < w->blocks + w->n_blocks - 1 && !feeds->moe.given && !feeds->mlp.given)
		feeds++;
	TAKE(sh, n_places, seq_token);
	TAKE(sh, flop_per_token_per_param, 6.0);
	TAKE(sh, n_mtp_layers, attends ? datum_or(w->n_mtp, 0) : 0);
	FROM(sh, w, hidden, vocab);
	SUM(sh, layers_param, i, w->n_blocks, bridge_block_params(sh, w, &w->blocks[i]));
	SUM(sh, attended_width, i, w->n_blocks, layer_width(sh, w, &w->blocks[i]));
	SUM(sh, scan_flop_per_token, i, w->n_blocks, bridge_scan_flop(sh, w, &w->blocks[i]));
	double extra_param, extra_width;
	if (n_mtp_layers > 0) {
		CALL(sh, mixer_param, bridge_layer_params(sh, w, attends));
		CALL(sh, feed_param, bridge_layer_params(sh, w, feeds));
		CALL(sh, mixer_width, layer_width(sh, w, attends));
		TAKE(sh, n_kind_layers, attends->count);
		SET(sh, extra_param, mixer_param + feed_param + hidden * vocab);
		SET(sh, extra_width, mixer_width / n_kind_layers);
	} else {
		SET(sh, extra_param, 0);
		SET(sh, extra_width, 0);
	}
	LET(sh, product_param, layers_param + hidden * vocab + n_mtp_layers * extra_param);
	LET(sh, trained_flop_per_token,
	    flop_per_token_per_param * product_param + scan_flop_per_token +
	        6 * n_places * (attended_width + n_mtp_layers * extra_width));
	return trained_flop_per_token;
}

static double
bridge_flop(struct sheet *sh, const struct workload *w, double seq_token)
{
	GIVEN(sh, seq_token);
	CALL(sh, product_param, without_embedding(sh, w));
	SUM(sh, uncounted_param, i, w->n_blocks, block_uncounted(sh, w, &w->blocks[i]));
	CALL(sh, final_param, final_params(sh, w));
	LET(sh, counted_param, product_param - uncounted_param - final_param);
	CALL(sh, trained_flop_per_token, product_flop(sh, w, counted_param, 6, 6, seq_token));
	return trained_flop_per_token;
}

static double
foundry_flop(struct sheet *sh, const struct workload *w, double seq_token)
{
	TAKE(sh, n_places, seq_token);
	TAKE(sh, flop_per_token_per_param, 6.0);
	FROM(sh, w, n_layers, hidden);
	CALL(sh, active_param, model_active_params(sh, w));
	LET(sh, trained_flop_per_token, flop_per_token_per_param * active_param + 12 * n_layers * hidden * n_places);
	return trained_flop_per_token;
}

/* `multiple` L h^2 (1 + s / `near` h + V / `far` L h). */
static double
gpt_flop(struct sheet *sh, const struct workload *w, double seq_token, double multiple, double near, double far)
{
	GIVEN(sh, multiple, near, far);
	TAKE(sh, n_places, seq_token);
	FROM(sh, w, n_layers, hidden);
	TAKE(sh, vocabulary, w->vocab);
	LET(sh, attention_share, n_places / (near * hidden));
	LET(sh, head_share, vocabulary / (far * n_layers * hidden));
	LET(sh, trained_flop_per_token, multiple * n_layers * hidden * hidden * (1 + attention_share + head_share));
	return trained_flop_per_token;
}

/* Without tables and head, and of experts those that a token visits. */
static double
inner_active_params(struct sheet *sh, const struct workload *w)
{
	CALL(sh, active_param, model_active_params(sh, w));
	CALL(sh, embedding_param, embedding_params(sh, w));
	CALL(sh, head_param, head_params(sh, w));
	LET(sh, inner_param, active_param - embedding_param - head_param);
	return inner_param;
}

static double
bare_flop(struct sheet *sh, double n_params, double multiple)
{
	GIVEN(sh, n_params);
	TAKE(sh, flop_per_token_per_param, multiple);
	LET(sh, trained_flop_per_token, flop_per_token_per_param * n_params);
	return trained_flop_per_token;
}

double
convention_flop(struct sheet *sh, enum convention c, const struct workload *w, double seq_token)
{
	switch (c) {
	case CONVENTION_RIDGE_CAUSAL:
		return ridge_flop(sh, w, seq_token, true);
	case CONVENTION_RIDGE_FULL:
		return ridge_flop(sh, w, seq_token, false);
	case CONVENTION_LLM_FOUNDRY:
		return foundry_flop(sh, w, seq_token);
	case CONVENTION_MEGATRON_BRIDGE:
		return (workload_alternates(w) ? hybrid_flop : bridge_flop)(sh, w, seq_token);
	case CONVENTION_SC21:
		return gpt_flop(sh, w, seq_token, 96, 6, 16);
	case CONVENTION_SC21_MODEL:
	case CONVENTION_SEQSEL:
		return gpt_flop(sh, w, seq_token, 72, 6, 12);
	case CONVENTION_SEQSEL_HARDWARE:
		return gpt_flop(sh, w, seq_token, 72, 3, 12);
	case CONVENTION_PALM: {
		CALL(sh, active_param, model_active_params(sh, w));
		CALL(sh, trained_flop_per_token, product_flop(sh, w, active_param, 6, 12, seq_token));
		return trained_flop_per_token;
	}
	case CONVENTION_NEMO: {
		CALL(sh, product_param, without_embedding(sh, w));
		CALL(sh, trained_flop_per_token, product_flop(sh, w, product_param, 6, 12, seq_token));
		return trained_flop_per_token;
	}
	case CONVENTION_KAPLAN: {
		CALL(sh, inner_param, inner_active_params(sh, w));
		CALL(sh, trained_flop_per_token, bare_flop(sh, inner_param, 6));
		return trained_flop_per_token;
	}
	case CONVENTION_BIGSCIENCE:
	case CONVENTION_BIGSCIENCE_PLAIN: {
		CALL(sh, model_param, model_params(sh, w));
		CALL(sh, trained_flop_per_token, bare_flop(sh, model_param, c == CONVENTION_BIGSCIENCE ? 8 : 6));
		return trained_flop_per_token;
	}
	case CONVENTION_NONE:
	case N_CONVENTIONS:
		break;
	}
	return NAN;
}

double
convention_ratio(struct sheet *sh, double flop_per_token, double other_flop_per_token)
{
	GIVEN(sh, flop_per_token, other_flop_per_token);
	LET(sh, ratio, flop_per_token / other_flop_per_token);
	return ratio;
}
