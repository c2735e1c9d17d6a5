/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole budgets: Megatron-Core, torchtitan, torchtune, LitGPT and those of papers. */
#include "model/memory/memory.h"

#include <check.h>
#include <math.h>

#include "memory_scene.h"

/* --- whole budgets of Megatron-Core ---------------------------------------------------------------------- */

static const struct {
	const char *what;
	const struct test_shape *shape;
	double seq, dp, tp, pp, vp, cp, ep;
	enum recompute recompute;
	unsigned modules;
	int loss, stage;     /* stage -1: the largest */
	double states, peak; /* GiB, as computed by hand */
} budgets[] = {
    {"Llama-3-8B", &llama3_8b, 8192, 8, 1, 1, 1, 1, 1, RECOMPUTE_NONE, 0, 0, -1, 56.091, 100.503},
    {"Llama-3-8B, unfused loss", &llama3_8b, 8192, 8, 1, 1, 1, 1, 1, RECOMPUTE_NONE, 0, 1, -1, 56.091, 96.589},
    {"Llama-3-8B, 2 ranks", &llama3_8b, 8192, 4, 2, 1, 1, 1, 1, RECOMPUTE_NONE, 0, 0, -1, 33.656, 55.955},
    {"Llama-3-8B, full", &llama3_8b, 8192, 8, 1, 1, 1, 1, 1, RECOMPUTE_FULL, 0, 0, -1, 56.091, 69.533},
    {"Llama-3-70B", &llama3_70b, 8192, 2, 8, 4, 1, 1, 1, RECOMPUTE_NONE, 0, 0, -1, 25.378, 46.870},
    {"Llama-3-70B, interleaved", &llama3_70b, 8192, 2, 8, 4, 5, 1, 1, RECOMPUTE_NONE, 0, 0, -1, 25.378, 50.014},
    {"Qwen3-30B", &qwen3_30b, 4096, 8, 1, 1, 1, 1, 8, RECOMPUTE_NONE, 0, 0, -1, 71.514, 98.771},
    {"DeepSeek-V3", &deepseek_v3, 4096, 64, 1, 16, 1, 1, 64, RECOMPUTE_NONE, 0, 0, 1, 17.183, 124.045},
    {"DeepSeek-V3, up-projections again", &deepseek_v3, 4096, 64, 1, 16, 1, 1, 64, RECOMPUTE_MODULES, BIT(MLA_UP_PROJ),
        0, 1, 17.183, 93.623},
    {"DeepSeek-V3, more again", &deepseek_v3, 4096, 64, 1, 16, 1, 1, 64, RECOMPUTE_MODULES,
        BIT(MLA_UP_PROJ) | BIT(MOE_ACT) | BIT(LAYERNORM), 0, 1, 17.183, 79.795},
    {"DeepSeek-V3, full", &deepseek_v3, 4096, 64, 1, 16, 1, 1, 64, RECOMPUTE_FULL, 0, 0, 1, 17.183, 24.036},
    {"Llama-3-8B, long", &llama3_8b, 131072, 1, 1, 1, 1, 8, 1, RECOMPUTE_NONE, 0, 0, -1, 56.091, 148.446},
};

START_TEST(megatron_budgets)
{
	const struct stack stack = megatron_core();
	struct memory_use use;
	struct model m;

	make_model(&m, budgets[_i].shape);
	struct memory_job job = job_of(&m, &stack, 1, budgets[_i].seq);
	job.layout = (struct layout){.dp = budgets[_i].dp,
	    .tp = budgets[_i].tp,
	    .pp = budgets[_i].pp,
	    .vp = budgets[_i].vp,
	    .cp = budgets[_i].cp,
	    .ep = budgets[_i].ep,
	    .etp = 1,
	    .zero = 1,
	    .sp = budgets[_i].tp > 1};
	job.layout.shard = job.layout.dp * job.layout.cp;
	job.recompute = budgets[_i].recompute;
	job.modules = budgets[_i].modules;
	job.loss = &losses[budgets[_i].loss];
	if (budgets[_i].stage < 0)
		memory_peak(NULL, &job, &use);
	else
		memory_stage_peak(&job, budgets[_i].stage, &use);
	ck_assert_msg(fabs((use.weights + use.gradients + use.optimizer) / GIB - budgets[_i].states) < 0.00051,
	    "%s: states %.5f", budgets[_i].what, (use.weights + use.gradients + use.optimizer) / GIB);
	ck_assert_msg(
	    fabs(use.total / GIB - budgets[_i].peak) < 0.00051, "%s: peak %.5f", budgets[_i].what, use.total / GIB);
}
END_TEST

