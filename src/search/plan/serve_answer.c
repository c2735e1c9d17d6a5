/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Evaluate a serving setup in closed form: offline, online, static batch, prefill; its bottleneck. */
#include "search/plan/plan.h"

#include "model/serve/serve.h"

#include <string.h>

struct unfused_gpu
serve_unfused_gpu(const struct serve_setup *s, const struct gpu *gpu)
{
	const struct datum fast = gpu->peak_flop_per_s[PEAK_FP16_FP16ACC];
	struct unfused_gpu u = {
	    datum_given(fast) ? fast : gpu->peak_flop_per_s[PEAK_FP16], gpu->mem_byte_per_s, datum_absent()};

	if (s->architecture && datum_given(s->architecture->watt_flop) && datum_given(gpu->tdp_watt)) {
		u.limit_flop_per_s = s->architecture->watt_flop;
		u.limit_flop_per_s.value *= gpu->tdp_watt.value;
	}
	return u;
}

static bool
is_unfused(const struct serve_setup *s)
{
	return s->engine->unfused.n_kernels.value > 0;
}

static void
keep_step(const struct serve_question *q, struct serve_metrics *m, struct serve_batch batch)
{
	m->batch = batch;
	serve_iteration(NULL, q->setup, &batch, &m->terms);
}

static struct serve_batch
decode_batch(const struct serve_question *q, double n)
{
	const struct serve_load *l = &q->load;
	struct serve_batch b = serve_step(0, 0, n / fmin(n, q->setup->layout.pp), l->isl + (l->osl + 1) / 2);

	b.n_drafts = l->n_drafts;
	return b;
}

/* --- one regime each ------------------------------------------------------------------------------------- */

static void
answer_offline(const struct serve_question *q, struct serve_metrics *m)
{
	const struct serve_load *l = &q->load;
	const double n_starting = serve_starting(NULL, q->setup, l, m->n_running),
	             step_s = serve_steady(NULL, q->setup, l, n_starting);

	m->step_s = serve_token_time(NULL, l, step_s);
	m->output_token_per_s = datum_given(l->n_requests)
	    ? serve_run_rate(NULL, l->n_requests.value, l->osl, serve_waves(NULL, q->setup, l, m->n_running))
	    : serve_token_rate(NULL, serve_request_rate(NULL, n_starting, step_s), l->osl);
	m->request_per_s = m->output_token_per_s / l->osl;
	keep_step(q, m, decode_batch(q, m->n_running));
}

/* What a request meets makes its latencies. */
static void
keep_flow(const struct serve_question *q, struct serve_metrics *m)
{
	const struct serve_flow *f = &m->flow;

	m->n_running = f->n_running;
	m->first_s = serve_flow_first(NULL, q->setup, &q->load, f);
	m->step_s = serve_flow_step(NULL, q->setup, &q->load, f);
	m->answer_s = serve_answer_time(NULL, m->first_s, m->step_s, q->load.osl);
	keep_step(q, m, decode_batch(q, f->n_decoding));
}

/* A run that ends: it begins with as many prompts as there are clients, or places. */
static void
keep_run(const struct serve_question *q, struct serve_metrics *m)
{
	const double n = q->load.n_requests.value,
	             n_together = fmin(n, fmin(q->load.n_concurrent.value, m->flow.n_places));

	m->steady_first_s = m->first_s;
	serve_burst(NULL, q->setup, &q->load, n_together, serve_cold(q->setup, &q->load), &m->burst);
	m->first_s = serve_run_first(NULL, &m->burst, n, m->steady_first_s);
	m->first_p50_s = serve_run_quantile(NULL, &m->burst, n, m->steady_first_s, 0.5);
	m->first_p99_s = serve_run_quantile(NULL, &m->burst, n, m->steady_first_s, 0.99);
	m->answer_s = serve_answer_time(NULL, m->first_s, m->step_s, q->load.osl);
}

