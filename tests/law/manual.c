/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ridge-models(7), the part that the code knows: every model with the equations that it recorded over many inputs, so
 * that every branch is seen, the units of its symbols, source and limits.
 */
#include "law/law.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

enum { WORLDS = 300, WIDTH = 76, EQUATION_WIDTH = 62 };

/* One line of a derivation, and those of a callee that is no model of its own. */
struct equation {
	const char *name, *text;
	struct equation *next, *inside;
};

struct collector {
	struct arena *arena;
	const struct sheet *sh;
};

static const struct model *
model_named(const char *name, size_t length)
{
	for (size_t i = 0; i < n_models; i++)
		if (!models[i].section && strlen(models[i].name) == length &&
		    strncmp(models[i].name, name, length) == 0)
			return &models[i];
	return NULL;
}

/* --- collecting ------------------------------------------------------------------------------------------ */

/* The equation with this name and text in a list; a new one goes behind *last, the one that was met before it. */
static struct equation *
meet(struct collector *c, struct equation **list, struct equation **last, const char *name, const char *text)
{
	struct equation *e = *list;

	while (e && (strcmp(e->name, name) != 0 || strcmp(e->text, text) != 0))
		e = e->next;
	if (!e) {
		e = ARENA_NEW(c->arena, struct equation);
		e->name = arena_text(c->arena, name);
		e->text = arena_text(c->arena, text);
		struct equation **at = *last ? &(*last)->next : list;
		e->next = *at;
		*at = e;
	}
	*last = e;
	return e;
}

static bool
no_names(const void *context, const char *name, struct formula_value *out)
{
	(void)context;
	(void)name;
	(void)out;
	return false;
}

static bool
is_constant(const struct row *row)
{
	struct formula_value v;
	struct formula_fault fault;

	return row->kind == ROW_INPUT && row->text &&
	    formula_evaluate(row->text, (struct formula_names){no_names, NULL}, &v, &fault);
}

/* The formulas of op.def stand under Operator kinds. */
static bool
is_operator(const struct row *row)
{
	for (int k = 0; k < N_OP_KINDS; k++)
		if (strcmp(row->text, op_flop_text((enum op_kind)k)) == 0 ||
		    strcmp(row->text, op_byte_text((enum op_kind)k)) == 0)
			return true;
	return false;
}

static void collect(struct collector *c, int parent, struct equation **list);

/* `kv_layer(...)`; what a private callee computes comes inside. */
static void
collect_call(struct collector *c, int i, struct equation **list, struct equation **last)
{
	const struct row *row = sheet_row(c->sh, i);
	const size_t n = strcspn(row->text, "(");
	const char *what = row->kind == ROW_SUM ? "sum of " : row->kind == ROW_MOST ? "largest of " : "";
	const bool public = model_named(row->text, n) != NULL;
	struct equation *e = meet(c, list, last, row->name,
	    arena_printf(c->arena, "%s%.*s(%s)", what, (int)n, row->text, public ? "..." : ""));

	if (public)
		return;
	if (row->kind == ROW_CALL)
		collect(c, i, &e->inside);
	for (int k = i + 1; row->kind != ROW_CALL && k < sheet_size(c->sh); k++)
		if (sheet_row(c->sh, k)->parent == i)
			collect(c, k, &e->inside);
}

static void
collect(struct collector *c, int parent, struct equation **list)
{
	struct equation *last = NULL;

	for (int i = parent + 1; i < sheet_size(c->sh); i++) {
		const struct row *row = sheet_row(c->sh, i);
		if (row->parent != parent)
			continue;
		switch (row->kind) {
		case ROW_LET:
			if (!is_operator(row))
				meet(c, list, &last, row->name, row->text);
			break;
		case ROW_INPUT:
			if (is_constant(row))
				meet(c, list, &last, row->name, row->text);
			break;
		case ROW_CALL:
		case ROW_SUM:
		case ROW_MOST:
			collect_call(c, i, list, &last);
			break;
		case ROW_SCOPE:
			collect(c, i, list);
			break;
		case ROW_GIVEN:
		case ROW_DATUM:
		case ROW_ITEM:
		case ROW_WORD:
			break;
		}
	}
}

