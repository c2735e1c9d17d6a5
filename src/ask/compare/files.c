/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ask/compare/compare.h"

#include "ask/measure.h"
#include "import/import.h"
#include "model/calc/calc.h"
#include "search/stats/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

bool
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

enum answer
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
