/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fill structs from the tree of inputs, and note which of them an answer has read. */
#include "cli/cli.h"

#include "cli/parts.h"

#include "base/base.h"
#include "db/tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- values ---------------------------------------------------------------------------------------------- */

/* A map stands for its `name`: `system: {name: dgx-h100, gpus: 64}`. */
static const struct node *
plain_value(const struct node *n)
{
	const struct node *name = n && n->kind == NODE_MAP ? tree_get(n, "name") : NULL;

	return name ? name : n;
}

/* What an unset variable of a shell leaves: it would be another question. */
static bool
empty(struct diag *d, const struct option *o, const struct node *n, const char *what)
{
	if (n->at.line)
		diag_error(d, n->at, "'%s': %s", o->path, what);
	else
		diag_error(d, n->at, "%s", what);
	diag_hint(d, "write %s, or leave it out", *o->metavar ? o->metavar : "a value");
	return false;
}

static bool
bind_word(struct diag *d, const struct option *o, const struct node *n, struct word *out)
{
	if (n->kind != NODE_SCALAR || !n->text) {
		diag_error(d, n->at, "'%s' must be one word", o->path);
		diag_hint(d, "write '%s: %s'", o->path, *o->metavar ? o->metavar : "WORD");
		return false;
	}
	if (!*n->text)
		return empty(d, o, n, "the value is empty");
	*out = (struct word){n->text, n->at};
	return true;
}

static bool
bind_choice(struct arena *a, struct diag *d, const struct option *o, const struct node *n, struct word *out)
{
	size_t n_choices;

	if (!bind_word(d, o, n, out))
		return false;
	char **choices = text_split(a, o->complete, '|', &n_choices);
	for (size_t i = 0; i < n_choices; i++)
		if (strcmp(choices[i], out->text) == 0 || strcmp(choices[i], dtype_spelled(out->text)) == 0) {
			out->text = choices[i];
			return true;
		}
	diag_error(d, n->at, "'%s' is not one of %s", out->text, o->complete);
	const char *near = text_nearest(out->text, (const char *const *)choices, n_choices);
	if (near)
		diag_hint(d, "did you mean '%s'?", near);
	else
		diag_hint(d, o->name ? "write one of them" : "write one of them before '%s'", out->text);
	return false;
}

static bool
bind_words(struct arena *a, struct diag *d, const struct option *o, const struct node *n, struct words *out)
{
	if (n->kind == NODE_LIST && n->n == 0)
		return empty(d, o, n, "the list is empty");
	if (n->kind == NODE_LIST) {
		out->list = ARENA_ARRAY(a, struct word, n->n + 1);
		for (size_t i = 0; i < n->n; i++)
			if (!bind_word(d, o, plain_value(n->items[i]), &out->list[out->n++]))
				return false;
		return true;
	}
	struct word all;
	if (!bind_word(d, o, n, &all))
		return false;
	size_t pieces;
	char **texts = text_split(a, all.text, ',', &pieces);
	out->list = ARENA_ARRAY(a, struct word, pieces + 1);
	for (size_t i = 0; i < pieces; i++) {
		if (!*texts[i])
			return empty(d, o, n, "empty item in the list");
		out->list[out->n++] = (struct word){texts[i], all.from};
	}
	return true;
}

static bool
bind_flag(struct diag *d, const struct option *o, const struct node *n, bool *out)
{
	const char *text = n->kind == NODE_SCALAR ? n->text : NULL;

	if (text && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)) {
		*out = strcmp(text, "true") == 0;
		return true;
	}
	diag_error(d, n->at, "'%s' must be true or false", o->path);
	diag_hint(d, "leave it out for false");
	return false;
}

/* A number, with the option that an assumed one belongs to. */
static bool
bind_quantity(struct arena *a, struct diag *d, const struct option *o, const struct node *n, struct datum *out)
{
	struct binder b = {.arena = a, .diag = d};

	if (!schema_quantity(&b, n, o->quantity, -INFINITY, 0, out) ||
	    !bounds_check(d, out->from, o->path, o->quantity, out->value))
		return false;
	if (n->at.file == inputs_default)
		out->from.cite = n->at.cite;
	return true;
}

static bool
bind_option(struct arena *a, struct diag *d, const struct option *o, const struct node *n, char *out)
{
	void *member = out + o->offset;

	if (o->kind == KIND_NODE) {
		*(const struct node **)member = n;
		return true;
	}
	n = plain_value(n);
	switch (o->kind) {
	case KIND_FLAG:
		return bind_flag(d, o, n, member);
	case KIND_WORD:
		return bind_word(d, o, n, member);
	case KIND_CHOICE:
		return bind_choice(a, d, o, n, member);
	case KIND_WORDS:
		return bind_words(a, d, o, n, member);
	case KIND_QUANTITY:
		return bind_quantity(a, d, o, n, member);
	case KIND_NODE:
		break;
	}
	return true;
}

