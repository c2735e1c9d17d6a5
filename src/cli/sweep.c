/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --sweep: one question per point, one table. */
#include "cli/points.h"
#include "cli/program.h"

#include <string.h>
#include <unistd.h>

/* Points that each warn of their own number would fill the screen. */
enum { MOST_WORDS = 20 };

static void
merge_words(struct arena *a, struct words *into, const struct words *from)
{
	if (!into->list)
		into->list = ARENA_ARRAY(a, struct word, MOST_WORDS + 1);
	for (size_t i = 0; i < from->n; i++) {
		bool there = false;
		for (size_t k = 0; k < into->n && !there; k++)
			there = strcmp(into->list[k].text, from->list[i].text) == 0;
		if (there || into->n > MOST_WORDS)
			continue;
		into->list[into->n] = into->n < MOST_WORDS ? from->list[i] : (struct word){"and more of the like", {0}};
		into->n++;
	}
}

static const char *
first_error(const struct diag *d)
{
	struct source at;
	const char *hint, *text;
	enum severity severity;

	for (int i = 0; (text = diag_message(d, i, &at, &hint, &severity)); i++)
		if (severity == SEVERITY_ERROR)
			return text;
	return "refused";
}

/* Points that were refused, by what was wrong with them. */
struct refusals {
	size_t n, others;
	struct {
		const char *point, *why;
		size_t count;
	} list[16];
};

static void
add_refusal(
    struct arena *a, struct refusals *refusals, const struct texts *names, const struct texts *values, const char *why)
{
	for (size_t i = 0; i < refusals->n; i++)
		if (strcmp(refusals->list[i].why, why) == 0) {
			refusals->list[i].count++;
			return;
		}
	if (refusals->n == sizeof refusals->list / sizeof *refusals->list) {
		refusals->others++;
		return;
	}
	const char *point = "";
	for (size_t i = 0; i < names->n; i++)
		point = arena_printf(a, "%s%s%s=%s", point, i ? ", " : "", names->list[i], values->list[i]);
	refusals->list[refusals->n].point = point;
	refusals->list[refusals->n].why = why;
	refusals->list[refusals->n++].count = 1;
}

static void
merge_refusals(struct arena *a, struct words *warnings, const struct refusals *refusals)
{
	for (size_t i = 0; i <= refusals->n; i++) {
		struct word w = {NULL, {0}};
		if (i == refusals->n && refusals->others)
			w.text = arena_printf(a, "%zu more points are refused", refusals->others);
		else if (i < refusals->n && refusals->list[i].count > 1)
			w.text = arena_printf(a, "%s and %zu more: %s", refusals->list[i].point,
			    refusals->list[i].count - 1, refusals->list[i].why);
		else if (i < refusals->n)
			w.text = arena_printf(a, "%s: %s", refusals->list[i].point, refusals->list[i].why);
		if (w.text)
			merge_words(a, warnings, &(struct words){1, &w});
	}
}

/* Point number i of the outer product: the last axis moves fastest. */
static const struct node *
point_inputs(struct program *p, const struct node *inputs, const struct axis_values *axes, size_t n_axes, size_t i,
    struct texts *swept)
{
	*swept = (struct texts){n_axes, ARENA_ARRAY(p->arena, const char *, n_axes + 1)};
	for (size_t k = n_axes; k-- > 0; i /= axes[k].n) {
		const char *value = axes[k].values[i % axes[k].n];
		swept->list[k] = value;
		inputs = tree_with(p->arena, inputs, axes[k].path, tree_scalar(p->arena, value, axes[k].at));
	}
	return inputs;
}

int
program_sweep(struct program *p, const struct node *inputs)
{
	const struct settings *sweeps = &p->args.sweeps;
	struct axis_values axes[MAX_SWEEPS];
	size_t n = 1;
	int status = REFUSED;

	if (sweeps->n > MAX_SWEEPS) {
		diag_error(
		    p->diag, (struct source){"--sweep", 0, 0, NULL, false}, "at most %d sweeps at a time", MAX_SWEEPS);
		diag_hint(p->diag, "set some inputs with --set");
		return REFUSED;
	}
	struct report r = output_report_of(p);
	r.sweep = true;
	r.swept.list = ARENA_ARRAY(p->arena, const char *, sweeps->n);
	for (size_t i = 0; i < sweeps->n; i++) {
		if (!sweep_values(p->arena, p->diag, p->command, &sweeps->list[i], &axes[i]))
			return REFUSED;
		r.swept.list[r.swept.n++] = sweeps->list[i].path;
		n *= axes[i].n;
		if (n > MAX_POINTS) {
			diag_error(p->diag, sweeps->list[i].at, "more than %d points", MAX_POINTS);
			diag_hint(p->diag, "shorten the lists");
			return REFUSED;
		}
	}
	r.points = ARENA_ARRAY(p->arena, struct point, n);
	struct sheet **sheets = ARENA_ARRAY(p->arena, struct sheet *, n);
	struct words assumed = {0}, warnings = {0};
	struct refusals refusals = {0};
	struct question q = p->question;
	q.diag = diag_new(p->arena);
	diag_program(q.diag, arena_printf(p->arena, "ridge %s", p->command->name));
	for (size_t i = 0; i < n; i++) {
		struct point *point = &r.points[r.n_points++];
		diag_clear(q.diag);
		const struct node *at = point_inputs(p, inputs, axes, sweeps->n, i, &point->swept);
		const struct answered a = question_ask(&q, at);
		point->status = (int)a.status;
		point->asked = question_inputs(&q, at, &point->n_asked);
		if (a.status == REFUSED) {
			add_refusal(p->arena, &refusals, &r.swept, &point->swept, first_error(q.diag));
			sheet_free(a.sheet);
			continue;
		}
		program_inspect(p, a.sheet);
		status = status == ANSWERED || a.status == ANSWERED ? ANSWERED : ANSWERED_NO;
		point->sheet = sheets[i] = a.sheet;
		merge_words(p->arena, &assumed, &a.assumed);
		merge_words(p->arena, &warnings, &a.warnings);
	}
	if (status == REFUSED)
		diag_print(q.diag, stderr, output_colour(p, STDERR_FILENO));
	else {
		merge_refusals(p->arena, &warnings, &refusals);
		r.assumed = output_texts(p->arena, &assumed);
		r.warnings = output_texts(p->arena, &warnings);
		const int drawn = program_plot_sweep(p, &r);
		status = drawn ? drawn : output_report(p, &r, status);
	}
	for (size_t i = 0; i < r.n_points; i++)
		sheet_free(sheets[i]);
	return status;
}
