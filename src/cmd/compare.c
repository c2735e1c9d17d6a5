/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge compare: performance regression between measurements. */
#include "ask/ask.h"
#include "cli/cli.h"
#include "import/import.h"
#include "model/calc/calc.h"
#include "model/measured/measured.h"
#include "search/stats/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct compare_files {
	struct word baseline, current;
	struct datum threshold, significance, seed, worst;
};

/* --- is it one? ------------------------------------------------------------------------------------------ */

enum { LOOKED = 1 << 18, INTERVAL_LEAST = 3 };

/* What can be read once only is not looked at: it is what the other side is. */
static bool
is_stream(const struct words *list)
{
	struct stat st;

	return list->n == 1 &&
	    (strcmp(list->list[0].text, "-") == 0 || (stat(list->list[0].text, &st) == 0 && !S_ISREG(st.st_mode)));
}

static bool
is_file(const struct words *list)
{
	FILE *file = list->n == 1 && !is_stream(list) ? fopen(list->list[0].text, "rb") : NULL;
	char *text = file ? malloc(LOOKED) : NULL;
	const size_t n = text ? fread(text, 1, LOOKED, file) : 0;
	const bool is = n > 0 && measurements_are_in(text, n);

	free(text);
	if (file)
		fclose(file);
	return is;
}

/* Are these two measurement files, rather than numbers or files of numbers? */
static bool
compare_are_files(const struct words *baseline, const struct words *current)
{
	return (is_file(baseline) && (is_file(current) || is_stream(current))) ||
	    (is_stream(baseline) && is_file(current));
}

/* --- groups ---------------------------------------------------------------------------------------------- */

struct judged {
	bool regression, tells;
};

/* A row per group: the median change, its interval, and the chance of it. */
static struct judged
show_group(struct run *r, const struct compare_files *in, const struct match_group *g)
{
	struct sheet *sh = r->sheet;
	struct judged out = {false, false};
	double *change = ARENA_ARRAY(r->arena, double, g->n), least_p, low = NAN, high = NAN;
	const double one = 1, ratio = rank_median(g->ratio, (size_t)g->n);

	for (int i = 0; i < g->n; i++)
		change[i] = log(g->ratio[i]);
	const double chance = rank_signed(change, (size_t)g->n, &least_p);
	if (g->n >= INTERVAL_LEAST) {
		run_read_from(r, in->seed.from);
		rank_interval(&one, 1, g->ratio, (size_t)g->n, false, (unsigned long)in->seed.value, 0.95, &low, &high);
	}
	TELL(sh, group, g->name);
	TAKE(sh, n_shapes, (double)g->n);
	SHOW(sh, n_shapes, n_shapes);
	TAKE(sh, baseline, 1.0);
	TAKE(sh, current, ratio);
	CALL(sh, worse_frac, compare_added(sh, baseline, current));
	SHOW(sh, worse_frac, change_frac);
	TAKE(sh, worse_low_frac, low);
	SHOW(sh, worse_low_frac, change_low_frac);
	TAKE(sh, worse_high_frac, high);
	SHOW(sh, worse_high_frac, change_high_frac);
	TAKE(sh, p, chance);
	SHOW(sh, p, p);
	out.tells = least_p <= in->significance.value;
	const bool above = worse_frac > in->threshold.value * (1 + 1e-12) + 1e-15,
	           sure = !out.tells || chance <= in->significance.value;
	out.regression = above && sure;
	TELL(sh, verdict,
	    out.regression                                              ? "regression"
	        : above                                                 ? "no significant regression"
	        : worse_frac > 0 && out.tells && sure                   ? "worse, within the threshold"
	        : worse_frac < 0 && chance > 1 - in->significance.value ? "better"
	                                                                : "ok");
	return out;
}

static int
show_groups(struct run *r, const struct compare_files *in, const struct match *m)
{
	int n_regressions = 0, n_mute = 0;

	for (int i = 0; i < m->n_groups; i++) {
		struct judged j = {false, false};
		SCOPE_I (r->sheet, "groups", i) {
			j = show_group(r, in, &m->groups[i]);
		}
		n_regressions += j.regression;
		n_mute += !j.tells;
	}
	if (n_mute)
		run_warn(r, "%d %s too few shapes for a significance test: only the threshold decides there", n_mute,
		    n_mute == 1 ? "group has" : "groups have");
	return n_regressions;
}

