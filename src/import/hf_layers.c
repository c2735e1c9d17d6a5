/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Assign a kind to each layer, by one small rule per notation used in configurations; group equal layers into blocks,
 * each with mixer and feed-forward part.
 */
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

/* --- blocks of equal layers -------------------------------------------------------------------------------------- */

/* --- attention ------------------------------------------------------------------------------------------- */

static bool
is(const char *word, const char *what)
{
	return word && strcmp(word, what) == 0;
}

static struct datum
either(struct datum first, struct datum otherwise)
{
	return datum_given(first) ? first : otherwise;
}

/* none, qkv, all or out. */
static const char *
bias_of(struct hf *h)
{
	const char *fixed = hf_word(h, HF_bias);

	if (fixed)
		return fixed;
	return hf_flag(h, HF_attention_bias) ? hf_word(h, HF_biased) : NULL;
}

static const char *
kind_of(double heads, double kv_heads)
{
	return kv_heads == heads ? "mha" : kv_heads == 1 ? "mqa" : "gqa";
}

static void
put_indexer(struct hf *h, struct node *out, struct source at)
{
	const struct datum heads = hf_number(h, HF_index_heads);
	struct datum top_k = hf_number(h, HF_index_top_k);
	struct node *map = map_new(h->arena, at);

	if (!datum_given(heads))
		return;
	if (!datum_given(top_k)) { /* of blocks */
		top_k = hf_number(h, HF_index_blocks);
		top_k.value *= hf_number(h, HF_index_block).value;
	}
	map_number(h->arena, map, "heads", heads);
	map_number(h->arena, map, "dim", hf_need(h, HF_index_dim));
	map_number(h->arena, map, "top_k", top_k);
	map_put(h->arena, out, "indexer", map);
}

/* Head dimensions of a layer, which may differ between window and full layers. */
struct heads {
	struct datum n, kv, dim, v;
};

static struct heads
heads_of(struct hf *h, const struct hf_layer *l)
{
	struct heads x = {
	    hf_need(h, HF_heads), hf_number(h, HF_kv_heads), hf_number(h, HF_head_dim), hf_number(h, HF_v_dim)};

	if (l->mixer == MIX_WINDOW) {
		x.n = either(hf_number(h, HF_window_heads), x.n);
		x.kv = either(hf_number(h, HF_window_kv_heads), x.kv);
		x.dim = either(hf_number(h, HF_window_head_dim), x.dim);
		x.v = either(hf_number(h, HF_window_v_dim), x.v);
	} else if (l->mixer == MIX_FULL) {
		x.dim = either(hf_number(h, HF_full_head_dim), x.dim);
		if (hf_flag(h, HF_k_is_v))
			x.kv = either(hf_number(h, HF_full_kv_heads), x.kv);
		else
			hf_node(h, HF_full_kv_heads);
	}
	if (l->kv_heads > 0)
		x.kv = (struct datum){l->kv_heads, h->config->at};
	if (hf_flag(h, HF_multi_query))
		x.kv = (struct datum){1, h->config->at};
	if (!datum_given(x.kv) && !h->reported[HF_kv_heads])
		x.kv = x.n;
	return x;
}

static void
put_reach(struct hf *h, struct node *out, const struct hf_layer *l)
{
	if (l->mixer == MIX_WINDOW)
		map_number(h->arena, out, "window", hf_need(h, HF_window));
	if (l->mixer == MIX_CHUNK)
		map_number(h->arena, out, "chunk", hf_need(h, HF_chunk));
}

static void
put_norm(struct hf *h, struct node *out)
{
	if (hf_flag(h, HF_qk_norm))
		map_word(
		    h->arena, out, "qk_norm", is(hf_word(h, HF_qk_norm_type), "per_layer") ? "full" : "true", out->at);
}

