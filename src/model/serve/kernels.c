/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kernels' parameters as a serving engine finds them.  Calibrations were fitted to kernels alone: here the
 * backend's attention and collectives replace the consensus, products of all types take the shape parameters of the
 * 16-bit ones with the peak that their type reaches, and the engine's factors are applied.  Rates are those of the GPU
 * in hand already.
 */
#include "model/serve/parts.h"

#include "model/kernel/kernel.h"
#include "model/serve/serve.h"

#include <string.h>

static void
scale(struct datum *d, double factor)
{
	d->value *= factor;
}

static void
take_own(struct calibration *out, const struct calibration *own)
{
	if (own->has_context) {
		out->has_context = true;
		out->context = own->context;
	}
	if (own->has_generation) {
		out->has_generation = true;
		out->generation = own->generation;
	}
	for (int i = 0; i < N_ATTENTION_FITS; i++) {
		if (own->attention_by[i].has_context) {
			out->attention_by[i].has_context = true;
			out->attention_by[i].context = own->attention_by[i].context;
		}
		if (own->attention_by[i].has_generation) {
			out->attention_by[i].has_generation = true;
			out->attention_by[i].generation = own->attention_by[i].generation;
		}
	}
	for (int t = 0; t < N_DTYPES; t++) {
		if (own->moe[t].peak_flop_per_s.value > 0)
			out->moe[t] = own->moe[t];
		if (own->moe_weight_only[t].peak_flop_per_s.value > 0)
			out->moe_weight_only[t] = own->moe_weight_only[t];
	}
	if (own->has_mla_context) {
		out->has_mla_context = true;
		out->mla_context = own->mla_context;
	}
	if (own->has_mla_generation) {
		out->has_mla_generation = true;
		out->mla_generation = own->mla_generation;
	}
	if (own->n_custom > 0) {
		out->n_custom = own->n_custom;
		memcpy(out->custom, own->custom, sizeof out->custom);
	}
	for (int t = 0; t < N_DTYPES; t++)
		if (t != DTYPE_BF16 && own->gemm[t].peak_flop_per_s.value > 0)
			out->gemm[t] = own->gemm[t];
}

/* Fits to a cache that a benchmark repeats may tell memory from L2 badly.  Weights and caches come from the same
 * memory: no kernel reads a cache faster than products read weights that nobody else has touched, nor above this share
 * of the datasheet's bandwidth.  Fits that know of no L2 have nothing to confuse. */
static const double stream_most_frac = 0.95;

static void
limit_stream(struct generation_calibration *p, const struct calibration *c)
{
	const double most = stream_most_frac * c->ref_mem_byte_per_s.value;

	if (p->l2_byte_per_s.value > 0)
		p->mem_byte_per_s.value =
		    fmin(p->mem_byte_per_s.value, fmin(most, c->gemm[DTYPE_BF16].mem_byte_per_s.value));
}

static void
limit_streams(struct calibration *c)
{
	limit_stream(&c->generation, c);
	for (int i = 0; i < N_ATTENTION_FITS; i++)
		limit_stream(&c->attention_by[i].generation, c);
}

double
serve_base_factor(const struct serve_setup *s)
{
	const struct engine_architecture *a = s->architecture;
	const struct serve_precision *p = &s->precision;
	const bool narrow = p->attention.a_byte < 2 || p->mlp.a_byte < 2 || p->experts.a_byte < 2;

	if (!a)
		return 1;
	return narrow && datum_given(a->base8_factor) ? a->base8_factor.value : datum_or(a->base_factor, 1);
}

static void
scale_bases(struct calibration *c, const struct serve_setup *s)
{
	const double old = serve_base_factor(s);
	const double attention = datum_or(s->engine->attention_base, 1) * old;

	for (int t = 0; t < N_DTYPES; t++)
		scale(&c->gemm[t].base_s, datum_or(s->engine->gemm_base, 1) * old);
	scale(&c->context.base_s, attention);
	scale(&c->generation.base_s, attention);
	scale(&c->mla_context.base_s, attention);
	scale(&c->mla_generation.base_s, attention);
	for (int i = 0; i < N_ATTENTION_FITS; i++) {
		scale(&c->attention_by[i].context.base_s, attention);
		scale(&c->attention_by[i].generation.base_s, attention);
	}
}

/* Whether kernels of a type cut products as 16-bit ones do, so that its peak is to be had with their tiles. */
static bool
has_wide_tiles(const struct calibration *c, enum dtype t)
{
	const struct gemm_calibration *own = &c->gemm[t], *wide = &c->gemm[DTYPE_BF16];

	return !(own->norm.value > 0) ||
	    (own->norm.value == wide->norm.value && own->reduction_s.value == wide->reduction_s.value);
}

