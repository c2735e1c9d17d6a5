/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RIDGE_CLI_CLI_H
#define RIDGE_CLI_CLI_H

#include "base/base.h"
#include "base/sheet.h"
#include "db/tree.h"
#include "model/hw/hw.h"
#include "model/layer/layer.h"
#include "report/report.h"

/* The program as a function, so that tests can look at the sheets of real command lines. */

/* Called with every sheet that a command filled, before it is printed; may be NULL. */
typedef void sheet_inspector(const struct sheet *sh, const char *command);

/* Returns the exit status. */
int ridge_main(int argc, char **argv, sheet_inspector *inspect);
/* The same with a database that stays open from one line to the next; --hwdb opens another. */
struct database;
int ridge_main_with(struct database *open, int argc, char **argv, sheet_inspector *inspect);

/* clang-format off */
/*
 * A subcommand: one struct command in one file of src/cmd, found by the Makefile.
 *
 * An option row generates the struct member, the parser, the help, the manual's OPTIONS, the completion and the key of
 * job files.  An option is the short name of a path (`--batch` = `batch`); --set, --sweep and --solve take the paths.
 *
 *	#define KV_OPTIONS(X) \
 *		X('b', batch, "batch", "batch", COUNT, "N", "", "1", "concurrent sequences") \
 *		X(0, kv_dtype, "kv-dtype", "kv_dtype", CHOICE, "TYPE", DTYPE_CHOICE(W), "bf16", "dtype of the KV cache")
 *	struct kv_in {
 *		KV_OPTIONS(OPTION_MEMBER)
 *		struct gpu_in hw;
 *	};
 *	#define THIS struct kv_in
 *	static const struct option kv_options[] = {KV_OPTIONS(OPTION_ROW)};
 *
 * X(letter, member, option, path, KIND, metavar, complete, default, help)
 *   letter    the short option, or 0
 *   option    the long option, or NULL if only --set and job files reach the path
 *   KIND      FLAG, WORD, CHOICE, WORDS (comma list), NODE (a YAML subtree, for lists of points), or a quantity of
 *             sheet.h without its Q_: NUMBER FRACTION COUNT SIZE RATE WORK PEAK TIME CLOCK MONEY PER_HOUR DENSITY ...
 *   complete  what completion offers: "gpu" "system" "link" "model" "job" "stack" "command" "file" (that is read) "output" (that is
 *             written), or `a|b|c` of a CHOICE
 *   default   as typed, or NULL; a default that a sheet TAKEs is listed under `assumed`
 */
/* clang-format on */

struct node;
struct database;
struct outputs;
struct reads;

enum answer {
	ANSWERED = 0,      /* answered */
	ANSWERED_NO = 1,   /* answered: no (does not fit, misses the target, faults found) */
	REFUSED = 2,       /* the request was wrong: diag has the errors */
	INTERRUPTED = 130, /* by SIGINT: what was found until then is answered */
};

/* A word of the input; text NULL when it was not given. */
struct word {
	const char *text;
	struct source from;
};

struct words {
	size_t n;
	struct word *list;
};

enum option_kind { KIND_FLAG, KIND_WORD, KIND_CHOICE, KIND_WORDS, KIND_NODE, KIND_QUANTITY };

struct option {
	char letter;
	const char *name, *path;
	enum option_kind kind;
	enum quantity quantity;
	size_t offset;
	const char *metavar, *complete, *def, *help;
};

#define OPTION_TYPE_FLAG bool
#define OPTION_TYPE_WORD struct word
#define OPTION_TYPE_CHOICE struct word
#define OPTION_TYPE_WORDS struct words
#define OPTION_TYPE_NODE const struct node *
#define OPTION_TYPE_NUMBER struct datum
#define OPTION_TYPE_FRACTION struct datum
#define OPTION_TYPE_COUNT struct datum
#define OPTION_TYPE_SIZE struct datum
#define OPTION_TYPE_RATE struct datum
#define OPTION_TYPE_WORK struct datum
#define OPTION_TYPE_PEAK struct datum
#define OPTION_TYPE_TIME struct datum
#define OPTION_TYPE_CLOCK struct datum
#define OPTION_TYPE_MONEY struct datum
#define OPTION_TYPE_PER_HOUR struct datum
#define OPTION_TYPE_DENSITY struct datum
#define OPTION_TYPE_POWER struct datum
#define OPTION_TYPE_PER_ENERGY struct datum

