/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parse YAML into trees with places.  Linear key and anchor lookups are bounded, which keeps parsing near-linear. */
#include "db/tree.h"

#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* Keys and anchors are looked up one by one: their bounds keep the work of reading near the size of the file. */
enum {
	MAX_DEPTH = 64,
	MAX_BYTES = 8 << 20,
	MAX_NODES = 400000,
	MAX_WEIGHT = 2000000,
	MAX_KEYS = 2000,
	MAX_ANCHORS = 250,
};

struct anchor {
	const char *name;
	const struct node *node; /* NULL while it is being read */
	struct anchor *next;
};

struct reader {
	struct arena *arena;
	struct diag *diag;
	const char *file;
	yaml_parser_t parser;
	struct anchor *anchors;
	size_t n_nodes, n_anchors;
	bool failed, json; /* json: to be called so where it is broken */
};

static struct source
place(const struct reader *r, yaml_mark_t mark)
{
	return (struct source){r->file, (int)mark.line + 1, (int)mark.column + 1, NULL, false};
}

static const struct node *
fail(struct reader *r, struct source at, const char *what, const char *hint)
{
	if (!r->failed) {
		diag_error(r->diag, at, "%s", what);
		if (hint)
			diag_hint(r->diag, "%s", hint);
	}
	r->failed = true;
	return NULL;
}

static bool
next_event(struct reader *r, yaml_event_t *event)
{
	if (r->failed)
		return false;
	if (yaml_parser_parse(&r->parser, event))
		return true;
	const yaml_parser_t *p = &r->parser;
	yaml_mark_t mark = p->problem_mark;
	const bool json = r->json, binary = p->error == YAML_READER_ERROR;
	char what[300];
	if (binary)
		snprintf(what, sizeof what, "not a text file: %s at byte %zu", p->problem ? p->problem : "unreadable",
		    p->problem_offset);
	else
		snprintf(what, sizeof what, "not valid %s: %s%s%s", json ? "JSON" : "YAML",
		    p->problem ? p->problem : "syntax error", p->context ? ", " : "", p->context ? p->context : "");
	fail(r, place(r, mark), what,
	    binary     ? "this must be a YAML file in UTF-8"
	        : json ? "is the file complete? check quotes, commas and brackets near this place"
	               : "check indentation, colons and quotes near this place");
	return false;
}

static struct node *
new_node(struct reader *r, enum node_kind kind, yaml_mark_t mark)
{
	struct node *n = ARENA_NEW(r->arena, struct node);

	n->kind = kind;
	n->at = place(r, mark);
	n->weight = 1;
	if (++r->n_nodes > MAX_NODES) {
		fail(r, n->at, "the file has too many nodes", "split it");
		return NULL;
	}
	return n;
}

static struct anchor *
anchor_open(struct reader *r, const yaml_event_t *event, const yaml_char_t *name)
{
	if (!name)
		return NULL;
	if (++r->n_anchors > MAX_ANCHORS) {
		fail(r, place(r, event->start_mark), "the file has too many anchors",
		    "write the values out, or split it");
		return NULL;
	}
	struct anchor *a = ARENA_NEW(r->arena, struct anchor);
	a->name = arena_text(r->arena, (const char *)name);
	a->next = r->anchors;
	return r->anchors = a;
}

static const struct node *
alias(struct reader *r, const yaml_event_t *event)
{
	const char *name = (const char *)event->data.alias.anchor;
	char what[200];

	for (const struct anchor *a = r->anchors; a; a = a->next)
		if (strcmp(a->name, name) == 0) {
			if (a->node)
				return a->node;
			snprintf(what, sizeof what, "the alias '*%.100s' contains itself", name);
			return fail(r, place(r, event->start_mark), what, "a value cannot contain itself");
		}
	snprintf(what, sizeof what, "the alias '*%.100s' has no anchor", name);
	return fail(r, place(r, event->start_mark), what, "define it first with '&'");
}

static const struct node *value(struct reader *r, yaml_event_t *event, int depth);

static void
append(struct reader *r, struct node *n, size_t *room, const struct node *key, const struct node *item)
{
	if (n->n == *room) {
		const size_t more = *room ? 2 * *room : 8;
		n->items = arena_grow(r->arena, n->items, n->n, more, sizeof *n->items);
		if (n->kind == NODE_MAP)
			n->keys = arena_grow(r->arena, n->keys, n->n, more, sizeof *n->keys);
		*room = more;
	}
	if (n->kind == NODE_MAP)
		n->keys[n->n] = key;
	n->items[n->n++] = item;
	n->weight += item->weight;
	if (n->kind == NODE_MAP && n->n > MAX_KEYS)
		fail(r, item->at, "the map has too many keys", "at most 2000 keys are allowed");
	if (n->weight > MAX_WEIGHT)
		fail(r, item->at, "aliases expand to too many nodes",
		    "an alias that repeats aliases grows without bound");
}

