/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Convert rows of published memory tables to inputs of `ridge memory`.  A table of words gives most inputs; what a row
 * leaves out takes the command's defaults.  Two kinds of rows: tables of peaks, and training runs that print a peak.
 */
#include "ask/validate/validate.h"
#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- inputs ---------------------------------------------------------------------------------------------- */

static void
set(struct memory_row *q, const char *path, const char *text)
{
	if (text)
		q->inputs = tree_with(q->arena, q->inputs, path, tree_scalar(q->arena, text, (struct source){0}));
}

static void
set_number(struct memory_row *q, const char *path, double value)
{
	if (!isnan(value))
		set(q, path, arena_printf(q->arena, "%.17g", value));
}

/* An input for rows whose column has a word. */
struct said {
	const char *column, *word, *path, *value;
};

/* Set the inputs of a table; of rows with one path the first that holds counts.  False when none held. */
static bool
set_said(struct memory_row *q, const struct said *table, size_t n)
{
	bool any = false;

	for (size_t i = n; i-- > 0;)
		if (row_has(q->row, table[i].column, table[i].word)) {
			set(q, table[i].path, table[i].value);
			any = true;
		}
	return any;
}
#define SET_SAID(q, table) set_said((q), (table), sizeof(table) / sizeof *(table))

static void
set_degrees(struct memory_row *q)
{
	static const char *const degrees[] = {"tp", "pp", "vp", "cp", "ep", "etp"};

	for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++)
		if (row_number(q->row, degrees[i]) > 1)
			set_number(q, arena_printf(q->arena, "layout.%s", degrees[i]), row_number(q->row, degrees[i]));
}

/* --- words ----------------------------------------------------------------------------------------------- */

/* A number that the note gives behind some words: `gradient accumulation 8`; NaN: none. */
static double
noted(const struct memory_row *q, const char *words)
{
	const char *note = row_text(q->row, "note"), *at = note ? strstr(note, words) : NULL;
	char *end;

	while (at && at > note && isalpha((unsigned char)at[-1])) /* inside of another word */
		at = strstr(at + 1, words);
	if (!at)
		return NAN;
	const double value = strtod(at + strlen(words), &end);
	return end == at + strlen(words) ? NAN : value;
}

/* Whether the text has these lowercase words, in any case. */
static bool
text_says(const char *text, const char *words)
{
	const size_t n = strlen(words);

	for (size_t i = 0; text && text[i]; i++) {
		size_t k = 0;
		while (k < n && tolower((unsigned char)text[i + k]) == words[k])
			k++;
		if (k == n)
			return true;
	}
	return false;
}

static bool
notes(const struct memory_row *q, const char *words)
{
	return text_says(row_text(q->row, "note"), words);
}

struct meaning {
	const char *word, *value;
};

static const char *
meaning_of(const char *text, const struct meaning *table)
{
	for (; text && table->word; table++)
		if (text_says(text, table->word))
			return table->value;
	return NULL;
}

/* Formats of frozen or served weights. */
static const struct meaning quants[] = {{"nf4-dq", "nf4-dq"}, {"nvfp4", "nvfp4"}, {"mxfp4", "mxfp4"}, {"nf4", "nf4"},
    {"int8", "int8"}, {"w8a8", "int8"}, {"int4", "int4"}, {"w4a16", "int4"}, {"awq", "int4"}, {"8-bit", "int8"},
    {"gptq", "int4"}, {"4-bit", "nf4"}, {"fp8", "fp8"}, {NULL, NULL}};

/* Types of products of quantized training. */
static const struct meaning dtypes[] = {
    {"mxfp8", "mxfp8"}, {"nvfp4", "nvfp4"}, {"float8", "fp8"}, {"fp8", "fp8"}, {"blockwise", "fp8"}, {NULL, NULL}};

/* The card as its driver reports it: `RTX 3090 (23.58 GiB)`; 0 where it is not printed. */
static double
card_gib(const struct memory_row *q)
{
	const char *label = row_text(q->row, "gpu"), *open = label ? strchr(label, '(') : NULL;
	char *end;
	const double gib = open ? strtod(open + 1, &end) : 0;

	return open && end > open + 1 && text_begins(end, " GiB") ? gib : 0;
}