/* --- printing -------------------------------------------------------------------------------------------- */

/* A word as roff takes it literally. */
static const char *
escaped(struct arena *a, const char *text)
{
	char *out = arena_take(a, 4 * strlen(text) + 4), *to = out;

	for (const char *p = text; *p; p++) {
		if (*p == '\\')
			to += sprintf(to, "\\e");
		else if (*p == '-')
			to += sprintf(to, "\\-");
		else if (*p == '\'' || *p == '`')
			to += sprintf(to, *p == '`' ? "\\(ga" : "\\(aq");
		else
			*to++ = *p;
	}
	return out;
}

/* Words in lines of input that are not too long, a new line for each sentence.  A full stop in a citation ends none. */
static void
print_words(FILE *to, struct arena *a, const char *text, bool citation)
{
	size_t column = 0, n;
	char **words = text_split(a, text, ' ', &n);

	for (size_t i = 0; i < n; i++) {
		const bool stop = text_ends(words[i], "."), inner = i + 1 < n;
		if (column && column + strlen(words[i]) + 1 > WIDTH) {
			fputc('\n', to);
			column = 0;
		}
		column += (size_t)fprintf(
		    to, "%s%s%s", column ? " " : "", escaped(a, words[i]), stop && inner && citation ? "\\&" : "");
		if (stop && inner && !citation) {
			fputc('\n', to);
			column = 0;
		}
	}
	fputc('\n', to);
}

/* `name = text`, broken at blanks, continued under the text. */
static void
print_equation(FILE *to, struct arena *a, const struct equation *e, int depth)
{
	const int indent = 2 * depth;
	int column = fprintf(to, "%*s%s =", indent, "", escaped(a, e->name)); /* names have nothing to escape */
	size_t n;
	char **words = text_split(a, e->text, ' ', &n);

	for (size_t i = 0; i < n; i++) {
		if (column + (int)strlen(words[i]) + 1 > EQUATION_WIDTH)
			column = fprintf(to, "\n%*s", indent + 3, "") - 1;
		fprintf(to, " %s", escaped(a, words[i]));
		column += (int)strlen(words[i]) + 1;
	}
	fputc('\n', to);
	for (const struct equation *inner = e->inside; inner; inner = inner->next)
		print_equation(to, a, inner, depth + 1);
}

/* --- units ----------------------------------------------------------------------------------------------- */

struct symbols {
	struct arena *arena;
	const char *names[400];
	size_t n;
};

static void
add_symbol(void *context, const char *name)
{
	struct symbols *s = context;

	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->names[i], name) == 0)
			return;
	if (s->n < sizeof s->names / sizeof *s->names)
		s->names[s->n++] = arena_text(s->arena, name);
}

static void
add_symbols(struct symbols *s, const struct equation *e)
{
	for (; e; e = e->next) {
		add_symbol(s, e->name);
		if (!strstr(e->text, "()") && !strstr(e->text, "(...)"))
			formula_each_name(e->text, add_symbol, s);
		add_symbols(s, e->inside);
	}
}

/* `s: hop_s, ring_s; B/s: link_byte_per_s; pure numbers: n_ranks.` */
static const char *
units_text(struct symbols *s)
{
	const char *text = "";
	bool done[400] = {false};
	char unit[80], other[80];

	/* pure numbers come last */
	for (size_t round = 0; round < 2 * s->n; round++) {
		const size_t i = round % s->n;
		if (done[i] || dim_is_pure(dim_of_name(s->names[i])) != (round >= s->n))
			continue;
		dim_name(dim_of_name(s->names[i]), unit, sizeof unit);
		text = arena_printf(s->arena, "%s%s%s%s:", text, *text ? "; " : "", unit,
		    dim_is_pure(dim_of_name(s->names[i])) ? "s" : "");
		const char *comma = " ";
		for (size_t k = i; k < s->n; k++) {
			dim_name(dim_of_name(s->names[k]), other, sizeof other);
			if (strcmp(unit, other) != 0)
				continue;
			text = arena_printf(s->arena, "%s%s%s", text, comma, s->names[k]);
			comma = ", ";
			done[k] = true;
		}
	}
	return arena_printf(s->arena, "%s.", text);
}

