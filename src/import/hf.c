/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convert a Hugging Face config.json to a model file: find its family, apply the family's rules, assemble the parts. */
#include "import/parts.h"

#include "base/base.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

bool
hf_is_config(const struct node *root)
{
	if (!root || root->kind != NODE_MAP || tree_get(root, "format"))
		return false;
	return tree_get(root, "model_type") || tree_get(root, "architectures") || tree_get(root, "auto_map");
}

/* --- the family ------------------------------------------------------------------------------------------ */

/* `Qwen3MoeForCausalLM` means qwen3_moe: the class is named after the type. */
static const char *
type_of_architecture(struct hf *h, const char *architecture)
{
	size_t n;
	const char **types = hf_types(h->arena, &n);
	char name[100];
	const char *end = strstr(architecture, "For");
	static const char *const ends[] = {"LMHeadModel", "LMHead", "Model"};

	size_t length = end ? (size_t)(end - architecture) : strlen(architecture);
	for (size_t i = 0; !end && i < sizeof ends / sizeof *ends; i++)
		if (text_ends(architecture, ends[i])) {
			length -= strlen(ends[i]);
			break;
		}
	snprintf(name, sizeof name, "%.*s", (int)length, architecture);
	for (size_t i = 0; i < n; i++)
		if (text_same_folded(types[i], name))
			return types[i];
	return NULL;
}

static const char *
type_of(struct hf *h, const struct node *map)
{
	const struct node *n = tree_get(map, "model_type");
	const char *type = hf_text(n), *architecture = hf_text(tree_at(map, "architectures.0"));

	if (n && n->kind != NODE_SCALAR) {
		hf_fault(h, n->at, "'model_type' is %s, not a word", n->kind == NODE_LIST ? "a list" : "a map");
		return NULL;
	}
	if (type || !architecture)
		return type;
	type = type_of_architecture(h, architecture);
	if (type)
		hf_assume(h, "model_type %s", type);
	return type;
}

static void
no_family(struct hf *h)
{
	const struct node *n = tree_get(h->outer, "model_type"), *architectures = tree_get(h->outer, "architectures");
	const char *type = hf_text(n);
	size_t count;
	const char **types = hf_types(h->arena, &count);

	if (type)
		hf_fault(h, n->at, "unknown model_type '%s'%s", type,
		    tree_get(h->outer, "auto_map") ? "; it uses custom code (auto_map)" : "");
	else
		hf_fault(h, architectures ? architectures->at : h->outer->at, "model_type missing%s",
		    tree_get(h->outer, "auto_map") ? "; it uses custom code (auto_map)" : "");
	const char *near = type ? text_nearest(type, types, count) : NULL;
	diag_hint(h->diag,
	    "%s%s%swhat decides: num_hidden_layers, hidden_size, num_attention_heads, num_key_value_heads, head_dim, "
	    "intermediate_size, "
	    "vocab_size, and of experts num_experts, num_experts_per_tok, moe_intermediate_size; say a model_type with "
	    "the same "
	    "layers, or write a model file",
	    near ? "did you mean '" : "", near ? near : "", near ? "'? " : "");
}

/* The text part of a model that sees or hears. */
static const struct node *
text_part(const struct node *root)
{
	static const char *const names[] = {
	    "text_config", "llm_config", "language_config", "thinker_config.text_config", "text_model_config"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const struct node *n = tree_at(root, names[i]);
		if (n && n->kind == NODE_MAP && n->n)
			return n;
	}
	return root;
}

static bool
find_family(struct hf *h)
{
	h->config = text_part(h->outer);
	h->family = hf_family_find(type_of(h, h->outer));
	if (!h->family && h->config != h->outer)
		h->family = hf_family_find(type_of(h, h->config));
	if (!h->family && !h->failed)
		no_family(h);
	return h->family != NULL;
}

/* --- name and place -------------------------------------------------------------------------------------- */

/* The part of a path that ends at `end`: what follows the slash, and the two underlines of owner__name.json. */
static const char *
part_before(const char *path, const char *end)
{
	const char *begin = end;

	while (begin > path && begin[-1] != '/')
		begin--;
	for (const char *p = begin; p + 2 < end; p++)
		if (p[0] == '_' && p[1] == '_')
			begin = p + 2;
	return begin;
}

/* The file's own name, or that of its folder where it is `config.json`; NULL where neither says anything. */
static const char *
name_of_file(struct hf *h, const char *file)
{
	const char *end = file + strlen(file) - strlen(".json"), *begin = part_before(file, end);

	if (strcmp(arena_copy(h->arena, begin, (size_t)(end - begin)), "config") == 0) {
		if (begin < file + 2)
			return NULL;
		end = begin - 1;
		begin = part_before(file, end);
	}
	const char *name = arena_copy(h->arena, begin, (size_t)(end - begin));
	return strspn(name, ".") == strlen(name) ? NULL : name;
}

