/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model file: a transformer as a dozen architecture numbers.  Lists of operators are read in operators.c. */
#include "data/binders.h"
#include "data/operators.h"

#include "base/text.h"

#include <string.h>

/* What the file says, before defaults are filled in. */
struct attention_file {
	struct attention attention;
	int kind, bias;
};

struct mlp_file {
	struct mlp mlp;
	int kind;
};

struct moe_file {
	struct moe moe;
	struct datum n_dense;
};

struct block_file {
	struct datum count;
	struct attention_file attention;
	struct mlp_file mlp;
	struct moe_file moe;
};

struct file {
	struct workload workload;
	struct block_file top;
	int kind, norm, positions;
	int n_blocks;
	struct block_file *blocks;
};

#define FIGURE_OF(type, key_, member, low, high, help_)                                                                \
	{                                                                                                              \
		.key = key_, .kind = FIELD_QUANTITY, .quantity = Q_COUNT, .offset = offsetof(type, member),            \
		.min = low, .max = high, .help = help_                                                                 \
	}
#define FLAG_OF(type, key_, member, help_)                                                                             \
	{                                                                                                              \
		.key = key_, .kind = FIELD_FLAG, .offset = offsetof(type, member), .help = help_                       \
	}
#define SCHEMA(var, type, name_, rows)                                                                                 \
	static const struct schema var = {name_, sizeof(type), rows, sizeof rows / sizeof *rows}

static const enum bias_kind biases[] = {BIAS_NONE, BIAS_QKV, BIAS_ALL};
static const char *const attention_kinds[] = {"mha", "gqa", "mqa", "mla"};
enum { KIND_MHA, KIND_GQA, KIND_MQA, KIND_MLA };

#define HEADS(key, member, low, high, help) FIGURE_OF(struct attention_file, key, attention.member, low, high, help)
static const struct field attention_fields[] = {
    {.key = "kind",
        .kind = FIELD_CHOICE,
        .offset = offsetof(struct attention_file, kind),
        .choices = "mha|gqa|mqa|mla",
        .required = true,
        .help = "mha, gqa, mqa or mla"},
    HEADS("heads", n_heads, 1, 1e5, "query heads"),
    HEADS("kv_heads", n_kv_heads, 1, 1e5, "key and value heads; mha: as many as heads, mqa: 1"),
    HEADS("head_dim", head_dim, 1, 1e5, "width of a head; default hidden / heads"),
    HEADS("q_lora", q_lora, 1, 1e6, "mla: width of the compressed queries; left out where they are not compressed"),
    HEADS("kv_lora", kv_lora, 1, 1e6, "mla: width of the compressed keys and values"),
    HEADS("nope", nope, 1, 1e5, "mla: part of a head without positions"),
    HEADS("rope", rope, 1, 1e5, "mla: part of a head that is rotated"),
    HEADS("v_dim", v_dim, 1, 1e5, "width of a value head; default head_dim"),
    HEADS("window", window, 1, 1e8, "sliding window in tokens"),
    HEADS("chunk", chunk, 1, 1e8, "tokens of a chunk; attention stays inside it"),
    {.key = "bias",
        .kind = FIELD_CHOICE,
        .offset = offsetof(struct attention_file, bias),
        .choices = "none|qkv|all",
        .help = "none (default), qkv, or all: with the output map"},
    FLAG_OF(struct attention_file, "qk_norm", attention.qk_norm,
        "queries and keys are normalised: 2 head_dim values a layer"),
    FLAG_OF(struct attention_file, "sinks", attention.sinks, "one learned logit per head"),
};
SCHEMA(attention_schema, struct attention_file, "'attention'", attention_fields);

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
        .help = "inner width"},
    FLAG_OF(struct mlp_file, "bias", mlp.bias, "the maps have biases"),
};
SCHEMA(mlp_schema, struct mlp_file, "'mlp'", mlp_fields);

#define EXPERTS(key, member, low, high, help) FIGURE_OF(struct moe_file, key, moe.member, low, high, help)
static const struct field moe_fields[] = {
    EXPERTS("experts", n_experts, 1, 1e6, "routed experts of a layer"),
    EXPERTS("top_k", top_k, 1, 1e6, "experts that a token visits"),
    EXPERTS("width", width, 1, 1e7, "inner width of one expert, which is gated"),
    EXPERTS("shared_experts", n_shared, 0, 1e4, "experts that every token visits"),
    EXPERTS("shared_width", shared_width, 1, 1e7, "inner width of one shared expert; default width"),
    FIGURE_OF(struct moe_file, "dense_layers", n_dense, 0, 1e4, "the first layers have `mlp` instead"),
    FLAG_OF(struct moe_file, "router_bias", moe.router_bias, "one value per expert in the router"),
    FLAG_OF(struct moe_file, "expert_bias", moe.expert_bias, "the maps of the experts have biases"),
};
SCHEMA(moe_schema, struct moe_file, "'moe'", moe_fields);

