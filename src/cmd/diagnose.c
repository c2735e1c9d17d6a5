/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge diagnose: likely causes of a slow step. */
#include "ask/ask.h"
#include "ask/bind/bind.h"
#include "model/calc/calc.h"
#include "model/measured/measured.h"

#include <string.h>

#define THIS struct diagnose_in
static const struct option diagnose_options[] = {DIAGNOSE_OPTIONS(OPTION_ROW)};
#undef THIS

/* --- figures as they were given -------------------------------------------------------------------------- */

static const struct {
	enum figure figure;
	size_t offset;
	bool share;
} given[] = {
    {FIGURE_gpu_busy_frac, offsetof(struct diagnose_in, gpu_util), true},
    {FIGURE_sm_active_frac, offsetof(struct diagnose_in, sm_active), true},
    {FIGURE_occupancy_frac, offsetof(struct diagnose_in, occupancy), true},
    {FIGURE_tensor_active_frac, offsetof(struct diagnose_in, tensor_active), true},
    {FIGURE_bandwidth_frac, offsetof(struct diagnose_in, mem_bandwidth), true},
    {FIGURE_cpu_busy_frac, offsetof(struct diagnose_in, cpu_util), true},
    {FIGURE_mfu_frac, offsetof(struct diagnose_in, mfu), true},
    {FIGURE_accuracy_drop_frac, offsetof(struct diagnose_in, accuracy_drop), true},
    {FIGURE_cache_frac, offsetof(struct diagnose_in, cache_used), true},
    {FIGURE_kernel_s, offsetof(struct diagnose_in, kernel_time), false},
    {FIGURE_step_s, offsetof(struct diagnose_in, step), false},
    {FIGURE_n_gpus, offsetof(struct diagnose_in, gpus), false},
    {FIGURE_imbalance, offsetof(struct diagnose_in, slowest_rank), false},
    {FIGURE_p50_s, offsetof(struct diagnose_in, p50), false},
    {FIGURE_p99_s, offsetof(struct diagnose_in, p99), false},
    {FIGURE_peak_byte, offsetof(struct diagnose_in, peak), false},
    {FIGURE_growth_byte, offsetof(struct diagnose_in, growth), false},
    {FIGURE_baseline, offsetof(struct diagnose_in, baseline), false},
    {FIGURE_current, offsetof(struct diagnose_in, current), false},
    {FIGURE_n_waiting, offsetof(struct diagnose_in, waiting), false},
    {FIGURE_n_preempted, offsetof(struct diagnose_in, preempted), false},
    {FIGURE_batch, offsetof(struct diagnose_in, batch), false},
};

static bool
take_given(struct run *r, const struct diagnose_in *in, struct figures *f)
{
	const struct {
		enum figure figure;
		bool is;
	} flags[] = {{FIGURE_slow, in->slow}, {FIGURE_oom, in->oom}, {FIGURE_nan_loss, in->nan},
	    {FIGURE_loss_spikes, in->loss_spikes},
	    {FIGURE_large_gaps, in->gaps.text && strcmp(in->gaps.text, "large") == 0},
	    {FIGURE_small_gaps, in->gaps.text && strcmp(in->gaps.text, "small") == 0}};
	bool ok = true;

	run_reads(r, &in->slow, &in->oom, &in->nan, &in->loss_spikes, &in->gaps, NULL);
	for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
		const struct datum *d = (const void *)((const char *)in + given[i].offset);
		const char *name = figure_name(given[i].figure);
		if (given[i].share)
			ok = measure_fraction(r, figure_title(given[i].figure), *d, 0, 1) && ok;
		if (datum_given(*d))
			f->value[given[i].figure] = sheet_take_datum(r->sheet, name, "measured", *d);
	}
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
		if (flags[i].is)
			f->value[flags[i].figure] =
			    sheet_take_number(r->sheet, figure_name(flags[i].figure), "seen", 1);
	return ok;
}

/* --- figures that follow --------------------------------------------------------------------------------- */

static bool
bind_gpu(struct run *r, const struct diagnose_in *in, struct datum *memory, struct datum *max_clock)
{
	*memory = in->memory;
	*max_clock = in->max_clock;
	if (!in->gpu.text)
		return true;
	const struct gpu *gpu = run_gpu(r, in->gpu);
	if (!gpu)
		return false;
	*memory = bind_card(r, gpu, in->memory);
	if (!datum_given(*max_clock))
		*max_clock = gpu->clock_max_hertz;
	return true;
}

