/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The machines that a roofline is asked about, and what is said of a point under their roofs. */
#ifndef RIDGE_ROOF_H
#define RIDGE_ROOF_H

#include "cli/command.h"
#include "ridge/kernel_op.h"
#include "ridge/roofline.h"

struct machine {
	const struct gpu *gpu;
	const struct calibration *calibration; /* fitted to this GPU, the median of the engines; NULL: none */
	const struct calibration *engine;      /* the same of --backend */
	const struct calibration *kernels;     /* all kernels, another GPU's where this one has none */
	bool one_engine;                       /* --backend was given */
	struct datum peak;
	struct kernel_machine kernel; /* of the type that was asked for */
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
bool roof_machines(struct roof *q, const struct words *names, struct word backend);
/* What was fitted for the kernels of a machine, or transferred to it. */
void roof_fits(const struct roof *q, struct machine *m, struct word backend);
bool roof_peaks(struct roof *q, struct word dtype);

/* Lines of a point that the sheet's scope holds. */
void roof_show_place(struct sheet *sh, const struct point *p);
void roof_show_gains(struct sheet *sh, const struct point *p);
/* Whether a product is aligned, with a warning where its calibration is of those that are; and the same of a list. */
void roof_show_alignment(const struct roof *q, const struct machine *m, const struct op *op);
void roof_warn_alignment(const struct roof *q, const struct machine *m, const struct op *ops, int n, double list_s);
/* What fitted parameters say of an operator; `alone` for a single point, else a cell of a table. */
void roof_show_calibrated(
    const struct roof *q, const struct machine *m, const struct op *op, double roof_s, bool alone);
/* The sum of a list, one after the other; what has no kernel stands at its roof and is named. */
void roof_show_calibrated_list(
    const struct roof *q, const struct machine *m, const struct op *ops, int n, double list_s);
/* A measured time, if given: infeasible when it is above the roof. */
enum answer roof_show_measured(const struct roof *q, const struct machine *m, struct datum measured, double work_flop,
    double traffic_byte, double roof_s);
/* Bandwidths from memory to registers; peaks from unit counts. */
void roof_show_levels(const struct roof *q, const struct machine *m, double peak_flop_per_s);
void roof_show_units(const struct roof *q, const struct gpu *gpu);

#endif
