/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/diagnose.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/measure.h"
#include "cli/shape.h"
#include "data/diagnosis.h"
#include "ridge/compare.h"
#include "ridge/latency.h"
#include "ridge/scale.h"
#include "ridge/stack_gain.h"

#include <string.h>

#define DIAGNOSE_OPTIONS(X)                                                                                            \
	X(0, use, "use", "use", CHOICE, "USE", "train|serve", NULL,                                                    \
	    "what the run is for: leaves out what does not apply")                                                     \
	X(0, gpu_util, "gpu-util", "gpu_util", NUMBER, "FRACTION", "", NULL,                                           \
	    "part of the time in which some kernel runs (nvidia-smi)")                                                 \
	X(0, sm_active, "sm-active", "sm_active", NUMBER, "FRACTION", "", NULL, "SMs that have work (DCGM sm_active)") \
	X(0, occupancy, "occupancy", "occupancy", NUMBER, "FRACTION", "", NULL, "warps resident, of the most (DCGM)")  \
	X(0, tensor_active, "tensor-active", "tensor_active", NUMBER, "FRACTION", "", NULL,                            \
	    "tensor cores in use (DCGM tensor_active)")                                                                \
	X(0, mem_bandwidth, "mem-bandwidth", "mem_bandwidth", NUMBER, "FRACTION", "", NULL,                            \
	    "memory interface in use (DCGM dram_active)")                                                              \
	X(0, cpu_util, "cpu-util", "cpu_util", NUMBER, "FRACTION", "", NULL, "of the cores that feed the GPU")         \
	X(0, mfu, "mfu", "mfu", NUMBER, "FRACTION", "", NULL, "model FLOP utilisation")                                \
	X(0, clock, "clock", "clock", CLOCK, "CLOCK", "", NULL, "SM clock under load")                                 \
	X(0, max_clock, "max-clock", "max_clock", CLOCK, "CLOCK", "", NULL, "the highest (default: that of --gpu)")    \
	X(0, kernel_time, "kernel-time", "kernel_time", TIME, "TIME", "", NULL, "mean length of a kernel")             \
	X(0, gaps, "gaps", "gaps", CHOICE, "SIZE", "large|small", NULL,                                                \
	    "idle gaps of a trace: large, between batches; small, many between kernels")                               \
	X(0, slow, "slow", "slow", FLAG, "", "", NULL, "it is slower than it should be, by whatever measure")          \
	X('s', step, "step", "step", TIME, "TIME", "", NULL, "time of a step")                                         \
	X(0, parts, "parts", "parts", WORDS, "PART=TIME|SHARE,...", "", NULL,                                          \
	    "what a step is made of: load compute forward backward optimizer comm launch sync bubble checkpoint "      \
	    "other")                                                                                                   \
	X(0, predicted, "predicted", "predicted", WORDS, "PART=TIME,...", "", NULL,                                    \
	    "what was predicted: load compute comm step")                                                              \
	X(0, gpus, "gpus", "gpus", COUNT, "N", "", NULL, "GPUs of the run")                                            \
	X(0, speedup, "speedup", "speedup", NUMBER, "X", "", NULL, "over one GPU")                                     \
	X(0, slowest_rank, "slowest-rank", "slowest_rank", NUMBER, "X", "", NULL,                                      \
	    "its step over the mean of all ranks")                                                                     \
	X(0, p50, "p50", "p50", TIME, "TIME", "", NULL, "median latency")                                              \
	X(0, p99, "p99", "p99", TIME, "TIME", "", NULL, "latency of the slowest hundredth")                            \
	X(0, oom, "oom", "oom", FLAG, "", "", NULL, "it runs out of memory")                                           \
	X(0, peak, "peak", "peak", SIZE, "SIZE", "", NULL, "most memory in use")                                       \
	X(0, memory, "memory", "memory", SIZE, "SIZE", "", NULL, "of the GPU (default: that of --gpu)")                \
	X(0, growth, "growth", "growth", SIZE, "SIZE", "", NULL, "of allocated memory, for each step")                 \
	X(0, baseline, "baseline", "baseline", NUMBER, "RATE", "", NULL, "throughput before, whatever it counts")      \
	X(0, current, "current", "current", NUMBER, "RATE", "", NULL, "throughput now")                                \
	X(0, nan, "nan", "nan", FLAG, "", "", NULL, "the loss became NaN")                                             \
	X(0, loss_spikes, "loss-spikes", "loss_spikes", FLAG, "", "", NULL, "the loss jumps at regular steps")         \
	X(0, accuracy_drop, "accuracy-drop", "accuracy_drop", NUMBER, "FRACTION", "", NULL, "lost by quantising")      \
	X(0, cache_used, "cache-used", "cache_used", NUMBER, "FRACTION", "", NULL, "of the KV cache")                  \
	X(0, waiting, "waiting", "waiting", COUNT, "N", "", NULL, "requests in the queue")                             \
	X(0, preempted, "preempted", "preempted", COUNT, "N", "", NULL, "requests that were evicted")                  \
	X('b', batch, "batch", "batch", COUNT, "N", "", NULL, "samples or sequences at once")                          \
	X('m', model, "model", "model", WORD, "MODEL", "model", NULL, "model, for the command lines")                  \
	X('g', gpu, "gpu", "gpu", WORD, "NAME", "gpu", NULL, "GPU: its memory and clock, and the command lines")       \
	X(0, top, "top", "top", COUNT, "N", "", "5", "causes to print")                                                \
	X(0, list, "list", "list", FLAG, "", "", NULL, "print the causes that are known")                              \
	X(0, figures, "figures", "figures", FLAG, "", "", NULL, "print the figures that speak for them")

