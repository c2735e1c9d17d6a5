/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a published table says in words, as inputs; what it leaves out takes the defaults of `ridge memory`. */
#include "base/text.h"
#include "cli/validate_memory.h"

#include <stdlib.h>
#include <string.h>

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
    {"fsdp_qlora", NULL, NULL, false, false},
    {"unsloth", NULL, NULL, false, false},
    {"HF + ", "hf-peft", "reserved", false, true},
    {"HF", "hf-peft", "device", false, true},
    {"PEFT", "hf-peft", "reserved", false, false},
    {"TRL", "hf-peft", "device", false, true},
};

static const struct memory_framework *
framework_of(const char *text)
{
	for (size_t i = 0; text && i < sizeof frameworks / sizeof *frameworks; i++)
		if (strstr(text, frameworks[i].word))
			return &frameworks[i];
	return NULL;
}

/* --- from columns to inputs ------------------------------------------------------------------------------ */

static void
set(struct memory_row *q, const char *path, const char *text)
{
	q->inputs = tree_with(q->arena, q->inputs, path, tree_scalar(q->arena, text, (struct source){0}));
}

static void
set_number(struct memory_row *q, const char *path, double value)
{
	if (!isnan(value))
		set(q, path, arena_printf(q->arena, "%.17g", value));
}

static bool
has(const char *text, const char *piece)
{
	return text && strstr(text, piece);
}

/* A number that the note gives behind some words: `gradient accumulation 8`. */
static double
noted(const struct validate_row *row, const char *words)
{
	const char *note = row_text(row, "note"), *at = note ? strstr(note, words) : NULL;
	char *end;

	if (!at)
		return NAN;
	const double value = strtod(at + strlen(words), &end);
	return end == at + strlen(words) ? NAN : value;
}

static const char *
quant_of(const char *text)
{
	static const struct {
		const char *word, *quant;
	} words[] = {{"nf4-dq", "nf4-dq"}, {"nf4", "nf4"}, {"nt4", "nf4"}, {"Int8", "int8"}, {"int8", "int8"},
	    {"Int4", "int4"}, {"int4", "int4"}, {"4-bit", "nf4"}, {"AWQ", "int4"}, {"GPTQ", "int4"}, {"mxfp4", "mxfp4"},
	    {"nvfp4", "nvfp4"}, {"fp8", "fp8"}};

	for (size_t i = 0; text && i < sizeof words / sizeof *words; i++)
		if (strstr(text, words[i].word))
			return words[i].quant;
	return NULL;
}

/* `q_proj,v_proj` is q,v; what trainers call all linear maps is all. */
static const char *
targets_of(struct arena *a, const char *text)
{
	if (!text)
		return NULL;
	if (strstr(text, "all"))
		return "all";
	size_t n;
	char **words = text_split(a, text, ',', &n);
	const char *out = NULL;
	for (size_t i = 0; i < n; i++) {
		char *suffix = strstr(words[i], "_proj"), *plus = strchr(words[i], '+');
		const bool mlp = strstr(words[i], "mlp") != NULL;
		if (suffix)
			*suffix = '\0';
		if (plus) {
			while (plus > words[i] && plus[-1] == ' ')
				plus--;
			*plus = '\0';
		}
		out = arena_printf(a, "%s%s%s%s", out ? out : "", out ? "," : "", words[i], mlp ? ",gate,up,down" : "");
	}
	return out;
}

/* Precision, optimizer and what is trained. */
static const char *
set_training(struct memory_row *q, const char *stack)
{
	const struct validate_row *row = q->row;
	const char *peft = row_text(row, "peft"), *weights = row_text(row, "weight_dtype");
	const char *optimizer = row_text(row, "optimizer"), *quant = row_text(row, "quant");
	const double rank = row_number(row, "lora_rank");
	const bool adapted = peft || !isnan(rank);

	if (has(peft, "Adapter"))
		return "adapters other than LoRA";
	if (has(peft, "emb"))
		return "embeddings trained beside adapters";
	if (has(optimizer, "Muon"))
		return "an optimizer without a rule";
	if (has(quant, "float8") || has(quant, "fp8"))
		set(q, "dtype", "fp8");
	else if (quant_of(quant))
		set(q, "quant", quant_of(quant));
	if (has(weights, "fp16"))
		set(q, "dtype", "fp16");
	else if (adapted && has(weights, "bf16") && strcmp(stack, "hf-deepspeed") == 0)
		set(q, "loss", "autocast"); /* the base is frozen in 16 bits, and autocast upcasts the logits */
	if (has(weights, "GPTQ"))           /* its kernels multiply in fp16, without autocast */
		set(q, "loss", "pure");
	if (adapted) {
		const char *targets = targets_of(q->arena, row_text(row, "lora_targets"));
		if (isnan(rank))
			q->warning = "the rank of the adapters is not printed: 16 is taken";
		set_number(q, "lora_rank", isnan(rank) ? 16 : rank);
		if (targets)
			set(q, "lora_targets", targets);
		else if (!strstr(q->framework->stack, "litgpt"))
			set(q, "lora_targets", "all");
	}
	if (strcmp(q->framework->stack, "hf-peft") == 0 && weights && text_begins(weights, "bf16") &&
	    !has(optimizer, "mixed precision"))
		set(q, "states", "pure");
	return NULL;
}

