/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ridge scale` with measured points: efficiency, fitted laws, predictions. */
#include "ask/ask.h"

#include "base/base.h"
#include "base/sheet.h"
#include "cli/cli.h"
#include "import/import.h"
#include "model/calc/calc.h"
#include "search/stats/stats.h"

#include <stdlib.h>
#include <string.h>

/* --- series -------------------------------------------------------------------------------------------------- */

/* A scaling series from a file of numbers, such as a sweep of ridge train prints. */

/* Names that tables give to how many GPUs took part, and to what they did in a second; the first that is there counts.
 */
static const char *const counts[] = {
    "gpus", "system.gpus", "num_gpus", "n_gpus", "ranks", "n_ranks", "nproc", "inputs.gpus"};
static const char *const rates[] = {"rate", "throughput", "token_per_s", "sample_per_s", "request_per_s",
    "output_token_per_s", "rate_token_per_s", "rate_sample_per_s", "tokens_per_s", "samples_per_s", "images_per_s",
    "rate_request_per_s"};

static size_t
column_of(const struct table *t, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const size_t found = table_column(t, names[i]);
		if (found < t->n_columns)
			return found;
	}
	return t->n_columns;
}

static bool
read_cell(struct run *r, const struct cell *cell, const char *what, double *out)
{
	struct quantity_fault fault;

	if (!cell->text) {
		diag_error(r->diag, cell->at, "this line has no %s", what);
		diag_hint(r->diag, "leave the line out");
		return false;
	}
	if (quantity_read(cell->text, Q_NUMBER, out, &fault) && *out > 0)
		return true;
	diag_error(r->diag, cell->at, "'%s' is no %s", cell->text, what);
	diag_hint(r->diag, "write a number above 0");
	return false;
}

/* The points of a file, at most POINTS_MAX; false with an error. */
static bool
scale_series(struct run *r, struct word file, struct scale_point *out, size_t *n)
{
	struct table t;

	if (!table_read_file(r->arena, r->diag, file.text, NULL, &t))
		return false;
	const size_t count = column_of(&t, counts, sizeof counts / sizeof *counts);
	const size_t rate = column_of(&t, rates, sizeof rates / sizeof *rates);
	if (!t.heads || count == t.n_columns || rate == t.n_columns) {
		diag_error(r->diag, file.from, "%s has no column of %s", file.text,
		    t.heads && count < t.n_columns ? "rates" : "numbers of GPUs");
		diag_hint(r->diag,
		    "use columns gpus and rate, or the output of 'ridge train ... --sweep gpus=8..64*2 --csv'");
		return false;
	}
	if (t.n_lines > POINTS_MAX) {
		diag_error(r->diag, file.from, "more than %d points", POINTS_MAX);
		diag_hint(r->diag, "give fewer lines");
		return false;
	}
	for (size_t i = 0; i < t.n_lines; i++) {
		const struct cell *gpus = table_cell(&t, i, count);
		out[i].from = gpus->at;
		if (!read_cell(r, gpus, "number of GPUs", &out[i].n_ranks) ||
		    !read_cell(r, table_cell(&t, i, rate), "rate", &out[i].value))
			return false;
		if (out[i].n_ranks != floor(out[i].n_ranks)) {
			diag_error(r->diag, gpus->at, "'%s' is not a whole number of GPUs", gpus->text);
			diag_hint(r->diag, "write for example 8");
			return false;
		}
	}
	*n = t.n_lines;
	return true;
}

/* --- reading lists --------------------------------------------------------------------------------------- */

static bool
read_part(struct run *r, struct word w, const char *text, enum quantity q, double *value)
{
	struct quantity_fault fault;

	*value = 1;
	if (!quantity_read(text, q, value, &fault)) {
		diag_error(r->diag, w.from, "%s", fault.what);
		if (fault.hint[0])
			diag_hint(r->diag, "%s", fault.hint);
		return false;
	}
	if (*value > 0 && (q != Q_COUNT || *value == floor(*value)))
		return bounds_check(r->diag, w.from,
		    q == Q_COUNT      ? "gpus"
		        : q == Q_TIME ? "time"
		                      : "throughput",
		    q, *value);
	diag_error(
	    r->diag, w.from, *value > 0 ? "'%s' is not a whole number of GPUs" : "'%s' must be greater than 0", text);
	diag_hint(r->diag, "write for example %s", q == Q_TIME ? "14h@1" : "8:4000");
	return false;
}

/* `8:4000` or `4000@8`, `25min@256` or `256:25min`. */
static bool
read_point(struct run *r, struct word w, enum quantity q, struct scale_point *out)
{
	const char *at = strchr(w.text, '@'), *colon = strchr(w.text, ':');
	const char *cut = at ? at : colon;

	if (!cut) {
		diag_error(r->diag, w.from, "'%s' is not of the form %s", w.text, q == Q_TIME ? "TIME@N" : "N:RATE");
		diag_hint(r->diag, "write for example %s",
		    q == Q_TIME ? "--times 14h@1,25min@256" : "--points 1:1000,8:4000");
		return false;
	}
	const char *before = arena_copy(r->arena, w.text, (size_t)(cut - w.text));
	*out = (struct scale_point){1, 1, w.from};
	return read_part(r, w, at ? cut + 1 : before, Q_COUNT, &out->n_ranks) &&
	    read_part(r, w, at ? before : cut + 1, q, &out->value);
}

static int
by_ranks(const void *a, const void *b)
{
	const struct scale_point *x = a, *y = b;

	return (x->n_ranks > y->n_ranks) - (x->n_ranks < y->n_ranks);
}

static bool
read_points(struct run *r, const struct words *list, enum quantity q, struct scale_point *out)
{
	if (list->n > POINTS_MAX) {
		diag_error(r->diag, list->list[0].from, "more than %d points", POINTS_MAX);
		diag_hint(r->diag, "give fewer");
		return false;
	}
	for (size_t i = 0; i < list->n; i++)
		if (!read_point(r, list->list[i], q, &out[i]))
			return false;
	return true;
}

/* Of the options that give points the one that was used; sorted. */
static bool
bind_points(struct run *r, const struct scale_in *in, struct scale_point *out, size_t *n)
{
	const bool times = in->times.n > 0;
	run_reads(r, &in->points, &in->times, &in->series, NULL);
	const struct words *list = times ? &in->times : &in->points;
	const struct source from = in->series.text ? in->series.from : list->list[0].from;

	if (in->series.text ? !scale_series(r, in->series, out, n)
	                    : !read_points(r, list, times ? Q_TIME : Q_NUMBER, out))
		return false;
	if (!in->series.text)
		*n = list->n;
	if (*n < 2) {
		diag_error(r->diag, from, "scaling needs two points or more");
		diag_hint(r->diag, "give at least two; the smallest number of GPUs is the base");
		return false;
	}
	qsort(out, *n, sizeof *out, by_ranks);
	for (size_t i = 1; i < *n; i++)
		if (out[i].n_ranks == out[i - 1].n_ranks) {
			diag_error(r->diag, out[i].from, "two points for %g GPUs", out[i].n_ranks);
			diag_hint(r->diag, "give one per number of GPUs, the median of repeated measurements");
			return false;
		}
	return true;
}

bool
scale_ranks(struct run *r, const struct scale_in *in, double *ranks)
{
	if (in->gpus.n > POINTS_MAX) {
		diag_error(r->diag, in->gpus.list[0].from, "more than %d numbers of GPUs", POINTS_MAX);
		diag_hint(r->diag, "give fewer");
		return false;
	}
	run_reads(r, &in->gpus, NULL);
	for (size_t i = 0; i < in->gpus.n; i++) {
		ranks[i] = 1;
		if (!read_part(r, in->gpus.list[i], in->gpus.list[i].text, Q_COUNT, &ranks[i]))
			return false;
	}
	return true;
}

bool
scale_need_ranks(struct run *r, const struct scale_in *in)
{
	if (in->gpus.n)
		return true;
	diag_error(r->diag, (struct source){0}, "number of ranks missing");
	diag_hint(r->diag, "add for example --gpus 2,4,8,16");
	return false;
}

const char *
scale_percent(struct run *r, double fraction)
{
	char buf[40];

	return arena_text(r->arena, value_write("x_frac", fraction, buf, sizeof buf));
}

/* --- measured points ------------------------------------------------------------------------------------- */

struct series {
	const struct scale_point *points;
	size_t n;
	bool times;
};

static double
show_point(struct run *r, const struct scale_in *in, const struct series *s, size_t i)
{
	struct sheet *sh = r->sheet;
	double speedup, result_frac = 0;

	SCOPE_I (sh, "points", i) {
		TAKE(sh, n_base_ranks, s->points[0].n_ranks);
		TAKE(sh, n_ranks, s->points[i].n_ranks);
		SHOW(sh, n_ranks, n_gpus);
		if (s->times) {
			TAKE(sh, base_s, s->points[0].value);
			TAKE(sh, time_s, s->points[i].value);
			SHOW(sh, time_s, time_s);
			SET_CALL(sh, speedup, scale_speedup_time(sh, base_s, time_s));
			SHOW(sh, speedup, speedup);
			if (datum_given(in->price)) {
				TAKE(sh, gpu_usd_per_s, in->price);
				CALL(sh, run_usd, scale_run_usd(sh, n_ranks, gpu_usd_per_s, time_s));
				SHOW(sh, run_usd, run_usd);
			}
		} else {
			TAKE(sh, base_sample_per_s, s->points[0].value);
			TAKE(sh, rate_sample_per_s, s->points[i].value);
			SHOW(sh, rate_sample_per_s, sample_per_s);
			SET_CALL(sh, speedup, scale_speedup_rate(sh, base_sample_per_s, rate_sample_per_s));
			SHOW(sh, speedup, speedup);
			if (datum_given(in->price)) {
				TAKE(sh, gpu_usd_per_s, in->price);
				CALL(sh, million_usd, scale_million_usd(sh, n_ranks, gpu_usd_per_s, rate_sample_per_s));
				SHOW(sh, million_usd, million_sample_usd);
			}
		}
		CALL(sh, efficiency_frac, scale_efficiency(sh, n_base_ranks, n_ranks, speedup));
		SHOW(sh, efficiency_frac, efficiency_frac);
		result_frac = efficiency_frac;
	}
	return result_frac;
}

static const char *
interval(struct run *r, const char *name, const struct scale_estimate *e)
{
	char low[40], high[40], widest[40], highest[40];

	if (e->t_80 <= 0)
		return "unknown: as many points as parameters";
	value_write(name, e->value - e->t_80 * e->error, low, sizeof low);
	value_write(name, e->value + e->t_80 * e->error, high, sizeof high);
	value_write(name, e->value - e->t_95 * e->error, widest, sizeof widest);
	value_write(name, e->value + e->t_95 * e->error, highest, sizeof highest);
	return arena_printf(r->arena, "%s .. %s (80 %%), %s .. %s (95 %%)", low, high, widest, highest);
}

static const char *
short_interval(struct run *r, const struct scale_estimate *e)
{
	char low[40], high[40];

	if (e->t_80 <= 0)
		return "not known";
	value_write("rate", e->value - e->t_80 * e->error, low, sizeof low);
	value_write("rate", e->value + e->t_80 * e->error, high, sizeof high);
	return arena_printf(r->arena, "%s .. %s", low, high);
}

static void
show_fit(struct run *r, const struct fit *f, bool universal)
{
	struct sheet *sh = r->sheet;
	const struct scale_estimate c = fit_contention(f), k = fit_coherency(f);

	if (!f->given)
		return;
	SCOPE_I (sh, "fits", universal) {
		TELL(sh, curve, universal ? "USL" : "Amdahl");
		CALL(sh, contention, scale_interval(sh, &c));
		SHOW(sh, contention, contention);
		TELL(sh, contention_interval, interval(r, "contention", &c));
		if (universal) {
			CALL(sh, coherency, scale_interval(sh, &k));
			SHOW(sh, coherency, coherency);
			TELL(sh, coherency_interval, interval(r, "coherency", &k));
		}
		TAKE(sh, scatter_frac, f->scatter_frac);
		if (f->n_free)
			SHOW(sh, scatter_frac, fit_error_frac);
	}
}

/* Predicted at the asked numbers of GPUs, or at two and four times the largest measured one. */
static void
show_predicted(struct run *r, const struct scale_in *in, const struct series *s, const struct fit *law)
{
	struct sheet *sh = r->sheet;
	double ranks[POINTS_MAX];
	size_t n = in->gpus.n;

	if (!scale_ranks(r, in, ranks))
		return;
	const double most = s->points[s->n - 1].n_ranks;
	if (n == 0) {
		ranks[n++] = 2 * most;
		ranks[n++] = 4 * most;
	}
	for (size_t i = 0; i < n; i++)
		SCOPE_I (sh, "predicted", i) {
			const struct scale_estimate e = fit_rate(law, ranks[i]);
			TAKE(sh, n_ranks, ranks[i]);
			SHOW(sh, n_ranks, n_gpus);
			TAKE(sh, n_base_ranks, s->points[0].n_ranks);
			const double base = s->times ? 1 / s->points[0].value : s->points[0].value;
			TAKE(sh, base_sample_per_s, base);
			CALL(sh, rate_sample_per_s, scale_rate_interval(sh, &e));
			CALL(sh, speedup, scale_speedup_rate(sh, base_sample_per_s, rate_sample_per_s));
			CALL(sh, efficiency_frac, scale_efficiency(sh, n_base_ranks, n_ranks, speedup));
			if (s->times) {
				CALL(sh, time_s, scale_time_of_rate(sh, rate_sample_per_s));
				SHOW(sh, time_s, time_s);
			} else {
				SHOW(sh, rate_sample_per_s, sample_per_s);
				TELL(sh, rate_interval, short_interval(r, &e));
			}
			SHOW(sh, speedup, speedup);
			SHOW(sh, efficiency_frac, efficiency_frac);
		}
	if (ranks[n - 1] > 4 * most)
		run_warn(r, "%g GPUs are far beyond the %g measured: the law is extrapolated", ranks[n - 1], most);
}

static void
show_laws(struct run *r, const struct scale_in *in, const struct series *s)
{
	struct sheet *sh = r->sheet;
	struct fit_point points[POINTS_MAX];

	for (size_t i = 0; i < s->n; i++)
		points[i] =
		    (struct fit_point){s->points[i].n_ranks, s->times ? 1 / s->points[i].value : s->points[i].value};
	const struct fit amdahl = fit_amdahl(points, s->n), usl = fit_usl(points, s->n);
	if (!amdahl.given) {
		run_warn(r, "no law fitted: two different numbers of GPUs are needed");
		return;
	}
	const struct fit law = fit_choose(&amdahl, &usl);
	show_fit(r, &amdahl, false);
	show_fit(r, &usl, true);
	if (amdahl.contention < 0)
		run_warn(r, "superlinear: check for a slow base, cache effects or less work per GPU");
	TELL(sh, law, law.n_params == 3 ? "USL: coherency above 0 with 80 % confidence" : "Amdahl's");
	FROM_STRUCT(sh, law, contention, coherency);
	if (law.coherency > 0) {
		CALL(sh, n_peak_ranks, scale_peak(sh, contention, coherency));
		SHOW(sh, n_peak_ranks, n_peak_gpus);
	}
	if (datum_given(in->warn_below)) {
		TAKE(sh, least_frac, in->warn_below);
		CALL(sh, n_stop_ranks, scale_stop(sh, contention, coherency, least_frac));
		SHOW(sh, n_stop_ranks, n_max_gpus);
	}
	show_predicted(r, in, s, &law);
}

enum answer
scale_measured(struct run *r, const struct scale_in *in)
{
	struct scale_point points[POINTS_MAX];
	const bool times = in->times.n > 0;
	struct sheet *sh = r->sheet;
	double worst = INFINITY, at = 0;
	size_t n = 0;

	if (!bind_points(r, in, points, &n))
		return REFUSED;
	const struct series s = {points, n, times};
	r->title = arena_printf(r->arena, "Scaling from %g to %g GPUs", points[0].n_ranks, points[s.n - 1].n_ranks);
	for (size_t i = 0; i < s.n; i++) {
		const double efficiency = show_point(r, in, &s, i);
		if (efficiency < worst) {
			worst = efficiency;
			at = points[i].n_ranks;
		}
	}
	enum answer answer = ANSWERED;
	if (datum_given(in->warn_below)) {
		run_reads(r, &in->warn_below, NULL);
		answer = worst < in->warn_below.value ? ANSWERED_NO : ANSWERED;
		TELL(sh, verdict,
		    answer == ANSWERED ? arena_printf(r->arena, "meets %s", scale_percent(r, in->warn_below.value))
		                       : arena_printf(r->arena, "misses %s: %s at %g GPUs",
		                             scale_percent(r, in->warn_below.value), scale_percent(r, worst), at));
	}
	show_laws(r, in, &s);
	return answer;
}
