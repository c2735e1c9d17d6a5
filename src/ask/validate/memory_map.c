/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convert one published memory peak to the inputs of `ridge memory`; missing columns take the command's defaults. */
#include "ask/validate/validate.h"
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

/* The card as its driver reports it: `RTX 3090 (23.58 GiB)`; 0 where it is not printed. */
static double
card_gib(const struct published *p)
{
	const char *label = row_text(p->row, "gpu"), *open = label ? strchr(label, '(') : NULL;
	char *end;
	const double gib = open ? strtod(open + 1, &end) : 0;

	return open && end > open + 1 && text_begins(end, " GiB") ? gib : 0;
}

/* --- the framework or engine ----------------------------------------------------------------------------- */

/* Lightning-AI/litgpt, config_hub/finetune, which tables name and do not print: rank on 16-bit and on quantized
 * weights, and the maps that have adapters.  The first whose model fits counts. */
static const struct recipe {
	const char *folder, *model; /* its folder begins like this; the model where that is called otherwise */
	double rank, quantised_rank;
	const char *targets;
} recipes[] = {
    {"gemma2b", "gemma-2-2b", 8, 16, "all"},
    {"gemma", NULL, 8, 16, "all"},
    {"phi", NULL, 8, 8, "all"},
    {"tiny", NULL, 32, 32, "all"},
    {"", NULL, 32, 32, "q,v"},
};

/* NULL: the row is not from that hub. */
static const struct recipe *
recipe_of(const struct published *p)
{
	const struct recipe *out = recipes;

	if (!row_has(p->row, "framework", "hub") || !row_text(p->row, "model"))
		return NULL;
	while (!text_begins(row_text(p->row, "model"), out->folder))
		out++;
	return out;
}

static bool
is_adapted(const struct published *p)
{
	return published_fact(p, "peft.lora") || published_fact(p, "peft.learned") ||
	    !isnan(row_number(p->row, "lora_rank"));
}

/* A library that generates, with a cache as long as its text. */
static bool
generates(const char *stack)
{
	return strstr(stack, "-generate") != NULL;
}

/* Up to 0.6 prompts were prefilled whole, so the longest sequence mattered and was printed. */
static const char *
vllm_of(const struct published *p)
{
	const char *note = row_text(p->row, "note");

	for (const char *at = note ? strstr(note, "0.") : NULL; at; at = strstr(at + 1, "0.")) {
		const double minor = strtod(at + 2, NULL);
		if ((at == note || strchr("v ", at[-1])) && minor >= 1)
			return minor >= 2 && minor < 7 ? "vllm-0.6" : "vllm";
	}
	return row_text(p->row, "seq_len") ? "vllm-0.6" : "vllm";
}

/* Find the engine of a row: engines have separate files.  NULL: the row names none. */
static const char *
engine_of(const struct published *p)
{
	static const char *const engines[][2] = {{"vLLM", NULL}, {"SGLang", "sglang"}, {"TensorRT", "tensorrt-llm"}};
	const char *const *e = ROW_FIND(p->row, "framework", engines);

	return !e ? NULL : e[1] ? e[1] : vllm_of(p);
}

/* Full fine-tuning in mixed precision on one node goes through DeepSpeed in these scripts, and so does fp16, which GPTQ
 * needs (the scripts of QwenLM/Qwen). */
static bool
is_deepspeed(const struct published *p)
{
	return strcmp(p->stack->id, "hf-peft") == 0 &&
	    (row_has(p->row, "sharding", "ZeRO") || published_fact(p, "weight_dtype.gptq") ||
	        (!is_adapted(p) && published_fact(p, "optimizer.mixed")));
}

/* NULL: unknown framework. */
static const char *
stack_of(struct published *p)
{
	const char *engine = p->infer ? engine_of(p) : NULL;

	if (engine)
		return engine;
	published_find_stack(p, p->infer ? STACK_INFER : STACK_TRAIN);
	if (!p->stack && !p->infer && p->stacks->unlisted)
		p->stack = published_stack_of(p, row_has(p->row, "sharding", "FSDP") ? "unlisted-fsdp" : "unlisted");
	if (p->match && p->stack && is_deepspeed(p))
		p->stack = published_stack_of(p, "hf-deepspeed");
	return p->stack ? p->stack->id : NULL;
}

const char *
published_counter(const struct published *p)
{
	const char *said = published_fact(p, "metric.counter");
	const enum counter c = said && strcmp(said, "reserved") == 0 ? COUNTER_RESERVED : COUNTER_ALLOCATED;

	if (!p->stack)
		return "device";
	if (said && !p->infer)
		return datum_given(p->stack->counter_byte[c]) ? said : NULL;
	if (!p->match)
		return NULL;
	return p->match->counter && strcmp(p->stack->id, "hf-deepspeed") != 0 ? p->match->counter : NULL;
}

/* --- training -------------------------------------------------------------------------------------------- */

