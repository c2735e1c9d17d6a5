/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read JSON with places. cJSON keeps none and accepts more than JSON, so the text is walked alongside its tree. */
#include "import/import.h"

#include "base/sheet.h"
#include "import/parts.h"

#include <cJSON.h>
#include <ctype.h>
#include <string.h>

enum { MAX_DEPTH = 64, MAX_BYTES = 8 << 20, MAX_KEYS = 2000 };

/* cJSON keeps no places, and takes more than JSON: the text is walked beside its tree, value by value in the same
 * order. */
struct reader {
	struct arena *arena;
	struct diag *diag;
	const char *next, *end;
	struct source at; /* of next */
};

/* --- walking --------------------------------------------------------------------------------------------- */

static void
advance(struct reader *r, size_t n)
{
	for (; n && r->next < r->end; n--, r->next++)
		if (*r->next == '\n')
			r->at.line++, r->at.column = 1;
		else
			r->at.column++;
}

static void
skip(struct reader *r, const char *these)
{
	while (r->next < r->end && *r->next && strchr(these, *r->next))
		advance(r, 1);
}

static const char white[] = " \t\r\n";

static void
skip_between(struct reader *r, const char *mark)
{
	skip(r, white);
	skip(r, mark);
	skip(r, white);
}

static const struct node *
fault_at(struct reader *r, struct source at, const char *what, const char *hint)
{
	diag_error(r->diag, at, "%s", what);
	diag_hint(r->diag, "%s", hint);
	return NULL;
}

/* A string, from quote to quote; what stands raw in it must be no control character. */
static bool
walk_string(struct reader *r)
{
	advance(r, 1);
	while (r->next < r->end && *r->next != '"') {
		if ((unsigned char)*r->next < 0x20)
			return fault_at(r, r->at, "a control character in a text", "write \\n or \\u000a") != NULL;
		advance(r, *r->next == '\\' ? 2 : 1);
	}
	advance(r, 1);
	return true;
}

static size_t
count_digits(const struct reader *r, size_t from)
{
	size_t n = from;

	while (r->next + n < r->end && isdigit((unsigned char)r->next[n]))
		n++;
	return n - from;
}

static bool
is_one_of(const struct reader *r, size_t i, const char *these)
{
	return r->next + i < r->end && r->next[i] && strchr(these, r->next[i]);
}

/* -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?, RFC 8259. */
static bool
walk_number(struct reader *r)
{
	const struct source at = r->at;
	const size_t sign = is_one_of(r, 0, "-"), whole = count_digits(r, sign);
	bool ok = whole == 1 || (whole > 1 && r->next[sign] != '0');
	size_t n = sign + whole;

	if (is_one_of(r, n, ".")) {
		const size_t digits = count_digits(r, n + 1);
		ok = ok && digits;
		n += 1 + digits;
	}
	if (is_one_of(r, n, "eE")) {
		n += 1 + is_one_of(r, n + 1, "+-");
		const size_t digits = count_digits(r, n);
		ok = ok && digits;
		n += digits;
	}
	advance(r, n);
	return ok || fault_at(r, at, "not valid JSON: write numbers as 12, 0.5 or 1e9", "leave leading zeros out");
}

/* --- values ---------------------------------------------------------------------------------------------- */

static const struct node *value(struct reader *r, const cJSON *item, int depth);

/* The key of a child, up to its value. */
static bool
walk_key(struct reader *r, const struct node *n, const char *key)
{
	const struct source at = r->at;

	if (!walk_string(r))
		return false;
	skip_between(r, ":");
	return !tree_get(n, key) ||
	    fault_at(r, at, arena_printf(r->arena, "the key '%s' is given twice", key), "keep one") != NULL;
}

