/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Edit and write trees: an edit copies the path that it changes. */
#include "db/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct node *
tree_scalar(struct arena *a, const char *text, struct source at)
{
	struct node *n = ARENA_NEW(a, struct node);

	n->kind = NODE_SCALAR;
	n->text = text;
	n->at = at;
	n->weight = 1;
	return n;
}

const struct node *
tree_map(struct arena *a, struct source at)
{
	struct node *n = ARENA_NEW(a, struct node);

	n->kind = NODE_MAP;
	n->at = at;
	n->weight = 1;
	return n;
}

/* A copy of a map or list with room for more children. */
static struct node *
copy(struct arena *a, const struct node *from, size_t more)
{
	struct node *n = ARENA_NEW(a, struct node);

	*n = *from;
	n->items = arena_grow(a, from->items, from->n, from->n + more, sizeof *n->items);
	if (from->kind == NODE_MAP)
		n->keys = arena_grow(a, from->keys, from->n, from->n + more, sizeof *n->keys);
	return n;
}

/* The map has room. */
static void
put_pair(struct node *map, const struct node *key, const struct node *item)
{
	const int i = tree_index(map, key->text);

	if (i >= 0) {
		map->items[i] = item;
		return;
	}
	map->keys[map->n] = key;
	map->items[map->n++] = item;
}

static struct node *
with_key(struct arena *a, const struct node *map, const char *key, const struct node *item)
{
	struct node *n = copy(a, map, 1);

	put_pair(n, tree_scalar(a, arena_text(a, key), item->at), item);
	return n;
}

const struct node *
tree_first(struct arena *a, const struct node *n)
{
	if (n->kind == NODE_LIST)
		return n->n > 0 ? n->items[0] : n;
	return n->kind == NODE_SCALAR && n->text && strchr(n->text, ',')
	    ? tree_scalar(a, arena_copy(a, n->text, strcspn(n->text, ",")), n->at)
	    : n;
}

const struct node *
tree_with(struct arena *a, const struct node *root, const char *path, const struct node *item)
{
	const size_t length = strcspn(path, ".");
	const char *key = arena_copy(a, path, length);
	const struct node *map = root;

	if (!root)
		map = tree_map(a, item->at);
	else if (root->kind == NODE_LIST) {
		char *end;
		const unsigned long i = strtoul(key, &end, 10);
		if (*end || i >= root->n)
			return root;
		struct node *n = copy(a, root, 0);
		n->items[i] = path[length] ? tree_with(a, root->items[i], path + length + 1, item) : item;
		return n;
	} else if (root->kind == NODE_SCALAR)
		map = with_key(a, tree_map(a, root->at), "name", root);
	if (!path[length]) {
		/* a name beside an overlay stays its name */
		const struct node *old = tree_get(map, key);
		if (old && old->kind == NODE_MAP && item->kind == NODE_SCALAR)
			item = with_key(a, old, "name", item);
		return with_key(a, map, key, item);
	}
	return with_key(a, map, key, tree_with(a, tree_get(map, key), path + length + 1, item));
}

const struct node *
tree_overlay(struct arena *a, const struct node *base, const struct node *over)
{
	if (!base || !over || base->kind != NODE_MAP || over->kind != NODE_MAP)
		return over ? over : base;
	struct node *n = copy(a, base, over->n);
	for (size_t i = 0; i < over->n; i++)
		put_pair(n, over->keys[i], tree_overlay(a, tree_get(base, over->keys[i]->text), over->items[i]));
	return n;
}

/* --- writing --------------------------------------------------------------------------------------------- */

enum { WIDTH = 138, LONG = 60 }; /* a longer text is quoted, so that it can go on in the next line */

struct writer {
	struct arena *arena;
	char *text;
	size_t length, room, column;
};

static void
put_bytes(struct writer *w, const char *bytes, size_t n)
{
	if (w->length + n + 1 > w->room) {
		const size_t more = 2 * (w->length + n) + 256;
		w->text = arena_grow(w->arena, w->text, w->length, more, 1);
		w->room = more;
	}
	memcpy(w->text + w->length, bytes, n);
	w->length += n;
	w->column += n;
}

static void
put(struct writer *w, const char *text)
{
	put_bytes(w, text, strlen(text));
}

static void
line(struct writer *w, size_t indent)
{
	while (w->length && w->text[w->length - 1] == ' ')
		w->length--;
	put(w, "\n");
	w->column = 0;
	for (size_t i = 0; i < indent; i++)
		put(w, " ");
}

/* --- scalars --------------------------------------------------------------------------------------------- */