/* Full fine-tuning in mixed precision on one node goes through DeepSpeed in these scripts. */
static const char *
stack_of(const struct memory_row *q)
{
	const char *note = row_text(q->row, "note"), *sharding = row_text(q->row, "sharding");
	const bool adapted = row_text(q->row, "peft") || !isnan(row_number(q->row, "lora_rank"));

	if (strcmp(q->framework->stack, "hf-peft") == 0 &&
	    (has(sharding, "ZeRO") || (!adapted && has(row_text(q->row, "optimizer"), "mixed precision"))))
		return "hf-deepspeed";
	if (strcmp(q->framework->stack, "vllm") == 0)
		/* prompts were prefilled whole, so the longest sequence mattered and was printed */
		return has(note, "v0.6") || has(note, "v0.5") || has(note, "v0.4") || row_text(q->row, "seq_len")
		    ? "vllm-0.6"
		    : "vllm";
	if (q->infer && !q->framework->infer)
		return "hf-generate";
	return q->framework->stack;
}

static void
set_layout(struct memory_row *q, const char *stack)
{
	static const char *const degrees[] = {"tp", "pp", "cp", "ep", "vp", "etp"};
	const struct validate_row *row = q->row;
	const char *sharding = row_text(row, "sharding");
	const double n = row_number(row, "n_gpus");

	for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++)
		if (row_number(row, degrees[i]) > 1)
			set_number(q, arena_printf(q->arena, "layout.%s", degrees[i]), row_number(row, degrees[i]));
	if (q->infer) {
		if (isnan(row_number(row, "tp")) && n > 1 && has(row_text(row, "scope"), "total"))
			set_number(q, "layout.pp", n); /* layers spread over the GPUs */
		return;
	}
	if (row_number(row, "dp") > 1)
		set_number(q, "layout.dp", row_number(row, "dp"));
	else if (n > 1 && isnan(row_number(row, "tp")) && isnan(row_number(row, "pp")))
		set_number(q, "layout.dp", n);
	if (has(sharding, "ZeRO-3") || has(sharding, "FSDP"))
		set(q, "layout.zero", "3");
	else if (has(sharding, "ZeRO-2"))
		set(q, "layout.zero", "2");
	else if (has(sharding, "ZeRO-1") || has(sharding, "distributed optimizer"))
		set(q, "layout.zero", "1");
	else if (strcmp(stack, "hf-deepspeed") == 0 && !row_text(row, "peft"))
		set(q, "layout.zero", "2"); /* the configuration of its fine-tuning scripts */
	if (row_number(row, "tp") > 1 && strcmp(q->framework->stack, "torchtitan") == 0)
		set(q, "layout.sp", "true");
	if (has(sharding, "CPU offload"))
		set(q, "offload", has(sharding, "FSDP") ? "params,optimizer" : "optimizer");
}

static void
set_policy(struct memory_row *q)
{
	const char *recompute = row_text(q->row, "recompute"), *flash = row_text(q->row, "flash_attn");

	if (has(recompute, "full") || has(recompute, "yes") || has(recompute, "activation checkpointing"))
		set(q, "recompute", "full");
	else if (has(recompute, "per-op") || has(recompute, "op"))
		set(q, "recompute", "op");
	else if (has(recompute, "selective"))
		set(q, "recompute", "selective");
	if (has(recompute, "CPU offload"))
		set(q, "offload", "activations");
	if (has(row_text(q->row, "compile"), "yes"))
		set(q, "compile", "true");
	if (flash && strcmp(flash, "no") == 0 && !q->infer)
		set(q, "attention", "unfused");
}

