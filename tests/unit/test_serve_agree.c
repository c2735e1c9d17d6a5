/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The closed form and the simulation answer one question: over models, GPUs, engines, layouts and loads that are drawn
 * from a seed, they agree.  Both obey Little's law, and nothing is faster than the printed maximum.
 */
#include "db/db.h"
#include "search/plan/plan.h"
#include "search/simulate/simulate.h"

#include "base/base.h"

#include <check.h>
#include <math.h>
#include <string.h>

static struct arena *a;
static struct diag *d;
static struct database *db;

static void
set_up(void)
{
	a = arena_new();
	d = diag_new(a);
	db = database_new(a, d, ".");
}

static void
tear_down(void)
{
	arena_free(a);
}

/* --- replicas and loads ---------------------------------------------------------------------------------- */

struct subject {
	const struct workload *model;
	const struct gpu *gpu;
	const struct engine *engine;
	struct calibration kernels;
	struct serve_setup setup;
	struct serve_load load;
	char text[200];
};

static size_t
pick(uint64_t *stream, size_t n)
{
	return (size_t)(random_uniform(stream) * (double)n);
}

static double
between(uint64_t *stream, double low, double high)
{
	return round(low * pow(high / low, random_uniform(stream)));
}

/* Whether there is such a replica, and it has places for more than a handful. */
static bool
draw_subject(uint64_t *stream, struct subject *x)
{
	static const struct {
		const char *name;
		bool experts;
	} models[] = {{"llama3.1-8b", false}, {"llama3.1-70b", false}, {"qwen2.5-32b", false}, {"gemma2-9b", false},
	    {"mixtral-8x7b", true}, {"qwen3-30b-a3b", true}, {"gpt-oss-120b", true}, {"qwen3-235b-a22b", true},
	    {"llama4-scout", true}, {"deepseek-v3", true}, {"deepseek-v2-lite", true}};
	static const char *const gpus[] = {"h100-sxm5-80gb", "h200-sxm5-141gb", "a100-sxm4-80gb", "b200-sxm", "l40s"};
	static const char *const engines[] = {
	    "trtllm", "vllm", "sglang", "trtllm", "vllm", "sglang", "trtllm-0.17", "trtllm-triton", "vllm-0.6"};
	const size_t m = pick(stream, sizeof models / sizeof *models);
	const char *gpu = gpus[pick(stream, sizeof gpus / sizeof *gpus)],
	           *engine = engines[pick(stream, sizeof engines / sizeof *engines)], *said;
	const double tp = pow(2, (double)pick(stream, 4)), pp = pick(stream, 4) ? 1 : 2;
	const bool spread = pick(stream, 2) && models[m].experts, apart = !pick(stream, 4) && spread && tp > 1;
	const bool narrow = pick(stream, 2);

	x->model = database_model(db, models[m].name, NULL, (struct source){0}, &said);
	x->gpu = database_gpu(db, gpu, NULL, (struct source){0}, &said);
	x->engine = database_engine(db, a, d, engine, NULL, (struct source){0}, &said);
	x->load = (struct serve_load){.isl = between(stream, 100, 4000),
	    .osl = between(stream, 50, 1000),
	    .n_requests = datum_absent(),
	    .n_concurrent = datum_absent(),
	    .cold = true};
	ck_assert(x->model && x->gpu && x->engine);
	const enum dtype t = !narrow || x->gpu->lacks[PEAK_FP8] ? DTYPE_BF16 : DTYPE_FP8;
	const struct serve_parts p = {.model = x->model,
	    .gpu = x->gpu,
	    .engine = x->engine,
	    .consensus = database_calibration(db, gpu, NULL),
	    .own = database_calibration(db, gpu, x->engine->backend),
	    .compute = t,
	    .weights = t,
	    .kv = serve_usual_kv(x->engine, t),
	    .layout = {tp, pp, spread ? tp : 1, apart},
	    .linked = datum_given(x->gpu->link_byte_per_s)};

	snprintf(x->text, sizeof x->text, "%s %s %s %s tp=%g,pp=%g,ep=%g%s isl %g osl %g", models[m].name, gpu, engine,
	    dtype_name(t), tp, pp, p.layout.ep, apart ? ",adp" : "", x->load.isl, x->load.osl);
	return !serve_assemble(&x->setup, &x->kernels, &p) && serve_running(NULL, &x->setup, &x->load) >= 64;
}

