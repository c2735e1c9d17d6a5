/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Build a serving setup from model, GPU, engine and dtypes. */
#include "model/serve/parts.h"

#include "model/layer/layer.h"
#include "model/memory/memory.h"

#include <string.h>

void
engine_limit(struct engine *e, struct datum n_sequences, struct datum n_token)
{
	if (datum_given(n_token)) {
		if (e->memory.batch_token.value == e->max_tokens.value)
			e->memory.batch_token = n_token;
		e->max_tokens = n_token;
	}
	if (datum_given(n_sequences))
		e->max_sequences = e->memory.decoder_rows = n_sequences;
}

/* --- types ----------------------------------------------------------------------------------------------- */

enum dtype
serve_usual_kv(const struct engine *e, enum dtype weights)
{
	return dtype_usual_kv(weights, e && e->narrow_kv);
}

static bool
is_wide(enum dtype t)
{
	return dtype_byte(t) >= 2;
}

/* Fine scales per 32 weights: products run in 8 bits where the GPU has 4-bit arithmetic, else in 16. */
enum dtype
serve_products(const struct gpu *gpu, enum dtype weights)
{
	const enum peak p = dtype_peak(weights);

	if (weights == DTYPE_INT4 || gpu_lacks(gpu, weights) ||
	    (p != PEAK_NONE && !datum_given(gpu->peak_flop_per_s[p])))
		return DTYPE_BF16;
	return weights == DTYPE_MXFP4 ? DTYPE_FP8 : weights;
}

/* Weights per SM and clock that unpacking kernels of this engine stream, at most; 0: no limit. */
static double
stream_cap(const struct engine *e, double w_byte)
{
	return datum_or(w_byte > 1.5 ? e->cap16_byte : w_byte > 0.75 ? e->cap8_byte : e->cap4_byte, 0);
}

/* A joule does as many times more products as their operands are narrower than 16 bits. */
static double
power_limit(const struct serve_parts *in, const struct engine_architecture *a, enum dtype t)
{
	if (!a || !datum_given(a->watt_flop) || !datum_given(in->gpu->tdp_watt))
		return 0;
	return a->watt_flop.value * in->gpu->tdp_watt.value * fmax(1, floor(2 / dtype_byte(t)));
}

/* Integers of 4 bits that are multiplied in 8 have two levels of scales. */
double
serve_stored_byte(enum dtype weights, enum dtype compute)
{
	return weights == DTYPE_INT4 && compute == DTYPE_INT8 ? 0.5625 : stored_byte(weights);
}

/* Weights of this type and these bytes with products of type t. */
static struct serve_format
format_of(
    const struct serve_parts *in, const struct engine_architecture *a, enum dtype weights, double w_byte, enum dtype t)
{
	double rate = 0;

	if (t == DTYPE_MXFP4 || (is_wide(t) && weights == DTYPE_MXFP4)) {
		t = serve_products(in->gpu, DTYPE_MXFP4);
		rate = t == DTYPE_BF16 ? in->engine->weight_only_frac.value : 0;
	} else if (is_wide(t) && w_byte < 2)
		rate = in->engine->weight_only_frac.value;
	if (t == DTYPE_INT8)
		rate = datum_or(in->engine->int8_frac, 0);
	t = t == DTYPE_FP16 ? DTYPE_BF16 : t;
	const double a_byte = t == DTYPE_NVFP4 ? dtype_byte(t) : is_wide(t) ? dtype_byte(t) : 1;
	return (struct serve_format){
	    .type = t,
	    .a_byte = a_byte,
	    .w_byte = w_byte,
	    .cap_byte = stream_cap(in->engine, w_byte),
	    .rate_frac = rate,
	    .limit_flop_per_s = power_limit(in, a, t),
	};
}

static struct serve_format
chosen_format(const struct serve_parts *in, const struct engine_architecture *a)
{
	const double w_byte = in->weight_byte > 0 ? in->weight_byte : serve_stored_byte(in->weights, in->compute);

	return format_of(in, a, in->weights, w_byte, in->compute);
}

/* As the checkpoint stores this part. */
static struct serve_format
published_format(const struct serve_parts *in, const struct engine_architecture *a, enum model_part part)
{
	const struct quantisation *q = in->published;
	const enum dtype stored = part == PART_EXPERTS ? q->experts : q->weights;

	if (!(q->quantised & 1u << part))
		return format_of(in, a, DTYPE_BF16, 2, DTYPE_BF16);
	return format_of(in, a, stored, part_stored_byte(q, part), serve_products(in->gpu, stored));
}

static bool
is_narrow_float(enum dtype t)
{
	return t == DTYPE_FP8 || t == DTYPE_FP8_BLOCK || t == DTYPE_MXFP8 || t == DTYPE_NVFP4;
}

