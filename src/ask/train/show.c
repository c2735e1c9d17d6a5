/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Show the answer of `ridge train`: step time, breakdown, sensitivity. */
#include "ask/train/train.h"

#include "ask/bind/bind.h"
#include "base/base.h"
#include "model/kernel/kernel.h"
#include "model/layer/layer.h"
#include "search/plan/plan.h"

#include <math.h>
#include <string.h>

/* --- the interval ---------------------------------------------------------------------------------------- */

/* Classes of kernels: their shares of the step, and how their measurements lay around their predictions. */
static void
add_class(struct error_terms *e, const struct calibration *c, const char *residual, double share_frac, double sigma)
{
	if (share_frac > 0 && e->n < ERROR_CLASSES_MAX)
		e->classes[e->n++] = error_class_of(share_frac, residual ? residual_of(c, residual) : NULL, sigma);
}

/* Whether the products of this type were fitted to the machine's own. */
static bool
is_own(struct run *r, const struct train_bound *b, enum dtype t)
{
	const struct gpu *gpu = b->gpu->filed ? b->gpu->filed : b->gpu;
	const struct calibration *c = run_calibration(r, gpu->id, NULL);

	return dtype_byte(t) < 2 ? calibration_own(c, "gemm_by_dtype") && gemm_calibrated(c, t)
	                         : calibration_own(c, "gemm");
}

/* Components of variance: inside a group of source, model and GPU, between groups, between machines until this one was
 * measured, and between stacks where this one is not listed, more so with experts and adapters.  The widening is
 * Student's quantile over the normal one, with a degree of freedom less than there are groups. */
static void
add_composition(const struct train_job *job, bool listed, bool own, const struct uncertainty *u, struct error_terms *e)
{
	const struct stack_time *t = job->stack;
	const bool recipe = (!listed || t->dense_runs) && (job->adapters || workload_has_experts(job->model));
	const double groups = hypot(datum_or(u->within_sigma, datum_or(u->sigma, 0.1)), datum_or(u->group_sigma, 0));
	const double unlisted = listed ? 0 : datum_or(u->unlisted_sigma, 0);
	const double machine = own ? 0 : datum_or(u->machine_sigma, 0);
	const double stacks = datum_or(u->n_stacks, 2);
	/* a spread of few runs is mostly that of the stacks */
	const double n = datum_given(t->spread) ? fmax(stacks, datum_or(t->n_runs, 2))
	    : listed                            ? datum_or(u->n_groups, 2)
	                                        : stacks;

	e->stack_sigma = hypot(datum_given(t->spread) ? t->spread.value : hypot(hypot(groups, machine), unlisted),
	    recipe ? datum_or(u->recipe_sigma, 0) : 0);
	e->widening *= num_student(0.8, fmax(1, n - 1)) / num_normal_quantile(0.9);
}

/* A framework that is not listed is off by no more than this factor, and no more when some of its steps were measured:
 * wider says nothing, and of 454 published steps that were predicted so, 18 lie outside. */
static const double UNLISTED_MOST = 1.6;

