/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which layers attend to everything, to a window or a chunk, or recur. */
#include "import/parts.h"

#include <string.h>

/* All layers look back over the window, where there is one. */
void
rule_windows(struct hf *h)
{
	if (!datum_given(hf_number(h, HF_window)))
		return;
	for (size_t i = 0; i < h->n_layers; i++)
		h->layers[i].mixer = MIX_WINDOW;
}

/* Qwen: the layers from max_window_layers on, where use_sliding_window says so. */
void
rule_late_windows(struct hf *h)
{
	if (!hf_flag(h, HF_use_window) || !datum_given(hf_number(h, HF_window)))
		return;
	const double from = datum_or(hf_number(h, HF_window_from), 0);
	for (size_t i = 0; i < h->n_layers; i++)
		if ((double)i >= from)
			h->layers[i].mixer = MIX_WINDOW;
}

/* Every n-th layer is full, the others are `other`. */
static void
every(struct hf *h, enum hf_mixer other)
{
	const struct datum period = hf_need(h, HF_period);

	for (size_t i = 0; datum_given(period) && i < h->n_layers; i++)
		h->layers[i].mixer = (i + 1) % (size_t)period.value == 0 ? MIX_FULL : other;
}

void
rule_pattern(struct hf *h)
{
	every(h, MIX_WINDOW);
}

void
rule_interval(struct hf *h)
{
	every(h, MIX_LINEAR);
}

/* Llama 4: layers with rotary positions stay within chunks; an empty list means every fourth is without. */
void
rule_chunks(struct hf *h)
{
	const struct node *n = tree_get(h->config, "no_rope_layers");

	if (!n || n->kind != NODE_LIST || n->n == 0) {
		every(h, MIX_CHUNK);
		return;
	}
	const struct node *list = hf_per_layer(h, "no_rope_layers");
	for (size_t i = 0; list && i < h->n_layers; i++)
		h->layers[i].mixer = hf_entry(h, list, i, "no_rope_layers") > 0 ? MIX_CHUNK : MIX_FULL;
}

/* Nemotron-H: M Mamba, * attention, - MLP, E experts; every layer is one of them. */
void
rule_letters(struct hf *h)
{
	const struct node *n = tree_get(h->config, "hybrid_override_pattern");
	const char *text = hf_text(n);

	hf_node(h, HF_experts);
	if (!text) {
		hf_fault(h, n ? n->at : h->config->at, "'hybrid_override_pattern' is missing");
		diag_hint(h->diag, "one letter per layer: M Mamba, * attention, - MLP, E experts");
		return;
	}
	if (strlen(text) != h->n_layers) {
		hf_fault(h, n->at, "'hybrid_override_pattern' has %zu letters, but '%s' is %zu", strlen(text),
		    hf_name(h, HF_layers), h->n_layers);
		diag_hint(h->diag, "one letter per layer is expected");
		return;
	}
	for (size_t i = 0; i < h->n_layers; i++) {
		struct hf_layer *l = &h->layers[i];
		l->mixer = text[i] == 'M' ? MIX_LINEAR : text[i] == '*' ? MIX_FULL : MIX_NONE;
		l->feed = text[i] == 'E' ? FEED_MOE : text[i] == '-' ? FEED_MLP : FEED_NONE;
		if (!strchr("M*-E", text[i])) {
			hf_fault(h, n->at, "unknown layer '%c' in 'hybrid_override_pattern'", text[i]);
			diag_hint(h->diag, "M Mamba, * attention, - MLP, E experts");
			return;
		}
	}
	h->feeds_said = true;
}

/* GPT-Neo: [[["global", "local"], 12]] repeats the words 12 times. */
void
rule_attention_types(struct hf *h)
{
	const struct node *n = tree_get(h->config, "attention_types");
	size_t at = 0;

	if (!n) {
		hf_assume(h, "attention_types global, local in turn");
		for (size_t i = 1; i < h->n_layers; i += 2)
			h->layers[i].mixer = MIX_WINDOW;
		return;
	}
	for (size_t g = 0; n->kind == NODE_LIST && g < n->n; g++) {
		const struct node *group = n->items[g];
		if (group->kind != NODE_LIST || group->n != 2 || group->items[0]->kind != NODE_LIST) {
			hf_fault(h, group->at, "'attention_types' is not a list of words and counts");
			diag_hint(h->diag, "[[[\"global\", \"local\"], 12]] is 24 layers");
			return;
		}
		const double times = hf_entry(h, group, 1, "attention_types");
		const struct node *words = group->items[0];
		for (size_t i = 0; i < (size_t)times * words->n; i++, at++)
			if (at < h->n_layers && !hf_set_mixer(h, &h->layers[at], hf_text(words->items[i % words->n])))
				hf_unknown_entry(h, words->items[i % words->n], "attention_types");
	}
	if (at != h->n_layers)
		hf_fault(h, n->at, "'attention_types' has %zu layers, but '%s' is %zu", at, hf_name(h, HF_layers),
		    h->n_layers);
}