static struct serve_precision
precision_of(const struct serve_parts *in, const struct engine_architecture *a)
{
	const struct serve_format wide = format_of(in, a, DTYPE_BF16, 2, DTYPE_BF16), main = chosen_format(in, a);
	struct serve_precision p = {.attention = main, .mlp = main, .experts = main, .head = wide};

	if (in->published) {
		p.attention = published_format(in, a, PART_MIXER);
		p.mlp = published_format(in, a, PART_MLP);
		p.experts = published_format(in, a, PART_EXPERTS);
	} else if (in->compute == DTYPE_MXFP4 || in->weights == DTYPE_MXFP4 || in->wide_attention)
		p.attention = wide; /* the published checkpoints keep attention in 16 bits */
	p.head.w_byte = in->head_byte > 0
	    ? in->head_byte
	    : fmax(2, is_wide(in->compute) && !in->published ? dtype_byte(in->compute) : 2);
	p.head.cap_byte = stream_cap(in->engine, p.head.w_byte);
	p.wide_limit_flop_per_s = power_limit(in, a, DTYPE_BF16);
	p.kv_byte = in->kv == DTYPE_FP8_BLOCK ? 1 : dtype_byte(in->kv);
	p.fast_prompts = p.kv_byte <= 1 && is_narrow_float(p.attention.type);
	return p;
}

/* --- what there is no model of --------------------------------------------------------------------------- */

const char *
serve_lacks_model(const struct workload *w)
{
	if (w->kind == MODEL_OPERATORS)
		return "lists of operators cannot be served";
	if (w->kind != MODEL_DECODER && w->kind != MODEL_ENCODER)
		return "serving models decoders and encoders only";
	return NULL;
}

static const char *
lacks_arithmetic(const struct serve_parts *in)
{
	const enum peak p = dtype_peak(in->compute);

	if (in->published || in->compute == DTYPE_MXFP4 || (in->compute == DTYPE_INT4 && in->weights == DTYPE_INT4))
		return NULL;
	if (p != PEAK_NONE && in->gpu->lacks[p])
		return "the GPU does not support this dtype";
	return NULL;
}

static const char *
lacks_kernels(const struct serve_setup *s, const struct calibration *k)
{
	const struct serve_format *const formats[] = {
	    &s->precision.attention, &s->precision.mlp, &s->precision.experts};

	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (!(k->gemm[formats[i]->type].peak_flop_per_s.value > 0))
			return "no GEMM rate for this dtype on this GPU";
	if (workload_has_latent(s->model) && (!k->has_mla_context || !k->has_mla_generation))
		return "no MLA calibration for this GPU and engine";
	if (workload_compresses(s->model) && !k->has_mla_generation)
		return "no calibration of attention over compressed rows for this GPU and engine";
	if (s->layout.tp > 1 && s->links.linked &&
	    !(k->collective[COLLECTIVE_ALL_REDUCE].bus_byte_per_s.value > 0 &&
	        k->collective[COLLECTIVE_ALL_GATHER].bus_byte_per_s.value > 0))
		return "no NVLink collective calibration for this GPU";
	if (s->layout.tp > 1 && !s->links.linked && !datum_given(s->links.pcie_byte_per_s))
		return "no link data between the GPUs";
	return NULL;
}

static const char *
wrong_layout(const struct serve_parts *in)
{
	const struct serve_layout *l = &in->layout;

	if (fmod(l->tp, l->ep) != 0)
		return "ep must divide tp";
	if (l->ep > 1 && !workload_has_experts(in->model))
		return "the model has no experts for ep";
	return NULL;
}

/* --- together -------------------------------------------------------------------------------------------- */

const char *
serve_assemble(struct serve_setup *out, struct calibration *kernels, const struct serve_parts *in)
{
	const struct engine_architecture *a = engine_architecture(in->engine, in->gpu);
	const struct gpu *gpu = in->gpu;
	const char *fault = serve_lacks_model(in->model);

	fault = fault ? fault : lacks_arithmetic(in);
	fault = fault ? fault : wrong_layout(in);
	if (fault)
		return fault;
	*out = (struct serve_setup){
	    .model = in->model,
	    .engine = in->engine,
	    .architecture = a,
	    .kernels = kernels,
	    .precision = precision_of(in, a),
	    .layout = in->layout,
	    .links = {in->linked, datum_absent(), serve_pcie(gpu->pcie)},
	    .network = in->network,
	    .card_frac = in->card_frac,
	    .mem_byte = in->mem_byte.value > 0 ? in->mem_byte : memory_of_gpu(gpu),
	};
	if (in->linked && datum_given(gpu->link_byte_per_s) && datum_given(gpu->n_links)) {
		out->links.link_byte_per_s = gpu->link_byte_per_s;
		out->links.link_byte_per_s.value *= gpu->n_links.value;
	}
	out->core_attention = serve_core_attention(in->model, in->engine, a, out->precision.kv_byte);
	if (!serve_kernels(kernels, out, gpu, in->consensus, in->own))
		return "no kernel measurements of this GPU or a similar one";
	return lacks_kernels(out, kernels);
}
