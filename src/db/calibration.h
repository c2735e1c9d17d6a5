/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Calibration files as written; private to calibration*.c and transfer.c.  Shares are read into the structs that later
 * hold rates.
 */
#ifndef RIDGE_DB_CALIBRATION_H
#define RIDGE_DB_CALIBRATION_H

#include "db/db.h"

#define FIGURE(type, key_, q, member, low, high, help_)                                                                \
	{                                                                                                              \
		.key = key_, .kind = FIELD_QUANTITY, .quantity = q, .offset = offsetof(type, member), .min = low,      \
		.max = high, .help = help_                                                                             \
	}
#define NEEDED(type, key_, q, member, low, high, help_)                                                                \
	{                                                                                                              \
		.key = key_, .kind = FIELD_QUANTITY, .quantity = q, .offset = offsetof(type, member), .min = low,      \
		.max = high, .required = true, .help = help_                                                           \
	}
/* A row of calibration.def in a schema of `type`. */
#define FAMILY_FIELD(type, key_, member, form, is_required, low, high, title)                                          \
	{                                                                                                              \
		.key = key_, .kind = FIELD_QUANTITY, .quantity = (enum quantity)QUANTITY_##form,                       \
		.offset = offsetof(type, member), .min = low, .max = high, .required = is_required, .help = title      \
	}
enum {
#define FORM(id, quantity, reference) QUANTITY_##id = quantity,
#include "model/hw/calibration.def"
#undef FORM
};
#define SCHEMA(var, name_, type, rows)                                                                                 \
	static const struct schema var = {name_, sizeof(type), rows, sizeof rows / sizeof *rows}

/* --- the file as it is written --------------------------------------------------------------------------- */

struct reference {
	struct datum peak_flop_per_s[N_PEAKS];
	struct datum mem_byte_per_s, clock_hertz, l2_byte, n_sms;
};

/* custom_calibration without its engine */
struct custom_file {
#define CUSTOM FIGURE_MEMBER
#include "model/hw/calibration.def"
#undef CUSTOM
};

/* Nothing but datums, so that all of them can be given the file's citation in one pass. */
struct file_figures {
	struct reference reference;
	struct gemm_calibration gemm, by_dtype[N_DTYPES], weight_only[N_DTYPES];
	struct collective_calibration collective[N_COLLECTIVES];
	struct custom_file custom;
	struct context_calibration context, mla_context, context_by[N_ATTENTION_FITS];
	struct generation_calibration generation, mla_generation, generation_by[N_ATTENTION_FITS];
	struct moe_calibration moe[N_DTYPES], moe_weight_only[N_DTYPES];
	struct network_calibration network[N_COLLECTIVES];
	struct launch_calibration launch;
	struct datum call_s;
	struct datum fma_flop_per_s[N_PEAKS];
};

struct residuals {
	int n;
	struct residual *list;
};

struct file {
	const char *gpu, *fabric, *host, *backend, *source, *date, *note, *kept, *fitted;
	struct datum n_points;
	struct file_figures fig;
	struct memory_calibration memory;
	struct residuals residuals;
};

/* `residual`: from what was predicted to its errors. */
bool bind_residuals(struct binder *b, const struct node *n, void *out);
/* `memory`: from levels, the smallest first, to their plateaus. */
bool bind_memory(struct binder *b, const struct node *n, void *out);

/* Fractions into rates.  False when one refers to a figure that the file does not give. */
bool convert_kernels(struct binder *b, struct file_figures *f, struct calibration *out);
bool convert_attention(struct binder *b, struct file_figures *f, struct calibration *out);
void convert_collectives(const struct file_figures *f, const char *backend, struct calibration *out);

#endif
