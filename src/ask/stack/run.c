/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps in order: cumulative speedup, time, cost and priority; the speedup of a run by them, deadline, feasibility. */
#include "ask/stack/stack.h"

#include "base/base.h"
#include "cli/cli.h"
#include "model/calc/calc.h"
#include "model/layer/layer.h"

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

/* --- speedup of a run by steps ----------------------------------------------------------------------------------- */

/* --- the run and its steps ------------------------------------------------------------------------------- */

static bool
read_steps(struct run *r, const struct stack_in *in, struct gain_stack *s)
{
	run_reads(r, &in->steps, &in->effort, NULL);
	s->steps = steps_read(r, &in->steps);
	s->n = in->steps.n;
	if (!s->steps || !steps_effort(r, &in->effort, s->steps, s->n))
		return false;
	for (size_t i = 0; i < s->n; i++) {
		s->ranged = s->ranged || s->steps[i].ranged;
		if (s->steps[i].scope == STEP_WHOLE)
			run_assume(r, "factors without a fraction apply to the whole run");
		if (s->steps[i].now)
			run_reads(r, &in->iteration, NULL);
		if (s->steps[i].now && isnan(s->iteration_s))
			return run_refuse(r, s->steps[i].from, "iteration time missing",
			    "add --iteration 450ms or --base, for parts written as /NOW");
	}
	return true;
}

static bool
read_money(struct run *r, const struct stack_in *in, struct gain_stack *s)
{
	s->base_usd = NAN;
	if (datum_given(in->cost) && datum_given(in->price))
		return run_refuse(r, in->price.from, "--cost and --price exclude each other", "keep one of them");
	if (datum_given(in->price) && (!datum_given(in->gpus) || isnan(s->base_s)))
		return run_refuse(r, in->price.from, "--price needs the GPUs and the time", "add --gpus 8 --base 48h");
	return true;
}

/* Feasibility needs all of it or nothing. */
static bool
read_work(struct run *r, const struct stack_in *in, struct gain_stack *s)
{
	struct sheet *sh = r->sheet;
	const bool params = datum_given(in->params) || in->model.text;

	s->n_params = NAN;
	if (!params && !datum_given(in->tokens) && !in->gpu.text)
		return true;
	if (!params || !datum_given(in->tokens) || !in->gpu.text || !datum_given(in->gpus) || isnan(s->base_s))
		return run_refuse(r, in->tokens.from, "the check against the peak needs model, tokens, GPUs and time",
		    "add for example --params 175B --tokens 300B --gpus 1024 --gpu a100 --base 36d");
	if (datum_given(in->params) && in->model.text)
		return run_refuse(r, in->params.from, "--params and --model exclude each other", "keep one");
	const struct gpu *gpu = run_gpu(r, in->gpu);
	struct datum peak;
	if (!gpu || !run_peak(r, gpu, dtype_find(in->dtype.text), in->dtype, &peak))
		return false;
	run_word(r, "dtype", in->dtype);
	if (in->model.text) {
		const struct workload *w = run_model(r, in->model);
		if (!w)
			return false;
		CALL(sh, n_params, model_active_params(sh, w));
		s->n_params = n_params;
	} else {
		TAKE(sh, n_params, in->params);
		s->n_params = n_params;
	}
	TAKE(sh, n_tokens, in->tokens);
	TAKE(sh, peak_flop_per_s, peak);
	s->n_tokens = n_tokens;
	s->peak_flop_per_s = peak_flop_per_s;
	return true;
}

/* --- what is known before -------------------------------------------------------------------------------- */

/* 100 % and the rounding of the figures that led there. */
static bool
is_above_peak(double mfu_frac)
{
	return mfu_frac > 1 + 1e-9;
}

void
stack_note_peak(struct gain_stack *s, double mfu_frac, const char *when)
{
	if (s->infeasible_when || !is_above_peak(mfu_frac))
		return;
	s->infeasible_when = when;
	s->over_frac = mfu_frac;
}

