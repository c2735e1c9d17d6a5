/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RIDGE_TESTS_LAW_SERVING_H
#define RIDGE_TESTS_LAW_SERVING_H

#include "base/base.h"
#include "model/serve/serve.h"

struct database;
struct servings;

struct servings *servings_new(struct arena *a, struct diag *d, struct database *db);
/* A replica that serves `decoder`, or a usual model where there is no serving model of that.  `engine` NULL: any. */
const struct serve_setup *serving_make(
    const struct servings *s, struct arena *a, unsigned seed, const struct workload *decoder, const char *engine);

#endif
