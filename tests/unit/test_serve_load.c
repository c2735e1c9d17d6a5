/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Serving loads in closed form, against a reference implementation; published rates beside them. */
#include "model/serve/serve.h"

#include <check.h>
#include <math.h>

#include "serve_world.h"

#define NEAR(got, want, frac, what)                                                                                    \
	ck_assert_msg(fabs((got) / (want)-1) <= (frac), "%s: %.7g, not %.7g", what, (double)(got), (double)(want))

static struct scene x;

static struct serve_load
load(double isl, double osl)
{
	return (struct serve_load){
	    .isl = isl, .osl = osl, .n_requests = datum_absent(), .n_concurrent = datum_absent()};
}

static struct serve_load
load_of(double isl, double osl, double n_requests)
{
	return (struct serve_load){
	    .isl = isl, .osl = osl, .n_requests = num(n_requests), .n_concurrent = datum_absent()};
}

static double
steady_rate(const struct serve_load *l)
{
	const double starting = serve_starting(NULL, &x.setup, l, serve_running(NULL, &x.setup, l));

	return serve_token_rate(
	    NULL, serve_request_rate(NULL, starting, serve_steady(NULL, &x.setup, l, starting)), l->osl);
}

static double
run_rate(double isl, double osl, double n_requests)
{
	const struct serve_load l = load_of(isl, osl, n_requests);
	const double n = serve_running(NULL, &x.setup, &l);

	return serve_run_rate(NULL, n_requests, osl, serve_waves(NULL, &x.setup, &l, n));
}

static double
static_s(double batch, double isl, double osl)
{
	const struct serve_load l = load(isl, osl);

	return serve_static(NULL, serve_first(NULL, &x.setup, &l, batch), serve_decode(NULL, &x.setup, &l, batch), osl);
}

/* --- room ------------------------------------------------------------------------------------------------ */

START_TEST(pools)
{
	static const struct {
		enum vector_gpu gpu;
		const struct test_shape *shape;
		double elem_byte, tp, weight_gb, kv_byte, pool;
	} rows[] = {
	    {gpu_h100, &llama31_8b, 1, 1, 9.0807, 65536, 1079168},
	    {gpu_h100, &llama31_70b, 2, 4, 35.2762, 81920, 559552},
	    {gpu_h200, &llama31_70b, 1, 1, 72.6537, 163840, 440384},
	};

	const struct serve_load usual = load(1000, 1000);

	x.engine = engine_base();
	x.architecture = hopper();
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		scene_set(&x, rows[i].gpu, rows[i].shape, rows[i].elem_byte > 1 ? bf16() : fp8(), TENSOR(rows[i].tp));
		x.model.w.norms_per_layer.value = 0; /* as the worked example */
		NEAR(1e-9 * serve_weights(NULL, &x.setup), rows[i].weight_gb, 1e-5, "weights");
		ck_assert_double_eq(serve_kv_byte(NULL, &x.setup), rows[i].kv_byte);
		ck_assert_double_eq(serve_pool(NULL, &x.setup, &usual), rows[i].pool);
	}
	/* vLLM: a share of the card; published 117 616 */
	x.engine.memory.pool = POOL_CARD;
	x.engine.memory.utilization = num(.9);
	x.engine.memory.block_token = num(16);
	scene_set(&x, gpu_a100, &llama2_7b, bf16(), alone);
	x.model.w.norms_per_layer.value = 0;
	NEAR(1e-9 * serve_weights(NULL, &x.setup), 13.4763, 1e-5, "weights");
	ck_assert_double_eq(serve_pool(NULL, &x.setup, &usual), 117504);
}
END_TEST

/* A model that does not fit has no pool, and nothing runs. */
START_TEST(no_room)
{
	const struct serve_load l = load(100, 100);

	x.engine = engine_base();
	x.architecture = hopper();
	scene_set(&x, gpu_h100, &llama31_70b, bf16(), alone);
	ck_assert_double_eq(serve_pool(NULL, &x.setup, &l), 0);
	ck_assert_double_lt(serve_running(NULL, &x.setup, &l), 1);
}
END_TEST

