/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convert one published serving result to a question: engine, types, layout, load. */
#include "ask/validate/validate.h"

#include "base/base.h"
#include "db/db.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- the engine: its file says what its software is called --------------------------------------------------- */

/* 1000 x major + minor of the first `digits.digits` (or `digits.x`), of the last of several releases; NaN: none. */
static double
version_of(const char *text)
{
	const char *to = text ? strstr(text, " to ") : NULL;

	if (to)
		text = to + strlen(" to ");
	for (const char *p = text; p && *p; p++) {
		if (!isdigit((unsigned char)*p))
			continue;
		char *end;
		const double major = strtod(p, &end);
		const char *dot = p + strspn(p, "0123456789");
		if (*dot == '.' && (isdigit((unsigned char)dot[1]) || dot[1] == 'x'))
			return 1000 * floor(major) + (dot[1] == 'x' ? 0 : (double)strtol(dot + 1, NULL, 10));
		p = dot - 1;
	}
	return NAN;
}

/* How far a version is from those that are meant; 0: it is one of them. */
static double
distance(const struct engine_match *m, double version, const char *date)
{
	const double from = m->from ? version_of(m->from) : -HUGE_VAL, to = m->to ? version_of(m->to) : HUGE_VAL;

	if (isnan(version)) {
		if (m->date)
			return date && strncmp(date, m->date, strlen(m->date)) == 0 ? -1 : 2;
		/* most likely the newest */
		return m->to ? 1 : 0;
	}
	return version < from ? from - version : version > to ? version - to : 0;
}

/* The closer match: of the right version, by how much of the name, by what else it says. */
static bool
closer(const struct engine_match *a, double a_far, const struct engine_match *b, double b_far)
{
	const bool a_in = a_far <= 0, b_in = b_far <= 0;
	const int a_said = (a->sched != NULL) + (a->weights != NULL),
	          b_said = (b->sched != NULL) + (b->weights != NULL);

	if (a_in != b_in)
		return a_in;
	if (strlen(a->software) != strlen(b->software))
		return strlen(a->software) > strlen(b->software);
	if (a_said != b_said)
		return a_said > b_said;
	return a_far < b_far;
}

static void
read_engines(struct serve_engines *all, struct run *r)
{
	const char **ids = database_list(r->database, ENTRY_ENGINE, &all->n), *said;

	all->engines = ARENA_ARRAY(r->arena, const struct engine *, all->n + 1);
	for (size_t i = 0; i < all->n; i++)
		all->engines[i] =
		    database_engine(r->database, r->arena, r->diag, ids[i], NULL, (struct source){0}, &said);
}

const struct engine *
serve_row_engine(struct serve_engines *all, struct run *r, const struct validate_row *row, bool *near)
{
	const char *date = row_text(row, "date");
	const double version = version_of(row_text(row, "sw_version"));
	const struct engine_match *best = NULL;
	const struct engine *found = NULL, *unknown = NULL;
	double best_far = 0;

	if (!all->engines)
		read_engines(all, r);
	for (size_t i = 0; i < all->n; i++) {
		const struct engine *e = all->engines[i];
		if (e && strcmp(e->id, "common") == 0)
			unknown = e;
		for (int k = 0; e && k < e->n_matches; k++) {
			const struct engine_match *m = &e->matches[k];
			const double far = distance(m, version, date);
			if (!row_has(row, "software", m->software) || (m->sched && !row_has(row, "sched", m->sched)) ||
			    (m->weights && !row_has(row, "weight_dtype", m->weights)) ||
			    (best && !closer(m, far, best, best_far)))
				continue;
			best = m;
			best_far = far;
			found = e;
		}
	}
	*near = best && best_far > 0;
	return found ? found : unknown;
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
	out->wide_attention = row_has(row, "weight_dtype", "bf16 attn") || row_has(row, "weight_dtype", "FFN only");
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
	else if (out->compute == DTYPE_FP8 && row_has(row, "software", "TensorRT-LLM") && begins(version, "0."))
		out->kv = DTYPE_FP8;
	else
		out->kv = serve_usual_kv(out->engine, out->compute);
	return NULL;
}

/* --- the layout ------------------------------------------------------------------------------------------ */

static bool
has_experts(const struct workload *w)
{
	for (int i = 0; i < w->n_blocks; i++)
		if (w->blocks[i].moe.given)
			return true;
	return false;
}