/* `q_proj,v_proj` is q,v; what trainers call all linear maps is all. */
static const char *
targets_of(const struct memory_row *q)
{
	const char *text = row_text(q->row, "lora_targets"), *out = NULL;
	size_t n;

	if (!text || strstr(text, "all"))
		return text ? "all" : NULL;
	char **words = text_split(q->arena, text, ',', &n);
	for (size_t i = 0; i < n; i++) {
		char *suffix = strstr(words[i], "_proj"), *plus = strchr(words[i], '+');
		const bool mlp = strstr(words[i], "mlp") != NULL;
		if (suffix)
			*suffix = '\0';
		while (plus && plus > words[i] && plus[-1] == ' ')
			plus--;
		if (plus)
			*plus = '\0';
		out = arena_printf(
		    q->arena, "%s%s%s%s", out ? out : "", out ? "," : "", words[i], mlp ? ",gate,up,down" : "");
	}
	return out;
}

/* The recomputed modules that the row names, as a list; NULL: none. */
static const char *
modules_of(const struct memory_row *q)
{
	const char *text = row_text(q->row, "recompute"), *out = NULL;

	for (int m = 0; text && m < N_MODULES; m++) {
		const char *name = module_name((enum module)m), *at = strstr(text, name);
		if (at && !isalnum((unsigned char)at[strlen(name)]) && at[strlen(name)] != '_' &&
		    (at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '_')))
			out = arena_printf(q->arena, "%s%s%s", out ? out : "", out ? "," : "", name);
	}
	return out;
}

/* --- frameworks ------------------------------------------------------------------------------------------ */

/* What a framework's name holds; the first that is found counts.  `counter` is what its tables read; `binary`: they
 * print GB and divide by 1024, as the counters of torch and nvidia-smi are usually read. */
static const struct memory_framework {
	const char *word, *stack, *counter;
	bool infer, binary;
} frameworks[] = {
    {"torchtitan", "torchtitan", "reserved", false, true},
    {"torchtune", "torchtune", "reserved", false, false},
    {"litgpt (2023", "litgpt-2023", "allocated", false, false},
    {"litgpt", "litgpt", "allocated", false, false},
    {"Megatron-Core", "megatron-core", "device", false, false},
    {"Megatron Core", "megatron-core", "device", false, false},
    {"Megatron-Bridge", "megatron-core", "device", false, false},
    {"NeMo", "megatron-core", "device", false, false},
    {"Megatron-DeepSpeed", "megatron-deepspeed", "device", false, false},
    {"Megatron-LM", "megatron-lm", "device", false, false},
    {"llm-foundry", "llm-foundry", "device", false, false},
    {"DeepSpeed", "hf-deepspeed", "device", false, true},
    {"HF Transformers", "hf-generate", "device", true, true},
    {"vLLM", "vllm", "device", true, false},
    {"SGLang", "sglang", "device", true, false},
    {"TensorRT", "tensorrt-llm", "device", true, false},
    {"fsdp_qlora", "hf-peft", "reserved", false, true},
    {"unsloth", "unsloth", "device", false, true},
    {"HF + ", "hf-peft", "reserved", false, true},
    {"HF", "hf-peft", "device", false, true},
    {"TRL", "hf-peft", "device", false, false},
    {"PEFT", "hf-peft", "reserved", false, false},
    {"axolotl", "hf-peft", "device", false, true},
    {"Axolotl", "hf-peft", "device", false, true},
    {"LLaMA-Factory", "hf-peft", "device", false, true},
    {"ms-swift", "hf-peft", "device", false, true},
    {"ransformers", "hf-peft", "device", false, true},
    {"utomodel", "torchtitan", "reserved", false, true},
    {"FSDP", "torchtitan", "reserved", false, true},
    {"Megatron", "megatron-core", "device", false, false},
};

