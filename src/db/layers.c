/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read the layers of a model: blocks of equal layers, each with a token mixer (attention, Mamba-2, delta networks) and
 * a feed-forward part. */
#include "db/parts.h"

#include "base/base.h"

#include <string.h>

static const enum bias_kind biases[] = {BIAS_NONE, BIAS_QKV, BIAS_ALL, BIAS_OUT};
static const char *const attention_kinds[] = {"mha", "gqa", "mqa", "mla", "csa"};
enum { KIND_MHA, KIND_GQA, KIND_MQA, KIND_MLA, KIND_CSA };
enum { QK_NORM_NONE, QK_NORM_HEAD, QK_NORM_FULL };

/* --- schemas --------------------------------------------------------------------------------------------- */

static const struct field indexer_fields[] = {
    LAYER_FIGURE(struct indexer, "heads", n_heads, 1, 1e5, "indexer query heads"),
    LAYER_FIGURE(struct indexer, "dim", dim, 1, 1e5, "indexer head dimension and cached key dimension"),
    LAYER_FIGURE(struct indexer, "top_k", top_k, 1, 1e8, "tokens selected for attention"),
};
SCHEMA(indexer_schema, "'indexer'", struct indexer, indexer_fields);

#define HEADS(key, member, low, high, help) LAYER_FIGURE(struct attention_file, key, attention.member, low, high, help)
#define AT(member) offsetof(struct attention_file, attention.member)
static const struct field attention_fields[] = {
    {.key = "kind",
        .kind = FIELD_CHOICE,
        .offset = offsetof(struct attention_file, kind),
        .choices = "mha|gqa|mqa|mla|csa",
        .required = true,
        .help = "mha, gqa, mqa, mla (latent) or csa (compressed tokens)"},
    HEADS("heads", n_heads, 1, 1e5, "query heads"),
    HEADS("kv_heads", n_kv_heads, 1, 1e5, "KV heads; mha: as many as heads, mqa: 1"),
    HEADS("head_dim", head_dim, 1, 1e5, "head dimension; default hidden / heads"),
    HEADS("q_lora", q_lora, 1, 1e6, "query compression dimension; absent without compression"),
    HEADS("kv_lora", kv_lora, 1, 1e6, "mla: KV compression dimension (kv_lora_rank)"),
    HEADS("nope", nope, 1, 1e5, "mla: head dimension without RoPE"),
    HEADS("rope", rope, 1, 1e5, "mla, csa: RoPE head dimension"),
    HEADS("v_dim", v_dim, 1, 1e5, "value head dimension; default head_dim"),
    HEADS("window", window, 1, 1e8, "sliding window in tokens"),
    HEADS("chunk", chunk, 1, 1e8, "chunk size in tokens; attention stays inside"),
    LAYER_CHOICE(struct attention_file, "bias", bias, "none|qkv|all|out",
        "none (default), qkv, all (with the output projection), or out (only that)"),
    LAYER_CHOICE(struct attention_file, "qk_norm", qk_norm, "false|true|full",
        "true: QK norm with 2 head_dim values per layer; full: gains over the whole width"),
    FLAG("sinks", sinks, "attention sink: one learned logit per head"),
    FLAG("gate", gate, "output gate: one more projection of the output width"),
    FLAG("k_is_v", k_is_v, "keys and values share a projection; the KV cache keeps both"),
    LAYER_MAP("indexer", offsetof(struct attention_file, attention.indexer), &indexer_schema,
        "indexer that selects the tokens attention reads"),
    HEADS("ratio", ratio, 0, 1e5, "csa: compression ratio: 0 (window only), 4 or 128"),
    HEADS("o_lora", o_lora, 1, 1e6, "csa: dimension of an output group"),
    HEADS("o_groups", o_groups, 1, 1e4, "csa: number of output groups"),
};
const struct schema attention_schema = {
    "'attention'", sizeof(struct attention_file), attention_fields, sizeof attention_fields / sizeof *attention_fields};