/* --- offline --------------------------------------------------------------------------------------------- */

START_TEST(offline_8b)
{
	const struct serve_load l = load(1000, 1000);

	x.engine = engine_base();
	x.architecture = hopper();
	scene_set(&x, gpu_h100, &llama31_8b, fp8(), alone);
	ck_assert_double_eq(serve_running(NULL, &x.setup, &l), 526);
	/* the reference takes one prompt in every other step, not a Poisson number */
	NEAR(steady_rate(&l), 13916, 0.02, "steady");
	/* the reference fills all places before it decodes, which leaves nothing for prompts and decodes to share */
	NEAR(run_rate(1000, 1000, 3000), 14241, 5e-3, "3000 requests");
	x.architecture = architecture_none();
	scene_set(&x, gpu_l40s, &llama31_8b, fp8(), alone);
	NEAR(run_rate(1000, 1000, 3000), 3771, 5e-3, "L40S"); /* published 4055 */
}
END_TEST

START_TEST(offline_70b)
{
	const struct serve_load l = load_of(128, 2048, 3000), chat = load(467, 256);

	x.engine = engine_base();
	x.architecture = hopper();
	scene_set(&x, gpu_h100, &llama31_70b, fp8(), alone);
	ck_assert_double_eq(serve_running(NULL, &x.setup, &l), 28);
	NEAR(1e3 * serve_steady(NULL, &x.setup, &l, 28.0 / 2048), 31.37, 1e-3, "step");
	NEAR(run_rate(128, 2048, 3000), 885.3, 1e-3, "70B"); /* published 911.6 */
	x.engine.max_sequences = num(512);
	scene_set(&x, gpu_h100, &llama31_70b, bf16(), TENSOR(4));
	const double n = serve_running(NULL, &x.setup, &chat), starting = serve_starting(NULL, &x.setup, &chat, n),
	             step_s = serve_steady(NULL, &x.setup, &chat, starting);
	ck_assert_double_eq(n, 512);
	ck_assert_double_eq(starting, 2);
	/* the reference takes two prompts in every step */
	NEAR(1e3 * step_s, 123.45, 0.03, "step at saturation");
	NEAR(serve_request_rate(NULL, starting, step_s), 16.2, 0.03, "saturation"); /* published 16 */
}
END_TEST

START_TEST(offline_experts)
{
	x.engine = engine_pytorch();
	x.architecture = hopper();
	scene_set(&x, gpu_h200, &qwen3_235b, precision(DTYPE_FP8_BLOCK, 1, 1, 1), EXPERTS(8));
	/* the reference, whose ranks share one scheduler, has 21 709 and 24 544 */
	NEAR(run_rate(1000, 2000, 1500), 22220, 5e-3, "Qwen3 235B"); /* published 22 060 */
	x.architecture = blackwell();
	scene_deepseek(&x, gpu_b200, precision(DTYPE_NVFP4, .5625, .5625, 1), EXPERTS(4));
	NEAR(run_rate(1000, 1000, 3000), 25390, 5e-3, "DeepSeek-R1"); /* published 25 852 */
}
END_TEST

/* A cached share of the prompts saves prefill, never costs. */
START_TEST(cached_prompts)
{
	struct serve_load l = load(2000, 200);

	x.engine = engine_base();
	x.architecture = hopper();
	scene_set(&x, gpu_h100, &llama31_8b, fp8(), alone);
	const double without = steady_rate(&l);
	l.cached_frac = 0.5;
	ck_assert_double_gt(steady_rate(&l), 1.2 * without);
}
END_TEST

/* --- static batches -------------------------------------------------------------------------------------- */

