/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line as data: settings of input paths, and what was asked of the program itself. */
#ifndef RIDGE_ARGUMENTS_H
#define RIDGE_ARGUMENTS_H

#include "cli/command.h"

/* GLOBAL(letter, member, name, metavar, complete, help): options of every command.  An empty metavar is a switch. */
#define GLOBAL_OPTIONS(X)                                                                                              \
	X(0, json, "json", "", "", "print one JSON object; see ridge-json(5)")                                         \
	X(0, csv, "csv", "", "", "print comma-separated values, base units")                                           \
	X(0, md, "md", "", "", "print Markdown")                                                                       \
	X(0, explain, "explain", "[=ROW]", "row", "show how every number, or one row, was computed")                   \
	X(0, get, "get", "ROW", "row", "print bare numbers in base units: ttft_s,tpot_s")                              \
	X(0, set, "set", "PATH=VALUE[,...]", "path",                                                                   \
	    "set any input or figure: layout.tp=8, gpu.memory.bandwidth=3TB/s")                                        \
	X(0, sweep, "sweep", "NAME=LIST", "path",                                                                      \
	    "one row per point: batch=1,2,4 or 1..256*2 or 0..100+10; repeatable")                                     \
	X(0, solve, "solve", "NAME[=LO..HI]", "path", "find the NAME at which --until just holds")                     \
	X(0, until, "until", "'ROW OP VALUE'", "row", "the condition for --solve: 'peak_byte <= 80GB'")                \
	X(0, plot, "plot", "FILE", "file", "draw it too: .png, .svg or .pdf (by gnuplot), .gp is the script")          \
	X(0, jsonl, "jsonl", "FILE", "file", "answer one JSON object per line of FILE (- is standard input)")          \
	X(0, hwdb, "hwdb", "DIR", "file", "look into this database directory first")                                   \
	X(0, color, "color", "WHEN", "auto|always|never", "colour: auto (default), always or never")                   \
	X('q', quiet, "quiet", "", "", "no warnings and no lists of assumptions")                                      \
	X('o', output, "output", "FILE", "file", "write the answer to FILE")                                           \
	X('h', help, "help", "", "", "show this help")                                                                 \
	X(0, version, "version", "", "", "show the version")

struct global_option {
	char letter;
	const char *name, *metavar, *complete, *help;
};

extern const struct global_option global_options[];
extern const size_t n_global_options;

/* Paths are walked step by step, each step on the stack. */
enum { PATH_MAX_LENGTH = 200 };

struct setting {
	const char *path, *text;
	struct source at;
};

struct settings {
	size_t n, room;
	struct setting *list;
};

struct arguments {
#define GLOBAL_MEMBER(letter, member, name, metavar, complete, help) const char *member;
	GLOBAL_OPTIONS(GLOBAL_MEMBER)
#undef GLOBAL_MEMBER
	struct settings options; /* options and operands, by path */
	struct settings sets, sweeps;
	struct words operands;
};

/* Everything after the command's name.  False with errors in d. */
bool arguments_parse(
    struct arena *a, struct diag *d, const struct command *c, int argc, char **argv, struct arguments *out);

/* Operands fill the command's operand paths in order; `names...` takes all that remain. */
void arguments_place(struct arena *a, struct diag *d, const struct command *c, struct arguments *out);

/* `tp=8,pp=2,sp` as settings of layout.tp and so on.  False with an error. */
bool arguments_layout(struct arena *a, struct diag *d, const char *text, struct source at, struct settings *out);

/* Visit every option of a command; stops when `each` returns true and returns that option. */
const struct option *command_option(
    const struct command *c, bool (*each)(const struct option *o, const void *key), const void *key);
/* The option with this long name, or this path. */
const struct option *command_option_named(const struct command *c, const char *name);
const struct option *command_option_at(const struct command *c, const char *path);
bool command_has_layout(const struct command *c);

void settings_add(struct arena *a, struct settings *s, const char *path, const char *text, struct source at);

#endif
