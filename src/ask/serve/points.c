/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ridge serve` without a model of an engine: measured sweeps, objectives that must fit each other, static batches. */
#include "ask/serve/serve.h"
#include "base/base.h"
#include "cli/cli.h"
#include "model/calc/calc.h"

#include <stdlib.h>
#include <string.h>

const char *
serve_time_text(struct run *r, double time_s)
{
	char buf[40];

	return arena_text(r->arena, value_write("x_s", time_s, buf, sizeof buf));
}

/* --- a measured sweep ------------------------------------------------------------------------------------ */

struct point_setting {
	const char *name;
	struct datum rate_request_per_s, p99_s;
};

static bool
read_point(struct run *r, struct word w, struct point_setting *out)
{
	size_t n;
	char **parts = text_split(r->arena, w.text, ':', &n);

	*out = (struct point_setting){parts[0], datum_absent(), datum_absent()};
	if (n < 2 || n > 3) {
		diag_error(r->diag, w.from, "'%s' is not of the form NAME:RATE[:P99]", w.text);
		diag_hint(r->diag, "write for example --points 1:85:750ms,2:140:850ms,4:210:950ms");
		return false;
	}
	return run_value(r, w.from, parts[1], Q_NUMBER, &out->rate_request_per_s) &&
	    (n < 3 || run_value(r, w.from, parts[2], Q_TIME, &out->p99_s));
}

/* A batch or setting: a number that is one, and not twice. */
static bool
check_name(struct run *r, struct word w, const struct point_setting *points, size_t i)
{
	char *end;
	const double number = strtod(points[i].name, &end);

	if (*points[i].name == '\0' || (*end == '\0' && !isfinite(number)))
		return run_refuse(r, w.from, arena_printf(r->arena, "'%s' is no batch or setting", points[i].name),
		    "write for example --points 1:85:750ms,2:140:850ms");
	for (size_t k = 0; k < i; k++)
		if (strcmp(points[k].name, points[i].name) == 0)
			return run_refuse(r, w.from,
			    arena_printf(r->arena, "there are two points '%s'", points[i].name),
			    "keep one of them, or name them apart: 4a:210,4b:220");
	return true;
}

static bool
read_points(struct run *r, const struct serve_in *in, struct point_setting *points)
{
	for (size_t i = 0; i < in->points.n; i++) {
		if (!read_point(r, in->points.list[i], &points[i]) || !check_name(r, in->points.list[i], points, i))
			return false;
		if (datum_given(in->deadline) && !datum_given(points[i].p99_s))
			return run_refuse(r, in->points.list[i].from,
			    "a deadline needs the 99th percentile of every point",
			    "write NAME:RATE:P99, such as 4:210:950ms");
	}
	return run_positive(r, "base-rate", in->base_rate) & run_positive(r, "base-p99", in->base_p99) &
	    run_positive(r, "deadline", in->deadline);
}

static bool
in_time(const struct serve_in *in, const struct point_setting *p)
{
	return !datum_given(in->deadline) || p->p99_s.value <= in->deadline.value;
}

static void
show_point(struct run *r, const struct serve_in *in, const struct point_setting *p,
    const struct point_setting *previous, struct datum base)
{
	struct sheet *sh = r->sheet;

	TELL(sh, point, p->name);
	TAKE(sh, rate_request_per_s, p->rate_request_per_s);
	SHOW(sh, rate_request_per_s, request_per_s);
	if (datum_given(p->p99_s)) {
		TAKE(sh, p99_s, p->p99_s);
		SHOW(sh, p99_s, p99_s);
		if (datum_given(in->base_p99)) {
			TAKE(sh, base_s, in->base_p99);
			CALL(sh, p99_change_frac, service_time_change(sh, base_s, p99_s));
			SHOW(sh, p99_change_frac, p99_change_frac);
		}
	}
	TAKE(sh, base_request_per_s, base);
	CALL(sh, gain, service_gain(sh, base_request_per_s, rate_request_per_s));
	SHOW(sh, gain, relative);
	CALL(sh, change_frac, service_rate_change(sh, base_request_per_s, rate_request_per_s));
	TAKE(sh, previous_request_per_s, previous ? previous->rate_request_per_s : base);
	CALL(sh, step_gain, service_gain(sh, previous_request_per_s, rate_request_per_s));
	SHOW(sh, step_gain, relative_step);
	(void)change_frac;
	run_reads(r, &in->deadline, NULL);
	if (datum_given(in->deadline))
		TELL(sh, meets, in_time(in, p) ? "yes" : "no");
}

enum answer
serve_points(struct run *r, const struct serve_in *in)
{
	struct sheet *sh = r->sheet;
	struct point_setting *points = ARENA_ARRAY(r->arena, struct point_setting, in->points.n);
	const struct point_setting *best = NULL;

	if (!read_points(r, in, points))
		return REFUSED;
	r->title = datum_given(in->deadline)
	    ? arena_printf(r->arena, "The most throughput with P99 up to %s", serve_time_text(r, in->deadline.value))
	    : "The most throughput";
	const struct datum base = datum_given(in->base_rate) ? in->base_rate : points[0].rate_request_per_s;
	for (size_t i = 0; i < in->points.n; i++) {
		const struct point_setting *p = &points[i];
		if (in_time(in, p) && (!best || p->rate_request_per_s.value > best->rate_request_per_s.value))
			best = p;
		SCOPE_I (sh, "points", i)
			show_point(r, in, p, i ? p - 1 : NULL, base);
	}
	TELL(sh, pick, best ? best->name : "none is in time");
	if (!best)
		return ANSWERED_NO;
	TAKE(sh, base_request_per_s, base);
	TAKE(sh, rate_request_per_s, best->rate_request_per_s);
	SHOW(sh, rate_request_per_s, request_per_s);
	CALL(sh, gain, service_gain(sh, base_request_per_s, rate_request_per_s));
	SHOW(sh, gain, relative);
	if (datum_given(in->deadline)) {
		TAKE(sh, deadline_s, in->deadline);
		TAKE(sh, p99_s, best->p99_s);
		CALL(sh, slack_s, latency_slack(sh, deadline_s, p99_s));
		SHOW(sh, slack_s, slack_s);
		if (best == &points[in->points.n - 1])
			run_warn(r, "the last point is still in time: a larger one may be better");
	}
	return ANSWERED;
}

/* --- objectives that must fit each other ----------------------------------------------------------------- */

enum answer
serve_objectives(struct run *r, const struct serve_in *in)
{
	struct sheet *sh = r->sheet;

	if (!datum_given(in->ttft) || !datum_given(in->itl) || (!datum_given(in->deadline) && !datum_given(in->osl))) {
		run_refuse(r, in->ttft.from,
		    "objectives that must fit each other are --ttft, --itl, and --e2e or --osl",
		    "--ttft 500ms --itl 50ms --e2e 2s --osl 200");
		return REFUSED;
	}
	if (!(run_positive(r, "ttft", in->ttft) & run_positive(r, "itl", in->itl) &
	        run_positive(r, "deadline", in->deadline) & run_whole(r, "osl", in->osl, 1)))
		return REFUSED;
	r->title = "Objectives of a service";
	TAKE(sh, ttft_s, in->ttft);
	TAKE(sh, itl_s, in->itl);
	if (datum_given(in->osl)) {
		TAKE(sh, osl_token, in->osl);
		CALL(sh, answer_s, answer_time(sh, ttft_s, itl_s, osl_token));
		SHOW(sh, answer_s, e2e_s);
	}
	if (!datum_given(in->deadline))
		return ANSWERED;
	TAKE(sh, deadline_s, in->deadline);
	CALL(sh, fitting_token, answer_fitting(sh, deadline_s, ttft_s, itl_s));
	SHOW(sh, fitting_token, max_osl_token);
	if (!datum_given(in->osl)) {
		run_warn(r, "a deadline for a whole answer means nothing without the answer's length");
		return ANSWERED;
	}
	const double osl_token = in->osl.value;
	if (osl_token > 1) {
		CALL(sh, needed_itl_s, answer_itl(sh, deadline_s, ttft_s, osl_token));
		SHOW(sh, needed_itl_s, needed_itl_s);
	}
	TELL(sh, verdict, osl_token <= fitting_token ? "yes: they fit each other" : "no: they contradict each other");
	return osl_token <= fitting_token ? ANSWERED : ANSWERED_NO;
}

/* --- static batches -------------------------------------------------------------------------------------- */

enum answer
serve_waiting(struct run *r, const struct serve_in *in)
{
	struct sheet *sh = r->sheet;

	if (!(run_whole(r, "batch", in->batch, 1) & run_whole(r, "osl", in->osl, 1) &
	        run_whole(r, "longest", in->longest, 1)))
		return REFUSED;
	if (datum_given(in->osl) != datum_given(in->longest) || in->osl.value > in->longest.value) {
		run_refuse(r, in->longest.from, "what waits depends on the mean and the longest answer",
		    "give both: --osl 200 --longest 1000");
		return REFUSED;
	}
	r->title = "A static batch";
	run_reads(r, &in->static_batch, NULL);
	TAKE(sh, n_sequences, in->batch);
	CALL(sh, n_waiting, static_waiting(sh, n_sequences));
	SHOW(sh, n_waiting, n_stalled);
	if (!datum_given(in->osl))
		return ANSWERED;
	TAKE(sh, mean_token, in->osl);
	TAKE(sh, longest_token, in->longest);
	CALL(sh, idle_frac, static_idle(sh, mean_token, longest_token));
	SHOW(sh, idle_frac, slot_idle_frac);
	CALL(sh, gain, static_gain(sh, mean_token, longest_token));
	SHOW(sh, gain, batching_gain);
	return ANSWERED;
}
