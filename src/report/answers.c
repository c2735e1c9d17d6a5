/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Find the answers of a sheet by their public names. */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

int
answer_scope(const struct sheet *sh, int i)
{
	for (int p = sheet_row(sh, i)->parent; p >= 0; p = sheet_row(sh, p)->parent)
		if (sheet_row(sh, p)->kind == ROW_SCOPE && sheet_row(sh, p)->item >= 0)
			return p;
	return -1;
}

/* --- names ----------------------------------------------------------------------------------------------- */

/* A table that is being filled: its lines have scopes of one name inside the same line of another table, if any. */
struct open_table {
	int outer, scope; /* scope: of the line that was filled last */
	const char *scope_name, *name;
	size_t line;
};

struct naming {
	struct arena *arena;
	const struct sheet *sheet;
	struct open_table *list;
	size_t n, room;
};

/* The table and the line that a scope is. */
static const struct open_table *
line_of(struct naming *g, int scope)
{
	const char *name = sheet_row(g->sheet, scope)->name;
	const int outer = answer_scope(g->sheet, scope);

	for (size_t i = g->n; i-- > 0;) {
		struct open_table *t = &g->list[i];
		if (t->outer != outer || strcmp(t->scope_name, name) != 0)
			continue;
		t->line += t->scope != scope;
		t->scope = scope;
		return t;
	}
	if (outer >= 0) {
		const struct open_table *o = line_of(g, outer);
		name = arena_printf(g->arena, "%s.%zu.%s", o->name, o->line, name);
	}
	if (g->n == g->room) {
		const size_t more = g->room ? 2 * g->room : 16;
		g->list = arena_grow(g->arena, g->list, g->n, more, sizeof *g->list);
		g->room = more;
	}
	g->list[g->n] = (struct open_table){outer, scope, sheet_row(g->sheet, scope)->name, name, 0};
	return &g->list[g->n++];
}

struct places
places_of(struct arena *a, const struct sheet *sh)
{
	struct naming g = {.arena = a, .sheet = sh};
	struct places out = {0};
	size_t n = 0;

	for (int i = 0; i < sheet_size(sh); i++)
		n += sheet_row(sh, i)->id != NULL;
	out.list = ARENA_ARRAY(a, struct place, n + 1);
	for (int i = 0; i < sheet_size(sh); i++) {
		if (!sheet_row(sh, i)->id)
			continue;
		const int scope = answer_scope(sh, i);
		const struct open_table *t = scope >= 0 ? line_of(&g, scope) : NULL;
		out.list[out.n++] = (struct place){i, t ? t->name : NULL, t ? t->line : 0};
	}
	return out;
}

const char *
place_name(struct arena *a, const struct sheet *sh, const struct place *p)
{
	const char *id = sheet_row(sh, p->row)->id;

	return p->table ? arena_printf(a, "%s.%zu.%s", p->table, p->line, id) : id;
}

/* --- finding --------------------------------------------------------------------------------------------- */

/* Whether this text begins with the word and a dot; then what is behind them. */
static const char *
behind(const char *text, const char *word)
{
	const size_t n = strlen(word);

	return strncmp(text, word, n) == 0 && text[n] == '.' ? text + n + 1 : NULL;
}

/* The first word that this line of a table has. */
static const char *
key_of(const struct places *all, const struct sheet *sh, const struct place *of)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct place *p = &all->list[i];
		if (p->table && p->line == of->line && strcmp(p->table, of->table) == 0 &&
		    sheet_row(sh, p->row)->kind == ROW_WORD)
			return sheet_row(sh, p->row)->text;
	}
	return NULL;
}

/* Whether `rest` is LINE.ID of this place. */
static bool
is_cell(const struct places *all, const struct sheet *sh, const struct place *p, const char *rest)
{
	char *end;
	const unsigned long line = strtoul(rest, &end, 10);

	if (end > rest && *end == '.')
		return line == p->line && strcmp(end + 1, sheet_row(sh, p->row)->id) == 0;
	const char *key = key_of(all, sh, p), *id = key ? behind(rest, key) : NULL;
	return id && strcmp(id, sheet_row(sh, p->row)->id) == 0;
}

int
places_find(const struct places *all, const struct sheet *sh, const char *name)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct place *p = &all->list[i];
		const char *rest = p->table ? behind(name, p->table) : NULL;
		if (p->table ? rest && is_cell(all, sh, p, rest) : strcmp(name, sheet_row(sh, p->row)->id) == 0)
			return p->row;
	}
	return -1;
}
