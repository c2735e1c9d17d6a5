/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory model asked many times: what fits, and which change would make it fit. */
#ifndef RIDGE_MEMORY_FIT_H
#define RIDGE_MEMORY_FIT_H

#include "ridge/memory.h"

/* A change to a job, as the options that make it, and what it comes to. */
struct memory_fix {
	char change[160];
	struct memory_job job;
	double need_byte, n_gpus;
	enum verdict verdict;
};

/* GPUs of a layout. */
double fit_gpus(const struct layout *l);
/* `tp=8,dp=4,zero=1,sp`: as --layout takes it, with all that its framework would do otherwise where it is left out. */
void fit_layout_text(const struct memory_job *job, char *buf, size_t size);

/* The largest micro-batch, and the longest sequence in steps of the layout, that fit; 0 when none does. */
double fit_largest_batch(const struct memory_job *job);
double fit_longest_sequence(const struct memory_job *job);
/* The fewest GPUs that the same job fits on, with the layout; false when no layout up to 16384 GPUs does.  Tensor
 * parallelism stays within n_node GPUs. */
bool fit_fewest_gpus(const struct memory_job *job, double n_node, struct memory_fix *out);
/* Changes that make it fit, nearest first, single ones before pairs; those that fit on the same GPUs come before those
 * that need more.  Returns how many. */
int fit_fixes(const struct memory_job *job, double n_node, struct memory_fix *out, int most);

/* The same questions for bare numbers under a limit. */
double numbers_largest_batch(const struct memory_numbers *in, double limit_byte);
double numbers_fewest_gpus(const struct memory_numbers *in, double limit_byte);

#endif
