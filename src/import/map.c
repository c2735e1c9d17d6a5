/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "import/parts.h"

#include "base/sheet.h"

enum { FIRST_ROOM = 8 };

static struct node *
node_new(struct arena *a, enum node_kind kind, struct source at)
{
	struct node *n = ARENA_NEW(a, struct node);

	n->kind = kind;
	n->at = at;
	n->weight = 1;
	return n;
}

struct node *
map_new(struct arena *a, struct source at)
{
	return node_new(a, NODE_MAP, at);
}

struct node *
list_new(struct arena *a, struct source at)
{
	return node_new(a, NODE_LIST, at);
}

/* Room is a power of two from FIRST_ROOM on: full when the count is one. */
static bool
is_full(size_t n)
{
	return n == 0 || (n >= FIRST_ROOM && (n & (n - 1)) == 0);
}

void
list_put(struct arena *a, struct node *list, const struct node *item)
{
	if (is_full(list->n))
		list->items = arena_grow(
		    a, list->items, list->n, list->n ? 2 * list->n : (size_t)FIRST_ROOM, sizeof *list->items);
	list->items[list->n++] = item;
	list->weight += item->weight;
}

void
map_put(struct arena *a, struct node *map, const char *key, const struct node *item)
{
	if (is_full(map->n))
		map->keys =
		    arena_grow(a, map->keys, map->n, map->n ? 2 * map->n : (size_t)FIRST_ROOM, sizeof *map->keys);
	map->keys[map->n] = tree_scalar(a, key, item->at);
	list_put(a, map, item);
}

void
map_number(struct arena *a, struct node *map, const char *key, struct datum d)
{
	char buf[40];

	if (datum_given(d))
		map_put(a, map, key, tree_scalar(a, arena_text(a, number_write(d.value, buf, sizeof buf)), d.from));
}

void
map_word(struct arena *a, struct node *map, const char *key, const char *word, struct source at)
{
	if (word)
		map_put(a, map, key, tree_scalar(a, word, at));
}

void
map_flag(struct arena *a, struct node *map, const char *key, bool flag, struct source at)
{
	if (flag)
		map_word(a, map, key, "true", at);
}

void
map_text(struct arena *a, struct node *map, const char *key, const char *text, struct source at)
{
	if (!text)
		return;
	struct node *n = node_new(a, NODE_SCALAR, at);
	n->text = text;
	n->quoted = true;
	map_put(a, map, key, n);
}
