/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A bound training job as options of a framework. */
#ifndef RIDGE_ASK_LAUNCH_LAUNCH_H
#define RIDGE_ASK_LAUNCH_LAUNCH_H

#include "cli/cli.h"
#include "model/memory/memory.h"
#include "model/train/train.h"

struct launch_in {
#define LAUNCH_OPTIONS(X)                                                                                              \
	X(0, emit, "emit", "emit", WORD, "FRAMEWORK", "megatron|bridge|torchtitan|deepspeed", NULL,                    \
	    "print the options of this framework instead: megatron, bridge, torchtitan or deepspeed")
	LAUNCH_OPTIONS(OPTION_MEMBER)
};
extern const struct option launch_rows[0 LAUNCH_OPTIONS(OPTION_COUNT)];

/* The command line or file of this framework is the document of the answer; what it cannot say is a warning.
 * ANSWERED_NO where that changes the job. */
enum answer launch_show(
    struct run *r, struct word framework, const struct memory_job *memory, const struct train_answer *a);

#endif
