/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a row of published memory to the inputs of `ridge memory`. */
#ifndef RIDGE_VALIDATE_MEMORY_H
#define RIDGE_VALIDATE_MEMORY_H

#include "cli/validate.h"

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

/* Fill the inputs of q->row; else why there are none. */
const char *memory_row_ask(struct memory_row *q);
/* Whether the tables of a row's framework print GB and mean GiB. */
bool memory_row_is_binary(const struct validate_row *row);

#endif
