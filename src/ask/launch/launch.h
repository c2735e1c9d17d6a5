/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A bound job as options of a framework or an engine. */
#ifndef RIDGE_ASK_LAUNCH_LAUNCH_H
#define RIDGE_ASK_LAUNCH_LAUNCH_H

#include "ask/bind/bind.h"
#include "cli/cli.h"
#include "db/db.h"
#include "model/memory/memory.h"
#include "model/train/train.h"

struct launch_in {
#define LAUNCH_OPTIONS(X)                                                                                              \
	X(0, emit, "emit", "emit", WORD, "FRAMEWORK", "megatron|bridge|torchtitan|deepspeed", NULL,                    \
	    "print the options of this framework instead: megatron, bridge, torchtitan or deepspeed")
	LAUNCH_OPTIONS(OPTION_MEMBER)
};
extern const struct option launch_rows[0 LAUNCH_OPTIONS(OPTION_COUNT)];

/* The launch file that gives layout and options; src/cli/inputs.c reads it before the command runs. */
struct launch_from_in {
#define LAUNCH_FROM_OPTIONS(X)                                                                                         \
	X(0, from, "from", "from", WORD, "FILE", "file", NULL,                                                         \
	    "command line (run.sh), TOML or JSON file of a framework or engine: its layout and options are the "       \
	    "inputs")
	LAUNCH_FROM_OPTIONS(OPTION_MEMBER)
};
extern const struct option launch_from_rows[0 LAUNCH_FROM_OPTIONS(OPTION_COUNT)];

/* The command line or file of this framework is the document of the answer; what it cannot say is a warning.
 * ANSWERED_NO where that changes the job. */
enum answer launch_show(
    struct run *r, struct word framework, const struct memory_job *memory, const struct train_answer *a);

struct launch_serve_in {
#define LAUNCH_SERVE_OPTIONS(X)                                                                                        \
	X(0, emit, "emit", "emit", WORD, "ENGINE", "vllm|sglang|trtllm", NULL,                                         \
	    "print the command line of this engine instead: vllm, sglang or trtllm")
	LAUNCH_SERVE_OPTIONS(OPTION_MEMBER)
};
extern const struct option launch_serve_rows[0 LAUNCH_SERVE_OPTIONS(OPTION_COUNT)];

/* What an engine is launched with. */
struct launch_served {
	const struct serve_setup *setup, *decode; /* decode: of another pool, or NULL */
	enum dtype compute, weights, kv;
	bool published; /* weights as the checkpoint has them */
	const struct speculation *speculation;
	double n_replicas, n_decode;
	double most_token; /* of a request; 0: not known */
	const char *gpu;   /* that a line is of, where there are several */
};

/* A line for each of n setups. */
enum answer launch_serve_show(struct run *r, struct word engine, const struct launch_served *s, size_t n);

/* --- for the files that write launchers ---------------------------------------------------------------------- */

/* NULL: nothing to say.  A plain one is what every framework does by itself: no option where none has this value.  A
 * derived one follows from others, for frameworks that ask for it. */
struct fact {
	const char *text;
	bool plain, derived;
};

/* No row meets what was asked: standard output stays empty where a command line was asked for. */
void launch_nothing(struct run *r);

struct fact fact_count(struct run *r, double n, double plain);
struct fact fact_derived(struct run *r, double n, double plain);
struct fact fact_word(const char *text, bool plain);

/* The keys of a framework in the order of its rules. */
struct launch {
	struct run *r;
	const struct launcher *by;
	const struct fact *facts;
	const struct node *tree; /* of a file */
	const char *words;       /* of a command line */
	const char *environment; /* before it */
	const char *file;        /* name of the file beside it */
	bool hybrid;             /* the model has state-space layers */
	bool incomplete;
};

/* False with errors: no such launcher, or one of another use. */
bool launch_begin(struct run *r, struct word name, enum launch_use use, struct launch *out);
/* Say all facts by the rules; what none says is a warning. */
void launch_say(struct launch *l, const struct fact facts[N_LAUNCH_FACTS]);
/* Whether the launcher has a rule for a fact. */
bool launch_maps(const struct launch *l, enum launch_fact fact);
/* Something that no map has a rule for. */
void launch_lacks(struct launch *l, const char *what);
/* The command line or file. */
const char *launch_text(const struct launch *l);
/* The document and the hidden answers. */
enum answer launch_end(struct launch *l, const char *text);
/* Whether one of the launcher's stacks is a beginning of this name. */
bool launch_is_of(const struct launch *l, const char *stack);

#endif
