/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read model files: transformers here, their layers in layers.c, lists of operators in operators.c. */
#include "db/db.h"

#include "base/base.h"
#include "db/parts.h"
#include "model/layer/layer.h"

#include <string.h>

/* --- operators ----------------------------------------------------------------------------------------------- */

/*
 * A list of operators with arithmetic over named numbers.  The list holds for one sample; what it is for more is a
 * straight line in `batch`, found by evaluating each dimension for 1, 2 and 3 samples.
 */

enum { MAX_SYMBOLS = 64 };

struct symbols {
	size_t n;
	const char *names[MAX_SYMBOLS];
	double values[MAX_SYMBOLS];
};

static bool
find(const void *context, const char *name, struct formula_value *out)
{
	const struct symbols *s = context;

	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->names[i], name) == 0) {
			*out = (struct formula_value){.value = s->values[i]};
			return true;
		}
	return false;
}

/* `batch` is the first symbol. */
static bool
read_symbols(struct binder *b, const struct node *map, struct symbols *s)
{
	bool ok = true;

	s->n = 1;
	s->names[0] = "batch";
	s->values[0] = 1;
	if (!map)
		return true;
	if (map->kind != NODE_MAP || map->n >= MAX_SYMBOLS) {
		diag_error(b->diag, map->at, "'symbols' is a map of at most %d names", MAX_SYMBOLS - 1);
		return false;
	}
	for (size_t i = 0; i < map->n; i++) {
		struct datum d;
		if (strcmp(map->keys[i]->text, "batch") == 0) {
			diag_error(b->diag, map->keys[i]->at, "'batch' is always defined");
			ok = false;
			continue;
		}
		ok = schema_quantity(b, map->items[i], Q_NUMBER, 0, 1e15, &d) && ok;
		s->names[s->n] = map->keys[i]->text;
		s->values[s->n++] = d.value;
	}
	return ok;
}

static bool
evaluate(struct binder *b, const struct node *n, const struct symbols *s, double *out)
{
	struct formula_value v;
	struct formula_fault fault;

	if (n->kind != NODE_SCALAR || !n->text) {
		diag_error(b->diag, n->at, "expected a number or a product of numbers and names");
		return false;
	}
	if (!formula_evaluate(n->text, (struct formula_names){find, s}, &v, &fault)) {
		struct source at = n->at;
		if (!n->quoted)
			at.column += fault.column - 1;
		diag_error(b->diag, at, "%s", fault.what);
		return false;
	}
	if (!isfinite(v.value) || v.value < 0) {
		diag_error(b->diag, n->at, "'%s' is %g: a dimension must be positive", n->text, v.value);
		return false;
	}
	*out = v.value;
	return true;
}

/* Value for one sample, and what each sample more adds. */
static bool
read_dimension(struct binder *b, const struct node *n, struct symbols *s, double *one, double *more)
{
	double at[3] = {0, 0, 0};

	for (int batch = 1; batch <= 3; batch++) {
		s->values[0] = batch;
		const bool ok = evaluate(b, n, s, &at[batch - 1]);
		s->values[0] = 1;
		if (!ok)
			return false;
	}
	*one = at[0];
	*more = at[1] - at[0];
	if (fabs(at[2] - at[1] - *more) <= 1e-9 * fmax(fabs(at[2]), 1))
		return true;
	diag_error(b->diag, n->at, "'%s' is not linear in the batch", n->text);
	diag_hint(b->diag, "a dimension is a constant, or a constant times 'batch', or their sum");
	return false;
}

static int
dimension_find(enum op_kind kind, const char *key)
{
	for (int i = 0; op_dim_name(kind, i); i++)
		if (strcmp(op_dim_name(kind, i), key) == 0)
			return i;
	return -1;
}

static bool
unknown_dimension(struct binder *b, enum op_kind kind, const struct node *key)
{
	const char *names[16] = {"op", "name", "count", "params"};
	size_t n = 4;

	for (int i = 0; op_dim_name(kind, i) && n < 16; i++)
		names[n++] = op_dim_name(kind, i);
	diag_error(b->diag, key->at, "%s has no key '%s'", op_kind_name(kind), key->text);
	const char *near = text_nearest(key->text, names, n);
	if (near)
		diag_hint(b->diag, "did you mean '%s'?", near);
	else {
		char list[200] = "";
		for (size_t i = 0; i < n; i++) {
			strcat(list, names[i]);
			strcat(list, i + 1 < n ? " " : "");
		}
		diag_hint(b->diag, "its keys: %s", list);
	}
	return false;
}