/* --- the worst shapes ------------------------------------------------------------------------------------ */

static int
by_ratio(const void *a, const void *b)
{
	const struct matched *x = *(const struct matched *const *)a, *y = *(const struct matched *const *)b;
	const int order = (x->ratio < y->ratio) - (x->ratio > y->ratio);

	return order ? order : (x > y) - (x < y);
}

/* Slower beyond the threshold, and beyond the spread of both sides where that is known. */
static int
count_worse(const struct compare_files *in, const struct match *m)
{
	int n = 0;

	for (int i = 0; i < m->n; i++)
		n += m->pairs[i].ratio > 1 + in->threshold.value && m->pairs[i].apart;
	return n;
}

static void
show_worst(struct run *r, const struct compare_files *in, const struct match *m)
{
	const struct matched **order = ARENA_ARRAY(r->arena, const struct matched *, m->n + 1);
	struct sheet *sh = r->sheet;

	for (int i = 0; i < m->n; i++)
		order[i] = &m->pairs[i];
	qsort(order, (size_t)m->n, sizeof *order, by_ratio);
	for (int i = 0; i < m->n && i < (int)in->worst.value && order[i]->ratio > 1; i++) {
		SCOPE_I (sh, "worst", i) {
			TELL(sh, shape, match_row_name(r->arena, order[i]->row));
			TAKE(sh, baseline_s, order[i]->rate ? NAN : order[i]->baseline_s);
			SHOW(sh, baseline_s, baseline_s);
			TAKE(sh, current_s, order[i]->rate ? NAN : order[i]->current_s);
			SHOW(sh, current_s, current_s);
			TAKE(sh, baseline, 1.0);
			TAKE(sh, current, order[i]->ratio);
			CALL(sh, worse_frac, compare_added(sh, baseline, current));
			SHOW(sh, worse_frac, change_frac);
		}
	}
}

/* --- the answer ------------------------------------------------------------------------------------------ */

static void
warn_skips(struct run *r, const struct measurements *m)
{
	for (int i = 0; i < m->n_skips; i++)
		run_warn(r, "%s: %s", m->file, measurements_skip_text(r->arena, m, i));
}

static bool
read_side(struct run *r, struct word file, struct measurements *out)
{
	/* the collective of two tables of one program is the same, whichever that is */
	static const struct measurement_hints hints = {.collective = "collective"};

	if (!measurements_read_with(r->arena, r->diag, file.text, r->database, &hints, out))
		return false;
	warn_skips(r, out);
	return true;
}

static enum answer
compare_files(struct run *r, const struct compare_files *in)
{
	struct sheet *sh = r->sheet;
	struct measurements base, now;
	struct match m;

	if (!measure_fraction(r, "threshold", in->threshold, 0, 1e6) ||
	    !measure_fraction(r, "significance", in->significance, 1e-9, 0.5) || !read_side(r, in->baseline, &base) ||
	    !read_side(r, in->current, &now))
		return REFUSED;
	match_rows(r->arena, &base, &now, &m);
	if (m.n == 0) {
		diag_error(r->diag, in->current.from, "the two files have no shape in common");
		diag_hint(r->diag, "measure the same shapes, dtypes and operations on both sides");
		return REFUSED;
	}
	r->title = "Measurements against a baseline, lower time is better";
	TAKE(sh, n_matched, (double)m.n);
	SHOW(sh, n_matched, n_matched);
	TAKE(sh, n_baseline_alone, (double)m.n_baseline_alone);
	SHOW(sh, n_baseline_alone, n_baseline_only);
	TAKE(sh, n_current_alone, (double)m.n_current_alone);
	SHOW(sh, n_current_alone, n_current_only);
	TAKE(sh, n_worse, (double)count_worse(in, &m));
	SHOW(sh, n_worse, n_worse);
	TAKE(sh, n_left_out, (double)(base.n_skipped + now.n_skipped));
	SHOW(sh, n_left_out, n_skipped);
	const int n = show_groups(r, in, &m);
	TAKE(sh, n_regressions, (double)n);
	SHOW(sh, n_regressions, n_regressions);
	show_worst(r, in, &m);
	TELL(sh, verdict, n ? "regression" : "ok");
	return n ? ANSWERED_NO : ANSWERED;
}

