/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Help, manual sections and completion, all from the option and example rows. */
#ifndef RIDGE_HELP_H
#define RIDGE_HELP_H

#include "cli/arguments.h"

extern const struct command *const commands[];
extern const size_t n_commands;

const struct command *command_find(const char *name);

/* All commands with their questions. */
void help_overview(FILE *to);
/* Two examples, for a program called without anything to do. */
void help_short(FILE *to, const struct command *c);
void help_command(FILE *to, const struct command *c);
/* mdoc text of the OPTIONS or EXAMPLES section. */
void help_mdoc_options(FILE *to, const struct command *c);
void help_mdoc_examples(FILE *to, const struct command *c);
/* mdoc list of all commands, for ridge(1). */
void help_mdoc_commands(FILE *to);
/* Candidates for the last of the words, one per line. */
void help_complete(struct arena *a, FILE *to, int argc, char **argv);

#endif
