/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A subcommand: one struct command in one file of src/cmd, found by the Makefile.
 *
 * An option row makes the struct member, the parser, the help, the manual's OPTIONS, the completion and the keys of a
 *job file.  An option is a short name of one path (`--batch` = `batch`); --set, --sweep and --solve take the paths.
 *
 *	#define KV_OPTIONS(X) \
 *		X('b', batch, "batch", "batch", COUNT, "N", "", "1", "sequences held at once") \
 *		X(0, kv_dtype, "kv-dtype", "kv_dtype", CHOICE, "TYPE", "fp16|bf16|fp8", "bf16", "type of the cache's
 *elements") struct kv_in { KV_OPTIONS(OPTION_MEMBER) struct gpu_in hw; }; #define THIS struct kv_in static const struct
 *option kv_options[] = {KV_OPTIONS(OPTION_ROW)};
 *
 * X(letter, member, option, path, KIND, metavar, complete, default, help)
 *   letter    the short option, or 0
 *   option    the long option, or NULL when only --set and job files reach the path
 *   KIND      FLAG, WORD, CHOICE, WORDS (comma list), NODE (a YAML subtree, for lists of points), or a quantity of
 *units.h without its Q_: NUMBER FRACTION COUNT SIZE RATE WORK PEAK TIME CLOCK MONEY PER_HOUR DENSITY POWER PER_ENERGY
 *complete what completion offers: "gpu" "system" "link" "model" "job" "stack" "command" "file", or `a|b|c` for a CHOICE
 *default as typed, or NULL; a default that a sheet TAKEs is listed under `assumed`
 */
#ifndef RIDGE_COMMAND_H
#define RIDGE_COMMAND_H

#include "ridge/hw.h"
#include "ridge/units.h"
#include "ridge/workload.h"

#include "base/arena.h"
#include "base/diag.h"

struct node;
struct database;
struct outputs;
struct plot;
struct reads;

enum answer {
	ANSWERED = 0,    /* answered */
	ANSWERED_NO = 1, /* answered: no (does not fit, misses the target, faults found) */
	REFUSED = 2,     /* the request was wrong: diag has the errors */
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

struct command {
	const char *name;
	const char *section;  /* heading in the list of commands */
	const char *summary;  /* the question it answers, one line, lower case, no full stop */
	const char *operands; /* paths that operands set, in order; `names...` takes all the rest as a list */
	const char *usage;    /* the operands as people read them: `[MODEL|JOB]` */
	const struct option_group *groups;
	size_t n_groups;
	const struct example *examples;
	size_t n_examples;
	const struct input_needs *needs;
	size_t n_needs;
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
	const struct node *inputs; /* what was asked, as a tree: options, --set, job file */
	struct reads *reads;       /* which of them were read; NULL: nobody asks */
	struct words assumed, warnings;
	struct words files;      /* for `check`: operands as typed */
	struct outputs *outputs; /* files that the answer leaves behind */
	const char *title;       /* heading of the text output, may stay NULL */
	const char
	    *document; /* an answer that is a file: printed as it is where people would read text; may stay NULL */
	bool draws;    /* --plot was asked for, and there is no sweep */
	const struct plot *plot; /* for --plot; NULL: a sweep is drawn from its rows, one answer is not drawn */
};

/* Something that the answer rests on and nobody stated (`seq 4096`), or that people should know. */
void run_assume(struct run *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
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
	X(0, adp, NULL, "layout.adp", FLAG, "", "", NULL, "serving: attention data parallel over the tp GPUs")         \
	X(0, attention_dp, NULL, "layout.attention-dp", FLAG, "", "", NULL, "the same as adp")
	LAYOUT_OPTIONS(OPTION_MEMBER)
};
extern const struct option_group layout_group; /* offset 0: copy it and set .offset */

/* Fill a layout from its inputs; n_gpus absent: dp defaults to 1.  Checks that the degrees multiply to the GPUs and
 * divide the model's heads, layers and experts (model may be NULL); faults name the nearest layout that works. */
bool run_layout(
    struct run *r, const struct layout_in *in, struct datum n_gpus, const struct workload *model, struct layout *out);

#endif
