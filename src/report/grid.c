/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arrange the answers of a sheet as lines and tables. */
#include "report/report.h"

#include "base/base.h"
#include "base/sheet.h"

#include <string.h>

size_t
text_columns(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

/* Quantities that are printed in a special unit: GPU time in GPU-hours, an SNR in dB. */
static bool
write_special(const struct row *row, char *buf, size_t size)
{
	const double hours = row->value / 3600;

	if (row->id && strcmp(row->id, "gpu_s") == 0)
		snprintf(buf, size,
		    hours >= 1e6        ? "%.3g M GPU-hours"
		        : hours >= 1000 ? "%.0f GPU-hours"
		                        : "%.3g GPU-hours",
		    hours >= 1e6 ? hours / 1e6 : hours);
	else if (row->id && strcmp(row->id, "snr_db") == 0)
		snprintf(buf, size, "%.3g dB", row->value);
	else
		return false;
	return true;
}

static const char *
cell_text(struct arena *a, const struct row *row, enum number_form form)
{
	char buf[260];

	if (row->kind == ROW_WORD)
		return text_visible(a, row->text);
	if (isnan(row->value))
		return NULL;
	if (form == FORM_BASE)
		return arena_text(a, number_write(row->value, buf, sizeof buf));
	if (!row->why && write_special(row, buf, sizeof buf))
		return arena_text(a, buf);
	if (row->why)
		interval_write(row->name, row->value, row->low, row->high, 3, buf, sizeof buf);
	else
		value_write(row->name, row->value, buf, sizeof buf);
	return arena_printf(a, "%s%s", buf, row->from.unconfirmed ? UNCONFIRMED_MARK : "");
}

/* An interval has two columns in CSV; in text it is in the cell of its value. */
enum { N_ENDS = 2 };

static struct row
end_of(struct arena *a, const struct row *row, int end)
{
	return (struct row){.kind = row->kind,
	    .name = row->name,
	    .id = arena_printf(a, "%s.%s", row->id, end ? "high" : "low"),
	    .label = row->label,
	    .value = end ? row->high : row->low};
}

/* --- one table ------------------------------------------------------------------------------------------- */

struct table {
	const char *name;
	int parent;
	struct grid grid;
	int last_scope;
	size_t room_columns, room_lines;
	size_t next; /* where a new column goes: behind the one that was filled last */
};

static void
grow_columns(struct arena *a, struct table *t)
{
	struct grid *g = &t->grid;
	const size_t more = t->room_columns ? 2 * t->room_columns : 8;

	g->heads = arena_grow(a, g->heads, g->n_columns, more, sizeof *g->heads);
	g->names = arena_grow(a, g->names, g->n_columns, more, sizeof *g->names);
	g->numeric = arena_grow(a, g->numeric, g->n_columns, more, sizeof *g->numeric);
	for (size_t l = 0; l < g->n_lines; l++)
		g->cells[l] = arena_grow(a, g->cells[l], g->n_columns, more, sizeof **g->cells);
	t->room_columns = more;
}

/* A column that the first lines did not have goes where this line has it. */
static void
insert_column(struct table *t, size_t at)
{
	struct grid *g = &t->grid;
	const size_t moved = g->n_columns - at;

	memmove(g->heads + at + 1, g->heads + at, moved * sizeof *g->heads);
	memmove(g->names + at + 1, g->names + at, moved * sizeof *g->names);
	memmove(g->numeric + at + 1, g->numeric + at, moved * sizeof *g->numeric);
	for (size_t l = 0; l < g->n_lines; l++) {
		memmove(g->cells[l] + at + 1, g->cells[l] + at, moved * sizeof **g->cells);
		g->cells[l][at] = NULL;
	}
	g->n_columns++;
}

static size_t
column_of(struct arena *a, struct table *t, const struct row *row)
{
	struct grid *g = &t->grid;

	for (size_t c = 0; c < g->n_columns; c++)
		if (strcmp(g->names[c], row->id) == 0) {
			t->next = c + 1;
			return c;
		}
	if (g->n_columns == t->room_columns)
		grow_columns(a, t);
	const size_t c = t->next;
	insert_column(t, c);
	g->heads[c] = arena_text(a, text_visible(a, row->label));
	g->names[c] = arena_text(a, row->id);
	g->numeric[c] = row->kind != ROW_WORD;
	t->next = c + 1;
	return c;
}

static void
add_line(struct arena *a, struct table *t)
{
	struct grid *g = &t->grid;

	if (g->n_lines == t->room_lines) {
		const size_t more = t->room_lines ? 2 * t->room_lines : 16;
		g->cells = arena_grow(a, g->cells, g->n_lines, more, sizeof *g->cells);
		t->room_lines = more;
	}
	g->cells[g->n_lines++] = ARENA_ARRAY(a, const char *, t->room_columns + 1);
	t->next = 0;
}

static void
add_cell(struct arena *a, struct table *t, const struct row *row, int scope, enum number_form form)
{
	if (!t->grid.cells || t->last_scope != scope) {
		add_line(a, t);
		t->last_scope = scope;
	}
	const size_t column = column_of(a, t, row);
	t->grid.cells[t->grid.n_lines - 1][column] = cell_text(a, row, form);
	for (int end = 0; row->why && form == FORM_BASE && end < N_ENDS; end++) {
		const struct row r = end_of(a, row, end);
		const size_t c = column_of(a, t, &r);
		t->grid.cells[t->grid.n_lines - 1][c] = cell_text(a, &r, form);
	}
}

/* --- all answers of a sheet ------------------------------------------------------------------------------ */

enum { MAX_TABLES = 64 };

static void
add_single(struct arena *a, struct answers *out, const struct row *row, enum number_form form)
{
	out->lines[out->n_lines++] =
	    (struct answer_line){text_visible(a, row->label), row->id, cell_text(a, row, form), -1};
	for (int end = 0; row->why && form == FORM_BASE && end < N_ENDS; end++) {
		const struct row r = end_of(a, row, end);
		out->lines[out->n_lines++] = (struct answer_line){r.label, r.id, cell_text(a, &r, form), -1};
	}
}

struct answers
answers_of(struct arena *a, const struct sheet *sh, enum number_form form)
{
	struct answers out = {0};
	struct table *tables = ARENA_ARRAY(a, struct table, MAX_TABLES);
	size_t n_tables = 0;

	out.lines = ARENA_ARRAY(a, struct answer_line, (1 + N_ENDS) * sheet_size(sh) + 1);
	for (int i = 0; i < sheet_size(sh); i++) {
		const struct row *row = sheet_row(sh, i);
		if (!row->label)
			continue;
		const int scope = answer_scope(sh, i);
		if (scope < 0) {
			add_single(a, &out, row, form);
			continue;
		}
		const struct row *s = sheet_row(sh, scope);
		size_t t = 0;
		while (t < n_tables && (tables[t].parent != s->parent || strcmp(tables[t].name, s->name) != 0))
			t++;
		if (t == MAX_TABLES)
			continue;
		if (t == n_tables) {
			tables[n_tables++] = (struct table){.name = s->name, .parent = s->parent, .last_scope = -1};
			out.lines[out.n_lines++] = (struct answer_line){s->name, s->name, NULL, (int)t};
		}
		add_cell(a, &tables[t], row, scope, form);
	}
	out.grids = ARENA_ARRAY(a, struct grid, n_tables + 1);
	for (size_t t = 0; t < n_tables; t++)
		out.grids[out.n_grids++] = tables[t].grid;
	return out;
}

/* --- flat grids ------------------------------------------------------------------------------------------ */

/* Lines are given as (name, label, text) triples; columns appear when first named.  What a line repeats of the line
 * above is kept once. */
struct flat {
	struct arena *arena;
	struct table table;
};

static const char *
kept_text(struct flat *f, size_t column, const char *text)
{
	const struct grid *g = &f->table.grid;
	const char *above = g->n_lines > 1 ? g->cells[g->n_lines - 2][column] : NULL;

	return !text ? NULL : above && strcmp(above, text) == 0 ? above : arena_text(f->arena, text);
}

static void
put(struct flat *f, const char *name, const char *label, const char *text, bool numeric)
{
	const struct row row = {.kind = numeric ? ROW_LET : ROW_WORD, .id = name, .label = label};
	const size_t c = column_of(f->arena, &f->table, &row);

	f->table.grid.cells[f->table.grid.n_lines - 1][c] = kept_text(f, c, text);
}

static bool
is_numeric(const char *name, const struct sheet *sh)
{
	for (int i = 0; i < sheet_size(sh); i++)
		if (sheet_row(sh, i)->label && strcmp(sheet_row(sh, i)->id, name) == 0)
			return sheet_row(sh, i)->kind != ROW_WORD;
	return true;
}

static void
put_singles(struct flat *f, const struct answers *answers, const struct sheet *sh)
{
	for (size_t i = 0; i < answers->n_lines; i++)
		if (answers->lines[i].grid < 0)
			put(f, answers->lines[i].name, answers->lines[i].label, answers->lines[i].text,
			    is_numeric(answers->lines[i].name, sh));
}

struct points_grid {
	struct flat flat;
	const struct report *head;
	enum number_form form;
	const char *table; /* its lines alone; NULL: the answers that stand alone */
	bool found;
	char why[500];
};

struct points_grid *
points_grid_new(const struct report *head, enum number_form form, const char *table)
{
	struct points_grid *g = ARENA_NEW(head->arena, struct points_grid);

	*g = (struct points_grid){.flat = {.arena = head->arena, .table = {.last_scope = -1}},
	    .head = head,
	    .form = form,
	    .table = table,
	    .found = !table};
	return g;
}

static void
begin_point(struct points_grid *g, const struct answer_point *p)
{
	const struct texts *swept = &g->head->swept;

	add_line(g->flat.arena, &g->flat.table);
	for (size_t s = 0; s < swept->n; s++)
		put(&g->flat, swept->list[s], swept->list[s], p->swept.list[s], true);
}

static void
add_table(struct points_grid *g, struct arena *passing, const struct answer_point *p)
{
	const struct report r = {.arena = passing, .row = g->table, .point = p};
	struct grid lines;
	char why[500];

	if (!grid_of_table(&r, g->form, &lines, why, sizeof why)) {
		begin_point(g, p);
		memcpy(g->why, why, sizeof why);
		return;
	}
	g->found = true;
	for (size_t l = 0; l < lines.n_lines; l++) {
		begin_point(g, p);
		for (size_t c = 0; c < lines.n_columns; c++)
			put(&g->flat, lines.names[c], lines.heads[c], lines.cells[l][c], lines.numeric[c]);
	}
}

void
points_grid_add(struct points_grid *g, const struct answer_point *p)
{
	struct arena *passing = arena_new();

	if (p->sheet && g->table)
		add_table(g, passing, p);
	else
		begin_point(g, p);
	if (p->sheet && !g->table) {
		const struct answers answers = answers_of(passing, p->sheet, g->form);
		put_singles(&g->flat, &answers, p->sheet);
	}
	arena_free(passing);
}

const char *
points_grid_missing(const struct points_grid *g)
{
	return g->found ? NULL : g->why;
}

const struct grid *
points_grid(const struct points_grid *g)
{
	return &g->flat.table.grid;
}

struct grid
grid_of_answers(const struct report *r, enum number_form form)
{
	const struct sheet *sh = r->point->sheet;
	const struct answers answers = answers_of(r->arena, sh, form);
	struct flat f = {.arena = r->arena, .table = {.last_scope = -1}};

	if (answers.n_grids == 0) {
		add_line(f.arena, &f.table);
		put_singles(&f, &answers, sh);
		return f.table.grid;
	}
	for (size_t i = 0; i < answers.n_lines; i++) {
		if (answers.lines[i].grid < 0)
			continue;
		const struct grid *g = &answers.grids[answers.lines[i].grid];
		for (size_t l = 0; l < g->n_lines; l++) {
			add_line(f.arena, &f.table);
			if (answers.n_grids > 1)
				put(&f, "table", "table", answers.lines[i].name, false);
			for (size_t c = 0; c < g->n_columns; c++)
				put(&f, g->names[c], g->heads[c], g->cells[l][c], g->numeric[c]);
			put_singles(&f, &answers, sh);
		}
	}
	return f.table.grid;
}

/* The tables that there are, once each. */
static void
say_tables(const struct report *r, const struct places *all, char *why, size_t size)
{
	const char *list = NULL, *last = "";

	for (size_t i = 0; i < all->n; i++) {
		const char *name = all->list[i].table;
		if (!name || all->list[i].line > 0 || strcmp(name, last) == 0 || (list && strstr(list, name)))
			continue;
		list = arena_printf(r->arena, "%s%s%s", list ? list : "", list ? ", " : "", name);
		last = name;
	}
	if (list)
		snprintf(why, size, "there is no table '%.80s'\nthe tables are: %.400s", r->row, list);
	else
		snprintf(why, size, "there is no table '%.80s'\nthis answer has no tables: leave --table out", r->row);
}

bool
grid_of_table(const struct report *r, enum number_form form, struct grid *out, char *why, size_t size)
{
	const struct sheet *sh = r->point->sheet;
	const struct places all = places_of(r->arena, sh);
	struct table t = {.last_scope = -1};

	for (size_t i = 0; i < all.n; i++) {
		const struct place *p = &all.list[i];
		struct row row = *sheet_row(sh, p->row);
		if (!p->table || strcmp(p->table, r->row) != 0)
			continue;
		row.label = row.label ? row.label : row.id;
		add_cell(r->arena, &t, &row, (int)p->line, form);
	}
	if (t.grid.n_lines == 0)
		say_tables(r, &all, why, size);
	*out = t.grid;
	return t.grid.n_lines > 0;
}

/* --- parts of a grid ------------------------------------------------------------------------------------- */

struct grid
grid_columns(struct arena *a, const struct grid *g, size_t keep, const bool *pick)
{
	struct grid out = {.n_lines = g->n_lines};

	out.heads = ARENA_ARRAY(a, const char *, g->n_columns);
	out.names = ARENA_ARRAY(a, const char *, g->n_columns);
	out.numeric = ARENA_ARRAY(a, bool, g->n_columns);
	out.cells = ARENA_ARRAY(a, const char **, g->n_lines);
	for (size_t l = 0; l < g->n_lines; l++)
		out.cells[l] = ARENA_ARRAY(a, const char *, g->n_columns);
	for (size_t c = 0; c < g->n_columns; c++) {
		if (c >= keep && !pick[c])
			continue;
		out.heads[out.n_columns] = g->heads[c];
		out.names[out.n_columns] = g->names[c];
		out.numeric[out.n_columns] = g->numeric[c];
		for (size_t l = 0; l < g->n_lines; l++)
			out.cells[l][out.n_columns] = g->cells[l][c];
		out.n_columns++;
	}
	return out;
}

bool
grid_is_constant(const struct grid *g, size_t column)
{
	for (size_t l = 1; l < g->n_lines; l++) {
		const char *one = g->cells[0][column], *other = g->cells[l][column];
		if (!one || !other || strcmp(one, other) != 0)
			return false;
	}
	return g->n_lines > 1;
}

size_t
grid_column_width(const struct grid *g, size_t column)
{
	size_t width = text_columns(g->heads[column]);

	for (size_t l = 0; l < g->n_lines; l++) {
		const size_t wide = text_columns(g->cells[l][column] ? g->cells[l][column] : "-");
		width = wide > width ? wide : width;
	}
	return width;
}