/* The peak at which the tiles of 16-bit products take as long for a large product as the type's own kernels do. */
static struct datum
as_wide(const struct calibration *c, enum dtype t)
{
	enum { STEPS = 3 };
	const double size = 8192;
	struct gemm_shape shape = gemm_shape_of(size, size, size, t);
	struct calibration wide = *c;
	struct datum peak = c->gemm[t].peak_flop_per_s;

	shape.quantise = false;
	wide.gemm[t] = c->gemm[DTYPE_BF16];
	const double own_s = gemm_time(NULL, &shape, c, t);
	for (int i = 0; i < STEPS; i++) {
		wide.gemm[t].peak_flop_per_s = peak;
		peak.value *= gemm_time(NULL, &shape, &wide, t) / own_s;
	}
	return peak;
}

/* The peak that products of a type reach: fitted, or the architecture's share of the datasheet's. */
static struct datum
reached_peak(const struct calibration *c, const struct serve_setup *s, const struct gpu *gpu, enum dtype t)
{
	const struct engine_architecture *a = s->architecture;
	struct datum wide = c->gemm[DTYPE_BF16].peak_flop_per_s;
	const struct datum fitted = c->gemm[t].peak_flop_per_s;
	struct datum peak = gpu ? gpu->peak_flop_per_s[dtype_peak(t)] : datum_absent(), share = datum_absent();

	if (t == DTYPE_BF16 || t == DTYPE_FP16) {
		if (a && datum_given(a->wide_frac))
			wide.value = a->wide_frac.value * c->ref_peak_flop_per_s.value;
		return wide;
	}
	if (a && dtype_peak(t) == PEAK_FP4)
		share = a->fp4_frac;
	if (a && t == DTYPE_FP8_BLOCK)
		share = a->block8_frac;
	if (a && t == DTYPE_TF32)
		share = a->tf32_frac;
	if (a && t == DTYPE_FP32)
		share = a->fp32_frac;
	if (datum_given(share) && datum_given(peak)) {
		peak.value *= share.value;
		return peak;
	}
	if (fitted.value > 0)
		return has_wide_tiles(c, t) ? fitted : as_wide(c, t);
	/* not measured: as near to its peak as 16-bit products come to theirs */
	if (datum_given(peak) && c->ref_peak_flop_per_s.value > 0)
		peak.value *= wide.value / c->ref_peak_flop_per_s.value;
	return peak;
}

/* Products of all types take the shape of the 16-bit ones. */
static void
fill_products(struct calibration *c, const struct serve_setup *s, const struct gpu *gpu)
{
	const struct gemm_calibration wide = c->gemm[DTYPE_BF16];
	struct datum peaks[N_DTYPES];

	for (int t = 0; t < N_DTYPES; t++)
		peaks[t] = reached_peak(c, s, gpu, (enum dtype)t);
	for (int t = 0; t < N_DTYPES; t++) {
		c->gemm[t] = wide;
		c->gemm[t].peak_flop_per_s = peaks[t];
	}
}

static struct datum
number(double value)
{
	return (struct datum){value, {NULL, 0, 0, NULL, false}};
}

/* Experts in mxfp4 run kernels of their own, with 8 or 16 bits of activations: as they were measured.  Marlin unpacks
 * them as it does 4-bit integers. */
static void
take_mxfp4(struct calibration *c, const struct serve_setup *s, const struct moe_calibration *narrow)
{
	const struct serve_format *f = &s->precision.experts;
	const enum dtype wide = s->architecture && s->architecture->marlin ? DTYPE_INT4 : DTYPE_MXFP4;
	const struct moe_calibration *p = f->a_byte >= 2 ? &c->moe_weight_only[wide] : narrow;

	if (f->w_byte > 0.5 && f->w_byte < 0.55 && p->peak_flop_per_s.value > 0)
		c->moe[f->type] = *p;
}

/* Take grouped GEMMs of block-scaled types as measured: no plain GEMM predicts them.  TensorRT-LLM's were fitted to its
 * performance tables, and with data-parallel attention experts run kernels that nobody measured (DeepEP). */
static bool
runs_measured(const struct serve_setup *s, enum dtype t)
{
	return strcmp(s->engine->backend, "trtllm") != 0 && !(s->layout.attention_dp && s->layout.ep > 1) &&
	    (t == DTYPE_FP8_BLOCK || t == DTYPE_NVFP4);
}