struct interval
train_interval(struct run *r, const struct train_bound *b, const struct train_answer *a)
{
	const struct calibration *c = a->job.machine.kernels;
	const struct uncertainty *u = run_uncertainty(r, "train");
	const bool narrow = dtype_byte(a->job.dtype) < 2;
	double share[N_TRAIN_SHARES];
	struct error_terms e = {
	    .transfer_sigma = c->transferred_from ? fmax(c->transfer_sigma.gemm, datum_or(u->transfer_sigma, 0)) : 0,
	    .widening = a->band * datum_or(u->conformal, 1)};

	add_composition(&a->job, b->stack->time.listed, is_own(r, b, a->job.dtype), u, &e);
	train_shares(&a->job, &a->terms, share);
	const double t = a->terms.step_s;
	add_class(&e, c, narrow ? NULL : "gemm_bf16",
	    (share[TRAIN_LINEAR] + share[TRAIN_EXPERTS] + share[TRAIN_LOGITS] + share[TRAIN_RECOMPUTE]) / t,
	    narrow ? 0.08 : 0.06);
	add_class(&e, c, NULL, share[TRAIN_ATTENTION] / t, 0.10);
	/* scans and the waits beside them: 37 steps whose GPU or model was left out were 6 and 7 % off */
	add_class(&e, c, NULL, share[TRAIN_SCAN] / t, 0.15);
	add_class(&e, c, NULL,
	    (share[TRAIN_TP] + share[TRAIN_CP] + share[TRAIN_EP] + share[TRAIN_PP] + share[TRAIN_DP]) / t, 0.15);
	/* updates on the host: three hosts, the fastest five times the slowest */
	const double hosted_s = a->job.offload & OFFLOAD_OPTIMIZER ? share[TRAIN_OPTIMIZER] : 0;
	add_class(&e, c, NULL,
	    (share[TRAIN_ELEMENTWISE] + share[TRAIN_QUANTISE] + share[TRAIN_OPTIMIZER] - hosted_s) / t, 0.15);
	add_class(&e, c, NULL, hosted_s / t, 0.85);
	add_class(&e, c, NULL, share[TRAIN_HOST] / t, train_waits_alike(&a->job) ? 0.15 : 0.4);
	struct interval i = interval_of(a->step_s, &e,
	    c->transferred_from         ? arena_printf(r->arena, "transferred from %s", c->transferred_from)
	        : b->stack->time.listed ? "calibrated"
	                                : "calibrated kernels, uncalibrated framework");
	i.low = fmin(i.low, a->low * a->step_s);
	i.high = fmax(i.high, a->high * a->step_s);
	if (hosted_s == 0 && (!b->stack->time.listed || datum_given(b->stack->time.spread))) {
		i.low = fmax(i.low, a->step_s / UNLISTED_MOST);
		i.high = fmin(i.high, a->step_s * UNLISTED_MOST);
	}
	return i;
}

/* --- two layouts compared --------------------------------------------------------------------------------- */

/* Standard deviations of ln(measured / predicted) by class, as for a single step. */
static const double sigmas[N_PAIR_CLASSES] = {0.06, 0.10, 0.15, 0.15, 0.40};
/* GEMMs of 8 bits and less. */
static const double NARROW_GEMM = 0.08;
/* Error of a layout's prediction besides its classes: an assumption, not a fit.  111 published pairs of one source,
 * release, model, GPU and batch differ by 4.6 % (rms) in ln(measured / predicted), the classes included. */
static const double OWN = 0.03;
static const double QUANTILE_80 = 1.2816;

struct layout_shares
layout_shares_of(const struct train_job *job, const struct train_terms *t)
{
	struct layout_shares s = {.step_s = t->step_s, .unproven = train_unproven(job)};
	double share[N_TRAIN_SHARES];

	train_shares(job, t, share);
	s.frac[PAIR_GEMM] =
	    (share[TRAIN_LINEAR] + share[TRAIN_EXPERTS] + share[TRAIN_LOGITS] + share[TRAIN_RECOMPUTE]) / t->step_s;
	s.frac[PAIR_ATTENTION] = (share[TRAIN_ATTENTION] + share[TRAIN_SCAN]) / t->step_s;
	s.frac[PAIR_COMM] =
	    (share[TRAIN_TP] + share[TRAIN_CP] + share[TRAIN_EP] + share[TRAIN_PP] + share[TRAIN_DP]) / t->step_s;
	s.frac[PAIR_ELEMENTWISE] =
	    (share[TRAIN_ELEMENTWISE] + share[TRAIN_QUANTISE] + share[TRAIN_OPTIMIZER]) / t->step_s;
	s.frac[PAIR_HOST] = share[TRAIN_HOST] / t->step_s;
	return s;
}

double
layout_difference(const struct layout_shares *a, const struct layout_shares *b, bool narrow)
{
	double variance = 2 * OWN * OWN;

	for (int i = 0; i < N_PAIR_CLASSES; i++) {
		const double sigma = i == PAIR_GEMM && narrow ? NARROW_GEMM : sigmas[i];
		const double d = (a->frac[i] - b->frac[i]) * sigma;
		variance += d * d;
	}
	if (a->unproven != b->unproven)
		variance += plan_unproven_frac * plan_unproven_frac;
	return QUANTILE_80 * sqrt(variance);
}