/* In the first backward layer on top of the saved set, bytes per token: the buffers of that moment without workspaces;
 * and numbers in a weight of every shape, by hand. */
static const struct {
	const struct test_shape *shape;
	double cp, per_token, n_shapes;
} transients[] = {
    {&llama3_8b, 1, 73728, 6144.0 * 4096 + 4096 * 4096 + 28672 * 4096 + 4096 * 14336},
    {&qwen3_30b, 1, 73728, 5120.0 * 2048 + 2048 * 4096 + 1536 * 2048 + 2048 * 768},
    /* the shared expert has the shape of a routed one */
    {&deepseek_v3, 1, 258048,
        7168.0 * (1536 + 576 + 2 * 18432 + 18432 + 2 * 2048 + 2048 + 128 * 128) + 1536 * 24576 + 512 * 32768},
};

START_TEST(megatron_transients)
{
	struct stack stack = megatron_core();
	struct memory_use use;
	struct model m;

	stack.workspace_byte = stack.expert_workspace_byte = number(0);
	make_model(&m, transients[_i].shape);
	struct memory_job job = job_of(&m, &stack, 1, 4096);
	job.layout.cp = transients[_i].cp;
	memory_at(NULL, &job, 0, MOMENT_BACKWARD, &use);
	ck_assert_double_eq(use.buffers, transients[_i].per_token * 4096 + 2 * transients[_i].n_shapes);
}
END_TEST

/* A ring of 8 on Llama-3-8B: the attention's forward needs 12 284 bytes beyond the MLP that was freed, less than the
 * MLP's own transient; with a thin MLP it is what remains. */
START_TEST(ring_transient)
{
	struct stack stack = megatron_core();
	struct memory_use use;
	struct model m;

	stack.workspace_byte = number(0);
	make_model(&m, &llama3_8b);
	m.blocks[0].mlp.width = number(128);
	struct memory_job job = job_of(&m, &stack, 1, 8 * 4096);
	job.layout.cp = 8;
	memory_at(NULL, &job, 0, MOMENT_BACKWARD, &use);
	const double freed = 2 * 4096 + 4 + 2 * 4096 + 6 * 128;
	const double dummies = 2 * (6144.0 * 4096 + 4096 * 4096 + 2 * 128 * 4096 + 4096 * 128);
	ck_assert_double_eq(use.buffers, (8 * (4 * 1024 + 2 * 4096) + 4 * 4096 - freed) * 4096 + dummies);
}
END_TEST

/* Transformer Engine keeps no input of a frozen weight that has no adapter, and no gradient of its shape; where
 * MLPerf's runs compute attention in fp8, its tensors are kept so. */
START_TEST(frozen_megatron)
{
	struct stack stack = megatron_core();
	struct memory_use use;
	struct model m;

	stack.adapter_byte = number(2);
	stack.workspace_byte = number(0);
	make_model(&m, &llama3_8b);
	struct memory_job job = job_of(&m, &stack, 1, 4096);
	job.lora_rank = number(8);
	job.targets = 1u << TARGET_Q | 1u << TARGET_V;
	const double inputs = 2 * 4096 + 2 * 14336, adapters = 2 * 2 * 8;
	ck_assert_double_eq(memory_layer_saved(NULL, &job, &m.blocks[0]), 139400 - inputs + adapters);
	memory_at(NULL, &job, 0, MOMENT_BACKWARD, &use);
	ck_assert_double_eq(use.buffers, transients[0].per_token * 4096);
	job.dtype = DTYPE_FP8;
	/* the output map has no adapter: its 8-bit input is not kept either */
	const double narrow = 120968 - (4096 + 14336) - 4096 + adapters;
	ck_assert_double_eq(memory_layer_saved(NULL, &job, &m.blocks[0]), narrow);
	stack.fp8_frozen = true;
	ck_assert_double_eq(memory_layer_saved(NULL, &job, &m.blocks[0]), narrow - (2 * 4096 + 2 * 1024));
}
END_TEST

/* Bytes of one weight under quantised training: 16-bit parameters and their copies, or the copies alone. */
static const struct {
	enum dtype dtype;
	double copies;
	bool primary;
	double expect;
} elements[] = {
    {DTYPE_BF16, 2, false, 2},
    {DTYPE_FP8, 2, false, 4},
    {DTYPE_FP8, 1, false, 3},
    {DTYPE_MXFP8, 2, false, 4.0625},
    {DTYPE_NVFP4, 2, false, 3.125},
    {DTYPE_FP8, 2, true, 2},
    {DTYPE_FP8, 1, true, 1},
    {DTYPE_MXFP8, 2, true, 2.0625},
    {DTYPE_FP32, 2, false, 4},
};

