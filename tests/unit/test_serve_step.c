/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The serving step against a reference implementation of the same equations, term by term. */
#include "model/kernel/kernel.h"

#include <check.h>
#include <math.h>

#include "serve_world.h"

/* Relative 1e-3, and what the printed digits leave open. */
#define NEAR(got, want, digits, what)                                                                                  \
	ck_assert_msg(fabs((got) - (want)) <= 1e-3 * fabs(want) + (digits), "%s: %.6g, not %.6g", what, got, want)

static struct scene x;

/* --- kernels alone --------------------------------------------------------------------------------------- */

START_TEST(products_with_cold_weights)
{
	static const double shapes[6][3] = {{1, 12288, 4096}, {1, 22016, 4096}, {64, 6144, 4096}, {256, 28672, 4096},
	    {2048, 28672, 4096}, {2048, 4096, 14336}};
	static const struct {
		enum vector_gpu gpu;
		enum dtype type;
		double us[6];
	} rows[] = {
	    {gpu_a100, DTYPE_BF16, {69.706, 121.131, 39.525, 285.526, 1847.961, 953.189}},
	    {gpu_h100, DTYPE_BF16, {38.143, 65.776, 21.348, 106.456, 611.277, 301.606}},
	    {gpu_h100, DTYPE_FP8, {20.785, 34.523, 12.653, 58.426, 335.322, 163.132}},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		x.engine = engine_base();
		x.architecture = hopper();
		scene_set(&x, rows[i].gpu, &llama31_8b, bf16(), alone);
		for (int j = 0; j < 6; j++) {
			struct gemm_shape g = gemm_shape_of(shapes[j][0], shapes[j][1], shapes[j][2], rows[i].type);
			g.quantise = false;
			NEAR(1e6 * gemm_time(NULL, &g, &x.kernels, rows[i].type), rows[i].us[j], 5e-4, "product");
		}
	}
}
END_TEST

/* Kernels that cut products otherwise take their own time for large ones, at a peak that fits the tiles of 16 bits. */
START_TEST(products_of_other_kernels)
{
	struct gemm_shape g = gemm_shape_of(8192, 8192, 8192, DTYPE_FP8);

	g.quantise = false;
	x.engine = engine_base();
	x.architecture = hopper();
	scene_set(&x, gpu_h100, &llama31_8b, bf16(), alone);
	struct gemm_calibration *own = &x.fitted.gemm[DTYPE_FP8];
	*own = x.fitted.gemm[DTYPE_BF16];
	own->peak_flop_per_s = num(1.9e15);
	own->norm = num(1.5);
	own->reduction_s = num(80e-6);
	const double own_s = gemm_time(NULL, &g, &x.fitted, DTYPE_FP8);
	serve_kernels(&x.kernels, &x.setup, NULL, &x.fitted, NULL);
	ck_assert_double_lt(x.kernels.gemm[DTYPE_FP8].peak_flop_per_s.value, 0.95 * 1.9e15);
	ck_assert_double_eq(x.kernels.gemm[DTYPE_FP8].norm.value, x.fitted.gemm[DTYPE_BF16].norm.value);
	NEAR(gemm_time(NULL, &g, &x.kernels, DTYPE_FP8), own_s, 1e-3, "product");
}
END_TEST

