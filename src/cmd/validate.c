/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge validate: prediction error against published or your own measurements. */
#include "ask/validate/validate.h"

#include "base/base.h"
#include "base/sheet.h"

#include <string.h>

#define VALIDATE_OPTIONS(X)                                                                                            \
	X(0, files, NULL, "files", WORDS, "FILE", "file", NULL, "measurement files; - is standard input")              \
	X(0, by, "by", "by", WORDS, "WHAT,...", "", NULL,                                                              \
	    "groups to show: gpu, dtype, backend, regime, source, ... (default: all in the file)")                     \
	X(0, only, "only", "only", WORDS, "WHAT=NAME,...", "", NULL,                                                   \
	    "keep only rows of these groups: gpu=h100-sxm5-80gb,dtype=bf16")                                           \
	X(0, worst, "worst", "worst", COUNT, "N", "", "5", "show the N largest errors")                                \
	X(0, max_error, "max-error", "max_error", FRACTION, "MEDIAN", "", NULL,                                        \
	    "maximum median error over all rows, 0.08 or 8%; exit status 1 above it")                                  \
	X(0, predictions, "predictions", "predictions", WORD, "FILE", "output", NULL,                                  \
	    "write each row with its prediction to FILE, as CSV")                                                      \
	X(0, plan, "plan", "plan", FLAG, "", "", NULL,                                                                 \
	    "judge ridge plan: how layouts of published runs stand among all")                                         \
	X(0, cross, "cross", "cross", FLAG, "", "", NULL, "show errors on runs that the constants were fitted without")

struct validate_in {
	VALIDATE_OPTIONS(OPTION_MEMBER)
};

#define THIS struct validate_in
static const struct option validate_options[] = {VALIDATE_OPTIONS(OPTION_ROW)};
#undef THIS
static const struct option_group validate_groups[] = {OPTION_GROUP(validate_options, 0)};

static bool
pick_dimensions(struct run *r, const struct words *by, bool *out)
{
	const char *names[N_SCORE_BY];
	bool ok = true;

	for (int i = 0; i < N_SCORE_BY; i++) {
		names[i] = score_by_name((enum score_by)i);
		out[i] = by->n == 0;
	}
	for (size_t i = 0; i < by->n; i++) {
		const enum score_by found = score_by_find(by->list[i].text);
		if (found < N_SCORE_BY) {
			out[found] = true;
			continue;
		}
		const char *near = text_nearest(by->list[i].text, names, N_SCORE_BY);
		diag_error(r->diag, by->list[i].from, "there is no grouping by '%s'", by->list[i].text);
		if (near)
			diag_hint(r->diag, "did you mean '%s'?", near);
		else
			diag_hint(r->diag, "gpu, dtype, backend, regime, source, precision, family, confidence, kind");
		ok = false;
	}
	return ok;
}

/* Cases that are not of the wanted groups go. */
static bool
keep_only(struct run *r, const struct words *only, struct validation *v)
{
	for (size_t i = 0; i < only->n; i++) {
		const char *text = only->list[i].text, *equals = strchr(text, '=');
		const enum score_by by =
		    equals ? score_by_find(arena_copy(r->arena, text, (size_t)(equals - text))) : N_SCORE_BY;
		size_t kept = 0;
		if (by == N_SCORE_BY) {
			diag_error(r->diag, only->list[i].from, "'%s' is not of the form GROUP=NAME", text);
			diag_hint(r->diag, "write for example gpu=h100-sxm5-80gb, dtype=bf16 or kind=measured");
			return false;
		}
		for (size_t k = 0; k < v->n; k++)
			if (v->cases[k].label[by] && strcmp(v->cases[k].label[by], equals + 1) == 0)
				v->cases[kept++] = v->cases[k];
		v->n = kept;
		if (kept > 0)
			continue;
		diag_error(r->diag, only->list[i].from, "no row matches '%s'", text);
		diag_hint(r->diag, "leave --only out to see the groups");
		return false;
	}
	return true;
}

/* --- rows ------------------------------------------------------------------------------------------------ */

/* Columns that only some kinds of files have. */
struct columns {
	bool intervals, warned, baseline[SCORE_BASELINES], safe, bounds;
};

static struct columns
columns_of(const struct scores *s)
{
	const struct score_group *all = &s->groups[0];
	struct columns c = {.intervals = all->n_intervals > 0,
	    .warned = all->n_warned > 0,
	    .safe = all->n_safe > 0,
	    .bounds = all->n_bounds > 0};

	for (int k = 0; k < SCORE_BASELINES; k++)
		c.baseline[k] = !isnan(all->baseline_median[k]);
	return c;
}

/* A table stays a table when a framework's name is a sentence. */
static const char *
short_name(struct arena *a, const char *name)
{
	enum { MOST = 40 };

	return strlen(name) <= MOST ? name : arena_printf(a, "%.*s...", MOST - 3, name);
}

