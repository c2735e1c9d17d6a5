/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Speedup of a run by steps: times, costs, deadline, feasibility. */
#include "ask/stack/stack.h"

#include "cli/cli.h"
#include "model/calc/calc.h"
#include "model/layer/layer.h"

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