/* --- the step -------------------------------------------------------------------------------------------- */

static void
show_shares(struct run *r, const struct train_answer *a)
{
	struct sheet *sh = r->sheet;
	double share[N_TRAIN_SHARES];

	train_shares(&a->job, &a->terms, share);
	for (int i = 0; i < N_TRAIN_SHARES; i++) {
		if (!(share[i] > 0) && !(share[i] < 0))
			continue;
		SCOPE_I (sh, "breakdown", i) {
			TELL_HIDDEN(sh, part, train_share_name((enum train_share)i));
			TELL(sh, title, train_share_title((enum train_share)i));
			TAKE(sh, part_s, share[i]);
			TAKE(sh, whole_s, a->terms.step_s);
			CALL(sh, part_frac, roofline_share(sh, part_s, whole_s));
			SHOW(sh, part_s, time_s);
			SHOW(sh, part_frac, share_frac);
		}
	}
}

static void
show_utilisation(struct run *r, const struct train_question *q, const struct train_bound *b,
    const struct train_answer *a, double rate)
{
	struct sheet *sh = r->sheet;
	const enum convention c = convention_find(run_word(r, "flops-convention", q->train->convention));
	const char *why = convention_refusal(c, a->job.model);
	const enum peak own = dtype_peak(a->job.dtype), half = b->gpu->lacks[PEAK_BF16] ? PEAK_FP16 : PEAK_BF16;

	if (why) {
		run_warn(r, "no MFU: %s", why);
		return;
	}
	TAKE(sh, reached_token_per_s, rate);
	CALL(sh, model_flop_per_token, convention_flop(sh, c, a->job.model, a->job.seq_length));
	TAKE(sh, peak_flop_per_s, b->gpu->peak_flop_per_s[own]);
	CALL(sh, mfu_frac, train_utilisation(sh, model_flop_per_token, reached_token_per_s, peak_flop_per_s));
	SHOW(sh, model_flop_per_token, flop_per_token);
	if (convention_is_hardware(c))
		SHOW(sh, mfu_frac, hfu_frac);
	else
		SHOW(sh, mfu_frac, mfu_frac);
	if (own != half && datum_given(b->gpu->peak_flop_per_s[half]) && dtype_byte(a->job.dtype) < 2) {
		TAKE(sh, half_flop_per_s, b->gpu->peak_flop_per_s[half]);
		CALL(sh, mfu_bf16_frac,
		    train_utilisation(sh, model_flop_per_token, reached_token_per_s, half_flop_per_s));
		SHOW(sh, mfu_bf16_frac, mfu_bf16_frac);
	}
	if (convention_is_hardware(c) || a->terms.recompute_s <= 0)
		return;
	CALL(sh, hardware_flop_per_token, train_hardware_flop(sh, &a->job, model_flop_per_token));
	CALL(sh, hfu_frac, train_utilisation(sh, hardware_flop_per_token, reached_token_per_s, peak_flop_per_s));
	SHOW(sh, hfu_frac, hfu_frac);
}

double
show_train_step(struct run *r, const struct train_question *q, const struct train_bound *b, struct train_answer *a)
{
	struct sheet *sh = r->sheet;

	CALL(sh, step_s, train_step(sh, &a->job, &a->terms));
	const struct interval i = train_interval(r, b, a);
	SHOW(sh, step_s, step_s);
	BETWEEN(sh, step_s, i.low, i.high, i.why);
	TELL(sh, kernel_basis, is_own(r, b, a->job.dtype) ? "calibrated on this machine" : "shipped calibration");
	FROM_STRUCT(sh, a->job, n_global_sequences, seq_length);
	CALL(sh, step_token, train_step_tokens(sh, n_global_sequences, seq_length));
	CALL(sh, rate_token_per_s, train_token_rate(sh, step_token, step_s));
	TAKE(sh, n_gpus, a->job.n_gpus);
	CALL(sh, gpu_token_per_s, train_gpu_rate(sh, rate_token_per_s, n_gpus));
	TAKE(sh, n_microbatches, a->terms.n_microbatches);
	SHOW(sh, step_token, step_token);
	SHOW(sh, n_microbatches, n_accumulation_steps);
	SHOW(sh, rate_token_per_s, token_per_s);
	SHOW(sh, gpu_token_per_s, gpu_token_per_s);
	BETWEEN(sh, gpu_token_per_s, gpu_token_per_s * step_s / i.high, gpu_token_per_s * step_s / i.low, i.why);
	show_utilisation(r, q, b, a, gpu_token_per_s);
	show_shares(r, a);
	return step_s;
}

