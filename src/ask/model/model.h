/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of `ridge model`. */
#ifndef RIDGE_ASK_MODEL_MODEL_H
#define RIDGE_ASK_MODEL_MODEL_H

#include "cli/cli.h"

#define MODEL_CONVENTIONS                                                                                              \
	"all|ridge-causal|ridge-full|palm|kaplan|llm-foundry|megatron-bridge|nemo|sc21|sc21-model|bigscience|"         \
	"bigscience-no-recompute|seqsel|seqsel-hardware"
#define MODEL_OPTIONS(X)                                                                                               \
	X(0, verb, NULL, "verb", WORD, "VERB", "model", NULL, "list, show, compare or import; or a model to show")     \
	X(0, names, NULL, "names", WORDS, "NAME", "model", NULL, "models; for list, parts of their names")             \
	X('s', seq, "seq", "seq", COUNT, "N", "", NULL,                                                                \
	    "sequence length for attention FLOPs (default 4096, or the model's context length)")                       \
	X('b', batch, "batch", "batch", COUNT, "N", "", "1", "images or samples, for models without tokens")           \
	X(0, convention, "flops-convention", "flops_convention", WORD, "NAME", MODEL_CONVENTIONS, NULL,                \
	    "FLOPs per trained token by a published convention; all shows every one that fits the model")

struct model_in {
	MODEL_OPTIONS(OPTION_MEMBER)
};

/* True where tokens see only those before them, as in decoders. */
bool model_is_causal(const struct workload *w);

/* All of one model. */
enum answer model_show(struct run *r, const struct model_in *in, struct word name);

/* What an engine decides about the state of a model: the type of recurrent states, draft modules, tokens of the
 * encoder. */

struct state_in {
#define STATE_OPTIONS(X)                                                                                               \
	X(0, state_dtype, "state-dtype", "state_dtype", CHOICE, "TYPE", DTYPE_CHOICE(S), NULL,                         \
	    "dtype of recurrent states (default: the model's, or fp32)")                                               \
	X(0, mtp, "mtp", "mtp", COUNT, "N", "", NULL, "MTP modules in use; each adds one layer to the KV cache")       \
	X(0, source, "source-seq", "source_seq", COUNT, "N", "", NULL,                                                 \
	    "encoder-decoder models: source sequence length (default: --seq)")
	STATE_OPTIONS(OPTION_MEMBER)
};

/* The model as the engine runs it; NULL with errors. */
const struct workload *run_state(struct run *r, const struct state_in *in, const struct workload *model);

/* How a layer looks back, for people: `window of 128`, `Mamba-2`. */
const char *reach_text(struct arena *a, const struct block *b);

/* What a model keeps of a sequence, by kind of layer, and how an engine keeps it. */

struct state_view {
	const struct workload *w;
	double seq_token, block_token, kv_elem_byte, tp;
	struct datum batch, step_token; /* sequences that run at once; tokens of a step, or absent */
};
/* Rows behind those of one sequence. */
void state_show(struct run *r, const struct state_view *v);

#endif