static bool
read_kind(struct binder *b, const struct node *map, struct op *op)
{
	const struct node *kind = tree_get(map, "op");

	if (!kind || kind->kind != NODE_SCALAR || !kind->text) {
		diag_error(b->diag, kind ? kind->at : map->at, "an operator needs the key 'op'");
		return false;
	}
	op->kind = op_kind_find(kind->text);
	if (op->kind != OP_NONE)
		return true;
	const char *names[N_OP_KINDS];
	for (int i = 0; i < N_OP_KINDS; i++)
		names[i] = op_kind_name((enum op_kind)i);
	diag_error(b->diag, kind->at, "'%s' is not an operator", kind->text);
	const char *near = text_nearest(kind->text, names, N_OP_KINDS);
	if (near)
		diag_hint(b->diag, "did you mean '%s'?", near);
	else
		diag_hint(b->diag, "ridge help roofline lists them");
	return false;
}

/* Defaults may name an earlier dimension, so its growth comes along. */
static bool
fill(struct binder *b, const struct node *map, struct op *op)
{
	struct op next = *op;

	for (int i = 0; op_dim_name((enum op_kind)op->kind, i); i++)
		next.dim[i] = op->dim[i] + op->per_batch[i];
	const int missing = op_fill(op);
	if (missing >= 0) {
		diag_error(b->diag, map->at, "%s needs the key '%s'", op_kind_name((enum op_kind)op->kind),
		    op_dim_name((enum op_kind)op->kind, missing));
		return false;
	}
	op_fill(&next);
	for (int i = 0; op_dim_name((enum op_kind)op->kind, i); i++)
		op->per_batch[i] = next.dim[i] - op->dim[i];
	return true;
}

static bool
read_operator(struct binder *b, const struct node *map, struct symbols *s, struct op *op)
{
	bool ok = true;

	*op = (struct op){.count = 1, .elem_byte = 2, .from = map->at};
	if (map->kind != NODE_MAP) {
		diag_error(b->diag, map->at, "write an operator as {op: gemm, m: , n: , k: }");
		return false;
	}
	if (!read_kind(b, map, op))
		return false;
	const enum op_kind kind = (enum op_kind)op->kind;
	op->name = op_kind_name(kind);
	for (int i = 0; op_dim_name(kind, i); i++)
		op->dim[i] = NAN;
	for (size_t i = 0; i < map->n; i++) {
		const struct node *key = map->keys[i], *value = map->items[i];
		const int d = dimension_find(kind, key->text);
		if (d >= 0)
			ok = read_dimension(b, value, s, &op->dim[d], &op->per_batch[d]) && ok;
		else if (strcmp(key->text, "name") == 0 && value->kind == NODE_SCALAR && value->text)
			op->name = value->text;
		else if (strcmp(key->text, "count") == 0)
			ok = evaluate(b, value, s, &op->count) && ok;
		else if (strcmp(key->text, "params") == 0)
			ok = evaluate(b, value, s, &op->extra_params) && ok;
		else if (strcmp(key->text, "op") != 0)
			ok = unknown_dimension(b, kind, key) && ok;
	}
	return ok && fill(b, map, op);
}

/* `operators:` of a model file: any workload as an explicit list. */
static bool
operators_bind(struct binder *b, const struct node *root, struct workload *out)
{
	static const char *const others[] = {"layers", "hidden", "attention", "mamba", "delta", "kda", "mlp", "moe",
	    "blocks", "encoder", "quantisation"};
	const struct node *list = tree_get(root, "operators");
	struct symbols symbols;

	if (list->kind != NODE_LIST || list->n == 0) {
		diag_error(b->diag, list->at, "'operators' needs at least one operator");
		return false;
	}
	bool ok = read_symbols(b, tree_get(root, "symbols"), &symbols);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (tree_get(root, others[i])) {
			diag_error(b->diag, tree_get(root, others[i])->at, "'%s' does not apply to a list of operators",
			    others[i]);
			ok = false;
		}
	out->kind = MODEL_OPERATORS;
	out->n_ops = (int)list->n;
	out->ops = ARENA_ARRAY(b->arena, struct op, list->n);
	for (size_t i = 0; i < list->n; i++)
		ok = read_operator(b, list->items[i], &symbols, &out->ops[i]) && ok;
	return ok;
}