#define MAMBA(key, member, low, high, help) LAYER_FIGURE(struct mamba, key, member, low, high, help)
static const struct field mamba_fields[] = {
    MAMBA("heads", n_heads, 1, 1e5, "heads"),
    MAMBA("head_dim", head_dim, 1, 1e5, "head dimension"),
    MAMBA("groups", n_groups, 1, 1e5, "groups of heads that share B and C; default 1"),
    MAMBA("state", state, 1, 1e6, "state dimension per channel"),
    MAMBA("conv", conv, 1, 1e4, "taps of the short convolution"),
    MAMBA("chunk", chunk, 1, 1e6, "scan chunk size in tokens; default 256"),
};
const struct schema mamba_schema = {
    "'mamba'", sizeof(struct mamba), mamba_fields, sizeof mamba_fields / sizeof *mamba_fields};

#define DELTA(key, member, low, high, help) LAYER_FIGURE(struct delta, key, member, low, high, help)
static const struct field delta_fields[] = {
    DELTA("key_heads", n_key_heads, 1, 1e5, "key heads"),
    DELTA("value_heads", n_value_heads, 1, 1e5, "value heads, each with a state"),
    DELTA("key_dim", key_dim, 1, 1e5, "key head dimension"),
    DELTA("value_dim", value_dim, 1, 1e5, "value head dimension"),
    DELTA("conv", conv, 1, 1e4, "taps of the short convolution"),
    DELTA("chunk", chunk, 1, 1e6, "chunk size in tokens; default 64"),
};
const struct schema delta_schema = {
    "'delta'", sizeof(struct delta), delta_fields, sizeof delta_fields / sizeof *delta_fields};

#define KDA(key, member, low, high, help) LAYER_FIGURE(struct kda, key, member, low, high, help)
static const struct field kda_fields[] = {
    KDA("heads", n_heads, 1, 1e5, "heads, each with a state"),
    KDA("head_dim", head_dim, 1, 1e5, "head dimension"),
    KDA("conv", conv, 1, 1e4, "taps of the short convolutions"),
    KDA("chunk", chunk, 1, 1e6, "chunk size in tokens; default 64"),
    LAYER_FLAG(struct kda, "full_gate", full_gate, "full-rank output gate; else low-rank through head_dim"),
};
const struct schema kda_schema = {"'kda'", sizeof(struct kda), kda_fields, sizeof kda_fields / sizeof *kda_fields};

/* --- attention ------------------------------------------------------------------------------------------- */

struct need {
	struct datum d;
	const char *key;
};

/* All that are missing, in one run; and what is there must be whole. */
static bool
need_all(struct binder *b, const struct node *map, const char *what, const struct need *needs, size_t n)
{
	bool ok = true;

	for (size_t i = 0; i < n; i++)
		ok =
		    layer_needs(b, map, needs[i].d, what, needs[i].key) & layer_whole(b, needs[i].d, needs[i].key) & ok;
	return ok;
}

#define NEED_ALL(b, map, what, ...)                                                                                    \
	need_all((b), (map), (what), (const struct need[]){__VA_ARGS__},                                               \
	    sizeof((const struct need[]){__VA_ARGS__}) / sizeof(struct need))

static bool
finish_latent(struct binder *b, const struct node *map, struct attention *a)
{
	if (!NEED_ALL(b, map, "mla", {a->n_heads, "heads"}, {a->kv_lora, "kv_lora"}, {a->nope, "nope"},
	        {a->rope, "rope"}, {a->v_dim, "v_dim"}))
		return false;
	a->kind = ATTENTION_MLA;
	a->n_kv_heads = a->n_heads;
	a->head_dim = layer_default(a->nope.value + a->rope.value);
	if (a->indexer.dim.value > 0 && !(a->q_lora.value > 0))
		return layer_fault(
		    b, tree_get(map, "indexer")->at, "an indexer of MLA needs compressed queries", "add 'q_lora'");
	return true;
}

