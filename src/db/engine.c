/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read serving engines. */
#include "db/parts.h"

#include "base/base.h"

#include <string.h>

/* --- engines: step overheads, KV cache pool and scheduler ------------------------------------------------ */

#define ENGINE(member) offsetof(struct engine, member)
#define ARCH(member) offsetof(struct engine_architecture, member)
#define AT(offset) offset

static const struct field step_fields[] = {
    FIGURE("host", Q_TIME, ENGINE(host_s), 0, 10, "exposed CPU time of every step"),
    FIGURE("prefill", Q_TIME, ENGINE(prefill_s), 0, 10, "extra CPU time of a step with prefill"),
    FIGURE("sequence", Q_TIME, ENGINE(sequence_s), 0, 1, "extra CPU time per decoding sequence"),
    FIGURE("first", Q_TIME, ENGINE(first_s), 0, 10, "extra CPU time of a single first token"),
    FIGURE("front", Q_TIME, ENGINE(front_s), 0, 1, "per layer of experts: time before the first token, outside steps"),
    FIGURE("handover", Q_TIME, ENGINE(handover_s), 0, 10, "time of handing a request from one pool to the other"),
    FIGURE("prompt_layer", Q_TIME, ENGINE(prompt_layer_s), 0, 1,
        "least time of a layer in a step outside of graphs, as with prompts: CPU launches"),
    FIGURE("graph", Q_COUNT, ENGINE(graph_rows), 1, 1e7, "sequences of the largest step that replays a graph"),
    FIGURE("router", Q_TIME, ENGINE(router_s), 0, 1,
        "per layer of experts: top-k of a router that adds a bias to the scores of more than 32 experts in a group"),
    FIGURE("recurrent", Q_TIME, ENGINE(recurrent_s), 0, 1, "extra CPU time of a step of a model with recurrent layers"),
    FIGURE("cold", Q_TIME, ENGINE(cold_s), 0, 100, "extra time of the first step of a new server"),
    FIGURE("gpu", Q_NUMBER, ENGINE(gpu_factor), 0.1, 10, "factor on all GPU time"),
    FIGURE("comm", Q_NUMBER, ENGINE(comm_factor), 0.1, 10, "factor on collectives for rank skew"),
    FIGURE("small", Q_TIME, ENGINE(elementwise_s), 0, 1, "fixed time of an elementwise kernel"),
    FIGURE("small_bytes", Q_NUMBER, ENGINE(elementwise_frac), 0, 10, "share of elementwise traffic left after fusion"),
    FIGURE("sampling", Q_TIME, ENGINE(sampling_s), 0, 1, "sampling, once per step"),
    FIGURE("agreement", Q_TIME, ENGINE(sampling_link_s), 0, 1, "... and its communication between GPUs"),
    FIGURE("gemm_base", Q_NUMBER, ENGINE(gemm_base), 0, 10, "factor on the fixed time of GEMMs"),
    FIGURE("attention_base", Q_NUMBER, ENGINE(attention_base), 0, 10, "factor on the fixed time of attention"),
    FIGURE(
        "quantise", Q_TIME, ENGINE(quantise_s), 0, 1, "time of an activation quantization kernel; absent when fused"),
    FIGURE("quantise_rate", Q_NUMBER, ENGINE(quantise_frac), 0, 10, "... share of bandwidth it reaches"),
    FIGURE("launch", Q_TIME, ENGINE(launch_s), 0, 1, "eager engines: time per launch"),
    FIGURE("launches", Q_COUNT, ENGINE(n_layer_launches), 0, 1e4, "... launches per layer"),
    FIGURE("row_sync", Q_TIME, ENGINE(row_sync_s), 0, 1, "matrices split by rows: time per layer and GPU"),
    FLAG("row_split", ENGINE(row_split), "... always used on several GPUs"),
};
SCHEMA(step_schema, "'step'", struct engine, step_fields);

