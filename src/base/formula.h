/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Formulas: arithmetic over names, read from the text that LET recorded, from operator lists in YAML and from --until.
 * + - * / and unary minus, parentheses, numbers, and the functions of formula_functions.
 */
#ifndef RIDGE_FORMULA_H
#define RIDGE_FORMULA_H

#include "ridge/units.h"

struct formula_value {
	double value;
	struct dim dim;
	bool literal; /* made of numbers only: takes the dimension that is needed when it is 0, a count suffix always */
	bool whole;   /* an integer literal, as C reads it */
};

/* How names are found; false when there is no such name. */
struct formula_names {
	bool (*find)(const void *context, const char *name, struct formula_value *out);
	const void *context;
};

struct formula_fault {
	char what[200];
	int column; /* from 1 */
};

/* Evaluate text as C would, bit for bit, and work out its dimension.  False with `fault` filled. */
bool formula_evaluate(
    const char *text, struct formula_names names, struct formula_value *out, struct formula_fault *fault);

/* Call `each` for every name in the text, in order; functions are not names. */
void formula_each_name(const char *text, void (*each)(void *context, const char *name), void *context);

/* True when a value of dimension `from` may be given to a name of dimension `to`: equal, or a pure number made a count.
 */
bool formula_assignable(struct formula_value from, struct dim to);

#endif
