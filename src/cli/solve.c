/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --solve NAME[=LO..HI] --until 'ROW OP VALUE': the row must be monotone on the bracket, which is checked at 9 points.
 * The answer is the largest NAME that holds for <= and <, the smallest for >= and >.  Counts stay whole.
 */
#include "base/formula.h"
#include "base/text.h"
#include "cli/question.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whole brackets up to SCANNED values wide are tried value by value: what does not divide is refused in between. */
enum { CHECKED = 9, STEPS = 100, SCANNED = 256 };

struct condition {
	char row[200];
	bool below, strict;
	const char *bound;
};

struct solver {
	const struct question *q;
	const struct node *inputs;
	struct diag *quiet; /* of points that are refused */
	const char *path, *unit;
	struct source at;
	struct condition until;
	bool whole, failed;
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
	const int i = sheet_find(sh, name);

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
	diag_error(s->q->diag, from_until, "'%s' is neither a value in %s nor a formula of rows", s->until.bound, name);
	diag_hint(s->q->diag, "'%s' is in %s; --json shows all rows", row->name, name);
	return false;
}

static const struct node *
with_value(const struct solver *s, double x)
{
	const char *text = arena_printf(s->q->arena, s->whole ? "%.0f%s" : "%.9g%s", x, s->unit);

	return tree_with(s->q->arena, s->inputs, s->path, tree_scalar(s->q->arena, text, s->at));
}

struct probe {
	bool answered, holds;
	double value;
};

/* The row at x, and whether the condition holds.  Points that are refused do not hold. */
static struct probe
probe(struct solver *s, double x)
{
	const int errors = diag_errors(s->q->diag);
	struct question q = *s->q;
	struct probe p = {false, false, NAN};

	diag_clear(s->quiet);
	q.diag = s->quiet;
	const struct answered a = question_ask(&q, with_value(s, x));
	p.answered = a.status != REFUSED;
	if (p.answered) {
		const int i = sheet_find(a.sheet, s->until.row);
		double bound = 0;
		if (i < 0) {
			diag_error(s->q->diag, from_until,
			    i == -2 ? "several rows are called '%s'" : "there is no row '%s'", s->until.row);
			diag_hint(s->q->diag, "--json shows all rows");
		} else if (bound_of(s, a.sheet, sheet_row(a.sheet, i), &bound)) {
			p.value = sheet_row(a.sheet, i)->value;
			p.holds = s->until.below ? (s->until.strict ? p.value < bound : p.value <= bound)
			                         : (s->until.strict ? p.value > bound : p.value >= bound);
		}
	}
	sheet_free(a.sheet);
	s->failed = s->failed || diag_errors(s->q->diag) > errors;
	return p;
}

/* A bracket of counts may mix suffixes; other ends have one unit. */
static bool
read_ends(struct solver *s, const struct option *o, const char *from, const char *to, double *low, double *high)
{
	struct quantity_fault fault;
	double ignored;
	char *from_unit, *to_unit;

	if (s->whole) {
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
		diag_error(s->q->diag, s->at, "'%s..%s' is not a bracket of two values in one unit", from, to);
		diag_hint(s->q->diag, "write --solve %s=LOW..HIGH, with units", s->path);
		return false;
	}
	if (!o || quantity_read(to, o->quantity, &ignored, &fault))
		return true;
	diag_error(s->q->diag, s->at, "%s", fault.what);
	diag_hint(s->q->diag, "%s", fault.hint);
	return false;
}

static bool
parse_bracket(struct solver *s, const char *solve, double *low, double *high)
{
	struct arena *a = s->q->arena;
	const char *equals = strchr(solve, '='), *dots = equals ? strstr(equals, "..") : NULL;
	const char *name = equals ? arena_copy(a, solve, (size_t)(equals - solve)) : solve;

	s->path = inputs_path(s->q->command, name);
	const struct option *o = command_option_at(s->q->command, s->path);
	if (o && o->kind != KIND_QUANTITY) {
		diag_error(s->q->diag, s->at, "'%s' is not a number", name);
		diag_hint(s->q->diag, "look at its values with --sweep %s=...", name);
		return false;
	}
	s->whole = o && o->quantity == Q_COUNT;
	s->unit = "";
	*low = 1;
	*high = s->whole ? 1048576 : 0;
	if (!equals && s->whole)
		return true;
	if (!dots) {
		diag_error(s->q->diag, s->at, "'%s' needs a bracket here", solve);
		diag_hint(s->q->diag, "write --solve %s=LOW..HIGH, with units", name);
		return false;
	}
	const char *from = arena_copy(a, equals + 1, (size_t)(dots - equals - 1)), *to = dots + 2;
	if (!read_ends(s, o, from, to, low, high))
		return false;
	if (!(*low < *high) || !isfinite(*high - *low)) {
		diag_error(s->q->diag, s->at, "the bracket of '%s' does not grow", solve);
		diag_hint(s->q->diag, "write --solve %s=LOW..HIGH", name);
		return false;
	}
	return true;
}