bool
memory_row_is_binary(const struct validate_row *row)
{
	const struct memory_framework *framework = ROW_FIND(row, "framework", frameworks);

	return framework && framework->binary;
}

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
recipe_of(const struct memory_row *q)
{
	const struct recipe *out = recipes;

	if (!row_has(q->row, "framework", "hub"))
		return NULL;
	while (!text_begins(row_text(q->row, "model"), out->folder))
		out++;
	return out;
}

static bool
is_adapted(const struct memory_row *q)
{
	return row_text(q->row, "peft") || !isnan(row_number(q->row, "lora_rank"));
}

/* A library that generates, with a cache as long as its text. */
static bool
generates(const char *stack)
{
	return strstr(stack, "-generate") != NULL;
}

/* Up to 0.6 prompts were prefilled whole, so the longest sequence mattered and was printed. */
static const char *
vllm_of(const struct memory_row *q)
{
	static const struct meaning versions[] = {{"v0.6", "vllm-0.6"}, {"v0.5", "vllm-0.6"}, {"v0.4", "vllm-0.6"},
	    {"v0.3", "vllm-0.6"}, {"v0.2", "vllm-0.6"}, {"v0.7", "vllm"}, {"v0.8", "vllm"}, {"v0.9", "vllm"},
	    {"v0.1", "vllm"}, {"0.7.", "vllm"}, {"0.8.", "vllm"}, {"0.9.", "vllm"}, {"0.10.", "vllm"},
	    {"0.11.", "vllm"}, {NULL, NULL}};
	const char *said = meaning_of(row_text(q->row, "note"), versions);

	return said ? said : row_text(q->row, "seq_len") ? "vllm-0.6" : "vllm";
}

/* Full fine-tuning in mixed precision on one node goes through DeepSpeed in these scripts, and so does fp16, which GPTQ
 * needs (the scripts of QwenLM/Qwen). */
static const char *
stack_of(const struct memory_row *q)
{
	const char *usual = q->framework->stack;

	if (!q->infer && strcmp(usual, "hf-peft") == 0 &&
	    (row_has(q->row, "sharding", "ZeRO") || row_has(q->row, "weight_dtype", "GPTQ") ||
	        (!is_adapted(q) && row_has(q->row, "optimizer", "mixed precision"))))
		return "hf-deepspeed";
	if (strcmp(usual, "vllm") == 0)
		return vllm_of(q);
	if (q->infer && !q->framework->infer)
		return strstr(usual, "litgpt") ? "litgpt-generate" : "hf-generate";
	return usual;
}

static const char *
counter_of(const struct memory_row *q, const char *stack)
{
	if (generates(stack))
		return row_has(q->row, "framework", "litgpt") || row_has(q->row, "framework", "4.") ? "allocated"
		                                                                                    : "device";
	if (row_has(q->row, "metric", "active") || row_has(q->row, "metric", "allocated"))
		return strcmp(stack, "megatron-core") == 0 || strstr(stack, "torchtune") || strstr(stack, "litgpt")
		    ? "allocated"
		    : NULL;
	if (row_has(q->row, "metric", "reserved") && strcmp(stack, "hf-peft") == 0)
		return "reserved";
	return q->framework->counter;
}

/* --- training -------------------------------------------------------------------------------------------- */

/* Transformers up to 4.47, of 2024, copied the upcast logits once more to shift them; torch is known where it is newer.
 */
static bool
old_loss(const struct memory_row *q)
{
	const char *framework = row_text(q->row, "framework"),
	           *torch = framework ? strstr(framework, "torch 2.") : NULL;

	return !torch || strtod(torch + strlen("torch 2."), NULL) < 6;
}

/* Rank and maps of the adapters.  Learned prompts are usually 10 tokens. */
static void
set_adapters(struct memory_row *q, bool learned)
{
	const struct recipe *hub = recipe_of(q);
	const char *targets = targets_of(q);
	double rank = row_number(q->row, "lora_rank");

	if (learned)
		targets = row_has(q->row, "peft", "v2") ? "prompt,outputs" : "prompt";
	else if (isnan(rank) && hub)
		targets = hub->targets;
	else if (isnan(rank))
		q->warning = "LoRA rank not published: 16 assumed";
	if (isnan(rank))
		rank = learned ? 10 : !hub ? 16 : row_text(q->row, "quant") ? hub->quantised_rank : hub->rank;
	set_number(q, "lora_rank", rank);
	if (row_has(q->row, "peft", "emb"))
		targets = arena_printf(q->arena, "%s,embed", targets ? targets : "all");
	if (!targets && !strstr(q->framework->stack, "litgpt"))
		targets = "all";
	set(q, "lora_targets", targets);
}