static bool
finish_compressed(struct binder *b, const struct node *map, struct attention *a)
{
	if (!NEED_ALL(b, map, "csa", {a->n_heads, "heads"}, {a->head_dim, "head_dim"}, {a->rope, "rope"},
	        {a->q_lora, "q_lora"}, {a->window, "window"}, {a->ratio, "ratio"}, {a->o_lora, "o_lora"},
	        {a->o_groups, "o_groups"}))
		return false;
	a->kind = ATTENTION_CSA;
	a->n_kv_heads = layer_default(1);
	const double ratio = a->ratio.value;
	if (ratio != 0 && ratio != 4 && ratio != 128)
		return layer_fault(
		    b, a->ratio.from, "the compression ratio must be 0, 4 or 128", "other ratios are not published");
	if (ratio == 4 && !(a->indexer.dim.value > 0))
		return layer_fault(
		    b, a->ratio.from, "layers of ratio 4 need an indexer", "add 'indexer: {heads: , dim: }'");
	if (a->rope.value >= a->head_dim.value)
		return layer_fault(b, a->rope.from, "the RoPE dimension must be below head_dim", NULL);
	if (fmod(a->n_heads.value * a->head_dim.value, a->o_groups.value) != 0)
		return layer_fault(b, a->o_groups.from, "the groups do not divide heads x head_dim", NULL);
	return true;
}

static bool
check_kv_heads(struct binder *b, int kind, struct attention *a)
{
	const double heads = a->n_heads.value;

	if (datum_given(a->n_kv_heads) &&
	    ((kind == KIND_MHA && a->n_kv_heads.value != heads) || (kind == KIND_MQA && a->n_kv_heads.value != 1)))
		return layer_fault(b, a->n_kv_heads.from,
		    kind == KIND_MHA ? "mha needs kv_heads equal to heads" : "mqa needs kv_heads 1",
		    "write 'kind: gqa'");
	if (!datum_given(a->n_kv_heads))
		a->n_kv_heads = layer_default(kind == KIND_MQA ? 1 : heads);
	if (fmod(heads, a->n_kv_heads.value) != 0) {
		diag_error(b->diag, a->n_kv_heads.from, "%g heads are not a multiple of %g KV heads", heads,
		    a->n_kv_heads.value);
		return false;
	}
	return true;
}

static bool
finish_heads(struct binder *b, const struct node *map, int kind, struct datum hidden, struct attention *a)
{
	if (!layer_needs(b, map, a->n_heads, "'attention'", "heads") || !datum_given(a->n_heads))
		return false;
	if (kind == KIND_GQA && !layer_needs(b, map, a->n_kv_heads, "gqa", "kv_heads"))
		return false;
	if (!check_kv_heads(b, kind, a))
		return false;
	if (!datum_given(a->head_dim) && fmod(hidden.value, a->n_heads.value) != 0) {
		diag_error(
		    b->diag, a->n_heads.from, "%g heads do not divide hidden %g", a->n_heads.value, hidden.value);
		diag_hint(b->diag, "add 'head_dim'");
		return false;
	}
	if (!datum_given(a->head_dim))
		a->head_dim = layer_default(hidden.value / a->n_heads.value);
	if (a->k_is_v && a->v_dim.value > 0 && a->v_dim.value != a->head_dim.value)
		return layer_fault(
		    b, a->v_dim.from, "with k_is_v, v_dim must equal head_dim", "leave 'v_dim' or 'k_is_v' out");
	return true;
}

/* Keys of a single kind, which others refuse rather than ignore. */
static bool
check_foreign(struct binder *b, const struct node *map, int kind)
{
	static const struct {
		const char *key;
		unsigned kinds;
	} foreign[] = {{"kv_lora", 1u << KIND_MLA}, {"nope", 1u << KIND_MLA}, {"rope", 1u << KIND_MLA | 1u << KIND_CSA},
	    {"ratio", 1u << KIND_CSA}, {"o_lora", 1u << KIND_CSA}, {"o_groups", 1u << KIND_CSA}};
	bool ok = true;

	for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
		const struct node *n = tree_get(map, foreign[i].key);
		if (!n || foreign[i].kinds & 1u << kind)
			continue;
		diag_error(b->diag, n->at, "'%s' does not apply to %s", foreign[i].key, attention_kinds[kind]);
		diag_hint(b->diag, "leave it out, or use the kind that has it");
		ok = false;
	}
	return ok;
}