START_TEST(attention_of_a_layer)
{
	static const struct {
		enum vector_gpu gpu;
		const struct test_shape *shape;
		double tp, prompt_us[4], cached_us[3];
	} rows[] = {
	    {gpu_h100, &llama31_8b, 1, {27.083, 109.492, 146.593, 53.612}, {17.858, 55.721, 563.652}},
	    {gpu_h100, &llama31_70b, 4, {23.505, 57.986, 74.589, 47.735}, {16.803, 21.523, 152.103}},
	    {gpu_a100, &llama2_7b, 1, {57.800, 346.925, 449.464, 158.987}, {29.325, 344.321, 3946.674}},
	};
	static const double prompts[4][3] = {{1, 512, 0}, {1, 2048, 0}, {4, 1000, 0}, {1, 512, 1536}};
	static const double caches[3][2] = {{1, 1000}, {32, 1000}, {256, 1500}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		x.engine = engine_base();
		x.architecture = hopper();
		scene_set(&x, rows[i].gpu, rows[i].shape, bf16(), TENSOR(rows[i].tp));
		for (int j = 0; j < 4; j++)
			NEAR(1e6 *
			        serve_layer_prompt(
			            NULL, &x.setup, x.model.blocks, prompts[j][0], prompts[j][1], prompts[j][2]),
			    rows[i].prompt_us[j], 5e-4, "prompt");
		for (int j = 0; j < 3; j++)
			NEAR(1e6 * serve_layer_cached(NULL, &x.setup, x.model.blocks, caches[j][0], caches[j][1]),
			    rows[i].cached_us[j], 5e-4, "cached");
	}
}
END_TEST

START_TEST(reductions)
{
	x.engine = engine_base();
	x.architecture = hopper();
	scene_set(&x, gpu_h100, &llama31_70b, bf16(), TENSOR(4));
	NEAR(1e6 * serve_allreduce(NULL, &x.setup, 1 * 8192 * 2), 3.08, 5e-3, "1 token");
	NEAR(1e6 * serve_allreduce(NULL, &x.setup, 64 * 8192 * 2), 14.5, 5e-2, "64 tokens");
	NEAR(1e6 * serve_allreduce(NULL, &x.setup, 256 * 8192 * 2), 39.6, 5e-2, "256 tokens");
}
END_TEST

/* Four ranks wait 1 + 1/2 + 1/3 + 1/4 times the mean delay of one, whatever they send. */
START_TEST(reductions_wait)
{
	const double sizes[] = {1 * 8192 * 2, 10e6, 1e9}, late_s = 20e-6,
	             wait_s = late_s * (1 + 1. / 2 + 1. / 3 + 1. / 4);

	for (int i = 0; i < 3; i++) {
		x.engine = engine_base();
		x.architecture = hopper();
		scene_set(&x, gpu_h100, &llama31_70b, bf16(), TENSOR(4));
		const double gather_s = serve_gather(NULL, &x.setup, sizes[i]),
		             reduce_s = serve_allreduce(NULL, &x.setup, sizes[i]);
		x.engine.link_wait_s = num(late_s);
		NEAR(serve_gather(NULL, &x.setup, sizes[i]) - gather_s, wait_s, 0, "gather");
		NEAR(serve_allreduce(NULL, &x.setup, sizes[i]) - reduce_s, wait_s, 0, "all-reduce");
	}

	scene_set(&x, gpu_l40s, &llama31_70b, bf16(), TENSOR(4));
	const double slot_s = serve_allreduce(NULL, &x.setup, sizes[1]),
	             slot_gather_s = serve_gather(NULL, &x.setup, sizes[1]);
	x.engine.pcie_wait = num(1.5);
	NEAR(serve_allreduce(NULL, &x.setup, sizes[1]), 1.5 * slot_s, 1e-9, "all-reduce over PCIe");
	NEAR(serve_gather(NULL, &x.setup, sizes[1]), 1.5 * slot_gather_s, 1e-9, "gather over PCIe");
}
END_TEST

/* Two GPUs over PCIe, and no others. */
START_TEST(pairs_over_pcie)
{
	static const struct {
		enum vector_gpu gpu;
		double tp, more_s;
	} cases[] = {{gpu_l40s, 2, 34e-3}, {gpu_l40s, 4, 0}, {gpu_l40s, 1, 0}, {gpu_h100, 2, 0}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		x.engine = engine_base();
		scene_set(&x, cases[i].gpu, &llama31_70b, bf16(), TENSOR(cases[i].tp));
		x.engine.comm_factor = num(1);
		const double step_s = serve_linear(NULL, &x.setup, 64, NULL);
		x.engine.pcie_pair_s = num(34e-3);
		NEAR(serve_linear(NULL, &x.setup, 64, NULL) - step_s, cases[i].more_s, 1e-9, "step");
	}
}
END_TEST

