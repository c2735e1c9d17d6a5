/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GPUs, engines and models of the serving model's check vectors, with the constants that the vectors were computed
 * with. */
#ifndef RIDGE_TESTS_SERVE_WORLD_H
#define RIDGE_TESTS_SERVE_WORLD_H

#include "model/serve/serve.h"

#include <string.h>

static inline struct datum
num(double value)
{
	return (struct datum){value, {NULL, 0, 0, NULL, false}};
}

/* --- GPUs ------------------------------------------------------------------------------------------------ */

enum vector_gpu { gpu_a100, gpu_h100, gpu_h200, gpu_b200, gpu_l40s, gpu_rtx, gpu_v100, gpu_t4 };

struct gpu_row {
	double sms, clock, p16, p8, hbm, l2, mib;
	double eta16, eta8, eta4, eta_m, t0, bsm, tpro, tk64, th, delta;
};

static const struct gpu_row gpu_rows[] = {
#define GPU(id, ...) [gpu_##id] = {__VA_ARGS__},
#include "../vectors/serve_gpus.inc"
#undef GPU
};

static inline void
fill_attention(struct calibration *c, const struct gpu_row *g, const double *x)
{
	c->has_context = c->has_generation = true;
	c->context = (struct context_calibration){.flop_per_s = num(x[0] * g->p16 * 1e12),
	    .base_s = num(x[1] * 1e-6),
	    .block_s = num(x[2] * 1e-6),
	    .mem_byte_per_s = num(x[3] * g->hbm * 1e12)};
	c->generation = (struct generation_calibration){.mem_byte_per_s = num(x[4] * g->hbm * 1e12),
	    .base_s = num(x[5] * 1e-6),
	    .query_byte_per_s = num(x[6] * g->hbm * 1e12),
	    .split_s = num(x[7] * 1e-6),
	    .item_s = num(x[8] * 1e-6)};
}

static inline void
fill_latent(struct calibration *c, const struct gpu_row *g, const double *x)
{
	c->has_mla_context = c->has_mla_generation = true;
	c->mla_context = (struct context_calibration){.flop_per_s = num(x[0] * g->p16 * 1e12),
	    .base_s = num(x[1] * 1e-6),
	    .block_s = num(x[2] * 1e-6),
	    .mem_byte_per_s = num(x[3] * g->hbm * 1e12)};
	c->mla_generation = (struct generation_calibration){.mem_byte_per_s = num(x[4] * g->hbm * 1e12),
	    .base_s = num(x[5] * 1e-6),
	    .query_byte_per_s = num(x[7] * g->hbm * 1e12),
	    .split_s = num(x[9] * 1e-6),
	    .item_s = num(x[8] * 1e-6),
	    .flop_per_s = num(x[6] * g->p16 * 1e12)};
}

static inline struct collective_calibration
ramp_of(const double *x)
{
	return (struct collective_calibration){.base_s = num(x[0] * 1e-6),
	    .per_rank_s = num(x[1] * 1e-6),
	    .bus_byte_per_s = num(x[2] * 1e9),
	    .beta = num(x[3]),
	    .ramp_s = num(x[4] * 1e-6),
	    .ramp_byte = num(x[5] * 1e6)};
}

