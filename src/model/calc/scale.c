/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Speedups: more GPUs, and steps that make a run faster. */
#include "model/calc/calc.h"

#include <assert.h>

/* --- more GPUs: efficiency, laws of scaling, pipeline bubble --------------------------------------------- */

double
scale_speedup_rate(struct sheet *sh, double base_sample_per_s, double rate_sample_per_s)
{
	GIVEN(sh, base_sample_per_s, rate_sample_per_s);
	LET(sh, speedup, rate_sample_per_s / base_sample_per_s);
	return speedup;
}

double
scale_speedup_time(struct sheet *sh, double base_s, double time_s)
{
	GIVEN(sh, base_s, time_s);
	LET(sh, speedup, base_s / time_s);
	return speedup;
}

double
scale_time_of_rate(struct sheet *sh, double rate_sample_per_s)
{
	GIVEN(sh, rate_sample_per_s);
	TAKE(sh, n_samples, 1.0);
	LET(sh, time_s, n_samples / rate_sample_per_s);
	return time_s;
}

double
scale_efficiency(struct sheet *sh, double n_base_ranks, double n_ranks, double speedup)
{
	GIVEN(sh, n_base_ranks, n_ranks, speedup);
	LET(sh, growth, n_ranks / n_base_ranks);
	LET(sh, efficiency_frac, speedup / growth);
	return efficiency_frac;
}

/* --- laws ------------------------------------------------------------------------------------------------ */

/* Fixed work with a part that stays serial.  Amdahl, AFIPS 1967; n / (1 + c (n - 1)) is 1 / (c + (1 - c) / n). */
double
scale_amdahl(struct sheet *sh, double n_ranks, double contention)
{
	GIVEN(sh, n_ranks, contention);
	LET(sh, speedup, n_ranks / (1 + contention * (n_ranks - 1)));
	return speedup;
}

/* Work that grows with the ranks: only the parallel part does.  Gustafson, CACM 31(5), 1988. */
double
scale_gustafson(struct sheet *sh, double n_ranks, double contention)
{
	GIVEN(sh, n_ranks, contention);
	LET(sh, speedup, n_ranks - contention * (n_ranks - 1));
	return speedup;
}

/* Amdahl's queue for what is shared, and every rank waiting for every other.  Gunther, Guerrilla Capacity Planning,
 * Springer 2007, equation 4.31. */
double
scale_usl(struct sheet *sh, double n_ranks, double contention, double coherency)
{
	GIVEN(sh, n_ranks, contention, coherency);
	LET(sh, speedup, n_ranks / (1 + contention * (n_ranks - 1) + coherency * n_ranks * (n_ranks - 1)));
	return speedup;
}

/* Maximum of the universal scalability law: Gunther 2007, equation 4.33. */
double
scale_peak(struct sheet *sh, double contention, double coherency)
{
	GIVEN(sh, contention, coherency);
	LET(sh, n_peak_ranks, sqrt((1 - contention) / coherency));
	return n_peak_ranks;
}

/* Efficiency 1 / (1 + c (n - 1) + k n (n - 1)) = e, solved for n: k n^2 + (c - k) n = 1 / e - 1 + c. */
double
scale_stop(struct sheet *sh, double contention, double coherency, double least_frac)
{
	GIVEN(sh, contention, coherency, least_frac);
	LET(sh, loss, 1 / least_frac - 1);
	double n_ranks_exact;
	if (coherency > 0) {
		LET(sh, linear, contention - coherency);
		SET(sh, n_ranks_exact,
		    (sqrt(linear * linear + 4 * coherency * (loss + contention)) - linear) / (2 * coherency));
	} else
		SET(sh, n_ranks_exact, 1 + loss / contention);
	LET(sh, n_stop_ranks, floor(n_ranks_exact + 1e-9));
	return n_stop_ranks;
}

/* A straight line over log2 n between the three figures that the worked examples give; flat beyond the last. */
double
scale_rule(struct sheet *sh, double n_ranks)
{
	static const struct {
		double n, efficiency;
	} knots[] = {{1, 1}, {8, 0.85}, {64, 0.7}, {256, 0.5}};
	enum { LAST = sizeof knots / sizeof *knots - 1 };
	int at = 0;

	while (at + 1 < LAST && n_ranks > knots[at + 1].n)
		at++;
	GIVEN(sh, n_ranks);
	TAKE(sh, n_low_ranks, knots[at].n);
	TAKE(sh, n_high_ranks, knots[at + 1].n);
	TAKE(sh, low_frac, knots[at].efficiency);
	TAKE(sh, high_frac, knots[at + 1].efficiency);
	LET(sh, way_frac, fmin(1, log2(n_ranks / n_low_ranks) / log2(n_high_ranks / n_low_ranks)));
	LET(sh, efficiency_frac, low_frac + way_frac * (high_frac - low_frac));
	return efficiency_frac;
}

