/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/diagnose_in.h"
#include "cli/measure.h"
#include "cli/shape.h"
#include "ridge/compare.h"
#include "ridge/latency.h"
#include "ridge/scale.h"

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
	if (!datum_given(*memory))
		*memory = datum_given(gpu->mem_usable_byte) ? gpu->mem_usable_byte : gpu->mem_label_byte;
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
			diag_error(r->diag, all[i].given.from, "%s is more than 0", all[i].name);
			diag_hint(r->diag, "leave it out if it is not known");
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
	    {in->speedup, in->gpus, "a speedup over how many GPUs?", "add --gpus 8"},
	    {in->p50, in->p99, "a median says nothing about the tail", "add --p99 50ms"},
	    {in->p99, in->p50, "P99 over which median?", "add --p50 10ms"},
	    {in->baseline, in->current, "and the throughput now?", "add --current 900"},
	    {in->current, in->baseline, "and the throughput before?", "add --baseline 1200"},
	    {in->clock, max_clock, "of which highest clock?", "add --max-clock 1980MHz or --gpu h100"},
	    {in->peak, memory, "of how much memory?", "add --memory 80GB or --gpu a100"},
	};

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (datum_given(pairs[i].one) && !datum_given(pairs[i].other)) {
			diag_error(r->diag, pairs[i].one.from, "%s", pairs[i].what);
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

	if (!bind_gpu(r, in, &memory, &max_clock) || !check_pairs(r, in, memory, max_clock))
		return false;
	if (datum_given(in->speedup)) {
		TAKE(sh, n_base_gpus, 1.0);
		TAKE(sh, speedup, in->speedup);
		const double n_gpus = in->gpus.value;
		CALL(sh, efficiency_frac, scale_efficiency(sh, n_base_gpus, n_gpus, speedup));
		SHOW(sh, efficiency_frac, "scaling efficiency");
		f->value[FIGURE_efficiency_frac] = efficiency_frac;
	}
	if (datum_given(in->p50)) {
		const double p50_s = in->p50.value, p99_s = in->p99.value;
		CALL(sh, tail, latency_tail(sh, p50_s, p99_s));
		SHOW(sh, tail, "P99 over P50");
		f->value[FIGURE_tail] = tail;
	}
	if (datum_given(memory) && (datum_given(in->peak) || in->oom)) {
		TAKE(sh, memory_byte, memory);
		f->value[FIGURE_memory_byte] = memory_byte;
		if (datum_given(in->peak)) {
			const double peak_byte = in->peak.value;
			CALL(sh, memory_frac, diagnose_memory(sh, peak_byte, memory_byte));
			SHOW(sh, memory_frac, "memory in use at the peak");
			f->value[FIGURE_memory_frac] = memory_frac;
		}
	}
	if (datum_given(in->clock)) {
		TAKE(sh, clock_hertz, in->clock);
		TAKE(sh, max_hertz, max_clock);
		CALL(sh, clock_frac, diagnose_clock(sh, clock_hertz, max_hertz));
		SHOW(sh, clock_frac, "clock, of the highest");
		f->value[FIGURE_clock_frac] = clock_frac;
	}
	if (datum_given(in->baseline)) {
		const double baseline = in->baseline.value, current = in->current.value;
		CALL(sh, lost_frac, compare_lost(sh, baseline, current));
		SHOW(sh, lost_frac, "throughput lost");
		f->value[FIGURE_lost_frac] = lost_frac;
	}
	return true;
}

/* --- lists ----------------------------------------------------------------------------------------------- */

static enum answer
list_figures(struct run *r)
{
	struct sheet *sh = r->sheet;

	r->title = "Figures that speak for causes";
	for (int f = 0; f < N_FIGURES; f++)
		SCOPE_I (sh, "figure", f) {
			TELL(sh, name, "figure", figure_name((enum figure)f));
			TELL(sh, title, "what it is", figure_title((enum figure)f));
			TELL(sh, option, "given by", figure_option((enum figure)f));
		}
	return ANSWERED;
}

static enum answer
list_causes(struct run *r, const struct diagnosis **all, size_t n)
{
	static const char *const harms[] = {"stops", "spoils", "slows"}, *const uses[] = {"any", "train", "serve"};
	struct sheet *sh = r->sheet;

	r->title = "Causes that are known";
	for (size_t i = 0; i < n; i++)
		SCOPE_I (sh, "cause", i) {
			TELL(sh, id, "id", all[i]->id);
			TELL(sh, harm, "harm", harms[all[i]->harm]);
			TELL(sh, use, "use", uses[all[i]->use]);
			TELL(sh, name, "cause", all[i]->name);
		}
	return ANSWERED;
}