struct diagnose_in {
	DIAGNOSE_OPTIONS(OPTION_MEMBER)
};

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

/* --- the parts of a step --------------------------------------------------------------------------------- */

/* X(name, title, the GPU waits meanwhile) */
#define PARTS(X)                                                                                                       \
	X(load, "loading", true)                                                                                       \
	X(compute, "computing", false)                                                                                 \
	X(forward, "forward pass", false)                                                                              \
	X(backward, "backward pass", false)                                                                            \
	X(optimizer, "optimizer", false)                                                                               \
	X(comm, "exposed communication", true)                                                                         \
	X(launch, "waiting for launches", true)                                                                        \
	X(sync, "synchronising with the host", true)                                                                   \
	X(bubble, "pipeline bubble", true)                                                                             \
	X(checkpoint, "writing checkpoints", true)                                                                     \
	X(other, "other", false)

enum part {
#define PART(name, title, waits) PART_##name,
	PARTS(PART)
#undef PART
	    N_STEP_PARTS,
};

struct part_value {
	struct datum time_s, share_frac; /* one of them, or none */
};

struct breakdown {
	struct part_value part[N_STEP_PARTS];
	size_t n, n_times;
};

#define SET_DATUM(sh, name, d) ((name) = sheet_take_datum((sh), #name, #d, (d)))

