/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a published row of a serving run says, as a question. */
#include "ask/validate/validate.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

static bool
has(const char *text, const char *piece)
{
	return text && strstr(text, piece);
}

static bool
begins(const char *text, const char *piece)
{
	return text && strncmp(text, piece, strlen(piece)) == 0;
}

/* --- types ----------------------------------------------------------------------------------------------- */

/* Weights as sources call them: what multiplies, what is stored, bytes of a weight and of one of the head (0: by type).
 */
static const struct column_format {
	const char *text;
	enum dtype compute, weights;
	double weight_byte, head_byte;
} column_formats[] = {
    {"fp16", DTYPE_FP16, DTYPE_FP16, 0, 0},
    {"F16", DTYPE_FP16, DTYPE_FP16, 0, 0},
    {"bf16", DTYPE_BF16, DTYPE_BF16, 0, 0},
    {"fp32", DTYPE_FP32, DTYPE_FP32, 0, 0},
    {"tf32", DTYPE_TF32, DTYPE_TF32, 0, 0},
    {"fp8-block", DTYPE_FP8_BLOCK, DTYPE_FP8_BLOCK, 0, 0},
    {"fp8", DTYPE_FP8, DTYPE_FP8, 0, 0},
    {"nvfp4", DTYPE_NVFP4, DTYPE_NVFP4, 0, 0},
    {"mxfp4", DTYPE_MXFP4, DTYPE_MXFP4, 0, 0},
    {"Q4_K_M", DTYPE_FP16, DTYPE_INT4, 0.606, 0.82},
    {"Q4_0", DTYPE_FP16, DTYPE_INT4, 0.5625, 0},
    {"EXL2", DTYPE_FP16, DTYPE_INT4, 0, 0},
    {"int4 g32", DTYPE_BF16, DTYPE_INT4, 0.625, 0},
    {"GPTQ int4 g128", DTYPE_FP16, DTYPE_INT4, 0.53125, 0},
    {"int4 AWQ g128", DTYPE_FP16, DTYPE_INT4, 0.53125, 0},
    {"int4 g128", DTYPE_FP16, DTYPE_INT4, 0.53125, 0},
    {"int4", DTYPE_FP16, DTYPE_INT4, 0.5625, 0},
    {"int8-v", DTYPE_INT8, DTYPE_INT8, 0, 0},
    {"int8", DTYPE_INT8, DTYPE_INT8, 0, 0},
};

static const struct column_format *
format_of(const char *text)
{
	for (size_t i = 0; text && i < sizeof column_formats / sizeof *column_formats; i++)
		if (begins(text, column_formats[i].text))
			return &column_formats[i];
	return NULL;
}

/* Published checkpoints in 8 bits have a scale for each block of weights: the model's own, or those of its makers. */
static bool
has_block_scales(const struct workload *w)
{
	return w->quantisation.weights == DTYPE_FP8_BLOCK || begins(w->id, "qwen3");
}

const char *
serve_row_types(const struct validate_row *row, struct serve_parts *out)
{
	const char *weights = row_text(row, "weight_dtype"), *acts = row_text(row, "act_dtype");
	const char *kv = row_text(row, "kv_dtype"), *version = row_text(row, "sw_version");
	const struct column_format *f = format_of(weights), *a = format_of(acts);

	if (!f)
		return "unknown weight format";
	out->compute = f->compute;
	out->weights = f->weights;
	out->weight_byte = f->weight_byte;
	out->head_byte = f->head_byte;
	if (f->weights == DTYPE_FP8 && has_block_scales(out->model))
		out->compute = out->weights = DTYPE_FP8_BLOCK;
	out->wide_attention = has(weights, "bf16 attn") || has(weights, "FFN only");
	if (begins(weights, "EXL2 "))
		out->weight_byte = strtod(weights + 5, NULL) / 8;
	/* integers of 8 bits whose products are in 16, and of 4 bits in 8 */
	if (a && (f->compute == DTYPE_INT8 || f->weights == DTYPE_INT4)) {
		if (a->compute == DTYPE_INT8)
			out->compute = DTYPE_INT8;
		else if (dtype_byte(a->compute) >= 2 && f->compute == DTYPE_INT8)
			out->compute = a->compute;
	}
	const struct column_format *k = format_of(kv);
	if (k)
		out->kv = k->weights;
	else if (out->compute == DTYPE_FP8 && has(row_text(row, "software"), "TensorRT-LLM") && begins(version, "0."))
		out->kv = DTYPE_FP8;
	else
		out->kv = serve_usual_kv(out->engine, out->compute);
	return NULL;
}

