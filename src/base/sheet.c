/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sheet: rows of a computation with name, formula, value and place. */
#include "base/sheet.h"

#include "base/base.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct sheet {
	struct arena *arena;
	struct row *rows;
	int n, room;
	int scope; /* the open row that encloses the next one, -1 at the top */
};

struct sheet *
sheet_new(void)
{
	struct arena *a = arena_new();
	struct sheet *sh = malloc(sizeof *sh);

	if (!sh)
		abort();
	*sh = (struct sheet){.arena = a, .scope = -1};
	return sh;
}

void
sheet_free(struct sheet *sh)
{
	if (!sh)
		return;
	arena_free(sh->arena);
	free(sh);
}

void
sheet_clear(struct sheet *sh)
{
	arena_clear(sh->arena);
	*sh = (struct sheet){.arena = sh->arena, .scope = -1};
}

int
sheet_size(const struct sheet *sh)
{
	return sh->n;
}

const struct row *
sheet_row(const struct sheet *sh, int i)
{
	return &sh->rows[i];
}

static struct row *
append(struct sheet *sh, enum row_kind kind, const char *name, const char *text, double value)
{
	if (sh->n == sh->room) {
		const int room = sh->room ? 2 * sh->room : 64;

		sh->rows = arena_grow(sh->arena, sh->rows, (size_t)sh->n, (size_t)room, sizeof *sh->rows);
		sh->room = room;
	}
	struct row *r = &sh->rows[sh->n++];
	*r = (struct row){.kind = kind, .name = name, .text = text, .value = value, .parent = sh->scope, .item = -1};
	return r;
}

double
sheet_record(struct sheet *sh, enum row_kind kind, const char *name, const char *text, double value, struct source from)
{
	append(sh, kind, name, text, value)->from = from;
	return value;
}

int
sheet_enter(struct sheet *sh, enum row_kind kind, const char *name, const char *text, int item)
{
	struct row *r = append(sh, kind, name, text, NAN);

	r->item = item;
	r->open = true;
	sh->scope = sh->n - 1;
	return 1;
}

double
sheet_leave(struct sheet *sh, double value)
{
	assert(sh->scope >= 0);
	struct row *r = &sh->rows[sh->scope];

	r->value = value;
	r->open = false;
	sh->scope = r->parent;
	return value;
}

/* The row of this name in the scope that is open. */
static struct row *
row_here(struct sheet *sh, const char *name)
{
	for (int i = sh->n - 1; i > sh->scope; i--)
		if (sh->rows[i].parent == sh->scope && strcmp(sh->rows[i].name, name) == 0)
			return &sh->rows[i];
	return NULL;
}

static struct row *
answer_here(struct sheet *sh, const char *name, const struct answer_entry *answer)
{
	struct row *r = row_here(sh, name);

	assert(r && "SHOW of a row that this scope does not have");
	r->id = answer->id;
	return r;
}

void
sheet_show(struct sheet *sh, const char *name, const struct answer_entry *answer)
{
	answer_here(sh, name, answer)->label = answer->label;
}

void
sheet_hidden_number(struct sheet *sh, const char *name, const struct answer_entry *answer)
{
	answer_here(sh, name, answer);
}

void
sheet_between(struct sheet *sh, const char *name, double low, double high, const char *why)
{
	struct row *r = row_here(sh, name);

	assert(r && "BETWEEN of a row that this scope does not have");
	r->why = arena_text(sh->arena, why);
	r->low = low;
	r->high = high;
}

void
sheet_hidden_word(struct sheet *sh, const struct answer_entry *answer, const char *word)
{
	append(sh, ROW_WORD, answer->id, arena_text(sh->arena, word), NAN)->id = answer->id;
}

void
sheet_title(struct sheet *sh, const char *title)
{
	if (sh)
		append(sh, ROW_WORD, "title", title, NAN);
}

void
sheet_word(struct sheet *sh, const struct answer_entry *answer, const char *word)
{
	sheet_hidden_word(sh, answer, word);
	sh->rows[sh->n - 1].label = answer->label;
}

/* Text at place n of a buffer that may be too short for it; returns where it would end. */
static size_t
put(char *buf, size_t size, size_t n, const char *text)
{
	for (; *text; text++, n++)
		if (n + 1 < size)
			buf[n] = *text;
	return n;
}

static size_t
put_number(char *buf, size_t size, size_t n, int number)
{
	char digits[12], *p = digits + sizeof digits - 1;

	*p = '\0';
	do
		*--p = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	return put(buf, size, n, p);
}

/* The items of a SUM are named by their number alone: the group's name stands above them. */
static size_t
put_path(const struct sheet *sh, int i, char *buf, size_t size)
{
	const struct row *r = &sh->rows[i];
	size_t n = 0;

	if (r->parent >= 0)
		n = put(buf, size, put_path(sh, r->parent, buf, size), ".");
	if (r->item >= 0 && r->kind == ROW_ITEM)
		return put_number(buf, size, n, r->item);
	n = put(buf, size, n, r->name);
	return r->item < 0 ? n : put_number(buf, size, put(buf, size, n, "."), r->item);
}

size_t
sheet_path(const struct sheet *sh, int i, char *buf, size_t size)
{
	const size_t n = put_path(sh, i, buf, size);

	if (size)
		buf[n < size ? n : size - 1] = '\0';
	return n;
}

int
sheet_find(const struct sheet *sh, const char *path)
{
	char buf[512];
	const size_t length = strlen(path);
	int suffix = -1, n_suffix = 0;

	for (int i = 0; i < sh->n; i++) {
		const size_t n = sheet_path(sh, i, buf, sizeof buf);

		if (n >= sizeof buf || n < length || strcmp(buf + n - length, path) != 0)
			continue;
		if (n == length)
			return i;
		if (buf[n - length - 1] == '.') {
			/* an answer outranks a row of the same name deep inside */
			if (n_suffix && sh->rows[suffix].label && !sh->rows[i].label)
				continue;
			if (n_suffix && !sh->rows[suffix].label && sh->rows[i].label)
				n_suffix = 0;
			suffix = i;
			n_suffix++;
		}
	}
	return n_suffix == 1 ? suffix : n_suffix ? -2 : -1;
}

/* A scope has a value once it has been left, which is after all rows inside it. */
static bool
has_value_for(const struct sheet *sh, int row, int at)
{
	for (int p = at; p >= 0; p = sh->rows[p].parent)
		if (p == row)
			return false;
	return sh->rows[row].kind != ROW_SCOPE && sh->rows[row].kind != ROW_WORD && sh->rows[row].kind != ROW_ITEM;
}

int
sheet_resolve(const struct sheet *sh, int at, const char *name)
{
	for (int scope = sh->rows[at].parent;; scope = sh->rows[scope].parent) {
		for (int i = at - 1; i > scope; i--)
			if (sh->rows[i].parent == scope && has_value_for(sh, i, at) &&
			    strcmp(sh->rows[i].name, name) == 0)
				return i;
		if (scope < 0)
			return -1;
	}
}

/* --- answer -------------------------------------------------------------------------------------------------- */

const struct answer_entry answer_table[N_ANSWERS] = {
#define ANSWER(id, label, meaning) {#id, label, meaning},
#define WORD ANSWER
#include "base/answers.def"
#undef WORD
#undef ANSWER
};

const struct answer_entry *
answer_find(const char *id)
{
	for (size_t i = 0; i < N_ANSWERS; i++)
		if (strcmp(answer_table[i].id, id) == 0)
			return &answer_table[i];
	return NULL;
}