/* `model: {layers: 40}` without a name is an overlay alone; an empty map is a value that is missing. */
static bool
is_overlay(const struct option *o, const struct node *n)
{
	return n->kind == NODE_MAP && n->n > 0 && o->kind != KIND_NODE && !tree_get(n, "name") &&
	    (o->kind != KIND_QUANTITY || !tree_get(n, "value"));
}

static bool
bind_group(struct arena *a, struct diag *d, const struct node *tree, const struct option_group *g, char *out)
{
	bool ok = true;

	for (size_t i = 0; i < g->n; i++) {
		const struct option *o = &g->options[i];
		const struct node *n = tree_at(tree, o->path);

		if (o->kind == KIND_QUANTITY)
			*(struct datum *)(void *)(out + g->offset + o->offset) = datum_absent();
		if (n && is_overlay(o, n))
			n = NULL;
		if (!n && o->def)
			n = tree_scalar(a, o->def,
			    (struct source){
			        inputs_default, 0, 0, o->name ? arena_printf(a, "--%s", o->name) : o->path, false});
		if (n)
			ok = bind_option(a, d, o, n, out + g->offset) && ok;
	}
	return ok;
}

bool
inputs_bind(struct arena *a, struct diag *d, const struct command *c, const struct node *tree, void *out)
{
	const int errors = diag_errors(d);

	memset(out, 0, c->input_size);
	inputs_known(a, d, c, tree, "");
	for (size_t g = 0; g < c->n_groups; g++)
		bind_group(a, d, tree, &c->groups[g], out);
	return diag_errors(d) == errors;
}

bool
inputs_check(struct arena *a, struct diag *d, const struct command *c, const struct node *tree, const char *path)
{
	const struct option *o = command_option_at(c, path);
	const struct node *n = o ? tree_at(tree, path) : NULL;

	if (!n || is_overlay(o, n))
		return true;
	return bind_option(a, d, o, n, (char *)arena_take(a, c->input_size + 1));
}

const struct node *
inputs_overlay(struct arena *a, const struct command *c, const struct node *tree, const char *path)
{
	const struct node *map = tree_at(tree, path);
	const struct node *overlay = NULL;

	if (!map || map->kind != NODE_MAP)
		return NULL;
	for (size_t i = 0; i < map->n; i++) {
		const char *key = map->keys[i]->text;
		/* `system: {name: dgx-h100, gpus: 64}` counts the GPUs of the job, not of a node */
		if (strcmp(key, "name") == 0 || (strcmp(path, "system") == 0 && strcmp(key, "gpus") == 0) ||
		    command_option_at(c, arena_printf(a, "%s.%s", path, key)))
			continue;
		overlay = tree_with(a, overlay, key, map->items[i]);
	}
	return overlay;
}

/* Track which given inputs were read, and report those that were not. */
static const struct {
	const char *command, *path, *why;
} idle[] = {
    {"compare", "seed", "the same seed is given to every comparison, and some have no interval to draw"},
};

static bool
may_be_idle(const struct command *c, const char *path)
{
	for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
		if (strcmp(idle[i].command, c->name) == 0 && strcmp(idle[i].path, path) == 0)
			return true;
	return false;
}

/* --- what was given ---------------------------------------------------------------------------------------- */

/* A flag that is false was not given; a map without a name is an overlay. */
static const struct node *
given_node(const struct option *o, const struct node *tree)
{
	const struct node *n = tree_at(tree, o->path);

	if (!n || (o->kind == KIND_FLAG && n->kind == NODE_SCALAR && n->text && strcmp(n->text, "false") == 0))
		return NULL;
	if (n->kind != NODE_MAP || o->kind == KIND_NODE)
		return n;
	const struct node *name = tree_get(n, "name");
	return name ? name : o->kind == KIND_QUANTITY ? tree_get(n, "value") : NULL;
}

static void
add(struct reads *r, const struct node *job, struct given_input input)
{
	const char *file = job ? job->at.file : NULL, *from = input.node->at.file;

	input.elsewhere = job && (from == file || (from && file && strcmp(from, file) == 0));
	r->list[r->n++] = input;
}

