/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Diagnostics: every fault with its place, what is wrong and what to do; all of them in one run.
 * Form: `file:line:column: error: what`, then `hint: what to do`.  Options say `ridge memory: --gpu: what`.
 */
#ifndef RIDGE_DIAG_H
#define RIDGE_DIAG_H

#include "ridge/sheet.h"

#include <stdio.h>

struct arena;

struct diag;

enum severity { SEVERITY_WARNING, SEVERITY_ERROR };

struct diag *diag_new(struct arena *a);
/* Messages that belong to no file begin with this, `ridge memory`. */
void diag_program(struct diag *d, const char *program);

void diag_error(struct diag *d, struct source at, const char *format, ...) __attribute__((format(printf, 3, 4)));
void diag_warning(struct diag *d, struct source at, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* What to do about the last message. */
void diag_hint(struct diag *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The machine failed us (I/O): the exit status becomes 3. */
void diag_failure(struct diag *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

int diag_errors(const struct diag *d);
int diag_warnings(const struct diag *d);
bool diag_failed(const struct diag *d);
/* Forget what was reported (a JSON line was answered; the next one begins). */
void diag_clear(struct diag *d);

/* Print all messages in order.  Colour only where it was asked for. */
void diag_print(const struct diag *d, FILE *to, bool colour);
/* Message i for machines: text without place, or NULL past the end. */
const char *diag_message(const struct diag *d, int i, struct source *at, const char **hint, enum severity *severity);

#endif
