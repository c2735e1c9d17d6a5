/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read training frameworks: memory beyond the model states, and overheads of the step. */
#include "db/parts.h"

#include "db/db.h"
#include "model/memory/memory.h"

#include <string.h>

/* --- `time`, the step ------------------------------------------------------------------------------------ */

#define AT(member) offsetof(struct stack, time.member)

static const struct field time_fields[] = {
    FIGURE("sigma", Q_NUMBER, sigma, 0.2, 10, "layer kernel time over calibrated kernel time"),
    FIGURE("moe_sigma", Q_NUMBER, moe_sigma, 0.2, 10, "the same for mixtures of experts; default: sigma"),
    FIGURE("spread", Q_NUMBER, spread, 0, 2, "standard deviation of ln(measured / predicted) over published runs"),
    FIGURE("runs", Q_COUNT, n_runs, 1, 1e6, "number of those runs"),
    FIGURE(
        "left_out", Q_NUMBER, left_out_frac, 0, 2, "typical error of those runs with their model left out of the fit"),
    FIGURE("models", Q_COUNT, n_models, 1, 1e6, "number of those models"),
    FLAG("listed", listed, "constants fitted on published runs"),
    FLAG("dense_runs", dense_runs, "... none of which had experts or adapters"),
    CHOICE("attention", attention, "unfused|flash1|flash2|tuned",
        "attention kernel: unfused, FlashAttention 1 in Triton, FlashAttention 2, or the vendor's"),
    CHOICE("context_parallel", context, "ring|gather|heads",
        "context parallelism: keys and values around a ring, gathered at once, or heads exchanged for tokens"),
    FLAG("whole_waves", whole_waves, "GEMMs of cuBLAS 2022 and before: whole tiles in whole waves, no split-K"),
    FLAG("overlaps_tensor", tp_overlap, "tensor-parallel collectives overlap with GEMMs"),
    FLAG("regathers", regathers, "sequence parallelism gathers inputs again in the backward pass"),
    FLAG("overlaps_data", dp_overlap, "gradient and parameter communication overlaps compute"),
    FLAG("reshards_pipeline", reshards_pipeline, "FSDP in a pipeline gathers for every micro-batch"),
    FIGURE("reduce", Q_SIZE, reduce_byte, 0.5, 8, "bytes per gradient in communication"),
    FLAG("gathers_fp8", gathers_fp8, "parameters of per-tensor fp8 GEMMs are gathered in 8 bits"),
    FIGURE("elementwise", Q_NUMBER, elementwise, 0.1, 10, "elementwise traffic over fused traffic"),
    FIGURE("elementwise_compiled", Q_NUMBER, elementwise_compiled, 0.1, 10, "the same when the model is compiled"),
    FIGURE("elementwise_pure", Q_NUMBER, elementwise_pure, 0.1, 10, "the same when all states have 16 bits"),
    FLAG("eager_experts", expert_eager, "expert activations with biases and clamps are separate kernels"),
    FLAG("graphs", graphs, "layers use CUDA graphs"),
    FLAG("captures_experts", captures_experts, "CUDA graphs of router and dispatch: experts do not wait for the host"),
    FLAG("whole_experts", whole_experts, "published runs with experts shard the optimizer alone"),
    FLAG("no_zero_2", no_zero_2, "published runs shard the optimizer alone, or parameters too"),
    FIGURE("host", Q_NUMBER, host_frac, 0, 10, "host time of a dense layer relative to eager mode"),
    FIGURE("step", Q_TIME, step_s, 0, 10, "host time of a step outside its layers"),
    FIGURE("host_adam", Q_NUMBER, host_param_per_s, 1e6, 1e12,
        "parameters per second that the CPUs of a node update, with --offload optimizer"),
    FIGURE("moe_floor", Q_TIME, moe_floor_s, 0, 1, "host time of an expert layer, forward and backward"),
    FIGURE("moe_expert_floor", Q_TIME, moe_expert_floor_s, 0, 1, "... per local expert in block-scaled 8 or 4 bits"),
    FIGURE("hybrid_sync", Q_TIME, hybrid_sync_s, 0, 1, "device stall per expert layer where kinds of layers alternate"),
    FIGURE("moe_sync", Q_TIME, moe_sync_s, 0, 1, "device stall for routed token counts, per layer"),
    FIGURE("moe_expert", Q_TIME, moe_expert_s, 0, 1, "... and per local expert in 8 or 4 bits"),
    CHOICE("overlaps_experts", expert_overlap, "partial|none|full",
        "overlap of the expert all-to-all with compute: as in published runs, none, or complete"),
    CHOICE("dispatcher", dispatcher, "plain|dedup|dedup-hopper",
        "MoE dispatch to other domains: a token per expert, once per domain, or that up to Hopper only"),
    FIGURE("chunk_layers", Q_COUNT, chunk_layers, 1, 1000, "interleaved stages, layers per chunk"),
    FLAG("packs", packs, "fine-tuning packs short samples into whole sequences"),
    FLAG("stops_early", stops_early, "full recomputation skips the last GEMM of a layer"),
    FLAG("skips_padding", skips_padding, "encoders skip padding of long sequences"),
    FLAG("selects_operators", selects_operators, "selective recomputation by operator instead of core attention"),
    FLAG("local_batch", local_batch, "published batch with pipelines is the local one"),
    FIGURE("release", Q_NUMBER, release, 201001, 210012, "year and month of the release, 202604"),
};
static const struct schema stack_time_schema = {
    "'time'", sizeof(struct stack), time_fields, sizeof time_fields / sizeof *time_fields};

