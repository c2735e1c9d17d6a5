/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Show the setups of `ridge plan serve`; with --pareto the fronts: setups, or operating points, that no other one beats
 * in both measures. */
#include "ask/plan/plan.h"

#include "ask/serve/serve.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

static const struct plan_setup *
setup_of(const struct plan_served_row *row)
{
	return row->c->about;
}

/* --- a row ----------------------------------------------------------------------------------------------- */

/* As `ridge serve` takes it. */
static const char *
options_text(struct run *r, const struct plan_served *p, const struct plan_served_row *row)
{
	const struct plan_setup *about = setup_of(row);
	const struct engine *e = row->c->setup->engine, *usual = about->engine;
	const struct words *speculate = &p->in->plan.speculate;
	/* a type of weights alone, such as int4, is one of --dtype too */
	const enum dtype type = p->in->weights_dtype.text ? about->formats.compute : about->type;
	const char *out = arena_printf(r->arena, "--gpu %s --engine %s%s%s --layout %s", about->gpu->id, usual->id,
	    about->formats.published ? "" : " --dtype ", about->formats.published ? "" : dtype_name(type),
	    about->layout);

	if (p->in->kv_dtype.text)
		out = arena_printf(r->arena, "%s --kv-dtype %s", out, p->in->kv_dtype.text);
	if (p->in->weights_dtype.text)
		out = arena_printf(r->arena, "%s --weights-dtype %s", out, p->in->weights_dtype.text);
	if (e->max_sequences.value != usual->max_sequences.value)
		out = arena_printf(
		    r->arena, "%s --set engine.scheduler.max_sequences=%.15g", out, e->max_sequences.value);
	if (e->max_tokens.value != usual->max_tokens.value)
		out = arena_printf(r->arena, "%s --set engine.scheduler.max_tokens=%.15g", out, e->max_tokens.value);
	if (datum_given(p->in->headroom))
		out = arena_printf(r->arena, "%s --headroom %.15g", out, p->in->headroom.value);
	for (size_t i = 0; i < speculate->n; i++)
		out = arena_printf(r->arena, "%s%s%s", out, i ? "," : " --speculate ", speculate->list[i].text);
	return out;
}

const char *
plan_serve_part_text(struct run *r, double n_replicas, const struct plan_candidate *c)
{
	const struct plan_setup *about = c->about;
	const struct engine *e = c->setup->engine, *usual = about->engine;
	const char *out = arena_printf(r->arena, "%g x %s %s", n_replicas, about->gpu->id, about->layout);

	if (e->max_sequences.value != usual->max_sequences.value)
		out = arena_printf(r->arena, "%s,max-sequences=%.15g", out, e->max_sequences.value);
	if (e->max_tokens.value != usual->max_tokens.value)
		out = arena_printf(r->arena, "%s,max-step-tokens=%.15g", out, e->max_tokens.value);
	return out;
}

static void
show_limits(struct run *r, const struct plan_candidate *c)
{
	struct sheet *sh = r->sheet;

	TAKE(sh, n_sequences_most, c->setup->engine->max_sequences.value);
	SHOW(sh, n_sequences_most, n_limit_sequences);
	TAKE(sh, limit_step_token, c->setup->engine->max_tokens.value);
	SHOW(sh, limit_step_token, limit_step_token);
}

void
plan_serve_bands(struct run *r, const struct plan_candidate *c, const struct plan_point *at, struct interval out[2])
{
	const struct plan_setup *about = c->about;
	const struct serve_question q = {.setup = c->setup, .gpu = about->gpu, .regime = SERVE_ONLINE};
	const struct serve_errors e = serve_errors_of(r, &q, about->fitted);
	const struct serve_error *first = &e.of[SERVE_TTFT], *token = &e.of[SERVE_TPOT];

	out[0] = interval_of(at->latency_s[PLAN_TTFT][PLAN_MEAN], &first->terms, first->why);
	out[1] = interval_of(at->latency_s[PLAN_TPOT][PLAN_MEAN], &token->terms, token->why);
}

static void
show_bands(struct run *r, const struct plan_served_row *row)
{
	struct interval of[2];

	plan_serve_bands(r, row->c, &row->c->usual, of);
	BETWEEN(r->sheet, ttft_s, of[0].low, of[0].high, of[0].why);
	BETWEEN(r->sheet, tpot_s, of[1].low, of[1].high, of[1].why);
}

