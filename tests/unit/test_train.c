/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Check vectors of the training step: every term of every case. */
#include "train_world.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

/* --- operators ------------------------------------------------------------------------------------------- */

static const struct {
	enum gpu_id gpu;
	double m, n, k;
	enum dtype type;
	double out, us;
} gemms[] = {
#define GEMM(gpu, m, n, k, type, out, us) {ON_##gpu, m, n, k, DTYPE_##type, out, us},
#include "../vectors/train.inc"
#undef GEMM
};

static const struct {
	enum gpu_id gpu;
	enum collective c;
	double n, local, size, us;
} collectives[] = {
#define COLLECTIVE(gpu, c, n, local, size, us) {ON_##gpu, COLLECTIVE_##c, n, local, size, us},
#include "../vectors/train.inc"
#undef COLLECTIVE
};

static double
off(double got, double want)
{
	return fabs(got - want) / fmax(fabs(want), 1e-30);
}

START_TEST(products)
{
	struct calibration c;
	const struct stack_time stack = framework_of(TUNED);
	const struct train_job job = {.stack = &stack,
	    .machine = {.kernels = &c, .generation = calibration_of(gemms[_i].gpu, &c), .power_frac = 1}};
	const double s = train_gemm(NULL, &job, gemms[_i].m, gemms[_i].n, gemms[_i].k, gemms[_i].type, gemms[_i].out);

	ck_assert_msg(off(s * 1e6, gemms[_i].us) < 1e-3, "%g us, not %g", s * 1e6, gemms[_i].us);
}
END_TEST

START_TEST(collective_times)
{
	static const double nic[N_GPUS] = {[ON_A100] = 25e9, [ON_H100] = 50e9, [ON_GB200] = 50e9};
	struct calibration c;
	const enum gpu_id gpu = collectives[_i].gpu;
	const struct train_machine m = {.kernels = &c,
	    .generation = calibration_of(gpu, &c),
	    .nic_byte_per_s = nic[gpu],
	    .network = network_of(0.85)};
	const double s = train_collective(
	    NULL, &m, collectives[_i].c, collectives[_i].n, collectives[_i].local, collectives[_i].size);

	ck_assert_msg(off(s * 1e6, collectives[_i].us) < 1e-3, "%g us, not %g", s * 1e6, collectives[_i].us);
}
END_TEST

/* --- steps ----------------------------------------------------------------------------------------------- */

enum step_id {
#define STEP(id, ...) STEP_##id,
#include "../vectors/train.inc"
#undef STEP
	N_STEPS,
};

enum { N_TERMS = 22 };
static const char *const term_names[N_TERMS] = {"step", "microbatches", "forward", "backward", "recompute",
    "attention forward", "attention backward", "tp", "cp", "ep", "host", "logits", "stage", "bubble", "p2p", "dp",
    "optimizer", "straggler", "pipeline", "params", "device", "layer"};
static const struct {
	const char *id;
	double term[N_TERMS];
} steps[N_STEPS] = {
#define STEP(id, ...) {#id, {__VA_ARGS__}},
#include "../vectors/train.inc"
#undef STEP
};

/* A row of the table below: what differs from case to case. */
struct question {
	const struct test_shape *shape;
	enum gpu_id gpu;
	double n_gpus, tp, pp, vp, cp, ep;
	int zero;
	bool sp;
	double batch, micro, seq;
	enum dtype dtype;
	enum recompute recompute;
	unsigned modules;
	double n_domain, nic_gbyte, nic_frac, power_watts_frac;
	enum framework framework;
	bool dropout, compiled, adapters, dedup, balanced, no_mtp;
	double pair_gbyte, n_mtp;
};