/* --- the layout ------------------------------------------------------------------------------------------ */

const char *
serve_row_layout(const struct validate_row *row, struct serve_parts *out, double *n_gpus)
{
	const double n = row_number(row, "n_gpu"), tp = row_number(row, "tp"), pp = row_number(row, "pp");
	const double ep = row_number(row, "ep");
	const bool apart = has(row_text(row, "dp"), "attn") || has(row_text(row, "notes"), "attention DP enabled");

	*n_gpus = n >= 1 ? n : fmax(1, tp) * fmax(1, pp);
	out->layout = (struct serve_layout){tp >= 1 ? tp : 1, pp >= 1 ? pp : 1, ep >= 1 ? ep : 1, false};
	if (isnan(tp) && n > 1) {
		if (out->engine->kind != ENGINE_LAYER_SPLIT)
			out->layout.tp = 0; /* to be found */
		else
			out->layout.pp = n;
	}
	if (apart && serve_has_experts(out->model) && out->layout.tp > 1) {
		out->layout.attention_dp = true;
		out->layout.ep = isnan(ep) ? out->layout.tp : ep;
	}
	if (out->layout.tp > 0 && out->layout.ep > out->layout.tp)
		return "experts spread beyond one replica";
	return out->layout.tp > 8 ? "a replica beyond one node" : NULL;
}

bool
serve_has_experts(const struct workload *w)
{
	for (int i = 0; i < w->n_blocks; i++)
		if (w->blocks[i].moe.given)
			return true;
	return false;
}

/* --- the load -------------------------------------------------------------------------------------------- */

/* Benchmark data sets by a part of what is said of them, and the mean lengths of their prompts and answers, as the
 * benchmark's organisers describe them (MLCommons, Inference 4.0, 5.0 and 5.1).  Mixtures of data sets are not. */
static const struct {
	const char *name;
	double isl, osl;
} datasets[] = {
    {"OpenORCA+", NAN, NAN},
    {"OpenORCA", 294, 294},
    {"CNN/DailyMail", 778, 73},
    {"MLPerf 405B", 9400, 680},
    {"MLPerf DSR1", 800, 3880},
};

static void
dataset_lengths(const char *notes, double *isl, double *osl)
{
	size_t i = 0;

	while (i < sizeof datasets / sizeof *datasets && !has(notes, datasets[i].name))
		i++;
	if (i == sizeof datasets / sizeof *datasets)
		return;
	if (isnan(*isl))
		*isl = datasets[i].isl;
	if (isnan(*osl))
		*osl = datasets[i].osl;
}

/* Mean lengths of prompts and answers; what is not printed follows from rates of the same row, or is usual.  Single
 * streams hardly depend on them. */
static void
lengths(const struct validate_row *row, bool stream, double *isl, double *osl, const char **warning)
{
	const double rate = row_number(row, "req_per_s"), out_rate = row_number(row, "out_tps_total");
	const double all_rate = row_number(row, "total_tps");
	const bool decodes = row_number(row, "out_tps_user") > 0 || row_number(row, "tpot_ms_mean") > 0 || out_rate > 0;

	*isl = row_number(row, "isl");
	*osl = row_number(row, "osl");
	if (isnan(*osl) && rate > 0 && out_rate > 0)
		*osl = out_rate / rate;
	if (isnan(*isl) && rate > 0 && all_rate > out_rate)
		*isl = (all_rate - out_rate) / rate;
	if (out_rate > 0 && strcmp(row_text(row, "kind"), "offline-throughput") == 0)
		dataset_lengths(row_text(row, "notes"), isl, osl);
	if (stream && decodes && (isnan(*isl) || isnan(*osl)))
		*warning = "lengths not published";
	if (stream && isnan(*isl))
		*isl = 128;
	if (stream && decodes && isnan(*osl))
		*osl = 200;
}

