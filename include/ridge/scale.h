/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How work spreads over more GPUs: measured efficiency, the laws of scaling, a step that waits for its gradients, and
 * the bubble of a pipeline. */
#ifndef RIDGE_SCALE_H
#define RIDGE_SCALE_H

#include "ridge/sheet.h"

/* Speedup against a base, by throughput or by time; efficiency is speedup over the growth in GPUs, never its inverse.
 */
double scale_speedup_rate(struct sheet *sh, double base_sample_per_s, double rate_sample_per_s);
double scale_speedup_time(struct sheet *sh, double base_s, double time_s);
/* A job's time is one over its rate. */
double scale_time_of_rate(struct sheet *sh, double rate_sample_per_s);
double scale_efficiency(struct sheet *sh, double n_base_ranks, double n_ranks, double speedup);

/* Speedup of n ranks over one. */
double scale_amdahl(struct sheet *sh, double n_ranks, double contention);
double scale_gustafson(struct sheet *sh, double n_ranks, double contention);
double scale_usl(struct sheet *sh, double n_ranks, double contention, double coherency);
/* Ranks beyond which the universal law slows down; infinite without coherency cost. */
double scale_peak(struct sheet *sh, double contention, double coherency);
/* The most ranks that keep this efficiency under the universal law. */
double scale_stop(struct sheet *sh, double contention, double coherency, double least_frac);
/* The worked examples' rule of thumb: 85 % at 8, 70 % at 64, 50 % from 256 on. */
double scale_rule(struct sheet *sh, double n_ranks);

/* An estimate, its standard error and Student's quantiles for 80 % and 95 %: rows low_80, high_80, low_95, high_95. */
struct scale_estimate {
	double value, error, t_80, t_95;
};
double scale_interval(struct sheet *sh, const struct scale_estimate *e);
/* The same for a throughput. */
double scale_rate_interval(struct sheet *sh, const struct scale_estimate *e);

/* Work of a data-parallel step against one rank: what waiting leaves of n (ridge/collective.h has the waiting). */
double scale_step_speedup(struct sheet *sh, double n_ranks, double efficiency_frac);

/* Share of a pipeline step in which a stage idles. */
double pipeline_bubble(struct sheet *sh, double n_stages, double n_microbatches, double n_interleave);
double pipeline_microbatches(struct sheet *sh, double n_stages, double n_interleave, double target_frac);
double pipeline_interleave(struct sheet *sh, double n_stages, double n_microbatches, double target_frac);
/* How much faster the same work runs with a smaller bubble. */
double pipeline_gain(struct sheet *sh, double bubble_frac, double target_frac);
/* Micro-batches of one replica's share of a batch. */
double pipeline_fill(struct sheet *sh, double batch, double micro_batch);

/* Money for a million samples, and for a run. */
double scale_million_usd(struct sheet *sh, double n_ranks, double gpu_usd_per_s, double rate_sample_per_s);
double scale_run_usd(struct sheet *sh, double n_ranks, double gpu_usd_per_s, double time_s);

#endif
