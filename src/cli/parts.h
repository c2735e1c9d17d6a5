/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RIDGE_CLI_PARTS_H
#define RIDGE_CLI_PARTS_H

#include "cli/cli.h"
#include "db/db.h"
#include "report/report.h"

/* Shared by the files of this folder.  A question is one query: its inputs bound, run on a sheet, kept for a report. */

struct question {
	struct arena *arena;
	struct diag *diag;
	struct database *database;
	const struct command *command;
	struct words files; /* operands as typed */
	bool draws;         /* a plot of the answer is wanted */
	bool swept;         /* one answer of several */
	struct outputs *outputs;
	const struct foreign_job *foreign; /* the job that the inputs come from is of another command, or NULL */
};

struct foreign_job {
	const struct node *job;
	const char *command;
	struct words left;                    /* its inputs that this command has not */
	const char *file, *unread, *unmapped; /* of --from: options without a rule, and what no input takes; or NULL */
	struct launch_claims claims;
};

struct answered {
	enum answer status;
	struct sheet *sheet; /* the caller frees it */
	const char *title, *document;
	const struct plot *plot;
	struct assumptions assumed;
	struct words warnings;
	const struct reads *reads; /* NULL: the command does not say what it reads */
};

/* The question with its own memory, faults and files: a point of a sweep, a line, a probe. */
struct question question_apart(const struct question *q, struct arena *a, struct diag *d, struct outputs *o);

/* Ask once with these inputs. */
struct answered question_ask(const struct question *q, const struct node *inputs);

/* Whether everything that was given was read by this answer; else it is refused, with errors. */
bool question_accepts(const struct question *q, const struct answered *a);

/* Words of many answers, each once: points that each warn of their own number would fill the screen. */
void question_merge(struct arena *a, struct words *into, const struct words *from);
void question_merge_assumed(struct arena *a, struct assumptions *into, const struct assumptions *from);

/* The inputs as a report lists them. */
struct asked_input *question_inputs(const struct question *q, const struct node *inputs, size_t *n);

/* --solve: the inputs with the solved value in place. */
struct solution {
	const struct node *inputs; /* NULL: with an error */
	const char *note;          /* what was found, for people */
	bool none;                 /* no value holds: these are the inputs that come nearest */
	struct unread unread;      /* inputs that no value tried has read */
};
struct solution question_solve(
    const struct question *q, const struct node *inputs, const char *solve, const char *until);

/* A search for the values at which a condition holds: `probe` asks at one. */

struct probe {
	double x;
	bool answered, holds;
	double value, bound;
};

struct seeker {
	struct arena *arena;
	void *context;
	struct probe (*probe)(struct seeker *s, double x);
	bool whole, below; /* whole numbers; the condition is that the row is small */
	bool failed;
	int turns; /* 1: the row fell and then rises at this value, -1: it rose and then falls; failed, too */
	double turns_at;
};

struct found {
	bool some; /* there was an answer at all */
	bool everywhere, nowhere, turns;
	double x;          /* the value that is asked for; of `nowhere` the one nearest to it */
	double from, to;   /* turns: where it holds */
	bool least, exact; /* it holds above x, not below; all values were tried */
};
struct found seek(struct seeker *s, double low, double high);

/* Other spellings of options: rows of aliases.def. */
struct alias {
	const char *name, *of, *commands;
	bool number;
};
extern const struct alias aliases[];
extern const size_t n_aliases;

/* The option that it means in this command, or NULL. */
const struct option *alias_option(const struct alias *alias, const struct command *c);
/* The option that this name means there, with this value (NULL: not known), or NULL. */
const struct option *alias_find(const struct command *c, const char *name, const char *value);
/* All of them, for people and as lines of an mdoc list with columns. */
void aliases_print(FILE *to);
void aliases_mdoc(FILE *to);

/* What the parts of the program share: one run of it. */

enum { STATUS_FAILED = 3 };

struct program {
	struct arena *arena;
	struct diag *diag;
	FILE *page; /* help: printed when the whole of it is known */
	const struct command *command;
	struct arguments args;
	struct question question;
	struct outputs *outputs;
	sheet_inspector *inspect;
};

bool output_color(const struct program *p, int fd);
/* A stream into memory; never NULL. */
FILE *output_memory(char **text, size_t *n);
int output_stdout(struct diag *d, const char *text, size_t n);
struct texts output_texts(struct arena *a, const struct words *words);
/* A report without an answer, as the options want it, and the name of its format. */
struct report output_report_of(struct program *p);
const char *output_format(const struct arguments *args);
bool output_wants_document(const struct arguments *args, const char *document);

/* The answer in the form that was asked for, as text that the caller frees; NULL with an error when it has not the row
 * that was asked for. */
char *output_text(struct program *p, const struct report *r, size_t *n);
/* The error of a row that is not there: what is wrong, and in the second line what to do. */
void output_no_row(struct program *p, const char *why);
/* Put the files of the answer in place, then the answer itself where it goes: the -o file or standard output.  Returns
 * the exit status that this leaves: 0, REFUSED or STATUS_FAILED. */
int output_deliver(struct program *p, const char *text, size_t n);
/* The -o file, or NULL with an error; only where output_to_file says that there is one. */
FILE *output_open(struct program *p);
bool output_to_file(const struct arguments *args);
void output_warnings(const struct program *p, const struct report *r);

/* --plot: the drawing, kept to be delivered with the answer.  0, or the exit status that this leaves; a NULL plot is
 * none (`why`: of a sweep). */
int program_plot(struct program *p, const struct plot *plot, const char *why);
/* Is the file's name one that can be drawn to? */
bool program_plot_name(struct program *p);

/* Pass a sheet to the inspector before it is freed. */
void program_inspect(const struct program *p, const struct sheet *sh);

/* Each answers what was asked and returns the exit status. */
int program_sweep(struct program *p, const struct node *inputs);
int program_lines(struct program *p, const struct node *base);
/* The first operand may be a job: a file that says `command:`, or the name of one in the database.  False on faults. */
bool program_job(struct program *p, const struct node **job);
/* The inputs of --from, a command line or file of a framework, laid over the job; a plan has its layout as the value of
 * --from.  False with errors. */
bool program_launch(struct program *p, const struct node **job);
/* Keep what this command knows of a job written for another one, and the names of the rest. */
const struct node *inputs_known_part(struct program *p, const struct node *job, const char *prefix, struct words *left);
/* Whether --from of this command takes a layout too. */
bool launch_takes_layout(const struct option *from);

/* Errors for what a tree of inputs has that the command does not know; `prefix` is the path of the map. */
void inputs_known(struct arena *a, struct diag *d, const struct command *c, const struct node *map, const char *prefix);

#endif
