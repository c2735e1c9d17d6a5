/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A calibration as YAML in the form that people read it in: sections in blocks, each entry a flow map that goes on in
 * lines of its own.
 */
#include "search/fit/parts.h"

#include <ctype.h>
#include <string.h>

enum { WIDTH = 118 };

struct page {
	struct arena *arena;
	const char *text;
	size_t column, indent;
};

static void
put(struct page *p, const char *text)
{
	p->text = arena_printf(p->arena, "%s%s", p->text, text);
	p->column += strlen(text);
}

static void
new_line(struct page *p, size_t indent)
{
	p->text = arena_printf(p->arena, "%s\n%*s", p->text, (int)indent, "");
	p->column = indent;
}

/* Text that YAML could take for something else stands in quotes. */
static bool
needs_quotes(const char *text)
{
	const size_t n = strlen(text);

	return n == 0 || strpbrk(text, ",[]{}#&*!|>'\"%@`\n") == text || strpbrk(text, ",[]{}\"\n") ||
	    strstr(text, ": ") || strstr(text, " #") || text[n - 1] == ':' || text[0] == ' ' || text[n - 1] == ' ' ||
	    text[0] == '?' || (text[0] == '-' && !isdigit((unsigned char)text[1])) || text[0] == ':';
}

/* A double-quoted text may go on in the next line: the break counts as one blank. */
static void
put_text(struct page *p, const char *text)
{
	if (!needs_quotes(text)) {
		put(p, text);
		return;
	}
	put(p, "\"");
	for (const char *s = text; *s;) {
		const size_t n = strcspn(s + 1, " ") + 1;
		const bool blank = *s == ' ' && n > 1;
		char *word = arena_copy(p->arena, s + blank, n - blank);

		if (blank && p->column + n + 2 > WIDTH)
			new_line(p, p->indent);
		else if (blank)
			put(p, " ");
		for (char *c = word; *c; c++) {
			const char one[3] = {
			    *c == '"' || *c == '\\' ? '\\' : *c, *c == '"' || *c == '\\' ? *c : '\0', 0};
			put(p, one);
		}
		s += n;
	}
	put(p, "\"");
}

static size_t
flow_length(const struct node *n)
{
	size_t length = 2;

	if (n->kind == NODE_SCALAR)
		return n->text ? strlen(n->text) + 2 * needs_quotes(n->text) : 4;
	for (size_t i = 0; i < n->n; i++)
		length += flow_length(n->items[i]) + 2 + (n->kind == NODE_MAP ? strlen(n->keys[i]->text) + 2 : 0);
	return length;
}

static void
put_flow(struct page *p, const struct node *n)
{
	if (n->kind == NODE_SCALAR) {
		put_text(p, n->text ? n->text : "null");
		return;
	}
	put(p, n->kind == NODE_MAP ? "{" : "[");
	for (size_t i = 0; i < n->n; i++) {
		const size_t key = n->kind == NODE_MAP ? strlen(n->keys[i]->text) + 2 : 0;
		const bool text = n->items[i]->kind == NODE_SCALAR;
		size_t length = key + flow_length(n->items[i]) + 1;

		/* long texts break inside, maps at their entries */
		if (length > WIDTH - p->indent && text)
			length = key + 20;
		if (i && p->column + 1 + length > WIDTH)
			new_line(p, p->indent);
		else if (i)
			put(p, " ");
		if (key) {
			put_text(p, n->keys[i]->text);
			put(p, ": ");
		}
		put_flow(p, n->items[i]);
		if (i + 1 < n->n)
			put(p, ",");
	}
	put(p, n->kind == NODE_MAP ? "}" : "]");
}

static bool
holds_maps(const struct node *n)
{
	for (size_t i = 0; n->kind == NODE_MAP && i < n->n; i++)
		if (n->items[i]->kind == NODE_MAP)
			return true;
	return false;
}

char *
calibration_layout(struct arena *a, const struct node *root)
{
	struct page p = {a, "", 0, 0};

	for (size_t i = 0; i < root->n; i++) {
		const struct node *n = root->items[i];

		put(&p, root->keys[i]->text);
		put(&p, ":");
		if (!holds_maps(n)) {
			p.indent = 2;
			put(&p, " ");
			put_flow(&p, n);
			new_line(&p, 0);
			continue;
		}
		for (size_t j = 0; j < n->n; j++) {
			new_line(&p, 2);
			p.indent = 4;
			put_text(&p, n->keys[j]->text);
			put(&p, ": ");
			put_flow(&p, n->items[j]);
		}
		new_line(&p, 0);
	}
	return arena_text(a, p.text);
}
