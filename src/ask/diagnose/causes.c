/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Causes as people read them: what speaks for each, what it costs, what to do, and the command that sizes it. */
#include "ask/diagnose/diagnose.h"

#include "model/calc/calc.h"

#include <string.h>

/* `GPU busy 15 % (below 60 %)`, for each sign that holds. */
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

/* As an option takes it. */
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
	const char *examples; /* that stand in command lines for what nobody measured */
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

/* The place of each sign that holds, for --explain and --json. */
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
	static const char *const harms[] = {"ends the run", "spoils the result", "slows it"};
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

/* What else would tell: signs of the first cause that nobody measured. */
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
