/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What published runs say of a combination of engine, GPU, format and model: the support table of `make support`. */
#include "ask/serve/serve.h"

#include "cli/cli.h"
#include "db/db.h"

#include <string.h>

struct supported {
	struct serve_cell cell;
	enum serve_quantity quantity;
	int n_runs, n_models;
	double error_frac, half_width;
};

/* Of a combination without a run: of an engine that has some, of one that has none. */
struct unseen {
	const char *engine;
	enum serve_quantity quantity;
	double half_width;
};

static const struct supported table[] = {
#define CROSS(...)
#define MACHINE(...)
#define UNSEEN(...)
#define SUPPORT(engine, architecture, format, family, quantity, ...)                                                   \
	{{engine, architecture, format, family}, SERVE_##quantity, __VA_ARGS__},
#include "ask/serve/support.def"
#undef SUPPORT
#undef UNSEEN
};

static const struct unseen unseens[] = {
#define SUPPORT(...)
#define UNSEEN(engine, quantity, half_width) {engine, SERVE_##quantity, half_width},
#include "ask/serve/support.def"
};

enum { N_TABLE = sizeof table / sizeof *table, N_UNSEEN = sizeof unseens / sizeof *unseens, CELL_RUNS = 3 };

/* --- cells ----------------------------------------------------------------------------------------------- */

static const char *
format_of(const struct serve_format *f)
{
	if (f->w_byte > 2.5)
		return "fp32";
	if (f->w_byte >= 1.9)
		return "16-bit";
	return f->a_byte >= 1.9 && f->type != DTYPE_MXFP4 ? "packed" : dtype_name(f->type);
}

struct serve_cell
serve_cell_of(const struct serve_question *q)
{
	const struct workload *w = q->setup->model;
	const struct gpu *g = q->gpu;
	const bool gddr = g->architecture && g->mem_type && strcmp(g->architecture, "blackwell") == 0 &&
	    strncmp(g->mem_type, "HBM", 3) != 0;
	bool experts = false;

	for (int i = 0; i < w->n_blocks; i++)
		experts = experts || w->blocks[i].moe.given;
	return (struct serve_cell){.engine = q->setup->engine->id,
	    .architecture = gddr  ? "blackwell-gddr"
	        : g->architecture ? g->architecture
	                          : g->id,
	    .format = format_of(experts ? &q->setup->precision.experts : &q->setup->precision.mlp),
	    .family = workload_recurs(w)                       ? "recurrent"
	        : workload_compresses(w)                       ? "compressed"
	        : attention_is_latent(&w->blocks[0].attention) ? "latent"
	        : experts                                      ? "experts"
	                                                       : "dense"};
}

enum serve_quantity
serve_quantity_of(const char *regime)
{
	static const struct {
		const char *regime;
		enum serve_quantity quantity;
	} all[] = {
	    {"throughput", SERVE_THROUGHPUT}, {"ttft", SERVE_TTFT}, {"prompt", SERVE_TTFT}, {"latency", SERVE_LATENCY}};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (strcmp(all[i].regime, regime) == 0)
			return all[i].quantity;
	return SERVE_TPOT; /* tpot, itl, decode */
}

/* How many of engine, architecture, family and format are the same, the first counting most. */
static int
likeness(const struct serve_cell *a, const struct serve_cell *b)
{
	return 8 * (strcmp(a->engine, b->engine) == 0) + 4 * (strcmp(a->architecture, b->architecture) == 0) +
	    2 * (strcmp(a->family, b->family) == 0) + (strcmp(a->format, b->format) == 0);
}

/* The row most alike; of equals the one with the most runs. */
static const struct supported *
nearest(const struct serve_cell *cell, enum serve_quantity quantity, int *alike)
{
	const struct supported *best = NULL;

	*alike = -1;
	for (int i = 0; i < N_TABLE; i++) {
		const int like = table[i].quantity == quantity ? likeness(cell, &table[i].cell) : -1;
		if (like < *alike || like < 0 || (like == *alike && best && table[i].n_runs <= best->n_runs))
			continue;
		best = &table[i];
		*alike = like;
	}
	return best;
}

static const char *
cell_text(struct arena *a, const struct serve_cell *c)
{
	static const struct {
		const char *family, *text;
	} names[] = {{"recurrent", "recurrent layers"}, {"compressed", "compressed attention"},
	    {"latent", "latent attention"}, {"experts", "a mixture of experts"}, {"dense", "a dense model"}};
	size_t i = 0;

	while (strcmp(names[i].family, c->family) != 0)
		i++;
	return arena_printf(a, "%s on %s with %s weights, %s", c->engine, c->architecture, c->format, names[i].text);
}

/* --- intervals ------------------------------------------------------------------------------------------- */

/* The 90 % quantile of a standard normal variable, which interval_of multiplies by. */
static const double normal_q90 = 1.2815515655446004;

/* That of the engine's combinations when they were left out, else that of engines; not less than the nearest row's. */
static double
unseen_width(const char *engine, enum serve_quantity quantity, const struct supported *row)
{
	double width = 0, otherwise = 0;

	for (int i = 0; i < N_UNSEEN; i++) {
		if (unseens[i].quantity != quantity)
			continue;
		if (strcmp(unseens[i].engine, engine) == 0)
			width = unseens[i].half_width;
		if (!*unseens[i].engine)
			otherwise = unseens[i].half_width;
	}
	return fmax(width > 0 ? width : otherwise, row ? row->half_width : 0);
}

static bool
is_shipped(const char *engine)
{
	for (int i = 0; i < N_TABLE; i++)
		if (strcmp(table[i].cell.engine, engine) == 0)
			return true;
	return false;
}

/* Of most engines rates of batches were published, not how long one takes: the same error. */
static enum serve_quantity
published(const char *engine, enum serve_quantity quantity)
{
	for (int i = 0; i < N_TABLE; i++)
		if (table[i].quantity == SERVE_LATENCY && strcmp(table[i].cell.engine, engine) == 0)
			return quantity;
	return quantity == SERVE_LATENCY ? SERVE_THROUGHPUT : quantity;
}

/* How the engine's own runs lay around the model: an engine that `ridge calibrate` wrote. */
static const struct engine_residual *
own_residual(const struct serve_question *q)
{
	const struct engine *e = q->setup->engine;
	const char *kind = serve_error_kind(q);

	if (is_shipped(e->id))
		return NULL;
	for (int i = 0; i < e->n_residuals; i++)
		if (strcmp(e->residuals[i].kind, kind) == 0)
			return &e->residuals[i];
	return e->n_residuals > 0 ? &e->residuals[0] : NULL;
}

/* Of a normal error, the median is 0.6745 sigma and the mean 0.7979 sigma.  Errors have longer tails than that: both
 * count alike. */
static double
sigma_of(const struct engine_residual *e)
{
	const double mean = e->mape_frac.value / 0.7979;

	return datum_given(e->median_frac) ? (mean + e->median_frac.value / 0.6745) / 2 : mean;
}

struct serve_errors
serve_errors_of(struct run *r, const struct serve_question *q, const struct calibration *fitted)
{
	const struct serve_cell cell = serve_cell_of(q);
	const struct engine_residual *own = own_residual(q);
	const double widening = datum_or(run_uncertainty(r, "serve")->conformal, 1);
	struct serve_errors s = {0};

	for (int i = 0; i < N_SERVE_QUANTITIES; i++) {
		struct serve_error *e = &s.of[i];
		int alike;
		const enum serve_quantity quantity = published(cell.engine, (enum serve_quantity)i);
		const struct supported *row = nearest(&cell, quantity, &alike);
		const bool known = alike == 15;
		*e = (struct serve_error){.terms = {.widening = widening},
		    .why = own || known ? "published runs of this engine" : "no published runs of this combination"};
		e->terms.stack_sigma = own ? sigma_of(own)
		    : known                ? row->half_width / normal_q90
		                           : unseen_width(cell.engine, quantity, row) / normal_q90;
		/* kernels of another GPU: the runs of a known combination had them, too */
		if (!known && fitted && fitted->transferred_from)
			e->terms.transfer_sigma = fitted->transfer_sigma.gemm;
	}
	return s;
}

/* Of a first token and what follows: errors of two classes. */
struct serve_error
serve_error_of_answer(const struct serve_errors *s, double first_frac)
{
	const struct error_terms *first = &s->of[SERVE_TTFT].terms, *token = &s->of[SERVE_TPOT].terms;
	struct serve_error e = {.terms = {.n = 2, .widening = 1}, .why = s->of[SERVE_TPOT].why};

	e.terms.classes[0] = (struct error_class){first_frac, -error_below(NULL, first), error_above(NULL, first)};
	e.terms.classes[1] = (struct error_class){1 - first_frac, -error_below(NULL, token), error_above(NULL, token)};
	return e;
}

/* --- what an answer says of it --------------------------------------------------------------------------- */

static const char *const names[N_SERVE_QUANTITIES] = {"throughput", "TPOT", "TTFT", "latency"};

/* What each kind of answer is about. */
static const struct {
	int n;
	enum serve_quantity of[3];
} shown[] = {[SERVE_OFFLINE] = {1, {SERVE_THROUGHPUT}},
    [SERVE_CLOSED] = {3, {SERVE_THROUGHPUT, SERVE_TPOT, SERVE_TTFT}},
    [SERVE_ONLINE] = {3, {SERVE_THROUGHPUT, SERVE_TPOT, SERVE_TTFT}},
    [SERVE_STATIC] = {1, {SERVE_LATENCY}},
    [SERVE_PROMPT] = {1, {SERVE_TTFT}},
    [SERVE_ENCODE] = {1, {SERVE_LATENCY}}};

const char *
serve_support(struct run *r, const struct serve_question *q)
{
	const struct serve_cell cell = serve_cell_of(q);
	const struct engine_residual *own = own_residual(q);
	const char *text = NULL;
	bool any = false;
	int alike;

	for (int i = 0; !own && i < shown[q->regime].n; i++) {
		enum serve_quantity quantity = published(cell.engine, shown[q->regime].of[i]);
		if (q->regime == SERVE_STATIC && q->n_batch <= 1)
			quantity = SERVE_TPOT;
		const struct supported *row = nearest(&cell, quantity, &alike);
		any = any || alike == 15;
		if (alike == 15 && row->n_runs >= CELL_RUNS)
			text = arena_printf(r->arena, "%s%s%s%.0f %% on %d runs of %d model%s", text ? text : "",
			    text ? ", " : "",
			    shown[q->regime].n > 1 ? arena_printf(r->arena, "%s ", names[quantity]) : "",
			    100 * row->error_frac, row->n_runs, row->n_models, row->n_models == 1 ? "" : "s");
	}
	if (own)
		text = arena_printf(r->arena, "%.0f %% on %.0f runs of this engine",
		    100 * datum_or(own->median_frac, own->mape_frac.value), datum_or(own->n_points, 0));
	if (text || any)
		return text ? text : "unknown: fewer than three published runs";
	const struct supported *row = nearest(&cell, published(cell.engine, shown[q->regime].of[0]), &alike);
	run_warn(r, "no published run of %s: the interval is that of a combination left out of the fit; nearest: %s",
	    cell_text(r->arena, &cell), row ? cell_text(r->arena, &row->cell) : "none");
	return "unknown: no published run";
}