bool
serve_in_step(const struct serve_question *q, const struct serve_metrics *m)
{
	struct serve_burst all;

	serve_burst(NULL, q->setup, &q->load, fmin(q->load.n_concurrent.value, m->flow.n_places), 0, &all);
	return all.last_s - all.soonest_s > (m->answer_s + q->think_s) / 2;
}

static void
answer_closed(const struct serve_question *q, struct serve_metrics *m)
{
	const double clients = q->load.n_concurrent.value;

	if (!serve_flow_closed(q->setup, &q->load, clients, q->think_s, &m->flow))
		return;
	keep_flow(q, m);
	if (datum_given(q->load.n_requests))
		keep_run(q, m);
	m->request_per_s = serve_user_rate(NULL, clients, m->answer_s, q->think_s);
	m->output_token_per_s = serve_token_rate(NULL, m->request_per_s, q->load.osl);
}

static void
answer_online(const struct serve_question *q, struct serve_metrics *m)
{
	m->saturated = !(q->rate_request_per_s < m->saturation_request_per_s) ||
	    !serve_flow_open(q->setup, &q->load, q->rate_request_per_s, &m->flow);
	if (m->saturated)
		return;
	keep_flow(q, m);
	m->request_per_s = q->rate_request_per_s;
	m->output_token_per_s = serve_token_rate(NULL, q->rate_request_per_s, q->load.osl);
}

static double
prompt_time(const struct serve_question *q)
{
	if (!is_unfused(q->setup))
		return serve_first(NULL, q->setup, &q->load, q->n_batch);
	const struct unfused_gpu gpu = serve_unfused_gpu(q->setup, q->gpu);
	return q->n_batch * unfused_prompt(NULL, q->setup, &gpu, q->load.isl);
}

static void
answer_static(const struct serve_question *q, struct serve_metrics *m)
{
	const struct serve_load *l = &q->load;

	m->n_running = q->n_batch;
	m->first_s = prompt_time(q);
	m->step_s = serve_token_time(NULL, l, serve_decode(NULL, q->setup, l, q->n_batch));
	if (q->row_split)
		m->step_s = row_split_step(NULL, q->setup, q->setup->layout.pp, m->step_s);
	m->answer_s = serve_static(NULL, m->first_s, m->step_s, l->osl);
	m->output_token_per_s = q->n_batch * l->osl / m->answer_s;
	m->request_per_s = q->n_batch / m->answer_s;
	keep_step(q, m, decode_batch(q, q->n_batch));
}

static void
answer_prompt(const struct serve_question *q, struct serve_metrics *m)
{
	m->n_running = q->n_batch;
	m->first_s = m->answer_s = prompt_time(q);
	m->prompt_token_per_s = q->n_batch * q->load.isl / m->first_s;
	m->request_per_s = q->n_batch / m->first_s;
	const double cached = q->load.isl * q->load.cached_frac;
	keep_step(q, m,
	    (struct serve_batch){
	        q->n_batch / fmin(q->n_batch, q->setup->layout.pp), q->load.isl - cached, cached, 0, 0, q->n_batch, 0});
}

static void
answer_encode(const struct serve_question *q, struct serve_metrics *m)
{
	const double n_part = q->n_batch / serve_encode_parts(NULL, q->setup, q->n_batch);

	keep_step(q, m, (struct serve_batch){n_part, q->load.isl, 0, 0, 0, 0, 0});
	m->n_running = q->n_batch;
	m->answer_s = m->first_s = serve_encode(NULL, q->setup, q->load.isl, q->n_batch);
	m->prompt_token_per_s = q->n_batch * q->load.isl / m->answer_s;
	m->request_per_s = q->n_batch / m->answer_s;
}

/* --- together -------------------------------------------------------------------------------------------- */

