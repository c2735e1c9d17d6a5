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

/* --- values to try ----------------------------------------------------------------------------------------------- */

/*
 * Find the input value at which a condition starts or stops holding, by queries at values of its range.
 *
 * Whole numbers are tried one by one if there are few enough: the whole range, or the multiples of the common divisor
 * of the first valid ones (GPUs that a layout accepts).  Then the row need not be monotonic, and the ends of the range
 * do not matter.  Longer ranges and other quantities are bisected, which needs a monotonic row.
 */

enum {
	MOST_TRIED = 1024, /* values one by one */
	LOOKED = 512,      /* of the first ones, for what the valid ones have in common */
	WALKED = 64,       /* from a refused value to the next valid one, and around an answer found by halves */
	SAMPLES = 17,      /* of a long bracket */
	STEPS = 100,
};

/* --- values to try --------------------------------------------------------------------------------------- */

/* A list of values, rising: multiples of a step, or others. */
struct values {
	double first, step;
	size_t n;
	const double *list; /* NULL: first + i * step */
};

static double
value_at(const struct values *v, size_t i)
{
	return v->list ? v->list[i] : v->first + (double)i * v->step;
}

static double
common_divisor(double a, double b)
{
	while (b > 0) {
		const double rest = fmod(a, b);
		a = b;
		b = rest;
	}
	return a;
}

/* What the first valid values from `low` on have in common: 8 where a layout takes multiples of 8. */
static double
common_step(struct seeker *s, double low, double high)
{
	enum { ENOUGH = 6 };
	double step = 0;
	int n = 0;

	for (int i = 0; i < LOOKED && low + i <= high && n < ENOUGH && step != 1 && !s->failed; i++)
		if (s->probe(s, low + i).answered) {
			step = common_divisor(low + i, step);
			n++;
		}
	return n >= 2 ? step : 1;
}

static struct values
multiples(double low, double high, double step)
{
	const double first = ceil(low / step) * step;

	return (struct values){first, step, first > high ? 0 : (size_t)floor((high - first) / step) + 1, NULL};
}

static int
by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Multiples of the step by 2, 3, 5 and 7 alone: where valid values are few, they are of such factors. */
static struct values
round_numbers(struct arena *a, double low, double high, double step)
{
	enum { MOST = 4 * MOST_TRIED };
	double *list = ARENA_ARRAY(a, double, MOST);
	size_t n = 0;

	for (double two = step; two <= high; two *= 2)
		for (double three = two; three <= high; three *= 3)
			for (double five = three; five <= high; five *= 5)
				for (double seven = five; seven <= high && n < MOST; seven *= 7)
					if (seven >= low)
						list[n++] = seven;
	qsort(list, n, sizeof *list, by_size);
	return (struct values){.n = n, .list = list};
}

/* --- one by one ------------------------------------------------------------------------------------------ */

/* The condition holds at both ends, or at none: then everywhere, nowhere, or in the middle alone. */
static void
try_middle(struct seeker *s, const struct values *v, struct found *f)
{
	size_t n = 0, n_holds = 0;
	double least_off = INFINITY;

	for (size_t i = 0; i < v->n && !s->failed; i++) {
		const struct probe p = s->probe(s, value_at(v, i));
		if (!p.answered)
			continue;
		n++;
		if (p.holds) {
			f->from = n_holds++ ? f->from : p.x;
			f->to = p.x;
		}
		if (fabs(p.value - p.bound) < least_off) {
			least_off = fabs(p.value - p.bound);
			f->x = p.x;
		}
	}
	f->everywhere = n_holds == n;
	f->nowhere = n_holds == 0;
	f->turns = !f->everywhere && !f->nowhere;
	if (f->everywhere)
		f->x = s->below ? f->to : f->from;
}

static struct found
try_all(struct seeker *s, const struct values *v)
{
	struct found f = {.exact = true};
	size_t first = 0, last = v->n;

	while (first < v->n && !s->probe(s, value_at(v, first)).answered && !s->failed)
		first++;
	while (last > first && !s->probe(s, value_at(v, last - 1)).answered && !s->failed)
		last--;
	if (first == last)
		return f;
	f.some = true;
	const bool at_first = s->probe(s, value_at(v, first)).holds, at_last = s->probe(s, value_at(v, last - 1)).holds;
	if (at_first == at_last) {
		try_middle(s, v, &f);
		return f;
	}
	/* the least from below, or the most from above */
	while (!s->failed && first < last && !s->probe(s, value_at(v, at_last ? first : last - 1)).holds) {
		first += at_last;
		last -= at_first;
	}
	f.x = value_at(v, at_last ? first : last - 1);
	f.least = at_last;
	return f;
}

/* --- by halves ------------------------------------------------------------------------------------------- */

/* A place of a long list, or of a continuous bracket, that has an answer: at or near i, if any. */
static bool
near(struct seeker *s, const struct values *v, double i, double low, double high, double *at)
{
	for (int k = 0; k <= 2 * WALKED && !s->failed; k++) {
		const int away = (k + 1) / 2;
		const double j = k % 2 ? i + away : i - away;
		if (j < low || j > high)
			continue;
		*at = j;
		if (s->probe(s, value_at(v, (size_t)j)).answered)
			return true;
	}
	return false;
}

/* The rows of a few places; false when they turn, which is an error. */
struct course {
	int n, direction;
	double at[SAMPLES];
	struct probe probes[SAMPLES];
};

static bool
add_sample(struct seeker *s, struct course *c, double at, struct probe p)
{
	if (c->n && at <= c->at[c->n - 1])
		return true;
	const double before = c->n ? c->probes[c->n - 1].value : p.value;
	const int step = p.value == before ? 0 : p.value > before ? 1 : -1;
	if (step && c->direction && step != c->direction) {
		s->turns = step;
		s->turns_at = p.x;
		s->failed = true;
		return false;
	}
	c->direction = step ? step : c->direction;
	c->at[c->n] = at;
	c->probes[c->n++] = p;
	return true;
}

