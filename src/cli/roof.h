/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The machines that a roofline is asked about, and what is said of a point under their roofs. */
#ifndef RIDGE_ROOF_H
#define RIDGE_ROOF_H

#include "cli/command.h"
#include "ridge/roofline.h"

struct machine {
	const struct gpu *gpu;
	const struct calibration *calibration; /* NULL: none */
	struct datum peak;
};

struct roof {
	struct run *run;
	enum dtype dtype;
	size_t n;
	struct machine *machines;
};

/* An error without a place, and what to do; false. */
bool roof_refuse(struct run *r, const char *what, const char *hint);
/* GPUs by name, then their peaks for a type; faults are reported. */
bool roof_machines(struct roof *q, const struct words *names);
bool roof_peaks(struct roof *q, struct word dtype);

/* Lines of a point that the sheet's scope holds. */
void roof_show_place(struct sheet *sh, const struct point *p);
void roof_show_gains(struct sheet *sh, const struct point *p);
void roof_show_alignment(const struct roof *q, const struct op *op);
/* What fitted parameters say of a matrix product; `alone` for a single point, else a cell of a table. */
void roof_show_calibrated(
    const struct roof *q, const struct machine *m, const struct op *op, double roof_s, bool alone);
/* A measured time, if given: infeasible when it is above the roof. */
enum answer roof_show_measured(const struct roof *q, const struct machine *m, struct datum measured, double work_flop,
    double traffic_byte, double roof_s);
/* Bandwidths from memory to registers; peaks from unit counts. */
void roof_show_levels(const struct roof *q, const struct machine *m, double peak_flop_per_s);
void roof_show_units(const struct roof *q, const struct gpu *gpu);

#endif
