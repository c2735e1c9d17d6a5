/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convert one published serving result to the words of `ridge serve`: types, layout, load. */
#include "ask/validate/validate.h"

#include "base/base.h"
#include "db/db.h"
#include "model/calc/calc.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- words ----------------------------------------------------------------------------------------------- */

static void
say(struct serve_row *q, const char *word)
{
	if (q->n_words < SERVE_ROW_WORDS)
		q->words[q->n_words++] = arena_text(q->arena, word);
}

static void
say_text(struct serve_row *q, const char *option, const char *text)
{
	say(q, option);
	say(q, text);
}

/* Absent: nothing is said. */
static void
say_number(struct serve_row *q, const char *option, double value)
{
	if (!isnan(value))
		say_text(q, option, arena_printf(q->arena, "%.15g", value));
}

/* Counts are whole; means of lengths and shares of a replica need not be. */
static void
say_count(struct serve_row *q, const char *option, double value)
{
	say_number(q, option, fmax(1, round(value)));
}

static bool
begins(const char *text, const char *piece)
{
	return text && strncmp(text, piece, strlen(piece)) == 0;
}

/* --- types ----------------------------------------------------------------------------------------------- */

/* Weights as sources call them: what multiplies, and bits of a packed weight and of one of the head (NULL: by type). */
static const struct column_format {
	const char *text, *compute, *bits, *head_bits;
} column_formats[] = {
    {"fp16", "fp16", NULL, NULL},
    {"F16", "fp16", NULL, NULL},
    {"bf16", "bf16", NULL, NULL},
    {"fp32", "fp32", NULL, NULL},
    {"tf32", "tf32", NULL, NULL},
    {"fp8-block", "fp8-block", NULL, NULL},
    {"fp8", "fp8", NULL, NULL},
    {"mxfp8", "mxfp8", NULL, NULL},
    {"nvfp4", "nvfp4", NULL, NULL},
    {"mxfp4", "mxfp4", NULL, NULL},
    {"Q4_K_M", "fp16", "4.848", "6.56"},
    {"Q4_0", "fp16", "4.5", NULL},
    {"EXL2", "fp16", "4.5", NULL},
    {"int4 g32", "bf16", "5", NULL},
    {"GPTQ int4 g128", "fp16", "4.25", NULL},
    {"int4 AWQ g128", "fp16", "4.25", NULL},
    {"int4 g128", "fp16", "4.25", NULL},
    {"int4", "fp16", "4.5", NULL},
    {"int8-v", "int8", NULL, NULL},
    {"int8", "int8", NULL, NULL},
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

/*
 * The cache where the row names none and the engine's usual one is not meant.  C++ engines of TensorRT-LLM had the type
 * of their 8-bit weights.  DeepSeek in 8 bits runs there with a cache of 8: NVIDIA's deployment guide sets it, as do
 * all 49 runs that print a cache.
 */
static const char *
cache_of(const struct serve_row *q, const char *compute)
{
	const struct column_format *k = format_of(row_text(q->row, "kv_dtype"));

	if (k)
		return k->bits ? "int4" : k->compute;
	if (!row_has(q->row, "software", "TensorRT-LLM"))
		return NULL;
	const bool old = strcmp(compute, "fp8") == 0 && begins(row_text(q->row, "sw_version"), "0.");
	return old || (strcmp(compute, "fp8-block") == 0 && begins(q->model->id, "deepseek")) ? "fp8" : NULL;
}

static const char *
say_types(struct serve_row *q)
{
	const char *weights = row_text(q->row, "weight_dtype");
	const struct column_format *f = format_of(weights), *a = format_of(row_text(q->row, "act_dtype"));
	/* NVIDIA's first checkpoints of DeepSeek-R1 in 4 bits have attention in 16, as one row of them prints */
	const bool first = row_has(q->row, "model", "DeepSeek-R1") && row_has(q->row, "model", "-FP4") &&
	    !row_has(q->row, "model", "-V2");
	const bool narrow =
	    first || row_has(q->row, "weight_dtype", "bf16 attn") || row_has(q->row, "weight_dtype", "FFN only");

	if (!f)
		return "unknown weight format";
	const char *compute = f->compute, *bits = f->bits;
	const bool integer = strcmp(f->compute, "int8") == 0;
	if (strcmp(compute, "fp8") == 0 && has_block_scales(q->model))
		compute = "fp8-block";
	if (begins(weights, "EXL2 "))
		bits = arena_printf(q->arena, "%g", strtod(weights + 5, NULL));
	/* integers of 8 bits whose products are in 16, and of 4 bits in 8 */
	if (a && bits && strcmp(a->compute, "int8") == 0)
		compute = "int8";
	else if (a && integer && strstr(a->compute, "16"))
		compute = a->compute;
	if (narrow) {
		say_text(q, "--set", arena_printf(q->arena, "model.quantisation.weights=%s", compute));
		say_text(q, "--set", "model.quantisation.keep=attention");
	} else
		say_text(q, "--dtype", compute);
	if (integer && strcmp(compute, "int8") != 0)
		say_text(q, "--weights-dtype", "int8");
	if (bits)
		say_text(q, "--bits", bits);
	if (f->head_bits)
		say_text(q, "--head-bits", f->head_bits);
	if (cache_of(q, compute))
		say_text(q, "--kv-dtype", cache_of(q, compute));
	return NULL;
}

/* --- the layout ------------------------------------------------------------------------------------------ */

/* `prefill 2 workers tp8 ep8 dpattn=True on 16 GPUs`: the layout is that of one of the workers.  Where attention is
 * data parallel, some print 1 for tp. */
static bool
read_pool(const struct serve_row *q, const char *name, double *n, struct serve_layout *out)
{
	const char *notes = row_text(q->row, "notes"), *at = notes ? strstr(notes, name) : NULL;
	double tp, ep, n_gpus;
	char apart[8];

	if (!at ||
	    sscanf(at + strlen(name), " %lf workers tp%lf ep%lf dpattn=%7s on %lf GPUs", n, &tp, &ep, apart, &n_gpus) !=
	        5 ||
	    !(*n >= 1 && n_gpus >= *n) || fmod(n_gpus, *n) != 0)
		return false;
	const bool adp = strcmp(apart, "True") == 0;
	const double all = n_gpus / *n;
	*out = (struct serve_layout){all, 1, adp && tp == 1 ? all : fmin(ep, all), adp && all > 1};
	return true;
}

/* Of a replica; tp 0: only the number of GPUs is printed. */
static const char *
read_layout(struct serve_row *q)
{
	if (row_has(q->row, "sched", "disaggregated")) {
		q->n_gpus = row_number(q->row, "n_gpu");
		return read_pool(q, "prefill", &q->n_prefill, &q->layout) &&
		        read_pool(q, "decode", &q->n_decode, &q->decode)
		    ? NULL
		    : "pools of prefill and decode not described";
	}
	const double n = row_number(q->row, "n_gpu"), tp = row_number(q->row, "tp"), pp = row_number(q->row, "pp");
	const double ep = row_number(q->row, "ep");
	const bool apart = row_has(q->row, "dp", "attn") || row_number(q->row, "dp") > 1 ||
	    row_has(q->row, "notes", "attention DP enabled") || row_has(q->row, "notes", "attention data parallel");

	q->n_gpus = n >= 1 ? n : fmax(1, tp) * fmax(1, pp);
	q->layout = (struct serve_layout){tp >= 1 ? tp : 1, pp >= 1 ? pp : 1, ep >= 1 ? ep : 1, false};
	if (isnan(tp) && n > 1) {
		if (q->engine->kind != ENGINE_LAYER_SPLIT)
			q->layout.tp = 0;
		else
			q->layout.pp = n;
	}
	if (apart && workload_has_experts(q->model) && q->layout.tp > 1) {
		q->layout.attention_dp = true;
		q->layout.ep = isnan(ep) ? q->layout.tp : ep;
	}
	return q->layout.tp > 0 && q->layout.ep > q->layout.tp ? "experts spread beyond one replica" : NULL;
}

/* A published layout is no mistake. */
static const char *
across(const struct serve_layout *l)
{
	return l->tp > 8 ? ",across" : "";
}

/* Places of a rank that decodes: benchmarks of one source keep pools full with a few percent more clients than these
 * hold, and places are a power of two or three times one.  564 clients of 32 ranks: 16 each, and 52 wait. */
static double
pool_places(const struct serve_row *q)
{
	const double groups = q->decode.attention_dp ? q->decode.tp : 1;
	const double most = fmax(1, row_number(q->row, "concurrency") / (q->n_decode * groups));
	const double two = exp2(floor(log2(most))), three = 3 * exp2(floor(log2(most / 3)));

	return three >= 1 ? fmax(two, three) : two;
}

/* The cache moves inside an NVLink domain that holds several nodes, else over the usual network: which is not printed,
 * and takes milliseconds. */
static void
say_pools(struct serve_row *q)
{
	const struct serve_layout *l = &q->decode;
	const bool rack = begins(serve_row_gpu(q->arena, q->row), "gb");

	say_text(q, "--replicas", arena_printf(q->arena, "%g", q->n_prefill));
	say_text(q, "--decode-replicas", arena_printf(q->arena, "%g", q->n_decode));
	say_text(q, "--decode-layout",
	    arena_printf(q->arena, "tp=%g,ep=%g%s%s", l->tp, l->ep, l->attention_dp ? ",adp" : "", across(l)));
	say_text(q, "--kv-link", rack ? "nvlink5" : "roce-400");
	if (q->n_prefill > 1)
		say_text(q, "--routing", "shortest-queue");
	if (row_has(q->row, "software", "TensorRT-LLM") && row_number(q->row, "concurrency") >= 1)
		say_text(q, "--set", arena_printf(q->arena, "engine.scheduler.max_sequences=%g", pool_places(q)));
}

static void
say_layout(struct serve_row *q)
{
	const struct serve_layout *l = &q->layout;
	const char *ep = l->ep > 1 ? arena_printf(q->arena, ",ep=%g", l->ep) : "";

	if (l->tp * l->pp * l->ep > 1)
		say_text(q, "--layout", arena_printf(q->arena, "tp=%g,pp=%g%s%s", l->tp, l->pp, ep, across(l)));
	if (l->attention_dp)
		say(q, "--attention-dp");
	if (q->engine->row_split && l->pp > 1)
		say(q, "--row-split");
	if (q->n_decode > 0)
		say_pools(q);
}

/* --- the load -------------------------------------------------------------------------------------------- */

/* Benchmark data sets by a part of what is said of them, and the mean lengths of their prompts and answers, as the
 * benchmark's organisers describe them (MLCommons, Inference 4.0, 5.0 and 5.1; answers about CNN/DailyMail as Llama 3.1
 * 8B writes them).  Mixtures of data sets are not. */
static const struct dataset {
	const char *name;
	double isl, osl;
} datasets[] = {
    {"OpenORCA+", NAN, NAN},
    {"OpenORCA", 294, 294},
    {"CNN/DailyMail", 778, 128},
    {"MLPerf 405B", 9400, 680},
    {"MLPerf DSR1", 800, 3880},
};

/* Of GPT-J, whose answers about CNN/DailyMail end early: the benchmark's reference wrote 4,016,878 characters about
 * 13,368 articles (MLCommons, gen_len of Inference 4.1), 4.35 of them a token. */
static const double summary_token = 69;

/* Mean lengths of prompts and answers; what is not printed follows from rates of the same row, or is usual.  Single
 * streams hardly depend on them. */
static void
read_lengths(struct serve_row *q, bool stream)
{
	const struct validate_row *row = q->row;
	const double rate = row_number(row, "req_per_s"), out_rate = row_number(row, "out_tps_total");
	const double all_rate = row_number(row, "total_tps");
	const bool decodes = row_number(row, "out_tps_user") > 0 || row_number(row, "tpot_ms_mean") > 0 || out_rate > 0;

	q->isl = row_number(row, "isl");
	q->osl = row_number(row, "osl");
	if (isnan(q->osl) && rate > 0 && out_rate > 0)
		q->osl = out_rate / rate;
	if (isnan(q->isl) && rate > 0 && all_rate > out_rate)
		q->isl = (all_rate - out_rate) / rate;
	const struct dataset *set = ROW_FIND(row, "notes", datasets);
	if (set && isnan(q->isl))
		q->isl = set->isl;
	if (set && isnan(q->osl))
		q->osl = q->n_beams > 1 ? summary_token : set->osl;
	if (stream && decodes && (isnan(q->isl) || isnan(q->osl)))
		q->warning = "lengths not published";
	if (stream && isnan(q->isl))
		q->isl = 128;
	if (stream && decodes && isnan(q->osl))
		q->osl = 200;
}

/* How lengths vary.  Conversations as they are collected are log-normal, about as wide as their means; lengths that
 * somebody chose are all alike, or uniform between two shares of a length: (high - low) / (low + high) over root 3. */
static void
read_spread(struct serve_row *q)
{
	const bool collected =
	    isnan(row_number(q->row, "osl")) || fmod(q->osl, 8) != 0 || row_has(q->row, "notes", "ShareGPT");
	const char *notes = row_text(q->row, "notes"), *uniform = notes ? strstr(notes, "lengths uniform ") : NULL;
	double low, high;

	q->isl_cv = collected ? 1.0 : 0;
	q->osl_cv = collected ? 0.8 : 0;
	if (!uniform)
		return;
	if (sscanf(uniform, "lengths uniform in %lf..%lf", &low, &high) != 2)
		low = 0, high = 1;
	q->isl_cv = q->osl_cv = round(1000 * (high - low) / (high + low) / sqrt(3)) / 1000;
}

/* Inputs whose padding is left out are half as long on average. */
static bool
is_unpadded(const struct serve_row *q)
{
	double params = 0;

	for (int i = 0; i < q->model->n_blocks; i++)
		params += q->model->blocks[i].count.value * 12 * q->model->hidden.value * q->model->hidden.value;
	return row_has(q->row, "notes", "padding removed") || row_has(q->row, "sched", "EFF") ||
	    (row_has(q->row, "software", "FasterTransformer") && params > 1e9);
}

double
serve_row_replicas(const struct serve_row *q)
{
	return q->n_decode > 0 ? 1 : q->n_gpus / (q->layout.tp * q->layout.pp);
}

enum { MOST_SIMULATED = 20000 };

/* Requests that come and go, or are all there.  Published runs of some hundred requests begin empty and end with
 * whoever is left, which a simulation of as many requests does too. */
static const char *
say_traffic(struct serve_row *q, double n_replicas)
{
	const double batch = row_number(q->row, "batch"), printed = row_number(q->row, "num_requests");
	const char *rate = row_text(q->row, "request_rate_rps");
	const bool online = row_is(q->row, "kind", "online-serving"),
	           all = row_has(q->row, "sched", "offline batch") || row_has(q->row, "sched", "static");
	const double requests = isnan(printed) && all ? batch : printed;
	double clients = row_number(q->row, "concurrency");
	bool comes = true;

	if (rate && strcmp(rate, "inf") != 0) {
		const double per_s = strtod(rate, NULL);
		if (!(per_s > 0))
			return "request rate not given";
		say_number(q, "--rate", q->n_beams * per_s / n_replicas);
	} else {
		if (!(clients >= 1) && online && !rate)
			return "load not given";
		comes = clients >= 1 || online;
		/* as many at once as the engine was told */
		clients = clients >= 1 ? clients : all ? NAN : batch;
		if (clients >= 1)
			say_count(q, "--concurrency", q->n_beams * clients / n_replicas);
	}
	if (!(requests >= 1))
		return NULL;
	say_count(q, "--requests", q->n_beams * requests / n_replicas);
	/* pools have no closed form here, and of conversations that vary in length the longest are answered alone at
	 * the end */
	comes = comes || (clients >= 1 && row_has(q->row, "notes", "ShareGPT"));
	q->simulates = comes && (q->n_decode > 0 || requests <= MOST_SIMULATED * n_replicas);
	if (!q->simulates)
		return NULL;
	read_spread(q);
	say(q, "--simulate");
	say_text(q, "--warmup", "0");
	say_number(q, "--isl-cv", q->isl_cv);
	say_number(q, "--osl-cv", q->osl_cv);
	return NULL;
}

/* Servers of one source, whose flags come from scripts, look for new requests every few steps.  SGLang on Blackwell: of
 * 1, 6, 10, 14, 20, 26, 30, 36 and 45 these two fit 64 rows of B200 best: TTFT is 17 % off below 16 clients (32 % with
 * a look every step) and 20 % from there on (74 %); on B300, where they were not fitted, 40 % (42 %) and 67 % (91 %).
 * TensorRT-LLM with data-parallel attention, whose ranks wait for one another's prompts: of 1, 30 and 60, 30 fits 13
 * rows best (TTFT 33 % off instead of 76).  Runs on other GPUs, or with usual flags, look every step. */
static void
say_poll(struct serve_row *q)
{
	const char *gpu = row_text(q->row, "gpu_id");
	const bool waits = begins(q->engine->id, "trtllm") && row_number(q->row, "dp") > 1,
	           polls = begins(q->engine->id, "sglang") && (begins(gpu, "b200") || begins(gpu, "b300"));

	if ((waits || polls) && row_has(q->row, "notes", "flags from the scripts"))
		say_text(q, "--set",
		    polls && row_number(q->row, "concurrency") < 16 ? "engine.scheduler.poll=10"
		                                                    : "engine.scheduler.poll=30");
}

static void
say_limits(struct serve_row *q)
{
	struct serve_limits limits;

	if (!serve_row_limits(q, &limits))
		return;
	say_text(q, "--set", arena_printf(q->arena, "engine.scheduler.max_sequences=%g", limits.n_sequences));
	say_text(q, "--set", arena_printf(q->arena, "engine.scheduler.max_tokens=%g", limits.n_tokens));
	say_text(q, "--set", limits.chunked ? "engine.scheduler.chunked=true" : "engine.scheduler.chunked=false");
}

static const char *
say_load(struct serve_row *q)
{
	const bool encodes = q->model->kind == MODEL_ENCODER, stream = row_is(q->row, "kind", "latency-batch1");
	const double batch = row_number(q->row, "batch");
	/* an engine that schedules requests takes a batch that was sent at once as requests */
	const bool whole = row_has(q->row, "sched", "batching off") || q->engine->kind != ENGINE_BATCHED;

	/* the beams of a request are sequences that share its prompt */
	say_count(q, "--isl", encodes && is_unpadded(q) ? q->isl / 2 : q->isl);
	if (q->n_beams > 1)
		say_count(q, "--beams", q->n_beams);
	if (!encodes && q->osl > 0)
		say_count(q, "--osl", q->osl);
	if (encodes || !(q->osl > 0) || stream || whole) {
		if (!encodes && q->osl > 0 && !stream && !(batch >= 1))
			return "batch size not given";
		say_count(q, "--batch", stream && !encodes && q->osl > 0 ? 1 : batch >= 1 ? batch : 1);
		return NULL;
	}
	return say_traffic(q, serve_row_replicas(q));
}

/* --- drafts ---------------------------------------------------------------------------------------------- */

enum { MTP_MOST = 5 };
/* Tokens of a step by the number of MTP drafts, the one for free included: TensorRT-LLM on DeepSeek-R1, 1K/2K prompts
 * of a real data set (its blog on minimum latency).  The only published series; texts differ. */
static const double mtp_tokens[MTP_MOST + 1] = {1, 1.92, 2.58, 2.82, 2.99, 3.01};

/* Drafts, and tokens of a step with them. */
struct drafted {
	double n, tokens;
};

/* Where a benchmark names neither: 3 drafts, and the tokens that leave no bias in the TPOT of such rows, of one source
 * whose random prompts are harder to guess than texts.  TensorRT-LLM is further off: with 2.6 tokens, 3.2 in long
 * answers (which repeat themselves), TPOT of 48 of its rows with few sequences a GPU is 9 % off in the mean instead of
 * 17; with one draft, as its guides advise for throughput, 10 rows with many of them 12 % instead of 17. */
static const struct drafted unnamed = {3, 2.2}, trtllm_few = {3, 2.6}, trtllm_long = {3, 3.2}, trtllm_many = {1, 1.75};
static const double long_answer = 4096, many_sequences = 16;

static struct drafted
unnamed_drafts(const struct serve_row *q)
{
	const bool pools = q->n_decode > 0;
	const double n_gpus = pools ? q->n_decode * q->decode.tp * q->decode.pp : q->n_gpus;
	const bool many = row_number(q->row, "concurrency") >= many_sequences * n_gpus;

	if (!begins(q->engine->id, "trtllm"))
		return unnamed;
	if (many && !pools)
		return trtllm_many;
	if (q->osl >= long_answer)
		return trtllm_long;
	return many ? unnamed : trtllm_few;
}

/* `MTP3`, `MTP`, `EAGLE3, 7 drafted, accepted length 3.15 with the first`. */
static const char *
say_drafts(struct serve_row *q)
{
	const char *method = row_text(q->row, "spec_method");
	const bool mtp = begins(method, "MTP");
	struct drafted d = {0};

	if (!method)
		return NULL;
	if (strstr(method, "relaxed"))
		return "drafts that are accepted by another rule";
	if (mtp) {
		const int n = (int)strtod(method + 3, NULL);
		const bool named = n >= 1 && n <= MTP_MOST;
		d = named ? (struct drafted){n, mtp_tokens[n]} : unnamed_drafts(q);
		q->warning = named ? "acceptance not published: that of a real data set assumed"
		                   : "draft length and acceptance not published";
	} else if (sscanf(method, "EAGLE3, %lf drafted, accepted length %lf", &d.n, &d.tokens) != 2)
		return "drafts not described";
	const double accept = draft_acceptance(d.tokens, d.n);
	if (isnan(accept))
		return "drafts not described";
	say_text(q, "--speculate", arena_printf(q->arena, "%s=%g,accept=%.6g", mtp ? "mtp" : "eagle", d.n, accept));
	return NULL;
}

/* --- together -------------------------------------------------------------------------------------------- */

static const char *
refused(const struct serve_row *q)
{
	if (row_has(q->row, "notes", "shared-prefix") || row_has(q->row, "notes", "shared prefix") ||
	    row_has(q->row, "notes", "cache hits"))
		return "prefix cache hits not described by the row";
	if (row_has(q->row, "notes", "offload"))
		return "weights or KV cache outside the GPU";
	/* clients are not the printed rate times the printed time of an answer (Little) */
	if (row_has(q->row, "notes", "ANOMALOUS"))
		return "the row contradicts itself";
	return NULL;
}

const char *
serve_row_read(struct serve_row *q)
{
	const bool stream = row_is(q->row, "kind", "latency-batch1");
	const char *why = read_layout(q);

	why = why ? why : refused(q);
	if (why)
		return why;
	/* the rules of MLPerf ask GPT-J for four beams */
	q->n_beams = row_has(q->row, "sched", "MLPerf") && text_begins(q->model->id, "gptj") ? 4 : 1;
	if (q->n_beams > 1)
		q->warning = "beam search as sequences that share a prompt";
	read_lengths(q, stream);
	if (isnan(q->isl) || q->isl + fmax(0, q->osl) < 1)
		return "lengths not given";
	/* vLLM ends an answer there, whatever was asked for */
	return row_has(q->row, "software", "vLLM") && q->isl + fmax(0, q->osl) > datum_or(q->model->context, INFINITY)
	    ? "longer than the model's context"
	    : NULL;
}

/* Its name in the database, or as it is printed, without the memory: RTX A6000 48GB. */
const char *
serve_row_gpu(struct arena *a, const struct validate_row *row)
{
	const char *id = row_text(row, "gpu_id"), *printed = row_text(row, "gpu");
	const char *last = printed ? strrchr(printed, ' ') : NULL;

	if (id || !last || !isdigit((unsigned char)last[1]) || !strstr(last, "GB"))
		return id ? id : printed;
	return arena_copy(a, printed, (size_t)(last - printed));
}

const char *
serve_row_say(struct serve_row *q)
{
	q->n_words = 0;
	q->simulates = false;
	say(q, q->model->id);
	say_text(q, "--gpu", serve_row_gpu(q->arena, q->row));
	say_text(q, "--engine", q->engine->id);
	const char *why = say_types(q);
	if (why)
		return why;
	say_layout(q);
	say_limits(q);
	say_poll(q);
	/* its first tokens show it, those of other sources do not */
	if (row_has(q->row, "source", "InferenceX"))
		say(q, "--cold");
	why = say_drafts(q);
	return why ? why : say_load(q);
}
