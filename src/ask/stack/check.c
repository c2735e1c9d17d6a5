/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recompute a published table from its factors.  A printed figure is `ok` if the recomputed one rounds to its digits,
 * `rounded` if it is within the tolerance, else `wrong`; figures that follow from an earlier wrong one are marked so.
 */
#include "ask/stack/stack.h"
#include "base/base.h"
#include "import/import.h"
#include "model/calc/calc.h"

#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = 1000 };

/* A figure as printed: its value, and half a unit of its last digit. */
struct printed {
	bool given;
	double value, half;
	const char *text;
	struct source at;
};

struct line {
	const char *name;
	int number; /* in the file */
	bool has_factor, has_claim;
	struct step step, claim; /* `factor`, and what `from` says that it should be */
	struct printed factor, speedup, time, cost;
};

struct document {
	const char *name;
	struct printed base_time, base_cost;
	size_t n;
	struct line *lines;
	double tolerance;
};

enum fit { FIT_OK, FIT_ROUNDED, FIT_WRONG };

/* --- reading --------------------------------------------------------------------------------------------- */

/* Digits behind the point, less those that an exponent moves: 1.15 -> 2, 1.5e3 -> -2. */
static int
decimals(const char *text)
{
	enum { FARTHEST = 400 }; /* beyond the range of a double */
	const char *p = text + (*text == '$' || *text == '-' || *text == '+');
	int n = 0;

	while (*p >= '0' && *p <= '9')
		p++;
	if (*p == '.')
		for (p++; *p >= '0' && *p <= '9'; p++)
			n++;
	if (*p == 'e' || *p == 'E') {
		const long exponent = strtol(p + 1, NULL, 10);
		n -= exponent < -FARTHEST ? -FARTHEST : exponent > FARTHEST ? FARTHEST : (int)exponent;
	}
	return n;
}

/* 4.4x, 607ms, $35700 */
static bool
read_printed(struct run *r, const struct cell *cell, enum quantity q, struct printed *out)
{
	struct quantity_fault why;

	*out = (struct printed){.at = cell->at};
	if (!cell->text)
		return true;
	const size_t n = strlen(cell->text);
	const bool times = q == Q_NUMBER && n > 1 && cell->text[n - 1] == 'x';
	const char *text = times ? arena_copy(r->arena, cell->text, n - 1) : cell->text;
	if (!quantity_read(text, q, &out->value, &why)) {
		diag_error(r->diag, cell->at, "%s", why.what);
		diag_hint(r->diag, "%s; a column may give its unit: 'time [ms]'", why.hint);
		return false;
	}
	const char *digits = text + (*text == '$');
	const double number = strtod(digits, NULL), unit = number != 0 ? out->value / number : 0;
	out->half = 0.5 * pow(10, -decimals(text)) * unit;
	out->given = true;
	out->text = cell->text;
	return true;
}

static const struct cell nothing;

static const struct cell *
cell_named(const struct table *t, size_t line, const char *one, const char *other)
{
	size_t c = table_column(t, one);

	if (c == t->n_columns && other)
		c = table_column(t, other);
	return c == t->n_columns ? &nothing : table_cell(t, line, c);
}

/* A factor may be written as any step is: 1.63, 1.63@0.20, 45ms->39ms/119ms, idle:0.15->0.02. */
static bool
read_factor(struct run *r, const char *name, const struct cell *cell, bool *given, struct step *out)
{
	*given = cell->text != NULL;
	if (!*given)
		return true;
	const bool measured = strstr(cell->text, "->") && !strchr(cell->text, ':');
	const struct word w = {arena_printf(r->arena, measured ? "%s:%s" : "%s=%s", name, cell->text), cell->at};
	if (!step_read(r, w, out))
		return false;
	if (!out->ranged && !out->now)
		return true;
	diag_error(r->diag, cell->at, "each line needs a single factor");
	diag_hint(r->diag, "write 1.15, 1.63@0.20 or 45ms->39ms/119ms");
	return false;
}