/* What others are divided by. */
static bool
check_positive(struct run *r, const struct diagnose_in *in)
{
	const struct {
		const char *name;
		struct datum given;
	} all[] = {{"step", in->step}, {"p50", in->p50}, {"baseline", in->baseline}, {"gpus", in->gpus},
	    {"memory", in->memory}, {"max-clock", in->max_clock}, {"slowest-rank", in->slowest_rank}};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (datum_given(all[i].given) && all[i].given.value <= 0) {
			diag_error(r->diag, all[i].given.from, "%s must be greater than 0", all[i].name);
			diag_hint(r->diag, "leave it out if unknown");
			return false;
		}
	return true;
}

/* Figures that mean nothing alone. */
static bool
check_pairs(struct run *r, const struct diagnose_in *in, struct datum memory, struct datum max_clock)
{
	const struct {
		struct datum one, other;
		const char *what, *hint;
	} pairs[] = {
	    {in->speedup, in->gpus, "--speedup needs the number of GPUs", "add --gpus 8"},
	    {in->p50, in->p99, "--p50 needs --p99", "add --p99 50ms"},
	    {in->p99, in->p50, "--p99 needs --p50", "add --p50 10ms"},
	    {in->baseline, in->current, "--baseline needs the current throughput", "add --current 900"},
	    {in->current, in->baseline, "--current needs the baseline throughput", "add --baseline 1200"},
	    {in->clock, max_clock, "--clock needs the maximum clock", "add --max-clock 1980MHz or --gpu h100"},
	    {in->peak, memory, "--peak needs the GPU memory", "add --memory 80GB or --gpu a100"},
	};

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (datum_given(pairs[i].one) && !datum_given(pairs[i].other)) {
			diag_error(r->diag, pairs[i].one.from, "%s", pairs[i].what);
			diag_hint(r->diag, "%s", pairs[i].hint);
			return false;
		}
	return true;
}

/* Figures that cannot both be right: of two of a pair the first is the larger one. */
static bool
check_order(struct run *r, const struct diagnose_in *in, struct datum max_clock)
{
	/* shares are read off at slightly different times */
	const double slack_frac = 0.05;
	const struct {
		struct datum more, less;
		double slack;
		const char *what, *hint;
	} pairs[] = {
	    {in->p99, in->p50, 0, "P99 is below P50", "check the two values; P99 is at least P50"},
	    {max_clock, in->clock, 0, "--clock is above the maximum clock", "give the maximum with --max-clock"},
	    {in->gpu_util, in->sm_active, slack_frac, "SM activity exceeds GPU utilization",
	        "measure both over the same interval"},
	    {in->sm_active, in->tensor_active, slack_frac, "tensor core activity exceeds SM activity",
	        "measure both over the same interval"},
	    {in->gpu_util, in->tensor_active, slack_frac, "tensor core activity exceeds GPU utilization",
	        "measure both over the same interval"},
	};

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (pairs[i].less.value > pairs[i].more.value + pairs[i].slack) {
			diag_error(r->diag, pairs[i].less.from, "%s", pairs[i].what);
			diag_hint(r->diag, "%s", pairs[i].hint);
			return false;
		}
	return true;
}

static bool
show_derived(struct run *r, const struct diagnose_in *in, struct figures *f)
{
	struct sheet *sh = r->sheet;
	struct datum memory, max_clock;

	if (!bind_gpu(r, in, &memory, &max_clock) || !check_pairs(r, in, memory, max_clock) ||
	    !check_order(r, in, max_clock))
		return false;
	if (datum_given(in->speedup)) {
		TAKE(sh, n_base_gpus, 1.0);
		TAKE(sh, speedup, in->speedup);
		const double n_gpus = in->gpus.value;
		CALL(sh, efficiency_frac, scale_efficiency(sh, n_base_gpus, n_gpus, speedup));
		SHOW(sh, efficiency_frac, efficiency_frac);
		f->value[FIGURE_efficiency_frac] = efficiency_frac;
	}
	if (datum_given(in->p50)) {
		const double p50_s = in->p50.value, p99_s = in->p99.value;
		CALL(sh, tail, latency_tail(sh, p50_s, p99_s));
		SHOW(sh, tail, tail_ratio);
		f->value[FIGURE_tail] = tail;
	}
	if (datum_given(memory) && (datum_given(in->peak) || in->oom)) {
		TAKE(sh, memory_byte, memory);
		f->value[FIGURE_memory_byte] = memory_byte;
		if (datum_given(in->peak)) {
			const double peak_byte = in->peak.value;
			CALL(sh, memory_frac, diagnose_memory(sh, peak_byte, memory_byte));
			SHOW(sh, memory_frac, memory_frac);
			f->value[FIGURE_memory_frac] = memory_frac;
		}
	}
	if (datum_given(in->clock)) {
		TAKE(sh, clock_hertz, in->clock);
		TAKE(sh, max_hertz, max_clock);
		CALL(sh, clock_frac, diagnose_clock(sh, clock_hertz, max_hertz));
		SHOW(sh, clock_frac, clock_frac);
		f->value[FIGURE_clock_frac] = clock_frac;
	}
	if (datum_given(in->baseline)) {
		const double baseline = in->baseline.value, current = in->current.value;
		CALL(sh, lost_frac, compare_lost(sh, baseline, current));
		SHOW(sh, lost_frac, lost_frac);
		f->value[FIGURE_lost_frac] = lost_frac;
	}
	return true;
}

