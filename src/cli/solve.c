/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --solve NAME[=LO..HI] --until 'ROW OP VALUE': the smallest or largest valid value at which the condition holds.
 * Refused values are skipped.
 */
#include "base/base.h"

#include "cli/parts.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct condition {
	char row[200];
	const char *path; /* of the row, once one answer had just one of that name */
	bool below, strict;
	const char *bound;
};

struct solver {
	const struct question *q;
	const struct node *inputs;
	struct arena *passing; /* of one probe */
	const char *path, *unit;
	struct source at;
	struct condition until;
	struct seeker seek;
	char no_row[500]; /* why the row was not there; empty: it was */
	size_t n_probes, room, n_refused;
	struct probe *probes; /* every value is asked once */
	struct unread unread;
};

static const struct source from_until = {"--until", 0, 0, NULL, false};

static bool
parse_condition(struct solver *s, const char *text)
{
	const char *op = strpbrk(text, "<>");

	if (!op) {
		diag_error(s->q->diag, from_until, "'%s' has no <= or >=", text);
		diag_hint(s->q->diag, "write for example 'peak_byte <= 80GB'");
		return false;
	}
	size_t n = (size_t)(op - text);
	while (n && isspace((unsigned char)text[n - 1]))
		n--;
	while (n && isspace((unsigned char)*text))
		text++, n--;
	snprintf(s->until.row, sizeof s->until.row, "%.*s", (int)n, text);
	s->until.below = *op == '<';
	s->until.strict = op[1] != '=';
	op += s->until.strict ? 1 : 2;
	while (isspace((unsigned char)*op))
		op++;
	s->until.bound = op;
	if (n > 0 && n < sizeof s->until.row && *op)
		return true;
	diag_error(s->q->diag, from_until, "'%s' is not of the form ROW <= VALUE", text);
	diag_hint(s->q->diag, "write for example 'peak_byte <= 80GB'");
	return false;
}

static bool
find_row(const void *context, const char *name, struct formula_value *out)
{
	const struct sheet *sh = context;
	char why[500];
	const int i = report_find(sh, name, why, sizeof why);

	if (i < 0 || sheet_row(sh, i)->kind == ROW_WORD)
		return false;
	*out = (struct formula_value){sheet_row(sh, i)->value, dim_of_name(sheet_row(sh, i)->name), false, false};
	return true;
}

/* The bound as a quantity of the row's unit (512KiB for bytes per token), or as a formula over rows. */
static bool
bound_of(struct solver *s, const struct sheet *sh, const struct row *row, double *bound)
{
	const struct dim dim = dim_of_name(row->name);
	struct dim measure = dim;
	struct quantity_fault fault;
	struct formula_fault why;
	struct formula_value v;

	for (enum quantity q = 0; q < N_QUANTITIES; q++)
		if (dim_equal(quantity_dim(q), dim) && quantity_read(s->until.bound, q, bound, &fault))
			return true;
	if (!dim_has_no_count(dim) && quantity_read(s->until.bound, Q_COUNT, bound, &fault))
		return true;
	for (int i = FIRST_COUNT; i < N_AXES; i++)
		measure.e[i] = 0;
	for (enum quantity q = 0; q < N_QUANTITIES && !dim_is_pure(measure); q++)
		if (dim_equal(quantity_dim(q), measure) && quantity_read(s->until.bound, q, bound, &fault))
			return true;
	if (formula_evaluate(s->until.bound, (struct formula_names){find_row, sh}, &v, &why) &&
	    formula_assignable(v, dim)) {
		*bound = v.value;
		return true;
	}
	char name[60];
	dim_name(dim, name, sizeof name);
	for (enum quantity q = 0; q < N_QUANTITIES; q++)
		if (dim_equal(quantity_dim(q), dim) && !quantity_read(s->until.bound, q, bound, &fault) &&
		    strstr(fault.what, "two ways")) {
			diag_error(s->q->diag, from_until, "%s", fault.what);
			diag_hint(s->q->diag, "%s", fault.hint);
			return false;
		}
	diag_error(
	    s->q->diag, from_until, "'%s' is neither a value in %s nor a formula of answers", s->until.bound, name);
	diag_hint(s->q->diag, "'%s' is in %s: write for example 80%s", row->id ? row->id : row->name, name, name);
	return false;
}

static const struct node *
with_value(const struct solver *s, struct arena *a, double x)
{
	const char *text = arena_printf(a, s->seek.whole ? "%.0f%s" : "%.9g%s", x, s->unit);

	return tree_with(a, s->inputs, s->path, tree_scalar(a, text, s->at));
}

