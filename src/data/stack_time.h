/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part `time` of a stack file. */
#ifndef RIDGE_DATA_STACK_TIME_H
#define RIDGE_DATA_STACK_TIME_H

#include "data/schema.h"

/* Its rows lie in struct stack, member `time`. */
extern const struct schema stack_time_schema;

#endif
