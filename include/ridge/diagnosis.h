/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Symptoms and causes: figures that were measured, and what is known to lie behind them. */
#ifndef RIDGE_DIAGNOSIS_H
#define RIDGE_DIAGNOSIS_H

#include "ridge/sheet.h"

enum figure {
#define FIGURE(name, title, option) FIGURE_##name,
#include "ridge/figure.def"
#undef FIGURE
	N_FIGURES,
	FIGURE_NONE = -1,
};

const char *figure_name(enum figure f);
const char *figure_title(enum figure f);
const char *figure_option(enum figure f);
/* The figure with this name, or FIGURE_NONE. */
enum figure figure_find(const char *name);

/* What was measured; NaN where it was not. */
struct figures {
	double value[N_FIGURES];
};

/* A figure that speaks for a cause: above or below a limit, or simply given (neither limit). */
struct sign {
	enum figure figure;
	struct datum above, below;
	bool required; /* without it the cause is not meant */
};

/* Whether it is known, and whether it holds. */
bool sign_known(const struct sign *s, const struct figures *f);
bool sign_holds(const struct sign *s, const struct figures *f);

enum harm { HARM_STOPS, HARM_SPOILS, HARM_SLOWS }; /* the run ends, its result is wrong, it is slow; worst first */
enum use { USE_ANY, USE_TRAIN, USE_SERVE };

/* What to do, and who says so (or NULL). */
struct fix {
	const char *text, *cite;
};

/* One cause: a file of hwdb/diagnoses. */
struct diagnosis {
	const char *id, *name, *notes;
	enum harm harm;
	enum use use;
	int n_signs, n_unless, n_stakes, n_fixes;
	struct sign *signs, *unless; /* none of `unless` may hold */
	const char *
	    *stakes;       /* formulas over figures: the share of the time that it costs; the first that can be read */
	struct fix *fixes; /* in this order */
	const char *command; /* the command line that sizes it, with {figure|example} in it */
	struct source from;
};

/* --- what figures say together --------------------------------------------------------------------------- */

/* Idle that no part of the step accounts for: neither those that compute nor those that wait. */
double diagnose_idle(struct sheet *sh, double gpu_busy_frac, double computing_frac, double waiting_frac);
/* Parts of a step together. */
double diagnose_together(struct sheet *sh, const double *part_frac, int n_parts);
/* A step that is the sum of its parts. */
double diagnose_step(struct sheet *sh, const double *part_s, int n_parts);
/* What a part takes beyond its prediction, as a share of the step; 0 when it takes less. */
double diagnose_excess(struct sheet *sh, double measured_s, double predicted_s, double step_s);
/* The clock that a GPU holds, of its highest. */
double diagnose_clock(struct sheet *sh, double clock_hertz, double max_hertz);
double diagnose_memory(struct sheet *sh, double peak_byte, double memory_byte);

#endif
