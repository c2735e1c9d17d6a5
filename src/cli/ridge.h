/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program as a function, so that tests can look at the sheets of real command lines. */
#ifndef RIDGE_RIDGE_H
#define RIDGE_RIDGE_H

#include "ridge/sheet.h"

/* Called with every sheet that a command filled, before it is printed; NULL: nobody looks. */
typedef void sheet_inspector(const struct sheet *sh, const char *command);

/* Returns the exit status. */
int ridge_main(int argc, char **argv, sheet_inspector *inspect);

#endif
