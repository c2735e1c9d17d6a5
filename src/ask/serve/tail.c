/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ask/serve/serve.h"

#include "ask/bind/bind.h"
#include "cli/cli.h"
#include "model/calc/calc.h"

/* Samples beyond a percentile that make it more than a guess. */
enum { BEYOND = 10 };

bool
tail_given(const struct tail_in *in)
{
	return datum_given(in->p50) || datum_given(in->p99);
}

static bool
check(struct run *r, const struct tail_in *in)
{
	if (!datum_given(in->p50) || !datum_given(in->p99))
		return run_refuse(
		    r, in->p50.from, "--p50 and --p99 need each other", "write for example --p50 10ms --p99 12ms");
	if (in->p99.value < in->p50.value)
		return run_refuse(r, in->p99.from, "P99 is below P50", "check the two values; P99 is at least P50");
	return run_positive(r, "p50", in->p50) & run_positive(r, "tail-limit", in->tail_limit) &
	    run_whole(r, "runs", in->runs, 1);
}

enum answer
tail_verdict(struct run *r, const struct tail_in *in, double tail_ratio)
{
	struct sheet *sh = r->sheet;

	if (!datum_given(in->tail_limit))
		return ANSWERED;
	run_reads(r, &in->tail_limit, NULL);
	const bool met = tail_ratio <= in->tail_limit.value;
	TELL(sh, tail_verdict, arena_printf(r->arena, "%s %g", met ? "meets" : "misses", in->tail_limit.value));
	return met ? ANSWERED : ANSWERED_NO;
}

enum answer
tail_show(struct run *r, const struct tail_in *in)
{
	struct sheet *sh = r->sheet;

	if (!check(r, in))
		return REFUSED;
	TAKE(sh, p50_s, in->p50);
	TAKE(sh, p99_s, in->p99);
	SHOW(sh, p50_s, p50_s);
	SHOW(sh, p99_s, p99_s);
	CALL(sh, tail_ratio, latency_tail(sh, p50_s, p99_s));
	SHOW(sh, tail_ratio, tail_ratio);
	if (datum_given(in->runs)) {
		run_reads(r, &in->runs, NULL);
		TAKE(sh, percentile_frac, 0.99);
		TAKE(sh, n_beyond, BEYOND);
		CALL(sh, n_runs_needed, latency_runs(sh, percentile_frac, n_beyond));
		SHOW(sh, n_runs_needed, n_runs_needed);
		if (in->runs.value < n_runs_needed)
			run_warn(r, "P99 of %g runs is practically the maximum: measure at least %g", in->runs.value,
			    n_runs_needed);
	}
	return tail_verdict(r, in, tail_ratio);
}