static bool
read_line(struct run *r, const struct table *t, size_t i, struct line *out)
{
	const struct cell *name = cell_named(t, i, "step", "name");
	const struct cell *factor = cell_named(t, i, "factor", NULL);

	out->name = name->text ? name->text : arena_printf(r->arena, "line %zu", i + 1);
	out->number = table_cell(t, i, 0)->at.line;
	/* names with = or : would be read as something else */
	const char *plain = "step";
	return read_factor(r, plain, factor, &out->has_factor, &out->step) &&
	    read_factor(r, plain, cell_named(t, i, "from", NULL), &out->has_claim, &out->claim) &&
	    read_printed(r, cell_named(t, i, "cumulative", "speedup"), Q_NUMBER, &out->speedup) &&
	    read_printed(r, cell_named(t, i, "time", NULL), Q_TIME, &out->time) &&
	    read_printed(r, cell_named(t, i, "cost", NULL), Q_MONEY, &out->cost) &&
	    (!out->has_claim || read_printed(r, factor, Q_NUMBER, &out->factor));
}

/* Refuse unknown columns, which would otherwise go unchecked. */
static bool
known_columns(struct run *r, const struct table *t)
{
	static const char *const names[] = {
	    "step", "name", "factor", "from", "cumulative", "speedup", "time", "cost", "note"};
	enum { N = sizeof names / sizeof *names };
	bool ok = t->heads != NULL;

	if (!ok) {
		diag_error(r->diag, t->cells[0].at, "column names missing");
		diag_hint(r->diag, "start with a line 'step,factor,cumulative,time,cost'");
	}
	for (size_t c = 0; ok && c < t->n_columns; c++) {
		size_t k = 0;
		while (k < N && t->heads[c] && !text_same_folded(names[k], t->heads[c]))
			k++;
		if (k < N && t->heads[c])
			continue;
		diag_error(r->diag, t->cells[0].at, "unknown column '%s'", t->heads[c] ? t->heads[c] : "");
		diag_hint(r->diag, "use step, factor, from, cumulative, time, cost and note");
		return false;
	}
	return ok;
}

/* The baseline: `base: {time: 850ms, cost: 50000usd}` in the file, the options, or a first line without a factor. */
static bool
read_base(struct run *r, const struct stack_in *in, const struct node *root, struct document *d)
{
	static const char option_time[] = "--base", option_cost[] = "--cost";
	const struct node *time = tree_at(root, "base.time"), *cost = tree_at(root, "base.cost");

	if (time && !read_printed(r, &(struct cell){time->text, time->at}, Q_TIME, &d->base_time))
		return false;
	if (cost && !read_printed(r, &(struct cell){cost->text, cost->at}, Q_MONEY, &d->base_cost))
		return false;
	for (size_t i = 0; i < d->n; i++)
		run_reads(r, d->lines[i].time.given ? &in->base : NULL, NULL);
	for (size_t i = 0; i < d->n; i++)
		run_reads(r, d->lines[i].cost.given ? &in->cost : NULL, NULL);
	if (datum_given(in->base))
		d->base_time = (struct printed){true, in->base.value, 0, option_time, in->base.from};
	if (datum_given(in->cost))
		d->base_cost = (struct printed){true, in->cost.value, 0, option_cost, in->cost.from};
	if (d->n && !d->lines[0].has_factor) {
		d->base_time = d->base_time.given ? d->base_time : d->lines[0].time;
		d->base_cost = d->base_cost.given ? d->base_cost : d->lines[0].cost;
		d->lines++;
		d->n--;
	}
	if (d->n)
		return true;
	diag_error(r->diag, (struct source){0}, "the table has no line with a factor");
	diag_hint(r->diag, "write a step as 'compile, 1.15, 2.74, 310ms'");
	return false;
}

