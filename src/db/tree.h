/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * YAML as a tree with places.  Built on libyaml's events; adds what libyaml has not: `<<` merge, duplicate keys
 * refused, bounded depth, size, nodes and alias expansion.  Trees are immutable once read: edits copy the path that
 * changes.
 */
#ifndef RIDGE_TREE_H
#define RIDGE_TREE_H

#include "base/arena.h"
#include "base/diag.h"

enum node_kind { NODE_SCALAR, NODE_LIST, NODE_MAP };

struct node {
	enum node_kind kind;
	const char *text; /* of a scalar; NULL for YAML's null */
	bool quoted;
	struct source at;
	size_t n;                  /* children */
	const struct node **items; /* values of a map, elements of a list */
	const struct node **keys;  /* scalars; maps only */
	size_t weight;             /* nodes below, aliases counted as often as they stand */
};

/* Read a file (`-` is stdin).  NULL on faults; an unreadable file is an error of the request. */
const struct node *tree_read_file(struct arena *a, struct diag *d, const char *path);
/* Read text that came from `name`. */
const struct node *tree_read_text(struct arena *a, struct diag *d, const char *name, const char *text, size_t length);

/* Value of a key, or NULL. */
const struct node *tree_get(const struct node *n, const char *key);
/* Value at a dotted path (`memory.bandwidth`, `prices.0.on`), or NULL. */
const struct node *tree_at(const struct node *n, const char *path);
/* A new scalar. */
const struct node *tree_scalar(struct arena *a, const char *text, struct source at);
const struct node *tree_map(struct arena *a, struct source at);
/* The tree with the value at the dotted path replaced or added (root NULL: a new map).  A scalar on the way becomes a
 * map with the scalar as `name`. */
const struct node *tree_with(struct arena *a, const struct node *root, const char *path, const struct node *item);
/* `over` laid over `base`: maps are merged key by key, everything else is replaced. */
const struct node *tree_overlay(struct arena *a, const struct node *base, const struct node *over);

#endif