double
scale_interval(struct sheet *sh, const struct scale_estimate *e)
{
	TAKE(sh, estimate, e->value);
	TAKE(sh, standard_error, e->error);
	FROM(sh, e, t_80, t_95);
	LET(sh, low_80, estimate - t_80 * standard_error);
	LET(sh, high_80, estimate + t_80 * standard_error);
	LET(sh, low_95, estimate - t_95 * standard_error);
	LET(sh, high_95, estimate + t_95 * standard_error);
	LET(sh, value, estimate);
	return value;
}

double
scale_rate_interval(struct sheet *sh, const struct scale_estimate *e)
{
	TAKE(sh, estimate_sample_per_s, e->value);
	TAKE(sh, error_sample_per_s, e->error);
	FROM(sh, e, t_80, t_95);
	LET(sh, low_80_sample_per_s, estimate_sample_per_s - t_80 * error_sample_per_s);
	LET(sh, high_80_sample_per_s, estimate_sample_per_s + t_80 * error_sample_per_s);
	LET(sh, low_95_sample_per_s, estimate_sample_per_s - t_95 * error_sample_per_s);
	LET(sh, high_95_sample_per_s, estimate_sample_per_s + t_95 * error_sample_per_s);
	LET(sh, rate_sample_per_s, estimate_sample_per_s);
	return rate_sample_per_s;
}

/* Every rank does a rank's work in a step that is longer than one rank alone would need. */
double
scale_step_speedup(struct sheet *sh, double n_ranks, double efficiency_frac)
{
	GIVEN(sh, n_ranks, efficiency_frac);
	LET(sh, speedup, n_ranks * efficiency_frac);
	return speedup;
}

/* --- pipelines ------------------------------------------------------------------------------------------- */

/*
 * p stages idle p - 1 slots of the m v + p - 1 that a step has: GPipe (Huang et al., NeurIPS 2019) and 1F1B (Narayanan
 * et al., SOSP 2019) with v = 1; v model chunks per stage make a slot v times shorter (Narayanan et al., SC 2021,
 * section 2.2).
 */
double
pipeline_bubble(struct sheet *sh, double n_stages, double n_microbatches, double n_interleave)
{
	GIVEN(sh, n_stages, n_microbatches, n_interleave);
	LET(sh, n_idle_slots, n_stages - 1);
	LET(sh, n_slots, n_microbatches * n_interleave + n_idle_slots);
	LET(sh, bubble_frac, n_idle_slots / n_slots);
	return bubble_frac;
}

/* The bubble solved for m; 1e-9 keeps a whole answer whole. */
double
pipeline_microbatches(struct sheet *sh, double n_stages, double n_interleave, double target_frac)
{
	GIVEN(sh, n_stages, n_interleave, target_frac);
	LET(sh, n_exact, (n_stages - 1) * (1 - target_frac) / (target_frac * n_interleave));
	LET(sh, n_needed, ceil(n_exact - 1e-9));
	return n_needed;
}

double
pipeline_interleave(struct sheet *sh, double n_stages, double n_microbatches, double target_frac)
{
	GIVEN(sh, n_stages, n_microbatches, target_frac);
	LET(sh, n_exact, (n_stages - 1) * (1 - target_frac) / (target_frac * n_microbatches));
	LET(sh, n_needed, fmax(1, ceil(n_exact - 1e-9)));
	return n_needed;
}

/* The same work in a busy share of 1 - bubble. */
double
pipeline_gain(struct sheet *sh, double bubble_frac, double target_frac)
{
	GIVEN(sh, bubble_frac, target_frac);
	LET(sh, gain, (1 - target_frac) / (1 - bubble_frac));
	return gain;
}

double
pipeline_fill(struct sheet *sh, double batch, double micro_batch)
{
	GIVEN(sh, batch, micro_batch);
	LET(sh, n_microbatches, ceil(batch / micro_batch));
	return n_microbatches;
}

/* --- money ----------------------------------------------------------------------------------------------- */

