/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parse the values of a sweep. */
#include "cli/cli.h"

#include "base/base.h"
#include "base/sheet.h"
#include "cli/parts.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* --sweep: one query per point, one table. */

static const char *
first_error(const struct diag *d, const char **hint)
{
	struct source at;
	const char *text;
	enum severity severity;

	for (int i = 0; (text = diag_message(d, i, &at, hint, &severity)); i++)
		if (severity == SEVERITY_ERROR)
			return text;
	*hint = NULL;
	return "refused";
}

/* Points that were refused, by what was wrong with them. */
struct refusals {
	size_t n, others;
	struct {
		const char *point, *why, *hint;
		size_t count;
	} list[16];
};

static void
add_refusal(struct arena *a, struct refusals *refusals, const struct texts *names, const struct texts *values,
    const struct diag *d)
{
	const char *hint, *why = first_error(d, &hint);

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
	refusals->list[refusals->n].why = arena_text(a, why);
	refusals->list[refusals->n].hint = hint ? arena_text(a, hint) : NULL;
	refusals->list[refusals->n++].count = 1;
}

static void
merge_refusals(struct arena *a, struct words *warnings, const struct refusals *refusals)
{
	for (size_t i = 0; i <= refusals->n; i++) {
		struct word w = {NULL, {0}};
		if (i == refusals->n && refusals->others)
			w.text = arena_printf(a, "%zu more points rejected", refusals->others);
		else if (i < refusals->n && refusals->list[i].count > 1)
			w.text = arena_printf(a, "%s and %zu more: %s", refusals->list[i].point,
			    refusals->list[i].count - 1, refusals->list[i].why);
		else if (i < refusals->n)
			w.text = arena_printf(a, "%s: %s", refusals->list[i].point, refusals->list[i].why);
		if (w.text)
			question_merge(a, warnings, &(struct words){1, &w});
	}
}

/* No point was answered: print every fault of the last one, and the first of points with another. */
static void
print_refusals(struct program *p, const struct refusals *refusals, const struct diag *last)
{
	const char *hint, *said = first_error(last, &hint);

	diag_print(last, stderr, output_color(p, STDERR_FILENO));
	for (size_t i = 0; i < refusals->n; i++) {
		if (strcmp(refusals->list[i].why, said) == 0)
			continue;
		diag_error(p->diag, (struct source){"--sweep", 0, 0, NULL, false}, "%s: %s", refusals->list[i].point,
		    refusals->list[i].why);
		if (refusals->list[i].hint)
			diag_hint(p->diag, "%s", refusals->list[i].hint);
	}
}

/* --- points ---------------------------------------------------------------------------------------------- */

struct axes {
	size_t n, n_points;
	struct axis_values list[MAX_SWEEPS];
};

static bool
read_axes(struct program *p, const struct node *inputs, struct axes *out)
{
	const struct settings *sweeps = &p->args.sweeps;

	*out = (struct axes){.n_points = 1};
	if (sweeps->n > MAX_SWEEPS) {
		diag_error(
		    p->diag, (struct source){"--sweep", 0, 0, NULL, false}, "at most %d sweeps at a time", MAX_SWEEPS);
		diag_hint(p->diag, "set some inputs with --set");
		return false;
	}
	for (; out->n < sweeps->n; out->n++) {
		struct axis_values *axis = &out->list[out->n];
		if (!sweep_values(p->arena, p->diag, p->command, &sweeps->list[out->n], axis) ||
		    !inputs_check(p->arena, p->diag, p->command, inputs, axis->path))
			return false;
		out->n_points *= axis->n;
		if (out->n_points > MAX_POINTS) {
			diag_error(p->diag, sweeps->list[out->n].at, "more than %d points", MAX_POINTS);
			diag_hint(p->diag, "shorten the lists");
			return false;
		}
	}
	return true;
}

/* Point number i of the outer product: the last axis moves fastest. */
static const struct node *
point_inputs(struct arena *a, const struct node *inputs, const struct axes *axes, size_t i, struct texts *swept)
{
	*swept = (struct texts){axes->n, ARENA_ARRAY(a, const char *, axes->n + 1)};
	for (size_t k = axes->n; k-- > 0; i /= axes->list[k].n) {
		const char *value = axes->list[k].values[i % axes->list[k].n];
		swept->list[k] = value;
		inputs = tree_with(a, inputs, axes->list[k].path, tree_scalar(a, value, axes->list[k].at));
	}
	return inputs;
}

/* --- where the answer goes -------------------------------------------------------------------------------- */

/* What is printed goes out as it comes, once nothing can refuse the request any more; until then it is held. */
struct sink {
	struct program *p;
	FILE *to; /* into text */
	char *text;
	size_t n;
	FILE *file; /* of -o, or NULL */
	bool flows;
	int status; /* of what was written */
};

static bool
sink_open(struct program *p, struct sink *s)
{
	*s = (struct sink){.p = p, .flows = false};
	if (output_to_file(&p->args) && !(s->file = output_open(p)))
		return false;
	s->to = output_memory(&s->text, &s->n);
	return true;
}

/* False when standard output is closed. */
static bool
sink_pass(struct sink *s)
{
	fflush(s->to);
	if (s->n == 0 || (!s->file && !s->flows))
		return true;
	if (s->file)
		fwrite(s->text, 1, s->n, s->file);
	else
		s->status = output_stdout(s->p->diag, s->text, s->n);
	rewind(s->to);
	return s->status == 0 && !ferror(stdout);
}

static void
sink_close(struct sink *s)
{
	if (s->to)
		fclose(s->to);
	free(s->text);
}

/* --- the sweep -------------------------------------------------------------------------------------------- */

