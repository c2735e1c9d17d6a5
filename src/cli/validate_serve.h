/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of published serving runs, in parts. */
#ifndef RIDGE_VALIDATE_SERVE_H
#define RIDGE_VALIDATE_SERVE_H

#include "cli/validate.h"
#include "engine/serve_answer.h"

/* The engine of a row's software, version and way of scheduling; NULL: none that is known.  `near` is set when only a
 * neighbour is known. */
const char *serve_row_engine(const struct validate_row *row, bool *near);
/* Types and bytes of weights, products and cache; else why they are not known. */
const char *serve_row_types(const struct validate_row *row, struct serve_parts *out);
/* GPUs of a replica, and how many replicas; else why not. */
const char *serve_row_layout(const struct validate_row *row, struct serve_parts *out, double *n_replicas);
/* Regime and load; else why there is none. */
const char *serve_row_load(const struct validate_row *row, const struct serve_parts *p, struct serve_question *out);

#endif