START_TEST(quantised_weights)
{
	const struct stack stack = megatron_core();
	struct memory_use use;
	struct model m;

	make_model(&m, &llama3_8b);
	m.workload.vocab = number(0);
	m.workload.norms_per_layer = number(0);
	m.workload.final_norm = false;
	struct memory_job job = job_of(&m, &stack, 1, 4096);
	job.dtype = elements[_i].dtype;
	job.weight_copies = elements[_i].copies;
	job.quantised_parameters = elements[_i].primary;
	memory_at(NULL, &job, 0, MOMENT_BACKWARD, &use);
	ck_assert_double_eq(use.weights, elements[_i].expect * 32 * (218112000.0 - 2 * 4096));
}
END_TEST

/* Bytes of one parameter's optimizer state: Adam's own, and behind a precision-aware optimizer. */
static const struct {
	enum dtype dtype, moments;
	bool aware;
	double expect;
} states[] = {
    {DTYPE_BF16, DTYPE_FP32, false, 4 + 2 * 4},
    {DTYPE_BF16, DTYPE_BF16, true, 2 + 2 * 2},
    {DTYPE_BF16, DTYPE_FP16, true, 2 + 2 * 2},
    {DTYPE_MXFP8, DTYPE_BF16, true, 4 + 2 * 2},
    {DTYPE_FP16, DTYPE_FP16, true, 4 + 2 * 2},
};

START_TEST(narrow_moments)
{
	const struct stack stack = megatron_core();
	struct memory_use use;
	struct model m;

	make_model(&m, &llama3_8b);
	struct memory_job job = job_of(&m, &stack, 1, 4096);
	memory_at(NULL, &job, 0, MOMENT_BACKWARD, &use);
	const double params = use.optimizer / 12;
	job.dtype = states[_i].dtype;
	job.precision_aware = states[_i].aware;
	job.moment_dtype = states[_i].moments;
	memory_at(NULL, &job, 0, MOMENT_BACKWARD, &use);
	ck_assert_double_eq(use.optimizer, states[_i].expect * params);
}
END_TEST

/* --- published budgets of other frameworks --------------------------------------------------------------- */

/* torchtitan, Llama-3-8B on 8 H100 (benchmarks/llama3_h100_202412_torchtitan.md): 77.0 GiB compiled, 82.4 eager
 * measured. */
static const struct {
	double dp, batch;
	enum recompute recompute;
	bool compiled;
	double expect;
} titan[] = {
    {8, 2, RECOMPUTE_OP, true, 75.71},
    {8, 2, RECOMPUTE_OP, false, 80.91},
    {128, 2, RECOMPUTE_OP, true, 61.69},
    {128, 2, RECOMPUTE_OP, false, 66.89},
    {8, 4, RECOMPUTE_FULL, true, 80.05},
};

START_TEST(torchtitan)
{
	struct stack stack = plain_stack();
	struct model m;

	stack.scheme = STATES_FP32;
	stack.gradients = HELD_ALWAYS;
	stack.expanded_kv = true;
	stack.eager_policy_byte = number(2.6);
	make_model(&m, &llama3_8b);
	struct memory_job job = job_of(&m, &stack, titan[_i].batch, 8192);
	job.layout.dp = job.layout.shard = titan[_i].dp;
	job.layout.zero = 3;
	job.recompute = titan[_i].recompute;
	job.compiled = titan[_i].compiled;
	job.loss = &losses[2];
	job.context_byte = number(0.5 * GIB);
	ck_assert_double_eq_tol(memory_peak(NULL, &job, NULL) / GIB, titan[_i].expect, 0.0051);
}
END_TEST

/* torchtune's ladder on Llama-3.2-3B, peak active: 60.0, 51.0, 42.9 and 24.9 GiB measured. */
static const struct {
	bool compiled;
	int loss;
	enum recompute recompute;
	double a, b, c;
} tune[] = {
    {false, 2, RECOMPUTE_NONE, 59.672, 46.098, 23.984},
    {true, 3, RECOMPUTE_NONE, 48.551, 40.848, 23.984},
    {true, 4, RECOMPUTE_NONE, 42.680, 40.848, 23.984},
    {true, 4, RECOMPUTE_FULL, 21.222, 20.322, 23.984},
};

