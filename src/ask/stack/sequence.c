/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Apply steps in order: cumulative speedup, time, cost and priority. */
#include "ask/stack/stack.h"
#include "base/base.h"
#include "model/calc/calc.h"

#include <stdlib.h>

/* --- the order that pays --------------------------------------------------------------------------------- */

struct worth {
	size_t step;
	double saved; /* of the run, for each day of work when that is known */
};

static int
by_worth(const void *a, const void *b)
{
	const struct worth *x = a, *y = b;

	if (x->saved != y->saved)
		return x->saved < y->saved ? 1 : -1;
	return (x->step > y->step) - (x->step < y->step);
}

/* Apply the factors in the given order; ranges are ranked by their midpoint. */
static void
rank_steps(struct run *r, struct gain_stack *s)
{
	struct worth *all = ARENA_ARRAY(r->arena, struct worth, s->n + 1);
	double so_far = 1;

	s->rank = ARENA_ARRAY(r->arena, size_t, s->n + 1);
	for (size_t i = 0; i < s->n; i++) {
		const struct step *step = &s->steps[i];
		const double now = gain_time(NULL, s->iteration_s, so_far);
		const double f = gain_middle(NULL, step_factor(NULL, step, 0, now), step_factor(NULL, step, 1, now));
		so_far = gain_product(NULL, so_far, f);
		all[i] = (struct worth){
		    i, isnan(step->effort_s) ? gain_saved_frac(NULL, f) : gain_per_effort(NULL, f, step->effort_s)};
	}
	qsort(all, s->n, sizeof *all, by_worth);
	for (size_t k = 0; k < s->n; k++)
		s->rank[all[k].step] = k + 1;
}

/* --- steps ----------------------------------------------------------------------------------------------- */

static void
show_rank(struct run *r, const struct gain_stack *s, size_t i)
{
	struct sheet *sh = r->sheet;

	if (s->n < 2)
		return;
	if (!isnan(s->steps[i].effort_s)) {
		TAKE(sh, effort_s, s->steps[i].effort_s);
		SHOW(sh, effort_s, effort_s);
	}
	TAKE(sh, n_rank, (double)s->rank[i]);
	SHOW(sh, n_rank, rank);
}

static void
show_mfu(struct run *r, struct gain_stack *s, size_t i, double time_s)
{
	struct sheet *sh = r->sheet;

	if (isnan(s->n_params))
		return;
	const double n_params = s->n_params, n_tokens = s->n_tokens, peak_flop_per_s = s->peak_flop_per_s;
	TAKE(sh, n_gpus, s->in->gpus);
	CALL(sh, mfu_frac, gain_mfu(sh, n_params, n_tokens, n_gpus, peak_flop_per_s, time_s));
	SHOW(sh, mfu_frac, mfu_frac);
	stack_note_peak(s, mfu_frac, arena_printf(r->arena, "after %s", s->steps[i].name));
}

/* Time, money and what this step saves of them. */
static void
show_after(struct run *r, struct gain_stack *s, size_t i, double so_far, double speedup)
{
	struct sheet *sh = r->sheet;

	if (!isnan(s->base_s)) {
		TAKE(sh, base_s, s->base_s);
		CALL(sh, before_s, gain_time(sh, base_s, so_far));
		CALL(sh, time_s, gain_time(sh, base_s, speedup));
		CALL(sh, saved_s, gain_saved_time(sh, before_s, time_s));
		SHOW(sh, time_s, time_s);
		SHOW(sh, saved_s, saved_s);
		show_mfu(r, s, i, time_s);
	}
	if (!isnan(s->base_usd)) {
		TAKE(sh, base_usd, s->base_usd);
		CALL(sh, before_usd, gain_cost(sh, base_usd, so_far));
		CALL(sh, cost_usd, gain_cost(sh, base_usd, speedup));
		CALL(sh, saved_usd, cost_saved(sh, before_usd, cost_usd));
		SHOW(sh, cost_usd, cost_usd);
		SHOW(sh, saved_usd, saved_usd);
	}
}

