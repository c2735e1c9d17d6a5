/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RIDGE_IMPORT_IMPORT_H
#define RIDGE_IMPORT_IMPORT_H

#include "base/base.h"
#include "db/db.h"
#include "db/tree.h"
#include "model/hw/hw.h"
#include "search/simulate/simulate.h"

/*
 * Import of Hugging Face configurations (`config.json`) as model files.  Each model_type is a row of hf.def,
 * with a fixture in tests/fixtures/hf.
 */

/* Remarks for the user: fields that took their family's documented default, and notes. */
struct hf_notes {
	size_t n_assumed, n_remarks;
	const char **assumed, **remarks;
};

/* True if a map is a Hugging Face configuration rather than a model file. */
bool hf_is_config(const struct node *root);

/* Convert a configuration to a model file whose numbers keep their places; NULL on errors. */
const struct node *hf_import(struct arena *a, struct diag *d, const struct node *config, struct hf_notes *notes);

/* All model types of the table, in its order. */
const char **hf_types(struct arena *a, size_t *n);

/* JSON text as a tree; every node stands at the place that is given, since the parser keeps none. */

const struct node *json_read(struct arena *a, struct diag *d, struct source at, const char *text, size_t length);

/*
 * Measurement files: JSON Lines or CSV with the columns of ridge/measurement.def, and what other benchmarks print.  The
 * kind of file is told from its content.
 *
 * Unusable rows are skipped and counted by reason; a file without usable rows is refused.
 */

/* Hints for what a file leaves out; the file takes precedence. */
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

/* True if this text looks like a measurement file. */
bool measurements_are_in(const char *text, size_t length);

/* `12 rows left out: the GPU 'x' is not in the database (the first is line 7)`, of reason i. */
const char *measurements_skip_text(struct arena *a, const struct measurements *m, int i);

/*
 * Files of numbers: CSV, or lines of numbers, or a list in YAML or JSON, as a table of texts with their places.
 *
 * Cells are kept apart by commas, semicolons, tabs or blanks, whichever stands in the first line; quotes are those of
 * RFC 4180; lines that begin with # and empty ones are left out.  A first line that begins with a letter names the
 * columns; a name may end in a unit, `time [ms]`, which numbers without one then have.
 */

struct cell {
	const char *text; /* NULL: nothing stands there */
	struct source at;
};

struct table {
	size_t n_columns, n_lines;
	const char **heads;       /* names of columns, without their units; NULL where there are none */
	const struct cell *cells; /* line by line */
	const struct node *root;  /* of YAML and JSON: what stands beside the list; else NULL */
};

/* Read a file, `-` is standard input.  In YAML and JSON the table is the file's list, or the list at `key`.  False with
 * errors. */
bool table_read_file(struct arena *a, struct diag *d, const char *path, const char *key, struct table *out);
/* The same of CSV text that came from `name`. */
bool table_read_text(
    struct arena *a, struct diag *d, const char *name, const char *text, size_t length, struct table *out);
/* A list of a tree: maps (columns by name) or scalars (one column). */
bool table_of_list(struct arena *a, struct diag *d, const struct node *list, struct table *out);

/* The column with this name, whatever its case and punctuation; n_columns when there is none. */
size_t table_column(const struct table *t, const char *name);
const struct cell *table_cell(const struct table *t, size_t line, size_t column);

/*
 * Traces of requests.  CSV with a column each for arrival, input and output under their usual names (`arrival`,
 * `TIMESTAMP`; `input`, `isl`, `ContextTokens`; `output`, `osl`, `GeneratedTokens` ...), or without a header in this
 * order; an arrival is seconds, `arrival [ms]`, or a date with a time of day.  Or JSON Lines: {"arrival": s, "input",
 * "output"}, or Mooncake's {"timestamp": ms, "input_length", "output_length", "hash_ids": []}.
 */

struct trace {
	size_t n;
	struct sim_arrival *requests; /* the first arrives at 0 */
	bool hashed;                  /* it says which blocks of prompts are alike */
};

/* Read a file, `-` is standard input.  With prefix_block tokens to a hashed block, above 0, prompts find the blocks
 * that earlier ones left in a cache without limit.  False with errors that name the rows. */
bool trace_read(struct arena *a, struct diag *d, const char *path, uint32_t prefix_block, struct trace *out);

#endif