/* Words that a reader of YAML would take for something else. */
static bool
is_reserved(const char *text)
{
	static const char *const words[] = {
	    "null", "Null", "NULL", "~", "yes", "no", "on", "off", "Yes", "No", "true", "false"};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(words[i], text) == 0)
			return true;
	return false;
}

static bool
is_plain(const struct node *n)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+- ";

	const size_t length = strlen(n->text);
	if (!length || length > LONG || strspn(n->text, safe) != length || strchr("-+. ", *n->text) ||
	    n->text[length - 1] == ' ')
		return false;
	return !(n->quoted && (is_reserved(n->text) || (*n->text >= '0' && *n->text <= '9')));
}

/* A long text goes on in the next line at a blank, which reads back as that blank. */
static void
put_quoted(struct writer *w, const char *text, size_t indent)
{
	char escape[8];

	put(w, "\"");
	for (const char *p = text; *p; p++) {
		const unsigned char c = (unsigned char)*p;
		const size_t ahead = *p == ' ' ? strcspn(p + 1, " ") : 0;
		if (c == '"' || c == '\\') {
			snprintf(escape, sizeof escape, "\\%c", c);
			put(w, escape);
		} else if (c < ' ' || c == 127) {
			snprintf(escape, sizeof escape, "\\x%02x", c);
			put(w, escape);
		} else if (c == ' ' && w->column + ahead + 1 > WIDTH && p[1] && p[1] != ' ' && p > text && p[-1] != ' ')
			line(w, indent);
		else
			put_bytes(w, p, 1);
	}
	put(w, "\"");
}

static void
put_scalar(struct writer *w, const struct node *n, size_t indent)
{
	if (!n->text)
		put(w, "null");
	else if (is_plain(n) || (!n->quoted && is_reserved(n->text)))
		put(w, n->text);
	else
		put_quoted(w, n->text, indent);
}

/* --- flow style ------------------------------------------------------------------------------------------ */

static size_t
flow_width(const struct node *n)
{
	size_t width = 2;

	if (n->kind == NODE_SCALAR)
		return n->text ? strlen(n->text) : 4;
	for (size_t i = 0; i < n->n; i++)
		width += (n->kind == NODE_MAP ? strlen(n->keys[i]->text) + 2 : 0) + flow_width(n->items[i]) + 2;
	return width;
}

static void put_flow(struct writer *w, const struct node *n, size_t indent);

static void
put_key(struct writer *w, const struct node *key, size_t indent)
{
	put_scalar(w, key, indent);
	put(w, ":");
}

/* Write an item on one line if it fits. */
static void
put_items(struct writer *w, const struct node *n, size_t indent)
{
	for (size_t i = 0; i < n->n; i++) {
		const size_t key = n->kind == NODE_MAP ? strlen(n->keys[i]->text) + 2 : 0,
		             item = flow_width(n->items[i]);
		const size_t width = key + (indent + 1 + key + item + 2 > WIDTH ? 8 : item) + 2;
		if (i) {
			put(w, ", ");
			if (w->column + width > WIDTH)
				line(w, indent + 1);
		}
		if (n->kind == NODE_MAP) {
			put_key(w, n->keys[i], indent);
			put(w, " ");
		}
		put_flow(w, n->items[i], w->column);
	}
}

static void
put_flow(struct writer *w, const struct node *n, size_t indent)
{
	if (n->kind == NODE_SCALAR) {
		put_scalar(w, n, indent);
		return;
	}
	put(w, n->kind == NODE_MAP ? "{" : "[");
	put_items(w, n, indent);
	put(w, n->kind == NODE_MAP ? "}" : "]");
}

/* --- the top --------------------------------------------------------------------------------------------- */

static bool
has_maps(const struct node *n)
{
	return n->kind == NODE_LIST && n->n && n->items[0]->kind == NODE_MAP;
}

char *
tree_write(struct arena *a, const struct node *root)
{
	struct writer w = {.arena = a};

	for (size_t i = 0; i < root->n; i++) {
		const struct node *n = root->items[i];
		put_key(&w, root->keys[i], 0);
		if (has_maps(n))
			for (size_t k = 0; k < n->n; k++) {
				line(&w, 2);
				put(&w, "- ");
				put_flow(&w, n->items[k], 4);
			}
		else {
			put(&w, " ");
			put_flow(&w, n, n->kind == NODE_SCALAR ? 2 : w.column);
		}
		line(&w, 0);
	}
	put_bytes(&w, "", 1);
	return w.text ? w.text : arena_text(a, "");
}
