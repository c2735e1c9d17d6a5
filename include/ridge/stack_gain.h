/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What optimisations are worth to a whole run: Amdahl's law for parts of it, products, time and money after each step,
 * and whether the hardware can be that fast.  (stack.h is another thing: the traits of training software.) */
#ifndef RIDGE_STACK_GAIN_H
#define RIDGE_STACK_GAIN_H

#include "ridge/sheet.h"

/* Speedup of the whole when a share of its time runs `local` times faster, and the law solved for its other names.
 * gain_local is infinite or negative when no local speedup is enough; gain_share is above 1 when no share is. */
double gain_amdahl(struct sheet *sh, double share_frac, double local);
double gain_local(struct sheet *sh, double share_frac, double total);
double gain_share(struct sheet *sh, double local, double total);
/* The whole at best, when that share takes no time at all. */
double gain_limit(struct sheet *sh, double share_frac);

/* The factor of a step: of the whole run; a part of an iteration; a share of the old time; less of something.  Whole
 * times and rates have scale_speedup_time and scale_speedup_rate, idle shares and bubbles pipeline_gain (scale.h). */
double gain_factor(struct sheet *sh, double stated);
double gain_part(struct sheet *sh, double whole_s, double before_s, double after_s);
double gain_part_share(struct sheet *sh, double before_frac, double after_frac);
double gain_amount(struct sheet *sh, double before, double after);

/* Steps multiply. */
double gain_product(struct sheet *sh, double so_far, double factor);
double gain_remaining(struct sheet *sh, double target, double have);
/* Time and money after a speedup, and the time that it saves (cost.h has the money). */
double gain_time(struct sheet *sh, double base_s, double speedup);
double gain_cost(struct sheet *sh, double base_usd, double speedup);
/* What the run took before a speedup. */
double gain_before(struct sheet *sh, double after_s, double speedup);
double gain_saved_frac(struct sheet *sh, double speedup);
double gain_saved_time(struct sheet *sh, double before_s, double after_s);
/* Share of the run that a step saves for each day of work on it: the larger, the earlier it should be done. */
double gain_per_effort(struct sheet *sh, double speedup, double effort_s);
/* Time past a deadline; below 0: to spare. */
double gain_late(struct sheet *sh, double time_s, double deadline_s);

/* Factors known only within ranges: the middle of one on a logarithmic scale, its squared half-width, and where the
 * product lies with probability `level`, whose half-width is z standard deviations. */
double gain_middle(struct sheet *sh, double low, double high);
double gain_spread(struct sheet *sh, double low, double high);
double gain_likely_low(struct sheet *sh, double middle, double spread, double z);
double gain_likely_high(struct sheet *sh, double middle, double spread, double z);

/* Parts of a run: n alike, a share of the whole, two together, what the parts leave over, one beside another. */
double gain_parts(struct sheet *sh, double one_s, double n_alike);
double gain_share_time(struct sheet *sh, double whole_s, double share_frac);
double gain_sum(struct sheet *sh, double one_s, double other_s);
double gain_rest(struct sheet *sh, double whole_s, double parts_s);
double gain_ahead(struct sheet *sh, double one_frac, double other_frac);

/* Model FLOP utilisation of a training run, and the least time that the peak allows. */
double gain_mfu(
    struct sheet *sh, double n_params, double n_tokens, double n_gpus, double peak_flop_per_s, double time_s);
double gain_floor(struct sheet *sh, double n_params, double n_tokens, double n_gpus, double peak_flop_per_s);

#endif
