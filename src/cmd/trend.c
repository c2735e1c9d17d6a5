/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge trend: growth of a series, and when it reaches a limit. */
#include "ask/ask.h"
#include "model/calc/calc.h"
#include "model/measured/measured.h"
#include "search/stats/stats.h"

#include <string.h>

#define TREND_OPTIONS(X)                                                                                               \
	X(0, points, "points", "points", WORDS, "STEP:VALUE,...|FILE", "file", NULL,                                   \
	    "series: 0:8.50GB,1000:9.20GB, or a file of two columns")                                                  \
	X(0, x, "x", "x", WORD, "COLUMN", "", NULL, "step column of the file (default: the first)")                    \
	X(0, y, "y", "y", WORD, "COLUMN", "", NULL, "value column of the file (default: the second)")                  \
	X(0, per, "per", "per", WORD, "WORD", "", "step", "unit of a step: step, epoch, hour")                         \
	X(0, capacity, "capacity", "capacity", WORD, "VALUE", "", NULL,                                                \
	    "limit of the values, such as 16GB; prints when it is reached")                                            \
	X(0, steps, "steps", "steps", COUNT, "N", "", NULL,                                                            \
	    "last step of the run; exit status 1 when --capacity is reached before it")

struct trend_in {
	TREND_OPTIONS(OPTION_MEMBER)
};

#define THIS struct trend_in
static const struct option trend_options[] = {TREND_OPTIONS(OPTION_ROW)};
#undef THIS

MEASURED(slope, slope)
MEASURED(low, low)
MEASURED(high, high)
MEASURED(growth, growth)
MEASURED(value, forecast)
MEASURED(limit, capacity)

struct series {
	struct points points;
	struct trend fit;
	struct datum steps;
	const char *per;
	bool limited;
	double limit;
	double full_step; /* when the limit is reached; NaN: no line that counts says so */
	size_t n_lines;   /* shown */
};

static bool
read_series(struct run *r, const struct trend_in *in, struct series *s)
{
	const struct source from = in->points.n ? in->points.list[0].from : (struct source){0};

	if (in->points.n == 0) {
		diag_error(r->diag, from, "no series given");
		diag_hint(r->diag, "add --points 0:8.50GB,1000:9.20GB,5000:12.50GB, or a file of two columns");
		return false;
	}
	if (!points_read(r, &in->points, in->x, in->y, &s->points))
		return false;
	if (s->points.n < 2 || !trend_fit(s->points.step, s->points.value, s->points.n, &s->fit)) {
		diag_error(r->diag, from, "a trend needs two different steps");
		diag_hint(r->diag, "give at least two points with different steps");
		return false;
	}
	run_reads(r, &in->per, &in->capacity, NULL);
	s->per = in->per.text;
	s->steps = in->steps;
	s->limited = in->capacity.text != NULL;
	return !s->limited || measure_read(r, in->capacity.from, in->capacity.text, &s->points.kind, &s->limit);
}

/* --- lines ----------------------------------------------------------------------------------------------- */

/* Where a line is at the asked step, and when it is full, if it is one that counts.  The scope has its rows `slope` and
 * `start`. */
static void
show_ahead(struct run *r, struct series *s, bool counts, double slope, double start)
{
	struct sheet *sh = r->sheet;

	if (datum_given(s->steps)) {
		TAKE(sh, n_steps, s->steps);
		CALL(sh, growth, trend_growth(sh, slope, n_steps));
		CALL(sh, value, trend_value(sh, start, slope, n_steps));
		show_growth(sh, s->points.kind, growth);
		show_value(sh, s->points.kind, value);
	}
	if (s->limited && counts && slope > 0) {
		TAKE(sh, limit, s->limit);
		CALL(sh, n_last_step, trend_reached(sh, start, slope, limit));
		SHOW(sh, n_last_step, full_step);
		if (isnan(s->full_step))
			s->full_step = n_last_step;
	}
}

/* Growth that is none fills nothing; what fills the card under a sawtooth are its tops. */
static bool
counts(const struct series *s, const struct trend_line *line)
{
	return s->fit.kind == TREND_CLIMBING ? line == &s->fit.crest
	                                     : s->fit.kind == TREND_LEAK || s->fit.kind == TREND_UNKNOWN;
}

static void
show_fitted(struct run *r, struct series *s, const struct trend_line *line, const char *name)
{
	struct sheet *sh = r->sheet;
	const struct scale_estimate *e = &line->slope;

	if (!line->given)
		return;
	SCOPE_I (sh, "fits", s->n_lines++) {
		TELL(sh, method, name);
		measure_unit(sh, s->points.kind);
		CALL(sh, slope, scale_interval(sh, e));
		show_slope(sh, s->points.kind, slope);
		if (e->t_95 > 0) {
			TAKE(sh, low, trend_low(line));
			TAKE(sh, high, trend_high(line));
			show_low(sh, s->points.kind, low);
			show_high(sh, s->points.kind, high);
		}
		if (line == &s->fit.all && !isnan(s->fit.explained_frac)) {
			TAKE(sh, explained_frac, s->fit.explained_frac);
			SHOW(sh, explained_frac, r2_frac);
		}
		TAKE(sh, start, line->start);
		show_ahead(r, s, counts(s, line), slope, start);
	}
}

