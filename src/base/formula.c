/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parse and evaluate the formulas that the sheet records. */
#include "base/base.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_LENGTH = 80, DEPTH_MAX = 100 };

struct reader {
	const char *text, *at;
	struct formula_names names;
	struct formula_fault *fault;
	int depth;
	bool failed;
};

static const struct formula_value nothing = {0, {{0}}, true, false};

static struct formula_value expression(struct reader *r);

static struct formula_value
fail(struct reader *r, const char *at, const char *what, const char *detail)
{
	if (!r->failed) {
		snprintf(r->fault->what, sizeof r->fault->what, "%s%s%.100s%s", what, *detail ? " '" : "", detail,
		    *detail ? "'" : "");
		r->fault->column = (int)(at - r->text) + 1;
	}
	r->failed = true;
	return nothing;
}

static void
skip_blanks(struct reader *r)
{
	while (isspace((unsigned char)*r->at))
		r->at++;
}

static bool
accept(struct reader *r, char c)
{
	skip_blanks(r);
	if (*r->at != c)
		return false;
	r->at++;
	return true;
}

/* --- functions ------------------------------------------------------------------------------------------- */

static double
fmin_(double a, double b)
{
	return fmin(a, b);
}

static double
fmax_(double a, double b)
{
	return fmax(a, b);
}

enum rule { RULE_SAME, RULE_KEEP, RULE_SQRT, RULE_CBRT, RULE_PURE, RULE_POW };

static const struct function {
	const char *name;
	double (*one)(double);
	double (*two)(double, double);
	enum rule rule;
} functions[] = {
    {"fmin", NULL, fmin_, RULE_SAME},
    {"fmax", NULL, fmax_, RULE_SAME},
    {"ceil", ceil, NULL, RULE_KEEP},
    {"floor", floor, NULL, RULE_KEEP},
    {"sqrt", sqrt, NULL, RULE_SQRT},
    {"cbrt", cbrt, NULL, RULE_CBRT},
    {"pow", NULL, pow, RULE_POW},
    {"exp", exp, NULL, RULE_PURE},
    {"log", log, NULL, RULE_PURE},
    {"log2", log2, NULL, RULE_PURE},
    {"log10", log10, NULL, RULE_PURE},
};

static const struct function *
function_find(const char *name)
{
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (strcmp(functions[i].name, name) == 0)
			return &functions[i];
	return NULL;
}

/* A zero has every dimension; a number made of literals may be counted; a pure number joins a count. */
static bool
same_kind(struct formula_value a, struct formula_value b, struct dim *dim)
{
	struct dim a_measure = a.dim, b_measure = b.dim;

	for (int i = FIRST_COUNT; i < N_AXES; i++)
		a_measure.e[i] = b_measure.e[i] = 0;
	*dim = a.dim;
	if (dim_equal(a.dim, b.dim))
		return true;
	if (a.literal && a.value == 0) {
		*dim = b.dim;
		return true;
	}
	if (b.literal && b.value == 0)
		return true;
	if (!dim_equal(a_measure, b_measure))
		return false;
	if (dim_has_no_count(a.dim)) {
		*dim = b.dim;
		return true;
	}
	return dim_has_no_count(b.dim);
}

static bool
root(struct dim *d, int n)
{
	for (int i = 0; i < N_AXES; i++) {
		if (d->e[i] % n)
			return false;
		d->e[i] = (signed char)(d->e[i] / n);
	}
	return true;
}

static struct formula_value
apply(struct reader *r, const struct function *f, const char *at, struct formula_value a, struct formula_value b)
{
	struct formula_value out = {f->two ? f->two(a.value, b.value) : f->one(a.value), a.dim, a.literal, false};

	switch (f->rule) {
	case RULE_SAME:
		out.literal = a.literal && b.literal;
		if (!same_kind(a, b, &out.dim))
			return fail(r, at, "two different units in", f->name);
		break;
	case RULE_KEEP:
		break;
	case RULE_SQRT:
	case RULE_CBRT:
		if (!root(&out.dim, f->rule == RULE_SQRT ? 2 : 3))
			return fail(r, at, "no whole unit under", f->name);
		break;
	case RULE_PURE:
		if (!dim_is_pure(a.dim))
			return fail(r, at, "a unit inside", f->name);
		break;
	case RULE_POW:
		out.literal = a.literal && b.literal;
		if (!dim_is_pure(b.dim) || !dim_is_pure(a.dim))
			return fail(r, at, "a unit inside", f->name);
		break;
	}
	return out;
}

static struct formula_value
call(struct reader *r, const struct function *f, const char *at)
{
	struct formula_value a = expression(r), b = nothing;

	if (f->two && !accept(r, ','))
		return fail(r, r->at, "a comma is missing in", f->name);
	if (f->two)
		b = expression(r);
	if (!accept(r, ')'))
		return fail(r, r->at, "a closing parenthesis is missing", "");
	return r->failed ? nothing : apply(r, f, at, a, b);
}

/* --- the grammar ----------------------------------------------------------------------------------------- */