START_TEST(static_batches)
{
	x.engine = engine_static();
	x.architecture = hopper();
	x.architecture.kv_reuse_frac = num(.6);
	scene_set(&x, gpu_h200, &llama2_7b, fp8(), alone);
	NEAR(896 * 128 / static_s(896, 128, 128), 21988, 2e-3,
	    "Llama 2 7B"); /* published 20 618; before 8-bit attention */
	scene_set(&x, gpu_h100, &falcon_180b, fp8(), TENSOR(8));
	NEAR(1024 * 2048 / static_s(1024, 128, 2048), 5774, 1e-3, "Falcon 180B"); /* published 6 696 */
	scene_set(&x, gpu_h100, &llama2_70b, fp8(), TENSOR(2));
	NEAR(64 * 2048 / static_s(64, 2048, 2048), 2090, 1e-3, "Llama 2 70B"); /* published 2 022 */
	x.engine = engine_qserve();
	x.architecture = architecture_none();
	scene_set(&x, gpu_a100, &llama31_8b, precision(DTYPE_INT8, 1, .5625, .5), alone);
	NEAR(256 * 512 / static_s(256, 1024, 512), 2914, 1e-3, "W4A8KV4, A100"); /* published 3 005 */
	scene_set(&x, gpu_l40s, &llama31_8b, precision(DTYPE_INT8, 1, .5625, .5), alone);
	NEAR(128 * 512 / static_s(128, 1024, 512), 3608, 1e-3, "W4A8KV4, L40S"); /* published 3 656 */
	x.engine = engine_ft();
	scene_set(&x, gpu_a100, &gpt_20b, bf16(), TENSOR(4));
	NEAR(1e3 * static_s(8, 128, 20), 321.4, 1e-3, "GPT 20B"); /* published 333 ms */
}
END_TEST

START_TEST(first_token_alone)
{
	const struct serve_load l = load(2048, 1);

	x.engine = engine_static();
	x.engine.prefill_s = num(0.0032705647641591315);
	x.architecture = hopper();
	x.architecture.fp8_attention = num(1);
	scene_set(&x, gpu_h200, &llama2_7b, fp8(), alone);
	NEAR(1e3 * serve_first(NULL, &x.setup, &l, 1), 27.61, 1e-3, "Llama 2 7B"); /* published 30.2 ms */
}
END_TEST

/* gpt-fast: compiled, NCCL, weights unpacked at a limited rate. */
START_TEST(batch_of_one)
{
	x.engine = engine_base();
	x.engine.backend = "vllm";
	x.engine.host_s = x.engine.sequence_s = x.engine.prefill_s = num(0);
	x.engine.gpu_factor = num(0.9570212688197706);
	x.engine.elementwise_s = num(1e-6);
	x.engine.attention_base = num(.5);
	x.architecture = architecture_none();
	scene_set(&x, gpu_a100, &llama2_7b, bf16(), alone);
	const struct serve_batch b = serve_step(0, 0, 1, 105);
	struct serve_terms t;
	NEAR(1e3 * serve_iteration(NULL, &x.setup, &b, &t), 9.294, 1e-3, "step"); /* published 104.9 tokens/s */
	NEAR(1e3 * t.gemm, 9.0355, 1e-3, "products");
	NEAR(1e3 * t.cached_attention, .3823, 1e-3, "caches");
	NEAR(1e3 * t.elementwise, .0967, 1e-3, "small kernels");
	NEAR(1e3 * t.head, .1966, 1e-3, "head");
}
END_TEST

/* vLLM 0.19: published fits 6.44 ms + 43.7 ns per token in bf16, 6.58 ms + 23.7 ns with an 8-bit cache, over several
 * numbers of sequences; here one. */
START_TEST(step_by_context)
{
	static const double intercept_ms[] = {6.60, 6.60}, slope_ns[] = {43.7, 23.7};

	x.engine = engine_base();
	x.engine.backend = "vllm";
	x.engine.host_s = num(.3e-3);
	x.engine.sequence_s = num(10e-6);
	x.engine.prefill_s = num(0);
	x.architecture = hopper();
	for (int i = 0; i < 2; i++) {
		scene_set(&x, gpu_h100, &llama31_8b, precision(DTYPE_BF16, 2, 2, i ? 1 : 2), alone);
		const double near_s = serve_iteration(
		    NULL, &x.setup, &(struct serve_batch){.n_decode = 1, .context_token = 10000, .n_rows = 1}, NULL);
		const double far_s = serve_iteration(
		    NULL, &x.setup, &(struct serve_batch){.n_decode = 1, .context_token = 110000, .n_rows = 1}, NULL);
		NEAR(1e9 * (far_s - near_s) / 1e5, slope_ns[i], 0.15, "slope");
		NEAR(1e3 * (near_s - (far_s - near_s) / 10), intercept_ms[i], 0.03, "intercept");
	}
}
END_TEST