START_TEST(uneven_experts)
{
	NEAR(serve_imbalance(NULL, 2.28, 8, 128), 2.16242, 1e-5, "Hopper, 8 ranks");
	NEAR(serve_imbalance(NULL, 2.28, 4, 16), 2.89822, 1e-5, "Hopper, 4 ranks");
	NEAR(serve_imbalance(NULL, 2.12, 4, 256), 1.44125, 1e-5, "Blackwell");
	NEAR(serve_imbalance(NULL, 5.43, 8, 128), 3.76837, 1e-5, "RTX PRO");
}
END_TEST

/* --- steps ----------------------------------------------------------------------------------------------- */

enum { GEMM, PROMPT, CACHED, EXPERT, SMALL, COMM, HEAD, HOST, TOTAL, N_TERMS };
static const char *const terms[N_TERMS] = {
    "products", "prompts", "caches", "experts", "small kernels", "comm", "head", "host", "step"};

struct step {
	const char *name;
	double n_prompts, prompt, n_running, context;
	double ms[N_TERMS];
};

static void
check_step(const struct step *s)
{
	const struct serve_batch b = {
	    s->n_prompts, s->prompt, 0, s->n_running, s->context, s->n_prompts + s->n_running, 0};
	struct serve_terms t;
	const double total = serve_iteration(NULL, &x.setup, &b, &t);
	/* the reference has one scheduler, where each rank that attends for itself has its own */
	const double n_schedulers = x.setup.layout.attention_dp ? x.setup.layout.tp : 1,
	             one_s = x.setup.engine->sequence_s.value * b.n_rows * (1 - 1 / n_schedulers);
	const double got[N_TERMS] = {t.gemm, t.prompt_attention, t.cached_attention, t.moe, t.elementwise, t.comm,
	    t.head, t.host + one_s, t.total + one_s};

	ck_assert(total == t.total);
	/* grouped products of the reference were rounded a little more coarsely */
	for (int i = 0; i < N_TERMS; i++)
		ck_assert_msg(fabs(1e3 * got[i] - s->ms[i]) <= (i == EXPERT ? 1.2e-3 : 1e-3) * s->ms[i] + 6e-5,
		    "%s, %s: %.5f ms, not %.5f", s->name, terms[i], 1e3 * got[i], s->ms[i]);
}

#define CHECK_STEPS(steps)                                                                                             \
	for (size_t i = 0; i < sizeof(steps) / sizeof *(steps); i++)                                                   \
	check_step(&(steps)[i])

START_TEST(step_8b_fp8)
{
	static const struct step steps[] = {
	    {"with a prompt", 1, 1000, 526, 1500.5, {15.1552, 1.2125, 19.7350, 0, 2.4110, 0, .9961, 5.3135, 44.8233}},
	    {"decoding", 0, 0, 526, 1500.5, {6.6533, 0, 19.7350, 0, .5753, 0, .9958, 2.0424, 30.0018}},
	};

	x.engine = engine_base();
	x.architecture = hopper();
	scene_set(&x, gpu_h100, &llama31_8b, fp8(), alone);
	CHECK_STEPS(steps);
}
END_TEST

START_TEST(step_70b_tp4)
{
	static const struct step steps[] = {
	    {"1", 0, 0, 1, 595, {13.0281, 0, 1.2527, 0, .4814, .4922, .2154, 1.7465, 17.4820}},
	    {"64", 0, 0, 64, 595, {13.2769, 0, 1.9513, 0, .5687, 2.3224, .2191, 1.7820, 21.3747}},
	    {"256", 0, 0, 256, 595, {16.3806, 0, 5.9047, 0, .8347, 6.3435, .2739, 1.8902, 35.0535}},
	    {"prompt", 1, 467, 0, 0, {24.6536, 1.8625, 0, 0, 1.5312, 8.8909, .2154, 5.0171, 46.9721}},
	    {"both", 1, 467, 64, 595, {27.5958, 1.8625, 1.9513, 0, 1.8657, 9.6635, .22315, 5.0531, 53.4339}},
	};

	x.engine = engine_base();
	x.architecture = hopper();
	scene_set(&x, gpu_h100, &llama31_70b, bf16(), TENSOR(4));
	CHECK_STEPS(steps);
}
END_TEST

