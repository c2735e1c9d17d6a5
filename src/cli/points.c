/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/points.h"

#include "base/text.h"
#include "cli/inputs.h"

#include <ctype.h>
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

/* Where the unit begins: `50GB/s` -> `GB/s`. */
static const char *
unit_of(const char *text, double *number)
{
	char *end;

	*number = strtod(text, &end);
	return end == text ? NULL : end;
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

static bool
range(struct arena *a, struct diag *d, const struct setting *s, const char *dots, struct axis_values *out)
{
	const char *from_text = arena_copy(a, s->text, (size_t)(dots - s->text));
	const char *step_sign = strpbrk(dots + 2, "*");
	double from, to, step;
	size_t room = 0;

	if (!step_sign)
		step_sign = strrchr(dots + 2, '+');
	if (!step_sign)
		return fail(d, s, "a range needs a factor or a step");
	const char *to_text = arena_copy(a, dots + 2, (size_t)(step_sign - dots - 2));
	const char *from_unit = unit_of(from_text, &from), *to_unit = unit_of(to_text, &to);
	const char *step_unit = unit_of(step_sign + 1, &step);
	if (!from_unit || !to_unit || !step_unit)
		return fail(d, s, "not a range of numbers");
	const bool factor = *step_sign == '*';
	const char *unit = *to_unit ? to_unit : from_unit;
	if ((*from_unit && *to_unit && strcmp(from_unit, to_unit) != 0) || (factor && *step_unit) ||
	    (!factor && *step_unit && strcmp(step_unit, unit) != 0))
		return fail(d, s, "the units of a range must be the same");
	if (from > to || (factor ? step <= 1 || from <= 0 : step <= 0))
		return fail(d, s, "the range does not grow from its first to its last value");
	for (size_t i = 0; i < MAX_POINTS + 1u; i++) {
		const double v = factor ? from * pow(step, (double)i) : from + (double)i * step;
		if (v > to * (1 + 1e-12) + (factor ? 0 : 1e-12 * step))
			return true;
		add(a, out, &room, arena_printf(a, "%.12g%s", v, unit));
	}
	return fail(d, s, "more than 100000 points");
}

bool
sweep_values(struct arena *a, struct diag *d, const struct command *c, const struct setting *s, struct axis_values *out)
{
	const char *dots = strstr(s->text, "..");
	size_t room = 0, n;

	*out = (struct axis_values){.path = inputs_path(c, s->path), .at = s->at};
	const struct option *o = command_option_at(c, out->path);
	const bool words = o && (o->kind == KIND_WORD || o->kind == KIND_CHOICE || o->kind == KIND_WORDS);
	if (dots && !words)
		return range(a, d, s, dots, out);
	char **values = text_split(a, s->text, ',', &n);
	for (size_t i = 0; i < n; i++) {
		if (!*values[i])
			return fail(d, s, "an empty value");
		add(a, out, &room, values[i]);
	}
	return true;
}
