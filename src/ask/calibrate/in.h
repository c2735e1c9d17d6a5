/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `ridge calibrate` works on: a GPU or host, an engine or the median of all, and their rows. */
#ifndef RIDGE_CALIBRATE_IN_H
#define RIDGE_CALIBRATE_IN_H

#include "cli/command.h"
#include "db/database.h"
#include "search/fit/calibrate.h"

#define CALIBRATE_OPTIONS(X)                                                                                           \
	X(0, files, NULL, "files", WORDS, "FILE", "file", NULL, "measurements; - is standard input")                   \
	X(0, gpu, "gpu", "gpu", WORD, "GPU", "gpu", NULL, "only the rows of this GPU")                                 \
	X(0, backend, "backend", "backend", WORD, "NAME", "trtllm|vllm|sglang", NULL,                                  \
	    "only the kernels of this engine (default: the median of all)")                                            \
	X(0, yaml, "yaml", "yaml", FLAG, "", "", NULL, "print the calibration file in place of the table")             \
	X(0, write, "write", "write", WORD, "DIR", "file", NULL,                                                       \
	    "write DIR/GPU.yaml, and DIR/GPU-ENGINE.yaml for each engine, of every GPU in the file")                   \
	X(0, install, "install", "install", FLAG, "", "", NULL,                                                        \
	    "write them where every later answer finds them: your own data directory")                                 \
	X(0, fresh, "fresh", "fresh", FLAG, "", "", NULL,                                                              \
	    "do not begin with what the database has of this GPU: the rows alone decide")                              \
	X(0, source, "source", "source", WORD, "TEXT", "", NULL, "who measured (default: the file's name)")            \
	X(0, date, "date", "date", WORD, "DATE", "", NULL, "when (default: the last date of the rows)")                \
	X(0, note, "note", "note", WORD, "TEXT", "", NULL, "more for the file's readers")                              \
	X(0, stack, "stack", "stack", WORD, "NAME", "", NULL,                                                          \
	    "the files are training steps that were measured: make them the training stack NAME")                      \
	X(0, engine, "engine", "engine", WORD, "NAME", "", NULL,                                                       \
	    "the files are serving runs that were measured: make them the serving engine NAME")                        \
	X(0, extends, "extends", "extends", WORD, "NAME", "stack", NULL,                                               \
	    "the stack or engine that NAME is like in all that is not fitted (default: unlisted; common)")

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

#endif
