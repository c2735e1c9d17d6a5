/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a published row of a serving run says, as a question. */
#include "cli/validate_serve.h"

#include "base/text.h"

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

/* --- engines --------------------------------------------------------------------------------------------- */

/* Software, how its version begins, how it schedules (NULL: whatever), and the engine; the first that fits counts. */
static const struct {
	const char *software, *version, *sched, *engine;
	bool near;
} engines[] = {
    {"TensorRT-LLM", NULL, "MLPerf", "trtllm-mlperf", false},
    {"TensorRT-LLM (static", NULL, NULL, "trtllm-static", false},
    {"TensorRT-LLM", "0.5", NULL, "trtllm-static", false}, {"TensorRT-LLM", "0.6", NULL, "trtllm-static", false},
    {"TensorRT-LLM", "0.7", NULL, "trtllm-static", false}, {"TensorRT-LLM", "0.8", NULL, "trtllm-static", false},
    {"TensorRT-LLM", "0.9", NULL, "trtllm-static", false}, {"TensorRT-LLM", "0.10", NULL, "trtllm-0.14", false},
    {"TensorRT-LLM", "0.11", NULL, "trtllm-0.14", false}, {"TensorRT-LLM", "0.12", NULL, "trtllm-0.14", false},
    {"TensorRT-LLM", "0.13", NULL, "trtllm-0.14", false}, {"Triton", "0.14", NULL, "trtllm-0.17", false},
    {"TensorRT-LLM", "0.14", NULL, "trtllm-0.14", false}, {"TensorRT-LLM", "0.15", NULL, "trtllm-0.17", false},
    {"TensorRT-LLM", "0.16", NULL, "trtllm-0.17", false}, {"TensorRT-LLM", "0.17", NULL, "trtllm-0.17", false},
    {"TensorRT-LLM", "0.18", NULL, "trtllm-0.17", false}, {"TensorRT-LLM", "0.19", NULL, "trtllm-0.17", false},
    {"TensorRT-LLM", "0.2", NULL, "trtllm-0.20", false}, {"TensorRT-LLM", NULL, NULL, "trtllm", false},
    {"FasterTransformer", NULL, "encoder", "fastertransformer-encoder", false},
    {"FasterTransformer", NULL, NULL, "fastertransformer", false}, {"Megatron", NULL, NULL, "megatron", false},
    {"llama.cpp", NULL, NULL, "llama.cpp", false}, {"gpt-fast", NULL, NULL, "gpt-fast", false},
    {"ExLlama", NULL, NULL, "exllama", false}, {"MLC", NULL, NULL, "mlc", false},
    {"LMDeploy", NULL, NULL, "lmdeploy", false}, {"QServe", NULL, NULL, "qserve", false},
    {"NanoFlow", NULL, NULL, "nanoflow", false}, {"DeepSpeed-FastGen", NULL, NULL, "deepspeed-fastgen", false},
    {"vLLM", "0.5", NULL, "vllm-0.6", false}, {"vLLM", "0.6", NULL, "vllm-0.6", false},
    {"vLLM", "0.4", NULL, "vllm-0.6", true}, {"vLLM", "0.3", NULL, "vllm-2023", true},
    {"vLLM", "0.2", NULL, "vllm-2023", false}, {"vLLM", "0.1", NULL, "vllm-2023", false},
    {"vLLM", NULL, NULL, "vllm", false}, {"SGLang", NULL, NULL, "sglang", false},
};

const char *
serve_row_engine(const struct validate_row *row, bool *near)
{
	const char *software = row_text(row, "software"), *version = row_text(row, "sw_version");
	const char *sched = row_text(row, "sched");

	*near = false;
	/* single streams of 2023 */
	if (has(software, "vLLM") && has(row_text(row, "source"), "llm-perf-bench"))
		return "vllm-2023";
	for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
		if (has(software, engines[i].software) && (!engines[i].version || begins(version, engines[i].version)) &&
		    (!engines[i].sched || has(sched, engines[i].sched))) {
			*near = engines[i].near;
			return engines[i].engine;
		}
	return NULL;
}

/* --- types ----------------------------------------------------------------------------------------------- */

/* Weights as sources call them: what multiplies, what is stored, bytes of a weight and of one of the head (0: by type).
 */