static void
show_group(const struct validation *v, const struct columns *has, const struct score_group *g)
{
	struct sheet *sh = v->run->sheet;

	TELL(sh, by, score_by_name(g->by));
	TELL_HIDDEN(sh, name, g->name);
	TELL(sh, group, short_name(v->run->arena, g->name));
	TAKE(sh, n, g->n);
	TAKE(sh, skipped, g->n_skipped);
	TAKE(sh, mape_frac, g->mape / 100);
	TAKE(sh, median_ape_frac, g->median_ape / 100);
	TAKE(sh, bias_frac, g->bias / 100);
	TAKE(sh, within10_frac, g->within10 / 100);
	TAKE(sh, within20_frac, g->within20 / 100);
	TAKE(sh, within30_frac, g->within30 / 100);
	TAKE(sh, conformal, g->conformal);
	TAKE(sh, coverage_frac, g->coverage80 / 100);
	TAKE(sh, warned, g->n_warned);
	SHOW(sh, n, n);
	SHOW(sh, skipped, n_skipped);
	SHOW(sh, mape_frac, mape_frac);
	SHOW(sh, median_ape_frac, median_ape_frac);
	SHOW(sh, bias_frac, bias_frac);
	SHOW(sh, within10_frac, within10_frac);
	SHOW(sh, within20_frac, within20_frac);
	HIDE(sh, within30_frac, within30_frac);
	HIDE(sh, conformal, conformal);
	if (has->intervals)
		SHOW(sh, coverage_frac, coverage_frac);
	if (has->intervals && g->n_groups > 0) {
		TAKE(sh, n_groups, g->n_groups);
		TAKE(sh, group_coverage_frac, g->group_coverage80 / 100);
		SHOW(sh, n_groups, n_groups);
		SHOW(sh, group_coverage_frac, group_coverage_frac);
	}
	if (has->warned)
		SHOW(sh, warned, n_warned);
	else
		HIDE(sh, warned, n_warned);
	if (has->safe) {
		TAKE(sh, under10_frac, g->under10 / 100);
		TAKE(sh, p95_coverage_frac, g->safe_covers / 100);
		SHOW(sh, under10_frac, under10_frac);
		SHOW(sh, p95_coverage_frac, p95_coverage_frac);
	}
	if (has->bounds) {
		TAKE(sh, bounds, g->n_bounds);
		TAKE(sh, bounds_kept_frac, g->bounds_kept / 100);
		SHOW(sh, bounds, n_bounds);
		SHOW(sh, bounds_kept_frac, bounds_kept_frac);
	}
	if (has->baseline[0]) {
		TAKE(sh, baseline_median_ape_frac, g->baseline_median[0] / 100);
		SHOW(sh, baseline_median_ape_frac, baseline_median_ape_frac);
	}
	if (has->baseline[1]) {
		TAKE(sh, second_median_ape_frac, g->baseline_median[1] / 100);
		SHOW(sh, second_median_ape_frac, second_median_ape_frac);
	}
}

struct reason {
	const char *why;
	int n, first_line;
};

static void
show_skipped(const struct validation *v)
{
	struct sheet *sh = v->run->sheet;
	struct reason reasons[64];
	int n = 0;

	for (size_t i = 0; i < v->n; i++) {
		const char *why = v->cases[i].skipped;
		int k = 0;
		if (!why)
			continue;
		while (k < n && reasons[k].why != why && strcmp(reasons[k].why, why) != 0)
			k++;
		if (k == 64)
			continue;
		if (k == n)
			reasons[n++] = (struct reason){why, 0, v->cases[i].line};
		reasons[k].n++;
	}
	for (int k = 0; k < n; k++)
		SCOPE_I (sh, "skipped", k) {
			TELL(sh, reason, reasons[k].why);
			TAKE(sh, n_rows, reasons[k].n);
			TAKE(sh, first_line, reasons[k].first_line);
			SHOW(sh, n_rows, n);
			SHOW(sh, first_line, first_line);
		}
}

static void
show_worst(const struct validation *v, size_t most)
{
	struct sheet *sh = v->run->sheet;
	struct arena *a = v->run->arena;
	size_t *worst = ARENA_ARRAY(a, size_t, most + 1);
	const size_t n = score_worst(v->cases, v->n, most, worst);
	char measured[80], predicted[80];

	for (size_t i = 0; i < n; i++)
		SCOPE_I (sh, "worst", i) {
			const struct score_case *c = &v->cases[worst[i]];
			TELL(sh, gpu, c->label[SCORE_BY_GPU] ? c->label[SCORE_BY_GPU] : "-");
			TELL(sh, what, c->name ? c->name : "-");
			TAKE(sh, line, c->line);
			TAKE(sh, error_frac, score_error(c) / 100);
			SHOW(sh, line, line);
			TELL_HIDDEN(sh, file, c->file);
			TELL(sh, measured, value_write(c->unit, c->measured, measured, sizeof measured));
			TELL(sh, predicted, value_write(c->unit, c->predicted, predicted, sizeof predicted));
			SHOW(sh, error_frac, error_frac);
			if (c->detail)
				TELL(sh, detail, c->detail);
			if (c->warning)
				TELL(sh, warning, c->warning);
		}
}