/* --- the page -------------------------------------------------------------------------------------------- */

static void
print_part(FILE *to, struct arena *a, const char *head, const char *text, bool citation)
{
	if (!text)
		return;
	fprintf(to, ".It %s\n", head);
	print_words(to, a, text_ends(text, ".") ? text : arena_printf(a, "%s.", text), citation);
}

/* `.It Fn kv_layer "const struct attention *a" "double tp"`, as the header declares it. */
static void
print_head(FILE *to, struct arena *a, const struct model *m, const struct prototype *list, size_t n_list)
{
	fprintf(to, ".It Fn %s", m->name);
	for (size_t i = 0; i < n_list; i++) {
		size_t n;
		char **parameters = text_split(a, list[i].parameters, ',', &n);
		if (strcmp(list[i].name, m->name) != 0)
			continue;
		for (size_t k = 0; k < n; k++)
			fprintf(to, " \"%s\"",
			    text_begins(parameters[k], "double ") ? parameters[k] + strlen("double ") : parameters[k]);
	}
	fputc('\n', to);
}

static void
print_model(FILE *to, struct arena *a, const struct model *m, const struct equation *equations)
{
	struct symbols symbols = {.arena = a};

	print_words(to, a, m->title, false);
	if (equations) {
		fputs(".Bd -literal -offset 2n\n", to);
		for (const struct equation *e = equations; e; e = e->next)
			print_equation(to, a, e, 0);
		fputs(".Ed\n", to);
	}
	fputs(".Bl -tag -width Source -compact\n", to);
	add_symbols(&symbols, equations);
	if (equations)
		print_part(to, a, "Units", units_text(&symbols), true);
	print_part(to, a, "Source", m->source ? m->source : "definition", true);
	print_part(to, a, "Limits", m->limits, false);
	fputs(".El\n", to);
}

static void
print_operators(FILE *to, struct arena *a)
{
	fputs(".Ss Operator kinds\n.Bl -tag -width Ds\n", to);
	for (int k = 0; k < N_OP_KINDS; k++) {
		const enum op_kind kind = (enum op_kind)k;
		fprintf(to, ".It Cm %s", op_kind_name(kind));
		for (int i = 0; op_dim_name(kind, i); i++)
			fprintf(to, " Ar %s", op_dim_name(kind, i));
		fputc('\n', to);
		print_words(to, a, arena_printf(a, "%s.", op_kind_title(kind)), false);
		fputs(".Bd -literal -offset 2n\n", to);
		print_equation(to, a, &(struct equation){"work_flop", op_flop_text(kind), NULL, NULL}, 0);
		print_equation(to, a, &(struct equation){"traffic_byte", op_byte_text(kind), NULL, NULL}, 0);
		fputs(".Ed\n", to);
	}
	fputs(".El\n", to);
}

void
manual_print(FILE *to)
{
	struct arena *a = arena_new();
	struct worlds *all = worlds_new(a, stderr);
	struct equation **equations = ARENA_ARRAY(a, struct equation *, n_models);
	struct sheet *sh = sheet_new();

	for (unsigned seed = 0; seed < WORLDS; seed++) {
		struct world x;
		/* an ordinary world first, so that edges come as variants */
		world_make(all, a, seed + 2, &x);
		for (size_t i = 0; i < n_models; i++) {
			struct collector c = {a, sh};
			if (models[i].section)
				continue;
			sheet_clear(sh);
			models[i].call(sh, &x);
			collect(&c, -1, &equations[i]);
		}
	}
	size_t n_list;
	const struct prototype *list = prototypes(a, &n_list);
	print_operators(to, a);
	for (size_t i = 0; i < n_models; i++)
		if (models[i].section)
			fprintf(to, "%s.Ss %s\n.Bl -tag -width Ds\n", i ? ".El\n" : "", models[i].section);
		else {
			print_head(to, a, &models[i], list, n_list);
			print_model(to, a, &models[i], equations[i]);
		}
	fputs(".El\n", to);
	sheet_free(sh);
	arena_free(a);
}