/* Conversations as they are collected have log-normal lengths about as wide as their means. */
struct serve_spread
serve_row_spread(const struct validate_row *row, const struct serve_load *load)
{
	const bool collected = isnan(row_number(row, "osl")) || fmod(load->osl, 8) != 0;

	return collected ? (struct serve_spread){1.0, 0.8} : (struct serve_spread){0, 0};
}

/* Inputs whose padding is left out are half as long on average. */
static double
real_length(const struct validate_row *row, const struct workload *w, double isl)
{
	double params = 0;

	for (int i = 0; i < w->n_blocks; i++)
		params += w->blocks[i].count.value * 12 * w->hidden.value * w->hidden.value;
	const bool unpadded = has(row_text(row, "notes"), "padding removed") || has(row_text(row, "sched"), "EFF") ||
	    (has(row_text(row, "software"), "FasterTransformer") && params > 1e9);
	return unpadded ? isl / 2 : isl;
}

/* Requests that come and go, or are all there. */
static const char *
batched_load(const struct validate_row *row, struct serve_question *out)
{
	const double batch = row_number(row, "batch"), clients = row_number(row, "concurrency");
	const double requests = row_number(row, "num_requests");
	const char *rate = row_text(row, "request_rate_rps"), *sched = row_text(row, "sched");

	if (requests >= 1)
		out->load.n_requests.value = requests;
	if (has(sched, "offline batch") && batch >= 1 && isnan(requests))
		out->load.n_requests.value = batch;
	if (rate && strcmp(rate, "inf") != 0) {
		out->regime = SERVE_ONLINE;
		out->rate_request_per_s = strtod(rate, NULL);
		return out->rate_request_per_s > 0 ? NULL : "request rate not given";
	}
	if (clients >= 1) {
		out->regime = SERVE_CLOSED;
		out->load.n_concurrent.value = clients;
		return NULL;
	}
	out->regime = SERVE_OFFLINE;
	if (strcmp(row_text(row, "kind"), "online-serving") == 0 && !rate)
		return "load not given";
	if (batch >= 1 && !has(sched, "offline batch"))
		out->load.n_concurrent.value = batch;
	return NULL;
}

const char *
serve_row_load(
    const struct validate_row *row, const struct serve_parts *p, struct serve_question *out, const char **warning)
{
	const double batch = row_number(row, "batch");
	const char *sched = row_text(row, "sched"), *notes = row_text(row, "notes");
	const bool stream = strcmp(row_text(row, "kind"), "latency-batch1") == 0;
	const struct datum absent = {NAN, {NULL, 0, 0, NULL, false}};

	out->load = (struct serve_load){.n_requests = absent, .n_concurrent = absent};
	out->n_batch = batch >= 1 ? batch : 1;
	out->row_split = p->engine->row_split && p->layout.pp > 1;
	if (row_text(row, "spec_method"))
		return "speculative decoding";
	if (has(notes, "shared-prefix") || has(notes, "shared prefix") || has(notes, "cache hits") ||
	    has(sched, "disaggregated"))
		return "prefix cache or disaggregation not described by the row";
	if (has(notes, "offload"))
		return "weights or KV cache outside the GPU";
	lengths(row, stream, &out->load.isl, &out->load.osl, warning);
	if (isnan(out->load.isl) || out->load.isl + fmax(0, out->load.osl) < 1)
		return "lengths not given";
	if (p->model->kind == MODEL_ENCODER) {
		out->regime = SERVE_ENCODE;
		out->load.isl = real_length(row, p->model, out->load.isl);
		out->load.osl = 1;
		return NULL;
	}
	if (!(out->load.osl > 0)) {
		out->regime = SERVE_PROMPT;
		out->load.osl = 1;
		return NULL;
	}
	if (stream) {
		out->regime = SERVE_STATIC;
		out->n_batch = 1;
		return NULL;
	}
	if (has(sched, "static") || has(sched, "batching off") || p->engine->kind != ENGINE_BATCHED) {
		out->regime = SERVE_STATIC;
		return batch >= 1 ? NULL : "batch size not given";
	}
	return batched_load(row, out);
}