START_TEST(step_mixtral)
{
	/* the router is counted with the experts */
	static const struct step steps[] = {
	    {"64", 0, 0, 64, 1000, {.5078, 0, 1.0910, 8.8744, .1414, .2969, .0801, 1.7820, 12.9338}},
	    {"2048", 0, 0, 2048, 1000, {2.0884, 0, 27.0959, 22.9520, 1.6363, 4.1395, .4413, 2.9003, 63.4891}},
	};

	x.engine = engine_base();
	x.architecture = hopper();
	scene_set(&x, gpu_h100, &mixtral_8x7b, fp8(), TENSOR(2));
	CHECK_STEPS(steps);
}
END_TEST

START_TEST(step_gpt_20b)
{
	static const struct step steps[] = {
	    {"32", 0, 0, 32, 1000, {7.4439, 0, 5.9797, 0, .2923, 1.8520, .1487, 1.1960, 19.4226}},
	};

	x.engine = engine_ft();
	x.architecture = architecture_none();
	scene_set(&x, gpu_a100, &gpt_20b, bf16(), TENSOR(4));
	CHECK_STEPS(steps);
}
END_TEST

/* The reference adds to each of 160 messages up to 44.4 us below 10 MB, 32.1 us of 6.3 MB, and nothing for further
 * GPUs: 46.5578 and 1171.2345 ms. */
START_TEST(step_over_pcie)
{
	static const struct step steps[] = {
	    {"256", 0, 0, 256, 1000, {32.1931, 0, 16.0521, 0, 1.7988, 41.4163, .9536, 1.8902, 116.7287}},
	    {"prompts", 4, 2048, 0, 0, {767.3089, 32.8560, 0, 0, 149.4281, 1164.1230, .7583, 5.0188, 2748.1848}},
	};

	x.engine = engine_base();
	x.architecture = architecture_none();
	x.architecture.fp8_attention = num(1.5);
	x.engine.pcie_contention_frac = num(0);
	scene_set(&x, gpu_l40s, &llama31_70b, fp8(), TENSOR(4));
	CHECK_STEPS(steps);
}
END_TEST

/* Worked out with activations quantized in the model's width; less or more by what their own widths take. */
START_TEST(step_qwen3)
{
	static const struct step hopper_steps[] = {
	    {"235B", 0, 0, 1024, 1000, {3.6997, 0, 6.0627, 21.5063, .4308, 7.9094, .3934, 2.6390, 43.9859}},
	};
	static const struct step rtx_steps[] = {
	    {"30B", 0, 0, 1024, 1000, {.8311, 0, 4.8485, 8.9072, .2294, 10.9812, .5114, 2.6390, 30.8148}},
	    {"30B prompts", 8, 2048, 0, 0, {4.1370, 6.4156, 0, 43.1836, .7912, 107.2996, .4035, 4.7097, 185.2088}},
	};

	x.engine = engine_pytorch();
	x.architecture = hopper();
	scene_set(&x, gpu_h200, &qwen3_235b, precision(DTYPE_FP8_BLOCK, 1, 1, 1), EXPERTS(8));
	CHECK_STEPS(hopper_steps);
	x.architecture = architecture_none();
	x.architecture.fp8_attention = num(1.8);
	x.architecture.imbalance = num(5.43);
	x.architecture.moe_peak_frac = num(1.44);
	scene_set(&x, gpu_rtx, &qwen3_30b, precision(DTYPE_NVFP4, .5625, .5625, 1), EXPERTS(8));
	CHECK_STEPS(rtx_steps);
}
END_TEST

