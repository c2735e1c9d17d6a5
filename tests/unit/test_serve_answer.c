/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole answers of the serving model: what fits, what saturates, what limits, what is not to be believed. */
#include "search/plan/plan.h"

#include <check.h>
#include <math.h>

#include "serve_world.h"

static struct scene x;
static struct gpu card;

static struct serve_question
ask(enum serve_regime regime, double isl, double osl)
{
	return (struct serve_question){.setup = &x.setup,
	    .gpu = &card,
	    .regime = regime,
	    .load = {.isl = isl, .osl = osl, .n_requests = datum_absent(), .n_concurrent = datum_absent()},
	    .n_batch = 1};
}

static void
set(enum vector_gpu gpu, const struct test_shape *shape, struct serve_precision p, struct serve_layout layout)
{
	x.engine = engine_base();
	x.architecture = hopper();
	card = (struct gpu){.id = "h100-sxm5-80gb", .architecture = "hopper", .mem_type = "HBM3"};
	scene_set(&x, gpu, shape, p, layout);
}

START_TEST(offline)
{
	struct serve_metrics m;

	set(gpu_h100, &llama31_8b, fp8(), alone);
	struct serve_question q = ask(SERVE_OFFLINE, 1000, 1000);
	serve_answer(&q, &m);
	ck_assert(m.fits && !m.saturated);
	ck_assert_double_eq(m.n_running, 526);
	ck_assert_double_eq_tol(m.output_token_per_s, 13916, 280);
	ck_assert_double_eq_tol(m.saturation_request_per_s, m.request_per_s, 1e-9);
	q.load.n_requests = num(3000);
	serve_answer(&q, &m);
	ck_assert_double_eq_tol(m.output_token_per_s, 14241, 70);
}
END_TEST

START_TEST(online_and_saturated)
{
	struct serve_metrics m;

	set(gpu_h100, &llama31_70b, bf16(), TENSOR(4));
	struct serve_question q = ask(SERVE_ONLINE, 467, 256);
	q.rate_request_per_s = 4;
	serve_answer(&q, &m);
	ck_assert(!m.saturated);
	ck_assert_double_eq_tol(m.first_s, 0.066, 0.002);
	ck_assert_double_eq_tol(m.output_token_per_s, 1024, 1e-9);
	ck_assert_double_eq_tol(m.answer_s, m.first_s + 255 * m.step_s, 1e-12);
	q.rate_request_per_s = 1.1 * m.saturation_request_per_s;
	serve_answer(&q, &m);
	ck_assert(m.saturated && isnan(m.first_s) && isnan(m.step_s));
	ck_assert_double_gt(m.saturation_request_per_s, 10);
}
END_TEST

/* Clients beyond what fits wait: by Little's law a request takes clients / throughput. */
START_TEST(closed_loop)
{
	struct serve_metrics m;

	set(gpu_h100, &llama31_8b, fp8(), alone);
	struct serve_question q = ask(SERVE_CLOSED, 1000, 1000);
	q.load.n_concurrent = num(8);
	serve_answer(&q, &m);
	ck_assert_double_eq_tol(m.n_running, 8, 0.05);
	ck_assert_double_eq_tol(m.answer_s, 8 / m.request_per_s, 1e-9);
	q.load.n_concurrent = num(2000);
	serve_answer(&q, &m);
	ck_assert_double_eq_tol(m.n_running, 526, 1);
	ck_assert_double_eq_tol(m.answer_s, 2000 / m.request_per_s, 1e-9);
	ck_assert_double_eq_tol(m.request_per_s, m.saturation_request_per_s, 0.02 * m.request_per_s);
	/* a pause lets others in: N = X (R + Z) */
	q.load.n_concurrent = num(200);
	q.think_s = 30;
	serve_answer(&q, &m);
	ck_assert_double_eq_tol(m.request_per_s, 200 / (m.answer_s + 30), 1e-9);
}
END_TEST