#define OPTION_KIND_FLAG KIND_FLAG, Q_NUMBER
#define OPTION_KIND_WORD KIND_WORD, Q_NUMBER
#define OPTION_KIND_CHOICE KIND_CHOICE, Q_NUMBER
#define OPTION_KIND_WORDS KIND_WORDS, Q_NUMBER
#define OPTION_KIND_NODE KIND_NODE, Q_NUMBER
#define OPTION_KIND_NUMBER KIND_QUANTITY, Q_NUMBER
#define OPTION_KIND_FRACTION KIND_QUANTITY, Q_FRACTION
#define OPTION_KIND_COUNT KIND_QUANTITY, Q_COUNT
#define OPTION_KIND_SIZE KIND_QUANTITY, Q_SIZE
#define OPTION_KIND_RATE KIND_QUANTITY, Q_RATE
#define OPTION_KIND_WORK KIND_QUANTITY, Q_WORK
#define OPTION_KIND_PEAK KIND_QUANTITY, Q_PEAK
#define OPTION_KIND_TIME KIND_QUANTITY, Q_TIME
#define OPTION_KIND_CLOCK KIND_QUANTITY, Q_CLOCK
#define OPTION_KIND_MONEY KIND_QUANTITY, Q_MONEY
#define OPTION_KIND_PER_HOUR KIND_QUANTITY, Q_PER_HOUR
#define OPTION_KIND_DENSITY KIND_QUANTITY, Q_DENSITY
#define OPTION_KIND_POWER KIND_QUANTITY, Q_POWER
#define OPTION_KIND_PER_ENERGY KIND_QUANTITY, Q_PER_ENERGY