/* A model file as written, before defaults. */
struct stack_file {
	struct datum n_layers;
	struct block_file top;
	int n_blocks;
	struct block_file *blocks;
};

struct workload_file {
	struct workload workload;
	struct stack_file layers, encoder;
	struct storage_file storage;
	bool cross_attention;
	int kind, norm, positions, state_dtype;
};

#define LAYERS_KEY(member) LAYER_FIGURE(struct workload_file, "layers", member.n_layers, 1, 1e4, "layers")
#define BLOCKS_KEY(member)                                                                                             \
	{                                                                                                              \
		.key = "blocks", .kind = FIELD_LIST, .sub = &block_schema,                                             \
		.offset = offsetof(struct workload_file, member.blocks),                                               \
		.extra = offsetof(struct workload_file, member.n_blocks),                                              \
		.help = "blocks of different layers: counts with their parts"                                          \
	}

#define PART(part) offsetof(struct workload_file, encoder.top.part)
static const struct field encoder_fields[] = {LAYERS_KEY(encoder), LAYER_PARTS, BLOCKS_KEY(encoder)};
SCHEMA(encoder_schema, "'encoder'", struct workload_file, encoder_fields);
#undef PART

static const struct field mtp_fields[] = {
    LAYER_FIGURE(struct workload_file, "layers", workload.n_mtp, 0, 100, "MTP layers"),
    LAYER_FIGURE(struct workload_file, "modules", workload.n_mtp_modules, 1, 100,
        "MTP layers that share no weights (default: all)"),
};
SCHEMA(mtp_schema, "'mtp'", struct workload_file, mtp_fields);

#define AT(member) offsetof(struct workload_file, workload.member)
#define COUNT(key, member, low, high, help) FIGURE(key, Q_COUNT, member, low, high, help)

static const struct field patch_fields[] = {
    COUNT("size", patch_size, 1, 1e5, "patch size in pixels"),
    COUNT("channels", n_channels, 1, 1e4, "channels per pixel"),
    COUNT("image", image_size, 1, 1e6, "image size in pixels"),
    COUNT("classes", n_classes, 1, 1e7, "classes"),
};
SCHEMA(patch_schema, "'patch'", struct workload_file, patch_fields);

