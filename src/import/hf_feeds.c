/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which layers have an MLP and which have experts. */
#include "import/parts.h"

#include <stdlib.h>
#include <string.h>

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

/* Gemma 4: experts beside the MLP. */
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
