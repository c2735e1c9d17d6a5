/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What measurements say: a regression, growth, a cause, and how wrong a prediction may be. */
#ifndef RIDGE_MODEL_MEASURED_MEASURED_H
#define RIDGE_MODEL_MEASURED_MEASURED_H

#include "base/sheet.h"
#include "model/hw/hw.h"

/* A measurement against an earlier one: how much worse, and the limit that a threshold sets.  Above 0 is worse. */

/* Where more is better (throughput): the share that was lost, and the least that is allowed. */
double compare_lost(struct sheet *sh, double baseline, double current);
double compare_least(struct sheet *sh, double baseline, double threshold_frac);
/* Where less is better (time, memory): the share that was added, and the most that is allowed. */
double compare_added(struct sheet *sh, double baseline, double current);
double compare_most(struct sheet *sh, double baseline, double threshold_frac);

/* A value as a share of the most that it may be. */
double compare_of_limit(struct sheet *sh, double current, double limit);

/* Mann and Whitney's U as the probability that a current measurement is worse than an earlier one (ties count half). */
double compare_worse_frac(struct sheet *sh, double n_worse_pairs, double n_baseline, double n_current);

/* Whether a series grows, and when it reaches a limit.  Series are pure numbers in one unit, whatever it is; measured_*
 * gives a number its unit back. */

/* Growth for each step between the first and the last point. */
double trend_end_slope(struct sheet *sh, double first_step, double last_step, double first, double last);
/* Its line's value at step 0. */
double trend_start(struct sheet *sh, double first, double slope, double first_step);
/* A line's value at a step, its growth over n steps, and the last step below a limit (slope above 0). */
double trend_value(struct sheet *sh, double start, double slope, double n_steps);
double trend_growth(struct sheet *sh, double slope, double n_steps);
double trend_reached(struct sheet *sh, double start, double slope, double limit);

/* A number of a series in its unit: bytes, seconds, bytes per second. */
double measured_size(struct sheet *sh, double number, double unit_byte);
double measured_time(struct sheet *sh, double number, double unit_s);
double measured_rate(struct sheet *sh, double number, double unit_byte_per_s);

/* Symptoms and causes: figures that were measured, and what is known to lie behind them. */

/* X(name, title, option): what is measured of a run, and what says it.  The name ends in its unit; a figure that is 1
 * or absent is a sign by itself. */