static struct serve_question
question(const struct subject *x, enum serve_regime regime)
{
	return (struct serve_question){
	    .setup = &x->setup, .gpu = x->gpu, .regime = regime, .load = x->load, .n_batch = 1};
}

static struct simulation *
simulated(const struct subject *x, struct sim_traffic t)
{
	const char *fault;

	t.gap_cv = t.think_cv = 1;
	t.seed = 1;
	t.isl.mean_token = x->load.isl;
	t.osl.mean_token = x->load.osl;
	struct sim_config c = {.traffic = t,
	    .engine = simulate_setup(&x->setup, &x->load),
	    .n_replicas = 1,
	    .warmup_frac = t.ramp_s > 0 || !t.n_clients ? SIMULATE_WARMUP : 0,
	    .objectives = {NAN, NAN, NAN}};
	c.engine.cold_s = c.warmup_frac > 0 ? 0 : serve_cold(&x->setup, &x->load);
	struct simulation *s = simulate(&c, &fault);
	ck_assert_msg(s, "%s", fault ? fault : "");
	return s;
}

static int
differs(const struct subject *x, double part, const char *what, double closed, double found, double tolerance)
{
	if (fabs(closed / found - 1) <= tolerance)
		return 0;
	fprintf(stderr, "%s, %.3f of the maximum: %s %.4g, simulated %.4g\n", x->text, part, what, closed, found);
	return 1;
}

/* --- the laws -------------------------------------------------------------------------------------------- */

enum { SUBJECTS = 150, CLOSED_SUBJECTS = 60, FULL_SUBJECTS = 60 };

/* Every rate from 0.5 % to 80 % of the maximum: within 15 %. */
START_TEST(at_a_rate)
{
	static const double parts[] = {0.005, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8};
	uint64_t stream = 2026;
	int n_faults = 0;

	for (int n = 0; n < SUBJECTS;) {
		struct subject x;
		struct serve_metrics m;
		const double part = parts[pick(&stream, sizeof parts / sizeof *parts)];
		if (!draw_subject(&stream, &x))
			continue;
		n++;
		struct serve_question q = question(&x, SERVE_ONLINE);
		serve_answer(&q, &m);
		q.rate_request_per_s = part * m.saturation_request_per_s;
		serve_answer(&q, &m);
		ck_assert_msg(!m.saturated, "%s: saturated at %g of the maximum", x.text, part);
		struct simulation *s = simulated(&x,
		    (struct sim_traffic){.n_requests = (size_t)simulate_enough(NAN, m.n_running, SIMULATE_WARMUP),
		        .rate_request_per_s = q.rate_request_per_s});
		const struct sim_result *r = simulation_result(s);
		n_faults += differs(&x, part, "TTFT", m.first_s, r->ttft.mean, 0.15) +
		    differs(&x, part, "TPOT", m.step_s, r->tpot.mean, 0.15) +
		    differs(&x, part, "throughput", m.output_token_per_s, r->output_token_per_s, 0.15) +
		    differs(&x, part, "running", m.n_running, r->mean_running, 0.2);
		simulation_free(s);
	}
	ck_assert_int_eq(n_faults, 0);
}
END_TEST

/* Clients that wait and think, from one to twice as many as have a place.  Answers that are all alike would bring
 * clients together who once met.  Little: N = X (R + Z). */
START_TEST(clients)
{
	static const double pauses[] = {0, 0, 1, 30};
	uint64_t stream = 11;
	int n_faults = 0;

	for (int n = 0; n < CLOSED_SUBJECTS;) {
		struct subject x;
		struct serve_metrics m;
		const double pause_s = pauses[pick(&stream, sizeof pauses / sizeof *pauses)];
		if (!draw_subject(&stream, &x))
			continue;
		n++;
		const double places = serve_running(NULL, &x.setup, &x.load), most = fmin(2 * places, 1000);
		const double n_clients = between(&stream, 1, most);
		struct serve_question q = question(&x, SERVE_CLOSED);
		q.load.n_concurrent.value = n_clients;
		q.think_s = pause_s;
		serve_answer(&q, &m);
		const double cycle_s = m.first_s + (x.load.osl - 1) * m.step_s + pause_s;
		ck_assert_double_eq_tol(m.request_per_s * cycle_s / n_clients, 1, 0.01);
		struct simulation *s = simulated(&x,
		    (struct sim_traffic){.n_requests = (size_t)(fmax(2000, 40 * n_clients)),
		        .n_clients = (size_t)n_clients,
		        .think_s = pause_s,
		        .ramp_s = cycle_s,
		        .osl = {.kind = SIM_LOG_NORMAL, .cv = 0.2}});
		const struct sim_result *r = simulation_result(s);
		const double part = m.request_per_s / m.saturation_request_per_s;
		n_faults += differs(&x, part, "clients by Little's law", n_clients,
		                r->request_per_s * (r->e2e.mean + pause_s), pause_s > 0 ? 0.04 : 0.01) +
		    (part < 0.9 ? differs(&x, part, "TPOT of clients", m.step_s, r->tpot.mean, 0.15) : 0) +
		    differs(&x, part, "throughput of clients", m.output_token_per_s, r->output_token_per_s, 0.15);
		simulation_free(s);
	}
	ck_assert_int_eq(n_faults, 0);
}
END_TEST