static bool
check_indexer(struct binder *b, const struct node *map, const struct indexer *x)
{
	const struct node *n = tree_get(map, "indexer");

	if (!n)
		return true;
	return NEED_ALL(b, n, "'indexer'", {x->n_heads, "heads"}, {x->dim, "dim"}) & layer_whole(b, x->top_k, "top_k");
}

static bool
finish_attention(struct binder *b, const struct node *map, const struct attention_file *f, struct datum hidden,
    struct attention *out)
{
	*out = f->attention;
	out->kind = ATTENTION_HEADS;
	out->kind_name = attention_kinds[f->kind];
	out->bias = biases[f->bias];
	out->qk_norm = f->qk_norm != QK_NORM_NONE;
	out->qk_norm_full = f->qk_norm == QK_NORM_FULL;
	bool ok = layer_whole(b, out->n_heads, "heads") && layer_whole(b, out->n_kv_heads, "kv_heads") &&
	    layer_whole(b, out->head_dim, "head_dim") && check_foreign(b, map, f->kind);
	ok = check_indexer(b, map, &out->indexer) && ok;
	if (datum_given(out->window) && datum_given(out->chunk))
		ok = layer_fault(b, out->chunk.from, "window and chunk exclude each other", NULL);
	if (f->kind == KIND_MLA)
		return finish_latent(b, map, out) && ok;
	if (f->kind == KIND_CSA)
		return finish_compressed(b, map, out) && ok;
	return finish_heads(b, map, f->kind, hidden, out) && ok;
}

/* --- recurrences ----------------------------------------------------------------------------------------- */

static bool
finish_mamba(struct binder *b, const struct node *map, struct mamba *m)
{
	if (!datum_given(m->n_groups))
		m->n_groups = layer_default(1);
	if (!datum_given(m->chunk))
		m->chunk = layer_default(256);
	if (!NEED_ALL(b, map, "'mamba'", {m->n_heads, "heads"}, {m->head_dim, "head_dim"}, {m->n_groups, "groups"},
	        {m->state, "state"}, {m->conv, "conv"}, {m->chunk, "chunk"}))
		return false;
	if (fmod(m->n_heads.value, m->n_groups.value) == 0)
		return true;
	diag_error(b->diag, m->n_groups.from, "%g groups do not divide %g heads", m->n_groups.value, m->n_heads.value);
	return false;
}

static bool
finish_delta(struct binder *b, const struct node *map, struct delta *d)
{
	if (!datum_given(d->chunk))
		d->chunk = layer_default(64);
	if (!NEED_ALL(b, map, "'delta'", {d->n_key_heads, "key_heads"}, {d->n_value_heads, "value_heads"},
	        {d->key_dim, "key_dim"}, {d->value_dim, "value_dim"}, {d->conv, "conv"}, {d->chunk, "chunk"}))
		return false;
	if (fmod(d->n_value_heads.value, d->n_key_heads.value) == 0)
		return true;
	diag_error(b->diag, d->n_value_heads.from, "%g value heads are not a multiple of %g key heads",
	    d->n_value_heads.value, d->n_key_heads.value);
	return false;
}

static bool
finish_kda(struct binder *b, const struct node *map, struct kda *k)
{
	if (!datum_given(k->chunk))
		k->chunk = layer_default(64);
	return NEED_ALL(
	    b, map, "'kda'", {k->n_heads, "heads"}, {k->head_dim, "head_dim"}, {k->conv, "conv"}, {k->chunk, "chunk"});
}

