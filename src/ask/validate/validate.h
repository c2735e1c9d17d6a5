/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RIDGE_ASK_VALIDATE_VALIDATE_H
#define RIDGE_ASK_VALIDATE_VALIDATE_H

#include "ask/bind/bind.h"
#include "ask/train/train.h"
#include "import/import.h"
#include "model/memory/memory.h"
#include "search/plan/plan.h"
#include "search/stats/stats.h"

/*
 * Published or own measurements against predictions.  A kind of file is one struct validate_kind in a file of its own,
 * src/ask/validate/KIND.c, and one row of the table in validate.c: it knows its files by their columns, and makes a
 * case of each row.
 */

/* What was read and predicted so far. */
struct validation {
	struct run *run;
	const char *baseline[SCORE_BASELINES]; /* what stands beside the prediction: `roof`; NULL: nothing */
	const char *bound, *safe;              /* heads of their columns, where a kind has such cases */
	const char *file;                      /* being read */
	size_t n, room;
	struct score_case *cases;
	bool progress; /* somebody watches */
	double began_s;
};

/* A file in memory.  A CSV file's columns are its heads; n_heads is 0 for other files. */
struct validate_file {
	const char *name;
	char *text;
	size_t length;
	size_t n_heads;
	char **heads;
};

struct validate_kind {
	const char *name, *title;
	bool (*recognises)(const struct validate_file *f);
	/* Make cases of the rows.  False when the whole file is refused: diag has the error. */
	bool (*read)(struct validation *v, const struct validate_file *f);
};

/* --- for kinds ------------------------------------------------------------------------------------------- */

bool validate_has(const struct validate_file *f, const char *column);
/* An empty case of `all`, to be filled; the pointer holds until the next one. */
struct score_case *validation_add(struct validation *v, int line, const char *unit);
/* The row is left out.  Reasons are counted, so they name no numbers. */
struct score_case *validation_skip(struct validation *v, int line, const char *why);
/* How far it is; a file of many rows says so now and then. */
void validation_progress(const struct validation *v, size_t done, size_t all);

/* The run of one row: its faults are reasons to leave the row out, not errors.  Without a sheet. */
struct run run_quiet(const struct run *r);
/* The first error of a quiet run. */
const char *run_refusal(const struct run *quiet);

/* Rows of a CSV file by the names of its columns. */
struct validate_row {
	const struct validate_file *file;
	const struct table *table;
	size_t line;
};
/* Calls `each` for every row of a table; `each` makes one case, or skips it. */
bool validation_rows(struct validation *v, const struct validate_file *f,
    void (*each)(struct validation *v, const struct validate_row *row, void *context), void *context);
/* The cell's text, NULL where there is none. */
const char *row_text(const struct validate_row *row, const char *column);
/* The cell's number, NaN where there is none or it is no number. */
double row_number(const struct validate_row *row, const char *column);
struct datum row_datum(const struct validate_row *row, const char *column);
/* Whether the cell has this piece of text, or is this text; false where there is none. */
bool row_has(const struct validate_row *row, const char *column, const char *piece);
bool row_is(const struct validate_row *row, const char *column, const char *text);
/* The first entry of a table whose word the cell has; entries begin with the word.  NULL: none. */
const void *row_find(const struct validate_row *row, const char *column, const void *table, size_t n, size_t size);
#define ROW_FIND(row, column, table)                                                                                   \
	row_find((row), (column), (table), sizeof(table) / sizeof *(table), sizeof *(table))
int row_line(const struct validate_row *row);

/* Groups of a case by the columns that name them; of several columns of one group the first that is not empty. */
struct row_label {
	enum score_by by;
	const char *column;
};
void row_labels(struct score_case *c, const struct validate_row *row, const struct row_label *labels, size_t n);

/* Read the files, make the cases.  False with errors. */
bool validation_read(struct validation *v, const struct words *files);
/* Errors on runs that were left out of the fit. */
void show_cross(struct run *r);
/* One row per case as CSV.  False with errors. */
bool validation_write(const struct validation *v, struct word file);

