/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Levels of memory and the starting of kernels, as measured. */
#ifndef RIDGE_KERNEL_MEMORY_H
#define RIDGE_KERNEL_MEMORY_H

#include "ridge/hw.h"

/* Bytes per second of a loop over footprint_byte: between two plateaus the share that a level holds comes from it. */
double memory_rate(struct sheet *sh, const struct memory_calibration *m, double footprint_byte);
/* Seconds of one dependent load somewhere in footprint_byte. */
double memory_latency(struct sheet *sh, const struct memory_calibration *m, double footprint_byte);
/* Seconds that n_kernels empty kernels take, one after the other; `graph`: replayed as one graph. */
double launch_time(struct sheet *sh, const struct launch_calibration *l, double n_kernels, bool graph);

#endif
