/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `extends: NAME`: merge an entry over the one it inherits from. */
#include "db/parts.h"

#include <string.h>

enum { MOST_EXTENDED = 4 };

static bool
is_own(const struct node *key, const char *const *own)
{
	for (; *own; own++)
		if (key->text && strcmp(key->text, *own) == 0)
			return true;
	return false;
}

static const struct node *
inherited(struct arena *a, const struct node *base, const char *const *own)
{
	struct node *const copy = ARENA_NEW(a, struct node);
	const struct node **keys = ARENA_ARRAY(a, const struct node *, base->n + 1);
	const struct node **items = ARENA_ARRAY(a, const struct node *, base->n + 1);

	*copy = *base;
	copy->n = 0;
	copy->keys = keys;
	copy->items = items;
	for (size_t i = 0; i < base->n; i++)
		if (!is_own(base->keys[i], own)) {
			keys[copy->n] = base->keys[i];
			items[copy->n++] = base->items[i];
		}
	return copy;
}

static const struct node *
extended(struct database *db, struct arena *a, struct diag *d, enum entry_kind kind, const struct node *root,
    const char *const *own, int depth)
{
	const struct node *name = tree_get(root, "extends");
	const char *id, *said;

	if (!name)
		return root;
	if (name->kind != NODE_SCALAR || !name->text) {
		diag_error(d, name->at, "'extends' needs the name of another entry of this kind");
		diag_hint(d, "write 'extends: %s'", kind == ENTRY_ENGINE ? "trtllm" : "megatron-core");
		return NULL;
	}
	if (depth == MOST_EXTENDED) {
		diag_error(d, name->at, "'extends' goes in a circle, or over more than %d entries", (int)MOST_EXTENDED);
		diag_hint(d, "extend the first of them");
		return NULL;
	}
	const struct node *base = database_open(db, kind, name->text, name->at, &id, &said);
	base = base ? extended(db, a, d, kind, base, own, depth + 1) : NULL;
	return base ? tree_overlay(a, inherited(a, base, own), root) : NULL;
}

const struct node *
entry_extended(struct database *db, struct arena *a, struct diag *d, enum entry_kind kind, const struct node *root,
    const char *const *own)
{
	return extended(db, a, d, kind, root, own, 0);
}