#define PART(part) offsetof(struct workload_file, layers.top.part)
static const struct field fields[] = {
    {.key = "format", .kind = FIELD_IGNORED, .help = "format version: 1"},
    {.key = "name", .kind = FIELD_TEXT, .offset = AT(name), .required = true, .help = "display name"},
    {.key = "aliases", .kind = FIELD_IGNORED, .help = "aliases; case and punctuation are ignored"},
    {.key = "source", .kind = FIELD_TEXT, .offset = AT(source), .required = true, .help = "source of the numbers"},
    {.key = "sources", .kind = FIELD_IGNORED, .help = "citation keys"},
    LAYER_CHOICE(struct workload_file, "kind", kind, "decoder|encoder|vision|encoder-decoder",
        "decoder (default), encoder, vision or encoder-decoder"),
    LAYERS_KEY(layers),
    COUNT("hidden", hidden, 1, 1e6, "hidden size"),
    LAYER_PARTS,
    BLOCKS_KEY(layers),
    {.key = "encoder",
        .kind = FIELD_MAP,
        .sub = &encoder_schema,
        .help = "encoder-decoder: encoder layers; the top level is the decoder"},
    LAYER_FLAG(struct workload_file, "cross_attention", cross_attention, "decoder layers have cross attention"),
    LAYER_CHOICE(struct workload_file, "positions", positions, "rope|learned|alibi|relative",
        "rope (default), learned, alibi or relative"),
    COUNT("position_count", n_positions, 1, 1e9, "learned position embeddings"),
    COUNT("relative_buckets", relative_buckets, 1, 1e6, "relative position buckets"),
    TEXT("activation", activation, "silu gelu relu relu2 geglu"),
    LAYER_CHOICE(struct workload_file, "norm", norm, "rms|layer", "rms (one vector, default) or layer (two)"),
    COUNT("norms_per_layer", norms_per_layer, 0, 16,
        "2 (default), 3 with cross attention, 4 with post-norms, 1 in parallel blocks"),
    FLAG("final_norm", final_norm, "final norm; default true"),
    FLAG("embedding_norm", embedding_norm, "norm after the embedding"),
    COUNT("vocab", vocab, 1, 1e8, "vocabulary size"),
    COUNT("token_types", n_token_types, 1, 1e4, "token types (segment embeddings)"),
    FLAG("pooler", pooler, "pooler: square projection with bias on the first token"),
    FLAG("tied_embeddings", tied_embeddings, "LM head tied to the embedding"),
    FLAG("head", head, "LM head; default true"),
    FLAG("head_bias", head_bias, "LM head bias"),
    FLAG("softcap", softcap, "attention scores and logits capped by tanh"),
    LAYER_CHOICE(
        struct workload_file, "state_dtype", state_dtype, DTYPE_CHOICE(S), "dtype of recurrent states; default fp32"),
    LAYER_MAP("mtp", 0, &mtp_schema, "MTP modules; not counted in the parameters"),
    FLAG("vision", has_vision, "vision encoder present, not counted"),
    FLAG("parallel", parallel, "parallel attention and MLP"),
    {.key = "quantisation",
        .kind = FIELD_MAP,
        .sub = &storage_schema,
        .offset = offsetof(struct workload_file, storage),
        .help = "storage format of the published checkpoint"},
    COUNT("context", context, 1, 1e9, "context length in tokens"),
    {.key = "patch", .kind = FIELD_MAP, .sub = &patch_schema, .help = "vision: image patches"},
    COUNT("parameters", stated_params, 1, 1e16, "published or exact total, for the check"),
    {.key = "symbols", .kind = FIELD_IGNORED, .help = "named numbers for `operators`; `batch` is always defined"},
    {.key = "operators", .kind = FIELD_IGNORED, .help = "a list of operators instead of an architecture"},
    TEXT("notes", notes, "caveats"),
};
SCHEMA(model_schema, "a model", struct workload_file, fields);
#undef PART

/* --- the whole ------------------------------------------------------------------------------------------- */

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

/* The encoder of an encoder-decoder. */
static bool
finish_encoder(struct binder *b, const struct node *root, struct workload_file *f)
{
	struct workload *w = &f->workload;
	const struct node *map = tree_get(root, "encoder");
	const struct layer_frame frame = {w->hidden, false};

	if (w->kind != MODEL_ENCODER_DECODER) {
		const struct node *n = map ? map : tree_get(root, "cross_attention");
		return !n ||
		    layer_fault(b, n->at, "only an encoder-decoder has this key", "write 'kind: encoder-decoder'");
	}
	if (!map)
		return layer_fault(b, root->at, "an encoder-decoder needs the key 'encoder'",
		    "give the encoder's layers, attention and mlp there; the top level is the decoder");
	if (!layer_needs(b, map, f->encoder.n_layers, "'encoder'", "layers") ||
	    !layer_whole(b, f->encoder.n_layers, "layers"))
		return false;
	w->n_encoder_layers = f->encoder.n_layers;
	return layers_finish(b, map, &f->encoder.top, f->encoder.blocks, f->encoder.n_blocks, w->n_encoder_layers,
	    &frame, &w->encoder_blocks, &w->n_encoder_blocks);
}

static bool
finish_vision(struct binder *b, const struct node *root, const struct workload *w)
{
	const struct node *patch = tree_get(root, "patch");

	if (!patch)
		return layer_fault(
		    b, root->at, "a vision model needs the key 'patch'", "{size: , channels: , image: , classes: }");
	bool ok = layer_needs(b, patch, w->patch_size, "'patch'", "size");
	ok = layer_needs(b, patch, w->n_channels, "'patch'", "channels") && ok;
	return layer_needs(b, patch, w->image_size, "'patch'", "image") && ok;
}

