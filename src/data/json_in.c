/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "data/json_in.h"

#include "ridge/units.h"

#include <cJSON.h>
#include <ctype.h>
#include <string.h>

enum { MAX_DEPTH = 64, MAX_BYTES = 8 << 20, MAX_KEYS = 2000 };

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
	if (n->kind == NODE_MAP && count > MAX_KEYS) { /* each is compared with those before it */
		diag_error(r->diag, r->at, "an object has too many keys");
		diag_hint(r->diag, "at most 2000 keys are read");
		return NULL;
	}
	n->items = ARENA_ARRAY(r->arena, const struct node *, count + 1);
	n->keys = ARENA_ARRAY(r->arena, const struct node *, count + 1);
	for (const cJSON *child = item->child; child; child = child->next) {
		const struct node *v = value(r, child, depth + 1);
		if (!v)
			return NULL;
		if (n->kind == NODE_MAP) {
			if (tree_get(n, child->string)) {
				diag_error(r->diag, r->at, "the key '%s' stands twice", child->string);
				diag_hint(r->diag, "keep one");
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
		diag_hint(r->diag, "at most 64 levels are read");
		return NULL;
	}
	if (cJSON_IsObject(item) || cJSON_IsArray(item))
		return children(r, item, depth);
	if (cJSON_IsNumber(item)) {
		if (!isfinite(item->valuedouble)) {
			diag_error(r->diag, r->at, "a number is out of range");
			diag_hint(r->diag, "a number has at most 308 digits before the point");
			return NULL;
		}
		return tree_scalar(
		    r->arena, arena_text(r->arena, number_write(item->valuedouble, buf, sizeof buf)), r->at);
	}
	if (cJSON_IsBool(item))
		return tree_scalar(r->arena, cJSON_IsTrue(item) ? "true" : "false", r->at);
	return tree_scalar(r->arena, cJSON_IsString(item) ? arena_text(r->arena, item->valuestring) : NULL, r->at);
}

/* The fault at `p`, counted from where the text begins. */
static const struct node *
fault_at(struct reader *r, const char *text, const char *p, const char *what, const char *hint)
{
	struct source at = r->at;

	at.line = at.line ? at.line : 1;
	at.column = at.column ? at.column : 1;
	for (; text < p; text++)
		if (*text == '\n')
			at.line++, at.column = 1;
		else
			at.column++;
	diag_error(r->diag, at, "%s", what);
	diag_hint(r->diag, "%s", hint);
	return NULL;
}

/* What cJSON lets through: a NUL that would cut a string short. */
static const char *
find_nul(const char *text, size_t length)
{
	static const char nul[] = {'\\', 'u', '0', '0', '0', '0'};

	for (const char *p = text; (p = memchr(p, '\\', length - (size_t)(p - text))); p++)
		if (length - (size_t)(p - text) >= sizeof nul && memcmp(p, nul, sizeof nul) == 0)
			return p;
	return NULL;
}

const struct node *
json_read(struct arena *a, struct diag *d, struct source at, const char *text, size_t length)
{
	struct reader r = {a, d, at};

	if (length > MAX_BYTES)
		return fault_at(&r, text, text, "longer than 8 MiB", "split it");
	const char *end = find_nul(text, length);
	if (end)
		return fault_at(&r, text, end, "a text has a NUL in it", "leave it out");
	cJSON *root = cJSON_ParseWithLengthOpts(text, length, &end, 0);
	const struct node *n = NULL;
	if (!end || end < text || end > text + length)
		end = text;
	while (root && end < text + length && isspace((unsigned char)*end))
		end++;
	if (!root || end < text + length)
		fault_at(&r, text, end, root ? "something follows the JSON value" : "not valid JSON",
		    "check quotes, commas and brackets near this place");
	else
		n = value(&r, root, 0);
	cJSON_Delete(root);
	return n;
}
