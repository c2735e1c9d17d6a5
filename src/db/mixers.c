/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read token mixers: attention, Mamba-2, delta networks. */
#include "db/parts.h"

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
