/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calibration files as they are written; private to calibration*.c. */
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
#define SCHEMA(var, name_, type, rows)                                                                                 \
	static const struct schema var = {name_, sizeof(type), rows, sizeof rows / sizeof *rows}

/* --- the file as it is written --------------------------------------------------------------------------- */

struct reference {
	struct datum peak_flop_per_s[N_PEAKS];
	struct datum mem_byte_per_s, clock_hertz, l2_byte, n_sms, nic_byte_per_s;
};

struct gemm_file {
	struct datum eta_c, eta_m, base_s, feed, tile_s, k_step, wave, derate, cache, quantise_s, eta_q, reduction_s,
	    norm;
};

struct custom_file {
	struct datum one_s, one_per_rank_s, one_byte_per_s, two_s, two_per_rank_s, two_byte_per_s;
};

struct context_file {
	struct datum eta_a, base_s, block_s, eta_x, tile, eta_kv, eta_l2, hold, fade, derate, norm, token_s;
};

struct generation_file {
	struct datum eta_m, base_s, eta_q, split_s, item_s, eta_c, eta_l2, hold, fade, norm, own_item_s;
};

struct moe_file {
	struct datum eta_c, eta_m, base_s, feed, tile_s, k_step, norm, permute_byte_per_s, route_byte_per_s, eta_l2,
	    hold, fade;
};

struct network_file {
	struct datum base_s, ramp_s, nic_frac, n_nodes;
};

/* Nothing but datums, so that all of them can be given the file's citation in one pass. */
struct file_figures {
	struct reference reference;
	struct gemm_file gemm, by_dtype[N_DTYPES], weight_only[N_DTYPES];
	struct collective_calibration collective[N_COLLECTIVES];
	struct custom_file custom;
	struct context_file context, mla_context, context_by[N_ATTENTION_FITS];
	struct generation_file generation, mla_generation, generation_by[N_ATTENTION_FITS];
	struct moe_file moe[N_DTYPES];
	struct network_file network[N_COLLECTIVES];
	struct launch_calibration launch;
	struct datum call_s;
	struct datum fma_flop_per_s[N_PEAKS];
};

struct residuals {
	int n;
	struct residual *list;
};

struct file {
	const char *gpu, *fabric, *host, *backend, *source, *date, *note, *kept;
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
bool convert_kernels(struct binder *b, const struct file_figures *f, struct calibration *out);
bool convert_attention(struct binder *b, const struct file_figures *f, struct calibration *out);
void convert_collectives(const struct file_figures *f, const char *backend, struct calibration *out);

#endif