/* `meta-llama/Llama-2-7b-hf` of the file's text, else where the file lies, else the type. */
static const char *
name_of(struct hf *h)
{
	static const char *const names[] = {"_name_or_path", "name"};
	const char *file = h->outer->at.file, *name = NULL;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *text = hf_text(tree_get(h->outer, names[i]));
		const char *slash = text ? strrchr(text, '/') : NULL;
		if (slash && slash[1])
			return slash + 1;
		if (text && *text && !slash)
			return text;
	}
	if (file && text_ends(file, ".json"))
		name = name_of_file(h, file);
	return name ? name : h->family->type;
}

static void
put_title(struct hf *h, struct node *out)
{
	const char *file = h->outer->at.file ? h->outer->at.file : "config.json";
	const char *slash = strrchr(file, '/');

	map_word(h->arena, out, "format", "1", out->at);
	map_text(h->arena, out, "name", name_of(h), out->at);
	map_text(h->arena, out, "source",
	    arena_printf(h->arena, "%s, model_type %s", slash ? slash + 1 : file, h->family->type), out->at);
}

/* --- the parts ------------------------------------------------------------------------------------------- */

static const struct {
	const char *word, *ours;
} activations[] = {
    {"silu", "silu"},
    {"swish", "silu"},
    {"relu", "relu"},
    {"relu2", "relu2"},
    {"relu_squared", "relu2"},
    {"gelu", "gelu"},
    {"geglu", "gelu"},
    {"gelu_new", "gelu"},
    {"gelu_fast", "gelu"},
    {"gelu_python", "gelu"},
    {"gelu_pytorch_tanh", "gelu"},
    {"quick_gelu", "gelu"},
    {"swigluoai", "silu"},
    {"situ", "silu"},
};

/* T5 says it with the kind of the MLP: `relu`, `gated-gelu`. */
static void
put_activation(struct hf *h, struct node *out)
{
	const char *word = hf_word(h, HF_activation), *mlp = hf_word(h, HF_mlp), *ours = NULL;
	const bool gated = mlp && strncmp(mlp, "gated", 5) == 0;

	if (!word && mlp)
		word = strncmp(mlp, "gated-", 6) == 0 ? mlp + 6 : mlp;
	for (size_t i = 0; word && i < sizeof activations / sizeof *activations; i++)
		if (strcmp(activations[i].word, word) == 0)
			ours = activations[i].ours;
	if (word && !ours)
		hf_remember(h, "activation %s counted as silu", word);
	map_word(h->arena, out, "activation",
	    !ours                                    ? "silu"
	        : gated && strcmp(ours, "gelu") == 0 ? "geglu"
	                                             : ours,
	    out->at);
}

static bool
is(const char *word, const char *what)
{
	return word && strcmp(word, what) == 0;
}

/* Dtype of recurrent states; fp32 is the default everywhere. */
static void
put_state_dtype(struct hf *h, struct node *out)
{
	static const struct {
		const char *word, *ours;
	} types[] = {{"float32", NULL}, {"bfloat16", "bf16"}, {"float16", "fp16"}};
	const char *word = hf_word(h, HF_state_dtype);

	for (size_t i = 0; word && i < sizeof types / sizeof *types; i++)
		if (strcmp(types[i].word, word) == 0)
			map_word(h->arena, out, "state_dtype", types[i].ours, out->at);
}

static void
put_positions(struct hf *h, struct node *out)
{
	const char *word = hf_word(h, HF_positions);

	if (is(word, "rope"))
		return;
	map_word(h->arena, out, "positions", word, out->at);
	if (is(word, "learned")) {
		struct datum rows = hf_need(h, HF_context);
		rows.value += datum_or(hf_number(h, HF_position_extra), 0);
		map_number(h->arena, out, "position_count", rows);
	}
	if (is(word, "relative"))
		map_number(h->arena, out, "relative_buckets", hf_need(h, HF_buckets));
}

static void
put_norms(struct hf *h, struct node *out)
{
	struct datum norms = hf_number(h, HF_norms);
	bool both = h->n_layers > 0;

	/* experts beside the MLP have norms of their own: before, behind, and behind the MLP */
	for (size_t i = 0; i < h->n_layers; i++)
		both = both && h->layers[i].feed == FEED_BOTH;
	norms.value += both ? 3 : 0;
	map_word(h->arena, out, "norm", hf_word(h, HF_norm), out->at);
	if (norms.value != 2)
		map_number(h->arena, out, "norms_per_layer", norms);
	if (!hf_flag(h, HF_final_norm))
		map_word(h->arena, out, "final_norm", "false", out->at);
	map_flag(h->arena, out, "embedding_norm", hf_flag(h, HF_embedding_norm), out->at);
}

static void
put_ends(struct hf *h, struct node *out)
{
	map_number(h->arena, out, "vocab", hf_need(h, HF_vocab));
	map_number(h->arena, out, "token_types", hf_number(h, HF_token_types));
	map_flag(h->arena, out, "pooler", hf_flag(h, HF_pooler), out->at);
	if (!hf_flag(h, HF_head))
		map_word(h->arena, out, "head", "false", out->at);
	else
		map_word(h->arena, out, "tied_embeddings", hf_flag(h, HF_tied) ? "true" : "false", out->at);
	map_flag(h->arena, out, "head_bias", hf_flag(h, HF_head_bias), out->at);
	map_number(h->arena, out, "context", hf_number(h, HF_context));
}