static void
set_loss(struct memory_row *q, const char *stack)
{
	if (row_has(q->row, "weight_dtype", "GPTQ")) /* its kernels multiply in fp16, without autocast */
		set(q, "loss", "pure");
	else if (notes(q, "chunk"))
		set(q, "loss", "chunked");
	else if (!row_has(q->row, "weight_dtype", "fp16") && old_loss(q) &&
	    (strcmp(stack, "hf-peft") == 0 || (is_adapted(q) && strcmp(stack, "hf-deepspeed") == 0)))
		set(q, "loss", "autocast");
}

/* Precision, optimizer and what is trained. */
static const char *
set_training(struct memory_row *q, const char *stack)
{
	static const struct said words[] = {{"weight_dtype", "fp16", "dtype", "fp16"},
	    {"optimizer", "8-bit", "optimizer", "adam8bit"}, {"optimizer", "8bit", "optimizer", "adam8bit"}};
	const char *peft = row_text(q->row, "peft"), *weights = row_text(q->row, "weight_dtype");
	const char *optimizer = row_text(q->row, "optimizer"), *quant = row_text(q->row, "quant");
	const bool learned = row_has(q->row, "peft", "Adapter"), adapted = is_adapted(q);
	const char *dtype = adapted ? NULL : meaning_of(quant, dtypes);

	if (peft && !learned && !strstr(peft, "LoRA") && !strstr(peft, "lora"))
		return "kind of adapter not modeled";
	if (optimizer && strstr(optimizer, "Muon"))
		return "optimizer not modeled";
	if (!adapted && strstr(stack, "litgpt"))
		q->warning =
		    "published peaks of full fine-tuning with this framework are not explained by its optimizer";
	set(q, "dtype", dtype);
	if (dtype)
		set(q, "gpu", row_text(q->row, "gpu_id")); /* how many copies it needs */
	else
		set(q, "quant", meaning_of(quant, quants));
	if (optimizer && text_begins(optimizer, "SGD"))
		set(q, "optimizer", "sgd");
	SET_SAID(q, words);
	if (notes(q, "fp8 param"))
		set(q, "fp8_params", "true");
	if (notes(q, "optimizer in backward") || notes(q, "optimizer step into backward"))
		set(q, "optimizer_in_backward", "true");
	set_loss(q, stack);
	if (adapted)
		set_adapters(q, learned);
	if (strcmp(q->framework->stack, "hf-peft") == 0 && weights && text_begins(weights, "bf16") &&
	    !row_has(q->row, "optimizer", "mixed precision"))
		set(q, "states", "pure");
	return NULL;
}

static void
set_layout(struct memory_row *q, const char *stack)
{
	static const struct said shardings[] = {{"sharding", "ZeRO-3", "layout.zero", "3"},
	    {"sharding", "FSDP", "layout.zero", "3"}, {"sharding", "ZeRO-2", "layout.zero", "2"},
	    {"sharding", "ZeRO-1", "layout.zero", "1"}, {"sharding", "distributed optimizer", "layout.zero", "1"}};
	const struct validate_row *row = q->row;
	const double n = row_number(row, "n_gpus"), tp = row_number(row, "tp");

	set_degrees(q);
	if (q->infer) {
		if (isnan(tp) && n > 1 && row_has(row, "scope", "total"))
			set_number(q, "layout.pp", n); /* layers spread over the GPUs */
		return;
	}
	if (row_number(row, "dp") > 1)
		set_number(q, "layout.dp", row_number(row, "dp"));
	else if (n > 1 && isnan(tp) && isnan(row_number(row, "pp")))
		set_number(q, "layout.dp", n);
	if (!SET_SAID(q, shardings) && strcmp(stack, "hf-deepspeed") == 0) /* as its fine-tuning scripts have it */
		set(q, "layout.zero", row_text(row, "peft") ? "2" : "3");
	if (tp > 1 &&
	    (strcmp(stack, "torchtitan") == 0 || strcmp(stack, "megatron-core") == 0 ||
	        row_has(row, "recompute", "SP") || row_has(row, "sharding", "SP")))
		set(q, "layout.sp", "true");
	if (isnan(row_number(row, "ep")) && noted(q, "EP") > 1)
		set_number(q, "layout.ep", noted(q, "EP"));
	if (row_has(row, "sharding", "CPU offload"))
		set(q, "offload", row_has(row, "sharding", "FSDP") ? "params,optimizer" : "optimizer");
}

