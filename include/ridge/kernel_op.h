/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time of one operator of a list on a GPU whose parameters were fitted to measurements: which kernel runs it. */
#ifndef RIDGE_KERNEL_OP_H
#define RIDGE_KERNEL_OP_H

#include "ridge/kernel_attention.h"
#include "ridge/op.h"

enum kernel_kind {
	KERNEL_NONE,       /* nobody fitted one */
	KERNEL_PRODUCT,    /* a matrix product */
	KERNEL_BATCHED,    /* many small products in one launch, tiled as one */
	KERNEL_EXPERTS,    /* half of the experts of a layer: up or down */
	KERNEL_CONTEXT,    /* attention over a prompt */
	KERNEL_GENERATION, /* attention of one new token */
	KERNEL_STREAM,     /* traffic without arithmetic to speak of */
	N_KERNEL_KINDS,
};

/* What the time of an operator needs to be known of a machine. */
struct kernel_machine {
	const struct calibration *fit; /* NULL: nothing was fitted */
	enum dtype dtype;
	struct datum peak_flop_per_s, mem_byte_per_s; /* of the datasheet */
};

const char *kernel_kind_name(enum kernel_kind k);
/* The kernel that has a fit for this operator in this type. */
enum kernel_kind kernel_of(const struct kernel_machine *m, const struct op *op);
/* The attention that an operator asks for; only of those that kernel_of calls attention. */
struct attention_shape kernel_attention_shape(const struct op *op);
/* Latent attention of DeepSeek's sizes, which has fits of its own. */
bool kernel_is_latent(const struct kernel_machine *m, const struct op *op);
/* Whether what operator i does is measured with the experts beside it: their routing and their activation. */
bool kernel_inside_experts(const struct kernel_machine *m, const struct op *ops, int n, int i);

/* Once; at the roof where there is no kernel. */
double kernel_op_time(struct sheet *sh, const struct kernel_machine *m, const struct op *op);
/* As often as it runs. */
double kernel_op_total(struct sheet *sh, const struct kernel_machine *m, const struct op *op);
/* The same of operator i of n; 0 where the experts beside it have its time. */
double kernel_list_time(struct sheet *sh, const struct kernel_machine *m, const struct op *ops, int n, int i);

#endif
