/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Draw the setups of `ridge plan serve`: the front of --pareto, or what rows are ranked by over the latency. */
#include "ask/plan/serve.h"

#include "report/report.h"

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
	const double value = plan_serve_measure(row->c, measure);

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