bool
mixer_finish(
    struct binder *b, const struct node *map, const struct block_file *f, struct datum hidden, struct block *out)
{
	static const char *const names[] = {
	    [MIXER_ATTENTION] = "attention", [MIXER_MAMBA] = "mamba", [MIXER_DELTA] = "delta", [MIXER_KDA] = "kda"};
	const struct node *found = NULL;

	out->mixer = MIXER_NONE;
	out->mamba = f->mamba;
	out->delta = f->delta;
	out->kda = f->kda;
	out->attention = f->attention.attention;
	for (int m = 0; m < MIXER_NONE; m++) {
		const struct node *n = tree_get(map, names[m]);
		if (n && found) {
			diag_error(
			    b->diag, n->at, "'%s' and '%s' exclude each other in a layer", names[out->mixer], names[m]);
			diag_hint(b->diag, "make two blocks of it");
			return false;
		}
		if (n) {
			found = n;
			out->mixer = (enum mixer_kind)m;
		}
	}
	switch (out->mixer) {
	case MIXER_ATTENTION:
		return finish_attention(b, found, &f->attention, hidden, &out->attention);
	case MIXER_MAMBA:
		return finish_mamba(b, found, &out->mamba);
	case MIXER_DELTA:
		return finish_delta(b, found, &out->delta);
	case MIXER_KDA:
		return finish_kda(b, found, &out->kda);
	case MIXER_NONE:
		break;
	}
	return true;
}

/* --- storage ------------------------------------------------------------------------------------------------- */

#undef AT
#define AT(member) offsetof(struct storage_file, member)
static const struct field fields[] = {
    {.key = "weights",
        .kind = FIELD_CHOICE,
        .offset = offsetof(struct storage_file, weights),
        .choices = DTYPE_CHOICE(Q),
        .required = true,
        .help = "type of the quantized weights"},
    CHOICE("experts", experts, DTYPE_CHOICE(Q), "dtype of the routed experts, where different"),
    {.key = "group",
        .kind = FIELD_QUANTITY,
        .quantity = Q_COUNT,
        .offset = offsetof(struct storage_file, group),
        .min = 1,
        .max = 1e6,
        .help = "weights per scale; default 128 for integers, else the format's"},
    {.key = "symmetric",
        .kind = FIELD_FLAG,
        .offset = offsetof(struct storage_file, symmetric),
        .help = "integers without zero points"},
    CHOICE("kv", kv, DTYPE_CHOICE(A), "KV cache dtype of the checkpoint"),
    CHOICE("activations", activations, DTYPE_CHOICE(A), "activation dtype of GEMMs"),
    CHOICE("only", only, "linear|experts", "linear (default): all linear layers; experts: only the routed ones"),
    {.key = "keep", .kind = FIELD_IGNORED, .help = "parts left in 16 bits"},
};
const struct schema storage_schema = {
    "'quantisation'", sizeof(struct storage_file), fields, sizeof fields / sizeof *fields};

/* What a file may keep in 16 bits.  Tables, norms, routers and the head are never narrower: quantizers leave them. */
static const struct {
	const char *name;
	enum model_part part;
} parts[] = {{"embedding", PART_EMBEDDING}, {"lm_head", PART_HEAD}, {"router", PART_ROUTER}, {"norms", PART_NORMS},
    {"attention", PART_MIXER}, {"mlp", PART_MLP}, {"experts", PART_EXPERTS}, {"shared_experts", PART_SHARED}};
enum { N_NAMES = sizeof parts / sizeof *parts };

static bool
keep_part(struct binder *b, const struct node *n, unsigned *quantised)
{
	const char *names[N_NAMES];

	for (size_t i = 0; i < N_NAMES; i++) {
		names[i] = parts[i].name;
		if (n->kind == NODE_SCALAR && n->text && strcmp(n->text, names[i]) == 0) {
			*quantised &= ~(1u << parts[i].part);
			return true;
		}
	}
	const char *text = n->kind == NODE_SCALAR && n->text ? n->text : "this";
	const char *near = text_nearest(text, names, N_NAMES);
	diag_error(b->diag, n->at, "'%s' is not a part of a model", text);
	if (near)
		diag_hint(b->diag, "did you mean '%s'?", near);
	else
		diag_hint(b->diag, "embedding lm_head router norms attention mlp experts shared_experts");
	return false;
}