struct sweeper {
	struct program *p;
	const struct node *inputs;
	struct axes axes;
	struct report head;
	struct points_report *report;
	struct assumptions assumed;
	struct words warnings;
	struct refusals refusals;
	struct unread unread; /* inputs that no point has read so far */
	struct sink sink;
	int status;
};

/* A file that an option names would be written again at every point. */
static bool
writes_files(struct sweeper *s, size_t n_before)
{
	struct program *p = s->p;

	if (outputs_count(p->outputs) == n_before || s->axes.n_points == 1)
		return false;
	diag_error(p->diag, (struct source){"--sweep", 0, 0, NULL, false}, "a sweep would write '%s' at every point",
	    outputs_name(p->outputs, n_before));
	diag_hint(p->diag, "write the file of one point at a time");
	return true;
}

/* Answer one point, with its own memory.  False when the sweep cannot go on; `last` then gets its faults. */
static bool
answer_point(struct sweeper *s, struct arena *passing, size_t i)
{
	struct program *p = s->p;
	struct diag *d = diag_new(passing);
	const struct question q = question_apart(&p->question, passing, d, p->outputs);
	const size_t n_files = outputs_count(p->outputs);
	struct answer_point point = {0};

	diag_program(d, arena_printf(passing, "ridge %s", p->command->name));
	const struct node *at = point_inputs(passing, s->inputs, &s->axes, i, &point.swept);
	const struct answered a = question_ask(&q, at);
	point.asked = question_inputs(&q, at, &point.n_asked);
	if (a.status == REFUSED) {
		point.faults = d;
		add_refusal(p->arena, &s->refusals, &s->head.swept, &point.swept, d);
		if (s->status == REFUSED && i + 1 == s->axes.n_points)
			print_refusals(p, &s->refusals, d);
	} else {
		program_inspect(p, a.sheet);
		if (a.reads)
			unread_note(p->arena, &s->unread, a.reads);
		s->status = s->status == ANSWERED || a.status == ANSWERED ? ANSWERED : ANSWERED_NO;
		point.sheet = a.sheet;
		point.assumed = a.assumed;
		question_merge_assumed(p->arena, &s->assumed, &a.assumed);
		question_merge(p->arena, &s->warnings, &a.warnings);
	}
	points_report_add(s->report, s->sink.to, &point);
	sheet_free(a.sheet);
	return !writes_files(s, n_files);
}

static bool
answer_points(struct sweeper *s)
{
	struct arena *passing = arena_new();
	bool ok = true;

	for (size_t i = 0; i < s->axes.n_points && ok; i++) {
		arena_clear(passing);
		ok = answer_point(s, passing, i);
		s->sink.flows =
		    s->status != REFUSED && s->unread.n == 0 && !s->p->args.plot && points_report_found(s->report);
		if (ok && !sink_pass(&s->sink))
			break;
	}
	arena_free(passing);
	return ok;
}

static int
finish(struct sweeper *s)
{
	struct program *p = s->p;
	char why[500];

	merge_refusals(p->arena, &s->warnings, &s->refusals);
	s->head.assumed = s->assumed;
	s->head.warnings = output_texts(p->arena, &s->warnings);
	if (!unread_report(p->diag, p->command, &s->unread))
		return REFUSED;
	if (!points_report_end(s->report, s->sink.to, why, sizeof why)) {
		output_no_row(p, why);
		return REFUSED;
	}
	const struct plot *plot = p->args.plot ? points_report_plot(s->report, why, sizeof why) : NULL;
	const int drawn = program_plot(p, plot, why);
	if (drawn)
		return drawn;
	s->sink.flows = true;
	if (s->sink.file)
		sink_pass(&s->sink);
	if (!outputs_commit(p->outputs, p->diag))
		return STATUS_FAILED;
	sink_pass(&s->sink);
	output_warnings(p, &s->head);
	return s->sink.status ? s->sink.status : s->status;
}

/* The heading of an axis: the name of the option that was meant, where an alias was typed. */
static const char *
sweep_name(const struct program *p, const struct axis_values *axis, size_t i)
{
	const char *typed = p->args.sweeps.list[i].path;
	const struct option *o = command_option_at(p->command, axis->path);

	if (!o || alias_find(p->command, typed, NULL) != o)
		return typed;
	return o->name ? o->name : o->path + strlen("layout.");
}

int
program_sweep(struct program *p, const struct node *inputs)
{
	struct sweeper s = {.p = p, .inputs = inputs, .head = output_report_of(p), .status = REFUSED};
	int status = REFUSED;

	if (!read_axes(p, inputs, &s.axes))
		return REFUSED;
	outputs_guard(p->outputs, p->command, inputs, &p->question.files);
	for (size_t i = 0; i < p->args.sweeps.n; i++)
		outputs_guard_word(p->outputs, p->args.sweeps.list[i].text);
	if (!sink_open(p, &s.sink))
		return REFUSED;
	s.head.swept.list = ARENA_ARRAY(p->arena, const char *, s.axes.n);
	for (; s.head.swept.n < s.axes.n; s.head.swept.n++)
		s.head.swept.list[s.head.swept.n] = sweep_name(p, &s.axes.list[s.head.swept.n], s.head.swept.n);
	s.report = points_report_new(output_format(&p->args), &s.head, p->args.plot != NULL);
	points_report_begin(s.report, s.sink.to);
	if (!answer_points(&s) || s.status == REFUSED)
		goto out;
	status = s.sink.status || ferror(stdout) ? s.sink.status : finish(&s);
out:
	outputs_drop(p->outputs);
	sink_close(&s.sink);
	return status;
}
