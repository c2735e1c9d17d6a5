/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of published training runs, in parts. */
#ifndef RIDGE_VALIDATE_TRAIN_H
#define RIDGE_VALIDATE_TRAIN_H

#include "ask/train/in.h"
#include "ask/validate/validate.h"

/* All stacks, read once. */
struct train_stacks {
	size_t n;
	const struct stack **stacks;
};
/* The stack of a row's source, software, precision and date; `refused`: why the row says nothing of it, or NULL. */
const char *train_row_stack(
    struct train_stacks *all, struct run *r, const struct validate_row *row, const char **refused);
/* Its precision; else why there is none. */
const char *train_row_precision(const struct validate_row *row, int generation, enum dtype *out, bool *rowwise);
/* What the row says of nodes and their network, over what is usual. */
void train_row_machine(const struct validate_row *row, struct train_machine *m);
/* The model (NULL: the database has none of its name) with what the row says of its shape; NULL where that does not
 * suffice. */
const struct workload *train_row_model(struct arena *a, const struct validate_row *row, const struct workload *w);
/* Layout, batch and policies; else why the row cannot be asked. */
const char *train_row_ask(struct arena *a, const struct validate_row *row, struct train_ask *ask);

/* What is looked up once for all rows.  Faults of a row are reasons to skip it, not errors. */
struct train_reader;
struct train_reader *train_reader_new(struct run *r);
void train_reader_free(struct train_reader *x);
/* Tokens that a model of this name was made for; NaN: not known. */
double train_reader_context(struct train_reader *x, const char *model);

/* One row, in the columns of training runs. */
struct train_row {
	struct train_bound bound;
	struct train_answer answer;
	double measured_s;
};
/* Why there is no prediction, or NULL. */
const char *train_row_predict(struct train_reader *x, const struct validate_row *row, struct train_row *out);
/* What the row is grouped by; a case of the step. */
void train_row_label(struct score_case *c, const struct validate_row *row, const char *kind);
struct score_case *train_row_case(
    struct validation *v, struct train_reader *x, const struct validate_row *row, int line, const struct train_row *t);

/* What the row says of memory, as one more case; none where it says nothing. */
void train_row_memory(struct validation *v, const struct validate_row *row);

/* From now on every row is of this stack, whatever framework it names: for fits. */
void train_reader_stack(struct train_reader *x, const struct stack *stack);

#endif
