/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A command of every kind of option, for tests of the command line. */
#ifndef RIDGE_TESTS_TOY_H
#define RIDGE_TESTS_TOY_H

#include "cli/cli.h"

#define TOY_OPTIONS(X)                                                                                                 \
	X(0, model, "model", "model", WORD, "NAME", "model", NULL, "what the operand sets")                            \
	X('g', gpu, "gpu", "gpu", WORD, "NAME", "gpu", NULL, "an entry of the database")                               \
	X('b', batch, "batch", "batch", COUNT, "N", "", "1", "a count with a default")                                 \
	X(0, seq, "seq", "seq", COUNT, "N", "", NULL, "a count without")                                               \
	X(0, bandwidth, "bandwidth", "bandwidth", RATE, "RATE", "", NULL, "a rate")                                    \
	X(0, share, "share", "share", FRACTION, "X", "", "0.5", "a number")                                            \
	X(0, dtype, "dtype", "dtype", CHOICE, "TYPE", "fp16|bf16|fp8", "bf16", "one of three")                         \
	X(0, names, "names", "names", WORDS, "LIST", "", NULL, "several words")                                        \
	X('v', verbose, "verbose", "verbose", FLAG, "", "", NULL, "a flag")                                            \
	X('w', wide, "wide", "wide", FLAG, "", "", NULL, "another")                                                    \
	X(0, points, NULL, "points", NODE, "LIST", "", NULL, "a tree, from files only")                                \
	X(0, deep, NULL, "outer.deep", COUNT, "N", "", NULL, "only by its path")

struct toy_in {
	TOY_OPTIONS(OPTION_MEMBER)
	struct layout_in layout;
};

#define THIS struct toy_in
static const struct option toy_options[] = {TOY_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct layout_in
static const struct option toy_layout[] = {LAYOUT_OPTIONS(OPTION_ROW)};
#undef THIS
static const struct option_group toy_groups[] = {
    OPTION_GROUP(toy_options, 0), OPTION_GROUP(toy_layout, offsetof(struct toy_in, layout))};

static enum answer toy_run(struct run *r, const void *in);

static const struct command toy = {.name = "toy",
    .section = "The database",
    .summary = "tests the command line",
    .operands = "model names...",
    .usage = "[MODEL] [NAME...]",
    .groups = toy_groups,
    .n_groups = 2,
    .input_size = sizeof(struct toy_in),
    .run = toy_run};

#endif