/* --- online ---------------------------------------------------------------------------------------------- */

/* Means of a simulation of the same engine by another program. */
START_TEST(below_saturation)
{
	static const struct {
		double rate, first_ms, step_ms;
	} rows[] = {{2, 61, 19.5}, {4, 66, 21.7}, {8, 79, 27.7}};
	const struct serve_load l = load(467, 256);
	struct serve_flow f;

	x.engine = engine_base();
	x.engine.max_sequences = num(512);
	x.architecture = hopper();
	scene_set(&x, gpu_h100, &llama31_70b, bf16(), TENSOR(4));
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		ck_assert(serve_flow_open(&x.setup, &l, rows[i].rate, &f));
		NEAR(1e3 * serve_flow_step(NULL, &x.setup, &l, &f), rows[i].step_ms, 0.03, "between tokens");
		NEAR(1e3 * serve_flow_first(NULL, &x.setup, &l, &f), rows[i].first_ms, 0.03, "first");
		/* as many decode as arrive while one does, and the one that looks */
		NEAR(f.n_decoding - 1, rows[i].rate * 255 * serve_flow_step(NULL, &x.setup, &l, &f), 0.01, "Little");
	}
}
END_TEST

START_TEST(saturated)
{
	const struct serve_load l = load(467, 256);
	struct serve_flow f;

	x.engine = engine_base();
	x.engine.max_sequences = num(512);
	x.architecture = hopper();
	scene_set(&x, gpu_h100, &llama31_70b, bf16(), TENSOR(4));
	ck_assert(serve_flow_open(&x.setup, &l, 15.5, &f) && f.n_running < 512);
	ck_assert(!serve_flow_open(&x.setup, &l, 17, &f));
	ck_assert(!serve_flow_open(&x.setup, &l, 1000, &f));
}
END_TEST

/* The rate within is the one that Little's law makes of the clients: from one to many more than have a place. */
START_TEST(clients_make_a_rate)
{
	static const double clients[] = {1, 2, 3, 10, 100, 500, 512, 513, 600, 5000}, pauses[] = {0, 0.01, 1, 30};
	const struct serve_load l = load(467, 256);
	double fastest = 0;

	x.engine = engine_base();
	x.engine.max_sequences = num(512);
	x.architecture = hopper();
	scene_set(&x, gpu_h100, &llama31_70b, bf16(), TENSOR(4));
	for (size_t k = 0; k < sizeof pauses / sizeof *pauses; k++)
		for (size_t i = 0; i < sizeof clients / sizeof *clients; i++) {
			struct serve_flow f;
			ck_assert(serve_flow_closed(&x.setup, &l, clients[i], pauses[k], &f));
			const double first_s = serve_flow_first(NULL, &x.setup, &l, &f),
			             step_s = serve_flow_step(NULL, &x.setup, &l, &f);
			const double rate = clients[i] / (first_s + 255 * step_s + pauses[k]);
			/* a step's time jumps where kernels change their tiles: no rate makes exactly so many clients
			 */
			NEAR(f.rate_request_per_s, rate, 0.05, "the rate that makes so many clients");
			ck_assert_double_le(f.n_running, fmin(512, clients[i]) * 1.02);
			if (i) /* more clients are never answered less often */
				ck_assert_double_ge(rate, 0.99 * fastest);
			fastest = rate;
			/* nobody is before one who is alone */
			if (clients[i] == 1)
				NEAR(first_s, serve_mixed_step(NULL, &x.setup, &l, 1, 0), 1e-3, "alone");
		}
}
END_TEST

/* --- beyond ---------------------------------------------------------------------------------------------- */

