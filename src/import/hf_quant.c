/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Read quantization_config: the format of the published weights, and the modules left in 16 bits.  Embedding, LM head
 * and routers are: tools skip them by default.
 */
#include "import/parts.h"

#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct quant_format {
	const char *weights; /* NULL: unknown */
	double group;        /* 0: none */
	const char *activations;
};

struct quant_reader {
	struct hf *h;
	const struct node *config;
	struct quant_format base, experts; /* experts.weights NULL: like the base */
	bool experts_only, symmetric;
};

static const char *
word(const struct node *map, const char *key)
{
	return hf_text(tree_get(map, key));
}

/* A number that decides bytes; absent and null are 0. */
static double
whole(struct hf *h, const struct node *map, const char *key, double low, double high)
{
	const struct node *n = tree_get(map, key);

	return n && (n->kind != NODE_SCALAR || n->text) ? datum_or(hf_whole(h, n, key, low, high), 0) : 0;
}

static bool
truth(struct hf *h, const struct node *map, const char *key)
{
	return hf_one_of(h, tree_get(map, key), key, "true false") && word(map, key) &&
	    strcmp(word(map, key), "true") == 0;
}

static bool
is(const char *text, const char *what)
{
	return text && strcmp(text, what) == 0;
}

/* --- formats --------------------------------------------------------------------------------------------- */

/* Names that modelopt gives its recipes. */
static const struct {
	const char *name;
	struct quant_format format;
} algorithms[] = {
    {"FP8", {"fp8", 0, "fp8"}},
    {"FP8_PER_CHANNEL_PER_TOKEN", {"fp8", 0, "fp8"}},
    {"FP8_PB_WO", {"fp8-block", 128, NULL}},
    {"FP8_BLOCK_SCALES", {"fp8-block", 128, "fp8"}},
    {"NVFP4", {"nvfp4", 16, "nvfp4"}},
    {"NVFP4_AWQ", {"nvfp4", 16, "nvfp4"}},
    {"W4A8_AWQ", {"int4", 128, "fp8"}},
    {"W4A16_AWQ", {"int4", 128, NULL}},
    {"W8A8_SQ_PER_CHANNEL", {"int8", 0, "int8"}},
    {"W8A16", {"int8", 0, NULL}},
    {"MXFP8", {"mxfp8", 32, "mxfp8"}},
};

static struct quant_format
algorithm(const char *name)
{
	for (size_t i = 0; name && i < sizeof algorithms / sizeof *algorithms; i++)
		if (strcmp(algorithms[i].name, name) == 0)
			return algorithms[i].format;
	return (struct quant_format){0};
}

/* Format of the experts alone; an unknown one must not count as that of the other weights. */
static struct quant_format
expert_algorithm(struct hf *h, const struct node *n)
{
	const struct quant_format f = algorithm(word(n, "moe_quant_algo"));

	if (word(n, "moe_quant_algo") && !f.weights) {
		hf_fault(
		    h, tree_get(n, "moe_quant_algo")->at, "unknown moe_quant_algo '%.60s'", word(n, "moe_quant_algo"));
		diag_hint(h->diag, "known: FP8, NVFP4, MXFP8, W4A8_AWQ");
	}
	return f;
}

/* Block size of [128, 128], by its first side; default 128. */
static double
block_side(struct hf *h, const struct node *n)
{
	if (!n || (n->kind == NODE_SCALAR && !n->text))
		return 128;
	if (n->kind != NODE_LIST || n->n != 2) {
		hf_fault(h, n->at, "a quantization block needs two sizes");
		diag_hint(h->diag, "write for example [128, 128]");
		return 128;
	}
	const struct datum rows = hf_whole(h, n->items[0], "rows of a block", 1, 1e5);
	(void)hf_whole(h, n->items[1], "columns of a block", 1, 1e5);
	return datum_or(rows, 128);
}

