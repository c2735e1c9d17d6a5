/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Validate published serving runs: throughput and latency. */
#include "ask/validate/validate.h"

#include "ask/bind/bind.h"
#include "ask/serve/serve.h"
#include "model/kernel/kernel.h"
#include "search/simulate/simulate.h"

#include <stdio.h>
#include <string.h>

/* --- single kernels: GEMMs, by their shape --------------------------------------------------------- */

struct serve_kernel {
	double predicted_s, measured_s;
	struct interval band;
	const char *warning;
};

/* Types that kernels' authors name otherwise than elsewhere. */
static enum dtype
type_of(const char *text)
{
	if (!text || strncmp(text, "fp16", 4) == 0 || strncmp(text, "bf16", 4) == 0)
		return DTYPE_BF16;
	if (strncmp(text, "fp8-block", 9) == 0)
		return DTYPE_FP8_BLOCK;
	return strncmp(text, "fp8", 3) == 0 ? DTYPE_FP8 : N_DTYPES;
}

/* Else why the row is none that is predicted. */
static const char *
serve_row_kernel(struct run *r, const struct validate_row *row, struct serve_kernel *out)
{
	const char *kernel = row_text(row, "kernel"), *shape = row_text(row, "kernel_shape");
	const char *gpu_id = row_text(row, "gpu_id");
	double m, n, k;

	if (!kernel || strncmp(kernel, "gemm", 4) != 0 || strstr(kernel, "grouped"))
		return "kernel is not a GEMM";
	if (!shape || sscanf(shape, "M=%lf N=%lf K=%lf", &m, &n, &k) != 3 || !(m > 0 && n > 0 && k > 0))
		return "kernel shape not given";
	const struct gpu *gpu = gpu_id ? run_gpu(r, (struct word){gpu_id, {0}}) : NULL;
	if (!gpu)
		return "GPU not in the database";
	enum dtype t = type_of(row_text(row, "weight_dtype"));
	const struct calibration *c = bind_kernels(r, gpu, NULL, KERNELS_ROOFLINE, NULL);
	if (t == DTYPE_BF16 && c && !gemm_calibrated(c, t))
		t = DTYPE_FP16;
	if (t == N_DTYPES || !c || !gemm_calibrated(c, t))
		return "no kernel measurements for this GPU or a similar one";
	const struct gemm_shape s = gemm_shape_of(m, n, k, t);
	const double flop = 2 * m * n * k;
	const struct error_source source = {
	    .fit = c, .kind = "gemm", .one_engine = true, .n = 3, .at = {{"m", m}, {"n", n}, {"k", k}}};

	out->predicted_s = gemm_time(NULL, &s, c, t);
	/* where the rate alone is printed, it is that of the same operations */
	out->measured_s = row_number(row, "time_us") > 0 ? row_number(row, "time_us") * 1e-6
	                                                 : flop / (row_number(row, "tflops") * 1e12);
	out->warning = c->transferred_from ? c->transfer_note : "library without a fit";
	if (!run_interval(r, &source, out->predicted_s, &out->band))
		out->band = (struct interval){NAN, NAN, NULL};
	return out->measured_s > 0 && isfinite(out->measured_s) ? NULL : "nothing was measured";
}

/* --- simulation ---------------------------------------------------------------------------------------------- */

/* Published runs of some hundred requests that come at random or in a loop begin empty and end with whoever is left,
 * which a simulation of as many requests does too. */

/* Latencies and rates of a run with a fixed number of requests. */
struct serve_run {
	double first_mean_s, first_p50_s, step_mean_s, step_p50_s, answer_s;
	double output_token_per_s, total_token_per_s, request_per_s;
};

enum { SEEDS = 8, MOST_REQUESTS = 20000 };

/* Whether the run is short enough to be simulated. */
static bool
serve_row_simulates(const struct serve_question *q)
{
	return q->setup->engine->kind == ENGINE_BATCHED && q->load.n_requests.value >= 1 &&
	    q->load.n_requests.value <= MOST_REQUESTS;
}

static struct sim_lengths
lengths_of(double mean, double cv)
{
	return (struct sim_lengths){cv > 0 ? SIM_LOG_NORMAL : SIM_CONSTANT, mean, cv, NULL, 0};
}