static struct node *
heads_attention(struct hf *h, const struct hf_layer *l)
{
	struct node *out = map_new(h->arena, h->config->at);
	const struct heads x = heads_of(h, l);

	if (!datum_given(x.n) || !datum_given(x.kv))
		return out;
	if (fmod(x.n.value, x.kv.value) != 0 && !h->reported[HF_kv_heads]) {
		h->reported[HF_kv_heads] = true;
		hf_fault(h, x.kv.from, "'%s' %g does not divide '%s' %g", hf_name(h, HF_kv_heads), x.kv.value,
		    hf_name(h, HF_heads), x.n.value);
		diag_hint(h->diag, "query heads must be a multiple of KV heads");
	}
	map_word(h->arena, out, "kind", kind_of(x.n.value, x.kv.value), x.kv.from);
	map_number(h->arena, out, "heads", x.n);
	if (x.kv.value != x.n.value && x.kv.value != 1)
		map_number(h->arena, out, "kv_heads", x.kv);
	map_number(h->arena, out, "head_dim", x.dim);
	if (x.v.value != x.dim.value)
		map_number(h->arena, out, "v_dim", x.v);
	map_number(h->arena, out, "q_lora", hf_number(h, HF_q_lora));
	map_word(h->arena, out, "bias", bias_of(h), out->at);
	put_norm(h, out);
	map_flag(h->arena, out, "sinks", hf_flag(h, l->mixer == MIX_WINDOW ? HF_window_sinks : HF_sinks), out->at);
	map_flag(h->arena, out, "gate", hf_flag(h, HF_gate), out->at);
	put_reach(h, out, l);
	map_flag(h->arena, out, "k_is_v", l->mixer == MIX_FULL && hf_flag(h, HF_k_is_v), out->at);
	if (l->mixer == MIX_SPARSE)
		put_indexer(h, out, out->at);
	return out;
}

/* DeepSeek-AI, arXiv:2405.04434: keys and values of all heads from one latent. */
static struct node *
latent_attention(struct hf *h, const struct hf_layer *l)
{
	struct node *out = map_new(h->arena, h->config->at);

	hf_number(h, HF_kv_heads);
	map_word(h->arena, out, "kind", "mla", out->at);
	map_number(h->arena, out, "heads", hf_need(h, HF_heads));
	map_number(h->arena, out, "q_lora", hf_number(h, HF_q_lora));
	map_number(h->arena, out, "kv_lora", hf_need(h, HF_kv_lora));
	map_number(h->arena, out, "nope", hf_need(h, HF_nope));
	map_number(h->arena, out, "rope", hf_need(h, HF_rope));
	map_number(h->arena, out, "v_dim", hf_need(h, HF_v_dim));
	map_flag(h->arena, out, "gate", hf_flag(h, HF_gate), out->at);
	if (!l->no_indexer)
		put_indexer(h, out, out->at);
	return out;
}

/* DeepSeek-V4: a window and compressed tokens, with one KV head. */
static struct node *
compressed_attention(struct hf *h, const struct hf_layer *l)
{
	struct node *out = map_new(h->arena, h->config->at);

	map_word(h->arena, out, "kind", "csa", out->at);
	map_number(h->arena, out, "heads", hf_need(h, HF_heads));
	map_number(h->arena, out, "head_dim", hf_need(h, HF_head_dim));
	map_number(h->arena, out, "rope", hf_need(h, HF_rope));
	map_number(h->arena, out, "q_lora", hf_need(h, HF_q_lora));
	map_number(h->arena, out, "window", hf_need(h, HF_window));
	map_number(h->arena, out, "ratio", (struct datum){l->ratio, out->at});
	map_number(h->arena, out, "o_lora", hf_need(h, HF_o_lora));
	map_number(h->arena, out, "o_groups", hf_need(h, HF_o_groups));
	if (l->ratio == 4)
		put_indexer(h, out, out->at);
	return out;
}

/* --- recurrent layers ------------------------------------------------------------------------------------ */

struct pair {
	const char *key;
	enum hf_field field;
};

static const struct {
	const char *name;
	struct pair pairs[6];
	size_t n, needed;
} recurrences[] = {
    /* Dao and Gu, arXiv:2405.21060 */
    {"mamba",
        {{"heads", HF_mamba_heads}, {"head_dim", HF_mamba_dim}, {"groups", HF_mamba_groups}, {"state", HF_mamba_state},
            {"conv", HF_conv}, {"chunk", HF_mamba_chunk}},
        6, 5},
    /* Yang et al., arXiv:2412.06464 */
    {"delta",
        {{"key_heads", HF_key_heads}, {"value_heads", HF_value_heads}, {"key_dim", HF_key_dim},
            {"value_dim", HF_value_dim}, {"conv", HF_conv}},
        5, 5},
    /* Kimi Team, arXiv:2510.26692 */
    {"kda", {{"heads", HF_key_heads}, {"head_dim", HF_key_dim}, {"conv", HF_conv}}, 3, 3},
};

