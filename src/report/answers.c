/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The answers of a sheet by their public names, and `--get`: bare values for scripts. */
#include "report/report.h"

#include "base/base.h"
#include "base/sheet.h"

#include <stdlib.h>
#include <string.h>

/* --- names ----------------------------------------------------------------------------------------------- */

/* Find the answers of a sheet by their public names. */

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

/* --- --get ----------------------------------------------------------------------------------------------- */

/* `--get`: bare values for scripts, and the names that select them. */

/* --- names ----------------------------------------------------------------------------------------------- */

/* The id of an answer whose label has this word: `throughput` is in "output throughput". */
static const char *
labeled(const char *id, const char *word)
{
	const struct answer_entry *answer = id ? answer_find(id) : NULL;

	return answer && strlen(word) > 3 && strstr(answer->label, word) ? id : NULL;
}

static void
say_near(const struct sheet *sh, const char *name, char *why, size_t size)
{
	const char *names[512];
	size_t n = 0;

	if (answer_find(name)) {
		snprintf(why, size, "this query does not answer '%.80s'\n--json shows what it answers", name);
		return;
	}
	for (int i = 0; i < sheet_size(sh) && n < 512; i++)
		if (sheet_row(sh, i)->id)
			names[n++] = sheet_row(sh, i)->id;
	for (int i = 0; i < sheet_size(sh) && n < 512; i++)
		if (sheet_row(sh, i)->kind != ROW_SCOPE && sheet_row(sh, i)->kind != ROW_ITEM)
			names[n++] = sheet_row(sh, i)->name;
	const char *near = text_nearest(name, names, n);
	for (int i = 0; i < sheet_size(sh) && !near; i++)
		near = labeled(sheet_row(sh, i)->id, name);
	snprintf(why, size, "there is no answer '%.80s'\n%s%s%s", name, near ? "did you mean '" : "", near ? near : "",
	    near ? "'?" : "--json shows all answers");
}

/* Two rows of the trace whose paths end in this name. */
static void
say_several(const struct sheet *sh, const char *name, char *why, size_t size)
{
	char path[2][200];
	int found = 0;

	for (int k = 0; k < sheet_size(sh) && found < 2; k++) {
		sheet_path(sh, k, path[found], sizeof path[found]);
		const size_t n = strlen(path[found]), m = strlen(name);
		found += n > m && strcmp(path[found] + n - m, name) == 0 && path[found][n - m - 1] == '.';
	}
	snprintf(why, size, "'%.80s' is ambiguous\nwrite '%s' or '%s'", name, path[0], path[1]);
}

static int
find_answer(const struct sheet *sh, const char *name)
{
	struct arena *a = arena_new();
	const struct places all = places_of(a, sh);
	const int i = places_find(&all, sh, name);

	arena_free(a);
	return i;
}

static bool
is_in(const char *name, const char *table)
{
	const size_t n = strlen(table);

	return strncmp(name, table, n) == 0 && name[n] == '.';
}

/* Whether the name is that of a column without its table, or of a cell that its table does not have. */
static bool
say_column(const struct sheet *sh, const char *name, char *why, size_t size)
{
	struct arena *a = arena_new();
	const struct places all = places_of(a, sh);
	bool found = false;

	for (size_t i = 0; i < all.n && !found; i++) {
		const struct place *p = &all.list[i];
		const char *cell = p->table ? place_name(a, sh, p) : NULL;
		if (cell && (found = strcmp(sheet_row(sh, p->row)->id, name) == 0))
			snprintf(why, size, "'%.80s' is a column of the table '%.80s'\ngive its line: '%.200s'", name,
			    p->table, cell);
		else if (cell && (found = is_in(name, p->table)))
			snprintf(why, size, "the table '%.80s' has no cell '%.80s'\nwrite for example '%.200s'",
			    p->table, name, cell);
	}
	arena_free(a);
	return found;
}

int
report_find(const struct sheet *sh, const char *name, char *why, size_t size)
{
	const int answer = find_answer(sh, name);

	if (!*name) {
		snprintf(why, size, "empty id\nwrite for example 'peak_byte,verdict'");
		return -1;
	}
	if (answer >= 0)
		return answer;
	const char *path = strncmp(name, "trace.", 6) == 0 ? name + 6 : name;
	const int i = sheet_find(sh, path);

	if (i < 0 && say_column(sh, name, why, size))
		return -1;
	const struct row *row = i >= 0 ? sheet_row(sh, i) : NULL;

	if (row && row->kind != ROW_SCOPE && !(row->kind == ROW_ITEM && isnan(row->value)))
		return i;
	if (row)
		snprintf(why, size, "'%.80s' is a block of rows\nshow all rows with --json --explain", name);
	else if (i == -2)
		say_several(sh, path, why, size);
	else
		say_near(sh, path, why, size);
	return -1;
}

int
report_row(const struct report *r, const struct sheet *sh, char *why, size_t size)
{
	return report_find(sh, r->row, why, size);
}

