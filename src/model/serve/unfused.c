/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Prompts in llama.cpp: weights are unpacked to fp16 in front of every product, activations are fp32, the scores of
 * attention are computed without a mask and pass through memory.  Cards are held back by their power.  Several GPUs
 * each take some layers; parts of the prompt follow one another through them until the launch queue of 1024 entries is
 * full. The equation and its constants were fitted to published prompt speeds: hwdb/engines.
 */
#include "model/serve/serve.h"

static bool
is_packed(const struct serve_setup *s)
{
	return s->precision.mlp.w_byte < 2;
}

static double
kernel_count(struct sheet *sh, const struct serve_setup *s)
{
	TAKE(sh, n_kernels, is_packed(s) ? s->engine->unfused.n_packed_kernels : s->engine->unfused.n_kernels);
	LET(sh, n_launches, n_kernels);
	return n_launches;
}

/* Elements of a layer's matrices. */
static double
layer_elements(struct sheet *sh, const struct serve_setup *s, const struct block *b)
{
	TAKE(sh, hidden, s->model->hidden);
	FROM_STRUCT(sh, b->attention, n_heads, n_kv_heads, head_dim);
	TAKE(sh, width, b->mlp.width);
	TAKE(sh, n_matrices, b->mlp.gated ? 3.0 : 2.0);
	LET(sh, n_elements, hidden * (2 * n_heads + 2 * n_kv_heads) * head_dim + n_matrices * hidden * width);
	return n_elements;
}

static double
reached_rate(struct sheet *sh, const struct serve_setup *s, const struct unfused_gpu *gpu)
{
	TAKE(sh, peak_frac, s->engine->unfused.peak_frac);
	TAKE(sh, peak_flop_per_s, gpu->peak_flop_per_s);
	double reached_flop_per_s;
	if (datum_given(gpu->limit_flop_per_s)) {
		TAKE(sh, limit_flop_per_s, gpu->limit_flop_per_s);
		SET(sh, reached_flop_per_s, fmin(peak_frac * peak_flop_per_s, limit_flop_per_s));
	} else
		SET(sh, reached_flop_per_s, peak_frac * peak_flop_per_s);
	return reached_flop_per_s;
}

double
unfused_layer(struct sheet *sh, const struct serve_setup *s, const struct unfused_gpu *gpu, const struct block *b,
    double n_new, double context)
{
	const struct engine_unfused *u = &s->engine->unfused;

	GIVEN(sh, n_new, context);
	TAKE(sh, hidden, s->model->hidden);
	FROM_STRUCT(sh, b->attention, n_heads, head_dim);
	TAKE(sh, wide_byte, 2.0);
	TAKE(sh, fp32_byte, 4.0);
	TAKE(sh, mem_frac, u->mem_frac);
	TAKE(sh, mem_byte_per_s, gpu->mem_byte_per_s);
	FROM(sh, u, n_stream_passes, n_score_passes, launch_s);
	CALL(sh, reached_flop_per_s, reached_rate(sh, s, gpu));
	CALL(sh, n_elements, layer_elements(sh, s, b));
	CALL(sh, n_launches, kernel_count(sh, s));
	LET(sh, reached_byte_per_s, mem_frac * mem_byte_per_s);
	LET(sh, product_flop, 2 * n_new * n_elements);
	LET(sh, product_s, fmax(product_flop / reached_flop_per_s, wide_byte * n_elements / reached_byte_per_s));
	double unpack_s;
	if (is_packed(s)) {
		TAKE(sh, w_elem_byte, s->precision.mlp.w_byte);
		SET(sh, unpack_s, n_elements * (w_elem_byte + wide_byte) / reached_byte_per_s);
	} else
		SET(sh, unpack_s, 0);
	LET(sh, stream_s, n_stream_passes * fp32_byte * n_new * hidden / reached_byte_per_s);
	LET(sh, score_flop, 4 * n_new * context * n_heads * head_dim);
	LET(sh, score_s,
	    score_flop / reached_flop_per_s +
	        n_score_passes * fp32_byte * n_new * context * n_heads / reached_byte_per_s);
	LET(sh, layer_s, product_s + unpack_s + stream_s + score_s + n_launches * launch_s);
	return layer_s;
}

static double
block_part(struct sheet *sh, const struct serve_setup *s, const struct unfused_gpu *gpu, const struct block *b,
    double n_new, double context)
{
	TAKE(sh, n_layers, b->count);
	CALL(sh, layer_s, unfused_layer(sh, s, gpu, b, n_new, context));
	LET(sh, block_s, n_layers * layer_s);
	return block_s;
}

double
unfused_part(struct sheet *sh, const struct serve_setup *s, const struct unfused_gpu *gpu, double n_new, double context)
{
	SUM(sh, part_s, i, s->model->n_blocks, block_part(sh, s, gpu, &s->model->blocks[i], n_new, context));
	return part_s;
}

double
unfused_gain(struct sheet *sh, const struct serve_setup *s, double n_parts)
{
	GIVEN(sh, n_parts);
	TAKE(sh, pp, s->layout.pp);
	TAKE(sh, n_layers, s->model->n_layers);
	TAKE(sh, queue, s->engine->unfused.queue);
	CALL(sh, n_launches, kernel_count(sh, s));
	LET(sh, pipeline, n_parts * pp / (n_parts + pp - 1));
	LET(sh, queued, fmax(1, queue * pp / (n_layers * n_launches)));
	LET(sh, gain, fmin(pipeline, queued));
	return gain;
}

/* The i-th part of a prompt of isl tokens. */
static double
prompt_part(struct sheet *sh, const struct serve_setup *s, const struct unfused_gpu *gpu, double isl, int i)
{
	const double most = s->engine->unfused.batch_token.value, context = fmin(isl, (i + 1) * most);

	CALL(sh, part_s, unfused_part(sh, s, gpu, context - i * most, context));
	return part_s;
}

double
unfused_prompt(struct sheet *sh, const struct serve_setup *s, const struct unfused_gpu *gpu, double isl)
{
	GIVEN(sh, isl);
	TAKE(sh, most, s->engine->unfused.batch_token.value);
	LET(sh, n_parts, ceil(isl / most));
	SUM(sh, parts_s, i, (int)n_parts, prompt_part(sh, s, gpu, isl, i));
	CALL(sh, gain, unfused_gain(sh, s, n_parts));
	LET(sh, prompt_s, parts_s / gain);
	return prompt_s;
}

double
row_split_step(struct sheet *sh, const struct serve_setup *s, double n_gpus, double one_s)
{
	GIVEN(sh, n_gpus, one_s);
	TAKE(sh, host_s, s->engine->host_s);
	TAKE(sh, sync_s, s->engine->row_sync_s);
	TAKE(sh, n_layers, s->model->n_layers);
	LET(sh, step_s, host_s + (one_s - host_s) / n_gpus + n_gpus * n_layers * sync_s);
	return step_s;
}
