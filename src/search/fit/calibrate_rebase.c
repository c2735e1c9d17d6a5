/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sections that stay in a file whose reference figures change: fraction times reference is kept. */
#include "search/fit/parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a key is proportional to: rates are the fraction times this, tk64 is a time times the clock. */
static const struct {
	const char *key;
	const char *reference; /* NULL: the peak of the section's type */
	bool inverse;
} keys[] = {
    {"eta_c", NULL, false},
    {"eta_a", NULL, false},
    {"eta_m", "hbm", false},
    {"eta_x", "hbm", false},
    {"eta_q", "hbm", false},
    {"eta_kv", "hbm", false},
    {"eta_l2", "hbm", false},
    {"l2x", "hbm", false},
    {"hold", "l2", false},
    {"fade", "l2", false},
    {"bsm", "clock", false},
    {"tk64", "clock", true},
};

struct rebase {
	struct arena *arena;
	const struct node *from, *to;
};

static double
figure(const struct node *reference, const char *key, enum quantity q)
{
	const struct node *n = tree_get(reference, key);
	struct quantity_fault fault;
	double value;

	return n && n->kind == NODE_SCALAR && n->text && quantity_read(n->text, q, &value, &fault) ? value : NAN;
}

/* Old over new reference; 1 where one of them is not given. */
static double
ratio(const struct rebase *r, const char *reference, const char *peak)
{
	const char *key = reference ? reference : peak;
	const enum quantity q = !reference  ? Q_PEAK
	    : strcmp(reference, "hbm") == 0 ? Q_RATE
	    : strcmp(reference, "l2") == 0  ? Q_SIZE
	                                    : Q_CLOCK;
	const double factor = figure(r->from, key, q) / figure(r->to, key, q);

	return factor > 0 ? factor : 1;
}

/* 0.829 or 0.821..0.836, each number with its unit. */
static const struct node *
scaled(const struct rebase *r, const struct node *n, double factor)
{
	char text[160] = "";

	if (n->kind != NODE_SCALAR || !n->text)
		return n;
	for (const char *s = n->text; *s;) {
		const bool dots = strncmp(s, "..", 2) == 0;
		const char *end = strstr(s, "..");
		const size_t used = strlen(text), length = dots ? 2 : end ? (size_t)(end - s) : strlen(s);
		char piece[64], *unit;

		snprintf(piece, sizeof piece, "%.*s", (int)length, s);
		const double value = strtod(piece, &unit);
		if (dots || unit == piece)
			snprintf(text + used, sizeof text - used, "%s", piece);
		else
			snprintf(text + used, sizeof text - used, "%.5g%s", value * factor, unit);
		s += length;
	}
	return tree_scalar(r->arena, arena_text(r->arena, text), n->at);
}

static const struct node *
scaled_item(const struct rebase *r, const struct node *n, double factor)
{
	if (n->kind != NODE_LIST)
		return scaled(r, n, factor);
	struct node *list = ARENA_NEW(r->arena, struct node);
	*list = *n;
	list->items = ARENA_ARRAY(r->arena, const struct node *, n->n + 1);
	for (size_t i = 0; i < n->n; i++)
		list->items[i] = scaled(r, n->items[i], factor);
	return list;
}

static const struct node *
walk(const struct rebase *r, const struct node *map, const char *peak)
{
	const struct node *out = map;

	for (size_t i = 0; i < map->n; i++) {
		const char *key = map->keys[i]->text;
		const enum dtype t = dtype_find(key);

		if (map->items[i]->kind == NODE_MAP) {
			const char *own =
			    t == DTYPE_NONE ? peak : arena_printf(r->arena, "peak_%s", peak_name(dtype_peak(t)));
			out = tree_with(r->arena, out, key, walk(r, map->items[i], own));
			continue;
		}
		for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
			if (strcmp(keys[k].key, key) == 0) {
				const double factor = ratio(r, keys[k].reference, peak);
				if (factor != 1)
					out = tree_with(r->arena, out, key,
					    scaled_item(r, map->items[i], keys[k].inverse ? 1 / factor : factor));
			}
	}
	return out;
}

const struct node *
calibration_rebase(struct arena *a, const struct node *file, const struct node *relative_to)
{
	static const char *const sections[] = {"gemm", "gemm_by_dtype", "attention", "attention_by", "mla", "moe"};
	const struct rebase r = {a, tree_get(file, "relative_to"), relative_to};
	const struct node *weight_only = tree_get(file, "weight_only");

	if (!r.from)
		return file;
	for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
		const struct node *n = tree_get(file, sections[i]);

		if (n && n->kind == NODE_MAP)
			file = tree_with(a, file, sections[i], walk(&r, n, "peak_bf16"));
	}
	/* weights of another type, products in 16 bits */
	for (size_t i = 0; weight_only && i < weight_only->n; i++)
		if (weight_only->items[i]->kind == NODE_MAP)
			file = tree_with(a, file, arena_printf(a, "weight_only.%s", weight_only->keys[i]->text),
			    walk(&r, weight_only->items[i], "peak_bf16"));
	return file;
}
