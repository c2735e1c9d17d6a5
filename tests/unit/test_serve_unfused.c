/* SPDX-License-Identifier: GPL-3.0-or-later */
/* llama.cpp's prompts and encoders against a reference implementation; published figures beside them. */
#include "model/serve/serve.h"

#include <check.h>
#include <math.h>

#include "serve_world.h"

#define NEAR(got, want, frac, what)                                                                                    \
	ck_assert_msg(fabs((got) / (want)-1) <= (frac), "%s: %.7g, not %.7g", what, (double)(got), (double)(want))

static struct scene x;

static struct engine
llamacpp(void)
{
	struct engine e = engine_base();

	e.unfused = (struct engine_unfused){
	    num(.657), num(.85), num(50.5), num(5.89), num(3.43e-6), num(24.9), num(41.3), num(1024), num(512)};
	e.row_sync_s = num(.18e-3);
	return e;
}

/* TFLOP/s with fp16 accumulation, TB/s, TFLOP/s per watt, watts. */
static struct unfused_gpu
card(double peak, double mem, double per_watt, double watt)
{
	return (struct unfused_gpu){num(peak * 1e12), num(mem * 1e12), num(per_watt * watt * 1e12)};
}

START_TEST(prompts)
{
	static const struct test_shape llama3_70b = {80, 8192, 64, 8, 128, 28672, 128256, .plain = false};
	const struct serve_precision f16 = bf16(), q4 = precision(DTYPE_INT4, 2, .60625, 2);
	const struct unfused_gpu a100 = card(312, 1.935, .401, 300), h100 = card(756, 2.0, .577, 350),
	                         ada = card(364.2, .96, .496, 300), rtx4090 = card(330.3, 1.008, .496, 450),
	                         rtx3090 = card(142, .936, .292, 350);
	/* ms of 512 tokens that end at 512 and at 4096; tokens/s of a prompt of 1024 (published) */
	const struct {
		const struct test_shape *shape;
		const struct serve_precision *p;
		const struct unfused_gpu *gpu;
		double pp, near_ms, far_ms, rate, frac;
	} rows[] = {
	    {&llama31_8b, &f16, &a100, 1, 75.3710, 110.2844, 6575.5, 1e-4},    /* 7504 */
	    {&llama31_8b, &q4, &a100, 1, 88.2304, 123.1439, 5643.5, 1e-4},     /* 5800 */
	    {&llama3_70b, &q4, &ada, 1, 827.4557, 1131.0480, 603.0, 1e-4},     /* 547 */
	    {&llama31_8b, &q4, &rtx4090, 1, 82.5330, 138.6358, 5916.3, 1e-4},  /* */
	    {&llama31_8b, &q4, &rtx3090, 1, 130.4626, 196.4189, 3787.7, 1e-4}, /* */
	    /* the reference's H100 PCIe had 2 % more bandwidth */
	    {&llama3_70b, &f16, &h100, 1, 414.6738, 566.2099, 1203.3, 7e-3},
	    {&llama3_70b, &q4, &h100, 4, 0, 0, 1191.0, 7e-3},  /* 1133 */
	    {&llama3_70b, &f16, &h100, 4, 0, 0, 1925.3, 7e-3}, /* 2420 */
	    {&llama31_8b, &q4, &a100, 4, 0, 0, 9029.6, 1e-4},  /* 8889 */
	};

	x.engine = llamacpp();
	x.architecture = architecture_none();
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		scene_set(&x, gpu_a100, rows[i].shape, *rows[i].p, (struct serve_layout){1, rows[i].pp, 1, false});
		if (rows[i].near_ms > 0) {
			NEAR(1e3 * unfused_part(NULL, &x.setup, rows[i].gpu, 512, 512), rows[i].near_ms, rows[i].frac,
			    "near");
			NEAR(1e3 * unfused_part(NULL, &x.setup, rows[i].gpu, 512, 4096), rows[i].far_ms, rows[i].frac,
			    "far");
		}
		NEAR(1024 / unfused_prompt(NULL, &x.setup, rows[i].gpu, 1024), rows[i].rate, rows[i].frac, "rate");
	}
}
END_TEST