static void
answer_room(const struct serve_question *q, struct serve_metrics *m)
{
	struct memory_job job = serve_memory(q->setup, &q->load);
	struct memory_use use;

	m->weight_byte = serve_weights(NULL, q->setup);
	m->pool_token = q->regime == SERVE_ENCODE ? 0 : serve_pool(NULL, q->setup, &q->load);
	m->n_running = serve_running(NULL, q->setup, &q->load);
	switch (q->regime) {
	case SERVE_ENCODE:
		m->fits = m->weight_byte < q->setup->mem_byte.value;
		break;
	case SERVE_STATIC:
	case SERVE_PROMPT:
		/* engines that hold one batch may take all of the card, and hold no blocks */
		job.batch.value = q->n_batch;
		memory_peak(NULL, &job, &use);
		m->fits = use.weights + use.kv <= q->setup->mem_byte.value;
		break;
	default:
		m->fits = m->n_running >= 1;
	}
}

static double
saturation(const struct serve_question *q)
{
	struct serve_load endless = q->load;

	endless.n_requests = endless.n_concurrent = datum_absent();
	const double n_starting = serve_starting(NULL, q->setup, &endless, serve_running(NULL, q->setup, &endless));
	return serve_request_rate(NULL, n_starting, serve_steady(NULL, q->setup, &endless, n_starting));
}

void
serve_answer(const struct serve_question *q, struct serve_metrics *out)
{
	static void (*const answers[])(const struct serve_question *q, struct serve_metrics *m) = {
	    [SERVE_OFFLINE] = answer_offline,
	    [SERVE_CLOSED] = answer_closed,
	    [SERVE_ONLINE] = answer_online,
	    [SERVE_STATIC] = answer_static,
	    [SERVE_PROMPT] = answer_prompt,
	    [SERVE_ENCODE] = answer_encode,
	};
	static const struct serve_metrics nothing = {.first_s = NAN,
	    .steady_first_s = NAN,
	    .first_p50_s = NAN,
	    .first_p99_s = NAN,
	    .step_s = NAN,
	    .answer_s = NAN,
	    .output_token_per_s = NAN,
	    .prompt_token_per_s = NAN,
	    .request_per_s = NAN,
	    .saturation_request_per_s = NAN};

	*out = nothing;
	answer_room(q, out);
	if (!out->fits)
		return;
	if (q->regime == SERVE_ONLINE || q->regime == SERVE_OFFLINE || q->regime == SERVE_CLOSED)
		out->saturation_request_per_s = saturation(q);
	answers[q->regime](q, out);
}

/* --- what limits ----------------------------------------------------------------------------------------- */

/* The question with one rate a tenth higher. */
struct faster {
	struct calibration kernels;
	struct engine engine;
	struct engine_architecture architecture;
	struct serve_setup setup;
	struct serve_question question;
};

static void
faster_copy(struct faster *f, const struct serve_question *q)
{
	f->kernels = *q->setup->kernels;
	f->engine = *q->setup->engine;
	f->setup = *q->setup;
	f->setup.kernels = &f->kernels;
	f->setup.engine = &f->engine;
	if (q->setup->architecture) {
		f->architecture = *q->setup->architecture;
		f->setup.architecture = &f->architecture;
	}
	f->question = *q;
	f->question.setup = &f->setup;
}

static void
times(struct datum *d, double factor)
{
	d->value *= factor;
}

static void
more_bandwidth(struct faster *f, double x)
{
	struct calibration *k = &f->kernels;

	for (int t = 0; t < N_DTYPES; t++) {
		times(&k->gemm[t].mem_byte_per_s, x);
		times(&k->moe[t].mem_byte_per_s, x);
		times(&k->moe[t].permute_byte_per_s, x);
	}
	times(&k->context.mem_byte_per_s, x);
	times(&k->generation.mem_byte_per_s, x);
	times(&k->generation.query_byte_per_s, x);
	for (int i = 0; i < N_ATTENTION_FITS; i++) {
		times(&k->attention_by[i].context.mem_byte_per_s, x);
		times(&k->attention_by[i].generation.mem_byte_per_s, x);
		times(&k->attention_by[i].generation.query_byte_per_s, x);
	}
	times(&k->mla_context.mem_byte_per_s, x);
	times(&k->mla_generation.mem_byte_per_s, x);
	times(&k->mla_generation.query_byte_per_s, x);
	times(&k->ref_mem_byte_per_s, x);
}

