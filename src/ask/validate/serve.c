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
		return "no kernel measurements of this GPU or a similar one";
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

/* --- a row as a question ------------------------------------------------------------------------------------- */

#define THIS struct serve_in
static const struct option serve_rows[] = {SERVE_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct simulate_in
static const struct option simulate_rows[] = {SIMULATE_OPTIONS(OPTION_ROW)};
#undef THIS

static const struct option_group groups[] = {
    OPTION_GROUP(serve_rows, 0),
    OPTION_GROUP(layout_rows, offsetof(struct serve_in, layout)),
    OPTION_GROUP(simulate_rows, offsetof(struct serve_in, simulation)),
};

static const struct command asks = {.name = "validate",
    .operands = "model",
    .groups = groups,
    .n_groups = sizeof groups / sizeof *groups,
    .input_size = sizeof(struct serve_in)};

struct serve_reader {
	const struct run *run;
	struct serve_engines engines;
	const struct engine *engine; /* of all rows; NULL: what each says */
};

/* A row as a question. */
struct asked {
	struct serve_row row;
	struct run run; /* faults of a row are reasons to skip it, not errors */
	struct serve_in *in;
	struct serve_binding binding;
	struct load load;
	struct serve_question question;
	const struct validation *validation; /* NULL: a row alone */
	bool unwanted;
	bool guessed; /* the layout */
};

static bool
recognises(const struct validate_file *f)
{
	return validate_has(f, "out_tps_total") && validate_has(f, "isl") && validate_has(f, "osl");
}

/* The words as `ridge serve` reads and binds them; else why it would not. */
static const char *
bind(struct serve_reader *x, struct asked *a)
{
	struct run *r = &a->run;
	struct arguments args;

	*r = run_quiet(x->run);
	r->command = &asks;
	a->in = ARENA_NEW(r->arena, struct serve_in);
	const char *why = serve_row_say(&a->row);
	if (why)
		return why;
	if (!arguments_parse(r->arena, r->diag, &asks, a->row.n_words, a->row.words, &args))
		return run_refusal(r);
	arguments_place(r->arena, r->diag, &asks, &args);
	r->inputs = inputs_tree(r->arena, r->diag, &asks, NULL, &args);
	return !diag_errors(r->diag) && inputs_bind(r->arena, r->diag, &asks, r->inputs, a->in) &&
	        serve_bind(r, a->in, &a->binding, &a->load, &a->question)
	    ? NULL
	    : run_refusal(r);
}

static bool
is_draft(const struct asked *a)
{
	return a->validation && a->validation->draft;
}

static bool
is_wanted_row(const struct validation *v, const struct validate_row *row)
{
	return !v || !v->wants_row || v->wants_row(v->wants_context, v->file, row_line(row));
}

static bool
is_wanted(const struct validation *v, const struct engine *e, const struct gpu *gpu)
{
	const struct engine_architecture *a = engine_architecture(e, gpu);

	return !v || !v->wants || v->wants(v->wants_context, e->id, a ? a->architecture : "");
}

/* GPU, model, engine. */
static const char *
ask_parts(struct serve_reader *x, const struct validate_row *row, struct asked *a)
{
	const char *model = row_text(row, "model_key"), *gpu = serve_row_gpu(x->run->arena, row);
	struct run *r = &a->run;
	bool near = false;

	*r = run_quiet(x->run);
	a->row.arena = r->arena;
	a->row.row = row;
	a->unwanted = !is_wanted_row(a->validation, row);
	if (a->unwanted)
		return "not asked for";
	if (!row_text(row, "kind") || row_is(row, "kind", "kernel"))
		return "a kernel";
	model = model ? model : row_text(row, "model");
	a->row.model = model ? run_model(r, (struct word){model, {0}}) : NULL;
	if (!a->row.model)
		return "unknown model";
	const struct gpu *known = gpu ? run_gpu(r, (struct word){gpu, {0}}) : NULL;
	if (!known)
		return "GPU not in the database";
	a->row.gpu = known;
	a->row.engine = x->engine ? x->engine : serve_row_engine(&x->engines, r, row, known, &near);
	if (!a->row.engine)
		return "unknown software";
	a->unwanted = !is_wanted(a->validation, a->row.engine, known);
	if (a->unwanted)
		return "not asked for";
	if (near)
		a->row.warning = "neighboring software version";
	const char *why = serve_lacks_model(a->row.model);
	return why ? why : serve_row_read(&a->row);
}

/* Where only the number of GPUs is printed, people take what is fastest: the layout with the most output. */
static const char *
best_layout(struct serve_reader *x, struct asked *a)
{
	struct serve_layout best = {0};
	const char *refusal = NULL; /* of the last layout; where none could be asked, the reason */
	bool asked = false;
	double most = 0;

	if (row_is(a->row.row, "kind", "online-serving") && isnan(row_number(a->row.row, "n_gpu")))
		return "layout not given";
	for (double tp = 1; tp <= fmin(8, a->row.n_gpus); tp *= 2)
		for (double pp = 1; pp <= 2 && tp * pp <= a->row.n_gpus; pp *= 2) {
			struct serve_metrics m;
			a->row.layout = (struct serve_layout){tp, pp, 1, false};
			if (fmod(a->row.n_gpus, tp * pp) != 0 || (refusal = bind(x, a)))
				continue;
			asked = true;
			/* of requests that arrive: what it could put out */
			if (a->question.regime == SERVE_ONLINE)
				a->question.regime = SERVE_OFFLINE;
			serve_answer(&a->question, &m);
			if (!m.fits || m.saturated || !(m.output_token_per_s * serve_row_replicas(&a->row) > most))
				continue;
			most = m.output_token_per_s * serve_row_replicas(&a->row);
			best = a->row.layout;
		}
	if (!(most > 0))
		return asked || !refusal ? "no layout fits" : refusal;
	a->guessed = true;
	a->row.warning = "layout not published: the fastest assumed";
	a->row.layout = best;
	return bind(x, a);
}

static const char *
ask(struct serve_reader *x, const struct validate_row *row, struct asked *a)
{
	const char *why = ask_parts(x, row, a);

	if (why)
		return why;
	return a->row.layout.tp > 0 ? bind(x, a) : best_layout(x, a);
}

/* --- simulation ---------------------------------------------------------------------------------------------- */

/* Latencies and rates of a run. */
struct serve_run {
	double first_mean_s, first_p50_s;
	double gap_mean_s, gap_p50_s;     /* between two tokens */
	double token_mean_s, token_p50_s; /* (last - first) / (tokens - 1) of each request */
	double answer_s, output_token_per_s, total_token_per_s, request_per_s;
};

enum { SEEDS = 8 };

static bool
simulate_seed(struct sim_config *c, uint64_t seed, struct serve_run *out)
{
	const char *fault;

	c->traffic.seed = seed;
	c->n_threads = 1;
	struct simulation *s = simulate(c, &fault);
	if (!s)
		return false;
	const struct sim_result *r = simulation_result(s);
	*out = (struct serve_run){r->ttft.mean, r->ttft.p50, r->itl.mean, r->itl.p50, r->tpot.mean, r->tpot.p50,
	    r->e2e.mean, r->output_token_per_s, r->total_token_per_s, r->request_per_s};
	const bool all = r->n_finished == c->traffic.n_requests;
	simulation_free(s);
	return all;
}

/* Means over some seeds; false when not all is answered. */
static bool
simulate_row(struct asked *a, struct serve_run *out)
{
	enum { N = sizeof(struct serve_run) / sizeof(double) };
	/* what differs between seeds is less than pools are off by */
	const int n = is_draft(a) || a->in->requests.value > 2000 || a->row.n_decode > 0 ? 1 : SEEDS;
	struct sim_config config;
	union {
		struct serve_run run;
		double all[N];
	} one, sum = {.all = {0}};

	if (!serve_simulation(&a->run, a->in, &a->binding, &a->load, &config))
		return false;
	/* derivatives do not need the ten requests of a client that benchmarks send */
	const size_t few = config.traffic.n_clients < 250 ? 500 : 2 * config.traffic.n_clients;
	if (is_draft(a) && config.traffic.n_requests > few)
		config.traffic.n_requests = few;
	for (int i = 1; i <= n; i++) {
		if (!simulate_seed(&config, (uint64_t)i, &one.run))
			return false;
		for (int k = 0; k < N; k++)
			sum.all[k] += one.all[k] / n;
	}
	*out = sum.run;
	return true;
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

/* --- outcomes -------------------------------------------------------------------------------------------- */

/* What the run shows, in closed form or simulated.  Beyond saturation latencies grow for as long as requests come:
 * they are left out. */
static void
answer(struct asked *a, struct serve_metrics *m, struct serve_run *run)
{
	struct serve_question *q = &a->question;

	serve_answer(q, m);
	const bool full = m->saturated || q->regime == SERVE_OFFLINE;
	if (m->saturated) {
		struct serve_question all = *q;
		all.regime = SERVE_OFFLINE;
		serve_answer(&all, m);
	}
	*run = (struct serve_run){m->first_s, isnan(m->first_p50_s) ? m->first_s : m->first_p50_s, m->step_s, m->step_s,
	    m->step_s, m->step_s, m->answer_s, m->output_token_per_s,
	    m->output_token_per_s * (q->load.isl + q->load.osl) / q->load.osl, m->request_per_s};
	/* derivatives are those of the closed form, where there is one */
	const bool simulates = a->in->simulation.simulate && !(is_draft(a) && a->row.n_decode == 0);
	if (m->fits && simulates && !simulate_row(a, run) && a->row.n_decode > 0)
		m->fits = false;
	if (full) {
		run->first_mean_s = run->first_p50_s = run->gap_mean_s = run->gap_p50_s = NAN;
		run->token_mean_s = run->token_p50_s = run->answer_s = NAN;
	}
}

/* Which columns this question answers: of runs where everything waits from the start, how much they put out. */
static int
outcomes(const struct asked *a, const struct serve_metrics *m, const struct serve_run *run, struct outcome *out)
{
	const struct serve_question *q = &a->question;
	const struct validate_row *row = a->row.row;
	const bool stream = row_is(row, "kind", "latency-batch1");
	const bool arrives = row_is(row, "kind", "online-serving");
	const bool pass = q->regime == SERVE_PROMPT || q->regime == SERVE_ENCODE;
	/* latencies say most of the layout */
	const bool timed = stream || pass || (arrives && !a->guessed);
	const double n = serve_row_replicas(&a->row) / a->row.n_beams, none = NAN;
	const bool gaps = row_has(row, "tpot_kind", "gap") || row_has(row, "notes", " ITL ") ||
	    row_has(row, "notes", "per-token intervals");
	const char *const token_kind = gaps ? "itl" : "tpot";
	const struct outcome all[] = {
	    {"out_tps_user", "decode", "x_token_per_s", 1, stream ? 1 / m->step_s : none},
	    {"prefill_tps", "prompt", "x_token_per_s", 1, m->prompt_token_per_s},
	    {"out_tps_total", "throughput", "x_token_per_s", 1, n * run->output_token_per_s},
	    {"out_tps_per_gpu", "throughput", "x_token_per_s", 1, n * run->output_token_per_s / a->row.n_gpus},
	    {"total_tps", "throughput", "x_token_per_s", 1, n * run->total_token_per_s},
	    {"latency_ms", "latency", "x_s", 1e-3,
	        arrives    ? none
	            : pass ? m->first_s
	                   : m->answer_s},
	    {"req_per_s", "throughput", "x_per_s", 1, n * run->request_per_s},
	    {"ttft_ms_mean", "ttft", "x_s", 1e-3, timed ? run->first_mean_s : none},
	    {"ttft_ms_p50", "ttft", "x_s", 1e-3, timed ? run->first_p50_s : none},
	    {"itl_ms_mean", "itl", "x_s", 1e-3, timed ? run->gap_mean_s : none},
	    {"itl_ms_p50", "itl", "x_s", 1e-3, timed ? run->gap_p50_s : none},
	    {"tpot_ms_mean", token_kind, "x_s", 1e-3,
	        !timed     ? none
	            : gaps ? run->gap_mean_s
	                   : run->token_mean_s},
	    {"tpot_ms_p50", token_kind, "x_s", 1e-3,
	        !timed     ? none
	            : gaps ? run->gap_p50_s
	                   : run->token_p50_s},
	};
	bool rated = false, first = false, token = false;
	int count = 0;

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		const bool is_first = strcmp(all[i].kind, "ttft") == 0,
		           is_token = strstr(all[i].column, "tpot_ms") || strstr(all[i].column, "itl_ms");
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

/* What a user would type. */
static const char *
question_of(const struct serve_row *q)
{
	const char *text = "ridge serve";

	for (int i = 0; i < q->n_words; i++)
		text = arena_printf(q->arena, "%s %s", text, q->words[i]);
	return text;
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

/* Its throughput beside that of other layouts.  Requests that arrive by themselves say nothing of what a layout could.
 */
static void
rank(struct serve_ranks *to, const struct asked *a, const struct outcome *found, int n)
{
	if (a->guessed || a->row.n_decode > 0 || a->question.regime == SERVE_ONLINE)
		return;
	for (int i = 0; i < n; i++)
		if (strcmp(found[i].kind, "throughput") == 0)
			serve_ranks_row(
			    to, &a->row, found[i].column, row_number(a->row.row, found[i].column), found[i].predicted);
}

static void
each(struct validation *v, const struct validate_row *row, void *context)
{
	struct serve_reader *x = context;
	struct asked a = {.validation = v};
	struct serve_metrics m;
	struct serve_run run;
	struct outcome found[SERVE_READING_MOST];
	struct serve_judgement judged = {.trust = SERVE_TRUSTED};
	int n = 0;

	if (row_is(row, "kind", "kernel")) {
		a.run = run_quiet(x->run);
		each_kernel(v, row, &a.run);
		return;
	}
	const char *why = ask(x, row, &a);
	if (a.unwanted)
		return;
	if (!why) {
		answer(&a, &m, &run);
		judged = serve_judge(&a.question, &m);
		n = outcomes(&a, &m, &run, found);
		why = judged.trust == SERVE_REFUSED ? judged.reasons[0]
		    : !m.fits                       ? "it does not fit by the memory model"
		    : n == 0                        ? "no predicted quantity was measured"
		                                    : NULL;
	}
	if (why) {
		label(validation_skip(v, row_line(row), why), row, a.row.engine ? a.row.engine->id : NULL, NULL);
		return;
	}
	if (v->ranks) {
		rank(v->ranks, &a, found, n);
		return;
	}
	const struct serve_cell cell = serve_cell_of(&a.question);
	const struct serve_errors errors = serve_errors_of(v->run, &a.question, a.binding.fitted);
	for (int i = 0; i < n; i++) {
		struct score_case *c = validation_add(v, row_line(row), found[i].unit);
		label(c, row, a.row.engine->id, found[i].kind);
		c->name = row_text(row, "case_id");
		c->detail = question_of(&a.row);
		c->measured = row_number(row, found[i].column) * found[i].scale;
		c->predicted = found[i].predicted;
		memcpy(c->cell, (const char *[]){cell.engine, cell.architecture, cell.format, cell.family},
		    sizeof c->cell);
		const struct serve_error *error = &errors.of[serve_quantity_of(found[i].kind)];
		const struct interval band = interval_of(c->predicted, &error->terms, error->why);
		c->low = band.low;
		c->high = band.high;
		c->warning = judged.trust == SERVE_WARNED ? judged.reasons[0] : a.row.warning;
	}
}

static bool
read_serve(struct validation *v, const struct validate_file *f)
{
	struct serve_reader x = {.run = v->run};

	return validation_rows(v, f, each, &x);
}

const struct validate_kind validate_serve = {"serve", "serving runs", recognises, read_serve};

/* --- rows for fits --------------------------------------------------------------------------------------- */

struct serve_reader *
serve_reader_new(struct run *r, const struct engine *engine)
{
	struct serve_reader *x = ARENA_NEW(r->arena, struct serve_reader);

	*x = (struct serve_reader){.run = r, .engine = engine};
	return x;
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

	s->asked.binding.setup.engine = engine;
	if (s->asked.binding.decode)
		s->asked.binding.decode->engine = engine;
	answer(&s->asked, &m, &run);
	return m.fits ? outcomes(&s->asked, &m, &run, found) : 0;
}

const char *
serve_reader_ask(struct serve_reader *x, const struct validate_row *row, struct serve_reading **out)
{
	struct serve_reading *s = ARENA_NEW(x->run->arena, struct serve_reading);
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
	return s->asked.row.layout.tp;
}
