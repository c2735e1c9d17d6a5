/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read tables of numbers: CSV, YAML, or one number per line. */
#include "import/import.h"

#include "base/base.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MAX_COLUMNS = 256, MAX_LINES = 1000000, MAX_CELLS = 1000000, MAX_BYTES = 32 << 20 };

struct reader {
	struct arena *arena;
	struct diag *diag;
	const char *file;
	const char *p, *end;
	int line, column;
	char separator; /* ' ' stands for any blanks */
	struct cell row[MAX_COLUMNS];
	size_t n_row;
	struct cell *cells;
	size_t n_cells, room;
};

static struct source
here(const struct reader *r)
{
	return (struct source){r->file, r->line, r->column, NULL, false};
}

static bool
fault(struct reader *r, struct source at, const char *what, const char *hint)
{
	diag_error(r->diag, at, "%s", what);
	diag_hint(r->diag, "%s", hint);
	return false;
}

static void
step(struct reader *r)
{
	r->column++;
	if (*r->p++ == '\n') {
		r->line++;
		r->column = 1;
	}
}

static bool
at_end_of_line(const struct reader *r)
{
	return r->p == r->end || *r->p == '\n' || (*r->p == '\r' && r->p + 1 < r->end && r->p[1] == '\n');
}

static void
skip_end_of_line(struct reader *r)
{
	while (r->p < r->end && *r->p == '\r')
		step(r);
	if (r->p < r->end && *r->p == '\n')
		step(r);
}

static void
skip_blanks(struct reader *r)
{
	while (r->p < r->end && (*r->p == ' ' || (*r->p == '\t' && r->separator != '\t')))
		step(r);
}

static bool
is_separator(const struct reader *r)
{
	return r->separator == ' ' ? *r->p == ' ' || *r->p == '\t' : *r->p == r->separator;
}

/* --- one line -------------------------------------------------------------------------------------------- */

/* Find the closing quote of the value that opens at p; doubled quotes are skipped. */
static const char *
closing_quote(const char *p, const char *end)
{
	for (p++; (p = memchr(p, '"', (size_t)(end - p))); p += 2)
		if (p + 1 == end || p[1] != '"')
			return p;
	return NULL;
}

/* "He said ""no""", over several lines if need be. */
static bool
quoted(struct reader *r, struct cell *out)
{
	const char *close = closing_quote(r->p, r->end);

	*out = (struct cell){NULL, here(r)};
	if (!close)
		return fault(r, out->at, "unclosed quote", "end the value with \"");
	char *text = arena_take(r->arena, (size_t)(close - r->p));
	size_t n = 0;
	for (step(r); r->p < close; step(r)) {
		if (*r->p == '"')
			step(r);
		text[n++] = *r->p;
	}
	step(r);
	if (memchr(text, '\0', n))
		return fault(r, out->at, "not a text file", "give a text file: CSV, or lines of numbers");
	skip_blanks(r);
	if (!at_end_of_line(r) && !is_separator(r) && r->separator != ' ')
		return fault(r, here(r), "text after the closing quote", "write \"\" for a quote inside");
	out->text = n ? text : NULL;
	return true;
}

static bool
cell(struct reader *r, struct cell *out)
{
	skip_blanks(r);
	*out = (struct cell){NULL, here(r)};
	if (r->p < r->end && *r->p == '"')
		return quoted(r, out);
	const char *start = r->p;
	while (!at_end_of_line(r) && !is_separator(r))
		step(r);
	size_t length = (size_t)(r->p - start);
	while (length > 0 && isspace((unsigned char)start[length - 1]))
		length--;
	if (length > 0 && memchr(start, '\0', length))
		return fault(r, out->at, "not a text file", "give a text file: CSV, or lines of numbers");
	if (length > 0)
		out->text = arena_copy(r->arena, start, length);
	return true;
}

/* Cells of a line; none for an empty one or a comment. */
static bool
line(struct reader *r)
{
	r->n_row = 0;
	skip_blanks(r);
	if (r->p < r->end && *r->p == '#')
		while (!at_end_of_line(r))
			step(r);
	while (!at_end_of_line(r)) {
		if (r->n_row == MAX_COLUMNS)
			return fault(r, here(r), "the line has more than 256 cells", "split the table");
		if (!cell(r, &r->row[r->n_row]))
			return false;
		r->n_row++;
		if (r->separator == ' ')
			skip_blanks(r);
		else if (!at_end_of_line(r)) {
			step(r);
			if (at_end_of_line(r) && r->n_row < MAX_COLUMNS)
				r->row[r->n_row++] = (struct cell){NULL, here(r)};
		}
	}
	skip_end_of_line(r);
	return true;
}