#define PARTS                                                                                                          \
	{.key = "attention",                                                                                           \
	    .kind = FIELD_MAP,                                                                                         \
	    .sub = &attention_schema,                                                                                  \
	    .offset = PART(attention),                                                                                 \
	    .help = "heads and their widths"},                                                                         \
	    {.key = "mlp",                                                                                             \
	        .kind = FIELD_MAP,                                                                                     \
	        .sub = &mlp_schema,                                                                                    \
	        .offset = PART(mlp),                                                                                   \
	        .help = "the feed-forward part"},                                                                      \
	{                                                                                                              \
		.key = "moe", .kind = FIELD_MAP, .sub = &moe_schema, .offset = PART(moe),                              \
		.help = "experts instead of it"                                                                        \
	}

#define PART(member) offsetof(struct block_file, member)
static const struct field block_fields[] = {
    {.key = "count",
        .kind = FIELD_QUANTITY,
        .quantity = Q_COUNT,
        .offset = PART(count),
        .min = 1,
        .max = 1e4,
        .required = true,
        .help = "layers that are alike"},
    PARTS,
};
#undef PART
SCHEMA(block_schema, struct block_file, "a block", block_fields);

#define AT(member) offsetof(struct file, workload.member)
#define TEXT(key_, member, help_)                                                                                      \
	{                                                                                                              \
		.key = key_, .kind = FIELD_TEXT, .offset = AT(member), .help = help_                                   \
	}
#define FIGURE(key, member, low, high, help) FIGURE_OF(struct file, key, workload.member, low, high, help)
#define FLAG(key, member, help) FLAG_OF(struct file, key, workload.member, help)

static const struct field patch_fields[] = {
    FIGURE("size", patch_size, 1, 1e5, "pixels along one side of a patch"),
    FIGURE("channels", n_channels, 1, 1e4, "channels of a pixel"),
    FIGURE("image", image_size, 1, 1e6, "pixels along one side of the image"),
    FIGURE("classes", n_classes, 1, 1e7, "outputs of the head"),
};
SCHEMA(patch_schema, struct file, "'patch'", patch_fields);

#define PART(member) offsetof(struct file, top.member)
static const struct field fields[] = {
    {.key = "format", .kind = FIELD_IGNORED, .help = "version of this form: 1"},
    {.key = "name", .kind = FIELD_TEXT, .offset = AT(name), .required = true, .help = "the name that people read"},
    {.key = "aliases", .kind = FIELD_IGNORED, .help = "other names; case and punctuation do not count"},
    {.key = "source", .kind = FIELD_TEXT, .offset = AT(source), .required = true, .help = "where the numbers are from"},
    {.key = "sources", .kind = FIELD_IGNORED, .help = "short keys for citations"},
    {.key = "kind",
        .kind = FIELD_CHOICE,
        .offset = offsetof(struct file, kind),
        .choices = "decoder|encoder|vision",
        .help = "decoder (default), encoder or vision"},
    FIGURE("layers", n_layers, 1, 1e4, "layers"),
    FIGURE("hidden", hidden, 1, 1e6, "width of the residual stream"),
    PARTS,
    {.key = "blocks",
        .kind = FIELD_LIST,
        .sub = &block_schema,
        .offset = offsetof(struct file, blocks),
        .extra = offsetof(struct file, n_blocks),
        .help = "layers that differ: a list of counts with their parts"},
    {.key = "positions",
        .kind = FIELD_CHOICE,
        .offset = offsetof(struct file, positions),
        .choices = "rope|learned|alibi|relative",
        .help = "rope (default), learned, alibi or relative"},
    FIGURE("position_count", n_positions, 1, 1e9, "rows of the learned table of positions"),
    TEXT("activation", activation, "silu gelu relu relu2 geglu"),
    {.key = "norm",
        .kind = FIELD_CHOICE,
        .offset = offsetof(struct file, norm),
        .choices = "rms|layer",
        .help = "rms (one vector, default) or layer (two)"},
    FIGURE("norms_per_layer", norms_per_layer, 0, 16,
        "2 (default), 4 with norms behind the parts too, 1 in parallel blocks"),
    FLAG("final_norm", final_norm, "a norm before the head; default true"),
    FLAG("embedding_norm", embedding_norm, "a norm behind the embedding"),
    FIGURE("vocab", vocab, 1, 1e8, "rows of the embedding"),
    FIGURE("token_types", n_token_types, 1, 1e4, "rows of the table of segments"),
    FLAG("pooler", pooler, "a square map and its bias on the first token"),
    FLAG("tied_embeddings", tied_embeddings, "the head shares the embedding"),
    FLAG("head", head, "there is an output projection; default true"),
    FIGURE("context", context, 1, 1e9, "longest sequence in tokens"),
    {.key = "patch", .kind = FIELD_MAP, .sub = &patch_schema, .help = "vision: how the image becomes tokens"},
    FIGURE("parameters", stated_params, 1, 1e16, "published or exact total, which the check compares"),
    {.key = "symbols", .kind = FIELD_IGNORED, .help = "named numbers for `operators`; `batch` is always defined"},
    {.key = "operators", .kind = FIELD_IGNORED, .help = "a list of operators instead of an architecture"},
    TEXT("notes", notes, "what users trip over"),
};
static const struct schema model_schema = {"a model", sizeof(struct file), fields, sizeof fields / sizeof *fields};

