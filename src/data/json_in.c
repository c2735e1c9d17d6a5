/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "data/json_in.h"

#include "ridge/units.h"

#include <cJSON.h>
#include <string.h>

enum { MAX_DEPTH = 64, MAX_BYTES = 8 << 20 };

struct reader {
	struct arena *arena;
	struct diag *diag;
	struct source at;
};

static const struct node *value(struct reader *r, const cJSON *item, int depth);

static const struct node *
children(struct reader *r, const cJSON *item, int depth)
{
	struct node *n = ARENA_NEW(r->arena, struct node);
	const size_t count = (size_t)cJSON_GetArraySize(item);

	n->kind = cJSON_IsObject(item) ? NODE_MAP : NODE_LIST;
	n->at = r->at;
	n->items = ARENA_ARRAY(r->arena, const struct node *, count + 1);
	n->keys = ARENA_ARRAY(r->arena, const struct node *, count + 1);
	for (const cJSON *child = item->child; child; child = child->next) {
		const struct node *v = value(r, child, depth + 1);
		if (!v)
			return NULL;
		if (n->kind == NODE_MAP) {
			if (tree_get(n, child->string)) {
				diag_error(r->diag, r->at, "the key '%s' stands twice", child->string);
				return NULL;
			}
			n->keys[n->n] = tree_scalar(r->arena, arena_text(r->arena, child->string), r->at);
		}
		n->items[n->n++] = v;
	}
	return n;
}

static const struct node *
value(struct reader *r, const cJSON *item, int depth)
{
	char buf[40];

	if (depth > MAX_DEPTH) {
		diag_error(r->diag, r->at, "nested too deeply");
		return NULL;
	}
	if (cJSON_IsObject(item) || cJSON_IsArray(item))
		return children(r, item, depth);
	if (cJSON_IsNumber(item)) {
		if (!isfinite(item->valuedouble)) {
			diag_error(r->diag, r->at, "a number is out of range");
			return NULL;
		}
		return tree_scalar(r->arena, arena_text(r->arena, number_write(item->valuedouble, buf, sizeof buf)), r->at);
	}
	if (cJSON_IsBool(item))
		return tree_scalar(r->arena, cJSON_IsTrue(item) ? "true" : "false", r->at);
	return tree_scalar(r->arena, cJSON_IsString(item) ? arena_text(r->arena, item->valuestring) : NULL, r->at);
}

const struct node *
json_read(struct arena *a, struct diag *d, struct source at, const char *text, size_t length)
{
	struct reader r = {a, d, at};

	if (length > MAX_BYTES) {
		diag_error(d, at, "longer than 8 MiB");
		return NULL;
	}
	const char *end = NULL;
	cJSON *root = cJSON_ParseWithLengthOpts(text, length, &end, 0);
	if (!root) {
		if (!at.line)
			at.line = 1;
		const size_t offset = end && end >= text && end <= text + length ? (size_t)(end - text) : 0;
		for (const char *p = text; p < text + offset; p++)
			if (*p == '\n')
				at.line++, at.column = 0;
			else
				at.column++;
		diag_error(d, at, "not valid JSON");
		diag_hint(d, "check quotes, commas and brackets near this place");
		return NULL;
	}
	const struct node *n = value(&r, root, 0);
	cJSON_Delete(root);
	return n;
}