#define FIGURES(X)                                                                                                     \
	X(gpu_busy_frac, "GPU busy", "--gpu-util")                                                                     \
	X(idle_frac, "idle, by no known cause", "--gpu-util")                                                          \
	X(sm_active_frac, "SMs with work", "--sm-active")                                                              \
	X(occupancy_frac, "SM occupancy", "--occupancy")                                                               \
	X(tensor_active_frac, "tensor cores in use", "--tensor-active")                                                \
	X(bandwidth_frac, "memory bandwidth in use", "--mem-bandwidth")                                                \
	X(cpu_busy_frac, "CPU busy", "--cpu-util")                                                                     \
	X(mfu_frac, "model FLOP utilization", "--mfu")                                                                 \
	X(clock_frac, "clock, of the highest", "--clock")                                                              \
	X(kernel_s, "mean kernel", "--kernel-time")                                                                    \
	X(large_gaps, "idle between batches", "--gaps large")                                                          \
	X(small_gaps, "many short idle gaps", "--gaps small")                                                          \
	X(slow, "slower than it should be", "--slow")                                                                  \
	X(step_s, "step", "--step")                                                                                    \
	X(load_s, "loading", "--parts load=")                                                                          \
	X(compute_s, "computing", "--parts compute=")                                                                  \
	X(optimizer_s, "optimizer", "--parts optimizer=")                                                              \
	X(comm_s, "exposed communication", "--parts comm=")                                                            \
	X(launch_s, "waiting for launches", "--parts launch=")                                                         \
	X(sync_s, "synchronizing with the host", "--parts sync=")                                                      \
	X(bubble_s, "pipeline bubble", "--parts bubble=")                                                              \
	X(checkpoint_s, "writing checkpoints", "--parts checkpoint=")                                                  \
	X(load_frac, "loading", "--parts load=")                                                                       \
	X(compute_frac, "computing", "--parts compute=")                                                               \
	X(optimizer_frac, "optimizer", "--parts optimizer=")                                                           \
	X(comm_frac, "exposed communication", "--parts comm=")                                                         \
	X(launch_frac, "waiting for launches", "--parts launch=")                                                      \
	X(sync_frac, "synchronizing with the host", "--parts sync=")                                                   \
	X(bubble_frac, "pipeline bubble", "--parts bubble=")                                                           \
	X(checkpoint_frac, "writing checkpoints", "--parts checkpoint=")                                               \
	X(comm_excess_frac, "communication beyond the prediction", "--predicted comm=")                                \
	X(compute_excess_frac, "computing beyond the prediction", "--predicted compute=")                              \
	X(load_excess_frac, "loading beyond the prediction", "--predicted load=")                                      \
	X(step_excess_frac, "step beyond the prediction", "--predicted step=")                                         \
	X(n_gpus, "GPUs", "--gpus")                                                                                    \
	X(efficiency_frac, "scaling efficiency", "--gpus --speedup")                                                   \
	X(imbalance, "slowest rank over the mean", "--slowest-rank")                                                   \
	X(p50_s, "median latency", "--p50")                                                                            \
	X(p99_s, "P99 latency", "--p99")                                                                               \
	X(tail, "P99 over P50", "--p50 --p99")                                                                         \
	X(oom, "out of memory", "--oom")                                                                               \
	X(peak_byte, "peak memory", "--peak")                                                                          \
	X(memory_byte, "memory of the GPU", "--memory")                                                                \
	X(memory_frac, "memory in use at the peak", "--peak --memory")                                                 \
	X(growth_byte, "growth for each step", "--growth")                                                             \
	X(batch, "batch", "--batch")                                                                                   \
	X(baseline, "throughput before", "--baseline")                                                                 \
	X(current, "throughput now", "--current")                                                                      \
	X(lost_frac, "throughput lost", "--baseline --current")                                                        \
	X(nan_loss, "NaN in the loss", "--nan")                                                                        \
	X(loss_spikes, "loss spikes at regular steps", "--loss-spikes")                                                \
	X(accuracy_drop_frac, "accuracy lost by quantizing", "--accuracy-drop")                                        \
	X(cache_frac, "KV cache in use", "--cache-used")                                                               \
	X(n_waiting, "requests that wait", "--waiting")                                                                \
	X(n_preempted, "requests that were evicted", "--preempted")
enum figure {
#define FIGURE(name, title, option) FIGURE_##name,
	FIGURES(FIGURE)
#undef FIGURE
	    N_FIGURES,
	FIGURE_NONE = -1,
};

const char *figure_name(enum figure f);
const char *figure_title(enum figure f);
const char *figure_option(enum figure f);
/* The figure with this name, or FIGURE_NONE. */
enum figure figure_find(const char *name);

/* What was measured; NaN where it was not. */
struct figures {
	double value[N_FIGURES];
};

/* A figure that speaks for a cause: above or below a limit, or simply given (neither limit). */
struct sign {
	enum figure figure;
	struct datum above, below;
	bool required; /* without it the cause is not meant */
};

/* Whether it is known, and whether it holds. */
bool sign_known(const struct sign *s, const struct figures *f);
bool sign_holds(const struct sign *s, const struct figures *f);

enum harm { HARM_STOPS, HARM_SPOILS, HARM_SLOWS }; /* the run ends, its result is wrong, it is slow; worst first */
enum use { USE_ANY, USE_TRAIN, USE_SERVE };

/* The fix, and its source (or NULL). */
struct fix {
	const char *text, *cite;
};

/* One cause: a file of hwdb/diagnoses. */
struct diagnosis {
	const char *id, *name, *notes;
	enum harm harm;
	enum use use;
	int n_signs, n_unless, n_stakes, n_fixes;
	struct sign *signs, *unless; /* none of `unless` may hold */
	const char *
	    *stakes;       /* formulas over figures: the share of the time that it costs; the first that can be read */
	struct fix *fixes; /* in this order */
	const char *command; /* the command line that sizes it, with {figure|example} in it */
	struct source from;
};

/* --- what figures say together --------------------------------------------------------------------------- */