static bool
finish_positions(struct binder *b, const struct node *root, const struct workload *w)
{
	if (w->positions == POSITIONS_LEARNED)
		return layer_needs(b, root, w->n_positions, "a table of learned positions", "position_count");
	if (datum_given(w->relative_buckets) && w->positions != POSITIONS_RELATIVE)
		return layer_fault(
		    b, w->relative_buckets.from, "unused relative position buckets", "write 'positions: relative'");
	return true;
}

static void
finish_state(const struct node *root, struct workload_file *f)
{
	const struct node *n = tree_get(root, "state_dtype");

	f->workload.state_byte =
	    n ? (struct datum){dtype_byte(dtype_chosen(DTYPE_CHOICE(S), f->state_dtype)), n->at} : datum_absent();
}

static bool
finish_transformer(struct binder *b, const struct node *root, struct workload_file *f)
{
	struct workload *w = &f->workload;
	bool ok = layer_needs(b, root, w->n_layers, "a transformer", "layers");

	ok = layer_needs(b, root, w->hidden, "a transformer", "hidden") && ok;
	ok = check_activation(b, root) && layer_whole(b, w->n_layers, "layers") &&
	    layer_whole(b, w->hidden, "hidden") && ok;
	if (w->kind == MODEL_VISION)
		ok = finish_vision(b, root, w) && ok;
	else
		ok = layer_needs(b, root, w->vocab, "a language model", "vocab") && ok;
	ok = finish_positions(b, root, w) && ok;
	finish_state(root, f);
	const bool cross = f->cross_attention && w->kind == MODEL_ENCODER_DECODER;
	if (!datum_given(w->norms_per_layer))
		w->norms_per_layer = layer_default(2);
	if (!ok)
		return false;
	const struct layer_frame frame = {w->hidden, cross};
	ok = layers_finish(b, root, &f->layers.top, f->layers.blocks, f->layers.n_blocks, w->n_layers, &frame,
	    &w->blocks, &w->n_blocks);
	/* the layers that also attend to the encoder have a norm for that */
	for (int i = 0; ok && i < w->n_blocks; i++)
		if (w->blocks[i].cross && !w->blocks[i].has_norms && !tree_get(root, "norms_per_layer")) {
			w->blocks[i].has_norms = true;
			w->blocks[i].norms = layer_default(3);
		}
	/* with one norm in front of both, both read what it writes */
	if (ok && w->norms_per_layer.value == 1 && w->blocks[0].mixer == MIXER_ATTENTION && w->blocks[0].mlp.given)
		w->parallel = true;
	ok = finish_encoder(b, root, f) && ok;
	return storage_finish(b, tree_get(root, "quantisation"), &f->storage, &w->quantisation) && ok;
}

/* Describe the layers once, for all queries. */
static void
describe(struct binder *b, const struct workload *w, struct block *blocks, int n_blocks)
{
	for (int i = 0; i < n_blocks; i++) {
		struct layer *l = ARENA_NEW(b->arena, struct layer);
		layer_describe(w, &blocks[i], l);
		blocks[i].layer = l;
	}
}

bool
workload_bind(struct binder *b, const struct node *root, const char *id, struct workload *out)
{
	static const enum model_kind kinds[] = {MODEL_DECODER, MODEL_ENCODER, MODEL_VISION, MODEL_ENCODER_DECODER};
	static const enum norm_kind norms[] = {NORM_RMS, NORM_LAYER};
	static const enum position_kind positions[] = {
	    POSITIONS_ROPE, POSITIONS_LEARNED, POSITIONS_ALIBI, POSITIONS_RELATIVE};
	struct workload_file f;

	memset(&f, 0, sizeof f);
	f.workload.final_norm = f.workload.head = true;
	f.workload.source_token = f.workload.n_encoder_layers = f.workload.state_byte = datum_absent();
	bool ok = schema_bind(b, &model_schema, root, &f);
	struct workload *w = &f.workload;
	w->id = id;
	w->n_layers = f.layers.n_layers;
	w->kind = kinds[f.kind];
	w->norm = norms[f.norm];
	w->positions = positions[f.positions];
	if (ok && tree_get(root, "operators"))
		ok = operators_bind(b, root, w);
	else if (ok)
		ok = finish_transformer(b, root, &f);
	if (ok) {
		describe(b, w, w->blocks, w->n_blocks);
		describe(b, w, w->encoder_blocks, w->n_encoder_blocks);
	}
	*out = *w;
	return ok;
}