/* `{num_bits: 4, type: float, group_size: 16}` of compressed-tensors and modelopt. */
static struct quant_format
scheme(struct hf *h, const struct node *n)
{
	const bool grouped = is(word(n, "strategy"), "group") || is(word(n, "strategy"), "tensor_group");
	const double bits = whole(h, n, "num_bits", 1, 16), group = whole(h, n, "group_size", grouped ? 1 : -1, 1e6);
	const char *type = word(n, "type");

	if (!hf_one_of(h, tree_get(n, "type"), "type", "int float") ||
	    !hf_one_of(
	        h, tree_get(n, "strategy"), "strategy", "tensor channel token group block tensor_group attn_head"))
		return (struct quant_format){0};

	if (is(type, "int") && (bits == 4 || bits == 8))
		return (struct quant_format){bits == 4 ? "int4" : "int8", group > 0 ? group : 0, NULL};
	if (bits == 8 && is(word(n, "strategy"), "block"))
		return (struct quant_format){"fp8-block", block_side(h, tree_get(n, "block_structure")), NULL};
	if (bits == 8)
		return (struct quant_format){"fp8", 0, NULL};
	if (bits == 4)
		return (struct quant_format){group == 32 ? "mxfp4" : "nvfp4", group, NULL};
	return (struct quant_format){0};
}

static const char *
activation_type(const char *type)
{
	if (is(type, "fp8-block"))
		return "fp8";
	return type && strcmp(type, "int4") != 0 ? type : NULL;
}

static bool
aims_at_experts(const struct node *group)
{
	const struct node *targets = tree_get(group, "targets");

	for (size_t i = 0; targets && targets->kind == NODE_LIST && i < targets->n; i++)
		if (hf_text(targets->items[i]) && strstr(targets->items[i]->text, "expert"))
			return true;
	return false;
}

static void
read_groups(struct quant_reader *q)
{
	const struct node *groups = tree_get(q->config, "config_groups");

	for (size_t i = 0; groups && groups->kind == NODE_MAP && i < groups->n; i++) {
		const struct node *group = groups->items[i], *in = tree_get(group, "input_activations");
		struct quant_format f = scheme(q->h, tree_get(group, "weights"));
		if (in && in->kind == NODE_MAP)
			f.activations = activation_type(scheme(q->h, in).weights);
		q->symmetric = truth(q->h, tree_get(group, "weights"), "symmetric") || q->symmetric;
		if (aims_at_experts(group))
			q->experts = f;
		else if (!q->base.weights)
			q->base = f;
	}
	if (!q->base.weights && q->experts.weights) {
		q->base = q->experts;
		q->experts_only = true;
	}
}

/* A group of -1 is a whole row. */
static double
group_of(struct hf *h, const struct node *n, const char *key)
{
	const double group = whole(h, n, key, -1, 1e6);

	if (group == 0 && word(n, key) && !h->failed) {
		hf_fault(h, tree_get(n, key)->at, "'%s' is 0", key);
		diag_hint(h->diag, "give the weights per scale: usually 128; -1 is a whole row");
	}
	return group;
}

static struct quant_format
of_bits(struct hf *h, const struct node *n)
{
	double bits = whole(h, n, "bits", 1, 16), group = group_of(h, n, "group_size");

	bits = bits > 0 ? bits : whole(h, n, "w_bit", 1, 16);
	bits = bits > 0 ? bits : 4;
	group = group != 0 ? group : group_of(h, n, "q_group_size");
	if (bits != 4 && bits != 8)
		return (struct quant_format){0};
	return (struct quant_format){bits == 4 ? "int4" : "int8", group > 0 ? group : 0, NULL};
}

static struct quant_format
of_fp8(struct hf *h, const struct node *n)
{
	const struct node *block = tree_get(n, "weight_block_size");

	if (block && (block->kind != NODE_SCALAR || block->text))
		return (struct quant_format){"fp8-block", block_side(h, block), "fp8"};
	return (struct quant_format){"fp8", 0, "fp8"};
}

