/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The roofline as people draw it: attainable arithmetic over intensity, both logarithmic, and points below the roof. */
#ifndef RIDGE_ROOF_PLOT_H
#define RIDGE_ROOF_PLOT_H

#include "ask/roofline/roof.h"
#include "report/plot.h"

struct roof_line {
	const char *name;
	double peak_flop_per_s, mem_byte_per_s;
};

struct roof_marks {
	const char *name; /* of the series */
	size_t n;
	double *intensity_flop_per_byte, *flop_per_s;
	const char **names; /* NULL: none */
};

const struct plot *roof_plot(struct arena *a, const char *title, const struct roof_line *lines, size_t n_lines,
    const struct roof_marks *marks, size_t n_marks);
/* The plot of what the sheet holds: the roofs of the machines, and every point that was shown. */
const struct plot *roof_plot_sheet(const struct roof *q);

#endif