/* What every step needs is there; else an error at the map. */
static bool
stack_time_whole(struct binder *b, const struct node *map, const struct stack_time *t)
{
	const struct {
		const char *key;
		struct datum d;
	} needed[] = {{"sigma", t->sigma}, {"reduce", t->reduce_byte}, {"elementwise", t->elementwise},
	    {"host", t->host_frac}, {"step", t->step_s}};

	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (!datum_given(needed[i].d)) {
			diag_error(b->diag, map->at, "'time' needs '%s'", needed[i].key);
			diag_hint(b->diag, "'extends: megatron-core' takes what the file leaves out from there");
			return false;
		}
	return true;
}

/* --- the file -------------------------------------------------------------------------------------------- */

#undef AT
#define AT(member) offsetof(struct stack, member)

static const struct field counter_fields[] = {
    FIGURE("allocated", Q_SIZE, counter_byte[COUNTER_ALLOCATED], 0, 1e12,
        "extra bytes over live tensors, allocated counter"),
    FIGURE(
        "reserved", Q_SIZE, counter_byte[COUNTER_RESERVED], 0, 1e12, "extra bytes over live tensors, reserved counter"),
    FIGURE("device", Q_SIZE, counter_byte[COUNTER_DEVICE], 0, 1e12, "extra bytes over live tensors, whole device"),
};
SCHEMA(counter_schema, "'counters'", struct stack, counter_fields);

static const struct field parallel_fields[] = {
    FLAG("tensor", tensor, "tensor parallelism"),
    FLAG("sequence", sequence, "sequence parallelism"),
    FLAG("pipeline", pipeline, "pipeline parallelism"),
    FLAG("context", context, "context parallelism"),
    FLAG("expert", expert, "expert parallelism"),
    FLAG("hybrid_ep", hybrid_ep, "HybridEP serves experts: buffers for all tokens of a group, and a rack is not left"),
    FLAG("zero_bubble", zero_bubble, "zero-bubble pipeline schedule"),
    FIGURE("zero", Q_COUNT, max_zero, 0, 3, "highest ZeRO stage"),
    FLAG("zero_on_request", zero_on_request,
        "full sharding only when asked for; default: whenever stage 3 is the highest"),
};
SCHEMA(parallel_schema, "'parallel'", struct stack, parallel_fields);

static const struct field state_fields[] = {
    CHOICE("scheme", scheme, "mixed|fp32|pure", "16-bit parameters with fp32 master weights, all fp32, or all 16-bit"),
    FIGURE("gradient", Q_SIZE, gradient_byte, 0, 64, "gradient bytes per parameter; default: as the parameters"),
    CHOICE("gradients_held", gradients, "always|accumulating", "when gradients coexist with the loss"),
    FLAG("mxfp8_parameters", mxfp8_parameters, "with mxfp8 GEMMs, parameters are stored in mxfp8 alone"),
    FLAG("untied_head", unties_head, "untied LM head even where the model ties it"),
};
SCHEMA(state_schema, "'states'", struct stack, state_fields);