static void
show_difference(
    struct run *r, const struct plan_served *p, const struct plan_served_row *row, const struct plan_served_row *best)
{
	struct sheet *sh = r->sheet;
	double own = plan_rank_value(row->c, p->rank), least = plan_rank_value(best->c, p->rank);

	if (row == best || isnan(own) != isnan(least)) /* a price is compared with no number of GPUs */
		return;
	if (isnan(own)) {
		own = row->c->n_gpus;
		least = best->c->n_gpus;
	}
	const double half = hypot(plan_serve_half(r, p, row->c), plan_serve_half(r, p, best->c));
	TAKE(sh, own_value, own);
	TAKE(sh, best_value, least);
	LET(sh, difference_frac, own_value / best_value - 1);
	SHOW(sh, difference_frac, difference_frac);
	BETWEEN(sh, difference_frac, (1 + difference_frac) * exp(-half) - 1, (1 + difference_frac) * exp(half) - 1,
	    "errors of both setups in full");
}

/* Of what is paid for today, or of today's latency; the first column of savings says whether they can be told from 0.
 */
static void
show_saved(struct run *r, const struct plan_served *p, const struct plan_served_row *row)
{
	struct sheet *sh = r->sheet;

	if (!p->today || !plan_feasible(p->today))
		return;
	double own = plan_rank_value(row->c, p->rank), today = plan_rank_value(p->today, p->rank);
	if (isnan(own) || isnan(today)) {
		own = row->c->n_gpus;
		today = p->today->n_gpus;
	}
	const double half = hypot(plan_serve_half(r, p, row->c), plan_serve_half(r, p, p->today));
	TAKE(sh, row_value, own);
	TAKE(sh, today_value, today);
	LET(sh, saved_frac, 1 - row_value / today_value);
	SHOW(sh, saved_frac, saved_frac);
	const double low = 1 - row_value / today_value * exp(half), high = 1 - row_value / today_value * exp(-half);
	BETWEEN(sh, saved_frac, low, high, "errors of both setups in full");
	TELL(sh, note, low < 0 && high > 0 ? "not distinguishable from today" : "");
}

/* An operating point of a replica instead of the load's. */
static void
show_point(struct run *r, const struct plan_served_row *row)
{
	struct sheet *sh = r->sheet;

	TELL(sh, gpu, setup_of(row)->gpu->id);
	TELL(sh, engine, setup_of(row)->engine->id);
	TELL(sh, dtype, dtype_name(setup_of(row)->type));
	TELL(sh, layout, setup_of(row)->layout);
	TAKE(sh, n_running, row->c->usual.n_running);
	SHOW(sh, n_running, n_running);
	TAKE(sh, user_token_per_s, row->user_token_per_s);
	SHOW(sh, user_token_per_s, user_token_per_s);
	TAKE(sh, gpu_token_per_s, row->gpu_token_per_s);
	SHOW(sh, gpu_token_per_s, gpu_output_token_per_s);
}

static void
show_row(
    struct run *r, const struct plan_served *p, const struct plan_served_row *row, const struct plan_served_row *best)
{
	const char letter[2] = {row->group, '\0'};

	if (!isnan(row->gpu_token_per_s)) {
		show_point(r, row);
		return;
	}
	TELL(r->sheet, group, arena_printf(r->arena, "%s", letter));
	capacity_plan_show(r, &p->in->plan, row->c, &p->load);
	show_bands(r, row);
	show_limits(r, row->c);
	show_difference(r, p, row, best);
	show_saved(r, p, row);
}

static void
show_today(struct run *r, const struct plan_served *p)
{
	SCOPE_I (r->sheet, "today", 0) {
		const struct plan_served_row row = {p->today, 'a', NAN, NAN};
		capacity_plan_show(r, &p->in->plan, p->today, &p->load);
		if (plan_feasible(p->today))
			show_bands(r, &row);
		show_limits(r, p->today);
	}
	if (!plan_feasible(p->today))
		run_warn(r, "what serves today does not carry the load within the SLOs: %s",
		    plan_bound_text(p->today->bound));
}

/* --- nothing --------------------------------------------------------------------------------------------- */