static bool
simulate_seed(const struct serve_question *q, const struct serve_spread *spread, int seed, struct serve_run *out)
{
	struct sim_config c = {
	    .traffic = {.n_requests = (size_t)q->load.n_requests.value,
	        .rate_request_per_s = q->regime == SERVE_ONLINE ? q->rate_request_per_s : INFINITY,
	        .gap_cv = 1,
	        .n_clients = q->regime == SERVE_CLOSED ? (size_t)q->load.n_concurrent.value : 0,
	        .isl = lengths_of(q->load.isl, spread->isl_cv),
	        .osl = lengths_of(q->load.osl, spread->osl_cv),
	        .cached_frac = q->load.cached_frac,
	        .seed = (uint64_t)seed},
	    .engine = simulate_setup(q->setup, &q->load),
	    .n_replicas = 1,
	    .n_threads = 1,
	    .objectives = {NAN, NAN, NAN},
	};
	const char *fault;
	struct simulation *s = simulate(&c, &fault);

	if (!s)
		return false;
	const struct sim_result *r = simulation_result(s);
	*out = (struct serve_run){.first_mean_s = r->ttft.mean,
	    .first_p50_s = r->ttft.p50,
	    .step_mean_s = r->itl.mean,
	    .step_p50_s = r->itl.p50,
	    .answer_s = r->e2e.mean,
	    .output_token_per_s = r->output_token_per_s,
	    .total_token_per_s = r->total_token_per_s,
	    .request_per_s = r->request_per_s};
	const bool all = r->n_finished == c.traffic.n_requests;
	simulation_free(s);
	return all;
}

/* Means over some seeds; false when not all is answered. */
static bool
serve_row_simulate(const struct serve_question *q, const struct serve_spread *spread, struct serve_run *out)
{
	const int n = q->load.n_requests.value > 2000 ? 1 : SEEDS;
	struct serve_run sum = {0}, one;

	for (int i = 1; i <= n; i++) {
		if (!simulate_seed(q, spread, i, &one))
			return false;
		sum.first_mean_s += one.first_mean_s / n;
		sum.first_p50_s += one.first_p50_s / n;
		sum.step_mean_s += one.step_mean_s / n;
		sum.step_p50_s += one.step_p50_s / n;
		sum.answer_s += one.answer_s / n;
		sum.output_token_per_s += one.output_token_per_s / n;
		sum.total_token_per_s += one.total_token_per_s / n;
		sum.request_per_s += one.request_per_s / n;
	}
	*out = sum;
	return true;
}

/* --- a row as a question ------------------------------------------------------------------------------------- */

struct serve_reader {
	struct run quiet; /* faults of a row are reasons to skip it, not errors */
	struct serve_engines engines;
	const struct engine *engine; /* of all rows; NULL: what each says */
};

/* A row as a question. */
struct asked {
	struct serve_parts parts;
	struct serve_setup setup;
	struct serve_question question;
	double n_gpus;
	const char *warning; /* what was assumed */
};

static bool
recognises(const struct validate_file *f)
{
	return validate_has(f, "out_tps_total") && validate_has(f, "isl") && validate_has(f, "osl");
}

/* What a column holds, and what is predicted for it. */
struct outcome {
	const char *column, *kind, *unit;
	double scale; /* of the column's unit */
	double predicted;
};

static void
label(struct score_case *c, const struct validate_row *row, const char *engine, const char *kind)
{
	static const struct row_label labels[] = {{SCORE_BY_SOURCE, "source"}, {SCORE_BY_GPU, "gpu_id"},
	    {SCORE_BY_PRECISION, "weight_dtype"}, {SCORE_BY_CONFIDENCE, "confidence"}, {SCORE_BY_KIND, "kind"}};

	row_labels(c, row, labels, sizeof labels / sizeof *labels);
	c->label[SCORE_BY_REGIME] = kind;
	c->label[SCORE_BY_FRAMEWORK] = engine;
}

