/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inputs of memory queries: a job for a known model, or bare numbers. */
#ifndef RIDGE_ASK_MEMORY_MEMORY_H
#define RIDGE_ASK_MEMORY_MEMORY_H

#include "cli/cli.h"
#include "model/memory/memory.h"
#include "model/serve/serve.h"

/* What is trained or served, and where. */
struct memory_in {
#define MEMORY_JOB_OPTIONS(X)                                                                                          \
	X('m', model, "model", "model", WORD, "NAME", "model", NULL, "model: name in the database, or file")           \
	X('g', gpu, "gpu", "gpu", WORD, "NAME", "gpu", NULL, "GPU: name in the database")                              \
	X(0, gpu_mem, "gpu-mem", "gpu_mem", SIZE, "SIZE", "", NULL, "GPU memory, instead of the database's figure")    \
	X(0, system, "system", "system", WORD, "NAME", "system", NULL, "system, for its GPU and node size")            \
	X(0, use, "use", "use", CHOICE, "USE", "train|infer", "train", "training or inference")                        \
	X(0, infer, "infer", "infer", FLAG, "", "", NULL, "same as --use infer")                                       \
	X(0, global_batch, "global-batch", "global_batch", COUNT, "N", "", NULL, "global batch size in sequences")     \
	X(0, microbatches, "microbatches", "microbatches", COUNT, "N", "", NULL,                                       \
	    "micro-batches per step and replica (gradient accumulation steps)")                                        \
	X('s', seq, "seq", "seq", COUNT, "N", "", NULL,                                                                \
	    "sequence length in tokens (default 4096, or the model's context length)")                                 \
	X(0, counter, "counter", "counter", CHOICE, "WHAT", "allocated|reserved|device", NULL,                         \
	    "what the peak counts: live tensors (allocated), allocator pool (reserved), or whole device (default: "    \
	    "the widest known)")                                                                                       \
	X(0, headroom, "headroom", "headroom", FRACTION, "FRACTION", "", NULL,                                         \
	    "share of GPU memory left free, instead of the stack's safety factor")
/* What a plan may search: it has lists of them. */
#define MEMORY_CHOICE_OPTIONS(X)                                                                                       \
	X('n', gpus, "gpus", "gpus", COUNT, "N", "", NULL,                                                             \
	    "number of GPUs; what the layout leaves goes to data parallelism")                                         \
	X('b', batch, "batch", "batch", COUNT, "N", "", "1", "micro-batch size; serving: concurrent sequences")        \
	X(0, dtype, "dtype", "dtype", CHOICE, "TYPE", DTYPE_CHOICE(T), "bf16", "GEMM dtype")                           \
	X(0, stack, "stack", "stack", WORD, "NAME", "stack", NULL, "training framework or engine, from the database")
#define MEMORY_OPTIONS(X) MEMORY_JOB_OPTIONS(X) MEMORY_CHOICE_OPTIONS(X)
	MEMORY_OPTIONS(OPTION_MEMBER)
};
extern const struct option memory_rows[0 MEMORY_OPTIONS(OPTION_COUNT)];

