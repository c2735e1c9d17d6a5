/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli.h"

#include <stdarg.h>
#include <string.h>

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
	input.elsewhere = job && input.node->at.file == job->at.file;
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