/* A function for each part: its time and its share of the step, as rows. */
#define PART(name, title, waits)                                                                                       \
	static struct part_value show_##name(struct sheet *sh, const struct part_value *p, double step_s)              \
	{                                                                                                              \
		double name##_s = NAN, name##_frac;                                                                    \
		if (datum_given(p->time_s)) {                                                                          \
			SET_DATUM(sh, name##_s, p->time_s);                                                            \
			SET_CALL(sh, name##_frac, latency_share(sh, name##_s, step_s));                                \
		} else {                                                                                               \
			SET_DATUM(sh, name##_frac, p->share_frac);                                                     \
			if (!isnan(step_s))                                                                            \
				SET_CALL(sh, name##_s, gain_share_time(sh, step_s, name##_frac));                      \
		}                                                                                                      \
		SHOW(sh, name##_frac, title);                                                                          \
		return (struct part_value){{name##_s, {0}}, {name##_frac, {0}}};                                       \
	}
PARTS(PART)
#undef PART

static const struct {
	const char *name, *time, *share;
	bool waits;
	struct part_value (*show)(struct sheet *sh, const struct part_value *p, double step_s);
} parts[N_STEP_PARTS] = {
#define PART(name, title, waits) [PART_##name] = {#name, #name "_s", #name "_frac", waits, show_##name},
    PARTS(PART)
#undef PART
};

/* `NAME=`, a part of the list; N_STEP_PARTS with an error.  *value is what stands behind it. */
static enum part
part_of(struct run *r, struct word w, const char **value)
{
	const char *names[N_STEP_PARTS], *sign = strchr(w.text, '=');
	const char *name = sign ? arena_copy(r->arena, w.text, (size_t)(sign - w.text)) : w.text;

	for (int p = 0; p < N_STEP_PARTS; p++) {
		if (sign && strcmp(parts[p].name, name) == 0) {
			*value = sign + 1;
			return (enum part)p;
		}
		names[p] = parts[p].name;
	}
	if (!sign) {
		diag_error(r->diag, w.from, "'%s' is not of the form PART=TIME or PART=SHARE", w.text);
		diag_hint(r->diag, "write for example load=450ms or comm=12%%");
		return N_STEP_PARTS;
	}
	diag_error(r->diag, w.from, "a step has no part '%s'", name);
	const char *near = text_nearest(name, names, N_STEP_PARTS);
	diag_hint(r->diag, near ? "did you mean '%s'?" : "'ridge diagnose --help' lists them; what is left is '%s'",
	    near ? near : "other");
	return N_STEP_PARTS;
}

static bool
read_part(struct run *r, struct word w, struct breakdown *b)
{
	const char *text;
	const enum part p = part_of(r, w, &text);
	struct quantity_fault fault;
	double value;

	if (p == N_STEP_PARTS)
		return false;
	b->n++;
	if (quantity_read(text, Q_TIME, &value, &fault)) {
		b->part[p].time_s = (struct datum){value, w.from};
		b->n_times++;
		return true;
	}
	if (quantity_read(text, Q_NUMBER, &value, &fault) && value >= 0 && value <= 1) {
		b->part[p].share_frac = (struct datum){value, w.from};
		return true;
	}
	diag_error(r->diag, w.from, "'%s' is neither a time nor a share of the step", text);
	diag_hint(r->diag, "write 450ms, or 45%%");
	return false;
}

/* Whether parts are all of a step: some of it must compute. */
static bool
computes(const struct breakdown *b)
{
	for (int p = 0; p < N_STEP_PARTS; p++)
		if (!parts[p].waits && b->part[p].time_s.value > 0)
			return true;
	return false;
}

static bool
read_parts(struct run *r, const struct diagnose_in *in, struct breakdown *b)
{
	*b = (struct breakdown){.n = 0};
	for (int p = 0; p < N_STEP_PARTS; p++)
		b->part[p] = (struct part_value){datum_absent(), datum_absent()};
	for (size_t i = 0; i < in->parts.n; i++)
		if (!read_part(r, in->parts.list[i], b))
			return false;
	if (b->n_times == 0 || datum_given(in->step) || (b->n_times == b->n && computes(b)))
		return true;
	diag_error(r->diag, in->parts.list[0].from,
	    b->n_times < b->n ? "times and shares together need the step that they are parts of"
	                      : "which step are these parts of? none of them computes");
	diag_hint(r->diag, "add --step 1.2s");
	return false;
}

static void
learn(struct figures *f, const char *name, double value)
{
	const enum figure i = figure_find(name);

	if (i != FIGURE_NONE && !isnan(value))
		f->value[i] = value;
}

/* Parts that make a step when nobody measured it as a whole. */
static double
show_sum(struct run *r, const struct breakdown *b)
{
	struct sheet *sh = r->sheet;
	double times[N_STEP_PARTS];
	int n = 0;

	for (int p = 0; p < N_STEP_PARTS; p++)
		if (datum_given(b->part[p].time_s))
			times[n++] = b->part[p].time_s.value;
	CALL(sh, step_s, diagnose_step(sh, times, n));
	SHOW(sh, step_s, "step, the sum of its parts");
	return step_s;
}

/* Rows of all parts; false when they are more than the step. */
static bool
show_parts(struct run *r, const struct breakdown *b, struct figures *f, double *busy_frac)
{
	struct sheet *sh = r->sheet;
	double all[N_STEP_PARTS], waiting[N_STEP_PARTS], computing[N_STEP_PARTS];
	int n = 0, n_waiting = 0, n_computing = 0;

	if (b->n && b->n_times == b->n && isnan(f->value[FIGURE_step_s]))
		f->value[FIGURE_step_s] = show_sum(r, b);
	for (int p = 0; p < N_STEP_PARTS; p++) {
		if (!datum_given(b->part[p].time_s) && !datum_given(b->part[p].share_frac))
			continue;
		const struct part_value v = parts[p].show(sh, &b->part[p], f->value[FIGURE_step_s]);
		learn(f, parts[p].time, v.time_s.value);
		learn(f, parts[p].share, v.share_frac.value);
		all[n++] = v.share_frac.value;
		if (parts[p].waits)
			waiting[n_waiting++] = v.share_frac.value;
		else if (p != PART_other)
			computing[n_computing++] = v.share_frac.value;
	}
	CALL(sh, waiting_frac, diagnose_together(sh, waiting, n_waiting));
	CALL(sh, parts_frac, diagnose_together(sh, all, n));
	CALL(sh, computing_frac, diagnose_together(sh, computing, n_computing));
	*busy_frac = computing_frac;
	if (!isnan(f->value[FIGURE_gpu_busy_frac])) {
		const double gpu_busy_frac = f->value[FIGURE_gpu_busy_frac];
		CALL(sh, idle_frac, diagnose_idle(sh, gpu_busy_frac, computing_frac, waiting_frac));
		f->value[FIGURE_idle_frac] = idle_frac;
	}
	if (parts_frac > 1.01) {
		SHOW(sh, parts_frac, "the parts together");
		return false;
	}
	return true;
}

/* The passes are the computing of a step where nobody gave that. */
static void
join_passes(struct run *r, const struct breakdown *b, struct figures *f)
{
	struct sheet *sh = r->sheet;
	const double both[] = {b->part[PART_forward].time_s.value, b->part[PART_backward].time_s.value};

	if (!isnan(f->value[FIGURE_compute_s]) || isnan(both[0]) || isnan(both[1]))
		return;
	const double step_s = f->value[FIGURE_step_s];
	CALL(sh, compute_s, diagnose_step(sh, both, 2));
	CALL(sh, compute_frac, latency_share(sh, compute_s, step_s));
	f->value[FIGURE_compute_s] = compute_s;
	f->value[FIGURE_compute_frac] = compute_frac;
}

/* --- measured against predicted -------------------------------------------------------------------------- */

#define PREDICTED(X)                                                                                                   \
	X(load, "loading over its prediction")                                                                         \
	X(compute, "computing over its prediction")                                                                    \
	X(comm, "communication over its prediction")                                                                   \
	X(step, "step over its prediction")
#define ONE(name, title)                                                                                               \
	static double exceed_##name(struct sheet *sh, struct datum predicted, double name##_s, double whole_s)         \
	{                                                                                                              \
		TAKE(sh, predicted_##name##_s, predicted);                                                             \
		CALL(sh, name##_ratio, scale_speedup_time(sh, name##_s, predicted_##name##_s));                        \
		CALL(sh, name##_excess_frac, diagnose_excess(sh, name##_s, predicted_##name##_s, whole_s));            \
		SHOW(sh, name##_ratio, title);                                                                         \
		return name##_excess_frac;                                                                             \
	}
PREDICTED(ONE)
#undef ONE

static bool
show_predicted(struct run *r, struct word w, struct figures *f)
{
	static const struct {
		const char *name;
		enum figure measured, excess;
		double (*exceed)(struct sheet *sh, struct datum predicted, double measured_s, double whole_s);
	} known[] = {
#define ONE(name, title) {#name, FIGURE_##name##_s, FIGURE_##name##_excess_frac, exceed_##name},
	    PREDICTED(ONE)
#undef ONE
	};
	const char *sign = strchr(w.text, '=');
	struct quantity_fault fault;
	double value;

	for (size_t i = 0; sign && i < sizeof known / sizeof *known; i++) {
		if (strncmp(known[i].name, w.text, (size_t)(sign - w.text)) != 0 ||
		    known[i].name[sign - w.text] != '\0' || !quantity_read(sign + 1, Q_TIME, &value, &fault) ||
		    value <= 0)
			continue;
		if (isnan(f->value[known[i].measured]) || isnan(f->value[FIGURE_step_s])) {
			diag_error(r->diag, w.from, "'%s' was predicted and not measured", known[i].name);
			diag_hint(r->diag, "add --step 1.2s%s%s%s", i < 3 ? " --parts " : "",
			    i < 3 ? known[i].name : "", i < 3 ? "=450ms" : "");
			return false;
		}
		const struct datum predicted = {value, w.from};
		f->value[known[i].excess] =
		    known[i].exceed(r->sheet, predicted, f->value[known[i].measured], f->value[FIGURE_step_s]);
		return true;
	}
	diag_error(r->diag, w.from, "'%s' is not of the form PART=TIME", w.text);
	diag_hint(r->diag, "write for example comm=180ms; predictions are of load, compute, comm and step");
	return false;
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

/* --- causes ---------------------------------------------------------------------------------------------- */

/* `GPU busy 15 % (below 60 %)`, for each sign that holds. */
static const char *
evidence(struct run *r, const struct diagnosis *d, const struct figures *f)
{
	const char *out = "";
	char value[40], limit[40];

	for (int i = 0; i < d->n_signs; i++) {
		const struct sign *s = &d->signs[i];
		const char *name = figure_name(s->figure);
		const bool above = datum_given(s->above);
		if (!sign_holds(s, f))
			continue;
		out = arena_printf(r->arena, "%s%s%s", out, *out ? ", " : "", figure_title(s->figure));
		if (!above && !datum_given(s->below))
			continue;
		value_write(name, f->value[s->figure], value, sizeof value);
		value_write(name, above ? s->above.value : s->below.value, limit, sizeof limit);
		out = arena_printf(r->arena, "%s %s (%s %s)", out, value, above ? "above" : "below", limit);
	}
	return out;
}

/* As an option takes it. */
static const char *
option_text(struct arena *a, const char *name, double value)
{
	static const struct {
		enum quantity quantity;
		double scale;
		const char *unit;
	} units[] = {{Q_TIME, 1, "s"}, {Q_TIME, 1e-3, "ms"}, {Q_TIME, 1e-6, "us"}, {Q_TIME, 0, "us"},
	    {Q_SIZE, 1e9, "GB"}, {Q_SIZE, 1e6, "MB"}, {Q_SIZE, 0, "B"}};
	const struct dim dim = dim_of_name(name);

	if (name_is_fraction(name))
		return arena_printf(a, "%.6g%%", 100 * value);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (dim_equal(dim, quantity_dim(units[i].quantity)) && value >= units[i].scale)
			return arena_printf(
			    a, "%.6g%s", value / (units[i].scale > 0 ? units[i].scale : 1), units[i].unit);
	return arena_printf(a, "%.6g", value);
}

struct filling {
	struct run *r;
	const struct diagnose_in *in;
	const struct figures *figures;
	const char *examples; /* that stand in command lines for what nobody measured */
};

static const char *
known_text(void *context, const char *name)
{
	const struct filling *x = context;
	const enum figure f = figure_find(name);

	if (strcmp(name, "model") == 0)
		return x->in->model.text;
	if (strcmp(name, "gpu") == 0)
		return x->in->gpu.text;
	return f == FIGURE_NONE || isnan(x->figures->value[f]) ? NULL
	                                                       : option_text(x->r->arena, name, x->figures->value[f]);
}

static void
missing_text(void *context, const char *name, const char *example)
{
	struct filling *x = context;
	const enum figure f = figure_find(name);

	const char *one = arena_printf(x->r->arena, "%s %s", f == FIGURE_NONE ? name : figure_title(f), example);
	if (!strstr(x->examples, one))
		x->examples = arena_printf(x->r->arena, "%s%s%s", x->examples, *x->examples ? ", " : "", one);
}

/* The place of each sign that holds, for --explain and --json. */
static void
record_signs(struct run *r, const struct diagnosis *d, const struct figures *f)
{
	struct sheet *sh = r->sheet;
	int n = 0;

	for (int i = 0; i < d->n_signs; i++) {
		const struct sign *s = &d->signs[i];
		if (!sign_holds(s, f) || (!datum_given(s->above) && !datum_given(s->below)))
			continue;
		SCOPE_I (sh, "sign", n++) {
			const bool above = datum_given(s->above);
			TELL(sh, speaks, NULL, above ? "above" : "below");
			sheet_take_datum(sh, figure_name(s->figure), "limit", above ? s->above : s->below);
		}
	}
}

static const char *
later_fixes(struct run *r, const struct diagnosis *d)
{
	const char *out = "";

	for (int i = 1; i < d->n_fixes; i++)
		out = arena_printf(r->arena, "%s%s%s", out, *out ? "; then " : "", d->fixes[i].text);
	return out;
}

static const char *
citations(struct run *r, const struct diagnosis *d)
{
	const char *out = "";

	for (int i = 0; i < d->n_fixes; i++)
		if (d->fixes[i].cite && !strstr(out, d->fixes[i].cite))
			out = arena_printf(r->arena, "%s%s%s", out, *out ? "; " : "", d->fixes[i].cite);
	return out;
}

static void
show_cause(struct run *r, struct filling *filling, const struct finding *found)
{
	static const char *const harms[] = {"ends the run", "spoils the result", "slows it"};
	struct sheet *sh = r->sheet;
	const struct diagnosis *d = found->cause;
	const struct figures *f = filling->figures;
	const struct diagnosis_words words = {known_text, missing_text, filling};
	int column;

	TELL(sh, id, NULL, d->id);
	TELL(sh, name, "cause", d->name);
	TELL(sh, harm, "harm", harms[d->harm]);
	TELL(sh, evidence, "speaks for it", evidence(r, d, f));
	if (found->stake) {
		const double stake_frac = sheet_let(sh, "stake_frac", found->stake, found->stake_frac);
		SHOW(sh, stake_frac, "at stake");
		CALL(sh, gain, gain_limit(sh, stake_frac));
		SHOW(sh, gain, "never faster by more than");
	}
	TELL(sh, fix, "do first", d->fixes[0].text);
	if (d->n_fixes > 1)
		TELL(sh, later, "then", later_fixes(r, d));
	TELL(sh, command, "size it with",
	    arena_printf(r->arena, "ridge %s", diagnosis_command(r->arena, d->command, &words, &column)));
	TELL(sh, sources, NULL, citations(r, d));
	record_signs(r, d, f);
}

/* What else would tell: signs of the first cause that nobody measured. */
static void
show_unknown(struct run *r, const struct diagnosis *d, const struct figures *f)
{
	const char *out = "";
	int n = 0;

	for (int i = 0; i < d->n_signs && n < 4; i++) {
		const char *option = figure_option(d->signs[i].figure);
		if (sign_known(&d->signs[i], f) || strstr(out, option))
			continue;
		out = arena_printf(r->arena, "%s%s%s", out, n++ ? ", " : "", option);
	}
	if (n)
		TELL(r->sheet, unknown, "would tell more of the first", out);
}

static void
show_causes(
    struct run *r, const struct diagnose_in *in, const struct figures *f, const struct diagnosis **all, size_t n)
{
	struct finding *found = ARENA_ARRAY(r->arena, struct finding, n + 1);
	struct sheet *sh = r->sheet;
	const enum use use = !in->use.text ? USE_ANY : strcmp(in->use.text, "serve") == 0 ? USE_SERVE : USE_TRAIN;
	const size_t n_found = diagnose_rank(all, n, f, use, found);
	const size_t most = in->top.value < (double)n_found ? (size_t)in->top.value : n_found;

	struct filling filling = {r, in, f, ""};
	TAKE(sh, n_causes, (double)n_found);
	(void)n_causes;
	TELL(sh, first, n_found ? NULL : "cause", n_found ? found[0].cause->id : "none that is known");
	for (size_t i = 0; i < most; i++)
		SCOPE_I (sh, "cause", i) {
			show_cause(r, &filling, &found[i]);
		}
	if (n_found)
		show_unknown(r, found[0].cause, f);
	if (*filling.examples)
		run_assume(r, "for example in command lines: %s", filling.examples);
	if (most < n_found)
		run_warn(r, "%zu more causes: --top %zu prints them", n_found - most, n_found);
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
	if (!check_positive(r, in) || !take_given(r, in, &f) || !read_parts(r, in, &b) || !show_derived(r, in, &f))
		return REFUSED;
	r->title = "What these figures mean";
	if (!show_parts(r, &b, &f, &busy_frac))
		return infeasible(r, "the parts are longer than the step");
	join_passes(r, &b, &f);
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
		if (!show_predicted(r, in->predicted.list[i], &f))
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
	show_causes(r, in, &f, all, n);
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