/* --- monotone rows --------------------------------------------------------------------------------------- */

struct course {
	double before;
	int direction;
	size_t n_answered, n_holds;
	double first_held, last_held;
	bool begins; /* the lowest answered value holds */
};

/* One more point, upwards.  False when the row turns. */
static bool
follow(struct solver *s, struct course *c, double x)
{
	const struct probe p = probe(s, x);

	if (s->failed || !p.answered)
		return !s->failed;
	const int step = c->n_answered == 0 || p.value == c->before ? 0 : p.value > c->before ? 1 : -1;
	if (step && c->direction && step != c->direction) {
		diag_error(s->q->diag, s->at, "'%s' first %s and then %s at %s = %g%s: no single answer", s->until.row,
		    step < 0 ? "rises" : "falls", step < 0 ? "falls" : "rises", s->path, x, s->unit);
		diag_hint(s->q->diag, "give a narrower bracket, or look with --sweep");
		return false;
	}
	c->direction = step ? step : c->direction;
	c->before = p.value;
	if (p.holds) {
		c->begins = c->begins || c->n_answered == 0;
		c->first_held = c->n_holds ? c->first_held : x;
		c->last_held = x;
		c->n_holds++;
	}
	c->n_answered++;
	return true;
}

/* The row at 9 points of a wide bracket, at every value of a narrow whole one. */
static bool
survey(struct solver *s, double low, double high, bool every, struct course *c)
{
	const bool wide = low > 0 && high / low > 100;
	const int n = every ? (int)(high - low) + 1 : CHECKED;

	*c = (struct course){.before = NAN};
	for (int i = 0; i < n; i++) {
		const double t = (double)i / (n - 1);
		double x = every ? low + i : wide ? low * pow(high / low, t) : low + (high - low) * t;
		if (i == n - 1)
			x = high;
		if (!follow(s, c, s->whole ? floor(x + 0.5) : x))
			return false;
	}
	return true;
}

static double
bisect(struct solver *s, double good, double bad)
{
	for (int i = 0; i < STEPS && fabs(good - bad) > (s->whole ? 1.0 : 1e-9 * fabs(good)); i++) {
		double middle = good + (bad - good) / 2;
		if (s->whole)
			middle = floor(middle);
		if (middle == good || middle == bad)
			break;
		if (probe(s, middle).holds)
			good = middle;
		else
			bad = middle;
	}
	return good;
}

const struct node *
question_solve(
    const struct question *q, const struct node *inputs, const char *solve, const char *until, const char **note)
{
	struct solver s = {.q = q, .inputs = inputs, .quiet = diag_new(q->arena), .at = {"--solve", 0, 0, NULL, false}};
	double low, high;
	struct course c;

	if (!parse_condition(&s, until) || !parse_bracket(&s, solve, &low, &high))
		return NULL;
	const bool every = s.whole && high - low <= SCANNED;
	if (!survey(&s, low, high, every, &c))
		return NULL;
	if (c.n_answered == 0) { /* say why: the same fault at every value */
		sheet_free(question_ask(q, with_value(&s, low)).sheet);
		return NULL;
	}
	const bool at_low = probe(&s, low).holds, at_high = probe(&s, high).holds;
	if (c.n_holds == 0 || (!every && !at_low && !at_high)) {
		diag_error(q->diag, s.at, "'%s' holds nowhere between %g%s and %g%s", until, low, s.unit, high, s.unit);
		diag_hint(q->diag, "give another bracket, or look with --sweep");
		return NULL;
	}
	if (every ? c.n_holds == c.n_answered : at_low && at_high) {
		const double end = every ? (s.until.below ? c.last_held : c.first_held) : s.until.below ? high : low;
		*note = arena_printf(
		    q->arena, "'%s' holds everywhere between %g%s and %g%s", until, low, s.unit, high, s.unit);
		return with_value(&s, end);
	}
	const double good = every ? (c.begins ? c.last_held : c.first_held)
	    : at_low              ? bisect(&s, low, high)
	                          : bisect(&s, high, low);
	*note = arena_printf(q->arena, s.whole ? "solved: %s = %.0f%s" : "solved: %s = %.6g%s", s.path, good, s.unit);
	return with_value(&s, good);
}
