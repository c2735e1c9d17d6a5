/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read the step time section of a training framework. */
#include "db/parts.h"

#include "model/memory/memory.h"

#define AT(member) offsetof(struct stack, time.member)

static const struct field fields[] = {
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
    FLAG("whole_waves", whole_waves, "GEMMs of cuBLAS 2022 and before: whole tiles in whole waves, no split-K"),
    FLAG("overlaps_tensor", tp_overlap, "tensor-parallel collectives overlap with GEMMs"),
    FLAG("regathers", regathers, "sequence parallelism gathers inputs again in the backward pass"),
    FLAG("overlaps_data", dp_overlap, "gradient and parameter communication overlaps compute"),
    FLAG("reshards_pipeline", reshards_pipeline, "FSDP in a pipeline gathers for every micro-batch"),
    FIGURE("reduce", Q_SIZE, reduce_byte, 0.5, 8, "bytes per gradient in communication"),
    FLAG("gathers_fp8", gathers_fp8, "parameters of per-tensor fp8 GEMMs are gathered in 8 bits"),
    FIGURE("elementwise", Q_NUMBER, elementwise, 0.1, 10, "elementwise traffic over fused traffic"),
    FIGURE("elementwise_compiled", Q_NUMBER, elementwise_compiled, 0.1, 10, "the same when the model is compiled"),
    FLAG("eager_experts", expert_eager, "expert activations with biases and clamps are separate kernels"),
    FLAG("graphs", graphs, "layers use CUDA graphs"),
    FIGURE("host", Q_NUMBER, host_frac, 0, 10, "host time of a dense layer relative to eager mode"),
    FIGURE("step", Q_TIME, step_s, 0, 10, "host time of a step outside its layers"),
    FIGURE("moe_floor", Q_TIME, moe_floor_s, 0, 1, "host time of an expert layer, forward and backward"),
    FIGURE("moe_expert_floor", Q_TIME, moe_expert_floor_s, 0, 1, "... per local expert in block-scaled 8 or 4 bits"),
    FIGURE("moe_sync", Q_TIME, moe_sync_s, 0, 1, "device stall for routed token counts, per layer"),
    FIGURE("moe_expert", Q_TIME, moe_expert_s, 0, 1, "... and per local expert in 8 or 4 bits"),
    CHOICE("overlaps_experts", expert_overlap, "partial|none|full",
        "overlap of the expert all-to-all with compute: as in published runs, none, or complete"),
    CHOICE("dispatcher", dispatcher, "plain|dedup",
        "MoE dispatch to other domains: a token per expert, or once per domain"),
    FIGURE("chunk_layers", Q_COUNT, chunk_layers, 1, 1000, "interleaved stages, layers per chunk"),
    FLAG("packs", packs, "fine-tuning packs short samples into whole sequences"),
    FLAG("stops_early", stops_early, "full recomputation skips the last GEMM of a layer"),
    FLAG("skips_padding", skips_padding, "encoders skip padding of long sequences"),
    FLAG("selects_operators", selects_operators, "selective recomputation by operator instead of core attention"),
    FLAG("local_batch", local_batch, "published batch with pipelines is the local one"),
    FIGURE("release", Q_NUMBER, release, 201001, 210012, "year and month of the release, 202604"),
};
const struct schema stack_time_schema = {"'time'", sizeof(struct stack), fields, sizeof fields / sizeof *fields};

bool
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