/* --- the command ----------------------------------------------------------------------------------------- */

/* Nothing is more than all of it. */
static enum answer
infeasible(struct run *r, const char *what)
{
	TELL(r->sheet, verdict, "verdict", arena_printf(r->arena, "infeasible: %s", what));
	return ANSWERED_NO;
}

static enum answer
answer(struct run *r, const struct diagnose_in *in, const struct diagnosis **all, size_t n)
{
	struct figures f;
	struct breakdown b;
	double busy_frac;

	for (int i = 0; i < N_FIGURES; i++)
		f.value[i] = NAN;
	if (!check_positive(r, in) || !take_given(r, in, &f) || !diagnose_read_parts(r, in, &b) ||
	    !show_derived(r, in, &f))
		return REFUSED;
	r->title = "What these figures mean";
	if (!diagnose_show_parts(r, &b, &f, &busy_frac))
		return infeasible(r, "the parts are longer than the step");
	diagnose_join_passes(r, &b, &f);
	if (f.value[FIGURE_memory_frac] > 1)
		return infeasible(r, "more memory was in use than the GPU has");
	if (busy_frac > f.value[FIGURE_gpu_busy_frac] + 0.05) {
		char parts_text[40], util[40];
		value_write("x_frac", busy_frac, parts_text, sizeof parts_text);
		value_write("x_frac", f.value[FIGURE_gpu_busy_frac], util, sizeof util);
		run_warn(r,
		    "the parts keep the GPU busy for %s of the step, but it was busy for %s: one of them is wrong",
		    parts_text, util);
	}
	for (size_t i = 0; i < in->predicted.n; i++)
		if (!diagnose_show_predicted(r, in->predicted.list[i], &f))
			return REFUSED;
	bool any = false;
	for (int i = 0; i < N_FIGURES; i++)
		any = any || !isnan(f.value[i]);
	if (!any) {
		diag_error(r->diag, (struct source){0}, "nothing was measured");
		diag_hint(
		    r->diag, "give what you know: --gpu-util 15%%, --parts comm=45%%, --oom, --p50 10ms --p99 50ms");
		return REFUSED;
	}
	diagnose_show_causes(r, in, &f, all, n);
	return ANSWERED;
}

static enum answer
diagnose_run(struct run *r, const void *input)
{
	const struct diagnose_in *in = input;
	size_t n;

	if (in->figures)
		return list_figures(r);
	const struct diagnosis **all = database_diagnoses(r->database, r->arena, r->diag, &n);
	if (!all || !run_whole(r, "top", in->top, 1) || (in->model.text && !run_model(r, in->model)))
		return REFUSED;
	if (n == 0) {
		diag_error(r->diag, (struct source){0}, "no database of causes was found");
		diag_hint(r->diag, "name its directory with --hwdb or in RIDGE_HWDB");
		return REFUSED;
	}
	return in->list ? list_causes(r, all, n) : answer(r, in, all, n);
}

static const struct option_group diagnose_groups[] = {OPTION_GROUP(diagnose_options, 0)};

static const struct example diagnose_examples[] = {
    {"diagnose --gpu-util 15% --cpu-util 100% --gaps large", "a GPU that waits", 0},
    {"diagnose --gpu-util 42% --step 1s --parts comm=450ms", "a step and its parts", 0},
    {"diagnose --gpus 8 --speedup 4 --step 1s --parts comm=450ms --predicted comm=180ms",
        "measured against what 'ridge comm' predicts", 0},
    {"diagnose --oom --batch 4 --peak 70GB --gpu doc-a100", "out of memory", 0},
    {"diagnose --use serve --p50 10ms --p99 50ms", "a long tail", 0},
    {"diagnose --step 1s --parts compute=550ms,comm=650ms", "parts that are longer than the step", 1},
    {"diagnose --list", "what it knows", 0},
};

const struct command diagnose_command = {
    .name = "diagnose",
    .section = "Why is it slower?",
    .summary = "what do these symptoms mean, and what to do first",
    .operands = "",
    .usage = "[JOB]",
    .groups = diagnose_groups,
    .n_groups = sizeof diagnose_groups / sizeof *diagnose_groups,
    .examples = diagnose_examples,
    .n_examples = sizeof diagnose_examples / sizeof *diagnose_examples,
    .input_size = sizeof(struct diagnose_in),
    .run = diagnose_run,
};