static const struct question questions[N_STEPS] = {
    [STEP_S1] = {&GPT3, ON_A100, 64, 8, 8, 3, 1, 1, 0, true, 64, 1, 2048, .recompute = RECOMPUTE_MODULES,
        .modules = 1U << MODULE_CORE_ATTN, .framework = MEGATRON_2021, .dropout = true},
    [STEP_S2] = {&GPT3, ON_A100, 64, 8, 8, 3, 1, 1, 0, false, 64, 1, 2048, .recompute = RECOMPUTE_FULL,
        .framework = MEGATRON_2021, .dropout = true},
    [STEP_S3] = {&LLAMA_8B, ON_H100_96, 8, 1, 1, 1, 1, 1, 3, false, 16, 2, 8192, .recompute = RECOMPUTE_OP,
        .power_watts_frac = 5.0 / 7, .framework = FSDP2},
    [STEP_S4] = {&LLAMA_8B, ON_H100_96, 8, 1, 1, 1, 1, 1, 3, false, 16, 2, 8192, .dtype = DTYPE_FP8,
        .recompute = RECOMPUTE_OP, .power_watts_frac = 5.0 / 7, .framework = FSDP2},
    [STEP_S5] = {&LLAMA_405B, ON_H100, 512, 8, 8, 8, 2, 1, 1, true, 1152, 1, 8192, .dtype = DTYPE_FP8,
        .framework = TUNED_GRAPHS},
    [STEP_S6] = {&LLAMA_70B, ON_GB200, 64, 2, 4, 5, 1, 1, 1, true, 256, 1, 8192, .dtype = DTYPE_MXFP8, .n_domain = 72,
        .framework = TUNED},
    [STEP_S7] = {&MPT_7B, ON_A100_40, 8, 1, 1, 1, 1, 1, 3, false, 384, 12, 2048, .recompute = RECOMPUTE_FULL,
        .framework = FOUNDRY},
    [STEP_S10] = {&GPT_4B, ON_V100_SXM3, 4, 4, 1, 1, 1, 1, 0, false, 8, 8, 1024, .recompute = RECOMPUTE_FULL,
        .n_domain = 16, .framework = MEGATRON_2021, .dropout = true},
    [STEP_M1] = {&QWEN3_30B, ON_B200, 8, 1, 1, 1, 1, 8, 1, false, 512, 4, 4096, .dtype = DTYPE_MXFP8,
        .framework = EXPERTS_2026},
    [STEP_M2] = {&QWEN3_30B, ON_B200, 8, 1, 1, 1, 1, 8, 1, false, 512, 1, 4096, .dtype = DTYPE_MXFP8,
        .framework = EXPERTS_2025},
    [STEP_M3] = {&QWEN3_30B, ON_B200, 8, 1, 1, 1, 1, 8, 1, false, 512, 1, 4096, .dtype = DTYPE_FP8,
        .framework = EXPERTS_2025},
    [STEP_M4] = {&QWEN3_30B, ON_GB200, 8, 1, 1, 1, 1, 8, 1, false, 512, 4, 4096, .dtype = DTYPE_MXFP8, .n_domain = 72,
        .framework = EXPERTS_GRAPHS},
    [STEP_M5] = {&DEEPSEEK, ON_B200, 256, 1, 16, 1, 1, 8, 1, false, 4096, 1, 4096, .dtype = DTYPE_MXFP8,
        .recompute = RECOMPUTE_MODULES, .modules = 1U << MODULE_MLA_UP_PROJ, .framework = EXPERTS_2026,
        .balanced = true, .n_mtp = 1},
    [STEP_M6] = {&DEEPSEEK, ON_B200, 256, 1, 8, 2, 1, 32, 1, false, 4096, 1, 4096, .dtype = DTYPE_MXFP8,
        .recompute = RECOMPUTE_MODULES, .modules = 1U << MODULE_MLA_UP_PROJ, .framework = EXPERTS_2026,
        .balanced = true, .dedup = true, .n_mtp = 1},
    [STEP_M7] = {&QWEN3_235B, ON_GB200, 256, 1, 8, 3, 1, 32, 1, false, 8192, 1, 4096, .n_domain = 72,
        .framework = EXPERTS_2025, .balanced = true},
    [STEP_M8] = {&GPT_OSS, ON_H100, 64, 1, 4, 1, 1, 8, 1, false, 1280, 1, 4096, .framework = EXPERTS_EAGER,
        .balanced = true},
    [STEP_M9] = {&DEEPSEEK, ON_H100, 1024, 1, 4, 8, 1, 64, 3, false, 8192, 1, 4096, .recompute = RECOMPUTE_FULL,
        .framework = FSDP2_EXPERTS, .dedup = true},
    [STEP_V1] = {&GPT_1B3, ON_V100, 8, 2, 1, 1, 1, 1, 0, false, 512, 1, 2048, .recompute = RECOMPUTE_FULL,
        .n_domain = 4, .nic_gbyte = 12.5, .nic_frac = 0.55, .framework = MEGATRON_2021, .dropout = true,
        .pair_gbyte = 6.7},
    [STEP_V2] = {&GPT_39B, ON_V100, 64, 4, 8, 1, 1, 1, 1, false, 1024, 4, 1024, .recompute = RECOMPUTE_FULL,
        .n_domain = 4, .nic_gbyte = 12.5, .nic_frac = 0.55, .framework = DEEPSPEED_2021, .dropout = true},
    [STEP_X1] = {&QWEN3_235B, ON_H100, 256, 2, 8, 4, 1, 32, 1, true, 2048, 1, 4096, .dtype = DTYPE_FP8,
        .framework = EXPERTS_2025, .balanced = true},
    [STEP_X2] = {&QWEN3_235B, ON_H100, 256, 2, 8, 4, 1, 32, 1, true, 2048, 1, 4096, .dtype = DTYPE_FP8,
        .framework = EXPERTS_2025, .balanced = true, .dedup = true},
    [STEP_X3] = {&QWEN3_30B, ON_H100, 16, 1, 2, 12, 1, 8, 1, false, 512, 1, 4096, .dtype = DTYPE_FP8,
        .framework = EXPERTS_2025, .balanced = true},
    [STEP_X5] = {&LLAMA_405B, ON_H100_96, 512, 8, 16, 2, 1, 1, 3, true, 128, 1, 8192, .dtype = DTYPE_FP8,
        .recompute = RECOMPUTE_FULL, .power_watts_frac = 5.0 / 7, .framework = FSDP2_ASYNC},
    [STEP_X6] = {&LLAMA2_70B, ON_H200, 512, 1, 1, 1, 8, 1, 1, false, 64, 1, 8192, .dtype = DTYPE_FP8,
        .framework = TUNED, .adapters = true},
    [STEP_X7] = {&GPT_126M, ON_H100, 64, 1, 1, 1, 1, 1, 3, false, 256, 4, 2048, .framework = XLA},
};