static void
show_exact(struct run *r, struct gain_stack *s, size_t i)
{
	struct sheet *sh = r->sheet;
	const double iteration_s = gain_time(NULL, s->iteration_s, s->speedup[0]);

	CALL(sh, factor, step_factor(sh, &s->steps[i], 0, iteration_s));
	TAKE(sh, so_far, s->speedup[0]);
	CALL(sh, speedup, gain_product(sh, so_far, factor));
	CALL(sh, saved_frac, gain_saved_frac(sh, factor));
	(void)saved_frac;
	SHOW(sh, factor, factor);
	SHOW(sh, speedup, speedup);
	show_after(r, s, i, so_far, speedup);
	s->so_far[0] = s->so_far[1] = so_far;
	s->factor[0] = s->factor[1] = factor;
	s->speedup[0] = s->speedup[1] = speedup;
}

/* Both ends of the ranges. */
static void
show_range(struct run *r, struct gain_stack *s, size_t i)
{
	struct sheet *sh = r->sheet;
	const double slow_s = gain_time(NULL, s->iteration_s, s->speedup[0]);
	const double fast_s = gain_time(NULL, s->iteration_s, s->speedup[1]);

	CALL(sh, factor_low, step_factor(sh, &s->steps[i], 0, slow_s));
	CALL(sh, factor_high, step_factor(sh, &s->steps[i], 1, fast_s));
	TAKE(sh, low_so_far, s->speedup[0]);
	TAKE(sh, high_so_far, s->speedup[1]);
	CALL(sh, speedup_low, gain_product(sh, low_so_far, factor_low));
	CALL(sh, speedup_high, gain_product(sh, high_so_far, factor_high));
	SHOW(sh, factor_low, factor_low);
	SHOW(sh, factor_high, factor_high);
	SHOW(sh, speedup_low, speedup_low);
	SHOW(sh, speedup_high, speedup_high);
	if (!isnan(s->base_s)) {
		TAKE(sh, base_s, s->base_s);
		CALL(sh, longest_s, gain_time(sh, base_s, speedup_low));
		CALL(sh, shortest_s, gain_time(sh, base_s, speedup_high));
		SHOW(sh, longest_s, max_time_s);
		SHOW(sh, shortest_s, min_time_s);
		show_mfu(r, s, i, shortest_s);
	}
	s->so_far[0] = low_so_far;
	s->so_far[1] = high_so_far;
	s->factor[0] = factor_low;
	s->factor[1] = factor_high;
	s->speedup[0] = speedup_low;
	s->speedup[1] = speedup_high;
}

/* False when a part does not fit into the iteration that is left. */
static bool
fits_now(struct run *r, const struct gain_stack *s, size_t i)
{
	const struct step *step = &s->steps[i];
	const double now = gain_time(NULL, s->iteration_s, s->speedup[1]);

	if (!step->now || step->before <= now)
		return true;
	char part[40], whole[40];
	value_write("x_s", step->before, part, sizeof part);
	value_write("x_s", now, whole, sizeof whole);
	diag_error(
	    r->diag, step->from, "step '%s': %s exceeds the iteration time, %s at that point", step->name, part, whole);
	diag_hint(r->diag, "measure the part again, or move the step to where it was measured");
	return false;
}

static bool
show_table(struct run *r, struct gain_stack *s)
{
	struct sheet *sh = r->sheet;
	bool ok = true;

	rank_steps(r, s);
	for (size_t i = 0; ok && i < s->n; i++) {
		ok = fits_now(r, s, i);
		SCOPE_I (sh, "steps", i) {
			TELL(sh, step, s->steps[i].name);
			TELL(sh, applies, s->steps[i].applies);
			if (s->ranged)
				show_range(r, s, i);
			else
				show_exact(r, s, i);
			show_rank(r, s, i);
		}
	}
	return ok;
}

/* --- all of it ------------------------------------------------------------------------------------------- */

/* The step that saves most where it stands. */
static void
show_largest(struct run *r, const struct gain_stack *s)
{
	struct sheet *sh = r->sheet;
	double so_far = 1, most = 0;
	const char *name = NULL;

	for (size_t i = 0; i < s->n; i++) {
		const double now = gain_time(NULL, s->iteration_s, so_far);
		const double speedup = gain_product(NULL, so_far, step_factor(NULL, &s->steps[i], 0, now));
		const double saved = gain_saved_time(NULL, gain_time(NULL, 1, so_far), gain_time(NULL, 1, speedup));
		if (saved > most) {
			most = saved;
			name = s->steps[i].name;
		}
		so_far = speedup;
	}
	if (name && s->n > 1)
		TELL(sh, largest_step, name);
}