/* Kimi: two lists of layers, counted from 1, that together are all. */
void
rule_kda(struct hf *h)
{
	static const char *const lists[] = {"linear_attn_config.full_attn_layers", "linear_attn_config.kda_layers"};
	size_t seen = 0;

	for (size_t k = 0; k < 2; k++) {
		const struct node *n = tree_at(h->config, lists[k]);
		if (!n || n->kind != NODE_LIST) {
			hf_fault(h, n ? n->at : h->config->at, "'%s' is missing", lists[k]);
			diag_hint(h->diag, "a list of the layers of that kind, counted from 1");
			return;
		}
		for (size_t i = 0; i < n->n; i++) {
			const struct datum d = hf_whole(h, n->items[i], lists[k], 1, (double)h->n_layers);
			if (datum_given(d))
				h->layers[(size_t)d.value - 1].mixer = k ? MIX_LINEAR : MIX_FULL;
		}
		seen += n->n;
	}
	if (seen != h->n_layers)
		hf_fault(h, h->config->at, "'linear_attn_config' names %zu layers, but '%s' is %zu", seen,
		    hf_name(h, HF_layers), h->n_layers);
}

/* DeepSeek-V4: 0 window only, 4 or 128 tokens in one. */
void
rule_compressed(struct hf *h)
{
	const struct node *list = hf_per_layer(h, "compress_ratios");

	if (!list && !h->failed && !tree_get(h->config, "compress_ratios")) {
		hf_fault(h, h->config->at, "'compress_ratios' is missing");
		diag_hint(h->diag, "one entry per layer: 0, 4 or 128; or layer_types");
	}
	for (size_t i = 0; list && i < h->n_layers; i++) {
		h->layers[i].mixer = MIX_COMPRESSED;
		h->layers[i].ratio = hf_entry(h, list, i, "compress_ratios");
		if (h->layers[i].ratio != 0 && h->layers[i].ratio != 4 && h->layers[i].ratio != 128) {
			hf_fault(h, list->items[i]->at, "'compress_ratios[%zu]' is %g", i, h->layers[i].ratio);
			diag_hint(h->diag, "use 0, 4 or 128");
			return;
		}
	}
}

/* GLM: layers whose indexer is shared choose as the layer before them did. */
void
rule_indexers(struct hf *h)
{
	const struct node *list = hf_per_layer(h, "indexer_types");

	for (size_t i = 0; list && i < h->n_layers; i++) {
		if (!hf_one_of(h, list->items[i], arena_printf(h->arena, "indexer_types[%zu]", i), "full shared"))
			return;
		h->layers[i].no_indexer = hf_text(list->items[i]) && strcmp(list->items[i]->text, "shared") == 0;
	}
}

/* MiMo-V2: 1 is a window. */
void
rule_hybrid(struct hf *h)
{
	const struct node *list = hf_per_layer(h, "hybrid_layer_pattern");

	if (!list && !h->failed) {
		hf_assume(h, "hybrid_layer_pattern full in the first and every 6th layer");
		for (size_t i = 0; i < h->n_layers; i++)
			h->layers[i].mixer = i == 0 || (i + 1) % 6 == 0 ? MIX_FULL : MIX_WINDOW;
	}
	for (size_t i = 0; list && i < h->n_layers; i++)
		h->layers[i].mixer = hf_entry(h, list, i, "hybrid_layer_pattern") > 0 ? MIX_WINDOW : MIX_FULL;
}

/* MiniMax-M3: 1 is block-sparse attention with an indexer. */
void
rule_sparse(struct hf *h)
{
	static const char name[] = "sparse_attention_config.sparse_attention_freq";
	const struct node *list = hf_per_layer(h, name);

	for (size_t i = 0; list && i < h->n_layers; i++)
		h->layers[i].mixer = hf_entry(h, list, i, name) > 0 ? MIX_SPARSE : MIX_FULL;
	if (!list)
		hf_node(h, HF_index_heads);
}

/* MiniMax: 1 is attention; 0 was lightning attention in models before M2. */
void
rule_attention_flags(struct hf *h)
{
	const struct node *list = hf_per_layer(h, "attn_type_list");

	for (size_t i = 0; list && i < h->n_layers; i++)
		if (hf_entry(h, list, i, "attn_type_list") != 1) {
			hf_fault(h, list->items[i]->at, "'attn_type_list' has layers with lightning attention");
			diag_hint(h->diag, "only MiniMax-M2 and M3 are supported, where all entries are 1");
			return;
		}
}