/* The setup that misses its SLOs by least, with a request that is alone. */
static enum answer
nothing_meets(struct run *r, const struct plan_served *p)
{
	const struct capacity_search *s = &p->search;
	const struct plan_candidate *near = NULL;
	enum plan_measure missed = PLAN_TTFT, worst = PLAN_TTFT;
	struct plan_point alone, nearest = {0};
	double least = INFINITY;
	static const char *const names[] = {[PLAN_TTFT] = "TTFT", [PLAN_TPOT] = "TPOT", [PLAN_E2E] = "E2E latency"};

	for (size_t i = 0; i < s->n; i++) {
		if (!plan_alone(s->list[i].setup, &p->load, &alone))
			continue;
		const double over = plan_excess(&p->load, &alone, &missed);
		if (over < least) {
			least = over;
			near = &s->list[i];
			nearest = alone;
			worst = missed;
		}
	}
	if (p->search.n == 0) {
		run_warn(r,
		    "no engine takes these limits: a step has at least as many tokens as sequences, and without "
		    "chunked prefill those of a prompt");
		return ANSWERED_NO;
	}
	if (!near) {
		run_warn(r,
		    "no replica of up to %g GPUs holds the model and one request: raise --gpus, or use a "
		    "smaller dtype",
		    p->in->plan.gpus.value);
		return ANSWERED_NO;
	}
	const struct plan_setup *about = near->about;
	struct sheet *sh = r->sheet;
	SCOPE_I (sh, "near", 0) {
		TELL(sh, gpu, about->gpu->id);
		TELL(sh, engine, about->engine->id);
		TELL(sh, dtype, dtype_name(about->type));
		TELL(sh, layout, about->layout);
		TAKE(sh, ttft_s, nearest.latency_s[PLAN_TTFT][PLAN_MEAN]);
		SHOW(sh, ttft_s, ttft_s);
		TAKE(sh, tpot_s, nearest.latency_s[PLAN_TPOT][PLAN_MEAN]);
		SHOW(sh, tpot_s, tpot_s);
		TAKE(sh, answer_s, nearest.latency_s[PLAN_E2E][PLAN_MEAN]);
		SHOW(sh, answer_s, e2e_s);
		TELL(sh, note,
		    least > 1 ? arena_printf(
		                    r->arena, "alone, a request has %.3g times the %s of its SLO", least, names[worst])
		              : "meets the SLOs alone, but not under load");
	}
	run_warn(r, "no setup meets the SLOs; the nearest is listed");
	return ANSWERED_NO;
}

/* --- the table ------------------------------------------------------------------------------------------- */

static void
show_first(struct run *r, const struct plan_served *p, const struct plan_served_row *best)
{
	struct sheet *sh = r->sheet;

	TELL(sh, serve_options, options_text(r, p, best));
	TAKE(sh, n_searched, (double)p->search.n);
	SHOW(sh, n_searched, n_searched);
	if (!isnan(best->gpu_token_per_s))
		return;
	TELL_HIDDEN(sh, layout, setup_of(best)->layout);
	TELL_HIDDEN(sh, gpu, setup_of(best)->gpu->id);
	TAKE(sh, n_gpus, best->c->n_gpus);
	HIDE(sh, n_gpus, n_gpus);
	TAKE(sh, n_replicas, best->c->n_all);
	HIDE(sh, n_replicas, n_replicas);
}

static enum answer
emit(struct run *r, const struct plan_served *p, const struct plan_served_row *rows, size_t n)
{
	const struct plan_serve_in *in = p->in;
	const size_t i = (size_t)in->emit_rank.value - 1;

	run_reads(r, &in->launch.emit, &in->emit_rank, NULL);
	if (i >= n) {
		run_refuse(r, in->emit_rank.from,
		    arena_printf(r->arena, n == 1 ? "there is %zu row" : "there are %zu rows", n),
		    arena_printf(r->arena, "write --emit-rank %zu", n));
		return REFUSED;
	}
	const struct formats *f = &setup_of(&rows[i])->formats;
	const bool fixed = p->load.isl_cv == 0 && p->load.osl_cv == 0;
	const struct launch_served s = {.setup = rows[i].c->setup,
	    .compute = f->compute,
	    .weights = f->weights,
	    .kv = f->kv,
	    .published = f->published != NULL,
	    .speculation = &p->search.speculation,
	    .n_replicas = rows[i].c->n_all,
	    .most_token = fixed ? p->load.isl_token + p->load.osl_token : 0};
	return launch_serve_show(r, in->launch.emit, &s, 1);
}

