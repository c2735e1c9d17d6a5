/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scaling efficiency, Amdahl's, Gustafson's and the universal scalability law, pipeline bubble. */
#include "model/calc/calc.h"

#include <assert.h>

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
