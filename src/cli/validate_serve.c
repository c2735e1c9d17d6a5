/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Published serving runs: throughput and latency, from what a row says of model, engine, layout and load. */
#include "cli/validate_serve.h"

#include "cli/serve_in.h"
#include "data/database.h"
#include "data/engine.h"

#include <string.h>

struct context {
	struct run quiet; /* faults of a row are reasons to skip it, not errors */
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
	c->label[SCORE_BY_SOURCE] = row_text(row, "source");
	c->label[SCORE_BY_GPU] = row_text(row, "gpu_id");
	c->label[SCORE_BY_PRECISION] = row_text(row, "weight_dtype");
	c->label[SCORE_BY_CONFIDENCE] = row_text(row, "confidence");
	c->label[SCORE_BY_KIND] = row_text(row, "kind");
	c->label[SCORE_BY_REGIME] = kind;
	c->label[SCORE_BY_FRAMEWORK] = engine;
}

static const char *
ask(struct context *x, const struct validate_row *row, struct serve_parts *p, struct serve_setup *setup,
    struct serve_question *q, double *n_replicas, bool *near)
{
	struct run *r = &x->quiet;
	const char *model = row_text(row, "model_key"), *gpu = row_text(row, "gpu_id"), *said;

	*p = (struct serve_parts){0};
	if (row_text(row, "kind") && strcmp(row_text(row, "kind"), "kernel") == 0)
		return "a kernel";
	if (!gpu)
		return "the GPU has no entry";
	model = model ? model : row_text(row, "model");
	p->model = model ? run_model(r, (struct word){model, {0}}) : NULL;
	if (!p->model)
		return "the model is not known";
	p->gpu = run_gpu(r, (struct word){gpu, {0}});
	if (!p->gpu)
		return "the GPU has no entry";
	const char *engine = serve_row_engine(row, near);
	if (!engine)
		return "the software is not known";
	p->engine = database_engine(r->database, r->arena, r->diag, engine, NULL, (struct source){0}, &said);
	if (!p->engine)
		return "the software is not known";
	const char *why = serve_row_types(row, p);
	if (!why)
		why = serve_row_layout(row, p, n_replicas);
	if (why)
		return why;
	p->linked = datum_given(p->gpu->link_byte_per_s) && !p->gpu->link_bridge;
	p->consensus = run_kernels(r, p->gpu, p->engine->backend);
	why = serve_assemble(setup, ARENA_NEW(r->arena, struct calibration), p);
	if (why)
		return why;
	*q = (struct serve_question){.setup = setup, .gpu = p->gpu};
	return serve_row_load(row, p, q);
}

/* Which columns this question answers. */
static int
outcomes(const struct serve_question *q, const struct serve_metrics *m, double n_replicas, const struct validate_row *row,
    struct outcome *out)
{
	const bool stream = q->regime == SERVE_STATIC && q->n_batch == 1;
	const double n_gpus = n_replicas * q->setup->layout.tp * q->setup->layout.pp;
	const struct outcome all[] = {
	    {"out_tps_total", "throughput", "x_token_per_s", 1, m->output_token_per_s * n_replicas},
	    {"out_tps_per_gpu", "throughput", "x_token_per_s", 1, m->output_token_per_s * n_replicas / n_gpus},
	    {"out_tps_user", "decode", "x_token_per_s", 1, 1 / m->step_s},
	    {"prefill_tps", "prompt", "x_token_per_s", 1, m->prompt_token_per_s},
	    {"latency_ms", "latency", "x_s", 1e-3, q->regime == SERVE_PROMPT || q->regime == SERVE_ENCODE ? m->first_s : m->answer_s},
	    {"ttft_ms_mean", "ttft", "x_s", 1e-3, m->first_s},
	    {"ttft_ms_p50", "ttft", "x_s", 1e-3, m->first_s},
	    {"tpot_ms_mean", "itl", "x_s", 1e-3, m->step_s},
	    {"tpot_ms_p50", "itl", "x_s", 1e-3, m->step_s},
	};
	bool throughput = false, first = false, token = false;
	int n = 0;

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		const bool is_rate = strcmp(all[i].kind, "throughput") == 0, is_first = strcmp(all[i].kind, "ttft") == 0;
		const bool is_token = strcmp(all[i].kind, "itl") == 0 || strcmp(all[i].kind, "decode") == 0;
		if (!(row_number(row, all[i].column) > 0) || !(all[i].predicted > 0) || !isfinite(all[i].predicted))
			continue;
		if ((is_rate && throughput) || (is_first && first) || (is_token && token) || (stream && is_rate && token))
			continue;
		throughput |= is_rate;
		first |= is_first;
		token |= is_token;
		out[n++] = all[i];
	}
	return n;
}

static void
each(struct validation *v, const struct validate_row *row, void *context)
{
	struct context *x = context;
	struct serve_parts p;
	struct serve_setup *setup = ARENA_NEW(x->quiet.arena, struct serve_setup);
	struct serve_question q;
	struct serve_metrics m;
	struct outcome found[9];
	struct serve_judgement judged = {.trust = SERVE_TRUSTED};
	double n_replicas = 1;
	bool near = false;
	int n = 0;

	const char *why = ask(x, row, &p, setup, &q, &n_replicas, &near);
	if (!why) {
		serve_answer(&q, &m);
		judged = serve_judge(&q, &m);
		n = outcomes(&q, &m, n_replicas, row, found);
		why = judged.trust == SERVE_REFUSED ? judged.reasons[0]
		    : !m.fits                       ? "it does not fit by our count"
		    : m.saturated                   ? "beyond saturation"
		    : n == 0                        ? "nothing that is predicted was measured"
		                                    : NULL;
	}
	if (why) {
		label(validation_skip(v, row_line(row), why), row, p.engine ? p.engine->id : NULL, NULL);
		return;
	}
	for (int i = 0; i < n; i++) {
		struct score_case *c = validation_add(v, row_line(row), found[i].unit);
		label(c, row, p.engine->id, found[i].kind);
		c->name = row_text(row, "case_id");
		c->measured = row_number(row, found[i].column) * found[i].scale;
		c->predicted = found[i].predicted;
		c->low = c->high = NAN;
		c->warning = judged.trust == SERVE_WARNED ? judged.reasons[0] : near ? "a neighbouring version" : NULL;
	}
}

static bool
read_serve(struct validation *v, const struct validate_file *f)
{
	struct context x = {.quiet = *v->run};

	x.quiet.sheet = sheet_new();
	x.quiet.diag = diag_new(v->run->arena);
	x.quiet.database = database_reporting_to(v->run->database, x.quiet.diag);
	x.quiet.assumed = x.quiet.warnings = (struct words){0};
	const bool ok = validation_rows(v, f, each, &x);
	sheet_free(x.quiet.sheet);
	return ok;
}

const struct validate_kind validate_serve = {"serve", "serving runs", recognises, read_serve};