static void
set_policy(struct memory_row *q)
{
	static const struct said titans[] = {{"recompute", "full", "recompute", "full"},
	    {"recompute", "yes", "recompute", "full"}, {"recompute", "activation checkpointing", "recompute", "full"},
	    {"recompute", "op", "recompute", "op"}, /* its usual selection */
	    {"recompute", "selective", "recompute", "op"}};
	static const struct said others[] = {{"recompute", "full", "recompute", "full"},
	    {"recompute", "yes", "recompute", "full"}, {"recompute", "activation checkpointing", "recompute", "full"},
	    {"recompute", "selective", "recompute", "selective"}};
	static const struct said words[] = {
	    {"recompute", "CPU offload", "offload", "activations"}, {"compile", "yes", "compile", "true"}};
	const char *flash = row_text(q->row, "flash_attn"), *stack = q->framework->stack;
	const bool titan = strcmp(stack, "torchtitan") == 0;

	if (titan)
		SET_SAID(q, titans);
	else
		SET_SAID(q, others);
	if (strcmp(stack, "megatron-core") == 0)
		set(q, "recompute", modules_of(q));
	/* of late 2024: the model was compiled and the loss was not */
	if (titan && row_has(q->row, "framework", "(2024") && !(row_number(q->row, "tp") > 1))
		set(q, "loss", "eager");
	SET_SAID(q, words);
	if (flash && strcmp(flash, "no") == 0 && !q->infer)
		set(q, "attention", "unfused");
}

static void
set_batch(struct memory_row *q)
{
	const double batch = row_number(q->row, "micro_batch"), local = noted(q, "local batch ");
	const double steps = noted(q, "gradient accumulation "), pp = row_number(q->row, "pp");

	set_number(q, "batch", isnan(batch) ? 1 : batch);
	if (pp > 1 && local > 0 && isnan(batch)) {
		/* as many micro-batches as stages where nothing else was asked for */
		set_number(q, "batch", fmax(1, floor(local / pp)));
		set_number(q, "microbatches", fmin(local, pp));
	} else if (pp > 1 && local > 0)
		set_number(q, "microbatches", fmax(1, floor(local / batch)));
	else if (steps > 1 && !q->infer)
		set_number(q, "microbatches", steps);
}

/* --- serving --------------------------------------------------------------------------------------------- */

static void
set_serving(struct memory_row *q, const char *stack)
{
	const double prompt = noted(q, "input length "), gib = card_gib(q);

	set(q, "use", "infer");
	set(q, "quant", meaning_of(row_text(q->row, "quant"), quants));
	if (row_has(q->row, "framework", "int8=int8"))
		set(q, "kv_dtype", "int8");
	if (generates(stack)) {
		/* generating from a short prompt: nothing is prefilled at once */
		if (!isnan(prompt) || row_has(q->row, "metric", "generating") || !row_text(q->row, "seq_len"))
			set_number(q, "batch_tokens", isnan(prompt) ? 1 : prompt);
		/* before its caches of 2024 model code concatenated old and new */
		if (row_has(q->row, "framework", "HF Transformers") && !row_has(q->row, "framework", "4."))
			set(q, "stack.serving.cache_copies", "2");
		return;
	}
	set_number(q, "utilization", row_number(q->row, "gpu_mem_util"));
	if (strcmp(stack, "vllm-0.6") == 0 && row_text(q->row, "seq_len"))
		set_number(q, "batch_tokens", fmax(2048, row_number(q->row, "seq_len")));
	if (gib > 0)
		set(q, "gpu_mem", arena_printf(q->arena, "%.10gGiB", gib));
	else
		set(q, "gpu", row_text(q->row, "gpu_id"));
}