bool
storage_finish(struct binder *b, const struct node *map, const struct storage_file *f, struct quantisation *out)
{
	const struct node *keep = tree_get(map, "keep");
	bool ok = true;

	*out = (struct quantisation){.group = datum_absent()};
	if (!map)
		return true;
	*out = (struct quantisation){.given = true,
	    .symmetric = f->symmetric,
	    .weights = dtype_chosen(DTYPE_CHOICE(Q), f->weights),
	    .experts = dtype_chosen(DTYPE_CHOICE(Q), tree_get(map, "experts") ? f->experts : f->weights),
	    .has_kv = tree_get(map, "kv") != NULL,
	    .kv = dtype_chosen(DTYPE_CHOICE(A), f->kv),
	    .group = f->group};
	out->quantised = f->only == 1 ? 1u << PART_EXPERTS
	                              : 1u << PART_MIXER | 1u << PART_MLP | 1u << PART_EXPERTS | 1u << PART_SHARED;
	if (keep && keep->kind == NODE_SCALAR) /* one part, as --set gives it */
		return keep_part(b, keep, &out->quantised);
	if (keep && keep->kind != NODE_LIST) {
		diag_error(b->diag, keep->at, "'keep' is a list of parts: [lm_head, router]");
		return false;
	}
	for (size_t i = 0; keep && i < keep->n; i++)
		ok = keep_part(b, keep->items[i], &out->quantised) && ok;
	return ok;
}

static const struct field mlp_fields[] = {
    {.key = "kind",
        .kind = FIELD_CHOICE,
        .offset = offsetof(struct mlp_file, kind),
        .choices = "plain|gated",
        .required = true,
        .help = "gated (3 matrices) or plain (2)"},
    {.key = "width",
        .kind = FIELD_QUANTITY,
        .quantity = Q_COUNT,
        .offset = offsetof(struct mlp_file, mlp.width),
        .min = 1,
        .max = 1e7,
        .required = true,
        .help = "MLP intermediate size"},
    LAYER_FLAG(struct mlp_file, "bias", mlp.bias, "linear layers have biases"),
};
const struct schema mlp_schema = {"'mlp'", sizeof(struct mlp_file), mlp_fields, sizeof mlp_fields / sizeof *mlp_fields};

#define EXPERTS(key, member, low, high, help) LAYER_FIGURE(struct moe_file, key, moe.member, low, high, help)
static const struct field moe_fields[] = {
    EXPERTS("experts", n_experts, 1, 1e6, "routed experts per layer"),
    EXPERTS("top_k", top_k, 1, 1e6, "experts per token"),
    EXPERTS("width", width, 1, 1e7, "intermediate size of one expert"),
    EXPERTS("shared_experts", n_shared, 0, 1e4, "shared experts"),
    EXPERTS("shared_width", shared_width, 1, 1e7, "intermediate size of one shared expert; default width"),
    LAYER_FIGURE(struct moe_file, "dense_layers", n_dense, 0, 1e4, "first layers with `mlp` instead"),
    LAYER_FLAG(struct moe_file, "router_bias", moe.router_bias, "router bias per expert"),
    LAYER_FLAG(struct moe_file, "expert_bias", moe.expert_bias, "expert linear layers have biases"),
    LAYER_CHOICE(struct moe_file, "gated", gated, "true|false", "true (default): experts of 3 matrices; false: of 2"),
    EXPERTS("groups", n_groups, 1, 1e4, "groups that the router chooses before experts; default 1"),
    EXPERTS("latent", latent, 1, 1e6, "expert latent dimension, with projections in and out"),
    LAYER_FLAG(struct moe_file, "shared_gate", moe.shared_gate, "gate vector on the shared experts"),
};
const struct schema moe_schema = {"'moe'", sizeof(struct moe_file), moe_fields, sizeof moe_fields / sizeof *moe_fields};