static bool
fault(struct binder *b, struct source at, const char *what, const char *hint)
{
	diag_error(b->diag, at, "%s", what);
	if (hint)
		diag_hint(b->diag, "%s", hint);
	return false;
}

static struct datum
by_default(double value)
{
	return (struct datum){value, {"default", 0, 0, NULL, false}};
}

static bool
whole(struct binder *b, struct datum d, const char *key)
{
	if (!datum_given(d) || d.value == floor(d.value))
		return true;
	diag_error(b->diag, d.from, "'%s' is %g, but things are counted whole", key, d.value);
	return false;
}

static bool
needs(struct binder *b, const struct node *map, struct datum d, const char *what, const char *key)
{
	if (datum_given(d) || tree_get(map, key))
		return true;
	diag_error(b->diag, map->at, "%s needs the key '%s'", what, key);
	return false;
}

/* --- attention --- */

static bool
finish_latent(struct binder *b, const struct node *map, struct attention *a)
{
	bool ok = needs(b, map, a->n_heads, "mla", "heads");

	ok = needs(b, map, a->kv_lora, "mla", "kv_lora") && ok;
	ok = needs(b, map, a->nope, "mla", "nope") && ok;
	ok = needs(b, map, a->rope, "mla", "rope") && ok;
	ok = needs(b, map, a->v_dim, "mla", "v_dim") && ok;
	if (!ok)
		return false;
	a->kind = ATTENTION_MLA;
	a->n_kv_heads = a->n_heads;
	a->head_dim = by_default(a->nope.value + a->rope.value);
	return true;
}

static bool
finish_heads(struct binder *b, const struct node *map, int kind, struct datum hidden, struct attention *a)
{
	if (!needs(b, map, a->n_heads, "'attention'", "heads") || !datum_given(a->n_heads))
		return false;
	const double heads = a->n_heads.value;
	if (kind == KIND_GQA && !needs(b, map, a->n_kv_heads, "gqa", "kv_heads"))
		return false;
	if (datum_given(a->n_kv_heads) &&
	    ((kind == KIND_MHA && a->n_kv_heads.value != heads) || (kind == KIND_MQA && a->n_kv_heads.value != 1)))
		return fault(b, a->n_kv_heads.from,
		    kind == KIND_MHA ? "mha has as many kv_heads as heads" : "mqa has one key and value head",
		    "say 'kind: gqa'");
	if (!datum_given(a->n_kv_heads))
		a->n_kv_heads = by_default(kind == KIND_MQA ? 1 : heads);
	if (fmod(heads, a->n_kv_heads.value) != 0) {
		diag_error(b->diag, a->n_kv_heads.from, "%g heads cannot share %g key and value heads evenly", heads,
		    a->n_kv_heads.value);
		return false;
	}
	if (!datum_given(a->head_dim) && fmod(hidden.value, heads) != 0) {
		diag_error(b->diag, a->n_heads.from, "%g heads do not divide hidden %g", heads, hidden.value);
		diag_hint(b->diag, "give 'head_dim' where it is not hidden / heads");
		return false;
	}
	if (!datum_given(a->head_dim))
		a->head_dim = by_default(hidden.value / heads);
	return true;
}