static const struct node *
list(struct reader *r, const yaml_event_t *start, int depth)
{
	struct node *n = new_node(r, NODE_LIST, start->start_mark);
	size_t room = 0;
	yaml_event_t event;

	while (n && next_event(r, &event)) {
		if (event.type == YAML_SEQUENCE_END_EVENT) {
			yaml_event_delete(&event);
			return n;
		}
		const struct node *item = value(r, &event, depth + 1);
		if (!item)
			return NULL;
		append(r, n, &room, NULL, item);
	}
	return NULL;
}

int
tree_index(const struct node *map, const char *key)
{
	for (size_t i = 0; i < map->n; i++)
		if (strcmp(map->keys[i]->text, key) == 0)
			return (int)i;
	return -1;
}

/* `<<: *base` or `<<: [*a, *b]`: keys that the map does not have itself, the first one that has them. */
static bool
merge(struct reader *r, struct node *n, size_t *room, const struct node *from)
{
	if (from->kind == NODE_LIST) {
		for (size_t i = 0; i < from->n; i++)
			if (!merge(r, n, room, from->items[i]))
				return false;
		return true;
	}
	if (from->kind != NODE_MAP) {
		fail(r, from->at, "'<<' needs a map or a list of maps",
		    "write '<<: *name' of a map that has an anchor '&name'");
		return false;
	}
	for (size_t i = 0; i < from->n; i++)
		if (tree_index(n, from->keys[i]->text) < 0)
			append(r, n, room, from->keys[i], from->items[i]);
	return true;
}

static bool
add_pair(struct reader *r, struct node *n, size_t *room, const struct node *key, const struct node *item)
{
	const int before = tree_index(n, key->text);

	if (before >= 0) {
		char what[200], hint[200];
		snprintf(what, sizeof what, "the key '%.100s' is given twice in this map", key->text);
		snprintf(hint, sizeof hint, "the first one is in line %d; keep one", n->keys[before]->at.line);
		/* go on: there may be more faults */
		diag_error(r->diag, key->at, "%s", what);
		diag_hint(r->diag, "%s", hint);
		return true;
	}
	append(r, n, room, key, item);
	return !r->failed;
}

static const struct node *
map(struct reader *r, const yaml_event_t *start, int depth)
{
	struct node *n = new_node(r, NODE_MAP, start->start_mark);
	const struct node *merged[16];
	size_t room = 0, n_merged = 0;
	yaml_event_t event;

	while (n && next_event(r, &event)) {
		if (event.type == YAML_MAPPING_END_EVENT) {
			yaml_event_delete(&event);
			for (size_t i = 0; i < n_merged; i++)
				if (!merge(r, n, &room, merged[i]))
					return NULL;
			return r->failed ? NULL : n;
		}
		const struct node *key = value(r, &event, depth + 1);
		if (!key)
			return NULL;
		if (key->kind != NODE_SCALAR || !key->text)
			return fail(r, key->at, "a key must be a word", "write 'name: value'");
		if (!next_event(r, &event))
			return NULL;
		const struct node *item = value(r, &event, depth + 1);
		if (!item)
			return NULL;
		if (strcmp(key->text, "<<") == 0 && !key->quoted) {
			if (n_merged == sizeof merged / sizeof *merged)
				return fail(
				    r, key->at, "too many '<<' in one map", "one '<<: [*a, *b]' merges several");
			merged[n_merged++] = item;
		} else if (!add_pair(r, n, &room, key, item))
			return NULL;
	}
	return NULL;
}

static const struct node *
scalar(struct reader *r, const yaml_event_t *event)
{
	struct node *n = new_node(r, NODE_SCALAR, event->start_mark);
	const char *text = (const char *)event->data.scalar.value;

	if (!n)
		return NULL;
	n->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	n->text = arena_copy(r->arena, text, event->data.scalar.length);
	if (strlen(n->text) != event->data.scalar.length)
		return fail(r, n->at, "a value contains a NUL byte", "leave it out");
	if (!n->quoted && (strcmp(text, "") == 0 || strcmp(text, "~") == 0 || strcmp(text, "null") == 0))
		n->text = NULL;
	return n;
}

/* Takes the event over. */
static const struct node *
value(struct reader *r, yaml_event_t *event, int depth)
{
	const struct node *n = NULL;
	struct anchor *a = NULL;

	if (depth > MAX_DEPTH) {
		n = fail(r, place(r, event->start_mark), "nested too deeply", "at most 64 levels are allowed");
		yaml_event_delete(event);
		return n;
	}
	switch ((int)event->type) {
	case YAML_SCALAR_EVENT:
		a = anchor_open(r, event, event->data.scalar.anchor);
		n = scalar(r, event);
		break;
	case YAML_ALIAS_EVENT:
		n = alias(r, event);
		break;
	case YAML_SEQUENCE_START_EVENT:
		a = anchor_open(r, event, event->data.sequence_start.anchor);
		n = list(r, event, depth);
		break;
	case YAML_MAPPING_START_EVENT:
		a = anchor_open(r, event, event->data.mapping_start.anchor);
		n = map(r, event, depth);
		break;
	default:
		n = fail(r, place(r, event->start_mark), "value missing", "write 'name: value'");
	}
	if (a)
		a->node = n;
	yaml_event_delete(event);
	return n;
}

