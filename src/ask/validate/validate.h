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
 * Compare measurements with predictions.  Each kind of file is a struct validate_kind in src/ask/validate/KIND.c and a
 * row of the table in validate.c; it recognizes its files by their columns and turns each row into a case.
 */

/* What was read and predicted so far. */
struct validation {
	struct run *run;
	const char *baseline[SCORE_BASELINES]; /* baselines printed with the prediction: `roof`; NULL: none */
	const char *bound, *safe;              /* heads of their columns, where a kind has such cases */
	const char *file;                      /* being read */
	size_t n, room;
	struct score_case *cases;
	bool draft; /* for derivatives: closed forms, else one simulation of each row */
	/* these serving rows alone, and those of these engines and architectures; NULL: all */
	bool (*wants_row)(void *context, const char *file, int line);
	bool (*wants)(void *context, const char *engine, const char *architecture);
	void *wants_context;
	struct plan_judge *judge;  /* layouts of training runs are judged instead; or NULL */
	struct serve_ranks *ranks; /* and the order of those of serving runs */
	bool progress;             /* somebody watches */
	bool unlisted;             /* peaks of unknown frameworks are predicted as unlisted */
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
    validate_recipes, validate_scaling, validate_serve, validate_specdec;
/* Rows of training runs that name layouts and may lack times, to be judged. */
bool train_read_layouts(struct validation *v, const struct validate_file *f);

/* Published training runs and peaks of memory: one reader. */

/* All stacks, read when the first row asks. */
struct published_stacks {
	bool unlisted; /* as struct validation has it */
	size_t n;
	const struct stack **list;
};

/* A row, and what was made of it: inputs of `ridge train` and `ridge memory`, and facts that decide defaults. */
struct published {
	struct arena *arena;
	struct run run; /* quiet */
	const struct validate_row *row;
	struct published_stacks *stacks;
	const struct node *inputs, *facts;
	const char *ran[3];        /* what is said of what ran */
	const struct stack *stack; /* NULL: no file knows it */
	const struct stack_match *match;
	double n_layers;
	bool infer;
	const char *warning; /* what had to be guessed */
};

/* Room for the inputs of a row. */
struct published_in {
	struct memory_in memory;
	struct training_in training;
	struct serving_in serving;
	struct numbers_in numbers;
	struct layout_in layout;
	struct train_in train;
};

/* What a row asks of the model of memory. */
enum wanted { WANT_PEAK, WANT_WEIGHTS, WANT_ACTIVATIONS, WANT_POOL, WANT_TOKENS };

struct published published_row(struct run *r, const struct validate_row *row, struct published_stacks *stacks);
/* Every cell by the vocabulary of words.c; else the word that is not in it. */
const char *published_words(struct published *p);
/* An input; a fact `COLUMN.NAME`, and as a number.  NULL and NaN: nothing says so. */
void published_set(struct published *p, const char *path, const char *text);
void published_number(struct published *p, const char *path, double value);
const char *published_input(const struct published *p, const char *path);
const char *published_fact(const struct published *p, const char *path);
double published_figure(const struct published *p, const char *path);
/* Year and month of the run, 202407; 0: not known. */
double published_month(const struct validate_row *row);
/* Finds p->stack, where any file's `match` holds; why such rows say nothing of it, or NULL. */
const char *published_find_stack(struct published *p, enum stack_use use);
const struct stack *published_stack_of(const struct published *p, const char *id);
/* The model with the row's shape, or a shape of the database's kind; else why there is none. */
const char *published_model(struct published *p);
/* Whether images went through the model, for which there is no description. */
bool published_sees(const struct published *p);
/* The counter named by the metric if the stack has it, else the usual one of this framework; NULL: the default. */
const char *published_counter(const struct published *p);
/* Recomputation, loss, offload and chunks of the pipeline, under the stack's names. */
void published_policies(struct published *p);
/* Bind the inputs in a separate run; false with its errors. */
bool published_ask(struct published *p, struct run *r, struct train_question *q);

/* Inputs of a row of peaks; else why there are none. */
const char *memory_row_ask(struct published *p, enum wanted *wanted);
/* Inputs of a training run; else why there are none. */
const char *train_row_ask(struct published *p, const struct gpu *gpu);
/* What it does not say, before it is bound and after; the latter says whether it must be bound again. */
void train_row_defaults(struct published *p, struct train_doubts *doubts);
bool train_row_fit(struct published *p, const struct train_bound *b, struct train_doubts *doubts);
/* Apply the row's nodes and network to the defaults. */
void train_row_network(struct published *p, const struct gpu *gpu);
/* What a training run says of memory, as one more case; none where it says nothing.  `why`: it has no inputs. */
void train_row_memory(struct validation *v, struct published *p, const char *why);

/* Rows of published serving runs. */

/* All engines, read when the first row asks. */
struct serve_engines {
	const struct engine **engines;
	size_t n;
};

/* The engine of a row's software, version, way of scheduling, date and GPU; the one that nobody measured for software
 * that is not known.  `near` is set when only a neighboring version is known. */
const struct engine *serve_row_engine(
    struct serve_engines *all, struct run *r, const struct validate_row *row, const struct gpu *gpu, bool *near);

/* One row as what is typed behind `ridge serve`, for one replica. */
enum { SERVE_ROW_WORDS = 48 };
struct serve_row {
	struct arena *arena;
	const struct validate_row *row;
	const struct workload *model;
	const struct gpu *gpu;
	const struct engine *engine;
	double n_gpus;              /* of all replicas */
	struct serve_layout layout; /* of one; tp 0 where only the number of GPUs is printed */
	/* disaggregated: `layout` is that of the replicas that prefill; n_decode 0: no pools */
	double n_prefill, n_decode;
	struct serve_layout decode;
	double isl, osl, isl_cv, osl_cv;
	double n_beams;      /* sequences of a request, of which one is the answer */
	const char *warning; /* what was assumed */
	char *words[SERVE_ROW_WORDS];
	int n_words;
	bool simulates; /* the run is finite and short */
};
/* Fill layout and lengths; else why the row cannot be asked. */
const char *serve_row_read(struct serve_row *q);
/* Replicas that are asked about one by one; pools are one. */
double serve_row_replicas(const struct serve_row *q);
const char *serve_row_say(struct serve_row *q);
/* The GPU as the database knows it, or as it is printed; NULL: none. */
const char *serve_row_gpu(struct arena *a, const struct validate_row *row);

/* What a benchmark told the engine, where its own tool chooses it; false: nothing beyond the engine's defaults. */
struct serve_limits {
	double n_sequences, n_tokens; /* running at once; of a step */
	bool chunked;                 /* a long prompt takes several steps */
};
bool serve_row_limits(const struct serve_row *q, struct serve_limits *out);

/* Ranks of published layouts against the predicted ones. */
struct serve_ranks;
struct serve_ranks *serve_ranks_new(struct run *r);
/* A row's rate, in `column`. */
void serve_ranks_row(
    struct serve_ranks *s, const struct serve_row *q, const char *column, double measured, double predicted);
/* As plan_judge_show. */
bool serve_ranks_show(const struct serve_ranks *s, size_t worst);

/* --- rows for fits --------------------------------------------------------------------------------------- */

/* Rows that are asked again and again, all of one engine, whatever software they name. */
struct serve_reader;
struct serve_reader *serve_reader_new(struct run *r, const struct engine *engine);
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

/* What is looked up once for all rows.  Faults of a row are reasons to skip it, not errors. */
struct train_reader;
struct train_reader *train_reader_new(struct run *r);
void train_reader_free(struct train_reader *x);

/* One row, in the columns of training runs. */
struct train_row {
	struct published published;
	const char *unread; /* why the row has no inputs */
	struct train_bound bound;
	struct train_answer answer;
	double measured_s;
};
/* Why there is no prediction, or NULL. */
const char *train_row_predict(struct train_reader *x, const struct validate_row *row, struct train_row *out);
/* The labels of a row; its step as a case; the case of a model that is a list of operators, false where it is none. */
void train_row_label(struct score_case *c, const struct validate_row *row, const char *kind);
struct score_case *train_row_case(
    struct validation *v, struct train_reader *x, const struct validate_row *row, const struct train_row *t);
bool train_list_case(struct validation *v, struct train_row *t);
/* The context length of a model; NaN: it is not known. */
double train_reader_context(struct train_reader *x, const char *model);
/* Published layouts against the best of a search. */
struct plan_judge;
struct plan_judge *plan_judge_new(struct validation *v);
/* `open`: the same run with its layout, micro-batch and recomputation left open. */
void plan_judge_row(struct plan_judge *j, const struct train_row *t, const struct train_bound *open);
/* A summary, and the `worst` of them.  False: there are none. */
bool plan_judge_show(struct plan_judge *j, size_t worst);
/* From now on every row is of this stack, whatever framework it names: for fits. */
void train_reader_stack(struct train_reader *x, const struct stack *stack);

#endif
