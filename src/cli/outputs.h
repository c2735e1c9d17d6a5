/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files that an answer leaves behind: -o, --plot, --dump, --timeline, --predictions, calibrations.  What is written to
 * them is kept aside until the answer stands; then all of them are put in place, or none.
 */
#ifndef RIDGE_OUTPUTS_H
#define RIDGE_OUTPUTS_H

#include "base/arena.h"
#include "base/diag.h"
#include "db/tree.h"

struct words;

struct outputs;

struct outputs *outputs_new(struct arena *a);
/* No output that is begun from now on may be one of these: every word of the inputs that names a file, and the operands
 * as typed; the items of one word; one file. */
void outputs_guard(struct outputs *o, const struct node *inputs, const struct words *operands);
void outputs_guard_word(struct outputs *o, const char *text);
void outputs_guard_file(struct outputs *o, const char *name);

/* Begin a file.  NULL with an error when it is an input, or an output already, or has no name. */
FILE *outputs_open(struct outputs *o, struct diag *d, struct source at, const char *name);
/* The same with the folders above it, which are made when it is put in place. */
FILE *outputs_open_deep(struct outputs *o, struct diag *d, struct source at, const char *name);
/* How many were begun since the last commit or drop, and the name of one. */
size_t outputs_count(const struct outputs *o);
const char *outputs_name(const struct outputs *o, size_t i);

/* Put all in place: each is written beside its target, brought to the disk and renamed over it when the last one has
 * been written.  Interrupts wait meanwhile.  False with an error, and with no file changed. */
bool outputs_commit(struct outputs *o, struct diag *d);
/* Forget them. */
void outputs_drop(struct outputs *o);

#endif
