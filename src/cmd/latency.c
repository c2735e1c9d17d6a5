/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge latency: latency budget of a pipeline, stage by stage. */
#include "ask/bind/bind.h"
#include "ask/serve/serve.h"
#include "base/base.h"
#include "cli/cli.h"
#include "model/calc/calc.h"

#include <string.h>

#define LATENCY_OPTIONS(X)                                                                                             \
	X('s', stages, "stages", "stages", WORDS, "NAME=TIME[:TIME],...", "", NULL,                                    \
	    "pipeline stages with their times, optionally with a new time: pre=5ms:4ms")                               \
	X(0, parallel, "parallel", "parallel", WORDS, "A+B[/C],...", "", NULL,                                         \
	    "parallel branches: branches joined by +, stages of a branch by /")                                        \
	X(0, budget, "budget", "budget", TIME, "TIME", "", NULL,                                                       \
	    "latency budget, optionally of a percentile (p95:45ms); exit status 1 above it")                           \
	X(0, fps, "fps", "fps", NUMBER, "N", "", NULL, "frame rate, instead of --budget")                              \
	X(0, tails, "tails", "tails", WORDS, "NAME=TIME,...", "", NULL, "P99 latencies of stages")                     \
	X(0, slo, "slo", "slo", WORDS, "e2e=WHICH:TIME,...", "", NULL,                                                 \
	    "SLOs on percentiles of the total, with --tails: e2e=p95:45ms; or --budget p95:45ms")                      \
	X(0, mph, "mph", "mph", NUMBER, "N", "", NULL, "vehicle speed, for the distance per frame")                    \
	X(0, kmh, "kmh", "kmh", NUMBER, "N", "", NULL, "vehicle speed in km/h")

struct latency_in {
	LATENCY_OPTIONS(OPTION_MEMBER)
	struct tail_in tail;
};