struct reads *
reads_new(struct arena *a, const struct command *c, const struct node *tree, const struct node *job, const void *in)
{
	struct reads *r = ARENA_NEW(a, struct reads);
	size_t most = n_input_entities;

	for (size_t g = 0; g < c->n_groups; g++)
		most += c->groups[g].n;
	*r = (struct reads){.in = in, .list = ARENA_ARRAY(a, struct given_input, most)};
	for (size_t g = 0; g < c->n_groups; g++)
		for (size_t i = 0; i < c->groups[g].n; i++) {
			const struct option *o = &c->groups[g].options[i];
			const struct node *n = given_node(o, tree);
			if (n && !may_be_idle(c, o->path))
				add(r, job,
				    (struct given_input){o->path, o, n, c->groups[g].offset + o->offset, false, false});
		}
	for (size_t i = 0; i < n_input_entities; i++) {
		const struct node *overlay = inputs_overlay(a, c, tree, input_entities[i]);
		if (overlay && command_option_at(c, input_entities[i]))
			add(r, job, (struct given_input){input_entities[i], NULL, overlay->items[0], 0, false, false});
	}
	return r;
}

/* --- what was read ----------------------------------------------------------------------------------------- */

static bool
same_place(struct source a, struct source b)
{
	return a.file && a.file == b.file && a.line == b.line && a.column == b.column;
}

/* Whether a number or word from there is this input's, or an item's of its list. */
static bool
stands_at(const struct node *n, struct source from)
{
	if (same_place(n->at, from))
		return true;
	for (size_t i = 0; i < n->n; i++)
		if (stands_at(n->items[i], from))
			return true;
	return false;
}

static void
reads_from(struct reads *r, struct source from)
{
	for (size_t i = 0; r && i < r->n; i++)
		if (r->list[i].option && !r->list[i].read)
			r->list[i].read = stands_at(r->list[i].node, from);
}

/* Figures laid over the entry of this kind. */
void
reads_path(struct reads *r, const char *path)
{
	for (size_t i = 0; r && i < r->n; i++)
		if (!r->list[i].option && strcmp(r->list[i].path, path) == 0)
			r->list[i].read = true;
}

void
reads_sheet(struct reads *r, const struct sheet *sh)
{
	for (int i = 0; r->n && i < sheet_size(sh); i++)
		if (sheet_row(sh, i)->kind == ROW_DATUM)
			reads_from(r, sheet_row(sh, i)->from);
}

void
run_reads(struct run *r, const void *member, ...)
{
	va_list list;

	va_start(list, member);
	for (; member; member = va_arg(list, const void *))
		for (size_t i = 0; r->reads && i < r->reads->n; i++) {
			struct given_input *input = &r->reads->list[i];
			if (input->option && (const char *)r->reads->in + input->offset == (const char *)member)
				input->read = true;
		}
	va_end(list);
}

void
run_read_from(struct run *r, struct source from)
{
	reads_from(r->reads, from);
}

/* --- what was not ------------------------------------------------------------------------------------------ */

static struct unread_input *
find(const struct unread *u, const char *path)
{
	for (size_t i = 0; i < u->n; i++)
		if (strcmp(u->list[i].path, path) == 0)
			return &u->list[i];
	return NULL;
}

void
unread_note(struct arena *a, struct unread *u, const struct reads *r)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct given_input *input = &r->list[i];
		struct unread_input *there = find(u, input->path);

		if (input->read && there)
			*there = u->list[--u->n];
		if (input->read || input->elsewhere || u->begun)
			continue;
		u->list = arena_grow(a, u->list, u->n, u->n + 1, sizeof *u->list);
		u->list[u->n++] =
		    (struct unread_input){input->path, input->option ? input->option->name : NULL, input->node->at};
	}
	u->begun = true;
}

static const char *
what_it_needs(const struct command *c, const char *path)
{
	for (size_t i = 0; i < c->n_needs; i++)
		if (strcmp(c->needs[i].path, path) == 0)
			return c->needs[i].what;
	return NULL;
}

bool
unread_report(struct diag *d, const struct command *c, const struct unread *u)
{
	for (size_t i = 0; i < u->n; i++) {
		const struct unread_input *input = &u->list[i];
		const char *needs = what_it_needs(c, input->path);

		if (input->at.line)
			diag_error(d, input->at, "'%s' has no effect here", input->path);
		else
			diag_error(d, input->at, "has no effect here");
		if (needs)
			diag_hint(d, "%s", needs);
		else
			diag_hint(d, "leave it out, or see 'ridge %s --help' for what it applies to", c->name);
	}
	return u->n == 0;
}
