/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values inside words (`name=5ms`), and what numbers must be. */
#ifndef RIDGE_VALUES_H
#define RIDGE_VALUES_H

#include "cli/command.h"

/* An error with its place and what to do; false. */
bool run_refuse(struct run *r, struct source at, const char *what, const char *hint);
/* A quantity above 0 that stands in a word. */
bool run_value(struct run *r, struct source at, const char *text, enum quantity q, struct datum *out);
/* Above 0; between 0 and 1, with both or without.  What is absent is all right. */
bool run_positive(struct run *r, const char *option, struct datum d);
bool run_fraction(struct run *r, const char *option, struct datum d);
bool run_inside(struct run *r, const char *option, struct datum d);

#endif
