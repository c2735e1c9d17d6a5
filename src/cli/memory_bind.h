/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The two halves of binding a memory job. */
#ifndef RIDGE_MEMORY_BIND_H
#define RIDGE_MEMORY_BIND_H

#include "cli/memory_in.h"

/* A value that nobody gave: it is listed under `assumed` when it is used. */
struct datum memory_default(double value);
/* An error with its way out; always false. */
bool memory_refuse(struct run *r, struct source at, const char *what, const char *hint);

bool memory_bind_precision(
    struct run *r, const struct memory_question *q, const struct gpu *gpu, struct memory_job *job);
bool memory_bind_training(struct run *r, const struct training_in *in, struct memory_job *job);
bool memory_bind_serving(struct run *r, const struct memory_question *q, struct memory_job *job);

#endif