static const struct field kernel_fields[] = {
    FIGURE(
        "weight_only", Q_NUMBER, ENGINE(weight_only_frac), 0, 2, "share of peak reached by GEMMs with packed weights"),
    FIGURE("cap16", Q_PER_CLOCK, ENGINE(cap16_byte), 0, 1e4, "maximum 16-bit weight bytes streamed per SM and clock"),
    FIGURE("cap8", Q_PER_CLOCK, ENGINE(cap8_byte), 0, 1e4, "the same for 8-bit weights"),
    FIGURE("cap4", Q_PER_CLOCK, ENGINE(cap4_byte), 0, 1e4, "the same for 4-bit weights"),
    CHOICE("core_attention", ENGINE(core_attention), "never|uneven|chunked|int4",
        "decode attention on CUDA cores: never, for head ratios that are not a power of two, in chunked layers, with "
        "4-bit KV caches"),
    FIGURE("core_elements", Q_NUMBER, ENGINE(core_element), 0, 1e4, "... KV cache elements per SM and clock"),
    FIGURE("latent_walk", Q_TIME, ENGINE(walk_s), 0, 1e-3,
        "decode attention over latents of a number of heads that 16 does not divide: time per cached token"),
    FIGURE("int8", Q_NUMBER, ENGINE(int8_frac), 0, 2, "share of isolated throughput reached by int8 GEMMs"),
    FIGURE("gddr", Q_NUMBER, ENGINE(gddr_frac), 0, 1, "minimum share of GDDR bandwidth"),
    FIGURE("expert_spread", Q_NUMBER, ENGINE(expert_spread_frac), 0, 1,
        "experts: tokens of one differ from their mean by up to this share"),
};
SCHEMA(kernel_schema, "'kernels'", struct engine, kernel_fields);

static const struct field pcie_fields[] = {
    CHOICE("reduce", ENGINE(reduce), "best|nccl",
        "all-reduce over NVLink: custom up to the messages that the engine leaves to NCCL, or NCCL"),
    FIGURE("nvlink_wait", Q_TIME, ENGINE(link_wait_s), 0, 1e-2,
        "over NVLink: mean delay of a rank at a collective; all wait for the last"),
    FIGURE("pcie_wait", Q_NUMBER, ENGINE(pcie_wait), 0.1, 10, "over PCIe: factor on collectives for rank skew"),
    FIGURE(
        "pcie_pair", Q_TIME, ENGINE(pcie_pair_s), 0, 1, "over PCIe: time of a step of two GPUs beside its collectives"),
    FIGURE("pcie_base", Q_TIME, ENGINE(pcie_s), 0, 1, "over PCIe: latency, two GPUs"),
    FIGURE("pcie_rank", Q_NUMBER, ENGINE(pcie_rank_frac), 0, 10, "... extra share per further GPU"),
    FIGURE("pcie_rate", Q_NUMBER, ENGINE(pcie_frac), 0, 10, "... all-reduce: share of the slot's rate, two GPUs"),
    FIGURE("pcie_contention", Q_NUMBER, ENGINE(pcie_contention_frac), 0, 10,
        "... extra time of the volume per further GPU, as a share"),
    FIGURE("pcie_gather", Q_NUMBER, ENGINE(pcie_gather_frac), 0, 10, "... gathers: share of the slot's rate"),
};
SCHEMA(pcie_schema, "'links'", struct engine, pcie_fields);

static const struct field pool_fields[] = {
    CHOICE("of", ENGINE(memory.pool), "none|card|static|free",
        "pool size: none, grows on demand; card, share of GPU memory; static, share for weights and KV cache; free, "
        "share of what is left"),
    FIGURE("share", Q_NUMBER, ENGINE(memory.utilization), 0, 1, "the share of it"),
    FIGURE("context", Q_SIZE, ENGINE(memory.counter_byte[COUNTER_DEVICE]), 0, 1e12,
        "driver context, libraries and graphs, besides weights, KV cache and activations"),
    FIGURE("step", Q_COUNT, ENGINE(memory.batch_token), 1, 1e9,
        "tokens of the profiled step; default: scheduler.max_tokens"),
    FIGURE(
        "sampler_rows", Q_COUNT, ENGINE(memory.sampler_rows), 1, 1e6, "sequences the engine profiles its sampler with"),
    FIGURE("sampler", Q_SIZE, ENGINE(memory.sampler_byte), 0, 1e3, "... bytes per sequence and vocabulary entry"),
    FIGURE("decoder", Q_SIZE, ENGINE(memory.decoder_byte), 0, 1e3,
        "decoder buffers: bytes per sequence of scheduler.max_sequences and vocabulary entry"),
    FIGURE("block", Q_COUNT, ENGINE(memory.block_token), 1, 1e6, "KV cache block size in tokens"),
    FLAG("narrow", ENGINE(narrow_kv), "8-bit KV cache with 8- or 4-bit weights, unless the checkpoint says otherwise"),
};
SCHEMA(pool_schema, "'pool'", struct engine, pool_fields);

