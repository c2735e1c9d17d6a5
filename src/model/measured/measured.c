/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What measurements say: a regression, growth, a cause, an interval. */
#include "model/measured/measured.h"

#include <string.h>

/* --- one value against a baseline or a limit ------------------------------------------------------------- */

double
compare_lost(struct sheet *sh, double baseline, double current)
{
	GIVEN(sh, baseline, current);
	LET(sh, worse_frac, (baseline - current) / baseline);
	return worse_frac;
}

double
compare_least(struct sheet *sh, double baseline, double threshold_frac)
{
	GIVEN(sh, baseline, threshold_frac);
	LET(sh, limit, baseline * (1 - threshold_frac));
	return limit;
}

double
compare_added(struct sheet *sh, double baseline, double current)
{
	GIVEN(sh, baseline, current);
	LET(sh, worse_frac, (current - baseline) / baseline);
	return worse_frac;
}

double
compare_most(struct sheet *sh, double baseline, double threshold_frac)
{
	GIVEN(sh, baseline, threshold_frac);
	LET(sh, limit, baseline * (1 + threshold_frac));
	return limit;
}

double
compare_of_limit(struct sheet *sh, double current, double limit)
{
	GIVEN(sh, current, limit);
	LET(sh, of_limit_frac, current / limit);
	return of_limit_frac;
}

/* Mann and Whitney, Annals of Mathematical Statistics 18(1), 1947; U over the number of pairs. */
double
compare_worse_frac(struct sheet *sh, double n_worse_pairs, double n_baseline, double n_current)
{
	GIVEN(sh, n_worse_pairs, n_baseline, n_current);
	LET(sh, n_pairs, n_baseline * n_current);
	LET(sh, worse_pair_frac, n_worse_pairs / n_pairs);
	return worse_pair_frac;
}

/* --- growth of a series, and when it reaches a limit ----------------------------------------------------- */

double
trend_end_slope(struct sheet *sh, double first_step, double last_step, double first, double last)
{
	GIVEN(sh, first_step, last_step, first, last);
	LET(sh, slope, (last - first) / (last_step - first_step));
	return slope;
}

double
trend_start(struct sheet *sh, double first, double slope, double first_step)
{
	GIVEN(sh, first, slope, first_step);
	LET(sh, start, first - slope * first_step);
	return start;
}

double
trend_value(struct sheet *sh, double start, double slope, double n_steps)
{
	GIVEN(sh, start, slope, n_steps);
	LET(sh, value, start + slope * n_steps);
	return value;
}

double
trend_growth(struct sheet *sh, double slope, double n_steps)
{
	GIVEN(sh, slope, n_steps);
	LET(sh, growth, slope * n_steps);
	return growth;
}

/* 1e-9 keeps a whole answer whole. */
double
trend_reached(struct sheet *sh, double start, double slope, double limit)
{
	GIVEN(sh, start, slope, limit);
	LET(sh, n_exact, (limit - start) / slope);
	LET(sh, n_last_step, floor(n_exact + 1e-9));
	return n_last_step;
}

/* --- units ----------------------------------------------------------------------------------------------- */

double
measured_size(struct sheet *sh, double number, double unit_byte)
{
	GIVEN(sh, number, unit_byte);
	LET(sh, size_byte, number * unit_byte);
	return size_byte;
}

double
measured_time(struct sheet *sh, double number, double unit_s)
{
	GIVEN(sh, number, unit_s);
	LET(sh, time_s, number * unit_s);
	return time_s;
}

double
measured_rate(struct sheet *sh, double number, double unit_byte_per_s)
{
	GIVEN(sh, number, unit_byte_per_s);
	LET(sh, rate_byte_per_s, number * unit_byte_per_s);
	return rate_byte_per_s;
}

/* --- symptoms of a cause, and shares of the step --------------------------------------------------------- */

static const struct {
	const char *name, *title, *option;
} figures[N_FIGURES] = {
#define FIGURE(name, title, option) [FIGURE_##name] = {#name, title, option},
    FIGURES(FIGURE)
#undef FIGURE
};

const char *
figure_name(enum figure f)
{
	return figures[f].name;
}

const char *
figure_title(enum figure f)
{
	return figures[f].title;
}

const char *
figure_option(enum figure f)
{
	return figures[f].option;
}

enum figure
figure_find(const char *name)
{
	for (int f = 0; f < N_FIGURES; f++)
		if (strcmp(figures[f].name, name) == 0)
			return (enum figure)f;
	return FIGURE_NONE;
}

bool
sign_known(const struct sign *s, const struct figures *f)
{
	return !isnan(f->value[s->figure]);
}

bool
sign_holds(const struct sign *s, const struct figures *f)
{
	const double value = f->value[s->figure];

	return !isnan(value) && !(datum_given(s->above) && !(value > s->above.value)) &&
	    !(datum_given(s->below) && !(value < s->below.value));
}

/* --- what figures say together --------------------------------------------------------------------------- */

double
diagnose_idle(struct sheet *sh, double gpu_busy_frac, double computing_frac, double waiting_frac)
{
	GIVEN(sh, gpu_busy_frac, computing_frac, waiting_frac);
	LET(sh, idle_frac, fmax(0, 1 - fmax(gpu_busy_frac, computing_frac) - waiting_frac));
	return idle_frac;
}