#define THIS struct latency_in
static const struct option latency_options[] = {LATENCY_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct tail_in
static const struct option tail_options[] = {TAIL_OPTIONS(OPTION_ROW)};
#undef THIS

enum { STAGES_MAX = 200 };

/* --- reading stages -------------------------------------------------------------------------------------- */

struct reader {
	struct run *r;
	int n;
	bool changed, tails;
	struct stage *list;
};

static struct stage *
find(struct reader *all, const char *name)
{
	for (int i = 0; i < all->n; i++)
		if (strcmp(all->list[i].name, name) == 0)
			return &all->list[i];
	return NULL;
}

static bool
unknown(struct reader *all, struct word w, const char *name)
{
	const char *names[STAGES_MAX];

	for (int i = 0; i < all->n; i++)
		names[i] = all->list[i].name;
	diag_error(all->r->diag, w.from, "there is no stage '%s'", name);
	const char *near = text_nearest(name, names, (size_t)all->n);
	diag_hint(all->r->diag, near ? "did you mean '%s'?" : "the first stage is called '%s'", near ? near : names[0]);
	return false;
}

/* `name=value`. */
static const char *
split_name(struct reader *all, struct word w, const char *example, const char **value)
{
	const char *equals = strchr(w.text, '=');

	*value = equals ? equals + 1 : NULL;
	if (equals && equals > w.text)
		return arena_copy(all->r->arena, w.text, (size_t)(equals - w.text));
	diag_error(all->r->diag, w.from, "'%s' is not of the form NAME=TIME", w.text);
	diag_hint(all->r->diag, "write for example %s", example);
	return NULL;
}

static bool
read_stage(struct reader *all, struct word w)
{
	const char *value, *name = split_name(all, w, "--stages pre=5ms,detect=8ms:4ms", &value);
	struct stage *s = &all->list[all->n];

	if (!name)
		return false;
	if (find(all, name))
		return run_refuse(all->r, w.from, arena_printf(all->r->arena, "stage '%s' is given twice", name),
		    "use a different name for each stage");
	const char *colon = strchr(value, ':');
	*s = (struct stage){.name = name, .leg = all->n, .branch = 0};
	for (int i = 0; i < N_STAGE_TIMES; i++)
		s->time_s[i] = datum_absent();
	all->n++;
	if (colon) {
		value = arena_copy(all->r->arena, value, (size_t)(colon - value));
		all->changed = true;
		if (!run_value(all->r, w.from, colon + 1, Q_TIME, &s->time_s[STAGE_CHANGED]))
			return false;
	}
	return run_value(all->r, w.from, value, Q_TIME, &s->time_s[STAGE_NOW]);
}

static bool
read_tail(struct reader *all, struct word w)
{
	const char *value, *name = split_name(all, w, "--tails detect=12ms", &value);

	if (!name)
		return false;
	struct stage *s = find(all, name);
	if (!s)
		return unknown(all, w, name);
	if (!run_value(all->r, w.from, value, Q_TIME, &s->time_s[STAGE_TAIL]))
		return false;
	if (s->time_s[STAGE_TAIL].value < s->time_s[STAGE_NOW].value)
		return run_refuse(
		    all->r, w.from, "P99 below the stage's time", "check the two values; P99 is at least P50");
	all->tails = true;
	return true;
}

/* `a+b/c`: a in parallel with b, which c follows.  All take the leg of the first. */
static bool
read_group(struct reader *all, struct word w)
{
	size_t n_branches, n_stages;
	char **branches = text_split(all->r->arena, w.text, '+', &n_branches);
	int leg = -1;

	if (n_branches < 2)
		return run_refuse(all->r, w.from, "--parallel needs at least two branches",
		    "join branches with +: --parallel det+seg");
	for (size_t b = 0; b < n_branches; b++) {
		char **names = text_split(all->r->arena, branches[b], '/', &n_stages);
		for (size_t i = 0; i < n_stages; i++) {
			struct stage *s = find(all, names[i]);
			if (!s)
				return unknown(all, w, names[i]);
			if (s->leg < 0)
				return run_refuse(all->r, w.from,
				    arena_printf(all->r->arena, "'%s' is in two groups", names[i]), "name it once");
			leg = leg < 0 ? s->leg : leg;
			/* below 0: placed; the number keeps leg and branch apart until all are read */
			s->branch = (int)b;
			s->leg = -1 - leg;
		}
	}
	return true;
}

/* Legs numbered without gaps in the order of their first stages, and the list in that order. */
static struct stages
arrange(struct reader *all)
{
	struct stage *sorted = ARENA_ARRAY(all->r->arena, struct stage, (size_t)all->n + 1);
	int n = 0, n_legs = 0;

	for (int leg = 0; leg < all->n; leg++) {
		const int before = n;
		for (int branch = 0; branch < all->n; branch++)
			for (int i = 0; i < all->n; i++) {
				const struct stage *s = &all->list[i];
				const int place = s->leg < 0 ? -1 - s->leg : s->leg;
				if (place != leg || s->branch != branch)
					continue;
				sorted[n] = *s;
				sorted[n++].leg = n_legs;
			}
		n_legs += n > before;
	}
	return (struct stages){n, n_legs, sorted};
}

static bool
read_stages(struct run *r, const struct latency_in *in, struct reader *all)
{
	bool ok = true;

	*all = (struct reader){.r = r, .list = ARENA_ARRAY(r->arena, struct stage, STAGES_MAX)};
	if (in->stages.n > STAGES_MAX)
		return run_refuse(r, in->stages.list[0].from, "too many stages", "at most 200");
	for (size_t i = 0; i < in->stages.n; i++)
		ok = read_stage(all, in->stages.list[i]) && ok;
	for (size_t i = 0; ok && i < in->tails.n; i++)
		ok = read_tail(all, in->tails.list[i]) && ok;
	run_reads(r, &in->parallel, NULL);
	for (size_t i = 0; ok && i < in->parallel.n; i++)
		ok = read_group(all, in->parallel.list[i]) && ok;
	return ok;
}

/* --- the budget ------------------------------------------------------------------------------------------ */

/* Recorded once, above all cases; absent without one. */
static struct datum
show_budget(struct run *r, const struct latency_in *in)
{
	struct sheet *sh = r->sheet;

	if (datum_given(in->fps)) {
		TAKE(sh, frame_hertz, in->fps);
		CALL(sh, budget_s, latency_budget(sh, frame_hertz));
		SHOW(sh, budget_s, budget_s);
		return (struct datum){budget_s, in->fps.from};
	}
	if (datum_given(in->budget)) {
		TAKE(sh, budget_s, in->budget);
		SHOW(sh, budget_s, budget_s);
	}
	return in->budget;
}

static void
show_travelled(struct run *r, const struct latency_in *in, double frame_s)
{
	struct sheet *sh = r->sheet;
	const bool miles = datum_given(in->mph);

	if (!miles && !datum_given(in->kmh))
		return;
	TAKE(sh, n_units_per_hour, miles ? in->mph : in->kmh);
	TAKE(sh, n_metres_per_unit, miles ? 1609.344 : 1000.0);
	CALL(sh, n_metres_per_hour, latency_metres_per_hour(sh, n_units_per_hour, n_metres_per_unit));
	CALL(sh, n_metres, latency_travelled(sh, n_metres_per_hour, frame_s));
	SHOW(sh, n_metres, distance_metre);
}

/* --- one case -------------------------------------------------------------------------------------------- */

static const char *
critical_names(struct run *r, const struct stages *p, enum stage_time which)
{
	const char *names = "";

	for (int i = 0; i < p->n; i++)
		if (stage_is_critical(p, which, i))
			names = arena_printf(r->arena, "%s%s%s", names, *names ? " " : "", p->list[i].name);
	return names;
}

/* Rows of the whole way; true when it is in time. */
static bool
show_total(struct run *r, const struct stages *p, enum stage_time which, struct datum budget, double *total)
{
	struct sheet *sh = r->sheet;

	CALL(sh, total_s, latency_total(sh, p, which));
	SHOW(sh, total_s, total_s);
	CALL(sh, rate_hertz, latency_rate(sh, total_s));
	SHOW(sh, rate_hertz, rate_hertz);
	*total = total_s;
	if (!datum_given(budget))
		return true;
	const double budget_s = budget.value;
	CALL(sh, slack_s, latency_slack(sh, budget_s, total_s));
	SHOW(sh, slack_s, slack_s);
	CALL(sh, over_s, latency_over(sh, slack_s));
	SHOW(sh, over_s, over_s);
	TELL(sh, verdict, total_s <= budget_s ? "meets the budget" : "misses the budget");
	return total_s <= budget_s;
}

/* Show stage budgets and, if the total misses its budget, what would help. */
static void
show_allowed(struct run *r, const struct stages *p, enum stage_time which, int i, double budget_s, double total_s)
{
	struct sheet *sh = r->sheet;
	const double slack_s = latency_slack(NULL, budget_s, total_s), stage_s = stage_takes(&p->list[i], which).value;

	CALL(sh, allowed_s, latency_allowed(sh, p, which, i, slack_s));
	SHOW(sh, allowed_s, stage_budget_s);
	if (total_s <= budget_s)
		return;
	TELL(sh, alone, stage_suffices(p, which, i, budget_s) ? "yes" : "no");
	CALL(sh, proportional_s, latency_proportional(sh, stage_s, budget_s, total_s));
	SHOW(sh, proportional_s, proportional_s);
}

/* A line for each stage. */
static void
show_stages(
    struct run *r, const struct stages *p, enum stage_time which, struct datum budget, double total_s, bool changed)
{
	struct sheet *sh = r->sheet;

	for (int i = 0; i < p->n; i++)
		SCOPE_I (sh, "stages", i) {
			const struct stage *s = &p->list[i];
			TELL(sh, stage, s->name);
			if (changed) {
				TAKE(sh, before_s, s->time_s[STAGE_NOW]);
				SHOW(sh, before_s, before_s);
			}
			TAKE(sh, stage_s, stage_takes(s, which));
			SHOW(sh, stage_s, time_s);
			CALL(sh, share_frac, latency_share(sh, stage_s, total_s));
			SHOW(sh, share_frac, share_frac);
			TELL(sh, critical, stage_is_critical(p, which, i) ? "yes" : "no");
			if (datum_given(budget))
				show_allowed(r, p, which, i, budget.value, total_s);
		}
}

static enum answer
worse(enum answer a, enum answer b)
{
	return a > b ? a : b;
}

/* --- tails of stages ------------------------------------------------------------------------------------- */

static enum answer
show_tails(struct run *r, const struct latency_in *in, const struct stages *p, struct datum budget, double p50_s)
{
	struct sheet *sh = r->sheet;
	enum answer answer = ANSWERED;

	SCOPE (sh, "tail") {
		CALL(sh, independent_s, latency_tail_independent(sh, p));
		SHOW(sh, independent_s, p99_independent_s);
		CALL(sh, p99_s, latency_total(sh, p, STAGE_TAIL));
		SHOW(sh, p99_s, p99_s);
		CALL(sh, tail_ratio, latency_tail(sh, p50_s, p99_s));
		SHOW(sh, tail_ratio, tail_ratio);
		if (datum_given(budget)) {
			TELL(sh, p99_verdict,
			    p99_s <= budget.value              ? "meets the budget in the worst case"
			        : independent_s > budget.value ? "misses the budget at P99"
			                                       : "misses the budget when all stages are slow together");
			answer = p99_s <= budget.value ? ANSWERED : ANSWERED_NO;
		}
		answer = worse(answer, tail_verdict(r, &in->tail, tail_ratio));
	}
	return answer;
}

/* Percentiles that are limited: rows of a normal spread between P50 and P99, delays that come together. */
static enum answer
show_slos(struct run *r, const struct latency_in *in, double p50_s, double p99_s)
{
	const char *verdict = "";
	bool met = true;

	for (size_t i = 0; i < in->slo.n; i++) {
		double time_s[N_SLO_MEASURES][N_PLAN_STATISTICS];
		struct slo slo;
		if (!bind_slo(r, in->slo.list[i], &slo))
			return REFUSED;
		if (slo.measure != SLO_E2E || slo.statistic == PLAN_MEAN) {
			run_refuse(r, in->slo.list[i].from, "--slo limits percentiles of the total latency here",
			    "write for example --slo e2e=p95:45ms; --budget limits the total");
			return REFUSED;
		}
		SCOPE_I (r->sheet, "slo", i) {
			TAKE(r->sheet, share_frac, plan_share(slo.statistic));
			CALL(r->sheet, total_s, latency_percentile(r->sheet, p50_s, p99_s, share_frac));
			bind_show_percentile(r->sheet, PLAN_E2E, slo.statistic, total_s);
			time_s[SLO_E2E][slo.statistic] = total_s;
		}
		const struct words one = {.n = 1, .list = &in->slo.list[i]};
		if (!serve_slos(r, &one, time_s, &verdict, &met))
			return REFUSED;
	}
	SCOPE (r->sheet, "slo")
		TELL(r->sheet, verdict, verdict);
	return met ? ANSWERED : ANSWERED_NO;
}

/* --- the command ----------------------------------------------------------------------------------------- */

static bool
check(struct run *r, const struct latency_in *in)
{
	if (in->stages.n && tail_given(&in->tail))
		return run_refuse(r, in->tail.p50.from, "--stages cannot be combined with --p50 and --p99",
		    "give P99 of stages with --tails");
	if (datum_given(in->budget) && datum_given(in->fps))
		return run_refuse(
		    r, in->budget.from, "--budget and --fps exclude each other", "30 frames/s are a budget of 33.3 ms");
	if (in->slo.n && !in->tails.n)
		return run_refuse(r, in->slo.list[0].from, "percentiles need the P99 of stages",
		    "add for example --tails detect=12ms");
	if (datum_given(in->mph) && datum_given(in->kmh))
		return run_refuse(r, in->mph.from, "--mph and --kmh exclude each other", "keep one of them");
	return run_positive(r, "budget", in->budget) & run_positive(r, "fps", in->fps) &
	    run_positive(r, "mph", in->mph) & run_positive(r, "kmh", in->kmh) &
	    run_positive(r, "tail-limit", in->tail.tail_limit);
}

static enum answer
pipeline(struct run *r, const struct latency_in *in)
{
	struct sheet *sh = r->sheet;
	struct reader all;
	double before_s = 0, after_s = 0;
	bool met = true;

	if (!read_stages(r, in, &all))
		return REFUSED;
	const struct stages p = arrange(&all);
	const enum stage_time which = all.changed ? STAGE_CHANGED : STAGE_NOW;
	r->title = arena_printf(r->arena, "Pipeline of %d stages", p.n);
	const struct datum budget = show_budget(r, in);
	if (all.changed) {
		SCOPE_I (sh, "cases", 0) {
			TELL(sh, case, "before");
			show_total(r, &p, STAGE_NOW, budget, &before_s);
		}
		SCOPE_I (sh, "cases", 1) {
			TELL(sh, case, "after");
			met = show_total(r, &p, STAGE_CHANGED, budget, &after_s);
		}
		CALL(sh, saved_frac, latency_saving(sh, before_s, after_s));
		SHOW(sh, saved_frac, saved_frac);
		CALL(sh, speedup, scale_speedup_time(sh, before_s, after_s));
		SHOW(sh, speedup, speedup);
	} else
		met = show_total(r, &p, STAGE_NOW, budget, &after_s);
	if (in->parallel.n)
		TELL(sh, critical_path, critical_names(r, &p, which));
	show_travelled(r, in, datum_or(budget, after_s));
	show_stages(r, &p, which, budget, after_s, all.changed);
	const double p50_s = all.changed ? before_s : after_s;
	enum answer tail = all.tails ? show_tails(r, in, &p, budget, p50_s) : ANSWERED;
	if (all.tails && in->slo.n)
		tail = worse(tail, show_slos(r, in, p50_s, latency_total(NULL, &p, STAGE_TAIL)));
	return worse(tail, met ? ANSWERED : ANSWERED_NO);
}

static enum answer
latency_run(struct run *r, const void *input)
{
	const struct latency_in *in = input;

	if (!check(r, in))
		return REFUSED;
	if (in->stages.n)
		return pipeline(r, in);
	if (tail_given(&in->tail)) {
		r->title = "Measured percentiles";
		return tail_show(r, &in->tail);
	}
	const bool travels = datum_given(in->mph) || datum_given(in->kmh);
	if (!travels || !(datum_given(in->fps) || datum_given(in->budget))) {
		run_refuse(r, (struct source){0}, "no stages given",
		    "--stages pre=5ms,detect=8ms --fps 30, a measured tail (--p50 10ms --p99 12ms), or --mph 70 --fps "
		    "30");
		return REFUSED;
	}
	r->title = "Distance per frame";
	show_travelled(r, in, show_budget(r, in).value);
	return ANSWERED;
}

static const struct option_group latency_groups[] = {
    OPTION_GROUP(latency_options, 0),
    OPTION_GROUP(tail_options, offsetof(struct latency_in, tail)),
};

static const struct example latency_examples[] = {
    {"latency --fps 30 --stages pre=5ms,encode=12ms,detect=8ms,segment=5ms,track=3ms,predict=10ms,plan=5ms",
        "driving pipeline against the camera frame rate", 1},
    {"latency --fps 30 --stages "
     "pre=5ms:2ms,encode=12ms:6ms,detect=8ms:4ms,segment=5ms:3ms,track=3ms,predict=10ms:5ms,plan=5ms:4ms",
        "the same before and after", 0},
    {"latency --budget 45ms --stages pre=5ms,encode=12ms,detect=8ms,segment=5ms,track=3ms,predict=10ms,plan=5ms "
     "--parallel detect/track+segment",
        "parallel branches", 0},
    {"latency --budget 33ms --stages encode=12ms,detect=8ms,plan=5ms --tails encode=15ms,detect=11ms --tail-limit 1.2",
        "with P99 latencies of stages", 1},
    {"latency --budget p95:40ms --stages encode=12ms,detect=8ms,plan=5ms --tails encode=15ms,detect=11ms",
        "a budget of a percentile", 0},
    {"latency --p50 10ms --p99 12ms --tail-limit 1.2 --runs 100", "check a measured P99/P50 ratio", 0},
};

static const struct input_needs latency_needs[] = {
    {"budget", "it needs --stages pre=5ms,infer=12ms"},
    {"fps", "it needs --stages pre=5ms,infer=12ms"},
    {"tails", "it needs --stages pre=5ms,infer=12ms"},
    {"slo", "it needs --stages and --tails"},
    {"parallel", "it needs --stages pre=5ms,infer=12ms"},
    {"mph", "it needs --stages, and --fps or --budget"},
    {"kmh", "it needs --stages, and --fps or --budget"},
    {"tail_limit", "it needs --p50 and --p99, or --tails encode=15ms"},
    {"runs", "it needs --p50 and --p99"},
};

const struct command latency_command = {
    .name = "latency",
    .section = "Performance",
    .summary = "Latency budget of a pipeline, stage by stage",
    .operands = "",
    .usage = "[JOB]",
    COUNTED(groups, latency_groups),
    COUNTED(examples, latency_examples),
    COUNTED(needs, latency_needs),
    .input_size = sizeof(struct latency_in),
    .run = latency_run,
};