#define COMPARE_OPTIONS(X)                                                                                             \
	X(0, baseline, "baseline", "baseline", WORDS, "VALUE,...|FILE", "file", NULL,                                  \
	    "baseline: values separated by commas, file of numbers, or measurement file")                              \
	X(0, current, "current", "current", WORDS, "VALUE,...|FILE", "file", NULL,                                     \
	    "current: values or file to compare with the baseline")                                                    \
	X(0, column, "column", "column", WORD, "COLUMN", "", NULL, "column of the files, when they have several")      \
	X('t', threshold, "threshold", "threshold", FRACTION, "FRACTION", "", "0.2",                                   \
	    "regression threshold; exit status 1 above it")                                                            \
	X(0, better, "better", "better", CHOICE, "WHICH", "higher|lower", NULL,                                        \
	    "direction of improvement (default: lower for times and sizes, higher for rates and plain numbers)")       \
	X(0, worst, "worst", "worst", COUNT, "N", "", "5", "number of worst shapes to list, with measurement files")   \
	X(0, max, "max", "max", WORD, "VALUE", "", NULL, "upper limit of --current; exit status 1 above it")           \
	X(0, min, "min", "min", WORD, "VALUE", "", NULL, "lower limit of --current; exit status 1 below it")           \
	X(0, significance, "significance", "significance", FRACTION, "FRACTION", "", "0.05",                           \
	    "significance level for repeated measurements")                                                            \
	X(0, seed, "seed", "seed", COUNT, "N", "", "1", "random seed of the bootstrap")

struct compare_in {
	COMPARE_OPTIONS(OPTION_MEMBER)
};

#define THIS struct compare_in
static const struct option compare_options[] = {COMPARE_OPTIONS(OPTION_ROW)};
#undef THIS

enum { MEASUREMENTS_MAX = 10000 };

MEASURED(baseline, baseline)
MEASURED(current, current)
MEASURED(limit, allowed)

struct sides {
	struct measures baseline, current;
	bool more; /* is better */
};

/* --- reading --------------------------------------------------------------------------------------------- */

static bool
few_enough(struct run *r, const struct measures *m, const struct words *list)
{
	if (m->n <= MEASUREMENTS_MAX)
		return true;
	diag_error(r->diag, list->list[0].from, "more than %d measurements", MEASUREMENTS_MAX);
	diag_hint(r->diag, "give fewer; a hundred are enough");
	return false;
}

static bool
read_current(struct run *r, const struct compare_in *in, struct sides *s)
{
	s->current.kind = MEASURE_ANY;
	if (!measures_read(r, "current", &in->current, in->column, &s->current) ||
	    !few_enough(r, &s->current, &in->current))
		return false;
	s->more = in->better.text ? strcmp(in->better.text, "higher") == 0
	                          : s->current.kind == MEASURE_NUMBER || s->current.kind == MEASURE_RATE;
	return true;
}

static bool
read_sides(struct run *r, const struct compare_in *in, struct sides *s)
{
	run_reads(r, &in->better, NULL);
	if (!read_current(r, in, s))
		return false;
	s->baseline.kind = s->current.kind;
	if (!measures_read(r, "baseline", &in->baseline, in->column, &s->baseline) ||
	    !few_enough(r, &s->baseline, &in->baseline))
		return false;
	for (size_t i = 0; i < s->baseline.n; i++)
		if (!(s->baseline.value[i] > 0)) {
			diag_error(r->diag, in->baseline.list[0].from, "a baseline of 0 has no relative change");
			diag_hint(r->diag, "give baseline values above 0; write 1000, not 1,000");
			return false;
		}
	return true;
}

/* --- against a limit ------------------------------------------------------------------------------------- */