static struct train_job
job_of(const struct question *q, struct calibration *c, struct block blocks[MOST_BLOCKS], struct workload *w,
    struct stack_time *stack)
{
	workload_of(q->shape, blocks, w);
	*stack = framework_of(q->framework);
	const int generation = calibration_of(q->gpu, c);
	static const double nic[] = {12.5e9, 25e9, 50e9, 50e9};
	const double power = q->power_watts_frac > 0 ? q->power_watts_frac : 1;

	return (struct train_job){.model = w,
	    .stack = stack,
	    .machine = {.kernels = c,
	        .generation = generation,
	        .n_domain = q->n_domain > 0 ? q->n_domain : 8,
	        .nic_byte_per_s = q->nic_gbyte > 0 ? q->nic_gbyte * 1e9 : nic[generation],
	        .network = network_of(q->nic_frac > 0 ? q->nic_frac : 0.85),
	        .pair_byte_per_s = q->pair_gbyte * 1e9,
	        .power_frac = sqrt(power)},
	    .layout = {.dp = q->n_gpus / (q->tp * q->pp * q->cp),
	        .tp = q->tp,
	        .pp = q->pp,
	        .vp = q->vp,
	        .cp = q->cp,
	        .ep = q->ep,
	        .etp = 1,
	        .zero = q->zero,
	        .sp = q->sp},
	    .n_gpus = q->n_gpus,
	    .n_global_sequences = q->batch,
	    .n_sequences = q->micro,
	    .seq_length = q->seq,
	    .dtype = q->dtype ? q->dtype : DTYPE_BF16,
	    .attention = stack->attention,
	    .dropout = q->dropout,
	    .recompute = q->recompute,
	    .recompute_n = 1,
	    .modules = q->modules,
	    .adapters = q->adapters,
	    .imbalance = 1,
	    .head_frac = 1,
	    .n_mtp = q->n_mtp,
	    .dedup = q->dedup,
	    .balanced_stages = q->balanced,
	    .optimizer_byte = 30};
}

START_TEST(step_terms)
{
	struct calibration c;
	struct block blocks[MOST_BLOCKS];
	struct workload w;
	struct stack_time stack;
	struct train_terms t;
	const struct question *q = &questions[_i];
	const struct train_job job = job_of(q, &c, blocks, &w, &stack);
	int n_off = 0;

	train_step(NULL, &job, &t);
	const double got[N_TERMS] = {t.step_s, t.n_microbatches, t.forward_s, t.backward_s, t.recompute_s,
	    t.attention_forward_s, t.attention_backward_s, t.tp_s, t.cp_s,
	    q->shape->n_experts > 0 ? t.ep_s * w.n_layers.value / (w.n_layers.value - q->shape->n_dense) : 0,
	    t.layer_s - t.device_s, t.logits_s, t.stage_s, t.bubble_s, t.p2p_s, t.dp_s, t.optimizer_s, t.straggler,
	    t.pipeline_s, t.rank_params + t.expert_params, t.device_s, t.layer_s};
	for (int i = 0; i < N_TERMS; i++) {
		const double want = steps[_i].term[i];
		if (want < 0 || (want == 0 && fabs(got[i]) < 1e-12))
			continue;
		if (off(got[i], want) > 1e-3) {
			fprintf(stderr, "%s: %s is %g, not %g (%+.3f %%)\n", steps[_i].id, term_names[i], got[i], want,
			    100 * (got[i] / want - 1));
			n_off++;
		}
	}
	ck_assert_int_eq(n_off, 0);
}
END_TEST

Suite *train_suite(void);

Suite *
train_suite(void)
{
	Suite *s = suite_create("train");
	TCase *t = tcase_create("vectors");

	tcase_add_loop_test(t, products, 0, sizeof gemms / sizeof *gemms);
	tcase_add_loop_test(t, collective_times, 0, sizeof collectives / sizeof *collectives);
	tcase_add_loop_test(t, step_terms, 0, N_STEPS);
	suite_add_tcase(s, t);
	return s;
}
