/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an engine decides about the state of a model: the type of recurrent states, draft modules, tokens of the
 * encoder. */
#ifndef RIDGE_STATE_IN_H
#define RIDGE_STATE_IN_H

#include "cli/command.h"

struct state_in {
#define STATE_TYPES "fp32|fp16|bf16"
#define STATE_OPTIONS(X)                                                                                               \
	X(0, state_dtype, "state-dtype", "state_dtype", CHOICE, "TYPE", STATE_TYPES, NULL,                             \
	    "type of recurrent states (default: the model's, or fp32)")                                                \
	X(0, mtp, "mtp", "mtp", COUNT, "N", "", NULL,                                                                  \
	    "modules in use that predict further tokens: each keeps one more layer")                                   \
	X(0, source, "source-seq", "source_seq", COUNT, "N", "", NULL,                                                 \
	    "encoder-decoders: tokens of the source (default: as many as --seq)")
	STATE_OPTIONS(OPTION_MEMBER)
};

/* The model as the engine runs it; NULL with errors. */
const struct workload *run_state(struct run *r, const struct state_in *in, const struct workload *model);

/* How a layer looks back, for people: `window of 128`, `Mamba-2`. */
const char *reach_text(struct arena *a, const struct block *b);

#endif