/* --- a table of peaks ------------------------------------------------------------------------------------ */

/* What the metric asks for; else why it is not predicted. */
static const char *
want(struct memory_row *q)
{
	static const struct metric {
		const char *word, *skip;
		enum wanted wanted;
	} metrics[] = {{"total GPU memory seen", "GPU memory size", WANT_PEAK},
	    {"non-torch", "memory of other processes", WANT_PEAK},
	    {"mean reserved", "mean over a run of varying lengths", WANT_PEAK},
	    {"at model init", "before the first step", WANT_PEAK}, {"model weights", NULL, WANT_WEIGHTS},
	    {"activation peak", NULL, WANT_ACTIVATIONS}, {"KV cache memory", NULL, WANT_POOL},
	    {"KV cache capacity", NULL, WANT_TOKENS}};
	const struct metric *m = ROW_FIND(q->row, "metric", metrics);

	if (m)
		q->wanted = m->wanted;
	if (m && m->skip)
		return m->skip;
	if (q->wanted >= WANT_POOL && !row_text(q->row, "gpu_id") && !card_gib(q))
		return "GPU not given";
	if (notes(q, "not a capacity target"))
		return "negative test (note)";
	if (q->wanted >= WANT_POOL && notes(q, "belongs to the other"))
		q->warning = "figures of different runs (note)";
	if (row_has(q->row, "model", "-VL-") && q->wanted != WANT_WEIGHTS)
		return "vision encoder not counted";
	return NULL;
}

/* Tokens of a sequence: printed, noted, or usual; NaN: not known. */
static double
length_of(struct memory_row *q, const char *stack)
{
	double seq = row_number(q->row, "seq_len");

	if (isnan(seq))
		seq = noted(q, "max_model_len ");
	if (isnan(seq) && !q->infer && row_has(q->row, "note", "alpaca") && row_has(q->row, "framework", "torchtune")) {
		seq = 512; /* what its recipes cut the samples at, nearly all of which are shorter */
		q->warning = "sample length not published: 512 assumed, the recipes' limit";
	}
	return isnan(seq) && generates(stack) ? 64 : seq; /* a question and a short answer */
}

const char *
memory_row_ask(struct memory_row *q)
{
	const char *model = row_text(q->row, "model"), *skip;
	const struct recipe *hub;

	q->framework = ROW_FIND(q->row, "framework", frameworks);
	if (!q->framework)
		return "framework not in the database";
	if (!model)
		return "model not given";
	q->infer = row_has(q->row, "task", "inference") || row_has(q->row, "task", "serving");
	if ((skip = want(q)))
		return skip;
	const char *stack = stack_of(q);
	const double seq = length_of(q, stack);
	if (isnan(seq) && !q->infer)
		return "sequence length not given";
	hub = recipe_of(q);
	set(q, "model", hub && hub->model ? hub->model : model);
	set(q, "stack", stack);
	set(q, "counter", counter_of(q, stack));
	set_number(q, "seq", seq);
	set_layout(q, stack);
	set_batch(q);
	if (q->infer) {
		set_serving(q, stack);
		return NULL;
	}
	skip = set_training(q, stack);
	if (!skip)
		set_policy(q);
	return skip;
}

/* --- a training run -------------------------------------------------------------------------------------- */

/* What a software's name or source holds.  `zero`: what it does where nothing is said of sharding.  `rank0`: its log is
 * the first rank's. */
static const struct software {
	const char *word, *stack, *counter, *zero;
	bool rank0;
} softwares[] = {
    {"torchtitan", "torchtitan", "reserved", "3", false},
    {"Megatron-DeepSpeed", "megatron-deepspeed", "device", "1", true},
    {"Megatron-Bridge", "megatron-core", "device", "1", false},
    {"Megatron-Core", "megatron-core", "device", "1", false},
    {"NeMo", "megatron-core", "device", "1", false},
    {"Megatron-LM", "megatron-lm", "device", "0", true},
    {"llm-foundry", "llm-foundry", "device", "3", false},
};