/* How it is trained. */
struct training_in {
#define TRAINING_JOB_OPTIONS(X)                                                                                        \
	X(0, states, "states", "states", CHOICE, "HOW", "mixed|fp32|pure", NULL,                                       \
	    "16-bit parameters with fp32 master weights (mixed), all fp32, or all 16-bit (pure) (default: the "        \
	    "stack's)")                                                                                                \
	X(0, mtp, "mtp", "mtp", COUNT, "N", "", NULL, "multi-token prediction layers trained (default: the model's)")  \
	X(0, fp8_params, "fp8-params", "fp8_params", FLAG, "", "", NULL, "store parameters in FP8")                    \
	X(0, optimizer_in_backward, "optimizer-in-backward", "optimizer_in_backward", FLAG, "", "", NULL,              \
	    "fuse the optimizer step into backward; frees each gradient at once")                                      \
	X(0, offload, "offload", "offload", WORDS, "WHAT",                                                             \
	    "optimizer|params|activations|attn_norm|qkv_linear|core_attn|attn_proj|mlp_norm|expert_fc1|moe_act", NULL, \
	    "what to offload to host memory: optimizer states, params, activations (checkpoints), or the inputs of "   \
	    "modules of a layer")                                                                                      \
	X(0, loss, "loss", "loss", WORD, "NAME", "", NULL, "loss implementation, one of the stack's")                  \
	X(0, compile, "compile", "compile", FLAG, "", "", NULL, "compile model and loss (torch.compile)")              \
	X(0, attention, "attention", "attention", CHOICE, "HOW", "flash|unfused", NULL,                                \
	    "fused attention kernel, or scores written to memory (default: the stack's)")                              \
	X(0, dropout, "dropout", "dropout", CHOICE, "WHETHER", "on|off", NULL, "dropout (default: the stack's)")       \
	X(0, no_sp, "no-sp", "layout.no_sp", FLAG, "", "", NULL,                                                       \
	    "disable sequence parallelism with tensor parallelism")                                                    \
	X(0, cp_comm, "cp-comm", "cp_comm", CHOICE, "HOW", "ring|gather|a2a", NULL,                                    \
	    "context parallelism communication (default: the stack's)")                                                \
	X(0, stage_layers, "stage-layers", "stage_layers", WORDS, "LIST", "", NULL,                                    \
	    "layers per pipeline stage: 3,4*14,2")                                                                     \
	X(0, imbalance, "imbalance", "imbalance", NUMBER, "X", "", "1",                                                \
	    "expert load imbalance: routed tokens of the busiest rank over the mean")                                  \
	X(0, lora_rank, "lora-rank", "lora_rank", COUNT, "R", "", NULL, "LoRA rank; freezes the base model")           \
	X(0, lora_targets, "lora-targets", "lora_targets", WORDS, "LIST",                                              \
	    "q|k|v|o|gate|up|down|all|embed|prompt|outputs", "q,v", "projections with a LoRA adapter")                 \
	X(0, lora_dropout, "lora-dropout", "lora_dropout", CHOICE, "WHETHER", "on|off", NULL,                          \
	    "LoRA dropout (default: the stack's)")                                                                     \
	X(0, quant, "quant", "quant", CHOICE, "FORMAT", "nf4|nf4-dq|int4|int8|fp8|mxfp4|nvfp4", NULL,                  \
	    "quantization format of frozen base or served weights")
/* What a plan may search: it has lists of them. */
#define TRAINING_CHOICE_OPTIONS(X)                                                                                     \
	X(0, recompute, "recompute", "recompute", WORDS, "POLICY",                                                     \
	    "none|selective|full|op|sqrt|every-2|uniform-2|block-1|offload-1|core_attn|mla_up_proj|moe_act|layernorm|" \
	    "shared_experts|mlp|moe",                                                                                  \
	    "none",                                                                                                    \
	    "activation recomputation: none, selective, full, every-N (every Nth layer), block-N (first N layers of "  \
	    "a stage, or of each of its chunks), uniform-N (one checkpoint per N layers), sqrt, op, or modules of "    \
	    "a layer; offload-N: no recomputation, the activations of the first N layers wait in host memory")         \
	X(0, optimizer, "optimizer", "optimizer", CHOICE, "NAME", "adam|adamw|adam8bit|lion|momentum|adagrad|sgd",     \
	    "adam", "optimizer")                                                                                       \
	X(0, grad_dtype, "grad-dtype", "grad_dtype", CHOICE, "TYPE", DTYPE_CHOICE(S), NULL,                            \
	    "gradient dtype (default: the stack's)")                                                                   \
	X(0, moment_dtype, "moment-dtype", "moment_dtype", CHOICE, "TYPE", DTYPE_CHOICE(S), NULL,                      \
	    "dtype of Adam's moments (default: fp32, or the parameters' with --states pure)")                          \
	X(0, schedule, "schedule", "schedule", CHOICE, "NAME", "1f1b|gpipe|zero-bubble", "1f1b", "pipeline schedule")
#define TRAINING_OPTIONS(X) TRAINING_JOB_OPTIONS(X) TRAINING_CHOICE_OPTIONS(X)
	TRAINING_OPTIONS(OPTION_MEMBER)
};
extern const struct option training_rows[0 TRAINING_OPTIONS(OPTION_COUNT)];

/* How it is served. */
struct serving_in {
#define SERVING_OPTIONS(X)                                                                                             \
	X(0, engine, "engine", "engine", WORD, "NAME", "engine", NULL,                                                 \
	    "serving engine (default: trtllm; vllm on AMD)")                                                           \
	X(0, weights_dtype, "weights-dtype", "weights_dtype", CHOICE, "TYPE", DTYPE_CHOICE(W), NULL,                   \
	    "dtype of served weights (default: as published, or --dtype)")                                             \
	X(0, kv_dtype, "kv-dtype", "kv_dtype", CHOICE, "TYPE", DTYPE_CHOICE(W), NULL,                                  \
	    "KV cache dtype (default: as published, or the engine's default)")                                         \
	X(0, block, "block", "block", COUNT, "N", "", NULL, "KV cache block size in tokens (default: the engine's)")   \
	X(0, batch_tokens, "batch-tokens", "batch_tokens", COUNT, "N", "", NULL,                                       \
	    "maximum tokens per prefill step (default: the engine's)")                                                 \
	X(0, utilization, "utilization", "utilization", FRACTION, "FRACTION", "", NULL,                                \
	    "share of GPU memory the engine takes (default: the engine's)")
	SERVING_OPTIONS(OPTION_MEMBER)
};
extern const struct option serving_rows[0 SERVING_OPTIONS(OPTION_COUNT)];