static const struct field scheduler_fields[] = {
    FIGURE("max_sequences", Q_COUNT, ENGINE(max_sequences), 1, 1e7, "maximum running sequences"),
    FIGURE("max_tokens", Q_COUNT, ENGINE(max_tokens), 1, 1e9, "maximum tokens per step"),
    FIGURE("poll", Q_COUNT, ENGINE(poll_steps), 1, 1e4, "decode steps between two looks at waiting requests"),
    FLAG("chunked", ENGINE(chunked), "chunked prefill"),
    FLAG("evicts", ENGINE(evicts), "admits requests that may not fit, and preempts them"),
    FLAG("prefill_first", ENGINE(prefill_first), "steps with prefill do not decode"),
};
SCHEMA(scheduler_schema, "'scheduler'", struct engine, scheduler_fields);

static const struct field unfused_fields[] = {
    FIGURE("peak", Q_NUMBER, ENGINE(unfused.peak_frac), 0, 1, "share of the peak with fp16 accumulation"),
    FIGURE("memory", Q_NUMBER, ENGINE(unfused.mem_frac), 0, 1, "share of the bandwidth"),
    FIGURE("stream_passes", Q_NUMBER, ENGINE(unfused.n_stream_passes), 0, 1e4,
        "passes of fp32 activations through memory"),
    FIGURE(
        "score_passes", Q_NUMBER, ENGINE(unfused.n_score_passes), 0, 1e4, "passes of attention scores through memory"),
    FIGURE("launch", Q_TIME, ENGINE(unfused.launch_s), 0, 1, "launch time of a kernel"),
    FIGURE("kernels", Q_NUMBER, ENGINE(unfused.n_kernels), 0, 1e4, "kernels per layer, 16-bit weights"),
    FIGURE("packed_kernels", Q_NUMBER, ENGINE(unfused.n_packed_kernels), 0, 1e4, "kernels per layer, packed weights"),
    FIGURE("queue", Q_COUNT, ENGINE(unfused.queue), 1, 1e7, "launch queue depth"),
    FIGURE("batch", Q_COUNT, ENGINE(unfused.batch_token), 1, 1e7, "prefill chunk size in tokens"),
};
SCHEMA(unfused_schema, "'prompt'", struct engine, unfused_fields);

static const struct field architecture_fields[] = {
    FIGURE("fp8_attention", Q_NUMBER, ARCH(fp8_attention), 0.1, 10, "prefill speedup with 8-bit KV cache"),
    FIGURE("core_elements", Q_NUMBER, ARCH(core_element), 0, 1e4,
        "decode attention reads the cache once per query head: elements per SM and clock"),
    FIGURE("kv_rate", Q_NUMBER, ARCH(kv_reuse_frac), 0, 1, "grouped decode attention: share of its bandwidth"),
    FIGURE("imbalance", Q_NUMBER, ARCH(imbalance), 0, 100, "expert load imbalance"),
    FLAG("imbalance_is_tokens", ARCH(imbalance_is_tokens), "imbalance adds tokens to a rank, not weights"),
    FLAG("marlin", ARCH(marlin), "mxfp4 experts with 16-bit activations by Marlin, the kernel of 4-bit integers"),
    FIGURE("moe_time", Q_NUMBER, ARCH(moe_time), 0.1, 10, "factor on grouped GEMMs inside the engine"),
    FIGURE("moe_peak", Q_NUMBER, ARCH(moe_peak_frac), 0, 10, "share of peak of 16-bit grouped GEMMs"),
    FIGURE("moe_feed", Q_RATE, ARCH(moe_feed_byte_per_s), 0, 1e14,
        "operand bytes of grouped GEMMs fed to one SM per clock"),
    FIGURE("fp8_block", Q_NUMBER, ARCH(block8_frac), 0, 1, "share of the 8-bit peak of block-scaled GEMMs"),
    FIGURE("latent_prompts", Q_NUMBER, ARCH(latent_prompt), 0, 1,
        "share of its arithmetic that prefill attention over latents reaches inside the engine"),
    FIGURE("fp4", Q_NUMBER, ARCH(fp4_frac), 0, 1, "share of the 4-bit peak inside the engine"),
    FIGURE("fp16", Q_NUMBER, ARCH(wide_frac), 0, 1, "share of the 16-bit peak inside the engine"),
    FIGURE("tf32", Q_NUMBER, ARCH(tf32_frac), 0, 1, "share of the TensorFloat-32 peak"),
    FIGURE("fp32", Q_NUMBER, ARCH(fp32_frac), 0, 1, "share of the fp32 peak"),
    FIGURE("base", Q_NUMBER, ARCH(base_factor), 0, 10, "factor on the fixed parts of kernels"),
    FIGURE("base8", Q_NUMBER, ARCH(base8_factor), 0, 10, "... of models with 8-bit activations (default: base)"),
    FIGURE("host", Q_NUMBER, ARCH(host_factor), 0, 100, "factor on the CPU time"),
    FIGURE("router", Q_TIME, ARCH(router_s), 0, 1, "top-k of a router with a bias, instead of the engine's"),
    FIGURE(
        "cold", Q_TIME, ARCH(cold_s), 0, 100, "extra time of the first step of a new server, instead of the engine's"),
    FIGURE("flop_per_joule", Q_NUMBER, ARCH(watt_flop), 0, 1e15, "GEMM FLOPs per joule: power limit"),
};
SCHEMA(architecture_schema, "an architecture", struct engine_architecture, architecture_fields);