START_TEST(step_deepseek)
{
	static const struct step steps[] = {
	    {"1024", 0, 0, 1024, 1000, {3.6001, 0, 3.6547, 29.3579, .3303, 4.5046, .4396, 2.6390, 45.2921}},
	    {"prompts", 8, 1000, 0, 0, {16.8605, 9.6183, 0, 71.3545, 2.0262, 15.7167, .3301, 4.7097, 123.2878}},
	};

	x.engine = engine_pytorch();
	x.architecture = blackwell();
	scene_deepseek(&x, gpu_b200, precision(DTYPE_NVFP4, .5625, .5625, 1), EXPERTS(4));
	CHECK_STEPS(steps);
}
END_TEST

START_TEST(step_once_per_query_head)
{
	/* 2 % of its 128 experts idle, for the popular ones; of Mixtral's above 0.2 % */
	static const struct step maverick[] = {
	    {"chunked", 0, 0, 1024, 2048, {2.8698, 0, 28.3898, 14.4934, .8427, 7.3975, .4034, 2.6390, 58.2931}}};
	static const struct step falcon[] = {
	    {"29 heads", 0, 0, 1024, 1152, {32.3721, 0, 116.4919, 0, 3.9685, 13.4630, .3605, 0, 173.9268}}};
	static const struct step a100[] = {
	    {"int4, A100", 0, 0, 256, 1280, {9.4630, 0, 58.5551, 0, .4029, 0, 1.2983, .3846, 70.1040}}};
	static const struct step l40s[] = {
	    {"int4, L40S", 0, 0, 128, 1280, {7.3613, 0, 12.6517, 0, .4088, 0, 1.5851, .3846, 22.3915}}};
	const struct serve_precision w4a8kv4 = precision(DTYPE_INT8, 1, .5625, .5);

	x.engine = engine_pytorch();
	x.engine.core_attention = CORE_CHUNKED;
	x.engine.core_element = num(13 * 1.52);
	x.architecture = hopper();
	scene_maverick(&x, gpu_h200, fp8(), TENSOR(8));
	CHECK_STEPS(maverick);
	x.engine = engine_static();
	scene_set(&x, gpu_h100, &falcon_180b, fp8(), TENSOR(8));
	CHECK_STEPS(falcon);
	x.engine = engine_qserve();
	x.architecture = architecture_none();
	scene_set(&x, gpu_a100, &llama31_8b, w4a8kv4, alone);
	CHECK_STEPS(a100);
	scene_set(&x, gpu_l40s, &llama31_8b, w4a8kv4, alone);
	CHECK_STEPS(l40s);
}
END_TEST

START_TEST(step_with_less_bandwidth)
{
	static const struct step steps[] = {
	    {"64", 0, 0, 64, 3072, {13.4180, 0, 10.0674, 0, .5833, 1.0521, .1259, 0, 25.8149}}};

	x.engine = engine_static();
	x.architecture = hopper();
	x.architecture.kv_reuse_frac = num(.6);
	scene_set(&x, gpu_h100, &llama2_70b, fp8(), TENSOR(2));
	CHECK_STEPS(steps);
}
END_TEST

Suite *serve_step_suite(void);

Suite *
serve_step_suite(void)
{
	Suite *s = suite_create("serve_step");
	TCase *c = tcase_create("serve_step");

	tcase_add_test(c, products_with_cold_weights);
	tcase_add_test(c, products_of_other_kernels);
	tcase_add_test(c, attention_of_a_layer);
	tcase_add_test(c, reductions);
	tcase_add_test(c, reductions_wait);
	tcase_add_test(c, pairs_over_pcie);
	tcase_add_test(c, uneven_experts);
	tcase_add_test(c, step_8b_fp8);
	tcase_add_test(c, step_70b_tp4);
	tcase_add_test(c, step_mixtral);
	tcase_add_test(c, step_gpt_20b);
	tcase_add_test(c, step_over_pcie);
	tcase_add_test(c, step_qwen3);
	tcase_add_test(c, step_deepseek);
	tcase_add_test(c, step_once_per_query_head);
	tcase_add_test(c, step_with_less_bandwidth);
	suite_add_tcase(s, c);
	return s;
}