static void
show_base_time(struct run *r, struct gain_stack *s)
{
	struct sheet *sh = r->sheet;
	const struct stack_in *in = s->in;

	SCOPE (sh, "base") {
		TAKE(sh, base_s, in->base);
		SHOW(sh, base_s, base_s);
		if (datum_given(in->price)) {
			TAKE(sh, n_gpus, in->gpus);
			TAKE(sh, gpu_usd_per_s, in->price);
			CALL(sh, base_usd, scale_run_usd(sh, n_gpus, gpu_usd_per_s, base_s));
			SHOW(sh, gpu_usd_per_s, gpu_usd_per_s);
			SHOW(sh, base_usd, base_usd);
			s->base_usd = base_usd;
		}
		if (!isnan(s->n_params)) {
			const double n_params = s->n_params, n_tokens = s->n_tokens;
			const double peak_flop_per_s = s->peak_flop_per_s;
			TAKE(sh, n_fleet_gpus, in->gpus);
			CALL(
			    sh, base_mfu_frac, gain_mfu(sh, n_params, n_tokens, n_fleet_gpus, peak_flop_per_s, base_s));
			SHOW(sh, base_mfu_frac, base_mfu_frac);
			CALL(sh, floor_s, gain_floor(sh, n_params, n_tokens, n_fleet_gpus, peak_flop_per_s));
			SHOW(sh, floor_s, floor_s);
			CALL(sh, most_speedup, scale_speedup_time(sh, base_s, floor_s));
			SHOW(sh, most_speedup, max_speedup);
			stack_note_peak(s, base_mfu_frac, "before optimization");
		}
	}
}

static void
show_base(struct run *r, struct gain_stack *s)
{
	struct sheet *sh = r->sheet;

	if (!isnan(s->base_s))
		show_base_time(r, s);
	if (datum_given(s->in->cost)) {
		TAKE(sh, base_usd, s->in->cost);
		SHOW(sh, base_usd, base_usd);
		s->base_usd = base_usd;
	}
}

/* --- measured afterwards --------------------------------------------------------------------------------- */

/* Against the base, and against what the steps make of it. */
static void
show_measured_gain(struct run *r, const struct gain_stack *s, double after_s)
{
	struct sheet *sh = r->sheet;

	TAKE(sh, base_s, s->base_s);
	CALL(sh, after_speedup, scale_speedup_time(sh, base_s, after_s));
	CALL(sh, after_saved_frac, gain_saved_frac(sh, after_speedup));
	SHOW(sh, after_speedup, after_speedup);
	SHOW(sh, after_saved_frac, after_saved_frac);
	if (!isnan(s->base_usd)) {
		TAKE(sh, before_usd, s->base_usd);
		CALL(sh, after_usd, gain_cost(sh, before_usd, after_speedup));
		CALL(sh, after_saved_usd, cost_saved(sh, before_usd, after_usd));
		SHOW(sh, after_usd, after_usd);
		SHOW(sh, after_saved_usd, after_saved_usd);
	}
	if (s->n) {
		TAKE(sh, steps_speedup, s->speedup[0]);
		CALL(sh, unexplained, gain_remaining(sh, after_speedup, steps_speedup));
		SHOW(sh, unexplained, unexplained);
	}
}

/* Compare the measured or claimed time with the computed one. */
static void
show_measured(struct run *r, struct gain_stack *s)
{
	struct sheet *sh = r->sheet;
	const struct stack_in *in = s->in;

	if (!datum_given(in->after))
		return;
	SCOPE (sh, "after") {
		TAKE(sh, after_s, in->after);
		SHOW(sh, after_s, after_s);
		if (isnan(s->base_s)) {
			TAKE(sh, speedup, s->speedup[0]);
			CALL(sh, before_s, gain_before(sh, after_s, speedup));
			SHOW(sh, before_s, base_s);
		} else
			show_measured_gain(r, s, after_s);
		if (!isnan(s->n_params)) {
			const double n_params = s->n_params, n_tokens = s->n_tokens;
			const double peak_flop_per_s = s->peak_flop_per_s;
			TAKE(sh, n_gpus, in->gpus);
			CALL(sh, after_mfu_frac, gain_mfu(sh, n_params, n_tokens, n_gpus, peak_flop_per_s, after_s));
			SHOW(sh, after_mfu_frac, after_mfu_frac);
			stack_note_peak(s, after_mfu_frac, "afterwards");
		}
	}
}