/* --- what was given for nothing --------------------------------------------------------------------------- */

/* Figures that other rows were computed from. */
static void
weigh_derived(const struct diagnose_in *in, struct weighed *w)
{
	const struct {
		enum figure figure;
		bool shown;
	} all[] = {{FIGURE_n_gpus, datum_given(in->speedup)}, {FIGURE_step_s, in->parts.n > 0}, {FIGURE_p50_s, true},
	    {FIGURE_p99_s, true}, {FIGURE_peak_byte, true}, {FIGURE_baseline, true}, {FIGURE_current, true}};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		w->figure[all[i].figure] = w->figure[all[i].figure] || all[i].shown;
	if ((!datum_given(in->memory) && datum_given(in->peak)) ||
	    (!datum_given(in->max_clock) && datum_given(in->clock)))
		w->gpu = true;
}

/* List measurements that no listed cause uses. */
static void
show_unweighed(struct run *r, const struct diagnose_in *in, const struct figures *f, struct weighed *w)
{
	static const enum figure seen[] = {
	    FIGURE_slow, FIGURE_oom, FIGURE_nan_loss, FIGURE_loss_spikes, FIGURE_large_gaps, FIGURE_small_gaps};
	const char *list = "";

	weigh_derived(in, w);
	for (size_t i = 0; i < sizeof given / sizeof *given; i++)
		if (!w->figure[given[i].figure] &&
		    datum_given(*(const struct datum *)((const char *)in + given[i].offset)))
			list = arena_printf(r->arena, "%s, %s", list, figure_option(given[i].figure));
	for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
		if (!w->figure[seen[i]] && !isnan(f->value[seen[i]]))
			list = arena_printf(r->arena, "%s, %s", list, figure_option(seen[i]));
	if (in->model.text && !w->model)
		list = arena_printf(r->arena, "%s, --model", list);
	if (in->gpu.text && !w->gpu)
		list = arena_printf(r->arena, "%s, --gpu", list);
	if (*list)
		TELL(r->sheet, unused, list + 2);
}

/* --- lists ----------------------------------------------------------------------------------------------- */

static enum answer
list_figures(struct run *r)
{
	struct sheet *sh = r->sheet;

	r->title = "Evidence for causes";
	for (int f = 0; f < N_FIGURES; f++)
		SCOPE_I (sh, "list", f) {
			TELL(sh, figure, figure_name((enum figure)f));
			TELL(sh, description, figure_title((enum figure)f));
			TELL(sh, option, figure_option((enum figure)f));
		}
	return ANSWERED;
}

static enum answer
list_causes(struct run *r, const struct diagnosis **all, size_t n)
{
	static const char *const harms[] = {"stops", "spoils", "slows"}, *const uses[] = {"any", "train", "serve"};
	struct sheet *sh = r->sheet;

	r->title = "Known causes";
	for (size_t i = 0; i < n; i++)
		SCOPE_I (sh, "causes", i) {
			TELL(sh, id, all[i]->id);
			TELL(sh, impact, harms[all[i]->harm]);
			TELL(sh, use, uses[all[i]->use]);
			TELL(sh, cause, all[i]->name);
		}
	return ANSWERED;
}

/* --- the command ----------------------------------------------------------------------------------------- */

/* Nothing is more than all of it. */
static enum answer
infeasible(struct run *r, const struct diagnose_in *in, const struct figures *f, const char *what)
{
	show_unweighed(r, in, f, &(struct weighed){.figure = {[FIGURE_gpu_busy_frac] = false}});
	TELL(r->sheet, verdict, arena_printf(r->arena, "infeasible: %s", what));
	return ANSWERED_NO;
}

