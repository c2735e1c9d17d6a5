/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The two halves of binding a memory job. */
#ifndef RIDGE_MEMORY_BIND_H
#define RIDGE_MEMORY_BIND_H

#include "ask/memory/in.h"
#include "ridge/engine.h"

/* A value that nobody gave: it is listed under `assumed` when it is used. */
struct datum memory_default(double value);
/* An error with its way out; always false. */
bool memory_refuse(struct run *r, struct source at, const char *what, const char *hint);
/* No rule for this job: such an error, or the reason where the question takes it; true there. */
bool memory_no_rule(
    struct run *r, const struct memory_question *q, struct source at, const char *what, const char *hint);

/* False with an error when --infer and --use train are both said. */
bool memory_says_use(struct run *r, const struct memory_in *in);

bool memory_bind_precision(
    struct run *r, const struct memory_question *q, const struct gpu *gpu, struct memory_job *job);
bool memory_bind_training(struct run *r, const struct memory_question *q, struct memory_job *job);
bool memory_bind_serving(struct run *r, const struct memory_question *q, const struct gpu *gpu,
    const struct engine *engine, struct memory_job *job);

#endif