static const struct node *
children(struct reader *r, const cJSON *item, int depth)
{
	struct node *n = ARENA_NEW(r->arena, struct node);
	const size_t count = (size_t)cJSON_GetArraySize(item);

	n->kind = cJSON_IsObject(item) ? NODE_MAP : NODE_LIST;
	n->at = r->at;
	if (n->kind == NODE_MAP && count > MAX_KEYS) /* each is compared with those before it */
		return fault_at(r, n->at, "an object has too many keys", "at most 2000 keys are allowed");
	n->items = ARENA_ARRAY(r->arena, const struct node *, count + 1);
	n->keys = ARENA_ARRAY(r->arena, const struct node *, count + 1);
	advance(r, 1);
	for (const cJSON *child = item->child; child; child = child->next) {
		skip_between(r, ",");
		const struct source at = r->at;
		if (n->kind == NODE_MAP && !walk_key(r, n, child->string))
			return NULL;
		const struct node *v = value(r, child, depth + 1);
		if (!v)
			return NULL;
		if (n->kind == NODE_MAP)
			n->keys[n->n] = tree_scalar(r->arena, arena_text(r->arena, child->string), at);
		n->items[n->n++] = v;
	}
	skip(r, white);
	advance(r, 1);
	return n;
}

static const struct node *
number(struct reader *r, const cJSON *item)
{
	const struct source at = r->at;
	char buf[40];

	if (!walk_number(r))
		return NULL;
	if (!isfinite(item->valuedouble))
		return fault_at(r, at, "a number is out of range", "use at most 308 digits before the point");
	return tree_scalar(r->arena, arena_text(r->arena, number_write(item->valuedouble, buf, sizeof buf)), at);
}

static const struct node *
value(struct reader *r, const cJSON *item, int depth)
{
	const struct source at = r->at;
	const char *text = NULL; /* null */

	if (depth > MAX_DEPTH)
		return fault_at(r, at, "nested too deeply", "at most 64 levels are allowed");
	if (cJSON_IsObject(item) || cJSON_IsArray(item))
		return children(r, item, depth);
	if (cJSON_IsNumber(item))
		return number(r, item);
	if (cJSON_IsString(item)) {
		text = arena_text(r->arena, item->valuestring);
		return walk_string(r) ? tree_scalar(r->arena, text, at) : NULL;
	}
	if (cJSON_IsBool(item))
		text = cJSON_IsTrue(item) ? "true" : "false";
	advance(r, cJSON_IsFalse(item) ? 5 : 4);
	return tree_scalar(r->arena, text, at);
}

/* --- the text -------------------------------------------------------------------------------------------- */

/* Find a NUL that would truncate a string, which cJSON lets through. */
static const char *
find_nul(const char *text, size_t length)
{
	static const char nul[] = {'\\', 'u', '0', '0', '0', '0'};

	for (const char *p = text; (p = memchr(p, '\\', length - (size_t)(p - text))); p++)
		if (length - (size_t)(p - text) >= sizeof nul && memcmp(p, nul, sizeof nul) == 0)
			return p;
	return NULL;
}

/* The fault at p. */
static const struct node *
fault_in(struct reader *r, const char *p, const char *what, const char *hint)
{
	advance(r, (size_t)(p - r->next));
	return fault_at(r, r->at, what, hint);
}

const struct node *
json_read(struct arena *a, struct diag *d, struct source at, const char *text, size_t length)
{
	struct reader r = {a, d, text, text + length, at};

	r.at.line = at.line ? at.line : 1;
	r.at.column = at.column ? at.column : 1;
	if (length > MAX_BYTES)
		return fault_at(&r, r.at, "longer than 8 MiB", "split it");
	const char *end = find_nul(text, length);
	if (end)
		return fault_in(&r, end, "a text contains a NUL", "leave it out");
	cJSON *root = cJSON_ParseWithLengthOpts(text, length, &end, 0);
	const struct node *n = NULL;
	if (!end || end < text || end > text + length)
		end = text;
	while (root && end < text + length && isspace((unsigned char)*end))
		end++;
	if (!root || end < text + length)
		fault_in(&r, end, root ? "extra text after the JSON value" : "not valid JSON",
		    "check quotes, commas and brackets near this place");
	else {
		skip(&r, white);
		n = value(&r, root, 0);
	}
	cJSON_Delete(root);
	return n;
}

/* --- map ----------------------------------------------------------------------------------------------------- */

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
