/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans over several numbers of GPUs: fewest, cheapest, fastest, and what meets a deadline or a budget. */
#include "ask/plan/plan.h"

#include <stdlib.h>
#include <string.h>

/* Whether time and money stay within what was said; `sure`: at the upper end of the interval too. */
static bool
meets(const struct plan_in *in, const struct plan_row *row, bool sure)
{
	const double factor = sure ? row->high : 1;

	return !(factor * row->run_s > datum_or(in->deadline, INFINITY)) &&
	    !(factor * row->usd > datum_or(in->budget, INFINITY));
}

/* The first of those that meet it by this rank; n: there is none. */
static size_t
best_of(const struct plan_in *in, const struct plan_row *rows, size_t n, enum layout_rank rank, bool sure)
{
	size_t best = n;

	for (size_t i = 0; i < n; i++)
		if (meets(in, &rows[i], sure) &&
		    (best == n || plan_value(&rows[i], rank) < plan_value(&rows[best], rank)))
			best = i;
	return best;
}

/* --- rows worth a line ------------------------------------------------------------------------------------ */

/* No other row is as fast for as little GPU time. */
static bool
is_front(const struct plan_row *rows, size_t n, size_t i)
{
	for (size_t k = 0; k < n; k++) {
		const double faster = plan_value(&rows[i], RANK_TIME) - plan_value(&rows[k], RANK_TIME);
		const double cheaper = plan_value(&rows[i], RANK_COST) - plan_value(&rows[k], RANK_COST);
		if (k != i && faster >= 0 && cheaper >= 0 && (faster > 0 || cheaper > 0))
			return false;
	}
	return true;
}

static const struct {
	enum layout_rank rank;
	const char *plain, *sure;
} titles[] = {{RANK_GPUS, "fewest", "fewest that is sure"}, {RANK_COST, "cheapest", "cheapest that is sure"},
    {RANK_TIME, "fastest", NULL}};
enum { N_TITLES = sizeof titles / sizeof *titles };

/* What a row is known for. */
static const char *
note_of(struct run *r, const struct plan_in *in, const struct plan_row *rows, size_t n, size_t i)
{
	const bool target = datum_given(in->deadline) || datum_given(in->budget);
	const char *text = "";

	for (size_t t = 0; t < N_TITLES; t++)
		for (int sure = 0; sure < 2; sure++) {
			const char *title = sure ? titles[t].sure : titles[t].plain;
			if (!title || (sure && !target) || best_of(in, rows, n, titles[t].rank, sure) != i ||
			    (sure && best_of(in, rows, n, titles[t].rank, false) == i))
				continue;
			text = arena_printf(r->arena, "%s%s%s", text, *text ? ", " : "", title);
		}
	if (target && !meets(in, &rows[i], true))
		text = arena_printf(r->arena, "%s%smisses in the upper part of its interval", text, *text ? "; " : "");
	return text;
}

/* At most `most` of n rows that may be left out, evenly; those that are known for something stay. */
static size_t
thin_out(struct run *r, const struct plan_in *in, struct plan_row *rows, size_t n, size_t most)
{
	bool *keep = ARENA_ARRAY(r->arena, bool, n + 1);
	size_t n_kept = 0, n_front = 0, seen = 0;
	struct plan_row *all = ARENA_ARRAY(r->arena, struct plan_row, n + 1);

	for (size_t i = 0; i < n; i++) {
		keep[i] = n <= most;
		all[i] = rows[i];
	}
	for (size_t t = 0; t < N_TITLES && n > most; t++)
		for (int sure = 0; sure < 2; sure++) {
			const size_t best = best_of(in, rows, n, titles[t].rank, sure);
			if (best < n)
				keep[best] = true;
		}
	for (size_t i = 0; i < n; i++)
		n_kept += keep[i];
	for (size_t i = 0; i < n; i++)
		n_front += !keep[i] && is_front(all, n, i);
	const size_t room = most > n_kept ? most - n_kept : 0;
	for (size_t i = 0; i < n && n_front > 0; i++)
		if (!keep[i] && is_front(all, n, i)) {
			keep[i] = (seen + 1) * room / n_front > seen * room / n_front;
			seen++;
		}
	n_kept = 0;
	for (size_t i = 0; i < n; i++)
		if (keep[i])
			rows[n_kept++] = all[i];
	return n_kept;
}

/* --- the answer -------------------------------------------------------------------------------------------- */

/* Nothing meets the deadline or the budget: the fastest or the cheapest there is. */
static enum answer
show_missed(struct run *r, const struct plan_in *in, const struct plan_question *b, struct plan_found *found)
{
	struct sheet *sh = r->sheet;
	const enum layout_rank rank = datum_given(in->deadline) ? RANK_TIME : RANK_COST;
	size_t best = 0;
	char text[80];

	for (size_t i = 1; i < found->n; i++)
		if (plan_value(&found->rows[i], rank) < plan_value(&found->rows[best], rank))
			best = i;
	struct plan_row *row = &found->rows[best];
	const double factor = in->sure ? row->high : 1;
	SCOPE_I (sh, "layouts", 0) {
		plan_show_row(r, in, b, row, row);
		TELL(sh, note, rank == RANK_TIME ? "the fastest there is" : "the cheapest there is");
	}
	if (factor * row->run_s > datum_or(in->deadline, INFINITY)) {
		TAKE(sh, taken_s, factor * row->run_s);
		TAKE(sh, deadline_s, in->deadline);
		LET(sh, late_s, taken_s - deadline_s);
		SHOW(sh, late_s, late_s);
		run_warn(r, "no layout meets the deadline: it is missed by %s",
		    value_write("late_s", late_s, text, sizeof text));
	}
	if (factor * row->usd > datum_or(in->budget, INFINITY)) {
		TAKE(sh, paid_usd, factor * row->usd);
		TAKE(sh, budget_usd, in->budget);
		LET(sh, over_usd, paid_usd - budget_usd);
		SHOW(sh, over_usd, over_usd);
		run_warn(r, "no layout stays within the budget: it is exceeded by %s",
		    value_write("over_usd", over_usd, text, sizeof text));
	}
	found->rows[0] = *row;
	return ANSWERED_NO;
}

enum answer
plan_show_scales(struct run *r, const struct plan_in *in, const struct plan_question *b, struct plan_found *found)
{
	struct plan_row *rows = found->rows;
	size_t n = 0;

	for (size_t i = 0; i < found->n; i++)
		n += meets(in, &rows[i], in->sure);
	if (n == 0)
		return show_missed(r, in, b, found);
	n = 0;
	for (size_t i = 0; i < found->n; i++)
		if (meets(in, &rows[i], in->sure))
			rows[n++] = rows[i];
	found->n = b->front ? plan_front_of(b, rows, n) : n;
	if (!in->all)
		found->n = thin_out(r, in, rows, found->n, (size_t)in->top.value);
	for (size_t i = 0; i < found->n; i++)
		SCOPE_I (r->sheet, "layouts", i) {
			plan_show_row(r, in, b, &rows[i], &rows[0]);
			TELL(r->sheet, note, note_of(r, in, rows, found->n, i));
		}
	return ANSWERED;
}
