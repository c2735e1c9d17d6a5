/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Targets of `ridge calibrate`: a GPU or host, one engine or the median of all, and their rows. */
#ifndef RIDGE_ASK_CALIBRATE_CALIBRATE_H
#define RIDGE_ASK_CALIBRATE_CALIBRATE_H

#include "ask/validate/validate.h"
#include "cli/cli.h"
#include "db/db.h"
#include "search/fit/fit.h"

#define CALIBRATE_OPTIONS(X)                                                                                           \
	X(0, files, NULL, "files", WORDS, "FILE", "file", NULL, "measurement files; - is standard input")              \
	X(0, gpu, "gpu", "gpu", WORD, "GPU", "gpu", NULL, "use only rows of this GPU")                                 \
	X(0, backend, "backend", "backend", WORD, "NAME", "trtllm|vllm|sglang", NULL,                                  \
	    "use only kernels of this engine (default: median of all engines)")                                        \
	X(0, yaml, "yaml", "yaml", FLAG, "", "", NULL, "print a calibration file instead of a table")                  \
	X(0, write, "write", "write", WORD, "DIR", "file", NULL,                                                       \
	    "write DIR/GPU.yaml, and DIR/GPU-ENGINE.yaml per engine, for every GPU in the files")                      \
	X(0, install, "install", "install", FLAG, "", "", NULL,                                                        \
	    "write them to your own data directory, where every later answer uses them")                               \
	X(0, fresh, "fresh", "fresh", FLAG, "", "", NULL,                                                              \
	    "fit from the rows alone, without the database's calibration as a start")                                  \
	X(0, source, "source", "source", WORD, "TEXT", "", NULL,                                                       \
	    "source of the measurements (default: the file name)")                                                     \
	X(0, date, "date", "date", WORD, "DATE", "", NULL,                                                             \
	    "date of the measurements (default: the last date in the rows)")                                           \
	X(0, note, "note", "note", WORD, "TEXT", "", NULL, "note to keep in the calibration file")                     \
	X(0, validate_with, "validate-with", "validate_with", WORD, "FILE", "file", NULL,                              \
	    "training steps of this machine: their error before and after")                                            \
	X(0, stack, "stack", "stack", WORD, "NAME", "", NULL,                                                          \
	    "fit the training stack NAME to measured training steps")                                                  \
	X(0, engine, "engine", "engine", WORD, "NAME", "", NULL,                                                       \
	    "fit the serving engine NAME to measured serving runs")                                                    \
	X(0, extends, "extends", "extends", WORD, "NAME", "stack", NULL,                                               \
	    "stack or engine to inherit everything else from (default: unlisted; common)")

struct calibrate_in {
	CALIBRATE_OPTIONS(OPTION_MEMBER)
};

/* One file of hwdb/calibration. */
struct calibrate_target {
	const char *id; /* h100-sxm5-80gb-vllm */
	struct fit_bench bench;
	struct calibration reference;
	struct fitted fitted;
	struct calibration_about about;
	int n_refused; /* classes with too few rows */
};

struct calibrate_targets {
	struct measurements rows;
	int n;
	struct calibrate_target *list;
};

/* Read the file and find the targets in it.  False with errors. */
bool calibrate_read(struct run *r, const struct calibrate_in *in, struct calibrate_targets *out);
/* Fit one.  False with an error when nothing could be fitted. */
bool calibrate_fit(struct run *r, const struct calibrate_in *in, struct calibrate_target *t);
/* Put the files where the options say.  False with an error. */
bool calibrate_store(struct run *r, const struct calibrate_in *in, const struct calibrate_targets *all);
/* The folder that the options name, or the user's own; NULL when nothing is to be written.  False with an error. */
bool calibrate_folder(struct run *r, const struct calibrate_in *in, enum entry_kind kind, const char **out);
/* One file that the answer leaves behind, with its folder, and the row that says so.  False with an error. */
bool calibrate_write_file(struct run *r, const char *path, const char *text);

/* The errors of measured training steps with the database as it is and with the new calibrations.  False with errors.
 */
bool calibrate_validate(struct run *r, const struct calibrate_in *in, const struct calibrate_targets *all);

/* `ridge calibrate --stack` and `--engine`: whole runs that somebody measured become a file of a framework or engine.
 */

enum answer calibrate_stack(struct run *r, const struct calibrate_in *in);
enum answer calibrate_engine(struct run *r, const struct calibrate_in *in);

/* --- what both share ------------------------------------------------------------------------------------- */

/* Rows of the files and why some were left out. */
struct own_rows {
	int n_read, n_used, n_left;
	const char *date; /* the last that a row names */
	int n_whys, room;
	struct own_why {
		const char *text, *lines;
		int n;
	} * whys;
};
/* Calls `each` for every row of every file, which returns why it leaves the row out, or NULL.  A file without one of
 * the columns (a NULL-ended list) is an error. */
bool own_read(struct run *r, const struct words *files, const char *const *columns, struct own_rows *out,
    const char *(*each)(void *context, const struct validate_row *row), void *context);
void own_warn(struct run *r, const struct own_rows *rows);
/* Fewer than `least` rows: an error that says what was left out. */
bool own_enough(struct run *r, struct word name, const struct own_rows *rows, int least);
/* A name that can be that of a file and of no other entry that it extends; `base` is what it extends. */
bool own_name(struct run *r, struct word name, enum entry_kind kind, const char *base);

/* The head of the file: name, what it extends, where the figures are from (cited as `runs`). */
const struct node *own_file(
    struct run *r, const struct calibrate_in *in, const char *name, const char *base, const struct own_rows *rows);
/* [value, low..high] in the unit that people write. */
const struct node *own_figure(struct arena *a, enum quantity q, double value, double low, double high);
const struct node *own_word(struct arena *a, const char *text);
const struct node *own_list(struct arena *a, const struct node *const *items, size_t n);
/* Printed, written to FOLDER/NAME.yaml or to the user's own directory, as the options say. */
bool own_store(
    struct run *r, const struct calibrate_in *in, enum entry_kind kind, const char *name, const struct node *file);

/* A number in base units, if it is one, as a row of this name; shown where there is an answer for it. */
void own_plain(struct run *r, const char *name, const struct answer_entry *answer, double value);
/* A fitted figure, and the errors before and after, as rows of the answer. */
void own_show_figure(struct run *r, int row, const char *key, const char *unit_name, double value, double low,
    double high, const char *note);
void own_show_errors(struct run *r, int row, const char *name, const struct fitted_errors *e);

#endif