/* Rows over many cards lose to waiting for one another: 70B in 4 bits is slower on 8 than on 2. */
START_TEST(rows_over_cards)
{
	static const struct test_shape llama2 = {80, 8192, 64, 8, 128, 28672, 32000, .plain = false};

	x.engine = llamacpp();
	x.engine.host_s = num(2.25e-3);
	x.architecture = architecture_none();
	scene_set(&x, gpu_a100, &llama2, bf16(), alone);
	ck_assert_double_eq_tol(row_split_step(NULL, &x.setup, 1, 0.05), 0.05 + 80 * .18e-3, 1e-12);
	ck_assert_double_lt(row_split_step(NULL, &x.setup, 2, 0.07), row_split_step(NULL, &x.setup, 8, 0.07));
}
END_TEST

START_TEST(encoders)
{
	static const struct test_shape bert = {12, 768, 12, 12, 64, 3072, 30522, .plain = true};
	static const double batches[3][2] = {{1, 128}, {8, 128}, {32, 384}};
	/* ms; TFLOP/s that the power allows */
	static const struct {
		enum vector_gpu gpu;
		double limit, ms[3];
		bool old;
	} rows[] = {
	    {gpu_t4, .579 * 70, {2.2142, 8.5857, 92.1717}, true},
	    {gpu_v100, .265 * 300, {1.6072, 4.6831, 44.0891}, true},
	    {gpu_a100, 0, {1.0575, 1.8798, 15.5551}, false},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct serve_precision p = bf16();
		p.attention.limit_flop_per_s = p.mlp.limit_flop_per_s = p.wide_limit_flop_per_s = rows[i].limit * 1e12;
		x.engine = engine_base();
		x.engine.prefill_s = x.engine.sequence_s = num(0);
		x.engine.gpu_factor = num(1.11);
		x.engine.elementwise_s = num(6.81e-6);
		x.engine.attention_base = num(.629);
		x.engine.gemm_base = num(.708);
		x.engine.host_s = num(.164e-3);
		x.architecture = architecture_none();
		if (rows[i].old) {
			x.architecture.base_factor = num(.711);
			x.architecture.host_factor = num(2.87);
		}
		scene_set(&x, rows[i].gpu, &bert, p, alone);
		x.model.w.kind = MODEL_ENCODER;
		x.model.w.head = false;
		for (int j = 0; j < 3; j++) {
			const struct serve_batch b = {batches[j][0], batches[j][1], 0, 0, 0, 0, 0};
			NEAR(1e3 * serve_iteration(NULL, &x.setup, &b, NULL), rows[i].ms[j], 1e-4, "BERT base");
		}
	}
}
END_TEST

/* Stages: a large batch goes through two of them in halves, a small one whole. */
START_TEST(encoders_in_stages)
{
	static const struct test_shape bert = {12, 768, 12, 12, 64, 3072, 30522, .plain = true};
	const struct serve_batch half = {16, 128, 0, 0, 0, 0, 0}, small = {8, 128, 0, 0, 0, 0, 0};

	x.engine = engine_base();
	x.architecture = architecture_none();
	scene_set(&x, gpu_a100, &bert, bf16(), (struct serve_layout){1, 2, 1, false});
	x.model.w.kind = MODEL_ENCODER;
	x.model.w.head = false;
	ck_assert_double_eq(serve_encode_parts(NULL, &x.setup, 32), 2);
	ck_assert_double_eq(serve_encode_parts(NULL, &x.setup, 8), 1);
	ck_assert_double_eq_tol(
	    serve_encode(NULL, &x.setup, 128, 32), 1.5 * serve_iteration(NULL, &x.setup, &half, NULL), 1e-12);
	ck_assert_double_eq_tol(
	    serve_encode(NULL, &x.setup, 128, 8), serve_iteration(NULL, &x.setup, &small, NULL), 1e-12);
}
END_TEST

Suite *serve_unfused_suite(void);

Suite *
serve_unfused_suite(void)
{
	Suite *s = suite_create("serve_unfused");
	TCase *c = tcase_create("serve_unfused");

	tcase_add_test(c, prompts);
	tcase_add_test(c, rows_over_cards);
	tcase_add_test(c, encoders);
	tcase_add_test(c, encoders_in_stages);
	suite_add_tcase(s, c);
	return s;
}