static void
read_method(struct quant_reader *q)
{
	const struct node *n = q->config;
	const char *method = word(n, "quant_method"), *algo = word(n, "quant_algo");

	if (is(method, "fp8") || is(method, "fbgemm_fp8") || is(method, "finegrained_fp8"))
		q->base = of_fp8(q->h, n);
	else if (is(method, "mxfp4")) {
		q->base = (struct quant_format){"mxfp4", 32, NULL};
		q->experts_only = true;
	} else if (is(method, "gptq") || is(method, "awq") || is(method, "auto-round") || is(method, "hqq"))
		q->base = of_bits(q->h, n);
	else if (is(method, "bitsandbytes") &&
	    hf_one_of(q->h, tree_get(n, "load_in_4bit"), "load_in_4bit", "true false"))
		q->base = (struct quant_format){truth(q->h, n, "load_in_8bit") ? "int8" : "int4", 0, NULL};
	else {
		read_groups(q);
		if (!q->base.weights)
			q->base = algorithm(algo);
	}
	q->symmetric = truth(q->h, n, "sym") || q->symmetric;
	if (hf_one_of(q->h, tree_get(n, "zero_point"), "zero_point", "true false"))
		q->symmetric = q->symmetric || is(word(n, "zero_point"), "false");
	/* another format for the experts alone */
	if (is(algo, "MIXED_PRECISION") || word(n, "moe_quant_algo"))
		q->experts = expert_algorithm(q->h, n);
	hf_one_of(q->h, tree_get(q->h->config, "expert_dtype"), "expert_dtype", "fp4 fp8 bf16 bfloat16");
	if (is(word(q->h->config, "expert_dtype"), "fp4") && !q->experts.weights)
		q->experts = (struct quant_format){"mxfp4", 32, NULL};
}

/* --- what stays in 16 bits ------------------------------------------------------------------------------- */

enum import_part {
	IMPORT_PART_EMBEDDING,
	IMPORT_PART_HEAD,
	IMPORT_PART_ROUTER,
	IMPORT_PART_ATTENTION,
	IMPORT_PART_SHARED,
	IMPORT_PART_MLP,
	IMPORT_PART_EXPERTS,
	N_IMPORT_PARTS,
	IMPORT_PART_RECURRENT,
	IMPORT_PART_ALL,
	IMPORT_PART_SKIP,
	IMPORT_PART_UNKNOWN
};

/* Parts by text in a module's name; the first match counts. */
static const struct {
	const char *text;
	enum import_part part;
} modules[] = {
    {"vision", IMPORT_PART_SKIP},
    {"visual", IMPORT_PART_SKIP},
    {"projector", IMPORT_PART_SKIP},
    {"audio", IMPORT_PART_SKIP},
    {"norm", IMPORT_PART_SKIP},
    {"e_score_correction", IMPORT_PART_SKIP},
    {"conv1d", IMPORT_PART_SKIP},
    {"in_proj_a", IMPORT_PART_SKIP},
    {"in_proj_b", IMPORT_PART_SKIP},
    {"mtp", IMPORT_PART_SKIP},
    {"eh_proj", IMPORT_PART_SKIP},
    {"shared_head", IMPORT_PART_SKIP},
    {"indexer", IMPORT_PART_SKIP},
    {"lm_head", IMPORT_PART_HEAD},
    {"embed", IMPORT_PART_EMBEDDING},
    {"wte", IMPORT_PART_EMBEDDING},
    {"shared_expert_gate", IMPORT_PART_SKIP},
    {"shared_expert", IMPORT_PART_SHARED},
    {"shared_mlp", IMPORT_PART_SHARED},
    {"router", IMPORT_PART_ROUTER},
    {"linear_attn", IMPORT_PART_RECURRENT},
    {"mamba", IMPORT_PART_RECURRENT},
    {"attn", IMPORT_PART_ATTENTION},
    {"attention", IMPORT_PART_ATTENTION},
    {"experts", IMPORT_PART_EXPERTS},
};

static enum import_part
part_of(const char *name)
{
	for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
		if (strstr(name, modules[i].text))
			return modules[i].part;
	if (strcmp(name, "head") == 0)
		return IMPORT_PART_HEAD;
	if (strcmp(name, "gate") == 0 || text_ends(name, ".gate"))
		return IMPORT_PART_ROUTER;
	if (strstr(name, "mlp") || strstr(name, "feed_forward") || strstr(name, "ffn"))
		return IMPORT_PART_MLP;
	return IMPORT_PART_UNKNOWN;
}

/* `model.layers.12.self_attn*` is of layer 12; -1: of all.  `rest` is what follows the number. */
static long
layer_in(const char *name, const char **rest)
{
	const char *p = strstr(name, "layers.");

	*rest = name;
	if (!p || !isdigit((unsigned char)p[7]))
		return -1;
	char *end;
	const long i = strtol(p + 7, &end, 10);
	*rest = end;
	return i;
}