static bool
read_document(struct run *r, const struct stack_in *in, struct document *d)
{
	struct table t;
	const struct node *list = in->table ? tree_get(in->table, "steps") : NULL;

	run_reads(r, &in->check, &in->table, NULL);
	*d = (struct document){.name = in->check.text ? in->check.text : "the job", .tolerance = in->tolerance.value};
	if (in->check.text ? !table_read_file(r->arena, r->diag, in->check.text, "steps", &t)
	                   : !table_of_list(r->arena, r->diag, list ? list : in->table, &t))
		return false;
	if (t.n_lines > LINES_MAX) {
		diag_error(r->diag, table_cell(&t, LINES_MAX, 0)->at, "more than %d lines", LINES_MAX);
		diag_hint(r->diag, "check the table in parts");
		return false;
	}
	if (!known_columns(r, &t))
		return false;
	d->n = t.n_lines;
	d->lines = ARENA_ARRAY(r->arena, struct line, t.n_lines);
	for (size_t i = 0; i < t.n_lines; i++)
		if (!read_line(r, &t, i, &d->lines[i]))
			return false;
	return read_base(r, in, in->table ? in->table : t.root, d);
}

/* --- checking -------------------------------------------------------------------------------------------- */

static enum fit
fit_of(const struct document *d, const struct printed *p, double right)
{
	const double off = fabs(p->value - right);

	if (off <= p->half * (1 + 1e-9))
		return FIT_OK;
	return off <= d->tolerance * fabs(right) ? FIT_ROUNDED : FIT_WRONG;
}

/* Finding of a line: the worst of its figures. */
struct checked {
	enum fit worst;
	const char *text;
};

/* `follows` is what an earlier printed figure would make it, NaN when there is none. */
static void
judge(struct run *r, const struct document *d, const struct printed *p, const char *name, const char *row, double right,
    double follows, struct checked *f)
{
	char buf[60];

	if (!p->given)
		return;
	const enum fit fit = fit_of(d, p, right);
	f->worst = fit > f->worst ? fit : f->worst;
	if (fit != FIT_WRONG)
		return;
	const bool carried = !isnan(follows) && fit_of(d, p, follows) != FIT_WRONG;
	value_write_digits(row, right, 4, buf, sizeof buf);
	f->text = arena_printf(r->arena, "%s%s%s %s, not %s%s", f->text ? f->text : "wrong: ", f->text ? "; " : "",
	    name, buf, p->text, carried ? " (follows)" : "");
}

static const char *const fit_words[] = {"ok", "rounded", "wrong"};

/* The last printed product before this line, times the factors since: what a writer who goes on from it gets. */
struct step_chain {
	double speedup, printed; /* printed NaN: nothing was printed yet */
	double right;            /* with the factors that `from` gives */
};

static void
check_speedup(
    struct run *r, const struct document *d, const struct line *l, const struct step_chain *c, struct checked *f)
{
	struct sheet *sh = r->sheet;

	TAKE(sh, so_far, c->speedup);
	CALL(sh, factor, l->has_factor ? step_factor(sh, &l->step, 0, NAN) : gain_factor(sh, 1));
	SHOW(sh, factor, factor);
	if (l->has_claim) {
		CALL(sh, right_factor, step_factor(sh, &l->claim, 0, NAN));
		SHOW(sh, right_factor, right_factor);
		judge(r, d, &l->factor, "factor", "x", right_factor, NAN, f);
	}
	CALL(sh, speedup, gain_product(sh, so_far, factor));
	SHOW(sh, speedup, speedup);
	if (l->speedup.given) {
		TAKE(sh, printed_speedup, l->speedup.value);
		SHOW(sh, printed_speedup, printed_speedup);
		TELL_HIDDEN(sh, speedup_fit, fit_words[fit_of(d, &l->speedup, speedup)]);
	}
	judge(r, d, &l->speedup, "cumulative", "x", speedup, c->printed * factor, f);
}

/* Time and money at the right speedup; `claimed` is the printed one. */
static void
check_figures(
    struct run *r, const struct document *d, const struct line *l, double speedup, double claimed, struct checked *f)
{
	struct sheet *sh = r->sheet;

