/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two measurement files: which kinds of kernel became slower, and on which shapes. */
#ifndef RIDGE_ASK_COMPARE_COMPARE_H
#define RIDGE_ASK_COMPARE_COMPARE_H

#include "cli/cli.h"

struct compare_files {
	struct word baseline, current;
	struct datum threshold, significance, seed, worst;
};

/* Are these two measurement files, rather than numbers or files of numbers? */
bool compare_are_files(const struct words *baseline, const struct words *current);
enum answer compare_files(struct run *r, const struct compare_files *in);

#endif
