/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What ridge model shows of one model. */
#ifndef RIDGE_MODEL_SHOW_H
#define RIDGE_MODEL_SHOW_H

#include "cli/command.h"

#define MODEL_CONVENTIONS                                                                                              \
	"all|ridge-causal|ridge-full|palm|kaplan|llm-foundry|megatron-bridge|nemo|sc21|sc21-model|bigscience|"         \
	"bigscience-no-recompute|seqsel|seqsel-hardware"
#define MODEL_OPTIONS(X)                                                                                               \
	X(0, verb, NULL, "verb", WORD, "VERB", "model", NULL, "list, show, compare or import; or a model to show")     \
	X(0, names, NULL, "names", WORDS, "NAME", "model", NULL, "models; for list: parts of their names")             \
	X('s', seq, "seq", "seq", COUNT, "N", "", NULL,                                                                \
	    "tokens of a sequence, for the arithmetic of attention (default 4096, or what the model holds)")           \
	X('b', batch, "batch", "batch", COUNT, "N", "", "1", "images or samples, where there are no tokens")           \
	X(0, convention, "flops-convention", "flops_convention", WORD, "NAME", MODEL_CONVENTIONS, NULL,                \
	    "FLOP of a trained token as publications count it; all: every convention that fits the model")

struct model_in {
	MODEL_OPTIONS(OPTION_MEMBER)
};

/* True where tokens see only those before them, as in decoders. */
bool model_is_causal(const struct workload *w);

/* FLOP of a token or a sample; then, when they are asked for, the conventions that count a trained token.  False with
 * errors. */
bool model_show_work(struct run *r, const struct model_in *in, const struct workload *w);
/* All of one model. */
enum answer model_show(struct run *r, const struct model_in *in, struct word name);

#endif