extern const struct validate_kind validate_measurements, validate_comm, validate_memory, validate_train,
    validate_scaling, validate_serve, validate_specdec;

/* From a row of published memory to the inputs of `ridge memory`. */

/* What a row asks of the model of memory. */
enum wanted { WANT_PEAK, WANT_WEIGHTS, WANT_ACTIVATIONS, WANT_POOL, WANT_TOKENS };

struct memory_framework;

struct memory_row {
	struct arena *arena;
	const struct validate_row *row;
	const struct memory_framework *framework;
	const struct node *inputs;
	enum wanted wanted;
	bool infer;
	const char *warning; /* what had to be guessed */
};

/* Fill the inputs of q->row; else why there are none. */
const char *memory_row_ask(struct memory_row *q);
/* The same of a training run that prints its peak, or (`bound`) that did not fit; `rank0`: of the first rank alone. */
const char *memory_run_ask(struct memory_row *q, bool bound, bool *rank0);
/* Whether the tables of a row's framework print GB and mean GiB. */
bool memory_row_is_binary(const struct validate_row *row);
/* What a training run says of memory, as one more case; none where it says nothing. */
void train_row_memory(struct validation *v, const struct validate_row *row);

/* Rows of published serving runs. */

/* All engines, read when the first row asks. */
struct serve_engines {
	const struct engine **engines;
	size_t n;
};

/* The engine of a row's software, version, way of scheduling and date; the one that nobody measured for software that
 * is not known.  `near` is set when only a neighboring version is known. */
const struct engine *serve_row_engine(
    struct serve_engines *all, struct run *r, const struct validate_row *row, bool *near);
/* Types and bytes of weights, products and cache; else why they are not known. */
const char *serve_row_types(const struct validate_row *row, struct serve_parts *out);
/* The layout of a replica, and all GPUs; tp 0 where only their number is printed.  Else why not. */
const char *serve_row_layout(const struct validate_row *row, struct serve_parts *out, double *n_gpus);
/* How lengths vary: coefficients of variation. */
struct serve_spread {
	double isl_cv, osl_cv;
};
/* Means of a data set vary, lengths that somebody chose do not. */
struct serve_spread serve_row_spread(const struct validate_row *row, const struct serve_load *load);
/* Regime and load; else why there is none.  *warning is set where lengths were assumed. */
const char *serve_row_load(
    const struct validate_row *row, const struct serve_parts *p, struct serve_question *out, const char **warning);

/* --- rows for fits --------------------------------------------------------------------------------------- */

/* Rows that are asked again and again, all of one engine, whatever software they name. */
struct serve_reader;
struct serve_reader *serve_reader_new(struct run *r, const struct engine *engine);
void serve_reader_free(struct serve_reader *x);
/* One row as a question; else why it is none.  The row's table must live as long. */
struct serve_reading;
const char *serve_reader_ask(struct serve_reader *x, const struct validate_row *row, struct serve_reading **out);
/* What it has measured and what the engine's constants predict, as times: a rate is the time of one.  Of `engine` only
 * what a step costs beside kernels may differ from the reader's.  Returns how many, at most SERVE_READING_MOST. */
enum { SERVE_READING_MOST = 16 };
struct serve_time {
	const char *column, *kind; /* of the residual: offline, online, batch1 */
	double measured_s, predicted_s;
};
int serve_reading_times(struct serve_reading *s, const struct engine *engine, struct serve_time *out);
/* Its tensor-parallel GPUs. */
double serve_reading_ranks(const struct serve_reading *s);

/* Rows of published training runs. */

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

/* One row, in the columns of training runs. */
struct train_row {
	struct train_bound bound;
	struct train_answer answer;
	double measured_s;
};
/* Why there is no prediction, or NULL. */
const char *train_row_predict(struct train_reader *x, const struct validate_row *row, struct train_row *out);
/* From now on every row is of this stack, whatever framework it names: for fits. */
void train_reader_stack(struct train_reader *x, const struct stack *stack);

#endif