static bool
has_part(struct hf *h, const struct hf_layer *l, enum import_part p)
{
	const bool experts = l->feed == FEED_MOE || l->feed == FEED_BOTH;

	switch (p) {
	case IMPORT_PART_ROUTER:
	case IMPORT_PART_EXPERTS:
		return experts;
	case IMPORT_PART_ATTENTION:
		return l->mixer != MIX_NONE;
	case IMPORT_PART_SHARED:
		return l->feed == FEED_BOTH || (l->feed == FEED_MOE && hf_number(h, HF_shared).value > 0);
	case IMPORT_PART_MLP:
		return l->feed == FEED_MLP;
	default:
		return false;
	}
}

struct kept {
	bool *layer[N_IMPORT_PARTS]; /* by layer */
};

static void
keep_part(struct hf *h, struct kept *k, enum import_part p, long layer)
{
	/* in our form the MLP beside experts is their shared expert, and attention is whatever mixes tokens */
	const bool attends = p == IMPORT_PART_ATTENTION, recurs = p == IMPORT_PART_RECURRENT;
	if (p == IMPORT_PART_MLP && h->n_layers && h->layers[0].feed == FEED_BOTH)
		p = IMPORT_PART_SHARED;
	if (recurs)
		p = IMPORT_PART_ATTENTION;
	/* Kimi calls both kinds of layers self_attn */
	const bool both = is(hf_word(h, HF_linear), "kda");
	for (size_t i = 0; i < h->n_layers; i++) {
		const bool linear = h->layers[i].mixer == MIX_LINEAR;
		if ((layer < 0 || layer == (long)i) && (both || !(attends && linear)) && !(recurs && !linear))
			k->layer[p][i] = true;
	}
}

static void
read_exclusions(struct quant_reader *q, struct kept *k)
{
	static const char *const keys[] = {"ignore", "modules_to_not_convert", "exclude_modules", "ignored_layers"};
	struct hf *h = q->h;

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const struct node *list = tree_get(q->config, keys[i]);
		for (size_t m = 0; list && list->kind == NODE_LIST && m < list->n; m++) {
			const char *name = hf_text(list->items[m]), *rest;
			if (!name)
				continue;
			const long layer = layer_in(name, &rest);
			enum import_part p = part_of(name);
			/* nothing behind the number: the whole layer */
			if (p == IMPORT_PART_UNKNOWN && layer >= 0 && strspn(rest, ".*") == strlen(rest))
				p = IMPORT_PART_ALL;
			else if (p == IMPORT_PART_UNKNOWN)
				hf_remember(h, "exclusion %s of the quantization not understood", name);
			for (int each = IMPORT_PART_ATTENTION; p == IMPORT_PART_ALL && each <= IMPORT_PART_RECURRENT;
			     each++)
				if (each != N_IMPORT_PARTS)
					keep_part(h, k, (enum import_part)each, layer);
			if (p < N_IMPORT_PARTS || p == IMPORT_PART_RECURRENT)
				keep_part(h, k, p, layer);
		}
	}
}

/* Number of layers with the part that keep it in 16 bits. */
static void
count_kept(struct hf *h, const struct kept *k, enum import_part p, size_t *kept, size_t *all)
{
	*kept = *all = 0;
	for (size_t i = 0; i < h->n_layers; i++) {
		*all += has_part(h, &h->layers[i], p);
		*kept += has_part(h, &h->layers[i], p) && k->layer[p][i];
	}
}

static const char *
part_name(enum import_part p)
{
	static const char *const names[N_IMPORT_PARTS] = {[IMPORT_PART_EMBEDDING] = "embedding",
	    [IMPORT_PART_HEAD] = "lm_head",
	    [IMPORT_PART_ROUTER] = "router",
	    [IMPORT_PART_ATTENTION] = "attention",
	    [IMPORT_PART_SHARED] = "shared_experts",
	    [IMPORT_PART_MLP] = "mlp",
	    [IMPORT_PART_EXPERTS] = "experts"};

	return names[p];
}