/* --- probes ---------------------------------------------------------------------------------------------- */

/* The row that the condition means: of several with its name the one that another answer had alone. */
static int
row_of(struct solver *s, const struct sheet *sh)
{
	char path[512];

	if (s->until.path)
		return sheet_find(sh, s->until.path);
	const int i = report_find(sh, s->until.row, s->no_row, sizeof s->no_row);
	if (i >= 0 && sheet_path(sh, i, path, sizeof path) < sizeof path) {
		s->until.path = arena_text(s->q->arena, path);
		s->no_row[0] = '\0';
	}
	return i;
}

static void
judge(struct solver *s, const struct sheet *sh, struct probe *p)
{
	const int i = row_of(s, sh);

	if (i < 0)
		return;
	p->value = sheet_row(sh, i)->value;
	if (!bound_of(s, sh, sheet_row(sh, i), &p->bound)) {
		s->seek.failed = true;
		return;
	}
	p->answered = !isnan(p->value) && !isnan(p->bound);
	p->holds = p->answered &&
	    (s->until.below ? (s->until.strict ? p->value < p->bound : p->value <= p->bound)
	                    : (s->until.strict ? p->value > p->bound : p->value >= p->bound));
}

/* The row at x, and whether the condition holds. */
static struct probe
probe(struct seeker *seeker, double x)
{
	struct solver *s = seeker->context;

	for (size_t i = 0; i < s->n_probes; i++)
		if (s->probes[i].x == x)
			return s->probes[i];
	arena_clear(s->passing);
	struct outputs *files = outputs_new(s->passing);
	const struct question q = question_apart(s->q, s->passing, diag_new(s->passing), files);
	struct probe p = {x, false, false, NAN, NAN};
	const struct answered a = question_ask(&q, with_value(s, s->passing, x));
	if (a.status == REFUSED)
		s->n_refused++;
	else {
		judge(s, a.sheet, &p);
		if (a.reads)
			unread_note(s->q->arena, &s->unread, a.reads);
	}
	sheet_free(a.sheet);
	outputs_drop(files);
	if (s->n_probes == s->room) {
		const size_t more = s->room ? 2 * s->room : 64;
		s->probes = arena_grow(s->q->arena, s->probes, s->n_probes, more, sizeof *s->probes);
		s->room = more;
	}
	return s->probes[s->n_probes++] = p;
}

/* --- the bracket ----------------------------------------------------------------------------------------- */

/* A bracket of counts may mix suffixes; other ends have one unit. */
static bool
read_ends(struct solver *s, const struct option *o, const char *from, const char *to, double *low, double *high)
{
	struct quantity_fault fault;
	double ignored;
	char *from_unit, *to_unit;

	if (s->seek.whole) {
		if (quantity_read(from, Q_COUNT, low, &fault) && quantity_read(to, Q_COUNT, high, &fault))
			return true;
		diag_error(s->q->diag, s->at, "%s", fault.what);
		diag_hint(s->q->diag, "%s", fault.hint);
		return false;
	}
	*low = strtod(from, &from_unit);
	*high = strtod(to, &to_unit);
	s->unit = to_unit;
	if (from_unit == from || to_unit == to || (*from_unit && strcmp(from_unit, to_unit) != 0)) {
		diag_error(s->q->diag, s->at, "'%s..%s' is not a range of two values in the same unit", from, to);
		diag_hint(s->q->diag, "write --solve %s=LOW..HIGH, with units", s->path);
		return false;
	}
	if (!o || o->kind != KIND_QUANTITY || quantity_read(to, o->quantity, &ignored, &fault))
		return true;
	diag_error(s->q->diag, s->at, "%s", fault.what);
	diag_hint(s->q->diag, "%s", fault.hint);
	return false;
}

/* A list of values without names to choose from may be one number: --price 2.5usd/h. */
static bool
is_number(const struct option *o)
{
	return o->kind == KIND_QUANTITY || (o->kind == KIND_WORDS && !*o->complete);
}