static struct formula_value
number(struct reader *r)
{
	char *end;
	struct formula_value v = {strtod(r->at, &end), {{0}}, true, true};

	if (end == r->at)
		return fail(r, r->at, "not a formula at", r->at);
	if (r->at[0] == '0' && (isdigit((unsigned char)r->at[1]) || r->at[1] == 'x' || r->at[1] == 'X'))
		return fail(r, r->at, "C would not read this number as decimal:", r->at);
	for (const char *p = r->at; p < end; p++)
		if (!isdigit((unsigned char)*p))
			v.whole = false;
	r->at = end;
	return v;
}

static struct formula_value
name_or_call(struct reader *r)
{
	char name[NAME_MAX_LENGTH];
	const char *start = r->at;
	size_t n = 0;
	struct formula_value v;

	while (isalnum((unsigned char)*r->at) || *r->at == '_') {
		if (n + 1 < sizeof name)
			name[n++] = *r->at;
		r->at++;
	}
	name[n] = '\0';
	if (accept(r, '(')) {
		const struct function *f = function_find(name);
		if (!f)
			return fail(r, start, "not a function:", name);
		return call(r, f, start);
	}
	if (!r->names.find(r->names.context, name, &v))
		return fail(r, start, "nothing is called", name);
	v.literal = false;
	v.whole = false;
	return v;
}

static struct formula_value
primary(struct reader *r)
{
	skip_blanks(r);
	if (accept(r, '(')) {
		struct formula_value v = expression(r);
		if (!accept(r, ')'))
			return fail(r, r->at, "a closing parenthesis is missing", "");
		return v;
	}
	if (isalpha((unsigned char)*r->at) || *r->at == '_')
		return name_or_call(r);
	return number(r);
}

static struct formula_value
unary(struct reader *r)
{
	if (++r->depth > DEPTH_MAX)
		return fail(r, r->at, "the formula is nested too deeply", "");
	struct formula_value v;
	if (accept(r, '-')) {
		v = unary(r);
		v.value = -v.value;
	} else
		v = primary(r);
	r->depth--;
	return v;
}

static struct formula_value
term(struct reader *r)
{
	struct formula_value a = unary(r);

	for (;;) {
		skip_blanks(r);
		const char *at = r->at, sign = *at;

		if (r->failed || (sign != '*' && sign != '/'))
			return a;
		r->at++;
		struct formula_value b = unary(r);
		if (sign == '/' && a.whole && b.whole)
			return fail(r, at, "a quotient of two whole numbers, which C would cut", "");
		a.value = sign == '*' ? a.value * b.value : a.value / b.value;
		a.dim = dim_times(a.dim, b.dim, sign == '*' ? 1 : -1);
		a.literal = a.literal && b.literal;
		a.whole = a.whole && b.whole;
	}
}

static struct formula_value
expression(struct reader *r)
{
	struct formula_value a = term(r);

	for (;;) {
		skip_blanks(r);
		const char *at = r->at, sign = *at;

		if (r->failed || (sign != '+' && sign != '-'))
			return a;
		r->at++;
		struct formula_value b = term(r);
		struct dim dim;
		if (!r->failed && !same_kind(a, b, &dim)) {
			char left[60], right[60], both[140];
			dim_name(a.dim, left, sizeof left);
			dim_name(b.dim, right, sizeof right);
			snprintf(both, sizeof both, "%s and %s", left, right);
			return fail(r, at, "two different units are added:", both);
		}
		if (r->failed)
			return nothing;
		a = (struct formula_value){sign == '+' ? a.value + b.value : a.value - b.value, dim,
		    a.literal && b.literal, a.whole && b.whole};
	}
}

bool
formula_evaluate(const char *text, struct formula_names names, struct formula_value *out, struct formula_fault *fault)
{
	struct reader r = {.text = text, .at = text, .names = names, .fault = fault};

	*out = expression(&r);
	skip_blanks(&r);
	if (!r.failed && *r.at)
		fail(&r, r.at, "not a formula at", r.at);
	return !r.failed;
}

void
formula_each_name(const char *text, void (*each)(void *context, const char *name), void *context)
{
	for (const char *p = text; *p;) {
		char name[NAME_MAX_LENGTH];
		size_t n = 0;

		if (isdigit((unsigned char)*p) || *p == '.') {
			char *end;
			strtod(p, &end);
			p = end > p ? end : p + 1;
			continue;
		}
		if (!isalpha((unsigned char)*p) && *p != '_') {
			p++;
			continue;
		}
		while (isalnum((unsigned char)*p) || *p == '_') {
			if (n + 1 < sizeof name)
				name[n++] = *p;
			p++;
		}
		name[n] = '\0';
		if (!function_find(name))
			each(context, name);
	}
}

bool
formula_assignable(struct formula_value from, struct dim to)
{
	struct dim measure = to;

	if (dim_equal(from.dim, to) || (from.literal && from.value == 0))
		return true;
	for (int i = FIRST_COUNT; i < N_AXES; i++)
		measure.e[i] = 0;
	return dim_has_no_count(from.dim) && dim_equal(from.dim, measure);
}