static const struct field residual_fields[] = {
    {.key = "kind",
        .kind = FIELD_TEXT,
        .offset = offsetof(struct engine_residual, kind),
        .required = true,
        .help = "offline, static, batch1, ttft, prompt, encoder"},
    FIGURE("n", Q_COUNT, offsetof(struct engine_residual, n_points), 1, 1e9, "rows"),
    FIGURE("mape", Q_NUMBER, offsetof(struct engine_residual, mape_frac), 0, 10, "mean absolute error"),
    FIGURE("median", Q_NUMBER, offsetof(struct engine_residual, median_frac), 0, 10, "median absolute error"),
};
SCHEMA(residual_schema, "a residual", struct engine_residual, residual_fields);

static const struct field match_fields[] = {
    {.key = "software",
        .kind = FIELD_TEXT,
        .offset = offsetof(struct engine_match, software),
        .required = true,
        .help = "part of the software name"},
    TEXT("sched", offsetof(struct engine_match, sched), "part of the scheduling description"),
    TEXT("from", offsetof(struct engine_match, from), "the first version"),
    TEXT("to", offsetof(struct engine_match, to), "the last version"),
    TEXT("weights", offsetof(struct engine_match, weights), "part of the weight dtype"),
    TEXT("date", offsetof(struct engine_match, date), "date prefix of runs without a version"),
    TEXT("architecture", offsetof(struct engine_match, architecture), "architecture of the GPU"),
};
SCHEMA(match_schema, "a match", struct engine_match, match_fields);

static bool
bind_architectures(struct binder *b, const struct node *n, void *out)
{
	struct engine *e = out;
	bool ok = true;

	if (n->kind != NODE_MAP || n->n > N_ENGINE_ARCHITECTURES) {
		diag_error(b->diag, n->at, "'architectures' is a map of at most %d architectures",
		    (int)N_ENGINE_ARCHITECTURES);
		return false;
	}
	e->n_architectures = (int)n->n;
	for (size_t i = 0; i < n->n; i++) {
		schema_clear(&architecture_schema, &e->architectures[i]);
		ok = schema_bind(b, &architecture_schema, n->items[i], &e->architectures[i]) && ok;
		e->architectures[i].architecture = n->keys[i]->text;
	}
	return ok;
}

static const struct field engine_fields[] = {
    {.key = "format", .kind = FIELD_IGNORED, .help = "format version: 1"},
    {.key = "name", .kind = FIELD_TEXT, .offset = ENGINE(name), .required = true, .help = "display name"},
    {.key = "aliases", .kind = FIELD_IGNORED, .help = "aliases; case and punctuation are ignored"},
    {.key = "sources", .kind = FIELD_IGNORED, .help = "citation keys"},
    {.key = "extends", .kind = FIELD_IGNORED, .help = "engine whose keys are inherited"},
    TEXT("versions", ENGINE(versions), "version of the measured software"),
    TEXT("backend", ENGINE(backend), "kernel backend: trtllm, vllm, sglang"),
    CHOICE("kind", ENGINE(kind), "batched|static|encoder|layer-split",
        "in-flight batching, static batches, encoder pass, or layer split over GPUs"),
    SUB("step", step_schema, "overheads of a step besides kernels"),
    SUB("kernels", kernel_schema, "kernel efficiencies"),
    SUB("links", pcie_schema, "collectives"),
    SUB("pool", pool_schema, "KV cache pool"),
    SUB("scheduler", scheduler_schema, "admission"),
    SUB("prompt", unfused_schema, "engines without fusion: prefill"),
    {.key = "architectures",
        .kind = FIELD_CUSTOM,
        .offset = 0,
        .custom = bind_architectures,
        .help = "overrides by GPU architecture; `-gddr` for GPUs without HBM"},
    {.key = "residual",
        .kind = FIELD_LIST,
        .sub = &residual_schema,
        .offset = ENGINE(residuals),
        .extra = ENGINE(n_residuals),
        .help = "errors on published runs"},
    {.key = "match",
        .kind = FIELD_LIST,
        .sub = &match_schema,
        .offset = ENGINE(matches),
        .extra = ENGINE(n_matches),
        .help = "names of the software in published runs, and versions covered"},
    TEXT("vendor", ENGINE(vendor), "NVIDIA or AMD: the only GPUs that it runs on"),
    TEXT("refused", ENGINE(refused), "reason why its answers are unreliable"),
    TEXT("warning", ENGINE(warning), "caveats of all its answers"),
    TEXT("notes", ENGINE(notes), "caveats"),
};
static const struct schema engine_schema = {
    "an engine", sizeof(struct engine), engine_fields, sizeof engine_fields / sizeof *engine_fields};