static void
warn(struct run *r, const struct plan_served *p, const struct plan_served_row *rows)
{
	capacity_warn_first(r, rows[0].c, &p->load);
	if (p->in->plan.unconfirmed || p->in->pareto.text)
		run_warn(r, "closed form, not confirmed by simulation");
	else if (!rows[0].c->confirmed)
		run_warn(r, "the first row was not simulated: the simulation moved the rows before it");
	if (datum_given(p->in->users) && p->search.n_groups > 1)
		run_warn(r, "closed load: users of faster GPUs send more requests, which may need more replicas");
}

enum answer
plan_serve_show(struct run *r, const struct plan_served *p, const struct plan_served_row *rows, size_t n)
{
	size_t n_fleets = 0;

	if (p->in->launch.emit.text)
		run_reads(r, &p->in->launch.emit, &p->in->emit_rank, NULL);
	if (p->today)
		show_today(r, p);
	if (n == 0 && !p->in->pools) {
		const enum answer fleets =
		    p->in->pareto.text ? ANSWERED_NO : plan_serve_show_fleets(r, p, true, &n_fleets);
		const enum answer out = n_fleets > 0 ? fleets : nothing_meets(r, p);
		if (p->in->launch.emit.text && !r->document)
			launch_nothing(r);
		return out;
	}
	for (size_t i = 0; i < n; i++)
		SCOPE_I (r->sheet, "layouts", i)
			show_row(r, p, &rows[i], &rows[0]);
	for (size_t i = 0; i < n; i++)
		capacity_tell_price(&p->search, rows[i].c);
	if (n > 0)
		show_first(r, p, &rows[0]);
	if (n > 0 && r->draws)
		r->plot = plan_serve_plot(r, p, rows, n);
	if (n > 0 && isnan(rows[0].gpu_token_per_s))
		warn(r, p, rows);
	if (!p->in->pareto.text && !p->in->launch.emit.text)
		plan_serve_show_fleets(r, p, false, &n_fleets);
	if (p->in->pools) {
		const enum answer pools = plan_serve_show_pools(r, p);
		return pools == ANSWERED_NO && n > 0 && !p->in->launch.emit.text ? ANSWERED : pools;
	}
	return p->in->launch.emit.text ? emit(r, p, rows, n) : ANSWERED;
}

/* --- fronts ------------------------------------------------------------------------------------------------------ */

enum { N_POINTS = 12 };

/* --- two measures of a setup at the load ----------------------------------------------------------------- */

static const char *const measures[] = {"cost", "power", "gpus", "ttft", "tpot", "e2e"};
enum { N_MEASURES = sizeof measures / sizeof *measures };

/* What a setup can be ranked by, or the whole latency (N_PLAN_RANKS). */
static double
measure_of(const struct plan_candidate *c, int measure)
{
	if (measure < (int)N_PLAN_RANKS)
		return plan_rank_value(c, (enum plan_rank)measure);
	return isinf(c->n_gpus) ? INFINITY : c->usual.latency_s[PLAN_E2E][PLAN_MEAN];
}

static int
measure_named(const char *name, size_t n)
{
	int i = 0;

	while (i < (int)N_MEASURES && (strncmp(measures[i], name, n) != 0 || measures[i][n]))
		i++;
	return i;
}

/* One point of the plane; both are to be small. */
struct spot {
	double x, y;
	struct plan_served_row row;
};

static int
by_x(const void *a, const void *b)
{
	const struct spot *p = a, *q = b;

	if (p->x != q->x)
		return p->x < q->x ? -1 : 1;
	return p->y != q->y ? (p->y < q->y ? -1 : 1) : (p->row.c > q->row.c) - (p->row.c < q->row.c);
}

static struct plan_served_row *
front_of(struct run *r, struct plan_served *p, struct spot *spots, size_t n, size_t *n_rows)
{
	p->points = ARENA_ARRAY(r->arena, struct plan_served_row, n + 1);
	struct plan_served_row *rows = ARENA_ARRAY(r->arena, struct plan_served_row, n + 1);
	double least = INFINITY;

	*n_rows = 0;
	qsort(spots, n, sizeof *spots, by_x);
	for (size_t i = 0; i < n; i++) {
		p->points[p->n_points++] = spots[i].row;
		if (spots[i].y < least) {
			least = spots[i].y;
			rows[(*n_rows)++] = spots[i].row;
		}
	}
	return rows;
}

