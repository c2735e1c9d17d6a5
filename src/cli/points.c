/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parse the values of a sweep. */
#include "cli/cli.h"

#include "base/base.h"
#include "base/sheet.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
fail(struct diag *d, const struct setting *s, const char *what)
{
	diag_error(d, s->at, "'%s=%s': %s", s->path, s->text, what);
	diag_hint(d, "write a,b,c, or FROM..TO*FACTOR, or FROM..TO+STEP, for example %s=1..256*2", s->path);
	return false;
}

/* A number and where its unit begins: `50GB/s` -> `GB/s`; NULL when there is no number. */
static const char *
unit_of(const char *text, double *number)
{
	char *end;

	if (!isdigit((unsigned char)text[*text == '-']) && text[*text == '-'] != '.')
		return NULL;
	*number = strtod(text, &end);
	return end == text || !isfinite(*number) ? NULL : end;
}

/* The three numbers of a range and the unit that they share; counts may each have their own suffix. */
struct range {
	double from, to, step;
	const char *unit;
};

static bool
read_counts(const char *from, const char *to, const char *step, struct range *out, struct quantity_fault *fault)
{
	out->unit = "";
	return quantity_read(from, Q_COUNT, &out->from, fault) && quantity_read(to, Q_COUNT, &out->to, fault) &&
	    quantity_read(step, Q_COUNT, &out->step, fault);
}

static const char *
read_units(const char *from, const char *to, const char *step, bool factor, struct range *out)
{
	const char *from_unit = unit_of(from, &out->from), *to_unit = unit_of(to, &out->to);
	const char *step_unit = unit_of(step, &out->step);

	if (!from_unit || !to_unit || !step_unit)
		return "not a range of numbers";
	out->unit = *to_unit ? to_unit : from_unit;
	if ((*from_unit && *to_unit && strcmp(from_unit, to_unit) != 0) || (factor && *step_unit) ||
	    (!factor && *step_unit && strcmp(step_unit, out->unit) != 0))
		return "both ends of a range need the same unit";
	return NULL;
}

static void
add(struct arena *a, struct axis_values *out, size_t *room, const char *value)
{
	if (out->n == *room) {
		const size_t more = *room ? 2 * *room : 16;
		out->values = arena_grow(a, out->values, out->n, more, sizeof *out->values);
		*room = more;
	}
	out->values[out->n++] = value;
}

/* What no point could read is a fault of the request; what one point refuses is that point's answer. */
static bool
readable(struct arena *a, struct diag *d, const struct setting *s, const struct option *o, const char *value)
{
	struct quantity_fault fault;
	double number;
	size_t n;

	if (o && o->kind == KIND_QUANTITY && !quantity_read(value, o->quantity, &number, &fault)) {
		diag_error(d, s->at, "'%s': %s", s->path, fault.what);
		diag_hint(d, "%s", fault.hint);
		return false;
	}
	if (!o || o->kind != KIND_CHOICE)
		return true;
	char **choices = text_split(a, o->complete, '|', &n);
	for (size_t i = 0; i < n; i++)
		if (strcmp(choices[i], value) == 0 || strcmp(choices[i], dtype_spelled(value)) == 0)
			return true;
	const char *near = text_nearest(value, (const char *const *)choices, n);
	diag_error(d, s->at, "'%s': '%s' is not one of %s", s->path, value, o->complete);
	if (near)
		diag_hint(d, "did you mean '%s'?", near);
	return false;
}

static bool
range(struct arena *a, struct diag *d, const struct setting *s, const struct option *o, const char *dots,
    struct axis_values *out)
{
	const char *from = arena_copy(a, s->text, (size_t)(dots - s->text));
	const char *sign = strchr(dots + 2, '*');
	struct range r;
	size_t room = 0;

	if (!sign)
		sign = strrchr(dots + 2, '+');
	if (!sign)
		return fail(d, s, "a range needs a factor or a step");
	const char *to = arena_copy(a, dots + 2, (size_t)(sign - dots - 2));
	const bool factor = *sign == '*';
	struct quantity_fault fault;
	if (o && o->kind == KIND_QUANTITY && o->quantity == Q_COUNT) {
		if (!read_counts(from, to, sign + 1, &r, &fault)) {
			diag_error(d, s->at, "'%s=%s': %s", s->path, s->text, fault.what);
			diag_hint(d, "%s", fault.hint);
			return false;
		}
	} else {
		const char *why = read_units(from, to, sign + 1, factor, &r);
		if (why)
			return fail(d, s, why);
	}
	if (r.from > r.to || (factor ? r.step <= 1 || r.from <= 0 : r.step <= 0))
		return fail(d, s, "the range does not grow");
	for (size_t i = 0; i < MAX_POINTS + 1u; i++) {
		const double v = factor ? r.from * pow(r.step, (double)i) : r.from + (double)i * r.step;
		if (v > r.to * (1 + 1e-12) + (factor ? 0 : 1e-12 * r.step))
			return true;
		const char *value = arena_printf(a, "%.12g%s", v, r.unit);
		if (i == 0 && !readable(a, d, s, o, value))
			return false;
		add(a, out, &room, value);
	}
	return fail(d, s, arena_printf(a, "more than %d points", MAX_POINTS));
}

bool
sweep_values(struct arena *a, struct diag *d, const struct command *c, const struct setting *s, struct axis_values *out)
{
	const char *dots = strstr(s->text, "..");
	size_t room = 0, n;

	*out = (struct axis_values){.path = inputs_path(c, s->path), .at = s->at};
	const struct option *o = command_option_at(c, out->path);
	const bool words = o && (o->kind == KIND_WORD || o->kind == KIND_CHOICE || o->kind == KIND_WORDS);
	const bool numbers = o && o->kind == KIND_WORDS && !*o->complete && isdigit((unsigned char)*s->text);
	if (dots && (!words || numbers))
		return range(a, d, s, o, dots, out);
	char **values = text_split(a, s->text, ',', &n);
	for (size_t i = 0; i < n; i++) {
		if (!*values[i])
			return fail(d, s, "empty value");
		if (!readable(a, d, s, o, values[i]))
			return false;
		add(a, out, &room, values[i]);
	}
	return true;
}
