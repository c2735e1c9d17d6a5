/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Training jobs for the law test: frameworks and fitted GPUs of the database around a model. */
#ifndef RIDGE_TESTS_LAW_TRAINING_H
#define RIDGE_TESTS_LAW_TRAINING_H

#include "law/law.h"

#include "db/db.h"
#include "model/train/train.h"

struct trainings;
struct trainings *trainings_new(struct arena *a, struct diag *d, struct database *db);
/* A job of one of the models whose layers have a time. */
const struct train_job *training_make(const struct trainings *t, struct arena *a, unsigned seed);
/* A block with experts. */
const struct block *training_routed(const struct trainings *t, unsigned seed);

#endif