static enum answer
answer(struct run *r, const struct diagnose_in *in, const struct diagnosis **all, size_t n)
{
	struct figures f;
	struct weighed w = {.model = false};
	struct breakdown b;
	double busy_frac;

	for (int i = 0; i < N_FIGURES; i++)
		f.value[i] = NAN;
	run_reads(r, &in->use, NULL);
	if ((in->model.text && !run_model(r, in->model)) || !check_positive(r, in) || !take_given(r, in, &f) ||
	    !diagnose_read_parts(r, in, &b) || !show_derived(r, in, &f))
		return REFUSED;
	r->title = !in->use.text                 ? "Likely causes"
	    : strcmp(in->use.text, "serve") == 0 ? "Likely causes in serving"
	                                         : "Likely causes in training";
	if (!diagnose_show_parts(r, &b, &f, &busy_frac))
		return infeasible(r, in, &f, "the parts add up to more than the step");
	diagnose_join_passes(r, &b, &f);
	if (f.value[FIGURE_memory_frac] > 1)
		return infeasible(r, in, &f, "peak memory exceeds the GPU's memory");
	if (busy_frac > f.value[FIGURE_gpu_busy_frac] + 0.05) {
		char parts_text[40], util[40];
		w.figure[FIGURE_gpu_busy_frac] = true;
		value_write("x_frac", busy_frac, parts_text, sizeof parts_text);
		value_write("x_frac", f.value[FIGURE_gpu_busy_frac], util, sizeof util);
		run_warn(r, "the parts give a GPU utilization of %s, but %s was measured: one of them is wrong",
		    parts_text, util);
	}
	for (size_t i = 0; i < in->predicted.n; i++)
		if (!diagnose_show_predicted(r, in->predicted.list[i], &f))
			return REFUSED;
	bool any = false;
	for (int i = 0; i < N_FIGURES; i++)
		any = any || !isnan(f.value[i]);
	if (!any) {
		diag_error(r->diag, (struct source){0}, "no measurements given");
		diag_hint(r->diag, "add for example --gpu-util 15%%, --parts comm=45%%, --oom, --p50 10ms --p99 50ms");
		return REFUSED;
	}
	diagnose_show_causes(r, in, &f, all, n, &w);
	show_unweighed(r, in, &f, &w);
	return ANSWERED;
}

static enum answer
diagnose_run(struct run *r, const void *input)
{
	const struct diagnose_in *in = input;
	size_t n;

	run_reads(r, &in->figures, NULL);
	if (in->figures)
		return list_figures(r);
	const struct diagnosis **all = database_diagnoses(r->database, r->arena, r->diag, &n);
	if (!all)
		return REFUSED;
	if (n == 0) {
		diag_error(r->diag, (struct source){0}, "no database of causes found");
		diag_hint(r->diag, "give its directory with --hwdb or in RIDGE_HWDB");
		return REFUSED;
	}
	run_reads(r, &in->list, NULL);
	return in->list ? list_causes(r, all, n) : answer(r, in, all, n);
}

static const struct option_group diagnose_groups[] = {OPTION_GROUP(diagnose_options, 0)};

static const struct example diagnose_examples[] = {
    {"diagnose --gpu-util 15% --cpu-util 100% --gaps large", "idle GPU", 0},
    {"diagnose --gpu-util 42% --step 1s --parts comm=450ms", "a step and its parts", 0},
    {"diagnose --gpus 8 --speedup 4 --step 1s --parts comm=450ms --predicted comm=180ms",
        "measured against the prediction of 'ridge comm'", 0},
    {"diagnose --oom --batch 4 --peak 70GB --gpu doc-a100", "out-of-memory error", 0},
    {"diagnose --use serve --p50 10ms --p99 50ms", "a long tail", 0},
    {"diagnose --step 1s --parts compute=550ms,comm=650ms", "parts that exceed the step time", 1},
    {"diagnose --list", "list of known causes", 0},
};

const struct command diagnose_command = {
    .name = "diagnose",
    .section = "Diagnosis",
    .summary = "Likely causes of a slow step, and what to do first",
    .operands = "",
    .usage = "[JOB]",
    COUNTED(groups, diagnose_groups),
    COUNTED(examples, diagnose_examples),
    .input_size = sizeof(struct diagnose_in),
    .run = diagnose_run,
};
