/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Measurement files: JSON Lines or CSV with the columns of ridge/measurement.def, and what other benchmarks print.  The
 * kind of file is told from its content.
 *
 * A row that cannot be used is left out and counted with its reason; a file without one usable row is refused.
 */
#ifndef RIDGE_DATA_MEASUREMENT_H
#define RIDGE_DATA_MEASUREMENT_H

#include "base/arena.h"
#include "base/diag.h"
#include "db/database.h"
#include "ridge/measurement.h"

/* What a file may leave unsaid; it wins over this where it does say it. */
struct measurement_hints {
	const char *gpu;         /* id in the database */
	const char *collective;  /* all_gather: tables of nccl-tests do not name it */
	double n_ranks, n_nodes; /* 0: not known */
};

/* Read a file, `-` is standard input.  `db` resolves the names of GPUs; NULL keeps them as they are written.  `hints`
 * may be NULL.  False with errors. */
bool measurements_read_with(struct arena *a, struct diag *d, const char *path, struct database *db,
    const struct measurement_hints *hints, struct measurements *out);
bool measurements_read(
    struct arena *a, struct diag *d, const char *path, struct database *db, struct measurements *out);
/* The same of text that came from `name`. */
bool measurements_read_text(struct arena *a, struct diag *d, const char *name, const char *text, size_t length,
    struct database *db, const struct measurement_hints *hints, struct measurements *out);

/* Does this text look like a measurement file? */
bool measurements_are_in(const char *text, size_t length);

/* `12 rows left out: the GPU 'x' is not in the database (the first is line 7)`, of reason i. */
const char *measurements_skip_text(struct arena *a, const struct measurements *m, int i);

#endif
