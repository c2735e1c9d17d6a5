/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of several searches: fronts of two figures and their plot; numbers of GPUs under a deadline or a budget. */
#include "ask/plan/plan.h"

#include <stdlib.h>
#include <string.h>

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

/* Put what no other row beats in both first. */
static size_t
front_of(const struct plan_question *b, struct plan_row *rows, size_t n)
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

static const char *const axis_titles[] = {[RANK_TIME] = "training time (d)",
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
	panel->y_title = y == RANK_TIME && stepwise ? "step time (s)" : axis_titles[y];
	p->x_title = x == RANK_TIME && stepwise ? "step time (s)" : axis_titles[x];
	panel->y_log = spans_decade(&panel->series[0], false);
	p->x_log = spans_decade(&panel->series[0], true);
	p->title = r->title;
	p->n_panels = 1;
	p->panels = panel;
	return p;
}

/* --- --gpus: numbers of GPUs --------------------------------------------------------------------------------- */

enum { MOST_COUNTS = 4096 };

static bool
bad_count(struct run *r, struct word w, const char *why)
{
	diag_error(r->diag, w.from, "--gpus %s: %s", w.text, why);
	diag_hint(r->diag, "write for example 64, 64,128, 64..2048, 64..2048*2 or 64..512+64");
	return false;
}

static bool
read_count(struct run *r, struct word w, const char *from, size_t n, double *out)
{
	struct quantity_fault fault;

	if (!quantity_read(arena_copy(r->arena, from, n), Q_COUNT, out, &fault))
		return bad_count(r, w, fault.what);
	return *out >= 1 && *out == floor(*out) && *out <= 1e7 ? true : bad_count(r, w, "no whole number of GPUs");
}

static bool
add_count(struct run *r, struct word w, double n, struct plan_question *out)
{
	if (out->n_counts == MOST_COUNTS)
		return bad_count(r, w, arena_printf(r->arena, "more than %d numbers of GPUs", MOST_COUNTS));
	out->counts[out->n_counts++] = n;
	return true;
}

/* `64..2048`, `64..2048*2`, `64..512+64`. */
static bool
add_range(struct run *r, struct word w, const char *dots, double node, struct plan_question *out)
{
	const size_t n_end = strcspn(dots + 2, "*+");
	const char sign = dots[2 + n_end];
	double low, high, step = node;

	if (!read_count(r, w, w.text, (size_t)(dots - w.text), &low) || !read_count(r, w, dots + 2, n_end, &high) ||
	    (sign && !read_count(r, w, dots + 3 + n_end, strlen(dots + 3 + n_end), &step)))
		return false;
	if (low > high) {
		diag_error(r->diag, w.from, "--gpus %s is reversed", w.text);
		diag_hint(r->diag, "write --gpus %g..%g", high, low);
		return false;
	}
	if (sign == '*' && step <= 1)
		return bad_count(r, w, "the factor does not grow");
	if (!sign && low == 1 && !add_count(r, w, low, out))
		return false;
	if (!sign)
		low = step * ceil(low / step);
	for (double n = low; n <= high; n = sign == '*' ? n * step : n + step)
		if (!add_count(r, w, n, out))
			return false;
	return true;
}