static enum answer
against_limit(struct run *r, const struct compare_in *in)
{
	const struct word bound = in->max.text ? in->max : in->min;
	struct sheet *sh = r->sheet;
	struct sides s;
	double limit_value;

	run_reads(r, &in->max, &in->min, NULL);

	if (!read_current(r, in, &s) || !measure_read(r, bound.from, bound.text, &s.current.kind, &limit_value))
		return REFUSED;
	if (limit_value <= 0) {
		diag_error(r->diag, bound.from, "a limit must be greater than 0");
		diag_hint(r->diag, "write --max 2h or --min 900");
		return REFUSED;
	}
	r->title = "Measurement against its limit";
	measure_unit(sh, s.current.kind);
	TAKE(sh, current, rank_median(s.current.value, s.current.n));
	TAKE(sh, limit, limit_value);
	show_current(sh, s.current.kind, current);
	show_limit(sh, s.current.kind, limit);
	CALL(sh, of_limit_frac, compare_of_limit(sh, current, limit));
	SHOW(sh, of_limit_frac, limit_frac);
	const bool met = in->max.text ? current <= limit : current >= limit;
	TELL(sh, verdict, met ? "ok" : in->max.text ? "above the limit" : "below the limit");
	return met ? ANSWERED : ANSWERED_NO;
}

/* --- against a baseline ---------------------------------------------------------------------------------- */

struct found {
	double worse, least_p, p;
	bool tested; /* repeated measurements */
};

static void
show_change(struct run *r, const struct compare_in *in, const struct sides *s, struct found *f)
{
	struct sheet *sh = r->sheet;
	const enum measure kind = s->current.kind;
	double worse_frac, limit;

	measure_unit(sh, kind);
	TAKE(sh, baseline, rank_median(s->baseline.value, s->baseline.n));
	TAKE(sh, current, rank_median(s->current.value, s->current.n));
	TAKE(sh, threshold_frac, in->threshold);
	show_baseline(sh, kind, baseline);
	show_current(sh, kind, current);
	if (s->more) {
		SET_CALL(sh, limit, compare_least(sh, baseline, threshold_frac));
		show_limit(sh, kind, limit);
		SET_CALL(sh, worse_frac, compare_lost(sh, baseline, current));
	} else {
		SET_CALL(sh, limit, compare_most(sh, baseline, threshold_frac));
		show_limit(sh, kind, limit);
		SET_CALL(sh, worse_frac, compare_added(sh, baseline, current));
	}
	SHOW(sh, worse_frac, change_frac);
	f->worse = worse_frac;
}

static void
show_interval(struct run *r, const struct compare_in *in, const struct sides *s)
{
	struct sheet *sh = r->sheet;
	double from, to;

	rank_interval(s->baseline.value, s->baseline.n, s->current.value, s->current.n, s->more,
	    (unsigned long)in->seed.value, 0.95, &from, &to);
	TAKE(sh, n_seed, in->seed);
	TAKE(sh, worse_low_frac, from);
	TAKE(sh, worse_high_frac, to);
	SHOW(sh, worse_low_frac, change_low_frac);
	SHOW(sh, worse_high_frac, change_high_frac);
	(void)n_seed;
}

/* Are the current measurements worse, or is that chance? */
static void
show_test(struct run *r, const struct compare_in *in, const struct sides *s, struct found *f)
{
	struct sheet *sh = r->sheet;
	const struct rank_test t = rank_test(s->baseline.value, s->baseline.n, s->current.value, s->current.n, s->more);

	f->tested = true;
	f->p = t.p;
	f->least_p = t.least_p;
	show_interval(r, in, s);
	TAKE(sh, n_baseline, (double)s->baseline.n);
	TAKE(sh, n_current, (double)s->current.n);
	TAKE(sh, n_worse_pairs, t.n_worse_pairs);
	CALL(sh, worse_pair_frac, compare_worse_frac(sh, n_worse_pairs, n_baseline, n_current));
	SHOW(sh, worse_pair_frac, pairs_frac);
	TAKE(sh, p, t.p);
	SHOW(sh, p, p);
}

/* So few measurements that no order of them would be rare enough: then the threshold alone decides. */
static bool
can_tell(struct run *r, const struct compare_in *in, const struct found *f)
{
	struct sheet *sh = r->sheet;

	if (!f->tested)
		return false;
	TAKE(sh, significance_frac, in->significance);
	if (f->least_p <= significance_frac)
		return true;
	run_warn(r, "too few measurements for a significance test: only the threshold decides; repeat each 4 times");
	return false;
}