double
scale_million_usd(struct sheet *sh, double n_ranks, double gpu_usd_per_s, double rate_sample_per_s)
{
	GIVEN(sh, n_ranks, gpu_usd_per_s, rate_sample_per_s);
	TAKE(sh, n_samples, 1e6);
	LET(sh, million_usd, n_ranks * gpu_usd_per_s * n_samples / rate_sample_per_s);
	return million_usd;
}

double
scale_run_usd(struct sheet *sh, double n_ranks, double gpu_usd_per_s, double time_s)
{
	GIVEN(sh, n_ranks, gpu_usd_per_s, time_s);
	LET(sh, run_usd, n_ranks * gpu_usd_per_s * time_s);
	return run_usd;
}

/* --- steps of a run, and parts of it --------------------------------------------------------------------- */

/* --- a part of the time ---------------------------------------------------------------------------------- */

/* Amdahl's law (AFIPS 1967): the part that is not sped up keeps its time. */
double
gain_amdahl(struct sheet *sh, double share_frac, double local)
{
	GIVEN(sh, share_frac, local);
	LET(sh, speedup, 1 / (1 - share_frac + share_frac / local));
	return speedup;
}

double
gain_local(struct sheet *sh, double share_frac, double total)
{
	GIVEN(sh, share_frac, total);
	LET(sh, left_frac, 1 / total - (1 - share_frac));
	LET(sh, local, share_frac / left_frac);
	return local;
}

double
gain_share(struct sheet *sh, double local, double total)
{
	GIVEN(sh, local, total);
	LET(sh, share_frac, (1 - 1 / total) / (1 - 1 / local));
	return share_frac;
}

double
gain_limit(struct sheet *sh, double share_frac)
{
	GIVEN(sh, share_frac);
	LET(sh, limit, 1 / (1 - share_frac));
	return limit;
}

/* --- factors of steps ------------------------------------------------------------------------------------ */

double
gain_factor(struct sheet *sh, double stated)
{
	GIVEN(sh, stated);
	LET(sh, factor, stated);
	return factor;
}

/* The rest of the iteration takes as long as before: Amdahl's law in measured times. */
double
gain_part(struct sheet *sh, double whole_s, double before_s, double after_s)
{
	GIVEN(sh, whole_s, before_s, after_s);
	LET(sh, left_s, whole_s - before_s + after_s);
	LET(sh, factor, whole_s / left_s);
	return factor;
}

/* Both shares are of the old time. */
double
gain_part_share(struct sheet *sh, double before_frac, double after_frac)
{
	GIVEN(sh, before_frac, after_frac);
	LET(sh, left_frac, 1 - before_frac + after_frac);
	LET(sh, factor, 1 / left_frac);
	return factor;
}

double
gain_amount(struct sheet *sh, double before, double after)
{
	GIVEN(sh, before, after);
	LET(sh, factor, before / after);
	return factor;
}

/* --- steps together -------------------------------------------------------------------------------------- */

double
gain_product(struct sheet *sh, double so_far, double factor)
{
	GIVEN(sh, so_far, factor);
	LET(sh, speedup, so_far * factor);
	return speedup;
}

double
gain_remaining(struct sheet *sh, double target, double have)
{
	GIVEN(sh, target, have);
	LET(sh, remaining, target / have);
	return remaining;
}

double
gain_time(struct sheet *sh, double base_s, double speedup)
{
	GIVEN(sh, base_s, speedup);
	LET(sh, time_s, base_s / speedup);
	return time_s;
}

double
gain_cost(struct sheet *sh, double base_usd, double speedup)
{
	GIVEN(sh, base_usd, speedup);
	LET(sh, cost_usd, base_usd / speedup);
	return cost_usd;
}

double
gain_before(struct sheet *sh, double after_s, double speedup)
{
	GIVEN(sh, after_s, speedup);
	LET(sh, before_s, after_s * speedup);
	return before_s;
}

double
gain_saved_frac(struct sheet *sh, double speedup)
{
	GIVEN(sh, speedup);
	LET(sh, saved_frac, 1 - 1 / speedup);
	return saved_frac;
}

double
gain_saved_time(struct sheet *sh, double before_s, double after_s)
{
	GIVEN(sh, before_s, after_s);
	LET(sh, saved_s, before_s - after_s);
	return saved_s;
}