/* --- operating points ------------------------------------------------------------------------------------ */

/* From one request at a time to as many as a replica takes: tokens of a GPU against tokens of a user. */
static size_t
add_points(struct run *r, const struct plan_served *p, const struct plan_candidate *c, struct spot *out)
{
	struct plan_load free_load = p->load;
	enum plan_bound bound;
	struct plan_point most, at;
	size_t n = 0;

	free_load.n_objectives = 0;
	free_load.utilisation_frac = 1;
	if (!plan_most(c->setup, &free_load, &most, &bound))
		return 0;
	for (int i = 0; i < N_POINTS; i++) {
		const double rate = most.rate_request_per_s * pow(2, (i - N_POINTS + 1) / 1.5);
		if (!plan_point(c->setup, &free_load, rate, &at) || !(at.latency_s[PLAN_TPOT][PLAN_MEAN] > 0))
			continue;
		struct plan_candidate *own = ARENA_NEW(r->arena, struct plan_candidate);
		*own = *c;
		own->usual = at;
		const double gpu = rate * p->load.osl_token / c->n_replica_gpus,
		             user = 1 / at.latency_s[PLAN_TPOT][PLAN_MEAN];
		out[n++] = (struct spot){-user, -gpu, {own, 'a', gpu, user}};
	}
	return n;
}

static struct plan_served_row *
token_front(struct run *r, struct plan_served *p, size_t *n_rows)
{
	const struct capacity_search *s = &p->search;
	struct spot *spots = ARENA_ARRAY(r->arena, struct spot, s->n * N_POINTS + 1);
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		if (s->list[i].bound != PLAN_DOES_NOT_FIT)
			n += add_points(r, p, &s->list[i], spots + n);
	return front_of(r, p, spots, n, n_rows);
}

/* Refuse inputs that shape or rank the load: the points of this front cover all loads. */
static bool
has_no_load(struct run *r)
{
	static const char *const loads[] = {"rank", "price", "provider", "slo", "ttft", "tpot", "e2e", "growth",
	    "spare", "host_power", "pue", "isl_cv", "every_layout"};
	bool ok = true;

	for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
		const struct node *given = tree_get(r->inputs, loads[i]);
		if (!given)
			continue;
		diag_error(r->diag, given->at, "a front of operating points has no %s", loads[i]);
		diag_hint(r->diag, "leave it out, or write for example --pareto cost:tpot");
		ok = false;
	}
	return ok;
}

/* --- the question ---------------------------------------------------------------------------------------- */

bool
plan_serve_front(struct run *r, struct plan_served *p, struct plan_served_row **rows, size_t *n)
{
	const struct word w = p->in->pareto;
	const struct capacity_search *s = &p->search;
	const char *colon = strchr(w.text, ':');

	run_reads(r, &p->in->pareto, NULL);
	if (strcmp(w.text, "tokens-per-gpu:tokens-per-user") == 0) {
		if (!has_no_load(r))
			return false;
		*rows = token_front(r, p, n);
		return true;
	}
	const int x = colon ? measure_named(w.text, (size_t)(colon - w.text)) : (int)N_MEASURES,
	          y = colon ? measure_named(colon + 1, strlen(colon + 1)) : (int)N_MEASURES;
	if (x == (int)N_MEASURES || y == (int)N_MEASURES || x == y)
		return run_refuse(r, w.from, arena_printf(r->arena, "'%s' is no front", w.text),
		    "write for example cost:tpot, of cost, power, gpus, ttft, tpot and e2e, or "
		    "tokens-per-gpu:tokens-per-user");
	struct spot *spots = ARENA_ARRAY(r->arena, struct spot, s->n + 1);
	size_t n_spots = 0;
	p->x = x;
	p->y = y;
	for (size_t i = 0; i < s->n; i++) {
		const struct plan_candidate *c = &s->list[i];
		if (plan_feasible(c) && !c->idle && isfinite(measure_of(c, x)) && isfinite(measure_of(c, y)))
			spots[n_spots++] = (struct spot){measure_of(c, x), measure_of(c, y), {c, 'a', NAN, NAN}};
	}
	*rows = front_of(r, p, spots, n_spots, n);
	plan_serve_groups(r, p, *rows, *n);
	return true;
}