static void
show_sen(struct run *r, struct series *s)
{
	struct sheet *sh = r->sheet;

	if (isnan(s->fit.sen))
		return;
	SCOPE_I (sh, "fits", s->n_lines++) {
		TELL(sh, method, "Theil-Sen");
		measure_unit(sh, s->points.kind);
		TAKE(sh, slope, s->fit.sen);
		show_slope(sh, s->points.kind, slope);
		if (!isnan(s->fit.sen_low)) {
			TAKE(sh, low, s->fit.sen_low);
			TAKE(sh, high, s->fit.sen_high);
			show_low(sh, s->points.kind, low);
			show_high(sh, s->points.kind, high);
		}
	}
}

static void
show_ends(struct run *r, struct series *s)
{
	struct sheet *sh = r->sheet;
	const struct points *p = &s->points;

	SCOPE_I (sh, "fits", s->n_lines++) {
		TELL(sh, method, "endpoints");
		measure_unit(sh, p->kind);
		TAKE(sh, first_step, p->step[0]);
		TAKE(sh, last_step, p->step[p->n - 1]);
		TAKE(sh, first, p->value[0]);
		TAKE(sh, last, p->value[p->n - 1]);
		CALL(sh, slope, trend_end_slope(sh, first_step, last_step, first, last));
		CALL(sh, start, trend_start(sh, first, slope, first_step));
		show_slope(sh, p->kind, slope);
		show_ahead(r, s, counts(s, NULL), slope, start);
	}
}

/* --- the verdict ----------------------------------------------------------------------------------------- */

static const char *
advice(enum trend_kind kind)
{
	switch (kind) {
	case TREND_UNKNOWN:
		return "two points give no noise estimate: give more";
	case TREND_STABLE:
		return "no growth beyond the noise";
	case TREND_LEAK:
		return "leak: compare two allocator snapshots";
	case TREND_SAWTOOTH:
		return "normal: memory is freed and allocated again";
	case TREND_CLIMBING:
		return "leak under a sawtooth: compare allocator snapshots at two minima";
	case TREND_LEVELS:
		return "growth has stopped: caches and pools have filled";
	case TREND_SHRINKS:
		return NULL;
	}
	return NULL;
}

/* The limit, and whether it is reached too early. */
static bool
show_capacity(struct run *r, const struct series *s)
{
	struct sheet *sh = r->sheet;
	const double last_value = s->points.value[s->points.n - 1];

	if (!s->limited)
		return false;
	measure_unit(sh, s->points.kind);
	TAKE(sh, limit, s->limit);
	show_limit(sh, s->points.kind, limit);
	if (last_value >= s->limit) {
		run_warn(r, "the last value already exceeds the capacity");
		return true;
	}
	if (isnan(s->full_step))
		return false;
	TAKE(sh, n_full_step, s->full_step);
	SHOW(sh, n_full_step, full_step);
	return datum_given(s->steps) && s->full_step < s->steps.value;
}

static enum answer
show_verdict(struct run *r, const struct series *s)
{
	struct sheet *sh = r->sheet;
	const bool full = show_capacity(r, s);
	const bool leak = s->fit.kind == TREND_LEAK || s->fit.kind == TREND_CLIMBING;

	TELL(sh, verdict, trend_word(s->fit.kind));
	if (advice(s->fit.kind))
		TELL(sh, meaning, advice(s->fit.kind));
	return leak || full ? ANSWERED_NO : ANSWERED;
}

static enum answer
trend_run(struct run *r, const void *input)
{
	const struct trend_in *in = input;
	struct series s = {.full_step = NAN};

	if (!read_series(r, in, &s))
		return REFUSED;
	const struct points *p = &s.points;
	r->title =
	    arena_printf(r->arena, "Trend of %zu points from %s %g to %g", p->n, s.per, p->step[0], p->step[p->n - 1]);
	show_fitted(r, &s, &s.fit.all, "least squares");
	show_sen(r, &s);
	show_ends(r, &s);
	show_fitted(r, &s, &s.fit.floor, "minima");
	show_fitted(r, &s, &s.fit.crest, "maxima");
	return show_verdict(r, &s);
}

static const struct option_group trend_groups[] = {OPTION_GROUP(trend_options, 0)};

static const struct example trend_examples[] = {
    {"trend --points 0:8.50GB,100:8.52GB,500:8.80GB,1000:9.20GB,5000:12.50GB --capacity 16GB --steps 50000",
        "allocated memory over training steps: leak, and when GPU memory is full", 1},
    {"trend --points 0:8.50GB,1000:8.50GB,10000:8.50GB", "after the fix", 0},
    {"trend --points 0:4GB,100:7GB,200:10GB,210:4GB,300:7GB,400:10GB,410:4GB,500:7GB,600:10GB,610:4GB",
        "sawtooth without a leak", 0},
};

static const struct input_needs trend_needs[] = {
    {"x", "it needs --points FILE"},
    {"y", "it needs --points FILE"},
};

const struct command trend_command = {
    .name = "trend",
    .section = "Diagnosis",
    .summary = "Memory leaks and growth: when a limit is reached",
    .operands = "",
    .usage = "[JOB]",
    COUNTED(groups, trend_groups),
    COUNTED(examples, trend_examples),
    COUNTED(needs, trend_needs),
    .input_size = sizeof(struct trend_in),
    .run = trend_run,
};