/* stream start, document start, the value; a second document is a fault. */
static const struct node *
document(struct reader *r)
{
	yaml_event_t event;
	const struct node *n = NULL;

	for (;;) {
		if (!next_event(r, &event))
			return NULL;
		if (event.type == YAML_STREAM_END_EVENT) {
			yaml_event_delete(&event);
			return n ? n
			         : fail(r, (struct source){r->file, 1, 1, NULL, false}, "the file is empty",
			               "write 'name: value' lines");
		}
		if (event.type == YAML_STREAM_START_EVENT || event.type == YAML_DOCUMENT_END_EVENT) {
			yaml_event_delete(&event);
			continue;
		}
		if (event.type == YAML_DOCUMENT_START_EVENT) {
			const yaml_mark_t mark = event.start_mark;
			yaml_event_delete(&event);
			if (n)
				return fail(
				    r, place(r, mark), "second YAML document in the file", "use one document per file");
			continue;
		}
		n = value(r, &event, 0);
		if (!n)
			return NULL;
	}
}

static bool
looks_json(const char *name, const char *text, size_t length)
{
	size_t i = 0;

	while (i < length && strchr(" \t\r\n", text[i]) && text[i])
		i++;
	return text_ends(name, ".json") || (i < length && text[i] == '{');
}

const struct node *
tree_read_text(struct arena *a, struct diag *d, const char *name, const char *text, size_t length)
{
	struct reader r = {.arena = a, .diag = d, .file = name, .json = looks_json(name, text, length)};
	const int errors = diag_errors(d);

	if (length > MAX_BYTES)
		return fail(&r, (struct source){name, 1, 1, NULL, false}, "the file is larger than 8 MiB", "split it");
	if (!yaml_parser_initialize(&r.parser)) {
		fputs("ridge: out of memory\n", stderr);
		exit(3);
	}
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, length);
	const struct node *n = document(&r);
	yaml_parser_delete(&r.parser);
	return diag_errors(d) > errors ? NULL : n;
}

bool
file_whole(struct arena *a, const char *path, size_t most, struct file_text *out)
{
	const bool standard = strcmp(path, "-") == 0;
	FILE *file = standard ? stdin : fopen(path, "rb");
	size_t room = 0;

	*out = (struct file_text){.name = standard ? "standard input" : arena_text(a, path), .opened = file != NULL};
	if (!file) {
		out->why = strerror(errno);
		return false;
	}
	for (size_t got = 1; got && out->length <= most; out->length += got) {
		if (room - out->length < 2) {
			room = room ? 4 * room : 16384;
			out->text = arena_grow(a, out->text, out->length, room, 1);
		}
		got = fread(out->text + out->length, 1, room - out->length - 1, file);
	}
	out->text[out->length] = '\0';
	out->why = ferror(file) ? strerror(errno) : NULL;
	if (!standard)
		fclose(file);
	return !out->why && out->length <= most;
}

const struct node *
tree_read_file(struct arena *a, struct diag *d, const char *path)
{
	struct file_text file;

	file_whole(a, path, MAX_BYTES, &file);
	if (!file.why)
		return tree_read_text(a, d, file.name, file.text, file.length); /* which refuses large ones */
	diag_error(d, (struct source){0}, "cannot read '%s': %s", path, file.why);
	diag_hint(d, "%s",
	    file.opened ? "give a file"
	                : "a name with a / or .yaml at the end is a file; other names are database entries");
	return NULL;
}

const struct node *
tree_get(const struct node *n, const char *key)
{
	if (!n || n->kind != NODE_MAP)
		return NULL;
	const int i = tree_index(n, key);
	return i < 0 ? NULL : n->items[i];
}

const struct node *
tree_at(const struct node *n, const char *path)
{
	char step[128];

	while (n && *path) {
		const size_t length = strcspn(path, ".");
		if (length >= sizeof step)
			return NULL;
		memcpy(step, path, length);
		step[length] = '\0';
		path += length + (path[length] == '.');
		if (n->kind == NODE_LIST) {
			char *end;
			const unsigned long i = strtoul(step, &end, 10);
			n = *end == '\0' && end != step && i < n->n ? n->items[i] : NULL;
		} else
			n = tree_get(n, step);
	}
	return n;
}
