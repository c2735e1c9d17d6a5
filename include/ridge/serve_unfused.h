/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Engines that run every operator by itself, as llama.cpp does: prompts, and GPUs that share layers. */
#ifndef RIDGE_SERVE_UNFUSED_H
#define RIDGE_SERVE_UNFUSED_H

#include "ridge/serve.h"

/* What prompts run on.  limit_flop_per_s is what the power supply allows, absent where nobody knows. */
struct unfused_gpu {
	struct datum peak_flop_per_s, mem_byte_per_s, limit_flop_per_s;
};

/* One layer for a part of n_new tokens of a prompt, the last of which sees `context` tokens. */
double unfused_layer(struct sheet *sh, const struct serve_setup *s, const struct unfused_gpu *gpu,
    const struct block *b, double n_new, double context);
/* All layers. */
double unfused_part(
    struct sheet *sh, const struct serve_setup *s, const struct unfused_gpu *gpu, double n_new, double context);
/* How many times faster n_parts parts of a prompt go through pp GPUs than through one: a pipeline, as far as launches
 * can be queued. */
double unfused_gain(struct sheet *sh, const struct serve_setup *s, double n_parts);
/* A whole prompt. */
double unfused_prompt(struct sheet *sh, const struct serve_setup *s, const struct unfused_gpu *gpu, double isl);
/* A token when every matrix is cut in rows over n_gpus, from the time of one GPU that does everything. */
double row_split_step(struct sheet *sh, const struct serve_setup *s, double n_gpus, double one_s);

#endif