START_TEST(torchtune)
{
	struct stack stack = plain_stack();
	struct model m;

	stack.scheme = STATES_PURE;
	stack.gradients = HELD_ACCUMULATING;
	stack.eager_norm = true;
	make_model(&m, &llama32_3b);
	struct memory_job job = job_of(&m, &stack, 2, 4096);
	job.compiled = tune[_i].compiled;
	job.loss = &losses[tune[_i].loss];
	job.recompute = tune[_i].recompute;
	ck_assert_double_eq_tol(memory_at(NULL, &job, 0, MOMENT_LOSS, NULL) / GIB, tune[_i].a, 0.00051);
	ck_assert_double_eq_tol(memory_at(NULL, &job, 0, MOMENT_BACKWARD, NULL) / GIB, tune[_i].b, 0.00051);
	ck_assert_double_eq_tol(memory_at(NULL, &job, 0, MOMENT_STEP, NULL) / GIB, tune[_i].c, 0.00051);
}
END_TEST

/* LitGPT, Llama-2-7B, LoRA of rank 8 on queries and values, 1304 tokens: 14.14, 13.84 and 21.30 GB measured. */
static const struct {
	enum quant quant;
	double expect_gb, tolerance;
} lora[] = {{QUANT_NF4, 14.04, 0.006}, {QUANT_NF4_DQ, 13.73, 0.006}, {QUANT_NONE, 21.82, 0.006}};

START_TEST(litgpt)
{
	const struct stack stack = litgpt_2023();
	struct memory_use use;
	struct model m;

	make_model(&m, &llama2_7b);
	struct memory_job job = job_of(&m, &stack, 1, 1304);
	job.lora_rank = number(8);
	job.targets = 1u << TARGET_Q | 1u << TARGET_V;
	job.adapter_dropout = true;
	job.quant = lora[_i].quant;
	const struct loss six = {"6", number(6)};
	job.loss = &six;
	memory_peak(NULL, &job, &use);
	ck_assert_double_eq_tol(use.total / 1e9, lora[_i].expect_gb, lora[_i].tolerance);
	if (job.quant == QUANT_NF4)
		ck_assert_double_eq(memory_layer_saved(NULL, &job, m.blocks), 223408);
}
END_TEST

/* Korthikanti et al. 2022, figure 1: states at 18 bytes and activations without and with selective recomputation and
 * sequence parallelism, GiB. */
static const struct {
	double layers, hidden, heads, tp, pp, vp, batch;
	double states, none, selective;
} figure1[] = {
    {48, 6144, 64, 8, 1, 1, 4, 45.5625, 59.25, 9.5625},
    {96, 12288, 96, 8, 8, 3, 1, 45.5625, 66.84375, 12.3515625},
    {105, 20480, 128, 8, 35, 3, 1, 31.640625, 114.0234375, 23.076171875},
    {128, 25600, 160, 8, 64, 1, 1, 32.958984375, 131.25, 26.5625},
};

START_TEST(korthikanti)
{
	const struct stack stack = megatron_2022();
	struct memory_use use;
	struct model m;

	make_gpt(&m, figure1[_i].layers, figure1[_i].hidden, figure1[_i].heads);
	struct memory_job job = job_of(&m, &stack, figure1[_i].batch, 2048);
	job.flash = false;
	job.dropout = true;
	job.layout.tp = figure1[_i].tp;
	job.layout.pp = figure1[_i].pp;
	job.layout.vp = figure1[_i].vp;
	memory_at(NULL, &job, 0, MOMENT_BACKWARD, &use);
	ck_assert_double_eq(use.activations / GIB, figure1[_i].none);
	job.layout.sp = true;
	job.recompute = RECOMPUTE_MODULES;
	job.modules = BIT(CORE_ATTN);
	memory_at(NULL, &job, 0, MOMENT_BACKWARD, &use);
	ck_assert_double_eq(use.activations / GIB, figure1[_i].selective);
	/* the paper's 12 h^2 L leaves out norms */
	m.workload.norms_per_layer = number(0);
	memory_at(NULL, &job, 0, MOMENT_BACKWARD, &use);
	ck_assert_double_eq((use.weights + use.gradients + use.optimizer) / GIB, figure1[_i].states);
}
END_TEST

Suite *memory_budgets_suite(void);

Suite *
memory_budgets_suite(void)
{
	Suite *s = suite_create("memory_budgets");
	TCase *c = tcase_create("memory_budgets");

	LOOP(megatron_budgets, budgets);
	LOOP(megatron_transients, transients);
	tcase_add_test(c, ring_transient);
	tcase_add_test(c, frozen_megatron);
	LOOP(quantised_weights, elements);
	LOOP(narrow_moments, states);
	LOOP(torchtitan, titan);
	LOOP(torchtune, tune);
	LOOP(litgpt, lora);
	LOOP(korthikanti, figure1);
	suite_add_tcase(s, c);
	return s;
}
