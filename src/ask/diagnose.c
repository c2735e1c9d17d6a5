/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Show likely causes: evidence, potential saving, fixes, sizing command. */
#include "ask/ask.h"

#include "base/base.h"
#include "cli/cli.h"
#include "model/calc/calc.h"
#include "model/measured/measured.h"

#include <string.h>

/* --- parts --------------------------------------------------------------------------------------------------- */

/* The parts of a measured step: their times and shares, and how far they exceed what was predicted. */

#define SET_DATUM(sh, name, d) ((name) = sheet_take_datum((sh), #name, #d, (d)))

/* A function for each part: its time and its share of the step, as rows. */
#define PART(name, title, waits)                                                                                       \
	static struct part_value show_##name(struct sheet *sh, const struct part_value *p, double step_s)              \
	{                                                                                                              \
		double name##_s = NAN, name##_frac;                                                                    \
		if (datum_given(p->time_s)) {                                                                          \
			SET_DATUM(sh, name##_s, p->time_s);                                                            \
			SET_CALL(sh, name##_frac, latency_share(sh, name##_s, step_s));                                \
		} else {                                                                                               \
			SET_DATUM(sh, name##_frac, p->share_frac);                                                     \
			if (!isnan(step_s))                                                                            \
				SET_CALL(sh, name##_s, gain_share_time(sh, step_s, name##_frac));                      \
		}                                                                                                      \
		SHOW(sh, name##_frac, name##_frac);                                                                    \
		return (struct part_value){{name##_s, {0}}, {name##_frac, {0}}};                                       \
	}
PARTS(PART)
#undef PART

static const struct {
	const char *name, *time, *share;
	bool waits;
	struct part_value (*show)(struct sheet *sh, const struct part_value *p, double step_s);
} parts[N_STEP_PARTS] = {
#define PART(name, title, waits) [PART_##name] = {#name, #name "_s", #name "_frac", waits, show_##name},
    PARTS(PART)
#undef PART
};

/* `NAME=`, a part of the list; N_STEP_PARTS with an error.  *value is what stands behind it. */
static enum step_part
part_of(struct run *r, struct word w, const char **value)
{
	const char *names[N_STEP_PARTS], *sign = strchr(w.text, '=');
	const char *name = sign ? arena_copy(r->arena, w.text, (size_t)(sign - w.text)) : w.text;

	for (int p = 0; p < N_STEP_PARTS; p++) {
		if (sign && strcmp(parts[p].name, name) == 0) {
			*value = sign + 1;
			return (enum step_part)p;
		}
		names[p] = parts[p].name;
	}
	if (!sign) {
		diag_error(r->diag, w.from, "'%s' is not of the form PART=TIME or PART=SHARE", w.text);
		diag_hint(r->diag, "write for example load=450ms or comm=12%%");
		return N_STEP_PARTS;
	}
	diag_error(r->diag, w.from, "a step has no part '%s'", name);
	const char *near = text_nearest(name, names, N_STEP_PARTS);
	diag_hint(r->diag, near ? "did you mean '%s'?" : "'ridge diagnose --help' lists the parts; the rest is '%s'",
	    near ? near : "other");
	return N_STEP_PARTS;
}

static bool
read_part(struct run *r, struct word w, struct breakdown *b)
{
	const char *text;
	const enum step_part p = part_of(r, w, &text);
	struct quantity_fault fault;
	double value;

	if (p == N_STEP_PARTS)
		return false;
	if (datum_given(b->part[p].time_s) || datum_given(b->part[p].share_frac))
		return run_refuse(r, w.from, arena_printf(r->arena, "the part of '%s' is given twice", w.text),
		    "add the two together");
	b->n++;
	if (quantity_read(text, Q_TIME, &value, &fault) && value >= 0) {
		if (!bounds_check(r->diag, w.from, parts[p].name, Q_TIME, value))
			return false;
		b->part[p].time_s = (struct datum){value, w.from};
		b->n_times++;
		return true;
	}
	if (quantity_read(text, Q_FRACTION, &value, &fault) && value >= 0 && value <= 1) {
		b->part[p].share_frac = (struct datum){value, w.from};
		return true;
	}
	diag_error(r->diag, w.from, "'%s' is neither a time nor a share of the step", text);
	diag_hint(r->diag, "write 450ms, or 45%%");
	return false;
}

/* Whether parts are all of a step: some of it must compute. */
static bool
computes(const struct breakdown *b)
{
	for (int p = 0; p < N_STEP_PARTS; p++)
		if (!parts[p].waits && b->part[p].time_s.value > 0)
			return true;
	return false;
}

bool
diagnose_read_parts(struct run *r, const struct diagnose_in *in, struct breakdown *b)
{
	run_reads(r, &in->parts, NULL);
	*b = (struct breakdown){.n = 0};
	for (int p = 0; p < N_STEP_PARTS; p++)
		b->part[p] = (struct part_value){datum_absent(), datum_absent()};
	for (size_t i = 0; i < in->parts.n; i++)
		if (!read_part(r, in->parts.list[i], b))
			return false;
	if (b->n_times == 0 || datum_given(in->step) || (b->n_times == b->n && computes(b)))
		return true;
	diag_error(r->diag, in->parts.list[0].from,
	    b->n_times < b->n ? "mixed times and shares need the step time" : "step time missing: no part is compute");
	diag_hint(r->diag, "add --step 1.2s");
	return false;
}

static void
learn(struct figures *f, const char *name, double value)
{
	const enum figure i = figure_find(name);

	if (i != FIGURE_NONE && !isnan(value))
		f->value[i] = value;
}

/* The sum of the parts is the step if no step time was given. */
static double
show_sum(struct run *r, const struct breakdown *b)
{
	struct sheet *sh = r->sheet;
	double times[N_STEP_PARTS];
	int n = 0;

	for (int p = 0; p < N_STEP_PARTS; p++)
		if (datum_given(b->part[p].time_s))
			times[n++] = b->part[p].time_s.value;
	CALL(sh, step_s, diagnose_step(sh, times, n));
	SHOW(sh, step_s, step_s);
	return step_s;
}

/* Rows of all parts; false when they are more than the step. */
bool
diagnose_show_parts(struct run *r, const struct breakdown *b, struct figures *f, double *busy_frac)
{
	struct sheet *sh = r->sheet;
	double all[N_STEP_PARTS], waiting[N_STEP_PARTS], computing[N_STEP_PARTS];
	int n = 0, n_waiting = 0, n_computing = 0;

	if (b->n && b->n_times == b->n && isnan(f->value[FIGURE_step_s]))
		f->value[FIGURE_step_s] = show_sum(r, b);
	for (int p = 0; p < N_STEP_PARTS; p++) {
		if (!datum_given(b->part[p].time_s) && !datum_given(b->part[p].share_frac))
			continue;
		const struct part_value v = parts[p].show(sh, &b->part[p], f->value[FIGURE_step_s]);
		learn(f, parts[p].time, v.time_s.value);
		learn(f, parts[p].share, v.share_frac.value);
		all[n++] = v.share_frac.value;
		if (parts[p].waits)
			waiting[n_waiting++] = v.share_frac.value;
		else if (p != PART_other)
			computing[n_computing++] = v.share_frac.value;
	}
	CALL(sh, waiting_frac, diagnose_together(sh, waiting, n_waiting));
	CALL(sh, parts_frac, diagnose_together(sh, all, n));
	CALL(sh, computing_frac, diagnose_together(sh, computing, n_computing));
	*busy_frac = computing_frac;
	if (!isnan(f->value[FIGURE_gpu_busy_frac])) {
		const double gpu_busy_frac = f->value[FIGURE_gpu_busy_frac];
		CALL(sh, idle_frac, diagnose_idle(sh, gpu_busy_frac, computing_frac, waiting_frac));
		f->value[FIGURE_idle_frac] = idle_frac;
	}
	if (parts_frac > 1.01) {
		SHOW(sh, parts_frac, parts_frac);
		return false;
	}
	return true;
}

/* Forward and backward are the compute of a step if that was not given. */
void
diagnose_join_passes(struct run *r, const struct breakdown *b, struct figures *f)
{
	struct sheet *sh = r->sheet;
	const double both[] = {b->part[PART_forward].time_s.value, b->part[PART_backward].time_s.value};

	if (!isnan(f->value[FIGURE_compute_s]) || isnan(both[0]) || isnan(both[1]))
		return;
	const double step_s = f->value[FIGURE_step_s];
	CALL(sh, compute_s, diagnose_step(sh, both, 2));
	CALL(sh, compute_frac, latency_share(sh, compute_s, step_s));
	f->value[FIGURE_compute_s] = compute_s;
	f->value[FIGURE_compute_frac] = compute_frac;
}

/* --- measured against predicted -------------------------------------------------------------------------- */

#define PREDICTED(X)                                                                                                   \
	X(load, "load time over prediction")                                                                           \
	X(compute, "compute time over prediction")                                                                     \
	X(comm, "communication time over prediction")                                                                  \
	X(step, "step time over prediction")
#define ONE(name, title)                                                                                               \
	static double exceed_##name(struct sheet *sh, struct datum predicted, double name##_s, double whole_s)         \
	{                                                                                                              \
		TAKE(sh, predicted_##name##_s, predicted);                                                             \
		CALL(sh, name##_ratio, scale_speedup_time(sh, name##_s, predicted_##name##_s));                        \
		CALL(sh, name##_excess_frac, diagnose_excess(sh, name##_s, predicted_##name##_s, whole_s));            \
		SHOW(sh, name##_ratio, name##_ratio);                                                                  \
		return name##_excess_frac;                                                                             \
	}
PREDICTED(ONE)
#undef ONE

bool
diagnose_show_predicted(struct run *r, struct word w, struct figures *f)
{
	static const struct {
		const char *name;
		enum figure measured, excess;
		double (*exceed)(struct sheet *sh, struct datum predicted, double measured_s, double whole_s);
	} known[] = {
#define ONE(name, title) {#name, FIGURE_##name##_s, FIGURE_##name##_excess_frac, exceed_##name},
	    PREDICTED(ONE)
#undef ONE
	};
	const char *sign = strchr(w.text, '=');
	struct quantity_fault fault;
	double value;

	for (size_t i = 0; sign && i < sizeof known / sizeof *known; i++) {
		if (strncmp(known[i].name, w.text, (size_t)(sign - w.text)) != 0 ||
		    known[i].name[sign - w.text] != '\0' || !quantity_read(sign + 1, Q_TIME, &value, &fault) ||
		    value <= 0)
			continue;
		if (isnan(f->value[known[i].measured]) || isnan(f->value[FIGURE_step_s])) {
			diag_error(r->diag, w.from, "'%s' is predicted but not measured", known[i].name);
			diag_hint(r->diag, "add --step 1.2s%s%s%s", i < 3 ? " --parts " : "",
			    i < 3 ? known[i].name : "", i < 3 ? "=450ms" : "");
			return false;
		}
		if (!bounds_check(r->diag, w.from, known[i].name, Q_TIME, value))
			return false;
		const struct datum predicted = {value, w.from};
		f->value[known[i].excess] =
		    known[i].exceed(r->sheet, predicted, f->value[known[i].measured], f->value[FIGURE_step_s]);
		return true;
	}
	diag_error(r->diag, w.from, "'%s' is not of the form PART=TIME", w.text);
	diag_hint(r->diag, "write for example comm=180ms; predictions are load, compute, comm and step");
	return false;
}

/* Format the signs that hold: `GPU busy 15 % (below 60 %)`. */
static const char *
evidence(struct run *r, const struct diagnosis *d, const struct figures *f, struct weighed *w)
{
	const char *out = "";
	char value[40], limit[40];

	for (int i = 0; i < d->n_signs; i++) {
		const struct sign *s = &d->signs[i];
		const char *name = figure_name(s->figure);
		const bool above = datum_given(s->above);
		if (!sign_holds(s, f))
			continue;
		w->figure[s->figure] = true;
		out = arena_printf(r->arena, "%s%s%s", out, *out ? ", " : "", figure_title(s->figure));
		if (!above && !datum_given(s->below))
			continue;
		value_write(name, f->value[s->figure], value, sizeof value);
		value_write(name, above ? s->above.value : s->below.value, limit, sizeof limit);
		out = arena_printf(r->arena, "%s %s (%s %s)", out, value, above ? "above" : "below", limit);
	}
	return out;
}

/* Format a measurement as its option takes it. */
static const char *
option_text(struct arena *a, const char *name, double value)
{
	static const struct {
		enum quantity quantity;
		double scale;
		const char *unit;
	} units[] = {{Q_TIME, 1, "s"}, {Q_TIME, 1e-3, "ms"}, {Q_TIME, 1e-6, "us"}, {Q_TIME, 0, "us"},
	    {Q_SIZE, 1e9, "GB"}, {Q_SIZE, 1e6, "MB"}, {Q_SIZE, 0, "B"}};
	const struct dim dim = dim_of_name(name);

	if (name_is_fraction(name))
		return arena_printf(a, "%.6g%%", 100 * value);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (dim_equal(dim, quantity_dim(units[i].quantity)) && value >= units[i].scale)
			return arena_printf(
			    a, "%.6g%s", value / (units[i].scale > 0 ? units[i].scale : 1), units[i].unit);
	return arena_printf(a, "%.6g", value);
}

struct filling {
	struct run *r;
	const struct diagnose_in *in;
	const struct figures *figures;
	struct weighed *weighed;
	const char *examples; /* example values in command lines, for figures that were not measured */
};

static const char *
known_text(void *context, const char *name)
{
	const struct filling *x = context;
	const enum figure f = figure_find(name);

	if (strcmp(name, "model") == 0) {
		x->weighed->model = true;
		return x->in->model.text;
	}
	if (strcmp(name, "gpu") == 0) {
		x->weighed->gpu = true;
		return x->in->gpu.text;
	}
	if (f == FIGURE_NONE || isnan(x->figures->value[f]))
		return NULL;
	x->weighed->figure[f] = true;
	return option_text(x->r->arena, name, x->figures->value[f]);
}

static void
missing_text(void *context, const char *name, const char *example)
{
	struct filling *x = context;
	const enum figure f = figure_find(name);

	const char *one = arena_printf(x->r->arena, "%s %s", f == FIGURE_NONE ? name : figure_title(f), example);
	if (!strstr(x->examples, one))
		x->examples = arena_printf(x->r->arena, "%s%s%s", x->examples, *x->examples ? ", " : "", one);
}

/* Record the place of each sign that holds, for --explain and --json. */
static void
record_signs(struct run *r, const struct diagnosis *d, const struct figures *f)
{
	struct sheet *sh = r->sheet;
	int n = 0;

	for (int i = 0; i < d->n_signs; i++) {
		const struct sign *s = &d->signs[i];
		if (!sign_holds(s, f) || (!datum_given(s->above) && !datum_given(s->below)))
			continue;
		SCOPE_I (sh, "signs", n++) {
			const bool above = datum_given(s->above);
			TELL_HIDDEN(sh, side, above ? "above" : "below");
			sheet_take_datum(sh, figure_name(s->figure), "limit", above ? s->above : s->below);
		}
	}
}

static const char *
later_fixes(struct run *r, const struct diagnosis *d)
{
	const char *out = "";

	for (int i = 1; i < d->n_fixes; i++)
		out = arena_printf(r->arena, "%s%s%s", out, *out ? "; then " : "", d->fixes[i].text);
	return out;
}

static const char *
citations(struct run *r, const struct diagnosis *d)
{
	const char *out = "";

	for (int i = 0; i < d->n_fixes; i++)
		if (d->fixes[i].cite && !strstr(out, d->fixes[i].cite))
			out = arena_printf(r->arena, "%s%s%s", out, *out ? "; " : "", d->fixes[i].cite);
	return out;
}

static void
show_cause(struct run *r, struct filling *filling, const struct finding *found)
{
	static const char *const harms[] = {"ends the run", "spoils the result", "slows the run"};
	struct sheet *sh = r->sheet;
	const struct diagnosis *d = found->cause;
	const struct figures *f = filling->figures;
	const struct diagnosis_words words = {known_text, missing_text, filling};
	int column;

	TELL_HIDDEN(sh, id, d->id);
	TELL(sh, cause, d->name);
	TELL(sh, impact, harms[d->harm]);
	TELL(sh, evidence, evidence(r, d, f, filling->weighed));
	if (found->stake) {
		const double stake_frac = sheet_let(sh, "stake_frac", found->stake, found->stake_frac);
		SHOW(sh, stake_frac, saving_frac);
		CALL(sh, gain, gain_limit(sh, stake_frac));
		SHOW(sh, gain, max_speedup);
	}
	TELL(sh, fix, d->fixes[0].text);
	if (d->n_fixes > 1)
		TELL(sh, then, later_fixes(r, d));
	TELL(sh, command, arena_printf(r->arena, "ridge %s", diagnosis_command(r->arena, d->command, &words, &column)));
	TELL_HIDDEN(sh, sources, citations(r, d));
	record_signs(r, d, f);
}

/* List the options that would confirm the first cause: its signs without a measurement. */
static void
show_unknown(struct run *r, const struct diagnosis *d, const struct figures *f)
{
	const char *out = "";
	int n = 0;

	for (int i = 0; i < d->n_signs && n < 4; i++) {
		const char *option = figure_option(d->signs[i].figure);
		if (sign_known(&d->signs[i], f) || strstr(out, option))
			continue;
		out = arena_printf(r->arena, "%s%s%s", out, n++ ? ", " : "", option);
	}
	if (n)
		TELL(r->sheet, missing, out);
}

void
diagnose_show_causes(struct run *r, const struct diagnose_in *in, const struct figures *f, const struct diagnosis **all,
    size_t n, struct weighed *w)
{
	struct finding *found = ARENA_ARRAY(r->arena, struct finding, n + 1);
	struct sheet *sh = r->sheet;
	run_reads(r, &in->top, NULL);
	const enum use use = !in->use.text ? USE_ANY : strcmp(in->use.text, "serve") == 0 ? USE_SERVE : USE_TRAIN;
	const size_t n_found = diagnose_rank(all, n, f, use, found);
	const size_t most = in->top.value < (double)n_found ? (size_t)in->top.value : n_found;

	struct filling filling = {r, in, f, w, ""};
	TAKE(sh, n_causes, (double)n_found);
	(void)n_causes;
	TELL(sh, first, n_found ? found[0].cause->id : "no known cause");
	for (size_t i = 0; i < most; i++)
		SCOPE_I (sh, "causes", i) {
			show_cause(r, &filling, &found[i]);
		}
	if (n_found)
		show_unknown(r, found[0].cause, f);
	if (*filling.examples)
		run_assume(r, "example values in commands: %s", filling.examples);
	if (most < n_found)
		run_warn(r, "%zu more causes: show them with --top %zu", n_found - most, n_found);
}
