/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Assign a kind to each layer: one small rule per notation used in configurations. */
#include "import/parts.h"

#include <stdio.h>
#include <string.h>

/* --- lists ----------------------------------------------------------------------------------------------- */

/* A list with one entry per layer; entries for multi-token prediction may follow.  NULL when the file has none. */
const struct node *
hf_per_layer(struct hf *h, const char *name)
{
	const struct node *n = tree_at(h->config, name);
	const struct datum mtp = hf_number(h, HF_mtp);

	if (!n || (n->kind == NODE_SCALAR && !n->text))
		return NULL;
	if (n->kind != NODE_LIST) {
		hf_fault(h, n->at, "'%s' is not a list", name);
		return NULL;
	}
	if (n->n == h->n_layers || (double)n->n == (double)h->n_layers + datum_or(mtp, 0))
		return n;
	hf_fault(h, n->at, "'%s' has %zu entries, but '%s' is %zu", name, n->n, hf_name(h, HF_layers), h->n_layers);
	diag_hint(h->diag, "one entry per layer is expected");
	return NULL;
}

/* Entry i as a number of at least 0. */
double
hf_entry(struct hf *h, const struct node *list, size_t i, const char *name)
{
	char item[80];

	snprintf(item, sizeof item, "%s[%zu]", name, i);
	return datum_or(hf_whole(h, list->items[i], item, 0, 1e6), 0);
}

/* --- lists of words, for every family -------------------------------------------------------------------- */

static const struct {
	const char *word;
	enum hf_mixer mixer;
	double ratio;
} mixers[] = {
    {"full_attention", MIX_FULL, 0},
    {"attention", MIX_FULL, 0},
    {"global", MIX_FULL, 0},
    {"deepseek_sparse_attention", MIX_FULL, 0},
    {"sliding_attention", MIX_WINDOW, 0},
    {"local", MIX_WINDOW, 0},
    {"chunked_attention", MIX_CHUNK, 0},
    {"minimax_m3_sparse", MIX_SPARSE, 0},
    {"linear_attention", MIX_LINEAR, 0},
    {"kda_attention", MIX_LINEAR, 0},
    {"mamba", MIX_LINEAR, 0},
    {"compressed_sparse_attention", MIX_COMPRESSED, 4},
    {"heavily_compressed_attention", MIX_COMPRESSED, 128},
};

bool
hf_set_mixer(struct hf *h, struct hf_layer *layer, const char *word)
{
	const char *kind = hf_word(h, HF_attention);
	const bool compressed = kind && strcmp(kind, "csa") == 0;

	for (size_t i = 0; word && i < sizeof mixers / sizeof *mixers; i++)
		if (strcmp(mixers[i].word, word) == 0) {
			layer->mixer = compressed ? MIX_COMPRESSED : mixers[i].mixer;
			layer->ratio = mixers[i].ratio;
			return true;
		}
	return false;
}

void
hf_unknown_entry(struct hf *h, const struct node *item, const char *name)
{
	hf_fault(h, item->at, "unknown kind of layer '%s' in '%s'", hf_text(item) ? item->text : "?", name);
	diag_hint(h->diag, "use full_attention, sliding_attention, chunked_attention, linear_attention or mamba");
}

/* `layer_types`, or its name in Nemotron-H, where a layer is one part only. */
static bool
layer_types(struct hf *h)
{
	const char *name = tree_get(h->config, "layers_block_type") ? "layers_block_type" : "layer_types";
	const struct node *list = hf_per_layer(h, name);

	for (size_t i = 0; list && i < h->n_layers; i++) {
		const char *word = hf_text(list->items[i]);
		if (name[5] == 's') {
			const bool moe = word && strcmp(word, "moe") == 0, mlp = word && strcmp(word, "mlp") == 0;
			h->layers[i].feed = moe ? FEED_MOE : mlp ? FEED_MLP : FEED_NONE;
			h->layers[i].mixer = MIX_NONE;
			h->feeds_said = true;
			if (moe || mlp)
				continue;
		}
		if (!hf_set_mixer(h, &h->layers[i], word)) {
			hf_unknown_entry(h, list->items[i], name);
			return true;
		}
	}
	return list != NULL;
}

/* `mlp_layer_types`: dense or sparse. */
static void
mlp_layer_types(struct hf *h)
{
	const struct node *list = hf_per_layer(h, "mlp_layer_types");

	for (size_t i = 0; list && i < h->n_layers; i++) {
		const char *word = hf_text(list->items[i]);
		if (word && strcmp(word, "dense") == 0)
			h->layers[i].feed = FEED_MLP;
		else if (word &&
		    (strcmp(word, "sparse") == 0 || strcmp(word, "moe") == 0 || strcmp(word, "hash_moe") == 0))
			h->layers[i].feed = FEED_MOE;
		else {
			hf_unknown_entry(h, list->items[i], "mlp_layer_types");
			return;
		}
		h->feeds_said = true;
	}
}

/* --- the table ------------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*run)(struct hf *h);
	bool mixes; /* says of attention what `layer_types` says too */
} rules[] = {
    {"windows", rule_windows, true},
    {"late_windows", rule_late_windows, true},
    {"pattern", rule_pattern, true},
    {"interval", rule_interval, true},
    {"chunks", rule_chunks, true},
    {"letters", rule_letters, true},
    {"attention_types", rule_attention_types, true},
    {"kda", rule_kda, true},
    {"compressed", rule_compressed, true},
    {"indexers", rule_indexers, false},
    {"hybrid", rule_hybrid, true},
    {"sparse", rule_sparse, true},
    {"attention_flags", rule_attention_flags, false},
    {"moe", rule_moe, false},
    {"gemma_moe", rule_gemma_moe, false},
    {"step", rule_step, false},
    {"interleave", rule_interleave, false},
    {"first_dense", rule_first_dense, false},
    {"enumerated", rule_enumerated, false},
    {"block_configs", rule_block_configs, true},
};

void
hf_layers(struct hf *h)
{
	h->layers = ARENA_ARRAY(h->arena, struct hf_layer, h->n_layers + 1);
	mlp_layer_types(h);
	const bool said = layer_types(h);
	for (const char *p = hf_layer_rules(h->family); *p; p += strspn(p, " ")) {
		const size_t n = strcspn(p, " ");
		for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
			if (strlen(rules[i].name) == n && strncmp(rules[i].name, p, n) == 0 &&
			    !(said && rules[i].mixes))
				rules[i].run(h);
		p += n;
	}
}