static int
by_count(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

bool
plan_bind_counts(struct run *r, const struct words *said, double node, struct plan_question *out)
{
	const struct word usual = {arena_printf(r->arena, "%g..16384", node), {inputs_default, 0, 0, NULL, false}};
	const struct words open = {1, (struct word[]){usual}}, *words = said->n ? said : &open;
	size_t n = 0;

	out->counts = ARENA_ARRAY(r->arena, double, MOST_COUNTS);
	for (size_t i = 0; i < words->n; i++) {
		const struct word w = words->list[i];
		const char *dots = strstr(w.text, "..");
		double one;
		if (dots ? !add_range(r, w, dots, node, out)
		         : !read_count(r, w, w.text, strlen(w.text), &one) || !add_count(r, w, one, out))
			return false;
	}
	qsort(out->counts, out->n_counts, sizeof *out->counts, by_count);
	for (size_t i = 0; i < out->n_counts; i++)
		if (i == 0 || out->counts[i] != out->counts[n - 1])
			out->counts[n++] = out->counts[i];
	out->n_counts = n;
	if (n == 0)
		return bad_count(r, words->list[0], arena_printf(r->arena, "no multiple of %g between these", node));
	if (!said->n)
		run_assume(r, "GPUs: multiples of %g up to 16384", node);
	return true;
}

/* --- several numbers of GPUs ------------------------------------------------------------------------------------- */

/* Whether time and money stay within what was said; `sure`: at the upper end of the interval too. */
static bool
meets(const struct plan_in *in, const struct plan_row *row, bool sure)
{
	const double factor = sure ? row->high : 1;

	return !(factor * row->run_s > datum_or(in->deadline, INFINITY)) &&
	    !(factor * row->usd > datum_or(in->budget, INFINITY));
}

/* The first of those that meet it by this rank; n: there is none. */
static size_t
best_of(const struct plan_in *in, const struct plan_row *rows, size_t n, enum layout_rank rank, bool sure)
{
	size_t best = n;

	for (size_t i = 0; i < n; i++)
		if (meets(in, &rows[i], sure) &&
		    (best == n || plan_value(&rows[i], rank) < plan_value(&rows[best], rank)))
			best = i;
	return best;
}

/* --- rows worth a line ------------------------------------------------------------------------------------ */

/* No other row is as fast for as little GPU time. */
static bool
is_front(const struct plan_row *rows, size_t n, size_t i)
{
	for (size_t k = 0; k < n; k++) {
		const double faster = plan_value(&rows[i], RANK_TIME) - plan_value(&rows[k], RANK_TIME);
		const double cheaper = plan_value(&rows[i], RANK_COST) - plan_value(&rows[k], RANK_COST);
		if (k != i && faster >= 0 && cheaper >= 0 && (faster > 0 || cheaper > 0))
			return false;
	}
	return true;
}

static const struct {
	enum layout_rank rank;
	const char *plain, *sure;
} titles[] = {{RANK_GPUS, "fewest", "fewest that is sure"}, {RANK_COST, "cheapest", "cheapest that is sure"},
    {RANK_TIME, "fastest", NULL}};
enum { N_TITLES = sizeof titles / sizeof *titles };

/* What a row is known for. */
static const char *
note_of(struct run *r, const struct plan_in *in, const struct plan_row *rows, size_t n, size_t i)
{
	const bool target = datum_given(in->deadline) || datum_given(in->budget);
	const char *text = "";

	for (size_t t = 0; t < N_TITLES; t++)
		for (int sure = 0; sure < 2; sure++) {
			const char *title = sure ? titles[t].sure : titles[t].plain;
			if (!title || (sure && !target) || best_of(in, rows, n, titles[t].rank, sure) != i ||
			    (sure && best_of(in, rows, n, titles[t].rank, false) == i))
				continue;
			text = arena_printf(r->arena, "%s%s%s", text, *text ? ", " : "", title);
		}
	if (target && !meets(in, &rows[i], true))
		text = arena_printf(r->arena, "%s%smisses in the upper part of its interval", text, *text ? "; " : "");
	return *text ? text : NULL;
}

static bool
is_known(const struct plan_in *in, const struct plan_row *rows, size_t n, size_t i)
{
	for (size_t t = 0; t < N_TITLES; t++)
		for (int sure = 0; sure < 2; sure++)
			if (best_of(in, rows, n, titles[t].rank, sure) == i)
				return true;
	return false;
}

/* At most `most` rows: those that are known for something, and others evenly.  Of a front all may stay, else those that
 * no other one beats, and without a deadline or a budget, for which there is no use of others, all of a few. */
static size_t
thin_out(struct run *r, const struct plan_in *in, enum plan_front front, struct plan_row *rows, size_t n, size_t most)
{
	const bool target = datum_given(in->deadline) || datum_given(in->budget);
	bool *keep = ARENA_ARRAY(r->arena, bool, n + 1), *may = ARENA_ARRAY(r->arena, bool, n + 1);
	size_t n_kept = 0, n_may = 0, seen = 0;

	for (size_t i = 0; i < n; i++) {
		keep[i] = is_known(in, rows, n, i);
		may[i] = !keep[i] && (front || (n <= most && !target) || is_front(rows, n, i));
		n_kept += keep[i];
		n_may += may[i];
	}
	const size_t room = most > n_kept ? most - n_kept : 0;
	for (size_t i = 0; i < n; i++)
		if (may[i]) {
			keep[i] = (seen + 1) * room / n_may > seen * room / n_may;
			seen++;
		}
	n_kept = 0;
	for (size_t i = 0; i < n; i++)
		if (keep[i])
			rows[n_kept++] = rows[i];
	return n_kept;
}

/* --- one row for each number of GPUs ----------------------------------------------------------------------- */

/* Whether a row takes no more time than was said, as far as that counts; money apart. */
static bool
is_in_time(const struct plan_in *in, const struct plan_row *row)
{
	return !((in->sure ? row->high : 1) * row->run_s > datum_or(in->deadline, INFINITY));
}

/* Nothing meets both the deadline and the budget: the cheapest that is in time, or the fastest there is. */
static enum answer
show_missed(struct run *r, const struct plan_in *in, const struct plan_question *b, struct plan_found *found)
{
	struct sheet *sh = r->sheet;
	const bool timed = datum_given(in->deadline);
	size_t n_in_time = 0, best = found->n;
	char text[80];

	for (size_t i = 0; i < found->n; i++)
		n_in_time += is_in_time(in, &found->rows[i]);
	const enum layout_rank rank = n_in_time > 0 ? RANK_COST : RANK_TIME;
	for (size_t i = 0; i < found->n; i++)
		if ((n_in_time == 0 || is_in_time(in, &found->rows[i])) &&
		    (best == found->n || plan_value(&found->rows[i], rank) < plan_value(&found->rows[best], rank)))
			best = i;
	const char *known_for = n_in_time == 0 ? "the fastest there is"
	    : timed                            ? "the cheapest that meets the deadline"
	                                       : "the cheapest there is";
	struct plan_row *row = &found->rows[best];
	const double factor = in->sure ? row->high : 1;
	SCOPE_I (sh, "layouts", 0)
		plan_show_row(r, in, b, row, row, known_for);
	if (factor * row->run_s > datum_or(in->deadline, INFINITY)) {
		TAKE(sh, taken_s, factor * row->run_s);
		TAKE(sh, deadline_s, in->deadline);
		LET(sh, late_s, taken_s - deadline_s);
		SHOW(sh, late_s, late_s);
		run_warn(r, "no layout meets the deadline: it is missed by %s",
		    value_write("late_s", late_s, text, sizeof text));
	}
	if (factor * row->usd > datum_or(in->budget, INFINITY)) {
		TAKE(sh, paid_usd, factor * row->usd);
		TAKE(sh, budget_usd, in->budget);
		LET(sh, over_usd, paid_usd - budget_usd);
		SHOW(sh, over_usd, over_usd);
		run_warn(r, "no layout stays within the budget: it is exceeded by %s",
		    value_write("over_usd", over_usd, text, sizeof text));
	}
	found->rows[0] = *row;
	return ANSWERED_NO;
}

enum answer
plan_show_scales(struct run *r, const struct plan_in *in, const struct plan_question *b, struct plan_found *found)
{
	struct plan_row *rows = found->rows;
	size_t n = 0;

	for (size_t i = 0; i < found->n; i++)
		n += meets(in, &rows[i], in->sure);
	if (n == 0)
		return show_missed(r, in, b, found);
	n = 0;
	for (size_t i = 0; i < found->n; i++)
		if (meets(in, &rows[i], in->sure))
			rows[n++] = rows[i];
	found->n = b->front ? front_of(b, rows, n) : n;
	if (!in->all)
		found->n = thin_out(r, in, b->front, rows, found->n, (size_t)in->top.value);
	for (size_t i = 0; i < found->n; i++)
		SCOPE_I (r->sheet, "layouts", i)
			plan_show_row(r, in, b, &rows[i], &rows[0], note_of(r, in, rows, found->n, i));
	return ANSWERED;
}
