/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convert token mixers of a configuration: full, windowed and chunked attention, recurrences. */
#include "import/parts.h"

#include <stdlib.h>
#include <string.h>

/* --- hf feeds ------------------------------------------------------------------------------------------------ */

/* Which layers have an MLP and which have experts. */

static void
all_feed(struct hf *h, enum hf_feed feed)
{
	for (size_t i = 0; i < h->n_layers; i++)
		h->layers[i].feed = feed;
	h->feeds_said = true;
}

void
rule_moe(struct hf *h)
{
	if (!h->feeds_said)
		all_feed(h, FEED_MOE);
}

/* Gemma 4: experts in addition to the MLP. */
void
rule_gemma_moe(struct hf *h)
{
	const struct datum ple = hf_number(h, HF_ple);

	if (ple.value > 0) {
		hf_fault(h, h->config->at,
		    "'hidden_size_per_layer_input' is %g: per-layer embeddings are not supported", ple.value);
		diag_hint(h->diag, "write 0 if the model has none");
	}
	if (hf_flag(h, HF_use_moe))
		all_feed(h, FEED_BOTH);
	else
		hf_node(h, HF_experts);
}

static bool
in_list(const struct node *list, size_t layer)
{
	for (size_t i = 0; list && list->kind == NODE_LIST && i < list->n; i++)
		if (hf_text(list->items[i]) && strtod(list->items[i]->text, NULL) == (double)layer)
			return true;
	return false;
}

/* Qwen: every n-th layer has experts, but not those of mlp_only_layers. */
void
rule_step(struct hf *h)
{
	const struct datum n = hf_need(h, HF_step);
	const struct node *mlp_only = tree_get(h->config, "mlp_only_layers");

	if (h->feeds_said || !datum_given(n))
		return;
	for (size_t i = 0; i < h->n_layers; i++)
		h->layers[i].feed = (i + 1) % (size_t)n.value == 0 && !in_list(mlp_only, i) ? FEED_MOE : FEED_MLP;
	h->feeds_said = true;
}

/* Llama 4: every n-th layer has experts, or those of moe_layers. */
void
rule_interleave(struct hf *h)
{
	const struct node *list = tree_get(h->config, "moe_layers");

	if (!list || list->kind != NODE_LIST) {
		rule_step(h);
		return;
	}
	for (size_t i = 0; i < h->n_layers; i++)
		h->layers[i].feed = in_list(list, i) ? FEED_MOE : FEED_MLP;
	h->feeds_said = true;
}

/* DeepSeek: the first layers are dense; moe_layer_freq is a step, or says it of every layer. */
void
rule_first_dense(struct hf *h)
{
	const struct node *freq = tree_get(h->config, "moe_layer_freq");

	if (h->feeds_said)
		return;
	h->feeds_said = true;
	if (freq && freq->kind == NODE_LIST) {
		const struct node *list = hf_per_layer(h, "moe_layer_freq");
		for (size_t i = 0; list && i < h->n_layers; i++)
			h->layers[i].feed = hf_entry(h, list, i, "moe_layer_freq") > 0 ? FEED_MOE : FEED_MLP;
		return;
	}
	const struct datum dense = hf_need(h, HF_dense);
	const double n = hf_text(freq) ? datum_or(hf_whole(h, freq, "moe_layer_freq", 1, 1e4), 1) : 1;
	for (size_t i = 0; datum_given(dense) && i < h->n_layers; i++)
		h->layers[i].feed = (double)i >= dense.value && i % (size_t)n == 0 ? FEED_MOE : FEED_MLP;
}

/* Step: "4,5,6" names the layers with experts. */
void
rule_enumerated(struct hf *h)
{
	const struct node *n = tree_get(h->config, "moe_layers_enum");
	const char *text = hf_text(n);
	size_t beyond = 0;

	if (h->feeds_said || (!text && strstr(hf_layer_rules(h->family), "first_dense")))
		return;
	if (!text) {
		hf_fault(h, n ? n->at : h->config->at, "'moe_layers_enum' is missing");
		diag_hint(h->diag, "write for example \"4,5,6\", the layers with experts, counted from 0");
		return;
	}
	for (const char *p = text; *p; p += strspn(p, ", ")) {
		char *end;
		const unsigned long i = strtoul(p, &end, 10);
		if (end == p) {
			hf_fault(h, n->at, "'moe_layers_enum' is not a list of numbers: '%.40s'", p);
			return;
		}
		if (i < h->n_layers)
			h->layers[i].feed = FEED_MOE;
		else
			beyond++;
		p = end;
	}
	if (beyond)
		hf_remember(h, "layers of moe_layers_enum beyond the model: %zu", beyond);
	h->feeds_said = true;
}

/* --- Nemotron-NAS: every layer by itself ----------------------------------------------------------------- */

/* A part of a layer of Nemotron-NAS; false when it is not there. */
static bool
nas_part(struct hf *h, const struct node *block, const char *part, const char *key, const struct node **value)
{
	const struct node *map = tree_get(block, part);
	const char *off = hf_text(tree_get(map, "no_op")), *linear = hf_text(tree_get(map, "replace_with_linear"));

	*value = tree_get(map, key);
	if (!map || map->kind != NODE_MAP)
		hf_fault(h, block->at, "a layer of 'block_configs' has no '%s'", part);
	else if (linear && strcmp(linear, "true") == 0) {
		hf_fault(h, map->at, "'replace_with_linear': a layer with a linear %s is not supported", part);
		diag_hint(h->diag, "write a model file by hand");
	} else if (off && strcmp(off, "true") == 0)
		return false;
	else if (!hf_text(*value))
		hf_fault(h, map->at, "'%s' is missing", key);
	return !h->failed;
}

/* The width as DeciLM rounds it: a multiple of 256 above 2/3 of ffn_mult times hidden. */
static double
nas_width(double mult, double hidden)
{
	return ceil(floor(2 * mult * hidden / 3) / 256) * 256;
}

/* Layers that do nothing are none. */
static void
drop_idle(struct hf *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n_layers; i++)
		if (h->layers[i].mixer != MIX_NONE || h->layers[i].feed != FEED_NONE)
			h->layers[n++] = h->layers[i];
	if (n < h->n_layers)
		hf_remember(h, "layers without any part, left out: %zu", h->n_layers - n);
	h->n_layers = n;
}

void
rule_block_configs(struct hf *h)
{
	const struct node *list = hf_per_layer(h, "block_configs"), *value;
	const double heads = datum_or(hf_need(h, HF_heads), 0), hidden = datum_or(hf_need(h, HF_hidden), 0);

	if (!list && !h->failed)
		hf_fault(h, h->config->at, "'block_configs' is missing");
	for (size_t i = 0; list && !h->failed && i < h->n_layers; i++) {
		struct hf_layer *l = &h->layers[i];
		l->mixer = MIX_NONE;
		l->feed = FEED_NONE;
		if (nas_part(h, list->items[i], "attention", "n_heads_in_group", &value)) {
			const struct datum group = hf_whole(h, value, "n_heads_in_group", 1, heads);
			l->mixer = MIX_FULL;
			l->kv_heads = heads / datum_or(group, 1);
		}
		if (nas_part(h, list->items[i], "ffn", "ffn_mult", &value)) {
			l->feed = FEED_MLP;
			l->width = nas_width(strtod(value->text, NULL), hidden);
			if (!(l->width >= 1 && l->width <= 1e7))
				hf_fault(h, value->at, "'ffn_mult' is %s", value->text);
		}
	}
	drop_idle(h);
	h->feeds_said = true;
}

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
