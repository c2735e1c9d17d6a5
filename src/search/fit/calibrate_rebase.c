/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keep the absolute rates of sections that stay in a file whose reference figures changed. */
#include "search/fit/parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Factor for a number of this form: old over new reference, or 1 if either is missing. */
static double
ratio(const struct rebase *r, enum param_form form, const char *peak)
{
	const char *key = form_reference(form);
	const enum quantity q = form == FORM_OF_PEAK ? Q_PEAK
	    : form == FORM_OF_MEMORY                 ? Q_RATE
	    : form == FORM_OF_L2                     ? Q_SIZE
	                                             : Q_CLOCK;

	if (!key)
		return 1;
	if (form == FORM_OF_PEAK)
		key = peak;
	const double factor = figure(r->from, key, q) / figure(r->to, key, q);
	return !(factor > 0) ? 1 : form == FORM_IN_CLOCKS ? 1 / factor : factor;
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
		const struct param_row *row = param_find(key);
		const double factor = row ? ratio(r, row->form, peak) : 1;
		if (factor != 1)
			out = tree_with(r->arena, out, key, scaled_item(r, map->items[i], factor));
	}
	return out;
}

const struct node *
calibration_rebase(struct arena *a, const struct node *file, const struct node *relative_to)
{
	static const char *const sections[] = {"gemm", "gemm_by_dtype", "attention", "attention_by", "mla", "moe"};
	const struct rebase r = {a, tree_get(file, "relative_to"), relative_to};
	static const char *const packed[] = {"weight_only", "moe_weight_only"};

	if (!r.from)
		return file;
	for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
		const struct node *n = tree_get(file, sections[i]);

		if (n && n->kind == NODE_MAP)
			file = tree_with(a, file, sections[i], walk(&r, n, "peak_bf16"));
	}
	/* weights of another type, products in 16 bits */
	for (size_t j = 0; j < sizeof packed / sizeof *packed; j++) {
		const struct node *n = tree_get(file, packed[j]);

		for (size_t i = 0; n && i < n->n; i++)
			if (n->items[i]->kind == NODE_MAP)
				file = tree_with(a, file, arena_printf(a, "%s.%s", packed[j], n->keys[i]->text),
				    walk(&r, n->items[i], "peak_bf16"));
	}
	return file;
}