	if (l->time.given && d->base_time.given) {
		TAKE(sh, base_s, d->base_time.value);
		CALL(sh, time_s, gain_time(sh, base_s, speedup));
		TAKE(sh, printed_s, l->time.value);
		SHOW(sh, time_s, time_s);
		SHOW(sh, printed_s, printed_s);
		TELL_HIDDEN(sh, time_fit, fit_words[fit_of(d, &l->time, time_s)]);
		judge(r, d, &l->time, "time", "x_s", time_s, gain_time(NULL, base_s, claimed), f);
	}
	if (l->cost.given && d->base_cost.given) {
		TAKE(sh, base_usd, d->base_cost.value);
		CALL(sh, cost_usd, gain_cost(sh, base_usd, speedup));
		TAKE(sh, printed_usd, l->cost.value);
		SHOW(sh, cost_usd, cost_usd);
		SHOW(sh, printed_usd, printed_usd);
		TELL_HIDDEN(sh, cost_fit, fit_words[fit_of(d, &l->cost, cost_usd)]);
		judge(r, d, &l->cost, "cost", "x_usd", cost_usd, gain_cost(NULL, base_usd, claimed), f);
	}
}

static enum fit
check_line(struct run *r, const struct document *d, size_t i, struct step_chain *c)
{
	const struct line *l = &d->lines[i];
	struct sheet *sh = r->sheet;
	struct checked f = {FIT_OK, NULL};

	SCOPE_I (sh, "lines", i) {
		const double factor = l->has_factor ? step_factor(NULL, &l->step, 0, NAN) : 1;
		const double speedup = gain_product(NULL, c->speedup, factor);
		const double claimed = l->speedup.given ? l->speedup.value : c->printed * factor;
		TAKE(sh, n_line, l->number);
		SHOW(sh, n_line, line);
		TELL(sh, step, l->name);
		check_speedup(r, d, l, c, &f);
		check_figures(r, d, l, speedup, claimed, &f);
		TELL(sh, finding, f.text ? f.text : fit_words[f.worst]);
		c->speedup = speedup;
		c->right = gain_product(NULL, c->right, l->has_claim ? step_factor(NULL, &l->claim, 0, NAN) : factor);
		c->printed = claimed;
	}
	return f.worst;
}

/* Show the totals of the table with the computed factors. */
static void
show_right(struct run *r, const struct document *d, const struct step_chain *c)
{
	struct sheet *sh = r->sheet;

	if (c->right == c->speedup)
		return;
	TAKE(sh, right_speedup, c->right);
	SHOW(sh, right_speedup, right_speedup);
	if (d->base_time.given) {
		TAKE(sh, base_s, d->base_time.value);
		CALL(sh, right_s, gain_time(sh, base_s, right_speedup));
		SHOW(sh, right_s, right_s);
	}
}

enum answer
stack_check(struct run *r, const struct stack_in *in)
{
	struct sheet *sh = r->sheet;
	struct document d;
	struct step_chain c = {1, NAN, 1};
	const char *wrong = NULL;
	size_t n_wrong_lines = 0;

	if (!read_document(r, in, &d))
		return REFUSED;
	r->title = arena_printf(r->arena, "Check of %s", d.name);
	for (size_t i = 0; i < d.n; i++)
		if (check_line(r, &d, i, &c) == FIT_WRONG) {
			n_wrong_lines++;
			wrong =
			    arena_printf(r->arena, "%s%s%d", wrong ? wrong : "", wrong ? ", " : "", d.lines[i].number);
		}
	TAKE(sh, n_lines, (double)d.n);
	TAKE(sh, n_wrong, (double)n_wrong_lines);
	TAKE(sh, tolerance_frac, in->tolerance);
	SHOW(sh, n_lines, n_lines);
	SHOW(sh, n_wrong, n_wrong);
	(void)tolerance_frac;
	show_right(r, &d, &c);
	TELL(sh, verdict, wrong ? arena_printf(r->arena, "wrong in line %s", wrong) : "right");
	return wrong ? ANSWERED_NO : ANSWERED;
}