static void
put_recurrence(struct hf *h, struct node *block)
{
	const char *word = hf_word(h, HF_linear);

	for (size_t i = 0; word && i < sizeof recurrences / sizeof *recurrences; i++) {
		if (strcmp(recurrences[i].name, word) != 0)
			continue;
		struct node *out = map_new(h->arena, h->config->at);
		for (size_t k = 0; k < recurrences[i].n; k++) {
			const struct pair *p = &recurrences[i].pairs[k];
			map_number(h->arena, out, p->key,
			    k < recurrences[i].needed ? hf_need(h, p->field) : hf_number(h, p->field));
		}
		map_flag(h->arena, out, "full_gate", is(word, "kda") && hf_flag(h, HF_full_gate), out->at);
		map_put(h->arena, block, word, out);
		return;
	}
	if (!h->reported[HF_linear])
		hf_fault(h, h->config->at, "%s has no recurrent layers", h->family->type);
	h->reported[HF_linear] = true;
}

static void
put_mixer(struct hf *h, struct node *block, const struct hf_layer *l)
{
	const char *kind = hf_word(h, HF_attention);

	if (l->mixer == MIX_NONE)
		return;
	if (l->mixer == MIX_LINEAR)
		put_recurrence(h, block);
	else
		map_put(h->arena, block, "attention",
		    is(kind, "mla")       ? latent_attention(h, l)
		        : is(kind, "csa") ? compressed_attention(h, l)
		                          : heads_attention(h, l));
}

/* --- feed-forward ---------------------------------------------------------------------------------------- */

static struct node *
mlp_of(struct hf *h, struct datum width)
{
	struct node *out = map_new(h->arena, h->config->at);
	const char *kind = hf_word(h, HF_mlp);
	const bool plain = is(kind, "plain") || (kind && strncmp(kind, "gated", 5) != 0);

	map_word(h->arena, out, "kind", plain ? "plain" : "gated", out->at);
	map_number(h->arena, out, "width", width);
	map_flag(h->arena, out, "bias", hf_flag(h, HF_mlp_bias), out->at);
	return out;
}

/* Shared experts: as wide as the routed ones unless their width is stated; 0 of them, or of no width, are none. */
static void
put_shared(struct hf *h, struct node *out, const struct hf_layer *l, struct datum expert_width)
{
	struct datum n = hf_number(h, HF_shared), width = hf_number(h, HF_shared_width);

	if (l->feed == FEED_BOTH) {
		n = (struct datum){1, h->config->at};
		width = hf_need(h, HF_width);
	}
	width = either(width, expert_width);
	if (!(n.value > 0) || !(width.value > 0))
		return;
	map_number(h->arena, out, "shared_experts", n);
	map_number(h->arena, out, "shared_width", width);
	map_flag(h->arena, out, "shared_gate", hf_flag(h, HF_shared_gate), out->at);
}

static struct node *
moe_of(struct hf *h, const struct hf_layer *l)
{
	struct node *out = map_new(h->arena, h->config->at);
	const struct datum experts = hf_need(h, HF_experts), top_k = hf_need(h, HF_top_k),
	                   width = hf_need(h, HF_expert_width);

	if (top_k.value > experts.value && !h->reported[HF_top_k]) {
		h->reported[HF_top_k] = true;
		hf_fault(h, top_k.from, "'%s' is %g, but there are %g experts", hf_name(h, HF_top_k), top_k.value,
		    experts.value);
	}
	map_number(h->arena, out, "experts", experts);
	map_number(h->arena, out, "top_k", top_k);
	map_number(h->arena, out, "width", width);
	put_shared(h, out, l, width);
	map_flag(h->arena, out, "router_bias", hf_flag(h, HF_router_bias) || l->feed == FEED_BOTH, out->at);
	map_flag(h->arena, out, "expert_bias", hf_flag(h, HF_expert_bias), out->at);
	if (is(hf_word(h, HF_expert_kind), "plain"))
		map_word(h->arena, out, "gated", "false", out->at);
	map_number(h->arena, out, "latent", hf_number(h, HF_latent));
	if (hf_number(h, HF_expert_groups).value > 1)
		map_number(h->arena, out, "groups", hf_number(h, HF_expert_groups));
	return out;
}