static double
part(struct sheet *sh, double one_frac)
{
	GIVEN(sh, one_frac);
	LET(sh, part_frac, one_frac);
	return part_frac;
}

double
diagnose_together(struct sheet *sh, const double *part_frac, int n_parts)
{
	SUM(sh, together_frac, i, n_parts, part(sh, part_frac[i]));
	return together_frac;
}

static double
part_time(struct sheet *sh, double one_s)
{
	GIVEN(sh, one_s);
	LET(sh, part_s, one_s);
	return part_s;
}

double
diagnose_step(struct sheet *sh, const double *part_s, int n_parts)
{
	SUM(sh, step_s, i, n_parts, part_time(sh, part_s[i]));
	return step_s;
}

double
diagnose_excess(struct sheet *sh, double measured_s, double predicted_s, double step_s)
{
	GIVEN(sh, measured_s, predicted_s, step_s);
	LET(sh, excess_frac, fmax(0, measured_s - predicted_s) / step_s);
	return excess_frac;
}

double
diagnose_clock(struct sheet *sh, double clock_hertz, double max_hertz)
{
	GIVEN(sh, clock_hertz, max_hertz);
	LET(sh, clock_frac, clock_hertz / max_hertz);
	return clock_frac;
}

double
diagnose_memory(struct sheet *sh, double peak_byte, double memory_byte)
{
	GIVEN(sh, peak_byte, memory_byte);
	LET(sh, memory_frac, peak_byte / memory_byte);
	return memory_frac;
}

/* --- intervals from residuals, transfers and extrapolation ----------------------------------------------- */

/* The 90 % quantile of a standard normal variable. */
#define NORMAL_Q90 1.2815515655446004

double
error_reach(struct sheet *sh, double value, double from, double to)
{
	GIVEN(sh, value, from, to);
	LET(sh, under, log(from / fmax(value, 1e-300)));
	LET(sh, over, log(fmax(value, 1e-300) / to));
	LET(sh, reach, fmax(0, fmax(under, over)));
	return reach;
}

/* With a single class its quantiles are used as they are; with several, their squares add like variances. */
static double
square_of_share(struct sheet *sh, double share_frac, double quantile)
{
	GIVEN(sh, share_frac, quantile);
	LET(sh, part, share_frac * fmax(0, quantile));
	LET(sh, part_squared, part * part);
	return part_squared;
}

/* Variances that are not of one class: composition, transfer, reach. */
static double
common_variance(struct sheet *sh, const struct error_terms *e)
{
	FROM(sh, e, stack_sigma, transfer_sigma, reach, reach_sigma);
	LET(sh, outside_sigma, reach_sigma * reach);
	LET(sh, common_variance,
	    stack_sigma * stack_sigma + transfer_sigma * transfer_sigma + outside_sigma * outside_sigma);
	return common_variance;
}

static double
half_width(struct sheet *sh, const struct error_terms *e, double classes_squared)
{
	GIVEN(sh, classes_squared);
	TAKE(sh, widening, e->widening);
	TAKE(sh, normal_q90, NORMAL_Q90);
	CALL(sh, others, common_variance(sh, e));
	LET(sh, half_width, widening * sqrt(classes_squared + normal_q90 * normal_q90 * others));
	return half_width;
}

double
error_below(struct sheet *sh, const struct error_terms *e)
{
	SUM(sh, classes_squared, i, e->n, square_of_share(sh, e->classes[i].share_frac, 0 - e->classes[i].q10));
	CALL(sh, below, half_width(sh, e, classes_squared));
	return below;
}

double
error_above(struct sheet *sh, const struct error_terms *e)
{
	SUM(sh, classes_squared, i, e->n, square_of_share(sh, e->classes[i].share_frac, e->classes[i].q90));
	CALL(sh, above, half_width(sh, e, classes_squared));
	return above;
}

/* Split conformal prediction: Angelopoulos and Bates, arXiv:2107.07511, section 1. */
double
conformal_rank(struct sheet *sh, double n_cases)
{
	GIVEN(sh, n_cases);
	TAKE(sh, level, INTERVAL_LEVEL);
	LET(sh, rank_frac, fmin(1, ceil((n_cases + 1) * level) / n_cases));
	return rank_frac;
}

struct error_class
error_class_of(double share_frac, const struct residual *r, double sigma)
{
	/* the mean of |x| of a normal error is sqrt(2 / pi) of its standard deviation */
	const double known = r ? datum_or(r->mape_frac, NAN) * 1.2533141373155003 : NAN;
	const double mean = r ? datum_or(r->mean, 0) : 0;
	const double sd = r ? datum_or(r->sd, isnan(known) ? sigma : known) : sigma;

	return (struct error_class){.share_frac = share_frac,
	    .q10 = r && datum_given(r->q10) ? r->q10.value : mean - NORMAL_Q90 * sd,
	    .q90 = r && datum_given(r->q90) ? r->q90.value : mean + NORMAL_Q90 * sd};
}

const struct residual *
residual_of(const struct calibration *c, const char *name)
{
	for (int i = 0; c && i < c->n_residuals; i++)
		if (strcmp(c->residuals[i].name, name) == 0)
			return &c->residuals[i];
	return NULL;
}

struct interval
interval_of(double value, const struct error_terms *e, const char *why)
{
	return (struct interval){value * exp(-error_below(NULL, e)), value * exp(error_above(NULL, e)), why};
}
