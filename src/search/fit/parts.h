/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to this folder. */
#ifndef RIDGE_SEARCH_FIT_PARTS_H
#define RIDGE_SEARCH_FIT_PARTS_H

#include "db/tree.h"
#include "search/fit/fit.h"

/* A file with its fractions referring to these figures in place of its own `relative_to`: the rates stay the same. */
const struct node *calibration_rebase(struct arena *a, const struct node *file, const struct node *relative_to);
/* The text of a file's tree. */
char *calibration_layout(struct arena *a, const struct node *root);

#endif