/* Rank and maps of the adapters.  Learned prompts are usually 10 tokens. */
static void
set_adapters(struct published *p)
{
	const struct recipe *hub = recipe_of(p);
	const char *learned = published_fact(p, "peft.learned"), *more = published_fact(p, "peft.targets");
	const char *targets = learned ? learned : published_fact(p, "lora_targets.targets");
	double rank = row_number(p->row, "lora_rank");

	if (isnan(rank) && !learned && hub)
		targets = hub->targets;
	else if (isnan(rank) && !learned)
		p->warning = "LoRA rank not published: 16 assumed";
	if (isnan(rank))
		rank = learned ? 10 : !hub ? 16 : row_text(p->row, "quant") ? hub->quantised_rank : hub->rank;
	published_number(p, "lora_rank", rank);
	if (more)
		targets = arena_printf(p->arena, "%s,%s", targets ? targets : "all", more);
	if (!targets && !strstr(p->stack->id, "litgpt"))
		targets = "all";
	published_set(p, "lora_targets", targets);
}

/* Transformers up to 4.47, of 2024, copied the upcast logits once more to shift them; torch is known where it is newer.
 */
static bool
old_loss(const struct published *p)
{
	const char *framework = row_text(p->row, "framework"),
	           *torch = framework ? strstr(framework, "torch 2.") : NULL;

	return !torch || strtod(torch + strlen("torch 2."), NULL) < 6;
}

static bool
is_format(const struct published *p, const char *column, const char *format)
{
	const char *said = published_fact(p, arena_printf(p->arena, "%s.format", column));

	return said && strcmp(said, format) == 0;
}

static void
set_loss(struct published *p)
{
	const char *stack = p->stack->id;

	if (published_fact(p, "weight_dtype.gptq")) /* its kernels multiply in fp16, without autocast */
		published_set(p, "loss", "pure");
	else if (!is_format(p, "weight_dtype", "fp16") && old_loss(p) &&
	    (strcmp(stack, "hf-peft") == 0 || (is_adapted(p) && strcmp(stack, "hf-deepspeed") == 0)))
		published_set(p, "loss", "autocast");
	/* of late 2024: the model was compiled and the loss was not */
	if (strcmp(stack, "torchtitan") == 0 && published_month(p->row) > 0 && published_month(p->row) < 202501 &&
	    !(row_number(p->row, "tp") > 1))
		published_set(p, "loss", "eager");
}

/* Types: 8-bit products need copies of the weights, as many as the GPU asks for. */
static void
set_formats(struct published *p)
{
	const char *format = published_fact(p, "quant.format"), *quant = published_fact(p, "quant.quant");

	if (!quant)
		quant = published_fact(p, "peft.quant");
	if (!quant)
		quant = published_fact(p, "weight_dtype.quant");
	if (format && quant && !is_adapted(p) && !p->infer) {
		published_set(p, "dtype", format);
		published_set(p, "gpu", row_text(p->row, "gpu_id"));
		return;
	}
	published_set(p, "quant", quant);
	if (is_format(p, "weight_dtype", "fp32") || (is_format(p, "weight_dtype", "fp16") && !p->infer))
		published_set(p, "dtype", published_fact(p, "weight_dtype.format"));
}

/* Precision, optimizer and what is trained. */
static void
set_training(struct published *p)
{
	if (!is_adapted(p) && strstr(p->stack->id, "litgpt"))
		p->warning =
		    "published peaks of full fine-tuning with this framework are not explained by its optimizer";
	set_formats(p);
	set_loss(p);
	if (is_adapted(p))
		set_adapters(p);
	if (strcmp(p->stack->id, "hf-peft") == 0 && is_format(p, "weight_dtype", "bf16") &&
	    !published_fact(p, "optimizer.mixed"))
		published_set(p, "states", "pure");
	if (published_fact(p, "weight_dtype.params") && p->stack->scheme != STATES_FP32)
		published_set(p, "states", "fp32");
	if (published_fact(p, "flash_attn.unfused"))
		published_set(p, "attention", "unfused");
}

static void
set_layout(struct published *p)
{
	const struct validate_row *row = p->row;
	const double n = row_number(row, "n_gpus"), tp = row_number(row, "tp"), dp = row_number(row, "dp");

	if (p->infer) {
		if (isnan(tp) && n > 1 && published_fact(p, "scope.total"))
			published_number(p, "layout.pp", n); /* layers spread over the GPUs */
		return;
	}
	if (dp > 1)
		published_number(p, "layout.dp", dp);
	else if (n > 1 && isnan(tp) && isnan(row_number(row, "pp")))
		published_number(p, "layout.dp", n);
	if (!row_text(row, "sharding") &&
	    strcmp(p->stack->id, "hf-deepspeed") == 0) /* as its fine-tuning scripts have it */
		published_set(p, "layout.zero", row_text(row, "peft") ? "2" : "3");
	if (tp > 1 && (strcmp(p->stack->id, "torchtitan") == 0 || strcmp(p->stack->id, "megatron-core") == 0))
		published_set(p, "layout.sp", "true");
	if (isnan(row_number(row, "ep")) && published_figure(p, "notes.ep") > 1)
		published_number(p, "layout.ep", published_figure(p, "notes.ep"));
}

