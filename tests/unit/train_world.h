/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models, GPUs and frameworks that the check vectors of the training step were computed with. */
#ifndef RIDGE_TESTS_TRAIN_WORLD_H
#define RIDGE_TESTS_TRAIN_WORLD_H

#include "model/train/train.h"

#include <string.h>

static inline struct datum
number(double value)
{
	return (struct datum){value, {NULL, 0, 0, NULL, false}};
}

/* --- GPUs ------------------------------------------------------------------------------------------------ */

enum gpu_id {
#define GPU(id, ...) ON_##id,
#include "../vectors/train.inc"
#undef GPU
	N_GPUS,
};

enum set { SET_a100, SET_h100, SET_h200, SET_b200 };

static inline void
ramps_of(struct calibration *c, enum set set, double share, double base_us)
{
#define RAMP(id, collective_, a0, an, binf, beta_, c_, v0)                                                             \
	if (SET_##id == set) {                                                                                         \
		c->has_collective[COLLECTIVE_##collective_] = true;                                                    \
		c->collective[COLLECTIVE_##collective_] =                                                              \
		    (struct collective_calibration){.base_s = number((base_us > 0 ? base_us : a0) * 1e-6),             \
		        .per_rank_s = number(an * 1e-6),                                                               \
		        .bus_byte_per_s = number(binf * 1e9 * share),                                                  \
		        .beta = number(beta_),                                                                         \
		        .ramp_s = number(c_ * 1e-6),                                                                   \
		        .ramp_byte = number(v0 * 1e6)};                                                                \
	}
#include "../vectors/train.inc"
#undef RAMP
}

static inline struct gemm_calibration
gemm_of(double peak_tflops, double hbm, double eta_m, double t0, double bsm, double clk, double tpro, double tk64,
    double th, double delta)
{
	return (struct gemm_calibration){.peak_flop_per_s = number(peak_tflops * 1e12),
	    .mem_byte_per_s = number(eta_m * hbm * 1e12),
	    .l2_byte_per_s = number(4 * hbm * 1e12),
	    .base_s = number(t0 * 1e-6),
	    .feed_byte_per_s = number(bsm * clk * 1e9),
	    .tile_s = number(tpro * 1e-6),
	    .k_step_s = number(tk64 / clk * 1e-9),
	    .wave_frac = number(th),
	    .derate = number(delta)};
}

/* A network of which collectives reach this share. */
static inline const struct network_calibration *
network_of(double nic_frac)
{
	static struct network_calibration all[N_COLLECTIVES];

	for (int i = 0; i < N_COLLECTIVES; i++)
		all[i] = (struct network_calibration){
		    .hop_s = number(9.5e-6), .n_fill = number(0), .nic_frac = number(nic_frac)};
	return all;
}

/* Fills `c`; returns the generation. */
static inline int
calibration_of(enum gpu_id gpu, struct calibration *c)
{
	int found = -1;

	memset(c, 0, sizeof *c);
	c->has_gemm = c->has_context = true;
#define GPU(id, sms, clk, bf16, fp8, fp4, hbm, l2, eta_c, eta_m, t0, bsm, tpro, tk64, th, delta, eta_fp8, eta_fp4,     \
    eta_a, tblk, set, share, base, generation)                                                                         \
	if (ON_##id == gpu) {                                                                                          \
		c->ref_n_sms = number(sms);                                                                            \
		c->ref_peak_flop_per_s = number(bf16 * 1e12);                                                          \
		c->ref_mem_byte_per_s = number(hbm * 1e12);                                                            \
		c->ref_l2_byte = number(l2 * 1e6);                                                                     \
		c->ref_clock_hertz = number(clk * 1e9);                                                                \
		c->gemm[DTYPE_BF16] = gemm_of(eta_c * bf16, hbm, eta_m, t0, bsm, clk, tpro, tk64, th, delta);          \
		if (eta_fp8 > 0)                                                                                       \
			c->gemm[DTYPE_FP8] = gemm_of(eta_fp8 * fp8, hbm, eta_m, t0, bsm, clk, tpro, tk64, th, delta);  \
		if (eta_fp4 > 0)                                                                                       \
			c->gemm[DTYPE_NVFP4] =                                                                         \
			    gemm_of(eta_fp4 * fp4, hbm, eta_m, t0, bsm, clk, tpro, tk64, th, delta);                   \
		c->context.flop_per_s = number(eta_a * bf16 * 1e12);                                                   \
		c->context.block_s = number(tblk * 1e-6);                                                              \
		ramps_of(c, SET_##set, share, base);                                                                   \
		found = generation;                                                                                    \
	}
#include "../vectors/train.inc"
#undef GPU
	return found;
}

/* --- models ---------------------------------------------------------------------------------------------- */

enum { MOST_BLOCKS = 2 };

struct test_shape {
	double n_layers, hidden, n_heads, n_kv_heads, head_dim, width, vocab;
	bool gated, untied;
	double n_experts, top_k, expert_width, n_dense, n_shared, window;
	bool mla, sinks;
};

static inline struct attention
attention_of(const struct test_shape *s)
{
	struct attention a = {.kind = s->mla ? ATTENTION_MLA : ATTENTION_HEADS,
	    .n_heads = number(s->n_heads),
	    .n_kv_heads = number(s->n_kv_heads > 0 ? s->n_kv_heads : s->n_heads),
	    .head_dim = number(s->head_dim > 0 ? s->head_dim : s->hidden / s->n_heads),
	    .sinks = s->sinks,
	    .window = datum_absent(),
	    .chunk = datum_absent()};

	if (s->mla) {
		a.q_lora = number(1536);
		a.kv_lora = number(512);
		a.nope = number(128);
		a.rope = number(64);
		a.v_dim = number(128);
	}
	return a;
}

static inline struct block
block_of(const struct test_shape *s, double count, bool moe, double window)
{
	struct block b = {.count = number(count), .attention = attention_of(s), .mixer = MIXER_ATTENTION};

	if (window > 0)
		b.attention.window = number(window);
	if (moe) {
		b.moe.given = true;
		b.moe.n_experts = number(s->n_experts);
		b.moe.top_k = number(s->top_k);
		b.moe.width = number(s->expert_width);
		b.moe.n_shared = number(s->n_shared);
		b.moe.shared_width = number(s->expert_width);
		b.moe.latent = datum_absent();
	} else {
		b.mlp.given = true;
		b.mlp.gated = s->gated;
		b.mlp.width = number(s->width > 0 ? s->width : 4 * s->hidden);
	}
	return b;
}

static inline void
workload_of(const struct test_shape *s, struct block blocks[MOST_BLOCKS], struct workload *w)
{
	int n = 0;

	*w = (struct workload){.kind = MODEL_DECODER,
	    .n_layers = number(s->n_layers),
	    .hidden = number(s->hidden),
	    .norms_per_layer = number(2),
	    .vocab = number(s->vocab),
	    .tied_embeddings = !s->untied,
	    .blocks = blocks};
	if (s->n_dense > 0 || !(s->n_experts > 0))
		blocks[n++] = block_of(s, s->n_experts > 0 ? s->n_dense : s->n_layers, false, 0);
	if (s->n_experts > 0 && s->window > 0) {
		blocks[n++] = block_of(s, s->n_layers / 2, true, s->window);
		blocks[n++] = block_of(s, s->n_layers / 2, true, 0);
	} else if (s->n_experts > 0)
		blocks[n++] = block_of(s, s->n_layers - s->n_dense, true, 0);
	w->n_blocks = n;
}

static const struct test_shape GPT3 = {96, 12288, 96, .vocab = 51200},
                               LLAMA_8B = {32, 4096, 32, 8, 128, 14336, 128256, true, true, .window = 0},
                               LLAMA_70B = {80, 8192, 64, 8, 128, 28672, 128256, true, true, .window = 0},
                               LLAMA2_70B = {80, 8192, 64, 8, 128, 28672, 32000, true, .window = 0},
                               LLAMA_405B = {126, 16384, 128, 8, 128, 53248, 128256, true, true, .window = 0},
                               MPT_7B = {32, 4096, 32, .vocab = 50368}, GPT_4B = {36, 3072, 24, .vocab = 51200},
                               GPT_1B3 = {24, 2048, 16, .vocab = 50257, .untied = true},
                               GPT_39B = {48, 8192, 32, .vocab = 50257}, GPT_126M = {12, 768, 12, .vocab = 50304},
                               QWEN3_30B = {48, 2048, 32, 4, 128, 0, 151936, true, true, 128, 8, 768, .window = 0},
                               QWEN3_235B = {94, 4096, 64, 4, 128, 0, 151936, true, true, 128, 8, 1536, .window = 0},
                               GPT_OSS = {36, 2880, 64, 8, 64, 0, 201088, true, true, 128, 4, 2880, .window = 128,
                                   .sinks = true},
                               DEEPSEEK = {
                                   61, 7168, 128, 128, 0, 18432, 129280, true, true, 256, 8, 2048, 3, 1, .mla = true};

/* --- frameworks ------------------------------------------------------------------------------------------ */

enum framework {
	MEGATRON_2021,  /* scores in memory, nothing overlaps */
	DEEPSPEED_2021, /* the same, whole tensors between stages, ZeRO of that time */
	TUNED,          /* vendors' kernels, everything overlaps */
	TUNED_GRAPHS,
	EXPERTS_2025,
	EXPERTS_2026,
	EXPERTS_GRAPHS, /* releases of one stack */
	EXPERTS_EAGER,
	FSDP2,
	FSDP2_ASYNC, /* tensor parallelism that overlaps */
	FSDP2_EXPERTS,
	FOUNDRY,
	XLA,
};

static inline struct stack_time
framework_of(enum framework f)
{
	const bool old = f == MEGATRON_2021 || f == DEEPSPEED_2021, graphs = f == EXPERTS_GRAPHS;
	const bool eager = f == FOUNDRY, titan = f == FSDP2 || f == FSDP2_ASYNC;
	const bool fsdp = titan || f == FSDP2_EXPERTS;
	struct stack_time s = {.given = true,
	    .sigma = number(old || fsdp ? 1.22
	            : graphs            ? 1
	                                : 1.08),
	    .moe_sigma = datum_absent(),
	    .attention = old ? ATTENTION_UNFUSED
	        : eager      ? ATTENTION_FLASH1
	        : titan      ? ATTENTION_FLASH2
	                     : ATTENTION_TUNED,
	    .tp_overlap = !old && (!fsdp || f == FSDP2_ASYNC),
	    .dp_overlap = !old,
	    .reshards_pipeline = f == FSDP2_EXPERTS,
	    .reduce_byte = number(fsdp ? 4 : 2),
	    .elementwise = number(eager ? 1.8 : 1),
	    .elementwise_compiled = datum_absent(),
	    .elementwise_pure = datum_absent(),
	    .expert_eager = f == EXPERTS_EAGER,
	    .graphs = f == TUNED_GRAPHS,
	    .host_frac = number(f == XLA ? 0.35 : 1),
	    .step_s = number(f == TUNED_GRAPHS ? 1e-3 : 5e-3),
	    .moe_floor_s = number(graphs ? 3.36e-3 : 4.8e-3),
	    .moe_expert_floor_s = number(graphs ? 0 : 0.25e-3),
	    .moe_sync_s = number(graphs ? 0
	            : f == EXPERTS_2025 ? 2.016e-3
	                                : 1.008e-3),
	    .moe_expert_s = number(graphs ? 0 : 0.2e-3)};

	return s;
}

#endif