START_TEST(too_large)
{
	struct serve_metrics m;

	set(gpu_h100, &llama31_70b, bf16(), alone);
	struct serve_question q = ask(SERVE_OFFLINE, 1000, 200);
	serve_answer(&q, &m);
	ck_assert(!m.fits && isnan(m.output_token_per_s));
	q = ask(SERVE_STATIC, 1000, 200);
	serve_answer(&q, &m);
	ck_assert(!m.fits);
	set(gpu_h100, &llama31_8b, bf16(), alone);
	q = ask(SERVE_STATIC, 1000, 200);
	q.n_batch = 1e6;
	serve_answer(&q, &m);
	ck_assert(!m.fits);
}
END_TEST

/* Decoding alone lives off the memory, prompts off arithmetic; the parts together never buy more than everything. */
START_TEST(limits)
{
	struct serve_metrics m;

	set(gpu_h100, &llama31_8b, bf16(), alone);
	struct serve_question q = ask(SERVE_STATIC, 100, 2000);
	serve_answer(&q, &m);
	struct serve_gains g = serve_elasticity(&q, &m);
	ck_assert_str_eq(serve_bound(&q, &m, &g), "memory bandwidth");
	ck_assert(g.mem_bandwidth > 0.05 && g.links == 0);
	ck_assert_double_lt(g.mem_bandwidth + g.arithmetic + g.links + g.host, 0.1001);
	q = ask(SERVE_PROMPT, 8000, 1);
	serve_answer(&q, &m);
	g = serve_elasticity(&q, &m);
	ck_assert_str_eq(serve_bound(&q, &m, &g), "compute");
	set(gpu_l40s, &llama31_70b, fp8(), TENSOR(4));
	q = ask(SERVE_OFFLINE, 2000, 200);
	serve_answer(&q, &m);
	g = serve_elasticity(&q, &m);
	ck_assert_str_eq(serve_bound(&q, &m, &g), "communication");
}
END_TEST

static bool
has_reason(const struct serve_judgement *j, const char *part)
{
	for (int i = 0; i < j->n; i++)
		if (strstr(j->reasons[i], part))
			return true;
	return false;
}

START_TEST(judgement)
{
	struct serve_metrics m;
	struct serve_judgement j;

	set(gpu_h100, &llama31_8b, fp8(), alone);
	struct serve_question q = ask(SERVE_OFFLINE, 1000, 1000);
	serve_answer(&q, &m);
	j = serve_judge(&q, &m);
	ck_assert_int_eq(j.trust, SERVE_TRUSTED);
	ck_assert_int_eq(j.n, 0);
	x.engine.warning = "nobody measured it";
	j = serve_judge(&q, &m);
	ck_assert_int_eq(j.trust, SERVE_WARNED);
	ck_assert(has_reason(&j, "nobody"));
	x.engine.refused = "eager";
	j = serve_judge(&q, &m);
	ck_assert_int_eq(j.trust, SERVE_REFUSED);
	/* 70B in 8 bits fills one card */
	set(gpu_h100, &llama31_70b, fp8(), alone);
	q = ask(SERVE_OFFLINE, 128, 2048);
	serve_answer(&q, &m);
	j = serve_judge(&q, &m);
	ck_assert(j.trust == SERVE_WARNED && has_reason(&j, "80 %"));
	/* a prompt alone does not care */
	q = ask(SERVE_PROMPT, 128, 1);
	serve_answer(&q, &m);
	j = serve_judge(&q, &m);
	ck_assert_int_eq(j.trust, SERVE_TRUSTED);
	/* HBM without NVLink */
	set(gpu_h100, &llama31_8b, bf16(), TENSOR(2));
	x.setup.links.linked = false;
	q = ask(SERVE_OFFLINE, 1000, 1000);
	serve_answer(&q, &m);
	j = serve_judge(&q, &m);
	ck_assert(has_reason(&j, "PCIe"));
	x.setup.layout.tp = 4;
	serve_answer(&q, &m);
	j = serve_judge(&q, &m);
	ck_assert(!has_reason(&j, "PCIe"));
}
END_TEST

Suite *serve_answer_suite(void);

Suite *
serve_answer_suite(void)
{
	Suite *s = suite_create("serve_answer");
	TCase *c = tcase_create("serve_answer");

	tcase_add_test(c, offline);
	tcase_add_test(c, online_and_saturated);
	tcase_add_test(c, closed_loop);
	tcase_add_test(c, too_large);
	tcase_add_test(c, limits);
	tcase_add_test(c, judgement);
	suite_add_tcase(s, c);
	return s;
}
