/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fronts: what no other layout beats in both of two figures, and how they are drawn. */
#include "ask/plan/plan.h"

/* The two figures of a front; smaller is better. */
static const struct {
	enum layout_rank x, y;
} axes[] = {[FRONT_TIME_GPUS] = {RANK_GPUS, RANK_TIME},
    [FRONT_TIME_MEMORY] = {RANK_MEMORY, RANK_TIME},
    [FRONT_COST_TIME] = {RANK_TIME, RANK_COST},
    [FRONT_ENERGY_TIME] = {RANK_TIME, RANK_ENERGY}};

static bool
is_beaten(const struct plan_question *b, const struct plan_row *rows, size_t n, size_t i)
{
	for (size_t k = 0; k < n; k++) {
		const double x = plan_value(&rows[i], axes[b->front].x) - plan_value(&rows[k], axes[b->front].x);
		const double y = plan_value(&rows[i], axes[b->front].y) - plan_value(&rows[k], axes[b->front].y);
		if (k != i && x >= 0 && y >= 0 && (x > 0 || y > 0))
			return true;
	}
	return false;
}

static void
swap(struct plan_row *a, struct plan_row *b)
{
	const struct plan_row c = *a;

	*a = *b;
	*b = c;
}

size_t
plan_front_of(const struct plan_question *b, struct plan_row *rows, size_t n)
{
	size_t n_front = 0;

	/* one by one: rows behind the front beat nothing in it */
	for (size_t i = 0; i < n; i++)
		if (!is_beaten(b, rows, n, i))
			swap(&rows[i], &rows[n_front++]);
	for (size_t i = 0; i < n_front; i++)
		for (size_t k = i; k > 0; k--)
			if (plan_value(&rows[k], axes[b->front].x) < plan_value(&rows[k - 1], axes[b->front].x))
				swap(&rows[k], &rows[k - 1]);
	return n_front;
}

/* --- plot -------------------------------------------------------------------------------------------------- */

static const char *const titles[] = {[RANK_TIME] = "training time (d)",
    [RANK_COST] = "cost (USD)",
    [RANK_ENERGY] = "energy (MWh)",
    [RANK_MEMORY] = "peak memory (GiB)",
    [RANK_GPUS] = "GPUs"};

/* A figure in the unit of its axis. */
static double
drawn(const struct plan_row *row, enum layout_rank rank)
{
	switch (rank) {
	case RANK_TIME:
		return isnan(row->run_s) ? row->row.step_s : row->run_s / 86400;
	case RANK_COST:
		return isnan(row->usd) ? row->gpu_s / 3600 : row->usd;
	case RANK_ENERGY:
		return row->joule / 3.6e9;
	case RANK_MEMORY:
		return row->row.peak_byte / 1073741824;
	case RANK_GPUS:
		break;
	}
	return row->space.n_gpus;
}

static struct plot_series
series_of(struct run *r, const char *title, const struct plan_row *rows, size_t n, enum layout_rank x,
    enum layout_rank y, bool front)
{
	double *at = ARENA_ARRAY(r->arena, double, n + 1), *value = ARENA_ARRAY(r->arena, double, n + 1);
	const char **names = front ? ARENA_ARRAY(r->arena, const char *, n + 1) : NULL;

	for (size_t i = 0; i < n; i++) {
		at[i] = drawn(&rows[i], x);
		value[i] = drawn(&rows[i], y);
		if (front)
			names[i] = plan_layout_text(r, &rows[i].memory);
	}
	return (struct plot_series){title, front, true, n, at, value, names};
}

/* Layouts that were compared with a front over memory. */
static struct plot_series
points_of(struct run *r, const struct plan_found *found)
{
	double *at = ARENA_ARRAY(r->arena, double, found->n_points + 1);
	double *value = ARENA_ARRAY(r->arena, double, found->n_points + 1);

	for (size_t i = 0; i < found->n_points; i++) {
		at[i] = found->points[i].peak_byte / 1073741824;
		value[i] = found->points[i].step_s;
	}
	return (struct plot_series){"other layouts", false, true, found->n_points, at, value, NULL};
}

static bool
spans_decade(const struct plot_series *s, bool x)
{
	double low = INFINITY, high = 0;

	for (size_t i = 0; i < s->n; i++) {
		low = fmin(low, x ? s->x[i] : s->y[i]);
		high = fmax(high, x ? s->x[i] : s->y[i]);
	}
	return low > 0 && high >= 10 * low;
}

/* The card's limit as a line. */
static struct plot_series
limit_of(struct run *r, const struct plan_row *rows, size_t n)
{
	double *at = ARENA_ARRAY(r->arena, double, 2), *value = ARENA_ARRAY(r->arena, double, 2);

	at[0] = at[1] = memory_limit(NULL, &rows[0].memory) / 1073741824;
	value[0] = value[1] = rows[0].row.step_s;
	for (size_t i = 0; i < n; i++) {
		value[0] = fmin(value[0], rows[i].row.step_s);
		value[1] = fmax(value[1], rows[i].row.step_s);
	}
	return (struct plot_series){"limit of the GPU", true, false, 2, at, value, NULL};
}

const struct plot *
plan_plot(
    struct run *r, const struct plan_question *b, const struct plan_row *rows, size_t n, const struct plan_found *found)
{
	struct plot *p = ARENA_NEW(r->arena, struct plot);
	struct plot_panel *panel = ARENA_NEW(r->arena, struct plot_panel);
	const bool memory = !b->by_scale;
	const enum layout_rank x = b->front ? axes[b->front].x : memory ? RANK_MEMORY : RANK_GPUS;
	const enum layout_rank y = b->front ? axes[b->front].y : RANK_TIME;

	panel->series = ARENA_ARRAY(r->arena, struct plot_series, 3);
	if (b->front == FRONT_TIME_MEMORY)
		panel->series[panel->n_series++] = points_of(r, found);
	else if (b->front || b->by_scale)
		panel->series[panel->n_series++] =
		    series_of(r, b->front ? "other numbers of GPUs" : "all", rows, n, x, y, false);
	if (b->front || memory)
		panel->series[panel->n_series++] =
		    series_of(r, b->front ? "front" : "layouts", found->rows, found->n, x, y, b->front != FRONT_NONE);
	if (memory && rows[0].space.modeled)
		panel->series[panel->n_series++] = limit_of(r, found->rows, found->n);
	const bool stepwise = isnan(rows[0].run_s);
	panel->y_title = y == RANK_TIME && stepwise ? "step time (s)" : titles[y];
	p->x_title = x == RANK_TIME && stepwise ? "step time (s)" : titles[x];
	panel->y_log = spans_decade(&panel->series[0], false);
	p->x_log = spans_decade(&panel->series[0], true);
	p->title = r->title;
	p->n_panels = 1;
	p->panels = panel;
	return p;
}