/* Verifying costs little while weights are what is read, and much when products are full already. */
START_TEST(verification)
{
	x.engine = engine_base();
	x.architecture = hopper();
	scene_set(&x, gpu_h100, &llama31_8b, bf16(), alone);
	struct serve_load plain = load(1000, 100), drafted = plain;

	drafted.n_drafts = 4;
	const double few = serve_mixed_step(NULL, &x.setup, &drafted, 0, 1) /
	    serve_mixed_step(NULL, &x.setup, &plain, 0, 1),
	             many = serve_mixed_step(NULL, &x.setup, &drafted, 0, 512) /
	    serve_mixed_step(NULL, &x.setup, &plain, 0, 512);
	ck_assert_double_lt(few, 1.1);
	ck_assert_double_gt(many, 1.7);
}
END_TEST

/* Three tokens a step, a verifying step that costs hardly more: nearly three times as fast, and requests leave sooner.
 */
START_TEST(speculation)
{
	struct serve_load plain = load(1000, 100), drafted = plain;
	struct serve_flow f, g;

	x.engine = engine_base();
	x.architecture = hopper();
	scene_set(&x, gpu_h100, &llama31_8b, bf16(), alone);
	drafted.n_drafts = 4;
	drafted.n_accepted = 2;
	ck_assert_double_eq(serve_decode_steps(NULL, &drafted), 33);
	ck_assert(serve_flow_open(&x.setup, &plain, 1, &f) && serve_flow_open(&x.setup, &drafted, 1, &g));
	const double gain = serve_flow_step(NULL, &x.setup, &plain, &f) / serve_flow_step(NULL, &x.setup, &drafted, &g);
	ck_assert(gain > 2.5 && gain < 3.2);
	ck_assert_double_lt(g.n_running, 0.6 * f.n_running);
	/* drafts that nobody accepts and that take time are a loss */
	drafted.n_accepted = 0;
	drafted.draft_s = 1e-3;
	ck_assert(serve_flow_open(&x.setup, &drafted, 1, &g));
	NEAR(serve_flow_step(NULL, &x.setup, &drafted, &g) - serve_flow_step(NULL, &x.setup, &plain, &f), 4.3e-3, 0.15,
	    "drafts");
}
END_TEST

START_TEST(two_pools)
{
	const struct serve_load l = load(2000, 100);

	x.engine = engine_base();
	x.architecture = hopper();
	scene_set(&x, gpu_h100, &llama31_8b, fp8(), alone);
	/* 2000 tokens of 65 536 bytes at 50 GB/s, and 10 us */
	ck_assert_double_eq_tol(serve_transfer(NULL, &x.setup, &l, 50e9, 10e-6), 0.00263144, 1e-9);
	ck_assert_double_eq(serve_pool_ratio(NULL, 10, 25), 2.5);
	/* four prompts fit in one step of 8192 tokens */
	const double step_s = serve_iteration(
	    NULL, &x.setup, &(struct serve_batch){.n_prefill = 4, .chunk_token = 2000, .n_rows = 4}, NULL);
	NEAR(serve_prefill_rate(NULL, &x.setup, &l), 4 / step_s, 1e-12, "prompts per second");
}
END_TEST

Suite *serve_load_suite(void);

Suite *
serve_load_suite(void)
{
	Suite *s = suite_create("serve_load");
	TCase *c = tcase_create("serve_load");

	tcase_add_test(c, pools);
	tcase_add_test(c, no_room);
	tcase_add_test(c, offline_8b);
	tcase_add_test(c, offline_70b);
	tcase_add_test(c, offline_experts);
	tcase_add_test(c, cached_prompts);
	tcase_add_test(c, static_batches);
	tcase_add_test(c, first_token_alone);
	tcase_add_test(c, batch_of_one);
	tcase_add_test(c, step_by_context);
	tcase_add_test(c, below_saturation);
	tcase_add_test(c, saturated);
	tcase_add_test(c, clients_make_a_rate);
	tcase_add_test(c, speculation);
	tcase_add_test(c, verification);
	tcase_add_test(c, two_pools);
	suite_add_tcase(s, c);
	return s;
}