static const struct software *
software_of(const struct validate_row *row)
{
	const struct software *a = ROW_FIND(row, "software", softwares), *b = ROW_FIND(row, "source", softwares);

	return !a || (b && b < a) ? b : a;
}

/* Whether degrees that are all printed do not multiply to the printed GPUs. */
static bool
layout_contradicts(const struct validate_row *row)
{
	const double tp = row_number(row, "tp"), dp = row_number(row, "dp"), n = row_number(row, "num_gpus");
	const double pp = row_number(row, "pp"), cp = row_number(row, "cp");

	return tp > 0 && n > 0 && dp > 0 && tp * (pp > 0 ? pp : 1) * (cp > 0 ? cp : 1) * dp != n;
}

/* Words of training runs; `op` is torchtitan's selection. */
static const struct said run_words[] = {{"sharding", "ZeRO3", "layout.zero", "3"},
    {"sharding", "ZeRO-3", "layout.zero", "3"}, {"sharding", "FSDP", "layout.zero", "3"},
    {"sharding", "ZeRO2", "layout.zero", "2"}, {"sharding", "ZeRO-2", "layout.zero", "2"},
    {"sharding", "ZeRO1", "layout.zero", "1"}, {"sharding", "ZeRO-1", "layout.zero", "1"},
    {"sharding", "distributed optimizer", "layout.zero", "1"}, {"sharding", "DDP", "layout.zero", "0"},
    {"sp", "yes", "layout.sp", "true"}, {"recompute", "full", "recompute", "full"},
    {"recompute", "selective", "recompute", "selective"}, {"recompute", "op", "recompute", "selective"},
    {"notes", "compile", "compile", "true"}, {"precision", "mxfp8", "dtype", "mxfp8"},
    {"precision", "fp8", "dtype", "fp8"}, {"precision", "nvfp4", "dtype", "nvfp4"},
    {"precision", "fp16", "dtype", "fp16"}, {"precision", "amp", "dtype", "fp16"}};

const char *
memory_run_ask(struct memory_row *q, bool bound, bool *rank0)
{
	static const struct said titans[] = {{"recompute", "full", "recompute", "full"},
	    {"recompute", "selective", "recompute", "op"}, {"recompute", "op", "recompute", "op"}};
	const struct validate_row *row = q->row;
	const struct software *s = software_of(row);
	const double batch = row_number(row, "mbs"), dp = row_number(row, "dp");
	const double steps = row_number(row, "gbs") / (batch * (dp > 0 ? dp : 1));
	const char *date = row_text(row, "date");

	if (!s)
		return "framework not in the database";
	if (!bound && row_has(row, "notes", "not an allocator counter"))
		return "not a measurement (estimates and arithmetic)";
	if (!row_text(row, "model"))
		return "model not given";
	if (!(batch > 0))
		return "micro-batch not given";
	if (layout_contradicts(row))
		return "layout does not match the number of GPUs";
	*rank0 = s->rank0;
	set(q, "model", row_text(row, "model"));
	set(q, "stack", s->stack);
	set(q, "counter", s->counter);
	set(q, "gpu", row_text(row, "gpu_id"));
	if (row_number(row, "seq") > 0)
		set_number(q, "seq", row_number(row, "seq"));
	set_number(q, "batch", batch);
	if (steps > 1 && steps == (double)(long)steps)
		set_number(q, "microbatches", steps);
	set_degrees(q);
	if (dp > 1)
		set_number(q, "layout.dp", dp);
	set(q, "layout.zero", s->zero);
	SET_SAID(q, run_words);
	if (!s->stack || strcmp(s->stack, "torchtitan") != 0)
		return NULL;
	SET_SAID(q, titans);
	if (row_has(row, "notes", "compile") && date && strcmp(date, "2025") < 0 && !(row_number(row, "tp") > 1))
		set(q, "loss", "eager"); /* of late 2024: the model was compiled and the loss was not */
	return NULL;
}
