/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "db/parts.h"

#include "base/base.h"

#include <string.h>

#define CHOICE(key_, member, choices_, help_)                                                                          \
	{                                                                                                              \
		.key = key_, .kind = FIELD_CHOICE, .offset = offsetof(struct storage_file, member),                    \
		.choices = choices_, .help = help_                                                                     \
	}
static const struct field fields[] = {
    {.key = "weights",
        .kind = FIELD_CHOICE,
        .offset = offsetof(struct storage_file, weights),
        .choices = DTYPE_CHOICE(Q),
        .required = true,
        .help = "type of the quantised weights"},
    CHOICE("experts", experts, DTYPE_CHOICE(Q), "type of the routed experts, where it is another one"),
    {.key = "group",
        .kind = FIELD_QUANTITY,
        .quantity = Q_COUNT,
        .offset = offsetof(struct storage_file, group),
        .min = 1,
        .max = 1e6,
        .help = "weights that share a scale; default 128 for integers, the format's own otherwise"},
    {.key = "symmetric",
        .kind = FIELD_FLAG,
        .offset = offsetof(struct storage_file, symmetric),
        .help = "integers without zero points"},
    CHOICE("kv", kv, DTYPE_CHOICE(A), "type of the cache that the checkpoint asks for"),
    CHOICE("activations", activations, DTYPE_CHOICE(A), "type of the products' inputs"),
    CHOICE("only", only, "linear|experts", "linear (default): all maps of the layers; experts: the routed ones alone"),
    {.key = "keep", .kind = FIELD_IGNORED, .help = "parts that stay in 16 bits"},
};
const struct schema storage_schema = {
    "'quantisation'", sizeof(struct storage_file), fields, sizeof fields / sizeof *fields};

/* What a file may keep in 16 bits.  Tables, norms, routers and the head are never narrower: quantisers leave them. */
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
	diag_error(b->diag, n->at, "'%s' is no part of a model", text);
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
	if (keep && keep->kind != NODE_LIST) {
		diag_error(b->diag, keep->at, "'keep' is a list of parts: [lm_head, router]");
		return false;
	}
	for (size_t i = 0; keep && i < keep->n; i++)
		ok = keep_part(b, keep->items[i], &out->quantised) && ok;
	return ok;
}
