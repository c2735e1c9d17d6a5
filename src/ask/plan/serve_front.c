/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fronts of `ridge plan serve --pareto`: setups, or operating points of one replica, that no other one beats in both
 * measures; and what --plot draws, of a front or of rows. */
#include "ask/plan/plan.h"

#include <stdlib.h>
#include <string.h>

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

enum { N_POINTS = 12 };
static const char point_plane[] = "tokens-per-gpu:tokens-per-user";

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
		own->n_all = 1;
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

bool
plan_serve_points_asked(const struct plan_serve_in *in)
{
	return in->pareto.text && strcmp(in->pareto.text, point_plane) == 0;
}

/* Inputs that shape or rank a load: the points of this front cover all loads. */
bool
plan_serve_points_free(struct run *r)
{
	static const char *const loads[] = {"rate", "users", "day_tokens", "think", "target_load", "rank", "price",
	    "provider", "slo", "ttft", "tpot", "e2e", "growth", "spare", "host_power", "pue", "isl_cv", "every_layout",
	    "pools", "unconfirmed", "seed"};
	bool ok = true;

	for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
		const struct node *given = tree_get(r->inputs, loads[i]);
		if (!given)
			continue;
		diag_error(r->diag, given->at, "has no effect on operating points, which cover all loads");
		diag_hint(r->diag, "leave it out, or write for example --pareto cost:tpot");
		ok = false;
	}
	return ok;
}

/* A setup is on no front of money or power without its price or its TDP; false with errors where none has one. */
static bool
say_unknown(struct run *r, const struct plan_served *p, const struct plan_candidate *c, bool all)
{
	const char *gpu = ((const struct plan_setup *)c->about)->gpu->id;
	const bool priced = !isnan(c->gpu_usd_per_s);
	const char *what = arena_printf(
	               r->arena, priced ? "no TDP of %s in the database" : "no price of %s in the database", gpu),
	           *hint = priced ? "add for example --set gpu.tdp=700W"
	                          : arena_printf(r->arena, "add for example --price %s=3.5, in USD per hour", gpu);

	if (all)
		return run_refuse(r, p->in->pareto.from, what, hint);
	run_warn(r, "%s: it is not on the front; %s", what, hint);
	return true;
}

/* --- the question ---------------------------------------------------------------------------------------- */

bool
plan_serve_front(struct run *r, struct plan_served *p, struct plan_served_row **rows, size_t *n)
{
	const struct word w = p->in->pareto;
	const struct capacity_search *s = &p->search;
	const char *colon = strchr(w.text, ':');

	run_reads(r, &p->in->pareto, NULL);
	if (plan_serve_points_asked(p->in)) {
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
	const struct plan_candidate *unknown = NULL;
	for (size_t i = 0; i < s->n; i++) {
		const struct plan_candidate *c = &s->list[i];
		if (!plan_feasible(c) || c->idle)
			continue;
		if (isfinite(measure_of(c, x)) && isfinite(measure_of(c, y)))
			spots[n_spots++] = (struct spot){measure_of(c, x), measure_of(c, y), {c, 'a', NAN, NAN}};
		else
			unknown = c;
	}
	if (unknown && !say_unknown(r, p, unknown, n_spots == 0))
		return false;
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