static const struct field adapter_fields[] = {
    FIGURE("bytes", Q_SIZE, adapter_byte, 1, 8, "bytes per adapter parameter"),
    FLAG("dropout", adapter_dropout, "LoRA dropout on by default"),
    FLAG("fused_qkv", fused_qkv_adapters, "one adapter kernel for q, k and v: always three copies"),
    FLAG("quantised_base", quantised_base, "supports a quantized base (QLoRA)"),
    FLAG("fp8", fp8_frozen, "with fp8 GEMMs, frozen weights are stored and attention runs in fp8"),
    FLAG("fused_casts", fused_casts, "inputs cast inside the adapter kernels, without a copy"),
    FLAG("casts_rest", casts_for_quantised, "k-bit training casts unquantized parameters to fp32"),
};
SCHEMA(adapter_schema, "'adapters'", struct stack, adapter_fields);

static const struct field saved_fields[] = {
    FLAG("eager_norm", eager_norm, "norms save an fp32 copy of their input"),
    FLAG("eager_norm_compiled", eager_norm_compiled, "... also when compiled"),
    FLAG("expanded_kv", expanded_kv, "KV heads repeated for every query head"),
    FLAG("fused_activation", fused_activation, "MLP activation saves only gate and up"),
    FLAG("value_view", v_view, "values stay a view of the fused QKV output"),
    FLAG("quantised_inputs", keeps_quantised_inputs, "GEMMs with quantized weights save their inputs"),
    FLAG("fp32_inputs", keeps_fp32_inputs, "... in fp32"),
    FLAG("flash", flash, "flash attention by default"),
    FLAG("dropout", dropout, "dropout on by default"),
    FIGURE("eager_policy", Q_SIZE, eager_policy_byte, 0, 100,
        "extra bytes of the per-operator policy in eager mode, per hidden element"),
    FLAG("late_probabilities", late_probabilities, "router weights applied to the expert output"),
    FLAG("permute_fusion", permute_fusion, "token permutation saves a map"),
};
SCHEMA(saved_schema, "'saved'", struct stack, saved_fields);

static const struct field buffer_fields[] = {
    FIGURE("step", Q_SIZE, step_byte, 0, 64, "optimizer step temporaries per trainable parameter of the rank"),
    FIGURE("subgroup", Q_SIZE, subgroup_byte, 0, 64, "the same for a grouped optimizer step"),
    FIGURE("subgroup_params", Q_COUNT, subgroup_param, 1, 1e13, "maximum parameters per group"),
    FIGURE("bucket", Q_SIZE, bucket_byte, 0, 64, "reduction buckets, per parameter"),
    FIGURE("bucket_params", Q_COUNT, bucket_param, 1, 1e13, "maximum parameters in buckets"),
    FIGURE("live", Q_SIZE, live_byte, 0, 1e12, "maximum gathered and prefetched parameters of ZeRO-3"),
    FLAG("frozen_base", gathers_frozen_base, "FSDP keeps a frozen base gathered until backward ends"),
    FIGURE("quantised", Q_NUMBER, n_quantised_buffers, 0, 100, "dequantized copies of the largest weight matrix"),
    FIGURE("workspace", Q_SIZE, workspace_byte, 0, 1e11, "GEMM workspaces"),
    FIGURE("expert_workspace", Q_SIZE, expert_workspace_byte, 0, 1e11, "GEMM workspaces with grouped expert GEMMs"),
    FIGURE("graphs", Q_SIZE, graph_byte, 0, 1e12, "static buffers of CUDA graphs that capture expert layers"),
    FIGURE("graphs_pipeline", Q_SIZE, graph_pipeline_byte, 0, 1e12, "the same with pipeline stages"),
};
SCHEMA(buffer_schema, "'buffers'", struct stack, buffer_fields);

