/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part `time` of a stack file. */
#ifndef RIDGE_DATA_STACK_TIME_H
#define RIDGE_DATA_STACK_TIME_H

#include "db/schema.h"
#include "ridge/stack_time.h"

/* Its rows lie in struct stack, member `time`. */
extern const struct schema stack_time_schema;
/* What every step needs is there; else an error at the map. */
bool stack_time_whole(struct binder *b, const struct node *map, const struct stack_time *t);

#endif
