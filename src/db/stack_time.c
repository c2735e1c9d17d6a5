/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a framework's training step costs in time, as its file says it. */
#include "db/parts.h"

#include "model/memory/memory.h"

#define AT(member) offsetof(struct stack, time.member)

static const struct field fields[] = {
    FIGURE("sigma", Q_NUMBER, sigma, 0.2, 10, "time of the layers' kernels over what calibration says"),
    FIGURE("moe_sigma", Q_NUMBER, moe_sigma, 0.2, 10, "the same for mixtures of experts; default: sigma"),
    FIGURE("spread", Q_NUMBER, spread, 0, 2, "standard deviation of ln(measured / predicted) over published runs"),
    FIGURE("runs", Q_COUNT, n_runs, 1, 1e6, "how many runs that were"),
    FLAG("listed", listed, "its constants were set on published runs"),
    CHOICE("attention", attention, "unfused|flash1|flash2|tuned",
        "scores in memory, FlashAttention 1 in Triton, FlashAttention 2, or the vendor's kernel"),
    FLAG("overlaps_tensor", tp_overlap, "tensor-parallel collectives overlap with products"),
    FLAG("overlaps_data", dp_overlap, "gradients and parameters travel beside computation"),
    FLAG("legacy_zero", legacy_zero, "ZeRO as DeepSpeed had it in 2020: nothing hidden, stage 3 over one rail"),
    FLAG("reshards_pipeline", reshards_pipeline, "full sharding in a pipeline gathers for every micro-batch"),
    FIGURE("reduce", Q_SIZE, reduce_byte, 0.5, 8, "bytes of a gradient on the wire"),
    FIGURE("elementwise", Q_NUMBER, elementwise, 0.1, 10, "traffic of element-wise kernels over that of fused ones"),
    FIGURE("elementwise_compiled", Q_NUMBER, elementwise_compiled, 0.1, 10, "the same when the model is compiled"),
    FIGURE("logit", Q_SIZE, logit_byte, 1, 200, "traffic of the loss per logit"),
    FIGURE("logit_compiled", Q_SIZE, logit_byte_compiled, 1, 200, "the same when the loss is compiled"),
    FLAG("eager_experts", expert_eager, "activations of experts with biases and clamps are separate kernels"),
    FLAG("graphs", graphs, "layers run from CUDA graphs"),
    FIGURE("host", Q_NUMBER, host_frac, 0, 10, "host time of a dense layer over that of an eager framework"),
    FIGURE("step", Q_TIME, step_s, 0, 10, "of a step outside its layers: input, norms, reading the loss"),
    FIGURE("moe_floor", Q_TIME, moe_floor_s, 0, 1, "host time of an expert layer, forward and backward"),
    FIGURE("moe_expert_floor", Q_TIME, moe_expert_floor_s, 0, 1, "... per local expert in block-scaled 8 or 4 bits"),
    FIGURE("moe_sync", Q_TIME, moe_sync_s, 0, 1, "wait of the device for the counts of routed rows, per layer"),
    FIGURE("moe_expert", Q_TIME, moe_expert_s, 0, 1, "... and per local expert in 8 or 4 bits"),
    CHOICE("dispatcher", dispatcher, "plain|dedup|by-model",
        "rows go to other domains once per expert, once per domain, or as the model's recipe has it"),
    FIGURE("p2p_exposed", Q_NUMBER, p2p_exposed, 0, 1, "share of the traffic between stages that is waited for"),
    FLAG("full_p2p", full_p2p, "whole tensors go between stages, not a slice per tensor-parallel rank"),
    FIGURE("chunk_layers", Q_COUNT, chunk_layers, 1, 1000, "stages are interleaved, in chunks of so many layers"),
    FLAG("packs", packs, "tuning packs short samples into whole sequences"),
    FLAG("stops_early", stops_early, "full recomputation ends before a layer's last product: nothing needs its output"),
    FLAG("skips_padding", skips_padding, "encoders leave out the padding of long sequences, which may be half"),
    FLAG("selects_operators", selects_operators, "selective recomputation is by operator, not of attention's core"),
    FLAG("local_batch", local_batch, "with pipelines the batch that people name is the local one"),
    {.key = "except",
        .kind = FIELD_TEXT,
        .offset = AT(except),
        .help = "models whose recipes are those of another stack"},
    {.key = "instead", .kind = FIELD_TEXT, .offset = AT(instead), .help = "... this one"},
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
	    {"logit", t->logit_byte}, {"host", t->host_frac}, {"step", t->step_s}, {"p2p_exposed", t->p2p_exposed}};

	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (!datum_given(needed[i].d)) {
			diag_error(b->diag, map->at, "'time' needs '%s'", needed[i].key);
			diag_hint(b->diag, "'extends: megatron-core' takes what the file leaves out from there");
			return false;
		}
	return true;
}