/* GPU, model, engine, types. */
static const char *
ask_parts(struct serve_reader *x, const struct validate_row *row, struct asked *a)
{
	struct run *r = &x->quiet;
	const char *model = row_text(row, "model_key"), *gpu = row_text(row, "gpu_id");
	struct serve_parts *p = &a->parts;
	bool near = false;

	if (!row_text(row, "kind") || row_is(row, "kind", "kernel"))
		return "a kernel";
	if (!gpu)
		return "GPU not in the database";
	model = model ? model : row_text(row, "model");
	p->model = model ? run_model(r, (struct word){model, {0}}) : NULL;
	if (!p->model)
		return "unknown model";
	p->gpu = run_gpu(r, (struct word){gpu, {0}});
	if (!p->gpu)
		return "GPU not in the database";
	p->engine = x->engine ? x->engine : serve_row_engine(&x->engines, r, row, &near);
	if (!p->engine)
		return "unknown software";
	if (near)
		a->warning = "neighboring software version";
	p->linked = datum_given(p->gpu->link_byte_per_s) && !p->gpu->link_bridge;
	p->consensus = bind_kernels(r, p->gpu, NULL, KERNELS_SERVE, p->engine->backend);
	return serve_row_types(row, p);
}

static const char *
assemble(struct serve_reader *x, struct asked *a)
{
	const char *why = serve_assemble(&a->setup, ARENA_NEW(x->quiet.arena, struct calibration), &a->parts);

	a->question.setup = &a->setup;
	return why;
}

static double
n_replicas(const struct asked *a)
{
	return a->n_gpus / (a->setup.layout.tp * a->setup.layout.pp);
}

/* One replica's share of clients, requests and their rate. */
static struct serve_question
share_of(const struct asked *a)
{
	const double n = n_replicas(a);
	struct serve_question q = a->question;

	if (!(n > 1))
		return q;
	q.rate_request_per_s /= n;
	q.load.n_concurrent.value = fmax(1, q.load.n_concurrent.value / n);
	q.load.n_requests.value = fmax(1, q.load.n_requests.value / n);
	if (!datum_given(a->question.load.n_concurrent))
		q.load.n_concurrent = datum_absent();
	if (!datum_given(a->question.load.n_requests))
		q.load.n_requests = datum_absent();
	return q;
}

/* Where only the number of GPUs is printed, people take what is fastest: the layout with the most output. */
static const char *
best_layout(struct serve_reader *x, struct asked *a)
{
	struct serve_layout best = {0};
	double most = 0;

	for (double tp = 1; tp <= fmin(8, a->n_gpus); tp *= 2)
		for (double pp = 1; pp <= 2 && tp * pp <= a->n_gpus; pp *= 2) {
			struct serve_metrics m;
			if (fmod(a->n_gpus, tp * pp) != 0)
				continue;
			a->parts.layout = (struct serve_layout){tp, pp, 1, false};
			if (assemble(x, a))
				continue;
			struct serve_question q = share_of(a);
			serve_answer(&q, &m);
			if (!m.fits || m.saturated || !(m.output_token_per_s * n_replicas(a) > most))
				continue;
			most = m.output_token_per_s * n_replicas(a);
			best = a->parts.layout;
		}
	if (!(most > 0))
		return "no layout fits";
	a->warning = "layout not published: the fastest assumed";
	a->parts.layout = best;
	return assemble(x, a);
}

static const char *
ask(struct serve_reader *x, const struct validate_row *row, struct asked *a)
{
	const char *why = ask_parts(x, row, a);

	if (!why)
		why = serve_row_layout(row, &a->parts, &a->n_gpus);
	a->question = (struct serve_question){.setup = &a->setup, .gpu = a->parts.gpu};
	if (!why)
		why = serve_row_load(row, &a->parts, &a->question, &a->warning);
	if (why)
		return why;
	if (a->parts.layout.tp == 0)
		why = a->question.regime == SERVE_ONLINE ? "layout not given" : best_layout(x, a);
	else
		why = assemble(x, a);
	if (!why)
		a->question = share_of(a);
	return why;
}

/* --- outcomes -------------------------------------------------------------------------------------------- */

/* What the run shows, in closed form or simulated.  Beyond saturation latencies grow for as long as requests come:
 * they are left out. */