#define PART(member) offsetof(struct block_file, member)
static const struct field block_fields[] = {
    {.key = "count",
        .kind = FIELD_QUANTITY,
        .quantity = Q_COUNT,
        .offset = PART(count),
        .min = 1,
        .max = 1e4,
        .required = true,
        .help = "number of identical layers"},
    LAYER_FIGURE(struct block_file, "norms", norms, 0, 16, "norms per layer; default norms_per_layer"),
    LAYER_PARTS,
};
#undef PART
const struct schema block_schema = {
    "a block", sizeof(struct block_file), block_fields, sizeof block_fields / sizeof *block_fields};

bool
layer_fault(struct binder *b, struct source at, const char *what, const char *hint)
{
	diag_error(b->diag, at, "%s", what);
	if (hint)
		diag_hint(b->diag, "%s", hint);
	return false;
}

struct datum
layer_default(double value)
{
	return (struct datum){value, {"default", 0, 0, NULL, false}};
}

bool
layer_whole(struct binder *b, struct datum d, const char *key)
{
	if (!datum_given(d) || d.value == floor(d.value))
		return true;
	diag_error(b->diag, d.from, "'%s' must be a whole number, not %g", key, d.value);
	return false;
}

bool
layer_needs(struct binder *b, const struct node *map, struct datum d, const char *what, const char *key)
{
	if (datum_given(d) || tree_get(map, key))
		return true;
	diag_error(b->diag, map->at, "%s needs the key '%s'", what, key);
	return false;
}

/* --- one block ------------------------------------------------------------------------------------------- */

static bool
finish_moe(struct binder *b, const struct node *map, const struct moe_file *f, struct moe *moe)
{
	*moe = f->moe;
	moe->given = true;
	moe->plain = f->gated == 1;
	bool ok = layer_needs(b, map, moe->n_experts, "'moe'", "experts");
	ok = layer_needs(b, map, moe->top_k, "'moe'", "top_k") && ok;
	ok = layer_needs(b, map, moe->width, "'moe'", "width") && ok;
	ok = layer_whole(b, moe->n_experts, "experts") && layer_whole(b, moe->top_k, "top_k") && ok;
	if (!datum_given(moe->n_shared))
		moe->n_shared = layer_default(0);
	if (!datum_given(moe->shared_width))
		moe->shared_width = moe->width;
	if (moe->shared_gate && !(moe->n_shared.value > 0))
		ok = layer_fault(b, tree_get(map, "shared_gate")->at, "shared expert gate without shared experts",
		    "write 'shared_experts: 1'");
	if (ok && moe->top_k.value > moe->n_experts.value) {
		diag_error(
		    b->diag, moe->top_k.from, "top_k %g exceeds %g experts", moe->top_k.value, moe->n_experts.value);
		return false;
	}
	return ok;
}

static bool
no_mixer(struct binder *b, const struct node *map)
{
	return layer_fault(b, map->at, "a transformer needs the key 'attention'",
	    "add it, or mamba, delta or kda; for other models use 'operators'");
}

/* A block as the models see it; `map` is where its keys stand. */
static bool
layer_finish(struct binder *b, const struct node *map, const struct block_file *f, const struct layer_frame *frame,
    struct block *out)
{
	const struct node *moe = tree_get(map, "moe"), *mlp = tree_get(map, "mlp");

	out->count = f->count;
	out->norms = f->norms;
	out->has_norms = datum_given(f->norms);
	out->mlp = f->mlp.mlp;
	out->mlp.gated = f->mlp.kind == 1;
	out->mlp.given = mlp != NULL;
	out->moe = f->moe.moe;
	bool ok = mixer_finish(b, map, f, frame->hidden, out);
	out->cross = frame->cross && out->mixer == MIXER_ATTENTION;
	if (moe)
		ok = finish_moe(b, moe, &f->moe, &out->moe) && ok;
	if (out->mixer == MIXER_NONE && !moe && !mlp)
		ok = no_mixer(b, map);
	return layer_whole(b, out->count, "count") && ok;
}