/* Find the separator of cells in the first line. */
static char
separator_of(const char *p, const char *end)
{
	static const char separators[] = {',', ';', '\t'};

	while (p < end && (*p == '#' || *p == '\n' || *p == '\r')) {
		while (p < end && *p != '\n')
			p++;
		p += p < end;
	}
	const char *stop = memchr(p, '\n', (size_t)(end - p));
	for (size_t i = 0; i < sizeof separators; i++)
		if (memchr(p, separators[i], (size_t)((stop ? stop : end) - p)))
			return separators[i];
	return ' ';
}

/* --- a whole text ---------------------------------------------------------------------------------------- */

/* `time [ms]`: the name, and the unit that numbers without one have. */
static const char *
head_of(struct arena *a, const char *text, const char **unit)
{
	const char *open = text ? strchr(text, '[') : NULL, *close = open ? strchr(open, ']') : NULL;

	*unit = NULL;
	if (!open || !close || close[1])
		return text;
	*unit = arena_copy(a, open + 1, (size_t)(close - open - 1));
	while (open > text && open[-1] == ' ')
		open--;
	return arena_copy(a, text, (size_t)(open - text));
}

static bool
ends_in_digit(const char *text)
{
	const size_t n = strlen(text);

	return n && (isdigit((unsigned char)text[n - 1]) || text[n - 1] == '.');
}

static void
add_row(struct reader *r, struct table *t, const char *const *units)
{
	if (r->n_cells + t->n_columns > r->room) {
		const size_t more = 2 * r->room + 64 * t->n_columns;
		r->cells = arena_grow(r->arena, r->cells, r->n_cells, more, sizeof *r->cells);
		r->room = more;
	}
	for (size_t c = 0; c < t->n_columns; c++) {
		struct cell at = c < r->n_row ? r->row[c] : (struct cell){NULL, r->row[0].at};
		if (at.text && units && units[c] && ends_in_digit(at.text))
			at.text = arena_printf(r->arena, "%s%s", at.text, units[c]);
		r->cells[r->n_cells++] = at;
	}
	t->n_lines++;
}

static bool
first_row(struct reader *r, struct table *t, const char ***units)
{
	const char *text = r->row[0].text;
	const bool named = text && (isalpha((unsigned char)*text) || *text == '_');

	t->n_columns = r->n_row;
	if (!named) {
		add_row(r, t, NULL);
		return true;
	}
	t->heads = ARENA_ARRAY(r->arena, const char *, r->n_row);
	*units = ARENA_ARRAY(r->arena, const char *, r->n_row);
	for (size_t c = 0; c < r->n_row; c++)
		t->heads[c] = head_of(r->arena, r->row[c].text, &(*units)[c]);
	return true;
}

static bool
read_text(struct arena *a, struct diag *d, const char *name, const char *text, size_t length, struct table *out)
{
	struct reader *r = ARENA_NEW(a, struct reader);
	const char **units = NULL;

	*out = (struct table){0};
	*r = (struct reader){
	    .arena = a, .diag = d, .file = name, .p = text, .end = text + length, .line = 1, .column = 1};
	if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		r->p += 3;
	r->separator = separator_of(r->p, r->end);
	while (r->p < r->end) {
		if (!line(r))
			return false;
		if (r->n_row == 0)
			continue;
		if (r->n_row > out->n_columns && out->n_columns)
			return fault(r, r->row[out->n_columns].at, "this line has more cells than the first one",
			    "quote values that hold the separator");
		if (out->n_lines == MAX_LINES)
			return fault(r, r->row[0].at, "the table has more than a million lines", "give fewer lines");
		if (out->n_columns == 0) {
			if (!first_row(r, out, &units))
				return false;
		} else
			add_row(r, out, units);
	}
	out->cells = r->cells;
	if (out->n_lines == 0)
		return fault(
		    r, (struct source){name, 1, 1, NULL, false}, "the table is empty", "put a number on each line");
	return true;
}

static bool
read_csv(struct arena *a, struct diag *d, const char *path, struct table *out)
{
	struct file_text file;

	if (file_whole(a, path, MAX_BYTES, &file))
		return read_text(a, d, file.name, file.text, file.length, out);
	diag_error(d, (struct source){0}, "cannot read '%s': %s", path, file.why ? file.why : "larger than 32 MiB");
	diag_hint(d, "give a file of numbers: CSV, YAML or one number per line");
	return false;
}