static const struct field serving_fields[] = {
    CHOICE("pool", pool, "none|card|static|free",
        "pool size: none, grows on demand; card, share of GPU memory; static, share for weights and KV cache; free, "
        "share of what is left"),
    FIGURE("utilization", Q_NUMBER, utilization, 0, 1, "share of the pool"),
    FIGURE("block", Q_COUNT, block_token, 1, 1e6, "KV cache block size in tokens"),
    FIGURE("batch_tokens", Q_COUNT, batch_token, 1, 1e8, "maximum tokens per step; absent for whole prompts"),
    FIGURE("sampler_rows", Q_COUNT, sampler_rows, 1, 1e6, "sequences the engine profiles its sampler with"),
    FIGURE("sampler", Q_SIZE, sampler_byte, 0, 1e3, "... bytes per sequence and vocabulary entry"),
    FIGURE("cache_copies", Q_NUMBER, n_kv_copies, 1, 10, "copies of a KV cache grown by concatenation"),
};
SCHEMA(serving_schema, "'serving'", struct stack, serving_fields);

#define LOSS(member) offsetof(struct loss, member)
static const struct field loss_fields[] = {
    {.key = "name", .kind = FIELD_TEXT, .offset = LOSS(name), .required = true, .help = "name for --loss"},
    {.key = "bytes",
        .kind = FIELD_QUANTITY,
        .quantity = Q_SIZE,
        .offset = LOSS(logit_byte),
        .max = 1000,
        .required = true,
        .help = "peak bytes per logit"},
};
SCHEMA(loss_schema, "a loss", struct loss, loss_fields);

#define MATCH(member) offsetof(struct stack_match, member)
#define MONTH(key_, member, help_)                                                                                     \
	{                                                                                                              \
		.key = key_, .kind = FIELD_QUANTITY, .quantity = Q_NUMBER, .offset = MATCH(member), .min = 201001,     \
		.max = 210012, .help = help_                                                                           \
	}
static const struct field match_fields[] = {
    {.key = "says", .kind = FIELD_TEXT, .offset = MATCH(says), .required = true, .help = "part of source or software"},
    {.key = "software", .kind = FIELD_TEXT, .offset = MATCH(software), .help = "further part of the software name"},
    {.key = "precision", .kind = FIELD_TEXT, .offset = MATCH(precision), .help = "part of the precision description"},
    MONTH("from", from, "first year and month, 202407"),
    MONTH("before", before, "year and month after the last"),
    {.key = "refused", .kind = FIELD_TEXT, .offset = MATCH(refused), .help = "reason why such runs are excluded"},
    {.key = "counter", .kind = FIELD_TEXT, .offset = MATCH(counter), .help = "counter that their tables print"},
    {.key = "gib", .kind = FIELD_FLAG, .offset = MATCH(gib), .help = "their tables print GiB as GB"},
};
SCHEMA(match_schema, "a match", struct stack_match, match_fields);

static const struct field stack_fields[] = {
    {.key = "format", .kind = FIELD_IGNORED, .help = "format version: 1"},
    {.key = "name", .kind = FIELD_TEXT, .offset = AT(name), .required = true, .help = "display name"},
    {.key = "aliases", .kind = FIELD_IGNORED, .help = "aliases; case and punctuation are ignored"},
    {.key = "sources", .kind = FIELD_IGNORED, .help = "citation keys"},
    {.key = "extends", .kind = FIELD_IGNORED, .help = "stack whose file this one extends"},
    CHOICE("use", use, "train|infer", "training or inference"),
    CHOICE("rules", rules, "operators|megatron-core", "list of saved tensors"),
    FIGURE("safety", Q_NUMBER, safety, 1, 10, "factor on the predicted peak that covers 95 % of measured peaks"),
    SUB("counters", counter_schema, "overhead of each memory counter over live tensors"),
    SUB("parallel", parallel_schema, "supported parallelism"),
    SUB("states", state_schema, "weights, gradients and optimizer states"),
    SUB("adapters", adapter_schema, "LoRA rules; absent without support"),
    SUB("saved", saved_schema, "rules of saved activations"),
    SUB("buffers", buffer_schema, "buffers besides states and activations"),
    {.key = "logits",
        .kind = FIELD_LIST,
        .sub = &loss_schema,
        .offset = AT(losses),
        .extra = AT(n_losses),
        .help = "implementations of the loss, bytes per logit"},
    {.key = "loss", .kind = FIELD_TEXT, .offset = AT(loss), .help = "default entry of `logits`"},
    {.key = "loss_compiled", .kind = FIELD_TEXT, .offset = AT(loss_compiled), .help = "default when compiled"},
    {.key = "loss_parallel", .kind = FIELD_TEXT, .offset = AT(loss_parallel), .help = "default with tp above 1"},
    SUB("time", stack_time_schema, "training time model: overheads besides the math"),
    SUB("serving", serving_schema, "engines: KV cache pool"),
    {.key = "match",
        .kind = FIELD_LIST,
        .sub = &match_schema,
        .offset = AT(matches),
        .extra = AT(n_matches),
        .help = "names in published runs"},
    {.key = "notes", .kind = FIELD_TEXT, .offset = AT(notes), .help = "caveats"},
};
const struct schema stack_schema = {
    "a stack", sizeof(struct stack), stack_fields, sizeof stack_fields / sizeof *stack_fields};