#define OPTION_MEMBER(letter, member, option, path, kind, metavar, complete, def, help) OPTION_TYPE_##kind member;
#define OPTION_ROW(letter, member, option, path, kind, metavar, complete, def, help)                                   \
	{letter, option, path, OPTION_KIND_##kind, offsetof(THIS, member), metavar, complete, def, help},

/* The length of a table that several commands share: [0 LAYOUT_OPTIONS(OPTION_COUNT)]. */
#define OPTION_COUNT(...) +1

/* A table of options and where its members lie in the command's input struct. */
struct option_group {
	const struct option *options;
	size_t n;
	size_t offset;
};

#define OPTION_GROUP(table, offset)                                                                                    \
	{                                                                                                              \
		table, sizeof(table) / sizeof *(table), offset                                                         \
	}

/* Shown by --help, printed in the manual, run by the tests.  `status` is the exit status that it must have. */
struct example {
	const char *line, *caption;
	int status;
};

struct run;

/* An input that some forms of a question do not read, and what to add where it is read, or why it is not:
 * `--tail-limit judges P99 over P50: add --p50 and --p99`. */
struct input_needs {
	const char *path, *what;
};

/* An array of a command and its length: COUNTED(groups, plan_groups). */
#define COUNTED(member, table) .member = table, .n_##member = sizeof(table) / sizeof *(table)

struct command {
	const char *name;
	const char *section;  /* heading in the list of commands */
	const char *summary;  /* what it answers, one line, no full stop */
	const char *operands; /* paths that operands set, in order; `names...` takes all the rest as a list */
	const char *usage;    /* the operands as people read them: `[MODEL|JOB]` */
	const struct option_group *groups;
	size_t n_groups;
	const struct example *examples;
	size_t n_examples;
	const struct input_needs *needs;
	size_t n_needs;
	const char *unsolvable; /* why --solve makes no sense, or NULL */
	size_t input_size;
	enum answer (*run)(struct run *r, const void *in);
};

/* One question being answered. */
struct run {
	struct arena *arena;
	struct diag *diag;
	struct sheet *sheet; /* never NULL in a command */
	struct database *database;
	const struct command *command;
	const struct node *inputs;          /* what was asked, as a tree: options, --set, job file */
	const struct launch_claims *claims; /* of the launch file about its model, or NULL */
	struct reads *reads;                /* which of them were read; NULL: not tracked */
	struct assumptions assumed;
	struct words warnings;
	struct words files;      /* for `check`: operands as typed */
	struct outputs *outputs; /* files that the answer leaves behind */
	const char *title;       /* heading of the text output, may stay NULL */
	const char
	    *document; /* an answer that is a file: printed as it is where people would read text; may stay NULL */
	bool draws;    /* --plot was asked for, and there is no sweep */
	bool swept;    /* one answer of several: a line, without tables */
	const struct plot *plot; /* for --plot; NULL: a sweep is drawn from its rows, one answer is not drawn */
};

/* An assumption of the answer, or a warning. */
void run_assume(struct run *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The value that an input took for want of one, by the option's name: `run_assume_value(r, "seq", "%g", 4096)`. */
void run_assume_value(struct run *r, const char *option, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same in other words for people. */
void run_assume_as(struct run *r, const char *option, const char *value, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void run_warn(struct run *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* These inputs were read: addresses of members of the command's struct, NULL at the end.  Needed for what no sheet
 * TAKEs: flags, words that no function below reads, numbers that are used without a row. */
void run_reads(struct run *r, const void *member, ...) __attribute__((sentinel));
/* The same for the input that a word or a number came from. */
void run_read_from(struct run *r, struct source from);
/* The text of a word; when it came from the option's default, it is listed under `assumed` as `name text`. */
const char *run_word(struct run *r, const char *name, struct word w);

/* What the inputs lay over an entry of the database (`gpu`, `stack`), to be laid over it; NULL: nothing.  It is read by
 * that. */
const struct node *run_overlay(struct run *r, const char *entity);
/* Entries of the database, with the inputs' overlay (`--set gpu.memory.bandwidth=3TB/s`) applied.  NULL when there is
 * none: diag has the error with suggestions.  Aliases that mean a variant are announced (`h100 = h100-sxm5-80gb`). */
const struct gpu *run_gpu(struct run *r, struct word name);
const struct system *run_system(struct run *r, struct word name);
/* The GPU that --gpu names, or else the one of --system; text NULL when neither was given.  False when they disagree.
 */
bool run_gpu_name(struct run *r, struct word gpu, struct word system, struct word *out);
const struct link *run_link(struct run *r, struct word name);
/* The share of its line rate that a link is counted at: NCCL's, or a measured one, or all. */
double run_link_counted(struct sheet *sh, const struct link *l);
const struct workload *run_model(struct run *r, struct word name);
/* Fitted parameters of this GPU (backend NULL: the consensus), or NULL when there are none; that is no error. */
const struct calibration *run_calibration(struct run *r, const char *gpu, const char *backend);
/* An enum by its text; an unknown one is an error with a suggestion. */
bool run_dtype(struct run *r, const char *option, struct word name, enum dtype *out);
/* The peak of this GPU for a dtype.  What the hardware lacks is an error that names the substitute. */
bool run_peak(struct run *r, const struct gpu *gpu, enum dtype t, struct word asked, struct datum *out);

/* --- groups of options that several commands share ------------------------------------------------------- */

struct layout_in {
#define LAYOUT_OPTIONS(X)                                                                                              \
	X(0, dp, NULL, "layout.dp", COUNT, "N", "", NULL,                                                              \
	    "data parallel replicas (default: what remains of the GPUs)")                                              \
	X(0, tp, NULL, "layout.tp", COUNT, "N", "", NULL, "tensor parallel degree")                                    \
	X(0, pp, NULL, "layout.pp", COUNT, "N", "", NULL, "pipeline stages")                                           \
	X(0, vp, NULL, "layout.vp", COUNT, "N", "", NULL, "model chunks per stage (interleaved schedule)")             \
	X(0, cp, NULL, "layout.cp", COUNT, "N", "", NULL, "context parallel degree")                                   \
	X(0, ep, NULL, "layout.ep", COUNT, "N", "", NULL, "expert parallel degree")                                    \
	X(0, etp, NULL, "layout.etp", COUNT, "N", "", NULL, "tensor parallel degree inside experts")                   \
	X(0, zero, NULL, "layout.zero", COUNT, "0..3", "", NULL, "ZeRO stage; 3 shards parameters (FSDP)")             \
	X(0, shard, NULL, "layout.shard", COUNT, "N", "", NULL, "GPUs that share one sharded copy (hybrid shard)")     \
	X(0, sp, NULL, "layout.sp", FLAG, "", "", NULL, "sequence parallel norms and residuals")                       \
	X(0, across, NULL, "layout.across", FLAG, "", "", NULL, "tensor parallel groups may reach beyond one node")    \
	X(0, fsdp, NULL, "layout.fsdp", FLAG, "", "", NULL, "the same as zero=3")                                      \
	X(0, adp, NULL, "layout.adp", FLAG, "", "", NULL, "serving: attention data parallel over the tp GPUs")
	LAYOUT_OPTIONS(OPTION_MEMBER)
};
extern const struct option layout_rows[0 LAYOUT_OPTIONS(OPTION_COUNT)];

/* Fill a layout from its inputs; n_gpus absent: dp defaults to 1.  Checks that the degrees multiply to the GPUs and
 * divide the model's heads, layers and experts (model may be NULL); faults name the nearest layout that works. */
bool run_layout(
    struct run *r, const struct layout_in *in, struct datum n_gpus, const struct workload *model, struct layout *out);

/* The command line as data: settings of input paths, and what was asked of the program itself. */

/* GLOBAL(letter, member, name, metavar, complete, help): options of every command.  An empty metavar is a switch. */
#define GLOBAL_OPTIONS(X)                                                                                              \
	X(0, json, "json", "", "", "print one JSON object; see ridge-json(5)")                                         \
	X(0, csv, "csv", "", "", "print comma-separated values, base units")                                           \
	X(0, md, "md", "", "", "print Markdown")                                                                       \
	X(0, explain, "explain", "[=ROW]", "row", "show how every number, or one row, was computed")                   \
	X(0, table, "table", "NAME", "", "print one table, with --csv")                                                \
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
	X(0, color, "color", "WHEN", "auto|always|never", "color: auto (default), always or never")                    \
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
/* What a server that runs today is told beside its layout: `engine=vllm`, and the input that it is. */
struct launch_word {
	const char *name, *path;
};
enum { N_LAUNCH_WORDS = 6 };
extern const struct launch_word launch_words[N_LAUNCH_WORDS];

/* Visit every option of a command; stops when `each` returns true and returns that option. */
const struct option *command_option(
    const struct command *c, bool (*each)(const struct option *o, const void *key), const void *key);
/* The option with this long name, or this path. */
const struct option *command_option_named(const struct command *c, const char *name);
const struct option *command_option_at(const struct command *c, const char *path);
bool command_has_layout(const struct command *c);

void settings_add(struct arena *a, struct settings *s, const char *path, const char *text, struct source at);

/* From a tree of inputs (options, --set, job file) to the command's struct, checked by the option rows. */

/* A map with its dotted keys, and a layout in one word, taken apart. */
const struct node *inputs_spread(struct arena *a, struct diag *d, const struct command *c, const struct node *map);

/* The tree of a command line: the job's inputs (or NULL), then --set, then options. */
const struct node *inputs_tree(
    struct arena *a, struct diag *d, const struct command *c, const struct node *job, const struct arguments *args);

/* The input path that a name means: of an option, of another spelling of one, or a path. */
const char *inputs_path(const struct command *c, const char *name);
/* An input as a report lists it: numbers in base units. */
struct asked_input inputs_asked(const struct command *c, const char *path, const char *text);

/* An error for an input that the command has not, with the nearest one; `before` stands in front of it: `inputs.`. */
void inputs_unknown(struct diag *d, const struct command *c, const char *path, struct source at, const char *before);

/* Fill the command's input struct; absent paths take their defaults.  False with all faults in d. */
bool inputs_bind(struct arena *a, struct diag *d, const struct command *c, const struct node *tree, void *out);

/* What a path of a tree of inputs is to this command. */
enum input_place {
	INPUT_ABOUT,   /* of the file itself: format, name, notes */
	INPUT_HERE,    /* an input, or a figure laid over an entry of the database */
	INPUT_ABOVE,   /* a map with inputs in it */
	INPUT_UNKNOWN, /* none */
};

/* Check the value at this path of the tree, which a sweep or a search will replace.  True where there is none. */
bool inputs_check(struct arena *a, struct diag *d, const struct command *c, const struct node *tree, const char *path);

/* What an entity's inputs lay over its file: the map at `path` without `name` and without paths that are options. */
const struct node *inputs_overlay(struct arena *a, const struct command *c, const struct node *tree, const char *path);

/* Kinds of entries that inputs may lay figures over, by the paths that name them. */
extern const char *const input_entities[];
extern const size_t n_input_entities;

/* The place of default values. */
extern const char inputs_default[];

/*
 * Files that an answer leaves behind: -o, --plot, --dump, --timeline, --predictions, calibrations.  What is written to
 * them is kept aside until the answer stands; then all of them are put in place, or none.
 */

struct words;

struct outputs;

struct outputs *outputs_new(struct arena *a);
/* No output that is begun from now on may be one of these: every word of the inputs that names a file to be read, and
 * the operands as typed; the items of one word; one file. */
void outputs_guard(
    struct outputs *o, const struct command *command, const struct node *inputs, const struct words *operands);
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

/*
 * Which of the inputs that were given an answer has read.  One that was given and not read is refused: it would look as
 * if it had been taken into account.
 *
 * Numbers that a sheet TAKEs are read by that; words by run_word, run_gpu and the like; everything else where
 * run_reads (command.h) says so.
 */

struct given_input {
	const char *path;
	const struct option *option; /* NULL: figures laid over an entry of the database, `gpu.memory.bandwidth` */
	const struct node *node;
	size_t offset;        /* of the member in the command's struct */
	bool read, elsewhere; /* elsewhere: it is in a job written for another command */
};

struct reads {
	const void *in; /* the command's struct */
	size_t n;
	struct given_input *list;
};

/* The inputs that were given, none of them read yet.  `job`: one that was written for another command, or NULL. */
struct reads *reads_new(
    struct arena *a, const struct command *c, const struct node *tree, const struct node *job, const void *in);
/* What stands at this place was read. */
void reads_path(struct reads *r, const char *path);
/* The numbers that a sheet took. */
void reads_sheet(struct reads *r, const struct sheet *sh);

/* Inputs that no answer so far has read: one answer, the points of a sweep, the probes of a search. */
struct unread {
	bool begun;
	size_t n;
	struct unread_input {
		const char *path, *option;
		struct source at;
	} * list;
};

/* One more answer; what it has read is taken off the list. */
void unread_note(struct arena *a, struct unread *u, const struct reads *r);
/* An error for each; true when there are none. */
bool unread_report(struct diag *d, const struct command *c, const struct unread *u);

/*
 * The least and the most that an input may be: of options, of job files, and of numbers inside lists.  Beyond them
 * nothing is meant, and products of a few of them would leave the range of a double.
 */

struct bounds {
	double least, most;
	bool above; /* more than `least` */
};

/* An error at this place when the value is outside; counts must be whole. */
bool bounds_check(struct diag *d, struct source at, const char *path, enum quantity q, double value);

/* Values inside words (`name=5ms`), and what numbers must be. */

/* An error with its place and what to do; false. */
bool run_refuse(struct run *r, struct source at, const char *what, const char *hint);
/* Read a quantity above 0 from a word. */
bool run_value(struct run *r, struct source at, const char *text, enum quantity q, struct datum *out);
/* Above 0; between 0 and 1, with both or without.  What is absent is all right. */
bool run_positive(struct run *r, const char *option, struct datum d);
bool run_fraction(struct run *r, const char *option, struct datum d);
bool run_inside(struct run *r, const char *option, struct datum d);

/* Help, manual sections and completion, all from the option and example rows. */

extern const struct command *const commands[];
extern const size_t n_commands;

/* `plan serve` is named `plan-serve`, too. */
const struct command *command_find(const char *name);
/* The one that a command line begins with, and how many of its words name it. */
const struct command *command_called(int argc, char **argv, int *n_words);

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

/* --sweep: lists of values, and the outer product of several. */

struct axis_values {
	const char *path;
	struct source at;
	size_t n;
	const char **values;
};

enum { MAX_SWEEPS = 6, MAX_POINTS = 100000 };

/* `a,b,c`, `a..b*k` or `a..b+k` -> values as typed.  False with an error. */
bool sweep_values(
    struct arena *a, struct diag *d, const struct command *c, const struct setting *s, struct axis_values *out);

#endif