static const struct format {
	const char *text;
	enum dtype compute, weights;
	double weight_byte, head_byte;
} formats[] = {
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

static const struct format *
format_of(const char *text)
{
	for (size_t i = 0; text && i < sizeof formats / sizeof *formats; i++)
		if (begins(text, formats[i].text))
			return &formats[i];
	return NULL;
}

const char *
serve_row_types(const struct validate_row *row, struct serve_parts *out)
{
	const char *weights = row_text(row, "weight_dtype"), *acts = row_text(row, "act_dtype");
	const char *kv = row_text(row, "kv_dtype"), *version = row_text(row, "sw_version");
	const struct format *f = format_of(weights), *a = format_of(acts);

	if (!f)
		return "a format of weights that is not known";
	out->compute = f->compute;
	out->weights = f->weights;
	out->weight_byte = f->weight_byte;
	out->head_byte = f->head_byte;
	if (begins(weights, "EXL2 "))
		out->weight_byte = strtod(weights + 5, NULL) / 8;
	/* integers of 8 bits whose products are in 16, and of 4 bits in 8 */
	if (a && (f->compute == DTYPE_INT8 || f->weights == DTYPE_INT4)) {
		if (a->compute == DTYPE_INT8)
			out->compute = DTYPE_INT8;
		else if (dtype_byte(a->compute) >= 2 && f->compute == DTYPE_INT8)
			out->compute = a->compute;
	}
	const struct format *k = format_of(kv);
	if (k)
		out->kv = k->weights;
	else if (out->compute == DTYPE_FP8 && has(row_text(row, "software"), "TensorRT-LLM") && begins(version, "0."))
		out->kv = DTYPE_FP8;
	else
		out->kv = serve_usual_kv(out->compute);
	return NULL;
}

/* --- the layout ------------------------------------------------------------------------------------------ */

const char *
serve_row_layout(const struct validate_row *row, struct serve_parts *out, double *n_replicas)
{
	const double n = row_number(row, "n_gpu"), tp = row_number(row, "tp"), pp = row_number(row, "pp");
	const double ep = row_number(row, "ep");
	const char *dp = row_text(row, "dp");
	const bool split = has(row_text(row, "software"), "llama.cpp") || has(row_text(row, "software"), "ExLlama");

	*n_replicas = 1;
	out->layout = (struct serve_layout){tp >= 1 ? tp : 1, pp >= 1 ? pp : 1, ep >= 1 ? ep : 1, has(dp, "attn")};
	if (isnan(tp) && n > 1) {
		if (has(row_text(row, "sched"), "MLPerf"))
			return "the layout is not given";
		if (split)
			out->layout.pp = n;
		else
			out->layout.tp = n / out->layout.pp;
	}
	if (out->layout.attention_dp && isnan(ep))
		out->layout.ep = out->layout.tp;
	if (out->layout.ep > out->layout.tp)
		return "experts spread beyond one replica";
	if (n > out->layout.tp * out->layout.pp)
		*n_replicas = n / (out->layout.tp * out->layout.pp);
	return out->layout.tp > 8 ? "a replica beyond one node" : NULL;
}

/* --- the load -------------------------------------------------------------------------------------------- */

const char *
serve_row_load(const struct validate_row *row, const struct serve_parts *p, struct serve_question *out)
{
	const double isl = row_number(row, "isl"), osl = row_number(row, "osl"), batch = row_number(row, "batch");
	const double clients = row_number(row, "concurrency"), requests = row_number(row, "num_requests");
	const char *kind = row_text(row, "kind"), *sched = row_text(row, "sched"), *rate = row_text(row, "request_rate_rps");
	const struct datum absent = {NAN, {NULL, 0, 0, NULL, false}};

	out->load = (struct serve_load){isl, osl, 0, absent, absent};
	out->n_batch = batch >= 1 ? batch : 1;
	if (row_text(row, "spec_method"))
		return "speculative decoding";
	if (has(row_text(row, "notes"), "prefix") || has(sched, "disaggregated"))
		return "prefixes or pools that the row does not describe";
	if (isnan(isl))
		return "the lengths are not given";
	if (p->model->kind == MODEL_ENCODER) {
		out->regime = SERVE_ENCODE;
		out->load.osl = 1;
		return NULL;
	}
	if (!(osl > 0)) {
		out->regime = SERVE_PROMPT;
		out->load.osl = 1;
		return NULL;
	}
	if (strcmp(kind, "latency-batch1") == 0) {
		out->regime = SERVE_STATIC;
		out->n_batch = 1;
		return NULL;
	}
	if (has(sched, "static") || has(sched, "batching off") || p->engine->kind != ENGINE_BATCHED) {
		out->regime = SERVE_STATIC;
		return batch >= 1 ? NULL : "the batch is not given";
	}
	if (requests >= 1)
		out->load.n_requests.value = requests;
	if (rate && strcmp(rate, "inf") != 0) {
		out->regime = SERVE_ONLINE;
		out->rate_request_per_s = strtod(rate, NULL);
		return out->rate_request_per_s > 0 ? NULL : "the rate is not given";
	}
	if (clients >= 1) {
		out->regime = SERVE_CLOSED;
		out->load.n_concurrent.value = clients;
		return NULL;
	}
	out->regime = SERVE_OFFLINE;
	if (strcmp(kind, "online-serving") == 0 && !rate)
		return "the load is not given";
	if (batch >= 1)
		out->load.n_concurrent.value = batch;
	return NULL;
}
