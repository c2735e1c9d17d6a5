/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A plot: series of points and lines over one axis, in panels one above the other.  It knows nothing of what it shows,
 * and becomes a script of gnuplot, or a picture that gnuplot draws from the script.
 *
 * Texts may be anything: in the script they stand in single quotes or data blocks alone, where gnuplot expands nothing.
 */
#ifndef RIDGE_PLOT_H
#define RIDGE_PLOT_H

#include "base/arena.h"
#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct plot_series {
	const char *title;
	bool line, marks;
	size_t n;
	const double *x, *y;      /* NaN: a gap */
	const char *const *names; /* beside the points; NULL: none */
};

struct plot_panel {
	const char *y_title;
	bool y_log;
	size_t n_series;
	struct plot_series *series;
};

struct plot {
	const char *title, *x_title;
	bool x_log, x_powers; /* x_powers: ticks at powers of two */
	size_t n_words;       /* x is 0, 1, ... and these stand below */
	const char *const *words;
	size_t n_panels;
	struct plot_panel *panels;
};

/* The script; it opens a window, or draws on the terminal that is set. */
void plot_script(FILE *to, const struct plot *p);

/* Panels that have something to show. */
size_t plot_panels(const struct plot *p);

/* What the name of a file asks for. */
enum plot_form { PLOT_UNKNOWN, PLOT_SCRIPT, PLOT_PNG, PLOT_SVG, PLOT_PDF };
enum plot_form plot_form_of(const char *path);

/* The script or the picture, as bytes of the arena; NULL with an error. */
const char *plot_draw(struct arena *a, struct diag *d, const struct plot *p, enum plot_form form, size_t *n);

#endif