static bool
parse_bracket(struct solver *s, const char *solve, double *low, double *high)
{
	struct arena *a = s->q->arena;
	const char *equals = strchr(solve, '='), *dots = equals ? strstr(equals, "..") : NULL;
	const char *name = equals ? arena_copy(a, solve, (size_t)(equals - solve)) : solve;

	s->path = inputs_path(s->q->command, name);
	const struct option *o = command_option_at(s->q->command, s->path);
	if (!o && !strchr(s->path, '.')) {
		inputs_unknown(s->q->diag, s->q->command, s->path, s->at, "");
		return false;
	}
	if (o && !is_number(o)) {
		diag_error(s->q->diag, s->at, "'%s' is not a number", name);
		diag_hint(s->q->diag, "show its values with --sweep %s=...", name);
		return false;
	}
	s->seek.whole = o && o->kind == KIND_QUANTITY && o->quantity == Q_COUNT;
	s->unit = "";
	*low = 1;
	*high = s->seek.whole ? 1048576 : 0;
	if (!equals && s->seek.whole)
		return true;
	if (!dots) {
		diag_error(s->q->diag, s->at, "'%s' needs a range here", solve);
		diag_hint(s->q->diag, "write --solve %s=LOW..HIGH, with units", name);
		return false;
	}
	const char *from = arena_copy(a, equals + 1, (size_t)(dots - equals - 1)), *to = dots + 2;
	if (!read_ends(s, o, from, to, low, high))
		return false;
	if (!(*low < *high) || !isfinite(*high - *low)) {
		diag_error(s->q->diag, s->at, "the range of '%s' does not grow", solve);
		diag_hint(s->q->diag, "write --solve %s=LOW..HIGH", name);
		return false;
	}
	return true;
}

/* --- the answer ------------------------------------------------------------------------------------------ */

/* Nothing was answered: the same fault at every value, or a row that is not there or not alone. */
static void
say_why(struct solver *s, double low)
{
	if (!s->no_row[0]) {
		sheet_free(question_ask(s->q, with_value(s, s->q->arena, low)).sheet);
		return;
	}
	const size_t n = strcspn(s->no_row, "\n");
	diag_error(s->q->diag, from_until, "%.*s", (int)n, s->no_row);
	diag_hint(s->q->diag, "%s", s->no_row[n] ? s->no_row + n + 1 : "--json shows all answers");
}

static void
say_turn(const struct solver *s)
{
	const bool falls = s->seek.turns < 0;

	diag_error(s->q->diag, s->at, "'%s' first %s and then %s at %s = %g%s: no unique solution", s->until.row,
	    falls ? "rises" : "falls", falls ? "falls" : "rises", s->path, s->seek.turns_at, s->unit);
	diag_hint(s->q->diag, "give a narrower range, or explore with --sweep");
}

static const char *
note_of(const struct solver *s, const struct found *f, const char *until, double low, double high)
{
	const char *valid = s->n_refused ? " of the valid values" : "";
	struct arena *a = s->q->arena;

	if (f->everywhere || f->nowhere)
		return arena_printf(a, "'%s' holds %s%s between %.10g%s and %.10g%s", until,
		    f->everywhere ? "everywhere" : "nowhere", valid, low, s->unit, high, s->unit);
	const char *value =
	    arena_printf(a, s->seek.whole ? "solved: %s = %.0f%s" : "solved: %s = %.6g%s", s->path, f->x, s->unit);
	if (!s->n_refused || !s->seek.whole)
		return value;
	return arena_printf(
	    a, "%s, %s of the valid values%s", value, f->least ? "least" : "most", f->exact ? "" : " that were tried");
}

struct solution
question_solve(const struct question *q, const struct node *inputs, const char *solve, const char *until)
{
	struct solver s = {.q = q, .inputs = inputs, .passing = arena_new(), .at = {"--solve", 0, 0, NULL, false}};
	struct solution out = {.inputs = NULL};
	double low, high;

	if (q->command->unsolvable) {
		diag_error(q->diag, s.at, "%s", q->command->unsolvable);
		diag_hint(q->diag, "leave --solve out, or use --sweep");
		goto out;
	}
	s.seek = (struct seeker){.arena = q->arena, .context = &s, .probe = probe};
	if (!parse_condition(&s, until) || !parse_bracket(&s, solve, &low, &high) ||
	    !inputs_check(q->arena, q->diag, q->command, inputs, s.path))
		goto out;
	s.seek.below = s.until.below;
	const struct found f = seek(&s.seek, low, high);
	if (s.seek.turns)
		say_turn(&s);
	if (s.seek.failed)
		goto out;
	if (!f.some) {
		say_why(&s, low);
		goto out;
	}
	if (f.turns) {
		diag_error(q->diag, s.at,
		    "'%s' holds between %.10g%s and %.10g%s but not at the ends: no unique solution", until, f.from,
		    s.unit, f.to, s.unit);
		diag_hint(q->diag, "give a narrower range, or explore with --sweep");
		goto out;
	}
	out.inputs = with_value(&s, q->arena, f.x);
	out.note = note_of(&s, &f, until, low, high);
	out.none = f.nowhere;
	out.unread = s.unread;
out:
	arena_free(s.passing);
	return out;
}