static enum answer
judge(struct run *r, const struct compare_in *in, const struct found *f)
{
	struct sheet *sh = r->sheet;
	const bool above = f->worse > in->threshold.value * (1 + 1e-12) + 1e-15;
	const bool tells = can_tell(r, in, f), sure = !tells || f->p <= in->significance.value;
	const char *word = "ok";

	if (above)
		word = sure ? "regression" : "no significant regression";
	else if (tells && sure && f->worse > 0)
		word = "worse, within the threshold";
	else if (f->worse < 0 && (!f->tested || f->p > 0.5))
		word = "better";
	TELL(sh, verdict, word);
	return above && sure ? ANSWERED_NO : ANSWERED;
}

static enum answer
against_baseline(struct run *r, const struct compare_in *in)
{
	struct sides s;
	struct found f = {.tested = false};

	if (!measure_fraction(r, "threshold", in->threshold, 0, 1e6) ||
	    !measure_fraction(r, "significance", in->significance, 1e-9, 0.5) || !read_sides(r, in, &s))
		return REFUSED;
	r->title = s.more ? "Measurement against its baseline, higher is better"
	                  : "Measurement against its baseline, lower is better";
	show_change(r, in, &s, &f);
	if (s.baseline.n > 1 && s.current.n > 1)
		show_test(r, in, &s, &f);
	else if (s.baseline.n + s.current.n > 2)
		run_warn(r, "repeat both measurements to test for significance");
	return judge(r, in, &f);
}

static enum answer
compare_run(struct run *r, const void *input)
{
	const struct compare_in *in = input;

	if (in->max.text && in->min.text) {
		diag_error(r->diag, in->max.from, "--max and --min exclude each other");
		diag_hint(r->diag, "use one of them");
		return REFUSED;
	}
	if ((in->max.text || in->min.text) && in->baseline.n) {
		diag_error(r->diag, in->baseline.list[0].from, "a limit and --baseline exclude each other");
		diag_hint(r->diag, "use one of them");
		return REFUSED;
	}
	if (in->max.text || in->min.text)
		return against_limit(r, in);
	if (!compare_are_files(&in->baseline, &in->current))
		return against_baseline(r, in);
	const struct compare_files files = {.baseline = in->baseline.list[0],
	    .current = in->current.list[0],
	    .threshold = in->threshold,
	    .significance = in->significance,
	    .seed = in->seed,
	    .worst = in->worst};
	run_reads(r, &in->baseline, &in->current, &in->threshold, &in->significance, &in->worst, NULL);
	return compare_files(r, &files);
}

static const struct option_group compare_groups[] = {OPTION_GROUP(compare_options, 0)};

static const struct example compare_examples[] = {
    {"compare --baseline 1200 --current 120", "throughput regression", 1},
    {"compare --baseline 210,205,212,208,207 --current 204,199,206,203,201 --threshold 0.01",
        "repeated measurements: change, interval and p-value", 1},
    {"compare --baseline 41.2ms,40.8ms,41.9ms,41.1ms --current 41.5ms,40.9ms,42.3ms,41.0ms --threshold 0.5%",
        "times: lower is better", 0},
    {"compare --current 1.27h --max 2h", "a deadline", 0},
    {"compare tests/fixtures/measurement/base.csv tests/fixtures/measurement/new.csv",
        "kernels that became slower between two measurement files", 1},
};

static const struct input_needs compare_needs[] = {
    {"threshold", "it needs --baseline, without --max and --min"},
    {"better", "it needs --baseline, without --max and --min"},
    {"significance", "it needs repeated measurements on both sides"},
    {"seed", "it needs repeated measurements on both sides"},
    {"worst", "it needs two measurement files: ridge compare BASE.csv CURRENT.csv"},
    {"column", "it needs files: --baseline FILE --current FILE"},
};

const struct command compare_command = {
    .name = "compare",
    .section = "Diagnosis",
    .summary = "Performance regression between two measurements",
    .operands = "baseline current",
    .usage = "[BASE CURRENT|JOB]",
    COUNTED(groups, compare_groups),
    COUNTED(examples, compare_examples),
    COUNTED(needs, compare_needs),
    .input_size = sizeof(struct compare_in),
    .run = compare_run,
};
