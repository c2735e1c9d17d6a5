/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a row of published memory to the inputs of `ridge memory`. */
#ifndef RIDGE_VALIDATE_MEMORY_H
#define RIDGE_VALIDATE_MEMORY_H

#include "ask/validate/validate.h"
#include "ridge/memory.h"

/* What a row asks of the model of memory. */
enum wanted { WANT_PEAK, WANT_WEIGHTS, WANT_ACTIVATIONS, WANT_POOL, WANT_TOKENS };

struct memory_framework;

struct memory_row {
	struct arena *arena;
	const struct validate_row *row;
	const struct memory_framework *framework;
	const struct node *inputs;
	enum wanted wanted;
	bool infer;
	const char *warning; /* what had to be guessed */
};

/* Rank of the adapters on 16-bit and on quantised weights, and the maps that have them. */
struct memory_recipe {
	const char *folder, *model; /* its folder begins like this; the model where that is called otherwise */
	double rank, quantised_rank;
	const char *targets;
};

const struct memory_recipe *memory_recipe_of_hub(const char *model);
/* Fill the inputs of q->row; else why there are none. */
const char *memory_row_ask(struct memory_row *q);
/* A job of the memory model, and the run that read it: its warnings are the row's. */
struct memory_bound {
	struct run run;
	struct memory_job job;
	const struct gpu *gpu;
};
/* Inputs of `ridge memory` as a job; else why they are none. */
const char *memory_row_bind(struct validation *v, const struct node *inputs, struct memory_bound *out);
/* The prediction of a case, with its parts, interval and safe value; of the first stage alone, or the largest. */
void memory_row_answer(struct memory_bound *b, enum wanted wanted, bool first_stage, struct score_case *c);
/* A number that the note gives behind some words: `gradient accumulation 8`; NaN: none. */
double row_noted(const struct validate_row *row, const char *words);
/* Whether the note has these words, which are written small. */
bool row_notes(const struct validate_row *row, const char *words);
/* The card as its driver reports it: `RTX 3090 (23.58 GiB)`; 0 where it is not printed. */
double row_card_gib(const struct validate_row *row);
/* Inputs of what a text says; NULL: nothing that is known.  A format of frozen weights; a type of quantised training;
 * maps with adapters; modules of a layer. */
const char *memory_quant_said(const char *text);
const char *memory_dtype_said(const char *text);
const char *memory_targets_said(struct arena *a, const char *text);
const char *memory_modules_said(struct arena *a, const char *text);
/* Whether the tables of a row's framework print GB and mean GiB. */
bool memory_row_is_binary(const struct validate_row *row);

#endif