static void
set_batch(struct memory_row *q)
{
	const double batch = row_number(q->row, "micro_batch"), local = noted(q->row, "local batch ");
	const double steps = noted(q->row, "gradient accumulation "), pp = row_number(q->row, "pp");

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

/* The card as its driver reports it: `RTX 3090 (23.58 GiB)`. */
static void
set_card(struct memory_row *q, const char *gpu)
{
	const char *label = row_text(q->row, "gpu"), *open = label ? strchr(label, '(') : NULL;
	char *end;
	const double gib = open ? strtod(open + 1, &end) : NAN;

	if (open && end > open + 1 && text_begins(end, " GiB"))
		set(q, "gpu_mem", arena_printf(q->arena, "%.10gGiB", gib));
	else if (gpu)
		set(q, "gpu", gpu);
}

static void
set_serving(struct memory_row *q, const char *stack)
{
	const char *framework = row_text(q->row, "framework"), *metric = row_text(q->row, "metric");
	const char *quant = row_text(q->row, "quant");
	const double prompt = noted(q->row, "input length "), util = row_number(q->row, "gpu_mem_util");

	set(q, "use", "infer");
	if (quant_of(quant))
		set(q, "quant", quant_of(quant));
	if (has(framework, "int8=int8"))
		set(q, "kv_dtype", "int8");
	if (strcmp(stack, "hf-generate") == 0) {
		/* generating from a short prompt: nothing is prefilled at once */
		if (!isnan(prompt) || has(metric, "generating") || !row_text(q->row, "seq_len"))
			set_number(q, "batch_tokens", isnan(prompt) ? 1 : prompt);
		/* before its caches of 2024 model code concatenated old and new */
		if (has(framework, "HF Transformers") && !strstr(framework, "4."))
			set(q, "stack.serving.cache_copies", "2");
		return;
	}
	if (!isnan(util))
		set_number(q, "utilization", util);
	if (strcmp(stack, "vllm-0.6") == 0 && row_text(q->row, "seq_len"))
		set_number(q, "batch_tokens", fmax(2048, row_number(q->row, "seq_len")));
	set_card(q, row_text(q->row, "gpu_id"));
}

/* --- one row --------------------------------------------------------------------------------------------- */

static const char *
want(struct memory_row *q, const char *metric)
{
	static const struct {
		const char *word, *skip;
		enum wanted wanted;
	} metrics[] = {{"total GPU memory seen", "the size of the card", WANT_PEAK},
	    {"non-torch", "what other processes hold", WANT_PEAK},
	    {"mean reserved", "a mean over a run of varying lengths", WANT_PEAK},
	    {"at model init", "before the first step", WANT_PEAK}, {"model weights", NULL, WANT_WEIGHTS},
	    {"activation peak", NULL, WANT_ACTIVATIONS}, {"KV cache memory", NULL, WANT_POOL},
	    {"KV cache capacity", NULL, WANT_TOKENS}};

	for (size_t i = 0; metric && i < sizeof metrics / sizeof *metrics; i++)
		if (strstr(metric, metrics[i].word)) {
			q->wanted = metrics[i].wanted;
			return metrics[i].skip;
		}
	return NULL;
}

static const char *
counter_of(const struct memory_row *q, const char *stack)
{
	const char *metric = row_text(q->row, "metric"), *framework = row_text(q->row, "framework");

	if (strcmp(stack, "hf-generate") == 0)
		return has(framework, "litgpt") || has(framework, "4.") ? "allocated" : "device";
	if (has(metric, "active") || has(metric, "allocated"))
		return strcmp(stack, "megatron-core") == 0 || strstr(stack, "torchtune") || strstr(stack, "litgpt")
		    ? "allocated"
		    : NULL;
	if (has(metric, "reserved") && strcmp(stack, "hf-peft") == 0)
		return "reserved";
	return q->framework->counter;
}

const char *
memory_row_ask(struct memory_row *q)
{
	const char *task = row_text(q->row, "task"), *model = row_text(q->row, "model");
	double seq = row_number(q->row, "seq_len");

	q->framework = framework_of(row_text(q->row, "framework"));
	if (!q->framework || !q->framework->stack)
		return "the framework has no stack in the database";
	q->infer = has(task, "inference") || has(task, "serving");
	const char *skip = want(q, row_text(q->row, "metric"));
	if (skip)
		return skip;
	if (has(model, "-VL-") && q->wanted != WANT_WEIGHTS)
		return "what a vision encoder holds is not counted";
	const char *stack = stack_of(q);
	if (isnan(seq))
		seq = noted(q->row, "max_model_len ");
	if (isnan(seq) && !q->infer)
		return "no length of sequences";
	set(q, "model", model);
	set(q, "stack", stack);
	if (counter_of(q, stack))
		set(q, "counter", counter_of(q, stack));
	if (isnan(seq) && strcmp(stack, "hf-generate") == 0)
		seq = 64; /* a question and a short answer */
	set_number(q, "seq", seq);
	set_layout(q, stack);
	set_batch(q);
	if (q->infer)
		set_serving(q, stack);
	else {
		skip = set_training(q, stack);
		if (skip)
			return skip;
		set_policy(q);
	}
	return NULL;
}

bool
memory_row_is_binary(const struct validate_row *row)
{
	const struct memory_framework *framework = framework_of(row_text(row, "framework"));

	return framework && framework->binary;
}
