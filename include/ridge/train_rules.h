/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From a question about training, which leaves much open, to a job for the model of train.h; what cannot be answered;
 * and which answers are less sure than others, and why.
 */
#ifndef RIDGE_TRAIN_RULES_H
#define RIDGE_TRAIN_RULES_H

#include "ridge/train.h"

/* A question.  Datums that are absent were not said. */
struct train_ask {
	const struct workload *model;
	const struct stack *stack;
	struct train_machine machine;
	bool settled; /* layout, batch and recomputation are decided: what published rows leave open is not guessed */
	struct datum n_gpus, dp, tp, pp, vp, cp, ep, etp;
	struct datum zero;  /* 0..3; absent: what the stack does */
	struct datum shard; /* GPUs that share one sharded copy; absent: all replicas */
	int sp;             /* 1 yes, 0 no, -1 not said */
	int n_stage_layers; /* layers of each (virtual) stage; 0: an even split */
	const int *stage_layers;
	struct datum n_global_sequences, n_sequences, seq_length, packed_length;
	enum dtype dtype;
	bool recompute_given;
	enum recompute recompute;
	double recompute_n;
	unsigned modules;
	bool compiled, adapters, dropout; /* dropout: of a settled question; else that of the stack */
	enum attention_form attention;    /* N_ATTENTION_FORMS: the stack's */
	enum dispatcher dispatcher;       /* DISPATCH_BY_MODEL: not said */
	double base_byte, optimizer_byte, imbalance;
	enum context_form context;
	bool zero_bubble, balanced_stages;
	struct datum n_mtp; /* absent: those of the model */
	double card_byte;   /* 0: not known */
};

enum train_refusal {
	TRAIN_ANSWERED,
#define TRAIN_REFUSAL(id, text) TRAIN_REFUSES_##id,
#include "ridge/train_rules.def"
#undef TRAIN_REFUSAL
	N_TRAIN_REFUSALS,
};

enum train_warning {
#define TRAIN_WARNING(id, factor, low, high, told, text) TRAIN_WARNS_##id,
#include "ridge/train_rules.def"
#undef TRAIN_WARNING
	N_TRAIN_WARNINGS,
};

/* What was decided for the asker. */
enum train_assumption {
#define TRAIN_ASSUMPTION(id, text) TRAIN_ASSUMES_##id,
#include "ridge/train_rules.def"
#undef TRAIN_ASSUMPTION
	N_TRAIN_ASSUMPTIONS,
};

/* What is known of a question beside the job that came of it. */
struct train_doubts {
	bool rowwise;     /* 8-bit scales by row, in kernels of their own */
	bool transferred; /* kernels of another GPU */
	bool ultra;       /* Blackwell Ultra: its experts and attention were hardly measured */
	bool capped;      /* a variant with less power or clock than the fitted one */
	bool dispatcher_open, micro_batch_open, precision_open, evaluation;
	double n_nodes;
};

struct train_answer {
	struct train_job job;
	struct train_terms terms;
	enum train_refusal refusal;
	unsigned assumed, warned; /* bits */
	double band;              /* factor on the half-width of the interval */
	double low, high;         /* at least this wide, as factors on the step time; 1 and 1: no such bound */
	double step_s;            /* with what row-wise scaling costs */
};

const char *train_refusal_text(enum train_refusal r);
const char *train_warning_text(enum train_warning w);
/* Whether people are told, or the interval alone is wider. */
bool train_warning_told(enum train_warning w);
const char *train_assumption_text(enum train_assumption a);

/* A row that names the GPUs of a node: they bound the NVLink domain, unless it joins many nodes as NVL72 does. */
void train_machine_node(struct train_machine *m, double n_node_gpus);
/* Fills a->job; a->refusal says what is missing. */
void train_fill(const struct train_ask *ask, struct train_answer *a);
/* Why no step of this job can be told, by arithmetic alone. */
enum train_refusal train_impossible(const struct train_job *job);
/* Warnings, band and refusals that need the terms. */
void train_judge(const struct train_doubts *d, struct train_answer *a);
/* All of it: fill, predict, judge.  Nothing is recorded; with doubts that follow from the question added to `d`. */
void train_answer(const struct train_ask *ask, const struct train_doubts *d, struct train_answer *out);

/* Bytes per token that a layer keeps for its backward pass, roughly: what decides whether people recompute. */
double train_layer_kept(const struct train_job *job, const struct block *block);
/* Why the layers of this model have no time here, or NULL. */
const char *train_lacks(const struct workload *w);

#endif