/* A benchmark: all clients begin at once, each sends ten requests of varying lengths. */
START_TEST(finite_runs)
{
	uint64_t stream = 17;
	int n_faults = 0;

	for (int n = 0; n < CLOSED_SUBJECTS;) {
		struct subject x;
		struct serve_metrics m;
		if (!draw_subject(&stream, &x))
			continue;
		n++;
		const double places = serve_running(NULL, &x.setup, &x.load),
		             n_clients = between(&stream, 2, fmin(places, 64));
		struct serve_question q = question(&x, SERVE_CLOSED);
		q.load.n_concurrent.value = n_clients;
		q.load.n_requests = (struct datum){10 * n_clients, {NULL, 0, 0, NULL, false}};
		serve_answer(&q, &m);
		/* where prompts take most of the time the clients stay in step */
		if (serve_in_step(&q, &m))
			continue;
		struct simulation *s = simulated(&x,
		    (struct sim_traffic){.n_requests = (size_t)(10 * n_clients),
		        .n_clients = (size_t)n_clients,
		        .rate_request_per_s = INFINITY,
		        .isl = {.kind = SIM_LOG_NORMAL, .cv = 0.1},
		        .osl = {.kind = SIM_LOG_NORMAL, .cv = 0.4}});
		const struct sim_result *r = simulation_result(s);
		n_faults += differs(&x, n_clients, "TTFT of a run", m.first_s, r->ttft.mean, 0.25) +
		    differs(&x, n_clients, "its median", m.first_p50_s, r->ttft.p50, 0.35) +
		    differs(&x, n_clients, "its P99", m.first_p99_s, r->ttft.p99, 0.35);
		simulation_free(s);
	}
	ck_assert_int_eq(n_faults, 0);
}
END_TEST

/* Half as many again as the replica takes, of answers that vary: it never gives more than the maximum. */
START_TEST(overload)
{
	uint64_t stream = 5;
	int n_faults = 0;

	for (int n = 0; n < FULL_SUBJECTS;) {
		struct subject x;
		struct serve_metrics m;
		if (!draw_subject(&stream, &x))
			continue;
		n++;
		struct serve_question q = question(&x, SERVE_ONLINE);
		q.rate_request_per_s = 1e-6;
		serve_answer(&q, &m);
		const double places = serve_running(NULL, &x.setup, &x.load), most = m.saturation_request_per_s;
		struct simulation *s = simulated(&x,
		    (struct sim_traffic){.n_requests = (size_t)fmin(30000, 15 * places),
		        .rate_request_per_s = 1.5 * most,
		        .osl = {.kind = SIM_LOG_NORMAL, .cv = 0.5}});
		const struct sim_result *r = simulation_result(s);
		if (r->request_per_s > 1.05 * most)
			n_faults += differs(&x, 1.5, "requests per second", most, r->request_per_s, 0);
		simulation_free(s);
	}
	ck_assert_int_eq(n_faults, 0);
}
END_TEST

Suite *serve_agree_suite(void);

Suite *
serve_agree_suite(void)
{
	Suite *s = suite_create("serve_agree");
	TCase *t = tcase_create("serve_agree");
	tcase_set_tags(t, "slow");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 300);
	tcase_add_test(t, at_a_rate);
	tcase_add_test(t, clients);
	tcase_add_test(t, finite_runs);
	tcase_add_test(t, overload);
	suite_add_tcase(s, t);
	return s;
}
