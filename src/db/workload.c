/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model file: a transformer as a dozen architecture numbers.  Its layers are read in layers.c, lists of operators in
 * operators.c. */
#include "db/db.h"
#include "db/parts.h"

#include "base/base.h"

#include <string.h>

/* What the file says, before defaults are filled in. */
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
		.help = "layers that differ: a list of counts with their parts"                                        \
	}

#define PART(part) offsetof(struct workload_file, encoder.top.part)
static const struct field encoder_fields[] = {LAYERS_KEY(encoder), LAYER_PARTS, BLOCKS_KEY(encoder)};
static const struct schema encoder_schema = {
    "'encoder'", sizeof(struct workload_file), encoder_fields, sizeof encoder_fields / sizeof *encoder_fields};
#undef PART

static const struct field mtp_fields[] = {
    LAYER_FIGURE(struct workload_file, "layers", workload.n_mtp, 0, 100, "modules that predict further tokens"),
};
static const struct schema mtp_schema = {
    "'mtp'", sizeof(struct workload_file), mtp_fields, sizeof mtp_fields / sizeof *mtp_fields};

#define AT(member) offsetof(struct workload_file, workload.member)
#define TEXT(key_, member, help_)                                                                                      \
	{                                                                                                              \
		.key = key_, .kind = FIELD_TEXT, .offset = AT(member), .help = help_                                   \
	}
#define FIGURE(key, member, low, high, help) LAYER_FIGURE(struct workload_file, key, workload.member, low, high, help)
#define FLAG(key, member, help) LAYER_FLAG(struct workload_file, key, workload.member, help)

static const struct field patch_fields[] = {
    FIGURE("size", patch_size, 1, 1e5, "pixels along one side of a patch"),
    FIGURE("channels", n_channels, 1, 1e4, "channels of a pixel"),
    FIGURE("image", image_size, 1, 1e6, "pixels along one side of the image"),
    FIGURE("classes", n_classes, 1, 1e7, "outputs of the head"),
};
static const struct schema patch_schema = {
    "'patch'", sizeof(struct workload_file), patch_fields, sizeof patch_fields / sizeof *patch_fields};

#define PART(part) offsetof(struct workload_file, layers.top.part)
static const struct field fields[] = {
    {.key = "format", .kind = FIELD_IGNORED, .help = "version of this form: 1"},
    {.key = "name", .kind = FIELD_TEXT, .offset = AT(name), .required = true, .help = "the name that people read"},
    {.key = "aliases", .kind = FIELD_IGNORED, .help = "other names; case and punctuation do not count"},
    {.key = "source", .kind = FIELD_TEXT, .offset = AT(source), .required = true, .help = "where the numbers are from"},
    {.key = "sources", .kind = FIELD_IGNORED, .help = "short keys for citations"},
    LAYER_CHOICE(struct workload_file, "kind", kind, "decoder|encoder|vision|encoder-decoder",
        "decoder (default), encoder, vision or encoder-decoder"),
    LAYERS_KEY(layers),
    FIGURE("hidden", hidden, 1, 1e6, "width of the residual stream"),
    LAYER_PARTS,
    BLOCKS_KEY(layers),
    {.key = "encoder",
        .kind = FIELD_MAP,
        .sub = &encoder_schema,
        .help = "encoder-decoder: the encoder's layers; the top level has the decoder's"},
    LAYER_FLAG(struct workload_file, "cross_attention", cross_attention,
        "each decoder layer attends to the encoder's tokens too"),
    LAYER_CHOICE(struct workload_file, "positions", positions, "rope|learned|alibi|relative",
        "rope (default), learned, alibi or relative"),
    FIGURE("position_count", n_positions, 1, 1e9, "rows of the learned table of positions, one for each stack"),
    FIGURE(
        "relative_buckets", relative_buckets, 1, 1e6, "rows of the table of relative positions, one column per head"),
    TEXT("activation", activation, "silu gelu relu relu2 geglu"),
    LAYER_CHOICE(struct workload_file, "norm", norm, "rms|layer", "rms (one vector, default) or layer (two)"),
    FIGURE("norms_per_layer", norms_per_layer, 0, 16,
        "2 (default), 3 with cross attention, 4 with norms behind the parts too, 1 in parallel blocks"),
    FLAG("final_norm", final_norm, "a norm behind the layers; default true"),
    FLAG("embedding_norm", embedding_norm, "a norm behind the embedding"),
    FIGURE("vocab", vocab, 1, 1e8, "rows of the embedding"),
    FIGURE("token_types", n_token_types, 1, 1e4, "rows of the table of segments"),
    FLAG("pooler", pooler, "a square map and its bias on the first token"),
    FLAG("tied_embeddings", tied_embeddings, "the head shares the embedding"),
    FLAG("head", head, "there is an output projection; default true"),
    FLAG("head_bias", head_bias, "the output projection has a bias"),
    FLAG("softcap", softcap, "attention scores and logits are bounded by a tanh"),
    LAYER_CHOICE(
        struct workload_file, "state_dtype", state_dtype, DTYPE_CHOICE(S), "type of recurrent states; default fp32"),
    LAYER_MAP("mtp", 0, &mtp_schema, "modules that predict further tokens; not counted in the parameters"),
    FLAG("vision", has_vision, "the model has a vision part too, which is not counted"),
    FLAG("parallel", parallel, "attention and MLP read the same tokens and are added up together"),
    {.key = "quantisation",
        .kind = FIELD_MAP,
        .sub = &storage_schema,
        .offset = offsetof(struct workload_file, storage),
        .help = "how the published checkpoint is stored"},
    FIGURE("context", context, 1, 1e9, "longest sequence in tokens"),
    {.key = "patch", .kind = FIELD_MAP, .sub = &patch_schema, .help = "vision: how the image becomes tokens"},
    FIGURE("parameters", stated_params, 1, 1e16, "published or exact total, which the check compares"),
    {.key = "symbols", .kind = FIELD_IGNORED, .help = "named numbers for `operators`; `batch` is always defined"},
    {.key = "operators", .kind = FIELD_IGNORED, .help = "a list of operators instead of an architecture"},
    TEXT("notes", notes, "what users trip over"),
};
static const struct schema model_schema = {
    "a model", sizeof(struct workload_file), fields, sizeof fields / sizeof *fields};
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
		return !n || layer_fault(b, n->at, "only an encoder-decoder has that", "say 'kind: encoder-decoder'");
	}
	if (!map)
		return layer_fault(b, root->at, "an encoder-decoder needs the key 'encoder'",
		    "the encoder's layers, attention and mlp; the top level has the decoder's");
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
		return layer_fault(b, w->relative_buckets.from, "a table of relative positions that is not used",
		    "say 'positions: relative'");
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
	*out = *w;
	return ok;
}