/* Idle that no part of the step accounts for: neither those that compute nor those that wait. */
double diagnose_idle(struct sheet *sh, double gpu_busy_frac, double computing_frac, double waiting_frac);
/* Parts of a step together. */
double diagnose_together(struct sheet *sh, const double *part_frac, int n_parts);
/* A step that is the sum of its parts. */
double diagnose_step(struct sheet *sh, const double *part_s, int n_parts);
/* What a part takes beyond its prediction, as a share of the step; 0 when it takes less. */
double diagnose_excess(struct sheet *sh, double measured_s, double predicted_s, double step_s);
/* The clock that a GPU holds, of its highest. */
double diagnose_clock(struct sheet *sh, double clock_hertz, double max_hertz);
double diagnose_memory(struct sheet *sh, double peak_byte, double memory_byte);

/*
 * How wrong a prediction may be.  Errors are natural logarithms of measured / predicted; an interval holds 80 % of the
 * cases.  Errors of one class of kernels are taken as fully correlated (the same kernel is wrong in the same way in
 * every layer), errors of different classes as independent.
 */

enum { ERROR_CLASSES_MAX = 24, UNCERTAINTY_RANGES = 8 };

/* A class of kernels in a sum: what share it has, and how its measurements lay around its predictions. */
struct error_class {
	double share_frac;
	double q10, q90; /* 10 % and 90 % quantiles */
};

struct error_terms {
	int n;
	struct error_class classes[ERROR_CLASSES_MAX];
	double stack_sigma;    /* of how the parts are put together, 0: they stand alone */
	double transfer_sigma; /* of parameters taken from another GPU, 0: its own */
	double reach;          /* error_reach of every dimension, added up */
	double reach_sigma;    /* error for each unit of that */
	double widening;       /* factor on the half-width: conformal correction, warnings */
};

/* What is known of a kind of answer beyond the residuals of a calibration. */
struct uncertainty {
	const char *id, *name, *source, *date, *notes;
	struct datum n_points;
	struct datum sigma;           /* for a calibration without a residual */
	struct datum q10, q90;        /* the same, where it is not normal */
	struct datum transfer_sigma;  /* added where the parameters are another machine's; absent: 0 */
	struct datum engine_sigma;    /* added where they are the median of several engines', and one is meant */
	struct datum conformal;       /* factor that makes 80 % of the cases fall inside; absent: 1 */
	struct datum reach_sigma;     /* for each factor of e beyond the ranges; absent: 0 */
	struct datum hop_sigma;       /* of a step's latency on a network, from others of its transport */
	struct datum transport_sigma; /* the same from other transports */
	struct datum within_sigma;    /* inside a group of source, model and GPU, beyond the kernels' */
	struct datum group_sigma;     /* between groups of one stack */
	struct datum unlisted_within_sigma, unlisted_group_sigma; /* inside and between groups of such a stack */
	struct datum unlisted_sigma;     /* added for a stack of which no runs were looked at */
	struct datum recipe_sigma;       /* added for experts and adapters in such a stack */
	struct datum machine_sigma;      /* added for a machine without measured kernels */
	struct datum n_groups, n_stacks; /* that these were told from */
	int n_ranges;
	struct error_range {
		const char *dim; /* `m` */
		struct datum from, to;
	} ranges[UNCERTAINTY_RANGES]; /* that were measured */
};

/* The 80 % interval of a row, and how it is known. */
struct interval {
	double low, high;
	const char *why;
};

/* ln of how far a value lies outside of what was measured; 0 inside. */
double error_reach(struct sheet *sh, double value, double from, double to);
/* Half-widths in ln, downwards and upwards. */
double error_below(struct sheet *sh, const struct error_terms *e);
double error_above(struct sheet *sh, const struct error_terms *e);
/* The conformal factor: which quantile of |ln(measured / predicted)| / half-width holds 80 % of n cases with the
 * finite-sample correction; 1 when there are too few. */
double conformal_rank(struct sheet *sh, double n_cases);

/* A class of a sum from the residuals of a calibration (NULL, or without quantiles: a normal error of `sigma`). */
struct error_class error_class_of(double share_frac, const struct residual *r, double sigma);
/* The residual of this name, or NULL. */
const struct residual *residual_of(const struct calibration *c, const char *name);
/* value x exp(-below) .. value x exp(above). */
struct interval interval_of(double value, const struct error_terms *e, const char *why);

#endif
