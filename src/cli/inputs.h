/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a tree of inputs (options, --set, job file) to the command's struct, checked by the option rows. */
#ifndef RIDGE_INPUTS_H
#define RIDGE_INPUTS_H

#include "cli/arguments.h"
#include "db/tree.h"

/* A map with its dotted keys, and a layout in one word, taken apart. */
const struct node *inputs_spread(struct arena *a, struct diag *d, const struct command *c, const struct node *map);

/* The tree of a command line: the job's inputs (or NULL), then --set, then options. */
const struct node *inputs_tree(
    struct arena *a, struct diag *d, const struct command *c, const struct node *job, const struct arguments *args);

/* The input path that a name on the command line means: an option's name or a path. */
const char *inputs_path(const struct command *c, const char *name);

/* Fill the command's input struct; absent paths take their defaults.  False with all faults in d. */
bool inputs_bind(struct arena *a, struct diag *d, const struct command *c, const struct node *tree, void *out);

/* What a path of a tree of inputs is to this command. */
enum input_place {
	INPUT_ABOUT,   /* of the file itself: format, name, notes */
	INPUT_HERE,    /* an input, or a figure laid over an entry of the database */
	INPUT_ABOVE,   /* a map with inputs in it */
	INPUT_UNKNOWN, /* none */
};
enum input_place inputs_place(const struct command *c, const char *path, const struct node *item);

/* Check the value at this path of the tree, which a sweep or a search will replace.  True where there is none. */
bool inputs_check(struct arena *a, struct diag *d, const struct command *c, const struct node *tree, const char *path);

/* What an entity's inputs lay over its file: the map at `path` without `name` and without paths that are options. */
const struct node *inputs_overlay(struct arena *a, const struct command *c, const struct node *tree, const char *path);

/* Kinds of entries that inputs may lay figures over, by the paths that name them. */
extern const char *const input_entities[];
extern const size_t n_input_entities;

/* The place of numbers that nobody gave. */
extern const char inputs_default[];

#endif
