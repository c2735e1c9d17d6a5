/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Combine speedups of a whole run or parts of it; feasibility of a claimed speedup. */
#include "model/calc/calc.h"

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
