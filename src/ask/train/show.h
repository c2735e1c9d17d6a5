/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a training step comes to, row by row. */
#ifndef RIDGE_TRAIN_SHOW_H
#define RIDGE_TRAIN_SHOW_H

#include "ask/bind/interval.h"
#include "ask/train/in.h"

/* The step, its parts, rates and utilisation; returns seconds. */
double show_train_step(
    struct run *r, const struct train_question *q, const struct train_bound *b, struct train_answer *a);
/* The 80 % interval of its seconds. */
struct interval train_interval(struct run *r, const struct train_bound *b, const struct train_answer *a);
/* What the next 10 % of each would give. */
void show_train_gains(struct run *r, const struct train_answer *a);
/* Schedules with a smaller bubble, where the bubble is a good part of the step. */
void show_train_schedules(
    struct run *r, const struct train_question *q, const struct train_bound *b, const struct train_answer *a);
/* Whether what is said of a whole run is whole; false with errors. */
bool train_run_is_whole(struct run *r, const struct train_in *in, double n_gpus);
/* Days, GPU hours, money, energy, goodput. */
void show_train_run(struct run *r, const struct train_question *q, const struct train_bound *b,
    const struct train_answer *a, double step_s);
/* Memory of the same layout; ANSWERED_NO when it does not fit. */
enum answer show_train_memory(struct run *r, const struct train_question *q, const struct train_bound *b);
/* Convolutional networks and recommenders: lists of operators. */
bool train_is_list(struct run *r, const struct train_question *q);
enum answer answer_train_list(struct run *r, const struct train_question *q);
/* Warnings of train_rules.h, and what was assumed. */
void show_train_doubts(struct run *r, const struct train_bound *b, const struct train_answer *a);

#endif
