/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a series grows, and when it reaches a limit.  Series are pure numbers in one unit, whatever it is; measured_*
 * gives a number its unit back. */
#ifndef RIDGE_TREND_H
#define RIDGE_TREND_H

#include "ridge/sheet.h"

/* Growth for each step between the first and the last point. */
double trend_end_slope(struct sheet *sh, double first_step, double last_step, double first, double last);
/* Its line's value at step 0. */
double trend_start(struct sheet *sh, double first, double slope, double first_step);
/* A line's value at a step; what it grows in so many steps; the last step below a limit (slope above 0). */
double trend_value(struct sheet *sh, double start, double slope, double n_steps);
double trend_growth(struct sheet *sh, double slope, double n_steps);
double trend_reached(struct sheet *sh, double start, double slope, double limit);

/* A number of a series in its unit: bytes, seconds, bytes per second. */
double measured_size(struct sheet *sh, double number, double unit_byte);
double measured_time(struct sheet *sh, double number, double unit_s);
double measured_rate(struct sheet *sh, double number, double unit_byte_per_s);

#endif