static inline struct calibration
gpu_kernels(enum vector_gpu id, const char *backend)
{
	const struct gpu_row *g = &gpu_rows[id];
	struct calibration c = {.has_gemm = true};
	const double mem = g->hbm * 1e12, clock = g->clock * 1e9;

	c.ref_n_sms = num(g->sms);
	c.ref_clock_hertz = num(clock);
	c.ref_mem_byte_per_s = num(mem);
	c.ref_peak_flop_per_s = num(g->p16 * 1e12);
	c.ref_l2_byte = num(g->l2 * 1e6);
	c.gemm[DTYPE_BF16] = (struct gemm_calibration){
	    .peak_flop_per_s = num(g->eta16 * g->p16 * 1e12),
	    .mem_byte_per_s = num(g->eta_m * mem),
	    .l2_byte_per_s = num(4 * mem),
	    .base_s = num(g->t0 * 1e-6),
	    .feed_byte_per_s = num(g->bsm * clock),
	    .tile_s = num(g->tpro * 1e-6),
	    .k_step_s = num(g->tk64 / clock),
	    .wave_frac = num(g->th),
	    .derate = num(g->delta),
	};
	c.gemm[DTYPE_FP8].peak_flop_per_s = num(g->eta8 * g->p8 * 1e12);
	c.gemm[DTYPE_FP8_BLOCK].peak_flop_per_s = num((id == gpu_b200 ? .745 : .587) * g->p8 * 1e12);
	/* 8-bit integers: eta_c of TensorRT-LLM's on A100, that of fp8 on L40S */
	c.gemm[DTYPE_INT8].peak_flop_per_s = num(id == gpu_a100 ? .8451 * 2 * g->p16 * 1e12 : g->eta8 * g->p8 * 1e12);
	c.gemm[DTYPE_NVFP4].peak_flop_per_s = num(g->eta4 * 2 * g->p8 * 1e12);
#define ATTENTION(gpu, be, ...)                                                                                        \
	if (id == gpu_##gpu && strcmp(backend, #be) == 0)                                                              \
		fill_attention(&c, g, (const double[]){__VA_ARGS__});
#define LATENT(gpu, ...)                                                                                               \
	if (id == gpu_##gpu)                                                                                           \
		fill_latent(&c, g, (const double[]){__VA_ARGS__});
#define COLLECTIVE_FIT(gpu, which, ...)                                                                                \
	if (id == gpu_##gpu)                                                                                           \
		c.collective[COLLECTIVE_##which] = ramp_of((const double[]){__VA_ARGS__});
#define CUSTOM(gpu, a1, an1, b1, a2, an2, b2)                                                                          \
	if (id == gpu_##gpu) {                                                                                         \
		c.n_custom = 1;                                                                                        \
		c.custom[0] = (struct custom_calibration){num((a1)*1e-6), num((an1)*1e-6), num((b1)*1e9),              \
		    num((a2)*1e-6), num((an2)*1e-6), num((b2)*1e9), num(NAN), num(NAN), num(NAN), ""};                 \
	}
#include "../vectors/serve_gpus.inc"
#undef ATTENTION
#undef LATENT
#undef COLLECTIVE_FIT
#undef CUSTOM
	return c;
}

/* --- engines --------------------------------------------------------------------------------------------- */

/* TensorRT-LLM 0.17; the others differ from it. */
static inline struct engine
engine_base(void)
{
	struct engine e = {.id = "trtllm-0.17", .backend = "trtllm"};

	e.host_s = num(0.0017459376721704624);
	e.prefill_s = num(0.0032705647641591315);
	e.sequence_s = num(5.636363544257399e-07);
	e.first_s = datum_absent();
	e.gpu_factor = num(1);
	e.comm_factor = num(1.5400560075492762);
	e.elementwise_s = num(2e-6);
	e.elementwise_frac = e.gemm_base = e.attention_base = e.quantise_s = e.quantise_frac = e.launch_s =
	    e.n_layer_launches = e.cap16_byte = e.cap8_byte = e.cap4_byte = e.core_element = e.graph_rows = e.router_s =
	        e.walk_s = e.expert_spread_frac = datum_absent();
	e.sampling_s = num(20e-6);
	e.sampling_link_s = num(5e-6);
	e.weight_only_frac = num(.9);
	e.gddr_frac = num(.9);
	e.link_wait_s = e.pcie_wait = e.pcie_pair_s = datum_absent();
	e.pcie_s = num(25e-6);
	e.pcie_rank_frac = num(.15);
	e.pcie_contention_frac = num(.0283);
	e.pcie_frac = num(1.1117996448596756);
	e.pcie_gather_frac = num(.703);
	e.memory = (struct stack){.use = STACK_INFER,
	    .pool = POOL_FREE,
	    .utilization = num(.95),
	    .block_token = num(64),
	    .batch_token = num(0), /* the reference has activations in its reserve */
	    .sampler_rows = datum_absent(),
	    .sampler_byte = datum_absent(),
	    .n_kv_copies = datum_absent(),
	    .safety = datum_absent()};
	e.memory.counter_byte[COUNTER_DEVICE] = num(1.5e9);
	e.max_sequences = num(2048);
	e.max_tokens = num(8192);
	return e;
}

static inline struct engine_architecture
architecture_none(void)
{
	struct engine_architecture a = {.architecture = ""};

	a.fp8_attention = a.kv_reuse_frac = a.imbalance = a.moe_time = a.moe_peak_frac = a.moe_feed_byte_per_s =
	    a.fp4_frac = a.base_factor = a.base8_factor = a.host_factor = a.watt_flop = a.tf32_frac = a.fp32_frac =
	        a.wide_frac = a.core_element = a.router_s = a.block8_frac = a.latent_prompt = datum_absent();
	return a;
}

static inline struct engine_architecture
hopper(void)
{
	struct engine_architecture a = architecture_none();

	a.fp8_attention = num(1.5);
	a.imbalance = num(2.28);
	a.moe_peak_frac = num(.85);
	a.moe_feed_byte_per_s = num(217e9);
	return a;
}

static inline struct engine_architecture
blackwell(void)
{
	struct engine_architecture a = hopper();

	a.fp8_attention = num(1);
	a.imbalance = num(2.12);
	a.imbalance_is_tokens = true;
	a.moe_time = num(1.51);
	return a;
}

/* --- models ---------------------------------------------------------------------------------------------- */

struct model {
	struct workload w;
	struct block blocks[2];
};

struct test_shape {
	double layers, hidden, heads, kv_heads, head_dim, width, vocab;
	bool plain, parallel, tied;
	double experts, top_k, expert_width, shared_width;
};

static inline struct block
block_of(const struct test_shape *s)
{
	struct block b = {.count = num(s->layers), .mixer = MIXER_ATTENTION};
	struct attention *a = &b.attention;

	a->n_heads = num(s->heads);
	a->n_kv_heads = num(s->kv_heads);
	a->head_dim = num(s->head_dim);
	a->q_lora = a->kv_lora = a->nope = a->rope = a->v_dim = a->window = a->chunk = datum_absent();
	b.mlp = (struct mlp){.given = s->width > 0, .gated = !s->plain, .width = num(s->width)};
	b.moe = (struct moe){.given = s->experts > 0,
	    .n_experts = num(s->experts),
	    .top_k = num(s->top_k),
	    .width = num(s->expert_width),
	    .n_shared = num(s->shared_width > 0),
	    .shared_width = num(s->shared_width),
	    .latent = datum_absent()};
	return b;
}

/* `m` must stay where it is. */
static inline void
model_of(struct model *m, const struct test_shape *s)
{
	*m = (struct model){.w = {.kind = MODEL_DECODER, .head = true, .parallel = s->parallel, .n_blocks = 1}};
	m->w.n_layers = num(s->layers);
	m->w.hidden = num(s->hidden);
	m->w.norms_per_layer = num(s->parallel ? 1 : 2);
	m->w.vocab = num(s->vocab);
	m->w.tied_embeddings = s->tied;
	m->blocks[0] = block_of(s);
	m->w.blocks = m->blocks;
}

static const struct test_shape llama31_8b = {32, 4096, 32, 8, 128, 14336, 128256, .plain = false};
static const struct test_shape llama2_7b = {32, 4096, 32, 32, 128, 11008, 32000, .plain = false};
static const struct test_shape llama31_70b = {80, 8192, 64, 8, 128, 28672, 128256, .plain = false};
static const struct test_shape llama2_70b = {80, 8192, 64, 8, 128, 28672, 32000, .plain = false};
static const struct test_shape gpt_20b = {44, 6144, 48, 48, 128, 24576, 51200, .plain = true};
static const struct test_shape falcon_180b = {80, 14848, 232, 8, 64, 59392, 65024, .plain = true, .parallel = true};
static const struct test_shape mixtral_8x7b = {
    32, 4096, 32, 8, 128, 0, 32000, .experts = 8, .top_k = 2, .expert_width = 14336};
static const struct test_shape qwen3_235b = {
    94, 4096, 64, 4, 128, 0, 151936, .experts = 128, .top_k = 8, .expert_width = 1536};
static const struct test_shape qwen3_30b = {
    48, 2048, 32, 4, 128, 0, 151936, .experts = 128, .top_k = 8, .expert_width = 768};

/* --- precisions ------------------------------------------------------------------------------------------ */

static inline struct serve_precision
precision(enum dtype t, double a_byte, double w_byte, double kv_byte)
{
	const struct serve_format f = {.type = t, .a_byte = a_byte, .w_byte = w_byte};
	const struct serve_format wide = {.type = DTYPE_BF16, .a_byte = 2, .w_byte = 2};

	return (struct serve_precision){.attention = f,
	    .mlp = f,
	    .experts = f,
	    .head = wide,
	    .kv_byte = kv_byte,
	    .fast_prompts = kv_byte <= 1 && a_byte <= 1};
}

/* --- together -------------------------------------------------------------------------------------------- */

/* Everything that a setup points to, in one place that must not move. */
struct scene {
	struct model model;
	struct engine engine;
	struct engine_architecture architecture;
	struct calibration fitted, kernels;
	struct serve_setup setup;
};

/* Engine and architecture have been set. */
static inline void
scene_set(struct scene *x, enum vector_gpu gpu, const struct test_shape *shape, struct serve_precision p,
    struct serve_layout layout)
{
	const bool linked = gpu != gpu_l40s && gpu != gpu_rtx;

	model_of(&x->model, shape);
	x->fitted = gpu_kernels(gpu, x->engine.backend);
	x->setup = (struct serve_setup){.model = &x->model.w,
	    .engine = &x->engine,
	    .architecture = &x->architecture,
	    .kernels = &x->kernels,
	    .precision = p,
	    .layout = layout,
	    .links = {linked, num(450e9), num(gpu == gpu_rtx ? 50e9 : 25e9)},
	    .mem_byte = num(gpu_rows[gpu].mib * 1048576)};
	x->setup.core_attention = serve_core_attention(&x->model.w, &x->engine, NULL, p.kv_byte);
	serve_kernels(&x->kernels, &x->setup, NULL, &x->fitted, NULL);
}

/* One GPU; tp GPUs; tp GPUs with an expert share and sequences of its own each. */
static const struct serve_layout alone = {1, 1, 1, false};
#define TENSOR(n) ((struct serve_layout){n, 1, 1, false})
#define EXPERTS(n) ((struct serve_layout){n, 1, n, true})

/* DeepSeek-V3: latent attention, three dense layers in front of 58 with experts. */
static inline void
scene_deepseek(struct scene *x, enum vector_gpu gpu, struct serve_precision p, struct serve_layout layout)
{
	static const struct test_shape experts = {
	    58, 7168, 128, 128, 192, 0, 129280, .experts = 256, .top_k = 8, .expert_width = 2048, .shared_width = 2048};
	static const struct test_shape dense = {3, 7168, 128, 128, 192, 18432, 129280, .plain = false};

	scene_set(x, gpu, &experts, p, layout);
	x->model.blocks[1] = block_of(&dense);
	x->model.w.n_blocks = 2;
	x->model.w.n_layers = num(61);
	for (int i = 0; i < 2; i++) {
		struct attention *a = &x->model.blocks[i].attention;
		a->kind = ATTENTION_MLA;
		a->q_lora = num(1536);
		a->kv_lora = num(512);
		a->nope = num(128);
		a->rope = num(64);
		a->v_dim = num(128);
	}
}

/* Llama 4 Maverick: every other layer has experts. */
static inline void
scene_maverick(struct scene *x, enum vector_gpu gpu, struct serve_precision p, struct serve_layout layout)
{
	static const struct test_shape dense = {24, 5120, 40, 8, 128, 16384, 202048, .plain = false};
	static const struct test_shape experts = {
	    24, 5120, 40, 8, 128, 0, 202048, .experts = 128, .top_k = 1, .expert_width = 8192, .shared_width = 8192};

	scene_set(x, gpu, &dense, p, layout);
	x->model.blocks[1] = block_of(&experts);
	x->model.w.n_blocks = 2;
	x->model.w.n_layers = num(48);
	x->model.blocks[0].attention.chunk = x->model.blocks[1].attention.chunk = num(8192);
	x->setup.core_attention = serve_core_attention(&x->model.w, &x->engine, NULL, p.kv_byte);
}

/* --- families of engines --------------------------------------------------------------------------------- */

static inline struct engine
engine_pytorch(void)
{
	struct engine e = engine_base();

	e.host_s = num(.0014);
	e.sequence_s = num(1.21e-6);
	e.comm_factor = num(1.17);
	e.prefill_s = num(.0033);
	e.quantise_s = num(2e-6);
	e.quantise_frac = num(.5);
	e.memory.utilization = num(.9);
	return e;
}

/* TensorRT-LLM up to 0.9. */
static inline struct engine
engine_static(void)
{
	struct engine e = engine_base();

	e.host_s = e.sequence_s = e.prefill_s = num(0);
	e.core_attention = CORE_UNEVEN;
	e.core_element = num(13);
	return e;
}

/* FasterTransformer, decoders. */
static inline struct engine
engine_ft(void)
{
	struct engine e = engine_base();

	e.reduce = REDUCE_NCCL;
	e.gpu_factor = num(1.0463099972888503);
	e.comm_factor = num(1.9197375431712866);
	e.host_s = num(0.0011960397255707798);
	e.prefill_s = e.sequence_s = num(0);
	return e;
}

static inline struct engine
engine_qserve(void)
{
	struct engine e = engine_base();

	e.host_s = num(0.0003846098863564868);
	e.prefill_s = e.sequence_s = num(0);
	e.core_attention = CORE_INT4;
	e.core_element = num(10);
	return e;
}

static inline struct serve_precision
fp8(void)
{
	return precision(DTYPE_FP8, 1, 1, 1);
}

static inline struct serve_precision
bf16(void)
{
	return precision(DTYPE_BF16, 2, 2, 2);
}

#endif