const char *
serve_row_layout(const struct validate_row *row, struct serve_parts *out, double *n_gpus)
{
	const double n = row_number(row, "n_gpu"), tp = row_number(row, "tp"), pp = row_number(row, "pp");
	const double ep = row_number(row, "ep");
	const bool apart = row_has(row, "dp", "attn") || row_has(row, "notes", "attention DP enabled");

	*n_gpus = n >= 1 ? n : fmax(1, tp) * fmax(1, pp);
	out->layout = (struct serve_layout){tp >= 1 ? tp : 1, pp >= 1 ? pp : 1, ep >= 1 ? ep : 1, false};
	if (isnan(tp) && n > 1) {
		if (out->engine->kind != ENGINE_LAYER_SPLIT)
			out->layout.tp = 0; /* to be found */
		else
			out->layout.pp = n;
	}
	if (apart && has_experts(out->model) && out->layout.tp > 1) {
		out->layout.attention_dp = true;
		out->layout.ep = isnan(ep) ? out->layout.tp : ep;
	}
	if (out->layout.tp > 0 && out->layout.ep > out->layout.tp)
		return "experts spread beyond one replica";
	return out->layout.tp > 8 ? "a replica beyond one node" : NULL;
}

/* --- the load -------------------------------------------------------------------------------------------- */

/* Benchmark data sets by a part of what is said of them, and the mean lengths of their prompts and answers, as the
 * benchmark's organisers describe them (MLCommons, Inference 4.0, 5.0 and 5.1).  Mixtures of data sets are not. */
static const struct dataset {
	const char *name;
	double isl, osl;
} datasets[] = {
    {"OpenORCA+", NAN, NAN},
    {"OpenORCA", 294, 294},
    {"CNN/DailyMail", 778, 73},
    {"MLPerf 405B", 9400, 680},
    {"MLPerf DSR1", 800, 3880},
};

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
	const struct dataset *set =
	    out_rate > 0 && row_is(row, "kind", "offline-throughput") ? ROW_FIND(row, "notes", datasets) : NULL;
	if (set && isnan(*isl))
		*isl = set->isl;
	if (set && isnan(*osl))
		*osl = set->osl;
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
	const bool unpadded = row_has(row, "notes", "padding removed") || row_has(row, "sched", "EFF") ||
	    (row_has(row, "software", "FasterTransformer") && params > 1e9);
	return unpadded ? isl / 2 : isl;
}

/* Requests that come and go, or are all there. */
static const char *
batched_load(const struct validate_row *row, struct serve_question *out)
{
	const double batch = row_number(row, "batch"), clients = row_number(row, "concurrency");
	const double requests = row_number(row, "num_requests");
	const char *rate = row_text(row, "request_rate_rps");

	if (requests >= 1)
		out->load.n_requests.value = requests;
	if (row_has(row, "sched", "offline batch") && batch >= 1 && isnan(requests))
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
	if (row_is(row, "kind", "online-serving") && !rate)
		return "load not given";
	if (batch >= 1 && !row_has(row, "sched", "offline batch"))
		out->load.n_concurrent.value = batch;
	return NULL;
}

const char *
serve_row_load(
    const struct validate_row *row, const struct serve_parts *p, struct serve_question *out, const char **warning)
{
	const double batch = row_number(row, "batch");
	const bool stream = row_is(row, "kind", "latency-batch1");
	const struct datum absent = datum_absent();

	out->load = (struct serve_load){.n_requests = absent, .n_concurrent = absent};
	out->n_batch = batch >= 1 ? batch : 1;
	out->row_split = p->engine->row_split && p->layout.pp > 1;
	if (row_text(row, "spec_method"))
		return "speculative decoding";
	if (row_has(row, "notes", "shared-prefix") || row_has(row, "notes", "shared prefix") ||
	    row_has(row, "notes", "cache hits") || row_has(row, "sched", "disaggregated"))
		return "prefix cache or disaggregation not described by the row";
	if (row_has(row, "notes", "offload"))
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
	if (row_has(row, "sched", "static") || row_has(row, "sched", "batching off") ||
	    p->engine->kind != ENGINE_BATCHED) {
		out->regime = SERVE_STATIC;
		return batch >= 1 ? NULL : "batch size not given";
	}
	return batched_load(row, out);
}