/*
 * Runs are slow while the work on a step lasts.  Two neighbors i and j cost e_i T + e_j T / f_i in one order and
 * e_j T + e_i T / f_j in the other, so i comes first when (1 - 1/f_i) / e_i is the larger: an exchange argument as of
 * Smith, Naval Research Logistics Quarterly 3, 1956.
 */
double
gain_per_effort(struct sheet *sh, double speedup, double effort_s)
{
	GIVEN(sh, speedup, effort_s);
	TAKE(sh, day_s, 86400.0);
	LET(sh, saved_frac, 1 - 1 / speedup);
	LET(sh, effort_days, effort_s / day_s);
	LET(sh, saved_daily, saved_frac / effort_days);
	return saved_daily;
}

double
gain_late(struct sheet *sh, double time_s, double deadline_s)
{
	GIVEN(sh, time_s, deadline_s);
	LET(sh, late_s, time_s - deadline_s);
	return late_s;
}

/* --- ranges ---------------------------------------------------------------------------------------------- */

double
gain_middle(struct sheet *sh, double low, double high)
{
	GIVEN(sh, low, high);
	LET(sh, middle, sqrt(low * high));
	return middle;
}

/* The variance of a uniform distribution is a third of its squared half-width. */
double
gain_spread(struct sheet *sh, double low, double high)
{
	GIVEN(sh, low, high);
	LET(sh, half_width, log(high / low) / 2);
	LET(sh, spread, half_width * half_width / 3);
	return spread;
}

/* Independent logarithms add up to nearly a normal distribution. */
double
gain_likely_low(struct sheet *sh, double middle, double spread, double z)
{
	GIVEN(sh, middle, spread, z);
	LET(sh, speedup, middle * exp(-z * sqrt(spread)));
	return speedup;
}

double
gain_likely_high(struct sheet *sh, double middle, double spread, double z)
{
	GIVEN(sh, middle, spread, z);
	LET(sh, speedup, middle * exp(z * sqrt(spread)));
	return speedup;
}

/* --- parts of a run -------------------------------------------------------------------------------------- */

double
gain_parts(struct sheet *sh, double one_s, double n_alike)
{
	GIVEN(sh, one_s, n_alike);
	LET(sh, part_s, one_s * n_alike);
	return part_s;
}

double
gain_share_time(struct sheet *sh, double whole_s, double share_frac)
{
	GIVEN(sh, whole_s, share_frac);
	LET(sh, part_s, whole_s * share_frac);
	return part_s;
}

double
gain_sum(struct sheet *sh, double one_s, double other_s)
{
	GIVEN(sh, one_s, other_s);
	LET(sh, sum_s, one_s + other_s);
	return sum_s;
}

double
gain_rest(struct sheet *sh, double whole_s, double parts_s)
{
	GIVEN(sh, whole_s, parts_s);
	LET(sh, rest_s, whole_s - parts_s);
	return rest_s;
}

double
gain_ahead(struct sheet *sh, double one_frac, double other_frac)
{
	GIVEN(sh, one_frac, other_frac);
	LET(sh, ahead_frac, one_frac - other_frac);
	return ahead_frac;
}

/* --- the hardware's peak --------------------------------------------------------------------------------- */

/* Six FLOP for each parameter and token, two forward and four backward: Kaplan et al., arXiv:2001.08361, section 2.1.
 * Utilisation counts these alone: Chowdhery et al., arXiv:2204.02311, appendix B. */
double
gain_mfu(struct sheet *sh, double n_params, double n_tokens, double n_gpus, double peak_flop_per_s, double time_s)
{
	GIVEN(sh, n_params, n_tokens, n_gpus, peak_flop_per_s, time_s);
	TAKE(sh, step_flop_per_param_per_token, 6.0);
	LET(sh, work_flop, step_flop_per_param_per_token * n_params * n_tokens);
	LET(sh, fleet_flop_per_s, n_gpus * peak_flop_per_s);
	LET(sh, mfu_frac, work_flop / (fleet_flop_per_s * time_s));
	return mfu_frac;
}

double
gain_floor(struct sheet *sh, double n_params, double n_tokens, double n_gpus, double peak_flop_per_s)
{
	GIVEN(sh, n_params, n_tokens, n_gpus, peak_flop_per_s);
	TAKE(sh, step_flop_per_param_per_token, 6.0);
	LET(sh, work_flop, step_flop_per_param_per_token * n_params * n_tokens);
	LET(sh, floor_s, work_flop / (n_gpus * peak_flop_per_s));
	return floor_s;
}