static void
set_batch(struct published *p)
{
	const double batch = row_number(p->row, "micro_batch"), local = published_figure(p, "notes.local_batch");
	const double steps = published_figure(p, "notes.steps"), pp = row_number(p->row, "pp");

	if (pp > 1 && local > 0 && isnan(batch)) {
		/* as many micro-batches as stages where nothing else was asked for */
		published_number(p, "batch", fmax(1, floor(local / pp)));
		published_number(p, "microbatches", fmin(local, pp));
	} else if (pp > 1 && local > 0)
		published_number(p, "microbatches", fmax(1, floor(local / batch)));
	else if (steps > 1 && !p->infer)
		published_number(p, "microbatches", steps);
}

/* --- serving --------------------------------------------------------------------------------------------- */

static void
set_serving(struct published *p, const char *stack)
{
	const double prompt = published_figure(p, "notes.prompt"), gib = card_gib(p);

	published_set(p, "use", "infer");
	set_formats(p);
	if (row_has(p->row, "framework", "int8=int8"))
		published_set(p, "kv_dtype", "int8");
	if (generates(stack)) {
		/* generating from a short prompt: nothing is prefilled at once */
		if (!isnan(prompt) || published_fact(p, "metric.generating") || !row_text(p->row, "seq_len"))
			published_number(p, "batch_tokens", isnan(prompt) ? 1 : prompt);
		/* before its caches of 2024 model code concatenated old and new */
		if (row_has(p->row, "framework", "HF Transformers") && !row_has(p->row, "framework", "4."))
			published_set(p, "stack.serving.cache_copies", "2");
		return;
	}
	published_number(p, "utilization", row_number(p->row, "gpu_mem_util"));
	if (strcmp(stack, "vllm-0.6") == 0 && row_text(p->row, "seq_len"))
		published_number(p, "batch_tokens", fmax(2048, row_number(p->row, "seq_len")));
	if (gib > 0)
		published_set(p, "gpu_mem", arena_printf(p->arena, "%.10gGiB", gib));
	else
		published_set(p, "gpu", row_text(p->row, "gpu_id"));
}

/* --- a table of peaks ------------------------------------------------------------------------------------ */

/* What the metric asks for; else why it is not predicted. */
static const char *
want(struct published *p, enum wanted *wanted)
{
	static const char *const names[] = {"peak", "weights", "activations", "pool", "tokens"};
	const char *said = published_fact(p, "metric.wants");

	*wanted = WANT_PEAK;
	for (int i = 0; said && i <= WANT_TOKENS; i++)
		if (strcmp(said, names[i]) == 0)
			*wanted = (enum wanted)i;
	if (*wanted >= WANT_POOL && !row_text(p->row, "gpu_id") && !card_gib(p))
		return "GPU not given";
	if (*wanted >= WANT_POOL && published_fact(p, "notes.mixed"))
		p->warning = "figures of different runs (note)";
	if (published_sees(p) && *wanted != WANT_WEIGHTS)
		return "vision encoder not counted";
	return NULL;
}

/* Tokens of a sequence: printed, noted, or usual; NaN: not known. */
static double
length_of(struct published *p, const char *stack)
{
	double seq = row_number(p->row, "seq_len");

	if (isnan(seq))
		seq = published_figure(p, "notes.seq");
	if (isnan(seq) && !p->infer && published_fact(p, "notes.alpaca") && strcmp(stack, "torchtune") == 0) {
		seq = 512; /* what its recipes cut the samples at, nearly all of which are shorter */
		p->warning = "sample length not published: 512 assumed, the recipes' limit";
	}
	return isnan(seq) && generates(stack) ? 64 : seq; /* a question and a short answer */
}

const char *
memory_row_ask(struct published *p, enum wanted *wanted)
{
	const char *why = published_words(p);

	p->infer = published_fact(p, "task.infer") != NULL;
	if (why)
		return why;
	const char *stack = stack_of(p);
	const struct recipe *hub = recipe_of(p);
	if (!stack)
		return row_text(p->row, "framework")
		    ? arena_printf(p->arena, "framework: '%s' is not in the database", row_text(p->row, "framework"))
		    : "framework not given";
	if (p->match && p->match->refused)
		return p->match->refused;
	why = want(p, wanted);
	if (why)
		return why;
	const double seq = length_of(p, stack);
	if (isnan(seq) && !p->infer)
		return "sequence length not given";
	if (hub && hub->model)
		published_set(p, "model", hub->model);
	if ((why = published_model(p)))
		return why;
	published_set(p, "stack", stack);
	published_set(p, "counter", published_counter(p));
	published_number(p, "seq", seq);
	set_layout(p);
	set_batch(p);
	if (p->infer) {
		set_serving(p, stack);
		return NULL;
	}
	set_training(p);
	published_policies(p);
	return NULL;
}