/* Places from 0 to n: evenly, or by factors where the values span several powers of ten. */
static double
sample_place(double low, double high, double n, int i)
{
	const double t = (double)i / (SAMPLES - 1);

	if (i == 0 || i == SAMPLES - 1)
		return i ? n : 0;
	return low > 0 && high / low > 100 ? (low * pow(high / low, t) - low) / (high - low) * n : t * n;
}

/* What is known from the samples; `switches` is the first that differs from those before it, or 0. */
static int
read_course(const struct seeker *s, const struct course *c, struct found *f)
{
	int switches = 0;

	f->some = c->n > 0;
	for (int i = 1; i < c->n && !switches; i++)
		switches = c->probes[i].holds != c->probes[i - 1].holds ? i : 0;
	if (!f->some || switches)
		return switches;
	f->everywhere = c->probes[0].holds;
	f->nowhere = !f->everywhere;
	const struct probe first = c->probes[0], last = c->probes[c->n - 1];
	f->x = f->nowhere ? (fabs(first.value - first.bound) < fabs(last.value - last.bound) ? first.x : last.x)
	                  : (s->below ? last.x : first.x);
	return 0;
}

/* Around an answer that was found by halves: rows that go up and down with what divides may hold a little before. */
static double
look_around(struct seeker *s, const struct values *v, double good, double toward, double last)
{
	for (double i = good + toward, looked = 0; looked < WALKED && i >= 0 && i <= last && !s->failed;
	     i += toward, looked++)
		if (s->probe(s, value_at(v, (size_t)i)).holds) {
			good = i;
			looked = 0;
		}
	return good;
}

static struct found
halve_whole(struct seeker *s, const struct values *v)
{
	const double last = (double)v->n - 1;
	struct course c = {0};
	struct found f = {.exact = false};
	double at;

	for (int i = 0; i < SAMPLES && !s->failed; i++)
		if (near(s, v, floor(sample_place(v->first, value_at(v, v->n - 1), last, i) + 0.5), 0, last, &at))
			add_sample(s, &c, at, s->probe(s, value_at(v, (size_t)at)));
	const int k = s->failed ? 0 : read_course(s, &c, &f);
	if (!k)
		return f;
	double good = c.at[c.probes[k].holds ? k : k - 1], bad = c.at[c.probes[k].holds ? k - 1 : k];
	while (fabs(good - bad) > 1 && !s->failed) {
		const double middle = floor((good + bad) / 2);
		if (!near(s, v, middle, fmin(good, bad) + 1, fmax(good, bad) - 1, &at))
			break; /* nothing valid in between */
		if (s->probe(s, value_at(v, (size_t)at)).holds)
			good = at;
		else
			bad = at;
	}
	good = look_around(s, v, good, bad > good ? 1 : -1, last);
	f.x = value_at(v, (size_t)good);
	f.least = bad < good;
	return f;
}

/* A refused middle says nothing: its neighbors are asked, and where none answers that side of it is left. */
static bool
answered_between(struct seeker *s, double good, double bad, struct probe *out)
{
	static const double parts[] = {0.5, 0.375, 0.625, 0.25, 0.75, 0.125};

	for (size_t i = 0; i < sizeof parts / sizeof *parts && !s->failed; i++) {
		*out = s->probe(s, good + (bad - good) * parts[i]);
		if (out->answered)
			return true;
	}
	return false;
}

static double
narrowed(struct seeker *s, double good, double bad)
{
	for (int i = 0; i < STEPS && fabs(good - bad) > 1e-9 * fabs(good) && !s->failed; i++) {
		struct probe p;
		if (!answered_between(s, good, bad, &p))
			bad = good + (bad - good) * 0.125;
		else if (p.holds)
			good = p.x;
		else
			bad = p.x;
	}
	return good;
}

static struct found
halve(struct seeker *s, double low, double high)
{
	struct course c = {0};
	struct found f = {.exact = false};
	double refused_above = NAN;

	for (int i = 0; i < SAMPLES && !s->failed; i++) {
		const double x = low + sample_place(low, high, high - low, i);
		const struct probe p = s->probe(s, x);
		if (p.answered)
			add_sample(s, &c, x, p);
		else if (c.n && c.at[c.n - 1] < x && isnan(refused_above))
			refused_above = x;
	}
	const int k = s->failed ? 0 : read_course(s, &c, &f);
	double good, bad;
	if (k) {
		good = c.at[c.probes[k].holds ? k : k - 1];
		bad = c.at[c.probes[k].holds ? k - 1 : k];
	} else if (f.everywhere && s->below && refused_above > c.at[c.n - 1]) {
		good = c.at[c.n - 1]; /* up to where there is no answer any more */
		bad = refused_above;
		f.everywhere = false;
	} else
		return f;
	f.x = narrowed(s, good, bad);
	return f;
}

struct found
seek(struct seeker *s, double low, double high)
{
	if (!s->whole)
		return halve(s, low, high);
	const struct values all = multiples(low, high, 1);
	if (all.n <= MOST_TRIED)
		return try_all(s, &all);
	const double step = common_step(s, low, high);
	const struct values some = multiples(low, high, step);
	if (some.n <= MOST_TRIED)
		return try_all(s, &some);
	struct found f = halve_whole(s, &some);
	if (f.some || s->failed)
		return f;
	const struct values few = round_numbers(s->arena, low, high, step);
	f = try_all(s, &few);
	f.exact = false;
	return f;
}
