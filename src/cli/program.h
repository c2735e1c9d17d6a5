/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of the program share: one run of it. */
#ifndef RIDGE_PROGRAM_H
#define RIDGE_PROGRAM_H

#include "cli/question.h"
#include "cli/ridge.h"

enum { STATUS_FAILED = 3 };

struct program {
	struct arena *arena;
	struct diag *diag;
	FILE *page; /* help: printed when the whole of it is known */
	const struct command *command;
	struct arguments args;
	struct question question;
	sheet_inspector *inspect;
};

bool output_colour(const struct program *p, int fd);
/* Write the answer as a whole; returns the exit status that this leaves: 0, or STATUS_FAILED. */
/* To the -o file if there is one, else to standard output. */
int output_write(struct program *p, const char *text, size_t n);
int output_file(struct program *p, const char *name, const char *text, size_t n);
int output_stdout(struct diag *d, const char *text, size_t n);
/* A stream into memory; never NULL. */
FILE *output_memory(char **text, size_t *n);
struct texts output_texts(struct arena *a, const struct words *words);
/* A report without points, as the options want it. */
struct report output_report_of(struct program *p);
/* Print in the form that was asked for; returns the exit status, `status` when all went well. */
int output_report(struct program *p, const struct report *r, int status);
bool output_wants_document(const struct arguments *args, const char *document);

/* --plot: the plot of one answer (NULL: it has none), or of a sweep; 0, or the exit status that this leaves. */
int program_plot(struct program *p, const struct plot *plot);
int program_plot_sweep(struct program *p, const struct report *r);
/* Is the file's name one that can be drawn to? */
bool program_plot_name(struct program *p);

/* Show a sheet to whoever looks before it goes. */
void program_inspect(const struct program *p, const struct sheet *sh);

/* Each answers what was asked and returns the exit status. */
int program_sweep(struct program *p, const struct node *inputs);
int program_lines(struct program *p, const struct node *base);
/* The first operand may be a job: a file that says `command:`, or the name of one in the database.  False on faults. */
bool program_job(struct program *p, const struct node **job);

#endif
