/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RIDGE_DB_TREE_H
#define RIDGE_DB_TREE_H

#include "base/base.h"
#include "base/sheet.h"

/*
 * YAML as a tree with places.  Built on libyaml's events; adds what libyaml has not: `<<` merge, duplicate keys
 * refused, bounded depth, size, nodes and alias expansion.  Trees are immutable once read: edits copy the path that
 * changes.
 */

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

/* A file as a whole, `-` is standard input. */
struct file_text {
	const char *name; /* for messages */
	char *text;       /* ends in NUL */
	size_t length;
	bool opened;
	const char *why; /* it could not be opened or read; NULL: it was, or is larger than `most` */
};
bool file_whole(struct arena *a, const char *path, size_t most, struct file_text *out);

/* Read a file (`-` is stdin).  NULL on faults; an unreadable file is an error of the request. */
const struct node *tree_read_file(struct arena *a, struct diag *d, const char *path);
/* Read text that came from `name`. */
const struct node *tree_read_text(struct arena *a, struct diag *d, const char *name, const char *text, size_t length);

/* The place of a key in a map, or -1. */
int tree_index(const struct node *map, const char *key);
/* Value of a key, or NULL. */
const struct node *tree_get(const struct node *n, const char *key);
/* Value at a dotted path (`memory.bandwidth`, `prices.0.on`), or NULL. */
const struct node *tree_at(const struct node *n, const char *path);
/* A new scalar. */
const struct node *tree_scalar(struct arena *a, const char *text, struct source at);
const struct node *tree_map(struct arena *a, struct source at);
/* The first item of a list, or of a scalar with commas; any other node as it is. */
const struct node *tree_first(struct arena *a, const struct node *n);
/* The tree with the value at the dotted path replaced or added (root NULL: a new map).  A scalar on the way becomes a
 * map with the scalar as `name`. */
const struct node *tree_with(struct arena *a, const struct node *root, const char *path, const struct node *item);
/* `over` laid over `base`: maps are merged key by key, everything else is replaced. */
const struct node *tree_overlay(struct arena *a, const struct node *base, const struct node *over);

/* A tree as YAML in the manner of our own files: block style at the top, flow style inside, lines below 140 columns. */

/* The text of a map, which reads back as the same tree. */
char *tree_write(struct arena *a, const struct node *root);

/*
 * Schema tables: what a YAML map may hold, and where each value goes in a struct.  The same rows check the file, fill
 * the struct, suggest keys and print the manual of the format.  All faults of a file are reported in one run.
 */

struct schema;

enum field_kind {
	FIELD_QUANTITY, /* struct datum: value | [value, source] | [value, low..high] | {value:, source:, unconfirmed:}
	                 */
	FIELD_PEAK,     /* FIELD_QUANTITY that may be `none`; the bool lies at `extra` */
	FIELD_TEXT,     /* const char * */
	FIELD_DATE,     /* const char *, YYYY[-MM[-DD]] */
	FIELD_FLAG,     /* bool */
	FIELD_CHOICE,   /* int: index in choices */
	FIELD_MAP,      /* nested struct at offset, its rows in sub */
	FIELD_LIST,     /* array of sub: pointer at offset, int count at extra */
	FIELD_CUSTOM,   /* read by a function */
	FIELD_IGNORED,  /* known, read elsewhere */
};

/* The 80 % interval of a fitted figure, as factors of its value: they hold for whatever is proportional to it. */
struct fitted_ranges {
	int n, n_room;
	struct fitted_range *list;
};

struct binder {
	struct arena *arena;
	struct diag *diag;
	const struct node *sources;   /* the file's `sources` map, or NULL */
	const char *cite;             /* of figures that name no source: the file's `source`, or NULL */
	struct fitted_ranges *ranges; /* where intervals of fitted figures are noted, or NULL */
};

struct field {
	const char *key;
	enum field_kind kind;
	enum quantity quantity;
	size_t offset, extra;
	const struct schema *sub;
	const char *choices; /* `a|b|c` */
	double min, max;     /* of a quantity, in base units; both 0: positive or zero, no limit above */
	bool required;
	bool (*custom)(struct binder *b, const struct node *n, void *out);
	const char *help;
};

struct schema {
	const char *name; /* `a GPU`, for messages */
	size_t size;
	const struct field *fields;
	size_t n;
};

/* Absent data of every row: datums become NaN, the rest zero. */
void schema_clear(const struct schema *s, void *out);
/* Fill `out` from a map.  False when there were faults (all are in diag). */
bool schema_bind(struct binder *b, const struct schema *s, const struct node *map, void *out);
/* One value as a datum, with its source resolved. */
bool schema_quantity(
    struct binder *b, const struct node *n, enum quantity q, double min, double max, struct datum *out);
/* YYYY[-MM[-DD]]. */
bool schema_date(struct binder *b, const struct node *n, const char **out);

#endif
