/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Times of matrix products by shape: layouts that a search tries share most of theirs.  One cache belongs to one set of
 * kernel parameters and one thread.
 */
#ifndef RIDGE_ENGINE_TRAIN_CACHE_H
#define RIDGE_ENGINE_TRAIN_CACHE_H

#include "base/arena.h"
#include "ridge/train_rules.h"

struct train_memo *train_memo_new(struct arena *a, const struct calibration *kernels);
/* For struct train_job, members `gemm` and `memo`. */
double train_memo_gemm(struct train_memo *memo, const struct gemm_shape *shape, enum dtype t);
/* The job's products from this cache. */
void train_memo_use(struct train_memo *memo, struct train_job *job);

/* Rejection by arithmetic and rough memory, then time: for searches.  True when `t` was filled. */
bool train_predict(const struct train_job *job, double card_byte, struct train_terms *t);
/* A floor of the memory of one GPU: states and the activations that no policy drops. */
double train_memory_floor(const struct train_job *job);

#endif
