/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the next 10 % would pay: the step with one figure of machine or question changed. */
#ifndef RIDGE_ENGINE_TRAIN_GAIN_H
#define RIDGE_ENGINE_TRAIN_GAIN_H

#include "ridge/train_rules.h"

enum train_gain {
	GAIN_MEMORY,
	GAIN_ARITHMETIC,
	GAIN_LINK,
	GAIN_NETWORK,
	GAIN_MICRO_BATCH,
	GAIN_BATCH,
	GAIN_SEQUENCE,
	N_GAINS,
};
const char *train_gain_text(enum train_gain g);
/* Tokens per second over those of the job as it is; NaN where the change makes no sense. */
double train_gain(const struct train_job *job, enum train_gain g);

#endif
