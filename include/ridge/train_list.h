/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A training step of a list of operators: convolutional networks and recommenders.  An order of magnitude: each
 * operator by itself at what calibrated products and the memory reach, its backward pass twice the forward one,
 * gradients summed beside it.
 */
#ifndef RIDGE_TRAIN_LIST_H
#define RIDGE_TRAIN_LIST_H

#include "ridge/op.h"
#include "ridge/train.h"

struct train_list_job {
	const struct workload *model; /* MODEL_OPERATORS */
	struct train_machine machine;
	double n_gpus, n_samples; /* samples of one GPU */
	enum dtype dtype;
	bool tables_spread; /* embedding tables are split over the GPUs; else each has all of them */
};

struct train_list_terms {
	double products_s, other_s, tables_s; /* forward and backward */
	double exchange_s, reduce_s;          /* all-to-all of table rows; gradients, exposed */
	double optimizer_s, step_s;
};

/* Why this list has no time, or NULL. */
const char *train_list_lacks(const struct workload *w);
double train_list_step(struct sheet *sh, const struct train_list_job *job, struct train_list_terms *out);
double train_sample_rate(struct sheet *sh, double n_global_samples, double step_s);

#endif
