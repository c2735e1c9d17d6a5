/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a model, a GPU, an engine and types of numbers to what the serving model works with. */
#include "model/serve_parts.h"

#include <string.h>

/* --- types ----------------------------------------------------------------------------------------------- */

enum dtype
serve_usual_kv(enum dtype compute)
{
	if (compute == DTYPE_FP8 || compute == DTYPE_FP8_BLOCK || compute == DTYPE_MXFP8 || compute == DTYPE_NVFP4)
		return DTYPE_FP8;
	return compute == DTYPE_FP16 ? DTYPE_FP16 : DTYPE_BF16;
}

static bool
is_wide(enum dtype t)
{
	return dtype_byte(t) >= 2;
}

/* Bytes of a stored weight with its scales: integers of 4 bits in groups of 128 where nothing else is said. */
static double
stored_byte(const struct serve_parts *in)
{
	if (in->weight_byte > 0)
		return in->weight_byte;
	if (in->weights == DTYPE_INT4)
		return in->compute == DTYPE_INT8 ? 0.5625 : 0.53125;
	return in->weights == DTYPE_FP8_BLOCK ? 1 : dtype_byte(in->weights);
}

/* Weights per SM and clock that unpacking kernels of this engine stream, at most; 0: no limit. */
static double
stream_cap(const struct engine *e, double w_byte)
{
	return datum_or(w_byte > 1.5 ? e->cap16_byte : w_byte > 0.75 ? e->cap8_byte : e->cap4_byte, 0);
}

static double
power_limit(const struct serve_parts *in, const struct engine_architecture *a, enum dtype t)
{
	if (!a || !datum_given(a->watt_flop) || !datum_given(in->gpu->tdp_watt))
		return 0;
	return a->watt_flop.value * in->gpu->tdp_watt.value * (t == DTYPE_INT8 ? 2 : 1);
}

/* Fine scales per 32 weights: products run in 8 bits where the GPU has 4-bit arithmetic, else in 16. */
static enum dtype
mxfp4_math(const struct gpu *gpu)
{
	return datum_given(gpu->peak_flop_per_s[PEAK_FP4]) && !gpu->lacks[PEAK_FP4] ? DTYPE_FP8 : DTYPE_BF16;
}

static struct serve_format
format_of(const struct serve_parts *in, const struct engine_architecture *a)
{
	const double w_byte = stored_byte(in);
	enum dtype t = in->compute;
	double rate = 0;

	if (t == DTYPE_MXFP4 || (is_wide(t) && in->weights == DTYPE_MXFP4)) {
		t = mxfp4_math(in->gpu);
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

static struct serve_precision
precision_of(const struct serve_parts *in, const struct engine_architecture *a)
{
	const struct serve_format main = format_of(in, a);
	const double limit = power_limit(in, a, DTYPE_BF16);
	const double head_byte =
	    in->head_byte > 0 ? in->head_byte : fmax(2, is_wide(in->compute) ? dtype_byte(in->compute) : 2);
	const struct serve_format wide = {.type = DTYPE_BF16,
	    .a_byte = 2,
	    .w_byte = 2,
	    .cap_byte = stream_cap(in->engine, 2),
	    .limit_flop_per_s = limit};
	struct serve_precision p = {.attention = main, .mlp = main, .experts = main, .head = wide};

	if (in->compute == DTYPE_MXFP4 || in->weights == DTYPE_MXFP4 || in->wide_attention)
		p.attention = wide; /* the published checkpoints keep attention in 16 bits */
	p.head.w_byte = head_byte;
	p.head.cap_byte = stream_cap(in->engine, head_byte);
	p.wide_limit_flop_per_s = limit;
	p.kv_byte = in->kv == DTYPE_FP8_BLOCK ? 1 : dtype_byte(in->kv);
	p.fast_prompts = p.kv_byte <= 1 &&
	    (main.type == DTYPE_FP8 || main.type == DTYPE_FP8_BLOCK || main.type == DTYPE_MXFP8 ||
	        main.type == DTYPE_NVFP4);
	return p;
}

/* --- what there is no model of --------------------------------------------------------------------------- */

const char *
serve_lacks_model(const struct workload *w)
{
	if (w->kind == MODEL_OPERATORS)
		return "a list of operators has no tokens to serve";
	if (w->kind != MODEL_DECODER && w->kind != MODEL_ENCODER)
		return "serving is worked out for decoders and encoders";
	for (int i = 0; i < w->n_blocks; i++) {
		if (w->blocks[i].mixer != MIXER_ATTENTION)
			return "there is no serving model of layers that recur instead of attending";
		if (w->blocks[i].attention.kind == ATTENTION_CSA)
			return "there is no serving model of compressed attention";
	}
	return NULL;
}

static bool
has_latent(const struct workload *w)
{
	for (int i = 0; i < w->n_blocks; i++)
		if (w->blocks[i].attention.kind == ATTENTION_MLA)
			return true;
	return false;
}

static bool
has_experts(const struct workload *w)
{
	for (int i = 0; i < w->n_blocks; i++)
		if (w->blocks[i].moe.given)
			return true;
	return false;
}

static const char *
lacks_arithmetic(const struct serve_parts *in)
{
	const enum peak p = dtype_peak(in->compute);

	if (in->compute == DTYPE_MXFP4 || (in->compute == DTYPE_INT4 && in->weights == DTYPE_INT4))
		return NULL;
	if (p != PEAK_NONE && in->gpu->lacks[p])
		return "the GPU has no arithmetic of this type";
	return NULL;
}

static const char *
lacks_kernels(const struct serve_setup *s, const struct calibration *k)
{
	const struct serve_format *const formats[] = {
	    &s->precision.attention, &s->precision.mlp, &s->precision.experts};

	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (!(k->gemm[formats[i]->type].peak_flop_per_s.value > 0))
			return "no rate of products of this type is known on this GPU";
	if (has_latent(s->model) && (!k->has_mla_context || !k->has_mla_generation))
		return "latent attention was not measured on this GPU with this engine's kernels";
	if (s->layout.tp > 1 && s->wires.linked &&
	    !(k->collective[COLLECTIVE_ALL_REDUCE].bus_byte_per_s.value > 0 &&
	        k->collective[COLLECTIVE_ALL_GATHER].bus_byte_per_s.value > 0))
		return "collectives over NVLink were not measured on this GPU";
	if (s->layout.tp > 1 && !s->wires.linked && !datum_given(s->wires.pcie_byte_per_s))
		return "nothing is known of the links between the GPUs";
	return NULL;
}

static const char *
wrong_layout(const struct serve_parts *in)
{
	const struct serve_layout *l = &in->layout;

	if (fmod(l->tp, l->ep) != 0)
		return "experts are spread over some of the tp GPUs: ep must divide tp";
	if (l->ep > 1 && !has_experts(in->model))
		return "the model has no experts to spread";
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
	    .wires = {in->linked, datum_absent(), serve_pcie(gpu->pcie)},
	    .mem_byte = datum_given(gpu->mem_usable_byte) ? gpu->mem_usable_byte : gpu->mem_label_byte,
	};
	if (in->linked && datum_given(gpu->link_byte_per_s) && datum_given(gpu->n_links)) {
		out->wires.link_byte_per_s = gpu->link_byte_per_s;
		out->wires.link_byte_per_s.value *= gpu->n_links.value;
	}
	out->core_attention = serve_core_attention(in->model, in->engine, out->precision.kv_byte);
	if (!serve_kernels(kernels, out, gpu, in->consensus, in->own))
		return "no kernels were measured on this GPU or one like it";
	return lacks_kernels(out, kernels);
}
