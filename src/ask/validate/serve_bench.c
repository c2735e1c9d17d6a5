/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What trtllm-bench tells the engine where nobody does: most sequences, most tokens of a step. */
#include "ask/validate/validate.h"

#include "base/base.h"
#include "db/db.h"
#include "model/calc/calc.h"

#include <math.h>
#include <string.h>

/* Engines of the C++ runtime are built by a table; what is not in it, by the defaults of the builder
 * (NVIDIA/TensorRT-LLM tensorrt_llm/bench/build/benchmark_config.yml at 8fcf9fc, BuildConfig). */
static const struct build {
	const char *model;
	double tp, context_token; /* 0: any */
	struct serve_limits limits;
} builds[] = {
    {"llama3-70b", 1, 0, {2048, 2048, true}},
    {"llama3-70b", 2, 4096, {2048, 1024, true}},
    {"llama3-70b", 2, 0, {256, 1024, true}},
    {"llama3-70b", 4, 0, {2048, 1024, true}},
    {"llama3-70b", 8, 0, {8192, 16384, true}},
    {"mixtral-8x7b", 2, 0, {2048, 3072, true}},
    {"mixtral-8x7b", 4, 0, {8192, 8192, true}},
    {"mistral-7b", 1, 0, {4098, 8192, true}},
};

static struct serve_limits
built(const struct serve_row *q)
{
	static const struct serve_limits builder = {2048, 8192, true};

	for (size_t i = 0; q->layout.pp == 1 && i < sizeof builds / sizeof *builds; i++) {
		const struct build *b = &builds[i];
		if (strcmp(q->model->id, b->model) == 0 && q->layout.tp == b->tp &&
		    (b->context_token == 0 || b->context_token == q->isl + q->osl))
			return b->limits;
	}
	return builder;
}

/* --- the PyTorch runtime ------------------------------------------------------------------------------------- */

/* Bytes per element as the rule counts them. */
static double
elem_byte(const char *type)
{
	return type && strstr(type, "fp4") ? 0.5 : type && strstr(type, "fp8") ? 1 : 2;
}

/* Keys and values of a token in all layers of all GPUs, of which each has one head at least. */
static double
token_byte(const struct workload *w, double tp, double kv_elem_byte)
{
	double byte = 0;

	for (int i = 0; i < w->n_blocks; i++) {
		const struct attention *a = &w->blocks[i].attention;
		byte += w->blocks[i].count.value * 2 * fmax(tp, a->n_kv_heads.value) * a->head_dim.value * kv_elem_byte;
	}
	return byte;
}

static double
whole_steps(double value, double step)
{
	return step * ceil(value / step);
}

/* As many sequences as the memory beside the weights holds, and the tokens of as many prompts as then start in a step,
 * both rounded up (calc_engine_setting and finetune_setting, tensorrt_llm/bench/build/tuning.py at 04cba88).  Prompts
 * are not cut: a step takes the longest of them beside all sequences (get_settings, bench/benchmark/utils/general.py).
 */
static struct serve_limits
tuned(const struct serve_row *q)
{
	static const double most_sequences = 4096, most_tokens = 32768, share = 0.95;
	const double weight_byte = model_params(NULL, q->model) * elem_byte(row_text(q->row, "weight_dtype"));
	const double card_byte = datum_or(q->gpu->mem_usable_byte, q->gpu->mem_label_byte.value);
	const double room_byte = share * (card_byte * q->layout.tp * q->layout.pp - weight_byte);
	const double kv_byte = token_byte(q->model, q->layout.tp, elem_byte(row_text(q->row, "kv_dtype")));
	const double n_fit = room_byte / (kv_byte * (q->isl + q->osl));
	const double n = fmin(n_fit, most_sequences) / q->layout.pp,
	             token = fmin(n * (1 + q->isl / q->osl), most_tokens);
	const double n_sequences = n < 256 ? fmax(64, whole_steps(n, 32)) : whole_steps(n, n < 1024 ? 128 : 256);
	const double n_tokens =
	    token < 4096 ? fmax(2048, whole_steps(token, 256)) : whole_steps(token, token < 8192 ? 512 : 1024);

	return (struct serve_limits){n_sequences, fmax(n_tokens, q->isl + n_sequences), false};
}

/* --- together ------------------------------------------------------------------------------------------------ */

/* Whose tables were made so is seen in their rows.  Release 0.14: 4.8 % off in the mean, with the builder's defaults
 * instead of the table 8.5.  0.20: 4.1 % with the rule, 6.2 without.  Releases 0.17, 1.0 and 1.1 are no nearer with the
 * rule, as if they had been told. */
bool
serve_row_limits(const struct serve_row *q, struct serve_limits *out)
{
	if (!row_has(q->row, "source", "TensorRT-LLM perf-overview"))
		return false;
	if (strcmp(q->engine->id, "trtllm-0.14") == 0)
		*out = built(q);
	else if (strcmp(q->engine->id, "trtllm-0.20") == 0)
		*out = tuned(q);
	else
		return false;
	return true;
}