bool
table_read_text(struct arena *a, struct diag *d, const char *name, const char *text, size_t length, struct table *out)
{
	return read_text(a, d, name, text, length, out);
}

/* --- lists of trees -------------------------------------------------------------------------------------- */

static bool
add_heads(struct arena *a, struct diag *d, const struct node *map, struct table *out)
{
	for (size_t k = 0; k < map->n; k++) {
		const char *key = map->keys[k]->text;
		size_t c = 0;
		while (c < out->n_columns && strcmp(out->heads[c], key) != 0)
			c++;
		if (c < out->n_columns)
			continue;
		if (c == MAX_COLUMNS) {
			diag_error(d, map->at, "more than 256 columns");
			diag_hint(d, "split the table");
			return false;
		}
		out->heads = arena_grow(a, out->heads, out->n_columns, out->n_columns + 1, sizeof *out->heads);
		out->heads[out->n_columns++] = key;
	}
	return true;
}

bool
table_of_list(struct arena *a, struct diag *d, const struct node *list, struct table *out)
{
	*out = (struct table){.n_lines = list->n};
	const bool maps = list->kind == NODE_LIST && list->n && list->items[0]->kind == NODE_MAP;

	if (list->kind != NODE_LIST || list->n == 0) {
		diag_error(d, list->at, "expected a list");
		diag_hint(d, "write each line as '- {step: ..., factor: ...}', or each number after '- '");
		return false;
	}
	for (size_t i = 0; i < list->n; i++) {
		const struct node *item = list->items[i];
		if (item->kind != (maps ? NODE_MAP : NODE_SCALAR)) {
			diag_error(d, item->at, "this is not of the same kind as the first item");
			diag_hint(d, "a table is a list of maps, or a list of numbers");
			return false;
		}
		if (maps && !add_heads(a, d, item, out))
			return false;
	}
	if (!maps)
		out->n_columns = 1;
	if (out->n_columns == 0) {
		diag_error(d, list->at, "the maps of this list are empty");
		diag_hint(d, "write each line as '- {step: ..., factor: ...}'");
		return false;
	}
	if (list->n * out->n_columns > MAX_CELLS) {
		diag_error(d, list->at, "more than a million cells");
		diag_hint(d, "split the table");
		return false;
	}
	struct cell *cells = ARENA_ARRAY(a, struct cell, list->n * out->n_columns);
	for (size_t i = 0; i < list->n; i++)
		for (size_t c = 0; c < out->n_columns; c++) {
			const struct node *n = maps ? tree_get(list->items[i], out->heads[c]) : list->items[i];
			if (n && n->kind != NODE_SCALAR) {
				diag_error(d, n->at, "'%s' must be one value", maps ? out->heads[c] : "an item");
				diag_hint(d, "write a number, with its unit where it has one");
				return false;
			}
			cells[i * out->n_columns + c] =
			    (struct cell){n ? n->text : NULL, n ? n->at : list->items[i]->at};
		}
	out->cells = cells;
	return true;
}

static bool
is_tree(const char *path)
{
	return text_ends(path, ".yaml") || text_ends(path, ".yml") || text_ends(path, ".json");
}

bool
table_read_file(struct arena *a, struct diag *d, const char *path, const char *key, struct table *out)
{
	if (!is_tree(path))
		return read_csv(a, d, path, out);
	const struct node *root = tree_read_file(a, d, path);
	if (!root)
		return false;
	const struct node *list = root->kind == NODE_MAP ? tree_get(root, key) : root;
	if (!list) {
		diag_error(d, root->at, "the file has no list '%s'", key);
		diag_hint(d, "write '%s:' and below it a line '- ...' for each", key);
		return false;
	}
	if (!table_of_list(a, d, list, out))
		return false;
	out->root = root;
	return true;
}

/* --- cells ----------------------------------------------------------------------------------------------- */

size_t
table_column(const struct table *t, const char *name)
{
	for (size_t c = 0; t->heads && c < t->n_columns; c++) {
		const char *head = t->heads[c];
		const bool other = head && isalnum((unsigned char)*head) && isalnum((unsigned char)*name) &&
		    tolower((unsigned char)*head) != tolower((unsigned char)*name);
		if (head && !other && text_same_folded(head, name))
			return c;
	}
	return t->n_columns;
}

const struct cell *
table_cell(const struct table *t, size_t line_, size_t column)
{
	return &t->cells[line_ * t->n_columns + column];
}