static void
answer(struct asked *a, const struct validate_row *row, struct serve_metrics *m, struct serve_run *run)
{
	struct serve_question *q = &a->question;
	const struct serve_spread spread = serve_row_spread(row, &q->load);

	serve_answer(q, m);
	const bool full = m->saturated || q->regime == SERVE_OFFLINE;
	if (m->saturated) {
		struct serve_question all = *q;
		all.regime = SERVE_OFFLINE;
		serve_answer(&all, m);
	}
	*run = (struct serve_run){m->first_s, m->first_s, m->step_s, m->step_s, m->answer_s, m->output_token_per_s,
	    m->output_token_per_s * (q->load.isl + q->load.osl) / q->load.osl, m->request_per_s};
	const bool comes = q->regime == SERVE_ONLINE || q->regime == SERVE_CLOSED ||
	    (q->regime == SERVE_OFFLINE && row_is(row, "kind", "online-serving"));
	if (m->fits && comes && serve_row_simulates(q))
		serve_row_simulate(q, &spread, run);
	if (full)
		run->first_mean_s = run->first_p50_s = run->step_mean_s = run->step_p50_s = run->answer_s = NAN;
}

/* Which columns this question answers: of runs where everything waits from the start, how much they put out. */
static int
outcomes(const struct asked *a, const struct serve_metrics *m, const struct serve_run *run,
    const struct validate_row *row, struct outcome *out)
{
	const struct serve_question *q = &a->question;
	const bool stream = row_is(row, "kind", "latency-batch1");
	const bool arrives = row_is(row, "kind", "online-serving");
	const bool pass = q->regime == SERVE_PROMPT || q->regime == SERVE_ENCODE, timed = stream || arrives || pass;
	const double n = n_replicas(a), none = NAN;
	const struct outcome all[] = {
	    {"out_tps_user", "decode", "x_token_per_s", 1, stream ? 1 / m->step_s : none},
	    {"prefill_tps", "prompt", "x_token_per_s", 1, m->prompt_token_per_s},
	    {"out_tps_total", "throughput", "x_token_per_s", 1, n * run->output_token_per_s},
	    {"out_tps_per_gpu", "throughput", "x_token_per_s", 1, n * run->output_token_per_s / a->n_gpus},
	    {"total_tps", "throughput", "x_token_per_s", 1, n * run->total_token_per_s},
	    {"latency_ms", "latency", "x_s", 1e-3,
	        arrives    ? none
	            : pass ? m->first_s
	                   : m->answer_s},
	    {"req_per_s", "throughput", "x_per_s", 1, n * run->request_per_s},
	    {"ttft_ms_mean", "ttft", "x_s", 1e-3, timed ? run->first_mean_s : none},
	    {"ttft_ms_p50", "ttft", "x_s", 1e-3, timed ? run->first_p50_s : none},
	    {"tpot_ms_mean", "itl", "x_s", 1e-3, timed ? run->step_mean_s : none},
	    {"tpot_ms_p50", "itl", "x_s", 1e-3, timed ? run->step_p50_s : none},
	};
	bool rated = false, first = false, token = false;
	int count = 0;

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		const bool is_first = strcmp(all[i].kind, "ttft") == 0, is_token = strcmp(all[i].kind, "itl") == 0;
		if (!(row_number(row, all[i].column) > 0) || !(all[i].predicted > 0) || !isfinite(all[i].predicted))
			continue;
		/* the same run in other units; a single stream is told by its tokens, once */
		if ((is_first && first) || (is_token && (token || (stream && rated))) ||
		    (!is_first && !is_token && rated))
			continue;
		first |= is_first;
		token |= is_token;
		rated |= !is_first && !is_token;
		out[count++] = all[i];
	}
	return count;
}

static void
each_kernel(struct validation *v, const struct validate_row *row, struct run *quiet)
{
	struct serve_kernel k;
	const char *why = serve_row_kernel(quiet, row, &k);

	if (why) {
		label(validation_skip(v, row_line(row), why), row, NULL, "kernel");
		return;
	}
	struct score_case *c = validation_add(v, row_line(row), "x_s");
	label(c, row, NULL, "kernel");
	c->name = row_text(row, "case_id");
	c->measured = k.measured_s;
	c->predicted = k.predicted_s;
	c->low = k.band.low;
	c->high = k.band.high;
	c->warning = k.warning;
}