static void
put_feed(struct hf *h, struct node *block, const struct hf_layer *l)
{
	if (l->feed == FEED_MLP)
		map_put(h->arena, block, "mlp",
		    mlp_of(h, l->width > 0 ? (struct datum){l->width, h->config->at} : hf_need(h, HF_width)));
	else if (l->feed != FEED_NONE)
		map_put(h->arena, block, "moe", moe_of(h, l));
}

/* --- groups of like layers ------------------------------------------------------------------------------- */

struct group {
	struct hf_layer layer;
	double count;
};

static bool
alike(const struct hf_layer *a, const struct hf_layer *b)
{
	return a->mixer == b->mixer && a->feed == b->feed && a->ratio == b->ratio && a->kv_heads == b->kv_heads &&
	    a->width == b->width && a->no_indexer == b->no_indexer;
}

static size_t
group_layers(const struct hf *h, struct group *groups)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n_layers; i++) {
		size_t k = 0;
		while (k < n && !alike(&groups[k].layer, &h->layers[i]))
			k++;
		if (k == n)
			groups[n++] = (struct group){h->layers[i], 0};
		groups[k].count++;
	}
	return n;
}

/* The first layers dense, all others with experts, and the same attention in both. */
static bool
is_dense_first(const struct hf *h, const struct group *g, size_t n)
{
	struct hf_layer second = n == 2 ? g[1].layer : (struct hf_layer){0};

	second.feed = FEED_MLP;
	if (n != 2 || g[0].layer.feed != FEED_MLP || g[1].layer.feed != FEED_MOE || !alike(&g[0].layer, &second))
		return false;
	return h->layers[(size_t)g[0].count - 1].feed == FEED_MLP;
}

static void
put_parts(struct hf *h, struct node *out, const struct hf_layer *l)
{
	put_mixer(h, out, l);
	put_feed(h, out, l);
}

void
hf_blocks(struct hf *h, struct node *out)
{
	struct group *groups = ARENA_ARRAY(h->arena, struct group, h->n_layers + 1);
	const size_t n = group_layers(h, groups);
	const double norms = datum_or(hf_number(h, HF_norms), 2);

	if (n == 1) {
		put_parts(h, out, &groups[0].layer);
		return;
	}
	if (is_dense_first(h, groups, n)) {
		put_parts(h, out, &groups[0].layer);
		struct node *moe = moe_of(h, &groups[1].layer);
		map_number(h->arena, moe, "dense_layers", (struct datum){groups[0].count, out->at});
		map_put(h->arena, out, "moe", moe);
		return;
	}
	struct node *list = list_new(h->arena, out->at);
	for (size_t i = 0; i < n; i++) {
		struct node *block = map_new(h->arena, out->at);
		const struct hf_layer *l = &groups[i].layer;
		const int parts = (l->mixer != MIX_NONE) + (l->feed != FEED_NONE);
		map_number(h->arena, block, "count", (struct datum){groups[i].count, out->at});
		put_parts(h, block, l);
		if (parts < 2) /* each part has its norms */
			map_number(h->arena, block, "norms", (struct datum){norms * parts / 2, out->at});
		list_put(h->arena, list, block);
	}
	map_put(h->arena, out, "blocks", list);
}

void
hf_encoder(struct hf *h, struct node *out)
{
	struct node *encoder = map_new(h->arena, out->at), *attention = map_new(h->arena, out->at);
	const struct datum heads = hf_need(h, HF_encoder_heads), dim = hf_number(h, HF_head_dim);

	map_number(h->arena, encoder, "layers", hf_need(h, HF_encoder_layers));
	map_word(h->arena, attention, "kind", "mha", out->at);
	map_number(h->arena, attention, "heads", heads);
	map_number(h->arena, attention, "head_dim", dim);
	map_word(h->arena, attention, "bias", bias_of(h), out->at);
	map_put(h->arena, encoder, "attention", attention);
	map_put(h->arena, encoder, "mlp", mlp_of(h, hf_need(h, HF_encoder_width)));
	map_put(h->arena, out, "encoder", encoder);
}
