/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Launching kernels: what the host needs for it, what of that the GPU waits for, and what graphs and fusion save. */
#ifndef RIDGE_LAUNCH_H
#define RIDGE_LAUNCH_H

#include "ridge/op.h"

double launch_count(struct sheet *sh, double n_layers, double n_kernels_per_layer);
/* How often an operator of a list is launched. */
double launch_times(struct sheet *sh, const struct op *op);
/* Time of the host for all of them. */
double launch_host(struct sheet *sh, double n_launches, double launch_s);
/* One graph instead: every node is cheaper, and the graph itself is launched once. */
double launch_graph(struct sheet *sh, double n_launches, double node_s, double graph_s);

/* A step: the host runs ahead of the GPU, or waits for every kernel. */
double launch_step(struct sheet *sh, double host_s, double device_s);
double launch_step_blocking(struct sheet *sh, double host_s, double device_s);
/* What the GPU waits for. */
double launch_exposed(struct sheet *sh, double step_s, double device_s);
double launch_idle(struct sheet *sh, double exposed_s, double step_s);
/* How long a kernel has to run to hide the launch of the next. */
double launch_kernel(struct sheet *sh, double device_s, double n_launches);
/* Launches that the GPU's time hides. */
double launch_hidden(struct sheet *sh, double device_s, double launch_s);

/* How many times fewer. */
double launch_fewer(struct sheet *sh, double n_before, double n_after);
/* Launches when every n_before of them become n_after. */
double launch_fused(struct sheet *sh, double n_launches, double n_before, double n_after);

/* --- fusion: operators of which each reads what the one before it wrote ---------------------------------- */

struct chain {
	int n;
	const struct op *ops;
};

/* Whether an operator of this kind can stand in a chain. */
bool fusion_takes(enum op_kind kind);
/* Elements that it reads from the one before it, and that it hands on. */
double fusion_in(struct sheet *sh, const struct op *op);
double fusion_out(struct sheet *sh, const struct op *op);
/* Bytes that it needs beside the stream: weights, other operands. */
double fusion_own(struct sheet *sh, const struct op *op);

/* Bytes of the chain as it is, and as one kernel that keeps what lies between in registers or shared memory. */
double fusion_apart(struct sheet *sh, const struct chain *c);
double fusion_together(struct sheet *sh, const struct chain *c);
double fusion_saved(struct sheet *sh, double apart_byte, double together_byte);
double fusion_saved_frac(struct sheet *sh, double apart_byte, double together_byte);
/* Time that these bytes take at best. */
double fusion_time(struct sheet *sh, double size_byte, double mem_byte_per_s);

#endif
