/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a model keeps of a sequence, by kind of layer, and how an engine keeps it. */
#ifndef RIDGE_STATE_SHOW_H
#define RIDGE_STATE_SHOW_H

#include "cli/command.h"

struct state_view {
	const struct workload *w;
	double seq_token, block_token, kv_elem_byte, tp;
	struct datum batch, step_token; /* sequences that run at once; tokens of a step, or absent */
};

bool state_has_windows(const struct workload *w);
/* What the part that does not grow is made of. */
const char *state_constant_name(const struct workload *w);
/* Rows behind those of one sequence. */
void state_show(struct run *r, const struct state_view *v);

#endif