static void
show_total(struct run *r, struct gain_stack *s)
{
	struct sheet *sh = r->sheet;

	TAKE(sh, so_far, s->so_far[0]);
	TAKE(sh, last_factor, s->factor[0]);
	CALL(sh, total_speedup, gain_product(sh, so_far, last_factor));
	CALL(sh, total_saved_frac, gain_saved_frac(sh, total_speedup));
	SHOW(sh, total_speedup, speedup);
	SHOW(sh, total_saved_frac, saved_frac);
	if (!isnan(s->base_s)) {
		TAKE(sh, base_s, s->base_s);
		CALL(sh, total_s, gain_time(sh, base_s, total_speedup));
		SHOW(sh, total_s, time_s);
	}
	if (!isnan(s->base_usd)) {
		TAKE(sh, before_usd, s->base_usd);
		CALL(sh, total_usd, gain_cost(sh, before_usd, total_speedup));
		CALL(sh, total_saved_usd, cost_saved(sh, before_usd, total_usd));
		SHOW(sh, total_usd, cost_usd);
		SHOW(sh, total_saved_usd, saved_usd);
	}
	show_largest(r, s);
}

/* Interval of the combined speedup, with independent factors uniform in their ranges. */
static void
show_likely(struct run *r, const struct gain_stack *s)
{
	struct sheet *sh = r->sheet;
	enum { FEW = 3 };
	double middle = 1;
	int n_ranged = 0;

	for (size_t i = 0; i < s->n; i++) {
		n_ranged += s->steps[i].ranged;
		if (s->steps[i].now)
			return; /* its factor depends on the others */
	}
	if (n_ranged < FEW)
		return;
	SCOPE (sh, "likely") {
		for (size_t i = 0; i < s->n; i++)
			middle = gain_product(NULL, middle,
			    gain_middle(NULL, step_factor(NULL, &s->steps[i], 0, NAN),
			        step_factor(NULL, &s->steps[i], 1, NAN)));
		SUM(sh, spread, k, (int)s->n,
		    gain_spread(sh, step_factor(NULL, &s->steps[k], 0, NAN), step_factor(NULL, &s->steps[k], 1, NAN)));
		TAKE(sh, level_frac, 0.80);
		TAKE(sh, z, num_normal_quantile(0.5 + level_frac / 2));
		TAKE(sh, all_middle, middle);
		CALL(sh, likely_low, gain_likely_low(sh, all_middle, spread, z));
		CALL(sh, likely_high, gain_likely_high(sh, all_middle, spread, z));
		SHOW(sh, likely_low, likely_low);
		SHOW(sh, likely_high, likely_high);
	}
	run_assume(r, "ranges combined as independent; all upper bounds at once are unlikely");
}

static void
show_total_range(struct run *r, struct gain_stack *s)
{
	struct sheet *sh = r->sheet;

	TAKE(sh, low_so_far, s->so_far[0]);
	TAKE(sh, high_so_far, s->so_far[1]);
	TAKE(sh, low_factor, s->factor[0]);
	TAKE(sh, high_factor, s->factor[1]);
	CALL(sh, total_speedup_low, gain_product(sh, low_so_far, low_factor));
	CALL(sh, total_speedup_high, gain_product(sh, high_so_far, high_factor));
	SHOW(sh, total_speedup_low, speedup_low);
	SHOW(sh, total_speedup_high, speedup_high);
	show_likely(r, s);
	if (!isnan(s->base_s)) {
		TAKE(sh, base_s, s->base_s);
		CALL(sh, total_longest_s, gain_time(sh, base_s, total_speedup_low));
		CALL(sh, total_shortest_s, gain_time(sh, base_s, total_speedup_high));
		SHOW(sh, total_longest_s, max_time_s);
		SHOW(sh, total_shortest_s, min_time_s);
	}
	if (!isnan(s->base_usd)) {
		TAKE(sh, before_usd, s->base_usd);
		CALL(sh, most_usd, gain_cost(sh, before_usd, total_speedup_low));
		CALL(sh, least_usd, gain_cost(sh, before_usd, total_speedup_high));
		SHOW(sh, most_usd, max_cost_usd);
		SHOW(sh, least_usd, min_cost_usd);
	}
}

bool
stack_show_steps(struct run *r, struct gain_stack *s)
{
	if (s->n == 0)
		return true;
	if (!show_table(r, s))
		return false;
	if (s->ranged)
		show_total_range(r, s);
	else
		show_total(r, s);
	return true;
}