/* --- the answer ------------------------------------------------------------------------------------------ */

static bool
check_inputs(struct run *r, const struct validate_in *in)
{
	if (in->files.n == 0) {
		diag_error(r->diag, (struct source){0}, "no measurements given");
		diag_hint(r->diag, "ridge validate FILE..., or zcat FILE.gz | ridge validate -");
		return false;
	}
	if (in->worst.value > 1000) {
		diag_error(r->diag, in->worst.from, "--worst shows at most 1000 rows");
		diag_hint(r->diag, "use --predictions FILE for all of them");
		return false;
	}
	if (datum_given(in->max_error) && !(in->max_error.value > 0 && in->max_error.value <= 10)) {
		diag_error(r->diag, in->max_error.from, "--max-error must be between 0 and 1");
		diag_hint(r->diag, "write 8%% or 0.08");
		return false;
	}
	return true;
}

static enum answer
judge_plans(struct run *r, const struct validate_in *in)
{
	struct validation v = {.run = r};

	run_reads(r, &in->files, &in->plan, &in->worst, NULL);
	v.judge = plan_judge_new(&v);
	v.ranks = serve_ranks_new(r);
	if (!check_inputs(r, in) || !validation_read(&v, &in->files))
		return REFUSED;
	r->title = "published layouts against the best of ridge plan";
	const bool trained = plan_judge_show(v.judge, (size_t)in->worst.value);
	const bool served = serve_ranks_show(v.ranks, (size_t)in->worst.value);
	if (!trained && !served) {
		diag_error(r->diag, in->files.list[0].from, "no layout to judge");
		if (v.n > 0 && v.cases[0].skipped)
			diag_hint(r->diag, "line %d: %s", v.cases[0].line, v.cases[0].skipped);
		else
			diag_hint(r->diag,
			    "give training runs on several GPUs, or serving runs of several layouts of one setup");
		return REFUSED;
	}
	show_skipped(&v);
	return ANSWERED;
}

static enum answer
validate_run(struct run *r, const void *input)
{
	const struct validate_in *in = input;
	struct sheet *sh = r->sheet;
	struct validation v = {.run = r};
	bool dimensions[N_SCORE_BY];

	if (in->cross && in->files.n == 0) {
		run_reads(r, &in->cross, NULL);
		show_cross(r);
		return ANSWERED;
	}
	if (in->plan)
		return judge_plans(r, in);
	run_reads(r, &in->files, &in->by, &in->only, &in->worst, &in->predictions, NULL);
	if (!check_inputs(r, in) || !pick_dimensions(r, &in->by, dimensions) || !validation_read(&v, &in->files) ||
	    !keep_only(r, &in->only, &v))
		return REFUSED;
	const struct scores scores = score_groups(r->arena, v.cases, v.n, dimensions);
	if (scores.n_groups == 0 || (scores.groups[0].n == 0 && scores.groups[0].n_bounds == 0)) {
		diag_error(r->diag, in->files.list[0].from, "no row could be predicted");
		diag_hint(r->diag, "%s", v.n && v.cases[0].skipped ? v.cases[0].skipped : "the file has no rows");
		return REFUSED;
	}
	if (in->predictions.text && !validation_write(&v, in->predictions))
		return REFUSED;
	r->title = "predicted against measured: errors are (predicted - measured) / measured";
	const struct columns has = columns_of(&scores);
	for (size_t i = 0; i < scores.n_groups; i++)
		SCOPE_I (sh, "groups", i)
			show_group(&v, &has, &scores.groups[i]);
	show_skipped(&v);
	show_worst(&v, (size_t)in->worst.value);
	if (!datum_given(in->max_error))
		return ANSWERED;
	TAKE(sh, max_error_frac, in->max_error);
	SHOW(sh, max_error_frac, max_error_frac);
	const bool meets = scores.groups[0].median_ape <= 100 * max_error_frac;
	TELL(sh, verdict, meets ? "meets" : "misses");
	return meets ? ANSWERED : ANSWERED_NO;
}

static const struct example validate_examples[] = {
    {"validate tests/corpus/gemm.csv", "GEMMs on eight GPUs", 0},
    {"validate tests/corpus/collective.csv tests/corpus/comm.csv --by gpu,family --worst 0",
        "measured and published collectives", 0},
    {"validate tests/corpus/memory.csv --only kind=measured --worst 10", "peak memory of published runs", 0},
    {"validate tests/corpus/gemm.csv --by gpu --max-error 10%", "fail above a median error", 0},
    {"validate tests/corpus/train.csv --plan", "layouts of published runs against the best of a search", 0},
    {"validate --cross", "errors on runs that were left out of the fit", 0},
};

const struct command validate_command = {
    .name = "validate",
    .section = "Database and measurements",
    .summary = "Prediction error against published or your own measurements",
    .operands = "files...",
    .usage = "FILE...",
    COUNTED(groups, validate_groups),
    COUNTED(examples, validate_examples),
    .input_size = sizeof(struct validate_in),
    .run = validate_run,
};