/* The list of parts, and whether all but the experts is in it. */
static const struct node *
kept_parts(struct quant_reader *q, bool *experts_only)
{
	struct hf *h = q->h;
	struct kept k = {0};
	struct node *list = list_new(h->arena, q->config->at);
	bool others = false, experts = false;

	for (int p = 0; p < N_IMPORT_PARTS; p++)
		k.layer[p] = ARENA_ARRAY(h->arena, bool, h->n_layers + 1);
	keep_part(h, &k, IMPORT_PART_EMBEDDING, -1);
	keep_part(h, &k, IMPORT_PART_HEAD, -1);
	keep_part(h, &k, IMPORT_PART_ROUTER, -1);
	/* where the experts have a format of their own, the exclusions are from that one only */
	if (!q->experts.weights)
		read_exclusions(q, &k);
	for (int p = 0; p < N_IMPORT_PARTS; p++) {
		size_t kept, all;
		count_kept(h, &k, (enum import_part)p, &kept, &all);
		const bool end = p == IMPORT_PART_EMBEDDING || p == IMPORT_PART_HEAD;
		const bool whole = end || (all && kept == all);
		if (whole)
			list_put(h->arena, list, tree_scalar(h->arena, part_name((enum import_part)p), list->at));
		else if (kept)
			hf_remember(h, "%s: 16 bits in %zu of %zu layers", part_name((enum import_part)p), kept, all);
		experts = experts || (p == IMPORT_PART_EXPERTS && all && !whole);
		others = others || (p != IMPORT_PART_EXPERTS && !end && all && !whole);
	}
	*experts_only = experts && !others;
	return list;
}

/* --- the whole ------------------------------------------------------------------------------------------- */

static const char *
cache_type(struct hf *h, const struct node *n)
{
	const struct node *s = tree_get(n, "kv_cache_scheme");
	const char *text = hf_text(s) ? hf_text(s) : word(n, "kv_cache_quant_algo");
	static const char known[] = "FP8 fp8 NVFP4 INT8";

	if (s && s->kind == NODE_MAP)
		return scheme(h, s).weights;
	if (!text || !hf_one_of(h, hf_text(s) ? s : NULL, "kv_cache_scheme", known) ||
	    !hf_one_of(h, tree_get(n, "kv_cache_quant_algo"), "kv_cache_quant_algo", known))
		return NULL;
	return is(text, "FP8") || is(text, "fp8") ? "fp8"
	    : is(text, "NVFP4")                   ? "nvfp4"
	    : is(text, "INT8")                    ? "int8"
	                                          : NULL;
}

void
hf_quantisation(struct hf *h, struct node *out)
{
	const struct node *n = tree_get(h->config, "quantization_config");

	n = n ? n : tree_get(h->outer, "quantization_config");
	if (!n || (n->kind == NODE_SCALAR && !n->text))
		return;
	if (n->kind != NODE_MAP) {
		hf_fault(h, n->at, "'quantization_config' is %s, not a map",
		    n->kind == NODE_LIST ? "a list" : arena_printf(h->arena, "'%.60s'", n->text));
		diag_hint(h->diag, "write {\"quant_method\": \"fp8\", ...}, or leave it out for 16-bit weights");
		return;
	}
	struct quant_reader q = {.h = h, .config = n};
	read_method(&q);
	if (h->failed)
		return;
	if (!q.base.weights) {
		const char *method = word(n, "quant_method"), *algo = word(n, "quant_algo");
		hf_fault(h, n->at, "quantization_config: unknown method '%s'",
		    algo         ? algo
		        : method ? method
		                 : "no quant_method");
		diag_hint(h->diag,
		    "use fp8, fbgemm_fp8, mxfp4, gptq, awq, bitsandbytes, modelopt or compressed-tensors, or leave the "
		    "map out for 16-bit weights");
		return;
	}
	bool experts_only;
	struct node *map = map_new(h->arena, n->at);
	const struct node *keep = kept_parts(&q, &experts_only);
	map_word(h->arena, map, "weights", q.base.weights, n->at);
	map_word(h->arena, map, "experts",
	    q.experts.weights && !is(q.experts.weights, q.base.weights) ? q.experts.weights : NULL, n->at);
	if (q.base.group > 0)
		map_number(h->arena, map, "group", (struct datum){q.base.group, n->at});
	map_flag(h->arena, map, "symmetric", q.symmetric && strncmp(q.base.weights, "int", 3) == 0, n->at);
	map_word(h->arena, map, "activations", q.base.activations, n->at);
	map_word(h->arena, map, "kv", cache_type(h, n), n->at);
	map_word(h->arena, map, "only", q.experts_only || experts_only ? "experts" : "linear", n->at);
	map_put(h->arena, map, "keep", keep);
	map_put(h->arena, out, "quantisation", map);
}
