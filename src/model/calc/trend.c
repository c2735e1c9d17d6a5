/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Growth of a series and when it reaches a limit. */
#include "model/calc/calc.h"

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