static bool
finish_attention(struct binder *b, const struct node *map, const struct attention_file *f, struct datum hidden,
    struct attention *out)
{
	bool ok = true;

	*out = f->attention;
	out->kind = ATTENTION_HEADS;
	out->kind_name = attention_kinds[f->kind];
	out->bias = biases[f->bias];
	ok = whole(b, out->n_heads, "heads") && whole(b, out->n_kv_heads, "kv_heads") &&
	    whole(b, out->head_dim, "head_dim");
	if (datum_given(out->window) && datum_given(out->chunk))
		ok = fault(b, out->chunk.from, "a layer has a window or a chunk, not both", NULL);
	if (f->kind == KIND_MLA)
		return finish_latent(b, map, out) && ok;
	return finish_heads(b, map, f->kind, hidden, out) && ok;
}

/* --- feed-forward --- */

static bool
finish_moe(struct binder *b, const struct node *map, struct moe *moe)
{
	bool ok = needs(b, map, moe->n_experts, "'moe'", "experts");

	ok = needs(b, map, moe->top_k, "'moe'", "top_k") && ok;
	ok = needs(b, map, moe->width, "'moe'", "width") && ok;
	ok = whole(b, moe->n_experts, "experts") && whole(b, moe->top_k, "top_k") && ok;
	moe->given = true;
	if (!datum_given(moe->n_shared))
		moe->n_shared = by_default(0);
	if (!datum_given(moe->shared_width))
		moe->shared_width = moe->width;
	if (ok && moe->top_k.value > moe->n_experts.value) {
		diag_error(b->diag, moe->top_k.from, "a token cannot visit %g of %g experts", moe->top_k.value,
		    moe->n_experts.value);
		return false;
	}
	return ok;
}

/* One block as models see it: attention, then an MLP or experts. */
static bool
finish_block(
    struct binder *b, const struct node *map, const struct block_file *f, struct datum hidden, struct block *out)
{
	const struct node *attention = tree_get(map, "attention"), *moe = tree_get(map, "moe"),
	                  *mlp = tree_get(map, "mlp");
	bool ok = true;

	out->count = f->count;
	out->mlp = f->mlp.mlp;
	out->mlp.gated = f->mlp.kind == 1;
	out->mlp.given = mlp != NULL;
	out->moe = f->moe.moe;
	if (!attention) {
		diag_error(b->diag, map->at, "a transformer needs the key 'attention'");
		diag_hint(b->diag, "a model that is none is a list: 'operators'");
		ok = false;
	} else
		ok = finish_attention(b, attention, &f->attention, hidden, &out->attention);
	if (moe)
		ok = finish_moe(b, moe, &out->moe) && ok;
	if (!moe && !mlp)
		ok = fault(b, map->at, "layers need 'mlp' or 'moe'", NULL);
	return whole(b, out->count, "count") && ok;
}

/* --- blocks --- */

/* The top level is one block, or two where the first layers are dense. */
static bool
blocks_from_top(struct binder *b, const struct node *root, struct file *f)
{
	struct workload *w = &f->workload;
	struct block top;
	const struct datum dense = f->top.moe.n_dense;

	f->top.count = w->n_layers;
	if (!finish_block(b, root, &f->top, w->hidden, &top))
		return false;
	w->blocks = ARENA_ARRAY(b->arena, struct block, 2);
	if (!top.moe.given || !(dense.value > 0)) {
		if (top.moe.given && top.mlp.given)
			return fault(b, tree_get(root, "mlp")->at, "no layer uses 'mlp': all have experts",
			    "say 'dense_layers' in 'moe', or leave 'mlp' out");
		w->blocks[w->n_blocks++] = top;
		return true;
	}
	if (!top.mlp.given)
		return fault(b, dense.from, "the dense layers need 'mlp'", NULL);
	if (dense.value >= w->n_layers.value || dense.value != floor(dense.value))
		return fault(b, dense.from, "'dense_layers' is not less than 'layers'", NULL);
	w->blocks[0] = w->blocks[1] = top;
	w->blocks[0].count = dense;
	memset(&w->blocks[0].moe, 0, sizeof w->blocks[0].moe);
	w->blocks[1].count = w->n_layers;
	w->blocks[1].count.value -= dense.value;
	w->blocks[1].mlp = (struct mlp){.width = datum_absent()};
	w->n_blocks = 2;
	return true;
}