static bool
has_loss(const struct stack *s, const char *name)
{
	for (int i = 0; i < s->n_losses; i++)
		if (s->losses[i].name && strcmp(s->losses[i].name, name) == 0)
			return true;
	return false;
}

static bool
check_loss(struct binder *b, const struct node *root, const struct stack *s, const char *key, const char *name)
{
	if (!name || has_loss(s, name))
		return true;
	diag_error(b->diag, tree_get(root, key)->at, "'logits' has no loss '%s'", name);
	return false;
}

static bool
finish_training(struct binder *b, const struct node *root, const struct stack *s)
{
	if (s->n_losses > 0 && s->loss)
		return check_loss(b, root, s, "loss", s->loss) &
		    check_loss(b, root, s, "loss_compiled", s->loss_compiled) &
		    check_loss(b, root, s, "loss_parallel", s->loss_parallel);
	diag_error(b->diag, root->at, "a training stack needs 'logits' and its default 'loss'");
	return false;
}

/* A pool without its share, or a cache without its blocks, cannot be sized. */
static bool
finish_serving(struct binder *b, const struct node *root, const struct stack *s)
{
	if (datum_given(s->block_token) && (s->pool == POOL_NONE || datum_given(s->utilization)))
		return true;
	diag_error(b->diag, root->at, "an engine needs serving.block, and serving.utilization with a pool");
	return false;
}

static bool
has_counter(const struct stack *s)
{
	for (int i = 0; i < N_COUNTERS; i++)
		if (datum_given(s->counter_byte[i]))
			return true;
	return false;
}

bool
stack_bind(struct binder *b, const struct node *root, const char *id, struct stack *out)
{
	if (!schema_bind(b, &stack_schema, root, out))
		return false;
	out->id = id;
	out->lora = tree_get(root, "adapters") != NULL;
	out->time.given = tree_get(root, "time") != NULL;
	if (out->time.given && !stack_time_whole(b, tree_get(root, "time"), &out->time))
		return false;
	if (!has_counter(out)) {
		diag_error(b->diag, root->at, "a stack needs one of 'counters'");
		return false;
	}
	return out->use == STACK_TRAIN ? finish_training(b, root, out) : finish_serving(b, root, out);
}

const struct node *
stack_extended(struct database *db, struct arena *a, struct diag *d, const struct node *root)
{
	/* published runs that name a stack do not name those that extend it */
	static const char *const own[] = {"match", NULL};

	return root ? entry_extended(db, a, d, ENTRY_STACK, root, own) : NULL;
}

const struct stack *
database_stack(struct database *db, struct arena *a, struct diag *d, const char *name, const struct node *overlay,
    struct source at, const char **announce)
{
	const char *id;
	const struct node *root = database_open(db, ENTRY_STACK, name, at, &id, announce);
	struct stack *stack = ARENA_NEW(a, struct stack);

	if (!root)
		return NULL;
	root = stack_extended(db, a, d, root);
	if (!root)
		return NULL;
	root = tree_overlay(a, root, overlay);
	struct binder b = {.arena = a, .diag = d, .sources = tree_get(root, "sources")};
	return stack_bind(&b, root, id, stack) ? stack : NULL;
}
