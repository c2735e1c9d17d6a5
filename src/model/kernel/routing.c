/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How rows are spread over experts and ranks: evenly, by chance, or by the power law of benchmarks. */
#include "base/base.h"
#include "model/kernel/kernel.h"

/* The largest of n normal variables, in standard deviations (Blom, Statistical Estimates and Transformed
 * Beta-Variables, 1958). */
static double
largest_of(double n)
{
	return num_normal_quantile((n - 0.375) / (n + 0.25));
}

/* --- loads of experts that follow a power law ------------------------------------------------------------------- */

/*
 * How benchmarks draw loads (ai-dynamo/aiconfigurator): each expert a number between least and most with density
 * x^-power, then whole rows in proportion, and what rounding leaves over one by one to those that got none.
 */
struct power_law {
	double power, least, most, mean;
};

static double
power_integral(const struct power_law *l, double from, double to, double moment)
{
	const double exponent = moment + 1 - l->power;

	return fabs(exponent) < 1e-9 ? log(to / from) : (pow(to, exponent) - pow(from, exponent)) / exponent;
}

static double
power_moment(const struct power_law *l, double moment)
{
	return power_integral(l, l->least, l->most, moment) / power_integral(l, l->least, l->most, 0);
}

static struct power_law
power_law_of(const struct moe_shape *s)
{
	const bool many = s->n_tokens * s->top_k > s->n_experts;
	struct power_law l = {s->power, many ? 1 : 0.01, many ? fmax(2, 0.8 * s->n_tokens) : 2, 0};

	l.mean = power_moment(&l, 1);
	return l;
}

/* Share of experts with at least this many rows before rounding. */
static double
power_above(const struct power_law *l, const struct moe_shape *s, double n_rows)
{
	const double x = n_rows * l->mean * s->n_experts / (s->n_tokens * s->top_k);

	return power_integral(l, fmin(l->most, fmax(l->least, x)), l->most, 0) /
	    power_integral(l, l->least, l->most, 0);
}

/* Share of experts that get any row.  Rounding of loads below some rows matters. */
static double
power_active(const struct moe_shape *s)
{
	enum { FEW = 4, MOST_ROWS = 64 };
	const struct power_law l = power_law_of(s);
	const double active_frac = power_above(&l, s, 0.5), mean = s->n_tokens * s->top_k / s->n_experts;
	double rounded = 0;

	if (mean >= FEW)
		return active_frac;
	for (int i = 0; i < MOST_ROWS; i++)
		rounded += power_above(&l, s, i + 0.5);
	return fmin(1, active_frac + fmax(0, mean - rounded));
}

/* Rows of the busiest rank over the mean of all: the largest of sums, whose distribution is as skew as that of a load
 * over the root of their number (Cornish and Fisher, 1938). */
static double
power_busiest(const struct moe_shape *s)
{
	const struct power_law l = power_law_of(s);
	const double n = s->n_experts / s->ep, mean = l.mean, square = power_moment(&l, 2), cube = power_moment(&l, 3);
	const double deviation = sqrt(square - mean * mean);
	const double skewness = (cube - 3 * mean * square + 2 * mean * mean * mean) / pow(deviation, 3);

	if (!(s->ep > 1))
		return 1;
	const double z = largest_of(s->ep);
	const double largest = 1 + (z + (z * z - 1) / 6 * skewness / sqrt(n)) * deviation / mean / sqrt(n);
	return fmin(largest, fmin(s->ep, l.most / mean));
}

double
moe_active_experts(struct sheet *sh, const struct moe_shape *s, double n_local_pairs)
{
	GIVEN(sh, n_local_pairs);
	TAKE(sh, n_experts, s->n_experts);
	TAKE(sh, n_expert_ranks, s->ep);
	double n_active;
	if (s->power > 0) {
		TAKE(sh, active_frac, fmin(1, power_active(s) * power_busiest(s)));
		SET(sh, n_active, fmax(1, n_experts / n_expert_ranks * active_frac));
	} else if (s->expected) {
		TAKE(sh, n_chosen, s->top_k);
		TAKE(sh, n_rows, s->n_tokens);
		double idle_frac;
		if (s->popular)
			SET_CALL(sh, idle_frac, experts_idle(sh, n_chosen, n_experts, n_rows));
		else
			SET(sh, idle_frac, pow(1 - n_chosen / n_experts, n_rows));
		SET(sh, n_active, fmax(1, n_experts / n_expert_ranks * (1 - idle_frac)));
	} else
		SET(sh, n_active, fmin(n_experts / n_expert_ranks, ceil(n_local_pairs)));
	return n_active;
}

double
moe_load(const struct moe_shape *s)
{
	return kernel_factor(s->load_frac) * (s->power > 0 ? power_busiest(s) : 1);
}

double
moe_expert_rows(struct sheet *sh, const struct moe_shape *s, double n_mean_pairs, double n_active)
{
	enum { WHOLE_FROM = 64 };

	GIVEN(sh, n_mean_pairs, n_active);
	TAKE(sh, n_rows, s->n_tokens);
	TAKE(sh, load_frac, moe_load(s));
	LET(sh, n_most, fmax(n_rows, n_mean_pairs / n_active));
	LET(sh, n_free, fmin(load_frac * (n_mean_pairs / n_active), n_most));
	EITHER(sh, n_expert_rows, n_free >= WHOLE_FROM, floor(n_free + 0.5), n_free);
	return n_expert_rows;
}

double
moe_busiest_experts(struct sheet *sh, const struct moe_shape *s, double n_active)
{
	double n_busiest;

	GIVEN(sh, n_active);
	if (!s->slowest_rank || !(s->ep > 1)) {
		SET(sh, n_busiest, n_active);
		return n_busiest;
	}
	TAKE(sh, n_experts, s->n_experts);
	TAKE(sh, n_expert_ranks, s->ep);
	TAKE(sh, n_deviations, largest_of(s->ep));
	LET(sh, n_local, n_experts / n_expert_ranks);
	LET(sh, deviation, sqrt(n_active * fmax(0, 1 - n_active / n_local)));
	SET(sh, n_busiest, fmin(n_local, n_active + n_deviations * deviation));
	return n_busiest;
}