/* What joins the GPUs of a node. */
static const char *
link_word(const struct gpu *gpu)
{
	if (!gpu->link_kind || gpu->link_bridge)
		return "PCIe";
	return strncmp(gpu->link_kind, "xgmi", 4) == 0 ? "xGMI" : "NVLink";
}

void
show_train_gains(struct run *r, const struct gpu *gpu, const struct train_answer *a)
{
	struct sheet *sh = r->sheet;

	for (int i = 0; i < N_GAINS; i++) {
		const double gain = train_gain(&a->job, (enum train_gain)i);
		if (isnan(gain))
			continue;
		SCOPE_I (sh, "sensitivity", i) {
			TELL(sh, change,
			    i == GAIN_LINK ? arena_printf(r->arena, "10 %% more %s", link_word(gpu))
			                   : train_gain_text((enum train_gain)i));
			TAKE(sh, rate_ratio, gain);
			LET(sh, more_frac, rate_ratio - 1);
			SHOW(sh, more_frac, gain_frac);
		}
	}
}

void
show_train_schedules(
    struct run *r, const struct train_question *q, const struct train_bound *b, const struct train_answer *a)
{
	struct sheet *sh = r->sheet;
	struct train_schedule list[MOST_SCHEDULES];

	if (!(a->warned & 1U << TRAIN_WARNS_BUBBLE))
		return;
	const int n = train_schedules(&a->job, &b->memory, !b->no_memory && !q->train->no_memory, list);
	for (int i = 0; i < n; i++)
		SCOPE_I (sh, "schedule", i) {
			TELL(sh, change, list[i].change);
			TAKE(sh, scheduled_s, list[i].step_s);
			SHOW(sh, scheduled_s, step_s);
			if (isnan(list[i].need_byte))
				continue;
			TAKE(sh, scheduled_byte, list[i].need_byte);
			SHOW(sh, scheduled_byte, peak_byte);
			TELL(sh, verdict, verdict_name(list[i].verdict));
		}
}

/* --- how far off published runs were --------------------------------------------------------------------- */

static void
show_typical_error(struct run *r, const struct stack *stack)
{
	struct sheet *sh = r->sheet;
	const struct stack_time *t = &stack->time;
	const bool own = datum_given(t->left_out_frac) && datum_given(t->n_runs) && datum_given(t->n_models);

	TELL(sh, typical_error,
	    own ? typical_error_words(r, t->left_out_frac.value, (int)t->n_runs.value, (int)t->n_models.value, "model")
	        : typical_error(r, "train", stack->id, "model"));
}

/* --- doubts ---------------------------------------------------------------------------------------------- */

static void
show_dispatchers(struct run *r, const struct train_answer *a)
{
	struct sheet *sh = r->sheet;
	struct train_job other = a->job;
	struct train_terms t;

	other.dedup = !a->job.dedup;
	train_step(NULL, &other, &t);
	TAKE(sh, other_step_s, t.step_s);
	SHOW(sh, other_step_s, other_step_s);
}

void
show_train_warnings(struct run *r, const struct train_answer *a)
{
	for (int i = 0; i < N_TRAIN_ASSUMPTIONS; i++)
		if (a->assumed & 1U << i)
			run_assume(r, "%s", train_assumption_text((enum train_assumption)i));
	for (int i = 0; i < N_TRAIN_WARNINGS; i++)
		if (a->warned & 1U << i && train_warning_told((enum train_warning)i))
			run_warn(r, "%s", train_warning_text((enum train_warning)i));
}

void
show_train_doubts(struct run *r, const struct train_bound *b, const struct train_answer *a)
{
	show_typical_error(r, b->stack);
	show_train_warnings(r, a);
	if (a->warned & 1U << TRAIN_WARNS_DISPATCHER)
		show_dispatchers(r, a);
}