/* --- drawn ------------------------------------------------------------------------------------------------------- */

/* Figures of a setup in the unit of their axis. */
static const struct {
	const char *title;
	double unit;
} axes[] = {[PLAN_RANK_COST] = {"cost (USD per month)", 1},
    [PLAN_RANK_POWER] = {"power (kW)", 1e3},
    [PLAN_RANK_GPUS] = {"GPUs", 1},
    [PLAN_RANK_TTFT] = {"TTFT (ms)", 1e-3},
    [PLAN_RANK_TPOT] = {"TPOT (ms)", 1e-3},
    [N_PLAN_RANKS] = {"E2E latency (s)", 1}};

static double
drawn(const struct plan_served_row *row, int measure)
{
	const double value = measure_of(row->c, measure);

	return measure == PLAN_RANK_COST ? cost_month(NULL, value) : value / axes[measure].unit;
}

/* What tells a point from others. */
static const char *
name_of(struct run *r, const struct plan_served *p, const struct plan_served_row *row)
{
	const struct plan_setup *about = row->c->about;

	return p->search.n_groups == 1 ? about->layout
	                               : arena_printf(r->arena, "%s %s %s %s", about->gpu->id, about->engine->id,
	                                     dtype_name(about->type), about->layout);
}

static struct plot_series
series_of(struct run *r, const struct plan_served *p, const char *title, const struct plan_served_row *rows, size_t n,
    bool front)
{
	double *x = ARENA_ARRAY(r->arena, double, n + 1), *y = ARENA_ARRAY(r->arena, double, n + 1);
	const char **names = front && p->in->pareto.text ? ARENA_ARRAY(r->arena, const char *, n + 1) : NULL;

	for (size_t i = 0; i < n; i++) {
		const bool point = !isnan(rows[i].gpu_token_per_s);
		x[i] = point ? rows[i].user_token_per_s : drawn(&rows[i], p->x);
		y[i] = point ? rows[i].gpu_token_per_s : drawn(&rows[i], p->y);
		if (names)
			names[i] = name_of(r, p, &rows[i]);
	}
	return (struct plot_series){title, front && p->in->pareto.text, true, n, x, y, names};
}

/* All that meets the SLOs, as rows. */
static struct plan_served_row *
feasible(struct run *r, const struct plan_served *p, size_t *n)
{
	const struct capacity_search *s = &p->search;
	struct plan_served_row *rows = ARENA_ARRAY(r->arena, struct plan_served_row, s->n + 1);

	*n = 0;
	for (size_t i = 0; i < s->n; i++)
		if (plan_feasible(&s->list[i]))
			rows[(*n)++] = (struct plan_served_row){&s->list[i], 'a', NAN, NAN};
	return rows;
}

const struct plot *
plan_serve_plot(struct run *r, const struct plan_served *asked, const struct plan_served_row *rows, size_t n)
{
	struct plot *out = ARENA_NEW(r->arena, struct plot);
	struct plot_panel *panel = ARENA_NEW(r->arena, struct plot_panel);
	struct plan_served p = *asked;
	const bool points = !isnan(rows[0].gpu_token_per_s);

	if (!p.in->pareto.text) {
		p.points = feasible(r, &p, &p.n_points);
		p.x = p.rank == PLAN_RANK_TPOT ? PLAN_RANK_GPUS : PLAN_RANK_TPOT;
		p.y = isnan(plan_rank_value(rows[0].c, p.rank)) ? PLAN_RANK_GPUS : (int)p.rank;
	}
	panel->series = ARENA_ARRAY(r->arena, struct plot_series, 3);
	panel->series[panel->n_series++] = series_of(r, &p, "other setups", p.points, p.n_points, false);
	panel->series[panel->n_series++] = series_of(r, &p, p.in->pareto.text ? "front" : "rows", rows, n, true);
	if (p.today && plan_feasible(p.today)) {
		const struct plan_served_row today = {p.today, 'a', NAN, NAN};
		panel->series[panel->n_series++] = series_of(r, &p, "today", &today, 1, false);
	}
	panel->y_title = points ? "output tokens/s per GPU" : axes[p.y].title;
	out->x_title = points ? "tokens/s per user" : axes[p.x].title;
	out->title = r->title;
	out->n_panels = 1;
	out->panels = panel;
	return out;
}
