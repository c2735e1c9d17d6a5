/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Schema tables: what a YAML map may hold, and where each value goes in a struct.  The same rows check the file, fill
 * the struct, suggest keys and print the manual of the format.  All faults of a file are reported in one run.
 */
#ifndef RIDGE_SCHEMA_H
#define RIDGE_SCHEMA_H

#include "db/tree.h"
#include "ridge/units.h"

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
