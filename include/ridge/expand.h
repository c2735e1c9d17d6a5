/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A workload as one list of operators, and the arithmetic of one token. */
#ifndef RIDGE_EXPAND_H
#define RIDGE_EXPAND_H

#include "ridge/op.h"

enum phase {
	PHASE_PREFILL, /* all new tokens at once; the head sees the last one of each sequence */
	PHASE_DECODE,  /* one new token a sequence */
	PHASE_TRAIN,   /* the forward pass of training: the head sees every token */
};

/* What a model is asked to do, on one of tp GPUs. */
struct shape {
	enum phase phase;
	double batch;    /* sequences, or images */
	double n_new;    /* new tokens of each sequence */
	double n_cached; /* tokens whose keys and values are there already */
	double tp;
	double elem_byte;
	bool unfused; /* scores and fp32 norms go to memory, as in eager frameworks */
};

enum { EXPAND_PER_BLOCK = 40, EXPAND_OUTSIDE = 12 };

/* How many operators expand() may write. */
int expand_room(const struct workload *w);
/* Write the list, a line for the layers of a block that are alike, and return its length. */
int expand(const struct workload *w, const struct shape *x, struct op *ops);

/* What the list needs and the model does not say, or NULL. */
const char *expand_missing(const struct workload *w);

/* Tokens of one image: its patches and the class token. */
double vision_tokens(struct sheet *sh, const struct workload *w);

/* Keys that a query sees on average in a layer of this kind; `causal` false: every query sees them all. */
double seen_keys(struct sheet *sh, const struct attention *a, double n_new, double n_cached, bool causal);

/* FLOP of one token in a sequence of n_tokens, forward: 2 for each parameter that it multiplies, and its share of
 * attention. Causal attention counts the keys that a token may see, full attention counts them all, as many
 * publications do. Windows, chunks and indexers count with `causal`; recurrences and compressed tokens always as their
 * kernels compute them.  Of an encoder-decoder it is one token of the source and one of the target. */
double forward_flop(struct sheet *sh, const struct workload *w, double seq_token, bool causal);
/* The same with a product for the tables that tokens are looked up in, as some accounts have it. */
double embedded_flop(struct sheet *sh, const struct workload *w, double seq_token, bool causal);
/* Backward: twice the forward pass. */
double backward_flop(struct sheet *sh, const struct workload *w, double seq_token, bool causal);
/* Parameters that a token is multiplied with: all active ones but the tables it is looked up in. */
double multiplied_params(struct sheet *sh, const struct workload *w);

#endif
