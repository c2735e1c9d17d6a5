/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Evaluate the symptoms of a cause on measurements of a run, and derive shares of the step from them. */
#include "model/calc/calc.h"

#include <string.h>

static const struct {
	const char *name, *title, *option;
} figures[N_FIGURES] = {
#define FIGURE(name, title, option) [FIGURE_##name] = {#name, title, option},
#include "model/calc/figure.def"
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
