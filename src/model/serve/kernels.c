/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kernels' parameters as a serving engine finds them.  Calibrations were fitted to kernels alone: here the
 * backend's attention and collectives replace the consensus, products of all types take the shape parameters of the
 * 16-bit ones with the peak that their type reaches, and the engine's factors are applied.  Rates are those of the GPU
 * in hand already.
 */
#include "model/serve/parts.h"

#include "model/kernel/kernel.h"

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
	if (a && t == DTYPE_TF32)
		share = a->tf32_frac;
	if (a && t == DTYPE_FP32)
		share = a->fp32_frac;
	if (datum_given(share) && datum_given(peak)) {
		peak.value *= share.value;
		return peak;
	}
	if (fitted.value > 0)
		return fitted;
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

/* Experts in mxfp4 run kernels of their own, with 8 or 16 bits of activations: as they were measured. */
static void
take_mxfp4(struct calibration *c, const struct serve_setup *s, const struct moe_calibration *narrow)
{
	const struct serve_format *f = &s->precision.experts;
	const struct moe_calibration *p = f->a_byte >= 2 ? &c->moe_weight_only[DTYPE_MXFP4] : narrow;

	if (f->w_byte > 0.5 && f->w_byte < 0.55 && p->peak_flop_per_s.value > 0)
		c->moe[f->type] = *p;
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
	const bool gddr = gpu && gpu->mem_type && strncmp(gpu->mem_type, "GDDR", 4) == 0;
	struct datum *mem = &out->gemm[DTYPE_BF16].mem_byte_per_s;
	if (gddr && datum_given(s->engine->gddr_frac))
		mem->value = fmax(mem->value, s->engine->gddr_frac.value * out->ref_mem_byte_per_s.value);
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
	const bool gddr = gpu->mem_type && strncmp(gpu->mem_type, "GDDR", 4) == 0;
	const struct engine_architecture *found = NULL;

	if (!gpu->architecture)
		return NULL;
	for (int i = 0; i < e->n_architectures; i++) {
		const char *name = e->architectures[i].architecture;
		const size_t n = strlen(gpu->architecture);
		if (strcmp(name, gpu->architecture) == 0)
			found = found ? found : &e->architectures[i];
		else if (gddr && strncmp(name, gpu->architecture, n) == 0 && strcmp(name + n, "-gddr") == 0)
			return &e->architectures[i];
	}
	return found;
}