static void
each(struct validation *v, const struct validate_row *row, void *context)
{
	struct serve_reader *x = context;
	struct asked a = {.warning = NULL};
	struct serve_metrics m;
	struct serve_run run;
	struct outcome found[16];
	struct serve_judgement judged = {.trust = SERVE_TRUSTED};
	int n = 0;

	if (row_is(row, "kind", "kernel")) {
		each_kernel(v, row, &x->quiet);
		return;
	}
	const char *why = ask(x, row, &a);
	if (!why) {
		answer(&a, row, &m, &run);
		judged = serve_judge(&a.question, &m);
		n = outcomes(&a, &m, &run, row, found);
		why = judged.trust == SERVE_REFUSED ? judged.reasons[0]
		    : !m.fits                       ? "it does not fit by the memory model"
		    : n == 0                        ? "no predicted quantity was measured"
		                                    : NULL;
	}
	if (why) {
		label(validation_skip(v, row_line(row), why), row, a.parts.engine ? a.parts.engine->id : NULL, NULL);
		return;
	}
	const struct serve_errors errors =
	    serve_errors_of(v->run, &a.question, a.parts.consensus, judged.trust == SERVE_WARNED || a.warning);
	for (int i = 0; i < n; i++) {
		struct score_case *c = validation_add(v, row_line(row), found[i].unit);
		label(c, row, a.parts.engine->id, found[i].kind);
		c->name = row_text(row, "case_id");
		c->measured = row_number(row, found[i].column) * found[i].scale;
		c->predicted = found[i].predicted;
		const struct interval band = interval_of(c->predicted, &errors.terms, errors.why);
		c->low = band.low;
		c->high = band.high;
		c->warning = judged.trust == SERVE_WARNED ? judged.reasons[0] : a.warning;
	}
}

static struct serve_reader
open_context(struct run *r)
{
	struct serve_reader x = {.quiet = run_quiet(r)};

	x.quiet.sheet = sheet_new();
	return x;
}

static bool
read_serve(struct validation *v, const struct validate_file *f)
{
	struct serve_reader x = open_context(v->run);
	const bool ok = validation_rows(v, f, each, &x);
	sheet_free(x.quiet.sheet);
	return ok;
}

const struct validate_kind validate_serve = {"serve", "serving runs", recognises, read_serve};

/* --- rows for fits --------------------------------------------------------------------------------------- */

struct serve_reader *
serve_reader_new(struct run *r, const struct engine *engine)
{
	struct serve_reader *x = ARENA_NEW(r->arena, struct serve_reader);

	*x = open_context(r);
	x->engine = engine;
	return x;
}

void
serve_reader_free(struct serve_reader *x)
{
	sheet_free(x->quiet.sheet);
}

struct serve_reading {
	struct asked asked;
	struct validate_row row;
};

/* The outcomes with these constants of the engine; the kernels are those of its base. */
static int
read_again(struct serve_reading *s, const struct engine *engine, struct outcome *found)
{
	struct serve_metrics m;
	struct serve_run run;

	s->asked.setup.engine = engine;
	answer(&s->asked, &s->row, &m, &run);
	return m.fits ? outcomes(&s->asked, &m, &run, &s->row, found) : 0;
}

const char *
serve_reader_ask(struct serve_reader *x, const struct validate_row *row, struct serve_reading **out)
{
	struct serve_reading *s = ARENA_NEW(x->quiet.arena, struct serve_reading);
	struct serve_metrics m;
	struct outcome found[SERVE_READING_MOST];

	*s = (struct serve_reading){.row = *row};
	const char *why = ask(x, &s->row, &s->asked);
	if (why)
		return why;
	serve_answer(&s->asked.question, &m);
	const struct serve_judgement judged = serve_judge(&s->asked.question, &m);
	if (judged.trust == SERVE_REFUSED)
		return judged.reasons[0];
	if (!m.fits)
		return "it does not fit by the memory model";
	*out = s;
	return read_again(s, x->engine, found) ? NULL : "no predicted quantity was measured";
}

int
serve_reading_times(struct serve_reading *s, const struct engine *engine, struct serve_time *out)
{
	struct outcome found[SERVE_READING_MOST];
	const int n = read_again(s, engine, found);

	for (int i = 0; i < n; i++) {
		const bool rate = strcmp(found[i].unit, "x_s") != 0;
		const double measured = row_number(&s->row, found[i].column) * found[i].scale;
		out[i] = (struct serve_time){found[i].column, serve_error_kind(&s->asked.question),
		    rate ? 1 / measured : measured, rate ? 1 / found[i].predicted : found[i].predicted};
	}
	return n;
}

double
serve_reading_ranks(const struct serve_reading *s)
{
	return s->asked.setup.layout.tp;
}