/* A model known by its size alone. */
struct numbers_in {
#define NUMBERS_OPTIONS(X)                                                                                             \
	X(0, params, "params", "params", COUNT, "N", "", NULL, "parameter count, when no model is given")              \
	X(0, layers, "layers", "layers", COUNT, "N", "", NULL, "layers, when no model is given")                       \
	X(0, hidden, "hidden", "hidden", COUNT, "N", "", NULL, "hidden size, when no model is given")                  \
	X(0, heads, "heads", "heads", COUNT, "N", "", NULL, "attention heads, when no model is given")                 \
	X(0, head_dim, "head-dim", "head_dim", COUNT, "N", "", NULL, "head dimension")                                 \
	X(0, act_model, "act-model", "act_model", CHOICE, "RULE", "simple12|full", "simple12",                         \
	    "activation rule with --params: 12 tensors per layer, or a full GPT layer")                                \
	X(0, activations, "activations", "activations", SIZE, "SIZE", "", NULL,                                        \
	    "activation memory with --params, instead of a rule")
	NUMBERS_OPTIONS(OPTION_MEMBER)
};

/* All of them, and the layout. */
struct memory_question {
	const struct memory_in *memory;
	const struct training_in *training;
	const struct serving_in *serving;
	const struct numbers_in *numbers;
	const struct layout_in *layout;
	/* Where not NULL, a job that the memory model has no rule for is no error: why goes here, and all that does not
	 * depend on the rule is bound and checked. */
	const char **no_rule;
};

/* True when the question is about bare numbers: no model is named. */
bool memory_is_numbers(const struct memory_question *q);
/* The job, with everything that was left open decided and listed under `assumed`.  False with errors. */
bool run_memory_job(struct run *r, const struct memory_question *q, struct memory_job *job, const struct gpu **gpu);
bool run_memory_numbers(struct run *r, const struct memory_question *q, struct memory_numbers *out);
/* The options that bytes alone depend on were read: memory is part of the answer. */
void memory_reads(struct run *r, const struct memory_question *q, const struct memory_job *job);
/* Which of hwdb/uncertainty says how wrong its peak may be. */
const char *memory_kind(const struct memory_job *job);
/* False for a framework of which no runs were looked at. */
bool memory_listed(const struct memory_job *job);
/* Memory of one GPU, absent if not given.  False with errors. */
bool run_card(struct run *r, const struct memory_in *in, struct datum *card, const struct gpu **gpu);

/* The two halves of binding a memory job. */

/* A default: it is listed under `assumed` when it is used. */
struct datum memory_default(double value);
/* An error with its way out; always false. */
/* Context parallelism as --cp-comm says it, or the stack's. */
const char *memory_context_word(enum context_form c);
enum context_form memory_context(const struct training_in *in, const struct stack *s);
bool memory_refuse(struct run *r, struct source at, const char *what, const char *hint);
/* No rule for this job: such an error, or the reason where the question takes it; true there. */
bool memory_no_rule(
    struct run *r, const struct memory_question *q, struct source at, const char *what, const char *hint);

/* False with an error when --infer and --use train are both said. */
bool memory_says_use(struct run *r, const struct memory_in *in);

bool memory_bind_precision(
    struct run *r, const struct memory_question *q, const struct gpu *gpu, struct memory_job *job);
bool memory_bind_training(struct run *r, const struct memory_question *q, struct memory_job *job);
bool memory_bind_serving(struct run *r, const struct memory_question *q, const struct gpu *gpu,
    const struct engine *engine, struct memory_job *job);

/* Words of the options about memory as what the models take. */

/* `none`, `full`, `every-2`, `uniform-4`, `op`, `selective` or a list of modules.  `sqrt` is uniform with n = 0, which
 * the caller fills in.  False with errors. */
bool memory_recompute(struct run *r, const struct words *list, enum recompute *policy, double *n, unsigned *modules);
/* Whether the model has enough layers for this checkpoint interval; false with an error. */
bool memory_interval(struct run *r, const struct words *list, double n, struct datum n_layers);
/* Whether stack and model have the recomputation policy of this job; false with errors. */
bool memory_check_policy(struct run *r, const struct memory_question *q, const struct memory_job *job);
bool memory_offload(struct run *r, const struct words *list, unsigned *states, unsigned *modules);
bool memory_targets(struct run *r, const struct words *list, unsigned *out);
/* `3,4*14,2`: layers of each stage. */
bool memory_stages(struct run *r, const struct words *list, const int **layers, int *n);
/* The optimizer, state scheme or format with this name; the option's choices have been checked. */
void memory_optimizer(const char *name, enum optimizer *out);
enum state_scheme memory_scheme(const char *name);
enum quant memory_quant(const char *name);
/* What is offloaded, and the memory that a named system has for it. */
void memory_show_host(struct run *r, const struct memory_job *job);
/* Changes that would make the job fit, with their verdicts or without. */
void memory_show_fixes(struct run *r, const struct memory_job *job, double n_node, int most, bool verdicts);

#endif
