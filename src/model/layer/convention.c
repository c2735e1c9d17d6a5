/* SPDX-License-Identifier: GPL-3.0-or-later */
/* FLOPs per trained token by published convention. */
#include "model/layer/parts.h"

#include <string.h>

static const struct {
	const char *name, *attention, *title, *source;
	bool hardware;
} conventions[N_CONVENTIONS] = {
#define CONVENTION(id, text, attention, hardware, title, source) {text, attention, title, source, hardware},
#include "model/layer/convention.def"
#undef CONVENTION
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

static bool
has_experts(const struct workload *w)
{
	for (int i = 0; i < w->n_blocks; i++)
		if (w->blocks[i].moe.given)
			return true;
	return false;
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
		return has_experts(w) ? "the convention is for dense models: N would count all experts" : NULL;
	case CONVENTION_PALM:
	case CONVENTION_NEMO:
	case CONVENTION_LLM_FOUNDRY:
	case CONVENTION_MEGATRON_BRIDGE:
		if (w->kind == MODEL_ENCODER_DECODER || !all_attend(w))
			return "the formula needs attention in every layer";
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
		return bridge_flop(sh, w, seq_token);
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
