/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of published training runs, in parts. */
#ifndef RIDGE_VALIDATE_TRAIN_H
#define RIDGE_VALIDATE_TRAIN_H

#include "cli/train_in.h"
#include "cli/validate.h"

/* The stack of a row's software and date, and its attention kernel where that differs; NULL: none that is known. */
const char *train_row_stack(const struct validate_row *row, enum attention_form *attention);
/* Its precision; else why there is none. */
const char *train_row_precision(const struct validate_row *row, enum dtype *out, bool *rowwise);
/* What the row says of nodes and their network, over what is usual. */
void train_row_machine(const struct validate_row *row, struct train_machine *m);
/* The model with what the row says of its shape; NULL where the two cannot be brought together. */
const struct workload *train_row_model(struct arena *a, const struct validate_row *row, const struct workload *w);
/* Layout, batch and policies; else why the row cannot be asked. */
const char *train_row_ask(const struct validate_row *row, struct train_ask *ask);

#endif
