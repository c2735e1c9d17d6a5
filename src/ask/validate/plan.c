/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Judge the search of `ridge plan train` by published runs: how their layouts stand among all that fit. */
#include "ask/validate/validate.h"

#include "base/base.h"
#include "base/sheet.h"
#include "search/layout/layout.h"

#include <stdlib.h>
#include <string.h>

enum { FAMILIES_MOST = 20 };
static const double near_frac = 0.07; /* of the best step: as much as tuned layouts are expected to be */

/* A published layout beside the best of its question. */
struct judged {
	const char *name, *layout, *best;
	int line, rank; /* rank 0: not among the first families */
	double share_frac;
	enum verdict verdict;
	bool same; /* cannot be told from the best */
};

struct plan_judge {
	struct validation *v;
	size_t n, n_alone;
	struct judged *list;
};

struct plan_judge *
plan_judge_new(struct validation *v)
{
	struct plan_judge *j = ARENA_NEW(v->run->arena, struct plan_judge);

	j->v = v;
	return j;
}

/* --- one run ------------------------------------------------------------------------------------------------- */

static bool
same_family(const struct layout *x, const struct layout *y)
{
	return x->tp == y->tp && x->pp == y->pp && x->cp == y->cp && x->ep == y->ep;
}

/* The place of its family, best first; 0: behind those that were kept. */
static int
rank_of(const struct layout_result *found, const struct layout *own)
{
	int rank = 1;

	for (size_t i = 0; i < found->n_rows; i++) {
		bool seen = false;
		if (same_family(&found->rows[i].layout, own))
			return rank;
		for (size_t k = 0; k < i && !seen; k++)
			seen = same_family(&found->rows[k].layout, &found->rows[i].layout);
		rank += !seen;
	}
	return 0;
}

/* Whether the interval of the difference has 0 in it. */
static bool
is_same(const struct layout_space *s, const struct layout_row *best, const struct train_row *t)
{
	struct train_ask ask;
	struct train_answer first;

	layout_train_ask(s, best, &ask);
	train_answer(&ask, &t->bound.doubts, &first);
	const struct layout_shares x = layout_shares_of(&first.job, &first.terms),
	                           y = layout_shares_of(&t->answer.job, &t->answer.terms);
	return fabs(log(y.step_s / x.step_s)) <= layout_difference(&x, &y, dtype_byte(first.job.dtype) < 2);
}

static const char *
layout_of(struct run *r, const struct memory_job *job, double n_sequences)
{
	char text[120];

	fit_layout_text(job, text, sizeof text);
	return arena_printf(r->arena, "%s,batch %g", text, n_sequences);
}

static void
compare(
    struct plan_judge *j, const struct train_row *t, const struct layout_space *s, const struct layout_result *found)
{
	struct run *r = j->v->run;
	const struct layout_row *best = &found->rows[0];
	struct memory_job job;
	struct judged *out;

	j->list = arena_grow(r->arena, j->list, j->n, j->n + 1, sizeof *j->list);
	out = &j->list[j->n++];
	layout_memory_job(s, best, &job);
	*out = (struct judged){.name = row_text(t->published.row, "case_id"),
	    .layout = layout_of(r, &t->bound.memory, t->answer.job.n_sequences),
	    .best = layout_of(r, &job, best->n_sequences),
	    .line = row_line(t->published.row),
	    .rank = rank_of(found, &t->bound.memory.layout),
	    .share_frac = best->step_s / t->answer.step_s,
	    .verdict = FITS,
	    .same = is_same(s, best, t)};
	if (s->modeled)
		out->verdict = memory_verdict(&t->bound.memory, memory_peak(NULL, &t->bound.memory, NULL));
}

void
plan_judge_row(struct plan_judge *j, const struct train_row *t, const struct train_bound *open)
{
	struct layout_space s = {.ask = open->ask,
	    .memory = open->memory,
	    .modeled = !open->no_memory && datum_given(open->memory.card_byte),
	    .n_gpus = t->bound.ask.n_gpus,
	    .n_global_sequences = t->answer.job.n_global_sequences,
	    .n_rows = FAMILIES_MOST,
	    .across = t->bound.memory.layout.tp > open->ask.machine.n_domain};
	struct layout_result found;
	struct arena *passing = arena_new();

	layout_policies(&s);
	s.memos = layout_memos_new(passing, s.ask.machine.kernels);
	layout_search(passing, &s, &found);
	if (found.n_rows > 0)
		compare(j, t, &s, &found);
	else
		validation_skip(j->v, row_line(t->published.row), "no layout of the search fits");
	layout_memos_free(s.memos);
	arena_free(passing);
}

/* --- all of them --------------------------------------------------------------------------------------------- */

static int
by_share(const void *a, const void *b)
{
	const struct judged *x = a, *y = b;

	return x->share_frac != y->share_frac ? (x->share_frac < y->share_frac ? -1 : 1)
	                                      : (x->line > y->line) - (x->line < y->line);
}

static void
show_judged(struct sheet *sh, const struct judged *x)
{
	TAKE(sh, line, x->line);
	SHOW(sh, line, line);
	TELL(sh, what, x->name ? x->name : "-");
	TELL(sh, layout, x->layout);
	TELL(sh, verdict, verdict_name(x->verdict));
	TELL(sh, best_layout, x->best);
	TAKE(sh, best_share_frac, x->share_frac);
	SHOW(sh, best_share_frac, best_share_frac);
	if (x->rank > 0) {
		TAKE(sh, family_rank, x->rank);
		SHOW(sh, family_rank, n_family_rank);
	}
	TELL(sh, note, x->same ? "not distinguishable from the best" : x->rank == 0 ? "behind 20 families" : "");
}

bool
plan_judge_show(const struct plan_judge *j, struct words files, size_t worst)
{
	struct run *r = j->v->run;
	struct sheet *sh = r->sheet;
	double *regret = ARENA_ARRAY(r->arena, double, j->n + 1), all = 0;
	size_t n_near = 0, n_first = 0, n_fit = 0;

	if (j->n == 0)
		return run_refuse(r, files.list[0].from, "no layout to judge",
		    "give training runs on several GPUs, with layout and step time");
	for (size_t i = 0; i < j->n; i++) {
		regret[i] = fmax(0, 1 - j->list[i].share_frac);
		all += regret[i];
		n_near += j->list[i].share_frac >= 1 / (1 + near_frac);
		n_first += j->list[i].rank > 0 || j->list[i].same;
		n_fit += j->list[i].verdict != DOES_NOT_FIT;
	}
	r->title = "published layouts against the best of ridge plan train";
	const double n_judged = (double)j->n;
	TAKE(sh, n_rows, n_judged);
	SHOW(sh, n_rows, n);
	TAKE(sh, fit_frac, (double)n_fit / n_judged);
	SHOW(sh, fit_frac, fit_frac);
	TAKE(sh, near_best_frac, (double)n_near / n_judged);
	SHOW(sh, near_best_frac, near_best_frac);
	TAKE(sh, first_families_frac, (double)n_first / n_judged);
	SHOW(sh, first_families_frac, first_families_frac);
	TAKE(sh, median_regret_frac, rank_median(regret, j->n));
	SHOW(sh, median_regret_frac, median_regret_frac);
	TAKE(sh, mean_regret_frac, all / n_judged);
	SHOW(sh, mean_regret_frac, mean_regret_frac);
	qsort(j->list, j->n, sizeof *j->list, by_share);
	for (size_t i = 0; i < j->n && i < worst; i++)
		SCOPE_I (sh, "plans", i)
			show_judged(sh, &j->list[i]);
	return true;
}
