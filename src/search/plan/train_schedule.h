/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pipeline schedules with a smaller bubble, for a job that waits for its pipeline. */
#ifndef RIDGE_ENGINE_TRAIN_SCHEDULE_H
#define RIDGE_ENGINE_TRAIN_SCHEDULE_H

#include "ridge/train_rules.h"
#include "search/plan/memory_fit.h"

enum { MOST_SCHEDULES = 3 };

/* A change of the schedule, as the options that make it, with the step and the memory that it gives. */
struct train_schedule {
	char change[160];
	double step_s, need_byte; /* need_byte: NaN without a rule of memory */
	enum verdict verdict;
};

/* The finest interleaving that divides the layers equally; the finest that fits where that does not; weight gradients
 * in the bubbles where the framework has such a schedule.  Only what makes the step shorter; returns how many.
 * `memory`: the same job, `modelled` when there is a rule for it. */
int train_schedules(const struct train_job *job, const struct memory_job *memory, bool modelled,
    struct train_schedule out[MOST_SCHEDULES]);

#endif