/* --- lists of names -------------------------------------------------------------------------------------- */

enum end { END_NONE, END_LOW, END_HIGH };

/* Resolve one name of --get; it stays with the row where it was first found. */
struct wanted {
	const char *name, *path; /* of the answer; of its row in the trace, once found */
	const char *input;       /* path of an input; NULL: none */
	enum end end;
};

struct getter {
	struct arena *arena;
	size_t n;
	struct wanted *list;
	const char *between;
	char why[500];
};

/* What a name of n letters ends in. */
static enum end
end_of(const char *name, size_t n)
{
	return n > 4 && strncmp(name + n - 4, ".low", 4) == 0 ? END_LOW
	    : n > 5 && strncmp(name + n - 5, ".high", 5) == 0 ? END_HIGH
	                                                      : END_NONE;
}

struct getter *
getter_new(struct arena *a, const char *names, const char *between)
{
	struct getter *g = ARENA_NEW(a, struct getter);

	*g = (struct getter){.arena = a, .between = between};
	g->list = ARENA_ARRAY(a, struct wanted, strlen(names) + 1);
	for (const char *p = names;; p++) {
		const size_t n = strcspn(p, ",");
		const bool input = text_begins(p, "inputs.");
		const enum end end = input ? END_NONE : end_of(p, n);
		const char *name = arena_copy(a, p, end == END_LOW ? n - 4 : end == END_HIGH ? n - 5 : n);
		g->list[g->n++] = (struct wanted){
		    .name = name, .input = input ? arena_text(a, name + strlen("inputs.")) : NULL, .end = end};
		if (!*(p += n))
			return g;
	}
}

static const struct row *
row_of(struct getter *g, struct wanted *w, const struct sheet *sh)
{
	char path[512];
	int i = -1;

	if (sh && w->path)
		i = sheet_find(sh, w->path);
	else if (sh && (i = report_find(sh, w->name, g->why, sizeof g->why)) >= 0 &&
	    sheet_path(sh, i, path, sizeof path) < sizeof path)
		w->path = arena_text(g->arena, path);
	return i >= 0 ? sheet_row(sh, i) : NULL;
}

/* The value of an input, assumed or given. */
static const struct asked_input *
input_of(struct getter *g, struct wanted *w, const struct answer_point *p)
{
	const struct asked_input *found = NULL;

	for (size_t i = 0; i < p->assumed.n && !found; i++)
		if (p->assumed.list[i].input.path && strcmp(p->assumed.list[i].input.path, w->input) == 0)
			found = &p->assumed.list[i].input;
	for (size_t i = 0; i < p->n_asked && !found; i++)
		if (strcmp(p->asked[i].path, w->input) == 0)
			found = &p->asked[i];
	if (found)
		w->path = w->input;
	else
		snprintf(g->why, sizeof g->why,
		    "the input '%.80s' was neither given nor assumed\n"
		    "--json shows all inputs",
		    w->input);
	return found;
}

static void
print_input(FILE *to, struct arena *a, const struct asked_input *input)
{
	char buf[40];

	if (!input)
		fputc('-', to);
	else if (isnan(input->value))
		fputs(text_visible(a, input->text), to);
	else
		fputs(number_write(input->value, buf, sizeof buf), to);
}

static void
print_value(FILE *to, struct arena *a, const struct row *row, enum end end)
{
	char buf[40];
	const double value = !row ? NAN
	    : end == END_NONE     ? row->value
	    : !row->why           ? NAN
	    : end == END_LOW      ? row->low
	                          : row->high;

	if (row && row->kind == ROW_WORD && end == END_NONE)
		fputs(text_visible(a, row->text), to);
	else
		fputs(isnan(value) ? "-" : number_write(value, buf, sizeof buf), to);
}

void
getter_print(struct getter *g, FILE *to, const struct answer_point *p)
{
	struct arena *a = arena_new();

	for (size_t i = 0; i < g->n; i++) {
		fputs(i ? g->between : "", to);
		struct wanted *w = &g->list[i];
		if (w->input)
			print_input(to, a, input_of(g, w, p));
		else
			print_value(to, a, row_of(g, w, p->sheet), w->end);
	}
	fputc('\n', to);
	arena_free(a);
}

const char *
getter_missing(const struct getter *g)
{
	for (size_t i = 0; i < g->n; i++)
		if (!g->list[i].path)
			return g->why;
	return NULL;
}

bool
report_get(FILE *to, const struct report *r, char *why, size_t size)
{
	struct getter *g = getter_new(r->arena, r->row, r->one_line ? "\t" : "\n");

	for (size_t i = 0; i < g->n; i++) {
		struct wanted *w = &g->list[i];
		if (w->input ? !input_of(g, w, r->point) : !row_of(g, w, r->point->sheet)) {
			snprintf(why, size, "%s", g->why);
			return false;
		}
	}
	getter_print(g, to, r->point);
	return true;
}