static bool
blocks_from_list(struct binder *b, const struct node *root, struct file *f)
{
	struct workload *w = &f->workload;
	const struct node *list = tree_get(root, "blocks");
	static const char *const twice[] = {"attention", "mlp", "moe"};
	bool ok = true;
	double sum = 0;

	for (size_t i = 0; i < sizeof twice / sizeof *twice; i++)
		if (tree_get(root, twice[i])) {
			diag_error(
			    b->diag, tree_get(root, twice[i])->at, "'%s' stands in each of the 'blocks'", twice[i]);
			ok = false;
		}
	w->blocks = ARENA_ARRAY(b->arena, struct block, f->n_blocks + 1);
	w->n_blocks = f->n_blocks;
	for (int i = 0; i < f->n_blocks; i++) {
		ok = finish_block(b, list->items[i], &f->blocks[i], w->hidden, &w->blocks[i]) && ok;
		if (tree_get(list->items[i], "mlp") && tree_get(list->items[i], "moe"))
			ok = fault(
			    b, list->items[i]->at, "a block has 'mlp' or 'moe', not both", "make two blocks of it");
		sum += w->blocks[i].count.value;
	}
	if (ok && sum != w->n_layers.value) {
		diag_error(b->diag, list->at, "the blocks have %g layers together, but 'layers' is %g", sum,
		    w->n_layers.value);
		ok = false;
	}
	return ok;
}

/* --- the whole --- */

static bool
check_activation(struct binder *b, const struct node *root)
{
	static const char *const known[] = {"silu", "gelu", "relu", "relu2", "geglu"};
	const struct node *n = tree_get(root, "activation");

	if (!n || n->kind != NODE_SCALAR || !n->text)
		return true;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(n->text, known[i]) == 0)
			return true;
	diag_error(b->diag, n->at, "'%s' is not one of silu|gelu|relu|relu2|geglu", n->text);
	const char *near = text_nearest(n->text, known, sizeof known / sizeof *known);
	if (near)
		diag_hint(b->diag, "did you mean '%s'?", near);
	return false;
}

static bool
finish_transformer(struct binder *b, const struct node *root, struct file *f)
{
	struct workload *w = &f->workload;
	bool ok = needs(b, root, w->n_layers, "a transformer", "layers");

	ok = needs(b, root, w->hidden, "a transformer", "hidden") && ok;
	ok = check_activation(b, root) && whole(b, w->n_layers, "layers") && whole(b, w->hidden, "hidden") && ok;
	if (w->kind == MODEL_VISION) {
		const struct node *patch = tree_get(root, "patch");
		if (!patch)
			return fault(b, root->at, "a vision model needs the key 'patch'",
			    "{size: , channels: , image: , classes: }");
		ok = needs(b, patch, w->patch_size, "'patch'", "size") &&
		    needs(b, patch, w->n_channels, "'patch'", "channels") &&
		    needs(b, patch, w->image_size, "'patch'", "image") && ok;
	} else
		ok = needs(b, root, w->vocab, "a language model", "vocab") && ok;
	if (w->positions == POSITIONS_LEARNED)
		ok = needs(b, root, w->n_positions, "a table of learned positions", "position_count") && ok;
	if (!datum_given(w->norms_per_layer))
		w->norms_per_layer = by_default(2);
	if (!ok)
		return false;
	return tree_get(root, "blocks") ? blocks_from_list(b, root, f) : blocks_from_top(b, root, f);
}

bool
workload_bind(struct binder *b, const struct node *root, const char *id, struct workload *out)
{
	static const enum model_kind kinds[] = {MODEL_DECODER, MODEL_ENCODER, MODEL_VISION};
	static const enum norm_kind norms[] = {NORM_RMS, NORM_LAYER};
	static const enum position_kind positions[] = {
	    POSITIONS_ROPE, POSITIONS_LEARNED, POSITIONS_ALIBI, POSITIONS_RELATIVE};
	struct file f;

	memset(&f, 0, sizeof f);
	f.workload.final_norm = f.workload.head = true;
	bool ok = schema_bind(b, &model_schema, root, &f);
	struct workload *w = &f.workload;
	w->id = id;
	w->kind = kinds[f.kind];
	w->norm = norms[f.norm];
	w->positions = positions[f.positions];
	if (ok && tree_get(root, "operators"))
		ok = operators_bind(b, root, w);
	else if (ok)
		ok = finish_transformer(b, root, &f);
	*out = *w;
	return ok;
}