/* --- stacks ---------------------------------------------------------------------------------------------- */

/* The map itself is one block, or two where the first layers are dense. */
static bool
from_top(struct binder *b, const struct node *map, struct block_file *top, struct datum n_layers,
    const struct layer_frame *frame, struct block *blocks, int *n_blocks)
{
	const struct datum dense = top->moe.n_dense;
	struct block one;

	memset(&one, 0, sizeof one);
	top->count = n_layers;
	top->norms = datum_absent();
	if (!layer_finish(b, map, top, frame, &one))
		return false;
	if (one.mixer == MIXER_NONE)
		return no_mixer(b, map);
	if (!one.moe.given && !one.mlp.given)
		return layer_fault(
		    b, map->at, "layers need 'mlp' or 'moe'", "use 'blocks' where some layers have neither");
	if (!one.moe.given || !(dense.value > 0)) {
		if (one.moe.given && one.mlp.given && datum_given(dense)) /* 0 of them */
			one.mlp = (struct mlp){.width = datum_absent()};
		if (one.moe.given && one.mlp.given)
			return layer_fault(b, tree_get(map, "mlp")->at, "no layer uses 'mlp': all layers have experts",
			    "add 'dense_layers' to 'moe', or leave 'mlp' out");
		blocks[(*n_blocks)++] = one;
		return true;
	}
	if (!one.mlp.given)
		return layer_fault(b, dense.from, "the dense layers need 'mlp'", NULL);
	if (dense.value >= n_layers.value || dense.value != floor(dense.value))
		return layer_fault(b, dense.from, "'dense_layers' must be less than 'layers'", NULL);
	blocks[0] = blocks[1] = one;
	blocks[0].count = dense;
	memset(&blocks[0].moe, 0, sizeof blocks[0].moe);
	blocks[1].count = n_layers;
	blocks[1].count.value -= dense.value;
	blocks[1].mlp = (struct mlp){.width = datum_absent()};
	*n_blocks = 2;
	return true;
}

static bool
from_list(struct binder *b, const struct node *map, const struct block_file *files, int n_files, struct datum n_layers,
    const struct layer_frame *frame, struct block *blocks, int *n_blocks)
{
	static const char *const twice[] = {"attention", "mamba", "delta", "kda", "mlp", "moe"};
	const struct node *list = tree_get(map, "blocks");
	bool ok = true;
	double sum = 0;

	for (size_t i = 0; i < sizeof twice / sizeof *twice; i++)
		if (tree_get(map, twice[i])) {
			diag_error(
			    b->diag, tree_get(map, twice[i])->at, "'%s' belongs in each of the 'blocks'", twice[i]);
			ok = false;
		}
	*n_blocks = n_files;
	for (int i = 0; i < n_files; i++) {
		ok = layer_finish(b, list->items[i], &files[i], frame, &blocks[i]) && ok;
		if (tree_get(list->items[i], "mlp") && tree_get(list->items[i], "moe"))
			ok = layer_fault(
			    b, list->items[i]->at, "a block cannot have both 'mlp' and 'moe'", "use two blocks");
		sum += blocks[i].count.value;
	}
	if (ok && sum != n_layers.value) {
		diag_error(
		    b->diag, list->at, "the blocks add up to %g layers, but 'layers' is %g", sum, n_layers.value);
		ok = false;
	}
	return ok;
}

bool
layers_finish(struct binder *b, const struct node *map, struct block_file *top, const struct block_file *list,
    int n_list, struct datum n_layers, const struct layer_frame *frame, struct block **blocks, int *n_blocks)
{
	const int room = n_list > 2 ? n_list : 2;

	*blocks = ARENA_ARRAY(b->arena, struct block, room);
	if (tree_get(map, "blocks"))
		return from_list(b, map, list, n_list, n_layers, frame, *blocks, n_blocks);
	return from_top(b, map, top, n_layers, frame, *blocks, n_blocks);
}