static void
more_arithmetic(struct faster *f, double x)
{
	struct calibration *k = &f->kernels;

	for (int t = 0; t < N_DTYPES; t++) {
		times(&k->gemm[t].peak_flop_per_s, x);
		times(&k->moe[t].peak_flop_per_s, x);
	}
	times(&k->context.flop_per_s, x);
	times(&k->mla_context.flop_per_s, x);
	times(&k->mla_generation.flop_per_s, x);
	for (int i = 0; i < N_ATTENTION_FITS; i++)
		times(&k->attention_by[i].context.flop_per_s, x);
	times(&f->engine.core_element, x);
	times(&f->architecture.core_element, x);
}

static void
more_links(struct faster *f, double x)
{
	struct calibration *k = &f->kernels;

	for (int c = 0; c < N_COLLECTIVES; c++)
		times(&k->collective[c].bus_byte_per_s, x);
	for (int i = 0; i < k->n_custom; i++) {
		times(&k->custom[i].one_byte_per_s, x);
		times(&k->custom[i].two_byte_per_s, x);
	}
	times(&f->setup.links.link_byte_per_s, x);
	times(&f->setup.links.pcie_byte_per_s, x);
}

static void
less_host(struct faster *f, double x)
{
	times(&f->engine.host_s, 1 / x);
	times(&f->engine.prefill_s, 1 / x);
	times(&f->engine.sequence_s, 1 / x);
}

/* What people want more of: output, or prompts; at a given rate, less time per answer. */
static double
merit(const struct serve_question *q, const struct serve_metrics *m)
{
	if (q->regime == SERVE_ONLINE || q->regime == SERVE_STATIC || isnan(m->output_token_per_s))
		return 1 / m->answer_s;
	return m->output_token_per_s;
}

struct serve_gains
serve_elasticity(const struct serve_question *q, const struct serve_metrics *now)
{
	static void (*const changes[])(struct faster * f, double x) = {
	    more_bandwidth, more_arithmetic, more_links, less_host};
	const bool alone = q->setup->layout.tp * q->setup->layout.pp <= 1;
	double gains[4] = {0};
	struct faster f;

	for (int i = 0; i < 4; i++) {
		struct serve_metrics then;
		if (changes[i] == more_links && alone)
			continue;
		faster_copy(&f, q);
		changes[i](&f, 1.1);
		serve_answer(&f.question, &then);
		gains[i] = merit(q, &then) / merit(q, now) - 1;
	}
	return (struct serve_gains){gains[0], gains[1], gains[2], gains[3]};
}

const char *
serve_bound(const struct serve_question *q, const struct serve_metrics *m, const struct serve_gains *g)
{
	const struct {
		const char *name;
		double gain;
	} limits[] = {{"memory bandwidth", g->mem_bandwidth}, {"compute", g->arithmetic}, {"communication", g->links},
	    {"host", g->host}};
	size_t most = 0;

	for (size_t i = 1; i < sizeof limits / sizeof *limits; i++)
		if (limits[i].gain > limits[most].gain)
			most = i;
	/* fewer run than the engine would take, because the cache is full */
	const double cap = q->setup->engine->max_sequences.value *
	    (q->setup->layout.attention_dp ? q->setup->layout.tp : 1) * q->setup->layout.pp;
	const bool starved = q->regime == SERVE_OFFLINE && m->n_running < 0.5 * cap && m->n_running < 64 &&
	    (!datum_given(q->load.n_requests) || m->n_running < q->load.n_requests.value);
	return starved ? "KV capacity" : limits[most].name;
}