/* --- the verdict ----------------------------------------------------------------------------------------- */

/* The speedup that a goal asks for, and what is missing of it. */
static void
show_needed(struct run *r, const struct gain_stack *s, double *needed)
{
	struct sheet *sh = r->sheet;
	const struct stack_in *in = s->in;

	*needed = NAN;
	if (!datum_given(in->deadline) && !datum_given(in->target))
		return;
	SCOPE (sh, "goal") {
		double needed_speedup;
		if (datum_given(in->deadline)) {
			TAKE(sh, base_s, s->base_s);
			TAKE(sh, deadline_s, in->deadline);
			SET_CALL(sh, needed_speedup, scale_speedup_time(sh, base_s, deadline_s));
			SHOW(sh, needed_speedup, needed_speedup);
			TAKE(sh, have, s->speedup[1]);
			CALL(sh, time_s, gain_time(sh, base_s, have));
			CALL(sh, late_s, gain_late(sh, time_s, deadline_s));
			SHOW(sh, late_s, late_s);
		} else {
			TAKE(sh, target, in->target);
			SET(sh, needed_speedup, target);
			SHOW(sh, needed_speedup, needed_speedup);
		}
		TAKE(sh, best, s->speedup[1]);
		CALL(sh, remaining, gain_remaining(sh, needed_speedup, best));
		if (remaining > 1)
			SHOW(sh, remaining, remaining_speedup);
		*needed = needed_speedup;
	}
}

bool
stack_reaches(double speedup, double needed)
{
	return speedup >= needed * (1 - 1e-9);
}

static enum answer
show_verdict(struct run *r, const struct gain_stack *s)
{
	struct sheet *sh = r->sheet;
	char buf[40];
	double needed;

	show_needed(r, s, &needed);
	if (s->infeasible_when) {
		value_write("x_frac", s->over_frac, buf, sizeof buf);
		TELL(sh, verdict, arena_printf(r->arena, "infeasible: %s of the peak %s", buf, s->infeasible_when));
		return ANSWERED_NO;
	}
	if (isnan(needed))
		return ANSWERED;
	const bool sure = stack_reaches(s->speedup[0], needed), perhaps = stack_reaches(s->speedup[1], needed);
	TELL(sh, verdict,
	    sure          ? "meets the target"
	        : perhaps ? "meets the target only at the upper bounds"
	                  : "misses the target");
	return sure ? ANSWERED : ANSWERED_NO;
}

static bool
check_question(struct run *r, const struct stack_in *in)
{
	if (in->steps.n == 0 && !datum_given(in->base))
		return run_refuse(r, in->after.from, "no optimizations given",
		    "add --steps amp=1.7,data=1.4 and --base, --breakdown, --check FILE, or two of --fraction, "
		    "--local, --total");
	if (datum_given(in->deadline) && datum_given(in->target))
		return run_refuse(r, in->target.from, "--deadline and --target exclude each other", "keep one of them");
	if (datum_given(in->deadline) && !datum_given(in->base))
		return run_refuse(
		    r, in->deadline.from, "--deadline needs the time before", "add for example --base 48h");
	return true;
}

enum answer
stack_run(struct run *r, const struct stack_in *in)
{
	struct gain_stack s = {
	    .in = in, .base_s = in->base.value, .speedup = {1, 1}, .so_far = {1, 1}, .factor = {1, 1}};

	s.iteration_s = datum_given(in->iteration) ? in->iteration.value : s.base_s;
	if (!check_question(r, in) || !read_steps(r, in, &s) || !read_money(r, in, &s) || !read_work(r, in, &s))
		return REFUSED;
	r->title =
	    s.n ? arena_printf(r->arena, "%zu optimization%s", s.n, s.n == 1 ? "" : "s") : "Run before and after";
	show_base(r, &s);
	if (!stack_show_steps(r, &s))
		return REFUSED;
	show_measured(r, &s);
	return show_verdict(r, &s);
}
