/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a published table says in words, as inputs; what it leaves out takes the defaults of `ridge memory`. */
#include "ask/validate/validate.h"
#include "base/base.h"

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

/* A library that generates, with a cache as long as its text. */
static bool
generates(const char *stack)
{
	return strstr(stack, "-generate") != NULL;
}

/* Transformers up to 4.47, of 2024, copied the upcast logits once more to shift them; torch is known where it is newer.
 */
static bool
old_loss(const struct memory_row *q)
{
	const char *framework = row_text(q->row, "framework"),
	           *torch = framework ? strstr(framework, "torch 2.") : NULL;

	return !torch || strtod(torch + strlen("torch 2."), NULL) < 6;
}

/* Precision, optimizer and what is trained. */
static const char *
set_training(struct memory_row *q, const char *stack)
{
	const struct validate_row *row = q->row;
	const char *peft = row_text(row, "peft"), *weights = row_text(row, "weight_dtype");
	const char *optimizer = row_text(row, "optimizer"), *quant = row_text(row, "quant");
	const double rank = row_number(row, "lora_rank");
	const bool learned = has(peft, "Adapter"),
	           adapted = peft || !isnan(rank); /* learned: prompts, usually 10 tokens */

	if (peft && !learned && !has(peft, "LoRA") && !has(peft, "lora"))
		return "kind of adapter not modelled";
	if (!adapted && strstr(stack, "litgpt"))
		q->warning =
		    "published peaks of full fine-tuning with this framework are not explained by its optimizer";
	if (has(optimizer, "Muon"))
		return "optimizer not modelled";
	if (memory_dtype_said(quant) && !adapted)
		set(q, "dtype", memory_dtype_said(quant));
	else if (memory_quant_said(quant))
		set(q, "quant", memory_quant_said(quant));
	if (memory_dtype_said(quant) && !adapted && row_text(row, "gpu_id"))
		set(q, "gpu", row_text(row, "gpu_id")); /* how many copies it needs */
	if (row_notes(row, "fp8 param") || row_notes(row, "fp8 parameter"))
		set(q, "fp8_params", "true");
	if (has(weights, "fp16"))
		set(q, "dtype", "fp16");
	else if (old_loss(q) && (strcmp(stack, "hf-peft") == 0 || (adapted && strcmp(stack, "hf-deepspeed") == 0)))
		set(q, "loss", "autocast");
	if (row_notes(row, "chunk"))
		set(q, "loss", "chunked");
	if (row_notes(row, "optimizer in backward") || row_notes(row, "optimizer step into backward"))
		set(q, "optimizer_in_backward", "true");
	if (has(optimizer, "8-bit") || has(optimizer, "8bit"))
		set(q, "optimizer", "adam8bit");
	else if (optimizer && text_begins(optimizer, "SGD"))
		set(q, "optimizer", "sgd");
	if (has(weights, "GPTQ")) /* its kernels multiply in fp16, without autocast */
		set(q, "loss", "pure");
	if (adapted) {
		const char *targets = memory_targets_said(q->arena, row_text(row, "lora_targets"));
		if (learned) {
			set_number(q, "lora_rank", isnan(rank) ? 10 : rank);
			targets = has(peft, "v2") ? "prompt,outputs" : "prompt";
		} else if (isnan(rank) && has(row_text(row, "framework"), "hub")) {
			const struct memory_recipe *hub = memory_recipe_of_hub(row_text(row, "model"));
			set_number(q, "lora_rank", quant ? hub->quantised_rank : hub->rank);
			targets = hub->targets;
		} else {
			if (isnan(rank))
				q->warning = "LoRA rank not published: 16 assumed";
			set_number(q, "lora_rank", isnan(rank) ? 16 : rank);
		}
		if (has(peft, "emb"))
			targets = arena_printf(q->arena, "%s,embed", targets ? targets : "all");
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

/* Up to 0.6 prompts were prefilled whole, so the longest sequence mattered and was printed. */
static const char *
vllm_of(const struct memory_row *q)
{
	static const char *const old[] = {"v0.6", "v0.5", "v0.4", "v0.3", "v0.2"};
	static const char *const later[] = {"v0.7", "v0.8", "v0.9", "v0.1", "0.7.", "0.8.", "0.9.", "0.10.", "0.11."};

	for (size_t i = 0; i < sizeof old / sizeof *old; i++)
		if (row_notes(q->row, old[i]))
			return "vllm-0.6";
	for (size_t i = 0; i < sizeof later / sizeof *later; i++)
		if (row_notes(q->row, later[i]))
			return "vllm";
	return row_text(q->row, "seq_len") ? "vllm-0.6" : "vllm";
}

/* Full fine-tuning in mixed precision on one node goes through DeepSpeed in these scripts, and so does fp16, which GPTQ
 * needs (the scripts of QwenLM/Qwen). */
static const char *
stack_of(const struct memory_row *q)
{
	const char *sharding = row_text(q->row, "sharding");
	const bool adapted = row_text(q->row, "peft") || !isnan(row_number(q->row, "lora_rank"));

	if (!q->infer && strcmp(q->framework->stack, "hf-peft") == 0 &&
	    (has(sharding, "ZeRO") || has(row_text(q->row, "weight_dtype"), "GPTQ") ||
	        (!adapted && has(row_text(q->row, "optimizer"), "mixed precision"))))
		return "hf-deepspeed";
	if (strcmp(q->framework->stack, "vllm") == 0)
		return vllm_of(q);
	if (q->infer && !q->framework->infer)
		return strstr(q->framework->stack, "litgpt") ? "litgpt-generate" : "hf-generate";
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
	else if (strcmp(stack, "hf-deepspeed") == 0) /* the configurations of its fine-tuning scripts */
		set(q, "layout.zero", row_text(row, "peft") ? "2" : "3");
	if (row_number(row, "tp") > 1 &&
	    (strcmp(stack, "torchtitan") == 0 || strcmp(stack, "megatron-core") == 0 ||
	        has(row_text(row, "recompute"), "SP") || has(sharding, "SP")))
		set(q, "layout.sp", "true");
	if (isnan(row_number(row, "ep")) && row_noted(row, "EP") > 1)
		set_number(q, "layout.ep", row_noted(row, "EP"));
	if (has(sharding, "CPU offload"))
		set(q, "offload", has(sharding, "FSDP") ? "params,optimizer" : "optimizer");
}

static void
set_policy(struct memory_row *q)
{
	const char *recompute = row_text(q->row, "recompute"), *flash = row_text(q->row, "flash_attn");

	const bool titan = strcmp(q->framework->stack, "torchtitan") == 0;

	if (memory_modules_said(q->arena, recompute) && strcmp(q->framework->stack, "megatron-core") == 0)
		set(q, "recompute", memory_modules_said(q->arena, recompute));
	else if (has(recompute, "full") || has(recompute, "yes") || has(recompute, "activation checkpointing"))
		set(q, "recompute", "full");
	else if (titan && (has(recompute, "op") || has(recompute, "selective")))
		set(q, "recompute", "op"); /* its usual selection */
	else if (has(recompute, "selective"))
		set(q, "recompute", "selective");
	/* of late 2024: the model was compiled and the loss was not */
	if (titan && has(row_text(q->row, "framework"), "(2024") && !(row_number(q->row, "tp") > 1))
		set(q, "loss", "eager");
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
	const double batch = row_number(q->row, "micro_batch"), local = row_noted(q->row, "local batch ");
	const double steps = row_noted(q->row, "gradient accumulation "), pp = row_number(q->row, "pp");

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
set_card(struct memory_row *q, const char *gpu)
{
	const double gib = row_card_gib(q->row);

	if (gib > 0)
		set(q, "gpu_mem", arena_printf(q->arena, "%.10gGiB", gib));
	else if (gpu)
		set(q, "gpu", gpu);
}

static void
set_serving(struct memory_row *q, const char *stack)
{
	const char *framework = row_text(q->row, "framework"), *metric = row_text(q->row, "metric");
	const char *quant = row_text(q->row, "quant");
	const double prompt = row_noted(q->row, "input length "), util = row_number(q->row, "gpu_mem_util");

	set(q, "use", "infer");
	if (memory_quant_said(quant))
		set(q, "quant", memory_quant_said(quant));
	if (has(framework, "int8=int8"))
		set(q, "kv_dtype", "int8");
	if (generates(stack)) {
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
	} metrics[] = {{"total GPU memory seen", "GPU memory size", WANT_PEAK},
	    {"non-torch", "memory of other processes", WANT_PEAK},
	    {"mean reserved", "mean over a run of varying lengths", WANT_PEAK},
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

	if (generates(stack))
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
	if (!q->framework)
		return "framework not in the database";
	if (!model)
		return "model not given";
	q->infer = has(task, "inference") || has(task, "serving");
	const char *skip = want(q, row_text(q->row, "metric"));
	if (skip)
		return skip;
	if ((q->wanted == WANT_POOL || q->wanted == WANT_TOKENS) && !row_text(q->row, "gpu_id") &&
	    !row_card_gib(q->row))
		return "GPU not given";
	if (row_notes(q->row, "not a capacity target"))
		return "negative test (note)";
	if (q->wanted >= WANT_POOL && row_notes(q->row, "belongs to the other"))
		q->warning = "figures of different runs (note)";
	if (has(model, "-VL-") && q->wanted != WANT_WEIGHTS)
		return "vision encoder not counted";
	const char *stack = stack_of(q);
	if (isnan(seq))
		seq = row_noted(q->row, "max_model_len ");
	if (isnan(seq) && !q->infer && has(row_text(q->row, "note"), "alpaca") &&
	    has(row_text(q->row, "framework"), "torchtune")) {
		seq = 512; /* what its recipes cut the samples at, nearly all of which are shorter */
		q->warning = "sample length not published: 512 assumed, the recipes' limit";
	}
	if (isnan(seq) && !q->infer)
		return "sequence length not given";
	const struct memory_recipe *hub =
	    has(row_text(q->row, "framework"), "hub") ? memory_recipe_of_hub(model) : NULL;
	set(q, "model", hub && hub->model ? hub->model : model);
	set(q, "stack", stack);
	if (counter_of(q, stack))
		set(q, "counter", counter_of(q, stack));
	if (isnan(seq) && generates(stack))
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
