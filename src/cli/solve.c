/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --solve NAME[=LO..HI] --until 'ROW OP VALUE': the row must be monotone on the bracket, which is checked at 9 points.  The
 * answer is the largest NAME that holds for <= and <, the smallest for >= and >.  Counts stay whole.
 */
#include "base/formula.h"
#include "base/text.h"
#include "cli/question.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKED = 9, STEPS = 100 };

struct condition {
	char row[200];
	bool below, strict;
	const char *bound;
};

struct solver {
	const struct question *q;
	const struct node *inputs;
	const char *path, *unit;
	struct source at;
	struct condition until;
	bool whole, failed;
};

static bool
parse_condition(struct solver *s, const char *text)
{
	const char *op = strpbrk(text, "<>");

	if (!op) {
		diag_error(s->q->diag, (struct source){"--until", 0, 0, NULL, false}, "'%s' has no <= or >=", text);
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
	return n > 0 && *op;
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

/* The bound as a quantity of the row's unit, or as a formula over rows. */
static bool
bound_of(struct solver *s, const struct sheet *sh, const struct row *row, double *bound)
{
	const struct dim dim = dim_of_name(row->name);
	struct quantity_fault fault;
	struct formula_fault why;
	struct formula_value v;

	for (enum quantity q = 0; q < N_QUANTITIES; q++)
		if (dim_equal(quantity_dim(q), dim) && quantity_read(s->until.bound, q, bound, &fault))
			return true;
	if (!dim_has_no_count(dim) && quantity_read(s->until.bound, Q_COUNT, bound, &fault))
		return true;
	if (formula_evaluate(s->until.bound, (struct formula_names){find_row, sh}, &v, &why) && formula_assignable(v, dim)) {
		*bound = v.value;
		return true;
	}
	char name[60];
	dim_name(dim, name, sizeof name);
	diag_error(s->q->diag, (struct source){"--until", 0, 0, NULL, false}, "'%s' is neither a value in %s nor a formula of rows",
	    s->until.bound, name);
	return false;
}

static const struct node *
with_value(const struct solver *s, double x)
{
	const char *text = arena_printf(s->q->arena, s->whole ? "%.0f%s" : "%.9g%s", x, s->unit);

	return tree_with(s->q->arena, s->inputs, s->path, tree_scalar(s->q->arena, text, s->at));
}

/* The row at x, and whether the condition holds.  Points that are refused do not hold. */
static bool
holds(struct solver *s, double x, double *value, bool *answered)
{
	const int errors = diag_errors(s->q->diag);
	struct diag *quiet = diag_new(s->q->arena);
	struct question q = *s->q;

	q.diag = quiet;
	const struct answered a = question_ask(&q, with_value(s, x));
	bool yes = false;
	*value = NAN;
	*answered = a.status != REFUSED;
	if (*answered) {
		const int i = sheet_find(a.sheet, s->until.row);
		double bound = 0;
		if (i < 0) {
			diag_error(s->q->diag, (struct source){"--until", 0, 0, NULL, false}, "there is no one row '%s'", s->until.row);
			diag_hint(s->q->diag, "--json shows all rows");
		} else if (bound_of(s, a.sheet, sheet_row(a.sheet, i), &bound)) {
			*value = sheet_row(a.sheet, i)->value;
			yes = s->until.below ? (s->until.strict ? *value < bound : *value <= bound) :
					       (s->until.strict ? *value > bound : *value >= bound);
		}
	}
	sheet_free(a.sheet);
	s->failed = s->failed || diag_errors(s->q->diag) > errors;
	return yes;
}

static bool
parse_bracket(struct solver *s, const char *solve, double *low, double *high)
{
	const char *equals = strchr(solve, '='), *dots = equals ? strstr(equals, "..") : NULL;
	const char *name = equals ? arena_copy(s->q->arena, solve, (size_t)(equals - solve)) : solve;
	char *end;

	s->path = inputs_path(s->q->command, name);
	const struct option *o = command_option_at(s->q->command, s->path);
	s->whole = o && o->quantity == Q_COUNT;
	s->unit = "";
	*low = 1;
	*high = s->whole ? 1048576 : 0;
	if (!equals && s->whole)
		return true;
	if (!equals || !dots) {
		diag_error(s->q->diag, s->at, "'%s' needs a bracket here", solve);
		diag_hint(s->q->diag, "write --solve %s=LOW..HIGH, with units", name);
		return false;
	}
	*low = strtod(equals + 1, &end);
	*high = strtod(dots + 2, &end);
	s->unit = arena_text(s->q->arena, end);
	if (!(*low < *high)) {
		diag_error(s->q->diag, s->at, "the bracket of '%s' does not grow", solve);
		return false;
	}
	return true;
}

/* Monotone at 9 points, refused points left out; they may only lie at one end. */
static bool
check_monotone(struct solver *s, double low, double high)
{
	double before = NAN;
	int direction = 0;
	const bool wide = low > 0 && high / low > 100;

	for (int i = 0; i < CHECKED; i++) {
		const double t = (double)i / (CHECKED - 1);
		double x = wide ? low * pow(high / low, t) : low + (high - low) * t, value;
		bool answered;
		if (s->whole)
			x = floor(x + 0.5);
		holds(s, x, &value, &answered);
		if (s->failed)
			return false;
		if (!answered)
			continue;
		const int step = isnan(before) || value == before ? 0 : value > before ? 1 : -1;
		if (step && direction && step != direction) {
			diag_error(s->q->diag, s->at, "'%s' first %s and then %s between %g and %g: no single answer", s->until.row,
			    direction > 0 ? "rises" : "falls", direction > 0 ? "falls" : "rises", low, high);
			diag_hint(s->q->diag, "give a narrower bracket, or look with --sweep");
			return false;
		}
		direction = step ? step : direction;
		before = value;
	}
	return true;
}

const struct node *
question_solve(const struct question *q, const struct node *inputs, const char *solve, const char *until, const char **note)
{
	struct solver s = {.q = q, .inputs = inputs, .at = {"--solve", 0, 0, NULL, false}};
	double low, high, value;
	bool answered;

	if (!parse_condition(&s, until) || !parse_bracket(&s, solve, &low, &high) || !check_monotone(&s, low, high))
		return NULL;
	/* the end of the bracket that must hold: the low one for "largest that holds" */
	const bool at_low = holds(&s, low, &value, &answered);
	const bool at_high = holds(&s, high, &value, &answered);
	if (s.failed)
		return NULL;
	if (!at_low && !at_high) {
		diag_error(q->diag, s.at, "'%s' holds nowhere between %g%s and %g%s", until, low, s.unit, high, s.unit);
		diag_hint(q->diag, "give another bracket, or look with --sweep");
		return NULL;
	}
	if (at_low && at_high) {
		*note = arena_printf(q->arena, "%s holds on the whole bracket %g..%g%s", until, low, high, s.unit);
		return with_value(&s, s.until.below ? high : low);
	}
	double good = at_low ? low : high, bad = at_low ? high : low;
	for (int i = 0; i < STEPS && fabs(good - bad) > (s.whole ? 1.0 : 1e-9 * fabs(good)); i++) {
		double middle = good + (bad - good) / 2;
		if (s.whole)
			middle = floor(middle);
		if (middle == good || middle == bad)
			break;
		if (holds(&s, middle, &value, &answered))
			good = middle;
		else
			bad = middle;
	}
	*note = arena_printf(q->arena, s.whole ? "solved: %s = %.0f%s" : "solved: %s = %.6g%s", s.path, good, s.unit);
	return with_value(&s, good);
}