/* Values without which no step can be computed. */
static bool
check_given(struct binder *b, const struct node *root, const struct engine *e)
{
	const struct {
		const char *key;
		struct datum value;
	} needed[] = {
	    {"step.host", e->host_s},
	    {"step.gpu", e->gpu_factor},
	    {"step.comm", e->comm_factor},
	    {"step.small", e->elementwise_s},
	    {"step.sampling", e->sampling_s},
	    {"step.agreement", e->sampling_link_s},
	    {"step.prefill", e->prefill_s},
	    {"step.sequence", e->sequence_s},
	    {"links.pcie_base", e->pcie_s},
	    {"links.pcie_rank", e->pcie_rank_frac},
	    {"links.pcie_rate", e->pcie_frac},
	    {"links.pcie_contention", e->pcie_contention_frac},
	    {"links.pcie_gather", e->pcie_gather_frac},
	    {"pool.share", e->memory.utilization},
	    {"pool.context", e->memory.counter_byte[COUNTER_DEVICE]},
	    {"pool.block", e->memory.block_token},
	    {"scheduler.max_sequences", e->max_sequences},
	    {"scheduler.max_tokens", e->max_tokens},
	};
	bool ok = e->backend != NULL;

	if (!ok)
		diag_error(b->diag, root->at, "an engine needs its 'backend'");
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (!datum_given(needed[i].value)) {
			diag_error(
			    b->diag, root->at, "an engine needs %s, here or in the file it extends", needed[i].key);
			ok = false;
		}
	if (e->core_attention != CORE_NEVER && !datum_given(e->core_element)) {
		diag_error(b->diag, root->at, "kernels.core_attention needs kernels.core_elements");
		ok = false;
	}
	return ok;
}

/* The engine as the memory model knows it: what its file says, and nothing of training. */
static void
set_memory(struct engine *e)
{
	const struct stack read = e->memory;

	e->memory = (struct stack){.id = e->id,
	    .name = e->name,
	    .use = STACK_INFER,
	    .tensor = true,
	    .pipeline = true,
	    .expert = true,
	    .pool = read.pool};
	schema_clear(&stack_schema, &e->memory);
	e->memory.utilization = read.utilization;
	e->memory.counter_byte[COUNTER_DEVICE] = read.counter_byte[COUNTER_DEVICE];
	e->memory.block_token = read.block_token;
	e->memory.batch_token = datum_given(read.batch_token) ? read.batch_token : e->max_tokens;
	e->memory.sampler_rows = read.sampler_rows;
	e->memory.sampler_byte = read.sampler_byte;
	e->memory.decoder_rows = e->max_sequences;
	e->memory.decoder_byte = read.decoder_byte;
}

bool
engine_bind(struct binder *b, const struct node *root, const char *id, struct engine *out)
{
	if (!schema_bind(b, &engine_schema, root, out))
		return false;
	out->id = id;
	set_memory(out);
	return check_given(b, root, out);
}

const struct node *
engine_tree(struct database *db, struct arena *a, struct diag *d, const struct node *root)
{
	/* keys that say what an entry is, not what it does */
	static const char *const own[] = {
	    "name", "aliases", "versions", "residual", "match", "notes", "refused", "warning", NULL};

	return entry_extended(db, a, d, ENTRY_ENGINE, root, own);
}

struct engine *
database_engine(struct database *db, struct arena *a, struct diag *d, const char *name, const struct node *overlay,
    struct source at, const char **announce)
{
	const char *id;
	const struct node *root = database_open(db, ENTRY_ENGINE, name, at, &id, announce);
	struct engine *engine = ARENA_NEW(a, struct engine);

	root = root ? engine_tree(db, a, d, root) : NULL;
	if (!root)
		return NULL;
	root = tree_overlay(a, root, overlay);
	struct binder b = {.arena = a, .diag = d, .sources = tree_get(root, "sources")};
	return engine_bind(&b, root, id, engine) ? engine : NULL;
}
