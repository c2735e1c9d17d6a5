/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read the layers of a model: blocks of equal layers, each with a token mixer (mixers.c) and a feed-forward part. */
#include "db/parts.h"

#include "base/base.h"

#include <string.h>

/* --- storage ------------------------------------------------------------------------------------------------- */

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
