/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON text as a tree; every node stands at the place that is given, since the parser keeps none. */
#ifndef RIDGE_JSON_IN_H
#define RIDGE_JSON_IN_H

#include "db/tree.h"

const struct node *json_read(struct arena *a, struct diag *d, struct source at, const char *text, size_t length);

#endif