/* Grouped products of experts inside an engine: all rates are shares of the datasheet's or of plain products'. */
static void
fill_experts(struct calibration *c, const struct serve_setup *s)
{
	const struct engine_architecture *a = s->architecture;
	const double mem = c->ref_mem_byte_per_s.value;
	const double wide_frac = c->gemm[DTYPE_BF16].peak_flop_per_s.value / c->ref_peak_flop_per_s.value;
	const struct moe_calibration narrow = c->moe[DTYPE_MXFP4];

	for (int t = 0; t < N_DTYPES; t++) {
		const struct gemm_calibration *g = &c->gemm[t];
		if (runs_measured(s, (enum dtype)t) && c->moe[t].peak_flop_per_s.value > 0)
			continue;
		c->moe[t] = (struct moe_calibration){
		    .peak_flop_per_s = g->peak_flop_per_s,
		    .mem_byte_per_s = number(0.9 * mem),
		    .base_s = number(25e-6),
		    .feed_byte_per_s = g->feed_byte_per_s,
		    .tile_s = number(1.5e-6),
		    .k_step_s = g->k_step_s,
		    .norm = number(2.6),
		    .permute_byte_per_s = number(0.6 * mem),
		};
		if (a && datum_given(a->moe_peak_frac))
			scale(&c->moe[t].peak_flop_per_s, a->moe_peak_frac.value / wide_frac);
		if (a && datum_given(a->moe_feed_byte_per_s)) {
			c->moe[t].feed_byte_per_s = a->moe_feed_byte_per_s;
			c->moe[t].k_step_s = number(0);
		}
	}
	take_mxfp4(c, s, &narrow);
}

bool
serve_kernels(struct calibration *out, const struct serve_setup *s, const struct gpu *gpu,
    const struct calibration *consensus, const struct calibration *own)
{
	if (!consensus || (!gemm_calibrated(consensus, DTYPE_BF16) && !gemm_calibrated(consensus, DTYPE_FP16)))
		return false;
	*out = *consensus;
	/* one set for both 16-bit types; older GPUs have fp16 alone */
	if (!gemm_calibrated(out, DTYPE_BF16))
		out->gemm[DTYPE_BF16] = out->gemm[DTYPE_FP16];
	if (own && own != consensus)
		take_own(out, own);
	limit_streams(out);
	struct datum *mem = &out->gemm[DTYPE_BF16].mem_byte_per_s;
	if (gpu && gpu_has_gddr(gpu) && datum_given(s->engine->gddr_frac))
		mem->value =
		    fmax(mem->value, gpu_gddr_share(gpu, s->engine->gddr_frac.value) * out->ref_mem_byte_per_s.value);
	fill_products(out, s, gpu);
	fill_experts(out, s);
	scale_bases(out, s);
	return out->has_context && out->has_generation;
}

static bool
power_of_two(double x)
{
	return log2(x) == floor(log2(x));
}

bool
serve_core_attention(
    const struct workload *w, const struct engine *e, const struct engine_architecture *here, double kv_byte)
{
	const bool always = here && datum_given(here->core_element);

	for (int i = 0; i < w->n_blocks; i++) {
		const struct attention *a = &w->blocks[i].attention;
		if (w->blocks[i].mixer != MIXER_ATTENTION || a->kind != ATTENTION_HEADS)
			continue;
		if (always ||
		    (e->core_attention == CORE_UNEVEN && !power_of_two(a->n_heads.value / a->n_kv_heads.value)) ||
		    (e->core_attention == CORE_CHUNKED && datum_given(a->chunk)) ||
		    (e->core_attention == CORE_INT4 && kv_byte < 1))
			return true;
	}
	return false;
}

const struct engine_architecture *
engine_architecture(const struct engine *e, const struct gpu *gpu)
{
	const bool gddr = gpu_has_gddr(gpu);
	const struct engine_architecture *found = NULL, *whole = NULL;

	if (!gpu->architecture)
		return NULL;
	for (int i = 0; i < e->n_architectures; i++) {
		const char *name = e->architectures[i].architecture;
		const size_t n = strlen(gpu->architecture), m = strlen(name);
		if (strcmp(name, gpu->architecture) == 0)
			found = found ? found : &e->architectures[i];
		else if (gddr && strncmp(name, gpu->architecture, n) == 0 && strcmp(name + n, "-gddr") == 0)
			return &e->architectures[i];
		else if (m < n && strncmp(name, gpu->architecture, m) == 0 && gpu->architecture[m] == '-')
			whole = &e->architectures[i]; /* blackwell, of blackwell-ultra */
	}
	return found ? found : whole;
}

/* --- prompts in llama.cpp ---------------------------------------------------------------------------------------- */

/*
 * Prompts in llama.cpp: weights are unpacked to fp16 in front of every product, activations are fp32, the scores of
 * attention are computed without a mask and pass through memory.  Cards are held back by their power.  Several GPUs
 * each take some layers; parts of the prompt follow one another through them until the launch queue of 1024 entries is
 * full. The equation and its constants were fitted to published prompt speeds: hwdb/engines.
 */

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