static void
put_mtp(struct hf *h, struct node *out)
{
	struct datum n = hf_number(h, HF_mtp);

	if (!(n.value > 0) || !hf_flag(h, HF_use_mtp))
		return;
	n.value *= datum_or(hf_number(h, HF_mtp_depth), 1);
	struct node *mtp = map_new(h->arena, out->at);
	map_number(h->arena, mtp, "layers", n);
	map_put(h->arena, out, "mtp", mtp);
}

static void
put_senses(struct hf *h, struct node *out)
{
	static const char *const keys[] = {"vision_config", "vision_encoder_config", "vision_tower", "visual"};
	const struct node *audio = tree_get(h->outer, "audio_config");
	bool sees = false;

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const struct node *n = tree_get(h->outer, keys[i]);
		sees = sees || (n && n->kind == NODE_MAP);
	}
	map_flag(h->arena, out, "vision", sees, out->at);
	if (sees)
		hf_remember(h, "vision part not counted");
	if (audio && audio->kind == NODE_MAP)
		hf_remember(h, "audio part not counted");
}

static const char *
joined(struct arena *a, const char *before, const char **list, size_t n, const char *between)
{
	const char *text = before;

	for (size_t i = 0; i < n; i++)
		text = arena_printf(a, "%s%s%s", text, text == before ? "" : between, list[i]);
	return text;
}

static void
put_notes(struct hf *h, struct node *out)
{
	struct hf_notes *n = h->notes;

	if (hf_remark(h->family))
		hf_remember(h, "%s", hf_remark(h->family));
	const char *remarks = joined(h->arena, "", n->remarks, n->n_remarks, "; ");
	const char *assumed = joined(h->arena, "assumed: ", n->assumed, n->n_assumed, ", ");
	if (n->n_remarks + n->n_assumed)
		map_text(h->arena, out, "notes",
		    arena_printf(h->arena, "%s%s%s", remarks, n->n_remarks && n->n_assumed ? "; " : "",
		        n->n_assumed ? assumed : ""),
		    out->at);
}

/* llm-analysis writes 4 x hidden for every model; a gated MLP is narrower. */
static void
doubt_width(struct hf *h)
{
	const struct node *n = tree_get(h->config, "ffn_embed_dim");
	const char *mlp = hf_word(h, HF_mlp);

	if (n && mlp && strcmp(mlp, "gated") == 0 && hf_number(h, HF_width).value == 4 * hf_number(h, HF_hidden).value)
		hf_remember(h, "ffn_embed_dim is 4 x the hidden size, unusual for a gated MLP: check it");
}

/* Nemotron-H may leave the number of layers to the list of their kinds. */
static struct datum
layer_count(struct hf *h)
{
	const struct datum d = hf_number(h, HF_layers);
	const struct node *list = tree_get(h->config, "layers_block_type"),
	                  *letters = tree_get(h->config, "hybrid_override_pattern");

	if (datum_given(d) || h->reported[HF_layers])
		return d;
	if (list && list->kind == NODE_LIST && list->n)
		return (struct datum){(double)list->n, list->at};
	if (hf_text(letters) && *letters->text)
		return (struct datum){(double)strlen(letters->text), letters->at};
	return hf_need(h, HF_layers);
}

static void
put_model(struct hf *h, struct node *out)
{
	const char *kind = hf_word(h, HF_kind);
	const bool both = is(kind, "encoder-decoder");
	const struct datum layers = layer_count(h);

	put_title(h, out);
	if (!is(kind, "decoder"))
		map_word(h->arena, out, "kind", kind, out->at);
	hf_check_only(h);
	h->n_layers = (size_t)datum_or(layers, 0);
	hf_layers(h);
	map_number(h->arena, out, "layers", (struct datum){(double)h->n_layers, layers.from});
	map_number(h->arena, out, "hidden", hf_need(h, HF_hidden));
	if (h->n_layers)
		hf_blocks(h, out);
	map_flag(h->arena, out, "cross_attention", both, out->at);
	if (both)
		hf_encoder(h, out);
	put_state_dtype(h, out);
	put_activation(h, out);
	put_positions(h, out);
	put_norms(h, out);
	put_ends(h, out);
	put_mtp(h, out);
	put_senses(h, out);
	hf_quantisation(h, out);
	hf_check_unread(h);
	doubt_width(h);
	put_notes(h, out);
}

const struct node *
hf_import(struct arena *a, struct diag *d, const struct node *config, struct hf_notes *notes)
{
	struct hf h = {.arena = a, .diag = d, .notes = notes, .outer = config, .config = config};
	struct node *out = map_new(a, config->at);

	*notes = (struct hf_notes){0};
	if (config->kind != NODE_MAP) {
		hf_fault(&h, config->at, "a configuration is a JSON object");
		return NULL;
	}
	if (!find_family(&h))
		return NULL;
	put_model(&h, out);
	return h.failed ? NULL : out;
}
